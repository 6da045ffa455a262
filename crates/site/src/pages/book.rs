//! A target with everything that pages say of it, and where its pages are.

use backsight_model::{
    Annotation, Boot, Build, HistoryTrial, HostRecordMap, StudyHistory, TargetName, Version,
};
use backsight_policy::{
    Alert, MeasuredTestbeds, TargetHistory, TestHistory, VersionEvidence, VersionSeries,
    VersionStanding,
};
use backsight_report::{SeriesText, clipped, numbers::Scale};
use backsight_store::NumberRanges;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Deref,
};

use super::{
    address::{self, ComparisonForm, PageAt, SidesAddress},
    site_page::Page,
};
use crate::crumb::Crumb;

/// Most series that the page of a target lists by itself; the rest comes by a script, or has a page of its own.
pub(super) const MOST_LISTED: usize = 300;
/// Most versions that are compared at once.
pub(super) const MOST_COMPARED: usize = 6;
/// Fewer characters of an identity don't name a version.
const SHORTEST_IDENTITY: usize = 7;

/// What a site tells of a target.
#[derive(Debug)]
pub struct SiteTarget {
    /// The target.
    pub target: TargetName,
    /// Its studies.
    pub studies: Vec<StudyHistory>,
    /// What they came to, with what was accepted and named.
    pub history: TargetHistory,
    /// What hosts were when each of its studies began, by the studies' numbers.
    pub records: HashMap<i64, HostRecordMap>,
    /// The history of its tests, if it has suites.
    pub tests: Option<TestHistory>,
    /// One for each change of the software, the worst first.
    pub alerts: Vec<Alert>,
    /// Notes that people put beside versions, the oldest first.
    pub annotations: Vec<Annotation>,
}

impl SiteTarget {
    /// How many of its versions were measured.
    pub fn measured(&self) -> usize {
        let versions = self.history.versions.iter();
        versions
            .filter(|version| version.standing == VersionStanding::Measured)
            .count()
    }

    /// What its versions are compared by.
    pub(super) fn evidence(&self) -> VersionEvidence<'_> {
        VersionEvidence {
            history: &self.history,
            studies: &self.studies,
            records: &self.records,
        }
    }
}

/// Why what was named can't be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoComparison {
    /// Nothing is called so.
    #[error("{0}")]
    Unknown(String),
    /// There are too few or too many, or one of them is named twice.
    #[error("{0}")]
    Count(String),
    /// It is there, and isn't one thing that others can be compared with.
    #[error("{0}")]
    NotOne(String),
}

/// A target with everything that is known of it.
pub(super) struct Book {
    pub content: SiteTarget,
    /// Its folder.
    folder: String,
    /// Versions with samples, in order.
    pub measured: Vec<usize>,
    /// Versions' places, by identity.
    pub places: HashMap<String, usize>,
    /// The parts of addresses that are versions.
    parts: Vec<String>,
    /// The parts of addresses that are series.
    slugs: Vec<String>,
    /// Testbeds by what identifies the questions on them, where there are several.
    testbed_names: HashMap<String, String>,
    /// What each testbed measured.
    pub testbeds: MeasuredTestbeds,
    /// The units of series.
    scales: Vec<Scale>,
    /// Builds by the places of their versions: the places of their studies, and their own in these.
    builds: HashMap<usize, Vec<(usize, usize)>>,
    /// The boots of trials, by their studies' numbers and their own.
    boots: HashMap<(i64, u32), u32>,
    /// The trials of boots, likewise.
    trials: HashMap<(i64, u32), TrialsOfBoot>,
    /// The names of studies, by their numbers.
    names: HashMap<i64, String>,
}

/// A build with the study that made it.
#[derive(Clone, Copy)]
pub(super) struct BuildOf<'a> {
    pub study: &'a StudyHistory,
    pub build: &'a Build,
}

