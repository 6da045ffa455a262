//! Makes the data files of `crates/syscall-tables`: pinned headers (`sources.toml`), a selection of names (`selection.toml`)
//! and the arguments of calls (`signatures.tsv`) in, one file a table out (`data/`).
//!
//! A C compiler evaluates every constant; nothing here parses a value of the headers. The same headers and the same
//! selection give the same files.

mod carried;
mod compiler;
mod fetch;
mod selection;
mod signatures;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use carried::Carried;
use compiler::{Constant, Constants, Headers, Machine};
use selection::Selection;
use signatures::Signatures;

/// Why the tables couldn't be made.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    /// A file or folder couldn't be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        cause: std::io::Error,
    },
    /// A file isn't what its format asks for.
    #[error("{}: {cause}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        cause: toml::de::Error,
    },
    /// A program couldn't be started, or failed.
    #[error("{program}: {message}")]
    Program {
        /// Its name.
        program: String,
        /// Its own message.
        message: String,
    },
    /// A line of a table isn't what its format asks for, or is no longer needed.
    #[error("{}:{line}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// The selection names constants that no header defines.
    #[error("selection.toml names constants that no header defines (--all FILE lists those that exist): {}", .0.join(", "))]
    Unknown(Vec<String>),
    /// The headers number calls whose arguments aren't known.
    #[error("signatures.tsv has no line for these calls, which the headers number: {}", .0.join(", "))]
    Signature(Vec<String>),
}

/// Constants by machine.
type Found = BTreeMap<String, Constants>;

fn in_file(path: &Path) -> impl FnOnce(std::io::Error) -> GeneratorError {
    let path = path.to_owned();
    move |cause| GeneratorError::File { path, cause }
}

/// Options of the task.
#[derive(Debug, Default)]
pub struct Options {
    headers: Option<PathBuf>,
    all: Option<PathBuf>,
    from: Option<PathBuf>,
}

