//! What goes along with a change: made-up changes of a real program are named, and where nothing changed nothing is.

use backsight_test_needs::Need;
use serde_json::Value;
use std::process::Command;

use crate::{
    place::Place,
    stepping::{commit_all, git, step},
    verdicts::assert_has_schema,
};

/// Works for a while on one processor; `fault` touches new pages in each of its rounds, `call` makes a system call.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile unsigned long sink;
int main(int count, char **words) {
    struct rusage used;
    for (int round = 0; round < 3000; round++) {
        for (int i = 0; i < 100000; i++)
            sink += i * 7;
        for (int i = 0; i < 8 && !strcmp(words[1], "fault"); i++) {
            char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            *page = 1;
            munmap(page, 4096);
        }
        if (!strcmp(words[1], "call"))
            syscall(SYS_getppid);
    }
    /* Processor time: other programs of this machine take none of it away. */
    getrusage(RUSAGE_SELF, &used);
    printf("value %f\n", used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    return count < 2;
}
"#;

/// A place with the program as a benchmark, whose parameter `how` says what it does.
fn working() -> Place {
    let place = Place::new();
    place.write("work.c", PROGRAM);
    let compiled = Command::new("cc")
        .args(["-O1", "-o", &place.at("work"), &place.at("work.c")])
        .status()
        .unwrap();
    assert!(compiled.success());
    place.write(
        "benchmarks/work.toml",
        format!(
            "name = 'work'\nabout = 'x'\nroles = ['tester']\n[params]\nhow = {{ default = 'base', about = 'x' }}\n\
             [tester]\nrun = '{} {{how}}'\n[metric.time]\nunit = 's'\nbetter = 'lower'\nregex = 'value (?<value>[\\d.]+)'\n",
            place.at("work")
        ),
    );
    place
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    let printed = place.prints_of(&[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&printed).unwrap()
}

#[test]
fn page_faults_that_were_added_are_named_before_all_else() {
    let place = working();
    place.plan("use = ['work']\nrounds = 6\n[params]\nhow = ['base', 'fault']\n");
    let run = ["run", "plan.toml", "--name", "s", "--monitors"];
    let ended = place.ends(&[&run[..], &["cpu,memory,perf,processes"]].concat());
    ended.assert_code(0);

    let explained = json(&place, &["explain", "s", "--by", "how"]);
    let change = &explained["changes"][0];
    assert_eq!(change["call"], "worse", "{explained}");
    let first = &change["goes_along"][0];
    assert!(
        first["name"].as_str().unwrap().contains("faults"),
        "{explained}"
    );
    assert_eq!(first["basis"], "per-work");
    assert!(first["score"].as_f64().unwrap() > 0.5, "{first}");
    let text = place.prints_of(&["explain", "s", "--by", "how"]);
    assert!(text.contains("goes along best"), "{text}");
    assert!(text.contains("To go along isn't to cause"), "{text}");

    // The same change as a table, the largest first; without being asked for it has none of it.
    let compared = json(&place, &["compare", "s", "--by", "how", "--monitors"]);
    let rows = compared["rows"].as_array().unwrap();
    let faults = rows
        .iter()
        .find(|row| row["metric"] == "processes.minor-faults");
    let side = &faults.unwrap()["sides"][1];
    assert_eq!(side["difference"]["verdict"], "changed", "{side}");
    let plain = place.prints_of(&["compare", "s", "--by", "how", "--fail-on", "never"]);
    assert!(
        plain.contains("metrics of monitors; --monitors compares them"),
        "{plain}"
    );
    assert!(!plain.contains("minor-faults"), "{plain}");
    place.assert_nothing_left();
}

/// The functions that are linked before and after the one that becomes slower, in files of their own.
const WORK: &str = "unsigned long rounds;\nint work(int n) { int sum = 0; for (int i = 0; i < 20; i++) { rounds++; sum += i * n; } return sum; }\n";
const SLOWER: &str = "unsigned long rounds;\nint work(int n) {\n    int sum = 0;\n    for (int i = 0; i < 20; i++) { rounds++; sum += i * n; }\n\
     for (int i = 0; i < 10; i++) { rounds++; sum ^= i * n; }\n    return sum;\n}\n";
const REST: &str = "static int table[64];\nint rest(int n) { table[n & 63] += n; return table[n & 31]; }\nint other(int n) { return rest(n) + rest(n + 1); }\n";
// What varies is the clock: numbers of processes go up from trial to trial, and so does what is made of them.
const MAIN: &str = r#"
#include <stdio.h>
#include <time.h>
extern unsigned long rounds;
int work(int), other(int);
int main(void) {
    int sum = 0;
    struct timespec now;
    for (int i = 0; i < 1000; i++) sum += work(i) + other(i);
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%lu %s\n", rounds + now.tv_nsec / 7 % 100, sum ? "" : "none");
    return 0;
}
"#;

/// A place with a target of eight commits, of which the fifth makes `work` slower.
fn slower_function() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("repo")).unwrap();
    git(&place, &["init", "--quiet", "--initial-branch=main"], 0);
    place.benchmark(
        "app",
        "[tester]\nrun = \"{build}/app\"\n[metric.rounds]\nunit = \"count\"\nbetter = \"lower\"\nregex = '(?<value>\\d+)'\n",
    );
    place.plan("use = [\"app\"]\nrounds = 3\nseed = 1\n");
    let build = "cc -O1 -o app work.c rest.c main.c && cp README app.txt";
    place.write(
        "app.toml",
        format!(
            "name = \"app\"\nsource = {{ git = {{ url = \"repo\" }} }}\n\
             build = {{ run = \"{build}\", keep = [\"app\", \"app.txt\"], timeout = \"60s\" }}\n"
        ),
    );
    place.write("repo/rest.c", REST);
    place.write("repo/main.c", MAIN);
    for version in 1..=8 {
        place.write("repo/README", format!("version {version}\n"));
        let work = if version < 5 { WORK } else { SLOWER };
        place.write("repo/work.c", work);
        commit_all(&place, version);
    }
    place
}

