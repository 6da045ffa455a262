//! The ring that the kernel writes one processor's records to, read in place.

#![allow(unsafe_code, reason = "the ring is memory shared with the kernel")]

use std::{
    ffi::c_void,
    io,
    os::fd::OwnedFd,
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    mm::{MapFlags, ProtFlags, mmap, munmap},
    param::page_size,
};

/// Offsets in the first page, `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;
/// Bytes of `struct perf_event_header`: type, flags, size.
pub(crate) const RECORD_HEAD: usize = 8;

/// A ring with its event.
#[derive(Debug)]
pub(crate) struct Ring {
    pub event: OwnedFd,
    start: *mut c_void,
    /// Bytes of the ring itself, a power of two.
    length: usize,
    /// Position of the next record.
    tail: u64,
    /// Position behind the last record that is known to be whole.
    head: u64,
    /// A record that goes over the ring's end, in one piece.
    joined: Vec<u8>,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring of an event: `length` is a power of two of at least a page.
    pub fn new(event: OwnedFd, length: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                page_size() + length,
                protection,
                MapFlags::SHARED,
                &event,
                0,
            )
        }?;
        Ok(Self {
            event,
            start,
            length,
            tail: 0,
            head: 0,
            joined: Vec::new(),
        })
    }

    /// Learns how far the kernel has written.
    pub fn update(&mut self) {
        self.head = self.word(HEAD).load(Ordering::Acquire);
    }

    /// The next record, with its head; none where none is whole.
    pub fn record(&mut self) -> Option<&[u8]> {
        let left = self.head.wrapping_sub(self.tail);
        if left < RECORD_HEAD as u64 {
            return None;
        }
        // Records are multiples of eight bytes: a head is never in two parts.
        let at = (self.tail % self.length as u64) as usize;
        let head = self.bytes(at, RECORD_HEAD);
        let size = usize::from(u16::from_ne_bytes([head[6], head[7]]));
        if size < RECORD_HEAD || size as u64 > left {
            return None;
        }
        if at + size <= self.length {
            return Some(self.bytes(at, size));
        }
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.extend_from_slice(self.bytes(at, self.length - at));
        joined.extend_from_slice(self.bytes(0, size - (self.length - at)));
        self.joined = joined;
        Some(&self.joined)
    }

    /// Goes on behind a record of this size.
    pub fn skip(&mut self, size: usize) {
        self.tail = self.tail.wrapping_add(size as u64);
    }

    /// Gives back the room of the records that were read.
    pub fn release(&self) {
        self.word(TAIL).store(self.tail, Ordering::Release);
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: it lies within the first page, which lives as long as `self`, and is aligned.
        unsafe { &*self.start.cast::<u8>().add(at).cast() }
    }

    fn bytes(&self, at: usize, length: usize) -> &[u8] {
        assert!(at + length <= self.length);
        // SAFETY: they lie within the mapping, between tail and head, where the kernel doesn't write until the tail moves.
        unsafe {
            let data = self.start.cast::<u8>().add(page_size());
            std::slice::from_raw_parts(data.add(at), length)
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever borrowed from it is gone.
        let _ = unsafe { munmap(self.start, page_size() + self.length) };
    }
}
