//! `backsight run`: every cell of a plan, round by round.

use backsight_catalog::Catalog;
use backsight_conductor::{Conductor, ConnectError, Events, Lease, LeaseError, Reach};
use backsight_model::{
    Arrangement, Benchmark, BenchmarkName, Cell, Document, Event, HostName, Metric, MetricName,
    Simulator, StudyName, TestbedName, Time, did_you_mean,
};
use backsight_policy::{Evidence, Policy, RunPolicy};
use backsight_report::Format;
use backsight_store::{MetricShape, NewStudy, Store, StoreError, StudyDocument, StudyId};
use backsight_study::{
    Choices, Pursuit, PursuitError, Question, Study, Testbed, evidence_with_figures, pursue,
};
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    io::IsTerminal as _,
    num::NonZeroU32,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};
use tokio::sync::watch;

use crate::{
    account::Account,
    cli::Shared,
    exit_status::ExitStatus,
    files,
    output::{Output, Told},
    progress::{JsonLines, Lines, Progress},
    resume::Resume,
    until::{self, UntilArguments},
};

/// The verb's name in the store.
pub const VERB: &str = "run";

/// Which question is asked: a plan's file, or benchmarks by name.
#[derive(Debug, clap::Args)]
pub struct Asked {
    /// The plan's file; without one, --use says what is measured
    plan: Option<PathBuf>,
    /// Benchmarks to measure, instead of the plan's; with a comma between them
    // Named, or it would be taken for the shared `--benchmarks`.
    #[arg(id = "use", long = "use", value_name = "NAMES", value_delimiter = ',')]
    benchmarks: Vec<BenchmarkName>,
    /// How often each cell is measured, instead of the plan's rounds
    #[arg(long, value_name = "N")]
    rounds: Option<NonZeroU32>,
    /// The lab's file; else the lab.toml beside the plan, else this machine alone
    #[arg(long, value_name = "FILE")]
    lab: Option<PathBuf>,
}

/// How a study is watched and how long it waits for its hosts.
#[derive(Debug, Clone, clap::Args)]
pub struct Watching {
    /// Print events as lines of JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress and no table at the end
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    output: Output,
    /// How long to wait for hosts that another study has
    #[arg(long, value_name = "TIME", default_value = "3s")]
    wait: Time,
    /// How long to wait for a host that doesn't answer, at the start and before each trial: one that was switched off, or
    /// reboots
    #[arg(long, value_name = "TIME")]
    host_wait: Option<Time>,
}

impl Watching {
    /// Events, and the one who shows them: as JSON, as a line on the terminal, or only what somebody has to know.
    fn events(&self) -> Events {
        let events = Events::default();
        if self.json {
            events.listen(JsonLines);
        } else if !self.quiet && std::io::stderr().is_terminal() {
            events.listen(Progress::on_terminal());
        } else {
            events.listen(Lines);
        }
        events
    }
}

impl Watching {
    /// Refuses a format that contradicts the file's name, before anything is measured.
    pub fn check(&self) -> miette::Result<()> {
        self.output.chosen(Format::Text)?;
        match self.json && self.output.format.is_some() && self.output.output.is_none() {
            true => Err(miette::miette!(
                help = "leave out --json for the verdict alone, or write the verdict into a file with --output",
                "--json prints every event and --format the verdict alone: both go to standard output"
            )),
            false => Ok(()),
        }
    }

    /// The same for a study that another verb makes: the verdict that was asked for is that verb's.
    pub fn of_a_part(&self) -> Self {
        Self {
            quiet: self.quiet || self.output.is_asked(),
            output: Output::default(),
            ..self.clone()
        }
    }

    /// How a verdict is told.
    fn told(&self) -> Told {
        Told {
            quiet: self.quiet,
            events: self.json,
            output: self.output.clone(),
        }
    }
}

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub struct Run {
    #[command(flatten)]
    asked: Asked,
    #[command(flatten)]
    until: UntilArguments,
    /// Add so many rounds to a study that was measured before: `backsight run --more 5 STUDY`
    #[arg(long, value_name = "N", conflicts_with_all = ["use", "rounds", "lab", "until", "name", "seed"])]
    more: Option<NonZeroU32>,
    /// Name of the result set; else run-1, run-2, …
    #[arg(long)]
    name: Option<StudyName>,
    /// Seed of the order within rounds; else the plan's, else drawn
    #[arg(long)]
    seed: Option<u32>,
    #[command(flatten)]
    watching: Watching,
}

