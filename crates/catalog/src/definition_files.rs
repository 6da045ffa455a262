//! Files of definitions in a folder, and what can be wrong with them.

use backsight_model::{DocumentError, UnreadableFileError};
use std::path::{Path, PathBuf};

/// What is wrong with the catalogue.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CatalogError {
    /// A fault in a definition.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Problem(#[from] DocumentError),
    /// A file that can't be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Unreadable(#[from] UnreadableFileError),
    /// A folder that can't be read.
    #[error("can't read the folder of definitions {}: {cause}", path.display())]
    #[diagnostic(help("name a folder that has NAME.toml files, one a benchmark or one a monitor"))]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A file whose name can't be a definition's.
    #[error("{} can't be a definition", path.display())]
    #[diagnostic(help(
        "call the file after what it defines: 1 to 64 characters out of A-Z a-z 0-9 . _ + -, then .toml"
    ))]
    FileName {
        /// Which.
        path: PathBuf,
    },
}

pub(crate) fn definition_files(folder: &Path) -> Result<Vec<PathBuf>, CatalogError> {
    let fault = |cause| CatalogError::Folder {
        path: folder.to_owned(),
        cause,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fault)? {
        let file = entry.map_err(fault)?.path();
        let hidden = file
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden
            && file
                .extension()
                .is_some_and(|extension| extension == "toml")
        {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}
