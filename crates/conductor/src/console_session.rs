//! A person, or a script, at a host's console: what it says goes to standard output as it is, and what is typed goes to it.
//!
//! A terminal at standard input is read key by key, and left with the escape key; without one nothing is typed. However the session
//! ends, the terminal is as it was and the console's command is gone.

use backsight_model::{HostName, Lab};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::{
    io::{self, IsTerminal as _, Read as _, Write as _},
    time::Duration,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    time::timeout,
};

use crate::{ConsoleError, ConsoleProcess};

/// The key that leaves: Ctrl-], as in `telnet` and `virsh console`.
const ESCAPE: u8 = 0x1d;

/// Shows the console of a host until it is left, at most this long.
///
/// # Errors
/// The host isn't in the lab; its console can't be heard; its command fails.
pub async fn attach_console(
    lab: &Lab,
    host: &HostName,
    limit: Option<Duration>,
) -> Result<(), ConsoleError> {
    let mut process = ConsoleProcess::start_of_lab(lab, host)?;
    let stop = |kind| signal(kind).map_err(ConsoleError::Start);
    let mut stops = [
        stop(SignalKind::interrupt())?,
        stop(SignalKind::terminate())?,
        stop(SignalKind::hangup())?,
    ];
    let keys = RawTerminal::enter();
    let how_to_leave = match keys {
        Some(_) => "Ctrl-] leaves it",
        None => "standard input is no terminal: nothing is typed there, and Ctrl-C leaves it",
    };
    if limit.is_none() || keys.is_some() {
        let _nobody_reads_it = write!(io::stderr(), "the console of {host}: {how_to_leave}\r\n");
    }
    let typed = keys.as_ref().map(|_| typed_keys());
    let [interrupt, terminate, hangup] = &mut stops;
    let session = async {
        tokio::select! {
            () = show(&process) => true,
            () = carry(&process, typed) => false,
            _ = interrupt.recv() => false,
            _ = terminate.recv() => false,
            _ = hangup.recv() => false,
        }
    };
    let has_ended = match limit {
        None => session.await,
        Some(limit) => timeout(limit, session).await.unwrap_or(false),
    };
    drop(keys);
    let failure = match has_ended {
        true => process.failure().await,
        false => None,
    };
    process.end().await;
    failure.map_or(Ok(()), Err)
}

/// Shows what it says until it hangs up, or nobody reads that any more.
async fn show(process: &ConsoleProcess) {
    while let Some(piece) = process.read().await {
        let mut stdout = io::stdout().lock();
        if stdout
            .write_all(&piece)
            .and_then(|()| stdout.flush())
            .is_err()
        {
            return;
        }
    }
}

/// Types what is typed until the escape key.
async fn carry(process: &ConsoleProcess, typed: Option<mpsc::Receiver<Vec<u8>>>) {
    let Some(mut typed) = typed else {
        return std::future::pending().await;
    };
    while let Some(keys) = typed.recv().await {
        let escape = keys.iter().position(|key| *key == ESCAPE);
        let _it_is_about_to_end = process.write(&keys[..escape.unwrap_or(keys.len())]).await;
        if escape.is_some() {
            return;
        }
    }
}

/// What is typed, read by a thread that ends with this program: a terminal can't be read without waiting.
fn typed_keys() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(16);
    std::thread::spawn(move || {
        let mut keys = [0; 256];
        while let Ok(read @ 1..) = io::stdin().read(&mut keys) {
            if sender.blocking_send(keys[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Standard input as a terminal that gives every key, until this is dropped.
struct RawTerminal(Termios);

impl RawTerminal {
    /// None where standard input is no terminal.
    fn enter() -> Option<Self> {
        let stdin = io::stdin();
        let before = stdin
            .is_terminal()
            .then(|| tcgetattr(&stdin).ok())
            .flatten()?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&stdin, OptionalActions::Now, &raw).ok()?;
        Some(Self(before))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        let _the_terminal_is_gone = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
