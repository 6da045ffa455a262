//! The page of result sets beside each other: studies, or what testbeds of a target measured of one of its versions. It is made
//! for whoever serves pages, as is the form that asks which.

use askama::Template;
use backsight_model::shell_quoted;
use backsight_policy::{CompareOptions, ComparisonRow, RowEntry, StudyPart};
use backsight_report::{
    chart::distributions, comparison::ComparisonView, json, numbers::Scale, profile::ProfileReport,
};
use backsight_store::StudyRow;

use super::{
    address::{self, PageAt, SidesAddress},
    assets::COMPARISON_SCRIPT,
    book::{Here, MOST_COMPARED, NoComparison},
    compare_form::{CompareForm, FormKind},
    comparison::{
        ComparedSides, DescribesRows, Details, Monitored, ProfileDetails, RowPlace, SideDetails,
        values_of_sides,
    },
    differing_facts::DifferingFacts,
    frame::Frame,
    interval::Link,
    set_comparison::ComparedSets,
    site::{Press, Site, has_report},
    site_page::Page,
};
use crate::crumb::Crumb;

/// The verb whose studies have no sides of their own to compare with another study.
const TRY: &str = "try";
/// The verb whose studies take more rounds.
const RUN: &str = "run";

/// Result sets that an address names.
pub(super) struct NamedSets {
    pub parts: Vec<StudyPart>,
    pub options: CompareOptions,
    title: String,
    crumbs: Vec<Crumb>,
    about: &'static str,
    sides: Vec<Link>,
    /// The version that testbeds are compared by.
    version: Option<Link>,
    command: String,
    /// What adds rounds to all of them; empty where one takes none.
    measure: String,
    form: CompareForm,
    /// The link to the same for programs.
    data: String,
}

#[derive(Template)]
#[template(path = "pages/compared_sets.html")]
pub(super) struct ComparedSetsPage {
    frame: Frame,
    about: &'static str,
    sides: Vec<Link>,
    version: Option<Link>,
    compared: Option<ComparedSides>,
    /// Why there is no comparison.
    missing: String,
    more_rounds: String,
    script: String,
    command: String,
    form: CompareForm,
}

/// Rows of result sets.
struct SetRows<'a> {
    named: &'a NamedSets,
    monitored: Monitored,
    profiles: Vec<(String, ProfileReport)>,
}

impl SetRows<'_> {
    fn profile(&self, row: &ComparisonRow) -> Option<ProfileDetails> {
        let cell = row.cell.to_string();
        let (_, report) = self.profiles.iter().find(|(of, _)| *of == cell)?;
        let sentences = report.sentences().into_iter().map(|(text, _)| text);
        let [base, new] = &self.named.parts[..] else {
            return None;
        };
        // Testbeds are parts of studies, which the command doesn't take.
        let command = match (&base.trials, &new.trials) {
            (None, None) => format!(
                "backsight profile {} --diff {} --cell {} -o profile.html",
                shell_quoted(&new.name),
                shell_quoted(&base.name),
                shell_quoted(&cell)
            ),
            _ => String::new(),
        };
        Some(ProfileDetails {
            sentences: sentences.collect(),
            command,
        })
    }
}

impl DescribesRows for SetRows<'_> {
    fn place(&self, _: &ComparisonRow) -> Option<RowPlace> {
        Some(RowPlace::default())
    }

    fn details(&self, row: &ComparisonRow, number: usize) -> Details {
        let means = row.entries.iter().filter_map(RowEntry::measured);
        let scale = Scale::fitting(row.unit, means.map(|side| side.mean));
        let sides = &self.named.sides;
        let names: Vec<String> = sides.iter().map(|side| side.name.clone()).collect();
        let sides = ('A'..).zip(sides).zip(&row.entries);
        Details {
            distributions: distributions(
                &format!("d{number}"),
                &format!("{} {}: values of trials", row.cell, row.metric),
                scale.unit_after().trim(),
                &values_of_sides(row, &names, |value| scale.convert(value)),
            ),
            course: String::new(),
            of: 0,
            sides: sides
                .map(|((letter, side), entry)| SideDetails::new(letter, side, entry, &scale))
                .collect(),
            interactive: String::new(),
            command: format!("{} --stats", self.named.command),
            measure: self.named.measure.clone(),
            monitored: self.monitored.beside(row),
            profile: self.profile(row),
        }
    }
}

