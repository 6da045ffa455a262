//! The form that asks which versions to compare, where pages are served: it works without scripts.

use askama::Template;

use super::{book::Here, frame::Frame, site::Press};

/// Most versions that it suggests.
const MOST_SUGGESTED: usize = 2000;
/// Versions that it asks for at least.
const LEAST_ASKED: usize = 3;

#[derive(Template)]
#[template(path = "pages/compare_form.html")]
pub(super) struct CompareFormPage {
    frame: Frame,
    form: CompareForm,
    /// Names of measured versions, the newest first.
    suggested: Vec<String>,
}

/// A part of a page that asks.
pub(super) struct CompareForm {
    /// Where its answers go.
    pub action: String,
    /// What stands in its fields.
    pub names: Vec<String>,
}

impl CompareForm {
    pub fn new(here: Here<'_>, mut names: Vec<String>) -> Self {
        let asked = LEAST_ASKED.max(names.len() + 1);
        names.resize(asked, String::new());
        Self {
            action: here.to_compare_form(),
            names,
        }
    }
}

impl Press<'_> {
    pub(super) fn compare_form(&self, here: Here<'_>) -> CompareFormPage {
        let book = here.book;
        let measured = book.measured.iter().rev();
        let names = || measured.clone().map(|at| book.name(*at));
        let mut newest: Vec<String> = names().take(2).collect();
        newest.reverse();
        CompareFormPage {
            frame: Frame::new("Compare versions", here.page, here.crumbs()),
            form: CompareForm::new(here, newest),
            suggested: names().take(MOST_SUGGESTED).collect(),
        }
    }
}
