/*
 * Tells every system call of chosen threads: one record in a ring when it comes back, with its arguments, its result, its
 * times, and the memory behind its pointers as the call's plan says.
 *
 * Nothing is lost as long as threads can be stopped: one that finds the ring half full asks for a stop of itself as it
 * leaves its call, and the engine, which holds it with ptrace, lets it go on when there is room. A record that finds no
 * room at all waits in its thread's storage until then.
 *
 * Programs that need another task than the current one are loaded with the types of what they get (tp_btf). The others aren't
 * (raw_tp): for each that is, the kernel looks through the names of all its types, which takes a millisecond.
 */
#include "wire.h"
#include "bucket.h"

char licence[] section("license") = "GPL";

/* Set when the programs are loaded. */
const volatile struct plan plans[2][512] = {};
const volatile u64 wake_at = 0;   /* bytes in the ring at which the reader is woken */
const volatile u64 hold_at = 0;   /* bytes in the ring at which threads are stopped */
const volatile u32 elements = 32; /* most elements of an array */
const volatile u32 follow = 0;    /* children and threads are traced too */
const volatile u32 begins = 0;    /* calls that make a child are told before what it does */
const volatile u32 outcomes = 0;  /* 1: only calls that failed, 2: only those that didn't, 0: all */
const volatile u32 works = 0;     /* calls say how long processors worked on them, and are counted by that */
const volatile u32 counting = 0;  /* calls are counted, and told only where there is no room to count them */

struct {
	number(type, MAP_TASK_STORAGE);
	number(map_flags, MAP_NO_PREALLOC);
	type(key, int);
	type(value, struct thread);
} threads section(".maps");

struct {
	number(type, MAP_RING);
	number(max_entries, 1 << 20);
} ring section(".maps");

struct {
	number(type, MAP_ARRAY);
	number(map_flags, MAP_MMAPABLE);
	number(max_entries, 1);
	type(key, u32);
	type(value, struct control);
} controls section(".maps");

struct {
	number(type, MAP_ARRAY);
	number(max_entries, 1);
	type(key, u32);
	type(value, struct visit);
} visits section(".maps");

struct large {
	struct fragment fragment;
	u8 bytes[LARGE];
};

/* Room for pieces that are too large for a thread's storage: one for each processor, as nothing here can be preempted. */
struct {
	number(type, MAP_ARRAY);
	number(max_entries, 1);
	type(key, u32);
	type(value, struct large);
} larges section(".maps");

/* One for each processor, as nothing here can be preempted. */
struct {
	number(type, MAP_ARRAY);
	number(map_flags, MAP_MMAPABLE);
	number(max_entries, 1);
	type(key, u32);
	type(value, struct counts);
} counts section(".maps");

inline_always struct control *control(void)
{
	u32 zero = 0;
	return map_lookup(&controls, &zero);
}

#include "scope.h"

inline_always struct thread *thread_of(struct task_struct *task)
{
	/*
	 * Nearly every task of the machine leaves here: who is followed is held with ptrace. That it has no storage would be a pointer
	 * to look at: for each such look the kernel goes through the names of all its types when it checks a program.
	 */
	if (scope == SCOPE_HELD && !task->ptrace)
		return 0;
	return task_storage(&threads, task, 0, 0);
}

inline_always int tell(void *record, u32 size, u64 available, struct control *control)
{
	u64 flags = RING_NO_WAKEUP;

	if (available > wake_at && control->asleep) {
		control->asleep = 0;
		flags = RING_FORCE_WAKEUP;
	}
	return ring_output(&ring, record, size, flags);
}

inline_always void head(struct head *head, struct task_struct *task, struct thread *thread, u8 kind, u64 now)
{
	head->kind = kind;
	head->abi = 0;
	head->flags = 0;
	head->sequence = ++thread->sequence;
	head->pid = task->tgid;
	head->tid = task->pid;
	head->at = now;
}

/* Says that a record was lost: never, unless nothing could be stopped. */
inline_always void lost(struct control *control)
{
	__sync_fetch_and_add(&control->lost, 1);
}

inline_always int bad_address(u64 address)
{
	return !address;
}

/* How much of something can be there where the next page isn't: 0 where it doesn't reach into that one. */
static u32 to_page_end(u64 address, u32 size)
{
	u32 rest = 4096 - (u32)(address & 4095);

	return rest < size ? rest : 0;
}

/* A program's text with its end, as far as there is room. Older kernels don't count the end of an empty one. */
inline_always long read_text(void *to, u32 size, u64 address)
{
	long got = read_user_text(to, size, (void *)address);

	if (got)
		return got;
	*(u8 *)to = 0;
	return 1;
}

/*
 * Puts what lies at an address into the ring at once, ahead of its call's record. For text `size` is the most there is of it.
 * 0, or an error if it couldn't be read; what finds no room is counted.
 */
