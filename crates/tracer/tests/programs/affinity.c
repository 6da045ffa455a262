/* affinity N: after N calls of getppid, ends with 0 if it, a child and a thread may run on as many processors as before. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static cpu_set_t before;

static int same(void)
{
	cpu_set_t now;

	return !sched_getaffinity(0, sizeof(now), &now) && CPU_EQUAL(&now, &before);
}

/* Whether /proc says the same as the first time. */
static int says_the_same(void)
{
	static char first[256];
	char line[256];
	int same = 0;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "Cpus_allowed_list:", 18))
			continue;
		if (!*first)
			strcpy(first, line);
		same = !strcmp(first, line);
	}
	if (file)
		fclose(file);
	return same;
}

static void *in_thread(void *arg)
{
	(void)arg;
	return same() ? &before : NULL;
}

static void call(int times)
{
	while (times-- > 0)
		getppid();
}

int main(int argc, char **argv)
{
	int times = atoi(argv[1]), status;
	pthread_t thread;
	void *fine;

	(void)argc;
	sched_getaffinity(0, sizeof(before), &before);
	says_the_same();
	call(times);
	if (!says_the_same())
		return 4;
	call(times);
	if (!same())
		return 1;
	call(times);
	pid_t pid = fork();

	if (pid == 0)
		_exit(!same());
	waitpid(pid, &status, 0);
	if (status)
		return 2;
	call(times);
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, &fine);
	return fine ? 0 : 3;
}
