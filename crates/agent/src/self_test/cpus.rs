//! The CPUs that a self-test may use, and threads that stay on one of them.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs on which this process may run, ascending.
pub(super) fn usable() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else {
        return Vec::new();
    };
    let usable = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
    usable.filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

/// Keeps the calling thread on a CPU. One that went offline meanwhile leaves it where it is.
pub(super) fn pin(cpu: u32) {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    let _offline = sched_setaffinity(None, &set);
}

/// Does this on every one of these CPUs at once, in a thread of its own each; what can't be started is left out.
pub(super) fn on_each<T: Send>(cpus: &[u32], work: impl Fn(u32) -> T + Sync) -> Vec<T> {
    let work = &work;
    std::thread::scope(|scope| {
        let started = cpus.iter().map(|&cpu| {
            std::thread::Builder::new().spawn_scoped(scope, move || {
                pin(cpu);
                work(cpu)
            })
        });
        let started: Vec<_> = started.collect();
        let threads = started.into_iter().flatten();
        threads.filter_map(|thread| thread.join().ok()).collect()
    })
}

/// Does this on one CPU, in a thread of its own.
pub(super) fn on_one<T: Send>(cpu: u32, work: impl Fn(u32) -> T + Sync) -> Option<T> {
    on_each(&[cpu], work).pop()
}
