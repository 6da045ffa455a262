//! What an argument of a call, or a field of a structure, means: what is shown of it and what memory is behind it.

pub use backsight_syscall_tables::Names;

/// How many bytes a number takes in memory; in a register, how many of the register's are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntegerWidth {
    /// One byte.
    One,
    /// Two bytes.
    Two,
    /// Four bytes.
    Four,
    /// As wide as a register of the program.
    Eight,
}

impl IntegerWidth {
    /// In bytes.
    pub const fn bytes(self) -> usize {
        match self {
            IntegerWidth::One => 1,
            IntegerWidth::Two => 2,
            IntegerWidth::Four => 4,
            IntegerWidth::Eight => 8,
        }
    }
}

/// Whether memory is read as a call is entered, or as it comes back because the kernel writes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataDirection {
    /// The program says something to the kernel.
    In,
    /// The kernel says something to the program: nothing if the call failed.
    Out,
}

/// How long something behind a pointer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthSource {
    /// So many.
    Fixed(usize),
    /// As many as this argument says.
    Argument(usize),
    /// The same, where the kernel takes no more than this.
    UpTo(usize, usize),
    /// As many as this argument says, of which no more than so many are shown, whatever is asked for.
    First(usize, usize),
    /// As many as the result says.
    Result,
    /// The same, but no more than this argument says.
    ResultWithin(usize),
    /// As many as the 32-bit number says that this argument points to, after the call, but no more than before it.
    Behind(usize),
    /// As many as the number says that lies at this place of the structure that it stands in, but no more than this.
    Most(usize, IntegerWidth, usize),
    /// As many as the number says that lies at this place of the structure that it stands in; unless everything is asked for
    /// no more than this are shown.
    Few(usize, IntegerWidth, usize),
    /// As many as the number says that lies at this place of the structure that it stands in, of which the kernel looks at no
    /// more than this.
    Capped(usize, IntegerWidth, usize),
    /// One more than twice as many as the 32-bit number says that lies at this place of the structure, but no more than this.
    Pairs(usize, usize),
    /// As many as the 32-bit number says that lies at this place behind this argument, in a structure of this size.
    At(usize, usize, usize),
    /// As many as the number says that lies at this place of the structure that it stands in, times this.
    Field(usize, IntegerWidth, usize),
    /// As many of this size as are whole in the bytes whose number lies at this place of the structure.
    Whole(usize, IntegerWidth, usize),
    /// As many as the number with its sign says that lies at this place of the structure, none where it is negative, and so
    /// many more.
    Positive(usize, IntegerWidth, usize),
    /// As many as the 32-bit number says that lies at this place of the structure, without those that the number with its
    /// sign at that place says remained.
    Without(usize, usize),
    /// As many of this size as are whole in the bytes whose number lies at this place of the structure, both as the program
    /// says it and as the kernel does.
    Both(usize, usize),
    /// The bytes of a console's font: how wide its letters are lies at this place of the structure, how many they are there.
    Glyphs(usize, usize),
}

/// A structure in memory.
#[derive(Debug, PartialEq)]
pub struct StructureLayout {
    /// Its size in bytes.
    pub size: usize,
    /// What is shown of it, in order.
    pub fields: &'static [StructureField],
}

/// A field of a structure.
#[derive(Debug, PartialEq)]
pub struct StructureField {
    /// Its name.
    pub name: &'static str,
    /// Where it lies, in bytes from the structure's beginning.
    pub at: usize,
    /// What it means.
    pub kind: ValueKind,
    /// When it is shown.
    pub shown: FieldVisibility,
    /// Who writes it.
    pub source: FieldSource,
}

/// What a session of a trusted execution environment is asked: a head, and parameters behind it.
#[derive(Debug, PartialEq)]
pub struct TeeSessionLayout {
    /// The head with its parameters, as it is asked.
    pub asked: ValueKind,
    /// The same, as it is answered.
    pub answered: ValueKind,
    /// The size of the head.
    pub head: usize,
    /// Where in the head the number of parameters lies.
    pub count_at: usize,
    /// The size of a parameter.
    pub parameter: usize,
}

