//! The document: its types, and reading it from bytes that anybody may have written.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

/// The longest document that is read, in bytes. 100,000 stacks of 60 frames take 40 MB.
const LARGEST_DOCUMENT: usize = 128 << 20;

/// The deepest stack that is read. The kernel's own limit, `kernel.perf_event_max_stack`, is at most 640 by default of distributions;
/// stacks unwound from copies of memory are deeper.
const DEEPEST_STACK: usize = 4096;

/// The longest name of a function or path of a module, in bytes. Names of C++ templates reach tens of thousands.
const LONGEST_NAME: usize = 1 << 16;

/// The most bytes that the names of all samples' stacks may have. A name in every frame of every stack grows a thousandfold when it is
/// written out; 100,000 stacks of 60 frames of 50 bytes are 300 MB.
const LARGEST_TEXT: u64 = 2 << 30;

/// A profile: stacks with weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Version of the document: 1.
    backsight_profile: u32,
    /// What was sampled.
    pub event: ProfileEvent,
    /// Unit of the weights.
    pub unit: ProfileUnit,
    /// Samples per second and processor; 0 where nothing is sampled by a clock, as off-CPU time.
    pub frequency_hz: u32,
    /// Start, nanoseconds of CLOCK_MONOTONIC.
    pub began_ns: u64,
    /// End, nanoseconds of CLOCK_MONOTONIC.
    pub ended_ns: u64,
    /// Samples that the kernel dropped.
    pub lost: u64,
    /// Samples whose stack wasn't unwound to its root.
    pub truncated: u64,
    /// What was watched.
    pub scope: ProfileScope,
    /// Files that code was in.
    pub modules: Vec<Module>,
    /// Functions, or places in them.
    pub frames: Vec<ProfileFrame>,
    /// Stacks: positions in `frames`, root first.
    pub stacks: Vec<Vec<u32>>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// Samples, merged by stack and thread.
    pub samples: Vec<Sample>,
}

/// What a profile says of itself, besides its samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of Profile")]
pub struct ProfileHead {
    pub event: ProfileEvent,
    pub unit: ProfileUnit,
    pub frequency_hz: u32,
    pub began_ns: u64,
    pub ended_ns: u64,
    pub lost: u64,
    pub truncated: u64,
    pub scope: ProfileScope,
}

/// What is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileEvent {
    /// A clock of each processor (`PERF_COUNT_SW_CPU_CLOCK`).
    #[default]
    CpuClock,
    /// Cycles of the processor.
    Cycles,
    /// A clock of each thread (`PERF_COUNT_SW_TASK_CLOCK`).
    TaskClock,
    /// Time that threads waited.
    OffCpu,
    /// Time in system calls; the innermost function of a stack is the call.
    SystemCalls,
}

impl ProfileEvent {
    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CpuClock => "cpu-clock",
            Self::Cycles => "cycles",
            Self::TaskClock => "task-clock",
            Self::OffCpu => "off-cpu",
            Self::SystemCalls => "system-calls",
        }
    }
}

/// Unit of weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileUnit {
    /// Number of samples.
    #[default]
    Samples,
    /// Nanoseconds.
    Ns,
}

impl ProfileUnit {
    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Samples => "samples",
            Self::Ns => "ns",
        }
    }
}

/// What is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileScope {
    /// Some processes.
    #[default]
    Processes,
    /// The whole machine.
    Machine,
}

/// A file that code is in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// Its path, or `[kernel]`.
    pub path: String,
    /// Its build ID as hexadecimal digits, or empty.
    pub build_id: String,
}

impl Module {
    /// The last part of its path, without the kernel's mark of files that are gone.
    pub fn file_name(&self) -> &str {
        let path = self.path.strip_suffix(" (deleted)").unwrap_or(&self.path);
        path.rsplit('/').next().unwrap_or(path)
    }
}

