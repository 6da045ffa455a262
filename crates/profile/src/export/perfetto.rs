//! A trace of Perfetto: a packet with all names, frames and stacks, then a packet a sample.
//!
//! Source: `perfetto_trace.proto`. A sample there has no weight, so that one of weight 3 is three packets; nanoseconds are a packet for
//! each begun millisecond. Times besides the first are spread evenly until the profile's end.

use std::collections::BTreeMap;

use indexmap::IndexSet;
use prost::Message;

use crate::document::{Profile, ProfileUnit, Sample};

/// The most packets that are written; from there on each stands for several samples.
const MOST_PACKETS: u64 = 5_000_000;

const NS_PER_MS: u64 = 1_000_000;

/// `TracePacket.SequenceFlags`: what was said before doesn't count, and: what was said before is needed.
const INCREMENTAL_STATE_CLEARED: u32 = 1;
const NEEDS_INCREMENTAL_STATE: u32 = 2;

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(message, optional, tag = "2")]
    process_tree: Option<ProcessTree>,
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "12")]
    interned_data: Option<InternedData>,
    #[prost(uint32, tag = "13")]
    sequence_flags: u32,
    #[prost(message, optional, tag = "66")]
    perf_sample: Option<PerfSample>,
}

#[derive(Clone, PartialEq, Message)]
struct ProcessTree {
    #[prost(message, repeated, tag = "1")]
    processes: Vec<TreeProcess>,
    #[prost(message, repeated, tag = "2")]
    threads: Vec<TreeThread>,
}

#[derive(Clone, PartialEq, Message)]
struct TreeProcess {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(string, repeated, tag = "3")]
    cmdline: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct TreeThread {
    #[prost(int32, tag = "1")]
    tid: i32,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(int32, tag = "3")]
    tgid: i32,
}

#[derive(Clone, PartialEq, Message)]
struct InternedData {
    #[prost(message, repeated, tag = "5")]
    function_names: Vec<InternedString>,
    #[prost(message, repeated, tag = "6")]
    frames: Vec<InternedFrame>,
    #[prost(message, repeated, tag = "7")]
    callstacks: Vec<Callstack>,
    #[prost(message, repeated, tag = "16")]
    build_ids: Vec<InternedString>,
    #[prost(message, repeated, tag = "17")]
    mapping_paths: Vec<InternedString>,
    #[prost(message, repeated, tag = "19")]
    mappings: Vec<InternedMapping>,
}

