//! The page of a target's tests: the matrix of tests and versions, with links to the pages of versions, intervals and trials.

use super::{
    book::Here,
    site::{Press, SiteError},
};
use crate::{test_matrix_data::PageLinks, test_matrix_page::published_test_matrix};

impl Press<'_> {
    pub(super) fn tests(&self, here: Here<'_>) -> Result<String, SiteError> {
        let Some(history) = &here.book.tests else {
            return Ok(String::new());
        };
        let columns = history.columns.iter().map(|column| {
            let place = here.places.get(&column.id).copied();
            let version = place.map(|at| here.to_version(at));
            let commits = place.and_then(|at| here.to_interval(at));
            (version.unwrap_or_default(), commits.unwrap_or_default())
        });
        let to_trial = |study, number| here.to_trial(study, number).unwrap_or_default();
        let links = PageLinks {
            crumbs: here.crumbs(),
            columns: columns.collect(),
            trial: Some(&to_trial),
        };
        let title = format!("Tests of {}", here.target);
        Ok(published_test_matrix(&title, history, links)?)
    }
}
