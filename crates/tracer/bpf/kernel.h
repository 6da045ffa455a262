/*
 * What the programs need of the kernel, declared here so that neither kernel headers nor libbpf's are wanted: a few
 * structures with only the fields that are read. Where they lie is found when the programs are loaded (CO-RE), so that
 * one object fits every kernel that has type information of its own.
 */
#ifndef BACKSIGHT_KERNEL_H
#define BACKSIGHT_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef long long s64;

#define inline_always static inline __attribute__((always_inline))
#define not_inline __attribute__((noinline))
#define section(name) __attribute__((section(name), used))

/* How a map is described to the loader: the sizes of arrays and the types of pointers are read from the type information. */
#define number(name, value) int(*name)[value]
#define type(name, of) __typeof__(of) *name

enum {
	MAP_ARRAY = 2,
	MAP_CGROUP_ARRAY = 8,
	MAP_RING = 27,
	MAP_TASK_STORAGE = 29,
	MAP_NO_PREALLOC = 1,
	MAP_MMAPABLE = 1024,
};

/* The kernel's helpers, by their numbers. */
static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static u64 (*const time_now)(void) = (void *)5;
static u32 (*const this_cpu)(void) = (void *)8;
static long (*const read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*const read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const read_user_text)(void *to, u32 size, const void *from) = (void *)114;
static long (*const send_signal_thread)(u32 signal) = (void *)117;
static long (*const ring_output)(void *ring, void *record, u64 size, u64 flags) = (void *)130;
static u64 (*const ring_query)(void *ring, u64 what) = (void *)134;
static long (*const current_under_cgroup)(void *map, u32 index) = (void *)37;
static void *(*const task_storage)(void *map, void *task, void *value, u64 flags) = (void *)156;
static long (*const task_storage_delete)(void *map, void *task) = (void *)157;
static void *(*const current_task)(void) = (void *)158;
static void *(*const registers_of)(void *task) = (void *)175;
static long (*const loop)(u32 most, void *each, void *context, u64 flags) = (void *)181;

enum {
	RING_NO_WAKEUP = 1,
	RING_FORCE_WAKEUP = 2,
	RING_AVAILABLE = 0,
	STORAGE_CREATE = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	sigset_t signal;
};

struct signal_struct {
	struct sigpending shared_pending;
};

struct thread_info {
	unsigned long flags;
	u32 status;
};

struct inode {
	u16 i_mode;
	u32 i_rdev;
	u64 i_ino;
};

struct hlist_bl_node {
	void *pprev;
};

struct qstr {
	u32 len;
	const void *name;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct fs_struct {
	struct path pwd;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
};

struct fdtable {
	u32 max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct sock_common {
	u16 skc_family;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
};

struct socket {
	struct sock *sk;
};

struct css_set;

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	unsigned int ptrace;
	int exit_code;
	int pid;
	int tgid;
	struct fs_struct *fs;
	struct files_struct *files;
	struct signal_struct *signal;
	sigset_t blocked;
	struct sigpending pending;
	struct css_set *cgroups;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long bp, bx, r10, r9, r8, cx, dx, si, di, orig_ax, sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	u64 regs[31];
	u64 sp;
	u64 orig_x0;
	int syscallno;
};
#else
#error "the programs are written for x86-64 and arm64"
#endif

#pragma clang attribute pop

/* How a signal is handled. It begins so on every kernel, as programs give it to rt_sigaction. */
struct handling {
	void *handler;
	unsigned long flags;
};

/* Reads a field of the kernel's, so that the verifier needn't know what it is. */
#define fetch(to, from) read_kernel(&(to), sizeof(to), &(from))

/* Keeps the compiler from undoing a bound that the verifier must see. */
#define bounded(value) __asm__ volatile("" : "+r"(value))

/* The same, with the bound in the value itself: some bits of it. Before Linux 6.3 the verifier forgets what a value was compared with
 * when it is on the stack and not in a register. */
#define masked(value, bits) __asm__ volatile("%0 &= %1" : "+r"(value) : "i"(bits))

#endif
