//! `backsight trace`: what a person sees of a program's calls, and what a program sees of being traced.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::{os::unix::process::ExitStatusExt as _, process::Command};

use crate::{place::Place, running::Running};

#[test]
fn a_traced_command_ends_as_it_would_untraced() {
    let place = Place::new();
    let out = place.at("out");
    place
        .ends(&["trace", "-f", "-o", &out, "sh", "-c", "exit 3"])
        .assert_code(3);
    assert!(place.read("out").ends_with("+++ exited with 3 +++\n"));
    let killed = place.ends(&["trace", "-o", &out, "sh", "-c", "kill -TERM $$"]);
    assert_eq!(killed.status.signal(), Some(15));
    place
        .ends(&["trace", "-o", &out, "--", "true", "-f"])
        .assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn each_thread_has_a_file_of_its_own_if_that_is_asked_for() {
    let place = Place::new();
    place
        .ends(&[
            "trace",
            "-ff",
            "-o",
            &place.at("out"),
            "sh",
            "-c",
            "true | cat; true",
        ])
        .assert_code(0);
    let folder = place.path("out");
    let files = std::fs::read_dir(folder.parent().unwrap())
        .unwrap()
        .filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().starts_with("out.")
        });
    assert!(files.count() >= 3);
}

#[test]
fn what_is_traced_may_go_to_a_command() {
    let place = Place::new();
    let into = format!("|cat > {}", place.at("out"));
    place.ends(&["trace", "-o", &into, "true"]).assert_code(0);
    assert!(place.read("out").contains("exited with 0"));
    // One that doesn't read to the end is no fault.
    place.ends(&["trace", "-o", "|true", "sh", "-c", "ls /"]);
    place.assert_nothing_left();
}

#[test]
fn what_cant_be_traced_is_said() {
    let place = Place::new();
    for (arguments, words) in [
        (&["trace", "no-such-program"][..], "isn't to be found"),
        (&["trace", "/"], "can't be started"),
        (&["trace"], "nothing to trace"),
        (&["trace", "-k", "true"], "no stack traces"),
        (&["trace", "-e", "bogus=1", "true"], "isn't known"),
        (
            &["trace", "-e", "signal=SIGNONE", "true"],
            "no signal is named",
        ),
        (
            &["trace", "-e", "inject=1:error=ENOTHING", "true"],
            "no error is named",
        ),
        (
            &["trace", "-u", "nobody-of-this-name", "true"],
            "nobody is named",
        ),
        (&["trace", "-p", "2147483647"], "can't be attached to"),
    ] {
        let ended = place.ends(arguments);
        ended.assert_code(2);
        ended.assert_says(&[words]);
    }
}

#[test]
fn an_interrupt_lets_a_process_go_on_that_was_attached_to() {
    let place = Place::new();
    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = child.id();
    let out = place.at("out");
    let tracer = Running::start(place.command(&["trace", "-o", &out, "-p", &pid.to_string()]));
    let traced = |yes: bool| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.contains("TracerPid:\t0\n") != yes
    };
    while !traced(true) {
        std::thread::yield_now();
    }
    tracer.signal(Signal::SIGINT);
    let _either_status = tracer.ends();
    assert!(traced(false));
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_traced_command_goes_on_when_the_tracer_is_killed() {
    let place = Place::new();
    place.script("forever", "#!/bin/sh\nexec > /dev/null 2>&1\necho $$ > pid.new; mv pid.new pid; while true; do echo x > tick; sleep 0.01; done");
    let tracer = Running::start(place.command(&[
        "trace",
        "-f",
        "-o",
        &place.at("out"),
        &place.at("forever"),
    ]));
    place.until_there("tick");
    let pid: i32 = place.read("pid").trim().parse().unwrap();
    tracer.signal(Signal::SIGKILL);
    let _killed = tracer.after_sigkill();
    std::fs::remove_file(place.path("tick")).unwrap();
    place.until_there("tick");
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
}

#[test]
fn a_recording_is_told_again_as_text_json_and_for_a_viewer_and_compared() {
    let place = Place::new();
    let (few, many) = (place.at("few.trace"), place.at("many.trace"));
    place
        .ends(&[
            "trace",
            "-f",
            "--record",
            &few,
            "sh",
            "-c",
            "cat /etc/hostname; exit 3",
        ])
        .assert_code(3);
    let more = "cat /etc/hostname; cat /etc/hostname; cat /etc/hostname; cat /etc/hostname";
    place
        .ends(&["trace", "-f", "--record", &many, "sh", "-c", more])
        .assert_code(0);

    let text = place.prints_of(&["trace", "--replay", &few]);
    assert!(
        text.contains("openat(AT_FDCWD, \"/etc/hostname\", O_RDONLY)"),
        "{text}"
    );
    assert!(text.ends_with("+++ exited with 3 +++\n"), "{text}");
    let json = place.prints_of(&["trace", "--replay", &few, "--json"]);
    let names: Vec<serde_json::Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(names.iter().any(|event| event["name"] == "execve"));
    let list = place.prints_of(&["trace", "--replay", &few, "--perfetto"]);
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert!(
        list.as_array()
            .unwrap()
            .iter()
            .any(|event| event["name"] == "openat")
    );
    let counted = place.prints_of(&["trace", "--replay", &few, "-c"]);
    assert!(
        counted.contains("openat") && counted.contains("total"),
        "{counted}"
    );

    let changed = place.prints_of(&["trace", "--diff", &few, &many]);
    assert!(changed.contains("openat"), "{changed}");
    let changed = place.prints_of(&["trace", "--diff", &few, &many, "--json"]);
    let changed: serde_json::Value = serde_json::from_str(&changed).unwrap();
    assert!(!changed.as_array().unwrap().is_empty());

    let foreign = place.ends(&["trace", "--replay", "/etc/hostname"]);
    foreign.assert_code(2);
    foreign.assert_says(&["this is no recording"]);
    let bytes = std::fs::read(&few).unwrap();
    std::fs::write(&few, &bytes[..bytes.len() - 40]).unwrap();
    let cut = place.ends(&["trace", "--replay", &few]);
    assert_ne!(cut.status.code(), Some(0));
    place.assert_nothing_left();
}

#[test]
fn both_engines_tell_the_same_of_the_same_program() {
    let place = Place::new();
    std::fs::create_dir(place.path("folder")).unwrap();
    for name in ["one", "two", "three"] {
        place.write(&format!("folder/{name}"), name);
    }
    let told = |engine: &str| {
        let out = place.at(engine);
        let folder = place.at("folder");
        let traced = place.ends(&["trace", "--engine", engine, "-o", &out, "ls", "-l", &folder]);
        if engine == "kernel" && traced.status.code() == Some(2) {
            println!("skipped: {}", traced.stderr);
            return None;
        }
        traced.assert_code(0);
        // Where memory lies and what processes are called is another each time.
        let text = place.read(engine);
        let lines = text.lines().map(|line| {
            let words = line.split_inclusive([' ', '(', ',', ')', '{']);
            let same = |word: &str| match word.starts_with("0x") {
                true => "ADDRESS".to_owned(),
                false => word.to_owned(),
            };
            let line: String = words.map(same).collect();
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            let chance = ["set_tid_address", "getrandom"];
            let begins = chance.into_iter().find(|name| line.starts_with(name));
            begins.map_or(line, str::to_owned)
        });
        Some(lines.collect::<Vec<String>>())
    };
    if let Some(of_kernel) = told("kernel") {
        assert_eq!(of_kernel, told("ptrace").unwrap());
        assert!(of_kernel.len() > 40, "{of_kernel:?}");
    }
}
