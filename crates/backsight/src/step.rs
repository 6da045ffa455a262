//! `backsight step`: versions of a target along its history; and `backsight log`: what lies between two of them.

use backsight_catalog::Catalog;
use backsight_conductor::{Reach, Workbench};
use backsight_history::Workshop;
use backsight_model::{
    Activate, Arrangement, Back, BenchmarkName, BootKind, Cell, Change, Document, Every, Layout,
    LayoutKind, Range, StudyName, Version,
};
use backsight_policy::{Decision, Evidence, Policy as _, StepOrder, StepPolicy};
use backsight_store::{NewStudy, NewTarget, Store, StoreError, StudyDocument, StudyId, StudyRow};
use backsight_study::{
    Along, AlongHistory, Modes, Question, StepChoices, Study, evidence_along, pursue, questions,
};
use miette::IntoDiagnostic as _;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    process::ExitCode,
};

use crate::{
    cli::Shared,
    files, history,
    run::{Asked, Session, Watching, conclude, drawn_seed, free_name, new_study},
    target::Opened,
};

/// The verb's name in the store.
pub const VERB: &str = "step";

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
pub struct Step {
    #[command(flatten)]
    asked: Asked,
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
    #[arg(long, value_name = "TIME", required_unless_present = "from")]
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
    watching: Watching,
}

