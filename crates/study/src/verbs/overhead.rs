//! `overhead`: what each monitor costs, alone and together with the others.
//!
//! The cells of a study are those of the plan, each with every side: unwatched, watched by each monitor alone, by all
//! together.

use backsight_model::{
    Cell, Event, MonitorName, ResultSet, StudyName, StudyState, Time, Unit, counted,
};
use backsight_policy::{
    CostCall, MonitorCost, MonitorSet, OverheadPolicy, OverheadVerdict, RequestedMetric, Warning,
    same_machine,
};
use backsight_report::overhead::OverheadStudy;
use backsight_store::{Store, StudyId, StudyRow};
use miette::IntoDiagnostic as _;
use std::{num::NonZeroU32, time::Duration};

use super::{Resumed, Verb, VerbChoices};
use crate::{
    Choices, EndedStudy, OverheadChoices, Progress, ResolvedPlan, Session, SessionOptions,
    StudyOutcome, VerdictReport,
    study_as_found::{LeasedPlan, StudyAsFound},
    study_loop::evidence_with_figures,
};

/// Fewest whole rounds that a budget should have room for.
const ENOUGH_ROUNDS: u32 = 4;

/// The verb.
pub struct OverheadVerb;

impl Verb for OverheadVerb {
    const NAME: &'static str = "overhead";
    const TAKES_ROUNDS: bool = true;
    type Choices = OverheadChoices;

    async fn resume(
        mut resumed: Resumed<'_>,
        options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        if let Some(more) = resumed.more {
            resumed.study.arguments = add_rounds(resumed.store, &resumed.study, more).await?;
        }
        measure(StudyAsFound::resume(resumed, options, |_| Ok(())).await?).await
    }

    async fn judge(store: &Store, study: &StudyRow) -> miette::Result<VerdictReport> {
        let report = judge(store, study).await?;
        Ok(VerdictReport::Overhead(Box::new(report)))
    }
}

/// The monitors whose cost is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedMonitors {
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
    asked: RequestedMonitors,
    store: &Store,
    name: Option<StudyName>,
    options: &SessionOptions,
) -> miette::Result<StudyOutcome> {
    let mut leased = LeasedPlan::open(plan, OverheadVerb::NAME, store, name, options).await?;
    let monitors = match monitors_that_run(&mut leased.session, asked).await {
        Ok(monitors) => monitors,
        Err(why) => {
            leased.session.finish().await;
            return Err(why);
        }
    };
    let cells = watched_cells(&leased.cells, &monitors);
    leased.plan.question.choices.monitors = monitors;
    measure(leased.create_study(&cells).await?).await
}

/// The monitors that run on these hosts.
async fn monitors_that_run(
    session: &mut Session,
    asked: RequestedMonitors,
) -> miette::Result<Vec<MonitorName>> {
    let RequestedMonitors {
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
        session.events.emit(&Event::Note {
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
    let overhead = choices.of_verb::<OverheadVerb>()?.clone();
    choices.verb = VerbChoices::from(OverheadChoices {
        looked: policy.looks(),
        budget: None,
        ..overhead
    });
    let arguments = serde_json::to_string(&choices).into_diagnostic()?;
    let stored = store.set_arguments(study.id, &arguments).await;
    stored.into_diagnostic()?;
    Ok(arguments)
}

async fn measure(study: StudyAsFound<'_>) -> miette::Result<StudyOutcome> {
    let store = study.store;
    let policy = OverheadQuestion::from_store(store, &study.row)
        .await?
        .policy;
    let cells = store.cells(study.row.id).await.into_diagnostic()?;
    let conclude = async |row, progress| conclude(store, row, &policy, progress).await;
    let rounds = policy.most_rounds();
    study.measure(&cells, &policy, rounds, conclude).await
}

async fn conclude(
    store: &Store,
    study: StudyRow,
    policy: &OverheadPolicy,
    progress: Progress<OverheadVerdict>,
) -> miette::Result<EndedStudy> {
    let mut notes = Vec::new();
    if let Some(verdict) = &progress.verdict {
        let ended_early = policy.rounds.is_none() && verdict.rounds < ENOUGH_ROUNDS;
        if let (true, Some(round)) = (ended_early, verdict.round_took) {
            let enough = Time(round * ENOUGH_ROUNDS);
            notes.push(format!(
                "{}: only {}: a round takes about {}; to decide anything, give it --budget {enough} or more",
                study.name,
                counted(verdict.rounds as usize, "whole round"),
                Time(round)
            ));
        }
    }
    let verdict = match &progress.verdict {
        Some(_) => OverheadVerb::judge(store, &study).await?,
        None => VerdictReport::None,
    };
    let ending = progress.ending();
    Ok(EndedStudy {
        notes,
        ..EndedStudy::new(study, verdict, progress, ending)
    })
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
        let asks_for_it = store.study_of(study).await.into_diagnostic()?.verb == OverheadVerb::NAME;
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
    let studies = store.studies_of_verb(OverheadVerb::NAME).await;
    let mut studies = studies.into_diagnostic()?;
    studies.retain(|study| study.state == StudyState::Finished);
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
        let real: Vec<&MonitorCost> = costs
            .filter(|cost| cost.watched_by == MonitorSet::By(number) && cost.is_real())
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
        let asked = choices.of_verb::<OverheadVerb>()?.clone();
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
                    let asked = shapes.map(|shape| RequestedMetric {
                        name: shape.name,
                        better: shape.better,
                        decides: shape.primary,
                    });
                    asked.collect()
                })
                .collect(),
            monitors: choices.monitors.len(),
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
            monitors: choices.monitors.clone(),
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
    let watched = |side: &MonitorSet| match side {
        MonitorSet::Not => Vec::new(),
        MonitorSet::By(number) => monitors.get(*number).cloned().into_iter().collect(),
        MonitorSet::Together => monitors.to_vec(),
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