impl Options {
    /// Reads the command line; `None` where it is wrong.
    pub fn parse(arguments: &[String]) -> Option<Options> {
        let mut options = Options::default();
        for pair in arguments.chunks(2) {
            let [name, value] = pair else { return None };
            match name.as_str() {
                "--headers" => options.headers = Some(value.into()),
                "--all" => options.all = Some(value.into()),
                "--from" => options.from = Some(value.into()),
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Makes the data files anew.
pub fn run(options: &Options) -> Result<(), GeneratorError> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let room = workspace.join("crates/syscall-tables");
    let scratch = workspace.join("target/syscall-tables");
    std::fs::create_dir_all(&scratch).map_err(in_file(&scratch))?;
    let selection = Selection::read(&room.join("selection.toml"))?;
    let found = match &options.from {
        Some(file) => read_constants(file)?,
        None => evaluate(&room, &scratch, options.headers.as_deref())?,
    };
    if let Some(file) = &options.all {
        std::fs::write(file, every_constant(&found)).map_err(in_file(file))?;
    }
    let carried = Carried::read(&room.join("carried.tsv"))?;
    let found = carried.add_to(found)?;
    let signatures = Signatures::read(&room.join("signatures.tsv"))?;
    for (name, text) in tables(&selection, &signatures, &found)? {
        let file = room.join("data").join(name);
        std::fs::write(&file, text).map_err(in_file(&file))?;
    }
    Ok(())
}

/// What the pinned headers define, by machine.
fn evaluate(room: &Path, scratch: &Path, headers: Option<&Path>) -> Result<Found, GeneratorError> {
    let sources = fetch::Sources::read(&room.join("sources.toml"))?;
    let include = match headers {
        Some(folder) => folder.to_owned(),
        None => sources.fetch(scratch)?,
    };
    let mut found = Found::new();
    for machine in &Machine::ALL {
        let headers = Headers::of_package(&include, machine, &sources.libc)?;
        let constants = compiler::constants(&headers, scratch)?;
        eprintln!(
            "{}: {} constants; left out, because they don't compile: {}",
            machine.name,
            constants.values.len(),
            constants.left_out.join(" ")
        );
        found.insert(machine.name.to_owned(), constants);
    }
    Ok(found)
}

/// The data files: their names and contents.
fn tables(
    selection: &Selection,
    signatures: &Signatures,
    found: &Found,
) -> Result<Vec<(&'static str, String)>, GeneratorError> {
    let head = head(found);
    Ok(vec![
        ("requests.tsv", head.clone() + &selection.requests(found)?),
        ("sets.tsv", head.clone() + &selection.sets(found)?),
        ("syscalls.tsv", head + &signatures.table(found)?),
    ])
}

fn head(found: &Found) -> String {
    let part = |name: &str| {
        let mut machines = found.values();
        machines.find_map(|constants| Some(constants.values.get(name)?.value))
    };
    let version = [
        "LINUX_VERSION_MAJOR",
        "LINUX_VERSION_PATCHLEVEL",
        "LINUX_VERSION_SUBLEVEL",
    ]
    .map(|name| part(name).map_or_else(|| "?".to_owned(), |part| part.to_string()));
    format!(
        "# Linux {}. Made by `cargo xtask syscall-tables`; change selection.toml or signatures.tsv, not this file.\n",
        version.join(".")
    )
}

/// A line a constant: machine, name, value, and whether it is a request.
fn every_constant(found: &Found) -> String {
    let rows = found.iter().flat_map(|(machine, constants)| {
        let values = constants.values.iter();
        values.map(move |(name, constant)| {
            let request = if constant.request { "\trequest" } else { "" };
            format!("{machine}\t{name}\t{:#x}{request}\n", constant.value)
        })
    });
    rows.collect()
}

/// Reads what [`every_constant`] writes.
fn read_constants(file: &Path) -> Result<Found, GeneratorError> {
    let text = std::fs::read_to_string(file).map_err(in_file(file))?;
    let mut found = Found::new();
    for (at, line) in text.lines().enumerate() {
        let mut fields = line.split('\t');
        let (Some(machine), Some(name), Some(value)) =
            (fields.next(), fields.next(), fields.next().and_then(number))
        else {
            return Err(GeneratorError::Line {
                path: file.to_owned(),
                line: at + 1,
                message: "a machine, a name and a value are wanted, with tabs between them".into(),
            });
        };
        let request = fields.next() == Some("request");
        let constants = found.entry(machine.to_owned()).or_default();
        constants
            .values
            .insert(name.to_owned(), Constant { value, request });
    }
    Ok(found)
}

/// A number as tables have it: `0x40`.
fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: [(&str, &str); 6] = [
        (
            "linux/ioctl.h",
            "#define _IOC_DIRSHIFT 30\n#define _IOC_TYPESHIFT 8\n#define _IOC_NRSHIFT 0\n#define _IOC_SIZESHIFT 16\n\
             #define _IOC(d,t,n,s) (((d)<<_IOC_DIRSHIFT)|((t)<<_IOC_TYPESHIFT)|((n)<<_IOC_NRSHIFT)|((s)<<_IOC_SIZESHIFT))\n\
             #define _IO(t,n) _IOC(0U,(t),(n),0)\n#define _IOR(t,n,k) _IOC(2U,(t),(n),sizeof(k))\n",
        ),
        (
            "linux/door.h",
            "#ifndef DOOR\n#define DOOR\n#include <linux/ioctl.h>\nstruct door { long wide; };\n\
             enum { DOOR_OPEN = 1, DOOR_SHUT = DOOR_OPEN << 1, };\n#define DOOR_LOCKED (1U << 31)\n#define DOOR_MINUS (-2)\n\
             #define DOOR_NAME \"door\"\n#define DOOR_TYPE struct door\n#define DOOR_CALL(x) (x)\n\
             #define DOOR_KNOCK _IO('d', 1)\n#define DOOR_LOOK _IOR('d', 2, struct door)\n#define OLD_KNOCK 0x301\n#endif\n",
        ),
        // It can't be included together with the one before.
        (
            "linux/gate.h",
            "struct door { int high; };\n#define GATE_KNOCK 0x6401\n#define GATE_BITS (GATE_KNOCK + 1)\n",
        ),
        ("linux/broken.h", "#error never\n"),
        (
            "asm/unistd.h",
            "#ifdef __aarch64__\n#define __NR_knock 7\n#else\n#define __NR_knock 3\n#define __NR_look 4\n#endif\n#define __NR_syscalls 9\n",
        ),
        (
            "asm/width.h",
            "#ifdef __aarch64__\n#define WIDTH 3\n#else\n#define WIDTH 5\n#endif\n",
        ),
    ];

    const SELECTION: &str = r#"
        [requests]
        also = ["OLD_*", "GATE_KNOCK"]
        except = ["DOOR_LOOK"]
        [sets.DOOR]
        about = "States of a door."
        unknown = "DOOR_???"
        zero = "0"
        names = ["DOOR_LOCKED", "DOOR_*", "DOOR_OPEN|DOOR_SHUT"]
        except = ["DOOR_KNOCK", "DOOR_LOOK", "DOOR_MINUS"]
        [sets.MINUS]
        about = "Less."
        unknown = "MINUS_???"
        zero = "0"
        mask = "OLD_KNOCK"
        names = ["DOOR_MINUS"]
        [sets.WIDTH_ARM]
        about = "Widths."
        machine = "aarch64"
        unknown = "WIDTH_???"
        zero = ""
        names = ["WIDTH"]
    "#;

    const SIGNATURES: &str = "# Calls.\nknock\tx86_64 i386\tdoor: int, hard: const char *\nknock\taarch64\tdoor: int\nlook\t*\t-\n";

    fn signatures(folder: &Path) -> Signatures {
        signatures_of(folder, SIGNATURES).expect("signatures")
    }

    fn signatures_of(folder: &Path, text: &str) -> Result<Signatures, GeneratorError> {
        let file = folder.join("signatures.tsv");
        std::fs::write(&file, text).expect("a file");
        Signatures::read(&file)
    }

    fn constants(folder: &Path) -> Found {
        for (name, text) in HEADERS {
            let file = folder.join("headers").join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, text).expect("a header");
        }
        let machines = Machine::ALL.iter();
        machines
            .map(|machine| {
                let headers =
                    Headers::in_folder(&folder.join("headers"), machine).expect("headers");
                let found = compiler::constants(&headers, folder).expect("constants");
                (machine.name.to_owned(), found)
            })
            .collect()
    }

    #[test]
    fn a_compiler_evaluates_what_headers_define() {
        let folder = tempfile::tempdir().expect("a folder");
        let found = constants(folder.path());
        let values = &found["x86_64"];
        let value = |name: &str| values.values.get(name).map(|constant| constant.value);
        assert_eq!(value("DOOR_SHUT"), Some(2));
        assert_eq!(value("DOOR_LOCKED"), Some(0x8000_0000));
        assert_eq!(value("DOOR_MINUS"), Some(0xffff_fffe));
        assert_eq!(value("DOOR_LOOK"), Some(0x8008_6402));
        assert_eq!(value("GATE_BITS"), Some(0x6402));
        assert_eq!(value("DOOR_NAME"), None);
        assert_eq!(value("DOOR_TYPE"), None);
        assert_eq!(value("DOOR_CALL"), None);
        assert_eq!(values.left_out, ["linux/broken.h"]);
        assert!(values.values["DOOR_KNOCK"].request && !values.values["OLD_KNOCK"].request);
    }

    #[test]
    fn the_same_headers_give_the_same_files() {
        let selection =
            Selection::parse(SELECTION, Path::new("selection.toml")).expect("a selection");
        let [one, other] = [(), ()].map(|()| {
            let folder = tempfile::tempdir().expect("a folder");
            tables(
                &selection,
                &signatures(folder.path()),
                &constants(folder.path()),
            )
            .expect("tables")
        });
        assert_eq!(one, other);
        let head = "# Linux ?.?.?. Made by `cargo xtask syscall-tables`; change selection.toml or signatures.tsv, not this file.\n";
        assert_eq!(
            one[0].1,
            format!("{head}0x301\tOLD_KNOCK\n0x6401\tDOOR_KNOCK or GATE_KNOCK\n")
        );
        assert_eq!(
            one[1].1,
            format!(
                "{head}set\tDOOR\tDOOR_???\t0\tStates of a door.\nDOOR_LOCKED\t0x80000000\nDOOR_OPEN\t0x1\nDOOR_SHUT\t0x2\n\
                 DOOR_OPEN|DOOR_SHUT\t0x3\nset\tMINUS\tMINUS_???\t0\tLess.\nDOOR_MINUS\t0x300\nset\tWIDTH_ARM\tWIDTH_???\t\tWidths.\nWIDTH\t0x3\n"
            )
        );
    }

    #[test]
    fn calls_have_their_numbers_of_every_machine_and_their_arguments() {
        let folder = tempfile::tempdir().expect("a folder");
        let found = constants(folder.path());
        assert_eq!(
            signatures(folder.path()).table(&found).expect("a table"),
            "knock\t3\t3\t-\tdoor: int, hard: const char *\nknock\t-\t-\t7\tdoor: int\nlook\t4\t4\t-\t-\n"
        );
        for (text, message) in [
            (
                "knock\t*\t-\n",
                "signatures.tsv has no line for these calls, which the headers number: look (x86_64), look (i386)",
            ),
            (
                "knock\t*\t-\nlook\t*\t-\nlisten\t*\t-\n",
                "signatures.tsv:3: no header numbers listen: remove the line",
            ),
        ] {
            let table = signatures_of(folder.path(), text).and_then(|one| one.table(&found));
            let error = table.expect_err("a refused file").to_string();
            assert!(error.ends_with(message), "{error}");
        }
    }

    #[test]
    fn constants_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let written = every_constant(&constants(folder.path()));
        let file = folder.path().join("all.tsv");
        std::fs::write(&file, &written).expect("a file");
        assert_eq!(
            every_constant(&read_constants(&file).expect("constants")),
            written
        );
    }

