//! The self-test of a host: what was measured of its calm, which sources of noise were seen meanwhile, and the grade that follows.
//!
//! The agent measures, this judges: limits are data (`self_test_limits.tsv`), so that an old result is graded by today's limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, sync::LazyLock};

use crate::Unit;

/// How calm a machine is, the best first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Grade {
    /// Spread of at most 0.5 %.
    A,
    /// At most 1 %.
    B,
    /// At most 2 %.
    C,
    /// At most 5 %.
    D,
    /// At most 10 %.
    E,
    /// More.
    F,
}

impl Grade {
    /// All, the best first.
    pub const ALL: [Self; 6] = [Self::A, Self::B, Self::C, Self::D, Self::E, Self::F];

    /// The largest spread of one round that goes with it, as a share; none for the last grade.
    pub fn largest_spread(self) -> Option<f64> {
        [0.005, 0.01, 0.02, 0.05, 0.1].get(self as usize).copied()
    }

    /// The grade of a spread, or of a share of time that is lost.
    pub fn of_share(share: f64) -> Self {
        let keeps = |grade: &Self| grade.largest_spread().is_some_and(|it| share <= it);
        Self::ALL.into_iter().find(keeps).unwrap_or(Self::F)
    }

    /// The smallest difference that ten rounds a side see four times of five, as a share, if one round has the grade's spread:
    /// (2.10 + 0.86) · √(2/10) times the spread, by the t-test of 18 degrees of freedom at 5 %.
    pub fn smallest_difference(self) -> Option<f64> {
        self.largest_spread().map(|spread| 1.32 * spread)
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(["A", "B", "C", "D", "E", "F"][*self as usize])
    }
}

impl FromStr for Grade {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = |grade: &Self| grade.to_string() == text.to_ascii_uppercase();
        let found = Self::ALL.into_iter().find(wanted);
        found.ok_or_else(|| format!("`{text}` is no grade: expected A, B, C, D, E or F"))
    }
}

/// The grades that a self-test leaves possible: a machine is shown to be worse than those before the best one, and calmer than those
/// behind the worst one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct GradeRange {
    /// The best of them; limits are compared with it.
    pub best: Grade,
    /// The worst of them.
    pub worst: Grade,
}

impl GradeRange {
    /// The worst of all at each end: what holds of several figures at once.
    fn worse(self, other: Self) -> Self {
        Self {
            best: self.best.max(other.best),
            worst: self.worst.max(other.worst),
        }
    }
}

impl fmt::Display for GradeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.best == self.worst {
            true => f.pad(&self.best.to_string()),
            false => f.pad(&format!("{} to {}", self.best, self.worst)),
        }
    }
}

/// A number that a self-test measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestFigure {
    /// Its name within its measure: `jitter`.
    pub name: String,
    /// The number, in the unit.
    pub value: f64,
    /// Where it would lie nine times of ten if the test were made again on the same machine; none where it isn't known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// The unit; of shares `ratio`: 0.01 is one percent.
    pub unit: Unit,
}

/// What one measure of a self-test found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeasureOutcome {
    /// Its figures.
    Measured(Vec<TestFigure>),
    /// Why there are none: the machine hasn't what it needs. That is no pass.
    NotMeasured(String),
}

/// One measure of a self-test: `timer`, `cpu`, `memory`, …
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// Its name.
    pub name: String,
    /// What it found.
    pub outcome: MeasureOutcome,
}

/// What took time from the processors during a self-test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseKind {
    /// A program.
    Program,
    /// A thread of the kernel.
    KernelThread,
    /// The line of an interrupt.
    Interrupt,
    /// Deferred work of interrupts.
    Softirq,
    /// The hypervisor gave the time to others.
    Steal,
    /// A processor changed its frequency.
    Frequency,
    /// A program that wrote to disks while fsyncs were timed.
    DiskWriter,
}

/// A source of noise that was counted while the self-test measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseSource {
    /// What it is.
    pub kind: NoiseKind,
    /// Its name: of the program, the interrupt, the softirq.
    pub name: String,
    /// The program's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// The unit of systemd that the program belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Where it was counted.
    pub cpus: Vec<u32>,
    /// CPUs that share a core with these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<u32>,
    /// Processor time that it used, in seconds, where that is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// How often it came, where that is counted; of a program, how often it was given a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// How much it wrote, in bytes, where that is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The share of the lost time that it can explain at most; none where it takes no time but speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explains: Option<f64>,
    /// More about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What stands on a machine that a setting doesn't mend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineObservation {
    /// Its name in the record of a machine, which has a weight: `machine.clock.source`.
    pub name: String,
    /// What was found.
    pub found: String,
    /// What can be done.
    pub advice: String,
}

