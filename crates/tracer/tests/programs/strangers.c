/* Makes children that come to whoever traces this program, though that follows none: one that is a child of the tracer and ends,
 * or one that is traced. Argument: "parent" or "ptrace". */

#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[65536];

static int end(void *argument)
{
	(void)argument;
	return 42;
}

int main(int count, char **words)
{
	int flag = count > 1 && !strcmp(words[1], "ptrace") ? CLONE_PTRACE : CLONE_PARENT;
	int child = clone(end, stack + sizeof stack, flag | SIGCHLD, 0);
	if (child < 0)
		return 1;
	if (flag == CLONE_PTRACE) {
		int status;
		return waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 42;
	}
	while (!kill(child, 0))
		;
	return errno != ESRCH;
}
