//! Blocking work on many files, on a thread of its own, so that the runtime stays responsive: an agent that hears nothing for long gives its
//! conductor up.
//!
//! It can't be cancelled: work that has begun is finished, also when nobody waits for it any more.

use crate::workshop_error::WorkshopError;

/// Runs blocking work and waits for it.
///
/// # Errors
/// Its own, or that it broke off.
pub(crate) async fn run_blocking<T, E>(
    what: &str,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, WorkshopError>
where
    T: Send + 'static,
    E: Send + 'static,
    WorkshopError: From<E>,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(panic) => Err(WorkshopError::Recipe(format!("{what} broke off: {panic}"))),
    }
}
