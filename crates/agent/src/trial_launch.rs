//! How the programs of a trial are started, as the settings of its study say.

use crate::launch_conditions::LaunchConditions;
use crate::trial_limits::TrialLimits;

/// How the programs of a trial are started.
#[derive(Default)]
pub(crate) struct TrialLaunch {
    pub(crate) conditions: LaunchConditions,
    /// The variable that makes the environment longer.
    pub(crate) padding: Option<(String, String)>,
    /// What was drawn at random for this trial, by settings.
    pub(crate) drawn: Vec<(String, String)>,
    /// What they may use.
    pub(crate) limits: Option<TrialLimits>,
}
