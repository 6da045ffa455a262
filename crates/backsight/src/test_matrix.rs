//! `backsight tests`: the tests of suites along versions or studies, the worst first.

use backsight_model::{HostName, TargetName};
use backsight_policy::TestConcern;
use backsight_report::{
    Format,
    test_matrix::{TestFilter, TestMatrix},
};
use backsight_site::test_matrix_page;
use backsight_study::{PAGE_COLUMNS, TestSelection, add_failure_messages, test_history};
use miette::IntoDiagnostic as _;
use std::process::ExitCode;

use crate::{common_options::CommonOptions, files, output::Output};

/// Versions or studies that a text has, unless another number is asked for: a line of a terminal.
const TEXT_COLUMNS: usize = 60;

/// Which tests are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Shown {
    /// Those that fail now
    Failing,
    /// Those that fail sometimes
    Flaky,
    /// Those that failed, and pass now
    Mended,
    /// Those that never failed
    Passing,
}

impl Shown {
    fn concern(self) -> TestConcern {
        match self {
            Self::Failing => TestConcern::Failing,
            Self::Flaky => TestConcern::Flaky,
            Self::Mended => TestConcern::Mended,
            Self::Passing => TestConcern::Passing,
        }
    }
}

/// Arguments of `tests`.
#[derive(Debug, clap::Args)]
pub struct TestsArgs {
    /// A column for each version of this target; else one for each study of the software as it was found
    #[arg(long)]
    target: Option<TargetName>,
    /// Only these suites; with a comma between them
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    suite: Vec<String>,
    /// Only tests of this host
    #[arg(long)]
    host: Option<HostName>,
    /// Only tests whose name has this text in it
    #[arg(long, value_name = "TEXT")]
    test: Option<String>,
    /// Only tests that stand so; else all that ever failed, on a page (html) all
    #[arg(long, value_enum, value_name = "STATE", value_delimiter = ',')]
    state: Vec<Shown>,
    /// Only tests that take so many seconds or more, on average
    #[arg(long, value_name = "SECONDS")]
    slower_than: Option<f64>,
    /// Tests that passed always too
    #[arg(long, conflicts_with = "state")]
    all: bool,
    /// Only so many of the newest versions or studies; else 60, on a page (html) 365
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    newest: Option<u32>,
    #[command(flatten)]
    output: Output,
}

impl TestsArgs {
    /// Shows them.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        let format = self.output.chosen(Format::Text)?;
        let is_page = format == Format::Html;
        let concerns = match (self.all || is_page, &self.state[..]) {
            (true, []) => TestConcern::ALL.to_vec(),
            (_, []) => TestConcern::ALL[..3].to_vec(),
            (_, asked) => asked.iter().map(|shown| shown.concern()).collect(),
        };
        let filter = TestFilter {
            concerns,
            host: self.host,
            test: self.test,
            slower_than: self.slower_than,
        };
        let usual_newest = if is_page { PAGE_COLUMNS } else { TEXT_COLUMNS };
        let selection = TestSelection {
            target: self.target,
            suites: self.suite,
            until: None,
            newest: Some(self.newest.map_or(usual_newest, |most| most as usize)),
        };
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let mut history = test_history(&store, &selection).await.into_diagnostic()?;
            add_failure_messages(&store, &mut history)
                .await
                .into_diagnostic()?;
            miette::ensure!(
                !history.columns.is_empty(),
                help = "`backsight test` runs suites, `step --target` along a history, `import` takes results of others",
                "{}",
                match &selection.target {
                    Some(target) => format!("no test of target `{target}` has a result here"),
                    None => "no test has a result here".to_owned(),
                }
            );
            if is_page {
                let title = match &selection.target {
                    Some(target) => format!("Tests of {target}"),
                    None => "Tests".to_owned(),
                };
                let page = test_matrix_page(&title, &history, &filter).into_diagnostic()?;
                self.output.write_text(&page)?;
            } else {
                self.output.render(&TestMatrix::new(&history, &filter))?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}
