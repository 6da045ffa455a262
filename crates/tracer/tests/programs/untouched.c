/* A child becomes another program by texts that lie on a page of their own, which nobody has looked at. */
#include <sys/wait.h>
#include <unistd.h>

static const char path[4096] __attribute__((aligned(4096))) = "/bin/true";
static const char name[4096] __attribute__((aligned(4096))) = "true";
static const char word[4096] __attribute__((aligned(4096))) = "of the program's own";

int main(void)
{
	int status = 1;

	if (!fork()) {
		execl(path, name, word, (char *)0);
		_exit(127);
	}
	wait(&status);
	return status != 0;
}
