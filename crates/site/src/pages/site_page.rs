//! What can be at an address of a site.

use super::assets::JAVASCRIPT;

/// What a page is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Home,
    /// Of the book of this number.
    Target(usize),
    Versions(usize),
    /// The list of all series, where the page of the target hasn't room for it.
    AllSeries(usize),
    /// Of a book, the series of this number.
    Series(usize, usize),
    /// What scripts read: the versions, their titles, the series that the page of the target doesn't list, and a series.
    VersionsData(usize),
    TitlesData(usize),
    ListData(usize),
    SeriesData(usize, usize),
    Tests(usize),
    /// Of a book, the alert of this number.
    Alert(usize, usize),
    /// Of a book, the version at this place.
    Version(usize, usize),
    /// What lies between the versions at these places.
    Interval(usize, usize, usize),
    /// The place of a study, and of a boot in it.
    Boot(usize, usize, usize),
    Studies,
    /// Of the study at this place: where it stands, and what it came to.
    Study(usize),
}

impl Page {
    pub fn media_type(self) -> &'static str {
        match self {
            Self::VersionsData(_)
            | Self::TitlesData(_)
            | Self::ListData(_)
            | Self::SeriesData(..) => JAVASCRIPT,
            _ => "text/html; charset=utf-8",
        }
    }
}
