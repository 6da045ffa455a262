//! Settings of the machine, made for studies and put back after them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use backsight_settings::{
    BootUnitAction, BootUnitError, BootUnitReport, JournalFile, MachineRoot, PreparationPolicy,
    PreparationReport, RequiredRight, RestoreReport, RestoreScope, RootHelper, StandingPreparation,
    WantedSetting, change_boot_unit, change_to, is_prepared_by_another, restore,
    serve_root_request,
};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::launch_conditions::LaunchConditions;
use crate::trial::SharedTrialState;
use crate::trial_launch::TrialLaunch;
use crate::trial_limits::TrialLimits;

/// How long an earlier agent of the same conductor is waited for, which may still think that its conductor is there: longer than it takes
/// to notice, and to put back.
const EARLIER_AGENT_LIMIT: Duration = Duration::from_secs(90);
/// How often it is looked whether it is gone: there is no waiting for a lock with a limit.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// What this agent prepared: what stands, by study.
pub(crate) struct Preparations {
    machine: MachineRoot,
    journal: JournalFile,
    begun: Arc<Mutex<BTreeMap<String, Standing>>>,
}

/// What stands for a study.
#[derive(Default)]
struct Standing {
    /// What this process made.
    own: StandingPreparation,
    /// What was made as root, where this process isn't.
    by_root: StandingPreparation,
    become_root: Vec<String>,
}

impl Default for Preparations {
    fn default() -> Self {
        Self::new(MachineRoot::this_machine(), JournalFile::default())
    }
}

impl Preparations {
    fn new(machine: MachineRoot, journal: JournalFile) -> Self {
        Self {
            machine,
            journal,
            begun: Arc::default(),
        }
    }

    /// Gives the machine these settings in place of those that the study, of the conductor of this session, has made so far. Goes on to
    /// its end even where nobody waits for it any more.
    pub(crate) async fn make(
        &self,
        study: String,
        session: u64,
        settings: Vec<WantedSetting>,
        policy: PreparationPolicy,
        become_root: Vec<String>,
    ) -> Result<PreparationReport, String> {
        let machine = self.machine.clone();
        let journal = JournalFile {
            session: Some(session),
            ..self.journal.clone()
        };
        self.await_earlier_agent(&journal, &become_root).await?;
        let mut begun = Arc::clone(&self.begun).lock_owned().await;
        blocking(move || {
            // First of all: it is put back at the end also where it fails half-way.
            let standing = begun.entry(study.clone()).or_insert_with(|| Standing {
                own: StandingPreparation::new(&study),
                by_root: StandingPreparation::new(&study),
                become_root,
            });
            // What programs are started with, whoever starts them sets.
            let is_roots = |it: &WantedSetting| {
                it.right == RequiredRight::Root
                    && !machine.permits_root()
                    && !it.mechanism.is_of_programs()
            };
            let Some(helper) = helper(&machine, &standing.become_root) else {
                let own = &mut standing.own;
                let made = change_to(&machine, own, &settings, &journal, policy);
                return made.map_err(|error| error.to_string());
            };
            let order: Vec<bool> = settings.iter().map(is_roots).collect();
            let (of_root, own): (Vec<_>, Vec<_>) = settings.into_iter().partition(is_roots);
            let made = change_to(&machine, &mut standing.own, &own, &journal, policy);
            let mut report = made.map_err(|error| error.to_string())?;
            let by_root = helper.change(&mut standing.by_root, of_root, policy);
            let by_root = by_root.map_err(|error| error.to_string())?;
            report.stands &= by_root.stands;
            report.put_back.extend(by_root.put_back);
            let mut own = std::mem::take(&mut report.settings).into_iter();
            let mut of_root = by_root.settings.into_iter();
            let settings = order.into_iter().map(|is_roots| match is_roots {
                true => of_root.next(),
                false => own.next(),
            });
            report.settings = settings.flatten().collect();
            Ok(report)
        })
        .await
    }

    /// How programs of the agent's `number`th trial are started.
    ///
    /// # Errors
    ///
    /// The groups that keep its limits can't be made.
    pub(crate) async fn trial_launch(
        &self,
        trial: &str,
        number: u64,
        ground: &SharedTrialState,
    ) -> Result<TrialLaunch, String> {
        let begun = self.begun.lock().await;
        // A conductor has one study.
        let Some((study, standing)) = begun.iter().next() else {
            return Ok(TrialLaunch::default());
        };
        let conditions = LaunchConditions::new(standing.own.of_processes());
        let padding = conditions.padding(study, trial);
        let (conditions, drawn) = conditions.drawn(study, trial);
        Ok(TrialLaunch {
            conditions,
            padding,
            drawn,
            limits: TrialLimits::make(&standing.own, &ground.mark, &ground.folder, number)?,
        })
    }