/// Who writes a field of a structure that is passed to the kernel and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldSource {
    /// The program.
    Before,
    /// The kernel: not shown where the call failed.
    After,
    /// The program, and then the kernel.
    Both,
    /// The program, and then the kernel where it changes it.
    Changed,
    /// The same, with the name before it once more.
    Renewed,
    /// The kernel: where it wrote nothing, dots stand for it.
    Awaited,
}

/// A structure that a call is asked with, and that has grown since there is that call: the caller says how long it is, and
/// what isn't there of it is zero.
#[derive(Debug, PartialEq)]
pub struct ExtensibleStructure {
    /// The member of a union that it stands in; nothing where it stands alone.
    pub member: &'static str,
    /// What is known of it.
    pub structure: &'static StructureLayout,
    /// Where those of its fields begin that were added at some time: from one of them on to the next they are there where
    /// the length goes beyond the first.
    pub since: &'static [usize],
    /// What stands instead of it, by what is said in it.
    pub instead: Option<InsteadOf>,
    /// The number that the kernel changes, told again behind the whole.
    pub anew: Option<&'static StructureField>,
    /// A field that was added later than what lies behind it: where it lies, and the length beyond which it is there.
    pub late: Option<(usize, usize)>,
    /// Whether what the program says beyond what is known isn't looked at: only that there is more is told.
    pub brief: bool,
    /// Whether a text that isn't there to its end goes on with zeros, too.
    pub pads_texts: bool,
}

/// What stands instead of a structure, by what is said in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InsteadOf {
    /// Where the number of four bytes lies that says it.
    pub at: usize,
    /// Which of its bits.
    pub bits: u64,
    /// The length beyond which something stands there.
    pub beyond: usize,
    /// What they may be, and what stands instead then.
    pub cases: &'static [(&'static [u64], &'static ExtensibleStructure)],
}

/// What another field of the same structure must be: where it lies, and what of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldCondition {
    /// One of these values.
    Is(usize, IntegerWidth, &'static [u64]),
    /// None of these values.
    Not(usize, IntegerWidth, &'static [u64]),
    /// Some of these bits.
    Has(usize, IntegerWidth, u64),
    /// None of these bits.
    Lacks(usize, IntegerWidth, u64),
    /// The call failed.
    Failed,
    /// Everything is asked for.
    Verbose,
    /// Not everything is.
    Brief,
}

/// A part of a number: which of its bits, and how they are shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BitField {
    /// The bits.
    pub mask: u64,
    /// How they are shown.
    pub shown: BitFieldStyle,
}

/// How a part of a number is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BitFieldStyle {
    /// As a value with a name.
    One(&'static Names),
    /// In words that no list of names has.
    Worded(&'static CustomFormat),
    /// As bits with names; not at all where there are none.
    Flags(&'static Names),
    /// The same, with a remark where none has a name.
    Bits(&'static Names),
    /// As a number, also where it is zero.
    Number,
    /// As a number that is moved so far to the left, and what that distance is called; not at all where it is zero.
    Shifted(u32, &'static str),
    /// As a number; not at all where it is zero.
    Rest,
}

impl BitFieldStyle {
    /// Whether it is shown where none of its bits is set, too.
    pub fn always(self) -> bool {
        matches!(
            self,
            BitFieldStyle::One(_) | BitFieldStyle::Worded(_) | BitFieldStyle::Number
        )
    }
}

/// How a number is put in words that no list of names has.
pub struct CustomFormat {
    /// Writes it.
    pub write: fn(&mut Vec<u8>, u64),
    /// How the number itself is shown.
    pub number: UnnamedStyle,
}

/// How a number that is put in words is shown where no words are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnnamedStyle {
    /// The words are all there is.
    Words,
    /// In hexadecimal.
    Hex,
    /// In hexadecimal where no words are wanted at all.
    HexAlone,
    /// In decimal, with its sign.
    Decimal,
    /// The same of 32 bits.
    Int,
    /// In decimal.
    Unsigned,
    /// In hexadecimal, also where words are wanted: these are a remark then.
    HexBeside,
    /// In decimal, also where words are wanted: these are a remark then, where there are any.
    Remarked,
}

impl std::fmt::Debug for CustomFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wording").finish_non_exhaustive()
    }
}

impl PartialEq for CustomFormat {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// When a field is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldVisibility {
    /// Always.
    Always,
    /// Only when everything is asked for (`-v`); else dots stand for it.
    Verbose,
    /// Only when it isn't zero.
    NotZero,
    /// Only when everything is asked for and it isn't zero; else dots stand for it.
    VerboseNotZero,
    /// Only when it isn't zero, or one of these bits is set at the structure's beginning.
    With(u64),
    /// Only when the structure goes so far.
    Reached,
}

/// What the number of a process is the number of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PidKind {
    /// A thread.
    Thread,
    /// A process.
    Process,
    /// A group of processes.
    Group,
    /// A session.
    Session,
    /// A process or, where it is negative, a group.
    ProcessOrGroup,
}

