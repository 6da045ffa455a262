//! The kernel engine on a kernel that is older than this machine's, and whose verifier knows less: Debian 12's, emulated. The tests that
//! run there are those of this program.

use backsight_test_needs::{Initramfs, Need, debian_cloud_kernel};
use std::process::{Command, Stdio};

use crate::programs::{program, source};

/// The machine's first process: runs tests, each as a process of its own, and says how each ended.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc && mount -t sysfs none /sys && mount -t devtmpfs none /dev
mkdir -p /dev/shm && mount -t tmpfs none /dev/shm && mount -t tmpfs none /tmp && mount -t tracefs none /sys/kernel/tracing
ip link set lo up
for test in TESTS; do
    if /bin/tests --exact $test > /tmp/out 2>&1 < /dev/null; then echo "PASSED $test"; else cat /tmp/out; fi
done
echo ENDED
poweroff -f
"#;
/// Longest that the machine is on.
const LIMIT: &str = "600";

/// The programs of tests/programs that these tests run.
const PROGRAMS: [&str; 4] = ["any", "calls", "random", "threads"];
/// What runs there: each of the kernel engine's programs has its part in one of them.
const TESTS: [&str; 6] = [
    "bpf_engine::the_first_call_is_the_execve_and_the_last_the_exit",
    "bpf_engine::a_long_path_comes_whole_and_a_buffer_as_far_as_is_asked",
    "bpf_engine::what_the_kernel_counts_is_what_a_tracer_that_stops_at_each_call_counts",
    "bpf_engine::signals_are_told_with_what_the_kernel_says_of_them_and_ends_by_them_too",
    "engines::every_call_of_the_table_is_told_alike_by_both_engines",
    "relay::a_command_begins_at_once_and_what_runs_already_is_followed_by_programs",
];

/// How these tests ended there.
fn run_on_debian() -> String {
    let (kernel, _) = debian_cloud_kernel().expect("Need::Qemu has found it");
    let folder = tempfile::tempdir().unwrap();
    let system = Initramfs::new(&folder.path().join("root"));
    system.add_program(&std::env::current_exe().unwrap(), "bin/tests");
    // Where the tests look for them, and whether they are as new as their sources.
    for name in PROGRAMS {
        let (built, source) = (program(name), source(name));
        for file in [&source, &built] {
            system.add_program(file, file.strip_prefix("/").unwrap().to_str().unwrap());
        }
    }
    system.add_script("init", &INIT.replace("TESTS", &TESTS.join(" ")));
    let packed = folder.path().join("initrd");
    system.pack(&packed);
    let machine = "-machine pc,i8042=off -accel tcg -cpu max -smp 2 -m 1G -display none -nodefaults -no-user-config -no-reboot";
    let output = Command::new("timeout")
        .args([LIMIT, "qemu-system-x86_64"])
        .args(machine.split(' '))
        .arg("-kernel")
        .arg(kernel)
        .arg("-initrd")
        .arg(packed)
        .args([
            "-serial",
            "stdio",
            "-append",
            "console=ttyS0 panic=-1 quiet",
        ])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}

#[test]
fn the_kernel_engine_is_loaded_and_tells_all_on_debian_s_kernel() {
    if Need::Qemu.is_missing() {
        return;
    }
    let said = run_on_debian();
    for test in TESTS {
        let passed = format!("PASSED {test}");
        assert!(said.lines().any(|line| line == passed), "{test}: {said}");
    }
}
