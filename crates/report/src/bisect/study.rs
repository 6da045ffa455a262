//! A bisection with its verdict: its sentences, tables and charts.

use backsight_model::{CellMetric, Change, HistoryCell, StudyHistory, StudyState, Time};
use backsight_policy::{
    BisectEnd, BisectVerdict, ChangeAcceptance, ChangeDirection, ChangeLocation, Culprit,
    NextReason, NextVersion,
};
use backsight_stats::{Interval, TrialStatistic, culprits::IntervalEstimate};
use std::time::Duration;

use super::CulpritCheck;
use crate::{
    Body, Document, Section, Table, Tone,
    chart::{self, Step, StepChart, StepPoint, Suspicion},
    clipped, field, left,
    numbers::{self, Scale, counted, duration, significant},
    right,
    series_text::acceptance,
};

/// Digits of a size.
const DIGITS: usize = 3;
/// Most changes that are listed of a stretch.
const MOST_LISTED: usize = 20;
/// Most files that are named of a change.
const MOST_FILES: usize = 12;
/// Longest title, in characters.
const LONGEST: usize = 100;
/// Longest name of a version below the picture.
const LONGEST_NAME: usize = 40;
/// From this prior probability on it is said that changes may cancel unseen.
const WORTH_SAYING: f64 = 0.01;

/// The changes that lie between two versions; or why they can't be told.
pub type RangeChanges = Result<Vec<Change>, String>;

/// A bisection: what was measured, its verdict, and what was asked.
#[derive(Debug, Clone, Copy)]
pub struct BisectStudy<'a> {
    /// What was measured.
    pub history: &'a StudyHistory,
    /// The verdict.
    pub verdict: &'a BisectVerdict,
    /// The number of the cell that is bisected.
    pub cell: usize,
    /// The name of its metric.
    pub metric: &'a str,
    /// What it may take.
    pub budget: Option<Duration>,
    /// How sure the answer is to be: 0.95.
    pub confidence: f64,
    /// Whether changes that cancel were looked for.
    pub cancelling: bool,
    /// What each culprit's stretch holds, in their order.
    pub between: &'a [RangeChanges],
    /// The studies that checked each culprit, in their order.
    pub checks: &'a [Vec<CulpritCheck>],
    /// What is accepted along the target's history of this metric.
    pub accepted: &'a [ChangeAcceptance],
    /// The command line that asks the same again.
    pub command: &'a str,
}

/// A culprit as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct CulpritRow {
    /// From 1.
    pub number: usize,
    /// The version that has it, or the stretch.
    pub place: String,
    /// `+3.10 % [+2.60, +3.60], worse`; with the size in the metric's unit where a share isn't defined.
    pub size: String,
    /// `+1.20 s [+1.00, +1.40]`.
    pub absolute: String,
    /// `99 %`.
    pub probability: String,
    /// `better`, `worse` or nothing.
    pub class: &'static str,
    /// Its size on a line around zero, as SVG.
    pub mark: String,
    /// The changes in it.
    pub changes: Vec<ChangeRow>,
    /// What is to be said instead or besides.
    pub note: String,
}

/// A change as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeRow {
    /// Its short name.
    pub name: String,
    /// Its author.
    pub author: String,
    /// When.
    pub at: String,
    /// The first line of its message.
    pub title: String,
    /// The whole message.
    pub message: String,
    /// The files that it touches.
    pub files: String,
}

impl ChangeRow {
    /// The change in a line.
    fn line(&self) -> String {
        let Self {
            name,
            author,
            at,
            title,
            files,
            ..
        } = self;
        format!("{name} {author} {at}: {title} ({files})")
    }
}

/// A change in a line: its name, author, time, title and files.
pub(crate) fn change_line(change: &Change) -> String {
    row_of(change).line()
}

impl CulpritRow {
    /// The changes in it, a line each, and what is to be said besides.
    fn details(&self) -> Vec<String> {
        let note = (!self.note.is_empty()).then(|| self.note.clone());
        self.changes
            .iter()
            .map(ChangeRow::line)
            .chain(note)
            .collect()
    }
}

