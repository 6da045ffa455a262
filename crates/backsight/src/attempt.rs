//! `backsight try`: patches and reverts measured side by side with what they change, until each difference is decided.
//!
//! Refuses: a patch that doesn't apply, before anything is measured; and to compare with what was measured at another
//! time.

use backsight_history::{Diff, WorkshopError};
use backsight_model::{
    Amendment, HistoryCell, StudyHistory, StudyName, Time, Version, did_you_mean,
};
use backsight_policy::{AskedMetric, AttemptPolicy, AttemptVerdict};
use backsight_report::try_patch::{SideVerdict, TryStudy};
use backsight_stats::Confidence;
use backsight_store::{Store, StudyId, StudyRow};
use backsight_study::{AlongChoices, AttemptChoices, Choices, evidence_of};
use miette::IntoDiagnostic as _;
use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use crate::{
    account,
    along::{AlongVerb, Asking, Concluded, Ground, Site, chosen},
    cli::Shared,
    compare::{confidence, percent},
    exit_status::ExitStatus,
    files,
    run::{Asked, Watching, conclude},
    target::{Opened, resolved},
};

/// The verb's name in the store.
pub const VERB: &str = "try";

/// Most sides beside the base.
const MOST_SIDES: usize = 10;
/// Passes without end: the budget comes before.
pub const MOST_PASSES: u32 = 10_000;
/// Longest patch, in bytes.
const LONGEST_PATCH: u64 = 64 << 20;

/// Arguments of `try`.
#[derive(Debug, clap::Args)]
pub struct Attempt {
    #[command(flatten)]
    asked: Asked,
    /// The target: its file, or the NAME of NAME.toml beside the plan or in targets/ there
    #[arg(long, value_name = "NAME|FILE")]
    target: String,
    /// The version that is changed: a version, a commit, a tag or a date
    #[arg(long, value_name = "VERSION", default_value = "HEAD")]
    at: String,
    /// The version that it is compared with, unless that is the one that is changed, without the change
    #[arg(long, value_name = "VERSION")]
    base: Option<String>,
    /// A patch, for `patch -p1` in the tree; each is a side of its own, and there may be ten
    #[arg(long = "patch", value_name = "FILE")]
    patches: Vec<PathBuf>,
    /// A change of the history that is taken back; a side of its own as well
    #[arg(long = "revert", value_name = "COMMIT")]
    reverts: Vec<String>,
    /// All reverts and patches are one side, in this order
    #[arg(long)]
    together: bool,
    /// Decide by this metric: `time` or `work.time`; may be repeated. The others are only shown. The primary ones
    /// decide unless said
    #[arg(long = "metric", value_name = "METRIC")]
    metrics: Vec<String>,
    /// What builds, boots and trials may take together
    #[arg(long, value_name = "TIME", default_value = "30m")]
    budget: Time,
    /// A difference up to this is no matter: it ends when each is known to be smaller, or larger
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    equal: Option<f64>,
    /// That no decision of the study is false, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence)]
    confidence: Confidence,
    /// Trials of each cell on each side in a pass; a pass is one boot where the target boots
    #[arg(long, value_name = "N", default_value = "1")]
    trials: NonZeroU32,
    /// Lay each side out in memory anew in each of so many passes: the answer holds for the source, not for one layout
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    relink: Option<u32>,
    /// Build nothing while other machines measure
    #[arg(long)]
    no_builds_ahead: bool,
    /// Name of the study; else try-1, try-2, …
    #[arg(long)]
    name: Option<StudyName>,
    /// Seed of the orders; else the plan's, else drawn
    #[arg(long)]
    seed: Option<u32>,
    #[command(flatten)]
    watching: Watching,
}

