//! Every verb that has a verdict, in every format: to standard output and into files, by the verb itself; and refused before
//! anything is measured where the file's name says no format or another one.

use serde_json::Value;

use crate::{
    exit_statuses::{SEARCH, along, attempt, bisect, device, overhead, quick, step, versions},
    place::Place,
    running::Ended,
};

/// A verb with what its verdict says.
struct Verb<'a> {
    /// Its arguments, without those about the format.
    asks: Vec<&'a str>,
    /// How it ends.
    status: i32,
    /// What is in it, in each format.
    says: &'a str,
    /// A field that its JSON has.
    field: &'a str,
    /// The kind of schema that its JSON has.
    schema: &'a str,
    /// Whether it makes a study, whose verdict `resume` tells again.
    measures: bool,
}

/// The JSON is as the schema of its kind says, and has no field more.
pub fn assert_has_schema(kind: &str, json: &Value) {
    let errors = against_schema(kind, json);
    assert!(errors.is_empty(), "{kind}: {errors:#?}");
}

/// Where the JSON isn't as the schema of this kind says.
fn against_schema(kind: &str, json: &Value) -> Vec<String> {
    let printed = Place::new().prints_of(&["schema", kind]);
    let mut schema: Value = serde_json::from_str(&printed).unwrap();
    close(&mut schema);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = validator.iter_errors(json);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// Permits no field that the schema doesn't name, wherever one object names all of them.
fn close(schema: &mut Value) {
    if let Value::Array(parts) = schema {
        parts.iter_mut().for_each(close);
        return;
    }
    let Value::Object(keys) = schema else { return };
    keys.values_mut().for_each(close);
    let others = ["$ref", "anyOf", "oneOf", "allOf", "additionalProperties"];
    let names_all = keys.contains_key("properties")
        && keys.get("type").is_some_and(|it| it == "object")
        && others.iter().all(|key| !keys.contains_key(*key));
    if names_all {
        keys.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}

/// The texts that a page has outside of its style and scripts.
fn assert_is(format: &str, verb: &Verb<'_>, written: &str) {
    assert!(!written.contains('\u{1b}'), "{format}: {written:?}");
    match format {
        "text" => {
            assert!(
                !written.contains("| --- |") && !written.contains("<table"),
                "{written}"
            );
        }
        "markdown" => assert!(
            (written.contains("| ---") || written.contains("|---")) && !written.contains("<table"),
            "{written}"
        ),
        "json" => {
            let value: Value = serde_json::from_str(written).unwrap();
            assert!(!value[verb.field].is_null(), "{}: {value:#}", verb.field);
            assert_has_schema(verb.schema, &value);
        }
        _ => {
            let page = written.to_lowercase();
            assert!(page.starts_with("<!doctype html"), "{written}");
            assert!(
                (page.contains("<table") || page.contains("<svg"))
                    && page.trim_end().ends_with("</html>"),
                "{written}"
            );
        }
    }
    assert!(
        written.contains(verb.says),
        "{:?} in {format}: {written}",
        verb.says
    );
}

const FORMATS: [(&str, &str); 4] = [
    ("text", "txt"),
    ("markdown", "md"),
    ("json", "json"),
    ("html", "html"),
];

fn studies(place: &Place) -> usize {
    let list = place.ends(&["studies", "--json"]).stdout();
    serde_json::from_str(&list).map_or(0, |list: Vec<Value>| list.len())
}

impl Verb<'_> {
    fn ends(&self, place: &Place, more: &[&str]) -> Ended {
        place.ends(&[&self.asks[..], more].concat())
    }

    /// Refused first, so that it is seen that nothing is measured; then each format into a file, and onto standard output.
    fn check(&self, place: &Place) {
        let before = studies(place);
        let refused: [(&[&str], &str); 3] = [
            (&["-o", "verdict.pdf"], "says no format"),
            (&["-o", "verdict"], "says no format"),
            (
                &["-o", "verdict.md", "--format", "json"],
                "is the name of markdown",
            ),
        ];
        for (more, why) in refused {
            let ended = self.ends(place, more);
            ended.assert_code(2);
            ended.assert_says(&[why]);
            assert!(ended.bytes.is_empty(), "{}", ended.words());
            assert!(!place.path(more[1]).exists());
        }
        assert_eq!(studies(place), before, "nothing is measured");
        for (number, (format, end)) in FORMATS.iter().enumerate() {
            let file = format!("verdict.{end}");
            let name = format!("s-{number}");
            let mut more = vec!["-o", &file];
            if self.measures {
                more.extend(["--name", &name]);
            }
            let ended = self.ends(place, &more);
            ended.assert_code(self.status);
            assert_eq!(ended.stdout(), "", "it is in the file");
            let written = place.read(&file);
            assert_is(format, self, &written);
            let again = match self.measures {
                true => place.ends(&["resume", &name, "--format", format]),
                false => self.ends(place, &["--format", format]),
            };
            again.assert_code(self.status);
            assert_is(format, self, &again.stdout());
        }
        // Alone on standard output by the verb itself: a script reads nothing but the verdict.
        let ended = self.ends(place, &["--format", "json"]);
        ended.assert_code(self.status);
        assert_is("json", self, &ended.stdout());
    }
}

#[test]
fn of_run() {
    Verb {
        asks: vec!["run", "plan.toml"],
        status: 0,
        says: "quick",
        field: "rows",
        schema: "comparison",
        measures: true,
    }
    .check(&quick());
}

#[test]
fn of_run_until_decided() {
    let place = quick();
    place.plan(
        "use = [\"quick\"]\nseed = 1\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n",
    );
    // In fewer than four rounds nothing is decided, whatever the numbers.
    Verb {
        asks: vec![
            "run",
            "plan.toml",
            "--until",
            "decided",
            "--margin",
            "0.001",
            "--rounds",
            "3",
        ],
        status: 3,
        says: "quick value",
        field: "sides",
        schema: "verdict-try",
        measures: true,
    }
    .check(&place);
}

#[test]
fn of_try() {
    Verb {
        asks: attempt("v4", &[]),
        status: 1,
        says: "worse",
        field: "sides",
        schema: "verdict-try",
        measures: true,
    }
    .check(&versions());
}

#[test]
fn of_bisect() {
    Verb {
        asks: bisect("v4", &[]),
        status: 0,
        says: "version 3",
        field: "culprits",
        schema: "verdict-bisect",
        measures: true,
    }
    .check(&versions());
}

#[test]
fn of_noise() {
    Verb {
        asks: vec!["noise", "plan.toml", "--rounds", "4"],
        status: 0,
        says: "same boot",
        field: "noises",
        schema: "verdict-noise",
        measures: true,
    }
    .check(&quick());
}

#[test]
fn of_overhead() {
    Verb {
        asks: overhead(),
        status: 0,
        says: "sleeper",
        field: "costs",
        schema: "verdict-overhead",
        measures: true,
    }
    .check(&quick());
}

#[test]
fn of_search() {
    Verb {
        asks: SEARCH.to_vec(),
        status: 0,
        says: "flood",
        field: "subjects",
        schema: "verdict-search",
        measures: true,
    }
    .check(&device(0));
}

#[test]
fn of_step() {
    let mut asks = step("v1", "v4");
    asks.push("--retry");
    Verb {
        asks,
        status: 0,
        says: "tool",
        field: "series",
        schema: "history",
        measures: false,
    }
    .check(&versions());
}

#[test]
fn of_history() {
    Verb {
        asks: vec!["history"],
        status: 0,
        says: "tool",
        field: "series",
        schema: "history",
        measures: false,
    }
    .check(&along("v4", "3"));
}

#[test]
fn of_detect() {
    let place = Place::new();
    let level = |at: u32| if at < 20 { 100 } else { 150 };
    let lines = (0..40).map(|at| format!("{}.{}\n", level(at), at * 37 % 10));
    place.write("times.txt", lines.collect::<String>());
    Verb {
        asks: vec![
            "detect",
            "times.txt",
            "--better",
            "lower",
            "--fail-on",
            "worse",
        ],
        status: 1,
        says: "worse",
        field: "series",
        schema: "change-points",
        measures: false,
    }
    .check(&place);
}

#[test]
fn of_compare() {
    let place = Place::new();
    place.write("base.txt", "10\n11\n12\n");
    place.write("new.txt", "20\n21\n22\n");
    Verb {
        asks: vec!["compare", "base.txt", "new.txt", "--better", "lower"],
        status: 1,
        says: "worse",
        field: "rows",
        schema: "comparison",
        measures: false,
    }
    .check(&place);
}

#[test]
fn an_export_has_its_schema() {
    let place = quick();
    place
        .ends(&["run", "plan.toml", "--name", "r"])
        .assert_code(0);
    let json = place.prints_of(&["export", "r", "--format", "json"]);
    let export: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(export["series"][0]["metric"], "value", "{export}");
    assert_has_schema("export", &export);
    // A field more, one less and one of another type are each found.
    let spoilt = |spoil: fn(&mut Value)| {
        let mut export = export.clone();
        spoil(&mut export["series"][0]);
        against_schema("export", &export)
    };
    for spoil in [
        (|series| series["more"] = 1.into()) as fn(&mut Value),
        |series| drop(series.as_object_mut().unwrap().remove("unit")),
        |series| series["trials"][0]["trial"] = "first".into(),
    ] {
        assert_eq!(spoilt(spoil).len(), 1);
    }
}
