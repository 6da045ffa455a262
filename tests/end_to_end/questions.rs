//! Wrong questions: refused with status 2 before anything is measured, pointing at the place, with a way out.

use crate::place::{Place, VALUE};

/// Asserts that this plan is refused with these words, and that nothing was begun.
fn refused(place: &Place, plan: &str, says: &[&str]) {
    place.plan(plan);
    for verb in ["run", "doctor"] {
        let ended = place.ends(&[verb, "plan.toml"]);
        ended.assert_code(2);
        ended.assert_says(says);
        assert!(
            ended.bytes.is_empty(),
            "a refusal goes to standard error: {ended:?}"
        );
    }
    assert!(
        !crate::place::exists(&place.path("store/backsight.db")),
        "nothing is made for a wrong question"
    );
}

fn with_good() -> Place {
    let place = Place::new();
    place.benchmark(
        "good",
        &format!(
            "[params]\nstreams = {{ default = 1, min = 1, max = 128 }}\nkind = {{ default = \"a\", choices = [\"a\", \"b\"] }}\n\
             [tester]\nrun = \"echo {{streams}} {{kind}}\"\n{VALUE}"
        ),
    );
    place
}

#[test]
fn a_benchmark_that_nobody_defines() {
    let says = [
        "no benchmark `goood` in the catalogue",
        "plan.toml:2:8",
        "did you mean `good`?",
    ];
    refused(&with_good(), "rounds = 2\nuse = [\"goood\"]\n", &says);
}

#[test]
fn a_parameter_that_no_benchmark_has() {
    let says = [
        "no benchmark of this plan has a parameter `stream`",
        "plan.toml:3:1",
        "did you mean `streams`?",
    ];
    refused(
        &with_good(),
        "use = [\"good\"]\n[params]\nstream = 3\n",
        &says,
    );
}

#[test]
fn a_parameter_of_a_benchmark_that_it_has_not() {
    let says = [
        "benchmark `good` has no parameter `stream`",
        "plan.toml:3:1",
        "did you mean `streams`?",
    ];
    refused(
        &with_good(),
        "use = [\"good\"]\n[params.good]\nstream = 3\n",
        &says,
    );
}

#[test]
fn parameters_of_a_benchmark_that_is_not_in_the_plan() {
    let says = ["`godo`", "plan.toml:2:", "did you mean `good`?"];
    refused(
        &with_good(),
        "use = [\"good\"]\n[params.godo]\nstreams = 3\n",
        &says,
    );
}

#[test]
fn values_that_a_parameter_does_not_take() {
    for (value, says) in [
        ("streams = 0", "1"),
        ("streams = [1, 1000]", "128"),
        ("streams = \"many\"", "streams"),
        ("kind = \"c\"", "kind"),
        ("streams = []", "streams"),
    ] {
        let plan = format!("use = [\"good\"]\n[params]\n{value}\n");
        refused(&with_good(), &plan, &["plan.toml:3:", says]);
    }
}

#[test]
fn a_variant_of_a_role_that_the_testbed_has_not() {
    let place = Place::of_roles(&["tester", "other"]);
    place.prints("good", "echo 42");
    let says = [
        "`testre` is neither a key of a variant nor a role",
        "plan.toml:4:",
        "did you mean `tester`?",
    ];
    refused(
        &place,
        "use = [\"good\"]\n[[variant]]\nname = \"v\"\ntestre.setup = \"true\"\n",
        &says,
    );
}

#[test]
fn a_benchmark_whose_role_has_no_host() {
    let place = Place::of_roles(&["client", "server"]);
    place.prints("good", "echo 42");
    let says = [
        "benchmark `good` needs the role `tester`",
        "plan.toml:1:",
        "[testbed.all]",
        "lab.toml",
    ];
    refused(&place, "use = [\"good\"]\n", &says);
}

#[test]
fn a_testbed_that_the_lab_has_not() {
    let place = Place::of_roles(&["tester"]);
    place.prints("good", "echo 42");
    refused(
        &place,
        "testbed = \"al\"\nuse = [\"good\"]\n",
        &["`al`", "plan.toml:1:11", "all"],
    );
}

#[test]
fn a_lab_whose_testbed_names_an_unknown_host() {
    let place = with_good();
    place.write(
        "lab.toml",
        "[host.alpha]\nkind = \"local\"\n[testbed.t]\ntester = \"alhpa\"\n",
    );
    refused(
        &place,
        "use = [\"good\"]\n",
        &[
            "host `alhpa` is not in this lab",
            "lab.toml:4:10",
            "did you mean `alpha`?",
        ],
    );
}

