//! Standing jobs: a tree that is followed unattended, what is found in it, and what happens when somebody dies or goes away.

use backsight_test_needs::Need;
use jiff::{SignedDuration, Timestamp};
use nix::sys::signal::Signal;
use std::{fs, time::Duration};

use crate::{
    history::with_store,
    place::Place,
    processes,
    running::{Ended, Running},
    stepping::{git, two_testbeds},
};

/// The level of the program before and after the commit that makes it slower.
const LEVELS: (u32, u32) = (1000, 1300);
/// So many commits come at a time.
const AT_ONCE: usize = 3;

/// A place with a repository whose program prints a number with noise, and a job that follows it.
pub fn place(job: &str) -> Place {
    let place = Place::new();
    fs::create_dir(place.path("repo")).unwrap();
    git(&place, &["init", "--quiet", "--initial-branch=main"], 0);
    place.benchmark(
        "work",
        "[tester]\nrun = [\"@/step run\", \"sh {build}/work.sh\"]\n[metric.time]\nunit = \"ms\"\nbetter = \"lower\"\n\
         regex = '(?<value>\\d+)'\n",
    );
    place.plan("use = [\"work\"]\nrounds = 3\nseed = 1\n");
    place.write(
        "app.toml",
        "name = \"app\"\nsource = { git = { url = \"repo\" } }\nbuild = { keep = [\"work.sh\"] }\n",
    );
    place.write(
        "watch.toml",
        format!("[job.main]\ntarget = \"app\"\nplan = \"plan.toml\"\nbudget = \"4h\"\n{job}"),
    );
    place
}

/// Commits that come together, the last of which is this one; the program is slower from `slow` on. What a commit changes
/// beside that lies elsewhere, so that the slow one can be taken back.
pub fn come(place: &Place, last: usize, slow: usize) {
    for number in last + 1 - AT_ONCE..=last {
        let level = if number < slow { LEVELS.0 } else { LEVELS.1 };
        place.write(
            "repo/work.sh",
            format!("echo $(({level} + $(od -An -N1 -tu1 /dev/urandom) / 32))\n"),
        );
        place.write(&format!("repo/{number}"), "");
        git(place, &["add", "--all"], 10 * number);
        let title = format!("version {number}");
        git(place, &["commit", "--quiet", "-m", &title], 10 * number);
        git(place, &["tag", &format!("v{number}")], 10 * number);
    }
}

fn watch(place: &Place) -> Ended {
    place.ends(&["watch", "--once"])
}

/// Everything up to the change is measured, three commits at a time, and the change has come: v20.
fn changed(place: &Place) {
    for last in (AT_ONCE..=18).step_by(AT_ONCE) {
        come(place, last, 20);
        watch(place).assert_code(0);
    }
    for last in [21, 24] {
        come(place, last, 20);
    }
}

/// The names of studies that measured a version by the schedule.
fn measured(place: &Place) -> usize {
    let studies = place.prints_of(&["studies", "--json"]);
    studies.matches("\"main-measure-").count()
}

/// Notes that a channel failed, and is tried again so many seconds later.
fn fail_channel(place: &Place, channel: &str, seconds: i64) {
    with_store(place, async |store| {
        let mut state = store.channel_state(channel).await.unwrap();
        let next = Timestamp::now() + SignedDuration::from_secs(seconds);
        let taken = store.take_channel(channel, &mut state, next).await;
        assert!(taken.unwrap());
        state.failures = 1;
        state.next_try = Some(next);
        state.problem = Some("the mail server is down".to_owned());
        store.release_channel(channel, &state).await.unwrap();
    });
}

#[test]
fn asking_what_would_be_done_makes_no_store() {
    let place = place("");
    come(&place, 3, 20);
    let planned = place.prints_of(&["watch", "--dry-run"]);
    assert!(planned.contains("main: measures v3"), "{planned}");
    place
        .ends(&["studies"])
        .assert_says(&["there is no store in"]);
}

