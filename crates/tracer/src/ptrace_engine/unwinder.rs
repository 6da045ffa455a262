//! Stack unwinding of a stopped thread, by the unwind tables of what is mapped in its process, with symbols.
//!
//! Programs of another architecture have no stack here, and a symbol names only addresses within its size.

use std::{
    collections::HashMap,
    fs::File,
    ops::Range,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Module,
    UnwindRegsNative, Unwinder as _, UnwinderNative,
};
use object::{Object as _, ObjectSection as _, ObjectSegment as _, ReadCache, ReadRef, SymbolKind};

use super::page_cache::PageCache;
use super::symbol_names;
use crate::ptrace::requests;
use crate::ptrace::requests::Tid;
use backsight_syscall_decode::StackFrame;
use backsight_syscall_decode::memory::{MemoryRequest, ReadExtent};

/// Most functions of one stack.
const DEPTH: usize = 256;
/// Most bytes of what the kernel itself maps into programs.
const KERNEL_S: u64 = 1 << 16;
/// Most bytes of a file: its symbols and tables are read as long as they say that they are.
const FILE_MOST: u64 = 4 << 30;

type Bytes = Arc<[u8]>;

/// What is known of the memory of every process that was asked about.
#[derive(Default)]
pub struct StackUnwinder {
    spaces: HashMap<i32, Space>,
    /// What was mapped anywhere, by device and number; nothing for what is no program.
    images: HashMap<(Vec<u8>, u64), Option<Arc<Image>>>,
}

impl StackUnwinder {
    /// The program of a process isn't what it was, or what is mapped there.
    pub fn forget(&mut self, pid: i32) {
        self.spaces.remove(&pid);
    }

    /// The functions that a stopped thread is in, the innermost first.
    pub fn unwind(&mut self, pid: i32, tid: Tid, pages: &mut PageCache) -> Vec<StackFrame> {
        let Ok(Some(place)) = requests::unwind_start(tid) else {
            return Vec::new();
        };
        pages.forget();
        if !self.spaces.contains_key(&pid) {
            let space = self.look(pid, tid, pages);
            self.spaces.insert(pid, space);
        }
        let (frames, whole) = self.spaces[&pid].walk(tid, place, pages);
        if whole {
            return frames;
        }
        // Something was mapped by a call that wasn't seen.
        let space = self.look(pid, tid, pages);
        let (frames, _) = space.walk(tid, place, pages);
        self.spaces.insert(pid, space);
        frames
    }

    fn look(&mut self, pid: i32, tid: Tid, pages: &mut PageCache) -> Space {
        let mut space = Space {
            unwinder: UnwinderNative::new(),
            mappings: Vec::new(),
        };
        let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        for line in maps.split(|byte| *byte == b'\n') {
            let Some(line) = Line::parse(line).filter(|line| line.executable) else {
                continue;
            };
            let image = self.image(pid, tid, &line, pages);
            let image = image.and_then(|image| Some((image.at(line.offset)?, image)));
            if let Some((address, image)) = &image {
                let base = line.range.start.wrapping_sub(*address);
                let name = String::from_utf8_lossy(line.path).into_owned();
                let sections = image.sections();
                let module = Module::new(name, line.range.clone(), base, sections);
                space.unwinder.add_module(module);
            }
            space.mappings.push(Mapping {
                range: line.range,
                offset: line.offset,
                file: line.path.to_vec(),
                image,
            });
        }
        space
    }

    fn image(
        &mut self,
        pid: i32,
        tid: Tid,
        line: &Line<'_>,
        pages: &mut PageCache,
    ) -> Option<Arc<Image>> {
        if line.path == b"[vdso]" {
            let length = (line.range.end - line.range.start).min(KERNEL_S) as usize;
            let bytes = pages.read(
                tid,
                MemoryRequest {
                    address: line.range.start,
                    extent: ReadExtent::Bytes(length),
                },
            );
            return Image::parse(&bytes[..]).map(Arc::new);
        }
        if line.inode == 0 {
            return None;
        }
        let key = (line.device.to_vec(), line.inode);
        let known = self
            .images
            .entry(key)
            .or_insert_with(|| Image::open(pid, line).map(Arc::new));
        known.clone()
    }
}

