//! Series with a level that itself moves: what describes it better than steps between constant levels.
//!
//! Around constant levels the noise has little autocorrelation. If it has so much that the search for levels stops estimating
//! it ([`noise::MAX_AUTOCORRELATION`]), the level itself moves, and the p-values of steps between constant levels say nothing.
//! Then these are tried, in this order:
//!
//! 1. few straight lines, each break of which explains most of what is left (`trend::fit_few_lines`);
//! 2. the likeliest lines, where each break pays for itself even if the noise around them has an autocorrelation near 1: a
//!    random walk explains such a series worse;
//! 3. places where the level begins to wander faster or slower: epochs of its moves from point to point;
//! 4. those of the steps that pay for themselves likewise.
//!
//! In: a series and its levels. Out: lines, or the remaining steps. The findings of the lines are made in `piecewise_linear`.

use super::levels::Levels;
use super::noise;
use super::noise_epochs::epochs;
use super::residuals::residuals;
use super::split_selection::stretches;
use super::step_likelihood::STEP;
use super::trend::{self, Lines, Memory, Shape, TREND, fitted};
use super::{DetectionOptions, MIN_NONSTATIONARY_AUTOCORRELATION};

/// Lines that leave more of the squared deviations from one line than this describe nothing that a person would see.
const MAX_SHARE_LEFT_BY_LINES: f64 = 0.5;

/// A line through fewer points has hardly any noise around it.
const MIN_POINTS_OF_LINE: usize = 4;

/// Lines that describe a series.
pub(crate) struct Description {
    pub lines: Lines,
    /// Of each break the probability that chance gives one as clear, where that isn't told by the lines themselves.
    pub p: Option<Vec<f64>>,
}

impl From<Lines> for Description {
    fn from(lines: Lines) -> Self {
        Description { lines, p: None }
    }
}

/// The lines that describe a series better than its levels do, if any do.
pub(crate) fn lines(
    series: &[f64],
    levels: &Levels,
    search: &DetectionOptions,
) -> Option<Description> {
    if levels.kept < MIN_NONSTATIONARY_AUTOCORRELATION {
        return None;
    }
    let wanders = wanders(series, levels);
    let descriptions = trend::descriptions(series);
    let is_better = |lines: &Lines| {
        lines.left <= MAX_SHARE_LEFT_BY_LINES * levels.left()
            || wanders && are_likelier(series, lines, &levels.changes)
    };
    let needed = STEP.needed(series.len(), search.false_per_point);
    let few = Some(trend::fit_few_lines(series, &descriptions)).filter(|lines| {
        (!lines.breaks.is_empty() || !levels.changes.is_empty())
            && is_better(lines)
            && trend::are_borne_out(series, lines, needed + TREND.evidence_of_break)
    });
    if let Some(lines) = few.as_ref().filter(|lines| !lines.breaks.is_empty()) {
        return Some(match breaks_show(series, lines, needed) {
            true => lines.clone().into(),
            false => descriptions[0].clone().into(),
        });
    }
    // Of a series that moves smoothly the differences aren't independent, which the rest takes for granted.
    if !wanders || moves_smoothly(series) {
        return few.map(Description::from);
    }
    likeliest(
        series,
        &descriptions,
        needed + TREND.evidence_of_doubtful_break,
    )
    .filter(is_better)
    .map(Description::from)
    .or_else(|| of_moves(series, search))
    .or(few.map(Description::from))
}

/// Whether lines break where they do and aren't a smooth curve in disguise: they describe the series far better than a curve of
/// no more parameters; or better, with clearer breaks, where nothing else moves smoothly either.
fn breaks_show(series: &[f64], lines: &Lines, needed: f64) -> bool {
    let share = trend::share_of_curve(series, lines);
    share < TREND.abrupt_share
        || share < 1.0
            && !moves_smoothly(series)
            && trend::are_borne_out(series, lines, needed + TREND.evidence_of_doubtful_break)
}

/// Whether not only the level moves but its speed does, too: each difference keeps much of the one before.
fn moves_smoothly(series: &[f64]) -> bool {
    let moves = moves(series);
    noise::kept_by_residuals(&moves, &stretches(&[], moves.len(), 1))
        >= MIN_NONSTATIONARY_AUTOCORRELATION
}

