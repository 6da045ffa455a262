//! Every trial with its steps and what they printed.
//!
//! A trial is one fold: its line is what it came to, and a click opens everything that was kept of it. What
//! doesn't fit on the page is named, with the command that shows it.

use askama::Template;
use backsight_model::{Ending, HostName, InstanceSamples, MachineLoad, MetricName, TrialSamples};
use backsight_report::{
    chart, clipped,
    numbers::{self, Scale},
    stored_study::{clocks_text, meetings_text},
};
use backsight_store::TrialInstances;
use std::collections::{HashMap, HashSet};

use crate::{
    printed::{PrintedOutput, Shown},
    report::{ReportStep, ReportStudy, ReportTrial},
};

/// Values of one metric in one trial that are written out.
const MOST_VALUES: usize = 12;
/// Metrics of a trial that stand in its line.
const MOST_METRICS: usize = 3;
/// Characters of a command that are shown.
const LONGEST_COMMAND: usize = 4000;
/// Characters of a reason or warning that are shown.
pub(crate) const LONGEST_REASON: usize = 2000;

/// One trial, fit for the page.
#[derive(Template)]
#[template(path = "trial.html")]
pub(crate) struct TrialView<'a> {
    id: String,
    number: u32,
    round: u32,
    place: usize,
    cell: String,
    came: String,
    failure: Option<String>,
    took: String,
    began: String,
    neighbours: String,
    loads: Vec<String>,
    warnings: Vec<String>,
    metrics: &'a [MetricView],
    /// What each of several hosts measured.
    hosts: Vec<HostRow>,
    /// How exactly programs went on together, and clocks.
    together: Vec<String>,
    steps: Vec<StepView>,
    /// The command that prints everything of it.
    command: String,
    /// Whether it is open.
    open: bool,
}

struct MetricView {
    name: String,
    /// Name and first value.
    brief: String,
    values: String,
    /// What the interval samples are, and their picture; both empty without any.
    each: String,
    spark: String,
}

/// What a host of a role that several play measured.
struct HostRow {
    metric: String,
    host: String,
    values: String,
    spark: String,
}

struct StepView {
    heading: String,
    facts: String,
    amiss: bool,
    command: String,
    streams: Vec<StreamView>,
}

struct StreamView {
    name: &'static str,
    size: String,
    /// What became of the rest, if this isn't all of it.
    rest: String,
    shown: Shown,
    /// Its raw output's address in the store.
    raw: Option<String>,
    /// The file with all of it, where there is one.
    whole: Option<String>,
}

impl TrialView<'_> {
    /// With these files for the raw outputs of these addresses; open if it is the only one of its page.
    pub fn with_files(mut self, files: &HashMap<String, String>, is_only: bool) -> Self {
        self.open = is_only;
        for stream in self.steps.iter_mut().flat_map(|step| &mut step.streams) {
            let file = stream.raw.as_ref().and_then(|raw| files.get(raw));
            stream.whole = file.cloned();
        }
        self
    }
}

/// The trials of one study, with what must be known of all of them to show one.
pub(crate) struct Trials<'a> {
    study: &'a ReportStudy,
    anchor: String,
    metrics: HashMap<u32, Vec<MetricView>>,
    places: HashMap<u32, usize>,
}

impl<'a> Trials<'a> {
    /// `number` is the study's place on the page, of `studies`.
    pub fn new(study: &'a ReportStudy, number: usize, studies: usize) -> Self {
        let shown = study.trials.iter().filter(|trial| trial.shown);
        let shown: HashSet<u32> = shown.map(|trial| trial.row.number).collect();
        let mut metrics: HashMap<u32, Vec<MetricView>> = HashMap::new();
        for series in &study.results.series {
            let trials = series.trials.iter();
            for trial in trials.filter(|trial| shown.contains(&trial.trial)) {
                let all = trial.values.iter().chain(&trial.each).copied();
                let scale = Scale::fitting(series.unit, all);
                let view = MetricView::new(series.metric.as_str(), &scale, trial);
                metrics.entry(trial.trial).or_default().push(view);
            }
        }
        Self {
            study,
            anchor: anchor(number, studies),
            metrics,
            places: places(study),
        }
    }

