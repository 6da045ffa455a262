//! Containers as hosts: with files and links of their own, made anew when the lab says so, and gone whatever happens.

use backsight_test_needs::Need;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Output},
};

use crate::{place::Place, processes, running::Running};

/// Programs of busybox that steps and our own questions need.
const PROGRAMS: &[&str] = &[
    "sh", "cat", "date", "df", "echo", "head", "hostname", "id", "ip", "ls", "ping", "rm", "sleep",
    "test", "touch", "tr", "uname", "wc",
];

/// The smallest root in which our program runs: busybox, and the libraries of the program.
fn make_root(root: &Path) {
    for folder in [
        "etc",
        "proc",
        "sys",
        "dev",
        "run",
        "tmp",
        "root",
        "var",
        "usr/bin",
        "usr/lib",
        "usr/lib64",
    ] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for name in ["bin", "lib", "lib64"] {
        symlink(format!("usr/{name}"), root.join(name)).unwrap();
    }
    fs::write(root.join("etc/os-release"), "ID=tiny\nPRETTY_NAME=Tiny\n").unwrap();
    fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
    for program in PROGRAMS {
        symlink("busybox", root.join("bin").join(program)).unwrap();
    }
    let listed = Command::new("ldd")
        .arg(env!("CARGO_BIN_EXE_backsight"))
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let libraries = listed.split_whitespace().filter(|it| it.starts_with('/'));
    for library in libraries {
        let place = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(library, place).unwrap();
    }
}

/// A lab of a namespace and a container made of this, joined by a link, and a plan that measures across it. The container says
/// whether it finds what a trial before has written.
fn place(made_of: &str) -> Place {
    let place = Place::new();
    make_root(&place.path("root"));
    let made_of = made_of.replace('@', &place.at("root"));
    place.write(
        "lab.toml",
        format!(
            "name = \"{}\"\n[host.near]\nkind = \"netns\"\n[host.box]\nkind = \"container\"\n{made_of}\n\
             sysctl = {{ \"net.ipv4.ip_default_ttl\" = \"33\" }}\n\
             [[link]]\nends = {{ near = \"10.91.1.1/24\", box = \"10.91.1.2/24\" }}\n\
             [testbed.pair]\nclient = \"near\"\nserver = \"box\"\n",
            place.name
        ),
    );
    place.write(
        "benchmarks/answer.toml",
        "name = \"answer\"\nabout = \"a test's own\"\nroles = [\"server\", \"client\"]\n\
         [server]\nstartup = '''sh -c 'hostname; echo ttl $(cat /proc/sys/net/ipv4/ip_default_ttl); ip address show {server.interface}; \
         test -e /var/mark && echo marked || echo clean; touch /var/mark; cat /etc/os-release' '''\n\
         [client]\nrun = '''sh -c 'ping -c 1 -W 5 {server.data}; echo value 42' '''\n\
         [metric.value]\nunit = \"s\"\nbetter = \"lower\"\nregex = 'value (?<value>\\d+)'\n",
    );
    // The plan's folder is seen there too: what of it is needed.
    place.write("rules.txt", "beside the plan\n");
    place.plan(
        "use = [\"answer\"]\nrounds = 2\nfiles = [\"rules.txt\"]\n[[variant]]\nname = \"only\"\nserver.setup = \"sh -c 'cat rules.txt'\"\n",
    );
    place
}

fn with_podman(place: &Place, arguments: &[&str]) -> Output {
    // Engines raise limits as they like, which not every machine lets them; and crun knows no mixture of both kinds of cgroups.
    place.write(
        "containers.conf",
        "[containers]\ndefault_ulimits = [\"nofile=1024:4096\", \"nproc=4096:4096\"]\n[engine]\nruntime = \"runc\"\n",
    );
    let mut command = Command::new("podman");
    command
        .args(arguments)
        .env("CONTAINERS_CONF", place.path("containers.conf"));
    command.output().unwrap()
}

/// Runs the plan, and says what the container said in each of its two trials.
fn measured(place: &Place, set_up: impl Fn(&mut Command)) -> Vec<String> {
    place.ends(&["lab", "up"]).assert_code(0);
    let mut run = place.command(&["run", "plan.toml", "--name", "s"]);
    set_up(&mut run);
    let ended = Running::start(run).ends();
    ended.assert_code(0);
    place.assert_complete("s", 1, 2);
    [1, 2].map(|trial| place.raw("s", trial)).into()
}

