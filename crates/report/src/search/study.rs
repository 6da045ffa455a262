//! A search with its verdict: its sentences and tables.

use backsight_model::{Benchmark, Param, StudyName, Unit};
use backsight_policy::{
    BASELINE_WIDTH_RATIO, GeneratorLimit, GoalAnswer, LoadAnswer, LoadBounds, LoadPoint,
    LossReading, MAX_UNSENT_SHARE, SearchGoal, SearchPolicy, SearchVerdict, SubjectAnswer,
};

use crate::{
    Document, Section, Table,
    chart::{LoadCurve, LoadGoal, LoadMark},
    field, left,
    numbers::{self, precise_share as share, significant},
    right,
};

/// Most loads of a subject in its table.
const MOST_LOADS: usize = 400;

/// A search: its policy, its verdict, and the units of its benchmark.
pub struct SearchStudy<'a> {
    pub(super) name: &'a str,
    pub(super) policy: &'a SearchPolicy,
    pub(super) benchmark: &'a Benchmark,
    pub(super) verdict: &'a SearchVerdict,
    /// The load's unit, where it is one that we know.
    unit: Option<Unit>,
}

/// The answer for one goal on one subject, as a row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRow {
    /// What was searched.
    pub subject: String,
    /// The goal.
    pub goal: String,
    /// The load up to which it was met, with its spread over the searches.
    pub met: String,
    /// The load at which it was missed, likewise.
    pub missed: String,
    /// What arrives at the load that met it, likewise.
    pub arrives: String,
    /// How many searches.
    pub searches: usize,
    /// Whose limit it is.
    pub limit: String,
}

/// A load of a subject, as a row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadRow {
    /// The load.
    pub load: String,
    /// What arrived of it.
    pub arrived: String,
    /// What was lost of it.
    pub lost: String,
    /// How many trials.
    pub trials: usize,
    /// How long they were together.
    pub time: String,
    /// For each goal, how many trials met it.
    pub goals: Vec<String>,
    /// In how many of them the generator fell short.
    pub short: usize,
}

impl<'a> SearchStudy<'a> {
    /// The study of this name, which searched with this policy on this benchmark.
    pub fn new(
        name: &'a StudyName,
        policy: &'a SearchPolicy,
        benchmark: &'a Benchmark,
        verdict: &'a SearchVerdict,
    ) -> Self {
        let param = benchmark.params.get(&policy.load);
        Self {
            name: name.as_str(),
            policy,
            benchmark,
            verdict,
            unit: param.and_then(Param::unit),
        }
    }

    /// A load with its unit.
    pub fn load(&self, load: f64) -> String {
        match self.unit {
            Some(unit) => {
                let readable = unit.readable_for(load);
                let scaled = load * unit.in_terms_of(readable).unwrap_or(1.0);
                let reach = scaled * self.policy.grid.width / 2.0;
                format!("{} {readable}", numbers::mean(scaled, Some(reach)))
            }
            None => {
                let param = self.benchmark.params.get(&self.policy.load);
                let unit = param.and_then(|param| param.unit.as_deref());
                format!("{load} {}", unit.unwrap_or(self.policy.load.as_str()))
            }
        }
    }

    /// The load's parameter.
    fn load_name(&self) -> &str {
        self.policy.load.as_str()
    }

    /// A length of trials.
    fn time(&self, seconds: f64) -> String {
        let Some(duration) = &self.policy.duration else {
            return format!("{seconds} trials");
        };
        let param = self.benchmark.params.get(duration);
        let unit = param.and_then(|param| param.unit.as_deref());
        format!(
            "{} {}",
            significant(seconds, 4)
                .trim_end_matches(".000")
                .trim_end_matches(".00"),
            unit.unwrap_or(duration.as_str())
        )
    }