/// A line of `/proc/PID/maps`.
struct Line<'a> {
    range: Range<u64>,
    executable: bool,
    offset: u64,
    device: &'a [u8],
    inode: u64,
    path: &'a [u8],
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let hex = |text: &[u8]| u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok();
        let mut words = line.splitn(6, |byte| *byte == b' ');
        let mut range = words.next()?.splitn(2, |byte| *byte == b'-');
        let (start, end) = (hex(range.next()?)?, hex(range.next()?)?);
        let modes = words.next()?;
        let offset = hex(words.next()?)?;
        let device = words.next()?;
        let inode = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        Some(Self {
            range: start..end,
            executable: modes.get(2) == Some(&b'x'),
            offset,
            device,
            inode,
            path: words.next().unwrap_or_default().trim_ascii_start(),
        })
    }
}

/// The memory of a process as it was when it was looked at.
struct Space {
    unwinder: UnwinderNative<Bytes, MayAllocateDuringUnwind>,
    mappings: Vec<Mapping>,
}

/// What of it can be executed.
struct Mapping {
    range: Range<u64>,
    offset: u64,
    file: Vec<u8>,
    /// Which address of the image lies there first.
    image: Option<(u64, Arc<Image>)>,
}

impl Space {
    /// The functions on a stack, and whether all of them lie in what is known to be mapped.
    fn walk(
        &self,
        tid: Tid,
        place: requests::UnwindStart,
        pages: &mut PageCache,
    ) -> (Vec<StackFrame>, bool) {
        self.frames(place, &mut |address| word(pages, tid, address).ok_or(()))
    }

    fn frames(
        &self,
        place: requests::UnwindStart,
        read: &mut impl FnMut(u64) -> Result<u64, ()>,
    ) -> (Vec<StackFrame>, bool) {
        let mut cache = CacheNative::<MayAllocateDuringUnwind>::new();
        let mut registers = registers(place);
        let mut address = FrameAddress::InstructionPointer(place.instruction);
        let mut frames = Vec::new();
        while frames.len() < DEPTH {
            let handled = signal::is_returned_from(address, read);
            // A handler goes back to what no call stands before.
            let within = match handled {
                true => address.address(),
                false => address.address_for_lookup(),
            };
            let Some(frame) = self.frame(address.address(), within) else {
                return (frames, false);
            };
            frames.push(frame);
            if handled {
                let Some(place) = signal::interrupted(registers.sp(), read) else {
                    break;
                };
                registers = self::registers(place);
                address = FrameAddress::InstructionPointer(place.instruction);
                continue;
            }
            let unwound = self
                .unwinder
                .unwind_frame(address, &mut registers, &mut cache, read);
            let Some(next) = unwound.ok().flatten() else {
                break;
            };
            let Some(next) = FrameAddress::from_return_address(next) else {
                break;
            };
            address = next;
        }
        (frames, true)
    }

    fn frame(&self, address: u64, within: u64) -> Option<StackFrame> {
        let mut mappings = self.mappings.iter();
        let mapping = mappings.find(|mapping| mapping.range.contains(&within))?;
        let function = mapping.image.as_ref().and_then(|(first, image)| {
            let moved = |address: u64| (address - mapping.range.start).wrapping_add(*first);
            let function = image.function(moved(within))?;
            let into = moved(address).wrapping_sub(function.range.start);
            Some((function.shown().to_vec(), into))
        });
        Some(StackFrame {
            file: mapping.file.clone(),
            function,
            offset: (address - mapping.range.start).wrapping_add(mapping.offset),
        })
    }
}

/// A word of a stopped thread's memory.
fn word(pages: &mut PageCache, tid: Tid, address: u64) -> Option<u64> {
    let extent = ReadExtent::Bytes(8);
    let bytes = pages.read(tid, MemoryRequest { address, extent });
    <[u8; 8]>::try_from(bytes.as_slice())
        .ok()
        .map(u64::from_ne_bytes)
}

mod signal {
    //! What a signal's handler goes back to: code that asks the kernel for what the thread was in, which has no caller. What
    //! that was lies on the stack, as in `rt_sigframe`, `ucontext` and `sigcontext` of the kernel's headers.

    use super::FrameAddress;
    use crate::ptrace::requests::UnwindStart;

