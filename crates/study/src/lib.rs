//! The loop: a policy says what it wants to know next, a measurer finds out, the store keeps it before
//! anything else is measured.
//!
//! [`pursue`] is that loop, the same for every verb. [`Question`] is what a study was asked, as documents
//! that can be kept, published and asked again. [`Testbed`] measures on real hosts, [`AlongHistory`] any
//! version of a target on them, [`Simulated`] in a made-up world.
//!
//! Refuses: to measure anything twice, and to go on when a result can't be kept.

mod ahead;
mod along;
mod evidence;
mod far;
mod overhead;
mod pursuit;
mod question;
mod simulated;
mod testbed;

pub use along::AlongHistory;
pub use evidence::{Along, evidence_along, evidence_before, evidence_of, questions};
pub use overhead::{Overhead, watched_cells};
pub use pursuit::{
    BootPlace, Measured, Measurer, Pursuit, PursuitError, Study, Unmeasurable, evidence_as_found,
    evidence_with_figures, pursue,
};
pub use question::{
    AlongChoices, AttemptChoices, BisectChoices, Choices, Modes, NoiseChoices, OverheadChoices,
    Question, QuestionError, SearchChoices, StepChoices, UntilChoices,
};
pub use simulated::Simulated;
pub use testbed::Testbed;
