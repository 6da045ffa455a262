//! Containers that run here, by their names: whose cgroup is which.
//!
//! Most engines put a container into a cgroup that is named after it, or after its number; what name a number has is asked of the
//! engine. Where neither helps, the container's first process says it: `runc` and `crun` list it, and `systemd-nspawn` is its parent.
//! An engine that isn't installed, doesn't answer or fails has no say.

use backsight_tracer::cgroups::{Cgroup, path_of_process};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fmt, fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

/// How long an engine may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
const ANSWER: u64 = 16 << 20;
/// So much of a number says which it is.
const SHORT: usize = 12;

/// A container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Container {
    /// What runs it.
    engine: String,
    /// Its number, or its name where its engine gives no numbers.
    id: String,
    /// What it is called, where that is something else.
    name: Option<String>,
    /// Its cgroup, below the first one.
    cgroup: PathBuf,
}

impl Container {
    fn new(engine: &str, id: &str, cgroup: &Path) -> Self {
        Self {
            engine: engine.to_owned(),
            id: id.to_owned(),
            name: None,
            cgroup: cgroup.to_owned(),
        }
    }

    /// Whether this means it: its name, its number, or how that begins.
    fn is_called(&self, asked: &str) -> bool {
        let begins = asked.len() >= 4 && is_number(&self.id) && self.id.starts_with(asked);
        self.name.as_deref() == Some(asked) || self.id == asked || begins
    }
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = match is_number(&self.id) {
            true => &self.id[..SHORT],
            false => &self.id,
        };
        let text = match &self.name {
            Some(name) => format!("{name} ({}, {id})", self.engine),
            None => format!("{id} ({})", self.engine),
        };
        // Whoever may make a cgroup may call it anything, and a terminal would obey.
        f.write_str(&text.replace(char::is_control, "\u{fffd}"))
    }
}

/// The cgroup of the container that is called so.
pub(super) fn find_cgroup(asked: &str) -> miette::Result<Cgroup> {
    let all = running();
    let found: Vec<&Container> = all.iter().filter(|it| it.is_called(asked)).collect();
    let list = |some: &[&Container]| {
        let some: Vec<String> = some.iter().map(ToString::to_string).collect();
        some.join(", ")
    };
    let container = match found.as_slice() {
        [container] => container,
        [] if all.is_empty() => {
            return Err(miette::miette!(
                "no container `{asked}` runs here, nor any other that is known: podman's, docker's, containerd's, runc's, lxc's, machines of \
                 systemd; `--cgroup PATH` traces whatever has a cgroup"
            ));
        }
        [] => {
            let all: Vec<&Container> = all.iter().collect();
            return Err(miette::miette!(
                "no container `{asked}` runs here; these do: {}",
                list(&all)
            ));
        }
        several => {
            return Err(miette::miette!(
                "`{asked}` may be any of these: {}; give more of the number",
                list(several)
            ));
        }
    };
    miette::ensure!(
        container.cgroup.parent().is_some(),
        "the processes of {container} have no cgroup of their own: trace them with `-f -p PID`"
    );
    Cgroup::open(&container.cgroup)
        .map_err(|error| miette::miette!("the cgroup of {container}: {error}"))
}

/// All that run.
fn running() -> Vec<Container> {
    let mut all = BTreeMap::new();
    for pid in processes() {
        let Some(path) = path_of_process(pid) else {
            continue;
        };
        for found in containers_in(&path) {
            all.entry(found.id.clone()).or_insert(found);
        }
    }
    for engine in ["runc", "crun"] {
        let listed = answer(engine, &["list", "--format", "json"]);
        for (id, pid) in listed_by_runtime(&listed.unwrap_or_default()) {
            if let Some(path) = path_of_process(pid) {
                all.entry(id.clone())
                    .or_insert_with(|| Container::new(engine, &id, &path));
            }
        }
    }
    for found in processes().into_iter().filter_map(nspawn_machine) {
        all.entry(found.id.clone()).or_insert(found);
    }
    for engine in ["podman", "docker", "nerdctl"] {
        // Nobody asks where nothing runs: a daemon may be started by being asked.
        if all
            .values()
            .any(|it| is_number(&it.id) && it.name.is_none())
        {
            let arguments = ["ps", "--no-trunc", "--format", "{{.ID}}\t{{.Names}}"];
            let names = answer(engine, &arguments).unwrap_or_default();
            for (id, name) in names.lines().filter_map(|line| line.split_once('\t')) {
                if let Some(container) = all.get_mut(id) {
                    container.name = Some(name.to_owned());
                }
            }
        }
    }
    all.into_values().collect()
}