/// A host's self-test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTest {
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The CPUs that were tested.
    pub cpus: Vec<u32>,
    /// What each measure found.
    pub measures: Vec<Measure>,
    /// What took time, what explains most first.
    pub sources: Vec<NoiseSource>,
    /// The share of the lost time that none of the sources explains.
    pub unexplained: f64,
}

/// A grade is at most so much better than the figure says, however little is known of it: about the step from limit to limit.
const LARGEST_DOUBT: f64 = 2.0;

/// The limits of a figure.
struct Limits {
    figure: String,
    /// The largest values of A to E; none: no limit.
    largest: [Option<f64>; 5],
    settings: Vec<&'static str>,
    reason: &'static str,
}

static LIMITS: LazyLock<Vec<Limits>> = LazyLock::new(|| {
    let lines = include_str!("self_test_limits.tsv").lines();
    let rows = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parsed = rows.map(|line| {
        let fields: Vec<&'static str> = line.split('\t').collect();
        let &[figure, a, b, c, d, e, settings, reason] = &fields[..] else {
            panic!("not a figure, five limits, settings and a reason: {line}");
        };
        let limit = |text: &str| {
            let number = || text.parse().expect("a limit is a number or `-`");
            (text != "-").then(number)
        };
        Limits {
            figure: figure.to_owned(),
            largest: [a, b, c, d, e].map(limit),
            settings: settings.split(' ').filter(|it| *it != "-").collect(),
            reason,
        }
    });
    parsed.collect()
});

fn limits_of(measure: &str, figure: &str) -> Option<&'static Limits> {
    let name = format!("{measure}.{figure}");
    LIMITS.iter().find(|limits| limits.figure == name)
}

/// A graded figure, its limits included.
#[derive(Debug, Clone, PartialEq)]
pub struct GradedFigure<'a> {
    /// The figure.
    pub figure: &'a TestFigure,
    /// Its grade, by both ends of its interval.
    pub grade: GradeRange,
    /// The settings that may mend it.
    pub settings: &'static [&'static str],
    /// What the figure means and why these are its limits.
    pub reason: &'static str,
}

impl Measure {
    /// The figures that have limits, with their grades.
    pub fn graded(&self) -> impl Iterator<Item = GradedFigure<'_>> {
        let figures: &[TestFigure] = match &self.outcome {
            MeasureOutcome::Measured(figures) => figures,
            MeasureOutcome::NotMeasured(_) => &[],
        };
        figures.iter().filter_map(|figure| {
            let limits = limits_of(&self.name, &figure.name)?;
            let grade = |value: f64| {
                // What is no number is beyond every limit.
                let fits = |limit: &Option<f64>| limit.is_none_or(|limit| value <= limit);
                let step = limits.largest.iter().position(fits).unwrap_or(5);
                Grade::ALL[step]
            };
            let [low, high] = figure.interval.unwrap_or([figure.value; 2]);
            // A figure that isn't known to a factor is one of a restless machine.
            let low = low.max(figure.value / LARGEST_DOUBT);
            Some(GradedFigure {
                figure,
                grade: GradeRange {
                    best: grade(low),
                    worst: grade(high),
                },
                settings: &limits.settings,
                reason: limits.reason,
            })
        })
    }

    /// Its figure with the worst grade; none where nothing of it was measured or graded.
    pub fn worst(&self) -> Option<GradedFigure<'_>> {
        self.graded().max_by_key(|graded| graded.grade)
    }

    /// The worst grades of its figures.
    pub fn grade(&self) -> Option<GradeRange> {
        let grades = self.graded().map(|graded| graded.grade);
        grades.reduce(GradeRange::worse)
    }
}

