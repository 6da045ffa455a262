//! Power of hosts: switching a machine on and off by its BMC or by commands of the lab's owner, until its status says so.
//!
//! Commands run on this machine, each with a time limit that holds also when this program dies (`timeout` of coreutils keeps it).
//! What they start stays: a command that switches a virtual machine on may be its parent. The password of a BMC is read by
//! `ipmitool` from its file, and is in no command line, environment or message of ours.

use backsight_model::{
    Bmc, Host, HostKind, HostName, Lab, Power, PowerMeans, PowerState, shell_quoted,
};
use futures_util::future::join_all;
use std::{
    fmt,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::{Child, Command},
    time::{Instant, sleep, timeout, timeout_at},
};

use crate::{
    HostAccess, Lease, LeaseError,
    hosts::vm::{RunningMachine, switch_off},
    virsh::Domain,
};

/// The longest that one command may take, within what the whole change may.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);
/// How long a command may take to be killed after its limit.
const KILL_LIMIT: Duration = Duration::from_secs(5);
/// The pause between two questions for the status: a BMC tells nobody when it changes.
const STATUS_PAUSE: Duration = Duration::from_millis(300);
/// The pause between two looks whether a virtual machine is gone.
const MACHINE_PAUSE: Duration = Duration::from_millis(20);
/// How long the output of a command that has ended is awaited: what it started may hold it open for ever.
const OUTPUT_LIMIT: Duration = Duration::from_millis(300);
/// How much of what a command prints is kept, in bytes.
const OUTPUT_KEPT: u64 = 64 << 10;
/// What stands between lines of an output in a message.
const LINE_BREAK: &str = "; ";
/// What `timeout` ends with when the command didn't end in time.
const TIMED_OUT: [i32; 2] = [124, 137];

/// A change of a host's power, or the question for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerAction {
    /// Switch it on.
    On,
    /// Switch it off.
    Off,
    /// Switch it off, then on; one that is off is switched on.
    Cycle,
    /// Only ask.
    Status,
}

impl PowerAction {
    /// All of them: what each is called, itself, and what it does.
    pub const NAMED: &[(&str, Self, &str)] = &[
        ("on", Self::On, "switch them on"),
        ("off", Self::Off, "switch them off"),
        ("cycle", Self::Cycle, "switch them off, then on"),
        ("status", Self::Status, "say whether they are on"),
    ];
}

impl fmt::Display for PowerAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::On => "power on",
            Self::Off => "power off",
            Self::Cycle => "power cycle",
            Self::Status => "power status",
        })
    }
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerOutcome {
    /// What was asked for.
    pub action: PowerAction,
    /// What it was before; none if nobody can tell.
    pub before: Option<PowerState>,
    /// What its status says now; none where the lab has no command that tells it.
    pub now: Option<PowerState>,
    /// How long it took until the status said so.
    pub took: Duration,
}

impl fmt::Display for PowerOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = self.took.as_secs_f64();
        match (self.action, self.before, self.now) {
            (PowerAction::Status, _, Some(now)) => write!(f, "{now}"),
            (_, Some(before), Some(now)) if before == now && self.action != PowerAction::Cycle => {
                write!(f, "{now} already")
            }
            (PowerAction::Cycle, Some(PowerState::On), Some(now)) => {
                write!(f, "off, then {now}, after {took:.1} s")
            }
            (_, Some(before), Some(now)) => write!(f, "{now} (was {before}), after {took:.1} s"),
            (action, _, _) => write!(
                f,
                "{action}: its command has ended, after {took:.1} s; not verified: its `power` has no `status`"
            ),
        }
    }
}

/// What came of an action on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPower {
    /// The host.
    pub host: HostName,
    /// What came of it.
    pub outcome: PowerOutcome,
}

impl fmt::Display for HostPower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.host, self.outcome)
    }
}

/// An action that came to nothing.
#[derive(Debug, thiserror::Error)]
#[error("host `{host}`, {action}: {fault}")]
pub struct PowerError {
    /// The host.
    pub host: HostName,
    /// What was asked for.
    pub action: PowerAction,
    /// Why not.
    pub fault: PowerFault,
}

