//! Where a store is: a folder, or a database on a PostgreSQL server with a folder of this machine beside it.
//!
//! Reading a location never fails, so that no parser's error repeats a password; what is wrong with one is said when it is opened.
//!
//! What a controller keeps for itself beside a PostgreSQL store (logs, build trees of targets, trials that wait for the server) is
//! in `DATA/backsight/controller/HOST-DATABASE`; `DATA` is `$XDG_DATA_HOME`, else `~/.local/share`.

use std::{
    convert::Infallible,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

/// How locations of databases begin.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Where a store is.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreLocation {
    kind: LocationKind,
}

#[derive(Clone, PartialEq, Eq)]
enum LocationKind {
    Folder(PathBuf),
    Database {
        /// As it was given; it may have a password.
        url: String,
        /// The controller's own folder, where it isn't the usual one.
        folder: Option<PathBuf>,
    },
}

impl StoreLocation {
    /// The folder, where the store is in one.
    pub fn as_folder(&self) -> Option<&Path> {
        match &self.kind {
            LocationKind::Folder(folder) => Some(folder),
            LocationKind::Database { .. } => None,
        }
    }

    /// The database's URL with the password that it may have.
    pub(crate) fn url(&self) -> Option<&str> {
        match &self.kind {
            LocationKind::Folder(_) => None,
            LocationKind::Database { url, .. } => Some(url),
        }
    }

    /// The same store with another folder for what this controller keeps for itself; nothing changes where the store is a folder.
    #[must_use]
    pub fn with_controller_folder(mut self, own: impl Into<PathBuf>) -> Self {
        if let LocationKind::Database { folder, .. } = &mut self.kind {
            *folder = Some(own.into());
        }
        self
    }

    /// The folder for files of this machine: the store's own, or the controller's beside a database.
    pub fn folder(&self) -> PathBuf {
        match &self.kind {
            LocationKind::Folder(folder) => folder.clone(),
            LocationKind::Database {
                folder: Some(folder),
                ..
            } => folder.clone(),
            LocationKind::Database { url, folder: None } => {
                let data = data_folder().unwrap_or_else(std::env::temp_dir);
                data.join("backsight")
                    .join("controller")
                    .join(folder_name(url))
            }
        }
    }

    /// The location as the environment of another program takes it, with a password where it has one: not to be shown.
    pub fn for_environment(&self) -> OsString {
        match &self.kind {
            LocationKind::Folder(folder) => folder.clone().into(),
            LocationKind::Database { url, .. } => url.into(),
        }
    }
}

/// The user's data folder; none where the environment names none.
pub fn data_folder() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    named.filter(|path| path.is_absolute()).or_else(|| {
        let home = std::env::var_os("HOME")?;
        Some(PathBuf::from(home).join(".local/share"))
    })
}

impl From<&Path> for StoreLocation {
    fn from(path: &Path) -> Self {
        let url = path.to_str();
        let url = url.filter(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)));
        let kind = match url {
            Some(url) => LocationKind::Database {
                url: url.to_owned(),
                folder: None,
            },
            None => LocationKind::Folder(path.to_owned()),
        };
        Self { kind }
    }
}

macro_rules! from_paths {
    ($($type:ty),*) => {$(
        impl From<$type> for StoreLocation {
            fn from(path: $type) -> Self {
                Path::new(&path).into()
            }
        }
    )*};
}

from_paths!(PathBuf, &PathBuf, &str, String, &String, OsString);

impl From<&Self> for StoreLocation {
    fn from(location: &Self) -> Self {
        location.clone()
    }
}

impl FromStr for StoreLocation {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

/// Without a password.
impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            LocationKind::Folder(folder) => folder.display().fmt(f),
            LocationKind::Database { url, .. } => f.write_str(&without_password(url)),
        }
    }
}

/// Without a password.
impl fmt::Debug for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreLocation({self})")
    }
}

/// The parts of a URL: its scheme with `://`, user and password, host with port, path, and options.
struct UrlParts<'a> {
    scheme: &'a str,
    user: &'a str,
    host: &'a str,
    path: &'a str,
    options: &'a str,
}

