//! Domains of libvirt as hosts, with a libvirt of the test's own: started, set back to their snapshots, and left as they were found.

use backsight_test_needs::Need;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{
    far,
    place::{self, Place},
    processes,
    running::{Ended, Running},
    virtual_machines,
};

/// How long a command may take: an emulated machine boots in up to half a minute.
const LIMIT: Duration = Duration::from_secs(240);
/// The domain's name. Its libvirt has no other.
const DOMAIN: &str = "guest";

/// Starts libvirt's daemon in a mount namespace where it has everything to itself. `$1` is a folder for its files.
const DAEMON: &str = r#"set -e
mkdir -p "$1/etc/qemu/networks"
cat > "$1/etc/libvirtd.conf" <<END
auth_unix_ro = "none"
auth_unix_rw = "none"
END
# There is neither a log daemon nor a security driver, and root runs the machines. An emulator that a filter of system calls kills says
# nothing of why it ended.
cat > "$1/etc/qemu.conf" <<END
stdio_handler = "file"
user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
seccomp_sandbox = 0
namespaces = []
cgroup_controllers = []
END
mount -t tmpfs none /run
mkdir -p /run/lock /run/libvirt
mount --bind "$1/etc" /etc/libvirt
for state in lib cache log; do
    mkdir -p "$1/$state"
    mount --bind "$1/$state" "/var/$state/libvirt"
done
exec libvirtd
"#;

/// A place with a libvirt and a lab whose host `dom` is its domain, which is off.
struct Libvirt {
    place: Place,
    daemon: Child,
}

impl Libvirt {
    fn new() -> Option<Self> {
        if Need::Root.is_missing() || Need::Qemu.is_missing() || Need::Libvirt.is_missing() {
            return None;
        }
        let system = virtual_machines::made_system();
        let place = Place::new();
        let daemon = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", DAEMON])
            .args(["sh", &place.at("libvirt")])
            .env(place::MARK, &place.name)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(place.path("libvirtd.log")).unwrap())
            .spawn()
            .unwrap();
        let libvirt = Self { place, daemon };
        processes::until("libvirt answers", || {
            libvirt
                .virsh_command(&["list"])
                .output()
                .unwrap()
                .status
                .success()
        });
        let place = &libvirt.place;
        let backing = system.join("disk.img");
        let made = Command::new("qemu-img")
            .args(["create", "-q", "-f", "qcow2", "-F", "raw", "-b"])
            .args([&backing, &place.path("disk.qcow2")])
            .status();
        assert!(made.unwrap().success());
        place.write("domain.xml", domain(place, &system));
        libvirt.virsh(&["define", &place.at("domain.xml")]);
        libvirt.lab("");
        place.write(
            "benchmarks/answer.toml",
            "name = \"answer\"\nabout = \"a test's own\"\nroles = [\"tester\"]\n\
             [tester]\nrun = '''sh -c 'test -e /var/mark && echo marked || echo clean; touch /var/mark; echo value 42' '''\n\
             [metric.value]\nunit = \"s\"\nbetter = \"lower\"\nregex = 'value (?<value>\\d+)'\n",
        );
        place.plan("use = [\"answer\"]\nrounds = 2\n");
        Some(libvirt)
    }

    /// The lab, with these keys of its host besides.
    fn lab(&self, keys: &str) {
        self.lab_of(DOMAIN, keys);
    }

    /// The same with another name of its domain.
    fn lab_of(&self, domain: &str, keys: &str) {
        self.place.write(
            "lab.toml",
            format!(
                "name = \"{}\"\n[host.dom]\nkind = \"vm\"\ndomain = \"{domain}\"\nconnect = \"qemu:///system\"\n{keys}\n\
                 [testbed.alone]\ntester = \"dom\"\n",
                self.place.name
            ),
        );
    }

    fn inside(&self, program: PathBuf) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--target={}", self.daemon.id()))
            .arg("--mount")
            .arg(format!("--wd={}", self.place.path("").display()))
            .arg(program)
            .env("XDG_CACHE_HOME", self.place.path("cache"));
        command
    }

    fn virsh_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.inside("virsh".into());
        command.args(arguments).env("LC_ALL", "C");
        command
    }

    fn virsh(&self, arguments: &[&str]) -> String {
        let output = self.virsh_command(arguments).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        let log = fs::read_to_string(self.place.path(&format!("libvirt/log/qemu/{DOMAIN}.log")));
        assert!(
            output.status.success(),
            "virsh {arguments:?}: {words}; its emulator: {}",
            log.unwrap_or_default()
        );
        String::from_utf8(output.stdout).unwrap()
    }

    fn begins(&self, arguments: &[&str]) -> Running {
        Running::start(self.place.put(self.inside(far::release()), arguments))
    }

    fn ends(&self, arguments: &[&str]) -> Ended {
        self.begins(arguments).ends_within(LIMIT)
    }

    fn assert_is(&self, state: &str) {
        let status = self.ends(&["lab", "power", "status", "dom"]);
        status.assert_says(&[&format!("dom: {state}")]);
    }

    /// Its domain with the agent's devices and a snapshot `warm`, taken while its agent waited: going back to it takes a second.
    fn with_snapshot() -> Option<Self> {
        let libvirt = Self::new()?;
        let provision = || libvirt.ends(&["lab", "provision", "dom"]);
        libvirt.virsh(&["undefine", DOMAIN]);
        libvirt.lab_of(&libvirt.place.at("domain.xml"), "");
        let provisioned = provision();
        provisioned.assert_code(0);
        provisioned.assert_says(&[
            "libvirt has its domain now, as its file defines it",
            "Linux 6.1",
        ]);
        libvirt
            .ends(&["lab", "power", "on", "dom"])
            .assert_says(&["dom: on (was off)"]);
        let waits = || {
            libvirt
                .virsh(&["dumpxml", DOMAIN])
                .contains("state='connected'")
        };
        processes::until("the agent waits", waits);
        libvirt.virsh(&["snapshot-create-as", DOMAIN, "warm"]);
        libvirt
            .ends(&["lab", "power", "off", "dom"])
            .assert_says(&["dom: off (was on)"]);
        Some(libvirt)
    }

    fn assert_nothing_left(&mut self) {
        self.daemon.kill().unwrap();
        self.daemon.wait().unwrap();
        // The machines of a libvirt outlive its daemon: a domain that is on would be left.
        self.place.assert_nothing_left();
    }
}

