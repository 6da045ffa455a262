//! Where a verdict goes, and in which format: `--format` and `--output` of every verb that has one.

use backsight_report::{Format, Render, TerminalStyle};
use backsight_site::Surroundings;
use backsight_store::{Store, StudyRow};
use backsight_study::VerdictReport;
use miette::IntoDiagnostic as _;
use std::path::{Path, PathBuf};

use crate::files;

/// How a verdict is written.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Output {
    /// How the verdict is written: text, markdown, json or html; else as the name of --output ends, else text
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Write the verdict into this file; its name ends in .txt, .md, .json or .html, unless --format says which it is
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl Output {
    /// The format to write.
    pub fn chosen(&self, usual: Format) -> miette::Result<Format> {
        chosen(self.format, self.output.as_deref(), usual)
    }

    /// Whether anything was asked for.
    pub fn is_requested(&self) -> bool {
        self.format.is_some() || self.output.is_some()
    }

    /// Writes the verdict of a study.
    pub async fn write(
        &self,
        study: &StudyRow,
        verdict: &VerdictReport,
        store: &Store,
        usual: Format,
    ) -> miette::Result<()> {
        let format = self.chosen(usual)?;
        let style = self.terminal_style();
        self.write_text(&written(study, verdict, store, format, &style).await?)
    }

    /// Writes what has a renderer, as text unless another format is asked for.
    pub fn render(&self, of: &impl Render) -> miette::Result<()> {
        let text = of.render(self.chosen(Format::Text)?, &self.terminal_style());
        self.write_text(&text.into_diagnostic()?)
    }

    /// How text looks there: as the terminal shows it, in a file without colours and at its natural width.
    pub fn terminal_style(&self) -> TerminalStyle {
        match self.output {
            Some(_) => TerminalStyle::default(),
            None => files::terminal_style(),
        }
    }

    /// Writes a text into the file, or to standard output.
    pub fn write_text(&self, text: &str) -> miette::Result<()> {
        match &self.output {
            Some(path) => {
                files::write_whole(path, text)?;
                files::print_note(&format!("wrote {}", path.display()));
                Ok(())
            }
            None => files::print_made(text),
        }
    }
}

/// The format to write: the one that was asked for, else the one that the file's name ends in.
pub fn chosen(
    format: Option<Format>,
    output: Option<&Path>,
    usual: Format,
) -> miette::Result<Format> {
    Format::choose(format, output, usual).map_err(|why| {
        miette::miette!(
            help = "leave out --format, or name a file whose end is the format's: .txt, .md, .json, .html",
            "{why}"
        )
    })
}

async fn written(
    study: &StudyRow,
    verdict: &VerdictReport,
    store: &Store,
    format: Format,
    look: &TerminalStyle,
) -> miette::Result<String> {
    match format {
        Format::Html => {
            backsight_server::page(study, verdict, store, &Surroundings::default()).await
        }
        format => backsight_server::render(verdict, format, look, false),
    }
}

/// How the outcome of a study is shown.
#[derive(Debug, Clone, Default)]
pub struct OutcomeOptions {
    /// Whether the verdict is shown where no output was asked for.
    pub shows_verdict: bool,
    /// How the verdict is written.
    pub output: Output,
}

impl OutcomeOptions {
    /// Whether the verdict is to be written.
    pub fn is_wanted(&self) -> bool {
        self.shows_verdict || self.output.is_requested()
    }
}
