/* Waits 0.7 s in one function and 0.3 s in another. */
#include <unistd.h>

__attribute__((noinline)) static void wait_seventy(void)
{
	usleep(700000);
	__asm__ volatile("");
}

__attribute__((noinline)) static void wait_thirty(void)
{
	usleep(300000);
	__asm__ volatile("");
}

int main(void)
{
	wait_seventy();
	wait_thirty();
	return 0;
}
