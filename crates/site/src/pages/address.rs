//! Addresses of a site's pages: paths from its root, readable, and safe as names of files whatever names others chose.

use backsight_store::RawRef;
use std::collections::HashMap;

/// Longest part of an address that is taken from a name, in bytes.
const LONGEST: usize = 80;
/// First parts of addresses that no target can have.
const RESERVED: [&str; 11] = [
    "alerts.json",
    "api",
    "assets",
    "badge",
    "compare",
    "feed.xml",
    "index.html",
    "raw",
    "status",
    "studies",
    "testbeds",
];

/// The first page.
pub const HOME: &str = "index.html";

/// The list of studies.
pub const STUDIES: &str = "studies/index.html";
/// What isn't as it should be.
pub const STATUS: &str = "status/index.html";
/// The machines that measure.
pub const MACHINES: &str = "testbeds/index.html";
/// The changes of all targets, for readers of news.
pub const FEED: &str = "feed.xml";

/// What the first page and lists tell, for programs.
pub const ALERTS_DATA: &str = "alerts.json";
pub const STUDIES_DATA: &str = "studies/index.json";
pub const MACHINES_DATA: &str = "testbeds/index.json";

/// The form that asks which studies to compare, and the folder of their comparisons.
pub const COMPARE_STUDIES: &str = "compare/index.html";
pub const COMPARE_STUDIES_FOLDER: &str = "compare/";

/// Ends of the addresses of a comparison's page and of its JSON.
const PAGE: &str = ".html";
const DATA: &str = ".json";

/// What is at the address of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonForm {
    Page,
    Data,
}

/// The address of a comparison, taken apart.
pub struct SidesAddress<'a> {
    /// The parts of addresses that its sides are, the baseline first.
    pub parts: Vec<&'a str>,
    /// What is there.
    pub form: ComparisonForm,
}

impl<'a> SidesAddress<'a> {
    /// The address, where it is one below this folder.
    pub fn below(folder: &str, address: &'a str) -> Option<Self> {
        let named = address.strip_prefix(folder)?;
        let (parts, form) = match named.strip_suffix(PAGE) {
            Some(parts) => (parts, ComparisonForm::Page),
            None => (named.strip_suffix(DATA)?, ComparisonForm::Data),
        };
        Some(Self {
            parts: sides(parts),
            form,
        })
    }
}

/// The JSON beside the page of a comparison.
pub fn data_of_page(page: &str) -> String {
    let stem = page.strip_suffix(PAGE).unwrap_or(page);
    format!("{stem}{DATA}")
}

/// Names with `..` between them. A part may end in a dot and doesn't begin with one.
pub fn sides(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = text.rsplit("..").collect();
    parts.reverse();
    parts
}

/// The page of a folder that compares these sides.
pub fn sides_page(folder: &str, parts: &[String]) -> String {
    format!("{folder}{}{PAGE}", parts.join(".."))
}

/// Eight hexadecimal digits that stand for a text.
fn digest(text: &str) -> String {
    let mut digits = RawRef::from_content(text.as_bytes()).to_string();
    digits.truncate(8);
    digits
}

/// A name as a part of an address: itself where it is plain, else what is plain of it and a hash.
fn part(name: &str) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '=' | ',');
    let is_usable = !name.is_empty()
        && name.len() <= LONGEST
        && name.chars().all(is_plain)
        && !name.starts_with('.')
        && !name.contains("..");
    if is_usable {
        return name.to_owned();
    }
    hashed(name, name)
}

/// What is plain of a name, and the hash of what tells it apart.
fn hashed(name: &str, identity: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let start: String = name.chars().take(40).map(plain).collect();
    format!("{}~{}", start.trim_matches('-'), digest(identity))
}

/// The folder of a target.
pub fn target(name: &str) -> String {
    if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
        return hashed(name, name);
    }
    part(name)
}

/// Parts of addresses for these names: with a hash of the identity where a name isn't one's alone, upper and lower case being
/// one (some file systems make no difference).
pub fn parts<'a>(named: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Vec<String> {
    let mut count: HashMap<String, usize> = HashMap::new();
    for (name, _) in named.clone() {
        *count.entry(name.to_ascii_lowercase()).or_default() += 1;
    }
    let part_of = |(name, identity): (&str, &str)| match count[&name.to_ascii_lowercase()] {
        1 => part(name),
        _ => hashed(name, identity),
    };
    named.map(part_of).collect()
}

