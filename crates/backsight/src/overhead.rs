//! `backsight overhead`: what each monitor costs, alone and together with the others.

use backsight_catalog::Catalog;
use backsight_model::{MonitorName, ResultSet, StudyName, StudyState, Time, counted, did_you_mean};
use backsight_policy::{Cost, CostCall, OverheadVerdict, Warning, Watched, same_machine};
use backsight_report::overhead::OverheadStudy;
use backsight_store::{Store, StoreError, StudyId, StudyRow};
use backsight_study::{
    Choices, Overhead as Asks, OverheadChoices, Question, Study, evidence_with_figures,
    watched_cells,
};
use miette::IntoDiagnostic as _;
use std::{num::NonZeroU32, process::ExitCode};

use crate::{
    account::Account,
    cli::Shared,
    exit_status::ExitStatus,
    files,
    run::{Asked, Session, Watching, conclude, free_name, new_study},
};

/// The verb's name in the store.
pub const VERB: &str = "overhead";

/// Fewest whole rounds that a budget should have room for.
const ENOUGH_ROUNDS: u32 = 4;

/// Arguments of `overhead`.
#[derive(Debug, clap::Args)]
pub struct Overhead {
    // Its --rounds fixes the number of rounds beforehand.
    #[command(flatten)]
    asked: Asked,
    /// The monitors, with a comma between them; `all` that run here
    #[arg(
        id = "monitor-names",
        long = "monitors",
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "all"
    )]
    monitors: Vec<String>,
    /// What the trials may take in all; else until every cost is decided, 32 rounds at most
    #[arg(long, value_name = "TIME")]
    budget: Option<Time>,
    /// A cost within this is no matter
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = crate::compare::percent)]
    margin: f64,
    /// Name of the study; else overhead-1, overhead-2, …
    #[arg(long)]
    name: Option<StudyName>,
    #[command(flatten)]
    watching: Watching,
}

impl Overhead {
    /// Measures it.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        self.watching.check()?;
        let (mut question, catalog) = self.asked.question(shared)?;
        let choose = |monitors| OverheadChoices {
            monitors,
            budget: self.budget.map(|time| time.0.as_secs_f64()),
            margin_percent: self.margin,
            looked: 0,
        };
        let (asked, all) = self.asked_for(&catalog)?;
        question.choices.overhead = Some(choose(asked.clone()));
        let arrangement = question.arrange(&catalog)?;
        crate::block_on(async {
            let store = files::open_store(shared).await?;
            let chosen = self.name.is_some();
            let mut name = match &self.name {
                Some(name) => name.clone(),
                None => free_name(&store, VERB).await?,
            };
            let mut session = Session::open(&arrangement, &name, &self.watching).await?;
            let plan = session.cells()?;
            let monitors = match those_that_run(&mut session, asked, all).await {
                Ok(monitors) => monitors,
                Err(why) => {
                    session.finish().await;
                    return Err(why);
                }
            };
            let cells = watched_cells(&plan, &monitors);
            question.choices.overhead = Some(choose(monitors));
            let arrangement = question.arrange(&catalog)?;
            let id = loop {
                let mut new =
                    new_study(&question, &catalog, (&arrangement, None), &name, &cells, 0);
                new.verb = VERB.to_owned();
                match store.create_study(&new).await {
                    // Somebody else took the name that was free a moment ago.
                    Err(StoreError::NameTaken { .. }) if !chosen => {
                        name = free_name(&store, VERB).await?
                    }
                    made => break made.into_diagnostic()?,
                }
            };
            let study = store.study_of(id).await.into_diagnostic()?;
            measure(session, &store, &study, &catalog, false).await
        })
    }

    /// The monitors that were asked for, and whether that is all there are.
    fn asked_for(&self, catalog: &Catalog) -> miette::Result<(Vec<MonitorName>, bool)> {
        let known = catalog.monitors().names();
        if self.monitors == ["all"] {
            return Ok((known, true));
        }
        let find = |name: &String| {
            let found = known.iter().find(|known| known.as_str() == name);
            found.cloned().ok_or_else(|| no_monitor(catalog, name))
        };
        let found = self.monitors.iter().map(find);
        let mut found = found.collect::<miette::Result<Vec<_>>>()?;
        let mut seen = std::collections::HashSet::new();
        found.retain(|name| seen.insert(name.clone()));
        Ok((found, false))
    }
}

