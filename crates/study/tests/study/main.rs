//! Studies with real agents.

#![allow(clippy::unwrap_used)]

mod ahead;
