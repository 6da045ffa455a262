//! Real kernels on another machine: one that is emulated, with a disk, a network card, an `sshd`, and a firmware that
//! boots what the disk says. Every version is a boot entry; a running kernel shows on its command line which it is.

use backsight_test_needs::{Initramfs, debian_cloud_kernel};
use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::{
    far::{self, agent, agent_file, release},
    place::Place,
    processes::{self, LIMIT},
    running::{Ended, Running},
    stepping::{self, commits, step},
};

/// The machine's first process.
const INIT: &str = r#"#!/bin/busybox sh
export PATH=/bin:/usr/sbin
/bin/busybox --install -s /bin
mount -t proc none /proc && mount -t sysfs none /sys && mount -t devtmpfs none /dev
mkdir -p /dev/pts && mount -t devpts none /dev/pts
for module in MODULES; do insmod /modules/$module.ko; done
until [ -e /sys/class/net/eth0 ] && [ -e /dev/vda ]; do sleep 0.05; done
mount -t ext4 /dev/vda /root
chown -R 0:0 /root
mkdir -p /root/lib /var/lib/backsight && mount --bind /root/lib /var/lib/backsight
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
ip route add default via 10.0.2.2
exec dropbear -F -E -s -m -W 4194304 -r /etc/hostkey -p 22
"#;
/// What its kernel needs for its disk and its network, each after what it needs itself.
const MODULES: &[&str] = &[
    "drivers/virtio/virtio_ring",
    "drivers/virtio/virtio",
    "drivers/virtio/virtio_pci_legacy_dev",
    "drivers/virtio/virtio_pci_modern_dev",
    "drivers/virtio/virtio_pci",
    "net/core/failover",
    "drivers/net/net_failover",
    "drivers/net/virtio_net",
    "drivers/block/virtio_blk",
];
/// What every kernel of it is told.
const ARGS: &str = "console=ttyS0 panic=-1 quiet";
/// The machine's firmware: starts what the disk says whenever it was switched off or on.
const FIRMWARE: &str = r#"
cd "HERE"
PATH=$PATH:/usr/sbin:/sbin
while [ -e on ]; do
    debugfs -R "dump /boot/entry HERE/entry" disk 2>>firmware.log
    echo "boot: $(cat entry)" >> boots
    qemu-system-x86_64 -machine pc -accel tcg -cpu max -smp 1 -m 384M -display none -nodefaults -no-user-config \
        -no-reboot -kernel KERNEL -initrd initrd -append "ARGS $(cat entry)" -serial file:console \
        -netdev user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:PORT-:22 \
        -device virtio-net-pci,netdev=net,romfile= -drive file=disk,format=raw,if=virtio >>firmware.log 2>&1
    sleep 0.1
done
"#;
const LAB: &str = r#"
name = "NAME"
[host.NAME]
kind = "ssh"
login = "root@127.0.0.1"
data = "127.0.0.1"
options = ["-i", "HERE/key", "-p", "PORT", "-o", "UserKnownHostsFile=HERE/known", "-o", "StrictHostKeyChecking=yes"]
"#;

/// A port that nobody has, below those that the system gives out. Should somebody else get it before the machine does:
/// the firmware tries again, and nobody else has the machine's key.
fn port() -> u16 {
    let first = 20_000 + u16::try_from(std::process::id() * 7 % 12_000).unwrap();
    (first..32_768)
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .unwrap()
}

