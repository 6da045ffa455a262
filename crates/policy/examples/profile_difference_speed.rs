//! How long a difference of profiles takes: two sides of ten trials, each with 100,000 samples of 20,000 stacks, 30 frames deep, of 2,000
//! functions. What is measured is weighing by function and comparing, after reading.

use std::time::Instant;

use backsight_policy::{ProfileDifference, ProfileOptions};
use backsight_profile::{
    FunctionTable, Module, Profile, ProfileBuilder, ProfileFrame, ProfileHead, Sample, Thread,
};
use rand::{SeedableRng as _, seq::IndexedRandom as _};
use rand_chacha::ChaCha8Rng;

fn profile(random: &mut ChaCha8Rng) -> Profile {
    let mut builder = ProfileBuilder::new(ProfileHead::default());
    let module = builder.add_module(Module {
        path: "/usr/bin/x".into(),
        build_id: String::new(),
    });
    let frames: Vec<u32> = (0..2000)
        .map(|number| builder.add_frame(ProfileFrame::new(format!("function_{number}"), module)))
        .collect();
    let stacks: Vec<u32> = (0..20_000)
        .map(|_| {
            let stack: Vec<u32> = (0..30)
                .filter_map(|_| frames.choose(random).copied())
                .collect();
            builder.add_stack(&stack)
        })
        .collect();
    let threads: Vec<u32> = (0..5)
        .map(|tid| {
            builder.add_thread(Thread {
                pid: 1,
                tid,
                process: "x".into(),
                thread: "x".into(),
            })
        })
        .collect();
    for sample in 0..100_000 {
        builder.add_sample(Sample {
            stack: stacks[sample % stacks.len()],
            thread: threads[sample / stacks.len()],
            weight: 1,
            cpu: 0,
            first_ns: 0,
        });
    }
    builder.finish()
}

fn main() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let trials: Vec<Profile> = (0..20).map(|_| profile(&mut random)).collect();
    let began = Instant::now();
    let mut table = FunctionTable::default();
    let weights: Vec<_> = trials.iter().map(|trial| table.weigh(trial)).collect();
    let weighed = began.elapsed();
    let found = ProfileDifference::new(
        Some(&weights[..10]),
        &weights[10..],
        ProfileOptions::default(),
    );
    println!(
        "{} functions compared, {} changed: weighed in {weighed:.0?}, all in {:.0?}",
        found.functions.len(),
        found.changed().count(),
        began.elapsed()
    );
}
