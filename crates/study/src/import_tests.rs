//! Studies out of results of tests that other tools wrote: one trial of one suite.

use backsight_exchange::import::{ImportedTests, test_formats};
use backsight_model::{
    BenchmarkName, Cell, CellMetric, MetricName, MetricSamples, ResultFormat, StudyName, TestCount,
    Unit, VariantName,
};
use backsight_store::{
    FileContent, FilePart, FinishedFile, FinishedStudy, FinishedTrial, NewStudy,
};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use std::sync::Arc;

use crate::import_arguments::{ImportArguments, ROLE, file_command, new_import};

/// The format of test results of this name, if files can be imported in it.
pub(crate) fn find_test_format(name: &str) -> Option<ResultFormat> {
    let found = test_formats().find(|row| row.name == name);
    found.map(|row| row.format)
}

/// The cell of a suite.
pub(crate) fn suite_cell(suite: BenchmarkName) -> miette::Result<Cell> {
    Ok(Cell {
        benchmark: suite,
        params: IndexMap::new(),
        chosen: Vec::new(),
        variant: VariantName::new("default").into_diagnostic()?,
        monitors: None,
    })
}

fn metrics() -> miette::Result<Vec<CellMetric>> {
    let metric = |count: TestCount| {
        Ok(CellMetric {
            name: MetricName::new(count.name()).into_diagnostic()?,
            unit: Unit::parse("tests").into_diagnostic()?,
            better: count.better(),
            about: count.about().to_owned(),
            primary: count == TestCount::PRIMARY,
            monitor: None,
            simulator: None,
        })
    };
    TestCount::ALL.into_iter().map(metric).collect()
}

/// The study of a suite whose results were read.
pub(crate) fn tests_study(
    arguments: &ImportArguments,
    suite: BenchmarkName,
    name: StudyName,
    imported: ImportedTests,
) -> miette::Result<FinishedStudy> {
    let ImportedTests { copy, files, run } = imported;
    let copy = Arc::new(copy);
    let mut from = 0;
    let sources = files.into_iter().map(|file| {
        let part = FilePart {
            file: Arc::clone(&copy),
            from,
            length: file.length,
        };
        from += file.length;
        FinishedFile {
            command: file_command(&arguments.format, &file.path),
            content: FileContent::OnDisk(part),
        }
    });
    let files: Vec<FinishedFile> = sources.collect();
    let new = NewStudy {
        cells: vec![suite_cell(suite.clone())?],
        metrics: IndexMap::from([(suite, metrics()?)]),
        ..new_import(name, arguments)?
    };
    Ok(FinishedStudy {
        new,
        at: jiff::Timestamp::now(),
        hosts: IndexMap::from([("elsewhere".parse().into_diagnostic()?, IndexMap::new())]),
        role: ROLE.parse().into_diagnostic()?,
        warnings: run.problems.clone(),
        trials: vec![FinishedTrial {
            cell: 0,
            round: 1,
            session: 1,
            host: 0,
            outcome: Ok(MetricSamples::of_suite(&run)),
            suite: Some(run),
            files: (0..files.len()).collect(),
        }],
        files,
    })
}
