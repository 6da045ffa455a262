//! Folders and files of whole labs: MMTests, LKP, sysstat, netperf, OpenBSD's perform, Flent. What is known in them is read, the rest named.
//!
//! `fixtures/mmtests/lab`, `sysstat` have what the programs themselves printed; the others are in the documented form.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_exchange::import::{ImportChoices, ImportError, ImportedStudy, Importer, import};
use std::{
    fs,
    path::{Path, PathBuf},
};

mod imported;
use imported::{file, fixture, importer, lines};

fn read(format: &str, paths: &[PathBuf]) -> Result<ImportedStudy, ImportError> {
    import(&importer(format), paths, &ImportChoices::default())
}

fn read_fixture(format: &str, name: &str) -> ImportedStudy {
    read(format, &[fixture(name)]).unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &place);
        } else {
            fs::copy(entry.path(), place).unwrap();
        }
    }
}

fn of(imported: &ImportedStudy, words: &[&str]) -> Vec<String> {
    let all = lines(imported).into_iter();
    all.filter(|line| words.iter().all(|word| line.contains(word)))
        .collect()
}

#[test]
fn a_lab_of_mmtests_is_read_by_the_rules_of_the_catalogue() {
    let imported = read_fixture("mmtests", "mmtests/lab/base");
    let all = lines(&imported);
    for words in [
        ["hackbench-process-sockets", " time s lower"],
        ["sysbench-cpu", "events-per-second /s higher"],
        ["stressng-context", "stressor=mutex"],
        ["stressng-context", "stressor=switch"],
        ["postmark", "transactions transactions/s higher: 2000 2000"],
        ["ioping-disk", "latency"],
        ["fsmark-single", "rate"],
        ["fio-randread", "read-operations ops/s higher"],
        ["kernbench", "elapsed s lower"],
        ["perfpipe", "time_per_op us lower"],
        [
            "pgbench clients=4",
            "rate transactions/s higher: 41240.654321 41241.654321",
        ],
        ["redis", "rate"],
        ["dbench4 clients=1", "throughput MB/s higher: 250.1 250.1"],
        ["netperf-udp", "throughput Mbit/s higher: 327.9 327.9"],
    ] {
        assert!(
            all.iter()
                .any(|line| words.iter().all(|word| line.contains(word))),
            "{words:?} in {all:#?}"
        );
    }
    // Each of the two runs in a log is a trial, in each of two iterations.
    let hackbench = of(&imported, &["hackbench", " time s"]);
    assert_eq!(
        hackbench[0].split(": ").last().unwrap().split(' ').count(),
        4
    );
    assert!(
        imported.notes.iter().any(|note| note.contains("`aim9`")),
        "{:?}",
        imported.notes
    );
    assert!(!imported.notes.iter().any(|note| note.contains("`pgbench`")));
    // One run has no side of its own.
    assert!(
        imported
            .cells
            .iter()
            .all(|cell| cell.variant.as_str() == "default")
    );
}

#[test]
fn packed_logs_and_archives_say_the_same_as_what_they_pack() {
    let archive = fixture("mmtests/lab/patched.tar.xz");
    let packed = read("mmtests", std::slice::from_ref(&archive)).unwrap();
    assert_eq!(packed.files.len(), 1, "the archive is what is kept");
    assert_eq!(packed.files[0].content, fs::read(&archive).unwrap());
    assert!(packed.trials.iter().all(|trial| trial.files == [0]));
    let folder = tempfile::tempdir().unwrap();
    let unpack = std::process::Command::new("tar")
        .arg("-xJf")
        .arg(&archive)
        .arg("-C")
        .arg(folder.path())
        .status();
    assert!(unpack.unwrap().success());
    let plain = read("mmtests", &[folder.path().join("patched")]).unwrap();
    assert_eq!(lines(&packed), lines(&plain));
    // Both runs of a lab are sides of one study.
    let both = read_fixture("mmtests", "mmtests/lab");
    let variants: std::collections::BTreeSet<&str> = both
        .cells
        .iter()
        .map(|cell| cell.variant.as_str())
        .collect();
    assert_eq!(Vec::from_iter(variants), ["base", "patched"]);
    assert_eq!(
        both.trials.len(),
        packed.trials.len() + read_fixture("mmtests", "mmtests/lab/base").trials.len()
    );
}

