//! `backsight noise`: how much a benchmark varies on the same boot, another boot, another layout; and how many repeats of what
//! to buy.

use backsight_model::{BootKind, LayoutKind, StudyName, Time};
use backsight_study::{
    BuildContext, HistoryChoices, HistoryStudy, NoiseChoices, OpenTarget, resolve_version,
    verbs::{
        Verb as _,
        noise::{self, NoiseVerb},
    },
};
use std::{num::NonZeroU32, process::ExitCode};

use crate::{
    common_options::CommonOptions, files, open_target::open_target, outcome, plan_args::PlanArgs,
    session_args::SessionArgs, value_parsers::percent,
};

/// Repeats of the highest level, unless said: their deviation is then known to about a quarter.
const HIGHEST: u32 = 30;
/// Trials on each boot, and boots of each layout, where they aren't the highest level.
const WITHIN: u32 = 4;

/// A level at which something is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Repeated {
    /// The trial, on the same boot.
    Trial,
    /// The boot, of the same build.
    Boot,
    /// The build, with its parts elsewhere in memory.
    Layout,
}

/// Arguments of `noise`.
#[derive(Debug, clap::Args)]
pub struct NoiseArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// The target: its file, or the NAME of NAME.toml beside the plan or in targets/ there. Without one the software is
    /// measured as it is found
    #[arg(long, value_name = "NAME|FILE")]
    target: Option<String>,
    /// The version that is measured: a version, a commit, a tag or a date
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "HEAD",
        requires = "target"
    )]
    at: String,
    /// What is repeated: trial, boot, layout; with a comma between them. All that there is here unless said
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LEVELS")]
    levels: Vec<Repeated>,
    /// What builds, boots and trials may take together
    #[arg(long, value_name = "TIME", default_value = "30m")]
    budget: Time,
    /// The difference between two versions that you want to see
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = percent)]
    precision: f64,
    /// Build nothing while other machines measure
    #[arg(long)]
    no_builds_ahead: bool,
    /// Name of the study; else noise-1, noise-2, …
    #[arg(long)]
    name: Option<StudyName>,
    /// Seed of the orders; else the plan's, else drawn
    #[arg(long)]
    seed: Option<u32>,
    #[command(flatten)]
    session: SessionArgs,
}

/// How often each level is repeated at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Repeats {
    layouts: u32,
    boots: u32,
    trials: u32,
}

impl Repeats {
    /// Of these levels the highest one as often as `most`, the others a few times within it.
    fn of(levels: &[Repeated], most: u32) -> Self {
        let highest = [Repeated::Layout, Repeated::Boot, Repeated::Trial];
        let highest = highest.into_iter().find(|level| levels.contains(level));
        let repeats = |level| match (levels.contains(&level), highest == Some(level)) {
            (true, true) => most,
            (true, false) => WITHIN,
            (false, _) => 1,
        };
        Self {
            layouts: repeats(Repeated::Layout),
            boots: repeats(Repeated::Boot),
            trials: repeats(Repeated::Trial),
        }
    }
}

impl NoiseArgs {
    /// Measures, and says how much it varies.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        self.session.check()?;
        let along_history = self.target.is_some();
        let plan = self
            .plan
            .resolve(shared, NoiseVerb::NAME, along_history, self.seed)?;
        let most = self.plan.rounds().map_or(HIGHEST, NonZeroU32::get);
        crate::block_on(async {
            let Some(target) = &self.target else {
                let levels = self.levels(None)?;
                let repeats = Repeats::of(&levels, most);
                let plan = plan.with_verb(self.choices(None, repeats, 0))?;
                let store = files::open_store(shared).await?;
                let options = self.session.options()?;
                let begun = noise::begin_as_found(plan, &store, self.name.clone(), &options);
                return outcome::show(&begun.await?, &store, &self.session.outcome_options()).await;
            };
            let opened = open_target(shared, target, self.plan.plan()).await?;
            let levels = self.levels(Some(&opened))?;
            let repeats = Repeats::of(&levels, most);
            let store = files::open_store(shared).await?;
            let first_boot = opened.first_boot(&store).await?;
            let sampled = Some(repeats.layouts).filter(|layouts| *layouts > 1);
            let history = HistoryChoices {
                folder: opened.folder.clone(),
                layouts: opened.sampled_layouts(sampled)?,
                retry: false,
                builds_ahead: !self.no_builds_ahead,
                more_testbeds: Vec::new(),
            };
            let plan = plan.with_verb(self.choices(Some(history), repeats, first_boot))?;
            let at = self.at.clone();
            let version = opened
                .ask(move |history| resolve_version(history, &at))
                .await?;
            let options = self.session.options()?;
            let site =
                BuildContext::open(opened, vec![version], Vec::new(), &options.reach).await?;
            let study = HistoryStudy::<NoiseVerb>::new(plan);
            let outcome = study.begin(&store, site, self.name, &options).await?;
            outcome::show(&outcome, &store, &self.session.outcome_options()).await
        })
    }

    fn choices(
        &self,
        history: Option<HistoryChoices>,
        repeats: Repeats,
        first_boot: u32,
    ) -> NoiseChoices {
        NoiseChoices {
            history,
            boots: repeats.boots,
            trials: repeats.trials,
            first_boot,
            budget: Some(self.budget.0),
            precision: self.precision,
        }
    }

    /// The levels that are asked for, or all that there are.
    fn levels(&self, opened: Option<&OpenTarget>) -> miette::Result<Vec<Repeated>> {
        let target = opened.map(|opened| &opened.target);
        let boots = target.is_some_and(|target| target.activate.boot != BootKind::None);
        let relinks = target
            .and_then(|target| target.layout.as_ref())
            .is_some_and(|relayout| relayout.layouts.contains(&LayoutKind::Random));
        let has = |level: &Repeated| match level {
            Repeated::Trial => true,
            Repeated::Boot => boots,
            Repeated::Layout => relinks,
        };
        let all = [Repeated::Trial, Repeated::Boot, Repeated::Layout];
        if self.levels.is_empty() {
            return Ok(all.into_iter().filter(has).collect());
        }
        let Some(missing) = self.levels.iter().find(|level| !has(level)) else {
            return Ok(self.levels.clone());
        };
        let Some(target) = target else {
            return Err(miette::miette!(
                help = "name a target that is built and booted, with --target NAME; or ask for --levels trial",
                "software as it is found is neither booted nor laid out anew here"
            ));
        };
        Err(match missing {
            Repeated::Layout => miette::miette!(
                help = "give it one: layout = { relink = \"… {seed} …\" }, a command that is run in the built tree; or leave `layout` out of --levels",
                "target `{}` has no command that relinks it at random",
                *target.name
            ),
            _ => miette::miette!(
                help =
                    "leave `boot` out of --levels; or give the target activate = { boot = \"…\" }",
                "target `{}` has nothing to reboot: its programs are run from their folder",
                *target.name
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_level_is_repeated_most() {
        use Repeated::{Boot, Layout, Trial};
        let of = |levels: &[Repeated]| {
            let Repeats {
                layouts,
                boots,
                trials,
            } = Repeats::of(levels, 30);
            (layouts, boots, trials)
        };
        assert_eq!(of(&[Trial]), (1, 1, 30));
        assert_eq!(of(&[Trial, Boot]), (1, 30, 4));
        assert_eq!(of(&[Layout, Trial]), (30, 1, 4));
        assert_eq!(of(&[Trial, Boot, Layout]), (30, 4, 4));
        assert_eq!(of(&[Boot]), (1, 30, 1));
    }
}
