/* threads N CALLS: N threads at once, each of which makes CALLS calls. With CALLS 0 each calls for a second, and the
 * least and the greatest number of calls of a thread are printed; with CALLS -1 each calls for ever, and once all of them
 * are there and a second is over the process ends. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int calls;

static double now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec + at.tv_nsec / 1e9;
}

static void *work(void *made)
{
	long *number = made;
	double until = now() + 1;

	for (*number = 0; calls < 0 || (calls ? *number < calls : now() < until); ++*number)
		syscall(SYS_getppid);
	return NULL;
}

int main(int count, char **words)
{
	int threads = count > 1 ? atoi(words[1]) : 8;
	pthread_t handle[1024];
	long made[1024], least, most;

	calls = count > 2 ? atoi(words[2]) : 5000;
	if (threads < 1 || threads > 1024)
		return 2;
	for (int thread = 0; thread < threads; thread++)
		if (pthread_create(&handle[thread], NULL, work, &made[thread]))
			return 1;
	if (calls < 0) {
		sleep(1);
		return 0;
	}
	for (int thread = 0; thread < threads; thread++)
		pthread_join(handle[thread], NULL);
	least = most = made[0];
	for (int thread = 0; thread < threads; thread++) {
		least = made[thread] < least ? made[thread] : least;
		most = made[thread] > most ? made[thread] : most;
	}
	if (!calls)
		printf("%ld %ld\n", least, most);
	return 0;
}
