//! jq programs that find samples in JSON, by way of jaq, with an end to everything.
//!
//! A definition is written by somebody who can make mistakes, and runs on whatever a benchmark printed.
//! So each program is rewritten before it is compiled: every operation that can be repeated is charged first, and the
//! program ends when its fuel is used up. Operations that repeat as often as the output is long (a pipe, a comparison) are
//! charged a step; a longer output gives more steps. Operations that can repeat by themselves (recursion, a fold) are charged
//! a turn; turns are few, because each can nest a value deeper than the stack. Sums and products have a largest size. Nothing
//! depends on a clock: the same output has the same samples. This guards against mistakes, not against malice: the author of a
//! definition may run any command anyway.
//!
//! A program can't call itself (`recurse`, `range`, `until` and the like can be used, and are charged), and can't read
//! anything but the output (not the environment, not the time).

mod expressions;
mod filters;
mod fuel;
mod rewriting;

use backsight_model::nearest;
use jaq_core::{
    Compiler, Ctx, Exn, Filter, Vars,
    load::{
        Arena, File, Lexer, Loader, Parser, lex,
        parse::{Def, Term},
        span,
    },
};
use jaq_json::Val;
use jaq_std::ValT as _;
use std::{
    cell::Cell,
    fmt::{self, Write as _},
    ops::Range,
};

use filters::{NATIVE, PRELUDE, filters};
use fuel::{Fuel, FueledData, RunData};
use rewriting::{OUTSIDE, Rewriting};

/// Longest program, in bytes.
const LONGEST: usize = 8 << 10;

/// Stack for reading, compiling, running and dropping programs and documents, in bytes. All of these call
/// themselves as deeply as the program is nested: up to 10 KiB for each byte of it without optimisation.
/// Memory that isn't touched costs nothing.
const STACK: usize = 256 * 1024 * 1024;

/// Steps that a program may take on a document, and steps more for each byte of it.
const STEPS: u64 = 1_000_000;
const STEPS_PER_BYTE: u64 = 1;

/// Turns that a program may take on a document.
const TURNS: u64 = 100_000;

/// Longest part of a program's own message that is repeated to the user, in bytes.
const MESSAGE: usize = 300;

/// The name under which a metric's program is compiled.
const MAIN: &str = "__metric";

/// A mistake in a program: where in its text, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    /// Bytes of the program's text.
    pub place: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// A way out, if there is one.
    pub help: Option<String>,
}

/// Why a program found no numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryRunError {
    /// It ended with an error of its own, or jq's.
    Error(String),
    /// It found something that isn't a number.
    NotANumber(String),
    /// It found a number that isn't finite.
    NotFinite,
    /// It took more steps than any program needs.
    TooManySteps,
}

/// A compiled program.
pub struct Program {
    filter: Filter<FueledData>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Program")
    }
}

impl Program {
    /// The program that this text writes.
    ///
    /// # Errors
    /// It isn't jq, names a filter that doesn't exist or isn't permitted here, or calls itself.
    pub fn compile(code: &str) -> Result<Self, QueryError> {
        Self::compile_with_variables(code, &[])
    }

