//! Generators and measurements of the workspace: `cargo xtask TASK`.

use std::process::ExitCode;

mod book;
mod dist;
mod programs;
mod quality;
mod speed;
mod syscall_tables;

const USAGE: &str = "usage: cargo xtask TASK

  book
      Makes the documentation a book, in target/book/html.

  dist [--machine x86_64 | aarch64]... [--program FILE] [--folder FOLDER]
      Makes what a release consists of, in target/dist: an archive and a Debian package for each machine, the list of what is in the
      program, and checksums.

      --program FILE    packs this one, for this machine, and builds nothing

  sbom
      Prints what is in the program, by the standard of CycloneDX.

  syscall-tables [--headers FOLDER] [--all FILE] [--from FILE]
      Makes the data files of crates/syscall-tables anew from the pinned kernel headers.

      --headers FOLDER  unpacked headers (the package's lib/libc/include) in place of fetched ones
      --all FILE        also writes every constant of the headers, to choose from in selection.toml
      --from FILE       takes the constants that --all wrote, in place of headers: a change of selection.toml in a second

  quality coverage | power | looks | changes | intervals | flaky-tests
  quality short-histories [steps | listed | stretches | pending | flat]... [series=N]
  quality culprits | test-culprits [JOBS [ROW]]
  quality watch [TREES [ROW]]
      Prints a table of docs/quality.md; `scripts/quality` writes them all.
  quality series FOLDER
      Writes the series that peers are given.

  speed [WORDS]...
      Says how long the statistics take; those that have one of these words.

  Quality and speed are to be run by a release build: `cargo run --release -p xtask -- speed`.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((task, rest)) = arguments.split_first() else {
        return usage();
    };
    let result: Result<(), Box<dyn std::error::Error>> = match task.as_str() {
        "syscall-tables" => match syscall_tables::Options::parse(rest) {
            Some(options) => syscall_tables::run(&options).map_err(Into::into),
            None => return usage(),
        },
        "book" if rest.is_empty() => book::run().map_err(Into::into),
        "sbom" if rest.is_empty() => dist::print_sbom().map_err(Into::into),
        "dist" => match dist::Options::parse(rest) {
            Some(options) => dist::run(&options).map_err(Into::into),
            None => return usage(),
        },
        "quality" if quality::run(rest) => Ok(()),
        "speed" => {
            speed::print(rest);
            Ok(())
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
