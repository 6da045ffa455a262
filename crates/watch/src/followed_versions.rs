//! The versions that a standing job follows.

use backsight_history::HistoryError;
use backsight_model::{Every, Range, Version};
use backsight_study::{OpenTarget, resolve_version};

/// Measured versions that are tried as the beginning, the oldest first, before all of them are taken for lost.
const MOST_TRIED: usize = 100;

/// The versions of a target from the oldest that counts to the newest, oldest first; at least one. The oldest is `since`; else the
/// first of those that were `measured`, in this order, that the newest one descends from; else the newest itself.
///
/// # Errors
/// The history can't be read, or has no such version.
pub(crate) async fn followed_versions(
    target: &OpenTarget,
    since: Option<&str>,
    measured: &[String],
) -> miette::Result<Vec<Version>> {
    let since = since.map(str::to_owned);
    let measured: Vec<String> = measured.iter().take(MOST_TRIED).cloned().collect();
    target
        .query(move |history| {
            let newest = resolve_version(history, "HEAD")?;
            let stretch = |from: String| {
                if from == newest.id {
                    return Ok(vec![newest.clone()]);
                }
                let range = Range::Between {
                    from,
                    to: newest.id.clone(),
                };
                history.versions(&range, &Every::All)
            };
            if let Some(since) = since {
                return stretch(history.resolve(&since)?.id);
            }
            for from in measured {
                match stretch(from) {
                    // It isn't on the branch any more.
                    Err(
                        HistoryError::Unknown { .. }
                        | HistoryError::Unrelated { .. }
                        | HistoryError::Reversed { .. },
                    ) => {}
                    found => return found,
                }
            }
            Ok(vec![newest.clone()])
        })
        .await
}