#[derive(Clone, PartialEq, Message)]
struct InternedString {
    #[prost(uint64, tag = "1")]
    iid: u64,
    #[prost(bytes = "vec", tag = "2")]
    str: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct InternedFrame {
    #[prost(uint64, tag = "1")]
    iid: u64,
    #[prost(uint64, tag = "2")]
    function_name_id: u64,
    #[prost(uint64, tag = "3")]
    mapping_id: u64,
    /// Frames without an address are told apart by this number: readers know a frame by its mapping and address.
    #[prost(uint64, tag = "4")]
    rel_pc: u64,
}

#[derive(Clone, PartialEq, Message)]
struct InternedMapping {
    #[prost(uint64, tag = "1")]
    iid: u64,
    #[prost(uint64, tag = "2")]
    build_id: u64,
    #[prost(uint64, repeated, packed = "false", tag = "7")]
    path_string_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Callstack {
    #[prost(uint64, tag = "1")]
    iid: u64,
    /// Root first.
    #[prost(uint64, repeated, packed = "false", tag = "2")]
    frame_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct PerfSample {
    #[prost(uint32, optional, tag = "1")]
    cpu: Option<u32>,
    #[prost(uint32, tag = "2")]
    pid: u32,
    #[prost(uint32, tag = "3")]
    tid: u32,
    #[prost(uint64, optional, tag = "4")]
    callstack_iid: Option<u64>,
}

pub(super) fn write(profile: &Profile) -> Vec<u8> {
    let per_packet = match profile.unit {
        ProfileUnit::Samples => 1,
        ProfileUnit::Ns => NS_PER_MS,
    };
    let per_packet = per_packet.max(profile.total_weight() / MOST_PACKETS);
    let mut times: Vec<(u64, &Sample)> = Vec::new();
    for sample in &profile.samples {
        let count = sample.weight.div_ceil(per_packet);
        times.extend(spread_times(profile, sample.first_ns, count).map(|at| (at, sample)));
    }
    times.sort_by_key(|(at, _)| *at);
    let packet = TracePacket {
        trusted_packet_sequence_id: 1,
        sequence_flags: NEEDS_INCREMENTAL_STATE,
        ..TracePacket::default()
    };
    let names = TracePacket {
        timestamp: Some(profile.began_ns),
        process_tree: Some(process_tree(profile)),
        interned_data: Some(interned_data(profile)),
        sequence_flags: INCREMENTAL_STATE_CLEARED,
        ..packet.clone()
    };
    let samples = times.into_iter().map(|(at, sample)| {
        let thread = &profile.threads[sample.thread as usize];
        let is_empty = profile.stacks[sample.stack as usize].is_empty();
        TracePacket {
            timestamp: Some(at),
            perf_sample: Some(PerfSample {
                cpu: u32::try_from(sample.cpu).ok(),
                pid: thread.pid,
                tid: thread.tid,
                callstack_iid: (!is_empty).then_some(u64::from(sample.stack) + 1),
            }),
            ..packet.clone()
        }
    });
    // Messages behind each other are one with all of their packets: none is kept until the last.
    let mut bytes = Vec::new();
    for packet in std::iter::once(names).chain(samples) {
        let packet = vec![packet];
        bytes.extend(Trace { packet }.encode_to_vec());
    }
    bytes
}

/// The times of `count` samples whose first one was at `first_ns`: the profile has no other time of them, so that they are spread evenly
/// until its end.
fn spread_times(profile: &Profile, first_ns: u64, count: u64) -> impl Iterator<Item = u64> {
    let rest = profile.ended_ns.saturating_sub(first_ns);
    (0..count).map(move |number| {
        let share = u128::from(rest) * u128::from(number) / u128::from(count);
        first_ns + share as u64
    })
}

fn process_tree(profile: &Profile) -> ProcessTree {
    let processes: BTreeMap<u32, &str> = profile
        .threads
        .iter()
        .map(|thread| (thread.pid, thread.process.as_str()))
        .collect();
    ProcessTree {
        processes: processes
            .into_iter()
            .map(|(pid, name)| TreeProcess {
                pid: pid as i32,
                cmdline: vec![name.to_owned()],
            })
            .collect(),
        threads: profile
            .threads
            .iter()
            .map(|thread| TreeThread {
                tid: thread.tid as i32,
                name: thread.thread.clone(),
                tgid: thread.pid as i32,
            })
            .collect(),
    }
}

/// All names, frames and stacks; numbers are positions in the profile, from 1.
fn interned_data(profile: &Profile) -> InternedData {
    let mut functions: IndexSet<&str> = IndexSet::new();
    let frames = profile
        .frames
        .iter()
        .zip(1..)
        .map(|(frame, iid)| InternedFrame {
            iid,
            function_name_id: functions.insert_full(&frame.function).0 as u64 + 1,
            mapping_id: u64::from(frame.module) + 1,
            rel_pc: iid,
        })
        .collect();
    let modules = &profile.modules;
    InternedData {
        function_names: intern(functions.iter().copied()),
        frames,
        callstacks: profile
            .stacks
            .iter()
            .zip(1..)
            .map(|(stack, iid)| Callstack {
                iid,
                frame_ids: stack.iter().map(|&frame| u64::from(frame) + 1).collect(),
            })
            .collect(),
        build_ids: intern(modules.iter().map(|module| module.build_id.as_str())),
        mapping_paths: intern(modules.iter().map(|module| module.path.as_str())),
        mappings: (1..=modules.len() as u64)
            .map(|iid| InternedMapping {
                iid,
                build_id: iid,
                path_string_ids: vec![iid],
            })
            .collect(),
    }
}

fn intern<'a>(strings: impl Iterator<Item = &'a str>) -> Vec<InternedString> {
    strings
        .zip(1..)
        .map(|(text, iid)| InternedString {
            iid,
            str: text.into(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Module, ProfileFrame, ProfileHead, Thread};

    #[test]
    fn a_sample_is_as_many_packets_as_it_weighs() {
        let mut profile = Profile::new(ProfileHead {
            began_ns: 100,
            ended_ns: 200,
            ..ProfileHead::default()
        });
        profile.modules.push(Module {
            path: "/x".into(),
            build_id: "ab".into(),
        });
        profile.frames.push(ProfileFrame::new("main", 0));
        profile.stacks.push(vec![0]);
        profile.threads.push(Thread {
            pid: 7,
            tid: 8,
            process: "x".into(),
            thread: "y".into(),
        });
        profile.samples.push(Sample {
            stack: 0,
            thread: 0,
            weight: 4,
            cpu: -1,
            first_ns: 120,
        });
        let packets = Trace::decode(write(&profile).as_slice()).unwrap().packet;
        let names = packets[0].interned_data.as_ref().unwrap();
        assert_eq!(names.function_names[0].str, b"main");
        assert_eq!(names.callstacks[0].frame_ids, [1]);
        let times: Vec<_> = packets[1..]
            .iter()
            .map(|packet| {
                (
                    packet.timestamp.unwrap(),
                    packet.perf_sample.as_ref().unwrap().tid,
                )
            })
            .collect();
        assert_eq!(times, [(120, 8), (140, 8), (160, 8), (180, 8)]);

        profile.unit = ProfileUnit::Ns;
        profile.samples[0].weight = 2 * NS_PER_MS + 1;
        let packets = Trace::decode(write(&profile).as_slice()).unwrap().packet;
        assert_eq!(packets.len(), 1 + 3);
    }
}
