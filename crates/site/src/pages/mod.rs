//! The pages of a site, and how it is published.

mod address;
mod alert;
mod all_series;
mod assets;
mod book;
mod boot;
mod changed_facts;
mod changes;
mod compare_form;
mod comparison;
mod feeds;
mod folder;
mod frame;
mod history_data;
mod home;
mod inputs;
mod interval;
mod json;
mod machines;
mod measuring;
mod publish;
mod series;
mod series_list;
mod site;
mod site_page;
mod status;
mod studies;
mod target;
mod test_matrix;
mod version;
mod versions;

pub use book::{NoComparison, SiteTarget};
pub use folder::{FolderError, PublishedFiles};
pub use measuring::MeasureRequest;
pub use publish::{PublishError, publish};
pub use site::{ChangesBetween, Site, SiteError, SiteFile, StudyPages, VersionChanges};
