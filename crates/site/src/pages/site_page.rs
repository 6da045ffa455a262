//! What can be at an address of a site.

use super::{address::ComparisonForm, assets::JAVASCRIPT};

/// What a page is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Home,
    /// The changes of all targets, for readers of news.
    Feed,
    /// What isn't as it should be.
    Status,
    Machines,
    /// What the first page, the list of studies and that of machines tell, for programs.
    AlertsJson,
    StudiesJson,
    MachinesJson,
    /// How the target of the book of this number stands, as a small picture.
    Badge(usize),
    /// Of a book, what its pages tell, for programs.
    HistoryJson(usize),
    TestsJson(usize),
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
    /// Of a book, the form that asks which versions to compare; and the comparison of those that the address names,
    /// as a page and for programs.
    CompareForm(usize),
    Comparison(usize, ComparisonForm),
    /// The form that asks which studies to compare, and the comparison of those that the address names.
    StudiesForm,
    ComparedStudies(ComparisonForm),
    /// The same of a book's testbeds.
    TestbedsForm(usize),
    ComparedTestbeds(usize, ComparisonForm),
    /// The place of a study, and of a boot in it.
    Boot(usize, usize, usize),
    Studies,
    /// Of the study at this place: where it stands, and what it came to.
    Study(usize),
    /// The same for programs.
    StudyJson(usize),
}

impl Page {
    pub fn media_type(self) -> &'static str {
        match self {
            Self::VersionsData(_)
            | Self::TitlesData(_)
            | Self::ListData(_)
            | Self::SeriesData(..) => JAVASCRIPT,
            Self::Feed => "application/atom+xml; charset=utf-8",
            Self::Badge(_) => "image/svg+xml; charset=utf-8",
            Self::AlertsJson
            | Self::StudiesJson
            | Self::MachinesJson
            | Self::HistoryJson(_)
            | Self::TestsJson(_)
            | Self::Comparison(_, ComparisonForm::Data)
            | Self::ComparedStudies(ComparisonForm::Data)
            | Self::ComparedTestbeds(_, ComparisonForm::Data)
            | Self::StudyJson(_) => "application/json",
            _ => "text/html; charset=utf-8",
        }
    }
}