fn assert_down(place: &Place) {
    place.ends(&["lab", "down"]).assert_code(0);
    assert_eq!(place.namespaces(), Vec::<String>::new());
    place.assert_nothing_left();
}

#[test]
fn a_folder_is_a_host_with_links_and_is_as_it_was_before_each_trial_or_study_or_never() {
    if Need::Root.is_missing() {
        return;
    }
    for (engine, restore, second) in [
        ("unshare", "trial", "clean"),
        ("unshare", "study", "marked"),
        ("unshare", "never", "marked"),
    ] {
        let place = place(&format!(
            "folder = \"@\"\nengine = \"{engine}\"\nrestore = \"{restore}\""
        ));
        let said = measured(&place, |_| {});
        for part in [
            "box",
            "ttl 33",
            "10.91.1.2/24",
            "to-near",
            "ID=tiny",
            "1 packets transmitted, 1 received",
            "beside the plan",
        ] {
            assert!(said[0].contains(part), "{part}: {}", said[0]);
        }
        assert!(said[0].contains("clean"), "{engine} {restore}: {}", said[0]);
        assert!(said[1].contains(second), "{engine} {restore}: {}", said[1]);
        let stays = place.path("root/var/mark").exists();
        assert_eq!(stays, restore == "never");
        assert!(!place.path("root/run/backsight").exists());
        let shown = place.prints_of(&["lab", "show"]);
        assert!(shown.contains("container"), "{shown}");
        place.ends(&["lab", "check"]).assert_code(0);
        let record = place.prints_of(&["record", "box", "--lab", "lab.toml"]);
        assert!(
            record.contains("Tiny") || record.contains("tiny"),
            "{record}"
        );
        assert_down(&place);
    }
}

#[test]
fn systemd_nspawn_runs_a_folder() {
    if Need::Root.is_missing() || Need::Nspawn.is_missing() {
        return;
    }
    let place = place("folder = \"@\"\nengine = \"nspawn\"\nrestore = \"trial\"");
    let said = measured(&place, |_| {});
    assert_clean(&said);
    assert!(!place.path("root/var/mark").exists());
    assert_down(&place);
}