impl<'a> UrlParts<'a> {
    fn new(url: &'a str) -> Self {
        let scheme = url.find("://").map_or(0, |at| at + 3);
        let (scheme, rest) = url.split_at(scheme);
        let (mut before, mut options) = rest.split_once('?').unwrap_or((rest, ""));
        // Of characters in a password that nobody escaped, none may be taken for another part.
        if options.contains('@') {
            options = "";
            if before.contains(':') && !before.contains('@') {
                before = rest;
            }
        }
        let (user, rest) = before.rsplit_once('@').unwrap_or(("", before));
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        Self {
            scheme,
            user,
            host,
            path,
            options,
        }
    }

    fn options(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let pairs = self.options.split('&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }
}

/// A URL without its password.
pub(crate) fn without_password(url: &str) -> String {
    let parts = UrlParts::new(url);
    let user = parts.user.split(':').next().unwrap_or_default();
    let user = match user {
        "" => String::new(),
        user => format!("{user}@"),
    };
    let options = parts.options().filter(|(key, _)| *key != "password");
    let options: Vec<String> = options
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let options = match &options[..] {
        [] => String::new(),
        some => format!("?{}", some.join("&")),
    };
    let UrlParts {
        scheme, host, path, ..
    } = parts;
    format!("{scheme}{user}{host}/{path}{options}")
}

/// The name of the controller's folder for a database: its host, port and name, of characters that any file may have.
fn folder_name(url: &str) -> String {
    let parts = UrlParts::new(url);
    let option = |name| parts.options().find(|(key, _)| *key == name);
    let mut host = match (option("host"), parts.host) {
        (Some((_, host)), _) => host.to_owned(),
        (None, "") => "localhost".to_owned(),
        (None, host) => host.to_owned(),
    };
    if let Some((_, port)) = option("port") {
        host = format!("{host}:{port}");
    }
    let database = option("dbname").map_or(parts.path, |(_, name)| name);
    let name = format!("{host}-{database}");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name: String = (name.chars())
        .map(|c| if plain(c) { c } else { '_' })
        .collect();
    name.trim_start_matches(['.', '_']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown_wherever_it_stands() {
        for (url, shown) in [
            ("postgres://lab/backsight", "postgres://lab/backsight"),
            (
                "postgres://me:s3cret@lab:5433/backsight?sslmode=disable",
                "postgres://me@lab:5433/backsight?sslmode=disable",
            ),
            (
                "postgres://me:s3/cr@et@lab/backsight",
                "postgres://me@lab/backsight",
            ),
            (
                "postgres://me:s3?cr@et@lab/backsight",
                "postgres://me@lab/backsight",
            ),
            (
                "postgres:///backsight?password=s3cr@et",
                "postgres:///backsight",
            ),
            (
                "postgresql:///backsight?host=/run/postgresql&password=s3cret&user=me",
                "postgresql:///backsight?host=/run/postgresql&user=me",
            ),
        ] {
            let location = StoreLocation::from(url);
            assert_eq!(location.to_string(), shown);
            assert!(!format!("{location:?}").contains("s3"));
            assert_eq!(location.for_environment(), OsString::from(url));
        }
    }

    #[test]
    fn every_database_has_a_folder_of_its_own() {
        for (url, name) in [
            ("postgres://lab/backsight", "lab-backsight"),
            ("postgres://me:a@lab:5433/b", "lab_5433-b"),
            ("postgres:///b?host=/run/postgresql", "run_postgresql-b"),
            ("postgres:///b", "localhost-b"),
            ("postgres://../../x", "-.._x"),
        ] {
            let folder = StoreLocation::from(url).folder();
            let last = folder.file_name().expect("a name");
            assert_eq!(last.to_str(), Some(name), "{url}");
        }
        let own = StoreLocation::from("postgres://lab/b").with_controller_folder("/x");
        assert_eq!(own.folder(), Path::new("/x"));
    }

    #[test]
    fn what_is_no_url_is_a_folder() {
        for folder in ["store", "/var/postgres", "postgres"] {
            let location = StoreLocation::from(folder);
            assert_eq!(location.as_folder(), Some(Path::new(folder)));
            assert_eq!(location.folder(), Path::new(folder));
            assert_eq!(location.to_string(), folder);
        }
    }
}
