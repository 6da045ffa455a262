//! The catalogue: definitions of benchmarks and monitors as data files, and the parsers that they name.
//!
//! Definitions come with the program; a user's folders lie over them, the later over the earlier. The
//! parsers turn what steps printed into samples: jq programs, regular expressions, columns.
//!
//! Refuses: to run anything, to take a missing value for 0, and to believe an output. Whatever a program
//! printed (nothing, nonsense, gigabytes) ends in samples or in an error, in bounded time.

mod definitions;
mod jq;
mod monitors;
mod pattern;
mod query;
mod samples;
mod watched;

pub use definitions::{Catalog, CatalogError, Definition};
pub use monitors::Monitors;
pub use query::{Found, Mistake, Query, Searched, Stopped, deeply};
pub use samples::{Fault, LONGEST_OUTPUT, MOST_SAMPLES, NoSamples, Parsers, SampleError};
