//! What the script of a target's page reads: classic scripts that hand a JSON value to `backsight(KIND, VALUE)`, because pages
//! that are opened from a disk can't fetch anything else. `web/src/data.ts` is the other end.
//!
//! Numbers are in the unit that is shown, with as many digits as a chart tells apart; versions are places. Texts of others are
//! made visible here.

use askama::Error;
use backsight_model::StudyName;
use backsight_policy::{VersionPoint, VersionSeries};
use backsight_report::{
    SeriesText,
    chart::{drift_line, series_levels},
    clipped, escape, json_line,
};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

use super::{
    book::{Here, MOST_LISTED},
    changes::change_sentences,
    differing_facts::{DifferingFact, DifferingFacts},
    series_list::{SeriesRow, in_order},
};

/// A fact that changes seldom does so at most at one of so many measured versions.
const SELDOM: usize = 20;
/// Steps that a chart tells apart over the span of a series' values.
const STEPS: f64 = 4_000.0;

/// The versions of a target.
#[derive(Serialize)]
struct VersionsData {
    target: String,
    /// A line each: how many characters it has in common with the line before, as a digit of base 36, and the rest.
    names: String,
    /// The parts of addresses that differ from the names.
    addresses: BTreeMap<usize, String>,
    /// Minutes since 1970, to base 36: of the first version that has a time, then each time's distance from the one before;
    /// nothing between two commas where it is the same distance again, and `?` where a version has no time.
    times: String,
    releases: Vec<usize>,
    quirks: BTreeMap<usize, String>,
    /// Versions that nothing was measured of: how they stand and why.
    unmeasured: BTreeMap<usize, (&'static str, String)>,
    /// Where compilers, or facts of machines that seldom change, did.
    environment: BTreeMap<usize, String>,
    /// What people say of versions.
    said: BTreeMap<usize, String>,
}

/// A series.
#[derive(Serialize)]
struct SeriesData<'a> {
    slug: &'a str,
    /// The study that measured it last: what is measured like it becomes part of it.
    like: Option<&'a str>,
    name: String,
    benchmark: &'a str,
    unit: String,
    /// The unit and which direction is better, in words.
    axis: String,
    coverage: String,
    /// Decimals that values are shown with.
    decimals: i32,
    /// Where values are: the first of neighbouring versions and how many, by turns.
    runs: Vec<usize>,
    /// In units of the last decimal, to base 36: the first one, then each one's distance from the one before.
    values: String,
    /// Half the widths of the 95 % intervals: how many decimals they have, then each in units of the last one, to base 36.
    /// Nothing between two commas where there is none, nor at the end; empty where no version has one. So are the spreads.
    half: String,
    again: String,
    reboot: String,
    relink: String,
    /// What stands behind a value, from this point on until the next of these.
    counts: Vec<(usize, String)>,
    unstable: Vec<usize>,
    changes: Vec<ChangeData>,
    epochs: Vec<(usize, String)>,
    /// From, to and value.
    levels: Vec<(f64, f64, f64)>,
    /// What the drift of a reference by itself would have made of it.
    drift: Vec<(usize, f64)>,
    notes: Vec<String>,
}

/// A change of a series.
#[derive(Serialize)]
struct ChangeData {
    after: Option<usize>,
    at: usize,
    until: usize,
    /// `worse`, `better`, `changed`, `accepted` or `doubted`.
    kind: &'static str,
    named: bool,
    size: String,
    text: String,
}

/// A value as a script. What is in it can't end a script element either.
fn script<T: Serialize>(kind: &str, value: &T) -> Result<String, Error> {
    let json = json_line(value).map_err(Error::custom)?;
    let json = json.trim_end().replace('<', "\\u003c");
    Ok(format!("backsight(\"{kind}\",{json});\n"))
}

/// A text of others on one line of at most so many characters.
fn line(text: &str, most: usize) -> String {
    clipped(&escape::line(text), most)
}

