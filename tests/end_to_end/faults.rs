//! What goes wrong between the conductor and a host, or is too much for one of them: the trial fails or goes on, the study
//! ends, and nothing is left. `faults.tsv` names every fault and the test that makes it, also of other modules.

use nix::sys::signal::{Signal, kill};
use std::{
    fs,
    io::BufRead as _,
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    bad_link::{BadLink, FAR},
    far,
    place::{self, Place, VALUE},
    processes,
    running::Running,
};

/// A machine at the far end of a link: this one, with a home, a boot id and a monotonic clock of its own.
struct FarMachine {
    place: Place,
    link: BadLink,
    server: Child,
}

impl FarMachine {
    /// Its clock is ahead by so many seconds.
    fn new(ahead: i32) -> Option<Self> {
        let place = Place::new();
        let link = BadLink::new(&place)?;
        far::home_and_keys(&place);
        place.write("boot_id", "another-boot\n");
        let settings = format!(
            "ListenAddress {FAR}\nHostKey {}\nUsePAM no\nStrictModes no\nPrintMotd no\nPermitRootLogin prohibit-password\n\
             PidFile none\nSetEnv TMPDIR={} BACKSIGHT_LEASES={} {}={}\n",
            place.at("host"),
            place.at("tmp"),
            place.at("far-leases"),
            place::MARK,
            place.name,
        );
        place.write("sshd_config", settings);
        let login = format!(
            "name = \"{0}\"\n[host.near-{0}]\nkind = \"local\"\n\
             [host.far-{0}]\nkind = \"ssh\"\nlogin = \"root@{FAR}\"\n\
             options = [\"-i\", \"{1}\", \"-o\", \"StrictHostKeyChecking=no\", \"-o\", \"UserKnownHostsFile=/dev/null\"]\n\
             [testbed.alone]\ntester = \"far-{0}\"\n[testbed.both]\none = \"near-{0}\"\ntwo = \"far-{0}\"\n",
            place.name,
            place.at("key"),
        );
        place.write("lab.toml", login);
        let script = format!(
            "mount --bind {0}/home /root && mount --bind {0}/boot_id /proc/sys/kernel/random/boot_id && \
             mount -t tmpfs none /run && mkdir /run/sshd && exec /usr/sbin/sshd -D -e -f {0}/sshd_config",
            place.at("").trim_end_matches('/')
        );
        let ahead = format!("--monotonic={ahead}");
        let mut server = link
            .far("unshare")
            .args([
                "-m",
                "--propagation",
                "private",
                "-T",
                &ahead,
                "--fork",
                "--kill-child",
            ])
            .args(["--", "sh", "-c", &script])
            .env(place::MARK, &place.name)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let words = std::io::BufReader::new(server.stderr.take().unwrap());
        let mut words = words.lines().map_while(Result::ok);
        assert!(
            words.any(|line| line.contains("listening on")),
            "sshd doesn't listen"
        );
        // It would stand still if nobody read what it says.
        std::thread::spawn(move || words.for_each(drop));
        Some(Self {
            place,
            link,
            server,
        })
    }

    fn begins(&self, arguments: &[&str]) -> Running {
        let program = self.link.near(far::release().to_str().unwrap());
        let with_events = [arguments, &["--json"]].concat();
        Running::start(self.place.put(program, &with_events))
    }

    /// After the machine's end nothing is left.
    fn assert_nothing_left(mut self) {
        // What still runs there was to end by itself, whether or not it was told to.
        let server = i32::try_from(self.server.id()).unwrap();
        processes::until("no agent is left on the far machine", || {
            let below = processes::below(server);
            !below.iter().any(|it| it.command.contains("/agent-"))
        });
        self.server.kill().unwrap();
        self.server.wait().unwrap();
        self.place.assert_nothing_left();
    }
}

impl Drop for FarMachine {
    fn drop(&mut self) {
        let _ended_already = self.server.kill();
        let _ended_already = self.server.wait();
        processes::end_all(&self.place.name);
    }
}

fn long(machine: &FarMachine) {
    let place = &machine.place;
    let body = "[tester]\nrun = [\"@/step run\", \"echo 42\"]\nreset = \"@/step reset\"\n";
    place.benchmark("long", &format!("{body}{VALUE}"));
    place.plan("testbed = \"alone\"\nuse = [\"long\"]\nrounds = 3\n");
}

