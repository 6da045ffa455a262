//! Every summary of every series, over trials, as rows of a page. A mean has its count and its spread beside it.

use backsight_model::{Better, CellSeries, ResultSet};
use backsight_stats::{Summary, Undefined};

use super::bar_figures;
use crate::numbers::{self, Scale};

/// Most rows of a page.
pub const MOST_ROWS: usize = 2000;

/// The table of all summaries.
pub struct Summaries {
    /// Whether there are several studies.
    pub several: bool,
    /// Its rows.
    pub rows: Vec<SummaryRow>,
    /// Rows that are left out.
    pub left_out: usize,
}

/// The summaries of one series.
pub struct SummaryRow {
    /// What it has.
    pub side: String,
    /// The cell.
    pub cell: String,
    /// The metric.
    pub metric: String,
    /// The unit of the numbers.
    pub unit: String,
    /// How many trials.
    pub n: usize,
    /// Mean with its interval, in the unit.
    pub mean: String,
    /// Smallest, first quartile, median, third quartile, largest, standard deviation, coefficient of variation in
    /// percent, mean of the best 95 %.
    pub numbers: Vec<String>,
    /// The mean in the metric's own unit, to sort by.
    pub key: f64,
    /// Why there are no numbers.
    pub missing: String,
}

/// The summaries of these studies.
pub fn summaries(sets: &[&ResultSet]) -> Summaries {
    let all: usize = sets.iter().map(|set| set.series.len()).sum();
    let rows = sets
        .iter()
        .flat_map(|set| set.series.iter().map(move |series| row(set, series)))
        .take(MOST_ROWS)
        .collect();
    Summaries {
        several: sets.len() > 1,
        rows,
        left_out: all.saturating_sub(MOST_ROWS),
    }
}

fn row(set: &ResultSet, series: &CellSeries) -> SummaryRow {
    let scale = Scale::fitting(series.unit, series.values());
    let mut row = SummaryRow {
        side: set.name.clone(),
        cell: series.cell.to_string(),
        metric: series.metric.to_string(),
        unit: scale.unit.map_or(String::new(), |unit| unit.to_string()),
        n: 0,
        mean: String::new(),
        numbers: Vec::new(),
        key: f64::NAN,
        missing: String::new(),
    };
    let Some(measured) = bar_figures::estimate(series) else {
        let failed = set
            .failed
            .iter()
            .filter(|failed| failed.2 == series.cell)
            .count();
        row.missing = match failed {
            0 => "not measured".to_owned(),
            count => format!("{} failed", numbers::counted(count, "trial")),
        };
        return row;
    };
    let summary = Summary::new(&measured.samples, series.better);
    let number = |value: f64| numbers::value(scale.convert(value), 4);
    let or_why =
        |value: Result<f64, Undefined>| value.map_or_else(|_| "undefined".to_owned(), number);
    let best = summary.best.iter().find(|best| best.percent == 95);
    row.n = summary.n;
    row.mean = measured.estimate.shown(&scale);
    row.key = measured.estimate.mean;
    row.numbers = vec![
        number(summary.min),
        number(summary.first_quartile),
        number(summary.median),
        number(summary.third_quartile),
        number(summary.max),
        or_why(summary.stddev),
        summary.coeffvar.map_or_else(
            |_| "undefined".to_owned(),
            |percent| format!("{percent:.2} %"),
        ),
        best.map_or_else(String::new, |best| match series.better {
            Better::Higher => or_why(best.hmean),
            Better::Lower | Better::Neither => number(best.amean),
        }),
    ];
    row
}
