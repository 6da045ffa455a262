//! The simplest tracer there can be, to have real events to test what is made of them: one stop at a time, no options.

use std::collections::HashMap;
use std::io::IoSliceMut;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use backsight_syscall_decode::capture::missing_memory;
use backsight_syscall_decode::memory::{CaptureLimits, ReadExtent};
use backsight_syscall_decode::table::{SyscallDefinition, find_syscall};
use backsight_syscall_decode::{
    Abi, CapturePoint, CapturedMemory, EventKind, MemoryPiece, SyscallOutcome, SyscallRecord,
    TraceEvent,
};
use backsight_tracer::descriptors::netlink_protocol;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// A command that runs at the same addresses every time: nothing of its own in the environment, nothing random.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // SAFETY: only a system call is made between fork and exec.
    unsafe {
        command.pre_exec(|| {
            nix::libc::personality(nix::libc::ADDR_NO_RANDOMIZE as nix::libc::c_ulong);
            Ok(())
        });
    }
    command
}

#[allow(
    clippy::zombie_processes,
    reason = "whoever traces waits, until nobody is left"
)]
/// Runs a program and tells everything that it and its children do.
pub fn trace(
    program: &Path,
    folder: &Path,
    limits: CaptureLimits,
    emit: &mut dyn FnMut(TraceEvent),
) {
    let mut command = command(program);
    command.current_dir(folder);
    // SAFETY: only a system call is made between fork and exec.
    unsafe {
        command.pre_exec(|| Ok(ptrace::traceme()?));
    }
    let child = command.spawn().unwrap();
    let first = Pid::from_raw(child.id() as i32);
    let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    waitpid(first, Some(flags)).unwrap();
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_EXITKILL
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC;
    ptrace::setoptions(first, options).unwrap();
    ptrace::syscall(first, None).unwrap();
    let mut calls: HashMap<Pid, Option<SyscallRecord>> = HashMap::from([(first, None)]);
    while let Ok(status) = waitpid(None, Some(flags)) {
        let Some(pid) = status.pid() else { break };
        let event = |what| TraceEvent {
            pid: process(pid),
            tid: pid.as_raw(),
            at: 0,
            kind: what,
        };
        match status {
            WaitStatus::PtraceSyscall(_) => {
                let open = calls.entry(pid).or_default();
                match open.take() {
                    None => {
                        let call = entered(pid, limits);
                        emit(event(EventKind::Pending(call.clone())));
                        *open = Some(call);
                    }
                    Some(call) => emit(event(EventKind::Call(left(pid, call, limits)))),
                }
                let _ = ptrace::syscall(pid, None);
            }
            WaitStatus::Stopped(_, Signal::SIGSTOP) if !calls.contains_key(&pid) => {
                calls.insert(pid, None);
                let _ = ptrace::syscall(pid, None);
            }
            WaitStatus::Stopped(_, signal) => {
                emit(event(EventKind::Signal {
                    number: signal as i32,
                    info: information(pid),
                    instruction: None,
                }));
                let _ = ptrace::syscall(pid, signal);
            }
            WaitStatus::PtraceEvent(..) => {
                let _ = ptrace::syscall(pid, None);
            }
            WaitStatus::Exited(_, status) => {
                gone(pid, &mut calls, emit);
                emit(event(EventKind::Exited { status }));
            }
            WaitStatus::Signaled(_, signal, core) => {
                gone(pid, &mut calls, emit);
                emit(event(EventKind::Killed {
                    signal: signal as i32,
                    core,
                }));
            }
            _ => {}
        }
    }
}

fn gone(
    pid: Pid,
    calls: &mut HashMap<Pid, Option<SyscallRecord>>,
    emit: &mut dyn FnMut(TraceEvent),
) {
    if let Some(call) = calls.remove(&pid).flatten() {
        emit(TraceEvent {
            pid: process(pid),
            tid: pid.as_raw(),
            at: 0,
            kind: EventKind::Call(call),
        });
    }
}

fn process(pid: Pid) -> i32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|group| group.trim().parse().ok())
        .unwrap_or(pid.as_raw())
}

fn entered(pid: Pid, limits: CaptureLimits) -> SyscallRecord {
    let registers = ptrace::getregs(pid).unwrap();
    let mut call = SyscallRecord {
        abi: Abi::X86_64,
        number: registers.orig_rax,
        arguments: [
            registers.rdi,
            registers.rsi,
            registers.rdx,
            registers.r10,
            registers.r8,
            registers.r9,
        ],
        entered: 0,
        outcome: SyscallOutcome::Open,
        memory: CapturedMemory::default(),
        injected: false,
        rewritten: false,
        delayed: false,
        instruction: None,
        worked: None,
    };
    if find_syscall(call.abi, call.number).is_some_and(|row| row.stacked) {
        call.arguments[0] = registers.rsp;
    }
    if find_syscall(call.abi, call.number).is_some_and(SyscallDefinition::uses_socket_data) {
        let socket = call.arguments[0] as i32;
        call.memory
            .set_netlink(netlink_protocol(pid.as_raw(), socket));
    }
    fill(pid, &mut call, CapturePoint::Entered, limits);
    call
}

fn left(pid: Pid, mut call: SyscallRecord, limits: CaptureLimits) -> SyscallRecord {
    let value = ptrace::getregs(pid).unwrap().rax as i64;
    call.outcome = SyscallOutcome::Returned { value, took: 0 };
    fill(pid, &mut call, CapturePoint::Left, limits);
    call
}

fn fill(pid: Pid, call: &mut SyscallRecord, when: CapturePoint, limits: CaptureLimits) {
    for _ in 0..16 {
        let wanted = missing_memory(call, when, limits);
        if wanted.is_empty() {
            return;
        }
        for want in wanted {
            let mut bytes = match want.extent {
                ReadExtent::Bytes(length) | ReadExtent::Text(length) => vec![0; length],
                ReadExtent::Descriptor(_) => Vec::new(),
            };
            let length = read(pid, want.address, &mut bytes);
            bytes.truncate(length);
            if let (ReadExtent::Text(_), Some(end)) =
                (want.extent, bytes.iter().position(|byte| *byte == 0))
            {
                bytes.truncate(end + 1);
            }
            call.memory.add(MemoryPiece {
                address: want.address,
                when,
                bytes,
            });
        }
    }
    panic!("more and more is wanted: {call:?}");
}

/// Reads up to the first page that isn't there.
fn read(pid: Pid, address: u64, bytes: &mut [u8]) -> usize {
    let mut done = 0;
    while done < bytes.len() {
        let from = address.wrapping_add(done as u64);
        let here = (4096 - from as usize % 4096).min(bytes.len() - done);
        let remote = [RemoteIoVec {
            base: from as usize,
            len: here,
        }];
        match process_vm_readv(
            pid,
            &mut [IoSliceMut::new(&mut bytes[done..done + here])],
            &remote,
        ) {
            Ok(length) if length > 0 => done += length,
            _ => break,
        }
    }
    done
}

fn information(pid: Pid) -> Vec<u8> {
    let Ok(information) = ptrace::getsiginfo(pid) else {
        return Vec::new();
    };
    // SAFETY: the structure is plain memory of this size.
    unsafe {
        std::slice::from_raw_parts(
            (&raw const information).cast::<u8>(),
            size_of_val(&information),
        )
        .to_vec()
    }
}
