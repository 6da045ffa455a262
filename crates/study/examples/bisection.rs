//! A bisection through the library alone: begun, or gone on with where an earlier process was killed, and judged.
//!
//! `bisection FOLDER` makes a program of sixteen versions in FOLDER whose ninth is slower, and finds that. A line is printed
//! for each trial that is on disk, and one for each change that was found.

use backsight_catalog::Catalog;
use backsight_conductor::{Events, HostAccess, Listener};
use backsight_model::{Event, Every, Layout, Range, TestbedName, TomlDocument};
use backsight_store::Store;
use backsight_study::{
    BisectChoices, BuildContext, Choices, HistoryChoices, HistoryStudy, OpenTarget, Question,
    ReservationRule, ResolvedPlan, SessionOptions, StudyOutcome, VerdictReport, resume,
    verbs::bisect::BisectVerb,
};
use miette::IntoDiagnostic as _;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::sync::watch;

/// The name of the study.
const NAME: &str = "which-change";

/// Versions that need nothing to be built.
const TARGET: &str = r#"
name = "app"
source = { list = { versions = "seq 1 16", fetch = "echo {version} > version" } }
build = { keep = ["version"] }
"#;

/// A benchmark that says how long it took: 13 ms from the ninth version on, else 10 ms, and up to 2 ms more.
const BENCHMARK: &str = r#"
name = "work"
about = "how long the work takes"
roles = ["tester"]
[tester]
run = "awk -v version=$(cat {build}/version) -v seed=$$ 'BEGIN {{ srand(seed); print (version < 9 ? 10 : 13) + 2 * rand() }}'"
[metric.time]
unit = "ms"
better = "lower"
primary = true
regex = '(?<value>[0-9.]+)'
"#;

/// Prints a line for each trial that is on disk.
struct Trials;

impl Listener for Trials {
    fn on_event(&mut self, event: &Event, _testbed: Option<&TestbedName>) {
        if let Event::TrialFinished { trial, .. } = event {
            println!("trial {trial}");
        }
    }
}

fn main() -> miette::Result<()> {
    let argument = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    if argument == "agent" {
        // What measures on a host is this program again.
        return backsight_agent::serve_stdio(None).into_diagnostic();
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .into_diagnostic()?;
    runtime.block_on(bisect(Path::new(&argument)))
}

async fn bisect(folder: &Path) -> miette::Result<()> {
    let store = Store::open(folder.join("store")).await.into_diagnostic()?;
    let never_stopped = watch::Sender::new(false);
    let options = SessionOptions {
        reach: HostAccess::with_this_program().into_diagnostic()?,
        events: Events::default(),
        listen_for_stop: Arc::new(move || never_stopped.subscribe()),
        wait: Duration::from_secs(60),
        reservations: ReservationRule::Ignore,
    };
    options.events.listen(Trials);
    let outcome = match store.study(NAME).await {
        Ok(study) => resume(&store, study, None, &options).await?,
        Err(_) => begin(folder.to_owned(), &store, &options).await?,
    };
    if let StudyOutcome::Ended(ended) = outcome
        && let VerdictReport::Bisect(report) = &ended.verdict
    {
        for culprit in &report.verdict.culprits {
            let version = &report.history.versions[culprit.place.until];
            println!("{} changed {}", version.name, report.metric);
        }
    }
    Ok(())
}

async fn begin(
    folder: PathBuf,
    store: &Store,
    options: &SessionOptions,
) -> miette::Result<StudyOutcome> {
    let target = TomlDocument::new("app.toml", TARGET);
    let target = OpenTarget::open(target, folder.clone(), store.dir().to_owned()).await?;
    let range = Range::Between {
        from: "1".to_owned(),
        to: "16".to_owned(),
    };
    let versions = target
        .query(move |history| history.versions(&range, &Every::All))
        .await?;
    let choices = BisectChoices {
        history: HistoryChoices {
            folder,
            layouts: vec![Layout::default()],
            retry: false,
            builds_ahead: false,
            more_testbeds: Vec::new(),
        },
        metric: "time".to_owned(),
        cell: None,
        trials: None,
        budget: None,
        confidence: 0.95,
        resolution: 1,
        smallest: Some(0.1),
        cancelling: false,
        command: "bisection".to_owned(),
    };
    let question = Question {
        plan: TomlDocument::new("plan.toml", "use = [\"work\"]\n"),
        lab: None,
        choices: Choices::new(choices),
        along_history: true,
    };
    let catalog = Catalog::from_documents(vec![TomlDocument::new("work.toml", BENCHMARK)])?;
    let plan = ResolvedPlan::new(question, catalog, 1)?;
    let site = BuildContext::open(target, versions, Vec::new(), &options.reach).await?;
    let name = Some(NAME.parse().into_diagnostic()?);
    HistoryStudy::<BisectVerb>::new(plan)
        .begin(store, site, name, options)
        .await
}
