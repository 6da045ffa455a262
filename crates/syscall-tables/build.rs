//! Turns the data files into constants, so that nothing is parsed when a program starts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=data");
    println!("cargo::rerun-if-changed=classes.tsv");
    println!("cargo::rerun-if-changed=error_texts.tsv");
    println!("cargo::rerun-if-changed=manual_names.tsv");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where to build"));
    let made = [
        (
            "data/requests.tsv",
            requests as fn(&str) -> Result<String, String>,
        ),
        ("data/sets.tsv", sets),
        ("data/syscalls.tsv", syscalls),
        ("classes.tsv", classes),
        ("error_texts.tsv", error_texts),
        ("manual_names.tsv", classes),
    ];
    for (file, make) in made {
        let file = Path::new(file);
        let text = std::fs::read_to_string(file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let code = make(&text).unwrap_or_else(|line| {
            panic!(
                "{}: this isn't a line of this table: {line:?} (`cargo xtask syscall-tables` makes those in data/)",
                file.display()
            )
        });
        let name = file.file_stem().expect("a table has a name");
        let target = out.join(name).with_extension("rs");
        std::fs::write(&target, code)
            .unwrap_or_else(|error| panic!("{}: {error}", target.display()));
    }
}

fn rows(text: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| (line, line.split('\t').collect()))
}

/// A line a number, with the names that it has.
fn requests(text: &str) -> Result<String, String> {
    let mut code = String::from("&[\n");
    for (line, fields) in rows(text) {
        let &[number, names] = fields.as_slice() else {
            return Err(line.into());
        };
        let _ = writeln!(code, "({number}, {names:?}),");
    }
    Ok(code + "]\n")
}

/// A line an error: its name and its text.
fn error_texts(text: &str) -> Result<String, String> {
    let mut code = String::from("&[\n");
    for (line, fields) in rows(text) {
        let &[name, text] = fields.as_slice() else {
            return Err(line.into());
        };
        let _ = writeln!(code, "({name:?}, {text:?}),");
    }
    Ok(code + "]\n")
}

/// A line a set, and behind it a line a name with its value.
fn sets(text: &str) -> Result<String, String> {
    let mut code = String::new();
    for (line, fields) in rows(text) {
        match *fields.as_slice() {
            ["set", title, unknown, zero, about] => {
                if !code.is_empty() {
                    code += "]};\n";
                }
                let _ = writeln!(
                    code,
                    "#[doc = {about:?}]\npub static {title}: Names = Names {{ unknown: {unknown:?}, zero: {zero:?}, list: &["
                );
            }
            [name, value] if !code.is_empty() => {
                let _ = writeln!(code, "({name:?}, {value}),");
            }
            _ => return Err(line.into()),
        }
    }
    if !code.is_empty() {
        code += "]};\n";
    }
    Ok(code)
}

/// A line a call: its name, its numbers on x86-64, i386 and arm64, and its arguments.
fn syscalls(text: &str) -> Result<String, String> {
    let mut code = String::from(
        "/// Every system call, in the order of their names.\npub static SYSCALLS: &[Syscall] = &[\n",
    );
    let mut indices: [Vec<Option<usize>>; 3] = Default::default();
    for (index, (line, fields)) in rows(text).enumerate() {
        let &[name, x86_64, i386, aarch64, arguments] = fields.as_slice() else {
            return Err(line.into());
        };
        for (indices, number) in indices.iter_mut().zip([x86_64, i386, aarch64]) {
            if number == "-" {
                continue;
            }
            let number: usize = number.parse().map_err(|_| line)?;
            if indices.len() <= number {
                indices.resize(number + 1, None);
            }
            indices[number] = Some(index);
        }
        let _ = write!(code, "Syscall {{ name: {name:?}, arguments: &[");
        for argument in arguments.split(", ").filter(|_| arguments != "-") {
            let (name, c_type) = argument.split_once(": ").ok_or(line)?;
            let _ = write!(code, "Argument {{ name: {name:?}, c_type: {c_type:?} }}, ");
        }
        code += "] },\n";
    }
    code += "];\n";
    for (machine, indices) in ["X86_64", "I386", "AARCH64"].into_iter().zip(indices) {
        let _ = writeln!(
            code,
            "/// Places in [`SYSCALLS`], by the numbers of calls; [`NO_SYSCALL`] where a number has none.\npub static {machine}: &[u16] = &["
        );
        for index in indices {
            let _ = match index {
                Some(index) => write!(code, "{index}, "),
                None => write!(code, "NO_SYSCALL, "),
            };
        }
        code += "];\n";
    }
    Ok(code)
}

/// A line a class with its calls, or a call with the names of its arguments.
fn classes(text: &str) -> Result<String, String> {
    let mut code = String::from("&[\n");
    for (line, fields) in rows(text) {
        let &[class, calls] = fields.as_slice() else {
            return Err(line.into());
        };
        let calls: Vec<&str> = calls.split(' ').collect();
        let _ = writeln!(code, "({class:?}, &{calls:?}),");
    }
    Ok(code + "]\n")
}
