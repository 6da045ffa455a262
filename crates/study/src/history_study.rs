//! Studies along a history: where versions are built, beginning a study, measuring, going on.
//!
//! A verb adds its policy ([`HistoryVerb::policy`]) and its outcome ([`HistoryVerb::conclude`]).

use backsight_conductor::{Conductor, Events, HostAccess, Lease, Workbench};
use backsight_history::{Diff, Workshop};
use backsight_model::{
    Activate, Amendment, Arrangement, BenchmarkName, Boot, BootKind, Cell, Event, HistoryCell,
    HistoryTestbed, Layout, StudyName, TargetName, TomlDocument, Version,
};
use backsight_policy::{Decision, Evidence, Policy};
use backsight_store::{NewTarget, Store, StudyDocument, StudyId, StudyRow};
use miette::IntoDiagnostic as _;
use std::{
    collections::{BTreeMap, HashMap},
    marker::PhantomData,
};

use crate::{
    BootPlace, Choices, EndedStudy, HistoryChoices, HistoryMeasurer, OpenTarget, Progress,
    ResolvedPlan, Session, SessionOptions, StudyEnding, StudyOutcome, StudySetup,
    evidence::{EvidenceScope, evidence_along, evidence_of_study},
    free_hosts::lease_free_hosts,
    host_records::{store_records_at_end, warn_of_other_hosts},
    open_target::no_target,
    question_identity::{QuestionPlace, question_identities},
    reference::{BesideReference, Reference},
    reservation_wait::await_reservations,
    resolved_plan::{Naming, metric_shapes},
    study_loop::run_study_loop,
    verbs::{Resumed, Verb},
    wanted_settings::wanted_settings,
};

/// A verb along a history.
pub trait HistoryVerb: Verb {
    /// Whether evidence of other studies is evidence for it. Builds are shared by all.
    const SHARES_EVIDENCE: bool;
    /// Its policy.
    type Policy: Policy;

    /// The policy of a study.
    ///
    /// # Errors
    /// The plan doesn't fit the choices.
    fn policy(inputs: &PolicyInputs<'_>) -> miette::Result<Self::Policy>;

    /// Trials of each cell on a boot, for the display; 0 where that shows only as it goes.
    fn rounds(choices: &Choices) -> u32;

    /// Whether all layouts of a version are made while its tree is there. Where each is made when it is asked for, it is
    /// known what it costs.
    fn lays_out_ahead() -> bool {
        true
    }

    /// The answer where the `known` trials of other studies answer the question so: its words, and what it means to a
    /// script. None if a study is made all the same.
    fn nothing_missing(
        _target: &TargetName,
        _known: usize,
        _verdict: &<Self::Policy as Policy>::Verdict,
        _versions: &[Version],
    ) -> Option<(String, StudyEnding)> {
        None
    }

    /// What a study without a name of its own is called, before its number.
    fn name_stem(_choices: &Choices) -> &'static str {
        Self::NAME
    }

    /// What is done when the hosts are leased and nothing is measured yet: an earlier study that asked the same may be gone on with,
    /// and what it will take may be said.
    fn before_measuring(
        _before: BeforeMeasuring<'_, Self::Policy>,
    ) -> impl Future<Output = miette::Result<Option<StudyRow>>> {
        async { Ok(None) }
    }

    /// The verdict of a study that has ended, or was stopped, and what it means.
    fn conclude(
        ended: EndedLoop<'_, <Self::Policy as Policy>::Verdict>,
    ) -> impl Future<Output = miette::Result<EndedStudy>>;
}

/// What a policy along a history is made from.
#[derive(Debug, Clone, Copy)]
pub struct PolicyInputs<'a> {
    /// The study's choices.
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

/// A study that is about to be begun.
pub struct BeforeMeasuring<'a, Policy> {
    /// Where it will be stored.
    pub store: &'a Store,
    /// Its choices.
    pub choices: &'a Choices,
    /// Where its versions are built.
    pub site: &'a BuildContext,
    /// Its policy.
    pub policy: &'a Policy,
    /// Its cells.
    pub cells: &'a [HistoryCell],
    /// Whoever watches listens here.
    pub events: &'a Events,
}

