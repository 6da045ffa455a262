/*
 * Debian's kernel of User Mode Linux has 2,696 bytes of room for the extended state of a process, and the host refuses
 * to be given back less than all of it. On processors with more, this stands between the two: it keeps what doesn't
 * fit. Loaded before the C library.
 */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char whole[65536] __attribute__((aligned(64)));
static size_t whole_size = sizeof(whole);

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static long get(long pid, struct iovec *room)
{
	struct iovec state = { whole, sizeof(whole) };
	long got = syscall(SYS_ptrace, PTRACE_GETREGSET, pid, NT_X86_XSTATE, &state);

	if (got == 0) {
		whole_size = state.iov_len;
		room->iov_len = least(room->iov_len, whole_size);
		memcpy(room->iov_base, whole, room->iov_len);
	}
	return got;
}

static long set(long pid, const struct iovec *room)
{
	struct iovec state = { whole, whole_size };

	memcpy(whole, room->iov_base, least(room->iov_len, whole_size));
	return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, NT_X86_XSTATE, &state);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list rest;
	va_start(rest, request);
	long pid = va_arg(rest, pid_t);
	void *address = va_arg(rest, void *);
	void *data = va_arg(rest, void *);
	va_end(rest);

	if (address == (void *)NT_X86_XSTATE && request == PTRACE_GETREGSET)
		return get(pid, data);
	if (address == (void *)NT_X86_XSTATE && request == PTRACE_SETREGSET)
		return set(pid, data);
	if (request >= PTRACE_PEEKTEXT && request <= PTRACE_PEEKUSER) {
		/* The system call stores what the library returns. */
		long word;
		long read = syscall(SYS_ptrace, request, pid, address, &word);

		if (read < 0)
			return read;
		errno = 0;
		return word;
	}
	return syscall(SYS_ptrace, request, pid, address, data);
}