fn done(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// Makes what the machine's kernel starts with.
fn initrd(place: &Place, modules: &Path) {
    let system = Initramfs::new(&place.path("initrd.d"));
    system.add_folder("var/run");
    for program in ["usr/sbin/dropbear", "usr/sbin/kexec"] {
        system.add_program(&Path::new("/").join(program), program);
    }
    // The agent comes by the network: only its libraries are there.
    system.add_libraries(&agent());
    let names = system.add_modules(modules, MODULES);
    for (file, text) in [
        ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
        ("etc/group", "root:x:0:\n"),
        ("etc/shells", "/bin/sh\n"),
    ] {
        system.add_file(file, text);
    }
    system.add_script("init", &INIT.replace("MODULES", &names.join(" ")));
    symlink("/proc/mounts", system.path("etc/mtab")).unwrap();
    let hostkey = system.path("etc/hostkey");
    done(
        Command::new("dropbearkey")
            .args(["-t", "ed25519", "-f"])
            .arg(&hostkey),
    );
    let line = Command::new("dropbearkey")
        .arg("-y")
        .arg("-f")
        .arg(&hostkey)
        .output()
        .unwrap();
    let line = String::from_utf8(line.stdout).unwrap();
    let public = line.lines().find(|line| line.starts_with("ssh-")).unwrap();
    place.write("known.key", public);
    system.pack(&place.path("initrd"));
}

/// Makes the machine's disk: a home to log into, with the agent in it, which would take seconds to get there, and what
/// is booted.
fn disk(place: &Place, kernel: &Path) {
    let home = place.path("home");
    for folder in [".ssh", ".cache/backsight", "boot"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    let private = fs::Permissions::from_mode(0o700);
    fs::set_permissions(&home, private.clone()).unwrap();
    fs::set_permissions(home.join(".ssh"), private).unwrap();
    far::key(place, "key");
    fs::copy(place.path("key.pub"), home.join(".ssh/authorized_keys")).unwrap();
    fs::copy(agent(), home.join(".cache/backsight").join(agent_file())).unwrap();
    fs::copy(kernel, home.join("boot/vmlinuz")).unwrap();
    fs::copy(place.path("initrd"), home.join("boot/initrd")).unwrap();
    fs::write(home.join("boot/entry"), "as-delivered\n").unwrap();
    // Without a journal what was synced is where the firmware looks for it.
    let mut make = Command::new("/sbin/mkfs.ext4");
    make.args(["-q", "-O", "^has_journal", "-d"]).arg(&home);
    done(make.arg(place.path("disk")).arg("192M"));
}

/// A machine that is on. Its journal of settings is on its disk.
struct Machine {
    place: Place,
    port: u16,
    firmware: Child,
}

impl Machine {
    /// A place with two versions, and a machine that has never run any.
    fn new() -> Self {
        let place = stepping::place();
        let (kernel, modules) = debian_cloud_kernel()
            .expect("these tests boot Debian's kernel: apt-get install linux-image-cloud-amd64");
        initrd(&place, &modules);
        disk(&place, &kernel);
        let port = port();
        let here = place.at("").trim_end_matches('/').to_owned();
        let filled = |text: &str| {
            let text = text
                .replace("HERE", &here)
                .replace("PORT", &port.to_string());
            let text = text.replace("NAME", &place.name).replace("ARGS", ARGS);
            text.replace("KERNEL", kernel.to_str().unwrap())
        };
        place.write("lab.toml", filled(LAB));
        let known = place.read("known.key");
        place.write("known", format!("[127.0.0.1]:{port} {known}\n"));
        place.write("on", "");
        let mut firmware = place.put(Command::new("sh"), &["-c", &filled(FIRMWARE)]);
        firmware
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let firmware = firmware.spawn().unwrap();
        let machine = Self {
            place,
            port,
            firmware,
        };
        processes::until("the machine answers", || {
            machine.output_of("true").is_some()
        });
        machine
    }

    /// What a command there prints, if there is somebody who runs it.
    fn output_of(&self, command: &str) -> Option<String> {
        let known = format!("UserKnownHostsFile={}", self.place.at("known"));
        let output = Command::new("ssh")
            .args(["-i", &self.place.at("key"), "-p", &self.port.to_string()])
            .args([
                "-o",
                &known,
                "-o",
                "BatchMode=yes",
                "-o",
                "ConnectTimeout=5",
            ])
            .args(["root@127.0.0.1", command])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    /// Runs the program to its end; several kernels are booted meanwhile.
    fn ends(&self, arguments: &[&str]) -> Ended {
        let command = self.place.put(Command::new(release()), arguments);
        Running::start(command).ends_within(4 * LIMIT)
    }

    /// Cuts its power. The firmware starts it again at once.
    fn cut_power(&self) {
        let below = processes::below(self.firmware.id().cast_signed());
        let emulator = below
            .iter()
            .find(|it| it.command.starts_with("qemu-system"));
        let emulator = nix::unistd::Pid::from_raw(emulator.unwrap().pid);
        nix::sys::signal::kill(emulator, nix::sys::signal::Signal::SIGKILL).unwrap();
    }

    /// How many different things the firmware has started, one after the other.
    fn entries(&self) -> usize {
        let boots = self.place.read("boots");
        let mut entries: Vec<&str> = boots.lines().collect();
        entries.dedup();
        entries.len()
    }

    fn target(&self, activate: &str) {
        let text = format!(
            "name = \"app\"\nsource = {{ git = {{ url = \"repo\" }} }}\n\
             build = {{ run = \"cp speed tool && echo build={{stamp}} > entry\", keep = [\"tool\", \"entry\"] }}\n\
             [activate]\nproof = \"cat /proc/cmdline\"\ntimeout = \"100s\"\n{activate}\n"
        );
        self.place.write("app.toml", text);
    }

    /// Nothing of ours runs on it; then it is switched off, and nothing runs here.
    fn assert_nothing_left(mut self) {
        let listed = self.output_of("ls /tmp; ps").unwrap();
        assert!(
            !listed.contains("agent") && !listed.contains("backsight-"),
            "{listed}"
        );
        fs::remove_file(self.place.path("on")).unwrap();
        let _ends_the_emulator = self.output_of("reboot -f");
        processes::until_ended(self.firmware.id().cast_signed(), LIMIT);
        self.firmware.try_wait().unwrap().unwrap();
        self.place.assert_nothing_left();
    }
}

#[test]
fn a_machine_reboots_into_what_was_installed_and_proves_it() {
    let machine = Machine::new();
    let place = &machine.place;
    commits(place, &[10, 20, 30]);
    machine.target(
        "boot = \"ssh-reboot\"\n\
         run = \"case {version} in v3) ;; *) cp entry /root/boot/entry ;; esac\"\n\
         reboot = \"sync; reboot -f\"",
    );
    let arguments = ["--order", "forward", "--repeat", "1", "--name", "s"];
    let ended = machine.ends(&step("v1", "v3", &arguments));
    ended.assert_code(1);
    assert_eq!(place.study("s")["measured"], 2, "{}", ended.stderr);
    // The third was never installed: the second ran once more.
    assert!(
        ended.stderr.contains("what runs isn't that build"),
        "{}",
        ended.stderr
    );
    assert_eq!(machine.entries(), 3, "{}", place.read("boots"));
    let raw = place.raw("s", 2);
    assert!(raw.contains("20.2"), "{raw}");
    let log = place.prints_of(&["show", "s", "--boot", "2"]);
    assert!(
        log.contains("dmesg") && log.contains("Linux version"),
        "{log}"
    );
    machine.assert_nothing_left();
}

#[test]
#[ignore = "two and a half minutes: `make images`"]
fn a_machine_jumps_into_the_kernel_that_was_loaded_and_proves_it() {
    let machine = Machine::new();
    let place = &machine.place;
    commits(place, &[10, 20]);
    machine.target(&format!(
        "boot = \"kexec\"\nrun = '''kexec -l /root/boot/vmlinuz --initrd=/root/boot/initrd \
         --command-line=\"{ARGS} $(cat entry)\"'''"
    ));
    let ended = machine.ends(&step("v1", "v2", &["--repeat", "1", "--name", "s"]));
    ended.assert_code(0);
    assert_eq!(place.study("s")["measured"], 2, "{}", ended.stderr);
    assert_eq!(machine.entries(), 1, "the firmware has no part in it");
    assert!(
        machine
            .output_of("cat /proc/cmdline")
            .unwrap()
            .contains("build=")
    );
    machine.assert_nothing_left();
}

#[test]
fn a_machine_whose_power_is_cut_in_a_study_is_prepared_again_when_it_is_back_and_put_back_in_the_end()
 {
    if backsight_test_needs::Need::Qemu.is_missing() {
        return;
    }
    let machine = Machine::new();
    let place = &machine.place;
    let swappiness = || machine.output_of("cat /proc/sys/vm/swappiness");
    let before = swappiness().unwrap();
    // The first trial waits for the power cut, which ends it.
    place.prints(
        "swap",
        "cat /proc/sys/vm/swappiness; [ -e /root/seen ] || (: > /root/seen; sync; sleep 600)",
    );
    place.plan("use = [\"swap\"]\nrounds = 2\n[prepare]\nsysctl.\"vm.swappiness\" = 7\n");
    let arguments = [
        "run",
        "plan.toml",
        "--name",
        "a",
        "--host-wait",
        "2m",
        "--json",
    ];
    let mut run = Running::start(place.put(Command::new(release()), &arguments));
    run.until_step_in("run");
    processes::until("the first trial waits", || {
        machine.output_of("cat /root/seen").is_some()
    });
    assert_eq!(swappiness().unwrap(), "7\n");
    assert!(
        machine
            .output_of("cat /root/lib/journal")
            .unwrap()
            .contains("swappiness")
    );
    machine.cut_power();
    let ended = run.ends_within(4 * LIMIT);
    let trials = place.trials("a");
    assert!(
        !trials[0].measured() && trials[1].measured(),
        "{trials:#?} {}",
        ended.stderr
    );
    let raw = place.raw("a", 2);
    assert!(raw.lines().any(|line| line.trim() == "7"), "{raw}");
    assert_eq!(swappiness().unwrap(), before);
    assert_eq!(machine.output_of("ls /root/lib").unwrap(), "journal.lock\n");
    machine.assert_nothing_left();
}
