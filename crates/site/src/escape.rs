//! How templates escape what somebody else wrote: as `backsight_report::escape` does everywhere.

use std::fmt;

pub use backsight_report::escape::{html as text, html_bytes as bytes, html_cost as cost};

/// The escaper of every template of this room (askama.toml names it).
#[derive(Debug, Clone, Copy, Default)]
pub struct Visible;

impl askama::filters::Escaper for Visible {
    fn write_escaped_str<W: fmt::Write>(&self, mut dest: W, string: &str) -> fmt::Result {
        backsight_report::escape::push_html(&mut dest, string)
    }
}
