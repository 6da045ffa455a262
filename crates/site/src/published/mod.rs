//! A site of plain files about targets and their histories: index › target › range › version › boot › trial › raw log.
//!
//! Pages are readable without JavaScript, need nothing but their style sheet, and are served by anything that serves
//! files. Publishing again writes what has changed; killed in the middle it leaves whole pages, old or new. The
//! caller says what lies between two versions, since a site doesn't know how a target keeps its history.

mod boot;
mod folder;
mod frame;
mod names;
mod range;
mod target;
mod test_matrix;
mod trial;
mod version;

pub use folder::{FolderError, PublishedFiles};

use askama::Template;
use backsight_model::{Build, Change, StudyHistory, TargetName, Version};
use backsight_policy::{
    BisectedChange, ReferenceDrift, TargetHistory, TestHistory, VersionStanding, history,
};
use backsight_report::{clipped, numbers};
use backsight_store::{RawRef, Store, StoreError};
use jiff::Timestamp;
use std::{collections::HashMap, path::Path};

use crate::{
    PageError,
    crumb::Crumb,
    printed::{PrintedOutput, Shown},
};
use folder::Folder;
use frame::{Frame, STYLE};

/// Bytes of a page that outputs and differences may take.
const OUTPUTS: usize = 1024 * 1024;

/// What lies between two versions of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionChanges {
    /// The changes after the older version up to and including the newer one, oldest first.
    pub changes: Vec<Change>,
    /// The difference of the trees as a unified diff.
    pub diff: Option<String>,
}

/// Says what lies between two versions: nothing where that isn't known, or why it can't be said.
pub type ChangesBetween<'a> =
    dyn Fn(&TargetName, &Version, &Version) -> Result<Option<VersionChanges>, String> + 'a;

/// Why a site can't be published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A template fails; no input is known that makes it.
    #[error("a page can't be made: {0}")]
    Page(#[from] askama::Error),
    /// The page of tests.
    #[error(transparent)]
    Tests(#[from] PageError),
}

/// Publishes the histories of these targets into a folder, which then has these and no others. `bisected` is what bisections
/// of each target named, `drifts` what was measured beside its studies, `tests` the history of its tests, if it has suites.
///
/// # Errors
/// The store's and the folder's own.
pub async fn publish(
    store: &Store,
    targets: &[TargetName],
    between: &ChangesBetween<'_>,
    bisected: &HashMap<TargetName, Vec<BisectedChange>>,
    drifts: &HashMap<TargetName, ReferenceDrift>,
    tests: &HashMap<TargetName, TestHistory>,
    root: &Path,
) -> Result<PublishedFiles, PublishError> {
    let mut press = Press {
        store,
        between,
        folder: Folder::open(root)?,
    };
    press.folder.write_file("style.css", STYLE.as_bytes())?;
    let mut briefs = Vec::new();
    for target in targets {
        let mut book = Book::new(target, store.target_history(target).await?);
        let accepted = store.acceptances(target).await?;
        book.history.accept(&accepted, Timestamp::now());
        let bisected = bisected.get(target).map_or(&[][..], Vec::as_slice);
        book.history.name_changes(bisected);
        if let Some(drift) = drifts.get(target) {
            book.history.tell_of_drift(&book.studies, drift.clone());
        }
        // What is linked to is there before the link is.
        press.trials(&book).await?;
        press.boots(&book).await?;
        press.versions(&book).await?;
        press.ranges(&book)?;
        let tests = tests.get(target).filter(|tests| !tests.rows.is_empty());
        if let Some(tests) = tests {
            press.tests(&book, tests)?;
        }
        briefs.push(press.target(&book, tests)?);
    }
    let index = IndexPage {
        frame: Frame::new("Histories", "", Vec::new()),
        targets: briefs,
    };
    press.put_page("index.html", &index)?;
    Ok(press.folder.sweep()?)
}

/// A target with everything that is known of it.
struct Book {
    target: TargetName,
    /// Its folder.
    folder: String,
    studies: Vec<StudyHistory>,
    history: TargetHistory,
    /// Versions with samples, in order.
    measured: Vec<usize>,
    /// Versions' places, by identity.
    places: HashMap<String, usize>,
}

/// A build with the study that made it.
#[derive(Clone, Copy)]
struct BuildOf<'a> {
    study: &'a StudyHistory,
    build: &'a Build,
}

impl Book {
    fn new(target: &TargetName, studies: Vec<StudyHistory>) -> Self {
        let history = history(&studies);
        let versions = history.versions.iter().enumerate();
        Self {
            folder: names::target(target.as_str()),
            target: target.clone(),
            measured: versions
                .clone()
                .filter(|(_, version)| version.standing == VersionStanding::Measured)
                .map(|(at, _)| at)
                .collect(),
            places: versions
                .map(|(at, version)| (version.version.id.clone(), at))
                .collect(),
            studies,
            history,
        }
    }

