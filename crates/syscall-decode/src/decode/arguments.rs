//! Which arguments of a call are shown, which of them the kernel fills in, and what one means, given the others.
//!
//! Memory behind pointers isn't read here.

use super::Walk;
use super::sink::ValueSink;
use crate::SyscallOutcome;
use crate::table::{DataDirection, IntegerWidth, ResultKind, SpecialKind, ValueKind};

impl<'a, S: ValueSink> Walk<'a, S> {
    /// Which arguments are shown, in this order: some calls have fewer, by what they are asked to do.
    pub fn shown(&self) -> ([usize; 6], usize) {
        const ALL: [usize; 6] = [0, 1, 2, 3, 4, 5];
        let most = self.row.arguments.len().min(6);
        match self.row.kinds {
            [_, ValueKind::Special(SpecialKind::FutexOperation), ..] => {
                let mut shown = ALL;
                let places = self.futex_arguments();
                shown[..places.len()].copy_from_slice(places);
                (shown, places.len())
            }
            [_, _, ValueKind::Special(SpecialKind::Fcntl), ..] => (ALL, self.fcntl_count()),
            [_, _, ValueKind::Special(SpecialKind::NodeDevice(mode)), ..]
            | [
                _,
                _,
                _,
                ValueKind::Special(SpecialKind::NodeDevice(mode)),
                ..,
            ] => (
                ALL,
                if self.makes_device(mode) {
                    mode + 2
                } else {
                    mode + 1
                },
            ),
            _ if let Some(count) = self.asked_count() => (ALL, count),
            [_, _, _, _, ValueKind::Hidden, ValueKind::Flags(..)] if most == 6 => {
                ([0, 1, 2, 3, 5, 4], 5)
            }
            [_, _, _, _, ValueKind::Hidden, _] if most == 5 => (ALL, 4),
            [_, _, ValueKind::Special(SpecialKind::OpenMode(_)), ..]
            | [_, _, _, ValueKind::Special(SpecialKind::OpenMode(_)), ..] => {
                (ALL, self.open_count(most))
            }
            [_, _, _, _, ValueKind::Special(SpecialKind::NewAddress), _]
                if self.call.arguments[3] & 6 == 0 || self.call.arguments[3] & 1 == 0 =>
            {
                (ALL, 4)
            }
            _ if self.is_clone() => {
                let (places, count) = self.clone_arguments();
                let mut shown = ALL;
                shown[..5].copy_from_slice(&places);
                (shown, count)
            }
            _ => {
                let there = |number: &usize| {
                    let depends = matches!(
                        self.row.kinds[*number],
                        ValueKind::By(..)
                            | ValueKind::ByBits(..)
                            | ValueKind::Per(..)
                            | ValueKind::Special(SpecialKind::Requested)
                    );
                    !(depends && self.kind(*number) == ValueKind::Hidden)
                };
                let mut shown = ALL;
                let mut count = 0;
                for number in (0..most).take_while(there) {
                    if self.kind(number) != ValueKind::Skipped {
                        shown[count] = number;
                        count += 1;
                    }
                }
                (shown, count)
            }
        }
    }

    /// How many arguments are shown where that depends on the first.
    fn asked_count(&self) -> Option<usize> {
        let first = self.call.arguments[0] & 0xffff_ffff;
        match self.row.name {
            "syslog" if matches!(first, 0 | 1 | 5..=7 | 9 | 10) => Some(1),
            // The processor is looked at only where it is asked for.
            "membarrier" if self.call.arguments[1] & 1 == 0 => Some(2),
            "arch_prctl" if first == 0x1011 => Some(1),
            _ => None,
        }
    }

    /// Whether this is `clone`, whose arguments are said with their names.
    pub fn is_clone(&self) -> bool {
        self.row.result == ResultKind::Child
    }

    /// How many arguments are known as the call is entered, before the first that it fills in.
    pub fn known_at_entry(&self) -> usize {
        let (shown, count) = self.shown();
        if self.is_clone() {
            return 2;
        }
        let filled = shown[..count]
            .iter()
            .position(|number| self.filled_in(*number))
            .unwrap_or(count);
        let becomes = shown[..count]
            .iter()
            .position(|number| self.becomes(*number))
            .map_or(count, |at| at + 1);
        filled.min(becomes)
    }

    /// What an argument means, given the others.
    fn kind(&self, number: usize) -> ValueKind {
        self.meant(self.row.kinds[number], number)
    }

    fn meant(&self, kind: ValueKind, number: usize) -> ValueKind {
        match kind {
            ValueKind::By(place, cases, otherwise) => {
                let cases = ValueKind::ByBits(place, 0xffff_ffff, cases, otherwise);
                self.meant(cases, number)
            }
            ValueKind::ByBits(place, bits, cases, otherwise) => {
                let asked = self.call.arguments[place] & bits;
                let case = cases.iter().find(|(value, _)| *value == asked);
                self.meant(case.map_or(*otherwise, |(_, kind)| *kind), number)
            }
            ValueKind::Per(place, shift, cases) => {
                let asked = (self.call.arguments[place] & 0xffff_ffff) >> shift;
                let case = |asked| cases.iter().find(|(value, _)| *value == asked);
                match case(asked).or_else(|| case(u64::MAX)) {
                    Some((_, kinds)) => {
                        let kind = kinds.get(number.wrapping_sub(place + 1));
                        self.meant(kind.copied().unwrap_or(ValueKind::Hidden), number)
                    }
                    None => ValueKind::Hex(IntegerWidth::Eight),
                }
            }
            ValueKind::Special(SpecialKind::Requested) => self.requested_kind(),
            kind => kind,
        }
    }

