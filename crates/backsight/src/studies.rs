//! `backsight studies`, `show` and `delete`: what the store has.

use backsight_model::{BenchmarkName, MonitorName, did_you_mean};
use backsight_report::{
    Format, TerminalStyle,
    definition_text::{benchmark_text, monitor_text},
    escape::visible_bytes,
    scenario_matrix::MatrixAxes,
    stored_study::{StudyListEntry, StudyOverview, documents_text, hosts_text, studies_table},
};
use backsight_settings::SettingCatalog;
use backsight_store::{Store, StudyRow};
use backsight_study::{
    IMPORT_VERB, VerdictReport, cross_checks_of_study, scenario_matrix, stored_study,
    verbs::{Verb as _, step::StepVerb},
};
use miette::IntoDiagnostic as _;
use std::{io::IsTerminal as _, path::Path, process::ExitCode};

use crate::{common_options::CommonOptions, files, output::Output, plan_args};

/// Arguments of `studies`.
#[derive(Debug, clap::Args)]
pub struct StudiesArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl StudiesArgs {
    /// Lists them.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let studies = store.studies().await.into_diagnostic()?;
            files::print(&match self.json {
                true => {
                    let rows: Vec<_> = studies.iter().map(StudyListEntry::from).collect();
                    backsight_report::json(&rows).into_diagnostic()?
                }
                false => studies_table(&studies, files::width()),
            })?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// A study's name or number, or the word `benchmark`, `monitor` or `setting`
    what: String,
    /// With `benchmark`, `monitor` or `setting`: which one
    name: Option<String>,
    /// One trial of the study, with its steps; with --timeline, --counters or --cross-checks any number of them
    #[arg(long, value_name = "N")]
    trial: Vec<u32>,
    /// What happened when in the first measured trial, or in those of --trial over each other: a page with interval samples and what
    /// samplers saw
    #[arg(long, conflicts_with_all = ["raw", "build", "boot", "documents", "hosts"])]
    timeline: bool,
    /// How much what samplers count rose in the trials of --trial, what is unlike the other trials of the cell first; without --trial
    /// the most unusual counters of all trials
    #[arg(long, conflicts_with_all = ["timeline", "raw", "build", "boot", "documents", "hosts"])]
    counters: bool,
    /// The cross-checks of its measured trials, or of those of --trial: their numbers, how far they lie apart, and whether they hold
    #[arg(long, conflicts_with_all = ["counters", "timeline", "raw", "build", "boot", "documents", "hosts"])]
    cross_checks: bool,
    /// One metric or more over two axes: parameters, the variants, versions, or combinations of these:
    /// `rows=version,columns=variant+clients`, perhaps with the row or column that speed-ups are to, `base=plain`, and the metric,
    /// `metric=throughput`; without AXES those of the plan
    #[arg(
        long,
        value_name = "AXES",
        num_args = 0..=1,
        conflicts_with_all = ["trial", "cross_checks", "counters", "timeline", "raw", "build", "boot", "documents", "hosts"]
    )]
    matrix: Option<Option<MatrixAxes>>,
    /// With --trial: every output as it was printed
    #[arg(long, requires = "trial")]
    raw: bool,
    /// With --trial: one of its core files, as a debugger takes it
    #[arg(long, value_name = "N", requires = "trial", conflicts_with_all = ["raw", "timeline", "counters", "cross_checks", "build", "boot", "documents", "hosts"])]
    core: Option<u32>,
    /// One build of the study, with what its commands printed
    #[arg(long, value_name = "N", conflicts_with_all = ["trial", "documents", "hosts"])]
    build: Option<u32>,
    /// One boot of the study, with what its console said
    #[arg(long, value_name = "N", conflicts_with_all = ["trial", "build", "documents", "hosts"])]
    boot: Option<u32>,
    /// The plan, the lab, the target and the definitions that the study was made from
    #[arg(long)]
    documents: bool,
    /// What each host was
    #[arg(long)]
    hosts: bool,
    #[command(flatten)]
    output: Output,
}

