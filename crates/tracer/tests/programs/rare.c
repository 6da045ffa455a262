/* Calls that are seldom seen: their names, and how many arguments they have. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>
#define call syscall

int main(void) {
	char b[256] = { 0 };

	/* Nothing is made that two of these at once would see of each other. */
	call(SYS_shmget, 77, 0, 01600);
	call(SYS_shmat, 99999, 0, SHM_RDONLY);
	call(SYS_shmdt, 8);
	call(SYS_shmctl, 99999, 0, 0);
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
	call(SYS_ioprio_get, 7, 5);
	call(SYS_ioprio_set, 9, 5, 3 << 13 | 4);
	call(SYS_swapon, "nothing", 0x5802a);
	call(SYS_rt_sigprocmask, 0, b, 0, 4);
	call(SYS_rt_sigpending, b, 16);
	call(SYS_prctl, 1, 1l << 40);
	call(SYS_prctl, 4, 9);
	for (int set = 0; set < 4; set++) {
		call(SYS_prctl, 6, set);
		call(SYS_prctl, 20, set);
		call(SYS_prctl, 26, set & 3);
		call(SYS_prctl, 45, set);
	}
	call(SYS_prctl, 5, 8);
	call(SYS_prctl, 19, 8);
	call(SYS_prctl, 25, b);
	call(SYS_prctl, 40, 8);
	call(SYS_prctl, 0x59616d61, -1l);
	call(SYS_mknod, "nothing/x", 0xffffffff);
	call(SYS_open, "nothing/x", 0x500000);
	call(SYS_futimesat, -100, "nothing", (long[]){ 5, 1000000, 6, 7 });
	call(SYS_getdents64, -1, b, 0x100000005);
	/* Arrays and text that end where memory does. */
	char *end = (char *)mmap(0, 8192, 3, 0x22, -1, 0) + 4096;
	munmap(end, 4096);
	memset(end - 4096, 'a', 4096);
	call(SYS_poll, end - 8, 2, 0);
	call(SYS_writev, -1, memset(end - 16, 0, 16), 2);
	memset(end - 16, 'a', 16);
	for (int length = 31; length < 35; length++)
		call(SYS_delete_module, end - length, 0);
	call(SYS_chdir, end - 4096);
	call(SYS_chdir, end - 4095);
	call(SYS_connect, -1, end - 8, 8);
	for (int length = 31; length < 35; length++)
		call(SYS_write, -1, end - 32, length);
	call(SYS_ioperm, 0xfffffff, 1, 1);
	call(SYS_delete_module, "nothing", 0xfffffa00u);
	call(SYS_init_module, 8, 5, "nothing");
	call(SYS_finit_module, -1, "nothing", 0xf);
	call(SYS_add_key, "a", "b", "cde", 3, -3);
	call(SYS_add_key, "", "b", "cde", 9, 5);
	call(SYS_request_key, "a", 0, "c", -9);
	call(SYS_process_vm_readv, 0x7fffffff, (long[]){ 64, 5 }, 1, (long[]){ 96, 7, 8, 9 }, 2, 1);
	call(SYS_process_vm_writev, 0x7fffffff, (void *[]){ b, (void *)5 }, 1, 8, 2, 0);
	call(SYS_process_madvise, -1, (long[]){ 64, 5 }, 1, 20, 3);
	call(SYS_process_mrelease, -1, 9);
	call(SYS_remap_file_pages, 77, 1, 3, 2, 0x8021);
	call(SYS_userfaultfd, 0xfff);
	call(SYS_memfd_secret, 7);
	call(SYS_futex_waitv, (long[]){ 5, 64, 0x10000082, 0, 0, 1l << 32 | 5 }, 2, 3, 0, 9);
	call(SYS_landlock_add_rule, -1, 1, (long[]){ 0xffff, -1 }, 0);
	call(SYS_landlock_add_rule, -1, 2, b, 1);
	call(SYS_landlock_restrict_self, -1, 1);
	call(SYS_reboot, 0xfee1dead, 5, 0xa1b2c3d4, "nothing");
	call(SYS_reboot, 1, 672274793, 0x1234567, "nothing");
	call(SYS_fsopen, "nothing", 3);
	call(SYS_fsmount, -1, 1, 0xbf);
	call(SYS_fspick, -1, "nothing", 0x1f);
	call(SYS_open_tree, -1, "nothing", 0x8ffff);
	call(SYS_move_mount, -1, "a", -100, "b", 0x1ff);
	for (int command = 0; command < 10; command++)
		call(SYS_fsconfig, -1, command, "key", "value", command == 2 ? 3 : 0);
	call(SYS_kexec_file_load, -1, -1, 4, "abc", 0xfful);
	call(SYS_ustat, 77, b);
	call(SYS_mq_notify, -1, 0);
	call(SYS_mq_getsetattr, -1, (long[]){ 0x800, 1, 2, 3 }, b);
	call(SYS_io_destroy, 5);
	for (int command = 0; command < 22; command++) {
		call(SYS_msgctl, -5, command, b);
		call(SYS_shmctl, -5, command, b);
		call(SYS_semctl, -5, 1, command, b);
	}
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