/// A function, or a place in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileFrame {
    /// Its demangled name; `[x+0x1234]`, module and offset, where it has none.
    pub function: String,
    /// Position in the profile's `modules`.
    pub module: u32,
    /// Source file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Whether the compiler put it into its caller.
    #[serde(default)]
    pub inlined: bool,
}

impl ProfileFrame {
    /// A function whose source isn't known.
    pub fn new(function: impl Into<String>, module: u32) -> Self {
        Self {
            function: function.into(),
            module,
            file: None,
            line: None,
            inlined: false,
        }
    }
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// Its process.
    pub pid: u32,
    /// Its own number.
    pub tid: u32,
    /// Name of the process.
    pub process: String,
    /// Its own name.
    pub thread: String,
}

/// Samples of one stack in one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SampleRow", into = "SampleRow")]
pub struct Sample {
    /// Position in the profile's `stacks`.
    pub stack: u32,
    /// Position in the profile's `threads`.
    pub thread: u32,
    /// How many samples, or how many nanoseconds.
    pub weight: u64,
    /// Processor, or -1 where there were several or none is known.
    pub cpu: i32,
    /// Time of the first of them, nanoseconds of CLOCK_MONOTONIC.
    pub first_ns: u64,
}

/// A sample as it is written.
type SampleRow = (u32, u32, u64, i32, u64);

impl From<SampleRow> for Sample {
    fn from((stack, thread, weight, cpu, first_ns): SampleRow) -> Self {
        Self {
            stack,
            thread,
            weight,
            cpu,
            first_ns,
        }
    }
}

impl From<Sample> for SampleRow {
    fn from(sample: Sample) -> Self {
        (
            sample.stack,
            sample.thread,
            sample.weight,
            sample.cpu,
            sample.first_ns,
        )
    }
}

