//! Lines of `/proc/PID/maps`: which part of which file is mapped where.

use std::{io, ops::Range, sync::Arc};

/// A part of a process's memory, and the file that is mapped there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedFile {
    /// Its addresses.
    pub range: Range<u64>,
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// Device and inode of the file; inode 0 is memory without a file.
    pub file: (u32, u32, u64),
    /// Path of the file, or the kernel's name of the memory, such as `[vdso]`; empty where it has none.
    pub path: Arc<[u8]>,
}

impl MappedFile {
    /// What of a process's memory can be executed.
    ///
    /// # Errors
    /// The process has ended, or isn't this user's.
    pub fn all_executable(pid: i32) -> io::Result<Vec<Self>> {
        let maps = std::fs::read(format!("/proc/{pid}/maps"))?;
        let lines = maps.split(|byte| *byte == b'\n').filter_map(Self::parse);
        let executable = lines.filter(|(executable, _)| *executable);
        Ok(executable.map(|(_, mapped)| mapped).collect())
    }

    /// A line of the map, and whether what is mapped can be executed.
    fn parse(line: &[u8]) -> Option<(bool, Self)> {
        fn hex<T>(text: &[u8], parse: impl FnOnce(&str, u32) -> Option<T>) -> Option<T> {
            parse(std::str::from_utf8(text).ok()?, 16)
        }
        let long = |text| hex(text, |text, radix| u64::from_str_radix(text, radix).ok());
        let short = |text| hex(text, |text, radix| u32::from_str_radix(text, radix).ok());
        let mut words = line.splitn(6, |byte| *byte == b' ');
        let mut range = words.next()?.splitn(2, |byte| *byte == b'-');
        let (start, end) = (long(range.next()?)?, long(range.next()?)?);
        let modes = words.next()?;
        let offset = long(words.next()?)?;
        let mut device = words.next()?.splitn(2, |byte| *byte == b':');
        let (major, minor) = (short(device.next()?)?, short(device.next()?)?);
        let inode = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let mapped = Self {
            range: start..end,
            offset,
            file: (major, minor, inode),
            path: words.next().unwrap_or_default().trim_ascii_start().into(),
        };
        Some((modes.get(2) == Some(&b'x'), mapped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_map_is_read_with_any_path() {
        let line = b"7f00-7f10 r-xp 00001000 08:1f 77        /a b/c (deleted)";
        let (executable, mapped) = MappedFile::parse(line).unwrap();
        assert_eq!((mapped.range, executable), (0x7f00..0x7f10, true));
        assert_eq!((mapped.offset, mapped.file), (0x1000, (8, 0x1f, 77)));
        assert_eq!(&mapped.path[..], b"/a b/c (deleted)");
        let (executable, nameless) = MappedFile::parse(b"1-2 rw-p 00000000 00:00 0 ").unwrap();
        assert_eq!((executable, &nameless.path[..]), (false, &b""[..]));
        assert!(MappedFile::parse(b"").is_none());
        assert!(MappedFile::parse(b"1-x r-xp 0 00:00 0 a").is_none());
    }
}
