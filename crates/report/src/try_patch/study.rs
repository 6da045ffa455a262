//! A try with its verdict: its sentences, tables and charts.

mod check;

use backsight_model::{HistoryCell, StudyHistory, Time, Version};
use backsight_policy::{TryCall, TryComparison, TryEnd, TrySideOutcome, TryVerdict};
use backsight_stats::Confidence;
use std::time::Duration;

use crate::{
    Document, Field, MoreRounds, Section, Table, Tone,
    chart::{self, Figure},
    clipped, field, left,
    numbers::{self, Scale, counted, duration},
    right,
};

pub use check::CheckedBase;

/// Most characters of why there is no build.
const LONGEST_REASON: usize = 300;
/// A difference is shown with so many digits.
const DIGITS: usize = 5;
/// In place of a percentage of what is as good as zero.
const NO_PERCENT: &str = "not estimable";
/// Passes that are needed before anything is decided.
const AT_LEAST: usize = 4;
/// Most charts of a page.
const MOST_FIGURES: usize = 60;

/// A try: what was measured, its verdict, and what was asked.
#[derive(Debug, Clone, Copy)]
pub struct TryStudy<'a> {
    /// What was measured; its first version is the base, the others are the sides.
    pub history: &'a StudyHistory,
    /// The verdict.
    pub verdict: &'a TryVerdict,
    /// What it may take.
    pub budget: Option<Duration>,
    /// How sure all decisions together are to be: 0.95.
    pub confidence: f64,
    /// Up to how many percent a difference is no matter, if that was asked.
    pub equal: Option<f64>,
    /// What the base and the version that is changed were called by who asked: `main`, `feature`.
    pub called: Option<&'a (String, String)>,
    /// The base that `check` was asked for; none of any other try.
    pub checked: Option<CheckedBase<'a>>,
    /// Whether rounds can be added to it: `backsight run --more N STUDY`.
    pub takes_rounds: bool,
}

/// One comparison, as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct TryRow {
    /// The side.
    pub side: String,
    /// The cell.
    pub cell: String,
    /// The metric.
    pub metric: String,
    /// The base's mean with its unit; empty if nothing was measured.
    pub base: String,
    /// The side's.
    pub new: String,
    /// `+3.10 %`: side − base in percent of the base.
    pub difference: String,
    /// `−4.00 … −2.20`.
    pub interval: String,
    /// How many differences it stands on.
    pub pairs: usize,
    /// The answer.
    pub word: String,
    /// Its class on a page: `better`, `worse`, or nothing.
    pub class: &'static str,
    /// Whether it decides nothing and isn't different: of little interest.
    pub quiet: bool,
    /// The difference on a line around zero, as SVG.
    pub mark: String,
}

impl<'a> TryStudy<'a> {
    /// What the base is called.
    pub fn base(&self) -> String {
        self.name(0)
    }

    /// A version by the name that it was asked for, where that is one that people give; with its amendments.
    fn name(&self, version: usize) -> String {
        let Some(of_history) = self.history.versions.get(version) else {
            return String::new();
        };
        let called = self.called.map(|(base, at)| match version {
            0 => base,
            _ => at,
        });
        let is_name = |name: &&String| {
            let is_hash = of_history.id.starts_with(name.as_str());
            !is_hash && name.as_str() != "HEAD"
        };
        match called.filter(is_name) {
            Some(name) => Version {
                name: name.clone(),
                ..of_history.clone()
            }
            .full_name(),
            None => of_history.full_name(),
        }
    }

    /// The name of a side, from 1: its amendments alone where the base is the same version.
    pub fn side(&self, side: usize) -> String {
        let (Some(base), Some(version)) = (
            self.history.versions.first(),
            self.history.versions.get(side),
        ) else {
            return String::new();
        };
        let amendments: Vec<String> = version.amendments.iter().map(ToString::to_string).collect();
        match base.id == version.id && !amendments.is_empty() {
            true => amendments.join(" + "),
            false => self.name(side),
        }
    }

    /// How many sides there are.
    pub fn sides(&self) -> usize {
        self.history.versions.len().saturating_sub(1)
    }

