//! What goes along with changes: the view for programs, and the sentences and tables.
//!
//! It is said of each thing that it goes along with a change, never that it causes it.

mod changed_files;
mod code_change;

pub use changed_files::sort_changed_files;
pub use code_change::{
    CodeChange, CodeChangeView, FunctionChangeView, ProgramDifference, ProgramDifferenceView,
};

use backsight_model::{Better, Cell, ChangedFile, MetricName, MonitorName, Unit, counted};
use backsight_policy::explain::{CandidateKind, ChangeBasis, Correlate};
use backsight_stats::{Interval, PartialCorrelation};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashSet;

use crate::{
    Document, Render, Section, Table, Tone, field, left,
    numbers::{self, Scale},
    right,
};

/// Changes between studies, versions or variants, each with what goes along with it.
#[derive(Debug, Clone)]
pub struct Explanations {
    /// What was asked about: `base and new`.
    pub title: String,
    /// The changes of primary metrics: those that the metric tells first, of these the largest.
    pub changes: Vec<ExplainedChange>,
    /// Primary metrics of which no change was found, each with what was found: there is nothing to explain.
    pub unchanged: Vec<String>,
    /// What else differs between the sides: facts of hosts, definitions, compilers.
    pub facts: Vec<String>,
    /// What a reader should know: monitors that weren't there, trials that are too few.
    pub notes: Vec<String>,
}

/// A change of one metric of one cell.
#[derive(Debug, Clone)]
pub struct ExplainedChange {
    /// The side that it is measured against.
    pub base: String,
    /// The other side.
    pub new: String,
    /// The cell.
    pub cell: Cell,
    /// The metric.
    pub metric: MetricName,
    /// Its unit.
    pub unit: Option<Unit>,
    /// Which direction is good.
    pub better: Better,
    /// `better`, `worse` or `changed`; what else the comparison says where trials differ that aren't independent.
    pub call: &'static str,
    /// Whether the metric is told to differ: else it is what programs did that does.
    pub is_told: bool,
    /// new − base in percent of the base, with its interval.
    pub percent: Option<(f64, Option<Interval>)>,
    /// How many things were looked at.
    pub candidates: usize,
    /// What goes along with it, best first.
    pub correlates: Vec<NamedCorrelate>,
    /// The versions that may have made it, oldest first: name and title.
    pub versions: Vec<(String, String)>,
    /// The last version before it and the first one after it, of a study along a history.
    pub ends: Option<[String; 2]>,
    /// The builds of these, where they are kept.
    pub code: Option<CodeChange>,
    /// Files that differ between these, the largest difference first.
    pub files: Vec<ChangedFile>,
}

/// Something that goes along with a change.
#[derive(Debug, Clone)]
pub struct NamedCorrelate {
    /// What it is.
    pub kind: CandidateKind,
    /// Its name.
    pub name: String,
    /// The monitor that saw it.
    pub monitor: MonitorName,
    /// One line about it.
    pub about: String,
    /// The unit of its means.
    pub unit: Option<Unit>,
    /// Its figures.
    pub figures: Correlate,
    /// Its correlation with the metric over the versions of the whole history, with their order held fixed, where there are enough.
    pub over_versions: Option<PartialCorrelation>,
}

/// What `explain` prints.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExplanationsView<'a> {
    /// What was asked about.
    pub title: &'a str,
    /// The changes of primary metrics: those that the metric tells first, of these the largest.
    pub changes: Vec<ExplainedChangeView<'a>>,
    /// Primary metrics without a change, each with what was found.
    pub unchanged: &'a [String],
    /// What else differs between the sides.
    pub facts: &'a [String],
    /// What a reader should know.
    pub notes: &'a [String],
}

