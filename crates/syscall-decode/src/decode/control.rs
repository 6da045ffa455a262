//! Calls that mean something else by what they are asked: `open`'s flags, `fcntl`, `arch_prctl`.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at};
use crate::Abi;
use crate::format::{self, ConstantStyle, NamedNumber};
use crate::table::{DataDirection, IntegerWidth, PidKind, StructureLayout, flags, structure};

const CREAT: u64 = 0o100;
const TMPFILE: u64 = 0o20_000_000;

impl<'a, S: ValueSink> Walk<'a, S> {
    pub fn open_flags(&mut self, raw: u64) {
        let arm = self.call.abi == Abi::Aarch64;
        self.sink.constant(NamedNumber::Hex(raw), |out| {
            format::open_flags(out, raw, arm)
        });
    }

    /// How many arguments of `open` are shown: the mode only where a file may be made.
    pub fn open_count(&self, most: usize) -> usize {
        let at = if self.row.name == "openat" { 2 } else { 1 };
        let makes = match self.row.name {
            "mq_open" => CREAT,
            _ => CREAT | TMPFILE,
        };
        if self.call.arguments[at] & makes != 0 {
            most
        } else {
            at + 1
        }
    }

    fn fcntl_asked(&self) -> u64 {
        self.call.arguments[1] & 0xffff_ffff
    }

    pub fn fcntl_count(&self) -> usize {
        match self.fcntl_asked() {
            1 | 3 | 9 | 11 | 1025 | 1032 | 1034 => 2,
            _ => 3,
        }
    }

    pub fn fcntl_fills_in(&self) -> bool {
        matches!(self.fcntl_asked(), 5 | 16 | 36 | 1035 | 1037 | 1039 | 17)
    }

    pub fn fcntl(&mut self, raw: u64, number: usize) {
        let lock: (DataDirection, &'static StructureLayout) = match self.fcntl_asked() {
            0 | 1030 | 1031 => return self.sink.signed(self.signed(raw, IntegerWidth::Eight)),
            1027 => return self.sink.fd(raw as i32, self.call),
            2 => return self.flags(raw & 0xffff_ffff, &flags::FD_FLAGS),
            4 => return self.open_flags(raw & 0xffff_ffff),
            8 => return self.sink.process(raw as i32, PidKind::ProcessOrGroup),
            10 => return self.signal_number(raw as i32),
            1024 => return self.one(raw, &flags::LOCK_TYPE),
            1026 => return self.flags(raw, &flags::NOTIFY),
            1033 => return self.flags(raw, &flags::SEALS),
            5 | 36 => (DataDirection::Out, &structure::FLOCK_GET),
            6 | 7 | 37 | 38 => (DataDirection::In, &structure::FLOCK),
            1039 => (DataDirection::Out, &structure::DELEGATION),
            1040 => (DataDirection::In, &structure::DELEGATION),
            15 => return self.owner(raw, DataDirection::In),
            16 => return self.owner(raw, DataDirection::Out),
            1035 | 1037 => return self.hint(raw, DataDirection::Out),
            1036 | 1038 => return self.hint(raw, DataDirection::In),
            _ => return self.sink.hex(raw),
        };
        self.structure_behind(raw, lock.0, lock.1, number);
    }

    /// Who is told of what happens to a file.
    fn owner(&mut self, raw: u64, way: DataDirection) {
        let bytes = self.read(raw, 8, way).filter(|bytes| bytes.len() == 8);
        let Some(bytes) = bytes.filter(|_| !self.narrow()) else {
            self.address(raw);
            return;
        };
        let kind = int_at(bytes, 0);
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "type");
        self.one(u64::from(kind), &flags::OWNER);
        self.sink.field(false, "pid");
        let whose = [PidKind::Thread, PidKind::Process, PidKind::Group];
        let number = int_at(bytes, 4) as i32;
        match whose.get(kind as usize) {
            Some(whose) => self.sink.process(number, *whose),
            None => self.sink.signed(i64::from(number)),
        }
        self.sink.end(Bracket::Structure);
    }

    fn hint(&mut self, raw: u64, way: DataDirection) {
        match self.read(raw, 8, way).filter(|bytes| bytes.len() == 8) {
            Some(bytes) => {
                self.sink.begin(Bracket::Array);
                self.sink.item(true);
                self.one(long_at(bytes, 0), &flags::RW_HINT);
                self.sink.end(Bracket::Array);
            }
            None => self.address(raw),
        }
    }

    fn structure_behind(
        &mut self,
        raw: u64,
        way: DataDirection,
        structure: &'static StructureLayout,
        number: usize,
    ) {
        match self
            .read(raw, structure.size, way)
            .filter(|bytes| bytes.len() == structure.size)
        {
            Some(bytes) if !self.narrow() => self.structure(structure, bytes, number),
            _ => self.address(raw),
        }
    }

    /// A thread's name. The kernel looks at no more than fifteen letters.
    pub fn thread_name(&mut self, raw: u64, way: DataDirection) {
        const NAME: usize = 15;
        match self.read_text(raw, NAME, way) {
            Some(bytes) if bytes.contains(&0) || bytes.len() == NAME => {
                let length = bytes.iter().position(|byte| *byte == 0);
                let name = &bytes[..length.unwrap_or(NAME)];
                let shown = name.len().min(self.style.string);
                let cut = shown < name.len() || (length.is_none() && way == DataDirection::In);
                self.sink.text(&name[..shown], cut);
            }
            _ => self.address(raw),
        }
    }

    pub fn arch_prctl_fills_in(&self) -> bool {
        matches!(
            self.call.arguments[0] & 0xffff_ffff,
            0x1003 | 0x1004 | 0x1021 | 0x1022 | 0x1024
        )
    }

    pub fn arch_prctl(&mut self, raw: u64) {
        match self.call.arguments[0] & 0xffff_ffff {
            0x1003 | 0x1004 => match self
                .read(raw, 8, DataDirection::Out)
                .filter(|bytes| bytes.len() == 8)
            {
                Some(bytes) => {
                    self.sink.begin(Bracket::Array);
                    self.sink.item(true);
                    let address = long_at(bytes, 0);
                    self.address(address);
                    self.sink.end(Bracket::Array);
                }
                None => self.address(raw),
            },
            0x1021 | 0x1022 | 0x1024 => self.features(raw),
            0x1023 | 0x1025 => self.feature(raw),
            _ => self.sink.hex(raw),
        }
    }

    /// Parts of the processor's state, as the kernel says them.
    fn features(&mut self, raw: u64) {
        let Some(bytes) = self
            .read(raw, 8, DataDirection::Out)
            .filter(|bytes| bytes.len() == 8)
        else {
            self.address(raw);
            return;
        };
        let bits = long_at(bytes, 0);
        let names = &flags::FEATURES;
        let known = names.list.iter().any(|(_, known)| bits & known != 0);
        let shown = self.sink.constants() != ConstantStyle::Numbers && bits != 0;
        self.sink.begin(Bracket::Array);
        self.sink.item(true);
        self.sink.hex(bits);
        if shown && known {
            self.sink.aside(|out| format::flags(out, bits, names));
        } else if shown {
            self.sink
                .aside(|out| out.extend_from_slice(names.unknown.as_bytes()));
        }
        self.sink.end(Bracket::Array);
    }

    /// One of them.
    fn feature(&mut self, raw: u64) {
        let names = &flags::FEATURE;
        self.sink.hex(raw);
        if self.sink.constants() != ConstantStyle::Numbers {
            let name = names.name(raw).unwrap_or(names.unknown);
            self.sink
                .aside(|out| out.extend_from_slice(name.as_bytes()));
        }
    }
}