#[test]
fn a_lab_with_a_kind_of_host_that_nobody_knows() {
    let place = with_good();
    place.write("lab.toml", "[host.alpha]\nkind = \"locla\"\n");
    refused(
        &place,
        "use = [\"good\"]\n",
        &["locla", "lab.toml:2:8", "did you mean `local`?"],
    );
}

#[test]
fn a_unit_that_nobody_knows() {
    let place = Place::new();
    place.benchmark("bad", "[tester]\nrun = \"echo 42\"\n[metric.value]\nunit = \"furlong\"\nbetter = \"lower\"\nregex = '(?<value>\\d+)'\n");
    refused(&place, "use = [\"bad\"]\n", &["furlong", "bad.toml:7:8"]);
}

#[test]
fn a_jq_program_that_does_not_compile() {
    let place = Place::new();
    place.benchmark("bad", "[tester]\nrun = \"echo 42\"\n[metric.value]\nunit = \"s\"\nbetter = \"lower\"\njson = \".a | lenght\"\n");
    refused(
        &place,
        "use = [\"bad\"]\n",
        &["jq", "lenght", "bad.toml:9:", "did you mean `length`?"],
    );
    place.benchmark("bad", "[tester]\nrun = \"echo 42\"\n[metric.value]\nunit = \"s\"\nbetter = \"lower\"\njson = \".a | [\"\n");
    refused(&place, "use = [\"bad\"]\n", &["isn't jq", "bad.toml:9:"]);
}

#[test]
fn a_regular_expression_that_is_none_or_has_no_value() {
    let place = Place::new();
    let with = |regex: &str| {
        format!(
            "[tester]\nrun = \"echo 42\"\n[metric.value]\nunit = \"s\"\nbetter = \"lower\"\nregex = '{regex}'\n"
        )
    };
    place.benchmark("bad", &with("(?<value>\\d+"));
    refused(&place, "use = [\"bad\"]\n", &["bad.toml:9:", "unclosed"]);
    place.benchmark("bad", &with("\\d+"));
    refused(&place, "use = [\"bad\"]\n", &["bad.toml:9:", "value"]);
}

#[test]
fn a_line_of_readiness_that_is_no_regular_expression() {
    let place = Place::new();
    let spawn = "startup.spawn = { run = \"sleep 1\", ready = { line = \"ready (\" } }";
    place.benchmark(
        "bad",
        &format!("[tester]\n{spawn}\nrun = \"echo 42\"\n{VALUE}"),
    );
    refused(
        &place,
        "use = [\"bad\"]\n",
        &["isn't a regular expression", "bad.toml:5:"],
    );
}

#[test]
fn a_placeholder_that_nobody_defines() {
    let place = Place::new();
    place.prints("bad", "echo {cpsu}");
    refused(
        &place,
        "use = [\"bad\"]\n",
        &[
            "`{cpsu}` is not defined",
            "bad.toml:5:",
            "did you mean `cpus`?",
        ],
    );
}

#[test]
fn a_barrier_at_which_only_one_waits() {
    let place = Place::new();
    place.benchmark(
        "bad",
        &format!("[tester]\nrun = [{{ barrier = \"alone\" }}, \"echo 42\"]\n{VALUE}"),
    );
    refused(
        &place,
        "use = [\"bad\"]\n",
        &["only `tester` waits at barrier `alone`", "bad.toml:5:"],
    );
}

#[test]
fn a_file_whose_name_and_content_disagree() {
    let place = Place::new();
    place.prints("good", "echo 42");
    std::fs::rename(
        place.path("benchmarks/good.toml"),
        place.path("benchmarks/bad.toml"),
    )
    .unwrap();
    refused(
        &place,
        "use = [\"bad\"]\n",
        &["`good`", "bad.toml:1:8", "give both the same name"],
    );
}

#[test]
fn keys_and_values_that_a_plan_has_not() {
    let place = with_good();
    for (plan, says) in [
        (
            "use = [\"good\"]\nruonds = 3\n",
            &[
                "unknown field `ruonds`",
                "plan.toml:2:1",
                "did you mean `rounds`?",
            ][..],
        ),
        ("use = [\"good\"]\nrounds = 0\n", &["plan.toml:2:10"]),
        ("use = [\"good\"]\nrounds = -1\n", &["plan.toml:2:10"]),
        ("use = [\"good\"]\nrounds = \"many\"\n", &["plan.toml:2:10"]),
        (
            "use = [\"good\"]\non-failure = \"panic\"\n",
            &["plan.toml:2:14"],
        ),
        (
            "use = []\n",
            &["`use` names no benchmark", "backsight list benchmarks"],
        ),
        ("rounds = 1\n", &["use"]),
        (
            "use = [\"good\", \"good\"]\n",
            &["`good`", "twice", "plan.toml:1:16"],
        ),
        (
            "use = [\"good\"]\n[[variant]]\nname = \"v\"\n[[variant]]\nname = \"v\"\n",
            &["two variants", "plan.toml:5:8"],
        ),
        (
            "use = [\"good\"]\n[[variant]]\ntester.setup = \"true\"\n",
            &["name"],
        ),
        ("use = [\"good\"\n", &["plan.toml:"]),
        ("use = \"good\"\n", &["plan.toml:1:7"]),
        (
            "use = [\"good\"]\n[[variant]]\nname = \"v\"\ntester.setup = { run = \"true\", spawn = \"true\" }\n",
            &["exactly one", "plan.toml:4:"],
        ),
        (
            "use = [\"good\"]\n[[variant]]\nname = \"v\"\ntester.setup = \"echo {nothing}\"\n",
            &["nothing", "plan.toml:4:"],
        ),
    ] {
        refused(&place, plan, says);
    }
}