/// Why a host's power isn't what it was to be.
#[derive(Debug, thiserror::Error)]
pub enum PowerFault {
    /// There is no such host.
    #[error("the lab has no such host")]
    NoHost,
    /// The lab doesn't say how.
    #[error(
        "the lab doesn't say how it is switched: add power = {{ ipmi = \"…\", user = \"…\", password-file = \"…\" }} or {{ on = \"…\", off = \"…\", status = \"…\" }} to it"
    )]
    NotGiven,
    /// The file that defines its domain can't be read.
    #[error("{0}")]
    Domain(String),
    /// It is a virtual machine of ours.
    #[error("it is on while somebody measures on it, and switched on by that")]
    OfStudy,
    /// A study measures on it, or the lease can't be asked for.
    #[error("{0}; --force does it nevertheless")]
    Leased(LeaseError),
    /// Its password can't be used.
    #[error("the password's file {path}: {why}")]
    Password {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// There is no command that could tell.
    #[error("its `power` has no `status`: add the command that prints `on` or `off`")]
    NoStatus,
    /// The command can't be started.
    #[error("can't run `{command}`: {cause}")]
    NotStarted {
        /// The command.
        command: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The command failed.
    #[error("`{command}` failed{}{}", says(.said), .way_out)]
    Failed {
        /// The command.
        command: String,
        /// What it printed.
        said: String,
        /// What to do.
        way_out: String,
    },
    /// The command hangs.
    #[error("`{command}` hasn't ended within {limit:?} and was killed{}", says(.said))]
    Hangs {
        /// The command.
        command: String,
        /// The time that it had.
        limit: Duration,
        /// What it had printed.
        said: String,
    },
    /// What it prints is no status.
    #[error("`{command}` was to print `on` or `off`{}", says(.said))]
    NoState {
        /// The command.
        command: String,
        /// What it printed.
        said: String,
    },
    /// The commands succeed and nothing happens.
    #[error(
        "`{command}` succeeded{}, and {limit:?} later the status is still {state}: look at the machine itself; a slow one needs a longer `timeout` in its `power`",
        says(.said)
    )]
    Unchanged {
        /// The command.
        command: String,
        /// What it printed.
        said: String,
        /// The time that it had.
        limit: Duration,
        /// What it is.
        state: PowerState,
    },
}

fn says(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!(" (it said: {said})"),
    }
}

/// Does it on these hosts of a lab, all at once; on all that have `power` where none is named. A host that a study holds is left
/// alone unless it is forced.
pub async fn switch_hosts(
    reach: &HostAccess,
    lab: &Lab,
    hosts: &[HostName],
    action: PowerAction,
    force: bool,
) -> Vec<Result<HostPower, PowerError>> {
    let mut chosen = hosts.to_vec();
    if chosen.is_empty() {
        let can_be_asked = |host: &Host| {
            host.power.is_some() || matches!(host.kind, HostKind::Vm | HostKind::Domain)
        };
        let any_has_power = lab.host.values().any(can_be_asked);
        // Where none has it, each says so.
        let meant = lab
            .host
            .iter()
            .filter(|(_, host)| can_be_asked(host) || !any_has_power);
        chosen.extend(meant.map(|(name, _)| (**name).clone()));
    }
    let switched = chosen.into_iter().map(async |host| {
        match switch_host(reach, lab, &host, action, force).await {
            Ok(outcome) => Ok(HostPower { host, outcome }),
            Err(fault) => Err(PowerError {
                host,
                action,
                fault,
            }),
        }
    });
    join_all(switched).await
}

async fn switch_host(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
    action: PowerAction,
    force: bool,
) -> Result<PowerOutcome, PowerFault> {
    let settings = lab.host.get(host).ok_or(PowerFault::NoHost)?;
    let of_domain = Domain::of(settings).map_err(PowerFault::Domain)?;
    let of_domain = of_domain.map(|domain| domain.power());
    let power = settings.power.as_deref().or(of_domain.as_ref());
    if power.is_none() && settings.kind != HostKind::Vm {
        return Err(PowerFault::NotGiven);
    }
    let work = format!("`backsight lab {action}`");
    let is_free = force || action == PowerAction::Status;
    let lease = Lease::for_order(reach, lab, host, &work, is_free).await;
    let _lease = lease.map_err(PowerFault::Leased)?;
    match power {
        Some(power) => PowerSwitch::new(power)?.act(action).await,
        None => switch_machine(lab, host, action).await,
    }
}

