//! `backsight record`: what a host is, on one page; what differs between two.

use backsight_model::{HostName, HostPattern};
use backsight_report::host_record::record_text;
use backsight_study::{HostRecords, compare_records, hosts_of_study};
use miette::IntoDiagnostic as _;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{common_options::CommonOptions, files};

/// Arguments of `record`.
#[derive(Debug, clap::Args)]
pub struct RecordArgs {
    /// Hosts of the lab: names, `client[01-05]`, a group's name, `tag:TAG`; all its machines unless said
    #[arg(conflicts_with_all = ["diff", "of"])]
    hosts: Vec<HostPattern>,
    /// What the hosts of this study were when it began, what changed until its end, and what their kernels said meanwhile
    #[arg(long, value_name = "STUDY", conflicts_with_all = ["diff", "output"])]
    of: Option<String>,
    /// The lab's file; else the lab.toml in this folder, else this machine alone
    #[arg(long, value_name = "FILE")]
    lab: Option<PathBuf>,
    /// What differs from A to B: each a file of --output, a study, or a host of the lab; `FILE:HOST` and `STUDY:HOST` name one host
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    diff: Option<Vec<String>>,
    /// Every value, also those that seldom matter
    #[arg(long)]
    all: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Write the records into a file, for --diff
    #[arg(long, value_name = "FILE", conflicts_with = "diff")]
    output: Option<PathBuf>,
}

impl RecordArgs {
    /// Shows it.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            match (&self.diff, &self.of) {
                (Some(sides), _) => self.show_differences(shared, sides).await?,
                (None, Some(study)) => self.show_study(shared, study).await?,
                (None, None) => self.show_records().await?,
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    async fn show_records(&self) -> miette::Result<()> {
        let records = HostRecords::record(
            &files::lab_or_this_machine(self.lab.as_deref())?,
            &self.hosts,
        )
        .await?;
        let json = || backsight_report::json(&records).into_diagnostic();
        if let Some(file) = &self.output {
            return files::write_whole(file, &json()?);
        }
        if self.json {
            return files::print(&json()?);
        }
        let style = files::terminal_style();
        let pages = records.hosts.iter();
        let pages =
            pages.map(|(host, record)| record_text(host.as_str(), record, self.all, &style));
        files::print_made(&pages.collect::<Vec<_>>().join("\n"))
    }

    async fn show_study(&self, shared: &CommonOptions, study: &str) -> miette::Result<()> {
        let hosts = hosts_of_study(&files::existing_store(shared).await?, study).await?;
        if self.json {
            return files::print(&backsight_report::json(&hosts).into_diagnostic()?);
        }
        let style = files::terminal_style();
        let pages = hosts.iter().map(|host| host.text(self.all, &style));
        files::print_made(&pages.collect::<Vec<_>>().join("\n"))
    }

    async fn show_differences(
        &self,
        shared: &CommonOptions,
        sides: &[String],
    ) -> miette::Result<()> {
        let (base, new) = (
            self.side(shared, &sides[0]).await?,
            self.side(shared, &sides[1]).await?,
        );
        let (compared, alone) = compare_records((&sides[0], &base), (&sides[1], &new))?;
        if !alone.is_empty() {
            files::print_note(&format!(
                "on one side only, not compared: {}",
                alone.join(", ")
            ));
        }
        if self.json {
            return files::print(&backsight_report::json(&compared).into_diagnostic()?);
        }
        let style = files::terminal_style();
        let texts = compared
            .iter()
            .map(|compared| compared.text(self.all, &style));
        files::print_made(&texts.collect::<String>())
    }

    /// The records that a side of `--diff` names.
    async fn side(&self, shared: &CommonOptions, side: &str) -> miette::Result<HostRecords> {
        if Path::new(side).is_file() {
            return HostRecords::read(Path::new(side));
        }
        if let Some((whole, host)) = side.rsplit_once(':') {
            let host = HostName::new(host).map_err(|error| miette::miette!("{error}"))?;
            return Box::pin(self.side(shared, whole)).await?.of_host(&host);
        }
        let lab = files::lab_or_this_machine(self.lab.as_deref())?;
        match HostName::new(side) {
            Ok(host) if lab.host.contains_key(&host) => {
                HostRecords::record(&lab, &[(&host).into()]).await
            }
            _ => HostRecords::from_study(&files::existing_store(shared).await?, side).await,
        }
    }
}