    /// This trial, each of its outputs within `allowance` bytes of page.
    pub fn view<'v>(&'v self, trial: &ReportTrial, allowance: usize) -> TrialView<'v> {
        let row = &trial.row;
        let command = format!(
            "backsight show {} --trial {} --raw",
            self.study.row.name, row.number
        );
        let failure = row
            .failure
            .as_ref()
            .map(|failure| clipped(&failure.to_string(), LONGEST_REASON));
        let metrics = self
            .metrics
            .get(&row.number)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let cell = self.study.cells.get(row.cell);
        TrialView {
            id: format!("{}{}", self.anchor, row.number),
            number: row.number,
            round: row.round,
            place: self.places.get(&row.number).copied().unwrap_or(0),
            cell: cell.map_or_else(|| "unknown".to_owned(), ToString::to_string),
            came: match &failure {
                Some(reason) => clipped(reason.lines().next().unwrap_or_default(), 160),
                None => brief(metrics),
            },
            failure,
            took: numbers::duration(row.took),
            began: row.began.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
            neighbours: numbers::share(row.neighbours),
            loads: row.load.iter().map(load).collect(),
            warnings: row
                .warnings
                .iter()
                .map(|warning| clipped(warning, LONGEST_REASON))
                .collect(),
            metrics,
            hosts: self.hosts(trial),
            together: together(&trial.instances),
            steps: trial
                .steps
                .iter()
                .map(|step| StepView::new(step, allowance))
                .collect(),
            command,
            open: false,
        }
    }

    /// What each of several hosts measured in a trial, metric by metric.
    fn hosts(&self, trial: &ReportTrial) -> Vec<HostRow> {
        let cell = self.study.cells.get(trial.row.cell);
        let series = |metric: &MetricName| {
            let mut all = self.study.results.series.iter();
            all.find(|series| Some(&series.cell) == cell && series.metric == *metric)
        };
        let of_metric = trial
            .instances
            .samples
            .iter()
            .filter_map(|(metric, hosts)| {
                let all = hosts.iter().flat_map(|host| host.values.iter().copied());
                let scale = Scale::fitting(series(metric)?.unit, all);
                let row = move |host| HostRow::new(metric, host, &scale);
                Some(hosts.iter().map(row))
            });
        of_metric.flatten().collect()
    }
}

/// What stands before a trial's number in its anchor.
pub(crate) fn anchor(number: usize, studies: usize) -> String {
    if studies == 1 {
        "trial-".to_owned()
    } else {
        format!("study-{}-trial-", number + 1)
    }
}

/// The place in its round of each trial that is shown, from 1; each boot has rounds of its own.
fn places(study: &ReportStudy) -> HashMap<u32, usize> {
    let mut in_round: HashMap<(u32, u32), usize> = HashMap::new();
    study
        .trials
        .iter()
        .filter_map(|trial| {
            let place = in_round
                .entry((trial.row.boot, trial.row.round))
                .or_default();
            *place += 1;
            trial.shown.then_some((trial.row.number, *place))
        })
        .collect()
}

fn brief(metrics: &[MetricView]) -> String {
    if metrics.is_empty() {
        return "no samples".to_owned();
    }
    let first: Vec<&str> = metrics
        .iter()
        .take(MOST_METRICS)
        .map(|metric| metric.brief.as_str())
        .collect();
    let more = metrics.len() - first.len();
    let more = if more > 0 {
        format!(" · {more} more")
    } else {
        String::new()
    };
    first.join(" · ") + &more
}

fn load(load: &MachineLoad) -> String {
    let hosts: Vec<&str> = load.hosts.iter().map(HostName::as_str).collect();
    let of_all = |seconds: f64| numbers::share(seconds / load.available);
    format!(
        "{}: of {} CPU seconds {} by this trial, {} by others{}, {} by the kernel's interrupts, {} by other guests",
        hosts.join(", "),
        numbers::significant(load.available, 4),
        of_all(load.ours),
        of_all(load.others),
        match load.busiest.join(", ") {
            names if names.is_empty() => names,
            names => format!(" ({names})"),
        },
        of_all(load.interrupts),
        of_all(load.stolen),
    )
}

