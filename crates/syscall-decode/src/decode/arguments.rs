//! Which arguments of a call are shown, which of them the kernel fills in, and what one means, given the others.
//!
//! Refuses: to look behind pointers.

use super::Walk;
use super::sink::Sink;
use crate::Outcome;
use crate::table::{Answer, Kind, Special, Way, Width};

impl<'a, S: Sink> Walk<'a, S> {
    /// Which arguments are shown, in this order: some calls have fewer, by what they are asked to do.
    pub fn shown(&self) -> ([usize; 6], usize) {
        const ALL: [usize; 6] = [0, 1, 2, 3, 4, 5];
        let most = self.row.arguments.len().min(6);
        match self.row.kinds {
            [_, Kind::Special(Special::FutexOperation), ..] => {
                let mut shown = ALL;
                let places = self.futex_arguments();
                shown[..places.len()].copy_from_slice(places);
                (shown, places.len())
            }
            [_, _, Kind::Special(Special::Fcntl), ..] => (ALL, self.fcntl_count()),
            [_, _, Kind::Special(Special::NodeDevice(mode)), ..]
            | [_, _, _, Kind::Special(Special::NodeDevice(mode)), ..] => (
                ALL,
                if self.makes_device(mode) {
                    mode + 2
                } else {
                    mode + 1
                },
            ),
            _ if let Some(count) = self.asked_count() => (ALL, count),
            [_, _, _, _, Kind::Hidden, Kind::Flags(..)] if most == 6 => ([0, 1, 2, 3, 5, 4], 5),
            [_, _, _, _, Kind::Hidden, _] if most == 5 => (ALL, 4),
            [_, _, Kind::Special(Special::OpenMode(_)), ..]
            | [_, _, _, Kind::Special(Special::OpenMode(_)), ..] => (ALL, self.open_count(most)),
            [_, _, _, _, Kind::Special(Special::NewAddress), _]
                if self.call.arguments[3] & 6 == 0 =>
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
                        Kind::By(..) | Kind::Per(..) | Kind::Special(Special::Requested)
                    );
                    !(depends && self.kind(*number) == Kind::Hidden)
                };
                let mut shown = ALL;
                let mut count = 0;
                for number in (0..most).take_while(there) {
                    if self.kind(number) != Kind::Skipped {
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
            "membarrier" => Some(2),
            "arch_prctl" if first == 0x1011 => Some(1),
            _ => None,
        }
    }

    /// Whether this is `clone`, whose arguments are said with their names.
    pub fn is_clone(&self) -> bool {
        self.row.answer == Answer::Child
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
    fn kind(&self, number: usize) -> Kind {
        self.meant(self.row.kinds[number], number)
    }

    fn meant(&self, kind: Kind, number: usize) -> Kind {
        match kind {
            Kind::By(place, cases, otherwise) => {
                let asked = self.call.arguments[place] & 0xffff_ffff;
                let case = cases.iter().find(|(value, _)| *value == asked);
                self.meant(case.map_or(*otherwise, |(_, kind)| *kind), number)
            }
            Kind::Per(place, shift, cases) => {
                let asked = (self.call.arguments[place] & 0xffff_ffff) >> shift;
                let case = |asked| cases.iter().find(|(value, _)| *value == asked);
                match case(asked).or_else(|| case(u64::MAX)) {
                    Some((_, kinds)) => {
                        let kind = kinds.get(number.wrapping_sub(place + 1));
                        self.meant(kind.copied().unwrap_or(Kind::Hidden), number)
                    }
                    None => Kind::Hex(Width::Eight),
                }
            }
            Kind::Special(Special::Requested) => self.requested_kind(),
            kind => kind,
        }
    }

    fn filled_in(&self, number: usize) -> bool {
        match self.kind(number) {
            Kind::To(Way::Out, _)
            | Kind::Sized(Way::Out, ..)
            | Kind::InOut(_)
            | Kind::Exchange(..)
            | Kind::Answered(..)
            | Kind::Cleared(..)
            | Kind::Despite(_)
            | Kind::Many(Way::Out, ..)
            | Kind::Bytes(Way::Out, _)
            | Kind::Binary(Way::Out, _)
            | Kind::Value(Way::Out, _)
            | Kind::Path(Way::Out)
            | Kind::Name(Way::Out, _)
            | Kind::Text(Way::Out) => true,
            Kind::Growing(growing, _) => growing.changes(),
            Kind::Within(
                ..,
                Kind::Bytes(Way::Out, _) | Kind::Value(Way::Out, _) | Kind::To(Way::Out, _),
            ) => true,
            Kind::Special(special) => match special {
                Special::Signals(way)
                | Special::Schedule(way)
                | Special::Spoken(way, _)
                | Special::Queued(way)
                | Special::Message(way)
                | Special::Information(way)
                | Special::Option(way)
                | Special::Action(way)
                | Special::Capabilities(way)
                | Special::Processors(way)
                | Special::Nodes(way, _)
                | Special::SizedSignals(way, _)
                | Special::Registers(way, _)
                | Special::RegisterSet(way)
                | Special::Key(way)
                | Special::SayingKey(way)
                | Special::Vectors(way, _) => way == Way::Out,
                Special::Status
                | Special::Messages(_)
                | Special::AddressOut(_)
                | Special::AddressLength
                | Special::OptionLength
                | Special::Remainder
                | Special::Entries
                | Special::Usage
                | Special::Random
                | Special::BitSet(_)
                | Special::StopInformation
                | Special::Counter
                | Special::Slots(_)
                | Special::Scsi
                | Special::Mapper
                | Special::Mappings
                | Special::Resident => true,
                Special::Terminal(way, _) => way == Way::Out,
                Special::Fcntl => self.fcntl_fills_in(),
                Special::ArchPrctl => self.arch_prctl_fills_in(),
                Special::ThreadName(way) => way == Way::Out,
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether an argument is shown as it was and as it became.
    pub fn becomes(&self, number: usize) -> bool {
        match self.kind(number) {
            Kind::Growing(growing, _) => growing.anew.is_some(),
            Kind::Special(Special::Clone) => self.clone3_becomes(),
            Kind::Special(Special::Offset | Special::Schedule(Way::In)) => true,
            _ => false,
        }
    }

    /// Shows what became of an argument.
    pub fn became(&mut self, number: usize) {
        match self.kind(number) {
            Kind::Growing(growing, length) => {
                self.grew(self.call.arguments[number], growing, length)
            }
            Kind::Special(Special::Clone) => self.clone3_became(self.call.arguments[number]),
            Kind::Special(Special::Offset) => self.offset_became(self.call.arguments[number]),
            Kind::Special(Special::Schedule(Way::In)) => {
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
        self.late = !self.is_asking()
            && matches!(self.call.outcome, Outcome::Returned { .. })
            && self.failed()
            && self.is_late(number);
        self.value(self.kind(number), self.call.arguments[number], number);
    }

    fn is_late(&self, number: usize) -> bool {
        // Of these strace remembers the time from before.
        if self.row.answer == Answer::Signal
            || self.keeps_time()
            || matches!(
                self.kind(number),
                Kind::InOut(_)
                    | Kind::Growing(..)
                    | Kind::Exchange(..)
                    | Kind::Answered(..)
                    | Kind::Cleared(..)
                    | Kind::Despite(_)
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
    pub fn read_in_time(&mut self, address: u64, length: usize, way: Way) -> Option<&'a [u8]> {
        if self.late && way == Way::In {
            None
        } else {
            self.read(address, length, way)
        }
    }
}