not_inline int put_large(struct thread *thread, u64 address, u32 size, u32 text, u32 when)
{
	u32 cpu = this_cpu();
	struct large *large;
	struct control *shared;
	struct fragment *fragment;
	long got;

	if (!thread)
		return -1;
	large = map_lookup(&larges, &cpu);
	shared = control();
	if (!large || !shared)
		return -1;
	if (size > LARGE)
		size = LARGE;
	bounded(size);
	if (size > LARGE)
		return -1;
	if (text) {
		got = read_text(large->bytes, size, address);
		/* The zero that was put behind what was cut isn't the program's. */
		if (got == size && got > 1)
			got--;
	} else {
		got = read_user(large->bytes, size, (void *)address);
		if (!got)
			got = size;
	}
	if (got < 0) {
		size = to_page_end(address, size);
		bounded(size);
		if (!size || size > LARGE || read_user(large->bytes, size, (void *)address))
			return -1;
		got = size;
	}
	fragment = &large->fragment;
	fragment->head = thread->call.head;
	fragment->head.kind = FRAGMENT;
	fragment->piece.address = address;
	fragment->piece.length = got;
	fragment->piece.when = when;
	size = got;
	bounded(size);
	if (size > LARGE)
		return -1;
	if (tell(large, sizeof(*fragment) + size, ring_query(&ring, RING_AVAILABLE), shared)) {
		__sync_fetch_and_add(&shared->cut, 1);
		thread->call.head.flags |= FLAG_CUT;
	}
	return 0;
}

/* Adds what lies at an address to the call's record. 0, or an error if it couldn't be read. */
not_inline int put(struct thread *thread, u64 address, u32 size, u32 text, u32 when)
{
	struct piece *piece;
	u32 used, most = size;
	long got;
	void *to;

	if (!thread)
		return -1;
	used = thread->call.length;
	bounded(used);
	if (used > ROOM - SHORT - sizeof(*piece) || (size > SHORT && !text))
		return put_large(thread, address, size, text, when);
	piece = (void *)&thread->bytes[used];
	to = (void *)&thread->bytes[used + sizeof(*piece)];
	got = size;
	if (size > SHORT)
		size = SHORT;
	bounded(size);
	if (size > SHORT)
		return -1;
	if (text) {
		got = read_text(to, size, address);
		/* It went on: what was read holds all of the room but no end. */
		if (got == SHORT && most > SHORT)
			return put_large(thread, address, most, text, when);
		/* The zero that was put behind what was cut isn't the program's. */
		if (got == size && got > 1)
			got--;
	} else {
		if (read_user(to, size, (void *)address))
			got = -1;
	}
	if (got < 0) {
		if (text && most > SHORT)
			return put_large(thread, address, most, text, when);
		size = to_page_end(address, size);
		bounded(size);
		if (!size || size > SHORT || read_user(to, size, (void *)address))
			return -1;
		got = size;
	}
	piece->address = address;
	piece->length = got;
	piece->when = when;
	thread->call.length = (used + sizeof(*piece) + (u32)got + 7) & ~7u;
	return 0;
}

/* Where a loop over a program's array is. */
struct walk {
	struct thread *thread;
	u64 array;
	u64 rest;
	u32 count;
	u32 most;
	u16 when;
	u8 several; /* messages that have their lengths behind them */
	s8 failed;  /* something couldn't be read */
};

/* Loops end with 1, as the helper has it. */
static long put_vector(u32 index, struct walk *walk)
{
	u64 vector[2], size;

	if (index >= walk->count || !walk->rest)
		return 1;
	if (read_user(vector, sizeof(vector), (void *)(walk->array + index * sizeof(vector)))) {
		walk->failed = -1;
		return 1;
	}
	size = vector[1] < walk->rest ? vector[1] : walk->rest;
	walk->rest -= size;
	if (size > walk->most)
		size = walk->most;
	if (size && vector[0] && put(walk->thread, vector[0], size, 0, walk->when))
		walk->failed = -1;
	return 0;
}

/* The buffers of an array of vectors, and the array. `rest` is how many bytes they hold in all. */
not_inline int put_vectors(struct thread *thread, u64 array, u64 count, u64 rest, u32 most_when)
{
	struct walk walk = {
		.thread = thread,
		.array = array,
		.count = count > elements ? elements : count,
		.rest = rest,
		.most = most_when & 0xffffff,
		.when = most_when >> 24,
	};

	if (!thread)
		return -1;
	if (!walk.count || !array)
		return 0;
	/* One more than is shown, for whether there is another is. */
	if (put(thread, array, (count > elements ? walk.count + 1 : walk.count) * 16, 0, walk.when))
		return -1;
	loop(walk.count, put_vector, &walk, 0);
	return walk.failed;
}

/* The kernel's msghdr, as 64-bit programs have it. */
struct message {
	u64 name;
	u32 name_length, filler;
	u64 vectors, count;
	u64 control, control_length;
	u64 flags;
};

/* `all` bytes of it: of several each has its length behind it. */
inline_always int put_message(struct thread *thread, u64 address, u32 all, u64 rest, u32 most, u32 when)
{
	struct message message;
	u64 size;
	int failed = 0;

	if (read_user(&message, sizeof(message), (void *)address))
		return -1;
	if (put(thread, address, all, 0, when))
		return -1;
	size = message.name_length;
	if (size > 128)
		size = 128;
	if (message.name && size && put(thread, message.name, size, 0, when))
		failed = -1;
	if (put_vectors(thread, message.vectors, message.count, rest, most | when << 24))
		failed = -1;
	size = message.control_length;
	if (size > 4096)
		size = 4096;
	if (message.control && size && put(thread, message.control, size, 0, when))
		failed = -1;
	return failed;
}

