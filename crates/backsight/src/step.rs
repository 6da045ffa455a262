//! `backsight step`: versions of a target along its history; and `backsight log`: what lies between two of them.

use backsight_model::{
    Back, BootKind, Change, Every, Layout, LayoutKind, Range, StudyName, Version,
};
use backsight_policy::StepOrder;
use backsight_study::{
    BuildContext, HistoryStudy, OpenTarget, Repeats, StepChoices,
    verbs::{Verb as _, step::StepVerb},
};
use miette::IntoDiagnostic as _;
use std::{collections::HashSet, process::ExitCode};

use crate::{
    common_options::CommonOptions, files, open_target::open_target, outcome, plan_args::PlanArgs,
    session_args::SessionArgs,
};

/// A level at which measuring is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    /// Once more on the same boot.
    Again,
    /// On a new boot of the same build.
    Reboot,
    /// On a build of the same version whose parts lie elsewhere in memory.
    Relink,
}

/// When it is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Until {
    /// When two passes over the versions have seen the same change points.
    Stable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Order {
    /// Both ends first, then the middles of what is between.
    #[default]
    Halving,
    /// From the oldest to the newest.
    Forward,
    /// From the newest to the oldest.
    Backward,
}

impl From<Order> for StepOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Halving => Self::Halving,
            Order::Forward => Self::Forward,
            Order::Backward => Self::Backward,
        }
    }
}

/// Arguments of `step`.
#[derive(Debug, clap::Args)]
pub struct StepArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// The target: its file, or the NAME of NAME.toml beside the plan or in targets/ there
    #[arg(long, value_name = "NAME|FILE")]
    target: String,
    /// The oldest version: a version, a commit, a tag or a date
    #[arg(long, value_name = "VERSION", requires = "to", conflicts_with = "last")]
    from: Option<String>,
    /// The newest version
    #[arg(long, value_name = "VERSION", requires = "from")]
    to: Option<String>,
    /// The newest part of the history, and the version before it: 1w, 3d, 2mo
    #[arg(long, value_name = "TIME")]
    last: Option<Back>,
    /// The step: all, release, hour, day, week, month, 6h, 2w, "10 commits"
    #[arg(long, value_name = "STEP", default_value = "all")]
    every: Every,
    /// What is repeated: again, reboot, relink; with a comma between them
    #[arg(long, value_enum, value_delimiter = ',', value_name = "MODES")]
    modes: Vec<Mode>,
    /// How often each of the modes; or for each its own: again=3,reboot=3,relink=8. The plan's rounds unless said
    #[arg(long, value_name = "N", value_delimiter = ',')]
    repeat: Vec<String>,
    /// The layouts that relink makes
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "LAYOUTS",
        default_value = "random"
    )]
    layouts: Vec<LayoutKind>,
    /// The order of the first pass over the versions; later ones are shuffled
    #[arg(long, value_enum, default_value_t)]
    order: Order,
    /// Measure a neighbour in place of a version that doesn't build or boot
    #[arg(long)]
    skip_broken: bool,
    /// End early
    #[arg(long, value_enum, value_name = "WHEN")]
    until: Option<Until>,
    /// Try again what didn't build or boot in an earlier study
    #[arg(long)]
    retry: bool,
    /// Build nothing while other machines measure
    #[arg(long)]
    no_builds_ahead: bool,
    /// Name of the study; else step-1, step-2, …
    #[arg(long)]
    name: Option<StudyName>,
    /// Seed of the orders; else the plan's, else drawn
    #[arg(long)]
    seed: Option<u32>,
    #[command(flatten)]
    session: SessionArgs,
}

