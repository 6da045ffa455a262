//! `doctor` asks other machines themselves: through a real `sshd` on a loopback of its own, and where there is none.

use backsight_test_needs::Need;
use std::{fs, process::Command};

use crate::{
    far,
    place::{Place, VALUE},
    running::{Ended, Running},
};

/// Starts the server where nobody else is, does something, and ends the server.
const ALONE: &str = r#"
ip link set lo up && ip route add unreachable 192.0.2.0/24 || exit 99
mount --bind HERE/home /root && mount -t tmpfs none /run && mkdir /run/sshd || exit 99
[ ! -e HERE/small ] || mount -t tmpfs -o size="$(cat HERE/small)" none HERE/tmp || exit 99
rm -f HERE/sshd.pid
/usr/sbin/sshd -e -f HERE/sshd_config || exit 99
# It goes into the background before it listens, and says its number after that.
left=500
while [ ! -s HERE/sshd.pid ]; do left=$((left - 1)); [ $left -gt 0 ] || exit 99; sleep 0.02; done
"$@"
status=$?
kill $(cat HERE/sshd.pid)
exit $status
"#;

/// The port of the server; any other is closed.
const PORT: u16 = 2222;

/// A place with a lab of one machine that is fit, and four that can't be reached, each for another reason.
fn place() -> Place {
    let place = Place::new();
    let here = place.at("").trim_end_matches('/').to_owned();
    far::home_and_keys(&place);
    place.write(
        "sshd_config",
        format!(
            "Port {PORT}\nListenAddress 127.0.0.1\nHostKey {here}/host\nUsePAM no\nStrictModes no\nPrintMotd no\n\
             PermitRootLogin prohibit-password\nPidFile {here}/sshd.pid\nLogLevel ERROR\nSetEnv TMPDIR={here}/tmp BACKSIGHT_LEASES={here}/far-leases {}={} PATH={here}/far:/usr/bin:/bin\n",
            crate::place::MARK,
            place.name,
        ),
    );
    place.script("alone", &ALONE.replace("HERE", &here));
    let mut lab = format!("name = \"{}\"\n", place.name);
    for (host, login, port) in [
        ("fit", "root@127.0.0.1", PORT),
        ("stranger", "nobody-at-all@127.0.0.1", PORT),
        ("shut", "root@127.0.0.1", PORT + 1),
        ("dead", "root@192.0.2.9", PORT),
        ("nameless", "root@no-such-machine.invalid", PORT),
    ] {
        lab.push_str(&format!(
            "[host.{host}]\nkind = \"ssh\"\nlogin = \"{login}\"\ndata = \"127.0.0.1\"\noptions = [\"-p\", \"{port}\", \
             \"-i\", \"{here}/key\", \"-o\", \"StrictHostKeyChecking=no\", \"-o\", \"UserKnownHostsFile=/dev/null\"]\n"
        ));
    }
    lab.push_str("[testbed.one]\ntester = \"fit\"\n[testbed.all]\n");
    for host in ["fit", "stranger", "shut", "dead", "nameless"] {
        lab.push_str(&format!("{host} = \"{host}\"\n"));
    }
    place.write("lab.toml", lab);
    place
}

/// Runs the program where the server is.
fn alone(place: &Place, arguments: &[&str]) -> Ended {
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--propagation", "private", "sh"]);
    command.arg(place.path("alone"));
    Running::start(place.put(command, arguments)).ends()
}

fn doctor(place: &Place) -> Ended {
    let program = far::release();
    alone(
        place,
        &[
            program.to_str().unwrap(),
            "doctor",
            "plan.toml",
            "--no-self-test",
        ],
    )
}

#[test]
fn another_machine_is_asked_for_its_own_programs_addresses_clock_and_room() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place();
    place.prints("fine", "echo 42");
    place.plan("testbed = \"one\"\nuse = [\"fine\"]\n");
    let ended = doctor(&place);
    ended.assert_code(0);
    ended.assert_says(&[
        "ok fine",
        "ok host fit: clock within",
        "GiB free",
        "Nothing is missing",
    ]);

    // A program of this machine that the other one hasn't; its server's PATH is another.
    place.script("only-here", "#!/bin/sh\necho 42\n");
    place.benchmark(
        "bad",
        &format!(
            "programs = [\"frobnicate\"]\nneeds = {{ debian = [\"frob-tools\"] }}\n[tester]\nrun = \"frobnicate\"\n{VALUE}"
        ),
    );
    place.plan("testbed = \"one\"\nuse = [\"fine\", \"bad\"]\n");
    let lab = place.read("lab.toml");
    place.write(
        "lab.toml",
        lab.replacen("data = \"127.0.0.1\"", "data = \"198.51.100.7\"", 1),
    );
    let ended = doctor(&place);
    ended.assert_code(1);
    ended.assert_says(&[
        "missing bad: frobnicate (on fit)",
        "Install what is missing on fit: apt-get install frob-tools",
        "address host fit: 198.51.100.7, which the lab says, isn't one of its addresses: 127.0.0.1, ::1",
    ]);
    place.assert_nothing_left();
}

