//! Whether the store still holds what was recorded, and what can be mended is mended.
//!
//! Samples are compared with what their raw output gives again, by the definitions and the importer that are kept with the
//! study. A store of which something is lost isn't sound.

use backsight_catalog::{Catalog, Monitors};
use backsight_exchange::import::{Importer, import, import_tests};
use backsight_model::{Cell, MetricSamples, TomlDocument, counted};
use backsight_store::{
    DamagedObject, RawOwner, SampleState, Store, StoreError, StoredTrial, StudyDocument, StudyId,
    StudyRow,
};
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Component, Path, PathBuf},
};

use crate::{
    import_arguments::{IMPORT_VERB, ImportArguments, file_command},
    import_tests::{find_test_format, suite_cell},
    step_records::step_records,
};

/// Checks the database, the raw outputs and the samples of every study; with `repair` mends what can be mended.
///
/// # Errors
/// The store's own.
pub async fn check_store(store: &Store, repair: bool) -> miette::Result<StoreCheck> {
    let mut check = StoreCheck::default();
    check.check_database(store).await?;
    let studies = store.studies().await.into_diagnostic()?;
    check.studies = studies.len();
    check.check_objects(store, &studies, repair).await?;
    check.check_self_tests(store, repair).await?;
    for study in studies.iter().rev() {
        check.check_samples(store, study, repair).await?;
    }
    Ok(check)
}

/// What was found, in sentences.
#[derive(Default)]
pub struct StoreCheck {
    studies: usize,
    objects: usize,
    trials: usize,
    /// How many things are damaged, and stay so.
    damaged: usize,
    lines: Vec<String>,
}

impl StoreCheck {
    /// Whether nothing is damaged, or all that was is mended.
    pub fn is_sound(&self) -> bool {
        self.damaged == 0
    }

    fn damage(&mut self, what: String) {
        self.damaged += 1;
        self.lines.push(format!("damaged: {what}"));
    }

    async fn check_database(&mut self, store: &Store) -> miette::Result<()> {
        for fault in store.database_faults().await.into_diagnostic()? {
            self.damage(format!("the database: {fault}"));
        }
        Ok(())
    }

    async fn check_objects(
        &mut self,
        store: &Store,
        studies: &[StudyRow],
        repair: bool,
    ) -> miette::Result<()> {
        let (count, damaged) = store.damaged_objects().await.into_diagnostic()?;
        self.objects = count;
        for pruning in store.prunings().await.into_diagnostic()? {
            let objects = counted(pruning.objects as usize, "raw output");
            self.lines.push(format!("{objects}: {}", pruning.last));
        }
        for object in &damaged {
            if object.cached && self.restore_object(store, object, repair).await? {
                continue;
            }
            let is_record =
                |(_, owner): &(StudyId, RawOwner)| matches!(owner, RawOwner::HostRecord(_));
            if object.owners.iter().all(is_record) {
                self.check_record(store, object, studies, repair).await?;
                continue;
            }
            let owners = owners(object, studies);
            self.damage(format!(
                "what was printed in {owners} can't be mended: raw output {}: {}",
                object.raw, object.detail
            ));
        }
        Ok(())
    }

    /// An object that this machine still has at hand, which the bucket has lost.
    async fn restore_object(
        &mut self,
        store: &Store,
        object: &DamagedObject,
        repair: bool,
    ) -> miette::Result<bool> {
        let what = format!("raw output {}: {}", object.raw, object.detail);
        if !repair {
            self.damage(format!(
                "{what}: --repair writes it anew from this machine's cache"
            ));
            return Ok(true);
        }
        let restored = store.restore_object(&object.raw).await.into_diagnostic()?;
        if restored {
            self.lines.push(format!(
                "mended: {what}: it was written anew from this machine's cache"
            ));
        }
        Ok(restored)
    }

    async fn check_record(
        &mut self,
        store: &Store,
        object: &DamagedObject,
        studies: &[StudyRow],
        repair: bool,
    ) -> miette::Result<()> {
        let mut named: Vec<String> = object
            .owners
            .iter()
            .map(|(id, _)| name_of(*id, studies))
            .collect();
        named.dedup();
        let what = format!(
            "what the hosts of study {} were can't be read in part: {}",
            named.join(", "),
            object.detail
        );
        match repair {
            true => {
                let removed = store.remove_from_host_records(&object.raw).await;
                removed.into_diagnostic()?;
                self.lines
                    .push(format!("mended: {what}: that part is removed"));
            }
            false => self.damage(format!("{what}: --repair removes that part")),
        }
        Ok(())
    }

    async fn check_self_tests(&mut self, store: &Store, repair: bool) -> miette::Result<()> {
        let (_, damaged) = store.damaged_self_tests().await.into_diagnostic()?;
        if damaged.is_empty() {
            return Ok(());
        }
        let what = format!("{} can't be read", counted(damaged.len(), "self-test"));
        match repair {
            true => {
                store.delete_self_tests(&damaged).await.into_diagnostic()?;
                self.lines.push(format!("mended: {what}: removed"));
            }
            false => self.damage(format!("{what}: --repair removes them")),
        }
        Ok(())
    }

