//! `history` and `publish`: what a person sees of a target's versions. The store is filled with a made-up history.

use backsight_model::StudyState;
use backsight_store::{NewStudy, NewTarget, Store};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    place::{Place, is_root},
    running::{Ended, Running},
    stepping,
    verdicts::assert_has_schema,
};

#[path = "../../crates/site/examples/sample/stepped.rs"]
pub mod stepped;

use stepped::Extent;

/// A place whose store has the history.
pub fn with_history(extent: Extent) -> Place {
    let place = Place::new();
    fill(&place, extent);
    place
}

/// Makes the history up, in the store of the place.
fn fill(place: &Place, extent: Extent) {
    with_store(place, async |store| {
        stepped::fill(store, extent).await.unwrap();
    });
}

/// A place whose store has five versions that two testbeds measured, of which the second is a third faster.
pub fn with_testbeds() -> Place {
    let place = Place::new();
    let extent = Extent {
        versions: 30,
        boots: 2,
        trials: 3,
        metrics: 0,
    };
    with_store(&place, async |store| {
        for (testbed, speed, versions) in [
            ("old", 1.0, [0, 1, 2, 3, 4]),
            ("new", 4.0 / 3.0, [1, 2, 3, 4, 5]),
        ] {
            let made = stepped::add_study_on(store, testbed, speed, &versions, extent).await;
            made.unwrap();
        }
    });
    place
}

/// A place whose store has a short history and a bisection `odd` whose documents are lost.
pub fn with_unjudged() -> Place {
    let place = with_history(Extent {
        versions: 3,
        boots: 1,
        trials: 1,
        metrics: 0,
    });
    with_store(&place, async |store| {
        let study = NewStudy {
            name: "odd".parse().unwrap(),
            verb: "bisect".to_owned(),
            documents: Vec::new(),
            arguments: "{}".to_owned(),
            seed: 1,
            cells: Vec::new(),
            metrics: Default::default(),
            questions: Vec::new(),
            target: Some(NewTarget {
                name: "linux".parse().unwrap(),
                versions: Vec::new(),
                testbeds: Vec::new(),
            }),
        };
        let study = store.create_study(&study).await.unwrap();
        store.set_state(study, StudyState::Finished).await.unwrap();
    });
    place
}

/// Does something with the store of a place.
pub fn with_store(place: &Place, does: impl AsyncFnOnce(&Store)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::open(place.path("store")).await.unwrap();
        does(&store).await;
        store.close().await;
    });
}

fn name(version: usize) -> String {
    format!("6.1.{version}")
}

#[test]
fn a_history_is_told_with_its_change_and_with_what_could_not_be_measured() {
    let place = with_history(Extent::USUAL);
    let text = place.prints_of(&["history", "--metric", "tbench.throughput"]);
    // Lines are wrapped anywhere.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, step) = (name(Extent::USUAL.step() - 1), name(Extent::USUAL.step()));
    let change = format!("after {before}, at {step}: −9.99 %");
    assert!(words.contains(&change), "{text}");
    assert!(words.contains("worse, probability > 99.9 %"), "{text}");
    assert!(
        text.contains("MB/s, higher is better; 27 of 30 versions measured"),
        "{text}"
    );
    for (version, what) in [
        (0, "broken: make"),
        (1, "skipped: eats"),
        (2, "quirk: needs"),
        (3, "unbootable: Kernel panic"),
    ] {
        let line = format!("{} {what}", name(Extent::USUAL.broken() + version));
        assert!(text.contains(&line), "no `{line}` in {text}");
    }
    assert!(
        text.contains("3 layouts") && text.contains("▲") && text.contains('•'),
        "{text}"
    );
    assert!(
        !text.contains("latency") && !text.contains('\u{1b}'),
        "{text}"
    );
}

