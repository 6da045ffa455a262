//! Starting other machines anew: each is asked to reboot, goes away, and is awaited until it answers from another boot.
//!
//! That a connection ends proves nothing, and that it doesn't proves nothing either: a kernel that jumps into another
//! one says goodbye to nobody. What counts is the boot that answers.
//!
//! A host counts as restarted only when the identity of its boot is another one.
//!
//! Where the lab says a host's console, it is captured from before the reboot on. A state of it that ends the boot ends the wait. A
//! host that stands still, or doesn't answer in time, is switched off and on where the lab says how, so that what it boots by
//! default runs when it is awaited next.

use backsight_agent::{
    BeginTrial, EndReason, Finished, ProcessExit, RunningStep, StepEvent, StepSpec, UploadFiles,
    UploadProgress,
};
use backsight_model::{ConsoleAction, ConsoleState, Event, HostName, Lab};
use futures_util::future::join_all;
use indexmap::IndexMap;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout, timeout_at},
};

use crate::{
    Conductor, ConnectError, HostAccess, PowerAction, PowerFault, PowerOutcome,
    console::{CapturedConsole, ConsoleCapture},
    hosts::Connected,
    power::switch,
};

/// How long a host may take to go away before it is looked whether it is back already.
const PATIENCE: Duration = Duration::from_secs(3);
/// The pause between two such looks; a long wait looks after this share of it again, but at least so often.
const PAUSE: Duration = Duration::from_millis(300);
const PAUSE_SHARE: f64 = 0.05;
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// By how much a host's clock has to have gone back for it to be another boot's, where boots have no ids, in nanoseconds.
const CLOCK_BACK: i64 = 1_000_000_000;
/// How often it is told how far the upload of a build is.
const UPLOAD_TOLD_EACH: Duration = Duration::from_secs(1);
/// How much of what the command prints is kept, in bytes.
const OUTPUT_LIMIT: u64 = 1 << 20;

/// What a restart was like.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RestartRecord {
    /// What each host's command printed.
    pub output: IndexMap<HostName, Vec<u8>>,
    /// What each host is since.
    pub facts: IndexMap<HostName, BTreeMap<String, String>>,
    /// What each host's console told from before the reboot on, where the lab says it: its beginning and its end.
    pub consoles: IndexMap<HostName, Vec<u8>>,
}

/// A restart that came to nothing.
#[derive(Debug, thiserror::Error)]
#[error("host `{host}`: {fault}{}", power_cycled(.power.get(.host)))]
pub struct RestartError {
    /// The host.
    pub host: HostName,
    /// What is wrong.
    pub fault: RestartFault,
    /// What each host's command printed.
    pub output: IndexMap<HostName, Vec<u8>>,
    /// What each host's console told from before the reboot on, where the lab says it.
    pub consoles: IndexMap<HostName, Vec<u8>>,
    /// What came of switching hosts off and on that stood still.
    pub power: IndexMap<HostName, Result<PowerOutcome, PowerFault>>,
}

fn power_cycled(power: Option<&Result<PowerOutcome, PowerFault>>) -> String {
    match power {
        None => String::new(),
        Some(Ok(outcome)) => format!("; power-cycled for that: {outcome}"),
        Some(Err(fault)) => format!("; it was to be power-cycled for that: {fault}"),
    }
}

/// Why a host hasn't been started anew.
#[derive(Debug, thiserror::Error)]
pub enum RestartFault {
    /// It was lost before it could be asked.
    #[error("it was lost before it was to reboot: {0}")]
    Lost(backsight_agent::AgentError),
    /// The command that reboots it failed.
    #[error("`{command}` {how}: it hasn't been rebooted")]
    Command {
        /// The command.
        command: String,
        /// How it ended.
        how: String,
    },
    /// It still answers from the boot before.
    #[error(
        "it still runs the boot from before, {limit:?} after `{command}`: does that reboot it, and is activate.timeout long enough?"
    )]
    NotAnew {
        /// The command.
        command: String,
        /// How long it had.
        limit: Duration,
    },
    /// It came back, and a setting that it shall have can't be made.
    #[error("it was rebooted and can't be prepared: {faults}")]
    NotPrepared {
        /// Each setting, and what is in its way.
        faults: String,
    },
    /// A reboot ends the lease, and somebody else was quicker.
    #[error("it was rebooted, which ended its lease, and is leased to {holder} now")]
    Leased {
        /// Who says to hold it, and since when.
        holder: String,
    },
    /// Its console told the end of this boot.
    #[error("{}, as its console says (`{words}`): {}", .state.meaning, .state.advice)]
    Console {
        /// What it told.
        state: &'static ConsoleState,
        /// The lines that say so.
        words: String,
    },
    /// It doesn't answer.
    #[error(
        "it hasn't come back within {limit:?} after `{command}`: {last}: {}; give it a longer activate.timeout if it needs one", console_said(.console)
    )]
    Away {
        /// The command.
        command: String,
        /// How long it had.
        limit: Duration,
        /// What the last attempt to reach it came to.
        last: String,
        /// What its console told; nothing if the lab doesn't say where that is.
        console: String,
    },
}

