//! Every constant of a folder of headers and its value, as a C compiler for one machine sees them.
//!
//! Headers are included together, as far as they agree with each other; those that don't are tried again in groups of their
//! own, first without the C library and then with it, which defines some macros otherwise. Of each group the compiler says which macros and enumerators there
//! are, and then what each is worth; those that aren't numbers are its errors, and are dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{GeneratorError, in_file};

/// A machine whose constants are wanted.
#[derive(Debug)]
pub struct Machine {
    /// Its name in the tables.
    pub name: &'static str,
    target: &'static str,
    /// The package's folder of the kernel's headers that only this machine has.
    kernel: &'static str,
    /// The same of the C library's.
    libc: &'static str,
}

impl Machine {
    /// All of them.
    pub const ALL: [Machine; 3] = [
        Machine {
            name: "x86_64",
            target: "x86_64-linux-gnu",
            kernel: "x86-linux-any",
            libc: "x86-linux-gnu",
        },
        Machine {
            name: "i386",
            target: "i386-linux-gnu",
            kernel: "x86-linux-any",
            libc: "x86-linux-gnu",
        },
        Machine {
            name: "aarch64",
            target: "aarch64-linux-gnu",
            kernel: "aarch64-linux-any",
            libc: "aarch64-linux-gnu",
        },
    ];
}

/// Headers for one machine.
#[derive(Debug)]
pub struct Headers {
    target: &'static str,
    kernel: Vec<PathBuf>,
    libc: Vec<PathBuf>,
    /// As they are included: `linux/fs.h`. Kernel's first.
    names: Vec<String>,
    /// The C library's.
    libc_names: Vec<String>,
}

impl Headers {
    /// Those of the pinned package.
    pub fn of_package(
        include: &Path,
        machine: &Machine,
        libc: &[String],
    ) -> Result<Headers, GeneratorError> {
        let kernel = [machine.kernel, "any-linux-any"].map(|folder| include.join(folder));
        let libc_folders = [machine.libc, "generic-glibc"].map(|folder| include.join(folder));
        let names = names(&kernel)?;
        Ok(Headers {
            target: machine.target,
            kernel: kernel.into(),
            libc: libc_folders.into(),
            names,
            libc_names: libc.to_vec(),
        })
    }

    /// All in one folder, without a C library.
    #[cfg(test)]
    pub fn in_folder(folder: &Path, machine: &Machine) -> Result<Headers, GeneratorError> {
        let kernel = vec![folder.to_owned()];
        Ok(Headers {
            target: machine.target,
            names: names(&kernel)?,
            kernel,
            libc: Vec::new(),
            libc_names: Vec::new(),
        })
    }
}

/// The headers below folders, in alphabetical order, without those that `asm/unistd.h` and others include for this machine
/// alone: generic ones, and the numbers of the calls of each way of calling.
fn names(folders: &[PathBuf]) -> Result<Vec<String>, GeneratorError> {
    let mut found = BTreeSet::new();
    for root in folders {
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).map_err(in_file(&folder))? {
                let path = entry.map_err(in_file(&folder))?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "h")
                    && let Ok(name) = path.strip_prefix(root)
                {
                    found.insert(name.to_string_lossy().into_owned());
                }
            }
        }
    }
    let all = found.into_iter();
    Ok(all
        .filter(|name| !name.starts_with("asm-generic/") && !name.starts_with("asm/unistd_"))
        .collect())
}

/// A constant's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant {
    /// The value; of one with 32 bits, these.
    pub value: u64,
    /// Whether `_IOC` composes it: a request of `ioctl`.
    pub request: bool,
}

/// What a folder of headers defines.
#[derive(Debug, Default)]
pub struct Constants {
    /// By name. Where headers define it differently, the kernel's first.
    pub values: BTreeMap<String, Constant>,
    /// Requests that the headers don't define any more, or with another number.
    pub former_requests: Vec<(u64, String)>,
    /// Headers that don't compile.
    pub left_out: Vec<String>,
}