    /// As [`Program::compile`], for a program that may name these variables, each written with its `$`.
    ///
    /// # Errors
    /// As [`Program::compile`].
    pub fn compile_with_variables(
        code: &str,
        variables: &[&'static str],
    ) -> Result<Self, QueryError> {
        let whole = |message: &str| QueryError {
            place: 0..code.len(),
            message: message.to_owned(),
            help: None,
        };
        if code.len() > LONGEST {
            return Err(whole("this jq program is too long"));
        }
        with_deep_stack(|| Self::compile_here(code, variables))
            .unwrap_or_else(|why| Err(whole(&format!("this jq program can't be compiled: {why}"))))
    }

    fn compile_here(code: &str, variables: &[&'static str]) -> Result<Self, QueryError> {
        let whole = |message: &str| QueryError {
            place: 0..code.len(),
            message: message.to_owned(),
            help: None,
        };
        let term = parse(code)?;
        let mut rewriting = Rewriting::of_program();
        let main = rewriting
            .definition(Def {
                name: MAIN,
                args: Vec::new(),
                body: term,
            })
            .map_err(|refused| QueryError {
                place: span(code, refused.name),
                message: format!("`{}` {}", refused.name, refused.why),
                help: None,
            })?;
        let needed = PRELUDE.needed_for(rewriting.calls());
        let prelude = needed.into_iter().chain([main]);
        let arena = Arena::default();
        let modules = Loader::new(prelude)
            .load(
                &arena,
                File {
                    code: MAIN,
                    path: (),
                },
            )
            .map_err(|_| whole("this jq program can't be loaded"))?;
        let filter = Compiler::<_, FueledData>::default()
            .with_funs(filters())
            .with_global_vars(variables.iter().copied())
            .compile(modules)
            .map_err(|errors| {
                let undefined = errors.into_iter().flat_map(|(_, errors)| errors).next();
                undefined.map_or_else(
                    || whole("this jq program can't be compiled"),
                    |(name, kind)| undefined_name(code, name, kind.as_str()),
                )
            })?;
        Ok(Self { filter })
    }

    /// The numbers that the program finds in one document of this many bytes; `null` is none.
    pub fn numbers(&self, document: &Val, bytes: usize) -> Result<Vec<f64>, QueryRunError> {
        let steps = STEPS + STEPS_PER_BYTE.saturating_mul(bytes as u64);
        self.numbers_within(document, steps)
    }

    fn numbers_within(&self, document: &Val, steps: u64) -> Result<Vec<f64>, QueryRunError> {
        let mut numbers = Vec::new();
        self.each_within(document, [], steps, |value| {
            numbers.extend(number(&value)?);
            Ok(())
        })?;
        Ok(numbers)
    }

    /// Everything that the program finds in one value of a document of this many bytes. The values of its variables
    /// follow one another as their names did when it was compiled.
    pub fn values<const N: usize>(
        &self,
        input: &Val,
        variables: [Val; N],
        bytes: usize,
    ) -> Result<Vec<Val>, QueryRunError> {
        let steps = STEPS + STEPS_PER_BYTE.saturating_mul(bytes as u64);
        let mut values = Vec::new();
        self.each_within(input, variables, steps, |value| {
            values.push(value);
            Ok(())
        })?;
        Ok(values)
    }

    fn each_within<const N: usize>(
        &self,
        document: &Val,
        variables: [Val; N],
        steps: u64,
        mut found: impl FnMut(Val) -> Result<(), QueryRunError>,
    ) -> Result<(), QueryRunError> {
        let fuel = Fuel {
            steps: Cell::new(steps),
            turns: Cell::new(TURNS),
        };
        let run = RunData {
            lut: &self.filter.lut,
            fuel: &fuel,
        };
        let ctx = Ctx::<FueledData>::new(run, Vars::new(variables));
        for result in self.filter.id.run((ctx, document.clone())) {
            if fuel.is_empty() {
                break;
            }
            match result {
                Ok(value) => found(value)?,
                Err(exception) => return Err(stopped(exception)),
            }
        }
        // A program that catches the error may have gone on to some end; its numbers are not the answer.
        if fuel.is_empty() {
            Err(QueryRunError::TooManySteps)
        } else {
            Ok(())
        }
    }
}

fn number(value: &Val) -> Result<Option<f64>, QueryRunError> {
    if matches!(value, Val::Null) {
        return Ok(None);
    }
    match value.as_f64() {
        Some(number) if number.is_finite() => Ok(Some(number)),
        Some(_) => Err(QueryRunError::NotFinite),
        None => Err(QueryRunError::NotANumber(shortened(value))),
    }
}

fn stopped(exception: Exn<'_, Val>) -> QueryRunError {
    match exception.get_err() {
        Ok(error) => QueryRunError::Error(match error.into_val() {
            value if value.is_utf8_str() => {
                let bytes = value.as_bytes().unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MESSAGE)]);
                text.into_owned()
            }
            value => shortened(&value),
        }),
        Err(_) => QueryRunError::Error("it stopped".to_owned()),
    }
}

