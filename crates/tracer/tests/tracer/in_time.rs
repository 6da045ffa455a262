//! A trace that takes far too long is ended, and its test fails.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use backsight_tracer::interrupt::Interrupt;

/// Longer than any of these programs needs on the slowest of machines.
pub const LONG: Duration = Duration::from_secs(120);

/// Traces with an interrupt that comes if that never ends.
pub fn in_time<T>(traces: impl FnOnce(&Interrupt) -> T) -> T {
    let interrupt = Arc::new(Interrupt::new());
    let (over, ends) = mpsc::channel::<()>();
    let watch = Arc::clone(&interrupt);
    let watchdog = std::thread::spawn(move || {
        let hangs = ends.recv_timeout(LONG) == Err(mpsc::RecvTimeoutError::Timeout);
        if hangs {
            watch.trigger(nix::sys::signal::Signal::SIGKILL as i32);
        }
        hangs
    });
    let ended = traces(&interrupt);
    drop(over);
    assert!(!watchdog.join().unwrap(), "it never ended");
    ended
}
