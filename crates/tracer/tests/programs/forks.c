/* forks N CALLS: N children one after the other, each makes CALLS calls of getuid and ends with its number modulo 256. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int children = atoi(argv[1]), calls = atoi(argv[2]);

	(void)argc;
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			for (int j = 0; j < calls; j++)
				syscall(SYS_getuid);
			_exit(i & 255);
		}
		if (pid < 0)
			return 2;
		int status;

		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != (i & 255))
			return 1;
	}
	return 0;
}