#[test]
fn a_host_that_is_cut_off_fails_its_trial_ends_its_steps_and_is_measured_again_when_it_is_back() {
    let Some(machine) = FarMachine::new(0) else {
        return;
    };
    long(&machine);
    machine.place.hold("run", 1);
    let mut run = machine.begins(&["run", "plan.toml", "--name", "s", "--host-wait", "120s"]);
    machine.place.until_held("run");
    machine.link.lose_all(true);
    let finished = run.until_trial_finished();
    assert_eq!(finished["failure"]["host_lost"], true, "{finished}");
    run.until("a wait", |event| event["event"] == "host-awaited");
    machine.place.release("run");
    machine.link.lose_all(false);
    run.until("its end", |event| event["event"] == "hosts-back");
    run.ends().assert_code(1);
    let trials = machine.place.trials("s");
    assert_eq!(trials.len(), 3, "{trials:#?}");
    assert!(!trials[0].measured(), "{trials:#?}");
    assert!(
        trials[1..].iter().all(place::Trial::measured),
        "{trials:#?}"
    );
    machine.assert_nothing_left();
}

#[test]
fn half_a_minute_without_a_packet_loses_and_doubles_no_sample() {
    let Some(machine) = FarMachine::new(0) else {
        return;
    };
    long(&machine);
    machine.place.hold("run", 2);
    let mut run = machine.begins(&["run", "plan.toml", "--name", "s", "--host-wait", "120s"]);
    run.until_trial_finished();
    machine.place.until_held("run");
    machine.link.lose_all(true);
    std::thread::sleep(Duration::from_secs(30));
    machine.link.lose_all(false);
    machine.place.release("run");
    run.ends_within(Duration::from_secs(180));
    let trials = machine.place.trials("s");
    assert_eq!(trials.len(), 3, "{trials:#?}");
    assert!(trials[0].measured() && trials[2].measured(), "{trials:#?}");
    machine.assert_nothing_left();
}

/// Programs of both hosts begin together.
fn together(machine: &FarMachine, rounds: u32) {
    let text = format!(
        "name = \"pair\"\nabout = \"x\"\nroles = [\"one\", \"two\"]\n\
         [one]\nrun = \"echo 42\"\n[two]\nrun = \"echo 43\"\n{}",
        VALUE.replace("[metric.value]", "[metric.value]\nfrom = \"one.run\"")
    );
    machine.place.write("benchmarks/pair.toml", text);
    let plan = format!("testbed = \"both\"\nuse = [\"pair\"]\nrounds = {rounds}\n");
    machine.place.write("plan.toml", plan);
}

/// How far apart programs of a trial began, in seconds, and the uncertainty of the far clock, as its page says them.
fn began_apart(machine: &FarMachine, trial: u32) -> f64 {
    let number = trial.to_string();
    let page = machine.place.prints_of(&["show", "s", "--trial", &number]);
    let line = page
        .lines()
        .find(|line| line.contains("start of run, 2 together: within "));
    let words = line.unwrap_or_else(|| panic!("no start in {page}"));
    let words: Vec<&str> = words
        .rsplit("within ")
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let scale = match words[1].trim_end_matches(|c: char| !c.is_alphanumeric()) {
        "ns" => 1e-9,
        "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        unit => panic!("{unit} in {page}"),
    };
    words[0].parse::<f64>().unwrap() * scale
}

#[test]
fn a_control_path_that_is_late_and_turns_packets_around_measures_everything_and_starts_programs_together()
 {
    let Some(machine) = FarMachine::new(0) else {
        return;
    };
    together(&machine, 3);
    machine.link.delay(Duration::from_millis(100));
    let run = machine.begins(&["run", "plan.toml", "--name", "s"]);
    run.ends_within(Duration::from_secs(280)).assert_code(0);
    machine.place.assert_complete("s", 1, 3);
    for trial in 1..=3 {
        // Both clocks are one, but the conductor can't know that: what it tells the far host is off by half of what the
        // way there and the way back may differ.
        let apart = began_apart(&machine, trial);
        assert!(apart < 0.05, "trial {trial}: {apart} s apart");
    }
    machine.assert_nothing_left();
}

#[test]
fn a_clock_that_is_an_hour_off_moves_no_start() {
    // No clock can be behind the machine's own start.
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let (uptime, _) = uptime.split_once('.').unwrap();
    let behind = uptime.parse::<i32>().unwrap().min(7200) / 2;
    for ahead in [3600, -behind] {
        let Some(machine) = FarMachine::new(ahead) else {
            return;
        };
        together(&machine, 2);
        let run = machine.begins(&["run", "plan.toml", "--name", "s"]);
        run.ends().assert_code(0);
        machine.place.assert_complete("s", 1, 2);
        let page = machine.place.prints_of(&["show", "s", "--trial", "1"]);
        let far = format!("far-{}", machine.place.name);
        let clock = page
            .lines()
            .find(|line| line.contains("clock") && line.contains(&far));
        assert!(clock.is_some(), "{page}");
        let apart = began_apart(&machine, 2);
        assert!(apart < 1.0, "{ahead}: {apart} s apart");
        machine.assert_nothing_left();
    }
}

