//! Reading the files of a lab: the first one, and those that are included.

use std::path::{Path, PathBuf};
use toml::de::DeTable;

use super::node::{Node, NodeValue, Table, table};
use super::variables::Variables;
use super::{HOST_KEYS, LAB_KEYS, LabFile, LabFiles, MOST_FILES};
use crate::document::SourcePlace;
use crate::{DocumentError, TomlDocument};

impl LabFiles {
    /// Reads a document with all that it includes.
    pub(super) fn load(
        &mut self,
        document: TomlDocument,
        path: Option<&Path>,
        included: Option<(usize, SourcePlace)>,
    ) -> Result<(), DocumentError> {
        let own = self.documents.len();
        let parsed = DeTable::parse(&document.text).map_err(|error| document.problem_of(&error))?;
        let mut top = table(own, &document.text, parsed.get_ref());
        self.documents.push(document);
        let (includer, place) = included.unzip();
        let real = path.and_then(|path| path.canonicalize().ok());
        self.paths.push((real.unwrap_or_default(), place));
        let vars = match top.shift_remove("vars") {
            Some((_, node)) => self.variables(&node)?,
            None => Variables::new(),
        };
        let defaults = match top.shift_remove("defaults") {
            Some((_, node)) => self.table_of("defaults", &node)?.clone(),
            None => Table::new(),
        };
        self.check_keys(&defaults, &HOST_KEYS, &["vars"])?;
        self.check_keys(&top, &LAB_KEYS, &[])?;
        self.files.push(LabFile {
            includer,
            vars,
            defaults,
        });
        let include = top.shift_remove("include");
        // The whole lab is called as its first file says.
        if own > 0 {
            top.shift_remove("name");
        }
        for (key, (place, node)) in top {
            self.merge(key, place, node)?;
        }
        match include {
            Some((_, node)) => self.include(own, path, &node),
            None => Ok(()),
        }
    }

    /// Adds what a file says to what the others say.
    pub(super) fn merge(
        &mut self,
        key: String,
        place: SourcePlace,
        node: Node,
    ) -> Result<(), DocumentError> {
        let Some((_, known)) = self.whole.get_mut(&key) else {
            self.whole.insert(key, (place, node));
            return Ok(());
        };
        match (&mut known.value, node.value) {
            (NodeValue::List(known), NodeValue::List(more)) => known.extend(more),
            (NodeValue::Table(known), NodeValue::Table(more)) => {
                let twice = more
                    .iter()
                    .find_map(|(name, (again, _))| Some((name, again, known.get(name)?.0.clone())));
                if let Some((name, again, first)) = twice {
                    let help = format!("it stands in {} already", self.words(&first));
                    let message = format!("{key} `{name}` is described twice");
                    return Err(self.problem(again, message, "here again", Some(help)));
                }
                known.extend(more);
            }
            _ => {
                let message = format!("`{key}` is something else in another file of this lab");
                return Err(self.problem(&node.place, message, "here", None));
            }
        }
        Ok(())
    }

    pub(super) fn include(
        &mut self,
        own: usize,
        path: Option<&Path>,
        list: &Node,
    ) -> Result<(), DocumentError> {
        let help = "expected paths from this file's folder: include = [\"rack-b.toml\"]";
        let NodeValue::List(items) = &list.value else {
            return Err(self.problem(
                &list.place,
                "this is no list of files",
                "here",
                Some(help.into()),
            ));
        };
        for item in items {
            let NodeValue::Text(name) = &item.value else {
                return Err(self.problem(
                    &item.place,
                    "this is no file's name",
                    "here",
                    Some(help.into()),
                ));
            };
            let Some(path) = path else {
                let message = "a lab that isn't a file can't include files";
                return Err(self.problem(&item.place, message, "here", None));
            };
            let folder = path.parent().unwrap_or(Path::new(""));
            for file in self.included_files(folder, name, &item.place)? {
                self.load_included(own, &file, &item.place)?;
            }
        }
        Ok(())
    }

    /// The files that an entry of `include` names.
    pub(super) fn included_files(
        &self,
        folder: &Path,
        name: &str,
        place: &SourcePlace,
    ) -> Result<Vec<PathBuf>, DocumentError> {
        let path = folder.join(name);
        let Some((before, after)) = name
            .rsplit('/')
            .next()
            .and_then(|last| last.split_once('*'))
        else {
            return Ok(vec![path]);
        };
        let parent = path.parent().unwrap_or(Path::new(""));
        let entries = std::fs::read_dir(if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        });
        let names = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let fits = |name: &String| {
            !name.starts_with('.')
                && name.len() >= before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
        };
        let mut found: Vec<PathBuf> = names.filter(fits).map(|name| parent.join(name)).collect();
        found.sort();
        if after.contains('*') {
            let help = Some("one `*`, in the name of the file alone: \"racks/*.toml\"".to_owned());
            return Err(self.problem(place, format!("`{name}` has several `*`"), "here", help));
        }
        match found.is_empty() {
            true => Err(self.problem(
                place,
                format!("no file is called `{name}`"),
                "included here",
                None,
            )),
            false => Ok(found),
        }
    }

    pub(super) fn load_included(
        &mut self,
        own: usize,
        path: &Path,
        place: &SourcePlace,
    ) -> Result<(), DocumentError> {
        let fault = |message: String, help| self.problem(place, message, "included here", help);
        let shown = path.display();
        let document = TomlDocument::open(path)
            .map_err(|error| fault(format!("can't read {shown}: {}", error.cause), None))?;
        let real = path.canonicalize().ok();
        if let Some(known) = self
            .paths
            .iter()
            .position(|(path, _)| Some(path) == real.as_ref())
        {
            let mut includers = std::iter::successors(Some(own), |file| self.files[*file].includer);
            let message = match includers.any(|file| file == known) {
                true => format!("{shown} includes itself, through this file"),
                false => format!("{shown} is included twice"),
            };
            let first = self.paths[known].1.as_ref();
            let help =
                first.map(|first| format!("it is included by {} already", self.words(first)));
            return Err(fault(message, help));
        }
        if self.documents.len() >= MOST_FILES {
            return Err(fault(
                format!("a lab of more than {MOST_FILES} files"),
                None,
            ));
        }
        self.load(document, Some(path), Some((own, place.clone())))
    }
}
