/* forks N CALLS: N children one after the other, each of which makes CALLS calls. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words)
{
	int forks = count > 1 ? atoi(words[1]) : 1000;
	int calls = count > 2 ? atoi(words[2]) : 20;

	while (forks-- > 0) {
		pid_t child = fork();
		if (child == 0) {
			for (int call = 0; call < calls; call++)
				syscall(SYS_getppid);
			_exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) < 0)
			return 1;
	}
	return 0;
}
