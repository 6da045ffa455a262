//! Settings of a machine that outlive nothing: kills at every point of a study, two controllers at once, other PID namespaces, hosts
//! that are gone, namespaces that are parts of the machine, and the unit that puts back at the machine's start.
//!
//! Each test has a mount namespace with a machine of its own in it: files stand for parameters of the kernel, and scripts for
//! `systemctl` and `ethtool`, which keep their state in files and can be held.

use backsight_test_needs::Need;
use std::{collections::BTreeMap, fs, process::Command};

use crate::{
    place::{Place, VALUE},
    processes,
    running::{Ended, Running},
};

/// The machine's own files below /proc/sys, with what stands in them.
const PARAMETERS: [(&str, &str); 2] = [("vm/swappiness", "60\n"), ("vm/dirty_ratio", "20\n")];
/// What a study asks of it.
const PREPARE: &str = "[prepare]\nsysctl.\"vm.swappiness\" = 7\nsysctl.\"vm.dirty_ratio\" = 5\nnet.tso = { interface = \"lo\", on = false }\n\
    net.gso = { interface = \"lo\", on = false }\nservices.stop = [\"one.service\", \"two.timer\"]\n";
/// A program whose state changes at once or not at all, as a kernel's does: it may be killed at any point. It logs each call in one line and may be held there: `hold-call` has the number of the call.
const CALLED: &str = r#"#!/bin/sh
cd @ || exit 1
echo "${0##*/} $*" >> calls
if [ -e hold-call ] && [ "$(wc -l < calls)" = "$(cat hold-call)" ]; then
    : > held-call
    while [ -e hold-call ]; do sleep 0.01; done
fi
"#;
const SYSTEMCTL: &str = r#"
case $1 in
show) read -r state < "state/$5"; echo "$state" ;;
stop) echo inactive > "new.$$" && mv "new.$$" "state/$3" ;;
start) echo active > "new.$$" && mv "new.$$" "state/$3" ;;
esac
"#;
const ETHTOOL: &str = r#"
case $1 in
-k) read -r tso < state/tso; read -r gso < state/gso
    printf 'tcp-segmentation-offload: %s\ngeneric-segmentation-offload: %s\n' "$tso" "$gso" ;;
-K) echo "$4" > "new.$$" && mv "new.$$" "state/$3" ;;
esac
"#;
/// What every script begins with: the machine, and functions with limits.
const BEGIN: &str = r#"
set -e
mkdir -p /var/lib/backsight && mount -t tmpfs none /var/lib/backsight
mkdir -p /run/systemd && mount -t tmpfs none /run/systemd && mkdir /run/systemd/system
machine() { mount --bind machine/swappiness /proc/sys/vm/swappiness; mount --bind machine/dirty_ratio /proc/sys/vm/dirty_ratio; }
machine
export PATH="$PWD/bin:$PATH"
B="PROGRAM --store store"
until_there() { for i in $(seq 6000); do [ -e "$1" ] && return; sleep 0.01; done; echo "waited in vain for $1"; exit 1; }
until_gone() { for i in $(seq 6000); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.01; done; echo "waited in vain for the end of $1"; exit 1; }
value() { cat machine/swappiness; }
"#;

/// A place with such a machine, where a benchmark says what a parameter is and may be held in each of its phases.
fn place(prepare: &str) -> Place {
    let place = Place::new();
    for folder in ["machine", "state", "bin"] {
        fs::create_dir(place.path(folder)).unwrap();
    }
    for (parameter, text) in PARAMETERS {
        let (_, name) = parameter.rsplit_once('/').unwrap();
        place.write(&format!("machine/{name}"), text);
    }
    for (name, text) in [
        ("one.service", "active\n"),
        ("two.timer", "active\n"),
        ("tso", "on\n"),
        ("gso", "on\n"),
    ] {
        place.write(&format!("state/{name}"), text);
    }
    place.write("calls", "");
    for (program, what) in [("systemctl", SYSTEMCTL), ("ethtool", ETHTOOL)] {
        let text = CALLED.replace('@', &place.at("")) + what;
        place.script(&format!("bin/{program}"), &text);
    }
    let body = "[tester]\nstartup = \"@/step startup\"\nrun = [\"@/step run\", \"cat /proc/sys/vm/swappiness\"]\n\
        collect = \"@/step collect\"\nreset = \"@/step reset\"\n";
    place.benchmark("swap", &format!("{body}{VALUE}"));
    place.plan(&format!("use = [\"swap\"]\nrounds = 1\n{prepare}"));
    place
}

/// Runs a script on the machine; `$B` is the program.
fn on_machine(place: &Place, script: &str) -> Ended {
    begins(place, script).ends()
}

