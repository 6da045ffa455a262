//! What the tracer reads: recordings, records of its ring, what goes through netlink sockets, the kernel's types.

use backsight_syscall_decode::json::JsonWriter;
use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::text::{TextOptions, TextWriter};
use backsight_syscall_decode::{
    Abi, CapturePoint, CapturedMemory, EventKind, MemoryPiece, SyscallOutcome, SyscallRecord,
    TraceEvent,
};
use backsight_tracer::fuzzing;
use backsight_tracer::perfetto::PerfettoWriter;
use backsight_tracer::recording::RecordingReader;
use backsight_tracer::summary::{
    CallSummary, SummaryColumn, SummaryForm, SummaryGrouping, SummaryView, TableOptions,
    TraceSummary,
};

/// Events that are told: what comes later is told as these are.
const EVENTS: usize = 2000;

/// A recording, as it is in a file; else events as they are in one, each as its length in two bytes (little-endian) and
/// itself.
pub(crate) fn recording(bytes: &[u8]) {
    if let Ok(recording) = RecordingReader::open(bytes) {
        write_all(recording.map_while(Result::ok).take(EVENTS));
        return;
    }
    let mut events = Vec::new();
    let mut rest = bytes;
    while let [low, high, after @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(after.len());
        let (event, after) = after.split_at(length);
        events.extend(postcard::from_bytes::<TraceEvent>(event));
        rest = after;
    }
    write_all(events.into_iter().take(EVENTS));
}

/// Records of the kernel engine's ring.
pub(crate) fn ring_records(bytes: &[u8]) {
    let mut events = Vec::new();
    fuzzing::ring_records(bytes, &mut |event| events.push(event));
    write_all(events.into_iter().take(EVENTS));
}

/// The kernel's types.
pub(crate) fn kernel_types(bytes: &[u8]) {
    fuzzing::kernel_types(bytes);
}

/// What is sent through a netlink socket, and comes from it: the first byte is the protocol.
pub(crate) fn netlink(bytes: &[u8]) {
    /// The numbers of `sendto` and `recvfrom`.
    const CALLS: [u64; 2] = [44, 45];
    let Some((protocol, rest)) = bytes.split_first() else {
        return;
    };
    let said = |number: u64, when: CapturePoint| {
        let mut memory = CapturedMemory::default();
        memory.set_netlink(Some(*protocol));
        memory.add(MemoryPiece {
            address: 4096,
            when,
            bytes: rest.to_vec(),
        });
        let length = rest.len() as u64;
        TraceEvent {
            pid: 1,
            tid: 1,
            at: 2,
            kind: EventKind::Call(SyscallRecord {
                abi: Abi::X86_64,
                number,
                arguments: [3, 4096, length, 0, 0, 0],
                entered: 1,
                outcome: SyscallOutcome::Returned {
                    value: length.cast_signed(),
                    took: 1,
                },
                memory,
                injected: false,
                rewritten: false,
                delayed: false,
                instruction: None,
                worked: None,
            }),
        }
    };
    let [sent, received] = CALLS;
    write_all([
        said(sent, CapturePoint::Entered),
        said(received, CapturePoint::Left),
    ]);
}

/// Writes events in every format.
fn write_all(events: impl IntoIterator<Item = TraceEvent>) {
    let mut ways = [
        TextWriter::new(TextOptions::default()),
        TextWriter::new(TextOptions {
            full: SyscallSet::all(),
            string: 4096,
            ..TextOptions::default()
        }),
    ];
    let (mut json, mut perfetto, mut summary) = (
        JsonWriter::new(32),
        PerfettoWriter::default(),
        CallSummary::new(),
    );
    let groupings = [
        SummaryGrouping::Path,
        SummaryGrouping::Descriptor,
        SummaryGrouping::Process,
    ];
    let mut summaries =
        groupings.map(|by| (by, TraceSummary::new(by, SyscallSet::all(), true, false)));
    let mut out = Vec::new();
    for event in events {
        for text in &mut ways {
            text.write(&event, &mut out);
        }
        json.write(&event, &mut out);
        perfetto.write(&event, &mut out);
        summary.add(&event);
        for (_, summary) in &mut summaries {
            summary.add(&event);
        }
        out.clear();
    }
    for text in &mut ways {
        text.finish(&mut out);
    }
    perfetto.finish(&mut out);
    let options = TableOptions::new(&SummaryColumn::PERCENTILES_OF_FILES);
    let _printed = summary.by_process(&options, true);
    for (by, summary) in &summaries {
        let view = |form| SummaryView {
            by: *by,
            form,
            table: options.clone(),
        };
        let json = SummaryForm::Json {
            processor_time: false,
            histograms: true,
        };
        let _printed = summary.show(&view(SummaryForm::Histograms));
        let _printed = summary.show(&view(json));
    }
}
