//! Inputs that are kept: those that reach far, and those that once broke something. Each is read to its end, in time.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_fuzz_targets::TARGETS;
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// No input of these may take longer, on a busy machine and without optimisation.
const LIMIT: Duration = Duration::from_secs(20);

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz")
        .join(kind)
}

/// Runs the inputs of a folder; says how many there were.
fn run_all(kind: &str) -> usize {
    let mut seen = 0;
    for (name, target) in TARGETS {
        let inputs = fs::read_dir(folder(kind).join(name));
        for input in inputs.into_iter().flatten() {
            let path = input.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            let begun = Instant::now();
            target(&bytes);
            let took = begun.elapsed();
            assert!(took < LIMIT, "{}: {took:?}", path.display());
            seen += 1;
        }
    }
    seen
}

#[test]
fn inputs_that_are_kept_are_read_to_their_end() {
    assert!(run_all("corpus") > 0);
    run_all("found");
}

#[test]
fn every_target_has_inputs_and_every_folder_a_target() {
    for kind in ["corpus", "found"] {
        // Nothing is in `found` until something was.
        let entries = fs::read_dir(folder(kind)).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        for name in names {
            assert!(
                backsight_fuzz_targets::target(&name).is_some(),
                "{kind}/{name}"
            );
        }
    }
    for (name, _) in TARGETS {
        assert!(folder("corpus").join(name).is_dir(), "no inputs for {name}");
    }
}

#[test]
fn every_target_ends_for_nothing_and_for_noise() {
    let noise: Vec<u8> = (0..4096_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for (_, target) in TARGETS {
        for length in [0, 1, 2, 3, 17, 256, 4096] {
            target(&noise[..length]);
        }
    }
}
