//! Studies with real agents, and in made-up worlds.

#![allow(clippy::unwrap_used)]

mod ahead;
mod beside;
mod growing;