#[test]
fn a_host_that_accepts_and_never_answers_is_given_up_with_its_name() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    // Connections are accepted, kept, and not spoken to.
    std::thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    place.write(
        "lab.toml",
        format!(
            "name = \"{0}\"\n[host.{0}]\nkind = \"ssh\"\nlogin = \"root@127.0.0.1\"\noptions = [\"-p\", \"{port}\"]\n",
            place.name
        ),
    );
    place.prints("b", "echo 42");
    place.plan("use = [\"b\"]\n");
    let begun = Instant::now();
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(2);
    ended.assert_says(&[&place.name, "can't be reached"]);
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    place.assert_nothing_left();
}

#[test]
fn a_gigabyte_of_output_fails_its_trial_and_the_conductor_stays_small() {
    let place = Place::new();
    place.prints("loud", "head -c 1000000000 /dev/zero; echo 42");
    place.plan("use = [\"loud\"]\nrounds = 1\n");
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    let status = format!("/proc/{}/status", run.pid);
    let (said, largest) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut largest_kb = 0;
        while let Ok(text) = fs::read_to_string(&status) {
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let Some(kb) = line.and_then(|line| line.trim().strip_suffix(" kB")) else {
                break;
            };
            largest_kb = kb.parse::<u64>().unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        said.send(largest_kb).unwrap();
    });
    run.ends().assert_code(1);
    let largest_kb = largest.recv().unwrap();
    assert!(largest_kb < 400_000, "the conductor became {largest_kb} kB");
    let trials = place.trials("s");
    assert!(
        trials[0].outcome.contains("more than its output limit"),
        "{trials:#?}"
    );
    place.assert_nothing_left();
}

#[test]
fn one_dead_of_thirty_instances_fails_the_trial_with_its_name_and_lets_nobody_go() {
    let place = Place::new();
    place.write(
        "lab.toml",
        "[group.clients]\nhosts = \"client[01-30]\"\nkind = \"local\"\n[testbed.t]\nclient = { group = \"clients\" }\n",
    );
    // One stands before the barrier when its agent dies; all others wait at it.
    place.script(
        "client",
        "#!/bin/sh\nhere=$(dirname \"$0\")\nbacksight barrier first || exit 1\n\
         if [ $1 = client17 ]; then echo $$ > $here/pid.new; mv $here/pid.new $here/pid; sleep 200; fi\n\
         backsight barrier second || exit 1\necho $1 >> $here/passed\necho value 1\n",
    );
    let text = format!(
        "name = \"meets\"\nabout = \"x\"\nroles = [\"client\"]\ntimeout = \"250s\"\n\
         [client]\nrun = \"{} {{client.host}}\"\n\
         [metric.value]\nunit = \"s\"\nbetter = \"lower\"\nregex = 'value (?<value>\\d+)'\nacross = \"max\"\n",
        place.at("client")
    );
    place.write("benchmarks/meets.toml", text);
    place.plan("use = [\"meets\"]\nrounds = 2\n");
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_there("pid");
    let agents = processes::agents_of(run.pid);
    assert_eq!(agents.len(), 30);
    let step = place.read("pid").trim().parse::<i32>().unwrap();
    let above = |it: &&processes::Process| processes::below(it.pid).iter().any(|it| it.pid == step);
    let agent = agents.iter().find(above).expect("an agent of client17");
    kill(nix::unistd::Pid::from_raw(agent.pid), Signal::SIGKILL).unwrap();
    let finished = run.until_trial_finished();
    assert_eq!(finished["failure"]["host"], "client17", "{finished}");
    assert_eq!(finished["failure"]["host_lost"], true, "{finished}");
    assert!(!place.path("passed").exists(), "somebody was let go");
    // In the second round the same host stands still again.
    fs::remove_file(place.path("pid")).unwrap();
    place.until_there("pid");
    run.signal(Signal::SIGINT);
    run.ends().assert_code(130);
    assert!(!place.path("passed").exists(), "somebody was let go");
    place.assert_nothing_left();
}

/// The table: a fault and the test that makes it.
const FAULTS: &str = include_str!("faults.tsv");

#[test]
fn every_fault_of_the_table_has_its_test() {
    let listed = Command::new(std::env::current_exe().unwrap())
        .args(["--list", "--format", "terse"])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut faults = 0;
    for line in FAULTS.lines().filter(|line| !line.starts_with('#')) {
        let [fault, test] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not a fault and a test: {line}");
        };
        let known = |listed: &str| listed.strip_suffix(": test").is_some_and(|it| it == test);
        assert!(listed.lines().any(known), "{fault}: no test {test}");
        faults += 1;
    }
    assert!(faults >= 30, "{faults} faults");
}
