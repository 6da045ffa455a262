//! A stored study as text: the list of studies; one study with its builds, boots and trials; one trial with its steps.

use backsight_model::{
    Boot, Build, Cell, Ending, HostClock, HostName, Layout, Meeting, MeetingKind, ResultSet,
    RoleName, StudyHistory, SuiteRun, TargetName, TestCount, Time, Version, counted, numbers,
};
use backsight_store::{CoreFileRow, StepRow, StudyDocument, StudyRow, TrialRow};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

use crate::{
    TerminalStyle, clipped,
    instances::{StudyInstances, meeting_name, milliseconds},
    list_table,
    testbeds::testbeds_text,
    wrapped,
};

/// Tests of a trial that are listed; `--raw` shows all.
const MOST_TESTS: usize = 100;
/// Longest name with its message, in characters.
const TEST_WIDTH: usize = 160;

/// The studies of a store as a table.
pub fn studies_table(studies: &[StudyRow], width: Option<u16>) -> String {
    let mut table = list_table(
        &[
            "study", "name", "verb", "state", "measured", "failed", "began",
        ],
        width,
    );
    for study in studies {
        table.add_row([
            study.id.to_string(),
            study.name.to_string(),
            study.verb.clone(),
            study.state_name().to_owned(),
            study.measured.to_string(),
            study.failed.to_string(),
            local_time(study.began),
        ]);
    }
    format!("{table}\n")
}

/// A study in the list, for programs.
#[derive(Serialize, JsonSchema)]
pub struct StudyListEntry<'a> {
    /// Its number.
    study: i64,
    /// Its name.
    name: &'a str,
    /// The verb that measured it.
    verb: &'a str,
    /// The target whose history it is about; null where it is about none.
    target: Option<&'a str>,
    /// `running`, `stopped`, `killed`, `finished`.
    state: &'a str,
    /// How many cells its plan has.
    cells: usize,
    /// Trials that gave samples.
    measured: usize,
    /// Trials that failed.
    failed: usize,
    /// The seed of its order.
    seed: u32,
    /// When it began: RFC 3339.
    began: String,
    /// When it ended.
    ended: Option<String>,
}

impl<'a> From<&'a StudyRow> for StudyListEntry<'a> {
    fn from(study: &'a StudyRow) -> Self {
        Self {
            study: study.id.0,
            name: study.name.as_str(),
            verb: &study.verb,
            target: study.target.as_ref().map(TargetName::as_str),
            state: study.state_name(),
            cells: study.cells,
            measured: study.measured,
            failed: study.failed,
            seed: study.seed,
            began: study.began.to_string(),
            ended: study.ended.map(|at| at.to_string()),
        }
    }
}

/// A study with what was built, booted and measured in it.
pub struct StudyOverview<'a> {
    /// The study.
    pub study: &'a StudyRow,
    /// Its versions, builds and boots, if it is about a target.
    pub history: Option<&'a StudyHistory>,
    /// Its verdict, as text.
    pub verdict: &'a str,
    /// What several hosts did beside each other, where they did.
    pub instances: Option<StudyInstances>,
    /// What was measured, where several testbeds measured at once.
    pub testbeds: Option<ResultSet>,
    /// Its cells.
    pub cells: &'a [Cell],
    /// Its trials.
    pub trials: &'a [TrialRow],
    /// Whether others measured it: they didn't say how long a trial took or what other programs did meanwhile.
    pub imported: bool,
}

