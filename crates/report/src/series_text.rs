//! A series of a history as text: its numbers with their spread, its changes with their interval and probability, and the
//! notes that qualify them. Pages and terminals show the same.

use backsight_model::{RecordDifference, numbers::Rounding};
use backsight_policy::{
    ChangeAcceptance, ChangeDirection, ChangePoint, DetectionMethod, HiddenStates, LevelSpread,
    NamedChange, StateHolder, TargetHistory, VersionPoint, VersionSeries, change_percent,
};
use backsight_stats::{
    Interval, Undefined,
    changes::{ChangeKind, MAX_DOUBTED_P, Trend},
};
use jiff::{Timestamp, tz::TimeZone};

use std::fmt::Write as _;

use crate::numbers::{self, MeanEstimate, Scale, counted, direction_words, significant};

/// Measured versions of a series that is long enough to tell a trend from levels.
const LONG: usize = 60;
/// Fewer are too few to be searched.
const SEARCHED: usize = 8;
/// Digits of what is all alike: no spread limits them.
const ALIKE_DIGITS: usize = 6;
/// A smaller percentage would be shown as none.
const SMALL_PERCENT: f64 = 0.01;

/// A series of a history, with the unit that suits it.
#[derive(Debug, Clone, Copy)]
pub struct SeriesText<'a> {
    history: &'a TargetHistory,
    series: &'a VersionSeries,
    scale: Scale,
}

impl<'a> SeriesText<'a> {
    /// The text of a series of this history.
    pub fn new(history: &'a TargetHistory, series: &'a VersionSeries) -> Self {
        let values = series.points.iter().filter_map(|point| point.value);
        Self {
            history,
            series,
            scale: Scale::fitting(series.metric.unit, values),
        }
    }

    /// The same with the unit that was chosen before: that takes all values.
    pub fn with_scale(history: &'a TargetHistory, series: &'a VersionSeries, scale: Scale) -> Self {
        Self {
            history,
            series,
            scale,
        }
    }

    /// The unit that is shown, and how values become numbers of it.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// A number of the series in the unit that is shown.
    pub fn scaled(&self, value: f64) -> f64 {
        self.scale.convert(value)
    }

    /// The unit that is shown.
    pub fn unit(&self) -> String {
        self.scale
            .unit
            .map_or(String::new(), |unit| unit.to_string())
    }

    /// `Gbit/s, higher is better`; and what counted it, if it wasn't a real machine's clock.
    pub fn axis(&self) -> String {
        let better = direction_words(self.series.metric.better);
        let unit = self
            .scale
            .unit
            .map_or(String::new(), |unit| format!("{unit}, "));
        let simulator = self.series.metric.simulator;
        let counted = simulator.map_or(String::new(), |by| format!(", {}", by.phrase()));
        format!("{unit}{better}{counted}")
    }