#[test]
fn what_is_broken_in_a_lab_is_left_alone_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base");
    copy(&fixture("mmtests/lab/base"), &base);
    let logs = base.join("iter-0/broken/logs");
    fs::create_dir_all(&logs).unwrap();
    fs::write(logs.join("hackbench-1.log"), "Killed\n").unwrap();
    fs::write(logs.join("hackbench-2.log"), "").unwrap();
    fs::write(logs.join("sysbench-raw-1-1"), [0xff; 5000]).unwrap();
    fs::write(logs.join("fio.log.gz"), [0x1f, 0x8b, 8, 0, 1, 2, 3]).unwrap();
    fs::write(logs.join("pgbench-4.log"), "x".repeat(10 << 20)).unwrap();
    let imported = read("mmtests", &[base]).unwrap();
    let notes = imported.notes.join("\n");
    assert!(notes.contains("`aim9`, `broken`"), "{notes}");
    assert!(
        notes.contains("hackbench-1.log: it has no results"),
        "{notes}"
    );
    assert!(!notes.contains('\u{fffd}') && notes.len() < 4000, "{notes}");
    assert_eq!(
        lines(&imported),
        lines(&read_fixture("mmtests", "mmtests/lab/base"))
    );
    // Where nothing can be read, the first that can't is the error.
    let nothing = folder.path().join("nothing");
    copy(&logs, &nothing.join("iter-0/broken/logs"));
    let refused = read("mmtests", &[nothing]).unwrap_err();
    assert!(refused.file.contains("iter-0/broken/logs/"), "{refused}");
}

#[test]
fn programs_of_mmtests_that_the_catalogue_lacks_are_read_as_their_logs_say() {
    let imported = read_fixture("mmtests", "mmtests/more/v6.6");
    let all = lines(&imported);
    let expected = [
        "coremark threads=64 score iterations/s higher: 186003.255057",
        "iozone size_kib=102400 record_kib=1024 write KiB/s higher: 388250",
        // The columns of two tests that weren't asked for are blank.
        "iozone size_kib=102400 record_kib=1024 random_read KiB/s higher: 290025",
        "iozone size_kib=102400 record_kib=1024 random_write KiB/s higher: 392099",
        "iozone size_kib=16384 record_kib=4 stride_read KiB/s higher: 30137",
        "iozone size_kib=16384 record_kib=8 freread KiB/s higher: 5483605",
        "nas-omp kernel=ua.S time s lower: 25.31",
        "nas-omp kernel=ua.S mops Mops/s higher: 0.49",
        // Which run it was is no parameter.
        "nas-omp log=time-ua.S elapsed s lower: 0.12",
        "reaim users=4000 jobs_per_min count higher: 172991.31",
        "reaim users=4300 jobs_per_min count higher: 19968.28",
        // It says thrice what it has so far.
        "schbench threads=256 wakeup-latency-p99 us lower: 14",
        "schbench threads=256 wakeup-latency-p99.9 us lower: 76",
        "schbench threads=256 wakeup-latency-max us lower: 45003",
        "schbench threads=256 request-latency-p50 us lower: 6632",
        "schbench threads=256 rps-p20 requests/s higher: 13424",
        "schbench threads=256 rps requests/s higher: 13469.33",
        "unixbench-common test=Shell Scripts (8 concurrent) copies=1 loops_per_min count higher: 712.3",
        "unixbench-common test=File Copy 256 bufsize 500 maxblocks copies=1 bandwidth KiB/s higher: 164224.3",
        "unixbench-common test=Double-Precision Whetstone copies=1 mwips count higher: 3313.1",
        "unixbench-common test=System Call Overhead copies=1 loops /s higher: 3453100.9",
        "unixbench-common test=index copies=1 score count higher: 1179.2",
        "usemem threads=2 elapsed s lower: 0.12",
    ];
    for line in expected {
        assert!(all.iter().any(|it| it == line), "{line} in {all:#?}");
    }
    let of_iozone = of(&imported, &["size_kib=102400"]);
    assert_eq!(of_iozone.len(), 4, "{of_iozone:#?}");
    assert_eq!(imported.notes, Vec::<String>::new());
}

