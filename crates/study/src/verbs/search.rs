//! `search`: the highest load that meets a goal, for several goals in one search.
//!
//! Refuses: a baseline on another generator.

use backsight_catalog::Catalog;
use backsight_model::{
    Arrangement, At, Benchmark, Cell, Document, StudyName, Time, Variant, VariantName, VariantRole,
    did_you_mean,
};
use backsight_policy::{Evidence, Policy as _, Request, SearchPolicy, SearchVerdict};
use backsight_report::search::SearchStudy;
use backsight_store::{Store, StudyRow};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use std::time::{Duration, Instant};

use super::{MeasuringVerb, Resumed, VerbChoices};
use crate::{
    Choices, EndedStudy, Ending, Measured, Measurer, Outcome, ResolvedPlan, SearchChoices, Session,
    SessionOptions, Study, Testbed, Unmeasurable, VerdictReport, history_study::expect_choices,
    resolved_plan::Naming, study_loop::evidence_with_figures,
};

/// The verb's name.
pub const NAME: &str = "search";

/// The entry in the registry.
pub struct Verb;

impl MeasuringVerb for Verb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn resume<'a>(
        &'a self,
        resumed: Resumed<'a>,
        options: &'a SessionOptions,
    ) -> LocalBoxFuture<'a, miette::Result<Outcome>> {
        resume(resumed, options).boxed_local()
    }

    fn judge<'a>(
        &'a self,
        store: &'a Store,
        study: &'a StudyRow,
    ) -> LocalBoxFuture<'a, miette::Result<VerdictReport>> {
        async move {
            let report = SearchReport::from_store(store, study).await?;
            Ok(VerdictReport::Search(Box::new(report)))
        }
        .boxed_local()
    }
}

