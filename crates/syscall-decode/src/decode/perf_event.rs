//! What `perf_event_open` is to count (`struct perf_event_attr`), as far as the caller says that it goes.
//!
//! Numbers of a processor's own events stay numbers.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at, short_at};
use crate::SyscallOutcome;
use crate::format::{self, NamedNumber};
use crate::table::{DataDirection, Names, counters as c, flags};

/// What it was at first, what is known of it, and what is shown of it where not everything is.
const LEAST: usize = 64;
const MOST: usize = 144;
const FEW: usize = 48;
const SIZE_AT: u64 = 4;
const BREAKPOINT: u64 = 5;
const BRANCHES: u64 = 1 << 11;
const STACK: u64 = 1 << 13;

/// How far from an event its sample may be taken.
const SKID: [&[u8]; 4] = [
    b"arbitrary skid",
    b"constant skid",
    b"requested to have 0 skid",
    b"must have 0 skid",
];

impl<'a, S: ValueSink> Walk<'a, S> {
    /// What is counted.
    pub(super) fn counter(&mut self, raw: u64) {
        if raw == 0 {
            return self.sink.null();
        }
        let said = self.read(raw.wrapping_add(SIZE_AT), 4, DataDirection::In);
        let said = said.filter(|bytes| bytes.len() == 4);
        let Some(said) = said.map(|bytes| int_at(bytes, 0) as usize) else {
            return self.address(raw);
        };
        let known = match said {
            0 => LEAST,
            said => said.min(MOST),
        };
        let known = match self.style.verbose {
            _ if known < LEAST => 0,
            true => known,
            false => FEW,
        };
        let bytes = self.read(raw, known, DataDirection::In);
        let became = self.read_always(raw.wrapping_add(SIZE_AT), 4, DataDirection::Out);
        let Some(bytes) = bytes.filter(|bytes| known > 0 && bytes.len() >= known) else {
            return self.address(raw);
        };
        let bytes = &bytes[..known];
        self.sink.begin(Bracket::Structure);
        self.named_number("type", u64::from(int_at(bytes, 0)), &c::KIND, true);
        self.named_number("size", said as u64, &c::SIZE_OF, false);
        const TOO_BIG: i64 = -7;
        if matches!(
            self.call.outcome,
            SyscallOutcome::Returned { value: TOO_BIG, .. }
        ) && let Some(became) = became.filter(|bytes| bytes.len() == 4)
        {
            let start = self.sink.begins();
            let middle = self.sink.turns();
            self.one(u64::from(int_at(became, 0)), &c::SIZE_OF);
            self.sink.turned(start, middle);
        }
        self.counted_event(bytes);
        self.counting(long_at(bytes, 40));
        if self.style.verbose {
            self.sampling(bytes);
        }
        if said > known || said == 0 && known < LEAST {
            self.sink.more(Bracket::Structure, false);
        }
        self.sink.end(Bracket::Structure);
    }

    fn named_number(&mut self, name: &str, value: u64, names: &'static Names, first: bool) {
        self.sink.field(first, name);
        self.one(value, names);
    }

    fn plain_number(&mut self, name: &str, value: u64) {
        self.sink.field(false, name);
        self.sink.unsigned(value);
    }

    fn hex_number(&mut self, name: &str, value: u64) {
        self.sink.field(false, name);
        self.sink.hex(value);
    }

