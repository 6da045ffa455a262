/* Makes known calls for the kernel engine's tests; each way says by its status whether it saw what it should. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static void call(long times)
{
	for (long i = 0; i < times; i++)
		syscall(SYS_getppid);
}

static void *calls_of_a_thread(void *times)
{
	call((long)times);
	return 0;
}

static void threads(int number, void *(*what)(void *), void *given)
{
	pthread_t all[1024];

	for (int i = 0; i < number; i++)
		if (pthread_create(&all[i], 0, what, given))
			die("pthread_create");
	for (int i = 0; i < number; i++)
		pthread_join(all[i], 0);
}

static volatile int over;

static void *calls_until_over(void *nothing)
{
	while (!over)
		syscall(SYS_getppid);
	return nothing;
}

/* Waits in every way that a signal would interrupt. */
static void *waits(void *nothing)
{
	struct timespec little = { 0, 2000000 };
	int group = epoll_create1(0), word = 0;
	struct epoll_event event;

	for (int i = 0; i < 60; i++) {
		if (nanosleep(&little, 0))
			die("nanosleep");
		if (poll(0, 0, 2))
			die("poll");
		if (epoll_wait(group, &event, 1, 2))
			die("epoll_wait");
		if (syscall(SYS_futex, &word, FUTEX_WAIT, 0, &little, 0, 0) != -1 || errno != ETIMEDOUT)
			die("futex");
	}
	return nothing;
}

static int waiting(void)
{
	pthread_t busy[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&busy[i], 0, calls_until_over, 0);
	threads(4, waits, 0);
	over = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(busy[i], 0);
	return 0;
}

/* A child that calls a lot is seen to stop when it stops itself, and never else. */
static int job(void)
{
	int status, stops = 0, continued = 0;
	pid_t child = fork();

	if (!child) {
		call(20000);
		raise(SIGSTOP);
		call(20000);
		raise(SIGTSTP);
		call(20000);
		_exit(7);
	}
	for (;;) {
		if (waitpid(child, &status, WUNTRACED | WCONTINUED) != child)
			die("waitpid");
		if (WIFSTOPPED(status)) {
			if (WSTOPSIG(status) != (stops ? SIGTSTP : SIGSTOP))
				return 2;
			stops++;
			kill(child, SIGCONT);
		} else if (WIFCONTINUED(status)) {
			continued++;
		} else {
			break;
		}
	}
	printf("%d stops, %d continued\n", stops, continued);
	return !(WIFEXITED(status) && WEXITSTATUS(status) == 7 && stops == 2 && continued == 2);
}

static int answer_to;

static void answer(int signal)
{
	char byte = signal;

	if (write(answer_to, &byte, 1) != 1)
		_exit(3);
}

/* Every SIGCONT arrives at a child that calls a lot and can't be told to stop by SIGCHLD. */
static int conts(void)
{
	int ends[2], status;
	pid_t child;
	char byte;

	if (pipe(ends))
		die("pipe");
	answer_to = ends[1];
	child = fork();
	if (!child) {
		sigset_t children;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigemptyset(&children);
		sigaddset(&children, SIGCHLD);
		sigprocmask(SIG_BLOCK, &children, 0);
		signal(SIGCONT, answer);
		byte = 0;
		if (write(answer_to, &byte, 1) != 1)
			_exit(3);
		for (;;)
			call(1000);
	}
	for (int i = 0; i <= 300; i++) {
		struct pollfd answered = { .fd = ends[0], .events = POLLIN };

		if (poll(&answered, 1, 20000) != 1)
			return 2;
		if (read(ends[0], &byte, 1) != 1)
			die("read");
		if (i < 300)
			kill(child, SIGCONT);
	}
	kill(child, SIGKILL);
	if (waitpid(child, &status, WUNTRACED) != child)
		die("waitpid");
	return !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static int forks(int number, long times)
{
	for (int i = 0; i < number; i++) {
		pid_t child = fork();

		if (!child) {
			call(times);
			_exit(0);
		}
		if (child < 0 || waitpid(child, 0, 0) != child)
			die("fork");
	}
	return 0;
}

static void narrow(void)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L /* getpid */), "b"(0L) : "memory", "r8", "r9", "r10", "r11");
	if (result != getpid())
		_exit(2);
#endif
}

static void *execs(void *nothing)
{
	execl("/bin/true", "true", (char *)0);
	die("execl");
	return nothing;
}

static void ignore(int signal)
{
	(void)signal;
}

int main(int count, char **words)
{
	const char *way = count > 1 ? words[1] : "";
	long first = count > 2 ? atol(words[2]) : 0, second = count > 3 ? atol(words[3]) : 0;

	if (!strcmp(way, "threads")) {
		threads(first, calls_of_a_thread, (void *)second);
		return 0;
	}
	if (!strcmp(way, "blocked")) {
		sigset_t all;

		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, 0);
		call(first);
		printf("done\n");
		return 0;
	}
	if (!strcmp(way, "calls")) {
		call(first);
		printf("done\n");
		return 0;
	}
	if (!strcmp(way, "waiting"))
		return waiting();
	if (!strcmp(way, "job"))
		return job();
	if (!strcmp(way, "conts"))
		return conts();
	if (!strcmp(way, "forks"))
		return forks(first, second);
	if (!strcmp(way, "narrow")) {
		narrow();
		return 0;
	}
	if (!strcmp(way, "odd")) {
		/* Numbers that no call has: the last that the engine's tables hold, and one beyond. */
		syscall(0x1ff);
		for (int i = 0; i < 3; i++)
			syscall(0x3ff);
		return 0;
	}
	if (!strcmp(way, "sleeps")) {
		long lengths[] = { 1000000, 10000000, 30000000 };

		for (int i = 0; i < 3; i++) {
			struct timespec length = { 0, lengths[i] };

			clock_nanosleep(CLOCK_MONOTONIC, 0, &length, 0);
		}
		return 0;
	}
	if (!strcmp(way, "execs")) {
		threads(1, execs, 0);
		return 1;
	}
	if (!strcmp(way, "signals")) {
		signal(SIGUSR1, ignore);
		raise(SIGUSR1);
		if (!fork())
			raise(SIGKILL);
		wait(0);
		raise(SIGTERM);
		return 1;
	}
	if (!strcmp(way, "reads")) {
		char byte;

		return read(0, &byte, 1) < 0;
	}
	if (!strcmp(way, "attached")) {
		pthread_t other;
		char byte;

		/* Calls in two threads until its input ends. */
		pthread_create(&other, 0, calls_until_over, 0);
		printf("ready\n");
		fflush(stdout);
		while (read(0, &byte, 1) == 1)
			;
		over = 1;
		pthread_join(other, 0);
		printf("done\n");
		return 0;
	}
	fprintf(stderr, "unknown way: %s\n", way);
	return 2;
}
