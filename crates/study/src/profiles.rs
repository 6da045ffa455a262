//! Profiles of stored studies and of files, put together by side: what `profile` shows and compares.

use std::{collections::BTreeMap, path::Path};

use backsight_model::{Cell, Phase, shell_quoted};
use backsight_policy::{ProfileDifference, ProfileOptions, SplitKey, StudyPart, parts_of_cells};
use backsight_profile::{
    CallTree, FunctionKey, FunctionPairing, FunctionTable, Profile, ProfileEvent, ProfileUnit,
    merge,
};
use backsight_report::{
    numbers,
    profile::{ProfileReport, ProfiledTrials},
};
use backsight_store::{Store, StudyDocument, StudyId, StudyRow, TrialRow};
use indexmap::{IndexMap, IndexSet};
use miette::{IntoDiagnostic as _, WrapErr as _};

use crate::pruned_outputs::PrunedOutputs;

/// Monitors whose names begin so print profiles.
const MONITOR_PREFIX: &str = "profile";

/// Which profiles of a study are taken.
#[derive(Debug, Clone, Default)]
pub struct ProfileSelection {
    /// Those of this cell, as `show` names it; needn't be said where there is one.
    pub cell: Option<String>,
    /// The parts of a study that are its sides.
    pub by: Option<SplitKey>,
    /// Those of this trial alone.
    pub trial: Option<u32>,
    /// Time that threads waited, in place of time on processors.
    pub off_cpu: bool,
}

/// The profiles of one side, a trial each.
#[derive(Debug, Clone, Default)]
pub struct ProfiledSide {
    /// The study, version or file.
    pub name: String,
    /// The cell, where there is one.
    pub cell: Option<String>,
    /// Trials.
    pub trials: Vec<Profile>,
    /// What a reader should know of them.
    pub notes: Vec<String>,
}

/// A profile, beside that of a base if there is one.
#[derive(Debug, Clone)]
pub struct ComparedProfiles {
    /// What is reported.
    pub report: ProfileReport,
    /// The stacks of both sides; those of the only one are side 1.
    pub tree: CallTree,
    /// All trials of the new side, or of the only one, together.
    pub merged: Profile,
}

impl ProfiledSide {
    /// A file, which is one trial.
    ///
    /// # Errors
    /// It can't be read or is no profile.
    pub fn from_file(path: &Path) -> miette::Result<Self> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).into_diagnostic();
        let bytes = bytes.wrap_err_with(|| format!("can't read {name}"))?;
        let profile = Profile::from_json(&bytes).into_diagnostic();
        Ok(Self {
            trials: vec![profile.wrap_err_with(|| format!("can't read {name}"))?],
            name,
            ..Self::default()
        })
    }

    /// The sides of a study: one, or two where it has parts or versions, the base first.
    ///
    /// # Errors
    /// It has no profiles, or those of several cells and none is named; the store's own.
    pub async fn from_study(
        store: &Store,
        study: &StudyRow,
        selection: &ProfileSelection,
    ) -> miette::Result<Vec<Self>> {
        let cells = store.cells(study.id).await.into_diagnostic()?;
        let parts = PartsOfStudy::new(store, study, &cells, selection.by.as_ref()).await?;
        let mut sides: IndexMap<(usize, String), Self> = IndexMap::new();
        let mut failed = 0;
        for trial in store.trials(study.id).await.into_diagnostic()? {
            if selection.trial.is_some_and(|asked| asked != trial.number) {
                continue;
            }
            if trial.failure.is_some() {
                failed += 1;
                continue;
            }
            let Some((part, cell)) = parts.of_trial(&trial) else {
                continue;
            };
            let asked = selection.cell.as_ref();
            if asked.is_some_and(|asked| *asked != cell && *asked != cells[trial.cell].to_string())
            {
                continue;
            }
            let (profile, notes) = profile_of_trial(store, study, &trial, selection).await?;
            let side = sides.entry((part, cell.clone())).or_insert_with(|| Self {
                name: parts.names[part].clone(),
                cell: Some(cell),
                ..Self::default()
            });
            side.notes.extend(notes);
            side.trials.extend(profile);
        }
        sides.retain(|_, side| !side.trials.is_empty() || !side.notes.is_empty());
        refuse_several_cells(study, sides.keys().map(|(_, cell)| cell.as_str()))?;
        sides.sort_by(|(one, _), _, (other, _), _| one.cmp(other));
        if sides.values().all(|side| side.trials.is_empty()) {
            let notes = sides.into_values().flat_map(|side| side.notes);
            return Err(no_profiles(study, selection, notes.collect()));
        }
        let mut sides: Vec<Self> = sides.into_values().collect();
        if failed > 0
            && let Some(last) = sides.last_mut()
        {
            let failed = numbers::counted(failed, "failed trial");
            last.notes.push(format!("{failed} left out."));
        }
        Ok(sides)
    }

    /// The trials of several arguments together.
    fn together(sides: Vec<Self>) -> Self {
        let mut sides = sides.into_iter();
        let mut all = sides.next().unwrap_or_default();
        let mut others = 0;
        for side in sides {
            others += 1;
            all.trials.extend(side.trials);
            all.notes.extend(side.notes);
            if all.cell != side.cell {
                all.cell = None;
            }
        }
        if others > 0 {
            all.name = format!("{} and {others} more", all.name);
        }
        all
    }
}

