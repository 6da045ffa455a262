/* ticks: writes a byte to its output again and again, until nobody reads. */
#include <signal.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	struct timespec short_time = { .tv_nsec = 1000000 };

	signal(SIGPIPE, SIG_IGN);
	while (write(1, ".", 1) == 1)
		nanosleep(&short_time, NULL);
	return 0;
}