impl StepArgs {
    /// Measures what isn't known yet.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        self.session.check()?;
        let plan = self.plan.resolve(shared, StepVerb::NAME, true, self.seed)?;
        crate::block_on(async {
            let opened = open_target(shared, &self.target, self.plan.plan()).await?;
            let repeats = self.repeats(&opened, plan.arrangement.rounds)?;
            let (versions, wanted) = self.versions(&opened).await?;
            let choices = StepChoices {
                folder: opened.folder.clone(),
                wanted,
                repeats,
                order: self.order.into(),
                skip_broken: self.skip_broken,
                until_stable: self.until == Some(Until::Stable),
                retry: self.retry,
                builds_ahead: !self.no_builds_ahead,
            };
            let plan = plan.with_verb(choices)?;
            let store = files::open_store(shared).await?;
            let options = self.session.options()?;
            let site = BuildContext::open(opened, versions, Vec::new(), &options.reach).await?;
            let study = HistoryStudy::<StepVerb>::new(plan);
            let outcome = study.begin(&store, site, self.name, &options).await?;
            outcome::show(&outcome, &store, &self.session.outcome_options()).await
        })
    }

    /// The versions that may be asked for, oldest first, and the positions of those that are wanted.
    async fn versions(&self, opened: &OpenTarget) -> miette::Result<(Vec<Version>, Vec<usize>)> {
        let range = match (&self.from, &self.to, self.last) {
            (Some(from), Some(to), _) => Range::Between {
                from: from.clone(),
                to: to.clone(),
            },
            (_, _, Some(back)) => Range::Last(back),
            _ => {
                return Err(miette::miette!(
                    help =
                        "--from VERSION --to VERSION, both included; or the newest part: --last 2w",
                    "it isn't said which versions are to be measured"
                ));
            }
        };
        let every = self.every.clone();
        let asked = range.clone();
        let wanted = opened
            .ask(move |history| history.versions(&asked, &every))
            .await?;
        if !self.skip_broken {
            let all = (0..wanted.len()).collect();
            return Ok((wanted, all));
        }
        let all = opened
            .ask(move |history| history.versions(&range, &Every::All))
            .await?;
        let ids: HashSet<&str> = wanted.iter().map(|version| version.id.as_str()).collect();
        let positions = (0..all.len())
            .filter(|at| ids.contains(all[*at].id.as_str()))
            .collect();
        Ok((all, positions))
    }

    /// How often each version is measured, at each level.
    fn repeats(&self, opened: &OpenTarget, rounds: u32) -> miette::Result<Repeats> {
        let target = &opened.target;
        let count = |mode: Mode| -> miette::Result<u32> {
            if !self.modes.is_empty() && !self.modes.contains(&mode) {
                return Ok(1);
            }
            if self.modes.is_empty() && mode != Mode::Again {
                return Ok(1);
            }
            repeats_of(&self.repeat, mode, rounds)
        };
        let (again, reboot) = (count(Mode::Again)?, count(Mode::Reboot)?);
        if self.modes.contains(&Mode::Reboot) && target.activate.boot == BootKind::None {
            return Err(miette::miette!(
                help = "use --modes again; or give the target activate = { boot = \"…\" }",
                "target `{}` has nothing to reboot: its programs are run from their folder",
                *target.name
            ));
        }
        if !self.modes.contains(&Mode::Relink) {
            return Ok(Repeats {
                again,
                reboot,
                layouts: vec![Layout::default()],
            });
        }
        let Some(relayout) = &target.layout else {
            return Err(miette::miette!(
                help = "give it one: layout = { relink = \"… {seed} …\" }, a command that is run in the built tree",
                "target `{}` has no command that relinks it",
                *target.name
            ));
        };
        let mut layouts = Vec::new();
        for kind in &self.layouts {
            if *kind != LayoutKind::Kept && !relayout.layouts.contains(kind) {
                let known: Vec<String> = relayout.layouts.iter().map(ToString::to_string).collect();
                return Err(miette::miette!(
                    help = format!("it makes: {}", known.join(", ")),
                    "target `{}` makes no layout `{kind}`",
                    *target.name
                ));
            }
            let seeds = match kind {
                LayoutKind::Random => 1..=count(Mode::Relink)?,
                _ => 0..=0,
            };
            layouts.extend(seeds.map(|seed| Layout { kind: *kind, seed }));
        }
        layouts.dedup();
        Ok(Repeats {
            again,
            reboot,
            layouts,
        })
    }
}

