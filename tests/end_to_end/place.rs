//! A place to measure in: a folder with everything that a user of Backsight has, and nobody else's.

use serde_json::Value;
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};
use tempfile::TempDir;

use crate::{
    processes,
    running::{Ended, Running},
};

/// Everything that a test started bears this variable with its place's name.
pub const MARK: &str = "BACKSIGHT_END_TO_END";

/// A step that tests can hold: it leaves its name in the log and waits for as long as there is a file `hold-NAME`,
/// from its `hold-NAME`th call on (the file's content; the first unless it says so).
const STEP: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$1" >> "$here/log"
if [ -e "$here/hold-$1" ]; then
    from=$(cat "$here/hold-$1")
    if [ "$(grep -cx "$1" "$here/log")" -ge "${from:-1}" ]; then
        : > "$here/held-$1"
        while [ -e "$here/hold-$1" ]; do sleep 0.02; done
    fi
fi
"#;

/// A folder of its own, with a lab of one local host that nobody else leases.
pub struct Place {
    folder: TempDir,
    /// Unlike that of any other place; also the name of its lab and of its local host.
    pub name: String,
    /// What its commands have in their environment besides.
    pub environment: Vec<(&'static str, PathBuf)>,
}

/// A row of `show STUDY`.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    pub number: u32,
    pub round: u32,
    pub cell: String,
    pub outcome: String,
}

impl Trial {
    pub fn measured(&self) -> bool {
        self.outcome.starts_with("measured")
    }
}