/// The page of the alert that a version names: of a target whose folder this is, and the version's part of addresses.
pub fn alert(folder: &str, version: &str) -> String {
    format!("{folder}/c/{version}.html")
}

/// The pages of the alerts that a target's versions name, in the order of these: each is given as its name and identity.
pub fn alert_pages<'a>(
    target_name: &str,
    versions: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Vec<String> {
    let folder = target(target_name);
    let parts = parts(versions);
    parts.iter().map(|part| alert(&folder, part)).collect()
}

/// The part of addresses that is a study.
pub fn study_part(name: &str) -> String {
    part(name)
}

/// The part of addresses that is a testbed.
pub fn testbed_part(name: &str) -> String {
    part(name)
}

/// The page of a study.
pub fn study(name: &str) -> String {
    format!("studies/{}/index.html", part(name))
}

/// What a study came to, for programs.
pub fn study_data(name: &str) -> String {
    format!("studies/{}/verdict.json", part(name))
}

/// The badge of a target whose folder this is.
pub fn badge(folder: &str) -> String {
    format!("badge/{folder}.svg")
}

/// The page of a boot.
pub fn boot(study: &str, number: u32) -> String {
    format!("studies/{}/boot-{number}.html", part(study))
}

/// The part of a page of a boot that is about a trial.
pub fn trial(number: u32) -> String {
    format!("#trial-{number}")
}

/// A raw output.
pub fn raw(reference: &RawRef) -> String {
    let digits = reference.to_string();
    format!("raw/{}/{digits}.txt", &digits[..2])
}

/// The raw output that has this address.
pub fn raw_at(address: &str) -> Option<RawRef> {
    let (_, file) = address.strip_prefix("raw/")?.split_once('/')?;
    let reference = file.strip_suffix(".txt")?.parse().ok()?;
    (raw(&reference) == address).then_some(reference)
}

/// A page of the site that is being made.
#[derive(Debug, Clone, Copy)]
pub struct PageAt<'a> {
    /// Where it is.
    pub address: &'a str,
    /// Whether it looks for news.
    pub is_live: bool,
    /// Whether who has the token may say something on it.
    pub is_controlled: bool,
}

impl PageAt<'_> {
    /// The link from it to an address.
    pub fn link(&self, to: &str) -> String {
        link(self.address, to)
    }
}

/// The link from one page to an address (perhaps with a `#` part): relative, so that it leads there on a disk too.
fn link(from: &str, to: &str) -> String {
    let folders: Vec<&str> = from.split('/').collect();
    let folders = &folders[..folders.len() - 1];
    let mut rest = to;
    let mut common = 0;
    for folder in folders {
        match rest.split_once('/') {
            Some((first, after)) if first == *folder => {
                rest = after;
                common += 1;
            }
            _ => break,
        }
    }
    "../".repeat(folders.len() - common) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_plain_are_addresses_and_others_get_a_hash() {
        assert_eq!(target("linux"), "linux");
        assert_eq!(part("6.1.18-rc3+b2"), "6.1.18-rc3+b2");
        for (name, start) in [
            ("raw", "raw~"),
            ("STATUS", "STATUS~"),
            ("../etc/passwd", "etc-passwd~"),
            ("a/b", "a-b~"),
            (".hidden", "hidden~"),
            ("1:2.0", "1-2-0~"),
            ("", "~"),
            ("<script>", "script~"),
        ] {
            assert!(target(name).starts_with(start), "{name}: {}", target(name));
        }
        assert_ne!(part("a/b"), part("a:b"));
        assert!(part(&"x".repeat(5000)).len() < 60);
    }

    #[test]
    fn those_of_one_name_have_addresses_of_their_own() {
        let parts = parts([("a", "1"), ("A", "2"), ("b", "3")].into_iter());
        assert!(parts[0].starts_with("a~") && parts[1].starts_with("A~"));
        assert_ne!(parts[0][2..], parts[1][2..]);
        assert_eq!(parts[2], "b");
    }

    #[test]
    fn links_are_relative() {
        assert_eq!(link("index.html", "linux/index.html"), "linux/index.html");
        assert_eq!(
            link("linux/v/6.1.html", "linux/index.html"),
            "../index.html"
        );
        assert_eq!(link("linux/v/6.1.html", "linux/v/6.2.html"), "6.2.html");
        assert_eq!(
            link("linux/index.html", "studies/s-1/boot-3.html#trial-2"),
            "../studies/s-1/boot-3.html#trial-2"
        );
        assert_eq!(
            link("studies/s/boot-1.html", "style.css"),
            "../../style.css"
        );
    }
}
