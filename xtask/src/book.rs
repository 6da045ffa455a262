//! The documentation as a book: the pages as they are, in the order in which the README names them. A page that the README doesn't lead to, and a
//! link that leads nowhere, are faults.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::programs::{ProgramError, call, in_file, remove};

const FOLDER: &str = "target/book";
const CONFIG: &str = "packaging/book.toml";
/// What pages lead to.
const PLACES: [&str; 14] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "docs",
    "examples",
    "benchmarks",
    "monitors",
    "sets",
    "settings",
    "suites",
    "tests/fixtures",
];
/// The parts after the first pages: their headings, and where their pages lie.
const PARTS: [(&str, &str); 4] = [
    ("How to", "docs/how-to/"),
    ("Reference", "docs/reference/"),
    ("Examples", "examples/"),
    ("About", ""),
];

/// Why there is no book.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// A file, or a program that is needed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// Pages that nobody finds.
    #[error("the README leads to none of these pages: {}", .0.join(", "))]
    Unlisted(Vec<String>),
    /// Links that lead nowhere.
    #[error("links lead nowhere:\n{}", .0.join("\n"))]
    Links(Vec<String>),
}

/// Makes the book.
///
/// # Errors
/// A page isn't listed, a link leads nowhere; a program fails; the folder can't be written.
pub fn run() -> Result<(), BookError> {
    let folder = Path::new(FOLDER);
    remove(folder)?;
    let source = folder.join("src");
    let listed = call(
        std::process::Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .args(PLACES),
    )?;
    for name in listed.lines() {
        let place = source.join(name);
        let parent = place.parent().unwrap_or(&source);
        fs::create_dir_all(parent).map_err(in_file(parent))?;
        fs::copy(name, &place).map_err(in_file(Path::new(name)))?;
    }
    let readme = read(Path::new("README.md"))?;
    let pages = pages(&readme, &listed)?;
    let summary = source.join("SUMMARY.md");
    let mut titled = Vec::new();
    for page in pages {
        let text = read(Path::new(&page))?;
        let title = text.lines().find_map(|line| line.strip_prefix("# "));
        titled.push((title.unwrap_or(&page).to_owned(), page));
    }
    fs::write(&summary, table_of_contents(&titled)).map_err(in_file(&summary))?;
    let config = folder.join("book.toml");
    fs::copy(CONFIG, &config).map_err(in_file(Path::new(CONFIG)))?;
    call(
        std::process::Command::new("mdbook")
            .arg("build")
            .arg(folder),
    )?;
    let html = folder.join("html");
    // What is called so in the sources is a folder's first page in the book, and links have the other name.
    for (_, page) in &titled {
        if let Some(place) = page.strip_suffix("README.md") {
            let (from, to) = (
                html.join(place).join("index.html"),
                html.join(place).join("README.html"),
            );
            fs::copy(&from, &to).map_err(in_file(&from))?;
        }
    }
    let wrong = broken_links(&html)?;
    if !wrong.is_empty() {
        return Err(BookError::Links(wrong));
    }
    println!("{}", html.join("index.html").display());
    Ok(())
}

/// The pages in the order of the book: as the README names them, then what these lead to.
fn pages(readme: &str, listed: &str) -> Result<Vec<String>, BookError> {
    let mut pages = vec!["README.md".to_owned()];
    for line in readme.lines().filter(|line| line.starts_with("| ")) {
        let link = line
            .split_once("](")
            .and_then(|(_, rest)| rest.split_once(')'));
        if let Some((page, _)) = link.filter(|(page, _)| page.ends_with(".md")) {
            pages.push(page.to_owned());
        }
    }
    let named: BTreeSet<&str> = pages.iter().map(String::as_str).collect();
    let is_left = |page: &&str| page.ends_with(".md") && !named.contains(page);
    // What is generated, and what tells of an example, is found by the pages about them.
    let (found, lost): (Vec<&str>, Vec<&str>) = listed.lines().filter(is_left).partition(|page| {
        page.starts_with("docs/reference/") || page.starts_with("examples/") || !page.contains('/')
    });
    let lost: Vec<String> = lost
        .into_iter()
        .filter(|page| page.starts_with("docs/"))
        .map(str::to_owned)
        .collect();
    match lost.is_empty() {
        true => {
            let found: Vec<String> = found.into_iter().map(str::to_owned).collect();
            pages.extend(found);
            Ok(pages)
        }
        false => Err(BookError::Unlisted(lost)),
    }
}

