//! The filters that a metric's program can call: jq's, and ours under and over them.
//!
//! Sums, products and the nesting of texts that are read as JSON have a largest size.

use jaq_core::{
    Bind, Error, Exn, Native, ValR,
    box_iter::box_once,
    load::parse::{Def, Term},
    native::{Fun, bome, v},
};
use jaq_json::{Num, Val};
use jaq_std::ValT as _;
use std::{collections::HashMap, fmt, sync::LazyLock};

use super::{
    expressions,
    fuel::FueledData,
    rewriting::{ADD, MULTIPLY, Rewriting, STEP, TURN},
};

/// Largest text in bytes, and longest array, that a program may put together.
const LARGEST: usize = 64 * 1024 * 1024;

/// More of our own filters, for the prelude alone.
const FROM_JSON: &str = "!fromjson";
const TO_JSON: &str = "!tojson";

/// jq's own definitions, rewritten like every program, and ours.
pub struct Prelude {
    definitions: Vec<PreludeDefinition>,
    by_name: HashMap<&'static str, Vec<usize>>,
}

struct PreludeDefinition {
    definition: Def<&'static str>,
    calls: Vec<&'static str>,
}

/// Ours come first where jq's are native filters that may go on for ever or nest without end.
pub static PRELUDE: LazyLock<Prelude> = LazyLock::new(|| {
    const RANGE: &str = "def range($from; $to; $by): $from | def rec: \
        if ($by > 0 and . < $to) or ($by < 0 and . > $to) or ($by == 0 and . != $to) \
        then ., (. + $by | rec) else {}[] end; rec;";
    let range = jaq_core::load::parse(RANGE, |p| p.defs()).unwrap_or_default();
    let from_json = Def {
        name: "fromjson",
        args: Vec::new(),
        body: Term::Call(FROM_JSON, Vec::new()),
    };
    let to_json = Def {
        name: "tojson",
        args: Vec::new(),
        body: Term::Call(TO_JSON, Vec::new()),
    };
    let all = range
        .into_iter()
        .chain([to_json])
        .chain(jaq_core::defs())
        .chain(jaq_std::defs())
        .chain([from_json])
        .chain(jaq_json::defs());
    Prelude::new(all)
});

impl Prelude {
    fn new(definitions: impl Iterator<Item = Def<&'static str>>) -> Self {
        let rewritten = definitions.filter_map(|definition| {
            let mut rewriting = Rewriting::of_prelude();
            let definition = rewriting.definition(definition).ok()?;
            let calls = rewriting.calls().collect();
            Some(PreludeDefinition { definition, calls })
        });
        let definitions: Vec<PreludeDefinition> = rewritten.collect();
        let mut by_name: HashMap<_, Vec<usize>> = HashMap::new();
        for (index, rewritten) in definitions.iter().enumerate() {
            by_name
                .entry(rewritten.definition.name)
                .or_default()
                .push(index);
        }
        Self {
            definitions,
            by_name,
        }
    }

    /// Names of the definitions.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.definitions
            .iter()
            .map(|rewritten| rewritten.definition.name)
    }

    /// The definitions that a program needs which calls these names: those of the names and of all names that they call in
    /// their turn, in the prelude's order. All definitions of a name are there, so that a call means the same as with
    /// the whole prelude, most of which a program doesn't need and would take longest to compile.
    pub fn needed_for<'s>(&self, calls: impl Iterator<Item = &'s str>) -> Vec<Def<&'static str>> {
        let mut needed = vec![false; self.definitions.len()];
        let mut left: Vec<usize> = calls
            .flat_map(|name| self.defining(name))
            .copied()
            .collect();
        while let Some(index) = left.pop() {
            if !std::mem::replace(&mut needed[index], true) {
                let calls = &self.definitions[index].calls;
                left.extend(calls.iter().flat_map(|name| self.defining(name)));
            }
        }
        let needed = self.definitions.iter().zip(needed);
        needed
            .filter(|(_, needed)| *needed)
            .map(|(rewritten, _)| rewritten.definition.clone())
            .collect()
    }

    fn defining(&self, name: &str) -> &[usize] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }
}

