//! `backsight new benchmark`: a definition that runs, to go on from.

use backsight_catalog::{BenchmarkDefinition, Catalog};
use backsight_model::{BenchmarkName, TomlDocument};
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{
    io::{BufRead as _, IsTerminal as _, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use crate::files;

/// Arguments of `new`.
#[derive(Debug, clap::Args)]
pub struct NewArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Write the definition of a benchmark: what isn't said is asked for in a terminal
    Benchmark(BenchmarkArgs),
}

#[derive(Debug, clap::Args)]
struct BenchmarkArgs {
    /// Its name, and that of its file
    name: BenchmarkName,
    /// The command that is measured
    #[arg(long, value_name = "COMMAND")]
    run: Option<String>,
    /// What it measures, in a line
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
    /// What it does not measure, though its numbers may be read so
    #[arg(long, value_name = "TEXT")]
    not: Option<String>,
    /// The name of its metric
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// The metric's unit: s, MiB/s, requests/s, …
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,
    /// Which direction is good
    #[arg(long, value_name = "DIRECTION", value_parser = ["higher", "lower"])]
    better: Option<String>,
    /// The expression that finds the value in what the command prints: 'rate: (?<value>[\d.]+)'; without one, how long the command
    /// takes is measured
    #[arg(long, value_name = "REGEX")]
    regex: Option<String>,
    /// The command of a server that runs beside, on a role of its own; `{server.data}` is its address
    #[arg(long, value_name = "COMMAND", requires = "port")]
    server: Option<String>,
    /// The TCP port that the server listens on when it is ready
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// The folder that it is written into
    #[arg(long, value_name = "DIR", default_value = "benchmarks")]
    into: PathBuf,
}

impl NewArgs {
    /// Writes it.
    pub fn execute(self) -> miette::Result<ExitCode> {
        let What::Benchmark(asked) = self.what;
        asked.write()
    }
}

/// Asks in the terminal for what isn't given; the usual where there is none.
fn given_or_asked(given: Option<String>, question: &str, usual: &str) -> miette::Result<String> {
    if let Some(given) = given {
        return Ok(given);
    }
    if !std::io::stdin().is_terminal() {
        return Ok(usual.to_owned());
    }
    let mut out = std::io::stderr();
    write!(out, "{question} [{usual}]: ").into_diagnostic()?;
    out.flush().into_diagnostic()?;
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .into_diagnostic()?;
    Ok(match answer.trim() {
        "" => usual.to_owned(),
        answer => answer.to_owned(),
    })
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    // JSON's escapes are TOML's.
    serde_json::Value::from(text).to_string()
}

impl BenchmarkArgs {
    fn write(self) -> miette::Result<ExitCode> {
        let path = self.into.join(format!("{}.toml", self.name));
        if path.exists() {
            return Err(miette::miette!(
                help = "choose another name, or edit that file",
                "{} is there already",
                path.display()
            ));
        }
        let name = self.name.clone();
        let text = self.text()?;
        let document = TomlDocument::new(path.display().to_string(), text.as_str());
        let needs_build = BenchmarkDefinition::read(&name, &document)?
            .benchmark
            .needs_build();
        if Catalog::load(&[])?.find(&name)?.is_some() {
            files::print_note(&format!(
                "the catalogue has a benchmark `{name}` too: where this file is found, it takes its place"
            ));
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .into_diagnostic()
                .wrap_err_with(|| format!("{} can't be made", folder.display()))?;
        }
        files::write_whole(&path, text)?;
        let command = match needs_build {
            false => format!("backsight run --use {name} --rounds 3"),
            true => "backsight step PLAN --target NAME --last 1w".to_owned(),
        };
        files::print(&format!(
            "wrote {}; measure it: {command}\n",
            path.display()
        ))?;
        Ok(ExitCode::SUCCESS)
    }

    fn text(self) -> miette::Result<String> {
        let name = &self.name;
        let run = given_or_asked(self.run, "the command that is measured", "seq 1000000")?;
        let program = run.split_whitespace().next().unwrap_or_default().to_owned();
        let regex = given_or_asked(
            self.regex,
            "the expression that finds the value, `(?<value>…)`; `time` for how long it takes",
            "time",
        )?;
        let is_timed = regex == "time";
        let about = given_or_asked(
            self.about,
            "what it measures, in a line",
            &match is_timed {
                true => format!("how long `{program}` takes"),
                false => format!("what `{program}` tells"),
            },
        )?;
        let not = given_or_asked(self.not, "what is wrongly read into its numbers", "")?;
        let usual = if is_timed {
            ("time", "s", "lower")
        } else {
            ("rate", "ops/s", "higher")
        };
        let metric = given_or_asked(self.metric, "the metric's name", usual.0)?;
        let unit = given_or_asked(self.unit, "its unit", usual.1)?;
        if is_timed && unit != "s" {
            return Err(miette::miette!(
                help = "say where the value stands in what the command prints: --regex 'rate: (?<value>[\\d.]+)'",
                "how long a command takes is measured in s, not in {unit}"
            ));
        }
        let better = given_or_asked(
            self.better,
            "which direction is good, higher or lower",
            usual.2,
        )?;
        let (roles, client, server) = match (&self.server, self.port) {
            (Some(command), Some(port)) => {
                let program = command.split_whitespace().next().unwrap_or_default();
                let server = format!(
                    "[server]\nprograms = [{}]\nstartup.spawn = {{ run = {}, ready = {{ listens = {port} }} }}\n\n",
                    quoted(program),
                    quoted(command)
                );
                (r#"["server", "client"]"#, "client", server)
            }
            _ => (r#"["dut"]"#, "dut", String::new()),
        };
        let parser = match is_timed {
            true => r#"resource = "wall""#.to_owned(),
            false => format!("regex   = {}", quoted(&regex)),
        };
        Ok(format!(
            "name    = {name}\nabout   = {about}\nroles   = {roles}\nneeds   = {{ debian = [] }} # packages\n\
             timeout = \"60s\"\n# version = \"{program} --version\"\n\n\
             # For who reads its numbers: what they say, what is wrongly read into them, and what makes them mislead.\n\
             measures = {about}\nnot      = {not}\ntraps    = [] # {{ trap = \"…\", source = \"https://…\" }}\n\n\
             # Parameters, which commands have in braces: [params] size = {{ default = 1024, min = 1, unit = \"B\", about = \"…\" }}\n\n\
             {server}[{client}]\nprograms = [{program_text}]\nrun = {run}\n\n\
             [metric.{metric}]\nunit    = {unit}\nbetter  = {better}\nprimary = true\nabout   = {about}\n{parser}\n",
            name = quoted(name.as_str()),
            about = quoted(&about),
            not = quoted(&not),
            program_text = quoted(&program),
            run = quoted(&run),
            unit = quoted(&unit),
            better = quoted(&better),
        ))
    }
}
