//! Numbers with units, as a command line has them: `10M`, `97.5 Mbit/s`, `30s`, `0.5%`. A share needs its percent sign.

use std::str::FromStr;

use crate::Unit;

/// A share, written in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percent(pub f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is no share: expected for example 0.5%");
        let number = text.trim().strip_suffix('%').ok_or_else(bad)?;
        let percent: f64 = number.trim().parse().map_err(|_| bad())?;
        match (0.0..=100.0).contains(&percent) {
            true => Ok(Self(percent / 100.0)),
            false => Err(format!("`{text}` is no share: expected 0% to 100%")),
        }
    }
}

/// The number that a text says, in this unit.
///
/// # Errors
/// It says none, or one of something else; as a clause for a message.
pub fn quantity(text: &str, unit: Option<Unit>) -> Result<f64, String> {
    let plain = text.trim().replace('_', "");
    if let Ok(number) = plain.parse::<f64>() {
        return finite(text, number);
    }
    let digits = plain
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(plain.len());
    let (number, symbol) = plain.split_at(digits);
    let expected = || match unit {
        Some(unit) => {
            format!("`{text}` is no amount of {unit}: expected for example 10, 10k or 10 {unit}")
        }
        None => format!("`{text}` is no number: expected for example 10 or 10k"),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    let factor = factor(symbol.trim(), unit).ok_or_else(expected)?;
    finite(text, number * factor)
}

fn finite(text: &str, number: f64) -> Result<f64, String> {
    match number.is_finite() {
        true => Ok(number),
        false => Err(format!("`{text}` is no finite number")),
    }
}

/// How many of the unit a symbol is: another unit of the same dimension, or a prefix alone.
fn factor(symbol: &str, unit: Option<Unit>) -> Option<f64> {
    let one = Unit::parse("count").ok()?;
    let Some(unit) = unit else {
        return Unit::parse(&format!("{symbol}count"))
            .ok()?
            .in_terms_of(one);
    };
    let written = Unit::parse(symbol)
        .ok()
        .and_then(|written| written.in_terms_of(unit));
    written.or_else(|| {
        Unit::parse(&format!("{symbol}{unit}"))
            .ok()?
            .in_terms_of(unit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_with_units_and_prefixes() {
        let rate = Unit::parse("bit/s").ok();
        assert_eq!(quantity("100_000", rate), Ok(100_000.0));
        assert_eq!(quantity("1e6", rate), Ok(1e6));
        assert_eq!(quantity("10M", rate), Ok(10e6));
        assert_eq!(quantity("1.5 Gbit/s", rate), Ok(1.5e9));
        assert_eq!(quantity("1MB/s", rate), Ok(8e6));
        assert_eq!(quantity("30s", Unit::parse("s").ok()), Ok(30.0));
        assert_eq!(quantity("500ms", Unit::parse("s").ok()), Ok(0.5));
        assert_eq!(quantity("2k", None), Ok(2000.0));
    }

    #[test]
    fn what_measures_something_else_is_refused() {
        let rate = Unit::parse("bit/s").ok();
        for bad in ["10s", "fast", "", "10 parsec", "-"] {
            assert!(quantity(bad, rate).is_err(), "{bad}");
        }
        assert!(quantity("inf", rate).unwrap_err().contains("finite"));
        assert!(quantity("10s", None).is_err());
    }

    #[test]
    fn shares_have_their_sign() {
        assert_eq!("0.5%".parse(), Ok(Percent(0.005)));
        assert_eq!("0 %".parse(), Ok(Percent(0.0)));
        for bad in ["0.5", "-1%", "101%", "%", "a%"] {
            assert!(bad.parse::<Percent>().is_err(), "{bad}");
        }
    }
}
