/* Calls that mean something else by what they are asked, none of which succeeds. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#define call syscall

/* Nobody has this number. */
enum { NOBODY = 0x7fffffff };

static void programs_of_the_kernel(void) {
	int map[32] = { 2, 4, 8, 256, 1 << 2 | 1, -1, 7, 'n' | 'a' << 8 };
	struct { int kind, count; void *code; char *licence; int level, size; char *log; int version, flags; } program = {
		1, 1, (unsigned long[]){ 0xbadc0dedfffeab95 }, "GPL", 1, 4, "logged", 0x060102, 1
	};
	unsigned long batch[8] = { 1, 2, 3, 4, -1ul << 32 | 3, 4, 5, 0x77 };

	for (unsigned size = 4; size <= 104; size += 4)
		call(SYS_bpf, 0, map, size);
	for (unsigned size = 16; size <= 48; size += 8)
		call(SYS_bpf, 5, &program, size);
	for (int command = 1; command < 40; command++)
		if (command != 5 && command != 32)
			call(SYS_bpf, command, batch, 64);
	call(SYS_bpf, 6, (void *[]){ "nowhere", (void *)5 }, 16);
	call(SYS_bpf, 17, (void *[]){ "point", (void *)-1 }, 12);
	for (int kind = 0; kind < 44; kind += 14)
		call(SYS_bpf, 28, (int[12]){ -1, -1, kind, 0, 5 }, kind ? 48 : 20);
}

static void rings(void) {
	char probe[272] = { 3, 2 };

	call(SYS_io_uring_register, -1, 2, (int[]){ -1, -2, 99 }, 3);
	call(SYS_io_uring_register, -1, 6, (void *[]){ (void *)5, (int[]){ -2, -1, 99 } }, 3);
	call(SYS_io_uring_register, -1, 8, probe, 2);
	call(SYS_io_uring_register, -1, 11, (char[32]){ 0, 0, 5, 0, 9, 0, 7, 1 }, 2);
	call(SYS_io_uring_register, -1, 13, (long[]){ 2, 0, (long)(int[]){ 98, 99 }, 0, 7 }, 40);
	call(SYS_io_uring_register, -1, 17, (long[]){ 0x2b }, 8);
	call(SYS_io_uring_register, -1, 19, (int[]){ 1, 2, 3 }, 3);
	call(SYS_io_uring_register, -1, 22, (long[5]){ 0x1000, 0x500000004 }, 1);
	call(SYS_io_uring_register, -1, 99, probe, 1);
}

static void asides(void) {
	struct { long data; int key, rw; short what, priority; int fd; void *buffer; long bytes, offset, spare; int flags, told; } one = {
		7, 0, 1, 1, 2 << 13 | 3, -1, "written", 7, 4096, 0, 3, 99
	};

	for (one.what = 0; one.what < 10; one.what++)
		if (one.what != 5)
			call(SYS_io_submit, 0x77000l, 1l, (void *[]){ &one });
	call(SYS_io_cancel, 0x77000l, &one, 0l);
	call(SYS_io_getevents, 0x77000l, 1l, 2l, 0x1000l, (long[]){ 3, 4 });
	call(SYS_io_pgetevents, 0x77000l, 1l, 2l, 0l, 0l, (void *[]){ (long[]){ 5 }, (void *)8 });
}

static void counters(void) {
	int one[34] = { 3, 128, 0x020103, 0, 9, 0, 1 << 11, 0, 4, 0, 0x1fc01, 0x80 };

	for (one[0] = 0; one[0] < 7; one[0]++)
		for (one[1] = 0; one[1] < 160; one[1] += 24)
			call(SYS_perf_event_open, one, NOBODY, 1, -1, 9l);
}

static void debugging(void) {
	siginfo_t told = { .si_signo = SIGSEGV, .si_errno = 2, .si_code = 3 };
	long vector[2] = { 0x1000, 16 };

	told.si_addr = (void *)0x1234;
	for (long what = 0; what < 34; what++)
		if (what)
			call(SYS_ptrace, what, NOBODY, 9l, 10l);
	for (long what = 0x4200; what < 0x4210; what++)
		call(SYS_ptrace, what, NOBODY, 8l, 0x10l);
	for (int signal = 0; signal < 32; signal++)
		for (int code = -7; code < 8; code++) {
			told.si_signo = signal;
			told.si_code = code;
			call(SYS_ptrace, 0x4203, NOBODY, 0l, &told);
		}
	call(SYS_ptrace, 0x4205, NOBODY, 3l, vector);
	call(SYS_ptrace, 0x4209, NOBODY, (long[]){ 1, 2l << 32 | 1 }, 0l);
	call(SYS_ptrace, 0x420d, NOBODY, 16l, (long[]){ 5, 6 });
	call(SYS_ptrace, 3, NOBODY, 8l * 16, 0l);
}

static void addresses(void) {
	char address[128];

	for (int family = 0; family < 46; family++) {
		memset(address, 'A', sizeof(address));
		memcpy(address, &(short){ family }, 2);
		/* What has no room in another address says how long it is. */
		memcpy(address + 6, &(short){ 16 }, 2);
		/* The names of interfaces are this machine's. */
		memcpy(address + 4, &(int){ 0 }, 4);
		memcpy(address + 12, &(int){ 2 }, 4);
		for (socklen_t length = 2; length <= sizeof(address); length += length < 40 ? 1 : 14)
			call(SYS_connect, -1, address, length);
	}
}

static void others(void) {
	call(SYS_landlock_create_ruleset, (long[]){ 0x3001 }, 8l, 2);
	call(SYS_landlock_create_ruleset, (long[]){ 0x3001, 5 }, 16l, 2);
	call(SYS_landlock_create_ruleset, (long[]){ 0x3001 }, 4l, 2);
	call(SYS_futex, 8, 0x107, 1, 2, 3, 4);
	call(SYS_futex, 8, 0x105, 1, 2, 3, 0x5abc6def);
	call(SYS_futex, 8, 130, 1);
	call(SYS_set_mempolicy, 99, (long[]){ 1, 2, 3 }, 1l);
	call(SYS_set_mempolicy, 99, (long[]){ 1, 2, 3 }, 130l);
	call(SYS_set_thread_area, (int[]){ -1, 0x5000, 7, 0x55 });
	call(SYS_modify_ldt, 99, (int[]){ 5, 0x5000, 7, 0x2a }, 16l);
	call(SYS_modify_ldt, 99, (int[]){ 5, 0x5000, 7, 0x2a }, 15l);
}

int main(void) {
	programs_of_the_kernel();
	rings();
	asides();
	counters();
	debugging();
	addresses();
	others();
	return 0;
}