    /// A goal as text: `loss 0.5 %`.
    pub fn goal(&self, goal: &SearchGoal) -> String {
        match goal {
            SearchGoal::Loss { ratio } => format!("loss {}", share(*ratio)),
            SearchGoal::Below { metric, value } => {
                let metric_of = self.benchmark.metrics.get(metric);
                let shown = metric_of.map_or(value.to_string(), |m| m.unit.show(*value));
                format!("{metric} below {shown}")
            }
        }
    }

    /// What is searched: parameters that the plan chose, and the variant.
    pub fn subject(&self, number: usize) -> String {
        let cell = &self.policy.subjects[number].cell;
        let mut parts = vec![cell.chosen_params()];
        if cell.variant.as_str() != "default" {
            parts.push(cell.variant.to_string());
        }
        parts.retain(|part| !part.is_empty());
        match parts.is_empty() {
            true => cell.benchmark.to_string(),
            false => parts.join(" "),
        }
    }

    /// A sentence for every goal on every subject.
    pub fn sentences(&self) -> Vec<String> {
        let each = self.verdict.subjects.iter().flat_map(|answer| {
            answer
                .goals
                .iter()
                .map(move |goal| self.sentence(answer, goal))
        });
        each.collect()
    }

    fn sentence(&self, subject: &SubjectAnswer, answer: &GoalAnswer) -> String {
        let goal = self.goal(&self.policy.goals[answer.goal]);
        let searches = answer.searches.len();
        let of = |found| answer.searches.iter().filter(|s| s.found == found).count();
        let in_some = |count: usize| match searches {
            1 => String::new(),
            _ => format!(" in {count} of {searches} searches"),
        };
        let mut parts = Vec::new();
        if of(LoadAnswer::Between) > 0 {
            let met = self.spread(answer, |s| s.lower);
            let missed = self.spread(answer, |s| s.upper);
            parts.push(format!("met up to {met}, missed at {missed}"));
        }
        let (least, most) = (self.policy.grid.min, self.policy.grid.max);
        for (found, words) in [
            (
                LoadAnswer::BelowMinimum,
                format!(
                    "missed even at the least load, {}: it is below the minimum",
                    self.load(least)
                ),
            ),
            (
                LoadAnswer::AtLeastMaximum,
                format!(
                    "met even at the greatest load, {}: it is at least the maximum",
                    self.load(most)
                ),
            ),
            (LoadAnswer::Unsettled, self.unsettled(answer)),
        ] {
            match of(found) {
                0 => {}
                count => parts.push(format!("{words}{}", in_some(count))),
            }
        }
        let counted = match searches {
            1 => "1 search".to_owned(),
            _ => format!("{searches} searches"),
        };
        format!(
            "{}, {goal}: {} ({counted}, {} trials). {}.",
            self.subject(subject.subject),
            parts.join("; "),
            subject.trials,
            self.limit(answer)
        )
    }

    fn unsettled(&self, answer: &GoalAnswer) -> String {
        let last = answer
            .searches
            .iter()
            .rfind(|s| s.found == LoadAnswer::Unsettled);
        let told =
            |load: Option<f64>, word: &str| load.map(|load| format!("{word} {}", self.load(load)));
        let known = [
            told(last.and_then(|s| s.lower), "met at"),
            told(last.and_then(|s| s.upper), "missed at"),
        ];
        let known: Vec<String> = known.into_iter().flatten().collect();
        match &known[..] {
            [] => "not found yet".to_owned(),
            [only] => format!("{only}, not found yet beyond that"),
            both => format!("{}, not found yet between them", both.join(" and ")),
        }
    }

    /// A value of the searches: of one as it is, of several the median with its range.
    fn spread(&self, answer: &GoalAnswer, value: impl Fn(&LoadBounds) -> Option<f64>) -> String {
        let mut values: Vec<f64> = answer.searches.iter().filter_map(value).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.get(values.len().saturating_sub(1) / 2);
        match (middle, values.first(), values.last()) {
            (Some(middle), Some(least), Some(most)) if values.len() > 1 => {
                format!(
                    "{} ({} to {})",
                    self.load(*middle),
                    self.load(*least),
                    self.load(*most)
                )
            }
            (Some(middle), ..) => self.load(*middle),
            _ => "–".to_owned(),
        }
    }