/// The trials of a boot.
#[derive(Default)]
pub(super) struct TrialsOfBoot {
    pub numbers: NumberRanges,
    pub count: usize,
    pub failed: usize,
}

impl Book {
    pub fn new(mut content: SiteTarget) -> Self {
        content.tests = content.tests.filter(|tests| !tests.rows.is_empty());
        let SiteTarget {
            target,
            studies,
            history,
            records: _,
            tests: _,
            alerts: _,
            annotations: _,
        } = &content;
        let versions = history.versions.iter().enumerate();
        let places: HashMap<String, usize> = versions
            .clone()
            .map(|(at, version)| (version.version.id.clone(), at))
            .collect();
        let mut builds: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
        for (number, study) in studies.iter().enumerate() {
            for (build, made) in study.builds.iter().enumerate() {
                let version = study.versions.get(made.version);
                if let Some(at) = version.and_then(|version| places.get(&version.id)) {
                    builds.entry(*at).or_default().push((number, build));
                }
            }
        }
        let mut boots = HashMap::new();
        let mut trials: HashMap<(i64, u32), TrialsOfBoot> = HashMap::new();
        for study in studies {
            for HistoryTrial {
                number,
                boot,
                failure,
                ..
            } in &study.trials
            {
                boots.insert((study.study, *number), *boot);
                let of_boot = trials.entry((study.study, *boot)).or_default();
                of_boot.numbers.add(*number);
                of_boot.count += 1;
                of_boot.failed += usize::from(failure.is_some());
            }
        }
        Self {
            folder: address::target(target.as_str()),
            measured: versions
                .filter(|(_, version)| version.standing == VersionStanding::Measured)
                .map(|(at, _)| at)
                .collect(),
            places,
            builds,
            parts: {
                let versions = history.versions.iter().map(|known| &known.version);
                address::parts(versions.map(|it| (it.name.as_str(), it.id.as_str())))
            },
            slugs: slugs(&history.series),
            testbed_names: testbeds(studies),
            testbeds: MeasuredTestbeds::new(studies),
            scales: {
                let series = history.series.iter();
                let words = series.map(|series| SeriesText::new(history, series));
                words.map(|words| words.scale()).collect()
            },
            boots,
            trials,
            names: studies
                .iter()
                .map(|study| (study.study, study.name.to_string()))
                .collect(),
            content,
        }
    }

    /// The target's pages by their addresses; `number` is the book's.
    pub fn pages(&self, number: usize, pages: &mut BTreeMap<String, Page>) {
        pages.insert(self.index(), Page::Target(number));
        pages.insert(self.versions_page(), Page::Versions(number));
        pages.insert(self.data("versions"), Page::VersionsData(number));
        pages.insert(self.data("titles"), Page::TitlesData(number));
        if self.history.series.len() > MOST_LISTED {
            pages.insert(self.series_page_of_all(), Page::AllSeries(number));
            pages.insert(self.data("series"), Page::ListData(number));
        }
        for series in 0..self.history.series.len() {
            pages.insert(self.series_page(series), Page::Series(number, series));
            pages.insert(self.series_data(series), Page::SeriesData(number, series));
        }
        pages.insert(address::badge(&self.folder), Page::Badge(number));
        if self.tests.is_some() {
            pages.insert(self.tests_page(), Page::Tests(number));
        }
        for at in 0..self.history.versions.len() {
            pages.insert(self.version_page(at), Page::Version(number, at));
        }
        for pair in self.measured.windows(2) {
            let address = self.interval_page_of(pair[0], pair[1]);
            pages.insert(address, Page::Interval(number, pair[0], pair[1]));
        }
        for (place, alert) in self.alerts.iter().enumerate() {
            pages.insert(self.alert_page(alert), Page::Alert(number, place));
        }
        for (place, study) in self.studies.iter().enumerate() {
            for (of_study, boot) in study.boots.iter().enumerate() {
                let address = address::boot(study.name.as_str(), boot.number);
                pages.insert(address, Page::Boot(number, place, of_study));
            }
        }
    }

