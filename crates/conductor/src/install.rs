//! Installing another release of a host's system: the order, the reboot, and the proof of what runs afterwards.
//!
//! What installs it is the lab's own: a PXE server, a script. That a host answers proves nothing: it may be the installer, or
//! the system from before. What counts is another boot whose `proof` prints the release's name.

use backsight_agent::StepSpec;
use backsight_model::{
    Ending, Host, HostName, Install, Lab, PowerMeans, ReleaseName, TemplateError, numbers,
};
use std::{collections::BTreeMap, fmt, time::Duration};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    ConnectError, HostAccess, Lease, LeaseError, PowerAction, PowerFault,
    console::ConsoleCapture,
    hosts::Connected,
    power::{SwitchCommand, switch},
    workbench::alone,
};

/// How long a command on the host may take: the proof, and what reboots it.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);
/// The pause between two looks whether the host is back.
const PAUSE: Duration = Duration::from_secs(1);
/// Output of a proof that is kept, in bytes.
const OUTPUT_LIMIT: u64 = 64 << 10;

/// What runs on a host since it was installed.
#[derive(Debug, Clone, PartialEq)]
pub struct InstalledRelease {
    /// The host.
    pub host: HostName,
    /// What the order printed.
    pub said: String,
    /// What the proof printed.
    pub proof: String,
    /// What the host is now.
    pub facts: BTreeMap<String, String>,
    /// How long all of it took.
    pub took: Duration,
}

impl fmt::Display for InstalledRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proof = self.proof.replace('\n', "; ");
        let took = numbers::duration(self.took);
        write!(
            f,
            "{}: installed in {took}: {}",
            self.host,
            proof.escape_debug()
        )?;
        match self.facts.get("kernel.release") {
            Some(kernel) => write!(f, ", kernel {}", kernel.escape_debug()),
            None => Ok(()),
        }
    }
}

/// An installation that came to nothing.
#[derive(Debug, thiserror::Error)]
#[error("host `{host}`: {fault}{}", console_said(.console))]
pub struct InstallError {
    /// The host.
    pub host: HostName,
    /// Why.
    pub fault: InstallFault,
    /// The last words of its console since the order; nothing where the lab doesn't say where that is.
    pub console: String,
}

fn console_said(words: &str) -> String {
    match words {
        "" => String::new(),
        words => format!("; its console's last words: {words}"),
    }
}

/// Why a host has no other release.
#[derive(Debug, thiserror::Error)]
pub enum InstallFault {
    /// There is no such host.
    #[error("the lab has no such host")]
    NoHost,
    /// The lab doesn't say how.
    #[error(
        "the lab doesn't say how it is installed: add install = {{ run = \"pxe-set {{host}} {{release}}\", proof = \"cat /etc/debian_version\" }} to it"
    )]
    NotGiven,
    /// A study measures on it, or the lease can't be asked for.
    #[error("{0}; --force does it nevertheless")]
    Leased(LeaseError),
    /// A command can't be filled.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The order failed, or its power.
    #[error(transparent)]
    Order(#[from] PowerFault),
    /// It has to be rebooted by a command of its own and doesn't answer.
    #[error("it has to answer for `install.reboot`, and doesn't: {0}")]
    NotReached(ConnectError),
    /// Its reboot's command failed.
    #[error("`{command}` {how} on it: it hasn't been rebooted")]
    NotRebooted {
        /// The command.
        command: String,
        /// How it ended.
        how: String,
    },
    /// Its console says that nothing will come of it.
    #[error("{meaning}, as its console says: {advice}")]
    Console {
        /// What it told.
        meaning: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// No boot with the release answered.
    #[error(
        "after {limit:?} nothing has proved that `{release}` runs there: {last}; give it a longer install.timeout if it needs one"
    )]
    NotProved {
        /// What was to run.
        release: ReleaseName,
        /// How long it had.
        limit: Duration,
        /// What the last look came to.
        last: String,
    },
}

/// Installs a release on a host of a lab and proves that it runs. `tell` hears what is done. A host that a study holds is left alone
/// unless it is forced.
///
/// # Errors
/// What came in the way. The host may then be in any state.
pub async fn install_release(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
    release: &ReleaseName,
    force: bool,
    tell: impl Fn(&str),
) -> Result<InstalledRelease, InstallError> {
    let fail = |fault| InstallError {
        host: host.clone(),
        fault,
        console: String::new(),
    };
    let settings = lab.host.get(host).ok_or(fail(InstallFault::NoHost))?;
    let install = settings.install.as_ref();
    let install = install.ok_or(fail(InstallFault::NotGiven))?;
    let lease = Lease::for_order(reach, lab, host, "`backsight lab install`", force).await;
    let lease = lease.map_err(|error| fail(InstallFault::Leased(error)))?;
    let under_lease = lease.as_ref().map(|lease| lease.reach(reach));
    let reach = under_lease.as_ref().unwrap_or(reach);
    let console = match settings.console {
        None => None,
        Some(_) => match ConsoleCapture::start(settings).await {
            Ok(console) => Some(console),
            Err(error) => {
                tell(&format!("host `{host}`: its console isn't heard: {error}"));
                None
            }
        },
    };
    let installation = Installation {
        reach,
        lab,
        host,
        settings,
        install,
        release,
        began: Instant::now(),
    };
    let installed = installation.see_through(console.as_ref(), &tell).await;
    let words = match console {
        None => String::new(),
        Some(console) => console.finish().await.words,
    };
    installed.map_err(|fault| InstallError {
        console: words,
        ..fail(fault)
    })
}

struct Installation<'a> {
    reach: &'a HostAccess,
    lab: &'a Lab,
    host: &'a HostName,
    settings: &'a Host,
    install: &'a Install,
    release: &'a ReleaseName,
    began: Instant,
}

