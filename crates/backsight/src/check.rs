//! `backsight check`: a change before it is merged, measured beside what it is to be merged into; the answer as a comment and as an
//! exit status.

use backsight_model::{StudyName, Time};
use backsight_report::Format;
use backsight_stats::Confidence;
use backsight_study::{
    BuildContext, ChangeSelection, CheckChoices, CheckedChange, HistoryChoices, HistoryStudy,
    StudyOutcome, TryChoices,
    verbs::{
        Verb as _,
        try_patch::{self, MOST_PASSES, TryVerb},
    },
    working_copy,
};
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    fs::File,
    num::NonZeroU32,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{
    common_options::CommonOptions,
    files,
    open_target::open_target,
    outcome,
    output::{OutcomeOptions, Output},
    plan_args::PlanArgs,
    session_args::SessionArgs,
    value_parsers::{confidence, percent},
};

/// The plan in the folder of the project, and the target beside it.
const PLAN: &str = "plan.toml";
const TARGET: &str = "target.toml";

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// The target: its file, or the NAME of NAME.toml beside the plan or in targets/ there; else .backsight/target.toml of the
    /// repository
    #[arg(long, value_name = "NAME|FILE")]
    target: Option<String>,
    /// What the change is to be merged into: a branch, a tag, a commit. Compared is with where the change left it
    #[arg(long, value_name = "VERSION")]
    base: String,
    /// Compare with the base as it is now, and not with where the change left it
    #[arg(long)]
    tip: bool,
    /// Leave out what isn't committed; else it is measured with the commit that is checked out
    #[arg(long)]
    committed: bool,
    /// Pass what is worse by up to this: it ends when each difference is known to be smaller, or larger. With 0 whatever is
    /// worse fails, and nothing can be known to be no difference
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = percent)]
    tolerance: f64,
    /// What builds, boots and trials may take together; of a check that goes on, what they may take from now on
    #[arg(long, value_name = "TIME", default_value = "15m")]
    budget: Time,
    /// Write the verdict as Markdown into this file too, for a comment; also why there is none. An older one is removed first
    #[arg(long, value_name = "FILE")]
    comment: Option<PathBuf>,
    /// Begin anew, whatever an earlier check measured of the same commits
    #[arg(long)]
    anew: bool,
    /// Decide by this metric: `time` or `work.time`; may be repeated. The others are only shown. The primary ones
    /// decide unless said
    #[arg(long = "metric", value_name = "METRIC")]
    metrics: Vec<String>,
    /// That no decision is false, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence)]
    confidence: Confidence,
    /// Trials of each cell on each side in a round; a round is one boot where the target boots
    #[arg(long, value_name = "N", default_value = "1")]
    trials: NonZeroU32,
    /// Lay each side out in memory anew in each of so many rounds: the answer holds for the source, not for one layout
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    relink: Option<u32>,
    /// Name of the study; else check-1, check-2, …
    #[arg(long)]
    name: Option<StudyName>,
    /// Seed of the orders; else the plan's, else drawn
    #[arg(long)]
    seed: Option<u32>,
    #[command(flatten)]
    session: SessionArgs,
}

impl CheckArgs {
    /// Measures until it is decided, or the budget is spent.
    pub fn execute(mut self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        self.session.check()?;
        let comment = self.comment.take();
        // What an earlier change came to isn't posted for this one.
        if let Some(path) = &comment {
            if path.is_file() {
                std::fs::remove_file(path).into_diagnostic()?;
            }
            check_writable(path)?;
        }
        let checked = self.check(shared, comment.as_deref());
        if let (Err(why), Some(path)) = (&checked, &comment)
            && !path.exists()
        {
            let help = why
                .help()
                .map_or_else(String::new, |it| format!("\n\n{it}"));
            let text = format!("### The change couldn't be checked\n\n```text\n{why}{help}\n```\n");
            // The reason itself is what has to be told.
            if let Err(error) = files::write_whole(path, &text) {
                files::print_note(&format!("{error}"));
            }
        }
        checked
    }