    /// Waits for the end of an agent that prepared this machine for the same conductor before, and was lost without having noticed so
    /// far. What it doesn't put back itself is put back.
    async fn await_earlier_agent(
        &self,
        journal: &JournalFile,
        become_root: &[String],
    ) -> Result<(), String> {
        let until = Instant::now() + EARLIER_AGENT_LIMIT;
        let is_there = || is_prepared_by_another(&self.machine, journal);
        if !is_there() {
            return Ok(());
        }
        while is_there() && Instant::now() < until {
            sleep(BETWEEN_LOOKS).await;
        }
        let restored = self.restore(RestoreScope::Abandoned, become_root.to_vec());
        let report = restored.await?;
        tracing::debug!(?report, "an earlier agent of the study is gone");
        Ok(())
    }

    /// Has this machine put back by itself at its start, or no more.
    pub(crate) async fn change_boot_unit(
        &self,
        action: BootUnitAction,
    ) -> Result<BootUnitReport, BootUnitError> {
        let machine = self.machine.clone();
        blocking(move || change_boot_unit(&machine, Path::new("/proc/self/exe"), action)).await
    }

    /// Puts settings back, once none is being made.
    pub(crate) async fn restore(
        &self,
        scope: RestoreScope,
        become_root: Vec<String>,
    ) -> Result<RestoreReport, String> {
        let (machine, journal) = (self.machine.clone(), self.journal.clone());
        let mut begun = Arc::clone(&self.begun).lock_owned().await;
        blocking(move || {
            match &scope {
                RestoreScope::Study(study) => drop(begun.remove(study)),
                RestoreScope::Everything => begun.clear(),
                RestoreScope::Abandoned => {}
            }
            let mut report = match helper(&machine, &become_root) {
                Some(helper) => helper.restore(&scope).map_err(|error| error.to_string())?,
                None => RestoreReport::default(),
            };
            let own = restore(&machine, &journal, &scope).map_err(|error| error.to_string())?;
            report.changes.extend(own.changes);
            report.held += own.held;
            report.damaged_lines.extend(own.damaged_lines);
            Ok(report)
        })
        .await
    }

    /// Puts back what this agent made and nobody has put back.
    pub(crate) async fn restore_all(&self) {
        let begun = self.begun.lock().await;
        let studies = begun.iter();
        let studies: Vec<_> = studies
            .map(|(study, standing)| (study.clone(), standing.become_root.clone()))
            .collect();
        drop(begun);
        for (study, become_root) in studies {
            match self.restore(RestoreScope::Study(study), become_root).await {
                Ok(report) if report.is_complete() => {}
                Ok(report) => tracing::warn!(?report, "settings can't be put back"),
                Err(error) => tracing::warn!("settings can't be put back: {error}"),
            }
        }
    }
}

/// Does one request of an agent that isn't root, as root: read from standard input, answered on standard output.
///
/// # Errors
/// It is no request, or nobody reads the answer.
pub fn serve_settings() -> std::io::Result<std::process::ExitCode> {
    serve_root_request(std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(std::process::ExitCode::SUCCESS)
}

/// What changes settings as root, where this process may not and somebody lets it.
fn helper(machine: &MachineRoot, become_root: &[String]) -> Option<RootHelper> {
    if become_root.is_empty() || machine.permits_root() {
        return None;
    }
    let program = std::env::current_exe().ok()?;
    Some(RootHelper::new(
        become_root,
        program,
        &["agent", "--change-settings"],
    ))
}

/// Files and programs are waited for elsewhere than where the stream is served.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{Preparation, TomlDocument};
    use backsight_settings::{PreparationSource, SettingCatalog, resolve};
    use std::fs;
    use std::sync::Barrier;

    static AT_FIRST_WRITE: Barrier = Barrier::new(2);

    fn wait_at_first_write(name: &'static str, _: usize) {
        if name == "after write" {
            AT_FIRST_WRITE.wait();
            AT_FIRST_WRITE.wait();
        }
    }

    #[test]
    fn what_is_being_made_while_the_conductor_goes_away_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let swappiness = folder.path().join("proc/sys/vm/swappiness");
        let boot = folder.path().join("proc/sys/kernel/random/boot_id");
        for (file, text) in [(&swappiness, "60\n"), (&boot, "1\n")] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let document = TomlDocument::new("plan.toml", "sysctl.\"vm.swappiness\" = 7");
        let preparation: Preparation = document.read().unwrap();
        let source = PreparationSource::new(&document, &preparation);
        let wanted = resolve(&SettingCatalog::load(&[]).unwrap(), &[source]).unwrap();
        let machine = MachineRoot::in_folder(folder.path(), Vec::new());
        let machine = machine.with_checkpoint(wait_at_first_write);
        let preparations =
            Preparations::new(machine, JournalFile::new(folder.path().join("journal")));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let strict = PreparationPolicy::Strict;
            let making = preparations.make("a".into(), 1, wanted, strict, Vec::new());
            let written = tokio::task::spawn_blocking(|| AT_FIRST_WRITE.wait());
            // The call is given up as soon as the machine is changed.
            tokio::select! {
                biased;
                _ = written => {}
                _ = making => panic!("made before it wrote"),
            }
            assert_eq!(fs::read_to_string(&swappiness).unwrap(), "7\n");
            let go_on = tokio::task::spawn_blocking(|| AT_FIRST_WRITE.wait());
            preparations.restore_all().await;
            go_on.await.unwrap();
        });
        assert_eq!(fs::read_to_string(&swappiness).unwrap(), "60\n");
    }
}
