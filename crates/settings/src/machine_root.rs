//! The machine whose settings are changed: its files below a root, and its programs.
//!
//! A test's machine is a folder with a copy of the files. Everything else is the same code.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    net::IpAddr,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use crate::{cpu_list::CpuList, holder::Holder};

/// Most that is read of a file of the kernel's.
const MOST: u64 = 1 << 20;
/// Most files that one pattern may name.
const MOST_FILES: usize = 65_536;

/// A place in the course of changing settings; tests end the process there.
pub type Checkpoint = fn(name: &'static str, number: usize);

/// A machine: this one, or a folder that stands for one.
#[derive(Debug, Clone)]
pub struct MachineRoot {
    root: PathBuf,
    programs: Vec<PathBuf>,
    checkpoint: Option<Checkpoint>,
    lock: Option<Arc<File>>,
    holder: Option<Holder>,
    /// The addresses from which it is controlled.
    controllers: Vec<IpAddr>,
}

/// The other end of the connection that started this process, as `sshd` says it: `CLIENT PORT SERVER PORT`.
fn controllers(connection: Option<&str>) -> Vec<IpAddr> {
    let client = connection.and_then(|it| it.split_whitespace().next());
    let client = client.and_then(|client| client.split('%').next()?.parse().ok());
    client.into_iter().collect()
}

impl MachineRoot {
    /// This machine.
    pub fn this_machine() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut programs: Vec<PathBuf> = std::env::split_paths(&path)
            .filter(|folder| folder.is_absolute())
            .collect();
        for folder in ["/usr/sbin", "/sbin", "/usr/bin", "/bin"] {
            if !programs.iter().any(|known| known == Path::new(folder)) {
                programs.push(folder.into());
            }
        }
        Self {
            root: "/".into(),
            programs,
            checkpoint: None,
            lock: None,
            holder: None,
            controllers: controllers(std::env::var("SSH_CONNECTION").ok().as_deref()),
        }
    }

    /// A folder that stands for a machine: `/sys/…` is looked for below it, programs in these folders and nowhere else.
    pub fn in_folder(root: impl Into<PathBuf>, programs: Vec<PathBuf>) -> Self {
        Self {
            root: root.into(),
            programs,
            checkpoint: None,
            lock: None,
            holder: None,
            controllers: Vec::new(),
        }
    }

    /// Calls this at every named place on the way, for tests that end the process there.
    #[must_use]
    pub fn with_checkpoint(mut self, checkpoint: Checkpoint) -> Self {
        self.checkpoint = Some(checkpoint);
        self
    }

    /// The same machine, whose settings another process holds than this one, which ends at once.
    #[must_use]
    pub(crate) fn held_by(self, holder: Holder) -> Self {
        Self {
            holder: Some(holder),
            ..self
        }
    }

    /// The same machine, controlled from these addresses too: a process that root was asked for isn't told by `sshd`.
    #[must_use]
    pub(crate) fn controlled_from(mut self, addresses: Vec<IpAddr>) -> Self {
        self.controllers.extend(addresses);
        self
    }

    /// The addresses from which it is controlled: no route may cut them off.
    pub(crate) fn controllers(&self) -> &[IpAddr] {
        &self.controllers
    }

    /// Whether files stay open that this process opens for settings.
    pub(crate) fn keeps_files(&self) -> bool {
        self.holder.is_none()
    }

    /// The process that holds what is changed, if it isn't this one.
    pub(crate) fn holder(&self) -> Option<Holder> {
        self.holder
    }

    /// The same machine, whose programs have this lock too: where this process is killed, the next one waits for them.
    pub(crate) fn holding(&self, lock: Arc<File>) -> Self {
        Self {
            lock: Some(lock),
            ..self.clone()
        }
    }

    /// The standard input of programs: nothing, or the lock, which is an empty file.
    pub(crate) fn input(&self) -> Stdio {
        let lock = self.lock.as_ref().and_then(|lock| lock.try_clone().ok());
        lock.map_or_else(Stdio::null, Stdio::from)
    }

    /// Passes a named place.
    pub(crate) fn pass(&self, name: &'static str, number: usize) {
        if let Some(checkpoint) = self.checkpoint {
            checkpoint(name, number);
        }
    }

    /// Whether it is this machine and no folder that stands for one.
    pub fn is_this_machine(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Whether this process may change what only root may.
    pub fn permits_root(&self) -> bool {
        !self.is_this_machine() || rustix::process::geteuid().is_root()
    }

    /// Where a path of the machine is.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The same for a path that the machine itself says.
    pub(crate) fn path_below(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The text of a small file.
    pub(crate) fn read(&self, path: &str) -> io::Result<String> {
        let mut text = String::new();
        File::open(self.path(path))?
            .take(MOST)
            .read_to_string(&mut text)?;
        Ok(text)
    }

    /// Writes a text over what is in a file, with one call, as files of the kernel's want it.
    pub(crate) fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(self.path(path))?;
        file.write_all(text.as_bytes())
    }

    /// Chooses a word in a file that marks the chosen one with brackets. The kernel moves the brackets; in a folder that stands
    /// for a machine nobody else does.
    pub(crate) fn select(&self, path: &str, word: &str) -> io::Result<()> {
        if self.is_this_machine() {
            return self.write(path, word);
        }
        let text = self.read(path)?;
        let mut marked = text.replace(['[', ']'], "");
        let mut from = 0;
        while let Some(at) = marked[from..].find(word).map(|at| at + from) {
            let end = at + word.len();
            let is_whole = |c: Option<char>| c.is_none_or(char::is_whitespace);
            if is_whole(marked[..at].chars().next_back()) && is_whole(marked[end..].chars().next())
            {
                marked.insert(end, ']');
                marked.insert(at, '[');
                return self.write(path, &marked);
            }
            from = end;
        }
        Err(io::ErrorKind::InvalidInput.into())
    }

    /// Adds a word to a file's (`+word`) or takes it out (`-word`). The kernel does it; in a folder that stands for a machine
    /// nobody else does.
    pub(crate) fn toggle(&self, path: &str, sign_and_word: &str) -> io::Result<()> {
        if self.is_this_machine() {
            return self.write(path, sign_and_word);
        }
        let text = self.read(path)?;
        let word = sign_and_word.trim_start_matches(['+', '-']);
        let mut words: Vec<&str> = text.split_whitespace().filter(|w| *w != word).collect();
        if sign_and_word.starts_with('+') {
            words.push(word);
        }
        self.write(path, &format!("{}\n", words.join(" ")))
    }

    /// The files that a pattern names, in the order of the alphabet: `*` stands for any part of one component.
    pub(crate) fn files(&self, pattern: &str) -> Vec<String> {
        let mut found = vec![String::new()];
        for component in pattern.split('/').filter(|part| !part.is_empty()) {
            let mut next = Vec::new();
            for folder in found {
                if !component.contains('*') {
                    next.push(format!("{folder}/{component}"));
                    continue;
                }
                let entries = fs::read_dir(self.path(&folder)).into_iter().flatten();
                let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
                let fitting = names.filter(|name| is_match(component, name));
                next.extend(fitting.map(|name| format!("{folder}/{name}")));
            }
            next.truncate(MOST_FILES);
            found = next;
        }
        found.retain(|path| self.path(path).exists());
        found.sort();
        found
    }

    /// The number of this boot: another one after each start.
    ///
    /// # Errors
    /// The kernel doesn't say it.
    pub fn boot_id(&self) -> io::Result<String> {
        let text = self.read("/proc/sys/kernel/random/boot_id")?;
        Ok(text.trim().to_owned())
    }

    /// The processors that there are, also those that are switched off.
    pub(crate) fn present_cpus(&self) -> Option<CpuList> {
        let text = self.read("/sys/devices/system/cpu/present").ok()?;
        CpuList::parse(&text).ok()
    }

    /// The processors that run.
    pub(crate) fn online_cpus(&self) -> Option<CpuList> {
        let text = self.read("/sys/devices/system/cpu/online").ok()?;
        CpuList::parse(&text).ok()
    }

    /// Where a program is; a path is taken as it is.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        use std::os::unix::fs::PermissionsExt as _;
        let is_program = |path: &PathBuf| {
            let data = fs::metadata(path);
            data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        };
        let folders = self.programs.iter();
        folders.map(|folder| folder.join(name)).find(is_program)
    }
}