impl ShowArgs {
    /// Shows it.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        if let Some(name) = &self.name {
            match self.what.as_str() {
                "benchmark" => show_benchmark(shared, name)?,
                "monitor" => show_monitor(shared, name)?,
                "setting" => show_setting(shared, name)?,
                what => {
                    return Err(miette::miette!(
                        help = "`show STUDY`, `show benchmark NAME`, `show monitor NAME` or `show setting NAME`",
                        "what is a `{what}`?"
                    ));
                }
            }
            return Ok(ExitCode::SUCCESS);
        }
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let study = store.study(&self.what).await.into_diagnostic()?;
            if self.timeline {
                self.write_timeline(&store, &study).await?;
                return Ok(ExitCode::SUCCESS);
            }
            if self.counters {
                let counters = backsight_study::counters(&store, &study, &self.trial).await?;
                self.output.render(&counters)?;
                return Ok(ExitCode::SUCCESS);
            }
            if self.cross_checks {
                let checks = cross_checks_of_study(&store, &study, &self.trial).await?;
                let checks = checks.ok_or_else(|| {
                    miette::miette!(
                        help = "write some: [cross-check.NAME] in the definition of a benchmark",
                        "no benchmark of `{}` has cross-checks",
                        study.name
                    )
                })?;
                self.output.render(&checks)?;
                return Ok(ExitCode::SUCCESS);
            }
            if let Some(axes) = &self.matrix {
                let matrix = scenario_matrix(&store, &study, axes.as_ref()).await?;
                self.output.render(&matrix)?;
                return Ok(ExitCode::SUCCESS);
            }
            if self.output.is_requested() {
                self.refuse_parts()?;
                match (&study.target, study.verb.as_str()) {
                    (Some(target), StepVerb::NAME) => {
                        crate::history::write_history(&store, target, &self.output).await?;
                    }
                    _ => {
                        let verdict = VerdictReport::from_store(&store, &study).await?;
                        self.output
                            .write(&study, &verdict, &store, Format::Text)
                            .await?;
                    }
                }
                return Ok(ExitCode::SUCCESS);
            }
            if let (Some(core), [trial]) = (self.core, &self.trial[..]) {
                let core = stored_study::core_file(&store, &study, *trial, core).await?;
                files::print_foreign(&core)?;
                return Ok(ExitCode::SUCCESS);
            }
            let page = self.page(&store, &study).await?;
            // What a step printed goes into a file or a pipe as it is.
            match self.raw {
                true => files::print_foreign(&page)?,
                false => files::print_made(&visible_bytes(&page))?,
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    /// What is shown of a study, or of the part of it that was asked for.
    async fn page(&self, store: &Store, study: &StudyRow) -> miette::Result<Vec<u8>> {
        match self.trial[..] {
            [] => {}
            [number] => return stored_study::trial(store, study, number, self.raw).await,
            _ => {
                return Err(miette::miette!(
                    help = "--timeline has them over each other, --counters below each other",
                    "one trial is shown at a time"
                ));
            }
        }
        if let Some(number) = self.build {
            return stored_study::build(store, study, number).await;
        }
        if let Some(number) = self.boot {
            return stored_study::boot(store, study, number).await;
        }
        let text = if self.documents {
            documents_text(&store.documents(study.id).await.into_diagnostic()?)
        } else if self.hosts {
            let results = store.result_set(study.id).await.into_diagnostic()?;
            hosts_text(&results.hosts, files::width())
        } else {
            overview(store, study).await?
        };
        Ok(text.into_bytes())
    }

    async fn write_timeline(&self, store: &Store, study: &StudyRow) -> miette::Result<()> {
        if self.output.chosen(Format::Html)? != Format::Html {
            return Err(miette::miette!(
                help = "name a file that ends in .html: -o FILE.html",
                "a timeline is a page"
            ));
        }
        if self.output.output.is_none() && std::io::stdout().is_terminal() {
            return Err(miette::miette!(
                help = "name a file: -o FILE.html, or send it into a pipe",
                "a page on a terminal is of no use to anybody"
            ));
        }
        let view = backsight_study::timeline(store, study, &self.trial).await?;
        let page = backsight_site::timeline_page(&view).into_diagnostic()?;
        self.output.write_text(&page)
    }

    /// A format is for the verdict, not for a part of the study.
    fn refuse_parts(&self) -> miette::Result<()> {
        let is_part = !self.trial.is_empty()
            || self.build.is_some()
            || self.boot.is_some()
            || self.documents
            || self.hosts;
        match is_part {
            true => Err(miette::miette!(
                help = "leave out --format and --output, or what asks for a part of the study",
                "--format and --output are for a study's verdict"
            )),
            false => Ok(()),
        }
    }
}

