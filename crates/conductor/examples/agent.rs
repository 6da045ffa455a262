//! The agent as the tests start it: `agent agent [--netns FILE]`, as the command would be.

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let served = match words.as_slice() {
        ["agent"] => backsight_agent::serve_stdio(None),
        ["agent", "--netns", file] => backsight_agent::serve_stdio(Some(Path::new(file))),
        _ => return ExitCode::from(2),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
