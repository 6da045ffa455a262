//! A short search without libFuzzer: inputs that are kept, changed at random, the same ones each time. For each target
//! `BACKSIGHT_MUTATIONS` of them (200 unless it says otherwise). What breaks a target is written into a folder of
//! temporary files, for `fuzz/found/TARGET`.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_fuzz_targets::{FuzzTarget, TARGETS};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::{Duration, Instant},
};

/// No input may take longer, on a busy machine and without optimisation.
const LIMIT: Duration = Duration::from_secs(20);
/// Longest input, in bytes.
const LONGEST: usize = 16 << 10;
/// After so many that break a target, the next one has its turn.
const ENOUGH: usize = 20;

/// xorshift64*: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Changes an input in one to eight places.
fn mutate(input: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    for _ in 0..=random.below(8) {
        let at = random.below(input.len() + 1);
        let end = (at + random.below(16)).min(input.len());
        match random.below(9) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => input[at] = random.next() as u8,
            2 => input.truncate(at),
            3 => drop(input.drain(at..end)),
            4 => {
                let copied = input[at..end].to_vec();
                input.splice(at..at, copied);
            }
            5 => {
                // Numbers at which lengths and counts break.
                const EDGES: [u64; 8] = [
                    0,
                    1,
                    0x7f,
                    0xff,
                    0x7fff_ffff,
                    0xffff_ffff,
                    1 << 63,
                    u64::MAX,
                ];
                let edge = EDGES[random.below(EDGES.len())].to_le_bytes();
                let width = [1, 2, 4, 8][random.below(4)].min(input.len() - at);
                input[at..at + width].copy_from_slice(&edge[..width]);
            }
            6 => {
                let other = &others[random.below(others.len())];
                let from = random.below(other.len() + 1);
                let until = (from + random.below(64)).min(other.len());
                input.splice(at..end, other[from..until].iter().copied());
            }
            7 => {
                let digits = b"0123456789.-e{}[]\",:=\n\0";
                let digit = digits[random.below(digits.len())];
                input.splice(at..at, [digit]);
            }
            _ => {
                let with = random.next().to_le_bytes();
                input.splice(at..at, with[..random.below(8)].iter().copied());
            }
        }
        input.truncate(LONGEST);
    }
}

/// Tries so many inputs; says which broke it.
fn search(name: &str, target: FuzzTarget, tries: usize) -> Vec<String> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(name);
    let mut files: Vec<_> = fs::read_dir(&kept)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let inputs: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let seed = std::env::var("BACKSIGHT_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let mut random = Random(seed.unwrap_or(0x9e37_79b9_7f4a_7c15));
    let mut broken = Vec::new();
    for number in 0..tries {
        let mut input = inputs[random.below(inputs.len())].clone();
        mutate(&mut input, &inputs, &mut random);
        let begun = Instant::now();
        let ended = catch_unwind(AssertUnwindSafe(|| target(&input)));
        let took = begun.elapsed();
        if ended.is_ok() && took < LIMIT {
            continue;
        }
        let folder = std::env::temp_dir().join("backsight-fuzz").join(name);
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{:x}-{number}", random.0));
        fs::write(&file, &input).unwrap();
        broken.push(format!("{} ({took:?})", file.display()));
        if broken.len() == ENOUGH {
            break;
        }
    }
    broken
}

#[test]
fn inputs_that_are_changed_at_random_break_nothing() {
    let tries = std::env::var("BACKSIGHT_MUTATIONS").ok();
    let tries = tries.map_or(200, |tries| tries.parse().unwrap());
    let only = std::env::var("BACKSIGHT_TARGET").ok();
    let mut broken = Vec::new();
    for (name, target) in TARGETS {
        if only.as_deref().is_none_or(|only| only == *name) {
            let begun = Instant::now();
            broken.extend(search(name, *target, tries));
            println!("{name}: {tries} inputs in {:.1?}", begun.elapsed());
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
