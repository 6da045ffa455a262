//! The page of a timeline: charts of series below each other over one axis of time, as one self-contained file.
//!
//! The table of series is in the page; the charts are drawn by its script from JSON beside it.

use askama::Template;
use backsight_report::{
    json_line,
    numbers::value,
    timeline::{SeriesKind, TimelineSeries, TimelineView},
};

use crate::PageError;

const STYLE: &str = concat!(
    include_str!("../templates/report.css"),
    include_str!("../templates/timeline.css")
);
const SCRIPT: &str = include_str!("../templates/timeline.js");
/// The SHA-256 of the script, as a content security policy names it.
const SCRIPT_HASH: &str = "sha256-CXMmPnCJJ6VcCbSjRoqBCyVHUSYTStXPn0dHFHGyE4s=";

#[derive(Template)]
#[template(path = "timeline.html")]
struct TimelinePage {
    title: String,
    style: &'static str,
    script: &'static str,
    script_hash: &'static str,
    version: &'static str,
    sentences: Vec<String>,
    rows: Vec<TimelineRow>,
    data: String,
}

/// A series in the table.
struct TimelineRow {
    name: String,
    source: String,
    unit: String,
    shown: bool,
    /// The least value, the mean and the greatest.
    numbers: [String; 3],
}

/// The page of a timeline.
///
/// # Errors
/// The template fails; no input is known that makes it.
pub fn timeline_page(view: &TimelineView) -> Result<String, PageError> {
    let data = json_line(view).map_err(askama::Error::custom)?;
    let page = TimelinePage {
        title: view.title(),
        style: STYLE,
        script: SCRIPT,
        script_hash: SCRIPT_HASH,
        version: env!("CARGO_PKG_VERSION"),
        sentences: view.sentences(),
        rows: view.series.iter().map(row).collect(),
        // Nothing in it ends the element that it is in.
        data: data.replace('<', "\\u003c"),
    };
    Ok(page.render()?)
}

fn row(series: &TimelineSeries) -> TimelineRow {
    TimelineRow {
        name: series.name.clone(),
        source: match series.host.is_empty() {
            true => series.source.clone(),
            false => format!("{} on {}", series.source, series.host),
        },
        unit: match series.kind {
            SeriesKind::Rate => "a second".to_owned(),
            SeriesKind::Interval | SeriesKind::Level => series.unit.clone(),
        },
        shown: series.shown,
        numbers: series.least_mean_most.map(|number| value(number, 4)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use sha2::Digest as _;

    #[test]
    fn the_policy_names_the_script() {
        let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(SCRIPT));
        assert_eq!(
            SCRIPT_HASH,
            format!("sha256-{hash}"),
            "put the new hash into SCRIPT_HASH"
        );
    }
}
