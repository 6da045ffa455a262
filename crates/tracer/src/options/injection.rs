//! Injections: results, signals, delays and memory that a trace changes on purpose (`-e inject=`).

use std::time::Duration;

use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::table::{self, NamedSyscall, SyscallClass};
use nix::errno::Errno;

use super::signal_set;
use crate::error::ExpressionError;

/// The greatest number of an error.
const LAST_ERRNO: i32 = 4095;
/// The longest delay, so that nothing hangs for ever by a slip of the finger.
const LONGEST: Duration = Duration::from_secs(3600);

/// What is done to calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// To which.
    pub calls: SyscallSet,
    /// What.
    pub tamper: SyscallTampering,
    /// To the how manieth of a thread.
    pub schedule: InjectionSchedule,
}

/// What is done to one call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyscallTampering {
    /// The call isn't made, and comes back with this in the result's register.
    pub result: Option<i64>,
    /// Another call is made instead: this one, that changes nothing.
    pub instead: Option<&'static str>,
    /// What is written behind the call's pointers as it is entered.
    pub poked_before: Vec<MemoryPoke>,
    /// And as it comes back.
    pub poked_after: Vec<MemoryPoke>,
    /// A signal that is sent as the call is entered.
    pub signal: Option<i32>,
    /// How long the thread is held before the call.
    pub before: Option<Duration>,
    /// How long the thread is held after the call.
    pub after: Option<Duration>,
}

/// Bytes that are written behind a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryPoke {
    /// The argument that is the pointer, from 0 on.
    pub argument: usize,
    /// What is written there.
    pub bytes: Vec<u8>,
}

/// The how manieth calls something is done to: a thread's calls of the set are counted from 1, each call for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InjectionSchedule {
    first: u32,
    last: u32,
    step: u32,
}

impl InjectionSchedule {
    /// Every time.
    pub const EVERY: Self = Self {
        first: 1,
        last: u32::MAX,
        step: 1,
    };

    /// Whether this is one of the times.
    pub fn contains(self, time: u32) -> bool {
        (self.first..=self.last).contains(&time) && (time - self.first).is_multiple_of(self.step)
    }

    /// Reads `first[..last][+[step]]`.
    ///
    /// # Errors
    ///
    /// If it isn't that, or a number isn't 1 to 65535; a last one is 65534 at most, as strace has it.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let (range, step) = match text.split_once('+') {
            Some((range, "")) => (range, Some(1)),
            Some((range, step)) => (range, Some(time(step)?)),
            None => (text, None),
        };
        let (first, last) = match range.split_once("..") {
            Some((first, last)) => (time(first)?, Some(time(last)?)),
            None => (time(range)?, None),
        };
        if last.is_some_and(|last| last < first || last == u32::from(u16::MAX)) {
            return Err(number(
                text,
                "a range that ends after its beginning and before 65535",
            ));
        }
        Ok(Self {
            first,
            last: last.unwrap_or(if step.is_some() { u32::MAX } else { first }),
            step: step.unwrap_or(1),
        })
    }
}

fn time(text: &str) -> Result<u32, ExpressionError> {
    text.parse::<u16>()
        .ok()
        .filter(|time| *time > 0)
        .map(u32::from)
        .ok_or_else(|| number(text, "a number of 1 to 65535 for when="))
}

fn number(text: &str, wanted: &'static str) -> ExpressionError {
    ExpressionError::Number {
        text: text.to_owned(),
        wanted,
    }
}