#define POINTERS_MOST 4096

static long count_pointer(u32 index, struct walk *walk)
{
	u64 pointer;

	if (read_user(&pointer, sizeof(pointer), (void *)(walk->array + index * 8)))
		return 1;
	walk->count = index + 1; /* Not by adding: the verifier would follow every number. */
	return !pointer;
}

/* An array of pointers up to the null one. */
not_inline int put_pointers(struct thread *thread, u64 array)
{
	struct walk walk = { .array = array };

	if (!thread)
		return -1;
	loop(POINTERS_MOST, count_pointer, &walk, 0);
	if (!walk.count)
		return -1;
	return put(thread, array, walk.count * 8, 0, ENTERED);
}

static long put_one_text(u32 index, struct walk *walk)
{
	u64 pointer;

	if (read_user(&pointer, sizeof(pointer), (void *)(walk->array + index * 8)) || !pointer)
		return 1;
	if (put(walk->thread, pointer, walk->most, 1, ENTERED))
		walk->failed = -1;
	return 0;
}

/* An array of pointers up to the null one, and the texts that they point to. */
not_inline int put_texts(struct thread *thread, u64 array, u32 most)
{
	struct walk walk = { .thread = thread, .array = array, .most = most };

	if (!thread)
		return -1;
	if (put_pointers(thread, array))
		return -1;
	loop(elements, put_one_text, &walk, 0);
	return walk.failed;
}

/* The kernel's mmsghdr: a message and how long it was. */
#define MESSAGE_STEP 64
#define MESSAGE_LENGTH 56
#define MESSAGES_MOST 32
#define NO_LIMIT 0x7fffffffffffffffll

static long put_one_message(u32 index, struct walk *walk)
{
	u64 address = walk->array + (u64)index * MESSAGE_STEP;
	u64 rest = walk->rest;
	u32 all = walk->several && walk->when == ENTERED ? MESSAGE_STEP : sizeof(struct message);

	if (index >= walk->count)
		return 1;
	if (walk->several && walk->when == LEFT) {
		u32 length = 0;

		if (put(walk->thread, address + MESSAGE_LENGTH, sizeof(length), 0, LEFT) ||
		    read_user(&length, sizeof(length), (void *)(address + MESSAGE_LENGTH))) {
			walk->failed = -1;
			return 1;
		}
		rest = length;
	}
	if (put_message(walk->thread, address, all, rest, walk->most, walk->when))
		walk->failed = -1;
	return 0;
}

#define CLONE_TIDS 64 /* where they stand in clone3's structure */
#define TIDS_MOST 32

/* What a pair points to: the operations of a filter, whose number stands before, a set of signals, or numbers, with how
 * many behind. */
not_inline int put_pointed(struct thread *thread, u64 address, u32 kind)
{
	u64 pair[2], size, pointer;

	if (!thread)
		return -1;
	if (read_user(pair, sizeof(pair), (void *)address))
		return 0;
	pointer = pair[0];
	if (kind == FILTER) {
		size = (pair[0] & 0xffff) * 8;
		pointer = pair[1];
	} else if (kind == MASK) {
		size = 8;
	} else {
		size = pair[1] > TIDS_MOST ? 0 : pair[1] * 4;
	}
	if (size && pointer)
		return put(thread, pointer, size, 0, ENTERED);
	return 0;
}

#define BENEATH_WORDS 32
#define BENEATH_UNSAID 8
#define BENEATH_MOST 256
#define LEAST_POINTER 0x10000ull
#define MOST_POINTER (1ull << 48)

/* What only looks like pointers mustn't fill the ring: so many of a structure, and of what each of them leads to. */
#define BENEATH_PIECES 8
#define WITHIN_PIECES 4
#define WITHIN_WORDS 24
#define WITHIN_MOST 64

/* Structures in arrays may be packed: what stands there may begin at every fourth byte. */
static long put_one_within(u32 index, struct walk *walk)
{
	struct thread *thread = walk->thread;
	u64 pointer;

	if (!thread->within || read_user(&pointer, sizeof(pointer), (void *)(walk->array + index * 4)))
		return 1;
	if (pointer >= LEAST_POINTER && pointer < MOST_POINTER && !put(thread, pointer, WITHIN_MOST, 0, walk->when | GUESSED))
		thread->within--;
	return 0;
}

static long put_one_beneath(u32 index, struct walk *walk)
{
	struct thread *thread = walk->thread;
	u64 pointer;

	if (index >= walk->count || !thread->beneath)
		return 1;
	if (read_user(&pointer, sizeof(pointer), (void *)(walk->array + index * 8)))
		return 1;
	if (pointer >= LEAST_POINTER && pointer < MOST_POINTER &&
	    !put(thread, pointer, BENEATH_MOST, 0, walk->when | GUESSED)) {
		struct walk within = { .thread = thread, .array = pointer, .when = walk->when };

		thread->beneath--;
		thread->within = WITHIN_PIECES;
		loop(WITHIN_WORDS, put_one_within, &within, 0);
	}
	return 0;
}

