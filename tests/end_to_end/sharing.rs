//! A store in a PostgreSQL database, as controllers share it: the same verbs, and copies from and to folders.

use backsight_test_needs::{Need, PostgresServer};
use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
};
use std::{
    fs,
    io::{Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    process::Command,
    thread,
    time::Duration,
};

use crate::{
    exit_statuses::quick,
    place::Place,
    processes,
    running::{Ended, Running},
};

/// A place whose store is in a database.
struct SharedPlace {
    place: Place,
    url: String,
}

impl SharedPlace {
    fn new() -> Self {
        let place = Place::new();
        place.prints("number", "echo 1234567.75");
        place.plan("use = [\"number\"]\nrounds = 2\n");
        Self {
            place,
            url: PostgresServer::shared().new_database(),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(arguments);
        command
            .env("BACKSIGHT_STORE", &self.url)
            .env("XDG_DATA_HOME", self.place.path("data"));
        command
    }

    fn ends(&self, arguments: &[&str]) -> Ended {
        Running::start(self.command(arguments)).ends()
    }

    fn prints_of(&self, arguments: &[&str]) -> String {
        let ended = self.ends(arguments);
        ended.assert_code(0);
        ended.stdout()
    }

    /// The studies, the newest first.
    fn studies(&self) -> serde_json::Value {
        serde_json::from_str(&self.prints_of(&["studies", "--json"])).unwrap()
    }
}

#[test]
fn the_verbs_are_the_same_with_a_store_in_a_database() {
    if Need::PostgresqlServer.is_missing() {
        return;
    }
    let shared = SharedPlace::new();
    for study in ["a", "b"] {
        shared.prints_of(&["run", "plan.toml", "--name", study]);
    }
    let shown = shared.prints_of(&["show", "a", "--trial", "1", "--raw"]);
    assert!(shown.contains("1234567.75"), "{shown}");
    for (arguments, says) in [
        (&["studies"][..], "finished"),
        (&["compare", "a", "b"], "number"),
        (&["export", "a", "--format", "csv"], "1234567.75"),
        (&["store", "check"], "sound"),
        (&["prune", "--dry-run"], ""),
        (
            &["queue", "add", "--", "run", "plan.toml", "--name", "c"],
            "1",
        ),
        (&["queue", "worker", "--until-empty"], ""),
        (&["show", "c"], "number"),
        (&["delete", "c"], ""),
    ] {
        let said = shared.prints_of(arguments);
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
    shared.prints_of(&["report", "a", "-o", "a.html"]);
    assert!(
        !shared.place.path("store").exists(),
        "nothing is in a folder"
    );
}

#[test]
fn a_store_is_copied_into_a_database_and_back() {
    if Need::PostgresqlServer.is_missing() {
        return;
    }
    let shared = SharedPlace::new();
    let place = &shared.place;
    place.prints_of(&["run", "plan.toml", "--name", "a"]);
    shared.prints_of(&["run", "plan.toml", "--name", "a"]);
    let copy = |from: &str, to: &str, says: &[&str]| {
        let ended = place.ends(&["store", "copy", from, to]);
        ended.assert_code(0);
        ended.assert_says(says);
    };
    let (folder, back) = (place.at("store"), place.at("back"));
    copy(
        &folder,
        &shared.url,
        &["a copied as a-2", "2 trials, 2 samples", "0 there already"],
    );
    copy(
        &folder,
        &shared.url,
        &["0 of 1 studies copied", "1 there already"],
    );
    copy(&shared.url, &back, &["2 of 2 studies copied"]);
    let numbers = |store: &str, study: &str| {
        let arguments = ["--store", store, "export", study, "--format", "csv"];
        place.prints_of(&arguments).replace("a-2", "a")
    };
    assert_eq!(numbers(&folder, "a"), numbers(&back, "a-2"));
    let checked = place.prints_of(&["--store", &back, "store", "check"]);
    assert!(checked.contains("sound"), "{checked}");

    for (from, to, says) in [
        (&folder, &folder, "copied into itself"),
        (&place.at("nowhere"), &back, "there is no store in"),
    ] {
        let ended = place.ends(&["store", "copy", from, to]);
        ended.assert_code(2);
        ended.assert_says(&[says]);
    }
    place
        .ends(&["store", "copy", &folder, &back, "nosuch"])
        .assert_code(2);
}

#[test]
fn a_named_study_that_is_being_measured_isnt_copied_which_its_status_says() {
    let place = quick();
    place.hold("run", 1);
    let measuring = Running::start(place.command(&["run", "plan.toml", "--name", "m"]));
    place.until_held("run");
    let (from, to) = (place.at("store"), place.at("copy"));
    let copy = |studies: &[&str], status: i32| {
        let ended = place.ends(&[&["store", "copy", &from, &to], studies].concat());
        ended.assert_code(status);
        ended.assert_says(&["m is being measured: it isn't copied"]);
    };
    copy(&["m"], 1);
    copy(&[], 0);
    place.release("run");
    measuring.ends().assert_code(0);
    place
        .ends(&["store", "copy", &from, &to, "m"])
        .assert_code(0);
}

#[test]
fn a_database_that_is_away_is_said_without_its_password() {
    let place = Place::new();
    for (url, says) in [
        ("postgres://me:s3cret@127.0.0.1:1/lab", "can't be reached"),
        ("postgres://me:s3cret@127.0.0.1", "names no database"),
    ] {
        for arguments in [&["studies"][..], &["store", "copy", url, "folder"]] {
            let mut command = place.command(arguments);
            command
                .env("BACKSIGHT_STORE", url)
                .env("XDG_DATA_HOME", place.path("data"));
            let ended = Running::start(command).ends();
            ended.assert_code(2);
            ended.assert_says(&[says]);
            assert!(!ended.stderr.contains("s3cret"), "{}", ended.stderr);
        }
    }
    assert!(!place.path("data").exists() && !place.path("folder").exists());
}

#[test]
fn a_trial_that_was_measured_while_the_server_was_away_is_handed_in_by_whoever_goes_on() {
    if Need::PostgresqlServer.is_missing() {
        return;
    }
    let server = PostgresServer::start("away");
    let shared = SharedPlace {
        place: Place::new(),
        url: server.new_database(),
    };
    let place = &shared.place;
    // The second trial is under way until it is told to end.
    place.write(
        "work.sh",
        "cd \"$(dirname \"$0\")\"\necho run >> runs\nif [ \"$(wc -l < runs)\" = 2 ]; then\n  touch inside\n  until [ -e go ]; do sleep 0.02; done\nfi\necho 42\n",
    );
    place.prints("number", &format!("sh {}", place.at("work.sh")));
    place.plan("use = [\"number\"]\nrounds = 3\n");
    let run = Running::start(shared.command(&["run", "plan.toml", "--name", "s"]));
    processes::until("the second trial is under way", || {
        place.path("inside").exists()
    });
    let waiting = || {
        let controllers = fs::read_dir(place.path("data/backsight/controller")).unwrap();
        let spools = controllers.map(|entry| entry.unwrap().path().join("spool"));
        let files = spools
            .filter_map(|spool| fs::read_dir(spool).ok())
            .flatten()
            .map(|file| file.unwrap().path());
        // One that is being written doesn't wait yet.
        files.filter(|file| file.extension().is_none()).count()
    };
    server.crash(|| {
        place.write("go", "");
        processes::until("the trial waits", || waiting() == 1);
        run.after_sigkill();
    });
    let resumed = shared.ends(&["resume", "s"]);
    resumed.assert_code(0);
    resumed.assert_says(&["1 trial that waited here for its server"]);
    assert_eq!(waiting(), 0);
    assert_eq!(
        place.read("runs").lines().count(),
        3,
        "nothing is measured twice"
    );
    let studies = shared.studies();
    assert_eq!(studies[0]["measured"], 3, "{studies:#}");
}

/// Takes this thread, and whatever it starts from now on, into a mount namespace of its own.
fn leave_mounts() {
    unshare(CloneFlags::CLONE_FS | CloneFlags::CLONE_NEWNS).unwrap();
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>).unwrap();
}

#[test]
fn a_full_database_ends_the_study_with_what_to_do_and_with_room_it_goes_on() {
    if Need::PostgresqlServer.is_missing() || Need::Root.is_missing() {
        return;
    }
    leave_mounts();
    let server = PostgresServer::start("full");
    let (url, disk) = server.new_database_on_small_disk(20 << 20);
    let shared = SharedPlace {
        place: Place::new(),
        url,
    };
    let place = &shared.place;
    // Two megabytes of output a trial that can't be packed.
    place.benchmark(
        "number",
        "[tester]\nrun = '''head -c 1500000 /dev/urandom | base64; echo; echo is 42'''\n\
         [metric.value]\nunit = \"s\"\nbetter = \"lower\"\nregex = 'is (?<value>42)'\n",
    );
    place.plan("use = [\"number\"]\nrounds = 12\n");
    let full = shared.ends(&["run", "plan.toml", "--name", "s"]);
    full.assert_code(1);
    full.assert_says(&[
        "is full",
        "nothing half-written was kept",
        "backsight resume s",
    ]);
    shared.prints_of(&["store", "check"]);
    disk.grow(200 << 20);
    shared.prints_of(&["resume", "s"]);
    let studies = shared.studies();
    assert_eq!(studies[0]["measured"], 12, "{studies:#}");
    shared.prints_of(&["store", "check"]);
}

/// Passes on what comes from one side, each time after a while.
fn pass_on(mut from: UnixStream, mut to: UnixStream, after: Duration) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        thread::sleep(after);
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    // Whoever is at the other end is told.
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// A way to a server in which each question is so long under way.
fn slow_way(server: &Path, to: &Path, delay: Duration) {
    const SOCKET: &str = ".s.PGSQL.5432";
    let listener = UnixListener::bind(to.join(SOCKET)).unwrap();
    let server = server.join(SOCKET);
    thread::spawn(move || {
        for client in listener.incoming().map(Result::unwrap) {
            let there = UnixStream::connect(&server).unwrap();
            let (from, back) = (client.try_clone().unwrap(), there.try_clone().unwrap());
            thread::spawn(move || pass_on(from, there, delay));
            thread::spawn(move || pass_on(back, client, Duration::ZERO));
        }
    });
}

#[test]
fn a_server_that_answers_late_loses_and_doubles_nothing() {
    if Need::PostgresqlServer.is_missing() {
        return;
    }
    let server = PostgresServer::shared();
    let mut shared = SharedPlace::new();
    let place = Place::new();
    slow_way(server.folder(), &place.path(""), Duration::from_millis(20));
    let direct = server.folder().display().to_string();
    shared.url = shared.url.replace(&direct, &place.at(""));
    let runs = ["a", "b"].map(|study| {
        Running::start(shared.command(&["run", "plan.toml", "--name", study, "--wait", "2m"]))
    });
    for run in runs {
        run.ends().assert_code(0);
    }
    let studies = shared.studies();
    for study in [0, 1] {
        assert_eq!(studies[study]["measured"], 2, "{studies:#}");
    }
    shared.prints_of(&["store", "check"]);
}

/// A library that moves the clock of a program by `CLOCK_SHIFT` seconds.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    const char *shift = getenv("CLOCK_SHIFT");
    int ended = syscall(SYS_clock_gettime, clock, now);
    if (!ended && clock == CLOCK_REALTIME && shift) now->tv_sec += atol(shift);
    return ended;
}
"#;

#[test]
fn controllers_whose_clocks_are_hours_apart_share_studies_and_the_queue() {
    if Need::PostgresqlServer.is_missing() {
        return;
    }
    let shared = SharedPlace::new();
    let place = &shared.place;
    place.write("clock.c", CLOCK);
    let library = place.at("clock.so");
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-o", &library, &place.at("clock.c")])
        .status();
    assert!(made.unwrap().success());
    let at = |hours: i64, arguments: &[&str]| {
        let mut command = shared.command(arguments);
        command
            .env("LD_PRELOAD", &library)
            .env("CLOCK_SHIFT", (hours * 3600).to_string());
        Running::start(command)
    };
    let begun = |study: usize| {
        let studies = shared.studies();
        let began: jiff::Timestamp = studies[study]["began"].as_str().unwrap().parse().unwrap();
        let ahead = began.duration_since(jiff::Timestamp::now()).as_mins();
        (studies[study]["measured"].as_i64().unwrap(), ahead)
    };

    place.write(
        "work.sh",
        "cd \"$(dirname \"$0\")\"\necho run >> runs\nuntil [ -e go ]; do sleep 0.02; done\necho 42\n",
    );
    place.prints("number", &format!("sh {}", place.at("work.sh")));
    let ahead = at(1, &["run", "plan.toml", "--name", "s"]);
    processes::until("a trial is under way", || place.path("runs").exists());
    // Of both it is the clock of the database that says who is alive.
    for hours in [0, -1] {
        let refused = at(hours, &["resume", "s"]).ends();
        refused.assert_code(2);
        refused.assert_says(&["is running"]);
    }
    ahead.after_sigkill();
    place.write("go", "");
    at(-1, &["resume", "s"]).ends().assert_code(0);
    let (measured, minutes) = begun(0);
    assert_eq!(measured, 2);
    assert!(minutes > 50, "the clock was {minutes} minutes ahead");

    at(
        1,
        &["queue", "add", "--", "run", "plan.toml", "--name", "q"],
    )
    .ends()
    .assert_code(0);
    let work = at(-1, &["queue", "worker", "--until-empty"]).ends();
    work.assert_code(0);
    work.assert_says(&["1 done"]);
    assert_eq!(begun(0).0, 2);
    shared.prints_of(&["store", "check"]);
}
