//! Arguments of a session: how a study is watched, how its verdict is written, how long it waits for its hosts.

use backsight_conductor::{Events, HostAccess};
use backsight_model::Time;
use backsight_report::Format;
use backsight_store::JOB_VARIABLE;
use backsight_study::{ReservationRule, SessionOptions};
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    io::IsTerminal as _,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::sync::watch;

use crate::{
    exit_status::ExitStatus,
    files, log,
    output::{OutcomeOptions, Output},
    progress::{JsonLines, Lines, TerminalProgress},
    user_name::user_name,
};

/// How a study is watched and how long it waits for its hosts.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Watching and waiting")]
pub struct SessionArgs {
    /// Print events as lines of JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress and no table at the end
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    output: Output,
    /// How long to wait for hosts that another study has, or somebody has reserved
    #[arg(
        long,
        value_name = "TIME",
        default_value = "3s",
        env = "BACKSIGHT_WAIT",
        hide_env_values = true
    )]
    wait: Time,
    /// How long to wait for a host that doesn't answer, at the start and before each trial: one that was switched off, or
    /// reboots
    #[arg(long, value_name = "TIME")]
    host_wait: Option<Time>,
    /// Measure also where somebody else has reserved a host
    #[arg(long)]
    ignore_reservations: bool,
}

impl SessionArgs {
    /// The options of a session.
    pub fn options(&self) -> miette::Result<SessionOptions> {
        let mut reach = HostAccess::with_this_program()
            .into_diagnostic()
            .wrap_err("which program is this?")?;
        log::list_open_spans_on_signal();
        reach.keeps_logins = true;
        reach.host_wait = self.host_wait.map_or(Duration::ZERO, |wait| wait.0);
        Ok(SessionOptions {
            reach,
            events: self.events(),
            listen_for_stop: Arc::new(stop_signal),
            wait: self.wait.0,
            reservations: self.reservation_rule(),
        })
    }

    /// Whose reservations are waited for: those of others; of a job of the queue, all.
    fn reservation_rule(&self) -> ReservationRule {
        match self.ignore_reservations {
            true => ReservationRule::Ignore,
            false => ReservationRule::Respect {
                person: match std::env::var_os(JOB_VARIABLE) {
                    Some(_) => None,
                    None => user_name(None).ok(),
                },
            },
        }
    }

    /// Events, and their listener: JSON, a line on the terminal, or only what somebody has to know.
    fn events(&self) -> Events {
        let events = Events::default();
        events.listen(log::LogListener);
        if self.json {
            events.listen(JsonLines);
        } else if !self.quiet && std::io::stderr().is_terminal() {
            events.listen(TerminalProgress::new());
        } else {
            events.listen(Lines);
        }
        events
    }

    /// Refuses a format that contradicts the file's name, before anything is measured.
    pub fn check(&self) -> miette::Result<()> {
        self.output.chosen(Format::Text)?;
        match self.json && self.output.format.is_some() && self.output.output.is_none() {
            true => Err(miette::miette!(
                help = "leave out --json for the verdict alone, or write the verdict into a file with --output",
                "--json prints every event and --format the verdict alone: both go to standard output"
            )),
            false => Ok(()),
        }
    }

    /// How the outcome of the study is shown.
    pub fn outcome_options(&self) -> OutcomeOptions {
        OutcomeOptions {
            shows_verdict: !self.quiet && !self.json,
            output: self.output.clone(),
        }
    }

    /// How the outcome of a part of the study is shown: the output that was asked for is the whole study's.
    pub fn part_options(&self) -> OutcomeOptions {
        OutcomeOptions {
            shows_verdict: !self.quiet && !self.json && !self.output.is_requested(),
            output: Output::default(),
        }
    }
}

/// How work that goes on unattended is watched and how long it waits for its hosts.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Watching and waiting")]
pub struct UnattendedArgs {
    /// Print events as lines of JSON
    #[arg(long)]
    pub json: bool,
    /// How long to wait for hosts that another study has, or somebody has reserved
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1h",
        env = "BACKSIGHT_WAIT",
        hide_env_values = true
    )]
    wait: Time,
    /// How long to wait for a host that doesn't answer, at the start and before each trial
    #[arg(long, value_name = "TIME", default_value = "10m")]
    host_wait: Time,
}

impl UnattendedArgs {
    /// The options of a session, which waits for everybody's reservations.
    pub fn options(&self) -> miette::Result<SessionOptions> {
        let session = SessionArgs {
            json: self.json,
            quiet: false,
            output: Output::default(),
            wait: self.wait,
            host_wait: Some(self.host_wait),
            ignore_reservations: false,
        };
        Ok(SessionOptions {
            reservations: ReservationRule::Respect { person: None },
            ..session.options()?
        })
    }
}

/// One listener for all sessions of this program.
static STOP: OnceLock<watch::Receiver<bool>> = OnceLock::new();

/// Becomes true when this program is told to stop: see [`stop_on_interrupt`]. Has to be called in the runtime.
pub fn stop_signal() -> watch::Receiver<bool> {
    STOP.get_or_init(stop_on_interrupt).clone()
}

/// Becomes true on the first ^C, SIGTERM or hang-up (the terminal was closed, the connection to this machine
/// was lost): the trial under way is put back and the study stops in order. A second one ends the program at
/// once; its agents then clean up by themselves. Has to be called in the runtime.
fn stop_on_interrupt() -> watch::Receiver<bool> {
    use tokio::signal::unix::{SignalKind, signal};
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        let (Ok(mut interrupt), Ok(mut terminate)) = (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        ) else {
            return;
        };
        // Whoever starts it with `nohup` wants it to go on.
        let mut hang_up = if hang_up_is_ignored() {
            None
        } else {
            signal(SignalKind::hangup()).ok()
        };
        let mut count = 0;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                Some(_) = async { hang_up.as_mut()?.recv().await } => {}
            }
            count += 1;
            if count > 1 {
                std::process::exit(i32::from(ExitStatus::Interrupted.code()));
            }
            files::print_note(
                "stopping: the trial under way is being put back (once more to end at once)",
            );
            stop.send_replace(true);
        }
    });
    stopped
}

/// Whether SIGHUP was set to be ignored by whoever started this program: bit 0 of the mask in /proc.
fn hang_up_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}
