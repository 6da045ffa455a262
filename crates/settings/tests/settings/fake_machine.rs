//! A folder that stands for a machine: copies of what the kernel shows, and programs that keep their state in files.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use backsight_model::{Preparation, TomlDocument};
use backsight_settings::{
    JournalFile, MachineRoot, PreparationSource, SettingCatalog, WantedSetting, resolve,
};

/// Files of a machine with two policies of frequency, four CPUs, an interface and a disk.
const FILES: &[(&str, &str)] = &[
    (
        "proc/sys/kernel/random/boot_id",
        "88073b4d-f2c9-40e2-895a-439643f4aa6a\n",
    ),
    ("proc/sys/vm/swappiness", "60\n"),
    ("proc/sys/vm/stat_interval", "1\n"),
    ("proc/sys/vm/dirty_ratio", "20\n"),
    ("proc/sys/vm/dirty_bytes", "0\n"),
    ("proc/sys/vm/compaction_proactiveness", "20\n"),
    ("proc/sys/vm/drop_caches", "0\n"),
    ("proc/sys/kernel/numa_balancing", "1\n"),
    ("proc/sys/kernel/timer_migration", "1\n"),
    ("proc/sys/kernel/nmi_watchdog", "1\n"),
    ("proc/sys/kernel/watchdog", "1\n"),
    ("proc/sys/kernel/watchdog_cpumask", "0-3\n"),
    ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
    ("proc/sys/net/ipv4/tcp_no_metrics_save", "0\n"),
    ("proc/sys/net/ipv4/tcp_congestion_control", "cubic\n"),
    (
        "proc/sys/net/ipv4/tcp_available_congestion_control",
        "reno cubic bbr\n",
    ),
    ("proc/irq/default_smp_affinity", "f\n"),
    ("proc/irq/24/smp_affinity", "00000000,0000000f\n"),
    ("proc/irq/25/smp_affinity", "2\n"),
    (
        "proc/swaps",
        "Filename Type Size Used Priority\n/dev/vdc partition 1 0 -2\n",
    ),
    ("proc/self/mounts", "/dev/vda / ext4 rw 0 0\n"),
    ("dev/cpu_dma_latency", ""),
    ("dev/vda", ""),
    ("dev/vdb", ""),
    ("dev/vdc", ""),
    ("sys/devices/system/cpu/present", "0-3\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/isolated", "\n"),
    ("sys/devices/system/cpu/smt/control", "on\n"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
    (
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "powersave\n",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors",
        "performance powersave \n",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq",
        "800000\n",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
        "3400000\n",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy1/scaling_governor",
        "ondemand\n",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy1/scaling_available_governors",
        "performance ondemand\n",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy1/scaling_min_freq",
        "900000\n",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq",
        "3500000\n",
    ),
    ("sys/devices/virtual/workqueue/cpumask", "f\n"),
    (
        "sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never\n",
    ),
    (
        "sys/kernel/mm/transparent_hugepage/defrag",
        "always defer defer+madvise [madvise] never\n",
    ),
    (
        "sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
        "1\n",
    ),
    ("sys/kernel/mm/ksm/run", "0\n"),
    ("sys/class/net/eth0/device/msi_irqs/24", "msix\n"),
    ("sys/class/net/eth0/mtu", "1500\n"),
    ("sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n"),
    (
        "sys/block/vda/queue/scheduler",
        "[mq-deadline] kyber none\n",
    ),
    ("sys/block/vda/queue/nr_requests", "64\n"),
    ("sys/block/vda/queue/read_ahead_kb", "128\n"),
    ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n"),
    ("sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n"),
    ("run/systemd/system/present", ""),
    ("state/cron.service", "active\n"),
    ("state/irqbalance.service", "inactive\n"),
    ("state/fstrim.timer", "active\n"),
    ("state/tso", "on\n"),
    ("state/ring", "256\n"),
];

/// Programs, as scripts whose state is in the folder `state`.
const PROGRAMS: &[(&str, &str)] = &[
    (
        "systemctl",
        r#"case $1 in
show) cat "$state/$5" 2>/dev/null || echo inactive ;;
stop) [ "$3" != stubborn.service ] || { echo "Job failed." >&2; exit 1; }; echo inactive > "$state/$3" ;;
start) echo active > "$state/$3" ;;
esac"#,
    ),
    (
        "ethtool",
        r#"case $1 in
-k) printf 'Features for %s:\ntcp-segmentation-offload: %s\n' "$2" "$(cat "$state/tso")" ;;
-K) echo "$4" > "$state/tso" ;;
-g) printf 'Ring parameters for %s:\nPre-set maximums:\nRX:\t\t4096\nCurrent hardware settings:\nRX:\t\t%s\n' "$2" "$(cat "$state/ring")" ;;
-G) if [ "$4" -gt 4096 ]; then echo "netlink error: Invalid argument" >&2; exit 1; fi; echo "$4" > "$state/ring" ;;
esac"#,
    ),
    (
        "ip",
        r#"[ "$5" != 10.0.0.2 ] || echo '2: eth0    inet 10.0.0.2/24 brd 10.0.0.255 scope global eth0'"#,
    ),
    ("mkfs.ext4", "exit 1"),
    ("mount", "exit 1"),
    ("umount", "exit 1"),
];

