//! Self-tests of `doctor`: a planted load is named, grades are kept and shown over time, nobody's measurement is disturbed, and nothing is
//! left when it is killed.

use nix::sys::signal::Signal;
use serde_json::Value;
use std::{
    io::{Seek as _, Write as _},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{place::Place, processes};

/// A program that uses one CPU for as long as this is there.
struct Busy(Child);

impl Busy {
    /// A shell under another name: programs of one name are named together.
    fn on_cpu(place: &Place, cpu: u64) -> Self {
        let program = place.at("planted");
        let _there = std::fs::copy("/bin/sh", &program).unwrap();
        let mut command = Command::new("taskset");
        command.args([
            "-c",
            &cpu.to_string(),
            &program,
            "-c",
            "while :; do :; done",
        ]);
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    let ended = place.ends(arguments);
    ended.assert_code(0);
    serde_json::from_str(&ended.stdout()).unwrap()
}

/// The only machine of what `doctor --json` printed.
fn machine(view: &Value) -> &Value {
    let machines = view["machines"].as_array().unwrap();
    assert_eq!(machines.len(), 1, "{view:#}");
    &machines[0]
}

fn validate(place: &Place, kind: &str, value: &Value) {
    let schema: Value = serde_json::from_str(&place.prints_of(&["schema", kind])).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = validator
        .iter_errors(value)
        .map(|it| it.to_string())
        .collect();
    assert!(faults.is_empty(), "{kind}: {faults:#?}");
}

#[test]
fn a_planted_load_is_named_with_its_process_and_spoils_the_grade_and_the_history_says_so() {
    let place = Place::new();
    let first = json(&place, &["doctor", "--json", "--seconds", "3"]);
    let cpus = machine(&first)["self_test"]["cpus"]
        .as_array()
        .unwrap()
        .clone();
    let cpu = cpus.last().unwrap().as_u64().unwrap();
    let busy = Busy::on_cpu(&place, cpu);
    let second = json(&place, &["doctor", "--json", "--seconds", "3"]);
    let pid = busy.0.id();
    drop(busy);
    for view in [&first, &second] {
        validate(&place, "doctor", view);
        assert!(machine(view)["grade"]["best"].is_string(), "{view:#}");
    }
    let found = machine(&second);
    let sources = found["self_test"]["sources"].as_array().unwrap();
    let named = sources.iter().find(|source| source["pid"] == pid);
    let named = named.unwrap_or_else(|| panic!("{pid} is not in {sources:#?}"));
    assert_eq!(
        (&named["kind"], &named["name"]),
        (&"program".into(), &"planted".into())
    );
    assert_eq!(named["cpus"], serde_json::json!([cpu]));
    // It competes with the watch for its CPU: other programs of this machine may do so too.
    assert!(named["explains"].as_f64().unwrap() > 0.1, "{named:#}");
    assert!(named["seconds"].as_f64().unwrap() > 0.1, "{named:#}");
    let grade = found["grades"]["interruptions"]["best"].as_str().unwrap();
    assert!(grade > "D", "{grade}");
    let finding = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| {
            let what = finding["what"].as_str().unwrap();
            what.contains(&format!("program `planted` (pid {pid}")) && finding["measured"] == true
        });
    let mend = finding.unwrap_or_else(|| panic!("{found:#}"))["mend"][0]
        .as_str()
        .unwrap();
    assert!(
        mend.contains(&format!("kill {pid}")) || mend.contains("services.stop"),
        "{mend}"
    );

    let history = json(&place, &["doctor", "--history", "--json"]);
    validate(&place, "doctor-history", &history);
    let tests = machine(&history)["self_tests"].as_array().unwrap();
    assert_eq!(tests.len(), 2, "{history:#}");
    assert_eq!(tests[0]["grade"], machine(&first)["grade"]);
    assert_eq!(tests[1]["grade"], machine(&second)["grade"]);
    let text = place.prints_of(&["doctor", "--history"]);
    assert!(
        text.contains(&format!("host {}: 2 self-tests", place.name)),
        "{text}"
    );
    place.ends(&["store", "check"]).assert_code(0);
    // No machine with a busy CPU is as calm as that.
    let busy = Busy::on_cpu(&place, cpu);
    let ended = place.ends(&["doctor", "--seconds", "2", "--at-least", "B"]);
    ended.assert_code(1);
    ended.assert_says(&[
        "interruptions",
        "What will spoil a measurement, the worst first:",
    ]);
    drop(busy);
    place.assert_nothing_left();
}

/// What [`planted_loads_do_their_work`] does when it is started by a test of this program.
const LOAD: &str = "BACKSIGHT_PLANTED_LOAD";

/// No test: the loads of others, each a process of its own with a name of its own, for a minute at the longest.
#[test]
fn planted_loads_do_their_work() {
    let Some(load) = std::env::var_os(LOAD) else {
        return;
    };
    let begun = Instant::now();
    let mut file = tempfile::tempfile_in(std::env::current_dir().unwrap()).unwrap();
    while begun.elapsed() < Duration::from_secs(60) {
        match load.to_str() {
            Some("burst") => {
                let burst = Instant::now();
                while burst.elapsed() < Duration::from_millis(5) {}
                std::thread::sleep(Duration::from_millis(5));
            }
            Some("timer") => std::thread::sleep(Duration::from_micros(200)),
            _ => {
                file.rewind().unwrap();
                file.write_all(&[7; 16384]).unwrap();
                file.sync_all().unwrap();
            }
        }
    }
}

/// A load under the name `planted-LOAD`.
fn planted(place: &Place, load: &str, cpu: u64) -> Busy {
    let name = format!("planted-{load}");
    let program = std::env::current_exe().unwrap();
    std::os::unix::fs::symlink(program, place.path(&name)).unwrap();
    let mut command = Command::new("taskset");
    command
        .args(["-c", &cpu.to_string()])
        .arg(place.path(&name));
    command.args(["--exact", "self_tests::planted_loads_do_their_work"]);
    command.env(LOAD, load).current_dir(place.path("tmp"));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let child = Busy(command.spawn().unwrap());
    let named = format!("/proc/{}/comm", child.0.id());
    processes::until("it has its name", || {
        std::fs::read_to_string(&named).is_ok_and(|it| it.trim_end() == name)
    });
    child
}

#[test]
fn programs_that_burst_wake_up_or_write_are_named_while_they_run() {
    let place = Place::new();
    let view = json(&place, &["doctor", "--json", "--no-self-test"]);
    let host = machine(&view)["host"].as_str().unwrap().to_owned();
    let last = std::thread::available_parallelism().unwrap().get() as u64 - 1;
    let planted = [
        planted(&place, "burst", last),
        planted(&place, "timer", 0),
        planted(&place, "disk", last),
    ];
    let pids = planted.each_ref().map(|it| it.0.id());
    let with = json(&place, &["doctor", "--json", "--seconds", "5"]);
    let text = place.prints_of(&["doctor", "--seconds", "5"]);
    drop(planted);
    let without = json(&place, &["doctor", "--json", "--seconds", "3"]);
    let findings = |view: &Value| -> Vec<Value> {
        assert_eq!(machine(view)["host"], *host);
        machine(view)["findings"].as_array().unwrap().clone()
    };
    // The only one that wrote to the disk is known by that; where the folder is in memory, nothing is.
    let fsync = machine(&with)["grades"].get("fsync").is_some();
    for (name, pid) in ["burst", "timer", "disk"].into_iter().zip(pids) {
        let named = format!("program `planted-{name}` (pid {pid}");
        let found = findings(&with);
        let is_it = |it: &&Value| it["what"].as_str().unwrap().starts_with(&named);
        let its: Vec<&Value> = found.iter().filter(is_it).collect();
        if name != "disk" {
            assert!(!its.is_empty(), "{named}: {with:#}");
            assert!(text.contains(&named), "{text}");
        } else if fsync {
            let wrote = its
                .iter()
                .find(|it| it["what"].as_str().unwrap().contains("which wrote"));
            let wrote = wrote.unwrap_or_else(|| panic!("{with:#}"));
            assert_eq!(
                wrote["mend"][0].as_str().unwrap().matches("kill").count(),
                1
            );
        }
        assert!(
            !without.to_string().contains(&format!("planted-{name}")),
            "{without:#}"
        );
    }
    let sources = machine(&with)["self_test"]["sources"].as_array().unwrap();
    let timer = sources.iter().find(|it| it["pid"] == pids[1]).unwrap();
    // Even one that waits for its turn wakes up some hundred times a second.
    assert!(timer["count"].as_u64().unwrap() > 200, "{timer:#}");
    place.assert_nothing_left();
}

#[test]
fn a_host_that_a_study_measures_on_is_not_tested_unless_it_is_forced() {
    let place = Place::new();
    place.logged("logged");
    place.plan("use = [\"logged\"]\nrounds = 1\n");
    place.hold("run", 1);
    let study = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    let ended = place.ends(&["doctor", "plan.toml", "--seconds", "2"]);
    ended.assert_code(0);
    let holder = format!("not tested: host `{}` is leased to study `s`", place.name);
    ended.assert_says(&[&holder, "--force"]);
    let gate = ["doctor", "plan.toml", "--seconds", "2", "--at-least", "F"];
    place.ends(&gate).assert_code(1);
    let ended = place.ends(&["doctor", "plan.toml", "--seconds", "2", "--force"]);
    ended.assert_code(0);
    ended.assert_says(&["measure", "interruptions", "Nothing is missing"]);
    place.release("run");
    study.ends().assert_code(0);
}

#[test]
fn nothing_is_left_of_a_self_test_whose_conductor_is_killed() {
    let place = Place::new();
    // An agent has one thread, and one that measures; several at once watch CPUs.
    let is_measured = |conductor: i32| {
        let all = processes::of_place(&place.name);
        let threads = |process: &processes::Process| {
            let tasks = std::fs::read_dir(format!("/proc/{}/task", process.pid));
            tasks.map_or(0, Iterator::count)
        };
        let mut others = all.iter().filter(|process| process.pid != conductor);
        others.any(|process| threads(process) > 2)
    };
    let doctor = place.begins(&["doctor", "--seconds", "60"]);
    processes::until("it measures", || is_measured(doctor.pid.as_raw()));
    doctor.after_sigkill();
    processes::until_gone(&place.name);
    place.assert_nothing_left();
    let doctor = place.begins(&["doctor", "--seconds", "60"]);
    processes::until("it measures", || is_measured(doctor.pid.as_raw()));
    doctor.signal(Signal::SIGINT);
    doctor.ends();
    processes::until_gone(&place.name);
    place.assert_nothing_left();
}

#[test]
fn hosts_that_share_a_machine_are_examined_once_and_a_plan_that_prepares_it_has_nothing_to_mend() {
    let place = Place::of_roles(&["client", "server"]);
    let wide =
        "roles = [\"client\", \"server\"]\n[client]\nrun = \"echo 42\"\n[server]\nrun = \"true\"\n";
    let metric = crate::place::VALUE.replace(
        "[metric.value]\n",
        "[metric.value]\nfrom = \"client.run\"\n",
    );
    place.write(
        "benchmarks/wide.toml",
        format!("name = \"wide\"\nabout = \"a test's own\"\n{wide}{metric}"),
    );
    let plan = "testbed = \"all\"\nuse = [\"wide\"]\n";
    let lines = |plan: &str| {
        place.plan(plan);
        let view = json(&place, &["doctor", "plan.toml", "--no-self-test", "--json"]);
        validate(&place, "doctor", &view);
        let findings = machine(&view)["findings"].as_array().unwrap().clone();
        let mends = findings
            .iter()
            .flat_map(|it| it["mend"].as_array().unwrap().clone());
        let mends = mends.map(|it| it.as_str().unwrap().to_owned());
        mends
            .filter(|line| !line.starts_with('#'))
            .collect::<Vec<_>>()
    };
    // The lines that are printed, put into the plan, leave nothing to mend.
    let found = lines(plan);
    let mended = format!("{plan}[prepare]\n{}\n", found.join("\n"));
    let left = lines(&mended);
    assert!(left.is_empty(), "{found:#?} leave {left:#?}");
    let left = lines(&format!("{plan}prepare = [\"quiet\"]\n"));
    assert!(left.is_empty(), "{left:#?}");

    // So it is where the hosts are namespaces, which needn't be up for that: the plan's settings are made on this machine.
    place.write(
        "lab.toml",
        format!("name = \"{}\"\n[host.one]\nkind = \"netns\"\n", place.name),
    );
    place.prints("fine", "echo 42");
    let view = |prepare: &str| {
        place.plan(&format!("use = [\"fine\"]\n{prepare}\n"));
        let ended = place.ends(&["doctor", "plan.toml", "--no-self-test", "--json"]);
        ended.assert_code(1);
        let view: Value = serde_json::from_str(&ended.stdout()).unwrap();
        assert_eq!(machine(&view)["host"], "here");
        assert!(
            view["plan"].to_string().contains("backsight lab up"),
            "{view:#}"
        );
        machine(&view).clone()
    };
    let differs = view("")["findings"].to_string();
    let mended = view("prepare = [\"quiet\"]");
    assert_eq!(mended["findings"].to_string().matches(" = ").count(), 0);
    for name in mended["prepared"].as_array().unwrap() {
        assert!(
            differs.contains(name.as_str().unwrap()),
            "{name}: {differs}"
        );
    }
}

#[test]
fn wrong_arguments_of_doctor_are_refused() {
    let place = Place::new();
    for (arguments, says) in [
        (
            &["--at-least", "G"][..],
            "`G` is no grade: expected A, B, C, D, E or F",
        ),
        (&["--seconds", "1"], "1 is not in 2..=60"),
        (&["--seconds", "61"], "61 is not in 2..=60"),
        (
            &["--no-self-test", "--at-least", "A"],
            "cannot be used with",
        ),
        (&["--history", "plan.toml"], "cannot be used with"),
        (&["--history", "--force"], "cannot be used with"),
        (&["--lab", "none.toml", "--no-self-test"], "none.toml"),
    ] {
        let mut all = vec!["doctor"];
        all.extend(arguments);
        let ended = place.ends(&all);
        ended.assert_code(2);
        ended.assert_says(&[says]);
    }
    let without = place.ends(&["doctor", "--history"]);
    without.assert_code(2);
    assert!(!place.path("store/backsight.db").exists());
}
