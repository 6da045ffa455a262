//! Sets of calls (`-e trace=`).

use regex::Regex;

use crate::Abi;
use crate::table::{NamedSyscall, SyscallClass};
use crate::value_list::{ValueList, ValueListError};

/// What is wrong with an expression that names calls.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SyscallSetError {
    /// Not a list.
    #[error(transparent)]
    List(#[from] ValueListError),
    /// No call is named so.
    #[error("no call is named `{0}`; `?{0}` is for names that needn't exist")]
    UnknownCall(String),
    /// No class is named so.
    #[error(
        "no class of calls is named `{0}`; there are %file, %process, %network, %signal, %ipc, %desc, %memory, %creds, \
         %clock, %pure, %stat and their like"
    )]
    UnknownClass(String),
    /// Not a regular expression.
    #[error("`{0}` isn't a regular expression")]
    Regex(String),
    /// A regular expression that fits no call's name.
    #[error("no call has a name that `{0}` fits; `?{0}` is for expressions that needn't fit any")]
    NoMatch(String),
    /// A number that no call can have.
    #[error("no call has the number {0}")]
    Number(String),
    /// Not a way of calling.
    #[error("no way of calling is named `{abi}`, as in `{item}`; there are @64, @32 and @x32")]
    UnknownAbi {
        /// What stood behind `@`.
        abi: String,
        /// With what it stood behind.
        item: String,
    },
}

const ABIS: [Abi; 3] = [Abi::X86_64, Abi::I386, Abi::Aarch64];
/// Calls with greater numbers than this are in a set or not all together: the kernel has none.
const NUMBERS: usize = 1024;
const WORDS: usize = NUMBERS / 64;

/// A set of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyscallSet {
    listed: [[u64; WORDS]; ABIS.len()],
    others: bool,
}

impl SyscallSet {
    /// Every call.
    pub fn all() -> Self {
        Self {
            listed: [[u64::MAX; WORDS]; ABIS.len()],
            others: true,
        }
    }

    /// No call.
    pub fn none() -> Self {
        Self {
            listed: [[0; WORDS]; ABIS.len()],
            others: false,
        }
    }

    /// Whether this call is one of them.
    pub fn contains(&self, abi: Abi, number: u64) -> bool {
        match usize::try_from(number) {
            Ok(number) if number < NUMBERS => {
                self.listed[abi as usize][number / 64] >> (number % 64) & 1 == 1
            }
            _ => self.others,
        }
    }

    /// Whether it is every call.
    pub fn is_all(&self) -> bool {
        *self == Self::all()
    }

    /// Whether it is no call.
    pub fn is_empty(&self) -> bool {
        *self == Self::none()
    }

    /// Adds a call.
    pub fn insert(&mut self, abi: Abi, number: u64) {
        if let Some(number) = usize::try_from(number).ok().filter(|n| *n < NUMBERS) {
            self.listed[abi as usize][number / 64] |= 1 << (number % 64);
        }
    }

    /// The calls that none of these is: their numbers have no name.
    pub fn nameless(known: &[NamedSyscall<'_>]) -> Self {
        let mut named = Self::none();
        for call in known {
            named.insert(call.abi, call.number);
        }
        named.complement()
    }

    /// Every call that is in one of the two.
    pub fn union(&self, other: &Self) -> Self {
        let mut both = self.clone();
        for (mine, theirs) in both
            .listed
            .iter_mut()
            .flatten()
            .zip(other.listed.iter().flatten())
        {
            *mine |= theirs;
        }
        both.others |= other.others;
        both
    }

    /// Every call that isn't in it.
    pub fn complement(mut self) -> Self {
        for word in self.listed.iter_mut().flatten() {
            *word = !*word;
        }
        self.others = !self.others;
        self
    }

    /// The numbers of one way of calling, as ranges with both ends, up to the greatest that is listed one by one; and
    /// whether what is beyond belongs to it.
    pub fn ranges(&self, abi: Abi) -> (Vec<(u32, u32)>, bool) {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for number in (0..NUMBERS as u32).filter(|number| self.contains(abi, u64::from(*number))) {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => ranges.push((number, number)),
            }
        }
        (ranges, self.others)
    }