/// The beginning of a value, as JSON.
fn shortened(value: &Val) -> String {
    struct Beginning(String);
    impl fmt::Write for Beginning {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.push_str(text);
            if self.0.len() > MESSAGE {
                Err(fmt::Error)
            } else {
                Ok(())
            }
        }
    }
    let mut beginning = Beginning(String::new());
    if write!(beginning, "{value}").is_err() {
        let end = (0..=MESSAGE)
            .rev()
            .find(|end| beginning.0.is_char_boundary(*end))
            .unwrap_or(0);
        beginning.0.truncate(end);
        beginning.0.push('…');
    }
    beginning.0
}

/// Does this on a stack that is deep enough, and turns a panic of a library into an error.
///
/// # Errors
/// There is no thread for it, or it panicked.
pub fn with_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("samples".into())
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .map_err(|error| format!("no thread: {error}"))?;
        thread
            .join()
            .map_err(|_| "it panicked, which is a fault of the parser".to_owned())
    })
}

fn parse(code: &str) -> Result<Term<&str>, QueryError> {
    let mistake = |found: &str, expected: &str| QueryError {
        place: span(code, found),
        message: match found {
            "" => format!("this isn't jq: it ends where {expected} should follow"),
            _ => format!("this isn't jq: expected {expected}"),
        },
        help: None,
    };
    let tokens = Lexer::new(code).lex().map_err(|errors| {
        let (expected, found) = errors
            .into_iter()
            .next()
            .unwrap_or((lex::Expect::Token, code));
        mistake(found, expected.as_str())
    })?;
    Parser::new(&tokens)
        .parse(|p| p.term())
        .map_err(|errors| match errors.into_iter().next() {
            Some((expected, found)) => {
                mistake(lex::Token::opt_as_str(found, code), expected.as_str())
            }
            None => mistake(code, "program"),
        })
}