fn begins(place: &Place, script: &str) -> Running {
    let begin = BEGIN.replace("PROGRAM", env!("CARGO_BIN_EXE_backsight"));
    let script = format!("{begin}\n{script}");
    let command = place.put(Command::new("unshare"), &["-m", "bash", "-c", &script]);
    Running::start(command)
}

/// Everything that the machine is.
fn machine(place: &Place) -> BTreeMap<String, String> {
    let files = ["machine", "state"].into_iter().flat_map(|folder| {
        let entries = fs::read_dir(place.path(folder)).unwrap();
        entries.map(move |entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            format!("{folder}/{name}")
        })
    });
    files
        .map(|file| (file.clone(), place.read(&file)))
        .collect()
}

/// Who is killed.
#[derive(Debug, Clone, Copy)]
enum Victims {
    Conductor,
    Agent,
    Both,
    /// The agent's supervisor too: nobody is left.
    All,
}

const VICTIMS: [Victims; 4] = [
    Victims::Conductor,
    Victims::Agent,
    Victims::Both,
    Victims::All,
];

impl Victims {
    /// The processes, where `$study` is the conductor, `$guard` the supervisor and `$agent` the agent. Whoever would put back stands
    /// still before the first of them is killed.
    fn kill(self) -> &'static str {
        match self {
            Self::Conductor => "kill -9 $study",
            Self::Agent => "kill -9 $agent",
            Self::Both => "kill -STOP $agent; kill -9 $study $agent",
            Self::All => "kill -STOP $guard $agent; kill -9 $study $guard $agent",
        }
    }
}

/// Where a study is held when somebody is killed.
#[derive(Debug, Clone)]
enum Point {
    /// In this call of a program of the machine's: settings are read, made, read again, or put back.
    Call(usize),
    /// In this phase of the trial.
    Phase(&'static str),
}

const PHASES: [&str; 4] = ["startup", "run", "collect", "reset"];

/// Runs a study, kills somebody at a point of it, and has `restore` put back what is left.
fn kill_at(point: &Point, victims: Victims) {
    let place = place(PREPARE);
    let before = machine(&place);
    let (hold, held) = match point {
        Point::Call(number) => {
            place.write("hold-call", number.to_string());
            ("hold-call".to_owned(), "held-call".to_owned())
        }
        Point::Phase(phase) => {
            place.hold(phase, 1);
            (format!("hold-{phase}"), format!("held-{phase}"))
        }
    };
    let script = format!(
        r#"
$B run plan.toml --name a > said 2>&1 & study=$!
until_there {held}
guard=$(pgrep -P $study | head -n 1)
agent=$(pgrep -P $guard | head -n 1)
{}
rm {hold}
wait $study || true
until_gone $guard
$B restore
echo again
$B restore
ls /var/lib/backsight
"#,
        victims.kill()
    );
    let ended = on_machine(&place, &script);
    let what = format!("{victims:?} at {point:?}");
    let said = ended.stdout();
    assert_eq!(
        ended.status.code(),
        Some(0),
        "{what}: {said} {}",
        ended.stderr
    );
    assert_eq!(
        machine(&place),
        before,
        "{what}: {said}\n{}",
        place.read("said")
    );
    let (_, again) = said.split_once("again\n").unwrap();
    let expected = format!("{}: nothing is left changed\njournal.lock\n", place.name);
    assert_eq!(again, expected, "{what}: {said}");
    place.assert_nothing_left();
}

/// Every point of a study: the calls of programs that it makes, and the phases of its trial.
fn points() -> Vec<Point> {
    let place = place(PREPARE);
    let before = machine(&place);
    let ended = on_machine(&place, "$B run plan.toml --name a");
    ended.assert_code(0);
    ended.assert_says(&["5 settings made, 0 were so"]);
    assert_eq!(machine(&place), before);
    let calls = 1..=place.read("calls").lines().count();
    let phases = PHASES.into_iter().map(Point::Phase);
    calls.map(Point::Call).chain(phases).collect()
}

#[test]
fn killed_at_any_point_of_a_study_by_anybody_the_machine_is_as_it_was() {
    if Need::Root.is_missing() {
        return;
    }
    let mut points = points();
    // Every other call, and every phase; each with another victim than its neighbours.
    points.retain(|point| !matches!(point, Point::Call(number) if number % 2 == 0));
    assert!(points.len() >= 20, "{points:?}");
    for (point, victims) in points.iter().zip(VICTIMS.into_iter().cycle()) {
        kill_at(point, victims);
    }
}

#[test]
#[ignore = "half an hour: `make kills`"]
fn killed_again_and_again_at_every_point_by_everybody_the_machine_is_as_it_was() {
    if Need::Root.is_missing() {
        return;
    }
    const TIMES: usize = 5;
    let points = points();
    let began = std::time::Instant::now();
    for point in &points {
        for victims in VICTIMS {
            for _ in 0..TIMES {
                kill_at(point, victims);
            }
        }
        println!("{point:?}: as it was after {} kills", VICTIMS.len() * TIMES);
    }
    let kills = points.len() * VICTIMS.len() * TIMES;
    println!(
        "{} points, {kills} kills, {:.0?}: as it was each time",
        points.len(),
        began.elapsed()
    );
}

#[test]
fn a_study_that_runs_keeps_its_settings_also_where_nobody_sees_its_process() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place(PREPARE);
    let before = machine(&place);
    place.hold("run", 1);
    // In a PID namespace of its own nobody is whom the journal names; and the other way round.
    let script = r#"
alone() { unshare --pid --fork --kill-child --mount-proc bash -c "$(declare -f machine); machine; exec $*"; }
$B run plan.toml --name a > said 2>&1 & study=$!
until_there held-run
echo "here: $($B restore)"
echo "elsewhere: $(alone $B restore)"
value
rm hold-run held-run
wait $study
value
echo 2 > hold-run
alone $B run plan.toml --name b > said 2>&1 & study=$!
until_there held-run
echo "from outside: $($B restore)"
value
kill -9 $(pgrep -P $study)
rm hold-run
wait $study || echo killed
$B restore
value
"#;
    let ended = on_machine(&place, script);
    ended.assert_code(0);
    let host = &place.name;
    let stay = format!("{host}: 6 settings of studies that run stay");
    ended.assert_says(&[
        &format!("here: {stay}"),
        &format!("elsewhere: {stay} 7 60 from outside: {stay} 7 killed"),
        "sysctl (/proc/sys/vm/swappiness) of study `b`: put back",
        "(unit one.service) of study `b`: put back 60",
    ]);
    assert_eq!(machine(&place), before);
}

