//! The labs of the examples in which packets are sent: each still measures what it says.

use backsight_test_needs::Need;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::place::Place;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name)
}

/// A place with an example's lab, whose name is one of this test, made.
fn place_with_lab(name: &str) -> Place {
    let place = Place::new();
    let lab = fs::read_to_string(example(name).join("lab.toml")).unwrap();
    let lab = lab.replace(
        &format!("name = \"{name}\""),
        &format!("name = \"{}\"", place.name),
    );
    place.write("lab.toml", lab);
    place.ends(&["lab", "up"]).assert_code(0);
    place
}

/// A plan of an example with these variants alone.
fn with_variants(file: &Path, wanted: &[&str]) -> String {
    let plan = fs::read_to_string(file).unwrap();
    let mut parts = plan.split("[[variant]]\n");
    let head = parts.next().unwrap().to_owned();
    let variants = parts.filter(|part| {
        let mut wanted = wanted.iter();
        wanted.any(|name| part.starts_with(&format!("name = \"{name}\"\n")))
    });
    variants.fold(head, |plan, part| plan + "[[variant]]\n" + part)
}

#[test]
fn the_rate_of_the_smallest_packets_without_loss_is_what_the_device_is_limited_to() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place_with_lab("packets");
    let search = example("packets").join("search.toml");
    place.write(
        "search.toml",
        with_variants(&search, &["direct", "limited"]),
    );
    let printed = place.prints_of(&[
        "search",
        "search.toml",
        "--goal",
        "0%",
        "--baseline",
        "direct",
        "--min",
        "8k",
        "--max",
        "60k",
        "--width",
        "30%",
        "--first",
        "1",
        "--trial",
        "1",
        "--sum",
        "1",
        "--json",
    ]);
    let mut events = printed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let verdict = events.rfind(|event| event["event"] == "verdict").unwrap();
    let subjects = verdict["subjects"].as_array().unwrap();
    let limited = subjects.last().unwrap();
    let search = &limited["goals"][0]["searches"][0];
    let (lower, upper) = (search["lower"].as_f64(), search["upper"].as_f64());
    // The device lets 20,000 pass in a second, and 2,000 more at once.
    let (Some(lower), Some(upper)) = (lower, upper) else {
        panic!("{verdict:#}")
    };
    assert!(lower < 23_000.0 && upper < 40_000.0, "{verdict:#}");
    // A generator that others kept from sending says so; else it is the device.
    if limited["goals"][0]["limit"]["generator"] == "enough" {
        assert!(upper > 19_000.0, "{verdict:#}");
    }
    place.ends(&["lab", "down"]).assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn devices_carry_every_kind_of_traffic_and_a_switch_splices_none() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place_with_lab("devices");
    fs::create_dir_all(place.path("benchmarks")).unwrap();
    for file in [
        "benchmarks/flow.toml",
        "device.sh",
        "end_of_flow.py",
        "multicast_router.py",
        "relay.sh",
    ] {
        place.write(
            file,
            fs::read_to_string(example("devices").join(file)).unwrap(),
        );
    }
    // A tunnel in user space may lose all the datagrams that say that a flow has ended: such a trial fails.
    let plan = with_variants(&example("devices").join("plan.toml"), &["veth", "bridge"]);
    let short = plan
        .replace("rounds = 3", "rounds = 1")
        .replace("seconds = 2", "seconds = 1")
        .replace("family = [\"v4\", \"v6\"]", "family = \"v6\"")
        .replace(
            "[\"tcp\", \"udp\", \"multicast\", \"splice\"]",
            "[\"multicast\", \"splice\"]",
        );
    place.write("plan.toml", short);
    place
        .ends(&["run", "plan.toml", "--name", "devices"])
        .assert_code(0);
    let axes = "rows=variant,columns=traffic,base=veth";
    let printed = place.prints_of(&["show", "devices", "--matrix", axes, "--format", "json"]);
    let matrix: Value = serde_json::from_str(&printed).unwrap();
    let rows = matrix["tables"][0]["rows"].as_array().unwrap();
    let states: Vec<Vec<&str>> = rows
        .iter()
        .map(|row| {
            let cells = row["cells"].as_array().unwrap().iter();
            cells.map(|cell| cell["state"].as_str().unwrap()).collect()
        })
        .collect();
    let (measured, switched) = ("measured", "not-applicable");
    let expected = [[measured, measured], [measured, switched]];
    assert_eq!(
        states,
        expected,
        "{}",
        place.prints_of(&["show", "devices"])
    );
    let cell = &rows[0]["cells"][1];
    let (value, share) = (cell["value"].as_f64(), cell["utilisation"].as_f64());
    assert_eq!(
        share,
        value.map(|value| value / 1e7),
        "of 10 Gbit/s: {cell:#}"
    );
    place.ends(&["lab", "down"]).assert_code(0);
    place.assert_nothing_left();
}
