//! The kernel engine: programs in the kernel write every call of a tree of processes into a ring, and nobody is stopped as
//! long as it is read fast enough.
//!
//! Where it fills up, threads are stopped in turn until there is room again, so that nothing is lost. For that the tree is
//! held with ptrace, without its stops at calls; whoever is traced can't be traced by another. Two threads do it: the
//! [`keeper`] starts the command and answers the kernel's stops, and the caller's thread reads the ring and tells events.
//!
//! Refuses: to run without privileges (see [`available`]), to tell numbers of another pid namespace than the first, and to
//! change anything in the programs that it traces.

mod keeper;
mod plan;
mod programs;
mod ring;
mod start;
mod story;
mod watch;
mod wire;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::table::Limits;
use crate::{Abi, Event};

pub use start::Start;

/// Why the kernel engine can't trace.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// It isn't allowed to.
    #[error(
        "the kernel engine needs {name}: run it as root, or grant it with `setcap`; the ptrace engine needs none"
    )]
    Capability {
        /// What is missing.
        name: &'static str,
    },
    /// The numbers of processes here aren't the kernel's.
    #[error(
        "the kernel engine sees the numbers that processes have outside of this container, and can't tell yours: use the ptrace engine"
    )]
    Namespace,
    /// The kernel doesn't describe its structures.
    #[error(
        "this kernel has no type information (/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF): use the ptrace engine"
    )]
    Types,
    /// The kernel refuses the programs.
    #[error("the kernel refuses the tracer's programs ({what}): {error}; use the ptrace engine")]
    Load {
        /// Which of them.
        what: &'static str,
        /// What it says.
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The programs aren't what they should be: a fault of the build.
    #[error("the tracer's programs have no {what}: build it again")]
    Object {
        /// What is missing.
        what: &'static str,
    },
    /// A process can't be attached to.
    #[error(
        "process {pid} can't be attached to: {error}; is it there, yours, and traced by nobody else?"
    )]
    Attach {
        /// Which.
        pid: i32,
        /// Why.
        error: io::Error,
    },
    /// The command can't be started.
    #[error("{} can't be started: {error}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The size of the ring isn't one.
    #[error("a ring of {bytes} bytes can't be had: it must be a power of two of at least 65536")]
    Ring {
        /// What was asked.
        bytes: u32,
    },
    /// Something else that the kernel said.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What it said.
        error: io::Error,
    },
}

/// What is traced.
#[derive(Debug, Clone)]
pub enum Subject {
    /// A command, from its start on.
    Command(Start),
    /// What runs already, by number; with `follow`, all threads of each.
    Running(Vec<i32>),
}

/// Calls by what came of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcomes {
    /// All.
    #[default]
    All,
    /// Those that returned an error.
    Failed,
    /// Those that didn't.
    Successful,
}

/// Says which calls are told, by way of calling and number.
pub type Chosen = dyn Fn(Abi, u64) -> bool + Send + Sync;

/// How it is traced.
#[derive(Clone)]
pub struct Options {
    /// Children and threads too.
    pub follow: bool,
    /// Bytes of the ring: a power of two, at least 65536.
    pub ring: u32,
    /// How much of what lies behind pointers is captured.
    pub limits: Limits,
    /// The calls that are told; nothing for all.
    pub chosen: Option<Arc<Chosen>>,
    /// What came of them.
    pub outcomes: Outcomes,
    /// After how long a call is told while it goes on; nothing for never. Looked for only while nothing else is told.
    pub pending: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            follow: false,
            ring: 4 << 20,
            limits: Limits::default(),
            chosen: None,
            outcomes: Outcomes::All,
            pending: Some(Duration::from_millis(500)),
        }
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The command's status, as `wait` has it; nothing where none was started, or it still runs.
    pub status: Option<i32>,
    /// Records that came.
    pub records: u64,
    /// Records that were lost.
    pub lost: u64,
    /// Pieces of memory that found no room.
    pub cut: u64,
    /// Stops of threads because the ring was filling up.
    pub held: u64,
}