    fn cell(&self, tried: &TryComparison) -> Option<&'a HistoryCell> {
        self.history.cells.get(tried.cell)
    }

    fn of_side(&self, side: usize) -> impl Iterator<Item = &'a TryComparison> {
        let compared = self.verdict.compared.iter();
        compared.filter(move |tried| tried.side == side)
    }

    /// The verdict on a side, from 1.
    pub fn side_outcome(&self, side: usize) -> TrySideOutcome {
        self.verdict.side_outcome(side)
    }

    /// What all sides came to: the worst of them.
    pub fn overall(&self) -> TrySideOutcome {
        self.verdict.overall()
    }

    /// Every comparison, those that decide first.
    pub fn rows(&self) -> Vec<TryRow> {
        let mut compared: Vec<&TryComparison> = self.verdict.compared.iter().collect();
        compared.sort_by_key(|tried| (tried.side, !tried.decides));
        compared.into_iter().map(|tried| self.row(tried)).collect()
    }

    /// The unit that the values of a comparison are shown in.
    fn scale(&self, tried: &TryComparison) -> Scale {
        let cell = self.cell(tried);
        let metric = cell.and_then(|cell| cell.metrics.iter().find(|m| m.name == tried.metric));
        Scale::fitting(
            metric.map(|metric| metric.unit),
            tried.base.into_iter().chain(tried.new),
        )
    }

    fn row(&self, tried: &TryComparison) -> TryRow {
        let cell = self.cell(tried);
        let scale = self.scale(tried);
        let figure = |value: Option<f64>| {
            value.map_or_else(String::new, |value| {
                let number = numbers::significant(scale.convert(value), DIGITS);
                format!("{number}{}", scale.unit_after())
            })
        };
        let (percent, interval) = (tried.percent, tried.percent_interval);
        let reach = interval.map_or(1.0, |i| i.low.abs().max(i.high.abs()).clamp(0.5, 100.0));
        TryRow {
            side: self.side(tried.side),
            cell: cell.map_or_else(String::new, |cell| cell.cell.to_string()),
            metric: tried.metric.to_string(),
            base: figure(tried.base),
            new: figure(tried.new),
            difference: match (percent, tried.difference) {
                (Some(by), _) => numbers::percent_of_interval(by, interval),
                (None, Some(_)) => NO_PERCENT.to_owned(),
                (None, None) => String::new(),
            },
            interval: match (percent, interval, tried.difference) {
                (Some(by), Some(interval), _) => numbers::percent_interval(by, interval),
                (None, _, Some((by, ends))) => format!("({})", scale.difference(by, ends)),
                _ => String::new(),
            },
            pairs: tried.pairs,
            word: self.short_answer(tried),
            class: match tried.call {
                TryCall::Better => "better",
                TryCall::Worse => "worse",
                _ => "",
            },
            quiet: !tried.decides && !matches!(tried.call, TryCall::Better | TryCall::Worse),
            mark: percent.map_or_else(String::new, |percent| {
                chart::mark(percent, interval.map(|i| (i.low, i.high)), reach)
            }),
        }
    }

    /// The answer in a few words.
    pub fn short_answer(&self, tried: &TryComparison) -> String {
        let word = match tried.call {
            TryCall::Better => "better".to_owned(),
            TryCall::Worse => "worse".to_owned(),
            TryCall::Equal {
                larger_than_percent: 0.0,
            } => "no difference: all alike".to_owned(),
            TryCall::Equal {
                larger_than_percent,
            } => format!(
                "no difference larger than {}",
                numbers::bound(larger_than_percent)
            ),
            TryCall::Undecided { more } => match (more, self.verdict.dead.get(tried.side)) {
                (_, Some(true)) => "can't be told".to_owned(),
                (Some(more), _) => {
                    format!("can't tell yet; about {} would", more_of(more))
                }
                (None, _) => match tried.percent_interval {
                    Some(i) => format!("can't tell yet; it is less than {}", share_of(i)),
                    None => "can't tell yet".to_owned(),
                },
            },
            TryCall::Missing => "not measured".to_owned(),
        };
        match tried.decides {
            true => word,
            false => format!("{word} (not asked for)"),
        }
    }

    /// Each side in a sentence, and how the study ended.
    pub fn sentences(&self) -> Vec<String> {
        // First what is known: sides that are worse or broken by something, then better, then alike, then all others.
        let mut sides: Vec<usize> = (1..=self.sides()).collect();
        let rank = |side: usize| {
            let calls = self.of_side(side).filter(|tried| tried.decides);
            let ranks = calls.map(|tried| match tried.call {
                TryCall::Worse => 0,
                TryCall::Better => 1,
                TryCall::Equal { .. } => 2,
                TryCall::Undecided { .. } | TryCall::Missing => 3,
            });
            if self.verdict.is_dead(side) {
                0
            } else {
                ranks.min().unwrap_or(3)
            }
        };
        sides.sort_by_key(|side| rank(*side));
        let sentences = sides.into_iter().map(|side| self.sentence(side));
        let mut sentences: Vec<String> = sentences.collect();
        sentences.push(self.ending());
        sentences
    }

    /// The sentence on a side: first the metrics that are decided, the worse ones before the better ones, then the others.
    fn sentence(&self, side: usize) -> String {
        let name = self.side(side);
        let decides = || self.of_side(side).filter(|tried| tried.decides);
        let verb_of = |tried: &TryComparison| match tried.call {
            TryCall::Worse => Some("is worse"),
            TryCall::Better => Some("is better"),
            TryCall::Equal { .. } => Some("makes no difference that matters"),
            TryCall::Undecided { .. } | TryCall::Missing => None,
        };
        let mut parts: Vec<String> = Vec::new();
        for verb in ["is worse", "is better", "makes no difference that matters"] {
            let found = decides().filter(|tried| verb_of(tried) == Some(verb));
            let found: Vec<String> = found.map(|tried| self.phrase(tried)).collect();
            if found.is_empty() {
                continue;
            }
            let subject = if parts.is_empty() {
                name.as_str()
            } else {
                "it"
            };
            parts.push(format!("{subject} {verb}: {}", found.join("; ")));
        }
        if self.verdict.is_dead(side) {
            let subject = if parts.is_empty() {
                name.as_str()
            } else {
                "then"
            };
            parts.push(format!(
                "{subject}: nothing is to be had of it: {}",
                self.why(side)
            ));
            return sentences(parts);
        }
        let open: Vec<&TryComparison> =
            decides().filter(|tried| !tried.call.is_decided()).collect();
        // A list of cells of which nothing is known tells nobody anything.
        let bounded = |tried: &&TryComparison| tried.percent_interval.is_some();
        let (bounded, unknown): (Vec<&TryComparison>, Vec<&TryComparison>) =
            open.into_iter().partition(bounded);
        if !bounded.is_empty() {
            let phrases: Vec<String> = bounded.iter().map(|tried| self.phrase(tried)).collect();
            let subject = if parts.is_empty() {
                format!("{name}: ")
            } else {
                String::new()
            };
            parts.push(format!("{subject}not decided yet: {}", phrases.join("; ")));
        }
        if !unknown.is_empty() {
            let phrases: Vec<String> = unknown.iter().map(|tried| self.phrase(tried)).collect();
            let subject = if parts.is_empty() {
                format!("{name}: ")
            } else {
                String::new()
            };
            parts.push(format!(
                "{subject}it can't be told yet: {}",
                phrases.join("; ")
            ));
        }
        sentences(parts)
    }

    /// `work time +3.10 % [+2.20, +4.00]`.
    fn phrase(&self, tried: &TryComparison) -> String {
        let cell = self
            .cell(tried)
            .map_or_else(String::new, |cell| cell.cell.to_string());
        let what = format!("{cell} {}", tried.metric);
        if let (TryCall::Undecided { .. }, Some(by), Some(i)) =
            (tried.call, tried.percent, tried.percent_interval)
        {
            let interval = numbers::percent_interval(by, i);
            return format!("{what} differs by less than {}, {interval}", share_of(i));
        }
        match (tried.call, tried.percent) {
            (TryCall::Better | TryCall::Worse, Some(by)) => {
                format!("{what} {}", numbers::percent_in(by, tried.percent_interval))
            }
            (TryCall::Better | TryCall::Worse, None) => what,
            (_, Some(by)) if tried.percent_interval.is_some() => {
                let size = numbers::percent_in(by, tried.percent_interval);
                format!("{what} {size}: {}", self.short_answer(tried))
            }
            _ => format!("{what}: {}", self.short_answer(tried)),
        }
    }

    /// Why nothing is to be had of a side.
    fn why(&self, side: usize) -> String {
        let of = |version: usize| {
            let mut builds = self.history.builds.iter();
            let broken = builds.find(|build| build.version == version && build.failure.is_some());
            if let Some(failure) = broken.and_then(|build| build.failure.as_ref()) {
                return Some(format!("it doesn't build: {failure}"));
            }
            let is_of = |number: u32| {
                let mut builds = self.history.builds.iter();
                builds.any(|build| build.number == number && build.version == version)
            };
            let mut boots = self.history.boots.iter().rev();
            let unbooted = boots.find(|boot| boot.failure.is_some() && is_of(boot.build));
            if let Some(why) = unbooted.and_then(|boot| boot.failure.as_ref()) {
                return Some(format!("it doesn't boot: {why}"));
            }
            let mut trials = self.history.trials.iter().rev();
            let failed = trials.find(|trial| {
                let place = self.history.place(trial);
                trial.failure.is_some() && place.is_some_and(|(build, _)| build.version == version)
            });
            let why = failed.and_then(|trial| trial.failure.as_ref());
            why.map(|why| format!("its trials fail: {why}"))
        };
        let dead = |side: usize| self.verdict.dead.get(side) == Some(&true);
        let why = match dead(0) {
            true => of(0).map(|why| format!("of the base, {why}")),
            false => of(side),
        };
        clipped(&why.unwrap_or_default(), LONGEST_REASON)
    }

    fn ending(&self) -> String {
        let verdict = self.verdict;
        let trials = counted(verdict.measured + verdict.failed, "trial");
        let failed = match verdict.failed {
            0 => String::new(),
            failed => format!(", {failed} of them failed"),
        };
        let made = format!(
            "{} over all sides, {trials}{failed}, in {}",
            counted(verdict.passes as usize, "pass"),
            duration(verdict.spent)
        );
        let end = match verdict.ended {
            None => "it was stopped before its end".to_owned(),
            Some(TryEnd::Decided) => "everything is decided".to_owned(),
            Some(TryEnd::Dead) => "nothing is left to compare".to_owned(),
            Some(TryEnd::Passes) if self.takes_rounds => {
                format!("all rounds that were asked for are made{}", self.way_out())
            }
            Some(TryEnd::Passes) => "all passes that were asked for are made".to_owned(),
            Some(TryEnd::Budget) => format!(
                "the budget of {} is spent{}",
                self.budget
                    .map_or_else(String::new, |b| Time(b).to_string()),
                self.way_out()
            ),
        };
        format!("{made}; {end}")
    }

    /// How many more passes would decide everything, if that can be told of all that is open.
    fn more(&self) -> Option<usize> {
        let decides = self.verdict.compared.iter().filter(|t| t.decides);
        let needed = |tried: &TryComparison| match tried.call {
            TryCall::Undecided { more } => more,
            TryCall::Missing => Some(AT_LEAST),
            _ => Some(0),
        };
        let more: Option<Vec<usize>> = decides.map(needed).collect();
        more?.into_iter().max()
    }

    /// The rounds that would decide what isn't, with the command that adds them; nothing of a study that takes none.
    pub fn more_rounds(&self) -> Option<MoreRounds> {
        let more = self.more().filter(|more| *more > 0 && self.takes_rounds)?;
        Some(MoreRounds::for_study(more, &self.history.name))
    }

    /// The option that says which difference is no matter.
    fn margin_option(&self) -> &'static str {
        match self.checked {
            Some(_) => "--tolerance",
            None => "--equal",
        }
    }

    /// How much more would do, if that can be told; else a margin within which the rest would be decided.
    fn way_out(&self) -> String {
        let decides = || self.verdict.compared.iter().filter(|t| t.decides);
        if decides().all(|tried| tried.pairs == 0) {
            return ", before anything could be compared: give it more with --budget".to_owned();
        }
        let Some(more) = self.more() else {
            let decided = decides().filter(|tried| tried.call.is_decided()).count();
            let open = decides().filter(|tried| !tried.call.is_decided());
            let reaches = open.map(|tried| tried.percent_interval.map(reach_of));
            let reaches: Option<Vec<f64>> = reaches.collect();
            let margin = reaches.map_or_else(String::new, |reaches| {
                let reach = reaches.into_iter().fold(0.0, f64::max);
                format!(
                    "; the others are within {} {}",
                    self.margin_option(),
                    margin_of(reach)
                )
            });
            return format!(
                "; {decided} of {} are decided{margin}",
                counted(decides().count(), "difference")
            );
        };
        if let Some(more) = self.more_rounds() {
            return format!("; {more}");
        }
        let trials: Duration = self.history.trials.iter().map(|trial| trial.took).sum();
        let boots: Duration = self.history.boots.iter().map(|boot| boot.took).sum();
        let each = (trials + boots).div_f64(f64::from(self.verdict.passes));
        let rest = each.mul_f64(more as f64);
        if self.checked.is_some() {
            return format!(
                "; about {} would tell: the same command again with --budget {}",
                more_of(more),
                coarse(rest)
            );
        }
        format!(
            "; about {} would tell: --budget {}",
            more_of(more),
            coarse(self.verdict.spent + rest)
        )
    }

    /// Comparisons as a table; with one side its columns are called as base and side are.
    fn table<'t>(&self, compared: impl Iterator<Item = &'t TryComparison>) -> Table {
        let several = self.sides() > 1;
        let mut columns = vec![left("cell"), left("metric")];
        if several {
            columns.insert(0, left("side"));
        }
        columns.push(right(self.base()));
        columns.push(right(match several {
            true => "side is".to_owned(),
            false => self.side(1),
        }));
        columns.extend([right("difference"), right("passes"), left("verdict")]);
        let mut table = Table::new(columns);
        let mut compared: Vec<&TryComparison> = compared.collect();
        compared.sort_by_key(|tried| (tried.side, !tried.decides));
        for tried in compared {
            let row = self.row(tried);
            let tone = match tried.call {
                TryCall::Better => Tone::Good,
                TryCall::Worse => Tone::Bad,
                TryCall::Equal { .. } => Tone::Plain,
                TryCall::Undecided { .. } | TryCall::Missing => Tone::Faint,
            };
            let difference = format!("{} {}", row.difference, row.interval);
            let mut fields: Vec<Field> = vec![field(row.cell), field(row.metric)];
            if several {
                fields.insert(0, field(row.side));
            }
            fields.extend([
                field(row.base),
                field(row.new),
                field(difference.trim()),
                field(row.pairs.to_string()),
                field(row.word).with_tone(tone),
            ]);
            table.row(fields);
        }
        table
    }

    fn versions(&self) -> Table {
        let mut table = Table::new(vec![
            left("side"),
            left("version"),
            left("what it is"),
            left("id"),
        ]);
        for build in self.builds() {
            table.row(vec![
                field(build.side),
                field(build.version),
                field(build.title),
                field(build.id),
            ]);
        }
        table
    }

    /// Base and side pass by pass, of what decides.
    pub fn figures(&self) -> Vec<Figure> {
        let compared = self.verdict.compared.iter();
        let drawn = compared.filter(|tried| tried.decides && !tried.course.is_empty());
        let of = |tried: &TryComparison| {
            let row = self.row(tried);
            let scale = self.scale(tried);
            let course = tried.course.iter();
            let course: Vec<(f64, f64)> = course
                .map(|(base, new)| (scale.convert(*base), scale.convert(*new)))
                .collect();
            Figure {
                svg: chart::passes(
                    &format!("{} {} {}", row.side, row.cell, row.metric),
                    scale.unit_after().trim(),
                    &course,
                ),
                about: format!(
                    "{} without, {} with: {} {}, {}",
                    row.base, row.new, row.difference, row.interval, row.word
                ),
                heading: format!("{}: {} {}", row.side, row.cell, row.metric),
            }
        };
        drawn.take(MOST_FIGURES).map(of).collect()
    }

    /// The versions with their builds.
    pub fn builds(&self) -> Vec<BuildRow> {
        let versions = self.history.versions.iter().enumerate();
        versions
            .map(|(at, version)| {
                let builds = self.history.builds.iter().filter(|b| b.version == at);
                let keys: Vec<String> = builds
                    .map(|build| {
                        format!(
                            "{} ({})",
                            &build.key[..build.key.len().min(12)],
                            build.layout
                        )
                    })
                    .collect();
                BuildRow {
                    side: match at {
                        0 => "base".to_owned(),
                        side => self.side(side),
                    },
                    version: version.full_name(),
                    title: version.title.clone(),
                    id: version.id.clone(),
                    keys: keys.join(", "),
                }
            })
            .collect()
    }
}