    /// Reads a set: names, numbers, `%class`es and `/regex`es, as [`ValueList`] has them; `?` before what needn't exist;
    /// `@64` and `@32` for one way of calling.
    ///
    /// # Errors
    ///
    /// If something isn't known or isn't an expression.
    pub fn parse(text: &str, known: &[NamedSyscall<'_>]) -> Result<Self, SyscallSetError> {
        let list = ValueList::parse(text)?;
        let mut calls = Self::none();
        for item in list.values {
            calls = calls.union(&item_of(item, known)?);
        }
        Ok(if list.negated {
            calls.complement()
        } else {
            calls
        })
    }
}

/// The calls that one item of a set names.
fn item_of(item: &str, known: &[NamedSyscall<'_>]) -> Result<SyscallSet, SyscallSetError> {
    let (optional, item) = match item.strip_prefix('?') {
        Some(rest) => (true, rest),
        None => (false, item),
    };
    let (name, abis) = split_abi(item)?;
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
        return number_of(name, abis);
    }
    let mut calls = SyscallSet::none();
    let chosen = chooser(name)?;
    let mut found = false;
    for call in known {
        if abis.contains(&call.abi) && chosen.picks(call) {
            calls.insert(call.abi, call.number);
            found = true;
        }
    }
    match chosen {
        _ if found || optional || abis.is_empty() => Ok(calls),
        // Calls of their own on other machines; here `sendto` and `recvfrom` are made.
        Chooser::Name("send" | "recv") => Ok(calls),
        Chooser::Class(name, _) => Err(SyscallSetError::UnknownClass(format!("%{name}"))),
        Chooser::Name(name) => Err(SyscallSetError::UnknownCall(name.to_owned())),
        Chooser::Regex(_) => Err(SyscallSetError::NoMatch(name.to_owned())),
    }
}

/// What comes before the way of calling, and which ways.
fn split_abi(item: &str) -> Result<(&str, &'static [Abi]), SyscallSetError> {
    Ok(match item.rsplit_once('@') {
        Some((name, "64")) => (name, &[Abi::NATIVE]),
        Some((name, "32")) => (name, &[Abi::I386]),
        // No call is told of that way: it has no programs any longer.
        Some((name, "x32")) => (name, &[]),
        Some((_, abi)) => {
            return Err(SyscallSetError::UnknownAbi {
                abi: abi.to_owned(),
                item: item.to_owned(),
            });
        }
        None => (item, &ABIS),
    })
}

/// A call by its number: it means the native one, and in the 32-bit way another; strace takes both.
fn number_of(digits: &str, abis: &[Abi]) -> Result<SyscallSet, SyscallSetError> {
    let number = digits.parse::<u64>().ok();
    let number = number.filter(|number| *number < NUMBERS as u64);
    let number = number.ok_or_else(|| SyscallSetError::Number(digits.to_owned()))?;
    let mut calls = SyscallSet::none();
    for abi in abis {
        calls.insert(*abi, number);
    }
    Ok(calls)
}

enum Chooser<'a> {
    /// Its name, and which it is if there is one.
    Class(&'a str, Option<SyscallClass>),
    Name(&'a str),
    Regex(Regex),
}

impl Chooser<'_> {
    fn picks(&self, call: &NamedSyscall<'_>) -> bool {
        match self {
            Self::Class(_, class) => class.is_some_and(|class| call.classes.contains(class)),
            Self::Name("all") => true,
            Self::Name(name) => call.name == *name,
            Self::Regex(regex) => regex.is_match(call.name),
        }
    }
}

/// What an item's words choose by.
fn chooser(name: &str) -> Result<Chooser<'_>, SyscallSetError> {
    if let Some(regex) = name.strip_prefix('/') {
        return Regex::new(regex)
            .map(Chooser::Regex)
            .map_err(|_| SyscallSetError::Regex(regex.to_owned()));
    }
    let class = name.strip_prefix('%').or(match name {
        "file" | "process" | "network" | "net" | "signal" | "ipc" | "desc" | "memory" => Some(name),
        _ => None,
    });
    Ok(match class {
        Some(class) => Chooser::Class(class, SyscallClass::from_name(class)),
        None => Chooser::Name(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use SyscallClass::{Desc, File, Network, Pure};
    use proptest::prelude::*;

    fn known() -> Vec<NamedSyscall<'static>> {
        vec![
            call(Abi::X86_64, 0, "read", &[Desc]),
            call(Abi::X86_64, 2, "open", &[File, Desc]),
            call(Abi::X86_64, 39, "getpid", &[Pure]),
            call(Abi::X86_64, 257, "openat", &[File, Desc]),
            call(Abi::X86_64, 41, "socket", &[Network]),
            call(Abi::I386, 5, "open", &[File, Desc]),
        ]
    }

    fn call(
        abi: Abi,
        number: u64,
        name: &'static str,
        classes: &[SyscallClass],
    ) -> NamedSyscall<'static> {
        NamedSyscall {
            abi,
            number,
            name,
            classes: classes.iter().copied().collect(),
        }
    }

    fn names(text: &str) -> Vec<String> {
        let calls = SyscallSet::parse(text, &known()).unwrap();
        known()
            .iter()
            .filter(|known| calls.contains(known.abi, known.number))
            .map(|known| {
                format!(
                    "{}@{}",
                    known.name,
                    if known.abi == Abi::I386 { 32 } else { 64 }
                )
            })
            .collect()
    }

    // The names without an ABI are the machine's own.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn calls_are_chosen_by_name_class_number_and_regular_expression() {
        assert_eq!(names("open"), ["open@64", "open@32"]);
        assert_eq!(names("open@32"), ["open@32"]);
        assert_eq!(names("open@64,getpid"), ["open@64", "getpid@64"]);
        assert_eq!(names("%net"), ["socket@64"]);
        assert_eq!(names("network"), ["socket@64"]);
        assert_eq!(names("%file@64"), ["open@64", "openat@64"]);
        assert_eq!(names("/^open"), ["open@64", "openat@64", "open@32"]);
        assert_eq!(names("39"), ["getpid@64"]);
        assert_eq!(names("?nothing,read"), ["read@64"]);
        assert_eq!(names("none"), [""; 0]);
        assert_eq!(names("all").len(), known().len());
    }

