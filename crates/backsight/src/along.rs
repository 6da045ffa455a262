//! What all verbs along a history have in common: where versions are built, beginning a study, measuring, going on.
//!
//! A verb of its own adds its arguments, its policy out of what was chosen ([`AlongVerb::policy`]), and what it says at
//! the end ([`AlongVerb::conclude`]).
//!
//! Refuses: to know what a verb wants to find out.

use backsight_catalog::Catalog;
use backsight_conductor::{Reach, Workbench};
use backsight_history::{Diff, Workshop};
use backsight_model::{
    Activate, Amendment, Arrangement, BenchmarkName, Boot, BootKind, Cell, CellMetric, Document,
    Event, HistoryCell, HistoryTestbed, Layout, StudyName, TargetName, Version,
};
use backsight_policy::{Decision, Evidence, Policy};
use backsight_store::{NewStudy, NewTarget, Store, StoreError, StudyDocument, StudyId, StudyRow};
use backsight_study::{
    Along, AlongChoices, AlongHistory, BootPlace, Choices, Pursuit, Question, Study,
    evidence_along, evidence_of, pursue, questions,
};
use miette::IntoDiagnostic as _;
use std::{
    collections::{BTreeMap, HashMap},
    marker::PhantomData,
    process::ExitCode,
};

use crate::{
    exit_status::ExitStatus,
    files,
    output::Told,
    run::{Posed, Session, Watching, broke_off, free_name, new_study},
    target::Opened,
};

/// What a verb along a history adds to what all of them do.
pub trait AlongVerb {
    /// Its name in the store.
    const VERB: &'static str;
    /// Whether what other studies found is evidence for it. Builds that are there are shared by all.
    const SHARES: bool;
    /// What it asks for.
    type Policy: Policy;

    /// Its policy, out of what was chosen when the study began.
    fn policy(ground: &Ground<'_>) -> miette::Result<Self::Policy>;

    /// Trials of each cell on a boot, for the display; 0 where that shows only as it goes.
    fn rounds(choices: &Choices) -> u32;

    /// Whether all layouts of a version are made while its tree is there. Where each is made when it is asked for, it is
    /// known what it costs.
    fn lays_out_ahead() -> bool {
        true
    }

    /// What is said, instead of making a study, where so many trials that are known already answer the question so, and
    /// the status. Nothing if a study is made all the same.
    fn nothing_missing(
        _target: &TargetName,
        _known: usize,
        _verdict: &<Self::Policy as Policy>::Verdict,
        _versions: &[Version],
    ) -> Option<(String, ExitStatus)> {
        None
    }

    /// Says what came of it, and with which status it ends.
    async fn conclude(
        ended: Concluded<'_, <Self::Policy as Policy>::Verdict>,
    ) -> miette::Result<ExitCode>;
}

/// What a verb's policy stands on.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// What was chosen.
    pub choices: &'a Choices,
    /// How many versions the study may ask for, amended ones among them.
    pub versions: usize,
    /// Positions of those that the target says aren't built.
    pub skipped: &'a [usize],
    /// The cells with their metrics.
    pub cells: &'a [HistoryCell],
    /// Whether a boot can be gone back to after others.
    pub revisits: bool,
    /// Seed of the orders.
    pub seed: u32,
}

/// A study that has come to an end, or was stopped.
pub struct Concluded<'a, Verdict> {
    /// Where it is kept.
    pub store: &'a Store,
    /// Its number there.
    pub id: StudyId,
    /// Its name.
    pub name: &'a StudyName,
    /// Whose history it is about.
    pub target: &'a TargetName,
    /// How its verdict is told.
    pub told: Told,
    /// How far it came.
    pub pursuit: Pursuit<Verdict>,
}

/// What a verb has chosen, which its studies have.
pub fn chosen<T>(choices: Option<&T>) -> miette::Result<&T> {
    choices.ok_or_else(|| miette::miette!("this study says nothing of what it asks"))
}

