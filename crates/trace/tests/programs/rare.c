/* Calls that are seldom seen: their names, and how many arguments they have. */
#define _GNU_SOURCE
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>
#define call syscall

int main(void) {
	char b[256] = { 0 };
	int id;

	id = call(SYS_shmget, 0, 4096, 01600);
	call(SYS_shmat, 99999, 0, SHM_RDONLY);
	call(SYS_shmdt, 8);
	call(SYS_shmctl, id, 0, 0);
	call(SYS_semget, 77, 1, 0644);
	call(SYS_semop, 99999, &(struct sembuf){ 1, -1, IPC_NOWAIT }, 1);
	call(SYS_msgget, 77, 0);
	call(SYS_mq_open, "nothing", 0, 0, 0);
	call(SYS_mq_unlink, "nothing");
	call(SYS_io_uring_setup, 5, 0);
	call(SYS_close, -1);
	call(SYS_fchdir, 99);
	call(SYS_sync);
	call(SYS_sched_get_priority_min, 77);
	call(SYS_epoll_create, 0);
	call(SYS_eventfd, 0);
	call(SYS_inotify_init);
	call(SYS_getpgrp);
	call(SYS_iopl, 9);
	call(SYS_rt_sigqueueinfo, 0x7fffffff, 5, b);
	call(SYS_flistxattr, 99, b, 1);
	call(SYS_removexattr, "nothing", "user.a");
	call(SYS_lremovexattr, "nothing", "user.a");
	call(SYS_sched_setparam, 99999999, (int[]){ 5 });
	call(SYS_setfsuid, 0);
	call(SYS_vmsplice, 99, 0, 0, 0);
	call(SYS_mlockall, 0);
	call(SYS_acct, "nothing/nothing");
	call(SYS_swapoff, "nothing");
	call(SYS_pivot_root, "nothing", "nothing");
	call(SYS_memfd_create, "aa", 0x100);
	call(SYS_pidfd_getfd, 99, 1, 0);
	call(SYS_timer_delete, 77);
	call(SYS_rseq, 8, 32, 0, 0x53053053);
	return 0;
}
