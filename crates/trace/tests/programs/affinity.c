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

static int said(void)
{
	char line[256], was[256] = "";
	FILE *file = fopen("/proc/self/status", "r");

	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "Cpus_allowed_list:", 18))
			strcpy(was, line + 18);
	fclose(file);
	fputs(was, stdout);
	return 1;
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
	said();
	call(times);
	said();
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
