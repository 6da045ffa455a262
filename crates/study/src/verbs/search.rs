//! `search`: the highest load that meets a goal, for several goals in one search.

use backsight_catalog::Catalog;
use backsight_model::{
    Arrangement, Benchmark, Cell, HostName, Located, Seat, StudyName, Time, Variant, VariantName,
    VariantRole, did_you_mean,
};
use backsight_policy::{Evidence, Policy as _, Request, SearchPolicy, SearchVerdict};
use backsight_report::search::SearchStudy;
use backsight_store::{Store, StudyDocument, StudyRow};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use std::time::{Duration, Instant};

use super::{Resumed, Verb};
use crate::{
    Choices, EndedStudy, Measurement, Measurer, Progress, ResolvedPlan, SearchChoices,
    SessionOptions, StudyEnding, StudyOutcome, TestbedMeasurer, Unmeasurable, VerdictReport,
    study_as_found::{LeasedPlan, StudyAsFound},
    study_loop::evidence_with_figures,
};

/// The verb.
pub struct SearchVerb;

impl Verb for SearchVerb {
    const NAME: &'static str = "search";
    type Choices = SearchChoices;

    async fn resume(
        resumed: Resumed<'_>,
        options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        let choices = resumed.question.choices.of_verb::<Self>()?;
        let baseline = choices.baseline.clone();
        let adapt =
            |plan: &mut ResolvedPlan| add_baseline(&mut plan.arrangement, baseline.as_deref());
        measure(StudyAsFound::resume(resumed, options, adapt).await?).await
    }

    async fn judge(store: &Store, study: &StudyRow) -> miette::Result<VerdictReport> {
        let report = SearchReport::from_store(store, study).await?;
        Ok(VerdictReport::Search(Box::new(report)))
    }
}

/// Searches. `choices` makes the choices of the plan's cells and its seed, which depend on the machines.
///
/// # Errors
/// The choices don't fit the cells, a host can't be had, or the store refuses.
pub async fn begin(
    plan: ResolvedPlan,
    choices: impl FnOnce(&[Cell], u32) -> miette::Result<SearchChoices>,
    store: &Store,
    name: Option<StudyName>,
    options: &SessionOptions,
) -> miette::Result<StudyOutcome> {
    let mut leased = LeasedPlan::open(plan, SearchVerb::NAME, store, name, options).await?;
    let choices = choices(&leased.cells, leased.plan.seed)?;
    check_budget(&choices)?;
    leased.plan.question.choices.verb = choices.into();
    measure(leased.create_study(&[]).await?).await
}

async fn measure(study: StudyAsFound<'_>) -> miette::Result<StudyOutcome> {
    let store = study.store;
    let choices = study.plan.question.choices.of_verb::<SearchVerb>()?.clone();
    let policy = &choices.policy;
    let subjects: Vec<Cell> = policy.subjects.iter().map(|s| s.cell.clone()).collect();
    let longest = policy.phases.last().map_or(1.0, |phase| phase.seconds);
    let rounds = (policy.sum / longest).ceil() as u32 * policy.repeat;
    let budget = choices.budget.map(Duration::from_secs_f64);
    let bounded = |testbed| Bounded {
        testbed,
        policy,
        budget: budget.map(|budget| (Instant::now(), budget)),
    };
    let conclude = async |row: StudyRow, progress: Progress<SearchVerdict>| {
        // Trials that failed were made again: the answer is there, if anything was measured.
        let ending = match &progress.verdict {
            Some(verdict) if verdict.complete && progress.measured > 0 => StudyEnding::Success,
            Some(_) => StudyEnding::Failed,
            None => progress.ending(),
        };
        let verdict = SearchVerb::judge(store, &row).await?;
        Ok(EndedStudy::new(row, verdict, progress, ending))
    };
    study
        .measure_through(bounded, &subjects, policy, rounds, conclude)
        .await
}

fn check_budget(choices: &SearchChoices) -> miette::Result<()> {
    let policy = &choices.policy;
    let first = policy.phases.first().map_or(0.0, |phase| phase.seconds);
    match choices.budget {
        Some(budget) if policy.duration.is_some() && budget < first => {
            let expected = policy.remaining_trials(&Evidence::default()) as f64 * first;
            Err(miette::miette!(
                help = format!(
                    "give it about {} or more",
                    Time(Duration::from_secs_f64(expected))
                ),
                "a budget of {} is too small for the first trial, which takes {first} s",
                Time(Duration::from_secs_f64(budget))
            ))
        }
        _ => Ok(()),
    }
}

