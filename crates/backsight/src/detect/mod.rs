//! `backsight detect`: where series of numbers changed, by how much and how surely, whoever measured them.
//!
//! Series are read one after the other (`input`), searched side by side on all processors (`search`, `change_search`), and
//! shown by `backsight_report::change_points`, or written as a table of one row a change (`rows`). Over several series,
//! changes are believed by the false discovery rate (`discovery`), for which nothing but p-values is kept.
//!
//! Which direction is good is never guessed.

mod change_search;
mod discovery;
mod input;
mod rows;
mod search;
mod verb;

pub use verb::Detect;

#[cfg(test)]
mod tests;
