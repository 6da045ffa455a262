//! `make bench`: many hosts: how exactly programs start together, how soon the first does, and what a host costs.
//!
//! Machines that `ssh` reaches are this one, through a real `sshd` for each connection, each with a home and a boot of its
//! own; so all of them have one clock, by which programs say themselves when they run, and Backsight doesn't know that.

use backsight_store::Store;
use std::{
    fmt::Write as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

mod place;

use place::{Place, benchmark, median, milliseconds, monotonic, on_runtime, row, sh, wanted};

const STARTS: usize = 200;
/// A metric of any trial.
const WALL: &str =
    "[metric.wall]\nunit = \"s\"\nbetter = \"lower\"\nresource = \"wall\"\nfrom = \"r1.run\"\n";

fn main() {
    if std::env::args().nth(1).as_deref() == Some("instant") {
        println!("{}", monotonic());
        std::thread::sleep(Duration::from_millis(50));
        return;
    }
    let want = wanted();
    row("figure", "measured", "asked", "beside it");
    let itself = std::env::current_exe().expect("this program");
    let living = format!("{} instant", itself.display());
    if want("skew") {
        for hosts in [3, 8, 30] {
            skew(Place::local, "", hosts, "programs that live 50 ms", &living);
            skew(
                Place::local,
                "",
                hosts,
                "`date`, which ends at once",
                "date +%s%N",
            );
        }
    }
    if want("ssh-skew") {
        skew(Place::ssh, "ssh ", 8, "programs that live 50 ms", &living);
    }
    if want("first-step") {
        first_step(8, &living);
    }
    if want("check") {
        check(Place::local, "", 30);
        check(Place::ssh, "ssh ", 30);
    }
    if want("bulk") {
        bulk(1 << 30, 5);
    }
    if want("agents") {
        for hosts in [50, 100, 200] {
            agents(hosts);
        }
    }
}

/// A kind of place with so many hosts, this benchmark and this plan.
type Make = fn(usize, &str, &str) -> Place;

/// A benchmark whose programs print an instant, a metric for each.
fn instants(hosts: usize, program: &str) -> String {
    let mut metrics = String::new();
    for n in 1..=hosts {
        let _ = writeln!(
            metrics,
            "[metric.instant{n}]\nunit = \"ns\"\nbetter = \"lower\"\nregex = '(?<value>\\d+)'\nfrom = \"r{n}.run\""
        );
    }
    benchmark(hosts, &format!("\"{program}\""), &metrics)
}

/// What the programs of each trial printed.
fn printed(place: &Place, study: &str) -> Vec<Vec<f64>> {
    on_runtime(async {
        let store = Store::open_existing(place.store()).await.expect("a store");
        let study = store.study(study).await.expect("the study");
        let results = store.result_set(study.id).await.expect("results");
        let trials = results.series[0].trials.len();
        let of_trial = |trial: usize| {
            let series = results.series.iter();
            series.map(move |series| series.trials[trial].values[0])
        };
        (0..trials).map(|trial| of_trial(trial).collect()).collect()
    })
}

fn skew(make: Make, kind: &str, hosts: usize, programs: &str, program: &str) {
    let plan = format!("use = [\"bench\"]\nrounds = {STARTS}\n");
    let place = make(hosts, &instants(hosts, program), &plan);
    let begin = Instant::now();
    let status = place
        .run()
        .stderr(Stdio::null())
        .status()
        .expect("it starts");
    assert!(status.success(), "the skew study failed");
    let took = begin.elapsed() / u32::try_from(STARTS).expect("a small number");
    let mut skews: Vec<f64> = printed(&place, "bench-1")
        .iter()
        .map(|instants| {
            let (least, most) = instants
                .iter()
                .fold((f64::MAX, f64::MIN), |(a, b), t| (a.min(*t), b.max(*t)));
            (most - least) * 1e-6
        })
        .collect();
    skews.sort_by(f64::total_cmp);
    let (asked, reference) = match hosts {
        3 => ("≤ 1 ms", "references: median 3 ms"),
        8 => ("≤ 2 ms", "netcat and ssh: 49 ms"),
        _ => ("≤ 5 ms", "netcat and ssh: 235 ms"),
    };
    row(
        &format!("start skew over {hosts} {kind}hosts, {STARTS} starts, p99"),
        &format!("{:.2} ms", skews[STARTS * 99 / 100 - 1]),
        asked,
        &format!(
            "{programs}; median {:.2} ms, max {:.2} ms; {} a trial; {reference}",
            skews[STARTS / 2],
            skews[STARTS - 1],
            milliseconds(took)
        ),
    );
}

/// From the start of `run` until the last host's first program runs: with no agent on any host; with one on each; and with the login of
/// the study before.
fn first_step(hosts: usize, program: &str) {
    let plan = "use = [\"bench\"]\nrounds = 1\n";
    let (mut cold, mut kept, mut warm, mut floor) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let instants = instants(hosts, program);
    for _ in 0..5 {
        let place = Place::ssh(hosts, &instants, plan);
        for (run, times) in [
            ("bench-1", &mut cold),
            ("bench-2", &mut kept),
            ("bench-3", &mut warm),
        ] {
            let begin = monotonic();
            let mut command = place.run();
            if run == "bench-3" {
                // No folder is there for a login that could be kept.
                command.env("XDG_RUNTIME_DIR", "/dev/null");
            }
            let status = command.stderr(Stdio::null()).status();
            assert!(status.expect("it starts").success(), "the study failed");
            let last = printed(&place, run)[0].iter().copied().fold(0.0, f64::max);
            times.push(Duration::from_nanos((last - begin as f64) as u64));
        }
        floor.push(logins(&place, hosts));
    }
    let beside = format!(
        "floor, as many logins by `ssh` at once that run `true`: {}",
        milliseconds(median(floor))
    );
    for (figure, times, asked) in [
        ("without agents there", cold, "≤ 2 s"),
        ("with agents there", warm, "≤ 0.3 s"),
        ("with agents and logins there", kept, "≤ 0.3 s"),
    ] {
        row(
            &format!("`run` to first programs on {hosts} ssh hosts, {figure}"),
            &milliseconds(median(times)),
            asked,
            &beside,
        );
    }
}

/// How long `ssh` takes to run `true` on every host, at once.
fn logins(place: &Place, hosts: usize) -> Duration {
    let here = place.path().display();
    let begin = Instant::now();
    let started: Vec<_> = (1..=hosts)
        .map(|n| {
            Command::new("ssh")
                .args([
                    "-T",
                    "-x",
                    "-a",
                    "-o",
                    "BatchMode=yes",
                    "-o",
                    "LogLevel=ERROR",
                ])
                .args([
                    "-o",
                    "StrictHostKeyChecking=no",
                    "-o",
                    "UserKnownHostsFile=/dev/null",
                ])
                .args(["-i", &format!("{here}/key")])
                .args(["-o", &format!("ProxyCommand={here}/dial %h")])
                .args([&format!("root@bench-{n}"), "true"])
                .stdin(Stdio::null())
                .spawn()
                .expect("ssh")
        })
        .collect();
    for mut child in started {
        assert!(child.wait().expect("it ends").success(), "a login failed");
    }
    begin.elapsed()
}

/// How long a build of one file that can't be packed takes to a machine that `ssh` reaches until it is on its disk, beside the same file
/// by `ssh` and `cat`, and by `scp`; one after the other, each with the file as it was before.
fn bulk(size: u64, times: usize) {
    let place = Place::ssh(
        1,
        &benchmark(1, "\"true\"", WALL),
        "use = [\"bench\"]\nrounds = 1\n",
    );
    let here = place.path().display().to_string();
    let done = |script: &str| {
        let begin = Instant::now();
        let script = script.replace('@', &here);
        let done = sh(&script).current_dir(place.path()).output().expect("sh");
        assert!(done.status.success(), "{script}: {done:?}");
        begin.elapsed()
    };
    done(&format!("head -c {size} /dev/urandom > noise"));
    done(
        "mkdir repo && cd repo && git init -q -b main && echo 1 > speed && git add . && \
         git -c user.name=A -c user.email=a@example.org commit -q -m v1 && git tag v1",
    );
    let target = "name = \"app\"\nsource = { git = { url = \"repo\" } }\n\
         build = { run = \"ln @/noise noise || cp @/noise noise\", keep = [\"noise\"] }\n\
         activate = { boot = \"install\", run = \"true\" }\n";
    place.write("app.toml", &target.replace('@', &here));
    let options = "-o User=root -o BatchMode=yes -o LogLevel=ERROR -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i @/key \
         -o 'ProxyCommand=@/dial %h'";
    let ours = |study: &str| {
        let step = "step plan.toml --target app --from v1 --to v1 --json --name";
        let mut command = Command::new(place::BINARY);
        command.args(step.split(' ').chain([study, "--store", study]));
        let done = command
            .current_dir(place.path())
            .output()
            .expect("it starts");
        assert!(done.status.success(), "{done:?}");
        let lines = String::from_utf8(done.stdout).expect("text");
        let events: Vec<serde_json::Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("an event"))
            .collect();
        let time = |name: &str| {
            let event = events.iter().find(|event| event["event"] == name);
            let time = event.expect("the event")["time"].as_str().expect("a time");
            time.parse::<jiff::Timestamp>().expect("a time")
        };
        let took = time("boot-finished").duration_since(time("boot-started"));
        Duration::try_from(took).expect("later")
    };
    let (mut own, mut cat, mut scp) = (Vec::new(), Vec::new(), Vec::new());
    for time in 0..times {
        own.push(ours(&format!("bulk-{time}")));
        done("rm -rf @/home-bench-1/.cache/backsight/builds @/bulk-*");
        cat.push(done(&format!(
            "ssh {options} bench-1 'cat > copy && sync copy && rm copy' < noise"
        )));
        scp.push(done(&format!(
            "scp -O -q {options} noise bench-1:copy && sync @/home-bench-1/copy && rm @/home-bench-1/copy"
        )));
    }
    let ratio = |beside: &[Duration]| {
        let ratios = own.iter().zip(beside);
        let mut ratios: Vec<f64> = ratios
            .map(|(own, beside)| own.as_secs_f64() / beside.as_secs_f64())
            .collect();
        ratios.sort_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    };
    let beside = format!(
        "`cat | ssh`: {}, {:.2} times; `scp`: {}, {:.2} times (medians of {times}, interleaved)",
        milliseconds(median(cat.clone())),
        ratio(&cat),
        milliseconds(median(scp.clone())),
        ratio(&scp),
    );
    row(
        &format!("a build of {} MiB to one ssh host", size >> 20),
        &milliseconds(median(own.clone())),
        "",
        &beside,
    );
}

