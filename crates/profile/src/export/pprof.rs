//! pprof's protocol buffer, compressed by gzip as its readers expect. Source: `profile.proto` of pprof.

use indexmap::IndexSet;
use prost::Message;
use zlib_rs::{DeflateConfig, ReturnCode, compress_bound, compress_slice};

use crate::document::{Profile, ProfileUnit};

#[derive(Clone, PartialEq, Message)]
struct PprofProfile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<PprofSample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
    #[prost(int64, repeated, tag = "13")]
    comment: Vec<i64>,
}

/// What values are: positions in the table of strings.
#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct PprofSample {
    /// Leaf first.
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    str: i64,
    #[prost(int64, tag = "3")]
    num: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
    #[prost(int64, tag = "6")]
    build_id: i64,
    #[prost(bool, tag = "7")]
    has_functions: bool,
    #[prost(bool, tag = "8")]
    has_filenames: bool,
    #[prost(bool, tag = "9")]
    has_line_numbers: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// The table of strings; its first one is empty.
struct Strings<'a>(IndexSet<&'a str>);

impl<'a> Strings<'a> {
    fn position(&mut self, text: &'a str) -> i64 {
        self.0.insert_full(text).0 as i64
    }
}

pub(super) fn write(profile: &Profile, title: &str) -> Vec<u8> {
    compress(&message(profile, title).encode_to_vec())
}

fn message(profile: &Profile, title: &str) -> PprofProfile {
    let mut strings = Strings(IndexSet::from([""]));
    let value_type = match profile.unit {
        ProfileUnit::Samples => ("samples", "count"),
        ProfileUnit::Ns => ("off-cpu", "nanoseconds"),
    };
    let value_type = ValueType {
        kind: strings.position(value_type.0),
        unit: strings.position(value_type.1),
    };
    let mapping = profile
        .modules
        .iter()
        .zip(1..)
        .map(|(module, id)| Mapping {
            id,
            filename: strings.position(&module.path),
            build_id: strings.position(&module.build_id),
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
        })
        .collect();
    // Functions are numbered by name, module and file; locations are the frames.
    let mut functions: IndexSet<(&str, u32, &str)> = IndexSet::new();
    let location = profile
        .frames
        .iter()
        .zip(1..)
        .map(|(frame, id)| {
            let file = frame.file.as_deref().unwrap_or_default();
            let (function, _) = functions.insert_full((&frame.function, frame.module, file));
            Location {
                id,
                mapping_id: u64::from(frame.module) + 1,
                line: vec![Line {
                    function_id: function as u64 + 1,
                    line: frame.line.map_or(0, i64::from),
                }],
            }
        })
        .collect();
    let function = functions
        .iter()
        .zip(1..)
        .map(|(&(name, _, file), id)| Function {
            id,
            name: strings.position(name),
            system_name: strings.position(name),
            filename: strings.position(file),
        })
        .collect();
    let keys = ["process", "pid", "thread", "tid"].map(|key| strings.position(key));
    let labels: Vec<Vec<Label>> = profile
        .threads
        .iter()
        .map(|thread| {
            let named = [(keys[0], &thread.process), (keys[2], &thread.thread)];
            let numbered = [(keys[1], thread.pid), (keys[3], thread.tid)];
            let named = named.map(|(key, name)| Label {
                key,
                str: strings.position(name),
                num: 0,
            });
            let numbered = numbered.map(|(key, number)| Label {
                key,
                str: 0,
                num: i64::from(number),
            });
            named.into_iter().chain(numbered).collect()
        })
        .collect();
    let sample = profile
        .samples
        .iter()
        .map(|sample| PprofSample {
            location_id: profile.stacks[sample.stack as usize]
                .iter()
                .rev()
                .map(|&frame| u64::from(frame) + 1)
                .collect(),
            value: vec![sample.weight as i64],
            label: labels[sample.thread as usize].clone(),
        })
        .collect();
    let period_type = ValueType {
        kind: strings.position(profile.event.name()),
        unit: strings.position("nanoseconds"),
    };
    let comment = vec![strings.position(title)];
    PprofProfile {
        sample_type: vec![value_type],
        sample,
        mapping,
        location,
        function,
        duration_nanos: (profile.ended_ns - profile.began_ns) as i64,
        period_type: Some(period_type),
        period: 1_000_000_000 / i64::from(profile.frequency_hz.max(1)),
        comment,
        string_table: strings.0.into_iter().map(str::to_owned).collect(),
    }
}

/// The largest window, and a header of gzip, as zlib's `deflateInit2` has them.
const GZIP_WINDOW: i32 = 15 + 16;

/// What gzip adds to what zlib makes, at most.
const GZIP_WRAPPER: usize = 32;

fn compress(bytes: &[u8]) -> Vec<u8> {
    let config = DeflateConfig {
        window_bits: GZIP_WINDOW,
        ..DeflateConfig::new(6)
    };
    let mut packed = vec![0; compress_bound(bytes.len()) + GZIP_WRAPPER];
    let (made, ending) = compress_slice(&mut packed, bytes, config);
    assert_eq!(ending, ReturnCode::Ok, "the bound has room for everything");
    made.to_vec()
}