impl Step {
    /// Measures what isn't known yet.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        let (mut question, catalog) = self.asked.question(shared)?;
        question.along_history = true;
        let arrangement = question.arrange(&catalog)?;
        let planned = backsight_model::Plan::read(&question.plan)?.seed;
        let seed = self.seed.or(planned).unwrap_or_else(drawn_seed);
        crate::block_on(async {
            let opened = Opened::named(shared, &self.target, self.asked.plan()).await?;
            let modes = self.modes(&opened, arrangement.rounds)?;
            let (versions, wanted) = self.versions(&opened).await?;
            let choices = StepChoices {
                folder: opened.folder.clone(),
                wanted,
                modes,
                order: self.order.into(),
                skip_broken: self.skip_broken,
                until_stable: self.until == Some(Until::Stable),
                retry: self.retry,
                builds_ahead: !self.no_builds_ahead,
            };
            question.choices.step = Some(choices);
            let store = files::open_store(shared).await?;
            let site = Site::open(opened, versions).await?;
            let asking = Asking {
                question,
                arrangement,
                catalog,
                seed,
            };
            asking.begin(&store, site, self.name, &self.watching).await
        })
    }

    /// The versions that may be asked for, oldest first, and the positions of those that are wanted.
    async fn versions(&self, opened: &Opened) -> miette::Result<(Vec<Version>, Vec<usize>)> {
        let range = match (&self.from, &self.to, self.last) {
            (Some(from), Some(to), _) => Range::Between {
                from: from.clone(),
                to: to.clone(),
            },
            (_, _, Some(back)) => Range::Last(back),
            _ => return Err(miette::miette!("say --from and --to, or --last")),
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
    fn modes(&self, opened: &Opened, rounds: u32) -> miette::Result<Modes> {
        let target = &opened.target;
        let count = |mode: Mode| -> miette::Result<u32> {
            if !self.modes.is_empty() && !self.modes.contains(&mode) {
                return Ok(1);
            }
            if self.modes.is_empty() && mode != Mode::Again {
                return Ok(1);
            }
            repeats(&self.repeat, mode, rounds)
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
            return Ok(Modes {
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
        Ok(Modes {
            again,
            reboot,
            layouts,
        })
    }
}

/// How often a mode is repeated: `5` for all, `reboot=3` for one.
fn repeats(said: &[String], mode: Mode, otherwise: u32) -> miette::Result<u32> {
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

/// Where versions are built: the target with its workshop, and what makes measurements on it comparable.
struct Site {
    document: Document,
    workshop: Workshop,
    machine: Vec<(String, String)>,
}

impl Site {
    async fn open(opened: Opened, versions: Vec<Version>) -> miette::Result<Self> {
        let reach = Reach::with_this_program().into_diagnostic()?;
        let bench = Workbench::start(&reach).await.into_diagnostic()?;
        let (machine, facts) = bench.machine().await.into_diagnostic()?;
        let workshop = Workshop::open(
            opened.target,
            &opened.folder,
            &opened.place,
            opened.history,
            versions,
            bench,
            machine,
        );
        let workshop = workshop.await.into_diagnostic()?;
        let machine = measures_as(&facts, &workshop.target().activate)?;
        Ok(Self {
            document: opened.document,
            workshop,
            machine,
        })
    }
}

/// What makes measurements comparable: another processor, another way to bring it to run, or another clock is another
/// history.
fn measures_as(
    facts: &BTreeMap<String, String>,
    activate: &Activate,
) -> miette::Result<Vec<(String, String)>> {
    let mut machine: Vec<(String, String)> = ["architecture", "cpu.model", "cpus"]
        .iter()
        .filter_map(|fact| Some(((*fact).to_owned(), facts.get(*fact)?.clone())))
        .collect();
    let activate = serde_json::to_string(activate).into_diagnostic()?;
    machine.push(("activate".to_owned(), activate));
    Ok(machine)
}

/// A question along a history, with all that it is asked with.
struct Asking {
    question: Question,
    arrangement: Arrangement,
    catalog: Catalog,
    seed: u32,
}

impl Asking {
    fn choices(&self) -> miette::Result<&StepChoices> {
        let choices = self.question.choices.step.as_ref();
        choices.ok_or_else(|| miette::miette!("this study says nothing of a history"))
    }

    fn policy(&self, site: &Site, cells: usize) -> miette::Result<StepPolicy> {
        let choices = self.choices()?;
        Ok(StepPolicy {
            versions: site.workshop.versions().len(),
            wanted: choices.wanted.clone(),
            layouts: choices.modes.layouts.len(),
            boots: choices.modes.reboot,
            rounds: choices.modes.again,
            cells,
            order: choices.order,
            revisits: site.workshop.target().activate.boot.can_be_revisited(),
            skip_broken: choices.skip_broken,
            until_stable: choices.until_stable,
            seed: self.seed,
        })
    }

    fn questions(&self, site: &Site, cells: &[Cell]) -> Vec<String> {
        let definition = |name: &BenchmarkName| {
            let found = self.catalog.find(name).ok().flatten()?;
            Some(found.document.clone())
        };
        questions(&self.arrangement, cells, definition, &site.machine)
    }

    async fn evidence(
        &self,
        store: &Store,
        site: &Site,
        questions: &[String],
        study: Option<StudyId>,
    ) -> miette::Result<Evidence> {
        let choices = self.choices()?;
        let along = Along {
            study,
            layouts: &choices.modes.layouts,
            questions,
            retry: choices.retry,
        };
        evidence_along(store, &site.workshop, along)
            .await
            .into_diagnostic()
    }

    /// Makes a study of what isn't known yet, and measures it.
    async fn begin(
        self,
        store: &Store,
        site: Site,
        name: Option<StudyName>,
        watching: &Watching,
    ) -> miette::Result<ExitCode> {
        let chosen = name.is_some();
        let mut name = match name {
            Some(name) => name,
            None => free_name(store, VERB).await?,
        };
        let session = Session::open(&self.arrangement, &name, watching, true).await?;
        let cells = session.cells()?;
        let questions = self.questions(&site, &cells);
        let evidence = self.evidence(store, &site, &questions, None).await?;
        let policy = self.policy(&site, cells.len())?;
        let known = evidence
            .observations
            .iter()
            .filter(|o| o.is_trial())
            .count();
        if let Decision::Done(_) = policy.decide(&evidence) {
            let target = &site.workshop.target().name;
            files::say(&format!(
                "{}: nothing is missing: {known} trials of this are in the store; `backsight history --target {}` shows them",
                **target, **target
            ));
            session.conductor.finish().await;
            site.workshop.finish().await;
            return Ok(ExitCode::SUCCESS);
        }
        let target = NewTarget {
            name: (*site.workshop.target().name).clone(),
            versions: site.workshop.versions().to_vec(),
            questions: questions.clone(),
        };
        let document = StudyDocument {
            kind: "target".to_owned(),
            name: site.document.name.clone(),
            text: site.document.text.to_string(),
        };
        let id = loop {
            let plain = new_study(
                &self.question,
                &self.catalog,
                (
                    &self.arrangement,
                    site.workshop.target().activate.simulator(),
                ),
                &name,
                &cells,
                self.seed,
            );
            let mut documents = plain.documents.clone();
            documents.push(document.clone());
            let new = NewStudy {
                verb: VERB.to_owned(),
                documents,
                target: Some(target.clone()),
                ..plain
            };
            match store.create_study(&new).await {
                Err(StoreError::NameTaken { .. }) if !chosen => {
                    name = free_name(store, VERB).await?;
                }
                made => break made.into_diagnostic()?,
            }
        };
        self.measure(store, site, session, (id, name), cells, evidence, false)
            .await
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one study")]
    async fn measure(
        self,
        store: &Store,
        site: Site,
        mut session: Session,
        (id, name): (StudyId, StudyName),
        cells: Vec<Cell>,
        evidence: Evidence,
        after_kill: bool,
    ) -> miette::Result<ExitCode> {
        session.prepare(store, id, &cells, after_kill).await?;
        let policy = self.policy(&site, cells.len())?;
        let choices = self.choices()?;
        let row = store.study_of(id).await.into_diagnostic()?;
        let study = Study {
            id,
            name: name.clone(),
            cells: cells.clone(),
            rounds: choices.modes.again,
            seed: self.seed,
            on_failure: self.arrangement.on_failure,
            versions: site.workshop.versions().to_vec(),
            trials: u32::try_from(row.measured + row.failed).unwrap_or(u32::MAX),
            boots: match policy.revisits {
                true => Some(boots(store, id, &choices.modes.layouts).await?),
                false => None,
            },
        };
        let (events, stop) = (session.events.clone(), session.stop.clone());
        let quiet = session.quiet;
        let target = (*site.workshop.target().name).clone();
        let mut along = AlongHistory::new(
            session.conductor,
            site.workshop,
            &self.catalog,
            (cells, choices.modes.layouts.clone()),
            events.clone(),
            stop,
            choices.builds_ahead,
        );
        let pursued = pursue(&policy, study, evidence, store, &mut along, &events).await;
        along.finish().await;
        match pursued {
            Ok(pursuit) => {
                if !quiet {
                    files::print(&history::summary(store, &target).await?)?;
                }
                if let Some(verdict) = &pursuit.verdict
                    && !verdict.broken.is_empty()
                {
                    files::say(&format!(
                        "{name}: {} of the versions don't build or boot",
                        verdict.broken.len()
                    ));
                }
                if pursuit.verdict.as_ref().is_some_and(|v| v.stable) {
                    files::say(&format!(
                        "{name}: ended early: two passes one after the other saw the same change points"
                    ));
                }
                Ok(conclude(&name, &pursuit))
            }
            Err(error) => {
                let way_out =
                    format!("what was measured before is kept; `backsight resume {name}` goes on");
                files::say(&format!("{:?}", miette::miette!(help = way_out, "{error}")));
                Ok(ExitCode::from(crate::SOMETHING_FAILED))
            }
        }
    }
}

/// Boots of a study that can be gone back to, with their numbers.
async fn boots(
    store: &Store,
    study: StudyId,
    layouts: &[Layout],
) -> miette::Result<HashMap<(usize, usize, u32), u32>> {
    let history = store.study_history(study).await.into_diagnostic()?;
    let place = |boot: &backsight_model::Boot| {
        let build = history.builds.iter().find(|b| b.number == boot.build)?;
        let layout = layouts.iter().position(|layout| *layout == build.layout)?;
        Some(((build.version, layout, boot.ordinal), boot.number))
    };
    let good = history.boots.iter().filter(|boot| boot.failure.is_none());
    Ok(good.filter_map(place).collect())
}

/// Goes on with a study of `step`.
pub async fn resume(
    store: &Store,
    study: StudyRow,
    documents: &[StudyDocument],
    question: Question,
    catalog: Catalog,
    watching: &Watching,
) -> miette::Result<ExitCode> {
    let arrangement = question.arrange(&catalog)?;
    let target = documents.iter().find(|document| document.kind == "target");
    let target = target.ok_or_else(|| miette::miette!("this study has no target"))?;
    let folder = question
        .choices
        .step
        .as_ref()
        .map(|step| step.folder.clone());
    let document = Document::new(target.name.clone(), target.text.as_str());
    let opened = Opened::of(document, folder.unwrap_or_default(), store.dir().to_owned()).await?;
    let versions = store.versions(study.id).await.into_diagnostic()?;
    let site = Site::open(opened, versions).await?;
    let asking = Asking {
        question,
        arrangement,
        catalog,
        seed: study.seed,
    };
    let known = store.study_history(study.id).await.into_diagnostic()?;
    for build in &known.builds {
        let place = site.workshop.place(build.version, build.layout);
        if place.key != build.key {
            return Err(miette::miette!(
                help = "begin a new study with `backsight step`: what is the same is taken from this one",
                "study `{}` can't go on: a patch or the tool chain isn't what it was when {} was built",
                study.name,
                site.workshop.versions()[build.version].name
            ));
        }
    }
    let killed = study.was_killed();
    let session = Session::open(&asking.arrangement, &study.name, watching, true).await?;
    let cells = store.cells(study.id).await.into_diagnostic()?;
    let questions: Vec<String> = known.cells.iter().map(|cell| cell.key.clone()).collect();
    let evidence = asking
        .evidence(store, &site, &questions, Some(study.id))
        .await?;
    asking
        .measure(
            store,
            site,
            session,
            (study.id, study.name),
            cells,
            evidence,
            killed,
        )
        .await
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
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let opened = Opened::named(shared, &self.target, None).await?;
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
    fn seconds_and_instructions_make_histories_of_their_own() {
        let facts = [("cpus".to_owned(), "2".to_owned())].into_iter().collect();
        let clock = |icount| {
            let activate = Activate {
                boot: BootKind::Qemu,
                icount,
                ..Activate::default()
            };
            let machine = measures_as(&facts, &activate).unwrap();
            (machine, activate.simulator())
        };
        let clocks = [clock(None), clock(Some(2)), clock(Some(3))];
        for (at, one) in clocks.iter().enumerate() {
            for other in &clocks[at + 1..] {
                assert!(one.0 != other.0 && one.1 != other.1, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn repeats_are_for_all_modes_or_each_its_own() {
        let of = |said: &[&str], mode| {
            let said: Vec<String> = said.iter().map(ToString::to_string).collect();
            repeats(&said, mode, 5)
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
