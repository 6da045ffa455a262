//! speedscope's JSON: a list of frames that all threads share, and a profile a thread.

use serde::Serialize;

use crate::document::{Profile, ProfileUnit};

#[derive(Serialize)]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: &'a str,
    shared: Shared<'a>,
    profiles: Vec<ThreadProfile<'a>>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThreadProfile<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<&'a [u32]>,
    weights: Vec<u64>,
}

pub(super) fn write(profile: &Profile, title: &str) -> Vec<u8> {
    let frames = profile
        .frames
        .iter()
        .map(|frame| Frame {
            name: &frame.function,
            // Without a source, the module says where a function is.
            file: frame
                .file
                .as_deref()
                .or_else(|| Some(&profile.modules[frame.module as usize].path)),
            line: frame.line,
        })
        .collect();
    let mut profiles: Vec<ThreadProfile<'_>> = profile
        .threads
        .iter()
        .map(|thread| ThreadProfile {
            kind: "sampled",
            name: format!(
                "{} {} ({} {})",
                thread.process, thread.pid, thread.thread, thread.tid
            ),
            unit: match profile.unit {
                ProfileUnit::Samples => "none",
                ProfileUnit::Ns => "nanoseconds",
            },
            start_value: 0,
            end_value: 0,
            samples: Vec::new(),
            weights: Vec::new(),
        })
        .collect();
    let mut samples: Vec<_> = profile.samples.iter().collect();
    samples.sort_by_key(|sample| sample.first_ns);
    for sample in samples {
        let thread = &mut profiles[sample.thread as usize];
        thread.samples.push(&profile.stacks[sample.stack as usize]);
        thread.weights.push(sample.weight);
        thread.end_value += sample.weight;
    }
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: "backsight",
        name: title,
        shared: Shared { frames },
        profiles,
    };
    serde_json::to_vec(&file).expect("names and numbers are JSON")
}
