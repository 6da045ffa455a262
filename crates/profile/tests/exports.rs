//! Exports, as their readers see them.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::process::Command;

use backsight_profile::{
    Module, Profile, ProfileBuilder, ProfileEvent, ProfileFrame, ProfileHead, ProfileUnit, Sample,
    Thread, export::ProfileFormat,
};
use backsight_test_needs::Need;
use serde_json::Value;

/// Two threads: `main` calls `work` (5 and 2 samples) and a call of the kernel (1).
fn profile(head: ProfileHead) -> Profile {
    let mut builder = ProfileBuilder::new(ProfileHead {
        began_ns: 1_000,
        ended_ns: 2_001_000,
        ..head
    });
    let program = builder.add_module(Module {
        path: "/usr/bin/x".into(),
        build_id: "ab12".into(),
    });
    let kernel = builder.add_module(Module {
        path: "[kernel]".into(),
        build_id: String::new(),
    });
    let main = builder.add_frame(ProfileFrame {
        file: Some("x.c".into()),
        line: Some(10),
        ..ProfileFrame::new("main", program)
    });
    let work = builder.add_frame(ProfileFrame::new("work<a; b>", program));
    let read = builder.add_frame(ProfileFrame::new("ksys_read", kernel));
    let stacks = [
        builder.add_stack(&[main, work]),
        builder.add_stack(&[main, read]),
    ];
    let threads = [1, 2].map(|tid| {
        builder.add_thread(Thread {
            pid: 1,
            tid,
            process: "x".into(),
            thread: format!("t{tid}"),
        })
    });
    for (stack, thread, weight) in [(0, 0, 5), (0, 1, 2), (1, 0, 1)] {
        builder.add_sample(Sample {
            stack: stacks[stack],
            thread: threads[thread],
            weight,
            cpu: 0,
            first_ns: 1_000 + 10 * weight,
        });
    }
    builder.finish()
}

fn sampled() -> Profile {
    profile(ProfileHead {
        frequency_hz: 99,
        ..ProfileHead::default()
    })
}

fn json(format: ProfileFormat, profile: &Profile) -> Value {
    serde_json::from_slice(&format.write(profile, "x")).unwrap()
}

#[test]
fn folded_stacks_are_lines() {
    let text = ProfileFormat::Folded.write(&sampled(), "x");
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "x;main;ksys_read 1\nx;main;work<a: b> 7\n"
    );
}

#[test]
fn the_firefox_profiler_gets_threads_with_their_weights() {
    let made = json(ProfileFormat::Firefox, &sampled());
    assert_eq!(made["meta"]["product"], "x");
    let threads = made["threads"].as_array().unwrap();
    let weights: Vec<_> = threads
        .iter()
        .map(|thread| (&thread["name"], thread["samples"]["weight"].to_string()))
        .collect();
    // A main thread has its process' name.
    let names: [Value; 2] = ["x".into(), "t2".into()];
    assert_eq!(
        weights,
        [(&names[0], "[1,5]".into()), (&names[1], "[2]".into())]
    );
    assert_eq!(threads[0]["samples"]["weightType"], "samples");
    let strings = threads[0]["stringArray"].to_string();
    assert!(strings.contains("ksys_read"), "{strings}");
}

#[test]
fn speedscope_gets_a_profile_for_each_thread() {
    let made = json(ProfileFormat::Speedscope, &sampled());
    assert_eq!(made["shared"]["frames"][0]["file"], "x.c");
    assert_eq!(made["shared"]["frames"][2]["name"], "ksys_read");
    let first = &made["profiles"][0];
    assert_eq!(first["samples"].to_string(), "[[0,2],[0,1]]");
    assert_eq!(first["weights"].to_string(), "[1,5]");
    assert_eq!(first["endValue"], 6);
    assert_eq!(first["unit"], "none");
}

#[test]
fn pprof_reads_its_format() {
    if Need::Go.is_missing() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.pb.gz");
    let off_cpu = profile(ProfileHead {
        event: ProfileEvent::OffCpu,
        unit: ProfileUnit::Ns,
        ..ProfileHead::default()
    });
    for (profile, expected) in [
        (sampled(), "7 87.50% 87.50% 7 87.50% work"),
        (off_cpu, "7ns 87.50% 87.50% 7ns 87.50% work"),
    ] {
        std::fs::write(&file, ProfileFormat::Pprof.write(&profile, "x")).unwrap();
        let out = Command::new("go")
            .args(["tool", "pprof", "-top", "-nodecount=10"])
            .arg(&file)
            .env("PPROF_TMPDIR", folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        let mut rows = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        assert!(rows.any(|row| row == expected), "{text}");
    }
}
