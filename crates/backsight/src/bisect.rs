//! `backsight bisect`: the changes along a history that made a metric worse or better, each with its size and how sure it
//! is; and whether taking them back undoes them.
//!
//! Refuses: a metric that several cells have, unless it is said which; and to go on when an end can't be measured.

use backsight_history::Diff;
use backsight_model::{
    Document, Every, HistoryCell, HostName, MetricName, Range, StudyHistory, StudyName, TargetName,
    TestbedName, Time, Version, shell_quoted,
};
use backsight_policy::{Accepted, BisectEnd, BisectPolicy, BisectVerdict, BisectedChange, Place};
use backsight_report::bisect::{BisectStudy, Holds};
use backsight_stats::{
    Confidence, Interval,
    culprits::{Aim, Estimate},
};
use backsight_store::{Store, StudyRow};
use backsight_study::{AlongChoices, AttemptChoices, BisectChoices, Choices, evidence_before};
use jiff::Timestamp;
use miette::IntoDiagnostic as _;
use std::{num::NonZeroU32, process::ExitCode, time::Duration};

use crate::{
    account,
    along::{AlongVerb, Asking, Concluded, Ground, Site, chosen},
    attempt::{Attempting, MOST_PASSES, known_metrics, side_by_side},
    cli::Shared,
    compare::{confidence, percent},
    exit_status::ExitStatus,
    files,
    run::{Asked, Posed, Watching, conclude, free_name},
    target::{Opened, resolved},
};

/// The verb's name in the store.
pub const VERB: &str = "bisect";

/// Measurements at most: more would not be asked by anybody who waits for it.
const MOST: usize = 5000;
/// Most culprits that are measured against what is before them.
const MOST_VERIFIED: usize = 10;
/// What each of these measurements may take at least.
const LEAST_VERIFIED: Duration = Duration::from_secs(30);

/// Arguments of `bisect`.
#[derive(Debug, clap::Args)]
pub struct Bisect {
    #[command(flatten)]
    asked: Asked,
    /// The target: its file, or the NAME of NAME.toml beside the plan or in targets/ there
    #[arg(long, value_name = "NAME|FILE")]
    target: String,
    /// The oldest version: a version, a commit, a tag or a date
    #[arg(long, value_name = "VERSION")]
    good: String,
    /// The newest version
    #[arg(long, value_name = "VERSION", default_value = "HEAD")]
    bad: String,
    /// The metric: `time` or `work.time`. Needn't be said where there is only one
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// The cell, as `show` names it, where several have the metric
    #[arg(long, value_name = "CELL")]
    cell: Option<String>,
    /// Which versions are looked at: all, release, day, "10 commits"
    #[arg(long, value_name = "STEP", default_value = "all")]
    every: Every,
    /// How sure the answer is to be, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence)]
    confidence: Confidence,
    /// What builds, boots and trials may take together
    #[arg(long, value_name = "TIME")]
    budget: Option<Time>,
    /// A change is known closely enough when it is one of so many versions
    #[arg(long, value_name = "VERSIONS", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    resolution: u32,
    /// Smaller changes than this don't count. Unless said, a change that shows counts however small it is, as far as the noise
    /// lets see it at a fair price; and where none shows, the search ends when changes of 1 % and more are ruled out
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    smallest: Option<f64>,
    /// Look for changes that cancel each other as well
    #[arg(long)]
    cancelling: bool,
    /// Trials of a measurement, of which the mean is taken; a measurement is one boot where the target boots. Unless said,
    /// one; or the best of as many as tells most, where the noise turns out to be on one side only
    #[arg(long, value_name = "N")]
    trials: Option<NonZeroU32>,
    /// Sample so many layouts in memory of each version: the answer holds for the source, not for one layout
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    relink: Option<u32>,
    /// Measure on so many testbeds of the lab at once: the plan's own and others that have the same roles on hosts of the
    /// same kinds. What their machines differ by isn't taken for a change
    #[arg(long, value_name = "TESTBEDS", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=64))]
    parallel: u32,
    /// Name the changes, and don't measure again whether taking them back undoes them; which takes at most as long again
    #[arg(long)]
    no_verify: bool,
    /// Try again what didn't build or boot in an earlier study
    #[arg(long)]
    retry: bool,
    /// Build nothing while other machines measure whether taking them back undoes them
    #[arg(long)]
    no_builds_ahead: bool,
    /// Name of the study; else bisect-1, bisect-2, …
    #[arg(long)]
    name: Option<StudyName>,
    /// Seed of what is drawn; else the plan's, else drawn
    #[arg(long)]
    seed: Option<u32>,
    #[command(flatten)]
    watching: Watching,
}

