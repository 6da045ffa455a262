//! The list of studies, and the page of one: where it stands, what it came to, its boots.

use askama::Template;
use backsight_report::numbers::{self, counted};
use backsight_store::StudyRow;

use super::{
    address,
    boot::is_started,
    frame::Frame,
    site::{Press, has_report},
};
use crate::crumb::Crumb;

#[derive(Template)]
#[template(path = "pages/studies.html")]
pub(super) struct StudiesPage {
    frame: Frame,
    studies: Vec<StudyLine>,
}

/// A study in the list.
pub(super) struct StudyLine {
    number: i64,
    pub name: String,
    pub href: String,
    pub verb: String,
    target: Option<Link>,
    state: &'static str,
    is_running: bool,
    pub trials: String,
    pub failed: usize,
    pub began: String,
    took: String,
}

struct Link {
    name: String,
    href: String,
}

#[derive(Template)]
#[template(path = "pages/study.html")]
pub(super) struct StudyPage {
    frame: Frame,
    line: StudyLine,
    /// The page that says what it came to.
    report: Option<String>,
    /// Why there is none.
    missing: String,
    boots: Vec<BootLine>,
}

struct BootLine {
    name: String,
    href: String,
    version: String,
    began: String,
    failed: bool,
}

impl Press<'_> {
    pub(super) fn studies(&self) -> StudiesPage {
        let crumbs = vec![self.crumb("Home", address::HOME)];
        StudiesPage {
            frame: self.frame("Studies", crumbs),
            studies: self.study_lines(|_| true),
        }
    }

    /// Lines of the studies that are asked for, the newest first.
    pub(super) fn study_lines(&self, wanted: impl Fn(&StudyRow) -> bool) -> Vec<StudyLine> {
        let studies = self.site.studies.iter().filter(|study| wanted(study));
        studies.map(|study| self.line(study)).collect()
    }

    fn line(&self, study: &StudyRow) -> StudyLine {
        let target = study.target.as_ref().map(|target| Link {
            name: target.to_string(),
            href: self.link(&format!("{}/index.html", address::target(target.as_str()))),
        });
        let has_pages = |target: &Link| {
            self.site
                .books
                .iter()
                .any(|book| book.target.as_str() == target.name)
        };
        StudyLine {
            number: study.id.0,
            name: study.name.to_string(),
            href: self.link(&address::study(study.name.as_str())),
            verb: study.verb.clone(),
            target: target.filter(has_pages),
            state: study.state_name(),
            is_running: study.state_name() == "running",
            trials: counted(study.measured, "trial"),
            failed: study.failed,
            began: study.began.strftime("%Y-%m-%d %H:%M UTC").to_string(),
            took: study.ended.map_or(String::new(), |ended| {
                let took = ended.duration_since(study.began);
                numbers::duration(took.unsigned_abs())
            }),
        }
    }

    pub(super) fn study(&self, place: usize) -> StudyPage {
        let study = &self.site.studies[place];
        let report = has_report(study).then(|| self.link(&address::report(study.name.as_str())));
        self.study_page(study, report, String::new())
    }

    /// What stands in place of a report that can't be made.
    pub(super) fn no_report(&self, study: &StudyRow, why: &str) -> StudyPage {
        self.study_page(study, None, why.to_owned())
    }

    fn study_page(&self, study: &StudyRow, report: Option<String>, missing: String) -> StudyPage {
        let crumbs = vec![
            self.crumb("Home", address::HOME),
            self.crumb("Studies", address::STUDIES),
        ];
        let mut boots = Vec::new();
        for book in &self.site.books {
            for part in book.studies.iter().filter(|part| part.study == study.id.0) {
                for boot in &part.boots {
                    let build = part.builds.iter().find(|build| build.number == boot.build);
                    let version = build.and_then(|build| book.place(part, build));
                    boots.push(BootLine {
                        name: match is_started(boot) {
                            true => format!("boot {}", boot.ordinal),
                            false => "trials".to_owned(),
                        },
                        href: self.link(&address::boot(part.name.as_str(), boot.number)),
                        version: version.map_or(String::new(), |at| book.name(at)),
                        began: boot.began.strftime("%Y-%m-%d %H:%M UTC").to_string(),
                        failed: boot.failure.is_some(),
                    });
                }
            }
        }
        StudyPage {
            frame: self.frame(study.name.as_str(), crumbs),
            line: self.line(study),
            report,
            missing,
            boots,
        }
    }

    fn link(&self, address: &str) -> String {
        self.page.link(address)
    }

    fn crumb(&self, text: &str, address: &str) -> Crumb {
        Crumb::new(text, &self.link(address))
    }

    fn frame(&self, title: &str, crumbs: Vec<Crumb>) -> Frame {
        Frame::new(title, self.page, crumbs)
    }
}