fn console_said(words: &str) -> String {
    match words {
        "" => "look at its console".to_owned(),
        words => format!("its console's last words: {words}"),
    }
}

impl RestartFault {
    /// Whether the host stands still until it is switched off and on.
    fn needs_power_cycle(&self) -> bool {
        match self {
            Self::Console { state, .. } => state.action == ConsoleAction::Cycle,
            Self::Away { .. } => true,
            _ => false,
        }
    }
}

impl Conductor {
    /// Reboots hosts that `ssh` reaches, all at once, each by its command, and waits until their agents answer from
    /// another boot. An agent that the reboot has taken with it is put there again, and so are the settings of its machine.
    ///
    /// # Errors
    /// The first host that fails; it is left as it is. Those that are back go on being ours.
    pub async fn restart(
        &mut self,
        orders: &[(HostName, String)],
        limit: Duration,
    ) -> Result<RestartRecord, RestartError> {
        let mut asked = Vec::new();
        for (host, command) in orders {
            self.restarted.shift_remove(host);
            if let Some(connected) = self.hosts.shift_remove(host) {
                let order = Order {
                    reach: &self.reach,
                    lab: &self.arrangement.lab,
                    command,
                    limit,
                };
                asked.push(order.carry_out(connected));
            }
        }
        let mut restarted = RestartRecord::default();
        let mut first_fault = None;
        let mut power = IndexMap::new();
        for reboot in join_all(asked).await {
            let host = reboot.host;
            restarted.output.insert(host.clone(), reboot.output);
            if let Some(console) = reboot.console {
                restarted.consoles.insert(host.clone(), console);
            }
            if let Some(outcome) = reboot.power {
                power.insert(host.clone(), outcome);
            }
            match reboot.outcome {
                Ok(connected) => {
                    let boot = connected.boot_id().to_owned();
                    let facts = connected.facts.clone();
                    match self.take_in(connected).await {
                        Ok(()) => {
                            self.restarted.insert(host.clone(), boot);
                            restarted.facts.insert(host, facts);
                        }
                        Err(fault) => {
                            let faults = match fault {
                                ConnectError::NotPrepared { faults, .. } => faults,
                                other => other.to_string(),
                            };
                            let fault = RestartFault::NotPrepared { faults };
                            first_fault.get_or_insert((host, fault));
                        }
                    }
                }
                Err(fault) => {
                    first_fault.get_or_insert((host, fault));
                }
            }
        }
        self.hosts.sort_keys();
        self.look_at_machines();
        match first_fault {
            None => Ok(restarted),
            Some((host, fault)) => Err(RestartError {
                host,
                fault,
                output: restarted.output,
                consoles: restarted.consoles,
                power,
            }),
        }
    }

    /// Reaches every host that isn't a guest, as [`Conductor::reach`] does. One that stays away for `limit` is switched off and on where
    /// the lab says how, once, and awaited again: what its boot loader has as its default runs then.
    ///
    /// # Errors
    /// A host can't be reached.
    pub async fn reach_or_power_cycle(&mut self, limit: Duration) -> Result<bool, ConnectError> {
        let mut cycled = Vec::new();
        loop {
            let fault = match self.reach(limit, None).await {
                Err(fault @ ConnectError::Unreachable { .. }) => fault,
                reached => return reached.map(|anew| anew || !cycled.is_empty()),
            };
            let ConnectError::Unreachable { host, .. } = &fault else {
                return Err(fault);
            };
            let settings = self.arrangement.lab.host.get(host);
            let Some(power) = settings.and_then(|settings| settings.power.as_deref()) else {
                return Err(fault);
            };
            if cycled.contains(host) {
                return Err(fault);
            }
            let why = match switch(power, PowerAction::Cycle).await {
                Ok(outcome) => format!("host `{host}` stayed away and was power-cycled: {outcome}"),
                Err(fault) => {
                    format!("host `{host}` stays away and can't be power-cycled: {fault}")
                }
            };
            self.events.emit(&Event::HostAwaited {
                host: host.clone(),
                why,
                seconds: limit.as_secs_f64(),
            });
            cycled.push(host.clone());
        }
    }

