//! `check`: a change of a working copy beside where it left its base: slower, alike, undecided, gone on with, refused.

use serde_json::Value;
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    path::Path,
};

use crate::{
    place::{Place, VALUE},
    running::{Ended, Running},
    stepping::{self, git},
};

/// A repository whose plan and target are in its folder `.backsight`: `main`, with a commit of its own that takes half as long, and
/// branches from before that, `slow` by a tenth and `same`.
fn place() -> Place {
    let place = Place::new();
    fs::create_dir_all(place.path("repo/.backsight/benchmarks")).unwrap();
    git(&place, &["init", "--quiet", "--initial-branch=main"], 0);
    place.benchmark(
        "tool",
        &format!("[tester]\nrun = [\"@/step run\", \"sh {{build}}/tool\"]\n{VALUE}"),
    );
    let definition = "repo/.backsight/benchmarks/tool.toml";
    fs::rename(place.path("benchmarks/tool.toml"), place.path(definition)).unwrap();
    place.write("repo/.backsight/plan.toml", "use = [\"tool\"]\nseed = 1\n");
    let target = "name = \"app\"\nsource = { git = { url = \"..\" } }\n\
        build = { run = \"test ! -e broken && cp speed tool && sh @/step build\", keep = [\"tool\"], timeout = \"20s\" }\n";
    place.write(
        "repo/.backsight/target.toml",
        target.replace('@', place.path("").to_str().unwrap()),
    );
    level(&place, 1000, 1);
    stepping::commit_all(&place, 1);
    for (at, branch, value) in [(2, "slow", 1100), (3, "same", 1000)] {
        git(&place, &["checkout", "--quiet", "-b", branch, "v1"], at);
        level(&place, value, at);
        stepping::commit_all(&place, at);
    }
    git(&place, &["checkout", "--quiet", "main"], 4);
    level(&place, 500, 4);
    stepping::commit_all(&place, 4);
    place
}

/// The program prints about this, give or take a tenth of a percent.
fn level(place: &Place, value: u32, number: usize) {
    let text = format!("echo $(({value} + $(od -An -N1 -tu1 /dev/urandom) / 64)) # {number}\n");
    place.write("repo/speed", text);
}

fn check_in(place: &Place, folder: &Path, arguments: &[&str]) -> Ended {
    // A false decision would be a flaw of the test: one in a thousand runs at most.
    let usual = ["check", "--confidence", "99.9"];
    let mut command = place.command(&[&usual[..], arguments].concat());
    command
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    Running::start(command).ends()
}

fn check(place: &Place, branch: &str, arguments: &[&str]) -> Ended {
    git(place, &["checkout", "--quiet", branch], 9);
    check_in(place, &place.path("repo"), arguments)
}

/// The status that a commit gets with the verdict of a study.
fn told_status(place: &Place, study: &str) -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        loop {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                let from = head.len();
                reader.read_line(&mut head).unwrap();
                let line = head[from..].to_lowercase();
                if let Some(said) = line.strip_prefix("content-length:") {
                    length = said.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let (status, answer) = match head.starts_with("GET") {
                true => ("200 OK", "[]"),
                false => ("201 Created", "{}"),
            };
            let length = answer.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{answer}"
            );
            reader.into_inner().write_all(answer.as_bytes()).unwrap();
            if head.contains("/statuses/") {
                return serde_json::from_slice(&body).unwrap();
            }
        }
    });
    place.write("token", "s3cret");
    place.write(
        "notify.toml",
        format!(
            "site = \"https://perf.example.org\"\n[channel.forge.github]\nserver = \"http://{address}\"\n\
             repository = \"owner/app\"\ntoken = {{ file = \"token\" }}\n"
        ),
    );
    let commit = "a".repeat(40);
    let words = ["notify", "--config", "notify.toml", "--study", study];
    let on = [
        "--pull-request",
        "7",
        "--commit",
        &commit,
        "--channel",
        "forge",
    ];
    place.ends(&[&words[..], &on].concat()).assert_code(0);
    server.join().unwrap()
}

#[test]
fn a_slower_change_fails_and_one_that_does_nothing_passes() {
    let place = place();
    let ended = check(&place, "slow", &["--base", "main"]);
    ended.assert_code(1);
    ended.assert_says(&[
        "how long it takes isn't known: of 1 cell",
        "it ends after 15 min 0 s at the latest",
        "where this change left main",
        "slow is worse: tool value +",
        "`backsight bisect --like check-1",
    ]);
    let comment = ended.stdout();
    assert!(
        comment.starts_with("### slow is worse") && comment.contains("\n| cell"),
        "{comment}"
    );
    assert!(
        comment.contains("functions: `backsight explain check-1`\n"),
        "{comment}"
    );
    let (builds, runs) = (place.calls("build"), place.calls("run"));
    assert_eq!(builds, 2);

    // A status is plain text, and links to the page of the study.
    let status = told_status(&place, "check-1");
    let described = status["description"].as_str().unwrap();
    assert!(
        described.starts_with("slow is worse: tool value +") && !described.contains('\\'),
        "{status}"
    );
    assert_eq!(
        status["target_url"],
        "https://perf.example.org/studies/check-1/index.html"
    );

    // Where the comment can't be written is known before anything is measured.
    for comment in ["nowhere/c.md", "."] {
        let arguments = ["--base", "main", "--anew", "--comment", comment];
        let refused = check(&place, "slow", &arguments);
        refused.assert_code(2);
        refused.assert_says(&["the comment can't be written into"]);
    }
    assert_eq!((place.calls("build"), place.calls("run")), (builds, runs));

    // What was decided is shown again.
    let again = check(&place, "slow", &["--base", "main"]);
    again.assert_code(1);
    again.assert_says(&["`check-1` asked the same and goes on", "slow is worse"]);
    assert_eq!((place.calls("build"), place.calls("run")), (builds, runs));

    // The base is built, and what it takes is known by now.
    let same = check(&place, "same", &["--base", "main", "--comment", "c.md"]);
    same.assert_code(0);
    same.assert_says(&[
        "rounds of 1 cell on both sides, 1 build",
        "to see 2 % by the noise of check-1",
        "no difference larger than",
        "it can be merged",
    ]);
    assert!(!same.stdout().starts_with("###"), "{}", same.stdout());
    let comment = place.read("repo/c.md");
    assert!(
        comment.starts_with("### same makes no difference that matters")
            && comment.contains("#### What to do next"),
        "{comment}"
    );
    assert_eq!(place.calls("build"), builds + 1);

    // The tip is another base: half as slow.
    let tip = check(&place, "same", &["--base", "main", "--tip"]);
    tip.assert_code(1);
    place.assert_nothing_left();
}

