//! The list of studies, and the page of one: where it stands, what it came to, its boots.

use askama::Template;
use backsight_model::Build;
use backsight_report::numbers::{self, counted};
use backsight_store::StudyRow;
use std::collections::HashMap;

use super::{
    address,
    assets::TRIALS_STYLE,
    boot::is_started,
    compared_sets::form_link,
    frame::Frame,
    site::{Press, SiteError, has_report},
};
use crate::{
    crumb::Crumb,
    surroundings::{SiteSurroundings, Surroundings},
};

#[derive(Template)]
#[template(path = "pages/studies.html")]
pub(super) struct StudiesPage {
    frame: Frame,
    /// The form that asks which studies to compare, where pages are served.
    compare: Option<String>,
    studies: Vec<StudyLine>,
}

/// A study in the list.
pub(super) struct StudyLine {
    number: i64,
    pub name: String,
    pub href: String,
    pub verb: String,
    target: Option<Link>,
    pub state: &'static str,
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
    /// Why it has no verdict.
    missing: String,
    boots: Vec<BootLine>,
}

/// Where a study stands, in a line.
#[derive(Template)]
#[template(path = "pages/study_state.html")]
struct StateView<'a> {
    line: &'a StudyLine,
}

/// What it measured on.
#[derive(Template)]
#[template(path = "pages/study_boots.html")]
struct BootsView<'a> {
    boots: &'a [BootLine],
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
            frame: self
                .frame("Studies", crumbs)
                .with_data("JSON", &self.link(address::STUDIES_DATA)),
            compare: form_link(self.page, self.site),
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

    /// The page of a study: its verdict within the site, or where it stands.
    pub(super) async fn study(&self, place: usize) -> Result<String, SiteError> {
        let study = &self.site.studies[place];
        let line = self.line(study);
        let boots = self.boots_of_study(study);
        let crumbs = vec![
            self.crumb("Home", address::HOME),
            self.crumb("Studies", address::STUDIES),
        ];
        let mut missing = String::new();
        if has_report(study)
            && let Some(reports) = &self.site.reports
        {
            let frame = self.frame(study.name.as_str(), crumbs.clone());
            let around = Surroundings {
                site: Some(SiteSurroundings {
                    style: frame.style,
                    trials_style: self.link(TRIALS_STYLE),
                    crumbs: frame.crumbs,
                    live: frame.live,
                    data: self.link(&address::study_data(study.name.as_str())),
                    state: StateView { line: &line }.render()?,
                    parts: BootsView { boots: &boots }.render()?,
                }),
            };
            match reports.page(study, &around).await {
                Ok(page) => return Ok(page),
                Err(why) => missing = why,
            }
        }
        let page = StudyPage {
            frame: self.frame(study.name.as_str(), crumbs),
            line,
            missing,
            boots,
        };
        Ok(page.render()?)
    }

    /// What a study came to, for programs; where that can't be said, why.
    pub(super) async fn study_json(&self, place: usize) -> Result<String, SiteError> {
        let study = &self.site.studies[place];
        let made = match &self.site.reports {
            Some(reports) => reports.json(study).await,
            None => Err("nobody makes reports here".to_owned()),
        };
        Ok(self.or_refusal(made)?)
    }

    fn boots_of_study(&self, study: &StudyRow) -> Vec<BootLine> {
        let mut boots = Vec::new();
        for book in &self.site.books {
            for part in book.studies.iter().filter(|part| part.study == study.id.0) {
                let builds = part.builds.iter().map(|build| (build.number, build));
                let builds: HashMap<u32, &Build> = builds.collect();
                for boot in &part.boots {
                    let build = builds.get(&boot.build);
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
        boots
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
