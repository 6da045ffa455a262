//! The same plan on a lab of namespaces and on one of machines that `ssh` reaches: links, routes through a host that forwards, sysctls,
//! interfaces by role, scripts beside the plan. What was changed for it is put back on both.
//!
//! The machines are network namespaces with an `sshd` each, which have their own boot ids, homes and journals, see nothing of the plan's
//! folder, and call their interfaces otherwise than namespaces do. The controller is in a namespace too, so that this machine's own
//! network is left alone.

use backsight_test_needs::Need;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    far::{key, release},
    place::Place,
    processes,
    running::{Ended, Running},
};

/// The machines, with the last number of their addresses on the control plane. The first two have one home.
const MACHINES: [(&str, u8); 3] = [("left", 11), ("middle", 12), ("right", 13)];
/// The ends of links: which interface of which machine has which address.
const ENDS: [[(&str, &str, &str); 2]; 3] = [
    [
        ("left", "p1", "10.77.1.1/24"),
        ("middle", "p1", "10.77.1.2/24"),
    ],
    [
        ("middle", "p2", "10.77.2.1/24"),
        ("right", "p1", "10.77.2.2/24"),
    ],
    [
        ("left", "p2", "10.77.3.1/24"),
        ("right", "p2", "10.77.3.2/24"),
    ],
];
/// A machine: what of this one it doesn't see, and what it has of its own; `@` is the place's folder.
const BOOT: &str = r#"
mount --make-rprivate /
mount --bind @/HOME /root
mount --bind @/boot-NAME /proc/sys/kernel/random/boot_id
mkdir -p /var/lib/backsight && mount --bind @/lib-NAME /var/lib/backsight
mount -t tmpfs none @/plans
mount -t tmpfs none /run && mkdir /run/sshd
exec /usr/sbin/sshd -D -e -f @/sshd-NAME
"#;
/// What both labs have in common. KIND-HOST is the kind of a host and how it is reached.
const LAB: &str = r#"
name = "LAB"
[host.left]
KIND-left
routes = ["10.77.2.0/24 via 10.77.1.2"]
[host.middle]
KIND-middle
forward = true
[host.right]
KIND-right
routes = ["10.77.1.0/24 via 10.77.2.1"]
sysctl = { "net.ipv4.tcp_rmem" = "4096 65536 262144" }
[[link]]
ends = { left = "10.77.1.1/24", middle = "10.77.1.2/24" }
[[link]]
ends = { middle = "10.77.2.1/24", right = "10.77.2.2/24" }
mtu = 1400
[[link]]
name = "direct"
ends = { left = "10.77.3.1/24", right = "10.77.3.2/24" }
[testbed.row]
client = "left"
dut = "middle"
server = { host = "right", data = "10.77.2.2" }
[testbed.ends]
client = "left"
server = { host = "right", data = "10.77.2.2" }
"#;
/// The lab's kinds of hosts.
const NETNS: &str = "kind = \"netns\"";
const SSH: &str = r#"kind = "ssh"
login = "root@192.0.2.NUMBER"
options = ["-i", "HERE/key", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]"#;
/// Measures what is left of packets' time to live, and asserts what commands are told of interfaces.
const BENCHMARK: &str = r#"
name = "reach"
about = "a test's own"
roles = ["client", "server"]
[client]
run = [
    "sh -c 'ip -o addr show dev {client.interface} | grep -q \" {client.data}/\" && echo interface {client.interface}'",
    "ping -c 3 -i 0.1 -W 5 {server.data}",
    "@/step run",
]
[server]
startup = "sh -c 'ip -o addr show dev {server.interface} | grep -q \" {server.data}/\" && cat /sys/class/net/{server.interface}/mtu /proc/sys/net/ipv4/tcp_rmem'"
[metric.ttl]
unit = "1"
better = "higher"
regex = 'ttl=(?<value>\d+)'
"#;
const PLAN: &str = r#"
testbed = "row"
use = ["reach"]
rounds = 2
[[variant]]
name = "plain"
[[variant]]
name = "scripted"
server.setup = "scripts/ttl on"
server.teardown = "scripts/ttl off"
dut.setup = "sh -c 'test -e {dut.interface}.txt || cat scripts/../ttl.txt'"
[[variant]]
name = "direct"
client.data = "direct"
server.data = "direct"
server.setup = "scripts/ttl on"
server.teardown = "scripts/ttl off"
"#;
/// Finds its own data beside the plan, from which it is called.
const SCRIPT: &str = "#!/bin/sh\nset -e\ncase $1 in on) cat ttl.txt ;; off) echo 64 ;; esac > /proc/sys/net/ipv4/ip_default_ttl\n";

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn ip(line: &str) -> String {
    run("ip", &line.split_whitespace().collect::<Vec<_>>())
}

