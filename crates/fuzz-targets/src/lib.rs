//! Fuzz targets: everything that reads bytes of others, each as a function of any bytes.
//!
//! `fuzz/` runs them with libFuzzer (`make fuzz`); the inputs that are kept in `fuzz/corpus/TARGET` and those that once broke
//! something, in `fuzz/found/TARGET`, are run by this crate's test. A target ends for every input, without a panic, in
//! little time and memory; what it gives doesn't matter.
//!
//! ```
//! let (name, target) = backsight_fuzz_targets::TARGETS[0];
//! assert_eq!(name, "agent_messages");
//! target(b"anything");
//! ```

mod files;
mod numbers;
mod profiles;
mod traces;

use backsight_agent::{Client, fuzzing as agent};
use backsight_model::ConsoleRecognizer;
use std::time::Duration;

/// A target: reads any bytes.
pub type FuzzTarget = fn(&[u8]);

/// Every target with its name, which is also the name of its folder of inputs.
pub const TARGETS: &[(&str, FuzzTarget)] = &[
    ("agent_messages", agent::messages),
    ("agent_stream", agent_stream),
    ("build_upload", build_upload),
    ("console", console),
    ("definitions", files::definitions),
    ("history_logs", history_logs),
    ("importers", numbers::importers),
    ("inventories", files::inventories),
    ("jq", numbers::jq),
    ("kernel_types", traces::kernel_types),
    ("machine_code", files::machine_code),
    ("netlink", traces::netlink),
    ("parquet", numbers::parquet),
    ("profile", profiles::profile),
    ("profiler", profiles::profiler),
    ("recording", traces::recording),
    ("ring_records", traces::ring_records),
    ("sampled_series", numbers::sampled_series),
    ("samples", numbers::samples),
    ("settings_journal", files::settings_journal),
    ("tables", numbers::tables),
    ("test_results", test_results),
];

/// The target of this name.
pub fn target(name: &str) -> Option<FuzzTarget> {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.map(|(_, target)| *target)
}

/// The first byte chooses among so many.
fn choice(bytes: &[u8], among: usize) -> Option<(usize, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    Some((usize::from(*first) % among, rest))
}

/// What the first line names among these, and what follows that line. A name that none has, or no line's end, stands for one of
/// them by its length.
fn named_first<'a, N: AsRef<[u8]>, T>(
    bytes: &'a [u8],
    among: &'a [(N, T)],
) -> (Option<&'a (N, T)>, &'a [u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (name, rest) = end.map_or((&b""[..], bytes), |end| (&bytes[..end], &bytes[end + 1..]));
    let named = among.iter().find(|(known, _)| known.as_ref() == name);
    let by_length = || among.get(name.len() % among.len().max(1));
    (named.or_else(by_length), rest)
}

/// What an agent, or something else at the other end, says to a conductor.
fn agent_stream(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let stream = tokio::io::join(std::io::Cursor::new(bytes.to_vec()), tokio::io::sink());
        // The bytes end before that.
        let _refused = Client::connect(stream, Duration::from_secs(5)).await;
    });
}

/// What a machine's console says, in pieces.
fn console(bytes: &[u8]) {
    let mut recognizer = ConsoleRecognizer::default();
    let Some((length, console)) = choice(bytes, 64) else {
        return;
    };
    for piece in console.chunks(length + 1) {
        let _any = recognizer.read(piece);
    }
    let _any = backsight_model::console_words(console);
}

/// A build that a conductor puts on a host.
fn build_upload(bytes: &[u8]) {
    if let Ok(folder) = tempfile::tempdir_in(memory()) {
        let inside = folder.path().join("builds");
        agent::receive_build(&inside, bytes);
        let beside = std::fs::read_dir(folder.path()).into_iter().flatten();
        assert!(beside.count() <= 1, "a build leads out of its folder");
    }
}

/// Results of a test suite: the format's name, a line's end, the output, in pieces. What is read is written and read again.
fn test_results(bytes: &[u8]) {
    use backsight_test_results::{
        Event, FORMATS, Format, JUnitWriter, ReadOptions, ResultReader, TapWriter,
    };
    let names: Vec<_> = FORMATS.iter().map(|row| (row.name, row.format)).collect();
    let (Some((_, format)), output) = named_first(bytes, &names) else {
        return;
    };
    let _any = Format::guess("", output);
    let mut results = Vec::new();
    let mut keep = |event| {
        if let Event::Result(result) = event {
            results.push(result);
        }
    };
    let mut reader = ResultReader::new(*format, ReadOptions::default());
    for piece in output.chunks(output.len() % 64 + 1) {
        reader.feed(piece, &mut keep);
    }
    reader.finish(None, &mut keep);
    let (Ok(mut junit), Ok(mut tap)) = (JUnitWriter::new(Vec::new()), TapWriter::new(Vec::new()))
    else {
        return;
    };
    for result in &results {
        let _in_memory = (junit.write(result), tap.write(result));
    }
    let mut again = 0;
    if let (Ok(junit), Ok(_)) = (junit.finish(), tap.finish()) {
        let reader = ResultReader::new(Format::JUnit, ReadOptions::default());
        let _in_memory = reader.read(&junit[..], &mut |event| {
            again += usize::from(matches!(event, Event::Result(_)));
        });
    }
    assert_eq!(again, results.len(), "what was written isn't read again");
}

/// A folder in memory, if there is one.
fn memory() -> &'static std::path::Path {
    let memory = std::path::Path::new("/dev/shm");
    if memory.is_dir() {
        memory
    } else {
        std::path::Path::new("/tmp")
    }
}

/// Logs of version histories: of CVS, of Debian's packages, of a command's own.
fn history_logs(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    backsight_history::fuzzing::cvs_log(&text);
    backsight_history::fuzzing::debian_changelog(&text);
    backsight_history::fuzzing::version_list(&text);
}
