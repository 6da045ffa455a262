//! Text beside that of strace itself, for the same programs.

use std::path::Path;
use std::process::Command;

use backsight_syscall_decode::descriptor_set::DescriptorSet;
use backsight_syscall_decode::format::{ConstantStyle, EscapeStyle};
use backsight_syscall_decode::memory::CaptureLimits;
use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::table::syscall_number;
use backsight_syscall_decode::text::{
    LinePrefix, TextOptions, TextWriter, TimePrecision, TimestampFormat,
};
use backsight_syscall_decode::{
    Abi, CapturePoint, CapturedMemory, EventKind, MemoryPiece, SyscallOutcome, SyscallRecord,
    TraceEvent,
};
use backsight_tracer::descriptors::{DescriptorDetails, ProcResolver};

use crate::programs::{NEWEST_STRACE, is_strace_missing, program};
use crate::reader;

/// What is different every time: of lines that say this, numbers are not compared.
const VOLATILE: &[&str] = &[
    "clock_gettime(",
    "gettimeofday(",
    "time(",
    "sysinfo(",
    "getrandom(",
    "times(",
    "statfs(",
    "getrusage(",
    "pid",
    "getcpu(",
    "stat(",
    "statx(",
    "newfstatat(",
    "si_utime",
    "fstatfs(",
    "left {",
    "htons(",
    "gettid(",
    "wait",
    "clone",
    "kill",
    "set_tid_address",
    "nanosleep",
    "sigqueueinfo",
    "getdents",
    "restart_syscall",
    "itimer(",
    "timer_gettime",
    "timerfd_gettime",
    "adjtimex",
    "ppid",
    "fork(",
    "FUTEX_WAIT_BITSET|",
    "pgid",
    "shm",
    "socket:",
    "pipe:",
    "/proc/",
];

/// A folder of its own, that goes with it.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("text-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether the strace that is here is older than the newest, which tells some things otherwise.
fn is_strace_old() -> bool {
    static OLD: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| {
        let output = Command::new("strace").arg("-V").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.lines().next() != Some(NEWEST_STRACE)
    });
    *OLD
}

/// What strace 6.1 tells otherwise than the newest one: what a line has. What it looks like now is said by tests of its own.
const TOLD_ANEW: [&str; 27] = [
    "fanotify_",
    "rseq(",
    "epoll_ctl(",
    "epoll_wait(",
    "epoll_pwait(",
    "epoll_pwait2(",
    "pidfd_open(",
    "pidfd_send_signal(",
    "name_to_handle_at(",
    "open_by_handle_at(",
    "sched_setparam(",
    "sched_getparam(",
    "sched_setscheduler(",
    "sched_setattr(",
    "sched_getattr(",
    "sendfile(",
    "bpf(",
    "landlock_",
    "reboot(",
    "futex_waitv(",
    "pkey_alloc(",
    "open_tree(",
    "seccomp(",
    "io_uring_",
    "capset(",
    "quotactl",
    "perf_event_open(",
];
/// The same of requests.
const REQUESTS_TOLD_ANEW: [&str; 19] = [
    "HIDIOCG",
    "HIDIOCS",
    "UI_GET_SYSNAME",
    "JSIOCGNAME",
    "PERF_EVENT_IOC_MODIFY_ATTRIBUTES",
    "UBI_IOCATT",
    "PTP_",
    "VIDIOC_",
    "UFFDIO_",
    "SECCOMP_IOCTL_",
    "KDSKBSENT",
    "KDGKBSENT",
    "TC",
    "TIOC",
    "WDIOC_",
    "FS_IOC_",
    "HDIO_SET_NICE",
    "BTRFS_IOC_",
    "_IOC(",
];

/// The same of whatever line they are in.
const WORDS_TOLD_ANEW: [&str; 11] = [
    // what a SCSI command answers: strace 6.1 has the name once more before it
    "SG_DXFER_TO_FROM_DEV",
    "dxfer_direction=0xfffffffc",
    // how many places of a font show letters: strace 6.1 shows it twice where the request failed
    "entry_ct=",
    "<{eventfd-count",
    "<signalfd:",
    "FSCONFIG_CMD_CREATE_EXCL",
    "KEXEC_FILE_DEBUG",
    "KT_CSI",
    "KVM_MEM_GUEST_MEMFD",
    // UBI_IOCATT
    "0x40186f40",
    "BPF_MAP_TYPE_",
];

/// Whether strace 6.1 tells this line otherwise.
fn is_told_anew(line: &str) -> bool {
    WORDS_TOLD_ANEW.iter().any(|word| line.contains(word))
        || TOLD_ANEW.iter().any(|start| line.starts_with(start))
        || line.starts_with("ioctl(")
            && REQUESTS_TOLD_ANEW
                .iter()
                .any(|request| line.contains(request))
}

/// The same program, told by strace and by us.
fn both(
    name: &str,
    flags: &[&str],
    options: TextOptions,
    descriptors: DescriptorDetails,
) -> Option<(Vec<Line>, Vec<Line>)> {
    if is_strace_missing() {
        return None;
    }
    let program = program(name);
    let folder = Folder::new(name);
    let out = folder.0.join("strace.txt");
    let inner = folder.0.join("inner");
    std::fs::create_dir(&inner).unwrap();
    let mut strace = reader::command(Path::new("strace"));
    strace
        .current_dir(&inner)
        .args(flags)
        .arg("-f")
        .arg("-o")
        .arg(&out)
        .arg(&program);
    strace.status().unwrap();
    let theirs = std::fs::read(&out).unwrap();
    std::fs::remove_dir_all(&inner).unwrap();
    std::fs::create_dir(&inner).unwrap();
    let mut ours = Vec::new();
    let dumps = !(options.reads.is_empty() && options.writes.is_empty());
    let limits = CaptureLimits {
        string: if dumps { 1 << 16 } else { options.string },
        elements: options.string,
        verbose: !options.full.is_empty(),
    };
    let mut text = TextWriter::new(TextOptions {
        prefix: LinePrefix::Plain,
        ..options
    });
    if !descriptors.is_empty() {
        text = text.with_resolver(ProcResolver::new(descriptors));
    }
    reader::trace(&program, &inner, limits, &mut |event: TraceEvent| {
        text.write(&event, &mut ours)
    });
    text.finish(&mut ours);
    let _ = std::fs::remove_file(&program);
    Some((lines(&theirs), lines(&ours)))
}