/*
 * What stands in a structure that may be a pointer, and how what lies there begins: the program may be gone, or that memory
 * another's, when the engine sees that it is wanted.
 */
not_inline int put_beneath(struct thread *thread, u64 address, u64 size, u32 when)
{
	struct walk walk = { .thread = thread, .array = address, .count = size / 8, .when = when };

	if (!thread)
		return -1;
	thread->beneath = BENEATH_PIECES;
	/* Old requests don't say how much they are given. */
	if (!size)
		walk.count = BENEATH_UNSAID;
	if (walk.count > BENEATH_WORDS)
		walk.count = BENEATH_WORDS;
	loop(BENEATH_WORDS, put_one_beneath, &walk, 0);
	return 0;
}

/* Drivers whose requests of ioctl are given more than the requests say. */
#define SCSI 0x22
#define MAPPER 0xfd
#define SCSI_SIZE 160 /* of the larger version */
#define MAPPER_SIZE_AT 12
/* As many bytes as any old request is given but fonts: what a key of a console says. */
#define UNSAID 520

/* How many bytes an ioctl is given as its number says; 0 for old ones, which don't. */
inline_always u32 requested(u64 request)
{
	if ((request >> 8 & 0xff) == SCSI)
		return SCSI_SIZE;
	return request >> 16 & 0x3fff;
}

/* Does one step of a call's plan. 0, or an error if the memory couldn't be read. */
not_inline int take(struct thread *thread, u32 abi, u32 row, u32 index, u32 when)
{
	const volatile struct step *step;
	u64 address, count;
	u32 argument, size, most;
	s64 value;

	if (!thread || abi > 1 || row > 511 || index >= STEPS)
		return 0;
	step = &plans[abi][row].steps[index];
	argument = step->argument;
	if (argument > 5)
		return 0;
	address = thread->call.arguments[argument];
	if (bad_address(address))
		return 0;
	most = step->most;
	/* Of what is said there nothing can be told by its beginning. */
	if (argument == 1 && thread->call.head.flags >= FLAG_NETLINK)
		most = LARGE;
	value = when == LEFT ? thread->call.value : 0x7fffffffffffffffll;
	switch (step->kind) {
	case TEXT:
		return put(thread, address, most, 1, when);
	case VECTORS:
		argument = step->count;
		if (argument > 5)
			return 0;
		return put_vectors(thread, address, thread->call.arguments[argument], value, most | when << 24);
	case MESSAGE:
	case MESSAGES: {
		struct walk walk = {
			.thread = thread, .array = address, .rest = NO_LIMIT, .most = most, .when = when, .count = 1,
		};

		if (step->kind == MESSAGE) {
			walk.rest = value;
		} else {
			walk.several = 1;
			count = when == LEFT ? value : (u32)thread->call.arguments[2];
			walk.count = count > elements ? elements : count;
		}
		loop(MESSAGES_MOST, put_one_message, &walk, 0);
		return walk.failed;
	}
	case FILTER:
	case MASK:
		return put_pointed(thread, address, step->kind);
	case TIDS:
		return put_pointed(thread, address + CLONE_TIDS, TIDS);
	case TEXTS:
		return put_texts(thread, address, most);
	case POINTERS:
		return put_pointers(thread, address);
	case BENEATH:
		return put_beneath(thread, address, requested(thread->call.arguments[1]), when);
	}
	size = step->count;
	if (size == COUNT_ONE) {
		count = 1;
	} else if (size == COUNT_RESULT) {
		count = value;
	} else if (size >= COUNT_BEHIND && size < COUNT_BEHIND + 6) {
		u32 behind = 0;

		argument = size - COUNT_BEHIND;
		bounded(argument);
		if (argument > 5)
			return 0;
		if (read_user(&behind, sizeof(behind), (void *)thread->call.arguments[argument]))
			return -1;
		count = behind;
	} else if (size == COUNT_REQUEST) {
		/* Old ones don't say. */
		u32 said = 0;

		count = requested(thread->call.arguments[1]);
		if (!count)
			count = UNSAID;
		/* What belongs to the header lies behind it, as far as that says. */
		if ((thread->call.arguments[1] >> 8 & 0xff) == MAPPER &&
		    !read_user(&said, sizeof(said), (void *)(address + MAPPER_SIZE_AT)) && said > count)
			count = said;
		/* What is said may go on behind it. */
		if (count < 128)
			count = 128;
	} else if (size == COUNT_SET) {
		int descriptors = thread->call.arguments[0];

		count = descriptors > 0 ? ((u32)descriptors + 63) / 64 * 8 : 0;
	} else if (size < 6) {
		bounded(size);
		if (size > 5)
			return 0;
		count = thread->call.arguments[size];
	} else {
		return 0;
	}
	if (count > most)
		count = most;
	count *= step->size;
	if (count > most)
		count = most;
	/* Nothing is a piece too: it was there. */
	return put(thread, address, count, 0, when);
}

/* The steps of a call's plan that are done now. */
struct steps {
	struct thread *thread;
	u32 abi;
	u32 row;
	u32 when;   /* ENTERED or LEFT */
	u32 among;  /* bits of steps: no others */
	u32 ended;  /* FAILED where the call failed: only steps that are done nevertheless */
	u32 missed; /* bits of steps whose memory couldn't be read */
};

