//! What `doctor` says of machines: the self-test with its grades, what will spoil a measurement, and the grades over time.

use backsight_model::{
    Grade, GradeRange, GradedFigure, Measure, MeasureOutcome, NoiseKind, NoiseSource, SelfTest,
    TestFigure, counted, numbers,
};
use backsight_store::StoredSelfTest;
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, fmt::Write as _};

use crate::{
    TerminalStyle,
    escape::line,
    json,
    table::{Table, Tone, field, left, right, wrapped},
};

/// What `doctor` prints.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct DoctorView {
    /// How many things a plan needs and the hosts haven't; none where no plan was named.
    pub missing: Option<usize>,
    /// What is there for the plan and what is missing, a sentence each.
    pub plan: Vec<String>,
    /// The same as text for a terminal.
    #[serde(skip)]
    pub plan_text: String,
    /// The machines that were examined.
    pub machines: Vec<MachineView>,
}

/// A machine that was examined.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MachineView {
    /// What the lab calls it.
    pub host: String,
    /// Why it can't be examined.
    pub fault: Option<String>,
    /// Its worst grade, as the test leaves it possible; none where it wasn't tested.
    pub grade: Option<GradeRange>,
    /// The smallest difference that ten rounds a side see on a machine of the best of these grades, as a share.
    pub smallest_difference: Option<f64>,
    /// Its self-test.
    pub self_test: Option<SelfTest>,
    /// The grade of each measure; a measure that wasn't made has none.
    pub grades: BTreeMap<String, GradeRange>,
    /// Why it wasn't tested.
    pub not_tested: Option<String>,
    /// What will spoil a measurement, the most harmful first.
    pub findings: Vec<FindingView>,
    /// What stands in one of several ways of which none is wrong.
    pub choices: Vec<FindingView>,
    /// Where the lines that mend belong.
    pub mend_place: Option<String>,
    /// Settings that stand otherwise than they should and that the plan makes before it measures.
    pub prepared: Vec<String>,
}

/// Something that may spoil a measurement.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FindingView {
    /// What it is.
    pub what: String,
    /// How much harm is expected, from 0 to 100.
    pub harm: u8,
    /// Whether it was measured, or only may disturb.
    pub measured: bool,
    /// Why it spoils measurements.
    pub why: String,
    /// Lines for the preparation of the machine, or commands, that mend it.
    pub mend: Vec<String>,
}

impl MachineView {
    /// A machine about which nothing is known yet.
    pub fn new(host: &str) -> Self {
        Self {
            host: host.to_owned(),
            fault: None,
            grade: None,
            smallest_difference: None,
            self_test: None,
            grades: BTreeMap::new(),
            not_tested: None,
            findings: Vec::new(),
            choices: Vec::new(),
            mend_place: None,
            prepared: Vec::new(),
        }
    }

    /// The same machine with its self-test and its grades.
    #[must_use]
    pub fn with_self_test(self, test: SelfTest) -> Self {
        let grades = test.measures.iter();
        let grades = grades.filter_map(|measure| Some((measure.name.clone(), measure.grade()?)));
        let grade = test.grade();
        Self {
            grades: grades.collect(),
            grade,
            smallest_difference: grade.and_then(|grade| grade.best.smallest_difference()),
            self_test: Some(test),
            ..self
        }
    }