/// The same of a virtual machine of ours, which is on while somebody measures on it.
async fn switch_machine(
    lab: &Lab,
    host: &HostName,
    action: PowerAction,
) -> Result<PowerOutcome, PowerFault> {
    let began = Instant::now();
    let running = RunningMachine::find(lab, host);
    let before = match &running {
        Some(_) => PowerState::On,
        None => PowerState::Off,
    };
    let now = match (action, running) {
        (PowerAction::On | PowerAction::Cycle, _) => return Err(PowerFault::OfStudy),
        (PowerAction::Off, Some(machine)) => {
            let told = switch_off(&machine.control).await;
            // A study may have booted it again: then it is another one.
            while RunningMachine::find(lab, host).as_ref() == Some(&machine) {
                if began.elapsed() > KILL_LIMIT {
                    let said = told.err().map(|error| error.to_string());
                    return Err(PowerFault::Unchanged {
                        command: "quit".into(),
                        said: said.unwrap_or_default(),
                        limit: KILL_LIMIT,
                        state: PowerState::On,
                    });
                }
                // A process that isn't ours tells us of its end in no other way.
                sleep(MACHINE_PAUSE).await;
            }
            PowerState::Off
        }
        (PowerAction::Off | PowerAction::Status, _) => before,
    };
    Ok(PowerOutcome {
        action,
        before: Some(before),
        now: Some(now),
        took: began.elapsed(),
    })
}

/// Changes a host's power, or asks for it, whoever holds it.
pub(crate) async fn switch(power: &Power, action: PowerAction) -> Result<PowerOutcome, PowerFault> {
    PowerSwitch::new(power)?.act(action).await
}

/// The commands of a host's power.
struct PowerSwitch {
    on: SwitchCommand,
    off: SwitchCommand,
    cycle: Option<SwitchCommand>,
    status: Option<SwitchCommand>,
    limit: Duration,
}

impl PowerSwitch {
    fn new(power: &Power) -> Result<Self, PowerFault> {
        let limit = power.limit;
        match &power.means {
            PowerMeans::Commands(commands) => {
                let command = |line: &String| SwitchCommand::of_owner(line);
                Ok(Self {
                    on: command(&commands.on),
                    off: command(&commands.off),
                    cycle: commands.cycle.as_ref().map(command),
                    status: commands.status.as_ref().map(command),
                    limit,
                })
            }
            PowerMeans::Ipmi(bmc) => {
                let command = |verb: &str| SwitchCommand::of_bmc(bmc, &["chassis", "power", verb]);
                Ok(Self {
                    on: command("on")?,
                    off: command("off")?,
                    // Of `chassis power cycle` nobody could say whether it was ever off.
                    cycle: None,
                    status: Some(command("status")?),
                    limit,
                })
            }
        }
    }

    async fn act(&self, action: PowerAction) -> Result<PowerOutcome, PowerFault> {
        let began = Instant::now();
        let before = match &self.status {
            None if action == PowerAction::Status => return Err(PowerFault::NoStatus),
            None => None,
            Some(status) => match status.state(self.limit).await {
                Ok(state) => Some(state),
                // A status that can't be read now is awaited after the change.
                Err(PowerFault::NoState { .. }) if action != PowerAction::Status => None,
                Err(fault) => return Err(fault),
            },
        };
        let now = match action {
            PowerAction::Status => before,
            PowerAction::On if before == Some(PowerState::On) => before,
            PowerAction::Off if before == Some(PowerState::Off) => before,
            PowerAction::On => self.change(&self.on, PowerState::On).await?,
            PowerAction::Off => self.change(&self.off, PowerState::Off).await?,
            PowerAction::Cycle if before == Some(PowerState::Off) => {
                self.change(&self.on, PowerState::On).await?
            }
            PowerAction::Cycle => match &self.cycle {
                Some(cycle) => self.change(cycle, PowerState::On).await?,
                None => {
                    self.change(&self.off, PowerState::Off).await?;
                    self.change(&self.on, PowerState::On).await?
                }
            },
        };
        Ok(PowerOutcome {
            action,
            before,
            now,
            took: began.elapsed(),
        })
    }

    /// Runs a command and asks for the status until it is this one.
    async fn change(
        &self,
        command: &SwitchCommand,
        wanted: PowerState,
    ) -> Result<Option<PowerState>, PowerFault> {
        let until = Instant::now() + self.limit;
        let said = command.run(self.limit).await?;
        let Some(status) = &self.status else {
            return Ok(None);
        };
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let state = status.state(left.max(STATUS_PAUSE)).await;
            match state {
                Ok(state) if state == wanted => return Ok(Some(state)),
                // Some BMCs are deaf for a while after a change.
                _ if Instant::now() + STATUS_PAUSE < until => sleep(STATUS_PAUSE).await,
                Ok(state) => {
                    return Err(PowerFault::Unchanged {
                        command: command.shown.clone(),
                        said,
                        limit: self.limit,
                        state,
                    });
                }
                Err(fault) => return Err(fault),
            }
        }
    }
}

