//! Histories of targets: which versions there are, what lies between them, and how any of them is put into
//! a tree, built, cached and brought to run.
//!
//! A [`History`] is one small trait over git, CVS, packages and commands of one's own.
//!
//! Refuses: to know what is measured, and to change a repository that it reads.

mod cache;
mod history;
mod recipe;
mod tree;

pub use history::{History, HistoryError};
pub use recipe::{Place, Workshop, WorkshopError};
