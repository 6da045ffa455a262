//! A role that several hosts play: each does its steps, what they measured is put together, and how evenly is said.

use crate::place::Place;

/// A server and three clients, of which each says ten times its number, plus `more`.
fn place(more: &str) -> Place {
    let place = Place::new();
    let hosts: String = ["s", "a", "b", "c"]
        .iter()
        .map(|host| format!("[host.{host}]\nkind = \"local\"\n"))
        .collect();
    place.write(
        "lab.toml",
        format!("{hosts}[testbed.t]\nserver = \"s\"\nclient = [\"a\", \"b\", \"c\"]\n"),
    );
    place.write(
        "benchmarks/share.toml",
        format!(
            "name = \"share\"\nabout = \"x\"\nroles = [\"server\", \"client\"]\n[server]\nstartup = \"echo {{client.instances}} of {{client.host}}\"\n\
             [client]\nrun = \"sh -c 'echo rate $(( {{instance}} * 10 )) of {{instances}} on {{client.host}}; {more}'\"\n\
             [metric.rate]\nunit = \"Mbit/s\"\nbetter = \"higher\"\nregex = 'rate (?<value>\\d+)'\nacross = \"sum\"\n\
             [metric.slowest]\nunit = \"s\"\nbetter = \"lower\"\nregex = 'rate (?<value>\\d+)'\nacross = \"max\"\n"
        ),
    );
    place.plan("use = [\"share\"]\nrounds = 3\n");
    place
}

#[test]
fn each_host_of_a_role_is_measured_and_the_metric_says_what_becomes_of_all() {
    let place = place("");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    let page = place.prints_of(&["show", "s"]);
    for said in [
        "rate Mbit/s ↑",
        "60 ±0 % n=3",
        "slowest s ↓",
        "30 ±0 % n=3",
        // (10 + 20 + 30)² / (3 · (10² + 20² + 30²))
        "rate.fairness ratio ↑",
        "fairness 0.8571",
        "16.7 %",
        "50.0 %",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let trial = place.prints_of(&["show", "s", "--trial", "1", "--raw"]);
    for said in ["rate 30 of 3 on c", "3 of a,b,c", "run of client on b"] {
        assert!(trial.contains(said), "{said}: {trial}");
    }
    // What was printed gives the same again.
    place.ends(&["check", "--repair"]).assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn a_host_that_fails_fails_the_trial_with_its_name() {
    let place = place("test {instance} != 2");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    assert!(!ended.status.success());
    let page = place.prints_of(&["show", "s"]);
    assert!(page.contains("on b"), "{page}");
    assert!(!page.contains("on c:"), "{page}");
    place.assert_nothing_left();
}

#[test]
fn a_role_without_hosts_and_a_host_that_plays_it_twice_are_said_with_their_place() {
    let place = place("");
    for (seat, says) in [
        ("[]", "no host plays this role"),
        ("[\"a\", \"a\"]", "plays this role twice"),
        ("[\"a\", \"d\"]", "host `d` is not in this lab"),
    ] {
        let lab = place.read("lab.toml");
        place.write("lab.toml", lab.replace("[\"a\", \"b\", \"c\"]", seat));
        let ended = place.ends(&["run", "plan.toml"]);
        ended.assert_code(2);
        ended.assert_says(&[says, "lab.toml:"]);
        place.write("lab.toml", lab);
    }
}
