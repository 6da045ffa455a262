//! What was found, for programs: everything, places counted from 1.

use backsight_stats::{Interval, changes::Kind};
use serde_json::{Value, json};

use super::{
    story::{Between, Place, Story, Told},
    text::Report,
};

pub fn render(report: &Report<'_>) -> String {
    let stories: Vec<Value> = report.stories.iter().map(story).collect();
    let document = json!({
        "source": report.source,
        "confidence": report.confidence / 100.0,
        "false_share": report.false_percent.map(|percent| percent / 100.0),
        "series": stories,
    });
    format!("{document:#}\n")
}

fn story(story: &Story) -> Value {
    let keys: serde_json::Map<String, Value> = story
        .keys
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().into()))
        .collect();
    let measured = story.versions > 0;
    json!({
        "keys": keys,
        "metric": story.metric,
        "unit": story.unit,
        "better": story.better.map(|better| better.as_str()),
        "versions": story.versions,
        "samples": story.samples,
        "missing": story.missing,
        "last": story.last.as_ref().map(place),
        "changes": story.changes.iter().map(|told| change(story, told)).collect::<Vec<_>>(),
        "epochs": story.epochs.iter().map(|(epoch, where_)| json!({
            "between": between(where_),
            "noise_before": epoch.before,
            "noise_after": epoch.after,
            "p": epoch.p,
        })).collect::<Vec<_>>(),
        "doubted": story.doubted.as_ref().map(|(at, p)| json!({ "at": place(at), "p": p })),
        "pending": story.pending.as_ref().map(|pending| json!({
            "change": change(story, &pending.told),
            "versions": pending.versions,
            "more_versions_would_tell": pending.to_come,
        })),
        "period": story.period,
        "noise": measured.then_some(story.noise),
        "kept": measured.then_some(story.kept),
        "least_found": story.least_found,
    })
}

fn change(story: &Story, told: &Told) -> Value {
    let change = &told.change;
    let percent = told.percent();
    json!({
        "kind": change.kind,
        "between": between(&told.between),
        "before": change.before,
        "after": change.after,
        "size": change.size,
        "size_interval": interval(change.size_interval),
        "percent": percent.map(|(percent, _)| percent),
        "percent_interval": percent.map(|(_, of)| interval(of)),
        "direction": told.direction(story.better).as_str(),
        "p": change.p,
        "probability": change.probability,
        "adjusted": told.adjusted,
        "believed": told.believed || change.kind == Kind::Trend,
    })
}

fn interval(interval: Interval) -> Value {
    json!([interval.low, interval.high])
}

fn between(between: &Between) -> Value {
    json!({
        "after": between.after.as_ref().map(place),
        "at": place(&between.at),
        "until": place(&between.until),
    })
}

fn place(place: &Place) -> Value {
    json!({ "number": place.index + 1, "version": place.label })
}