#[test]
fn a_slow_commit_is_found_taken_back_and_told_unattended() {
    let place = place("");
    place.script(
        "sendmail",
        "#!/bin/sh\ncat >> \"$(dirname \"$0\")/mails\"\n",
    );
    changed(&place);
    place.write(
        "store/notify.toml",
        format!(
            "[channel.team.mail]\nfrom = \"lab@example.org\"\nto = [\"team@example.org\"]\nsendmail = \"{}\"\n",
            place.at("sendmail")
        ),
    );
    let planned = place.prints_of(&["watch", "--dry-run"]);
    assert!(
        planned.contains("main: measures v24 “version 24”: 6 new versions, 3 rounds")
            && planned.contains("found 0 changes"),
        "{planned}"
    );
    let found = watch(&place);
    found.assert_code(0);
    let (told, noted) = (found.stdout(), &found.stderr);
    assert!(
        told.contains("app: v20 “version 20” changed work time by +")
            && told.contains(
                "measured beside the version before it; taken back on top of the newest version: −"
            ),
        "{told}\n{noted}"
    );
    for step in [
        "main: bisects work time from ",
        "main: measures v20 “version 20” beside the version before it",
    ] {
        assert!(noted.contains(step), "{step}: {noted}");
    }
    let alerts = place.prints_of(&["alerts", "--target", "app"]);
    assert!(alerts.contains("work time got worse at v20"), "{alerts}");
    let subjects = || {
        let mails = place.read("mails");
        mails
            .lines()
            .filter(|line| line.starts_with("Subject:"))
            .count()
    };
    assert_eq!(subjects(), 1, "{}", place.read("mails"));

    // What is known isn't asked or told again.
    for last in [27, 30] {
        come(&place, last, 20);
        let quiet = watch(&place);
        quiet.assert_code(0);
        assert_eq!(quiet.stdout(), "", "{}", quiet.stderr);
        assert!(!quiet.stderr.contains("bisects"), "{}", quiet.stderr);
    }
    assert_eq!(subjects(), 1, "{}", place.read("mails"));
    let after = place.prints_of(&["watch", "--dry-run"]);
    assert!(
        after.contains("main: nothing is new")
            && after.contains("follows 28 versions, found 1 change, spent "),
        "{after}"
    );
    place.prints_of(&["publish", "site"]);
    let status = place.read("site/status/index.html");
    assert!(
        status.contains("Standing jobs") && status.contains("1 verified"),
        "{status}"
    );
    // A copy goes on where the store was.
    let copied = place.prints_of(&["store", "copy", &place.at("store"), &place.at("copy")]);
    assert!(
        copied.contains("changes that were told: 1, studies of standing jobs: "),
        "{copied}"
    );
    let of_copy = |words: &[&str]| {
        let copy = place.at("copy");
        place.prints_of(&[&["--store", &copy], words].concat())
    };
    // The first line also has a time.
    let known = |said: &str| said.lines().nth(1).unwrap().to_owned();
    let planned = of_copy(&["watch", "--dry-run"]);
    assert!(planned.starts_with("main: nothing is new; "), "{planned}");
    assert_eq!(known(&planned), known(&after));
    let notify = ["notify", "--config", "store/notify.toml", "--dry-run"];
    assert_eq!(of_copy(&notify), "team: nothing new\n");

    // A channel that failed is tried again at the time that is said, between two looks.
    fail_channel(&place, "team", 6);
    let triage = ["triage", "app", "v20", "invalid", "--by", "Ann"];
    place.ends(&triage).assert_code(0);
    let working = Running::start(place.command(&["watch"]));
    processes::until("the channel is tried again", || subjects() == 2);
    working.signal(Signal::SIGINT);
    let ended = working.ends_within(Duration::from_secs(20));
    ended.assert_code(0);
    assert!(
        ended
            .stderr
            .contains("team: the mail server is down; tried again after "),
        "{}",
        ended.stderr
    );
    place.assert_nothing_left();
}