/// Whether a study is one thing that others can be compared with: a history has many versions, a try its own sides.
fn is_comparable(study: &StudyRow) -> bool {
    why_not_comparable(study).is_none()
}

/// Why a study isn't one thing that others can be compared with, and what compares what it measured.
fn why_not_comparable(study: &StudyRow) -> Option<String> {
    let (name, target) = (study.name.as_str(), study.target.as_ref());
    if study.measured == 0 {
        return Some(format!("{name} measured nothing"));
    }
    if study.verb == TRY {
        return Some(format!(
            "{name} has sides of its own, which `backsight show {name}` compares"
        ));
    }
    let target = target.filter(|_| !has_report(study))?;
    Some(format!(
        "{name} measured many versions of {target}: `backsight compare --target {target}` compares these"
    ))
}

/// Whether so many different things are named as can be compared.
fn check<T: PartialEq>(named: &[T], what: &str) -> Result<(), NoComparison> {
    let is_new = |(place, it): (usize, &T)| !named[..place].contains(it);
    match (2..=MOST_COMPARED).contains(&named.len()) && named.iter().enumerate().all(is_new) {
        true => Ok(()),
        false => Err(NoComparison::Count(format!(
            "2 to {MOST_COMPARED} different {what} can be compared"
        ))),
    }
}

impl Site<'_> {
    /// What compares result sets at an address, where pages are served.
    pub(super) fn sets_page_at(&self, address: &str) -> Option<Page> {
        if address == address::COMPARE_STUDIES && self.comparable_studies().nth(1).is_some() {
            return Some(Page::StudiesForm);
        }
        if let Some(named) = SidesAddress::below(address::COMPARE_STUDIES_FOLDER, address) {
            let known = self.studies_named(&named.parts).is_some();
            return known.then_some(Page::ComparedStudies(named.form));
        }
        let mut books = self.books.iter().enumerate();
        books.find_map(|(number, book)| {
            if address == book.testbeds_form_page() {
                let is_asked = book.testbeds.names().nth(1).is_some();
                return is_asked.then_some(Page::TestbedsForm(number));
            }
            let (_, named) = book.testbeds_at(address)?;
            Some(Page::ComparedTestbeds(number, named.form))
        })
    }

    /// The studies that can be compared, the newest first.
    pub(super) fn comparable_studies(&self) -> impl Iterator<Item = &StudyRow> {
        self.studies.iter().filter(|study| is_comparable(study))
    }

    /// The studies with these parts of addresses.
    fn studies_named(&self, parts: &[&str]) -> Option<Vec<&StudyRow>> {
        let study_of = |part: &&str| {
            let mut studies = self.comparable_studies();
            studies.find(|study| address::study_part(study.name.as_str()) == **part)
        };
        let studies = parts.iter().map(study_of).collect::<Option<Vec<_>>>()?;
        let names: Vec<_> = studies.iter().map(|study| study.id).collect();
        check(&names, "studies").is_ok().then_some(studies)
    }

    /// The page that compares the studies with these names or numbers.
    ///
    /// # Errors
    /// Why they can't be compared.
    pub fn studies_comparison(&self, names: &[String]) -> Result<String, NoComparison> {
        let study_of = |name: &String| {
            let is_named =
                |study: &&StudyRow| study.name.as_str() == name || study.id.to_string() == *name;
            let study = self.studies.iter().find(is_named).ok_or_else(|| {
                NoComparison::Unknown(format!(
                    "no study is called {}",
                    backsight_report::clipped(name, 100)
                ))
            })?;
            match why_not_comparable(study) {
                Some(why) => Err(NoComparison::NotOne(why)),
                None => Ok(study),
            }
        };
        let studies = names.iter().map(study_of);
        let studies = studies.collect::<Result<Vec<_>, _>>()?;
        let numbers: Vec<_> = studies.iter().map(|study| study.id).collect();
        check(&numbers, "studies")?;
        let parts = studies
            .iter()
            .map(|study| address::study_part(study.name.as_str()));
        let parts: Vec<String> = parts.collect();
        Ok(address::sides_page(address::COMPARE_STUDIES_FOLDER, &parts))
    }

    /// The page that compares testbeds of a target by the version with this name, or by the newest that all of them measured.
    ///
    /// # Errors
    /// Why they can't be compared.
    pub fn testbeds_comparison(
        &self,
        target: &str,
        names: &[String],
        version: Option<&str>,
    ) -> Result<String, NoComparison> {
        let book = self.book_of(target)?;
        for name in names {
            if !book.testbeds.names().any(|known| known == name) {
                return Err(NoComparison::Unknown(format!(
                    "nothing of {} was measured on a testbed {}",
                    book.target,
                    backsight_report::clipped(name, 100)
                )));
            }
        }
        check(names, "testbeds")?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let has_all = |at: &usize| book.testbeds.parts(&names, &book.version(*at).id).is_some();
        let at = match version {
            Some(version) => Some(book.measured_version(version)?).filter(has_all),
            None => book.measured.iter().rev().copied().find(has_all),
        };
        let at = at.ok_or_else(|| {
            NoComparison::Unknown("not all of these testbeds measured that version".to_owned())
        })?;
        Ok(book.testbeds_page(at, &names))
    }
}