/// `data/versions.js`.
pub(super) fn versions(here: Here<'_>) -> Result<String, Error> {
    let known = || here.book.history.versions.iter().enumerate();
    let reasons = known().filter(|(at, _)| here.measured.binary_search(at).is_err());
    let data = VersionsData {
        target: here.target.to_string(),
        names: after_each_other(known().map(|(at, _)| escape::line(&here.name(at)))),
        addresses: known()
            .map(|(at, known)| (at, known, here.version_part(at)))
            .filter(|(_, known, part)| known.version.name != *part)
            .map(|(at, _, part)| (at, part.to_owned()))
            .collect(),
        times: distances_in_time(known().map(|(_, known)| known.version.at)),
        releases: known()
            .filter(|(_, known)| known.version.release)
            .map(|(at, _)| at)
            .collect(),
        quirks: known()
            .filter(|(_, known)| !known.quirks.is_empty())
            .map(|(at, known)| (at, line(&known.quirks.join("; "), 200)))
            .collect(),
        unmeasured: reasons
            .map(|(at, known)| {
                let standing = &known.standing;
                let why = line(standing.reason().unwrap_or_default(), 200);
                (at, (standing.as_str(), why))
            })
            .collect(),
        environment: environment_changes(here),
        said: {
            let notes = known().map(|(at, _)| (at, here.notes_at(at)));
            let notes = notes.filter(|(_, notes)| !notes.is_empty());
            notes
                .map(|(at, notes)| (at, line(&notes.join("; "), 300)))
                .collect()
        },
    };
    script("versions", &data)
}

/// Where the compilers of builds changed, or facts of machines; a fact that changes with many versions is one of these.
fn environment_changes(here: Here<'_>) -> BTreeMap<usize, String> {
    let mut changes: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut compilers = None;
    for (at, known) in here.book.history.versions.iter().enumerate() {
        if known.compilers.is_empty() {
            continue;
        }
        let is: Vec<&str> = known.compilers.iter().map(String::as_str).collect();
        let is = is.join(", ");
        if let Some(was) = compilers.replace(is.clone()).filter(|was| *was != is) {
            let change = format!("compiler: was {was}, is {is}");
            changes.entry(at).or_default().push(change);
        }
    }
    let facts = here.measured.windows(2).map(|pair| {
        let found = DifferingFacts::of_builds(&here.builds(pair[0]), &here.builds(pair[1]));
        (pair[1], found.facts)
    });
    let facts: Vec<(usize, Vec<DifferingFact>)> = facts.collect();
    let mut times: HashMap<&str, usize> = HashMap::new();
    for fact in facts.iter().flat_map(|(_, facts)| facts) {
        *times.entry(fact.name.as_str()).or_default() += 1;
    }
    let most = (here.measured.len() / SELDOM).max(2);
    for (at, facts) in &facts {
        for fact in facts
            .iter()
            .filter(|fact| times[fact.name.as_str()] <= most)
        {
            let change = format!("{}: was {}", fact.name, fact.values.join(", is "));
            changes.entry(*at).or_default().push(change);
        }
    }
    let changes = changes.into_iter();
    changes
        .map(|(at, changes)| (at, line(&changes.join("; "), 300)))
        .collect()
}

/// `data/titles.js`.
pub(super) fn titles(here: Here<'_>) -> Result<String, Error> {
    let versions = here.book.history.versions.iter();
    let first = |title: &str| line(title.lines().next().unwrap_or_default(), 90);
    let titles: Vec<String> = versions.map(|known| first(&known.version.title)).collect();
    script("titles", &titles)
}

/// `data/series.js`: the rows that the page has no room for.
pub(super) fn list(here: Here<'_>) -> Result<String, Error> {
    let rest = in_order(here.book).into_iter().skip(MOST_LISTED);
    let rows: Vec<SeriesRow> = rest.map(|series| SeriesRow::new(here, series)).collect();
    script("list", &rows)
}