/// Most trials of a cell whose profiles are put together for a page.
const MOST_TRIALS_OF_PAGE: usize = 40;

/// The profiles of two parts of studies beside each other, by cell as `show` names it: of those cells that both have profiles of.
///
/// # Errors
/// The store's own.
pub async fn profiles_of_parts(
    store: &Store,
    parts: &[StudyPart],
) -> miette::Result<Vec<(String, ProfileReport)>> {
    let [base, new] = parts else {
        return Ok(Vec::new());
    };
    let mut base = profiled_cells(store, base).await?;
    let new = profiled_cells(store, new).await?;
    let compared = new.into_iter().filter_map(|(cell, new)| {
        let base = base.swap_remove(&cell)?;
        // Profiles of other events aren't compared.
        let compared = ComparedProfiles::new(Some(base), new).ok()?;
        Some((cell, compared.report))
    });
    Ok(compared.collect())
}

/// The profiles of a part of a study, by cell.
async fn profiled_cells(
    store: &Store,
    part: &StudyPart,
) -> miette::Result<IndexMap<String, ProfiledSide>> {
    let study = store
        .study_of(StudyId(part.study))
        .await
        .into_diagnostic()?;
    let mut sides: IndexMap<String, ProfiledSide> = IndexMap::new();
    let documents = store.documents(study.id).await.into_diagnostic()?;
    let is_profiled = StudyDocument::of_kind(&documents, "monitor").any(|document| {
        let name = document.name.rsplit('/').next();
        name.is_some_and(|name| name.starts_with(MONITOR_PREFIX))
    });
    if !is_profiled {
        return Ok(sides);
    }
    let cells = store.cells(study.id).await.into_diagnostic()?;
    for trial in store.trials(study.id).await.into_diagnostic()? {
        let is_of_part = part
            .trials
            .as_ref()
            .is_none_or(|it| it.contains(&trial.number));
        let Some(cell) = cells.get(trial.cell).filter(|_| is_of_part) else {
            continue;
        };
        let side = sides
            .entry(cell.to_string())
            .or_insert_with(|| ProfiledSide {
                name: part.name.clone(),
                cell: Some(cell.to_string()),
                ..ProfiledSide::default()
            });
        if trial.failure.is_none() && side.trials.len() < MOST_TRIALS_OF_PAGE {
            let selection = ProfileSelection::default();
            let (profile, notes) = profile_of_trial(store, &study, &trial, &selection).await?;
            side.trials.extend(profile);
            side.notes.extend(notes);
        }
    }
    sides.retain(|_, side| !side.trials.is_empty());
    Ok(sides)
}

