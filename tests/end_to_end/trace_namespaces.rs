//! `backsight trace -p` of a process in pid, mount and user name spaces of its own: paths and programs by its root, numbers by its name
//! space, with both engines.

use backsight_test_needs::Need;
use nix::sys::signal::Signal;
use std::{
    fs,
    process::{Child, Command, Stdio},
};

use crate::{place::Place, processes, running::Running, trace_scopes::lacks_kernel_engine};

/// A shell in name spaces of its own, whose root is mounted nowhere else, with a child every now and then.
struct Apart {
    starter: Child,
    /// The shell's number here; there it is 1.
    pid: i32,
}

impl Apart {
    fn start(place: &Place) -> Self {
        fs::create_dir(place.path("root")).unwrap();
        let root = place.at("root");
        let script = format!(
            "mount -t tmpfs none '{root}'; cd '{root}'; mkdir bin; cp /bin/busybox bin; ln -s busybox bin/cat; ln -s busybox bin/sleep; \
             echo text > thing; exec chroot '{root}' /bin/busybox sh -c 'while true; do cat thing > gone; sleep 0.1; done'"
        );
        let arguments = [
            "-U",
            "--map-root-user",
            "-p",
            "-m",
            "--fork",
            "--kill-child",
            "sh",
            "-ec",
            &script,
        ];
        let mut command = place.put(Command::new("unshare"), &arguments);
        let starter = command.stdin(Stdio::null()).spawn().unwrap();
        let below = || {
            let below = processes::below(starter.id().cast_signed()).into_iter();
            below
                .filter(|it| it.command.starts_with("/bin/busybox sh"))
                .map(|it| it.pid)
                .min()
        };
        processes::until("the shell runs", || below().is_some());
        let pid = below().unwrap();
        Self { starter, pid }
    }

    /// What is told of it with these options, as soon as it holds what is looked for.
    fn told(&self, place: &Place, options: &[&str], holds: impl Fn(&str) -> bool) -> String {
        let (out, pid) = (place.at("out"), self.pid.to_string());
        let arguments = [&["trace", "-q", "-f", "-o", &out, "-p", &pid], options].concat();
        let tracer = Running::start(place.command(&arguments));
        processes::until(&format!("{options:?} tell it"), || {
            fs::read_to_string(&out).is_ok_and(|text| holds(&text))
        });
        tracer.signal(Signal::SIGINT);
        let _by_the_signal = tracer.ends();
        let text = fs::read_to_string(&out).unwrap();
        fs::remove_file(out).unwrap();
        text
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        let _gone = self.starter.kill();
        let _reaped = self.starter.wait();
    }
}

#[test]
fn numbers_of_a_process_in_a_name_space_of_its_own_are_translated_by_both_engines() {
    let place = Place::new();
    if lacks_kernel_engine(&place) {
        return;
    }
    let apart = Apart::start(&place);
    // Who was made, by its number there and here.
    let made = |line: &str| {
        let line = line
            .split_once("clone(")
            .or_else(|| line.split_once("clone resumed>"));
        let (there, here) = line?.1.rsplit_once(") = ")?.1.split_once(" /* ")?;
        let here = here
            .strip_suffix(" in strace's PID NS */")?
            .parse::<i32>()
            .ok()?;
        Some((there.split('<').next()?.parse::<i32>().ok()?, here))
    };
    for engine in ["ptrace", "kernel"] {
        let options = ["--engine", engine, "-Y", "--pidns-translation"];
        // Its lines begin with the number that it has here.
        let is_translated = |text: &str| {
            let mut all = text.lines().filter_map(made);
            all.any(|(there, here)| there != here && text.contains(&format!("\n{here}<")))
        };
        apart.told(&place, &options, is_translated);
    }
}

#[test]
fn paths_and_programs_are_those_of_the_process_s_own_root() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    let apart = Apart::start(&place);
    let root = place.at("root");
    let text = apart.told(&place, &["-y", "-e", "trace=openat,read"], |text| {
        text.contains("thing\", O_RDONLY) = 3<")
    });
    assert!(
        text.contains(&format!(
            "openat(AT_FDCWD<{root}>, \"thing\", O_RDONLY) = 3<{root}/thing>"
        )),
        "{text}"
    );
    // Nothing of it can be found by its path here.
    assert!(!place.path("root/bin/busybox").exists());
    let text = apart.told(&place, &["-k", "-e", "trace=openat"], |text| {
        text.contains("\"thing\"") && text.ends_with('\n')
    });
    let stack = text
        .lines()
        .skip_while(|line| !line.contains("\"thing\""))
        .skip(1);
    let frames: Vec<&str> = stack.take_while(|line| line.starts_with(" > ")).collect();
    assert!(
        frames
            .iter()
            .all(|frame| frame.contains(&format!("{root}/bin/busybox"))),
        "{text}"
    );
}

#[test]
fn where_proc_isnt_there_the_ptrace_engine_says_so_and_traces() {
    let place = Place::new();
    let out = place.at("out");
    let hidden = format!(
        "mount -t tmpfs none /proc && exec '{}' trace -o '{out}' -e trace=none true",
        env!("CARGO_BIN_EXE_backsight")
    );
    let mut command = Command::new("unshare");
    let arguments = ["-U", "--map-root-user", "-m", "sh", "-c", &hidden];
    let ended = command.args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("needs /proc, which can't be read"), "{said}");
    assert_eq!(place.read("out"), "+++ exited with 0 +++\n");
}