impl<'a> BisectStudy<'a> {
    fn cell(&self) -> Option<&'a HistoryCell> {
        self.history.cells.get(self.cell)
    }

    fn of_metric(&self) -> Option<&'a CellMetric> {
        let metrics = &self.cell()?.metrics;
        metrics
            .iter()
            .find(|metric| metric.name.as_str() == self.metric)
    }

    /// The name of a version.
    pub fn version(&self, position: usize) -> String {
        let version = self.history.versions.get(position);
        version.map_or_else(String::new, |version| version.full_name())
    }

    fn ends(&self) -> (String, String) {
        let last = self.history.versions.len().saturating_sub(1);
        (self.version(0), self.version(last))
    }

    /// What was asked.
    pub fn question(&self) -> String {
        let (first, last) = self.ends();
        let cell = self
            .cell()
            .map_or_else(String::new, |cell| cell.cell.to_string());
        format!(
            "{} of {cell}, from {first} to {last}, {}",
            self.metric,
            counted(self.history.versions.len(), "version")
        )
    }

    /// `3f2a91c`, or `between 1.2 and 1.5 (3 versions)`.
    pub fn place(&self, place: ChangeLocation) -> String {
        match place.until - place.after {
            1 => self.version(place.until),
            wide => format!(
                "after {}, up to {} ({wide} versions)",
                self.version(place.after),
                self.version(place.until)
            ),
        }
    }

    fn scale(&self) -> Scale {
        let means = self.verdict.measured.iter().map(|(_, _, mean)| *mean);
        Scale::fitting(self.of_metric().map(|metric| metric.unit), means)
    }

    fn figure(&self, value: f64) -> String {
        let scale = self.scale();
        format!(
            "{}{}",
            significant(scale.convert(value), DIGITS),
            scale.unit_after()
        )
    }

    fn change_by(&self, estimate: &IntervalEstimate) -> String {
        let scale = self.scale();
        scale.difference(estimate.value, Some(estimate.interval))
    }

    /// The culprits as they are shown.
    pub fn rows(&self) -> Vec<CulpritRow> {
        let culprits = self.verdict.culprits.iter().enumerate();
        culprits.map(|(n, culprit)| self.row(n, culprit)).collect()
    }

    fn row(&self, n: usize, culprit: &Culprit) -> CulpritRow {
        let sizes = self.verdict.waterfall.as_ref();
        let size = sizes.and_then(|sizes| sizes.steps.get(n));
        let level = sizes.map_or(f64::NAN, |sizes| sizes.level.value.abs());
        let (changes, note) = match self.between.get(n) {
            Some(Ok(changes)) => {
                let left = changes.len().saturating_sub(MOST_LISTED);
                let note = match left {
                    0 => String::new(),
                    left => format!("and {left} changes more"),
                };
                (
                    changes.iter().rev().take(MOST_LISTED).map(row_of).collect(),
                    note,
                )
            }
            Some(Err(why)) => (Vec::new(), why.clone()),
            None => (Vec::new(), String::new()),
        };
        let better = self.of_metric().map(|metric| metric.better);
        let class = match size {
            Some(size) if better.is_some() && size.value != 0.0 => {
                ChangeDirection::from_size(size.value, better).as_str()
            }
            _ => "",
        };
        let interval = size.map(|size| Interval {
            low: 100.0 * size.interval.low / level,
            high: 100.0 * size.interval.high / level,
        });
        CulpritRow {
            number: n + 1,
            place: self.place(culprit.place),
            size: match (culprit.percent, size) {
                (Some(by), _) => format!("{}, {class}", numbers::percent_in(by, interval)),
                (None, Some(size)) => format!("{}, {class}", self.change_by(size)),
                (None, None) => "a change".to_owned(),
            },
            absolute: size.map_or_else(String::new, |size| self.change_by(size)),
            probability: numbers::probability(culprit.probability),
            class,
            mark: match (culprit.percent, interval) {
                (Some(percent), Some(Interval { low, high })) if level > 0.0 => chart::mark(
                    percent,
                    Some((low, high)),
                    low.abs().max(high.abs()).max(0.5),
                ),
                _ => String::new(),
            },
            changes,
            note,
        }
    }

    /// How the total is made up: what, and how much.
    pub fn sum(&self) -> Vec<(String, String)> {
        let Some(sizes) = &self.verdict.waterfall else {
            return Vec::new();
        };
        let (first, last) = self.ends();
        let mut lines: Vec<(String, String)> = self
            .verdict
            .culprits
            .iter()
            .zip(&sizes.steps)
            .map(|(culprit, size)| (self.place(culprit.place), self.change_by(size)))
            .collect();
        lines.push((
            "remainder, not attributed".to_owned(),
            self.change_by(&sizes.remainder),
        ));
        lines.push((
            format!("total, from {first} to {last}"),
            self.change_by(&sizes.total),
        ));
        lines
    }

    /// The answer, how sure it is, and what it took, a sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = vec![self.answer()];
        sentences.extend(self.doubts());
        sentences.extend(self.machines());
        sentences.push(self.ending());
        if self.is_running() {
            sentences.extend(self.next());
        }
        sentences
    }

    fn answer(&self) -> String {
        let verdict = self.verdict;
        let (first, last) = self.ends();
        if let Some(BisectEnd::End(end)) = verdict.ended {
            return format!(
                "{} can't be measured, so there is nothing to compare with: `backsight show {}` says why; begin at another version",
                self.version(end),
                self.history.name
            );
        }
        if verdict.ended == Some(BisectEnd::Short) {
            return "there are no two versions to compare".to_owned();
        }
        if verdict.waterfall.is_none() {
            return "too little was measured to say anything".to_owned();
        }
        let number = verdict.culprits.len();
        if verdict.ended != Some(BisectEnd::Decided) {
            return self.so_far();
        }
        match number {
            0 => {
                let looser = match self.cancelling {
                    true => "",
                    false => ". Changes that cancel each other are looked for with --cancelling",
                };
                format!(
                    "no change of {} or more is visible from {first} to {last} (probability {}){looser}",
                    self.ruled_out(),
                    numbers::probability(verdict.probability)
                )
            }
            1 => format!(
                "one change did it: {} (probability {})",
                self.brief(0),
                numbers::probability(verdict.probability)
            ),
            number => {
                let all: Vec<String> = (0..number).map(|n| self.brief(n)).collect();
                format!(
                    "{number} changes did it: {} (probability of all together {})",
                    all.join("; "),
                    numbers::probability(verdict.probability)
                )
            }
        }
    }

    /// The largest change that isn't ruled out, in percent of the first level where there is one: `0.4 %`. Rounded up.
    fn ruled_out(&self) -> String {
        let size = self.verdict.ruled_out.unwrap_or(f64::INFINITY);
        let sizes = self.verdict.waterfall.as_ref();
        let level = sizes.map_or(f64::NAN, |sizes| sizes.level.value.abs());
        match 100.0 * size / level {
            percent if percent.is_finite() && percent > 0.0 => numbers::bound(percent),
            _ => self.figure(size),
        }
    }

    /// What is known before it is decided: first the change from the first version to the last, or what size is ruled out; then
    /// what is suspected.
    fn so_far(&self) -> String {
        let verdict = self.verdict;
        let (first, last) = self.ends();
        let total = verdict.waterfall.as_ref().map(|sizes| &sizes.total);
        let sure = format!("{:.0} %", 100.0 * self.confidence);
        match total {
            Some(total) if verdict.changed >= self.confidence => {
                let found = match verdict.culprits.len() {
                    0 => String::new(),
                    number => {
                        let all: Vec<String> = (0..number).map(|n| self.brief(n)).collect();
                        format!("; known so far is {}", all.join("; "))
                    }
                };
                let suspects = match verdict.places.is_empty() {
                    true => String::new(),
                    false => format!(": {}", self.suspects()),
                };
                format!(
                    "from {first} to {last} it changed by {}{found}; which changes did it isn't decided{suspects}",
                    self.change_by(total)
                )
            }
            _ => {
                let looser = match verdict.changed >= 0.5 && !verdict.places.is_empty() {
                    true => format!(": {}", self.suspects()),
                    false => String::new(),
                };
                format!(
                    "no change of {} or more is visible from {first} to {last} (probability {sure}); whether there is a smaller \
                     one isn't decided{looser}",
                    self.ruled_out()
                )
            }
        }
    }

    fn brief(&self, n: usize) -> String {
        let row = self.row(n, &self.verdict.culprits[n]);
        let title = match &row.changes[..] {
            [change] => format!(" \"{}\"", change.title),
            _ => String::new(),
        };
        format!("{}{title}: {}", row.place, row.size)
    }

    fn suspects(&self) -> String {
        let mut places = self.verdict.places.clone();
        places.sort_by(|a, b| b.1.total_cmp(&a.1));
        let words = places.iter().take(3);
        let words = words
            .map(|(place, p)| format!("{} ({})", self.place(*place), numbers::probability(*p)));
        format!("suspected is {}", words.collect::<Vec<_>>().join(", "))
    }

    /// Which of the changes are accepted.
    fn accepted_ones(&self) -> Vec<String> {
        let culprits = self.verdict.culprits.iter();
        let accepted = culprits.flat_map(|culprit| {
            let versions = culprit.place.after + 1..=culprit.place.until;
            let ids = versions.filter_map(|at| Some(&self.history.versions.get(at)?.id));
            let ids: Vec<&String> = ids.collect();
            let about = self.accepted.iter();
            about.filter(move |it| ids.contains(&&it.acceptance.version))
        });
        let said = accepted.map(|it| format!("{} is {}", it.acceptance.name, acceptance(it)));
        said.collect()
    }

    fn doubts(&self) -> Vec<String> {
        let verdict = self.verdict;
        let mut doubts = self.accepted_ones();
        let total = verdict.waterfall.as_ref().map(|sizes| sizes.total);
        let better = self.of_metric().map(|metric| metric.better);
        if let (Some(total), Some(better)) = (total, better)
            && verdict.changed >= 0.5
        {
            let (up, down) = (total.interval.low > 0.0, total.interval.high < 0.0);
            let improved = match better {
                backsight_stats::Better::Higher => up,
                backsight_stats::Better::Lower => down,
                backsight_stats::Better::Neither => false,
            };
            if improved {
                let (first, last) = self.ends();
                doubts.push(format!(
                    "{last}, which was called bad, is better than {first}: these are the changes that made it better"
                ));
            }
        }
        if verdict.hidden >= WORTH_SAYING && !verdict.measured.is_empty() && !self.cancelling {
            doubts.push(format!(
                "two changes that cancel may hide where nothing was measured (chance beforehand {}): --cancelling looks closer",
                numbers::probability(verdict.hidden)
            ));
        }
        if !verdict.broken.is_empty() {
            let names: Vec<String> = verdict
                .broken
                .iter()
                .take(8)
                .map(|v| self.version(*v))
                .collect();
            let more = match verdict.broken.len().saturating_sub(8) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            doubts.push(format!(
                "passed over, because they don't build, boot or run: {}{more}",
                names.join(", ")
            ));
        }
        if let (Some(smallest), false) = (verdict.smallest, verdict.culprits.is_empty()) {
            doubts.push(format!(
                "smaller changes than {} aren't counted; one measurement has a standard deviation of {}",
                self.figure(smallest),
                self.figure(verdict.noise.unwrap_or(0.0))
            ));
        }
        let trials = verdict.estimator.trials;
        match verdict.estimator.statistic {
            TrialStatistic::Best(rank) => {
                let best = match rank {
                    1 => "best".to_owned(),
                    2 => "second best".to_owned(),
                    _ => format!("{rank}th best"),
                };
                doubts.push(format!(
                    "a measurement is the {best} of {trials} trials, in turn with those of other versions: what disturbs here makes trials only worse, and the {best} of several varies far less than their mean"
                ));
            }
            TrialStatistic::Mean if self.verdict.interleaved => doubts.push(format!(
                "a measurement is the mean of {trials} trials, in turn with those of other versions: trials that follow each other are disturbed alike here"
            )),
            TrialStatistic::Mean => {}
        }
        doubts
    }

    /// How the testbeds differ, where several measured at once.
    fn machines(&self) -> Option<String> {
        let mut testbeds = self
            .history
            .several_testbeds()
            .iter()
            .zip(&self.verdict.testbed_offsets);
        let (first, _) = testbeds.next()?;
        let of = |added: f64| match added < 0.0 {
            true => format!("{} less", self.figure(-added)),
            false => format!("{} more", self.figure(added)),
        };
        let others =
            testbeds.map(|(testbed, added)| format!("{} measures {}", testbed.name, of(*added)));
        let others: Vec<String> = others.collect();
        Some(format!(
            "measured on {} testbeds at once, of which {} than {}: that is taken off",
            others.len() + 1,
            others.join(", "),
            first.name
        ))
    }

    fn ending(&self) -> String {
        let verdict = self.verdict;
        let (good, failed) = verdict.trials;
        let failed = match failed {
            0 => String::new(),
            failed => format!(", {failed} of them failed"),
        };
        let made = format!(
            "{} of {}{failed}, {} in this study",
            counted(good + verdict.trials.1, "trial"),
            counted(verdict.measured.len(), "version"),
            duration(verdict.spent)
        );
        let end = match verdict.ended {
            Some(BisectEnd::Budget) => {
                let budget = self
                    .budget
                    .map_or_else(String::new, |b| Time(b).to_string());
                let more = duration(verdict.spent.mul_f64(2.0));
                format!(
                    "; the budget of {budget} is spent: more with --budget, for instance twice as much ({more}); what was measured is not measured again"
                )
            }
            Some(BisectEnd::Most) => "; as much was measured as was allowed".to_owned(),
            None if self.is_running() => "; it goes on".to_owned(),
            None => "; it was stopped before its end".to_owned(),
            Some(_) => String::new(),
        };
        format!("{made}{end}")
    }

    fn table(&self) -> Table {
        let mut table = Table::new(vec![
            left("change"),
            left("where"),
            left("who"),
            left("what"),
            right("size"),
            right("in all"),
            right("probability"),
        ]);
        for row in self.rows() {
            let (who, what) = match &row.changes[..] {
                [change] => (change.author.clone(), change.title.clone()),
                [] => (String::new(), row.note.clone()),
                some => (String::new(), format!("one of {} changes", some.len())),
            };
            let tone = match row.class {
                "better" => Tone::Good,
                "worse" => Tone::Bad,
                _ => Tone::Plain,
            };
            table.row(vec![
                field(row.number.to_string()),
                field(row.place),
                field(who),
                field(what),
                field(row.size).with_tone(tone),
                field(row.absolute),
                field(row.probability),
            ]);
        }
        table
    }

    fn sum_table(&self) -> Table {
        let mut table = Table::new(vec![left("what"), right("change")]);
        if !self.verdict.culprits.is_empty() {
            for (what, size) in self.sum() {
                table.row(vec![field(what), field(size)]);
            }
        }
        table
    }

    /// Where changes may be, the most probable first, with the probability.
    pub fn suspected(&self) -> Vec<(String, String)> {
        let mut places = self.verdict.places.clone();
        places.sort_by(|a, b| b.1.total_cmp(&a.1));
        let places = places.iter();
        places
            .map(|(place, p)| (self.place(*place), numbers::probability(*p)))
            .collect()
    }

    /// What was measured: the version, how often, and the mean.
    pub fn measured(&self) -> Vec<(String, usize, String)> {
        let measured = self.verdict.measured.iter();
        measured
            .map(|(at, n, mean)| (self.version(*at), *n, self.figure(*mean)))
            .collect()
    }

    /// Whether its question is answered.
    pub fn is_decided(&self) -> bool {
        self.verdict.ended == Some(BisectEnd::Decided)
    }

    fn is_running(&self) -> bool {
        self.history.state == StudyState::Running
    }

    /// What is measured next, and why; nothing where it has ended.
    fn next(&self) -> Option<String> {
        let NextVersion { version, reason } = self.verdict.next?;
        let version = self.version(version);
        Some(match reason {
            NextReason::Ends => format!(
                "next is {version}: both ends come first, until it is known how much measurements vary"
            ),
            NextReason::Suspected(probability) => format!(
                "next is {version}: it lies in or at the edge of a stretch that has a change with a probability of {}",
                numbers::probability(probability)
            ),
            NextReason::Level => {
                format!("next is {version}: how it performs isn't known well enough yet")
            }
        })
    }

    /// The measured versions over their places, the levels between the changes, and below where a change is suspected, as SVG;
    /// empty if nothing was measured.
    pub fn chart(&self) -> String {
        let measured = self.verdict.measured.iter();
        let (least, most) = chart::span(measured.clone().map(|(_, _, mean)| *mean));
        let (first, last) = self.ends();
        let points = measured.map(|(at, times, mean)| StepPoint {
            version: *at,
            times: *times,
            mean: *mean,
            about: format!(
                "{}: {}, {}",
                self.version(*at),
                self.figure(*mean),
                counted(*times, "measurement")
            ),
        });
        let sizes = self.verdict.waterfall.as_ref();
        let better = self.of_metric().map(|metric| metric.better);
        let steps = self.verdict.culprits.iter().enumerate();
        let steps = steps.map(|(n, culprit)| {
            let size = sizes.and_then(|sizes| sizes.steps.get(n));
            Step {
                after: culprit.place.after,
                until: culprit.place.until,
                direction: size.map(|size| ChangeDirection::from_size(size.value, better)),
            }
        });
        let suspected = self
            .verdict
            .places
            .iter()
            .map(|(place, probability)| Suspicion {
                after: place.after,
                until: place.until,
                probability: *probability,
                about: format!(
                    "{}: probability {}",
                    self.place(*place),
                    numbers::probability(*probability)
                ),
            });
        StepChart {
            title: self.question(),
            extremes: [most, least].map(|mean| self.figure(mean)),
            ends: [first, last].map(|name| clipped(&name, LONGEST_NAME)),
            versions: self.history.versions.len(),
            points: points.collect(),
            steps: steps.collect(),
            suspected: match self.verdict.ended {
                Some(BisectEnd::Decided) => Vec::new(),
                _ => suspected.collect(),
            },
            next: self.verdict.next.map(|next| next.version),
        }
        .svg()
    }
}