/// A study whose loop has come to an end, or was stopped.
pub struct EndedLoop<'a, Verdict> {
    /// Where it is stored.
    pub store: &'a Store,
    /// The study.
    pub study: StudyRow,
    /// Whose history it is about.
    pub target: &'a TargetName,
    /// How far it came.
    pub progress: Progress<Verdict>,
}

/// Where versions are built: the target with its workshop, and what makes measurements on it comparable.
pub struct BuildContext {
    document: TomlDocument,
    /// What builds the versions.
    pub workshop: Workshop,
    machine: Vec<(String, String)>,
    diffs: Vec<Diff>,
}

impl BuildContext {
    /// Opens the workshop of a target for these versions; `diffs` are those of their amendments.
    ///
    /// # Errors
    /// No agent can be started here, or a diff doesn't fit its version.
    pub async fn open(
        opened: OpenTarget,
        versions: Vec<Version>,
        diffs: Vec<Diff>,
        reach: &HostAccess,
    ) -> miette::Result<Self> {
        let bench = Workbench::start(reach).await.into_diagnostic()?;
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
        let target = StudyDocument::new("target", &self.document);
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
        texts.find_map(|text| Diff::from_text(amendment, text))
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

/// What identifies each cell's question, on each testbed.
type Questions = Vec<Vec<String>>;

/// A plan along a history: what is the same for all verbs.
struct HistoryPlan(ResolvedPlan);

/// A study whose hosts are leased.
struct LeasedStudy {
    site: BuildContext,
    session: Session,
    cells: Vec<HistoryCell>,
    questions: Questions,
    evidence: Evidence,
}

/// A study that is about to be measured.
struct MeasurableStudy<'a> {
    setup: StudySetup,
    measurers: Vec<BesideReference<'a, HistoryMeasurer<'a>>>,
    events: Events,
    target: TargetName,
}

impl HistoryPlan {
    fn history(&self) -> miette::Result<HistoryChoices> {
        let history = self.0.question.choices.verb.history();
        history.ok_or_else(|| miette::miette!("this study says nothing of a history"))
    }

    /// The plan's testbed, and those that measure at once with it.
    fn arrangements(&self) -> miette::Result<Vec<Arrangement>> {
        self.0.arrangements(&self.history()?.more_testbeds)
    }

    async fn session(
        &self,
        site: &BuildContext,
        name: &StudyName,
        options: &SessionOptions,
        leased: Option<Lease>,
    ) -> miette::Result<Session> {
        let testbeds = self.0.testbeds(&self.history()?.more_testbeds)?;
        let session = Session::open_along_history(&testbeds, name, options, leased).await?;
        if let Err(why) = check_this_machine(&session, &site.workshop.target().activate) {
            session.finish().await;
            return Err(why);
        }
        Ok(session)
    }

    /// What identifies the questions of these cells, on each testbed.
    fn questions(
        &self,
        site: &BuildContext,
        session: &Session,
        cells: &[Cell],
    ) -> miette::Result<Questions> {
        let definition = |name: &BenchmarkName| {
            let found = self.0.catalog.find(name).ok().flatten()?;
            Some(found.document.clone())
        };
        let of = |conductor: &Conductor| {
            let arrangement = conductor.arrangement();
            let wanted = wanted_settings(arrangement, |host| conductor.machine_of(host))?;
            let place = QuestionPlace {
                arrangement,
                settings: &wanted,
                machine: &site.machine,
            };
            Ok(question_identities(place, cells, definition))
        };
        session.conductors().map(of).collect()
    }

    /// The cells with what identifies their questions on the plan's testbed.
    fn with_keys(
        &self,
        site: &BuildContext,
        cells: Vec<Cell>,
        keys: &[String],
    ) -> Vec<HistoryCell> {
        let clock = site.workshop.target().activate.simulator();
        let with_keys = cells.into_iter().zip(keys).map(|(cell, key)| {
            let key = key.clone();
            let arrangement = &self.0.arrangement;
            let benchmark = arrangement.benchmarks.get(&cell.benchmark);
            let metrics = benchmark.map(|it| metric_shapes(arrangement, it, clock));
            HistoryCell {
                metrics: metrics.unwrap_or_default(),
                cell,
                key,
            }
        });
        with_keys.collect()
    }

