//! Pages.
pub mod chart;
mod escape;
