//! What stands around the content of a verdict's page: nothing where the file stands alone; in a site its frame.

use crate::crumb::Crumb;

/// What a site puts around the page of a study. The page of a file that stands alone has the empty one.
#[derive(Debug, Default)]
pub struct Surroundings {
    pub(crate) site: Option<SiteSurroundings>,
}

/// The frame of a site around a page.
#[derive(Debug)]
pub(crate) struct SiteSurroundings {
    /// The link to the style sheet of the site.
    pub style: String,
    /// The link to what pages with trials need besides.
    pub trials_style: String,
    pub crumbs: Vec<Crumb>,
    /// The link to the script that looks for news; none where nobody serves any.
    pub live: Option<String>,
    /// The link to the verdict for programs.
    pub data: String,
    /// What the site says of the study below its name, and after its verdict, as HTML.
    pub state: String,
    pub parts: String,
}

impl Surroundings {
    /// Where scripts may come from, besides the page itself, as a content security policy says it.
    pub(crate) fn scripts(&self) -> &'static str {
        match &self.site {
            Some(_) => "'self'",
            None => "",
        }
    }

    /// The link to the script that looks for news.
    pub(crate) fn live(&self) -> Option<&str> {
        self.site.as_ref()?.live.as_deref()
    }
}
