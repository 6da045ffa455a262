//! Comparisons of stored studies: the studies that a user names beside each other, or the parts of one.

use backsight_exchange::table::TableSource;
use backsight_model::{BenchmarkName, HostRecordMap, ResultSet};
use backsight_policy::{
    CompareOptions, Comparison, SplitKey, StudyPart, compare, compare_by, compare_with_spreads,
    records_side_by_side,
};
use backsight_report::{MoreRounds, comparison::ComparedBackground};
use backsight_store::{Store, StudyId, StudyRow};
use indexmap::IndexSet;
use miette::IntoDiagnostic as _;
use std::path::Path;

use crate::{
    host_records::records_of_studies,
    measurement_warnings,
    result_sets::{refuse_sides, result_sets},
    stored_study,
    verbs::{
        Verb as _,
        run::{self, RunVerb},
    },
};

/// Older studies than so many are not asked how much their runs differ.
const MOST_OTHERS: usize = 20;

/// What was named to be compared.
pub enum ComparedArguments {
    /// Studies, by name or number.
    Studies,
    /// Files of numbers.
    Files(Vec<TableSource>),
}

/// Which options were given that are for files of numbers.
#[derive(Debug, Clone, Copy)]
pub struct FileOptions {
    /// Which numbers are better.
    pub better: bool,
    /// Their unit.
    pub unit: bool,
    /// Which columns have them.
    pub columns: bool,
}

impl ComparedArguments {
    /// Files if every argument is one, studies if none is.
    ///
    /// # Errors
    /// Some are files and others aren't, a file has a study's name too, or studies have options that are for files.
    pub async fn from_arguments(
        named: &[String],
        options: FileOptions,
        store: Option<&Store>,
    ) -> miette::Result<Self> {
        let (of_files, others): (Vec<&String>, Vec<&String>) =
            named.iter().partition(|side| is_file(side));
        let lost = others
            .iter()
            .find(|side| is_path(side) || options.better || !of_files.is_empty());
        if let Some(lost) = lost {
            return Err(miette::miette!(
                help = "files are compared with files, studies with studies; `backsight studies` lists what is in the store",
                "there is no file `{lost}`"
            ));
        }
        if of_files.is_empty() {
            if options.unit {
                return Err(miette::miette!(
                    help = "leave out --unit: the metrics of a study have their own",
                    "--unit is for files of numbers, and these are studies"
                ));
            }
            if options.columns {
                return Err(miette::miette!(
                    help = "leave them out: a study knows its cells and metrics",
                    "--column and --series are for files of numbers, and these are studies"
                ));
            }
            return Ok(Self::Studies);
        }
        if let Some(store) = store {
            for name in of_files.iter().filter(|name| !is_path(name)) {
                if store.study(name).await.is_ok() {
                    return Err(miette::miette!(
                        help = format!(
                            "`./{name}` is the file; `backsight studies` says the study's number"
                        ),
                        "`{name}` is a file here and a study in the store"
                    ));
                }
            }
        }
        let sources = of_files.into_iter();
        Ok(Self::Files(
            sources
                .map(|side| TableSource::from_argument(side))
                .collect(),
        ))
    }
}

/// Whether an argument is a path that leads to something that can be read.
fn is_file(argument: &str) -> bool {
    argument == "-"
        || Path::new(argument)
            .metadata()
            .is_ok_and(|found| !found.is_dir())
}

/// Whether an argument can be nothing but a path: no study has such a name.
fn is_path(argument: &str) -> bool {
    argument == "-" || argument.contains(std::path::MAIN_SEPARATOR)
}

/// Studies with their comparison.
pub struct ComparedStudies {
    /// The studies, the first is the baseline.
    pub studies: Vec<StudyId>,
    /// What each measured.
    pub sets: Vec<ResultSet>,
    /// What that says.
    pub comparison: Comparison,
    /// What the hosts of each side were, those of other testbeds under the names of the hosts that they stand beside; nothing where
    /// parts of one study are compared.
    pub records: Vec<HostRecordMap>,
}

impl ComparedStudies {
    /// Compares studies by name or number, or the parts of one.
    ///
    /// # Errors
    /// There is no such study, nothing to compare, or the store's own.
    pub async fn from_store(
        store: &Store,
        asked: &[String],
        by: Option<&SplitKey>,
        options: CompareOptions,
    ) -> miette::Result<Self> {
        let mut rows = Vec::new();
        for asked in asked {
            let study = store.study(asked).await.into_diagnostic()?;
            refuse_sides(&study)?;
            rows.push(study);
        }
        let parts = rows.iter().map(|study| StudyPart {
            study: study.id.0,
            name: study.name.to_string(),
            trials: None,
        });
        let parts: Vec<StudyPart> = parts.collect();
        let Some(by) = by else {
            if let [only] = &parts[..] {
                return Err(miette::miette!(
                    help = "name a second study, or say which of its parts to compare: `--by variant` or `--by PARAMETER`",
                    "there is nothing to compare `{}` with",
                    only.name
                ));
            }
            return Self::from_parts(store, &parts, options).await;
        };
        let studies: Vec<StudyId> = rows.iter().map(|study| study.id).collect();
        let sets = result_sets(store, &studies).await?;
        let comparison = compare_parts(store, "compare", (&rows, &sets), by, options).await?;
        Self::told(store, studies, sets, comparison, Vec::new()).await
    }

