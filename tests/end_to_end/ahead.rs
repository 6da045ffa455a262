//! Builds made while another machine measures, through the real binary: the machine is this one with another boot id,
//! reached by a stand-in for `ssh` that runs what it is told.

use backsight_test_needs::Need;
use std::{fs, process::Command};

use crate::{
    far::release,
    place::{Place, VALUE},
    running::{Ended, Running},
    stepping::{self, commits, step},
};

/// In the place of `ssh`: the words before the login are the connection's.
const SSH: &str = r#"#!/bin/sh
while [ "$1" != -- ]; do shift; done
exec unshare --mount --propagation private sh -c '
    mount --bind @/home /root && mount --bind @/boot_id /proc/sys/kernel/random/boot_id && exec sh -c "$1"' sh "$3"
"#;

/// A place whose host is another machine; none where that can't be.
fn place() -> Option<Place> {
    if Need::Root.is_missing() {
        return None;
    }
    let place = stepping::place();
    let here = place.at("").trim_end_matches('/').to_owned();
    for folder in ["home", "bin"] {
        fs::create_dir(place.path(folder)).unwrap();
    }
    place.write("boot_id", "another\n");
    place.script("bin/ssh", &SSH.replace('@', &here));
    let lab = format!("name = \"{0}\"\n[host.{0}]\nkind = \"ssh\"\n", place.name);
    place.write("lab.toml", lab);
    place.benchmark(
        "tool",
        &format!("[tester]\nrun = [\"@/step run\", \"sh {{build}}/tool\"]\n{VALUE}"),
    );
    Some(place)
}

fn begins(place: &Place, arguments: &[&str]) -> Running {
    let mut command: Command = place.put(Command::new(release()), arguments);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", place.at("bin")));
    Running::start(command)
}

/// What an event says that is of a build made ahead.
const AHEAD: &str = "\"ahead\":true";

fn events(ended: &Ended) -> String {
    String::from_utf8(ended.bytes.clone()).unwrap()
}

#[test]
fn a_version_is_built_while_another_machine_measures_and_a_kill_of_both_loses_nothing() {
    let Some(place) = place() else { return };
    commits(&place, &[10, 20, 30]);
    place.hold("run", 1);
    place.hold("build", 2);
    let forward = ["--order", "forward", "--repeat", "1", "--name", "s"];
    let run = begins(&place, &step("v1", "v3", &forward));
    // Both wait at the same time.
    place.until_held("run");
    place.until_held("build");
    run.after_sigkill();
    for held in ["run", "build"] {
        place.release(held);
    }
    place.assert_nothing_left();
    assert_eq!(place.study("s")["measured"], 0);
    let resumed = begins(&place, &["resume", "s", "--json"]).ends();
    resumed.assert_code(0);
    let row = place.study("s");
    assert_eq!(
        (row["measured"].as_u64(), row["state"].as_str()),
        (Some(3), Some("finished")),
        "{row}"
    );
    assert_eq!(place.calls("build"), 4, "what was killed is made again");
    assert!(events(&resumed).contains(AHEAD), "{}", events(&resumed));
    // Where it isn't wanted, it isn't done.
    let all = [
        "--order",
        "forward",
        "--repeat",
        "1",
        "--json",
        "--no-builds-ahead",
    ];
    let none = [&all[..], &["--name", "t"]].concat();
    fs::remove_dir_all(place.path("store/targets/app/builds")).unwrap();
    place.write(
        "benchmarks/tool.toml",
        place
            .read("benchmarks/tool.toml")
            .replace("step run", "step run 2"),
    );
    let plain = begins(&place, &step("v1", "v3", &none)).ends();
    plain.assert_code(0);
    assert!(!events(&plain).contains(AHEAD), "{}", events(&plain));
    assert_eq!(place.calls("build"), 7);
    place.assert_nothing_left();
}
