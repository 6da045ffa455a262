//! `backsight history`: what was measured along a target's versions, and where it changed.

use backsight_model::{Lookback, TargetName};
use backsight_policy::{HistoryCondition, HistoryGate};
use backsight_report::{
    Format,
    history::{HistoryTextOptions, SelectedHistory},
};
use backsight_store::Store;
use backsight_study::{KnownHistory, find_target, named_series};
use jiff::{Timestamp, tz::TimeZone};
use miette::IntoDiagnostic as _;
use std::{path::PathBuf, process::ExitCode};

use crate::{
    common_options::CommonOptions,
    exit_status::ExitStatus,
    files,
    output::Output,
    publish,
    value_parsers::{NamedValues, one_of},
};

/// Values of `--fail-on`.
const CONDITIONS: &NamedValues<HistoryCondition> = &[
    (
        "worse",
        HistoryCondition::Worse,
        "A change for the worse that isn't accepted; status 3 if a series is too short to show one",
    ),
    (
        "any-change",
        HistoryCondition::AnyChange,
        "Any change that isn't accepted; status 3 if a series is too short to show one",
    ),
    (
        "broken",
        HistoryCondition::Broken,
        "The newest version that was tried doesn't build or boot, or all trials of a cell failed there",
    ),
    (
        "missing",
        HistoryCondition::Missing,
        "A cell of which nothing was measured at any version",
    ),
    (
        "stale",
        HistoryCondition::Stale,
        "The newest measured version of a series isn't the newest that is known, or is older than --stale-after",
    ),
    (
        "drift",
        HistoryCondition::Drift,
        "A reference that was measured beside moved; status 3 if it was measured too rarely to tell, or there is none",
    ),
];

/// Arguments of `history`.
#[derive(Debug, clap::Args)]
pub struct HistoryArgs {
    /// Which target; needed if the store has several
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Only this metric: `throughput` or `tbench.throughput`; may be repeated
    #[arg(long = "metric", value_name = "METRIC")]
    metrics: Vec<String>,
    /// Only this benchmark; may be repeated
    #[arg(long = "benchmark", value_name = "NAME")]
    only: Vec<String>,
    /// Without the drift of the reference that was measured beside
    #[arg(long)]
    correct_drift: bool,
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
        value_name = "WHAT",
        value_delimiter = ',',
        value_parser = one_of(CONDITIONS),
        conflicts_with = "page"
    )]
    fail_on: Vec<HistoryCondition>,
    /// With --fail-on stale: also if the newest measured version is older than this, such as 36h, 3d, 1w
    #[arg(long, value_name = "AGE", requires = "fail_on")]
    stale_after: Option<Lookback>,
    /// Write the history's pages into this folder instead, as `publish` does
    #[arg(long, value_name = "DIR", conflicts_with_all = ["csv", "json", "all", "metrics", "only", "correct_drift"])]
    page: Option<PathBuf>,
}

impl HistoryArgs {
    /// Shows it.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let target = find_target(&store, self.target.as_deref()).await?;
            if let Some(folder) = &self.page {
                publish::into(&store, &[target], folder).await?;
                return Ok(ExitCode::SUCCESS);
            }
            let usual = if self.json {
                Format::Json
            } else {
                Format::Text
            };
            let format = match self.csv {
                true => None,
                false => Some(self.output.chosen(usual)?),
            };
            let needed = match format {
                _ if self.correct_drift => NeededHistory::WithoutDrift,
                Some(Format::Json) => NeededHistory::Samples,
                _ => NeededHistory::Findings,
            };
            let known = known_history(&store, &target, needed).await?;
            let along = SelectedHistory {
                target: target.as_str(),
                studies: &known.studies,
                series: named_series(&known.history, &self.only, &self.metrics)?,
                history: &known.history,
                all_metrics: self.counts_all(),
            };
            match format {
                Some(format) => write(&along, &self.output, format, self.all)?,
                None => {
                    let text = along.csv();
                    match &self.output.output {
                        Some(path) => files::write_whole(path, &text)?,
                        None => files::print_foreign(text.as_bytes())?,
                    }
                }
            }
            let (result, gaps) = self.gate()?.judge(&known.history, &along.series);
            for gap in &gaps {
                files::print_note(&gap.to_string());
            }
            Ok(ExitStatus::from(result).into())
        })
    }

    /// Whether secondary metrics count as the primary ones do: all, or those that were named.
    fn counts_all(&self) -> bool {
        self.all_metrics || !self.metrics.is_empty()
    }

    fn gate(&self) -> miette::Result<HistoryGate> {
        if self.stale_after.is_some() && !self.fail_on.contains(&HistoryCondition::Stale) {
            return Err(miette::miette!(
                help = "--fail-on stale --stale-after 3d",
                "--stale-after says when something is stale, and --fail-on doesn't ask for that"
            ));
        }
        let oldest = match self.stale_after {
            Some(age) => {
                let today = Timestamp::now().to_zoned(TimeZone::UTC);
                Some(today.checked_sub(age.span()).into_diagnostic()?.timestamp())
            }
            None => None,
        };
        Ok(HistoryGate {
            conditions: self.fail_on.clone(),
            oldest,
            all_metrics: self.counts_all(),
        })
    }
}

/// Writes what is known along a target's history.
pub async fn write_history(
    store: &Store,
    target: &TargetName,
    output: &Output,
) -> miette::Result<()> {
    let format = output.chosen(Format::Text)?;
    let needed = match format {
        Format::Json => NeededHistory::Samples,
        _ => NeededHistory::Findings,
    };
    let known = known_history(store, target, needed).await?;
    let along = SelectedHistory {
        target: target.as_str(),
        studies: &known.studies,
        series: known.history.series.iter().collect(),
        history: &known.history,
        all_metrics: false,
    };
    write(&along, output, format, false)
}

/// Writes a history in the format that was asked for.
fn write(
    along: &SelectedHistory<'_>,
    output: &Output,
    format: Format,
    all: bool,
) -> miette::Result<()> {
    let options = HistoryTextOptions {
        width: files::width(),
        all,
    };
    let text = along.render(format, &options);
    output.write_text(&text.into_diagnostic()?)
}

/// How much of a history is read.
#[derive(Debug, Clone, Copy)]
enum NeededHistory {
    /// What was found in it.
    Findings,
    /// All samples too.
    Samples,
    /// All samples, without the drift of what was measured beside.
    WithoutDrift,
}

/// What is known along a target's history; bisections that it leaves out are said.
async fn known_history(
    store: &Store,
    target: &TargetName,
    needed: NeededHistory,
) -> miette::Result<KnownHistory> {
    let now = Timestamp::now();
    let known = match needed {
        NeededHistory::Findings => KnownHistory::without_samples(store, target, now).await?,
        NeededHistory::Samples => KnownHistory::from_store(store, target, now, false).await?,
        NeededHistory::WithoutDrift => KnownHistory::from_store(store, target, now, true).await?,
    };
    known.left_out.iter().for_each(|why| files::print_note(why));
    Ok(known)
}
