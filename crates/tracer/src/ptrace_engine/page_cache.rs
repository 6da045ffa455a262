//! Memory of a stopped thread, read in pages, each page once a stop. It reads what the program itself could read.

use backsight_syscall_decode::memory::{MemoryRequest, ReadExtent};
use nix::errno::Errno;

use crate::captured_descriptors::describe_anonymous_file;
use crate::ptrace::requests::{Tid, peek, read_pages};

/// As small as pages are anywhere that this runs: a piece of a larger page is still in one page.
const PAGE: usize = 4096;
/// Most of one piece, whatever is asked for.
const MOST: usize = 16 << 20;
/// Most pages in one reading, of the 1024 that the kernel takes.
const AT_ONCE: usize = 64;

struct Page {
    number: u64,
    readable: bool,
    bytes: Box<[u8; PAGE]>,
}

/// Pages of one stopped thread.
#[derive(Default)]
pub struct PageCache {
    pages: Vec<Page>,
    /// How many of them hold what belongs to this stop; the others are only kept for their space.
    used: usize,
    readings: u64,
}

impl PageCache {
    /// Forgets everything: the thread went on, or it is another's turn.
    pub fn forget(&mut self) {
        self.used = 0;
        // A buffer of megabytes isn't kept for the sake of one call.
        self.pages.truncate(AT_ONCE);
    }

    /// What is there, as far as it can be read.
    pub fn read(&mut self, tid: Tid, want: MemoryRequest) -> Vec<u8> {
        match want.extent {
            ReadExtent::Bytes(most) => self.bytes(tid, want.address, most.min(MOST)),
            ReadExtent::Text(most) => self.text(tid, want.address, most.min(MOST)),
            ReadExtent::Descriptor(fd) => describe_anonymous_file(tid, fd),
        }
    }

    fn bytes(&mut self, tid: Tid, address: u64, most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < most {
            let rest = most - bytes.len();
            let Some(stretch) = self.stretch(tid, address, bytes.len(), rest) else {
                break;
            };
            bytes.extend_from_slice(stretch);
        }
        bytes
    }

    fn text(&mut self, tid: Tid, address: u64, most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < most {
            // One page after the other: most texts end in their first.
            let rest = (most - bytes.len()).min(PAGE);
            let Some(stretch) = self.stretch(tid, address, bytes.len(), rest) else {
                break;
            };
            if let Some(end) = stretch.iter().position(|byte| *byte == 0) {
                bytes.extend_from_slice(&stretch[..=end]);
                break;
            }
            bytes.extend_from_slice(stretch);
        }
        bytes
    }

    /// What is in one page from an address on, so many bytes after it; nothing if the page can't be read.
    fn stretch(&mut self, tid: Tid, address: u64, after: usize, most: usize) -> Option<&[u8]> {
        let address = address.checked_add(after as u64)?;
        let (number, offset) = (address / PAGE as u64, (address % PAGE as u64) as usize);
        let end = (offset + most).min(PAGE);
        let index = match self.find(number) {
            Some(index) => index,
            None => {
                self.load(tid, number, (offset + most).div_ceil(PAGE).min(AT_ONCE));
                self.find(number)?
            }
        };
        let page = &self.pages[index];
        page.readable.then(|| &page.bytes[offset..end])
    }

    fn find(&self, number: u64) -> Option<usize> {
        self.pages[..self.used]
            .iter()
            .position(|page| page.number == number)
    }

