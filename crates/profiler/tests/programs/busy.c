/* A thread a processor, each 30 functions deep, for so many seconds; prints how often all of them got to the bottom. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double end;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline)) static unsigned long descend(int depth)
{
	volatile unsigned long hash = 1;

	if (depth)
		return descend(depth - 1) + hash;
	for (int i = 0; i < 20000; i++)
		hash = hash * 31 + (unsigned long)i;
	return hash;
}

static void *work(void *none)
{
	unsigned long done = 0;

	for (; now() < end; done++)
		descend(30);
	(void)none;
	return (void *)done;
}

int main(int count, char **words)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN), all = 0;
	pthread_t threads[1024];

	if (count < 2 || processors > 1024)
		return 1;
	end = now() + atof(words[1]);
	for (long i = 0; i < processors; i++)
		if (pthread_create(&threads[i], 0, work, 0))
			return 1;
	for (long i = 0; i < processors; i++) {
		void *done;

		pthread_join(threads[i], &done);
		all += (long)done;
	}
	printf("%ld\n", all);
	return 0;
}
