//! Links of a site, published and served: whatever a page leads to is there, and so is the part of it that a `#` names.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
};

use crate::{
    exit_statuses::quick,
    history::{stepped::Extent, with_history, with_testbeds},
    place::Place,
    serving::{Serving, files},
};

/// A page as far as links go.
struct Linked {
    /// Where its links lead, as they are written.
    links: BTreeSet<String>,
    /// The elements that a `#` may name.
    names: BTreeSet<String>,
}

impl Linked {
    fn new(page: &str) -> Self {
        // What others wrote is escaped, so that a quotation mark is a page's own.
        let values = |attribute: &'static str| {
            let parts = page.split(attribute).skip(1);
            let values = parts.filter_map(|part| part.split_once('"'));
            values.map(|(value, _)| value.replace("&amp;", "&").replace("&#38;", "&"))
        };
        let links = values(" href=\"")
            .chain(values(" src=\""))
            .chain(values(" action=\""));
        Self {
            links: links
                .filter(|link| !link.starts_with("data:") && !link.starts_with("https://"))
                .collect(),
            names: values(" id=\"").collect(),
        }
    }
}

/// The path that a link of a page leads to.
fn resolved(from: &str, link: &str) -> String {
    let mut parts: Vec<&str> = match link.is_empty() || link.starts_with('/') {
        true => Vec::new(),
        false => from
            .rsplit_once('/')
            .map_or("", |it| it.0)
            .split('/')
            .collect(),
    };
    if link.is_empty() {
        return from.to_owned();
    }
    for part in link.trim_start_matches('/').split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    path.trim_start_matches('/').to_owned()
}

/// Follows every link from the first page on, and says which lead nowhere. `read` returns the page at a path, empty where there is
/// something else than a page, and none where nothing is there.
fn broken(mut read: impl FnMut(&str) -> Option<String>) -> (usize, Vec<String>) {
    let mut pages: HashMap<String, Option<Linked>> = HashMap::new();
    let mut leads: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    let mut open = vec!["index.html".to_owned()];
    while let Some(path) = open.pop() {
        if pages.contains_key(&path) {
            continue;
        }
        let page = read(&path).map(|text| Linked::new(&text));
        for link in page.iter().flat_map(|page| &page.links) {
            let (to, name) = link.split_once('#').unwrap_or((link, ""));
            let mut to = resolved(&path, to);
            if to.is_empty() || to.ends_with('/') {
                to.push_str("index.html");
            }
            let from = (path.clone(), name.to_owned());
            leads.entry(to.clone()).or_default().insert(from);
            open.push(to);
        }
        pages.insert(path, page);
    }
    let mut broken = Vec::new();
    for (to, from) in &leads {
        match &pages[to] {
            None => {
                let (page, _) = from.first().unwrap();
                broken.push(format!("{page}: {to}"));
            }
            Some(page) => {
                // What has `=` in it is what a script is to choose.
                let named = from
                    .iter()
                    .filter(|(_, name)| !name.is_empty() && !name.contains('='));
                let lost = named.filter(|(_, name)| !page.names.contains(name));
                broken.extend(lost.map(|(page, name)| format!("{page}: {to}#{name}")));
            }
        }
    }
    (pages.len(), broken)
}

/// Asserts that all links of the published site lead somewhere; returns how many files they lead to.
fn assert_published_links(place: &Place) -> usize {
    place.prints_of(&["publish", "site"]);
    let root = place.path("site");
    let mut published = BTreeSet::new();
    files(&root, "", &mut published);
    let (count, lost) = broken(|path| {
        let is_page = path.ends_with(".html");
        published.contains(path).then(|| match is_page {
            true => fs::read_to_string(root.join(path)).unwrap(),
            false => String::new(),
        })
    });
    assert_eq!(lost, [] as [String; 0], "published");
    count
}

/// The same of the served site.
fn assert_served_links(place: &Place) -> usize {
    let server = Serving::start(place);
    let (count, lost) = broken(|path| {
        let answer = server.get(&format!("/{path}"));
        let is_page = answer.head.contains("content-type: text/html");
        match (answer.status, is_page) {
            (200, true) => Some(answer.text()),
            (200, false) => Some(String::new()),
            _ => None,
        }
    });
    assert_eq!(lost, [] as [String; 0], "served");
    server.stop();
    count
}

#[test]
fn every_link_of_a_site_leads_somewhere() {
    let history = with_history(Extent {
        versions: 12,
        boots: 1,
        trials: 2,
        metrics: 0,
    });
    for (place, least) in [(history, 80), (with_testbeds(), 30)] {
        let published = assert_published_links(&place);
        assert!(published >= least, "{published}");
        // Forms and JSON besides.
        assert!(assert_served_links(&place) > published);
    }
}

#[test]
fn every_link_of_pages_of_studies_leads_somewhere() {
    let place = quick();
    for name in ["base", "new"] {
        place.prints_of(&["run", "plan.toml", "--name", name]);
    }
    assert!(assert_served_links(&place) > 5);
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let page = |path: &str| match path {
        "index.html" => {
            Some("<a href=\"a/b.html#here\">x</a> <a href=\"a/b.html#gone\">x</a>".to_owned())
        }
        "a/b.html" => Some("<p id=\"here\"><img src=\"../c.png\"><a href=\"#s=1\">".to_owned()),
        _ => None,
    };
    let (_, lost) = broken(page);
    assert_eq!(lost, ["index.html: a/b.html#gone", "a/b.html: c.png"]);
}