/// The definition of the domain, whose clock is an hour ahead.
fn domain(place: &Place, system: &Path) -> String {
    let at = |file: &str| system.join(file).display().to_string();
    let append = fs::read_to_string(system.join("append")).unwrap();
    format!(
        "<domain type='qemu'>\n<name>{DOMAIN}</name>\n\
         <memory unit='MiB'>384</memory>\n<vcpu>1</vcpu>\n\
         <os><type arch='x86_64' machine='q35'>hvm</type><kernel>{}</kernel><initrd>{}</initrd>\
         <cmdline>console=ttyS0 panic=-1 no_timer_check {}</cmdline></os>\n\
         <features><acpi/></features>\n<cpu mode='maximum'/>\n<clock offset='variable' adjustment='3600' basis='utc'/>\n\
         <devices>\n<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='{}'/>\
         <target dev='vda' bus='virtio'/></disk>\n<serial type='pty'/>\n<console type='pty'/>\n<memballoon model='none'/>\n</devices>\n\
         </domain>\n",
        at("vmlinuz"),
        at("initrd.img"),
        append.trim(),
        place.at("disk.qcow2"),
    )
}

impl Drop for Libvirt {
    fn drop(&mut self) {
        let _ended_already = self.daemon.kill();
        let _ended_already = self.daemon.wait();
    }
}

#[test]
#[ignore = "two minutes: `make images`"]
fn a_domain_is_set_back_and_left_as_it_was_found_whether_its_guest_is_well_full_or_still() {
    let Some(mut libvirt) = Libvirt::with_snapshot() else {
        return;
    };
    let place = &libvirt.place;
    libvirt.lab("snapshot = \"warm\"\nrestore = \"trial\"");
    libvirt
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    place.assert_complete("s", 1, 2);
    for trial in [1, 2] {
        let said = place.raw("s", trial);
        assert!(said.contains("clean"), "{said}");
    }
    libvirt.assert_is("off");
    libvirt.virsh(&["snapshot-revert", DOMAIN, "warm", "--running"]);
    libvirt.lab("snapshot = \"warm\"");
    libvirt
        .ends(&["run", "plan.toml", "--name", "t"])
        .assert_code(0);
    assert!(place.raw("t", 1).contains("clean"));
    assert!(place.raw("t", 2).contains("marked"));
    libvirt.assert_is("on");
    // Who only asks a domain doesn't set it back.
    let checked = libvirt.ends(&["lab", "check"]);
    checked.assert_says(&["host dom: its clock is 3", "s ahead of this machine's"]);
    libvirt.assert_is("on");
    libvirt.ends(&["lab", "power", "off", "dom"]).assert_code(0);
    place.prints(
        "full",
        "sh -c \"fallocate -l $(($(stat -f -c %a*%S /))) /full; head -c 100000 /dev/zero; echo 42\"",
    );
    place.plan("use = [\"full\"]\nrounds = 1\n");
    let full = libvirt.ends(&["run", "plan.toml"]);
    full.assert_code(1);
    full.assert_says(&["No space left on device"]);
    place.prints("long", "sleep 1000");
    place.plan("use = [\"long\"]\nrounds = 1\n");
    let begin = || {
        let mut run = libvirt.begins(&["run", "plan.toml", "--json"]);
        run.until_within(LIMIT, "a step", |event| {
            event["event"] == "step-started" && event["phase"] == "run"
        });
        run
    };
    let mut run = begin();
    libvirt.virsh(&["suspend", DOMAIN]);
    let frozen = run.until_trial_finished();
    assert_eq!(frozen["failure"]["host"], "dom", "{frozen}");
    assert_eq!(frozen["failure"]["host_lost"], true, "{frozen}");
    run.ends().assert_code(1);
    libvirt.assert_is("off");
    begin().after_sigkill();
    let is_off = || libvirt.virsh(&["domstate", DOMAIN]).contains("shut off");
    processes::until("the domain ends with its conductor", is_off);
    libvirt.assert_nothing_left();
}