impl ComparedProfiles {
    /// The profiles of what was named on a command line, studies or files, beside those of a base.
    ///
    /// # Errors
    /// There is no such study or file, it has no profiles, or these can't be compared.
    pub async fn from_arguments(
        store: Option<&Store>,
        named: &[String],
        base: &[String],
        selection: &ProfileSelection,
    ) -> miette::Result<Self> {
        let mut sides = Vec::new();
        for named in [base, named] {
            let mut of_names = Vec::new();
            for name in named {
                of_names.push(sides_of_argument(store, name, selection).await?);
            }
            sides.push(of_names);
        }
        let [base, new] = <[_; 2]>::try_from(sides).unwrap_or_default();
        // One study that has two sides is compared with itself.
        if let ([], [_]) = (&base[..], &new[..]) {
            let mut sides: Vec<ProfiledSide> = new.into_iter().flatten().collect();
            let new = sides.pop().unwrap_or_default();
            let base = sides.drain(..).next();
            return Self::new(base, new);
        }
        let one_side = |sides: Vec<Vec<ProfiledSide>>| {
            if let Some([base, new, ..]) = sides.iter().map(Vec::as_slice).find(|of| of.len() > 1) {
                return Err(miette::miette!(
                    help = "name it alone: it is compared with itself",
                    "a study that is named has two sides of its own, {} and {}",
                    base.name,
                    new.name
                ));
            }
            Ok(sides.into_iter().flatten().collect::<Vec<_>>())
        };
        let (base, new) = (one_side(base)?, one_side(new)?);
        let base = (!base.is_empty()).then(|| ProfiledSide::together(base));
        Self::new(base, ProfiledSide::together(new))
    }

    /// A side, beside a base.
    ///
    /// # Errors
    /// The profiles are of different events, units or frequencies.
    pub fn new(base: Option<ProfiledSide>, new: ProfiledSide) -> miette::Result<Self> {
        let mut table = FunctionTable::default();
        let mut tree = CallTree::default();
        let mut merged = Vec::new();
        let mut weights = Vec::new();
        for side in [base.as_ref(), Some(&new)].into_iter().flatten() {
            let profiles: Vec<&Profile> = side.trials.iter().collect();
            let profile = merge(&profiles).into_diagnostic()?;
            weights.push(profiles.iter().map(|one| table.weigh(one)).collect());
            merged.push(profile);
        }
        if merged.len() > 1 {
            // Whether they can be merged is whether they can be compared.
            merge(&merged.iter().collect::<Vec<_>>()).into_diagnostic()?;
        }
        let mut new_weights: Vec<_> = weights.pop().unwrap_or_default();
        let base_weights: Option<Vec<_>> = weights.pop();
        let functions: Vec<FunctionKey> = table.functions().cloned().collect();
        let pairing = (base_weights.as_ref())
            .map(|base| FunctionPairing::new(&functions, base, &new_weights));
        let counterpart = |number| (pairing.as_ref()).map_or(number, |it| it.counterpart(number));
        if let Some(pairing) = &pairing {
            new_weights = new_weights.iter().map(|one| pairing.apply(one)).collect();
        }
        // The new side is the second, even where it is alone.
        let first = 2 - merged.len();
        for (profile, side) in merged.iter().zip(first..) {
            tree.add(&mut table, counterpart, profile, side);
        }
        let base_merged = (merged.len() > 1).then(|| merged.remove(0));
        let merged = merged.remove(0);
        let options = ProfileOptions {
            are_samples: merged.unit == ProfileUnit::Samples,
            ..ProfileOptions::default()
        };
        let difference = ProfileDifference::new(base_weights.as_deref(), &new_weights, options);
        let named = |side: &ProfiledSide, profile: &Profile| ProfiledTrials {
            name: side.name.clone(),
            cell: side.cell.clone(),
            lost: profile.lost,
            truncated: profile.truncated,
        };
        let report = ProfileReport {
            event: merged.event,
            unit: merged.unit,
            base: base
                .as_ref()
                .zip(base_merged.as_ref())
                .map(|(side, profile)| named(side, profile)),
            new: named(&new, &merged),
            functions,
            difference,
            top: usize::MAX,
            width: None,
            notes: base
                .into_iter()
                .flat_map(|base| base.notes)
                .chain(new.notes)
                .chain(pairing.iter().flat_map(notes_of_pairing))
                .collect(),
        };
        Ok(Self {
            report,
            tree,
            merged,
        })
    }
}