    #[test]
    fn what_headers_lack_is_carried_and_what_they_have_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("carried.tsv");
        let carried = |text: &str| {
            std::fs::write(&file, text).expect("a file");
            Carried::read(&file)?.add_to(constants(folder.path()))
        };
        let found = carried("# Gone.\nrequest\tDOOR_KNOCK\t0x6409\nconstant\tBREADTH\t0x7\n")
            .expect("constants");
        let selection = SELECTION.replace("\"WIDTH\"", "\"WIDTH\", \"BREADTH\"");
        let selection =
            Selection::parse(&selection, Path::new("selection.toml")).expect("a selection");
        let files = tables(&selection, &signatures(folder.path()), &found).expect("tables");
        assert!(
            files[0]
                .1
                .ends_with("0x6401\tDOOR_KNOCK or GATE_KNOCK\n0x6409\tDOOR_KNOCK\n")
        );
        assert!(files[1].1.ends_with("WIDTH\t0x3\nBREADTH\t0x7\n"));
        for (text, message) in [
            (
                "constant\tDOOR_OPEN\t0x1\n",
                "carried.tsv:1: the headers define DOOR_OPEN: remove the line",
            ),
            (
                "request\tDOOR_KNOCK\t0x6401\n",
                "carried.tsv:1: the headers define DOOR_KNOCK: remove the line",
            ),
            (
                "# Gone.\nDOOR\n",
                "carried.tsv:2: `request` or `constant`, a name and a value are wanted, with tabs between them",
            ),
        ] {
            let error = carried(text).expect_err("a refused line");
            assert!(error.to_string().ends_with(message), "{error}");
        }
    }

    #[test]
    fn a_name_that_no_header_defines_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = SELECTION.replace("\"WIDTH\"", "\"WIDTH\", \"BREADTH\", \"HEIGHT_*\"");
        let selection = Selection::parse(&text, Path::new("selection.toml")).expect("a selection");
        let error = tables(
            &selection,
            &signatures(folder.path()),
            &constants(folder.path()),
        )
        .expect_err("unknown names");
        assert!(
            error.to_string().ends_with(": BREADTH, HEIGHT_*"),
            "{error}"
        );
    }
}
