//! Writes a report with everything in it to the file that is named: `cargo run --example sample_report -- FILE [two]`.
//! With `two` it compares two studies, else the variants of one.

mod sample;

use std::{fs, process::ExitCode};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: sample_report FILE [two]");
        return ExitCode::FAILURE;
    };
    let report = match arguments.next().as_deref() {
        Some("two") => sample::report_of_two(),
        _ => sample::report(),
    };
    let written = backsight_site::report(&report, &backsight_site::Surroundings::default())
        .map_err(|e| e.to_string())
        .and_then(|page| fs::write(&path, page).map_err(|e| format!("{path}: {e}")));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
