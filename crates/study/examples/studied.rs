//! The agent as this package's tests start it. Called so because examples of all packages lie in one folder.

use std::process::ExitCode;

fn main() -> ExitCode {
    match backsight_agent::serve_stdio(None) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}
