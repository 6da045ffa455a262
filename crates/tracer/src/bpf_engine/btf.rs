//! The kernel's types (BTF), reduced to those that the programs need, in one walk over what the kernel describes.
//!
//! Programs are attached by a type's place in the list: a type that isn't needed is replaced by as short a type as there is, and
//! every other stays in its place. The format is in the kernel's Documentation/bpf/btf.rst. A type of an unknown kind is an error,
//! since its length isn't known.

use aya_obj::btf::Btf;

use crate::error::BpfEngineError;

/// Where the kernel says what its types are.
pub(super) const PATH: &str = "/sys/kernel/btf/vmlinux";

/// The structures whose fields the programs read.
const STRUCTURES: [&str; 9] = [
    "task_struct",
    "signal_struct",
    "pt_regs",
    "files_struct",
    "fdtable",
    "file",
    "inode",
    "socket",
    "sock",
];
/// What stands before a tracepoint's name in that of its type.
const TRACEPOINT: &str = "btf_trace_";

const HEADER: usize = 24;
const MAGIC: u32 = 0xeb9f;
/// What each type begins with: its name, its kind with a number, another type or its size.
const HEAD: usize = 12;
const MEMBER: usize = 12;

/// Kinds of types by their numbers.
mod kind {
    pub const INT: u32 = 1;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const FORWARD: u32 = 7;
    pub const TYPEDEF: u32 = 8;
    pub const VOLATILE: u32 = 9;
    pub const CONST: u32 = 10;
    pub const RESTRICT: u32 = 11;
    pub const PROTOTYPE: u32 = 13;
    pub const VARIABLE: u32 = 14;
    pub const SECTION: u32 = 15;
    pub const DECLARATION_TAG: u32 = 17;
    pub const TYPE_TAG: u32 = 18;
    pub const ENUM_64: u32 = 19;
}

/// The types that the programs need, numbered as the kernel has them; `points` are the tracepoints.
pub(super) fn of_kernel(points: &[&str]) -> Result<Btf, BpfEngineError> {
    let bytes = std::fs::read(PATH).map_err(|_| BpfEngineError::Types)?;
    let needed = reduced(&bytes, |name| {
        name.strip_prefix(TRACEPOINT)
            .map_or(STRUCTURES.contains(&name), |point| points.contains(&point))
    });
    let needed = needed.ok_or(BpfEngineError::Types)?;
    Btf::parse(&needed, Default::default()).map_err(|_| BpfEngineError::Types)
}

/// Reads types that may come from anywhere.
pub(super) fn read_any(bytes: &[u8]) {
    if let Some(needed) = reduced(bytes, |name| !name.is_empty()) {
        let _read_or_refused = Btf::parse(&needed, Default::default());
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

fn place(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(word(bytes, at)?).ok()
}

/// The types of this name and what they are made of, each in its place, up to the last of them. Nothing if this isn't what
/// it should be.
fn reduced(bytes: &[u8], wanted: impl Fn(&str) -> bool) -> Option<Vec<u8>> {
    let all = Types::parse(bytes)?;
    let mut needed: Vec<usize> = all.named(wanted).collect();
    let mut keeps = vec![false; all.starts.len()];
    while let Some(number) = needed.pop() {
        if number < keeps.len() && !std::mem::replace(&mut keeps[number], true) {
            all.made_of(number, &mut needed)?;
        }
    }
    let last = keeps.iter().rposition(|keep| *keep)?;
    let mut types = Vec::with_capacity((last + 1) * HEAD);
    let mut names = Names {
        all: all.names,
        needed: vec![0],
    };
    for (number, keep) in keeps.iter().enumerate().take(last + 1).skip(1) {
        if *keep {
            all.copy(number, &mut types, &mut names)?;
        } else {
            types.extend_from_slice(&[0; 4]);
            types.extend_from_slice(&(kind::FORWARD << 24).to_ne_bytes());
            types.extend_from_slice(&[0; 4]);
        }
    }
    let length = u32::try_from(types.len()).ok()?;
    let names_length = u32::try_from(names.needed.len()).ok()?;
    let mut reduced = Vec::with_capacity(HEADER + types.len() + names.needed.len());
    reduced.extend_from_slice(bytes.get(..4)?);
    for number in [HEADER as u32, 0, length, length, names_length] {
        reduced.extend_from_slice(&number.to_ne_bytes());
    }
    reduced.extend_from_slice(&types);
    reduced.extend_from_slice(&names.needed);
    Some(reduced)
}

/// The names of what is needed.
struct Names<'a> {
    all: &'a [u8],
    needed: Vec<u8>,
}

impl Names<'_> {
    /// Moves the name whose place stands there.
    fn take_over(&mut self, bytes: &mut [u8], at: usize) -> Option<()> {
        let name = self.all.get(place(bytes, at)?..)?;
        let end = name.iter().position(|byte| *byte == 0)?;
        let moved = if end == 0 { 0 } else { self.needed.len() };
        if end != 0 {
            self.needed.extend_from_slice(&name[..=end]);
        }
        let moved = u32::try_from(moved).ok()?;
        bytes
            .get_mut(at..at + 4)?
            .copy_from_slice(&moved.to_ne_bytes());
        Some(())
    }
}

