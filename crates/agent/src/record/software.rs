//! Kernel, packages, file systems, services, limits and environment.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::{AddValue as _, MachineFiles, Section};

/// How long a program may take to say what it knows.
const PROGRAM_LIMIT: Duration = Duration::from_secs(2);

/// Variables that change how programs run; no other is recorded, whatever it may be.
const VARIABLES: &[&str] = &[
    "PATH",
    "LANG",
    "LC_*",
    "LD_*",
    "TZ",
    "MALLOC_*",
    "GLIBC_TUNABLES",
    "OMP_*",
    "GOMP_*",
    "KMP_*",
    "MKL_*",
    "OPENBLAS_*",
    "GOGC",
    "GOMAXPROCS",
    "GODEBUG",
    "RUST_BACKTRACE",
    "RUST_MIN_STACK",
    "JAVA_TOOL_OPTIONS",
    "PYTHONHASHSEED",
    "PYTHONMALLOC",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "RUSTFLAGS",
    "MAKEFLAGS",
];

/// The options that a kernel was configured with.
pub(super) fn kernel_config(machine: &MachineFiles) -> Section {
    let release = machine
        .value("proc/sys/kernel/osrelease")
        .unwrap_or_default();
    let text = machine
        .text(format!("boot/config-{release}"))
        .filter(|_| !release.is_empty());
    let text = text.or_else(|| machine.text(format!("lib/modules/{release}/config")));
    let text = text.or_else(|| unpacked(&machine.bytes("proc/config.gz")?));
    let text = text.unwrap_or_default();
    let options = text.lines().filter_map(|line| line.split_once('='));
    let options = options.filter(|(name, _)| name.starts_with("CONFIG_"));
    options
        .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
        .collect()
}

/// What a gzip file holds: its last four bytes say how much that is (RFC 1952, 2.3.1).
fn unpacked(packed: &[u8]) -> Option<String> {
    const LONGEST: usize = 16 << 20;
    /// The largest window, and a header of either kind, as zlib's inflateInit2 has them.
    const ANY_HEADER: i32 = 15 + 32;
    let size = packed.last_chunk().map(|size| u32::from_le_bytes(*size))?;
    let mut text = vec![0; usize::try_from(size).ok()?.min(LONGEST)];
    let config = zlib_rs::InflateConfig {
        window_bits: ANY_HEADER,
    };
    let (text, ending) = zlib_rs::decompress_slice(&mut text, packed, config);
    let is_whole = ending == zlib_rs::ReturnCode::Ok;
    is_whole.then(|| String::from_utf8_lossy(text).into_owned())
}

/// Modules that are loaded, with the versions of their sources.
pub(super) fn modules(machine: &MachineFiles) -> Section {
    let text = machine.text("proc/modules").unwrap_or_default();
    let names = text
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().next());
    let versions = names.map(|name| {
        let of = |file: &str| machine.value(format!("sys/module/{name}/{file}"));
        (
            name.to_owned(),
            of("version")
                .or_else(|| of("srcversion"))
                .unwrap_or_else(|| "loaded".into()),
        )
    });
    versions.collect()
}

/// Packages with their versions: Debian's, Alpine's, Arch's, and those of RPM.
pub(super) fn packages(machine: &MachineFiles) -> Section {
    let mut found = Section::new();
    let debian = machine.text("var/lib/dpkg/status").unwrap_or_default();
    for package in debian.split("\n\n") {
        let of = |label: &str| {
            package
                .lines()
                .find_map(|line| line.strip_prefix(label)?.strip_prefix(": "))
        };
        let installed = of("Status").is_some_and(|status| status.ends_with(" installed"));
        if let (true, Some(name), Some(version)) = (installed, of("Package"), of("Version")) {
            found.insert(name.to_owned(), version.to_owned());
        }
    }
    let alpine = machine.text("lib/apk/db/installed").unwrap_or_default();
    for package in alpine.split("\n\n") {
        let of = |label: &str| package.lines().find_map(|line| line.strip_prefix(label));
        if let (Some(name), Some(version)) = (of("P:"), of("V:")) {
            found.insert(name.to_owned(), version.to_owned());
        }
    }
    for folder in machine.names("var/lib/pacman/local") {
        let mut parts = folder.rsplitn(3, '-');
        if let (Some(release), Some(version), Some(name)) =
            (parts.next(), parts.next(), parts.next())
        {
            found.insert(name.to_owned(), format!("{version}-{release}"));
        }
    }
    if machine.is_here() && machine.path("var/lib/rpm").exists() {
        let text = output_of(Program::Rpm).unwrap_or_default();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        found.extend(pairs.map(|(name, version)| (name.to_owned(), version.to_owned())));
    }
    found
}

/// File systems that are mounted: device, kind and options, by their place. Those of trials and of the kernel itself aren't there.
pub(super) fn file_systems(machine: &MachineFiles) -> Section {
    const OF_KERNEL: &[&str] = &[
        "proc",
        "sysfs",
        "cgroup",
        "cgroup2",
        "devpts",
        "mqueue",
        "debugfs",
        "tracefs",
        "securityfs",
        "pstore",
        "bpf",
        "configfs",
        "fusectl",
        "autofs",
        "nsfs",
        "binfmt_misc",
        "rpc_pipefs",
        "hugetlbfs",
        "devtmpfs",
        "efivarfs",
    ];
    let text = machine
        .text("proc/self/mounts")
        .or_else(|| machine.text("proc/mounts"));
    let text = text.unwrap_or_default();
    let mounts = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let &[device, place, kind, options, ..] = &words[..] else {
            return None;
        };
        let is_ours = place.contains("/backsight-");
        (!OF_KERNEL.contains(&kind) && !is_ours)
            .then(|| (place.to_owned(), format!("{device} {kind} {options}")))
    });
    mounts.collect()
}