#[test]
fn a_history_as_json_has_everything_and_as_csv_a_line_for_each_version() {
    let place = with_history(Extent::USUAL);
    let json: Value =
        serde_json::from_str(&place.prints_of(&["history", "--target", "linux", "--json"]))
            .unwrap();
    assert_eq!(json["versions"].as_array().unwrap().len(), 30);
    assert_eq!(json["failed_trials"], 4);
    let series = json["series"].as_array().unwrap();
    assert_eq!(series.len(), 3);
    let throughput = &series[0];
    let changes = throughput["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{changes:#?}");
    assert_eq!(
        changes[0]["between"]["at"]["version"],
        name(Extent::USUAL.step())
    );
    assert_eq!(changes[0]["direction"], "worse");
    assert_eq!(changes[0]["believed"], true);
    let point = throughput["points"]
        .as_array()
        .unwrap()
        .iter()
        .find(|point| point["layouts"] == 3)
        .unwrap();
    assert_eq!(
        (point["boots"].as_u64(), point["trials"].as_u64()),
        (Some(6), Some(18))
    );
    assert!(point["relink"]["deviation"].as_f64().unwrap() > 0.0);
    let broken = &json["versions"][Extent::USUAL.broken()];
    assert_eq!(broken["standing"], "broken");

    let csv = place.prints_of(&["history", "--csv", "--benchmark", "hackbench"]);
    let lines: Vec<&str> = csv
        .lines()
        .filter(|line| line.starts_with("linux,hackbench"))
        .collect();
    assert_eq!(lines.len(), 30, "{csv}");
}

#[test]
fn a_trend_of_a_history_stands_in_its_csv() {
    let place = stepping::place();
    place.benchmark(
        "tool",
        "[tester]\nrun = \"sh {build}/tool\"\n[metric.time]\nunit = \"ms\"\nbetter = \"lower\"\nprimary = true\n\
         regex = '^(?<value>\\d+)'\n",
    );
    // Rises by 100 a version, with noise of a third of that.
    let values: Vec<i32> = (0..36)
        .map(|version: i32| 30_000 + 100 * version + (version * version * 37) % 101 - 50)
        .collect();
    stepping::commits(&place, &values);
    place
        .ends(&stepping::step(
            "v1",
            "v36",
            &["--name", "s", "--repeat", "1"],
        ))
        .assert_code(0);
    let json: Value = serde_json::from_str(&place.prints_of(&["history", "--json"])).unwrap();
    let trend = &json["series"][0]["trend"];
    let size = trend["size"].as_f64().expect("a trend");
    assert!((3_200.0..3_800.0).contains(&size), "{trend}");

    let csv = place.prints_of(&["history", "--csv"]);
    let rows: Vec<Vec<&str>> = csv.lines().map(|row| row.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let of = |row: &[&str], name: &str| row[column(name)].parse::<f64>().unwrap();
    assert_eq!(rows.len(), 1 + 36);
    for row in &rows[1..] {
        let interval = &trend["size_interval"];
        let ends = [interval[0].as_f64().unwrap(), interval[1].as_f64().unwrap()];
        assert_eq!(of(row, "trend_size"), size);
        assert_eq!([of(row, "trend_low"), of(row, "trend_high")], ends);
        assert_eq!(of(row, "trend_p"), trend["p"].as_f64().unwrap());
        assert_eq!(row[column("pending")], "");
    }
    let line: Vec<f64> = rows[1..].iter().map(|row| of(row, "trend")).collect();
    assert!(
        line.is_sorted() && (line[35] - line[0] - size).abs() < 1e-6,
        "{line:?}"
    );
}

#[test]
fn what_nothing_has_measured_is_refused_with_a_way_out() {
    let place = with_history(Extent {
        versions: 6,
        boots: 1,
        trials: 1,
        metrics: 0,
    });
    for (arguments, help) in [
        (["--metric", "troughput"], "did you mean `throughput`?"),
        (
            ["--metric", "tbench.latencies"],
            "did you mean `tbench.latency`?",
        ),
        (["--benchmark", "hackbnch"], "did you mean `hackbench`?"),
        (["--target", "linus"], "did you mean `linux`?"),
    ] {
        let ended = place.ends(&[&["history"], &arguments[..]].concat());
        ended.assert_code(2);
        assert!(ended.stderr.contains(help), "{}", ended.stderr);
    }
}

#[test]
fn a_store_without_a_history_says_how_to_get_one() {
    let place = Place::new();
    place.prints("quick", "echo 1");
    place.plan("rounds = 1\nuse = [\"quick\"]\n");
    place.prints_of(&["run", "plan.toml", "--name", "one"]);
    let ended = place.ends(&["history"]);
    ended.assert_code(2);
    assert!(ended.stderr.contains("backsight step"), "{}", ended.stderr);
}

/// All pages of a published site.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(pages(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            all.push(path);
        }
    }
    all
}

