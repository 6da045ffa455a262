//! A PostgreSQL server for tests: started by the first that needs it, shared by all test processes of this source tree, and ended
//! soon after the last of them, however that ended.
//!
//! Every user holds a shared lock of a file for as long as its process lives; the keeper, a shell, stops the server when nobody does.

use std::{
    collections::hash_map::DefaultHasher,
    fs::{self, File},
    hash::{Hash as _, Hasher as _},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

/// The server's programs where Debian puts them.
pub(crate) const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// Makes a server, says `ready`, and stops it when nobody uses it any more. Commits needn't be on a disk here: the tests kill the
/// server's processes, not the machine.
const KEEPER: &str = r#"
cd "$1" || exit 1
as=''
if [ "$(id -u)" = 0 ]; then
    as='setpriv --reuid=postgres --regid=postgres --clear-groups'
    chown postgres .
fi
stop() {
    $as "$2/pg_ctl" -D data -m immediate stop
    rm -rf data
}
{
    stop "$@"
    $as "$2/initdb" -D data -U backsight -A trust -N --locale=C.UTF-8 -E UTF8 &&
        $as "$2/pg_ctl" -D data -w -l data/log -o "-k '$1' -c listen_addresses= -c fsync=off -c max_connections=300" start
} >keeper.log 2>&1 || exit 1
echo ready
exec >/dev/null 2>&1
while sleep 5; do
    exec 9>start
    flock 9
    if flock -n -x users true; then
        stop "$@"
        exit
    fi
    flock -u 9
done
"#;

/// A disk in memory that part of a server is on.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Makes it so many bytes large.
    ///
    /// # Panics
    /// It can't be.
    pub fn grow(&self, bytes: u64) {
        self.mount(&["-o", &format!("remount,size={bytes}")]);
    }

    fn mount(&self, how: &[&str]) {
        let mounted = Command::new("mount").args(how).arg(&self.0).status();
        assert!(mounted.is_ok_and(|mounted| mounted.success()), "{how:?}");
    }
}

/// A running server.
#[derive(Debug)]
pub struct PostgresServer {
    folder: PathBuf,
    /// Held for as long as this process lives.
    _used: File,
}

impl PostgresServer {
    /// The server that all tests share.
    ///
    /// # Panics
    /// It can't be started.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<PostgresServer> = OnceLock::new();
        SERVER.get_or_init(|| Self::start("shared"))
    }

    /// A server of this name, for tests that stop it.
    ///
    /// # Panics
    /// It can't be started.
    pub fn start(name: &str) -> Self {
        let mut tree = DefaultHasher::new();
        (env!("CARGO_MANIFEST_DIR"), name).hash(&mut tree);
        let user = rustix::process::geteuid().as_raw();
        // Short: addresses of sockets have at most 107 bytes.
        let folder = format!("backsight-pg-{user}-{:x}", tree.finish());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).expect("a folder for the server");
        let file = |name: &str| File::create(folder.join(name)).expect("a lock");
        let (start, used) = (file("start"), file("users"));
        start.lock().expect("the lock of who starts the server");
        used.lock_shared().expect("the lock of users");
        let server = Self {
            folder,
            _used: used,
        };
        if !server.is_ready() {
            server.spawn_keeper();
        }
        server
    }

    fn spawn_keeper(&self) {
        let mut keeper = Command::new("setsid")
            .args(["sh", "-c", KEEPER, "keeper"])
            .arg(&self.folder)
            .arg(PROGRAMS)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the keeper starts");
        let mut line = String::new();
        let said = keeper.stdout.take().expect("its output");
        let read = BufReader::new(said).read_line(&mut line);
        let log = self.folder.join("keeper.log");
        let log = fs::read_to_string(log).unwrap_or_default();
        assert!(read.is_ok() && line == "ready\n", "no server: {log}");
        // It outlives this process, unless this one is the last.
        thread::spawn(move || keeper.wait());
    }

    fn is_ready(&self) -> bool {
        let asked = self.program("pg_isready").arg("-q").status();
        asked.is_ok_and(|status| status.success())
    }

    /// A program of PostgreSQL that talks to the server.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(Path::new(PROGRAMS).join(name));
        command
            .arg("-h")
            .arg(&self.folder)
            .args(["-U", "backsight"]);
        command
    }

    /// A new database; its URL.
    ///
    /// # Panics
    /// It can't be made.
    pub fn new_database(&self) -> String {
        self.new_database_in("pg_default")
    }

    /// A new database in a tablespace; its URL.
    ///
    /// # Panics
    /// It can't be made.
    fn new_database_in(&self, tablespace: &str) -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("t{}_{number}", std::process::id());
        // One of an earlier process of this number may be left.
        let _ = (self
            .program("dropdb")
            .args(["--if-exists", "--force", &name]))
        .output();
        let made = (self
            .program("createdb")
            .args(["--tablespace", tablespace, &name]))
        .output();
        let made = made.expect("createdb starts");
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{said}");
        format!(
            "postgres:///{name}?host={}&user=backsight",
            self.folder.display()
        )
    }

    /// A new database on a disk of its own that has so many bytes, and the disk; its URL. Needs root. The disk is in this thread's
    /// mount namespace, and so has to be the server.
    ///
    /// # Panics
    /// It can't be made.
    pub fn new_database_on_small_disk(&self, bytes: u64) -> (String, SmallDisk) {
        let disk = SmallDisk(self.folder.join("small"));
        fs::create_dir_all(&disk.0).expect("a folder for the disk");
        let size = format!("size={bytes},mode=0777");
        disk.mount(&["-t", "tmpfs", "-o", &size, "small"]);
        // Owned by who owns the server.
        let folder = disk.0.join("tablespace");
        let owner = ["--owner=postgres", "--directory"];
        let made = Command::new("install").args(owner).arg(&folder).status();
        assert!(made.is_ok_and(|made| made.success()), "{folder:?}");
        let make = format!("CREATE TABLESPACE small LOCATION '{}'", folder.display());
        let made = self
            .program("psql")
            .args(["-q", "-d", "postgres", "-c", &make])
            .status();
        assert!(made.is_ok_and(|made| made.success()), "{make}");
        (self.new_database_in("small"), disk)
    }

    /// The folder that the server's socket is in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends all processes of the server at once, as a crash does, and starts it again.
    ///
    /// # Panics
    /// It doesn't start.
    pub fn crash(&self, meanwhile: impl FnOnce()) {
        self.control(&["-m", "immediate", "stop"]);
        meanwhile();
        let options = format!(
            "-k '{}' -c listen_addresses= -c fsync=off",
            self.folder.display()
        );
        self.control(&["-w", "-l", "data/log", "-o", &options, "start"]);
    }

    fn control(&self, arguments: &[&str]) {
        let program = Path::new(PROGRAMS).join("pg_ctl");
        let mut command = match rustix::process::geteuid().is_root() {
            true => {
                let mut command = Command::new("setpriv");
                command
                    .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
                    .arg(program);
                command
            }
            false => Command::new(program),
        };
        let done = command
            .args(["-D", "data"])
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(done.is_ok_and(|status| status.success()), "{arguments:?}");
    }
}