    /// As text for a terminal.
    pub fn text(&self, style: &TerminalStyle) -> String {
        let mut text = format!("host {}", line(&self.host));
        if let Some(fault) = &self.fault {
            let _ = writeln!(text, ": not examined: {}", line(fault));
            return text;
        }
        if let Some(grade) = self.grade {
            let _ = writeln!(text, ": grade {grade}, {}", meaning(grade));
        } else {
            text.push('\n');
        }
        if let Some(why) = &self.not_tested {
            let _ = writeln!(text, "\nnot tested: {}", line(why));
        }
        if let Some(test) = &self.self_test {
            let _ = writeln!(text, "\n{}", measures_table(test).text(style));
            text.push_str(&lost_time(test, style));
        }
        if self.findings.is_empty() {
            text.push_str("\nNothing was found that will spoil a measurement.\n");
        } else {
            text.push_str("\nWhat will spoil a measurement, the worst first:\n");
        }
        for (number, finding) in self.findings.iter().enumerate() {
            let what = format!("{}. {}", number + 1, line(&finding.what));
            let _ = writeln!(text, "{}", wrapped(&what, style.width));
            for mend in &finding.mend {
                let _ = writeln!(text, "     {}", line(mend));
            }
        }
        if !self.choices.is_empty() {
            text.push_str("\nChoices, of which none is wrong:\n");
        }
        for choice in &self.choices {
            let what = format!("- {}", line(&choice.what));
            let _ = writeln!(text, "{}", wrapped(&what, style.width));
            for mend in &choice.mend {
                let _ = writeln!(text, "     {}", line(mend));
            }
        }
        if !self.prepared.is_empty() {
            let made = format!(
                "The plan makes before it measures, so that it is no finding: {}.",
                line(&self.prepared.join(", "))
            );
            let _ = writeln!(text, "\n{}", wrapped(&made, style.width));
        }
        if let Some(place) = &self.mend_place {
            let _ = writeln!(text, "\n{}", wrapped(&line(place), style.width));
        }
        text
    }
}

/// What a grade says to somebody who measures.
pub fn meaning(grade: GradeRange) -> String {
    let seen = |grade: Grade| {
        let share = grade.smallest_difference()?;
        Some(numbers::bound(share * 100.0))
    };
    let difference = match (seen(grade.best), seen(grade.worst)) {
        (None, _) => return "too restless for differences below a sixth".to_owned(),
        (Some(best), Some(worst)) if best != worst => format!("{best} or {worst}"),
        (Some(best), Some(_)) => best,
        (Some(best), None) => format!("{best}, or only of larger ones than a sixth,"),
    };
    format!("so that ten rounds a side see a difference of {difference} where it is at its worst")
}

/// A figure as people read it.
pub fn figure_text(figure: &TestFigure) -> String {
    match figure.unit.to_string().as_str() {
        "ratio" if figure.name == "drift" => format!("{:.1} ppm", figure.value * 1e6),
        "ratio" => numbers::precise_share((figure.value * 1e4).round() / 1e4),
        "count" => format!("{}", figure.value),
        _ => figure.unit.show(figure.value),
    }
}

/// Where a figure would lie in another test: ` [1.1 %, 3.4 %]`; nothing where that isn't known.
fn interval_text(figure: &TestFigure) -> String {
    let end = |value| {
        figure_text(&TestFigure {
            value,
            ..figure.clone()
        })
    };
    let interval = figure.interval;
    interval.map_or_else(String::new, |[low, high]| {
        format!(" [{}, {}]", end(low), end(high))
    })
}

fn tone(grade: Option<GradeRange>) -> Tone {
    match grade.map(|grade| grade.best) {
        Some(Grade::A | Grade::B) => Tone::Good,
        Some(Grade::C) => Tone::Plain,
        Some(_) => Tone::Bad,
        None => Tone::Faint,
    }
}

/// A line for each measure: its grade, the figure that the grade is of, and the others.
fn measures_table(test: &SelfTest) -> Table {
    let mut table = Table::new(vec![left("measure"), left("grade"), left("figures")]);
    for measure in &test.measures {
        let grade = measure.grade();
        let shown = grade.map_or_else(|| "-".to_owned(), |grade| grade.to_string());
        let figures = match &measure.outcome {
            MeasureOutcome::Measured(figures) => {
                let texts = figures.iter().map(|figure| {
                    let interval = interval_text(figure);
                    format!("{} {}{interval}", figure.name, figure_text(figure))
                });
                field(texts.collect::<Vec<_>>().join(", "))
            }
            MeasureOutcome::NotMeasured(why) => {
                field(format!("not measured: {why}")).with_tone(Tone::Faint)
            }
        };
        table.row(vec![
            field(measure.name.clone()),
            field(shown).with_tone(tone(grade)),
            figures,
        ]);
    }
    table
}