    /// Whether every host that was restarted still runs what it was restarted into. Hosts that went away are reached
    /// anew to tell, for which they have this long.
    ///
    /// # Errors
    /// A host can't be reached.
    pub async fn still_runs(&mut self, limit: Duration) -> Result<bool, ConnectError> {
        self.reach_or_power_cycle(limit).await?;
        let mut restarted = self.restarted.iter();
        Ok(restarted.all(|(host, boot)| {
            let connected = self.hosts.get(host);
            connected.is_some_and(|connected| connected.boot_id() == boot)
        }))
    }

    /// Reaches every host that isn't a guest. Waits up to `limit` for hosts that `ssh` doesn't reach, which may be
    /// booting, and for namespaces that aren't up. The first failure and the return of the hosts are events. The wait ends early
    /// with the last failure when `stop` becomes true. Returns whether a host had to be reached anew.
    ///
    /// # Errors
    /// A host can't be reached.
    pub async fn reach(
        &mut self,
        limit: Duration,
        mut stop: Option<watch::Receiver<bool>>,
    ) -> Result<bool, ConnectError> {
        let began = Instant::now();
        let mut awaited: Option<HostName> = None;
        loop {
            let fault = match self.recover().await {
                Ok(recovered) => {
                    if awaited.is_some() {
                        let seconds = began.elapsed().as_secs_f64();
                        self.events.emit(&Event::HostsBack { seconds });
                    }
                    return Ok(recovered || awaited.is_some());
                }
                Err(fault) => fault,
            };
            let host = match &fault {
                ConnectError::Unreachable { host, .. } | ConnectError::NotUp { host }
                    if began.elapsed() < limit =>
                {
                    host.clone()
                }
                _ => return Err(fault),
            };
            if awaited.as_ref() != Some(&host) {
                self.events.emit(&Event::HostAwaited {
                    host: host.clone(),
                    why: fault.to_string(),
                    seconds: (limit - began.elapsed().min(limit)).as_secs_f64(),
                });
                awaited = Some(host);
            }
            let pause = began.elapsed().mul_f64(PAUSE_SHARE);
            let pause = sleep(pause.clamp(PAUSE, LONGEST_PAUSE));
            match &mut stop {
                None => pause.await,
                Some(stop) => tokio::select! {
                    () = pause => {}
                    Ok(_) = stop.wait_for(|stop| *stop) => return Err(fault),
                },
            }
        }
    }

    /// The hosts of the arrangement that don't see this machine's files.
    pub fn remote_hosts(&self) -> Vec<HostName> {
        let mut far = self.used();
        far.retain(|host| self.arrangement.is_far(host));
        far
    }

    /// Puts the files of the build that is measured on all hosts that don't see this machine's, at once, unless they are there:
    /// `name` is unlike that of any other build. Commands on these hosts find them from now on.
    ///
    /// # Errors
    /// A host isn't there, is lost, or has no room for them.
    pub async fn upload_build(&mut self, name: &str) -> Result<(), ConnectError> {
        let Some((_, folder)) = &self.arrangement.build else {
            return Ok(());
        };
        let files = UploadFiles::of_build(name, folder);
        let uploads = self.remote_hosts().into_iter().map(|host| async {
            let there = self.upload_build_to(&host, &files).await;
            (host, there)
        });
        let uploaded = join_all(uploads).await;
        for (host, there) in uploaded {
            self.arrangement.build_on.insert(host, there?);
        }
        Ok(())
    }