/// What an argument or a field means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueKind {
    /// A signed number.
    Signed(IntegerWidth),
    /// An unsigned number.
    Unsigned(IntegerWidth),
    /// Bits without names.
    Hex(IntegerWidth),
    /// Bits in octal.
    Octal(IntegerWidth),
    /// An address that nothing is known about.
    Address,
    /// A file descriptor.
    Fd,
    /// A file descriptor, or one of these values.
    FdOr(&'static Names),
    /// A file descriptor of a directory, or the current one.
    DirFd,
    /// A number of a user or a group.
    Id,
    /// Permissions.
    Permissions,
    /// A file's type and permissions.
    FileMode,
    /// A device's number.
    Device,
    /// A device's number in the halves that `statx` has.
    Halves,
    /// A signal's number.
    Signal,
    /// The number of a process, a thread, or several processes.
    Process(PidKind),
    /// Bits with names.
    Flags(IntegerWidth, &'static Names),
    /// One of several values with names.
    One(IntegerWidth, &'static Names),
    /// A value with a name, and bits with names beside it.
    OneAndFlags(IntegerWidth, u64, &'static Names, &'static Names),
    /// Seconds since 1970, with the moment that they are in words where everything is asked for.
    Moment,
    /// Not shown.
    Hidden,
    /// A path: always shown in full.
    Path(DataDirection),
    /// Text up to a zero byte.
    Text(DataDirection),
    /// Bytes.
    Bytes(DataDirection, LengthSource),
    /// Bytes that are never text.
    Binary(DataDirection, LengthSource),
    /// Bytes that are text more often than not.
    Value(DataDirection, LengthSource),
    /// Something of its own.
    To(DataDirection, &'static ValueKind),
    /// A structure that grew, as long as this says: no less than so many bytes, and what is behind those that are known is
    /// shown where it isn't zero.
    Sized(DataDirection, &'static StructureLayout, usize, LengthSource),
    /// Such a structure, which this argument says the length of.
    Growing(&'static ExtensibleStructure, usize),
    /// Several of the same.
    Many(DataDirection, &'static ValueKind, LengthSource),
    /// Text up to a zero byte, of which the kernel looks at no more than so many bytes.
    Name(DataDirection, usize),
    /// Text up to a zero byte, and no more than so many bytes.
    Limited(DataDirection, LengthSource),
    /// This where another argument is in a range, else an address: the argument, its least and its most.
    Within(usize, u64, u64, &'static ValueKind),
    /// A descriptor of the process that this argument names.
    FdOf(usize),
    /// A descriptor of the process that the descriptor in this argument means.
    FdBehind(usize),
    /// Such a thing in place.
    Structure(&'static StructureLayout),
    /// Several of the same in place.
    Array(&'static ValueKind, usize),
    /// Text in a field of this size.
    Characters(usize),
    /// The same, where no more than so many bytes of it are looked at.
    Letters(LengthSource, usize),
    /// A value with a name; what has none is a number with its sign.
    Named(IntegerWidth, &'static Names),
    /// The same, without a sign.
    Known(IntegerWidth, &'static Names),
    /// What depends on another argument: its number, what it may be, and what this is otherwise. Hidden at the end, the
    /// argument isn't there.
    By(usize, &'static [(u64, ValueKind)], &'static ValueKind),
    /// The same by these bits of the other argument.
    ByBits(usize, u64, &'static [(u64, ValueKind)], &'static ValueKind),
    /// An argument that isn't shown, whatever follows it.
    Skipped,
    /// What depends on another argument: its number, how far it is moved to the right, and for what that may be then what
    /// the arguments behind it mean; the largest number stands for all that aren't there. What is behind the last of
    /// them isn't there.
    Per(usize, u32, &'static [(u64, &'static [ValueKind])]),
    /// What depends on another field of the same structure: where that lies, what it may be, and what this is otherwise.
    ByField(
        usize,
        IntegerWidth,
        &'static [(u64, ValueKind)],
        &'static ValueKind,
    ),
    /// What is there only where another field of the same structure says so.
    Only(FieldCondition, &'static ValueKind),
    /// Bytes in a field of a structure: how many there are, and for how many there is room.
    Octets(LengthSource, usize),
    /// Several of the same in place: how many there are, and for how many there is room.
    Counted(&'static ValueKind, LengthSource, usize),
    /// A structure behind a pointer, of which the program says one part and the kernel the other.
    InOut(&'static StructureLayout),
    /// What the program says behind a pointer, and what the kernel says there then.
    Exchange(&'static ValueKind, &'static ValueKind),
    /// What the kernel says even where the call failed.
    Despite(&'static ValueKind),
    /// What the program says and then the kernel, where its address stands for what the kernel didn't say because the call failed.
    Answered(&'static ValueKind, &'static ValueKind),
    /// What the kernel says where the program has to leave nothing but zeros; where it didn't, shown like the former.
    Cleared(&'static ValueKind, &'static ValueKind),
    /// What lies where this field of a structure begins, however much of it: meant as by a pointer to it.
    Tail(&'static ValueKind),
    /// What has no brackets where it lies behind a pointer.
    Plain(&'static ValueKind),
    /// More that isn't shown.
    Unsaid,
    /// The same, where it is, unless everything is asked for.
    Gap,
    /// Several, of which is shown only whether there are any.
    Dots(LengthSource),
    /// Shown where everything is asked for; else as an address.
    Verbose(&'static ValueKind),
    /// A number that consists of parts.
    Parts(IntegerWidth, &'static [BitField]),
    /// The same, where each of the parts is shown as a number of its own.
    Several(IntegerWidth, &'static [BitField]),
    /// The same, but as one number where no names are wanted.
    Joined(IntegerWidth, &'static [BitField]),
    /// A number that is put in words.
    Worded(IntegerWidth, &'static CustomFormat),
    /// What depends on how the program calls the kernel: on x86-64, elsewhere.
    ByAbi(&'static ValueKind, &'static ValueKind),
    /// What networks have in an order of bytes or a form of its own.
    Wire(NetworkKind),
    /// What isn't said by these words.
    Special(SpecialKind),
}

/// What is said of networks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NetworkKind {
    /// An interface's number.
    Interface,
    /// Bits in hexadecimal with all of their digits.
    Padded(IntegerWidth),
    /// The hardware address of a device, so many bytes of it.
    Hardware(usize),
    /// So many bytes that are never text.
    Bytes(usize),
    /// Two bytes in the network's order.
    Short,
    /// A universal identifier, in sixteen bytes.
    Uuid,
    /// A port.
    Port,
    /// Four bytes in the network's order.
    Int,
    /// Eight bytes in the network's order.
    Long,
    /// Four bytes in the network's order, as bits.
    Bits,
    /// The protocol of a packet, in the network's order; one that has no name is said to be this.
    Protocol(&'static str),
    /// An address of four bytes.
    Inet,
    /// An address of four bytes where there is room for sixteen.
    WideInet,
    /// An address of sixteen bytes.
    Inet6,
    /// A value with a name that only the kernel has, shown beside the number.
    Named(IntegerWidth, &'static Names),
    /// Bits with such names.
    Flags(IntegerWidth, &'static Names),
    /// Numbers of which each has a name.
    Indexed(IntegerWidth, usize, &'static Names),
    /// A device's number in four bytes.
    Device,
    /// Hundredths of a second in four bytes or eight.
    Ticks(IntegerWidth),
}

/// In which structure a terminal's settings are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermiosVersion {
    /// `termio`, with two bytes for each set of modes.
    Old,
    /// `termios`.
    Usual,
    /// `termios2`, with the speeds.
    Speeds,
}

impl TermiosVersion {
    /// Its size in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            TermiosVersion::Old => 18,
            TermiosVersion::Usual => 36,
            TermiosVersion::Speeds => 44,
        }
    }
}

/// What needs code of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SpecialKind {
    /// Flags of `open`.
    OpenFlags,
    /// The mode of `open`, where the flags of this argument say that a file may be made.
    OpenMode(usize),
    /// Vectors of strings that end with nothing: the arguments of a program.
    Arguments,
    /// The same, of which only the number is shown: its environment.
    Environment,
    /// A wait status behind a pointer.
    Status,
    /// A wait status in a structure.
    StatusInPlace,
    /// A set of signals.
    Signals(DataDirection),
    /// What a signal's handler goes back to: of that, the signals that were blocked.
    SignalFrame,
    /// A socket's address, its length in this argument.
    Address(usize),
    /// A socket's address that the kernel says, its length behind this argument.
    AddressOut(usize),
    /// A socket's address in a structure, where it has room for so many bytes.
    InPlaceAddress(usize),
    /// The length of that.
    AddressLength,
    /// A message.
    Message(DataDirection),
    /// Several messages.
    Messages(DataDirection),
    /// A message of a queue, its length in the next argument or the result.
    Queued(DataDirection),
    /// What goes through a socket: bytes, but what a netlink socket carries.
    Spoken(DataDirection, LengthSource),
    /// Vectors of buffers, so many as this argument says.
    Vectors(DataDirection, usize),
    /// Vectors of buffers or one of bytes that are never text: where in the same structure the number of vectors lies, none
    /// for one buffer, and how many bytes there are in all.
    Scattered(DataDirection, usize, IntegerWidth, LengthSource),
    /// A console's tone: how high, and how long.
    Tone,
    /// A signal in eight bytes, which may be more than any is.
    WideSignal,
    /// What a key does.
    Key(DataDirection),
    /// What a key says.
    KeyString(DataDirection),
    /// Which places of a font show which letters, as the kernel says.
    Mappings,
    /// The name of a font.
    FontName,
    /// A request of a SCSI device.
    Scsi,
    /// A request of the device mapper.
    Mapper,
    /// A set of file descriptors: where what came of it is said behind the result.
    Descriptors,
    /// What is polled, as many as this argument says.
    Polled,
    /// What `ioctl` is asked.
    Request,
    /// What `ioctl` is given.
    Requested,
    /// What a session of a trusted execution environment is asked and answers, as long as the number of eight bytes that
    /// lies behind it in the same structure says.
    TeeSession(&'static TeeSessionLayout),
    /// What a request carries of which nothing is known but how much it is and which way it goes.
    Carried,
    /// What `fcntl` is given.
    Fcntl,
    /// A thread's name.
    ThreadName(DataDirection),
    /// What `arch_prctl` is given.
    ArchPrctl,
    /// The timeout of a futex, or its second number.
    FutexTimeout,
    /// The operation of a futex with its flags.
    FutexOperation,
    /// The last number of a futex.
    FutexLast,
    /// What `clone3` is asked.
    Clone,
    /// A signal's circumstances.
    Information(DataDirection),
    /// Whose events a timer raises.
    Event,
    /// What a socket is set to.
    Option(DataDirection),
    /// The protocol of a socket, by its domain.
    Protocol,
    /// The name of a socket's option, by its level.
    OptionName,
    /// Directory entries.
    Entries,
    /// Capabilities.
    Capabilities(DataDirection),
    /// The times of a file.
    Times,
    /// The remainder of a sleep, said when it was interrupted.
    Remainder,
    /// Bits of processors, the length in the argument before or the result.
    Processors(DataDirection),
    /// A set of signals with its size, as `pselect6` has it.
    SignalsAndSize,
    /// A limit, of which the highest is no limit.
    Limit,
    /// The flags of `openat2`.
    HowFlags,
    /// The mode of `openat2`.
    HowMode,
    /// A descriptor in eight bytes, which may be more than any has.
    WideFd,
    /// What `sched_setattr` is told.
    Schedule(DataDirection),
    /// How a thread is scheduled, and whether its children aren't.
    Policy,
    /// A structure that says in its first four bytes how long it is, and how long it was at first.
    Measured(&'static StructureLayout, usize),
    /// What `statmount` says of a mount.
    MountStatus,
    /// Numbers of mounts or of name spaces, as many as the result says.
    Listed,
    /// What `stat` says.
    Stat,
    /// What `statx` says.
    Statx,
    /// The flags of `statx`, with how it is to agree with a server.
    StatxFlags,
    /// Terminal settings.
    Terminal(DataDirection, TermiosVersion),
    /// The bits that are set of as many bytes as the result says.
    BitSet(&'static Names),
    /// Seconds and nanoseconds, with the moment that they are where they are one.
    Instant(&'static StructureLayout),
    /// Sets of nodes of memory, of as many bits as this argument says but one.
    Nodes(DataDirection, usize),
    /// What each contact of a touch screen says of one thing, as many as the request says.
    Slots(&'static Names),
    /// Two things in brackets.
    Pair(&'static ValueKind, &'static ValueKind),
    /// What is done with a signal.
    Action(DataDirection),
    /// A device's number, where the mode in this argument says that it is one.
    NodeDevice(usize),
    /// A moment in seconds and microseconds.
    TimevalMoment,
    /// What `mount` hands to the file system.
    MountData,
    /// What `epoll_ctl` watches.
    Watched,
    /// What a process used up, where one was found.
    Usage,
    /// Whose capabilities.
    CapabilityHeader,
    /// An execution domain.
    Persona,
    /// Random bytes, always shown in hexadecimal.
    Random,
    /// Where `mremap` is to put it.
    NewAddress,
    /// Which pages are resident.
    Resident,
    /// The length of a socket's option.
    OptionLength,
    /// The first number of a futex.
    FutexValue,
    /// A key of inter-process communication.
    IpcKey,
    /// Its flags and permissions.
    IpcMode,
    /// What is asked of it, with the version of its structures.
    IpcCommand(&'static Names),
    /// What a thread and the kernel share for sequences that begin anew, its length in the next argument.
    RestartableSequences,
    /// A position in a file that the kernel moves on.
    Offset,
    /// The flags of `mount`.
    MountFlags,
    /// The file system's type of `mount`.
    MountType,
    /// What `syslog` is asked.
    SyslogType,
    /// What `membarrier` is asked.
    Membarrier,
    /// The priority of input and output.
    Priority,
    /// A device's number of which the kernel takes half a register.
    ShortDevice,
    /// The flags of `swapon` with its priority.
    SwapFlags,
    /// How urgent a message of the kernel is.
    LogLevel,
    /// A time in hundredths of a second.
    Ticks,
    /// An instruction of a program that the kernel runs.
    Instruction,
    /// A set of signals, its size in this argument.
    SizedSignals(DataDirection, usize),
    /// The address of a set of signals, whose size in four bytes lies at this place of the same structure.
    FieldSignals(usize),
    /// A signal's circumstances in place.
    InformationInPlace,
    /// Where a part begins of what a debugger sees of a thread.
    UserOffset,
    /// A thread's registers: those of floating numbers, or the general ones.
    Registers(DataDirection, bool),
    /// A set of registers by a vector, its kind in the argument before.
    RegisterSet(DataDirection),
    /// At what a thread has stopped, or what its call is made to be; its size in the argument before.
    StopInformation(DataDirection),
    /// What is counted.
    Counter,
    /// What a ring can do, as many operations as its last argument says.
    Probe,
    /// How many workers a ring has of each kind.
    Workers,
    /// What a ring is restricted to.
    Restriction,
    /// What is asked about rings: one question after the other.
    RingQueries,
    /// Bits of processors, so many bytes as this argument says.
    ProcessorsOf(usize),
    /// What `bpf` says of the map or the program that is the descriptor at the beginning of the same structure, as many
    /// bytes as the number behind that says.
    BpfObject,
    /// The contexts that security modules say of this process, with what is asked for of one alone.
    SecurityContexts,
    /// A context that a security module is to have for it.
    SecurityContext,
    /// A file's handle, which is asked for or given.
    FileHandle(DataDirection),
    /// Nanoseconds since the machine was started, with the moment that they are.
    SinceStart,
}
