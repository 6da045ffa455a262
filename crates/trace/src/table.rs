//! What the calls are: by way of calling and number the name, the arguments with their types, and what lies behind them.
//!
//! Refuses: to say what a call does.

use crate::{Abi, Call, When};

/// A call of the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Its name, as the kernel has it: `openat`.
    pub name: &'static str,
    /// Its arguments, in order.
    pub arguments: &'static [Argument],
}

/// An argument of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Argument {
    /// Its name, as the kernel has it: `filename`.
    pub name: &'static str,
}

/// A stretch of memory that a call is to be shown with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want {
    /// Where it begins.
    pub address: u64,
    /// How much of it.
    pub extent: Extent,
}

/// How much is read from an address on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// So many bytes.
    Bytes(usize),
    /// Up to the first zero byte, that included, but no more than so many bytes.
    Text(usize),
}

/// How much of what lies behind pointers is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of a string or a buffer.
    pub string: usize,
    /// Most elements of an array.
    pub elements: usize,
}

/// The row of a call; nothing if the kernel has none with this number, as far as we know.
pub fn row(_abi: Abi, _number: u64) -> Option<&'static Row> {
    None
}

/// What is still to be read for a call, given what was read of it before: pieces may hold pointers to others. An engine
/// asks and reads until nothing is wanted, once when the call is entered and once when it came back.
pub fn wants(_call: &Call, _when: When, _limits: Limits) -> Vec<Want> {
    Vec::new()
}
