//! The kernel engine on a kernel that is older than this machine's, and whose verifier knows less: Debian 12's, emulated. The tests that
//! run there are those of this program.

use backsight_test_needs::{Initramfs, Need, debian_cloud_kernel};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::programs::{program, source};

/// The machine's first process: runs tests, each as a process of its own, and says how each ended.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox --install -s /bin 2> /dev/null
export PATH=/bin
mount -t proc none /proc && mount -t sysfs none /sys && mount -t devtmpfs none /dev
mkdir -p /dev/shm && mount -t tmpfs none /dev/shm && mount -t tmpfs none /tmp && mount -t tracefs none /sys/kernel/tracing && mount -t cgroup2 none /sys/fs/cgroup
ip link set lo up
# A session, and a group of processes for each test: what stops itself is to be stopped.
setsid sh -c 'set -m
for test in TESTS; do
    if timeout TEST_LIMIT /bin/tests --exact $test > /tmp/out 2>&1 < /dev/null; then echo "PASSED $test"; else cat /tmp/out; echo "FAILED $test"; fi
done'
echo ENDED
poweroff -f
"#;
/// Longest that the machine is on, and that each test may take there, in seconds.
const LIMIT: &str = "600";
const TEST_LIMIT: &str = "200";

/// The programs of tests/programs that these tests run.
const PROGRAMS: [&str; 4] = ["any", "calls", "random", "threads"];
/// What runs there at each change: the kernel takes all programs, and each has its part in one of these.
const SHORT: [&str; 6] = [
    "bpf_engine::the_first_call_is_the_execve_and_the_last_the_exit",
    "bpf_engine::a_long_path_comes_whole_and_a_buffer_as_far_as_is_asked",
    "bpf_engine::what_runs_already_is_attached_to_with_all_its_threads_and_let_go_unharmed",
    "bpf_engine::signals_are_told_with_what_the_kernel_says_of_them_and_ends_by_them_too",
    "relay::calls_are_counted_on_both_sides",
    "scopes::who_was_there_before_and_who_comes_and_goes_is_told_as_long_as_it_is_there",
];
/// What takes longer: everything that programs read, and threads that are stopped for want of room.
const LONG: [&str; 9] = [
    "bpf_engine::a_million_calls_through_the_smallest_ring_to_a_slow_reader_lose_nothing",
    "bpf_engine::a_storm_of_forks_is_followed_to_the_last_call",
    "bpf_engine::none_of_64_threads_starves_while_the_reader_is_slow",
    "bpf_engine::waits_are_not_interrupted_by_stops_of_ours",
    "bpf_engine::what_the_kernel_counts_is_what_a_tracer_that_stops_at_each_call_counts",
    "engines::every_call_of_the_table_is_told_alike_by_both_engines",
    "engines::random_calls_are_told_alike_by_both_engines",
    "relay::calls_of_threads_are_told_once_each_on_both_sides",
    "relay::threads_that_execute_programs_take_first_threads_places_on_both_sides",
];

/// How these tests ended there.
fn run_on_debian(tests: &[&str]) -> String {
    let (kernel, _) = debian_cloud_kernel().expect("Need::Qemu has found it");
    let folder = tempfile::tempdir().unwrap();
    let system = Initramfs::new(&folder.path().join("root"));
    system.add_program(&std::env::current_exe().unwrap(), "bin/tests");
    // Busybox's has no `-f`.
    system.add_program(Path::new("/usr/bin/setsid"), "bin/setsid");
    // Where the tests look for them, and whether they are as new as their sources.
    for name in PROGRAMS {
        let (built, source) = (program(name), source(name));
        for file in [&source, &built] {
            system.add_program(file, file.strip_prefix("/").unwrap().to_str().unwrap());
        }
    }
    let init = INIT.replace("TEST_LIMIT", TEST_LIMIT);
    system.add_script("init", &init.replace("TESTS", &tests.join(" ")));
    let packed = folder.path().join("initrd");
    system.pack(&packed);
    // With a thread for each processor, QEMU 7.2 goes on executing the breakpoint that the kernel had put into code which it changes,
    // as it does when tracing begins: both processors then trap at one place for ever.
    let machine = "-machine pc,i8042=off -accel tcg,thread=single -cpu max -smp 2 -m 1G -display none -nodefaults -no-user-config -no-reboot";
    let output = Command::new("timeout")
        .args(["--foreground", LIMIT, "qemu-system-x86_64"])
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

fn pass_on_debian(tests: &[&str]) {
    if Need::Qemu.is_missing() {
        return;
    }
    let said = run_on_debian(tests);
    for test in tests {
        let passed = format!("PASSED {test}");
        assert!(said.lines().any(|line| line == passed), "{test}: {said}");
    }
}

#[test]
fn the_kernel_engine_is_loaded_and_follows_threads_on_debian_s_kernel() {
    pass_on_debian(&SHORT);
}

#[test]
#[ignore = "takes minutes: `make images`"]
fn the_kernel_engine_tells_all_calls_on_debian_s_kernel() {
    pass_on_debian(&LONG);
}
