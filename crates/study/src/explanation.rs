//! What goes along with the changes between two studies, two parts of one, or the versions of a history: read from the store, judged
//! by `backsight_policy::explain`.

mod changed_code;
mod changed_files;
mod step_changes;
mod whole_history;

use backsight_model::{
    Better, Cell, CellSeries, HistoryTrial, MetricName, Monitor, MonitorMetric, MonitorName, Phase,
    Reduction, ResultSet, SeriesNames, StudyHistory, TargetName, Unit, Watches, did_you_mean,
    monitored_phase,
};
use backsight_policy::{
    BaselineRelation, CompareOptions, ComparisonRow, FunctionDifference, ProfileDifference,
    ProfileOptions, RowEntry, SplitKey, Warning, compare,
    explain::{
        Candidate, CandidateKind, ChangeSides, Correlate, ExplainOptions, Scaling, ShareChange,
        TrialValues, WorkMeasure, correlates,
    },
    split,
};
use backsight_profile::{FunctionKey, FunctionPairing, FunctionTable, FunctionWeights};
use backsight_report::explain::{ExplainedChange, Explanations, NamedCorrelate};
use backsight_store::{Store, StudyDocument, StudyId, StudyRow};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use crate::{
    VerdictReport,
    known_history::named_version,
    profiles::{ProfileSelection, profile_of_trial},
    result_sets::{refuse_sides, result_sets},
    verbs::{
        Verb as _,
        bisect::{BisectReport, BisectVerb},
        step::StepVerb,
        try_patch::TryVerb,
    },
};
use changed_code::{ChangeEnds, changed_code};
use changed_files::FileHistory;
use step_changes::changes_found;
use whole_history::WholeHistory;

/// What the score of a sum is multiplied by, so that the part which moved stands before it.
const SUM_WEIGHT: f64 = 0.8;

/// The same of all time that programs take: it grows with whatever takes it.
const TIME_SUM_WEIGHT: f64 = 0.1;

/// Which changes are explained.
#[derive(Debug, Clone, Default)]
pub struct ExplainSelection {
    /// The parts of one study that are its sides.
    pub by: Option<SplitKey>,
    /// Of a study along a history: the first version with the change.
    pub at: Option<String>,
}

/// One side: some trials of a study.
struct Side {
    set: ResultSet,
    known: Rc<StudyBackground>,
}

/// What is known of a study's trials beside their samples.
#[derive(Default)]
struct StudyBackground {
    /// How long each trial ran, in seconds.
    seconds: HashMap<u32, f64>,
    monitors: IndexMap<MonitorName, Monitor>,
    /// Samples of functions in each trial that was profiled, by their number in the table.
    functions: HashMap<u32, SampledFunctions>,
}

/// The functions that a trial was in.
struct SampledFunctions {
    weights: FunctionWeights,
    /// Samples in a second of processor time.
    frequency_hz: f64,
}

/// Two sides, and the versions that lie between them.
struct Pair {
    base: usize,
    new: usize,
    versions: Vec<(String, String)>,
    /// Whether trials of both were taken in turns: parts of a run, sides of a try.
    in_turns: bool,
    /// Of a study along a history.
    ends: Option<ChangeEnds>,
    /// The metrics of cells that it is about; all primary ones where none is named.
    about: Vec<(Cell, MetricName)>,
}

/// What is explained: some trials each, and which of them against which.
struct ComparedSides {
    sides: Vec<ResultSet>,
    pairs: Vec<Pair>,
    /// Of a study along a history.
    history: Option<(TargetName, StudyHistory)>,
    /// All of its trials, and the version of each, where its versions are one line.
    whole: Option<(ResultSet, HashMap<u32, usize>)>,
}

