//! Profiles of programs whose functions and shares are known: tests/programs, compiled when a test needs them.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_profile::{Profile, ProfileEvent, Thread};
use backsight_profiler::{ProfiledProcesses, Profiler, ProfilerError, ProfilerOptions};
use backsight_test_needs::Need;
use std::{
    io::pipe,
    os::fd::AsFd as _,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

/// Often enough that chance makes a share of 1,000 samples wrong by 3 points in one test of 1,000.
const FREQUENCY: u32 = 499;
const SECONDS: &str = "3";

/// A program of tests/programs, compiled by a command that is given its output and its source.
fn compiled(source: &str, compiler: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&folder).unwrap();
    let own = format!("{source}.{}", std::process::id());
    let built = folder.join(own.replace('.', "-"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(source);
    let done = Command::new(compiler[0])
        .args(&compiler[1..])
        .args([Path::new("-o"), &built, &source])
        .status();
    assert!(
        done.unwrap().success(),
        "{} doesn't compile",
        source.display()
    );
    built
}

fn compiled_c(source: &str) -> PathBuf {
    let words = "cc -O2 -fomit-frame-pointer -Wall -Wextra -Werror -pthread";
    compiled(source, &words.split(' ').collect::<Vec<_>>())
}

/// The profile of a program and what it starts; its file is removed.
fn profiled(program: &Path, arguments: &[&str], off_cpu: bool) -> Profile {
    let profiler = Profiler::start(ProfilerOptions {
        processes: ProfiledProcesses::children_of(std::process::id().cast_signed(), |_| false),
        off_cpu,
        frequency: (!off_cpu).then_some(FREQUENCY),
    });
    let profiler = profiler.unwrap();
    let (stopped, stop) = pipe().unwrap();
    let collecting = thread::spawn(move || profiler.run(stopped.as_fd()));
    let mut child = Command::new(program).args(arguments).spawn().unwrap();
    assert!(child.wait().unwrap().success());
    drop(stop);
    let profile = collecting.join().unwrap().unwrap().profile;
    std::fs::remove_file(program).unwrap();
    let _ = std::fs::remove_file(format!("/tmp/perf-{}.map", child.id()));
    profile.check().unwrap();
    profile
}

/// Share of the weight whose stacks have a function, by a part of its name, in percent.
fn share(profile: &Profile, function: &str) -> f64 {
    let with_it = profile.samples.iter().filter(|sample| {
        let stack = &profile.stacks[sample.stack as usize];
        let mut frames = stack.iter().map(|frame| &profile.frames[*frame as usize]);
        frames.any(|frame| frame.function.contains(function))
    });
    let with_it: u64 = with_it.map(|sample| sample.weight).sum();
    100.0 * with_it as f64 / profile.total_weight() as f64
}

#[track_caller]
fn assert_share(profile: &Profile, function: &str, expected: f64) {
    let found = share(profile, function);
    let functions: Vec<_> = profile.frames.iter().map(|it| &it.function).collect();
    assert!(
        (found - expected).abs() <= 8.0,
        "{function} has {found} %, not {expected}: {functions:?}"
    );
}

#[track_caller]
fn assert_seventy_and_thirty(profile: &Profile) {
    assert_share(profile, "burn_seventy", 70.0);
    assert_share(profile, "burn_thirty", 30.0);
    // A busy machine gives it less than half of its time.
    assert!(profile.total_weight() > 150, "{}", profile.total_weight());
    let few = profile.total_weight() / 20;
    assert!(
        profile.lost < few && profile.truncated < few,
        "{:?}",
        profile.head()
    );
}

#[test]
fn c_without_frame_pointers() {
    if Need::Sampling.is_missing() {
        return;
    }
    let profile = profiled(&compiled_c("burn.c"), &[SECONDS], false);
    assert_seventy_and_thirty(&profile);
    assert_share(&profile, "main", 100.0);
    assert_share(&profile, "__libc_start_main", 100.0);
    let threads: Vec<_> = profile.threads.iter().map(|it| &it.process).collect();
    assert_eq!(threads.len(), 1, "{threads:?}");
    let module = profile.modules.iter().find(|it| it.path.contains("burn-c"));
    assert!(module.unwrap().build_id.len() >= 16, "{module:?}");
}

#[test]
fn cxx() {
    if Need::Sampling.is_missing() || Need::Cxx.is_missing() {
        return;
    }
    let program = compiled("burn.cpp", &["c++", "-O2", "-fomit-frame-pointer"]);
    let profile = profiled(&program, &[SECONDS], false);
    assert_seventy_and_thirty(&profile);
    assert_share(&profile, "burning::Burner::burn_seventy()", 70.0);
    assert_share(
        &profile,
        "unsigned long burning::work<unsigned long>(unsigned long)",
        100.0,
    );
}

#[test]
fn rust() {
    if Need::Sampling.is_missing() {
        return;
    }
    let program = compiled("burn.rs", &["rustc", "-O", "--edition=2024"]);
    let profile = profiled(&program, &[SECONDS], false);
    assert_seventy_and_thirty(&profile);
    assert_share(&profile, "burn::main", 100.0);
}

#[test]
fn go() {
    if Need::Sampling.is_missing() || Need::Go.is_missing() {
        return;
    }
    let profile = profiled(&compiled("burn.go", &["go", "build"]), &[SECONDS], false);
    assert_seventy_and_thirty(&profile);
    assert_share(&profile, "main.main", 100.0);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn code_that_is_made_while_it_runs_is_named_by_its_map() {
    if Need::Sampling.is_missing() {
        return;
    }
    let profile = profiled(&compiled_c("compiled.c"), &[SECONDS], false);
    assert_seventy_and_thirty(&profile);
    assert_share(&profile, "py::burn_seventy:burn.py", 70.0);
    assert_share(&profile, "main", 100.0);
}

#[test]
fn threads_and_children_that_begin_later_are_seen() {
    if Need::Sampling.is_missing() {
        return;
    }
    let profile = profiled(&compiled_c("later.c"), &[], false);
    for function in ["burn_thread", "burn_child", "burn_anew"] {
        assert_share(&profile, function, 33.3);
    }
    let sampled = profile.samples.iter().filter(|it| it.weight > 100);
    let threads: Vec<&Thread> = sampled
        .map(|sample| &profile.threads[sample.thread as usize])
        .collect();
    assert!(
        threads.iter().any(|it| it.thread == "worker"),
        "{threads:?}"
    );
    let pids: std::collections::HashSet<u32> = threads.iter().map(|it| it.pid).collect();
    assert_eq!(pids.len(), 3, "{threads:?}");
}

#[test]
fn functions_of_the_kernel_are_on_the_stack_of_their_call() {
    if Need::Sampling.is_missing() {
        return;
    }
    let profile = profiled(&compiled_c("kernel.c"), &[SECONDS], false);
    assert_share(&profile, "vfs_read", 100.0);
    assert_share(&profile, "main", 100.0);
    let kernel = profile.modules.iter().position(|it| it.path == "[kernel]");
    let in_kernel = profile.frames.iter().find(|it| it.function == "vfs_read");
    assert_eq!(kernel, in_kernel.map(|frame| frame.module as usize));
}

#[test]
fn waiting_is_seen_with_how_long_it_takes() {
    if Need::Sampling.is_missing() || Need::Root.is_missing() {
        return;
    }
    // In a mount namespace of its own: what describes the tracepoint needn't be mounted, but may be.
    use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    // SAFETY: only mounts are other than those of other threads.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.unwrap();
    let all = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", all).unwrap();
    let none = MountFlags::empty();
    let folder = "/sys/kernel/tracing";
    if !Path::new(folder).join("events").exists() {
        mount("none", folder, "tracefs", none, None).unwrap();
    }

    let profile = profiled(&compiled_c("waits.c"), &[], true);
    assert_eq!(profile.event, ProfileEvent::OffCpu);
    let seconds =
        |function| share(&profile, function) / 100.0 * profile.total_weight() as f64 / 1e9;
    let (long, short) = (seconds("wait_seventy"), seconds("wait_thirty"));
    let functions: Vec<_> = profile.frames.iter().map(|it| &it.function).collect();
    let said = format!("{long} s, {short} s, {} lost: {functions:?}", profile.lost);
    assert!((0.69..1.2).contains(&long), "{said}");
    assert!((0.29..0.8).contains(&short), "{said}");
}

#[test]
fn who_may_not_sample_is_told_what_would_do() {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let mut kept = capabilities(None).unwrap();
    kept.effective = CapabilitySet::empty();
    set_capabilities(None, kept).unwrap();
    let setting = "/proc/sys/kernel/perf_event_paranoid";
    let paranoid: i32 = std::fs::read_to_string(setting)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let started = Profiler::start(ProfilerOptions {
        processes: ProfiledProcesses::Machine,
        off_cpu: false,
        frequency: None,
    });
    match started.map(drop) {
        Ok(()) => assert!(paranoid <= 0),
        Err(error @ ProfilerError::NotPermitted { .. }) => {
            let words = error.to_string();
            let value = format!("{setting} is {paranoid}; 0 would do");
            assert!(words.contains(&value), "{words}");
        }
        Err(error) => panic!("{error}"),
    }
}