/// Which modules are compared although their names differ.
fn notes_of_pairing(pairing: &FunctionPairing) -> impl Iterator<Item = String> {
    let modules = pairing.modules().iter();
    modules.map(|(base, new)| format!("functions of `{new}` are compared with those of `{base}`"))
}

/// The sides of a file or a study.
async fn sides_of_argument(
    store: Option<&Store>,
    name: &str,
    selection: &ProfileSelection,
) -> miette::Result<Vec<ProfiledSide>> {
    let path = Path::new(name);
    if path.is_file() {
        let side = ProfiledSide::from_file(path)?;
        let is_off_cpu = side.trials[0].event == ProfileEvent::OffCpu;
        if selection.off_cpu && !is_off_cpu {
            return Err(miette::miette!(
                help = "leave out --off-cpu: what a file has is what is shown",
                "{name} is a profile of {}",
                side.trials[0].event.name()
            ));
        }
        return Ok(vec![side]);
    }
    let Some(store) = store else {
        return Err(miette::miette!(
            help = "name a file that `backsight monitor profile` wrote, or a study: `backsight studies` lists those",
            "there is no file `{name}`, and no store here"
        ));
    };
    let study = store.study(name).await.into_diagnostic()?;
    ProfiledSide::from_study(store, &study, selection).await
}

/// The parts of a study that are its sides: those of `--by`, or its versions.
struct PartsOfStudy {
    /// What each is called: the base, and the new one.
    names: Vec<String>,
    /// By the cell's number: its part, if the study has parts, and what it is called without it.
    cells: Vec<Option<(Option<usize>, String)>>,
    /// By the boot's number: its part. Empty where there are no versions.
    boots: BTreeMap<u32, usize>,
}

impl PartsOfStudy {
    async fn new(
        store: &Store,
        study: &StudyRow,
        cells: &[Cell],
        by: Option<&SplitKey>,
    ) -> miette::Result<Self> {
        if let Some(by) = by {
            return Self::by_key(study, cells, by);
        }
        let mut parts = Self {
            names: vec![study.name.to_string()],
            cells: cells
                .iter()
                .map(|cell| Some((None, cell.to_string())))
                .collect(),
            boots: BTreeMap::new(),
        };
        let versions = store.versions(study.id).await.into_diagnostic()?;
        if let [base, .., new] = &versions[..] {
            let history = store.study_history(study.id).await.into_diagnostic()?;
            let last = versions.len() - 1;
            for boot in &history.boots {
                let build = history.builds.iter().find(|one| one.number == boot.build);
                match build.map(|build| build.version) {
                    Some(0) => parts.boots.insert(boot.number, 0),
                    Some(version) if version == last => parts.boots.insert(boot.number, 1),
                    _ => None,
                };
            }
            parts.names = vec![base.full_name(), new.full_name()];
        }
        Ok(parts)
    }

    fn by_key(study: &StudyRow, cells: &[Cell], by: &SplitKey) -> miette::Result<Self> {
        let of_cells = parts_of_cells(cells, by);
        let values = of_cells.iter().flatten().map(|(value, _)| value);
        let names: IndexSet<String> = values.cloned().collect();
        if names.len() != 2 {
            let values: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(miette::miette!(
                help =
                    "--by takes what has two values, the base first; else name a cell with --cell",
                "the cells of `{}` have {} of {by}: {}",
                study.name,
                numbers::counted(names.len(), "value"),
                values.join(", ")
            ));
        }
        let of_cell = |part: Option<(String, Cell)>| {
            part.map(|(value, cell)| (names.get_index_of(&value), cell.to_string()))
        };
        Ok(Self {
            cells: of_cells.into_iter().map(of_cell).collect(),
            boots: BTreeMap::new(),
            names: names.into_iter().collect(),
        })
    }

