//! Pictures of series that changed, a file each.

use backsight_exchange::table::TableOutput;
use backsight_report::change_points::SeriesChanges;
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{io::Write as _, path::Path};

/// The folder that pictures go to, if they are wanted.
pub struct PictureFolder<'a> {
    folder: Option<&'a Path>,
    drawn: usize,
}

impl<'a> PictureFolder<'a> {
    /// Makes the folder.
    ///
    /// # Errors
    /// It can't be made.
    pub fn new(folder: Option<&'a Path>) -> miette::Result<Self> {
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder).into_diagnostic()?;
        }
        Ok(Self { folder, drawn: 0 })
    }

    /// Writes the series's picture if it has changes, and takes it out of the series.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write(&mut self, series: &mut SeriesChanges) -> miette::Result<()> {
        let Some(folder) = self.folder else {
            return Ok(());
        };
        let Some(svg) = series.svg.take() else {
            return Ok(());
        };
        if !series.has_findings() {
            return Ok(());
        }
        self.drawn += 1;
        // The number keeps apart names that differ only in what can't be in a file's name.
        let name = format!("{:04}-{}.svg", self.drawn, in_file_name(&series.name()));
        let path = folder.join(name);
        let mut out = TableOutput::to(Some(&path)).into_diagnostic()?;
        let written = out.write_all(svg.as_bytes()).into_diagnostic();
        written.wrap_err_with(|| format!("can't write {}", path.display()))?;
        out.finish().into_diagnostic()
    }
}

fn in_file_name(name: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    name.chars().take(60).map(safe).collect()
}