/// A change of one metric of one cell, and what goes along with it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExplainedChangeView<'a> {
    /// The side that it is measured against.
    pub base: &'a str,
    /// The other side.
    pub new: &'a str,
    /// The cell: benchmark, parameters, variant.
    pub cell: String,
    /// The metric.
    pub metric: &'a str,
    /// Its unit; null if nobody said it.
    pub unit: Option<Unit>,
    /// `better`, `worse` or `changed`; what else the comparison says where trials differ that aren't independent.
    pub call: &'a str,
    /// Whether the metric is told to differ: else it is what programs did that does.
    pub is_told: bool,
    /// new − base in percent of the base; null where that isn't defined.
    pub percent: Option<f64>,
    /// The interval of that.
    pub percent_interval: Option<Interval>,
    /// How many things were looked at.
    pub candidates: usize,
    /// What goes along with it, best first. It goes along with the change: whether it is the cause isn't said.
    pub goes_along: Vec<CorrelateView<'a>>,
    /// The versions that may have made it, oldest first.
    pub versions: Vec<ExplainedVersionView<'a>>,
    /// The machine code of the last version before it against that of the first one after it; null where there are no builds of them.
    pub code: Option<CodeChangeView<'a>>,
    /// Files that differ between the last version before it and the first one after it, the largest difference first; none where the
    /// target's history can't say.
    pub files: &'a [ChangedFile],
}

/// A version that may have made a change.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExplainedVersionView<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it says of itself.
    pub title: &'a str,
}

/// Something that goes along with a change.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CorrelateView<'a> {
    /// `function` or `metric`.
    pub kind: &'static str,
    /// Its name.
    pub name: &'a str,
    /// The monitor that saw it.
    pub monitor: &'a str,
    /// One line about it.
    pub about: &'a str,
    /// The unit of the means.
    pub unit: Option<Unit>,
    /// The mean of the baseline's trials.
    pub base: f64,
    /// The mean of the new side's trials.
    pub new: f64,
    /// What the percentages are of: `per-work`, what there is for each piece of the benchmark's work; `share`, the share of the time of
    /// all functions; `itself`, its values as they are, or by the second.
    pub basis: &'static str,
    /// new − base in percent of the base; null where the base has none of it.
    pub percent: Option<f64>,
    /// The interval of that.
    pub percent_interval: Option<Interval>,
    /// The p-value, adjusted over everything of its kind.
    pub p: f64,
    /// The correlation with the metric over the trials of both sides.
    pub correlation: f64,
    /// Of time: the share of the change that it accounts for; negative where it works against the change, null of anything else.
    pub share: Option<f64>,
    /// How well it goes along with the change, from 0 to 1.
    pub score: f64,
    /// How it goes along with the metric over all versions of the study; null where these are fewer than six or no line.
    pub over_versions: Option<OverVersionsView>,
    /// Of a function: whether its machine code changed; null where that isn't known, and of anything else.
    pub code_changed: Option<bool>,
}

/// How something goes along with a metric over the means of versions.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OverVersionsView {
    /// The partial correlation, with the order of versions held fixed: what both drift by doesn't count.
    pub partial_correlation: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// The versions in which both were measured.
    pub versions: usize,
}

/// The place of the column of what is known over the whole history: after `follows`.
const OVER_VERSIONS: usize = 6;

/// Percentages from here on are shown as factors.
const LARGEST_PERCENT: f64 = 900.0;

fn kind_name(kind: CandidateKind) -> &'static str {
    match kind {
        CandidateKind::Function => "function",
        CandidateKind::Metric => "metric",
    }
}