    /// The part of a trial, and its cell's name.
    fn of_trial(&self, trial: &TrialRow) -> Option<(usize, String)> {
        let (part, cell) = self.cells.get(trial.cell)?.clone()?;
        let part = match (part, self.boots.is_empty()) {
            (Some(part), _) => part,
            (None, true) => 0,
            (None, false) => *self.boots.get(&trial.boot)?,
        };
        Some((part, cell))
    }
}

/// The profile of a trial, of all its hosts together, and what is to be said of it.
pub(crate) async fn profile_of_trial(
    store: &Store,
    study: &StudyRow,
    trial: &TrialRow,
    selection: &ProfileSelection,
) -> miette::Result<(Option<Profile>, Vec<String>)> {
    let (mut profiles, mut notes) = (Vec::new(), Vec::new());
    let mut pruned = PrunedOutputs::default();
    for step in store
        .steps(study.id, trial.number)
        .await
        .into_diagnostic()?
    {
        let Some(monitor) = &step.monitor else {
            continue;
        };
        if !monitor.as_str().starts_with(MONITOR_PREFIX) || step.phase != Phase::Run {
            continue;
        }
        let Some(raw) = &step.stdout.raw else {
            continue;
        };
        let Some(bytes) = pruned.read(store, raw).await.into_diagnostic()? else {
            continue;
        };
        match Profile::from_json(&bytes) {
            Ok(profile) if (profile.event == ProfileEvent::OffCpu) == selection.off_cpu => {
                profiles.push(profile);
            }
            Ok(_) => {}
            Err(_) if step.stdout.printed > step.stdout.kept => notes.push(format!(
                "The profile of trial {} on {} is cut off: it was longer than what is kept of an output.",
                trial.number, step.host
            )),
            Err(error) => notes.push(format!(
                "The profile of trial {} on {} can't be read: {error}.",
                trial.number, step.host
            )),
        }
    }
    let of_trial = |note| format!("Of the profiles of trial {}: {note}.", trial.number);
    notes.extend(pruned.notes().into_iter().map(of_trial));
    let profiles: Vec<&Profile> = profiles.iter().collect();
    match profiles.len() {
        0 => Ok((None, notes)),
        _ => Ok((Some(merge(&profiles).into_diagnostic()?), notes)),
    }
}

/// Refuses profiles of several cells, which are different work.
fn refuse_several_cells<'a>(
    study: &StudyRow,
    cells: impl Iterator<Item = &'a str>,
) -> miette::Result<()> {
    let cells: IndexSet<&str> = cells.collect();
    if cells.len() < 2 {
        return Ok(());
    }
    let choices: Vec<String> = cells
        .iter()
        .map(|cell| format!("--cell {}", shell_quoted(cell)))
        .collect();
    Err(miette::miette!(
        help = format!("say which: {}", choices.join(", or ")),
        "`{}` has profiles of {} cells",
        study.name,
        cells.len()
    ))
}

/// Why a study has no profiles.
fn no_profiles(
    study: &StudyRow,
    selection: &ProfileSelection,
    notes: Vec<String>,
) -> miette::Report {
    let monitor = match selection.off_cpu {
        true => "profile-off-cpu",
        false => "profile",
    };
    let what = match (selection.trial, &selection.cell) {
        (Some(trial), _) => format!("trial {trial} of `{}`", study.name),
        (None, Some(cell)) => format!("cell `{cell}` of `{}`", study.name),
        (None, None) => format!("`{}`", study.name),
    };
    let mut text = format!("{what} has no profile");
    for note in notes {
        text.push_str(". ");
        text.push_str(note.trim_end_matches('.'));
    }
    miette::miette!(
        help = format!("measure with it: monitors = [\"{monitor}\"] in the plan"),
        "{text}"
    )
}