/// The table of contents of titles and pages.
fn table_of_contents(pages: &[(String, String)]) -> String {
    let part_of = |page: &str| {
        let found = PARTS.iter().position(|(_, place)| page.starts_with(place));
        found.unwrap_or(PARTS.len() - 1)
    };
    let is_first = |page: &str| page == "README.md" || page == "docs/tutorial.md";
    let mut text = String::from("# Summary\n\n");
    for (title, page) in pages.iter().filter(|(_, page)| is_first(page)) {
        text.push_str(&format!("[{title}]({page})\n"));
    }
    for (number, (heading, _)) in PARTS.iter().enumerate() {
        text.push_str(&format!("\n# {heading}\n\n"));
        for (title, page) in pages {
            if is_first(page) || part_of(page) != number {
                continue;
            }
            let inset = match page.starts_with("docs/reference/benchmarks/") {
                true => "  ",
                false => "",
            };
            text.push_str(&format!("{inset}- [{title}]({page})\n"));
        }
    }
    text
}

/// Links of pages in this folder to files or parts of pages that aren't there, each with its page.
fn broken_links(folder: &Path) -> Result<Vec<String>, BookError> {
    let listed = call(
        std::process::Command::new("find")
            .arg(folder)
            .args(["-name", "*.html"]),
    )?;
    let mut wrong = Vec::new();
    for page in listed.lines().map(PathBuf::from) {
        // It is all pages in one, with the links of none.
        if page
            .file_name()
            .is_some_and(|name| name == "print.html" || name == "404.html")
        {
            continue;
        }
        let text = read(&page)?;
        for link in text
            .split("href=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
        {
            let (file, part) = link.split_once('#').unwrap_or((link, ""));
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let target = match file {
                "" => page.clone(),
                file => page.parent().unwrap_or(folder).join(file),
            };
            let is_there = match (target.exists(), part) {
                (true, "") => true,
                (true, part) if file.is_empty() || file.ends_with(".html") => {
                    read(&target)?.contains(&format!("id=\"{part}\""))
                }
                (exists, _) => exists,
            };
            if !is_there {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    Ok(wrong)
}

fn read(path: &Path) -> Result<String, ProgramError> {
    fs::read_to_string(path).map_err(in_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_the_readme_does_not_lead_to_is_a_fault() {
        let readme = "text\n| to | read |\n|---|---|\n| do | [docs/how-to/a.md](docs/how-to/a.md) |\n| c | [docs/b.md](docs/b.md) (generated) |\n";
        let listed = "README.md\nCHANGELOG.md\ndocs/b.md\ndocs/how-to/a.md\ndocs/reference/files.md\nexamples/x/README.md\nexamples/x/plan.toml\ntests/fixtures/notes.md\n";
        let pages = pages(readme, listed).unwrap();
        assert_eq!(
            pages,
            [
                "README.md",
                "docs/how-to/a.md",
                "docs/b.md",
                "CHANGELOG.md",
                "docs/reference/files.md",
                "examples/x/README.md"
            ]
        );
        let titled: Vec<(String, String)> = pages
            .iter()
            .map(|page| ("T".to_owned(), page.clone()))
            .collect();
        let contents = table_of_contents(&titled);
        let place = |part: &str| contents.find(part).unwrap();
        assert!(place("(README.md)") < place("# How to"));
        assert!(place("# How to") < place("docs/how-to/a.md"));
        assert!(place("docs/how-to/a.md") < place("# Reference"));
        assert!(place("# About") < place("docs/b.md"));
        let lost = super::pages(readme, &format!("{listed}docs/how-to/lost.md\n"));
        assert!(
            matches!(lost, Err(BookError::Unlisted(pages)) if pages == ["docs/how-to/lost.md"])
        );
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        let page = r##"<h2 id="here"><a href="#here">x</a></h2><a href="b.html#there">b</a><a href="https://example.org/">c</a>
            <a href="gone.html">d</a><a href="b.html#gone">e</a><a href="#gone">f</a>"##;
        fs::write(place.join("a.html"), page).unwrap();
        fs::write(place.join("b.html"), "<h2 id=\"there\">").unwrap();
        let wrong = broken_links(place).unwrap();
        let links: Vec<&str> = wrong
            .iter()
            .filter_map(|it| it.rsplit(' ').next())
            .collect();
        assert_eq!(links, ["#gone", "b.html#gone", "gone.html"]);
    }
}