impl Injection {
    /// Reads `SET:error=E|retval=N:signal=S:syscall=CALL:delay_enter=TIME:delay_exit=TIME:poke_enter=POKE:poke_exit=POKE:when=EXPR`,
    /// where POKE is `@argN=HEXADECIMAL`, or several separated by commas. A `syscall=` goes with another of these only.
    ///
    /// # Errors
    ///
    /// If something isn't known, or nothing is injected.
    pub fn parse(text: &str, known: &[NamedSyscall<'_>]) -> Result<Self, ExpressionError> {
        let injection = Self::parts(text, known)?;
        let alone = SyscallTampering {
            instead: None,
            ..injection.tamper.clone()
        };
        if alone == SyscallTampering::default() {
            return Err(ExpressionError::Injection(text.to_owned()));
        }
        Ok(injection)
    }

    /// Reads `SET[:error=E][:syscall=CALL][:when=EXPR]`, ENOSYS if no error is named: `-e fault=`.
    ///
    /// # Errors
    ///
    /// If something isn't known.
    pub fn parse_fault(text: &str, known: &[NamedSyscall<'_>]) -> Result<Self, ExpressionError> {
        let beyond = text.split(':').skip(1).find(|part| {
            !["error=", "when=", "syscall="]
                .iter()
                .any(|name| part.starts_with(name))
        });
        if let Some(part) = beyond {
            return Err(ExpressionError::UnknownPart(part.to_owned()));
        }
        let mut injection = Self::parts(text, known)?;
        let fault = -i64::from(Errno::ENOSYS as i32);
        injection.tamper.result = injection.tamper.result.or(Some(fault));
        Ok(injection)
    }

    fn parts(text: &str, known: &[NamedSyscall<'_>]) -> Result<Self, ExpressionError> {
        let mut parts = text.split(':');
        let mut injection = Self {
            calls: SyscallSet::parse(parts.next().unwrap_or_default(), known)?,
            tamper: SyscallTampering::default(),
            schedule: InjectionSchedule::EVERY,
        };
        for part in parts {
            injection.part(part, text, known)?;
        }
        Ok(injection)
    }

    fn part(
        &mut self,
        part: &str,
        whole: &str,
        known: &[NamedSyscall<'_>],
    ) -> Result<(), ExpressionError> {
        let unknown = || ExpressionError::UnknownPart(part.to_owned());
        let (name, value) = part.split_once('=').ok_or_else(unknown)?;
        let tamper = &mut self.tamper;
        match name {
            "error" | "retval" if tamper.result.is_some() => {
                return Err(ExpressionError::Injection(whole.to_owned()));
            }
            "error" => tamper.result = Some(-i64::from(errno(value)?)),
            "retval" => tamper.result = Some(result(value)?),
            "syscall" if tamper.instead.is_none() => {
                tamper.instead = Some(harmless(value, known)?);
            }
            "poke_enter" if tamper.poked_before.is_empty() => tamper.poked_before = pokes(value)?,
            "poke_exit" if tamper.poked_after.is_empty() => tamper.poked_after = pokes(value)?,
            "signal" if tamper.signal.is_none() => {
                tamper.signal = Some(signal_set::number_of(value)?)
            }
            "delay_enter" if tamper.before.is_none() => {
                tamper.before = Some(parse_duration(value)?)
            }
            "delay_exit" if tamper.after.is_none() => tamper.after = Some(parse_duration(value)?),
            "when" => self.schedule = InjectionSchedule::parse(value)?,
            "signal" | "syscall" | "delay_enter" | "delay_exit" | "poke_enter" | "poke_exit" => {
                return Err(ExpressionError::Twice(part.to_owned()));
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

/// A call that may be made instead of another: one that takes nothing and changes nothing.
fn harmless(name: &str, known: &[NamedSyscall<'_>]) -> Result<&'static str, ExpressionError> {
    let unknown = || ExpressionError::UnknownPart(format!("syscall={name}"));
    let call = known
        .iter()
        .find(|call| call.name == name && call.classes.contains(SyscallClass::Pure));
    let call = call.ok_or_else(unknown)?;
    let row = table::find_syscall(call.abi, call.number).ok_or_else(unknown)?;
    Ok(row.name)
}

/// What is to be written where.
fn pokes(text: &str) -> Result<Vec<MemoryPoke>, ExpressionError> {
    let mut pokes: Vec<MemoryPoke> = Vec::new();
    for one in text.split(',') {
        let poke = poke(one).ok_or_else(|| {
            let wanted = "what to write: @argN=HEXADECIMAL, N from 1 to 6, at most 1024 bytes";
            number(one, wanted)
        })?;
        if pokes.iter().any(|other| other.argument == poke.argument) {
            return Err(number(one, "an argument that nothing else is written to"));
        }
        pokes.push(poke);
    }
    Ok(pokes)
}

fn poke(text: &str) -> Option<MemoryPoke> {
    const MOST: usize = 1024;
    let (argument, digits) = text.strip_prefix("@arg")?.split_once('=')?;
    let argument: usize = argument.parse().ok()?;
    let whole = digits.is_ascii() && digits.len().is_multiple_of(2);
    let fits = (1..=6).contains(&argument) && (2..=2 * MOST).contains(&digits.len());
    if !(whole && fits) {
        return None;
    }
    let pairs = digits.as_bytes().chunks_exact(2);
    let bytes = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    Some(MemoryPoke {
        argument: argument - 1,
        bytes: bytes.collect::<Option<_>>()?,
    })
}

/// The number of an error, by name or number.
fn errno(text: &str) -> Result<i32, ExpressionError> {
    let unknown = || ExpressionError::Errno(text.to_owned());
    if let Ok(number) = text.parse::<i32>() {
        return Some(number)
            .filter(|number| (1..=LAST_ERRNO).contains(number))
            .ok_or_else(unknown);
    }
    let text = text.to_ascii_uppercase();
    match text.as_str() {
        "EWOULDBLOCK" => return Ok(Errno::EAGAIN as i32),
        "ENOTSUP" => return Ok(Errno::EOPNOTSUPP as i32),
        _ => {}
    }
    // The names that the library's own type is shown with are the kernel's, but for one in another writing.
    (1..200)
        .find(|number| format!("{:?}", Errno::from_raw(*number)) == text)
        .ok_or_else(unknown)
}

/// A result: decimal, or hexadecimal after `0x`.
fn result(text: &str) -> Result<i64, ExpressionError> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).map(u64::cast_signed).ok(),
        None => text
            .parse::<i64>()
            .ok()
            .or_else(|| text.parse::<u64>().ok().map(u64::cast_signed)),
    };
    parsed.ok_or_else(|| number(text, "a result: a number, or 0x with hexadecimal digits"))
}

/// A time with its unit, of `s`, `ms`, `us` and `ns`; microseconds if there is none.
///
/// # Errors
///
/// If it isn't one, or is longer than an hour.
pub fn parse_duration(text: &str) -> Result<Duration, ExpressionError> {
    let wanted = || number(text, "a time of at most an hour, as in 100us, 20ms or 1s");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let value: f64 = digits.parse().map_err(|_| wanted())?;
    let unit = match &text[digits.len()..] {
        "s" => 1.0,
        "ms" => 1e-3,
        "" | "us" => 1e-6,
        "ns" => 1e-9,
        _ => return Err(wanted()),
    };
    Duration::try_from_secs_f64(value * unit)
        .ok()
        .filter(|delay| *delay <= LONGEST)
        .ok_or_else(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_syscall_decode::Abi;
    use proptest::prelude::*;

    fn known() -> [NamedSyscall<'static>; 1] {
        [NamedSyscall {
            abi: Abi::X86_64,
            number: 80,
            name: "chdir",
            classes: [SyscallClass::File].into_iter().collect(),
        }]
    }

    fn times(text: &str) -> Vec<u32> {
        let schedule = InjectionSchedule::parse(text).unwrap();
        (1..=12).filter(|time| schedule.contains(*time)).collect()
    }

    #[test]
    fn occasions_are_first_to_last_by_steps() {
        assert_eq!(times("3"), [3]);
        assert_eq!(times("3..5"), [3, 4, 5]);
        assert_eq!(times("9+"), [9, 10, 11, 12]);
        assert_eq!(times("2+4"), [2, 6, 10]);
        assert_eq!(times("2..9+3"), [2, 5, 8]);
        assert_eq!(times("2..4+"), [2, 3, 4]);
        for wrong in ["", "0", "x", "1..", "1..0", "1..65535", "70000", "1+0"] {
            assert!(InjectionSchedule::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_injection_says_to_what_what_and_when() {
        let text = "chdir:error=ENOENT:signal=TERM:delay_enter=20ms:delay_exit=5:when=3+";
        let injection = Injection::parse(text, &known()).unwrap();
        assert!(injection.calls.contains(Abi::X86_64, 80));
        assert_eq!(
            injection.tamper,
            SyscallTampering {
                result: Some(-2),
                signal: Some(15),
                before: Some(Duration::from_millis(20)),
                after: Some(Duration::from_micros(5)),
                ..SyscallTampering::default()
            }
        );
        assert!(injection.schedule.contains(3) && !injection.schedule.contains(2));
    }

    #[test]
    fn results_and_faults_are_numbers_or_names() {
        let result = |text| Injection::parse(text, &known()).map(|it| it.tamper.result);
        assert_eq!(result("chdir:retval=0xffffffffffffffff"), Ok(Some(-1)));
        assert_eq!(result("chdir:retval=42"), Ok(Some(42)));
        assert_eq!(result("chdir:error=4095"), Ok(Some(-4095)));
        assert_eq!(result("chdir:error=EWOULDBLOCK"), Ok(Some(-11)));
        assert_eq!(result("chdir:error=enoent"), Ok(Some(-2)));
        let fault = Injection::parse_fault("chdir", &known()).unwrap();
        assert_eq!(fault.tamper.result, Some(-38));
    }

    #[test]
    fn an_injection_of_nothing_or_of_two_results_is_refused() {
        for wrong in [
            "chdir",
            "chdir:when=1",
            "chdir:error=ENOENT:retval=1",
            "chdir:error=ENOTHING",
            "chdir:error=0",
            "chdir:delay_enter=2h",
            "chdir:delay_enter=-1",
            "chdir:poke=1",
            "chdir:poke_enter=@arg1=000",
            "chdir:poke_enter=@arg8=00",
            "chdir:poke_exit=@arg1=00,@arg1=00",
            "chdir:error=1:syscall=chdir",
            "chdir:signal=99",
            "chdir:signal=1:retval=0:signal=2",
            "chdir:delay_enter=1:delay_enter=2",
            "chdir:delay_exit=3:delay_exit=4",
            "chdir:poke_exit=@arg1=00:poke_exit=@arg2=00",
        ] {
            assert!(Injection::parse(wrong, &known()).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_an_injection_or_an_error(text in "\\PC{0,40}") {
            let _either = Injection::parse(&format!("chdir:{text}"), &known());
        }
    }
}
