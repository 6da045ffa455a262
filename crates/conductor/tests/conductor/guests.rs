//! Kernels that are processes of this machine: booted, measured, killed, and what is left of them.

use backsight_catalog::Catalog;
use backsight_conductor::{
    BootFault, Conductor, ConnectError, Events, Kernel, TrialOutcome, netns,
};
use backsight_model::{
    Arrangement, Benchmark, BenchmarkLookupError, Ending, HostKind, HostName, Lab, Plan,
    TomlDocument,
};
use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use tokio::sync::watch;

use crate::{LIMIT, reach, uml};

const TWO: &str = r#"
name = "guests-NUMBER"
[host.one]
kind = "uml"
memory = "64MiB"
[host.two]
kind = "uml"
memory = "64MiB"
[testbed.pair]
client = "one"
server = "two"
"#;
const LINK: &str = "[[link]]\nends = { one = \"10.83.1.1/24\", two = \"10.83.1.2/24\" }\n";
const PING: &str = r#"
name = "ping"
about = "one packet there and back"
roles = ["server", "client"]
[server]
startup.spawn = "sleep 600"
[client]
run = "ping -c 3 -i 0.2 -w 20 {server.data}"
[metric.received]
unit = "count"
better = "higher"
regex = '(?<value>\d+) received'
"#;
const PLAN: &str = "testbed = \"pair\"\nrounds = 1\nuse = [\"ping\"]\n";

fn host(name: &str) -> HostName {
    HostName::new(name).unwrap()
}

fn lab(links: &str) -> Lab {
    // Labs of tests that run at once don't share their names.
    let number = std::process::id().to_string();
    let text = format!("{}{links}", TWO.replace("NUMBER", &number));
    Lab::read(&TomlDocument::new("lab.toml", text)).unwrap()
}

fn catalog(benchmark: &str) -> Catalog {
    Catalog::from_documents(vec![TomlDocument::new("ping.toml", benchmark)]).unwrap()
}

fn arrangement(lab: &Lab, benchmark: &str) -> Arrangement {
    let document = TomlDocument::new("plan.toml", PLAN);
    let read = |_: &_| {
        Ok::<_, BenchmarkLookupError<backsight_model::DocumentError>>(
            Benchmark::read(&TomlDocument::new("ping.toml", benchmark)).unwrap(),
        )
    };
    Plan::read(&document)
        .unwrap()
        .arrange(&document, lab, read)
        .unwrap()
}

async fn conductor(lab: &Lab, benchmark: &str) -> Conductor {
    let arrangement = arrangement(lab, benchmark);
    let started = Conductor::start_without_guests(reach(), arrangement, Events::default());
    started.await.unwrap()
}

async fn measure(conductor: &mut Conductor, benchmark: &str) -> backsight_model::TrialRecord {
    let cells = conductor
        .arrangement()
        .cells(|role| conductor.machine(role))
        .unwrap();
    let (_never, stop) = watch::channel(false);
    let catalog = catalog(benchmark);
    let trial = conductor.trial(&catalog, &cells[0], stop);
    match trial.await.unwrap() {
        TrialOutcome::Trial(record) => *record,
        TrialOutcome::Interrupted => panic!("nobody stopped it"),
    }
}

fn kernel() -> Kernel {
    Kernel {
        kind: HostKind::Uml,
        image: uml(),
        args: String::new(),
        icount: None,
        limit: LIMIT,
    }
}

/// Processes of this machine that run this kernel.
fn running(kernel: &Kernel) -> Vec<String> {
    let image = kernel.args.clone();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&image)
        })
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .collect()
}

/// A kernel whose processes can be told from those of other tests.
fn marked(name: &str) -> Kernel {
    Kernel {
        // With a word that no kernel knows, which it passes on to its first process.
        args: format!("backsight-test-{name}{}", std::process::id()),
        ..kernel()
    }
}

#[tokio::test]
async fn a_guest_without_a_kernel_says_who_boots_it() {
    let arrangement = arrangement(&lab(""), PING);
    let started = Conductor::start(reach(), arrangement, Events::default()).await;
    let error = started.err().unwrap();
    assert!(matches!(error, ConnectError::NotBooted { .. }));
    assert!(error.to_string().contains("`backsight step`"), "{error}");
}

