//! Regular expressions of programs: the filters of which jq's `test`, `match`, `capture`, `split` and `sub` are made.
//!
//! They stand before jq's own, which compile an expression each time it is tried (an importer tries some twenty on each line),
//! and panic where a group matches before an earlier one (`(?:(a)|(b))+` in `ba`).

use bstr::ByteSlice as _;
use jaq_core::{
    Cv, Error, Native, ValR,
    native::{Fun, bome, v},
};
use jaq_json::Val;
use jaq_std::ValT as _;
use regex_bites::bytes::{Captures, Regex, RegexBuilder};
use std::{cell::RefCell, rc::Rc};

use super::fuel::FueledData;

/// Most expressions that a thread keeps. Each has a largest size of its own.
const MOST_KEPT: usize = 64;

thread_local! {
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

struct Kept {
    source: String,
    flags: String,
    expression: Rc<Expression>,
}

struct Expression {
    regex: Regex,
    /// Whether all matches are sought, rather than the first.
    all: bool,
    /// Whether empty matches are none.
    no_empty: bool,
}

/// What is sought in a text.
#[derive(Clone, Copy)]
enum Sought {
    Matches,
    Between,
    Both,
}

/// The native filters.
pub fn filters() -> [Fun<FueledData>; 3] {
    let matches = Native::<FueledData>::new(|cv| bome(found(cv, Sought::Matches)));
    let between = Native::<FueledData>::new(|cv| bome(found(cv, Sought::Between)));
    let both = Native::<FueledData>::new(|cv| bome(found(cv, Sought::Both)));
    [
        ("matches", v(2), matches),
        ("split_", v(2), between),
        ("split_matches", v(2), both),
    ]
}

fn found(mut cv: Cv<'_, FueledData>, sought: Sought) -> ValR<Val> {
    let (flags, source) = (cv.0.pop_var(), cv.0.pop_var());
    let expression = kept(text(&source)?, text(&flags)?)?;
    let input = cv.1;
    let bytes = utf8_bytes(&input)?;
    let places = Places::new(bytes);
    let mut parts = Vec::new();
    let mut end_before = 0;
    for captures in expression.regex.captures_iter(bytes) {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        if expression.no_empty && whole.is_empty() {
            continue;
        }
        if !matches!(sought, Sought::Matches) {
            parts.push(input.as_sub_str(&bytes[end_before..whole.start()]));
            end_before = whole.end();
        }
        if !matches!(sought, Sought::Between) {
            parts.push(groups(&input, &expression.regex, &captures, &places));
        }
        if !expression.all {
            break;
        }
    }
    if !matches!(sought, Sought::Matches) {
        parts.push(input.as_sub_str(&bytes[end_before..]));
    }
    Ok(parts.into_iter().collect())
}

/// The groups of a match that are there, the whole first.
fn groups(input: &Val, regex: &Regex, captures: &Captures<'_>, places: &Places) -> Val {
    let named = captures.iter().zip(regex.capture_names());
    let groups = named.filter_map(|(group, name)| {
        let group = group?;
        let fields = [
            ("offset", Val::from(places.of_byte(group.start()) as isize)),
            (
                "length",
                Val::from(group.as_bytes().chars().count() as isize),
            ),
            ("string", input.as_sub_str(group.as_bytes())),
        ];
        let name = name.map(|name| ("name", Val::from(name.to_owned())));
        let fields = fields.into_iter().chain(name);
        Some(Val::obj(
            fields
                .map(|(key, value)| (Val::from(key.to_owned()), value))
                .collect(),
        ))
    });
    groups.collect()
}

/// Where the characters of a text begin; nothing where each is a byte.
struct Places(Option<Vec<usize>>);

impl Places {
    fn new(bytes: &[u8]) -> Self {
        let starts = || bytes.char_indices().map(|(start, ..)| start).collect();
        Self((!bytes.is_ascii()).then(starts))
    }

    /// The number of characters that begin before a byte.
    fn of_byte(&self, byte: usize) -> usize {
        let starts = self.0.as_ref();
        starts.map_or(byte, |starts| starts.partition_point(|start| *start < byte))
    }
}

/// The expression, compiled or kept from before.
fn kept(source: &str, flags: &str) -> Result<Rc<Expression>, Error<Val>> {
    KEPT.with_borrow_mut(|all| {
        let found = all
            .iter()
            .find(|kept| kept.source == source && kept.flags == flags);
        if let Some(kept) = found {
            return Ok(Rc::clone(&kept.expression));
        }
        let expression = Rc::new(Expression::compile(source, flags)?);
        if all.len() == MOST_KEPT {
            all.clear();
        }
        all.push(Kept {
            source: source.to_owned(),
            flags: flags.to_owned(),
            expression: Rc::clone(&expression),
        });
        Ok(expression)
    })
}

impl Expression {
    fn compile(source: &str, flags: &str) -> Result<Self, Error<Val>> {
        let mut builder = RegexBuilder::new(source);
        let (mut all, mut no_empty) = (false, false);
        for flag in flags.chars() {
            match flag {
                'g' => all = true,
                'n' => no_empty = true,
                'i' => _ = builder.case_insensitive(true),
                'm' => _ = builder.multi_line(true),
                's' => _ = builder.dot_matches_new_line(true),
                'p' => _ = builder.multi_line(true).dot_matches_new_line(true),
                'l' => _ = builder.swap_greed(true),
                'x' => _ = builder.ignore_whitespace(true),
                other => {
                    return Err(Error::str(format_args!("invalid regex flag: {other}")));
                }
            }
        }
        let invalid = |error| Error::str(format_args!("invalid regex: {error}"));
        let regex = builder.build().map_err(invalid)?;
        Ok(Self {
            regex,
            all,
            no_empty,
        })
    }
}

fn utf8_bytes(value: &Val) -> Result<&[u8], Error<Val>> {
    let bytes = value.as_utf8_bytes();
    bytes.ok_or_else(|| Error::typ(value.clone(), "string"))
}

fn text(value: &Val) -> Result<&str, Error<Val>> {
    std::str::from_utf8(utf8_bytes(value)?).map_err(Error::str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jq::fuel::{Fuel, RunData};
    use jaq_core::{
        Compiler, Ctx, Vars,
        load::{Arena, File, Loader},
    };
    use proptest::prelude::*;
    use std::cell::Cell;

    /// What a program finds with these native filters and no definitions.
    fn run(filters: impl Iterator<Item = Fun<FueledData>>, code: &str, input: &str) -> Vec<String> {
        let arena = Arena::default();
        let file = File { code, path: () };
        let modules = Loader::new([]).load(&arena, file).ok().unwrap();
        let compiler = Compiler::<_, FueledData>::default().with_funs(filters);
        let filter = compiler.compile(modules).ok().unwrap();
        let fuel = Fuel {
            steps: Cell::new(1_000_000),
            turns: Cell::new(1_000_000),
        };
        let lut = &filter.lut;
        let run = RunData { lut, fuel: &fuel };
        let ctx = Ctx::<FueledData>::new(run, Vars::new([]));
        let found = filter.id.run((ctx, Val::from(input.to_owned())));
        found
            .map(|value| match value {
                Ok(value) => value.to_string(),
                Err(error) => format!("{:?}", error.get_err().map(|error| error.to_string()).ok()),
            })
            .collect()
    }

    proptest! {
        #[test]
        fn they_find_what_jqs_own_find(
            atoms in proptest::collection::vec(
                proptest::sample::select(vec![
                    "a", "ü", ".", "[^b]", "(b)", "(?<n>a*)", "( +)?", "1?", "^", "$", "B+", "\\\\n", "x*?", "(",
                ]),
                0..5,
            ),
            flags in "[gnimslxpq]{0,3}",
            text in "[abBü1 \n\u{1f600}]{0,12}",
        ) {
            let source = atoms.concat();
            let code = format!(
                "matches(\"{source}\"; \"{flags}\"), split_(\"{source}\"; \"{flags}\"), split_matches(\"{source}\"; \"{flags}\")"
            );
            let own = jaq_core::funs().chain(jaq_std::funs());
            prop_assert_eq!(run(filters().into_iter(), &code, &text), run(own, &code, &text));
        }
    }
}
