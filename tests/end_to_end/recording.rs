//! `backsight record`: what a host is, and what differs between two.

use serde_json::Value;

use crate::{place::Place, running::Running};

fn place() -> Place {
    let place = Place::new();
    place.prints("work", "echo 1");
    place.plan("use = [\"work\"]\nrounds = 1\n");
    place
}

#[test]
fn a_machine_is_recorded_and_what_differs_is_said_with_why_it_matters() {
    let place = place();
    let page = place.prints_of(&["record"]);
    for expected in ["kernel.release", "MemTotal", "sysctl: "] {
        assert!(page.contains(expected), "{page}");
    }
    assert!(!page.contains("vm.swappiness"), "{page}");
    place.prints_of(&["record", "--output", "a.json"]);
    let mut record: Value = serde_json::from_str(&place.read("a.json")).unwrap();
    let host = record["hosts"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap()
        .clone();
    let sections = &mut record["hosts"][&host];
    assert_eq!(
        sections["machine"]["kernel.release"],
        sections["sysctl"]["kernel.osrelease"]
    );
    sections["sysctl"]["vm.swappiness"] = "1".into();
    sections["cpu"]["model"] = "Pentium".into();
    sections.as_object_mut().unwrap().remove("link");
    place.write("b.json", record.to_string());
    let differences = place.prints_of(&["record", "--diff", "a.json", "b.json"]);
    let rows: Vec<&str> = differences.lines().collect();
    assert!(
        rows[1].contains("cpu.model") && rows[1].contains("another processor"),
        "{differences}"
    );
    assert!(
        rows[2].contains("vm.swappiness") && rows[2].contains("swapped out"),
        "{differences}"
    );
    assert!(
        rows[3].starts_with("not recorded in b.json"),
        "{differences}"
    );
    let json = place.prints_of(&["record", "--diff", "a.json", "b.json", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["differences"][0]["name"], "cpu.model");
    assert_eq!(json[0]["not_in_new"], serde_json::json!(["link"]));
}

#[test]
fn a_file_a_study_and_a_host_are_sides_and_nothing_else_is() {
    let place = place();
    place
        .ends(&["run", "plan.toml", "--name", "base"])
        .assert_code(0);
    place.prints_of(&["record", "--output", "now.json"]);
    let host = place.name.clone();
    for side in [host.as_str(), "base", &format!("base:{host}")] {
        let compared = place.prints_of(&["record", "--diff", "now.json", side, "--json"]);
        let compared: Value = serde_json::from_str(&compared).unwrap();
        let differences = compared[0]["differences"].as_array().unwrap();
        let of_machine = |it: &&Value| it["name"].as_str().unwrap().starts_with("machine.");
        assert_eq!(
            differences.iter().filter(of_machine).count(),
            0,
            "{side}: {compared}"
        );
    }
    place.write("other.json", "[1]");
    for (arguments, message) in [
        (vec!["record", "nobody"], "host `nobody` is not in this lab"),
        (
            vec!["record", "--diff", "now.json", "elsewhere"],
            "no study `elsewhere`",
        ),
        (
            vec!["record", "--diff", "now.json:nobody", "base"],
            "no record of `nobody`",
        ),
        (
            vec!["record", "--diff", "now.json", "other.json"],
            "has no records of hosts",
        ),
    ] {
        let ended = place.ends(&arguments);
        assert!(!ended.status.success());
        ended.assert_says(&[message]);
    }
}

#[test]
fn what_a_study_s_hosts_were_is_shown_and_stands_beside_a_comparison() {
    let place = place();
    let run = |name: &str, arena: &str| {
        let mut command = place.command(&["run", "plan.toml", "--name", name]);
        command.env("MALLOC_ARENA_MAX", arena);
        Running::start(command).ends().assert_code(0);
    };
    run("base", "1");
    run("same", "1");
    run("other", "2");
    let compared = place.ends(&["compare", "base", "same"]).stdout();
    assert!(!compared.contains("MALLOC_ARENA_MAX"), "{compared}");
    let compared = place.ends(&["compare", "base", "other"]).stdout();
    let sentence = "environment.MALLOC_ARENA_MAX differs: `1` with `base`, `2` with `other`";
    assert!(
        compared.contains(sentence) && compared.contains("the allocator's settings"),
        "{compared}"
    );
    let page = place.prints_of(&["record", "--of", "other"]);
    for expected in ["MALLOC_ARENA_MAX", "kernel.release", "sysctl: "] {
        assert!(page.contains(expected), "{page}");
    }
    let json = place.prints_of(&["record", "--of", "other", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["record"]["environment"]["MALLOC_ARENA_MAX"], "2");
    assert!(json[0]["ended"].is_string(), "{json}");
    place
        .ends(&["record", "--of", "nothing"])
        .assert_says(&["no study `nothing`"]);
}

#[test]
fn hosts_that_only_one_side_has_are_said() {
    let place = place();
    let side = |hosts: &[&str]| {
        let hosts = hosts
            .iter()
            .map(|host| format!("\"{host}\": {{\"cpu\": {{\"model\": \"x\"}}}}"));
        let hosts: Vec<String> = hosts.collect();
        format!(
            "{{\"recorded\": \"2026-11-25T00:00:00Z\", \"hosts\": {{{}}}}}",
            hosts.join(", ")
        )
    };
    place.write("a.json", side(&["dut", "left"]));
    place.write("b.json", side(&["right", "dut"]));
    place.write("c.json", side(&["right", "far"]));
    let ended = place.ends(&["record", "--diff", "a.json", "b.json"]);
    ended.assert_code(0);
    ended.assert_says(&[
        "a.json:dut and b.json:dut don't differ",
        "on one side only, not compared: a.json:left, b.json:right",
    ]);
    let ended = place.ends(&["record", "--diff", "a.json", "c.json"]);
    ended.assert_code(2);
    ended.assert_says(&["the sides have no host in common"]);
}

#[test]
fn secrets_are_not_recorded() {
    let place = place();
    let planted = [
        ("PGPASSWORD", "hunter2hunter2"),
        ("LD_LIBRARY_PATH", "/x:https://me:swordfish1@host/y"),
        ("MALLOC_CONF", "token=s3same0pen"),
        ("RUSTFLAGS", "--cfg ghp_abcdefghijklmnopqrst"),
    ];
    let mut command = place.command(&["record", "--all", "--json"]);
    command.envs(planted);
    let ended = Running::start(command).ends();
    ended.assert_code(0);
    let record = ended.stdout();
    assert!(
        record.contains("(secret)") && record.contains("/x:https://"),
        "{record}"
    );
    for secret in [
        "hunter2",
        "PGPASSWORD",
        "swordfish1",
        "s3same0pen",
        "abcdefghijklmnop",
    ] {
        assert!(!record.contains(secret), "{secret}");
    }
}
