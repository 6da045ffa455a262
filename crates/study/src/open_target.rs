//! A target whose file is found and whose history is open.

use backsight_history::{History, HistoryError};
use backsight_model::{
    BootKind, Every, Layout, LayoutKind, Lookback, Range, Target, TargetName, TimeUnit,
    TomlDocument, Version, did_you_mean,
};
use backsight_store::{Store, StudyDocument, StudyRow};
use miette::IntoDiagnostic as _;
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::Choices;

/// A target with its history opened.
#[derive(Clone)]
pub struct OpenTarget {
    /// Its file.
    pub document: TomlDocument,
    /// What the file says.
    pub target: Target,
    /// Where the file is.
    pub folder: PathBuf,
    /// Our folder for it.
    pub place: PathBuf,
    /// Its history.
    pub history: Arc<dyn History>,
}

impl OpenTarget {
    /// Finds a target by name or file, beside the plan, and opens its history, which may take long where it lies far away.
    ///
    /// # Errors
    /// There is no such target, its file has a fault, or its history can't be opened.
    pub async fn named(
        named: &str,
        plan: Option<&Path>,
        store_folder: PathBuf,
    ) -> miette::Result<Self> {
        let path = target_file(named, plan)?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        let folder = folder
            .unwrap_or(Path::new("."))
            .canonicalize()
            .into_diagnostic()?;
        Self::open(TomlDocument::open(&path)?, folder, store_folder).await
    }

    /// Opens the history of the target that this document describes; `folder` is where its file was.
    pub async fn open(
        document: TomlDocument,
        folder: PathBuf,
        store: PathBuf,
    ) -> miette::Result<Self> {
        let target = Target::read(&document)?;
        let place = target_folder(&store, &target.name);
        std::fs::create_dir_all(&place).into_diagnostic()?;
        let place = place.canonicalize().into_diagnostic()?;
        let asked = (target.clone(), folder.clone(), place.clone());
        let opened = tokio::task::spawn_blocking(move || {
            let (target, folder, place) = asked;
            backsight_history::open(&target, &folder, &place)
        });
        let opened = opened.await.into_diagnostic()?;
        let history = opened.map_err(|error| source_error(&document, &target, &error))?;
        Ok(Self {
            document,
            target,
            folder,
            place,
            history: Arc::from(history),
        })
    }

    /// Opens the history of a target as the newest study of it described it; nothing if there is no such study.
    pub async fn from_store(store: &Store, name: &TargetName) -> miette::Result<Option<Self>> {
        let studies = store.studies_of_target(name).await.into_diagnostic()?;
        match studies.first() {
            Some(study) => Self::of_study(store, study).await,
            None => Ok(None),
        }
    }

    /// Opens the history of a study's target as it described it; nothing if it says nothing of one.
    pub async fn of_study(store: &Store, study: &StudyRow) -> miette::Result<Option<Self>> {
        let documents = store.documents(study.id).await.into_diagnostic()?;
        let choices = Choices::from_study(study).into_diagnostic()?;
        let found = StudyDocument::of_kind(&documents, "target").next();
        let (Some(document), Some(history)) = (found, choices.verb.history()) else {
            return Ok(None);
        };
        Self::open(document, history.folder, store.dir().to_owned())
            .await
            .map(Some)
    }

    /// The versions that a study of `step` may ask for, oldest first, and the positions of those that it wants: with
    /// `neighbours` any version may stand in for one that doesn't build.
    pub async fn versions_to_step(
        &self,
        range: Range,
        every: Every,
        neighbours: bool,
    ) -> miette::Result<(Vec<Version>, Vec<usize>)> {
        let asked = range.clone();
        let wanted = self
            .query(move |history| history.versions(&asked, &every))
            .await?;
        if !neighbours {
            let all = (0..wanted.len()).collect();
            return Ok((wanted, all));
        }
        let all = self
            .query(move |history| history.versions(&range, &Every::All))
            .await?;
        let ids: HashSet<&str> = wanted.iter().map(|version| version.id.as_str()).collect();
        let positions = (0..all.len())
            .filter(|at| ids.contains(all[*at].id.as_str()))
            .collect();
        Ok((all, positions))
    }

    /// Says in the store which of these versions are on the target's line, and of those that aren't, that they are beside it: no change
    /// is looked for between these and others.
    ///
    /// # Errors
    /// The history can't be read; the store's own.
    pub async fn place_versions(&self, store: &Store, versions: &[Version]) -> miette::Result<()> {
        let plain = versions.iter().filter(|version| version.is_plain());
        let ids: Vec<String> = plain.map(|version| version.id.clone()).collect();
        let (on_line, beside) = self.divided_by_line(ids).await?;
        let placed = store
            .place_versions(&self.target.name, &beside, &on_line)
            .await;
        placed.into_diagnostic()
    }

    /// Those of these versions, by their identities, that are on the target's line, and those beside it.
    ///
    /// # Errors
    /// The history can't be read.
    pub async fn divided_by_line(
        &self,
        ids: Vec<String>,
    ) -> miette::Result<(Vec<String>, Vec<String>)> {
        let asked = ids.clone();
        let on_line = self.query(move |history| history.on_line(&asked)).await?;
        let (on_line, beside): (Vec<_>, Vec<_>) = ids
            .into_iter()
            .zip(on_line)
            .partition(|(_, on_line)| *on_line);
        let ids = |placed: Vec<(String, bool)>| placed.into_iter().map(|(id, _)| id).collect();
        Ok((ids(on_line), ids(beside)))
    }

