//! End-to-end tests of the tracer.
#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod kernel;