impl MetricView {
    fn new(name: &str, scale: &Scale, trial: &TrialSamples) -> Self {
        let more = |count: usize| match count {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        let brief = trial.values.first().map_or_else(
            || format!("{name}: none"),
            |first| {
                let others = more(trial.values.len() - 1);
                format!(
                    "{name} {}{}{others}",
                    numbers::value(scale.convert(*first), 4),
                    scale.unit_after()
                )
            },
        );
        let each: Vec<f64> = trial
            .each
            .iter()
            .map(|value| scale.convert(*value))
            .collect();
        let ends = each
            .iter()
            .copied()
            .reduce(f64::min)
            .zip(each.iter().copied().reduce(f64::max));
        Self {
            name: name.to_owned(),
            brief,
            values: values_text(&trial.values, scale),
            each: ends.map_or_else(String::new, |(low, high)| {
                let [low, high] = [low, high].map(|end| numbers::value(end, 4));
                let count = numbers::counted(each.len(), "interval sample");
                format!("{count}, {low} to {high}{}", scale.unit_after())
            }),
            spark: chart::spark(&each, 160.0, 18.0),
        }
    }
}

impl HostRow {
    fn new(metric: &MetricName, of_host: &InstanceSamples, scale: &Scale) -> Self {
        let each = of_host.each.iter().map(|value| scale.convert(*value));
        Self {
            metric: metric.to_string(),
            host: of_host.host.to_string(),
            values: values_text(&of_host.values, scale),
            spark: chart::spark(&each.collect::<Vec<_>>(), 160.0, 18.0),
        }
    }
}

/// The values of a trial with their unit, some of very many.
fn values_text(values: &[f64], scale: &Scale) -> String {
    let written = values.iter().take(MOST_VALUES);
    let written = written.map(|value| numbers::value(scale.convert(*value), 6));
    let written: Vec<String> = written.collect();
    let more = match values.len() - written.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{}{more}", written.join(", "), scale.unit_after())
}

/// How exactly the programs of a trial went on together, and the clocks of its hosts: a line each.
fn together(instances: &TrialInstances) -> Vec<String> {
    let text = meetings_text(&instances.meetings) + &clocks_text(&instances.clocks);
    text.lines().map(str::to_owned).collect()
}

impl StepView {
    fn new(step: &ReportStep, allowance: usize) -> Self {
        let row = &step.row;
        let usage = &row.usage;
        let mut facts = vec![ending(&row.ending)];
        if row.role.as_str() != row.host.as_str() {
            facts.insert(0, format!("on {}", row.host));
        }
        if row.spawned {
            facts.push("in the background".into());
        }
        for (seconds, what) in [
            (usage.wall, ""),
            (usage.user, " user"),
            (usage.sys, " system"),
        ] {
            if seconds.is_finite() {
                let length = std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default();
                facts.push(format!("{}{what}", numbers::duration(length)));
            }
        }
        if usage.maxrss > 0 {
            facts.push(format!("{} resident", numbers::size(usage.maxrss)));
        }
        Self {
            heading: match &row.monitor {
                Some(monitor) => format!("{} · {} · monitor {monitor}", row.role, row.phase),
                None => format!("{} · {}", row.role, row.phase),
            },
            facts: facts.join(" · "),
            amiss: !matches!(row.ending, Ending::Exit(0) | Ending::Stopped),
            command: clipped(&row.command, LONGEST_COMMAND),
            streams: [
                ("standard output", &step.stdout, &row.stdout),
                ("standard error", &step.stderr, &row.stderr),
            ]
            .into_iter()
            .filter(|(_, printed, _)| !printed.is_empty())
            .map(|(name, printed, kept)| StreamView {
                raw: kept.raw.as_ref().map(ToString::to_string),
                ..StreamView::new(name, printed, allowance)
            })
            .collect(),
        }
    }
}

impl StreamView {
    fn new(name: &'static str, printed: &PrintedOutput, allowance: usize) -> Self {
        let shown = printed.within(allowance);
        let mut rest = Vec::new();
        if let Some(why) = printed.unreadable() {
            rest.push(why.to_owned());
        }
        if let Some(trial) = printed.shown_by() {
            rest.push(format!("the same as of trial {trial}"));
        } else if shown.left_out > 0 {
            let what = if shown.binary { "not text; " } else { "" };
            rest.push(format!(
                "{what}{} left out of this page",
                numbers::size(shown.left_out)
            ));
        }
        if printed.lost() > 0 {
            rest.push(format!(
                "{} went over the limit of this step's output and weren't kept",
                numbers::size(printed.lost())
            ));
        }
        Self {
            name,
            size: numbers::size(printed.printed()),
            rest: rest.join("; "),
            shown,
            raw: None,
            whole: None,
        }
    }
}

fn ending(ending: &Ending) -> String {
    match ending {
        Ending::Exit(code) => format!("exit {code}"),
        Ending::Signal(number) => format!("killed by signal {number}"),
        Ending::TimedOut => "took longer than its limit".into(),
        Ending::TooMuchOutput => "printed more than its limit".into(),
        Ending::NeverReady => "never became ready".into(),
        Ending::NotFound => "no such program".into(),
        Ending::Refused(why) => format!("couldn't be started: {}", clipped(why, LONGEST_REASON)),
        Ending::Stopped => "stopped by Backsight".into(),
        Ending::Lost => "its host went away".into(),
    }
}