static long take_step(u32 index, struct steps *steps)
{
	u32 abi = steps->abi, row = steps->row, when;

	if (index >= STEPS || abi > 1 || row > 511 || !plans[abi][row].steps[index].kind)
		return 1;
	when = plans[abi][row].steps[index].when;
	if (!(when & steps->when) || !(steps->among >> index & 1) || steps->ended & ~when)
		return 0;
	if (take(steps->thread, abi, row, index, steps->when))
		steps->missed |= 1 << index;
	return 0;
}

#define NETLINK 16
#define FILE_TYPE 0170000
#define FILE_SOCKET 0140000

/* What a descriptor of a task stands for; 0 for nothing. */
inline_always struct file *file_of(struct task_struct *task, u32 descriptor)
{
	struct files_struct *files = 0;
	struct fdtable *table = 0;
	struct file **all = 0, *file = 0;
	u32 most = 0;

	if (fetch(files, task->files) || !files || fetch(table, files->fdt) || fetch(most, table->max_fds) || descriptor >= most)
		return 0;
	if (fetch(all, table->fd) || fetch(file, all[descriptor]))
		return 0;
	return file;
}

#include "paths.h"

/* One more than the protocol of a netlink socket, as a record's flags have it; 0 for every other descriptor. */
not_inline u32 netlink_of(u32 descriptor)
{
	struct file *file = file_of(current_task(), descriptor);
	struct inode *inode = 0;
	struct socket *socket = 0;
	struct sock *sock = 0;
	u16 mode = 0, family = 0, protocol = 0;

	if (!file)
		return 0;
	if (fetch(inode, file->f_inode) || fetch(mode, inode->i_mode) || (mode & FILE_TYPE) != FILE_SOCKET)
		return 0;
	if (fetch(socket, file->private_data) || fetch(sock, socket->sk))
		return 0;
	if (fetch(family, sock->__sk_common.skc_family) || family != NETLINK || fetch(protocol, sock->sk_protocol))
		return 0;
	return (protocol + 1) * FLAG_NETLINK;
}

#if defined(__TARGET_ARCH_x86)
inline_always void arguments(struct call *call, struct pt_regs *regs)
{
	if (call->head.abi == ABI_I386) {
		call->arguments[0] = (u32)regs->bx;
		call->arguments[1] = (u32)regs->cx;
		call->arguments[2] = (u32)regs->dx;
		call->arguments[3] = (u32)regs->si;
		call->arguments[4] = (u32)regs->di;
		call->arguments[5] = (u32)regs->bp;
		return;
	}
	call->arguments[0] = regs->di;
	call->arguments[1] = regs->si;
	call->arguments[2] = regs->dx;
	call->arguments[3] = regs->r10;
	call->arguments[4] = regs->r8;
	call->arguments[5] = regs->r9;
}

/* Set by the kernel on its way in, when a 32-bit way was taken, whatever the program is. */
#define TS_COMPAT 2

inline_always u32 abi_of(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT ? ABI_I386 : ABI_64;
}

inline_always u32 number_of(struct pt_regs *regs)
{
	return regs->orig_ax;
}
#else
inline_always void arguments(struct call *call, struct pt_regs *regs)
{
	call->arguments[0] = regs->orig_x0;
	call->arguments[1] = regs->regs[1];
	call->arguments[2] = regs->regs[2];
	call->arguments[3] = regs->regs[3];
	call->arguments[4] = regs->regs[4];
	call->arguments[5] = regs->regs[5];
}

inline_always u32 abi_of(struct task_struct *task)
{
	return ABI_64;
}

inline_always u32 number_of(struct pt_regs *regs)
{
	return regs->syscallno;
}
#endif

/* Tells a thread's call. */
inline_always int tell_call(struct thread *thread, u64 available, struct control *control)
{
	u32 length = thread->call.length;

	bounded(length);
	if (length > ROOM)
		return 0;
	return tell(&thread->call, sizeof(thread->call) + length, available, control);
}

/* The call that found no room, now that its thread goes on. */
inline_always void tell_parked(struct thread *thread)
{
	struct control *shared = control();

	thread->state = OUTSIDE;
	if (shared && tell_call(thread, ring_query(&ring, RING_AVAILABLE), shared))
		lost(shared);
}

/* Counts a call. 0, or an error if there is no room to. */
inline_always int count(struct call *call, u64 took, u64 failed)
{
	u32 cpu = this_cpu();
	struct counts *own = map_lookup(&counts, &cpu);
	struct figures *figures;
	struct cell *cell = 0;
	u32 row, key, place, i;

	if (!own || call->number >= NUMBERS)
		return -1;
	row = ((call->head.abi & 1) * NUMBERS + call->number) & (2 * NUMBERS - 1);
	key = 1 + (row << 11) + bucket(took);
	place = key * 0x9e3779b1u >> (32 - CELLS_POWER);
#pragma unroll
	for (i = 0; i < PROBES; i++) {
		cell = &own->cells[(place + i) & (CELLS - 1)];
		if (!cell->key)
			cell->key = key;
		if (cell->key == key)
			break;
		cell = 0;
	}
	if (!cell)
		return -1;
	cell->calls++;
	figures = &own->figures[row];
	figures->errors += failed;
	figures->total += took;
	if (~took > figures->shortest)
		figures->shortest = ~took;
	if (took > figures->longest)
		figures->longest = took;
	return 0;
}