fn of_search(choices: &Choices) -> Option<&SearchChoices> {
    match &choices.verb {
        VerbChoices::Search(search) => Some(search),
        _ => None,
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
) -> miette::Result<Outcome> {
    let naming = Naming::new(store, name, NAME).await?;
    let session = Session::open(&plan.arrangement, &naming.name, options).await?;
    let choices = choices(&session.cells()?, plan.seed)?;
    check_budget(&choices)?;
    let mut plan = plan;
    plan.question.choices.verb = choices.into();
    let new = plan.new_study(naming.name.clone(), &[], None)?;
    let id = naming.create(store, new, None).await?;
    let study = store.study_of(id).await.into_diagnostic()?;
    measure(&plan, store, session, study, false).await
}

async fn resume(resumed: Resumed<'_>, options: &SessionOptions) -> miette::Result<Outcome> {
    let Resumed {
        store,
        study,
        question,
        catalog,
        ..
    } = resumed;
    let baseline = of_search(&question.choices).and_then(|search| search.baseline.clone());
    let was_killed = study.was_killed();
    let mut plan = ResolvedPlan::new(question, catalog, study.seed)?;
    add_baseline(&mut plan.arrangement, baseline.as_deref())?;
    let session = Session::open(&plan.arrangement, &study.name, options).await?;
    measure(&plan, store, session, study, was_killed).await
}

async fn measure(
    plan: &ResolvedPlan,
    store: &Store,
    mut session: Session,
    row: StudyRow,
    after_kill: bool,
) -> miette::Result<Outcome> {
    let choices = expect_choices(of_search(&plan.question.choices))?;
    let policy = &choices.policy;
    let subjects: Vec<Cell> = policy.subjects.iter().map(|s| s.cell.clone()).collect();
    session
        .prepare(store, row.id, &subjects, after_kill)
        .await?;
    let cells = store.cells(row.id).await.into_diagnostic()?;
    let evidence = evidence_with_figures(store, row.id)
        .await
        .into_diagnostic()?;
    let longest = policy.phases.last().map_or(1.0, |phase| phase.seconds);
    let study = Study {
        rounds: (policy.sum / longest).ceil() as u32 * policy.repeat,
        on_failure: plan.arrangement.on_failure,
        ..Study::as_found(&row, cells, &evidence)
    };
    let budget = choices.budget.map(Duration::from_secs_f64);
    let bound = |testbed| Bounded {
        testbed,
        policy,
        budget: budget.map(|budget| (Instant::now(), budget)),
    };
    let catalog = &plan.catalog;
    let measured = session.measure_bounded(policy, study, evidence, store, catalog, bound);
    let progress = match measured.await {
        Ok(progress) => progress,
        Err(error) => {
            return Ok(Outcome::BrokeOff {
                name: row.name,
                error,
            });
        }
    };
    let study = store.study_of(row.id).await.into_diagnostic()?;
    let report = SearchReport::from_store(store, &study).await?;
    // Trials that failed were made again: the answer is there, if anything was measured.
    let ending = match &progress.verdict {
        Some(verdict) if verdict.complete && progress.measured > 0 => Ending::Success,
        Some(_) => Ending::Failed,
        None => progress.ending(),
    };
    Ok(Outcome::Ended(Box::new(EndedStudy {
        study,
        verdict: VerdictReport::Search(Box::new(report)),
        notes: Vec::new(),
        progress: progress.without_verdict(),
        ending,
    })))
}

fn check_budget(choices: &SearchChoices) -> miette::Result<()> {
    let policy = &choices.policy;
    let first = policy.phases.first().map_or(0.0, |phase| phase.seconds);
    match choices.budget {
        Some(budget) if policy.duration.is_some() && budget < first => {
            let expected = policy.left(&Evidence::default()) as f64 * first;
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
        let Some(alone) = seats.roles.get(role.as_str()) else {
            if needed {
                return Err(miette::miette!(
                    help = format!(
                        "add it to [testbed.{name}] in lab.toml: {role} = \"{}\"",
                        *seat.host
                    ),
                    "testbed `{name}` has no host for the role `{role}`"
                ));
            }
            continue;
        };
        if needed && *alone.host != *seat.host {
            return Err(miette::miette!(
                help = "the limit of another generator says nothing of this one's: take the same hosts, joined directly",
                "in testbed `{name}` the role `{role}` is on {}, and it is measured on {}",
                *alone.host,
                *seat.host
            ));
        }
        let address = lab.data_address(&alone.host, alone.data.as_ref().map(|data| data.as_str()));
        let (address, _) = address.map_err(|why| miette::miette!("testbed `{name}`: {why}"))?;
        let steps = VariantRole {
            data: Some(At::nowhere(address.to_string())),
            ..VariantRole::default()
        };
        roles.push((At::nowhere(role.to_string()), steps));
    }
    let variant = VariantName::new(testbed.as_str()).into_diagnostic()?;
    let steps = Variant {
        name: At::nowhere(variant.clone()),
        params: IndexMap::new(),
        roles,
    };
    arrangement.variants.insert(variant, steps);
    Ok(())
}

/// A testbed that is asked for no more than a budget allows.
struct Bounded<'a> {
    testbed: Testbed<'a>,
    policy: &'a SearchPolicy,
    /// Since when, and how long.
    budget: Option<(Instant, Duration)>,
}

impl Measurer for Bounded<'_> {
    fn add_cell(&mut self, cell: Cell) {
        self.testbed.add_cell(cell);
    }

    async fn measure(&mut self, request: Request) -> Result<Measured, Unmeasurable> {
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

impl<'a> From<Bounded<'a>> for Testbed<'a> {
    fn from(bounded: Bounded<'a>) -> Self {
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
        let policy = of_search(&choices).ok_or_else(incomplete)?.policy.clone();
        let documents = store.documents(study.id).await.into_diagnostic()?;
        let definitions = documents
            .iter()
            .filter(|document| document.kind == "benchmark");
        let definitions = definitions.map(|d| Document::new(d.name.clone(), d.text.as_str()));
        let catalog = Catalog::of_documents(definitions.collect())?;
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
