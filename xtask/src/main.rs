//! Generators of the workspace: `cargo xtask TASK`.

use std::process::ExitCode;

mod syscall_tables;

const USAGE: &str = "usage: cargo xtask syscall-tables [--headers FOLDER] [--all FILE] [--from FILE]

  Makes the data files of crates/syscall-tables anew from the pinned kernel headers.

  --headers FOLDER  unpacked headers (the package's lib/libc/include) in place of fetched ones
  --all FILE        also writes every constant of the headers, to choose from in selection.toml
  --from FILE       takes the constants that --all wrote, in place of headers: a change of selection.toml in a second";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((task, rest)) if task == "syscall-tables" => {
            match syscall_tables::Options::parse(rest) {
                Some(options) => syscall_tables::run(&options),
                None => return usage(),
            }
        }
        _ => return usage(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}
