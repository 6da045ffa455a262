//! The kernel's types (BTF), reduced to the structures whose fields the programs read, in one walk over what the kernel describes;
//! and the numbers of the types by which typed programs are attached: those of tracepoints and iterators.
//!
//! Each type of the reduced list comes after those that it is made of. The format is in the kernel's Documentation/bpf/btf.rst. A
//! type of an unknown kind is an error, since its length isn't known. Reading takes longer than everything else together, so that
//! the result is kept until the next boot: see [`super::type_cache`].

use aya_obj::btf::Btf;
use serde::{Deserialize, Serialize};

use super::type_cache::TypeCache;
use crate::error::BpfEngineError;

/// Where the kernel says what its types are.
pub(super) const PATH: &str = "/sys/kernel/btf/vmlinux";

/// The structures whose fields the programs read.
const STRUCTURES: [&str; 12] = [
    "task_struct",
    "signal_struct",
    "pt_regs",
    "files_struct",
    "fdtable",
    "file",
    "inode",
    "dentry",
    "mount",
    "fs_struct",
    "socket",
    "sock",
];

const HEADER: usize = 24;
const MAGIC: u32 = 0xeb9f;
const MAGIC_AND_VERSION: u32 = MAGIC | 1 << 16;
/// What each type begins with: its name, its kind with a number, another type or its size.
const HEAD: usize = 12;
const MEMBER: usize = 12;

/// Kinds of types by their numbers.
mod kind {
    pub const INT: u32 = 1;
    pub const POINTER: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const TYPEDEF: u32 = 8;
    pub const VOLATILE: u32 = 9;
    pub const CONST: u32 = 10;
    pub const RESTRICT: u32 = 11;
    pub const FUNCTION: u32 = 12;
    pub const PROTOTYPE: u32 = 13;
    pub const VARIABLE: u32 = 14;
    pub const SECTION: u32 = 15;
    pub const DECLARATION_TAG: u32 = 17;
    pub const TYPE_TAG: u32 = 18;
    pub const ENUM_64: u32 = 19;
}

/// What the programs need of the kernel's types.
pub(super) struct KernelTypes {
    /// Their structures.
    pub structures: Btf,
    points: Vec<(String, u32)>,
}

impl KernelTypes {
    /// Those of the running kernel; `points` are the names of the types by which programs are attached.
    pub fn of_kernel(points: &[&str]) -> Result<Self, BpfEngineError> {
        let size = std::fs::metadata(PATH).map_err(|_| BpfEngineError::Types)?;
        let cache = TypeCache::of_user(&wanted_names(points), size.len());
        let kept = cache.as_ref().and_then(TypeCache::read::<ReducedTypes>);
        if let Some(types) = kept.and_then(|types| Self::from_reduced(types, points)) {
            return Ok(types);
        }
        let bytes = std::fs::read(PATH).map_err(|_| BpfEngineError::Types)?;
        let reduced = ReducedTypes::from_kernel(&bytes, points).ok_or(BpfEngineError::Types)?;
        if let Some(cache) = cache {
            // Without it the next start takes longer, that is all.
            let _not_kept = cache.write(&reduced);
        }
        Self::from_reduced(reduced, points).ok_or(BpfEngineError::Types)
    }

    fn from_reduced(reduced: ReducedTypes, points: &[&str]) -> Option<Self> {
        let all = Types::parse(&reduced.structures)?;
        if !all.is_ordered() {
            return None;
        }
        let types = Self {
            structures: Btf::parse(&reduced.structures, Default::default()).ok()?,
            points: reduced.points,
        };
        let complete = points.iter().all(|point| types.point(point).is_some());
        complete.then_some(types)
    }

    /// The number of a type by which programs are attached.
    pub fn point(&self, point: &str) -> Option<u32> {
        let found = self.points.iter().find(|(name, _)| name == point);
        found.map(|(_, number)| *number)
    }
}

/// The names of all that is wanted, which a list that was kept was made for.
fn wanted_names(points: &[&str]) -> String {
    let names: Vec<&str> = STRUCTURES.iter().chain(points).copied().collect();
    names.join(" ")
}

/// What is kept of the kernel's types.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReducedTypes {
    /// The types by which programs are attached: their names, and their numbers in the kernel's own list.
    points: Vec<(String, u32)>,
    /// The structures, as a list of types of its own.
    structures: Vec<u8>,
}

impl ReducedTypes {
    fn from_kernel(bytes: &[u8], points: &[&str]) -> Option<Self> {
        let all = Types::parse(bytes)?;
        let mut found = Vec::new();
        let mut structures = Vec::new();
        for (number, kind, name) in all.named() {
            if kind == kind::STRUCT {
                if STRUCTURES.contains(&name) {
                    structures.push(number);
                }
            } else if points.contains(&name) {
                found.push((name.to_owned(), u32::try_from(number).ok()?));
            }
        }
        Some(Self {
            points: found,
            structures: all.reduced(&structures)?,
        })
    }
}

