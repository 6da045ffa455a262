//! A site about targets and their histories: home › target › interval › version › boot › trial › raw log.
//!
//! A site is pages at addresses. Whoever publishes it asks for all of them, whoever serves it for the one that is asked
//! of him; both get the same. Pages are readable without JavaScript, and their links are relative. The caller says what
//! lies between two versions, since a site doesn't know how a target keeps its history.

use askama::Template;
use backsight_model::{Change, TargetName, Version};
use backsight_policy::{CompareOptions, StudyPart};
use backsight_report::{doctor::DoctorHistoryView, json, numbers, queue::QueueListing};
use backsight_store::{RawRef, StandingJobRecord, Store, StoreError, StoredSelfTest, StudyRow};
use serde::Serialize;
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap},
    pin::Pin,
};

use super::{
    address::{self, ComparisonForm, PageAt},
    assets::{ASSETS, Asset, CONTROL_SCRIPT, LIVE_SCRIPT},
    book::{Book, Here, NoComparison, SiteTarget},
    history_data,
    set_comparison::ComparedSets,
    site_page::Page,
};
use crate::{
    PageError,
    printed::{PrintedOutput, Shown},
    surroundings::Surroundings,
};

/// Bytes of a page that outputs and differences may take.
pub(super) const OUTPUTS: usize = 1024 * 1024;

/// What lies between two versions of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionChanges {
    /// The changes after the older version up to and including the newer one, oldest first.
    pub changes: Vec<Change>,
    /// The difference of the trees as a unified diff.
    pub diff: Option<String>,
}

/// Says what lies between two versions: nothing where that isn't known, or why it can't be said.
pub type ChangesBetween<'a> = dyn Fn(&TargetName, &Version, &Version) -> Result<Option<VersionChanges>, String>
    + Send
    + Sync
    + 'a;

/// Makes the pages of studies, which say what they came to.
pub trait StudyPages: Send + Sync {
    /// The page of a study with what the site puts around it; or why there is none. One thread makes it.
    fn page<'a>(
        &'a self,
        study: &'a StudyRow,
        around: &'a Surroundings,
    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + 'a>>;

    /// What studies, or parts of them, came to beside each other; or why they can't be compared.
    fn compare<'a>(
        &'a self,
        parts: &'a [StudyPart],
        options: CompareOptions,
    ) -> Pin<Box<dyn Future<Output = Result<ComparedSets, String>> + 'a>>;

    /// What a study came to, as JSON; or why that can't be said.
    fn json<'a>(
        &'a self,
        study: &'a StudyRow,
    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + 'a>>;
}

/// Why a page can't be made.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A template fails; no input is known that makes it.
    #[error("a page can't be made: {0}")]
    Page(#[from] askama::Error),
    /// The page of tests.
    #[error(transparent)]
    Tests(#[from] PageError),
    /// JSON can't be written; no input is known that makes it.
    #[error("a view can't be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// The verb whose studies are the history of a target: what they came to stands on the target's page.
const STEP: &str = "step";

/// Whether a study has a verdict of its own.
pub(super) fn has_report(study: &StudyRow) -> bool {
    study.verb != STEP || study.target.is_none()
}

/// Why there is no answer, as the read API says it.
#[derive(Serialize)]
struct Refusal {
    error: String,
}

/// A file of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteFile {
    /// What it is, as HTTP says it.
    pub media_type: &'static str,
    /// Its content.
    pub content: Vec<u8>,
    /// The raw outputs that it leads to.
    pub raw: Vec<RawRef>,
    /// Those that it would lead to, had they not been pruned.
    pub pruned: Vec<RawRef>,
    /// Why what it is about has no such file; its content says the same as JSON.
    pub refusal: Option<String>,
    /// Whether it would be the same if it were made again of the same: no history or raw output couldn't be read for once.
    pub is_settled: bool,
}

impl SiteFile {
    /// A file that leads nowhere.
    fn new(media_type: &'static str, content: Vec<u8>) -> Self {
        Self {
            media_type,
            content,
            raw: Vec::new(),
            pruned: Vec::new(),
            refusal: None,
            is_settled: true,
        }
    }
}

/// The pages of some targets.
pub struct Site<'a> {
    pub(super) store: Store,
    pub(super) between: Box<ChangesBetween<'a>>,
    /// As [`Site::with_sources`].
    pub(super) sources: HashMap<TargetName, String>,
    pub(super) books: Vec<Book>,
    pub(super) studies: Vec<StudyRow>,
    pub(super) machines: DoctorHistoryView,
    pub(super) queue: QueueListing,
    pub(super) standing_jobs: Vec<StandingJobRecord>,
    /// What couldn't be taken into account, a sentence each.
    pub(super) notes: Vec<String>,
    pub(super) reports: Option<Box<dyn StudyPages + 'a>>,
    pub(super) pages: BTreeMap<String, Page>,
    /// Whether pages look for news.
    is_live: bool,
    /// Whether who has the token may say something on them.
    is_controlled: bool,
}