fn undefined_name(code: &str, name: &str, kind: &str) -> QueryError {
    let bounds = code.as_bytes().as_ptr_range();
    let place = if bounds.contains(&name.as_ptr()) {
        span(code, name)
    } else {
        0..code.len()
    };
    let known = PRELUDE
        .names()
        .chain(NATIVE.iter().copied())
        .filter(|known| !OUTSIDE.contains(known));
    QueryError {
        place,
        message: format!("jq has no {kind} `{name}` with so many arguments here"),
        help: nearest(name, known)
            .filter(|near| *near != name)
            .map(|near| format!("did you mean `{near}`?")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prelude::*, test_runner::RngSeed};

    fn run(code: &str, document: &str) -> Result<Vec<f64>, QueryRunError> {
        run_within(code, document, STEPS)
    }

    fn run_within(code: &str, document: &str, steps: u64) -> Result<Vec<f64>, QueryRunError> {
        let program = Program::compile(code).unwrap();
        with_deep_stack(|| {
            let value: Val = serde_json::from_str(document).unwrap();
            program.numbers_within(&value, steps)
        })
        .unwrap()
    }

    fn mistake(code: &str) -> QueryError {
        Program::compile(code).unwrap_err()
    }

    #[test]
    fn numbers_are_found_as_jq_finds_them() {
        assert_eq!(run(".a.b", r#"{"a": {"b": 1.5}}"#), Ok(vec![1.5]));
        assert_eq!(run(".[] | select(. > 1)", "[1, 2, 3]"), Ok(vec![2.0, 3.0]));
        assert_eq!(run("[.[] * 2] | add", "[1, 2, 3]"), Ok(vec![12.0]));
        assert_eq!(run(".x.y", "{}"), Ok(vec![]), "null is no number");
        assert_eq!(run("first(.[] | numbers)", r#"["a", 7]"#), Ok(vec![7.0]));
        assert_eq!(run(".[0] += 2 | .[0]", "[1]"), Ok(vec![3.0]));
        assert_eq!(
            run("(.a, .b) |= . * 10 | .a, .b", r#"{"a": 1, "b": 2}"#),
            Ok(vec![10.0, 20.0])
        );
        assert_eq!(
            run(
                "reduce .[] as [$a, $b] (0; . + $a / $b)",
                "[[1, 2], [3, 4]]"
            ),
            Ok(vec![1.25])
        );
        assert_eq!(run("range(3)", "null"), Ok(vec![0.0, 1.0, 2.0]));
        assert_eq!(run("range(3; 0; -1.5)", "null"), Ok(vec![3.0, 1.5]));
        assert_eq!(
            run("recurse(.n; . != null) | .v", r#"{"v": 1, "n": {"v": 2}}"#),
            Ok(vec![1.0, 2.0])
        );
        assert_eq!(
            run(
                r#"capture("(?<n>[0-9]+) ms").n | tonumber"#,
                r#""took 12 ms""#
            ),
            Ok(vec![12.0])
        );
        assert_eq!(
            run("def half: . / 2; .a | half", r#"{"a": 3}"#),
            Ok(vec![1.5])
        );
        assert_eq!(run("def f(g): g + .; def f: f(2); f", "3"), Ok(vec![5.0]));
        assert_eq!(
            run(
                "group_by(.[0])[] | map(.[1]) | add",
                "[[1, 2], [2, 3], [1, 4]]"
            ),
            Ok(vec![6.0, 3.0])
        );
    }

    #[test]
    fn what_is_no_finite_number_is_refused() {
        assert_eq!(
            run(".", r#""fast""#),
            Err(QueryRunError::NotANumber("\"fast\"".into()))
        );
        assert_eq!(
            run(".", "true"),
            Err(QueryRunError::NotANumber("true".into()))
        );
        assert_eq!(run("1 / 0", "null"), Err(QueryRunError::NotFinite));
        assert_eq!(run("nan", "null"), Err(QueryRunError::NotFinite));
        let Err(QueryRunError::NotANumber(text)) = run("[range(1000)]", "null") else {
            panic!()
        };
        assert!(
            text.starts_with("[0,1,2") && text.ends_with('…') && text.len() < 400,
            "{text}"
        );
    }

    #[test]
    fn a_programs_own_error_is_repeated_in_its_words() {
        let failed = run("error(.error)", r#"{"error": "the server is busy"}"#);
        assert_eq!(
            failed,
            Err(QueryRunError::Error("the server is busy".into()))
        );
        let Err(QueryRunError::Error(message)) = run(".a.b", r#"{"a": [1]}"#) else {
            panic!()
        };
        assert!(message.contains("cannot index"), "{message}");
    }

    #[test]
    fn nothing_runs_for_ever() {
        for endless in [
            "repeat(1)",
            "repeat({}[])",
            "last(repeat(1))",
            "[range(infinite)]",
            "range(0; 1; 0)",
            "first(range(infinite) | select(. < 0))",
            "until(false; .)",
            "[while(true; .)]",
            "[recurse(.)]",
            "[limit(infinite; repeat(1))] | length",
            "[repeat(try error catch 1)]",
            "[repeat(1)?] | length",
            "[.[] as $a | .[] as $b | .[] as $c | .[] as $d | 1] | length",
            "[.[] + .[] + .[] + .[]] | length",
            "[.[] < .[] | 1] | [.[] - .[]] | length",
            "[combinations(9)] | length",
            "[.[] | .[]?, range(9)] | [.[] as $a | .[] as $b | $a] | add",
        ] {
            let document = format!("[{}1]", "1, ".repeat(199));
            let stopped = run_within(endless, &document, 20_000);
            assert_eq!(stopped, Err(QueryRunError::TooManySteps), "{endless}");
        }
    }

    #[test]
    fn nothing_grows_without_end() {
        // A text as JSON is a text with more escapes, each time.
        let document = r#"{"a": [1, "2", null, {"b": [3]}]}"#;
        let doubled = run_within("repeat(.) |= tojson", document, 20_000);
        assert_eq!(
            doubled,
            Err(QueryRunError::Error("the text is too large".into()))
        );
        let stopped =
            |code, document: &str| matches!(run(code, document), Err(QueryRunError::Error(_)));
        assert!(stopped(r#".x * 1000000000000"#, r#"{"x": "a"}"#));
        assert!(stopped(r#".x *= 1000000000000"#, r#"{"x": "a"}"#));
        assert!(stopped(
            r#"reduce range(60) as $i ("abc"; . + .) | length"#,
            "null"
        ));
        assert!(stopped(
            r#"reduce range(60) as $i ({x: "abc"}; .x += .x) | .x | length"#,
            "null"
        ));
        assert!(stopped(".[4000000000] = 1 | length", "[]"));
        assert_eq!(
            run("reduce range(2000) as $i (3; . * .)", "null"),
            Err(QueryRunError::NotFinite)
        );
    }

    #[test]
    fn a_program_that_calls_itself_or_looks_outside_is_refused() {
        for (code, place) in [
            ("def f: f; f", 7..8),
            ("def f: def g: [f]; g; f", 15..16),
            ("def f(g): g; def f: [f]; f(1)", 21..22),
            ("__metric", 0..8),
            (".a | env", 5..8),
            ("now", 0..3),
            ("halt", 0..4),
        ] {
            assert_eq!(mistake(code).place, place, "{code}");
        }
        assert!(mistake("def f: f; f").message.contains("calls itself"));
        assert!(mistake("input").message.contains("no filter `input`"));
        assert!(mistake("$ENV").message.contains("no variable"));
    }

    #[test]
    fn every_definition_of_jqs_own_brings_what_it_calls() {
        let mut tried = 0;
        for definition in PRELUDE.needed_for(PRELUDE.names()) {
            if OUTSIDE.contains(&definition.name)
                || !definition.name.starts_with(char::is_alphabetic)
            {
                continue;
            }
            let arguments = vec!["."; definition.args.len()].join("; ");
            let called = match arguments.as_str() {
                "" => definition.name.to_owned(),
                _ => format!("{}({arguments})", definition.name),
            };
            Program::compile(&called).unwrap();
            tried += 1;
        }
        assert!(tried > 100, "{tried}");
        assert_eq!(run(r#"@json "\(.)" | length"#, "[1]"), Ok(vec![3.0]));
    }

    #[test]
    fn a_program_carries_the_definitions_that_it_calls_and_no_others() {
        let needed = |names: &[&'static str]| -> Vec<_> {
            let needed = PRELUDE.needed_for(names.iter().copied());
            needed.iter().map(|def| def.name).collect()
        };
        assert_eq!(needed(&[]), Vec::<&str>::new());
        let numbers = needed(&["numbers", "!step"]);
        assert_eq!(numbers, ["empty", "true", "select", "isnumber", "numbers"]);
    }

    #[test]
    fn expressions_find_what_jqs_own_find() {
        let found = |code: &str, document: &str| run(&format!("{code} | length"), document);
        let is = |code: &str, document: &str| {
            let asked = format!("if {code} then 1 else 0 end");
            run(&asked, document) == Ok(vec![1.0])
        };
        let text = r#""ü1 b22 Ü""#;
        assert!(is(
            r#"[matches("[0-9]+"; "g")[][0].offset] == [1, 4]"#,
            text
        ));
        assert!(is(
            r#"[matches("b(?<n>[0-9])?(x)?"; "")[][].name] == [null, "n"]"#,
            text
        ));
        assert!(is(
            r#"[capture("(?<n>[0-9]+)"; "g").n] == ["1", "22"]"#,
            text
        ));
        assert!(is(r#"split(" +"; "") == ["ü1", "b22", "Ü"]"#, text));
        assert!(is(r#"gsub("[0-9]"; "x") == "üx bxx Ü""#, text));
        assert!(is(r#"sub("(?<d>[0-9])"; "<\(.d)>") == "ü<1> b22 Ü""#, text));
        assert!(is(r#"test("B22"; "i") and (test("B22") | not)"#, text));
        assert!(is(
            r#"test("B 2"; "xi") and (test("a.b"; "s") | not)"#,
            text
        ));
        assert!(is(r#"[matches(""; "gn")[]] == []"#, text));
        for (wrong, why) in [
            (r#"test("(")"#, "invalid regex: "),
            (r#"test("a"; "q")"#, "invalid regex flag: q"),
            ("test(1)", "cannot use 1 as string"),
        ] {
            let Err(QueryRunError::Error(message)) = found(wrong, text) else {
                panic!("{wrong}")
            };
            assert!(message.starts_with(why), "{wrong}: {message}");
        }
        assert!(matches!(
            found(r#"test("a")"#, "1"),
            Err(QueryRunError::Error(_))
        ));
    }

    #[test]
    fn groups_in_another_order_and_many_expressions_break_nothing() {
        let offsets = |code: &str| run(&format!("[{code} | .offset] | add"), r#""üba""#);
        assert_eq!(offsets(r#"matches(""; "g")[][]"#), Ok(vec![6.0]));
        assert_eq!(offsets(r#"matches("(?:(a)|(b))+"; "")[][]"#), Ok(vec![4.0]));
        let many = r#"[range(200) | tostring | . as $n | "x\($n)" | test("^x\($n)$")] | all | if . then 1 else 0 end"#;
        assert_eq!(run(many, "null"), Ok(vec![1.0]));
    }

    #[test]
    fn mistakes_point_at_their_place() {
        assert_eq!(mistake(".a | slect(.b)").place, 5..10);
        assert_eq!(
            mistake(".a | slect(.b)").help.unwrap(),
            "did you mean `select`?"
        );
        assert_eq!(mistake(".a |").place, 4..4);
        assert_eq!(mistake(".a | )").place, 5..6);
        assert_eq!(mistake("").place, 0..0);
        assert_eq!(mistake("if . then 1").place, 11..11);
        assert!(mistake(&".|".repeat(5000)).message.contains("too long"));
    }

    #[test]
    fn the_longest_and_deepest_programs_fit_on_the_stack() {
        let of = |opening: &str, closing: &str| {
            let times = (LONGEST - 1) / (opening.len() + closing.len());
            run(
                &format!("{}1{}", opening.repeat(times), closing.repeat(times)),
                "null",
            )
        };
        assert_eq!(of(".|", ""), Ok(vec![1.0]));
        assert_eq!(of("1+", ""), Ok(vec![(LONGEST.div_ceil(2)) as f64]));
        assert_eq!(of("-", ""), Ok(vec![-1.0]));
        assert_eq!(of("first(", ")"), Ok(vec![1.0]));
        assert!(of("[", "]").is_err());
        assert!(of("{a:", "}").is_err());
        assert!(
            mistake(&"(".repeat(LONGEST))
                .message
                .contains("parenthesis")
        );
    }

    #[test]
    fn values_that_nest_deeply_fit_on_the_stack() {
        for deeper in [
            "last(recurse([.]))",
            "reduce range(infinite) as $i (0; {a: .})",
            "reduce .[] as $i (0; [.])",
        ] {
            let document = format!("[{}1]", "1,".repeat(200_000));
            assert_eq!(
                run_within(deeper, &document, u64::MAX),
                Err(QueryRunError::TooManySteps),
                "{deeper}"
            );
        }
        let nested = |times: usize| format!("{}{}", "[".repeat(times), "]".repeat(times));
        assert_eq!(run("[..] | length", &nested(100)), Ok(vec![100.0]));
        let text = format!("\"{}\"", nested(100_000));
        assert!(matches!(
            run("fromjson | length", &text),
            Err(QueryRunError::Error(_))
        ));
    }

    proptest! {
        #[test]
        fn any_text_is_a_program_or_a_mistake_within_it(code in ".{0,40}") {
            if let Err(mistake) = Program::compile(&code) {
                prop_assert!(mistake.place.end <= code.len());
                prop_assert!(code.get(mistake.place).is_some());
            }
        }
    }

    proptest! {
        // Always the same programs: one that goes on for minutes is rare, and a build that meets it would hang.
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn any_words_of_jq_come_to_an_end(
            words in proptest::collection::vec(
                proptest::sample::select(vec![
                    ".", ".[]", "|", ",", "+", "*", "//", "..", "1", "map(.)", "repeat(.)", "range(9)",
                    "[.[]]", "?", "as $x", "$x", "first(.)", "|=", "paths", "add", "tojson", "fromjson",
                ]),
                1..12,
            ),
        ) {
            // On the stack that programs have.
            let ended = with_deep_stack(|| {
                let document = r#"{"a": [1, "2", null, {"b": [3]}]}"#;
                let document: Val = serde_json::from_str(document).unwrap();
                if let Ok(program) = Program::compile(&words.join(" ")) {
                    let _ = program.numbers_within(&document, 20_000);
                }
            });
            prop_assert_eq!(ended, Ok(()));
        }
    }
}
