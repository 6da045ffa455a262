//! The hand-written arguments of system calls, and the table of calls that they make with the headers' numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::compiler::Machine;
use super::{Found, GeneratorError, in_file};

/// What headers put before the name of a call that they number.
const PREFIX: &str = "__NR_";
/// Constants with that prefix that number no call: counts of calls, and functions of x86's page of virtual calls.
const NO_CALLS: [&str; 5] = [
    "syscalls",
    "arch_specific_syscall",
    "vgettimeofday",
    "vtime",
    "vgetcpu",
];

/// `signatures.tsv`: a line a call, with its name, the machines that the line is for, and its arguments.
#[derive(Debug)]
pub struct Signatures {
    path: PathBuf,
    lines: Vec<Signature>,
}

#[derive(Debug)]
struct Signature {
    at: usize,
    name: String,
    /// None for all machines.
    machines: Option<Vec<String>>,
    arguments: String,
}

impl Signature {
    fn is_for(&self, name: &str, machine: &str) -> bool {
        let machines = self.machines.as_ref();
        self.name == name && machines.is_none_or(|all| all.iter().any(|one| one == machine))
    }
}

impl Signatures {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Signatures, GeneratorError> {
        let text = std::fs::read_to_string(file).map_err(in_file(file))?;
        let mut lines = Vec::new();
        for (at, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = line.split('\t').collect();
            let &[name, machines, arguments] = fields.as_slice() else {
                return Err(GeneratorError::Line {
                    path: file.to_owned(),
                    line: at + 1,
                    message: "a name, machines and arguments are wanted, with tabs between them"
                        .into(),
                });
            };
            lines.push(Signature {
                at: at + 1,
                name: name.to_owned(),
                machines: (machines != "*")
                    .then(|| machines.split(' ').map(str::to_owned).collect()),
                arguments: arguments.to_owned(),
            });
        }
        Ok(Signatures {
            path: file.to_owned(),
            lines,
        })
    }

    /// A line a call: its name, its number on each machine or `-`, and its arguments. Calls stand in the order of their names.
    pub fn table(&self, found: &Found) -> Result<String, GeneratorError> {
        let numbers = numbers(found);
        let mut missing = Vec::new();
        let mut rows: BTreeMap<(&str, usize), [Option<u64>; Machine::ALL.len()]> = BTreeMap::new();
        for (name, by_machine) in &numbers {
            for (place, machine) in Machine::ALL.iter().enumerate() {
                let Some(number) = by_machine.get(machine.name) else {
                    continue;
                };
                match self
                    .lines
                    .iter()
                    .find(|line| line.is_for(name, machine.name))
                {
                    Some(line) => {
                        rows.entry((name, line.at)).or_default()[place] = Some(*number);
                    }
                    None => missing.push(format!("{name} ({})", machine.name)),
                }
            }
        }
        if !missing.is_empty() {
            return Err(GeneratorError::Signature(missing));
        }
        let used: BTreeSet<usize> = rows.keys().map(|(_, at)| *at).collect();
        if let Some(line) = self.lines.iter().find(|line| !used.contains(&line.at)) {
            return Err(GeneratorError::Line {
                path: self.path.clone(),
                line: line.at,
                message: format!("no header numbers {}: remove the line", line.name),
            });
        }
        let mut text = String::new();
        for ((name, at), numbers) in rows {
            let arguments = self.lines.iter().find(|line| line.at == at);
            let arguments = arguments.map_or("", |line| line.arguments.as_str());
            let _ = write!(text, "{name}");
            for number in numbers {
                let _ = match number {
                    Some(number) => write!(text, "\t{number}"),
                    None => write!(text, "\t-"),
                };
            }
            let _ = writeln!(text, "\t{arguments}");
        }
        Ok(text)
    }
}

/// By the names of calls, their numbers by machine.
fn numbers(found: &Found) -> BTreeMap<&str, BTreeMap<&str, u64>> {
    let mut numbers: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for (machine, constants) in found {
        for (name, constant) in &constants.values {
            if let Some(name) = name.strip_prefix(PREFIX)
                && !name.starts_with(|first: char| first.is_ascii_uppercase())
                && !NO_CALLS.contains(&name)
            {
                let by_machine = numbers.entry(name).or_default();
                by_machine.insert(machine, constant.value);
            }
        }
    }
    numbers
}
