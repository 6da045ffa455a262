//! Virtual machines as hosts: made of a recipe, booted for a study, back to what they were as the lab says, and gone whatever happens.

use backsight_test_needs::Need;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    place::Place,
    processes,
    running::{Ended, Running},
};

/// How long a command may take: a system is made in a minute or two, and each emulated machine boots in up to half a minute.
const LIMIT: Duration = Duration::from_secs(420);
/// The machine's recipe; made once for all tests of a build.
const RECIPE: &str = "recipe = { debian = \"bookworm\", size = \"1GiB\" }";

const PLAN: &str = "use = [\"answer\"]\nrounds = 2\nfiles = [\"rules.txt\"]\n\
     [[variant]]\nname = \"only\"\nserver.setup = \"sh -c 'cat rules.txt'\"\n";

/// A lab of a namespace and a virtual machine that is made of this, joined by a link, and a plan that measures across it. The machine
/// says whether it finds what a trial before has written.
fn place(made_of: &str) -> Place {
    let place = Place::new();
    place.write(
        "lab.toml",
        format!(
            "name = \"{}\"\n[host.near]\nkind = \"netns\"\n[host.vm]\nkind = \"vm\"\nmemory = \"384MiB\"\n{made_of}\n\
             sysctl = {{ \"net.ipv4.ip_default_ttl\" = \"33\" }}\n\
             [[link]]\nends = {{ near = \"10.92.1.1/24\", vm = \"10.92.1.2/24\" }}\n\
             [testbed.pair]\nclient = \"near\"\nserver = \"vm\"\n",
            place.name
        ),
    );
    place.write(
        "benchmarks/answer.toml",
        "name = \"answer\"\nabout = \"a test's own\"\nroles = [\"server\", \"client\"]\n\
         [server]\nstartup = '''sh -c 'uname -n; ip address show {server.interface}; \
         test -e /var/mark && echo marked || echo clean; touch /var/mark; cat /proc/mounts' '''\n\
         [client]\nrun = '''sh -c 'ping -c 1 -W 5 {server.data}; echo value 42' '''\n\
         [metric.value]\nunit = \"s\"\nbetter = \"lower\"\nregex = 'value (?<value>\\d+)'\n",
    );
    // The plan's folder is seen there too: what of it is needed.
    place.write("rules.txt", "beside the plan\n");
    place.plan(PLAN);
    place
}

/// Where systems of recipes are kept for all tests: making one takes a minute.
fn systems() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn command(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command.env("XDG_CACHE_HOME", systems());
    command
}

fn ends(place: &Place, arguments: &[&str]) -> Ended {
    Running::start(command(place, arguments)).ends_within(LIMIT)
}

fn assert_down(place: &Place) {
    place.ends(&["lab", "down"]).assert_code(0);
    assert_eq!(place.namespaces(), Vec::<String>::new());
    place.assert_nothing_left();
}

/// Where the system of this page's recipe is, which is made unless it is there.
pub fn made_system() -> PathBuf {
    let newest = || {
        let systems = fs::read_dir(systems().join("backsight/systems"));
        let systems = systems.into_iter().flatten().flatten();
        let made = systems.filter(|system| system.path().join("disk.img").exists());
        let newest = made.max_by_key(|system| system.metadata().unwrap().modified().unwrap());
        newest.map(|system| system.path())
    };
    newest().unwrap_or_else(|| {
        let place = place(RECIPE);
        place.ends(&["lab", "up"]).assert_code(0);
        ends(&place, &["lab", "provision", "vm"]).assert_code(0);
        assert_down(&place);
        newest().unwrap()
    })
}

/// A place whose machine's system is made.
fn provisioned(made_of: &str) -> Option<Place> {
    if Need::Root.is_missing() || Need::Qemu.is_missing() {
        return None;
    }
    let place = place(&format!("{RECIPE}\n{made_of}"));
    place.ends(&["lab", "up"]).assert_code(0);
    let made = ends(&place, &["lab", "provision", "vm"]);
    made.assert_code(0);
    made.assert_says(&["vm: made", "Debian GNU/Linux 12", "Linux 6.1"]);
    Some(place)
}

