//! The page of a target's tests: the matrix of tests and versions, with links to the pages of versions, intervals and trials.

use backsight_policy::TestHistory;

use super::{Book, Press, PublishError, names};
use crate::{test_matrix_data::PageLinks, test_matrix_page::published_test_matrix};

impl Press<'_> {
    pub(super) fn tests(&mut self, book: &Book, history: &TestHistory) -> Result<(), PublishError> {
        let columns = history.columns.iter().map(|column| {
            let place = book.places.get(&column.id).copied();
            let version = place.map(|at| book.version_page(at));
            let commits = place.and_then(|at| book.range_page(at));
            (version.unwrap_or_default(), commits.unwrap_or_default())
        });
        let links = PageLinks {
            crumbs: book.crumbs(),
            columns: columns.collect(),
            trial: Some(names::trial),
        };
        let title = format!("Tests of {}", book.target);
        let page = published_test_matrix(&title, history, links)?;
        let file = format!("{}/{}", book.folder, names::TESTS);
        Ok(self.folder.write_file(&file, page.as_bytes())?)
    }
}
