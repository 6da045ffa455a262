//! What the machine is: what a reader of a result wants to know of the host that it was measured on, and what may
//! explain a difference between two. Missing is missing: a fact that isn't there has no line.

use std::collections::BTreeMap;
use std::path::Path;

use nix::unistd::gethostname;

use crate::clocks;
use crate::machine_files::MachineFiles;

/// Files with one value: the fact's name, and where it stands.
const FILES: &[(&str, &str)] = &[
    ("kernel.release", "/proc/sys/kernel/osrelease"),
    ("kernel.version", "/proc/sys/kernel/version"),
    ("kernel.cmdline", "/proc/cmdline"),
    (
        "cpu.governor",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    ),
    (
        "cpu.frequency_driver",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
    ),
    (
        "cpu.turbo_off",
        "/sys/devices/system/cpu/intel_pstate/no_turbo",
    ),
    ("cpu.boost", "/sys/devices/system/cpu/cpufreq/boost"),
    ("cpu.smt", "/sys/devices/system/cpu/smt/control"),
    (
        "clock.source",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    (
        "memory.huge_pages",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    ),
    ("memory.swappiness", "/proc/sys/vm/swappiness"),
    (
        "kernel.randomize_va_space",
        "/proc/sys/kernel/randomize_va_space",
    ),
    ("kernel.numa_balancing", "/proc/sys/kernel/numa_balancing"),
    (
        "net.tcp_congestion_control",
        "/proc/sys/net/ipv4/tcp_congestion_control",
    ),
    ("net.tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem"),
    ("net.tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem"),
    ("net.rmem_max", "/proc/sys/net/core/rmem_max"),
    ("net.wmem_max", "/proc/sys/net/core/wmem_max"),
    ("net.default_qdisc", "/proc/sys/net/core/default_qdisc"),
    ("net.ip_forward", "/proc/sys/net/ipv4/ip_forward"),
    ("machine.vendor", "/sys/class/dmi/id/sys_vendor"),
    ("machine.product", "/sys/class/dmi/id/product_name"),
    ("boot_id", "/proc/sys/kernel/random/boot_id"),
];

/// All facts of this machine, as seen from this process's namespaces.
pub(crate) fn all() -> BTreeMap<String, String> {
    let here = MachineFiles::here();
    let mut facts: BTreeMap<String, String> = FILES
        .iter()
        .filter_map(|(name, path)| Some(((*name).to_owned(), here.value(path)?)))
        .collect();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.insert(name.to_owned(), value);
        }
    };
    let system = here
        .text("/etc/os-release")
        .or_else(|| here.text("/usr/lib/os-release"))
        .unwrap_or_default();
    add("os.name", assigned(&system, "PRETTY_NAME"));
    add("os.id", assigned(&system, "ID"));
    add("os.version_id", assigned(&system, "VERSION_ID"));
    let cpu = here.text("/proc/cpuinfo").unwrap_or_default();
    add(
        "cpu.model",
        labelled(&cpu, "model name").or_else(|| labelled(&cpu, "CPU part")),
    );
    add("cpu.microcode", labelled(&cpu, "microcode"));
    add("cpus", Some(cpus().to_string()));
    add(
        "memory.bytes",
        backsight_platform::memory_bytes().map(|bytes| bytes.to_string()),
    );
    add("architecture", Some(std::env::consts::ARCH.to_owned()));
    add(
        "hostname",
        gethostname().ok().and_then(|name| name.into_string().ok()),
    );
    add("virtualisation", virtualisation(&cpu));
    facts.extend(vulnerabilities());
    facts.extend(backsight_platform::facts());
    facts
}

/// The kernel's verdicts on the processor's known faults: their mitigations cost time.
fn vulnerabilities() -> Vec<(String, String)> {
    let here = MachineFiles::here();
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    let names = here.names(folder).into_iter();
    names
        .filter_map(|name| {
            let verdict = here.value(format!("{folder}/{name}"))?;
            Some((format!("vulnerability.{name}"), verdict))
        })
        .collect()
}

/// A hint at what kind of machine this only seems to be.
fn virtualisation(cpu: &str) -> Option<String> {
    if labelled(cpu, "vendor_id").is_some_and(|vendor| vendor == "User Mode Linux") {
        return Some("uml".into());
    }
    if Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists() {
        return Some("container".into());
    }
    let flags = labelled(cpu, "flags")?;
    let guest = flags
        .split_ascii_whitespace()
        .any(|flag| flag == "hypervisor");
    guest.then(|| {
        MachineFiles::here()
            .value("/sys/hypervisor/type")
            .unwrap_or_else(|| "virtual machine".into())
    })
}

/// Processors that this process may use.
pub(crate) fn cpus() -> u32 {
    std::thread::available_parallelism()
        .map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX))
}

/// This boot's id; empty if the kernel has none.
pub(crate) fn boot_id() -> String {
    clocks::boot_id().unwrap_or_default()
}

/// Where this program is, for whoever wants to start it again here; also after its file was replaced.
pub(crate) fn program(pid: u32) -> String {
    let path = std::env::current_exe().ok().filter(|path| path.exists());
    path.map_or_else(
        || format!("/proc/{pid}/exe"),
        |path| path.display().to_string(),
    )
}

/// `NAME=value` or `NAME="value"`, as in os-release(5).
fn assigned(text: &str, name: &str) -> Option<String> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
    Some(value.trim_matches(['"', '\'']).to_owned())
}

/// `name : value`, as in `/proc/cpuinfo` and `/proc/meminfo`.
fn labelled(text: &str, name: &str) -> Option<String> {
    let of = |line: &str| {
        let (label, value) = line.split_once(':')?;
        (label.trim() == name).then(|| value.trim().to_owned())
    };
    text.lines().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_the_facts_that_every_machine_has() {
        let facts = all();
        for name in [
            "kernel.release",
            "cpus",
            "memory.bytes",
            "hostname",
            "boot_id",
            "architecture",
        ] {
            assert!(facts.contains_key(name), "{name}");
        }
        assert!(facts.values().all(|value| !value.is_empty()));
    }

    #[test]
    fn assignments_lose_their_quotes() {
        let text = "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(
            assigned(text, "PRETTY_NAME").unwrap(),
            "Debian GNU/Linux 12 (bookworm)"
        );
        assert_eq!(assigned(text, "ID").unwrap(), "debian");
        assert_eq!(assigned(text, "VERSION_ID"), None);
    }
}
