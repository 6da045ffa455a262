//! A profile, beside that of a base if there is one: its sentences and its table.

use backsight_policy::{
    ComparedShare, FunctionDifference, FunctionPresence, ProfileDifference, ShareDifference,
    SideShare,
};
use backsight_profile::{FunctionKey, ProfileEvent, ProfileUnit};
use backsight_stats::Interval;

use crate::{
    Document, Section, Table, Tone, clipped, field, left,
    numbers::{self, Rounding},
    right,
};

/// Columns of a terminal that the numbers of a row take.
const WIDTH_OF_NUMBERS: u16 = 56;
/// The same of a row with differences.
const WIDTH_OF_DIFFERENCES: u16 = 92;
/// The narrowest column of names.
const NARROWEST_NAME: u16 = 24;
/// The longest name of a module in a table.
const LONGEST_MODULE: usize = 20;

/// Where the time of trials goes, and what changed beside a base.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileReport {
    /// What was sampled.
    pub event: ProfileEvent,
    /// Unit of weights.
    pub unit: ProfileUnit,
    /// The base, if there is one.
    pub base: Option<ProfiledTrials>,
    /// The new side, or the only one.
    pub new: ProfiledTrials,
    /// Functions by number.
    pub functions: Vec<FunctionKey>,
    /// Their shares and differences.
    pub difference: ProfileDifference,
    /// Most functions in the table.
    pub top: usize,
    /// Columns of the terminal that names have to fit into, if there is one.
    pub width: Option<u16>,
    /// What else a reader should know.
    pub notes: Vec<String>,
}

/// What one side's profiles are of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfiledTrials {
    /// The study, version or file.
    pub name: String,
    /// The cell, where there is one.
    pub cell: Option<String>,
    /// Samples that the kernel dropped.
    pub lost: u64,
    /// Samples whose stack wasn't unwound to its root.
    pub truncated: u64,
}

impl ProfileReport {
    /// A function by number.
    pub fn function(&self, number: usize) -> &FunctionKey {
        &self.functions[number]
    }

    /// What changed and how sure that is, in sentences.
    pub fn sentences(&self) -> Vec<(String, Tone)> {
        let mut sentences = Vec::new();
        let new = &self.difference.new;
        let trials = numbers::counted(new.trials, "trial");
        match &self.difference.base {
            None => sentences.push((
                format!("{trials} of {} each.", self.weight(new.weight)),
                Tone::Plain,
            )),
            Some(base) => {
                sentences.push((
                    format!(
                        "{trials} of {} each, beside {} of {} each.",
                        self.weight(new.weight),
                        numbers::counted(base.trials, "trial"),
                        self.weight(base.weight)
                    ),
                    Tone::Plain,
                ));
                sentences.push(self.verdict());
            }
        }
        let empty = new.empty_trials + self.difference.base.map_or(0, |base| base.empty_trials);
        if empty > 0 {
            let empty = numbers::counted(empty, "trial");
            let text = format!("{empty} without any sample: left out.");
            sentences.push((text, Tone::Faint));
        }
        for side in self.base.iter().chain([&self.new]) {
            for (count, what) in [
                (side.lost, "were lost: its shares are of the others"),
                (side.truncated, "have stacks without their root"),
            ] {
                if count > 0 {
                    let samples = numbers::counted(count as usize, "sample");
                    let text = format!("{samples} of {} {what}.", side.name);
                    sentences.push((text, Tone::Faint));
                }
            }
        }
        let notes = self.notes.iter().cloned();
        sentences.extend(notes.map(|note| (note, Tone::Faint)));
        sentences
    }

    /// What is said of the difference.
    fn verdict(&self) -> (String, Tone) {
        if !self.difference.is_judged() {
            let text = "Differences are shown and none is called a change: that takes two trials on each side.";
            return (text.to_owned(), Tone::Faint);
        }
        let mut changed = self.difference.changed();
        let Some(first) = changed.next() else {
            let text = "No function's share changed by more than these trials vary.";
            return (text.to_owned(), Tone::Plain);
        };
        let others = match changed.count() {
            0 => String::new(),
            others => format!("; {} changed besides", numbers::counted(others, "function")),
        };
        let (share, what) = match first.inclusive.is_changed() {
            true => (&first.inclusive, "total"),
            false => (&first.itself, "self"),
        };
        let difference = share.difference.as_ref().map_or_else(String::new, |found| {
            format!(": {} points of {what} share", points(found))
        });
        let text = format!(
            "`{}` {}{difference}{others}.",
            self.function(first.function).function,
            change_word(first)
        );
        (text, Tone::Plain)
    }

    /// A weight with its unit.
    pub fn weight(&self, weight: f64) -> String {
        match self.unit {
            ProfileUnit::Samples => numbers::counted(weight.round() as usize, "sample"),
            ProfileUnit::Ns => format!("{} ms", numbers::value(weight / 1e6, 4)),
        }
    }

