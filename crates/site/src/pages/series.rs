//! The page of a series: its chart without scripts, its changes, and its value at every version.

use askama::Template;
use backsight_report::{
    SeriesText,
    chart::{AxisName, HistoryChart, axis_names},
};

use super::{
    book::Here,
    changes::{ChangeSentence, change_sentences},
    frame::Frame,
    site::Press,
};

/// Most versions in the table.
const MOST_ROWS: usize = 1000;

#[derive(Template)]
#[template(path = "pages/series.html")]
pub(super) struct SeriesPage {
    frame: Frame,
    about: String,
    axis: String,
    unit: String,
    coverage: String,
    /// The same in the interactive chart.
    interactive: String,
    /// Its points as scripts read them.
    data: String,
    chart: Option<HistoryChart>,
    names: Vec<AxisName>,
    changes: Vec<ChangeSentence>,
    notes: Vec<String>,
    /// Whether a reference drifted beside it.
    has_drift: bool,
    rows: Vec<PointRow>,
    /// How many older versions have no row.
    left_out: usize,
}

/// A version's value, the newest first.
struct PointRow {
    name: String,
    href: String,
    date: String,
    value: String,
    again: String,
    reboot: String,
    relink: String,
    counts: String,
    unstable: bool,
    /// The changes at the version, and the classes that colour them.
    changes: Vec<(&'static str, String)>,
}

impl Press<'_> {
    pub(super) fn series(&self, here: Here<'_>, number: usize) -> SeriesPage {
        let book = here.book;
        let series = &book.history.series[number];
        let words = SeriesText::new(&book.history, series);
        let changes = change_sentences(here, series);
        let row = |point: &backsight_policy::VersionPoint| {
            let at = point.version;
            let own = changes.iter().filter(|it| it.believed && it.at == at);
            let version = book.version(at);
            PointRow {
                name: book.name(at),
                href: here.to_version(at),
                date: version
                    .at
                    .map_or(String::new(), |at| at.strftime("%Y-%m-%d").to_string()),
                value: words.value(point),
                again: words.spread(point.again),
                reboot: words.spread(point.reboot),
                relink: words.spread(point.relink),
                counts: SeriesText::counts(point),
                unstable: point.unstable,
                changes: own
                    .map(|it| {
                        let mark = match it.sentence.class {
                            _ if it.named => "◆",
                            "bad" => "✗",
                            "good" => "✓",
                            _ => "○",
                        };
                        (it.sentence.class, format!("{mark} {}", it.size))
                    })
                    .collect(),
            }
        };
        SeriesPage {
            frame: Frame::new(&series.name(), here.page, here.crumbs()),
            about: series.metric.about.clone(),
            axis: words.axis(),
            unit: words.unit(),
            coverage: words.coverage(),
            interactive: format!("{}#s={}", here.to_target(), book.slug(number)),
            data: here.to_series_data(number),
            chart: HistoryChart::new(&book.history, series, &words, "series", |at| {
                here.to_interval(at)
            }),
            names: axis_names(&book.history, |at| here.to_version(at)),
            notes: words.notes(),
            has_drift: !backsight_report::chart::drift_line(series).is_empty(),
            rows: series
                .points
                .iter()
                .rev()
                .take(MOST_ROWS)
                .map(row)
                .collect(),
            left_out: series.points.len().saturating_sub(MOST_ROWS),
            changes: changes.into_iter().map(|it| it.sentence).collect(),
        }
    }
}
