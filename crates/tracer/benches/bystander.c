/* bystander CALLS: how long a call takes that nobody traces, in nanoseconds: the least mean of twenty runs. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **words)
{
	int calls = count > 1 ? atoi(words[1]) : 100000;
	double least = 1e9;

	for (int run = 0; run < 20; run++) {
		struct timespec begin, end;
		clock_gettime(CLOCK_MONOTONIC, &begin);
		for (int call = 0; call < calls; call++)
			syscall(SYS_getppid);
		clock_gettime(CLOCK_MONOTONIC, &end);
		double each = ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / calls;
		least = each < least ? each : least;
	}
	printf("%.0f\n", least);
	return 0;
}