    /// The title: what was profiled, beside what.
    pub fn title(&self) -> String {
        let name = |side: &ProfiledTrials| match &side.cell {
            Some(cell) => format!("{} {cell}", side.name),
            None => side.name.clone(),
        };
        let what = match self.event {
            ProfileEvent::OffCpu => "where threads waited",
            ProfileEvent::SystemCalls => "where the time in system calls goes",
            _ => "where the time goes",
        };
        match &self.base {
            None => format!("{}: {what}", name(&self.new)),
            Some(base) => format!("{} beside {}: {what}", name(&self.new), name(base)),
        }
    }

    /// What the columns are.
    pub fn legend(&self) -> String {
        let confidence = numbers::confidence(self.difference.options.confidence);
        let shares = format!(
            "self: percent of the samples that were in the function itself; total: in it or in what it called, the mean of the trials with \
             its {confidence} interval."
        );
        if self.base.is_none() {
            return shares;
        }
        format!(
            "{shares} Differences are in points of percent, new − base, each with its own {confidence} interval. A change is called where \
             at most {} of the functions that are called changed are expected to be false.",
            numbers::share(self.difference.options.false_share)
        )
    }

    /// Sentences and table.
    pub fn document(&self) -> Document {
        let document = Document::new(self.title());
        let document = self
            .sentences()
            .into_iter()
            .fold(document, |all, (text, tone)| all.with_sentence(text, tone));
        document.with_section(Section::table("", self.table()).with_about(self.legend()))
    }

    fn table(&self) -> Table {
        let with_base = self.base.is_some();
        let mut columns = vec![left("function"), left("module")];
        columns.extend(with_base.then(|| left("change")));
        for share in ["self", "total"] {
            columns.push(right(share));
            columns.extend(with_base.then(|| right("difference")));
        }
        let mut table = Table::new(columns);
        let numbers = match with_base {
            true => WIDTH_OF_DIFFERENCES,
            false => WIDTH_OF_NUMBERS,
        };
        let most = self
            .width
            .map(|width| width.saturating_sub(numbers).max(NARROWEST_NAME).into());
        let rows = self.rows();
        let hidden = self.difference.functions.len().saturating_sub(self.top);
        for (number, row) in rows.into_iter().enumerate() {
            if number == self.top && hidden > 0 {
                let more = format!("… and {}", numbers::counted(hidden, "function"));
                let mut fields = vec![field(more)];
                fields.resize(table.columns.len(), field(""));
                table.row(fields);
            }
            if number >= self.top && row.function.is_some() {
                continue;
            }
            let mut fields = vec![
                field(most.map_or_else(|| row.name.clone(), |most| clipped(&row.name, most))),
                field(clipped(&row.module, LONGEST_MODULE)),
            ];
            fields.extend(with_base.then(|| field(row.change)));
            let numbers = row.numbers.into_iter();
            fields.extend(numbers.map(|number| field(number.text).with_tone(number.tone)));
            table.row(fields);
        }
        table
    }

    /// A row for each function, and one for those below the floor.
    pub fn rows(&self) -> Vec<ProfileRow> {
        let function = |found: &FunctionDifference| {
            let key = self.function(found.function);
            ProfileRow {
                function: Some(found.function),
                name: key.function.clone(),
                module: key.module.clone(),
                change: if found.is_changed() {
                    change_word(found)
                } else {
                    ""
                },
                numbers: [&found.itself, &found.inclusive]
                    .into_iter()
                    .flat_map(|share| self.numbers(share))
                    .collect(),
            }
        };
        let mut rows: Vec<ProfileRow> = self.difference.functions.iter().map(function).collect();
        rows.extend(self.difference.rest.as_ref().map(|rest| {
            let mut numbers = self.numbers(&rest.itself);
            // Totals of several functions overlap and have no sum.
            numbers.resize(2 * numbers.len(), ProfileNumber::default());
            ProfileRow {
                function: None,
                name: format!(
                    "{} below {} each",
                    numbers::counted(rest.functions, "function"),
                    numbers::precise_share(self.difference.options.floor_percent / 100.0)
                ),
                module: String::new(),
                change: if rest.itself.is_changed() {
                    "changed"
                } else {
                    ""
                },
                numbers,
            }
        }));
        rows
    }

    /// A share, and its difference where there is a base.
    fn numbers(&self, share: &ComparedShare) -> Vec<ProfileNumber> {
        let text = match self.base {
            None => percent(&share.new),
            Some(_) => format!("{} %", numbers::value(share.new.percent, 3)),
        };
        let shown = ProfileNumber {
            text,
            key: share.new.percent,
            tone: Tone::Plain,
        };
        let difference = share.difference.map(|found| ProfileNumber {
            text: points(&found),
            key: found.points,
            tone: if found.is_changed {
                Tone::Plain
            } else {
                Tone::Faint
            },
        });
        std::iter::once(shown).chain(difference).collect()
    }

