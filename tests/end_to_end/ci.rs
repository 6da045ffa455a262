//! The files of examples/ci: nights and changes of a small repository, each started by what is in the file of a CI system, as
//! that system would.

use backsight_test_needs::Need;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use yaml_rust2::{Yaml, YamlLoader};

use crate::place::Place;

/// The folder that the files are written for.
const PROJECT: &str = "/srv/performance";

fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/ci")
        .join(file)
}

fn text(file: &str) -> String {
    fs::read_to_string(example(file)).unwrap()
}

fn yaml(file: &str) -> Yaml {
    let mut documents = YamlLoader::load_from_str(&text(file)).unwrap();
    assert_eq!(documents.len(), 1, "{file}");
    documents.remove(0)
}

/// The strings of a list; of a single string, that.
fn strings(yaml: &Yaml) -> Vec<String> {
    match yaml {
        Yaml::Array(items) => items.iter().flat_map(strings).collect(),
        Yaml::String(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// A project whose repository is a clone, as the how-to says, and an author's clone, at the present time: the scripts ask for
/// the last weeks.
struct Project {
    place: Place,
}

/// What a job ends with and prints.
#[derive(Debug)]
struct Job {
    code: Option<i32>,
    said: String,
}

impl Project {
    /// Of twelve versions, whose program prints how much it does: 10,000 and a little that differs.
    fn new() -> Self {
        let place = Place::new();
        for name in ["nightly", "pull-request"] {
            fs::copy(example(name), place.path(name)).unwrap();
        }
        place.benchmark(
            "work",
            "[tester]\nrun = \"sh {build}/work.sh\"\n[metric.work]\nunit = \"count\"\nbetter = \"lower\"\n\
             regex = '(?<value>\\d+)'\n",
        );
        place.plan("use = [\"work\"]\nrounds = 4\nseed = 1\n");
        place.write(
            "app.toml",
            "name = \"app\"\nsource = { git = { url = \"app\" } }\nbuild = { keep = [\"work.sh\"] }\n",
        );
        for folder in ["bin", "home", "build", "author"] {
            fs::create_dir(place.path(folder)).unwrap();
        }
        let program = env!("CARGO_BIN_EXE_backsight");
        std::os::unix::fs::symlink(program, place.path("bin/backsight")).unwrap();
        std::os::unix::fs::symlink(place.path(""), place.path("home/performance")).unwrap();
        // Posts a comment: the file that is its body is kept.
        place.script(
            "bin/gh",
            "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = --body-file ] && cp \"$2\" \"$(dirname \"$0\")/../posted.md\"; shift; done\n",
        );
        let project = Self { place };
        project.git("author", &["init", "--quiet", "--initial-branch=main"]);
        for number in 1..=12 {
            project.commit(10_000, number);
        }
        let place = &project.place;
        let (author, origin) = (place.at("author"), place.at("origin"));
        project.git("", &["clone", "--quiet", "--bare", &author, &origin]);
        project.git("author", &["remote", "add", "origin", &origin]);
        project.git("", &["clone", "--quiet", &origin, &place.at("app")]);
        project
    }

    fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
            .args(arguments)
            .current_dir(self.place.path(folder))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, level: u32, number: u32) {
        self.place.write(
            "author/work.sh",
            format!("# {number}\necho $(( {level} + $(od -An -N1 -tu1 /dev/urandom) % 50 ))\n"),
        );
        self.git("author", &["add", "--all"]);
        let title = format!("version {number}");
        self.git("author", &["commit", "--quiet", "-m", &title]);
    }

    /// A branch off main with one commit, pushed; its commit and main's.
    fn branch(&self, name: &str, level: u32, number: u32) -> [String; 2] {
        self.git("author", &["checkout", "--quiet", "-b", name, "main"]);
        self.commit(level, number);
        self.git("author", &["push", "--quiet", "origin", name]);
        ["main", name].map(|branch| self.git("author", &["rev-parse", branch]))
    }

    /// Runs a shell with these lines in a folder, in an environment that has nothing but this and what a place needs.
    fn shell(&self, folder: &str, lines: &str, environment: &[(String, String)]) -> Job {
        let mut command = Command::new("/bin/sh");
        command.env_clear();
        let mut command = self.place.put(command, &["-e", "-c", lines]);
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.place.at("bin"));
        command
            .current_dir(self.place.path(folder))
            .envs(environment.iter().cloned())
            .env("HOME", self.place.path("home"))
            .env("PATH", path);
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        Job {
            code: output.status.code(),
            said: String::from_utf8_lossy(&said).into_owned(),
        }
    }

    /// A job of the workflow for GitHub: its `run` steps one after the other; behind one that failed those that always run.
    fn github(&self, name: &str, context: &[(&str, &str)]) -> Job {
        let workflow = yaml("github-actions.yml");
        let job = &workflow["jobs"][name];
        assert_eq!(strings(&job["runs-on"]), ["self-hosted", "performance"]);
        let mut ended = Job {
            code: Some(0),
            said: String::new(),
        };
        for step in job["steps"].as_vec().unwrap() {
            let always = step["if"].as_str() == Some("always()");
            let Some(run) = step["run"]
                .as_str()
                .filter(|_| ended.code == Some(0) || always)
            else {
                continue;
            };
            let mut environment = vec![("GITHUB_REPOSITORY".to_owned(), "o/r".to_owned())];
            for (variable, value) in step["env"].as_hash().into_iter().flatten() {
                let expression = value.as_str().unwrap();
                let expression = expression.strip_prefix("${{").unwrap();
                let expression = expression.strip_suffix("}}").unwrap().trim();
                let known = context.iter().find(|(name, _)| *name == expression);
                let (_, value) = known.unwrap_or_else(|| panic!("{expression}"));
                environment.push((variable.as_str().unwrap().to_owned(), (*value).to_owned()));
            }
            let step = self.shell("build", run, &environment);
            ended.said.push_str(&step.said);
            if ended.code == Some(0) {
                ended.code = step.code;
            }
        }
        ended
    }

    /// A job of the pipeline for GitLab: its script, and after that, whatever came of it, what comes after.
    fn gitlab(&self, name: &str, variables: &[(&str, &str)]) -> Job {
        let pipeline = yaml("gitlab-ci.yml");
        let job = &pipeline[name];
        let common = &pipeline[job["extends"].as_str().unwrap()];
        let stages = strings(&pipeline["stages"]);
        assert!(stages.contains(&common["stage"].as_str().unwrap().to_owned()));
        let of_file = common["variables"].as_hash().unwrap().iter();
        let own = |(name, value): (&Yaml, &Yaml)| {
            let value = value.as_str().unwrap().replace(PROJECT, &self.place.at(""));
            (name.as_str().unwrap().to_owned(), value)
        };
        let mut environment: Vec<(String, String)> = of_file.map(own).collect();
        let given = variables.iter();
        environment.extend(given.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let ended = self.shell("build", &strings(&job["script"]).join("\n"), &environment);
        let after = strings(&job["after_script"]).join("\n");
        let after = self.shell("build", &after, &environment);
        assert_eq!(after.code, Some(0), "{}", after.said);
        ended
    }

    /// The job of the crontab, as cron starts it: what it prints is mailed.
    fn cron(&self) -> Job {
        let file = text("crontab");
        let lines = file.lines().filter(|line| !line.starts_with('#'));
        let (jobs, settings): (Vec<&str>, Vec<&str>) =
            lines.partition(|line| line.starts_with(|first: char| first.is_ascii_digit()));
        let environment = settings.iter().map(|line| line.split_once('=').unwrap());
        let environment: Vec<(String, String)> = environment
            .map(|(name, value)| (name.to_owned(), value.replace(PROJECT, &self.place.at(""))))
            .collect();
        let [job] = jobs[..] else {
            panic!("one job: {jobs:?}");
        };
        let fields: Vec<&str> = job.splitn(7, ' ').collect();
        let (times, user, command) = (&fields[..5], fields[5], fields[6]);
        let is_time = |field: &&str| *field == "*" || field.parse::<u32>().is_ok();
        assert!(times.iter().all(is_time), "{times:?}");
        assert!(user.chars().all(char::is_alphabetic), "{user}");
        assert!(
            !command.contains('%'),
            "cron takes it for the end of a line"
        );
        self.shell("home", command, &environment)
    }

    /// The service, as systemd starts it: one command after the other.
    fn systemd(&self) -> Job {
        let unit = text("backsight-nightly.service");
        let setting = |name: &str| -> Vec<String> {
            let lines = unit.lines().filter_map(|line| line.strip_prefix(name));
            lines
                .filter_map(|line| line.strip_prefix('='))
                .map(str::to_owned)
                .collect()
        };
        let environment = setting("Environment").into_iter().map(|line| {
            let (name, value) = line.split_once('=').unwrap();
            (name.to_owned(), value.replace(PROJECT, &self.place.at("")))
        });
        let environment: BTreeMap<String, String> = environment.collect();
        let words = |line: &String| -> Vec<String> {
            let words = line.split_whitespace();
            let expand = |word: &str| {
                environment
                    .iter()
                    .fold(word.to_owned(), |word, (name, value)| {
                        word.replace(&format!("${{{name}}}"), value)
                    })
            };
            words.map(expand).collect()
        };
        let commands = [setting("ExecStartPre"), setting("ExecStart")].concat();
        assert_eq!(commands.len(), 2, "{commands:?}");
        let lines = commands.iter().map(|line| words(line).join(" "));
        let lines: Vec<String> = lines.collect();
        assert!(
            lines
                .iter()
                .all(|line| line.starts_with('/') && !line.contains('$')),
            "{lines:?}"
        );
        self.shell("", &lines.join("\n"), &[])
    }
}

#[test]
fn nights_are_quiet_until_a_version_is_slower_and_a_change_is_judged_before_it_is_one() {
    let project = Project::new();
    let place = &project.place;
    let night = project.github("night", &[]);
    assert_eq!(night.code, Some(0), "{night:?}");
    assert!(place.path("site/index.html").exists());

    // A change that does more: the bot posts what `try` says.
    let [base, slow] = project.branch("slow", 13_000, 13);
    let change = project.github(
        "pull-request",
        &[
            ("github.event.pull_request.base.sha", &base),
            ("github.event.pull_request.head.sha", &slow),
            ("github.event.pull_request.number", "7"),
            ("github.token", "secret"),
        ],
    );
    assert_eq!(change.code, Some(1), "{change:?}");
    let posted = place.read("posted.md");
    let (headline, rest) = posted.split_once('\n').unwrap();
    assert!(
        headline.starts_with("### ") && headline.contains(" is worse: work work"),
        "{posted}"
    );
    assert!(rest.contains("| work | work |"), "a table: {posted}");
    assert!(!posted.contains("```"), "no text of a terminal: {posted}");
    assert!(place.read("verdict.html").contains("worse"));

    // One that doesn't.
    let [base, harmless] = project.branch("harmless", 10_000, 14);
    let change = project.gitlab(
        "merge-request",
        &[
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &base),
            ("CI_COMMIT_SHA", &harmless),
        ],
    );
    assert_eq!(change.code, Some(0), "{change:?}");
    let verdict = place.read("build/verdict.md");
    assert!(
        verdict.contains("makes no difference that matters"),
        "{verdict}"
    );
    assert!(place.path("build/verdict.html").exists());

    // By the names of branches, it is told by these; and a question that is wrong leaves no verdict of another change.
    project.git("app", &["fetch", "--quiet", "origin", "slow:slow"]);
    let by_hand = |head: &str| {
        let line = format!("sh pull-request {} app main {head} 2m", place.at(""));
        project.shell("", &line, &[])
    };
    let change = by_hand("slow");
    assert_eq!(change.code, Some(1), "{change:?}");
    let verdict = place.read("verdict.md");
    assert!(
        verdict.starts_with("### slow is worse: work work"),
        "{verdict}"
    );
    assert!(verdict.contains("| main |"), "{verdict}");
    let change = by_hand("nosuch");
    assert_eq!(change.code, Some(2), "{change:?}");
    let verdict = place.read("verdict.md");
    assert!(
        verdict.starts_with("### nosuch couldn't be compared with main\n"),
        "{verdict}"
    );
    assert!(
        verdict.contains("nosuch") && !verdict.contains("worse"),
        "{verdict}"
    );
    assert!(!place.path("verdict.html").exists());

    // The slow one is merged all the same: the nights after it say so, whoever starts them.
    project.git("author", &["checkout", "--quiet", "main"]);
    project.git("author", &["merge", "--quiet", "--ff-only", "slow"]);
    for number in 15..=18 {
        project.commit(13_000, number);
    }
    project.git("author", &["push", "--quiet", "origin", "main"]);
    let mailed = project.cron();
    assert!(mailed.said.starts_with("status 1\n"), "{mailed:?}");
    assert!(mailed.said.contains("worse"), "{mailed:?}");
    let night = project.systemd();
    assert_eq!(night.code, Some(1), "{night:?}");
    assert!(place.read("history.txt").contains("worse"), "{night:?}");
    let night = project.gitlab("night", &[]);
    assert_eq!(night.code, Some(1), "{night:?}");
    assert!(place.path("build/site/index.html").exists());
}

#[test]
fn a_night_in_which_nothing_is_wrong_is_not_mailed() {
    let project = Project::new();
    let mailed = project.cron();
    assert_eq!(mailed.said, "", "{mailed:?}");
    assert_eq!(mailed.code, Some(0));
    assert!(project.place.path("site/index.html").exists());
}

#[test]
fn ci_systems_measure_one_thing_at_a_time_and_nothing_of_strangers() {
    let workflow = yaml("github-actions.yml");
    let cron = workflow["on"]["schedule"][0]["cron"].as_str().unwrap();
    assert_eq!(cron.split(' ').count(), 5);
    assert_eq!(
        workflow["concurrency"]["cancel-in-progress"].as_bool(),
        Some(false)
    );
    let own = workflow["jobs"]["pull-request"]["if"].as_str().unwrap();
    assert!(
        own.contains("head.repo.full_name == github.repository"),
        "{own}"
    );
    let pipeline = yaml("gitlab-ci.yml");
    assert_eq!(
        pipeline[".performance"]["resource_group"].as_str(),
        Some("performance")
    );
    let rule = pipeline["merge-request"]["rules"][0]["if"]
        .as_str()
        .unwrap();
    assert!(
        rule.contains("SOURCE_PROJECT_ID == $CI_PROJECT_ID"),
        "{rule}"
    );
    // It can't be told: no reason to stop anybody.
    assert_eq!(
        pipeline["merge-request"]["allow_failure"]["exit_codes"].as_i64(),
        Some(3)
    );
}

#[test]
fn units_are_read_by_systemd() {
    if Need::Systemd.is_missing() {
        return;
    }
    let analyze = |arguments: &[&str]| {
        let output = Command::new("systemd-analyze")
            .args(arguments)
            .output()
            .unwrap();
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let timer = text("backsight-nightly.timer");
    let when = timer
        .lines()
        .find_map(|line| line.strip_prefix("OnCalendar="))
        .unwrap();
    let (good, said) = analyze(&["calendar", when]);
    assert!(good, "{said}");
    let units = ["backsight-nightly.service", "backsight-nightly.timer"].map(example);
    let units = units.each_ref().map(|unit| unit.to_str().unwrap());
    let (_, said) = analyze(&[&["verify"], &units[..]].concat());
    // It reads the units of the system with them, of which it may say what it likes.
    let ours = said
        .lines()
        .filter(|line| line.contains("backsight-nightly"));
    assert_eq!(ours.collect::<Vec<_>>(), Vec::<&str>::new(), "{said}");
}
