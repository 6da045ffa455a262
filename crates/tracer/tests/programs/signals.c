/* signals: handles a signal of its own, one that ends a sleep, ignores one, and is ended by SIGTERM. Ends with 1 if a
 * signal came too often or not at all. */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t usr1, alarms;

static void on_usr1(int signal, siginfo_t *info, void *context)
{
	(void)context;
	usr1 += signal == SIGUSR1 && info->si_code == SI_QUEUE && info->si_value.sival_int == 42;
}

static void on_alarm(int signal)
{
	alarms += signal == SIGALRM;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_usr1, .sa_flags = SA_SIGINFO };
	struct itimerval soon = { .it_value.tv_usec = 20000 };
	struct timespec long_time = { .tv_sec = 60 };

	sigaction(SIGUSR1, &action, NULL);
	sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 42 });
	action.sa_handler = on_alarm;
	action.sa_flags = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	if (nanosleep(&long_time, NULL) != -1 || errno != EINTR)
		return 1;
	signal(SIGUSR2, SIG_IGN);
	kill(getpid(), SIGUSR2);
	if (usr1 != 1 || alarms != 1)
		return 1;
	kill(getpid(), SIGTERM);
	return 1;
}
