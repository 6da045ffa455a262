//! What is known of results of tests that are exported.

use backsight_model::{SuiteRun, Version};
use jiff::Timestamp;

/// A run of a suite, and what it is of.
#[derive(Debug, Clone)]
pub struct ExportedTests {
    /// The study.
    pub study: String,
    /// When it began.
    pub began: Timestamp,
    /// The trial's number in it.
    pub trial: u32,
    /// The number of the build that was tested; 0 where nothing was built.
    pub build: u32,
    /// The version that was tested, where that is known.
    pub version: Option<Version>,
    /// The suite.
    pub suite: String,
    /// The results.
    pub run: SuiteRun,
}