/// A question with all that it is asked with.
pub struct Posed {
    /// The question.
    pub question: Question,
    /// What its plan says.
    pub arrangement: Arrangement,
    /// Where its benchmarks and monitors are.
    pub catalog: Catalog,
    /// Seed of what is drawn.
    pub seed: u32,
}

impl Posed {
    /// A question of a study that there is.
    pub fn of(question: Question, catalog: Catalog, seed: u32) -> miette::Result<Self> {
        Ok(Self {
            arrangement: question.arrange(&catalog)?,
            question,
            catalog,
            seed,
        })
    }

    /// Every metric, with the benchmark before it.
    pub fn metrics(&self) -> Vec<(String, String)> {
        let benchmarks = self.arrangement.benchmarks.iter();
        let metrics = benchmarks.flat_map(|(name, benchmark)| {
            let metrics = benchmark.metrics.keys();
            metrics.map(move |metric| (name.to_string(), metric.to_string()))
        });
        metrics.collect()
    }
}

impl Asked {
    /// The plan's file, if there is one.
    pub fn plan(&self) -> Option<&Path> {
        self.plan.as_deref()
    }

    /// The question, and the catalogue that it is asked with.
    pub fn question(&self, shared: &Shared) -> miette::Result<(Question, Catalog)> {
        let (mut question, catalog) = question_of(
            shared,
            (VERB, self.plan.as_deref()),
            &self.benchmarks,
            self.lab.as_deref(),
        )?;
        question.choices.rounds = self.rounds;
        Ok((question, catalog))
    }

    /// The question with all that it is asked with. Its seed is the one given, else the plan's, else drawn.
    pub fn posed(
        &self,
        shared: &Shared,
        along_history: bool,
        seed: Option<u32>,
    ) -> miette::Result<Posed> {
        let (mut question, catalog) = self.question(shared)?;
        question.along_history = along_history;
        let planned = backsight_model::Plan::read(&question.plan)?.seed;
        Posed::of(
            question,
            catalog,
            seed.or(planned).unwrap_or_else(drawn_seed),
        )
    }
}

/// The question that a verb was asked with a plan's file, or with benchmarks by name, and the catalogue that it is asked
/// with.
pub fn question_of(
    shared: &Shared,
    (verb, plan_file): (&str, Option<&Path>),
    benchmarks: &[BenchmarkName],
    lab: Option<&Path>,
) -> miette::Result<(Question, Catalog)> {
    let plan = match plan_file {
        Some(path) => Document::open(path)?,
        None if benchmarks.is_empty() => {
            return Err(miette::miette!(
                help = format!("backsight {verb} plan.toml, or backsight {verb} --use NAME"),
                "what is to be measured? name a plan's file, or benchmarks with --use"
            ));
        }
        None => Question::plan_of(benchmarks),
    };
    let lab = files::lab(lab, plan_file)?;
    let catalog = files::catalog(shared, plan_file)?;
    for name in benchmarks {
        if catalog.find(name)?.is_none() {
            let names = catalog.names();
            let near = did_you_mean(name.as_str(), names.iter().map(BenchmarkName::as_str));
            let help =
                near.unwrap_or_else(|| "`backsight list benchmarks` shows what there is".into());
            return Err(miette::miette!(
                help = help,
                "no benchmark `{name}` in the catalogue"
            ));
        }
    }
    let folder = plan_file.and_then(|path| {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        folder.map_or_else(
            || std::env::current_dir().ok(),
            |folder| folder.canonicalize().ok(),
        )
    });
    let choices = Choices {
        benchmarks: benchmarks.to_vec(),
        folder,
        ..Choices::default()
    };
    let question = Question {
        plan,
        lab,
        choices,
        along_history: false,
    };
    Ok((question, catalog))
}