impl Attempt {
    /// Measures until it is decided.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        self.watching.check()?;
        let mut posed = self.asked.posed(shared, true, self.seed)?;
        known_metrics(&self.metrics, &posed.metrics())?;
        let patches = self.patches()?;
        crate::block_on(async {
            let opened = Opened::named(shared, &self.target, self.asked.plan()).await?;
            let layouts = opened.sampled_layouts(self.relink)?;
            let (versions, diffs) = self.sides(&opened, patches).await?;
            let store = files::open_store(shared).await?;
            let first_boot = opened.first_boot(&store).await?;
            let rounds = posed.question.choices.rounds;
            posed.question.choices.attempt = Some(AttemptChoices {
                along: AlongChoices {
                    folder: opened.folder.clone(),
                    layouts,
                    retry: false,
                    builds_ahead: !self.no_builds_ahead,
                    beside: Vec::new(),
                },
                metrics: self.metrics.clone(),
                trials: self.trials.get(),
                most: rounds.map_or(MOST_PASSES, NonZeroU32::get),
                first_boot,
                revisits: opened.target.activate.boot.can_be_revisited(),
                budget: Some(self.budget.0),
                equal: self.equal,
                confidence: self.confidence.share(),
                called: Some((
                    self.base.clone().unwrap_or_else(|| self.at.clone()),
                    self.at.clone(),
                )),
            });
            let site = Site::open(opened, versions, diffs).await?;
            let asking = Asking::of(posed);
            side_by_side(asking, &store, site, self.name, &self.watching).await
        })
    }

    /// The patches, read.
    fn patches(&self) -> miette::Result<Vec<Diff>> {
        let short: Vec<String> = self.patches.iter().map(|path| short_name(path)).collect();
        let read = |(path, name): (&PathBuf, &String)| {
            let alike = short.iter().filter(|other| *other == name).count() > 1;
            let name = match alike {
                true => path.display().to_string(),
                false => name.clone(),
            };
            let fault = |why: String| {
                miette::miette!(
                    help = "--patch takes the file of a unified diff, as `git diff` and `diff -u` print it",
                    "the patch {} can't be read: {why}",
                    path.display()
                )
            };
            let length = std::fs::metadata(path).map_err(|error| fault(error.to_string()))?;
            if length.len() > LONGEST_PATCH {
                return Err(fault(format!("it is longer than {LONGEST_PATCH} bytes")));
            }
            let bytes = std::fs::read(path).map_err(|error| fault(error.to_string()))?;
            let text = String::from_utf8(bytes).map_err(|_| fault("it isn't text".into()))?;
            Diff::patch(&name, text).map_err(|why| miette::Report::msg(why.to_string()))
        };
        self.patches.iter().zip(&short).map(read).collect()
    }

    /// The base and the sides, with the diffs that make these.
    async fn sides(
        &self,
        opened: &Opened,
        patches: Vec<Diff>,
    ) -> miette::Result<(Vec<Version>, Vec<Diff>)> {
        let (at, base) = (self.at.clone(), self.base.clone());
        let reverts = self.reverts.clone();
        let (at, base, mut diffs) = opened
            .ask(move |history| {
                let at = resolved(history, &at)?;
                let base = match base {
                    Some(base) => resolved(history, &base)?,
                    None => at.clone(),
                };
                let reverts = reverts.iter().map(|it| Diff::revert(history, it));
                Ok((at, base, reverts.collect::<Result<Vec<_>, _>>()?))
            })
            .await?;
        diffs.extend(patches);
        let amended = |amendments: Vec<Amendment>| Version {
            amendments,
            ..at.clone()
        };
        let all = diffs.iter().map(|diff| diff.amendment.clone());
        let sides: Vec<Version> = match (diffs.is_empty(), self.together) {
            (true, _) => vec![amended(Vec::new())],
            (_, true) => vec![amended(all.collect())],
            (_, false) => all.map(|amendment| amended(vec![amendment])).collect(),
        };
        if diffs.is_empty() && at.id == base.id {
            return Err(miette::miette!(
                help = "name what is tried: --patch fix.diff, --revert COMMIT, or another version to compare with, --base VERSION",
                "there is nothing to try: {} would be compared with itself",
                at.name
            ));
        }
        if sides.len() > MOST_SIDES {
            return Err(miette::miette!(
                help = "try some of them first; or all as one side, with --together",
                "{} sides are more than the {MOST_SIDES} that are measured side by side",
                sides.len()
            ));
        }
        for (place, diff) in diffs.iter().enumerate() {
            let content = diff.amendment.content();
            let before = diffs[..place]
                .iter()
                .find(|d| d.amendment.content() == content);
            if let Some(before) = before {
                return Err(miette::miette!(
                    help = "leave one of them out",
                    "{} and {} are the same change",
                    before.amendment,
                    diff.amendment
                ));
            }
        }
        let versions = std::iter::once(base).chain(sides).collect();
        Ok((versions, diffs))
    }
}

fn short_name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Every metric that was named is one of these, which are benchmark and metric.
pub fn known_metrics(asked: &[String], known: &[(String, String)]) -> miette::Result<()> {
    let full: Vec<String> = known.iter().map(|(b, m)| format!("{b}.{m}")).collect();
    for name in asked {
        let is_known = known.iter().any(|(_, metric)| metric == name) || full.contains(name);
        if !is_known {
            let names = full.iter().chain(known.iter().map(|(_, metric)| metric));
            let near = did_you_mean(name, names.map(String::as_str));
            return Err(miette::miette!(
                help = near.unwrap_or_else(|| format!("there are: {}", full.join(", "))),
                "no benchmark of the plan has a metric `{}`",
                backsight_report::escape::line(name)
            ));
        }
    }
    Ok(())
}

/// Measures the sides of a site, if all their amendments apply.
pub async fn side_by_side(
    asking: Asking<Attempting>,
    store: &Store,
    site: Site,
    name: Option<StudyName>,
    watching: &Watching,
) -> miette::Result<ExitCode> {
    if let Err(refused) = try_amendments(&site).await {
        site.workshop.finish().await;
        return Err(refused);
    }
    asking.begin(store, site, name, watching).await
}

/// Tries all amendments in the tree, so that one that doesn't apply is told before anything is measured.
async fn try_amendments(site: &Site) -> miette::Result<()> {
    for side in 0..site.workshop.versions().len() {
        match site.workshop.try_amendments(side).await {
            Ok(()) => {}
            Err(error @ WorkshopError::Amendment { .. }) => {
                return Err(miette::miette!(
                    help = "make it anew for this version, or name another version with --at; in place of a revert, give a hand-made one with --patch",
                    "{error}"
                ));
            }
            Err(other) => return Err(miette::Report::msg(other.to_string())),
        }
    }
    Ok(())
}

