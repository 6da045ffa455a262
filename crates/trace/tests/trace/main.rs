//! End-to-end tests of the tracer.

mod kernel;
