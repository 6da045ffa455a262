//! JSON schema of the lines that [`JsonWriter`](crate::json::JsonWriter) makes: types that say what is in them, from which the schema is
//! generated. Nothing is written through them: a writer of its own is several times faster.

use std::collections::BTreeMap;

use schemars::JsonSchema;

/// A line: something that happened to a traced thread.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TraceLine {
    /// The process: its thread group.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// When it was, in nanoseconds of the machine's monotonic clock; of a call, when it came back.
    pub at: u64,
    /// What happened.
    #[schemars(flatten)]
    pub event: LineEvent,
}

/// What happened.
#[derive(Debug, JsonSchema)]
#[schemars(tag = "type", rename_all = "lowercase")]
pub enum LineEvent {
    /// A call came back, or never will.
    Call(CallLine),
    /// A call goes on; it is told again when it comes back.
    Pending(PendingLine),
    /// A signal was delivered.
    Signal(SignalLine),
    /// The functions that the thread was in that made the call, or got the signal, of the line before; with `-k`.
    Stack(StackLine),
    /// The process was stopped by a signal, as by ^Z.
    Stopped(StoppedLine),
    /// The thread ended.
    Exited(ExitedLine),
    /// The thread was ended by a signal.
    Killed(KilledLine),
    /// The thread is gone, as another one of its process executed a program.
    Superseded(SupersededLine),
    /// The thread is traced from here on.
    Attached(AttachedLine),
    /// The thread isn't traced any longer, and goes on.
    Detached {},
    /// Events are missing here.
    Lost(LostLine),
    /// What lies behind an argument couldn't be changed as was asked.
    Unchanged(UnchangedLine),
    /// A task that nobody asked to trace came to the tracer, by its maker's doing; it goes on untraced.
    Stranger(StrangerLine),
    /// The call that a thread waited in as it was attached to, and that its `restart_syscall` takes up again.
    Interrupted(InterruptedLine),
}

/// A call that came back, or never will.
#[derive(Debug, JsonSchema)]
pub struct CallLine {
    /// The call as it was made.
    #[schemars(flatten)]
    pub made: PendingLine,
    /// What it returned; -1 for errors, null where it never comes back.
    pub result: CallResult,
    /// The name of the error, as `ENOENT`.
    pub errno: Option<String>,
    /// How long it took, in nanoseconds; not of one that never comes back.
    pub took: Option<u64>,
    /// What stands beside the result in text.
    pub beside: Option<Value>,
}

/// What a call returned.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum CallResult {
    /// A number; -1 for errors.
    Returned(i64),
    /// Nothing, of a call that never comes back.
    Never(()),
}

/// A call as it was made.
#[derive(Debug, JsonSchema)]
pub struct PendingLine {
    /// How the kernel was called.
    pub abi: AbiName,
    /// The name of the call; none where the number has none.
    pub name: Option<String>,
    /// The number of the call.
    pub number: u64,
    /// When it was made, in nanoseconds of the machine's monotonic clock.
    pub entered: u64,
    /// The address of the instruction that made it, with `-i`.
    pub instruction: Option<u64>,
    /// The arguments.
    pub arguments: Arguments,
    /// Whether its result was made up (`-e inject=`); else missing.
    pub injected: Option<bool>,
    /// Whether memory behind its arguments was changed (`-e inject=`); else missing.
    pub rewritten: Option<bool>,
    /// Whether it was delayed (`-e inject=`); else missing.
    pub delayed: Option<bool>,
}

/// A way to call the kernel.
#[derive(Debug, JsonSchema)]
pub enum AbiName {
    /// 64-bit calls on x86.
    #[schemars(rename = "x86-64")]
    X86_64,
    /// 32-bit calls on x86.
    #[schemars(rename = "i386")]
    I386,
    /// 64-bit calls on ARM.
    #[schemars(rename = "arm64")]
    Aarch64,
}

/// The arguments of a call.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum Arguments {
    /// By their names, as the kernel has them, in its order.
    Named(BTreeMap<String, Value>),
    /// All registers in hexadecimal, of a call that has no name.
    Unnamed(Vec<String>),
}

/// A value: a number; text; names of bits; an address or bits without names in hexadecimal; null for a pointer to nowhere; an array or
/// an object for what lies behind a pointer. Text that was cut is `{"start": …}`, what the kernel changed is
/// `{"before": …, "after": …}`, a descriptor with `-y` is `{"fd": …, "is": …}`.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum Value {
    /// A pointer to nowhere.
    Nothing(()),
    /// Yes or no.
    Truth(bool),
    /// A number.
    Number(i128),
    /// A text.
    Text(String),
    /// Several of the same.
    Several(Vec<Value>),
    /// A structure, or parts of a number, by their names.
    Structure(BTreeMap<String, Value>),
}

/// A function that a thread is in.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FrameLine {
    /// The file that is mapped there, or what the kernel calls it, as `[vdso]`.
    pub file: String,
    /// The function, where a symbol's range holds the place.
    pub function: Option<String>,
    /// How many bytes from its beginning.
    pub into: Option<u64>,
    /// Where it is in the file, in bytes from its beginning.
    pub offset: u64,
}

/// A signal was delivered.
#[derive(Debug, JsonSchema)]
pub struct SignalLine {
    /// Its name, as `SIGCHLD`.
    pub signal: String,
    /// Its number.
    pub number: i32,
    /// The address of the instruction that the thread was at, with `-i`.
    pub instruction: Option<u64>,
    /// What the kernel says of it: its `siginfo`.
    pub information: Option<Value>,
}

/// The functions that the thread was in that made the call, or got the signal, of the line before; with `-k`.
#[derive(Debug, JsonSchema)]
pub struct StackLine {
    /// The functions, the innermost first.
    pub frames: Vec<FrameLine>,
}

/// The process was stopped by a signal, as by ^Z.
#[derive(Debug, JsonSchema)]
pub struct StoppedLine {
    /// The signal's name.
    pub signal: String,
}

/// The thread ended.
#[derive(Debug, JsonSchema)]
pub struct ExitedLine {
    /// Its status.
    pub status: i32,
}

/// The thread was ended by a signal.
#[derive(Debug, JsonSchema)]
pub struct KilledLine {
    /// The signal's name.
    pub signal: String,
    /// Whether memory was dumped.
    pub core: bool,
}

/// The thread is gone, as another one of its process executed a program.
#[derive(Debug, JsonSchema)]
pub struct SupersededLine {
    /// The thread whose `execve` it was, by its number before.
    pub by: i32,
}

/// The thread is traced from here on.
#[derive(Debug, JsonSchema)]
pub struct AttachedLine {
    /// The thread that made it, where that is traced.
    pub parent: Option<i32>,
}

/// A task that nobody asked to trace came to the tracer, by its maker's doing; it goes on untraced.
#[derive(Debug, JsonSchema)]
pub struct StrangerLine {
    /// Whether it ended.
    pub ended: bool,
}

/// The call that a thread waited in as it was attached to, and that its `restart_syscall` takes up again.
#[derive(Debug, JsonSchema)]
pub struct InterruptedLine {
    /// The name of the call; none where the number has none.
    pub name: Option<String>,
    /// The number of the call.
    pub number: u64,
}

/// Events are missing here.
#[derive(Debug, JsonSchema)]
pub struct LostLine {
    /// How many.
    pub number: u64,
}

/// What lies behind an argument couldn't be changed as was asked.
#[derive(Debug, JsonSchema)]
pub struct UnchangedLine {
    /// The argument, from 0.
    pub argument: u64,
}