fn assert_clean(said: &[String]) {
    for said in said {
        for part in [
            "box",
            "10.91.1.2/24",
            "ID=tiny",
            "clean",
            "1 packets transmitted, 1 received",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}

/// A daemon of Docker of a place's own, without a network.
struct Docker {
    daemon: Running,
    socket: String,
}

impl Docker {
    fn start(place: &Place) -> Self {
        let socket = format!("unix://{}", place.at("docker.sock"));
        let folders = ["data-root", "exec-root", "pidfile"];
        let folders = folders.map(|it| format!("--{it}={}", place.at(&format!("docker.{it}"))));
        // It sees what is mounted here, and nobody sees what it mounts: trials of other tests would find it.
        let mut arguments = vec!["--mount", "--propagation", "slave", "/usr/sbin/dockerd"];
        arguments.extend(folders.iter().map(String::as_str));
        // It would change this machine.
        arguments.extend([
            "--iptables=false",
            "--ip6tables=false",
            "--ip-forward=false",
        ]);
        arguments.push("--bridge=none");
        arguments.extend(["-H", &socket]);
        let daemon = Running::start(place.put(Command::new("unshare"), &arguments));
        let docker = Self { daemon, socket };
        processes::until("the daemon answers", || {
            docker.asked(&["info"]).status.success()
        });
        docker
    }

    fn asked(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("docker");
        let command = command.args(arguments).env("DOCKER_HOST", &self.socket);
        command.output().unwrap()
    }
}

#[test]
fn docker_runs_an_image() {
    if Need::Root.is_missing() || Need::Docker.is_missing() {
        return;
    }
    let place = place("image = \"tiny\"\nengine = \"docker\"\nrestore = \"trial\"");
    let docker = Docker::start(&place);
    let packed = Command::new("tar")
        .args(["-C", &place.at("root"), "-cf", &place.at("root.tar"), "."])
        .status();
    assert!(packed.unwrap().success());
    let imported = docker.asked(&["import", &place.at("root.tar"), "tiny"]);
    assert!(imported.status.success(), "{imported:?}");
    let said = measured(&place, |run| {
        run.env("DOCKER_HOST", &docker.socket);
    });
    assert_clean(&said);
    let left = docker.asked(&["ps", "--all", "--quiet"]);
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
    docker.daemon.signal(Signal::SIGTERM);
    docker.daemon.ends();
    assert_down(&place);
}

#[test]
fn podman_runs_an_image() {
    if Need::Root.is_missing() || Need::Podman.is_missing() {
        return;
    }
    let image = format!("localhost/backsight-test-{}", std::process::id());
    let place = place(&format!("image = \"{image}\"\nrestore = \"trial\""));
    let packed = Command::new("tar")
        .args(["-C", &place.at("root"), "-cf", &place.at("root.tar"), "."])
        .status();
    assert!(packed.unwrap().success());
    let imported = with_podman(
        &place,
        &["import", "--quiet", &place.at("root.tar"), &image],
    );
    assert!(imported.status.success(), "{imported:?}");
    let said = measured(&place, |run| {
        run.env("CONTAINERS_CONF", place.path("containers.conf"));
    });
    assert_clean(&said);
    let label = format!("label=backsight.lab={}", place.name);
    let left = with_podman(&place, &["ps", "--all", "--quiet", "--filter", &label]);
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
    with_podman(&place, &["rmi", "--force", &image]);
    assert_down(&place);
}

#[test]
fn a_container_ends_with_a_conductor_that_is_killed_also_while_its_agent_stands_still() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place("folder = \"@\"\nengine = \"unshare\"");
    let text = place.read("benchmarks/answer.toml");
    let waits = "run = '''sh -c 'sleep 1000' '''";
    let (before, rest) = text.split_once("run = ").unwrap();
    let (_, after) = rest.split_once('\n').unwrap();
    place.write(
        "benchmarks/answer.toml",
        format!("{before}{waits}\n{after}"),
    );
    place.ends(&["lab", "up"]).assert_code(0);
    for (name, stands_still) in [("s", false), ("t", true)] {
        let mut run = place.begins(&["run", "plan.toml", "--name", name]);
        run.until_step_in("run");
        if stands_still {
            let below = processes::below(run.pid.as_raw()).into_iter();
            let agents: Vec<_> = below
                .filter(|it| it.command.contains("/agent agent"))
                .collect();
            assert!(!agents.is_empty(), "no agent of a container runs");
            for agent in agents {
                kill(Pid::from_raw(agent.pid), Signal::SIGSTOP).unwrap();
            }
        }
        run.after_sigkill();
        processes::until_gone(&place.name);
    }
    assert_down(&place);
}

#[test]
fn several_containers_play_one_role_and_meet_at_barriers() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    make_root(&place.path("root"));
    place.write(
        "lab.toml",
        format!(
            "name = \"{}\"\n[group.boxes]\nhosts = \"box[1-3]\"\nkind = \"container\"\nfolder = \"{}\"\nengine = \"unshare\"\n\
             [testbed.all]\nclient = \"boxes\"\n",
            place.name,
            place.at("root")
        ),
    );
    place.write(
        "benchmarks/meets.toml",
        "name = \"meets\"\nabout = \"a test's own\"\nroles = [\"client\"]\n\
         [client]\nrun = \"sh -c 'for i in 1 2 3; do backsight barrier iteration || exit 1; done; echo rate {instance}0 of $(hostname)'\"\n\
         [metric.rate]\nunit = \"Mbit/s\"\nbetter = \"higher\"\nregex = 'rate (?<value>\\d+)'\nacross = \"sum\"\n",
    );
    place.plan("use = [\"meets\"]\nrounds = 1\n");
    place.ends(&["lab", "up"]).assert_code(0);
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    let page = place.prints_of(&["show", "s"]);
    assert!(
        page.contains("60.0 ") && page.contains("fairness"),
        "{page}"
    );
    let trial = place.raw("s", 1);
    for part in ["rate 30 of box3", "iteration"] {
        assert!(trial.contains(part), "{part}: {trial}");
    }
    assert_down(&place);
}

#[test]
fn a_container_that_can_not_be_says_why() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place("folder = \"/no/such/folder\"\nengine = \"unshare\"");
    let down = place.ends(&["run", "plan.toml"]);
    down.assert_says(&["`backsight lab up` makes its namespace"]);
    place.ends(&["lab", "up"]).assert_code(0);
    let refused = place.ends(&["run", "plan.toml"]);
    refused.assert_says(&["host `box`", "/no/such/folder is no folder"]);
    assert_down(&place);
}
