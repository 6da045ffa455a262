//! Hosts that are free, for roles that any of several can play (`dut = { tag = "10g", count = 1 }`).
//!
//! The first ones that nobody has are taken and kept with the study, which goes on with the same. Where too few are free, the study
//! waits for the first ones of the lab, as for any host.

use backsight_conductor::Lease;
use backsight_model::{Arrangement, Event, HostName, StudyName, TestbedName};
use std::time::Duration;

use crate::{ResolvedPlan, Session, SessionOptions};

/// Takes such hosts now, with all others of the plan's testbed, and writes them down in its choices. None where there is nothing to
/// choose, or too few are free: the plan is as it was then. What measures on several testbeds takes those that the lab says.
///
/// # Errors
/// The plan can't be measured on other hosts.
pub(crate) async fn lease_free_hosts(
    plan: &mut ResolvedPlan,
    more: &[TestbedName],
    name: &StudyName,
    options: &SessionOptions,
) -> miette::Result<Option<Lease>> {
    let candidates = candidates(&plan.arrangement);
    if candidates.is_empty() || !more.is_empty() {
        return Ok(None);
    }
    let at_once = SessionOptions {
        wait: Duration::ZERO,
        ..options.clone()
    };
    let mut chosen = plan.clone();
    let mut busy: Vec<HostName> = Vec::new();
    loop {
        let testbeds = chosen.testbeds(&[])?;
        let fault = match Session::lease(&testbeds, name, &at_once).await {
            Ok(lease) => {
                let used = chosen.arrangement.hosts();
                let taken = used.filter(|host| candidates.contains(host)).cloned();
                chosen.question.choices.hosts = taken.collect();
                if !busy.is_empty() {
                    options.events.emit(&Event::Note {
                        message: note(&chosen.question.choices.hosts, &busy),
                    });
                }
                *plan = chosen;
                return Ok(Some(lease));
            }
            Err(fault) => fault,
        };
        let Some(host) = fault.taken_host().filter(|host| !busy.contains(host)) else {
            return Ok(None);
        };
        busy.push(host.clone());
        let free = candidates.iter().filter(|host| !busy.contains(host));
        chosen.question.choices.hosts = free.cloned().collect();
        chosen.arrangement = chosen.question.arrange(&chosen.catalog)?;
        if chosen.arrangement.hosts().any(|host| busy.contains(host)) {
            return Ok(None);
        }
    }
}

/// The hosts of which only some play a role.
fn candidates(arrangement: &Arrangement) -> Vec<HostName> {
    let seats = arrangement.seats.values();
    seats.flat_map(|seat| seat.candidates()).cloned().collect()
}

fn note(taken: &[HostName], busy: &[HostName]) -> String {
    let names = |hosts: &[HostName]| {
        let names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        names.join(", ")
    };
    format!("measured on {}: others have {}", names(taken), names(busy))
}
