//! On this machine's own kernel, in namespaces of the test's: interfaces, parameters, file systems and bind mounts that nobody else
//! sees.

use super::fake_machine::wanted;
use backsight_settings::{
    JournalFile, MachineRoot, ParameterType, PreparationPolicy, RestoreScope, SettingCatalog,
    SettingOutcome, SettingRequest, SettingValue, ValueType, WantedSetting, apply, inspect,
    restore,
};
use backsight_test_needs::Need;
use std::{fs, path::Path, process::Command};

/// Runs a shell script in new namespaces. It has `apply` (of `$wanted`, killed at `$KILL_AT`), `restore`, and a folder of its own in
/// memory in place of /var/lib. The script's own failures fail the test.
fn in_namespaces(plan: &str, script: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wanted.json");
    fs::write(&file, serde_json::to_string(&wanted(plan)).unwrap()).unwrap();
    let test = std::env::current_exe().unwrap();
    let examples = test.parent().unwrap().with_file_name("examples");
    let head = r#"
        mount -t tmpfs tmpfs /var/lib
        mount -t sysfs sysfs /sys
        journal=/var/lib/backsight/journal
        apply() { "$program" apply / $journal "$wanted" real strict; }
        restore() { "$program" restore / $journal abandoned; }
        same() { [ "$1" = "$2" ] || { echo "not the same: $1 / $2" >&2; exit 1; }; }
        has() { case $1 in *"$2"*) ;; *) echo "no $2: $1" >&2; exit 1 ;; esac; }
    "#;
    let output = Command::new("unshare")
        .args(["--net", "--mount", "--uts", "sh", "-euc"])
        .arg(format!("{head}\n{script}"))
        .env("program", examples.join("change_settings"))
        .env("wanted", &file)
        .env("folder", folder.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn interfaces_and_parameters_of_a_namespace() {
    if Need::Root.is_missing() {
        return;
    }
    in_namespaces(
        r#"
        net.mtu = { interface = "v0", bytes = 1400 }
        net.queue-length = { interface = "v0", count = 77 }
        net.rps = { interface = "v0", cpus = "0" }
        net.qdisc = { interface = "v0", kind = "pfifo" }
        net.congestion-control = "reno"
        net.tcp-metrics = false
        net.slow-start-after-idle = false
        sysctl."kernel.hostname" = "prepared"
        "#,
        r#"
        ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up
        stands() {
            cat /sys/class/net/v0/mtu /sys/class/net/v0/tx_queue_len /sys/class/net/v0/queues/rx-*/rps_cpus /proc/sys/kernel/hostname
            cat /proc/sys/net/ipv4/tcp_congestion_control /proc/sys/net/ipv4/tcp_no_metrics_save /proc/sys/net/ipv4/tcp_slow_start_after_idle
            tc qdisc show dev v0 root
        }
        before=$(stands)
        said=$(apply)
        has "$said" '"stands":true'
        same "$(cat /sys/class/net/v0/mtu)" 1400
        same "$(cat /proc/sys/net/ipv4/tcp_congestion_control)" reno
        same "$(hostname)" prepared
        has "$(tc qdisc show dev v0 root)" pfifo
        restore
        same "$(stands)" "$before"
        [ ! -e $journal ]
        for place in "after fsync 0" "after write 0" "before write 3" "after verify 4" "after write 6"; do
            KILL_AT=$place apply && exit 1 || same $? 137
            [ -e $journal ]
            restore
            same "$(stands)" "$before"
            [ ! -e $journal ]
        done
        same "$(restore)" '{"changes":[],"held":0,"damaged_lines":[]}'
        "#,
    );
}

#[test]
fn routes_of_a_namespace_with_others_to_the_same_network() {
    if Need::Root.is_missing() {
        return;
    }
    in_namespaces(
        r#"
        sysctl."net.ipv4.ip_forward" = 1
        net.route."10.77.2.0/24" = "via 10.77.1.2"
        net.route."10.77.3.0/24" = "via 10.77.1.2 dev v0 mtu 1400 src 10.77.1.1"
        net.route."10.77.4.1" = "via 10.77.1.2"
        net.route."fd78::/64" = "via fd77:0::2"
        "#,
        r#"
        ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up
        ip addr add 10.77.1.1/24 dev v0; ip addr add fd77::1/64 dev v0 nodad
        ip route add default via 10.77.1.9
        ip route add 10.77.2.0/24 via 10.77.1.7
        ip route add 10.77.3.0/24 via 10.77.1.7 metric 50
        ip route add fd78::/64 via fd77::7
        # A new namespace has what the machine's first one has.
        echo 0 > /proc/sys/net/ipv4/ip_forward
        stands() { ip -4 route | sort; ip -6 route | sort; cat /proc/sys/net/ipv4/ip_forward; }
        before=$(stands)
        said=$(apply)
        has "$said" '"stands":true'
        has "$(ip route get 10.77.2.5)" "via 10.77.1.2"
        has "$(ip route get 10.77.3.5)" "via 10.77.1.2"
        has "$(ip route get 10.77.4.1)" "via 10.77.1.2"
        has "$(ip -6 route get fd78::1)" "via fd77::2"
        has "$(ip route get 10.99.0.1)" "via 10.77.1.9"
        restore
        same "$(stands)" "$before"
        [ ! -e $journal ]
        for place in "after fsync 0" "after write 2" "before write 3" "after verify 4" "after write 4"; do
            KILL_AT=$place apply && exit 1 || same $? 137
            restore
            same "$(stands)" "$before"
            [ ! -e $journal ]
        done
        export SSH_CONNECTION="10.77.3.9 4711 10.77.1.1 22"
        said=$(apply)
        has "$said" '"stands":false'
        has "$said" "10.77.3.0/24 covers 10.77.3.9, from which this machine is controlled"
        same "$(stands)" "$before"
        "#,
    );
}

#[test]
fn file_systems_in_memory_and_on_a_sparse_file() {
    if Need::Root.is_missing() {
        return;
    }
    in_namespaces(
        r#"
        disk.tmpfs = { size = "1MiB", mount = "/var/lib/a/memory" }
        disk.loop = { size = "4MiB", format = "ext4", mount = "/var/lib/b" }
        "#,
        r#"
        stands() { grep /var/lib/ /proc/self/mounts || true; find /var/lib -not -path '/var/lib/backsight*'; }
        before=$(stands)
        said=$(apply)
        has "$said" '"stands":true'
        has "$(stands)" "/var/lib/b ext4"
        has "$(stands)" "/var/lib/a/memory tmpfs"
        ls /var/lib/backsight/loop-var-lib-b.img
        restore
        same "$(stands)" "$before"
        for place in "before write 0" "after write 0" "before write 1" "after write 1"; do
            KILL_AT=$place apply && exit 1 || same $? 137
            restore
            same "$(stands)" "$before"
            same "$(ls /var/lib/backsight)" journal.lock
        done
        # One that is in use stays, and is told.
        apply
        cd /var/lib/b
        has "$(restore)" '"outcome":"stuck"'
        cd /
        has "$(restore)" '"outcome":"put-back"'
        same "$(stands)" "$before"
        "#,
    );
}

#[test]
fn a_file_system_on_a_device_that_nobody_has() {
    if Need::Root.is_missing() {
        return;
    }
    in_namespaces(
        r#"
        disk = { device = "/dev/placeholder", format = "ext4", mount = "/var/lib/c", confirm = "/dev/placeholder" }
        "#,
        r#"
        truncate -s 4M "$folder/disk"
        device=$(losetup --find --show "$folder/disk")
        trap 'umount /var/lib/c /var/lib/taken 2>/dev/null || true; losetup --detach $device' EXIT
        sed -i "s,/dev/placeholder,$device,g" "$wanted"
        stands() { grep /var/lib/ /proc/self/mounts || true; find /var/lib -not -path '/var/lib/backsight*'; }
        before=$(stands)
        has "$(apply)" '"stands":true'
        has "$(stands)" "$device /var/lib/c ext4"
        restore
        same "$(stands)" "$before"
        for place in "before write 0" "after write 0"; do
            KILL_AT=$place apply && exit 1 || same $? 137
            restore
            same "$(stands)" "$before"
        done
        mkdir /var/lib/taken
        mount $device /var/lib/taken
        has "$(apply)" "$device is mounted on /var/lib/taken"
        umount /var/lib/taken
        "#,
    );
}

#[test]
fn a_file_mounted_read_only_refuses_and_all_is_put_back() {
    if Need::Root.is_missing() {
        return;
    }
    in_namespaces(
        "cpu.governor = 'performance'\ncpu.frequency-min = 2000000\n",
        r#"
        for policy in policy0 policy1; do
            mkdir -p "$folder/cpufreq/$policy"
            echo powersave > "$folder/cpufreq/$policy/scaling_governor"
            echo 'performance powersave' > "$folder/cpufreq/$policy/scaling_available_governors"
            echo 800000 > "$folder/cpufreq/$policy/scaling_min_freq"
        done
        mount --bind "$folder/cpufreq" /sys/devices/system/cpu/cpufreq
        stands() { cat /sys/devices/system/cpu/cpufreq/*/*; }
        before=$(stands)
        has "$(apply)" '"stands":true'
        same "$(cat /sys/devices/system/cpu/cpufreq/policy1/scaling_governor)" performance
        restore
        same "$(stands)" "$before"
        file=/sys/devices/system/cpu/cpufreq/policy1/scaling_governor
        mount --bind $file $file
        mount -o remount,ro,bind $file
        said=$(apply)
        has "$said" '"stands":false'
        has "$said" 'Read-only file system'
        same "$(stands)" "$before"
        [ ! -e $journal ]
        "#,
    );
}

#[test]
fn every_setting_of_this_machine_is_looked_at_without_a_change() {
    let catalog = SettingCatalog::load(&[]).unwrap();
    let value = |kind: &ValueType| match kind {
        ValueType::None => None,
        ValueType::Boolean => Some(SettingValue::Boolean(false)),
        ValueType::Integer { min, .. } => Some(SettingValue::Integer(*min)),
        ValueType::Choice(words) => Some(SettingValue::Text(words[0].clone())),
        ValueType::Names => Some(SettingValue::List(vec!["cron.service".into()])),
        _ => Some(SettingValue::Text("0".into())),
    };
    let parameter = |kind: &ParameterType| match kind {
        ParameterType::Interface => "lo",
        ParameterType::Block => "vda",
        ParameterType::Device | ParameterType::SameAs(_) => "/dev/no-such-device",
        ParameterType::Path => "/no-such-folder",
        ParameterType::Number | ParameterType::Cpus => "0",
        ParameterType::Sysctl => "vm/swappiness",
        ParameterType::Network => "10.77.2.0/24",
        ParameterType::Size => "1MiB",
        ParameterType::Choice(_) | ParameterType::Text => "ext4",
    };
    let all = catalog.settings().map(|definition| WantedSetting {
        setting: definition.name.clone(),
        request: SettingRequest {
            value_type: definition.value_type.clone(),
            value: value(&definition.value_type),
            parameters: definition
                .parameters
                .iter()
                .map(|(name, kind)| (name.clone(), parameter(kind).to_owned()))
                .collect(),
        },
        right: definition.right,
        optional: true,
        place: String::new(),
        mechanism: definition.mechanism.clone(),
        order: definition.order,
        conflicts: Vec::new(),
    });
    let all: Vec<WantedSetting> = all.collect();
    let journal = JournalFile::new("/no-such-folder/journal");
    let machine = MachineRoot::this_machine();
    let report = inspect(&machine, &all, &journal, "look", PreparationPolicy::Warn);
    assert_eq!(report.settings.len(), all.len());
    for setting in &report.settings {
        println!("{}: {}", setting.setting, setting.outcome);
    }
    if Need::Root.is_missing() {
        return;
    }
    let outcome = |name: &str| {
        let mut settings = report.settings.iter();
        &settings
            .find(|report| report.setting == name)
            .unwrap()
            .outcome
    };
    // Every Linux has these.
    for name in [
        "memory.overcommit",
        "memory.dirty-ratio",
        "memory.drop-caches",
        "net.mtu",
    ] {
        let outcome = outcome(name);
        assert!(
            matches!(outcome, SettingOutcome::Pending | SettingOutcome::AlreadySo),
            "{name}: {outcome}"
        );
    }
    assert!(matches!(
        outcome("disk"),
        SettingOutcome::Refused { .. } | SettingOutcome::Missing { .. }
    ));
}

#[test]
fn what_needs_no_root_runs_without() {
    if Need::Root.is_missing() || Need::Processors.is_missing() {
        return;
    }
    in_namespaces(
        "memory.swappiness = 0\nisolate.boot = '0'\n",
        r#"
        # The test's folder and program are root's.
        mkdir -m 777 /var/lib/mine
        cp "$program" "$wanted" /var/lib/mine
        chmod -R a+rX /var/lib/mine
        said=$(setpriv --reuid 65534 --regid 65534 --clear-groups \
            /var/lib/mine/change_settings apply / /var/lib/mine/new/journal /var/lib/mine/wanted.json user warn)
        has "$said" '"setting":"memory.swappiness","parameters":"","value":"0","place":"plan.toml:1","outcome":{"outcome":"needs-root"}'
        has "$said" 'start the machine with isolcpus=0'
        "#,
    );
}

#[test]
fn the_latency_that_is_held_ends_with_what_holds_it() {
    if Need::Root.is_missing() {
        return;
    }
    let file = Path::new("/dev/cpu_dma_latency");
    let latency = || fs::read(file).map(|bytes| i32::from_ne_bytes(bytes[..4].try_into().unwrap()));
    let folder = tempfile::tempdir().unwrap();
    let journal = JournalFile::new(folder.path().join("journal"));
    let (machine, all) = (MachineRoot::this_machine(), wanted("cpu.latency = 1234567"));
    let before = latency();
    let made = apply(&machine, &all, &journal, "real", PreparationPolicy::Strict).unwrap();
    let outcome = &made.report.settings[0].outcome;
    match before {
        Ok(before) => {
            assert_eq!(*outcome, SettingOutcome::Made);
            assert_eq!(latency().unwrap(), before.min(1_234_567));
            drop(made);
            restore(&machine, &journal, &RestoreScope::Everything).unwrap();
            assert_eq!(latency().unwrap(), before);
        }
        Err(_) => assert!(matches!(outcome, SettingOutcome::Missing { .. })),
    }
    assert!(!journal.path.exists());
}
