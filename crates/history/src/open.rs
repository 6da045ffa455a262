//! Opening the history that a target names.

use crate::cvs::Cvs;
use crate::git::Git;
use crate::list::List;
use crate::packages::Packages;
use crate::{History, HistoryError};
use backsight_model::{Target, TargetSource};
use jiff::Timestamp;
use std::path::Path;

/// Opens the history of a target.
///
/// `folder` is the one of the target's file: relative paths start there. Under `work`, a folder of the target's
/// own, lie mirrors and downloads; it is made when it is needed.
///
/// # Errors
/// There is no such history, it can't be read or fetched, or it isn't complete.
pub fn open(target: &Target, folder: &Path, work: &Path) -> Result<Box<dyn History>, HistoryError> {
    let name = target.name.to_string();
    let now = Timestamp::now();
    match &*target.source {
        TargetSource::Git(source) => Ok(Box::new(Git::open(&name, source, folder, work, now)?)),
        TargetSource::List(source) => Ok(Box::new(List::open(&name, source, folder, work, now)?)),
        TargetSource::Cvs(source) => Ok(Box::new(Cvs::open(&name, source, folder, work, now)?)),
        TargetSource::Packages(source) => Ok(Box::new(Packages::open(&name, source, work, now)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{Every, Range, TomlDocument};

    #[test]
    fn a_target_leads_to_its_history() {
        let folder = tempfile::tempdir().unwrap();
        let opened = |source: &str| {
            let text = format!("name = \"app\"\nsource = {{ {source} }}\n");
            let target = Target::read(&TomlDocument::new("target.toml", text)).unwrap();
            open(&target, folder.path(), &folder.path().join("work"))
        };
        let list =
            opened("list = { versions = \"echo one; echo two\", fetch = \"true\" }").unwrap();
        let range = Range::Between {
            from: "one".into(),
            to: "two".into(),
        };
        assert_eq!(list.versions(&range, &Every::All).unwrap().len(), 2);
        let packages = opened("packages = { kind = \"npm\", name = \"app\", versions = [\"1\"] }");
        assert_eq!(packages.unwrap().resolve("1").unwrap().name, "1");
        for source in [
            "git = { url = \"nowhere\" }",
            "cvs = { root = \"nowhere\", module = \"x\" }",
        ] {
            let error = opened(source).err().unwrap().to_string();
            assert!(error.contains("app"), "{error}");
        }
    }
}
