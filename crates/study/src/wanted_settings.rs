//! What the lab and the plan ask of the settings of machines, resolved by the definitions.

use backsight_model::{Arrangement, DocumentError, HostName};
use backsight_settings::{
    PreparationSource, SettingCatalog, SettingCatalogError, WantedSetting, resolve,
};
use indexmap::IndexMap;

/// Why settings can't be resolved.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum UnresolvedSettings {
    /// A setting, value or parameter that doesn't exist, or two that don't fit together.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Document(#[from] DocumentError),
    /// A definition that can't be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Catalog(#[from] SettingCatalogError),
}

/// The settings that an arrangement's machines shall have.
///
/// # Errors
/// A document asks for what no definition knows.
pub fn wanted_settings(
    arrangement: &Arrangement,
) -> Result<IndexMap<HostName, Vec<WantedSetting>>, UnresolvedSettings> {
    if arrangement.preparations.is_empty() {
        return Ok(IndexMap::new());
    }
    let mut sources: IndexMap<HostName, Vec<PreparationSource<'_>>> = IndexMap::new();
    for it in &arrangement.preparations {
        let of_host = sources.entry(it.host.clone()).or_default();
        of_host.push(PreparationSource {
            document: &it.document,
            preparation: &it.preparation,
        });
    }
    let catalog = SettingCatalog::load(&[])?;
    let resolved = sources
        .into_iter()
        .map(|(host, sources)| Ok((host, resolve(&catalog, &sources)?)));
    resolved.collect()
}
