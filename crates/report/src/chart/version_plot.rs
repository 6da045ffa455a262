//! A series along the versions as a plot made of characters: oldest left, newest right. Without colours; a version that
//! wasn't measured has no point.

use backsight_policy::{TargetHistory, VersionSeries, VersionStanding};

use super::scale::{series_span, share};
use crate::{SeriesText, escape};

/// Lines of the plot.
const HEIGHT: usize = 9;
/// Most columns from one version to the next.
const MOST_APART: usize = 4;

/// The picture with its axis and legend, within this many columns.
pub fn version_plot(
    history: &TargetHistory,
    series: &VersionSeries,
    text_of: &SeriesText<'_>,
    width: usize,
) -> String {
    let Some((least, most)) = series_span(series, 1.0) else {
        return String::new();
    };
    let labels = [most, (least + most) / 2.0, least].map(|value| text_of.number(value, 4));
    let margin = labels.iter().map(|text| text.chars().count()).max();
    let margin = margin.unwrap_or(0);
    let columns = Columns::new(history.versions.len(), width.saturating_sub(margin + 3));
    let mut plot = Plot::new(columns, least, most);
    plot.changes(series);
    plot.points(series);
    let mut text = String::new();
    for (number, row) in plot.rows.iter().enumerate() {
        let label = match number {
            0 => labels[0].as_str(),
            _ if number == HEIGHT / 2 => &labels[1],
            _ if number == HEIGHT - 1 => &labels[2],
            _ => "",
        };
        let tick = if label.is_empty() { '│' } else { '┤' };
        let row: String = row.iter().collect();
        text.push_str(format!("{label:>margin$} {tick} {row}").trim_end());
        text.push('\n');
    }
    let (marks, legend) = plot.marks(history, series);
    let marks: String = marks.into_iter().collect();
    text.push_str(&format!("{:margin$} └─{marks}\n", ""));
    text.push_str(&format!(
        "{:margin$}   {}\n",
        "",
        ends(history, plot.columns.width())
    ));
    text.push_str(&format!("{:margin$}   {legend}\n", ""));
    text
}

/// First and last version's name, at the ends of the axis.
fn ends(history: &TargetHistory, width: usize) -> String {
    let name = |version: Option<&backsight_policy::HistoryVersion>| {
        version.map_or(String::new(), |version| {
            let name = escape::line(&version.version.name);
            name.chars().take(24).collect()
        })
    };
    let first = name(history.versions.first());
    if history.versions.len() < 2 {
        return first;
    }
    let last = name(history.versions.last());
    let room = width.saturating_sub(first.chars().count());
    if last.chars().count() < room {
        format!("{first}{last:>room$}")
    } else {
        format!("{first} … {last}")
    }
}

/// Which column a version has: several each, or one for several of them.
#[derive(Clone, Copy)]
struct Columns {
    versions: usize,
    room: usize,
}

impl Columns {
    fn new(versions: usize, room: usize) -> Self {
        Self {
            versions: versions.max(1),
            room: room.max(8),
        }
    }

    fn apart(self) -> usize {
        (self.room / self.versions).min(MOST_APART)
    }

    fn of_version(self, version: usize) -> usize {
        match self.apart() {
            0 => version * self.room / self.versions,
            apart => version * apart,
        }
    }

    fn width(self) -> usize {
        self.of_version(self.versions - 1) + 1
    }
}

struct Plot {
    columns: Columns,
    least: f64,
    most: f64,
    rows: Vec<Vec<char>>,
}

impl Plot {
    fn new(columns: Columns, least: f64, most: f64) -> Self {
        Self {
            columns,
            least,
            most,
            rows: vec![vec![' '; columns.width()]; HEIGHT],
        }
    }

    fn row(&self, value: f64) -> usize {
        let share = share(value, (self.least, self.most), 0.5);
        let from_top = (1.0 - share.clamp(0.0, 1.0)) * (HEIGHT - 1) as f64;
        from_top.round() as usize
    }

    /// A dotted line where each change most probably is.
    fn changes(&mut self, series: &VersionSeries) {
        for change in series.believed() {
            let column = self.columns.of_version(change.at);
            for row in &mut self.rows {
                row[column] = '┊';
            }
        }
    }

    fn points(&mut self, series: &VersionSeries) {
        for interval in series
            .points
            .iter()
            .filter_map(|p| Some((p.version, p.interval?)))
        {
            let column = self.columns.of_version(interval.0);
            let (top, bottom) = (self.row(interval.1.high), self.row(interval.1.low));
            for row in &mut self.rows[top..=bottom] {
                row[column] = '│';
            }
        }
        for (version, value) in series
            .points
            .iter()
            .filter_map(|p| Some((p.version, p.value?)))
        {
            let (row, column) = (self.row(value), self.columns.of_version(version));
            self.rows[row][column] = '•';
        }
    }

    /// The marks of the axis, and what they mean. The weightiest mark of a column wins.
    fn marks(&self, history: &TargetHistory, series: &VersionSeries) -> (Vec<char>, String) {
        let mut marks = vec!['─'; self.columns.width()];
        let mut legend = vec!["• value", "│ 95 % interval"];
        let mut put = |version: usize, mark: char, means: &'static str| {
            marks[self.columns.of_version(version)] = mark;
            if !legend.contains(&means) {
                legend.push(means);
            }
        };
        for (at, version) in history.versions.iter().enumerate() {
            if !version.quirks.is_empty() {
                put(at, 'q', "q quirk");
            }
        }
        for (at, version) in history.versions.iter().enumerate() {
            match version.standing {
                VersionStanding::Measured | VersionStanding::Pending => {}
                VersionStanding::Skipped(_) => put(at, 's', "s skipped"),
                _ => put(at, 'x', "x broken, unbootable or failed"),
            }
        }
        // Where a change was found as well, its mark stands.
        let is_marked = |at| series.believed().any(|change| change.at == at);
        for named in series.named.iter().filter(|named| !is_marked(named.at)) {
            put(named.at, '◆', "◆ change that a bisection named");
        }
        for change in &series.found.changes {
            if change.believed {
                put(change.at, '▲', "▲ change");
            } else {
                put(change.at, '?', "? change that isn't believed");
            }
        }
        (marks, legend.join("   "))
    }
}