#[test]
fn of_two_controllers_the_second_is_refused_what_the_first_has_and_each_puts_back_its_own() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place("[prepare]\nsysctl.\"vm.swappiness\" = 7\n");
    let before = machine(&place);
    place.write(
        "same.toml",
        "use = [\"swap\"]\nrounds = 1\n[prepare]\nmemory.swappiness = 9\n",
    );
    place.hold("run", 1);
    // Controllers that share the machine's leases, and such that don't, as two that reach it by ssh. Both studies are called `a`.
    let script = r#"
other() { BACKSIGHT_LEASES=$PWD/other-leases "${B%% *}" --store other-store "$@"; }
$B run plan.toml --name a > said 2>&1 & study=$!
until_there held-run
$B run same.toml --name b && exit 1
$B run same.toml --name b --wait 1ms && exit 1
echo "leased: $(value)"
other run same.toml --name a && exit 1
echo "held: $(value)"
rm hold-run
wait $study
value
"#;
    let ended = on_machine(&place, script);
    ended.assert_code(0);
    ended.assert_says(&[
        "is leased to study `a`",
        "leased: 7",
        "study `a` holds /proc/sys/vm/swappiness",
        "held: 7",
        "60",
    ]);
    assert_eq!(machine(&place), before);
    // Two at once that don't want the same: the end of one leaves the other's, though both have one name.
    let place = place_with_two(&before);
    let script = r#"
other() { BACKSIGHT_LEASES=$PWD/other-leases "${B%% *}" --store other-store "$@"; }
$B run plan.toml --name a > said 2>&1 & study=$!
until_there held-run
other run other.toml --name a
echo "first still: $(value)"
cat machine/dirty_ratio
rm hold-run
wait $study
value
"#;
    let ended = on_machine(&place, script);
    ended.assert_code(0);
    ended.assert_says(&["n=1 5.000", "first still: 7 20 60"]);
    assert_eq!(machine(&place), before);
}

/// A place whose plans `plan.toml` (held) and `other.toml` (not) prepare different things.
fn place_with_two(before: &BTreeMap<String, String>) -> Place {
    let place = place("[prepare]\nsysctl.\"vm.swappiness\" = 7\n");
    place.prints("dirty", "cat /proc/sys/vm/dirty_ratio");
    place.write(
        "other.toml",
        "use = [\"dirty\"]\nrounds = 1\n[prepare]\nsysctl.\"vm.dirty_ratio\" = 5\n",
    );
    place.hold("run", 1);
    assert_eq!(machine(&place), *before);
    place
}

#[test]
fn the_unit_of_the_machines_start_is_installed_puts_back_and_goes() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place(PREPARE);
    let before = machine(&place);
    place.hold("run", 1);
    let script = r#"
