/* Calls from functions within functions, from a signal's handler, from code that was mapped meanwhile; and the end. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Something is left to do after each call, so that none becomes a jump. */
static volatile long sum;

static void handler(int number)
{
	sum += getgid() + number;
}

__attribute__((noinline)) void inner(void)
{
	sum += getuid();
}

/* Named as compilers of C++ and of Rust would. */
void in_space(int number) __asm__("_ZN5space4calmEi");
void in_crate(void) __asm__("_ZN5crate6shaken17h0123456789abcdefE");

__attribute__((noinline)) void in_space(int number)
{
	inner();
	sum += number;
}

__attribute__((noinline)) void in_crate(void)
{
	in_space(1);
	sum++;
}

__attribute__((noinline)) void outer(void)
{
	in_crate();
	sum++;
}

__attribute__((noinline)) void raised(void)
{
	sum += kill(getpid(), SIGUSR1);
}

/* It lies in a page of its own and leads nowhere. */
__attribute__((noinline, aligned(4096))) long moved(void)
{
#ifdef __x86_64__
	long result = SYS_geteuid;

	__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
#else
	register long result __asm__("x0");
	register long number __asm__("x8") = SYS_geteuid;

	__asm__ volatile("svc 0" : "=r"(result) : "r"(number) : "memory");
#endif
	return result;
}

__attribute__((noinline)) void again(int file, long offset)
{
	char *code = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, offset);

	sum += ((long (*)(void))(void *)code)();
}

int main(int count, char **arguments)
{
	(void)count;
	signal(SIGUSR1, handler);
	outer();
	raised();
	/* Where in the file it lies is told by what it holds. */
	int file = syscall(SYS_openat, -100, arguments[0], 0, 0);
	for (long offset = 0; offset < 1 << 20; offset += 4096) {
		long page[4];

		if (pread(file, page, sizeof(page), offset) != sizeof(page))
			break;
		if (!__builtin_memcmp(page, (void *)moved, sizeof(page))) {
			again(file, offset);
			break;
		}
	}
	sum++;
	execl("/bin/true", "true", (char *)0);
	return 1;
}
