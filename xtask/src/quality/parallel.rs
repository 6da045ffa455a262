//! Simulations on all processors.

use std::sync::atomic::{AtomicU64, Ordering};

/// What came of each of so many simulations, in no particular order.
pub(super) fn simulate<T: Send>(number: u64, simulation: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut done = Vec::new();
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at >= number {
                            return done;
                        }
                        done.push(simulation(at));
                    }
                })
            })
            .collect();
        for worker in workers {
            all.extend(worker.join().expect("a worker ends well"));
        }
    });
    all
}
