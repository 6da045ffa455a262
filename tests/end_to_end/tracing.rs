//! `backsight trace`: what a person sees of a program's calls, and what a program sees of being traced.

use backsight_profile::Profile;
use backsight_test_needs::Need;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::{
    io::Write as _,
    os::unix::process::ExitStatusExt as _,
    process::{Command, Stdio},
};

use crate::{place::Place, processes, running::Running, trace_scopes::lacks_kernel_engine};

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
fn tracing_into_a_closed_pipe_ends_and_is_no_success() {
    let place = Place::new();
    let trace = format!("'{}' trace", env!("CARGO_BIN_EXE_backsight"));
    let recording = place.at("recording");
    let prefix = format!("set -o pipefail; RECORDING='{recording}'; ");
    let shell = |line: &str| {
        let line = format!("{prefix}{}", line.replace("TRACE", &trace));
        let arguments = ["-c", &line];
        Running::start(place.put(Command::new("bash"), &arguments)).ends()
    };
    shell("TRACE --record \"$RECORDING\" ls -R /etc > /dev/null").assert_code(0);
    for line in [
        "TRACE ls -R / 2> /dev/null | head -1",
        "TRACE ls -R / 2>&1 > /dev/null | head -1",
        "TRACE -o '|head -1' ls -R / > /dev/null",
        "TRACE -c ls / 2>&1 > /dev/null | true",
        "TRACE --replay \"$RECORDING\" | head -1",
        // The command has nothing more to say, and would go on for an hour.
        "TRACE sleep 3600 2>&1 | head -1",
        "TRACE --engine ptrace sleep 3600 2>&1 | head -1",
        "TRACE -c sleep 3600 2>&1 | true",
    ] {
        let ended = shell(line);
        assert_eq!(ended.status.code(), Some(141), "{line}: {}", ended.stderr);
    }
    // What was traced is let go, as by strace.
    processes::end_all(&place.name);
    place.assert_nothing_left();
}

#[test]
fn a_traced_command_inherits_what_it_would_untraced() {
    let place = Place::new();
    let out = place.at("out");
    for engine in ["", "--engine ptrace"] {
        let trace = format!(
            "'{}' trace {engine} -e trace=none -o '{out}'",
            env!("CARGO_BIN_EXE_backsight")
        );
        let said = |line: &str| {
            let line = line.replace("TRACE", &trace);
            let ended = Command::new("sh").args(["-c", &line]).output().unwrap();
            assert!(ended.status.success(), "{line}: {ended:?}");
            String::from_utf8(ended.stdout).unwrap()
        };
        let ignored = |line: &str| {
            let said = said(line);
            let bits = said.split_whitespace().next_back().unwrap();
            // Those behind them are the C libraries' own.
            u64::from_str_radix(bits, 16).unwrap() & 0x7fff_ffff
        };
        let status = "grep SigIgn /proc/self/status";
        assert_eq!(ignored(&format!("TRACE {status}")), ignored(status));
        // Each signal that can be ignored, those that the tracer itself takes among them.
        for signal in (1..32).filter(|signal| ![9, 19].contains(signal)) {
            assert_eq!(
                ignored(&format!("trap '' {signal}; TRACE {status}")),
                ignored(&format!("trap '' {signal}; {status}")),
                "{engine} signal {signal}"
            );
        }
        said("TRACE sh -c 'test ! -e /proc/self/fd/0 && test -e /proc/self/fd/1' <&-");
        said("TRACE sh -c 'test -e /proc/self/fd/0 && test ! -e /proc/self/fd/2' 2>&-");
        let variables = "B=1\nA=2\nC=3\n";
        assert_eq!(said("env -i B=1 A=2 C=3 TRACE /usr/bin/env"), variables);
    }
    place.assert_nothing_left();
}

#[test]
fn who_traces_is_the_process_whose_number_the_kernel_says() {
    let place = Place::new();
    let out = place.at("out");
    let says = "while read -r what value; do case $what in TracerPid:) echo $value $PPID;; esac; done < /proc/$$/status";
    for engine in ["auto", "ptrace"] {
        let asked = ["trace", "--engine", engine, "-o", &out, "sh", "-c", says];
        let said = place.prints_of(&asked);
        let (tracer, parent) = said.trim().split_once(' ').unwrap();
        assert_eq!(tracer, parent, "{engine}");
    }
}

