//! The forms that ask what to compare, where pages are served: versions or testbeds of a target, or studies. They work without
//! scripts.

use askama::Template;

use super::{address, book::Here, frame::Frame, site::Press};
use crate::crumb::Crumb;

/// Most names that it suggests.
const MOST_SUGGESTED: usize = 2000;
/// Fields that it has at least.
const LEAST_ASKED: usize = 3;

#[derive(Template)]
#[template(path = "pages/compare_form.html")]
pub(super) struct CompareFormPage {
    frame: Frame,
    about: &'static str,
    form: CompareForm,
    /// What may be named: versions and studies the newest first.
    suggested: Vec<String>,
    /// Versions by which testbeds may be compared, likewise.
    versions: Vec<String>,
    /// How things are named, and the link to their list.
    naming: &'static str,
    list: String,
}

/// What a form asks for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum FormKind {
    #[default]
    Versions,
    Testbeds,
    Studies,
}

impl FormKind {
    /// What one of the things is called.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Versions => "Version",
            Self::Testbeds => "Testbed",
            Self::Studies => "Study",
        }
    }

    /// The name of the list of what may be named.
    pub fn list(self) -> &'static str {
        match self {
            Self::Versions => "versions",
            Self::Testbeds => "testbeds",
            Self::Studies => "studies",
        }
    }
}

/// A part of a page that asks.
#[derive(Default)]
pub(super) struct CompareForm {
    pub kind: FormKind,
    /// Where its answers go.
    pub action: String,
    /// What stands in its fields.
    pub names: Vec<String>,
    /// The version that testbeds are compared by; none where none is asked for.
    pub at: Option<String>,
}

impl CompareForm {
    pub fn new(kind: FormKind, action: String, mut names: Vec<String>) -> Self {
        let asked = LEAST_ASKED.max(names.len() + 1);
        names.resize(asked, String::new());
        Self {
            kind,
            action,
            names,
            at: None,
        }
    }

    pub fn of_versions(here: Here<'_>, names: Vec<String>) -> Self {
        Self::new(FormKind::Versions, here.to_compare_form(), names)
    }

    pub fn of_testbeds(here: Here<'_>, names: Vec<String>, at: String) -> Self {
        let action = here.link(&here.testbeds_form_page());
        Self {
            at: Some(at),
            ..Self::new(FormKind::Testbeds, action, names)
        }
    }
}

impl Press<'_> {
    pub(super) fn compare_form(&self, here: Here<'_>) -> CompareFormPage {
        let mut newest: Vec<String> = newest_versions(here).take(2).collect();
        newest.reverse();
        CompareFormPage {
            frame: Frame::new("Compare versions", here.page, here.crumbs()),
            about: "Every series of the versions beside each other, with what changed first. The first is the baseline.",
            form: CompareForm::of_versions(here, newest),
            suggested: newest_versions(here).take(MOST_SUGGESTED).collect(),
            versions: Vec::new(),
            naming: "A version is named by the first 7 characters of its identity, or as in",
            list: here.to_versions(),
        }
    }

    pub(super) fn testbeds_form(&self, here: Here<'_>) -> CompareFormPage {
        let names: Vec<String> = here.testbeds.names().map(str::to_owned).collect();
        let first = names.iter().take(2).cloned().collect();
        CompareFormPage {
            frame: Frame::new("Compare testbeds", here.page, here.crumbs()),
            about: "What testbeds measured of one version beside each other, and what differs between their hosts. The first is the baseline.",
            form: CompareForm::of_testbeds(here, first, String::new()),
            suggested: names,
            versions: newest_versions(here).take(MOST_SUGGESTED).collect(),
            naming: "Without a version it is the newest one that all of them measured. Versions are named as in",
            list: here.to_versions(),
        }
    }

    pub(super) fn studies_form_page(&self) -> CompareFormPage {
        let studies = || self.site.comparable_studies();
        let names = || studies().map(|study| study.name.to_string());
        let mut newest: Vec<String> = names().take(2).collect();
        newest.reverse();
        let crumbs = [("Home", address::HOME), ("Studies", address::STUDIES)];
        let crumbs = crumbs.map(|(text, to)| Crumb::new(text, &self.page.link(to)));
        CompareFormPage {
            frame: Frame::new("Compare studies", self.page, crumbs.into()),
            about: "Every metric of the studies beside each other, with what changed first. The first is the baseline.",
            form: self.studies_form(newest),
            suggested: names().take(MOST_SUGGESTED).collect(),
            versions: Vec::new(),
            naming: "Studies of a history are compared by its versions. A study is named by its number, or as in",
            list: self.page.link(address::STUDIES),
        }
    }
}

/// The names of measured versions, the newest first.
fn newest_versions(here: Here<'_>) -> impl Iterator<Item = String> {
    let book = here.book;
    book.measured.iter().rev().map(|at| book.name(*at))
}
