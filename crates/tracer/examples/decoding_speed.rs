//! How fast events become text, JSON and summaries, and how long it takes to say what memory a call needs:
//!
//!     cargo run --release -p backsight-tracer --example decoding_speed

use std::time::Instant;

use backsight_syscall_decode::capture::missing_memory;
use backsight_syscall_decode::json::JsonWriter;
use backsight_syscall_decode::memory::CaptureLimits;
use backsight_syscall_decode::table::syscall_number;
use backsight_syscall_decode::text::{LinePrefix, TextOptions, TextWriter};
use backsight_syscall_decode::{
    Abi, CapturePoint, CapturedMemory, EventKind, MemoryPiece, SyscallOutcome, SyscallRecord,
    TraceEvent,
};
use backsight_tracer::summary::CallSummary;

const EVENTS: usize = 1_000_000;

fn main() {
    let events = [
        event(
            "read",
            [0, 4096, 1, 0, 0, 0],
            1,
            &[(4096, CapturePoint::Left, b"\0")],
        ),
        event(
            "write",
            [1, 4096, 1, 0, 0, 0],
            1,
            &[(4096, CapturePoint::Entered, b"\0")],
        ),
        event(
            "openat",
            [-100_i64 as u64, 64, 0o2_000_000, 0, 0, 0],
            3,
            &[(
                64,
                CapturePoint::Entered,
                b"/usr/lib/x86_64-linux-gnu/libc.so.6\0",
            )],
        ),
        event(
            "newfstatat",
            [3, 64, 4096, 0x1000, 0, 0],
            0,
            &[
                (64, CapturePoint::Entered, b"\0"),
                (4096, CapturePoint::Left, &[7; 144]),
            ],
        ),
        event(
            "mmap",
            [0, 8192, 3, 0x22, u64::from(u32::MAX), 0],
            0x7fff_f7fb_d000,
            &[],
        ),
    ];
    println!(
        "{:<12} {:>8} {:>8} {:>8} {:>8}  ns",
        "call", "text", "JSON", "summary", "wants"
    );
    for event in &events {
        let EventKind::Call(call) = &event.kind else {
            continue;
        };
        let mut out = Vec::new();
        let mut text = TextWriter::new(TextOptions {
            prefix: LinePrefix::Plain,
            ..TextOptions::default()
        });
        let in_text = each(|| {
            out.clear();
            text.write(event, &mut out);
        });
        let mut json = JsonWriter::new(usize::MAX);
        let in_json = each(|| {
            out.clear();
            json.write(event, &mut out);
        });
        let mut summary = CallSummary::new();
        let in_summary = each(|| summary.add(event));
        let asked = each(|| {
            std::hint::black_box(missing_memory(
                call,
                CapturePoint::Entered,
                CaptureLimits::default(),
            ));
        });
        let name = backsight_syscall_decode::table::find_syscall(call.abi, call.number)
            .map_or("", |row| row.name);
        println!("{name:<12} {in_text:>8.0} {in_json:>8.0} {in_summary:>8.0} {asked:>8.0}");
    }
}

/// Nanoseconds of one turn.
fn each(mut turn: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..EVENTS {
        turn();
    }
    start.elapsed().as_nanos() as f64 / EVENTS as f64
}

fn event(
    name: &str,
    arguments: [u64; 6],
    value: i64,
    pieces: &[(u64, CapturePoint, &[u8])],
) -> TraceEvent {
    let mut memory = CapturedMemory::default();
    for (address, when, bytes) in pieces {
        memory.add(MemoryPiece {
            address: *address,
            when: *when,
            bytes: bytes.to_vec(),
        });
    }
    let call = SyscallRecord {
        abi: Abi::X86_64,
        number: syscall_number(Abi::X86_64, name).unwrap_or_default(),
        arguments,
        entered: 0,
        outcome: SyscallOutcome::Returned { value, took: 100 },
        memory,
        injected: false,
        rewritten: false,
        delayed: false,
        instruction: None,
        worked: None,
    };
    TraceEvent {
        pid: 1234,
        tid: 1234,
        at: 0,
        kind: EventKind::Call(call),
    }
}
