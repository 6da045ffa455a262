//! An emulated machine whose power is cut while settings are made or put back: its kernel and all that it kept in memory are gone, and
//! what was on its disk is what a disk has then. The next start finds a journal that reads well, puts back what survived, and the whole
//! of /proc/sys and /sys that can be written is as it was.
//!
//! The machine is QEMU's, killed by SIGKILL while the program stands still at a named point; its kernel is Debian's for clouds, its
//! first process a script of busybox.

use super::fake_machine::wanted;
use backsight_test_needs::{Initramfs, Need, debian_cloud_kernel};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

/// What is prepared there: the kernel's own parameters, of an interface, and what outlasts a restart, as files on its disk.
const PLAN: &str = r#"
memory.swappiness = 0
memory.thp = "never"
sysctl."vm.dirty_ratio" = 5
sysctl."kernel.hostname" = "prepared"
net.mtu = { interface = "lo", bytes = 1400 }
services.stop = ["one.service", "two.timer"]
disk.loop = { size = "4MiB", format = "ext4", mount = "/var/lib/scratch/loop" }
"#;
/// Changes that outlast a restart: two units and a file system.
const PERSISTENT: usize = 3;
/// The files of the kernel's among them.
const TARGETS: [&str; 5] = [
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/dirty_ratio",
    "/proc/sys/kernel/hostname",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/devices/virtual/net/lo/mtu",
];
/// The machine's first process. What it does is on its kernel's command line.
const INIT: &str = r#"#!/bin/busybox sh
export PATH=/bin:/sbin
/bin/busybox --install -s /bin
mount -t proc none /proc && mount -t sysfs none /sys && mount -t devtmpfs none /dev
for module in MODULES; do insmod /modules/$module.ko; done
until [ -e /dev/vda ] && [ -e /dev/vdb ]; do sleep 0.05; done
echo STARTED
mount -t ext4 /dev/vda /var/lib
ip link set lo up
for word in $(cat /proc/cmdline); do case $word in do=*) do=${word#do=} ;; point=*) point=$(echo ${word#point=} | tr _ ' ') ;; esac; done
journal=/var/lib/backsight/journal
program=/bin/change_settings
case $do in
list)
    LIST_POINTS=1 $program apply / $journal /wanted.json cut strict
    echo PUTTING-BACK
    LIST_POINTS=1 $program restore / $journal abandoned ;;
apply) STOP_AT=$point $program apply / $journal /wanted.json cut strict ;;
restore)
    STOP_AT=$point $program restore / $journal abandoned
    $program restore / $journal abandoned ;;