section("raw_tp/sys_enter") int enter(u64 *context)
{
	u64 called = context[1];
	struct task_struct *task = current_task();
	struct pt_regs *regs;
	struct thread *thread;
	struct call *call;
	u32 abi, row, flags;

	/* Nearly every call of the machine leaves here. */
	if (scope != SCOPE_HELD && !(plans[abi_of(task)][called & 511].flags & PLAN_CHOSEN))
		return 0;
	thread = own_thread(task, OUTSIDE);
	if (!thread)
		return 0;
	if (thread->state == PARKED)
		tell_parked(thread);
	abi = abi_of(task);
	row = called & 511;
	flags = plans[abi][row].flags;
	if (thread->waits && !(flags & PLAN_REPLACES))
		return 0;
	if (!(flags & PLAN_CHOSEN)) {
		thread->state = UNTOLD;
		return 0;
	}
	call = &thread->call;
	call->number = called;
	call->length = 0;
	call->head.abi = abi;
	call->head.flags = 0;
	call->head.tid = task->pid;
	thread->missed = 0;
	if (!counting) {
		regs = registers_of(task);
		arguments(call, regs);
		if (flags & PLAN_STACK)
			call->arguments[0] = regs->sp;
	}
	if (!counting && flags & PLAN_SOCKET)
		call->head.flags = netlink_of(call->arguments[0]);
	if (!counting && flags & PLAN_ENTERS) {
		struct steps steps = { .thread = thread, .abi = abi, .row = row, .when = ENTERED, .among = ~0u };

		loop(STEPS, take_step, &steps, 0);
		thread->missed = steps.missed;
	}
	if (!counting && flags & PLAN_ARGUMENTS) {
#pragma unroll
		for (u32 index = 0; index < 6; index++)
			if (flags & PLAN_ARGUMENT(index))
				put_descriptor(thread, call->arguments[index], ENTERED);
	}
	thread->state = INSIDE;
	call->worked = 0;
	call->entered = time_now();
	if (flags & PLAN_ENDS) {
		struct control *shared = control();

		thread->state = OUTSIDE;
		if (counting && !count(call, 0, 0))
			return 0;
		head(&call->head, task, thread, CALL, call->entered);
		call->head.abi = abi;
		call->head.flags = FLAG_OPEN;
		if (shared && tell_call(thread, ring_query(&ring, RING_AVAILABLE), shared))
			thread->state = PARKED;
	}
	return 0;
}

/*
 * A program is about to be replaced: the kernel has just read the texts of the call, so that they are there now, and in a moment they
 * are gone. Since Linux 6.10.
 */
section("raw_tp/sched_prepare_exec") int prepare(u64 *context)
{
	struct thread *thread = thread_of(current_task());
	struct steps steps = { .when = ENTERED };

	if (!thread || thread->state != INSIDE || !thread->missed)
		return 0;
	steps.thread = thread;
	steps.abi = thread->call.head.abi & 1;
	steps.row = thread->call.number & 511;
	steps.among = thread->missed;
	loop(STEPS, take_step, &steps, 0);
	thread->missed = steps.missed;
	return 0;
}

/* The first and the last of the results that say that a signal interrupted a call. */
#define ERESTARTSYS 512
#define ERESTART_RESTARTBLOCK 516

#define SIGKILL 9
#define SIGCHLD 17
#define SIGCONT 18
#define SIGSTOP 19
#define SIGURG 23
#define SIGWINCH 28
#define BIT_OF(signal) (1ull << ((signal) - 1))

/*
 * Asks for a stop of this thread before it is back in its program. The engine sees every signal first and drops this one.
 * SIGCHLD and the next two, because they do nothing where nobody drops them, as when the engine was killed a moment ago;
 * SIGSTOP where all of them are blocked, but not while a SIGCONT waits, which it would take with it.
 */
inline_always int hold(struct task_struct *task, struct control *control)
{
	u64 own = task->pending.signal.sig[0];
	u64 taken = task->blocked.sig[0] | own;
	struct signal_struct *shared = 0;
	u64 process = 0;
	u32 signal = SIGSTOP;

	if (!task->ptrace)
		return 0;
	/* The kernel itself never sends it with nothing to say, so that the engine knows it as ours. */
	if (!(taken & BIT_OF(SIGCHLD)))
		return !send_signal_thread(SIGCHLD);
	if (!(taken & BIT_OF(SIGURG)))
		signal = SIGURG;
	else if (!(taken & BIT_OF(SIGWINCH)))
		signal = SIGWINCH;
	else if (fetch(shared, task->signal) || fetch(process, shared->shared_pending.signal.sig[0]) ||
		 (own | process) & BIT_OF(SIGCONT))
		return 0;
	control->stopped[__sync_fetch_and_add(&control->next, 1) & (STOPPED - 1)] = task->pid;
	return !send_signal_thread(signal);
}

