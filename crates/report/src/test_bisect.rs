//! A bisection of a test with its verdict: the change that broke or mended it, and how often it failed before and after.

use backsight_model::{
    StudyHistory, Time, counted,
    numbers::{probability, share},
};
use backsight_policy::{BisectEnd, TestBisectVerdict, TestCulprit};
use backsight_stats::failures::FailureRate;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

use crate::{
    Document, Render, Section, Table, Tone,
    bisect::{RangeChanges, change_line},
    field, left, right,
};

/// Stretches that a table lists; the JSON has all.
const MOST_PLACES: usize = 20;

/// A bisection of a test: what was run, its verdict, and what was asked.
#[derive(Debug, Clone, Copy)]
pub struct TestBisectStudy<'a> {
    /// What was run.
    pub history: &'a StudyHistory,
    /// The suite with its parameters.
    pub suite: &'a str,
    /// The test.
    pub test: &'a str,
    /// The verdict.
    pub verdict: &'a TestBisectVerdict,
    /// How sure the answer is to be: 0.95.
    pub confidence: f64,
    /// What it may take.
    pub budget: Option<Duration>,
    /// What the culprit's stretch holds; none without a culprit.
    pub between: Option<&'a RangeChanges>,
    /// Tests of the suite whose names are like the test's, where the suite hasn't that one.
    pub similar: Option<&'a str>,
    /// The command line that asks the same again.
    pub command: &'a str,
}

/// The view for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TestBisectView<'a> {
    /// The study.
    pub study: String,
    /// The suite with its parameters.
    pub suite: &'a str,
    /// The test.
    pub test: &'a str,
    /// Why it ended: `decided`, `budget`, `most`, `end`, `short`; nothing while it goes on.
    pub ended: Option<&'static str>,
    /// The change.
    pub culprit: Option<TestCulpritView<'a>>,
    /// Probability that the ends fail equally often, or differ by less than what counts.
    pub no_change: f64,
    /// Each stretch of versions that may have the change, with its probability.
    pub places: Vec<TestPlaceView<'a>>,
    /// The versions that were run, oldest first.
    pub measured: Vec<TestedVersionView<'a>>,
    /// Versions that can't be run.
    pub broken: Vec<&'a str>,
    /// Trials with a result.
    pub trials: usize,
    /// Trials that say nothing: they failed, or the test was skipped.
    pub without_result: usize,
    /// Time of builds, boots and trials, in seconds.
    pub seconds: f64,
}

/// The change that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TestCulpritView<'a> {
    /// The last version before it.
    pub after: &'a str,
    /// The first version known to have it.
    pub until: &'a str,
    /// What identifies that version.
    pub id: &'a str,
    /// Its probability.
    pub probability: f64,
    /// `broke` or `mended`.
    pub direction: &'static str,
    /// How often the test failed before.
    pub before: FailureRate,
    /// How often it fails since.
    pub since: FailureRate,
}

/// A stretch of versions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TestPlaceView<'a> {
    /// The last version before the change.
    pub after: &'a str,
    /// The first version after it.
    pub until: &'a str,
    /// The probability that it is there.
    pub probability: f64,
}

/// A version that was run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TestedVersionView<'a> {
    /// Its name.
    pub version: &'a str,
    /// Runs that failed.
    pub failed: u64,
    /// All runs.
    pub runs: u64,
}

fn direction(culprit: &TestCulprit) -> &'static str {
    match culprit.after.rate > culprit.before.rate {
        true => "broke",
        false => "mended",
    }
}

fn rate_text(rate: &FailureRate) -> String {
    format!(
        "{} of {} runs, {} [{}, {}]",
        rate.count.failures,
        rate.count.runs,
        share(rate.rate),
        share(rate.interval.low),
        share(rate.interval.high)
    )
}