#[test]
fn memory_is_read_word_by_word_where_it_cant_be_read_at_once() {
    let place = Place::new();
    let out = place.at("out");
    let refusal = "inject=process_vm_readv:error=ENOSYS";
    let outer = ["trace", "-o", "/dev/null", "-e", refusal];
    let this = [env!("CARGO_BIN_EXE_backsight")];
    let inner = ["trace", "--engine", "ptrace", "-o", &out, "-e", "openat"];
    let all = [&outer[..], &this, &inner, &["cat", "/dev/null"]].concat();
    place.ends(&all).assert_code(0);
    let told = place.read("out");
    assert!(
        told.contains("openat(AT_FDCWD, \"/dev/null\", O_RDONLY) = 3\n"),
        "{told}"
    );
}

#[test]
fn a_short_trace_starts_one_thread_and_looks_for_no_time_zone() {
    let place = Place::new();
    let (own, out) = (place.at("own"), place.at("out"));
    let outer = ["trace", "--engine", "ptrace", "-o", &own];
    let calls = ["-e", "open,openat,clone,clone3"];
    let this = [env!("CARGO_BIN_EXE_backsight")];
    for time in [&[][..], &["-ttt"]] {
        // Cargo's long list of folders of libraries would make it many calls.
        let asked = ["trace", "-f", "-E", "LD_LIBRARY_PATH", "-o", &out];
        let inner = [&asked[..], time, &["true"]].concat();
        place
            .ends(&[&outer[..], &calls, &this, &inner].concat())
            .assert_code(0);
        let own = place.read("own");
        assert_eq!(own.matches("CLONE_THREAD").count(), 1, "{own}");
        assert!(own.contains("open"), "{own}");
        assert!(!own.contains("zoneinfo"), "{own}");
    }
}