impl SelfTest {
    /// The worst grades of its measures; none where nothing was measured.
    pub fn grade(&self) -> Option<GradeRange> {
        let grades = self.measures.iter().filter_map(Measure::grade);
        grades.reduce(GradeRange::worse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(name: &str, figures: &[(&str, f64, &str)]) -> Measure {
        let figure = |(name, value, unit): &(&str, f64, &str)| TestFigure {
            name: (*name).to_owned(),
            value: *value,
            interval: None,
            unit: Unit::parse(unit).unwrap(),
        };
        Measure {
            name: name.to_owned(),
            outcome: MeasureOutcome::Measured(figures.iter().map(figure).collect()),
        }
    }

    fn one(grade: Grade) -> Option<GradeRange> {
        Some(GradeRange {
            best: grade,
            worst: grade,
        })
    }

    #[test]
    fn a_figure_with_an_interval_has_the_grades_of_both_its_ends() {
        let with = |low, high| {
            let mut measure = measure(
                "cpu",
                &[("between", 0.001, "ratio"), ("within", 0.03, "ratio")],
            );
            if let MeasureOutcome::Measured(figures) = &mut measure.outcome {
                figures[1].interval = Some([low, high]);
            }
            measure.grade().unwrap().to_string()
        };
        assert_eq!(with(0.021, 0.04), "D");
        assert_eq!(with(0.019, 0.06), "C to E");
        assert_eq!(with(0.019, f64::INFINITY), "C to F");
        // However wide it is, 0.03 isn't the spread of a calm machine.
        assert_eq!(with(0.0001, 0.04), "C to D");
    }

    #[test]
    fn limits_of_every_figure_ascend_and_have_a_reason() {
        for limits in LIMITS.iter() {
            let known: Vec<f64> = limits.largest.iter().flatten().copied().collect();
            assert!(known.is_sorted(), "{}", limits.figure);
            assert!(limits.reason.len() > 30, "{}", limits.figure);
            assert!(limits.figure.contains('.'), "{}", limits.figure);
        }
    }

    #[test]
    fn a_figure_has_the_first_grade_whose_limit_it_keeps() {
        for (value, grade) in [
            (0.0, Grade::A),
            (0.005, Grade::A),
            (0.0051, Grade::B),
            (0.04, Grade::D),
            (0.1, Grade::E),
            (0.2, Grade::F),
            (f64::NAN, Grade::F),
        ] {
            let measure = measure("cpu", &[("within", value, "ratio")]);
            assert_eq!(measure.grade(), one(grade), "{value}");
        }
        let throttled = |events| measure("throttling", &[("events", events, "count")]).grade();
        assert_eq!(throttled(0.0), one(Grade::A));
        assert_eq!(throttled(3.0), one(Grade::D));
    }

    #[test]
    fn the_worst_measure_is_the_grade_and_what_is_not_measured_is_none() {
        let not_measured = Measure {
            name: "fsync".into(),
            outcome: MeasureOutcome::NotMeasured("no folder".into()),
        };
        assert_eq!(not_measured.grade(), None);
        let mut test = SelfTest {
            seconds: 1.0,
            cpus: vec![0],
            measures: vec![not_measured],
            sources: Vec::new(),
            unexplained: 0.0,
        };
        assert_eq!(test.grade(), None);
        test.measures.push(measure(
            "timer",
            &[("median", 9.0, "s"), ("jitter", 4e-6, "s")],
        ));
        assert_eq!(test.grade(), one(Grade::A));
        test.measures.push(measure(
            "cpu",
            &[("between", 0.001, "ratio"), ("within", 0.03, "ratio")],
        ));
        assert_eq!(test.grade(), one(Grade::D));
        assert_eq!(test.measures[2].worst().unwrap().figure.name, "within");
    }

    #[test]
    fn grades_are_read_as_they_are_shown() {
        for grade in Grade::ALL {
            assert_eq!(grade.to_string().parse(), Ok(grade));
        }
        assert_eq!("b".parse(), Ok(Grade::B));
        assert!("G".parse::<Grade>().unwrap_err().contains("expected A"));
        assert!(Grade::A < Grade::F);
        assert_eq!(Grade::F.smallest_difference(), None);
        for (share, grade) in [(0.0, Grade::A), (0.02, Grade::C), (0.3, Grade::F)] {
            assert_eq!(Grade::of_share(share), grade);
        }
        let of_a = Grade::A.smallest_difference().unwrap();
        assert!((0.006..0.007).contains(&of_a), "{of_a}");
    }
}
