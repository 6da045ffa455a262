//! Settings that are made and put back: on folders that stand for machines, and where it is safe on this one.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod changing;
mod fake_machine;
mod killed;
mod making;
mod power_cut;
mod real_machine;
mod resolving;
mod restoring;
