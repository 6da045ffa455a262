//! Notes that people put beside versions of a target: a machine was moved, a compiler changed, a release was cut.

use jiff::Timestamp;

use crate::TargetName;

/// A note beside a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The target.
    pub target: TargetName,
    /// The identity of the version.
    pub version: String,
    /// Its name then.
    pub name: String,
    /// What there is to know.
    pub text: String,
    /// Who says it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}