/// Services that run.
pub(super) fn services(machine: &MachineFiles) -> Section {
    let has_systemd = machine.is_here() && machine.path("run/systemd/system").exists();
    let text = has_systemd
        .then(|| output_of(Program::Systemctl))
        .flatten()
        .unwrap_or_default();
    let names = text
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().next());
    names
        .map(|name| (name.to_owned(), "running".to_owned()))
        .collect()
}

/// What a process may use, as the agent's processes may.
pub(super) fn limits(machine: &MachineFiles) -> Section {
    let text = machine.text("proc/self/limits").unwrap_or_default();
    let limits = text.lines().skip(1).filter_map(|line| {
        // The name is 26 columns wide, each number 21.
        let (name, rest) = line.split_at_checked(26)?;
        let mut words = rest.split_ascii_whitespace();
        let (soft, hard) = (words.next()?, words.next()?);
        Some((
            name.trim().to_lowercase().replace(' ', "_"),
            format!("{soft}, at most {hard}"),
        ))
    });
    limits.collect()
}

/// Variables that change how programs run.
pub(super) fn environment(machine: &MachineFiles) -> Section {
    let mut found = Section::new();
    if !machine.is_here() {
        return found;
    }
    for (name, value) in std::env::vars() {
        let known = VARIABLES.iter().any(|known| match known.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => *known == name,
        });
        if known {
            found.add(name, Some(value));
        }
    }
    found
}

/// Programs that are asked where the kernel's files don't say it.
#[derive(Clone, Copy)]
pub(super) enum Program<'a> {
    Dmidecode,
    Ethtool(&'a str),
    /// A program's loader, which lists the program's libraries.
    Loader(&'a str, &'a str),
    Rpm,
    Systemctl,
}

/// What a program prints; nothing if it isn't there, fails or takes too long.
pub(super) fn output_of(program: Program<'_>) -> Option<String> {
    let words: &[&str] = match program {
        Program::Dmidecode => &["dmidecode", "-q", "-t", "memory"],
        Program::Ethtool(link) => &["ethtool", "-k", link],
        Program::Loader(loader, program) => &[loader, "--list", program],
        Program::Rpm => &["rpm", "-qa", "--qf", "%{NAME} %{VERSION}-%{RELEASE}\n"],
        Program::Systemctl => &[
            "systemctl",
            "list-units",
            "--type=service",
            "--state=running",
            "--no-legend",
            "--plain",
        ],
    };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("LC_ALL", "C");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut stdout = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        let _gone = stdout.read_to_end(&mut text);
        let _nobody_waits = sender.send(text);
    });
    let text = receiver.recv_timeout(PROGRAM_LIMIT).ok();
    if text.is_none() {
        let _ended_already = child.kill();
    }
    let status = child.wait().ok()?;
    let _panicked = reader.join();
    let text = text.filter(|_| status.success())?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, MachineFiles) {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let machine = MachineFiles::new(folder.path());
        (folder, machine)
    }

    fn section(values: &[(&str, &str)]) -> Section {
        values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn packages_of_every_kind_have_their_versions_and_removed_ones_are_not_there() {
        let (_folder, machine) = machine(&[
            (
                "var/lib/dpkg/status",
                "Package: libc6\nStatus: install ok installed\nVersion: 2.36-9\n\nPackage: gone\nStatus: deinstall ok config-files\nVersion: 1\n",
            ),
            (
                "lib/apk/db/installed",
                "C:Q1\nP:musl\nV:1.2.4-r2\n\nP:busybox\nV:1.36.1-r5\n",
            ),
            ("var/lib/pacman/local/gcc-libs-13.2.1-3/desc", ""),
        ]);
        let wanted = section(&[
            ("busybox", "1.36.1-r5"),
            ("gcc-libs", "13.2.1-3"),
            ("libc6", "2.36-9"),
            ("musl", "1.2.4-r2"),
        ]);
        assert_eq!(packages(&machine), wanted);
    }

    #[test]
    fn the_kernel_s_options_mounts_modules_and_limits_are_read() {
        let (_folder, machine) = machine(&[
            ("proc/sys/kernel/osrelease", "6.1.0\n"),
            (
                "boot/config-6.1.0",
                "# CONFIG_A is not set\nCONFIG_HZ=250\nCONFIG_LOCALVERSION=\"-x\"\n",
            ),
            (
                "proc/self/mounts",
                "/dev/vda1 / ext4 rw,relatime 0 0\nproc /proc proc rw 0 0\ntmpfs /tmp/backsight-1-2/x tmpfs rw 0 0\n",
            ),
            ("proc/modules", "nf_tables 16384 0 - Live 0x0\n"),
            ("sys/module/nf_tables/srcversion", "ABCD\n"),
            (
                "proc/self/limits",
                "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1024                 1048576              files     \n",
            ),
        ]);
        let wanted = section(&[("CONFIG_HZ", "250"), ("CONFIG_LOCALVERSION", "-x")]);
        assert_eq!(kernel_config(&machine), wanted);
        assert_eq!(
            file_systems(&machine),
            section(&[("/", "/dev/vda1 ext4 rw,relatime")])
        );
        assert_eq!(modules(&machine), section(&[("nf_tables", "ABCD")]));
        assert_eq!(
            limits(&machine),
            section(&[("max_open_files", "1024, at most 1048576")])
        );
    }
}
