//! The Firefox Profiler's processed format, whose tables the crate `fxprof-processed-profile` makes. Threads stay apart; functions are
//! labels in the category of the kernel or of programs. A sample has the time of the first of its stack.

use std::collections::HashMap;
use std::time::Duration;

use fxprof_processed_profile as fxprof;
use fxprof_processed_profile::{
    CategoryColor, CpuDelta, FrameFlags, FrameInfo, ReferenceTimestamp, SamplingInterval, Timestamp,
};

use crate::document::{Profile, ProfileUnit};

/// The format counts in whole milliseconds where weights are times.
const NS_PER_MS: u64 = 1_000_000;

pub(super) fn write(profile: &Profile, title: &str) -> Vec<u8> {
    let interval = match profile.frequency_hz {
        0 => SamplingInterval::from_millis(1),
        frequency => SamplingInterval::from_nanos(1_000_000_000 / u64::from(frequency)),
    };
    let start = ReferenceTimestamp::from_duration_since_unix_epoch(Duration::ZERO);
    let mut made = fxprof::Profile::new(title, start, interval);
    made.set_symbolicated(true);
    let programs = made.add_category("Programs", CategoryColor::Blue);
    let kernel = made.add_category("Kernel", CategoryColor::Orange);
    let since_start =
        |at: u64| Timestamp::from_nanos_since_reference(at.saturating_sub(profile.began_ns));

    let mut processes = HashMap::new();
    let threads: Vec<_> = profile
        .threads
        .iter()
        .map(|thread| {
            let process = *processes
                .entry((thread.pid, &thread.process))
                .or_insert_with(|| {
                    made.add_process(&thread.process, thread.pid, since_start(profile.began_ns))
                });
            let is_main = thread.pid == thread.tid;
            let added =
                made.add_thread(process, thread.tid, since_start(profile.began_ns), is_main);
            made.set_thread_name(added, &thread.thread);
            if profile.unit == ProfileUnit::Ns {
                made.set_thread_samples_weight_type(added, fxprof::WeightType::TracingMs);
            }
            added
        })
        .collect();
    let frames: Vec<FrameInfo> = profile
        .frames
        .iter()
        .map(|frame| {
            let in_kernel = profile.modules[frame.module as usize].path == "[kernel]";
            let category = if in_kernel { kernel } else { programs };
            FrameInfo {
                frame: fxprof::Frame::Label(made.intern_string(&frame.function)),
                category_pair: category.into(),
                flags: FrameFlags::empty(),
            }
        })
        .collect();
    let mut samples: Vec<_> = profile.samples.iter().collect();
    samples.sort_by_key(|sample| sample.first_ns);
    for sample in samples {
        let thread = threads[sample.thread as usize];
        let stack = profile.stacks[sample.stack as usize]
            .iter()
            .map(|&frame| frames[frame as usize].clone());
        let stack = made.intern_stack_frames(thread, stack);
        let weight = match profile.unit {
            ProfileUnit::Samples => sample.weight,
            ProfileUnit::Ns => (sample.weight + NS_PER_MS / 2) / NS_PER_MS,
        };
        let weight = i32::try_from(weight).unwrap_or(i32::MAX);
        let at = since_start(sample.first_ns);
        made.add_sample(thread, at, stack, CpuDelta::ZERO, weight);
    }
    serde_json::to_vec(&made).expect("tables of names and numbers are JSON")
}