/// Whether this is a number as engines give them.
fn is_number(id: &str) -> bool {
    id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The containers that a process in this cgroup is in, the outermost first.
fn containers_in(path: &Path) -> Vec<Container> {
    let mut found = Vec::new();
    let mut cgroup = PathBuf::new();
    let mut above = "";
    for part in path.components() {
        cgroup.push(part);
        let Some(part) = part.as_os_str().to_str() else {
            continue;
        };
        found.extend(
            container_called(part, above).map(|(engine, id)| Container::new(engine, &id, &cgroup)),
        );
        above = part;
    }
    found
}

/// What a cgroup's name says of a container, and its engine.
fn container_called<'a>(part: &'a str, above: &'a str) -> Option<(&'a str, String)> {
    let scope = part.strip_suffix(".scope");
    let stem = scope.unwrap_or(part);
    if let Some(machine) = scope.and_then(|scope| scope.strip_prefix("machine-")) {
        return Some(("systemd machine", unescaped(machine)));
    }
    let service = part.strip_suffix(".service");
    if let Some(machine) = service.and_then(|it| it.strip_prefix("systemd-nspawn@")) {
        return Some(("systemd machine", unescaped(machine)));
    }
    if let Some(name) = part.strip_prefix("lxc.payload.") {
        return Some(("lxc", name.to_owned()));
    }
    if matches!(above, "lxc" | "lxc.payload") {
        return Some(("lxc", part.to_owned()));
    }
    let (engine, id) = stem.rsplit_once('-').unwrap_or((above, stem));
    if !is_number(id) || engine.contains("conmon") {
        return None;
    }
    let engine = match engine {
        "libpod" | "libpod_parent" => "podman",
        "cri-containerd" | "nerdctl" => "containerd",
        "crio" => "cri-o",
        "docker" | "buildah" => engine,
        _ if engine.starts_with("pod") || engine.starts_with("kubepods") => "kubernetes",
        _ => "container",
    };
    Some((engine, id.to_owned()))
}

/// A name of systemd's without its escapes: `\x2d`.
fn unescaped(name: &str) -> String {
    let mut parts = name.split("\\x");
    let mut out = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2);
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                out.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => {
                out.extend_from_slice(b"\\x");
                out.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Numbers of containers with their first processes, as runtimes of the Open Container Initiative list them.
fn listed_by_runtime(json: &str) -> Vec<(String, i32)> {
    let listed: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    let listed = listed.as_array().into_iter().flatten();
    listed
        .filter_map(|it| {
            let pid = i32::try_from(it.get("pid")?.as_i64()?).ok()?;
            let id = it.get("id")?.as_str()?.to_owned();
            (pid > 0).then_some((id, pid))
        })
        .collect()
}

/// The machine that this process runs, if it is a `systemd-nspawn`.
fn nspawn_machine(pid: i32) -> Option<Container> {
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = command.split(|byte| *byte == 0);
    let words: Vec<&str> = words
        .filter_map(|word| std::str::from_utf8(word).ok())
        .collect();
    let name = machine_name(&words)?;
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let first = children.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Container::new(
        "systemd-nspawn",
        &name,
        &path_of_process(first)?,
    ))
}

/// What a command of `systemd-nspawn` calls its machine: as it says, or as the folder is called.
fn machine_name(words: &[&str]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    if Path::new(program).file_name() != Some(OsStr::new("systemd-nspawn")) {
        return None;
    }
    let mut folder = None;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = |long: &str, short: &str| match *argument {
            it if it == long || it == short => arguments.next().copied(),
            it => it
                .strip_prefix(long)
                .and_then(|it| it.strip_prefix('='))
                .or_else(|| it.strip_prefix(short).filter(|_| !it.starts_with("--"))),
        };
        if let Some(name) = value("--machine", "-M") {
            return Some(name.to_owned());
        }
        if let Some(path) = value("--directory", "-D") {
            folder = Path::new(path).file_name()?.to_str();
        }
    }
    folder.map(str::to_owned)
}

/// What a program prints, if it is there, ends well and in time.
fn answer(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let stdout = child.stdout.take()?;
    let (sender, read) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let whole = stdout.take(ANSWER).read_to_string(&mut text).is_ok();
        let _nobody_waits = sender.send(whole.then_some(text));
    });
    let text = read.recv_timeout(PATIENCE).ok().flatten();
    if text.is_none() {
        let _gone = child.kill();
    }
    let ended = child.wait().ok()?;
    text.filter(|_| ended.success())
}