#[tokio::test]
async fn each_boot_is_another_machine_and_leaves_nothing() {
    let lab = lab("");
    let kernel = marked("each");
    let mut conductor = conductor(&lab, PING).await;
    let mut seen = Vec::new();
    let mut records = Vec::new();
    for _ in 0..2 {
        let boot = conductor.boot(&kernel).await.unwrap();
        for name in ["one", "two"] {
            let facts = &boot.facts[&host(name)];
            assert_eq!(facts["hostname"], name);
            assert_eq!(facts["virtualisation"], "uml");
            assert!(facts["kernel.cmdline"].contains(&kernel.args));
            seen.push(facts["boot_id"].clone());
            let console = String::from_utf8_lossy(&boot.consoles[&host(name)]).into_owned();
            assert!(console.contains("Linux version"), "{console}");
        }
        let one = host("one");
        let said = conductor.run_command(&one, "uname -n; pwd; touch made; ls", LIMIT);
        let said = said.await.unwrap();
        assert_eq!(said.ending, Ending::Exit(0), "{said:?}");
        let text = String::from_utf8(said.stdout.bytes).unwrap();
        assert!(text.starts_with("one\n/tmp/"), "{text}");
        assert!(!running(&kernel).is_empty());
        for recorded in conductor.record_guests().await {
            let (record, _) = recorded.record.unwrap();
            assert_eq!(record.0["guest"]["kind"], "uml");
            assert!(record.0["machine"]["kernel.cmdline"].contains(&kernel.args));
            for section in ["cpu", "memory", "sysctl"] {
                assert!(record.0.contains_key(section), "{section}");
            }
            assert!(!record.0.contains_key("package"));
            records.push((recorded.host, record));
        }
    }
    // The same kernel booted again is the same machine.
    assert_eq!(records.len(), 4);
    assert_eq!(records[..2], records[2..]);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 4, "{seen:?}");
    conductor.finish().await;
    assert_eq!(running(&kernel), Vec::<String>::new());
}

#[tokio::test]
async fn two_guests_with_a_link_reach_each_other() {
    let lab = lab(LINK);
    let kernel = marked("link");
    netns::up(&lab).unwrap();
    let mut conductor = conductor(&lab, PING).await;
    conductor.boot(&kernel).await.unwrap();
    let record = measure(&mut conductor, PING).await;
    let samples = record.outcome.unwrap();
    assert_eq!(samples[0].values[0], 3.0, "{samples:?}");
    let one = host("one");
    let named = conductor.run_command(&one, "ip -o link show dev to-two", LIMIT);
    assert!(named.await.unwrap().succeeded());
    conductor.finish().await;
    assert_eq!(running(&kernel), Vec::<String>::new());
    let removed = netns::down(&lab).unwrap();
    assert_eq!(removed.len(), 2);
}

#[tokio::test]
async fn a_kernel_that_panics_is_quoted_and_the_next_one_boots() {
    let lab = lab("");
    let mut conductor = conductor(&lab, PING).await;
    let mut panics = marked("panics");
    panics.args += " init=/no/such/program";
    let error = conductor.boot(&panics).await.unwrap_err();
    assert!(matches!(*error.fault, BootFault::Ended(_)), "{error:?}");
    assert!(error.to_string().contains("Kernel panic"), "{error}");
    assert_eq!(error.consoles.len(), 2);
    assert_eq!(running(&panics), Vec::<String>::new());
    conductor.boot(&marked("boots")).await.unwrap();
    conductor.finish().await;
}

#[tokio::test]
async fn a_kernel_that_never_says_hello_is_ended_at_its_limit() {
    let lab = lab("");
    let mut conductor = conductor(&lab, PING).await;
    let begun = std::time::Instant::now();
    conductor.boot(&marked("talks")).await.unwrap();
    let mut silent = marked("silent");
    silent.args += " init=/bin/sleep -- 600";
    // Until its console says something: by then one that says hello has said it twice here.
    silent.limit = 2 * begun.elapsed().max(Duration::from_secs(1));
    let error = conductor.boot(&silent).await.unwrap_err();
    assert!(matches!(*error.fault, BootFault::Silent(_)), "{error:?}");
    let console = &error.consoles[&host("one")];
    assert!(String::from_utf8_lossy(console).contains("Linux version"));
    assert_eq!(running(&silent), Vec::<String>::new());
    conductor.finish().await;
}

#[tokio::test]
async fn what_is_no_kernel_is_refused() {
    let lab = lab("");
    let mut conductor = conductor(&lab, PING).await;
    let missing = Kernel {
        image: PathBuf::from("/no/such/kernel"),
        ..kernel()
    };
    let error = conductor.boot(&missing).await.unwrap_err();
    assert!(matches!(*error.fault, BootFault::NoImage(_)), "{error:?}");
    let other = Kernel {
        kind: HostKind::Qemu,
        ..kernel()
    };
    let error = conductor.boot(&other).await.unwrap_err();
    assert!(matches!(*error.fault, BootFault::Kind { .. }), "{error:?}");
    conductor.finish().await;
}

