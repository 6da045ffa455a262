//! What tests of importers have in common.

#![allow(dead_code, reason = "no file of tests uses all of it")]

use backsight_exchange::import::{ImportedStudy, ImportedTrial, Importer};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A file of `fixtures`.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// The importer of this name.
pub fn importer(format: &str) -> Importer {
    Importer::find(format).unwrap().unwrap()
}

/// A file of this content, in a folder that goes with it.
pub fn file(name: &str, content: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    (folder, path)
}

/// `cell metric unit better: trial trial …`, a line a series; the samples of one trial with commas between them.
pub fn lines(imported: &ImportedStudy) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, cell) in imported.cells.iter().enumerate() {
        let trials: Vec<&ImportedTrial> = imported
            .trials
            .iter()
            .filter(|t| t.cell == number)
            .collect();
        for metric in imported.metrics.get(&cell.benchmark).into_iter().flatten() {
            let samples: Vec<String> = trials
                .iter()
                .filter_map(|trial| trial.outcome.as_ref().ok())
                .flatten()
                .filter(|samples| samples.metric == metric.name)
                .map(|samples| {
                    let values: Vec<String> = samples.values.iter().map(f64::to_string).collect();
                    values.join(",")
                })
                .collect();
            if !samples.is_empty() {
                let (name, unit, better) = (&metric.name, metric.unit, metric.better);
                lines.push(format!(
                    "{cell} {name} {unit} {better}: {}",
                    samples.join(" ")
                ));
            }
        }
        for trial in trials {
            if let Err(why) = &trial.outcome {
                lines.push(format!("{cell} failed: {why}"));
            }
        }
    }
    lines
}
