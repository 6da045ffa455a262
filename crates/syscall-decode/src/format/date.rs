//! Moments as text: the calendar of UTC.

/// Writes a moment in UTC: `2001-09-09T01:46:40+0000`, with so many digits of a fraction where there is one.
pub fn moment(out: &mut Vec<u8>, seconds: i64, fraction: u64, digits: usize) {
    let days = seconds.div_euclid(86_400);
    let time = seconds.rem_euclid(86_400);
    let (year, month, day) = date(days);
    if year < 0 {
        out.push(b'-');
    }
    super::padded(out, year.unsigned_abs(), 4);
    for (separator, value) in [
        (b'-', month),
        (b'-', day),
        (b'T', time / 3600),
        (b':', time / 60 % 60),
        (b':', time % 60),
    ] {
        out.push(separator);
        super::padded(out, value.unsigned_abs(), 2);
    }
    if fraction != 0 {
        out.push(b'.');
        super::padded(out, fraction, digits);
    }
    out.extend_from_slice(b"+0000");
}

/// Whether a moment is told in words: in a year that the C library has a number for.
pub fn has_words(seconds: i64) -> bool {
    let (year, ..) = date(seconds.div_euclid(86_400));
    i32::try_from(year - 1900).is_ok()
}

/// Year, month and day by the days since the first of January 1970 (Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", `civil_from_days`).
fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_said_by_the_calendar() {
        let said = |seconds, fraction, digits| {
            let mut out = Vec::new();
            moment(&mut out, seconds, fraction, digits);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(said(1, 2, 9), "1970-01-01T00:00:01.000000002+0000");
        assert_eq!(said(951_782_400, 0, 9), "2000-02-29T00:00:00+0000");
        assert_eq!(said(-1, 0, 9), "1969-12-31T23:59:59+0000");
        assert_eq!(said(1_000_000_000, 0, 6), "2001-09-09T01:46:40+0000");
    }
}
