//! The ring buffer that the programs write to, read in place without waiting.
//!
//! Room is given back in steps, not record by record: every traced thread reads the position that says so, and each change of it
//! takes the cache line away from them.

#![allow(unsafe_code, reason = "the ring is memory shared with the kernel")]

use std::ffi::c_void;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
const RECORD_HEAD: usize = 8;

/// A stretch of memory shared with the kernel, given back at the end.
#[derive(Debug)]
pub(super) struct SharedMemory {
    start: *mut c_void,
    length: usize,
}

// SAFETY: the memory is only read and written through atomics, or read where the kernel has finished writing.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Maps a map of the kernel's.
    pub fn new(
        map: BorrowedFd<'_>,
        offset: u64,
        length: usize,
        writable: bool,
    ) -> rustix::io::Result<Self> {
        let protection = if writable {
            ProtFlags::READ | ProtFlags::WRITE
        } else {
            ProtFlags::READ
        };
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                protection,
                MapFlags::SHARED,
                map,
                offset,
            )
        }?;
        Ok(Self { start, length })
    }

    /// A word that the kernel writes too.
    pub fn u64(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.length);
        // SAFETY: it lies within the mapping, which lives as long as `self`, and is aligned.
        unsafe { &*self.start.cast::<u8>().add(at).cast() }
    }

    /// Half a word that the kernel writes too.
    pub fn u32(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.length);
        // SAFETY: it lies within the mapping, which lives as long as `self`, and is aligned.
        unsafe { &*self.start.cast::<u8>().add(at).cast() }
    }

    /// Bytes that the kernel has finished writing.
    ///
    /// # Safety
    ///
    /// Nobody may write to them as long as they are borrowed.
    unsafe fn bytes(&self, at: usize, length: usize) -> &[u8] {
        assert!(at + length <= self.length);
        // SAFETY: they lie within the mapping; that nobody writes is the caller's promise.
        unsafe { std::slice::from_raw_parts(self.start.cast::<u8>().add(at), length) }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever borrowed from it is gone.
        let _ = unsafe { munmap(self.start, self.length) };
    }
}

/// How full the ring is.
#[derive(Debug, Clone)]
pub(super) struct RingBuffer {
    consumer: Arc<SharedMemory>,
    producer: Arc<SharedMemory>,
}

impl RingBuffer {
    /// Bytes that wait.
    pub fn waiting(&self) -> u64 {
        let taken = self.consumer.u64(0).load(Ordering::Acquire);
        self.producer
            .u64(0)
            .load(Ordering::Acquire)
            .saturating_sub(taken)
    }
}

/// The ring.
#[derive(Debug)]
pub(super) struct Ring {
    consumer: Arc<SharedMemory>,
    /// The producers' position, then the ring twice in a row, so that no record is broken.
    producer: Arc<SharedMemory>,
    page: usize,
    size: u64,
    position: u64,
}

impl Ring {
    /// Maps the ring of so many bytes, a power of two.
    pub fn new(map: BorrowedFd<'_>, size: u32) -> rustix::io::Result<Self> {
        let page = rustix::param::page_size();
        let consumer = SharedMemory::new(map, 0, page, true)?;
        let producer = SharedMemory::new(map, page as u64, page + 2 * size as usize, false)?;
        let position = consumer.u64(0).load(Ordering::Acquire);
        Ok(Self {
            consumer: Arc::new(consumer),
            producer: Arc::new(producer),
            page,
            size: u64::from(size),
            position,
        })
    }

    /// How full it is, for another thread to see.
    pub fn gauge(&self) -> RingBuffer {
        RingBuffer {
            consumer: Arc::clone(&self.consumer),
            producer: Arc::clone(&self.producer),
        }
    }

    /// Gives every record that waits to `each`, and calls `freed` each time that room was given back. Says how many there
    /// were. Ends after a ring's worth, so that whoever calls comes to other things too.
    pub fn drain(&mut self, mut each: impl FnMut(&[u8]), mut freed: impl FnMut()) -> u64 {
        let end = self.position + self.size;
        let step = (self.size / 16).min(32 << 10);
        let mut given_back = self.position;
        let mut number = 0;
        while self.position < end && self.position < self.producer.u64(0).load(Ordering::Acquire) {
            let at = self.page + (self.position & (self.size - 1)) as usize;
            let word = self.producer.u32(at).load(Ordering::Acquire);
            if word & BUSY != 0 {
                break;
            }
            let length = (word & !DISCARDED) as usize;
            if word & DISCARDED == 0 {
                // SAFETY: the record is finished, and its room isn't given back before `each` is done with it.
                each(unsafe { self.producer.bytes(at + RECORD_HEAD, length) });
                number += 1;
            }
            self.position += (RECORD_HEAD + length).next_multiple_of(8) as u64;
            if self.position - given_back >= step {
                given_back = self.position;
                self.give_back(&mut freed);
            }
        }
        if self.position != given_back {
            self.give_back(&mut freed);
        }
        number
    }

    fn give_back(&self, freed: &mut impl FnMut()) {
        self.consumer.u64(0).store(self.position, Ordering::Release);
        freed();
    }
}
