//! `backsight history`: what was measured along a target's versions, and where it changed.

use backsight_model::{Back, StudyHistory, TargetName, did_you_mean};
use backsight_policy::{
    ChangeDirection, ChangePoint, HistoryGap, TargetHistory, VersionSeries, history,
};
use backsight_report::{
    Format, escape,
    history::{SelectedHistory, TextOptions},
};
use backsight_store::Store;
use backsight_study::verbs::bisect::named_changes;
use jiff::{Timestamp, tz::TimeZone};
use miette::IntoDiagnostic as _;
use std::{collections::BTreeSet, path::PathBuf, process::ExitCode};

use crate::{cli::Shared, exit_status::ExitStatus, files, output::Output, publish};

/// What makes the exit status 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// A change for the worse that isn't accepted; status 3 if a series is too short to show one
    Worse,
    /// Any change that isn't accepted; status 3 if a series is too short to show one
    AnyChange,
    /// The newest version that was tried doesn't build or boot, or all trials of a cell failed there
    Broken,
    /// A cell of which nothing was measured at any version
    Missing,
    /// The newest measured version of a series isn't the newest that is known, or is older than --stale-after
    Stale,
}

/// Arguments of `history`.
#[derive(Debug, clap::Args)]
pub struct History {
    /// Which target; needed if the store has several
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Only this metric: `throughput` or `tbench.throughput`; may be repeated
    #[arg(long = "metric", value_name = "METRIC")]
    metrics: Vec<String>,
    /// Only this benchmark; may be repeated
    #[arg(long = "benchmark", value_name = "NAME")]
    only: Vec<String>,
    /// Every version in the tables
    #[arg(long)]
    all: bool,
    /// Every metric: show secondary ones without a change, too, and let each count for --fail-on
    #[arg(long)]
    all_metrics: bool,
    /// Everything, as JSON: the same as --format json
    #[arg(long, conflicts_with_all = ["csv", "all", "format"])]
    json: bool,
    /// A line for each series and version
    #[arg(long, conflicts_with_all = ["all", "format"])]
    csv: bool,
    #[command(flatten)]
    output: Output,
    /// End with status 1 if the series that are shown have such a change or such a gap; may be several, with commas
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        value_delimiter = ',',
        conflicts_with = "page"
    )]
    fail_on: Vec<FailOn>,
    /// With --fail-on stale: also if the newest measured version is older than this, such as 36h, 3d, 1w
    #[arg(long, value_name = "AGE", requires = "fail_on")]
    stale_after: Option<Back>,
    /// Write the history's pages into this folder instead, as `publish` does
    #[arg(long, value_name = "DIR", conflicts_with_all = ["csv", "json", "all", "metrics", "only"])]
    page: Option<PathBuf>,
}

impl History {
    /// Shows it.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let target = target(&store, self.target.as_deref()).await?;
            if let Some(folder) = &self.page {
                publish::into(&store, &[target], folder).await?;
                return Ok(ExitCode::SUCCESS);
            }
            let (studies, history) = known_of(&store, &target).await?;
            let along = SelectedHistory {
                target: target.as_str(),
                studies: &studies,
                series: self.chosen(&history)?,
                history: &history,
                all_metrics: self.counts_all(),
            };
            if self.csv {
                let text = along.csv();
                match &self.output.output {
                    Some(path) => files::write_whole(path, &text)?,
                    None => files::print_foreign(text.as_bytes())?,
                }
            } else {
                let usual = if self.json {
                    Format::Json
                } else {
                    Format::Text
                };
                write(&along, &self.output, usual, self.all)?;
            }
            let now = Timestamp::now();
            let gaps = self.gaps(&along, now)?;
            say_all(&gaps);
            if !gaps.is_empty() || self.alarms(&along.series) {
                return Ok(ExitStatus::Failed.into());
            }
            // Without a gap that was asked for: whether the changes that were asked for could be seen at all.
            let unseen = match self.asks_for_changes() {
                true => history.too_short(&self.judged(&along.series)),
                false => Vec::new(),
            };
            say_all(&unseen);
            Ok(match unseen.is_empty() {
                true => ExitStatus::Success.into(),
                false => ExitStatus::Undecided.into(),
            })
        })
    }

    /// Whether secondary metrics count as the primary ones do: all, or those that were named.
    fn counts_all(&self) -> bool {
        self.all_metrics || !self.metrics.is_empty()
    }

    fn asks_for_changes(&self) -> bool {
        let changes = [FailOn::Worse, FailOn::AnyChange];
        changes.iter().any(|change| self.fail_on.contains(change))
    }

    /// The series whose changes count.
    fn judged<'a>(&self, series: &[&'a VersionSeries]) -> Vec<&'a VersionSeries> {
        let counts = |series: &&VersionSeries| series.metric.primary || self.counts_all();
        series.iter().copied().filter(counts).collect()
    }

    /// Whether there is a change that --fail-on asks for.
    fn alarms(&self, series: &[&VersionSeries]) -> bool {
        let alarming = |change: &ChangePoint| {
            self.fail_on.contains(&FailOn::AnyChange)
                || self.fail_on.contains(&FailOn::Worse)
                    && change.direction == ChangeDirection::Worse
        };
        let judged = self.judged(series);
        let believed = judged.iter().flat_map(|series| series.believed());
        believed
            .filter(|change| !change.is_accepted())
            .any(alarming)
    }

    /// The gaps that --fail-on asks for.
    fn gaps(&self, along: &SelectedHistory<'_>, now: Timestamp) -> miette::Result<Vec<HistoryGap>> {
        let asks = |what| self.fail_on.contains(&what);
        if self.stale_after.is_some() && !asks(FailOn::Stale) {
            return Err(miette::miette!(
                help = "--fail-on stale --stale-after 3d",
                "--stale-after says when something is stale, and --fail-on doesn't ask for that"
            ));
        }
        let oldest = match self.stale_after {
            Some(age) => {
                let today = now.to_zoned(TimeZone::UTC);
                Some(today.checked_sub(age.span()).into_diagnostic()?.timestamp())
            }
            None => None,
        };
        let (history, series) = (along.history, &along.series[..]);
        let mut gaps = Vec::new();
        if asks(FailOn::Broken) {
            gaps.extend(history.broken(series));
        }
        if asks(FailOn::Missing) {
            gaps.extend(history.missing(series));
        }
        if asks(FailOn::Stale) {
            gaps.extend(history.stale(series, oldest));
        }
        Ok(gaps)
    }

    fn chosen<'a>(&self, history: &'a TargetHistory) -> miette::Result<Vec<&'a VersionSeries>> {
        let benchmark = |series: &VersionSeries| vec![series.cell.benchmark.to_string()];
        known("benchmark", &self.only, &history.series, benchmark)?;
        known("metric", &self.metrics, &history.series, metric_names)?;
        let asked = |asked: &[String], names: Vec<String>| {
            asked.is_empty() || names.iter().any(|name| asked.contains(name))
        };
        let series = history.series.iter().filter(|series| {
            asked(&self.only, benchmark(series)) && asked(&self.metrics, metric_names(series))
        });
        let series: Vec<_> = series.collect();
        if series.is_empty() && !(self.only.is_empty() && self.metrics.is_empty()) {
            return Err(miette::miette!(
                help = "leave out --metric or --benchmark to see what there is",
                "no benchmark of these has such a metric"
            ));
        }
        Ok(series)
    }
}

