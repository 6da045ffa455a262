//! The series of one sampler: names and the numbers of its current sample.

/// Names with numbers. A sample is written over the last one: as long as the names come in the same order nothing is allocated
/// and nothing copied but the numbers.
#[derive(Debug, Default)]
pub(crate) struct Series {
    /// All names, one after the other.
    names: Vec<u8>,
    /// Where each name ends.
    ends: Vec<usize>,
    values: Vec<i64>,
    /// How many of them the current sample has so far.
    filled: usize,
    changed: bool,
}

impl Series {
    /// Begins a sample.
    pub(crate) fn begin(&mut self) {
        self.filled = 0;
        self.changed = false;
    }

    /// Adds a number. Its name is these pieces, with nothing between them.
    pub(crate) fn push(&mut self, pieces: &[&[u8]], value: i64) {
        let at = self.filled;
        if at < self.values.len() {
            if self.has_name(at, pieces) {
                self.values[at] = value;
                self.filled += 1;
                return;
            }
            self.truncate();
        }
        self.changed = true;
        for piece in pieces {
            self.names.extend_from_slice(piece);
        }
        self.ends.push(self.names.len());
        self.values.push(value);
        self.filled += 1;
    }

    /// Ends the sample, and says whether its names differ from those of the one before.
    pub(crate) fn end(&mut self) -> bool {
        if self.filled < self.values.len() {
            self.truncate();
            self.changed = true;
        }
        self.changed
    }

    pub(crate) fn values(&self) -> &[i64] {
        &self.values[..self.filled]
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.filled).map(|at| self.name(at))
    }

    fn name(&self, at: usize) -> &[u8] {
        &self.names[self.start(at)..self.ends[at]]
    }

    fn start(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    fn has_name(&self, at: usize, pieces: &[&[u8]]) -> bool {
        let mut name = self.name(at);
        for piece in pieces {
            let Some(rest) = name.strip_prefix(*piece) else {
                return false;
            };
            name = rest;
        }
        name.is_empty()
    }

    /// Forgets the names of the last sample from here on.
    fn truncate(&mut self) {
        self.names.truncate(self.start(self.filled));
        self.ends.truncate(self.filled);
        self.values.truncate(self.filled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fill(series: &mut Series, names: &[String]) -> bool {
        series.begin();
        for (value, name) in (0..).zip(names) {
            let (first, second) = name.split_at(name.len() / 2);
            series.push(&[first.as_bytes(), second.as_bytes()], value);
        }
        series.end()
    }

    proptest! {
        #[test]
        fn a_sample_has_its_own_names_whatever_the_last_one_had(
            samples in prop::collection::vec(prop::collection::vec("[ab]{0,3}", 0..6), 1..6),
        ) {
            let mut series = Series::default();
            let mut last: Vec<String> = Vec::new();
            for names in samples {
                let changed = fill(&mut series, &names);
                prop_assert_eq!(changed, names != last);
                let kept: Vec<&[u8]> = series.names().collect();
                let wanted: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
                prop_assert_eq!(kept, wanted);
                prop_assert_eq!(series.values().len(), names.len());
                prop_assert!(series.values().iter().zip(0..).all(|(value, at)| *value == at));
                last = names;
            }
        }
    }
}