#[test]
fn a_check_whose_budget_is_spent_goes_on_with_another_one() {
    let place = place();
    let asked = ["--base", "main", "--tolerance", "1%", "--budget"];
    let ended = check(&place, "same", &[&asked[..], &["1ms"]].concat());
    ended.assert_code(3);
    ended.assert_says(&[
        "the budget of",
        "The same command with the same commits goes on",
    ]);
    let builds = place.calls("build");
    let ended = check(&place, "same", &[&asked[..], &["1m"]].concat());
    ended.assert_code(0);
    ended.assert_says(&[
        "`check-1` asked the same and goes on",
        "no difference larger than",
    ]);
    assert!(place.calls("build") <= 2 && place.calls("build") >= builds);
    let studies = place.prints_of(&["studies"]);
    assert!(!studies.contains("check-2"), "{studies}");
    let ended = check(
        &place,
        "same",
        &["--base", "main", "--tolerance", "1%", "--anew"],
    );
    ended.assert_code(0);
    assert!(place.prints_of(&["studies"]).contains("check-2"));
}

#[test]
fn changes_beside_one_another_are_no_history_until_they_are_merged() {
    let place = place();
    check(&place, "slow", &["--base", "main"]).assert_code(1);
    check(&place, "same", &["--base", "main"]).assert_code(0);
    let repo = place.path("repo");
    let says = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.current_dir(&repo);
        let ended = Running::start(command).ends();
        ended.assert_code(0);
        ended.stdout()
    };
    // By time, `same` comes after `slow` and is faster.
    let alerts = says(&["alerts"]);
    assert!(alerts.contains("no alerts"), "{alerts}");
    let history = says(&["history", "--target", "app"]);
    assert!(
        !history.contains("v2") && !history.contains("v3"),
        "{history}"
    );

    git(&place, &["checkout", "--quiet", "-B", "main", "slow"], 9);
    let target = ".backsight/target.toml";
    let stretch = ["--from", "v1", "--to", "v2", "--rounds", "9"];
    let step = ["step", ".backsight/plan.toml", "--target", target];
    says(&[&step[..], &stretch].concat());
    let alerts = says(&["alerts"]);
    assert!(alerts.contains("got worse at v2"), "{alerts}");
    place.assert_nothing_left();
}

#[test]
fn what_is_not_committed_is_measured_and_said() {
    let place = place();
    level(&place, 600, 5);
    place.write("repo/notes", "");
    let repo = place.path("repo");
    let ended = check_in(&place, &repo, &["--base", "main"]);
    ended.assert_code(1);
    ended.assert_says(&[
        "with changes that aren't committed is measured; --committed leaves these out",
        "1 file that git doesn't track is left out",
        "uncommitted work is worse: tool value +",
    ]);
    let ended = check_in(&place, &repo, &["--base", "main", "--committed"]);
    ended.assert_code(2);
    ended.assert_says(&["there is nothing to check"]);
    // Nothing of it is changed.
    assert!(git(&place, &["status", "--short"], 9).contains("M speed"));
}

#[test]
fn what_cannot_be_checked_is_refused_with_a_way_out() {
    let place = place();
    git(&place, &["checkout", "--quiet", "same"], 9);
    let repo = place.path("repo");
    let refuses = |folder: &Path, arguments: &[&str], says: &[&str]| {
        let ended = check_in(&place, folder, arguments);
        ended.assert_code(2);
        ended.assert_says(says);
    };
    refuses(&repo, &[], &["--base"]);
    refuses(
        &place.path("benchmarks"),
        &["--base", "main"],
        &["is in no git repository"],
    );
    let unknown = ["--base", "origin/mian", "--comment", "c.md"];
    refuses(
        &repo,
        &unknown,
        &[
            "`origin/mian` is no version of app",
            "git fetch origin mian",
        ],
    );
    let comment = place.read("repo/c.md");
    assert!(
        comment.starts_with("### The change couldn't be checked") && comment.contains("mian"),
        "{comment}"
    );
    git(&place, &["checkout", "--quiet", "--orphan", "apart"], 9);
    git(&place, &["commit", "--quiet", "-m", "apart"], 9);
    refuses(&repo, &["--base", "main"], &["share no history", "--tip"]);
    let url = format!("file://{}", repo.display());
    git(
        &place,
        &["clone", "--quiet", "--depth=1", &url, "../shallow"],
        9,
    );
    refuses(
        &place.path("shallow"),
        &["--base", "main"],
        &["is a shallow clone", "fetch-depth: 0", "GIT_DEPTH: 0"],
    );
    git(&place, &["rm", "--quiet", ".backsight/plan.toml"], 9);
    refuses(
        &repo,
        &["--base", "main"],
        &[
            "what is to be measured?",
            ".backsight/plan.toml",
            "backsight store check",
        ],
    );
}
