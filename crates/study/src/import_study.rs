//! Studies out of files that other tools wrote: read first, then kept whole or not at all.

use backsight_exchange::import::{
    ImportChoices, ImportFormat, ImportedStudy, Importer, guess_test_format, has_go_benchmarks,
    import, import_tests, test_formats,
};
use backsight_model::{
    BenchmarkName, CellMetric, Failure, ResultFormat, StudyName, SuiteRun, TestCount, counted,
    did_you_mean,
};
use backsight_store::{FinishedFile, FinishedStudy, FinishedTrial, NewStudy, Store, StudyDocument};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use std::path::{Path, PathBuf};

use crate::{
    import_arguments::{ImportArguments, ROLE, file_command, new_import},
    import_tests::{find_test_format, tests_study},
};

/// Files that were read and can be kept as a study.
pub struct ReadImport {
    study: FinishedStudy,
}

impl ReadImport {
    /// Reads files in a format; without a name the study is called as the first file, without a suite the suite of results of
    /// tests as the format. No store is needed: what can't be imported leaves nothing.
    ///
    /// # Errors
    /// There is no such format, the files aren't what it reads, or something was said that isn't for this format.
    pub fn read(
        format: &str,
        files: &[PathBuf],
        name: Option<StudyName>,
        suite: Option<BenchmarkName>,
        choices: &ImportChoices,
    ) -> miette::Result<Self> {
        let format = ImportedFormat::find(format, files, suite.is_some())?;
        let name = match (name, files.first()) {
            (Some(name), _) => name,
            (None, first) => name_from_file(first.map_or(Path::new(""), PathBuf::as_path))?,
        };
        let study = match format {
            ImportedFormat::Numbers(importer) => {
                if suite.is_some() {
                    let format = &importer.format.name;
                    return Err(miette::miette!(
                        help = "leave it out, or name a format of test results: junit, tap, …",
                        "`--suite` is for results of tests, and `{format}` has numbers"
                    ));
                }
                let imported = import(&importer, files, choices)?;
                let arguments = ImportArguments::of_numbers(&importer, files, choices);
                numbers_study(&importer, name, &arguments, imported)?
            }
            ImportedFormat::Tests(format) => {
                if *choices != ImportChoices::default() {
                    return Err(miette::miette!(
                        help = "leave them out: what counts is known of tests",
                        "`{format}` has results of tests: choices about numbers and sessions aren't for it"
                    ));
                }
                let imported = import_tests(format, files)?;
                let suite = suite.map_or_else(|| format.name().parse().into_diagnostic(), Ok)?;
                let arguments = ImportArguments::of_tests(format, files, suite.clone());
                tests_study(&arguments, suite, name, imported)?
            }
        };
        Ok(Self { study })
    }

    /// Saves the study, whole.
    ///
    /// # Errors
    /// There is a study of that name, or the store's own.
    pub async fn save(&self, store: &Store) -> miette::Result<()> {
        let name = self.name();
        if let Ok(taken) = store.study(name.as_str()).await
            && taken.name == *name
        {
            return Err(miette::miette!(
                help = format!(
                    "call it something else (`--as NAME`), or remove that one (`backsight delete {name}`)"
                ),
                "there is a study `{name}` already"
            ));
        }
        let kept = store.add_finished_study(&self.study).await;
        kept.into_diagnostic().map(|_| ())
    }

    /// What the study is called.
    pub fn name(&self) -> &StudyName {
        &self.study.new.name
    }

    /// What a reader of its numbers should know.
    pub fn notes(&self) -> &[String] {
        &self.study.warnings
    }

    /// Whether any trial gave samples.
    pub fn has_samples(&self) -> bool {
        self.study.trials.iter().any(|trial| trial.outcome.is_ok())
    }

    /// How much it is: `5 trials of 2 cells`, `12 results of tests (1 failed)`.
    pub fn size(&self) -> String {
        let mut runs = self.study.trials.iter().filter_map(|it| it.suite.as_ref());
        if let Some(run) = runs.next() {
            return run_size(run);
        }
        let (trials, cells) = (&self.study.trials, self.study.new.cells.len());
        let failed = trials.iter().filter(|trial| trial.outcome.is_err()).count();
        let trials = counted(trials.len(), "trial");
        let failed = match failed {
            0 => String::new(),
            failed => format!(", {failed} of them failed,"),
        };
        format!("{trials} of {}{failed}", counted(cells, "cell"))
    }
}