/// What a source is called, with its numbers.
pub fn source_text(source: &NoiseSource) -> String {
    let pid = source.pid.map(|pid| format!("pid {pid}"));
    let inside = [pid, source.service.clone()].into_iter().flatten();
    let inside: Vec<String> = inside
        .chain((!source.detail.is_empty()).then(|| source.detail.clone()))
        .collect();
    let inside = match inside.is_empty() {
        true => String::new(),
        false => format!(" ({})", inside.join(", ")),
    };
    let name = match source.kind {
        NoiseKind::Program | NoiseKind::DiskWriter => format!("program `{}`", source.name),
        NoiseKind::KernelThread => format!("kernel thread `{}`", source.name),
        NoiseKind::Interrupt => format!("interrupt {}", source.name),
        NoiseKind::Softirq => format!("softirq {}", source.name),
        NoiseKind::Steal => "the hypervisor, which gave time to others".to_owned(),
        NoiseKind::Frequency => "changes of the frequency".to_owned(),
    };
    let mut text = format!("{name}{inside}");
    if let Some(seconds) = source.seconds {
        let _ = write!(text, ", {seconds:.3} s");
    }
    if let Some(count) = source.count {
        let _ = write!(text, ", {} times", numbers::grouped(count));
    }
    if let Some(bytes) = source.bytes {
        let written = numbers::size(bytes);
        let _ = write!(text, ", which wrote {written} while fsyncs were timed");
    }
    let list = |cpus: &[u32]| {
        let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
        cpus.join(", ")
    };
    if !source.cpus.is_empty() {
        let _ = write!(text, " on CPU {}", list(&source.cpus));
    }
    if !source.siblings.is_empty() {
        let _ = write!(
            text,
            ", which shares its core with CPU {}",
            list(&source.siblings)
        );
    }
    text
}

/// What took the time, by name, and what has none.
fn lost_time(test: &SelfTest, style: &TerminalStyle) -> String {
    if test.sources.is_empty() {
        return String::new();
    }
    let mut table = Table::new(vec![left("seen meanwhile"), right("of the lost time")]);
    for source in &test.sources {
        let share = source
            .explains
            .map(|it| format!("≤ {}", numbers::share(it)));
        table.row(vec![
            field(source_text(source)),
            field(share.unwrap_or_else(|| "-".to_owned())),
        ]);
    }
    table.row(vec![
        field("without a name").with_tone(Tone::Faint),
        field(numbers::share(test.unexplained)).with_tone(Tone::Faint),
    ]);
    format!("\n{}\n", table.text(style))
}

impl DoctorView {
    /// A view of what a plan lacks: how many things, and the sentences that say so. Machines are added to it.
    pub fn of_plan(missing: usize, text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        Self {
            missing: Some(missing),
            plan: lines.map(str::to_owned).collect(),
            plan_text: format!("{text}\n"),
            machines: Vec::new(),
        }
    }

    /// As JSON, or as text for a terminal, without what the plan lacks.
    ///
    /// # Errors
    /// None that is known: every name and number has a form in JSON.
    pub fn shown(&self, as_json: bool, style: &TerminalStyle) -> Result<String, serde_json::Error> {
        match as_json {
            true => json(self),
            false => Ok(self.text(style)),
        }
    }

    fn text(&self, style: &TerminalStyle) -> String {
        let texts = self.machines.iter().map(|machine| machine.text(style));
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Whether nothing is missing, every machine was examined, and none was shown to be worse than this grade, or has none at all where
    /// one is asked for.
    pub fn is_fit(&self, at_least: Option<Grade>) -> bool {
        let is_complete = self.missing.is_none_or(|missing| missing == 0);
        is_complete
            && self.machines.iter().all(|machine| {
                let keeps =
                    at_least.is_none_or(|least| machine.grade.is_some_and(|it| it.best <= least));
                machine.fault.is_none() && keeps
            })
    }
}

/// The self-tests of machines over time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorHistoryView {
    /// The machines.
    pub machines: Vec<MachineHistoryView>,
}

