//! What a store has, for readers: its site as it is now, served or published, and the read API.
//!
//! [`LiveSite`] follows a store that others write into; [`serve`] answers requests from it. The pages are those of
//! `backsight_site`, the API's answers are the views of `backsight_report`: nothing is made for the server alone.

mod access;
mod address;
mod api;
mod content;
mod control;
mod live_site;
mod open_api;
mod operations;
mod page_cache;
mod requests;
mod serve;
mod verdict_output;

pub use access::{PublicUrl, ServerAccess};
pub use content::SiteContent;
pub use live_site::LiveSite;
pub use open_api::open_api;
pub use serve::{ServeError, serve};
pub use verdict_output::{into_page, page, render, versions_of_study};