    /// The name of a version.
    pub fn version(&self, at: usize) -> &'a str {
        let version = self.history.versions.get(at);
        version.map_or("", |version| version.version.name.as_str())
    }

    /// `37.52 ±0.31`, without the unit; `no value` where every trial failed. What is all alike has no interval, and the
    /// digits that it was printed with.
    pub fn value(&self, point: &VersionPoint) -> String {
        let Some(mean) = point.value else {
            return "no value".to_owned();
        };
        if point.alike {
            return self.exactly(mean);
        }
        let interval = point.interval.map(|interval| (interval.low, interval.high));
        let estimate = MeanEstimate {
            kind: "Amean",
            mean,
            interval: interval.ok_or(Undefined::NoSpread),
            n: point.counts.trials,
        };
        estimate.shown(&self.scale)
    }

    /// A number of the series with this many digits, without its unit.
    pub fn number(&self, value: f64, digits: usize) -> String {
        significant(self.scale.convert(value), digits)
    }

    /// The values before and after a change, with the digits that the interval of its size supports, without their unit.
    fn levels(&self, before: f64, after: f64, size: Interval) -> [String; 2] {
        let [before, after] = [before, after].map(|value| self.scale.convert(value));
        numbers::levels(before, after, self.scale.convert_interval(size))
    }

    /// A number that nothing makes doubtful, without its unit.
    fn exactly(&self, value: f64) -> String {
        numbers::value(self.scale.convert(value), ALIKE_DIGITS)
    }

    /// `±0.12`, or a dash where nothing was repeated.
    pub fn spread(&self, spread: Option<LevelSpread>) -> String {
        spread.map_or_else(
            || "–".to_owned(),
            |spread| format!("±{}", self.number(spread.deviation, 2)),
        )
    }

    /// `18 trials, 6 boots, 3 layouts, 1 failed`, without what there is only one of.
    pub fn counts(point: &VersionPoint) -> String {
        let counts = &point.counts;
        let mut parts = vec![counted(counts.trials, "trial")];
        if counts.boots > 1 {
            parts.push(counted(counts.boots, "boot"));
        }
        if counts.layouts > 1 {
            parts.push(counted(counts.layouts, "layout"));
        }
        if counts.failed > 0 {
            parts.push(format!("{} failed", counts.failed));
        }
        parts.join(", ")
    }

    /// `−10.0 % [−10.6, −9.4]`, in the unit where the level before was zero; without the interval where both sides are all
    /// alike.
    pub fn size(&self, point: &ChangePoint) -> String {
        match change_percent(&point.change) {
            Some((percent, _)) if point.alike && percent.abs() < SMALL_PERCENT => {
                format!("{} %", numbers::signed(&significant(percent, 2)))
            }
            Some((percent, _)) if point.alike => numbers::percent(percent),
            None if point.alike => {
                let size = self.exactly(point.change.size);
                format!("{}{}", numbers::signed(&size), self.scale.unit_after())
            }
            Some((percent, interval)) => numbers::percent_in(percent, Some(interval)),
            None => {
                let interval = point.change.size_interval;
                self.scale.difference(point.change.size, Some(interval))
            }
        }
    }

    /// `after 1.24, at 1.25`; with the last version that it may be in, where there is doubt.
    pub fn place(&self, after: Option<usize>, at: usize, until: usize) -> String {
        let at_name = self.version(at);
        let range = match after {
            Some(after) if until == at => format!("after {}, at {at_name}", self.version(after)),
            Some(after) => format!(
                "after {}, up to {}, most probably at {at_name}",
                self.version(after),
                self.version(until)
            ),
            None => format!("up to {}, most probably at {at_name}", self.version(until)),
        };
        match self.unmeasured(after, at) {
            0 => range,
            count => format!(
                "{range} ({} between not measured)",
                counted(count, "version")
            ),
        }
    }

    /// How many versions lie between the last one before and the first after.
    fn unmeasured(&self, after: Option<usize>, at: usize) -> usize {
        let Some(after) = after else { return 0 };
        let between = (after + 1)..at;
        between
            .filter(|at| {
                let known = self.series.points.iter();
                !known
                    .filter(|point| point.value.is_some())
                    .any(|point| point.version == *at)
            })
            .count()
    }

    /// A change as a sentence.
    pub fn change(&self, point: &ChangePoint) -> String {
        let change = &point.change;
        let [before, after] = match point.alike {
            true => [change.before, change.after].map(|value| self.exactly(value)),
            false => self.levels(change.before, change.after, change.size_interval),
        };
        let sure = match point.alike {
            true => "all alike on either side".to_owned(),
            false => format!("probability {}", numbers::probability(change.probability)),
        };
        let mut text = format!(
            "{}: {}, from {before} to {after}{}, {}, {sure}",
            self.place(point.after, point.at, point.until),
            self.size(point),
            self.scale.unit_after(),
            point.direction.as_str(),
        );
        // In a short series a step looks like a trend that breaks.
        if change.kind == ChangeKind::Trend && self.measured() >= LONG {
            text.push_str(" (the level never rests; it moves differently from here on)");
        }
        if !point.believed {
            text.push_str("; not believed among so many series");
        }
        if let Some(accepted) = &point.accepted {
            let _ = write!(text, "; {}", acceptance(accepted));
        }
        if !point.hosts.is_empty() {
            let _ = write!(text, "; {}", hosts(&point.hosts));
        }
        if let Some(compilers) = &point.compilers {
            let [was, is] = compilers.values();
            let _ = write!(
                text,
                "; the compiler changed there too, which may be why: was {was}, is {is}"
            );
        }
        if let Some(reference) = &point.reference {
            let moved = numbers::percent_in(reference.percent, Some(reference.interval));
            let testbed = &reference.testbed;
            let _ = match reference.is_move() {
                true => write!(
                    text,
                    "; meanwhile the reference {testbed} moved by {moved}: so much is no version's doing"
                ),
                false => write!(text, "; meanwhile the reference {testbed} rested ({moved})"),
            };
        }
        text
    }

    /// By how much a trend moves over all versions: `+12.3 [+10.1, +14.5]`, without the unit.
    pub fn trend_size(&self, trend: &Trend) -> String {
        let (size, interval) = (
            self.scale.convert(trend.size),
            self.scale.convert_interval(trend.size_interval),
        );
        let rounding = Rounding::from_interval(size, Some(interval));
        format!(
            "{} {}",
            rounding.difference(size),
            rounding.differences(interval)
        )
    }

    /// A change that a bisection named, as a mark at its version: `bisect named this change, 97.0 %: study b`.
    pub fn mark(named: &NamedChange) -> String {
        format!(
            "bisect named this change, {}: study {}",
            numbers::probability(named.probability),
            named.study
        )
    }

    /// A change that a bisection named, as a sentence.
    pub fn named(&self, named: &NamedChange) -> String {
        let place = self.place(Some(named.after), named.at, named.at);
        let size = self.named_size(named);
        let direction = named.direction.map_or("", ChangeDirection::as_str);
        let parts = [place.as_str(), &size, direction];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let seen = match named.is_found {
            true => "",
            false => "; the series by itself doesn't show it",
        };
        format!("{}; {}{seen}", parts.join(", "), Self::mark(named))
    }

    /// As [`SeriesText::size`], of what a bisection named; empty if it isn't known.
    pub fn named_size(&self, named: &NamedChange) -> String {
        match (named.percent, named.size) {
            (Some((percent, interval)), _) => numbers::percent_in(percent, Some(interval)),
            (None, Some(size)) => self.scale.difference(size.value, Some(size.interval)),
            (None, None) => String::new(),
        }
    }

    /// What must be known to believe what was found and not found.
    pub fn notes(&self) -> Vec<String> {
        let found = &self.series.found;
        let mut notes = Vec::new();
        let measured = self.measured();
        if let Some(simulator) = self.series.metric.simulator {
            let meaning = simulator.meaning();
            let (first, rest) = meaning.split_at(1);
            notes.push(format!("{}{rest}.", first.to_uppercase()));
        }
        match found.how {
            DetectionMethod::Searched => {}
            DetectionMethod::Compared => {
                let noise = match self.series.metric.simulator {
                    Some(_) => ", by the noise of the repeats of all of them together",
                    None => "",
                };
                let halves = match measured < SEARCHED || self.series.metric.simulator.is_some() {
                    true => " and all before with all after",
                    false => "",
                };
                notes.push(format!(
                    "{} are few: they were also compared, each with the one before it{halves}{noise}.",
                    counted(measured, "version")
                ));
            }
            DetectionMethod::TooLittle => notes.push(format!(
                "{} without repeats can't show a change.",
                counted(measured, "version")
            )),
        }
        notes.extend(self.sessions());
        if found.changes.is_empty() && found.how != DetectionMethod::TooLittle {
            notes.push("No change of level was found.".to_owned());
        }
        notes.extend(self.series.states.as_ref().map(states));
        if let Some(trend) = &found.trend {
            let size = self.trend_size(trend);
            notes.push(match found.changes.is_empty() {
                true => {
                    let [from, to] = self.levels(trend.from, trend.to, trend.size_interval);
                    format!(
                        "A trend: from {from} to {to}{} over all versions, {size}. It is no change of level.",
                        self.scale.unit_after(),
                    )
                }
                false => format!(
                    "A trend beside the changes: {size}{} over all versions, without their steps.",
                    self.scale.unit_after(),
                ),
            });
        }
        if let Some(pending) = &found.pending {
            let point = &pending.point;
            let change = &point.change;
            let [before, _] = self.levels(change.before, change.after, change.size_interval);
            notes.push(format!(
                "Pending: {} of {} ({}), {} from {}{}. That is no level yet: {} like it would tell.",
                self.size(point),
                self.version(point.at),
                counted(pending.versions, "version"),
                point.direction.as_str(),
                before,
                self.scale.unit_after(),
                counted(pending.to_come, "more version"),
            ));
        }
        notes.extend(self.epochs().map(|(_, text)| text));
        if let Some(period) = found.period {
            notes.push(format!(
                "A period of {period} versions was taken out first."
            ));
        }
        // Two ways of looking may see the same change, and one of them believe it.
        let told = |at| {
            found
                .changes
                .iter()
                .any(|change| change.believed && change.at == at)
        };
        if let Some((at, p)) = found
            .doubted
            .filter(|(at, p)| *p <= MAX_DOUBTED_P && !told(*at))
        {
            let version = self.version(at);
            notes.push(format!(
                "The clearest change that wasn't believed: at {version}, {}.",
                numbers::p_equals(p)
            ));
        }
        if let Some(least) = found.least_found.filter(|least| *least > 0.0) {
            notes.push(format!(
                "In the latest part a lasting change of {}{} would be found nine times out of ten.",
                self.number(least, 2),
                self.scale.unit_after()
            ));
        }
        if !found.changes.is_empty() && !self.series.has_layouts() {
            notes.push(
                "No version was measured in several layouts: a change may be one of layout."
                    .to_owned(),
            );
        }
        notes
    }

    /// Where its noise changed: the version and a sentence.
    pub fn epochs(&self) -> impl Iterator<Item = (usize, String)> {
        self.series.found.epochs.iter().map(|epoch| {
            let text = format!(
                "The noise changed {}, from ±{} to ±{}{}: another machine, compiler or neighbour? It is no change of level.",
                self.place(epoch.after, epoch.at, epoch.until),
                self.number(epoch.epoch.before, 3),
                self.number(epoch.epoch.after, 3),
                self.scale.unit_after()
            );
            (epoch.at, text)
        })
    }

    /// How many sessions stand behind a version, and what that makes of its interval.
    fn sessions(&self) -> Option<String> {
        if self.series.is_of_single_sessions() {
            return Some(
                "1 session a version: intervals show how runs of one session differ; how sessions differ shows only between versions."
                    .to_owned(),
            );
        }
        let known = self.series.spread_of_sessions?;
        let mut points = self.series.points.iter();
        points.any(VersionPoint::is_of_one_session).then(|| {
            format!(
                "Sessions of one version differ by ±{} % (known from {} of {}): intervals of versions that were measured in one session are at least that wide.",
                significant(100.0 * known.spread.relative, 2),
                counted(known.units, "session"),
                counted(known.studies, "build"),
            )
        })
    }

    /// Versions with a value.
    fn measured(&self) -> usize {
        let points = self.series.points.iter();
        points.filter(|point| point.value.is_some()).count()
    }

    /// `28 of 30 versions measured, 1 unstable`.
    pub fn coverage(&self) -> String {
        let mut text = format!(
            "{} of {} measured",
            numbers::grouped(self.measured() as u64),
            counted(self.history.versions.len(), "version")
        );
        let unstable = self.series.points.iter().filter(|p| p.unstable).count();
        if unstable > 0 {
            text.push_str(&format!(", {unstable} unstable"));
        }
        text
    }
}