#[test]
fn a_site_is_published_and_publishing_it_again_writes_nothing() {
    let place = with_history(Extent {
        versions: 12,
        boots: 1,
        trials: 2,
        metrics: 0,
    });
    let first = place.prints_of(&["publish", "site"]);
    assert!(first.contains("0 unchanged, 0 removed"), "{first}");
    let second = place.prints_of(&["publish", "site", "--target", "linux"]);
    assert!(
        second.contains(" 0 files written") && second.contains(" 0 removed"),
        "{second}"
    );
    let other = place.prints_of(&["history", "--page", "other"]);
    assert!(other.starts_with("other/index.html: "), "{other}");
    let index = place.read("site/index.html");
    assert!(
        index.contains(">linux</a>") && index == place.read("other/index.html"),
        "{index}"
    );
    place.prints_of(&["delete", "weekly-1"]);
    let third = place.prints_of(&["publish", "site"]);
    assert!(!third.contains(" 0 removed"), "{third}");
    assert!(
        pages(&place.path("site"))
            .iter()
            .all(|page| !page.to_str().unwrap().contains("studies/weekly-1/"))
    );
}

#[test]
fn a_publisher_that_is_killed_leaves_whole_pages_and_the_next_one_goes_on() {
    let place = with_history(Extent {
        versions: 30,
        boots: 2,
        trials: 2,
        metrics: 0,
    });
    let running = Running::start(place.command(&["publish", "site"]));
    crate::processes::until("there is a page", || !pages(&place.path("site")).is_empty());
    running.after_sigkill();
    for page in pages(&place.path("site")) {
        let text = fs::read_to_string(&page).unwrap();
        assert!(
            text.trim_end().ends_with("</html>"),
            "{} is cut",
            page.display()
        );
    }
    place.prints_of(&["publish", "site"]);
    place.prints_of(&["publish", "whole"]);
    let names = |site: &str| -> Vec<(PathBuf, Vec<u8>)> {
        let root = place.path(site);
        let mut pages: Vec<_> = pages(&root)
            .into_iter()
            .map(|page| {
                (
                    page.strip_prefix(&root).unwrap().to_owned(),
                    fs::read(&page).unwrap(),
                )
            })
            .collect();
        pages.sort();
        pages
    };
    assert_eq!(names("site"), names("whole"));
}

#[test]
fn a_folder_with_files_of_others_is_not_published_into() {
    let place = with_history(Extent {
        versions: 2,
        boots: 1,
        trials: 1,
        metrics: 0,
    });
    let ended = place.ends(&["publish", "benchmarks/.."]);
    ended.assert_code(2);
    assert!(ended.words().contains("hasn't written"), "{}", ended.stderr);
    assert!(!place.path("index.html").exists());
}