    /// Whose limit an answer is.
    fn limit(&self, answer: &GoalAnswer) -> String {
        let reached = answer
            .searches
            .iter()
            .any(|s| s.found == LoadAnswer::AtLeastMaximum);
        match answer.generator {
            GeneratorLimit::Unknown => {
                "The generator's own limit isn't known: measure it with --baseline".to_owned()
            }
            GeneratorLimit::IsMeasured if reached => {
                "The generator's own limit is higher: --max says how far to look".to_owned()
            }
            GeneratorLimit::IsMeasured => "This is the generator's own limit".to_owned(),
            GeneratorLimit::Enough { .. } if reached => {
                "The generator was not the limit".to_owned()
            }
            GeneratorLimit::Enough { alone } => format!(
                "The generator isn't the limit: alone it does {} and more",
                self.load(alone)
            ),
            GeneratorLimit::IsTheLimit { alone: Some(alone) } => format!(
                "The generator is the limit, the device may do more: alone it was shown to do {} and no more",
                self.load(alone)
            ),
            GeneratorLimit::IsTheLimit { alone: None } => {
                "The generator is the limit: alone it doesn't even do the least load".to_owned()
            }
            GeneratorLimit::Disturbed { missed } => format!(
                "The generator's own limit isn't known: more went through the device than alone, where {} was too much; \
                 something disturbed the baseline: search again on a quieter machine",
                self.load(missed)
            ),
            GeneratorLimit::FellShort { sent } => format!(
                "The generator is the limit: it sent only {} where it was missed",
                self.load(sent)
            ),
        }
    }

    /// A row for every goal on every subject.
    pub fn rows(&self) -> Vec<SearchRow> {
        let rows = self.verdict.subjects.iter().flat_map(|subject| {
            subject.goals.iter().map(move |answer| SearchRow {
                subject: self.subject(subject.subject),
                goal: self.goal(&self.policy.goals[answer.goal]),
                met: self.spread(answer, |s| s.lower),
                missed: self.spread(answer, |s| s.upper),
                arrives: self.spread(answer, |s| s.throughput),
                searches: answer.searches.len(),
                limit: match answer.generator {
                    GeneratorLimit::Unknown | GeneratorLimit::Disturbed { .. } => "not known",
                    GeneratorLimit::IsMeasured => "generator's own",
                    GeneratorLimit::Enough { .. } => "device",
                    GeneratorLimit::IsTheLimit { .. } | GeneratorLimit::FellShort { .. } => {
                        "generator"
                    }
                }
                .to_owned(),
            })
        });
        rows.collect()
    }

    /// How it was searched, and what a reader has to know of it.
    pub fn notes(&self) -> Vec<String> {
        let policy = self.policy;
        let lengths: Vec<String> = policy.phases.iter().map(|p| self.time(p.seconds)).collect();
        let trials: usize = self
            .verdict
            .subjects
            .iter()
            .map(|answer| answer.trials)
            .sum();
        let lengths = match policy.duration {
            Some(_) => format!("{trials} trials of {}", lengths.join(" and ")),
            None => format!("{trials} trials"),
        };
        let mut notes = vec![format!(
            "MLRsearch: {lengths}; a load is a bound when of {} at most {} {} against it; bounds are at most {} apart",
            self.time(policy.sum),
            share(policy.exceed),
            if policy.duration.is_some() {
                "is"
            } else {
                "are"
            },
            share(policy.grid.width),
        )];
        if policy.subjects.iter().any(|subject| subject.is_baseline) {
            notes.push(format!(
                "those of a baseline at most {BASELINE_WIDTH_RATIO} times as far: whether it is above the device is the question"
            ));
        }
        match &policy.reading.loss {
            Some(LossReading::Received { metric, slack, .. }) => notes.push(format!(
                "the loss is what `{metric}` is below what was offered; up to {} can't be told from the error of a clock and counts as none",
                share(*slack)
            )),
            Some(LossReading::Count { metric }) => notes.push(format!(
                "`{metric}` counts what was lost: a trial that lost anything missed the goal"
            )),
            Some(LossReading::Share { .. }) | None => {}
        }
        match &policy.reading.sent {
            Some((metric, _)) => notes.push(format!(
                "a trial in which `{metric}` is more than {} below what was to be sent is the generator's, and met no goal",
                share(MAX_UNSENT_SHARE)
            )),
            None => notes.push(
                "the benchmark doesn't say what the generator really sent".to_owned(),
            ),
        }
        if !self.verdict.complete {
            notes.push("the search isn't over: these are the bounds so far".to_owned());
        }
        notes
    }