/// Reads types that may come from anywhere.
pub(super) fn read_any(bytes: &[u8]) {
    let Some(all) = Types::parse(bytes) else {
        return;
    };
    let named: Vec<usize> = all.named().map(|(number, ..)| number).collect();
    let kept = ReducedTypes {
        points: Vec::new(),
        structures: all.reduced(&named).unwrap_or_else(|| bytes.to_vec()),
    };
    let _read_or_refused = KernelTypes::from_reduced(kept, &[]);
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

fn place(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(word(bytes, at)?).ok()
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
        if word(bytes, 0)? & 0xffff != MAGIC || place(bytes, 4)? < HEADER {
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

    /// The numbers of structures, of names for types and of functions, with their kinds and names.
    fn named(&self) -> impl Iterator<Item = (usize, u32, &'a str)> {
        let name_at = |start: usize| {
            let (kind, _) = self.info_at(start)?;
            if !matches!(kind, kind::STRUCT | kind::TYPEDEF | kind::FUNCTION) {
                return None;
            }
            let name = self.names.get(place(self.types, start)?..)?;
            let end = name.iter().position(|byte| *byte == 0)?;
            let name = std::str::from_utf8(&name[..end]).ok()?;
            (!name.is_empty()).then_some((kind, name))
        };
        let starts = self.starts.iter().enumerate().skip(1);
        starts.filter_map(move |(number, start)| {
            let (kind, name) = name_at(*start)?;
            Some((number, kind, name))
        })
    }

    /// A list of these types and what they are made of, in which only these have their names: whoever looks for one goes through all
    /// that have any. What they point to isn't in it.
    fn reduced(&self, wanted: &[usize]) -> Option<Vec<u8>> {
        let mut types = Vec::new();
        let mut names = Names {
            all: self.names,
            needed: vec![0],
        };
        let mut numbers = vec![Number::Unseen; self.starts.len()];
        let mut count = 0;
        let mut open: Vec<usize> = wanted.to_vec();
        while let Some(number) = open.last().copied() {
            let start = *self.starts.get(number)?;
            match numbers[number] {
                // What isn't data has no place in a structure but behind a pointer.
                Number::Unseen if number == 0 || !self.is_data(start)? => {
                    numbers[number] = Number::New(0);
                }
                Number::Unseen => {
                    numbers[number] = Number::Open;
                    self.each_part(start, |at| {
                        open.push(place(self.types, at)?);
                        Some(())
                    })?;
                }
                Number::Open => {
                    let copy = types.len();
                    self.copy(start, &numbers, &mut types, &mut names)?;
                    match wanted.contains(&number) {
                        true => names.take_over(&mut types, copy)?,
                        false => types.get_mut(copy..copy + 4)?.fill(0),
                    }
                    count += 1;
                    numbers[number] = Number::New(count);
                    open.pop();
                }
                Number::New(_) => {
                    open.pop();
                }
            }
        }
        let length = u32::try_from(types.len()).ok()?;
        let names_length = u32::try_from(names.needed.len()).ok()?;
        let mut list = Vec::with_capacity(HEADER + types.len() + names.needed.len());
        list.extend_from_slice(&MAGIC_AND_VERSION.to_ne_bytes());
        for number in [HEADER as u32, 0, length, length, names_length] {
            list.extend_from_slice(&number.to_ne_bytes());
        }
        list.extend_from_slice(&types);
        list.extend_from_slice(&names.needed);
        Some(list)
    }

    /// Whether each type comes after those that it is made of: so that none is made of itself.
    fn is_ordered(&self) -> bool {
        let starts = self.starts.iter().enumerate().skip(1);
        let mut ordered = starts.map(|(number, start)| {
            self.each_part(*start, |at| (place(self.types, at)? < number).then_some(()))
        });
        ordered.all(|it| it.is_some())
    }

    fn is_data(&self, start: usize) -> Option<bool> {
        let (kind, _) = self.info_at(start)?;
        Some(!matches!(
            kind,
            kind::FUNCTION
                | kind::PROTOTYPE
                | kind::VARIABLE
                | kind::SECTION
                | kind::DECLARATION_TAG
        ))
    }

    /// Adds a type with the names of its members, made of what has these numbers now.
    fn copy(
        &self,
        start: usize,
        numbers: &[Number],
        to: &mut Vec<u8>,
        names: &mut Names<'_>,
    ) -> Option<()> {
        let (kind, parts) = self.info_at(start)?;
        let copy = to.len();
        to.extend_from_slice(
            self.types
                .get(start..start.checked_add(length((kind, parts))?)?)?,
        );
        if kind == kind::POINTER {
            to[copy + 8..copy + 12].fill(0);
        }
        self.each_part(start, |at| {
            // One that is still open is made of itself: no compiler made it.
            let Number::New(number) = numbers.get(place(self.types, at)?)? else {
                return None;
            };
            let at = copy + (at - start);
            to.get_mut(at..at + 4)?
                .copy_from_slice(&number.to_ne_bytes());
            Some(())
        })?;
        let part = match kind {
            kind::STRUCT | kind::UNION | kind::ENUM_64 => MEMBER,
            kind::ENUM => 8,
            _ => return Some(()),
        };
        (0..parts).try_for_each(|each| names.take_over(to, copy + HEAD + each * part))
    }

    /// Calls this with each place where the number of a type stands that a type is made of; not of what it points to.
    fn each_part(&self, start: usize, mut each: impl FnMut(usize) -> Option<()>) -> Option<()> {
        let (kind, parts) = self.info_at(start)?;
        match kind {
            kind::STRUCT | kind::UNION => {
                (0..parts).try_for_each(|part| each(start + HEAD + part * MEMBER + 4))
            }
            kind::ARRAY => {
                each(start + HEAD)?;
                each(start + HEAD + 4)
            }
            kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG => {
                each(start + 8)
            }
            _ => Some(()),
        }
    }
}

/// What number a type has in a reduced list.
#[derive(Debug, Clone, Copy)]
enum Number {
    Unseen,
    /// It comes once all is there that it is made of.
    Open,
    New(u32),
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
        kind::POINTER | 7..=12 | 16 | kind::TYPE_TAG => 0,
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
        let names =
            b"\0int\0task_struct\0signal_struct\0pid\0signal\0btf_trace_sys_enter\0bpf_iter_task\0";
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
            // 5: the tracepoint. 6: nobody's. 7: the iterator. 8: a function that is called as a structure.
            vec![name("btf_trace_sys_enter"), kind::TYPEDEF << 24, 2],
            vec![name("int"), kind::TYPEDEF << 24, 3],
            vec![name("bpf_iter_task"), kind::FUNCTION << 24, 0],
            vec![name("task_struct"), kind::FUNCTION << 24, 0],
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

    #[test]
    fn a_type_comes_after_what_it_is_made_of_and_nothing_else_is_there() {
        let small = small();
        let all = Types::parse(&small).unwrap();
        let reduced = all.reduced(&[4]).unwrap();
        let types = Types::parse(&reduced).unwrap();
        let kinds: Vec<u32> = (1..types.starts.len())
            .map(|number| types.info_at(types.starts[number]).unwrap().0)
            .collect();
        // What is pointed to is left out.
        assert_eq!(kinds, [kind::POINTER, kind::INT, kind::STRUCT]);
        assert!(types.is_ordered());
        let named: Vec<_> = types.named().collect();
        assert_eq!(named, [(3, kind::STRUCT, "task_struct")]);
        assert!(Btf::parse(&reduced, Default::default()).is_ok());
    }

    #[test]
    fn what_programs_are_attached_by_keeps_the_kernel_s_numbers() {
        let points = ["btf_trace_sys_enter", "bpf_iter_task"];
        let reduced = ReducedTypes::from_kernel(&small(), &points).unwrap();
        let types = KernelTypes::from_reduced(reduced.clone(), &points).unwrap();
        assert_eq!(points.map(|point| types.point(point)), [Some(5), Some(7)]);
        // A list that lacks one of them isn't taken.
        assert!(KernelTypes::from_reduced(reduced, &["btf_trace_sys_exit"]).is_none());
    }

    #[test]
    fn a_type_that_is_made_of_itself_is_refused() {
        let mut bytes = small();
        // The structure's first member is the structure.
        let member = HEADER + 12 + 12 + 16 + HEAD + 4;
        bytes[member..member + 4].copy_from_slice(&4_u32.to_ne_bytes());
        let all = Types::parse(&bytes).unwrap();
        assert!(all.reduced(&[4]).is_none());
        let kept = ReducedTypes {
            points: Vec::new(),
            structures: bytes,
        };
        assert!(KernelTypes::from_reduced(kept, &[]).is_none());
    }

    #[test]
    fn of_this_kernel_the_structures_are_there() {
        if backsight_test_needs::Need::Btf.is_missing() {
            return;
        }
        let bytes = std::fs::read(PATH).unwrap();
        let points = ["btf_trace_sched_process_fork", "bpf_iter_task"];
        let reduced = ReducedTypes::from_kernel(&bytes, &points).unwrap();
        assert!(reduced.structures.len() < 1 << 18);
        let types = Types::parse(&reduced.structures).unwrap();
        let names: Vec<_> = types.named().map(|(.., name)| name).collect();
        assert!(STRUCTURES.iter().all(|name| names.contains(name)));
        let all = Types::parse(&bytes).unwrap();
        assert_eq!(reduced.points.len(), points.len());
        for (point, number) in &reduced.points {
            let mut named = all.named();
            let named = named.find(|it| it.0 == *number as usize).unwrap();
            assert_eq!(named.2, point);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(at in 0_usize..200, byte in any::<u8>(), cut in 0_usize..400) {
            let mut bytes = small();
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            bytes.truncate(cut.max(30));
            read_any(&bytes);
        }
    }
}
