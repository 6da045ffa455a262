/* storm DEPTH: every process makes two children, to this depth, none waits before both run. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int storm(int depth)
{
	int failed = 0, status;

	for (int i = 0; depth > 0 && i < 2; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(storm(depth - 1));
		failed |= pid < 0;
	}
	while (wait(&status) > 0)
		failed |= status != 0;
	return failed;
}

int main(int argc, char **argv)
{
	(void)argc;
	return storm(atoi(argv[1]));
}