/// A line, and whether it was interrupted, so that how it is aligned means nothing.
#[derive(Default, Clone)]
struct Line(String, bool);

/// The lines by process in the order in which they appear, without the call by which the first began, and with what was
/// interrupted made whole.
fn lines(text: &[u8]) -> Vec<Line> {
    let text = without_dumps_of_many(&String::from_utf8_lossy(text));
    let mut processes: Vec<(&str, Vec<Line>)> = Vec::new();
    for line in text.lines() {
        let (pid, rest) = line.split_once(' ').unwrap_or(("", line));
        let rest = rest.trim_start();
        if rest.contains("execve(") && processes.is_empty() {
            continue;
        }
        let at = processes
            .iter()
            .position(|(known, _)| *known == pid)
            .unwrap_or_else(|| {
                processes.push((pid, Vec::new()));
                processes.len() - 1
            });
        if rest.starts_with("--- SIGCHLD") {
            // It comes when it comes: before the call that waits for the child, or behind it.
            continue;
        }
        let said = &mut processes[at].1;
        match (
            rest.strip_prefix("<... ")
                .and_then(|rest| rest.split_once(" resumed>")),
            said.last_mut(),
        ) {
            (Some((_, end)), Some(Line(before, interrupted)))
                if before.ends_with(" <unfinished ...>") =>
            {
                before.truncate(before.len() - " <unfinished ...>".len());
                before.push_str(end);
                *interrupted = true;
            }
            _ => said.push(Line(rest.to_owned(), false)),
        }
    }
    // Who joins a thread waits for it, unless it has ended already.
    let joins = "FUTEX_WAIT_BITSET|FUTEX_CLOCK_REALTIME";
    let said = processes.into_iter().flat_map(|(_, said)| said);
    said.filter(|line| !line.0.contains(joins)).collect()
}