/// Names of the native filters, for "did you mean".
pub static NATIVE: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    filters()
        .map(|(name, _, _)| name)
        .filter(|name| !name.starts_with('!'))
        .collect()
});

/// All native filters.
pub fn filters() -> impl Iterator<Item = Fun<FueledData>> {
    // A filter that charges and passes its input on, wherever a filter can stand.
    macro_rules! charging {
        ($charge:ident) => {
            Native::<FueledData>::new(|cv| bome(cv.0.data().$charge().map(|()| cv.1)))
                .with_paths(|cv| box_once(cv.0.data().$charge().map(|()| cv.1).map_err(Exn::from)))
                .with_update(|cv, update| match cv.0.data().$charge() {
                    Ok(()) => update(cv.1),
                    Err(error) => box_once(Err(error.into())),
                })
        };
    }
    let add = Native::<FueledData>::new(|mut cv| {
        let (right, left) = (cv.0.pop_var(), cv.0.pop_var());
        bome(add(left, right))
    });
    let multiply = Native::<FueledData>::new(|mut cv| {
        let (right, left) = (cv.0.pop_var(), cv.0.pop_var());
        bome(multiply(left, right))
    });
    let from_json = Native::<FueledData>::new(|cv| bome(from_json(&cv.1)));
    let to_json = Native::<FueledData>::new(|cv| bome(to_json(&cv.1)));
    let none: fn() -> Box<[Bind]> = || Box::new([]);
    let ours = [
        (STEP, none(), charging!(step)),
        (TURN, none(), charging!(turn)),
        (ADD, v(2), add),
        (MULTIPLY, v(2), multiply),
        (FROM_JSON, none(), from_json),
        (TO_JSON, none(), to_json),
    ];
    ours.into_iter()
        .chain(expressions::filters())
        .chain(jaq_core::funs())
        .chain(jaq_std::funs())
        .chain(jaq_json::funs())
}

/// Texts in texts double with each level, and values that share their parts are longer written than kept.
fn to_json(value: &Val) -> ValR<Val> {
    struct Limited(String);
    impl fmt::Write for Limited {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            if self.0.len() + text.len() > LARGEST {
                return Err(fmt::Error);
            }
            self.0.push_str(text);
            Ok(())
        }
    }
    let mut text = Limited(String::new());
    match fmt::Write::write_fmt(&mut text, format_args!("{value}")) {
        Ok(()) => Ok(Val::from(text.0)),
        Err(_) => Err(Error::str("the text is too large")),
    }
}

fn size(value: &Val) -> usize {
    match value {
        Val::BStr(bytes) | Val::TStr(bytes) => bytes.len(),
        Val::Arr(array) => array.len(),
        Val::Obj(object) => object.len(),
        Val::Null | Val::Bool(_) | Val::Num(_) => 0,
    }
}

/// Whole numbers of any length would grow without end: past 64 bits they go on as floating-point numbers.
fn in_a_word(value: Val) -> Val {
    match &value {
        Val::Num(Num::BigInt(_)) => value.as_f64().map_or(Val::Null, Val::from),
        _ => value,
    }
}

fn add(left: Val, right: Val) -> ValR<Val> {
    if size(&left).saturating_add(size(&right)) > LARGEST {
        return Err(Error::str("the sum is too large"));
    }
    (left + right).map(in_a_word)
}

fn multiply(left: Val, right: Val) -> ValR<Val> {
    if left.as_bytes().is_some() || right.as_bytes().is_some() {
        return Err(Error::str("a text can't be multiplied here"));
    }
    (left * right).map(in_a_word)
}

fn from_json(value: &Val) -> ValR<Val> {
    let text = value
        .as_bytes()
        .ok_or_else(|| Error::typ(value.clone(), "string"))?;
    serde_json::from_slice(text).map_err(|error| Error::str(format_args!("not JSON: {error}")))
}
