//! How fast events become text, JSON and summaries, and how long it takes to say what memory a call needs:
//!
//!     cargo run --release -p backsight-tracer --example decoding_speed

use std::time::Instant;

use backsight_syscall_decode::capture::wants;
use backsight_syscall_decode::json::Json;
use backsight_syscall_decode::memory::Limits;
use backsight_syscall_decode::table::number;
use backsight_syscall_decode::text::{Options, Text, Who};
use backsight_syscall_decode::{Abi, Call, Event, Memory, Outcome, Piece, What, When};
use backsight_tracer::summary::Summary;

const EVENTS: usize = 1_000_000;

fn main() {
    let events = [
        event(
            "read",
            [0, 4096, 1, 0, 0, 0],
            1,
            &[(4096, When::Left, b"\0")],
        ),
        event(
            "write",
            [1, 4096, 1, 0, 0, 0],
            1,
            &[(4096, When::Entered, b"\0")],
        ),
        event(
            "openat",
            [-100_i64 as u64, 64, 0o2_000_000, 0, 0, 0],
            3,
            &[(64, When::Entered, b"/usr/lib/x86_64-linux-gnu/libc.so.6\0")],
        ),
        event(
            "newfstatat",
            [3, 64, 4096, 0x1000, 0, 0],
            0,
            &[(64, When::Entered, b"\0"), (4096, When::Left, &[7; 144])],
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
        let What::Call(call) = &event.what else {
            continue;
        };
        let mut out = Vec::new();
        let mut text = Text::new(Options {
            who: Who::Plain,
            ..Options::default()
        });
        let in_text = each(|| {
            out.clear();
            text.write(event, &mut out);
        });
        let mut json = Json::new(usize::MAX);
        let in_json = each(|| {
            out.clear();
            json.write(event, &mut out);
        });
        let mut summary = Summary::new();
        let in_summary = each(|| summary.add(event));
        let asked = each(|| {
            std::hint::black_box(wants(call, When::Entered, Limits::default()));
        });
        let name =
            backsight_syscall_decode::table::row(call.abi, call.number).map_or("", |row| row.name);
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

fn event(name: &str, arguments: [u64; 6], value: i64, pieces: &[(u64, When, &[u8])]) -> Event {
    let mut memory = Memory::default();
    for (address, when, bytes) in pieces {
        memory.add(Piece {
            address: *address,
            when: *when,
            bytes: bytes.to_vec(),
        });
    }
    let call = Call {
        abi: Abi::X86_64,
        number: number(Abi::X86_64, name).unwrap_or_default(),
        arguments,
        entered: 0,
        outcome: Outcome::Returned { value, took: 100 },
        memory,
        injected: false,
        rewritten: false,
        delayed: false,
        instruction: None,
        worked: None,
    };
    Event {
        pid: 1234,
        tid: 1234,
        at: 0,
        what: What::Call(call),
    }
}
