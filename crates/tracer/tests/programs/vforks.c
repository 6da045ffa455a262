/* vforks N PROGRAM: N times vfork and execve; ends with 0 if each child did with 0. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	volatile int left = atoi(argv[1]);
	int status;

	(void)argc;
	for (; left > 0; left--) {
		pid_t pid = vfork();

		if (pid == 0) {
			execl(argv[2], argv[2], (char *)NULL);
			_exit(127);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return 0;
}