impl Bisect {
    /// Measures until the changes are known.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        self.watching.check()?;
        let mut posed = self.asked.posed(shared, true, self.seed)?;
        let seed = posed.seed;
        let metric = self.metric(&posed.metrics())?;
        let beside = self.beside(&posed)?;
        crate::block_on(async {
            let opened = Opened::named(shared, &self.target, self.asked.plan()).await?;
            let layouts = opened.sampled_layouts(self.relink)?;
            let versions = self.versions(&opened).await?;
            posed.question.choices.bisect = Some(BisectChoices {
                along: AlongChoices {
                    folder: opened.folder.clone(),
                    layouts,
                    retry: self.retry,
                    builds_ahead: false,
                    beside,
                },
                metric,
                cell: self.cell.clone(),
                trials: self.trials.map(NonZeroU32::get),
                budget: self.budget.map(|budget| budget.0),
                confidence: self.confidence.share(),
                resolution: self.resolution as usize,
                smallest: self.smallest.map(|percent| percent / 100.0),
                cancelling: self.cancelling,
                command: command_line(),
            });
            let store = files::open_store(shared).await?;
            let name = match &self.name {
                Some(name) => name.clone(),
                None => free_name(&store, VERB).await?,
            };
            let site = Site::open(opened.clone(), versions, Vec::new()).await?;
            let status = Asking::<Bisecting>::of(posed)
                .begin(&store, site, Some(name.clone()), &self.watching)
                .await?;
            if !self.no_verify {
                let study = store.study(name.as_str()).await.into_diagnostic()?;
                let verification = Verification {
                    asked: &self,
                    shared,
                    store: &store,
                    opened,
                    account: Account::of(&store, &study).await?,
                    name,
                    seed,
                };
                verification.make().await?;
            }
            Ok(status)
        })
    }

    /// The metric's name; the only one if none was named.
    fn metric(&self, known: &[(String, String)]) -> miette::Result<String> {
        match (&self.metric, known) {
            (Some(metric), _) => {
                known_metrics(std::slice::from_ref(metric), known)?;
                Ok(metric.clone())
            }
            (None, [(benchmark, metric)]) => Ok(format!("{benchmark}.{metric}")),
            (None, _) => {
                let names: Vec<String> = known.iter().map(|(b, m)| format!("{b}.{m}")).collect();
                Err(miette::miette!(
                    help = format!("--metric is one of: {}", names.join(", ")),
                    "say which metric became worse"
                ))
            }
        }
    }

    /// The testbeds that measure at once with the plan's own.
    fn beside(&self, posed: &Posed) -> miette::Result<Vec<TestbedName>> {
        let wanted = self.parallel as usize;
        let own = &posed.arrangement;
        if wanted < 2 {
            return Ok(Vec::new());
        }
        let others = posed.question.arrangements_beside(&posed.catalog, own);
        let names = others.into_iter().map(|it| it.testbed);
        let names: Vec<TestbedName> = names.take(wanted - 1).collect();
        if names.len() + 1 == wanted {
            return Ok(names);
        }
        let fit: Vec<String> = std::iter::once(&own.testbed)
            .chain(&names)
            .map(ToString::to_string)
            .collect();
        let kind = |host: &HostName| own.lab.host.get(host).map(|settings| settings.kind);
        let seats = own.seats.iter().map(|(role, seat)| match kind(&seat.host) {
            Some(kind) => format!("{role} on a host of kind \"{kind}\""),
            None => role.to_string(),
        });
        let seats: Vec<String> = seats.collect();
        Err(miette::miette!(
            help = format!(
                "describe another one in lab.toml, [testbed.NAME] with {}, on hosts that no other has; or say --parallel {}",
                seats.join(", "),
                fit.len()
            ),
            "--parallel {wanted} needs {wanted} testbeds that can run this plan at once, and this lab has {}: {}",
            fit.len(),
            fit.join(", ")
        ))
    }

    async fn versions(&self, opened: &Opened) -> miette::Result<Vec<Version>> {
        let (good, bad, every) = (self.good.clone(), self.bad.clone(), self.every.clone());
        let versions = opened
            .ask(move |history| {
                let (from, to) = (resolved(history, &good)?, resolved(history, &bad)?);
                let (from, to) = (from.id, to.id);
                if from == to {
                    return Ok(Vec::new());
                }
                let stretch = history.versions(&Range::Between { from, to }, &every);
                stretch.map_err(|error| error.about(&good, &bad))
            })
            .await?;
        if versions.len() < 2 {
            return Err(miette::miette!(
                help = "name two versions with others between them; `backsight log --target T A B` shows what there is",
                "there is nothing between {} and {}: they are the same version",
                self.good,
                self.bad
            ));
        }
        Ok(versions)
    }
}

