//! A store that was damaged, lost in part, or can't be written: what is wrong is found and named, what can be mended is
//! mended, and nothing that was changed since it was recorded is shown as a measurement.

use backsight_test_needs::Need;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    place::Place,
    running::{Ended, Running},
};

/// A number that stands nowhere else in a store.
const NUMBER: f64 = 1_234_567.75;

/// A place with a study `s` of two trials that print [`NUMBER`] and nothing of which is in the database's log.
fn place() -> Place {
    let place = Place::new();
    place.prints("number", "echo 1234567.75");
    place.plan("use = [\"number\"]\nrounds = 2\n");
    place.prints_of(&["run", "plan.toml", "--name", "s"]);
    settled(&place);
    place
}

/// Asserts that the store is sound; its database is whole in its file then.
fn settled(place: &Place) {
    let said = place.prints_of(&["store", "check"]);
    assert!(said.contains(": sound"), "{said}");
    assert!(!place.path("store/backsight.db-wal").exists());
}

/// Flips a bit in this occurrence, from 0, of a number in the database's file.
fn flip(place: &Place, number: f64, occurrence: usize) {
    let mut bytes = fs::read(place.path("store/backsight.db")).unwrap();
    let sought = number.to_le_bytes();
    let places: Vec<usize> = bytes
        .windows(sought.len())
        .enumerate()
        .filter(|(_, window)| **window == sought)
        .map(|(at, _)| at)
        .collect();
    let at = places[occurrence];
    bytes[at + 5] ^= 0x04;
    place.write("store/backsight.db", bytes);
}

/// The files of what the trials printed: a text so short stands in them as it is.
fn objects(place: &Place) -> Vec<PathBuf> {
    let mut outputs = all_objects(place);
    let number = NUMBER.to_string();
    outputs.retain(|file| {
        let bytes = fs::read(file).unwrap();
        let mut parts = bytes.windows(number.len());
        parts.any(|part| part == number.as_bytes())
    });
    outputs
}

/// The files of all raw objects.
fn all_objects(place: &Place) -> Vec<PathBuf> {
    let files = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let folders = files(&place.path("store/raw")).into_iter();
    let mut found: Vec<PathBuf> = folders.flat_map(|folder| files(&folder)).collect();
    found.sort();
    found
}

fn tear(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    bytes.truncate(bytes.len() / 2);
    fs::write(file, bytes).unwrap();
}

