//! Whether a suite that was ended in the middle goes on: in another pass of its trial, without the tests that have ended.
//!
//! It always ends: there are at most [`MOST_CONTINUATIONS`], each after a pass that gave a new result, and the programs of all share the
//! time limit of one.

use backsight_catalog::SuitePasses;
use backsight_model::{Ending, Phase, RoleName, RoleTrial, StepRecord, counted};
use std::time::Duration;

/// How often a suite goes on in one trial.
const MOST_CONTINUATIONS: usize = 16;
/// Longest list of tests to leave out, in bytes: it is sent in one message.
const LONGEST_LIST: usize = 2 << 20;

/// Why it doesn't go on after this pass; none if it does.
pub(super) fn hindrance(
    passes: &SuitePasses,
    roles: &[RoleTrial],
    pass: &[StepRecord],
) -> Option<String> {
    if !passes.has_news() {
        Some("this pass came no further than the one before".to_owned())
    } else if passes.len() > MOST_CONTINUATIONS {
        Some(format!(
            "a run goes on at most {}",
            counted(MOST_CONTINUATIONS, "time")
        ))
    } else if is_time_over(roles, pass) {
        Some("the time limit of its step is over".to_owned())
    } else if passes.ended_tests().len() > LONGEST_LIST {
        Some("the names of the tests that have ended are too long together".to_owned())
    } else {
        None
    }
}

/// Gives the programs that run tests what is left of their time after these steps of earlier passes.
pub(super) fn limit_time(roles: &mut [RoleTrial], earlier: &[StepRecord]) {
    for role in roles {
        let (name, host) = (role.role.clone(), role.host.clone());
        let programs = role.steps.get_mut(&Phase::Run).into_iter().flatten();
        for (number, step) in programs.enumerate().filter(|(_, step)| step.tolerant) {
            let same = |it: &&StepRecord| {
                it.role == name && it.host == host && runs_tests(it) && it.number == number
            };
            let spent: f64 = earlier.iter().filter(same).map(|it| it.usage.wall).sum();
            step.timeout = step.timeout.saturating_sub(Duration::from_secs_f64(spent));
        }
    }
}

/// Whether a program that runs tests has no time left after this pass.
fn is_time_over(roles: &[RoleTrial], pass: &[StepRecord]) -> bool {
    let mut left = roles.to_vec();
    limit_time(&mut left, pass);
    let steps = left
        .iter()
        .filter_map(|role| role.steps.get(&Phase::Run))
        .flatten();
    steps
        .into_iter()
        .any(|step| step.tolerant && step.timeout.is_zero())
}

/// Whether a host went away while programs of this role ran tests.
pub(super) fn was_running(role: &RoleName, pass: &[StepRecord]) -> bool {
    // A step is stopped where another host went away.
    let was_cut = |it: &StepRecord| matches!(it.ending, Ending::Lost | Ending::Stopped);
    pass.iter()
        .any(|it| it.role == *role && runs_tests(it) && was_cut(it))
}

fn runs_tests(step: &StepRecord) -> bool {
    step.phase == Phase::Run && !step.spawned && step.monitor.is_none()
}