#[test]
fn what_step_has_measured_is_a_history_and_its_pages_have_the_commits() {
    let place = stepping::place();
    stepping::commits(&place, &[40, 40, 40, 80, 80, 80]);
    place.prints_of(&stepping::step("v1", "v6", &[]));
    let text = place.prints_of(&["history", "--target", "app"]);
    assert!(text.contains("after v3, at v4: +9"), "{text}");
    place.prints_of(&["publish", "site"]);
    let ranges: Vec<String> = pages(&place.path("site"))
        .iter()
        .filter(|page| page.parent().unwrap().ends_with("compare"))
        .map(|page| fs::read_to_string(page).unwrap())
        .collect();
    assert_eq!(ranges.len(), 5);
    for (number, name) in (2..).zip(["v2", "v3", "v4", "v5", "v6"]) {
        let own = ranges
            .iter()
            .find(|page| page.contains(&format!("to {name}</h1>")));
        let own = own.unwrap_or_else(|| panic!("no range up to {name}"));
        assert!(
            own.contains(&format!("version {number}")) && own.contains("1 change by 1 author"),
            "{own}"
        );
        assert!(
            own.contains(">speed</td>") && own.contains("class=\"add\""),
            "{own}"
        );
    }
    // What lies between versions is asked of the history once, and kept.
    let kept: Vec<PathBuf> = fs::read_dir(place.path("store/targets/app/between"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(kept.len(), 5);
    for file in &kept {
        let text = fs::read_to_string(file).unwrap();
        fs::write(file, text.replace("version 3", "as it was kept")).unwrap();
    }
    place.prints_of(&["publish", "site"]);
    let root = place.path("site");
    let retold = pages(&root)
        .into_iter()
        .filter(|page| fs::read_to_string(page).unwrap().contains("as it was kept"))
        .map(|page| page.strip_prefix(&root).unwrap().to_owned());
    let mut retold: Vec<PathBuf> = retold.collect();
    retold.sort();
    let expected = ["app/c/v3.html", "app/compare/v2..v3.html"].map(PathBuf::from);
    assert_eq!(retold, expected, "the interval, and what changed in it");
    place.prints_of(&["delete", "step-1"]);
    place.prints_of(&step_of_two());
    place.prints_of(&["publish", "site"]);
    assert!(kept.iter().all(|file| !file.exists()));
}

/// Of the first and the last version: one interval, which wasn't one before.
fn step_of_two() -> Vec<&'static str> {
    stepping::step("v1", "v6", &["--every", "5 commits"])
}

/// A place whose tool prints these counts of instructions, version by version, and the version's number behind the point.
fn counted(counts: &[i32]) -> Place {
    let place = stepping::place();
    place.benchmark(
        "tool",
        "[tester]\nrun = \"sh {build}/tool\"\n[metric.count]\nunit = \"instructions\"\nbetter = \"lower\"\n\
         simulated = true\nregex = '^(?<value>\\d+)'\n",
    );
    stepping::commits(&place, counts);
    place
        .ends(&stepping::step("v1", "v5", &["--name", "s"]))
        .assert_code(0);
    place
}

#[test]
fn counts_of_a_simulator_change_exactly_where_they_differ_and_every_page_says_what_they_are() {
    let place = counted(&[828, 828, 1028, 828, 828]);
    let text = place.prints_of(&["history"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "instructions, lower is better, counted by a simulator; 5 of 5 versions measured",
        "after v2, at v3: +24.2 %, from 828 to 1028 instructions, worse, all alike on either side",
        "after v3, at v4: −19.5 %, from 1028 to 828 instructions, better, all alike on either side",
        "Counted by a simulator: repeats agree by construction, and say nothing of another layout",
        "by the noise of the repeats of all of them together",
    ] {
        assert!(words.contains(said), "no `{said}` in {text}");
    }
    assert!(
        !text.contains("NaN") && !text.contains("probability"),
        "{text}"
    );

    let json: Value = serde_json::from_str(&place.prints_of(&["history", "--json"])).unwrap();
    let series = &json["series"][0];
    assert_eq!(series["simulator"], "program");
    let changes = series["changes"].as_array().unwrap();
    let places: Vec<&Value> = changes
        .iter()
        .map(|change| &change["between"]["at"]["id"])
        .collect();
    assert_eq!(places, [2, 3].map(|at| &json["versions"][at]["id"]));
    for change in changes {
        assert_eq!(change["alike"], true);
        assert_eq!(change["believed"], true);
        for unknown in ["size_interval", "percent_interval", "p", "probability"] {
            assert!(change[unknown].is_null(), "{change:#}");
        }
    }
    for point in series["points"].as_array().unwrap() {
        assert_eq!(point["alike"], true);
        assert!(point["interval"].is_null(), "{point:#}");
        assert_eq!(point["again"]["deviation"], 0.0);
    }
    let csv = place.prints_of(&["history", "--csv"]);
    let lines = csv
        .lines()
        .skip(1)
        .filter(|line| line.contains(",program,true,"));
    assert_eq!(lines.count(), 5, "{csv}");

    place.prints_of(&["publish", "site"]);
    let pages = pages(&place.path("site"));
    let pages: Vec<String> = pages
        .iter()
        .map(|page| fs::read_to_string(page).unwrap())
        .collect();
    // The target's page, that of each version, and those that compare the versions between which it changed.
    let saying = pages
        .iter()
        .filter(|page| page.contains("counted by a simulator"));
    assert_eq!(saying.count(), 8);
    assert!(pages.iter().all(|page| !page.contains("NaN")));
}

#[test]
fn counts_of_a_simulator_that_are_all_alike_hold_no_change() {
    let place = counted(&[828; 5]);
    let text = place.prints_of(&["history"]);
    assert!(text.contains("No change of level was found."), "{text}");
    for wrong in ["▲", "NaN", "inf", "wasn't believed"] {
        assert!(!text.contains(wrong), "`{wrong}` in {text}");
    }
    let json: Value = serde_json::from_str(&place.prints_of(&["history", "--json"])).unwrap();
    assert_eq!(json["series"][0]["changes"].as_array().unwrap().len(), 0);
    assert!(json["series"][0]["doubted"].is_null());
}

/// A version is named as for `bisect`, who accepts needs no variable, and the repository may be somebody else's.
#[test]
fn a_change_is_accepted_by_what_the_history_calls_it_by_a_user_without_a_name() {
    let place = stepping::place();
    stepping::commits(&place, &[10, 20, 20]);
    place.ends(&stepping::step("v1", "v3", &[])).assert_code(0);
    if is_root() {
        let given = std::process::Command::new("chown")
            .args(["-R", "65534", &place.at("repo")])
            .status();
        assert!(given.unwrap().success());
    }
    let mut accept = place.command(&["accept", "HEAD~1", "--reason", "it is safer"]);
    accept.env_remove("USER").env_remove("LOGNAME");
    let accepted = Running::start(accept).ends();
    accepted.assert_code(0);
    accepted.assert_says(&["v2", "it is safer"]);
    let user = std::process::Command::new("id")
        .arg("-un")
        .output()
        .unwrap();
    let user = String::from_utf8(user.stdout).unwrap();
    accepted.assert_says(&[user.trim()]);
    let unknown = place.ends(&["accept", "HEAD~7", "--reason", "x"]);
    unknown.assert_code(2);
    unknown.assert_says(&["no study of the target knows a version HEAD~7"]);

    // A second target: everything is listed, and who accepts says of which.
    let other = place.read("app.toml").replace("\"app\"", "\"other\"");
    place.write("other.toml", other);
    let mut second = stepping::step("v3", "v3", &[]);
    second[3] = "other";
    place.ends(&second).assert_code(0);
    let listed = place.prints_of(&["accept", "--list"]);
    for words in ["v2", "nothing is accepted along the history of other"] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    let which = place.ends(&["accept", "v3", "--reason", "x"]);
    which.assert_code(2);
    which.assert_says(&["--target"]);
}

#[test]
fn one_change_of_several_metrics_is_one_alert_that_is_triaged_by_any_version_that_it_may_lie_at() {
    let place = with_history(Extent::USUAL);
    let (before, step) = (name(Extent::USUAL.step() - 1), name(Extent::USUAL.step()));
    let alerts = |more: &[&str]| -> Vec<Value> {
        let told = place.prints_of(&[&["alerts", "--json"], more].concat());
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_has_schema("alerts", &told);
        told["alerts"].as_array().unwrap().clone()
    };
    let all = alerts(&[]);
    let first = &all[0];
    assert_eq!(first["name"], *step);
    assert_eq!(first["kind"], "worse");
    assert_eq!(first["state"], "new");
    assert_eq!(first["between"]["after"]["version"], *before);
    let sentence = first["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("tbench throughput ") && sentence.contains("−9.99 %"),
        "{sentence}"
    );
    let believed: Value =
        serde_json::from_str(&place.prints_of(&["history", "--target", "linux", "--json"]))
            .unwrap();
    let believed = believed["series"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|series| {
            series["changes"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|it| it["believed"] == true)
        });
    let members: usize = all
        .iter()
        .map(|it| it["members"].as_array().unwrap().len())
        .sum();
    assert_eq!(members, believed.count());

    // What is said is told with who says it, hostile or not; the last counts.
    let triage = |state: &str, note: &str| {
        let said = [
            "triage", "linux", &step, state, "--by", "Ann", "--note", note,
        ];
        place.ends(&said)
    };
    triage("investigating", "").assert_code(0);
    triage("confirmed", "spilling \u{1b}[31m").assert_code(0);
    let confirmed = alerts(&["--state", "confirmed"]);
    assert_eq!(confirmed.len(), 1);
    assert_eq!(confirmed[0]["by"], "Ann");
    assert_eq!(confirmed[0]["note"], "spilling \u{1b}[31m");
    assert_eq!(alerts(&["--state", "new"]).len(), all.len() - 1);
    let listed = place.prints_of(&["alerts", "--target", "linux"]);
    assert!(
        listed.contains("confirmed") && listed.contains("Ann"),
        "{listed}"
    );
    assert!(!listed.contains('\u{1b}'), "{listed}");

    let nowhere = place.ends(&["triage", "linux", &name(0), "invalid", "--by", "Ann"]);
    nowhere.assert_code(2);
    nowhere.assert_says(&["no alert lies at"]);
    let accepted = triage("accepted", "");
    accepted.assert_code(2);
    accepted.assert_says(&["backsight accept"]);
    let accept = ["accept", &step, "--reason", "safer", "--by", "Bob"];
    place.ends(&accept).assert_code(0);
    let accepted = alerts(&["--state", "accepted"]);
    assert_eq!(accepted[0]["by"], "Bob");
    assert_eq!(accepted[0]["note"], "safer");
}

#[test]
fn an_accepted_change_stays_in_the_history_and_is_no_reason_for_alarm() {
    let place = with_history(Extent::USUAL);
    let step = name(Extent::USUAL.step());
    let status = |more: &[&str]| {
        let shown = ["history", "--metric", "tbench.throughput"];
        place.ends(&[&shown[..], more].concat())
    };
    status(&[]).assert_code(0);
    status(&["--fail-on", "worse"]).assert_code(1);

    let nameless = place.ends(&["accept", "6.9.9", "--reason", "x"]);
    nameless.assert_code(2);
    nameless.assert_says(&["no study of the target knows a version 6.9.9"]);
    place.ends(&["accept", &step]).assert_code(2);
    let over = ["accept", &step, "--reason", "x", "--until", "2001-01-31"];
    place.ends(&over).assert_says(&["it would be over already"]);
    let other = [
        "accept",
        &step,
        "--reason",
        "x",
        "--metric",
        "tbench.colour",
    ];
    place
        .ends(&other)
        .assert_says(&["nothing has measured a metric"]);
    status(&["--fail-on", "worse"]).assert_code(1);

    // A hostile reason is just text.
    let reason = "safer <b>now</b> \u{1b}[31m";
    let accept = [
        "accept",
        &step,
        "--reason",
        reason,
        "--by",
        "Ann",
        "--work-around",
        "mitigations=off",
        "--until",
        "2130-01-31",
        "--metric",
        "tbench.throughput",
    ];
    let accepted = place.ends(&accept);
    accepted.assert_code(0);
    accepted.assert_says(&["accepted: what", &step]);
    assert!(!accepted.stdout().contains('\u{1b}'));
    let quiet = status(&["--fail-on", "worse"]);
    quiet.assert_code(0);
    let words = quiet
        .stdout()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        words.contains("accepted by Ann until 2130-01-31: safer <b>now</b>"),
        "{words}"
    );
    assert!(words.contains("(work-around: mitigations=off)"), "{words}");
    let json: Value = serde_json::from_slice(&status(&["--json"]).bytes).unwrap();
    let changes = json["series"][0]["changes"].as_array().unwrap();
    assert!(
        changes.iter().any(
            |change| change["accepted"]["by"] == "Ann" && change["accepted"]["lapsed"] == false
        )
    );

    place.prints_of(&["publish", "site"]);
    let pages: String = pages(&place.path("site"))
        .iter()
        .map(|page| fs::read_to_string(page).unwrap())
        .collect();
    assert!(pages.contains("change accepted"));
    assert!(pages.contains("accepted by Ann") && !pages.contains("safer <b>"));

    assert!(
        place
            .prints_of(&["accept", "--list"])
            .contains("mitigations=off")
    );
    place
        .ends(&["accept", &step, "--withdraw"])
        .assert_says(&["nothing was accepted"]);
    let withdraw = [
        "accept",
        &step,
        "--withdraw",
        "--metric",
        "tbench.throughput",
    ];
    place.ends(&withdraw).assert_code(0);
    status(&["--fail-on", "worse"]).assert_code(1);
}

/// A place with versions `v1` to `v4` of a target, and two benchmarks: one prints what the version says, the other fails where
/// there is a file `fails`.
fn gated() -> Place {
    let place = stepping::place();
    place.prints("other", "test ! -e @/fails && echo 7");
    place.plan("use = [\"tool\", \"other\"]\nrounds = 2\nseed = 1\n");
    stepping::commits(&place, &[10, 10, 10, 10]);
    place
}

fn gate(place: &Place, what: &[&str]) -> Ended {
    place.ends(&[&["history", "--fail-on"], what].concat())
}

#[test]
fn a_gate_for_gaps_is_quiet_where_there_is_none() {
    let place = gated();
    place.ends(&stepping::step("v1", "v4", &[])).assert_code(0);
    for what in ["broken", "missing", "stale", "broken,missing,stale"] {
        gate(&place, &[what]).assert_code(0);
    }
    // The versions are years old: that is stale where somebody says when.
    let ended = gate(&place, &["stale", "--stale-after", "1w"]);
    ended.assert_code(1);
    ended.assert_says(&[
        "stale: tool value: the newest measured version is v4, of 2024-03-01",
        "stale: other value: the newest measured version is v4, of 2024-03-01",
    ]);
    gate(&place, &["stale", "--stale-after", "99999d"]).assert_code(0);
    let ended = gate(&place, &["broken", "--stale-after", "1w"]);
    ended.assert_code(2);
    ended.assert_says(&["--fail-on stale --stale-after 3d"]);
    gate(&place, &["rotten"]).assert_code(2);
}

#[test]
fn a_newest_version_that_does_not_build_is_broken_and_what_was_measured_before_it_stale() {
    let place = gated();
    stepping::commit(&place, 5, -1);
    place.ends(&stepping::step("v1", "v5", &[])).assert_code(1);
    let ended = gate(&place, &["broken"]);
    ended.assert_code(1);
    ended.assert_says(&["broken: the newest version, v5, doesn't build"]);
    let ended = gate(&place, &["stale"]);
    ended.assert_code(1);
    ended.assert_says(&[
        "stale: tool value: the newest measured version is v4, and v5 is known",
        "stale: other value: the newest measured version is v4, and v5 is known",
    ]);
    gate(&place, &["missing"]).assert_code(0);
    let ended = gate(&place, &["broken,missing,stale"]);
    ended.assert_code(1);
    ended.assert_says(&["broken: the newest version", "stale: tool value"]);
    // A version that builds again makes it good.
    stepping::commit(&place, 6, 10);
    place.ends(&stepping::step("v6", "v6", &[])).assert_code(0);
    gate(&place, &["broken,missing,stale"]).assert_code(0);
}

#[test]
fn a_benchmark_that_fails_on_the_newest_version_is_broken_and_one_that_never_ran_missing() {
    let place = gated();
    place.ends(&stepping::step("v1", "v3", &[])).assert_code(0);
    place.write("fails", "");
    place.ends(&stepping::step("v4", "v4", &[])).assert_code(1);
    let ended = gate(&place, &["broken"]);
    ended.assert_code(1);
    ended.assert_says(&["broken: every trial of other failed on v4"]);
    gate(&place, &["missing"]).assert_code(0);

    let never = gated();
    never.write("fails", "");
    never.ends(&stepping::step("v1", "v4", &[])).assert_code(1);
    let ended = gate(&never, &["missing"]);
    ended.assert_code(1);
    ended.assert_says(&["missing: nothing was measured of other"]);
    assert!(
        !ended.words().contains("nothing was measured of tool"),
        "{}",
        ended.words()
    );
    // Which of them is asked about is what counts.
    gate(&never, &["missing", "--benchmark", "tool"]).assert_code(0);
}

/// The files below a folder with their contents.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        match path.is_dir() {
            true => {
                let below = contents(&path).into_iter();
                all.extend(below.map(|(file, content)| (name.join(file), content)));
            }
            false => drop(all.insert(name, fs::read(&path).unwrap())),
        }
    }
    all
}