impl StudyOverview<'_> {
    /// The study as text.
    pub fn text(&self, width: Option<u16>) -> String {
        let (study, history) = (self.study, self.history);
        let head = format!(
            "study {}: {} ({}), {}",
            study.id,
            study.name,
            study.verb,
            study.state_name()
        );
        let about = format!(
            "began {}, seed {}, {}, {} measured, {} failed",
            local_time(study.began),
            study.seed,
            counted(study.cells, "cell"),
            counted(study.measured, "trial"),
            study.failed
        );
        let [head, about] = [head, about].map(|line| wrapped(&line, width));
        let mut text = format!("{head}\n{about}\n\n");
        if let Some(history) = history {
            text.push_str(&builds_and_boots(history, width));
        }
        text.push_str(self.verdict);
        let look = TerminalStyle {
            width,
            colour: false,
        };
        if let Some(set) = &self.testbeds {
            text.push_str(&format!("\n{}", testbeds_text(set, &look)));
        }
        if let Some(instances) = &self.instances {
            text.push_str(&format!("\n{}", instances.text(&look)));
        }
        let version = history.map(|_| "version");
        let several = history.filter(|history| !history.several_testbeds().is_empty());
        let testbed = several.map(|_| "testbed");
        let columns = ["round", "cell", "took", "others' cpu", "outcome"];
        let columns: Vec<&str> = std::iter::once("trial")
            .chain(version)
            .chain(testbed)
            .chain(columns)
            .collect();
        let mut rows = list_table(&columns, width);
        let known = |text: String| {
            if self.imported {
                "unknown".to_owned()
            } else {
                text
            }
        };
        for trial in self.trials {
            let version = history.map(|history| version_of(history, trial));
            let testbed = several.map(|history| testbed_of(history, trial));
            let rest = [
                trial.round.to_string(),
                self.cells
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
        if study.state_name() == "killed" || study.state_name() == "stopped" {
            text.push_str(&format!("\ngo on with: backsight resume {}\n", study.name));
        }
        text
    }
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
    let testbed = boot.and_then(|boot| history.several_testbeds().get(boot.testbed));
    testbed.map_or_else(|| "unknown".to_owned(), |testbed| testbed.name.to_string())
}

fn name_of(history: &StudyHistory, build: &Build) -> String {
    let version = history.versions.get(build.version);
    version.map_or_else(|| "unknown".to_owned(), Version::full_name)
}

fn builds_and_boots(history: &StudyHistory, width: Option<u16>) -> String {
    let mut builds = list_table(&["build", "version", "layout", "took", "outcome"], width);
    for build in &history.builds {
        let mut outcome = match &build.failure {
            Some(failure) => format!("none: {failure}"),
            None if build.cached => "was there".to_owned(),
            None => "made".to_owned(),
        };
        if !build.compilers.is_empty() {
            outcome.push_str(&format!(" by {}", build.compilers.join(", ")));
        }
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
    let mut boots = list_table(&["boot", "build", "took", "outcome"], width);
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

/// A build of a study, above what its commands printed.
pub fn build_heading(history: &StudyHistory, build: &Build) -> String {
    let outcome = match &build.failure {
        Some(failure) => failure.to_string(),
        None => Time(build.took).to_string(),
    };
    let (version, layout, key) = (name_of(history, build), build.layout, &build.key);
    format!(
        "build {}: {version}, layout {layout}, {outcome}\ncontent {key}\n\n",
        build.number
    )
}

/// A boot of a study, above what its console said.
pub fn boot_heading(history: &StudyHistory, boot: &Boot) -> String {
    let outcome = boot
        .failure
        .clone()
        .unwrap_or_else(|| Time(boot.took).to_string());
    let on = history.several_testbeds().get(boot.testbed);
    let on = on.map_or_else(String::new, |testbed| {
        format!(" on testbed {}", testbed.name)
    });
    let mut head = format!(
        "boot {} of build {}{on}: {outcome}\n",
        boot.number, boot.build
    );
    for (fact, value) in &boot.facts {
        head.push_str(&format!("  {fact}: {value}\n"));
    }
    head.push('\n');
    head
}

fn outcome(trial: &TrialRow) -> String {
    match &trial.failure {
        Some(failure) => format!("failed: {failure}"),
        None if trial.warnings.is_empty() => "measured".into(),
        None => format!("measured; {}", trial.warnings.join("; ")),
    }
}

/// A trial of a study, above its steps.
pub fn trial_heading(study: &StudyRow, cells: &[Cell], trial: &TrialRow) -> String {
    let mut page = format!(
        "trial {} of {}: {}, round {}, {}\n{}\n",
        trial.number,
        study.name,
        cells
            .get(trial.cell)
            .map(ToString::to_string)
            .unwrap_or_default(),
        trial.round,
        local_time(trial.began),
        outcome(trial)
    );
    for (host, drawn) in &trial.drawn {
        let drawn = drawn
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        let drawn: Vec<String> = drawn.collect();
        page.push_str(&format!(
            "drawn at random on {host}: {}\n",
            drawn.join(", ")
        ));
    }
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
        page.push_str(&line);
    }
    page
}

/// The clocks of a trial's hosts that didn't have the conductor's, a line each.
pub fn clocks_text(clocks: &[HostClock]) -> String {
    let line = |clock: &HostClock| {
        format!(
            "clock of {}: {:.6} s {} the conductor's, known within {:.3} ms\n",
            clock.host,
            clock.ahead_ns.unsigned_abs() as f64 * 1e-9,
            match clock.ahead_ns < 0 {
                true => "behind",
                false => "ahead of",
            },
            clock.uncertainty_ns as f64 * 1e-6
        )
    };
    clocks.iter().map(line).collect()
}

/// How exactly programs of a trial began and passed barriers together, a line each.
pub fn meetings_text(meetings: &[Meeting]) -> String {
    let line = |meeting: &Meeting| {
        let role = meeting.role.as_ref().map(RoleName::as_str);
        let name = meeting_name(meeting.kind, role, &meeting.name);
        let parties = meeting.parties;
        let times = match meeting.times {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        let what = match meeting.kind {
            MeetingKind::Start => format!("{name}, {parties} together"),
            MeetingKind::Barrier => format!("{name}, passed {times} by {parties}"),
            MeetingKind::Iteration => format!("{name}, begun {times} by {parties} together"),
        };
        let apart = match meeting.skew {
            None => String::new(),
            Some(skew) if meeting.times == 1 => {
                format!(": within {}", milliseconds(skew.largest_ns))
            }
            Some(skew) => format!(
                ": within {} (median), {} (p99), {} (largest)",
                milliseconds(skew.median_ns),
                milliseconds(skew.p99_ns),
                milliseconds(skew.largest_ns)
            ),
        };
        format!("{what}{apart}\n")
    };
    meetings.iter().map(line).collect()
}

/// What a suite gave in a trial: how many tests ended in which way, and those that failed or weren't run, a line each.
pub fn tests_text(run: &SuiteRun) -> String {
    let counts = TestCount::ALL.map(|count| (run.count(count), count.name()));
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, of)| format!("{count} {of}")).collect();
    let mut text = format!("tests: {}\n", counts.join(", "));
    if !run.complete {
        text.push_str("the suite didn't come to its end\n");
    }
    let isnt_in_order = |outcome| {
        matches!(
            TestCount::of(outcome),
            TestCount::Failed | TestCount::NotRun
        )
    };
    let listed = || run.results.iter().filter(|it| isnt_in_order(it.outcome));
    for test in listed().take(MOST_TESTS) {
        let line = match test.message {
            Some(message) => format!("{}: {message}", test.name),
            None => test.name.to_owned(),
        };
        let line = clipped(&line.replace(['\n', '\r'], " "), TEST_WIDTH);
        text.push_str(&format!("  {} {line}\n", test.outcome));
    }
    let left_out = listed().count().saturating_sub(MOST_TESTS);
    if left_out > 0 {
        text.push_str(&format!("  … and {left_out} more\n"));
    }
    text
}

/// The core files of a trial, a line each; `mark` says of what is gone when and why.
pub fn core_files_text<'a>(
    files: impl IntoIterator<Item = (&'a CoreFileRow, Option<String>)>,
) -> String {
    let mut text = String::new();
    for ((file, mark), number) in files.into_iter().zip(1..) {
        let CoreFileRow { host, path, .. } = file;
        let program = file.program.as_deref().unwrap_or("a program");
        let signal = file.signal.map(|signal| format!(", signal {signal}"));
        let signal = signal.unwrap_or_default();
        let what = match (&file.content, mark) {
            (None, _) => "larger than was to be kept".to_owned(),
            (Some(_), Some(mark)) => mark,
            (Some(_), None) => format!("--core {number} writes it"),
        };
        let size = numbers::size(file.bytes);
        text.push_str(&format!(
            "core file {number}: {program}{signal}, {size}, {path} on {host} ({what})\n"
        ));
    }
    text
}

/// A step of a trial, above what it printed.
pub fn step_heading(step: &StepRow) -> String {
    let command = step.command.trim();
    let what = match &step.monitor {
        Some(monitor) => format!("monitor {monitor}, {}", step.phase),
        None => step.phase.to_string(),
    };
    let mut heading = format!("\n{what} of {} on {}: {command}\n", step.role, step.host);
    // A file that was imported has used nothing.
    if step.usage.wall.is_finite() {
        heading.push_str(&format!(
            "  {}, {}, user {:.2} s, system {:.2} s\n",
            ending(&step.ending),
            Time(Duration::from_secs_f64(step.usage.wall.max(0.0))),
            step.usage.user,
            step.usage.sys
        ));
    }
    heading
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

/// The plan, the lab and the definitions that a study was made from.
pub fn documents_text(documents: &[StudyDocument]) -> String {
    let documents = documents.iter();
    documents
        .map(|d| format!("# {}: {}\n\n{}\n", d.kind, d.name, d.text))
        .collect()
}

/// What each host of a study was.
pub fn hosts_text(
    hosts: &IndexMap<HostName, IndexMap<String, String>>,
    width: Option<u16>,
) -> String {
    let mut text = String::new();
    for (host, facts) in hosts {
        let mut rows = list_table(&["fact", "value"], width);
        for (fact, value) in facts {
            rows.add_row([fact, value]);
        }
        text.push_str(&format!("host {host}\n{rows}\n\n"));
    }
    text
}

/// A time as this machine's clock shows it.
pub(crate) fn local_time(at: jiff::Timestamp) -> String {
    at.to_zoned(jiff::tz::TimeZone::system())
        .strftime("%Y-%m-%d %H:%M:%S")
        .to_string()
}