/// Whether taking the changes back undoes them: each is measured against the version before it, and the newest version
/// against itself without the change.
struct Verification<'a> {
    asked: &'a Bisect,
    shared: &'a Shared,
    store: &'a Store,
    opened: Opened,
    account: Account,
    /// The bisection's.
    name: StudyName,
    seed: u32,
}

impl Verification<'_> {
    async fn make(&self) -> miette::Result<()> {
        if self.account.verdict.ended != Some(BisectEnd::Decided) {
            return Ok(());
        }
        let culprits = self.account.verdict.culprits.iter();
        let places = culprits.map(|culprit| culprit.place);
        let single: Vec<Place> = places.filter(|p| p.until - p.after == 1).collect();
        let budget = self.budget_of_each(2 * single.len().min(MOST_VERIFIED));
        for (n, place) in single.iter().take(MOST_VERIFIED).enumerate() {
            self.pair(n + 1, *place, budget).await?;
            self.revert(n + 1, *place, budget).await?;
        }
        Ok(())
    }

    /// Together they may take as long as the bisection took, and as its budget leaves.
    fn budget_of_each(&self, number: usize) -> Duration {
        let spent = self.account.verdict.spent;
        let all = match self.asked.budget {
            Some(budget) => spent.min(budget.0.saturating_sub(spent)),
            None => spent,
        };
        (all / number.max(1) as u32).max(LEAST_VERIFIED)
    }

    async fn pair(&self, number: usize, place: Place, budget: Duration) -> miette::Result<()> {
        let versions = &self.account.history.versions;
        let sides = vec![versions[place.after].clone(), versions[place.until].clone()];
        files::say(&format!(
            "{}: {} beside the version before it",
            self.name, versions[place.until].name
        ));
        let name = format!("{}-pair-{number}", self.name);
        self.beside(&name, sides, Vec::new(), budget).await
    }

    async fn revert(&self, number: usize, place: Place, budget: Duration) -> miette::Result<()> {
        let versions = &self.account.history.versions;
        let (Some(newest), culprit) = (versions.last(), &versions[place.until]) else {
            return Ok(());
        };
        let asked = culprit.id.clone();
        let revert = self
            .opened
            .ask(move |history| Diff::revert(history, &asked));
        let tried = match revert.await {
            Ok(revert) => {
                let without = Version {
                    amendments: vec![revert.amendment.clone()],
                    ..newest.clone()
                };
                files::say(&format!(
                    "{}: {} with {} taken back",
                    self.name, newest.name, culprit.name
                ));
                let name = format!("{}-revert-{number}", self.name);
                let sides = vec![newest.clone(), without];
                self.beside(&name, sides, vec![revert], budget).await
            }
            Err(why) => Err(why),
        };
        if let Err(why) = tried {
            files::say(&format!(
                "{}: {} isn't taken back on top of {}: {why}; try a revert made by hand: backsight try … --at {} --patch FILE",
                self.name, culprit.name, newest.name, newest.name
            ));
        }
        Ok(())
    }

    /// Measures sides as `try` does, by the metric that was bisected.
    async fn beside(
        &self,
        name: &str,
        sides: Vec<Version>,
        diffs: Vec<Diff>,
        budget: Duration,
    ) -> miette::Result<()> {
        let mut posed = self.asked.asked.posed(self.shared, true, Some(self.seed))?;
        let choices = &self.account.choices;
        posed.question.choices.attempt = Some(AttemptChoices {
            along: AlongChoices {
                builds_ahead: !self.asked.no_builds_ahead,
                // Side by side on one machine.
                beside: Vec::new(),
                ..choices.along.clone()
            },
            metrics: vec![choices.metric.clone()],
            trials: choices.trials.unwrap_or(1),
            most: MOST_PASSES,
            first_boot: self.opened.first_boot(self.store).await?,
            revisits: self.opened.target.activate.boot.can_be_revisited(),
            budget: Some(budget),
            equal: None,
            confidence: choices.confidence,
            called: None,
        });
        let site = Site::open(self.opened.clone(), sides, diffs).await?;
        let asking = Asking::<Attempting>::of(posed);
        let name: StudyName = match name.parse::<StudyName>() {
            Ok(name) if self.store.study(name.as_str()).await.is_err() => name,
            _ => free_name(self.store, crate::attempt::VERB).await?,
        };
        let watching = &self.asked.watching.of_a_part();
        side_by_side(asking, self.store, site, Some(name), watching).await?;
        Ok(())
    }
}

