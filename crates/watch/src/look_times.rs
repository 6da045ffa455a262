//! When a standing job looks for new versions.

use backsight_model::Time;
use cronexpr::{Crontab, FallbackTimezoneOption, MakeTimestamp, ParseOptions, parse_crontab_with};
use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

/// The shortest time between two looks: each may ask another machine.
const SHORTEST: Duration = Duration::from_secs(1);

/// When a standing job looks for new versions, and works.
#[derive(Debug, Clone)]
pub enum LookTimes {
    /// Again and again, so far apart.
    Every(Duration),
    /// At the times of a line of crontab.
    At(Box<Crontab>),
}

impl LookTimes {
    /// Reads `5m`, or a line of crontab: minute, hour, day of the month, month, day of the week, and a time zone; without one, the
    /// system's.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.trim().contains(char::is_whitespace) {
            let time = Time::parse(text).map_err(|error| error.to_string())?;
            return match time.0 >= SHORTEST {
                true => Ok(Self::Every(time.0)),
                false => Err("it is to be a second at least".to_owned()),
            };
        }
        let mut options = ParseOptions::default();
        options.fallback_timezone_option = FallbackTimezoneOption::System;
        let crontab = parse_crontab_with(text, options).map_err(|error| error.to_string())?;
        Ok(Self::At(Box::new(crontab)))
    }

    /// Whether it looks all day long, and not at some times only.
    pub fn is_periodic(&self) -> bool {
        matches!(self, Self::Every(_))
    }

    /// The first time after this one; none where there is no such time any more.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Every(period) => {
                let period = SignedDuration::try_from(*period).ok()?;
                after.checked_add(period).ok()
            }
            Self::At(crontab) => {
                let after = MakeTimestamp(after);
                Some(crontab.find_next(after).ok()?.timestamp())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(text: &str, after: &str) -> String {
        let times = LookTimes::parse(text).unwrap();
        times.next(after.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn periods_and_lines_of_crontab_give_times() {
        let after = "2026-11-27T15:52:30Z"; // a Friday
        assert_eq!(next("5m", after), "2026-11-27T15:57:30Z");
        assert_eq!(next("*/10 * * * * UTC", after), "2026-11-27T16:00:00Z");
        assert_eq!(next("30 22 * * 1-5 UTC", after), "2026-11-27T22:30:00Z");
        assert_eq!(
            next("0 3 * * 1 Europe/Berlin", after),
            "2026-11-30T02:00:00Z"
        );
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in [
            "",
            "soon",
            "0s",
            "* * *",
            "61 * * * *",
            "* * * * * Nowhere/Town",
        ] {
            assert!(LookTimes::parse(text).is_err(), "{text}");
        }
    }
}