/// The text without the dumps of many messages at once: of calls that failed strace's are of whatever lies behind.
fn without_dumps_of_many(text: &str) -> String {
    let (mut kept, mut of_many) = (String::new(), false);
    for line in text.lines() {
        let is_dump = [" = ", " * ", " | "].iter().any(|it| line.starts_with(it));
        if !is_dump {
            of_many = line.contains("mmsg");
        }
        if !(is_dump && of_many) {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn without_numbers(line: &str) -> String {
    let mut short = String::new();
    for letter in line.chars() {
        if letter.is_ascii_hexdigit()
            && (letter.is_ascii_digit()
                || ["#", "\\x", "#x"].iter().any(|sign| short.ends_with(sign)))
        {
            if !short.ends_with('#') {
                short.push('#');
            }
        } else {
            short.push(letter);
        }
    }
    short
}

fn without_columns(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Bits that kernels after Linux 6.1 know, and strace 6.1 doesn't.
const NEWER: [(&str, u64); 32] = [
    ("O_EMPTYPATH", 0x400_0000),
    ("STATX_MNT_ID_UNIQUE", 0x4000),
    ("STATX_SUBVOL", 0x8000),
    ("STATX_WRITE_ATOMIC", 0x1_0000),
    ("STATX_DIO_READ_ALIGN", 0x2_0000),
    ("STATX_ATTR_WRITE_ATOMIC", 0x40_0000),
    ("MAP_ABOVE4G", 0x80),
    ("MFD_NOEXEC_SEAL", 8),
    ("MFD_EXEC", 0x10),
    ("CLONE_AUTOREAP", 0x4_0000_0000),
    ("CLONE_NNP", 0x8_0000_0000),
    ("CLONE_PIDFD_AUTOKILL", 0x10_0000_0000),
    ("CLONE_EMPTY_MNTNS", 0x20_0000_0000),
    ("SA_UNSUPPORTED", 0x400),
    ("SA_EXPOSE_TAGBITS", 0x800),
    ("F_SEAL_EXEC", 0x20),
    ("FALLOC_FL_WRITE_ZEROES", 0x80),
    ("RWF_NOAPPEND", 0x20),
    ("RWF_ATOMIC", 0x40),
    ("RWF_DONTCACHE", 0x80),
    ("RWF_NOSIGNAL", 0x100),
    ("MSG_SOCK_DEVMEM", 0x200_0000),
    ("IORING_ENTER_ABS_TIMER", 0x20),
    ("IORING_ENTER_EXT_ARG_REG", 0x40),
    ("IORING_ENTER_NO_IOWAIT", 0x80),
    ("SECBIT_EXEC_RESTRICT_FILE", 0x100),
    ("SECBIT_EXEC_RESTRICT_FILE_LOCKED", 0x200),
    ("SECBIT_EXEC_DENY_INTERACTIVE", 0x400),
    ("SECBIT_EXEC_DENY_INTERACTIVE_LOCKED", 0x800),
    ("AT_HANDLE_MNT_ID_UNIQUE", 1),
    ("AT_HANDLE_CONNECTABLE", 2),
    ("MEMBARRIER_CMD_GET_REGISTRATIONS", 0x200),
];

/// A line as strace 6.1 tells it: newer bits are part of the number behind the names.
fn without_newer_bits(line: &str) -> String {
    let mut line = line.to_owned();
    for (name, bit) in NEWER {
        let word = format!("|{name}");
        let ends = |rest: &str| {
            !rest.starts_with(|letter: char| letter == '_' || letter.is_ascii_alphanumeric())
        };
        while let Some(at) = line
            .match_indices(&word)
            .map(|(at, _)| at)
            .find(|at| ends(&line[at + word.len()..]))
        {
            line.replace_range(at..at + word.len(), "");
            let end = line[at..]
                .find([',', ')', '}', ' '])
                .map_or(line.len(), |end| at + end);
            let number = line[at..end].find("|0x").map(|start| at + start);
            let start = number.unwrap_or(end);
            let digits = line[start..end].strip_prefix("|0x").unwrap_or("");
            let length = digits
                .find(|letter: char| !letter.is_ascii_hexdigit())
                .unwrap_or(digits.len());
            let rest = u64::from_str_radix(&digits[..length], 16).unwrap_or(0);
            let end = start + number.map_or(0, |_| "|0x".len() + length);
            line.replace_range(start..end, &format!("|{:#x}", rest | bit));
        }
    }
    line
}

#[test]
fn newer_bits_are_put_back_into_the_number_behind_the_names() {
    for (ours, theirs) in [
        (
            "f(RWF_APPEND|RWF_ATOMIC|RWF_NOSIGNAL|0x8) = 0",
            "f(RWF_APPEND|0x148) = 0",
        ),
        (
            "f(RWF_APPEND|RWF_ATOMIC, 1) = 0",
            "f(RWF_APPEND|0x40, 1) = 0",
        ),
        ("f(A|STATX_ATTR_WRITE_ATOMIC|0x1)", "f(A|0x400001)"),
    ] {
        assert_eq!(without_newer_bits(ours), theirs);
    }
}

/// What strace 6.1 shows as bytes and we by its form: words of a line of ours. `tests/network.rs` of the decoder says how.
const NEWER_FORMS: [&str; 1] = ["sa_family=AF_TIPC, addrtype="];

fn same(theirs: &Line, ours: &Line) -> bool {
    let (Line(theirs, first), Line(ours, second)) = (theirs, ours);
    if NEWER_FORMS
        .iter()
        .any(|form| ours.contains(form) && !theirs.contains(form))
    {
        return true;
    }
    if is_strace_old() && is_told_anew(ours) {
        let call = |line: &str| line.split('(').next().map(str::to_owned);
        return call(theirs) == call(ours);
    }
    let ours = &match is_strace_old() {
        true => without_newer_bits(ours),
        false => ours.clone(),
    };
    // Numbers of sockets and processes are others each time.
    let numbered = [":[", "<pid:"].iter().any(|sign| theirs.contains(sign));
    let volatile = numbered || VOLATILE.iter().any(|name| theirs.contains(name));
    theirs == ours
        || ((*first || *second) && without_columns(theirs) == without_columns(ours))
        || (volatile
            && without_columns(&without_numbers(theirs)) == without_columns(&without_numbers(ours)))
}

fn compare(name: &str, flags: &[&str], options: TextOptions, descriptors: DescriptorDetails) {
    let Some((theirs, ours)) = both(name, flags, options, descriptors) else {
        return;
    };
    let mut differences = String::new();
    for number in 0..theirs.len().max(ours.len()) {
        let line = |lines: &[Line]| lines.get(number).cloned().unwrap_or_default();
        let (theirs, ours) = (line(&theirs), line(&ours));
        if !same(&theirs, &ours) {
            differences.push_str(&format!("  strace: {}\n  ours:   {}\n", theirs.0, ours.0));
        }
    }
    assert!(!theirs.is_empty());
    assert!(differences.is_empty(), "{name} {flags:?}:\n{differences}");
}

fn compare_all(name: &str) {
    compare(
        name,
        &[],
        TextOptions::default(),
        DescriptorDetails::default(),
    );
    compare(
        name,
        &["-v", "-s", "300"],
        TextOptions {
            full: SyscallSet::all(),
            string: 300,
            ..TextOptions::default()
        },
        DescriptorDetails::default(),
    );
    compare(
        name,
        &["-x", "-s", "7"],
        TextOptions {
            escapes: EscapeStyle::HexWhereNeeded,
            string: 7,
            ..TextOptions::default()
        },
        DescriptorDetails::default(),
    );
    compare(
        name,
        &["-xx"],
        TextOptions {
            escapes: EscapeStyle::Hex,
            ..TextOptions::default()
        },
        DescriptorDetails::default(),
    );
    compare(
        name,
        &["-y"],
        TextOptions::default(),
        DescriptorDetails::PATHS,
    );
    compare(
        name,
        &["-yy"],
        TextOptions::default(),
        DescriptorDetails::ALL,
    );
    compare(
        name,
        &["-e", "verbose=none"],
        TextOptions {
            opaque: SyscallSet::all(),
            ..TextOptions::default()
        },
        DescriptorDetails::default(),
    );
    compare(
        name,
        &["-e", "read=all", "-e", "write=all"],
        TextOptions {
            reads: DescriptorSet::parse("all").unwrap(),
            writes: DescriptorSet::parse("all").unwrap(),
            ..TextOptions::default()
        },
        DescriptorDetails::default(),
    );
}

#[test]
fn arguments_are_told_as_numbers_as_strace_tells_them() {
    for name in ["files", "sockets", "rare"] {
        let raw = TextOptions {
            raw: SyscallSet::all(),
            ..TextOptions::default()
        };
        compare(name, &["-e", "raw=all"], raw, DescriptorDetails::default());
    }
}

#[test]
fn files_are_told_as_strace_tells_them() {
    compare_all("files");
}

#[test]
fn processes_signals_and_clocks_are_told_as_strace_tells_them() {
    compare_all("processes");
}

#[test]
fn sockets_and_waiting_are_told_as_strace_tells_them() {
    compare_all("sockets");
}

#[test]
fn rare_calls_and_unknown_bits_are_told_as_strace_tells_them() {
    compare_all("rare");
}

#[test]
fn calls_of_many_meanings_are_told_as_strace_tells_them() {
    compare_all("seldom");
}

#[test]
fn messages_options_and_what_grew_are_told_as_strace_tells_them() {
    let plain = TextOptions::default;
    for (flags, options) in [
        (&[][..], plain()),
        (
            &["-v", "-s", "300"],
            TextOptions {
                full: SyscallSet::all(),
                string: 300,
                ..plain()
            },
        ),
        (
            &["-x", "-s", "7"],
            TextOptions {
                escapes: EscapeStyle::HexWhereNeeded,
                string: 7,
                ..plain()
            },
        ),
        (
            &["-xx"],
            TextOptions {
                escapes: EscapeStyle::Hex,
                ..plain()
            },
        ),
        (
            &["-X", "raw"],
            TextOptions {
                constants: ConstantStyle::Numbers,
                ..plain()
            },
        ),
        (
            &["-X", "verbose"],
            TextOptions {
                constants: ConstantStyle::Both,
                ..plain()
            },
        ),
        (
            &["-e", "verbose=none"],
            TextOptions {
                opaque: SyscallSet::all(),
                ..plain()
            },
        ),
    ] {
        compare("messages", flags, options, DescriptorDetails::default());
    }
}

#[test]
fn what_devices_keys_and_quotas_are_asked_is_told_as_strace_tells_it() {
    compare_all("devices");
}

#[test]
fn names_and_numbers_of_what_is_asked_are_told_as_strace_tells_them() {
    for (flag, constants) in [
        ("-Xraw", ConstantStyle::Numbers),
        ("-Xverbose", ConstantStyle::Both),
    ] {
        let options = TextOptions {
            constants,
            ..TextOptions::default()
        };
        let Some((theirs, ours)) = both("devices", &[flag], options, DescriptorDetails::default())
        else {
            return;
        };
        // What the program's libraries ask before it begins is told elsewhere.
        let asked = |line: &&Line| {
            ["ioctl(-1", "prctl(", "keyctl("]
                .iter()
                .any(|it| line.0.starts_with(it))
        };
        let differ: Vec<_> = theirs
            .iter()
            .filter(asked)
            .zip(ours.iter().filter(asked))
            .filter(|(theirs, ours)| !same(theirs, ours))
            .map(|(theirs, ours)| format!("  strace: {}\n  ours:   {}\n", theirs.0, ours.0))
            .collect();
        assert!(differ.is_empty(), "{flag}:\n{}", differ.concat());
    }
}

#[test]
fn every_bit_has_the_name_and_the_place_that_strace_gives_it() {
    compare(
        "bits",
        &[],
        TextOptions::default(),
        DescriptorDetails::default(),
    );
    compare(
        "bits",
        &["-v"],
        TextOptions {
            full: SyscallSet::all(),
            ..TextOptions::default()
        },
        DescriptorDetails::default(),
    );
}

/// A call of x86-64, with what lay behind its pointers.
fn call(
    name: &str,
    arguments: [u64; 6],
    outcome: SyscallOutcome,
    pieces: &[(u64, CapturePoint, &[u8])],
) -> SyscallRecord {
    let mut memory = CapturedMemory::default();
    for (address, when, bytes) in pieces {
        memory.add(MemoryPiece {
            address: *address,
            when: *when,
            bytes: bytes.to_vec(),
        });
    }
    let number = syscall_number(Abi::X86_64, name).unwrap();
    SyscallRecord {
        abi: Abi::X86_64,
        number,
        arguments,
        entered: 1_000_000_000,
        outcome,
        memory,
        injected: false,
        rewritten: false,
        delayed: false,
        instruction: None,
        worked: None,
    }
}

fn event(tid: i32, what: EventKind) -> TraceEvent {
    TraceEvent {
        pid: tid,
        tid,
        at: 1_500_000_000,
        kind: what,
    }
}

fn returned(value: i64) -> SyscallOutcome {
    SyscallOutcome::Returned {
        value,
        took: 12_345,
    }
}

fn told(options: TextOptions, events: &[TraceEvent]) -> String {
    let mut text = TextWriter::new(options);
    let mut out = Vec::new();
    for event in events {
        text.write(event, &mut out);
    }
    text.finish(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn names_of_kernels_after_linux_6_1_are_known() {
    for (name, arguments, part) in [
        ("fcntl", [3, 0x404, 0, 0, 0, 0], "F_CREATED_QUERY"),
        ("fcntl", [3, 0x409, 0x20, 0, 0, 0], "F_SEAL_EXEC"),
        ("madvise", [0, 0, 102, 0, 0, 0], "MADV_GUARD_INSTALL"),
        ("memfd_create", [0, 8, 0, 0, 0, 0], "MFD_NOEXEC_SEAL"),
        ("mmap", [0, 0, 0, 0x28, 3, 0], "MAP_DROPPABLE|MAP_ANONYMOUS"),
        ("preadv2", [3, 0, 0, 0, 0, 0x80], "RWF_DONTCACHE"),
        ("prctl", [65, 1, 0, 0, 0, 0], "PR_SET_MDWE"),
        ("ioctl", [3, 0xc068_6611, 0, 0, 0, 0], "PROCMAP_QUERY"),
        ("socket", [2, 3, 0x100, 0, 0, 0], "IPPROTO_SMC"),
        (
            "set_mempolicy",
            [6, 0, 0, 0, 0, 0],
            "MPOL_WEIGHTED_INTERLEAVE",
        ),
        ("getsockopt", [3, 0, 52, 0, 0, 0], "IP_PROTOCOL"),
        ("getsockopt", [3, 1, 77, 0, 0, 0], "SO_PEERPIDFD"),
        ("setsockopt", [3, 1, 83, 0, 0, 0], "SO_PASSRIGHTS"),
        ("setsockopt", [3, 6, 38, 0, 0, 0], "TCP_AO_ADD_KEY"),
    ] {
        let call = EventKind::Call(call(name, arguments, returned(-22), &[]));
        let line = told(TextOptions::default(), &[event(7, call)]);
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn mounts_are_asked_about_by_names() {
    let mut request = 24_u64.to_le_bytes().to_vec();
    request.extend(0x11_u64.to_le_bytes());
    request.extend(0x202_u64.to_le_bytes());
    let mounts: Vec<u8> = [1_u64, 2].iter().flat_map(|id| id.to_le_bytes()).collect();
    let pieces: &[(u64, CapturePoint, &[u8])] = &[
        (64, CapturePoint::Entered, &request),
        (128, CapturePoint::Left, &mounts),
    ];
    for (name, result, expected) in [
        (
            "statmount",
            0,
            "statmount({size=24, mnt_ns_fd=0, mnt_id=0x11, param=STATMOUNT_MNT_BASIC|STATMOUNT_SB_SOURCE}, 0x80, 512, STATMOUNT_BY_FD) = 0\n",
        ),
        (
            "listmount",
            2,
            "listmount({size=24, mnt_ns_fd=0, mnt_id=0x11, param=0x202}, [0x1, 0x2], 512, LISTMOUNT_REVERSE) = 2\n",
        ),
    ] {
        let call = call(name, [64, 128, 512, 1, 0, 0], returned(result), pieces);
        let options = TextOptions {
            column: 0,
            ..TextOptions::default()
        };
        assert_eq!(told(options, &[event(7, EventKind::Call(call))]), expected);
    }
}

#[test]
fn what_has_a_name_is_told_as_it_is_asked_for() {
    let mut limit = 2048_u64.to_le_bytes().to_vec();
    limit.extend(u64::MAX.to_le_bytes());
    let pieces: &[(u64, CapturePoint, &[u8])] = &[(64, CapturePoint::Entered, &limit)];
    let told_with = |constants, name, arguments| {
        let call = EventKind::Call(call(name, arguments, returned(0), pieces));
        let options = TextOptions {
            constants,
            column: 0,
            ..TextOptions::default()
        };
        told(options, &[event(7, call)])
    };
    let limits = |constants| told_with(constants, "setrlimit", [7, 64, 0, 0, 0, 0]);
    assert_eq!(
        limits(ConstantStyle::Numbers),
        "setrlimit(0x7, {rlim_cur=2048, rlim_max=18446744073709551615}) = 0\n"
    );
    assert_eq!(
        limits(ConstantStyle::Both),
        "setrlimit(0x7 /* RLIMIT_NOFILE */, {rlim_cur=2048 /* 2*1024 */, \
         rlim_max=18446744073709551615 /* RLIM64_INFINITY */}) = 0\n"
    );
    let persona = |constants| told_with(constants, "personality", [0x1020_0006, 0, 0, 0, 0, 0]);
    assert_eq!(
        persona(ConstantStyle::Numbers),
        "personality(0x6|0x10200000) = 0 (0)\n"
    );
    assert!(
        persona(ConstantStyle::Both).starts_with("personality(0x6 /* PER_BSD */|0x10200000 /* ")
    );
}

#[test]
fn of_a_process_that_ran_already_its_threads_are_counted() {
    let thread = |tid, kind| TraceEvent {
        pid: 7,
        ..event(tid, kind)
    };
    let attached = |tid| thread(tid, EventKind::Attached { parent: None });
    let detached = |tid| thread(tid, EventKind::Detached);
    let poll = |tid| {
        let open = call("poll", [0, 0, 700, 0, 0, 0], SyscallOutcome::Open, &[]);
        thread(tid, EventKind::Pending(open))
    };
    let events = [
        attached(8),
        attached(9),
        attached(7),
        poll(8),
        detached(7),
        detached(8),
        detached(9),
    ];
    let options = TextOptions {
        attached: true,
        prefix: LinePrefix::Plain,
        ..TextOptions::default()
    };
    assert_eq!(
        told(options, &events),
        "strace: Process 7 attached with 3 threads\n\
         8     poll(NULL, 0, 700strace: Process 7 detached\n \
         <detached ...>\nstrace: Process 8 detached\nstrace: Process 9 detached\n"
    );
}

#[test]
fn by_which_signal_a_process_ended_is_told_whatever_isnt_of_exits() {
    let events = [
        event(1, EventKind::Exited { status: 3 }),
        event(
            2,
            EventKind::Killed {
                signal: 9,
                core: false,
            },
        ),
    ];
    let quiet = TextOptions {
        exits: false,
        ..TextOptions::default()
    };
    assert_eq!(told(quiet, &events), "+++ killed by SIGKILL +++\n");
}

#[test]
fn random_bytes_of_which_none_are_shown_are_cut() {
    let options = || TextOptions {
        string: 0,
        column: 0,
        ..TextOptions::default()
    };
    let random = EventKind::Call(call("getrandom", [4096, 8, 1, 0, 0, 0], returned(8), &[]));
    assert_eq!(
        told(options(), &[event(1, random)]),
        "getrandom(\"\"..., 8, GRND_NONBLOCK) = 8\n"
    );
}

#[test]
fn a_child_is_named_though_its_maker_has_told_nothing() {
    let getpid = || EventKind::Call(call("getpid", [0; 6], returned(2), &[]));
    let events = [
        event(2, EventKind::Attached { parent: Some(1) }),
        event(2, getpid()),
        event(2, EventKind::Exited { status: 0 }),
        event(1, getpid()),
    ];
    let bracketed = TextOptions {
        prefix: LinePrefix::Bracketed,
        column: 0,
        ..TextOptions::default()
    };
    assert_eq!(
        told(bracketed, &events),
        "[pid     2] getpid() = 2\n[pid     2] +++ exited with 0 +++\ngetpid() = 2\n"
    );
}

#[test]
fn what_is_no_call_has_the_number_of_the_last_one() {
    let events = [
        event(1, EventKind::Stopped { signal: 19 }),
        event(1, EventKind::Call(call("getpid", [0; 6], returned(2), &[]))),
        event(1, EventKind::Exited { status: 0 }),
    ];
    let numbered = TextOptions {
        numbered: true,
        column: 0,
        ..TextOptions::default()
    };
    assert_eq!(
        told(numbered, &events),
        "[????] --- stopped by SIGSTOP ---\n[  39] getpid() = 2\n[  39] +++ exited with 0 +++\n"
    );
}

#[test]
fn signals_that_nobody_asks_for_are_not_told_where_they_kill_either() {
    let killed = |signal| EventKind::Killed {
        signal,
        core: false,
    };
    let events = [
        event(1, EventKind::Stopped { signal: 19 }),
        event(1, killed(9)),
        event(2, killed(15)),
    ];
    let options = TextOptions {
        signals: 1 << 14,
        ..TextOptions::default()
    };
    assert_eq!(told(options, &events), "+++ killed by SIGTERM +++\n");
}

#[test]
fn calls_that_interleave_are_unfinished_and_resumed() {
    let read = |outcome, pieces: &[(u64, CapturePoint, &[u8])]| {
        call("read", [3, 64, 5, 0, 0, 0], outcome, pieces)
    };
    let pending = EventKind::Pending(read(SyscallOutcome::Open, &[]));
    let done = EventKind::Call(read(returned(5), &[(64, CapturePoint::Left, b"hello")]));
    let getpid = EventKind::Call(call("getpid", [0; 6], returned(2), &[]));
    let plain = TextOptions {
        prefix: LinePrefix::Plain,
        ..TextOptions::default()
    };
    assert_eq!(
        told(
            plain.clone(),
            &[
                event(1, pending.clone()),
                event(2, getpid.clone()),
                event(1, done.clone())
            ]
        ),
        "1     read(3 <unfinished ...>\n2     getpid()                          = 2\n1     <... read resumed>, \"hello\", 5)   = 5\n"
    );
    // Nothing came between: it is one line.
    assert_eq!(
        told(
            plain.clone(),
            &[event(1, pending.clone()), event(1, done.clone())]
        ),
        "1     read(3, \"hello\", 5)               = 5\n"
    );
    // The thread is gone.
    let gone = EventKind::Call(read(SyscallOutcome::Open, &[]));
    let killed = EventKind::Killed {
        signal: 9,
        core: false,
    };
    assert_eq!(
        told(
            plain.clone(),
            &[
                event(1, pending.clone()),
                event(2, getpid.clone()),
                event(1, gone.clone()),
                event(1, killed.clone())
            ]
        ),
        "1     read(3 <unfinished ...>\n2     getpid()                          = 2\n1     <... read resumed> <unfinished ...>) = ?\n\
         1     +++ killed by SIGKILL +++\n"
    );
    assert_eq!(
        told(plain.clone(), &[event(1, pending.clone()), event(1, gone)]),
        "1     read(3 <unfinished ...>)          = ?\n"
    );
    // Threads are named on a terminal as soon as there are two of them.
    let bracketed = TextOptions {
        prefix: LinePrefix::Bracketed,
        ..TextOptions::default()
    };
    assert_eq!(
        told(
            bracketed,
            &[
                event(1, getpid.clone()),
                event(2, EventKind::Attached { parent: Some(1) }),
                event(2, getpid.clone()),
                event(1, EventKind::Exited { status: 0 }),
                event(2, getpid)
            ]
        ),
        "getpid()                                = 2\n[pid     2] getpid()                    = 2\n[pid     1] +++ exited with 0 +++\n\
         getpid()                                = 2\n"
    );
}

#[test]
fn a_thread_that_is_replaced_gives_its_call_to_the_process() {
    let execve = |outcome| call("execve", [0, 0, 0, 0, 0, 0], outcome, &[]);
    let read = call("read", [3, 64, 5, 0, 0, 0], SyscallOutcome::Open, &[]);
    let events = [
        event(1, EventKind::Pending(read.clone())),
        event(2, EventKind::Pending(execve(SyscallOutcome::Open))),
        event(1, EventKind::Call(read)),
        event(1, EventKind::Superseded { by: 2 }),
        event(1, EventKind::Call(execve(returned(0)))),
    ];
    assert_eq!(
        told(
            TextOptions {
                prefix: LinePrefix::Plain,
                ..TextOptions::default()
            },
            &events
        ),
        "1     read(3 <unfinished ...>\n2     execve(NULL, NULL, NULL <unfinished ...>\n1     <... read resumed> <unfinished ...>) = ?\n\
         1     +++ superseded by execve in pid 2 +++\n1     <... execve resumed>)             = 0\n"
    );
}

#[test]
fn the_time_stands_before_a_line_and_behind_it() {
    let getpid = event(2, EventKind::Call(call("getpid", [0; 6], returned(2), &[])));
    let end = event(2, EventKind::Exited { status: 0 });
    let options = TextOptions {
        wall: 1_795_355_468_000_000_000,
        zone: 3600,
        column: 0,
        took: Some(TimePrecision::Micro),
        ..TextOptions::default()
    };
    let with = |time, since| {
        told(
            TextOptions {
                time,
                since,
                ..options.clone()
            },
            &[getpid.clone(), end.clone()],
        )
    };
    assert_eq!(
        with(Some(TimestampFormat::SECONDS), None),
        "14:51:09 getpid() = 2 <0.000012>\n14:51:09 +++ exited with 0 +++\n"
    );
    assert_eq!(
        with(Some(TimestampFormat::MICROSECONDS), None),
        "14:51:09.000000 getpid() = 2 <0.000012>\n14:51:09.500000 +++ exited with 0 +++\n"
    );
    assert_eq!(
        with(Some(TimestampFormat::EPOCH), None),
        "1795355469.000000 getpid() = 2 <0.000012>\n1795355469.500000 +++ exited with 0 +++\n"
    );
    assert_eq!(
        with(None, Some(TimePrecision::Micro)),
        "     0.000000 getpid() = 2 <0.000012>\n     0.500000 +++ exited with 0 +++\n"
    );
    assert_eq!(
        with(Some(TimestampFormat::SECONDS), Some(TimePrecision::Micro)),
        "14:51:09 (+     0.000000) getpid() = 2 <0.000012>\n14:51:09 (+     0.500000) +++ exited with 0 +++\n"
    );
}

#[test]
fn what_has_a_name_is_told_as_a_number_too() {
    let path: &[(u64, CapturePoint, &[u8])] = &[(64, CapturePoint::Entered, b"/x\0")];
    let directory = (-100_i64).cast_unsigned();
    for (name, arguments, names, numbers, both) in [
        (
            "openat",
            [directory, 64, 0x80000, 0, 0, 0],
            r#"openat(AT_FDCWD, "/x", O_RDONLY|O_CLOEXEC) = 0"#,
            r#"openat(-100, "/x", 0x80000) = 0"#,
            r#"openat(-100 /* AT_FDCWD */, "/x", 0x80000 /* O_RDONLY|O_CLOEXEC */) = 0"#,
        ),
        (
            "kill",
            [5, 10, 0, 0, 0, 0],
            "kill(5, SIGUSR1) = 0",
            "kill(5, 10) = 0",
            "kill(5, 10 /* SIGUSR1 */) = 0",
        ),
        (
            "access",
            [64, 0xf00, 0, 0, 0, 0],
            r#"access("/x", 0xf00 /* ?_OK */) = 0"#,
            r#"access("/x", 0xf00) = 0"#,
            r#"access("/x", 0xf00 /* ?_OK */) = 0"#,
        ),
        (
            "mknod",
            [64, 0o20644, 0x103, 0, 0, 0],
            r#"mknod("/x", S_IFCHR|0644, makedev(0x1, 0x3)) = 0"#,
            r#"mknod("/x", 020644, 0x103) = 0"#,
            r#"mknod("/x", 020644 /* S_IFCHR|0644 */, 0x103 /* makedev(0x1, 0x3) */) = 0"#,
        ),
    ] {
        let told_so = |constants| {
            let options = TextOptions {
                constants,
                column: 0,
                ..TextOptions::default()
            };
            let call = call(name, arguments, returned(0), path);
            told(options, &[event(1, EventKind::Call(call))])
        };
        assert_eq!(told_so(ConstantStyle::Names), format!("{names}\n"));
        assert_eq!(told_so(ConstantStyle::Numbers), format!("{numbers}\n"));
        assert_eq!(told_so(ConstantStyle::Both), format!("{both}\n"));
    }
}

#[test]
fn times_are_as_exact_as_asked() {
    let getpid = event(2, EventKind::Call(call("getpid", [0; 6], returned(2), &[])));
    for (precision, time, since, took) in [
        (TimePrecision::Seconds, "1795355469", "     0", "0"),
        (
            TimePrecision::Milli,
            "1795355469.000",
            "     0.000",
            "0.000",
        ),
        (
            TimePrecision::Nano,
            "1795355469.000000000",
            "     0.000000000",
            "0.000012345",
        ),
    ] {
        let epoch = true;
        let options = TextOptions {
            wall: 1_795_355_468_000_000_000,
            time: Some(TimestampFormat { epoch, precision }),
            since: Some(precision),
            took: Some(precision),
            numbered: true,
            column: 0,
            ..TextOptions::default()
        };
        let line = format!("{time} (+{since}) [  39] getpid() = 2 <{took}>\n");
        let told = told(options, std::slice::from_ref(&getpid));
        if cfg!(target_arch = "x86_64") {
            assert_eq!(told, line);
        }
    }
}

#[test]
fn errors_that_programs_never_see_and_results_that_are_made_up_are_told() {
    let line = |value| {
        let call = call("read", [3, 64, 5, 0, 0, 0], returned(value), &[]);
        told(
            TextOptions {
                column: 0,
                ..TextOptions::default()
            },
            &[event(1, EventKind::Call(call))],
        )
    };
    assert_eq!(
        line(-512),
        "read(3, 0x40, 5) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)\n"
    );
    assert_eq!(
        line(-513),
        "read(3, 0x40, 5) = ? ERESTARTNOINTR (To be restarted)\n"
    );
    assert_eq!(
        line(-514),
        "read(3, 0x40, 5) = ? ERESTARTNOHAND (To be restarted if no handler)\n"
    );
    assert_eq!(line(-4000), "read(3, 0x40, 5) = -1 (errno 4000)\n");
    let one_second = [1_u64.to_le_bytes(), 0_u64.to_le_bytes()].concat();
    let half = [0_u64.to_le_bytes(), 500_000_000_u64.to_le_bytes()].concat();
    let slept = call(
        "nanosleep",
        [64, 96, 0, 0, 0, 0],
        returned(-516),
        &[
            (64, CapturePoint::Entered, &one_second),
            (96, CapturePoint::Left, &half),
        ],
    );
    assert_eq!(
        told(TextOptions::default(), &[event(1, EventKind::Call(slept))]),
        "nanosleep({tv_sec=1, tv_nsec=0}, {tv_sec=0, tv_nsec=500000000}) = ? ERESTART_RESTARTBLOCK (Interrupted by signal)\n"
    );
    let injected = SyscallRecord {
        injected: true,
        rewritten: false,
        delayed: false,
        instruction: None,
        worked: None,
        ..call("vhangup", [0; 6], returned(-38), &[])
    };
    assert_eq!(
        told(
            TextOptions {
                column: 0,
                ..TextOptions::default()
            },
            &[event(1, EventKind::Call(injected))]
        ),
        "vhangup() = -1 ENOSYS (Function not implemented) (INJECTED)\n"
    );
}

#[test]
fn a_mapping_s_kind_stands_beside_its_number_whether_it_has_a_name_or_not() {
    let verbose = |name: &str, arguments| {
        let made = event(1, EventKind::Call(call(name, arguments, returned(3), &[])));
        let options = TextOptions {
            column: 0,
            constants: ConstantStyle::Both,
            ..TextOptions::default()
        };
        told(options, &[made])
    };
    for (flags, shown) in [
        (0x22, "0x22 /* MAP_PRIVATE|MAP_ANONYMOUS */"),
        (0, "0 /* MAP_FILE */"),
        (0xf, "0xf /* 0xf /* MAP_??? */ */"),
        (
            0x5404_401f,
            "0x5404401f /* 0xf /* MAP_??? */|MAP_FIXED|MAP_NORESERVE|MAP_HUGETLB|21<<MAP_HUGE_SHIFT */",
        ),
    ] {
        let line = verbose("mmap", [0, 8, 0, flags, 3, 0]);
        assert!(line.contains(&format!(", {shown}, 3, 0)")), "{line}");
    }
    for (flags, shown) in [
        (0, "0"),
        (1, "0x1 /* MFD_CLOEXEC */"),
        (0x20, "0x20 /* 0x20 /* MFD_??? */ */"),
        (
            0x5400_0004,
            "0x54000004 /* MFD_HUGETLB|21<<MFD_HUGE_SHIFT */",
        ),
    ] {
        let line = verbose("memfd_create", [0, flags, 0, 0, 0, 0]);
        assert_eq!(line, format!("memfd_create(NULL, {shown}) = 3\n"));
    }
}

#[test]
fn a_thread_that_calls_the_kernel_in_another_way_is_told() {
    let by = |tid, abi| {
        let getpid = syscall_number(abi, "getpid").unwrap();
        event(
            tid,
            EventKind::Call(SyscallRecord {
                abi,
                number: getpid,
                ..call("getpid", [0; 6], returned(1), &[])
            }),
        )
    };
    let events = [
        by(1, Abi::X86_64),
        by(1, Abi::I386),
        by(1, Abi::I386),
        // A new thread goes on as the one that made it.
        event(2, EventKind::Attached { parent: Some(1) }),
        by(2, Abi::I386),
        by(2, Abi::X86_64),
        by(1, Abi::I386),
        event(1, EventKind::Exited { status: 0 }),
        by(2, Abi::X86_64),
    ];
    let options = TextOptions {
        column: 0,
        prefix: LinePrefix::Plain,
        modes: true,
        ..TextOptions::default()
    };
    assert_eq!(
        told(options.clone(), &events),
        "1     getpid() = 1\n\
         1     [ Process PID=1 runs in 32 bit mode. ]\n\
         1     getpid() = 1\n\
         1     getpid() = 1\n\
         2     getpid() = 1\n\
         2     [ Process PID=2 runs in 64 bit mode. ]\n\
         2     getpid() = 1\n\
         1     getpid() = 1\n\
         1     +++ exited with 0 +++\n\
         2     getpid() = 1\n"
    );
    let quiet = TextOptions {
        modes: false,
        ..options
    };
    assert!(!told(quiet, &events).contains("mode"));
}

#[test]
fn the_circumstances_of_signals_are_told() {
    let line = |number, words: &[(usize, u32)]| {
        let mut info = vec![0; 128];
        for (at, word) in words {
            info[*at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        told(
            TextOptions::default(),
            &[event(
                1,
                EventKind::Signal {
                    number,
                    info,
                    instruction: None,
                },
            )],
        )
    };
    assert_eq!(
        line(
            17,
            &[
                (0, 17),
                (8, 1),
                (16, 7),
                (20, 1000),
                (24, 3),
                (32, 1),
                (40, 2)
            ]
        ),
        "--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=7, si_uid=1000, si_status=3, si_utime=1 /* 0.01 s */, si_stime=2 /* 0.02 s */} ---\n"
    );
    assert_eq!(
        line(17, &[(0, 17), (8, 2), (16, 7), (24, 9)]),
        "--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_KILLED, si_pid=7, si_uid=0, si_status=SIGKILL, si_utime=0, si_stime=0} ---\n"
    );
    assert_eq!(
        line(11, &[(0, 11), (8, 1)]),
        "--- SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL} ---\n"
    );
    assert_eq!(
        line(
            31,
            &[(0, 31), (8, 1), (16, 0x1234), (24, 39), (28, 0xc000_003e)]
        ),
        "--- SIGSYS {si_signo=SIGSYS, si_code=SYS_SECCOMP, si_call_addr=0x1234, si_syscall=__NR_getpid, si_arch=AUDIT_ARCH_X86_64} ---\n"
    );
    assert_eq!(
        told(
            TextOptions::default(),
            &[event(
                1,
                EventKind::Signal {
                    number: 34,
                    info: Vec::new(),
                    instruction: None,
                }
            )]
        ),
        "--- SIGRT_2 ---\n"
    );
}

#[test]
fn who_executes_in_another_s_place_goes_on_under_its_number() {
    let executes = |outcome| {
        let path: (u64, CapturePoint, &[u8]) = (0x100, CapturePoint::Entered, b"/bin/true\0");
        call("execve", [0x100, 0, 0, 0, 0, 0], outcome, &[path])
    };
    let options = TextOptions {
        prefix: LinePrefix::Plain,
        column: 0,
        ..TextOptions::default()
    };
    let events = [
        event(8, EventKind::Pending(executes(SyscallOutcome::Open))),
        event(7, EventKind::Superseded { by: 8 }),
        event(7, EventKind::Call(executes(returned(0)))),
    ];
    assert_eq!(
        told(options, &events),
        "8     execve(\"/bin/true\", NULL, NULL <pid changed to 7 ...>\n\
         7     +++ superseded by execve in pid 8 +++\n\
         7     <... execve resumed>) = 0\n"
    );
}

#[test]
fn a_call_that_is_taken_up_again_is_named() {
    let options = TextOptions {
        column: 0,
        ..TextOptions::default()
    };
    let sleeps = call("nanosleep", [0; 6], returned(-516), &[]);
    let goes_on = call("restart_syscall", [0; 6], returned(0), &[]);
    let unseen = event(2, EventKind::Call(goes_on.clone()));
    let events = [
        event(1, EventKind::Call(sleeps)),
        event(1, EventKind::Call(goes_on)),
        unseen,
    ];
    assert_eq!(
        told(options, &events),
        "nanosleep(NULL, NULL) = ? ERESTART_RESTARTBLOCK (Interrupted by signal)\n\
         restart_syscall(<... resuming interrupted nanosleep ...>) = 0\n\
         restart_syscall(<... resuming interrupted system call ...>) = 0\n"
    );
}

#[test]
fn where_in_the_program_things_happen_is_told() {
    let options = TextOptions {
        column: 0,
        instructions: true,
        ..TextOptions::default()
    };
    let made = SyscallRecord {
        instruction: Some(0x7f00_1234),
        ..call("getuid", [0; 6], returned(-1), &[])
    };
    let signal = EventKind::Signal {
        number: 34,
        info: Vec::new(),
        instruction: Some(0x401000),
    };
    let events = [
        event(1, EventKind::Call(made)),
        event(1, signal),
        event(1, EventKind::Exited { status: 0 }),
    ];
    // A call that the kernel has no error for has none.
    assert_eq!(
        told(options, &events),
        "[000000007f001234] getuid() = -1 EPERM (Operation not permitted)\n\
         [0000000000401000] --- SIGRT_2 ---\n\
         [????????????????] +++ exited with 0 +++\n"
    );
}

#[test]
fn what_of_a_buffer_cannot_be_dumped_is_said() {
    let options = TextOptions {
        column: 0,
        string: 4,
        writes: DescriptorSet::parse("1").unwrap(),
        ..TextOptions::default()
    };
    let bytes = vec![b'x'; (1 << 16) + 3];
    let buffer: (u64, CapturePoint, &[u8]) = (0x1000, CapturePoint::Entered, &bytes);
    let lines = |length: u64| {
        // The kernel looks at the lower half of a descriptor alone.
        let arguments = [0xface_feed_0000_0001, 0x1000, length, 0, 0, 0];
        let written = call("write", arguments, returned(3), &[buffer]);
        let text = told(options.clone(), &[event(5, EventKind::Call(written))]);
        let lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        (lines.len(), lines.last().cloned().unwrap_or_default())
    };
    let (whole, _) = lines(bytes.len() as u64);
    assert_eq!(whole, (1 << 12) + 1);
    let (part, last) = lines(bytes.len() as u64 + 1);
    assert_eq!(part, (1 << 12) + 1);
    assert_eq!(last, " | <Cannot fetch 4 bytes from pid 5 @0x11000>");
}

#[test]
fn every_end_of_a_thread_is_told() {
    let mut text = TextWriter::new(TextOptions::default());
    let mut out = Vec::new();
    for what in [
        EventKind::Stopped { signal: 19 },
        EventKind::Exited { status: 0 },
        EventKind::Killed {
            signal: 9,
            core: false,
        },
        EventKind::Killed {
            signal: 11,
            core: true,
        },
        EventKind::Superseded { by: 7 },
    ] {
        text.write(
            &TraceEvent {
                pid: 1,
                tid: 1,
                at: 0,
                kind: what,
            },
            &mut out,
        );
    }
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "--- stopped by SIGSTOP ---\n+++ exited with 0 +++\n+++ killed by SIGKILL +++\n+++ killed by SIGSEGV (core dumped) +++\n\
         +++ superseded by execve in pid 7 +++\n"
    );
}
