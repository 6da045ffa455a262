//! The catalogue: definitions of benchmarks and monitors as data files, and the parsers that they name.
//!
//! Definitions come with the program; a user's folders lie over them, the later over the earlier. The
//! parsers turn what steps printed into samples: jq programs, regular expressions, columns.
//!
//! Whatever a program printed (nothing, nonsense, gigabytes) ends in samples or in an error, in bounded time. A missing value is
//! never 0. Nothing is run here.
//!
//! ```
//! use backsight_catalog::{JsonDocument, Query, QueryValue};
//!
//! let query = Query::compile(".runs[].seconds", []).unwrap();
//! let document = JsonDocument::parse(br#"{"runs": [{"seconds": 1.5}, {"seconds": 2}]}"#).unwrap();
//! let found = query.found(&document, []).unwrap();
//! assert_eq!(found, [QueryValue::Number(1.5), QueryValue::Whole(2)]);
//! ```

mod cross_checks;
mod definition_files;
mod definitions;
mod jq;
mod lint;
mod monitor_samples;
mod monitors;
mod pattern;
mod query;
pub mod sampled_series;
mod samples;
mod sets;
mod spread;
mod suite_passes;
mod suite_results;
mod validity;

pub use cross_checks::{CheckedTrial, cross_checks};
pub use definition_files::CatalogError;
pub use definitions::{BenchmarkDefinition, Catalog};
pub use lint::{LintFinding, lint, lint_readings};
pub use monitor_samples::known_counters;
pub use monitors::Monitors;
pub use pattern::MOST_SAMPLES;
pub use query::{JsonDocument, Query, QueryError, QueryRunError, QueryValue, with_deep_stack};
pub use samples::{
    ExtractionError, LONGEST_OUTPUT, MetricReading, Parsers, SampleError, SoughtNumbers,
    TrialSamplesError,
};
pub use sets::{BenchmarkSet, benchmark_sets};
pub use spread::{MeasuredSpread, measured_spreads};
pub use suite_passes::SuitePasses;
pub use suite_results::{DocumentEnd, Interrupted, SuiteDocument, SuitePass, SuiteRunReader};
pub use validity::exhausted_generators;
