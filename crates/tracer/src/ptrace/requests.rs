//! Requests of ptrace(2), waits, and reads of a tracee's memory: each once, with plain types, without decisions.

use backsight_stack_unwinder::Registers;
use backsight_syscall_decode::Abi;
use nix::errno::Errno;
use nix::libc;

/// A number of a thread, as the kernel has it.
pub type Tid = i32;

type PtraceResult<T> = Result<T, Errno>;

const SYSCALL: u32 = 24;
const CONT: u32 = 7;
const DETACH: u32 = 17;
const GETEVENTMSG: u32 = 0x4201;
const GETSIGINFO: u32 = 0x4202;
const SEIZE: u32 = 0x4206;
const INTERRUPT: u32 = 0x4207;
const LISTEN: u32 = 0x4208;
const GET_SYSCALL_INFO: u32 = 0x420e;

/// What a tracee is told about, and what becomes of it when the tracer dies.
pub mod option {
    /// Stops at calls can be told from signals.
    pub const CALLS_MARKED: usize = 1;
    /// Children by `fork`, `vfork` and `clone` are traced, and the parent stops there.
    pub const CHILDREN: usize = 2 | 4 | 8;
    /// A stop at `execve`.
    pub const EXEC: usize = 0x10;
    /// A stop where a seccomp filter asks for one.
    pub const FILTER: usize = 0x80;
    /// Dies with the tracer.
    pub const DIES_WITH_US: usize = 0x10_0000;
}

/// How a stopped thread goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeMode {
    /// To its next call, or out of the one that it is in.
    ToCall,
    /// Without stopping at calls.
    On,
}

/// Asks for something that takes no memory of ours.
fn ask(request: u32, tid: Tid, address: usize, number: usize) -> PtraceResult<()> {
    // SAFETY: these requests take numbers, not addresses of ours.
    let done = unsafe { libc::ptrace(request as _, tid, address, number) };
    Errno::result(done).map(drop)
}

/// Begins to trace a thread without stopping it.
pub fn seize(tid: Tid, options: usize) -> PtraceResult<()> {
    ask(SEIZE, tid, 0, options)
}

/// Makes a thread stop.
pub fn interrupt(tid: Tid) -> PtraceResult<()> {
    ask(INTERRUPT, tid, 0, 0)
}

/// Leaves a thread stopped by job control, and hears of what happens to it.
pub fn listen(tid: Tid) -> PtraceResult<()> {
    ask(LISTEN, tid, 0, 0)
}

/// Lets a stopped thread go on, with a signal if not 0.
pub fn resume(tid: Tid, how: ResumeMode, signal: i32) -> PtraceResult<()> {
    let request = match how {
        ResumeMode::ToCall => SYSCALL,
        ResumeMode::On => CONT,
    };
    ask(request, tid, 0, signal as usize)
}

/// Ends tracing of a stopped thread, which goes on with a signal if not 0.
pub fn detach(tid: Tid, signal: i32) -> PtraceResult<()> {
    ask(DETACH, tid, 0, signal as usize)
}

/// What belongs to the event that a thread stopped for.
pub fn event_message(tid: Tid) -> PtraceResult<u64> {
    let mut message: u64 = 0;
    // SAFETY: the kernel writes one long there.
    let done = unsafe { libc::ptrace(GETEVENTMSG as _, tid, 0_usize, &raw mut message) };
    Errno::result(done).map(|_| message)
}

/// The `siginfo` of the signal that a thread stopped for, as it lies in memory.
pub fn signal_info(tid: Tid) -> PtraceResult<Vec<u8>> {
    let mut info = vec![0_u8; size_of::<libc::siginfo_t>()];
    // SAFETY: the kernel writes one siginfo there, which is as large.
    let done = unsafe { libc::ptrace(GETSIGINFO as _, tid, 0_usize, info.as_mut_ptr()) };
    Errno::result(done).map(|_| info)
}

/// Where a thread stands in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyscallStop {
    /// At the entry.
    Entry(SyscallEntry),
    /// At the end: the result's register.
    Exit(i64),
    /// In none.
    Nowhere,
}

/// A call that is about to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyscallEntry {
    /// How it is made; nothing if that isn't known here.
    pub abi: Option<Abi>,
    /// Its number.
    pub number: u64,
    /// Its arguments.
    pub arguments: [u64; 6],
    /// Where in the program it is made.
    pub instruction: u64,
    /// Where the program's stack ends.
    pub stack: u64,
}

#[repr(C)]
#[derive(Default)]
struct CallInfo {
    op: u8,
    pad: [u8; 3],
    arch: u32,
    instruction: u64,
    stack: u64,
    words: [u64; 9],
}