fn show_benchmark(shared: &CommonOptions, name: &str) -> miette::Result<()> {
    let catalog = files::catalog(shared, Some(Path::new("plan.toml")))?;
    let found = BenchmarkName::new(name)
        .ok()
        .map(|name| catalog.find(&name))
        .transpose()?;
    let Some(definition) = found.flatten() else {
        let names = catalog.names();
        let near = did_you_mean(name, names.iter().map(|n| n.as_str()));
        let help = near.unwrap_or_else(|| "`backsight list benchmarks` shows what there is".into());
        return Err(miette::miette!(
            help = help,
            "no benchmark `{name}` in the catalogue"
        ));
    };
    let (benchmark, document) = (&definition.benchmark, &definition.document);
    files::print(&benchmark_text(benchmark, document, files::width()))
}

fn show_monitor(shared: &CommonOptions, name: &str) -> miette::Result<()> {
    let catalog = files::catalog(shared, Some(Path::new("plan.toml")))?;
    let monitors = catalog.monitors();
    let known = MonitorName::new(name).ok();
    let document = known.as_ref().and_then(|name| monitors.document(name));
    let found = known.as_ref().map(|name| monitors.find(name)).transpose()?;
    let (Some(monitor), Some(document)) = (found.flatten(), document) else {
        return Err(plan_args::no_monitor(&catalog, name));
    };
    files::print(&monitor_text(&monitor, document))
}

fn show_setting(shared: &CommonOptions, name: &str) -> miette::Result<()> {
    let catalog = files::catalog(shared, Some(Path::new("plan.toml")))?;
    let catalog = SettingCatalog::with_documents(catalog.settings())?;
    files::print(&catalog.page(name).map_err(|help| {
        miette::miette!(help = help, "there is neither a setting nor a set `{name}`")
    })?)
}

async fn overview(store: &Store, study: &StudyRow) -> miette::Result<String> {
    let history = match study.target {
        Some(_) => Some(store.study_history(study.id).await.into_diagnostic()?),
        None => None,
    };
    let verdict = match (&study.target, study.verb.as_str()) {
        (Some(target), StepVerb::NAME) => {
            format!("what was measured: backsight history --target {target}\n")
        }
        _ => {
            let look = TerminalStyle {
                width: files::width(),
                colour: false,
            };
            let verdict = VerdictReport::from_store(store, study).await?;
            backsight_server::render(&verdict, Format::Text, &look, true)?
        }
    };
    let overview = StudyOverview {
        study,
        history: history.as_ref(),
        verdict: &verdict,
        instances: stored_study::instances(store, study).await?,
        testbeds: stored_study::result_set_of_testbeds(store, study).await?,
        cells: &store.cells(study.id).await.into_diagnostic()?,
        trials: &store.trials(study.id).await.into_diagnostic()?,
        imported: study.verb == IMPORT_VERB,
    };
    Ok(overview.text(files::width()))
}

/// Arguments of `delete`.
#[derive(Debug, clap::Args)]
pub struct DeleteArgs {
    /// The study: its name or its number
    study: String,
}

impl DeleteArgs {
    /// Deletes it.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let study = store.study(&self.study).await.into_diagnostic()?;
            store.delete(study.id).await.into_diagnostic()?;
            files::print(&format!("deleted study {} ({})\n", study.id, study.name))?;
            Ok(ExitCode::SUCCESS)
        })
    }
}