/// The machines and the controller's namespace, until this is dropped.
struct Rack {
    place: Place,
    daemons: Vec<Child>,
}

/// The plan with one variant that needs nothing beside it.
const HELD: &str = "testbed = \"row\"\nuse = [\"reach\"]\nrounds = 1\n";

impl Rack {
    /// A place with a plan and the machines; none where that can't be.
    fn new() -> Option<Self> {
        if Need::Root.is_missing() {
            return None;
        }
        let place = Place::new();
        for folder in [
            "plans/scripts",
            "plans/benchmarks",
            "home-shared",
            "home-right",
        ] {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        place.write(
            "plans/benchmarks/reach.toml",
            BENCHMARK.replace('@', place.at("").trim_end_matches('/')),
        );
        place.write("plans/plan.toml", PLAN);
        place.write("plans/held.toml", HELD);
        place.write("plans/ttl.txt", "100\n");
        place.script("plans/scripts/ttl", SCRIPT);
        place.write("plans/.hidden", "secret\n");
        let mut rack = Self {
            place,
            daemons: Vec::new(),
        };
        rack.write_labs();
        rack.make_namespaces();
        rack.boot_all();
        Some(rack)
    }

    fn write_labs(&self) {
        let place = &self.place;
        let lab = |name: &str, kind: &dyn Fn(u8) -> String| {
            let mut text = LAB.replace("LAB", &format!("{}-{name}", place.name));
            for (host, number) in MACHINES {
                text = text.replace(&format!("KIND-{host}"), &kind(number));
            }
            place.write(&format!("{name}.toml"), text);
        };
        lab("spaces", &|_| NETNS.to_owned());
        let here = place.at("").trim_end_matches('/').to_owned();
        lab("rack", &|number| {
            SSH.replace("NUMBER", &number.to_string())
                .replace("HERE", &here)
        });
    }

    fn namespace(&self, name: &str) -> String {
        format!("rack:{}:{name}", self.place.name)
    }

    /// All namespaces, joined on the control plane by a bridge that is the controller's, and by the links of the lab.
    fn make_namespaces(&self) {
        let controller = self.namespace("controller");
        ip(&format!("netns add {controller}"));
        ip(&format!("-n {controller} link set lo up"));
        ip(&format!(
            "-n {controller} link add plane type bridge forward_delay 0"
        ));
        ip(&format!("-n {controller} addr add 192.0.2.1/24 dev plane"));
        ip(&format!("-n {controller} link set plane up"));
        for (name, number) in MACHINES {
            let machine = self.namespace(name);
            ip(&format!("netns add {machine}"));
            ip(&format!("-n {machine} link set lo up"));
            // New namespaces have what this machine has.
            let off = "echo 0 > /proc/sys/net/ipv4/ip_forward";
            run("ip", &["netns", "exec", &machine, "sh", "-c", off]);
            ip(&format!(
                "link add {name} netns {controller} type veth peer name control netns {machine}"
            ));
            ip(&format!("-n {controller} link set {name} master plane up"));
            ip(&format!(
                "-n {machine} addr add 192.0.2.{number}/24 dev control"
            ));
            ip(&format!("-n {machine} link set control up"));
            ip(&format!("-n {machine} route add default via 192.0.2.1"));
        }
        for [(one, port, address), (other, peer_port, peer_address)] in ENDS {
            let (machine, peer) = (self.namespace(one), self.namespace(other));
            ip(&format!(
                "link add {port} netns {machine} type veth peer name {peer_port} netns {peer}"
            ));
            for (space, port, address) in
                [(machine, port, address), (peer, peer_port, peer_address)]
            {
                ip(&format!("-n {space} addr add {address} dev {port}"));
                ip(&format!("-n {space} link set {port} up"));
            }
        }
        // Something else leads to the same network before, on one of them.
        ip(&format!(
            "-n {} route add 10.77.1.0/24 via 10.77.3.1",
            self.namespace("right")
        ));
    }

    /// Starts the daemon of each machine.
    fn boot_all(&mut self) {
        for (name, _) in MACHINES {
            self.boot(name);
        }
        for (name, _) in MACHINES {
            processes::until(&format!("sshd of {name} listens"), || {
                self.inside(name, "ss -Hltn").contains(":22")
            });
        }
    }

    fn boot(&mut self, name: &str) {
        let place = &self.place;
        let home = if name == "right" {
            "home-right"
        } else {
            "home-shared"
        };
        let mut private = fs::DirBuilder::new();
        private.mode(0o700).recursive(true);
        private.create(place.path(&format!("{home}/.ssh"))).unwrap();
        private.create(place.path(&format!("lib-{name}"))).unwrap();
        if !place.path("key").exists() {
            key(place, "key");
        }
        place.write(
            &format!("{home}/.ssh/authorized_keys"),
            place.read("key.pub"),
        );
        if !place.path(&format!("host-{name}")).exists() {
            key(place, &format!("host-{name}"));
        }
        place.write(&format!("boot-{name}"), format!("boot-of-{name}\n"));
        let settings = format!(
            "Port 22\nHostKey {}\nUsePAM no\nStrictModes no\nPrintMotd no\nUseDNS no\nPermitRootLogin prohibit-password\nPidFile none\n\
             LogLevel ERROR\nMaxStartups 100\nSetEnv TMPDIR={} BACKSIGHT_LEASES={} {}={}\n",
            place.at(&format!("host-{name}")),
            place.at("tmp"),
            place.at(&format!("leases-{name}")),
            crate::place::MARK,
            place.name,
        );
        place.write(&format!("sshd-{name}"), settings);
        let script = BOOT
            .replace('@', place.at("").trim_end_matches('/'))
            .replace("NAME", name)
            .replace("HOME", home);
        let daemon = Command::new("ip")
            .args(["netns", "exec", &self.namespace(name)])
            .args(["unshare", "-m", "sh", "-ec", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(place.path(&format!("log-{name}"))).unwrap())
            .spawn();
        self.daemons.push(daemon.unwrap());
    }

    /// What a command prints in the network of a machine.
    fn inside(&self, name: &str, line: &str) -> String {
        let space = self.namespace(name);
        let mut words = vec!["netns", "exec", &space];
        words.extend(line.split_whitespace());
        run("ip", &words)
    }

    /// What a study could change in the network of the machines.
    fn stands(&self) -> String {
        let of = |name: &str| {
            let said = [
                "ip -4 route show table all",
                "ip -6 route",
                "cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/all/forwarding",
                "cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/ip_default_ttl",
                "cat /sys/class/net/p1/mtu /sys/class/net/p2/mtu",
            ]
            .map(|line| self.inside(name, line));
            format!("{name}\n{}", said.concat())
        };
        MACHINES.map(|(name, _)| of(name)).concat()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let controller = self.namespace("controller");
        let program = release();
        let mut words = vec!["netns", "exec", &controller, program.to_str().unwrap()];
        words.extend(arguments);
        self.place.put(Command::new("ip"), &words)
    }

    /// Runs the program in the controller's namespace to its end.
    fn ends(&self, arguments: &[&str]) -> Ended {
        Running::start(self.command(arguments)).ends()
    }

    fn plan(&self, plan: &str, name: &str) -> Ended {
        self.ends(&["run", plan, "--lab", "rack.toml", "--name", name])
    }

    /// Kills every process of the machines, their daemons too.
    fn end(&mut self) {
        processes::until("no process of the machines lives", || {
            let pids = |(name, _)| {
                let listed = Command::new("ip")
                    .args(["netns", "pids", &self.namespace(name)])
                    .output();
                String::from_utf8(listed.unwrap().stdout).unwrap()
            };
            let all = MACHINES.map(pids).concat();
            // All at once: nobody sees another one's end, and puts anything back.
            for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
                for pid in all.split_whitespace() {
                    let pid = Pid::from_raw(pid.parse().unwrap());
                    let _gone_already = kill(pid, signal);
                }
            }
            all.is_empty()
        });
        for mut daemon in self.daemons.drain(..) {
            let _ = daemon.wait();
        }
    }
}

impl Drop for Rack {
    fn drop(&mut self) {
        self.end();
        for name in ["left", "middle", "right", "controller"] {
            let _ = Command::new("ip")
                .args(["netns", "del", &self.namespace(name)])
                .status();
        }
    }
}

/// What a study of the plan came to, without what differs by the place: metrics and their values by variant.
fn results(place: &Place, study: &str) -> Vec<String> {
    let page = place.prints_of(&["show", study]);
    let measured = page
        .lines()
        .filter(|line| line.contains("n=2") || line.contains("ttl"));
    measured
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn the_same_plan_gives_the_same_on_namespaces_and_on_machines_and_leaves_both_as_they_were() {
    let Some(mut rack) = Rack::new() else { return };
    let place = &rack.place;
    place
        .ends(&["lab", "up", "--lab", "spaces.toml"])
        .assert_code(0);
    let on_spaces = [
        "run",
        "plans/plan.toml",
        "--lab",
        "spaces.toml",
        "--name",
        "spaces",
    ];
    place.ends(&on_spaces).assert_code(0);
    place
        .ends(&["lab", "down", "--lab", "spaces.toml"])
        .assert_code(0);
    let before = rack.stands();
    rack.plan("plans/plan.toml", "rack").assert_code(0);
    assert_eq!(rack.stands(), before);
    for study in ["spaces", "rack"] {
        place.assert_complete(study, 3, 2);
    }
    let page = place.prints_of(&["show", "rack"]);
    for value in ["63 ±0 % n=2", "99 ±0 % n=2", "100 ±0 % n=2"] {
        assert!(page.contains(value), "{value}: {page}");
    }
    assert_eq!(results(place, "spaces"), results(place, "rack"));
    let raw = |study| {
        (1..=6)
            .map(|trial| place.raw(study, trial))
            .collect::<String>()
    };
    let (spaces, machines) = (raw("spaces"), raw("rack"));
    for (raw, interfaces) in [
        (&spaces, ["to-middle", "to-right"]),
        (&machines, ["p1", "p2"]),
    ] {
        for interface in interfaces {
            assert!(
                raw.contains(&format!("interface {interface}")),
                "{interface}: {raw}"
            );
        }
        assert!(raw.contains("1400"), "the link's mtu: {raw}");
        assert!(raw.contains("4096\t65536\t262144"), "the sysctl: {raw}");
    }
    // Nothing is sent twice, hosts with one home share it, and what is hidden isn't sent.
    let sent = |home: &str| -> Vec<_> {
        let plans = fs::read_dir(place.path(&format!("{home}/.cache/backsight/plans"))).unwrap();
        let plans = plans.map(|entry| entry.unwrap().path());
        // The list of its chunks lies beside it.
        plans.filter(|plan| plan.is_dir()).collect()
    };
    for home in ["home-shared", "home-right"] {
        let kept = sent(home);
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert!(kept[0].join("scripts/ttl").exists() && !kept[0].join(".hidden").exists());
        let mode = kept[0]
            .join("scripts/ttl")
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
    }
    place.write("plans/ttl.txt", "90\n");
    rack.plan("plans/plan.toml", "changed").assert_code(0);
    let page = place.prints_of(&["show", "changed"]);
    assert!(page.contains("89 ±0 % n=2"), "{page}");
    assert_eq!(sent("home-right").len(), 2);
    assert_eq!(rack.stands(), before);
    rack.end();
    rack.place.assert_nothing_left();
}

#[test]
fn what_a_killed_controller_changed_is_put_back_by_its_agents_by_restore_or_by_the_next_study() {
    let Some(mut rack) = Rack::new() else { return };
    let before = rack.stands();
    let begin = |rack: &Rack, plan: &str, name: &str| {
        rack.place.hold("run", 1);
        let running =
            Running::start(rack.command(&["run", plan, "--lab", "rack.toml", "--name", name]));
        rack.place.until_held("run");
        assert_ne!(rack.stands(), before);
        running
    };
    let forget = |place: &Place| {
        place.release("run");
        place.write("log", "");
    };
    // The agents are there, and put all back by themselves.
    let running = begin(&rack, "plans/plan.toml", "killed");
    kill(running.pid, Signal::SIGKILL).unwrap();
    assert!(!running.ends().status.success());
    let end = Instant::now() + processes::LIMIT;
    while rack.stands() != before && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(rack.stands(), before, "the agents put all back");
    forget(&rack.place);
    // Nobody is left who could.
    for by_restore in [true, false] {
        let name = format!("all-killed-{by_restore}");
        let running = begin(&rack, "plans/held.toml", &name);
        kill(running.pid, Signal::SIGSTOP).unwrap();
        rack.end();
        kill(running.pid, Signal::SIGKILL).unwrap();
        assert!(!running.ends().status.success());
        forget(&rack.place);
        assert_ne!(rack.stands(), before);
        rack.boot_all();
        if by_restore {
            let ended = rack.ends(&["restore", "left", "middle", "right", "--lab", "rack.toml"]);
            ended.assert_code(0);
            ended.assert_says(&["route 10.77.2.0/24", "ip_forward", "put back"]);
            assert_eq!(rack.stands(), before);
        }
        rack.plan("plans/held.toml", &format!("after-{name}"))
            .assert_code(0);
        assert_eq!(rack.stands(), before);
    }
    rack.end();
    rack.place.assert_nothing_left();
}

#[test]
fn what_cant_be_made_on_machines_is_said_and_what_would_cut_them_off_is_refused() {
    let Some(mut rack) = Rack::new() else { return };
    let (place, before) = (&rack.place, rack.stands());
    let ended = rack.ends(&["lab", "check", "--lab", "rack.toml"]);
    ended.assert_code(0);
    ended.assert_says(&[
        "ok link left–middle: left has 10.77.1.1 (p1), middle has 10.77.1.2 (p1); each reaches the other",
        "ok link direct (left–right): left has 10.77.3.1 (p2), right has 10.77.3.2 (p2); each reaches the other",
    ]);
    // A host between others that plays no role forwards all the same.
    let text = HELD.replace("row", "ends");
    place.write("plans/ends.toml", &text);
    rack.plan("plans/ends.toml", "ends").assert_code(0);
    let page = place.prints_of(&["show", "ends"]);
    assert!(page.contains("63"), "{page}");
    assert_eq!(rack.stands(), before);
    let lab = place.read("rack.toml");
    let refused = |from: &str, to: &str, says: &[&str]| {
        place.write("rack.toml", lab.replace(from, to));
        let ended = rack.plan("plans/held.toml", "refused");
        assert!(!ended.status.success());
        ended.assert_says(says);
        assert_eq!(rack.stands(), before);
        place.write("rack.toml", &lab);
    };
    let route = "10.77.1.0/24 via 10.77.2.1";
    refused(
        route,
        "192.0.0.0/16 via 10.77.2.1",
        &["192.0.0.0/16 covers 192.0.2.1, from which this machine is controlled"],
    );
    refused(
        route,
        "default via 10.77.2.1",
        &["`default` is a machine's default route", "rack.toml:"],
    );
    refused(
        "10.77.1.1/24",
        "10.77.9.1/24",
        &[
            "no interface of host `left` has its address 10.77.9.1",
            "10.77.1.1 (p1)",
        ],
    );
    let large = fs::File::create(place.path("plans/capture.pcap")).unwrap();
    large.set_len(100 << 20).unwrap();
    let ended = rack.plan("plans/plan.toml", "large");
    assert!(!ended.status.success());
    ended.assert_says(&[
        "capture.pcap (100.0 MiB)",
        "files = [\"rules.nft\", \"scripts\"]",
    ]);
    let files = format!("files = [\"scripts\", \"ttl.txt\"]\n{PLAN}");
    place.write("plans/plan.toml", files);
    rack.plan("plans/plan.toml", "named").assert_code(0);
    rack.end();
    rack.place.assert_nothing_left();
}