/// Name and change of the functions with other code.
fn changed_functions(change: &Value) -> Vec<(&str, &str)> {
    let programs = change["code"]["programs"].as_array().unwrap();
    assert_eq!(programs.len(), 1, "{change}");
    assert_eq!(programs[0]["path"], "app");
    let functions = programs[0]["functions"].as_array().unwrap().iter();
    functions
        .map(|it| (it["name"].as_str().unwrap(), it["change"].as_str().unwrap()))
        .collect()
}

#[test]
fn the_function_whose_code_changed_is_named_and_none_that_only_moved() {
    let place = slower_function();
    let bisect = [
        "bisect",
        "plan.toml",
        "--target",
        "app",
        "--good",
        "v3",
        "--bad",
        "v6",
        "--trials",
        "3",
        "--name",
        "b",
        "--no-verify",
    ];
    place.ends(&bisect).assert_code(0);
    let explained = json(&place, &["explain", "b"]);
    let change = &explained["changes"][0];
    assert_eq!(change["versions"][0]["name"], "v5", "{explained}");
    assert_eq!(
        changed_functions(change),
        [("work", "changed")],
        "{explained}"
    );
    let files: Vec<_> = change["files"].as_array().unwrap().iter().collect();
    let paths: Vec<_> = files.iter().map(|file| &file["path"]).collect();
    assert_eq!(paths, ["work.c", "README"], "{explained}");
    assert_eq!(files[0]["added"], 6, "{explained}");
    let program = &change["code"]["programs"][0];
    assert!(
        program["text_new"].as_u64() > program["text_base"].as_u64(),
        "{program}"
    );
    let text = place.prints_of(&["explain", "b"]);
    assert!(
        text.contains("1 function has other machine code in v5 than in v4"),
        "{text}"
    );
    assert!(text.contains("Files that changed from v4 to v5"), "{text}");

    // A build that was removed to make room is said to be gone.
    std::fs::remove_dir_all(place.path("store/targets/app/builds")).unwrap();
    let explained = json(&place, &["explain", "b"]);
    assert_eq!(explained["changes"][0]["code"], Value::Null);
    let notes = explained["notes"].to_string();
    assert!(
        notes.contains("the build of v4 isn't kept any more"),
        "{notes}"
    );
}

#[test]
fn a_system_call_that_was_added_is_named_even_if_the_time_tells_nothing() {
    let place = working();
    place.plan("use = ['work']\nrounds = 4\n[params]\nhow = ['base', 'call']\n");
    let run = ["run", "plan.toml", "--name", "s", "--monitors", "syscalls"];
    place.ends(&run).assert_code(0);
    let explained = json(&place, &["explain", "s", "--by", "how"]);
    let first = &explained["changes"][0]["goes_along"][0];
    assert_eq!(first["name"], "getppid.calls", "{explained}");
    assert_eq!(first["base"], 0.0);
    assert_eq!(first["new"], 3000.0);
    if explained["changes"][0]["is_told"] == false {
        let text = place.prints_of(&["explain", "s", "--by", "how"]);
        assert!(
            text.contains("not told to differ, but what programs did does"),
            "{text}"
        );
    }
}