/// What is said where no monitor has such a name.
pub fn no_monitor(catalog: &Catalog, name: &str) -> miette::Report {
    let names = catalog.monitors().names();
    let near = did_you_mean(name, names.iter().map(MonitorName::as_str));
    let help = near.unwrap_or_else(|| "`backsight list monitors` shows what there is".into());
    miette::miette!(help = help, "no monitor `{name}` in the catalogue")
}

/// Those of the monitors that run on these hosts; of `all` the others are named and left out.
async fn those_that_run(
    session: &mut Session,
    mut asked: Vec<MonitorName>,
    all: bool,
) -> miette::Result<Vec<MonitorName>> {
    let broken = session.conductor.try_monitors().await.into_diagnostic()?;
    if let (Some((name, why)), false) = (broken.first(), all) {
        return Err(miette::miette!(
            help = "leave it out, or mend it; `--monitors all` takes those that run here",
            "monitor `{name}` can't run: {why}"
        ));
    }
    for (name, why) in &broken {
        files::say(&format!("left out: monitor `{name}` can't run: {why}"));
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

/// Goes on with such a study, for so many rounds more where that is said.
pub async fn resume(
    store: &Store,
    mut study: StudyRow,
    question: &Question,
    (catalog, more): (&Catalog, Option<NonZeroU32>),
    watching: &Watching,
) -> miette::Result<ExitCode> {
    if let Some(more) = more {
        study.arguments = add_rounds(store, &study, more).await?;
    }
    let arrangement = question.arrange(catalog)?;
    let killed = study.was_killed();
    let session = Session::open(&arrangement, &study.name, watching).await?;
    measure(session, store, &study, catalog, killed).await
}

/// Asks for so many rounds more, at whose end it is looked at once more. That is kept, and what is now asked returned.
async fn add_rounds(store: &Store, study: &StudyRow, more: NonZeroU32) -> miette::Result<String> {
    let asks = asks(store, study).await?;
    let policy = asks
        .ok_or_else(|| miette::miette!("study `{}` asks for no cost", study.name))?
        .policy;
    let evidence = evidence_with_figures(store, study.id)
        .await
        .into_diagnostic()?;
    let begun = evidence.observations.iter().map(|seen| seen.request.round);
    let last = policy.rounds.or(begun.max()).unwrap_or(0);
    let mut choices: Choices = serde_json::from_str(&study.arguments).into_diagnostic()?;
    choices.rounds = NonZeroU32::new(last.saturating_add(more.get()));
    if let Some(overhead) = &mut choices.overhead {
        overhead.looked = policy.looks();
        overhead.budget = None;
    }
    let arguments = serde_json::to_string(&choices).into_diagnostic()?;
    let kept = store.set_arguments(study.id, &arguments).await;
    kept.into_diagnostic()?;
    Ok(arguments)
}

/// Measures what is still to do, and says what came of it.
async fn measure(
    session: Session,
    store: &Store,
    row: &StudyRow,
    catalog: &Catalog,
    after_kill: bool,
) -> miette::Result<ExitCode> {
    let asks = asks(store, row).await?;
    let asks = asks.ok_or_else(|| miette::miette!("study `{}` asks for no cost", row.name))?;
    let evidence = evidence_with_figures(store, row.id)
        .await
        .into_diagnostic()?;
    let study = Study {
        id: row.id,
        name: row.name.clone(),
        cells: store.cells(row.id).await.into_diagnostic()?,
        rounds: asks.policy.most_rounds(),
        seed: row.seed,
        on_failure: session.conductor.arrangement().on_failure,
        versions: Vec::new(),
        trials: u32::try_from(evidence.observations.len()).unwrap_or(u32::MAX),
        testbeds: Vec::new(),
        boots: None,
    };
    let told = session.told.clone();
    let policy = asks.policy.clone();
    let pursued = session
        .pursue(&policy, study, evidence, store, catalog, after_kill)
        .await?;
    let Some(pursuit) = pursued else {
        return Ok(ExitStatus::Failed.into());
    };
    if let Some(verdict) = &pursuit.verdict {
        let story = story_of(row, asks, verdict.clone());
        let account = Account::Overhead(Box::new(row.clone()), Box::new(story));
        told.verdict(&account, store).await?;
        let ended_early = policy.rounds.is_none() && verdict.rounds < ENOUGH_ROUNDS;
        if let (true, Some(round)) = (ended_early, verdict.round_took) {
            let enough = Time(round * ENOUGH_ROUNDS);
            files::say(&format!(
                "{}: only {}: a round takes about {}; to decide anything, give it --budget {enough} or more",
                row.name,
                counted(verdict.rounds as usize, "whole round"),
                Time(round)
            ));
        }
    }
    Ok(conclude(&row.name, &pursuit))
}

async fn asks(store: &Store, study: &StudyRow) -> miette::Result<Option<Asks>> {
    if study.verb != VERB {
        return Ok(None);
    }
    Asks::of(store, study).await.into_diagnostic()
}

fn story_of(study: &StudyRow, asks: Asks, verdict: OverheadVerdict) -> OverheadStudy {
    OverheadStudy {
        study: study.name.clone(),
        monitors: asks.monitors,
        cells: asks.cells,
        units: asks.units,
        verdict,
    }
}

/// What a study of this verb has found so far; `None` if it is one of another.
pub async fn story(store: &Store, study: &StudyRow) -> miette::Result<Option<OverheadStudy>> {
    let Some(asks) = asks(store, study).await? else {
        return Ok(None);
    };
    let evidence = evidence_with_figures(store, study.id)
        .await
        .into_diagnostic()?;
    let verdict = asks.policy.verdict(&evidence);
    Ok(Some(story_of(study, asks, verdict)))
}

/// What a reader of these result sets should know of the monitors that watched: those whose cost on such a machine is
/// known, by the latest study that asked for it.
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
        let asks_for_it = store.study_of(study).await.into_diagnostic()?.verb == VERB;
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
    story: OverheadStudy,
}

/// Every one, the latest first.
async fn known(store: &Store) -> miette::Result<Vec<Known>> {
    let mut studies = store.studies().await.into_diagnostic()?;
    studies.retain(|study| study.verb == VERB && study.state == StudyState::Finished);
    studies.sort_by_key(|study| std::cmp::Reverse(study.id));
    let mut found = Vec::new();
    for study in studies {
        if let Some(story) = story(store, &study).await? {
            let set = store.result_set(study.id).await.into_diagnostic()?;
            found.push(Known { set, story });
        }
    }
    Ok(found)
}

impl Known {
    fn has(&self, monitor: &MonitorName) -> bool {
        self.story.monitors.contains(monitor)
    }

    /// What its cost is, if it has one.
    fn warning(&self, monitor: &MonitorName, side: &str) -> Option<Warning> {
        let number = self
            .story
            .monitors
            .iter()
            .position(|known| known == monitor)?;
        let costs = self.story.verdict.costs.iter();
        let real: Vec<&Cost> = costs
            .filter(|cost| cost.watched_by == Watched::By(number) && cost.is_real())
            .collect();
        let sized = real.iter().filter_map(|cost| {
            let (percent, interval) = cost.percent()?;
            Some((cost, percent, interval.ok()?))
        });
        let (cost, percent, interval) = sized.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
        let cell = self.story.cells.get(cost.cell)?;
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
