/* stops N: N times a child stops itself, its parent sees that, lets it go on, and sees that too; the last time the child
 * is let go on and stopped again at once, many times. Ends with 0 if all was seen. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int seen(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP)
		return 0;
	kill(pid, SIGCONT);
	return waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status);
}

int main(int argc, char **argv)
{
	int times = atoi(argv[1]), status;
	pid_t pid = fork();

	(void)argc;
	if (pid == 0) {
		for (int i = 0; i < times; i++)
			raise(SIGSTOP);
		for (;;)
			getppid();
	}
	for (int i = 0; i < times; i++)
		if (!seen(pid))
			return 1;
	for (int i = 0; i < 200; i++) {
		kill(pid, SIGSTOP);
		kill(pid, SIGCONT);
	}
	kill(pid, SIGSTOP);
	kill(pid, SIGCONT);
	kill(pid, SIGTERM);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		;
	return !(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}