/// Where a stopped thread stands; nothing of one that isn't in a program of this machine's own kind.
pub fn unwind_start(tid: Tid) -> PtraceResult<Option<Registers>> {
    let mut registers: General = [0; _];
    if register_set(GETREGSET, tid, GENERAL, &mut registers)? != size_of::<General>() {
        return Ok(None);
    }
    #[cfg(target_arch = "x86_64")]
    let place = Registers {
        instruction: registers[16],
        stack: registers[19],
        frame: registers[4],
    };
    #[cfg(target_arch = "aarch64")]
    let place = Registers {
        instruction: registers[32],
        stack: registers[31],
        frame: registers[29],
        link: registers[30],
    };
    Ok(Some(place))
}

const GETREGSET: u32 = 0x4204;
const GENERAL: usize = 1;
/// `user_regs_struct`.
#[cfg(target_arch = "x86_64")]
type General = [u64; 27];
/// x0 to x30, stack pointer, program counter, processor state.
#[cfg(target_arch = "aarch64")]
type General = [u64; 34];

/// Reads or writes a set of registers; how many bytes of it there are.
fn register_set<T>(request: u32, tid: Tid, kind: usize, registers: &mut T) -> PtraceResult<usize> {
    let mut vector = libc::iovec {
        iov_base: std::ptr::from_mut(registers).cast(),
        iov_len: size_of::<T>(),
    };
    // SAFETY: the vector names the registers, which are borrowed for writing until the request is done.
    let done = unsafe { libc::ptrace(request as _, tid, kind, &raw mut vector) };
    Errno::result(done).map(|_| vector.iov_len)
}

/// Where a stopped thread stands in its program: the next instruction.
pub fn instruction(tid: Tid) -> PtraceResult<u64> {
    ask_info(tid).map(|info| info.instruction)
}

fn ask_info(tid: Tid) -> PtraceResult<CallInfo> {
    let mut info = CallInfo::default();
    let size = size_of::<CallInfo>();
    // SAFETY: the kernel writes no more than `size` bytes there, and any bytes are such a structure.
    let done = unsafe { libc::ptrace(GET_SYSCALL_INFO as _, tid, size, &raw mut info) };
    Errno::result(done).map(|_| info)
}

/// Where a stopped thread stands in a call.
pub fn call_info(tid: Tid) -> PtraceResult<SyscallStop> {
    const ENTRY: u8 = 1;
    const EXIT: u8 = 2;
    const FILTERED: u8 = 3;
    let info = ask_info(tid)?;
    let words = &info.words;
    Ok(match info.op {
        ENTRY | FILTERED => SyscallStop::Entry(SyscallEntry {
            abi: abi(info.arch),
            number: words[0],
            arguments: [words[1], words[2], words[3], words[4], words[5], words[6]],
            instruction: info.instruction,
            stack: info.stack,
        }),
        EXIT => SyscallStop::Exit(words[0].cast_signed()),
        _ => SyscallStop::Nowhere,
    })
}

/// `AUDIT_ARCH_…` of the ways of calling.
pub const ARCHITECTURES: [(Abi, u32); 3] = [
    (Abi::X86_64, 0xc000_003e),
    (Abi::I386, 0x4000_0003),
    (Abi::Aarch64, 0xc000_00b7),
];

fn abi(arch: u32) -> Option<Abi> {
    ARCHITECTURES
        .iter()
        .find(|(_, known)| *known == arch)
        .map(|(abi, _)| *abi)
}

/// Whom to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitTarget {
    /// Any tracee or child of this thread.
    Any,
    /// This one.
    One(Tid),
}

impl WaitTarget {
    fn number(self) -> Tid {
        match self {
            Self::Any => -1,
            Self::One(tid) => tid,
        }
    }
}

/// Waits for something to happen; nothing if it shouldn't block and nothing has.
pub fn wait(who: WaitTarget, block: bool) -> PtraceResult<Option<(Tid, i32)>> {
    let mut status = 0;
    // SAFETY: the kernel writes one status there.
    let tid = unsafe { libc::waitpid(who.number(), &raw mut status, how(block)) };
    Ok(Some((Errno::result(tid)?, status)).filter(|(tid, _)| *tid != 0))
}

/// Like [`wait`], and says how many nanoseconds the kernel worked for its process so far.
pub fn wait_with_work(who: WaitTarget, block: bool) -> PtraceResult<Option<(Tid, i32, u64)>> {
    let mut status = 0;
    // SAFETY: numbers alone, for which any bits are right.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one status and one usage there.
    let tid = unsafe { libc::wait4(who.number(), &raw mut status, how(block), &raw mut usage) };
    let system = usage.ru_stime;
    let worked =
        system.tv_sec.cast_unsigned() * 1_000_000_000 + system.tv_usec.cast_unsigned() * 1000;
    Ok(Some((Errno::result(tid)?, status, worked)).filter(|(tid, ..)| *tid != 0))
}

fn how(block: bool) -> i32 {
    libc::__WALL | libc::__WNOTHREAD | if block { 0 } else { libc::WNOHANG }
}

