//! `backsight detect`: where series of numbers changed, by how much and how surely, whoever measured them.
//!
//! Series are read one after the other (`input`), searched side by side on all processors (`search`), and told: for a
//! person (`text`, `markdown`, `picture`), for a program (`json`), or as a table of one row a change (`rows`). Over several
//! series, changes are believed by the false discovery rate (`discovery`), for which nothing but p-values is kept.
//!
//! Refuses: to guess which direction is good, to call a change of the noise a change of the level, and to believe a change
//! among a million series as readily as in one.

mod discovery;
mod input;
mod json;
mod markdown;
mod page;
mod picture;
mod rows;
mod search;
mod story;
mod text;
mod verb;

pub use text::shown;
pub use verb::Detect;

#[cfg(test)]
mod tests;
