//! Two who want the same hosts: the second is told who has them, or waits.

use nix::sys::signal::Signal;

use crate::place::{Place, is_root};
use crate::processes;
use crate::running::Running;
use backsight_test_needs::Need;

fn logged() -> Place {
    let place = Place::new();
    place.logged("logged");
    place.plan("use = [\"logged\"]\nrounds = 2\n");
    place
}

#[test]
fn a_second_study_on_the_same_host_is_refused_with_who_has_it() {
    let place = logged();
    place.hold("run", 1);
    let first = place.begins(&["run", "plan.toml", "--name", "first"]);
    place.until_held("run");
    let second = place.ends(&["run", "plan.toml", "--name", "second"]);
    second.assert_code(2);
    let holder = format!(
        "host `{}` is leased to study `first` (process {})",
        place.name, first.pid
    );
    second.assert_says(&[&holder, "--wait"]);
    assert_eq!(
        place.ends(&["show", "second"]).status.code(),
        Some(2),
        "nothing of it is in the store"
    );
    place.release("run");
    first.ends().assert_code(0);
    place.assert_complete("first", 1, 2);
    place
        .ends(&["run", "plan.toml", "--name", "second"])
        .assert_code(0);
}

#[test]
fn a_second_study_that_waits_measures_after_the_first() {
    let place = logged();
    place.hold("run", 1);
    let first = place.begins(&["run", "plan.toml", "--name", "first"]);
    place.until_held("run");
    let second = place.begins(&["run", "plan.toml", "--name", "second", "--wait", "50s"]);
    // Its store is open: next it asks for the host.
    let has_store_open = || {
        let links = std::fs::read_dir(format!("/proc/{}/fd", second.pid))
            .into_iter()
            .flatten()
            .flatten();
        links
            .filter_map(|fd| std::fs::read_link(fd.path()).ok())
            .any(|file| file.ends_with("backsight.db"))
    };
    processes::until("the second study asks for the host", has_store_open);
    place.release("run");
    let (first, second) = (first.ends(), second.ends());
    first.assert_code(0);
    second.assert_code(0);
    place.assert_complete("first", 1, 2);
    place.assert_complete("second", 1, 2);
    let time = |event: &serde_json::Value| {
        event["time"]
            .as_str()
            .unwrap()
            .parse::<jiff::Timestamp>()
            .unwrap()
    };
    let last_of_first = time(
        first
            .events()
            .iter()
            .rev()
            .find(|e| e["event"] == "trial-finished")
            .unwrap(),
    );
    let first_of_second = time(
        second
            .events()
            .iter()
            .find(|e| e["event"] == "trial-started")
            .unwrap(),
    );
    assert!(last_of_first <= first_of_second);
    place.assert_nothing_left();
}

#[test]
fn who_waits_for_a_host_says_so_also_when_piped() {
    let place = logged();
    place.hold("run", 1);
    let first = place.begins(&["run", "plan.toml", "--name", "first"]);
    place.until_held("run");
    let arguments = ["run", "plan.toml", "--name", "second", "--wait", "50s"];
    let piped = Running::start(place.command(&arguments));
    let said = format!(
        "waiting up to 50.0s for host {}, which is leased to study `first`",
        place.name
    );
    processes::until("the second study says that it waits", || {
        piped.complaints().contains(&said)
    });
    let mut told = place.begins(&["run", "plan.toml", "--name", "third", "--wait", "50s"]);
    let event = told.until("a wait", |event| event["event"] == "lease-awaited");
    assert_eq!(event["host"], place.name.as_str());
    assert_eq!(event["seconds"], 50.0);
    place.release("run");
    for run in [first, piped, told] {
        run.ends().assert_code(0);
    }
}

#[test]
fn an_interrupt_while_a_host_is_awaited_ends_the_study_at_once() {
    let place = logged();
    place.hold("run", 1);
    let first = place.begins(&["run", "plan.toml", "--name", "first"]);
    place.until_held("run");
    let arguments = ["run", "plan.toml", "--name", "second", "--wait", "10m"];
    let mut second = place.begins(&arguments);
    second.until("a wait", |event| event["event"] == "lease-awaited");
    second.signal(Signal::SIGINT);
    assert_ne!(second.ends().status.code(), Some(0));
    // It had nothing to put back, and nothing of it is in the store.
    assert_eq!(place.ends(&["show", "second"]).status.code(), Some(2));
    place.release("run");
    first.ends().assert_code(0);
    place.assert_complete("first", 1, 2);
}

