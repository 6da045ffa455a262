/* traces: traces a child of its own. Ends with 0 if it can, with 3 if it is refused for being traced itself. */
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(errno == EPERM ? 3 : 4);
		raise(SIGSTOP);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, 0, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 5;
}
