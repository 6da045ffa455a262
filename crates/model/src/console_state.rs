//! States of a machine that its console tells: a panic, a hang, a prompt at which nobody will type.
//!
//! The states are lines of `console_states.tsv`. A console is any bytes: lines without an end, escape sequences and noise are
//! read like everything else, in bounded memory.
//!
//! ```
//! use backsight_model::ConsoleRecognizer;
//!
//! let mut console = ConsoleRecognizer::default();
//! assert!(console.read(b"[ 0.1] booting\n[ 0.2] Kernel pan").is_none());
//! let state = console.read(b"ic - not syncing: VFS: no root\n").unwrap();
//! assert_eq!((&*state.name, state.action.ends_boot()), ("panic", true));
//! ```

use regex::bytes::RegexSet;
use std::sync::LazyLock;

/// The longest line that is looked at, in bytes; of a longer one its beginning.
const LINE_LIMIT: usize = 4096;
/// Lines of a console that a message quotes, and how many characters of each.
const QUOTED_LINES: usize = 3;
const QUOTED_CHARACTERS: usize = 200;
/// How many lines before a state's own may have led to it.
const LEAD_LINES: usize = 2;

/// What a state means for the boot in which it is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConsoleAction {
    /// The system is up.
    Ok,
    /// It may go on by itself.
    Wait,
    /// The boot is lost; the machine starts again by itself.
    Fail,
    /// The boot is lost; the machine stands still until it is switched off and on.
    Cycle,
}

impl ConsoleAction {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "ok" => Self::Ok,
            "wait" => Self::Wait,
            "fail" => Self::Fail,
            "cycle" => Self::Cycle,
            _ => return None,
        })
    }

    /// Whether nothing comes of the boot any more.
    pub fn ends_boot(self) -> bool {
        matches!(self, Self::Fail | Self::Cycle)
    }
}

/// A state that a console tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleState {
    /// What it is called.
    pub name: String,
    /// What it means for the boot.
    pub action: ConsoleAction,
    /// How many of its lines make it true.
    pub times: u32,
    /// What it means: `the kernel panicked`.
    pub meaning: String,
    /// What to do.
    pub advice: String,
}

/// All states, with their patterns in the same order.
struct KnownStates {
    states: Vec<ConsoleState>,
    patterns: RegexSet,
}

static KNOWN: LazyLock<KnownStates> = LazyLock::new(|| {
    parse_states(include_str!("console_states.tsv"))
        .unwrap_or_else(|line| unreachable!("a test reads them all: {line}"))
});

/// Reads the data file; the error is the line at fault.
fn parse_states(text: &str) -> Result<KnownStates, String> {
    let mut states = Vec::new();
    let mut patterns = Vec::new();
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, action, times, pattern, meaning, advice] = fields[..] else {
            return Err(format!("six columns expected: {line}"));
        };
        let (Some(action), Ok(times @ 1..)) = (ConsoleAction::parse(action), times.parse()) else {
            return Err(format!("an action and a number of times expected: {line}"));
        };
        states.push(ConsoleState {
            name: name.to_owned(),
            action,
            times,
            meaning: meaning.to_owned(),
            advice: advice.to_owned(),
        });
        patterns.push(pattern);
    }
    let patterns = RegexSet::new(patterns).map_err(|error| error.to_string())?;
    Ok(KnownStates { states, patterns })
}

/// Reads a console as it comes and says which states it tells.
#[derive(Debug, Clone, Default)]
pub struct ConsoleRecognizer {
    /// What stands after the last line's end.
    line: Vec<u8>,
    /// States that were counted for it.
    counted: Vec<usize>,
    /// How many lines told each state.
    seen: Vec<u32>,
}

