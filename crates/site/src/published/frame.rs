//! What all published pages have around their content.

use backsight_report::clipped;

use crate::crumb::Crumb;

/// The style sheet: that of reports, and what only these pages need.
pub const STYLE: &str = concat!(
    include_str!("../../templates/report.css"),
    include_str!("../../templates/published/published.css")
);

/// The script of the page of a target.
pub const SCRIPT: &str = include_str!("../../templates/published/course.js");
/// Its SHA-256, as a content security policy names it.
pub const SCRIPT_HASH: &str = "sha256-xstsfgO7zozUggIsf9vbaKk+JDtoQ9lkchA9Us3YIhI=";

/// Head and header of a page.
pub struct Frame {
    pub title: String,
    /// From the page's folder to the site's.
    pub root: &'static str,
    pub crumbs: Vec<Crumb>,
    pub version: &'static str,
    pub script_hash: &'static str,
}

impl Frame {
    pub fn new(title: &str, root: &'static str, crumbs: Vec<Crumb>) -> Self {
        Self {
            title: clipped(title, 120),
            root,
            crumbs,
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
