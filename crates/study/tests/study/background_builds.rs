//! Builds made while other machines measure. The other machine is this one with another boot id, which is how machines
//! are told apart; builds and trials wait for each other where they have to overlap, and for nobody where they mustn't.

use backsight_catalog::Catalog;
use backsight_conductor::{Conductor, Events, HostAccess, Listener, Workbench};
use backsight_history::Workshop;
use backsight_model::{
    Arrangement, Benchmark, BenchmarkLookupError, CellMetric, Event, Lab, Layout, OnFailure, Plan,
    StudyHistory, Target, TestbedName, TomlDocument,
};
use backsight_policy::{Evidence, StepOrder, StepPolicy, StepVerdict};
use backsight_store::{NewStudy, NewTarget, Store, StudyId};
use backsight_study::{HistoryMeasurer, Progress, StudySetup, run_study_loop};
use backsight_test_needs::Need;
use jiff::Timestamp;
use std::{
    collections::HashMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::sync::watch;

/// What the scripts begin with: `until FILE` waits for a file, for half a minute.
const WORDS: &str = r#"cd "$(dirname "$0")" || exit 9
until_there() {
    n=0
    while [ ! -e "$1" ]; do
        n=$((n + 1)); [ $n -lt 1500 ] || { echo "no $1" >&2; exit 8; }
        sleep 0.02
    done
}
"#;

/// What was told, and when; scripts can wait for `told-VERSION`, which is there once it was told that the version is built.
#[derive(Clone)]
struct RecordedEvents {
    events: Arc<Mutex<Vec<(Timestamp, Event)>>>,
    folder: PathBuf,
}

impl Listener for RecordedEvents {
    fn on_event(&mut self, event: &Event, _testbed: Option<&TestbedName>) {
        let mut all = self.events.lock().unwrap();
        all.push((Timestamp::now(), event.clone()));
        if let Event::BuildFinished { version, .. } = event {
            fs::write(self.folder.join(format!("told-{version}")), "").unwrap();
        }
    }
}

impl RecordedEvents {
    fn all(&self) -> Vec<(Timestamp, Event)> {
        self.events.lock().unwrap().clone()
    }

    /// The versions that were built ahead, and those that weren't, in the order of their beginning.
    fn begun(&self) -> (Vec<String>, Vec<String>) {
        let mut begun = (Vec::new(), Vec::new());
        for (_, event) in self.all() {
            if let Event::BuildStarted { version, ahead, .. } = event {
                if ahead { &mut begun.0 } else { &mut begun.1 }.push(version);
            }
        }
        begun
    }
}

/// Three versions of a program, how they are built and measured, and a store for what comes of that.
struct World {
    folder: TempDir,
    store: Store,
    study: StudyId,
    target: Target,
    arrangement: Arrangement,
    catalog: Catalog,
    elsewhere: bool,
    on_failure: OnFailure,
    stop: watch::Sender<bool>,
}

impl World {
    /// `build` and `trial` are scripts that get the version's name; the program that measures prints a number.
    async fn new(elsewhere: bool, build: &str, trial: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |file: &str| folder.path().join(file);
        for (file, text) in [("build", build), ("trial", trial)] {
            fs::write(at(file), format!("{WORDS}{text}\n")).unwrap();
        }
        let here = folder.path().display();
        let target = format!(
            "name = \"app\"\nsource = {{ list = {{ versions = \"echo v1; echo v2; echo v3\", fetch = \"echo {{version}} > program; sh $BACKSIGHT_FOLDER/fetch {{version}}\" }} }}\n\
             build = {{ run = \"sh {here}/build {{version}}\", keep = [\"program\"] }}\n"
        );
        fs::write(at("fetch"), format!("{WORDS}true\n")).unwrap();
        let target = Target::read(&TomlDocument::new("app.toml", target)).unwrap();
        let benchmark = TomlDocument::new(
            "tool.toml",
            format!(
                "name = \"tool\"\nabout = \"a number\"\nroles = [\"tester\"]\n\
                 [tester]\nrun = \"sh {here}/trial {{version}}\"\n\
                 [metric.value]\nunit = \"s\"\nbetter = \"lower\"\nregex = '(?<value>\\d+)'\n"
            ),
        );
        let plan = TomlDocument::new("plan.toml", "use = [\"tool\"]\nrounds = 1\n");
        let definition = Benchmark::read(&benchmark).unwrap();
        let find = |_: &_| {
            Ok::<_, BenchmarkLookupError<backsight_model::DocumentError>>(definition.clone())
        };
        let arrangement = Plan::read(&plan)
            .unwrap()
            .arrange(&plan, &Lab::this_machine(), find)
            .unwrap();
        let store = Store::open(at("store")).await.unwrap();
        let history = backsight_history::open(&target, folder.path(), &at("work")).unwrap();
        let metric = &definition.metrics["value"];
        let shape = CellMetric {
            name: "value".parse().unwrap(),
            unit: metric.unit,
            better: metric.better,
            about: metric.about.clone(),
            primary: true,
            monitor: None,
            simulator: None,
        };
        let study = NewStudy {
            name: "s".parse().unwrap(),
            verb: "step".into(),
            documents: Vec::new(),
            arguments: String::new(),
            seed: 1,
            cells: arrangement.cells(|_| None).unwrap(),
            metrics: [("tool".parse().unwrap(), vec![shape])].into(),
            questions: vec!["one".into()],
            target: Some(NewTarget {
                testbeds: Vec::new(),
                name: (*target.name).clone(),
                versions: ["v1", "v2", "v3"]
                    .map(|name| history.resolve(name).unwrap())
                    .to_vec(),
            }),
        };
        let study = store.create_study(&study).await.unwrap();
        Self {
            catalog: Catalog::from_documents(vec![benchmark]).unwrap(),
            folder,
            store,
            study,
            target,
            arrangement,
            elsewhere,
            on_failure: OnFailure::GoOn,
            stop: watch::Sender::new(false),
        }
    }

    fn at(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// The program that is started as an agent on the machine that measures.
    fn reach(&self) -> HostAccess {
        if !self.elsewhere {
            return agent();
        }
        fs::write(self.at("boot_id"), "another\n").unwrap();
        let program = self.at("far-agent");
        let script = format!(
            "#!/bin/sh\nexec unshare --mount --propagation private sh -c 'mount --bind {} /proc/sys/kernel/random/boot_id && exec \"$@\"' sh {} \"$@\"\n",
            self.at("boot_id").display(),
            agent().program.display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        HostAccess::with_program(program)
    }

    /// Measures the versions from the first to the last until that ends, with nothing seen before.
    async fn run_study_loop(&self, builds_ahead: bool) -> (Progress<StepVerdict>, RecordedEvents) {
        let events = Events::default();
        let heard = RecordedEvents {
            events: Arc::default(),
            folder: self.folder.path().to_owned(),
        };
        events.listen(heard.clone());
        let started = Conductor::start(self.reach(), self.arrangement.clone(), events.clone());
        let conductor = started.await.unwrap();
        assert_eq!(conductor.is_elsewhere(), self.elsewhere);
        let work = self.at("work");
        fs::create_dir_all(&work).unwrap();
        let history = backsight_history::open(&self.target, self.folder.path(), &work).unwrap();
        let versions = ["v1", "v2", "v3"].map(|name| history.resolve(name).unwrap());
        let bench = Workbench::start(&agent()).await.unwrap();
        let (machine, _) = bench.machine().await.unwrap();
        let workshop = Workshop::open(
            self.target.clone(),
            self.folder.path(),
            &work,
            Arc::from(history),
            versions.to_vec(),
            bench,
            machine,
        );
        let cells = self.store.cells(self.study).await.unwrap();
        let policy = StepPolicy {
            versions: 3,
            wanted: vec![0, 1, 2],
            skipped: Vec::new(),
            layouts: 1,
            boots: 1,
            rounds: 1,
            cells: vec![Vec::new()],
            order: StepOrder::Forward,
            revisits: true,
            skip_broken: false,
            until_stable: false,
            seed: 1,
        };
        let study = StudySetup {
            id: self.study,
            name: "s".parse().unwrap(),
            cells: cells.clone(),
            rounds: 1,
            seed: 1,
            on_failure: self.on_failure,
            versions: versions.to_vec(),
            trials: 0,
            testbeds: Vec::new(),
            boots: Some(HashMap::new()),
        };
        let mut along = HistoryMeasurer::new(
            conductor,
            workshop.await.unwrap(),
            &self.catalog,
            (cells, vec![Layout::default()]),
            events.clone(),
            self.stop.subscribe(),
            builds_ahead,
        );
        let none = Evidence::default();
        let ended = run_study_loop(
            &policy,
            study,
            none,
            &self.store,
            std::slice::from_mut(&mut along),
            &events,
        )
        .await;
        along.finish().await;
        (ended.unwrap(), heard)
    }

    async fn kept(&self) -> StudyHistory {
        self.store.study_history(self.study).await.unwrap()
    }
}

/// The agent that is built beside the tests.
fn agent() -> HostAccess {
    HostAccess::with_program(super::example("studied"))
}

async fn until_there(file: &Path) {
    let clock = Instant::now();
    while !file.exists() {
        assert!(
            clock.elapsed() < Duration::from_secs(60),
            "{}",
            file.display()
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// From its first phase to its end, each trial.
fn trials(heard: &RecordedEvents) -> Vec<(Timestamp, Timestamp)> {
    let mut trials = Vec::new();
    let mut began = None;
    for (at, event) in heard.all() {
        match event {
            Event::PhaseStarted { .. } => began = began.or(Some(at)),
            Event::TrialFinished { .. } => trials.push((began.take().unwrap(), at)),
            _ => {}
        }
    }
    trials
}

/// The build that each version will need is made while the one before it is measured: neither ends without the other. That one is built is told while
/// the trial that runs waits for it.
const HAND_IN_HAND: (&str, &str) = (
    ": > begun-$1; case $1 in v2) until_there trial-v1;; v3) until_there trial-v2; false;; esac; \
     status=$?; : > built-$1; exit $status",
    ": > trial-$1; case $1 in v1) until_there told-v2;; v2) until_there built-v3;; esac; echo 1",
);

#[tokio::test]
async fn what_is_coming_is_built_while_another_machine_measures() {
    if Need::Root.is_missing() {
        return;
    }
    let world = World::new(true, HAND_IN_HAND.0, HAND_IN_HAND.1).await;
    let (progress, heard) = world.run_study_loop(true).await;
    assert_eq!((progress.measured, progress.failed), (2, 0), "{progress:?}");
    assert_eq!(progress.verdict.unwrap().broken, [2]);
    let (ahead, asked) = heard.begun();
    assert_eq!(
        (ahead, asked),
        (vec!["v2".into(), "v3".into()], vec!["v1".into()])
    );
    let kept = world.kept().await;
    let trials = trials(&heard);
    for (build, trial) in [(1, 0), (2, 1)] {
        let build = kept.builds.iter().find(|b| b.version == build).unwrap();
        let end = build.began + jiff::SignedDuration::try_from(build.took).unwrap();
        let (from, to) = trials[trial];
        assert!(build.began < to && from < end, "{build:?} {trials:?}");
        assert!(!build.cached && build.log.is_some(), "{build:?}");
    }
    let broken: Vec<usize> = kept
        .builds
        .iter()
        .filter(|build| build.failure.is_some())
        .map(|build| build.version)
        .collect();
    assert_eq!(broken, [2]);
    // It is told at once, and waited for by nobody.
    let told = |what: &dyn Fn(&Event) -> bool| {
        heard
            .all()
            .iter()
            .position(|(_, event)| what(event))
            .unwrap()
    };
    let built = told(
        &|e| matches!(e, Event::BuildFinished { version, ahead: true, .. } if version == "v2"),
    );
    let tried = told(&|e| matches!(e, Event::TrialFinished { .. }));
    assert!(built < tried);
}

#[tokio::test]
async fn nothing_is_built_while_this_machine_measures_or_where_the_user_says_so() {
    for (elsewhere, builds_ahead) in [(false, true), (true, false)] {
        if elsewhere && Need::Root.is_missing() {
            continue;
        }
        let world = World::new(elsewhere, "true", "echo 1").await;
        let (progress, heard) = world.run_study_loop(builds_ahead).await;
        assert_eq!(progress.measured, 3);
        let (ahead, asked) = heard.begun();
        assert!(ahead.is_empty(), "{ahead:?}");
        assert_eq!(asked, ["v1", "v2", "v3"]);
        for build in world.kept().await.builds {
            let end = build.began + jiff::SignedDuration::try_from(build.took).unwrap();
            for (from, to) in trials(&heard) {
                assert!(end <= from || to <= build.began, "{build:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_version_that_does_not_build_ahead_stops_a_study_when_it_is_asked_for() {
    if Need::Root.is_missing() {
        return;
    }
    let build = "case $1 in v3) until_there built-v2; : > built-v3;; \
                 v2) : > built-v2; exit 1;; esac";
    let trial = "[ $1 = v1 ] && until_there built-v3; echo 1";
    let mut world = World::new(true, build, trial).await;
    world.on_failure = OnFailure::Stop;
    let (progress, _) = world.run_study_loop(true).await;
    assert_eq!((progress.measured, progress.left), (1, 1), "{progress:?}");
    let why = progress.stopped.unwrap();
    assert!(why.contains("v2 has no build"), "{why}");
    let mut kept: Vec<(usize, bool)> = world
        .kept()
        .await
        .builds
        .iter()
        .map(|build| (build.version, build.failure.is_some()))
        .collect();
    kept.sort_unstable();
    assert_eq!(kept[..2], [(0, false), (1, true)]);
}

#[tokio::test]
async fn what_hinders_a_build_ahead_is_no_fault_before_it_is_asked_for() {
    if Need::Root.is_missing() {
        return;
    }
    let trial = "[ $1 = v1 ] && { until_there tried; : > network; }; echo 1";
    let world = World::new(true, "true", trial).await;
    let fetch =
        "[ $1 = v2 ] || exit 0; [ -e network ] || { : > tried; echo 'no network' >&2; exit 1; }";
    fs::write(world.at("fetch"), format!("{WORDS}{fetch}\n")).unwrap();
    let (progress, heard) = world.run_study_loop(true).await;
    assert_eq!((progress.measured, progress.stopped), (3, None));
    let warned = heard.all().iter().any(|(_, event)| {
        matches!(event, Event::Warning { message } if message.contains("v2 can't be built ahead") && message.contains("no network"))
    });
    assert!(warned);
}

#[tokio::test]
async fn a_study_that_is_stopped_ends_what_it_builds_ahead_and_makes_it_again_later() {
    if Need::Root.is_missing() {
        return;
    }
    let build =
        "[ $1 = v2 ] && [ ! -e again ] && { echo $$ > pid.new; mv pid.new pid; sleep 600; }; true";
    let trial = "[ -e again ] || sleep 600; echo 1";
    let world = World::new(true, build, trial).await;
    let pid = world.at("pid");
    let ((progress, _), ()) = tokio::join!(world.run_study_loop(true), async {
        until_there(&pid).await;
        world.stop.send_replace(true);
    });
    assert!(progress.interrupted);
    let pid = fs::read_to_string(pid).unwrap();
    assert!(!Path::new(&format!("/proc/{}", pid.trim())).exists());
    world.stop.send_replace(false);
    fs::write(world.at("again"), "").unwrap();
    let (progress, _) = world.run_study_loop(true).await;
    assert_eq!(progress.measured, 3);
    assert_eq!(world.kept().await.builds.len(), 3);
}