    /// The part of addresses that is a series.
    pub fn slug(&self, series: usize) -> &str {
        &self.slugs[series]
    }

    /// A series as text.
    pub fn words(&self, series: usize) -> SeriesText<'_> {
        let (history, scale) = (&self.content.history, self.scales[series]);
        SeriesText::with_scale(history, &history.series[series], scale)
    }

    /// The part of addresses that is a version.
    pub fn version_part(&self, at: usize) -> &str {
        &self.parts[at]
    }

    /// Where a series was measured, where several testbeds measure the same; or since which study it is measured so.
    pub fn place_of(&self, series: &VersionSeries) -> String {
        let testbed = self.testbed_names.get(&series.key).cloned();
        let since = series.since.as_ref();
        let since = since.map(|study| format!("as measured since {study}"));
        testbed.or(since).unwrap_or_default()
    }

    pub fn version(&self, at: usize) -> &Version {
        &self.history.versions[at].version
    }

    /// What commands call a version: its name, or its identity where the name is several versions'.
    pub fn unique_name(&self, at: usize) -> &str {
        let version = self.version(at);
        let all = self.history.versions.iter();
        match all.filter(|it| it.version.name == version.name).count() {
            1 => &version.name,
            _ => &version.id,
        }
    }

    /// What people say of a version, the oldest first.
    pub fn notes_at(&self, at: usize) -> Vec<String> {
        let id = &self.version(at).id;
        let notes = self.content.annotations.iter();
        let notes = notes.filter(|note| note.version == *id);
        notes
            .map(|note| format!("{}: {}", note.by, note.text))
            .collect()
    }

    /// A version's name as a page shows it.
    pub fn name(&self, at: usize) -> String {
        clipped(&self.version(at).name, 60)
    }

    /// The measured version before this one.
    pub fn before(&self, at: usize) -> Option<usize> {
        let place = self.measured.partition_point(|measured| *measured < at);
        place.checked_sub(1).map(|place| self.measured[place])
    }

    /// The measured version after this one.
    pub fn after(&self, at: usize) -> Option<usize> {
        let place = self.measured.partition_point(|measured| *measured <= at);
        self.measured.get(place).copied()
    }

    /// The builds of the version at this place.
    pub fn builds(&self, at: usize) -> Vec<BuildOf<'_>> {
        let builds = self.builds.get(&at).into_iter().flatten();
        let build_of = |(study, build): &(usize, usize)| {
            let study = &self.content.studies[*study];
            BuildOf {
                study,
                build: &study.builds[*build],
            }
        };
        builds.map(build_of).collect()
    }

    /// The trials of a boot; none where it has none.
    pub fn trials_of(&self, study: &StudyHistory, boot: &Boot) -> Option<&TrialsOfBoot> {
        self.trials.get(&(study.study, boot.number))
    }

    /// The place of the version that a build of a study is of.
    pub fn place(&self, study: &StudyHistory, build: &Build) -> Option<usize> {
        let version = study.versions.get(build.version)?;
        self.places.get(&version.id).copied()
    }

    fn index(&self) -> String {
        format!("{}/index.html", self.folder)
    }

    fn versions_page(&self) -> String {
        format!("{}/versions.html", self.folder)
    }

    fn series_page_of_all(&self) -> String {
        format!("{}/series.html", self.folder)
    }

    fn series_page(&self, series: usize) -> String {
        format!("{}/s/{}.html", self.folder, self.slugs[series])
    }

    fn data(&self, name: &str) -> String {
        format!("{}/data/{name}.js", self.folder)
    }

    fn series_data(&self, series: usize) -> String {
        format!("{}/data/s/{}.js", self.folder, self.slugs[series])
    }

    /// The pages that are made for whoever serves them alone: a form, and JSON that of a long history has hundreds of megabytes.
    pub fn live_pages(&self, number: usize, pages: &mut BTreeMap<String, Page>) {
        pages.insert(self.compare_form_page(), Page::CompareForm(number));
        pages.insert(self.history_data(), Page::HistoryJson(number));
        if self.tests.is_some() {
            pages.insert(self.tests_data(), Page::TestsJson(number));
        }
    }

    fn history_data(&self) -> String {
        format!("{}/history.json", self.folder)
    }

    fn tests_data(&self) -> String {
        format!("{}/tests.json", self.folder)
    }

    fn tests_page(&self) -> String {
        format!("{}/tests.html", self.folder)
    }

    /// An alert's name is that of a version.
    fn alert_page(&self, alert: &Alert) -> String {
        address::alert(&self.folder, &self.parts[alert.stretch.at])
    }

    fn version_page(&self, at: usize) -> String {
        format!("{}/v/{}.html", self.folder, self.parts[at])
    }

    fn interval_page_of(&self, from: usize, to: usize) -> String {
        self.comparison_page(&[from, to])
    }

    /// The page that compares these versions.
    pub fn comparison_page(&self, versions: &[usize]) -> String {
        let parts = versions.iter().map(|at| self.parts[*at].clone());
        address::sides_page(&self.comparison_folder(), &parts.collect::<Vec<_>>())
    }

    fn comparison_folder(&self) -> String {
        format!("{}/compare/", self.folder)
    }

    /// The form that asks which testbeds to compare.
    pub fn testbeds_form_page(&self) -> String {
        format!("{}/testbeds/index.html", self.folder)
    }

    /// The page that compares testbeds by a version.
    pub fn testbeds_page(&self, at: usize, testbeds: &[&str]) -> String {
        let parts = testbeds.iter().map(|name| address::testbed_part(name));
        let folder = format!("{}/testbeds/{}/", self.folder, self.parts[at]);
        address::sides_page(&folder, &parts.collect::<Vec<_>>())
    }

    /// The version and the testbeds that an address names, all of which measured it.
    pub fn testbeds_at<'a>(&self, address: &'a str) -> Option<(usize, SidesAddress<'a>)> {
        let below = address
            .strip_prefix(&self.folder)?
            .strip_prefix("/testbeds/")?;
        let (version, _) = below.split_once('/')?;
        let named = SidesAddress::below(version, below)?;
        let named = SidesAddress {
            parts: {
                let first = named.parts.first()?.strip_prefix('/')?;
                let rest = named.parts[1..].iter().copied();
                std::iter::once(first).chain(rest).collect()
            },
            ..named
        };
        let at = self.parts.iter().position(|known| known == version)?;
        let names = self.testbeds_named(&named.parts)?;
        let is_new = |(place, name): (usize, &&str)| !names[..place].contains(name);
        let is_comparable = (2..=MOST_COMPARED).contains(&names.len())
            && names.iter().enumerate().all(is_new)
            && self.testbeds.parts(&names, &self.version(at).id).is_some();
        is_comparable.then_some((at, named))
    }

    /// The names of the testbeds with these parts of addresses.
    pub fn testbeds_named(&self, parts: &[&str]) -> Option<Vec<&str>> {
        let name_of = |part: &&str| {
            let mut names = self.testbeds.names();
            names.find(|name| address::testbed_part(name) == **part)
        };
        parts.iter().map(name_of).collect()
    }

    /// The form that asks which versions to compare.
    pub fn compare_form_page(&self) -> String {
        format!("{}/compare/index.html", self.folder)
    }

    /// The measured versions that the address of a comparison names, and what is there; none where it is no such address.
    pub fn compared_at(&self, address: &str) -> Option<(Vec<usize>, ComparisonForm)> {
        let named = SidesAddress::below(&self.comparison_folder(), address)?;
        let most = named.parts.iter().take(MOST_COMPARED + 1);
        let versions = most
            .map(|part| self.parts.iter().position(|known| known == part))
            .collect::<Option<Vec<usize>>>()?;
        self.is_comparable(&versions)
            .then_some((versions, named.form))
    }

    /// Whether these are a few different versions, all of them measured.
    fn is_comparable(&self, versions: &[usize]) -> bool {
        let is_usable = |(place, at): (usize, &usize)| {
            self.measured.binary_search(at).is_ok() && !versions[..place].contains(at)
        };
        (2..=MOST_COMPARED).contains(&versions.len()) && versions.iter().enumerate().all(is_usable)
    }

    /// The page that compares the versions with these names, or the beginnings of their identities.
    ///
    /// # Errors
    /// Why they can't be compared.
    pub fn named_comparison(&self, names: &[String]) -> Result<String, NoComparison> {
        let names = names.iter().map(String::as_str);
        Ok(self.comparison_page(&self.named_versions(names)?))
    }

    /// The measured versions with these names, or the beginnings of their identities, where they can be compared.
    ///
    /// # Errors
    /// Why they can't be.
    pub fn named_versions<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<usize>, NoComparison> {
        let versions = names.map(|name| self.measured_version(name));
        let versions = versions.collect::<Result<Vec<usize>, NoComparison>>()?;
        match self.is_comparable(&versions) {
            true => Ok(versions),
            false => Err(NoComparison::Count(format!(
                "2 to {MOST_COMPARED} different versions can be compared"
            ))),
        }
    }

    pub fn measured_version(&self, name: &str) -> Result<usize, NoComparison> {
        let is_named = |at: &&usize| {
            let version = self.version(**at);
            version.name == name || version.id == name || self.parts[**at] == name
        };
        let begins = |at: &&usize| {
            name.len() >= SHORTEST_IDENTITY && self.version(**at).id.starts_with(name)
        };
        let measured = || self.measured.iter().rev();
        let found = measured()
            .find(is_named)
            .or_else(|| measured().find(begins));
        found.copied().ok_or_else(|| {
            NoComparison::Unknown(format!(
                "no measured version of {} is called {}",
                self.target,
                clipped(name, 100)
            ))
        })
    }

    /// The page of the interval that ends with the first measured version from this one on.
    fn interval_page(&self, at: usize) -> Option<String> {
        let place = self.measured.partition_point(|measured| *measured < at);
        let to = *self.measured.get(place)?;
        Some(self.interval_page_of(self.before(to)?, to))
    }
}