    /// What arrived of a load, where that is known of all of its trials.
    fn arrived(&self, point: &LoadPoint) -> String {
        match loss(point) {
            Some(loss) => self.load(point.load * (1.0 - loss)),
            None => "–".to_owned(),
        }
    }

    /// The share of a load that was lost, with its spread; of a count, in how many trials something was.
    fn lost(&self, point: &LoadPoint) -> String {
        let (least, most) = ends(&point.losses);
        match (loss(point), &self.policy.reading.loss) {
            (None, Some(LossReading::Count { .. })) => {
                format!(
                    "in {} of {} trials",
                    point.trials - point.losses.len(),
                    point.trials
                )
            }
            (None, _) => "–".to_owned(),
            (Some(loss), _) if point.losses.len() > 1 => {
                format!("{} ({} to {})", share(loss), share(least), share(most))
            }
            (Some(loss), _) => share(loss),
        }
    }

    /// How many of the trials at a load met a goal, with the metric's values where it is about one.
    fn met_at(&self, goal: &SearchGoal, good: usize, trials: usize, values: &[f64]) -> String {
        let of = format!("{good} of {trials}");
        let (SearchGoal::Below { metric, .. }, Some(value)) = (goal, mean(values)) else {
            return of;
        };
        let unit = self.benchmark.metrics.get(metric).map(|metric| metric.unit);
        let shown = |value: f64| unit.map_or(value.to_string(), |unit| unit.show(value));
        let (least, most) = ends(values);
        match values.len() {
            1 => format!("{of}: {}", shown(value)),
            _ => format!(
                "{of}: {} ({} to {})",
                shown(value),
                shown(least),
                shown(most)
            ),
        }
    }

    /// The goals' names.
    pub fn goal_names(&self) -> Vec<String> {
        let goals = self.policy.goals.iter();
        goals.map(|goal| self.goal(goal)).collect()
    }

