//! How much the counters that samplers watched rose in each trial, those first that are unlike the other trials of the same cell.
//!
//! In: the rises of each trial. Out: a row a trial and series, judged and sorted. What is nothing in all trials of a cell is left out.

use backsight_model::{HostName, MonitorName, RoleName, counted};
use backsight_stats::{MedianDeviation, Samples};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering;

use crate::{Document, Render, Section, Table, Tone, field, left, numbers, right};

/// A rise is unusual from so many deviations on: what Iglewicz and Hoaglin take for an outlier ([`MedianDeviation::distance`]).
const UNUSUAL_FROM: f64 = 3.5;

/// The smallest difference that means anything: counters count whole things.
const ONE_COUNT: f64 = 1.0;

/// Most rows where no trial is named.
const MOST_OF_STUDY: usize = 50;

/// The counters of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialCounters {
    /// Its number in the study.
    pub number: u32,
    /// The cell.
    pub cell: String,
    /// What it is compared with: measured trials of the same cell, on the same build.
    pub group: CounterGroup,
    /// Whether it was measured; one that failed is compared with those that were.
    pub measured: bool,
    /// How much each counter rose.
    pub rises: Vec<CounterRise>,
}

/// Trials of one group measured the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CounterGroup {
    /// The cell's number.
    pub cell: usize,
    /// The build's number; 0 where nothing was built.
    pub build: u32,
}

/// A counter and how much it rose during `run`.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterRise {
    /// The counter.
    pub counter: CounterName,
    /// How much it rose.
    pub rise: f64,
}

/// Which counter: a series of a sampler on a host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct CounterName {
    /// The role on whose host it was watched.
    pub role: RoleName,
    /// The host.
    pub host: HostName,
    /// The monitor.
    pub monitor: MonitorName,
    /// The series.
    pub series: String,
}

/// One counter of one trial, and those of the other trials.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JudgedRise {
    /// The trial's number.
    pub trial: u32,
    /// Its cell.
    pub cell: String,
    /// The counter.
    #[serde(flatten)]
    pub counter: CounterName,
    /// How much it rose during `run`.
    pub rise: f64,
    /// In how many other trials of the cell it was watched.
    pub others: usize,
    /// The median of what it rose in those.
    pub others_median: Option<f64>,
    /// How far it lies above that median, in percent of it; below if negative.
    pub percent: Option<f64>,
    /// How many scaled median absolute deviations of the others it lies above their median, below if negative; at least 4 others.
    pub deviations: Option<f64>,
}

/// Counters of a study, or of some trials of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Counters {
    /// The study.
    pub study: String,
    /// The trials that were asked for; none: the most unusual counters of all trials.
    pub trials: Vec<u32>,
    /// The counters, the most unusual first: by `deviations`, those without by `percent`, then by `rise`.
    pub counters: Vec<JudgedRise>,
    /// How many counters there are beside those.
    pub left_out: usize,
    /// How many trials were looked at.
    pub looked_at: usize,
    /// The trials with unusual counters, the one with the most unusual counter first.
    pub unusual: Vec<UnusualTrial>,
    /// What a reader should know besides: outputs that were pruned.
    pub notes: Vec<String>,
}

/// A trial some of whose counters are unusual.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnusualTrial {
    /// Its number.
    pub trial: u32,
    /// How many of its counters lie 3.5 deviations or more from the other trials of its cell.
    pub unusual: usize,
    /// How many counters of it were compared so.
    pub of: usize,
}

