/* Uses a processor for so many seconds: 70 % in one function, 30 % in another. */
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline)) static unsigned long work(unsigned long n)
{
	unsigned long hash = n;

	for (unsigned long i = 0; i < n; i++)
		hash = hash * 6364136223846793005ul + 1;
	return hash;
}

__attribute__((noinline)) static void burn_seventy(void)
{
	sink += work(70000);
}

__attribute__((noinline)) static void burn_thirty(void)
{
	sink += work(30000);
}

int main(int count, char **words)
{
	double end = now() + (count > 1 ? atof(words[1]) : 1);

	while (now() < end) {
		burn_seventy();
		burn_thirty();
	}
	return 0;
}