#[test]
fn a_step_explains_the_changes_that_it_found() {
    let place = slower_function();
    let all = step("v1", "v8", &["--name", "s"]);
    place.ends(&all).assert_code(0);
    let explained = json(&place, &["explain", "s"]);
    let changes = explained["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{explained}");
    let change = &changes[0];
    let sides = (change["base"].as_str(), change["new"].as_str());
    assert_eq!(sides, (Some("v1..v4"), Some("v5..v8")), "{explained}");
    assert_eq!(
        changed_functions(change),
        [("work", "changed")],
        "{explained}"
    );
    let at = json(&place, &["explain", "s", "--at", "v5"]);
    assert_eq!(at["changes"], explained["changes"]);

    let place = slower_function();
    let before = step("v1", "v4", &["--name", "s"]);
    place.ends(&before).assert_code(0);
    let text = place.prints_of(&["explain", "s"]);
    assert!(text.contains("s found no change"), "{text}");
}

#[test]
fn what_goes_along_over_the_whole_history_has_its_correlation_there() {
    let place = working();
    std::fs::create_dir(place.path("repo")).unwrap();
    git(&place, &["init", "--quiet", "--initial-branch=main"], 0);
    let copy = format!("cp {} . && cp how kept", place.at("work"));
    place.write(
        "app.toml",
        format!(
            "name = \"app\"\nsource = {{ git = {{ url = \"repo\" }} }}\n\
             build = {{ run = \"{copy}\", keep = [\"work\", \"kept\"], timeout = \"60s\" }}\n"
        ),
    );
    place.benchmark(
        "app",
        "[tester]\nrun = \"sh {build}/kept {build}/work\"\n[metric.time]\nunit = \"s\"\nbetter = \"lower\"\n\
         regex = 'value (?<value>[\\d.]+)'\n",
    );
    place.plan("use = [\"app\"]\nrounds = 3\nseed = 1\nmonitors = [\"processes\"]\n");
    for version in 1..=6 {
        let how = if version < 4 { "base" } else { "fault" };
        place.write("repo/how", format!("# {version}\nexec \"$1\" {how}\n"));
        commit_all(&place, version);
    }
    let all = step("v1", "v6", &["--name", "s"]);
    place.ends(&all).assert_code(0);
    let explained = json(&place, &["explain", "s", "--at", "v4"]);
    let along = explained["changes"][0]["goes_along"].as_array().unwrap();
    let faults = along
        .iter()
        .find(|it| it["name"] == "processes.minor-faults")
        .unwrap();
    let over = &faults["over_versions"];
    assert_eq!(over["versions"], 6, "{explained}");
    assert!(
        over["partial_correlation"].as_f64().unwrap() > 0.8,
        "{over}"
    );
    // The same program in another version's build.
    let program = &explained["changes"][0]["code"]["programs"][0];
    assert_eq!(program["functions"], Value::Array(Vec::new()), "{program}");
    let text = place.prints_of(&["explain", "s", "--at", "v4"]);
    assert!(text.contains("over versions"), "{text}");
}

#[test]
fn where_nothing_changed_there_is_nothing_to_explain() {
    let place = working();
    place.plan("use = ['work']\nrounds = 5\n");
    for name in ["one", "other"] {
        let run = [
            "run",
            "plan.toml",
            "--name",
            name,
            "--monitors",
            "processes",
        ];
        place.ends(&run).assert_code(0);
    }
    let explained = json(&place, &["explain", "one", "other"]);
    // A change of a tenth of nothing may be called one in twenty times, and so may something that goes along: neither is sure.
    for change in explained["changes"].as_array().unwrap() {
        for along in change["goes_along"].as_array().unwrap() {
            assert!(along["p"].as_f64().unwrap() > 0.001, "{explained}");
        }
    }
    if explained["changes"] == Value::Array(Vec::new()) {
        let said = explained["unchanged"][0].as_str().unwrap();
        assert!(said.contains("nothing to explain"), "{said}");
    }
}

