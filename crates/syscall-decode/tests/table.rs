//! The table beside what is known of the kernel, and what is asked of hostile memory.

use std::collections::HashSet;

use backsight_syscall_decode::capture::missing_memory;
use backsight_syscall_decode::json::JsonWriter;
use backsight_syscall_decode::memory::{CaptureLimits, DESCRIPTOR_HEAD, ReadExtent};
use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::table::{SyscallClass, find_syscall, syscall_number, syscalls};
use backsight_syscall_decode::text::{TextOptions, TextWriter};
use backsight_syscall_decode::{
    Abi, CapturePoint, CapturedMemory, EventKind, MemoryPiece, SyscallOutcome, SyscallRecord,
    TraceEvent,
};
use proptest::prelude::*;

#[test]
fn every_call_has_its_number_and_its_arguments() {
    for (abi, name, at, arguments) in [
        (Abi::X86_64, "read", 0, 3),
        (Abi::X86_64, "openat", 257, 4),
        (Abi::X86_64, "clone", 56, 5),
        (Abi::X86_64, "clone3", 435, 2),
        (Abi::X86_64, "futex_waitv", 449, 5),
        (Abi::X86_64, "mseal", 462, 3),
        (Abi::X86_64, "mmap", 9, 6),
        (Abi::X86_64, "pread64", 17, 4),
        (Abi::Aarch64, "openat", 56, 4),
        (Abi::Aarch64, "read", 63, 3),
        (Abi::Aarch64, "clone", 220, 5),
        (Abi::Aarch64, "newfstatat", 79, 4),
        (Abi::Aarch64, "fcntl", 25, 3),
        (Abi::I386, "open", 5, 3),
        (Abi::I386, "exit", 1, 1),
        (Abi::I386, "waitpid", 7, 3),
        (Abi::X86_64, "uprobe", 336, 0),
        (Abi::X86_64, "listns", 470, 4),
        (Abi::Aarch64, "listns", 470, 4),
        (Abi::I386, "rseq_slice_yield", 471, 0),
    ] {
        let row = find_syscall(abi, at).unwrap_or_else(|| panic!("{name} has no row"));
        assert_eq!(
            (row.name, row.arguments.len(), syscall_number(abi, name)),
            (name, arguments, Some(at)),
            "{abi:?}"
        );
    }
    assert!(find_syscall(Abi::X86_64, 400).is_none());
    assert!(find_syscall(Abi::X86_64, u64::MAX).is_none());
    let count = |abi| syscalls(abi).count();
    assert!(count(Abi::X86_64) > 370, "{}", count(Abi::X86_64));
    assert!(count(Abi::Aarch64) > 310, "{}", count(Abi::Aarch64));
    assert!(count(Abi::I386) > 420, "{}", count(Abi::I386));
    // arm64 takes its arguments in another order.
    let names = |abi| {
        find_syscall(abi, syscall_number(abi, "clone").unwrap())
            .unwrap()
            .arguments
            .iter()
            .map(|argument| argument.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (names(Abi::X86_64)[3], names(Abi::Aarch64)[3]),
        ("child_tidptr", "tls")
    );
}

#[test]
fn every_call_is_known_by_its_name_once() {
    for abi in [Abi::X86_64, Abi::I386, Abi::Aarch64] {
        let mut names = HashSet::new();
        for (_, row) in syscalls(abi) {
            assert!(names.insert(row.name), "{} is there twice", row.name);
            assert!(
                row.arguments
                    .iter()
                    .all(|argument| !argument.name.is_empty() && !argument.c_type.is_empty()),
                "{}",
                row.name
            );
        }
    }
}

#[test]
fn classes_have_the_calls_that_they_are_named_for() {
    let has = |class, name| {
        find_syscall(Abi::X86_64, syscall_number(Abi::X86_64, name).unwrap())
            .unwrap()
            .classes
            .contains(SyscallClass::from_name(class).unwrap())
    };
    for (class, name) in [
        ("file", "openat"),
        ("process", "execve"),
        ("network", "connect"),
        ("memory", "mmap"),
        ("signal", "kill"),
        ("desc", "read"),
        ("ipc", "semop"),
        ("creds", "setuid"),
        ("clock", "clock_gettime"),
    ] {
        assert!(has(class, name), "{name} isn't of {class}");
        assert!(!has(class, "getrandom"));
    }
    assert!(SyscallClass::from_name("nothing").is_none());
    let known: HashSet<_> = [Abi::X86_64, Abi::I386, Abi::Aarch64]
        .into_iter()
        .flat_map(syscalls)
        .filter(|(_, row)| {
            SyscallClass::ALL
                .iter()
                .any(|class| row.classes.contains(*class))
        })
        .map(|(_, row)| row.name)
        .collect();
    assert!(known.len() > 200, "{}", known.len());
}

/// More than any call is shown with here: 4096 texts of a path's length, as they are entered and as they came back.
const MOST_HELD: usize = 2 * (4096 + 64) * 4096;

/// Memory that is nothing but the same bytes over and over, in which every pointer leads to more of it.
fn feed(call: &mut SyscallRecord, limits: CaptureLimits, bytes: &[u8], short: usize) {
    for when in [CapturePoint::Entered, CapturePoint::Left] {
        for round in 0.. {
            let wanted = missing_memory(call, when, limits);
            if wanted.is_empty() {
                break;
            }
            let held: usize = call
                .memory
                .pieces()
                .iter()
                .map(|piece| piece.bytes.len())
                .sum();
            assert!(held < MOST_HELD, "{held} bytes of {call:?}");
            // Pointers to strings are read 64 at a time, or fewer where memory ends, up to 4096.
            assert!(round < 256, "asked for ever: {call:?}");
            for want in wanted {
                let length = match want.extent {
                    ReadExtent::Bytes(length) | ReadExtent::Text(length) => length,
                    ReadExtent::Descriptor(_) => DESCRIPTOR_HEAD + 8,
                };
                // Control messages are looked at the furthest.
                assert!(length <= 1 << 17, "{want:?}");
                let length = length.saturating_sub(short);
                let bytes = bytes.iter().copied().cycle().take(length).collect();
                call.memory.add(MemoryPiece {
                    address: want.address,
                    when,
                    bytes,
                });
            }
        }
    }
}

/// Tells a call that finds this in memory, as text and as JSON: or what is wrong with what is told.
fn told(
    abi: Abi,
    number: u64,
    arguments: [u64; 6],
    value: i64,
    bytes: &[u8],
    short: usize,
    verbose: bool,
) -> Result<(), String> {
    let mut call = SyscallRecord {
        abi,
        number,
        arguments,
        entered: 0,
        outcome: SyscallOutcome::Open,
        memory: CapturedMemory::default(),
        injected: false,
        rewritten: false,
        delayed: false,
        instruction: None,
        worked: None,
    };
    let limits = CaptureLimits {
        string: 32,
        elements: 32,
        verbose,
    };
    // Entered first, as it would be.
    let pending = call.clone();
    call.outcome = SyscallOutcome::Returned { value, took: 5 };
    feed(&mut call, limits, bytes, short);
    let event = |pid, what| TraceEvent {
        pid,
        tid: pid,
        at: 0,
        kind: what,
    };
    let events = [
        event(1, EventKind::Pending(pending)),
        event(2, EventKind::Call(call.clone())),
        event(1, EventKind::Call(call)),
    ];
    let full = if verbose {
        SyscallSet::all()
    } else {
        SyscallSet::none()
    };
    let mut text = TextWriter::new(TextOptions {
        full,
        ..TextOptions::default()
    });
    let mut json = JsonWriter::new(limits.string);
    let mut out = Vec::new();
    for event in &events {
        text.write(event, &mut out);
        let mut line = Vec::new();
        json.write(event, &mut line);
        if let Err(error) = serde_json::from_slice::<serde_json::Value>(&line) {
            let end = error.column().min(line.len());
            let around = &line[end.saturating_sub(60)..end];
            return Err(format!("{error}: {}", String::from_utf8_lossy(around)));
        }
    }
    let lines = out.iter().filter(|byte| **byte == b'\n').count();
    if out.len() > MOST_HELD {
        return Err(format!("{} bytes of text", out.len()));
    }
    match out.is_ascii() && out.ends_with(b"\n") && lines == 3 {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&out).into_owned()),
    }
}