    fn version(&self, at: usize) -> &Version {
        &self.history.versions[at].version
    }

    /// A version's name as a page shows it.
    fn name(&self, at: usize) -> String {
        clipped(&self.version(at).name, 60)
    }

    fn version_page(&self, at: usize) -> String {
        names::version(self.version(at))
    }

    /// The measured version before this one.
    fn before(&self, at: usize) -> Option<usize> {
        let place = self.measured.partition_point(|measured| *measured < at);
        place.checked_sub(1).map(|place| self.measured[place])
    }

    /// The measured version after this one.
    fn after(&self, at: usize) -> Option<usize> {
        let place = self.measured.partition_point(|measured| *measured <= at);
        self.measured.get(place).copied()
    }

    /// The page of the interval that ends with the first measured version from this one on.
    fn range_page(&self, at: usize) -> Option<String> {
        let place = self.measured.partition_point(|measured| *measured < at);
        let to = *self.measured.get(place)?;
        let from = self.before(to)?;
        Some(names::range(self.version(from), self.version(to)))
    }

    /// Builds by the places of their versions.
    fn builds(&self) -> HashMap<usize, Vec<BuildOf<'_>>> {
        let mut builds: HashMap<usize, Vec<BuildOf<'_>>> = HashMap::new();
        for study in &self.studies {
            for build in &study.builds {
                let version = study.versions.get(build.version);
                if let Some(at) = version.and_then(|version| self.places.get(&version.id)) {
                    builds
                        .entry(*at)
                        .or_default()
                        .push(BuildOf { study, build });
                }
            }
        }
        builds
    }

    /// The place of the version that a build of a study is of.
    fn place(&self, study: &StudyHistory, build: &Build) -> Option<usize> {
        let version = study.versions.get(build.version)?;
        self.places.get(&version.id).copied()
    }

    /// A path of pages down to the target's.
    fn crumbs(&self) -> Vec<Crumb> {
        vec![
            Crumb::new("Histories", "../index.html"),
            Crumb::new(self.target.as_str(), "index.html"),
        ]
    }
}

/// Makes the pages.
struct Press<'a> {
    store: &'a Store,
    between: &'a ChangesBetween<'a>,
    folder: Folder,
}

impl Press<'_> {
    fn put_page(&mut self, file: &str, page: &impl Template) -> Result<(), PublishError> {
        let html = page.render()?;
        Ok(self.folder.write_file(file, html.as_bytes())?)
    }

    fn put_in(
        &mut self,
        book: &Book,
        file: &str,
        page: &impl Template,
    ) -> Result<(), PublishError> {
        self.put_page(&format!("{}/{file}", book.folder), page)
    }

    /// Puts a raw output beside the pages; returns what the store has of it, and the link.
    async fn raw(
        &mut self,
        reference: &RawRef,
    ) -> Result<(Result<Vec<u8>, StoreError>, Option<String>), PublishError> {
        let bytes = match self.store.raw(reference).await {
            Ok(bytes) => bytes,
            // One lost object is no reason to publish nothing of all the others.
            Err(why) => return Ok((Err(why), None)),
        };
        let file = names::raw(reference);
        if !self.folder.keeps(&file) {
            self.folder.write_file(&file, &bytes)?;
        }
        Ok((Ok(bytes), Some(format!("../{file}"))))
    }

    /// The log of a build or boot, within this many bytes of page.
    async fn log(
        &mut self,
        kept: Option<&str>,
        allowance: usize,
    ) -> Result<Option<LogView>, PublishError> {
        let Some(reference) = kept.and_then(|kept| kept.parse::<RawRef>().ok()) else {
            return Ok(None);
        };
        let (bytes, whole) = self.raw(&reference).await?;
        let printed = match bytes {
            Ok(bytes) => {
                let printed = bytes.len() as u64;
                PrintedOutput::new(bytes, printed, allowance)
            }
            Err(why) => PrintedOutput::unreadable_because(&why, 0),
        };
        Ok(Some(LogView::new(&printed, whole, allowance)))
    }
}

/// A log on a page.
struct LogView {
    size: String,
    /// What became of the rest, if this isn't all of it.
    rest: String,
    shown: Shown,
    /// The whole of it.
    whole: Option<String>,
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

#[derive(Template)]
#[template(path = "published/index.html")]
struct IndexPage {
    frame: Frame,
    targets: Vec<TargetBrief>,
}

/// A target on the index.
struct TargetBrief {
    name: String,
    href: String,
    counts: String,
    /// How its tests stand, and their page; none without tests.
    tests: Option<(String, String)>,
    changes: Vec<ChangeSentence>,
}

/// A change of a series as a sentence.
#[derive(Clone)]
struct ChangeSentence {
    series: String,
    sentence: String,
    /// `good`, `bad` or `soft-word`.
    class: &'static str,
    /// The page of the interval that may hold it, if there is one.
    href: String,
}