fn check(make: Make, kind: &str, hosts: usize) {
    let place = make(
        hosts,
        &benchmark(hosts, "\"true\"", ""),
        "use = [\"bench\"]\nrounds = 1\n",
    );
    let check = || {
        let begin = Instant::now();
        let mut command = Command::new(place::BINARY);
        let checked = command.args(["lab", "check"]).current_dir(place.path());
        let checked = checked.output().expect("it starts");
        let words = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(checked.status.success(), "{words}");
        begin.elapsed()
    };
    let first = check();
    row(
        &format!("`lab check` of {hosts} {kind}hosts"),
        &milliseconds(median((0..5).map(|_| check()).collect())),
        "≤ 3 s",
        &format!(
            "the first one, which puts agents there: {}",
            milliseconds(first)
        ),
    );
}

/// A trial of 1,000 steps on each of so many hosts: how long it takes, and the largest that the conductor becomes.
fn agents(hosts: usize) {
    let metric = "[metric.wall]\nunit = \"s\"\nbetter = \"lower\"\nresource = \"wall\"\nfrom = \"all.run\"\nacross = \"max\"\n";
    let steps = vec!["\"true\""; 1000].join(", ");
    let benchmark = format!(
        "name = \"bench\"\nabout = \"bench\"\nroles = [\"all\"]\n[all]\nrun = [{steps}]\n{metric}"
    );
    let place = Place::local(
        hosts,
        &benchmark,
        "testbed = \"all\"\nuse = [\"bench\"]\nrounds = 1\n",
    );
    place.write(
        "lab.toml",
        &format!("[group.all]\nhosts = \"bench-[1-{hosts}]\"\nkind = \"local\"\n[testbed.all]\nall = {{ group = \"all\" }}\n"),
    );
    let begin = Instant::now();
    let mut child = place
        .run()
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let status_file = format!("/proc/{}/status", child.id());
    let mut largest_kb = 0;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        let text = std::fs::read_to_string(&status_file).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        largest_kb = kb.unwrap_or(0).max(largest_kb);
        std::thread::sleep(Duration::from_millis(100));
    };
    assert!(status.success(), "the study failed");
    let took = begin.elapsed();
    let steps = hosts * 1000;
    row(
        &format!("{hosts} agents × 1,000 steps, conductor's memory a host"),
        &format!("{:.2} MB", largest_kb as f64 / 1e3 / hosts as f64),
        "≤ 5 MB",
        &format!(
            "the whole {:.0} MB; {:.1} s, {:.0} µs a step on all processors",
            largest_kb as f64 / 1e3,
            took.as_secs_f64(),
            took.as_secs_f64() * 1e6 / steps as f64
        ),
    );
}
