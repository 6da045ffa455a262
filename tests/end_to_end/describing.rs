//! Verbs that explain: help, lists, schemas, completions, manual pages, `init` and `doctor`.

use std::process::{Command, Stdio};

use crate::{
    place::{Place, VALUE, exists},
    running::Running,
};

const VERBS: &[&str] = &[
    "init",
    "lab",
    "run",
    "resume",
    "compare",
    "report",
    "studies",
    "show",
    "delete",
    "list",
    "doctor",
    "schema",
    "completions",
    "man",
];

#[test]
fn every_verb_explains_itself() {
    let place = Place::new();
    let help = place.prints_of(&["--help"]);
    for verb in VERBS {
        assert!(
            help.lines().any(|line| line.trim_start().starts_with(verb)),
            "{verb} is not in {help}"
        );
        let own = place.prints_of(&[verb, "--help"]);
        assert!(own.contains("Usage:"), "{own}");
    }
    assert!(
        !help.contains("  agent"),
        "what people don't start isn't listed"
    );
    assert!(place.prints_of(&["--version"]).starts_with("backsight "));
    place.ends(&[]).assert_code(2);
    place.ends(&["frobnicate"]).assert_code(2);
}

#[test]
fn an_agent_on_a_terminal_or_without_a_conductor_ends() {
    let place = Place::new();
    // Standard input is at its end.
    let ended = place.ends(&["agent"]);
    assert!(ended.status.code().is_some(), "{ended:?}");
    let agent = format!("{} agent", env!("CARGO_BIN_EXE_backsight"));
    let on_terminal = place.put(Command::new("script"), &["-qec", &agent, "/dev/null"]);
    let ended = Running::start(on_terminal).ends();
    ended.assert_code(2);
    ended.assert_says(&["backsight run"]);
    place.assert_nothing_left();
}

#[test]
fn an_agent_that_hears_nonsense_ends() {
    let place = Place::new();
    let agent = format!(
        "head -c 100000 /dev/urandom | {} agent",
        env!("CARGO_BIN_EXE_backsight")
    );
    let ended = Running::start(place.put(Command::new("sh"), &["-c", &agent])).ends();
    assert!(ended.status.code().is_some(), "{ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    place.assert_nothing_left();
}

#[test]
fn init_writes_files_that_run_here_and_never_overwrites() {
    let place = Place::new();
    let inside = |folder: &str, arguments: &[&str]| {
        let mut command = place.command(arguments);
        command
            .current_dir(place.path(folder))
            .env_remove("BACKSIGHT_STORE");
        Running::start(command).ends()
    };
    place
        .ends(&["init", "new", "--lab", "here"])
        .assert_says(&["Wrote lab.toml and plan.toml", "cd new"]);
    assert!(exists(&place.path("new/.backsight")));
    let again = place.ends(&["init", "new"]);
    again.assert_code(2);
    again.assert_says(&["lab.toml is there already"]);
    // The study goes into the project's store, from a folder below it too.
    place.prints("quick", "echo 42");
    std::fs::rename(place.path("benchmarks"), place.path("new/benchmarks")).unwrap();
    std::fs::create_dir(place.path("new/below")).unwrap();
    inside(
        "new/below",
        &["run", "../plan.toml", "--use", "quick", "--wait", "50s"],
    )
    .assert_code(0);
    let listed = inside("new", &["studies", "--json"]);
    listed.assert_code(0);
    listed.assert_says(&["\"run-1\""]);
    assert!(!exists(&place.path("store")));

    std::fs::create_dir(place.path("half")).unwrap();
    place.write("half/plan.toml", "mine");
    place.ends(&["init", "half"]).assert_code(2);
    assert_eq!(place.read("half/plan.toml"), "mine");
    assert!(
        !exists(&place.path("half/lab.toml")),
        "half a pair of files is worse than none"
    );
}

#[test]
fn init_in_a_folder_that_cannot_be_made_says_so() {
    let place = Place::new();
    place.write("file", "");
    let ended = place.ends(&["init", "file/below"]);
    ended.assert_code(2);
    ended.assert_says(&["file/below"]);
}

#[test]
fn doctor_names_what_is_missing_and_the_command_that_installs_it() {
    let place = Place::new();
    place.prints("fine", "echo 42");
    let needs = "needs = { debian = [\"frob-tools\"] }\nprograms = [\"frobnicate\", \"sh\"]\n";
    place.benchmark(
        "bad",
        &format!("{needs}[tester]\nrun = \"frobnicate\"\n{VALUE}"),
    );
    place.plan("use = [\"fine\"]\n");
    place
        .ends(&["doctor", "plan.toml", "--no-self-test"])
        .assert_code(0);
    place.plan("use = [\"fine\", \"bad\"]\n");
    let ended = place.ends(&["doctor", "plan.toml", "--no-self-test"]);
    ended.assert_code(1);
    ended.assert_says(&[
        "missing bad: frobnicate",
        "apt-get install frob-tools",
        "ok fine",
    ]);
    assert!(!ended.words().contains(", sh"), "{ended:?}");
}

#[test]
fn doctor_says_that_a_lab_is_not_up() {
    let place = Place::new();
    place.prints("fine", "echo 42");
    place.write(
        "lab.toml",
        format!("name = \"{}\"\n[host.one]\nkind = \"netns\"\n", place.name),
    );
    place.plan("use = [\"fine\"]\n");
    let ended = place.ends(&["doctor", "plan.toml", "--no-self-test"]);
    ended.assert_code(1);
    ended.assert_says(&["host one", "backsight lab up"]);
}

#[test]
fn the_catalogue_is_listed_with_the_users_own_and_each_is_shown() {
    let place = Place::new();
    place.prints("my-own", "echo 42");
    let list = place.prints_of(&["list", "benchmarks"]);
    for name in ["iperf3-tcp", "ping-rtt", "fio-randread", "my-own"] {
        assert!(list.contains(name), "{name} is not in {list}");
    }
    let shown = place.prints_of(&["show", "benchmark", "iperf3-tcp"]);
    for part in ["streams", "throughput", "bit/s", "iperf3", "server, client"] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    assert!(
        place
            .prints_of(&["show", "benchmark", "my-own"])
            .contains("echo 42")
    );
    let unknown = place.ends(&["show", "benchmark", "ping-rrt"]);
    unknown.assert_code(2);
    unknown.assert_says(&["did you mean `ping-rtt`?"]);
}

#[test]
fn a_users_definition_lies_over_the_catalogues() {
    let place = Place::new();
    place.prints("ping-rtt", "echo 42");
    place.plan("use = [\"ping-rtt\"]\nrounds = 1\n");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    assert!(place.raw("s", 1).contains("42"));
    std::fs::rename(place.path("benchmarks"), place.path("others")).unwrap();
    place
        .ends(&["run", "plan.toml", "--name", "t", "--benchmarks", "others"])
        .assert_code(0);
    assert!(place.raw("t", 1).contains("42"));
}

#[test]
fn schemas_are_json_schemas() {
    let place = Place::new();
    for kind in ["plan", "lab", "benchmark", "verdict-bisect", "history"] {
        let schema: serde_json::Value =
            serde_json::from_str(&place.prints_of(&["schema", kind])).unwrap();
        assert!(
            schema["$schema"]
                .as_str()
                .unwrap()
                .contains("json-schema.org"),
            "{schema}"
        );
        assert_eq!(schema["type"], "object", "{schema}");
    }
    place.ends(&["schema", "nothing"]).assert_code(2);
}

#[test]
fn completions_are_what_each_shell_reads() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.prints_of(&["completions", shell]);
        assert!(
            script.contains("backsight") && script.contains("compare"),
            "{shell}"
        );
        place.write(shell, script);
    }
    let checked = Command::new("bash")
        .args(["-n", &place.at("bash")])
        .status()
        .unwrap();
    assert!(checked.success(), "bash doesn't read its completions");
    place.ends(&["completions", "command.com"]).assert_code(2);
}

