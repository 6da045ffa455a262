/*
 * Which threads' calls are told where nobody holds them: those of a cgroup and of all below it, or those of the whole machine. A thread
 * has its storage made as soon as it does something in there. Who traces is never among them, nor what it started.
 */
#ifndef BACKSIGHT_SCOPE_H
#define BACKSIGHT_SCOPE_H

enum { SCOPE_HELD = 0, SCOPE_CGROUP = 1, SCOPE_MACHINE = 2 };

/* Set when the programs are loaded. */
const volatile u32 scope = SCOPE_HELD;
const volatile u32 tracer = 0; /* whose process traces */
const volatile u64 began = 0;  /* when that began */

/* The cgroup, where it is one. */
struct {
	number(type, MAP_CGROUP_ARRAY);
	number(max_entries, 1);
	type(key, u32);
	type(value, u32);
} cgroups section(".maps");

/* Tasks without a program: the kernel's own, and those that it starts in a process for its own use. */
#define WITHOUT_PROGRAM (0x00200000 | 0x00000010 | 0x00004000)

inline_always struct thread *thread_of(struct task_struct *task);

inline_always int in_scope(struct task_struct *task)
{
	/* 0 or 1, or an error. */
	if (scope == SCOPE_CGROUP && current_under_cgroup(&cgroups, 0) != 1)
		return 0;
	return (u32)task->tgid != tracer && !(task->flags & WITHOUT_PROGRAM);
}

/* The storage of the current task, if it is to be told of: made with this state where it has none. */
inline_always struct thread *own_thread(struct task_struct *task, u32 state)
{
	struct thread *thread;

	if (scope == SCOPE_HELD)
		return thread_of(task);
	if (!in_scope(task))
		return 0;
	thread = task_storage(&threads, task, 0, 0);
	if (thread)
		return thread->state == EXCLUDED ? 0 : thread;
	thread = task_storage(&threads, task, 0, STORAGE_CREATE);
	if (thread) {
		thread->state = state;
		thread->call.entered = began;
	} else {
		struct control *shared = control();

		if (shared)
			__sync_fetch_and_add(&shared->unfollowed, 1);
	}
	return thread;
}

/* Whether a child is the tracer's, or one of its children's: these aren't told of. */
inline_always int excludes_child(struct task_struct *parent, struct task_struct *child)
{
	struct thread *thread = task_storage(&threads, parent, 0, 0);

	if ((u32)parent->tgid != tracer && !(thread && thread->state == EXCLUDED))
		return 0;
	thread = task_storage(&threads, child, 0, STORAGE_CREATE);
	if (thread)
		thread->state = EXCLUDED;
	return 1;
}

/* Whether a child was started into another cgroup than its parent's. If that is within the scope, the child is seen by what it does. */
inline_always int leaves_cgroup(struct task_struct *parent, struct task_struct *child)
{
	struct css_set *from = 0, *to = 0;

	if (scope != SCOPE_CGROUP)
		return 0;
	return fetch(from, parent->cgroups) || fetch(to, child->cgroups) || from != to;
}

#endif
