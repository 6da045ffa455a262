//! `backsight try`: patches and reverts measured side by side with what they change, until each difference is decided.

use backsight_history::Diff;
use backsight_model::{Amendment, StudyName, Time, Version};
use backsight_stats::Confidence;
use backsight_study::{
    BuildContext, HistoryChoices, HistoryStudy, OpenTarget, TryChoices, resolve_version,
    verbs::{
        Verb as _,
        try_patch::{self, MOST_PASSES, TryVerb},
    },
};
use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{
    common_options::CommonOptions,
    files,
    open_target::open_target,
    outcome,
    plan_args::PlanArgs,
    session_args::SessionArgs,
    value_parsers::{at_least_one, confidence, percent},
};

/// Most sides beside the base.
const MOST_SIDES: usize = 10;
/// Longest patch, in bytes.
const LONGEST_PATCH: u64 = 64 << 20;

/// Arguments of `try`.
#[derive(Debug, clap::Args)]
pub struct TryArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// The target: its file, or the NAME of NAME.toml beside the plan or in targets/ there
    #[arg(long, value_name = "NAME|FILE", required_unless_present = "like")]
    target: Option<String>,
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
    #[arg(long, value_name = "N", default_value = "1", value_parser = at_least_one)]
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
    session: SessionArgs,
}

impl TryArgs {
    /// Measures until it is decided.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        self.session.check()?;
        let resolved = self.plan.resolve(shared, TryVerb::NAME, true, self.seed);
        let plan = crate::block_on(resolved)?;
        try_patch::check_metrics(&self.metrics, &plan.metrics())?;
        let patches = self.patches()?;
        crate::block_on(async {
            let opened = open_target(shared, self.target.as_deref(), &self.plan).await?;
            let layouts = opened.sampled_layouts(self.relink)?;
            let (versions, diffs) = self.sides(&opened, patches).await?;
            let store = files::open_store(shared).await?;
            opened.place_versions(&store, &versions).await?;
            let plan = plan.with_verb(TryChoices {
                history: HistoryChoices {
                    folder: opened.folder.clone(),
                    layouts,
                    retry: false,
                    builds_ahead: !self.no_builds_ahead,
                    more_testbeds: Vec::new(),
                },
                metrics: self.metrics.clone(),
                trials: self.trials.get(),
                most: self.plan.rounds().map_or(MOST_PASSES, NonZeroU32::get),
                first_boot: opened.first_boot(&store).await?,
                revisits: opened.target.activate.boot.can_be_revisited(),
                budget: Some(self.budget.0),
                equal: self.equal,
                confidence: self.confidence.share(),
                called: Some((
                    self.base.clone().unwrap_or_else(|| self.at.clone()),
                    self.at.clone(),
                )),
                check: None,
                cell: None,
            })?;
            let options = self.session.options()?;
            let site = BuildContext::open(opened, versions, diffs, &options.reach).await?;
            let study = HistoryStudy::new(plan);
            let outcome = try_patch::begin(study, &store, site, self.name, &options).await?;
            outcome::show(&outcome, &store, &self.session.outcome_options()).await
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
        opened: &OpenTarget,
        patches: Vec<Diff>,
    ) -> miette::Result<(Vec<Version>, Vec<Diff>)> {
        let (at, base) = (self.at.clone(), self.base.clone());
        let reverts = self.reverts.clone();
        let (at, base, mut diffs) = opened
            .query(move |history| {
                let at = resolve_version(history, &at)?;
                let base = match base {
                    Some(base) => resolve_version(history, &base)?,
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