/// `data/s/SLUG.js`.
pub(super) fn series(here: Here<'_>, number: usize) -> Result<String, Error> {
    let series = &here.book.history.series[number];
    let words = SeriesText::new(&here.book.history, series);
    let points: Vec<&VersionPoint> = series.points.iter().filter(|p| p.value.is_some()).collect();
    let numbers = Numbers::new(&points, &words);
    let column = |of: &dyn Fn(&VersionPoint) -> Option<f64>| {
        numbers.widths(points.iter().map(|point| of(point)))
    };
    let data = SeriesData {
        slug: here.slug(number),
        like: here.book.like(series).map(StudyName::as_str),
        name: line(&series.name(), 200),
        benchmark: series.cell.benchmark.as_str(),
        unit: words.unit(),
        axis: words.axis(),
        coverage: words.coverage(),
        decimals: numbers.decimals,
        runs: runs(points.iter().map(|point| point.version)),
        values: numbers.distances(points.iter().filter_map(|point| point.value)),
        half: column(&|point| point.interval.map(|it| it.width() / 2.0)),
        again: column(&|point| point.again.map(|it| it.deviation)),
        reboot: column(&|point| point.reboot.map(|it| it.deviation)),
        relink: column(&|point| point.relink.map(|it| it.deviation)),
        counts: counts(&points),
        unstable: points
            .iter()
            .filter(|point| point.unstable)
            .map(|point| point.version)
            .collect(),
        changes: changes(here, series),
        epochs: words
            .epochs()
            .map(|(at, text)| (at, line(&text, 400)))
            .collect(),
        levels: series_levels(&here.book.history, series)
            .into_iter()
            .map(|level| (level.from, level.to, numbers.value(level.value)))
            .collect(),
        drift: drift_line(series)
            .into_iter()
            .map(|(at, value)| (at, numbers.value(value)))
            .collect(),
        notes: words.notes().iter().map(|note| line(note, 600)).collect(),
    };
    script("series", &data)
}

/// Numbers of a series as scripts get them.
struct Numbers<'a> {
    words: &'a SeriesText<'a>,
    decimals: i32,
}

impl<'a> Numbers<'a> {
    fn new(points: &[&VersionPoint], words: &'a SeriesText<'a>) -> Self {
        let values = points.iter().filter_map(|point| point.value);
        let scaled = values.map(|value| words.scaled(value));
        let (low, high) = scaled.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let span = (high - low).max(high.abs().max(low.abs()) * 1e-3);
        let decimals = (STEPS / span).log10().floor();
        Self {
            words,
            decimals: match decimals.is_finite() {
                true => decimals.clamp(0.0, 12.0) as i32,
                false => 0,
            },
        }
    }

    fn value(&self, value: f64) -> f64 {
        let unit = 10f64.powi(self.decimals);
        (self.words.scaled(value) * unit).round() / unit + 0.0
    }

    /// These values in units of the last decimal, each but the first by its distance from the one before.
    fn distances(&self, values: impl Iterator<Item = f64>) -> String {
        let unit = 10f64.powi(self.decimals);
        // What a reader has who adds the distances up.
        let mut sum = 0.0;
        let distances = values.map(|value| {
            let distance = (self.words.scaled(value) * unit).round() - sum;
            sum += distance;
            base_36(distance as i64)
        });
        distances.collect::<Vec<_>>().join(",")
    }

    /// Distances of two values, with two digits at least; as [`SeriesData::half`].
    fn widths(&self, widths: impl Iterator<Item = Option<f64>>) -> String {
        let scaled = widths.map(|width| width.map(|width| self.words.scaled(width)));
        let scaled: Vec<Option<f64>> = scaled.collect();
        // Digits after the point of what is rounded to two digits.
        let digits = |width: f64| match width == 0.0 {
            true => 0,
            false => (1.0 - width.abs().log10().floor()).clamp(0.0, 15.0) as i32,
        };
        let some = scaled.iter().flatten();
        let Some(decimals) = some.map(|width| digits(*width)).max() else {
            return String::new();
        };
        let mut text = decimals.to_string();
        for width in scaled {
            text.push(',');
            if let Some(width) = width {
                let unit = 10f64.powi(digits(width));
                let rounded = (width * unit).round() / unit;
                text += &base_36((rounded * 10f64.powi(decimals)).round() as i64);
            }
        }
        text.truncate(text.trim_end_matches(',').len());
        text
    }
}

