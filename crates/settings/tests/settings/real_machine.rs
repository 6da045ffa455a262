//! On this machine.