section("raw_tp/sys_exit") int leave(u64 *context)
{
	s64 value = context[1];
	u64 available, now, took, failed;
	struct task_struct *task = current_task();
	struct thread *thread = thread_of(task);
	struct control *shared;
	struct call *call;
	u32 abi, row, flags, state, refused;

	/* A call that began within the scope is told even if its thread has left the scope by it. */
	if (!thread && scope != SCOPE_HELD)
		thread = own_thread(task, JOINED);
	if (!thread)
		return 0;
	if (thread->state == PARKED)
		tell_parked(thread);
	state = thread->state;
	call = &thread->call;
	/* A filter of seccomp refuses a call, or answers it, before it is entered: here it is seen for the first time. */
	refused = state == OUTSIDE && !thread->waits && (scope == SCOPE_HELD || in_scope(task));
	if (state == JOINED || refused) {
		struct pt_regs *regs = registers_of(task);

		call->head.abi = abi_of(task);
		call->head.flags = refused ? 0 : FLAG_JOINED;
		call->number = number_of(regs);
		call->length = 0;
		/* Whoever was attached to is read by the engine; who is held by nobody may be gone then. */
		thread->missed = scope == SCOPE_HELD && !refused ? 0 : ~0u;
		call->worked = refused ? 0 : ~0ull;
		if (refused)
			call->entered = time_now();
		arguments(call, regs);
		flags = plans[call->head.abi & 1][call->number & 511].flags;
		/* A child that was started into the scope comes back from a call that it never made. */
		if (!(flags & PLAN_CHOSEN) || ((refused || scope != SCOPE_HELD) && flags & PLAN_FORKS && !value))
			state = UNTOLD;
		if (!counting && flags & PLAN_SOCKET)
			call->head.flags |= netlink_of(call->arguments[0]);
	} else if (state != INSIDE) {
		if (state == NEWBORN || state == UNTOLD)
			thread->state = OUTSIDE;
		return 0;
	}
	thread->state = OUTSIDE;
	if (state == UNTOLD)
		return 0;
	/* Who is killed isn't told that a signal interrupted it: the call ends with its thread. */
	if (value <= -ERESTARTSYS && value >= -ERESTART_RESTARTBLOCK && task->pending.signal.sig[0] & BIT_OF(SIGKILL)) {
		thread->state = INSIDE;
		return 0;
	}
	now = time_now();
	failed = value < 0 && value >= -4095;
	if (outcomes && failed != (outcomes == 1))
		return 0;
	/* The clock by which a call was joined isn't quite the same. */
	took = now > call->entered ? now - call->entered : 0;
	/* Of one that was joined nobody knows it. */
	call->worked = took > call->worked ? took - call->worked : 0;
	if (works && counting)
		took = call->worked;
	if (counting && !count(call, took, failed))
		return 0;
	call->value = value;
	abi = call->head.abi & 1;
	row = call->number & 511;
	flags = plans[abi][row].flags;
	if (!counting && (flags & PLAN_LEAVES || thread->missed)) {
		struct steps steps = { .thread = thread, .abi = abi, .row = row, .when = ENTERED };

		/* The call itself may have made readable what wasn't. */
		steps.among = thread->missed;
		if (flags & PLAN_REPLACES && !value)
			steps.missed = thread->missed;
		else if (thread->missed)
			loop(STEPS, take_step, &steps, 0);
		steps.when = LEFT;
		steps.among = ~0u;
		steps.ended = value < 0 ? FAILED : 0;
		if (flags & PLAN_LEAVES)
			loop(STEPS, take_step, &steps, 0);
		if (steps.missed)
			call->head.flags |= FLAG_CUT;
	}
	if (!counting && flags & PLAN_RESULT && !failed)
		put_descriptor(thread, value, LEFT);
	flags = call->head.flags;
	head(&call->head, task, thread, CALL, now);
	call->head.abi = abi;
	call->head.flags = flags;
	shared = control();
	if (!shared)
		return 0;
	available = ring_query(&ring, RING_AVAILABLE);
	if (scope == SCOPE_HELD && (available > hold_at || (shared->turns && ++thread->turn >= shared->turns))) {
		if (hold(task, shared)) {
			thread->turn = 0;
			call->head.flags |= FLAG_HELD;
			__sync_fetch_and_add(&shared->held, 1);
		}
	}
	if (tell_call(thread, available, shared))
		thread->state = PARKED;
	return 0;
}

inline_always void tell_change(struct task_struct *task, struct thread *thread, u8 kind, u32 other, u32 code)
{
	struct change change = {};
	struct control *shared = control();

	head(&change.head, task, thread, kind, time_now());
	change.other = other;
	change.code = code;
	if (shared && tell(&change, sizeof(change), ring_query(&ring, RING_AVAILABLE), shared))
		lost(shared);
}

/* Tells a call that goes on, unless it is crowded: then it is told at its end alone. */
inline_always void tell_begun(struct task_struct *task, struct thread *thread)
{
	struct call *call = &thread->call;
	u32 abi = call->head.abi, flags = call->head.flags;
	u64 available = ring_query(&ring, RING_AVAILABLE);
	struct control *shared = control();

	if (!shared || available > hold_at)
		return;
	head(&call->head, task, thread, CALL, time_now());
	call->head.abi = abi;
	call->head.flags = flags | FLAG_BEGUN;
	if (tell_call(thread, available, shared))
		lost(shared);
	call->head.flags = flags;
}