impl ConsoleRecognizer {
    /// Reads the next bytes. Returns the gravest state that they made true.
    pub fn read(&mut self, bytes: &[u8]) -> Option<&'static ConsoleState> {
        let mut found = None;
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.append(&rest[..end]);
            found = graver(found, self.look());
            self.line.clear();
            self.counted.clear();
            rest = &rest[end + 1..];
        }
        match self.append(rest) {
            // A prompt is a line without an end.
            true => graver(found, self.look()),
            false => found,
        }
    }

    /// Returns whether the line has become longer.
    fn append(&mut self, bytes: &[u8]) -> bool {
        let room = LINE_LIMIT.saturating_sub(self.line.len());
        let taken = &bytes[..bytes.len().min(room)];
        self.line.extend_from_slice(taken);
        !taken.is_empty()
    }

    /// Counts the states that the line tells.
    fn look(&mut self) -> Option<&'static ConsoleState> {
        let plain = without_controls(&self.line);
        let mut found = None;
        for index in &KNOWN.patterns.matches(&plain) {
            if self.counted.contains(&index) {
                continue;
            }
            self.counted.push(index);
            self.seen.resize(KNOWN.states.len(), 0);
            self.seen[index] = self.seen[index].saturating_add(1);
            let state = &KNOWN.states[index];
            if self.seen[index] == state.times {
                found = graver(found, Some(state));
            }
        }
        found
    }
}

fn graver(
    one: Option<&'static ConsoleState>,
    other: Option<&'static ConsoleState>,
) -> Option<&'static ConsoleState> {
    match (one, other) {
        (Some(one), Some(other)) if other.action > one.action => Some(other),
        (None, other) => other,
        (one, _) => one,
    }
}

/// A line without escape sequences (ECMA-48) and control characters.
fn without_controls(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(line.len());
    let mut bytes = line.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            0x1b => match bytes.next() {
                // A control sequence ends with a byte from `@` on; a string of the terminal's with BEL or ESC `\`.
                Some(b'[') => {
                    let _end = bytes.find(|byte| (0x40..=0x7e).contains(byte));
                }
                Some(b']') => {
                    let _end = bytes.find(|byte| matches!(byte, 0x07 | b'\\'));
                }
                _ => {}
            },
            b'\t' => plain.push(b' '),
            0..=0x1f | 0x7f => {}
            byte => plain.push(byte),
        }
    }
    plain
}

