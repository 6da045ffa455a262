//! `backsight studies`, `show` and `delete`: what the store has.

use backsight_model::{
    Boot, Build, Ending, Layout, MonitorName, StudyHistory, Time, Version, counted,
};
use backsight_report::{Format, Look, escape::visible_bytes, wrapped};
use backsight_store::{Kept, RawRef, Store, StudyRow, TrialRow};
use backsight_study::{
    VerdictReport,
    verbs::{Verb as _, step::StepVerb},
};
use miette::IntoDiagnostic as _;
use serde::Serialize;
use std::{path::Path, process::ExitCode};

use crate::{cli::Shared, files, list::table, output::Output, overhead, verdict_output};

/// Arguments of `studies`.
#[derive(Debug, clap::Args)]
pub struct Studies {
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Studies {
    /// Lists them.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let studies = store.studies().await.into_diagnostic()?;
            if self.json {
                let rows: Vec<StudyShape<'_>> = studies.iter().map(StudyShape::from).collect();
                files::print(&backsight_report::json(&rows).into_diagnostic()?)?;
            } else {
                let mut table = table(&[
                    "study", "name", "verb", "state", "measured", "failed", "began",
                ]);
                for study in &studies {
                    table.add_row([
                        study.id.to_string(),
                        study.name.to_string(),
                        study.verb.clone(),
                        study.standing().to_owned(),
                        study.measured.to_string(),
                        study.failed.to_string(),
                        local(study.began),
                    ]);
                }
                files::print(&format!("{table}\n"))?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// A study in the list, for programs.
#[derive(Serialize)]
struct StudyShape<'a> {
    /// Its number.
    study: i64,
    name: &'a str,
    /// The verb that measured it.
    verb: &'a str,
    /// `running`, `stopped`, `killed`, `finished`.
    state: &'a str,
    /// How many cells its plan has.
    cells: usize,
    /// Trials that gave samples, and that failed.
    measured: usize,
    failed: usize,
    seed: u32,
    /// When it began, and ended: RFC 3339.
    began: String,
    ended: Option<String>,
}

impl<'a> From<&'a StudyRow> for StudyShape<'a> {
    fn from(study: &'a StudyRow) -> Self {
        Self {
            study: study.id.0,
            name: study.name.as_str(),
            verb: &study.verb,
            state: study.standing(),
            cells: study.cells,
            measured: study.measured,
            failed: study.failed,
            seed: study.seed,
            began: study.began.to_string(),
            ended: study.ended.map(|at| at.to_string()),
        }
    }
}

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub struct Show {
    /// A study's name or number, or the word `benchmark` or `monitor`
    what: String,
    /// With `benchmark` or `monitor`: which one
    name: Option<String>,
    /// One trial of the study, with its steps
    #[arg(long, value_name = "N")]
    trial: Option<u32>,
    /// With --trial: every output as it was printed
    #[arg(long, requires = "trial")]
    raw: bool,
    /// One build of the study, with what its commands printed
    #[arg(long, value_name = "N", conflicts_with_all = ["trial", "documents", "hosts"])]
    build: Option<u32>,
    /// One boot of the study, with what its console said
    #[arg(long, value_name = "N", conflicts_with_all = ["trial", "build", "documents", "hosts"])]
    boot: Option<u32>,
    /// The plan, the lab, the target and the definitions that the study was made from
    #[arg(long)]
    documents: bool,
    /// What each host was
    #[arg(long)]
    hosts: bool,
    #[command(flatten)]
    output: Output,
}

impl Show {
    /// Shows it.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        if let Some(name) = &self.name {
            match self.what.as_str() {
                "benchmark" => show_benchmark(shared, name)?,
                "monitor" => show_monitor(shared, name)?,
                what => {
                    return Err(miette::miette!(
                        help = "`show STUDY`, `show benchmark NAME` or `show monitor NAME`",
                        "what is a `{what}`?"
                    ));
                }
            }
            return Ok(ExitCode::SUCCESS);
        }
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let study = store.study(&self.what).await.into_diagnostic()?;
            if self.output.is_asked() {
                self.refuse_parts()?;
                match (&study.target, study.verb.as_str()) {
                    (Some(target), StepVerb::NAME) => {
                        crate::history::tell_in(&store, target, &self.output).await?;
                    }
                    _ => {
                        let verdict = VerdictReport::from_store(&store, &study).await?;
                        self.output
                            .write(&study, &verdict, &store, Format::Text)
                            .await?;
                    }
                }
                return Ok(ExitCode::SUCCESS);
            }
            let page = match self.trial {
                Some(number) => trial(&store, &study, number, self.raw).await?,
                None if self.build.is_some() || self.boot.is_some() => {
                    let history = store.study_history(study.id).await.into_diagnostic()?;
                    match (self.build, self.boot) {
                        (Some(number), _) => build(&store, &history, number).await?,
                        (_, number) => boot(&store, &history, number.unwrap_or(0)).await?,
                    }
                }
                None if self.documents => documents(&store, &study).await?.into_bytes(),
                None if self.hosts => hosts(&store, &study).await?.into_bytes(),
                None => overview(&store, &study).await?.into_bytes(),
            };
            // What a step printed goes into a file or a pipe as it is.
            match self.raw {
                true => files::print_foreign(&page)?,
                false => files::print_made(&visible_bytes(&page))?,
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    /// A format is for the verdict, not for a part of the study.
    fn refuse_parts(&self) -> miette::Result<()> {
        let is_part = self.trial.is_some()
            || self.build.is_some()
            || self.boot.is_some()
            || self.documents
            || self.hosts;
        match is_part {
            true => Err(miette::miette!(
                help = "leave out --format and --output, or what asks for a part of the study",
                "--format and --output are for a study's verdict"
            )),
            false => Ok(()),
        }
    }
}

fn show_benchmark(shared: &Shared, name: &str) -> miette::Result<()> {
    let catalog = files::catalog(shared, Some(Path::new("plan.toml")))?;
    let found = backsight_model::BenchmarkName::new(name)
        .ok()
        .map(|name| catalog.find(&name))
        .transpose()?;
    let Some(definition) = found.flatten() else {
        let names = catalog.names();
        let near = backsight_model::did_you_mean(name, names.iter().map(|n| n.as_str()));
        let help = near.unwrap_or_else(|| "`backsight list benchmarks` shows what there is".into());
        return Err(miette::miette!(
            help = help,
            "no benchmark `{name}` in the catalogue"
        ));
    };
    let benchmark = &definition.benchmark;
    let mut text = format!("{}: {}\n\nroles     ", benchmark.name, benchmark.about);
    text.push_str(
        &benchmark
            .roles
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    );
    for (system, packages) in &benchmark.needs {
        text.push_str(&format!("\nneeds     {} ({system})", packages.join(" ")));
    }
    text.push_str("\n\n");
    let mut params = table(&["parameter", "default", "about"]);
    for (name, param) in &benchmark.params {
        let mut about = param.about.clone();
        if !param.choices.is_empty() {
            let choices: Vec<String> = param.choices.iter().map(ToString::to_string).collect();
            about.push_str(&format!(" ({})", choices.join(", ")));
        }
        let unit = param.unit.as_deref().unwrap_or_default();
        params.add_row([name.to_string(), format!("{} {unit}", param.default), about]);
    }
    let mut metrics = table(&["metric", "unit", "better", "about"]);
    for (name, metric) in &benchmark.metrics {
        metrics.add_row([
            name.to_string(),
            metric.unit.to_string(),
            metric.better.to_string(),
            metric.about.clone(),
        ]);
    }
    text.push_str(&format!(
        "{params}\n\n{metrics}\n\nhow it is run ({}):\n\n",
        definition.document.name
    ));
    for line in definition.document.text.lines() {
        text.push_str(&format!("    {line}\n"));
    }
    files::print(&text)
}

fn show_monitor(shared: &Shared, name: &str) -> miette::Result<()> {
    let catalog = files::catalog(shared, Some(Path::new("plan.toml")))?;
    let monitors = catalog.monitors();
    let known = MonitorName::new(name).ok();
    let document = known.as_ref().and_then(|name| monitors.document(name));
    let found = known.as_ref().map(|name| monitors.find(name)).transpose()?;
    let (Some(monitor), Some(document)) = (found.flatten(), document) else {
        return Err(overhead::no_monitor(&catalog, name));
    };
    let mut text = format!(
        "{}: {}\n\nwatches   the {}\n",
        monitor.name, monitor.about, monitor.watches
    );
    if monitor.has_interval() {
        let usual = Time(monitor.usual_interval());
        text.push_str(&format!("interval  {usual}"));
        if let Some(least) = monitor.least {
            text.push_str(&format!(", at least {least}"));
        }
        text.push('\n');
    }
    for (system, packages) in &monitor.needs {
        text.push_str(&format!("needs     {} ({system})\n", packages.join(" ")));
    }
    text.push_str(&format!("\nhow it is run ({}):\n\n", document.name));
    for line in document.text.lines() {
        text.push_str(&format!("    {line}\n"));
    }
    files::print(&text)
}

async fn overview(store: &Store, study: &StudyRow) -> miette::Result<String> {
    let trials = store.trials(study.id).await.into_diagnostic()?;
    let cells = store.cells(study.id).await.into_diagnostic()?;
    let head = format!(
        "study {}: {} ({}), {}",
        study.id,
        study.name,
        study.verb,
        study.standing()
    );
    let about = format!(
        "began {}, seed {}, {}, {} measured, {} failed",
        local(study.began),
        study.seed,
        counted(study.cells, "cell"),
        counted(study.measured, "trial"),
        study.failed
    );
    let [head, about] = [head, about].map(|line| wrapped(&line, files::width()));
    let mut text = format!("{head}\n{about}\n\n");
    let history = match study.target {
        Some(_) => Some(store.study_history(study.id).await.into_diagnostic()?),
        None => None,
    };
    if let Some(history) = &history {
        text.push_str(&builds_and_boots(history));
    }
    match (&study.target, study.verb.as_str()) {
        (Some(target), StepVerb::NAME) => text.push_str(&format!(
            "what was measured: backsight history --target {target}\n"
        )),
        _ => {
            let look = Look {
                width: files::width(),
                colour: false,
            };
            let verdict = VerdictReport::from_store(store, study).await?;
            text.push_str(&verdict_output::render(
                &verdict,
                Format::Text,
                &look,
                true,
            )?);
        }
    }
    let version = history.is_some().then_some("version");
    let several = history
        .as_ref()
        .filter(|history| !history.testbeds.is_empty());
    let testbed = several.is_some().then_some("testbed");
    let columns = ["round", "cell", "took", "others' cpu", "outcome"];
    let columns: Vec<&str> = std::iter::once("trial")
        .chain(version)
        .chain(testbed)
        .chain(columns)
        .collect();
    let mut rows = table(&columns);
    // Who measured elsewhere didn't say how long it took or what others did meanwhile.
    let imported = study.verb == backsight_study::IMPORT_VERB;
    let known = |text: String| if imported { "unknown".to_owned() } else { text };
    for trial in &trials {
        let version = history.as_ref().map(|history| version_of(history, trial));
        let testbed = several.map(|history| testbed_of(history, trial));
        let rest = [
            trial.round.to_string(),
            cells
                .get(trial.cell)
                .map(ToString::to_string)
                .unwrap_or_default(),
            known(Time(trial.took).to_string()),
            known(format!("{:.0} %", trial.neighbours * 100.0)),
            outcome(trial),
        ];
        let number = trial.number.to_string();
        let of_history = version.into_iter().chain(testbed);
        rows.add_row(std::iter::once(number).chain(of_history).chain(rest));
    }
    text.push_str(&format!("\n{rows}\n"));
    if study.standing() == "killed" || study.standing() == "stopped" {
        text.push_str(&format!("\ngo on with: backsight resume {}\n", study.name));
    }
    Ok(text)
}

/// The version that a trial was made on, with its layout and boot where there is more than one of them.
fn version_of(history: &StudyHistory, trial: &TrialRow) -> String {
    let boot = history.boots.iter().find(|boot| boot.number == trial.boot);
    let build = boot.and_then(|boot| history.builds.iter().find(|b| b.number == boot.build));
    let (Some(boot), Some(build)) = (boot, build) else {
        return "unknown".to_owned();
    };
    let mut text = name_of(history, build);
    if build.layout != Layout::default() {
        text.push_str(&format!(" {}", build.layout));
    }
    let others = |other: &&Boot| (other.build, other.testbed) == (boot.build, boot.testbed);
    if history.boots.iter().filter(others).count() > 1 {
        text.push_str(&format!(" boot {}", boot.ordinal));
    }
    text
}

/// The testbed that a trial was made on, of a study that measured on several at once.
fn testbed_of(history: &StudyHistory, trial: &TrialRow) -> String {
    let boot = history.boots.iter().find(|boot| boot.number == trial.boot);
    let testbed = boot.and_then(|boot| history.testbeds.get(boot.testbed));
    testbed.map_or_else(|| "unknown".to_owned(), |testbed| testbed.name.to_string())
}

fn name_of(history: &StudyHistory, build: &Build) -> String {
    let version = history.versions.get(build.version);
    version.map_or_else(|| "unknown".to_owned(), Version::full_name)
}

fn builds_and_boots(history: &StudyHistory) -> String {
    let mut builds = table(&["build", "version", "layout", "took", "outcome"]);
    for build in &history.builds {
        let mut outcome = match &build.failure {
            Some(failure) => format!("none: {failure}"),
            None if build.cached => "was there".to_owned(),
            None => "made".to_owned(),
        };
        for quirk in &build.quirks {
            outcome.push_str(&format!("; quirk: {quirk}"));
        }
        builds.add_row([
            build.number.to_string(),
            name_of(history, build),
            build.layout.to_string(),
            Time(build.took).to_string(),
            outcome,
        ]);
    }
    let mut boots = table(&["boot", "build", "took", "outcome"]);
    for boot in &history.boots {
        boots.add_row([
            boot.number.to_string(),
            boot.build.to_string(),
            Time(boot.took).to_string(),
            boot.failure.clone().unwrap_or_else(|| "good".to_owned()),
        ]);
    }
    format!("{builds}\n\n{boots}\n\n")
}

async fn build(store: &Store, history: &StudyHistory, number: u32) -> miette::Result<Vec<u8>> {
    let found = history.builds.iter().find(|build| build.number == number);
    let build = found.ok_or_else(|| {
        let (name, last) = (&history.name, history.builds.len());
        miette::miette!("study `{name}` has no build {number}: it has 1 to {last}")
    })?;
    let outcome = match &build.failure {
        Some(failure) => failure.to_string(),
        None => Time(build.took).to_string(),
    };
    let (version, layout, key) = (name_of(history, build), build.layout, &build.key);
    let head = format!("build {number}: {version}, layout {layout}, {outcome}\ncontent {key}\n\n");
    with_log(store, head, build.log.as_deref()).await
}

async fn boot(store: &Store, history: &StudyHistory, number: u32) -> miette::Result<Vec<u8>> {
    let found = history.boots.iter().find(|boot| boot.number == number);
    let boot = found.ok_or_else(|| {
        let (name, last) = (&history.name, history.boots.len());
        miette::miette!("study `{name}` has no boot {number}: it has 1 to {last}")
    })?;
    let outcome = boot
        .failure
        .clone()
        .unwrap_or_else(|| Time(boot.took).to_string());
    let on = history.testbeds.get(boot.testbed);
    let on = on.map_or_else(String::new, |testbed| {
        format!(" on testbed {}", testbed.name)
    });
    let mut head = format!("boot {number} of build {}{on}: {outcome}\n", boot.build);
    for (fact, value) in &boot.facts {
        head.push_str(&format!("  {fact}: {value}\n"));
    }
    head.push('\n');
    with_log(store, head, boot.log.as_deref()).await
}

async fn with_log(store: &Store, head: String, log: Option<&str>) -> miette::Result<Vec<u8>> {
    let mut page = head.into_bytes();
    if let Some(log) = log {
        let log: RawRef = log.parse().into_diagnostic()?;
        page.extend(store.raw(&log).await.into_diagnostic()?);
    }
    Ok(page)
}

fn outcome(trial: &TrialRow) -> String {
    match &trial.failure {
        Some(failure) => format!("failed: {failure}"),
        None if trial.warnings.is_empty() => "measured".into(),
        None => format!("measured; {}", trial.warnings.join("; ")),
    }
}

async fn trial(store: &Store, study: &StudyRow, number: u32, raw: bool) -> miette::Result<Vec<u8>> {
    let trials = store.trials(study.id).await.into_diagnostic()?;
    let cells = store.cells(study.id).await.into_diagnostic()?;
    let trial = trials
        .iter()
        .find(|trial| trial.number == number)
        .ok_or_else(|| {
            miette::miette!(
                "study `{}` has no trial {number}: it has 1 to {}",
                study.name,
                trials.len()
            )
        })?;
    let mut page = format!(
        "trial {number} of {}: {}, round {}, {}\n{}\n",
        study.name,
        cells
            .get(trial.cell)
            .map(ToString::to_string)
            .unwrap_or_default(),
        trial.round,
        local(trial.began),
        outcome(trial)
    )
    .into_bytes();
    for load in &trial.load {
        let hosts: Vec<String> = load.hosts.iter().map(ToString::to_string).collect();
        let line = format!(
            "processors of {}: {:.2} s available, {:.2} s ours, {:.2} s others'{}, {:.2} s interrupts, {:.2} s stolen\n",
            hosts.join(", "),
            load.available,
            load.ours,
            load.others,
            match load.busiest.join(", ") {
                names if names.is_empty() => names,
                names => format!(" ({})", names.escape_debug()),
            },
            load.interrupts,
            load.stolen
        );
        page.extend(line.bytes());
    }
    for step in store.steps(study.id, number).await.into_diagnostic()? {
        let command = step.command.trim();
        let what = match &step.monitor {
            Some(monitor) => format!("monitor {monitor}, {}", step.phase),
            None => step.phase.to_string(),
        };
        let heading = format!("\n{what} of {} on {}: {command}\n", step.role, step.host);
        page.extend(heading.bytes());
        // A file that was imported has used nothing.
        if step.usage.wall.is_finite() {
            let used = format!(
                "  {}, {}, user {:.2} s, system {:.2} s\n",
                ending(&step.ending),
                Time(std::time::Duration::from_secs_f64(step.usage.wall.max(0.0))),
                step.usage.user,
                step.usage.sys
            );
            page.extend(used.bytes());
        }
        for (name, kept) in [("stdout", &step.stdout), ("stderr", &step.stderr)] {
            page.extend(output(store, name, kept, raw).await?);
        }
    }
    Ok(page)
}

async fn output(store: &Store, name: &str, kept: &Kept, raw: bool) -> miette::Result<Vec<u8>> {
    let Some(reference) = &kept.raw else {
        return Ok(Vec::new());
    };
    if !raw {
        return Ok(format!("  {name}: {} bytes (--raw shows them)\n", kept.printed).into_bytes());
    }
    let mut page = format!("  {name}, {} bytes:\n", kept.printed).into_bytes();
    page.extend(store.raw(reference).await.into_diagnostic()?);
    if !page.ends_with(b"\n") {
        page.push(b'\n');
    }
    Ok(page)
}

/// How a program ended, in words.
fn ending(ending: &Ending) -> String {
    match ending {
        Ending::Exit(code) => format!("exited with code {code}"),
        Ending::Signal(number) => format!("killed by signal {number}"),
        Ending::TimedOut => "took longer than its limit".into(),
        Ending::TooMuchOutput => "printed more than its limit".into(),
        Ending::NeverReady => "never became ready".into(),
        Ending::NotFound => "no such program".into(),
        Ending::Refused(why) => why.clone(),
        Ending::Stopped => "stopped".into(),
        Ending::Lost => "its host went away".into(),
    }
}

async fn documents(store: &Store, study: &StudyRow) -> miette::Result<String> {
    let documents = store.documents(study.id).await.into_diagnostic()?;
    Ok(documents
        .iter()
        .map(|d| format!("# {}: {}\n\n{}\n", d.kind, d.name, d.text))
        .collect())
}

async fn hosts(store: &Store, study: &StudyRow) -> miette::Result<String> {
    let results = store.result_set(study.id).await.into_diagnostic()?;
    let mut text = String::new();
    for (host, facts) in &results.hosts {
        let mut rows = table(&["fact", "value"]);
        for (fact, value) in facts {
            rows.add_row([fact, value]);
        }
        text.push_str(&format!("host {host}\n{rows}\n\n"));
    }
    Ok(text)
}

/// Arguments of `delete`.
#[derive(Debug, clap::Args)]
pub struct Delete {
    /// The study: its name or its number
    study: String,
}

impl Delete {
    /// Deletes it.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let study = store.study(&self.study).await.into_diagnostic()?;
            store.delete(study.id).await.into_diagnostic()?;
            files::print(&format!("deleted study {} ({})\n", study.id, study.name))?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// A time as this machine's clock shows it.
fn local(at: jiff::Timestamp) -> String {
    at.to_zoned(jiff::tz::TimeZone::system())
        .strftime("%Y-%m-%d %H:%M:%S")
        .to_string()
}
