//! A child that is traced up to its first instruction, and let go there.
//!
//! It asks to be traced itself, so that the kernel stops it at its `exec`; a breakpoint on the program's entry point does the rest.

use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use backsight_platform::ALL_CHILDREN;
use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace;
use nix::unistd::Pid;

use crate::clocks;
use crate::reap::{Death, exit, wait4};
use crate::step::HoldState;

/// A child that this thread traces.
pub(crate) struct Tracee {
    pid: Pid,
}

/// How far a traced child came.
pub(crate) enum Loaded {
    /// It waits.
    Waits(Tracee, HoldState),
    /// It ended before its first instruction: the linker gave up, or somebody killed it.
    Died(Death),
}

impl Tracee {
    /// Starts a program that stops itself at its `exec`.
    ///
    /// # Errors
    ///
    /// `PermissionDenied`: tracing isn't permitted here (a container's filter, a tracer on ourselves), or would take the program's
    /// privileges away. Else the system's.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        if gains_privileges(Path::new(command.get_program())) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let traced = || Ok(ptrace::traceme()?);
        // SAFETY: between fork and exec the closure makes one system call and touches no memory but errno.
        unsafe { command.pre_exec(traced) };
        let child = command.spawn()?;
        Ok(Self {
            pid: Pid::from_raw(child.id().cast_signed()),
        })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Takes the child from its `exec` to its first instruction.
    pub(crate) fn load(self) -> io::Result<Loaded> {
        if let Stop::Dead(death) = wait_traced(self.pid)? {
            return Ok(Loaded::Died(death));
        }
        match self.run_to_entry() {
            Ok(held) => Ok(Loaded::Waits(self, held)),
            // Killed between two requests.
            Err(Failure::Tracing(Errno::ESRCH)) => Ok(Loaded::Died(self.bury()?)),
            Err(Failure::Tracing(errno)) => {
                let _gone_already = nix::sys::signal::kill(self.pid, nix::sys::signal::SIGKILL);
                self.bury()?;
                Err(io::Error::other(format!("it can't be held: {errno}")))
            }
            Err(Failure::Died(death)) => Ok(Loaded::Died(death)),
        }
    }

    fn run_to_entry(&self) -> Result<HoldState, Failure> {
        // Should this process die, the child dies with it instead of being stuck.
        ptrace::setoptions(self.pid, ptrace::Options::PTRACE_O_EXITKILL)?;
        let Some(entry) = entry_point(self.pid) else {
            return Ok(HoldState::Exec);
        };
        let Ok(original) = breakpoint::set(self.pid, entry) else {
            return Ok(HoldState::Exec);
        };
        let mut pass_on = 0;
        loop {
            resume(self.pid, pass_on)?;
            match wait_traced(self.pid)
                .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))?
            {
                Stop::Dead(death) => return Err(Failure::Died(death)),
                Stop::Signal(libc::SIGTRAP) if breakpoint::reached(self.pid, entry)? => break,
                // Somebody else's signal: it is the program's business.
                Stop::Signal(signal) => pass_on = signal,
            }
        }
        breakpoint::clear(self.pid, entry, original)?;
        Ok(HoldState::Entry)
    }

    /// Lets the child go. That somebody killed it meanwhile is no error.
    pub(crate) fn detach(self) {
        let _killed_meanwhile = ptrace::detach(self.pid, None);
    }

    /// Waits for the end of a child that was killed or is going to be.
    pub(crate) fn bury(self) -> io::Result<Death> {
        loop {
            if let Stop::Dead(death) = wait_traced(self.pid)? {
                return Ok(death);
            }
        }
    }
}

enum Failure {
    Tracing(Errno),
    Died(Death),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::Tracing(errno)
    }
}

/// Lets a stopped child go on, with a signal if not 0. By number: real-time signals have no name.
fn resume(pid: Pid, signal: i32) -> nix::Result<()> {
    // SAFETY: the request takes two numbers and touches no memory of ours.
    let resumed =
        unsafe { libc::ptrace(libc::PTRACE_CONT, pid.as_raw(), 0_usize, signal as usize) };
    Errno::result(resumed).map(drop)
}

/// What a traced child did.
enum Stop {
    /// It stopped with this signal, which it hasn't got yet.
    Signal(i32),
    /// It ended.
    Dead(Death),
}