/// The command line as a shell would take it again.
fn command_line() -> String {
    let words = std::env::args().skip(1).map(|word| shell_quoted(&word));
    words.fold("backsight".to_owned(), |line, word| line + " " + &word)
}

/// `bisect` along a history.
pub struct Bisecting;

impl AlongVerb for Bisecting {
    const VERB: &'static str = VERB;
    const SHARES: bool = true;
    type Policy = BisectPolicy;

    fn policy(ground: &Ground<'_>) -> miette::Result<BisectPolicy> {
        let choices = chosen(ground.choices.bisect.as_ref())?;
        policy(
            choices,
            (ground.versions, 1 + choices.along.beside.len()),
            ground.cells,
            ground.revisits,
            ground.seed,
        )
    }

    fn rounds(_choices: &Choices) -> u32 {
        // It goes on until the changes are known.
        0
    }

    async fn conclude(ended: Concluded<'_, BisectVerdict>) -> miette::Result<ExitCode> {
        let Concluded {
            store,
            id,
            name,
            told,
            pursuit,
            ..
        } = ended;
        let study = store.study_of(id).await.into_diagnostic()?;
        let account = Account::of(store, &study).await?;
        let came_to = account.verdict.ended;
        let account = account::Account::Bisect(Box::new(account));
        told.verdict(&account, store).await?;
        let status = conclude(name, &pursuit);
        Ok(match (&pursuit.stopped, came_to) {
            (Some(_), _) => status,
            (None, Some(BisectEnd::Decided)) => ExitCode::SUCCESS,
            (None, Some(BisectEnd::End(_) | BisectEnd::Short)) => ExitStatus::Failed.into(),
            (None, _) => ExitStatus::Undecided.into(),
        })
    }
}