#[test]
fn a_plan_with_more_cells_than_anybody_can_mean() {
    let place = with_good();
    let list: Vec<String> = (1..=128).map(|n| n.to_string()).collect();
    let list = list.join(", ");
    let params: String = (0..5)
        .map(|n| format!("p{n} = {{ default = 1 }}\n"))
        .collect();
    let lists: String = (0..5).map(|n| format!("p{n} = [{list}]\n")).collect();
    place.benchmark(
        "wide",
        &format!("[params]\n{params}[tester]\nrun = \"echo 42\"\n{VALUE}"),
    );
    place.plan(&format!("use = [\"wide\"]\n[params]\n{lists}"));
    let ended = place.ends(&["run", "plan.toml"]);
    ended.assert_code(2);
    ended.assert_says(&["more than 100000 cells"]);
}

#[test]
fn files_that_are_not_there_or_are_none() {
    let place = with_good();
    let refused = |arguments: &[&str], says: &[&str]| {
        let ended = place.ends(arguments);
        ended.assert_code(2);
        ended.assert_says(says);
    };
    refused(
        &["run", "nowhere.toml"],
        &["can't read nowhere.toml", "backsight init"],
    );
    let said = place.ends(&["run", "nowhere.toml"]).stderr;
    assert_eq!(said.matches("No such file").count(), 1, "{said}");
    refused(&["run", "benchmarks"], &["can't read benchmarks"]);
    place.write("binary.toml", [0xff, 0xfe, 0x00]);
    refused(&["run", "binary.toml"], &["can't read binary.toml"]);
    place.plan("use = [\"good\"]\n");
    refused(
        &["run", "plan.toml", "--lab", "nowhere.toml"],
        &["can't read nowhere.toml"],
    );
    refused(
        &["run", "plan.toml", "--benchmarks", "nowhere"],
        &["nowhere"],
    );
    refused(
        &["run", "plan.toml", "--store", "plan.toml"],
        &["plan.toml"],
    );
    refused(&["run"], &["what is to be measured?", "--use"]);
    refused(&["run", "--use", "goood"], &["no benchmark `goood`"]);
    refused(
        &["run", "plan.toml", "--use", "goood"],
        &["did you mean `good`?"],
    );
    refused(&["run", "plan.toml", "--rounds", "0"], &["--rounds"]);
    refused(&["run", "plan.toml", "--wait", "soon"], &["--wait"]);
    refused(
        &["run", "plan.toml", "--name", "../../etc/passwd"],
        &["--name"],
    );
    refused(&["run", "plan.toml", "--nmae", "x"], &["--name"]);
    refused(
        &["lab", "up", "--lab", "nowhere.toml"],
        &["can't read nowhere.toml"],
    );
}

#[test]
fn names_that_would_be_awkward_are_refused_wherever_they_stand() {
    let place = with_good();
    for name in [
        "a b",
        "../x",
        "<b>",
        "x\\u0000y",
        "\\u001b[31m",
        "é",
        "",
        "-x",
        &"x".repeat(65),
    ] {
        for plan in [
            format!("use = [\"{name}\"]\n"),
            format!("testbed = \"{name}\"\nuse = [\"good\"]\n"),
            format!("use = [\"good\"]\n[[variant]]\nname = \"{name}\"\n"),
        ] {
            place.plan(&plan);
            let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
            ended.assert_code(2);
            ended.assert_says(&["is not a name", "plan.toml:"]);
            assert!(
                !ended.stderr.contains('\u{1b}') && !ended.stderr.contains('\0'),
                "{:?}",
                ended.stderr
            );
        }
    }
    place.plan("use = [\"good\"]\n");
    for name in ["a b", "a/b", "..", "<i>x</i>", "\u{1b}[2J", "é", ""] {
        place
            .ends(&["run", "plan.toml", "--name", name])
            .assert_code(2);
        place.ends(&["show", name]).assert_code(2);
    }
}