/// Waits until a child that this thread traces stops or ends.
///
/// # Errors
///
/// The system's: it isn't this thread's child.
fn wait_traced(pid: Pid) -> io::Result<Stop> {
    loop {
        let Some((_, status, usage)) = wait4(pid.as_raw(), ALL_CHILDREN)? else {
            continue;
        };
        if libc::WIFSTOPPED(status) {
            return Ok(Stop::Signal(libc::WSTOPSIG(status)));
        }
        if let Some(exit) = exit(status) {
            return Ok(Stop::Dead(Death {
                exit,
                usage,
                at: clocks::now(),
            }));
        }
    }
}

/// Whether the kernel would take a program's privileges away if we traced it: it has more than we have.
fn gains_privileges(program: &Path) -> bool {
    if nix::unistd::geteuid().is_root() {
        return false;
    }
    let by_mode = std::fs::metadata(program)
        .is_ok_and(|file| file.permissions().mode() & (libc::S_ISUID | libc::S_ISGID) != 0);
    by_mode || has_capabilities(program)
}

fn has_capabilities(program: &Path) -> bool {
    let mut value = [0_u8; 64];
    rustix::fs::getxattr(
        program.as_os_str().as_bytes(),
        "security.capability",
        &mut value[..],
    )
    .is_ok()
}

/// The address of the program's first instruction, as the kernel told the child.
/// None if the program isn't of this machine's word size.
fn entry_point(pid: Pid) -> Option<u64> {
    const ELF_CLASS_64: u8 = 2;
    const WORD: usize = size_of::<u64>();
    let mut ident = [0_u8; 5];
    std::fs::File::open(format!("/proc/{pid}/exe"))
        .ok()?
        .read_exact(&mut ident)
        .ok()?;
    if &ident[..4] != b"\x7fELF" || ident[4] != ELF_CLASS_64 {
        return None;
    }
    let vector = std::fs::read(format!("/proc/{pid}/auxv")).ok()?;
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).ok();
    vector.chunks_exact(2 * WORD).find_map(|pair| {
        let (key, value) = pair.split_at(WORD);
        (word(key)? == libc::AT_ENTRY).then(|| word(value))?
    })
}

/// A stop at one instruction of a traced child.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod breakpoint {
    use nix::Result;
    use nix::libc::{self, c_long};
    use nix::sys::ptrace;
    use nix::unistd::Pid;

    /// The instruction that traps, and how many bytes of a word it takes.
    #[cfg(target_arch = "x86_64")]
    const TRAP: (c_long, c_long) = (0xcc, 0xff);
    #[cfg(target_arch = "aarch64")]
    const TRAP: (c_long, c_long) = (0xd420_0000, 0xffff_ffff);

    /// How far the program counter is behind the trap when the child stops.
    #[cfg(target_arch = "x86_64")]
    const PAST: u64 = 1;
    #[cfg(target_arch = "aarch64")]
    const PAST: u64 = 0;

    #[cfg(target_arch = "x86_64")]
    fn counter(registers: &mut libc::user_regs_struct) -> &mut u64 {
        &mut registers.rip
    }
    #[cfg(target_arch = "aarch64")]
    fn counter(registers: &mut libc::user_regs_struct) -> &mut u64 {
        &mut registers.pc
    }

    fn address(entry: u64) -> ptrace::AddressType {
        std::ptr::without_provenance_mut(entry as usize)
    }

    /// Sets the trap and returns the word that was there.
    pub(super) fn set(pid: Pid, entry: u64) -> Result<c_long> {
        let original = ptrace::read(pid, address(entry))?;
        let (instruction, mask) = TRAP;
        ptrace::write(pid, address(entry), (original & !mask) | instruction)?;
        Ok(original)
    }

    /// Whether the child stopped at the trap.
    pub(super) fn reached(pid: Pid, entry: u64) -> Result<bool> {
        let mut registers = ptrace::getregs(pid)?;
        Ok(*counter(&mut registers) == entry + PAST)
    }

    /// Takes the trap away and sets the child before the instruction that was there.
    pub(super) fn clear(pid: Pid, entry: u64, original: c_long) -> Result<()> {
        ptrace::write(pid, address(entry), original)?;
        let mut registers = ptrace::getregs(pid)?;
        *counter(&mut registers) = entry;
        ptrace::setregs(pid, registers)?;
        Ok(())
    }
}

/// Elsewhere programs are held at their `exec`.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod breakpoint {
    use nix::Result;
    use nix::errno::Errno;
    use nix::unistd::Pid;

    pub(super) fn set(_: Pid, _: u64) -> Result<()> {
        Err(Errno::ENOSYS)
    }
    pub(super) fn reached(_: Pid, _: u64) -> Result<bool> {
        Ok(false)
    }
    pub(super) fn clear(_: Pid, _: u64, (): ()) -> Result<()> {
        Ok(())
    }
}
