//! Dates as people write them in place of a version, and the places of a line of versions that a range and a
//! step choose.
//!
//! A date without an offset is in UTC, and a day begins at midnight: `2024-05-01` is the state when May began, for an end of a
//! range as well as for a quirk.

use crate::HistoryError;
use backsight_model::{Every, Lookback, TimeUnit, Version, span};
use jiff::{Timestamp, civil, tz::TimeZone};

/// The instant that a text says: RFC 3339, or a plain date with or without a time of day, in UTC.
pub(crate) fn instant(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    // A number alone is rather a name than a date without its dashes.
    if !text.contains('-') {
        return None;
    }
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(instant);
    }
    let civil = text
        .parse::<civil::DateTime>()
        .or_else(|_| text.parse::<civil::Date>().map(civil::DateTime::from))
        .ok()?;
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// What choosing needs to know of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VersionPoint {
    pub(crate) at: Option<Timestamp>,
    pub(crate) release: bool,
}

impl From<&Version> for VersionPoint {
    fn from(version: &Version) -> Self {
        Self {
            at: version.at,
            release: version.release,
        }
    }
}

/// The places, in order, that a step takes of a line of versions: both ends are always among them.
///
/// Commits are counted from the older end, so that a line that grows keeps the places it had; time is counted
/// back from the newer end.
pub(crate) fn thin(line: &[VersionPoint], every: &Every) -> Result<Vec<usize>, HistoryError> {
    let Some(last) = line.len().checked_sub(1) else {
        return Ok(Vec::new());
    };
    let mut places: Vec<usize> = match every {
        Every::All => (0..=last).collect(),
        Every::Release => (0..=last).filter(|&place| line[place].release).collect(),
        Every::Commits(number) => (0..=last)
            .step_by(usize::try_from(*number).unwrap_or(usize::MAX).max(1))
            .collect(),
        Every::Time(number, unit) => by_time(line, *number, *unit)?,
    };
    places.extend([0, last]);
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

fn by_time(line: &[VersionPoint], number: u32, unit: TimeUnit) -> Result<Vec<usize>, HistoryError> {
    let dated: Vec<(usize, Timestamp)> = line
        .iter()
        .enumerate()
        .filter_map(|(place, point)| Some((place, point.at?)))
        .collect();
    let Some((_, newest)) = dated.last().copied() else {
        return Err(undated());
    };
    let mut places = Vec::new();
    let mut left = dated.as_slice();
    let mut count = 0;
    while let Some((place, at)) = left.last().copied() {
        if at <= boundary(newest, number, unit, count) {
            places.push(place);
            count = first_before(at, newest, number, unit, count);
        } else {
            left = &left[..left.len() - 1];
        }
        if count == u32::MAX {
            break;
        }
    }
    Ok(places)
}

/// The number of the first boundary that lies before an instant, after this one; the largest number if none does.
fn first_before(at: Timestamp, newest: Timestamp, number: u32, unit: TimeUnit, after: u32) -> u32 {
    let (mut low, mut high) = (after, u32::MAX);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if boundary(newest, number, unit, middle) < at {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

fn boundary(newest: Timestamp, number: u32, unit: TimeUnit, count: u32) -> Timestamp {
    let back = span(number.saturating_mul(count), unit);
    newest
        .to_zoned(TimeZone::UTC)
        .checked_sub(back)
        .map_or(Timestamp::MIN, |zoned| zoned.timestamp())
}

/// Where in a line the last stretch of time begins, counted back from now: at the last version before it, so
/// that what is new can be compared with what was.
pub(crate) fn window(
    line: &[VersionPoint],
    back: Lookback,
    now: Timestamp,
) -> Result<usize, HistoryError> {
    if line.iter().all(|point| point.at.is_none()) && !line.is_empty() {
        return Err(undated());
    }
    let start = boundary(now, back.0, back.1, 1);
    Ok(line
        .iter()
        .rposition(|point| point.at.is_some_and(|at| at < start))
        .unwrap_or(0))
}

fn undated() -> HistoryError {
    HistoryError::Other(
        "these versions don't say when they were made: name the ends (--from, --to) and use --every release, all, or a number of commits".into(),
    )
}

/// The last place of a line that isn't after an instant.
pub(crate) fn at_or_before(line: &[VersionPoint], instant: Timestamp) -> Option<usize> {
    line.iter()
        .rposition(|point| point.at.is_some_and(|at| at <= instant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(days: &[i64]) -> Vec<VersionPoint> {
        days.iter()
            .map(|day| VersionPoint {
                at: Some(Timestamp::from_second(day * 86_400).unwrap()),
                release: day % 5 == 0,
            })
            .collect()
    }

    #[test]
    fn a_date_is_an_instant_of_utc() {
        for (text, seconds) in [
            ("1970-01-02", 86_400),
            ("1970-01-02T01:00", 90_000),
            ("1970-01-02 01:00:01", 90_001),
            ("1970-01-02T01:00Z", 90_000),
            ("1970-01-02T01:00:00+01:00", 86_400),
        ] {
            assert_eq!(
                instant(text),
                Some(Timestamp::from_second(seconds).unwrap()),
                "{text}"
            );
        }
        for text in ["", "v1-2", "19700102", "1970-13-01", "main", "6-1-1"] {
            assert_eq!(instant(text), None, "{text}");
        }
    }

    #[test]
    fn a_step_takes_the_last_version_before_each_boundary() {
        let line = points(&[0, 1, 2, 3, 9, 10, 20, 21]);
        let weeks = thin(&line, &Every::Time(1, TimeUnit::Week)).unwrap();
        // Boundaries: days 21, 14, 7, 0.
        assert_eq!(weeks, [0, 3, 5, 7]);
        assert_eq!(thin(&line, &Every::Commits(3)).unwrap(), [0, 3, 6, 7]);
        assert_eq!(thin(&line, &Every::Release).unwrap(), [0, 5, 6, 7]);
        assert_eq!(thin(&line, &Every::All).unwrap().len(), 8);
        assert_eq!(thin(&[], &Every::All).unwrap(), Vec::<usize>::new());
    }

    #[test]
    fn a_window_begins_at_the_last_version_before_it() {
        let line = points(&[0, 1, 2, 3, 9]);
        let now = |day: i64| Timestamp::from_second(day * 86_400).unwrap();
        let week = Lookback(1, TimeUnit::Week);
        assert_eq!(window(&line, week, now(9)), Ok(1));
        assert_eq!(window(&line, week, now(100)), Ok(4));
        assert_eq!(window(&line, week, now(3)), Ok(0));
        let undated = [VersionPoint {
            at: None,
            release: true,
        }];
        assert!(window(&undated, week, now(3)).is_err());
        assert!(thin(&undated, &Every::Time(1, TimeUnit::Day)).is_err());
    }

    #[test]
    fn dates_at_the_ends_of_time_take_no_time() {
        let line: Vec<VersionPoint> = [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX]
            .iter()
            .map(|at| VersionPoint {
                at: Some(*at),
                release: false,
            })
            .collect();
        assert_eq!(
            thin(&line, &Every::Time(1, TimeUnit::Hour)).unwrap(),
            [0, 1, 2]
        );
    }

    proptest! {
        #[test]
        fn both_ends_stay_and_nothing_comes_twice(
            days in proptest::collection::vec(-20_000_i64..20_000, 1..60),
            number in 1_u32..400,
            unit in 0..4_usize,
        ) {
            let unit = [TimeUnit::Hour, TimeUnit::Day, TimeUnit::Week, TimeUnit::Month][unit];
            let line = points(&days);
            for every in [Every::All, Every::Release, Every::Commits(number), Every::Time(number, unit)] {
                let places = thin(&line, &every).unwrap();
                prop_assert_eq!(places[0], 0);
                prop_assert_eq!(*places.last().unwrap(), days.len() - 1);
                prop_assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }
}