    /// Puts it on one of them: returns its folder there.
    async fn upload_build_to(
        &self,
        host: &HostName,
        files: &UploadFiles,
    ) -> Result<PathBuf, ConnectError> {
        let Some(connected) = self.hosts.get(host) else {
            return Err(ConnectError::NotUsed { host: host.clone() });
        };
        let told: Mutex<Option<Instant>> = Mutex::new(None);
        let on_progress = |progress: UploadProgress| {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            let is_due = told.is_none_or(|at| at.elapsed() >= UPLOAD_TOLD_EACH);
            if is_due || progress.sent >= progress.of {
                *told = Some(Instant::now());
                self.events.emit(&Event::BuildUploading {
                    host: host.clone(),
                    sent: progress.sent,
                    of: progress.of,
                    there: progress.there,
                    packed: progress.packed,
                });
            }
        };
        let put = connected.client.upload(files, on_progress).await;
        put.map_err(|cause| ConnectError::Agent {
            host: host.clone(),
            cause,
            message: String::new(),
        })
    }
}

/// What a host is asked to do.
struct Order<'a> {
    reach: &'a HostAccess,
    lab: &'a Lab,
    command: &'a str,
    limit: Duration,
}

/// A boot of a host: its id, and what its clock was ahead of ours, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Boot {
    id: String,
    clock: i64,
}

impl Boot {
    /// Whether this other one is a later boot of the same host.
    fn is_followed_by(&self, other: &Self) -> bool {
        if self.id.is_empty() || other.id.is_empty() {
            // The clock that is asked begins anew with a boot.
            return self.clock.saturating_sub(other.clock) > CLOCK_BACK;
        }
        self.id != other.id
    }
}

/// What the last look at a host that is awaited came to.
enum Look {
    SameBoot,
    Nobody(String),
}

/// What came of an order.
struct Reboot {
    host: HostName,
    outcome: Result<Connected, RestartFault>,
    output: Vec<u8>,
    console: Option<Vec<u8>>,
    power: Option<Result<PowerOutcome, PowerFault>>,
}