impl NamedCorrelate {
    fn view<'a>(&'a self, code: Option<&CodeChange>) -> CorrelateView<'a> {
        let figures = &self.figures;
        CorrelateView {
            kind: kind_name(self.kind),
            name: &self.name,
            monitor: self.monitor.as_str(),
            about: &self.about,
            unit: self.unit,
            base: figures.base,
            new: figures.new,
            basis: match figures.basis {
                ChangeBasis::Itself => "itself",
                ChangeBasis::PerWork => "per-work",
                ChangeBasis::ShareOfTime => "share",
            },
            percent: figures.percent.ok(),
            percent_interval: figures.percent_interval.ok(),
            p: figures.p,
            correlation: figures.correlation,
            share: figures.share,
            score: figures.score,
            over_versions: self.over_versions.map(|it| OverVersionsView {
                partial_correlation: it.correlation,
                interval: it.interval,
                versions: it.n,
            }),
            code_changed: code
                .filter(|_| self.kind == CandidateKind::Function)
                .map(|code| code.has_changed(&self.name)),
        }
    }

    /// Its name; of a function with other machine code also that.
    fn marked_name(&self, code: Option<&CodeChange>) -> String {
        match self.view(code).code_changed {
            Some(true) => format!("{} (its code changed)", self.name),
            _ => self.name.clone(),
        }
    }

    /// `+82 % [80, 84]`; `from nothing` where the base has none of it.
    fn change(&self) -> String {
        match self.figures.percent {
            Ok(percent) => {
                let interval = self.figures.percent_interval.ok();
                let change = match percent < LARGEST_PERCENT {
                    true => numbers::percent_in(percent, interval),
                    false => format!("×{}", numbers::significant(percent / 100.0 + 1.0, 3)),
                };
                match self.figures.basis {
                    ChangeBasis::PerWork => format!("{change} for the same work"),
                    ChangeBasis::ShareOfTime => format!("{change} of its share of the time"),
                    ChangeBasis::Itself => change,
                }
            }
            Err(_) => "from nothing".to_owned(),
        }
    }
}

impl ExplainedChange {
    fn view(&self) -> ExplainedChangeView<'_> {
        ExplainedChangeView {
            base: &self.base,
            new: &self.new,
            cell: self.cell.to_string(),
            metric: self.metric.as_str(),
            unit: self.unit,
            call: self.call,
            is_told: self.is_told,
            percent: self.percent.map(|(percent, _)| percent),
            percent_interval: self.percent.and_then(|(_, interval)| interval),
            candidates: self.candidates,
            goes_along: (self.correlates.iter())
                .map(|correlate| correlate.view(self.code.as_ref()))
                .collect(),
            versions: (self.versions.iter())
                .map(|(name, title)| ExplainedVersionView { name, title })
                .collect(),
            code: self.code.as_ref().map(CodeChange::view),
            files: &self.files,
        }
    }

    /// Whether the comparison called it a change.
    fn is_called(&self) -> bool {
        matches!(self.call, "better" | "worse" | "changed")
    }

    /// `new against base, bench time: worse by +10 % [9, 11]`.
    fn heading(&self) -> String {
        let size = self.percent.map_or(String::new(), |(percent, interval)| {
            format!(" by {}", numbers::percent_in(percent, interval))
        });
        let call = match (self.is_called(), self.is_told) {
            (true, _) => self.call,
            (false, true) => "not decided, but the trials differ",
            (false, false) => "not told to differ, but what programs did does; measured",
        };
        format!(
            "{} against {}, {} {}: {call}{size}",
            self.new, self.base, self.cell, self.metric
        )
    }

    /// Whether something of it is known over the whole history.
    fn has_versions(&self) -> bool {
        let mut correlates = self.correlates.iter();
        correlates.any(|it| it.over_versions.is_some())
    }

    fn table(&self) -> Table {
        let mut columns = vec![
            left("goes along"),
            right(self.base.clone()),
            right(self.new.clone()),
            left("change"),
            right("of it"),
            right("follows"),
            right("score"),
            left("seen by"),
        ];
        if self.has_versions() {
            columns.insert(OVER_VERSIONS, right("over versions"));
        }
        let mut table = Table::new(columns);
        for correlate in &self.correlates {
            let figures = &correlate.figures;
            let scale = correlate
                .unit
                .map(|unit| Scale::fitting(unit, [figures.base, figures.new]));
            let shown = |value: f64| match &scale {
                Some(scale) => format!(
                    "{}{}",
                    numbers::significant(scale.convert(value), 4),
                    scale.unit_after()
                ),
                None => numbers::significant(value, 4),
            };
            let mut fields = vec![
                field(correlate.marked_name(self.code.as_ref())),
                field(shown(figures.base)),
                field(shown(figures.new)),
                field(correlate.change()),
                field(match figures.share {
                    Some(share) => format!("{:.0} %", 100.0 * share),
                    None => String::new(),
                }),
                field(format!("{:+.2}", figures.correlation).replace('-', "−")),
                field(format!("{:.2}", figures.score)),
                field(correlate.monitor.to_string()),
            ];
            if self.has_versions() {
                let over = correlate.over_versions.map_or(String::new(), |it| {
                    let Interval { low, high } = it.interval;
                    format!("{:+.2} [{low:+.2}, {high:+.2}]", it.correlation).replace('-', "−")
                });
                fields.insert(OVER_VERSIONS, field(over));
            }
            table.row(fields);
        }
        table
    }

    /// What is said of it in a sentence.
    fn sentence(&self) -> String {
        match self.correlates.first() {
            Some(first) => format!(
                "{}: `{}` goes along best ({})",
                self.heading(),
                first.name,
                first.change()
            ),
            None if self.candidates == 0 => format!(
                "{}: no monitor watched both sides; measure with --monitors to learn what goes along",
                self.heading()
            ),
            None => format!(
                "{}: of {} that monitors saw, nothing goes along that chance wouldn't bring as well",
                self.heading(),
                counted(self.candidates, "thing")
            ),
        }
    }
}

