//! Constants that no pinned header defines: those that the kernel dropped, keeps to itself, or that other projects define.

use std::path::{Path, PathBuf};

use super::compiler::{Constant, Constants};
use super::{Found, GeneratorError, in_file, number};

/// `carried.tsv`: a line a constant, `request` or `constant`, its name and its value, with tabs between them.
#[derive(Debug)]
pub struct Carried {
    path: PathBuf,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    at: usize,
    is_request: bool,
    name: String,
    value: u64,
}

impl Carried {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Carried, GeneratorError> {
        let text = std::fs::read_to_string(file).map_err(in_file(file))?;
        let mut lines = Vec::new();
        for (at, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = line.split('\t').collect();
            let (&[kind @ ("request" | "constant"), name, _], Some(value)) = (
                fields.as_slice(),
                fields.get(2).and_then(|text| number(text)),
            ) else {
                return Err(GeneratorError::Line {
                    path: file.to_owned(),
                    line: at + 1,
                    message: "`request` or `constant`, a name and a value are wanted, with tabs between them".into(),
                });
            };
            lines.push(Line {
                at: at + 1,
                is_request: kind == "request",
                name: name.to_owned(),
                value,
            });
        }
        Ok(Carried {
            path: file.to_owned(),
            lines,
        })
    }

    /// Adds them to those of the machines whose headers lack them. A request may have another number than the headers' one of
    /// its name: older programs make it. What every machine's headers define is refused.
    pub fn add_to(&self, mut found: Found) -> Result<Found, GeneratorError> {
        for line in &self.lines {
            let is_defined = |constants: &Constants| {
                let known = constants.values.get(&line.name);
                known.is_some_and(|known| {
                    !line.is_request || known.request && known.value == line.value
                })
            };
            if found.values().all(is_defined) {
                return Err(GeneratorError::Line {
                    path: self.path.clone(),
                    line: line.at,
                    message: format!("the headers define {}: remove the line", line.name),
                });
            }
            for constants in found
                .values_mut()
                .filter(|constants| !is_defined(constants))
            {
                let value = line.value;
                if line.is_request {
                    let former = (value, line.name.clone());
                    constants.former_requests.push(former);
                } else {
                    let constant = Constant {
                        value,
                        request: false,
                    };
                    let name = line.name.clone();
                    constants.values.insert(name, constant);
                }
            }
        }
        Ok(found)
    }
}
