/* What the programs and the engine say to each other; its twin is src/bpf_engine/records.rs. */
#ifndef BACKSIGHT_WIRE_H
#define BACKSIGHT_WIRE_H

#include "kernel.h"

enum kind { CALL = 1, FRAGMENT = 2, FORKED = 3, EXITED = 4, EXECUTED = 5, SIGNALLED = 6 };

enum abi { ABI_64 = 0, ABI_I386 = 1 };

/* Of a call's record. */
enum {
	FLAG_OPEN = 1,      /* it didn't come back, or hasn't */
	FLAG_HELD = 2,      /* its thread was asked to stop, because the ring fills up */
	FLAG_CUT = 4,       /* memory that was wanted is missing here: it couldn't be read, or there was no room */
	FLAG_JOINED = 8,    /* it was under way when tracing began: its memory at entry isn't known */
	FLAG_BEGUN = 16,    /* it goes on, and is told again when it comes back */
	FLAG_NETLINK = 256, /* the upper byte: one more than the protocol of the netlink socket that it is about */
};

struct head {
	u8 kind;
	u8 abi;
	u16 flags;
	u32 sequence; /* counts a thread's records; a gap is a loss */
	u32 pid;
	u32 tid;
	u64 at;
};

/* CALL; followed by `length` bytes of pieces. */
struct call {
	struct head head;
	u32 number;
	u32 length;
	u64 entered;
	s64 value;
	u64 arguments[6];
	u64 worked; /* how long a processor worked on it; before it comes back, how long none did */
};

/* When; at exit only of calls that didn't fail, except with FAILED. */
enum { ENTERED = 1, LEFT = 2, FAILED = 4 };

/* Of a piece: nobody asked for it, it may go on, and it may be nothing that is pointed to. */
#define GUESSED 8

/* A stretch of memory; its bytes follow, filled up to eight. */
struct piece {
	u64 address;
	u32 length;
	u32 when;
};

/* What a piece at such an address and a descriptor holds: this, and the names on its path, from the file up, each behind its length. */
#define DESCRIBED_AT 0xffffffff00000000ull
#define PATH_NAMES 64
struct described {
	u64 inode;
	u32 device; /* that it is, if it is one */
	u16 mode;
	u8 unlinked;
	u8 placeless; /* it is a root, or is in no folder: its own name is all */
};

/* FRAGMENT: a piece too large to wait in the thread's storage; the call's record comes later. */
struct fragment {
	struct head head;
	struct piece piece;
};

/* FORKED: `other` is the child's thread, `code` its process. EXITED: `code` is the status as wait has it. EXECUTED: `other` is
 * the number that the thread had before. */
struct change {
	struct head head;
	u32 other;
	u32 code;
};

/* SIGNALLED. */
struct signalled {
	struct head head;
	u32 number;
	u32 filler;
	u8 info[48];
};

/* What of a call's memory is wanted. */
enum { END = 0, TEXT = 1, BYTES = 2, VECTORS = 3, MESSAGE = 4, TEXTS = 5, POINTERS = 6, MESSAGES = 16, FILTER = 17, MASK = 18, TIDS = 19, BENEATH = 20 };

/* Where a step's count comes from: 0..5 an argument, else */
enum {
	COUNT_ONE = 0xff,
	COUNT_RESULT = 0x10,
	COUNT_BEHIND = 0x20, /* + argument: the 32 bits that it points to */
	COUNT_REQUEST = 0x30, /* what the request of an ioctl says that it is given */
	COUNT_SET = 0x31 /* the bytes of a set of so many descriptors as argument 0 says, in words of eight */
};

struct step {
	u8 kind;
	u8 argument;
	u8 count;
	u8 when;
	u32 size; /* of one */
	u32 most; /* bytes in all */
};

#define STEPS 16