/// A machine's self-tests.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MachineHistoryView {
    /// What the lab called it at last.
    pub host: String,
    /// What tells it from other machines.
    pub machine: String,
    /// Its self-tests, the newest last.
    pub self_tests: Vec<PastTestView>,
    /// Measures whose grade is worse than in the self-test before the last one.
    pub worse: Vec<WorseMeasureView>,
}

/// A self-test of the past, graded by today's limits.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PastTestView {
    /// When it was made.
    #[schemars(with = "String")]
    pub made: jiff::Timestamp,
    /// In which boot.
    pub boot: String,
    /// The worst grade.
    pub grade: Option<GradeRange>,
    /// The grade of each measure that was made.
    pub grades: BTreeMap<String, GradeRange>,
}

/// A measure that got worse.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorseMeasureView {
    /// The measure.
    pub measure: String,
    /// Its grade before.
    pub before: GradeRange,
    /// Its grade at last, all of it worse.
    pub now: GradeRange,
    /// The figure that it is of, before and at last.
    pub figures: String,
    /// What was named at last and not before.
    pub new_sources: Vec<String>,
}

impl DoctorHistoryView {
    /// The history of stored self-tests, which are sorted by machine and time.
    pub fn new(tests: &[StoredSelfTest]) -> Self {
        let machines = tests.chunk_by(|one, other| one.machine == other.machine);
        Self {
            machines: machines.map(MachineHistoryView::new).collect(),
        }
    }

    /// As JSON, or as text for a terminal.
    ///
    /// # Errors
    /// None that is known: every name and number has a form in JSON.
    pub fn shown(&self, as_json: bool, style: &TerminalStyle) -> Result<String, serde_json::Error> {
        match as_json {
            true => json(self),
            false => Ok(self.text(style)),
        }
    }

