//! A disk that is full: what can't be kept isn't measured on, what was kept stays, and with room it goes on.

use backsight_test_needs::Need;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command, Stdio},
};

use crate::{
    place::{Place, VALUE, exists},
    running::{Ended, Running},
};

/// A private mount namespace with a small disk at a folder of a place.
struct SmallDisk<'a> {
    place: &'a Place,
    folder: String,
    /// Keeps the namespace; ends when its standard input does.
    holder: Child,
}

impl<'a> SmallDisk<'a> {
    fn at(place: &'a Place, folder: &str, size: &str) -> Self {
        std::fs::create_dir_all(place.path(folder)).unwrap();
        let folder = place.at(folder);
        let mount =
            format!("mount -t tmpfs -o size={size} disk '{folder}' && echo mounted && read -r end");
        let mut unshare = place.put(Command::new("unshare"), &["-m", "sh", "-c", &mount]);
        let mut holder = unshare
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "mounted\n");
        Self {
            place,
            folder,
            holder,
        }
    }

    fn inside(&self, arguments: &[&str]) -> Running {
        let holder = self.holder.id().to_string();
        // `nsenter` leaves the working folder behind.
        let go_there = "cd \"$0\" && exec \"$@\"";
        let there = self.place.at("");
        let mut all = vec!["-t", &holder, "-m", "sh", "-c", go_there, &there];
        all.extend(arguments);
        Running::start(self.place.put(Command::new("nsenter"), &all))
    }

    fn backsight(&self, arguments: &[&str]) -> Ended {
        let mut all = vec![env!("CARGO_BIN_EXE_backsight")];
        all.extend(arguments);
        self.inside(&all).ends()
    }

    fn grow(&self, size: &str) {
        let option = format!("remount,size={size}");
        self.inside(&["mount", "-o", &option, &self.folder])
            .ends()
            .assert_code(0);
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        drop(
            self.holder
                .stdin
                .take()
                .map(|mut input| input.write_all(b"\n")),
        );
        let _ = self.holder.wait();
    }
}

/// A benchmark that prints a megabyte that hardly can be compressed.
fn large() -> Place {
    let place = Place::new();
    place.benchmark(
        "large",
        &format!("[tester]\nrun = \"@/step run; echo 42; base64 -w 100 /dev/urandom | head -c 1000000 >&2\"\n{VALUE}"),
    );
    place.plan(
        "use = [\"large\"]\nrounds = 6\n[[variant]]\nname = \"v\"\n\
         tester.setup = \"mkdir @/set-up\"\ntester.teardown = \"rmdir @/set-up\"\n",
    );
    place
}

/// The number of trials that the only study has kept; none of them failed.
fn kept(disk: &SmallDisk<'_>) -> usize {
    let list = disk.backsight(&["studies", "--json"]);
    list.assert_code(0);
    let list: serde_json::Value = serde_json::from_str(&list.stdout()).unwrap();
    assert_eq!(
        list[0]["failed"], 0,
        "a trial that can't be kept isn't there: {list}"
    );
    usize::try_from(list[0]["measured"].as_u64().unwrap()).unwrap()
}

#[test]
fn a_full_disk_ends_the_study_with_what_to_do_and_with_room_it_goes_on() {
    if Need::Root.is_missing() {
        return;
    }
    let place = large();
    let disk = SmallDisk::at(&place, "store", "4m");
    let ended = disk.backsight(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&["full", "make room", "backsight resume s"]);
    assert!(
        !exists(&place.path("set-up")),
        "the variant's set-up is left behind"
    );

    let measured = kept(&disk);
    assert!(
        (1..6).contains(&measured),
        "what was measured before is kept: {measured}"
    );
    let before = place.calls("run");
    assert_eq!(before, measured + 1, "nothing is measured on a full disk");

    disk.backsight(&["resume", "s"])
        .assert_says(&["full", "make room"]);
    // What the trial that didn't fit had taken is free again: it may be enough for one that packs better.
    let measured = kept(&disk);

    disk.grow("64m");
    let before = place.calls("run");
    disk.backsight(&["resume", "s"]).assert_code(0);
    assert_eq!(place.calls("run") - before, 6 - measured, "the rest, once");
    let shown = disk.backsight(&["studies", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&shown.stdout()).unwrap();
    assert_eq!(
        (&list[0]["measured"], &list[0]["failed"], &list[0]["state"]),
        (&6.into(), &0.into(), &"finished".into())
    );
    for trial in 1..=6 {
        let raw = disk.backsight(&["show", "s", "--trial", &trial.to_string(), "--raw"]);
        raw.assert_code(0);
        assert!(
            raw.bytes.len() > 1_000_000,
            "raw output of trial {trial} is whole"
        );
    }
}

#[test]
fn a_disk_without_room_for_a_store_refuses_the_study() {
    if Need::Root.is_missing() {
        return;
    }
    let place = large();
    let disk = SmallDisk::at(&place, "store", "16k");
    let ended = disk.backsight(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(2);
    ended.assert_says(&["full", "make room"]);
    assert_eq!(place.calls("run"), 0);
}

#[test]
fn a_host_without_room_for_output_fails_the_trial_with_what_to_do() {
    if Need::Root.is_missing() {
        return;
    }
    let place = large();
    let disk = SmallDisk::at(&place, "tmp", "200k");
    let ended = disk.backsight(&["run", "plan.toml", "--name", "s", "--rounds", "1"]);
    ended.assert_code(1);
    ended.assert_says(&["No space left on device"]);
    let trials = place.trials("s");
    assert!(!trials[0].measured(), "{trials:#?}");
    assert!(
        place.raw("s", 1).contains("42"),
        "what there was room for is kept"
    );
    assert!(!exists(&place.path("set-up")));
}

#[test]
fn a_disk_that_is_full_of_builds_breaks_no_version() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    place.benchmark(
        "tool",
        &format!("[tester]\nrun = \"sh {{build}}/tool\"\n{VALUE}"),
    );
    place.plan("use = [\"tool\"]\nrounds = 1\n");
    place.write(
        "app.toml",
        "name = \"app\"\nsource = { list = { versions = \"printf 'a\\\\nb\\\\nc\\\\n'\", fetch = \"echo {version} > name\" } }\n\
         build = { run = \"head -c 20000000 /dev/zero > big && echo echo 42 > tool\", keep = [\"tool\", \"big\"] }\n",
    );
    let disk = SmallDisk::at(&place, "store", "64m");
    let step = [
        "step",
        "plan.toml",
        "--target",
        "app",
        "--from",
        "a",
        "--to",
        "c",
    ];
    let ended = disk.backsight(&[&step[..], &["--name", "s"]].concat());
    ended.assert_code(1);
    assert!(ended.stderr.contains("make room"), "{}", ended.stderr);
    disk.grow("200m");
    let ended = disk.backsight(&["resume", "s"]);
    ended.assert_code(0);
    let history = disk.backsight(&["history", "--target", "app"]);
    assert!(
        history.stdout().contains("3 of 3 versions measured"),
        "{}",
        history.stdout()
    );
}