#[test]
fn other_versions_of_programs_that_mmtests_runs_are_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("run/iter-0/old/logs");
    fs::create_dir_all(logs.join("workfile.shared")).unwrap();
    // schbench before 2023, iozone before 3.4 with its narrower columns, and iozone that counts operations.
    let text = "Latency percentiles (usec)\n\t50.0000th: 9\n\t*99.0000th: 13\n\t99.9000th: 29\n\tmin=0, max=43\n";
    fs::write(logs.join("schbench-4.log"), text).unwrap();
    let head = "              KB  reclen   write rewrite    read    reread    read   write    read  rewrite     read   fwrite frewrite   fread  freread\n";
    let rows = format!(
        "{head}           65536       4  390191  550117                  1065478  490191\n"
    );
    fs::write(logs.join("iozone-1.log"), &rows).unwrap();
    let operations = format!(
        "\tOPS Mode. Output is in operations per second.\n{}",
        rows.replace("65536", "32768")
    );
    fs::write(logs.join("iozone-2.log"), operations).unwrap();
    fs::write(
        logs.join("workfile.shared/reaim.csv"),
        "Num,Parent Time,JPM,JTI\n4,1.5,8163.27,96\n8,2.5,9000.5,97\n",
    )
    .unwrap();
    fs::write(logs.join("is.C.log.1"), " Time in seconds =                     1.50\n Verification    =             UNSUCCESSFUL\n").unwrap();
    let ebizzy = "17436 records/s\nreal 10.00 s\nuser 19.63 s\nsys   0.33 s\n";
    fs::write(logs.join("ebizzy-2-1.log"), ebizzy).unwrap();
    let imported = read("mmtests", &[folder.path().to_owned()]).unwrap();
    let all = lines(&imported);
    for line in [
        "old threads=2 records /s higher: 17436",
        "old threads=4 latency-p99 us lower: 13",
        "old threads=4 latency-p99.9 us lower: 29",
        "old threads=4 latency-max us lower: 43",
        "old size_kib=65536 record_kib=4 rewrite KiB/s higher: 550117",
        "old size_kib=65536 record_kib=4 random_read KiB/s higher: 1065478",
        "old size_kib=32768 record_kib=4 random_write_ops ops/s higher: 490191",
        "old workfile=shared users=8 jobs_per_min count higher: 9000.5",
        "old kernel=is.C failed: its result is wrong: `Verification = UNSUCCESSFUL`",
    ] {
        assert!(all.iter().any(|it| it == line), "{line} in {all:#?}");
    }
    assert!(!all.iter().any(|it| it.contains(" read KiB/s")), "{all:#?}");
}

#[test]
fn tables_that_mmtests_extracts_have_metrics_and_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("run/iter-0/sysbench/logs");
    fs::create_dir_all(&logs).unwrap();
    let text = "txn/sec\t4\t_\t0\t1000.5\t_\ntxn/sec\t4\t_\t1\t1001.5\t_\nmystery\t4\tx\t0\t7\tR\n";
    fs::write(logs.join("extracted.tsv"), text).unwrap();
    let imported = read("mmtests", &[folder.path().to_owned()]).unwrap();
    assert_eq!(
        lines(&imported),
        ["sysbench operation=4 txn-sec transactions/s higher: 1000.5 1001.5"]
    );
    assert!(imported.notes.iter().any(|note| note.contains("`mystery`")));
}