    #[test]
    fn an_exclamation_mark_means_every_other_call_even_unknown_ones() {
        assert_eq!(names("!%file,read"), ["getpid@64", "socket@64"]);
        let calls = SyscallSet::parse("!open", &known()).unwrap();
        assert!(calls.contains(Abi::X86_64, 700) && calls.contains(Abi::X86_64, 1 << 40));
    }

    #[test]
    fn calls_without_a_name_are_those_that_none_of_the_known_is() {
        let nameless = SyscallSet::nameless(&known());
        assert!(nameless.contains(Abi::X86_64, 1) && nameless.contains(Abi::X86_64, 1 << 40));
        assert!(!nameless.contains(Abi::X86_64, 257) && nameless.contains(Abi::I386, 257));
    }

    #[test]
    fn what_isnt_known_is_refused() {
        assert_eq!(
            SyscallSet::parse("opne", &known()),
            Err(SyscallSetError::UnknownCall("opne".to_owned()))
        );
        assert_eq!(
            SyscallSet::parse("%flie", &known()),
            Err(SyscallSetError::UnknownClass("%flie".to_owned()))
        );
        assert_eq!(
            SyscallSet::parse("/(", &known()),
            Err(SyscallSetError::Regex("(".to_owned()))
        );
        let refused = |text| SyscallSet::parse(text, &known()).unwrap_err();
        assert_eq!(refused("/x"), SyscallSetError::NoMatch("/x".to_owned()));
        assert_eq!(names("?/x,read"), ["read@64"]);
        for number in ["1024", "99999999999999999999999"] {
            assert_eq!(refused(number), SyscallSetError::Number(number.to_owned()));
        }
        for text in ["read@16", "/^open@ohmy", "39@"] {
            let refused = refused(text);
            assert!(
                matches!(refused, SyscallSetError::UnknownAbi { .. }),
                "{refused}"
            );
        }
        for text in ["", "!", "read,all"] {
            let refused = refused(text);
            assert!(matches!(refused, SyscallSetError::List(_)), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn ranges_hold_just_what_the_set_has(numbers in proptest::collection::btree_set(0_u32..NUMBERS as u32, 0..60)) {
            let mut calls = SyscallSet::none();
            for number in &numbers {
                calls.insert(Abi::X86_64, u64::from(*number));
            }
            let (ranges, others) = calls.ranges(Abi::X86_64);
            let listed: Vec<u32> = ranges.iter().flat_map(|(first, last)| *first..=*last).collect();
            prop_assert!(!others);
            prop_assert_eq!(listed, numbers.into_iter().collect::<Vec<_>>());
        }
    }
}