    /// A share in a line: on the new side, on the base's, and the difference.
    pub fn share_text(&self, share: &ComparedShare) -> String {
        match (&share.base, &share.difference) {
            (Some(base), Some(found)) => format!(
                "{}, base {}, difference {}",
                percent(&share.new),
                percent(base),
                points(found)
            ),
            _ => percent(&share.new),
        }
    }
}

/// A row of the table of functions.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileRow {
    /// The function's number; none of several together.
    pub function: Option<usize>,
    /// Its name.
    pub name: String,
    /// File name of its module.
    pub module: String,
    /// What it did, where it is called changed.
    pub change: &'static str,
    /// Self and total, each with its difference where there is a base.
    pub numbers: Vec<ProfileNumber>,
}

/// A number of such a row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProfileNumber {
    /// As it is read.
    pub text: String,
    /// As it is sorted.
    pub key: f64,
    /// Whether it is called a change.
    pub tone: Tone,
}

/// What a function did, where it changed.
pub fn change_word(found: &FunctionDifference) -> &'static str {
    let share = match found.inclusive.is_changed() {
        true => &found.inclusive,
        false => &found.itself,
    };
    let points = share.difference.map_or(0.0, |found| found.points);
    match found.presence() {
        FunctionPresence::Appeared => "appeared",
        FunctionPresence::Disappeared => "disappeared",
        FunctionPresence::Both if points > 0.0 => "grew",
        FunctionPresence::Both => "shrank",
    }
}

/// A share in percent with its interval.
fn percent(share: &SideShare) -> String {
    let interval: Option<Interval> = share.interval.ok();
    let rounding = Rounding::from_interval(share.percent, interval);
    match interval {
        Some(interval) => format!(
            "{} % {}",
            rounding.value(share.percent),
            rounding.interval(interval)
        ),
        None => format!("{} %", numbers::value(share.percent, 3)),
    }
}

/// A difference in points with its interval.
fn points(found: &ShareDifference) -> String {
    let interval = found.interval.ok();
    let rounding = Rounding::from_interval(found.points, interval);
    let shown = rounding.difference(found.points);
    match interval {
        Some(interval) => format!("{shown} {}", rounding.differences(interval)),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use backsight_policy::ProfileOptions;
    use backsight_profile::FunctionWeights;

    use super::*;
    use crate::{Render as _, TerminalStyle};

    fn trial(work: u64, wait: u64, small: u64) -> FunctionWeights {
        let total = work + wait + small;
        FunctionWeights {
            total,
            itself: vec![0, work, wait, small],
            inclusive: vec![total, work, wait, small],
        }
    }

    fn report(base: Option<&[FunctionWeights]>, new: &[FunctionWeights]) -> ProfileReport {
        let named = |name: &str, lost| ProfiledTrials {
            name: name.into(),
            cell: None,
            lost,
            truncated: 0,
        };
        let key = |function: &str| FunctionKey {
            function: function.into(),
            module: "libvery-long-module-name.so.6".into(),
        };
        ProfileReport {
            event: ProfileEvent::CpuClock,
            unit: ProfileUnit::Samples,
            base: base.map(|_| named("before", 0)),
            new: named("after", 7),
            functions: [
                "main",
                "std::vector<unsigned long>::push_back",
                "wait",
                "small",
            ]
            .map(key)
            .to_vec(),
            difference: ProfileDifference::new(base, new, ProfileOptions::default()),
            top: 1,
            width: Some(120),
            notes: vec!["2 failed trials left out.".to_owned()],
        }
    }

    #[test]
    fn a_difference_says_what_changed_and_how_surely() {
        let base = [trial(500, 500, 2), trial(510, 490, 2)];
        let new = [trial(800, 200, 2), trial(810, 190, 2)];
        let report = report(Some(&base), &new);
        let text = report
            .render(crate::Format::Text, &TerminalStyle::default())
            .unwrap();
        for part in [
            "after beside before: where the time goes",
            "std::vector<unsigned long>:…",
            "libvery-long-module…",
            "… and 2 functions",
            "1 function below 0.5 % each",
            "2 trials of 1,002 samples each, beside 2 trials of 1,002 samples each.",
            "7 samples of after were lost",
            "2 failed trials left out.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let sentences = report.sentences();
        assert!(
            sentences[1]
                .0
                .starts_with("`std::vector<unsigned long>::push_back` grew: +29.9 [")
        );
        assert!(
            sentences[1]
                .0
                .ends_with("of total share; 1 function changed besides.")
        );
    }

    #[test]
    fn one_side_has_shares_with_their_intervals() {
        let report = report(None, &[trial(800, 200, 2), trial(810, 190, 2)]);
        let rows = report.rows();
        assert_eq!(rows[0].numbers.len(), 2);
        assert!(rows[0].numbers[0].text.starts_with("80.3 % ["), "{rows:?}");
        assert!(report.title().starts_with("after: where"));
    }
}