/// A command that switches, or tells the status.
pub(crate) struct SwitchCommand {
    words: Vec<String>,
    shown: String,
    bmc: Option<Bmc>,
}

impl SwitchCommand {
    pub(crate) fn of_owner(line: &str) -> Self {
        Self {
            words: ["/bin/sh", "-c", line].map(str::to_owned).into(),
            shown: line.to_owned(),
            bmc: None,
        }
    }

    pub(crate) fn of_bmc(bmc: &Bmc, verb: &[&str]) -> Result<Self, PowerFault> {
        let words = ipmitool_words(bmc, verb)?;
        let quoted = words.iter().map(|word| shell_quoted(word));
        Ok(Self {
            shown: quoted.collect::<Vec<_>>().join(" "),
            words,
            bmc: Some(bmc.clone()),
        })
    }

    /// Asks for the status.
    async fn state(&self, limit: Duration) -> Result<PowerState, PowerFault> {
        let said = self.run(limit).await?;
        PowerState::parse(&said.replace(LINE_BREAK, "\n")).ok_or_else(|| PowerFault::NoState {
            command: self.shown.clone(),
            said,
        })
    }

    /// Runs it to its end, within what one such command may take; what it printed, as one line.
    async fn run(&self, limit: Duration) -> Result<String, PowerFault> {
        self.run_within(limit.min(COMMAND_LIMIT)).await
    }

    /// Runs it to its end; what it printed, as one line.
    pub(crate) async fn run_within(&self, limit: Duration) -> Result<String, PowerFault> {
        let mut command = Command::new("timeout");
        command
            .arg(format!("--kill-after={}", KILL_LIMIT.as_secs() / 2))
            .arg(format!("{:.3}", limit.as_secs_f64()))
            .args(&self.words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let child = command.spawn().map_err(|cause| PowerFault::NotStarted {
            command: self.shown.clone(),
            cause: match cause.kind() {
                std::io::ErrorKind::NotFound => std::io::Error::other(
                    "this machine has no program `timeout`: apt-get install coreutils",
                ),
                _ => cause,
            },
        })?;
        let mut running = RunningCommand(child);
        let said: Arc<Mutex<Vec<u8>>> = Arc::default();
        let stdout = running.0.stdout.take();
        let stdout = stdout.map(|pipe| tokio::spawn(keep_output(pipe, Arc::clone(&said))));
        let stderr = running.0.stderr.take();
        let stderr = stderr.map(|pipe| tokio::spawn(keep_output(pipe, Arc::clone(&said))));
        // `timeout` keeps the limit.
        let status = timeout(limit + KILL_LIMIT, running.0.wait()).await;
        let until = Instant::now() + OUTPUT_LIMIT;
        for mut reader in stdout.into_iter().chain(stderr) {
            if timeout_at(until, &mut reader).await.is_err() {
                // What it started holds the pipe.
                reader.abort();
            }
        }
        let said = one_line(&said.lock().unwrap_or_else(PoisonError::into_inner));
        let command = self.shown.clone();
        match status {
            Ok(Ok(status)) if status.success() => Ok(said),
            Ok(Ok(status)) if !status.code().is_some_and(|code| TIMED_OUT.contains(&code)) => {
                let way_out = match (&self.bmc, status.code()) {
                    (Some(_), Some(127)) => ": apt-get install ipmitool".into(),
                    (Some(bmc), _) => way_out(bmc, &said),
                    (None, _) => format!(": {status}"),
                };
                Err(PowerFault::Failed {
                    command,
                    said,
                    way_out,
                })
            }
            Ok(Err(cause)) => Err(PowerFault::NotStarted { command, cause }),
            _ => Err(PowerFault::Hangs {
                command,
                limit,
                said,
            }),
        }
    }
}

/// A command under `timeout`, which ends it when this is dropped early.
struct RunningCommand(Child);

impl Drop for RunningCommand {
    fn drop(&mut self) {
        let pid = self.0.id().and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
            let _it_has_ended = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }
}

/// Keeps the beginning of what comes out of a pipe and reads it to its end.
async fn keep_output(mut pipe: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<u8>>>) {
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = pipe.read(&mut piece).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if (kept.len() as u64) < OUTPUT_KEPT {
            kept.extend_from_slice(&piece[..read]);
        }
    }
}