impl Counters {
    /// The counters of the trials `asked` for; without one the most unusual ones of all measured trials.
    pub fn new(study: &str, trials: &[TrialCounters], asked: &[u32]) -> Self {
        let mut groups: IndexMap<(CounterGroup, &CounterName), Vec<(u32, f64)>> = IndexMap::new();
        for trial in trials.iter().filter(|trial| trial.measured) {
            for rise in &trial.rises {
                let group = groups.entry((trial.group, &rise.counter)).or_default();
                group.push((trial.number, rise.rise));
            }
        }
        let is_shown = |trial: &&TrialCounters| match asked {
            [] => trial.measured,
            _ => asked.contains(&trial.number),
        };
        let shown: Vec<&TrialCounters> = trials.iter().filter(is_shown).collect();
        let mut counters: Vec<JudgedRise> = Vec::new();
        for trial in &shown {
            for rise in &trial.rises {
                let of_all = groups.get(&(trial.group, &rise.counter));
                let others = of_all.map_or(&[][..], Vec::as_slice).iter();
                let others = others.filter(|(number, _)| *number != trial.number);
                counters.extend(judge(trial, rise, others.map(|(_, rise)| *rise).collect()));
            }
        }
        counters.sort_by(more_unusual);
        let unusual = unusual_trials(&counters);
        let all = counters.len();
        if asked.is_empty() {
            counters.truncate(MOST_OF_STUDY);
        }
        Self {
            study: study.to_owned(),
            trials: asked.to_vec(),
            left_out: all - counters.len(),
            looked_at: shown.len(),
            counters,
            unusual,
            notes: Vec::new(),
        }
    }

    /// The same with these notes.
    #[must_use]
    pub fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }
}

/// A rise beside those of other trials; none where all are nothing.
fn judge(trial: &TrialCounters, rise: &CounterRise, others: Vec<f64>) -> Option<JudgedRise> {
    if rise.rise == 0.0 && others.iter().all(|other| *other == 0.0) {
        return None;
    }
    let count = others.len();
    let others = Samples::new(others).ok();
    let median = others.as_ref().map(Samples::median);
    let bulk = others.and_then(|others| MedianDeviation::new(&others).ok());
    Some(JudgedRise {
        trial: trial.number,
        cell: trial.cell.clone(),
        counter: rise.counter.clone(),
        rise: rise.rise,
        others: count,
        others_median: median,
        percent: median
            .filter(|median| *median != 0.0)
            .map(|median| 100.0 * (rise.rise - median) / median),
        deviations: bulk.map(|bulk| bulk.distance(rise.rise, ONE_COUNT)),
    })
}

/// The order of rows: the more unusual one first.
fn more_unusual(one: &JudgedRise, other: &JudgedRise) -> Ordering {
    // Where there are others and their median is nothing, no percentage is large enough.
    let size = |row: &JudgedRise| match (row.percent, row.others) {
        (Some(percent), _) => percent.abs(),
        (None, 0) => 0.0,
        (None, _) => f64::INFINITY,
    };
    let deviations = |row: &JudgedRise| row.deviations.map_or(-1.0, f64::abs);
    deviations(other)
        .total_cmp(&deviations(one))
        .then_with(|| size(other).total_cmp(&size(one)))
        .then_with(|| other.rise.total_cmp(&one.rise))
}

/// The trials in the order of rows: the one with the most unusual counter first.
fn unusual_trials(rows: &[JudgedRise]) -> Vec<UnusualTrial> {
    let mut trials: IndexMap<u32, UnusualTrial> = IndexMap::new();
    for row in rows {
        let Some(deviations) = row.deviations else {
            continue;
        };
        let trial = trials.entry(row.trial).or_insert(UnusualTrial {
            trial: row.trial,
            unusual: 0,
            of: 0,
        });
        trial.of += 1;
        trial.unusual += usize::from(deviations.abs() >= UNUSUAL_FROM);
    }
    let mut trials: Vec<UnusualTrial> = trials.into_values().collect();
    trials.retain(|trial| trial.unusual > 0);
    trials
}

impl Render for Counters {
    type View<'v> = &'v Self;

    fn view(&self) -> &Self {
        self
    }