section("tp_btf/sched_process_fork") int fork(u64 *context)
{
	struct task_struct *parent = (void *)context[0];
	struct task_struct *child = (void *)context[1];
	struct thread *thread;
	struct thread *other;

	if (!follow)
		return 0;
	if (scope != SCOPE_HELD && (excludes_child(parent, child) || leaves_cgroup(parent, child)))
		return 0;
	thread = own_thread(parent, JOINED);
	if (!thread)
		return 0;
	if (begins && thread->state == INSIDE)
		tell_begun(parent, thread);
	other = task_storage(&threads, child, 0, STORAGE_CREATE);
	if (other) {
		/* It comes back from a call that it never made. */
		other->state = NEWBORN;
	} else {
		struct control *shared = control();

		if (shared)
			__sync_fetch_and_add(&shared->unfollowed, 1);
	}
	tell_change(parent, thread, FORKED, child->pid, child->tgid);
	return 0;
}

section("raw_tp/sched_process_exit") int end(u64 *context)
{
	struct task_struct *task = current_task();
	struct thread *thread = own_thread(task, OUTSIDE);
	struct call *call;

	if (!thread)
		return 0;
	call = &thread->call;
	if (thread->state == PARKED) {
		tell_parked(thread);
	} else if (thread->state == INSIDE && !outcomes && !(counting && !count(call, 0, 0))) {
		struct control *shared = control();
		u32 abi = call->head.abi, flags = call->head.flags;

		head(&call->head, task, thread, CALL, time_now());
		call->head.abi = abi;
		call->head.flags = flags | FLAG_OPEN;
		if (shared && tell_call(thread, ring_query(&ring, RING_AVAILABLE), shared))
			lost(shared);
	}
	thread->state = OUTSIDE;
	tell_change(task, thread, EXITED, 0, task->exit_code);
	return 0;
}

/* Attached only where the time is wanted that processors worked. */
section("tp_btf/sched_switch") int yields(u64 *context)
{
	struct task_struct *before = (void *)context[1];
	struct task_struct *after = (void *)context[2];
	struct thread *thread = thread_of(before);
	u64 now;

	if (thread)
		thread->away = time_now();
	thread = thread_of(after);
	if (thread && thread->state == INSIDE) {
		now = time_now();
		if (thread->away > thread->call.entered && now > thread->away)
			thread->call.worked += now - thread->away;
	}
	return 0;
}

section("raw_tp/sched_process_exec") int execute(u64 *context)
{
	struct task_struct *task = current_task();
	struct thread *thread = own_thread(task, OUTSIDE);

	if (thread) {
		thread->waits = 0;
		/* It is in an execve that wasn't seen. */
		if (thread->state == OUTSIDE)
			thread->state = UNTOLD;
		tell_change(task, thread, EXECUTED, context[1], 0);
	}
	return 0;
}

/* The kernel ends the process by this signal, whatever handles it, and no debugger hears of it. */
#define SA_IMMUTABLE 0x00800000

section("raw_tp/signal_deliver") int deliver(u64 *context)
{
	struct signalled record = {};
	struct task_struct *task = current_task();
	struct thread *thread = own_thread(task, OUTSIDE);
	struct control *shared;
	struct handling *handling = (void *)context[2];
	unsigned long flags = 0;

	/* What can't be caught is told as the end that it is. */
	if (!thread || context[0] == SIGKILL || thread->waits || (!fetch(flags, handling->flags) && flags & SA_IMMUTABLE))
		return 0;
	if (thread->state == PARKED)
		tell_parked(thread);
	shared = control();
	if (!shared)
		return 0;
	head(&record.head, task, thread, SIGNALLED, time_now());
	record.number = context[0];
	read_kernel(record.info, sizeof(record.info), (void *)context[1]);
	if (tell(&record, sizeof(record), ring_query(&ring, RING_AVAILABLE), shared))
		lost(shared);
	return 0;
}

/*
 * Visits the threads of a process, and does with the storage of one of them what the engine asks: before Linux 6.9 a process
 * reaches by itself only the storage of another one's first thread.
 */
section("iter/task") int visit(u64 *context)
{
	struct task_struct *task = (void *)context[1];
	u32 zero = 0;
	struct visit *visit = map_lookup(&visits, &zero);
	struct thread *thread;

	/* The last visit is nobody's. */
	if (!task || !visit || (u32)task->pid != visit->tid)
		return 0;
	if (visit->action == VISIT_DELETE) {
		visit->outcome = task_storage_delete(&threads, task) ? VISIT_EMPTY : VISIT_DONE;
		return 0;
	}
	thread = task_storage(&threads, task, 0, 0);
	if (visit->action == VISIT_SET && thread) {
		thread->waits = visit->thread.waits;
		thread->call.entered = visit->thread.call.entered;
		thread->state = visit->thread.state;
	} else if (visit->action == VISIT_SET) {
		thread = task_storage(&threads, task, &visit->thread, STORAGE_CREATE);
	} else if (thread) {
		read_kernel(&visit->thread, sizeof(*thread), thread);
	}
	visit->outcome = thread ? VISIT_DONE : VISIT_EMPTY;
	return 0;
}
