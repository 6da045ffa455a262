#include <benchmark/benchmark.h>
#include <string>
#include <vector>

static void BM_Sum(benchmark::State &state) {
    std::vector<int> numbers(10000, 3);
    for (auto _ : state)
        for (int i = 0; i < WORK; i++) benchmark::DoNotOptimize(numbers[i * 7 % 10000] += i);
}
BENCHMARK(BM_Sum);

static void BM_Text(benchmark::State &state) {
    for (auto _ : state) {
        std::string text;
        for (int i = 0; i < WORK; i++) text += std::to_string(i);
        benchmark::DoNotOptimize(text);
    }
}
BENCHMARK(BM_Text);
BENCHMARK_MAIN();