impl Place {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Process ids come again: what a test run that was killed has left must not be taken for ours.
        let unique = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let unique = unique.as_micros() & 0xff_ffff;
        let name = format!("e2e-{}-{number}-{unique:x}", std::process::id());
        let folder = tempfile::Builder::new()
            .prefix(&format!("{name}."))
            .tempdir()
            .unwrap();
        let place = Self {
            folder,
            name,
            environment: Vec::new(),
        };
        fs::create_dir(place.path("benchmarks")).unwrap();
        fs::create_dir(place.path("monitors")).unwrap();
        fs::create_dir(place.path("tmp")).unwrap();
        place.write(
            "lab.toml",
            format!("name = \"{0}\"\n[host.{0}]\nkind = \"local\"\n", place.name),
        );
        place.script("step", STEP);
        place.write("log", "");
        place
    }

    /// A place whose lab has these local hosts, in one testbed that has a role of each host's first name.
    pub fn of_roles(roles: &[&str]) -> Self {
        let place = Self::new();
        let mut lab = format!("name = \"{}\"\n", place.name);
        for role in roles {
            lab.push_str(&format!("[host.{}]\nkind = \"local\"\n", place.host(role)));
        }
        lab.push_str("[testbed.all]\n");
        for role in roles {
            lab.push_str(&format!("{role} = \"{}\"\n", place.host(role)));
        }
        place.write("lab.toml", &lab);
        place
    }

    /// The host of a role in [`Place::of_roles`].
    pub fn host(&self, role: &str) -> String {
        format!("{role}-{}", self.name)
    }

    /// Writes a lab of testbeds that have one host each, [`Place::host`] of their names.
    pub fn lab_of_testbeds(&self, kind: &str, testbeds: [&str; 2]) {
        let mut lab = format!("name = \"{}\"\n", self.name);
        for testbed in testbeds {
            let host = self.host(testbed);
            lab.push_str(&format!(
                "[host.{host}]\nkind = \"{kind}\"\n[testbed.{testbed}]\ntester = \"{host}\"\n"
            ));
        }
        self.write("lab.toml", lab);
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// A path as a definition or a command can hold it.
    pub fn at(&self, file: &str) -> String {
        self.path(file).to_str().unwrap().to_owned()
    }

    pub fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(file), text).unwrap();
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    /// A program in the place's folder.
    pub fn script(&self, file: &str, text: &str) {
        self.write(file, text);
        fs::set_permissions(self.path(file), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A definition whose only role, `tester`, does this; `@` stands for the place's folder.
    pub fn benchmark(&self, name: &str, body: &str) {
        let body = body.replace('@', self.folder.path().to_str().unwrap());
        let text =
            format!("name = \"{name}\"\nabout = \"a test's own\"\nroles = [\"tester\"]\n{body}\n");
        self.write(&format!("benchmarks/{name}.toml"), text);
    }

    /// A definition with one command, which prints a number: the metric `value`, in seconds, less is better. `@` stands
    /// for the place's folder.
    pub fn prints(&self, name: &str, command: &str) {
        self.benchmark(name, &format!("[tester]\nrun = '''{command}'''\n{VALUE}"));
    }

    /// A monitor of this place's own; `@` stands for its folder.
    pub fn monitor(&self, name: &str, command: &str) {
        let command = command.replace('@', self.folder.path().to_str().unwrap());
        let text = format!("name = \"{name}\"\nabout = \"a test's own\"\nrun = '''{command}'''\n");
        self.write(&format!("monitors/{name}.toml"), text);
    }

    /// A definition that logs every phase through `step`, and measures 42.
    pub fn logged(&self, name: &str) {
        let body = "[tester]\n\
            startup = \"@/step startup\"\n\
            run = [\"@/step run\", \"echo 42\"]\n\
            collect = \"@/step collect\"\n\
            reset = \"@/step reset\"\n";
        self.benchmark(name, &format!("{body}{VALUE}"));
    }

    /// A lab of three namespaces in a row, `left`, `middle` (which forwards) and `right`, as the testbed `row`; and what is added to it.
    pub fn row_lab(&self, more: &str) {
        self.write(
            "lab.toml",
            format!(
                "name = \"{}\"\n\
                 [host.left]\nkind = \"netns\"\nroutes = [\"10.77.2.0/24 via 10.77.1.2\"]\n\
                 [host.middle]\nkind = \"netns\"\nforward = true\n\
                 [host.right]\nkind = \"netns\"\nroutes = [\"10.77.1.0/24 via 10.77.2.1\"]\n\
                 [[link]]\nends = {{ left = \"10.77.1.1/24\", middle = \"10.77.1.2/24\" }}\n\
                 [[link]]\nends = {{ middle = \"10.77.2.1/24\", right = \"10.77.2.2/24\" }}\n\
                 [testbed.row]\nclient = \"left\"\ndut = \"middle\"\nserver = {{ host = \"right\", data = \"10.77.2.2\" }}\n{more}",
                self.name
            ),
        );
    }

    /// A plan; `@` stands for the place's folder.
    pub fn plan(&self, text: &str) {
        self.write(
            "plan.toml",
            text.replace('@', self.folder.path().to_str().unwrap()),
        );
    }

    /// Makes the step of this name wait from its `call`th call on.
    pub fn hold(&self, step: &str, call: u32) {
        self.write(&format!("hold-{step}"), call.to_string());
    }

    /// Lets it go.
    pub fn release(&self, step: &str) {
        fs::remove_file(self.path(&format!("hold-{step}"))).unwrap();
    }

    /// Waits until the step of this name waits.
    pub fn until_held(&self, step: &str) {
        self.until_there(&format!("held-{step}"));
        fs::remove_file(self.path(&format!("held-{step}"))).unwrap();
    }

    /// Waits until a step has made this file.
    pub fn until_there(&self, file: &str) {
        processes::until(&format!("{file} is there"), || self.path(file).exists());
    }

    /// How often the step of this name was called.
    pub fn calls(&self, step: &str) -> usize {
        self.read("log")
            .lines()
            .filter(|line| *line == step)
            .count()
    }

    /// The program with these arguments, in this place.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.put(Command::new(env!("CARGO_BIN_EXE_backsight")), arguments)
    }

    /// A command with these arguments, in this place.
    pub fn put(&self, mut command: Command, arguments: &[&str]) -> Command {
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("BACKSIGHT_STORE", self.path("store"))
            // This machine is leased to one study at a time, and tests run at once.
            .env("BACKSIGHT_LEASES", self.path("leases"))
            .env("TMPDIR", self.path("tmp"))
            .env(MARK, &self.name)
            .env_remove("BACKSIGHT_LOG")
            .env_remove("NO_COLOR")
            .env_remove("FORCE_COLOR")
            .envs(self.environment.iter().cloned());
        command
    }

    /// Runs the program to its end.
    pub fn ends(&self, arguments: &[&str]) -> Ended {
        Running::start(self.command(arguments)).ends()
    }

    /// Runs the program to its end, which must be a success; returns what it printed. That something is worse, which is
    /// status 1 of `compare`, is an answer.
    pub fn prints_of(&self, arguments: &[&str]) -> String {
        let ended = self.ends(arguments);
        if arguments[0] != "compare" || ended.status.code() != Some(1) {
            ended.assert_code(0);
        }
        ended.stdout()
    }

    /// Starts a measuring verb whose events are awaited.
    pub fn begins(&self, arguments: &[&str]) -> Running {
        let mut with_events = arguments.to_vec();
        with_events.push("--json");
        Running::start(self.command(&with_events))
    }

    /// The trials of a study, as `show` lists them.
    pub fn trials(&self, study: &str) -> Vec<Trial> {
        trials(&self.prints_of(&["show", study]))
    }

    /// A trial's page with every raw output.
    pub fn raw(&self, study: &str, trial: u32) -> String {
        self.prints_of(&["show", study, "--trial", &trial.to_string(), "--raw"])
    }

    /// The row of a study in `studies --json`.
    pub fn study(&self, name: &str) -> Value {
        let list: Value = serde_json::from_str(&self.prints_of(&["studies", "--json"])).unwrap();
        let found = list
            .as_array()
            .unwrap()
            .iter()
            .find(|study| study["name"] == name);
        found
            .unwrap_or_else(|| panic!("no study {name} in {list}"))
            .clone()
    }

    /// Asserts that the study measured each of its cells exactly once in each round, and is finished.
    pub fn assert_complete(&self, study: &str, cells: usize, rounds: u32) {
        let trials = self.trials(study);
        let mut places: Vec<(u32, &str)> =
            trials.iter().map(|t| (t.round, t.cell.as_str())).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(
            trials.len(),
            cells * rounds as usize,
            "one trial a cell and round: {trials:#?}"
        );
        assert_eq!(
            places.len(),
            trials.len(),
            "no cell twice in a round: {trials:#?}"
        );
        assert!(
            trials.iter().all(Trial::measured),
            "all measured: {trials:#?}"
        );
        assert!(
            (1..=rounds).all(|r| trials.iter().filter(|t| t.round == r).count() == cells),
            "{trials:#?}"
        );
        let row = self.study(study);
        assert_eq!(row["state"], "finished", "{row}");
        assert_eq!(row["measured"], cells * rounds as usize, "{row}");
        assert_eq!(row["failed"], 0, "{row}");
    }

    /// Asserts that of everything that was started here nothing runs any more and no folder is left. What was
    /// killed with its conductor needs a moment for that.
    pub fn assert_nothing_left(&self) {
        processes::until_gone(&self.name);
        let left = || -> Vec<PathBuf> {
            fs::read_dir(self.path("tmp"))
                .unwrap()
                .map(|entry| entry.unwrap())
                // iperf3 makes a file and unlinks it at once; one that is killed in between leaves it.
                .filter(|entry| !entry.file_name().to_string_lossy().starts_with("iperf3."))
                .map(|entry| entry.path())
                .collect()
        };
        assert_eq!(left(), Vec::<PathBuf>::new(), "folders of agents are left");
    }

    /// The namespaces of this place's lab.
    pub fn namespaces(&self) -> Vec<String> {
        let prefix = format!("backsight:{}:", self.name);
        let entries = fs::read_dir("/run/netns").into_iter().flatten().flatten();
        entries
            .filter_map(|e| e.file_name().into_string().ok())
            .filter(|n| n.starts_with(&prefix))
            .collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // After a failed test; a test that passed has left nothing.
        processes::end_all(&self.name);
        for namespace in self.namespaces() {
            let _ = Command::new("ip")
                .args(["netns", "del", &namespace])
                .status();
        }
    }
}

