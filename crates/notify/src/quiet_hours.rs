//! Quiet hours: times of the day, and perhaps weekends, at which nobody is told anything.

use jiff::{
    Timestamp, ToSpan as _, Zoned,
    civil::{Time, Weekday},
    tz::TimeZone,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;

/// When channels are quiet. What there is to tell then is told afterwards, in one message.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct QuietHours {
    /// From this time of the day: `20:00`.
    from: TimeOfDay,
    /// To this time of the day; of the next one where it is earlier: `07:00`.
    to: TimeOfDay,
    /// Whether Saturdays and Sundays are quiet too.
    #[serde(default)]
    weekends: bool,
    /// The time zone: `Europe/Berlin`; else this machine's.
    #[serde(default)]
    zone: ZoneName,
}

/// A time of the day.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TimeOfDay(Time);

/// A time zone by its name.
#[derive(Debug, Clone, PartialEq)]
struct ZoneName(TimeZone);

impl Default for ZoneName {
    fn default() -> Self {
        Self(TimeZone::system())
    }
}

impl<'de> Deserialize<'de> for TimeOfDay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = text.parse().map(Self);
        time.map_err(|_| serde::de::Error::custom("expected a time of the day, such as 20:00"))
    }
}

impl JsonSchema for TimeOfDay {
    fn schema_name() -> Cow<'static, str> {
        "TimeOfDay".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A time of the day: 20:00",
            "pattern": "^[0-2][0-9]:[0-5][0-9](:[0-5][0-9])?$"
        })
    }
}

impl<'de> Deserialize<'de> for ZoneName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        TimeZone::get(&text).map(Self).map_err(|_| {
            serde::de::Error::custom(
                "this machine knows no such time zone: expected a name such as Europe/Berlin or UTC",
            )
        })
    }
}

impl JsonSchema for ZoneName {
    fn schema_name() -> Cow<'static, str> {
        "ZoneName".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "description": "A time zone: Europe/Berlin, UTC"})
    }
}

impl QuietHours {
    /// When the quiet hours end that this time lies in; nothing if it lies in none.
    pub fn end(&self, now: Timestamp) -> Option<Zoned> {
        let now = now.to_zoned(self.zone.0.clone());
        if !self.is_quiet(&now) {
            return None;
        }
        // They end at their end or with a weekend; two quiet days follow each other at most.
        let mut ends = (0..5_i64).flat_map(|days| {
            let date = now.date().saturating_add(days.days());
            let mut times = [Time::midnight(), self.to.0];
            times.sort();
            times.map(|time| date.to_datetime(time).to_zoned(self.zone.0.clone()))
        });
        let end = ends.find_map(|end| end.ok().filter(|end| *end > now && !self.is_quiet(end)));
        // Quiet for ever: it is asked again tomorrow.
        Some(end.unwrap_or_else(|| now.saturating_add(1.day())))
    }

    fn is_quiet(&self, now: &Zoned) -> bool {
        let (from, to, time) = (self.from.0, self.to.0, now.time());
        let is_hour = match from <= to {
            true => from <= time && time < to,
            false => from <= time || time < to,
        };
        let is_weekend = matches!(now.weekday(), Weekday::Saturday | Weekday::Sunday);
        is_hour || (self.weekends && is_weekend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::TomlDocument;

    fn hours(text: &str) -> QuietHours {
        TomlDocument::new("notify.toml", text).read().unwrap()
    }

    /// The end of the quiet hours, in UTC.
    fn end(hours: &QuietHours, now: &str) -> Option<String> {
        let end = hours.end(now.parse().unwrap())?;
        Some(end.timestamp().to_string())
    }

    #[test]
    fn nights_end_in_the_morning_of_their_zone() {
        let hours = hours("from = \"20:00\"\nto = \"07:00\"\nzone = \"Europe/Berlin\"\n");
        // Winter: an hour before UTC.
        assert_eq!(
            end(&hours, "2026-11-26T19:00:00Z").as_deref(),
            Some("2026-11-27T06:00:00Z")
        );
        assert_eq!(
            end(&hours, "2026-11-27T05:59:59Z").as_deref(),
            Some("2026-11-27T06:00:00Z")
        );
        assert_eq!(end(&hours, "2026-11-27T06:00:00Z"), None);
        assert_eq!(end(&hours, "2026-11-27T18:59:59Z"), None);
    }

    #[test]
    fn weekends_end_on_mondays() {
        let hours = hours("from = \"12:00\"\nto = \"13:00\"\nweekends = true\nzone = \"UTC\"\n");
        assert_eq!(
            end(&hours, "2026-11-28T18:00:00Z").as_deref(),
            Some("2026-11-30T00:00:00Z")
        );
        assert_eq!(
            end(&hours, "2026-11-27T12:30:00Z").as_deref(),
            Some("2026-11-27T13:00:00Z")
        );
        assert_eq!(end(&hours, "2026-11-27T23:59:59Z"), None);
    }

    #[test]
    fn faults_say_what_was_expected() {
        for (text, said) in [
            ("from = \"8pm\"\nto = \"07:00\"\n", "a time of the day"),
            (
                "from = \"20:00\"\nto = \"07:00\"\nzone = \"Atlantis\"\n",
                "no such time zone",
            ),
        ] {
            let error = TomlDocument::new("notify.toml", text).read::<QuietHours>();
            assert!(error.unwrap_err().to_string().contains(said), "{text}");
        }
    }
}