impl BisectStudy<'_> {
    /// The bisection as a document: the answer, the changes, how they add up, and each change in full.
    pub fn document(&self) -> Document {
        let mut sentences = self.sentences().into_iter();
        let document = Document::new(self.question());
        let document = match sentences.next() {
            Some(first) => document.with_sentence(first, Tone::Plain),
            None => document,
        };
        let mut document = document
            .with_sentences(sentences)
            .with_section(Section::table("", self.table()))
            .with_section(Section::table("How it adds up", self.sum_table()))
            .with_section(Section::table("Measured side by side", self.check_table()));
        for row in self.rows() {
            let heading = format!("{}. {}", row.number, row.place);
            document = document.with_section(Section::list(heading, row.details()).folded());
        }
        let command = Body::Verbatim(self.command.to_owned());
        document.with_section(Section::new("Ask again with", command).folded())
    }
}

fn row_of(change: &Change) -> ChangeRow {
    let mut files: Vec<String> = change
        .files
        .iter()
        .take(MOST_FILES)
        .map(|file| match (file.added, file.removed) {
            (Some(added), Some(removed)) => format!("{} +{added} −{removed}", file.path),
            _ => file.path.clone(),
        })
        .collect();
    if change.files.len() > MOST_FILES {
        files.push(format!("and {} more", change.files.len() - MOST_FILES));
    }
    ChangeRow {
        name: change.name.clone(),
        author: change.author.clone(),
        at: change.at.map_or_else(String::new, |at| at.to_string()),
        title: clipped(change.title(), LONGEST),
        message: change.message.trim_end().to_owned(),
        files: files.join(", "),
    }
}