/// Every constant of the headers.
pub fn constants(headers: &Headers, scratch: &Path) -> Result<Constants, GeneratorError> {
    let mut all = Constants::default();
    let mut left = headers.names.clone();
    for with_libc in [false, true] {
        let unit = Unit::new(headers, with_libc, scratch);
        loop {
            let dropped = unit.include_together(&mut left)?;
            if left.is_empty() {
                left = dropped;
                break;
            }
            unit.evaluate(&left, &mut all.values)?;
            left = dropped;
        }
    }
    all.left_out = left;
    for name in &headers.libc_names {
        let unit = Unit::new(headers, true, scratch);
        unit.evaluate(std::slice::from_ref(name), &mut all.values)?;
    }
    Ok(all)
}

/// The compiler with its options, and the file that it is given.
struct Unit {
    with_libc: bool,
    options: Vec<String>,
    file: PathBuf,
}

impl Unit {
    fn new(headers: &Headers, with_libc: bool, scratch: &Path) -> Unit {
        let mut options = vec![
            format!("--target={}", headers.target),
            "-nostdlibinc".into(),
            "-ferror-limit=0".into(),
            "-fno-caret-diagnostics".into(),
            "-fno-color-diagnostics".into(),
        ];
        let libc = headers.libc.iter().filter(|_| with_libc);
        for folder in headers.kernel.iter().chain(libc) {
            options.push(format!("-I{}", folder.display()));
        }
        if with_libc {
            options.push("-D_GNU_SOURCE".into());
        }
        Unit {
            with_libc,
            options,
            file: scratch.join("constants.c"),
        }
    }

    fn write(&self, text: &str) -> Result<(), GeneratorError> {
        std::fs::write(&self.file, text).map_err(in_file(&self.file))
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut clang = Command::new(std::env::var("CLANG").unwrap_or_else(|_| "clang".into()));
        clang.args(&self.options).args(more).arg(&self.file);
        clang
    }

    /// Leaves of the headers those that can be included together, and says which can't.
    fn include_together(&self, headers: &mut Vec<String>) -> Result<Vec<String>, GeneratorError> {
        let mut dropped = Vec::new();
        loop {
            self.write(&inclusions(headers))?;
            let told = run(self.command(&["-fsyntax-only"]))?.1;
            let wrong = self.lines_of(&told, !self.with_libc);
            if wrong.is_empty() {
                dropped.sort();
                return Ok(dropped);
            }
            let numbered = std::mem::take(headers).into_iter().enumerate();
            for (at, header) in numbered {
                let list = if wrong.contains(&(at + 1)) {
                    &mut dropped
                } else {
                    &mut *headers
                };
                list.push(header);
            }
        }
    }

    /// The lines of the file that errors are on, or that include the file they are in. Where redefinitions count, so do
    /// warnings that one header defines a macro otherwise than another.
    fn lines_of(&self, told: &str, redefinitions: bool) -> BTreeSet<usize> {
        let own = format!("{}:", self.file.display());
        let mut found = BTreeSet::new();
        let mut includes = 0;
        for line in told.lines() {
            let place = line.strip_prefix("In file included from ").unwrap_or(line);
            let at = place
                .strip_prefix(&own)
                .and_then(|rest| rest.split(':').next()?.parse().ok());
            if let Some(at) = at {
                includes = at;
            }
            let is_error = line.contains(": error: ") || line.contains(": fatal error: ");
            let is_other =
                redefinitions && line.contains(": warning: ") && line.contains(" macro redefined");
            if is_error || is_other {
                found.insert(includes);
            }
        }
        found
    }

