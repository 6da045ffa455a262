/*
 * Makes the calls that its arguments ask for: `random FOLDER NUMBER…`. Each number is a call of the table below and what it
 * gets. The same numbers in an empty folder make the same calls, whoever watches: nothing here waits for chance, or for what
 * never comes, and only one thread does something at a time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static const char *const names[] = { "a", "b", "folder", "folder/c", "a longer name, with \"quotes\" and \n more", "" };
static char buffer[3 * PAGE];
static char *self, *folder;
static char **numbers;
static int count;

static const char *name(unsigned n)
{
	return names[n % (sizeof(names) / sizeof(*names))];
}

/* A descriptor that may or may not be open, never one of the first three. */
static int fd(unsigned n)
{
	return 3 + n % 6;
}

/* An address that is good, or null, or the last bytes of a page before nothing, or none of ours. */
static void *address(unsigned n)
{
	static char *edge;

	if (!edge) {
		edge = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(edge, 'e', 2 * PAGE);
		mprotect(edge + PAGE, PAGE, PROT_NONE);
	}
	switch (n % 8) {
	case 0:
		return 0;
	case 1:
		return edge + PAGE - 5;
	case 2:
		return edge + PAGE;
	default:
		return buffer + n % 64;
	}
}

/* An address for what is another each time, as times: it must not come to lie where something is told from. */
static void *nowhere(unsigned n)
{
	return address(n % 2 * 2);
}

static void on_signal(int number)
{
	(void)number;
}

static int run(int at, int until);

/* Where a thread begins, and what says that it has ended: volatile, as `clone` is said not to call back. */
static volatile int thread_left;
static volatile int thread_at, thread_until, inside;
/* Whether who made the thread is out of the call again: a thread that ends its process would else catch it within or not. */
static volatile int made;

static int thread(void *nothing)
{
	(void)nothing;
	while (!made)
		;
	run(thread_at, thread_until);
	syscall(SYS_exit, 0);
	return 0;
}

static void in_a_thread(int at, int until)
{
	static char stacks[8][64 << 10] __attribute__((aligned(16)));
	static int used;
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID;

	/* Each has its own stack; one thread doesn't make another. */
	if (used == 8 || inside)
		return;
	inside = 1;
	thread_at = at;
	thread_until = until;
	thread_left = 1;
	made = 0;
	if (clone(thread, stacks[used++] + sizeof(stacks[0]), flags, 0, 0, 0, (int *)&thread_left) > 0) {
		made = 1;
		while (thread_left)
			;
	}
	inside = 0;
}

static void become(int at, int until)
{
	char *arguments[80] = { self, folder };
	static char *const environment[] = { "A=1", 0 };
	int i;

	for (i = 0; i < until - at && i < 70; i++)
		arguments[2 + i] = numbers[at + i];
	syscall(SYS_execve, self, arguments, environment);
}

/* A child that borrows this stack until it is another program. */
__attribute__((noinline)) static long by_vfork(int at, int until)
{
	long child = vfork();

	if (!child) {
		become(at, until);
		_exit(9);
	}
	return child;
}

static void wait_for(long child)
{
	int status;

	if (child > 0)
		syscall(SYS_wait4, child, &status, 0, 0);
}