fn processes() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "35d3a89e1ce6882b376238667fff97d9d25fc6646065ee71ec772d8a17cde397";

    fn found(path: &str) -> Vec<String> {
        let path = path.replace("ID", ID);
        let found = containers_in(Path::new(&path)).into_iter();
        found
            .map(|it| format!("{it} {}", it.cgroup.display()).replace(ID, "ID"))
            .collect()
    }

    #[test]
    fn cgroups_are_named_after_containers() {
        let short = &ID[..SHORT];
        for (path, engine, cgroup) in [
            (
                "/machine.slice/libpod-ID.scope/container",
                "podman",
                "/machine.slice/libpod-ID.scope",
            ),
            (
                "/libpod_parent/libpod-ID",
                "podman",
                "/libpod_parent/libpod-ID",
            ),
            (
                "/system.slice/docker-ID.scope",
                "docker",
                "/system.slice/docker-ID.scope",
            ),
            ("/docker/ID/init", "docker", "/docker/ID"),
            (
                "/kubepods/burstable/pod1-2/ID",
                "kubernetes",
                "/kubepods/burstable/pod1-2/ID",
            ),
            (
                "/kubepods.slice/kubepods-pod1.slice/cri-containerd-ID.scope",
                "containerd",
                "/kubepods.slice/kubepods-pod1.slice/cri-containerd-ID.scope",
            ),
        ] {
            assert_eq!(
                found(path),
                [format!("{short} ({engine}) {cgroup}")],
                "{path}"
            );
        }
        for (path, name, cgroup) in [
            (
                "/machine.slice/machine-my\\x2dbox.scope/payload",
                "my-box (systemd machine)",
                "/machine.slice/machine-my\\x2dbox.scope",
            ),
            (
                "/machine.slice/systemd-nspawn@web.service/payload",
                "web (systemd machine)",
                "/machine.slice/systemd-nspawn@web.service",
            ),
            (
                "/lxc.payload.web/init.scope",
                "web (lxc)",
                "/lxc.payload.web",
            ),
            ("/lxc/web", "web (lxc)", "/lxc/web"),
        ] {
            assert_eq!(found(path), [format!("{name} {cgroup}")], "{path}");
        }
        for path in [
            "/",
            "/init.scope",
            "/system.slice/docker.service",
            "/lxc.monitor.web",
            "/x/libpod-conmon-ID.scope",
        ] {
            assert_eq!(found(path), [""; 0], "{path}");
        }
        assert_eq!(found("/docker/ID/docker/ID").len(), 2);
    }

    #[test]
    fn a_container_is_called_by_its_name_its_number_and_how_that_begins() {
        let mut container = Container::new("podman", ID, Path::new("/a"));
        container.name = Some("web".to_owned());
        for asked in ["web", ID, "35d3a89e1ce6", "35d3"] {
            assert!(container.is_called(asked), "{asked}");
        }
        assert!(
            !Container::new("lxc", "a\x1b[2J", Path::new("/a"))
                .to_string()
                .contains('\x1b')
        );
        for asked in ["", "we", "35d", "d3a8", "webs"] {
            assert!(!container.is_called(asked), "{asked}");
        }
        assert!(!Container::new("lxc", "webserver", Path::new("/a")).is_called("webs"));
    }

    #[test]
    fn what_engines_say_may_be_anything() {
        assert_eq!(listed_by_runtime("null"), []);
        assert_eq!(listed_by_runtime("["), []);
        let listed = r#"[{"id":"a","pid":7,"status":"running"},{"id":"b","pid":0}]"#;
        assert_eq!(listed_by_runtime(listed), [("a".to_owned(), 7)]);
        for (name, plain) in [
            ("a\\x2db\\x", "a-b\\x"),
            ("\\xzz", "\\xzz"),
            ("\\xé", "\\xé"),
            ("", ""),
        ] {
            assert_eq!(unescaped(name), plain);
        }
        assert_eq!(answer("no-such-engine", &[]), None);
        assert_eq!(answer("false", &[]), None);
    }

    #[test]
    fn machines_are_called_as_is_said_or_after_their_folder() {
        let name = |line: &str| machine_name(&line.split(' ').collect::<Vec<_>>());
        for (line, expected) in [
            ("/usr/bin/systemd-nspawn -D /srv/web -M box sh", Some("box")),
            ("systemd-nspawn --machine=box -D /srv/web", Some("box")),
            ("systemd-nspawn -q --directory=/srv/web sh", Some("web")),
            ("systemd-nspawn -Mbox", Some("box")),
            ("systemd-nspawn", None),
            ("sh -M box", None),
        ] {
            assert_eq!(name(line).as_deref(), expected, "{line}");
        }
    }
}