#[test]
fn a_run_of_lkp_is_a_trial_and_a_commit_a_side() {
    let imported = read_fixture("lkp", "lkp/result");
    let mut own = of(&imported, &["will-it-scale.per_process_ops"]);
    own.sort();
    assert_eq!(own.len(), 2, "{own:#?}");
    assert!(
        own[0].ends_with("will-it-scale.per_process_ops ops/s higher: 1000 1001 1002"),
        "{own:#?}"
    );
    assert!(own[1].ends_with(": 900"), "{own:#?}");
    assert!(own[0].contains("compiler=gcc-12") && own[0].contains("kconfig=x86_64-rhel-8.3"));
    let variants: std::collections::BTreeSet<&str> = imported
        .cells
        .iter()
        .map(|cell| cell.variant.as_str())
        .collect();
    assert_eq!(variants.len(), 2, "{variants:?}");
    // What nothing is known of has no direction, and alarms nobody.
    let of_benchmark = &imported.metrics[&"will-it-scale"
        .parse::<backsight_model::BenchmarkName>()
        .unwrap()];
    let primary: Vec<&str> = of_benchmark
        .iter()
        .filter(|metric| metric.primary)
        .map(|metric| metric.name.as_str())
        .collect();
    assert_eq!(primary, ["will-it-scale.per_process_ops"]);
    assert_eq!(of(&imported, &["vmstat.cpu.us", "neither"]).len(), 1);
    // Without runs the matrix of all is read, not their mean as well.
    let netperf = of(&imported, &["netperf.Throughput_Mbps"]);
    assert!(
        netperf[0].ends_with("netperf.Throughput_Mbps Mbit/s higher: 9401.5 0 9403.5"),
        "{netperf:?}"
    );
    let hosts: Vec<&str> = imported.hosts.keys().map(|host| host.as_str()).collect();
    assert_eq!(hosts, ["lkp-csl-2sp3", "lkp-skl-2sp7"]);
    let notes = imported.notes.join("\n");
    assert!(notes.contains("meminfo.json, line 2"), "{notes}");
    assert!(!notes.contains("will-it-scale`"), "{notes}");
}

#[test]
fn a_run_of_lkp_that_was_moved_is_known_by_its_job() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture(
        "lkp/result/will-it-scale/100%-performance-process-poll1/lkp-skl-2sp7/debian-12-x86_64/x86_64-rhel-8.3/gcc-12/0123456789abcdef0123456789abcdef01234567/0",
    );
    copy(&run, &folder.path().join("0"));
    let imported = read("lkp", &[folder.path().to_owned()]).unwrap();
    assert_eq!(imported.cells[0].benchmark.as_str(), "will-it-scale");
    assert_eq!(
        imported.hosts.keys().next().unwrap().as_str(),
        "lkp-skl-2sp7"
    );
}

