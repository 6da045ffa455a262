//! Views of verdicts, comparisons, change points and histories, and their renderers: for a terminal, for a pull request, as
//! a page, for a program. The site and the command write with it, so that all of them say the same.
//!
//! Each has a module with its *view* (a serde type with a JSON schema, [`schema`]) and its [`Document`] of sentences and
//! tables; [`Render`] writes either in every [`Format`]. Charts are in [`chart`], numbers with their units and intervals in
//! [`numbers`].
//!
//! Nothing is measured, read or decided here.
//!
//! ```
//! use backsight_report::{Document, Section, Table, Tone, field, left, right};
//!
//! let mut table = Table::new(vec![left("metric"), right("difference")]);
//! table.row(vec![field("time"), field("+4.1 % [+3.2, +5.0]").with_tone(Tone::Bad)]);
//! let document = Document::new("try-1")
//!     .with_sentence("`feature` is worse than main", Tone::Bad)
//!     .with_section(Section::table("", table));
//! assert!(document.markdown().contains("| time | **+4.1 % \\[+3.2, +5.0\\]** |"));
//! ```

pub mod acceptances;
pub mod access;
pub mod alerts;
pub mod bisect;
pub mod change_list;
pub mod change_points;
pub mod chart;
pub mod comparison;
pub mod counters;
pub mod cross_checks;
pub mod definition_text;
pub mod doctor;
mod document;
pub mod escape;
pub mod explain;
pub mod findings;
mod format;
pub mod history;
pub mod host_record;
pub mod instances;
mod json;
pub mod lab;
pub mod markdown;
mod more_rounds;
pub mod noise;
pub mod numbers;
pub mod overhead;
pub mod profile;
pub mod pruning;
pub mod queue;
pub mod reference;
mod render;
pub mod scenario_matrix;
pub mod schema;
pub mod search;
mod series_text;
pub mod stored_study;
mod table;
pub mod test_bisect;
pub mod test_matrix;
pub mod test_study;
pub mod testbeds;
pub mod timeline;
pub mod try_patch;

pub use document::{Body, Document, Section, Sentence};
pub use format::{Format, FormatError};
pub use json::{json, json_line};
pub use more_rounds::MoreRounds;
pub use render::Render;
pub use series_text::SeriesText;
pub use table::{
    Column, Field, Line, Table, TerminalStyle, Tone, clipped, field, left, list_table, right,
    wrapped,
};
