//! Programs and libraries as they are mapped: their unwind tables, and their functions.

use std::{
    collections::HashMap,
    fs::File,
    ops::Range,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use framehop::ExplicitModuleSectionInfo;
use object::{
    CompressedData, CompressionFormat, Object as _, ObjectSection as _, ObjectSegment as _,
    ObjectSymbol as _, ReadCache, ReadRef, SegmentFlags, SymbolKind,
};

use crate::{mapped_file::MappedFile, symbol_names};

/// Most bytes of what the kernel itself maps into programs.
const VDSO_MOST: u64 = 1 << 16;
/// Most bytes of a file: its symbols and tables are read as long as they say that they are.
const FILE_MOST: u64 = 4 << 30;
/// Bytes of a page, at most.
const LARGEST_PAGE: u64 = 64 << 10;
/// Most bytes of unwind tables that are compressed in their file.
const TABLES_MOST: u64 = 256 << 20;
/// Most files that stay open until their symbols are wanted; those of more are read at once.
const OPEN_MOST: usize = 256;
/// Where Debian's packages of debugging information have the symbols that were stripped, by build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

pub(crate) type Bytes = Arc<[u8]>;

/// What was mapped in any process, by its file; nothing for what is no program.
#[derive(Default)]
pub struct ImageCache {
    images: HashMap<(u32, u32, u64), Option<Arc<Image>>>,
}

impl ImageCache {
    /// What is mapped in a process. `read` reads so many bytes of its memory: of what the kernel maps, which is in no file.
    pub fn load(
        &mut self,
        pid: i32,
        mapped: &MappedFile,
        read: impl FnOnce(u64, usize) -> Vec<u8>,
    ) -> Option<Arc<Image>> {
        if &mapped.path[..] == b"[vdso]" {
            let length = (mapped.range.end - mapped.range.start).min(VDSO_MOST);
            let bytes = read(mapped.range.start, length as usize);
            return Image::parse_bytes(&bytes).map(Arc::new);
        }
        if mapped.file.2 == 0 {
            return None;
        }
        let many = self.images.len() >= OPEN_MOST;
        let known = self.images.entry(mapped.file).or_insert_with(|| {
            let image = Image::open(pid, mapped)?;
            if many {
                image.functions();
            }
            Some(Arc::new(image))
        });
        known.clone()
    }
}

/// What of a program or library is needed.
#[derive(Debug)]
pub struct Image {
    loads: Vec<Load>,
    text: Option<Range<u64>>,
    got: Option<Range<u64>>,
    frames: Option<(Range<u64>, Bytes)>,
    /// Where in these is said how it is unwound from which function, if that is as it is everywhere and can be relied on.
    index: Option<(Range<u64>, Bytes)>,
    /// The tables for debuggers where there are no others, as in Go's programs.
    debug_frame: Option<Bytes>,
    build_id: Vec<u8>,
    /// By where they begin; read when the first one is wanted.
    functions: OnceLock<Vec<Function>>,
    /// The file, until they are read.
    unread: Mutex<Option<File>>,
}

/// A part of the file that is code, and where it is loaded.
#[derive(Debug)]
struct Load {
    offset: Range<u64>,
    address: u64,
}

/// A function of a program or library.
#[derive(Debug)]
pub struct Function {
    /// Its addresses within the image.
    pub range: Range<u64>,
    name: Vec<u8>,
    /// As its source has it, once it was on a stack.
    in_source: OnceLock<Option<Vec<u8>>>,
}

impl Function {
    /// Its name, as its source has it if that can be told.
    pub fn name(&self) -> &[u8] {
        let in_source = self
            .in_source
            .get_or_init(|| symbol_names::in_source(&self.name));
        in_source.as_ref().unwrap_or(&self.name)
    }
}

impl Image {
    /// What is mapped, whatever its path has become: nothing where it can't be opened or is none. A process that has ended had the
    /// file by the path that it has here.
    fn open(pid: i32, mapped: &MappedFile) -> Option<Self> {
        let range = format!("{:x}-{:x}", mapped.range.start, mapped.range.end);
        let path = Path::new(std::ffi::OsStr::from_bytes(&mapped.path));
        let process = PathBuf::from(format!("/proc/{pid}"));
        let inside = process.join("root").join(path.strip_prefix("/").ok()?);
        let places = [process.join("map_files").join(range), inside, path.into()];
        let file = places.iter().find_map(|place| {
            let file = File::open(place).ok()?;
            let about = file.metadata().ok()?;
            let same = about.ino() == mapped.file.2 && about.is_file();
            (same && about.len() <= FILE_MOST).then_some(file)
        })?;
        let mut image = Self::parse(&ReadCache::new(&file))?;
        image.unread = Mutex::new(Some(file));
        Some(image)
    }

    /// An image that is in memory.
    pub(crate) fn parse_bytes(bytes: &[u8]) -> Option<Self> {
        let image = Self::parse(bytes)?;
        let mut functions = read_functions(bytes);
        sort_functions(&mut functions);
        let _ = image.functions.set(functions);
        Some(image)
    }

    /// All but the functions.
    fn parse<'data>(data: impl ReadRef<'data>) -> Option<Self> {
        let file = object::File::parse(data).ok()?;
        let code = file.segments().filter(|segment| match segment.flags() {
            SegmentFlags::Elf { p_flags } => p_flags & object::elf::PF_X != 0,
            _ => true,
        });
        let loads = code.map(|segment| {
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
        let debug_frame = match frames {
            Some(_) => None,
            None => file.section_by_name(".debug_frame"),
        };
        Some(Self {
            loads: loads.collect(),
            text: range(".text"),
            got: range(".got"),
            frames,
            index,
            debug_frame: debug_frame
                .and_then(|section| decompress(section.compressed_data().ok()?)),
            build_id: file.build_id().ok().flatten().unwrap_or_default().to_vec(),
            functions: OnceLock::new(),
            unread: Mutex::new(None),
        })
    }

    /// What its linker called this very image; empty where it didn't.
    #[must_use]
    pub fn build_id(&self) -> String {
        self.build_id
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The function at an address within the image.
    pub fn function(&self, address: u64) -> Option<&Function> {
        let functions = self.functions();
        let behind = functions.partition_point(|function| function.range.start <= address);
        let function = functions[..behind].last()?;
        function.range.contains(&address).then_some(function)
    }

    /// The address of what is mapped from this offset of the file on, which is that of a page: code may begin within it, behind the end
    /// of something else.
    pub(crate) fn address_at(&self, offset: u64) -> Option<u64> {
        let mut loads = self.loads.iter();
        let load = loads.find(|load| load.offset.contains(&offset));
        let load = load.or_else(|| {
            let page = offset..offset.saturating_add(LARGEST_PAGE);
            let mut loads = self.loads.iter();
            loads.find(|load| page.contains(&load.offset.start))
        })?;
        let into = offset.wrapping_sub(load.offset.start);
        Some(into.wrapping_add(load.address))
    }

    pub(crate) fn sections(&self) -> ExplicitModuleSectionInfo<Bytes> {
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
            debug_frame: self.debug_frame.clone(),
            ..ExplicitModuleSectionInfo::default()
        }
    }

    fn functions(&self) -> &[Function] {
        self.functions.get_or_init(|| {
            let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(file) = unread.take().map(ReadCache::new) else {
                return Vec::new();
            };
            let mut functions = read_functions(&file);
            if let Some(stripped) = self.debug_file() {
                functions.append(&mut read_functions(&ReadCache::new(stripped)));
            }
            sort_functions(&mut functions);
            functions
        })
    }

    /// The file with the symbols that were stripped from this one, if it is installed.
    fn debug_file(&self) -> Option<File> {
        let id = self.build_id();
        let (folder, name) = id.split_at_checked(2)?;
        let file = File::open(format!("{DEBUG_FILES}/{folder}/{name}.debug")).ok()?;
        let about = file.metadata().ok()?;
        (about.is_file() && about.len() <= FILE_MOST).then_some(file)
    }
}

/// The bytes of a section that may be compressed.
fn decompress(section: CompressedData<'_>) -> Option<Bytes> {
    match section.format {
        CompressionFormat::None => Some(section.data.into()),
        CompressionFormat::Zlib if section.uncompressed_size <= TABLES_MOST => {
            let mut bytes = vec![0; section.uncompressed_size as usize];
            let settings = zlib_rs::InflateConfig::default();
            let (made, ending) = zlib_rs::decompress_slice(&mut bytes, section.data, settings);
            let whole = made.len() as u64 == section.uncompressed_size;
            (ending == zlib_rs::ReturnCode::Ok && whole).then(|| bytes.into())
        }
        _ => None,
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

/// The functions among a file's symbols, in their order.
fn read_functions<'data>(data: impl ReadRef<'data>) -> Vec<Function> {
    let Ok(file) = object::File::parse(data) else {
        return Vec::new();
    };
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let functions = symbols.filter_map(|symbol| {
        let is_function = symbol.kind() == SymbolKind::Text && symbol.size() > 0;
        let end = symbol.address().checked_add(symbol.size())?;
        let name = symbol.name_bytes().ok().filter(|_| is_function)?;
        Some(Function {
            range: symbol.address()..end,
            name: name.to_vec(),
            in_source: OnceLock::new(),
        })
    });
    functions.collect()
}

/// Sorts functions by where they begin; of several that begin together the one whose name is plainest stays.
fn sort_functions(functions: &mut Vec<Function>) {
    let plain = |name: &[u8]| {
        let underscores = name.iter().take_while(|byte| **byte == b'_').count();
        (underscores, name.len())
    };
    functions.sort_by(|one, other| {
        let keys = |it: &Function| (it.range.start, plain(&it.name));
        keys(one).cmp(&keys(other)).then(one.name.cmp(&other.name))
    });
    functions.dedup_by_key(|function| function.range.start);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_begins_within_a_page_is_found_by_the_page() {
        let load = |offset, address| Load { offset, address };
        let image = Image {
            loads: vec![
                load(0x16930..0x50000, 0x17930),
                load(0x50000..0x51000, 0x90000),
            ],
            text: None,
            got: None,
            frames: None,
            index: None,
            debug_frame: None,
            build_id: Vec::new(),
            functions: OnceLock::new(),
            unread: Mutex::new(None),
        };
        let found = [0x16000, 0x17000, 0x50000, 0x51000].map(|offset| image.address_at(offset));
        assert_eq!(found, [Some(0x17000), Some(0x18000), Some(0x90000), None]);
    }

    #[test]
    fn what_is_no_program_has_no_functions() {
        assert!(Image::parse_bytes(b"nonsense").is_none());
        assert!(Image::parse_bytes(b"").is_none());
    }
}