    /// Its code: the number of `rt_sigreturn` into the call's register, and the call.
    #[cfg(target_arch = "x86_64")]
    const CODE: &[u8] = &[0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
    #[cfg(target_arch = "aarch64")]
    const CODE: &[u8] = &[0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4];

    /// Whether an address is that of such code: where it begins, or within it where its call has been made.
    pub(super) fn is_returned_from(
        address: FrameAddress,
        read: &mut impl FnMut(u64) -> Result<u64, ()>,
    ) -> bool {
        let start = match address {
            FrameAddress::InstructionPointer(after) => after.wrapping_sub(CODE.len() as u64),
            FrameAddress::ReturnAddress(start) => start.get(),
        };
        let mut words = [0; 16];
        let (first, second) = words.split_at_mut(8);
        let Ok(word) = read(start) else {
            return false;
        };
        first.copy_from_slice(&word.to_ne_bytes());
        if CODE.len() > 8 {
            let Ok(word) = read(start.wrapping_add(CODE.len() as u64 - 8)) else {
                return false;
            };
            // The last eight bytes, of which all but the last few are those of before.
            let rest = CODE.len() - 8;
            second[..rest].copy_from_slice(&word.to_ne_bytes()[8 - rest..]);
        }
        words.starts_with(CODE)
    }

    /// Where a thread was when the signal came, by where its stack ends as the handler has gone back.
    pub(super) fn interrupted(
        stack: u64,
        read: &mut impl FnMut(u64) -> Result<u64, ()>,
    ) -> Option<UnwindStart> {
        #[cfg(target_arch = "x86_64")]
        let registers = stack.wrapping_add(40);
        #[cfg(target_arch = "aarch64")]
        let registers = stack.wrapping_add(128 + 176 + 8);
        let mut register = |at: u64| read(registers.wrapping_add(8 * at)).ok();
        #[cfg(target_arch = "x86_64")]
        let place = UnwindStart {
            frame: register(10)?,
            stack: register(15)?,
            instruction: register(16)?,
        };
        #[cfg(target_arch = "aarch64")]
        let place = UnwindStart {
            frame: register(29)?,
            link: register(30)?,
            stack: register(31)?,
            instruction: register(32)?,
        };
        Some(place)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn such_code_is_known_from_its_beginning_and_from_its_end() {
            let mut memory = [0x90; 32];
            memory[8..8 + CODE.len()].copy_from_slice(CODE);
            let mut read = |address: u64| {
                let from = usize::try_from(address).map_err(drop)?;
                let word = memory.get(from..).and_then(|rest| rest.first_chunk());
                word.map(|word| u64::from_ne_bytes(*word)).ok_or(())
            };
            let at = |start| FrameAddress::from_return_address(start).unwrap();
            assert!(is_returned_from(at(8), &mut read));
            assert!(!is_returned_from(at(7), &mut read));
            assert!(!is_returned_from(at(40), &mut read));
            let end = 8 + CODE.len() as u64;
            assert!(is_returned_from(
                FrameAddress::InstructionPointer(end),
                &mut read
            ));
            assert!(!is_returned_from(
                FrameAddress::InstructionPointer(8),
                &mut read
            ));
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(place: requests::UnwindStart) -> UnwindRegsNative {
    UnwindRegsNative::new(place.instruction, place.stack, place.frame)
}

#[cfg(target_arch = "aarch64")]
fn registers(place: requests::UnwindStart) -> UnwindRegsNative {
    UnwindRegsNative::new(place.link, place.stack, place.frame)
}

/// What of a program or library is needed.
struct Image {
    loads: Vec<Load>,
    text: Option<Range<u64>>,
    got: Option<Range<u64>>,
    frames: Option<(Range<u64>, Bytes)>,
    /// Where in these is said how it is unwound from which function, if that is as it is everywhere and can be relied on.
    index: Option<(Range<u64>, Bytes)>,
    /// By where they begin.
    functions: Vec<Function>,
}

/// A part of the file and where it is loaded.
struct Load {
    offset: Range<u64>,
    address: u64,
}

struct Function {
    range: Range<u64>,
    name: Vec<u8>,
    /// As its source has it, once it was on a stack.
    in_source: OnceLock<Option<Vec<u8>>>,
}

impl Function {
    fn shown(&self) -> &[u8] {
        let in_source = self
            .in_source
            .get_or_init(|| symbol_names::in_source(&self.name));
        in_source.as_ref().unwrap_or(&self.name)
    }
}

impl Image {
    /// What is mapped, whatever its path has become: nothing where it can't be opened or is none.
    fn open(pid: i32, line: &Line<'_>) -> Option<Self> {
        let range = format!("{:x}-{:x}", line.range.start, line.range.end);
        let mapped = PathBuf::from(format!("/proc/{pid}/map_files/{range}"));
        let path = Path::new(std::ffi::OsStr::from_bytes(line.path));
        let inside = Path::new("/proc")
            .join(pid.to_string())
            .join("root")
            .join(path.strip_prefix("/").ok()?);
        let file = File::open(mapped).or_else(|_| File::open(inside)).ok()?;
        use std::os::unix::fs::MetadataExt as _;
        let about = file.metadata().ok()?;
        let same = about.ino() == line.inode && about.is_file() && about.len() <= FILE_MOST;
        same.then(|| Self::parse(&ReadCache::new(file))).flatten()
    }

    fn parse<'data>(data: impl ReadRef<'data>) -> Option<Self> {
        let file = object::File::parse(data).ok()?;
        let loads = file.segments().map(|segment| {
            let (offset, size) = segment.file_range();
            Load {
                offset: offset..offset.saturating_add(size),
                address: segment.address(),
            }
        });
        let range = |name: &str| {
            let section = file.section_by_name(name)?;
            let end = section.address().checked_add(section.size())?;
            Some(section.address()..end)
        };
        let bytes = |name: &str| {
            let section = file.section_by_name(name)?;
            Some((range(name)?, Bytes::from(section.data().ok()?)))
        };
        let frames = bytes(".eh_frame");
        let index = bytes(".eh_frame_hdr");
        let index = index.filter(|(at, bytes)| {
            let frames = frames.as_ref().map(|(range, _)| range);
            frames.is_some_and(|frames| is_sound(bytes, at.start, frames))
        });
        Some(Self {
            loads: loads.collect(),
            text: range(".text"),
            got: range(".got"),
            frames,
            index,
            functions: functions(file.symbols().chain(file.dynamic_symbols())),
        })
    }

    /// The address of what lies at this place of the file.
    fn at(&self, offset: u64) -> Option<u64> {
        let load = self.loads.iter().find(|load| load.offset.contains(&offset));
        load.map(|load| (offset - load.offset.start).wrapping_add(load.address))
    }

    fn sections(&self) -> ExplicitModuleSectionInfo<Bytes> {
        let of = |part: &Option<(Range<u64>, Bytes)>| part.clone().unzip();
        let (eh_frame_svma, eh_frame) = of(&self.frames);
        let (eh_frame_hdr_svma, eh_frame_hdr) = of(&self.index);
        ExplicitModuleSectionInfo {
            text_svma: self.text.clone(),
            got_svma: self.got.clone(),
            eh_frame_svma,
            eh_frame,
            eh_frame_hdr_svma,
            eh_frame_hdr,
            ..ExplicitModuleSectionInfo::default()
        }
    }

    fn function(&self, address: u64) -> Option<&Function> {
        let behind = self
            .functions
            .partition_point(|function| function.range.start <= address);
        let function = self.functions[..behind].last()?;
        function.range.contains(&address).then_some(function)
    }
}

/// Whether an index of unwind tables at an address points to nothing but these: who reads it counts on that. Without one the
/// tables are read from their beginning for each process, which takes its time.
fn is_sound(index: &[u8], at: u64, frames: &Range<u64>) -> bool {
    /// Its version, and how its numbers are written: those that every linker writes.
    const USUAL: [u8; 4] = [1, 0x1b, 3, 0x3b];
    const HEAD: usize = 12;
    let number = |from: usize| {
        let bytes = index.get(from..).and_then(|rest| rest.first_chunk());
        bytes.map(|bytes| u32::from_le_bytes(*bytes))
    };
    let beyond = |from: u64, by: u32| from.wrapping_add_signed(i64::from(by.cast_signed()));
    let (Some(start), Some(count)) = (number(4), number(8)) else {
        return false;
    };
    let Some(rows) = index[HEAD..].get(..8 * count as usize) else {
        return false;
    };
    index.starts_with(&USUAL)
        && beyond(at.wrapping_add(4), start) == frames.start
        && (0..rows.len())
            .step_by(8)
            .filter_map(|row| number(HEAD + row + 4))
            .all(|frame| frames.contains(&beyond(at, frame)))
}

/// The functions among symbols: of several that begin together the one whose name is plainest.
fn functions<'data>(
    symbols: impl Iterator<Item = impl object::ObjectSymbol<'data>>,
) -> Vec<Function> {
    let named = symbols.filter_map(|symbol| {
        let is_function = symbol.kind() == SymbolKind::Text && symbol.size() > 0;
        let end = symbol.address().checked_add(symbol.size())?;
        let name = symbol.name_bytes().ok().filter(|_| is_function)?;
        Some(Function {
            range: symbol.address()..end,
            name: name.to_vec(),
            in_source: OnceLock::new(),
        })
    });
    let mut functions: Vec<Function> = named.collect();
    let plain = |name: &[u8]| {
        let underscores = name.iter().take_while(|byte| **byte == b'_').count();
        (underscores, name.len())
    };
    functions.sort_by(|one, other| {
        let keys = |it: &Function| (it.range.start, plain(&it.name));
        keys(one).cmp(&keys(other)).then(one.name.cmp(&other.name))
    });
    functions.dedup_by_key(|function| function.range.start);
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_map_is_read_with_any_path() {
        let line =
            Line::parse(b"7f00-7f10 r-xp 00001000 08:01 77        /a b/c (deleted)").unwrap();
        assert_eq!((line.range, line.executable), (0x7f00..0x7f10, true));
        assert_eq!(
            (line.offset, line.device, line.inode),
            (0x1000, &b"08:01"[..], 77)
        );
        assert_eq!(line.path, b"/a b/c (deleted)");
        let nameless = Line::parse(b"1-2 rw-p 00000000 00:00 0 ").unwrap();
        assert_eq!((nameless.executable, nameless.path), (false, &b""[..]));
        assert!(Line::parse(b"").is_none());
        assert!(Line::parse(b"1-x r-xp 0 00:00 0 a").is_none());
    }

    proptest::proptest! {
        /// What is mapped is the program's business: whatever stands in its files, nothing worse comes of it than a short stack.
        #[test]
        fn a_file_may_say_what_it_likes(
            changes in proptest::collection::vec((proptest::prelude::any::<u16>(), proptest::prelude::any::<u8>()), 0..40),
            place in proptest::prelude::any::<[u64; 4]>(),
        ) {
            let mut bytes = std::fs::read("/bin/true").unwrap();
            for (at, byte) in changes {
                let length = bytes.len();
                bytes[usize::from(at) % length] = byte;
            }
            if let Some(image) = Image::parse(&bytes[..]) {
                let image = Arc::new(image);
                let range = 0x1000..0x10_0000;
                let mut unwinder = UnwinderNative::new();
                let first = image.at(place[0] % bytes.len() as u64);
                let base = 0x1000_u64.wrapping_sub(first.unwrap_or(0));
                unwinder.add_module(Module::new(String::new(), range.clone(), base, image.sections()));
                let space = Space {
                    unwinder,
                    mappings: vec![Mapping {
                        range,
                        offset: place[1],
                        file: Vec::new(),
                        image: Some((first.unwrap_or(0), image)),
                    }],
                };
                let mut read = |address: u64| address.is_multiple_of(8).then_some(address % 0x10_0000).ok_or(());
                let mut place = requests::UnwindStart {
                    instruction: 0x1000 + place[2] % 0xf_f000,
                    stack: place[3],
                    ..requests::UnwindStart::default()
                };
                place.frame = place.stack;
                let (frames, _) = space.frames(place, &mut read);
                proptest::prop_assert!(frames.len() <= DEPTH);
            }
        }
    }

    #[test]
    fn what_is_no_program_has_no_functions() {
        assert!(Image::parse(&b"nonsense"[..]).is_none());
        assert!(Image::parse(&b""[..]).is_none());
    }
}
