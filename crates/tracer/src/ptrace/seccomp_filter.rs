//! Seccomp filter: lets calls pass that the options don't ask for, so that only the others stop.
//!
//! A filter stays with the program and its children. It changes no call's result as long as the tracer lives; without a tracer, the
//! kernel refuses the calls that are asked for.

use backsight_syscall_decode::Abi;
use backsight_syscall_decode::syscall_set::SyscallSet;
use nix::errno::Errno;
use nix::libc;

use super::requests::ARCHITECTURES;

type Step = libc::sock_filter;

const LOAD_WORD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_GREATER: u16 = 0x25;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const JUMP: u16 = 0x05;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const STOP: u32 = 0x7ff0_0000;
/// Where `struct seccomp_data` has the number and the architecture.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
/// The greatest number of a call that sets list one by one.
const LAST_LISTED: u32 = 1023;

/// A program for the kernel: stops at these calls, lets every other pass.
pub struct SeccompFilter {
    steps: Vec<Step>,
}

impl SeccompFilter {
    /// The filter for these calls.
    pub fn new(calls: &SyscallSet) -> Self {
        let mut steps = vec![step(LOAD_WORD, ARCHITECTURE, 0, 0)];
        for (abi, architecture) in ARCHITECTURES.iter().filter(|(abi, _)| possible(*abi)) {
            let block = block(calls, *abi);
            steps.push(step(JUMP_IF_EQUAL, *architecture, 1, 0));
            steps.push(step(JUMP, block.len() as u32, 0, 0));
            steps.extend(block);
        }
        // Another way of calling: whoever traces says what it is.
        steps.push(step(RETURN, STOP, 0, 0));
        Self { steps }
    }

    /// Puts the filter on this process. Between `fork` and `execve` it is allowed: it makes system calls only.
    pub fn install(&self) -> Result<(), Errno> {
        let program = libc::sock_fprog {
            len: self.steps.len() as u16,
            filter: self.steps.as_ptr().cast_mut(),
        };
        let install = || {
            // SAFETY: the kernel copies the steps, of which there are as many as it says.
            let done = unsafe {
                libc::prctl(
                    libc::PR_SET_SECCOMP,
                    libc::SECCOMP_MODE_FILTER,
                    &raw const program,
                )
            };
            Errno::result(done).map(drop)
        };
        match install() {
            // Without privileges a filter needs the promise to get none by `execve`. A program that is traced by somebody
            // without privileges gets none anyway.
            Err(Errno::EACCES) => {
                // SAFETY: takes numbers.
                Errno::result(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
                install()
            }
            done => done,
        }
    }
}

/// Whether this kernel can be called so.
fn possible(abi: Abi) -> bool {
    match abi {
        Abi::X86_64 | Abi::I386 => cfg!(target_arch = "x86_64"),
        Abi::Aarch64 => cfg!(target_arch = "aarch64"),
    }
}

/// The decision for one way of calling; it always ends in a return.
fn block(calls: &SyscallSet, abi: Abi) -> Vec<Step> {
    let (ranges, others) = calls.ranges(abi);
    let mut steps = vec![step(LOAD_WORD, NUMBER, 0, 0)];
    for (first, last) in ranges {
        steps.push(step(JUMP_IF_AT_LEAST, first, 0, 2));
        steps.push(step(JUMP_IF_GREATER, last, 1, 0));
        steps.push(step(RETURN, STOP, 0, 0));
    }
    if others {
        steps.push(step(JUMP_IF_GREATER, LAST_LISTED, 0, 1));
        steps.push(step(RETURN, STOP, 0, 0));
    }
    steps.push(step(RETURN, ALLOW, 0, 0));
    steps
}

fn step(code: u16, k: u32, jt: u8, jf: u8) -> Step {
    Step { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a filter decides, as the kernel would run it.
    fn decide(filter: &SeccompFilter, architecture: u32, number: u32) -> u32 {
        let (mut at, mut word) = (0_usize, 0_u32);
        loop {
            let step = &filter.steps[at];
            let jump = |yes: bool| usize::from(if yes { step.jt } else { step.jf });
            at += 1 + match step.code {
                LOAD_WORD => {
                    word = if step.k == NUMBER {
                        number
                    } else {
                        architecture
                    };
                    0
                }
                JUMP_IF_EQUAL => jump(word == step.k),
                JUMP_IF_GREATER => jump(word > step.k),
                JUMP_IF_AT_LEAST => jump(word >= step.k),
                JUMP => step.k as usize,
                RETURN => return step.k,
                other => unreachable!("{other}"),
            };
        }
    }

    proptest! {
        #[test]
        fn the_filter_stops_at_just_the_calls_of_the_set(
            numbers in proptest::collection::vec((any::<bool>(), 0_u64..1024), 0..80),
            negated in any::<bool>(),
            options in 0_u32..1100,
        ) {
            let text: Vec<String> = numbers
                .iter()
                .map(|(narrow, number)| format!("{number}@{}", if *narrow { 32 } else { 64 }))
                .collect();
            let text = match text.as_slice() {
                [] => "none".to_owned(),
                numbers => numbers.join(","),
            };
            let sign = if negated { "!" } else { "" };
            let calls = SyscallSet::parse(&format!("{sign}{text}"), &[]).unwrap();
            let filter = SeccompFilter::new(&calls);
            for (abi, architecture) in ARCHITECTURES.into_iter().filter(|(abi, _)| possible(*abi)) {
                let stops = decide(&filter, architecture, options) == STOP;
                prop_assert_eq!(stops, calls.contains(abi, u64::from(options)));
            }
        }
    }

    #[test]
    fn a_filter_fits_into_the_kernel_and_stops_at_other_ways_of_calling() {
        let every_second: Vec<String> = (0..1024)
            .step_by(2)
            .map(|number| number.to_string())
            .collect();
        let calls = SyscallSet::parse(&every_second.join(","), &[]).unwrap();
        let filter = SeccompFilter::new(&calls);
        assert!(filter.steps.len() <= 4096);
        assert_eq!(decide(&filter, 0x1234, 1), STOP);
    }
}
