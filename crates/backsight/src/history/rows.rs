//! A history for programs: JSON with everything, CSV with a line for each series and version. Numbers are in the
//! metric's own unit.

use backsight_policy::{
    ChangePoint, History, HistoryVersion, How, NoiseEpoch, VersionPoint, VersionSeries, percent_of,
};
use backsight_stats::{Interval, changes::Kind};
use serde_json::{Value, json};

use super::Along;

pub fn json(along: &Along<'_>) -> String {
    let history = along.history;
    let studies: Vec<Value> = along
        .studies
        .iter()
        .map(|study| {
            json!({
                "study": study.study,
                "name": study.name.as_str(),
                "state": study.state.to_string(),
                "began": study.began.to_string(),
            })
        })
        .collect();
    let versions: Vec<Value> = history.versions.iter().map(version).collect();
    let of_series = along.series.iter().map(|one| series(history, one));
    let document = json!({
        "target": along.target,
        "studies": studies,
        "failed_trials": history.failed,
        "unplaced_trials": history.unplaced,
        "versions": versions,
        "series": of_series.collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

fn version(version: &HistoryVersion) -> Value {
    json!({
        "id": version.version.id,
        "name": version.version.name,
        "at": version.version.at.map(|at| at.to_string()),
        "title": version.version.title,
        "release": version.version.release,
        "standing": version.standing.as_str(),
        "why": version.standing.why(),
        "quirks": version.quirks,
    })
}

/// Versions are named by their identity and their name.
fn named(history: &History, at: usize) -> Value {
    history.versions.get(at).map_or(
        Value::Null,
        |version| json!({ "id": version.version.id, "name": version.version.name }),
    )
}

fn interval(interval: Interval) -> Value {
    json!([interval.low, interval.high])
}

fn params(series: &VersionSeries) -> serde_json::Map<String, Value> {
    series
        .cell
        .params
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string().into()))
        .collect()
}

fn series(history: &History, series: &VersionSeries) -> Value {
    let found = &series.found;
    let points: Vec<Value> = series.points.iter().map(|p| point(history, p)).collect();
    let changes: Vec<Value> = found.changes.iter().map(|c| change(history, c)).collect();
    let epochs: Vec<Value> = found.epochs.iter().map(|e| epoch(history, e)).collect();
    json!({
        "name": series.name(),
        "benchmark": series.cell.benchmark.as_str(),
        "params": params(series),
        "variant": series.cell.variant.as_str(),
        "metric": series.metric.name.as_str(),
        "primary": series.metric.primary,
        "unit": series.metric.unit.to_string(),
        "better": series.metric.better.as_str(),
        "simulator": series.metric.simulator.map(|simulator| simulator.to_string()),
        "question": series.key,
        "since": series.since.as_ref().map(|study| study.as_str()),
        "points": points,
        "how": match found.how {
            How::Searched => "searched",
            How::Compared => "compared",
            How::TooLittle => "too-little",
        },
        "changes": changes,
        "epochs": epochs,
        "doubted": found.doubted.map(|(at, p)| json!({ "at": named(history, at), "p": p })),
        "pending": found.pending.as_ref().map(|pending| json!({
            "change": change(history, &pending.point),
            "versions": pending.versions,
            "more_versions_would_tell": pending.to_come,
        })),
        "period": found.period,
        "least_found": found.least_found,
    })
}

fn point(history: &History, point: &VersionPoint) -> Value {
    let spread = |spread: Option<backsight_policy::Spread>| {
        spread.map(|s| json!({ "deviation": s.deviation, "freedom": s.freedom }))
    };
    let builds: Vec<Value> = point
        .builds
        .iter()
        .map(|build| {
            let boots: Vec<Value> = build
                .boots
                .iter()
                .map(|boot| {
                    let trials: Vec<Value> = boot
                        .trials
                        .iter()
                        .map(|t| json!({ "study": t.study, "trial": t.trial, "samples": t.values }))
                        .collect();
                    json!({ "boot": boot.ordinal, "trials": trials })
                })
                .collect();
            json!({ "layout": build.layout.to_string(), "build": build.key, "boots": boots })
        })
        .collect();
    json!({
        "version": named(history, point.version),
        "value": point.value,
        "interval": point.interval.map(interval),
        "alike": point.alike,
        "again": spread(point.again),
        "reboot": spread(point.reboot),
        "relink": spread(point.relink),
        "unstable": point.unstable,
        "layouts": point.counts.layouts,
        "boots": point.counts.boots,
        "trials": point.counts.trials,
        "samples": point.counts.samples,
        "failed": point.counts.failed,
        "builds": builds,
    })
}

fn change(history: &History, point: &ChangePoint) -> Value {
    let change = &point.change;
    let percent = percent_of(change);
    // Where both sides are all alike an interval has no width and chance no say.
    let by_chance = |value: Value| if point.alike { Value::Null } else { value };
    json!({
        "kind": match change.kind { Kind::Level => "level", Kind::Trend => "trend" },
        "after": point.after.map(|at| named(history, at)),
        "at": named(history, point.at),
        "until": named(history, point.until),
        "from": change.before,
        "to": change.after,
        "size": change.size,
        "size_interval": by_chance(interval(change.size_interval)),
        "percent": percent.map(|(percent, _)| percent),
        "percent_interval": by_chance(percent.map_or(Value::Null, |(_, i)| interval(i))),
        "direction": point.direction.as_str(),
        "p": by_chance(change.p.into()),
        "adjusted_p": by_chance(point.adjusted.into()),
        "probability": by_chance(change.probability.into()),
        "alike": point.alike,
        "believed": point.believed,
        "accepted": point.accepted.as_ref().map(|accepted| json!({
            "by": accepted.acceptance.by,
            "reason": accepted.acceptance.reason,
            "work_around": accepted.acceptance.work_around,
            "until": accepted.acceptance.until.map(|at| at.to_string()),
            "lapsed": accepted.lapsed,
        })),
    })
}

fn epoch(history: &History, epoch: &NoiseEpoch) -> Value {
    json!({
        "after": epoch.after.map(|at| named(history, at)),
        "at": named(history, epoch.at),
        "until": named(history, epoch.until),
        "noise_before": epoch.epoch.before,
        "noise_after": epoch.epoch.after,
        "p": epoch.epoch.p,
    })
}

/// Columns of the CSV.
const COLUMNS: [&str; 30] = [
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
];

pub fn csv(along: &Along<'_>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Nothing can go wrong when memory is written to and every line has as many fields.
    let _ = writer.write_record(COLUMNS);
    for series in &along.series {
        let mut points = series.points.iter().peekable();
        for (at, version) in along.history.versions.iter().enumerate() {
            let point = points.next_if(|point| point.version == at);
            let _ = writer.write_record(line(along, series, version, at, point));
        }
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn line(
    along: &Along<'_>,
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
        along.target.to_owned(),
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
        version.standing.why().unwrap_or_default().to_owned(),
        version.quirks.join("; "),
    ];
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let simulator = series
        .metric
        .simulator
        .map_or(String::new(), |simulator| simulator.to_string());
    let Some(point) = point else {
        line.resize(COLUMNS.len() - 2, String::new());
        line.extend([simulator, series.metric.primary.to_string()]);
        return line;
    };
    let spreads = [point.again, point.reboot, point.relink];
    line.extend([
        number(point.value),
        number(point.interval.map(|interval| interval.low)),
        number(point.interval.map(|interval| interval.high)),
    ]);
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
    let percent = change.and_then(|change| percent_of(&change.change));
    line.push(number(percent.map(|(percent, _)| percent)));
    line.extend([simulator, series.metric.primary.to_string()]);
    line
}