/// The last lines of an output, as one.
fn one_line(output: &[u8]) -> String {
    const LINES: usize = 4;
    let text = String::from_utf8_lossy(output);
    let lines: Vec<String> = text
        .lines()
        // What `ipmitool` says of itself.
        .filter(|line| !line.starts_with("Loading IANA PEN Registry"))
        .map(|line| line.chars().filter(|c| !c.is_control()).take(200).collect())
        .filter(|line: &String| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(LINES)..].join(LINE_BREAK)
}

/// `ipmitool` with everything but what it is to do.
///
/// # Errors
/// The file of the password can't be used.
pub(crate) fn ipmitool_words(bmc: &Bmc, verb: &[&str]) -> Result<Vec<String>, PowerFault> {
    let password = password_file(bmc)?;
    let mut words: Vec<String> = ["ipmitool", "-v", "-I", &bmc.interface, "-H", &bmc.address]
        .map(str::to_owned)
        .into();
    words.extend(["-p".into(), bmc.port.to_string()]);
    words.extend(["-U".into(), bmc.user.clone()]);
    words.extend(["-f".into(), password.to_string_lossy().into_owned()]);
    // A BMC that doesn't answer is given up after some seconds.
    words.extend(["-N", "1", "-R", "2"].map(str::to_owned));
    if let Some(suite) = bmc.cipher_suite {
        words.extend(["-C".into(), suite.to_string()]);
    }
    words.extend(verb.iter().map(|word| (*word).to_owned()));
    Ok(words)
}

/// Where the password is, if only its owner can read it.
fn password_file(bmc: &Bmc) -> Result<PathBuf, PowerFault> {
    let path = match bmc.password_file.strip_prefix("~/") {
        Some(below) => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(below),
        None => PathBuf::from(&bmc.password_file),
    };
    let fault = |why: String| PowerFault::Password {
        path: path.clone(),
        why,
    };
    let meta = path.metadata().map_err(|cause| {
        fault(format!(
            "{cause}: put the BMC's password into its first line, and chmod 600 it"
        ))
    })?;
    match meta.permissions().mode() & 0o007 {
        0 => Ok(path),
        _ => Err(fault("everybody may read it: chmod 600 it".into())),
    }
}

