//! A look at another machine before anything is measured there: what a study needs of it, asked through an agent of its own.
//!
//! The same login, options and agent as a study has. Nothing is installed or changed but the agent's own file.

use backsight_agent::{BeginTrial, Client, HostAddresses, StepCommand, StepSpec};
use backsight_model::{HostName, Lab, PowerState};
use futures_util::future::join_all;
use std::{
    collections::BTreeMap,
    net::IpAddr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::{
    ConnectError, ConsoleError, HostAccess, PowerAction, PowerFault, console::probe,
    host_query::ask_host, hosts::Connected, link_checkup::peers, power::switch,
};

/// How long one of its commands may take.
const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// What a machine has.
#[derive(Debug, Clone)]
pub struct HostCheckup {
    /// What it is.
    pub facts: BTreeMap<String, String>,
    /// Of the programs that were asked for, those that it hasn't.
    pub missing: Vec<String>,
    /// Its addresses, and its ways to the other ends of its links.
    pub addresses: HostAddresses,
    /// What its clock is ahead of this machine's, in seconds, and how far that may be wrong.
    pub clock_ahead: Option<(f64, f64)>,
    /// Bytes that are free where trials have their files.
    pub free: Option<u64>,
}

/// What is known of a machine from outside, whether it answers or not.
#[derive(Debug, Default)]
pub struct OutOfBand {
    /// Whether it is on; none where the lab doesn't say how that is asked.
    pub power: Option<Result<PowerState, PowerFault>>,
    /// Whether its console's command starts; none where the lab doesn't say it.
    pub console: Option<Result<(), ConsoleError>>,
}

impl OutOfBand {
    async fn ask(lab: &Lab, host: &HostName) -> Self {
        let Some(settings) = lab.host.get(host) else {
            return Self::default();
        };
        let power = async {
            let power = settings.power.as_deref()?;
            match switch(power, PowerAction::Status).await {
                Ok(outcome) => outcome.now.map(Ok),
                // That isn't a fault: it was left out.
                Err(PowerFault::NoStatus) => None,
                Err(fault) => Some(Err(fault)),
            }
        };
        let console = async {
            settings.console.as_ref()?;
            Some(probe(settings).await)
        };
        let (power, console) = tokio::join!(power, console);
        Self { power, console }
    }
}

/// How long one machine may take for all that is asked of it, the agent's way there included.
const LIMIT: Duration = Duration::from_secs(120);

/// Looks at these hosts of a lab, all at once, each for these programs, and at each from outside.
pub async fn check_up(
    reach: &HostAccess,
    lab: &Lab,
    hosts: &[(HostName, Vec<String>)],
) -> Vec<(Result<HostCheckup, ConnectError>, OutOfBand)> {
    let checkups = hosts.iter().map(async |(host, programs)| {
        let asked = ask_host(reach, lab, host, LIMIT, async |connected| {
            ask(connected, programs, &peers(lab, host)).await
        });
        tokio::join!(asked, OutOfBand::ask(lab, host))
    });
    join_all(checkups).await
}

async fn ask(
    connected: &Connected,
    programs: &[String],
    peers: &[IpAddr],
) -> Result<HostCheckup, backsight_agent::AgentError> {
    let client = &connected.client;
    let trial = BeginTrial {
        trial: "doctor".into(),
        ..BeginTrial::default()
    };
    client.begin_trial(trial).await?;
    let mut shell = Shell { client, number: 0 };
    let mut missing = Vec::new();
    for program in programs {
        let found = format!("command -v {}", backsight_model::shell_quoted(program));
        if shell.prints(&found).await?.is_none() {
            missing.push(program.clone());
        }
    }
    let before = now();
    let clock = shell.prints("date +%s.%N").await?;
    let after = now();
    let addresses = client.addresses(peers).await?;
    let free = shell.prints("df -Pk .").await?;
    client.end_trial().await?;
    Ok(HostCheckup {
        facts: connected.facts.clone(),
        missing,
        addresses,
        clock_ahead: clock.and_then(|clock| ahead(&clock, before, after)),
        free: free.and_then(|table| free_in(&table)),
    })
}

/// Commands of one trial.
struct Shell<'a> {
    client: &'a Client,
    number: u64,
}

impl Shell<'_> {
    /// What a command prints; nothing if it fails.
    async fn prints(
        &mut self,
        command: &str,
    ) -> Result<Option<String>, backsight_agent::AgentError> {
        self.number += 1;
        let line = vec!["/bin/sh".into(), "-c".into(), command.to_owned()];
        let step = StepSpec::new(self.number, StepCommand::Argv(line), PROBE_LIMIT);
        let outcome = self.client.run(step).await?.outcome().await?;
        let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
        Ok(outcome.finished.as_expected.then_some(text))
    }
}

/// Seconds since 1970.
fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

/// What a clock that was read between two instants of ours is ahead, and how far that may be wrong. A `date` that knows no
/// nanoseconds prints whole seconds and something else.
fn ahead(printed: &str, before: f64, after: f64) -> Option<(f64, f64)> {
    let printed = printed.trim();
    let (theirs, unsure) = match printed.parse::<f64>() {
        Ok(theirs) => (theirs, 0.0),
        Err(_) => (printed.split('.').next()?.parse::<f64>().ok()? + 0.5, 0.5),
    };
    let middle = before.midpoint(after);
    Some((theirs - middle, (after - before) / 2.0 + unsure))
}

/// The bytes available in the table of `df -Pk`.
fn free_in(table: &str) -> Option<u64> {
    let row = table.lines().nth(1)?;
    let kilobytes: u64 = row.split_whitespace().nth(3)?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_as_exact_as_what_it_prints_and_how_long_that_took() {
        let close = |found: Option<(f64, f64)>, ahead: f64, unsure: f64| {
            let (is, within) = found.unwrap();
            (is - ahead).abs() < 1e-6 && (within - unsure).abs() < 1e-6
        };
        assert!(close(ahead("1010.5\n", 1000.0, 1001.0), 10.0, 0.5));
        assert!(close(ahead("1000.%N\n", 1000.0, 1001.0), 0.0, 1.0));
        assert_eq!(ahead("noon", 1.0, 2.0), None);
    }

    #[test]
    fn free_bytes_are_the_fourth_column() {
        let table = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 1000 400 600 40% /\n";
        assert_eq!(free_in(table), Some(600 * 1024));
        assert_eq!(free_in("nothing"), None);
    }
}
