//! What all published pages have around their content.

use backsight_report::clipped;

use super::address::{self, PageAt};
use crate::crumb::Crumb;

/// The style sheet: that of reports, and what only these pages need.
pub const STYLE: &str = concat!(
    include_str!("../../templates/report.css"),
    include_str!("../../templates/pages/published.css")
);

/// The script of the page of a target.
pub const SCRIPT: &str = include_str!("../../templates/pages/course.js");
/// Its SHA-256, as a content security policy names it.
pub const SCRIPT_HASH: &str = "sha256-xstsfgO7zozUggIsf9vbaKk+JDtoQ9lkchA9Us3YIhI=";

/// The script that looks for news, where pages are served.
pub const LIVE_SCRIPT: &str = include_str!("../../templates/pages/live.js");

/// Head and header of a page at an address.
pub struct Frame {
    pub title: String,
    /// The link to the style sheet.
    pub style: String,
    pub crumbs: Vec<Crumb>,
    /// The link to the script that looks for news; none where nobody serves any.
    pub live: Option<String>,
    pub version: &'static str,
    pub script_hash: &'static str,
}

impl Frame {
    pub fn new(title: &str, page: PageAt<'_>, crumbs: Vec<Crumb>) -> Self {
        Self {
            title: clipped(title, 120),
            style: page.link(address::STYLE_SHEET),
            crumbs,
            live: page.is_live.then(|| page.link(address::LIVE_SCRIPT)),
            version: env!("CARGO_PKG_VERSION"),
            script_hash: SCRIPT_HASH,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use sha2::Digest;

    #[test]
    fn the_policy_names_the_script_that_is_on_the_page() {
        let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(SCRIPT));
        assert_eq!(
            SCRIPT_HASH,
            format!("sha256-{hash}"),
            "put the new hash into SCRIPT_HASH"
        );
    }
}
