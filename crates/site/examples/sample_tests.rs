//! Writes the page of a made-up matrix of tests to the file that is named: `cargo run --example sample_tests -- FILE [TESTS NIGHTS]`.

#[path = "sample/suites.rs"]
#[allow(dead_code)]
mod suites;

use backsight_policy::TestConcern;
use backsight_report::test_matrix::TestFilter;
use std::{error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, tests, nights) = match &arguments[..] {
        [path] => (path, 400, 60),
        [path, tests, nights] => (path, tests.parse()?, nights.parse()?),
        _ => return Err("usage: sample_tests FILE [TESTS NIGHTS]".into()),
    };
    let all = TestFilter {
        concerns: TestConcern::ALL.to_vec(),
        ..TestFilter::default()
    };
    let history = suites::nights(tests, nights);
    fs::write(
        path,
        backsight_site::test_matrix_page("Tests of linux", &history, &all)?,
    )?;
    Ok(())
}
