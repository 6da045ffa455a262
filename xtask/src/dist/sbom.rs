//! What the program consists of, as a bill of materials by the standard of CycloneDX 1.6 (<https://cyclonedx.org/docs/1.6/json/>): the crates that
//! Cargo resolves for the machines of a release, and the libraries of npm that its pages have in them.

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use super::{DistError, MACHINES, Result, VERSION};
use crate::programs::{call, in_file};

const PROGRAM: &str = "backsight";

/// What `cargo metadata` says.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    description: Option<String>,
    /// Nothing where it is one of this work tree's.
    source: Option<String>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// Nothing, `build` or `dev`.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct CargoLock {
    package: Vec<LockedCrate>,
}

#[derive(Deserialize)]
struct LockedCrate {
    name: String,
    version: String,
    checksum: Option<String>,
}

#[derive(Deserialize)]
struct NpmLock {
    packages: IndexMap<String, LockedLibrary>,
}

#[derive(Deserialize)]
struct LockedLibrary {
    version: Option<String>,
    license: Option<String>,
    #[serde(default)]
    dev: bool,
}

impl Package {
    /// Runs in the compiler, not in the program.
    fn is_macro(&self) -> bool {
        let kinds = self.targets.iter().flat_map(|target| &target.kind);
        kinds.clone().any(|kind| kind == "proc-macro")
    }

    fn url(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

/// The document.
///
/// # Errors
/// Cargo's; the lock of npm can't be read.
pub fn sbom(moment: &str) -> Result<String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--locked", "--format-version", "1"]);
    for machine in MACHINES {
        cargo.args(["--filter-platform", &machine.target()]);
    }
    let metadata: Metadata = parsed("cargo metadata", &call(&mut cargo)?)?;
    let lock = read("Cargo.lock")?;
    let lock: CargoLock = toml::from_str(&lock).map_err(|why| unreadable("Cargo.lock", &why))?;
    let npm: NpmLock = parsed("web/package-lock.json", &read("web/package-lock.json")?)?;
    let checksums = lock.package.iter();
    let checksums = checksums.map(|it| ((it.name.as_str(), it.version.as_str()), &it.checksum));
    let checksums: BTreeMap<_, _> = checksums.collect();

    let used = used_crates(&metadata);
    let mut components = Vec::new();
    for package in &metadata.packages {
        if !used.contains_key(package.id.as_str()) || package.name == PROGRAM {
            continue;
        }
        let checksum = checksums.get(&(package.name.as_str(), package.version.as_str()));
        components.push(component(package, checksum.and_then(|it| it.as_deref())));
    }
    components.extend(libraries(&npm));
    let dependencies: Vec<Value> = metadata
        .packages
        .iter()
        .filter_map(|package| {
            let needs = used.get(package.id.as_str())?;
            Some(json!({ "ref": package.url(), "dependsOn": needs }))
        })
        .collect();
    let at = moment
        .parse()
        .ok()
        .and_then(|at| Timestamp::from_second(at).ok());
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": at.unwrap_or_default().to_string(),
            "component": {
                "type": "application",
                "bom-ref": format!("pkg:cargo/{PROGRAM}@{VERSION}"),
                "name": PROGRAM,
                "version": VERSION,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
                "purl": format!("pkg:cargo/{PROGRAM}@{VERSION}"),
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    Ok(format!("{document:#}\n"))
}

/// The crates that end up in the program, and the names of those that each of them uses.
fn used_crates(metadata: &Metadata) -> BTreeMap<&str, BTreeSet<String>> {
    let packages = metadata.packages.iter();
    let packages: BTreeMap<&str, &Package> = packages.map(|it| (it.id.as_str(), it)).collect();
    let nodes = metadata.resolve.nodes.iter();
    let nodes: BTreeMap<&str, &Node> = nodes.map(|it| (it.id.as_str(), it)).collect();
    let program = metadata.packages.iter().find(|it| it.name == PROGRAM);
    let mut left: Vec<&str> = program.iter().map(|it| it.id.as_str()).collect();
    let mut used = BTreeMap::new();
    while let Some(id) = left.pop() {
        if used.contains_key(id) {
            continue;
        }
        let mut needs = BTreeSet::new();
        for needed in nodes.get(id).into_iter().flat_map(|node| &node.deps) {
            let is_linked = needed.dep_kinds.iter().any(|it| it.kind.is_none());
            if let Some(package) = packages.get(needed.pkg.as_str())
                && is_linked
                && !package.is_macro()
            {
                needs.insert(package.url());
                left.push(&package.id);
            }
        }
        used.insert(id, needs);
    }
    used
}

fn component(package: &Package, checksum: Option<&str>) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": package.url(),
        "name": package.name,
        "version": package.version,
        "purl": package.url(),
    });
    if let Some(about) = &package.description {
        component["description"] = about.trim().into();
    }
    if let Some(licence) = &package.license {
        // Older crates have a slash for "or".
        let expression = licence.replace(" / ", " OR ").replace('/', " OR ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    if let (Some(checksum), Some(_)) = (checksum, &package.source) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

/// The libraries of npm that pages have in them, not those that they are built with.
fn libraries(lock: &NpmLock) -> Vec<Value> {
    let mut found = Vec::new();
    for (place, library) in &lock.packages {
        let Some((_, name)) = place.rsplit_once("node_modules/") else {
            continue;
        };
        let (false, Some(version)) = (library.dev, &library.version) else {
            continue;
        };
        let url = format!("pkg:npm/{}@{version}", name.replace('@', "%40"));
        let mut component = json!({
            "type": "library",
            "bom-ref": url,
            "name": name,
            "version": version,
            "purl": url,
        });
        if let Some(licence) = &library.license {
            component["licenses"] = json!([{ "expression": licence }]);
        }
        found.push(component);
    }
    found
}

fn read(path: &str) -> Result<String> {
    Ok(fs::read_to_string(path).map_err(in_file(Path::new(path)))?)
}

fn parsed<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|why| unreadable(what, &why))
}

fn unreadable(what: &str, why: &dyn std::fmt::Display) -> DistError {
    DistError::Unreadable {
        what: what.to_owned(),
        why: why.to_string(),
    }
}
