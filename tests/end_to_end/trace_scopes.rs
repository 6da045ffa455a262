//! `backsight trace --cgroup`, `--container` and `--all`: what is traced by where it runs, and what is said where that can't be.

use backsight_test_needs::{Need, TestCgroup};
use nix::sys::signal::Signal;
use std::{
    fs,
    os::unix::{fs::symlink, process::CommandExt as _},
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::{place::Place, processes, running::Running};

/// Whether the kernel engine can't run here.
pub fn lacks_kernel_engine(place: &Place) -> bool {
    let tried = place.ends(&[
        "trace",
        "--engine",
        "kernel",
        "-o",
        &place.at("tried"),
        "true",
    ]);
    let found = match tried.status.code() {
        Some(1) => Err(&tried.stderr),
        _ => Ok(()),
    };
    Need::Root.is_missing() || Need::Bpf.is_missing_in(found)
}

/// A shell that does this in a cgroup, over and over.
fn loops(place: &Place, cgroup: Option<&TestCgroup>, line: &str) -> Child {
    let enter = cgroup.map_or_else(|| "true".to_owned(), TestCgroup::enter);
    let line = format!("{enter}; while true; do {line}; done");
    let mut command = place.put(Command::new("sh"), &["-c", &line]);
    command.stderr(Stdio::null()).spawn().unwrap()
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn all_that_runs_in_a_cgroup_is_traced_until_an_interrupt_or_until_it_is_gone() {
    let place = Place::new();
    if lacks_kernel_engine(&place) {
        return;
    }
    let cgroup = TestCgroup::new().unwrap();
    let inside = loops(&place, Some(&cgroup), "cat /no/inside; sleep 0.02");
    let outside = loops(&place, None, "cat /no/outside; sleep 0.02");
    let out = place.at("out");
    let by_folder = cgroup.folder().to_str().unwrap().to_owned();
    for (path, ends) in [(by_folder.clone(), "interrupt"), (cgroup.path(), "time")] {
        let mut arguments = vec!["trace", "--cgroup", &path, "-o", &out];
        if ends == "time" {
            arguments.extend(["--for", "1500ms", "-e", "trace=openat", "-Z"]);
        }
        let tracer = Running::start(place.command(&arguments));
        if ends == "interrupt" {
            processes::until("a call is told", || {
                fs::read_to_string(&out).is_ok_and(|text| text.contains("/no/inside"))
            });
            tracer.signal(Signal::SIGINT);
            let _by_the_signal = tracer.ends();
        } else {
            tracer.ends().assert_code(0);
        }
        let text = place.read("out");
        assert!(
            text.contains("/no/inside") && !text.contains("/no/outside"),
            "{text}"
        );
        // Each line says whose it is, as with -f.
        let whose = |line: &str| {
            line.split(' ')
                .next()
                .is_some_and(|it| it.parse::<i32>().is_ok())
        };
        assert!(text.lines().all(whose), "{text}");
        if ends == "time" {
            let calls = || text.lines().filter(|line| line.contains('('));
            assert!(
                calls().all(|line| line.contains("openat(") || line.contains("--- ")),
                "{text}"
            );
        }
    }
    let status = fs::read_to_string(format!("/proc/{}/status", inside.id())).unwrap();
    assert!(status.contains("TracerPid:\t0\n"));
    let recording = place.at("recording");
    let tracer =
        Running::start(place.command(&["trace", "--cgroup", &by_folder, "--record", &recording]));
    processes::until("something is recorded", || {
        fs::metadata(&recording).is_ok_and(|it| it.len() > 0)
    });
    std::thread::sleep(std::time::Duration::from_millis(500));
    end(inside);
    drop(cgroup);
    tracer.ends().assert_code(0);
    place
        .ends(&["trace", "--replay", &recording, "-o", &out])
        .assert_code(0);
    assert!(place.read("out").contains("+++ killed by SIGKILL +++"));
    end(outside);
    place.assert_nothing_left();
}

#[test]
fn the_whole_machine_is_traced_for_a_time_without_who_traces_and_who_reads() {
    let place = Place::new();
    if lacks_kernel_engine(&place) {
        return;
    }
    let others = loops(&place, None, "cat /no/such/file; sleep 0.02");
    let into = format!("|cat > {}", place.at("out"));
    let tracer = Running::start(place.command(&["trace", "--all", "--for", "1s", "-o", &into]));
    let own = tracer.pid;
    tracer.ends().assert_code(0);
    let text = place.read("out");
    assert!(text.contains("/no/such/file"), "{text}");
    let begins = format!("{own} ");
    assert!(
        !text.lines().any(|line| line.starts_with(&begins)),
        "{text}"
    );
    // Nor was the command that reads: it would read of its own reading.
    assert!(
        !text.contains("read(0, \"") || !text.contains("] read("),
        "{text}"
    );
    let counted = place.ends(&[
        "trace",
        "--all",
        "--for",
        "500ms",
        "-c",
        "-o",
        &place.at("out"),
    ]);
    counted.assert_code(0);
    assert!(place.read("out").contains("clock_nanosleep"));
    end(others);
}

/// A root with busybox.
fn make_root(root: &Path) {
    for folder in ["etc", "proc", "sys", "dev", "run", "tmp", "usr/bin"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    symlink("usr/bin", root.join("bin")).unwrap();
    fs::write(root.join("etc/os-release"), "ID=tiny\n").unwrap();
    fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
    for program in ["sh", "cat", "sleep"] {
        symlink("busybox", root.join("bin").join(program)).unwrap();
    }
}

const LOOP: &str = "while true; do cat /no/contained; sleep 0.05; done";

fn assert_container_is_traced(place: &Place, name: &str) {
    let out = place.at("out");
    let traced = place.ends(&["trace", "--container", name, "--for", "1s", "-o", &out]);
    traced.assert_code(0);
    let text = place.read("out");
    assert!(text.contains("/no/contained"), "{text}");
    let unknown = place.ends(&["trace", "--container", &format!("{name}-not")]);
    unknown.assert_code(1);
    unknown.assert_says(&["no container", "these do", name]);
}

#[test]
fn a_container_of_podman_is_traced_by_its_name_and_its_number() {
    let place = Place::new();
    if Need::Podman.is_missing() || lacks_kernel_engine(&place) {
        return;
    }
    make_root(&place.path("root"));
    place.write(
        "containers.conf",
        "[containers]\ndefault_ulimits = [\"nofile=1024:4096\", \"nproc=4096:4096\"]\n[engine]\nruntime = \"runc\"\n",
    );
    let podman = |arguments: &[&str]| {
        let mut command = Command::new("podman");
        let command = command.args(arguments);
        let ended = command
            .env("CONTAINERS_CONF", place.path("containers.conf"))
            .output()
            .unwrap();
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stdout).unwrap().trim().to_owned()
    };
    let root = place.at("root");
    let id = podman(&[
        "run",
        "--detach",
        "--name",
        &place.name,
        // A network would stay on this machine, with forwarding switched on.
        "--network",
        "none",
        "--rootfs",
        &root,
        "sh",
        "-c",
        LOOP,
    ]);
    assert_container_is_traced(&place, &place.name);
    let out = place.at("out");
    let mut by_number = place.command(&[
        "trace",
        "--container",
        &id[..12],
        "--for",
        "500ms",
        "-c",
        "-o",
        &out,
    ]);
    by_number.env("CONTAINERS_CONF", place.path("containers.conf"));
    Running::start(by_number).ends().assert_code(0);
    assert!(place.read("out").contains("execve"));
    podman(&["rm", "--force", "--time", "0", &place.name]);
}

#[test]
fn a_machine_of_systemd_nspawn_is_traced_by_its_name() {
    let place = Place::new();
    if Need::Nspawn.is_missing() || lacks_kernel_engine(&place) {
        return;
    }
    make_root(&place.path("root"));
    let name = place.name.clone();
    // It shares its cgroup's name with every other that is started so: it gets one above that.
    let cgroup = TestCgroup::new().unwrap();
    let line = format!(
        "{}; exec systemd-nspawn --quiet --register=no --keep-unit --machine={name} --directory={} sh -c '{LOOP}'",
        cgroup.enter(),
        place.at("root")
    );
    let mut command = place.put(Command::new("sh"), &["-c", &line]);
    let machine = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Other tests run the same loop beside this one.
    processes::until("it runs", || {
        let inside = fs::read_to_string(cgroup.folder().join("payload/cgroup.procs"));
        let inside = inside.unwrap_or_default();
        processes::all().iter().any(|it| {
            let looped = "sh -c while true; do cat /no/contained";
            it.command.starts_with(looped) && inside.lines().any(|pid| pid == it.pid.to_string())
        })
    });
    assert_container_is_traced(&place, &name);
    end(machine);
    for below in ["supervisor", "payload"] {
        let folder = cgroup.folder().join(below);
        let _killed = fs::write(folder.join("cgroup.kill"), "1");
        processes::until("it is gone", || {
            !folder.exists() || fs::remove_dir(&folder).is_ok()
        });
    }
}

#[test]
fn what_doesnt_go_with_a_scope_is_said_with_a_way_out() {
    let place = Place::new();
    for (arguments, words) in [
        (&["--all", "true"][..], "leave the command out"),
        (&["--all", "-p", "1"], "it takes no -p"),
        (&["--all", "--cgroup", "/"], "give one of them"),
        (
            &["--all", "--engine", "ptrace"],
            "leave `--engine ptrace` out",
        ),
        (&["--all", "-e", "inject=openat:error=ENOENT"], "-f -p PID"),
        (&["--all", "-D"], "in the background"),
        (&["--all", "--profile", "x"], "leave it out"),
        (&["--all", "-k"], "looked up at a stop"),
        (&["--cgroup", "/no-such-cgroup"], "cgroup"),
        (&["--cgroup", "/etc"], "cgroup"),
        (&["--cgroup", "/../etc"], "cgroup"),
        (&["--all", "--for", "soon"], "is not a length of time"),
        (
            &["--container", "no-such-container"],
            "no container `no-such-container` runs here",
        ),
    ] {
        let arguments = [&["trace", "-q"], arguments].concat();
        let ended = place.ends(&arguments);
        ended.assert_code(1);
        ended.assert_says(&[words]);
    }
    if Need::Root.is_missing() {
        return;
    }
    let mut command = place.command(&["trace", "--all"]);
    command.uid(65534).gid(65534).current_dir("/");
    let ended = Running::start(command).ends();
    ended.assert_code(1);
    ended.assert_says(&["CAP_BPF", "run it as root", "-f -p PID"]);
}

#[test]
fn tracing_ends_after_a_time_and_what_was_traced_goes_on() {
    let place = Place::new();
    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
    let out = place.at("out");
    let pid = child.id().to_string();
    let attached: &[&str] = &["-p", &pid];
    for engine in ["auto", "ptrace"] {
        for traced in [attached, &["sleep", "3"]] {
            let trace = ["trace", "--engine", engine, "--for", "300ms", "-o", &out];
            place.ends(&[&trace, traced].concat()).assert_code(0);
        }
    }
    assert!(child.try_wait().unwrap().is_none());
    end(child);
    // Commands that were let go end by themselves.
    processes::until_gone(&place.name);
}