/// What goes along with the changes between the studies that are named: two or more, the first is the baseline; or the one study's
/// parts, versions or sides.
///
/// # Errors
/// There is no such study, version or part; the store's own.
pub async fn explain(
    store: &Store,
    asked: &[String],
    selection: &ExplainSelection,
) -> miette::Result<Explanations> {
    let mut rows = Vec::new();
    for asked in asked {
        rows.push(store.study(asked).await.into_diagnostic()?);
    }
    // The sides of a try are told apart only where it is explained by itself.
    if rows.len() > 1 || selection.by.is_some() {
        for row in &rows {
            refuse_sides(row)?;
        }
    }
    let ids: Vec<StudyId> = rows.iter().map(|row| row.id).collect();
    let sets = result_sets(store, &ids).await?;
    let compared = match (&rows[..], &selection.by) {
        ([study], None) => sides_along_history(store, study, sets, selection).await?,
        ([_], Some(by)) => {
            let (parts, _) = split(&sets[0], by).into_diagnostic()?;
            against_first(parts, true)
        }
        _ => against_first(sets, false),
    };
    let mut functions = FunctionTable::default();
    let mut notes = Vec::new();
    let mut known: HashMap<i64, Rc<StudyBackground>> = HashMap::new();
    for row in &rows {
        let background =
            StudyBackground::from_store(store, row, &mut functions, &mut notes).await?;
        known.insert(row.id.0, Rc::new(background));
    }
    let functions: Vec<FunctionKey> = functions.functions().cloned().collect();
    let side = |set: ResultSet| Side {
        known: known.get(&set.study).cloned().unwrap_or_default(),
        set,
    };
    let sides: Vec<Side> = compared.sides.into_iter().map(side).collect();
    let whole = compared.whole.map(|(set, versions)| WholeHistory {
        trials: side(set),
        versions,
    });
    let mut found = Explanations {
        title: asked.join(" and "),
        changes: Vec::new(),
        unchanged: Vec::new(),
        facts: Vec::new(),
        notes,
    };
    if compared.pairs.is_empty() {
        let nothing = format!(
            "{} found no change: there is nothing to explain",
            found.title
        );
        found.unchanged.push(nothing);
    }
    let file_history = match &compared.history {
        Some((target, _)) => Some(FileHistory::open(store, target, &mut found.notes).await),
        None => None,
    };
    for pair in &compared.pairs {
        let known = found.changes.len();
        explain_pair(
            &sides[pair.base],
            &sides[pair.new],
            pair,
            whole.as_ref(),
            &functions,
            &mut found,
        );
        let changes = &mut found.changes[known..];
        if let (Some((target, history)), Some(ends), Some(file_history)) =
            (&compared.history, &pair.ends, &file_history)
            && !changes.is_empty()
        {
            let code = changed_code(store.dir(), target, history, ends, &mut found.notes).await?;
            let files = file_history
                .changed_files(history, ends, &mut found.notes)
                .await;
            let name = |version: usize| history.versions[version].full_name();
            for change in changes {
                change.ends = Some(ends.nearest().map(name));
                change.code.clone_from(&code);
                change.files.clone_from(&files);
            }
        }
    }
    let size = |change: &ExplainedChange| change.percent.map_or(f64::INFINITY, |(it, _)| it.abs());
    let told_first = |a: &ExplainedChange, b: &ExplainedChange| b.is_told.cmp(&a.is_told);
    (found.changes).sort_by(|a, b| told_first(a, b).then(size(b).total_cmp(&size(a))));
    Ok(found)
}

impl StudyBackground {
    async fn from_store(
        store: &Store,
        study: &StudyRow,
        functions: &mut FunctionTable,
        notes: &mut Vec<String>,
    ) -> miette::Result<Self> {
        let monitors = monitors_of(store, study.id).await?;
        let mut found = Self {
            seconds: store.run_seconds(study.id).await.into_diagnostic()?,
            monitors,
            functions: HashMap::new(),
        };
        if !found.monitors.contains_key(profile_monitor().as_str()) {
            return Ok(found);
        }
        let selection = ProfileSelection::default();
        for trial in store.trials(study.id).await.into_diagnostic()? {
            if trial.failure.is_some() {
                continue;
            }
            let (profile, of_profile) = profile_of_trial(store, study, &trial, &selection).await?;
            notes.extend(of_profile);
            if let Some(profile) = profile.filter(|profile| profile.frequency_hz > 0) {
                let sampled = SampledFunctions {
                    weights: functions.weigh(&profile),
                    frequency_hz: f64::from(profile.frequency_hz),
                };
                found.functions.insert(trial.number, sampled);
            }
        }
        Ok(found)
    }
}

