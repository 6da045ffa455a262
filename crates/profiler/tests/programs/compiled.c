/* Calls two functions, 70 % and 30 % of the time, through code that it makes while it runs, as CPython does for perf: without frame
 * pointers, without unwind tables, with names in /tmp/perf-PID.map. For x86-64. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void work(unsigned long n)
{
	unsigned long hash = n;

	for (unsigned long i = 0; i < n; i++)
		hash = hash * 6364136223846793005ul + 1;
	sink += hash;
}

/* sub $8, %rsp; mov %rdi, %rax; mov %rsi, %rdi; call *%rax; add $8, %rsp; ret */
static const unsigned char code[] = { 0x48, 0x83, 0xec, 8, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3 };

typedef void trampoline(void (*)(unsigned long), unsigned long);

int main(int count, char **words)
{
	char name[64];
	time_t end = time(0) + (count > 1 ? atoi(words[1]) : 1);
	unsigned char *memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *map;

	snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
	map = fopen(name, "w");
	if (memory == MAP_FAILED || !map)
		return 1;
	memcpy(memory, code, sizeof code);
	memcpy(memory + 64, code, sizeof code);
	fprintf(map, "%lx %lx py::burn_seventy:burn.py\n", (unsigned long)memory, sizeof code);
	fprintf(map, "%lx %lx py::burn_thirty:burn.py\n", (unsigned long)memory + 64, sizeof code);
	fclose(map);
	while (time(0) < end) {
		((trampoline *)memory)(work, 70000);
		((trampoline *)(memory + 64))(work, 30000);
	}
	return 0;
}