    /// The answers, a subject each.
    pub fn answers(&self) -> &'a [SubjectAnswer] {
        &self.verdict.subjects
    }

    /// A row for each load of a subject, and how many more loads there are.
    pub fn loads(&self, answer: &SubjectAnswer) -> (Vec<LoadRow>, usize) {
        let shown = answer.loads.iter().take(MOST_LOADS);
        let rows = shown.map(|point| self.load_row(point)).collect();
        (rows, answer.loads.len().saturating_sub(MOST_LOADS))
    }

    fn load_row(&self, point: &LoadPoint) -> LoadRow {
        let goals = self.policy.goals.iter().zip(&point.good).zip(&point.values);
        LoadRow {
            load: self.load(point.load),
            arrived: self.arrived(point),
            lost: self.lost(point),
            trials: point.trials,
            time: self.time(point.seconds),
            goals: goals
                .map(|((goal, good), values)| self.met_at(goal, *good, point.trials, values))
                .collect(),
            short: point.short,
        }
    }

    /// The chart of a subject, and what it shows in a sentence.
    pub fn curve(&self, answer: &SubjectAnswer, id: &str) -> (String, String) {
        let reads_loss = answer.loads.iter().any(|point| loss(point).is_some());
        // Without a loss it is the metric of the first goal that is about one.
        let of = (0..self.policy.goals.len()).find(|goal| {
            answer
                .loads
                .iter()
                .any(|point| !point.values[*goal].is_empty())
        });
        let value = |point: &LoadPoint| match (reads_loss, of) {
            (true, _) => loss(point).map(|loss| point.load * (1.0 - loss)),
            (false, Some(goal)) => mean(&point.values[goal]),
            (false, None) => None,
        };
        let about = match (reads_loss, of) {
            (true, _) => {
                "what arrived over what was offered; on the dashed line nothing is lost".to_owned()
            }
            (false, Some(goal)) => {
                let goal = self.goal(&self.policy.goals[goal]);
                format!("{goal} over what was offered")
            }
            (false, None) => return (String::new(), "nothing was measured".to_owned()),
        };
        let load_text = |load: f64| round_load(self.unit, load);
        let value_text = |value: f64| match reads_loss {
            true => load_text(value),
            false => significant(value, 2),
        };
        let marks = answer.loads.iter().filter_map(|point| {
            Some(LoadMark {
                load: point.load,
                value: value(point)?,
                about: format!(
                    "offered {}, lost {}, {} trials",
                    self.load(point.load),
                    self.lost(point),
                    point.trials
                ),
                fell_short: point.short > 0,
            })
        });
        let curve = LoadCurve {
            id,
            title: format!("{}: {about}", self.subject(answer.subject)),
            axis: format!("offered: {}", self.load_name()),
            load_text: &load_text,
            value_text: &value_text,
            has_diagonal: reads_loss,
            marks: marks.collect(),
            goals: answer.goals.iter().map(|goal| self.bounds(goal)).collect(),
        };
        match curve.svg() {
            Some(svg) => (svg, about),
            None => (String::new(), "nothing arrived".to_owned()),
        }
    }

    /// The interval between the least lower and the greatest upper bound of a goal, of all searches.
    fn bounds(&self, goal: &GoalAnswer) -> LoadGoal {
        let searches = || goal.searches.iter();
        LoadGoal {
            name: self.goal(&self.policy.goals[goal.goal]),
            number: goal.goal,
            lower: searches().filter_map(|s| s.lower).reduce(f64::min),
            upper: searches().filter_map(|s| s.upper).reduce(f64::max),
        }
    }
}

impl SearchStudy<'_> {
    /// The search as a document: the answers, their table, and how it was searched.
    pub fn document(&self) -> Document {
        let mut table = Table::new(vec![
            left("searched"),
            left("goal"),
            right("met up to"),
            right("missed at"),
            right("arrives"),
            right("searches"),
            left("limit"),
        ]);
        for row in self.rows() {
            table.row(vec![
                field(row.subject),
                field(row.goal),
                field(row.met),
                field(row.missed),
                field(row.arrives),
                field(row.searches.to_string()),
                field(row.limit),
            ]);
        }
        Document::new(format!("{}: highest {}", self.name, self.load_name()))
            .with_sentences(self.sentences())
            .with_section(Section::table("", table))
            .with_section(Section::list("How it was searched", self.notes()))
    }
}

/// The mean share that was lost at a load, where that is known of all of its trials.
fn loss(point: &LoadPoint) -> Option<f64> {
    mean(&point.losses).filter(|_| point.losses.len() == point.trials)
}

fn mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

fn ends(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least, most)
}

/// A round load with its unit.
fn round_load(unit: Option<Unit>, value: f64) -> String {
    match unit {
        Some(unit) => {
            let readable = unit.readable_for(value);
            let scaled = value * unit.in_terms_of(readable).unwrap_or(1.0);
            format!("{} {readable}", (scaled * 1e6).round() / 1e6)
        }
        None => format!("{}", (value * 1e6).round() / 1e6),
    }
}