/// Waits for something to happen to one tracee.
pub fn wait_for(tid: Tid) -> PtraceResult<i32> {
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes one status there.
        let waited = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL) };
        match Errno::result(waited) {
            Err(Errno::EINTR) => {}
            waited => return waited.map(|_| status),
        }
    }
}

/// Reads pages of a thread's memory, each where its buffer says, until one can't be read; how many bytes were read.
pub fn read_pages(tid: Tid, pages: &mut [(u64, &mut [u8])]) -> PtraceResult<usize> {
    let local: Vec<libc::iovec> = pages
        .iter_mut()
        .map(|(_, buffer)| libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        })
        .collect();
    let remote: Vec<libc::iovec> = pages
        .iter()
        .map(|(address, buffer)| libc::iovec {
            iov_base: *address as *mut libc::c_void,
            iov_len: buffer.len(),
        })
        .collect();
    // SAFETY: the local vectors name the buffers, which are borrowed for writing until the call is back.
    let read = unsafe {
        libc::process_vm_readv(
            tid,
            local.as_ptr(),
            local.len() as _,
            remote.as_ptr(),
            remote.len() as _,
            0,
        )
    };
    Errno::result(read).map(isize::cast_unsigned)
}

/// Reads a stopped thread's memory word by word, as only who traces it may: also where a process keeps others from it. Says
/// whether it could be read.
pub fn peek(tid: Tid, address: u64, into: &mut [u8]) -> bool {
    const PEEKDATA: u32 = 2;
    const WORD: usize = size_of::<u64>();
    (address..)
        .step_by(WORD)
        .zip(into.chunks_exact_mut(WORD))
        .all(|(at, part)| {
            let mut word: u64 = 0;
            // SAFETY: asked directly, the kernel writes one word there.
            let done = unsafe {
                libc::syscall(
                    libc::SYS_ptrace,
                    PEEKDATA as usize,
                    tid as usize,
                    at,
                    &raw mut word,
                )
            };
            part.copy_from_slice(&word.to_ne_bytes());
            done == 0
        })
}

/// Makes the call that a thread is about to enter one that the kernel hasn't: it isn't made.
pub fn skip_call(tid: Tid) -> PtraceResult<()> {
    registers::set_number(tid, -1)
}

/// Makes the call that a thread is about to enter another one.
pub fn make_call(tid: Tid, number: i64) -> PtraceResult<()> {
    registers::set_number(tid, number)
}

/// Writes into a thread's memory up to where it ends or may not be written: so many bytes, none where the first may not.
pub fn write(tid: Tid, address: u64, bytes: &[u8]) -> usize {
    let local = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let remote = libc::iovec {
        iov_base: std::ptr::with_exposed_provenance_mut(address as usize),
        iov_len: bytes.len(),
    };
    // SAFETY: the local vector names the bytes, which are only read and borrowed until the call is back.
    let written =
        unsafe { libc::process_vm_writev(tid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(written).unwrap_or(0)
}

/// Writes a word into a thread's memory, also where its program may not.
pub fn poke(tid: Tid, address: u64, word: u64) -> PtraceResult<()> {
    const POKEDATA: u32 = 5;
    ask(POKEDATA, tid, address as usize, word as usize)
}

/// Changes the result of the call that a thread is about to leave.
pub fn set_result(tid: Tid, value: i64) -> PtraceResult<()> {
    registers::set_result(tid, value)
}

#[cfg(target_arch = "x86_64")]
mod registers {
    use super::{PtraceResult, Tid, ask};

    const POKEUSER: u32 = 6;
    /// Where the registers are in `struct user_regs_struct`.
    const RAX: usize = 10 * 8;
    const ORIG_RAX: usize = 15 * 8;

    pub fn set_number(tid: Tid, number: i64) -> PtraceResult<()> {
        ask(POKEUSER, tid, ORIG_RAX, number as usize)
    }

    pub fn set_result(tid: Tid, value: i64) -> PtraceResult<()> {
        ask(POKEUSER, tid, RAX, value as usize)
    }
}

#[cfg(target_arch = "aarch64")]
mod registers {
    use super::{GENERAL, GETREGSET, General, PtraceResult, Tid, register_set as set};

    const SETREGSET: u32 = 0x4205;
    const CALL_NUMBER: usize = 0x404;

    pub fn set_number(tid: Tid, number: i64) -> PtraceResult<()> {
        set(SETREGSET, tid, CALL_NUMBER, &mut (number as i32)).map(drop)
    }

    pub fn set_result(tid: Tid, value: i64) -> PtraceResult<()> {
        let mut registers: General = [0; 34];
        set(GETREGSET, tid, GENERAL, &mut registers)?;
        registers[0] = value.cast_unsigned();
        set(SETREGSET, tid, GENERAL, &mut registers).map(drop)
    }
}
