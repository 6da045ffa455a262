//! What all published pages have around their content.

use backsight_report::clipped;

use super::{
    address::PageAt,
    assets::{CONTROL_SCRIPT, LIVE_SCRIPT, STYLE_SHEET},
};
use crate::crumb::Crumb;

/// Head and header of a page at an address.
pub struct Frame {
    pub title: String,
    /// The link to the style sheet.
    pub style: String,
    pub crumbs: Vec<Crumb>,
    /// The link to the script that looks for news; none where nobody serves any.
    pub live: Option<String>,
    /// The link to the script that lets a reader say something; none where nobody takes it.
    pub control: Option<String>,
    /// Links to what it tells for programs.
    pub data: Vec<Crumb>,
    pub version: &'static str,
    /// Where scripts may come from, as a content security policy says it.
    pub scripts: &'static str,
}

impl Frame {
    pub fn new(title: &str, page: PageAt<'_>, crumbs: Vec<Crumb>) -> Self {
        Self {
            title: clipped(title, 120),
            style: page.link(STYLE_SHEET),
            crumbs,
            live: page.is_live.then(|| page.link(LIVE_SCRIPT)),
            control: page.is_controlled.then(|| page.link(CONTROL_SCRIPT)),
            data: Vec::new(),
            version: env!("CARGO_PKG_VERSION"),
            scripts: match page.is_live {
                true => "'self'",
                false => "'none'",
            },
        }
    }

    /// A page that has what it tells for programs beside it: what that is, and the link to it.
    pub fn with_data(mut self, text: &str, link: &str) -> Self {
        self.data.push(Crumb::new(text, link));
        self
    }

    /// A page with scripts, all of them files of the site.
    pub fn with_scripts(mut self) -> Self {
        self.scripts = "'self'";
        self
    }
}