/// Why bytes are no profile.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ProfileError {
    #[error("the profile has {0} bytes: at most {LARGEST_DOCUMENT} are read")]
    TooLarge(usize),
    #[error("no profile of Backsight: {0}")]
    NotAProfile(#[from] serde_json::Error),
    #[error("the profile is of version {0}: this program reads version 1")]
    UnknownVersion(u32),
    #[error("the profile's {what} {position} names {kind} {target}, which it doesn't have")]
    Dangling {
        what: &'static str,
        position: usize,
        kind: &'static str,
        target: u32,
    },
    #[error("the profile's stack {0} has more than {DEEPEST_STACK} frames")]
    TooDeep(usize),
    #[error("the profile's {what} {position} has a name of more than {LONGEST_NAME} bytes")]
    NameTooLong { what: &'static str, position: usize },
    #[error("the profile's thread {0} is the same as one before it")]
    ThreadTwice(usize),
    #[error("the names of the profile's stacks have more than {LARGEST_TEXT} bytes together")]
    TextTooLarge,
    #[error("the profile's weights don't fit 63 bits together")]
    WeightTooLarge,
    #[error("the profile's times end before they begin, or don't fit 63 bits")]
    TimesImpossible,
}

impl Profile {
    /// A profile without samples.
    pub fn new(head: ProfileHead) -> Self {
        Self {
            backsight_profile: 1,
            event: head.event,
            unit: head.unit,
            frequency_hz: head.frequency_hz,
            began_ns: head.began_ns,
            ended_ns: head.ended_ns,
            lost: head.lost,
            truncated: head.truncated,
            scope: head.scope,
            modules: Vec::new(),
            frames: Vec::new(),
            stacks: Vec::new(),
            threads: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// Reads a document.
    ///
    /// # Errors
    ///
    /// Bytes that are no document, or a document that contradicts itself or a limit.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ProfileError> {
        if bytes.len() > LARGEST_DOCUMENT {
            return Err(ProfileError::TooLarge(bytes.len()));
        }
        let profile: Self = serde_json::from_slice(bytes)?;
        profile.check()?;
        Ok(profile)
    }

    /// The document.
    pub fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("names, numbers and lists are JSON");
        bytes.push(b'\n');
        bytes
    }

    /// Whether every number points at something, and sums fit.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), ProfileError> {
        if self.backsight_profile != 1 {
            return Err(ProfileError::UnknownVersion(self.backsight_profile));
        }
        if self.began_ns > self.ended_ns || self.ended_ns > i64::MAX as u64 {
            return Err(ProfileError::TimesImpossible);
        }
        let too_long = |what, position| ProfileError::NameTooLong { what, position };
        for (position, module) in self.modules.iter().enumerate() {
            if module.path.len().max(module.build_id.len()) > LONGEST_NAME {
                return Err(too_long("module", position));
            }
        }
        for (position, frame) in self.frames.iter().enumerate() {
            expect_within("frame", position, "module", frame.module, &self.modules)?;
            let file = frame.file.as_deref().unwrap_or_default();
            if frame.function.len().max(file.len()) > LONGEST_NAME {
                return Err(too_long("frame", position));
            }
        }
        let mut threads = HashSet::new();
        for (position, thread) in self.threads.iter().enumerate() {
            if !threads.insert(thread) {
                return Err(ProfileError::ThreadTwice(position));
            }
            if thread.process.len().max(thread.thread.len()) > LONGEST_NAME {
                return Err(too_long("thread", position));
            }
        }
        let mut text_of_stacks = Vec::with_capacity(self.stacks.len());
        for (position, stack) in self.stacks.iter().enumerate() {
            let mut text = 0;
            if stack.len() > DEEPEST_STACK {
                return Err(ProfileError::TooDeep(position));
            }
            for &frame in stack {
                expect_within("stack", position, "frame", frame, &self.frames)?;
                text += self.frames[frame as usize].function.len() as u64;
            }
            text_of_stacks.push(text);
        }
        let (mut total, mut text): (u64, u64) = (0, 0);
        for (position, sample) in self.samples.iter().enumerate() {
            expect_within("sample", position, "stack", sample.stack, &self.stacks)?;
            expect_within("sample", position, "thread", sample.thread, &self.threads)?;
            if sample.first_ns > i64::MAX as u64 {
                return Err(ProfileError::TimesImpossible);
            }
            text += text_of_stacks[sample.stack as usize];
            if text > LARGEST_TEXT {
                return Err(ProfileError::TextTooLarge);
            }
            total = total
                .checked_add(sample.weight)
                .filter(|total| *total <= i64::MAX as u64)
                .ok_or(ProfileError::WeightTooLarge)?;
        }
        Ok(())
    }

    /// Its head.
    pub const fn head(&self) -> ProfileHead {
        ProfileHead {
            event: self.event,
            unit: self.unit,
            frequency_hz: self.frequency_hz,
            began_ns: self.began_ns,
            ended_ns: self.ended_ns,
            lost: self.lost,
            truncated: self.truncated,
            scope: self.scope,
        }
    }

    /// The sum of all weights.
    pub fn total_weight(&self) -> u64 {
        self.samples.iter().map(|sample| sample.weight).sum()
    }
}

