//! What tests need of the machine that they run on. Where it is missing the test fails, unless `BACKSIGHT_SKIP` names it:
//! nobody believes that something was tested which wasn't.
//!
//! ```
//! use backsight_test_needs::Need;
//!
//! if Need::Root.is_missing() {
//!     return;
//! }
//! ```
//!
//! `scripts/missing-needs` says what is missing, by the same names; `make test` sets the variable to that.

mod initramfs;
mod postgres_server;
mod slurm_cluster;
mod test_cgroup;

pub use initramfs::Initramfs;
pub use postgres_server::{PostgresServer, SmallDisk};
pub use slurm_cluster::SlurmCluster;
pub use test_cgroup::TestCgroup;

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Command,
};

/// The names of what is missing and may be, with commas between.
const VARIABLE: &str = "BACKSIGHT_SKIP";

/// Something that tests need and that isn't everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// To be root: namespaces, mounts, other users.
    Root,
    /// A kernel that takes the tracer's BPF programs from this user.
    Bpf,
    /// A kernel that says what its types are.
    Btf,
    /// strace 6.1, with which the tracer is compared.
    Strace,
    /// A kernel that takes 32-bit system calls.
    Calls32,
    /// More than one processor.
    Processors,
    /// `systemd-analyze`.
    Systemd,
    /// A program with the set-user-id bit: `mount`.
    Setuid,
    /// QEMU for x86-64, and Debian's kernel for clouds, which it boots.
    Qemu,
    /// `ipmitool`, and a BMC for it: OpenIPMI's `ipmi_sim`.
    Ipmi,
    /// podman with runc, which can start containers here.
    Podman,
    /// Docker with its daemon, as root.
    Docker,
    /// `systemd-nspawn`, as root.
    Nspawn,
    /// libvirt's daemon and `virsh`, and `qemu-img`.
    Libvirt,
    /// An agent that `make agents` built, `qemu-aarch64` of QEMU 10 (7.2 refuses what an agent asks of its kernel), and a kernel that starts it for programs of Arm in a
    /// user namespace of its own (Linux 6.7).
    Aarch64,
    /// Go's tools: `go tool pprof`.
    Go,
    /// A C++ compiler, `c++`.
    Cxx,
    /// PostgreSQL 15 where Debian puts it, with `pg_regress`.
    Postgresql,
    /// The server of PostgreSQL 15 where Debian puts it, for stores in a database.
    PostgresqlServer,
    /// moto's server of S3, which `scripts/setup test` installs.
    Moto,
    /// The SDK for Python of the Model Context Protocol, which `scripts/setup test` installs.
    McpClient,
    /// A kernel that lets this user sample whole processors: CAP_PERFMON, or /proc/sys/kernel/perf_event_paranoid at most 0.
    Sampling,
    /// A mail server of Python, aiosmtpd, which `scripts/setup test` puts into target/mail-server.
    Aiosmtpd,
    /// A kernel that puts core files into the folder in which a program crashed, and lets this user have some.
    CoreFiles,
    /// Slurm with munge where Debian puts them, as root: its daemons start jobs for other users.
    Slurm,
}