#[test]
fn a_job_that_is_killed_goes_on_where_it_was() {
    let place = place("");
    changed(&place);
    // From the first step of the trials on, at ever later ones.
    let (mut call, mut kills) = (place.calls("run") + 2, 0);
    let mut found = String::new();
    loop {
        place.hold("run", call as u32);
        let working = Running::start(place.command(&["watch", "--once"]));
        if kills == 8 {
            place.release("run");
            let ended = working.ends();
            ended.assert_code(0);
            found.push_str(&ended.stdout());
            break;
        }
        place.until_held("run");
        found.push_str(&working.after_sigkill().stdout());
        place.release("run");
        kills += 1;
        call = place.calls("run") + 3 * kills;
        if found.contains("v20") {
            break;
        }
    }
    assert!(kills >= 3, "{kills}: {found}");
    let end = watch(&place);
    end.assert_code(0);
    found.push_str(&end.stdout());
    assert!(
        found.contains("app: v20 “version 20” changed work time"),
        "{found}{}",
        end.stderr
    );
    // The seven versions that were the newest when it looked, each in one study that came to its end.
    assert_eq!(measured(&place), 7);
    let studies = place.prints_of(&["studies", "--json"]);
    assert!(
        !studies.contains("\"running\"") && !studies.contains("\"stopped\""),
        "{studies}"
    );
    place.assert_nothing_left();
}

#[test]
fn a_history_that_is_away_is_said_and_one_that_was_rewritten_too() {
    let place = place("");
    come(&place, 3, 99);
    watch(&place).assert_code(0);
    come(&place, 6, 99);
    watch(&place).assert_code(0);
    fs::rename(place.path("repo"), place.path("away")).unwrap();
    let away = watch(&place);
    away.assert_code(1);
    assert!(
        away.stderr.contains("main: ") && away.stderr.contains("repo"),
        "{}",
        away.stderr
    );
    fs::rename(place.path("away"), place.path("repo")).unwrap();
    watch(&place).assert_code(0);
    assert_eq!(measured(&place), 2);

    git(&place, &["reset", "--quiet", "--hard", "v4"], 0);
    git(&place, &["tag", "--delete", "v5", "v6"], 0);
    place.write("repo/4", "another line\n");
    git(
        &place,
        &["commit", "--quiet", "--all", "-m", "another line"],
        100,
    );
    let rewritten = watch(&place);
    rewritten.assert_code(0);
    assert!(
        rewritten
            .stderr
            .contains("main: the branch was rewritten: 1 measured version not on it any more")
            && rewritten.stderr.contains("“another line”: 2 new versions"),
        "{}",
        rewritten.stderr
    );
    assert_eq!(measured(&place), 3);
    // What is gone from the branch is no point of its history.
    let history = place.prints_of(&["history", "--target", "app", "--json"]);
    let history: serde_json::Value = serde_json::from_str(&history).unwrap();
    let versions = history["versions"].as_array().unwrap();
    let names: Vec<&str> = versions
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert!(
        names.contains(&"v3") && !names.contains(&"v6") && names.len() == 2,
        "{names:?}"
    );
}

#[test]
fn a_standing_job_works_until_it_is_stopped_and_looks_when_it_is_asked_to() {
    let place = place("look = \"1h\"\n");
    come(&place, 3, 99);
    let mut working = Running::start(place.command(&["watch", "--json"]));
    let waits = |event: &serde_json::Value| {
        event["event"] == "job-step" && event["message"] == "nothing is new"
    };
    working.until("the end of the first version", waits);
    let second = place.ends(&["watch", "--once"]);
    second.assert_code(2);
    second.assert_says(&["another process works at the job `main`"]);
    come(&place, 6, 99);
    working.signal(Signal::SIGUSR2);
    working.until("a look at the second one", |event| {
        event["message"]
            .as_str()
            .is_some_and(|it| it.contains("measures v6"))
    });
    working.until("its end", waits);
    working.signal(Signal::SIGINT);
    working.ends_within(Duration::from_secs(20)).assert_code(0);
    assert_eq!(measured(&place), 2);
    place.assert_nothing_left();
}

