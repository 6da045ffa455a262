//! The names of messages, flags and attributes, by what they are about.

pub(crate) mod diag;
pub(crate) mod generic;
pub(crate) mod link;
pub(crate) mod message;
pub(crate) mod route;