    /// Reads so many pages from one on in one go, those before the first that can't be read; that one is known not to be.
    fn load(&mut self, tid: Tid, number: u64, count: usize) {
        while self.pages.len() < self.used + count {
            self.pages.push(Page {
                number: 0,
                readable: false,
                bytes: Box::new([0; PAGE]),
            });
        }
        let fresh = &mut self.pages[self.used..self.used + count];
        for (page, number) in fresh.iter_mut().zip(number..) {
            page.number = number;
        }
        self.readings += 1;
        let mut places: Vec<(u64, &mut [u8])> = fresh
            .iter_mut()
            .map(|page| (page.number.wrapping_mul(PAGE as u64), &mut page.bytes[..]))
            .collect();
        let read = read_pages(tid, &mut places);
        let whole = match read {
            Ok(bytes) => bytes / PAGE,
            // Of a process that isn't to be dumped, and where there is no such call, as behind some filters of containers.
            Err(Errno::EPERM | Errno::ENOSYS) => {
                let mut places = places.iter_mut();
                let unreadable = places.position(|(address, page)| !peek(tid, *address, page));
                unreadable.unwrap_or(count)
            }
            Err(_) => 0,
        };
        for (index, page) in fresh.iter_mut().enumerate() {
            page.readable = index < whole;
        }
        // What is behind an unreadable page wasn't tried.
        self.used += count.min(whole + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::num::NonZeroUsize;

    fn own(pages: &mut PageCache, address: u64, extent: ReadExtent) -> Vec<u8> {
        pages.read(
            std::process::id().cast_signed(),
            MemoryRequest { address, extent },
        )
    }

    #[test]
    fn a_page_is_read_once_a_stop() {
        let text = c"one two three".to_bytes_with_nul();
        let address = text.as_ptr() as u64;
        let mut pages = PageCache::default();
        assert_eq!(own(&mut pages, address, ReadExtent::Text(4096)), text);
        let readings = pages.readings;
        assert_eq!(own(&mut pages, address, ReadExtent::Bytes(3)), b"one");
        assert_eq!(own(&mut pages, address, ReadExtent::Text(5)), b"one t");
        assert_eq!(pages.readings, readings);
        pages.forget();
        assert_eq!(own(&mut pages, address, ReadExtent::Text(4)), b"one ");
        assert!(pages.readings > readings);
    }

    /// Two pages that can be read and one behind them that can't.
    fn two_pages() -> *mut u8 {
        use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect};
        let all = NonZeroUsize::new(3 * PAGE).unwrap();
        let flags = MapFlags::MAP_PRIVATE;
        let prot = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: new memory, that nobody else has; it stays until the test ends.
        unsafe {
            let place = mmap_anonymous(None, all, prot, flags).unwrap();
            mprotect(place.add(2 * PAGE), PAGE, ProtFlags::PROT_NONE).unwrap();
            place.as_ptr().cast()
        }
    }

    #[test]
    fn reading_ends_where_memory_does() {
        let place = two_pages();
        // SAFETY: the two pages are ours.
        unsafe { std::ptr::write_bytes(place, b'x', 2 * PAGE) };
        let at = place as u64;
        let mut pages = PageCache::default();
        let end = at + 2 * PAGE as u64;
        assert_eq!(own(&mut pages, end - 3, ReadExtent::Text(100)), b"xxx");
        assert_eq!(own(&mut pages, end - 3, ReadExtent::Bytes(100)), b"xxx");
        assert_eq!(own(&mut pages, end, ReadExtent::Bytes(1)), b"");
        assert_eq!(
            own(&mut pages, at, ReadExtent::Bytes(3 * PAGE)).len(),
            2 * PAGE
        );
        assert_eq!(own(&mut pages, 0, ReadExtent::Text(10)), b"");
        assert_eq!(own(&mut pages, u64::MAX, ReadExtent::Text(10)), b"");
        assert_eq!(
            own(&mut pages, u64::MAX - 4096, ReadExtent::Bytes(usize::MAX)),
            b""
        );
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_is_there(
            wants in proptest::collection::vec((0_usize..2 * PAGE, 0_usize..3 * PAGE, any::<bool>()), 1..8),
            zeros in proptest::collection::vec(0_usize..2 * PAGE, 0..6),
        ) {
            let place = two_pages();
            // SAFETY: the two pages are ours.
            let bytes = unsafe { std::slice::from_raw_parts_mut(place, 2 * PAGE) };
            for (index, byte) in bytes.iter_mut().enumerate() {
                *byte = (index % 251) as u8 | 1;
            }
            for zero in zeros {
                bytes[zero] = 0;
            }
            let mut pages = PageCache::default();
            for (offset, most, text) in wants {
                let rest = &bytes[offset..];
                let mut expected = &rest[..most.min(rest.len())];
                let extent = if text { ReadExtent::Text(most) } else { ReadExtent::Bytes(most) };
                if let Some(end) = expected.iter().position(|byte| *byte == 0).filter(|_| text) {
                    expected = &expected[..=end];
                }
                prop_assert_eq!(own(&mut pages, place as u64 + offset as u64, extent), expected);
            }
        }
    }
}