/// How often a mode is repeated: `5` for all, `reboot=3` for one.
fn repeats_of(said: &[String], mode: Mode, otherwise: u32) -> miette::Result<u32> {
    let mut repeats = otherwise;
    for part in said {
        let (name, number) = match part.split_once('=') {
            Some((name, number)) => (Some(name.trim()), number),
            None => (None, part.as_str()),
        };
        let number: u32 = number
            .trim()
            .parse()
            .ok()
            .filter(|number| (1..=10_000).contains(number))
            .ok_or_else(|| {
                miette::miette!(
                    help = "--repeat 5, or --repeat again=3,reboot=3,relink=8",
                    "`{part}` is no number of repeats"
                )
            })?;
        let named = match name {
            None => true,
            Some("again") => mode == Mode::Again,
            Some("reboot") => mode == Mode::Reboot,
            Some("relink") => mode == Mode::Relink,
            Some(other) => {
                return Err(miette::miette!(
                    help = "the modes are again, reboot and relink",
                    "`{other}` is no mode"
                ));
            }
        };
        if named {
            repeats = number;
        }
    }
    Ok(repeats)
}

/// Arguments of `log`.
#[derive(Debug, clap::Args)]
pub struct Log {
    /// The target: its file, or the NAME of NAME.toml here or in targets/
    #[arg(long, value_name = "NAME|FILE")]
    target: String,
    /// The older version
    from: String,
    /// The newer version
    to: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the difference as well, as a unified diff
    #[arg(long, conflicts_with = "json")]
    patch: bool,
}

/// Most of a difference that is printed, in bytes.
const MOST_OF_A_DIFF: usize = 4 << 20;

impl Log {
    /// Prints what lies between two versions.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let opened = open_target(shared, &self.target, None).await?;
            let Self {
                from, to, patch, ..
            } = self;
            let (between, diff) = opened
                .ask(move |history| {
                    let (from, to) = (history.resolve(&from)?, history.resolve(&to)?);
                    let diff = match patch {
                        true => history.diff(&from, &to, MOST_OF_A_DIFF)?,
                        false => None,
                    };
                    Ok((history.between(&from, &to)?, diff))
                })
                .await?;
            if self.json {
                let text = serde_json::to_string_pretty(&between).into_diagnostic()?;
                files::print(&format!("{text}\n"))?;
            } else {
                files::print_foreign(story(&between).as_bytes())?;
            }
            if let Some(diff) = diff {
                files::print_foreign(format!("\n{diff}").as_bytes())?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Changes as people read them.
fn story(changes: &[Change]) -> String {
    let mut text = String::new();
    let mut files = HashSet::new();
    let (mut added, mut removed) = (0, 0);
    for change in changes {
        let at = change.at.map_or(String::new(), |at| format!("  {at}"));
        text.push_str(&format!("{}  {}{at}\n", change.name, change.author));
        for line in change.message.trim_end().lines() {
            text.push_str(&format!("    {line}\n"));
        }
        for file in &change.files {
            files.insert(&file.path);
            added += file.added.unwrap_or(0);
            removed += file.removed.unwrap_or(0);
            let lines = match (file.added, file.removed) {
                (Some(added), Some(removed)) => format!("+{added} -{removed}"),
                _ => "not text".to_owned(),
            };
            text.push_str(&format!("      {}  {lines}\n", file.path));
        }
        text.push('\n');
    }
    let authors: HashSet<&str> = changes
        .iter()
        .map(|change| change.author.as_str())
        .collect();
    let many = |number: usize, one: &str| match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    };
    text.push_str(&format!(
        "{} by {}: {}, +{added} -{removed}\n",
        many(changes.len(), "commit"),
        many(authors.len(), "author"),
        many(files.len(), "file")
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_for_all_modes_or_each_its_own() {
        let of = |said: &[&str], mode| {
            let said: Vec<String> = said.iter().map(ToString::to_string).collect();
            repeats_of(&said, mode, 5)
        };
        assert_eq!(of(&[], Mode::Again).unwrap(), 5);
        assert_eq!(of(&["3"], Mode::Relink).unwrap(), 3);
        assert_eq!(of(&["again=2", "relink=8"], Mode::Relink).unwrap(), 8);
        assert_eq!(of(&["again=2", "relink=8"], Mode::Reboot).unwrap(), 5);
        for bad in ["0", "x", "again=", "boot=3", "-1"] {
            assert!(of(&[bad], Mode::Again).is_err(), "{bad}");
        }
    }
}
