//! The page that lists all series by their names, where the page of their target has no room for them: for readers without
//! scripts.

use askama::Template;

use super::{book::Here, frame::Frame, series_list::in_order, site::Press};

#[derive(Template)]
#[template(path = "pages/all_series.html")]
pub(super) struct AllSeriesPage {
    frame: Frame,
    series: Vec<SeriesLink>,
}

struct SeriesLink {
    name: String,
    href: String,
}

impl Press<'_> {
    pub(super) fn all_series(&self, here: Here<'_>) -> AllSeriesPage {
        let numbers = in_order(here.book).into_iter();
        AllSeriesPage {
            frame: Frame::new("All series", here.page, here.crumbs()),
            series: numbers
                .map(|number| SeriesLink {
                    name: here.book.history.series[number].name(),
                    href: here.to_series(number),
                })
                .collect(),
        }
    }
}