#[test]
fn a_machine_whose_clock_is_off_or_whose_disk_is_full_is_not_fit() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place();
    place.prints("fine", "echo 42");
    place.plan("testbed = \"one\"\nuse = [\"fine\"]\n");
    fs::create_dir(place.path("far")).unwrap();
    for (offset, says) in [
        (
            "+90 seconds",
            "clock host fit: its clock is 90 s ahead of this machine's; there: timedatectl set-ntp true",
        ),
        (
            "-3700 seconds",
            "clock host fit: its clock is 3700 s behind this machine's",
        ),
    ] {
        // The machine's own `date`, by another clock.
        place.script(
            "far/date",
            &format!("#!/bin/sh\nexec /bin/date -d '{offset}' \"$@\"\n"),
        );
        let ended = doctor(&place);
        ended.assert_code(1);
        ended.assert_says(&["ok fine", says]);
        assert!(!ended.words().contains("ok host fit"), "{}", ended.words());
    }
    // A clock that is off by less than matters.
    place.script(
        "far/date",
        "#!/bin/sh\nexec /bin/date -d '+1 second' \"$@\"\n",
    );
    doctor(&place).assert_code(0);
    fs::remove_file(place.path("far/date")).unwrap();

    place.write("small", "64m");
    let ended = doctor(&place);
    ended.assert_code(1);
    ended.assert_says(&["MiB are free where trials write their files, and 256 MiB are needed"]);
    assert!(
        !ended.words().contains("clock host fit"),
        "{}",
        ended.words()
    );
    place.write("small", "400m");
    doctor(&place).assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn a_machine_whose_key_is_not_known_is_not_asked_until_it_is() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place();
    place.prints("fine", "echo 42");
    place.plan("testbed = \"one\"\nuse = [\"fine\"]\n");
    let known = place.at("known");
    let lab = place.read("lab.toml");
    let lab = lab.replacen("StrictHostKeyChecking=no", "StrictHostKeyChecking=yes", 1);
    place.write(
        "lab.toml",
        lab.replacen(
            "UserKnownHostsFile=/dev/null",
            &format!("UserKnownHostsFile={known}"),
            1,
        ),
    );
    let key_of = |file: &str| -> String {
        let key = place.read(&format!("{file}.pub"));
        let words: Vec<&str> = key.split(' ').take(2).collect();
        format!("[127.0.0.1]:{PORT} {}\n", words.join(" "))
    };
    // None is known; then another one is, as after somebody else has taken the address.
    for known in [String::new(), key_of("key")] {
        place.write("known", known);
        let ended = doctor(&place);
        ended.assert_code(1);
        ended.assert_says(&[
            "failed host `fit` answers, and its key isn't one that is known here: `ssh` says:",
            "Host key verification failed",
            "unknown fine: fit can't be asked",
        ]);
        let said = ended.stdout();
        let line = said
            .lines()
            .find(|line| line.contains(": ssh -T "))
            .unwrap();
        let command = &line[line.find(": ssh -T ").unwrap() + 2..];
        assert!(command.contains("StrictHostKeyChecking=yes"), "{command}");
        let again = alone(&place, &["sh", "-c", command]);
        again.assert_code(255);
        again.assert_says(&["Host key verification failed"]);
    }
    place.write("known", key_of("host"));
    doctor(&place).assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn each_way_not_to_reach_a_machine_is_said_with_the_command_that_repeats_it() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place();
    let roles = ["fit", "stranger", "shut", "dead", "nameless"];
    let list = roles.map(|role| format!("\"{role}\"")).join(", ");
    let steps = roles
        .map(|role| format!("[{role}]\nrun = \"echo 42\"\n"))
        .concat();
    let metric = VALUE.replace("[metric.value]\n", "[metric.value]\nfrom = \"fit.run\"\n");
    place.write(
        "benchmarks/wide.toml",
        format!("name = \"wide\"\nabout = \"a test's own\"\nroles = [{list}]\n{steps}{metric}"),
    );
    place.plan("testbed = \"all\"\nuse = [\"wide\"]\n");
    let ended = doctor(&place);
    ended.assert_code(1);
    let key = place.at("key");
    ended.assert_says(&[
        "ok host fit",
        "failed host `stranger` answers and refuses the login",
        "failed host `shut` can't be reached: the machine is there, and nothing listens on that port",
        "failed host `dead` can't be reached: nobody answers at that address",
        "failed host `nameless` can't be reached: its name has no address",
        "unknown wide: dead, nameless, shut, stranger can't be asked",
        &format!(
            "-p 2222 -i {key} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -- nobody-at-all@127.0.0.1 true"
        ),
    ]);
    // Each of these commands, done again, says the same.
    let said = ended.stdout();
    let mut repeated = 0;
    for line in said.lines() {
        let Some(at) = line.find(": ssh -T ") else {
            continue;
        };
        let again = alone(&place, &["sh", "-c", &line[at + 2..]]);
        again.assert_code(255);
        let words = again.stderr.trim().lines().last().unwrap().to_owned();
        assert!(said.contains(words.trim()), "{words} is not in {said}");
        repeated += 1;
    }
    assert_eq!(repeated, 4, "{said}");
    place.assert_nothing_left();
}