/// The monitor that samples stacks.
fn profile_monitor() -> MonitorName {
    MonitorName::new("profile").expect("it is a name")
}

fn against_first(sides: Vec<ResultSet>, in_turns: bool) -> ComparedSides {
    let pairs = (1..sides.len()).map(|new| Pair {
        base: 0,
        new,
        versions: Vec::new(),
        in_turns,
        ends: None,
        about: Vec::new(),
    });
    ComparedSides {
        pairs: pairs.collect(),
        sides,
        history: None,
        whole: None,
    }
}

/// The monitors that a study was made with, by its own documents.
async fn monitors_of(
    store: &Store,
    study: StudyId,
) -> miette::Result<IndexMap<MonitorName, Monitor>> {
    let documents = store.documents(study).await.into_diagnostic()?;
    let read = StudyDocument::of_kind(&documents, "monitor").filter_map(|document| {
        let monitor = Monitor::read(&document).ok()?;
        Some(((*monitor.name).clone(), monitor))
    });
    Ok(read.collect())
}

/// The sides that a study along a history has: the base and its patches; the versions on both sides of each change.
async fn sides_along_history(
    store: &Store,
    study: &StudyRow,
    mut sets: Vec<ResultSet>,
    selection: &ExplainSelection,
) -> miette::Result<ComparedSides> {
    let set = sets.remove(0);
    let Some(target) = study.target.clone() else {
        return Err(miette::miette!(
            help = format!(
                "backsight explain BASE {0}, or backsight explain {0} --by variant",
                study.name
            ),
            "`{}` has no versions: there is nothing to compare it with",
            study.name
        ));
    };
    let history = store.study_history(study.id).await.into_diagnostic()?;
    let changes = changes_of(store, study, &history, selection).await?;
    let version_of = |trial: &HistoryTrial| Some((trial.number, history.place(trial)?.0.version));
    let by_version: HashMap<u32, usize> = history.trials.iter().filter_map(version_of).collect();
    let name = |versions: std::ops::Range<usize>| {
        let first = history.versions[versions.start].full_name();
        let last = history.versions[versions.end - 1].full_name();
        match versions.len() {
            1 => first,
            _ => format!("{first}..{last}"),
        }
    };
    let (mut parts, mut pairs) = (Vec::new(), Vec::new());
    for change in changes {
        let side = |versions: &std::ops::Range<usize>| {
            only(&set, name(versions.clone()), |trial| {
                by_version
                    .get(&trial)
                    .is_some_and(|version| versions.contains(version))
            })
        };
        // What was put on a version, or taken back, is no version of the history that may have made a change.
        let between = change.between.clone().filter_map(|version| {
            let version = &history.versions[version];
            let is_plain = version.is_plain();
            is_plain.then(|| (version.name.clone(), version.title.clone()))
        });
        pairs.push(Pair {
            base: parts.len(),
            new: parts.len() + 1,
            versions: between.collect(),
            in_turns: study.verb == TryVerb::NAME,
            ends: Some(change.ends()),
            about: change.about.clone(),
        });
        parts.extend([side(&change.before), side(&change.after)]);
    }
    Ok(ComparedSides {
        sides: parts,
        pairs,
        whole: WholeHistory::is_one_line(&history).then_some((set, by_version)),
        history: Some((target, history)),
    })
}

/// A change along a history: the versions before and after it, those that may have made it, and the metrics of cells that it is about,
/// if not all.
struct HistoryChange {
    before: std::ops::Range<usize>,
    after: std::ops::Range<usize>,
    between: std::ops::Range<usize>,
    about: Vec<(Cell, MetricName)>,
}

impl HistoryChange {
    fn is_at(&self, other: &Self) -> bool {
        let ranges = |it: &Self| (it.before.clone(), it.after.clone(), it.between.clone());
        ranges(self) == ranges(other)
    }

