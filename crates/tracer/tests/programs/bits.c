/* Every bit of every set of flags: which have names, and in which order they are told. */
#pragma GCC diagnostic ignored "-Woverflow"
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#define F 0xffffffffu

static char z[256], path[5000];

int main(void) {
	long sa[4] = { 0, F, 0, 0 };
	int p;

	syscall(SYS_open, "/x/y", F, 0);
	syscall(SYS_mmap, 0, 0, F&~0, 0xfffffff0|2, -1, 0);
	syscall(SYS_mmap, 0, 4096, 0, 0x40022|(21<<26), -1, 0);
	syscall(SYS_rt_sigaction, 99, sa, 0, 8);
	sa[1]=0x3;
	syscall(SYS_rt_sigaction, 99, sa, 0, 8);
	syscall(SYS_sendto, 99, "", 0, F, 0, 0);
	syscall(SYS_clone, 0xffffff00&~0x200ul, 0, z, z, z);
	syscall(SYS_unshare, 0xfffffffful);
	syscall(SYS_unshare, 0x10000ul|1);
	syscall(SYS_setns, 99, F);
	syscall(SYS_mount, "a", "/x/y", "c", 0xffffffffu&~0xc0ed0000, 0);
	syscall(SYS_mount, "a", "/x/y", "c", 0xc0ed0000|1, 0);
	syscall(SYS_umount2, "/x/y", F);
	syscall(SYS_newfstatat, 99, "/x/y"+1, z, F);
	syscall(SYS_statx, 99, "y", F&~0x6000, F, z);
	syscall(SYS_faccessat2, 99, "y", F, F);
	syscall(SYS_access, "/x/y", F);
	syscall(SYS_renameat2, 99, "a", 99, "b", F);
	syscall(SYS_unlinkat, 99, "a", F);
	syscall(SYS_linkat, 99, "a", 99, "b", F);
	syscall(SYS_fchownat, 99, "a", 1, 1, F);
	syscall(SYS_utimensat, 99, "a", 0, F);
	syscall(SYS_epoll_ctl, 99, 1, 99, (int[]){F, 1, 2});
	syscall(SYS_epoll_create1, F);
	syscall(SYS_poll, (short[]){0, 0, -1, 0}, 1, 0);
	syscall(SYS_eventfd2, 0, F);
	syscall(SYS_signalfd4, 99, z, 8, F);
	syscall(SYS_timerfd_create, 0, F);
	syscall(SYS_timerfd_settime, 99, F, z, 0);
	syscall(SYS_inotify_init1, F);
	syscall(SYS_inotify_add_watch, 99, "a", F);
	syscall(SYS_pipe2, z, F);
	syscall(SYS_dup3, 99, 98, F);
	syscall(SYS_memfd_create, "", F);
	syscall(SYS_memfd_create, "", 4|(21<<26)|0x1000);
	syscall(SYS_socket, 2, F, 0);
	syscall(SYS_accept4, 99, 0, 0, F);
	syscall(SYS_fallocate, 99, F, 0, 0);
	syscall(SYS_splice, 99, 0, 99, 0, 0, F);
	syscall(SYS_preadv2, 99, 0, 0, 0, 0, F);
	syscall(SYS_flock, 99, 4);
	syscall(SYS_wait4, 99999, 0, F, 0);
	syscall(SYS_waitid, 0, 0, 0, F, 0);
	syscall(SYS_getrandom, z, 0, F);
	syscall(SYS_msync, 1, 1, F);
	syscall(SYS_mremap, 1, 1, 1, F, 0);
	syscall(SYS_mlockall, F);
	syscall(SYS_mlock2, 1, 1, F);
	syscall(SYS_sync_file_range, 99, 0, 0, F);
	syscall(SYS_close_range, 5, 1, F);
	syscall(SYS_personality, 0x0fe0008);
	syscall(SYS_personality, 0);
	syscall(SYS_openat2, 99, "q", (long[]){F, 07777, F}, 24);
	syscall(SYS_fcntl, 99, F_SETFD, F);
	syscall(SYS_fcntl, 99, F_NOTIFY, F);
	syscall(SYS_fcntl, 99, F_ADD_SEALS, F);
	syscall(SYS_semop, 99, (short[]){1, 1, F}, 1);
	syscall(SYS_shmat, 99, 0, F);
	syscall(SYS_sigaltstack, (long[]){1, F, 1}, 0);
	syscall(SYS_clone3, (long[]){-1, 1, 2, 3, 65, 5, 6, 7, 8, 9, 10}, 88);
	syscall(SYS_setxattr, "/x/y", "b", "c", 1, F);
	syscall(SYS_prctl, 47, 2, 5, 0, 0);
	syscall(SYS_prctl, 28, F);
	syscall(SYS_seccomp, 1, F, 0);
	syscall(SYS_io_uring_enter, 99, 0, 0, F, 0, 0);
	syscall(SYS_pidfd_open, 0, F);
	syscall(SYS_mprotect, 1, 1, F);
	syscall(SYS_pkey_alloc, 0, F);
	syscall(SYS_membarrier, 4, 0, 0);
	syscall(SYS_kill, 0x7fffffff, 0);
	syscall(SYS_name_to_handle_at, 1, "x", 0, 0, F);
	memset(path, 'p', 4999);
	path[4999]=0;
	syscall(SYS_open, path, 0);
	path[4096]=0;
	syscall(SYS_open, path, 0);
	path[4095]=0;
	syscall(SYS_open, path, 0);
	p = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	syscall(SYS_ioctl, p, 0x5401, z);
	memset(z, 255, 36);
	syscall(SYS_ioctl, 99, 0x5402, z);
	syscall(SYS_timer_create, 1, (long[]){7, 14, 5}, z);
	syscall(SYS_timer_create, 1, (long[]){7, 14l|(4l<<32), 5}, z);
	syscall(SYS_timer_create, 1, (long[]){7, 14l|(2l<<32), 5, 6}, z);
	syscall(SYS_timer_create, 1, (long[]){0, 14l|(1l<<32), 5, 6}, z);
	syscall(SYS_stat, "/etc/passwd", z);
	return 0;
}
