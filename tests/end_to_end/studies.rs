//! Studies in the store: listed, shown, deleted; result sets without any file.

use crate::place::{Place, exists};

#[test]
fn a_study_without_any_file_measures_this_machine() {
    let place = Place::new();
    for file in ["lab.toml", "plan.toml", "benchmarks"] {
        let _ = std::fs::remove_file(place.path(file));
    }
    // Other tests, and people, may be measuring on this machine.
    let arguments = [
        "run",
        "--use",
        "perf-sched-pipe,hackbench",
        "--rounds",
        "1",
        "--name",
        "quick",
        "--wait",
        "50s",
    ];
    let ended = place.ends(&arguments);
    assert!(matches!(ended.status.code(), Some(0 | 1)), "{ended:?}");
    let row = place.study("quick");
    assert_eq!(
        (&row["cells"], &row["state"]),
        (&2.into(), &"finished".into()),
        "{row}"
    );
    let trials = place.trials("quick");
    let hackbench = trials
        .iter()
        .find(|trial| trial.cell.starts_with("hackbench"))
        .unwrap();
    assert!(hackbench.measured(), "{trials:#?}");
    place.assert_nothing_left();
}

#[test]
fn studies_are_listed_shown_and_deleted() {
    let place = Place::new();
    let none = place.ends(&["studies"]);
    none.assert_code(2);
    none.assert_says(&["there is no store", "backsight run"]);
    place.prints("one", "echo 42 of one");
    place.prints("two", "echo 43 of two; echo said in vain >&2");
    place.plan("use = [\"one\", \"two\"]\nrounds = 2\nseed = 5\n");
    place
        .ends(&["run", "plan.toml", "--name", "first"])
        .assert_code(0);
    place
        .ends(&[
            "run",
            "plan.toml",
            "--name",
            "second",
            "--use",
            "two",
            "--rounds",
            "1",
        ])
        .assert_code(0);

    let list = place.prints_of(&["studies"]);
    assert!(
        list.contains("first") && list.contains("second") && list.contains("finished"),
        "{list}"
    );
    let row = place.study("first");
    assert_eq!(
        (&row["cells"], &row["measured"], &row["seed"]),
        (&2.into(), &4.into(), &5.into()),
        "{row}"
    );
    place.assert_complete("first", 2, 2);
    place.assert_complete("second", 1, 1);
    assert_eq!(
        place.prints_of(&["show", "1"]),
        place.prints_of(&["show", "first"]),
        "a number is as good as a name"
    );

    let page = place.prints_of(&["show", "second", "--trial", "1"]);
    for part in [
        "trial 1 of second",
        "two",
        "echo 43 of two",
        "exited with code 0",
        "stdout",
        "stderr",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let raw = place.raw("second", 1);
    assert!(
        raw.contains("43 of two\n") && raw.contains("said in vain\n"),
        "{raw}"
    );
    let documents = place.prints_of(&["show", "first", "--documents"]);
    for part in [
        "seed = 5",
        "kind = \"local\"",
        "echo 42 of one",
        "echo 43 of two",
    ] {
        assert!(documents.contains(part), "{part} is not in {documents}");
    }
    assert!(
        place
            .prints_of(&["show", "first", "--hosts"])
            .contains("kernel")
    );

    for arguments in [
        &["show", "frist"][..],
        &["delete", "frist"],
        &["resume", "frist"],
        &["compare", "frist", "first"],
        &["report", "frist"],
    ] {
        let unknown = place.ends(arguments);
        unknown.assert_code(2);
        unknown.assert_says(&["`frist`", "did you mean `first`?"]);
    }
    place
        .ends(&["show", "first", "--trial", "99"])
        .assert_code(2);

    let before = objects(&place);
    place
        .ends(&["delete", "first"])
        .assert_says(&["deleted", "first"]);
    assert!(
        objects(&place) < before,
        "raw outputs that only it had go with it"
    );
    place.ends(&["show", "first"]).assert_code(2);
    assert!(
        place.raw("second", 1).contains("43 of two\n"),
        "what another study has too stays"
    );
    place.ends(&["delete", "second"]).assert_code(0);
    assert_eq!(objects(&place), 0);
    // The name is free again.
    place
        .ends(&["run", "plan.toml", "--name", "first"])
        .assert_code(0);
    place.assert_complete("first", 2, 2);
}

/// How many raw outputs the store has.
fn objects(place: &Place) -> usize {
    let folders = std::fs::read_dir(place.path("store/raw")).unwrap();
    folders
        .map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count())
        .sum()
}