impl Need {
    const ALL: [Self; 25] = [
        Self::Root,
        Self::Bpf,
        Self::Btf,
        Self::Strace,
        Self::Calls32,
        Self::Processors,
        Self::Systemd,
        Self::Setuid,
        Self::Qemu,
        Self::Ipmi,
        Self::Podman,
        Self::Docker,
        Self::Nspawn,
        Self::Libvirt,
        Self::Aarch64,
        Self::Go,
        Self::Cxx,
        Self::Postgresql,
        Self::PostgresqlServer,
        Self::Moto,
        Self::McpClient,
        Self::Sampling,
        Self::Aiosmtpd,
        Self::CoreFiles,
        Self::Slurm,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Bpf => "bpf",
            Self::Btf => "btf",
            Self::Strace => "strace",
            Self::Calls32 => "calls32",
            Self::Processors => "processors",
            Self::Systemd => "systemd",
            Self::Setuid => "setuid",
            Self::Qemu => "qemu",
            Self::Ipmi => "ipmi",
            Self::Podman => "podman",
            Self::Docker => "docker",
            Self::Nspawn => "nspawn",
            Self::Libvirt => "libvirt",
            Self::Aarch64 => "aarch64",
            Self::Go => "go",
            Self::Cxx => "cxx",
            Self::Postgresql => "postgresql",
            Self::PostgresqlServer => "postgresql-server",
            Self::Moto => "moto",
            Self::McpClient => "mcp-client",
            Self::Sampling => "sampling",
            Self::Aiosmtpd => "aiosmtpd",
            Self::CoreFiles => "core-files",
            Self::Slurm => "slurm",
        }
    }

    /// Whether this machine lacks it and the test may be skipped for that: the test returns then.
    ///
    /// # Panics
    /// It is missing and `BACKSIGHT_SKIP` doesn't name it.
    #[must_use]
    #[track_caller]
    pub fn is_missing(self) -> bool {
        let exists = |path: &str| match Path::new(path).exists() {
            true => Ok(()),
            false => Err(format!("{path} isn't there")),
        };
        let found = match self {
            Self::Root => match rustix::process::geteuid().is_root() {
                true => Ok(()),
                false => Err("this user isn't root".to_owned()),
            },
            Self::Processors => match std::thread::available_parallelism() {
                Ok(number) if number.get() > 1 => Ok(()),
                _ => Err("there is only one".to_owned()),
            },
            Self::Systemd => exists("/usr/bin/systemd-analyze"),
            Self::Btf => exists("/sys/kernel/btf/vmlinux"),
            Self::Qemu => exists("/usr/bin/qemu-system-x86_64").and_then(|()| {
                let missing = "there is no /boot/vmlinuz-*-cloud-amd64 with its modules";
                debian_cloud_kernel().map(drop).ok_or(missing.to_owned())
            }),
            Self::Ipmi => exists("/usr/bin/ipmi_sim").and_then(|()| exists("/usr/bin/ipmitool")),
            Self::Podman => exists("/usr/bin/podman").and_then(|()| exists("/usr/sbin/runc")),
            Self::Docker => exists("/usr/sbin/dockerd"),
            Self::Nspawn => exists("/usr/bin/systemd-nspawn"),
            Self::Libvirt => exists("/usr/sbin/libvirtd")
                .and_then(|()| exists("/usr/bin/virsh"))
                .and_then(|()| exists("/usr/bin/qemu-img")),
            Self::Aarch64 => qemu_aarch64().map(drop),
            Self::Go => starts("go", "version"),
            Self::Cxx => starts("c++", "--version"),
            Self::Postgresql => starts(
                "/usr/lib/postgresql/15/lib/pgxs/src/test/regress/pg_regress",
                "--version",
            ),
            Self::PostgresqlServer => exists(&format!("{}/postgres", postgres_server::PROGRAMS)),
            Self::Moto => exists(moto_server().to_str().unwrap_or_default()),
            Self::McpClient => exists(mcp_client_python().to_str().unwrap_or_default()),
            Self::Sampling => sampling(),
            Self::Aiosmtpd => starts(&mail_server_python().to_string_lossy(), "--version"),
            Self::CoreFiles => core_files(),
            Self::Slurm => match rustix::process::geteuid().is_root() {
                true => slurm_cluster::PROGRAMS
                    .iter()
                    .try_for_each(|path| exists(path)),
                false => Err("this user isn't root".to_owned()),
            },
            Self::Bpf | Self::Strace | Self::Calls32 | Self::Setuid => Ok(()),
        };
        self.is_missing_in(found)
    }

    /// The same where the test itself has found out whether it is there, or why not.
    ///
    /// # Panics
    /// It is missing and `BACKSIGHT_SKIP` doesn't name it, or names what no test needs.
    #[must_use]
    #[track_caller]
    pub fn is_missing_in<E: fmt::Display>(self, found: Result<(), E>) -> bool {
        let Err(why) = found else {
            return false;
        };
        let name = self.name();
        let skipped = std::env::var(VARIABLE).unwrap_or_default();
        assert!(
            skips(&skipped, self),
            "this test needs `{name}`: {why}; with {VARIABLE}={name} it is skipped"
        );
        eprintln!("skipped for want of `{name}`: {why}");
        true
    }
}

/// Debian's kernel for machines in clouds, which [`Need::Qemu`] is about, and the folder of its modules.
pub fn debian_cloud_kernel() -> Option<(PathBuf, PathBuf)> {
    let files = std::fs::read_dir("/boot").into_iter().flatten().flatten();
    let mut kernels = files.filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        let release = name.strip_prefix("vmlinuz-")?;
        let modules = Path::new("/lib/modules").join(release).join("kernel");
        (release.ends_with("-cloud-amd64") && modules.is_dir()).then(|| (file.path(), modules))
    });
    kernels.next()
}

/// moto's server of S3, which [`Need::Moto`] is about.
pub fn moto_server() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/moto/bin/moto_server")
}

/// The Python that has a client of the Model Context Protocol, which [`Need::McpClient`] is about.
pub fn mcp_client_python() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mcp-client/bin/python")
}

