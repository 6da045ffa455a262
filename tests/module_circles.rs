//! Modules of a crate use each other in one direction, except parent and child. In a circle no module can be read alone.
//!
//! Reads the paths in the sources (in `use`, and names that begin with `crate`, `super`, `self` or a child) and follows what a
//! module exports to the module where it is. Tests within a module don't count.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Crates that still have circles, and where.
const CIRCULAR: [(&str, &str); 1] = [(
    "study",
    "the registry has the choices of all verbs, and verbs are made of studies, which have choices",
)];

/// A module by its names below the crate.
type Module = Vec<String>;

/// The modules of a crate, each with its code up to its tests, without comments.
fn modules(folder: &Path, parent: &Module, found: &mut BTreeMap<Module, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = match name.as_str() {
            "mod" | "lib" | "main" => parent.clone(),
            _ => [parent.as_slice(), std::slice::from_ref(&name)].concat(),
        };
        if path.is_dir() {
            modules(&path, &module, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") && name != "tests" {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let lines = code.lines().map(|line| line.split("//").next().unwrap());
            found.insert(module, lines.collect::<Vec<_>>().join("\n"));
        }
    }
}

/// Adds the paths of a `use` tree.
fn expand(prefix: &[String], tree: &str, paths: &mut Vec<Module>) {
    let mut depth = 0;
    let parts = tree.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
        let (head, inner) = match part.split_once('{') {
            Some((head, inner)) => (head, inner.rsplit_once('}').map(|(inner, _)| inner)),
            None => (part, None),
        };
        let names = head.split(" as ").next().unwrap().split("::");
        let names = names.map(|name| name.trim().to_owned());
        let mut path = prefix.to_vec();
        path.extend(names.filter(|name| !name.is_empty()));
        match inner {
            Some(inner) => expand(&path, inner, paths),
            None => paths.push(path),
        }
    }
}

/// The paths in `use` declarations that stand on lines which begin like this.
fn used(code: &str, visible: bool) -> Vec<Module> {
    let mut paths = Vec::new();
    for (at, keyword) in code.match_indices("use ") {
        let before = code[..at].rsplit('\n').next().unwrap().trim();
        if before.starts_with("pub") || before.is_empty() && !visible {
            let tree = code[at + keyword.len()..].split(';').next().unwrap();
            expand(&[], tree, &mut paths);
        }
    }
    paths
}

/// The path from the crate's root, if it leads into this crate.
fn absolute(module: &Module, path: &[String], all: &BTreeMap<Module, String>) -> Option<Module> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let (base, rest) = match path[0].as_str() {
        "crate" => (&[][..], &path[1..]),
        "self" => (module.as_slice(), &path[1..]),
        "super" => (&module[..module.len().checked_sub(ups)?], &path[ups..]),
        child => {
            let child = [module.as_slice(), &[child.to_owned()]].concat();
            all.contains_key(&child)
                .then_some((module.as_slice(), path))?
        }
    };
    Some([base, rest].concat())
}

/// The longest beginning of a path that is a module.
fn module_of(path: &[String], all: &BTreeMap<Module, String>) -> Module {
    let lengths = (0..=path.len()).rev();
    let mut beginnings = lengths.map(|length| path[..length].to_vec());
    beginnings
        .find(|module| all.contains_key(module))
        .unwrap_or_default()
}

/// Which modules each module uses, without its ancestors and descendants.
fn edges(all: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut exports = BTreeMap::new();
    for (module, code) in all {
        for path in used(code, true) {
            if let Some(path) = absolute(module, &path, all) {
                let name = path.last().cloned().unwrap_or_default();
                exports.insert((module.clone(), name), module_of(&path, all));
            }
        }
    }
    let mut edges: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, code) in all {
        let mut paths = used(code, false);
        let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let qualified = words.filter(|word| word.contains("::") && !word.starts_with(':'));
        paths.extend(qualified.map(|word| word.split("::").map(str::to_owned).collect()));
        for path in paths {
            let Some(path) = absolute(module, &path, all) else {
                continue;
            };
            let found = module_of(&path, all);
            let exported = path.get(found.len()).and_then(|name| {
                let key = (found.clone(), name.clone());
                exports.get(&key).cloned()
            });
            let target = exported.unwrap_or(found);
            if !target.starts_with(module) && !module.starts_with(&target) {
                edges.entry(module.clone()).or_default().insert(target);
            }
        }
    }
    edges
}

/// All that a module leads to, over any number of others.
fn reached(from: &Module, edges: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let mut reached = BTreeSet::new();
    let mut to_visit = vec![from];
    while let Some(module) = to_visit.pop() {
        for next in edges.get(module).into_iter().flatten() {
            if reached.insert(next.clone()) {
                to_visit.push(next);
            }
        }
    }
    reached
}

#[test]
fn modules_form_no_circles_but_parent_and_child() {
    let mut circular: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in std::fs::read_dir(super::project().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let mut all = BTreeMap::new();
        modules(&folder.join("src"), &Module::new(), &mut all);
        let edges = edges(&all);
        let circle = all
            .keys()
            .filter(|module| reached(module, &edges).contains(*module));
        let circle: Vec<String> = circle.map(|module| module.join("::")).collect();
        if !circle.is_empty() {
            let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
            circular.insert(name, circle);
        }
    }
    let known: BTreeSet<&str> = CIRCULAR.iter().map(|(name, _)| *name).collect();
    let found: BTreeSet<&str> = circular.keys().map(String::as_str).collect();
    assert_eq!(found, known, "modules in circles: {circular:#?}");
}

/// The modules that are compiled otherwise on another system: doors of their crates (docs/architecture.md), and the tracer's, which has
/// an engine that is Linux's alone.
const ASK_FOR_THE_SYSTEM: [&str; 5] = ["agent", "monitor", "platform", "tracer", "tracer::fuzzing"];

#[test]
fn only_doors_ask_which_system_they_are_compiled_for() {
    let mut asking = BTreeSet::new();
    for entry in std::fs::read_dir(super::project().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let root = vec![folder.file_name().unwrap().to_str().unwrap().to_owned()];
        let mut all = BTreeMap::new();
        modules(&folder.join("src"), &root, &mut all);
        let found = all
            .into_iter()
            .filter(|(_, code)| code.contains("target_os"));
        asking.extend(found.map(|(module, _)| module.join("::")));
    }
    assert_eq!(asking, ASK_FOR_THE_SYSTEM.map(str::to_owned).into());
}
