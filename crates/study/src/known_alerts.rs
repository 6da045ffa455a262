//! The alerts of a target, with all that they are made of.

use backsight_model::TargetName;
use backsight_policy::{Alert, TestHistory, alerts, triage_alerts};
use backsight_store::Store;
use jiff::Timestamp;
use miette::IntoDiagnostic as _;

use crate::{KnownHistory, PAGE_COLUMNS, TestSelection, test_history};

/// A target's history, the history of its tests, and the alerts that both make.
pub struct KnownAlerts {
    /// What was measured.
    pub known: KnownHistory,
    /// What came of its tests, in the newest columns.
    pub tests: TestHistory,
    /// The alerts, the worst first, with what was said of them.
    pub alerts: Vec<Alert>,
}

impl KnownAlerts {
    /// Reads what is known, as it is accepted `now`; the history [without samples](KnownHistory::without_samples).
    ///
    /// # Errors
    /// The store's own.
    pub async fn from_store(
        store: &Store,
        target: &TargetName,
        now: Timestamp,
    ) -> miette::Result<Self> {
        let known = KnownHistory::without_samples(store, target, now).await?;
        Self::of_history(store, target, known).await
    }

    /// The alerts that this history makes.
    ///
    /// # Errors
    /// The store's own.
    pub async fn of_history(
        store: &Store,
        target: &TargetName,
        known: KnownHistory,
    ) -> miette::Result<Self> {
        let selection = TestSelection {
            target: Some(target.clone()),
            newest: Some(PAGE_COLUMNS),
            ..TestSelection::default()
        };
        let tests = test_history(store, &selection).await.into_diagnostic()?;
        let mut alerts = alerts(&known.history, Some(&tests));
        let said = store.triage(target).await.into_diagnostic()?;
        triage_alerts(&mut alerts, &known.history, &said);
        Ok(Self {
            known,
            tests,
            alerts,
        })
    }
}
