//! A role that several hosts play: each does its steps, what they measured is put together, and how evenly is said.

use serde_json::Value;

use crate::{place::Place, verdicts::assert_has_schema};

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
    place.ends(&["store", "check", "--repair"]).assert_code(0);
    place.assert_nothing_left();
}

/// What the clients have in iteration 1 is even; in iteration 3 the third has 3 times as much as the first.
const ITERATIONS: &str = "for i in 1 2 3; do backsight barrier iteration; echo each $((10 + {instance} * (i - 1) * 5)); done";

#[test]
fn iterations_and_barriers_are_shown_to_people_and_to_programs() {
    let place = place(ITERATIONS);
    let definition = place.read("benchmarks/share.toml");
    let each = "across = \"sum\"\neach = 'each (?<value>\\d+)'\n";
    let definition = definition.replacen("across = \"sum\"\n", each, 1);
    place.write("benchmarks/share.toml", definition);
    let events = place.prints_of(&["run", "plan.toml", "--name", "s", "--json"]);
    let finished = events.lines().find(|it| it.contains("trial-finished"));
    let finished: Value = serde_json::from_str(finished.unwrap()).unwrap();
    assert_eq!(finished["samples"][0]["instances"][2]["each"][2], 40.0);
    assert_eq!(finished["meetings"][1]["times"], 3);

    let json = place.prints_of(&["show", "s", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_has_schema("comparison", &json);
    let instances = &json["instances"][0];
    let rate = &instances["metrics"][0];
    assert_eq!(
        (&rate["metric"], &rate["hosts"][1]["host"]),
        (&"rate".into(), &"b".into())
    );
    assert_eq!(rate["hosts"][1]["mean"], 20.0);
    let over = rate["fairness_over_iterations"].as_array().unwrap();
    let over: Vec<f64> = over
        .iter()
        .map(|it| it["fairness"].as_f64().unwrap())
        .collect();
    // (20 + 30 + 40)² / (3 · (20² + 30² + 40²))
    assert_eq!(over.len(), 3);
    assert!(
        over[0] == 1.0 && (over[2] - 8100.0 / 8700.0).abs() < 1e-12,
        "{over:?}"
    );
    let barrier = &instances["meetings"][1];
    assert_eq!(
        (&barrier["name"], &barrier["times"]),
        (&"iteration".into(), &9.into())
    );
    let skew = &barrier["skew"];
    assert!(skew["largest_ns"].as_u64().unwrap() >= skew["median_ns"].as_u64().unwrap());
    let compared = place.prints_of(&["compare", "s", "s", "--format", "json"]);
    let compared: Value = serde_json::from_str(&compared).unwrap();
    assert_eq!(compared["instances"][1], *instances);

    let page = place.prints_of(&["show", "s"]);
    for said in [
        "barrier iteration of client",
        "over 3 iterations",
        "0.9310 to 1",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    place.ends(&["report", "s", "-o", "s.html"]).assert_code(0);
    let page = place.read("s.html");
    for said in [
        "<h2 id=\"hosts-h\">Hosts beside each other</h2>",
        "fairness of rate over iterations",
        "iteration 3: 0.9310, n=3",
        "barrier iteration of client, passed 3 times by 3: within ",
        "<th scope=\"row\">rate</th><td>c</td><td>30 Mbit/s</td>",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
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
