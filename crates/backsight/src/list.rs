//! `backsight list`: what there is.

use backsight_catalog::benchmark_sets;
use backsight_settings::SettingCatalog;
use std::process::ExitCode;

use crate::{common_options::CommonOptions, exit_status::ExitStatus};

/// Arguments of `list`.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// What to list
    #[arg(value_enum)]
    what: What,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum What {
    Benchmarks,
    Sets,
    Monitors,
    Importers,
    Settings,
}

impl ListArgs {
    /// Prints it.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        match self.what {
            What::Benchmarks => return benchmarks(shared),
            What::Sets => sets()?,
            What::Monitors => monitors(shared)?,
            What::Importers => importers()?,
            What::Settings => settings(shared)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Lists them, but for those that can't be read: these are said.
fn benchmarks(shared: &CommonOptions) -> miette::Result<ExitCode> {
    let catalog = crate::files::catalog(shared, Some(std::path::Path::new("plan.toml")))?;
    let mut table = table(&["benchmark", "roles", "metrics", "about"]);
    let mut unreadable = Vec::new();
    for name in catalog.names() {
        let definition = match catalog.find(&name) {
            Ok(Some(definition)) => definition,
            Ok(None) => continue,
            Err(error) => {
                unreadable.push(miette::Report::from(error));
                continue;
            }
        };
        let benchmark = &definition.benchmark;
        let roles: Vec<String> = benchmark.roles.iter().map(ToString::to_string).collect();
        let metrics: Vec<String> = benchmark.metrics.keys().map(ToString::to_string).collect();
        table.add_row([
            name.to_string(),
            roles.join(", "),
            metrics.join(", "),
            benchmark.about.clone(),
        ]);
    }
    crate::files::print(&format!("{table}\n"))?;
    for fault in &unreadable {
        eprintln!("\n{fault:?}");
    }
    Ok(ExitStatus::failed_if(!unreadable.is_empty()))
}

fn sets() -> miette::Result<()> {
    let mut table = table(&["set", "takes", "benchmarks", "good for"]);
    for set in benchmark_sets()? {
        let plan = &set.plan;
        let benchmarks = plan.benchmarks.iter().map(|name| name.to_string());
        table.add_row([
            set.name.to_owned(),
            plan.takes
                .map_or_else(String::new, |time| format!("about {time}")),
            benchmarks.collect::<Vec<_>>().join(", "),
            plan.about.clone().unwrap_or_default(),
        ]);
    }
    crate::files::print(&format!("{table}\n"))
}

fn monitors(shared: &CommonOptions) -> miette::Result<()> {
    let catalog = crate::files::catalog(shared, Some(std::path::Path::new("plan.toml")))?;
    let mut table = table(&["monitor", "watches", "needs", "about"]);
    for name in catalog.monitors().names() {
        let Some(monitor) = catalog.monitors().find(&name)? else {
            continue;
        };
        let needs = match monitor.programs.is_empty() {
            true => "nothing".to_owned(),
            false => monitor.programs.join(", "),
        };
        table.add_row([
            name.to_string(),
            monitor.watches.to_string(),
            needs,
            monitor.about,
        ]);
    }
    crate::files::print(&format!("{table}\n"))
}

fn settings(shared: &CommonOptions) -> miette::Result<()> {
    let catalog = crate::files::catalog(shared, Some(std::path::Path::new("plan.toml")))?;
    let catalog = SettingCatalog::with_documents(catalog.settings())?;
    let mut table = table(&["setting", "is", "needs", "about"]);
    table.add_rows(catalog.rows());
    crate::files::print(&format!("{table}\n"))
}

fn importers() -> miette::Result<()> {
    let mut table = table(&["importer", "reads", "a number is", "made by"]);
    for importer in backsight_exchange::import::ImportFormat::all()? {
        let mut name = importer.name;
        for also in importer.also {
            name.push_str(&format!(", {also}"));
        }
        table.add_row([
            name,
            importer.about,
            importer.level.as_str().to_owned(),
            importer.made_by,
        ]);
    }
    let mut tests = self::table(&["test results", "made by"]);
    for format in backsight_exchange::import::test_formats() {
        tests.add_row([format.name, format.about]);
    }
    crate::files::print(&format!("{table}\n\n{tests}\n"))
}

/// A table without lines, as wide as the terminal.
pub fn table(header: &[&str]) -> comfy_table::Table {
    backsight_report::list_table(header, crate::files::width())
}
