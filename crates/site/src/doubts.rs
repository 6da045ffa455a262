//! What a reader should know before believing the numbers: the comparison's warnings, those of the trials, and what
//! shows in the samples themselves.
//!
//! A warning says what was seen, where, and what it may mean; it gives no judgement.

use backsight_model::{CellSeries, MachineLoad};
use backsight_report::comparison::{bar_figures::estimate, page};
use backsight_report::{
    clipped,
    numbers::{self, counted},
};
use backsight_stats::Summary;
use std::collections::BTreeMap;

use crate::{
    report::{ReportContent, ReportStudy},
    trials::LONGEST_REASON,
};

/// Most warnings of a page.
const MOST: usize = 50;
/// Most different warnings of trials that are looked at.
const MOST_OF_TRIALS: usize = 10 * MOST;
/// Programs that one warning names.
const MOST_NAMES: usize = 3;
/// Places that one warning names.
const MOST_PLACES: usize = 4;
/// Fewest trials of which one can be called an outlier: with normal noise (20,000 simulated series) one of 10 trials
/// is beyond the fences in 4.4 % of series, one of 5 in 13 %.
const ENOUGH: usize = 10;

/// The warnings, and how many more there are.
pub(crate) fn doubts(report: &ReportContent) -> (Vec<String>, usize) {
    let mut doubts: Vec<String> = report
        .comparison
        .iter()
        .flat_map(page::warnings)
        .chain(report.notes.iter().cloned())
        .collect();
    for study in &report.studies {
        doubts.extend(neighbours(study));
        doubts.extend(outliers(study));
        if report.comparison.is_none() {
            doubts.extend(single(study));
        }
    }
    doubts.extend(of_trials(&report.studies));
    let left_out = doubts.len().saturating_sub(MOST);
    doubts.truncate(MOST);
    let shown = doubts.iter().map(|doubt| clipped(doubt, LONGEST_REASON));
    (shown.collect(), left_out)
}

fn neighbours(study: &ReportStudy) -> Option<String> {
    let shares = || {
        let trials = study.trials.iter().map(|trial| &trial.row);
        trials.filter(|row| row.neighbours.is_finite())
    };
    let mean = shares().map(|row| row.neighbours).sum::<f64>() / shares().count().max(1) as f64;
    let worst = shares().max_by(|a, b| a.neighbours.total_cmp(&b.neighbours))?;
    (mean > MachineLoad::DISTURBED).then(|| {
        format!(
            "noisy neighbours: other programs{} had {} of the processors while `{}` was measured, at worst {} in trial \
             {}: what is slow here may be their doing",
            busiest(study),
            numbers::share(mean),
            study.row.name,
            numbers::share(worst.neighbours),
            worst.number
        )
    })
}

/// Those that were busy in most trials, by name.
fn busiest(study: &ReportStudy) -> String {
    let mut trials: BTreeMap<&str, usize> = BTreeMap::new();
    for load in study.trials.iter().flat_map(|trial| &trial.row.load) {
        for name in &load.busiest {
            *trials.entry(name).or_default() += 1;
        }
    }
    let mut names: Vec<(&str, usize)> = trials.into_iter().collect();
    names.sort_by_key(|(_, trials)| std::cmp::Reverse(*trials));
    let names: Vec<&str> = names
        .iter()
        .map(|(name, _)| *name)
        .take(MOST_NAMES)
        .collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" ({})", names.join(", "))
    }
}

fn single(study: &ReportStudy) -> Option<String> {
    let series = &study.results.series;
    let single = series
        .iter()
        .filter(|series| series.trials.len() == 1)
        .count();
    (single > 0).then(|| {
        format!(
            "{} of {} series have a single trial: how the next one would differ isn't known; measure more rounds",
            single,
            series.len()
        )
    })
}