/// Refuses a position that the list doesn't have.
fn expect_within<T>(
    what: &'static str,
    position: usize,
    kind: &'static str,
    target: u32,
    list: &[T],
) -> Result<(), ProfileError> {
    if (target as usize) < list.len() {
        return Ok(());
    }
    Err(ProfileError::Dangling {
        what,
        position,
        kind,
        target,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A profile with one sample.
    const SMALL: &str = r#"{"backsight_profile":1,"event":"cpu-clock","unit":"samples","frequency_hz":99,"began_ns":5,"ended_ns":9,
        "lost":0,"truncated":0,"scope":"processes","modules":[{"path":"/usr/bin/x","build_id":"ab12"}],
        "frames":[{"function":"main","module":0,"file":"x.c","line":10,"inlined":false}],"stacks":[[0]],
        "threads":[{"pid":1,"tid":1,"process":"x","thread":"x"}],"samples":[[0,0,7,-1,6]]}"#;

    fn error(document: &str) -> String {
        Profile::from_json(document.as_bytes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn it_is_read_and_written_the_same() {
        let profile = Profile::from_json(SMALL.as_bytes()).unwrap();
        assert_eq!(profile.samples[0].weight, 7);
        assert_eq!(profile.frames[0].line, Some(10));
        assert_eq!(Profile::from_json(&profile.to_json()).unwrap(), profile);
    }

    #[test]
    fn what_points_nowhere_is_refused() {
        let replace = |from: &str, to: &str| {
            assert!(SMALL.contains(from));
            error(&SMALL.replace(from, to))
        };
        assert_eq!(
            replace("[[0,0,7,-1,6]]", "[[1,0,7,-1,6]]"),
            "the profile's sample 0 names stack 1, which it doesn't have"
        );
        assert_eq!(
            replace("[[0,0,7,-1,6]]", "[[0,9,7,-1,6]]"),
            "the profile's sample 0 names thread 9, which it doesn't have"
        );
        assert_eq!(
            replace("\"stacks\":[[0]]", "\"stacks\":[[0,4294967295]]"),
            "the profile's stack 0 names frame 4294967295, which it doesn't have"
        );
        assert_eq!(
            replace("\"module\":0", "\"module\":1"),
            "the profile's frame 0 names module 1, which it doesn't have"
        );
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let deep = format!("[{}0]", "0,".repeat(DEEPEST_STACK));
        assert_eq!(
            error(&SMALL.replace("[[0]]", &format!("[{deep}]"))),
            "the profile's stack 0 has more than 4096 frames"
        );
        let two = "[[0,0,9223372036854775807,-1,6],[0,0,1,-1,6]]";
        assert_eq!(
            error(&SMALL.replace("[[0,0,7,-1,6]]", two)),
            "the profile's weights don't fit 63 bits together"
        );
        let thread = r#"{"pid":1,"tid":1,"process":"x","thread":"x"}"#;
        assert_eq!(
            error(&SMALL.replace(thread, &format!("{thread},{thread}"))),
            "the profile's thread 1 is the same as one before it"
        );
        let wide = SMALL
            .replace("main", &"f".repeat(LONGEST_NAME))
            .replace("[[0]]", &format!("[[{}0]]", "0,".repeat(4000)))
            .replace(
                "[[0,0,7,-1,6]]",
                &format!("[{}[0,0,7,-1,6]]", "[0,0,7,-1,6],".repeat(9)),
            );
        assert!(error(&wide).contains("names of the profile's stacks"));
        let long = "f".repeat(LONGEST_NAME + 1);
        assert!(error(&SMALL.replace("main", &long)).contains("more than 65536 bytes"));
        assert!(error(&" ".repeat(LARGEST_DOCUMENT + 1)).contains("at most"));
    }

    #[test]
    fn other_documents_and_versions_are_refused() {
        assert!(error("{}").starts_with("no profile of Backsight: missing field"));
        assert!(error(&"[".repeat(100_000)).starts_with("no profile of Backsight"));
        assert!(error(&SMALL.replace("\"lost\"", "\"lots\"")).contains("unknown field `lots`"));
        assert!(error(&SMALL.replace("profile\":1", "profile\":2")).contains("version 2"));
        assert!(error(&SMALL.replace("\"ended_ns\":9", "\"ended_ns\":4")).contains("end before"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(at in 0..SMALL.len(), byte in any::<u8>()) {
            let mut bytes = SMALL.as_bytes().to_vec();
            bytes[at] = byte;
            if let Ok(profile) = Profile::from_json(&bytes) {
                crate::export::folded::write(&profile);
                crate::merge(&[&profile, &profile]).ok();
            }
        }
    }
}