/// As [`VersionsData::times`].
fn distances_in_time(times: impl Iterator<Item = Option<Timestamp>>) -> String {
    let (mut before, mut last) = (0, None);
    let distances = times.map(|at| {
        let Some(at) = at else {
            return "?".to_owned();
        };
        let minute = at.as_second().div_euclid(60);
        let distance = minute - std::mem::replace(&mut before, minute);
        match last.replace(distance) == Some(distance) {
            true => String::new(),
            false => base_36(distance),
        }
    });
    distances.collect::<Vec<_>>().join(",")
}

fn base_36(number: i64) -> String {
    let mut rest = number.unsigned_abs();
    let mut digits = Vec::new();
    while rest > 0 || digits.is_empty() {
        digits.extend(char::from_digit((rest % 36) as u32, 36));
        rest /= 36;
    }
    digits.extend((number < 0).then_some('-'));
    digits.into_iter().rev().collect()
}

/// Lines that have only what the line before hasn't: names of versions are much alike.
fn after_each_other(lines: impl Iterator<Item = String>) -> String {
    let mut before = String::new();
    let mut all = Vec::new();
    for line in lines {
        let pairs = line.bytes().zip(before.bytes());
        // What scripts count characters by are no bytes, but of ASCII.
        let common = pairs.take_while(|(a, b)| a == b && a.is_ascii()).take(35);
        let common = common.count();
        let digit = char::from_digit(common as u32, 36).unwrap_or('0');
        all.push(format!("{digit}{}", &line[common..]));
        before = line;
    }
    all.join("\n")
}

/// Neighbouring places together: the first and how many, by turns.
fn runs(places: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut runs: Vec<usize> = Vec::new();
    for place in places {
        match &mut runs[..] {
            [.., first, count] if *first + *count == place => *count += 1,
            _ => runs.extend([place, 1]),
        }
    }
    runs
}

/// What stands behind values, where it changes.
fn counts(points: &[&VersionPoint]) -> Vec<(usize, String)> {
    let mut counts: Vec<(usize, String)> = Vec::new();
    for (number, point) in points.iter().enumerate() {
        let text = SeriesText::counts(point);
        if counts.last().is_none_or(|(_, last)| *last != text) {
            counts.push((number, text));
        }
    }
    counts
}

fn changes(here: Here<'_>, series: &VersionSeries) -> Vec<ChangeData> {
    let changes = change_sentences(here, series).into_iter();
    let data = changes.map(|change| ChangeData {
        after: change.after,
        at: change.at,
        until: change.until,
        kind: match change.sentence.class {
            _ if !change.believed => "doubted",
            "bad" => "worse",
            "good" => "better",
            "unsure" => "changed",
            _ => "accepted",
        },
        named: change.named,
        size: change.size,
        text: line(&change.sentence.sentence, 1000),
    });
    data.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_places_are_one_run() {
        let places = [0, 1, 2, 5, 7, 8];
        assert_eq!(runs(places.into_iter()), [0, 3, 5, 1, 7, 2]);
    }

    #[test]
    fn times_are_told_by_their_distance() {
        let minutes = [Some(36), Some(72), Some(108), None, Some(107)];
        let times = minutes.map(|minute| Timestamp::from_second(60 * minute?).ok());
        assert_eq!(distances_in_time(times.into_iter()), "10,,,?,-1");
    }

    #[test]
    fn lines_have_what_the_line_before_has_not() {
        let lines = ["6.1.9", "6.1.10", "6.1.11", "né", "nè", ""];
        assert_eq!(
            after_each_other(lines.into_iter().map(str::to_owned)),
            "06.1.9\n410\n51\n0né\n1è\n0"
        );
    }

    #[test]
    fn nothing_in_a_script_ends_it() {
        let text = script("titles", &["</script>\u{2028}"]).unwrap();
        assert_eq!(
            text,
            "backsight(\"titles\",[\"\\u003c/script>\\u2028\"]);\n"
        );
    }
}