    /// Adds the constants of headers that can be included together; those that have a value keep it.
    fn evaluate(
        &self,
        headers: &[String],
        values: &mut BTreeMap<String, Constant>,
    ) -> Result<(), GeneratorError> {
        let inclusions = inclusions(headers);
        self.write(&inclusions)?;
        let mut names = macros(&output(self.command(&["-E", "-dD"]))?);
        names.extend(enumerators(&output(self.command(&[
            "-fsyntax-only",
            "-w",
            "-Xclang",
            "-ast-dump",
        ]))?));
        let mut names: Vec<String> = names
            .into_iter()
            .filter(|name| !values.contains_key(name))
            .collect();
        // A constant a line: on which line an error is says which constant isn't one.
        let lines = |names: &[String], one: &dyn Fn(usize, &str) -> String| -> String {
            let numbered = names.iter().enumerate();
            numbered.map(|(at, name)| one(at, name)).collect()
        };
        let compiled = loop {
            let mut text = inclusions.clone();
            text += &lines(&names, &|at, name| {
                format!(
                    "const unsigned long long value_{at} = (unsigned long long)({name}); const unsigned long long size_{at} = sizeof({name});\n"
                )
            });
            text += MARKED_REQUESTS;
            text += &lines(&names, &|at, name| {
                format!("const unsigned long long marked_{at} = (unsigned long long)({name});\n")
            });
            self.write(&text)?;
            let (compiled, told) = run(self.command(&["-w", "-S", "-emit-llvm", "-o", "-"]))?;
            let wrong = self.lines_of(&told, false);
            if wrong.is_empty() {
                break compiled;
            }
            let first = headers.len() + 1;
            let second = first + names.len() + MARKED_REQUESTS.lines().count();
            let is_wrong =
                |at: usize| wrong.contains(&(first + at)) || wrong.contains(&(second + at));
            let before = names.len();
            let mut at = 0;
            names.retain(|_| {
                at += 1;
                !is_wrong(at - 1)
            });
            if names.len() == before {
                return Err(GeneratorError::Program {
                    program: "clang".into(),
                    message: told,
                });
            }
        };
        let known: BTreeMap<&str, u64> = compiled.lines().filter_map(constant).collect();
        for (at, name) in names.into_iter().enumerate() {
            let of = |what: &str| known.get(format!("{what}_{at}").as_str()).copied();
            let (Some(value), Some(size)) = (of("value"), of("size")) else {
                continue;
            };
            let within = if size <= 4 { 0xffff_ffff } else { u64::MAX };
            let request = of("marked").is_some_and(|marked| {
                marked & MARK != 0 && value & MARK == 0 && marked & 0xffff_ffff == value
            });
            let value = value & within;
            values.insert(name, Constant { value, request });
        }
        Ok(())
    }
}

/// What distinguishes a number that `_IOC` composes, from here on.
const MARKED_REQUESTS: &str = "#undef _IOC
#define _IOC(d,t,n,s) ((1ULL << 62) | (unsigned int)(((d) << _IOC_DIRSHIFT) | ((t) << _IOC_TYPESHIFT) | ((n) << _IOC_NRSHIFT) | ((s) << _IOC_SIZESHIFT)))
";
const MARK: u64 = 1 << 62;

fn inclusions(headers: &[String]) -> String {
    let lines = headers.iter().map(|name| format!("#include <{name}>\n"));
    lines.collect()
}

/// The macros without arguments that a preprocessor's output defines, without its own.
fn macros(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut own = true;
    for line in text.lines() {
        if let Some(place) = line.strip_prefix("# ") {
            own = place.contains("\"<");
        } else if let Some(rest) = line.strip_prefix("#define ")
            && let Some((name, _)) = rest.split_once(' ')
            && !own
            && !name.contains('(')
        {
            found.insert(name.to_owned());
        }
    }
    found
}

/// The enumerators of a compiler's syntax tree.
fn enumerators(tree: &str) -> BTreeSet<String> {
    let lines = tree
        .lines()
        .filter(|line| line.contains("EnumConstantDecl "));
    let names = lines.filter_map(|line| {
        let (before, _) = line.split_once(" '")?;
        Some(before.rsplit(' ').next()?.to_owned())
    });
    names.collect()
}

/// The name and the value of a constant in the compiler's own language: `@size_1 = dso_local constant i64 4, align 8`.
fn constant(line: &str) -> Option<(&str, u64)> {
    let (name, rest) = line.strip_prefix('@')?.split_once(" = ")?;
    let (_, value) = rest.split_once("constant i64 ")?;
    let value: i64 = value.split(',').next()?.parse().ok()?;
    Some((name, value as u64))
}

/// What a program writes; its own message where it fails.
pub fn output(command: Command) -> Result<String, GeneratorError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let (written, told, succeeded) = finished(command)?;
    match succeeded {
        true => Ok(written),
        false => Err(GeneratorError::Program {
            program,
            message: told,
        }),
    }
}

/// What a program writes, and its messages, whether it fails or not.
fn run(command: Command) -> Result<(String, String), GeneratorError> {
    finished(command).map(|(written, told, _)| (written, told))
}

fn finished(mut command: Command) -> Result<(String, String, bool), GeneratorError> {
    let output = command.output().map_err(|error| GeneratorError::Program {
        program: command.get_program().to_string_lossy().into_owned(),
        message: error.to_string(),
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((
        text(&output.stdout),
        text(&output.stderr),
        output.status.success(),
    ))
}
