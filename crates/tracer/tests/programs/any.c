/* any NUMBER...: makes calls by number, of which each does the same every time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void make(int number)
{
	char buffer[64];
	struct stat about;
	struct iovec vector = { buffer, sizeof(buffer) };
	int pair[2];
	void *page;

	switch (number) {
	case 0: syscall(SYS_getppid); break;
	case 1: syscall(SYS_gettid); break;
	case 2: syscall(SYS_close, -1); break;
	case 3: syscall(SYS_close, open("/dev/null", O_RDONLY)); break;
	case 4: syscall(SYS_openat, AT_FDCWD, "/nowhere/at/all", O_RDONLY); break;
	case 5: syscall(SYS_read, -1, buffer, sizeof(buffer)); break;
	case 6: syscall(SYS_write, -1, buffer, sizeof(buffer)); break;
	case 7: syscall(SYS_lseek, -1, 0, SEEK_SET); break;
	case 8: fstatat(AT_FDCWD, "/", &about, 0); break;
	case 9: fstatat(AT_FDCWD, "/nowhere", &about, 0); break;
	case 10:
		page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(page, 4096);
		break;
	case 11: mmap(0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); break;
	case 12:
		if (!pipe2(pair, O_CLOEXEC)) {
			write(pair[1], buffer, 1) < 0 ? abort() : (void)0;
			read(pair[0], buffer, 1) < 0 ? abort() : (void)0;
			close(pair[0]);
			close(pair[1]);
		}
		break;
	case 13: syscall(SYS_readv, -1, &vector, 1); break;
	case 14: syscall(SYS_getcwd, buffer, 0); break;
	case 15: kill(getpid(), 0); break;
	case 16: kill(-1234567, 0); break;
	case 17: syscall(SYS_fcntl, 0, F_GETFD); break;
	case 18: waitpid(-1, 0, WNOHANG); break;
	default: sched_yield(); break;
	}
}

int main(int count, char **words)
{
	for (int word = 1; word < count; word++)
		make(atoi(words[word]));
	return 0;
}