#[test]
fn a_command_may_take_the_place_of_who_traces_it() {
    let place = Place::new();
    let out = place.at("out");
    // Who it is, whose child, in which group and session, and who traces it and whose child, group and session that is.
    let says = "field() { sed -n \"s/^$1:[[:space:]]*//p\" /proc/$2/status; }; about() { cut -d' ' -f4-6 /proc/$1/stat; }
        t=$(field Tgid $(field TracerPid $$)); echo $$ $(about $$) $t $(about $t); exit 7";
    for engine in ["auto", "ptrace"] {
        for apart in ["-D", "-DD", "--daemonize=session"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_backsight"));
            command.args(["trace", apart, "--engine", engine, "-f", "-o", &out]);
            let mut run = command
                .args(["sh", "-c", says])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let own = run.id();
            let mut said = String::new();
            std::io::Read::read_to_string(run.stdout.as_mut().unwrap(), &mut said).unwrap();
            assert_eq!(run.wait().unwrap().code(), Some(7), "{said}");
            let numbers: Vec<u32> = said
                .split_whitespace()
                .map(|it| it.parse().unwrap())
                .collect();
            let &[
                pid,
                parent,
                group,
                session,
                tracer,
                tracer_parent,
                tracer_group,
                tracer_session,
            ] = numbers.as_slice()
            else {
                panic!("{said}");
            };
            assert_eq!((pid, parent), (own, std::process::id()), "{said}");
            assert!(![0, own, parent].contains(&tracer), "{said}");
            assert!(![own, parent].contains(&tracer_parent), "{said}");
            assert_eq!(tracer_group == group, apart == "-D", "{said}");
            assert_eq!(
                tracer_session == session,
                apart != "--daemonize=session",
                "{said}"
            );
            // What is traced is written when who traces it is gone.
            processes::until_ended(tracer.cast_signed(), std::time::Duration::from_secs(30));
            let traced = place.read("out");
            let first = traced.lines().next().unwrap();
            assert!(
                first.starts_with(&format!("{own} ")) && first.contains(" execve("),
                "{first}"
            );
            assert!(
                traced.ends_with(&format!("{own:<5} +++ exited with 7 +++\n")),
                "{traced}"
            );
        }
        let killed = Command::new(env!("CARGO_BIN_EXE_backsight"))
            .args([
                "trace",
                "-D",
                "--engine",
                engine,
                "-e",
                "trace=none",
                "sh",
                "-c",
                "kill -TERM $$",
            ])
            .output()
            .unwrap();
        assert_eq!(killed.status.signal(), Some(15));
        assert!(String::from_utf8_lossy(&killed.stderr).contains("+++ killed by SIGTERM +++"));
    }
    place
        .ends(&["trace", "-D", "no-such-program"])
        .assert_code(1);
    place.write("broken", "");
    let unfit = place.ends(&["trace", "-D", &place.at("broken")]);
    unfit.assert_code(1);
    assert!(
        unfit.stderr.contains("can't be started"),
        "{}",
        unfit.stderr
    );
    let pid = std::process::id().to_string();
    let refused = place.ends(&["trace", "-D", "-p", &pid]);
    refused.assert_code(1);
    assert!(refused.stderr.contains("give one"), "{}", refused.stderr);
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
        (&["trace", "-e", "bogus=1", "true"], "isn't known"),
        (
            &["trace", "-e", "signal=SIGNONE", "true"],
            "invalid signal `SIGNONE`",
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
        (&["trace", "-p", "0"], "`0` isn't the number of a process"),
        (&["trace", "-p", "1 x"], "`x` isn't the number of a process"),
        (&["trace", "-p", ""], "it names no process"),
        (
            &["trace", "--no-such-option", "true"],
            "unexpected argument",
        ),
        (&["trace", "-w", "true"], "ask for one with -c or -C"),
        (
            &["trace", "-c", "-U", "name,calls,name", "true"],
            "has a column twice",
        ),
        (
            &["trace", "--syscall-limit", "0", "true"],
            "invalid value '0'",
        ),
        (&["trace", "-U", "calls", "true"], "ask for one with -c"),
        (&["trace", "-DDDD", "true"], "-D is given 4 times"),
        (
            &["trace", "-D", "--daemonize", "true"],
            "cannot be used with",
        ),
        (&["trace", "-ff", "-o", "|cat", "true"], "leave out -ff"),
        (&["trace", "-s", "1073741824", "true"], "1073741824"),
        (&["trace", "-a", "2147483648", "true"], "2147483648"),
        (&["trace", "--s", "true"], "similar argument"),
    ] {
        let ended = place.ends(arguments);
        ended.assert_code(1);
        ended.assert_says(&[words]);
    }
}