    /// What is surely before it, and what is surely after it.
    fn ends(&self) -> ChangeEnds {
        let before_end = self.before.end.min(self.between.start);
        let after_start = self.after.start.max(self.between.end - 1);
        ChangeEnds {
            before: self.before.start..before_end.max(self.before.start + 1),
            after: after_start.min(self.after.end - 1)..self.after.end,
        }
    }
}

async fn changes_of(
    store: &Store,
    study: &StudyRow,
    history: &StudyHistory,
    selection: &ExplainSelection,
) -> miette::Result<Vec<HistoryChange>> {
    let versions = history.versions.len();
    if let Some(at) = &selection.at {
        let names = || history.versions.iter().map(|version| version.name.as_str());
        let named = named_version(history.versions.iter(), at)?;
        let place = named.and_then(|named| history.versions.iter().position(|it| it == named));
        return match place {
            Some(at) if at > 0 => Ok(vec![HistoryChange {
                before: 0..at,
                after: at..versions,
                between: at..at + 1,
                about: Vec::new(),
            }]),
            Some(_) => Err(miette::miette!(
                help = "name a later one",
                "`{at}` is the first version of `{}`: there is nothing before it",
                study.name
            )),
            None => Err(miette::miette!(
                help = did_you_mean(at, names())
                    .unwrap_or_else(|| format!("backsight show {} lists them", study.name)),
                "`{}` has no version `{at}`",
                study.name
            )),
        };
    }
    if study.verb == TryVerb::NAME {
        return Ok((1..versions)
            .map(|side| HistoryChange {
                before: 0..1,
                after: side..side + 1,
                between: side..side + 1,
                about: Vec::new(),
            })
            .collect());
    }
    if study.verb == BisectVerb::NAME {
        let VerdictReport::Bisect(report) = BisectVerb::judge(store, study).await? else {
            return Ok(Vec::new());
        };
        return Ok(culprits(&report, versions));
    }
    if study.verb == StepVerb::NAME {
        return Ok(changes_found(history));
    }
    Err(miette::miette!(
        help = format!(
            "backsight explain {0} --at VERSION, the first version with the change; `backsight show {0}` says where they are",
            study.name
        ),
        "which change of `{}`?",
        study.name
    ))
}

/// The changes that a bisection found, each with the versions up to its neighbours.
fn culprits(report: &BisectReport, versions: usize) -> Vec<HistoryChange> {
    let places: Vec<_> = (report.verdict.culprits.iter())
        .map(|culprit| culprit.place)
        .collect();
    let change = |(number, place): (usize, &backsight_policy::ChangeLocation)| {
        let from = number.checked_sub(1).map_or(0, |last| places[last].until);
        let until = places
            .get(number + 1)
            .map_or(versions, |next| next.after + 1);
        HistoryChange {
            before: from..place.after + 1,
            after: place.until..until.max(place.until + 1),
            between: place.after + 1..place.until + 1,
            about: Vec::new(),
        }
    };
    places.iter().enumerate().map(change).collect()
}

/// Some trials of a set.
fn only(set: &ResultSet, name: String, is_in: impl Fn(u32) -> bool) -> ResultSet {
    let mut set = set.clone();
    set.name = name;
    for series in &mut set.series {
        series.trials.retain(|trial| is_in(trial.trial));
    }
    set.failed.retain(|(trial, ..)| is_in(*trial));
    set
}