#[tokio::test]
async fn a_guest_that_is_killed_fails_its_trial_and_the_next_boot_works() {
    let lab = lab("");
    let kernel = marked("killed");
    let benchmark = PING.replace("ping -c 3 -i 0.2 -w 20 {server.data}", "sleep 600");
    let mut conductor = conductor(&lab, &benchmark).await;
    conductor.boot(&kernel).await.unwrap();
    let killer = async {
        // Long after the boot, but for certain during the trial's one long step.
        let killed = tokio::time::Instant::now() + Duration::from_secs(1);
        tokio::time::sleep_until(killed).await;
        for pid in running(&kernel) {
            let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    };
    let (record, ()) = tokio::join!(measure(&mut conductor, &benchmark), killer);
    let failure = record.outcome.unwrap_err();
    assert!(failure.host_lost, "{failure}");
    assert!(failure.reason.contains("its kernel ended"), "{failure}");
    let cells = conductor
        .arrangement()
        .cells(|role| conductor.machine(role))
        .unwrap();
    let (_never, stop) = watch::channel(false);
    let refused = conductor.trial(&catalog(&benchmark), &cells[0], stop).await;
    assert!(matches!(refused, Err(ConnectError::NotBooted { .. })));
    conductor.boot(&kernel).await.unwrap();
    let asked = conductor
        .run_command(&host("two"), "true", LIMIT)
        .await
        .unwrap();
    assert!(asked.succeeded());
    conductor.finish().await;
    assert_eq!(running(&kernel), Vec::<String>::new());
}

#[tokio::test]
async fn a_guest_whose_keeper_is_killed_is_gone_with_it() {
    let lab = lab("");
    let kernel = marked("keeper");
    let benchmark = PING.replace("ping -c 3 -i 0.2 -w 20 {server.data}", "sleep 600");
    let mut conductor = conductor(&lab, &benchmark).await;
    conductor.boot(&kernel).await.unwrap();
    let killer = async {
        let killed = tokio::time::Instant::now() + Duration::from_millis(500);
        tokio::time::sleep_until(killed).await;
        let kernels = running(&kernel);
        let status = std::fs::read_to_string(format!("/proc/{}/status", kernels[0])).unwrap();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        let keeper = rustix::process::Pid::from_raw(parent.unwrap().trim().parse().unwrap());
        rustix::process::kill_process(keeper.unwrap(), rustix::process::Signal::KILL).unwrap();
    };
    let (record, ()) = tokio::join!(measure(&mut conductor, &benchmark), killer);
    assert!(record.outcome.unwrap_err().host_lost);
    conductor.boot(&kernel).await.unwrap();
    conductor.finish().await;
    assert_eq!(running(&kernel), Vec::<String>::new());
}

#[tokio::test]
async fn a_guest_and_a_namespace_with_a_link_reach_each_other() {
    let text = format!(
        "name = \"mixed-{}\"\n[host.one]\nkind = \"uml\"\nmemory = \"64MiB\"\n\
         routes = [\"10.85.0.0/24 via 10.84.1.2\"]\nsysctl = {{ \"net.ipv4.tcp_ecn\" = \"1\" }}\n\
         [host.two]\nkind = \"netns\"\n\
         [[link]]\nends = {{ one = \"10.84.1.1/24\", two = \"10.84.1.2/24\" }}\nmtu = 1400\n\
         [testbed.pair]\nclient = \"one\"\nserver = \"two\"\n",
        std::process::id()
    );
    let lab = Lab::read(&TomlDocument::new("lab.toml", text)).unwrap();
    netns::up(&lab).unwrap();
    let mut conductor = conductor(&lab, PING).await;
    conductor.boot(&marked("mixed")).await.unwrap();
    let record = measure(&mut conductor, PING).await;
    assert_eq!(record.outcome.unwrap()[0].values[0], 3.0);
    let one = host("one");
    let line = "cat /sys/class/net/to-two/mtu /proc/sys/net/ipv4/tcp_ecn; ip route get 10.85.0.9";
    let said = conductor.run_command(&one, line, LIMIT).await.unwrap();
    let text = String::from_utf8(said.stdout.bytes).unwrap();
    assert!(
        text.starts_with("1400\n1\n10.85.0.9 via 10.84.1.2 dev to-two"),
        "{text}"
    );
    conductor.finish().await;
    netns::down(&lab).unwrap();
}

#[tokio::test]
async fn a_guest_that_cannot_be_what_the_lab_says_says_why() {
    let lab = |line: &str| {
        let text = format!(
            "name = \"cannot-{}\"\n[host.one]\nkind = \"uml\"\nmemory = \"64MiB\"\n{line}\n\
             [testbed.pair]\nclient = \"one\"\nserver = \"one\"\n",
            std::process::id()
        );
        Lab::read(&TomlDocument::new("lab.toml", text)).unwrap()
    };
    for (line, words) in [
        ("routes = [\"10.85.0.0/24 via 10.84.1.2\"]", "ip -batch"),
        ("sysctl = { \"net.no_such\" = \"1\" }", "net/no_such"),
        ("root = \"/no/such/root\"", "/no/such/root"),
    ] {
        let mut conductor = conductor(&lab(line), PING).await;
        let error = conductor.boot(&marked("cannot")).await.unwrap_err();
        assert!(matches!(*error.fault, BootFault::SetUp(_)), "{error:?}");
        assert!(error.fault.to_string().contains(words), "{error}");
        conductor.finish().await;
    }
}

/// A root with a shell of this machine and nothing else of it.
fn least_root(root: &Path) {
    for folder in ["bin", "dev", "proc", "run", "sys", "tmp", "var/tmp"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    std::fs::copy("/bin/sh", root.join("bin/sh")).unwrap();
    let libraries = Command::new("ldd").arg("/bin/sh").output().unwrap();
    let libraries = String::from_utf8(libraries.stdout).unwrap();
    for library in libraries.split_whitespace().filter(|w| w.starts_with('/')) {
        let place = root.join(library.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::copy(library, place).unwrap();
    }
    std::fs::write(root.join("marker"), "of its own\n").unwrap();
}

#[tokio::test]
async fn a_guest_with_a_root_of_its_own_sees_nothing_of_this_machines() {
    let root = tempfile::tempdir().unwrap();
    least_root(root.path());
    let text = format!(
        "name = \"root-{}\"\n[host.one]\nkind = \"uml\"\nmemory = \"64MiB\"\nroot = \"{}\"\n\
         [testbed.pair]\nclient = \"one\"\nserver = \"one\"\n",
        std::process::id(),
        root.path().display()
    );
    let lab = Lab::read(&TomlDocument::new("lab.toml", text)).unwrap();
    let mut conductor = conductor(&lab, PING).await;
    conductor.boot(&marked("root")).await.unwrap();
    let commands = "read -r word < /marker; echo \"$word\"; echo /etc/*; \
        : > /tmp/made && echo /tmp/made; : > /made";
    let said = conductor
        .run_command(&host("one"), commands, LIMIT)
        .await
        .unwrap();
    let (out, err) = (
        String::from_utf8(said.stdout.bytes).unwrap(),
        String::from_utf8(said.stderr.bytes).unwrap(),
    );
    assert_eq!(out, "of its own\n/etc/*\n/tmp/made\n", "{err}");
    assert!(err.contains("Read-only file system"), "{err}");
    assert!(!root.path().join("tmp/made").exists());
    conductor.finish().await;
}

/// A kernel of Debian's for emulated machines: what drives a disk or a network card is a module, what is needed here
/// isn't.
fn kernel_of_a_machine() -> Kernel {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/boot")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().starts_with("/boot/vmlinuz-"))
        .collect();
    found.sort();
    Kernel {
        kind: HostKind::Qemu,
        image: found.pop().expect(
            "this test boots a kernel of Debian's: apt-get install linux-image-cloud-amd64",
        ),
        args: format!("backsight-test-emulated{}", std::process::id()),
        icount: Some(2),
        // Every instruction of it is emulated, and counted: beside other work that takes minutes.
        limit: 10 * LIMIT,
    }
}

#[tokio::test]
async fn an_emulated_machine_is_a_guest_too() {
    let text = format!(
        "name = \"emulated-{}\"\n[host.one]\nkind = \"qemu\"\nmemory = \"384MiB\"\nprograms = [\"cat\"]\n\
         [testbed.pair]\nclient = \"one\"\nserver = \"one\"\n",
        std::process::id()
    );
    let lab = Lab::read(&TomlDocument::new("lab.toml", text)).unwrap();
    let kernel = kernel_of_a_machine();
    let mut conductor = conductor(&lab, PING).await;
    let boot = conductor.boot(&kernel).await.unwrap();
    let one = host("one");
    assert!(boot.facts[&one]["kernel.cmdline"].contains(&kernel.args));
    let cat = "cat /proc/sys/kernel/hostname";
    let said = conductor.run_command(&one, cat, LIMIT).await.unwrap();
    assert_eq!(said.stdout.bytes, b"one\n");
    // Nothing of this machine is there but what was asked for.
    let said = conductor.run_command(&one, "ls", LIMIT).await.unwrap();
    assert_eq!(said.ending, Ending::NotFound);
    conductor.finish().await;
    assert_eq!(running(&kernel), Vec::<String>::new());
}

/// Tests of which some end their kernel, and one that hangs; those that a file names are left out.
const SUITE: &str = r##"
name = "kernel"
about = "a test's own"
roles = ["dut"]
[dut]
startup = "sh -c 'uname -v > booted'"
run = '''
set -- $(for test in TESTS; do grep -qx "kernel/$test" {without} || echo $test; done)
echo "TAP version 13"
echo "1..$#"
number=0
for test do
  number=$((number + 1))
  echo "# selftests: kernel: $test"
  case $test in
    *panics)
      echo "<0>this is $test" >/dev/kmsg
      until grep -q "kernel: $test" ../spool/*.stdout; do :; done
      cksum /bin/sh >/dev/null
      echo c >/proc/sysrq-trigger ;;
    hangs) sleep 1000 ;;
  esac
  echo "ok $number selftests: kernel: $test"
done
'''
[results]
format = "ktap"
silence = "20s"
"##;

/// The suite with these tests, and what one trial of it gave.
async fn run_suite(conductor: &mut Conductor, tests: &str) -> backsight_model::TrialRecord {
    measure(conductor, &SUITE.replace("TESTS", tests)).await
}

async fn suite_conductor(tests: &str, kernel: &Kernel) -> Conductor {
    let text = format!(
        "name = \"suite-{}\"\n[host.one]\nkind = \"uml\"\nmemory = \"64MiB\"\n[testbed.alone]\ndut = \"one\"\n",
        std::process::id()
    );
    let lab = Lab::read(&TomlDocument::new("lab.toml", text)).unwrap();
    let document = TomlDocument::new("plan.toml", "rounds = 1\nuse = [\"kernel\"]\n");
    let suite = SUITE.replace("TESTS", tests);
    let read = |_: &_| {
        Ok::<_, BenchmarkLookupError<backsight_model::DocumentError>>(
            Benchmark::read(&TomlDocument::new("kernel.toml", &*suite)).unwrap(),
        )
    };
    let arrangement = Plan::read(&document)
        .unwrap()
        .arrange(&document, &lab, read);
    let started = Conductor::start_without_guests(reach(), arrangement.unwrap(), Events::default());
    let mut conductor = started.await.unwrap();
    conductor.boot(kernel).await.unwrap();
    conductor
}

/// Each result of a trial.
fn outcomes(record: &backsight_model::TrialRecord) -> Vec<String> {
    let run = record.suite.as_ref().unwrap();
    let results = run.results.iter();
    results
        .map(|it| format!("{} {}", it.name, it.outcome))
        .collect()
}

#[tokio::test]
async fn a_suite_goes_on_after_the_tests_that_end_their_kernel() {
    let kernel = marked("panics");
    let tests = "adds panics reads also-panics writes";
    let mut conductor = suite_conductor(tests, &kernel).await;
    let record = run_suite(&mut conductor, tests).await;
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    assert_eq!(
        outcomes(&record),
        [
            "kernel/adds pass",
            "kernel/also-panics crash",
            "kernel/panics crash",
            "kernel/reads pass",
            "kernel/writes pass"
        ]
    );
    let run = record.suite.unwrap();
    assert!(run.complete, "{:?}", run.problems);
    assert_eq!(
        run.problems,
        ["continued 2 times, without the tests that had ended: kernel/panics; kernel/also-panics"]
    );
    for test in ["panics", "also-panics"] {
        let crash = run.results.find(&format!("kernel/{test}")).unwrap();
        for said in [
            format!("this is {test}"),
            "Kernel panic - not syncing: sysrq".to_owned(),
        ] {
            assert!(crash.log.contains(&said), "{}", crash.log);
        }
        assert!(crash.message.unwrap().contains("Kernel panic"), "{crash:?}");
    }
    // That boot ends with its trial.
    assert_eq!(running(&kernel), Vec::<String>::new());
    conductor.finish().await;
}