#[test]
fn netperf_has_a_test_a_trial_in_each_of_its_forms() {
    assert_eq!(
        lines(&read_fixture("netperf", "netperf.txt")),
        [
            "TCP_STREAM size=16384 throughput Mbit/s higher: 35414.33",
            "TCP_RR request=1 response=1 throughput transactions/s higher: 45232.35",
            "UDP_STREAM size=64 throughput Mbit/s higher: 327.9",
            "UDP_STREAM size=64 throughput-received Mbit/s higher: 326.61",
        ]
    );
    let forms = [
        "netperf-omni.txt",
        "netperf-omni.csv",
        "netperf-omni-table.txt",
    ];
    let omni: Vec<String> = forms
        .iter()
        .flat_map(|name| lines(&read_fixture("netperf", name)))
        .collect();
    for line in [
        "OMNI_SEND protocol=TCP direction=Send size=16384 throughput Mbit/s higher: 45121.67",
        "OMNI_SEND protocol=TCP direction=Send size=16384 cpu-local % lower: 25.1",
        "TCP_RR throughput transactions/s higher: 45000.1 45001.1",
        "TCP_RR latency-p99 us lower: 31 32",
        "OMNI_SEND_RECV protocol=TCP latency-mean us lower: 21.5",
        "OMNI_SEND size=16384 throughput Mbit/s higher: 45121.67",
    ] {
        assert!(omni.iter().any(|it| it == line), "{line} in {omni:#?}");
    }
    let text = fs::read_to_string(fixture("netperf.txt")).unwrap();
    let (_folder, cut) = file("cut.txt", &text[..text.find("131072").unwrap()]);
    assert_eq!(
        lines(&read("netperf", &[cut]).unwrap()),
        ["TCP_STREAM failed: its table has no numbers"]
    );
    let (_folder, bad) = file("bad.txt", text.replace("35414.33", "354.14.33"));
    assert!(read("netperf", &[bad]).is_err());
}

#[test]
fn sysstat_has_a_host_a_trial_with_its_intervals() {
    let known = |name: &str, words: &[&str]| {
        let imported = read_fixture("sysstat", name);
        assert_eq!(
            imported.hosts.keys().next().unwrap().as_str(),
            "vm",
            "{name}"
        );
        assert!(
            imported.trials.iter().all(|trial| trial.round == 1),
            "{name}"
        );
        let found = of(&imported, words);
        assert_eq!(found.len(), 1, "{words:?} in {:#?}", lines(&imported));
        let first = imported.trials[0].outcome.as_ref().unwrap();
        assert_eq!(first[0].each.len(), 4, "{name}");
        found[0].clone()
    };
    let json = known("sysstat/sadf.json", &["cpu=all", "cpu-load.nice "]);
    assert_eq!(json, "sar cpu=all cpu-load.nice % neither: 25.955");
    known("sysstat/sadf.json", &["iface=lo", "net-dev.rxkB KiB/s"]);
    let csv = known("sysstat/sadf.csv", &["cpu=all", " nice "]);
    assert_eq!(csv, "sar cpu=all nice % neither: 25.955");
    known("sysstat/sadf.csv", &["iface=lo", "rxkB-s KiB/s"]);
    let text = known("sysstat/sar.txt", &["cpu=all", " nice "]);
    assert_eq!(text, csv);
    known("sysstat/sar.txt", &["ldavg-1 count"]);
}

#[test]
fn a_repetition_of_openbsds_tests_is_a_trial_and_a_checkout_a_side() {
    let imported = read_fixture("openbsd-perform", "openbsd-perform/results");
    let sender = of(&imported, &["iperf3", "sender"]);
    assert_eq!(sender.len(), 2, "{sender:#?}");
    assert!(
        sender[0].ends_with("sender bit/s higher: 941000000 941000001"),
        "{sender:#?}"
    );
    assert_eq!(
        of(&imported, &["failed: FAIL Command failed: 256"]).len(),
        1
    );
    let build = of(&imported, &["make", "real s lower"]);
    assert!(build[0].ends_with(": 113.2 113.21"), "{build:#?}");
    assert!(
        imported.notes.iter().any(|note| note.contains("`things`")),
        "{:?}",
        imported.notes
    );
    for name in ["openbsd-perform/test.data", "openbsd-perform/test.csv"] {
        let table = read_fixture("openbsd-perform", name);
        let found = lines(&table);
        assert_eq!(found.len(), 2, "{found:#?}");
        assert!(
            found[0].ends_with("sender bit/s higher: 941000000 942000000"),
            "{found:#?}"
        );
        assert_eq!(table.hosts.keys().next().unwrap().as_str(), "ot1");
    }
}