#[test]
fn lists_without_an_end_are_cut_as_lists_are() {
    // The program's arguments use up what may be told of one call: nothing is left for its environment.
    let execveat = syscall_number(Abi::Aarch64, "execveat").unwrap();
    for verbose in [false, true] {
        let arguments = [0, 0, 1, 1, 0, 0];
        assert_eq!(
            told(Abi::Aarch64, execveat, arguments, -2, &[1], 0, verbose),
            Ok(())
        );
    }
}

#[test]
fn messages_that_lead_to_the_same_structures_over_and_over_are_told_in_part() {
    // Of 64 messages each has as many bytes of control data as there may be, or 257 buffers of a netlink socket.
    for (name, argument, byte) in [
        ("sendmmsg", 4097, 255),
        ("recvmmsg", 4097, 255),
        ("sendmsg", 4096, 1),
    ] {
        let number = syscall_number(Abi::X86_64, name).unwrap();
        let arguments = [3, argument, 64, 4104, 64, 64];
        assert_eq!(
            told(Abi::X86_64, number, arguments, 5, &[byte], 0, true),
            Ok(())
        );
    }
}

#[test]
fn what_became_of_an_argument_is_one_value_of_json() {
    let asked = syscall_number(Abi::X86_64, "lsm_get_self_attr").unwrap();
    let ioctl = syscall_number(Abi::X86_64, "ioctl").unwrap();
    for (number, arguments) in [
        // One module alone is asked, and the call fails.
        (asked, [0, 1, 2, 1, 0, 0]),
        // A request that nobody knows, which reads four bytes and writes them.
        (ioctl, [3, 0xc004_7f7f, 0x1000, 0, 0, 0]),
    ] {
        for value in [-2, 0] {
            let told = told(Abi::X86_64, number, arguments, value, &[0], 0, false);
            assert_eq!(told, Ok(()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_lies_in_memory_is_told_and_no_more_is_asked_than_is_bounded(
        abi in prop_oneof![Just(Abi::X86_64), Just(Abi::Aarch64), Just(Abi::I386)],
        number in 0_u64..470,
        arguments in proptest::array::uniform6(prop_oneof![0_u64..70, 0x1000_u64..0x1010, any::<u64>(), Just(u64::MAX), (0_u64..64).prop_map(|bit| 1 << bit)]),
        value in prop_oneof![-4096_i64..0, 0_i64..300, any::<i64>()],
        bytes in prop_oneof![proptest::collection::vec(any::<u8>(), 1..64), Just(vec![0]), Just(vec![0xff]), Just(vec![0x10, 0, 0, 0, 0, 0, 0, 0]), Just(vec![2, 0, 0, 0])],
        short in prop_oneof![Just(0_usize), 1_usize..9, Just(usize::MAX)],
        verbose in any::<bool>(),
    ) {
        let told = told(abi, number, arguments, value, &bytes, short, verbose);
        prop_assert!(told.is_ok(), "{}", told.unwrap_err());
    }
}