impl TryStudy<'_> {
    /// The try as a document: the answer, a small table of what decides, the rest folded.
    pub fn document(&self) -> Document {
        let overall = match self.overall() {
            TrySideOutcome::Worse | TrySideOutcome::Dead => Tone::Bad,
            TrySideOutcome::Better => Tone::Good,
            TrySideOutcome::Equal => Tone::Plain,
            TrySideOutcome::Undecided => Tone::Faint,
        };
        let title = format!("{}: compared with {}", self.history.name, self.base());
        let mut sentences = self.sentences().into_iter();
        let document = match sentences.next() {
            Some(first) => Document::new(title).with_sentence(first, overall),
            None => Document::new(title),
        };
        let is_quiet = |tried: &&TryComparison| self.row(tried).quiet;
        let shown = self.verdict.compared.iter().filter(|t| !is_quiet(t));
        let quiet: Vec<&TryComparison> = self.verdict.compared.iter().filter(is_quiet).collect();
        let folded = match quiet.len() {
            0 => None,
            1 => Some("… and 1 secondary metric, not different".to_owned()),
            count => Some(format!("… and {count} secondary metrics, none different")),
        };
        document
            .with_sentences(sentences)
            .with_sentences(self.base_sentence())
            .with_sentences(folded)
            .with_section(
                Section::table("", self.table(shown))
                    .with_about(format!(
                        "Sides are measured in turn and share their sessions. Differences are side − base in percent of the base, \
                         with intervals that hold at every look at once ({} for all that decides).",
                        numbers::confidence(Confidence::new(self.confidence).unwrap_or_default())
                    )),
            )
            .with_section(self.next_section())
            .with_section(
                Section::table("Secondary metrics", self.table(quiet.into_iter())).folded(),
            )
            .with_section(Section::table("Versions", self.versions()).folded())
    }
}

