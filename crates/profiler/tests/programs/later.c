/* Threads and children that begin while it runs: a thread in `burn_thread`, a child in `burn_child`, and the same program anew in
 * `burn_anew`, a third of the time each. No two have the same code, which the compiler would make one. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

#define BURNER(name, step) \
	__attribute__((noinline)) static void name(void) \
	{ \
		struct timespec time; \
		do { \
			for (int i = 0; i < 100000; i++) \
				sink += (unsigned long)i * step; \
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time); \
		} while (time.tv_sec < 1); \
	}

BURNER(burn_thread, 3)
BURNER(burn_child, 5)
BURNER(burn_anew, 7)

static void *in_thread(void *none)
{
	prctl(PR_SET_NAME, "worker");
	burn_thread();
	return none;
}

int main(int count, char **words)
{
	pthread_t thread;

	if (count > 1 && !strcmp(words[1], "anew")) {
		burn_anew();
		return 0;
	}
	usleep(200000);
	if (pthread_create(&thread, 0, in_thread, 0) || pthread_join(thread, 0))
		return 1;
	if (!fork()) {
		burn_child();
		_exit(0);
	}
	wait(0);
	if (!fork()) {
		execl("/proc/self/exe", "anew", "anew", (char *)0);
		_exit(1);
	}
	wait(0);
	return 0;
}
