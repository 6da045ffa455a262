//! Results of test suites, read from what test programs write and written for others.
//!
//! [`FORMATS`] has the formats and their names; [`Format::guess`] finds a file's. A [`ResultReader`] takes bytes as they arrive and hands
//! over each test's [`TestResult`] as soon as it is known, and each [`Problem`] with its place. [`JUnitWriter`] and [`TapWriter`]
//! write results.
//!
//! Input is hostile: names, lines, logs and nesting have limits, memory doesn't grow with the number of results but for eight
//! bytes of each, no entity is expanded, and no input makes a reader fail: what is wrong is a [`Problem`], and what was read is kept.
//!
//! Names are paths, `suite/group/test`. A group that the format gives a result is a result beside those of its tests. A plan that has more tests
//! than there are results is a problem and no result, unless the format names its tests beforehand.
//!
//! What does not belong here: which tests a suite has, running them, and what became of a test since last time.
//!
//! ```
//! use backsight_test_results::{Event, Format, Outcome, ReadOptions, ResultReader};
//!
//! let mut results = Vec::new();
//! let mut problems = Vec::new();
//! let mut reader = ResultReader::new(Format::Tap, ReadOptions::default());
//! let mut hand_over = |event| match event {
//!     Event::Result(result) => results.push((result.name, result.outcome)),
//!     Event::Problem(problem) => problems.push(problem.to_string()),
//!     Event::Started { .. } => {}
//! };
//! reader.feed(b"TAP version 14\n1..3\nok 1 - reads\nnot ok 2 - wri", &mut hand_over);
//! reader.feed(b"tes # TODO not yet\n", &mut hand_over);
//! reader.finish(None, &mut hand_over);
//! assert_eq!(results, [("reads".into(), Outcome::Pass), ("writes".into(), Outcome::ExpectedFail)]);
//! assert_eq!(problems, ["line 2: 3 results planned, 2 found"]);
//! ```

mod automake;
mod ctest;
mod exit_status;
mod format;
mod json;
mod junit;
mod lines;
mod ltp;
mod open;
mod pattern;
mod reader;
mod regress;
mod result;
mod sink;
mod subunit;
mod tap;
mod write;
mod xfstests;
mod xml;

pub use format::{FORMATS, Format, FormatDescription, FormatError, ReadOptions, unread_xml};
pub use pattern::{LinePattern, PatternError};
pub use reader::ResultReader;
pub use result::{
    MAX_LOG, MAX_MESSAGE, MAX_NAME, Outcome, OutcomeError, Problem, ProblemKind, TestResult,
};
pub use sink::{Event, Exit};
pub use write::{JUnitWriter, TapWriter};
