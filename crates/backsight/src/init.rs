//! `backsight init`: writes a lab and a plan that run on this machine. Never overwrites a file.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::common_options::CommonOptions;

const WIRE_LAB: &str = include_str!("../../../examples/wire/lab.toml");
const WIRE_PLAN: &str = include_str!("../../../examples/wire/plan.toml");
const HERE_LAB: &str = include_str!("../../../examples/here/lab.toml");
const HERE_PLAN: &str = include_str!("../../../examples/here/plan.toml");

/// Arguments of `init`.
#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// Folder for the files; made if it isn't there
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Which lab: three namespaces in a row (needs root), or this machine alone; unless said, what runs here
    #[arg(long, value_enum)]
    lab: Option<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Wire,
    Here,
}

impl InitArgs {
    /// Writes the files and says what to do next.
    pub fn execute(self, _: &CommonOptions) -> miette::Result<ExitCode> {
        use miette::{IntoDiagnostic as _, WrapErr as _};
        let kind = self.lab.unwrap_or_else(kind_that_runs_here);
        let (lab, plan) = match kind {
            Kind::Wire => (WIRE_LAB, WIRE_PLAN),
            Kind::Here => (HERE_LAB, HERE_PLAN),
        };
        let name = lab_name(&self.folder);
        let lab = match &name {
            // Two labs of one name would share their namespaces.
            Some(name) => lab.replacen("name = \"wire\"", &format!("name = \"{name}\""), 1),
            None => lab.to_owned(),
        };
        let files = [("lab.toml", lab.as_str()), ("plan.toml", plan)];
        for (file, _) in files {
            let path = self.folder.join(file);
            if path.exists() {
                return Err(miette::miette!(
                    help = "move it away, or name another folder: backsight init DIR",
                    "{} is there already",
                    path.display()
                ));
            }
        }
        std::fs::create_dir_all(self.folder.join(crate::files::PROJECT))
            .into_diagnostic()
            .wrap_err_with(|| format!("can't make a project in {}", self.folder.display()))?;
        for (file, text) in files {
            crate::files::write_whole(&self.folder.join(file), text)?;
        }
        let up = if kind == Kind::Wire {
            "  backsight lab up\n"
        } else {
            ""
        };
        let folder = if self.folder == Path::new(".") {
            String::new()
        } else {
            format!(
                "  cd {}\n",
                backsight_model::shell_quoted(&self.folder.to_string_lossy())
            )
        };
        crate::files::print(&format!(
            "Wrote lab.toml and plan.toml. Next:\n\n{folder}  backsight doctor plan.toml\n{up}  backsight run plan.toml --name base\n"
        ))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn kind_that_runs_here() -> Kind {
    let root = rustix::process::geteuid().is_root();
    if root && backsight_conductor::find_program("ip").is_some() {
        Kind::Wire
    } else {
        Kind::Here
    }
}

/// A lab's name out of its folder's.
fn lab_name(folder: &Path) -> Option<backsight_model::LabName> {
    // The folder may not be there yet; its own last part is then its name.
    let full = folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf());
    let name: String = full
        .file_name()?
        .to_string_lossy()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') {
                c
            } else {
                '-'
            }
        })
        .take(32)
        .collect();
    backsight_model::LabName::new(name.trim_matches('-')).ok()
}