    fn document(&self) -> Document {
        let title = match &self.trials[..] {
            [] => format!("Counters of {}", self.study),
            trials => {
                let numbers: Vec<String> = trials.iter().map(u32::to_string).collect();
                let noun = if trials.len() == 1 { "trial" } else { "trials" };
                format!(
                    "Counters of {noun} {} of {}",
                    numbers.join(", "),
                    self.study
                )
            }
        };
        let mut document = Document::new(title);
        for (text, tone) in self.sentences() {
            document = document.with_sentence(text, tone);
        }
        document.with_section(Section::table("", self.table()).with_about(
            "How much each counter rose during `run`. `others`: the median over the other measured trials of the same cell and build. \
             `deviations`: the distance from it in scaled median absolute deviations (1.4826 · MAD, at least one count).",
        ))
    }
}

impl Counters {
    fn sentences(&self) -> Vec<(String, Tone)> {
        let mut sentences = Vec::new();
        let judged = self.counters.iter().any(|row| row.deviations.is_some());
        match &self.unusual[..] {
            [] if judged => sentences.push((
                format!("no counter lies {UNUSUAL_FROM} deviations or more from the other trials"),
                Tone::Plain,
            )),
            unusual => {
                for trial in unusual.iter().take(3) {
                    let said = format!(
                        "trial {}: {} of {} lie {UNUSUAL_FROM} deviations or more from the other trials",
                        trial.trial,
                        trial.unusual,
                        counted(trial.of, "counter")
                    );
                    sentences.push((said, Tone::Changed));
                }
                if unusual.len() > 3 {
                    let more = counted(unusual.len() - 3, "more trial");
                    sentences.push((format!("{more} with such counters"), Tone::Plain));
                }
            }
        }
        if self.counters.iter().any(|row| row.deviations.is_none()) {
            let few = format!(
                "deviations need {} other measured trials of the cell: counters without are ordered by their difference, else by size",
                MedianDeviation::MIN_VALUES
            );
            sentences.push((few, Tone::Plain));
        }
        if self.left_out > 0 {
            let more = format!(
                "{} of {} left out, which are less unusual: --trial N has all of a trial",
                counted(self.left_out, "counter"),
                counted(self.looked_at, "trial")
            );
            sentences.push((more, Tone::Plain));
        }
        sentences.extend(self.notes.iter().map(|note| (note.clone(), Tone::Plain)));
        if self.counters.is_empty() {
            sentences.push(("no counter rose".to_owned(), Tone::Plain));
        }
        sentences
    }

