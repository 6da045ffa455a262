//! The files that users write.

use backsight_catalog::Parsers;
use backsight_exchange::{
    import::Importer,
    inventory::{Inventory, InventoryError},
};
use backsight_machine_code::{CodeImage, code_difference};
use backsight_model::{
    Benchmark, HostName, HostPattern, HostSet, Lab, Monitor, Plan, Preparation, Target,
    TomlDocument, Value,
};
use backsight_settings::{
    JournalContents, Placeholders, PreparationSource, SettingCatalog, SettingDefinition,
    SettingSet, resolve,
};
use std::sync::LazyLock;

use crate::named_first;

/// Reads a document as one kind of file; says whether it is one.
type Read = fn(&TomlDocument) -> bool;

const KINDS: &[(&str, Read)] = &[
    ("# benchmark", |document| {
        let benchmark = Benchmark::read(document);
        benchmark.is_ok_and(|benchmark| Parsers::compile(&benchmark, document).is_ok())
    }),
    ("# importer", |document| Importer::read(document).is_ok()),
    ("# lab", |document| {
        let written = Lab::write_out(document);
        written.is_ok_and(|written| Lab::read(&written).is_ok())
    }),
    ("# monitor", |document| Monitor::read(document).is_ok()),
    ("# plan", |document| Plan::read(document).is_ok()),
    ("# preparation", |document| {
        let preparation: Result<Preparation, _> = document.read();
        preparation.is_ok_and(|preparation| {
            let of_machine = |name: &str| Some(Value::Text(name.to_owned()));
            let source = PreparationSource {
                placeholders: Placeholders::Values(&of_machine),
                ..PreparationSource::new(document, &preparation)
            };
            resolve(&SETTINGS, &[source]).is_ok()
        })
    }),
    ("# set", |document| SettingSet::read(document).is_ok()),
    ("# setting", |document| {
        SettingDefinition::read(document).is_ok()
    }),
    ("# target", |document| Target::read(document).is_ok()),
];

static SETTINGS: LazyLock<SettingCatalog> =
    LazyLock::new(|| SettingCatalog::load(&[]).unwrap_or_default());

/// Inventories of Ansible, as INI and as YAML, and the labs that they make; host sets and patterns, a line each.
pub(crate) fn inventories(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for name in ["fuzz.ini", "fuzz.yml"] {
        if let Ok(inventory) = Inventory::parse(name, text)
            && let Err(InventoryError::NoLab(fault)) = inventory.lab(name)
        {
            panic!("a lab that was made of an inventory is refused: {fault}");
        }
    }
    for line in text.lines() {
        let _pattern_or_refused = line.parse::<HostPattern>();
        if let Ok(set) = HostSet::parse(line) {
            let names = set.expand();
            let again: Vec<HostName> = HostSet::compress(&names)
                .iter()
                .flat_map(HostSet::expand)
                .collect();
            let sorted = |mut names: Vec<HostName>| {
                names.sort();
                names
            };
            assert_eq!(sorted(again), sorted(names));
        }
    }
}

/// The journal of what was changed on a machine.
pub(crate) fn settings_journal(bytes: &[u8]) {
    let _open_and_damaged = JournalContents::parse(bytes);
}

/// Any text as one kind of file: the kind after `# `, a line's end, the file. A first line that names no kind stands for one of
/// them by its length: to read each input as all of them takes six times as long.
pub(crate) fn definitions(bytes: &[u8]) {
    let _read_or_refused = definition(bytes);
}

/// Whether this text is a file of its kind.
fn definition(bytes: &[u8]) -> bool {
    let (Some((_, read)), Ok(text)) = (named_first(bytes, KINDS).0, std::str::from_utf8(bytes))
    else {
        return false;
    };
    read(&TomlDocument::new("fuzz.toml", text))
}

/// A program or library, as a build leaves it, beside one with half of its bytes zero.
pub(crate) fn machine_code(bytes: &[u8]) {
    let Ok(image) = CodeImage::read(bytes) else {
        return;
    };
    assert_eq!(code_difference(&image, &image).functions, []);
    let mut damaged = bytes.to_vec();
    damaged[bytes.len() / 2..].fill(0);
    if let Ok(other) = CodeImage::read(damaged.as_slice()) {
        let _any = code_difference(&image, &other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_definitions_are_of_every_kind_and_without_a_fault() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/definitions");
        let mut seen = std::collections::BTreeSet::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            assert!(definition(&bytes), "{} is refused", path.display());
            seen.extend(
                bytes
                    .split(|byte| *byte == b'\n')
                    .next()
                    .map(<[u8]>::to_vec),
            );
        }
        let kinds = KINDS.iter().map(|(kind, _)| kind.as_bytes().to_vec());
        assert_eq!(seen, kinds.collect());
    }
}