impl<'a> TestBisectStudy<'a> {
    fn name(&self, position: usize) -> &'a str {
        let version = self.history.versions.get(position);
        version.map_or("", |version| version.name.as_str())
    }

    fn sentences(&self) -> Vec<(String, Tone)> {
        let (first, last) = (
            self.name(0),
            self.name(self.history.versions.len().saturating_sub(1)),
        );
        let (test, verdict) = (self.test, self.verdict);
        let mut said = Vec::new();
        match (&verdict.culprit, verdict.ended) {
            (Some(culprit), _) => {
                let place = culprit.place;
                let (name, broke) = (self.name(place.until), direction(culprit));
                let title = (self.history.versions.get(place.until))
                    .map(|version| version.title.as_str())
                    .filter(|title| !title.is_empty());
                let titled = title.map_or(String::new(), |title| format!(" ({title})"));
                let sure = probability(culprit.probability);
                let text = match place.until - place.after {
                    1 => format!("{name}{titled} {broke} `{test}`, probability {sure}"),
                    _ => format!(
                        "a change after {} up to {name} {broke} `{test}`, probability {sure}: versions between can't be run",
                        self.name(place.after)
                    ),
                };
                let tone = if broke == "broke" {
                    Tone::Bad
                } else {
                    Tone::Good
                };
                said.push((text, tone));
                let rates = format!(
                    "it failed in {} before, and fails in {} since",
                    rate_text(&culprit.before),
                    rate_text(&culprit.after)
                );
                said.push((rates, Tone::Plain));
            }
            (None, Some(BisectEnd::Decided)) => {
                let none = format!(
                    "`{test}` fails as often in {last} as in {first}, or nearly so, probability {}",
                    probability(verdict.no_change)
                );
                said.push((none, Tone::Plain));
            }
            (None, Some(BisectEnd::End(_))) if self.similar.is_some() => {
                let similar = self.similar.unwrap_or_default();
                let none = format!("{} has no test `{test}`{similar}", self.suite);
                said.push((none, Tone::Bad));
            }
            (None, Some(BisectEnd::End(end))) => {
                let dead = format!(
                    "`{test}` has no result in {}: it doesn't build, doesn't run, or skips the test",
                    self.name(end)
                );
                said.push((dead, Tone::Bad));
            }
            (None, Some(BisectEnd::Short)) => {
                said.push(("there are fewer than two versions".to_owned(), Tone::Bad));
            }
            (None, Some(BisectEnd::Budget | BisectEnd::Most)) => {
                let open = "it can't be told yet: the budget is spent; the same command with a larger one goes on from here";
                said.push((open.to_owned(), Tone::Changed));
            }
            (None, None) => said.push(("it isn't known yet".to_owned(), Tone::Faint)),
        }
        let (with, without) = verdict.trials;
        let mut spent = format!(
            "{} of {} versions in {}",
            counted(with, "run"),
            verdict.measured.len(),
            Time(Duration::from_secs(verdict.spent.as_secs()))
        );
        if without > 0 {
            spent.push_str(&format!(", {without} without a result"));
        }
        said.push((spent, Tone::Plain));
        if !verdict.broken.is_empty() {
            let broken: Vec<&str> = verdict.broken.iter().map(|at| self.name(*at)).collect();
            said.push((format!("passed over: {}", broken.join(", ")), Tone::Plain));
        }
        said
    }

    fn measured_table(&self) -> Table {
        let mut table = Table::new(vec![left("version"), right("failed"), right("runs")]);
        for (position, count) in &self.verdict.measured {
            let tone = match count.failures {
                0 => Tone::Plain,
                _ => Tone::Bad,
            };
            table.row(vec![
                field(self.name(*position)),
                field(count.failures.to_string()).with_tone(tone),
                field(count.runs.to_string()),
            ]);
        }
        table
    }

    fn places_table(&self) -> Table {
        let mut table = Table::new(vec![left("after"), left("until"), right("probability")]);
        let mut places = self.verdict.places.clone();
        places.retain(|(_, probability)| *probability >= 0.01);
        places.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (place, likely) in places.iter().take(MOST_PLACES) {
            table.row(vec![
                field(self.name(place.after)),
                field(self.name(place.until)),
                field(probability(*likely)),
            ]);
        }
        table
    }
}

impl Render for TestBisectStudy<'_> {
    type View<'v>
        = TestBisectView<'v>
    where
        Self: 'v;

    fn view(&self) -> TestBisectView<'_> {
        let verdict = self.verdict;
        let culprit = verdict.culprit.as_ref().map(|culprit| TestCulpritView {
            after: self.name(culprit.place.after),
            until: self.name(culprit.place.until),
            id: (self.history.versions.get(culprit.place.until)).map_or("", |it| it.id.as_str()),
            probability: culprit.probability,
            direction: direction(culprit),
            before: culprit.before,
            since: culprit.after,
        });
        let places = verdict.places.iter().map(|(place, likely)| TestPlaceView {
            after: self.name(place.after),
            until: self.name(place.until),
            probability: *likely,
        });
        let measured = verdict
            .measured
            .iter()
            .map(|(at, count)| TestedVersionView {
                version: self.name(*at),
                failed: count.failures,
                runs: count.runs,
            });
        TestBisectView {
            study: self.history.name.to_string(),
            suite: self.suite,
            test: self.test,
            ended: verdict.ended.map(|end| match end {
                BisectEnd::Decided => "decided",
                BisectEnd::Budget => "budget",
                BisectEnd::Most => "most",
                BisectEnd::End(_) => "end",
                BisectEnd::Short => "short",
            }),
            culprit,
            no_change: verdict.no_change,
            places: places.collect(),
            measured: measured.collect(),
            broken: verdict.broken.iter().map(|at| self.name(*at)).collect(),
            trials: verdict.trials.0,
            without_result: verdict.trials.1,
            seconds: verdict.spent.as_secs_f64(),
        }
    }

    fn document(&self) -> Document {
        let title = format!("{}: {} of {}", self.history.name, self.test, self.suite);
        let mut document = Document::new(title);
        for (text, tone) in self.sentences() {
            document = document.with_sentence(text, tone);
        }
        let changes = match self.between {
            Some(Ok(changes)) => changes.iter().map(change_line).collect(),
            Some(Err(why)) => vec![why.clone()],
            None => Vec::new(),
        };
        document
            .with_section(Section::list("Changes there", changes))
            .with_section(Section::table("Where it may be", self.places_table()))
            .with_section(Section::table(
                "Versions that were run",
                self.measured_table(),
            ))
            .with_section(Section::list("Asked again", vec![self.command.to_owned()]).folded())
    }
}