/// Where versions are built: the target with its workshop, and what makes measurements on it comparable.
pub struct Site {
    document: Document,
    /// What builds the versions.
    pub workshop: Workshop,
    machine: Vec<(String, String)>,
    diffs: Vec<Diff>,
}

impl Site {
    /// Opens the workshop of a target for these versions; `diffs` are those of their amendments.
    pub async fn open(
        opened: Opened,
        versions: Vec<Version>,
        diffs: Vec<Diff>,
    ) -> miette::Result<Self> {
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
        let workshop = workshop.amended(&diffs).into_diagnostic()?;
        let machine = measures_as(&facts, &workshop.target().activate)?;
        Ok(Self {
            document: opened.document,
            workshop,
            machine,
            diffs,
        })
    }

    fn revisits(&self) -> bool {
        self.workshop.target().activate.boot.can_be_revisited()
    }

    /// The target and the diffs, as they are kept with a study.
    fn documents(&self) -> Vec<StudyDocument> {
        let target = StudyDocument {
            kind: "target".to_owned(),
            name: self.document.name.clone(),
            text: self.document.text.to_string(),
        };
        let diffs = self.diffs.iter().map(|diff| {
            let (kind, name) = match &diff.amendment {
                Amendment::Patch { name, .. } => ("patch", name),
                Amendment::Revert { name, .. } => ("revert", name),
            };
            StudyDocument {
                kind: kind.to_owned(),
                name: name.clone(),
                text: diff.text.clone(),
            }
        });
        std::iter::once(target).chain(diffs).collect()
    }
}

