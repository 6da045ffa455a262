//! The view of a bisection: its JSON.

use backsight_model::Change;
use backsight_policy::BisectEnd;
use backsight_stats::{
    TrialStatistic,
    culprits::{IntervalEstimate, Waterfall},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{BisectStudy, CulpritCheckView};

/// A bisection: the changes along a history.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BisectView<'a> {
    /// The study's number.
    pub study: i64,
    /// The study's name.
    pub name: &'a str,
    /// The cell that is bisected.
    pub cell: Option<String>,
    /// Its metric.
    pub metric: &'a str,
    /// `decided`, `budget`, `most`, `end` or `short`; nothing where it goes on.
    pub ended: Option<&'static str>,
    /// The probability of the culprits, all together.
    pub probability: f64,
    /// How sure the answer is to be, from 0 to 1.
    pub confidence: f64,
    /// The changes that did it, oldest first.
    pub culprits: Vec<CulpritView<'a>>,
    /// How the change from the first version to the last is made up, in the metric's unit.
    pub waterfall: Option<&'a Waterfall>,
    /// Where a change may be.
    pub suspects: Vec<SuspectView<'a>>,
    /// The version that is measured next, while it goes on.
    pub next: Option<BisectVersionView<'a>>,
    /// The probability beforehand that two changes cancel where nothing was measured.
    pub hidden: f64,
    /// The smallest change that counts, in the metric's unit.
    pub smallest: Option<f64>,
    /// Changes of this size and more are ruled out.
    pub ruled_out: Option<f64>,
    /// The standard deviation of one measurement, in the metric's unit.
    pub noise: Option<f64>,
    /// The testbeds, where several measured at once.
    pub testbeds: Vec<TestbedView<'a>>,
    /// How trials make a measurement.
    pub estimator: EstimatorView,
    /// What was measured of each version.
    pub measured: Vec<BisectMeasurementView<'a>>,
    /// Versions that don't build, boot or run.
    pub broken: Vec<Option<BisectVersionView<'a>>>,
    /// The trials.
    pub trials: TrialCountView,
    /// Seconds that builds, boots and trials took.
    pub seconds: f64,
    /// The verdict as sentences.
    pub sentences: Vec<String>,
}

/// A version, by its name and what identifies it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BisectVersionView<'a> {
    /// Its name, with its amendments.
    pub name: String,
    /// What identifies it.
    pub id: &'a str,
}

/// A change: behind `after`, up to `until`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CulpritView<'a> {
    /// The last version without it.
    pub after: Option<BisectVersionView<'a>>,
    /// The first version known to have it.
    pub until: Option<BisectVersionView<'a>>,
    /// Its probability.
    pub probability: f64,
    /// after − before in percent of the level before the first change.
    pub percent: Option<f64>,
    /// The same in the metric's unit.
    pub size: Option<&'a IntervalEstimate>,
    /// What of the history lies there.
    pub changes: Option<&'a Vec<Change>>,
    /// Studies that measured it beside the version before it, or a version without it.
    pub checks: Vec<CulpritCheckView<'a>>,
}

/// Where a change may be.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SuspectView<'a> {
    /// The last version before it.
    pub after: Option<BisectVersionView<'a>>,
    /// The first version after it.
    pub until: Option<BisectVersionView<'a>>,
    /// The probability that a change is there.
    pub probability: f64,
}

/// The amount that a testbed adds to each measurement.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TestbedView<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it adds to each measurement, in the metric's unit.
    pub adds: f64,
}

/// How trials make a measurement.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EstimatorView {
    /// Trials of a measurement.
    pub trials: usize,
    /// `mean` or `best`.
    pub statistic: &'static str,
    /// Which of the best, from 1; null for the mean.
    pub rank: Option<usize>,
}

/// What was measured of a version.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BisectMeasurementView<'a> {
    /// The version.
    pub version: Option<BisectVersionView<'a>>,
    /// Measurements of it.
    pub measurements: usize,
    /// Their mean, in the metric's unit.
    pub mean: f64,
}

/// How many trials there were.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrialCountView {
    /// Trials that gave samples.
    pub measured: usize,
    /// Trials that failed.
    pub failed: usize,
}

impl<'a> BisectView<'a> {
    /// The view of a study.
    pub fn new(study: &BisectStudy<'a>) -> Self {
        let (history, verdict) = (study.history, study.verdict);
        let version = |at: usize| {
            let version = history.versions.get(at)?;
            Some(BisectVersionView {
                name: version.full_name(),
                id: &version.id,
            })
        };
        let sizes = verdict.waterfall.as_ref();
        let culprits = verdict.culprits.iter().enumerate();
        let culprits = culprits.map(|(n, culprit)| CulpritView {
            after: version(culprit.place.after),
            until: version(culprit.place.until),
            probability: culprit.probability,
            percent: culprit.percent,
            size: sizes.and_then(|sizes| sizes.steps.get(n)),
            changes: study.between.get(n).and_then(|held| held.as_ref().ok()),
            checks: study.checks.get(n).map_or_else(Vec::new, |checks| {
                checks.iter().map(CulpritCheckView::from).collect()
            }),
        });
        let suspects = verdict.places.iter();
        let suspects = suspects.map(|(place, probability)| SuspectView {
            after: version(place.after),
            until: version(place.until),
            probability: *probability,
        });
        let measured = verdict.measured.iter();
        let measured = measured.map(|(at, n, mean)| BisectMeasurementView {
            version: version(*at),
            measurements: *n,
            mean: *mean,
        });
        let testbeds = history
            .several_testbeds()
            .iter()
            .zip(&verdict.testbed_offsets);
        let testbeds = testbeds.map(|(testbed, added)| TestbedView {
            name: testbed.name.as_str(),
            adds: *added,
        });
        let (statistic, rank) = match verdict.estimator.statistic {
            TrialStatistic::Mean => ("mean", None),
            TrialStatistic::Best(rank) => ("best", Some(rank)),
        };
        Self {
            study: history.study,
            name: history.name.as_str(),
            cell: history
                .cells
                .get(study.cell)
                .map(|cell| cell.cell.to_string()),
            metric: study.metric,
            ended: verdict.ended.map(|ended| match ended {
                BisectEnd::Decided => "decided",
                BisectEnd::Budget => "budget",
                BisectEnd::Most => "most",
                BisectEnd::End(_) => "end",
                BisectEnd::Short => "short",
            }),
            probability: verdict.probability,
            confidence: study.confidence,
            culprits: culprits.collect(),
            waterfall: sizes,
            suspects: suspects.collect(),
            next: verdict.next.and_then(|next| version(next.version)),
            hidden: verdict.hidden,
            smallest: verdict.smallest,
            ruled_out: verdict.ruled_out,
            noise: verdict.noise,
            testbeds: testbeds.collect(),
            estimator: EstimatorView {
                trials: verdict.estimator.trials,
                statistic,
                rank,
            },
            measured: measured.collect(),
            broken: verdict.broken.iter().map(|at| version(*at)).collect(),
            trials: TrialCountView {
                measured: verdict.trials.0,
                failed: verdict.trials.1,
            },
            seconds: verdict.spent.as_secs_f64(),
            sentences: study.sentences(),
        }
    }
}
