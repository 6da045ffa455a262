//! The process's first thread, lent to the thread that traces: the kernel says by a thread's number who traces, and whoever looks for a
//! process of that number is to find the tracer.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// What a thread of another one's is asked to do.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// The way to the thread that is lent, as long as nobody took it.
static LENT: Mutex<Option<Sender<Job>>> = Mutex::new(None);
/// As much as a first thread has.
pub(crate) const STACK: usize = 8 << 20;

/// Has `work` done by a thread of its own; this one does meanwhile what the tracer's thread is to do, if one is wanted.
///
/// # Errors
///
/// If no thread can be started.
pub fn lend_first_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let (sender, jobs) = mpsc::channel::<Job>();
    *lent() = Some(sender);
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .name("reader".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, || {
                let done = catch_unwind(AssertUnwindSafe(work));
                // Where nobody took it, this ends the wait for somebody.
                lent().take();
                done
            });
        if worker.is_err() {
            lent().take();
        }
        for job in jobs {
            // What panics was told by the runtime, and is no reason to leave who waits for it.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
        let done = worker?.join();
        match done.and_then(std::convert::identity) {
            Ok(done) => Ok(done),
            Err(panic) => resume_unwind(panic),
        }
    })
}

/// Has the thread that is lent do this; gives it back where none is.
pub(crate) fn run_on_first_thread(job: Job) -> Result<(), Job> {
    match lent().take() {
        Some(sender) => sender.send(job).map_err(|unsent| unsent.0),
        None => Err(job),
    }
}

fn lent() -> MutexGuard<'static, Option<Sender<Job>>> {
    LENT.lock().unwrap_or_else(PoisonError::into_inner)
}
