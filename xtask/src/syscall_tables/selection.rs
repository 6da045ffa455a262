//! The hand-written selection: which constants make a table, and in which order they are shown.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;

use indexmap::IndexMap;
use serde::Deserialize;

use super::compiler::Constants;
use super::{Found, GeneratorError, in_file};

/// `selection.toml`: names and patterns (`O_*`), never values.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    requests: Requests,
    sets: IndexMap<String, Set>,
}

/// Requests of `ioctl`. Those whose numbers `_IOC` composes are recognised.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Requests {
    /// Older ones, whose numbers stand in the headers as such.
    also: Vec<String>,
    /// Those that aren't wanted.
    except: Vec<String>,
}

/// Names of the bits or of the values of one thing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    /// What it is.
    about: String,
    /// The machine whose values are meant.
    #[serde(default = "usual")]
    machine: String,
    /// What an unknown value is called.
    unknown: String,
    /// What no bit at all is called; empty for values that aren't bits.
    zero: String,
    /// The constant that has the bits of a value that count; all where there is none.
    mask: Option<String>,
    /// Whether values are numbers of 32 bits with a sign, which stand in the table as numbers of 64.
    #[serde(default)]
    signed: bool,
    /// Names in the order in which they are shown; `A|B` is both at once, `1<<A` the bit at that place, `A-1` one less. A pattern stands for the names that it matches and that have a value no
    /// name before has, in the order of their values.
    names: Vec<String>,
    /// Names that no pattern stands for.
    #[serde(default)]
    except: Vec<String>,
}

fn usual() -> String {
    "x86_64".into()
}

impl Selection {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Selection, GeneratorError> {
        let text = std::fs::read_to_string(file).map_err(in_file(file))?;
        Self::parse(&text, file)
    }

    /// Reads a file's text.
    pub fn parse(text: &str, file: &Path) -> Result<Selection, GeneratorError> {
        toml::from_str(text).map_err(|cause| GeneratorError::Toml {
            path: file.to_owned(),
            cause,
        })
    }

    /// A line a number: the number, and the names of the requests that have it.
    pub fn requests(&self, found: &Found) -> Result<String, GeneratorError> {
        let constants = of_machine(found, "x86_64")?;
        let mut unknown = Vec::new();
        let Requests { also, except } = &self.requests;
        for pattern in also.iter().chain(except) {
            if !constants.values.keys().any(|name| matches(pattern, name)) {
                unknown.push(pattern.clone());
            }
        }
        refuse(unknown)?;
        let chosen =
            |patterns: &[String], name: &str| patterns.iter().any(|one| matches(one, name));
        let mut by_number: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
        for (name, constant) in &constants.values {
            if (constant.request || chosen(also, name))
                && !chosen(except, name)
                && let Ok(number) = u32::try_from(constant.value)
            {
                by_number.entry(number).or_default().push(name);
            }
        }
        for (value, name) in &constants.former_requests {
            if let Ok(number) = u32::try_from(*value) {
                by_number.entry(number).or_default().push(name);
            }
        }
        let mut text = String::new();
        for (number, mut names) in by_number {
            names.sort();
            let _ = writeln!(text, "{number:#x}\t{}", names.join(" or "));
        }
        Ok(text)
    }

    /// A line a set, and below it a line a name: the name, and its value.
    pub fn sets(&self, found: &Found) -> Result<String, GeneratorError> {
        let mut text = String::new();
        let mut unknown = Vec::new();
        for (title, set) in &self.sets {
            let constants = of_machine(found, &set.machine)?;
            let _ = writeln!(
                text,
                "set\t{title}\t{}\t{}\t{}",
                set.unknown, set.zero, set.about
            );
            for (name, value) in set.values(constants, &mut unknown) {
                let _ = writeln!(text, "{name}\t{value:#x}");
            }
        }
        refuse(unknown)?;
        Ok(text)
    }
}

impl Set {
    fn values<'a>(
        &'a self,
        constants: &'a Constants,
        unknown: &mut Vec<String>,
    ) -> Vec<(&'a str, u64)> {
        let mut chosen: Vec<(&str, u64)> = Vec::new();
        let plain: HashSet<&String> = self.names.iter().filter(|one| !is_pattern(one)).collect();
        let value_of = |name: &str| {
            let mut parts = name.split('|').map(|part| evaluate(part, constants));
            let value = parts.try_fold(0, |all, part| Some(all | part?))?;
            // Values of 32 bits stand in the tables without their sign.
            Some(match self.signed {
                true => i64::from(value as u32 as i32).cast_unsigned(),
                false => value,
            })
        };
        for one in &self.names {
            if !is_pattern(one) {
                match value_of(one) {
                    Some(value) => chosen.push((one, value)),
                    None => unknown.push(one.clone()),
                }
                continue;
            }
            let all = constants.values.iter();
            let mut more: Vec<(u64, &str)> = all
                .filter(|(name, _)| matches(one, name) && !plain.contains(name))
                .filter(|(name, _)| !self.except.iter().any(|other| matches(other, name)))
                .map(|(name, constant)| (constant.value, name.as_str()))
                .collect();
            if more.is_empty() {
                unknown.push(one.clone());
            }
            more.sort();
            let named = self
                .names
                .iter()
                .filter_map(|name| constants.values.get(name));
            let mut taken: HashSet<u64> = named.map(|constant| constant.value).collect();
            taken.extend(chosen.iter().map(|(_, value)| *value));
            let fresh = more.into_iter().filter(|(value, _)| taken.insert(*value));
            chosen.extend(fresh.map(|(value, name)| (name, value)));
        }
        if let Some(name) = &self.mask {
            match value_of(name) {
                Some(mask) => chosen.iter_mut().for_each(|(_, value)| *value &= mask),
                None => unknown.push(name.clone()),
            }
        }
        chosen
    }
}

fn of_machine<'a>(found: &'a Found, machine: &str) -> Result<&'a Constants, GeneratorError> {
    let of = found.get(machine);
    of.ok_or_else(|| GeneratorError::Unknown(vec![format!("machine {machine}")]))
}

fn refuse(mut unknown: Vec<String>) -> Result<(), GeneratorError> {
    unknown.sort();
    unknown.dedup();
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(GeneratorError::Unknown(unknown)),
    }
}

/// The value of a constant, of `1<<A`, or of `A-1`.
fn evaluate(text: &str, constants: &Constants) -> Option<u64> {
    if let Some(constant) = constants.values.get(text) {
        return Some(constant.value);
    }
    if let Some(place) = text.strip_prefix("1<<").or(text.strip_prefix("1 << ")) {
        let place = place
            .strip_prefix('(')
            .and_then(|it| it.strip_suffix(')'))
            .unwrap_or(place);
        return 1_u64.checked_shl(u32::try_from(evaluate(place, constants)?).ok()?);
    }
    evaluate(text.strip_suffix("-1")?, constants)?.checked_sub(1)
}

fn is_pattern(name: &str) -> bool {
    // `8*R15` is what a debugger calls a register's place.
    name.contains('*') && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// Whether a name fits a pattern, in which `*` stands for any letters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let mut places = (0..=name.len()).filter(|at| name.is_char_boundary(*at));
            places.any(|at| matches(rest, &name[at..]))
        }),
    }
}
