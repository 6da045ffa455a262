//! Sides of a comparison: which of what is imported together was measured of the same, by paths and by what files say themselves.

use std::collections::{BTreeMap, BTreeSet};

/// A side, as a path names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PathSide {
    /// The folder's name.
    pub name: String,
    /// The folder that it is in, where one of the same name elsewhere is another side.
    pub within: Option<String>,
}

/// The sides of all that is imported together. There is none where all is of the same.
#[derive(Debug, Default)]
pub(super) struct Sides {
    /// Sides that paths name, by names of their own.
    paths: BTreeMap<PathSide, String>,
    has_paths: bool,
    has_said: bool,
    /// Whether a side that files say is in several that paths name.
    has_both: bool,
}

impl Sides {
    /// The sides of these: of each, what its path names, and what its file says.
    pub fn new<'a>(
        all: impl Iterator<Item = (Option<&'a PathSide>, Option<&'a str>)> + Clone,
    ) -> Self {
        let mut within: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for side in all.clone().filter_map(|(path, _)| path) {
            let folders = within.entry(&side.name).or_default();
            folders.extend(side.within.as_deref());
        }
        let paths: BTreeMap<PathSide, String> = all
            .clone()
            .filter_map(|(path, _)| path)
            .map(|side| (side.clone(), own_name(side, &within[&*side.name])))
            .collect();
        let named = |path: Option<&PathSide>| path.map(|side| &paths[side]);
        let names: BTreeSet<Option<&String>> = all.clone().map(|(path, _)| named(path)).collect();
        let mut said: BTreeMap<&str, BTreeSet<Option<&String>>> = BTreeMap::new();
        for (path, side) in all {
            if let Some(side) = side {
                said.entry(side).or_default().insert(named(path));
            }
        }
        let has_paths = names.len() > 1;
        let has_said = said.len() > 1;
        let has_both = has_said && said.values().any(|paths| paths.len() > 1);
        Self {
            paths,
            has_paths,
            has_said,
            has_both,
        }
    }

    /// The name of a side; none where all is of the same, or nothing is said.
    pub fn name(&self, path: Option<&PathSide>, said: Option<&str>) -> Option<String> {
        let path = path.and_then(|side| self.paths.get(side));
        match said.filter(|_| self.has_said) {
            Some(said) => Some(match path.filter(|_| self.has_both) {
                Some(path) => format!("{path}/{said}"),
                None => said.to_owned(),
            }),
            None => path.filter(|_| self.has_paths).cloned(),
        }
    }
}

/// A name with as many folders above it as tell it from those of the same name.
fn own_name(side: &PathSide, within: &BTreeSet<&str>) -> String {
    let Some(own) = side.within.as_deref().filter(|_| within.len() > 1) else {
        return side.name.clone();
    };
    let last = |folder: &str, count: usize| -> String {
        let parts: Vec<&str> = folder.split('/').collect();
        parts[parts.len().saturating_sub(count)..].join("/")
    };
    let longest = within.iter().map(|folder| folder.split('/').count()).max();
    let mut counts = 1..longest.unwrap_or(1);
    let tells = |count: &usize| {
        let alike = within
            .iter()
            .filter(|it| last(it, *count) == last(own, *count));
        alike.count() == 1
    };
    let count = counts.find(tells).or(longest).unwrap_or(1);
    format!("{}/{}", last(own, count), side.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(within: &str, name: &str) -> PathSide {
        PathSide {
            name: name.to_owned(),
            within: Some(within.to_owned()),
        }
    }

    fn names(all: &[(Option<PathSide>, Option<&str>)]) -> Vec<Option<String>> {
        let each = || all.iter().map(|(path, said)| (path.as_ref(), *said));
        let sides = Sides::new(each());
        each().map(|(path, said)| sides.name(path, said)).collect()
    }

    fn some(names: &[&str]) -> Vec<Option<String>> {
        names.iter().map(|name| Some((*name).to_owned())).collect()
    }

    #[test]
    fn where_all_is_of_the_same_there_are_no_sides() {
        assert_eq!(names(&[(None, None)]), [None]);
        let one = (Some(path("/a", "x")), Some("s"));
        assert_eq!(names(&[one.clone(), one]), [None, None]);
    }

    #[test]
    fn folders_of_one_name_are_told_apart_by_those_above() {
        let all = [
            (Some(path("/log/june/one", "x")), None),
            (Some(path("/log/july/one", "x")), None),
            (Some(path("/log/july/two", "x")), None),
            (Some(path("/log/july/two", "y")), None),
        ];
        assert_eq!(
            names(&all),
            some(&["june/one/x", "july/one/x", "two/x", "y"])
        );
        let nested = [
            (Some(path("/a", "x")), None),
            (Some(path("/b/a", "x")), None),
        ];
        assert_eq!(names(&nested), some(&["/a/x", "b/a/x"]));
        // A commit is the same one wherever it is.
        let commit = PathSide {
            name: "c1".to_owned(),
            within: None,
        };
        assert_eq!(names(&[(Some(commit), None)]), [None]);
    }

    #[test]
    fn what_files_say_comes_before_paths_and_with_them_where_it_is_in_several() {
        let (one, two) = (Some(path("/r", "one")), Some(path("/r", "two")));
        let all = [(one.clone(), Some("a")), (two.clone(), Some("b"))];
        assert_eq!(names(&all), some(&["a", "b"]));
        let all = [(one.clone(), Some("a")), (two.clone(), Some("a"))];
        assert_eq!(names(&all), some(&["one", "two"]));
        let all = [(one.clone(), Some("a")), (one, Some("b")), (two, Some("a"))];
        assert_eq!(names(&all), some(&["one/a", "one/b", "two/a"]));
        assert_eq!(
            names(&[(None, Some("a")), (None, Some("b"))]),
            some(&["a", "b"])
        );
    }
}
