//! Options of strace that aren't here, each with the reason.

/// Options that are only taken to be refused with what helps instead.
#[derive(Debug, clap::Args)]
pub(super) struct RefusedOptions {
    #[arg(short = 'd', long, hide = true)]
    debug: bool,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    tips: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    secontext: Option<String>,
    #[arg(long, hide = true)]
    by_process: bool,
}

impl RefusedOptions {
    /// Refuses the first of them that was given.
    pub fn check(&self) -> miette::Result<()> {
        let asked = [
            (
                self.debug,
                "-d, --debug: what the tracer does itself is no text for users here; `strace -f backsight trace …` shows it",
            ),
            (
                self.tips.as_deref().is_some_and(|which| which != "none"),
                "--tips: tips are in docs/how-to/trace-system-calls.md, not behind a trace",
            ),
            (
                self.secontext.is_some(),
                "--secontext: contexts of SELinux aren't looked up here; `ls -Z` and `ps -Z` show them",
            ),
            (
                self.by_process,
                "--by-process is called --by process,call; --by process shows the process tree",
            ),
        ];
        match asked.iter().find(|(asked, _)| *asked) {
            Some((_, reason)) => Err(miette::miette!("{reason}")),
            None => Ok(()),
        }
    }
}