/// Whether noise around one line keeps as much as noise ever does, or more.
pub(crate) fn wanders(series: &[f64], levels: &Levels) -> bool {
    levels.kept >= noise::MAX_AUTOCORRELATION
        && fitted(series, &[], Shape::Lines, Memory::Any).kept >= TREND.max_autocorrelation
}

/// Whether lines with noise around them describe a series better than steps do, by their likelihoods and what their parameters
/// cost.
fn are_likelier(series: &[f64], lines: &Lines, steps: &[usize]) -> bool {
    // Of each break the place, which counts twice (N. Zhang, D. Siegmund, "A modified Bayes information criterion", Biometrics
    // 63, 2007), and a level; of each line a slope.
    let cost = |parameters: usize| 0.5 * parameters as f64 * (series.len() as f64).ln();
    let of = |breaks: &[usize], shape| fitted(series, breaks, shape, Memory::OfNoise).likelihood;
    let by_lines = of(&lines.breaks, Shape::Lines) - cost(4 * lines.breaks.len() + 1);
    let by_steps = of(steps, Shape::Levels) - cost(3 * steps.len());
    by_lines >= by_steps
}

/// The likeliest of these descriptions when each break must pay for itself beside a level that wanders; none if it has no break,
/// or leaves too much to be seen.
fn likeliest(series: &[f64], descriptions: &[Lines], needed: f64) -> Option<Lines> {
    let spare = |lines: &Lines| {
        let fitted = fitted(series, &lines.breaks, Shape::Lines, Memory::Any);
        fitted.likelihood - needed * lines.breaks.len() as f64
    };
    let spares = descriptions.iter().map(|lines| (spare(lines), lines));
    let (_, best) = spares.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let is_seen = best.left <= MAX_SHARE_LEFT_BY_LINES * descriptions[0].left;
    (is_seen && !best.breaks.is_empty()).then(|| best.clone())
}

/// Lines between the places from which on a level wanders faster or slower.
fn of_moves(series: &[f64], search: &DetectionOptions) -> Option<Description> {
    if fitted(series, &[], Shape::Lines, Memory::Any).kept <= TREND.max_autocorrelation {
        return None;
    }
    let moves = moves(series);
    // Around their trimmed mean: where the level hardly moves, a few large moves elsewhere must not make it drift.
    let (_, around_drift) = residuals(&moves, &stretches(&[], moves.len(), 1));
    let epochs = epochs(&around_drift, search);
    let breaks: Vec<usize> = epochs.iter().map(|epoch| epoch.at + 1).collect();
    let have_lines = stretches(&breaks, series.len(), 1)
        .iter()
        .all(|segment| segment.points() >= MIN_POINTS_OF_LINE);
    let left = trend::left_by(&trend::Sums::new(series), &breaks);
    (have_lines && !breaks.is_empty()).then(|| Description {
        lines: Lines { breaks, left },
        p: Some(epochs.iter().map(|epoch| epoch.p).collect()),
    })
}

fn moves(series: &[f64]) -> Vec<f64> {
    series.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Those of these steps that pay for themselves although the level may wander by itself.
pub(crate) fn steps_beyond(
    series: &[f64],
    steps: &[usize],
    search: &DetectionOptions,
) -> Vec<usize> {
    let of = |steps: &[usize]| fitted(series, steps, Shape::Levels, Memory::Any).likelihood;
    let line = fitted(series, &[], Shape::Lines, Memory::Any).likelihood;
    let needed = STEP.needed(series.len(), search.false_per_point);
    let all = of(steps);
    let mut by_evidence: Vec<(f64, usize)> = (0..steps.len())
        .map(|i| (all - of(&[&steps[..i], &steps[i + 1..]].concat()), steps[i]))
        .collect();
    by_evidence.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut best = (of(&[]).max(line), Vec::new());
    let mut clearest = Vec::new();
    for (_, step) in by_evidence {
        let place = clearest.partition_point(|other| *other < step);
        clearest.insert(place, step);
        let spare = of(&clearest) - needed * clearest.len() as f64;
        if spare > best.0 {
            best = (spare, clearest.clone());
        }
    }
    best.1
}
