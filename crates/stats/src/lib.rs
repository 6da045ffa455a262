//! Statistics of tables, pages and verdicts: numbers in, numbers out.
//!
//! Every definition has its source, so that two people compute the same. [`Samples`] checks its numbers once; nothing behind it
//! checks again.
//!
//! | question | answer |
//! |---|---|
//! | how are these samples distributed? | [`Summary`] |
//! | do two sides differ? | [`verdict`](fn@verdict) of two [`NestedSamples`]s, over a table with [`benjamini_hochberg`] |
//! | and while measuring goes on? | [`ConfidenceSequence`] |
//! | where did a series change? | [`changes::detect`], and [`changes::OnlineDetector`] for a series that grows |
//! | which version changed it? | [`culprits::Posterior`], and [`culprits::waterfall`](fn@culprits::waterfall) |
//! | how often does a test fail, and since when? | [`failures::failure_changes`], [`failures::test_state`] |
//! | how many repeats, at which level? | [`components`](fn@components) and [`advice`] |
//! | does the order of measurement matter? | [`autocorrelation`], [`warm_up`], [`drift`], [`outliers`] |
//! | how far does one value lie from the others? | [`MedianDeviation`] |
//! | is there more than one mode? | [`two_modes`] |
//! | what did a control do meanwhile? | [`control_move`] |
//! | what goes with it? | [`strongest_association`], [`partial_correlation`](fn@partial_correlation) |
//! | without assumptions about the distribution? | [`mann_whitney`], [`kolmogorov_smirnov`], [`hierarchical_bootstrap`], [`bca`] |
//!
//! This crate reads and writes nothing, looks at no clock, and draws random numbers only from a caller's seed. What has no
//! value is [`Undefined`], not `NaN`, 0 or −1, and the [`Better`] direction is never guessed.
//!
//! ```
//! use backsight_stats::{Better, Samples, Summary, percent_change};
//!
//! let base = Samples::new(vec![3.5, 3.1, 3.9])?;
//! let new = Samples::new(vec![4.5, 4.1, 4.9])?;
//! let (base, new) = (Summary::new(&base, Better::Lower), Summary::new(&new, Better::Lower));
//! let change = percent_change(base.amean, new.amean)?;
//! assert_eq!(format!("{change:+.2}"), "+28.57");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod association;
mod better;
mod bootstrap;
pub mod changes;
mod confidence_sequence;
mod control_series;
pub mod culprits;
mod difference;
mod distributions;
mod dithering;
mod estimator;
pub mod failures;
mod fairness;
mod false_discovery_rate;
mod interval;
mod mean;
mod measurement_order;
mod median_deviation;
mod multimodality;
mod nested_samples;
mod partial_correlation;
mod prediction;
mod random;
mod rank_tests;
mod samples;
pub mod simulation;
mod summary;
mod sums;
mod undefined;
mod variance_components;
mod variance_prior;
mod verdict;
mod welch;

pub use association::{Association, FactValues, strongest_association};
pub use better::{Better, ParseBetterError};
pub use bootstrap::{DEFAULT_RESAMPLES, bca, bca_of_two, hierarchical_bootstrap};
pub use confidence_sequence::ConfidenceSequence;
pub use control_series::{ControlMove, control_move};
pub use difference::{
    gmean_of_ratios, gmean_of_ratios_interval, mmtests_percent, percent_change, ratio,
};
pub use dithering::dithered;
pub use estimator::{Estimator, SerialDependence, TrialStatistic};
pub use fairness::jain_index;
pub use false_discovery_rate::benjamini_hochberg;
pub use interval::{Confidence, Interval};
pub use mean::Mean;
pub use measurement_order::{
    Autocorrelation, Drift, WarmUp, autocorrelation, drift, outliers, warm_up,
};
pub use median_deviation::MedianDeviation;
pub use multimodality::{TwoModes, two_modes};
pub use nested_samples::{
    Level, NestedSample, NestedSamples, ReplicationUnits, intraclass_correlation, on_common_hosts,
};
pub use partial_correlation::{PartialCorrelation, partial_correlation};
pub use prediction::{DurationPrior, PredictedDuration, predict_duration};
pub use random::Random;
pub use rank_tests::{KolmogorovSmirnov, MannWhitney, kolmogorov_smirnov, mann_whitney};
pub use samples::{Samples, SamplesError};
pub use summary::{BestMeans, Percentile, SUMMARY_PERCENTS, Summary};
pub use undefined::Undefined;
pub use variance_components::{
    ReplicationAdvice, ReplicationCost, VarianceComponent, VarianceComponents, advice, components,
};
pub use variance_prior::{EstimatedVariance, VariancePrior};
pub use verdict::{
    KnownSpread, ModeShares, OrderEffects, UnrepeatedVariation, Verdict, VerdictOptions,
    VerdictOutcome, WarmedUpVerdict, verdict, welch_beyond,
};
pub use welch::{
    PooledDifference, Welch, difference_with_error, is_estimable, mean_interval, shared_deviation,
    welch,
};
