/*
 * How long short ways through the kernel take: paths WHAT COUNT [BATCHES]
 *
 *   syscall  the cheapest system call
 *   pipe     a byte to another process and one back, through two pipes
 *   fork     a process that is made, ends and is waited for
 *   tcp      a byte to another process and one back, over the loopback device
 *
 * COUNT times a batch; prints what one of them took for each batch, then the median of the batches. The first batch
 * isn't counted: it fills what is filled once.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int there, back;
static pid_t echo;

static void need(int done, const char *what)
{
	if (!done) {
		perror(what);
		if (echo > 0)
			kill(echo, SIGKILL);
		exit(1);
	}
}

static void one_syscall(void)
{
	syscall(SYS_getppid);
}

static void one_round_trip(void)
{
	char byte = 0;

	need(write(there, &byte, 1) == 1, "write");
	need(read(back, &byte, 1) == 1, "read");
}

static void one_fork(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	need(child > 0, "fork");
	need(waitpid(child, NULL, 0) == child, "waitpid");
}

/* Sends back what it gets, until there is nothing more. */
static void answer(int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1 && write(out, &byte, 1) == 1)
		;
	_exit(0);
}

static void with_pipes(void)
{
	int to[2], from[2];

	need(pipe(to) == 0 && pipe(from) == 0, "pipe");
	echo = fork();
	need(echo >= 0, "fork");
	if (echo == 0) {
		close(to[1]);
		close(from[0]);
		answer(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	there = to[1];
	back = from[0];
}

static void at_once(int fd)
{
	int on = 1;

	need(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0, "TCP_NODELAY");
}

static void with_tcp(void)
{
	struct sockaddr_in place = { .sin_family = AF_INET };
	socklen_t size = sizeof(place);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(listener >= 0, "socket");
	need(bind(listener, (struct sockaddr *)&place, size) == 0, "bind");
	need(listen(listener, 1) == 0, "listen");
	need(getsockname(listener, (struct sockaddr *)&place, &size) == 0, "getsockname");
	echo = fork();
	need(echo >= 0, "fork");
	if (echo == 0) {
		int accepted = accept(listener, NULL, NULL);

		at_once(accepted);
		close(listener);
		answer(accepted, accepted);
	}
	close(listener);
	there = back = socket(AF_INET, SOCK_STREAM, 0);
	need(there >= 0, "socket");
	need(connect(there, (struct sockaddr *)&place, size) == 0, "connect");
	at_once(there);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	void (*one)(void) = one_round_trip;
	const char *what = argc > 2 ? argv[1] : "";
	long count = argc > 2 ? atol(argv[2]) : 0;
	int batches = argc > 3 ? atoi(argv[3]) : 9;
	double took[1000];

	if (!strcmp(what, "syscall"))
		one = one_syscall;
	else if (!strcmp(what, "fork"))
		one = one_fork;
	else if (!strcmp(what, "pipe"))
		with_pipes();
	else if (!strcmp(what, "tcp"))
		with_tcp();
	else
		count = 0;
	if (count < 1 || batches < 1 || batches > 1000) {
		fprintf(stderr, "usage: paths syscall|pipe|fork|tcp COUNT [BATCHES]\n");
		return 2;
	}
	for (int batch = -1; batch < batches; batch++) {
		double began = now();

		for (long i = 0; i < count; i++)
			one();
		if (batch < 0)
			continue;
		took[batch] = (now() - began) / count;
		printf("batch: %.3f ns\n", took[batch]);
	}
	if (echo > 0) {
		close(there);
		kill(echo, SIGKILL);
		waitpid(echo, NULL, 0);
	}
	qsort(took, batches, sizeof(*took), by_size);
	printf("median: %.3f ns\n", (took[(batches - 1) / 2] + took[batches / 2]) / 2);
	return 0;
}
