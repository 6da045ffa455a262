//! `overhead`: what each monitor costs, alone and together with the others.
//!
//! The cells of a study are those of the plan, each with every side: unwatched, watched by each monitor alone, by all
//! together.

use backsight_model::{
    Cell, Event, MonitorName, ResultSet, StudyName, StudyState, Time, Unit, counted,
};
use backsight_policy::{
    AskedMetric, Cost, CostCall, OverheadPolicy, Warning, Watched, same_machine,
};
use backsight_report::overhead::OverheadStudy;
use backsight_store::{Store, StudyId, StudyRow};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use miette::IntoDiagnostic as _;
use std::{num::NonZeroU32, time::Duration};

use super::{MeasuringVerb, Resumed, VerbChoices};
use crate::{
    Choices, EndedStudy, Outcome, OverheadChoices, ResolvedPlan, Session, SessionOptions, Study,
    VerdictReport, history_study::expect_choices, resolved_plan::Naming,
    study_loop::evidence_with_figures,
};

/// Fewest whole rounds that a budget should have room for.
const ENOUGH_ROUNDS: u32 = 4;

/// The verb's name.
pub const NAME: &str = "overhead";

/// The entry in the registry.
pub struct Verb;

impl MeasuringVerb for Verb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn takes_rounds(&self) -> bool {
        true
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
            let report = judge(store, study).await?;
            Ok(VerdictReport::Overhead(Box::new(report)))
        }
        .boxed_local()
    }
}

fn of_overhead(choices: &Choices) -> Option<&OverheadChoices> {
    match &choices.verb {
        VerbChoices::Overhead(overhead) => Some(overhead),
        _ => None,
    }
}

/// The monitors whose cost is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedMonitors {
    /// Their names.
    pub names: Vec<MonitorName>,
    /// Whether those that can't run here are left out, and not refused.
    pub leave_out_broken: bool,
}

/// Measures what monitors cost.
///
/// # Errors
/// A monitor can't run, a host can't be had, or the store refuses.
pub async fn begin(
    plan: ResolvedPlan,
    asked: AskedMonitors,
    store: &Store,
    name: Option<StudyName>,
    options: &SessionOptions,
) -> miette::Result<Outcome> {
    let naming = Naming::new(store, name, NAME).await?;
    let mut session = Session::open(&plan.arrangement, &naming.name, options).await?;
    let cells = session.cells()?;
    let monitors = match monitors_that_run(&mut session, asked).await {
        Ok(monitors) => monitors,
        Err(why) => {
            session.finish().await;
            return Err(why);
        }
    };
    let cells = watched_cells(&cells, &monitors);
    let chosen = expect_choices(of_overhead(&plan.question.choices))?;
    let plan = plan.with_verb(OverheadChoices {
        monitors,
        ..chosen.clone()
    })?;
    let new = plan.new_study(naming.name.clone(), &cells, None)?;
    let id = naming.create(store, new, None).await?;
    let study = store.study_of(id).await.into_diagnostic()?;
    measure(&plan, store, session, study, false).await
}

/// The monitors that run on these hosts.
async fn monitors_that_run(
    session: &mut Session,
    asked: AskedMonitors,
) -> miette::Result<Vec<MonitorName>> {
    let AskedMonitors {
        names: mut asked,
        leave_out_broken,
    } = asked;
    let broken = session.conductor.try_monitors().await.into_diagnostic()?;
    if let (Some((name, why)), false) = (broken.first(), leave_out_broken) {
        return Err(miette::miette!(
            help = "leave it out, or mend it; `--monitors all` takes those that run here",
            "monitor `{name}` can't run: {why}"
        ));
    }
    for (name, why) in &broken {
        session.events.tell(&Event::Note {
            message: format!("left out: monitor `{name}` can't run: {why}"),
        });
    }
    asked.retain(|name| !broken.contains_key(name));
    session.conductor.leave_out_monitors(broken.keys());
    if asked.is_empty() {
        return Err(miette::miette!(
            "no monitor can run here: there is no cost to find"
        ));
    }
    Ok(asked)
}

async fn resume(resumed: Resumed<'_>, options: &SessionOptions) -> miette::Result<Outcome> {
    let Resumed {
        store,
        mut study,
        question,
        catalog,
        more,
        ..
    } = resumed;
    if let Some(more) = more {
        study.arguments = add_rounds(store, &study, more).await?;
    }
    let was_killed = study.was_killed();
    let plan = ResolvedPlan::new(question, catalog, study.seed)?;
    let session = Session::open(&plan.arrangement, &study.name, options).await?;
    measure(&plan, store, session, study, was_killed).await
}