esac
{
    find /proc/sys /sys -type f -perm -0200 -size -9 ! -name ns_last_pid -print0 | xargs -0 grep -H "" 2>/dev/null
    find /var/lib -not -path '/var/lib/backsight/journal.lock' -not -path /var/lib/lost+found | sort
    grep -H "" /var/lib/state/*
    grep /var/lib/ /proc/mounts
} > /dev/vdb
sync
echo ENDED
reboot -f
"#;
/// Units whose state is on the disk, so that a restart doesn't put it back.
const SYSTEMCTL: &str = r#"#!/bin/sh
state=/var/lib/state
case $1 in
show) cat "$state/$5" 2>/dev/null || echo inactive ;;
stop) echo inactive > "$state/$3"; sync ;;
start) echo active > "$state/$3"; sync ;;
esac
"#;
/// What its kernel needs for its disks, each after what it needs itself.
const MODULES: &[&str] = &[
    "drivers/virtio/virtio_ring",
    "drivers/virtio/virtio",
    "drivers/virtio/virtio_pci_legacy_dev",
    "drivers/virtio/virtio_pci_modern_dev",
    "drivers/virtio/virtio_pci",
    "drivers/block/virtio_blk",
    "drivers/block/loop",
];
/// Longest wait for a start of the machine with all that it does, on a processor that is busy with other tests.
const LIMIT: Duration = Duration::from_secs(180);

fn done(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// What a machine showed at the end of a start: by file its lines, and single lines.
type Look = BTreeMap<String, Vec<String>>;

/// Whether two starts show the same. Sizes that the kernel takes from its free memory differ a little from one to the next.
fn is_same(one: &[String], other: &[String]) -> bool {
    let words = |lines: &[String]| -> Vec<String> {
        let words = lines.iter().flat_map(|line| line.split_whitespace());
        words.map(str::to_owned).collect()
    };
    let is_close =
        |(one, other): (&String, &String)| match (one.parse::<u64>(), other.parse::<u64>()) {
            (Ok(one), Ok(other)) => one.abs_diff(other) <= one / 200,
            _ => one == other,
        };
    let (one, other) = (words(one), words(other));
    one.len() == other.len() && one.iter().zip(&other).all(is_close)
}

/// A machine that is off.
struct Machine {
    folder: tempfile::TempDir,
    kernel: PathBuf,
    /// What each start shows that nobody prepares for, but for what differs from one start to the next.
    untouched: Look,
}

/// How a start of it ended, with the lines that it said.
struct Start {
    said: Vec<String>,
    look: Look,
}

impl Start {
    /// What the program printed: reports, one a line.
    fn reports(&self) -> Vec<serde_json::Value> {
        let reports = self.said.iter().filter(|line| line.starts_with('{'));
        reports
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (kernel, modules) = debian_cloud_kernel().expect("Need::Qemu has found it");
        let system = Initramfs::new(&folder.path().join("root"));
        system.add_folder("run/systemd/system");
        system.add_folder("var/lib");
        system.add_program(Path::new("/sbin/mkfs.ext4"), "sbin/mkfs.ext4");
        let test = std::env::current_exe().unwrap();
        let program = test
            .parent()
            .unwrap()
            .with_file_name("examples")
            .join("change_settings");
        let slim = folder.path().join("change_settings");
        done(Command::new("strip").arg("-o").args([&slim, &program]));
        system.add_program(&slim, "bin/change_settings");
        let names = system.add_modules(&modules, MODULES);
        system.add_file("wanted.json", serde_json::to_string(&wanted(PLAN)).unwrap());
        system.add_script("init", &INIT.replace("MODULES", &names.join(" ")));
        system.add_script("bin/systemctl", SYSTEMCTL);
        system.pack(&folder.path().join("initrd"));
        let disk = folder.path().join("disk.d/state");
        fs::create_dir_all(&disk).unwrap();
        for unit in ["one.service", "two.timer"] {
            fs::write(disk.join(unit), "active\n").unwrap();
        }
        let mut make = Command::new("/sbin/mkfs.ext4");
        make.args(["-q", "-d", "disk.d", "disk", "64M"]);
        done(make.current_dir(folder.path()));
        let mut machine = Self {
            folder,
            kernel,
            untouched: Look::new(),
        };
        let first = machine.start("do=nothing").ends().look;
        let second = machine.start("do=nothing").ends().look;
        assert!(first.len() > 500, "{first:#?}");
        machine.untouched = first;
        for target in TARGETS {
            assert!(machine.untouched.contains_key(target), "{target}");
        }
        machine
            .untouched
            .retain(|file, text| second.get(file).is_some_and(|it| is_same(text, it)));
        machine
    }

    /// Starts it. An emulated kernel that crashes before its first process, which happens on a busy machine, is started again: it has
    /// touched nothing.
    fn start(&self, arguments: &str) -> Power {
        for _ in 0..4 {
            let mut power = self.switch_on(arguments);
            if power.has_started() {
                return power;
            }
        }
        panic!("its kernel doesn't start");
    }

    fn switch_on(&self, arguments: &str) -> Power {
        let look = self.folder.path().join("look");
        File::create(&look).unwrap().set_len(16 << 20).unwrap();
        let mut emulator = Command::new("qemu-system-x86_64");
        emulator
            .args("-machine pc,i8042=off -accel tcg -cpu max -smp 1 -m 256M -display none -nodefaults -no-user-config -no-reboot".split(' '))
            .arg("-kernel")
            .arg(&self.kernel)
            .args(["-initrd", "initrd", "-serial", "stdio", "-append"])
            .arg(format!("console=ttyS0 panic=-1 quiet {arguments}"))
            .args(["-drive", "file=disk,format=raw,if=virtio"])
            .args(["-drive", "file=look,format=raw,if=virtio"])
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = emulator.spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in said.split(b'\n') {
                let Ok(line) = line else { return };
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Power {
            child,
            lines,
            said: Vec::new(),
            look,
            until: Instant::now() + LIMIT,
        }
    }

    /// The points that making and putting back pass, in order, and how many changes there are.
    fn points(&self) -> (Vec<String>, Vec<String>, usize) {
        let start = self.start("do=list").ends();
        let reports = start.reports();
        assert_eq!(reports[0]["stands"], true, "{:#?}", start.said);
        let is_point = |line: &&String| {
            line.rsplit_once(' ')
                .is_some_and(|(_, n)| n.parse::<usize>().is_ok())
        };
        let at = start
            .said
            .iter()
            .position(|line| line == "PUTTING-BACK")
            .unwrap();
        let (making, putting_back) = start.said.split_at(at);
        let making: Vec<String> = making.iter().filter(is_point).cloned().collect();
        let putting_back = putting_back.iter().filter(is_point).cloned().collect();
        let changes = reports[1]["changes"].as_array().unwrap().len();
        (making, putting_back, changes)
    }

    /// The files that are otherwise than before any study, with what is in them.
    fn others(&self, look: &Look) -> Look {
        let is_other = |(file, text): &(&String, &Vec<String>)| {
            let now = look.get(*file);
            !now.is_some_and(|now| is_same(text, now))
        };
        let others = self.untouched.iter().filter(is_other);
        let now = |file: &String| look.get(file).cloned().unwrap_or_default();
        others.map(|(file, _)| (file.clone(), now(file))).collect()
    }

    /// Cuts the power when making, and then when putting back, has come to these points; then lets it put back.
    fn cut_at(&self, making: &str, putting_back: Option<&str>, changes: Option<usize>) {
        let what = format!("cut at `{making}` and {putting_back:?}");
        self.start(&format!("do=apply point={}", making.replace(' ', "_")))
            .cut_at(making);
        if let Some(point) = putting_back {
            self.start(&format!("do=restore point={}", point.replace(' ', "_")))
                .cut_at(point);
        }
        let start = self.start("do=restore").ends();
        let reports = start.reports();
        assert_eq!(reports.len(), 2, "{what}: {:#?}", start.said);
        for report in &reports {
            assert_eq!(report["damaged_lines"], serde_json::json!([]), "{what}");
        }
        let back = reports[0]["changes"].as_array().unwrap();
        if let Some(changes) = changes {
            assert_eq!(back.len(), changes, "{what}: {back:#?}");
            let undone = back
                .iter()
                .filter(|it| it["outcome"]["outcome"] == "undone-by-restart");
            assert_eq!(undone.count(), changes - PERSISTENT, "{what}: {back:#?}");
        }
        assert_eq!(
            reports[1]["changes"],
            serde_json::json!([]),
            "{what}: a second time"
        );
        let mut others = self.others(&start.look);
        for target in TARGETS {
            assert!(!others.contains_key(target), "{what}: {others:#?}");
        }
        if !others.is_empty() {
            // A kernel chooses a clock, and finds devices, otherwise now and then. What a study left would be there again.
            let again = self.start("do=nothing").ends();
            let again = self.others(&again.look);
            others.retain(|file, _| again.contains_key(file));
        }
        assert!(others.is_empty(), "{what}: {others:#?}");
        let new = start
            .look
            .keys()
            .filter(|file| file.starts_with("/var/lib") || file.starts_with("/dev/loop"));
        let new: Vec<&String> = new
            .filter(|file| !self.untouched.contains_key(*file))
            .collect();
        // The journal's own folder and lock stay.
        assert_eq!(new, ["/var/lib/backsight"], "{what}");
    }
}

/// A machine that is on.
struct Power {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
    look: PathBuf,
    until: Instant,
}

impl Power {
    /// Waits until its first process runs; false if its kernel says that it can't go on.
    fn has_started(&mut self) -> bool {
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            let Ok(said) = self.lines.recv_timeout(left) else {
                return false;
            };
            if said == "STARTED" || said.contains("---[ end ") {
                return said == "STARTED";
            }
            self.said.push(said);
        }
    }

    fn wait_for(&mut self, line: &str) {
        while self.said.last().is_none_or(|last| last != line) {
            let left = self.until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(said) => self.said.push(said),
                Err(_) => panic!("it never said {line:?}: {:#?}", self.said),
            }
        }
    }

    /// Cuts the power when the program stands still at a point.
    fn cut_at(mut self, point: &str) {
        self.wait_for(&format!("AT {point}"));
    }

    /// Waits for its end.
    fn ends(mut self) -> Start {
        self.wait_for("ENDED");
        // It stops by itself; its look is on the disk.
        let text = fs::read(&self.look).unwrap();
        let text = String::from_utf8_lossy(&text);
        let mut look = Look::new();
        for line in text.trim_end_matches('\0').lines() {
            let (file, text) = line.split_once(':').unwrap_or((line, ""));
            look.entry(file.to_owned())
                .or_default()
                .push(text.to_owned());
        }
        Start {
            said: std::mem::take(&mut self.said),
            look,
        }
    }
}

impl Drop for Power {
    fn drop(&mut self) {
        let _it_has_ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
fn a_power_cut_leaves_a_journal_that_puts_back_what_outlasted_it() {
    if Need::Qemu.is_missing() {
        return;
    }
    let machine = Machine::new();
    let (making, _, changes) = machine.points();
    let middle = format!("after write {}", changes / 2);
    assert!(making.contains(&middle), "{making:#?}");
    machine.cut_at(&middle, None, Some(changes));
}

#[test]
#[ignore = "a quarter of an hour: `make kills`"]
fn power_cuts_at_every_point_of_making_and_putting_back() {
    if Need::Qemu.is_missing() {
        return;
    }
    let machine = Machine::new();
    let (making, putting_back, changes) = machine.points();
    let began = Instant::now();
    let on_disk = making
        .iter()
        .position(|point| point == "after fsync 0")
        .unwrap();
    for (number, point) in making.iter().enumerate() {
        machine.cut_at(point, None, (number >= on_disk).then_some(changes));
        println!("{point}: as it was");
    }
    let last = making
        .iter()
        .rfind(|point| point.starts_with("after verify"))
        .unwrap();
    for point in &putting_back {
        machine.cut_at(last, Some(point), None);
        println!("{point}: as it was");
    }
    println!(
        "{} points of making, {} of putting back, {} power cuts, {:.0?}: as it was each time",
        making.len(),
        putting_back.len(),
        making.len() + 2 * putting_back.len(),
        began.elapsed()
    );
}