static void talk(unsigned n)
{
	int pair[2];
	struct iovec parts[3] = { { buffer, n % 50 }, { address(n / 7), 20 }, { buffer + 100, 100 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 1 + n % 3 };

	if (socketpair(AF_UNIX, n % 2 ? SOCK_STREAM : SOCK_DGRAM, 0, pair))
		return;
	syscall(SYS_sendto, pair[0], buffer, n % 200, MSG_NOSIGNAL, 0, 0);
	syscall(SYS_recvfrom, pair[1], address(n / 3), n % 100, MSG_DONTWAIT, 0, 0);
	syscall(SYS_sendmsg, pair[0], &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	syscall(SYS_recvmsg, pair[1], &message, MSG_DONTWAIT);
	syscall(SYS_shutdown, pair[0], n % 4);
	close(pair[0]);
	close(pair[1]);
}

static void names_of_sockets(unsigned n)
{
	struct sockaddr_un place = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(place);
	static int one[2] = { 1, 2 };
	int socket = syscall(SYS_socket, n % 3 ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(place.sun_path, "socket");
	syscall(SYS_bind, socket, address(n) ? (void *)&place : 0, sizeof(place));
	syscall(SYS_listen, socket, 1);
	syscall(SYS_getsockname, socket, &place, &length);
	syscall(SYS_setsockopt, socket, SOL_SOCKET, SO_REUSEADDR, one, n % 8);
	syscall(SYS_connect, socket, &place, length);
	close(socket);
	unlink("socket");
}

static void look_for_events(unsigned n)
{
	struct epoll_event event = { .events = EPOLLIN | (n % 2 ? EPOLLET : 0), .data.u64 = n }, found[4];
	struct timespec soon = { 0, 1000 };
	struct pollfd polled[3] = { { 0, POLLIN, 0 }, { fd(n), POLLIN | POLLOUT, 0 }, { -1, 0, 0 } };
	int pipes[2], set = syscall(SYS_epoll_create1, EPOLL_CLOEXEC);

	if (pipe2(pipes, O_NONBLOCK))
		return;
	syscall(SYS_epoll_ctl, set, EPOLL_CTL_ADD, pipes[0], &event);
	if (n % 3)
		syscall(SYS_write, pipes[1], "x", 1);
	syscall(SYS_epoll_pwait, set, n % 5 ? found : address(n), 4, 0, 0, 8);
	polled[0].fd = pipes[0];
	poll(polled, 1 + n % 3, 0);
	syscall(SYS_ppoll, polled, 1, &soon, 0, 8);
	close(pipes[0]);
	close(pipes[1]);
	close(set);
}

static void one(unsigned which, unsigned n)
{
	struct timespec time = { 0, n % 3 ? 1 : 2000000000 };
	struct itimerval timer = { .it_value = { n % 2 ? 1000 : 0, 0 } };
	struct sigaction action = { .sa_handler = n % 2 ? on_signal : SIG_IGN };
	struct stat about;
	sigset_t set;
	static char entries[2000];
	static unsigned word = 7;

	switch (which) {
	case 0: syscall(SYS_openat, AT_FDCWD, name(n), O_RDWR | (n % 2 ? O_CREAT : 0) | (n % 5 ? 0 : O_DIRECTORY), 0600 + n % 64); break;
	case 1: syscall(SYS_openat, n % 3 ? AT_FDCWD : fd(n), address(n), O_RDONLY | O_CLOEXEC); break;
	case 2: syscall(SYS_read, fd(n), address(n / 6), n % 200); break;
	case 3: syscall(SYS_write, fd(n), address(n / 6), n % 200); break;
	case 4: syscall(SYS_pread64, fd(n), address(n / 6), n % 90, n % 40); break;
	case 5: syscall(SYS_pwrite64, fd(n), buffer, n % 90, n % 40); break;
	case 6: syscall(SYS_lseek, fd(n), n % 300, n % 4); break;
	case 7: syscall(SYS_close, fd(n)); break;
	case 8: syscall(SYS_dup3, fd(n), fd(n / 6), n % 2 ? O_CLOEXEC : 0); break;
	case 9: syscall(SYS_fcntl, fd(n), n % 2 ? F_GETFL : F_GETFD, 0); break;
	case 10: syscall(SYS_newfstatat, AT_FDCWD, name(n), n % 4 ? (void *)&about : nowhere(n), n % 2 ? AT_SYMLINK_NOFOLLOW : 0); break;
	case 11: syscall(SYS_fstat, fd(n), &about); break;
	case 12: syscall(SYS_mkdirat, AT_FDCWD, name(n), 0700); break;
	case 13: syscall(SYS_unlinkat, AT_FDCWD, name(n), n % 2 ? AT_REMOVEDIR : 0); break;
	case 14: syscall(SYS_renameat2, AT_FDCWD, name(n), AT_FDCWD, name(n / 6), n % 3); break;
	case 15: syscall(SYS_symlinkat, name(n), AT_FDCWD, name(n / 6)); break;
	case 16: syscall(SYS_readlinkat, AT_FDCWD, name(n), address(n / 6), n % 64); break;
	case 17: syscall(SYS_getcwd, buffer, n % 2 ? sizeof(buffer) : 3); break;
	case 18: syscall(SYS_faccessat, AT_FDCWD, name(n), n % 8); break;
	case 19: syscall(SYS_getdents64, fd(n), entries, n % 2000); break;
	case 20: syscall(SYS_ftruncate, fd(n), n % 1000); break;
	case 21: syscall(SYS_readv, fd(n), &(struct iovec[]){ { buffer, n % 40 }, { address(n), 60 } }, 2); break;
	case 22: syscall(SYS_writev, fd(n), &(struct iovec[]){ { buffer, n % 40 }, { address(n), 3 } }, 1 + n % 2); break;
	case 23: munmap(mmap(0, PAGE * (1 + n % 3), n % 8, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE); break;
	case 24: syscall(SYS_mprotect, address(n), PAGE, PROT_READ | PROT_WRITE); break;
	case 25: syscall(SYS_madvise, buffer, n % 3 * PAGE, n % 20); break;
	case 26: syscall(SYS_getpid); syscall(SYS_gettid); syscall(SYS_getppid); break;
	/* Which thread gets a signal of the process is a matter of chance where there are two. */
	case 27: syscall(SYS_kill, getpid(), n % 3 && !inside ? SIGUSR1 : 0); break;
	case 28: syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR2); break;
	case 29: sigaction(n % 3 ? SIGUSR2 : SIGKILL, &action, 0); break;
	case 30: sigemptyset(&set); sigaddset(&set, SIGUSR2); sigprocmask(n % 2 ? SIG_BLOCK : SIG_UNBLOCK, &set, 0); break;
	case 31: syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, 0); break;
	case 32: syscall(SYS_clock_gettime, n % 13, n % 5 ? (void *)&time : nowhere(n)); break;
	case 33: syscall(SYS_setitimer, n % 3, &timer, n % 2 ? &timer : 0); break;
	case 34: syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, n % 2 ? 7 : 8, &(struct timespec){ 0, 1 }, 0, 0); break;
	case 35: syscall(SYS_futex, n % 4 ? &word : address(n), FUTEX_WAKE, 1, 0, 0, 0); break;
	case 36: syscall(SYS_pipe2, n % 4 ? (void *)buffer : address(n), O_NONBLOCK | (n % 2 ? O_CLOEXEC : O_DIRECT)); break;
	case 37: syscall(SYS_eventfd2, n % 100, O_NONBLOCK | (n % 2 ? O_CLOEXEC : 0)); break;
	case 38: talk(n); break;
	case 39: names_of_sockets(n); break;
	case 40: look_for_events(n); break;
	case 41: syscall(SYS_sched_yield); syscall(SYS_umask, n % 512); break;
	case 42: syscall(999, n, 2, 3, 4, 5, 6); break;
	case 43: syscall(SYS_getrandom, buffer, 0, n % 4); break;
	case 44: syscall(SYS_prctl, n % 2 ? 15 : 16, buffer); break;
	case 45: syscall(SYS_wait4, -1, 0, WNOHANG, 0); break;
	}
}

#define CALLS 46

/* Runs the numbers from `at` on; those that a child, a thread or another program runs aren't run here. */
static int run(int at, int until)
{
	while (at < until) {
		unsigned number = strtoul(numbers[at++], 0, 10), n = number / 64;
		int to = at + n % 8 < (unsigned)until ? at + (int)(n % 8) : until;
		long child;

		switch (number % 64) {
		case 60:
			child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
			if (!child) {
				alarm(60);
				run(at, to);
				syscall(SYS_exit_group, n % 4);
			}
			wait_for(child);
			at = to;
			break;
		case 61:
			in_a_thread(at, to);
			at = to;
			break;
		case 62:
			become(at, until);
			break;
		case 63:
			wait_for(by_vfork(at, to));
			at = to;
			break;
		default:
			one(number % 64 % CALLS, n);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	sigset_t children;

	if (argc < 2 || chdir(argv[1]))
		return 99;
	/* When a parent hears of a child's end is a matter of chance. */
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, 0);
	signal(SIGUSR1, on_signal);
	signal(SIGPIPE, SIG_IGN);
	/* Whoever started this may have left descriptors open; what this becomes keeps its own, and its time. */
	if (!getenv("A")) {
		syscall(SYS_close_range, 3, ~0U, 0);
		alarm(60);
	}
	self = argv[0];
	folder = argv[1];
	numbers = argv + 2;
	count = argc - 2;
	/* All of it is there: what was never touched can be read by ptrace only, where the call doesn't get as far as that. */
	memset(buffer, 'b', sizeof(buffer));
	memset(buffer + 200, 0, sizeof(buffer) - 200);
	return run(0, count);
}
