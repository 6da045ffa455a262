//! Suites on real hosts: the network suite of the examples on namespaces, and one of the catalogue on a real package.

use backsight_test_needs::Need;
use std::{fs, path::Path};

use crate::place::Place;

/// How many tests of each variant failed, passed and were skipped, in the order of the variants.
fn counts(place: &Place, study: &str) -> Vec<String> {
    let rows = place.prints_of(&["export", study, "--format", "csv"]);
    let mut rows: Vec<Vec<&str>> = (rows.lines()).map(|row| row.split(',').collect()).collect();
    let head = rows.remove(0);
    let metric = head.iter().position(|name| *name == "metric").unwrap();
    let counts = rows
        .iter()
        .filter(|row| ["failed", "passed", "skipped"].contains(&row[metric]));
    counts
        .map(|row| format!("{} {} {}", row[1], row[metric], row[row.len() - 1]))
        .collect()
}

#[test]
fn the_network_suite_passes_on_a_sound_lab_and_sees_a_wrong_mtu() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ip-network");
    let read = |file: &str| fs::read_to_string(example.join(file)).unwrap();
    let lab = read("lab.toml").replace(
        "name = \"ip-network\"",
        &format!("name = \"{}\"", place.name),
    );
    place.write("lab.toml", lab);
    fs::create_dir(place.path("suites")).unwrap();
    for file in ["plan.toml", "ip_network.py", "suites/ip-network.toml"] {
        place.write(file, read(file));
    }
    place.ends(&["lab", "up"]).assert_code(0);
    place
        .ends(&["run", "plan.toml", "--name", "sound"])
        .assert_code(0);
    // A kernel may lack what some of them need; those are skipped.
    let number = |count: &String| -> u32 { count.rsplit(' ').next().unwrap().parse().unwrap() };
    for (variant, counts) in ["ipv4", "ipv6"]
        .iter()
        .zip(counts(&place, "sound").chunks(3))
    {
        let [failed, passed, skipped] = [0, 1, 2].map(|at| number(&counts[at]));
        let said = || place.raw("sound", 1) + &place.raw("sound", 2);
        assert!(counts[0].starts_with(variant), "{counts:?}");
        assert_eq!((failed, passed + skipped), (0, 21), "{counts:?} {}", said());
        assert!(passed >= 15, "{counts:?} {}", said());
    }
    let wrong = format!("{}\n[params.ip-network]\nmtu = 1400\n", read("plan.toml"));
    place.write("wrong.toml", wrong);
    place
        .ends(&["run", "wrong.toml", "--name", "wrong"])
        .assert_code(0);
    let raw = place.raw("wrong", 1);
    let failed: Vec<&str> = raw
        .lines()
        .filter(|line| line.starts_with("not ok"))
        .collect();
    assert_eq!(
        failed,
        [
            "not ok 6 - udp path mtu discovery",
            "not ok 8 - tcp path mtu discovery"
        ],
        "{raw}"
    );
    assert!(raw.contains("the path's MTU: 1300, expected 1400"), "{raw}");
    assert_eq!(counts(&place, "wrong")[0], "ipv4 failed 2");
    place.ends(&["lab", "down"]).assert_code(0);
    place.assert_nothing_left();
}

/// The arguments of `step` for the only version of a target.
fn step_of(target: &str) -> [&str; 10] {
    [
        "step",
        "plan.toml",
        "--target",
        target,
        "--from",
        "1",
        "--to",
        "1",
        "--name",
        "s",
    ]
}

/// A place with a crate whose suite is run, and what became of it: how many tests failed, passed and were skipped.
fn counts_of_a_crate(suite: &str) -> (Place, Vec<String>) {
    let place = Place::new();
    let test = |name: &str, body: &str| format!("#[test]\nfn {name}() {{ {body} }}\n");
    fs::create_dir_all(place.path("two/src")).unwrap();
    fs::create_dir_all(place.path("two/tests")).unwrap();
    place.write(
        "two/Cargo.toml",
        "[package]\nname = \"two\"\nedition = \"2021\"\n[workspace]\n",
    );
    place.write("two/src/lib.rs", test("works", ""));
    let whole = [
        test("works", "panic!(\"broken\")"),
        format!("#[ignore]\n{}", test("waits", "")),
    ];
    place.write("two/tests/whole.rs", whole.concat());
    place.write(
        "two.toml",
        format!(
            "name = \"two\"\nabout = \"a crate\"\nsource.list = {{ versions = \"echo 1\", fetch = \"cp -r {}/. .\" }}\n",
            place.at("two")
        ),
    );
    place.plan(&format!("use = [\"{suite}\"]\nrounds = 1\n"));
    place.ends(&step_of("two.toml")).assert_code(0);
    let counts = counts(&place, "s");
    (place, counts)
}

#[test]
fn suites_of_the_catalogue_tell_tests_of_several_programs_apart() {
    for suite in ["cargo-test", "nextest"] {
        let (place, counts) = counts_of_a_crate(suite);
        assert_eq!(counts.len(), 3, "{counts:?}");
        for (count, end) in counts.iter().zip(["failed 1", "passed 1", "skipped 1"]) {
            assert!(count.ends_with(end), "{counts:?}\n{}", place.raw("s", 1));
        }
        place.assert_nothing_left();
    }
}

#[test]
fn the_suite_of_postgresql_runs_a_server_of_its_own_also_where_root_tests() {
    if Need::Postgresql.is_missing() {
        return;
    }
    let version = Path::new("/usr/lib/postgresql/15");
    let place = Place::new();
    fs::create_dir_all(place.path("tree/src/test/regress/sql")).unwrap();
    fs::create_dir_all(place.path("tree/src/test/regress/expected")).unwrap();
    fs::create_dir_all(place.path("tree/installed")).unwrap();
    let regress = version.join("lib/pgxs/src/test/regress/pg_regress");
    fs::copy(regress, place.path("tree/src/test/regress/pg_regress")).unwrap();
    std::os::unix::fs::symlink(version.join("bin"), place.path("tree/installed/bin")).unwrap();
    for (script, expected) in [("sum", 4), ("wrong", 5)] {
        let file = |kind: &str| format!("tree/src/test/regress/{kind}");
        let sql = "SELECT 2 + 2 AS sum;\n";
        place.write(&file(&format!("sql/{script}.sql")), sql);
        let out = format!("{sql} sum \n-----\n   {expected}\n(1 row)\n\n");
        place.write(&file(&format!("expected/{script}.out")), out);
    }
    place.write(
        "tree/src/test/regress/parallel_schedule",
        "test: sum wrong\n",
    );
    place.write(
        "tree.toml",
        format!(
            "name = \"tree\"\nabout = \"two scripts\"\nsource.list = {{ versions = \"echo 1\", fetch = \"cp -a {}/. .\" }}\n",
            place.at("tree")
        ),
    );
    place.plan("use = [\"postgresql\"]\nrounds = 1\n");
    place.ends(&step_of("tree.toml")).assert_code(0);
    let counts = counts(&place, "s");
    for (count, end) in counts.iter().zip(["failed 1", "passed 1", "skipped 0"]) {
        assert!(count.ends_with(end), "{counts:?}\n{}", place.raw("s", 1));
    }
    let trial = place.ends(&["show", "s", "--trial", "1"]);
    trial.assert_says(&["tests: 1 failed, 1 passed", "fail wrong"]);
    place.assert_nothing_left();
}