/// The end of an interval that is further from no difference, in percent.
/// What follows a full stop begins with a capital letter.
fn sentences(parts: Vec<String>) -> String {
    let mut text = String::new();
    for part in parts {
        let mut letters = part.chars();
        match letters.next() {
            Some(first) if !text.is_empty() => {
                text.push_str(". ");
                text.extend(first.to_uppercase());
                text.push_str(letters.as_str());
            }
            _ => text.push_str(&part),
        }
    }
    text
}

fn reach_of(interval: backsight_stats::Interval) -> f64 {
    interval.low.abs().max(interval.high.abs())
}

/// The same in words: `2.3 %`.
fn share_of(interval: backsight_stats::Interval) -> String {
    numbers::bound(reach_of(interval))
}

/// A margin in percent that is at least this, rounded up to what somebody would ask for: the next of 1, 2, 5 times a power
/// of ten.
fn margin_of(reach: f64) -> String {
    let power = 10f64.powf(reach.max(1e-3).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let margin = steps.into_iter().find(|step| *step >= reach);
    numbers::significant(margin.unwrap_or(reach), 1)
}

fn more_of(passes: usize) -> String {
    match passes {
        1 => "1 pass more".to_owned(),
        more => format!("{more} passes more"),
    }
}

/// A length of time, rounded up to what somebody would ask for.
fn coarse(length: Duration) -> String {
    let seconds = length.as_secs_f64() * 1.1;
    match seconds {
        s if s < 60.0 => format!("{}s", s.ceil().max(1.0)),
        s if s < 7200.0 => format!("{}m", (s / 60.0).ceil()),
        s => format!("{}h", (s / 3600.0).ceil()),
    }
}

/// A version with its builds, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildRow {
    /// `base`, or the side's name.
    pub side: String,
    /// The version's name, with its amendments.
    pub version: String,
    /// The first line of its message.
    pub title: String,
    /// What identifies it.
    pub id: String,
    /// The keys of its builds, with their layouts.
    pub keys: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{Cell, CellMetric, StudyState, Unit, Version};
    use backsight_stats::{Better, Confidence, Interval};
    use indexmap::IndexMap;

    fn version(name: &str) -> Version {
        Version {
            id: name.to_owned(),
            name: name.to_owned(),
            at: None,
            title: String::new(),
            release: false,
            amendments: Vec::new(),
        }
    }

    /// A study of one side with these benchmarks, each with one metric.
    fn history(benchmarks: &[&str]) -> StudyHistory {
        let cell = |name: &&str| HistoryCell {
            cell: Cell {
                benchmark: name.parse().unwrap(),
                params: IndexMap::new(),
                chosen: Vec::new(),
                variant: "default".parse().unwrap(),
                monitors: None,
            },
            key: String::new(),
            metrics: vec![CellMetric {
                name: "time".parse().unwrap(),
                unit: Unit::parse("s").unwrap(),
                better: Better::Lower,
                about: String::new(),
                simulator: None,
                primary: true,
                monitor: None,
            }],
        };
        StudyHistory {
            study: 1,
            name: "try-1".parse().unwrap(),
            began: "2026-01-01T00:00:00Z".parse().unwrap(),
            state: StudyState::Finished,
            versions: vec![version("main"), version("new")],
            sides: true,
            testbeds: Vec::new(),
            builds: Vec::new(),
            boots: Vec::new(),
            cells: benchmarks.iter().map(cell).collect(),
            trials: Vec::new(),
        }
    }

    fn tried(cell: usize, call: TryCall, pairs: usize, percent: f64, half: f64) -> TryComparison {
        TryComparison {
            side: 1,
            cell,
            metric: "time".parse().unwrap(),
            better: Better::Lower,
            decides: true,
            call,
            pairs,
            course: Vec::new(),
            base: (pairs > 0).then_some(1.0),
            new: (pairs > 0).then_some(1.0 - percent / 100.0),
            percent: (pairs > 0).then_some(percent),
            difference: None,
            percent_interval: (pairs > 2).then_some(Interval {
                low: percent - half,
                high: percent + half,
            }),
            confidence: Confidence::default(),
        }
    }

    fn sentences(compared: Vec<TryComparison>, dead: [bool; 2]) -> Vec<String> {
        let history = history(&["work", "other", "third"]);
        let verdict = TryVerdict {
            passes: 700,
            ended: Some(TryEnd::Budget),
            dead: dead.to_vec(),
            compared,
            measured: 1400,
            failed: 0,
            spent: Duration::from_secs(60),
        };
        let words = TryStudy {
            history: &history,
            verdict: &verdict,
            budget: Some(Duration::from_secs(60)),
            confidence: 0.95,
            equal: None,
            called: None,
            checked: None,
            takes_rounds: false,
        };
        words.sentences()
    }

    const OPEN: TryCall = TryCall::Undecided { more: None };

    #[test]
    fn what_is_decided_is_said_first_and_what_is_not_with_its_bound() {
        let better = tried(0, TryCall::Better, 4, -29.8, 4.0);
        let all = sentences(vec![tried(1, OPEN, 700, 0.01, 0.3), better], [false; 2]);
        assert_eq!(
            all,
            [
                "new is better: work time −29.8 % [−33.8, −25.8]. Not decided yet: other time differs by less than 0.31 %, \
                 [−0.29, +0.31]",
                "700 passes over all sides, 1,400 trials, in 1 min 0 s; the budget of 1m 00s is spent; 1 of 2 differences are decided; \
                 the others are within --equal 0.5",
            ]
        );
    }

    #[test]
    fn nothing_decided_still_says_what_is_ruled_out() {
        let all = sentences(
            vec![
                tried(0, OPEN, 700, 0.01, 0.3),
                tried(1, TryCall::Undecided { more: Some(9) }, 2, 1.0, 0.0),
                tried(2, TryCall::Missing, 0, 0.0, 0.0),
            ],
            [false; 2],
        );
        assert_eq!(
            all,
            [
                "new: not decided yet: work time differs by less than 0.31 %, [−0.29, +0.31]. It can't be told yet: \
                 other time: can't tell yet; about 9 passes more would; third time: not measured",
                "700 passes over all sides, 1,400 trials, in 1 min 0 s; the budget of 1m 00s is spent; 0 of 3 differences are decided",
            ]
        );
    }

    #[test]
    fn a_side_that_died_keeps_what_was_found_of_it() {
        let worse = tried(0, TryCall::Worse, 6, 5.0, 1.0);
        let all = sentences(vec![worse, tried(1, OPEN, 4, 0.0, 9.0)], [false, true]);
        assert_eq!(
            all,
            [
                "new is worse: work time +5.0 % [+4.0, +6.0]. Then: nothing is to be had of it: ",
                "700 passes over all sides, 1,400 trials, in 1 min 0 s; the budget of 1m 00s is spent; 1 of 2 differences are decided; the others are within --equal 10"
            ]
        );
    }

    #[test]
    fn before_anything_was_compared_is_said_only_then() {
        let all = sentences(vec![tried(0, TryCall::Missing, 0, 0.0, 0.0)], [false; 2]);
        assert_eq!(
            all,
            [
                "new: it can't be told yet: work time: not measured",
                "700 passes over all sides, 1,400 trials, in 1 min 0 s; the budget of 1m 00s is spent, before anything could be compared: give it more with --budget",
            ]
        );
    }
}
