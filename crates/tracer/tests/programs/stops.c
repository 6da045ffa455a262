/* stops N: N times a child stops itself when it is told to, its parent sees that, lets it go on, and sees that too; then
 * the child is stopped and let go on at once, many times. Ends with 0 if all was seen. */
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
	int times = atoi(argv[1]), status, turn[2];
	char byte = 0;

	if (pipe(turn))
		return 2;
	pid_t pid = fork();

	(void)argc;
	if (pid == 0) {
		for (int i = 0; i < times && read(turn[0], &byte, 1) == 1; i++)
			raise(SIGSTOP);
		for (;;)
			getppid();
	}
	for (int i = 0; i < times; i++)
		if (write(turn[1], &byte, 1) != 1 || !seen(pid))
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