/// A metric out of the first number that the role `tester` prints in `run`.
pub const VALUE: &str =
    "[metric.value]\nunit = \"s\"\nbetter = \"lower\"\nregex = '(?<value>\\d+(\\.\\d+)?)'\n";

/// Whether this test may make namespaces and mounts: for what it does more or otherwise then.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The rows of the table of trials: number, round, cell, duration, others' share, outcome. A long outcome goes
/// on in the lines below.
fn trials(page: &str) -> Vec<Trial> {
    let mut found: Vec<Trial> = Vec::new();
    let mut table = page
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("TRIAL "));
    let header = table
        .next()
        .unwrap_or_else(|| panic!("no table of trials in {page}"));
    let column = header.find("OUTCOME").unwrap();
    for line in table.take_while(|line| !line.starts_with("go on with")) {
        let is_row = line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        if is_row && line.find(|c: char| c != ' ').is_some_and(|at| at < 3) {
            let (rest, outcome) = line.split_at(column);
            let columns: Vec<&str> = rest
                .split("  ")
                .map(str::trim)
                .filter(|c| !c.is_empty())
                .collect();
            let [number, round, cell, _took, _others] = columns[..] else {
                panic!(
                    "a row of {} columns, {line:?}, in {page}",
                    columns.len() + 1
                );
            };
            found.push(Trial {
                number: number.parse().unwrap(),
                round: round.parse().unwrap(),
                cell: cell.to_owned(),
                outcome: outcome.trim().to_owned(),
            });
        } else if let Some(last) = found.last_mut() {
            last.outcome = format!("{} {}", last.outcome, line.trim())
                .trim_end()
                .to_owned();
        }
    }
    found
}

/// Whether a path is inside of a folder that is there.
pub fn exists(path: &Path) -> bool {
    path.try_exists().unwrap()
}
