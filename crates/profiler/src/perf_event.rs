//! perf_event_open(2): the kernel's structure of what is to be sampled, and opening it on a processor.

#![allow(
    unsafe_code,
    reason = "system calls that no library here has a function for"
)]

use std::{
    io,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
};

/// Bits of `sample_type`: what a sample holds, in this order.
pub(crate) mod sample {
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const CPU: u64 = 1 << 7;
    pub const RAW: u64 = 1 << 10;
    pub const REGS_USER: u64 = 1 << 12;
    pub const STACK_USER: u64 = 1 << 13;
}

/// Bits of `flags`, the structure's bit field.
pub(crate) mod flag {
    pub const DISABLED: u64 = 1 << 0;
    pub const EXCLUDE_IDLE: u64 = 1 << 7;
    pub const MMAP: u64 = 1 << 8;
    pub const COMM: u64 = 1 << 9;
    pub const FREQUENCY: u64 = 1 << 10;
    pub const TASK: u64 = 1 << 13;
    pub const WATERMARK: u64 = 1 << 14;
    pub const SAMPLE_ID_ALL: u64 = 1 << 18;
    pub const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
    pub const MMAP2: u64 = 1 << 23;
    pub const COMM_EXEC: u64 = 1 << 24;
    pub const USE_CLOCKID: u64 = 1 << 25;
    pub const CONTEXT_SWITCH: u64 = 1 << 26;
}

/// `perf_event_attr.type`.
pub(crate) mod kind {
    pub const HARDWARE: u32 = 0;
    pub const SOFTWARE: u32 = 1;
    pub const TRACEPOINT: u32 = 2;
}

/// Registers that are sampled of programs: what it takes to unwind a stack, in the kernel's order.
#[cfg(target_arch = "x86_64")]
pub(crate) const SAMPLED_REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;
#[cfg(target_arch = "aarch64")]
pub(crate) const SAMPLED_REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;

/// `struct perf_event_attr` as far as Linux 4.3 has it.
#[repr(C)]
#[derive(Debug, Clone, Default)]
pub(crate) struct EventAttributes {
    pub kind: u32,
    pub size: u32,
    pub config: u64,
    /// Samples a second with [`flag::FREQUENCY`], else events between two samples.
    pub period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    /// Bytes in the ring at which its reader is woken.
    pub wakeup_watermark: u32,
    pub breakpoint_type: u32,
    pub config1: u64,
    pub config2: u64,
    pub branch_sample_type: u64,
    pub sample_regs_user: u64,
    pub sample_stack_user: u32,
    pub clock: i32,
    pub sample_regs_intr: u64,
    pub aux_watermark: u32,
    pub sample_max_stack: u16,
    pub reserved: u16,
}

impl EventAttributes {
    /// Opens the event on a processor, for whatever runs there.
    pub fn open(&self, cpu: u32) -> io::Result<OwnedFd> {
        const EVERY_PROCESS: i32 = -1;
        const NO_GROUP: i32 = -1;
        const CLOSE_ON_EXEC: u64 = 8;
        let mut attributes = self.clone();
        attributes.size = size_of::<Self>() as u32;
        // SAFETY: the structure has the size that it says, and lives until the call is over.
        let opened = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                EVERY_PROCESS,
                cpu,
                NO_GROUP,
                CLOSE_ON_EXEC,
            )
        };
        if opened < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel made this descriptor just now, for nobody else.
        Ok(unsafe { OwnedFd::from_raw_fd(opened as i32) })
    }
}

/// Lets an event count.
pub(crate) fn enable(event: &OwnedFd) -> io::Result<()> {
    const ENABLE: u64 = 0x2400;
    request(event, ENABLE)
}

/// Ends an event's counting.
pub(crate) fn disable(event: &OwnedFd) -> io::Result<()> {
    const DISABLE: u64 = 0x2401;
    request(event, DISABLE)
}

fn request(event: &OwnedFd, request: u64) -> io::Result<()> {
    // SAFETY: these requests take a number.
    match unsafe { libc::ioctl(event.as_raw_fd(), request as _, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Processors that run, as numbers.
pub(crate) fn online_processors() -> io::Result<Vec<u32>> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    parse_processors(list.trim()).ok_or_else(|| io::Error::other("no list of processors"))
}

fn parse_processors(list: &str) -> Option<Vec<u32>> {
    let mut processors = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        processors.extend(first..=last);
    }
    Some(processors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_size_of_a_version_that_the_kernel_knows() {
        assert_eq!(size_of::<EventAttributes>(), 112);
    }

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(parse_processors("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse_processors("0"), Some(vec![0]));
        assert_eq!(parse_processors("x"), None);
    }
}
