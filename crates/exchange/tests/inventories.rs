//! Inventories of Ansible: hosts, groups and variables are those that `ansible-inventory --list` (core 2.19.14) says of the same files,
//! and the labs that are made of them are read back with the same logins.
//!
//! The answers beside the inventories are made anew by `ansible-inventory -i FILE --list > FILE.json`.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_exchange::inventory::{ImportedLab, Inventory, InventoryError};
use backsight_model::{HostKind, HostName, Lab, TomlDocument};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inventories")
}

const FILES: [&str; 4] = ["classic.ini", "nested.yml", "folders/hosts", "quoted.ini"];

#[test]
fn hosts_groups_and_variables_are_those_that_ansible_says() {
    for file in FILES {
        let inventory = Inventory::open(&folder().join(file)).unwrap();
        let answer = std::fs::read(folder().join(format!("{}.json", file.replace('/', "-"))));
        let answer: Value = serde_json::from_slice(&answer.unwrap()).unwrap();
        let variables = inventory.host_variables();
        let mut hosts = BTreeSet::new();
        for (name, group) in answer
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| *name != "_meta")
        {
            let texts = |key: &str| -> BTreeSet<&str> {
                let list = group[key].as_array();
                list.into_iter()
                    .flatten()
                    .map(|it| it.as_str().unwrap())
                    .collect()
            };
            hosts.extend(texts("hosts"));
            if matches!(name.as_str(), "all" | "ungrouped") {
                continue;
            }
            let own = &inventory.groups[name.as_str()];
            assert_eq!(
                own.hosts
                    .iter()
                    .map(String::as_str)
                    .collect::<BTreeSet<_>>(),
                texts("hosts"),
                "{file}: {name}"
            );
            assert_eq!(
                own.children
                    .iter()
                    .map(String::as_str)
                    .collect::<BTreeSet<_>>(),
                texts("children"),
                "{file}: {name}"
            );
        }
        assert_eq!(
            variables.keys().copied().collect::<BTreeSet<_>>(),
            hosts,
            "{file}"
        );
        for (host, vars) in &variables {
            let theirs = answer["_meta"]["hostvars"]
                .get(*host)
                .and_then(Value::as_object);
            let ours: Value = vars
                .clone()
                .into_iter()
                .collect::<serde_json::Map<_, _>>()
                .into();
            assert_eq!(
                ours,
                Value::Object(theirs.cloned().unwrap_or_default()),
                "{file}: {host}"
            );
        }
    }
}

fn lab(file: &str) -> (String, Lab) {
    let imported = ImportedLab::from_ansible(&folder().join(file)).unwrap();
    let document = TomlDocument::new("lab.toml", imported.text.as_str());
    let lab = Lab::read(&Lab::write_out(&document).unwrap()).unwrap();
    assert_eq!(lab.host.len(), imported.hosts);
    (imported.text, lab)
}

fn login(lab: &Lab, host: &str) -> String {
    lab.host[host]
        .login(&HostName::new(host).unwrap())
        .to_owned()
}

fn options(lab: &Lab, host: &str) -> Vec<String> {
    lab.host[host]
        .options
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_classic_inventory_becomes_a_lab_with_its_groups() {
    let (text, lab) = lab("classic.ini");
    assert!(
        text.contains("hosts = [\"web[01-51].example.org\"]"),
        "{text}"
    );
    assert!(text.contains("login = \"{host}.db.example.org\""), "{text}");
    assert!(text.contains("[group.backend]"), "{text}");
    // What a lab doesn't know stays as a comment, a secret without its value.
    assert!(
        text.contains("# not taken over: ntp = \"ntp.example.org\""),
        "{text}"
    );
    assert!(
        text.contains("# not taken over: db_password = (not shown)"),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
    assert_eq!(lab.host["here"].kind, HostKind::Local);
    assert_eq!(login(&lab, "bastion"), "admin@192.0.2.1");
    assert_eq!(login(&lab, "web07.example.org"), "deploy@web07.example.org");
    assert_eq!(login(&lab, "db-c"), "db-c.db.example.org");
    assert_eq!(options(&lab, "n3"), ["-o", "ProxyJump=bastion"]);
    assert_eq!(options(&lab, "db-a")[..2], ["-i", "~/.ssh/db_key"]);
    assert_eq!(options(&lab, "web51.example.org")[..2], ["-p", "2222"]);
    assert_eq!(lab.host["web01.example.org"].become_root, ["sudo", "-n"]);
    assert!(lab.host["n3"].become_root.is_empty());
    assert_eq!(lab.group["backend"].members().len(), 11);
}

#[test]
fn other_inventories_become_labs_too() {
    let (text, nested) = lab("nested.yml");
    assert_eq!(login(&nested, "a07"), "root@a07.a.example.org");
    assert_eq!(login(&nested, "b10"), "bench@b10");
    assert_eq!(options(&nested, "b3"), ["-p", "2200"]);
    assert_eq!(login(&nested, "lonely"), "root@lonely");
    assert!(
        text.contains("win1 is left out: a lab can't reach it by `winrm`"),
        "{text}"
    );
    assert!(text.contains("group `empty` has no host"), "{text}");
    assert!(!text.contains("s3cr3t"), "{text}");
    let (_, folders) = lab("folders/hosts");
    assert_eq!(login(&folders, "g1"), "gpu@g1");
    assert_eq!(login(&folders, "g3"), "gpu@198.51.100.7");
    assert_eq!(options(&folders, "c4"), ["-p", "2022"]);
    let (text, _) = lab("quoted.ini");
    assert!(text.contains("it becomes `root` by `su`"), "{text}");
}

#[test]
fn what_is_no_inventory_says_where() {
    let fault =
        |name: &str, text: &str| match Inventory::parse(name, text).and_then(|it| it.lab(name)) {
            Err(error) => error.to_string(),
            Ok(lab) => panic!("{}", lab.text),
        };
    assert!(fault("x.ini", "[a]\nb c").starts_with("x.ini, line 2: "));
    assert!(fault("x.yml", "a: [").starts_with("x.yml, line"));
    assert!(fault("x.yml", "plugin: aws_ec2").contains("ansible-inventory --list --yaml"));
    assert!(fault("x.ini", "").contains("no host"));
    assert!(fault("x.ini", "w ansible_connection=winrm").contains("no host"));
    let missing = Inventory::open(Path::new("/nowhere/hosts"));
    assert!(matches!(missing, Err(InventoryError::Unreadable(..))));
}