    async fn evidence(
        &self,
        store: &Store,
        site: &BuildContext,
        questions: &[Vec<String>],
        study: Option<StudyId>,
        shares_evidence: bool,
    ) -> miette::Result<Evidence> {
        let choices = self.history()?;
        if !shares_evidence {
            let Some(study) = study else {
                return Ok(Evidence::default());
            };
            let own = store.study_history(study).await.into_diagnostic()?;
            return Ok(evidence_of_study(&own, &choices.layouts));
        }
        let scope = EvidenceScope {
            study,
            layouts: &choices.layouts,
            questions,
            retry: choices.retry,
        };
        evidence_along(store, &site.workshop, scope)
            .await
            .into_diagnostic()
    }

    /// Leases the hosts for a new study, and reads what is known already.
    async fn lease(
        &mut self,
        store: &Store,
        site: BuildContext,
        name: &StudyName,
        shares_evidence: bool,
        options: &SessionOptions,
    ) -> miette::Result<LeasedStudy> {
        let more = self.history()?.more_testbeds;
        await_reservations(store, &self.0.testbeds(&more)?, options).await?;
        let leased = lease_free_hosts(&mut self.0, &more, name, options).await?;
        let session = self.session(&site, name, options, leased).await?;
        let cells = session.cells()?;
        let questions = self.questions(&site, &session, &cells)?;
        let cells = self.with_keys(&site, cells, &questions[0]);
        let evidence = self
            .evidence(store, &site, &questions, None, shares_evidence)
            .await?;
        Ok(LeasedStudy {
            site,
            session,
            cells,
            questions,
            evidence,
        })
    }

    /// Opens what a study was built from, if it is the same still, and leases its hosts again.
    async fn reopen(
        resumed: Resumed<'_>,
        shares_evidence: bool,
        options: &SessionOptions,
    ) -> miette::Result<(Self, LeasedStudy)> {
        let Resumed {
            store,
            study,
            documents,
            question,
            catalog,
            ..
        } = resumed;
        let document = StudyDocument::of_kind(&documents, "target").next();
        let document = document.ok_or_else(no_target)?;
        let this = Self(ResolvedPlan::new(question, catalog, study.seed)?);
        let folder = this.history()?.folder;
        let opened = OpenTarget::open(document, folder, store.dir().to_owned()).await?;
        let versions = store.versions(study.id).await.into_diagnostic()?;
        let diffs = kept_diffs(&versions, &documents);
        let site = BuildContext::open(opened, versions, diffs, &options.reach).await?;
        let known = store.study_history(study.id).await.into_diagnostic()?;
        for build in &known.builds {
            let place = site.workshop.place(build.version, build.layout);
            if place.key != build.key {
                return Err(miette::miette!(
                    help = format!(
                        "begin a new study with `backsight {}`: what is the same is taken from this one",
                        study.verb
                    ),
                    "study `{}` can't go on: a patch or the tool chain isn't what it was when {} was built",
                    study.name,
                    site.workshop.versions()[build.version].full_name()
                ));
            }
        }
        let testbeds = this.0.testbeds(&this.history()?.more_testbeds)?;
        await_reservations(store, &testbeds, options).await?;
        let session = this.session(&site, &study.name, options, None).await?;
        let questions = known.questions();
        let evidence = this
            .evidence(store, &site, &questions, Some(study.id), shares_evidence)
            .await?;
        let leased = LeasedStudy {
            site,
            session,
            cells: known.cells,
            questions,
            evidence,
        };
        Ok((this, leased))
    }

    async fn create(
        &self,
        store: &Store,
        site: &BuildContext,
        naming: Naming,
        (cells, questions): (&[HistoryCell], Questions),
    ) -> miette::Result<StudyId> {
        let arrangements = self.arrangements()?;
        let testbeds = arrangements.into_iter().zip(questions);
        let testbeds = testbeds.map(|(it, questions)| HistoryTestbed {
            name: it.testbed,
            questions,
        });
        let target = NewTarget {
            name: (*site.workshop.target().name).clone(),
            versions: site.workshop.versions().to_vec(),
            testbeds: testbeds.collect(),
        };
        let clock = site.workshop.target().activate.simulator();
        let mut new = self
            .0
            .new_study(naming.name.clone(), &plain(cells), clock)?;
        new.documents.extend(site.documents());
        new.questions = cells.iter().map(|cell| cell.key.clone()).collect();
        naming.create(store, new, Some(target)).await
    }

