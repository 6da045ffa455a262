//! How often the statistics are right on data whose truth is known: a part of docs/quality.md, as Markdown. Everything is drawn from
//! seeds: the same program prints the same tables. `scripts/quality` runs all parts and writes the page.

use std::path::Path;

mod culprits;
mod drift;
mod flaky_tests;
mod parallel;
mod short_histories;
mod statistics;
mod test_culprits;
mod watch;

/// Prints a part; whether there is such a one.
pub fn run(arguments: &[String]) -> bool {
    let Some((part, rest)) = arguments.split_first() else {
        return false;
    };
    match (part.as_str(), rest) {
        ("series", [folder]) => statistics::series_for_peers(Path::new(folder)),
        ("short-histories", _) => short_histories::print(rest),
        ("culprits", _) => culprits::print(rest),
        ("drift", []) => drift::print(),
        ("flaky-tests", []) => flaky_tests::print(),
        ("test-culprits", _) => test_culprits::print(rest),
        ("watch", _) => watch::print(rest),
        (name, []) => match statistics::PARTS.iter().find(|(part, _)| *part == name) {
            Some((_, print)) => print(),
            None => return false,
        },
        _ => return false,
    }
    true
}
