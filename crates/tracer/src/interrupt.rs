//! Ending a trace from outside: by another thread, or by the signals that a terminal sends.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use nix::libc;
use nix::sys::signal::{
    SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction, sigprocmask,
};

/// Wakes the engine's thread where it waits. Nobody else uses it here, and who misses the handler isn't harmed.
const WAKE: Signal = Signal::SIGURG;
/// Between two attempts to wake an engine that was just about to wait.
const AGAIN: Duration = Duration::from_millis(5);

/// Stands for a signal where tracing is to end by none.
const NO_SIGNAL: i32 = -1;

/// Ends tracing from outside.
#[derive(Default)]
pub struct Interrupt {
    signal: AtomicI32,
    thread: AtomicI32,
    seen: AtomicBool,
    before: Option<SigSet>,
    /// What else is done when it is asked.
    then: Mutex<Option<Then>>,
}

type Then = Box<dyn Fn() + Send>;

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interrupt")
            .field("signal", &self.signal)
            .finish_non_exhaustive()
    }
}

impl Interrupt {
    /// One that only [`Interrupt::trigger`] triggers.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that these signals trigger, but for those that are blocked already: who blocked them doesn't want them. They are
    /// blocked in this thread from now on and in threads that it starts, so this belongs before any other thread. A command
    /// that is started gets the signals as they were.
    ///
    /// # Errors
    ///
    /// If the signals can't be blocked or the thread that waits for them can't be started.
    pub fn on(signals: &[Signal]) -> io::Result<Arc<Self>> {
        let (interrupt, mut blocked) = Self::blocking(signals)?;
        for signal in interrupt.before.iter().flat_map(SigSet::iter) {
            blocked.remove(signal);
        }
        let interrupt = Arc::new(interrupt);
        let asker = Arc::clone(&interrupt);
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                while let Ok(signal) = blocked.wait() {
                    asker.trigger(signal as i32);
                }
            })?;
        Ok(interrupt)
    }

    /// One that nothing triggers: these signals do nothing to this process.
    ///
    /// # Errors
    ///
    /// If the signals can't be blocked.
    pub fn never(signals: &[Signal]) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self::blocking(signals)?.0))
    }

    fn blocking(signals: &[Signal]) -> io::Result<(Self, SigSet)> {
        let blocked: SigSet = signals.iter().copied().collect();
        let mut before = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&blocked), Some(&mut before))?;
        let interrupt = Self {
            before: Some(before),
            ..Self::default()
        };
        Ok((interrupt, blocked))
    }

    /// Ends tracing as this signal would; comes back when the engine knows, or if there is none. The engine's own thread
    /// may ask too: tracing ends when it is back from what it told.
    pub fn trigger(&self, signal: i32) {
        // A second time is another question.
        self.seen.store(false, Ordering::SeqCst);
        self.signal.store(signal, Ordering::SeqCst);
        if let Some(then) = &*self.then.lock().unwrap_or_else(PoisonError::into_inner) {
            then();
        }
        let own = nix::unistd::gettid().as_raw();
        loop {
            let thread = self.thread.load(Ordering::SeqCst);
            if thread == 0 || thread == own || self.seen.load(Ordering::SeqCst) {
                return;
            }
            wake_thread(thread);
            thread::sleep(AGAIN);
        }
    }

    /// Ends tracing after this time, by no signal: what is traced goes on.
    ///
    /// # Errors
    ///
    /// If the thread that waits can't be started.
    pub fn trigger_after(self: &Arc<Self>, time: Duration) -> io::Result<()> {
        let asked = Arc::clone(self);
        thread::Builder::new()
            .name("time limit".to_owned())
            .spawn(move || {
                thread::sleep(time);
                asked.trigger(NO_SIGNAL);
            })
            .map(drop)
    }

    /// The signal that tracing was asked to end by, if it was.
    pub fn signal(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::SeqCst)).filter(|signal| *signal > 0)
    }

    /// Does this too when it is asked; at once if it was asked already.
    pub(crate) fn then(&self, what: impl Fn() + Send + 'static) {
        let mut then = self.then.lock().unwrap_or_else(PoisonError::into_inner);
        if self.pending_signal().is_some() {
            what();
        }
        *then = Some(Box::new(what));
    }

    /// The signal that tracing is to end by, once it is; 0 for none.
    pub(crate) fn pending_signal(&self) -> Option<i32> {
        let signal = self.signal.load(Ordering::SeqCst);
        if signal == 0 {
            return None;
        }
        self.seen.store(true, Ordering::SeqCst);
        Some(signal.max(0))
    }

    /// Tracing goes on although it was asked to end; it may be asked again.
    pub(crate) fn overrule(&self) {
        self.signal.store(0, Ordering::SeqCst);
    }

    /// The signals that were blocked before, if that was changed.
    pub(crate) fn blocked_before(&self) -> Option<SigSet> {
        self.before
    }

    /// Lets this thread be woken as long as the result lives.
    pub(crate) fn wakes_this_thread(&self) -> nix::Result<WakeHandler<'_>> {
        let_threads_be_woken()?;
        self.seen.store(false, Ordering::SeqCst);
        self.thread
            .store(nix::unistd::gettid().as_raw(), Ordering::SeqCst);
        Ok(WakeHandler(self))
    }
}

/// Lets threads of this process be woken where they wait.
pub(crate) fn let_threads_be_woken() -> nix::Result<()> {
    extern "C" fn nothing(_signal: libc::c_int) {}
    // Without SA_RESTART: a wait ends.
    let action = SigAction::new(
        SigHandler::Handler(nothing),
        SaFlags::empty(),
        SigSet::empty(),
    );
    // SAFETY: the handler does nothing at all.
    unsafe { sigaction(WAKE, &action) }.map(drop)
}

/// Wakes a thread of this process, if it waits at this moment.
pub(crate) fn wake_thread(tid: i32) {
    // SAFETY: takes three numbers; a thread that is gone is an error that doesn't matter.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, WAKE as i32) };
}

/// As long as it lives, a thread can be woken.
pub(crate) struct WakeHandler<'a>(&'a Interrupt);

impl Drop for WakeHandler<'_> {
    fn drop(&mut self) {
        self.0.thread.store(0, Ordering::SeqCst);
    }
}
