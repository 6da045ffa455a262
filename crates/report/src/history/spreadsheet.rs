//! A history as CSV, for spreadsheets: a line for each series and version. Numbers are in the metric's own unit.

use backsight_policy::{HistoryVersion, VersionPoint, VersionSeries, change_percent};

use super::SelectedHistory;

/// Columns of the CSV.
const COLUMNS: [&str; 38] = [
    "target",
    "benchmark",
    "params",
    "variant",
    "metric",
    "unit",
    "better",
    "since",
    "version",
    "id",
    "at",
    "release",
    "standing",
    "why",
    "quirks",
    "value",
    "low",
    "high",
    "again",
    "reboot",
    "relink",
    "layouts",
    "boots",
    "trials",
    "samples",
    "failed",
    "unstable",
    "change_percent",
    "simulator",
    "primary",
    "named_by",
    "named_probability",
    "trend",
    "trend_size",
    "trend_low",
    "trend_high",
    "trend_p",
    "pending",
];

/// So many of them are about what was measured of the version.
const MEASURED: usize = 13;

pub fn csv(selected: &SelectedHistory<'_>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Nothing can go wrong when memory is written to and every line has as many fields.
    let _ = writer.write_record(COLUMNS);
    for series in &selected.series {
        let mut points = series.points.iter().peekable();
        for (at, version) in selected.history.versions.iter().enumerate() {
            let point = points.next_if(|point| point.version == at);
            let _ = writer.write_record(line(selected, series, version, at, point));
        }
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn line(
    selected: &SelectedHistory<'_>,
    series: &VersionSeries,
    version: &HistoryVersion,
    at: usize,
    point: Option<&VersionPoint>,
) -> Vec<String> {
    let params: Vec<String> = series
        .cell
        .params
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let since = series.since.as_ref();
    let mut line = vec![
        selected.target.to_owned(),
        series.cell.benchmark.to_string(),
        params.join(" "),
        series.cell.variant.to_string(),
        series.metric.name.to_string(),
        series.metric.unit.to_string(),
        series.metric.better.to_string(),
        since.map_or(String::new(), ToString::to_string),
        version.version.name.clone(),
        version.version.id.clone(),
        version
            .version
            .at
            .map_or(String::new(), |at| at.to_string()),
        version.version.release.to_string(),
        version.standing.as_str().to_owned(),
        version.standing.reason().unwrap_or_default().to_owned(),
        version.quirks.join("; "),
    ];
    line.extend(measured(series, at, point));
    let simulator = series
        .metric
        .simulator
        .map_or(String::new(), |simulator| simulator.to_string());
    line.extend([simulator, series.metric.primary.to_string()]);
    line.extend(of_series(series, at));
    line
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// What was measured of the version, if anything.
fn measured(series: &VersionSeries, at: usize, point: Option<&VersionPoint>) -> Vec<String> {
    let Some(point) = point else {
        return vec![String::new(); MEASURED];
    };
    let mut line = vec![
        number(point.value),
        number(point.interval.map(|interval| interval.low)),
        number(point.interval.map(|interval| interval.high)),
    ];
    let spreads = [point.again, point.reboot, point.relink];
    line.extend(spreads.map(|spread| number(spread.map(|spread| spread.deviation))));
    let counts = &point.counts;
    line.extend(
        [
            counts.layouts,
            counts.boots,
            counts.trials,
            counts.samples,
            counts.failed,
        ]
        .map(|count| count.to_string()),
    );
    line.push(point.unstable.to_string());
    let change = series.believed().find(|change| change.at == at);
    let percent = change.and_then(|change| change_percent(&change.change));
    line.push(number(percent.map(|(percent, _)| percent)));
    line
}

/// What bisections named at the version, and what was found of the series as a whole.
fn of_series(series: &VersionSeries, at: usize) -> Vec<String> {
    let named = series.named.iter().find(|named| named.at == at);
    let found = &series.found;
    let trend = found.trend.as_ref();
    let pending = found.pending.as_ref();
    vec![
        named.map_or(String::new(), |named| named.study.to_string()),
        number(named.map(|named| named.probability)),
        number(trend.and_then(|trend| series.on_trend(trend, at))),
        number(trend.map(|trend| trend.size)),
        number(trend.map(|trend| trend.size_interval.low)),
        number(trend.map(|trend| trend.size_interval.high)),
        number(trend.map(|trend| trend.p)),
        pending.map_or(String::new(), |pending| {
            (at >= pending.point.at).to_string()
        }),
    ]
}
