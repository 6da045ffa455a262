//! `backsight profile`: where the time of a benchmark goes, and what changed beside a base.

use backsight_policy::SplitKey;
use backsight_profile::export::{PROFILE_FORMATS, ProfileFormat};
use backsight_report::{Format, Render as _};
use backsight_study::{ComparedProfiles, ProfileSelection};
use miette::IntoDiagnostic as _;
use std::{io::IsTerminal as _, path::Path, process::ExitCode};

use crate::{common_options::CommonOptions, files, output::Output, value_parsers::one_of};

/// Arguments of `profile`.
#[derive(Debug, clap::Args)]
pub struct ProfileArgs {
    /// Studies, by name or number, or files that `backsight monitor profile` wrote, which are a trial each
    #[arg(required = true, value_name = "STUDY|FILE")]
    sides: Vec<String>,
    /// The base to compare with: studies or files likewise
    #[arg(long, value_name = "STUDY|FILE", num_args = 1..)]
    diff: Vec<String>,
    /// Compare the two parts of one study: `variant`, or the name of a parameter; the plan's first is the base
    #[arg(long, value_name = "WHAT", conflicts_with = "diff")]
    by: Option<SplitKey>,
    /// The cell, as `show` names it, where several have profiles
    #[arg(long, value_name = "CELL")]
    cell: Option<String>,
    /// One trial alone
    #[arg(long, value_name = "N")]
    trial: Option<u32>,
    /// The time that threads waited, as the monitor `profile-off-cpu` saw it
    #[arg(long)]
    off_cpu: bool,
    /// Most functions in the table of text and markdown
    #[arg(long, value_name = "N", default_value_t = 30)]
    top: usize,
    /// Write all trials together for another program, in place of a report
    #[arg(long, value_name = "FORMAT", value_parser = one_of(PROFILE_FORMATS), conflicts_with_all = ["diff", "by", "format"])]
    export: Option<ProfileFormat>,
    #[command(flatten)]
    output: Output,
}

impl ProfileArgs {
    /// Shows, compares or exports.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        let selection = ProfileSelection {
            cell: self.cell.clone(),
            by: self.by.clone(),
            trial: self.trial,
            off_cpu: self.off_cpu,
        };
        let mut found = crate::block_on(async {
            let names = self.sides.iter().chain(&self.diff);
            let store = match names.into_iter().all(|name| Path::new(name).is_file()) {
                true => None,
                false => Some(files::existing_store(shared).await?),
            };
            ComparedProfiles::from_arguments(store.as_ref(), &self.sides, &self.diff, &selection)
                .await
        })?;
        match self.export {
            Some(format) => self.write_export(&found, format)?,
            None => self.write_report(&mut found)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn write_report(&self, found: &mut ComparedProfiles) -> miette::Result<()> {
        let style = self.output.terminal_style();
        found.report.top = self.top;
        found.report.width = style.width;
        let text = match self.output.chosen(Format::Text)? {
            Format::Html => backsight_site::profile_page(&found.report, &found.tree),
            format => Ok(found.report.render(format, &style).into_diagnostic()?),
        };
        self.output.write_text(&text.into_diagnostic()?)
    }

    fn write_export(&self, found: &ComparedProfiles, format: ProfileFormat) -> miette::Result<()> {
        let bytes = format.write(&found.merged, &found.report.title());
        match &self.output.output {
            Some(path) => {
                files::write_whole(path, &bytes)?;
                files::print_note(&format!("wrote {}", path.display()));
                Ok(())
            }
            None if !format.is_text() && std::io::stdout().is_terminal() => Err(miette::miette!(
                help = "name a file: -o FILE, or send it into a pipe",
                "{format:?} on a terminal is of no use to anybody"
            )),
            None => files::print_foreign(&bytes),
        }
    }
}