/// Stores that so many more rounds are asked for, at whose end it is looked at once more; the new arguments.
async fn add_rounds(store: &Store, study: &StudyRow, more: NonZeroU32) -> miette::Result<String> {
    let policy = OverheadQuestion::from_store(store, study).await?.policy;
    let evidence = evidence_with_figures(store, study.id)
        .await
        .into_diagnostic()?;
    let begun = evidence.observations.iter().map(|seen| seen.request.round);
    let last = policy.rounds.or(begun.max()).unwrap_or(0);
    let mut choices = Choices::from_study(study).into_diagnostic()?;
    choices.rounds = NonZeroU32::new(last.saturating_add(more.get()));
    if let VerbChoices::Overhead(overhead) = &mut choices.verb {
        overhead.looked = policy.looks();
        overhead.budget = None;
    }
    let arguments = serde_json::to_string(&choices).into_diagnostic()?;
    let stored = store.set_arguments(study.id, &arguments).await;
    stored.into_diagnostic()?;
    Ok(arguments)
}

async fn measure(
    plan: &ResolvedPlan,
    store: &Store,
    mut session: Session,
    row: StudyRow,
    after_kill: bool,
) -> miette::Result<Outcome> {
    let policy = OverheadQuestion::from_store(store, &row).await?.policy;
    let evidence = evidence_with_figures(store, row.id)
        .await
        .into_diagnostic()?;
    let cells = store.cells(row.id).await.into_diagnostic()?;
    session.prepare(store, row.id, &cells, after_kill).await?;
    let study = Study {
        rounds: policy.most_rounds(),
        on_failure: plan.arrangement.on_failure,
        ..Study::as_found(&row, cells, &evidence)
    };
    let measured = session.measure_as_found(&policy, study, evidence, store, &plan.catalog);
    let progress = match measured.await {
        Ok(progress) => progress,
        Err(error) => {
            return Ok(Outcome::BrokeOff {
                name: row.name,
                error,
            });
        }
    };
    let mut notes = Vec::new();
    if let Some(verdict) = &progress.verdict {
        let ended_early = policy.rounds.is_none() && verdict.rounds < ENOUGH_ROUNDS;
        if let (true, Some(round)) = (ended_early, verdict.round_took) {
            let enough = Time(round * ENOUGH_ROUNDS);
            notes.push(format!(
                "{}: only {}: a round takes about {}; to decide anything, give it --budget {enough} or more",
                row.name,
                counted(verdict.rounds as usize, "whole round"),
                Time(round)
            ));
        }
    }
    let verdict = match &progress.verdict {
        Some(_) => {
            let report = judge(store, &row).await?;
            VerdictReport::Overhead(Box::new(report))
        }
        None => VerdictReport::None,
    };
    let ending = progress.ending();
    Ok(Outcome::Ended(Box::new(EndedStudy {
        study: row,
        verdict,
        notes,
        progress: progress.without_verdict(),
        ending,
    })))
}

/// The verdict of a study as its evidence stands.
async fn judge(store: &Store, study: &StudyRow) -> miette::Result<OverheadStudy> {
    let question = OverheadQuestion::from_store(store, study).await?;
    let evidence = evidence_with_figures(store, study.id)
        .await
        .into_diagnostic()?;
    Ok(OverheadStudy {
        study: study.name.clone(),
        verdict: question.policy.verdict(&evidence),
        monitors: question.monitors,
        cells: question.cells,
        units: question.units,
    })
}

/// Warnings about the monitors that watched these result sets: those whose cost on such a machine is known, by the latest
/// study of it.
///
/// # Errors
/// The store's own.
pub async fn known_costs<'a>(
    store: &Store,
    sets: impl IntoIterator<Item = &'a ResultSet>,
) -> miette::Result<Vec<Warning>> {
    let mut warnings = Vec::new();
    let mut found: Option<Vec<Known>> = None;
    for set in sets {
        let study = StudyId(set.study);
        let watched = store.monitors(study).await.into_diagnostic()?;
        // A study of the costs themselves has unwatched sides, and says which is which.
        let asks_for_it = store.study_of(study).await.into_diagnostic()?.verb == NAME;
        if watched.is_empty() || asks_for_it {
            continue;
        }
        let known = match &mut found {
            Some(known) => known,
            none => none.insert(known(store).await?),
        };
        for monitor in watched {
            let latest = known
                .iter()
                .find(|known| known.has(&monitor) && same_machine(&known.set, set));
            warnings.extend(latest.and_then(|known| known.warning(&monitor, &set.name)));
        }
    }
    Ok(warnings)
}

/// A finished study of costs.
struct Known {
    set: ResultSet,
    report: OverheadStudy,
}

/// Every one, the latest first.
async fn known(store: &Store) -> miette::Result<Vec<Known>> {
    let mut studies = store.studies().await.into_diagnostic()?;
    studies.retain(|study| study.verb == NAME && study.state == StudyState::Finished);
    studies.sort_by_key(|study| std::cmp::Reverse(study.id));
    let mut found = Vec::new();
    for study in studies {
        let report = judge(store, &study).await?;
        let set = store.result_set(study.id).await.into_diagnostic()?;
        found.push(Known { set, report });
    }
    Ok(found)
}

impl Known {
    fn has(&self, monitor: &MonitorName) -> bool {
        self.report.monitors.contains(monitor)
    }