#[test]
fn jobs_of_two_processes_follow_one_tree_at_once() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place("");
    two_testbeds(&place);
    let job = place.read("watch.toml");
    let on = |testbed: &str| {
        let named = job.replace("job.main", &format!("job.{testbed}"));
        format!("{named}testbed = \"{testbed}\"\n")
    };
    place.write("watch.toml", on("one") + &on("two"));
    let target = place.read("app.toml");
    let elsewhere = format!("file://{}", place.at("repo"));
    place.write("app.toml", target.replace("repo", &elsewhere));
    for last in [3, 6] {
        come(&place, last, 20);
        let both = ["one", "two"]
            .map(|job| Running::start(place.command(&["watch", "--once", "--job", job])));
        for process in both {
            process.ends().assert_code(0);
        }
        let studies = place.prints_of(&["studies", "--json"]);
        for job in ["one", "two"] {
            let of_job = studies.matches(&format!("\"{job}-measure-")).count();
            assert_eq!(of_job, last / AT_ONCE, "{job}: {studies}");
        }
    }
    place.ends(&["lab", "down"]).assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn versions_that_fail_are_no_reason_to_stop_and_a_spent_budget_is_kept() {
    let place = place("");
    come(&place, 3, 99);
    watch(&place).assert_code(0);
    place.write("repo/work.sh", "exit 3\n");
    git(
        &place,
        &["commit", "--quiet", "--all", "-m", "it fails"],
        40,
    );
    let failed = watch(&place);
    failed.assert_code(0);
    assert!(
        failed.stderr.contains("exited with code 3"),
        "{}",
        failed.stderr
    );
    fs::remove_file(place.path("repo/work.sh")).unwrap();
    git(
        &place,
        &["commit", "--quiet", "--all", "-m", "it is gone"],
        50,
    );
    let gone = watch(&place);
    gone.assert_code(0);
    assert!(gone.stderr.contains("“it is gone”"), "{}", gone.stderr);
    assert!(!watch(&place).stderr.contains("measures"));
    come(&place, 9, 99);
    let good = watch(&place);
    good.assert_code(0);
    assert!(good.stderr.contains("measures v9"), "{}", good.stderr);

    // What is left of a day's budget of 20 ms doesn't pay for a version.
    let text = place.read("watch.toml").replace("4h", "0.02s");
    place.write("watch.toml", text);
    come(&place, 12, 99);
    let spent = watch(&place);
    spent.assert_code(0);
    assert!(!spent.stderr.contains("measures"), "{}", spent.stderr);
}

#[test]
fn a_file_with_a_fault_is_refused_with_its_place() {
    let place = place("");
    come(&place, 3, 99);
    let refused = |more: &str, says: &[&str]| {
        let text = format!("[job.main]\ntarget = \"app\"\nplan = \"plan.toml\"\n{more}");
        place.write("bad.toml", text);
        let ended = place.ends(&["watch", "bad.toml", "--once"]);
        ended.assert_code(2);
        ended.assert_says(says);
    };
    refused("", &["missing field `budget`"]);
    refused("budget = \"0s\"", &["nothing is measured"]);
    refused("budget = \"1h\"\nlook = \"soon\"", &["a line of crontab"]);
    refused(
        "budget = \"1h\"\nsentinel = [\"wrok\"]",
        &["no such benchmark", "work"],
    );
    refused("budget = \"1h\"\nsentinal = []", &["sentinal"]);
    refused(
        "budget = \"1h\"\n[job.\"../x\"]\ntarget = \"a\"\nplan = \"p\"\nbudget = \"1h\"",
        &["a job's name"],
    );
    let unknown = place.ends(&["watch", "--job", "mian"]);
    unknown.assert_code(2);
    unknown.assert_says(&["no job `mian`", "main"]);
    place.ends(&["watch", "none.toml"]).assert_code(2);
    place.write("watch.toml", "");
    place.ends(&["watch"]).assert_code(2);
    let since =
        "[job.main]\ntarget = \"app\"\nplan = \"plan.toml\"\nbudget = \"1h\"\nsince = \"v77\"\n";
    place.write("watch.toml", since);
    let ended = watch(&place);
    ended.assert_code(1);
    assert!(ended.stderr.contains("v77"), "{}", ended.stderr);
}