    async fn check_samples(
        &mut self,
        store: &Store,
        study: &StudyRow,
        repair: bool,
    ) -> miette::Result<()> {
        let name = &study.name;
        let trials = store.stored_trials(study.id).await.into_diagnostic()?;
        self.trials += trials.len();
        let derived = Derived::from_store(store, study).await?;
        let mut mended: Vec<(&StoredTrial, Vec<MetricSamples>)> = Vec::new();
        let mut lost = BTreeMap::new();
        let (mut unchecked, mut underived) = (0_usize, BTreeMap::new());
        for trial in trials.iter().filter(|trial| !trial.failed) {
            let again = derived.samples(store, study.id, trial).await?;
            let place = format!("the samples of trial {} of study `{name}`", trial.number);
            let damaged = trial.state == SampleState::Damaged;
            let what = match damaged {
                true => "aren't what was recorded",
                false => "aren't what their raw output gives",
            };
            match again {
                Ok(again) if damaged || !same(&trial.samples, &again) => {
                    if repair {
                        self.lines.push(format!(
                            "mended: {place} {what}: they were taken from it again"
                        ));
                        mended.push((trial, again));
                    } else {
                        self.damage(format!("{place} {what}: --repair takes them from it again"));
                    }
                }
                Err(why) if damaged => {
                    self.damage(format!("{place} {what}, and can't be mended: {why}"));
                    let reason = format!(
                        "its samples were damaged in the store, and couldn't be taken from its raw output again: {why}"
                    );
                    lost.insert(trial.number, reason);
                }
                again => {
                    if trial.state == SampleState::Unchecked {
                        unchecked += 1;
                        mended.push((trial, trial.samples.clone()));
                    }
                    if let Err(why) = again {
                        *underived.entry(why).or_insert(0_usize) += 1;
                    }
                }
            }
        }
        for (why, count) in underived {
            let trials = counted(count, "trial");
            self.lines.push(format!(
                "study `{name}`: the samples of {trials} can't be compared with their raw output: {why}"
            ));
        }
        if unchecked > 0 {
            let trials = counted(unchecked, "trial");
            let done = match repair {
                true => "got checksums",
                false => "have no checksums yet: --repair adds them",
            };
            let line = format!("study `{name}`: the samples of {trials} {done}");
            self.lines.push(line);
        }
        if repair && !mended.is_empty() {
            let rows: Vec<_> = mended
                .iter()
                .map(|(trial, samples)| (*trial, &samples[..]))
                .collect();
            let written = store.rewrite_samples(study.id, &rows).await;
            written.into_diagnostic()?;
        }
        if repair && !lost.is_empty() {
            let given_up = store.give_up_trials(study.id, &lost).await;
            given_up.into_diagnostic()?;
            self.lines.push(format!(
                "study `{name}`: {} failed from now on, so that the others can be read",
                counted(lost.len(), "trial")
            ));
        }
        Ok(())
    }
}

impl fmt::Display for StoreCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        let verdict = match self.damaged {
            0 => "sound".to_owned(),
            1 => "1 thing is damaged".to_owned(),
            more => format!("{more} things are damaged"),
        };
        writeln!(
            f,
            "checked the database, {} {}, {} and {}: {verdict}",
            self.studies,
            if self.studies == 1 {
                "study"
            } else {
                "studies"
            },
            counted(self.trials, "trial"),
            counted(self.objects, "raw output"),
        )
    }
}

/// Whose output an object is, in words.
fn owners(object: &DamagedObject, studies: &[StudyRow]) -> String {
    const NAMED: usize = 10;
    let mut named: Vec<String> = object
        .owners
        .iter()
        .take(NAMED)
        .map(|(study, owner)| {
            let owner = match owner {
                RawOwner::Trial(number) => format!("trial {number}"),
                RawOwner::Build(number) => format!("build {number}"),
                RawOwner::Boot(number) => format!("boot {number}"),
                RawOwner::HostRecord(number) => format!("record {number} of a host"),
            };
            format!("{owner} of study {}", name_of(*study, studies))
        })
        .collect();
    if object.owners.len() > NAMED {
        named.push(format!("{} more", object.owners.len() - NAMED));
    }
    named.join(", ")
}

fn name_of(id: StudyId, studies: &[StudyRow]) -> String {
    let study = studies.iter().find(|study| study.id == id);
    study.map_or_else(|| id.to_string(), |study| format!("`{}`", study.name))
}

/// Whether samples are the same, bit by bit, in whatever order their metrics stand.
fn same(stored: &[MetricSamples], derived: &[MetricSamples]) -> bool {
    let bits = |samples: &MetricSamples| {
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        (bits(&samples.values), bits(&samples.each))
    };
    let all = |samples: &[MetricSamples]| -> BTreeMap<String, _> {
        let kept = samples
            .iter()
            .filter(|samples| !(samples.values.is_empty() && samples.each.is_empty()));
        kept.map(|samples| (samples.metric.to_string(), bits(samples)))
            .collect()
    };
    all(stored) == all(derived)
}