#[test]
#[ignore = "four minutes: `make images`"]
fn a_recipe_becomes_a_machine_that_is_made_once_and_is_clean_before_each_trial() {
    let Some(place) = provisioned("restore = \"trial\"") else {
        return;
    };
    let again = ends(&place, &["lab", "provision", "vm"]);
    again.assert_code(0);
    again.assert_says(&["vm: made already"]);
    ends(&place, &["run", "plan.toml", "--name", "s"]).assert_code(0);
    place.assert_complete("s", 1, 2);
    for trial in [1, 2] {
        let said = place.raw("s", trial);
        for part in [
            "vm\n",
            "10.92.1.2/24",
            "to-near",
            "ttl=33",
            "clean",
            "beside the plan",
            "/dev/vda / ext4",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    let checked = ends(&place, &["lab", "check"]);
    checked.assert_code(0);
    checked.assert_says(&["host vm", "host near"]);
    let record = ends(&place, &["record", "vm", "--lab", "lab.toml"]);
    record.assert_code(0);
    record.assert_says(&["6.1"]);
    assert_down(&place);
}

#[test]
#[ignore = "three minutes: `make images`"]
fn what_a_machine_writes_stays_for_a_study_or_for_ever_as_the_lab_says() {
    let Some(place) = provisioned("restore = \"study\"") else {
        return;
    };
    ends(&place, &["run", "plan.toml", "--name", "s"]).assert_code(0);
    assert!(place.raw("s", 1).contains("clean"));
    assert!(place.raw("s", 2).contains("marked"));
    // Its disk as one of a person's own, which is kept.
    let made = made_system();
    let copied = Command::new("cp")
        .args(["--sparse=always", "--reflink=auto"])
        .arg(made.join("disk.img"))
        .arg(place.path("disk.img"))
        .status();
    assert!(copied.unwrap().success());
    let append = fs::read_to_string(made.join("append")).unwrap();
    let own = format!(
        "disk = \"{}\"\nkernel = \"{}\"\ninitrd = \"{}\"\nappend = \"{}\"\nrestore = \"never\"",
        place.at("disk.img"),
        made.join("vmlinuz").display(),
        made.join("initrd.img").display(),
        append.trim()
    );
    let lab = place.read("lab.toml");
    place.write(
        "lab.toml",
        lab.replace(RECIPE, &own)
            .replace("restore = \"study\"\n", ""),
    );
    place.plan(&PLAN.replace("rounds = 2", "rounds = 1"));
    for (study, said) in [("first", "clean"), ("second", "marked")] {
        ends(&place, &["run", "plan.toml", "--name", study]).assert_code(0);
        let page = place.raw(study, 1);
        assert!(page.contains(said), "{said}: {page}");
    }
    assert_down(&place);
}

#[test]
fn a_machine_is_switched_off_and_ends_with_a_conductor_that_is_killed() {
    let Some(place) = provisioned("") else {
        return;
    };
    let text = place.read("benchmarks/answer.toml");
    let text = text.replace("uname -n;", "echo heard > /dev/ttyS0;");
    place.write(
        "benchmarks/answer.toml",
        text.replace("echo value 42", "sleep 1000"),
    );
    let mut run = Running::start(command(
        &place,
        &["run", "plan.toml", "--name", "s", "--json"],
    ));
    // It is booted before.
    run.until_within(LIMIT, "a step in run", |event| {
        event["event"] == "step-started" && event["phase"] == "run"
    });
    let power = |action: &str, more: &[&str]| {
        let mut words = vec!["lab", "power", action, "vm"];
        words.extend(more);
        ends(&place, &words)
    };
    power("status", &[]).assert_says(&["vm: on"]);
    let console = ends(&place, &["lab", "console", "vm", "--for", "1s"]);
    assert!(console.stdout().contains("heard"), "{}", console.words());
    power("off", &[]).assert_says(&["is leased to study `s`"]);
    power("cycle", &["--force"]).assert_says(&["on while somebody measures"]);
    power("off", &["--force"]).assert_says(&["vm: off (was on)"]);
    run.after_sigkill();
    processes::until_gone(&place.name);
    power("status", &[]).assert_says(&["vm: off"]);
    ends(&place, &["lab", "console", "vm"]).assert_says(&["it is off"]);
    assert_down(&place);
}

#[test]
#[ignore = "ten minutes: `make images`"]
fn an_image_of_a_cloud_sets_itself_up_once_and_is_measured_on() {
    if Need::Root.is_missing() || Need::Qemu.is_missing() || Need::Libvirt.is_missing() {
        return;
    }
    let maker = Place::new();
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/end_to_end/cloud_image.sh");
    let made = Command::new("sh").arg(script).arg(maker.path("")).status();
    assert!(made.unwrap().success());
    let image = maker.at("cloud.qcow2");
    let place = place(&format!(
        "recipe = {{ image = \"{image}\", packages = [\"iperf3\", \"socat\"] }}"
    ));
    place.ends(&["lab", "up"]).assert_code(0);
    let own = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("XDG_CACHE_HOME", place.path("cache"));
        Running::start(command).ends_within(Duration::from_secs(1800))
    };
    let provision = || own(&["lab", "provision", "vm"]);
    let provisioned = provision();
    provisioned.assert_code(0);
    provisioned.assert_says(&["vm: made in", "Debian GNU/Linux 12", "Linux 6.1"]);
    // What counts is its content.
    let lab = place.read("lab.toml");
    fs::rename(&image, maker.path("moved.qcow2")).unwrap();
    place.write("lab.toml", lab.replace("cloud.qcow2", "moved.qcow2"));
    let command = place.read("benchmarks/answer.toml");
    place.write(
        "benchmarks/answer.toml",
        command.replace(
            "uname -n;",
            "iperf3 --version; systemctl is-active cloud-init; modprobe vsock_loopback; \
             timeout 20 /usr/local/lib/backsight/agent/backsight agent --port vsock:9559 & \
             until socat -u VSOCK-CONNECT:1:9559 - 2> /dev/null | grep -a \"backsight guest\"; do sleep 0.1; done;",
        ),
    );
    own(&["run", "plan.toml", "--name", "s"]).assert_code(0);
    place.assert_complete("s", 1, 2);
    let said = place.raw("s", 1);
    for part in [
        "iperf 3",
        "inactive",
        "backsight guest",
        "10.92.1.2/24",
        "clean",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    provision().assert_says(&["vm: made already"]);
    // One that can't do what it is told says so, and nothing of it is kept.
    let lab = place.read("lab.toml");
    place.write("lab.toml", lab.replace("iperf3", "no-such-package"));
    let failed = provision();
    failed.assert_code(2);
    failed.assert_says(&["moved.qcow2: cloud-init says", "no-such-package"]);
    let systems = fs::read_dir(place.path("cache/backsight/systems")).unwrap();
    let folders = systems.filter(|it| it.as_ref().unwrap().path().is_dir());
    assert_eq!(folders.count(), 1);
    assert_down(&place);
}

#[test]
fn a_machine_that_can_not_be_says_why() {
    if Need::Root.is_missing() || Need::Qemu.is_missing() {
        return;
    }
    let place = place("disk = \"/no/such/disk.qcow2\"");
    place.ends(&["lab", "up"]).assert_code(0);
    let refused = place.ends(&["run", "plan.toml"]);
    refused.assert_says(&["host `vm`", "there is no file /no/such/disk.qcow2"]);
    let lab = place.read("lab.toml");
    let never_made = "recipe = { debian = \"bookworm\", packages = [\"never-made\"] }";
    place.write(
        "lab.toml",
        lab.replace("disk = \"/no/such/disk.qcow2\"", never_made),
    );
    let refused = place.ends(&["run", "plan.toml"]);
    refused.assert_says(&["backsight lab provision vm"]);
    assert_down(&place);
}

#[test]
fn an_image_whose_maker_is_killed_leaves_no_machine_and_one_that_can_not_boot_is_refused() {
    if Need::Qemu.is_missing() || Need::Libvirt.is_missing() {
        return;
    }
    let place = Place::new();
    let provision = |image: &[u8]| {
        place.write("image", image);
        place.write(
            "lab.toml",
            format!(
                "[host.vm]\nkind = \"vm\"\nrecipe = {{ image = \"{}\" }}\n",
                place.at("image")
            ),
        );
        let mut command = place.command(&["lab", "provision", "vm"]);
        command.env("XDG_CACHE_HOME", place.path("cache"));
        Running::start(command)
    };
    let refused = provision(&[0; 4096]).ends();
    refused.assert_code(2);
    refused.assert_says(&["image: its first sector has no boot loader"]);
    // A machine without the emulator is told its package.
    let no_programs = place.path("cache");
    let mut without = place.command(&["lab", "provision", "vm"]);
    without
        .env("XDG_CACHE_HOME", place.path("cache"))
        .env("PATH", no_programs);
    let refused = Running::start(without).ends();
    refused.assert_code(2);
    refused.assert_says(&["no program `qemu-system-x86_64`: apt-get install qemu-system-x86"]);
    // One that jumps to where it is.
    let mut forever = [0; 4096];
    forever[..2].copy_from_slice(b"\xeb\xfe");
    forever[510..512].copy_from_slice(b"\x55\xaa");
    let making = provision(&forever);
    let systems = place.path("cache/backsight/systems");
    let runs = || {
        let systems = fs::read_dir(&systems).into_iter().flatten().flatten();
        let mut consoles = systems.map(|system| system.path().join("console"));
        consoles.any(|console| console.exists())
    };
    processes::until("the machine runs", runs);
    making.after_sigkill();
    processes::until_gone(&place.name);
    place.assert_nothing_left();
}

#[test]
fn a_system_whose_maker_is_killed_leaves_no_process_and_no_mount() {
    if Need::Root.is_missing() || Need::Qemu.is_missing() {
        return;
    }
    let place = place(RECIPE);
    let mut command = place.command(&["lab", "provision", "vm"]);
    command.env("XDG_CACHE_HOME", place.path("cache"));
    let making = Running::start(command);
    let systems = place.path("cache/backsight/systems");
    let has_root = || {
        let systems = fs::read_dir(&systems).into_iter().flatten().flatten();
        let mut roots = systems.map(|system| system.path().join("root/var/lib"));
        roots.any(|root| root.exists())
    };
    processes::until("the system is being made", has_root);
    making.after_sigkill();
    processes::until_gone(&place.name);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&place.name), "{mounts}");
    place.assert_nothing_left();
}