/// Makes the baseline a variant, where it is a testbed: the same hosts by other addresses. Another generator's limit would
/// say nothing of this one's.
///
/// # Errors
/// There is no such variant or testbed, or it is on other hosts.
pub fn add_baseline(arrangement: &mut Arrangement, baseline: Option<&str>) -> miette::Result<()> {
    let Some(name) = baseline else { return Ok(()) };
    if arrangement.variants.contains_key(name) {
        return Ok(());
    }
    let lab = &arrangement.lab;
    let Some((testbed, seats)) = lab
        .testbed
        .iter()
        .find(|(testbed, _)| testbed.as_str() == name)
    else {
        let variants = arrangement.variants.keys().map(|variant| variant.as_str());
        let known: Vec<&str> = variants
            .chain(lab.testbed.keys().map(|testbed| testbed.as_str()))
            .filter(|known| *known != "default")
            .collect();
        let help = did_you_mean(name, known.iter().copied()).unwrap_or_else(|| match known.len() {
            0 => "add a variant to the plan, or a testbed to the lab, that is without the device"
                .into(),
            _ => format!("there are: {}", known.join(", ")),
        });
        return Err(miette::miette!(
            help = help,
            "`{name}` is neither a variant of this plan nor a testbed of this lab"
        ));
    };
    let mut roles = Vec::new();
    for (role, seat) in &arrangement.seats {
        let needed = arrangement
            .benchmarks
            .values()
            .any(|b| b.roles.iter().any(|r| **r == *role));
        let Some(baseline) = seats.roles.get(role.as_str()) else {
            if needed {
                return Err(miette::miette!(
                    help = format!(
                        "add it to [testbed.{name}] in lab.toml: {role} = \"{}\"",
                        seat.first().host.as_str()
                    ),
                    "testbed `{name}` has no host for the role `{role}`"
                ));
            }
            continue;
        };
        if needed && !baseline.hosts().eq(seat.hosts()) {
            let list = |seat: &Seat| -> String {
                let hosts: Vec<&str> = seat.hosts().map(HostName::as_str).collect();
                hosts.join(", ")
            };
            return Err(miette::miette!(
                help = "the limit of another generator says nothing of this one's: take the same hosts, joined directly",
                "in testbed `{name}` the role `{role}` is on {}, and it is measured on {}",
                list(baseline),
                list(seat)
            ));
        }
        let [alone] = baseline.instances() else {
            return Err(miette::miette!(
                help = "add a variant to the plan that is without the device",
                "in testbed `{name}` several hosts play the role `{role}`, each with an address of its own: such a testbed is no baseline"
            ));
        };
        let address = lab.data_address(&alone.host, alone.data.as_ref().map(|data| data.as_str()));
        let (address, _) = address.map_err(|why| miette::miette!("testbed `{name}`: {why}"))?;
        let steps = VariantRole {
            data: Some(Located::nowhere(address.to_string())),
            ..VariantRole::default()
        };
        roles.push((Located::nowhere(role.to_string()), steps));
    }
    let variant = VariantName::new(testbed.as_str()).into_diagnostic()?;
    let steps = Variant {
        name: Located::nowhere(variant.clone()),
        params: IndexMap::new(),
        prepare: None,
        roles,
    };
    arrangement.variants.insert(variant, steps);
    Ok(())
}

/// A testbed that is asked for no more than a budget allows.
struct Bounded<'a> {
    testbed: TestbedMeasurer,
    policy: &'a SearchPolicy,
    /// Since when, and how long.
    budget: Option<(Instant, Duration)>,
}

impl Measurer for Bounded<'_> {
    fn add_cell(&mut self, cell: Cell) {
        self.testbed.add_cell(cell);
    }

    async fn measure(&mut self, request: Request) -> Result<Measurement, Unmeasurable> {
        if let Some((since, budget)) = self.budget {
            let length = self.policy.duration.as_ref().and_then(|duration| {
                let value = self.testbed.cells.get(request.cell)?.params.get(duration)?;
                Duration::try_from_secs_f64(value.number()?).ok()
            });
            if since.elapsed() + length.unwrap_or_default() > budget {
                return Err(Unmeasurable(format!(
                    "the budget of {} is used up",
                    Time(budget)
                )));
            }
        }
        self.testbed.measure(request).await
    }
}

impl From<Bounded<'_>> for TestbedMeasurer {
    fn from(bounded: Bounded<'_>) -> Self {
        bounded.testbed
    }
}

/// A search, as its evidence stands.
pub struct SearchReport {
    /// The study's name.
    pub name: StudyName,
    /// The policy.
    pub policy: SearchPolicy,
    /// The benchmark that is searched.
    pub benchmark: Benchmark,
    /// Where it stands.
    pub verdict: SearchVerdict,
}

impl SearchReport {
    async fn from_store(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        let choices = Choices::from_study(study).into_diagnostic()?;
        let incomplete = || miette::miette!("study `{}` doesn't say what it searches", study.name);
        let policy = choices.of_verb::<SearchVerb>()?.policy.clone();
        let documents = store.documents(study.id).await.into_diagnostic()?;
        let definitions = StudyDocument::of_kind(&documents, "benchmark");
        let catalog = Catalog::from_documents(definitions.collect())?;
        let name = &policy
            .subjects
            .first()
            .ok_or_else(incomplete)?
            .cell
            .benchmark;
        let benchmark = catalog
            .find(name)?
            .ok_or_else(incomplete)?
            .benchmark
            .clone();
        let evidence = evidence_with_figures(store, study.id)
            .await
            .into_diagnostic()?;
        let verdict = policy.verdict(&evidence);
        Ok(Self {
            name: study.name.clone(),
            policy,
            benchmark,
            verdict,
        })
    }

    /// The study with its verdict, as it is reported.
    pub fn study(&self) -> SearchStudy<'_> {
        SearchStudy::new(&self.name, &self.policy, &self.benchmark, &self.verdict)
    }
}
