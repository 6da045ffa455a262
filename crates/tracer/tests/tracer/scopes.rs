//! Scopes, on real cgroups: who is in one, who comes and goes, and what is lost where nobody can be stopped.

use backsight_test_needs::{Need, TestCgroup};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use backsight_syscall_decode::{EventKind, TraceEvent};
use backsight_tracer::bpf_engine::{check_available, count_calls, trace};
use backsight_tracer::cgroups::Cgroup;
use backsight_tracer::emit::Emit;
use backsight_tracer::engine::{self, EngineKind};
use backsight_tracer::error::TraceError;
use backsight_tracer::expressions::known_syscalls;
use backsight_tracer::interrupt::Interrupt;
use backsight_tracer::options::{Injection, TraceOptions, TraceScope};
use backsight_tracer::outcome::TraceOutcome;

use crate::{in_time::in_time, programs::program};

const GETPPID: u64 = libc::SYS_getppid as u64;

/// A cgroup, where it can be made and traced.
fn cgroup() -> Option<TestCgroup> {
    if Need::Root.is_missing() || Need::Bpf.is_missing_in(check_available()) {
        return None;
    }
    Some(TestCgroup::new().unwrap())
}

fn options(cgroup: &TestCgroup) -> TraceOptions {
    TraceOptions {
        scope: Some(TraceScope::Cgroup(Cgroup::open(cgroup.folder()).unwrap())),
        ..TraceOptions::default()
    }
}

/// Traces what happens in a cgroup while a shell does this, and until the cgroup is removed. The shell is started by nobody who traces, as
/// that would not be told; it begins once the tracer has seen something in the cgroup.
fn traced(
    options: &TraceOptions,
    cgroup: TestCgroup,
    script: &str,
    emit: &mut Emit<'_>,
) -> TraceOutcome {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "sh -c '{}; while [ ! -e seen ]; do cd .; sleep 0.01; done'\n{script}\n: > done",
        cgroup.enter()
    );
    start_apart(&script, folder.path());
    let (seen, done) = (folder.path().join("seen"), folder.path().join("done"));
    let mut first = true;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let late = Instant::now() + Duration::from_secs(30);
            while !done.exists() && Instant::now() < late {
                std::thread::sleep(Duration::from_millis(10));
            }
            drop(cgroup);
        });
        let emit = &mut |event| {
            if std::mem::take(&mut first) {
                std::fs::write(&seen, "").unwrap();
            }
            emit(event);
        };
        in_time(|interrupt| trace(options, interrupt, emit)).unwrap()
    })
}

/// Has a shell do this that isn't a child of this process.
fn start_apart(script: &str, folder: &Path) {
    let mut starts = Command::new("setsid")
        .args(["-f", "sh", "-ec", script])
        .current_dir(folder)
        .spawn()
        .unwrap();
    assert!(starts.wait().unwrap().success());
}

/// Getppid's calls by their threads, and what is lost by its threads.
#[derive(Default)]
struct Count {
    calls: BTreeMap<i32, u64>,
    lost: u64,
    attached: BTreeSet<i32>,
    ended: BTreeSet<i32>,
}

impl Count {
    fn take(&mut self, event: &TraceEvent) {
        match &event.kind {
            EventKind::Call(call) if call.number == GETPPID => {
                *self.calls.entry(event.tid).or_default() += 1;
            }
            EventKind::Lost { number } => self.lost += number,
            EventKind::Attached { .. } => {
                self.attached.insert(event.tid);
            }
            EventKind::Exited { .. } => {
                self.ended.insert(event.tid);
            }
            _ => {}
        }
    }
}

#[test]
fn every_call_in_a_cgroup_and_below_is_told_once_and_none_outside() {
    let Some(cgroup) = cgroup() else { return };
    let below = cgroup.folder().join("below");
    let below = below.display();
    let program = format!("'{}' threads 4 5000", program("calls").display());
    let script = format!(
        "mkdir {below}; {program} & ({}; exec {program}) & (echo 0 > {below}/cgroup.procs; exec {program}) & wait; rmdir {below}",
        cgroup.enter(),
    );
    let mut count = Count::default();
    let options = options(&cgroup);
    let ended = traced(&options, cgroup, &script, &mut |event| count.take(&event));
    let calls: Vec<u64> = count
        .calls
        .values()
        .copied()
        .filter(|it| *it >= 5000)
        .collect();
    // For threads that begin all at a time the kernel may have no memory at once: what is missed until it has is counted.
    if ended.lost == 0 {
        assert_eq!(calls, [5000; 8], "{ended:?} {:?}", count.calls);
    }
    assert!(ended.lost < 100 && count.lost <= ended.lost, "{ended:?}");
    for tid in count.calls.keys() {
        assert!(
            count.attached.contains(tid) && count.ended.contains(tid),
            "{tid}"
        );
    }
}