/// Adds what goes along with the changes between two sides.
fn explain_pair(
    base: &Side,
    new: &Side,
    pair: &Pair,
    whole: Option<&WholeHistory>,
    functions: &[FunctionKey],
    found: &mut Explanations,
) {
    let comparison = compare(
        &[base.set.clone(), new.set.clone()],
        CompareOptions::default(),
    );
    for warning in &comparison.warnings {
        let said = warning.to_string();
        let of = match warning {
            Warning::Fact { .. } | Warning::AnotherBoot { .. } | Warning::OtherHosts { .. } => {
                &mut found.facts
            }
            _ => &mut found.notes,
        };
        if !of.contains(&said) {
            of.push(said);
        }
    }
    let is_asked = |row: &&ComparisonRow| {
        let is_it = |(cell, metric): &(Cell, MetricName)| {
            row.cell.same_question(cell) && row.metric == *metric
        };
        row.primary && (pair.about.is_empty() || pair.about.iter().any(is_it))
    };
    for row in comparison.rows.iter().filter(is_asked) {
        let Some(difference) = row.entries[1].difference() else {
            found.notes.push(format!(
                "{} against {}, {} {}: not compared: {}",
                new.set.name,
                base.set.name,
                row.cell,
                row.metric,
                why_not_compared(row)
            ));
            continue;
        };
        let mut change = change_sides(base, new, row);
        let options = ExplainOptions::default();
        change.is_told = difference.call.changed() || change.differ(options.confidence);
        change.in_turns = pair.in_turns;
        let mut candidates = candidates(base, new, row);
        candidates.extend(function_candidates(base, new, row, functions));
        let named: Vec<Candidate> = candidates.iter().map(|it| it.candidate.clone()).collect();
        let along = correlates(&change, &named, options);
        if !change.is_told && along.is_empty() {
            found.unchanged.push(format!(
                "{} against {}, {} {}: {}: nothing to explain",
                new.set.name, base.set.name, row.cell, row.metric, difference.call
            ));
            continue;
        }
        let named = |figures: Correlate| {
            let seen = &candidates[figures.candidate];
            NamedCorrelate {
                kind: seen.candidate.kind,
                name: seen.candidate.name.clone(),
                monitor: seen.monitor.clone(),
                about: seen.about.clone(),
                unit: seen.unit,
                figures,
                over_versions: None,
            }
        };
        let mut correlates: Vec<NamedCorrelate> = along.into_iter().map(named).collect();
        if let Some(whole) = whole {
            whole.add_correlations(row, functions, &mut correlates);
        }
        found.changes.push(ExplainedChange {
            base: base.set.name.clone(),
            new: new.set.name.clone(),
            cell: row.cell.clone(),
            metric: row.metric.clone(),
            unit: row.unit,
            better: row.better,
            call: difference.call.as_str(),
            is_told: change.is_told,
            percent: (difference.percent.ok())
                .map(|percent| (percent, difference.percent_interval.ok())),
            candidates: candidates.len(),
            correlates,
            versions: pair.versions.clone(),
            ends: None,
            code: None,
            files: Vec::new(),
        });
    }
}

/// Why the two sides of a row have no difference.
fn why_not_compared(row: &ComparisonRow) -> String {
    let why = row.entries.iter().find_map(|entry| match entry {
        RowEntry::Missing(why) => Some(why.to_string()),
        RowEntry::Measured(measured) => match &measured.against {
            Some(BaselineRelation::NotComparable(why)) => Some(why.to_string()),
            _ => None,
        },
    });
    why.unwrap_or_default()
}

/// The series of a metric in the cell of a row.
fn series_of<'a>(side: &'a Side, row: &ComparisonRow) -> impl Iterator<Item = &'a CellSeries> {
    let cell = row.cell.clone();
    let series = side.set.series.iter();
    series.filter(move |series| series.cell.same_question(&cell))
}

fn values(series: &CellSeries) -> TrialValues {
    let trials = series
        .trials
        .iter()
        .filter(|trial| !trial.values.is_empty());
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    trials
        .map(|trial| (trial.trial, mean(&trial.values)))
        .collect()
}

fn change_sides(base: &Side, new: &Side, row: &ComparisonRow) -> ChangeSides {
    let seconds = row.unit.and_then(Unit::in_seconds);
    let of = |side: &Side| {
        let mut series = series_of(side, row);
        let found = series.find(|series| series.metric == row.metric);
        let mut values = found.map(values).unwrap_or_default();
        for value in values.values_mut() {
            *value *= seconds.unwrap_or(1.0);
        }
        values
    };
    ChangeSides {
        values: [of(base), of(new)],
        seconds: [base.known.seconds.clone(), new.known.seconds.clone()],
        work: match row.better {
            Better::Lower if seconds.is_some() => WorkMeasure::TimePerWork,
            Better::Higher => WorkMeasure::WorkPerTime,
            _ => WorkMeasure::None,
        },
        is_told: false,
        in_turns: false,
    }
}