/// What a console says of a kernel's end, as a line's worth: the first state in it that ended the boot with what led to it, else the
/// first that may have, else its last lines.
pub fn console_words(console: &[u8]) -> String {
    let mut recognizer = ConsoleRecognizer::default();
    let mut lines = Vec::new();
    for line in console.split_inclusive(|byte| *byte == b'\n') {
        let action = recognizer.read(line).map(|state| state.action);
        let plain = without_controls(line);
        let text = String::from_utf8_lossy(&plain);
        let text: String = text.trim().chars().take(QUOTED_CHARACTERS).collect();
        if !text.is_empty() {
            lines.push((text, action));
        }
    }
    let find = |from: usize, is_it: fn(ConsoleAction) -> bool| {
        let mut later = lines[from..].iter();
        let found = later.position(|(_, action)| action.is_some_and(is_it));
        found.map(|position| from + position)
    };
    let is_warning = |action| action == ConsoleAction::Wait;
    let from = match find(0, ConsoleAction::ends_boot) {
        Some(end) => {
            let lead = find(end.saturating_sub(LEAD_LINES), is_warning);
            lead.map_or(end, |lead| lead.min(end))
        }
        None => find(0, is_warning).unwrap_or(lines.len().saturating_sub(QUOTED_LINES)),
    };
    let quoted = lines[from..].iter().take(QUOTED_LINES);
    quoted
        .map(|(text, _)| text.as_str())
        .collect::<Vec<_>>()
        .join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn states(console: &[u8]) -> Vec<&'static str> {
        let mut recognizer = ConsoleRecognizer::default();
        let pieces = console.split_inclusive(|byte| *byte == b'\n');
        pieces
            .filter_map(|piece| recognizer.read(piece))
            .map(|state| &*state.name)
            .collect()
    }

    #[test]
    fn every_state_of_the_data_file_is_told_by_what_real_kernels_print() {
        let consoles: &[(&str, &[u8])] = &[
            ("panic", b"[    1.204421] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\n"),
            ("oops", b"[   12.1] BUG: kernel NULL pointer dereference, address: 0000000000000008\r\n"),
            ("kernel-bug", b"[   12.1] kernel BUG at mm/slub.c:4000!\r\n"),
            ("soft-lockup", b"watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [swapper/0:1]\nwatchdog: BUG: soft lockup - CPU#0 stuck for 45s! [swapper/0:1]\n"),
            ("hard-lockup", b"NMI watchdog: Watchdog detected hard LOCKUP on cpu 3\n"),
            ("hung-task", b"INFO: task kworker/u4:1:25 blocked for more than 120 seconds.\nINFO: task kworker/u4:1:25 blocked for more than 241 seconds.\n"),
            ("rcu-stall", b"rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\nrcu: INFO: rcu_sched self-detected stall on CPU\n"),
            ("out-of-memory", b"Out of memory: Killed process 812 (stress) total-vm:1kB\n"),
            ("emergency-shell", b"You are in emergency mode. After logging in, type\n"),
            ("initramfs-prompt", b"\x1b[0;1m(initramfs) "),
            ("boot-loader-prompt", b"\x1b[2Jgrub> "),
            ("nothing-to-boot", b"No bootable device.\r\n"),
            ("bsd-panic", b"panic: page fault\n"),
            ("freebsd-panic", b"cpuid = 0\n"),
            ("freebsd-debugger", b"db> "),
            ("openbsd-panic", b"Stopped at      db_enter+0x10:  popq    %rbp\n"),
            ("login", b"\r\nDebian GNU/Linux 12 dut ttyS0\n\r\ndut login: "),
        ];
        for (name, console) in consoles {
            assert_eq!(
                states(console),
                [*name],
                "{}",
                String::from_utf8_lossy(console)
            );
        }
        let told: Vec<&str> = consoles.iter().map(|(name, _)| *name).collect();
        let known: Vec<&str> = KNOWN.states.iter().map(|state| &*state.name).collect();
        assert_eq!(told, known);
    }

    #[test]
    fn an_ordinary_boot_tells_nothing() {
        let boot = b"[ 0.0] Command line: root=/dev/sda1 panic=10 softlockup_panic=1 oops=panic\n[ 0.1] rcu: Hierarchical RCU implementation.\n\
                     [ 0.2] hung_task: task watchdog\n[ 1.0] PM: Image not found\nLast login: Tue\nOOM score set\n[  OK  ] Reached target emergency.target\n";
        assert_eq!(states(boot), [""; 0]);
    }

    #[test]
    fn a_message_quotes_the_end_and_what_led_to_it() {
        let console = b"[ 0.1] one\n\n[ 0.2] two\r\n[ 0.3] Kernel panic - not syncing: no init\n[ 0.4] Call Trace:\n[ 0.5] a\n[ 0.6] b\n";
        assert_eq!(
            console_words(console),
            "[ 0.3] Kernel panic - not syncing: no init / [ 0.4] Call Trace: / [ 0.5] a"
        );
        assert_eq!(
            console_words(b"a\npanic: page fault\ncpuid = 0\ntime = 1\n"),
            "panic: page fault / cpuid = 0 / time = 1"
        );
        assert_eq!(console_words(b"a\nb\nc\nd\x1b[0m"), "b / c / d");
        assert_eq!(
            console_words(b"kernel BUG at a.c:1!\na\nb\nc\nd\n"),
            "kernel BUG at a.c:1! / a / b"
        );
        assert_eq!(console_words(b""), "");
    }

    /// Pieces of which consoles are made.
    const PARTS: &[&[u8]] = &[
        b"Kernel panic - not syncing: x\n",
        b"BUG: soft lockup - CPU#1 stuck\n",
        b"grub> ",
        b"\x1b[0m",
        b"\n",
        b"noise \xff\x00\xfe",
        b"login: ",
    ];

    proptest! {
        #[test]
        fn how_a_console_is_cut_into_pieces_changes_nothing_that_ends_a_boot(
            parts in prop::collection::vec(prop::sample::select(PARTS), 0..20),
            cuts in prop::collection::vec(0..400_usize, 0..20),
        ) {
            let console = parts.concat();
            let whole: Vec<u8> = console.clone();
            let ends = |pieces: Vec<&[u8]>| {
                let mut recognizer = ConsoleRecognizer::default();
                let mut found = pieces.into_iter().filter_map(|piece| recognizer.read(piece));
                found.any(|state| state.action.ends_boot())
            };
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(console.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&console[from..cut]);
                from = cut;
            }
            pieces.push(&console[from..]);
            prop_assert_eq!(ends(vec![&whole]), ends(pieces));
        }

        #[test]
        fn any_bytes_are_read_in_bounded_memory(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..4)) {
            let mut recognizer = ConsoleRecognizer::default();
            for piece in &pieces {
                recognizer.read(piece);
                prop_assert!(recognizer.line.len() <= LINE_LIMIT);
            }
            let _any = console_words(&pieces.concat());
        }
    }
}