#[test]
fn publishing_again_makes_what_publishing_anew_makes_whatever_has_changed() {
    let extent = Extent {
        versions: 14,
        boots: 1,
        trials: 2,
        metrics: 0,
    };
    let place = with_history(extent);
    place.prints_of(&["publish", "site"]);
    let study = |name: &str, versions: &[usize], extent: Extent| {
        with_store(&place, async |store| {
            let added = stepped::add_study(store, "linux", name, versions, extent).await;
            added.unwrap();
        });
    };
    let command = |arguments: &[&str]| drop(place.prints_of(arguments));
    let older = Extent {
        versions: 20,
        ..extent
    };
    let step = name(extent.step());
    let changes: [(&str, &dyn Fn()); 8] = [
        ("nothing", &|| ()),
        ("a new version", &|| study("new", &[14], extent)),
        ("a version measured again", &|| study("again", &[2], extent)),
        // Another extent has its quirk at another version.
        ("a quirk", &|| study("quirk", &[older.broken() + 2], older)),
        ("triage", &|| {
            command(&["triage", "linux", &step, "confirmed", "--by", "Ann"]);
        }),
        ("an acceptance", &|| {
            command(&["accept", &step, "--reason", "safer", "--by", "Bob"]);
        }),
        ("outputs pruned", &|| {
            place.write("store/keep.toml", "[keep]\noutputs = \"4 weeks\"\n");
            command(&["prune"]);
        }),
        ("a study deleted", &|| command(&["delete", "again"])),
    ];
    for (what, change) in changes {
        change();
        command(&["publish", "site"]);
        let anew = what.replace(' ', "-");
        command(&["publish", &anew]);
        let [again, anew] = ["site", &anew].map(|folder| contents(&place.path(folder)));
        for (file, content) in &anew {
            let file_again = again.get(file);
            assert!(file_again == Some(content), "{what}: {}", file.display());
        }
        assert_eq!(again.len(), anew.len(), "{what}");
    }
    place.assert_nothing_left();
}

#[test]
fn a_report_on_a_history_has_a_bar_for_each_version() {
    let place = with_history(Extent {
        versions: 8,
        boots: 1,
        trials: 2,
        metrics: 0,
    });
    place.prints_of(&["report", "weekly-1", "-o", "report.html"]);
    let page = fs::read_to_string(place.path("report.html")).unwrap();
    // Version 6.1.2 isn't built.
    assert!(
        page.contains("3 versions of linux measured; a bar each."),
        "{page}"
    );
    assert!(page.contains("backsight history --target linux"), "{page}");
    for version in ["6.1.0", "6.1.4", "6.1.6"] {
        assert!(
            page.contains(&format!(">{version}</text>")),
            "{version}: {page}"
        );
    }
}
