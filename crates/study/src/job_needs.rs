//! Testbeds and hosts that a job measures on, and what a person means who names one of them.

use backsight_model::{Arrangement, HostName, JobNeeds, Lab, TestbedName, did_you_mean};
use backsight_store::Store;
use miette::IntoDiagnostic as _;

use crate::{ResolvedPlan, StoredQuestion, StudyTestbeds, verbs::run::RunVerb};

/// What a study of these testbeds measures on.
pub(crate) fn needs_of_testbeds(testbeds: &StudyTestbeds) -> JobNeeds {
    let all = testbeds.measured.iter().chain(&testbeds.reference);
    needs_of_arrangements(all)
}

fn needs_of_arrangements<'a>(all: impl Iterator<Item = &'a Arrangement>) -> JobNeeds {
    let mut needs = JobNeeds::default();
    for arrangement in all {
        needs.lab = lab_name(&arrangement.lab);
        needs.testbeds.push(arrangement.testbed.clone());
        needs.hosts.extend(arrangement.hosts().cloned());
    }
    needs.testbeds.sort();
    needs.testbeds.dedup();
    needs.hosts.sort();
    needs.hosts.dedup();
    needs
}

/// The name of a lab that a file describes; none of this machine alone.
fn lab_name(lab: &Lab) -> Option<backsight_model::LabName> {
    (*lab != Lab::this_machine()).then(|| lab.name.clone())
}

impl ResolvedPlan {
    /// What is measured on where `parallel` testbeds measure at once.
    ///
    /// # Errors
    /// The lab hasn't so many; the plan can't be measured on one of them.
    pub fn job_needs(&self, parallel: usize) -> miette::Result<JobNeeds> {
        let more = self.more_testbeds(parallel)?;
        Ok(needs_of_testbeds(&self.testbeds(&more)?))
    }

    /// Words for `sbatch` that the lab has for what is measured on where `parallel` testbeds measure at once.
    ///
    /// # Errors
    /// As [`ResolvedPlan::job_needs`].
    pub fn slurm_words(&self, parallel: usize) -> miette::Result<Vec<String>> {
        let more = self.more_testbeds(parallel)?;
        let testbeds = self.testbeds(&more)?;
        let all = testbeds.measured.iter().chain(&testbeds.reference);
        Ok(all
            .flat_map(|it| slurm_words_of_testbeds(&it.lab, std::slice::from_ref(&it.testbed)))
            .collect())
    }
}

/// Words for `sbatch` that a lab has for testbeds, in their order.
pub fn slurm_words_of_testbeds(lab: &Lab, testbeds: &[TestbedName]) -> Vec<String> {
    let testbeds = testbeds
        .iter()
        .filter_map(|name| lab.testbed.get(name.as_str()));
    testbeds
        .flat_map(|testbed| testbed.slurm.iter().cloned())
        .collect()
}

/// What a study measures on that goes on, or that is measured like.
///
/// # Errors
/// There is no such study, or it can't be read.
pub async fn job_needs_of_study(store: &Store, study: &str) -> miette::Result<JobNeeds> {
    let study = store.study(study).await.into_diagnostic()?;
    let StoredQuestion {
        question, catalog, ..
    } = StoredQuestion::of_study(store, &study).await?;
    let more = match question.choices.of_verb::<RunVerb>() {
        Ok(run) => run.more_testbeds.clone(),
        Err(_) => question
            .choices
            .verb
            .history()
            .map_or_else(Vec::new, |history| history.more_testbeds),
    };
    let plan = ResolvedPlan::new(question, catalog, study.seed)?;
    Ok(needs_of_testbeds(&plan.testbeds(&more)?))
}

/// Testbeds of a lab by their names, with their hosts.
///
/// # Errors
/// The lab hasn't one of them.
pub fn needs_of_named_testbeds(lab: &Lab, names: &[String]) -> miette::Result<JobNeeds> {
    let mut needs = JobNeeds {
        lab: lab_name(lab),
        ..JobNeeds::default()
    };
    for name in names {
        let one = named_resource(lab, name)?;
        if one.testbeds.is_empty() {
            return Err(miette::miette!(
                "`{name}` is a host of this lab, and no testbed"
            ));
        }
        needs.testbeds.extend(one.testbeds);
        needs.hosts.extend(one.hosts);
    }
    needs.hosts.sort();
    needs.hosts.dedup();
    Ok(needs)
}

/// The testbed of a lab that is called so, with its hosts; else the host.
///
/// # Errors
/// The lab has neither.
pub fn named_resource(lab: &Lab, name: &str) -> miette::Result<JobNeeds> {
    let mut needs = JobNeeds {
        lab: lab_name(lab),
        ..JobNeeds::default()
    };
    if let Some((testbed, of_roles)) = lab.testbed.get_key_value(name) {
        let hosts = of_roles.roles.values().flat_map(|seat| seat.hosts());
        needs.hosts = hosts.cloned().collect::<Vec<HostName>>();
        needs.hosts.sort();
        needs.hosts.dedup();
        needs.testbeds = vec![(**testbed).clone()];
        return Ok(needs);
    }
    if let Some((host, _)) = lab.host.get_key_value(name) {
        needs.hosts = vec![(**host).clone()];
        // A lab of one host has a testbed of its name.
        if lab.testbed.is_empty() && lab.host.len() == 1 {
            needs.testbeds = TestbedName::new(name).into_iter().collect();
        }
        return Ok(needs);
    }
    let testbeds = lab.testbed.keys().map(|it| it.as_str());
    let known: Vec<&str> = testbeds
        .chain(lab.host.keys().map(|it| it.as_str()))
        .collect();
    let near = did_you_mean(name, known.iter().copied());
    let help = near.unwrap_or_else(|| format!("this lab has {}", known.join(", ")));
    Err(miette::miette!(
        help = help,
        "lab `{}` has neither a testbed nor a host `{name}`",
        lab.name
    ))
}