/// Whether a name fits a pattern in which `*` stands for anything.
fn is_match(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(after) = name.strip_prefix(first) else {
        return false;
    };
    let starts = (0..=after.len()).filter(|at| after.is_char_boundary(*at));
    starts.into_iter().any(|at| is_match(rest, &after[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_files_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "cpu/policy0/g",
            "cpu/policy10/g",
            "cpu/policy2/x",
            "cpu/a/g",
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let machine = MachineRoot::in_folder(folder.path(), Vec::new());
        assert_eq!(
            machine.files("/cpu/policy*/g"),
            ["/cpu/policy0/g", "/cpu/policy10/g"]
        );
        assert!(machine.files("/cpu/policy2/g").is_empty());
        assert!(is_match("a*b*", "axxbc") && !is_match("a*b", "axxbc"));
    }

    #[test]
    fn the_chosen_word_is_marked_and_no_part_of_another() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("f"),
            "always defer+madvise [madvise] never\n",
        )
        .unwrap();
        let machine = MachineRoot::in_folder(folder.path(), Vec::new());
        machine.select("/f", "defer+madvise").unwrap();
        assert_eq!(
            machine.read("/f").unwrap(),
            "always [defer+madvise] madvise never\n"
        );
        machine.select("/f", "madvise").unwrap();
        assert_eq!(
            machine.read("/f").unwrap(),
            "always defer+madvise [madvise] never\n"
        );
        assert!(machine.select("/f", "sometimes").is_err());
    }
}