/// A candidate with what is shown of it.
struct SeenCandidate {
    candidate: Candidate,
    monitor: MonitorName,
    about: String,
    unit: Option<Unit>,
}

/// What monitors saw in the cell of a row on both sides. What only one side has was nothing on the other.
fn candidates(base: &Side, new: &Side, row: &ComparisonRow) -> Vec<SeenCandidate> {
    let mut found: IndexMap<String, SeenCandidate> = IndexMap::new();
    for (place, side) in [base, new].into_iter().enumerate() {
        for series in series_of(side, row) {
            let Some(monitor) = &series.monitor else {
                continue;
            };
            // What a benchmark measures is of `run`, and so is the time that counts are taken by.
            if monitored_phase(&series.metric) != Phase::Run {
                continue;
            }
            let (metric, definition) = (series.metric.as_str(), side.known.monitors.get(monitor));
            let scaling = scaling_of(definition, metric);
            let name = series.metric.to_string();
            let seen = found.entry(name.clone()).or_insert_with(|| SeenCandidate {
                candidate: Candidate {
                    kind: CandidateKind::Metric,
                    name,
                    scaling,
                    seconds: match scaling {
                        Scaling::Total if series.unit.is_time() => series.unit.in_seconds(),
                        Scaling::Rate if series.unit.is_processors() => Some(1.0),
                        _ => None,
                    },
                    is_of_programs: definition.map(|it| it.watches) != Some(Watches::Machine),
                    share: None,
                    part_of: is_of_a_part(definition, metric).then(|| whole_of(monitor, metric)),
                    weight: match *monitor == profile_monitor() {
                        // Its samples are the time of all functions.
                        true => TIME_SUM_WEIGHT,
                        false => 1.0,
                    },
                    values: Default::default(),
                },
                monitor: monitor.clone(),
                about: series.about.clone(),
                unit: Some(series.unit),
            });
            seen.candidate.values[place] = values(series);
        }
    }
    let watched: [HashMap<MonitorName, HashSet<u32>>; 2] = [base, new].map(|side| {
        let mut trials: HashMap<MonitorName, HashSet<u32>> = HashMap::new();
        for series in series_of(side, row) {
            if let Some(monitor) = &series.monitor {
                let seen = series.trials.iter().map(|trial| trial.trial);
                trials.entry(monitor.clone()).or_default().extend(seen);
            }
        }
        trials
    });
    for seen in found.values_mut() {
        // A monitor that names each thing that it sees says nothing of what it didn't see: there was none.
        if seen.candidate.scaling == Scaling::Level || seen.candidate.part_of.is_none() {
            continue;
        }
        for (values, watched) in seen.candidate.values.iter_mut().zip(&watched) {
            for trial in watched.get(&seen.monitor).into_iter().flatten() {
                values.entry(*trial).or_insert(0.0);
            }
        }
    }
    lower_weights_of_sums(&mut found);
    found.into_values().collect()
}