/// Two states, and what goes with them.
fn states(states: &HiddenStates) -> String {
    let what = match states.holder {
        StateHolder::Boot => "boots",
        StateHolder::Trial => "trials",
    };
    let (of, low) = (states.of, (1.0 - states.high_share) * states.of as f64);
    let size = numbers::percent(states.percent);
    let cause = match &states.cause {
        None => "nothing that is known of the hosts goes with them".to_owned(),
        Some(cause) => format!(
            "what goes with them best is {}: {} where it is lower, {} where it is higher, in {} of {} (p = {})",
            cause.fact,
            cause.low,
            cause.high,
            cause.agree,
            cause.of,
            numbers::probability(cause.p)
        ),
    };
    format!(
        "Two states: {low:.0} of {of} {what} are in the lower one, the others {size} above it; a mean of both is neither. {}{}.",
        cause[..1].to_uppercase(),
        &cause[1..]
    )
}

/// That hosts changed where a series did.
fn hosts(differences: &[RecordDifference]) -> String {
    /// Of more the number is said.
    const SHOWN: usize = 3;
    let shown = differences.iter().take(SHOWN);
    let mut shown: Vec<String> = shown.map(ToString::to_string).collect();
    if differences.len() > SHOWN {
        shown.push(format!("{} more", differences.len() - SHOWN));
    }
    format!(
        "the machine changed there too, which may be why: {}",
        shown.join("; ")
    )
}

/// `accepted by Ann until 2030-01-31: it is safer now (work-around: --unsafe)`.
pub fn acceptance(accepted: &ChangeAcceptance) -> String {
    let it = &accepted.acceptance;
    let day = |at: Timestamp| at.to_zoned(TimeZone::system()).date();
    let until = it
        .until
        .map_or_else(String::new, |at| format!(" until {}", day(at)));
    let work_around = it.work_around.as_ref();
    format!(
        "{} by {}{until}: {}{}",
        match accepted.lapsed {
            true => "was accepted",
            false => "accepted",
        },
        it.by,
        it.reason,
        work_around.map_or_else(String::new, |how| format!(" (work-around: {how})")),
    )
}