impl Run {
    /// Measures it.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        self.watching.check()?;
        if let Some(more) = self.more {
            let study = self.asked.plan().and_then(Path::to_str).ok_or_else(|| {
                miette::miette!(
                    help = format!(
                        "backsight run --more {more} STUDY; `backsight studies` lists them"
                    ),
                    "rounds are to be added to which study?"
                )
            })?;
            return Resume::with_more(study, more, self.watching).execute(shared);
        }
        let Posed {
            mut question,
            arrangement,
            catalog,
            seed,
        } = self.asked.posed(shared, false, self.seed)?;
        question.choices.until = self.until.choices(question.choices.rounds);
        crate::block_on(async {
            let store = files::open_store(shared).await?;
            let chosen = self.name.is_some();
            let mut name = match self.name {
                Some(name) => name,
                None => free_name(&store, VERB).await?,
            };
            let session = Session::open(&arrangement, &name, &self.watching).await?;
            let cells = session.cells()?;
            if let Some(until) = &question.choices.until {
                let benchmarks = arrangement.benchmarks.iter();
                let metrics = benchmarks.map(|(name, b)| (name.clone(), shapes(b, None)));
                if let Err(nothing) = until::policy(until, &cells, &metrics.collect(), seed) {
                    session.finish().await;
                    return Err(nothing);
                }
            }
            let id = loop {
                let new = new_study(
                    &question,
                    &catalog,
                    (&arrangement, None),
                    &name,
                    &cells,
                    seed,
                );
                match store.create_study(&new).await {
                    // Somebody else took the name that was free a moment ago.
                    Err(StoreError::NameTaken { .. }) if !chosen => {
                        name = free_name(&store, VERB).await?
                    }
                    made => break made.into_diagnostic()?,
                }
            };
            session
                .measure(&store, id, &question.choices, cells, &catalog, false)
                .await
        })
    }
}

/// A seed that nobody chose: hashing keys are drawn by the system, anew for each.
pub fn drawn_seed() -> u32 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::process::id()) as u32
}

/// The first of VERB-1, VERB-2, … that no study has.
pub async fn free_name(store: &Store, verb: &str) -> miette::Result<StudyName> {
    let studies = store.studies().await.into_diagnostic()?;
    (1..)
        .map(|number| format!("{verb}-{number}"))
        .find(|name| studies.iter().all(|study| study.name.as_str() != name))
        .and_then(|name| StudyName::new(name).ok())
        .ok_or_else(|| miette::miette!("no name is free"))
}

/// A study of this question. `clock` is what counts time where its systems haven't a real machine's clock.
pub fn new_study(
    question: &Question,
    catalog: &Catalog,
    (arrangement, clock): (&Arrangement, Option<Simulator>),
    name: &StudyName,
    cells: &[Cell],
    seed: u32,
) -> NewStudy {
    let document = |kind: &str, document: &Document| StudyDocument {
        kind: kind.to_owned(),
        name: document.name.clone(),
        text: document.text.to_string(),
    };
    let mut documents = vec![document("plan", &question.plan)];
    documents.extend(question.lab.iter().map(|lab| document("lab", lab)));
    for benchmark in arrangement.benchmarks.keys() {
        if let Ok(Some(definition)) = catalog.find(benchmark) {
            documents.push(document("benchmark", &definition.document));
        }
    }
    for planned in &arrangement.monitors {
        if let Some(definition) = catalog.monitors().document(&planned.monitor.name) {
            documents.push(document("monitor", definition));
        }
    }
    NewStudy {
        target: None,
        name: name.clone(),
        verb: VERB.to_owned(),
        documents,
        arguments: serde_json::to_string(&question.choices).unwrap_or_default(),
        seed,
        cells: cells.to_vec(),
        metrics: arrangement
            .benchmarks
            .iter()
            .map(|(name, b)| (name.clone(), shapes(b, clock)))
            .collect(),
    }
}

/// The shapes of a benchmark's metrics.
pub fn shapes(benchmark: &Benchmark, clock: Option<Simulator>) -> Vec<MetricShape> {
    let shape = |(name, metric): (&MetricName, &Metric)| MetricShape {
        name: name.clone(),
        unit: metric.unit,
        better: metric.better,
        about: metric.about.clone(),
        primary: metric.primary,
        simulator: match metric.simulated {
            true => Some(Simulator::Program),
            false => clock,
        },
    };
    benchmark.metrics.iter().map(shape).collect()
}