impl<'a> Site<'a> {
    /// The site of these targets; in which order they are given makes no difference.
    pub fn new(
        store: &Store,
        mut targets: Vec<SiteTarget>,
        between: Box<ChangesBetween<'a>>,
    ) -> Self {
        targets.sort_by(|a, b| a.target.cmp(&b.target));
        let books: Vec<Book> = targets.into_iter().map(Book::new).collect();
        let of_all = [
            (address::HOME, Page::Home),
            (address::STATUS, Page::Status),
            (address::FEED, Page::Feed),
            (address::ALERTS_DATA, Page::AlertsJson),
        ];
        let of_all = of_all.map(|(address, page)| (address.to_owned(), page));
        let mut pages = BTreeMap::from(of_all);
        for (number, book) in books.iter().enumerate() {
            book.pages(number, &mut pages);
        }
        Self {
            store: store.clone(),
            between,
            sources: HashMap::new(),
            books,
            studies: Vec::new(),
            machines: DoctorHistoryView::new(&[]),
            queue: QueueListing::empty(),
            standing_jobs: Vec::new(),
            notes: Vec::new(),
            reports: None,
            pages,
            is_live: false,
            is_controlled: false,
        }
    }

    /// With pages of these studies.
    #[must_use]
    pub fn with_studies(
        mut self,
        studies: Vec<StudyRow>,
        reports: Box<dyn StudyPages + 'a>,
    ) -> Self {
        let pages = &mut self.pages;
        pages.insert(address::STUDIES.to_owned(), Page::Studies);
        pages.insert(address::STUDIES_DATA.to_owned(), Page::StudiesJson);
        for (place, study) in studies.iter().enumerate() {
            pages.insert(address::study(study.name.as_str()), Page::Study(place));
            if has_report(study) {
                let address = address::study_data(study.name.as_str());
                pages.insert(address, Page::StudyJson(place));
            }
        }
        self.studies = studies;
        self.reports = Some(reports);
        self
    }

    /// With a page of the machines that these self-tests are of; they are sorted by machine and time.
    #[must_use]
    pub fn with_machines(mut self, tests: &[StoredSelfTest]) -> Self {
        let pages = &mut self.pages;
        pages.insert(address::MACHINES.to_owned(), Page::Machines);
        pages.insert(address::MACHINES_DATA.to_owned(), Page::MachinesJson);
        self.machines = DoctorHistoryView::new(tests);
        self
    }

    /// With what its status says of the queue.
    #[must_use]
    pub fn with_queue(mut self, queue: QueueListing) -> Self {
        self.queue = queue;
        self
    }

    /// With what its status says of standing jobs.
    #[must_use]
    pub fn with_standing_jobs(mut self, jobs: Vec<StandingJobRecord>) -> Self {
        self.standing_jobs = jobs;
        self
    }