    /// Compares studies, or parts of them; the first is the baseline.
    ///
    /// # Errors
    /// The store's own.
    pub async fn from_parts(
        store: &Store,
        parts: &[StudyPart],
        options: CompareOptions,
    ) -> miette::Result<Self> {
        let studies: Vec<StudyId> = parts.iter().map(|part| StudyId(part.study)).collect();
        let sets = result_sets(store, &studies).await?;
        let sets: Vec<ResultSet> = (parts.iter().zip(sets))
            .map(|(part, set)| part.of_results(set))
            .collect();
        let mut comparison = compare(&sets, options);
        if comparison.lacks_a_spread() {
            let others = studies_of_same_benchmarks(store, &studies, &sets).await?;
            comparison = compare_with_spreads(&sets, &others, options);
        }
        let all = records_of_studies(store, &studies).await;
        let by_side = studies.iter().zip(&comparison.sides).map(|(study, side)| {
            let mut records = all.get(&study.0).cloned().unwrap_or_default();
            // Of several testbeds at once, those of this one.
            if side.hosts.iter().any(|host| records.contains_key(host)) {
                records.retain(|host, _| side.hosts.contains(host));
            }
            records
        });
        let records = records_side_by_side(&by_side.collect::<Vec<_>>());
        comparison.tell_of_hosts(&records);
        Self::told(store, studies, sets, comparison, records).await
    }

    /// A comparison with what a reader should know of how its sets were measured.
    async fn told(
        store: &Store,
        studies: Vec<StudyId>,
        sets: Vec<ResultSet>,
        mut comparison: Comparison,
        records: Vec<HostRecordMap>,
    ) -> miette::Result<Self> {
        let warnings = measurement_warnings(store, &sets).await?;
        comparison.warnings.extend(warnings);
        Ok(Self {
            studies,
            sets,
            comparison,
            records,
        })
    }
}

/// Compares the parts of the one study that was named to `verb`.
///
/// # Errors
/// Several studies were named, the study hasn't such parts, or the store's own.
pub async fn compare_parts(
    store: &Store,
    verb: &str,
    (studies, sets): (&[StudyRow], &[ResultSet]),
    by: &SplitKey,
    options: CompareOptions,
) -> miette::Result<Comparison> {
    let ([study], [set]) = (studies, sets) else {
        let first = studies.first().map_or("STUDY", |study| study.name.as_str());
        return Err(miette::miette!(
            help = format!("name one study: `backsight {verb} {first} --by {by}`"),
            "--by compares the parts of one study, and {} were named",
            studies.len()
        ));
    };
    let comparison = compare_by(set, by, options).into_diagnostic()?;
    run::at_every_look(store, study, comparison).await
}

/// What is known of the studies of a comparison beside their metrics.
///
/// # Errors
/// The store's own.
pub async fn compared_background(
    store: &Store,
    studies: &[StudyId],
    comparison: &Comparison,
) -> miette::Result<ComparedBackground> {
    let mut instances = Vec::new();
    for study in studies {
        let row = store.study_of(*study).await.into_diagnostic()?;
        instances.extend(stored_study::instances(store, &row).await?);
    }
    Ok(ComparedBackground {
        more_rounds: more_rounds(store, studies, comparison).await?,
        instances,
    })
}

/// How to measure what isn't decided in a comparison of these studies.
///
/// # Errors
/// The store's own.
pub async fn more_rounds(
    store: &Store,
    studies: &[StudyId],
    comparison: &Comparison,
) -> miette::Result<Option<MoreRounds>> {
    let mut takes_rounds = Vec::new();
    for study in studies {
        let row = store.study_of(*study).await.into_diagnostic()?;
        takes_rounds.extend((row.verb == RunVerb::NAME).then_some(study.0));
    }
    Ok(MoreRounds::for_comparison(comparison, &takes_rounds))
}

/// Other studies of the store that measured the same benchmarks, the newest first.
async fn studies_of_same_benchmarks(
    store: &Store,
    studies: &[StudyId],
    sets: &[ResultSet],
) -> miette::Result<Vec<ResultSet>> {
    let series = sets.iter().flat_map(|set| &set.series);
    let benchmarks: IndexSet<&BenchmarkName> =
        series.map(|series| &series.cell.benchmark).collect();
    let mut found = IndexSet::new();
    for benchmark in benchmarks {
        let of_benchmark = store.studies_of_benchmark(benchmark, MOST_OTHERS).await;
        found.extend(of_benchmark.into_diagnostic()?);
    }
    found.retain(|study| !studies.contains(study));
    let found: Vec<StudyId> = found.into_iter().collect();
    result_sets(store, &found).await
}