impl Deref for Book {
    type Target = SiteTarget;

    fn deref(&self) -> &SiteTarget {
        &self.content
    }
}

/// Readable parts of addresses: `tbench.throughput,clients=2`.
fn slugs(series: &[VersionSeries]) -> Vec<String> {
    let named: Vec<(String, String)> = series
        .iter()
        .map(|series| {
            let cell = &series.cell;
            let mut name = format!("{}.{}", cell.benchmark, series.metric.name);
            for part in cell.chosen_params().split_whitespace() {
                name.push_str(&format!(",{part}"));
            }
            let set_up = cell.set_up();
            if set_up != "default" {
                name.push_str(&format!(",{set_up}"));
            }
            let identity = format!("{name} {} {:?}", series.key, cell.params);
            (name, identity)
        })
        .collect();
    address::parts(
        named
            .iter()
            .map(|(name, identity)| (name.as_str(), identity.as_str())),
    )
}

fn testbeds(studies: &[StudyHistory]) -> HashMap<String, String> {
    let testbeds = studies.iter().flat_map(|study| &study.testbeds);
    let questions = testbeds.flat_map(|testbed| {
        let questions = testbed.questions.iter();
        questions.map(|question| (question.clone(), testbed.name.to_string()))
    });
    let questions: HashMap<String, String> = questions.collect();
    let names: HashSet<&String> = questions.values().collect();
    match names.len() {
        0 | 1 => HashMap::new(),
        _ => questions,
    }
}