#[test]
fn a_wait_that_is_too_short_ends_in_a_refusal() {
    let place = logged();
    place.hold("run", 1);
    let first = place.begins(&["run", "plan.toml", "--name", "first"]);
    place.until_held("run");
    let second = place.ends(&["run", "plan.toml", "--name", "second", "--wait", "300ms"]);
    second.assert_code(2);
    second.assert_says(&["leased to study `first`"]);
    place.release("run");
    first.ends().assert_code(0);
}

#[test]
fn a_killed_study_holds_no_host() {
    let place = logged();
    place.hold("run", 1);
    let first = place.begins(&["run", "plan.toml", "--name", "first"]);
    place.until_held("run");
    first.after_sigkill();
    place.release("run");
    place
        .ends(&["run", "plan.toml", "--name", "second"])
        .assert_code(0);
    place.assert_complete("second", 1, 2);
    assert_eq!(place.study("first")["state"], "killed");
    place.assert_nothing_left();
}

/// Starts a study of the plan `ROLE.toml`, with leases of its own: as on another machine that shares the store.
fn begins_as_another_machine(place: &Place, role: &str, arguments: &[&str]) -> Running {
    let plan = format!("{role}.toml");
    let arguments = [&["run", &plan, "--json"], arguments].concat();
    let mut command = place.command(&arguments);
    command.env("BACKSIGHT_LEASES", place.path(&format!("leases-{role}")));
    Running::start(command)
}

#[test]
fn two_labs_that_call_this_machine_by_different_names_exclude_each_other() {
    let place = logged();
    let other = Place::new();
    other.prints("other", "echo 42");
    other.plan("use = [\"other\"]\nrounds = 1\n");
    assert_ne!(place.name, other.name, "their hosts have different names");
    place.hold("run", 1);
    let first = place.begins(&["run", "plan.toml", "--name", "first"]);
    place.until_held("run");
    let run = |arguments: &[&str]| {
        let mut command = other.command(arguments);
        command.env("BACKSIGHT_LEASES", place.path("leases"));
        Running::start(command).ends()
    };
    let refused = run(&["run", "plan.toml", "--name", "second"]);
    refused.assert_code(2);
    refused.assert_says(&[&format!(
        "host `{}` is leased to study `first` (process {})",
        other.name, first.pid
    )]);
    // A testbed of a namespace is a part of the same machine.
    if is_root() {
        other.write(
            "lab.toml",
            format!("name = \"{}\"\n[host.only]\nkind = \"netns\"\n", other.name),
        );
        run(&["lab", "up"]).assert_code(0);
        let refused = run(&["run", "plan.toml", "--name", "second"]);
        refused.assert_code(2);
        refused.assert_says(&["host `only` is leased to study `first`"]);
    }
    place.release("run");
    first.ends().assert_code(0);
    run(&["run", "plan.toml", "--name", "second"]).assert_code(0);
    if is_root() {
        run(&["lab", "down"]).assert_code(0);
    }
}

#[test]
fn two_studies_on_different_hosts_share_a_store() {
    let place = Place::of_roles(&["one", "two"]);
    let mut runs = Vec::new();
    for role in ["one", "two"] {
        let text = format!(
            "name = \"of-{role}\"\nabout = \"a test's own\"\nroles = [\"{role}\"]\n\
             [{role}]\nrun = \"{} {role}; seq 2000; echo 42\"\n{}",
            place.at("step"),
            crate::place::VALUE
        );
        place.write(&format!("benchmarks/of-{role}.toml"), text);
        place.write(
            &format!("{role}.toml"),
            format!("use = [\"of-{role}\"]\nrounds = 12\n"),
        );
        place.hold(role, 1);
    }
    for role in ["one", "two"] {
        runs.push(begins_as_another_machine(&place, role, &["--name", role]));
    }
    for role in ["one", "two"] {
        place.until_held(role);
    }
    for role in ["one", "two"] {
        place.release(role);
    }
    for run in runs {
        run.ends().assert_code(0);
    }
    place.assert_complete("one", 1, 12);
    place.assert_complete("two", 1, 12);
    place.assert_nothing_left();
}