#[test]
fn what_finds_no_room_is_counted_and_told_in_its_place() {
    let Some(cgroup) = cgroup() else { return };
    let program = program("calls");
    let script = format!(
        "({}; exec '{}' threads 4 20000)",
        cgroup.enter(),
        program.display()
    );
    let (mut count, mut number) = (Count::default(), 0_u32);
    let options = TraceOptions {
        ring: 65536,
        ..options(&cgroup)
    };
    let ended = traced(&options, cgroup, &script, &mut |event| {
        count.take(&event);
        number += 1;
        if number.is_multiple_of(100) {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let told: u64 = count.calls.values().sum();
    assert!(told < 80_000 && ended.lost > 0, "{told} {ended:?}");
    // Behind the last records of a thread that were lost comes nothing that says so.
    assert!(count.lost <= ended.lost, "{} {ended:?}", count.lost);
    assert!(count.lost > ended.lost / 2, "{} {ended:?}", count.lost);
    assert!(told + ended.lost >= 80_000, "{told} {ended:?}");
}

#[test]
fn who_was_there_before_and_who_comes_and_goes_is_told_as_long_as_it_is_there() {
    let Some(cgroup) = cgroup() else { return };
    let first = cgroup.folder().parent().unwrap().join("cgroup.procs");
    // A thread's number is written by a program of the shell's own, so that each enters by itself.
    let script = format!(
        "(set +e; cd /early; {enter}; cd /inside; echo 0 > '{}'; cd /outside; {enter}; cd /again; true)",
        first.display(),
        enter = cgroup.enter(),
    );
    let folder = tempfile::tempdir().unwrap();
    let before = format!(
        "{}; set +e; : > there; while true; do cd /before; sleep 0.01; done",
        cgroup.enter()
    );
    start_apart(&before, folder.path());
    while !folder.path().join("there").exists() {
        std::thread::yield_now();
    }
    let mut paths = BTreeSet::new();
    let options = options(&cgroup);
    traced(&options, cgroup, &script, &mut |event| {
        if let EventKind::Call(call) = &event.kind {
            for piece in call.memory.pieces() {
                let text = String::from_utf8_lossy(&piece.bytes);
                paths.insert(text.trim_end_matches('\0').to_owned());
            }
        }
    });
    for path in ["/before", "/inside", "/again"] {
        assert!(paths.contains(path), "{path}");
    }
    for path in ["/early", "/outside"] {
        assert!(!paths.contains(path), "{path}");
    }
}

#[test]
fn calls_are_counted_and_tracing_ends_after_so_many_calls_or_so_long() {
    let Some(cgroup) = cgroup() else { return };
    let script = format!("{}; while true; do cd /; done", cgroup.enter());
    start_apart(&script, Path::new("/"));
    let options = options(&cgroup);
    let limited = TraceOptions {
        limit: Some(7),
        ..options.clone()
    };
    let mut calls = 0;
    let ended = in_time(|interrupt| {
        trace(&limited, interrupt, &mut |event| {
            calls += u32::from(matches!(event.kind, EventKind::Call(_)));
        })
    });
    assert_eq!((calls, ended.unwrap().calls), (7, 7));
    let interrupt = std::sync::Arc::new(Interrupt::new());
    interrupt.trigger_after(Duration::from_millis(300)).unwrap();
    let (ended, summary) = count_calls(&options, &interrupt, &mut |_| {}).unwrap();
    assert_eq!(interrupt.signal(), None);
    let all = summary.total().calls;
    assert!(all > 100 && ended.calls == all, "{all} {ended:?}");
}

#[test]
fn the_whole_machine_is_traced_but_not_who_traces() {
    if Need::Bpf.is_missing_in(check_available()) {
        return;
    }
    let options = TraceOptions {
        scope: Some(TraceScope::Machine),
        ring: 32 << 20,
        ..TraceOptions::default()
    };
    let own = std::process::id().cast_signed();
    let script = "set +e; for i in 1 2 3 4 5; do sleep 0.1; cd /somewhere/else; done";
    start_apart(script, Path::new("/"));
    let nowhere = format!("/nowhere/else/{own}");
    let loops = format!("while true; do cd {nowhere}; sleep 0.01; done");
    let mut child = Command::new("sh")
        .args(["-c", &loops])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let interrupt = std::sync::Arc::new(Interrupt::new());
    interrupt.trigger_after(Duration::from_secs(1)).unwrap();
    let (mut found, mut of_child, mut of_own) = (false, 0_u32, 0_u32);
    let ended = trace(&options, &interrupt, &mut |event| {
        of_own += u32::from(event.pid == own);
        if let EventKind::Call(call) = &event.kind {
            for piece in call.memory.pieces() {
                found |= piece.bytes == b"/somewhere/else\0";
                of_child += u32::from(piece.bytes.starts_with(nowhere.as_bytes()));
            }
        }
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = ended.unwrap();
    assert_eq!((found, of_child, of_own), (true, 0, 0), "{ended:?}");
}

#[test]
fn what_a_scope_cant_have_is_said() {
    let machine = TraceOptions {
        scope: Some(TraceScope::Machine),
        ..TraceOptions::default()
    };
    assert_eq!(engine::choose_engine(&machine), (EngineKind::Kernel, None));
    let tampering = TraceOptions {
        injections: vec![Injection::parse("getppid:retval=1", &known_syscalls()).unwrap()],
        ..machine.clone()
    };
    let refused = |engine, options: &TraceOptions| {
        engine::trace(engine, options, &Interrupt::new(), &mut |_| {}).unwrap_err()
    };
    let error = refused(EngineKind::Kernel, &tampering);
    assert!(matches!(error, TraceError::UnfitScope { .. }), "{error}");
    let error = refused(EngineKind::Ptrace, &machine);
    assert!(matches!(error, TraceError::ScopeByPtrace), "{error}");
}
