//! The checks of a bisection's changes beside its own sizes: as rows, and as a table.

use super::{BisectStudy, CheckRow, CulpritCheck};
use crate::{Table, field, left, right};

impl<'a> BisectStudy<'a> {
    /// The checks of each change in turn, with the change's position.
    fn numbered_checks(&self) -> impl Iterator<Item = (usize, &'a CulpritCheck)> {
        let checks = self.checks.iter().enumerate();
        checks.flat_map(|(culprit, of_it)| of_it.iter().map(move |check| (culprit, check)))
    }

    fn check_row(&self, culprit: usize, check: &CulpritCheck) -> CheckRow {
        let place = self.verdict.culprits.get(culprit);
        CheckRow {
            number: culprit + 1,
            place: place.map_or_else(String::new, |culprit| self.place(culprit.place)),
            what: check.what(),
            difference: check.difference(),
            word: check.word(),
            study: check.study.to_string(),
        }
    }

    /// The checks as they are shown, in the order of the changes.
    pub fn check_rows(&self) -> Vec<CheckRow> {
        let checks = self.numbered_checks();
        checks
            .map(|(culprit, check)| self.check_row(culprit, check))
            .collect()
    }

    /// The checks as a table; empty where there is none.
    pub(super) fn check_table(&self) -> Table {
        let mut table = Table::new(vec![
            left("change"),
            left("measured"),
            right("difference"),
            left("it is"),
            left("study"),
        ]);
        for (culprit, check) in self.numbered_checks() {
            let row = self.check_row(culprit, check);
            table.row(vec![
                field(format!("{}. {}", row.number, row.place)),
                field(row.what),
                field(row.difference),
                field(row.word).with_tone(check.tone()),
                field(row.study),
            ]);
        }
        table
    }
}
