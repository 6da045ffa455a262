//! Reading of outputs some of which were pruned: these are skipped and counted, with when and why they went.

use backsight_model::counted;
use backsight_store::{PruneMark, RawRef, Store, StoreError};
use std::collections::BTreeMap;

/// What of the outputs that were asked for was pruned.
#[derive(Debug, Default)]
pub(crate) struct PrunedOutputs(BTreeMap<PruneMark, usize>);

impl PrunedOutputs {
    /// An output; none if it was pruned, which is counted.
    ///
    /// # Errors
    /// It is missing or damaged; the store's own.
    pub(crate) async fn read(
        &mut self,
        store: &Store,
        raw: &RawRef,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        match store.raw(raw).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(StoreError::Pruned { mark, .. }) => {
                *self.0.entry(mark).or_default() += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// A sentence for each pruning.
    pub(crate) fn notes(&self) -> Vec<String> {
        let notes = self.0.iter();
        notes
            .map(|(mark, count)| format!("{}: {mark}", counted(*count, "output")))
            .collect()
    }

    /// Why nothing is left of what was asked for, if that is why.
    pub(crate) fn nothing_left(&self, of: &str) -> Option<miette::Report> {
        match &self.notes()[..] {
            [] => None,
            notes => Some(miette::miette!(
                help = "its samples are kept: `backsight show` and `backsight compare` have them",
                "nothing is left of {of}: {}",
                notes.join("; ")
            )),
        }
    }
}
