//! Classes of calls, by which a trace is narrowed: `%file`, `%network`.

use std::collections::HashMap;
use std::sync::LazyLock;

use backsight_syscall_tables::CLASSES;

/// A class of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyscallClass {
    /// Those that take a path.
    File,
    /// Those that make, replace, await or end processes.
    Process,
    /// Those of sockets.
    Network,
    /// Those that map memory.
    Memory,
    /// Those of signals.
    Signal,
    /// Those that take or make file descriptors.
    Desc,
    /// Those of System V's inter-process communication.
    Ipc,
    /// Those of users' and groups' identities.
    Creds,
    /// Those that read or set clocks.
    Clock,
    /// The variants of `stat`.
    Stat,
    /// The variants of `lstat`.
    Lstat,
    /// The variants of `fstat` and `fstatat`, and `statx`.
    Fstat,
    /// All three: `%%stat`.
    AnyStat,
    /// The variants of `statfs`.
    Statfs,
    /// The variants of `fstatfs`.
    Fstatfs,
    /// Both, and `ustat`: `%%statfs`.
    AnyStatfs,
    /// Those that always succeed and have no arguments.
    Pure,
}

impl SyscallClass {
    /// All of them.
    pub const ALL: [SyscallClass; 17] = [
        SyscallClass::File,
        SyscallClass::Process,
        SyscallClass::Network,
        SyscallClass::Memory,
        SyscallClass::Signal,
        SyscallClass::Desc,
        SyscallClass::Ipc,
        SyscallClass::Creds,
        SyscallClass::Clock,
        SyscallClass::Stat,
        SyscallClass::Lstat,
        SyscallClass::Fstat,
        SyscallClass::AnyStat,
        SyscallClass::Statfs,
        SyscallClass::Fstatfs,
        SyscallClass::AnyStatfs,
        SyscallClass::Pure,
    ];

    /// Its name, without the first percent sign.
    pub fn name(self) -> &'static str {
        match self {
            SyscallClass::File => "file",
            SyscallClass::Process => "process",
            SyscallClass::Network => "network",
            SyscallClass::Memory => "memory",
            SyscallClass::Signal => "signal",
            SyscallClass::Desc => "desc",
            SyscallClass::Ipc => "ipc",
            SyscallClass::Creds => "creds",
            SyscallClass::Clock => "clock",
            SyscallClass::Stat => "stat",
            SyscallClass::Lstat => "lstat",
            SyscallClass::Fstat => "fstat",
            SyscallClass::AnyStat => "%stat",
            SyscallClass::Statfs => "statfs",
            SyscallClass::Fstatfs => "fstatfs",
            SyscallClass::AnyStatfs => "%statfs",
            SyscallClass::Pure => "pure",
        }
    }

    /// The class of this name, without the percent sign; also under the other names that strace knows.
    pub fn from_name(name: &str) -> Option<SyscallClass> {
        if name == "net" {
            return Some(SyscallClass::Network);
        }
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// The classes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyscallClasses(u32);

impl SyscallClasses {
    /// Whether the call belongs to this one.
    pub fn contains(self, class: SyscallClass) -> bool {
        self.0 & (1 << class as u16) != 0
    }
}

impl FromIterator<SyscallClass> for SyscallClasses {
    fn from_iter<T: IntoIterator<Item = SyscallClass>>(classes: T) -> Self {
        let bits = classes.into_iter().map(|class| 1 << class as u16);
        Self(bits.fold(0, |all, bit: u32| all | bit))
    }
}

static BY_NAME: LazyLock<HashMap<&'static str, SyscallClasses>> = LazyLock::new(|| {
    let mut classes: HashMap<_, SyscallClasses> = HashMap::new();
    for (name, calls) in CLASSES {
        let class = SyscallClass::from_name(name).expect("a class of the table is known");
        for call in *calls {
            classes.entry(*call).or_default().0 |= 1 << class as u16;
        }
    }
    classes
});

/// The classes of a call by its name.
pub fn classes_of_call(name: &str) -> SyscallClasses {
    BY_NAME.get(name).copied().unwrap_or_default()
}