    /// Columns that are the same in every row are left out.
    fn table(&self) -> Table {
        let with_trial = self.trials.len() != 1;
        let mut cells = self.counters.iter().map(|row| &row.cell);
        let first = cells.next();
        let with_cell = with_trial && cells.any(|cell| Some(cell) != first);
        let mut columns = Vec::new();
        columns.extend(with_trial.then(|| right("trial")));
        columns.extend(with_cell.then(|| left("cell")));
        columns.extend([
            left("host"),
            left("monitor"),
            left("counter"),
            right("rose by"),
            right("others"),
            right("difference"),
            right("deviations"),
        ]);
        let mut table = Table::new(columns);
        for row in &self.counters {
            let name = &row.counter;
            let host = match name.role.as_str() == name.host.as_str() {
                true => name.host.to_string(),
                false => format!("{} ({})", name.role, name.host),
            };
            let mut fields = Vec::new();
            fields.extend(with_trial.then(|| field(row.trial.to_string())));
            fields.extend(with_cell.then(|| field(row.cell.clone())));
            let deviations = row
                .deviations
                .map(|it| numbers::signed(&format!("{it:.1}")));
            let tone = match row.deviations {
                Some(it) if it.abs() >= UNUSUAL_FROM => Tone::Changed,
                _ => Tone::Plain,
            };
            fields.extend([
                field(host),
                field(name.monitor.to_string()),
                field(name.series.clone()),
                field(numbers::grouped(row.rise as u64)),
                field(
                    row.others_median
                        .map_or_else(String::new, |it| numbers::grouped(it.round() as u64)),
                ),
                field(row.percent.map_or_else(String::new, numbers::percent)),
                field(deviations.unwrap_or_default()).with_tone(tone),
            ]);
            table.row(fields);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TerminalStyle;

    fn trial(number: u32, rises: &[(&str, f64)]) -> TrialCounters {
        let rises = rises.iter().map(|(series, rise)| CounterRise {
            counter: CounterName {
                role: RoleName::new("dut").unwrap(),
                host: HostName::new("h1").unwrap(),
                monitor: MonitorName::new("net").unwrap(),
                series: (*series).into(),
            },
            rise: *rise,
        });
        TrialCounters {
            number,
            cell: "ping".into(),
            group: CounterGroup { cell: 0, build: 0 },
            measured: true,
            rises: rises.collect(),
        }
    }

    /// Six trials that send about the same; the fourth dropped some.
    fn study() -> Vec<TrialCounters> {
        let sent = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0];
        let trials = sent.iter().zip(1..).map(|(sent, number)| {
            let dropped = if number == 4 { 37.0 } else { 0.0 };
            trial(number, &[("tx", *sent), ("drops", dropped), ("never", 0.0)])
        });
        trials.collect()
    }

    #[test]
    fn what_one_trial_alone_has_is_first_and_what_none_has_is_left_out() {
        let of_study = Counters::new("s", &study(), &[]);
        let first = &of_study.counters[0];
        assert_eq!((first.trial, first.counter.series.as_str()), (4, "drops"));
        assert_eq!(
            (first.rise, first.others, first.others_median),
            (37.0, 5, Some(0.0))
        );
        assert_eq!((first.percent, first.deviations), (None, Some(37.0)));
        assert!(
            of_study
                .counters
                .iter()
                .all(|row| row.counter.series != "never")
        );
        let unusual = UnusualTrial {
            trial: 4,
            unusual: 1,
            of: 2,
        };
        assert_eq!(of_study.unusual, [unusual]);
        // Nothing fell out of the other trials either, so that they have a row of it: the one that dropped is among their others.
        assert_eq!(of_study.counters.len(), 12);

        let text = Counters::new("s", &study(), &[4])
            .document()
            .text(&TerminalStyle::default());
        insta::assert_snapshot!(text);
    }

    #[test]
    fn few_trials_are_ordered_by_their_difference_and_one_by_size() {
        let few: Vec<_> = study().into_iter().skip(2).take(2).collect();
        let found = Counters::new("s", &few, &[4]);
        let order: Vec<&str> = found
            .counters
            .iter()
            .map(|row| row.counter.series.as_str())
            .collect();
        assert_eq!(order, ["drops", "tx"]);
        assert!(found.counters.iter().all(|row| row.deviations.is_none()));
        assert!(
            found
                .document()
                .text(&TerminalStyle::default())
                .contains("deviations need 4 other")
        );
        let one = Counters::new("s", &study()[3..4], &[4]);
        let order: Vec<f64> = one.counters.iter().map(|row| row.rise).collect();
        assert_eq!(order, [1005.0, 37.0]);
    }

    #[test]
    fn other_cells_and_failed_trials_are_no_others() {
        let mut trials = study();
        trials[0].group.cell = 1;
        trials[1].group.build = 7;
        trials[2].measured = false;
        let found = Counters::new("s", &trials, &[3, 4]);
        for row in &found.counters {
            assert_eq!(row.others, if row.trial == 3 { 3 } else { 2 }, "{row:?}");
        }
        // Of a study, trials that failed aren't listed: their `run` may have ended early.
        let listed = Counters::new("s", &trials, &[]);
        assert!(listed.counters.iter().all(|row| row.trial != 3));
    }

    #[test]
    fn a_study_has_its_fifty_most_unusual_ones() {
        let names: Vec<String> = (0..60).map(|number| format!("c{number}")).collect();
        let of = |number| {
            let rises: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 5.0)).collect();
            trial(number, &rises)
        };
        let found = Counters::new("s", &[of(1), of(2)], &[]);
        assert_eq!((found.counters.len(), found.left_out), (50, 70));
        assert_eq!(Counters::new("s", &[of(1), of(2)], &[2]).counters.len(), 60);
    }
}