    /// What its cost is, if it has one.
    fn warning(&self, monitor: &MonitorName, side: &str) -> Option<Warning> {
        let number = self
            .report
            .monitors
            .iter()
            .position(|known| known == monitor)?;
        let costs = self.report.verdict.costs.iter();
        let real: Vec<&Cost> = costs
            .filter(|cost| cost.watched_by == Watched::By(number) && cost.is_real())
            .collect();
        let sized = real.iter().filter_map(|cost| {
            let (percent, interval) = cost.percent()?;
            Some((cost, percent, interval.ok()?))
        });
        let (cost, percent, interval) = sized.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
        let cell = self.report.cells.get(cost.cell)?;
        Some(Warning::Watched {
            side: side.to_owned(),
            monitor: monitor.clone(),
            row: format!("{cell} {}", cost.metric),
            percent,
            interval,
            worse: cost.call == CostCall::Costs,
            more: real.len() - 1,
            study: self.set.study_name.clone(),
        })
    }
}

/// The question of a study of costs.
#[derive(Debug, Clone, PartialEq)]
pub struct OverheadQuestion {
    /// Its policy.
    pub policy: OverheadPolicy,
    /// The monitors, by number.
    pub monitors: Vec<MonitorName>,
    /// The cells of the plan.
    pub cells: Vec<Cell>,
    /// The units of each cell's metrics, in the order of the policy's.
    pub units: Vec<Vec<Unit>>,
}

impl OverheadQuestion {
    /// Reads the question of a study.
    ///
    /// # Errors
    /// The store's own, or a study of another verb.
    pub async fn from_store(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        let choices = Choices::from_study(study).into_diagnostic()?;
        let asked = of_overhead(&choices)
            .ok_or_else(|| miette::miette!("study `{}` asks for no cost", study.name))?
            .clone();
        let metrics = store.declared_metrics(study.id).await.into_diagnostic()?;
        let all = store.cells(study.id).await.into_diagnostic()?;
        let unwatched = |cell: &&Cell| cell.monitors.as_ref().is_some_and(Vec::is_empty);
        let cells: Vec<Cell> = all
            .iter()
            .filter(unwatched)
            .map(|cell| Cell {
                monitors: None,
                ..cell.clone()
            })
            .collect();
        let of_cell = |cell: &Cell| metrics.get(&cell.benchmark).cloned().unwrap_or_default();
        let policy = OverheadPolicy {
            cells: cells
                .iter()
                .map(|cell| {
                    let shapes = of_cell(cell).into_iter();
                    let asked = shapes.map(|shape| AskedMetric {
                        name: shape.name,
                        better: shape.better,
                        decides: shape.primary,
                    });
                    asked.collect()
                })
                .collect(),
            monitors: asked.monitors.len(),
            rounds: choices.rounds.map(NonZeroU32::get),
            looked: asked.looked,
            budget: asked
                .budget
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            margin_percent: asked.margin_percent,
        };
        let units = cells
            .iter()
            .map(|cell| of_cell(cell).into_iter().map(|shape| shape.unit).collect());
        Ok(Self {
            policy,
            monitors: asked.monitors,
            units: units.collect(),
            cells,
        })
    }
}

/// The cells of a study of what watching costs, as [`OverheadPolicy`] numbers them.
pub fn watched_cells(plan: &[Cell], monitors: &[MonitorName]) -> Vec<Cell> {
    let policy = OverheadPolicy {
        cells: Vec::new(),
        monitors: monitors.len(),
        rounds: None,
        looked: 0,
        budget: None,
        margin_percent: 0.0,
    };
    let sides = policy.sides();
    let watched = |side: &Watched| match side {
        Watched::Not => Vec::new(),
        Watched::By(number) => monitors.get(*number).cloned().into_iter().collect(),
        Watched::Together => monitors.to_vec(),
    };
    let of_cell = |cell: &Cell| -> Vec<Cell> {
        let with = |side| Cell {
            monitors: Some(watched(side)),
            ..cell.clone()
        };
        sides.iter().map(with).collect()
    };
    plan.iter().flat_map(of_cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use indexmap::IndexMap;

    #[test]
    fn every_cell_is_there_unwatched_with_each_monitor_and_with_all() {
        let cell = Cell {
            benchmark: "b".parse().unwrap(),
            params: IndexMap::new(),
            chosen: Vec::new(),
            variant: "default".parse().unwrap(),
            monitors: None,
        };
        let names = ["one", "two"].map(|name| name.parse().unwrap());
        let cells = watched_cells(&[cell.clone(), cell.clone()], &names);
        let shown: Vec<String> = cells.iter().map(ToString::to_string).collect();
        let of_one = [
            "b unwatched",
            "b with one",
            "b with two",
            "b with 2 monitors",
        ];
        assert_eq!(shown, [of_one, of_one].concat());
        assert_eq!(watched_cells(&[cell], &names[..1]).len(), 2);
    }
}
