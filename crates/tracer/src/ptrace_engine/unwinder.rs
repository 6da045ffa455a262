//! Stacks of stopped threads: what is mapped in their processes, and their memory in pages.

use std::collections::HashMap;

use backsight_stack_unwinder::{AddressSpace, ImageCache, MappedFile, StackEnd, UnwoundFrame};
use backsight_syscall_decode::StackFrame;
use backsight_syscall_decode::memory::{MemoryRequest, ReadExtent};

use super::page_cache::PageCache;
use crate::ptrace::requests::{self, Tid};

/// What is known of the memory of every process that was asked about.
#[derive(Default)]
pub struct StackUnwinder {
    spaces: HashMap<i32, AddressSpace>,
    images: ImageCache,
}

impl StackUnwinder {
    /// The program of a process isn't what it was, or what is mapped there.
    pub fn forget(&mut self, pid: i32) {
        self.spaces.remove(&pid);
    }

    /// The functions that a stopped thread is in, the innermost first.
    pub fn unwind(&mut self, pid: i32, tid: Tid, pages: &mut PageCache) -> Vec<StackFrame> {
        let Ok(Some(registers)) = requests::unwind_start(tid) else {
            return Vec::new();
        };
        pages.forget();
        let mut known = true;
        loop {
            if !self.spaces.contains_key(&pid) {
                let space = self.read_space(pid, tid, pages);
                self.spaces.insert(pid, space);
                known = false;
            }
            let space = self.spaces.entry(pid).or_default();
            let mut frames = Vec::new();
            let end = space.unwind(
                registers,
                &mut |address| read_word(pages, tid, address).ok_or(()),
                &mut |frame| frames.push(named(&frame)),
            );
            if end != StackEnd::Unmapped || !known {
                return frames;
            }
            // Something was mapped by a call that wasn't seen.
            self.forget(pid);
        }
    }

    fn read_space(&mut self, pid: i32, tid: Tid, pages: &mut PageCache) -> AddressSpace {
        let mut space = AddressSpace::default();
        for mapped in MappedFile::all_executable(pid).unwrap_or_default() {
            let image = self.images.load(pid, &mapped, |address, length| {
                let extent = ReadExtent::Bytes(length);
                pages.read(tid, MemoryRequest { address, extent })
            });
            space.map(mapped, image);
        }
        space
    }
}

fn named(frame: &UnwoundFrame<'_>) -> StackFrame {
    let mapping = frame.mapping;
    let function = mapping.image.as_ref().and_then(|image| {
        let function = image.function(mapping.own_address(frame.within))?;
        let into = mapping.own_address(frame.address);
        let into = into.wrapping_sub(function.range.start);
        Some((function.name().to_vec(), into))
    });
    StackFrame {
        file: mapping.mapped.path.to_vec(),
        function,
        offset: mapping.file_offset(frame.address),
    }
}

/// A word of a stopped thread's memory.
fn read_word(pages: &mut PageCache, tid: Tid, address: u64) -> Option<u64> {
    let extent = ReadExtent::Bytes(8);
    let bytes = pages.read(tid, MemoryRequest { address, extent });
    <[u8; 8]>::try_from(bytes.as_slice())
        .ok()
        .map(u64::from_ne_bytes)
}