/// What runs programs of Arm, which [`Need::Aarch64`] is about.
///
/// # Errors
/// It isn't there, or is too old.
pub fn qemu_aarch64() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("qemu-aarch64"));
    let program = programs.find(|program| program.exists());
    let program = program.ok_or("qemu-aarch64 isn't there")?;
    let asked = Command::new(&program).arg("--version").output();
    let said = String::from_utf8(asked.map_err(|error| error.to_string())?.stdout);
    let said = said.unwrap_or_default();
    let words = said.split_whitespace();
    let major = words.skip_while(|word| *word != "version").nth(1);
    let major = major.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    match major {
        Some(10..) => Ok(program),
        _ => Err(format!("{} is older than 10", program.display())),
    }
}

/// The Python that has the mail server which [`Need::Aiosmtpd`] is about.
pub fn mail_server_python() -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    project.join("target/mail-server/bin/python")
}

/// Whether a program can be started.
fn starts(program: &str, argument: &str) -> Result<(), String> {
    let asked = Command::new(program).arg(argument).output();
    asked
        .map(drop)
        .map_err(|error| format!("{program}: {error}"))
}

/// Whether [`Need::CoreFiles`] is there.
fn core_files() -> Result<(), String> {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let limit = rustix::process::getrlimit(rustix::process::Resource::Core);
    match pattern.trim_end() {
        elsewhere if elsewhere.is_empty() || elsewhere.starts_with(['|', '/']) => {
            Err(format!("kernel.core_pattern is `{elsewhere}`"))
        }
        _ if limit.maximum == Some(0) => Err("`ulimit -Hc` is 0".to_owned()),
        _ => Ok(()),
    }
}

/// Whether whole processors can be sampled, which [`Need::Sampling`] is about.
fn sampling() -> Result<(), String> {
    let capabilities = rustix::thread::capabilities(None);
    let capable = capabilities.is_ok_and(|sets| {
        use rustix::thread::CapabilitySet;
        let enough = CapabilitySet::PERFMON | CapabilitySet::SYS_ADMIN;
        sets.effective.intersects(enough)
    });
    let setting = "/proc/sys/kernel/perf_event_paranoid";
    let paranoid = std::fs::read_to_string(setting).unwrap_or_default();
    match paranoid.trim().parse() {
        Ok(..=0) => Ok(()),
        Ok(1_i32..) if capable => Ok(()),
        Ok(paranoid) => Err(format!("{setting} is {paranoid}")),
        Err(_) => Err(format!("{setting} isn't there")),
    }
}

/// Whether a value of the variable names something.
fn skips(value: &str, need: Need) -> bool {
    let names = value.split(',').map(str::trim);
    let mut named = false;
    for name in names.filter(|name| !name.is_empty()) {
        let known = Need::ALL.into_iter().find(|known| known.name() == name);
        assert!(
            known.is_some(),
            "{VARIABLE} names `{name}`, which no test needs"
        );
        named |= known == Some(need);
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_fails_a_test_unless_it_is_named() {
        assert!(skips("root,bpf", Need::Bpf) && skips(" bpf ,", Need::Bpf));
        assert!(!skips("", Need::Bpf) && !skips("root", Need::Bpf));
        assert!(!Need::Bpf.is_missing_in(Ok::<(), &str>(())));
    }

    #[test]
    #[should_panic(expected = "BACKSIGHT_SKIP names `bfp`, which no test needs")]
    fn a_name_that_no_test_needs_is_refused() {
        let _ = skips("bfp", Need::Bpf);
    }

    #[test]
    fn what_is_missing_is_only_looked_for() {
        use std::{env, fs, os::unix::fs::PermissionsExt as _, process::Command};
        let folder = env::temp_dir().join(format!("backsight-needs-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let (make, called) = (folder.join("make"), folder.join("called"));
        fs::write(&make, format!("#!/bin/sh\ntouch {}\n", called.display())).expect("a program");
        fs::set_permissions(&make, fs::Permissions::from_mode(0o755)).expect("its mode");
        let path = env::var("PATH").unwrap_or_default();
        let output = Command::new("scripts/missing-needs")
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .env("PATH", format!("{}:{path}", folder.display()))
            .output()
            .expect("the script runs");
        let was_called = called.exists();
        fs::remove_dir_all(&folder).expect("it goes");
        assert!(output.status.success() && !was_called);
        let names = String::from_utf8_lossy(&output.stdout);
        let names = names.trim().split(',').filter(|name| !name.is_empty());
        for name in names {
            assert!(Need::ALL.iter().any(|need| need.name() == name), "{name}");
        }
    }

    #[test]
    fn the_script_that_probes_knows_the_same_names() {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/missing-needs");
        let text = std::fs::read_to_string(script).expect("the script is there");
        let probed = text.lines().filter_map(|line| line.strip_prefix("probe "));
        let mut probed: Vec<&str> = probed.filter_map(|rest| rest.split(' ').next()).collect();
        probed.sort_unstable();
        let mut known = Need::ALL.map(Need::name);
        known.sort_unstable();
        assert_eq!(probed, known);
    }
}
