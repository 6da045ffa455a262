//! `backsight doctor`: what is missing for a plan on the hosts where its roles run, and the exact command that installs it.

use backsight_conductor::{HostAccess, check_plan};
use miette::IntoDiagnostic as _;
use std::process::ExitCode;

use crate::{common_options::CommonOptions, exit_status::ExitStatus, files, plan_args::PlanArgs};

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    plan: PlanArgs,
}

impl DoctorArgs {
    /// Says it; fails if something is missing.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        let (mut question, catalog) = self.plan.question(shared, "doctor")?;
        question.along_history = true;
        let arrangement = question.arrange(&catalog)?;
        let reach = HostAccess::with_this_program().into_diagnostic()?;
        let checkup = crate::block_on(async {
            Ok(check_plan(&reach, &arrangement, &question.plan.text).await)
        })?;
        files::print(&checkup.to_string())?;
        Ok(match checkup.faults {
            0 => ExitStatus::Success.into(),
            _ => ExitStatus::Failed.into(),
        })
    }
}
