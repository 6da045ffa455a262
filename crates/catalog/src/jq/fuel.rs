//! The fuel of a program: how much it may still do, and how that is charged.

use jaq_core::{DataT, Error, Lut, data::HasLut};
use jaq_json::Val;
use std::cell::Cell;

/// The kind of data that a run has.
pub struct FueledData;

/// The data of a run: the compiled filters, and the fuel that is left.
#[derive(Clone, Copy)]
pub struct RunData<'a> {
    /// The compiled filters.
    pub lut: &'a Lut<FueledData>,
    /// The fuel that is left.
    pub fuel: &'a Fuel,
}

/// What a program may still spend.
pub struct Fuel {
    /// Steps left.
    pub steps: Cell<u64>,
    /// Turns left.
    pub turns: Cell<u64>,
}

impl Fuel {
    /// Whether the program has taken more than it may.
    pub fn is_empty(&self) -> bool {
        self.steps.get() == 0 || self.turns.get() == 0
    }
}

impl DataT for FueledData {
    type V<'a> = Val;
    type Data<'a> = RunData<'a>;
}

impl<'a> HasLut<'a, FueledData> for RunData<'a> {
    fn lut(&self) -> &'a Lut<FueledData> {
        self.lut
    }
}

impl RunData<'_> {
    pub fn step(&self) -> Result<(), Error<Val>> {
        charge(&self.fuel.steps)
    }

    pub fn turn(&self) -> Result<(), Error<Val>> {
        charge(&self.fuel.turns)
    }
}

/// Takes one from what is left; an error where nothing is.
fn charge(left: &Cell<u64>) -> Result<(), Error<Val>> {
    left.set(left.get().saturating_sub(1));
    if left.get() == 0 {
        Err(Error::str("too many steps"))
    } else {
        Ok(())
    }
}