    /// Prepares the hosts, and makes the measurers of all testbeds.
    async fn prepare<'a>(
        &'a self,
        store: &'a Store,
        row: &StudyRow,
        site: BuildContext,
        mut session: Session,
        cells: Vec<Cell>,
        rounds: u32,
    ) -> miette::Result<MeasurableStudy<'a>> {
        let id = row.id;
        session.prepare(store, id, &cells, row.was_killed()).await?;
        let choices = self.history()?;
        let setup = StudySetup {
            id,
            name: row.name.clone(),
            cells: cells.clone(),
            rounds,
            seed: self.0.seed,
            on_failure: self.0.arrangement.on_failure,
            versions: site.workshop.versions().to_vec(),
            trials: u32::try_from(row.measured + row.failed).unwrap_or(u32::MAX),
            testbeds: session.testbeds(),
            boots: match site.revisits() {
                true => Some(boots(store, id, &choices.layouts).await?),
                false => None,
            },
        };
        let reference = Reference::open(store, row, &self.0, &mut session, cells.len()).await?;
        // What is built meanwhile on this machine would be measured too.
        let is_undisturbed = (reference.as_ref()).is_none_or(Reference::is_elsewhere);
        let (events, stop) = (session.events.clone(), session.stop.clone());
        let target = (*site.workshop.target().name).clone();
        let mut own = HistoryMeasurer::new(
            session.conductor,
            site.workshop,
            &self.0.catalog,
            (cells, choices.layouts),
            events.clone(),
            stop,
            choices.builds_ahead && is_undisturbed,
        );
        let mut measurers = Vec::with_capacity(1 + session.others.len());
        for conductor in session.others {
            let events = events.on_testbed(conductor.arrangement().testbed.clone());
            measurers.push(own.for_testbed(conductor, events));
        }
        if !measurers.is_empty() {
            own.events = events.on_testbed(own.conductor.arrangement().testbed.clone());
        }
        measurers.insert(0, own);
        let measurers = BesideReference::all(measurers, reference, setup.trials);
        Ok(MeasurableStudy {
            setup,
            measurers,
            events,
            target,
        })
    }
}

/// A study of a verb along a history.
pub struct HistoryStudy<V> {
    plan: HistoryPlan,
    verb: PhantomData<V>,
}

impl<V: HistoryVerb> HistoryStudy<V> {
    /// A study of this plan.
    pub fn new(plan: ResolvedPlan) -> Self {
        Self {
            plan: HistoryPlan(plan),
            verb: PhantomData,
        }
    }

    fn policy(&self, site: &BuildContext, cells: &[HistoryCell]) -> miette::Result<V::Policy> {
        let versions = site.workshop.versions().len();
        let skips = |version: &usize| site.workshop.skips(*version).is_some();
        let skipped: Vec<usize> = (0..versions).filter(skips).collect();
        V::policy(&PolicyInputs {
            choices: &self.plan.0.question.choices,
            versions,
            skipped: &skipped,
            cells,
            revisits: site.revisits(),
            seed: self.plan.0.seed,
        })
    }

    /// Makes a study of what isn't known yet, and measures it.
    ///
    /// # Errors
    /// The plan doesn't fit the choices, a host can't be had, or the store refuses.
    pub async fn begin(
        mut self,
        store: &Store,
        site: BuildContext,
        name: Option<StudyName>,
        options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        let stem = V::name_stem(&self.plan.0.question.choices);
        let naming = Naming::new(store, name, stem).await?;
        let name = naming.name.clone();
        let leased = self
            .plan
            .lease(store, site, &name, V::SHARES_EVIDENCE, options);
        let leased = leased.await?;
        let workshop = &leased.site.workshop;
        let policy = self.policy(&leased.site, &leased.cells)?;
        let before = BeforeMeasuring {
            store,
            choices: &self.plan.0.question.choices,
            site: &leased.site,
            policy: &policy,
            cells: &leased.cells,
            events: &options.events,
        };
        if let Some(earlier) = V::before_measuring(before).await? {
            return self.go_on_with(store, earlier, leased, options).await;
        }
        if let Decision::Done(verdict) = policy.decide(&leased.evidence) {
            let target = &workshop.target().name;
            let observations = leased.evidence.observations.iter();
            let trials = observations.filter(|o| o.is_trial()).count();
            let known = V::nothing_missing(target, trials, &verdict, workshop.versions());
            if let Some((answer, ending)) = known {
                let target = (**target).clone();
                leased.session.finish().await;
                leased.site.workshop.finish().await;
                return Ok(StudyOutcome::NothingMissing {
                    target,
                    answer,
                    ending,
                });
            }
        }
        let cells = (&leased.cells[..], leased.questions.clone());
        let id = self.plan.create(store, &leased.site, naming, cells).await?;
        self.measure(store, id, leased).await
    }

