/* Calls on files, each with its edges. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
#define call syscall

static char big[5000];

int main(void) {
	char b[256], *page;
	struct stat st;
	struct iovec v[3] = { { b, 2 }, { b, 3 }, { b, 60 } };
	int p[2], fd, i;
	long off = 4;

	/* paths and strings */
	fd = open("/etc/hostname", O_RDONLY | O_CLOEXEC);
	call(SYS_read, fd, b, 100);
	call(SYS_read, fd, b, 100);
	close(fd);
	call(SYS_open, "nothing\1\2here\3\377\"quoted\" \\back 1\t2\n3\r4\v5\f6", O_RDONLY);
	call(SYS_open, "\0011\0012\377x", O_RDONLY);
	call(SYS_open, "", O_RDONLY);
	call(SYS_open, (char *)8, O_RDONLY);
	call(SYS_open, 0, O_RDONLY);
	memset(big, 'p', sizeof big - 1);
	call(SYS_open, big, O_RDONLY);
	big[4096] = 0;
	call(SYS_open, big, O_RDONLY);
	big[4095] = 0;
	call(SYS_open, big, O_RDONLY);
	page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(page + 4096, 4096);
	memcpy(page + 4090, "tail12", 6);
	call(SYS_open, page + 4090, O_RDONLY);
	page[4095] = 0;
	call(SYS_open, page + 4090, O_RDONLY);
	call(SYS_write, 99, page + 4090, 20);
	call(SYS_write, 99, page + 4090, 6);
	call(SYS_write, 99, "embedded\0zero\0", 14);
	call(SYS_write, 99, big, 31);
	call(SYS_write, 99, big, 32);
	call(SYS_write, 99, big, 33);
	call(SYS_write, 99, b, 0);
	call(SYS_write, 99, (char *)8, 5);
	call(SYS_write, 99, 0, 5);

	/* opening */
	fd = call(SYS_open, "new", O_RDWR | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0640);
	call(SYS_open, "new", O_WRONLY | O_SYNC | O_DIRECT | O_NOFOLLOW | O_NOATIME | O_LARGEFILE | O_NOCTTY | O_DSYNC | FASYNC, 0640);
	call(SYS_open, "new", 3 | O_PATH | O_DIRECTORY);
	call(SYS_open, "new", O_DIRECTORY | 0x80000000);
	call(SYS_openat, AT_FDCWD, "q/q", O_TMPFILE | O_WRONLY, 0600);
	call(SYS_openat, 55, "q/q", O_CREAT, 07777);
	call(SYS_openat, -5, "q/q", O_CREAT | O_RDWR, 0);
	call(SYS_openat2, AT_FDCWD, "/etc", (long[]){ O_DIRECTORY, 0, 8 }, 24);
	call(SYS_openat2, AT_FDCWD, "new", (long[]){ O_CREAT | O_RDWR, 0644, 0x49 }, 24);
	call(SYS_creat, "q/q", 0644);
	call(SYS_write, fd, "0123456789", 10);
	call(SYS_pwrite64, fd, "abc", 3, 5);
	call(SYS_pread64, fd, b, 10, 1);
	call(SYS_lseek, fd, -3, SEEK_END);
	call(SYS_lseek, fd, 5, 9);
	call(SYS_lseek, fd, 0, SEEK_DATA);
	call(SYS_writev, fd, v, 2);
	call(SYS_readv, fd, v, 3);
	call(SYS_preadv, fd, v, 3, 0);
	call(SYS_pwritev, fd, v, 1, 7);
	call(SYS_preadv2, fd, v, 3, 1, 0, 8);
	call(SYS_pwritev2, fd, v, 1, 1, 0, 0x10);
	call(SYS_readv, 99, v, 3);
	call(SYS_writev, 99, (void *)8, 3);
	call(SYS_writev, 99, 0, 0);

	/* what they are */
	call(SYS_stat, "/etc/hostname", &st);
	call(SYS_lstat, "/dev/null", &st);
	call(SYS_stat, "nothing", &st);
	call(SYS_stat, "/tmp", &st);
	call(SYS_fstat, fd, &st);
	call(SYS_newfstatat, AT_FDCWD, "/etc/hostname", &st, AT_SYMLINK_NOFOLLOW);
	call(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH | 0x40000);
	call(SYS_statx, AT_FDCWD, "/etc/hostname", AT_STATX_DONT_SYNC, 0xfff, big);
	call(SYS_statx, AT_FDCWD, "/nothing", 0x100, 0x10, big);
	call(SYS_statfs, "/proc", b);
	call(SYS_fstatfs, fd, b);
	call(SYS_access, "new", R_OK | W_OK);
	call(SYS_access, "new", 0x18);
	call(SYS_faccessat, AT_FDCWD, "new", F_OK);
	call(SYS_faccessat2, AT_FDCWD, "new", X_OK, AT_EACCESS);
	call(SYS_readlink, "/proc/self/cwd", b, 4);
	call(SYS_readlinkat, AT_FDCWD, "new", b, 4);
	call(SYS_getcwd, b, 1);
	call(SYS_getcwd, b, 200);

	/* changing them */
	call(SYS_mkdir, "d", 0755);
	call(SYS_mkdirat, AT_FDCWD, "d/e", 01777);
	call(SYS_rename, "d/e", "d/f");
	call(SYS_renameat, AT_FDCWD, "d/f", AT_FDCWD, "d/g");
	call(SYS_renameat2, AT_FDCWD, "d/g", AT_FDCWD, "d/h", RENAME_NOREPLACE);
	call(SYS_rmdir, "d/h");
	call(SYS_link, "new", "d/link");
	call(SYS_linkat, AT_FDCWD, "new", AT_FDCWD, "d/link", AT_SYMLINK_FOLLOW);
	call(SYS_symlink, "to", "d/sym");
	call(SYS_symlinkat, "to", AT_FDCWD, "d/sym");
	call(SYS_unlink, "d/link");
	call(SYS_unlinkat, AT_FDCWD, "d/sym", 0);
	call(SYS_unlinkat, AT_FDCWD, "d", AT_REMOVEDIR);
	call(SYS_chmod, "new", 0);
	call(SYS_chmod, "new", 7);
	call(SYS_fchmod, fd, 04755);
	call(SYS_fchmodat, AT_FDCWD, "new", 0177777);
	call(SYS_chown, "new", -1, 0);
	call(SYS_fchown, fd, 0, -1);
	call(SYS_lchown, "new", -1, -1);
	call(SYS_fchownat, AT_FDCWD, "new", 0, 0, AT_SYMLINK_NOFOLLOW);
	call(SYS_mknod, "d/x", S_IFCHR | 0600, 0x1234);
	call(SYS_mknod, "d/x", 0644, 5);
	call(SYS_mknodat, AT_FDCWD, "d/x", S_IFIFO | 0600, 0);
	call(SYS_truncate, "nothing", 5);
	call(SYS_ftruncate, fd, 20);
	call(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, 0, 100);
	call(SYS_fallocate, 99, 0x81, 1, 2);
	call(SYS_umask, 022);
	call(SYS_utime, "nothing", &(struct utimbuf){ 1, 2 });
	call(SYS_utimes, "nothing", (struct timeval[]){ { 1, 2 }, { 3, 4 } });
	call(SYS_utimensat, AT_FDCWD, "nothing", 0, 0);
	call(SYS_utimensat, AT_FDCWD, "nothing", (struct timespec[]){ { 1, 2 }, { 0, UTIME_OMIT } }, AT_SYMLINK_NOFOLLOW);
	call(SYS_utimensat, AT_FDCWD, "new", (struct timespec[]){ { 0, UTIME_NOW }, { 5, 0 } }, 0);
	call(SYS_futimesat, AT_FDCWD, "nothing", 0);
	call(SYS_setxattr, "nothing", "user.a", "v\0", 2, 1);
	call(SYS_getxattr, "nothing", "user.a", b, 64);
	call(SYS_fsetxattr, fd, "user.a", "value", 5, 0);
	call(SYS_fgetxattr, fd, "user.a", b, 64);
	call(SYS_listxattr, "new", b, 64);
	call(SYS_fremovexattr, fd, "user.a");
	call(SYS_fsync, fd);
	call(SYS_fdatasync, fd);
	call(SYS_flock, fd, 6);
	call(SYS_fadvise64, fd, 0, 0, 4);
	call(SYS_readahead, fd, 0, 10);
	call(SYS_sync_file_range, fd, 0, 10, 7);

	/* descriptors */
	call(SYS_dup, fd);
	call(SYS_dup2, fd, 20);
	call(SYS_dup3, fd, 21, O_CLOEXEC);
	call(SYS_fcntl, fd, F_GETFL);
	call(SYS_fcntl, fd, F_GETFD);
	call(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
	call(SYS_fcntl, fd, F_SETFD, 6);
	call(SYS_fcntl, fd, F_GETFD);
	call(SYS_fcntl, fd, F_DUPFD, 30);
	call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 30);
	call(SYS_fcntl, fd, F_SETFL, O_RDWR | O_NONBLOCK | O_APPEND);
	call(SYS_fcntl, fd, F_SETLK, &(struct flock){ F_RDLCK, SEEK_SET, 0, 5, 0 });
	call(SYS_fcntl, fd, F_GETLK, &(struct flock){ F_WRLCK, SEEK_CUR, 0, 5, 0 });
	call(SYS_fcntl, fd, F_OFD_SETLK, &(struct flock){ F_UNLCK, SEEK_SET, 0, 5, 0 });
	call(SYS_fcntl, fd, F_SETOWN, 0);
	call(SYS_fcntl, fd, F_GETOWN);
	call(SYS_fcntl, fd, F_SETSIG, 12);
	call(SYS_fcntl, fd, F_GETSIG);
	call(SYS_fcntl, fd, F_SETLEASE, F_WRLCK);
	call(SYS_fcntl, fd, F_GETLEASE);
	call(SYS_fcntl, fd, 999, 5);
	call(SYS_fcntl, 99, F_GETFL);
	call(SYS_pipe, p);
	call(SYS_fcntl, p[0], F_SETPIPE_SZ, 4096);
	call(SYS_fcntl, p[0], F_GETPIPE_SZ);
	call(SYS_pipe2, p, O_NONBLOCK | O_CLOEXEC);
	call(SYS_read, p[0], b, 10);
	call(SYS_tee, p[0], p[1], 5, 2);
	call(SYS_splice, fd, &off, p[1], 0, 5, 3);
	call(SYS_sendfile, p[1], fd, 0, 5);
	off = 4;
	call(SYS_sendfile, p[1], fd, &off, 5);
	call(SYS_copy_file_range, 99, 0, 98, &off, 5, 0);
	call(SYS_ioctl, p[0], FIONREAD, &i);
	i = 1;
	call(SYS_ioctl, p[0], FIONBIO, &i);
	call(SYS_ioctl, 0, TCGETS, b);
	call(SYS_ioctl, 0, TIOCGWINSZ, b);
	call(SYS_ioctl, 0, 0x12345678, 5);
	call(SYS_ioctl, 0, 0xc0045678, b);
	call(SYS_ioctl, fd, FIOCLEX);
	call(SYS_eventfd2, 1, EFD_CLOEXEC | EFD_NONBLOCK);
	i = call(SYS_memfd_create, "name", 3);
	call(SYS_fcntl, i, F_ADD_SEALS, 6);
	call(SYS_fcntl, i, F_GET_SEALS);
	call(SYS_close, i);
	i = call(SYS_inotify_init1, IN_NONBLOCK);
	call(SYS_inotify_add_watch, i, ".", IN_CREATE | IN_DELETE | IN_ONLYDIR);
	call(SYS_inotify_rm_watch, i, 1);
	call(SYS_close_range, 100, -1, 4);
	i = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	call(SYS_getdents64, i, big, 128);
	call(SYS_getdents64, 99, big, 128);
	call(SYS_mount, "none", "/nothing", "tmpfs", MS_RDONLY | MS_NOSUID, "size=5");
	call(SYS_mount, 0, 0, 0, 0, 0);
	call(SYS_umount2, "/nothing", 2);
	call(SYS_chdir, "/nothing");
	call(SYS_chroot, "/nothing");
	call(SYS_open, "/dev/ptmx", O_RDWR | O_NOCTTY);
	/* names that say what isn't so, and descriptors through those of processes */
	i = open("named (deleted)", O_CREAT | O_RDWR, 0600);
	fd = open("named", O_CREAT | O_RDWR, 0600);
	call(SYS_unlink, "named");
	call(SYS_fchmod, i, 0600);
	call(SYS_fchmod, fd, 0600);
	call(SYS_unlink, "named (deleted)");
	call(SYS_fchmod, i, 0600);
	fd = call(SYS_pidfd_open, getpid(), 0);
	call(SYS_pidfd_getfd, fd, i, 0);
	call(SYS_pidfd_getfd, fd, -1, 0);
	call(SYS_pidfd_getfd, i, i, 1);
	i = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	call(SYS_ioctl, i, TCGETS, b);
	call(SYS_ioctl, i, TCSETS, b);
	call(SYS_ioctl, i, TIOCGWINSZ, b);
	call(SYS_ioctl, i, TIOCSWINSZ, b);
	call(SYS_ioctl, i, TIOCGPTN, b);
	call(SYS_exit_group, 3);
}