    fn filled_in(&self, number: usize) -> bool {
        match self.kind(number) {
            ValueKind::To(DataDirection::Out, _)
            | ValueKind::Sized(DataDirection::Out, ..)
            | ValueKind::InOut(_)
            | ValueKind::Exchange(..)
            | ValueKind::Answered(..)
            | ValueKind::Cleared(..)
            | ValueKind::Despite(_)
            | ValueKind::Many(DataDirection::Out, ..)
            | ValueKind::Bytes(DataDirection::Out, _)
            | ValueKind::Binary(DataDirection::Out, _)
            | ValueKind::Value(DataDirection::Out, _)
            | ValueKind::Path(DataDirection::Out)
            | ValueKind::Name(DataDirection::Out, _)
            | ValueKind::Text(DataDirection::Out) => true,
            ValueKind::Growing(growing, _) => growing.changes(),
            ValueKind::Within(
                ..,
                ValueKind::Bytes(DataDirection::Out, _)
                | ValueKind::Value(DataDirection::Out, _)
                | ValueKind::To(DataDirection::Out, _),
            ) => true,
            ValueKind::Special(special) => match special {
                SpecialKind::Signals(way)
                | SpecialKind::Schedule(way)
                | SpecialKind::Spoken(way, _)
                | SpecialKind::Queued(way)
                | SpecialKind::Message(way)
                | SpecialKind::Information(way)
                | SpecialKind::Option(way)
                | SpecialKind::Action(way)
                | SpecialKind::Capabilities(way)
                | SpecialKind::Processors(way)
                | SpecialKind::Nodes(way, _)
                | SpecialKind::SizedSignals(way, _)
                | SpecialKind::Registers(way, _)
                | SpecialKind::RegisterSet(way)
                | SpecialKind::Key(way)
                | SpecialKind::KeyString(way)
                | SpecialKind::Vectors(way, _) => way == DataDirection::Out,
                SpecialKind::Status
                | SpecialKind::Messages(_)
                | SpecialKind::AddressOut(_)
                | SpecialKind::AddressLength
                | SpecialKind::OptionLength
                | SpecialKind::Remainder
                | SpecialKind::Entries
                | SpecialKind::Usage
                | SpecialKind::Random
                | SpecialKind::BitSet(_)
                | SpecialKind::StopInformation(DataDirection::Out)
                | SpecialKind::Counter
                | SpecialKind::Slots(_)
                | SpecialKind::Scsi
                | SpecialKind::Mapper
                | SpecialKind::Mappings
                | SpecialKind::MountStatus
                | SpecialKind::Carried
                | SpecialKind::Offset
                | SpecialKind::Listed
                | SpecialKind::Resident => true,
                SpecialKind::Terminal(way, _) => way == DataDirection::Out,
                SpecialKind::Fcntl => self.fcntl_fills_in(),
                SpecialKind::ArchPrctl => self.arch_prctl_fills_in(),
                SpecialKind::ThreadName(way) => way == DataDirection::Out,
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether an argument is shown as it was and as it became.
    pub fn becomes(&self, number: usize) -> bool {
        match self.kind(number) {
            ValueKind::Growing(growing, _) => growing.anew.is_some(),
            ValueKind::Special(SpecialKind::Clone) => self.clone3_becomes(),
            ValueKind::Special(SpecialKind::Schedule(DataDirection::In)) => true,
            _ => false,
        }
    }

    /// Shows what became of an argument.
    pub fn became(&mut self, number: usize) {
        match self.kind(number) {
            ValueKind::Growing(growing, length) => {
                self.grew(self.call.arguments[number], growing, length)
            }
            ValueKind::Special(SpecialKind::Clone) => {
                self.clone3_became(self.call.arguments[number])
            }
            ValueKind::Special(SpecialKind::Schedule(DataDirection::In)) => {
                self.schedule_became(self.call.arguments[number])
            }
            _ => {}
        }
    }

    /// Walks over one argument.
    pub fn argument(&mut self, number: usize) {
        if self.is_clone() {
            self.clone_argument(number);
            return;
        }
        self.late = !self.is_capturing()
            && matches!(self.call.outcome, SyscallOutcome::Returned { .. })
            && self.failed()
            && self.is_late(number);
        self.value(self.kind(number), self.call.arguments[number], number);
    }

    fn is_late(&self, number: usize) -> bool {
        // Of these strace remembers the time from before.
        if self.row.result == ResultKind::Signal
            || self.keeps_time()
            || matches!(
                self.kind(number),
                ValueKind::InOut(_)
                    | ValueKind::Growing(..)
                    | ValueKind::Exchange(..)
                    | ValueKind::Answered(..)
                    | ValueKind::Cleared(..)
                    | ValueKind::Despite(_)
            )
        {
            return false;
        }
        let (shown, count) = self.shown();
        shown[..count].iter().position(|place| *place == number) >= Some(self.known_at_entry())
    }

    /// Whether a call's time is shown as it was, whatever came of it.
    fn keeps_time(&self) -> bool {
        matches!(
            self.row.name,
            "recvmmsg" | "mq_timedreceive" | "io_getevents" | "io_pgetevents" | "keyctl"
        )
    }

    /// What the program says in a structure; nothing where strace wouldn't look at it any longer.
    pub fn read_in_time(
        &mut self,
        address: u64,
        length: usize,
        way: DataDirection,
    ) -> Option<&'a [u8]> {
        if self.late && way == DataDirection::In {
            None
        } else {
            self.read(address, length, way)
        }
    }
}
