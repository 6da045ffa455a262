//! A moment as people write it: `18:00`, `3h`, `2026-11-28 09:30`, `2026-11-28T09:30+01:00`, `18:00 Europe/Berlin`.
//!
//! A time of day is the next one that comes, in the zone of the reader unless another is named. Where clocks are turned, a time that
//! there is twice is the first one, and one that there isn't is as long after midnight as on any other day.

use jiff::{
    Timestamp, ToSpan as _, Zoned,
    civil::{DateTime, Time as TimeOfDay},
    tz::TimeZone,
};

use crate::{Time, span::seconds};

/// A text that is no moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MomentError {
    /// It isn't of any form.
    #[error(
        "`{0}` is no time: expected for example 18:00, 3h, \"YYYY-MM-DD 09:30\", YYYY-MM-DDT09:30+01:00 or \"18:00 Europe/Berlin\""
    )]
    Form(String),
    /// Nobody knows the zone.
    #[error(
        "`{0}` is no time zone that this machine knows: expected for example Europe/Berlin or UTC"
    )]
    Zone(String),
    /// It is too far away.
    #[error("{0} is longer than a year, which is as far as a time may be")]
    Far(String),
    /// It is over.
    #[error("{0} is over already")]
    Past(String),
}

/// The moment that a text says, after `now`, whose zone is the reader's.
///
/// # Errors
/// It is of none of the forms, names a zone that isn't known, is a length of more than a year, or is over.
pub fn moment_after(text: &str, now: &Zoned) -> Result<Timestamp, MomentError> {
    let text = text.trim();
    let at = read(text, now)?;
    match at > now.timestamp() {
        true => Ok(at),
        false => Err(MomentError::Past(text.chars().take(40).collect())),
    }
}

fn read(text: &str, now: &Zoned) -> Result<Timestamp, MomentError> {
    let bad = || MomentError::Form(text.chars().take(40).collect());
    if let Ok(length) = Time::parse(text) {
        return now
            .timestamp()
            .checked_add(jiff::SignedDuration::try_from(length.0).map_err(|_| bad())?)
            .map_err(|_| bad());
    }
    if seconds(text).is_some() {
        return Err(MomentError::Far(text.chars().take(40).collect()));
    }
    // With its offset, or with its zone in brackets.
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    if let Ok(at) = text.parse::<Zoned>() {
        return Ok(at.timestamp());
    }
    let (clock, zone) = match text.rsplit_once(' ') {
        Some((clock, name)) if name.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            (clock.trim_end(), zone(name)?)
        }
        _ => (text, now.time_zone().clone()),
    };
    if let Some(of_day) = time_of_day(clock) {
        let today = now.with_time_zone(zone.clone()).date();
        let tomorrow = today.checked_add(1.day()).map_err(|_| bad())?;
        for day in [today, tomorrow] {
            let at = day.to_datetime(of_day).to_zoned(zone.clone());
            let at = at.map_err(|_| bad())?.timestamp();
            if at > now.timestamp() {
                return Ok(at);
            }
        }
        return Err(bad());
    }
    // A date alone doesn't say whether its beginning or its end is meant.
    if !clock.contains(':') {
        return Err(bad());
    }
    let at: DateTime = clock.parse().map_err(|_| bad())?;
    Ok(at.to_zoned(zone).map_err(|_| bad())?.timestamp())
}

fn zone(name: &str) -> Result<TimeZone, MomentError> {
    match name {
        "UTC" | "GMT" | "Z" => Ok(TimeZone::UTC),
        _ => TimeZone::get(name).map_err(|_| MomentError::Zone(name.chars().take(40).collect())),
    }
}

/// `18:00` or `18:00:30`.
fn time_of_day(text: &str) -> Option<TimeOfDay> {
    let mut parts = text.split(':');
    let mut number = || parts.next()?.parse::<i8>().ok();
    let (hour, minute) = (number()?, number()?);
    let second = match text.matches(':').count() {
        1 => 0,
        2 => number()?,
        _ => return None,
    };
    TimeOfDay::new(hour, minute, second, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Central Europe, without the system's list of zones.
    fn berlin() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    fn at(text: &str, now: &str, zone: TimeZone) -> String {
        let now = now.parse::<Timestamp>().unwrap().to_zoned(zone);
        match moment_after(text, &now) {
            Ok(at) => at.to_string(),
            Err(error) => format!("{error}"),
        }
    }

    #[test]
    fn a_time_of_day_is_the_next_one_here() {
        let now = "2026-11-27T09:00:00Z";
        assert_eq!(at("18:00", now, berlin()), "2026-11-27T17:00:00Z");
        assert_eq!(at("09:59:30", now, berlin()), "2026-11-28T08:59:30Z");
        assert_eq!(at("10:00", now, berlin()), "2026-11-28T09:00:00Z");
        assert_eq!(at("18:00 UTC", now, berlin()), "2026-11-27T18:00:00Z");
        // The day there may be another one than here.
        let late = "2026-11-27T23:30:00Z";
        assert_eq!(at("00:45", late, berlin()), "2026-11-27T23:45:00Z");
        assert_eq!(at("00:45 UTC", late, berlin()), "2026-11-28T00:45:00Z");
    }

    #[test]
    fn lengths_and_dates_are_read() {
        let now = "2026-11-27T09:00:00Z";
        assert_eq!(at("1h30m", now, berlin()), "2026-11-27T10:30:00Z");
        for text in [
            "2026-11-28 09:30",
            "2026-11-28T09:30",
            "2026-11-28T08:30Z",
            "2026-11-28T10:30+02:00",
            "2026-11-28 08:30 UTC",
        ] {
            assert_eq!(at(text, now, berlin()), "2026-11-28T08:30:00Z", "{text}");
        }
    }

    #[test]
    fn clocks_that_are_turned_are_no_trouble() {
        // Forward at 2 o'clock: half past two is half past three.
        let night = "2027-03-28T00:00:00Z";
        assert_eq!(at("02:30", night, berlin()), "2027-03-28T01:30:00Z");
        // Back at 3 o'clock: of two the first.
        let night = "2026-10-25T00:00:00Z";
        assert_eq!(at("02:30", night, berlin()), "2026-10-25T00:30:00Z");
        // A length is a length.
        assert_eq!(at("24h", night, berlin()), "2026-10-26T00:00:00Z");
    }

    #[test]
    fn what_is_no_moment_or_over_is_refused() {
        let now = "2026-11-27T09:00:00Z";
        for text in ["", "soon", "25:00", "2026-11-28", "18", "12:00:00:00"] {
            let said = at(text, now, TimeZone::UTC);
            assert!(said.contains("is no time"), "{text}: {said}");
        }
        assert!(at("18:00 Mars/Base", now, TimeZone::UTC).contains("no time zone"));
        assert!(at("2026-11-27 08:59", now, TimeZone::UTC).contains("is over"));
        assert!(at("3000d", now, TimeZone::UTC).contains("longer than a year"));
    }
}