/// The cells that have a metric, with their numbers.
fn cells_with<'a>(
    cells: &'a [HistoryCell],
    metric: &'a str,
) -> impl Iterator<Item = (usize, &'a HistoryCell, &'a backsight_model::CellMetric)> {
    cells.iter().enumerate().filter_map(move |(number, cell)| {
        let is_it =
            |name: &str| name == metric || format!("{}.{name}", cell.cell.benchmark) == metric;
        let found = cell.metrics.iter().find(|m| is_it(m.name.as_str()))?;
        Some((number, cell, found))
    })
}

fn policy(
    choices: &BisectChoices,
    (versions, testbeds): (usize, usize),
    cells: &[HistoryCell],
    revisits: bool,
    seed: u32,
) -> miette::Result<BisectPolicy> {
    let having: Vec<_> = cells_with(cells, &choices.metric).collect();
    let named = having.iter().filter(|(_, cell, _)| match &choices.cell {
        Some(asked) => cell.cell.to_string() == *asked,
        None => true,
    });
    let named: Vec<_> = named.collect();
    let [(cell, _, metric)] = named[..] else {
        let names: Vec<String> = having
            .iter()
            .map(|(_, cell, _)| format!("--cell {}", shell_quoted(&cell.cell.to_string())))
            .collect();
        return Err(miette::miette!(
            help = format!("say which, with one of: {}", names.join(", ")),
            "{} cells of the plan have the metric `{}`{}",
            having.len(),
            choices.metric,
            choices
                .cell
                .as_ref()
                .map_or_else(String::new, |cell| format!(", and none is `{cell}`"))
        ));
    };
    Ok(BisectPolicy {
        versions,
        cell: *cell,
        metric: metric.name.clone(),
        better: metric.better,
        testbeds,
        layouts: choices.along.layouts.len(),
        trials: choices.trials,
        revisits,
        aim: Aim {
            confidence: choices.confidence,
            resolution: choices.resolution,
            cancelling: choices.cancelling,
            ..Aim::default()
        },
        smallest: choices.smallest,
        budget: choices.budget,
        most: MOST,
        seed,
    })
}

/// The changes that the bisections of a target named, for its history. A bisection whose verdict can't be made any more is
/// left out, aloud.
pub async fn named_changes(
    store: &Store,
    target: &TargetName,
) -> miette::Result<Vec<BisectedChange>> {
    let studies = store.studies().await.into_diagnostic()?;
    let is_bisection =
        |study: &&StudyRow| study.verb == VERB && study.target.as_ref() == Some(target);
    let bisections: Vec<&StudyRow> = studies.iter().filter(is_bisection).collect();
    if bisections.is_empty() {
        return Ok(Vec::new());
    }
    let asked = store.asked_along(target).await.into_diagnostic()?;
    let mut named = Vec::new();
    for study in bisections {
        match Bisection::read(store, study, &asked).await {
            Ok(bisection) => named.extend(bisection.named_changes()),
            Err(why) => files::say(&format!(
                "what {} came to isn't in the history: {why}",
                study.name
            )),
        }
    }
    Ok(named)
}

/// A bisection as the store has it.
struct Bisection {
    history: StudyHistory,
    choices: BisectChoices,
    /// The target as it was then.
    target: Document,
    cell: usize,
    metric: MetricName,
    verdict: BisectVerdict,
}

impl Bisection {
    /// `asked` is all that studies of the target asked.
    async fn read(
        store: &Store,
        study: &StudyRow,
        asked: &[backsight_store::Asked],
    ) -> miette::Result<Self> {
        let history = store.study_history(study.id).await.into_diagnostic()?;
        let choices: Choices = serde_json::from_str(&study.arguments).into_diagnostic()?;
        let choices = chosen(choices.bisect.as_ref())?.clone();
        let documents = store.documents(study.id).await.into_diagnostic()?;
        let document = documents.iter().find(|document| document.kind == "target");
        let document = chosen(document)?;
        let target = Document::new(document.name.clone(), document.text.as_str());
        let revisits = backsight_model::Target::read(&target)?
            .activate
            .boot
            .can_be_revisited();
        let policy = policy(
            &choices,
            (history.versions.len(), 1 + choices.along.beside.len()),
            &history.cells,
            revisits,
            study.seed,
        )?;
        let evidence = evidence_before(asked, &history, &choices.along);
        Ok(Self {
            verdict: policy.verdict(&evidence),
            cell: policy.cell,
            metric: policy.metric,
            history,
            choices,
            target,
        })
    }