impl<'a> Press<'a> {
    /// The studies that the address of the page names.
    fn named_studies(&self, named: &SidesAddress<'_>) -> Option<NamedSets> {
        let page = self.page;
        let studies = self.site.studies_named(&named.parts)?;
        let names: Vec<String> = studies.iter().map(|it| it.name.to_string()).collect();
        let quoted = names.iter().map(|name| shell_quoted(name).to_string());
        let sides = studies.iter().map(|study| Link {
            name: study.name.to_string(),
            href: page.link(&address::study(study.name.as_str())),
        });
        let parts = studies.iter().map(|study| StudyPart {
            study: study.id.0,
            name: study.name.to_string(),
            trials: None,
        });
        Some(NamedSets {
            parts: parts.collect(),
            options: CompareOptions::default(),
            title: names.join(" and "),
            crumbs: vec![
                Crumb::new("Home", &page.link(address::HOME)),
                Crumb::new("Studies", &page.link(address::STUDIES)),
            ],
            about: "Studies beside each other; the first is the baseline:",
            sides: sides.collect(),
            version: None,
            measure: match studies.iter().all(|study| study.verb == RUN) {
                true => {
                    let each = quoted
                        .clone()
                        .map(|name| format!("backsight run --more 1 {name}"));
                    each.collect::<Vec<_>>().join(" && ")
                }
                false => String::new(),
            },
            command: format!("backsight compare {}", quoted.collect::<Vec<_>>().join(" ")),
            form: self.studies_form(names),
            data: page.link(&address::data_of_page(page.address)),
        })
    }

    /// The testbeds of a target that it names.
    fn named_testbeds(&self, here: Here<'_>) -> Option<NamedSets> {
        let (at, named) = here.book.testbeds_at(here.page.address)?;
        let names = here.book.testbeds_named(&named.parts)?;
        let parts = here.book.testbeds.parts(&names, &here.version(at).id)?;
        let sides = parts.iter().map(|part| Link {
            name: part.name.clone(),
            href: here.to_study(part.study),
        });
        let sides: Vec<Link> = sides.collect();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let quoted = names.iter().map(|name| shell_quoted(name).to_string());
        let version = super::comparison::version_argument(here.book, at);
        Some(NamedSets {
            options: CompareOptions {
                other_machines: true,
                ..CompareOptions::default()
            },
            parts,
            title: format!("{} on {}", here.name(at), names.join(" and ")),
            crumbs: here.crumbs(),
            about: "What testbeds measured last of one version beside each other; the first is the baseline:",
            sides,
            version: Some(Link {
                name: here.name(at),
                href: here.to_version(at),
            }),
            command: format!(
                "backsight compare --target {} --testbeds --at {version} {}",
                shell_quoted(here.target.as_str()),
                quoted.collect::<Vec<_>>().join(" ")
            ),
            measure: String::new(),
            form: CompareForm::of_testbeds(here, names, here.name(at)),
            data: here.link(&address::data_of_page(here.page.address)),
        })
    }

