//! Cross-checks of a study's trials: the numbers of each side, how far they lie apart, and whether the check holds.
//!
//! Nothing is checked here: in are checks that were made, out is a table with those that failed first.

use backsight_model::counted;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Document, Render, Section, Table, Tone, field, left, numbers, right};

/// What came of a cross-check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CrossCheckOutcome {
    /// The numbers lie too far apart.
    Failed,
    /// The numbers agree.
    Held,
    /// A number wasn't counted.
    NotMade,
}

impl CrossCheckOutcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Held => "held",
            Self::NotMade => "not made",
        }
    }

    fn tone(self) -> Tone {
        match self {
            Self::Failed => Tone::Bad,
            Self::Held => Tone::Good,
            Self::NotMade => Tone::Faint,
        }
    }
}

/// One of the numbers that have to be equal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CrossCheckNumber {
    /// What it is made of: `sent`, or `client:net:*.tx_packets`; sums with `+`.
    pub of: String,
    /// The number, if it was counted.
    pub number: Option<f64>,
    /// Why it wasn't counted.
    pub why: Option<String>,
}

/// A cross-check of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CrossCheckRow {
    /// The trial's number.
    pub trial: u32,
    /// Its cell.
    pub cell: String,
    /// The check's name.
    pub check: String,
    /// One line about it.
    pub about: String,
    /// What came of it.
    pub outcome: CrossCheckOutcome,
    /// The numbers.
    pub numbers: Vec<CrossCheckNumber>,
    /// How far the highest number lies above the lowest, if all were counted.
    pub difference: Option<f64>,
    /// The same in percent of the largest.
    pub percent: Option<f64>,
    /// How far they may lie apart, in percent of the largest.
    pub tolerance: f64,
    /// Differences of no more than this are no matter.
    pub slack: f64,
}

/// The cross-checks of a study, or of some trials of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CrossChecks {
    /// The study.
    pub study: String,
    /// The checks: those that failed first, the furthest apart at the top, then those that held, then those that weren't made.
    pub checks: Vec<CrossCheckRow>,
}

impl CrossChecks {
    /// These checks of a study.
    pub fn new(study: &str, mut checks: Vec<CrossCheckRow>) -> Self {
        checks.sort_by(|one, other| {
            let percent = |row: &CrossCheckRow| row.percent.unwrap_or(0.0);
            one.outcome
                .cmp(&other.outcome)
                .then_with(|| percent(other).total_cmp(&percent(one)))
                .then_with(|| one.trial.cmp(&other.trial))
        });
        Self {
            study: study.to_owned(),
            checks,
        }
    }

    fn count(&self, outcome: CrossCheckOutcome) -> usize {
        self.checks
            .iter()
            .filter(|row| row.outcome == outcome)
            .count()
    }

    /// How many there are, how many failed, and how many weren't made; with the tone of it.
    pub fn sentence(&self) -> (String, Tone) {
        let (failed, unmade) = (
            self.count(CrossCheckOutcome::Failed),
            self.count(CrossCheckOutcome::NotMade),
        );
        let all = counted(self.checks.len(), "cross-check");
        let unmade = match unmade {
            0 => String::new(),
            some => format!(", {some} not made"),
        };
        match failed {
            0 => (format!("{all}: none failed{unmade}"), Tone::Plain),
            some => (format!("{all}: {some} failed{unmade}"), Tone::Bad),
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::new(vec![
            right("trial"),
            left("cell"),
            left("check"),
            left("outcome"),
            left("numbers"),
            right("apart"),
            right("tolerance"),
        ]);
        for row in &self.checks {
            let numbers = row.numbers.iter().map(CrossCheckNumber::shown);
            let apart = row
                .difference
                .zip(row.percent)
                .map(|(difference, percent)| {
                    format!("{} ({} %)", grouped(difference), numbers::value(percent, 3))
                });
            let slack = match row.slack > 0.0 {
                true => format!(", or {}", grouped(row.slack)),
                false => String::new(),
            };
            table.row(vec![
                field(row.trial.to_string()),
                field(row.cell.clone()),
                field(row.check.clone()),
                field(row.outcome.as_str()).with_tone(row.outcome.tone()),
                field(numbers.collect::<Vec<_>>().join("; ")),
                field(apart.unwrap_or_default()),
                field(format!("{} %{slack}", row.tolerance)),
            ]);
        }
        table
    }
}

fn grouped(number: f64) -> String {
    numbers::grouped(number.round() as u64)
}

impl CrossCheckNumber {
    fn shown(&self) -> String {
        match (&self.number, &self.why) {
            (Some(number), _) => format!("{} = {}", self.of, grouped(*number)),
            (None, Some(why)) => format!("{}: {why}", self.of),
            (None, None) => self.of.clone(),
        }
    }
}

impl Render for CrossChecks {
    type View<'v> = &'v Self;

    fn view(&self) -> &Self {
        self
    }

    fn document(&self) -> Document {
        let (sentence, tone) = self.sentence();
        Document::new(format!("Cross-checks of {}", self.study))
            .with_sentence(sentence, tone)
            .with_section(Section::table("", self.table()).with_about(
                "Numbers that have to be equal. `apart`: the highest less the lowest, and in percent of the largest. A check holds if that is \
                 within its tolerance.",
            ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TerminalStyle;

    fn row(trial: u32, numbers: [Result<f64, &str>; 2]) -> CrossCheckRow {
        let [sent, arrived] = numbers;
        let apart = sent.and_then(|sent| Ok(sent - arrived?)).ok();
        let side = |of: &str, number: Result<f64, &str>| CrossCheckNumber {
            of: of.into(),
            number: number.ok(),
            why: number.err().map(str::to_owned),
        };
        CrossCheckRow {
            trial,
            cell: "flood".into(),
            check: "datagrams".into(),
            about: String::new(),
            outcome: match apart {
                None => CrossCheckOutcome::NotMade,
                Some(apart) if apart > 1.0 => CrossCheckOutcome::Failed,
                Some(_) => CrossCheckOutcome::Held,
            },
            numbers: vec![side("sent", sent), side("sink:net:lo.rx", arrived)],
            difference: apart,
            percent: apart.map(|apart| apart / 100.0),
            tolerance: 0.1,
            slack: 2.0,
        }
    }

    #[test]
    fn those_that_failed_are_first_and_those_that_were_not_made_say_why() {
        let checks = vec![
            row(1, [Ok(10_000.0), Err("`net` didn't watch `sink`")]),
            row(2, [Ok(10_000.0), Ok(10_000.0)]),
            row(3, [Ok(10_000.0), Ok(9_900.0)]),
            row(4, [Ok(10_000.0), Ok(4_000.0)]),
        ];
        let found = CrossChecks::new("s", checks);
        let order: Vec<u32> = found.checks.iter().map(|row| row.trial).collect();
        assert_eq!(order, [4, 3, 2, 1]);
        insta::assert_snapshot!(found.document().text(&TerminalStyle::default()));
    }
}