/// The diffs of these versions' amendments, out of what a study has kept.
fn kept_diffs(versions: &[Version], documents: &[StudyDocument]) -> Vec<Diff> {
    let amendments = versions.iter().flat_map(|version| &version.amendments);
    let found = amendments.filter_map(|amendment| {
        let mut texts = documents.iter().map(|document| document.text.as_str());
        texts.find_map(|text| Diff::kept(amendment, text))
    });
    found.collect()
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
pub struct Asking<V> {
    question: Question,
    arrangement: Arrangement,
    catalog: Catalog,
    seed: u32,
    verb: PhantomData<V>,
}

/// What identifies each cell's question, on each testbed.
type Questions = Vec<Vec<String>>;

/// A study with its cells and what is known of them.
struct Begun {
    id: StudyId,
    name: StudyName,
    cells: Vec<HistoryCell>,
    evidence: Evidence,
    /// An earlier process was killed while it measured.
    after_kill: bool,
}

impl<V: AlongVerb> Asking<V> {
    /// A question of this verb.
    pub fn of(posed: Posed) -> Self {
        let Posed {
            question,
            arrangement,
            catalog,
            seed,
        } = posed;
        Self {
            question,
            arrangement,
            catalog,
            seed,
            verb: PhantomData,
        }
    }

    fn along(&self) -> miette::Result<AlongChoices> {
        let along = self.question.choices.along();
        along.ok_or_else(|| miette::miette!("this study says nothing of a history"))
    }

    fn policy(&self, site: &Site, cells: &[HistoryCell]) -> miette::Result<V::Policy> {
        let versions = site.workshop.versions().len();
        let skips = |version: &usize| site.workshop.skips(*version).is_some();
        let skipped: Vec<usize> = (0..versions).filter(skips).collect();
        V::policy(&Ground {
            choices: &self.question.choices,
            versions,
            skipped: &skipped,
            cells,
            revisits: site.revisits(),
            seed: self.seed,
        })
    }

    /// The plan's testbed, and those that measure at once with it.
    fn arrangements(&self) -> miette::Result<Vec<Arrangement>> {
        let beside = self.along()?.beside;
        let others = beside.iter().map(|testbed| {
            let arranged = self.question.arrange_on(&self.catalog, Some(testbed));
            Ok(arranged?)
        });
        let own = std::iter::once(Ok(self.arrangement.clone()));
        own.chain(others).collect()
    }

    async fn session(
        &self,
        site: &Site,
        name: &StudyName,
        watching: &Watching,
    ) -> miette::Result<Session> {
        let arrangements = self.arrangements()?;
        let session = Session::open_along(&arrangements, name, watching).await?;
        if let Err(why) = said_of_this_machine(&session, &site.workshop.target().activate) {
            session.finish().await;
            return Err(why);
        }
        Ok(session)
    }

    /// What identifies the questions of these cells, on each testbed.
    fn questions(&self, site: &Site, cells: &[Cell]) -> miette::Result<Questions> {
        let definition = |name: &BenchmarkName| {
            let found = self.catalog.find(name).ok().flatten()?;
            Some(found.document.clone())
        };
        let arrangements = self.arrangements()?;
        let of = |it: &Arrangement| questions(it, cells, definition, &site.machine);
        Ok(arrangements.iter().map(of).collect())
    }

    /// The cells with what identifies their questions on the plan's testbed.
    fn with_keys(&self, site: &Site, cells: Vec<Cell>, keys: &[String]) -> Vec<HistoryCell> {
        let clock = site.workshop.target().activate.simulator();
        let with_keys = cells.into_iter().zip(keys).map(|(cell, key)| {
            let key = key.clone();
            let benchmark = self.arrangement.benchmarks.get(&cell.benchmark);
            let metrics = benchmark.map(|benchmark| crate::run::shapes(benchmark, clock));
            let metrics = metrics.into_iter().flatten().map(|shape| CellMetric {
                name: shape.name,
                unit: shape.unit,
                better: shape.better,
                about: shape.about,
                primary: shape.primary,
                simulator: shape.simulator,
            });
            HistoryCell {
                metrics: metrics.collect(),
                cell,
                key,
            }
        });
        with_keys.collect()
    }

    async fn evidence(
        &self,
        store: &Store,
        site: &Site,
        questions: &[Vec<String>],
        study: Option<StudyId>,
    ) -> miette::Result<Evidence> {
        let choices = self.along()?;
        if !V::SHARES {
            let Some(study) = study else {
                return Ok(Evidence::default());
            };
            let own = store.study_history(study).await.into_diagnostic()?;
            return Ok(evidence_of(&own, &choices.layouts));
        }
        let along = Along {
            study,
            layouts: &choices.layouts,
            questions,
            retry: choices.retry,
        };
        evidence_along(store, &site.workshop, along)
            .await
            .into_diagnostic()
    }

    /// Makes a study of what isn't known yet, and measures it.
    pub async fn begin(
        self,
        store: &Store,
        site: Site,
        name: Option<StudyName>,
        watching: &Watching,
    ) -> miette::Result<ExitCode> {
        let chosen = name.is_some();
        let name = match name {
            Some(name) => name,
            None => free_name(store, V::VERB).await?,
        };
        let session = self.session(&site, &name, watching).await?;
        let cells = session.cells()?;
        let questions = self.questions(&site, &cells)?;
        let cells = self.with_keys(&site, cells, &questions[0]);
        let evidence = self.evidence(store, &site, &questions, None).await?;
        let policy = self.policy(&site, &cells)?;
        let trials = evidence.observations.iter().filter(|o| o.is_trial());
        let known = match policy.decide(&evidence) {
            Decision::Done(verdict) => {
                let (target, versions) = (&site.workshop.target().name, site.workshop.versions());
                V::nothing_missing(target, trials.count(), &verdict, versions)
            }
            _ => None,
        };
        if let Some((known, status)) = known {
            files::say(&known);
            let told = session.told.clone();
            session.finish().await;
            let target = site.workshop.target().name.clone();
            site.workshop.finish().await;
            // Who asked for a format waits for it, also where nothing was to be measured.
            if told.output.is_asked() {
                crate::history::tell_in(store, &target, &told.output).await?;
            }
            return Ok(status.into());
        }
        let kept = (&cells[..], questions);
        let (id, name) = self.create(store, &site, name, chosen, kept).await?;
        let begun = Begun {
            id,
            name,
            cells,
            evidence,
            after_kill: false,
        };
        self.measure(store, site, session, begun).await
    }

    /// Makes the study; under another name if that was free a moment ago and nobody chose it.
    async fn create(
        &self,
        store: &Store,
        site: &Site,
        mut name: StudyName,
        chosen: bool,
        (cells, questions): (&[HistoryCell], Questions),
    ) -> miette::Result<(StudyId, StudyName)> {
        let arrangements = self.arrangements()?;
        let testbeds = arrangements.into_iter().zip(questions);
        let testbeds = testbeds.map(|(it, questions)| HistoryTestbed {
            name: it.testbed,
            questions,
        });
        let mut testbeds: Vec<HistoryTestbed> = testbeds.collect();
        if testbeds.len() < 2 {
            testbeds.clear();
        }
        let target = NewTarget {
            name: (*site.workshop.target().name).clone(),
            versions: site.workshop.versions().to_vec(),
            questions: cells.iter().map(|cell| cell.key.clone()).collect(),
            testbeds,
        };
        let clock = site.workshop.target().activate.simulator();
        loop {
            let mut new = new_study(
                &self.question,
                &self.catalog,
                (&self.arrangement, clock),
                &name,
                &plain(cells),
                self.seed,
            );
            new.documents.extend(site.documents());
            let new = NewStudy {
                verb: V::VERB.to_owned(),
                target: Some(target.clone()),
                ..new
            };
            match store.create_study(&new).await {
                Err(StoreError::NameTaken { .. }) if !chosen => {
                    name = free_name(store, V::VERB).await?;
                }
                made => return Ok((made.into_diagnostic()?, name)),
            }
        }
    }

    async fn measure(
        self,
        store: &Store,
        site: Site,
        mut session: Session,
        begun: Begun,
    ) -> miette::Result<ExitCode> {
        let Begun {
            id, name, cells, ..
        } = begun;
        let policy = self.policy(&site, &cells)?;
        let revisits = site.revisits();
        let cells = plain(&cells);
        session.prepare(store, id, &cells, begun.after_kill).await?;
        let choices = self.along()?;
        let row = store.study_of(id).await.into_diagnostic()?;
        let study = Study {
            id,
            name: name.clone(),
            cells: cells.clone(),
            rounds: V::rounds(&self.question.choices),
            seed: self.seed,
            on_failure: self.arrangement.on_failure,
            versions: site.workshop.versions().to_vec(),
            trials: u32::try_from(row.measured + row.failed).unwrap_or(u32::MAX),
            testbeds: session.testbeds(),
            boots: match revisits {
                true => Some(boots(store, id, &choices.layouts).await?),
                false => None,
            },
        };
        let (events, stop) = (session.events.clone(), session.stop.clone());
        let told = session.told.clone();
        let target = (*site.workshop.target().name).clone();
        let mut along = AlongHistory::new(
            session.conductor,
            site.workshop,
            &self.catalog,
            (cells, choices.layouts),
            events.clone(),
            stop,
            choices.builds_ahead,
        );
        along.lays_out_ahead = V::lays_out_ahead();
        let mut lanes = Vec::with_capacity(1 + session.beside.len());
        for conductor in session.beside {
            let events = events.on(conductor.arrangement().testbed.clone());
            lanes.push(along.beside(conductor, events));
        }
        if !lanes.is_empty() {
            along.events = events.on(along.conductor.arrangement().testbed.clone());
        }
        lanes.insert(0, along);
        let evidence = begun.evidence;
        let pursued = pursue(&policy, study, evidence, store, &mut lanes, &events).await;
        for lane in lanes {
            lane.finish().await;
        }
        match pursued {
            Ok(pursuit) => {
                V::conclude(Concluded {
                    store,
                    id,
                    name: &name,
                    target: &target,
                    told,
                    pursuit,
                })
                .await
            }
            Err(error) => Ok(broke_off(&name, &error)),
        }
    }

    /// Goes on with a study of this verb.
    pub async fn resume(
        store: &Store,
        study: StudyRow,
        documents: &[StudyDocument],
        question: Question,
        catalog: Catalog,
        watching: &Watching,
    ) -> miette::Result<ExitCode> {
        let target = documents.iter().find(|document| document.kind == "target");
        let target = target.ok_or_else(|| miette::miette!("this study has no target"))?;
        let asking = Self::of(Posed::of(question, catalog, study.seed)?);
        let document = Document::new(target.name.clone(), target.text.as_str());
        let folder = asking.along()?.folder;
        let opened = Opened::of(document, folder, store.dir().to_owned()).await?;
        let versions = store.versions(study.id).await.into_diagnostic()?;
        let diffs = kept_diffs(&versions, documents);
        let site = Site::open(opened, versions, diffs).await?;
        let known = store.study_history(study.id).await.into_diagnostic()?;
        for build in &known.builds {
            let place = site.workshop.place(build.version, build.layout);
            if place.key != build.key {
                return Err(miette::miette!(
                    help = format!(
                        "begin a new study with `backsight {}`: what is the same is taken from this one",
                        V::VERB
                    ),
                    "study `{}` can't go on: a patch or the tool chain isn't what it was when {} was built",
                    study.name,
                    site.workshop.versions()[build.version].full_name()
                ));
            }
        }
        let session = asking.session(&site, &study.name, watching).await?;
        let evidence = asking
            .evidence(store, &site, &known.questions(), Some(study.id))
            .await?;
        let begun = Begun {
            id: study.id,
            after_kill: study.was_killed(),
            name: study.name,
            cells: known.cells,
            evidence,
        };
        asking.measure(store, site, session, begun).await
    }
}

/// Says that testbeds on this machine disturb each other; refuses them where one would install over the other's build.
fn said_of_this_machine(session: &Session, activate: &Activate) -> miette::Result<()> {
    let all = std::iter::once(&session.conductor).chain(&session.beside);
    let here = all.filter(|conductor| !conductor.is_elsewhere());
    let here: Vec<&str> = here.map(|it| it.arrangement().testbed.as_str()).collect();
    if here.len() < 2 {
        return Ok(());
    }
    let names = here.join(", ");
    if activate.boot == BootKind::Install {
        return Err(miette::miette!(
            help = "measure on one of them, or on other machines",
            "the testbeds {names} are on this machine, where each build is installed over the one before: they can't measure at once"
        ));
    }
    let message = format!(
        "the testbeds {names} are on this machine: what they measure at once disturbs each other where it uses the same processors"
    );
    session.events.tell(&Event::Warning { message });
    Ok(())
}

fn plain(cells: &[HistoryCell]) -> Vec<Cell> {
    cells.iter().map(|cell| cell.cell.clone()).collect()
}

/// Boots of a study that can be gone back to, with their numbers.
async fn boots(
    store: &Store,
    study: StudyId,
    layouts: &[Layout],
) -> miette::Result<HashMap<BootPlace, u32>> {
    let history = store.study_history(study).await.into_diagnostic()?;
    let place = |boot: &Boot| {
        let build = history.builds.iter().find(|b| b.number == boot.build)?;
        let layout = layouts.iter().position(|layout| *layout == build.layout)?;
        let place = (boot.testbed, build.version, layout, boot.ordinal);
        Some((place, boot.number))
    };
    let good = history.boots.iter().filter(|boot| boot.failure.is_none());
    Ok(good.filter_map(place).collect())
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
}