#[test]
fn manual_pages_are_written_for_every_verb() {
    let place = Place::new();
    place.ends(&["man", "pages"]).assert_code(0);
    for verb in VERBS {
        let page = place.read(&format!("pages/backsight-{verb}.1"));
        assert!(page.contains(".SH NAME"), "{verb}");
    }
    assert!(exists(&place.path("pages/backsight.1")));
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let place = Place::new();
    place.prints("much", "seq 20000; echo 42");
    place.plan("use = [\"much\"]\nrounds = 1\n");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    let program = env!("CARGO_BIN_EXE_backsight");
    for arguments in [
        "show s --trial 1 --raw",
        "list benchmarks",
        "schema plan",
        "completions zsh",
        "show s --documents",
        "compare s s",
        "studies",
    ] {
        // `head -c 0` closes the pipe before anything can be written.
        let pipe = format!("{{ {program} {arguments}; echo status $? >&2; }} | head -c 0");
        let ended = Running::start(place.put(Command::new("sh"), &["-c", &pipe])).ends();
        ended.assert_says(&["status 0"]);
        assert!(!ended.stderr.contains("panic"), "{arguments}: {ended:?}");
    }
}

#[test]
fn a_study_goes_on_when_whoever_watched_it_has_gone() {
    let place = Place::new();
    place.logged("logged");
    place.prints("failing", "exit 3");
    place.plan("use = [\"logged\", \"failing\"]\nrounds = 3\n");
    for (study, watching) in [("quiet", ""), ("events", "--json")] {
        let mut command = place.command(&["run", "plan.toml", "--name", study]);
        command.args(watching.split_whitespace());
        // Both streams are pipes that nobody reads any more.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command
            .stdin(Stdio::null())
            .stdout(writer.try_clone().unwrap())
            .stderr(writer);
        let status = command.status().unwrap();
        assert_eq!(status.code(), Some(1), "{study}");
        let row = place.study(study);
        assert_eq!(
            (&row["measured"], &row["failed"], &row["state"]),
            (&3.into(), &3.into(), &"finished".into()),
            "{row}"
        );
    }
    place.assert_nothing_left();
}

#[test]
fn a_definition_that_cannot_be_read_keeps_no_other_from_being_listed() {
    let place = Place::new();
    place.write("benchmarks/broken.toml", "name = ");
    let ended = place.ends(&["list", "benchmarks"]);
    ended.assert_code(1);
    assert!(ended.stdout().contains("sysbench-cpu"));
    ended.assert_says(&["broken.toml", "string values must be quoted"]);
    let ended = place.ends(&["lint", "nosuch"]);
    ended.assert_code(2);
    ended.assert_says(&["nosuch isn't there"]);
    let ended = place.ends(&["run", "--use", "sysbench-cpu", "--rounds", "0"]);
    ended.assert_code(2);
    ended.assert_says(&["a whole number from 1"]);
}