/// A testbed that is leased, with agents on its hosts and somebody watching; and others, where several measure at once.
pub struct Session {
    pub conductor: Conductor,
    /// Those of the other testbeds, in their order.
    pub beside: Vec<Conductor>,
    pub events: Events,
    pub stop: watch::Receiver<bool>,
    /// How its verdict is told.
    pub told: Told,
    _lease: Lease,
}

impl Session {
    /// Leases the hosts of the plan's testbed and starts their agents.
    pub async fn open(
        arrangement: &Arrangement,
        name: &StudyName,
        watching: &Watching,
    ) -> miette::Result<Self> {
        Self::on(std::slice::from_ref(arrangement), name, watching, false).await
    }

    /// The same of these testbeds, the plan's own first, along a history: agents of guests come with each boot.
    pub async fn open_along(
        arrangements: &[Arrangement],
        name: &StudyName,
        watching: &Watching,
    ) -> miette::Result<Self> {
        Self::on(arrangements, name, watching, true).await
    }

    async fn on(
        arrangements: &[Arrangement],
        name: &StudyName,
        watching: &Watching,
        along_history: bool,
    ) -> miette::Result<Self> {
        let [arrangement, others @ ..] = arrangements else {
            return Err(miette::miette!("there is no testbed"));
        };
        let seats = arrangements.iter().flat_map(|it| it.seats.values());
        let hosts: Vec<HostName> = seats.map(|seat| (*seat.host).clone()).collect();
        let holder = format!("study `{name}` (process {})", std::process::id());
        let events = watching.events();
        let wait = watching.wait.0;
        let awaited = |host: &HostName, holder: &str| {
            events.tell(&Event::LeaseAwaited {
                host: host.clone(),
                holder: holder.to_owned(),
                seconds: wait.as_secs_f64(),
            });
        };
        let lease = Lease::take(&arrangement.lab, &hosts, &holder, wait, awaited).await;
        let lease = lease.map_err(|error| match error {
            LeaseError::Taken { .. } => miette::miette!(
                help = "wait for it with --wait 10m, or use another testbed",
                "{error}"
            ),
            other => miette::Report::msg(other.to_string()),
        })?;
        let mut reach = Reach::with_this_program()
            .into_diagnostic()
            .wrap_err("which program is this?")?;
        reach.host_wait = watching.host_wait.map_or(Duration::ZERO, |wait| wait.0);
        let begun = async |arrangement: &Arrangement| {
            let events = match others.is_empty() {
                true => events.clone(),
                false => events.on(arrangement.testbed.clone()),
            };
            let (reach, arrangement) = (reach.clone(), arrangement.clone());
            match along_history {
                true => Conductor::start_without_guests(reach, arrangement, events).await,
                false => Conductor::start(reach, arrangement, events).await,
            }
        };
        let conductor = begun(arrangement).await.map_err(not_begun)?;
        let mut beside = Vec::with_capacity(others.len());
        for other in others {
            match begun(other).await {
                Ok(conductor) => beside.push(conductor),
                Err(fault) => {
                    for begun in beside.into_iter().chain([conductor]) {
                        begun.finish().await;
                    }
                    let testbed = &other.testbed;
                    return Err(miette::miette!("testbed {testbed}: {fault}"));
                }
            }
        }
        Ok(Self {
            conductor,
            beside,
            events,
            stop: stop_on_interrupt(),
            told: watching.told(),
            _lease: lease,
        })
    }

    /// The plan's cells on these machines, which must be the same on all testbeds.
    pub fn cells(&self) -> miette::Result<Vec<Cell>> {
        let of = |conductor: &Conductor| {
            let arrangement = conductor.arrangement();
            let cells = arrangement.cells(|role| conductor.machine(role));
            cells.map_err(miette::Report::msg)
        };
        let cells = of(&self.conductor)?;
        let own = &self.conductor.arrangement().testbed;
        for other in &self.beside {
            if of(other)? != cells {
                let testbed = &other.arrangement().testbed;
                return Err(miette::miette!(
                    help = format!(
                        "say in the plan what depends on the machine (as `{{cpus}}` does), or measure on {own} alone"
                    ),
                    "testbeds {own} and {testbed} can't measure at once: the plan's parameters aren't the same on their machines"
                ));
            }
        }
        Ok(cells)
    }