/// The machine, in a folder of its own.
pub struct FakeMachine {
    folder: tempfile::TempDir,
}

impl FakeMachine {
    pub fn new() -> Self {
        // Each journal is written to disk: what that takes is measured elsewhere.
        let memory = Path::new("/dev/shm");
        let folder = match memory.is_dir() {
            true => tempfile::tempdir_in(memory).unwrap(),
            false => tempfile::tempdir().unwrap(),
        };
        let machine = Self { folder };
        for (path, text) in FILES {
            machine.put(path, text);
        }
        for (name, script) in PROGRAMS {
            let text = format!(
                "#!/bin/sh\nstate={}/state\n{script}\n",
                machine.root().display()
            );
            let path = machine.put(&format!("usr/bin/{name}"), &text);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        machine
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    pub fn put(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A file with the settings that a text asks for, as they cross the wire.
    pub fn put_wanted(&self, text: &str) -> String {
        self.put_wanted_as("wanted", text)
    }

    pub fn put_wanted_as(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(format!("{name}.json"));
        fs::write(&path, serde_json::to_string(&wanted(text)).unwrap()).unwrap();
        path.display().to_string()
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub fn journal(&self) -> PathBuf {
        self.folder.path().join("var/journal")
    }

    pub fn journal_file(&self) -> JournalFile {
        JournalFile::new(self.journal())
    }

    pub fn machine(&self) -> MachineRoot {
        MachineRoot::in_folder(self.root(), vec![self.root().join("usr/bin")])
    }

    /// Every file with its bytes, every folder without.
    pub fn everything(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        fn add(folder: &Path, found: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    add(&path, found);
                    found.insert(path, None);
                } else {
                    let bytes = fs::read(&path).unwrap();
                    found.insert(path, Some(bytes));
                }
            }
        }
        let mut found = BTreeMap::new();
        add(&self.root(), &mut found);
        found
    }

    /// Runs the program of `examples/` on it.
    pub fn run(&self, words: &[&str], environment: &[(&str, &str)]) -> Output {
        self.command(words, environment).output().unwrap()
    }

    pub fn command(&self, words: &[&str], environment: &[(&str, &str)]) -> Command {
        let test = std::env::current_exe().unwrap();
        let examples = test.parent().unwrap().with_file_name("examples");
        let mut command = Command::new(examples.join("change_settings"));
        let [verb, rest @ ..] = words else {
            panic!("no verb")
        };
        command
            .arg(verb)
            .arg(self.root())
            .arg(self.journal())
            .args(rest)
            .envs(environment.iter().copied());
        command
    }

    /// What the lock and nothing else leaves beside the journal.
    pub fn assert_journal_is_gone(&self) {
        let folder = self.journal();
        let folder = folder.parent().unwrap();
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let name = entry.unwrap().file_name();
            assert_eq!(name, "journal.lock");
        }
    }
}

/// The settings that a text asks for.
pub fn wanted(text: &str) -> Vec<WantedSetting> {
    try_wanted(text).unwrap()
}

pub fn try_wanted(text: &str) -> Result<Vec<WantedSetting>, backsight_model::DocumentError> {
    let document = TomlDocument::new("plan.toml", text);
    let preparation: Preparation = document.read()?;
    let source = PreparationSource::new(&document, &preparation);
    resolve(&SettingCatalog::load(&[]).unwrap(), &[source])
}
