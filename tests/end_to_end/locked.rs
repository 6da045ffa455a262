//! A store that another process has locked.
//!
//! The lock is that of any SQLite writer in write-ahead mode: a POSIX lock on the byte 120 of the `-shm` file
//! (sqlite.org/walformat.html, "WAL locks").

use nix::{
    fcntl::{FcntlArg, fcntl},
    libc,
};
use std::fs::File;

use crate::place::Place;

/// A write transaction of somebody else's, for as long as this lives.
struct Writer {
    _file: File,
}

impl Writer {
    fn begin(place: &Place) -> Self {
        let path = place.path("store/backsight.db-shm");
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .unwrap();
        let lock = libc::flock {
            l_type: libc::F_WRLCK as _,
            l_whence: libc::SEEK_SET as _,
            l_start: 120,
            l_len: 1,
            l_pid: 0,
        };
        // Waits until whoever writes just now has done so.
        fcntl(&file, FcntlArg::F_SETLKW(&lock)).unwrap();
        Self { _file: file }
    }
}

fn logged() -> Place {
    let place = Place::new();
    place.logged("logged");
    place.plan(
        "use = [\"logged\"]\nrounds = 3\n[[variant]]\nname = \"v\"\n\
         tester.setup = \"mkdir @/set-up\"\ntester.teardown = \"rmdir @/set-up\"\n",
    );
    place
}

#[test]
fn a_store_that_stays_locked_ends_the_study_with_who_locks_it_and_resume_goes_on() {
    let place = logged();
    place.hold("run", 2);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    let writer = Writer::begin(&place);
    place.release("run");
    let ended = run.ends();
    ended.assert_code(1);
    ended.assert_says(&[
        "locked",
        &format!("process {}", std::process::id()),
        "backsight resume s",
    ]);
    place.assert_nothing_left();
    assert!(!crate::place::exists(&place.path("set-up")));
    drop(writer);

    let before = place.calls("run");
    place.ends(&["resume", "s"]).assert_code(0);
    place.assert_complete("s", 1, 3);
    assert_eq!(
        place.calls("run") - before,
        2,
        "the trial that couldn't be kept is measured again, no other"
    );
}

#[test]
fn a_store_that_is_locked_for_a_moment_is_waited_for() {
    let place = logged();
    place.hold("run", 2);
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    let writer = Writer::begin(&place);
    place.release("run");
    run.until("the end of the trial's reset", |e| {
        e["event"] == "step-finished" && e["phase"] == "teardown"
    });
    drop(writer);
    run.ends().assert_code(0);
    place.assert_complete("s", 1, 3);
}

#[test]
fn a_locked_store_can_be_read() {
    let place = logged();
    place.hold("run", 2);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    let writer = Writer::begin(&place);
    assert_eq!(place.study("s")["measured"], 1);
    assert_eq!(place.trials("s").len(), 1);
    drop(writer);
    place.release("run");
    run.ends().assert_code(0);
}

#[test]
fn a_new_study_in_a_locked_store_is_refused_before_anything_is_measured() {
    let place = logged();
    place
        .ends(&["run", "plan.toml", "--name", "first"])
        .assert_code(0);
    let before = place.calls("run");
    let _writer = Writer::begin(&place);
    let refused = place.ends(&["run", "plan.toml", "--name", "second"]);
    refused.assert_code(2);
    refused.assert_says(&["locked"]);
    assert_eq!(place.calls("run"), before);
    place.assert_nothing_left();
}
