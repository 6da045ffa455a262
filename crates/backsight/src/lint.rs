//! `backsight lint`: advice to who writes definitions of benchmarks.

use backsight_catalog::{BenchmarkDefinition, LintFinding, MetricReading, lint, lint_readings};
use backsight_model::{BenchmarkName, TomlDocument};
use backsight_report::{escape, numbers::counted};
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{exit_status::ExitStatus, files, try_parser};

/// Arguments of `lint`.
#[derive(Debug, clap::Args)]
pub struct LintArgs {
    /// Definitions, or folders of them
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Folder with recorded outputs, NAME/OUTPUT.txt for the definition NAME: what the parsers find in them is checked too
    #[arg(long, value_name = "DIR")]
    outputs: Option<PathBuf>,
}

impl LintArgs {
    /// Prints what is amiss.
    pub fn execute(self) -> miette::Result<ExitCode> {
        let mut definitions = Vec::new();
        if let Some(path) = self.paths.iter().find(|path| !path.exists()) {
            return Err(miette::miette!(
                help = "name a definition, NAME.toml, or a folder of them; `backsight new benchmark NAME` writes one",
                "{} isn't there",
                path.display()
            ));
        }
        for path in &self.paths {
            match path.is_dir() {
                true => definitions.extend(files_of(path, "toml")?),
                false => definitions.push(path.clone()),
            }
        }
        if definitions.is_empty() {
            return Err(miette::miette!(
                help = "name a folder that has NAME.toml files",
                "no definition is there"
            ));
        }
        if let Some(folder) = self.outputs.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(miette::miette!(
                help = "name the folder that has NAME/OUTPUT.txt for the definition NAME",
                "no outputs are looked into: {} is no folder",
                folder.display()
            ));
        }
        let mut findings = 0;
        for file in &definitions {
            for finding in self.findings(file)? {
                findings += 1;
                files::print(&format!(
                    "{}: {}\n",
                    escape::line(&file.display().to_string()),
                    escape::line(&finding)
                ))?;
            }
        }
        files::print_note(&format!(
            "{}, {}",
            counted(definitions.len(), "definition"),
            counted(findings, "finding")
        ));
        Ok(ExitStatus::failed_if(findings > 0))
    }

    /// What is amiss with the definition in a file.
    fn findings(&self, file: &Path) -> miette::Result<Vec<String>> {
        let stem = file.file_stem().and_then(|stem| stem.to_str());
        let stem = stem.unwrap_or_default();
        let document = TomlDocument::open(file)?;
        let read = BenchmarkName::new(stem)
            .map_err(|why| why.to_string())
            .and_then(|name| {
                let definition = BenchmarkDefinition::read(&name, &document);
                definition.map_err(|why| why.to_string())
            });
        let definition = match read {
            Ok(definition) => definition,
            Err(why) => return Ok(vec![why]),
        };
        let said = |findings: Vec<LintFinding>, of: &str| -> Vec<String> {
            let findings = findings.iter();
            findings.map(|finding| format!("{finding}{of}")).collect()
        };
        let mut all = said(lint(&definition.benchmark), "");
        let outputs = self.outputs.as_ref().map(|folder| folder.join(stem));
        if let Some(folder) = outputs.filter(|folder| folder.is_dir()) {
            for output in files_of(&folder, "txt")? {
                let text = std::fs::read(&output)
                    .into_diagnostic()
                    .wrap_err_with(|| format!("{} can't be read", output.display()))?;
                let steps = try_parser::steps(&definition, &text);
                let readings = definition.parsers.readings(&steps);
                // Outputs of runs that failed are recorded too: that nothing is found there is right.
                let is_found = |reading: &MetricReading| {
                    let mut primary = definition.benchmark.primary_metrics();
                    reading.sample().is_some() && primary.any(|name| *name == reading.metric)
                };
                if !readings.iter().any(is_found) {
                    continue;
                }
                let findings = lint_readings(&readings);
                all.extend(said(findings, &format!(" ({})", output.display())));
            }
        }
        Ok(all)
    }
}

/// The files of a folder whose names end so, in the order of their names.
fn files_of(folder: &Path, extension: &str) -> miette::Result<Vec<PathBuf>> {
    let read = || {
        let entries = std::fs::read_dir(folder)?;
        let paths = entries.map(|entry| Ok(entry?.path()));
        paths.collect::<std::io::Result<Vec<PathBuf>>>()
    };
    let mut files = read()
        .into_diagnostic()
        .wrap_err_with(|| format!("{} can't be read", folder.display()))?;
    files.retain(|file| file.extension().is_some_and(|it| it == extension));
    files.sort();
    Ok(files)
}
