//! The names of published files. They come from numbers and hashes, never from a text that somebody wrote.

use backsight_model::Version;
use backsight_store::RawRef;

/// Sixteen hexadecimal digits that stand for a text.
fn digest(text: &str) -> String {
    let mut digits = RawRef::from_content(text.as_bytes()).to_string();
    digits.truncate(16);
    digits
}

/// The folder of a target.
pub fn target(name: &str) -> String {
    digest(name)
}

/// The page of a version, in its target's folder.
pub fn version(version: &Version) -> String {
    format!("v-{}.html", digest(&version.id))
}

/// The page of what lies between two versions.
pub fn range(from: &Version, to: &Version) -> String {
    format!("r-{}.html", digest(&format!("{}\n{}", from.id, to.id)))
}

/// The page of a target's tests, in its folder.
pub const TESTS: &str = "tests.html";

/// The page of a boot.
pub fn boot(study: i64, number: u32) -> String {
    format!("b-{study}-{number}.html")
}

/// The page of a trial.
pub fn trial(study: i64, number: u32) -> String {
    format!("t-{study}-{number}.html")
}

/// A raw output, in the site's own folder.
pub fn raw(reference: &RawRef) -> String {
    let digits = reference.to_string();
    format!("raw/{}/{digits}.txt", &digits[..2])
}
