//! The pages of a site, and how it is published.

mod address;
mod book;
mod boot;
mod folder;
mod frame;
mod home;
mod interval;
mod publish;
mod site;
mod studies;
mod target;
mod test_matrix;
mod version;

pub use book::SiteTarget;
pub use folder::{FolderError, PublishedFiles};
pub use publish::{PublishError, publish};
pub use site::{ChangesBetween, Site, SiteError, SiteFile, StudyPages, VersionChanges};
