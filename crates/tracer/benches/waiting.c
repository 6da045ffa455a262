/* waiting N: N processes that wait at once, until the last is there; then all end. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words)
{
	int processes = count > 1 ? atoi(words[1]) : 10000;
	int ends[2];
	char end;

	if (pipe(ends))
		return 1;
	for (int made = 0; made < processes; made++) {
		pid_t child = fork();
		if (child < 0)
			return 1;
		if (child == 0) {
			close(ends[1]);
			_exit(read(ends[0], &end, 1) != 0);
		}
	}
	close(ends[1]);
	while (wait(NULL) > 0)
		;
	return 0;
}
