//! `backsight doctor`: what is missing for a plan on the hosts where its roles run, what on them will spoil its measurements, and the
//! exact line that mends each.

use backsight_conductor::HostAccess;
use backsight_model::{Grade, counted};
use backsight_report::doctor::DoctorHistoryView;
use backsight_study::{ExaminationOptions, check_lab, check_question, examine_machines};
use miette::IntoDiagnostic as _;
use std::process::ExitCode;

use crate::{common_options::CommonOptions, exit_status::ExitStatus, files, plan_args::PlanArgs};

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// How long the self-test of each machine takes, in seconds, all machines at once
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(2..=60))]
    seconds: u16,
    /// Only look at the machines; measure nothing
    #[arg(long)]
    no_self_test: bool,
    /// Fail if a machine is shown to be worse, or has no grade: A, B, C, D, E or F
    #[arg(long, value_name = "GRADE", conflicts_with = "no_self_test")]
    at_least: Option<Grade>,
    /// Test a machine although a study measures on it
    #[arg(long, conflicts_with = "no_self_test")]
    force: bool,
    /// The grades of earlier self-tests, the newest last, and what got worse
    #[arg(long, conflicts_with_all = ["plan", "use", "rounds", "lab", "no_self_test", "at_least", "force"])]
    history: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl DoctorArgs {
    /// Says it; fails if something is missing, or a machine is worse than it may be.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            if !self.history {
                return self.examine(shared).await;
            }
            let tests = files::existing_store(shared).await?.self_tests().await;
            let view = DoctorHistoryView::new(&tests.into_diagnostic()?);
            let text = view.shown(self.json, &files::terminal_style());
            files::print_made(&text.into_diagnostic()?)?;
            Ok(ExitCode::SUCCESS)
        })
    }

    async fn examine(&self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        let reach = HostAccess::with_this_program().into_diagnostic()?;
        let (mut view, hosts) = match self.plan.lab_without_plan() {
            Some(lab) => check_lab(&files::lab_or_this_machine(lab)?)?,
            None => {
                let (question, catalog) = self.plan.question(shared, "doctor").await?;
                check_question(&reach, question, &catalog).await?
            }
        };
        if !self.json {
            files::print(&view.plan_text)?;
        }
        let (self_test, force) = ((!self.no_self_test).then_some(self.seconds), self.force);
        let mut store = None;
        if let Some(seconds) = self_test {
            let machines = counted(hosts.len(), "machine");
            files::print_note(&format!("testing {machines} for {seconds} s"));
            store = Some(files::open_store(shared).await?);
        }
        let options = ExaminationOptions { self_test, force };
        view.machines = examine_machines(&reach, &hosts, options, store.as_ref()).await?;
        let text = view.shown(self.json, &files::terminal_style());
        files::print_made(&text.into_diagnostic()?)?;
        Ok(ExitStatus::failed_if(!view.is_fit(self.at_least)))
    }
}