    /// Goes on with an earlier study that asked the same; concludes it as it stands where nothing is left to ask.
    async fn go_on_with(
        mut self,
        store: &Store,
        earlier: StudyRow,
        mut leased: LeasedStudy,
        options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        self.plan.0.question.choices = Choices::from_study(&earlier).into_diagnostic()?;
        self.plan.0.seed = earlier.seed;
        let own = store.study_history(earlier.id).await.into_diagnostic()?;
        leased.evidence = evidence_of_study(&own, &self.plan.history()?.layouts);
        let policy = self.policy(&leased.site, &leased.cells)?;
        let Decision::Done(verdict) = policy.decide(&leased.evidence) else {
            return self.measure(store, earlier.id, leased).await;
        };
        let target = (*leased.site.workshop.target().name).clone();
        leased.session.finish().await;
        leased.site.workshop.finish().await;
        let progress = Progress {
            verdict: Some(verdict),
            measured: earlier.measured,
            failed: earlier.failed,
            left: 0,
            stopped: None,
            interrupted: false,
        };
        let ended = V::conclude(EndedLoop {
            store,
            study: earlier,
            target: &target,
            progress,
        });
        StudyOutcome::from_ended(ended.await?, &options.events)
    }

    /// Goes on with a study of this verb.
    ///
    /// # Errors
    /// What it was built from isn't the same any more, a host can't be had, or the store refuses.
    pub async fn resume(
        resumed: Resumed<'_>,
        options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        let (store, id) = (resumed.store, resumed.study.id);
        let (plan, leased) = HistoryPlan::reopen(resumed, V::SHARES_EVIDENCE, options).await?;
        let this = Self {
            plan,
            verb: PhantomData,
        };
        this.measure(store, id, leased).await
    }

    async fn measure(
        self,
        store: &Store,
        id: StudyId,
        leased: LeasedStudy,
    ) -> miette::Result<StudyOutcome> {
        let LeasedStudy {
            site,
            session,
            cells,
            evidence,
            ..
        } = leased;
        let policy = self.policy(&site, &cells)?;
        let rounds = V::rounds(&self.plan.0.question.choices);
        let row = store.study_of(id).await.into_diagnostic()?;
        let cells = plain(&cells);
        let prepared = self.plan.prepare(store, &row, site, session, cells, rounds);
        let MeasurableStudy {
            setup,
            mut measurers,
            events,
            target,
        } = prepared.await?;
        if V::SHARES_EVIDENCE {
            let warned = warn_of_other_hosts(store, id, &events).await;
            warned.into_diagnostic()?;
        }
        for measurer in &mut measurers {
            measurer.measurer.lays_out_ahead = V::lays_out_ahead();
        }
        let ended = run_study_loop(&policy, setup, evidence, store, &mut measurers, &events).await;
        let is_over = ended
            .as_ref()
            .is_ok_and(|progress| progress.stopped.is_none());
        for measurer in measurers {
            let measurer = measurer.finish(is_over).await;
            store_records_at_end(store, id, &measurer.conductor, &events).await;
            measurer.finish().await;
        }
        match ended {
            Ok(progress) => {
                let ended = V::conclude(EndedLoop {
                    store,
                    study: store.study_of(id).await.into_diagnostic()?,
                    target: &target,
                    progress,
                });
                StudyOutcome::from_ended(ended.await?, &events)
            }
            Err(error) => Ok(StudyOutcome::BrokeOff {
                name: row.name,
                error,
            }),
        }
    }
}

/// Warns that testbeds on this machine disturb each other; refuses them where one would install over the other's build.
fn check_this_machine(session: &Session, activate: &Activate) -> miette::Result<()> {
    let all = std::iter::once(&session.conductor).chain(&session.others);
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
    session.events.emit(&Event::Warning { message });
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