#[test]
fn a_file_of_flent_is_a_trial_with_its_points() {
    let imported = read_fixture("flent", "rrul.flent.gz");
    assert_eq!(
        lines(&imported),
        [
            "rrul title=quick host=sink length=60 TCP-upload Mbit/s higher: 935.5",
            "rrul title=quick host=sink length=60 Ping-ms-ICMP ms lower: 1",
        ]
    );
    assert_eq!(imported.hosts.keys().next().unwrap().as_str(), "source");
}

#[test]
fn a_run_that_failed_is_no_run_that_succeeded() {
    let passed = "VALUE 1 sec real\nPASS make\n";
    let text = format!("{passed}FAIL make Command failed\n{passed}{passed}");
    let (_folder, path) = file("test.result", text);
    let imported = read("openbsd-perform", &[path.clone(), path]).unwrap();
    let rounds: Vec<(u32, bool)> = imported
        .trials
        .iter()
        .map(|trial| (trial.round, trial.outcome.is_ok()))
        .collect();
    let one = [true, false, true, true].into_iter();
    assert_eq!(
        rounds,
        (1..).zip(one.clone().chain(one)).collect::<Vec<_>>()
    );
}

#[test]
fn what_fio_prints_in_short_is_read_like_its_json() {
    let packed = fixture("mmtests/lab/base/iter-0/fio-randread/logs/fio.log.xz");
    let imported = read("fio", &[packed]).unwrap();
    let found = lines(&imported);
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(
        found[1].starts_with("randread read-operations ops/s higher: 7529"),
        "{found:#?}"
    );
}

#[test]
fn hostile_files_are_refused_with_their_place_by_importers_of_folders() {
    let folder = tempfile::tempdir().unwrap();
    let long = "9".repeat(10 << 20);
    let all: [(&str, &str, &[u8]); 8] = [
        ("lkp", "0/stats.json", br#"{"a.b": "#),
        ("lkp", "0/stats.json", long.as_bytes()),
        ("netperf", "x", b"TCP STREAM TEST from a to b\n\n 1 2 3\n"),
        ("netperf", "x", long.as_bytes()),
        (
            "sysstat",
            "x",
            br#"{"sysstat": {"hosts": [{"statistics": [1, {"x": "#,
        ),
        (
            "sysstat",
            "x",
            b"# hostname;interval;timestamp;CPU\n;;;;;;\n",
        ),
        ("openbsd-perform", "x", b"VALUE much bits/sec\nPASS a\n"),
        (
            "flent",
            "x",
            br#"{"metadata": {}, "x_values": [], "results": {"a": ["b"]}}"#,
        ),
    ];
    for (format, name, content) in all {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let refused = read(format, &[path]).unwrap_err();
        assert!(!refused.message.contains("broke"), "{format}: {refused}");
        assert!(refused.file.ends_with(name), "{format}: {refused}");
    }
}

#[test]
fn every_benchmark_that_an_importer_names_is_in_the_catalogue() {
    let text = include_str!("../../../importers/mmtests.toml");
    let unknown = text.replace("\"tbench\"", "\"tbnech\"");
    let problem = Importer::read(&backsight_model::TomlDocument::new("x", unknown)).unwrap_err();
    assert!(
        problem.to_string().contains("no such benchmark"),
        "{problem}"
    );
}

#[test]
fn a_recording_of_a_long_time_is_read() {
    let text = fs::read_to_string(fixture("sysstat/sar.txt")).unwrap();
    let (_folder, path) = file("long.txt", text.repeat(100));
    let imported = read("sysstat", &[path]).unwrap();
    let samples = imported.trials[0].outcome.as_ref().unwrap();
    assert_eq!(samples[0].each.len(), 400);
    let (_folder, junk) = file(
        "junk.txt",
        "Linux 6.1.0 (vm)\n05:05:10\n05:05:11 CPU %user\n05:05:12 all fast\n",
    );
    assert!(
        read("sysstat", &[junk])
            .unwrap_err()
            .message
            .contains("expected a JSON object")
    );
}
