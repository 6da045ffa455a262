//! What readers hold of tests that are under way, with a limit in bytes.

use crate::{result::ProblemKind, sink::Sink};
use std::collections::HashMap;

/// All names and what is held of them, in bytes. Where it is more, all is forgotten, and that is said.
const LIMIT: usize = 64 << 20;
/// What an entry takes besides.
const ENTRY: usize = 64;

/// Something that is held of a test.
pub(crate) trait Held: Default {
    /// Its bytes that aren't of its type.
    fn bytes(&self) -> usize;
}

/// What is held, by name.
pub(crate) struct OpenTests<T> {
    held: HashMap<String, T>,
    bytes: usize,
}

impl<T> Default for OpenTests<T> {
    fn default() -> Self {
        OpenTests {
            held: HashMap::new(),
            bytes: 0,
        }
    }
}

impl<T: Held> OpenTests<T> {
    fn size(name: &str, held: &T) -> usize {
        ENTRY + size_of::<T>() + name.len() + held.bytes()
    }

    /// Changes what is held of this name; it is made if there is nothing.
    pub(crate) fn change<R>(
        &mut self,
        name: &str,
        to: &mut Sink<'_>,
        change: impl FnOnce(&mut T) -> R,
    ) -> R {
        let held = match self.held.get_mut(name) {
            Some(held) => held,
            None => {
                self.bytes += Self::size(name, &T::default());
                self.held.entry(name.to_owned()).or_default()
            }
        };
        let before = held.bytes();
        let changed = change(held);
        self.bytes = self.bytes + held.bytes() - before;
        if self.bytes > LIMIT {
            let what = "what is known of tests that are under way";
            to.problem(ProblemKind::TooLong { what, limit: LIMIT });
            *self = OpenTests::default();
        }
        changed
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.held.contains_key(name)
    }

    /// Takes out what is held of this name.
    pub(crate) fn remove(&mut self, name: &str) -> Option<T> {
        let (name, held) = self.held.remove_entry(name)?;
        self.bytes -= Self::size(&name, &held);
        Some(held)
    }

    /// Takes out everything, by name.
    pub(crate) fn drain(&mut self) -> Vec<(String, T)> {
        self.bytes = 0;
        let mut all: Vec<_> = self.held.drain().collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}
