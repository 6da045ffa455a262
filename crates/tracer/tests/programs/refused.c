/*
 * Calls that a filter of seccomp refuses, or answers, before the kernel enters them: one fails, one is said to have succeeded, one raises
 * a signal that is handled, and the last one ends the process.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANSWER(number, action) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action)

static void handle(int signal)
{
	(void)signal;
}

int main(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ANSWER(SYS_getppid, SECCOMP_RET_ERRNO | 1),
		ANSWER(SYS_mkdirat, SECCOMP_RET_ERRNO | 0),
		ANSWER(SYS_getuid, SECCOMP_RET_TRAP),
		ANSWER(SYS_geteuid, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };
	/* On the stack, so that it is in memory. */
	char path[] = "/no/such/folder";
	int index;

	signal(SIGSYS, handle);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	for (index = 0; index < 3; index++)
		syscall(SYS_getppid);
	syscall(SYS_mkdirat, -100, path, 0700);
	syscall(SYS_getuid);
	syscall(SYS_getgid);
	syscall(SYS_geteuid);
	return 2;
}