/// `try` along a history.
pub struct Attempting;

impl AlongVerb for Attempting {
    const VERB: &'static str = VERB;
    const SHARES: bool = false;
    type Policy = AttemptPolicy;

    fn policy(ground: &Ground<'_>) -> miette::Result<AttemptPolicy> {
        let choices = chosen(ground.choices.attempt.as_ref())?;
        Ok(policy(choices, ground.versions, ground.cells, ground.seed))
    }

    fn rounds(_choices: &Choices) -> u32 {
        // It goes on until it is decided.
        0
    }

    async fn conclude(ended: Concluded<'_, AttemptVerdict>) -> miette::Result<ExitCode> {
        let Concluded {
            store,
            id,
            name,
            told,
            pursuit,
            ..
        } = ended;
        let account = Account::of(store, id).await?;
        let came_to = account.status();
        let account = account::Account::Attempt(Box::new(account));
        told.verdict(&account, store).await?;
        let status = conclude(name, &pursuit);
        Ok(match pursuit.stopped {
            Some(_) => status,
            None => came_to.into(),
        })
    }
}

/// Refuses a study whose trials are those of several sides, where trials of one thing are asked for.
pub fn refuse_sides(study: &StudyRow) -> miette::Result<()> {
    match study.verb == VERB {
        false => Ok(()),
        true => Err(miette::miette!(
            help = format!(
                "backsight show {0}, or backsight report {0}: they tell the sides apart",
                study.name
            ),
            "study `{}` is a try: its trials are those of a base and of patched sides",
            study.name
        )),
    }
}

fn policy(
    choices: &AttemptChoices,
    versions: usize,
    cells: &[HistoryCell],
    seed: u32,
) -> AttemptPolicy {
    let asked = |cell: &HistoryCell| {
        let metrics = cell.metrics.iter().map(|metric| {
            let short = metric.name.to_string();
            let full = format!("{}.{short}", cell.cell.benchmark);
            let named = &choices.metrics;
            AskedMetric {
                name: metric.name.clone(),
                better: metric.better,
                decides: match named.is_empty() {
                    true => metric.primary,
                    false => named.contains(&short) || named.contains(&full),
                },
            }
        });
        metrics.collect()
    };
    AttemptPolicy {
        sides: versions.saturating_sub(1),
        layouts: choices.along.layouts.len(),
        trials: choices.trials,
        cells: cells.iter().map(asked).collect(),
        absent: Vec::new(),
        revisits: choices.revisits,
        first_boot: choices.first_boot,
        budget: choices.budget,
        most: choices.most,
        equal: choices.equal.map(|percent| percent / 100.0),
        confidence: Confidence::new(choices.confidence).unwrap_or_default(),
        seed,
    }
}

/// Sides beside a base as they stand: what `try` and `run --until`, `show` and `report` tell of them.
pub struct Account {
    /// The verb that measured it.
    pub verb: &'static str,
    /// What was measured; its first version is the base, the others are the sides.
    pub history: StudyHistory,
    /// What it may take.
    pub budget: Option<Duration>,
    /// How sure all decisions together are to be: 0.95.
    pub confidence: f64,
    /// Up to how many percent a difference is no matter, if that was asked.
    pub equal: Option<f64>,
    /// What base and side were called by who asked.
    pub called: Option<(String, String)>,
    /// Where it stands.
    pub verdict: AttemptVerdict,
}

impl Account {
    /// Reads it from the store.
    pub async fn of(store: &Store, study: StudyId) -> miette::Result<Self> {
        let row: StudyRow = store.study_of(study).await.into_diagnostic()?;
        let history = store.study_history(study).await.into_diagnostic()?;
        let choices: Choices = serde_json::from_str(&row.arguments).into_diagnostic()?;
        let choices = chosen(choices.attempt.as_ref())?.clone();
        let policy = policy(&choices, history.versions.len(), &history.cells, row.seed);
        let verdict = policy.verdict(&evidence_of(&history, &choices.along.layouts));
        Ok(Self {
            verb: VERB,
            history,
            budget: choices.budget,
            confidence: choices.confidence,
            equal: choices.equal,
            called: choices.called,
            verdict,
        })
    }

    /// The study with its verdict, as it is reported.
    pub fn study(&self) -> TryStudy<'_> {
        TryStudy {
            history: &self.history,
            verdict: &self.verdict,
            budget: self.budget,
            confidence: self.confidence,
            equal: self.equal,
            called: self.called.as_ref(),
            takes_rounds: self.verb == crate::run::VERB,
        }
    }

    /// What it means to a script.
    fn status(&self) -> ExitStatus {
        match self.study().overall() {
            SideVerdict::Worse | SideVerdict::Dead => ExitStatus::Failed,
            SideVerdict::Undecided => ExitStatus::Undecided,
            SideVerdict::Better | SideVerdict::Equal => ExitStatus::Success,
        }
    }
}