    fn named_changes(&self) -> Vec<BisectedChange> {
        let Some(cell) = self.history.cells.get(self.cell) else {
            return Vec::new();
        };
        let metric = cell.metrics.iter().find(|it| it.name == self.metric);
        let id = |at: usize| Some(self.history.versions.get(at)?.id.clone());
        let sizes = self.verdict.waterfall.as_ref();
        let culprits = self.verdict.culprits.iter().enumerate();
        let named = culprits.filter_map(|(n, culprit)| {
            let size = sizes.and_then(|sizes| sizes.steps.get(n)).copied();
            let level = sizes?.level.value.abs();
            let in_percent = |size: Estimate| Interval {
                low: 100.0 * size.interval.low / level,
                high: 100.0 * size.interval.high / level,
            };
            Some(BisectedChange {
                study: self.history.name.clone(),
                cell: cell.cell.clone(),
                metric: metric?.clone(),
                after: id(culprit.place.after)?,
                until: id(culprit.place.until)?,
                probability: culprit.probability,
                size,
                percent: culprit.percent.zip(size.map(in_percent)),
            })
        });
        named.collect()
    }
}

/// A bisection as it stands: what `bisect`, `show` and `report` tell of it.
pub struct Account {
    history: StudyHistory,
    choices: BisectChoices,
    cell: usize,
    metric: String,
    verdict: BisectVerdict,
    between: Vec<Holds>,
    accepted: Vec<Accepted>,
}

impl Account {
    /// Reads it from the store, and what the culprits are from the target's history.
    pub async fn of(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        let target: &TargetName = chosen(study.target.as_ref())?;
        let asked = store.asked_along(target).await.into_diagnostic()?;
        let Bisection {
            history,
            choices,
            target: document,
            cell,
            metric,
            verdict,
        } = Bisection::read(store, study, &asked).await?;
        let places: Vec<Place> = verdict.culprits.iter().map(|c| c.place).collect();
        let folder = choices.along.folder.clone();
        let opened = Opened::of(document, folder, store.dir().to_owned()).await;
        let mut between = Vec::with_capacity(places.len());
        for place in places {
            let ends = (
                history.versions[place.after].clone(),
                history.versions[place.until].clone(),
            );
            let asked = match &opened {
                Ok(opened) => opened.ask(move |h| h.between(&ends.0, &ends.1)).await,
                Err(why) => Err(miette::miette!("{why}")),
            };
            between.push(
                asked.map_err(|why| format!("the history can't be asked what it was: {why}")),
            );
        }
        let benchmark = &history.cells[cell].cell.benchmark;
        let all = store.acceptances(target).await.into_diagnostic()?;
        let about = all
            .iter()
            .filter(|it| it.covers(benchmark.as_str(), metric.as_str()));
        let now = Timestamp::now();
        let accepted = about.map(|it| Accepted::at(it, now)).collect();
        Ok(Self {
            accepted,
            cell,
            metric: metric.to_string(),
            history,
            choices,
            verdict,
            between,
        })
    }

    /// The study with its verdict, as it is reported.
    pub fn study(&self) -> BisectStudy<'_> {
        BisectStudy {
            history: &self.history,
            verdict: &self.verdict,
            cell: self.cell,
            metric: &self.metric,
            budget: self.choices.budget,
            confidence: self.choices.confidence,
            cancelling: self.choices.cancelling,
            between: &self.between,
            accepted: &self.accepted,
            command: &self.choices.command,
        }
    }
}
