//! Numbers in, numbers out: the statistics that every table, page and verdict of Backsight stands on.
//!
//! What is here are definitions that two people can compute alike, each with its source. [`Samples`] is the door:
//! it refuses what is no number, once, so that nothing behind it has to ask again.
//!
//! | question | answer |
//! |---|---|
//! | what are these samples like? | [`Summary`] |
//! | is it different? | [`verdict`](fn@verdict) of two [`Side`]s, over a table with [`benjamini_hochberg`] |
//! | and while it is still being measured? | [`Sequence`] |
//! | where did it change? | [`changes::detect`], and [`changes::Watch`] for a series that grows |
//! | which change did it? | [`culprits::Belief`], and [`culprits::waterfall`](fn@culprits::waterfall) |
//! | how many repeats, of what? | [`components`](fn@components) and [`advice`] |
//! | does the order of measurement matter? | [`autocorrelation`], [`warm_up`], [`drift`], [`outliers`] |
//! | more than one state? | [`two_modes`] |
//! | and for the sceptic? | [`mann_whitney`], [`kolmogorov_smirnov`], [`hierarchical_bootstrap`], [`bca`] |
//!
//! This room refuses: reading or writing anything, looking at a clock, drawing random numbers from anywhere but
//! a seed that the caller gave, sentinels (`NaN`, 0.00, −1) for what is [`Undefined`], and guessing which
//! direction is [`Better`].
//!
//! ```
//! use backsight_stats::{Better, Samples, Summary, percent_change};
//!
//! let base = Samples::new(vec![3.5, 3.1, 3.9])?;
//! let new = Samples::new(vec![4.5, 4.1, 4.9])?;
//! let (base, new) = (Summary::of(&base, Better::Lower), Summary::of(&new, Better::Lower));
//! let change = percent_change(base.amean, new.amean)?;
//! assert_eq!(format!("{change:+.2}"), "+28.57");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod better;
mod bootstrap;
pub mod changes;
mod components;
pub mod culprits;
mod difference;
mod discoveries;
mod distributions;
mod estimator;
mod interval;
mod mean;
mod modes;
mod order;
mod random;
mod ranks;
mod samples;
mod sequential;
mod side;
pub mod simulate;
mod summary;
mod sums;
mod undefined;
mod verdict;
mod welch;

pub use better::{Better, NoSuchDirection};
pub use bootstrap::{USUAL_RESAMPLES, bca, bca_of_two, hierarchical_bootstrap};
pub use components::{Advice, Component, Components, Cost, advice, components};
pub use difference::{
    gmean_of_ratios, gmean_of_ratios_interval, mmtests_percent, percent_change, ratio,
};
pub use discoveries::benjamini_hochberg;
pub use estimator::{Estimator, Statistic, Weather};
pub use interval::{Confidence, Interval};
pub use mean::Mean;
pub use modes::{TwoModes, two_modes};
pub use order::{Autocorrelation, Drift, WarmUp, autocorrelation, drift, outliers, warm_up};
pub use random::Random;
pub use ranks::{KolmogorovSmirnov, MannWhitney, kolmogorov_smirnov, mann_whitney};
pub use samples::{NotSamples, Samples};
pub use sequential::Sequence;
pub use side::{Level, Placed, Side, Units, intraclass_correlation, on_common_hosts};
pub use summary::{BestMeans, Pctile, SUMMARY_PERCENTS, Summary};
pub use undefined::Undefined;
pub use verdict::{
    Beyond, KnownSpread, Modes, Order, Outcome, Question, Settled, Verdict, verdict, welch_beyond,
};
pub use welch::{
    Shared, Welch, difference_with_error, is_estimable, mean_interval, shared_deviation, welch,
};
