//! A history that is one line of versions, all known: what packages, lists and CVS have in common.
//!
//! There are no branches: each version comes before or after each other one.

use crate::when::{VersionPoint, at_or_before, instant, thin, window};
use crate::{HistoryError, nearest};
use backsight_model::{Every, Range, Version};
use jiff::Timestamp;

/// Versions, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// The target, as a user knows it.
    pub(crate) target: String,
    pub(crate) versions: Vec<Version>,
    /// From where the last stretch of time is counted back.
    pub(crate) now: Timestamp,
}

impl Line {
    /// The place of the version that a text names: by identity, by name, by a date at or after which it was made.
    pub(crate) fn place(&self, asked: &str) -> Result<usize, HistoryError> {
        if let Some(place) = self.named(asked) {
            return Ok(place);
        }
        let instant = instant(asked).ok_or_else(|| self.unknown(asked))?;
        at_or_before(&self.points(), instant).ok_or_else(|| {
            HistoryError::Other(
                match self
                    .versions
                    .iter()
                    .find_map(|version| Some((&version.name, version.at?)))
                {
                    Some((name, at)) => format!(
                        "{} has no version as old as {asked}: its first is {name} of {at}",
                        self.target
                    ),
                    None => format!(
                        "versions of {} don't say when they were made: name one",
                        self.target
                    ),
                },
            )
        })
    }

    /// The place of the version of this identity or name.
    pub(crate) fn named(&self, asked: &str) -> Option<usize> {
        self.versions
            .iter()
            .position(|version| version.id == asked)
            .or_else(|| {
                self.versions
                    .iter()
                    .rposition(|version| version.name == asked)
            })
    }

    pub(crate) fn unknown(&self, asked: &str) -> HistoryError {
        let ends = self.versions.first().zip(self.versions.last());
        HistoryError::Unknown {
            known: ends.map(|(first, last)| (first.name.clone(), last.name.clone())),
            requested: asked.to_owned(),
            target: self.target.clone(),
            near: nearest(
                asked,
                self.versions.iter().map(|version| version.name.as_str()),
            ),
        }
    }

    fn points(&self) -> Vec<VersionPoint> {
        self.versions.iter().map(VersionPoint::from).collect()
    }

    /// As [`crate::History::resolve`].
    pub(crate) fn resolve(&self, asked: &str) -> Result<Version, HistoryError> {
        Ok(self.versions[self.place(asked)?].clone())
    }

    /// As [`crate::History::versions`].
    pub(crate) fn range(&self, range: &Range, every: &Every) -> Result<Vec<Version>, HistoryError> {
        let stretch = match range {
            Range::Between { from, to } => {
                let (start, end) = (self.place(from)?, self.place(to)?);
                if start > end {
                    return Err(HistoryError::Reversed {
                        from: from.clone(),
                        to: to.clone(),
                    });
                }
                start..end + 1
            }
            Range::Last(back) => window(&self.points(), *back, self.now)?..self.versions.len(),
        };
        if stretch.is_empty() {
            return Err(HistoryError::Empty {
                what: format!("{} has no version at all", self.target),
            });
        }
        let line = &self.versions[stretch];
        let points: Vec<VersionPoint> = line.iter().map(VersionPoint::from).collect();
        Ok(thin(&points, every)?
            .into_iter()
            .map(|place| line[place].clone())
            .collect())
    }

    /// As [`crate::History::reached`].
    pub(crate) fn reached(
        &self,
        point: &str,
        versions: &[Version],
    ) -> Result<Vec<bool>, HistoryError> {
        let Some(place) = self.named(point) else {
            let since = instant(point).ok_or_else(|| self.unknown(point))?;
            return Ok(versions
                .iter()
                .map(|version| version.at.is_some_and(|at| at >= since))
                .collect());
        };
        versions
            .iter()
            .map(|version| self.own(version).map(|own| own >= place))
            .collect()
    }

    /// The place of a version that came from here.
    pub(crate) fn own(&self, version: &Version) -> Result<usize, HistoryError> {
        self.versions
            .iter()
            .position(|own| own.id == version.id)
            .ok_or_else(|| self.unknown(&version.name))
    }
}