    /// The testbeds that measure at once; none where only the plan's measures.
    pub fn testbeds(&self) -> Vec<TestbedName> {
        let all = std::iter::once(&self.conductor).chain(&self.beside);
        match self.beside.is_empty() {
            true => Vec::new(),
            false => all.map(|it| it.arrangement().testbed.clone()).collect(),
        }
    }

    /// Ends the agents where nothing is to be measured after all.
    pub async fn finish(self) {
        for conductor in self.beside.into_iter().chain([self.conductor]) {
            conductor.finish().await;
        }
    }

    /// Puts back what a killed study left, says which programs are missing, and keeps what the hosts are.
    pub async fn prepare(
        &mut self,
        store: &Store,
        id: StudyId,
        cells: &[Cell],
        after_kill: bool,
    ) -> miette::Result<()> {
        let mut known = Vec::new();
        for conductor in std::iter::once(&mut self.conductor).chain(&mut self.beside) {
            if after_kill {
                conductor.put_back_all(cells).await;
            }
            let (missing, versions) = conductor.survey().await;
            for message in missing {
                self.events.tell(&Event::Warning { message });
            }
            let facts = conductor.facts().into_iter();
            known.extend(facts.map(|(host, facts)| (host, facts, versions.clone())));
        }
        for (host, mut facts, versions) in known {
            facts.extend(versions.get(&host).cloned().unwrap_or_default());
            let facts = facts.into_iter().collect();
            for change in store
                .record_facts(id, &host, &facts)
                .await
                .into_diagnostic()?
            {
                let shown =
                    |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
                let message = format!(
                    "{host} is not what it was when the study began: {} was {}, is {}",
                    change.fact,
                    shown(&change.was),
                    shown(&change.is)
                );
                self.events.tell(&Event::Warning { message });
            }
        }
        Ok(())
    }

    /// Measures what is still to do, says what came of it and ends the agents.
    ///
    /// `after_kill`: an earlier run was killed, and what it left on the hosts is put back first.
    pub async fn measure(
        self,
        store: &Store,
        id: StudyId,
        choices: &Choices,
        cells: Vec<Cell>,
        catalog: &Catalog,
        after_kill: bool,
    ) -> miette::Result<ExitCode> {
        let told = self.told.clone();
        let row = store.study_of(id).await.into_diagnostic()?;
        let (name, seed) = (row.name.clone(), row.seed);
        let rounds = self.conductor.arrangement().rounds;
        let on_failure = self.conductor.arrangement().on_failure;
        let until = match (&choices.until, choices.from) {
            (Some(until), None) => {
                let metrics = store.declared_metrics(id).await.into_diagnostic()?;
                Some(until::policy(until, &cells, &metrics, seed)?)
            }
            _ => None,
        };
        let policy = RunPolicy {
            cells: cells.len(),
            from: choices.from.map_or(1, NonZeroU32::get),
            rounds,
            seed,
        };
        let evidence = evidence_with_figures(store, id).await.into_diagnostic()?;
        let study = Study {
            id,
            name: name.clone(),
            cells,
            // Nobody knows how many it takes.
            rounds: if until.is_some() { 0 } else { rounds },
            seed,
            on_failure,
            versions: Vec::new(),
            trials: u32::try_from(evidence.observations.len()).unwrap_or(u32::MAX),
            testbeds: Vec::new(),
            boots: None,
        };
        let ended = match &until {
            Some(policy) => {
                let pursuit = self.pursue(policy, study, evidence, store, catalog, after_kill);
                pursuit.await?.map(|pursuit| pursuit.without_verdict())
            }
            None => {
                let pursuit = self.pursue(&policy, study, evidence, store, catalog, after_kill);
                pursuit.await?.map(|pursuit| pursuit.without_verdict())
            }
        };
        let Some(pursuit) = ended else {
            return Ok(ExitStatus::Failed.into());
        };
        if let Some(account) = until::account(store, &row).await? {
            let is_decided = until::is_decided(&account.verdict);
            let account = Account::Attempt(Box::new(account));
            told.verdict(&account, store).await?;
            let status = conclude(&name, &pursuit);
            let is_whole = pursuit.stopped.is_none() && pursuit.failed == 0;
            return Ok(match is_whole && !is_decided {
                true => ExitStatus::Undecided.into(),
                false => status,
            });
        }
        let row = store.study_of(id).await.into_diagnostic()?;
        told.verdict(&Account::of(store, &row).await?, store)
            .await?;
        Ok(conclude(&name, &pursuit))
    }