/// What to do about what `ipmitool` says.
fn way_out(bmc: &Bmc, said: &str) -> String {
    let Bmc {
        address,
        port,
        user,
        password_file,
        ..
    } = bmc;
    let refused = || {
        format!(
            ": the BMC is there and refuses user `{user}` with the password in {password_file}: is the file's first line the password, and may the user log in over LAN?"
        )
    };
    let known: &[(&str, &dyn Fn() -> String)] = &[
        ("HMAC is invalid", &refused),
        ("unauthorized name", &refused),
        ("password", &refused),
        ("Insufficient privilege", &|| {
            format!(": user `{user}` may log in and may not do this: give it the level OPERATOR")
        }),
        ("Address lookup", &|| {
            format!(": `{address}` has no address: is it spelt right?")
        }),
        ("Unable to establish", &|| {
            format!(
                ": nobody speaks IPMI at {address} on UDP port {port}: is the BMC plugged in and IPMI over LAN switched on?"
            )
        }),
    ];
    let found = known.iter().find(|(words, _)| said.contains(words));
    found.map_or_else(String::new, |(_, way_out)| way_out())
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::PowerCommands;

    /// A machine that is a file.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn power(&self, on: &str, off: &str, status: Option<&str>) -> Power {
            let here = self.0.path().join("on").display().to_string();
            let command = |text: &str| text.replace('@', &here);
            Power {
                means: PowerMeans::Commands(PowerCommands {
                    on: command(on),
                    off: command(off),
                    cycle: None,
                    status: status.map(command),
                }),
                limit: Duration::from_secs(2),
            }
        }
    }

    const STATUS: Option<&str> =
        Some("if [ -e @ ]; then echo Power is on; else echo Power is off; fi");

    #[tokio::test]
    async fn a_change_is_true_when_the_status_says_so() {
        let machine = Machine::new();
        let power = machine.power("(sleep 0.5; touch @) & echo started", "rm @", STATUS);
        let outcome = switch(&power, PowerAction::On).await.unwrap();
        assert_eq!(
            (outcome.before, outcome.now),
            (Some(PowerState::Off), Some(PowerState::On))
        );
        assert!(outcome.took >= Duration::from_millis(500), "{outcome:?}");
        let again = switch(&power, PowerAction::On).await.unwrap();
        assert_eq!(again.to_string(), "on already");
        let cycled = switch(&power, PowerAction::Cycle).await.unwrap();
        assert!(cycled.to_string().starts_with("off, then on"), "{cycled}");
        let off = switch(&power, PowerAction::Off).await.unwrap();
        assert!(off.to_string().starts_with("off (was on)"), "{off}");
        let status = switch(&power, PowerAction::Status).await.unwrap();
        assert_eq!(status.to_string(), "off");
        let unverified = machine.power("touch @", "rm @", None);
        let outcome = switch(&unverified, PowerAction::On).await.unwrap();
        assert!(outcome.to_string().contains("not verified"), "{outcome}");
    }

    #[tokio::test]
    async fn one_that_lies_hangs_or_fails_is_an_error_with_what_was_said() {
        let machine = Machine::new();
        for (on, status, words) in [
            (
                "echo done",
                STATUS,
                "`echo done` succeeded (it said: done), and 2s later the status is still off",
            ),
            (
                "sleep 60",
                STATUS,
                "`sleep 60` hasn't ended within 2s and was killed",
            ),
            (
                "echo no such outlet >&2; exit 3",
                STATUS,
                "failed (it said: no such outlet): exit status: 3",
            ),
            (
                "true",
                Some("echo perhaps"),
                "was to print `on` or `off` (it said: perhaps)",
            ),
            (
                "true",
                Some("echo broken; exit 1"),
                "`echo broken; exit 1` failed (it said: broken)",
            ),
        ] {
            let began = Instant::now();
            let fault = switch(&machine.power(on, "true", status), PowerAction::On)
                .await
                .unwrap_err();
            assert!(fault.to_string().contains(words), "{fault}");
            assert!(
                began.elapsed() < Duration::from_secs(6),
                "{on}: {:?}",
                began.elapsed()
            );
        }
        let none = machine.power("true", "true", None);
        let fault = switch(&none, PowerAction::Status).await.unwrap_err();
        assert!(matches!(fault, PowerFault::NoStatus), "{fault}");
    }

    #[test]
    fn a_password_is_in_no_command_line_and_only_in_a_file_of_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pw");
        let bmc = Bmc {
            address: "bmc".into(),
            port: 623,
            user: "admin".into(),
            password_file: file.display().to_string(),
            interface: "lanplus".into(),
            cipher_suite: Some(17),
        };
        let words = |bmc| ipmitool_words(bmc, &["chassis", "power", "on"]);
        let missing = words(&bmc).unwrap_err().to_string();
        assert!(missing.contains("chmod 600"), "{missing}");
        std::fs::write(&file, "secret\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let open = words(&bmc).unwrap_err().to_string();
        assert!(open.contains("everybody may read it"), "{open}");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let line = words(&bmc).unwrap().join(" ");
        assert!(
            line.contains(" -C 17 chassis power on") && !line.contains("secret"),
            "{line}"
        );
    }

    #[test]
    fn what_a_bmc_says_has_a_way_out() {
        let bmc = Bmc {
            address: "bmc.lab".into(),
            port: 623,
            user: "admin".into(),
            password_file: "~/.bmc".into(),
            interface: "lanplus".into(),
            cipher_suite: None,
        };
        for (said, words) in [
            (
                "> RAKP 2 HMAC is invalid; Error: Unable to establish IPMI v2 / RMCP+ session",
                "refuses user `admin`",
            ),
            (
                "RAKP 2 message indicates an error : unauthorized name; Error: Unable to establish",
                "refuses user `admin`",
            ),
            (
                "Address lookup for bmc.lab failed; Could not open socket!",
                "has no address",
            ),
            (
                "Error: Unable to establish IPMI v2 / RMCP+ session",
                "nobody speaks IPMI at bmc.lab on UDP port 623",
            ),
            (
                "Set Chassis Power Control to Up/On failed: Insufficient privilege level",
                "OPERATOR",
            ),
        ] {
            let found = way_out(&bmc, said);
            assert!(found.contains(words), "{said}: {found}");
        }
    }
}