    /// With these sentences on what couldn't be taken into account.
    #[must_use]
    pub fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes = notes;
        self
    }

    /// With what tells where the histories of targets are read from, or why they can't be: as long as that is the same, the
    /// same lies between two versions.
    #[must_use]
    pub fn with_sources(mut self, sources: HashMap<TargetName, String>) -> Self {
        self.sources = sources;
        self
    }

    /// With pages that look for news, for whoever serves them.
    #[must_use]
    pub fn live(mut self) -> Self {
        self.is_live = true;
        for (number, book) in self.books.iter().enumerate() {
            book.live_pages(number, &mut self.pages);
        }
        self
    }

    /// What is at an address. Whoever serves pages has those that compare any versions too.
    fn page_at(&self, address: &str) -> Option<Page> {
        let compared = || {
            let mut books = self.books.iter().enumerate().filter(|_| self.is_live);
            books.find_map(|(number, book)| {
                let (_, form) = book.compared_at(address)?;
                Some(Page::Comparison(number, form))
            })
        };
        let sets = || self.is_live.then(|| self.sets_page_at(address)).flatten();
        (self.pages.get(address).copied())
            .or_else(compared)
            .or_else(sets)
    }

    /// Where the form at an address leads that asks for versions, testbeds or studies with these names (testbeds by the version
    /// `at`), or why they can't be compared; none where no such form is there.
    pub fn comparison(
        &self,
        form: &str,
        names: &[String],
        at: Option<&str>,
    ) -> Option<Result<String, NoComparison>> {
        match self.page_at(form)? {
            Page::CompareForm(book) => Some(self.books[book].named_comparison(names)),
            Page::StudiesForm => Some(self.studies_comparison(names)),
            Page::TestbedsForm(book) => {
                let target = self.books[book].target.as_str();
                Some(self.testbeds_comparison(target, names, at))
            }
            _ => None,
        }
    }

    /// Versions of a target beside each other, by their names with `..` between them, as JSON.
    ///
    /// # Errors
    /// There is no such target, it has no such measured versions, or too few or too many are named.
    pub fn comparison_json(
        &self,
        target: &str,
        versions: &str,
    ) -> Result<Result<String, serde_json::Error>, NoComparison> {
        let book = self.book_of(target)?;
        let versions = book.named_versions(address::sides(versions).into_iter())?;
        Ok(book.comparison_json(&versions))
    }

    pub(super) fn book_of(&self, target: &str) -> Result<&Book, NoComparison> {
        let mut books = self.books.iter();
        let book = books.find(|book| book.target.as_str() == target);
        book.ok_or_else(|| NoComparison::Unknown(format!("no target is called {target:?}")))
    }

    /// With pages on which who has the token may say something, for a server that takes it.
    #[must_use]
    pub fn controlled(mut self) -> Self {
        self.is_controlled = true;
        self
    }

    /// What it tells of its targets.
    pub fn targets(&self) -> impl Iterator<Item = &SiteTarget> {
        self.books.iter().map(|book| &book.content)
    }

    /// The studies that it has pages of, the newest first.
    pub fn studies(&self) -> &[StudyRow] {
        &self.studies
    }

    /// Whether there is a file at an address. A raw output may be gone all the same.
    pub fn has(&self, address: &str) -> bool {
        self.page_at(address).is_some()
            || self.assets().any(|asset| asset.address == address)
            || address::raw_at(address).is_some()
    }

    /// The files that aren't pages.
    fn assets(&self) -> impl Iterator<Item = &'static Asset> {
        let (is_live, is_controlled) = (self.is_live, self.is_controlled);
        ASSETS.iter().filter(move |asset| match asset.address {
            LIVE_SCRIPT => is_live,
            CONTROL_SCRIPT => is_controlled,
            _ => true,
        })
    }

    /// The addresses of all of its files but the raw outputs, to which files lead.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let pages = self.pages.keys().map(String::as_str);
        // What pages need comes before them.
        self.assets().map(|asset| asset.address).chain(pages)
    }

    /// The file at an address; none where nothing is there.
    ///
    /// # Errors
    /// The store's.
    pub async fn file(&self, address: &str) -> Result<Option<SiteFile>, SiteError> {
        if let Some(asset) = self.assets().find(|asset| asset.address == address) {
            let content = asset.content.into();
            return Ok(Some(SiteFile::new(asset.media_type, content)));
        }
        if let Some(reference) = address::raw_at(address) {
            return self.raw_file(&reference).await;
        }
        let Some(page) = self.page_at(address) else {
            return Ok(None);
        };
        let mut press = Press {
            site: self,
            page: PageAt {
                address,
                is_live: self.is_live,
                is_controlled: self.is_controlled,
            },
            raw: Vec::new(),
            pruned: Vec::new(),
            refusal: RefCell::default(),
            is_settled: Cell::new(true),
        };
        let text = press.text(page).await?;
        Ok(Some(SiteFile {
            raw: press.raw,
            pruned: press.pruned,
            refusal: press.refusal.into_inner(),
            is_settled: press.is_settled.get(),
            ..SiteFile::new(page.media_type(), text.into_bytes())
        }))
    }

    async fn raw_file(&self, reference: &RawRef) -> Result<Option<SiteFile>, SiteError> {
        match self.store.raw(reference).await {
            Ok(content) => Ok(Some(SiteFile::new("text/plain; charset=utf-8", content))),
            Err(StoreError::Pruned { .. } | StoreError::RawDamaged { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Makes a page.
pub(super) struct Press<'a> {
    pub site: &'a Site<'a>,
    /// The page.
    pub page: PageAt<'a>,
    /// The raw outputs that the page leads to.
    raw: Vec<RawRef>,
    /// Those that were pruned.
    pruned: Vec<RawRef>,
    /// As [`SiteFile::refusal`].
    refusal: RefCell<Option<String>>,
    /// As [`SiteFile::is_settled`].
    pub is_settled: Cell<bool>,
}

impl Press<'_> {
    async fn text(&mut self, page: Page) -> Result<String, SiteError> {
        Ok(match page {
            Page::Home => self.home().render()?,
            Page::Feed => self.feed().render()?,
            Page::Status => self.status().render()?,
            Page::Machines => self.machines().render()?,
            Page::AlertsJson => self.site.alerts_json()?,
            Page::StudiesJson => self.site.studies_json()?,
            Page::MachinesJson => self.site.machines_json()?,
            Page::Badge(book) => self.badge(self.here(book)).render()?,
            Page::HistoryJson(book) => self.site.books[book].history_json("")?,
            Page::TestsJson(book) => self.site.books[book].tests_json()?.unwrap_or_default(),
            Page::Target(book) => self.target(self.here(book)).render()?,
            Page::Versions(book) => self.versions(self.here(book)).render()?,
            Page::AllSeries(book) => self.all_series(self.here(book)).render()?,
            Page::Series(book, series) => self.series(self.here(book), series).render()?,
            Page::VersionsData(book) => history_data::versions(self.here(book))?,
            Page::TitlesData(book) => history_data::titles(self.here(book))?,
            Page::ListData(book) => history_data::list(self.here(book))?,
            Page::SeriesData(book, series) => history_data::series(self.here(book), series)?,
            Page::Tests(book) => self.tests(self.here(book))?,
            Page::Alert(book, alert) => self.alert(self.here(book), alert)?.render()?,
            Page::Version(book, at) => self.version(self.here(book), at).await?.render()?,
            Page::Interval(book, from, to) => {
                self.interval(self.here(book), &[from, to])?.render()?
            }
            Page::Comparison(book, ComparisonForm::Page) => {
                let versions = self.compared_versions(book);
                self.interval(self.here(book), &versions)?.render()?
            }
            Page::Comparison(book, ComparisonForm::Data) => {
                let versions = self.compared_versions(book);
                self.site.books[book].comparison_json(&versions)?
            }
            Page::CompareForm(book) => self.compare_form(self.here(book)).render()?,
            Page::StudiesForm => self.studies_form_page().render()?,
            Page::TestbedsForm(book) => self.testbeds_form(self.here(book)).render()?,
            Page::ComparedStudies(form) | Page::ComparedTestbeds(_, form) => {
                let Some(named) = self.named_sets(page) else {
                    return Ok(String::new());
                };
                match form {
                    ComparisonForm::Page => self.compared_sets(named).await.render()?,
                    ComparisonForm::Data => {
                        let made = self.compared_sets_json(named).await?;
                        self.or_refusal(made)?
                    }
                }
            }
            Page::Boot(book, study, boot) => {
                self.boot(self.here(book), study, boot).await?.render()?
            }
            Page::Studies => self.studies().render()?,
            Page::Study(place) => self.study(place).await?,
            Page::StudyJson(place) => self.study_json(place).await?,
        })
    }
}

impl<'a> Press<'a> {
    /// What was made, or why it can't be, as JSON.
    pub(super) fn or_refusal(
        &self,
        made: Result<String, String>,
    ) -> Result<String, serde_json::Error> {
        made.or_else(|error| {
            self.refusal.replace(Some(error.clone()));
            json(&Refusal { error })
        })
    }

    /// The versions that the address names, of a book.
    fn compared_versions(&self, book: usize) -> Vec<usize> {
        let compared = self.site.books[book].compared_at(self.page.address);
        compared.map_or_else(Vec::new, |(versions, _)| versions)
    }

    /// A book, as the page tells of it.
    pub fn here(&self, book: usize) -> Here<'a> {
        Here {
            book: &self.site.books[book],
            page: self.page,
        }
    }

    /// A raw output: what the store has of it, and the link to it.
    pub async fn raw(
        &mut self,
        reference: &RawRef,
    ) -> (Result<Vec<u8>, StoreError>, Option<String>) {
        match self.site.store.raw(reference).await {
            Ok(bytes) => {
                if !self.raw.contains(reference) {
                    self.raw.push(*reference);
                }
                let link = self.page.link(&address::raw(reference));
                (Ok(bytes), Some(link))
            }
            // One lost object is no reason to say nothing of all the others.
            Err(why) => {
                match why {
                    StoreError::Pruned { .. } => self.pruned.push(*reference),
                    _ => self.is_settled.set(false),
                }
                (Err(why), None)
            }
        }
    }

    /// The log of a build or boot, within this many bytes of page.
    pub async fn log(&mut self, kept: Option<&str>, allowance: usize) -> Option<LogView> {
        let reference = kept.and_then(|kept| kept.parse::<RawRef>().ok())?;
        let (bytes, whole) = self.raw(&reference).await;
        let printed = match bytes {
            Ok(bytes) => {
                let printed = bytes.len() as u64;
                PrintedOutput::new(bytes, printed, allowance)
            }
            Err(why) => PrintedOutput::unreadable_because(&why, 0),
        };
        Some(LogView::new(&printed, whole, allowance))
    }
}

/// A log on a page.
pub(super) struct LogView {
    pub size: String,
    /// What became of the rest, if this isn't all of it.
    pub rest: String,
    pub shown: Shown,
    /// The whole of it.
    pub whole: Option<String>,
}

impl LogView {
    fn new(printed: &PrintedOutput, whole: Option<String>, allowance: usize) -> Self {
        let shown = printed.within(allowance);
        let rest = match (printed.unreadable(), shown.left_out) {
            (Some(why), _) => why.to_owned(),
            (None, 0) => String::new(),
            (None, left_out) => format!("{} left out of this page", numbers::size(left_out)),
        };
        Self {
            size: numbers::size(printed.printed()),
            rest,
            shown,
            whole,
        }
    }
}
