// Uses a processor for so many seconds: 70 % in one function, 30 % in another, both below templates and a handler of exceptions.
#include <chrono>
#include <cstdlib>
#include <string>

namespace burning {

static volatile unsigned long sink;

template <typename Number> __attribute__((noinline)) Number work(Number n)
{
	Number hash = n;
	for (Number i = 0; i < n; i++)
		hash = hash * 6364136223846793005ul + 1;
	if (hash == 42)
		throw std::string("never");
	return hash;
}

class Burner {
public:
	__attribute__((noinline)) void burn_seventy() { sink = sink + work(70000ul); }
	__attribute__((noinline)) void burn_thirty() { sink = sink + work(30000ul); }
};

} // namespace burning

int main(int count, char **words)
{
	using clock = std::chrono::steady_clock;
	auto end = clock::now() + std::chrono::duration<double>(count > 1 ? std::atof(words[1]) : 1);
	burning::Burner burner;
	while (clock::now() < end) {
		try {
			burner.burn_seventy();
			burner.burn_thirty();
		} catch (const std::string &) {
			return 1;
		}
	}
	return 0;
}