#[test]
#[ignore = "two minutes: `make images`"]
fn a_domain_that_can_not_go_back_is_not_measured_on() {
    let Some(mut libvirt) = Libvirt::new() else {
        return;
    };
    let run = || libvirt.ends(&["run", "plan.toml"]);
    // Nobody has told libvirt yet what the lab names by its file.
    libvirt.virsh(&["undefine", DOMAIN]);
    libvirt.lab_of(&libvirt.place.at("domain.xml"), "channel = \"ssh\"");
    let refused = run();
    refused.assert_code(2);
    refused.assert_says(&[
        "failed to get domain",
        "`backsight lab provision` defines it",
    ]);
    libvirt.lab_of(&libvirt.place.at("gone.xml"), "");
    run().assert_says(&["gone.xml: No such file"]);
    // Sockets need a device of this machine's kernel, which not all have.
    libvirt.lab_of(&libvirt.place.at("domain.xml"), "channel = \"vsock\"");
    let provisioned = libvirt.ends(&["lab", "provision", "dom"]);
    match Path::new("/dev/vhost-vsock").exists() {
        true => provisioned.assert_code(0),
        false => provisioned.assert_says(&["virsh", "vhost-vsock"]),
    }
    let definition = libvirt.virsh(&["dumpxml", DOMAIN]);
    assert!(definition.contains("<vsock"), "{definition}");
    libvirt.virsh(&["undefine", DOMAIN]);
    libvirt.virsh(&["define", &libvirt.place.at("domain.xml")]);
    libvirt.lab("");
    let refused = run();
    refused.assert_code(2);
    refused.assert_says(&[
        "no disk of the domain brings it along",
        "backsight lab provision dom",
    ]);
    // One that runs may be somebody's.
    libvirt.virsh(&["start", DOMAIN]);
    run().assert_says(&["it has no channel for the agent"]);
    libvirt.assert_is("on");
    libvirt.virsh(&["destroy", DOMAIN]);
    libvirt.lab("snapshot = \"gone\"");
    let refused = run();
    refused.assert_code(2);
    refused.assert_says(&["can't go back to its snapshot `gone`", "isn't measured on"]);
    // libvirt knows the snapshot, and the disk has lost it.
    libvirt.virsh(&["snapshot-create-as", DOMAIN, "lost"]);
    let lost = Command::new("qemu-img")
        .args(["snapshot", "-d", "lost", &libvirt.place.at("disk.qcow2")])
        .status();
    assert!(lost.unwrap().success());
    libvirt.lab("snapshot = \"lost\"\nchannel = \"ssh\"");
    let refused = run();
    refused.assert_code(2);
    refused.assert_says(&["can't go back to its snapshot `lost`"]);
    libvirt.assert_is("off");
    libvirt.assert_nothing_left();
}

#[test]
fn a_domain_that_ssh_reaches_needs_nothing_of_ours_in_its_definition() {
    let Some(mut libvirt) = Libvirt::new() else {
        return;
    };
    let place = &libvirt.place;
    // Its guest has no network: this machine answers in its place.
    far::home_and_keys(place);
    place.write(
        "sshd_config",
        format!(
            "HostKey {}\nUsePAM no\nStrictModes no\nPermitRootLogin prohibit-password\nPidFile none\n\
             SetEnv TMPDIR={} BACKSIGHT_LEASES={} {}={}\n",
            place.at("host"),
            place.at("tmp"),
            place.at("far-leases"),
            place::MARK,
            place.name,
        ),
    );
    let here = place.at("");
    let here = here.trim_end_matches('/');
    place.script(
        "dial",
        &format!(
            "#!/bin/sh\nexec unshare --mount --propagation private sh -c 'mount --bind {here}/home /root && mkdir -p /run/sshd && \
             exec /usr/sbin/sshd -i -e -f {here}/sshd_config'\n"
        ),
    );
    libvirt.virsh(&["snapshot-create-as", DOMAIN, "clean"]);
    libvirt.lab(&format!(
        "snapshot = \"clean\"\nchannel = \"ssh\"\nlogin = \"root@guest\"\n\
         options = [\"-i\", \"{here}/key\", \"-o\", \"StrictHostKeyChecking=no\", \"-o\", \"UserKnownHostsFile=/dev/null\", \
         \"-o\", \"ProxyCommand={here}/dial\"]"
    ));
    place.prints(
        "who",
        &format!("virsh --connect qemu:///system domstate {DOMAIN}; echo 42"),
    );
    place.plan("use = [\"who\"]\nrounds = 1\n");
    libvirt
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    // A step saw its own domain run.
    assert!(
        place.raw("s", 1).contains("running"),
        "{}",
        place.raw("s", 1)
    );
    libvirt.assert_is("off");
    libvirt.assert_nothing_left();
}