#[test]
fn who_asks_for_no_change_is_told_how_to_ask() {
    let place = working();
    place.plan("use = ['work']\nrounds = 1\n");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    for (arguments, words) in [
        (&["explain", "s"][..], "explain s --by variant"),
        (&["explain", "none"], "none"),
        (&["explain", "s", "s", "--by", "how"], "name one study"),
        (&["explain", "s", "--by", "how"], "how"),
        (
            &["run", "plan.toml", "--monitors", "cpuu"],
            "no monitor `cpuu`",
        ),
    ] {
        let ended = place.ends(arguments);
        ended.assert_code(2);
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
}

#[test]
fn what_is_not_compared_is_said_and_no_empty_answer_is_given() {
    let place = working();
    for (name, how) in [("one", "base"), ("other", "fault")] {
        place.plan(&format!(
            "use = ['work']\nrounds = 1\n[params]\nhow = '{how}'\n"
        ));
        place
            .ends(&["run", "plan.toml", "--name", name])
            .assert_code(0);
    }
    let explained = json(&place, &["explain", "one", "other"]);
    let notes = explained["notes"].to_string();
    assert!(
        notes.contains("not compared: parameters differ"),
        "{explained}"
    );
    let file = place.at("none.csv");
    let ended = place.ends(&["export", "one", "--monitors", "-o", &file]);
    ended.assert_code(2);
    assert!(
        ended.stderr.contains("no sampler watched `one`"),
        "{}",
        ended.stderr
    );
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn cross_checks_have_a_table_of_their_numbers_in_which_those_that_failed_are_first() {
    let place = Place::new();
    place.benchmark(
        "flood",
        "[tester]\nrun = \"printf 'sent 1000\\\\ngot 900\\\\n'\"\n\
         [metric.sent]\nunit = \"count\"\nbetter = \"higher\"\ncolumn = { line = 'sent', field = 2 }\n\
         [metric.got]\nunit = \"count\"\nbetter = \"higher\"\ncolumn = { line = 'got', field = 2 }\n\
         [cross-check.close]\nequal = [\"sent\", \"got\"]\ntolerance = 20\n\
         [cross-check.wire]\nequal = [\"sent\", \"tester:net:lo.tx_packets\"]\n\
         [cross-check.lost]\nequal = [\"sent\", \"got\"]\ntolerance = 5\n",
    );
    place.plan("use = [\"flood\"]\nrounds = 2\n");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    let asked = ["show", "s", "--cross-checks", "--trial", "2"];
    let json = place.prints_of(&[&asked[..], &["--format", "json"]].concat());
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_has_schema("cross-checks", &found);
    let rows = found["checks"].as_array().unwrap();
    let outcomes: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["check"].as_str().unwrap(),
                row["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [("lost", "failed"), ("close", "held"), ("wire", "not-made")];
    assert_eq!(outcomes, expected, "{found:#}");
    assert_eq!(rows[0]["difference"], 100.0);
    assert_eq!(rows[0]["percent"], 10.0);
    assert_eq!(rows[2]["numbers"][1]["why"], "`net` didn't watch `tester`");
    let text = place.prints_of(&["show", "s", "--cross-checks"]);
    assert!(
        text.contains("6 cross-checks: 2 failed, 2 not made"),
        "{text}"
    );
    // The page of the study says where they are.
    place.prints_of(&["show", "s", "-o", "s.html"]);
    assert!(place.read("s.html").contains("show s --cross-checks"));

    place.prints("number", "echo 42");
    place.plan("use = [\"number\"]\nrounds = 1\n");
    place
        .ends(&["run", "plan.toml", "--name", "without"])
        .assert_code(0);
    let ended = place.ends(&["show", "without", "--cross-checks"]);
    ended.assert_code(2);
    assert!(
        ended.stderr.contains("has cross-checks"),
        "{}",
        ended.stderr
    );
}

#[test]
fn packets_that_a_link_drops_fail_the_cross_check_and_those_that_arrive_pass_it() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    place.row_lab("");
    place.plan(
        "testbed = \"row\"\nuse = [\"iperf3-udp\"]\nrounds = 1\nmonitors = [\"net\"]\n\
         [params]\nrate = 40_000_000\nseconds = 1\n[[variant]]\nname = \"open\"\n[[variant]]\nname = \"shaped\"\n\
         dut.setup = \"tc qdisc replace dev to-right root tbf rate 10mbit burst 32kb latency 20ms\"\n\
         dut.teardown = \"tc qdisc del dev to-right root\"\n",
    );
    place.ends(&["lab", "up"]).assert_code(0);
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(0);
    place.ends(&["lab", "down"]).assert_code(0);
    let failed: Vec<_> = (ended.stderr.lines())
        .filter(|line| line.contains("cross-check `datagrams`"))
        .collect();
    assert_eq!(failed.len(), 1, "{}", ended.stderr);
    assert!(
        failed[0].contains("`datagrams` failed: client:net:Udp.OutDatagrams"),
        "{failed:?}"
    );
    // It is kept with the trial that it is about, and with no other.
    let shown: Vec<String> = (1..=2)
        .map(|trial| place.prints_of(&["show", "s", "--trial", &trial.to_string()]))
        .collect();
    let with: Vec<_> = shown
        .iter()
        .filter(|text| text.contains("cross-check"))
        .collect();
    assert_eq!(with.len(), 1, "{shown:?}");
    assert!(with[0].contains("shaped"), "{with:?}");
    let checks = place.prints_of(&["show", "s", "--cross-checks"]);
    assert!(checks.contains("4 cross-checks: 2 failed\n"), "{checks}");
}