/// How many results a run has, and of which kinds but passed ones.
fn run_size(run: &SuiteRun) -> String {
    let counts = TestCount::ALL.into_iter().filter_map(|count| {
        let (tests, word) = (run.count(count), count.name());
        (tests > 0 && count != TestCount::Passed).then(|| format!("{tests} {word}"))
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let results = counted(run.results.len(), "result");
    match counts.as_str() {
        "" => format!("{results} of tests, all passed,"),
        counts => format!("{results} of tests ({counts})"),
    }
}

/// What the name of a format means.
enum ImportedFormat {
    Numbers(Box<Importer>),
    Tests(ResultFormat),
}

impl ImportedFormat {
    /// The format of this name. One that both kinds have, `go-test`, is the one whose results the files have: the numbers, unless
    /// they have none or a suite was named.
    fn find(name: &str, files: &[PathBuf], names_suite: bool) -> miette::Result<Self> {
        match (Importer::find(name)?, find_test_format(name)) {
            (Some(_), Some(tests))
                if names_suite || !files.iter().any(|path| has_go_benchmarks(path)) =>
            {
                Ok(Self::Tests(tests))
            }
            (Some(importer), _) => Ok(Self::Numbers(Box::new(importer))),
            (None, Some(tests)) => Ok(Self::Tests(tests)),
            (None, None) => Err(unknown_format(name)?),
        }
    }
}

fn unknown_format(name: &str) -> miette::Result<miette::Report> {
    let known = ImportFormat::all()?;
    let of_numbers = known
        .iter()
        .flat_map(|known| known.also.iter().chain([&known.name]));
    let of_tests = test_formats().map(|row| row.name);
    let near = did_you_mean(name, of_numbers.map(String::as_str).chain(of_tests));
    // The format was left out.
    let guessed = || {
        let format = guess_test_format(Path::new(name))?;
        let command = format!("backsight import {format} {name}");
        Some(format!("it looks like a file of test results: `{command}`"))
    };
    let list = || "`backsight list importers` shows what there is".into();
    Ok(miette::miette!(
        help = guessed().or(near).unwrap_or_else(list),
        "`{name}` is no format that can be imported"
    ))
}

/// A study's name out of a file's.
fn name_from_file(file: &Path) -> miette::Result<StudyName> {
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let stem = whole.file_stem().unwrap_or_default().to_string_lossy();
    // All digits would be taken for a study's number.
    let legal = stem.bytes().any(|byte| !byte.is_ascii_digit());
    let name = StudyName::new(stem.as_ref()).ok().filter(|_| legal);
    name.ok_or_else(|| {
        miette::miette!(
            help = "say what it is called: --as NAME",
            "{} can't be a study's name",
            file.display()
        )
    })
}

fn numbers_study(
    importer: &Importer,
    name: StudyName,
    arguments: &ImportArguments,
    imported: ImportedStudy,
) -> miette::Result<FinishedStudy> {
    let metrics: IndexMap<BenchmarkName, Vec<CellMetric>> = imported
        .metrics
        .into_iter()
        .map(|(benchmark, metrics)| {
            let shapes = metrics.into_iter().map(|metric| CellMetric {
                name: metric.name,
                unit: metric.unit,
                better: metric.better,
                about: metric.about,
                primary: metric.primary,
                monitor: None,
                simulator: None,
            });
            (benchmark, shapes.collect())
        })
        .collect();
    let sources = imported.files.into_iter().map(|file| FinishedFile {
        command: file_command(&importer.format.name, &file.path),
        content: file.content.into(),
    });
    let trials = imported.trials.into_iter().map(|trial| FinishedTrial {
        suite: None,
        cell: trial.cell,
        round: trial.round,
        session: trial.session,
        host: trial.host,
        outcome: trial.outcome.map_err(Failure::of_trial),
        files: trial.files,
    });
    Ok(FinishedStudy {
        new: NewStudy {
            documents: vec![StudyDocument {
                kind: "importer".into(),
                name: importer.format.name.clone(),
                text: importer.document.text.to_string(),
            }],
            cells: imported.cells,
            metrics,
            ..new_import(name, arguments)?
        },
        at: jiff::Timestamp::now(),
        hosts: imported.hosts,
        role: ROLE.parse().into_diagnostic()?,
        files: sources.collect(),
        trials: trials.collect(),
        warnings: imported.notes,
    })
}