fn outliers(study: &ReportStudy) -> Option<String> {
    let mut places = study.results.series.iter().flat_map(|series| {
        far_out(series)
            .into_iter()
            .map(move |trial| format!("{} {} in trial {trial}", series.cell, series.metric))
    });
    let named: Vec<String> = places.by_ref().take(MOST_PLACES).collect();
    let more = match places.count() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    (!named.is_empty()).then(|| {
        format!(
            "outliers, more than three quartile ranges from the middle half of the trials: {}{more}; look at their load \
             and their output",
            named.join(", ")
        )
    })
}

/// Trials beyond the outer fences of their series: Q1 − 3·(Q3 − Q1) and Q3 + 3·(Q3 − Q1) (J. W. Tukey, Exploratory
/// Data Analysis, 1977). None where the middle half is all alike.
fn far_out(series: &CellSeries) -> Vec<u32> {
    let Some(measured) = estimate(series).filter(|measured| measured.samples.n() >= ENOUGH) else {
        return Vec::new();
    };
    let summary = Summary::new(&measured.samples, series.better);
    let range = summary.third_quartile - summary.first_quartile;
    let (low, high) = (
        summary.first_quartile - 3.0 * range,
        summary.third_quartile + 3.0 * range,
    );
    let trials = series
        .trials
        .iter()
        .filter(|trial| !trial.values.is_empty());
    trials
        .zip(measured.samples.measured())
        .filter(|(_, value)| range > 0.0 && !(low..=high).contains(*value))
        .map(|(trial, _)| trial.trial)
        .collect()
}

/// What trials warn of, each once.
fn of_trials(studies: &[ReportStudy]) -> impl Iterator<Item = String> {
    let mut warnings: Vec<(&str, usize)> = Vec::new();
    let trials = studies.iter().flat_map(|study| &study.trials);
    for warning in trials.flat_map(|trial| &trial.row.warnings) {
        match warnings.iter().position(|(known, _)| known == warning) {
            Some(at) => warnings[at].1 += 1,
            None if warnings.len() < MOST_OF_TRIALS => warnings.push((warning, 1)),
            None => {}
        }
    }
    warnings.into_iter().map(|(warning, count)| match count {
        1 => warning.to_owned(),
        _ => format!(
            "{} (in {})",
            clipped(warning, LONGEST_REASON),
            counted(count, "trial")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{Better, Cell, TrialSamples, Unit};

    fn series(values: &[f64]) -> CellSeries {
        let trial = |(number, value): (usize, &f64)| TrialSamples {
            trial: number as u32 + 1,
            round: 1,
            boot: 0,
            session: 1,
            host: 0,
            values: vec![*value],
            each: vec![],
            neighbours: 0.0,
        };
        CellSeries {
            cell: Cell {
                benchmark: "b".parse().unwrap(),
                params: indexmap::IndexMap::new(),
                chosen: vec![],
                variant: "default".parse().unwrap(),
                monitors: None,
            },
            metric: "m".parse().unwrap(),
            unit: Unit::parse("s").unwrap(),
            better: Better::Lower,
            about: String::new(),
            primary: true,
            monitor: None,
            simulator: None,
            trials: values.iter().enumerate().map(trial).collect(),
        }
    }

    #[test]
    fn a_value_far_from_the_others_is_an_outlier() {
        let mut values = [1.0, 1.1, 9.0, 0.9, 1.05, 0.95, 1.02, 1.08, 0.98, 1.04];
        assert_eq!(far_out(&series(&values)), [3]);
        values[2] = 1.2;
        assert!(far_out(&series(&values)).is_empty());
    }

    #[test]
    fn few_trials_and_trials_that_are_alike_have_no_outliers() {
        assert!(far_out(&series(&[1.0, 1.1, 9.0, 0.9, 1.05])).is_empty());
        let mut alike = [2.0; 12];
        alike[7] = 3.0;
        assert!(far_out(&series(&alike)).is_empty());
        assert!(far_out(&series(&[])).is_empty());
    }
}