#[test]
fn a_study_is_in_the_store_of_the_nearest_project() {
    let place = Place::new();
    place.prints("one", "echo 42");
    place.plan("use = [\"one\"]\nrounds = 1\n");
    std::fs::create_dir_all(place.path(".backsight")).unwrap();
    std::fs::create_dir_all(place.path("deep/below")).unwrap();
    let mut command = place.command(&["run", "../../plan.toml"]);
    command
        .current_dir(place.path("deep/below"))
        .env_remove("BACKSIGHT_STORE");
    crate::running::Running::start(command)
        .ends()
        .assert_code(0);
    assert!(exists(&place.path(".backsight/backsight.db")));
}

#[test]
fn a_variants_commands_run_in_their_plans_folder() {
    let place = Place::new();
    place.logged("logged");
    place.plan(
        "use = [\"logged\"]\nrounds = 1\n[[variant]]\nname = \"v\"\ntester.setup = \"cat rules\"\n",
    );
    place.write("rules", "drop everything\n");
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    let mut command = place.command(&["run", "../plan.toml", "--name", "s"]);
    command.current_dir(place.path("elsewhere"));
    crate::running::Running::start(command)
        .ends()
        .assert_code(0);
    assert!(place.raw("s", 1).contains("drop everything"));
}

#[test]
fn a_damaged_store_says_so() {
    let place = Place::new();
    place.prints("one", "echo 42");
    place.plan("use = [\"one\"]\nrounds = 1\n");
    std::fs::create_dir(place.path("store")).unwrap();
    place.write("store/backsight.db", [b'x'; 8192]);
    for arguments in [&["run", "plan.toml"][..], &["studies"], &["show", "1"]] {
        let ended = place.ends(arguments);
        ended.assert_code(2);
        ended.assert_says(&["backsight.db", "damaged"]);
    }
}

#[test]
fn a_missing_raw_output_says_so_and_hides_nothing_else() {
    let place = Place::new();
    place.prints("one", "echo 42");
    place.plan("use = [\"one\"]\nrounds = 1\n");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    std::fs::remove_dir_all(place.path("store/raw")).unwrap();
    assert!(place.trials("s")[0].measured());
    place.ends(&["compare", "s", "s"]).assert_code(0);
    let ended = place.ends(&["show", "s", "--trial", "1", "--raw"]);
    ended.assert_code(2);
    ended.assert_says(&["raw"]);
}

#[test]
fn a_finished_study_resumes_without_measuring() {
    let place = Place::new();
    place.logged("logged");
    place.plan("use = [\"logged\"]\nrounds = 2\n");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    let calls = place.calls("run");
    place.ends(&["resume", "s"]).assert_code(0);
    assert_eq!(place.calls("run"), calls);
    place.assert_complete("s", 1, 2);
}

#[test]
fn a_quiet_run_says_nothing_that_it_need_not() {
    let place = Place::new();
    place.prints("one", "echo 42");
    place.plan("use = [\"one\"]\nrounds = 1\n");
    let ended = place.ends(&["run", "plan.toml", "--quiet"]);
    ended.assert_code(0);
    assert!(ended.bytes.is_empty(), "{ended:?}");
    assert!(ended.stderr.lines().count() <= 1, "{ended:?}");
}

#[test]
fn progress_on_a_terminal_shows_what_runs() {
    let place = Place::new();
    place.logged("logged");
    place.plan("use = [\"logged\"]\nrounds = 2\n");
    let run = format!("{} run plan.toml --name s", env!("CARGO_BIN_EXE_backsight"));
    let mut command = place.put(
        std::process::Command::new("script"),
        &["-qec", &run, "/dev/null"],
    );
    command.env("TERM", "xterm");
    place.hold("run", 2);
    let running = crate::running::Running::start(command);
    place.until_held("run");
    place.release("run");
    let ended = running.ends();
    ended.assert_code(0);
    ended.assert_says(&["round 2 of 2", "logged", "1/2"]);
    place.assert_complete("s", 1, 2);
}
