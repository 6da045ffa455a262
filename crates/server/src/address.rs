//! What a reader asks for, as an address of the site: `/linux/v/6.1.18` is the file `linux/v/6.1.18.html`.

use backsight_site::Site;

/// Where a request leads.
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    /// A file of the site.
    File(String),
    /// Another path, because what was asked for is a folder: links of its page are relative.
    Elsewhere(String),
    /// Nowhere.
    Nowhere,
}

/// Where a path leads on a site.
pub fn place(site: &Site<'_>, path: &str) -> Place {
    let asked = path.trim_start_matches('/');
    let index = match asked {
        "" => "index.html".to_owned(),
        folder if folder.ends_with('/') => format!("{folder}index.html"),
        _ => String::new(),
    };
    if !index.is_empty() {
        return match site.has(&index) {
            true => Place::File(index),
            false => Place::Nowhere,
        };
    }
    if site.has(asked) {
        return Place::File(asked.to_owned());
    }
    let page = format!("{asked}.html");
    if site.has(&page) {
        return Place::File(page);
    }
    match site.has(&format!("{asked}/index.html")) {
        true => Place::Elsewhere(format!("/{asked}/")),
        false => Place::Nowhere,
    }
}