/// Asks a trace to end: what was traced goes on without it.
#[derive(Debug, Clone)]
pub struct Stop(Arc<Bell>);

#[derive(Debug)]
struct Bell {
    rung: AtomicBool,
    fd: OwnedFd,
}

impl Stop {
    /// A new one.
    ///
    /// # Errors
    ///
    /// Where the kernel has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(Bell {
            rung: AtomicBool::new(false),
            fd,
        })))
    }

    /// Asks; can be called from any thread, and in a handler of a signal.
    pub fn ask(&self) {
        self.0.rung.store(true, Ordering::SeqCst);
        self.0.ring();
    }

    fn asked(&self) -> bool {
        self.0.rung.load(Ordering::SeqCst)
    }
}

impl Bell {
    fn ring(&self) {
        // It can only fail where it was rung already.
        let _ = rustix::io::write(&self.fd, &1_u64.to_ne_bytes());
    }

    fn quiet(&self) {
        let _ = rustix::io::read(&self.fd, &mut [0; 8]);
    }
}

/// Whether the kernel engine can run here.
///
/// # Errors
///
/// Says what is missing.
pub fn available() -> Result<(), KernelError> {
    programs::allowed()
}

/// Traces until everything that is traced has ended, or until `stop` asks.
///
/// # Errors
///
/// Where the programs can't be loaded, the command can't be started or a process can't be attached to. Once something is
/// traced nothing fails: what can't be had is missing in the events, and says so.
pub fn trace(
    subject: &Subject,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(Event),
) -> Result<Ended, KernelError> {
    if !options.ring.is_power_of_two() || options.ring < 65536 {
        return Err(KernelError::Ring {
            bytes: options.ring,
        });
    }
    let (mut programs, mut ring, ring_map) = programs::Programs::load(options)?;
    programs.attach()?;
    let control = programs.control();
    let keeper = keeper::Keeper::start(
        subject.clone(),
        options,
        &programs,
        ring.gauge(),
        stop.clone(),
    )?;
    let mut story = story::Story::of(options, &programs, keeper.root());
    let mut records = 0;
    let mut attached = Some(programs);
    loop {
        records += ring.drain(|record| story.record(record, tell), || keeper.freed());
        for told in keeper.told() {
            story.kept(told, tell);
        }
        if stop.asked() && attached.take().is_some() {
            // The links are gone: no thread asks for a stop from here on, and those that did are let go.
            keeper.release();
        }
        if keeper.is_done() {
            break;
        }
        control.sleeps(true);
        if ring.gauge().waiting() < u64::from(options.ring) / 8 {
            let idle = wait(&ring_map, stop);
            if idle && ring.gauge().waiting() == 0 {
                story.idle(tell);
            }
        }
        control.sleeps(false);
    }
    drop(attached);
    records += ring.drain(|record| story.record(record, tell), || ());
    for told in keeper.told() {
        story.kept(told, tell);
    }
    story.finish(tell);
    Ok(Ended {
        status: keeper.status(),
        records,
        lost: control.lost(),
        cut: control.cut(),
        held: control.held(),
    })
}

/// Waits for the ring or for the keeper, so long that few records make few wake-ups and yet are soon seen. Says whether
/// nothing came.
fn wait(ring: &aya::maps::MapData, stop: &Stop) -> bool {
    let most = Timespec {
        tv_sec: 0,
        tv_nsec: 20_000_000,
    };
    let mut fds = [
        PollFd::from_borrowed_fd(stop.0.fd.as_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(ring.fd().as_fd(), PollFlags::IN),
    ];
    let came = poll(&mut fds, Some(&most)).unwrap_or(0);
    if fds[0].revents().contains(PollFlags::IN) {
        stop.0.quiet();
    }
    came == 0
}