/// What the raw outputs of a study give again.
enum Derived {
    /// By the definitions of its benchmarks and monitors.
    ByDefinitions(Catalog, Vec<Cell>),
    /// By its importer: the samples of each trial in turn.
    ByImporter(Vec<Result<Vec<MetricSamples>, String>>),
    /// Not at all.
    Unknown(String),
}

impl Derived {
    async fn from_store(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        let documents = store.documents(study.id).await.into_diagnostic()?;
        let of_kind =
            |kind| -> Vec<TomlDocument> { StudyDocument::of_kind(&documents, kind).collect() };
        let cells = store.cells(study.id).await.into_diagnostic()?;
        if study.verb == IMPORT_VERB {
            let again = import_again(store, study, of_kind("importer"), &cells).await;
            return Ok(match again {
                Ok(trials) => Self::ByImporter(trials),
                Err(why) => Self::Unknown(why.to_string()),
            });
        }
        let monitors = Monitors::from_documents(of_kind("monitor"));
        let catalog = Catalog::from_documents(of_kind("benchmark"));
        Ok(match (catalog, monitors) {
            (Ok(catalog), Ok(monitors)) => {
                Self::ByDefinitions(catalog.with_monitors(monitors), cells)
            }
            (Err(why), _) | (_, Err(why)) => Self::Unknown(why.to_string()),
        })
    }

    async fn samples(
        &self,
        store: &Store,
        study: StudyId,
        trial: &StoredTrial,
    ) -> miette::Result<Result<Vec<MetricSamples>, String>> {
        let (catalog, cells) = match self {
            Self::Unknown(why) => return Ok(Err(why.clone())),
            Self::ByImporter(trials) => {
                let again = trials.get(trial.number as usize - 1).cloned();
                return Ok(again.unwrap_or_else(|| Err("its files don't have it".to_owned())));
            }
            Self::ByDefinitions(catalog, cells) => (catalog, cells),
        };
        let Some(cell) = cells.get(trial.cell) else {
            return Ok(Err("its cell isn't in the plan".to_owned()));
        };
        let steps = match step_records(store, study, trial.number, |_| true).await {
            Ok(steps) => steps,
            Err(error @ StoreError::RawDamaged { .. }) => return Ok(Err(error.to_string())),
            Err(StoreError::Pruned { mark, .. }) => return Ok(Err(mark.to_string())),
            Err(error) => return Err(error).into_diagnostic(),
        };
        let mut samples = match catalog.samples(&cell.benchmark, &steps) {
            Ok((samples, _)) => samples,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let (watched, _) = catalog.watched(&cell.benchmark, &steps);
        samples.extend(
            watched
                .into_iter()
                .map(|watched| MetricSamples::new(watched.metric, vec![watched.value], Vec::new())),
        );
        Ok(Ok(samples))
    }
}

/// What the files of a study from elsewhere give again: the samples of its trials in turn.
async fn import_again(
    store: &Store,
    study: &StudyRow,
    importer: Vec<TomlDocument>,
    cells: &[Cell],
) -> miette::Result<Vec<Result<Vec<MetricSamples>, String>>> {
    let arguments = ImportArguments::read(&study.arguments)?;
    let folder = tempfile::tempdir()
        .into_diagnostic()
        .wrap_err("a temporary folder")?;
    let place = |path: &Path| inside(folder.path(), &arguments.folder.join(path));
    let before = file_command(&arguments.format, Path::new(""));
    for (command, raw) in store.read_files(study.id).await.into_diagnostic()? {
        let Some(path) = command.strip_prefix(&before) else {
            continue;
        };
        let path = place(Path::new(path));
        let content = match store.raw(&raw).await {
            Err(StoreError::Pruned { mark, .. }) => return Err(miette::miette!("{mark}")),
            read => read.into_diagnostic()?,
        };
        let made = fs::create_dir_all(path.parent().unwrap_or(folder.path()));
        made.and_then(|()| fs::write(&path, content))
            .into_diagnostic()
            .wrap_err_with(|| path.display().to_string())?;
    }
    let paths: Vec<PathBuf> = arguments.files.iter().map(|path| place(path)).collect();
    let (found, trials) = match arguments.suite.clone() {
        Some(suite) => {
            let format = find_test_format(&arguments.format);
            let format =
                format.ok_or_else(|| miette::miette!("its format isn't known any more"))?;
            let imported = import_tests(format, &paths)?;
            (
                vec![suite_cell(suite)?],
                vec![Ok(MetricSamples::of_suite(&imported.run))],
            )
        }
        None => {
            let document = importer.first();
            let document = document.ok_or_else(|| miette::miette!("its importer wasn't kept"))?;
            let importer = Importer::read(document)?;
            let imported = import(&importer, &paths, &arguments.choices()?)?;
            let trials = imported.trials.into_iter().map(|trial| trial.outcome);
            (imported.cells, trials.collect())
        }
    };
    miette::ensure!(
        found == cells,
        "its files give other cells than were imported"
    );
    Ok(trials)
}

/// A path's place below a folder; two paths have two places.
fn inside(folder: &Path, path: &Path) -> PathBuf {
    let mut place = folder.to_owned();
    for part in path.components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::ParentDir => place.push("[above]"),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    place
}