fn say_all(gaps: &[HistoryGap]) {
    for gap in gaps {
        files::say(&gap.to_string());
    }
}

/// Writes what is known along a target's history.
pub async fn tell_in(store: &Store, target: &TargetName, output: &Output) -> miette::Result<()> {
    let (studies, history) = known_of(store, target).await?;
    let along = SelectedHistory {
        target: target.as_str(),
        studies: &studies,
        series: history.series.iter().collect(),
        history: &history,
        all_metrics: false,
    };
    write(&along, output, Format::Text, false)
}

/// Writes a history in the format that was asked for.
fn write(
    along: &SelectedHistory<'_>,
    output: &Output,
    usual: Format,
    all: bool,
) -> miette::Result<()> {
    let options = TextOptions {
        width: files::width(),
        all,
    };
    let text = along.render(output.chosen(usual)?, &options);
    let text = text.into_diagnostic()?;
    match &output.output {
        Some(path) => {
            files::write_whole(path, &text)?;
            files::say(&format!("wrote {}", path.display()));
            Ok(())
        }
        None => files::print_made(&text),
    }
}

/// A target's studies and the history that they make, with what of it is accepted now and what bisections named.
async fn known_of(
    store: &Store,
    target: &TargetName,
) -> miette::Result<(Vec<StudyHistory>, TargetHistory)> {
    let studies = store.target_history(target).await.into_diagnostic()?;
    let accepted = store.acceptances(target).await.into_diagnostic()?;
    let mut history = history(&studies);
    history.accept(&accepted, Timestamp::now());
    let (named, left_out) = named_changes(store, target).await?;
    left_out.iter().for_each(|why| files::say(why));
    history.name_changes(&named);
    Ok((studies, history))
}

/// The names by which a series' metric may be asked for.
fn metric_names(series: &VersionSeries) -> Vec<String> {
    let (benchmark, metric) = (&series.cell.benchmark, &series.metric.name);
    vec![metric.to_string(), format!("{benchmark}.{metric}")]
}

/// That some series has this metric.
pub fn known_metric(asked: &str, series: &[VersionSeries]) -> miette::Result<()> {
    known("metric", &[asked.to_owned()], series, metric_names)
}

/// Every name that was asked for is one that some series has.
fn known(
    what: &str,
    asked: &[String],
    series: &[VersionSeries],
    names: impl Fn(&VersionSeries) -> Vec<String>,
) -> miette::Result<()> {
    let known: BTreeSet<String> = series.iter().flat_map(names).collect();
    for name in asked {
        if !known.contains(name) {
            let all: Vec<&str> = known.iter().map(String::as_str).collect();
            let near = did_you_mean(name, all.iter().copied());
            return Err(miette::miette!(
                help = near.unwrap_or_else(|| format!("there are: {}", all.join(", "))),
                "nothing has measured a {what} `{}` along this history",
                escape::line(name)
            ));
        }
    }
    Ok(())
}

/// The target that was named, else the only one.
pub async fn target(store: &Store, asked: Option<&str>) -> miette::Result<TargetName> {
    let targets = store.targets().await.into_diagnostic()?;
    let names: Vec<&str> = targets.iter().map(TargetName::as_str).collect();
    match (asked, &targets[..]) {
        (_, []) => Err(no_history()),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(miette::miette!(
            help = format!("say which: --target {}", names.join(", --target ")),
            "the store has the histories of {} targets",
            targets.len()
        )),
        (Some(asked), targets) => {
            let found = targets.iter().find(|target| target.as_str() == asked);
            found.cloned().ok_or_else(|| {
                let near = did_you_mean(asked, names.iter().copied());
                miette::miette!(
                    help = near.unwrap_or_else(|| format!("there are: {}", names.join(", "))),
                    "the store has no history of a target `{}`",
                    escape::line(asked)
                )
            })
        }
    }
}

/// What is said where no study is about a target.
pub fn no_history() -> miette::Report {
    miette::miette!(
        help = "`backsight step` measures the versions of a target",
        "the store has no history of any target"
    )
}