    /// Which event, by its kind, how often, and what is said of it.
    fn counted_event(&mut self, bytes: &[u8]) {
        const TRACEPOINT: u32 = 2;
        const CACHE: u32 = 3;
        const FREQUENCY: u64 = 1 << 10;
        let event = long_at(bytes, 8);
        match int_at(bytes, 0) {
            0 => {
                self.sink.field(false, "config");
                self.event_parts(event, &[(event & 0xffff_ffff, &c::HARDWARE, 0)], &[32]);
            }
            1 => self.named_number("config", event, &c::SOFTWARE, false),
            TRACEPOINT => self.plain_number("config", event),
            CACHE => {
                self.sink.field(false, "config");
                let parts: [(u64, &'static Names, u32); 3] = [
                    (event >> 16 & 0xff, &c::CACHE_RESULT, 16),
                    (event >> 8 & 0xff, &c::CACHE_OPERATION, 8),
                    (event & 0xff, &c::CACHE, 0),
                ];
                self.event_parts(event, &parts, &[32, 24]);
            }
            _ => self.hex_number("config", event),
        }
        let often = match long_at(bytes, 40) & FREQUENCY {
            0 => "sample_period",
            _ => "sample_freq",
        };
        self.plain_number(often, long_at(bytes, 16));
        self.sink.field(false, "sample_type");
        self.flags(long_at(bytes, 24), &c::SAMPLED);
        self.sink.field(false, "read_format");
        self.flags(long_at(bytes, 32), &c::READ);
    }

    /// The parts of an event's number that have names, behind what stands above them.
    fn event_parts(&mut self, event: u64, parts: &[(u64, &'static Names, u32)], above: &[u32]) {
        self.sink.words(|out, constants, _| {
            for (index, shift) in above.iter().enumerate() {
                let upper = if index == 0 {
                    event
                } else {
                    event & 0xffff_ffff
                };
                if upper >> shift != 0 {
                    format::hex(out, upper >> shift);
                    out.extend_from_slice(b"<<");
                    format::unsigned(out, u64::from(*shift));
                    out.push(b'|');
                }
            }
            for (index, (value, names, shift)) in parts.iter().enumerate() {
                if index > 0 {
                    out.push(b'|');
                }
                format::constant(out, constants, NamedNumber::Hex(*value), |out| {
                    format::one(out, *value, names)
                });
                if *shift > 0 {
                    out.extend_from_slice(b"<<");
                    format::unsigned(out, u64::from(*shift));
                }
            }
        });
    }

    /// How it is counted: bits, of which those that aren't set are shown only where everything is.
    fn counting(&mut self, bits: u64) {
        const PRECISION: usize = 15;
        for (place, name) in c::BITS.iter().enumerate() {
            let set = bits >> place & 1;
            if place == PRECISION {
                let precision = (bits >> place & 3) as usize;
                self.plain_number("precise_ip", precision as u64);
                self.sink
                    .aside(|out| out.extend_from_slice(SKID[precision]));
            } else if !name.is_empty() && (set != 0 || self.style.verbose) {
                self.plain_number(name, set);
            }
        }
        let rest = bits >> c::BITS.len();
        if rest != 0 {
            self.hex_number("__reserved_1", rest);
            self.sink.aside(|out| out.extend_from_slice(b"Bits 63..38"));
        }
    }

    /// What is sampled, as far as the structure goes.
    fn sampling(&mut self, bytes: &[u8]) {
        const WATERMARK: u64 = 1 << 14;
        const CLOCK: u64 = 1 << 25;
        const VALID: u64 = 7;
        let bits = long_at(bytes, 40);
        let sampled = long_at(bytes, 24);
        let breaks = u64::from(int_at(bytes, 0)) == BREAKPOINT;
        let wakes = match bits & WATERMARK {
            0 => "wakeup_events",
            _ => "wakeup_watermark",
        };
        self.plain_number(wakes, u64::from(int_at(bytes, 48)));
        if breaks {
            let on = u64::from(int_at(bytes, 52));
            let known = on <= VALID || c::BREAKPOINT.name(on).is_some();
            let names = if known {
                &c::BREAKPOINT
            } else {
                &c::BREAKPOINT_UNKNOWN
            };
            self.named_number("bp_type", on, names, false);
        }
        let place = if breaks { "bp_addr" } else { "config1" };
        self.hex_number(place, long_at(bytes, 56));
        let there = |at| bytes.len() > at;
        if !there(64) {
            return;
        }
        if breaks {
            self.plain_number("bp_len", long_at(bytes, 64));
        } else {
            self.hex_number("config2", long_at(bytes, 64));
        }
        if there(72) && sampled & BRANCHES != 0 {
            self.sink.field(false, "branch_sample_type");
            self.flags(long_at(bytes, 72), &c::BRANCHES);
        }
        if there(80) {
            self.hex_number("sample_regs_user", long_at(bytes, 80));
        }
        if there(88) && sampled & STACK != 0 {
            self.hex_number("sample_stack_user", u64::from(int_at(bytes, 88)));
        }
        if there(92) && bits & CLOCK != 0 {
            self.named_number(
                "clockid",
                u64::from(int_at(bytes, 92)),
                &flags::CLOCK,
                false,
            );
        }
        if there(96) {
            self.hex_number("sample_regs_intr", long_at(bytes, 96));
        }
        if there(104) {
            self.plain_number("aux_watermark", u64::from(int_at(bytes, 104)));
        }
        if there(108) {
            self.plain_number("sample_max_stack", u64::from(short_at(bytes, 108)));
        }
        if there(110) {
            self.unnamed_bytes("bytes 110..111: ", u64::from(short_at(bytes, 110)));
        }
        if there(112) {
            self.plain_number("aux_sample_size", u64::from(int_at(bytes, 112)));
        }
        if there(116) {
            self.aux_action(int_at(bytes, 116));
        }
        for (at, name) in [(120, "sig_data"), (128, "config3"), (136, "config4")] {
            if there(at) {
                self.hex_number(name, long_at(bytes, at));
            }
        }
    }

    /// What an event does to the tracing of a processor's own.
    fn aux_action(&mut self, bits: u32) {
        const NAMES: [&str; 3] = ["aux_start_paused", "aux_pause", "aux_resume"];
        for (place, name) in NAMES.iter().enumerate() {
            self.plain_number(name, u64::from(bits >> place & 1));
        }
        let rest = bits >> NAMES.len();
        if rest != 0 {
            self.hex_number("__reserved_3", u64::from(rest));
            self.sink
                .aside(|out| out.extend_from_slice(b"Bits 931..959"));
        }
    }

    fn unnamed_bytes(&mut self, place: &str, value: u64) {
        if value != 0 {
            self.sink.aside(|out| {
                out.extend_from_slice(place.as_bytes());
                format::hex(out, value);
            });
        }
    }
}
