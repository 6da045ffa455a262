//! Who asks a server: known by a token of the store, or by what a proxy says that has one.
//!
//! A token comes in a header that no browser sends by itself, so that a page of others can't make a reader's browser ask for anything.
//! Wrong ones are answered one after the other, each after a while: nobody finds one by trying.

mod gate;
mod secret;

pub use axum::http::HeaderName;
pub use gate::{AccessRefusal, Caller, Gate, PERSON_HEADER};
pub use secret::new_token;