#[test]
fn an_interrupt_lets_processes_go_on_that_were_attached_to() {
    let place = Place::new();
    let mut children = [0, 1].map(|_| Command::new("sleep").arg("1000").spawn().unwrap());
    let pids = children.each_ref().map(|child| child.id());
    let out = place.at("out");
    // As `pidof` prints them.
    let listed = format!("{} {}", pids[0], pids[1]);
    let tracer = Running::start(place.command(&["trace", "-o", &out, "-p", &listed]));
    let is_traced = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        !status.contains("TracerPid:\t0\n")
    };
    while !pids.iter().all(is_traced) {
        std::thread::yield_now();
    }
    tracer.signal(Signal::SIGINT);
    let _either_status = tracer.ends();
    assert!(!pids.iter().any(is_traced));
    for child in &mut children {
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn what_a_program_did_before_it_hung_is_seen_while_it_hangs() {
    let place = Place::new();
    let mut child = Command::new("sleep").arg("100").spawn().unwrap();
    let pid = Pid::from_raw(child.id().cast_signed());
    for options in [&["-o"][..], &["-ff", "-o"], &["--engine", "ptrace", "-o"]] {
        let file = match options {
            ["-ff", ..] => place.path(&format!("out.{pid}")),
            _ => place.path("out"),
        };
        let (out, id) = (place.at("out"), pid.to_string());
        let arguments = [&["trace"], options, &[&out, "-p", &id]].concat();
        let tracer = Running::start(place.command(&arguments));
        let is_seen = || {
            // It is interrupted, and sleeps again.
            kill(pid, Signal::SIGCONT).unwrap();
            std::fs::read_to_string(&file).is_ok_and(|text| text.contains("SIGCONT"))
        };
        processes::until(&format!("{options:?}: a signal is in the file"), is_seen);
        tracer.signal(Signal::SIGINT);
        let _either_status = tracer.ends();
        std::fs::remove_file(file).unwrap();
    }
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
    assert!(!changed["calls"].as_array().unwrap().is_empty());
    assert_eq!(changed["runs"], serde_json::json!([1, 1]));

    let foreign = place.ends(&["trace", "--replay", "/etc/hostname"]);
    foreign.assert_code(1);
    foreign.assert_says(&["this is no recording"]);
    let bytes = std::fs::read(&few).unwrap();
    std::fs::write(&few, &bytes[..bytes.len() - 40]).unwrap();
    let cut = place.ends(&["trace", "--replay", &few]);
    assert_ne!(cut.status.code(), Some(0));
    place.assert_nothing_left();
}

#[test]
fn functions_are_sampled_beside_the_trace() {
    if Need::Sampling.is_missing() {
        return;
    }
    let place = Place::new();
    let (out, file) = (place.at("out"), place.at("profile.json"));
    let copy = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=100"];
    let trace = ["trace", "-f", "-o", &out, "--profile", &file, "--"];
    place.ends(&[&trace[..], &copy].concat()).assert_code(0);
    assert!(
        place.read("out").contains("write(1"),
        "{}",
        place.read("out")
    );
    let profile = Profile::from_json(place.read("profile.json").as_bytes()).unwrap();
    let functions: Vec<&String> = profile.frames.iter().map(|it| &it.function).collect();
    assert!(
        functions.iter().any(|it| *it == "vfs_read"),
        "{functions:?}"
    );
    assert!(
        profile.threads.iter().all(|it| it.process != "backsight"),
        "{:?}",
        profile.threads
    );
    let nowhere = place.at("nowhere/profile.json");
    let refused = place.ends(&["trace", "--profile", &nowhere, "--", "true"]);
    refused.assert_code(1);
    refused.assert_says(&["the profile can't be written"]);
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
        let lacks_bpf = engine == "kernel" && traced.status.code() == Some(1);
        let found = if lacks_bpf {
            Err(&traced.stderr)
        } else {
            Ok(())
        };
        if Need::Bpf.is_missing_in(found) {
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

#[test]
fn what_is_said_beside_calls_is_said_as_asked() {
    let place = Place::new();
    let says = |options: &[&str]| {
        let command = ["sh", "-c", "true & wait"];
        let all = [&["trace", "-f"], options, &command].concat();
        let ended = place.ends(&all);
        ended.assert_code(0);
        let said = |words: &str| ended.stderr.lines().any(|line| line.contains(words));
        (
            said("strace: Process "),
            said("+++ exited with 0 +++"),
            said("backsight trace: the "),
        )
    };
    assert_eq!(says(&[]), (true, true, true));
    assert_eq!(says(&["-q"]), (false, true, false));
    assert_eq!(says(&["-qq"]), (false, false, false));
    assert_eq!(says(&["-e", "quiet=attach"]), (false, true, false));
    assert_eq!(says(&["-e", "quiet=exit"]), (true, false, true));
    assert_eq!(says(&["-e", "quiet=!exit"]), (false, true, false));
    let out = place.at("out");
    assert_eq!(says(&["-o", &out]), (false, false, true), "into a file");
    let poked = "inject=chdir:poke_enter=@arg2=00";
    let ended = place.ends(&["trace", "-o", &out, "-e", poked, "sh", "-c", "cd /"]);
    ended.assert_code(0);
    ended.assert_says(&["argument #2, but system call 'chdir' has only 1 arguments"]);
    for (expression, words) in [
        ("quiet=bogus", "nothing is said that is named `bogus`"),
        ("decode-fds=bogus", "descriptors have no `bogus`"),
        ("read=x", "isn't the number of a descriptor"),
        ("raw=nothing-of-this-name", "no call is named"),
        ("trace=", "names nothing"),
        ("abbrev=all,none", "a part of `all,none`"),
        (
            "verbose=/nothing",
            "no call has a name that `/nothing` fits",
        ),
        ("getcwd@ohmy", "no way of calling is named `ohmy`"),
        ("trace=9999", "no call has the number 9999"),
        ("signal=!", "names nothing"),
        ("status=none,failed", "says everything by itself"),
        ("quiet=all,exit", "says everything by itself"),
        ("decode-pids=,", "names nothing"),
        ("fd=2147483648", "isn't the number of a descriptor"),
        ("write=1,all", "says everything by itself"),
        ("fault=", "names nothing"),
    ] {
        let ended = place.ends(&["trace", "-e", expression, "true"]);
        ended.assert_code(1);
        ended.assert_says(&[words]);
    }
}

#[test]
fn options_are_taken_as_strace_takes_them() {
    let place = Place::new();
    let out = place.at("out");
    for (options, part) in [
        // Behind others, with its value beside it; given twice, the last one counts.
        (&["-e", "trace=openat", "-a90", "-a0"][..], "openat("),
        (&["--trace=openat", "-Xraw"], ", 0x80000) "),
        (
            &["-eopenat", "-X", "verbose"],
            ", 0x80000 /* O_RDONLY|O_CLOEXEC */) ",
        ),
        (&["-n", "-eopenat"], "] openat("),
        (&["--strings-in-hex", "-eopenat"], "\"\\x2f\\x65"),
        (&["--syscall-times=ns", "-eopenat"], ">\n"),
        (&["--relative-timestamps=ms", "-eopenat"], "     0.000 "),
        // Names of options in short, as getopt_long(3) takes them.
        (&["--syscall-t=ns", "-eopenat"], ">\n"),
        (&["--follow", "--decode-pid=comm", "-eopenat"], "<true> "),
        (&["--quiet=exit", "-v", "-v", "--raw=openat"], "openat(0x"),
    ] {
        let all = [&["trace", "-o", &out], options, &["true"]].concat();
        place.ends(&all).assert_code(0);
        let told = place.read("out");
        assert!(told.contains(part), "{options:?}: {told}");
    }
    // What was told before stays: without its end, and with arguments as numbers.
    place
        .ends(&["trace", "-A", "-o", &out, "-e", "trace=none", "true"])
        .assert_code(0);
    let told = place.read("out");
    assert!(told.contains("openat(0x") && told.ends_with("+++ exited with 0 +++\n"));
    // Of texts as much is told as was asked for, in JSON too.
    let asked = ["trace", "-o", &out, "--json", "-s4", "-e", "trace=write"];
    let all = [&asked[..], &["sh", "-c", "echo helloworld"]].concat();
    place.ends(&all).assert_code(0);
    let told = place.read("out");
    assert!(told.contains(r#"{"start":"hell"}"#), "{told}");
    // A call that has no name can't be asked for, and is told always.
    for (options, part) in [
        (&["-e", "trace=none"][..], "syscall_0x270(0x7"),
        (
            &["-e", "trace=openat", "--engine", "ptrace"],
            "syscall_0x270(0x7",
        ),
        (&["-c", "-e", "trace=none"], " syscall_0x270\n"),
    ] {
        let all = [
            &["trace", "-o", &out],
            options,
            &["perl", "-e", "syscall(624, 7)"],
        ]
        .concat();
        place.ends(&all).assert_code(0);
        let told = place.read("out");
        assert!(told.contains(part), "{options:?}: {told}");
    }
    // What is no option isn't a command either.
    let unknown = place.ends(&["trace", "--no-such-option", "true"]);
    unknown.assert_says(&["--no-such-option"]);
}

#[test]
fn what_is_read_is_dumped_and_what_is_chosen_is_told_in_numbers() {
    let place = Place::new();
    place.write("text", "a text of some length\n");
    for engine in ["ptrace", "auto"] {
        let out = place.at("out");
        let options = ["-e", "read=0", "-e", "raw=close", "-e", "trace=read,close"];
        let ends = ["-o", &out, "sh", "-c", "exec cat < text"];
        place
            .ends(&[&["trace", "-q", "--engine", engine], &options[..], &ends].concat())
            .assert_code(0);
        let told = place.read("out");
        let dumped = " | 00000  61 20 74 65 78 74 20 6f  66 20 73 6f 6d 65 20 6c  a text of some l |\n \
                      | 00010  65 6e 67 74 68 0a                                 ength.           |\n";
        assert!(told.contains(dumped), "{told}");
        assert!(told.contains("close(0x"), "{told}");
    }
}

#[test]
fn what_has_a_filter_ends_as_it_likes_when_tracing_is_to_end_and_is_killed_the_second_time() {
    let place = Place::new();
    let begins = |script: &str| {
        let words = [
            "trace",
            "--engine",
            "ptrace",
            "-f",
            "-e",
            "trace=chdir",
            "sh",
            "-c",
            script,
        ];
        let traced = Running::start(place.command(&words));
        place.until_there("ready");
        traced.signal(Signal::SIGTERM);
        traced
    };
    let ends = "trap 'echo cleaned; exit 3' TERM; touch ready; while :; do sleep 0.05; done";
    let ended = begins(ends).ends();
    ended.assert_code(3);
    assert_eq!(ended.stdout(), "cleaned\n");
    std::fs::remove_file(place.path("ready")).unwrap();

    let stays = "trap 'touch asked' TERM; touch ready; while :; do sleep 0.05; done";
    let traced = begins(stays);
    place.until_there("asked");
    traced.signal(Signal::SIGTERM);
    let ended = traced.ends();
    assert_eq!(ended.status.signal(), Some(9));
    assert!(
        ended.stderr.contains("+++ killed by SIGKILL +++"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_process_that_waits_in_a_call_is_seen_in_it_and_one_that_is_gone_is_said() {
    let place = Place::new();
    for engine in ["ptrace", "kernel"] {
        if engine == "kernel" && lacks_kernel_engine(&place) {
            continue;
        }
        let mut waits = Command::new("sh")
            .args(["-c", "read line"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = waits.id().to_string();
        processes::until("it waits", || {
            let call = std::fs::read_to_string(format!("/proc/{pid}/syscall"));
            call.is_ok_and(|call| call.starts_with(&format!("{} ", nix::libc::SYS_read)))
        });
        let out = place.at(engine);
        // No process has such a number.
        let words = [
            "trace", "--engine", engine, "-p", "4194305", "-p", &pid, "-o", &out,
        ];
        let traced = Running::start(place.command(&words));
        processes::until("it is traced", || match engine {
            "kernel" => std::fs::read_to_string(&out).is_ok_and(|told| told.contains("read(0")),
            _ => std::fs::read_to_string(format!("/proc/{pid}/status"))
                .is_ok_and(|status| !status.contains("TracerPid:\t0\n")),
        });
        waits.stdin.take().unwrap().write_all(b"x\n").unwrap();
        waits.wait().unwrap();
        let ended = traced.ends();
        ended.assert_code(0);
        ended.assert_says(&["process 4194305 is gone"]);
        let told = place.read(engine);
        assert!(told.contains("read(0, \"x\", 1)"), "{engine}: {told}");
    }
    let all_gone = place.ends(&["trace", "-p", "4194305"]);
    all_gone.assert_code(1);
}

#[test]
fn what_a_program_writes_stands_between_its_calls_where_all_goes_to_one_place() {
    let place = Place::new();
    let script = format!(
        "'{}' trace --engine ptrace -q -e trace=chdir -a 0 sh -c 'echo one; cd /; echo two; cd /tmp; echo three' 2>&1",
        env!("CARGO_BIN_EXE_backsight")
    );
    let ended = Running::start(place.put(Command::new("sh"), &["-c", &script])).ends();
    let told = ended.stdout();
    let calls = "one\nchdir(\"/\") = 0\ntwo\nchdir(\"/tmp\") = 0\nthree\n+++ exited with 0 +++\n";
    assert!(told.ends_with(calls), "{told}");
}

#[test]
fn a_program_is_detached_from_when_it_becomes_another_and_not_when_that_fails() {
    let place = Place::new();
    let script = "PATH=/nowhere:/usr/bin:/bin; exec true";
    let ended = place.ends(&[
        "trace",
        "-b",
        "execve",
        "-e",
        "trace=execve",
        "sh",
        "-c",
        script,
    ]);
    ended.assert_code(0);
    let told: Vec<&str> = ended
        .stderr
        .lines()
        .filter(|line| line.contains("/true\""))
        .collect();
    assert_eq!(told.len(), 2, "{}", ended.stderr);
    assert!(
        told[0].contains("\"/nowhere/true\"") && told[0].contains("ENOENT"),
        "{}",
        told[0]
    );
    assert!(told[1].ends_with(" <detached ...>"), "{}", told[1]);
}