/// The trial of this number in a message, in whatever way its lines are broken.
fn assert_names(ended: &Ended, words: &[&str]) {
    let said = format!("{} {}", ended.stdout(), ended.stderr);
    let said = said.replace('│', " ");
    let said: Vec<&str> = said.split_whitespace().collect();
    let said = said.join(" ");
    for words in words {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_flipped_bit_in_a_stored_sample_is_found_by_whatever_reads_it_and_mended() {
    let place = place();
    place.prints_of(&["run", "plan.toml", "--name", "sound"]);
    settled(&place);
    flip(&place, NUMBER, 1);
    let damaged = place.ends(&["store", "check"]);
    damaged.assert_code(1);
    assert_names(&damaged, &["aren't what was recorded: --repair"]);
    let said = damaged.stdout();
    let study = if said.contains("study `s`") {
        "s"
    } else {
        "sound"
    };
    let trial = if said.contains("trial 1 of") { 1 } else { 2 };
    let place_of = format!("the samples of trial {trial} of study `{study}`");
    assert_names(&damaged, &[&place_of, "1 thing is damaged"]);
    for reads in [
        &["show", study][..],
        &["compare", "s", "sound"],
        &["export", study, "--format", "csv"],
        &["report", study, "-o", "page.html"],
        &["detect", study],
    ] {
        let ended = place.ends(reads);
        ended.assert_code(2);
        assert_names(
            &ended,
            &[
                &format!("trial {trial} of study `{study}`"),
                "backsight store check --repair",
            ],
        );
    }
    let mended = place.ends(&["store", "check", "--repair"]);
    mended.assert_code(0);
    assert_names(&mended, &[&format!("mended: {place_of}")]);
    settled(&place);
    let exported = place.prints_of(&["export", study, "--format", "csv"]);
    assert_eq!(exported.matches("1234567.75").count(), 2, "{exported}");
}

#[test]
fn a_damaged_output_is_named_and_printing_it_again_heals_it() {
    let place = place();
    let [object] = &objects(&place)[..] else {
        panic!("the same output is kept once")
    };
    tear(object);
    let damaged = place.ends(&["store", "check", "--repair"]);
    damaged.assert_code(1);
    assert_names(
        &damaged,
        &["what was printed in trial 1 of study `s`, trial 2 of study `s` can't be mended"],
    );
    place.prints_of(&["run", "plan.toml", "--name", "again"]);
    assert!(place.raw("again", 1).contains("1234567.75"));
    assert!(place.raw("s", 2).contains("1234567.75"));
    settled(&place);
}

#[test]
fn a_trial_of_which_everything_is_damaged_becomes_a_failed_one() {
    let place = place();
    flip(&place, NUMBER, 0);
    tear(&objects(&place)[0]);
    let damaged = place.ends(&["store", "check"]);
    damaged.assert_code(1);
    assert_names(
        &damaged,
        &[
            "aren't what was recorded, and can't be mended: raw output",
            "2 things are damaged",
        ],
    );
    place.ends(&["store", "check", "--repair"]).assert_code(1);
    let trials = place.trials("s");
    assert_eq!(trials.iter().filter(|trial| trial.measured()).count(), 1);
    let lost = trials.iter().find(|trial| !trial.measured()).unwrap();
    assert!(
        lost.outcome
            .contains("its samples were damaged in the store"),
        "{lost:?}"
    );
}

#[test]
fn imported_samples_are_taken_from_their_files_again() {
    let place = Place::new();
    place.write("table.csv", "rate,n\n1234567.75,1\n2.5,1\n");
    let import = [
        "import",
        "csv",
        "table.csv",
        "--value",
        "rate",
        "--param",
        "n",
        "--unit",
        "MB/s",
        "--better",
        "rate=higher",
    ];
    place.prints_of(&import);
    settled(&place);
    fs::remove_file(place.path("table.csv")).unwrap();
    flip(&place, NUMBER, 0);
    let damaged = place.ends(&["store", "check"]);
    damaged.assert_code(1);
    assert_names(
        &damaged,
        &["the samples of trial 1 of study `table` aren't what was recorded: --repair"],
    );
    place.ends(&["store", "check", "--repair"]).assert_code(0);
    settled(&place);
    let exported = place.prints_of(&["export", "table", "--format", "csv"]);
    assert!(exported.contains("1234567.75"), "{exported}");
}

#[test]
fn numbers_of_tests_are_counted_again_in_the_files_that_were_imported() {
    const PASSED: u32 = 1367;
    let place = Place::new();
    let points: String = (1..=PASSED)
        .map(|n| format!("ok {n} - test {n}\n"))
        .collect();
    place.write("a.tap", format!("1..{PASSED}\n{points}"));
    place.prints_of(&["import", "tap", "a.tap"]);
    settled(&place);
    fs::remove_file(place.path("a.tap")).unwrap();
    flip(&place, f64::from(PASSED), 0);
    let damaged = place.ends(&["store", "check"]);
    damaged.assert_code(1);
    assert_names(
        &damaged,
        &["the samples of trial 1 of study `a` aren't what was recorded: --repair"],
    );
    place.ends(&["store", "check", "--repair"]).assert_code(0);
    settled(&place);
    let exported = place.prints_of(&["export", "a", "--format", "csv"]);
    assert!(exported.contains(",1367"), "{exported}");
}

#[test]
fn a_store_that_can_not_be_written_is_read_and_nothing_is_begun_in_it() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place();
    place.write("t.csv", "value\n1\n2\n");
    let inside = |arguments: &[&str]| {
        let store = place.at("store");
        let script = format!(
            "mount --bind '{store}' '{store}' && mount -o remount,bind,ro '{store}' && exec \"$@\""
        );
        let mut all = vec!["-m", "--propagation", "private", "sh", "-c", &script, "sh"];
        all.push(env!("CARGO_BIN_EXE_backsight"));
        all.extend(arguments);
        Running::start(place.put(Command::new("unshare"), &all)).ends()
    };
    for reads in [
        &["studies"][..],
        &["show", "s"],
        &["show", "s", "--trial", "1", "--raw"],
        &["export", "s", "--format", "csv"],
        &["report", "s", "-o", "page.html"],
        &["store", "check"],
    ] {
        inside(reads).assert_code(0);
    }
    for (writes, said) in [
        (&["delete", "s"][..], "can only be read here"),
        (
            &["run", "plan.toml", "--name", "other"],
            "mend its permissions",
        ),
        (
            &["import", "csv", "t.csv", "--unit", "s", "--better", "lower"],
            "mend its permissions",
        ),
    ] {
        let ended = inside(writes);
        ended.assert_code(2);
        assert_names(&ended, &[said]);
    }
    assert_eq!(place.trials("s").len(), 2);
    place.assert_nothing_left();
}

#[test]
fn a_lost_database_is_not_called_an_empty_store() {
    let place = place();
    for lost in [
        |file: &Path| fs::write(file, "").unwrap(),
        |file: &Path| fs::remove_file(file).unwrap(),
    ] {
        lost(&place.path("store/backsight.db"));
        for verb in [&["studies"][..], &["run", "plan.toml"], &["store", "check"]] {
            let ended = place.ends(verb);
            ended.assert_code(2);
            assert_names(&ended, &["its database was lost"]);
        }
        assert_eq!(objects(&place).len(), 1, "nothing was swept away");
    }
}

#[test]
fn a_damaged_record_of_a_host_is_named_and_removed_and_what_was_measured_stays() {
    let place = place();
    let outputs = objects(&place);
    let records = all_objects(&place);
    let record = records.iter().find(|file| !outputs.contains(file)).unwrap();
    tear(record);
    let damaged = place.ends(&["store", "check"]);
    damaged.assert_code(1);
    let sentence = "what the hosts of study `s` were can't be read in part";
    assert_names(&damaged, &[sentence, "--repair removes that part"]);
    let mended = place.ends(&["store", "check", "--repair"]);
    mended.assert_code(0);
    assert_names(&mended, &[&format!("mended: {sentence}")]);
    settled(&place);
    place.prints_of(&["record", "--of", "s"]);
    assert!(place.trials("s").iter().all(|trial| trial.measured()));
}

#[test]
fn a_study_is_not_called_like_the_number_of_one() {
    let place = place();
    let ended = place.ends(&["run", "plan.toml", "--name", "7"]);
    ended.assert_code(2);
    assert_names(&ended, &["a study can't be called `7`"]);
    place.write("2026.csv", "value\n1\n2\n");
    let import = [
        "import", "csv", "2026.csv", "--unit", "s", "--better", "lower",
    ];
    let ended = place.ends(&import);
    ended.assert_code(2);
    assert_names(&ended, &["2026.csv can't be a study's name", "--as NAME"]);
    let named = [&import[..], &["--as", "year-2026"]].concat();
    place.prints_of(&named);
}
