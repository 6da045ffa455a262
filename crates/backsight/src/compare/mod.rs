//! `backsight compare`: result sets beside each other.

mod file;
mod status;
mod verb;

pub use verb::{Compare, confidence, more_rounds, percent};