enum {
	PLAN_CHOSEN = 1,   /* the call is told */
	PLAN_ENTERS = 2,   /* has steps at entry */
	PLAN_LEAVES = 4,   /* has steps at exit */
	PLAN_ENDS = 8,     /* doesn't come back: told at entry */
	PLAN_REPLACES = 16, /* the program's memory is another's when it comes back */
	PLAN_SOCKET = 32,  /* its first argument is a socket, its second what goes through it: all of that where it is netlink's */
	PLAN_FORKS = 128,  /* makes a thread or a process, which comes back from it with 0 */
	PLAN_RESULT = 1 << 14, /* what comes back is a descriptor, to be described */
	PLAN_STACK = 64,   /* what it is given lies where the stack ends, whose address stands for its first argument */
};

/* Of a plan's flags: one for each argument that is a descriptor, to be described. */
#define PLAN_ARGUMENT(index) (1u << (8 + (index)))
#define PLAN_ARGUMENTS (0x3f << 8)

struct plan {
	u32 flags;
	struct step steps[STEPS];
};

#define STOPPED 512

/* Shared with the engine in one page of memory. */
struct control {
	u32 asleep;       /* the reader waits to be woken */
	u32 turns;        /* threads stop after so many calls, so that each has its turn; 0: they don't */
	u64 lost;         /* records */
	u64 cut;          /* pieces that found no room */
	u64 unfollowed;   /* children that there was no memory for */
	u64 held;         /* stops asked for */
	u32 next;         /* in the list below, modulo its length */
	u32 stopped[STOPPED]; /* threads that asked for a stop, until the engine has seen it; not those that did by SIGCHLD */
};

/* Whether a thread is in a call. UNTOLD: in one that isn't told. */
enum state { OUTSIDE = 0, NEWBORN = 1, JOINED = 2, INSIDE = 3, PARKED = 4, EXCLUDED = 5, UNTOLD = 6 };

#define ROOM 1024
#define SHORT 512
#define LARGE 33024 /* an element more than the most that a filter has, so that it is seen whether there is one */

/* Where only counts are wanted: what calls of one number took together. How many there were is said by their cells. */
struct figures {
	u64 errors;
	u64 total;
	u64 shortest; /* all bits the other way round, so that 0 is none */
	u64 longest;
};

/* So many calls of one number took about as long. The key is 1 more than way of
 * calling, number (9 bits) and bucket (11 bits) behind one another. */
struct cell {
	u32 key; /* 0: nobody's */
	u32 filler;
	u64 calls;
};

#define NUMBERS 512
#define CELLS_POWER 14
#define CELLS (1 << CELLS_POWER)
/* So many cells are looked at for one that is right or free. */
#define PROBES 8

/* A processor's counts. */
struct counts {
	struct figures figures[2 * NUMBERS];
	struct cell cells[CELLS];
};

/* A thread's storage. */
struct thread {
	u32 state;
	u32 turn;
	u32 sequence;
	u32 missed; /* steps whose memory couldn't be read at entry */
	u32 waits;  /* it is a command that hasn't begun: nothing of it counts but its execve */
	/* How many pieces more of what may be a structure's pointers. They stand here and not with the loop that counts them down:
	 * the verifier would follow each number. */
	u16 beneath;
	u16 within;
	u64 away;   /* since when no processor works for it */
	struct call call;
	/* Nothing but a piece that begins in the room is beyond it, as far as the verifier knows. */
	u8 bytes[ROOM + SHORT];
};

/* What a visit does with a thread's storage. */
enum { VISIT_SET = 0, VISIT_GET = 1, VISIT_DELETE = 2 };

/* What came of it. */
enum { VISIT_NOBODY = 0, VISIT_EMPTY = 1, VISIT_DONE = 2 };

/* Asked for by the engine. Of a storage that is set, its state counts, whether its command waits, and when its call began. */
struct visit {
	u32 tid;
	u32 action;
	u32 outcome;
	u32 filler;
	struct thread thread;
};

#endif