mount -t tmpfs none /usr/local/lib
mkdir -p /etc/systemd && mount -t tmpfs none /etc/systemd
$B restore --install
echo "again: $($B restore --install)"
find /usr/local/lib /etc/systemd -type f -o -type l
# The machine loses its power: nobody is left who puts back.
$B run plan.toml --name a > said 2>&1 & study=$!
until_there held-run
guard=$(pgrep -P $study | head -n 1)
kill -STOP $guard $(pgrep -P $guard); kill -9 $study $guard $(pgrep -P $guard)
rm hold-run
wait $study || echo "killed at $(value)"
# What systemd does.
cd "$(sed -n 's/^WorkingDirectory=//p' /etc/systemd/system/backsight-restore.service)"
command=$(sed -n 's/^ExecStart=//p' /etc/systemd/system/multi-user.target.wants/backsight-restore.service)
env -i PATH="$PATH" $command
cd "$OLDPWD"
$B restore --uninstall
echo "again: $($B restore --uninstall)"
echo "left: $(find /usr/local/lib /etc/systemd -type f -o -type l)"
rm -r /run/systemd/system
$B restore --install && exit 1
echo "left: $(find /usr/local/lib /etc/systemd -type f -o -type l)"
"#;
    let ended = on_machine(&place, script);
    ended.assert_code(0);
    let host = &place.name;
    let stands =
        format!("{host}: at each start it puts back what an interrupted study left changed");
    let gone = format!("{host}: at its start nothing is put back");
    ended.assert_says(&[
        "/etc/systemd/system/backsight-restore.service: written",
        &format!("again: {host}: nothing is to do {stands}"),
        "/usr/local/lib/backsight/backsight-",
        "killed at 7",
        "of study `a`: put back",
        "multi-user.target.wants/backsight-restore.service: removed",
        &format!("again: {host}: nothing is to do {gone} left: {host}: systemd doesn't run here"),
    ]);
    assert_eq!(machine(&place), before);
    assert!(place.read("calls").contains("systemctl daemon-reload"));
}

#[test]
fn a_machine_is_prepared_once_for_a_lab_of_its_namespaces() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place("[prepare]\nsysctl.\"vm.swappiness\" = 7\n");
    let lab = format!(
        "name = \"{}\"\n[host.left]\nkind = \"netns\"\n[host.right]\nkind = \"netns\"\n\
         [[link]]\nends = {{ left = \"10.77.1.1/24\", right = \"10.77.1.2/24\" }}\n\
         [testbed.pair]\ntester = \"left\"\npeer = \"right\"\n",
        place.name
    );
    place.write("lab.toml", lab);
    let text = place.read("benchmarks/swap.toml");
    let text = text.replace("roles = [\"tester\"]", "roles = [\"tester\", \"peer\"]");
    let text = text.replace("[metric.value]", "[metric.value]\nfrom = \"tester.run\"");
    place.write("benchmarks/swap.toml", text + "[peer]\nrun = \"true\"\n");
    let before = machine(&place);
    place.ends(&["lab", "up"]).assert_code(0);
    let named = "use = [\"swap\"]\nrounds = 1\n[prepare]\nnet.congestion-control = \"reno\"\n";
    place.write("named.toml", named);
    let script = r#"
$B run plan.toml --name a
value
$B run named.toml --name b && exit 1
value
"#;
    let ended = on_machine(&place, script);
    place.ends(&["lab", "down"]).assert_code(0);
    ended.assert_code(0);
    ended.assert_says(&[
        "here: 1 setting made, 0 were so",
        "n=1 7.000",
        "60",
        "host `here` can't be prepared: net.congestion-control",
        "each network namespace has its own",
    ]);
    assert_eq!(machine(&place), before);
    place.assert_nothing_left();
}

#[test]
fn an_agent_that_is_killed_between_trials_is_followed_by_one_that_prepares_again() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place("rounds = 2\n[prepare]\nsysctl.\"vm.swappiness\" = 7\n");
    let plan = place.read("plan.toml").replacen("rounds = 1\n", "", 1);
    place.write("plan.toml", plan);
    let before = machine(&place);
    place.hold("run", 1);
    let script = r#"
$B run plan.toml --name a > said 2>&1 & study=$!
until_there held-run
kill -9 $(pgrep -P $(pgrep -P $study | head -n 1) | head -n 1)
rm hold-run
wait $study || true
cat said
$B compare a a || true
value
"#;
    let ended = on_machine(&place, script);
    // The first trial failed, the second was measured on a machine that was prepared.
    ended.assert_says(&["n=1", "7.000", "60"]);
    assert_eq!(machine(&place), before);
    processes::until_gone(&place.name);
}