    fn text(&self, style: &TerminalStyle) -> String {
        if self.machines.is_empty() {
            return "No self-test is in the store: `backsight doctor` makes one.\n".to_owned();
        }
        let texts = self.machines.iter().map(|machine| machine.text(style));
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl MachineHistoryView {
    fn new(tests: &[StoredSelfTest]) -> Self {
        let last = tests.last();
        let worse = match tests {
            [.., before, now] => worse_measures(&before.result, &now.result),
            _ => Vec::new(),
        };
        let self_tests = tests.iter().map(|test| PastTestView {
            made: test.made,
            boot: test.boot.clone(),
            grade: test.result.grade(),
            grades: MachineView::new("")
                .with_self_test(test.result.clone())
                .grades,
        });
        Self {
            host: last.map(|it| it.host.to_string()).unwrap_or_default(),
            machine: last.map(|it| it.machine.clone()).unwrap_or_default(),
            self_tests: self_tests.collect(),
            worse,
        }
    }

    fn text(&self, style: &TerminalStyle) -> String {
        let count = counted(self.self_tests.len(), "self-test");
        let mut text = format!("host {}: {count}\n\n", line(&self.host));
        let last = self.self_tests.last();
        let all = self.self_tests.iter().flat_map(|it| it.grades.keys());
        let mut names: Vec<&String> = all.collect();
        names.sort_unstable();
        names.dedup();
        let mut columns = vec![left("made"), left("grade")];
        columns.extend(names.iter().map(|name| left(name.as_str())));
        let mut table = Table::new(columns);
        for test in &self.self_tests {
            let cell = |grade: Option<GradeRange>| {
                let shown = grade.map_or_else(|| "-".to_owned(), |grade| grade.to_string());
                field(shown).with_tone(tone(grade))
            };
            let made = test.made.strftime("%Y-%m-%d %H:%M:%SZ").to_string();
            let mut row = vec![field(made), cell(test.grade)];
            row.extend(
                names
                    .iter()
                    .map(|name| cell(test.grades.get(*name).copied())),
            );
            table.row(row);
        }
        let _ = writeln!(text, "{}", table.text(style));
        if self.worse.is_empty() && last.is_some() && self.self_tests.len() > 1 {
            text.push_str("\nNothing got worse since the self-test before.\n");
        }
        for worse in &self.worse {
            let WorseMeasureView {
                measure,
                before,
                now,
                figures,
                ..
            } = worse;
            let _ = writeln!(
                text,
                "\nworse: {} {before} → {now}: {}",
                line(measure),
                line(figures)
            );
            for source in &worse.new_sources {
                let _ = writeln!(text, "       seen now and not before: {}", line(source));
            }
        }
        text
    }
}

fn worse_measures(before: &SelfTest, now: &SelfTest) -> Vec<WorseMeasureView> {
    let named = |test: &SelfTest, source: &NoiseSource| {
        let mut all = test.sources.iter();
        all.any(|it| (it.kind, &it.name) == (source.kind, &source.name))
    };
    let new = now.sources.iter().filter(|source| !named(before, source));
    let new: Vec<String> = new.map(source_text).collect();
    let worse = now.measures.iter().filter_map(|measure| {
        let same = |it: &&Measure| it.name == measure.name;
        let earlier = before.measures.iter().find(same)?;
        let (was, is): (GradedFigure<'_>, GradedFigure<'_>) = (earlier.worst()?, measure.worst()?);
        let text = |it: &GradedFigure<'_>| format!("{} {}", it.figure.name, figure_text(it.figure));
        (is.grade.best > was.grade.worst).then(|| WorseMeasureView {
            measure: measure.name.clone(),
            before: was.grade,
            now: is.grade,
            figures: format!("{} → {}", text(&was), text(&is)),
            new_sources: match measure.name.as_str() {
                "interruptions" | "cpu" => new.clone(),
                _ => Vec::new(),
            },
        })
    });
    worse.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::Unit;

    const STYLE: TerminalStyle = TerminalStyle {
        width: None,
        colour: false,
    };

    fn test(lost: f64, sources: Vec<NoiseSource>) -> SelfTest {
        let figure = |name: &str, value, unit| TestFigure {
            name: name.into(),
            value,
            interval: None,
            unit: Unit::parse(unit).unwrap(),
        };
        SelfTest {
            seconds: 20.0,
            cpus: vec![0, 1],
            measures: vec![
                Measure {
                    name: "interruptions".into(),
                    outcome: MeasureOutcome::Measured(vec![
                        figure("lost", lost, "ratio"),
                        figure("longest", 0.0041, "s"),
                    ]),
                },
                Measure {
                    name: "throttling".into(),
                    outcome: MeasureOutcome::NotMeasured("no counters".into()),
                },
            ],
            sources,
            unexplained: 0.04,
        }
    }

    fn busy() -> NoiseSource {
        NoiseSource {
            kind: NoiseKind::Program,
            name: "bu\u{1b}sy".into(),
            pid: Some(77),
            service: Some("cron.service".into()),
            cpus: vec![1],
            siblings: vec![3],
            seconds: Some(1.9),
            count: None,
            bytes: None,
            explains: Some(0.95),
            detail: String::new(),
        }
    }

    #[test]
    fn a_machine_has_its_grade_its_measures_its_noise_and_what_mends_it() {
        let mut machine = MachineView::new("dut").with_self_test(test(0.3, vec![busy()]));
        machine.findings.push(FindingView {
            what: "the governor is powersave".into(),
            harm: 95,
            measured: false,
            why: "x".into(),
            mend: vec!["cpu.governor = \"performance\"".into()],
        });
        let text = machine.text(&STYLE);
        for part in [
            "host dut: grade F, too restless",
            "interruptions  F      lost 30 %, longest 4.100 ms",
            "throttling     -      not measured: no counters",
            "(pid 77, cron.service), 1.900 s on CPU 1, which shares its core with CPU 3",
            "≤ 95.0 %",
            "without a name",
            "\n1. the governor is powersave\n     cpu.governor = \"performance\"",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains('\u{1b}'));
        let calm = MachineView::new("dut").with_self_test(test(0.001, Vec::new()));
        let text = calm.text(&STYLE);
        assert!(
            text.contains("grade A") && text.contains("Nothing was found"),
            "{text}"
        );
    }

    fn with_interval(low: f64, value: f64, high: f64) -> SelfTest {
        let mut test = test(value, Vec::new());
        if let MeasureOutcome::Measured(figures) = &mut test.measures[0].outcome {
            figures[0].interval = Some([low, high]);
        }
        test
    }

    #[test]
    fn a_grade_is_what_the_interval_leaves_possible() {
        let machine = MachineView::new("dut").with_self_test(with_interval(0.03, 0.045, 0.07));
        let text = machine.text(&STYLE);
        for part in [
            "host dut: grade D to E, so that ten rounds a side see a difference of 6.6 % or 14 % where",
            "interruptions  D to E  lost 4.5 % [3 %, 7 %], longest",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let view = DoctorView {
            machines: vec![machine],
            ..DoctorView::default()
        };
        // It fails where a test shows that it is worse, and so not by chance.
        assert!(view.is_fit(Some(Grade::D)) && !view.is_fit(Some(Grade::C)));
        let worse = |before: &SelfTest, now: &SelfTest| worse_measures(before, now).len();
        let before = with_interval(0.03, 0.045, 0.07);
        assert_eq!(worse(&before, &with_interval(0.06, 0.08, 0.11)), 0);
        assert_eq!(worse(&before, &with_interval(0.11, 0.2, 0.3)), 1);
        let wide = MachineView::new("dut").with_self_test(with_interval(0.03, 0.09, 0.2));
        let text = wide.text(&STYLE);
        assert!(
            text.contains("grade D to F") && text.contains("only of larger ones"),
            "{text}"
        );
    }

    #[test]
    fn a_machine_is_fit_by_its_grade_and_what_was_not_tested_has_none() {
        let view = |lost: Option<f64>| DoctorView {
            machines: vec![match lost {
                Some(lost) => MachineView::new("dut").with_self_test(test(lost, Vec::new())),
                None => MachineView::new("dut"),
            }],
            ..DoctorView::default()
        };
        assert!(view(Some(0.008)).is_fit(Some(Grade::B)));
        assert!(!view(Some(0.011)).is_fit(Some(Grade::B)));
        assert!(!view(None).is_fit(Some(Grade::F)));
        assert!(view(None).is_fit(None));
    }

    #[test]
    fn a_history_shows_grades_and_what_got_worse() {
        let stored = |machine: &str, second, lost, sources| StoredSelfTest {
            machine: machine.into(),
            boot: "b".into(),
            host: "dut".parse().unwrap(),
            made: jiff::Timestamp::from_second(second).unwrap(),
            result: test(lost, sources),
        };
        let tests = [
            stored("a", 0, 0.001, vec![]),
            stored("a", 3600, 0.3, vec![busy()]),
            stored("b", 60, 0.001, vec![]),
        ];
        let view = DoctorHistoryView::new(&tests);
        assert_eq!(view.machines.len(), 2);
        let text = view.text(&STYLE);
        let (a, f) = (
            text.find("1970-01-01 00:00:00Z  A"),
            text.find("1970-01-01 01:00:00Z  F"),
        );
        assert!(a.is_some() && a < f, "{text}");
        assert!(
            text.contains("worse: interruptions A → F: lost 0.1 % → lost 30 %"),
            "{text}"
        );
        assert!(text.contains("seen now and not before: program"), "{text}");
        let empty = DoctorHistoryView::new(&[]).text(&STYLE);
        assert!(empty.contains("backsight doctor"), "{empty}");
    }
}
