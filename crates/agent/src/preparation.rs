//! Settings of the machine, made for studies and put back after them.

use std::collections::BTreeMap;

use backsight_settings::{
    Application, JournalError, JournalFile, MachineRoot, PreparationPolicy, PreparationReport,
    RestoreReport, RestoreScope, WantedSetting, apply, restore,
};
use tokio::sync::Mutex;

/// What this agent prepared, by study.
#[derive(Default)]
pub(crate) struct Preparations(Mutex<BTreeMap<String, Application>>);

impl Preparations {
    /// Makes these settings for a study.
    pub(crate) async fn make(
        &self,
        study: String,
        settings: Vec<WantedSetting>,
        policy: PreparationPolicy,
    ) -> Result<PreparationReport, JournalError> {
        let mut made = self.0.lock().await;
        let name = study.clone();
        let applied = blocking(move || {
            let machine = MachineRoot::this_machine();
            apply(&machine, &settings, &JournalFile::default(), &name, policy)
        });
        let application = applied.await?;
        let report = application.report.clone();
        made.insert(study, application);
        Ok(report)
    }

    /// Puts settings back.
    pub(crate) async fn restore(&self, scope: RestoreScope) -> Result<RestoreReport, JournalError> {
        let mut made = self.0.lock().await;
        match &scope {
            RestoreScope::Study(study) => drop(made.remove(study)),
            RestoreScope::Everything => made.clear(),
            RestoreScope::Abandoned => {}
        }
        blocking(move || {
            restore(
                &MachineRoot::this_machine(),
                &JournalFile::default(),
                &scope,
            )
        })
        .await
    }

    /// Puts back what this agent made and nobody has put back.
    pub(crate) async fn restore_all(&self) {
        let studies: Vec<String> = self.0.lock().await.keys().cloned().collect();
        for study in studies {
            match self.restore(RestoreScope::Study(study)).await {
                Ok(report) if report.is_complete() => {}
                Ok(report) => tracing::warn!(?report, "settings can't be put back"),
                Err(error) => tracing::warn!("settings can't be put back: {error}"),
            }
        }
    }
}

/// Files and programs are waited for elsewhere than where the stream is served.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}