impl Render for Explanations {
    type View<'v> = ExplanationsView<'v>;

    fn view(&self) -> ExplanationsView<'_> {
        ExplanationsView {
            title: &self.title,
            changes: self.changes.iter().map(ExplainedChange::view).collect(),
            unchanged: &self.unchanged,
            facts: &self.facts,
            notes: &self.notes,
        }
    }

    fn document(&self) -> Document {
        let mut document = Document::new(self.title.clone());
        for change in &self.changes {
            let tone = match change.call {
                "better" => Tone::Good,
                "worse" => Tone::Bad,
                _ => Tone::Changed,
            };
            document = document.with_sentence(change.sentence(), tone);
        }
        let shown_once = self.first_of_each_pair();
        let code = shown_once.iter().filter_map(|change| change.code.as_ref());
        document = document.with_sentences(code.filter_map(code_change::sentence));
        document = document.with_sentences(self.unchanged.iter().cloned());
        if self
            .changes
            .iter()
            .any(|change| !change.correlates.is_empty())
        {
            document = document.with_sentence(
                "To go along isn't to cause: each of these changed with the metric, for the time and for the same work, \
                 by more than chance does. `of it`: the share of the change that this time is; `follows`: the correlation over the trials.",
                Tone::Plain,
            );
        }
        if self.changes.iter().any(ExplainedChange::has_versions) {
            document = document.with_sentence(
                "`over versions`: the correlation over the means of all versions of the study, with their order held fixed, so that \
                 what both drift by doesn't count.",
                Tone::Plain,
            );
        }
        for change in &self.changes {
            document = document.with_section(Section::table(change.heading(), change.table()));
            let versions = change.versions.iter();
            let versions = versions.map(|(name, title)| format!("{name} {title}"));
            document = document.with_section(Section::list(
                "Versions that may have made it",
                versions.collect(),
            ));
        }
        for change in shown_once {
            let code = change.code.iter().flat_map(CodeChange::sections);
            document = code.fold(document, Document::with_section);
            if let Some([base, new]) = &change.ends {
                document = document.with_section(changed_files::section(&change.files, base, new));
            }
        }
        document
            .with_section(Section::list("What else differs", self.facts.clone()))
            .with_section(Section::list("Notes", self.notes.clone()))
    }
}

impl Explanations {
    /// One change of each two sides: what is known of the sides is the same for all of their metrics.
    fn first_of_each_pair(&self) -> Vec<&ExplainedChange> {
        let mut seen = HashSet::new();
        let mut changes: Vec<_> = self.changes.iter().collect();
        changes.retain(|change| seen.insert((&change.base, &change.new)));
        changes
    }
}