#[test]
fn two_studies_without_a_name_get_different_ones() {
    let place = Place::of_roles(&["one", "two"]);
    for role in ["one", "two"] {
        let text = format!(
            "name = \"of-{role}\"\nabout = \"a test's own\"\nroles = [\"{role}\"]\n[{role}]\nrun = \"echo 42\"\n{}",
            crate::place::VALUE
        );
        place.write(&format!("benchmarks/of-{role}.toml"), text);
        place.write(
            &format!("{role}.toml"),
            format!("use = [\"of-{role}\"]\nrounds = 3\n"),
        );
    }
    let runs = [
        begins_as_another_machine(&place, "one", &[]),
        begins_as_another_machine(&place, "two", &[]),
    ];
    for run in runs {
        run.ends().assert_code(0);
    }
    place.assert_complete("run-1", 1, 3);
    place.assert_complete("run-2", 1, 3);
}

#[test]
fn a_name_that_is_taken_is_refused_before_anything_is_measured() {
    let place = logged();
    place
        .ends(&["run", "plan.toml", "--name", "first"])
        .assert_code(0);
    let before = place.calls("run");
    let again = place.ends(&["run", "plan.toml", "--name", "first"]);
    again.assert_code(2);
    again.assert_says(&["`first`"]);
    assert_eq!(place.calls("run"), before);
    place.assert_complete("first", 1, 2);
}

/// A lab of one namespace, and a study `s` that measures in it until it is let go on.
fn measuring_in_a_lab() -> (Place, Running) {
    let place = logged();
    place.write(
        "lab.toml",
        format!("name = \"{}\"\n[host.only]\nkind = \"netns\"\n", place.name),
    );
    place.ends(&["lab", "up"]).assert_code(0);
    place.hold("run", 1);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    (place, run)
}

#[test]
fn a_study_takes_hosts_that_are_free_and_goes_on_with_the_same() {
    if Need::Root.is_missing() {
        return;
    }
    let place = logged();
    let mut lab = format!("name = \"{}\"\n", place.name);
    for host in ["a", "b"] {
        lab.push_str(&format!(
            "[host.{host}]\nkind = \"netns\"\ntags = [\"any\"]\n"
        ));
    }
    lab.push_str("[testbed.one]\ntester = { tag = \"any\", count = 1 }\n");
    place.write("lab.toml", lab);
    place.ends(&["lab", "up"]).assert_code(0);
    place.hold("run", 1);
    let first = place.begins(&["run", "plan.toml", "--name", "first"]);
    place.until_held("run");
    // The next one takes the other host, without a wait.
    let mut second = place.begins(&["run", "plan.toml", "--name", "second"]);
    second.until("its study", |event| event["event"] == "study-started");
    let complaints = second.complaints();
    assert!(
        complaints.contains("measured on b: others have a"),
        "{complaints}"
    );
    let step = second.until_step_in("startup");
    assert_eq!(step["host"], "b");
    place.until_held("run");
    // Both are taken: the first one is what is waited for.
    let third = place.ends(&["run", "plan.toml", "--name", "third"]);
    third.assert_code(2);
    third.assert_says(&["host `a` is leased to study `first`"]);
    let killed = second.after_sigkill();
    assert!(
        killed
            .events()
            .iter()
            .all(|event| event["event"] != "lease-awaited")
    );
    place.release("run");
    first.ends().assert_code(0);
    // All are free, and it goes on where it began.
    let resumed = place.ends(&["resume", "second", "--json"]);
    resumed.assert_code(0);
    let events = resumed.events();
    let mut hosts = events.iter().filter_map(|event| event["host"].as_str());
    assert!(hosts.all(|host| host == "b"));
    place.assert_complete("second", 1, 2);
    place.ends(&["lab", "down"]).assert_code(0);
}

#[test]
fn a_lab_in_which_somebody_measures_is_not_taken_down() {
    if Need::Root.is_missing() {
        return;
    }
    let (place, run) = measuring_in_a_lab();
    let refused = place.ends(&["lab", "down"]);
    assert_ne!(refused.status.code(), Some(0));
    refused.assert_says(&["host `only` is leased to study `s`"]);
    place.release("run");
    run.ends().assert_code(0);
    place.assert_complete("s", 1, 2);
    place.ends(&["lab", "down"]).assert_code(0);
    assert_eq!(place.namespaces(), Vec::<String>::new());
}

#[test]
fn a_lab_is_taken_down_as_soon_as_a_killed_studys_agents_have_gone() {
    if Need::Root.is_missing() {
        return;
    }
    let (place, run) = measuring_in_a_lab();
    run.after_sigkill();
    place.ends(&["lab", "down"]).assert_code(0);
    assert_eq!(place.namespaces(), Vec::<String>::new());
}