/// A target as one of the site's pages tells of it: links lead from there.
#[derive(Clone, Copy)]
pub(super) struct Here<'a> {
    pub book: &'a Book,
    /// The page.
    pub page: PageAt<'a>,
}

impl Deref for Here<'_> {
    type Target = Book;

    fn deref(&self) -> &Book {
        self.book
    }
}

impl Here<'_> {
    /// A link to an address of the site.
    pub fn link(&self, address: &str) -> String {
        self.page.link(address)
    }

    pub fn to_target(self) -> String {
        self.link(&self.book.index())
    }

    /// The link to the target's tests, if it has any.
    pub fn to_tests(self) -> Option<String> {
        let tests = self.book.tests.as_ref();
        tests.map(|_| self.link(&self.book.tests_page()))
    }

    /// The link to what the target's page tells for programs.
    pub fn to_history_data(self) -> String {
        self.link(&self.book.history_data())
    }

    /// The same of its tests, if it has any.
    pub fn to_tests_data(self) -> Option<String> {
        let tests = self.book.tests.as_ref();
        tests.map(|_| self.link(&self.book.tests_data()))
    }

    pub fn to_badge(self) -> String {
        self.link(&address::badge(&self.book.folder))
    }

    pub fn to_versions(self) -> String {
        self.link(&self.book.versions_page())
    }

    pub fn to_series(self, series: usize) -> String {
        self.link(&self.book.series_page(series))
    }

    /// The link to the list of all series, where the target's page hasn't all of them.
    pub fn to_all_series(self) -> Option<String> {
        let is_long = self.book.history.series.len() > MOST_LISTED;
        is_long.then(|| self.link(&self.book.series_page_of_all()))
    }

    pub fn to_compare_form(self) -> String {
        self.link(&self.book.compare_form_page())
    }

    /// The link to the JSON of a comparison of versions.
    pub fn to_comparison_data(self, versions: &[usize]) -> String {
        let page = self.book.comparison_page(versions);
        self.link(&address::data_of_page(&page))
    }

    /// The link to the form that asks which testbeds to compare, where there are several.
    pub fn to_testbeds_form(self) -> Option<String> {
        let is_asked = self.page.is_live && self.book.testbeds.names().nth(1).is_some();
        is_asked.then(|| self.link(&self.book.testbeds_form_page()))
    }

    /// The link to a study of the target; empty where it isn't one of its studies.
    pub fn to_study(self, study: i64) -> String {
        let name = self.names.get(&study);
        name.map_or(String::new(), |name| self.link(&address::study(name)))
    }

    pub fn to_data(self, name: &str) -> String {
        self.link(&self.book.data(name))
    }

    pub fn to_series_data(self, series: usize) -> String {
        self.link(&self.book.series_data(series))
    }

    pub fn to_alert(self, alert: &Alert) -> String {
        self.link(&self.book.alert_page(alert))
    }

    pub fn to_version(self, at: usize) -> String {
        self.link(&self.book.version_page(at))
    }

    /// The link to the interval that ends with the first measured version from this one on, if there is one.
    pub fn to_interval(self, at: usize) -> Option<String> {
        let page = self.book.interval_page(at);
        page.map(|page| self.link(&page))
    }

    pub fn to_boot(self, study: &StudyHistory, number: u32) -> String {
        self.link(&address::boot(study.name.as_str(), number))
    }

    /// The link to a trial on the page of its boot; none where it isn't one of this target's.
    pub fn to_trial(self, study: i64, number: u32) -> Option<String> {
        let boot = self.boots.get(&(study, number))?;
        let page = address::boot(self.names.get(&study)?, *boot);
        Some(self.link(&(page + &address::trial(number))))
    }

    /// The path of pages down to the target's.
    pub fn crumbs(self) -> Vec<Crumb> {
        vec![
            Crumb::new("Home", &self.link(address::HOME)),
            Crumb::new(self.book.target.as_str(), &self.to_target()),
        ]
    }
}
