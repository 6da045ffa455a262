//! Bounds of what is copied of a file's symbols.

/// Most symbols of a file that are read.
pub(crate) const MOST_SYMBOLS: usize = 4_000_000;
/// Longest name, in bytes; what a name has beyond is cut off.
const LONGEST_NAME: usize = 4096;
/// Bytes of all names of a file together: names in a file may overlap.
const MOST_NAME_BYTES: usize = 256 << 20;

/// How much of a file's names may still be copied.
pub(crate) struct NameBudget(usize);

impl Default for NameBudget {
    fn default() -> Self {
        Self(MOST_NAME_BYTES)
    }
}

impl NameBudget {
    /// A name, cut if it is too long; none if there were too many.
    pub(crate) fn take(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        let name = &name[..name.len().min(LONGEST_NAME)];
        self.0 = self.0.checked_sub(name.len())?;
        Some(name.to_owned())
    }
}