impl Order<'_> {
    async fn carry_out(self, old: Connected) -> Reboot {
        let host = old.name.clone();
        let settings = self.lab.host.get(&host);
        let heard = settings.filter(|settings| settings.console.is_some());
        let console = match heard {
            None => Ok(None),
            Some(settings) => ConsoleCapture::start(settings).await.map(Some),
        };
        let capture = console.as_ref().ok().and_then(Option::as_ref);
        let mut output = Vec::new();
        let mut outcome = self.see_through(&old, capture, &mut output).await;
        // Also ends the command, should it still run.
        old.bury().await;
        let console = match console {
            Ok(None) => None,
            Ok(Some(capture)) => Some(capture.finish().await),
            // A console that nobody hears keeps no build from being measured.
            Err(error) => Some(CapturedConsole {
                bytes: format!("[not heard: {error}]\n").into_bytes(),
                ..CapturedConsole::default()
            }),
        };
        if let (Some(heard), Err(fault)) = (&console, &mut outcome) {
            match fault {
                RestartFault::Console { words, .. } => words.clone_from(&heard.words),
                RestartFault::Away { console, .. } => console.clone_from(&heard.words),
                _ => {}
            }
        }
        let stands_still = matches!(&outcome, Err(fault) if fault.needs_power_cycle());
        let power = settings.and_then(|settings| settings.power.as_deref());
        let power = match power.filter(|_| stands_still) {
            None => None,
            Some(power) => Some(switch(power, PowerAction::Cycle).await),
        };
        Reboot {
            host,
            outcome,
            output,
            console: console.map(|heard| heard.bytes),
            power,
        }
    }

    async fn see_through(
        &self,
        old: &Connected,
        console: Option<&ConsoleCapture>,
        output: &mut Vec<u8>,
    ) -> Result<Connected, RestartFault> {
        let until = Instant::now() + self.limit;
        let clock = old
            .client
            .clock_offset(1)
            .await
            .map_err(RestartFault::Lost)?;
        let before = Boot {
            id: old.boot_id().to_owned(),
            clock: clock.offset_ns,
        };
        if let Some(console) = console {
            console.recognize();
        }
        let run = self.ask(old).await.map_err(RestartFault::Lost)?;
        let end_of_boot = async {
            match console {
                Some(console) => console.end_of_boot().await,
                None => std::future::pending().await,
            }
        };
        let mut last = Look::Nobody("nobody answered".to_owned());
        let back = tokio::select! {
            back = timeout_at(until, self.await_return(old, &before, &mut last)) => back,
            fault = self.failure(run, output) => return Err(fault),
            state = end_of_boot => {
                let words = String::new();
                return Err(RestartFault::Console { state, words });
            }
        };
        let (command, limit) = (self.command.to_owned(), self.limit);
        match (back, last) {
            (Ok(back), _) => back,
            (Err(_), Look::Nobody(last)) if !still_answers(old).await => Err(RestartFault::Away {
                command,
                limit,
                last,
                console: String::new(),
            }),
            (Err(_), _) => Err(RestartFault::NotAnew { command, limit }),
        }
    }

    async fn ask(&self, old: &Connected) -> Result<RunningStep, backsight_agent::AgentError> {
        let opening = BeginTrial {
            trial: "reboot".into(),
            ..BeginTrial::default()
        };
        old.client.begin_trial(opening).await?;
        let mut step = StepSpec::text(1, self.command, self.limit);
        step.output_limit = OUTPUT_LIMIT;
        old.client.run(step).await
    }

    /// Resolves when the command has failed; never if it does its work, whose end nobody may live to tell.
    async fn failure(&self, mut run: RunningStep, output: &mut Vec<u8>) -> RestartFault {
        loop {
            match run.next().await {
                Ok(Some(StepEvent::Stdout(piece) | StepEvent::Stderr(piece))) => {
                    output.extend_from_slice(&piece);
                }
                Ok(Some(StepEvent::Finished(finished))) => {
                    if let Some(how) = failed(&finished, output) {
                        let command = self.command.to_owned();
                        return RestartFault::Command { command, how };
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => std::future::pending().await,
            }
        }
    }

    /// Looks for the host until it answers from another boot, or somebody else has it.
    async fn await_return(
        &self,
        old: &Connected,
        before: &Boot,
        last: &mut Look,
    ) -> Result<Connected, RestartFault> {
        let _it_may_go_without_a_word = timeout(PATIENCE, old.client.closed()).await;
        loop {
            match Connected::start(self.reach, self.lab, &old.name).await {
                Ok(new) if before.is_followed_by(&boot_of(&new)) => return Ok(new),
                Ok(same) => {
                    *last = Look::SameBoot;
                    same.bury().await;
                }
                Err(ConnectError::Leased { holder, .. }) => {
                    return Err(RestartFault::Leased { holder });
                }
                Err(fault) => *last = Look::Nobody(fault.to_string()),
            }
            sleep(PAUSE).await;
        }
    }
}

/// Whether a host never went away.
async fn still_answers(old: &Connected) -> bool {
    let asked = timeout(PATIENCE, old.client.clock_offset(1)).await;
    asked.is_ok_and(|answer| answer.is_ok())
}

fn boot_of(connected: &Connected) -> Boot {
    Boot {
        id: connected.boot_id().to_owned(),
        clock: connected.clock_offset(),
    }
}

/// How a command that was to reboot its host failed, if it did. One that is killed was in the way of what it asked for.
fn failed(finished: &Finished, output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let last: String = text
        .lines()
        .last()
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect();
    match (&finished.reason, finished.exit) {
        (EndReason::Exited, Some(ProcessExit::Code(code @ 1..=128))) if last.is_empty() => {
            Some(format!("ended with status {code}"))
        }
        (EndReason::Exited, Some(ProcessExit::Code(code @ 1..=128))) => {
            Some(format!("ended with status {code} (`{last}`)"))
        }
        (EndReason::NotFound { program }, _) => {
            Some(format!("can't be run: `{program}` is not there"))
        }
        (EndReason::CannotStart { why }, _) => Some(format!("can't be run: {why}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_boot_has_another_id_or_a_clock_that_began_anew() {
        let boot = |id: &str, clock| Boot {
            id: id.into(),
            clock,
        };
        assert!(boot("a", 0).is_followed_by(&boot("b", 0)));
        assert!(!boot("a", 0).is_followed_by(&boot("a", -9_000_000_000)));
        assert!(boot("", 5_000_000_000).is_followed_by(&boot("", 1_000_000_000)));
        assert!(!boot("", 5_000_000_000).is_followed_by(&boot("", 4_900_000_000)));
        assert!(!boot("", 0).is_followed_by(&boot("", 9_000_000_000)));
    }
}