    /// Measures what a policy asks for of the software as it is found, then ends the agents. What can't be kept is
    /// said, and nothing returned.
    ///
    /// `after_kill`: as for [`Session::measure`].
    pub async fn pursue<P: Policy>(
        mut self,
        policy: &P,
        study: Study,
        evidence: Evidence,
        store: &Store,
        catalog: &Catalog,
        after_kill: bool,
    ) -> miette::Result<Option<Pursuit<P::Verdict>>> {
        self.prepare(store, study.id, &study.cells, after_kill)
            .await?;
        let name = study.name.clone();
        let mut testbed = Testbed {
            conductor: self.conductor,
            catalog,
            cells: study.cells.clone(),
            stop: self.stop,
        };
        let measurers = std::slice::from_mut(&mut testbed);
        let pursued = pursue(policy, study, evidence, store, measurers, &self.events).await;
        testbed.conductor.finish().await;
        Ok(match pursued {
            Ok(pursuit) => Some(pursuit),
            Err(error) => {
                broke_off(&name, &error);
                None
            }
        })
    }
}

/// Says why a study broke off, and how it goes on.
pub fn broke_off(name: &StudyName, error: &PursuitError) -> ExitCode {
    let way_out = format!("what was measured before is kept; `backsight resume {name}` goes on");
    files::say(&format!("{:?}", miette::miette!(help = way_out, "{error}")));
    ExitStatus::Failed.into()
}

/// Says how it ended, and with which status.
pub fn conclude<Verdict>(name: &StudyName, pursuit: &Pursuit<Verdict>) -> ExitCode {
    let Pursuit {
        measured,
        failed,
        left,
        ..
    } = pursuit;
    let trials = |n: usize| {
        if n == 1 {
            "1 trial".to_owned()
        } else {
            format!("{n} trials")
        }
    };
    files::say(&format!(
        "{name}: {} measured, {failed} failed, {left} left",
        trials(*measured)
    ));
    if let Some(why) = &pursuit.stopped {
        files::say(&format!(
            "{name}: {why}\n{name}: go on with: backsight resume {name}"
        ));
    }
    match pursuit {
        Pursuit {
            interrupted: true, ..
        } => ExitStatus::Interrupted.into(),
        Pursuit {
            failed: 0,
            left: 0,
            stopped: None,
            ..
        } => ExitCode::SUCCESS,
        _ => ExitStatus::Failed.into(),
    }
}

/// Why no agent is there to measure with.
fn not_begun(fault: ConnectError) -> miette::Report {
    match fault {
        ConnectError::Unreachable { .. } => miette::miette!(
            help = "switch it on; --host-wait 10m waits for a host that comes back",
            "{fault}"
        ),
        _ => miette::Report::msg(fault.to_string()),
    }
}

/// Becomes true on the first ^C, SIGTERM or hang-up (the terminal was closed, the connection to this machine
/// was lost): the trial under way is put back and the study stops in order. A second one ends the program at
/// once; its agents then clean up by themselves.
fn stop_on_interrupt() -> watch::Receiver<bool> {
    use tokio::signal::unix::{SignalKind, signal};
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        let (Ok(mut interrupt), Ok(mut terminate)) = (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        ) else {
            return;
        };
        // Whoever starts it with `nohup` wants it to go on.
        let mut hang_up = if hang_up_is_ignored() {
            None
        } else {
            signal(SignalKind::hangup()).ok()
        };
        let mut count = 0;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                Some(_) = async { hang_up.as_mut()?.recv().await } => {}
            }
            count += 1;
            if count > 1 {
                std::process::exit(i32::from(ExitStatus::Interrupted.code()));
            }
            files::say(
                "stopping: the trial under way is being put back (once more to end at once)",
            );
            stop.send_replace(true);
        }
    });
    stopped
}

/// Whether SIGHUP was set to be ignored by whoever started this program: bit 0 of the mask in /proc.
fn hang_up_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}