impl Installation<'_> {
    async fn see_through(
        &self,
        console: Option<&ConsoleCapture>,
        tell: &impl Fn(&str),
    ) -> Result<InstalledRelease, InstallFault> {
        let (host, release) = (self.host, self.release);
        let old = Connected::start(self.reach, self.lab, host).await;
        let before = old.as_ref().ok().map(|old| old.boot_id().to_owned());
        tell(&format!("host `{host}`: ordering `{release}`"));
        let order = SwitchCommand::of_owner(&self.filled(&self.install.run)?);
        let said = order.run_within(self.install.limit()).await?;
        let power = self.settings.power.as_deref();
        if let (true, Some(PowerMeans::Ipmi(bmc))) =
            (self.install.network_boot, power.map(|power| &power.means))
        {
            let order = SwitchCommand::of_bmc(bmc, &["chassis", "bootdev", "pxe"])?;
            order.run_within(COMMAND_LIMIT).await?;
        }
        if let Some(console) = console {
            console.recognize();
        }
        match (&self.install.reboot, old) {
            (None, old) => {
                if let Ok(old) = old {
                    old.bury().await;
                }
                tell(&format!("host `{host}`: switching it off and on"));
                if let Some(power) = power {
                    switch(power, PowerAction::Cycle).await?;
                }
            }
            (Some(_), Err(fault)) => return Err(InstallFault::NotReached(fault)),
            (Some(reboot), Ok(old)) => {
                tell(&format!("host `{host}`: rebooting it"));
                self.reboot(old, &self.filled(reboot)?).await?;
            }
        }
        tell(&format!("host `{host}`: waiting until `{release}` answers"));
        let mut last = "it hasn't answered".to_owned();
        let left = self.install.limit().saturating_sub(self.began.elapsed());
        let end_of_boot = async {
            match console {
                Some(console) => console.end_of_boot().await,
                None => std::future::pending().await,
            }
        };
        let (proof, facts) = tokio::select! {
            proved = timeout(left, self.await_release(before.as_deref(), &mut last)) => match proved {
                Ok(proved) => proved?,
                Err(_) => return Err(InstallFault::NotProved {
                    release: release.clone(),
                    limit: self.install.limit(),
                    last,
                }),
            },
            state = end_of_boot => return Err(InstallFault::Console {
                meaning: &state.meaning,
                advice: &state.advice,
            }),
        };
        Ok(InstalledRelease {
            host: host.clone(),
            said,
            proof,
            facts,
            took: self.began.elapsed(),
        })
    }

    fn filled(&self, command: &str) -> Result<String, TemplateError> {
        Install::filled(command, self.host, self.release)
    }

    /// Runs the command that reboots it; that the connection goes with it is no failure.
    async fn reboot(&self, old: Connected, command: &str) -> Result<(), InstallFault> {
        let mut step = StepSpec::text(1, command, COMMAND_LIMIT);
        step.output_limit = OUTPUT_LIMIT;
        let done = alone(&old, "reboot", step).await;
        old.bury().await;
        match done {
            // A command that is killed was in the way of what it asked for.
            Ok(done) if !done.succeeded() && !matches!(done.ending, Ending::Signal(_)) => {
                Err(InstallFault::NotRebooted {
                    command: command.to_owned(),
                    how: done.how_it_ended(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Looks for the host until another boot than that before proves the release.
    async fn await_release(
        &self,
        before: Option<&str>,
        last: &mut String,
    ) -> Result<(String, BTreeMap<String, String>), InstallFault> {
        let proof = self.filled(&self.install.proof)?;
        loop {
            match Connected::start(self.reach, self.lab, self.host).await {
                Err(fault) => *last = fault.to_string(),
                Ok(same) if before == Some(same.boot_id()) => {
                    "it still runs the boot from before".clone_into(last);
                    same.bury().await;
                }
                Ok(other) => {
                    let mut step = StepSpec::text(1, &proof, COMMAND_LIMIT);
                    step.output_limit = OUTPUT_LIMIT;
                    let done = alone(&other, "proof", step).await;
                    let facts = other.facts.clone();
                    other.bury().await;
                    match done {
                        Ok(done) => {
                            let printed = String::from_utf8_lossy(&done.stdout.bytes);
                            let printed = printed.trim().to_owned();
                            if done.succeeded() && names_release(&printed, self.release) {
                                return Ok((printed, facts));
                            }
                            let words: String = printed.chars().take(200).collect();
                            *last = format!(
                                "`{proof}` {} and printed `{}`",
                                done.how_it_ended(),
                                words.escape_debug()
                            );
                        }
                        Err(error) => *last = error.to_string(),
                    }
                }
            }
            sleep(PAUSE).await;
        }
    }
}

/// Whether a text has a release's name as a word of its own: `17.5` doesn't name `7.5`.
fn names_release(text: &str, release: &ReleaseName) -> bool {
    let is_apart = |beside: Option<char>| !beside.is_some_and(char::is_alphanumeric);
    let mut found = text.match_indices(release.as_str());
    found.any(|(start, word)| {
        let (before, after) = (&text[..start], &text[start + word.len()..]);
        is_apart(before.chars().next_back()) && is_apart(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_proved_by_its_name_and_not_by_a_part_of_another() {
        for (printed, release, proved) in [
            ("7.5", "7.5", true),
            ("VERSION_CODENAME=bookworm\n", "bookworm", true),
            ("12.9", "12", true),
            ("17.5", "7.5", false),
            ("12.9", "2.9", false),
            ("17.5 was 7.5", "7.5", true),
            ("", "7.5", false),
        ] {
            let release = release.parse().unwrap();
            assert_eq!(
                names_release(printed, &release),
                proved,
                "{printed} {release}"
            );
        }
    }
}
