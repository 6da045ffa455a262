//! Results of tests: JUnit's XML, TAP, and the reports of KernelCI's database.

use backsight_test_results::{JUnitWriter, TapWriter};
use std::io;

use super::{ExportError, exported_tests::ExportedTests, kcidb};
use crate::table::TableOutput;

/// How results of tests are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestExportFormat {
    /// JUnit's XML.
    JUnit,
    /// TAP 14.
    Tap,
    /// A report for KCIDB, KernelCI's database.
    Kcidb,
}

/// Writes the results of a run; `origin` is what KCIDB knows the sender by.
///
/// # Errors
/// It can't be written.
pub fn export_tests(
    tests: &ExportedTests,
    form: TestExportFormat,
    origin: &str,
    mut out: TableOutput,
) -> Result<(), ExportError> {
    let written = match form {
        TestExportFormat::JUnit => junit(tests, &mut out),
        TestExportFormat::Tap => tap(tests, &mut out),
        TestExportFormat::Kcidb => kcidb::write(tests, origin, &mut out),
    };
    written.map_err(|error| ExportError::Unwritable(error.to_string()))?;
    out.finish()?;
    Ok(())
}

fn junit(tests: &ExportedTests, out: &mut TableOutput) -> io::Result<()> {
    let mut writer = JUnitWriter::new(out)?;
    for result in &tests.run.results {
        writer.write(&result.to_result())?;
    }
    writer.finish().map(|_| ())
}

fn tap(tests: &ExportedTests, out: &mut TableOutput) -> io::Result<()> {
    let mut writer = TapWriter::new(out)?;
    for result in &tests.run.results {
        writer.write(&result.to_result())?;
    }
    writer.finish().map(|_| ())
}
