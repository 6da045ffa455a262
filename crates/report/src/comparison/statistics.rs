//! Every summary of a row's samples, by the names that tables and files give them.
//!
//! A name has one definition: that of `backsight_stats`.

use backsight_stats::{Better, SUMMARY_PERCENTS, Summary, Undefined};

/// What kind of number a statistic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatisticKind {
    /// In the row's unit, better in the row's direction.
    Value,
    /// In the row's unit; less is better.
    Spread,
    /// In percent; less is better.
    Percent,
}

impl StatisticKind {
    /// Which direction of it is good.
    pub fn better(self, of_row: Better) -> Better {
        match self {
            Self::Value => of_row,
            Self::Spread | Self::Percent => Better::Lower,
        }
    }
}

/// One statistic of a side.
#[derive(Debug, Clone)]
pub struct SideStatistic {
    /// Its name in tables, as MMTests has it where it has one: `BAmean.95`.
    pub name: String,
    /// Its name in files: `bamean_95`.
    pub key: String,
    /// What kind of number it is.
    pub kind: StatisticKind,
    /// The number.
    pub value: Result<f64, Undefined>,
}

/// Every statistic of a summary, always the same ones in the same order.
pub fn summary_statistics(summary: &Summary) -> Vec<SideStatistic> {
    let mut all = Vec::new();
    let mut add = |name: String, kind, value| {
        let key = name.to_lowercase().replace('.', "_");
        let key = if kind == StatisticKind::Percent {
            format!("{key}_percent")
        } else {
            key
        };
        all.push(SideStatistic {
            name,
            key,
            kind,
            value,
        });
    };
    for (name, kind, value) in [
        ("Min", StatisticKind::Value, Ok(summary.min)),
        ("Q1", StatisticKind::Value, Ok(summary.first_quartile)),
        ("Median", StatisticKind::Value, Ok(summary.median)),
        ("Q3", StatisticKind::Value, Ok(summary.third_quartile)),
        ("Max", StatisticKind::Value, Ok(summary.max)),
        ("Amean", StatisticKind::Value, Ok(summary.amean)),
        ("Stddev", StatisticKind::Spread, summary.stddev),
        ("CoeffVar", StatisticKind::Percent, summary.coeffvar),
        ("Hmean", StatisticKind::Value, summary.hmean),
        ("HStddev", StatisticKind::Spread, summary.hstddev),
        ("HCoeffVar", StatisticKind::Percent, summary.hcoeffvar),
        ("Gmean", StatisticKind::Value, summary.gmean),
    ] {
        add(name.to_owned(), kind, value);
    }
    for best in &summary.best {
        add(
            format!("BAmean.{}", best.percent),
            StatisticKind::Value,
            Ok(best.amean),
        );
    }
    for best in &summary.best {
        add(
            format!("BHmean.{}", best.percent),
            StatisticKind::Value,
            best.hmean,
        );
    }
    for pctile in &summary.pctiles {
        add(
            format!("Pctile.{}", pctile.percent),
            StatisticKind::Value,
            Ok(pctile.value),
        );
    }
    all
}

/// The keys of [`summary_statistics`], in order.
pub fn keys() -> Vec<String> {
    let fixed = [
        "min",
        "q1",
        "median",
        "q3",
        "max",
        "amean",
        "stddev",
        "coeffvar_percent",
        "hmean",
        "hstddev",
        "hcoeffvar_percent",
        "gmean",
    ];
    let by_percent = ["bamean", "bhmean", "pctile"]
        .into_iter()
        .flat_map(|name| SUMMARY_PERCENTS.map(|percent| format!("{name}_{percent}")));
    fixed
        .into_iter()
        .map(str::to_owned)
        .chain(by_percent)
        .collect()
}
