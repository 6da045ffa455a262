/* narrow: calls getpid the 32-bit way, if the kernel has that, and the 64-bit way. Ends with 0 if both agree, with 1 if
 * not, with 2 if there is no 32-bit way. */
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	long narrow;

	__asm__ volatile("int $0x80" : "=a"(narrow) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
	if (narrow == -38)
		return 2;
	return narrow != syscall(SYS_getpid);
}