    /// What the address of the page names.
    pub(super) fn named_sets(&self, page: Page) -> Option<NamedSets> {
        match page {
            Page::ComparedTestbeds(book, _) => self.named_testbeds(self.here(book)),
            _ => {
                let folder = address::COMPARE_STUDIES_FOLDER;
                self.named_studies(&SidesAddress::below(folder, self.page.address)?)
            }
        }
    }

    /// What they came to beside each other, or why that can't be said.
    async fn compared(
        &self,
        named: &NamedSets,
        options: CompareOptions,
    ) -> Result<ComparedSets, String> {
        match &self.site.reports {
            Some(reports) => reports.compare(&named.parts, options).await,
            None => Err("nobody compares studies here".to_owned()),
        }
    }

    /// What a page shows of it.
    async fn shown_sets(&self, named: &NamedSets) -> Result<(ComparedSets, ComparedSides), String> {
        let sets = self.compared(named, named.options).await?;
        let names: Vec<String> = named.sides.iter().map(|it| it.name.clone()).collect();
        let mut rows = SetRows {
            named,
            monitored: Monitored::default(),
            profiles: Vec::new(),
        };
        let with_monitors = CompareOptions {
            monitors: true,
            ..named.options
        };
        let monitored = self.compared(named, with_monitors).await?;
        rows.profiles = monitored.profiles;
        rows.monitored = Monitored::new(monitored.comparison);
        let facts = DifferingFacts::of_records(&names, &sets.records);
        let compared = ComparedSides::new(&sets.comparison, &names, &rows, facts);
        Ok((sets, compared))
    }

    pub(super) async fn compared_sets(&self, named: NamedSets) -> ComparedSetsPage {
        let mut page = ComparedSetsPage {
            frame: Frame::new(&named.title, self.page, named.crumbs.clone()).with_scripts(),
            about: named.about,
            compared: None,
            missing: String::new(),
            more_rounds: String::new(),
            script: self.page.link(COMPARISON_SCRIPT),
            sides: Vec::new(),
            version: None,
            command: String::new(),
            form: CompareForm::default(),
        };
        match self.shown_sets(&named).await {
            Err(why) => page.missing = why,
            Ok((sets, compared)) => {
                page.compared = Some(compared);
                let more = sets.background.more_rounds.as_ref();
                page.more_rounds = more.map_or(String::new(), ToString::to_string);
                page.frame = page.frame.with_data("Comparison as JSON", &named.data);
            }
        }
        page.sides = named.sides;
        page.version = named.version;
        page.command = named.command;
        page.form = named.form;
        page
    }

    /// The same for programs; where they can't be compared, why.
    pub(super) async fn compared_sets_json(
        &self,
        named: NamedSets,
    ) -> Result<Result<String, String>, serde_json::Error> {
        match self.compared(&named, named.options).await {
            Ok(sets) => json(&ComparisonView::new(&sets.comparison, &sets.background)).map(Ok),
            Err(why) => Ok(Err(why)),
        }
    }

    /// The form that asks for studies.
    pub(super) fn studies_form(&self, names: Vec<String>) -> CompareForm {
        let action = self.page.link(address::COMPARE_STUDIES);
        CompareForm::new(FormKind::Studies, action, names)
    }
}

impl SideDetails {
    fn new(letter: char, side: &Link, entry: &RowEntry, scale: &Scale) -> Self {
        let (value, counts) = match entry {
            RowEntry::Missing(why) => (why.to_string(), String::new()),
            RowEntry::Measured(measured) => (
                format!(
                    "{}{}",
                    backsight_report::numbers::mean(
                        scale.convert(measured.mean),
                        measured.reach.map(|reach| scale.convert(reach))
                    ),
                    scale.unit_after()
                ),
                format!("n={}", measured.trials),
            ),
        };
        Self {
            letter,
            name: side.name.clone(),
            href: side.href.clone(),
            value,
            counts,
        }
    }
}

/// The link to the form that asks which studies to compare, where pages are served and there are several.
pub(super) fn form_link(page: PageAt<'_>, site: &Site<'_>) -> Option<String> {
    let is_asked = page.is_live && site.comparable_studies().nth(1).is_some();
    is_asked.then(|| page.link(address::COMPARE_STUDIES))
}