/// All types.
struct Types<'a> {
    types: &'a [u8],
    names: &'a [u8],
    /// Where each begins; the first is none.
    starts: Vec<usize>,
}

impl<'a> Types<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        if word(bytes, 0)? & 0xffff != MAGIC {
            return None;
        }
        let from = |at: usize, length: usize| {
            let start = place(bytes, 4)?.checked_add(place(bytes, at)?)?;
            bytes.get(start..start.checked_add(place(bytes, length)?)?)
        };
        let mut all = Self {
            types: from(8, 12)?,
            names: from(16, 20)?,
            starts: vec![0],
        };
        let mut start = 0;
        while start < all.types.len() {
            all.starts.push(start);
            start += length(all.info_at(start)?)?;
        }
        Some(all)
    }

    /// A type's kind, with the number of its parts.
    fn info_at(&self, start: usize) -> Option<(u32, usize)> {
        let info = word(self.types, start + 4)?;
        Some((info >> 24 & 0x1f, (info & 0xffff) as usize))
    }

    fn end(&self, number: usize) -> Option<usize> {
        let start = self.starts[number];
        Some(start + length(self.info_at(start)?)?)
    }

    /// The numbers of structures and of names for types that are called so.
    fn named(&self, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = usize> {
        let is_wanted = move |start: usize| {
            let (kind, _) = self.info_at(start)?;
            if !matches!(kind, kind::STRUCT | kind::TYPEDEF) {
                return None;
            }
            let name = self.names.get(place(self.types, start)?..)?;
            let end = name.iter().position(|byte| *byte == 0)?;
            Some(wanted(std::str::from_utf8(&name[..end]).ok()?))
        };
        let starts = self.starts.iter().enumerate().skip(1);
        starts.filter_map(move |(number, start)| (is_wanted(*start)?).then_some(number))
    }

    /// Adds a type as it is, with its names.
    fn copy(&self, number: usize, to: &mut Vec<u8>, names: &mut Names<'_>) -> Option<()> {
        let start = self.starts[number];
        let (kind, parts) = self.info_at(start)?;
        let copy = to.len();
        to.extend_from_slice(self.types.get(start..self.end(number)?)?);
        names.take_over(to, copy)?;
        let part = match kind {
            kind::STRUCT | kind::UNION | kind::ENUM_64 => MEMBER,
            kind::ENUM | kind::PROTOTYPE => 8,
            _ => return Some(()),
        };
        (0..parts).try_for_each(|each| names.take_over(to, copy + HEAD + each * part))
    }

    /// Adds what a type is made of; not what it points to.
    fn made_of(&self, number: usize, to: &mut Vec<usize>) -> Option<()> {
        let start = self.starts[number];
        let (kind, parts) = self.info_at(start)?;
        match kind {
            kind::STRUCT | kind::UNION => {
                for part in 0..parts {
                    to.push(place(self.types, start + HEAD + part * MEMBER + 4)?);
                }
            }
            kind::ARRAY => to.extend([
                place(self.types, start + HEAD)?,
                place(self.types, start + HEAD + 4)?,
            ]),
            kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG => {
                to.push(place(self.types, start + 8)?);
            }
            _ => {}
        }
        Some(())
    }
}