    fn check(self, shared: &CommonOptions, comment: Option<&Path>) -> miette::Result<ExitCode> {
        let Self {
            plan,
            target,
            base,
            tip,
            committed,
            tolerance,
            budget,
            comment: _,
            anew,
            metrics,
            confidence,
            trials,
            relink,
            name,
            seed,
            session,
        } = self;
        let here = std::env::current_dir().into_diagnostic()?;
        let copy = working_copy(&here)?;
        let project = copy.folder.join(files::PROJECT);
        let plan = plan.or_plan(|| {
            let of_project = project.join(PLAN);
            of_project.is_file().then_some(of_project)
        });
        if plan.lab_without_plan().is_some() {
            return Err(miette::miette!(
                help = "write the plan there (`backsight init` writes one to begin with), or name it: backsight check plan.toml --target app.toml --base main. The check of the store is `backsight store check`",
                "what is to be measured? neither a plan is named nor is {} there",
                project.join(PLAN).display()
            ));
        }
        let target = target.or_else(|| {
            let of_project = project.join(TARGET);
            let is_there = of_project.is_file();
            is_there.then(|| of_project.display().to_string())
        });
        if target.is_none() && !plan.is_like_study() {
            return Err(miette::miette!(
                help = "write it there, with source = { git = { url = \"..\" } } and how a version is built, or name it: --target NAME",
                "how is a version built? neither a target is named nor is {} there",
                project.join(TARGET).display()
            ));
        }
        let selection = ChangeSelection {
            base,
            tip,
            committed,
        };
        let resolved = plan.resolve(shared, TryVerb::NAME, true, seed);
        let resolved = crate::block_on(resolved)?;
        try_patch::check_metrics(&metrics, &resolved.metrics())?;
        crate::block_on(async {
            let opened = open_target(shared, target.as_deref(), &plan).await?;
            let layouts = opened.sampled_layouts(relink)?;
            let change = CheckedChange::find(&copy, &opened, &selection).await?;
            for note in &change.notes {
                files::print_note(note);
            }
            let store = files::open_store(shared).await?;
            let resolved = resolved.with_verb(TryChoices {
                history: HistoryChoices {
                    folder: opened.folder.clone(),
                    layouts,
                    retry: false,
                    builds_ahead: true,
                    more_testbeds: Vec::new(),
                },
                metrics,
                trials: trials.get(),
                most: plan.rounds().map_or(MOST_PASSES, NonZeroU32::get),
                first_boot: opened.first_boot(&store).await?,
                revisits: opened.target.activate.boot.can_be_revisited(),
                budget: Some(budget.0),
                equal: (tolerance > 0.0).then_some(tolerance),
                confidence: confidence.share(),
                called: Some((selection.base.clone(), change.called)),
                check: Some(CheckChoices {
                    base: selection.base,
                    tip: selection.tip,
                    anew,
                }),
                cell: None,
            })?;
            let options = session.options()?;
            // What isn't merged is beside the line, even where it is what the source has checked out.
            if change.head.is_plain() {
                let beside = std::slice::from_ref(&change.head.id);
                let placed = store.place_versions(&opened.target.name, beside, &[]);
                placed.await.into_diagnostic()?;
            }
            let versions = vec![change.base, change.head];
            let site = BuildContext::open(opened, versions, change.diffs, &options.reach).await?;
            let study = HistoryStudy::new(resolved);
            let outcome = try_patch::begin(study, &store, site, name, &options).await?;
            let shown = session.outcome_options();
            let status = outcome::show(&outcome, &store, &as_comment(shown, comment)).await?;
            if let (Some(path), StudyOutcome::Ended(ended)) = (comment, &outcome) {
                let output = Output {
                    format: Some(Format::Markdown),
                    output: Some(path.to_owned()),
                };
                let written = output.write(&ended.study, &ended.verdict, &store, Format::Markdown);
                // The verdict counts, whoever can read it.
                if let Err(why) = written.await {
                    files::print_note(&format!("the comment isn't written: {why}"));
                }
            }
            Ok(status)
        })
    }
}

/// Refuses a file that can't be written, before anything is measured for it.
fn check_writable(path: &Path) -> miette::Result<()> {
    let written = match path.try_exists() {
        Ok(false) => File::create_new(path).and_then(|_| std::fs::remove_file(path)),
        Ok(true) => File::options().append(true).open(path).map(drop),
        Err(error) => Err(error),
    };
    written
        .into_diagnostic()
        .wrap_err_with(|| format!("the comment can't be written into {}", path.display()))
}

/// The verdict as Markdown, unless another format or a file for the comment is asked for.
fn as_comment(shown: OutcomeOptions, comment: Option<&Path>) -> OutcomeOptions {
    if comment.is_some() || shown.output.is_requested() || !shown.shows_verdict {
        return shown;
    }
    OutcomeOptions {
        output: Output {
            format: Some(Format::Markdown),
            output: None,
        },
        ..shown
    }
}