/// The functions of the profiles in the cell of a row, without those that took next to nothing.
fn function_candidates(
    base: &Side,
    new: &Side,
    row: &ComparisonRow,
    functions: &[FunctionKey],
) -> Vec<SeenCandidate> {
    let trials = [base, new].map(|side| {
        let series = series_of(side, row).flat_map(|series| &series.trials);
        let mut trials: Vec<u32> = series.map(|trial| trial.trial).collect();
        trials.sort_unstable();
        trials.dedup();
        let known = &side.known.functions;
        trials.retain(|trial| known.contains_key(trial));
        trials
    });
    let sampled: [Vec<(u32, &SampledFunctions)>; 2] = std::array::from_fn(|place| {
        let known = &[base, new][place].known.functions;
        let of = trials[place].iter();
        of.map(|trial| (*trial, &known[trial])).collect()
    });
    let mut weights = sampled.each_ref().map(|side| -> Vec<FunctionWeights> {
        let weights = side.iter().map(|(_, sampled)| &sampled.weights);
        weights.cloned().collect()
    });
    let pairing = FunctionPairing::new(functions, &weights[0], &weights[1]);
    for trial in &mut weights[1] {
        *trial = pairing.apply(trial);
    }
    let difference =
        ProfileDifference::new(Some(&weights[0]), &weights[1], ProfileOptions::default());
    let candidate = |found: &FunctionDifference| {
        let function = &functions[found.function];
        let share = found.itself.difference.zip(found.itself.base);
        SeenCandidate {
            candidate: Candidate {
                kind: CandidateKind::Function,
                name: function.function.clone(),
                scaling: Scaling::Total,
                seconds: Some(1.0),
                is_of_programs: true,
                share: share.and_then(|(difference, base)| {
                    Some(ShareChange {
                        base: base.percent,
                        points: difference.points,
                        interval: difference.interval,
                        p: difference.p?,
                    })
                }),
                part_of: None,
                weight: 1.0,
                values: std::array::from_fn(|place| {
                    let trials = sampled[place].iter().zip(&weights[place]);
                    let seconds = trials.map(|((trial, sampled), weights)| {
                        let itself = weights.itself.get(found.function).copied();
                        (*trial, itself.unwrap_or(0) as f64 / sampled.frequency_hz)
                    });
                    seconds.collect()
                }),
            },
            monitor: profile_monitor(),
            about: format!(
                "processor time in the function itself, in {}",
                function.module
            ),
            unit: Unit::parse("s").ok(),
        }
    };
    difference.functions.iter().map(candidate).collect()
}

/// What is called after its monitor is the sum of what is called after the things that the monitor saw. All of the processors' time is
/// the sum of what functions and system calls take.
fn lower_weights_of_sums(found: &mut IndexMap<String, SeenCandidate>) {
    let parts: HashSet<String> = (found.values())
        .filter_map(|seen| seen.candidate.part_of.clone())
        .collect();
    for (name, seen) in found {
        let is_time = seen.candidate.seconds.is_some();
        let is_sum = *name == whole_of(&seen.monitor, name);
        if is_sum && (is_time || parts.contains(name)) {
            // What is called as its parts are together is none of them.
            seen.candidate.part_of = None;
            seen.candidate.weight *= if is_time { TIME_SUM_WEIGHT } else { SUM_WEIGHT };
        }
    }
}

/// What the things that a monitor sees add up to: `write.calls` is a part of `syscalls.calls`.
fn whole_of(monitor: &MonitorName, metric: &str) -> String {
    let last = metric.rsplit('.').next().unwrap_or_default();
    format!("{monitor}.{last}")
}

/// The definition that a metric of a monitor is made by.
fn definition_of<'a>(monitor: Option<&'a Monitor>, metric: &str) -> Option<&'a MonitorMetric> {
    let last = metric.rsplit('.').next().unwrap_or(metric);
    let mut metrics = monitor?.metrics.iter();
    let found = metrics.find(|(name, _)| name.as_str() == last);
    found.map(|(_, defined)| defined)
}

/// Whether a metric is of one of many things that its monitor may see, by the monitor's definition.
fn is_of_a_part(monitor: Option<&Monitor>, metric: &str) -> bool {
    definition_of(monitor, metric).is_some_and(|defined| {
        let series = defined.series.iter().flat_map(SeriesNames::names);
        let has_star = series.into_iter().any(|name| name.contains('*'));
        defined.json.is_some() || (has_star && !defined.sum)
    })
}

/// How a monitor's metric depends on how long a trial is, by the monitor's definition.
fn scaling_of(monitor: Option<&Monitor>, metric: &str) -> Scaling {
    let Some(defined) = definition_of(monitor, metric) else {
        return Scaling::Level;
    };
    match (
        defined.json.is_some(),
        defined.per.is_some(),
        defined.reduction,
    ) {
        (true, ..) if defined.adds_up => Scaling::Total,
        (true, ..) | (_, true, _) => Scaling::Level,
        (.., Reduction::Rate) => Scaling::Rate,
        (.., Reduction::Increase) => Scaling::Total,
        _ => Scaling::Level,
    }
}
