//! A link to a page above another.

use backsight_report::clipped;

/// A link to a page above this one.
#[derive(Debug, Clone)]
pub struct Crumb {
    pub text: String,
    pub href: String,
}

impl Crumb {
    pub fn new(text: &str, href: &str) -> Self {
        Self {
            text: clipped(text, 60),
            href: href.to_owned(),
        }
    }
}
