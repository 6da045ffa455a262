//! The view of a study of noise: its JSON.

use backsight_model::Unit;
use backsight_policy::MetricNoise;
use backsight_stats::{Interval, Level, VarianceComponent};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

use super::{NoiseStudy, level_name};

/// A study of noise: how much metrics vary, and how many repeats to buy.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NoiseView<'a> {
    /// The study's number.
    pub study: i64,
    /// The study's name.
    pub name: &'a str,
    /// What was measured.
    pub of: &'a str,
    /// Trials that gave samples.
    pub measured: usize,
    /// Trials that failed.
    pub failed: usize,
    /// Seconds that builds, boots and trials took.
    pub seconds: f64,
    /// `complete`, `budget` or `dead`; null where it was stopped before its end.
    pub ended: Option<String>,
    /// Share of the processors that others took during the trials, in percent: the mean.
    pub others_percent: Option<f64>,
    /// What each takes, in seconds.
    pub cost: NoiseCostView,
    /// The difference that is to be seen, in percent.
    pub precision: f64,
    /// A metric of a cell each.
    pub noises: Vec<NoiseMetricView>,
    /// The advice in words, for the primary metrics.
    pub advice: String,
    /// The command that measures a version so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Seconds of a trial, a boot and a layout.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NoiseCostView {
    /// Seconds of a trial.
    pub trial: f64,
    /// Seconds of a boot.
    pub boot: Option<f64>,
    /// Seconds of a layout.
    pub layout: Option<f64>,
}

/// How much a metric of a cell varies.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NoiseMetricView {
    /// The cell.
    pub cell: Option<String>,
    /// The metric.
    pub metric: String,
    /// Whether the benchmark is run for it.
    pub primary: bool,
    /// Its unit.
    pub unit: Option<Unit>,
    /// Its mean.
    pub mean: Option<f64>,
    /// The interval of the mean.
    pub mean_interval: Option<Interval>,
    /// How much its interval samples vary within a trial, where it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<WithinView>,
    /// What each level that was repeated adds.
    pub levels: Option<Vec<LevelView>>,
    /// How many repeats reach the precision soonest.
    pub advice: Option<AdviceView>,
}

/// How much the interval samples of a metric vary within a trial.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WithinView {
    /// Trials that have interval samples.
    pub trials: usize,
    /// Their interval samples, all together.
    pub samples: usize,
    /// Their standard deviation around the mean of their own trial, in percent of the mean.
    pub deviation_percent: f64,
}

/// The noise that a level adds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LevelView {
    /// `within a trial`, `same boot`, `reboot` or `relink`.
    pub level: &'static str,
    /// How many there were.
    pub repeats: usize,
    /// The variance that this level adds, in the square of the unit.
    pub variance: f64,
    /// The interval of the variance.
    pub interval: Interval,
    /// The standard deviation of a trial that is new up to this level, in percent of the mean.
    pub deviation_percent: Option<f64>,
    /// The interval of what this level alone adds, as a standard deviation in percent of the mean.
    pub adds_percent: Option<Interval>,
}

/// How many repeats reach the precision soonest.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AdviceView {
    /// Repeats of each level.
    pub repeats: IndexMap<&'static str, usize>,
    /// Seconds that they take for two versions.
    pub seconds: f64,
}

impl<'a> NoiseView<'a> {
    /// The view of a study.
    pub fn new(study: &NoiseStudy<'a>) -> Self {
        let verdict = study.verdict;
        Self {
            study: study.id,
            name: study.name,
            of: study.what,
            measured: verdict.measured,
            failed: verdict.failed,
            seconds: verdict.spent.as_secs_f64(),
            ended: verdict
                .ended
                .map(|ended| format!("{ended:?}").to_lowercase()),
            others_percent: study.neighbours.map(|share| 100.0 * share),
            cost: NoiseCostView {
                trial: verdict.cost.trial,
                boot: verdict.cost.boot,
                layout: verdict.cost.layout,
            },
            precision: study.precision,
            noises: verdict
                .noises
                .iter()
                .map(|noise| NoiseMetricView::new(study, noise))
                .collect(),
            advice: study.advice(),
            command: study.command(),
        }
    }
}

impl NoiseMetricView {
    fn new(study: &NoiseStudy<'_>, noise: &MetricNoise) -> Self {
        let cell = study.cells.get(noise.cell);
        let metric = cell.and_then(|cell| cell.metrics.iter().find(|m| m.name == noise.metric));
        let found = noise.found.as_ref().ok();
        let level = |part: &VarianceComponent| LevelView {
            level: level_name(part.level),
            repeats: match part.level {
                Level::Layout => noise.counts.0,
                Level::Boot => noise.counts.1,
                _ => noise.counts.2,
            },
            variance: part.variance,
            interval: part.interval,
            deviation_percent: noise.deviation_percent(part.level),
            adds_percent: noise.added_percent(part),
        };
        let advice = noise.advice(&study.verdict.cost, study.precision).ok();
        Self {
            cell: cell.map(|cell| cell.cell.to_string()),
            metric: noise.metric.to_string(),
            primary: metric.is_some_and(|metric| metric.primary),
            unit: metric.map(|metric| metric.unit),
            mean: found.map(|found| found.mean),
            mean_interval: found.map(|found| found.mean_interval),
            within: study.within(noise).map(|within| WithinView {
                trials: within.trials,
                samples: within.samples,
                deviation_percent: within.deviation_percent,
            }),
            levels: found.map(|found| found.components.iter().map(level).collect()),
            advice: advice.map(|advice| AdviceView {
                repeats: advice
                    .repeats
                    .iter()
                    .rev()
                    .map(|(level, count)| (level_name(*level), *count))
                    .collect(),
                seconds: advice.cost,
            }),
        }
    }
}