    /// The versions from one to another, of which a bisection names those that changed something: two at least.
    ///
    /// # Errors
    /// One of them isn't in the history, or they are the same version.
    pub async fn versions_to_bisect(
        &self,
        good: String,
        bad: String,
        every: Every,
    ) -> miette::Result<Vec<Version>> {
        let ends = (good.clone(), bad.clone());
        let versions = self
            .query(move |history| {
                let (from, to) = (
                    resolve_version(history, &good)?,
                    resolve_version(history, &bad)?,
                );
                let (from, to) = (from.id, to.id);
                if from == to {
                    return Ok(Vec::new());
                }
                let stretch = history.versions(&Range::Between { from, to }, &every);
                stretch.map_err(|error| error.about(&good, &bad))
            })
            .await?;
        if versions.len() < 2 {
            return Err(miette::miette!(
                help = "name two versions with others between them; `backsight log --target T A B` shows what there is",
                "there is nothing between {} and {}: they are the same version",
                ends.0,
                ends.1
            ));
        }
        Ok(versions)
    }

    /// As many random layouts as are to be sampled; a version's own alone where none are.
    pub fn sampled_layouts(&self, relink: Option<u32>) -> miette::Result<Vec<Layout>> {
        let Some(number) = relink else {
            return Ok(vec![Layout::default()]);
        };
        let relayout = self.target.layout.as_ref();
        if !relayout.is_some_and(|relayout| relayout.layouts.contains(&LayoutKind::Random)) {
            return Err(miette::miette!(
                help = "give it one: layout = { relink = \"… {seed} …\" }, a command that is run in the built tree; or leave out --relink",
                "target `{}` has no command that relinks it at random",
                *self.target.name
            ));
        }
        let random = |seed| Layout {
            kind: LayoutKind::Random,
            seed,
        };
        Ok((1..=number).map(random).collect())
    }

    /// The ordinal of the first boot of a study that wants its own: behind those of all studies of the target; 1 where
    /// nothing is started.
    pub async fn first_boot(&self, store: &Store) -> miette::Result<u32> {
        if self.target.activate.boot == BootKind::None {
            return Ok(1);
        }
        let asked = store.requests_along(&self.target.name).await;
        let asked = asked.into_diagnostic()?;
        let last = asked.iter().map(|asked| asked.ordinal).max();
        Ok(last.unwrap_or(0).saturating_add(1))
    }

    /// Asks the history, which may take long.
    pub async fn query<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn History) -> Result<T, HistoryError> + Send + 'static,
    ) -> miette::Result<T> {
        let history = Arc::clone(&self.history);
        let asked = tokio::task::spawn_blocking(move || question(&*history));
        let answer = asked.await.into_diagnostic()?;
        answer.map_err(|error| miette::Report::msg(error.to_string()))
    }
}

/// Our folder for a target: its mirrors, its tree, its builds.
pub(crate) fn target_folder(store: &Path, target: &TargetName) -> PathBuf {
    targets_folder(store).join(target.as_str())
}

/// The folder of the targets' own folders in a store's folder.
pub(crate) fn targets_folder(store: &Path) -> PathBuf {
    store.join("targets")
}

/// Why a study that should have a target can't be read.
pub(crate) fn no_target() -> miette::Report {
    miette::miette!("this study has no target")
}

/// A version by name; `HEAD` is the newest where a history knows no such name.
pub fn resolve_version(history: &dyn History, asked: &str) -> Result<Version, HistoryError> {
    history.resolve(asked).or_else(|unknown| {
        if asked != "HEAD" {
            return Err(unknown);
        }
        let newest = history.versions(&Range::Last(Lookback(1, TimeUnit::Hour)), &Every::All)?;
        newest.into_iter().next_back().ok_or(unknown)
    })
}

/// A fault of a history, pointed at where the target says which it is.
fn source_error(document: &TomlDocument, target: &Target, error: &HistoryError) -> miette::Report {
    document
        .problem(
            target.source.span(),
            error.to_string(),
            "this history",
            None,
        )
        .into()
}

/// The file of a target: what was named if it looks like a file, else NAME.toml beside the plan or in `targets` there.
fn target_file(named: &str, plan: Option<&Path>) -> miette::Result<PathBuf> {
    if named.contains('/')
        || Path::new(named)
            .extension()
            .is_some_and(|end| end == "toml")
    {
        return Ok(PathBuf::from(named));
    }
    let beside = plan
        .and_then(Path::parent)
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let file = format!("{named}.toml");
    let tried = [beside.join(&file), beside.join("targets").join(&file)];
    if let Some(found) = tried.iter().find(|path| path.is_file()) {
        return Ok(found.clone());
    }
    let known: Vec<String> = [beside.to_owned(), beside.join("targets")]
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            Some(name.strip_suffix(".toml")?.to_owned())
        })
        .filter(|name| !["plan", "lab"].contains(&name.as_str()))
        .collect();
    let help = did_you_mean(named, known.iter().map(String::as_str)).unwrap_or_else(|| {
        "write NAME.toml with name, source, build and activate (docs/how-to/step-through-a-history.md), or name a file"
            .to_owned()
    });
    Err(miette::miette!(
        help = help,
        "no target `{named}`: neither {} nor {} is there",
        tried[0].display(),
        tried[1].display()
    ))
}