/// How many bytes a type of this kind with so many parts takes.
fn length((kind, parts): (u32, usize)) -> Option<usize> {
    let more = match kind {
        kind::INT | kind::VARIABLE | kind::DECLARATION_TAG => 4,
        kind::ARRAY => 12,
        kind::STRUCT | kind::UNION => parts * MEMBER,
        kind::SECTION | kind::ENUM_64 => parts * 12,
        kind::ENUM | kind::PROTOTYPE => parts * 8,
        // A pointer, a name, a function, a real number.
        2 | 7..=12 | 16 | kind::TYPE_TAG => 0,
        _ => return None,
    };
    Some(HEAD + more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Types of a small kernel: `task_struct` holds an `int` and points to a `signal_struct`, which nobody wants here.
    fn small() -> Vec<u8> {
        let names = b"\0int\0task_struct\0signal_struct\0pid\0signal\0btf_trace_sys_enter\0";
        let name = |wanted: &str| {
            let found = names
                .windows(wanted.len() + 2)
                .position(|at| at == [b"\0", wanted.as_bytes(), b"\0"].concat());
            u32::try_from(found.unwrap() + 1).unwrap()
        };
        let words = [
            // 1: signal_struct, of nothing.
            vec![name("signal_struct"), kind::STRUCT << 24, 0],
            // 2: a pointer to it.
            vec![0, 2 << 24, 1],
            // 3: int.
            vec![name("int"), kind::INT << 24, 4, 32],
            // 4: task_struct.
            vec![
                name("task_struct"),
                kind::STRUCT << 24 | 2,
                16,
                name("pid"),
                3,
                0,
                name("signal"),
                2,
                64,
            ],
            // 5: the tracepoint. 6: nobody's.
            vec![name("btf_trace_sys_enter"), kind::TYPEDEF << 24, 2],
            vec![name("int"), kind::TYPEDEF << 24, 3],
        ];
        let types: Vec<u8> = words
            .concat()
            .into_iter()
            .flat_map(u32::to_ne_bytes)
            .collect();
        let length = u32::try_from(types.len()).unwrap();
        let mut bytes = [0x9f, 0xeb, 1, 0].to_vec();
        for number in [24, 0, length, length, u32::try_from(names.len()).unwrap()] {
            bytes.extend_from_slice(&number.to_ne_bytes());
        }
        [bytes, types, names.to_vec()].concat()
    }

    fn wanted(name: &str) -> bool {
        name == "task_struct" || name == "btf_trace_sys_enter"
    }

    #[test]
    fn what_is_needed_stays_in_its_place() {
        let reduced = reduced(&small(), wanted).unwrap();
        let types = Types::parse(&reduced).unwrap();
        let kinds: Vec<u32> = (1..types.starts.len())
            .map(|number| types.info_at(types.starts[number]).unwrap().0)
            .collect();
        // What is pointed to is left out, and what comes after all that is needed too.
        assert_eq!(
            kinds,
            [kind::FORWARD, 2, kind::INT, kind::STRUCT, kind::TYPEDEF]
        );
        assert_eq!(types.named(wanted).collect::<Vec<_>>(), [4, 5]);
    }

    #[test]
    fn of_this_kernel_what_is_needed_stays_in_its_place_too() {
        if backsight_test_needs::Need::Btf.is_missing() {
            return;
        }
        let bytes = std::fs::read(PATH).unwrap();
        let named = |bytes: &[u8]| {
            Types::parse(bytes)
                .unwrap()
                .named(wanted)
                .collect::<Vec<_>>()
        };
        let needed = reduced(&bytes, wanted).unwrap();
        assert!(needed.len() < bytes.len());
        assert_eq!(named(&needed), named(&bytes));
        assert!(Btf::parse(&needed, Default::default()).is_ok());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(at in 0_usize..200, byte in any::<u8>(), cut in 0_usize..400) {
            let mut bytes = small();
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            bytes.truncate(cut.max(30));
            let _ = reduced(&bytes, wanted);
        }
    }
}
