/*
 * What descriptors are, as the kernel knows it when a call is made: who made it may be gone when its record is read, or have another file
 * there. It goes with the call's memory, at an address that no program has.
 */
#ifndef BACKSIGHT_PATHS_H
#define BACKSIGHT_PATHS_H

#define CURRENT_DIRECTORY ((u32)-100)

/* Where a walk from a file up to the first root is. */
struct path_walk {
	struct thread *thread;
	struct dentry *dentry;
	struct mount *mount;
	u32 used; /* of the thread's bytes */
	u32 done;
};

/* Adds a name with its length before it. 0, or an error where it can't be read or there is no room. */
inline_always int put_path_name(struct path_walk *walk)
{
	struct thread *thread = walk->thread;
	struct dentry *dentry = walk->dentry;
	const void *name = 0;
	u32 length = 0, size, used = walk->used;

	if (fetch(name, dentry->d_name.name) || fetch(length, dentry->d_name.len))
		return -1;
	size = length;
	bounded(size);
	bounded(used);
	if (size > 255 || used > ROOM - 256)
		return -1;
	masked(size, 255);
	masked(used, ROOM - 1);
	thread->bytes[used] = size;
	if (read_kernel(&thread->bytes[used + 1], size, name))
		return -1;
	walk->used = used + 1 + size;
	return 0;
}

static long step_up(u32 index, struct path_walk *walk)
{
	struct dentry *dentry = walk->dentry, *parent = 0, *root = 0;
	struct mount *mount = walk->mount, *above = 0;

	if (fetch(root, mount->mnt.mnt_root) || fetch(parent, dentry->d_parent))
		return 1;
	if (dentry == root || dentry == parent) {
		if (fetch(above, mount->mnt_parent))
			return 1;
		if (above == mount) {
			walk->done = 1;
			return 1;
		}
		walk->mount = above;
		return fetch(walk->dentry, mount->mnt_mountpoint) ? 1 : 0;
	}
	if (put_path_name(walk))
		return 1;
	walk->dentry = parent;
	return 0;
}

/* Adds what a descriptor of the current task is to the call's record, or what its current directory is. */
not_inline int put_descriptor(struct thread *thread, u32 descriptor, u32 when)
{
	struct task_struct *task = current_task();
	struct path_walk walk = { .thread = thread };
	struct vfsmount *mount = 0;
	struct dentry *dentry = 0, *parent = 0;
	struct inode *inode = 0;
	void *linked = 0;
	struct piece *piece;
	struct described *described;
	u32 used, begins;

	if (!thread)
		return 0;
	used = thread->call.length;
	bounded(used);
	if (used > ROOM - 256 - sizeof(*piece) - sizeof(*described))
		return 0;
	if (descriptor == CURRENT_DIRECTORY) {
		struct fs_struct *fs = 0;

		if (fetch(fs, task->fs) || fetch(mount, fs->pwd.mnt) || fetch(dentry, fs->pwd.dentry))
			return 0;
	} else {
		struct file *file = file_of(task, descriptor);

		if (!file || fetch(mount, file->f_path.mnt) || fetch(dentry, file->f_path.dentry))
			return 0;
	}
	piece = (void *)&thread->bytes[used];
	described = (void *)&thread->bytes[used + sizeof(*piece)];
	if (fetch(inode, dentry->d_inode) || fetch(described->inode, inode->i_ino) || fetch(described->device, inode->i_rdev) ||
	    fetch(described->mode, inode->i_mode) ||
	    fetch(parent, dentry->d_parent) || fetch(linked, dentry->d_hash.pprev))
		return 0;
	described->placeless = 0;
	described->unlinked = !linked && parent != dentry;
	begins = used + sizeof(*piece) + sizeof(*described);
	walk.used = begins;
	walk.dentry = dentry;
	walk.mount = (void *)mount - __builtin_preserve_field_info(((struct mount *)0)->mnt, 0);
	loop(PATH_NAMES, step_up, &walk, 0);
	if (walk.done && walk.used == begins) {
		/* It is a root, or has no place among others. */
		walk.dentry = dentry;
		described->placeless = 1;
		if (put_path_name(&walk))
			return 0;
	}
	if (!walk.done)
		return 0;
	piece->address = DESCRIBED_AT | descriptor;
	piece->length = walk.used - used - sizeof(*piece);
	piece->when = when;
	thread->call.length = (walk.used + 7) & ~7u;
	return 0;
}

#endif
