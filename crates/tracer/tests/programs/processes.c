/* Processes, signals, memory, clocks, futexes. What the compiler would warn of is done on purpose. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wnonnull"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define call syscall

static void caught(int s) { }
static void caught_more(int s, siginfo_t *i, void *u) { }
static void *thread(void *a) { return 0; }

int main(int argc, char **argv) {
	int x = 0, i, p[2];
	char b[256];
	sigset_t set;
	siginfo_t si = { 0 };
	struct rusage ru;
	struct timespec ts = { 0, 5 }, q = { 1, 0 };
	struct itimerval it = { { 0, 0 }, { 0, 1000 } };
	pthread_t t;
	long page;

	/* children */
	if (!fork()) _exit(3);
	wait4(-1, &x, 0, 0);
	if (!fork()) {
		call(SYS_kill, getpid(), SIGKILL);
	}
	wait4(-1, &x, WUNTRACED, &ru);
	if (!fork()) {
		struct rlimit none = { 0, 0 };
		setrlimit(RLIMIT_CORE, &none);
		*(volatile int *)24 = 1;
	}
	waitpid(-1, &x, __WALL);
	if (!fork()) _exit(7);
	waitid(P_ALL, 0, &si, WEXITED);
	waitid(P_ALL, 0, &si, WEXITED | WNOHANG);
	call(SYS_wait4, -1, &x, WNOHANG, 0);
	call(SYS_wait4, 5, &x, 0x123, 0);
	if (!vfork()) {
		execve("/nothing", (char *[]){ "a", "b \n", 0 }, (char *[]){ "E=1", "F=22", 0 });
		execve("/nothing", 0, 0);
		execve("/nothing", (char *[]){ 0 }, (char *[]){ "E=1", 0 });
		execve("/nothing", (void *)8, (void *)8);
		execve("/nothing", (char *[]){ (char *)8, "x", 0 }, (char *[]){ 0 });
		_exit(0);
	}
	wait(&x);
	call(SYS_execveat, -100, "/nothing", argv, 0, 0x1000);
	pthread_create(&t, 0, thread, 0);
	pthread_join(t, 0);
	call(SYS_clone3, (long[]){ 0, 0, 0, 0, 0, 5, 6, 0 }, 64);
	call(SYS_clone3, 0, 64);
	call(SYS_clone, 0x8000000000ul | 0x10000 | 17, 0, 0, 0, 0);
	call(SYS_clone, 0x1000010000ul, 0, 0, 0, 0);
	call(SYS_unshare, 0);
	call(SYS_unshare, 0x7);
	call(SYS_setns, 1, 0x20000);
	call(SYS_setpgid, 0, 0);
	call(SYS_getpgid, 0);
	call(SYS_getsid, 0);
	call(SYS_getppid);

	/* limits and identities */
	call(SYS_getrlimit, RLIMIT_NOFILE, b);
	call(SYS_setrlimit, RLIMIT_NOFILE, b);
	call(SYS_prlimit64, 0, RLIMIT_STACK, 0, b);
	call(SYS_prlimit64, 0, 99, b, 0);
	call(SYS_getrlimit, 99, b);
	call(SYS_getrusage, RUSAGE_SELF, &ru);
	call(SYS_getpriority, 0, 0);
	call(SYS_setpriority, PRIO_PROCESS, 0, 1);
	call(SYS_getuid);
	call(SYS_getresuid, &x, &x, &x);
	call(SYS_setreuid, -1, -1);
	call(SYS_setresgid, -1, -1, -1);
	call(SYS_getgroups, 0, 0);
	call(SYS_getgroups, 32, b);
	call(SYS_setgroups, 70000, b);
	call(SYS_capget, (int[]){ 0x20080522, 0 }, b);
	call(SYS_capget, (int[]){ 5, 0 }, b);
	call(SYS_personality, 0xffffffff);
	call(SYS_uname, (char[400]){ 0 });
	call(SYS_sysinfo, b);
	call(SYS_times, b);
	call(SYS_getcpu, &x, &i, 0);
	call(SYS_syslog, 10, 0, 0);
	call(SYS_getrandom, b, 8, 1);
	call(SYS_membarrier, 0, 0, 0);

	call(SYS_ptrace, 99, 1, 2, 3);
	call(SYS_pidfd_open, 1, 0);
	call(SYS_pidfd_send_signal, 99, 9, 0, 0);
	call(SYS_kcmp, 1, 2, 3, 4, 5);
	call(SYS_process_vm_readv, 99999999, 0, 0, 0, 0, 0);

	/* prctl */
	call(SYS_prctl, PR_SET_NAME, "a name that is too long");
	call(SYS_prctl, PR_SET_NAME, "short");
	call(SYS_prctl, PR_GET_NAME, b);
	call(SYS_prctl, PR_SET_PDEATHSIG, SIGTERM);
	call(SYS_prctl, PR_GET_PDEATHSIG, &x);
	call(SYS_prctl, PR_SET_PDEATHSIG, 0);
	call(SYS_prctl, PR_CAPBSET_READ, 21);
	call(SYS_prctl, PR_GET_DUMPABLE);
	call(SYS_prctl, PR_SET_DUMPABLE, 1);
	call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	call(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	call(SYS_prctl, PR_SET_VMA, 0, 4096, 1, "named");
	call(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
	call(SYS_prctl, PR_GET_CHILD_SUBREAPER, &x);
	call(SYS_prctl, PR_SET_TIMERSLACK, 5);
	call(SYS_prctl, PR_GET_TIMERSLACK);
	call(SYS_prctl, PR_GET_SECCOMP);
	call(SYS_prctl, PR_CAP_AMBIENT, 2, 5, 0, 0);
	call(SYS_prctl, PR_GET_KEEPCAPS);
	call(SYS_prctl, PR_SET_KEEPCAPS, 0);
	call(SYS_prctl, 999, 1, 2, 3, 4);
	call(SYS_arch_prctl, 0x1003, b);
	call(SYS_arch_prctl, 0x1011, 0);
	call(SYS_arch_prctl, 0x77, 5);

	/* processors */
	call(SYS_sched_getaffinity, 0, 128, b);
	call(SYS_sched_setaffinity, 0, 8, (long[]){ 5 });
	call(SYS_sched_getscheduler, 0);
	call(SYS_sched_setscheduler, 0, 0x40000000, (int[]){ 0 });
	call(SYS_sched_getparam, 0, b);
	call(SYS_sched_get_priority_max, 1);
	call(SYS_sched_rr_get_interval, 0, b);
	call(SYS_sched_yield);

	/* memory */
	page = call(SYS_mmap, 0, 8192, 3, 0x22, -1, 0);
	call(SYS_mmap, 0, 10, 0x70, 0x12345, -1, 0x1001);
	call(SYS_mmap, 0, 10, 0, 3, 5, 0x1000);
	call(SYS_mmap, 0, 10, 0, 0, 5, 0x1000);
	call(SYS_mprotect, page, 4096, 1);
	call(SYS_mprotect, 8, 8, 0x80);
	call(SYS_mincore, page, 8192, b);
	call(SYS_mremap, page, 8192, 4096, 1);
	call(SYS_mremap, 8, 9, 10, 3, 77);
	call(SYS_madvise, page, 4096, 4);
	call(SYS_madvise, 0, 1, 99);
	call(SYS_msync, page, 4096, 4);
	call(SYS_mlock, page, 4096);
	call(SYS_mlock2, page, 4096, 1);
	call(SYS_munlockall);
	call(SYS_mlockall, 8);
	call(SYS_munmap, page, 4096);
	call(SYS_brk, 0);
	call(SYS_pkey_alloc, 1, 0);

	/* signals */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGUSR1);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = caught, .sa_flags = SA_RESTART, .sa_mask = set }, 0);
	sigaction(SIGRTMIN + 3, &(struct sigaction){ .sa_sigaction = caught_more, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESETHAND }, (struct sigaction *)b);
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, 0);
	call(SYS_rt_sigaction, 99, 0, b, 8);
	call(SYS_rt_sigaction, 9, b, 0, 8);
	call(SYS_rt_sigprocmask, SIG_BLOCK, &set, 0, 8);
	call(SYS_rt_sigprocmask, 77, &set, 0, 8);
	call(SYS_kill, getpid(), SIGUSR1);
	call(SYS_rt_sigpending, b, 8);
	call(SYS_rt_sigtimedwait, &set, &si, &ts, 8);
	call(SYS_rt_sigtimedwait, &set, 0, &ts, 8);
	call(SYS_rt_sigprocmask, SIG_SETMASK, 0, &set, 8);
	sigfillset(&set);
	call(SYS_rt_sigprocmask, SIG_SETMASK, &set, &set, 8);
	call(SYS_rt_sigprocmask, SIG_SETMASK, &set, 0, 8);
	sigemptyset(&set);
	call(SYS_rt_sigprocmask, SIG_SETMASK, &set, 0, 8);
	call(SYS_kill, getpid(), SIGUSR1);
	call(SYS_tgkill, getpid(), getpid(), SIGUSR1);
	sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 77 });
	call(SYS_kill, 1, 99);
	call(SYS_kill, 0x7fffffff, 40);
	call(SYS_tkill, 0x7fffffff, 64);
	call(SYS_sigaltstack, (long[]){ 0, 2, 0 }, b);
	signal(SIGALRM, caught);
	siginterrupt(SIGALRM, 1);
	/* Signals that wait until they are let in come when they are expected, however slow the machine. */
	sigaddset(&set, SIGALRM);
	call(SYS_rt_sigprocmask, SIG_BLOCK, &set, 0, 8);
	raise(SIGALRM);
	sigdelset(&set, SIGALRM);
	call(SYS_rt_sigsuspend, &set, 8);
	raise(SIGALRM);
	call(SYS_ppoll, 0, 0, &q, &set, 8);
	raise(SIGALRM);
	call(SYS_epoll_pwait, epoll_create1(0), b, 1, -1, &set, 8);
	call(SYS_rt_sigprocmask, SIG_SETMASK, &set, 0, 8);
	it.it_value.tv_sec = 5000;
	setitimer(ITIMER_REAL, &it, 0);
	call(SYS_getitimer, ITIMER_REAL, &it);
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, &it);
	pipe(p);
	call(SYS_alarm, 0);

	/* time */
	call(SYS_nanosleep, &ts, 0);
	call(SYS_nanosleep, (void *)8, 0);
	call(SYS_clock_nanosleep, CLOCK_REALTIME, 1, &ts, 0);
	call(SYS_clock_gettime, CLOCK_MONOTONIC, &q);
	call(SYS_clock_gettime, 99, &q);
	call(SYS_clock_gettime, -6, &q);
	call(SYS_clock_getres, CLOCK_REALTIME, &q);
	call(SYS_clock_getres, CLOCK_REALTIME, 0);
	call(SYS_clock_settime, 99, &ts);
	call(SYS_gettimeofday, b, 0);
	call(SYS_time, 0);
	call(SYS_timer_create, 1, (long[]){ 0, 14, 5 }, &x);
	call(SYS_timer_create, 1, 0, &x);
	call(SYS_timer_settime, x, 0, (long[]){ 0, 0, 5, 0 }, 0);
	call(SYS_timer_gettime, x, b);
	call(SYS_timer_getoverrun, x);
	call(SYS_timer_delete, x);
	i = call(SYS_timerfd_create, 1, 04000);
	call(SYS_timerfd_settime, i, 1, (long[]){ 0, 0, 5, 0 }, 0);
	call(SYS_timerfd_gettime, i, b);
	call(SYS_signalfd4, -1, &set, 8, 04000);

	/* futexes */
	x = 0;
	call(SYS_futex, &x, FUTEX_WAIT, 5, 0);
	call(SYS_futex, &x, FUTEX_WAIT_PRIVATE, 0, &ts);
	call(SYS_futex, &x, FUTEX_WAKE_PRIVATE, 0x7fffffff, 0);
	call(SYS_futex, &x, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 0, &ts, 0, -1);
	call(SYS_futex, &x, FUTEX_WAKE_BITSET, 1, 0, 0, 5);
	call(SYS_futex, &x, FUTEX_REQUEUE, 1, 2, &x, 0);
	call(SYS_futex, &x, FUTEX_CMP_REQUEUE, 1, 2, &x, 0);
	call(SYS_futex, &x, FUTEX_WAKE_OP, 1, 2, &x, FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_GT, 4));
	call(SYS_futex, &x, FUTEX_LOCK_PI, 0, 0, 0, 0);
	call(SYS_futex, &x, FUTEX_UNLOCK_PI, 0, 0, 0, 0);
	call(SYS_futex, &x, FUTEX_TRYLOCK_PI, 0, 0, 0, 0);
	call(SYS_futex, &x, FUTEX_WAIT_REQUEUE_PI, 1, &ts, &x, 0);
	call(SYS_futex, &x, FUTEX_CMP_REQUEUE_PI, 1, 1, &x, 0);
	call(SYS_futex, &x, 77, 1, 2, 3, 4);
	call(SYS_set_robust_list, b, 24);
	call(SYS_get_robust_list, 0, b, b + 8);
	call(999, 1, 2, 3, 4, 5, 6);
	raise(SIGTERM);
}
