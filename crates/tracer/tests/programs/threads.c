/* threads calls N CALLS: N threads make CALLS calls of getuid each.
 * threads spin N TOTAL: N threads call getuid from one moment on until they have made TOTAL calls together; prints each one's number.
 * threads alone CALLS: the first thread makes CALLS calls of getuid.
 * threads loop N: N threads call getuid for ever, and the process ends.
 * threads wait N: N threads read what never comes, and then the process ends with 3.
 * threads leave N: the first thread ends by itself, the last of N others ends the process with 7.
 * threads exec PROGRAM: a thread that isn't the first executes PROGRAM while others loop.
 * threads later PROGRAM: the first thread makes 1000 calls of getuid and waits; another one, that waited a third of a second,
 * executes PROGRAM. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 1024

static long calls;
static atomic_long total, done;
static long counts[MOST];
static int number;
static pthread_barrier_t all;

static void *count(void *arg)
{
	(void)arg;
	for (long i = 0; i < calls; i++)
		syscall(SYS_getuid);
	return NULL;
}

static void *spin(void *arg)
{
	pthread_barrier_wait(&all);
	while (atomic_fetch_add(&total, 1) < calls) {
		syscall(SYS_getuid);
		counts[(long)arg]++;
	}
	return NULL;
}

static void *loop(void *arg)
{
	for (;;)
		syscall(SYS_getuid);
	return arg;
}

static void *leave(void *arg)
{
	(void)arg;
	syscall(SYS_getuid);
	if (atomic_fetch_add(&done, 1) + 1 == number)
		_exit(7);
	return NULL;
}

static void *execute(void *arg)
{
	execl(arg, arg, (char *)NULL);
	_exit(1);
}

static void *execute_later(void *arg)
{
	usleep(333333);
	syscall(SYS_getuid);
	return execute(arg);
}

static int pipes[2];

static void *wait_forever(void *arg)
{
	char byte;

	__atomic_store_n((int *)arg, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	return read(pipes[0], &byte, 1) ? arg : NULL;
}

/* Whether a thread is in this call. */
static int is_in(int thread, long call)
{
	char name[64];
	long number = -1;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/self/task/%d/syscall", thread);
	file = fopen(name, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	fclose(file);
	return number == call;
}

static pthread_t begin(void *(*work)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, arg))
		_exit(2);
	return thread;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST];
	const char *what = argv[1];

	if (!strcmp(what, "exec")) {
		for (int i = 0; i < 4; i++)
			begin(loop, NULL);
		begin(execute, argv[2]);
		pause();
	}
	if (!strcmp(what, "later")) {
		begin(execute_later, argv[2]);
		calls = 1000;
		count(NULL);
		pause();
	}
	if (!strcmp(what, "alone")) {
		calls = atol(argv[2]);
		count(NULL);
		return 0;
	}
	number = atoi(argv[2]);
	calls = argc > 3 ? atol(argv[3]) : 0;
	if (number > MOST)
		return 2;
	if (!strcmp(what, "loop")) {
		for (int i = 0; i < number; i++)
			begin(loop, NULL);
		_exit(0);
	}
	if (!strcmp(what, "wait")) {
		static int numbers[MOST];

		if (pipe(pipes))
			return 2;
		for (int i = 0; i < number; i++)
			begin(wait_forever, &numbers[i]);
		for (int i = 0; i < number; i++)
			while (!is_in(__atomic_load_n(&numbers[i], __ATOMIC_SEQ_CST), SYS_read))
				sched_yield();
		_exit(3);
	}
	if (!strcmp(what, "leave")) {
		for (int i = 0; i < number; i++)
			begin(leave, NULL);
		pthread_exit(NULL);
	}
	pthread_barrier_init(&all, NULL, number);
	void *(*work)(void *) = strcmp(what, "spin") ? count : spin;

	for (long i = 0; i < number; i++)
		threads[i] = begin(work, (void *)i);
	for (int i = 0; i < number; i++)
		pthread_join(threads[i], NULL);
	if (work == spin)
		for (int i = 0; i < number; i++)
			printf("%ld\n", counts[i]);
	return 0;
}
