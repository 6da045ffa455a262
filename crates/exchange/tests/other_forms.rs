//! Forms that tools write in other versions, with other options, or among other text: each as a small made-up file.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_exchange::import::{ImportChoices, ImportError, ImportedStudy, import};
use std::{fs, path::PathBuf};

mod imported;
use imported::{file, fixture, importer, lines};

fn try_read(format: &str, name: &str, text: &str) -> Result<ImportedStudy, ImportError> {
    let (_folder, path) = file(name, text);
    import(&importer(format), &[path], &ImportChoices::default())
}

fn read(format: &str, text: &str) -> Vec<String> {
    lines(&try_read(format, "file", text).unwrap())
}

/// The study of a folder of these files.
fn read_folder(format: &str, files: &[(&str, &str)]) -> ImportedStudy {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path: PathBuf = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    import(
        &importer(format),
        &[folder.path().to_owned()],
        &ImportChoices::default(),
    )
    .unwrap()
}

#[test]
fn phoronix_has_results_of_its_own_sensors_and_failures() {
    let result = |identifier: &str, title: &str, rest: &str| {
        format!(
            "<Result><Identifier>{identifier}</Identifier><Title>{title}</Title>{rest}</Result>"
        )
    };
    let entry = |value: &str, raw: &str, json: &str| {
        format!(
            "<Data><Entry><Identifier>a</Identifier><Value>{value}</Value><RawString>{raw}</RawString><JSON>{json}</JSON></Entry></Data>"
        )
    };
    let seconds = "<Scale>Seconds</Scale><Proportion>LIB</Proportion><DisplayFormat>BAR_GRAPH</DisplayFormat>";
    let sensor = "<Arguments>cpu.temp</Arguments><Scale>Celsius</Scale><Proportion></Proportion><DisplayFormat>LINE_GRAPH</DisplayFormat>";
    let passes = "<Scale></Scale><DisplayFormat>PASS_FAIL</DisplayFormat>";
    let text = format!(
        "<PhoronixTestSuite><System><Identifier>a</Identifier><Hardware>Processor: Two Cores, Memory: 1GB</Hardware>\
         <Software>OS: X, Kernel: 6.1.0 (x86_64)</Software><TimeStamp>2025-01-30 13:21:52</TimeStamp></System>{}{}{}{}{}</PhoronixTestSuite>",
        result(
            "pts/x-1.0.0",
            "X",
            &format!("{seconds}{}", entry("2", "1:3", ""))
        ),
        result(
            "",
            "X",
            &format!(
                "<Description>Test Install Time</Description>{seconds}{}",
                entry("133", "", "")
            )
        ),
        result(
            "",
            "CPU Temperature Monitor",
            &format!("{sensor}{}", entry("50,52", "", ""))
        ),
        result(
            "pts/y-1.0.0",
            "Y",
            &format!("{passes}{}", entry("PASS", "PASS", ""))
        ),
        result(
            "pts/z-1.0.0",
            "Z",
            &format!("{seconds}{}", entry("", "", "{\"error\": \"it quit\"}"))
        ),
    );
    let imported = try_read("phoronix", "other.xml", &text).unwrap();
    assert_eq!(
        lines(&imported),
        [
            "x profile=pts/x-1.0.0 Seconds s lower: 1 3",
            "X test=Test Install Time Seconds s lower: 133",
            "CPU-Temperature-Monitor arguments=cpu.temp name=CPU Temperature Monitor Celsius °C neither: 51",
            "z profile=pts/z-1.0.0 failed: it quit",
        ]
    );
    assert_eq!(imported.hosts[0]["kernel"], "6.1.0");
    let sensor = imported
        .trials
        .iter()
        .find(|trial| trial.cell == 2)
        .unwrap();
    assert_eq!(sensor.outcome.as_ref().unwrap()[0].each, [50.0, 52.0]);
    // Of a folder of results each is a side; one without results is left alone.
    let named = read_folder(
        "phoronix",
        &[
            ("test-results/before/composite.xml", &text),
            ("test-results/before/test-1.xml", &text),
            ("test-results/after/composite.xml", &text),
            ("test-results/broken/composite.xml", "<PhoronixTestSuite/>"),
        ],
    );
    let all = lines(&named);
    for side in ["before", "after"] {
        let line = format!("x profile=pts/x-1.0.0 {side} Seconds s lower: 1 3");
        assert!(all.contains(&line), "{line} in {all:#?}");
    }
    assert!(
        named.notes.join("\n").contains("`broken`"),
        "{:?}",
        named.notes
    );
}

#[test]
fn the_json_of_phoronix_has_results_without_values() {
    let text = r#"{"title": "t", "systems": {"old": {"identifier": "old", "hardware": {"Processor": "P1"}, "software": {"Kernel": "6.1"},
          "timestamp": "2024-01-02 03:04:05"}, "new": {"identifier": "new", "hardware": {"Processor": "P2"}}},
      "results": {
        "d8e8": {"identifier": "pts/x-1.0.0", "title": "X", "description": "A: 1", "scale": "MB/s", "proportion": "HIB", "display_format": "BAR_GRAPH",
          "results": {"old": {"value": 1200.5, "raw_values": [1200, 1201]}, "new": {"details": {"error": "it did not run"}}}},
        "22": {"title": "CPU Power Monitor", "scale": "Watts", "display_format": "LINE_GRAPH", "results": {"old": {"value": "10,12"}}},
        "33": {"identifier": "pts/y-1.0.0", "title": "Y", "scale": "Seconds", "proportion": "LIB"}}}"#;
    let imported = try_read("phoronix", "r.json", text).unwrap();
    assert_eq!(
        lines(&imported),
        [
            "x profile=pts/x-1.0.0 test=A: 1 old MB-s MB/s higher: 1200 1201",
            "x profile=pts/x-1.0.0 test=A: 1 new failed: it did not run",
            "CPU-Power-Monitor name=CPU Power Monitor old Watts W neither: 11",
        ]
    );
    assert_eq!(imported.hosts[0]["hardware of new"], "Processor: P2");
}

#[test]
fn what_lkp_calls_a_value_says_its_unit_and_direction() {
    let values = [
        ("pmbench.read.latency.ns.0-256%", "% neither"),
        ("pmbench.read.latency.99%.ns", "ns lower"),
        ("pmbench.throughput.aps", "count higher"),
        ("pmbench.throughput.std_dev%", "% lower"),
        ("pmbench.latency_250us%", "% neither"),
        ("pmbench.latency_99%_us_stddev%", "% lower"),
        ("pmbench.max_latency.95%", "count lower"),
        ("pmbench.memcpy.GB_per_sec", "GB/s higher"),
        ("pmbench.sha256.bytes_per_sec", "B/s higher"),
        ("pmbench.file.nanosecs_per_access", "ns lower"),
        ("pmbench.file.nanosecs_per_access.pass", "count neither"),
        ("pmbench.user_time_per_iteration", "s lower"),
        ("pmbench.average_KBps", "kB/s higher"),
        ("pmbench.tps", "transactions/s higher"),
        ("pmbench.sum_bytes_mb/s", "MB/s higher"),
        ("pmbench.sum_time_ms/op", "ms lower"),
        ("pmbench.microsecs_to_start", "us lower"),
        ("pmbench.set_avg_time_sec", "s lower"),
    ];
    let json = |values: &[(&str, &str)]| {
        let each = values.iter().map(|(name, _)| format!("\"{name}\": 5"));
        format!("{{{}}}", each.collect::<Vec<_>>().join(", "))
    };
    let at = |benchmark: &str| {
        format!("result/{benchmark}/p/host/root/kconfig/gcc-12/0123456789ab/0/stats.json")
    };
    let found = lines(&read_folder("lkp", &[(&at("pmbench"), &json(&values))]));
    assert_eq!(found.len(), values.len());
    for (name, said) in values {
        let name = name
            .replace("%_us_stddev%", "-_us_stddev")
            .replace('/', "-")
            .replace("%.ns", "-.ns");
        let words = format!(" {} {said}: 5", name.trim_end_matches('%'));
        assert!(
            found.iter().any(|line| line.ends_with(&words)),
            "{words} in {found:#?}"
        );
    }
    // The name of the benchmark says nothing of its values; what a rate is counted by isn't the least of something.
    let values = [
        ("vm-scalability.workload", ""),
        ("vm-scalability.jobs_per_min", ""),
        ("vm-scalability.jobs_per_min.instance1", ""),
    ];
    let imported = read_folder("lkp", &[(&at("vm-scalability"), &json(&values))]);
    let metrics = imported.metrics.values().flatten();
    let primary: Vec<&str> = metrics
        .filter(|metric| metric.primary)
        .map(|metric| metric.name.as_str())
        .collect();
    assert_eq!(primary, ["vm-scalability.jobs_per_min"]);
}

#[test]
fn runs_of_lkp_on_the_kernel_that_runs_are_of_its_version() {
    let run = |kernel: &str, number: u32| {
        format!(
            "lkp/result/hackbench/50%-threads/box/ubuntu/defconfig/gcc-11/{kernel}/{number}/stats.json"
        )
    };
    let stats = |value: u32| format!(r#"{{"hackbench.throughput": {value}}}"#);
    let runs = [
        ("5.15.0-91-generic", 0),
        ("5.15.0-91-generic", 1),
        ("6.8.0-31-generic", 0),
    ];
    let files = runs.map(|(kernel, number)| (run(kernel, number), stats(100 + number)));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let found = lines(&read_folder("lkp", &files));
    let cell = "hackbench parameters=50%-threads rootfs=ubuntu kconfig=defconfig compiler=gcc-11";
    assert_eq!(
        found,
        [
            format!("{cell} 5.15.0-91-generic hackbench.throughput count higher: 100 101"),
            format!("{cell} 6.8.0-31-generic hackbench.throughput count higher: 100"),
        ]
    );
}

#[test]
fn loads_of_mmtests_are_kept_apart_and_runs_of_one_are_not() {
    let time = |minutes: u32| {
        format!("1.5user 0.5system {minutes}:00.50elapsed 10%CPU\n0inputs+0outputs\n")
    };
    let syscall = |value: &str| {
        format!(
            "# Executed 5,000,000 getppid() calls\n     Total time: 2.065 [sec]\n\n       {value} usecs/op\n      2,421,115 ops/sec\n"
        )
    };
    let sockperf = |rate: u32| {
        format!(
            "sockperf: Test ended\nsockperf: Summary: Message Rate is {rate} [msg/sec]\nsockperf: Summary: BandWidth is 7.379 MBps (59.035 Mbps)\n"
        )
    };
    let files = [
        ("thpscale", "threads-3.time", time(3)),
        ("thpscale", "threads-12.time", time(12)),
        ("pgbench", "time-1", time(1)),
        ("pgbench", "time-12", time(2)),
        ("sysbench", "time-1-1", time(1)),
        ("sysbench", "time-1-2", time(2)),
        ("sysbench", "time-5-1", time(5)),
        ("blogbench", "blogbench-1.time", time(1)),
        ("blogbench", "blogbench-2.time", time(2)),
        ("perfsyscall", "syscall-1.log", syscall("0.5")),
        ("perfsyscall", "syscall-2.log", syscall("0.25")),
        (
            "sockperf-tcp-throughput",
            "tcp-14-max-1.stdout",
            sockperf(100),
        ),
        (
            "sockperf-tcp-throughput",
            "tcp-14-max-2.stdout",
            sockperf(110),
        ),
    ];
    let files: Vec<(String, String)> = files
        .into_iter()
        .map(|(benchmark, log, text)| (format!("run/iter-0/{benchmark}/logs/{log}"), text))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let all = lines(&read_folder("mmtests", &files));
    let found: Vec<&String> = all
        .iter()
        .filter(|line| !line.contains(" user ") && !line.contains(" system "))
        .collect();
    assert_eq!(
        found,
        [
            "blogbench log=blogbench elapsed s lower: 60.5 120.5",
            "perfsyscall time_per_op us lower: 0.5 0.25",
            "perfsyscall rate ops/s higher: 2421115 2421115",
            "pgbench log=time-1 elapsed s lower: 60.5",
            "pgbench log=time-12 elapsed s lower: 120.5",
            "sockperf-tcp-throughput protocol=tcp rate=max size=14 throughput MiB/s higher: 7.379 7.379",
            "sockperf-tcp-throughput protocol=tcp rate=max size=14 rate messages/s higher: 100 110",
            "sysbench log=time-1 elapsed s lower: 60.5 120.5",
            "sysbench log=time-5 elapsed s lower: 300.5",
            "thpscale log=threads-3 elapsed s lower: 180.5",
            "thpscale log=threads-12 elapsed s lower: 720.5",
        ]
    );
}

#[test]
fn pytest_benchmark_saves_what_the_rounds_came_to() {
    let text = r#"{"machine_info": {"node": "h", "cpu": {"brand": "Old"}}, "benchmarks": [{"name": "test_x[1]", "fullname": "t.py::test_x[1]",
        "params": null, "param": "1", "stats": {"min": 1e-05, "max": 0.3, "mean": 2e-05, "stddev": 5e-06, "rounds": 30, "median": 1.5e-05}}]}"#;
    assert_eq!(
        read("pytest-benchmark", text),
        [
            "test_x file=t.py param=1 time s lower: 0.00002",
            "test_x file=t.py param=1 time-median s lower: 0.000015",
            "test_x file=t.py param=1 time-min s lower: 0.00001",
        ]
    );
    let broken = try_read(
        "pytest-benchmark",
        "x",
        &text.replace("\"mean\"", "\"mode\""),
    )
    .unwrap_err();
    assert!(
        broken.message.contains("neither `stats.data` nor"),
        "{broken}"
    );
}

#[test]
fn google_benchmark_once_said_by_the_name_alone_what_an_entry_is() {
    let entry = |name: &str, time: f64| {
        format!(
            r#"{{"name": "{name}", "iterations": 10, "real_time": {time}, "cpu_time": {time}, "time_unit": "ns"}}"#
        )
    };
    let all = |entries: &[String]| {
        format!(
            r#"{{"context": {{"num_cpus": 2}}, "benchmarks": [{}]}}"#,
            entries.join(", ")
        )
    };
    let of_y = [
        "BM_y/8",
        "BM_y/8",
        "BM_y/8_mean",
        "BM_y/8_median",
        "BM_y/8_stddev",
    ];
    let times = [10.5, 11.5, 11.0, 11.0, 0.5];
    let mut entries: Vec<String> = of_y
        .iter()
        .zip(times)
        .map(|(name, time)| entry(name, time))
        .collect();
    entries.push(entry("own_mean", 3.0));
    entries.push(r#"{"name": "BM_x_BigO", "cpu_coefficient": 0.3, "real_coefficient": 0.3, "big_o": "N", "time_unit": "ns"}"#.to_owned());
    entries.push(r#"{"name": "BM_x_RMS", "rms": 0.03}"#.to_owned());
    let real = |text: &str| {
        let found = read("google-benchmark", text);
        found
            .into_iter()
            .filter(|line| line.contains("real-time"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        real(&all(&entries)),
        [
            "BM_y arg1=8 real-time ns lower: 10.5,11.5",
            "own_mean real-time ns lower: 3"
        ]
    );
    // Without the repetitions the mean is all that there is.
    assert_eq!(
        real(&all(&entries[2..5])),
        ["BM_y arg1=8 real-time ns lower: 11"]
    );
}

const FIO: &str = r#"{"fio version": "fio-2.2.10", "timestamp": TIME, "jobs": [{"jobname": "j", "error": 0, "elapsed": ELAPSED, "read": {"total_ios": 5,
    "bw": 100, "iops": IOPS, "clat": {"mean": 1.5, "percentile": {"99.000000": 4}}, "lat": {"mean": 2.5}}, "write": {"total_ios": 0}}]}"#;

fn fio(time: u32, elapsed: u32, iops: u32) -> String {
    let text = FIO.replace("TIME", &time.to_string());
    text.replace("ELAPSED", &elapsed.to_string())
        .replace("IOPS", &iops.to_string())
}

#[test]
fn fio_reports_among_warnings_of_old_versions_and_of_clients() {
    let text = format!(
        "fio: this is slow {{x}}\nnote: both\n{}\nbye\n",
        fio(1000, 61, 10)
    );
    assert_eq!(
        read("fio", &text),
        [
            "j read-bandwidth B/s higher: 102400",
            "j read-operations ops/s higher: 10",
            "j read-latency ns lower: 2500",
            "j read-latency-p99 ns lower: 4000",
        ]
    );
    let plain = fs::read_to_string(fixture("fio.json")).unwrap();
    let warned = format!("fio: a warning\n{plain}");
    assert_eq!(read("fio", &warned), read("fio", &plain));
    let operations = |text: &str| {
        read("fio", text)
            .into_iter()
            .find(|line| line.contains("operations"))
            .unwrap()
    };
    // Runs that follow each other are trials; of reports of one run the last has it all.
    let runs = [fio(1000, 61, 10), fio(1070, 61, 20)].join("\n");
    assert_eq!(operations(&runs), "j read-operations ops/s higher: 10 20");
    let of_one = [fio(1000, 11, 10), fio(1010, 21, 20), fio(1020, 31, 30)].join("\n");
    assert_eq!(operations(&of_one), "j read-operations ops/s higher: 30");
    let of_clients = fio(1000, 61, 10).replace("\"jobs\"", "\"client_stats\"");
    let job = &of_clients[of_clients.find("[{").unwrap() + 1..of_clients.rfind(']').unwrap()];
    let together = job.replace("\"j\"", "\"All clients\"");
    let of_clients = of_clients.replace(job, &format!("{job}, {job}, {together}"));
    assert_eq!(
        operations(&of_clients),
        "j read-operations ops/s higher: 10,10"
    );
    let cut = try_read(
        "fio",
        "cut.json",
        &format!("warning\n{}", &runs[..runs.len() - 9]),
    )
    .unwrap_err();
    assert!(cut.to_string().contains("this isn't JSON"), "{cut}");
}

#[test]
fn iperf3_tests_follow_each_other_go_both_ways_and_come_as_events() {
    let start = r#"{"version": "iperf 3.17", "system_info": "Linux c 6.1", "timestamp": {"timesecs": 1700000000},
        "test_start": {"protocol": "TCP", "num_streams": 1, "duration": 1, "reverse": 0, "bidir": 1}}"#.replace('\n', " ");
    let interval = r#"{"sum": {"bits_per_second": 100, "omitted": false}}"#;
    let end = r#"{"sum_sent": {"bits_per_second": 105, "retransmits": 3}, "sum_received": {"bits_per_second": 104},
        "sum_received_bidir_reverse": {"bits_per_second": 54}}"#.replace('\n', " ");
    let test = format!(r#"{{"start": {start}, "intervals": [{interval}], "end": {end}}}"#);
    let cell = "iperf3 protocol=TCP streams=1 seconds=1 reverse=false bidir=true";
    let expected = |values: &dyn Fn(u32) -> String| {
        [
            format!("{cell} throughput bit/s higher: {}", values(104)),
            format!("{cell} throughput-reverse bit/s higher: {}", values(54)),
            format!("{cell} retransmits count lower: {}", values(3)),
        ]
    };
    let twice = format!("server listening\n{test}\n{test}\n");
    assert_eq!(
        read("iperf3", &twice),
        expected(&|value| format!("{value} {value}"))
    );
    let events = [
        ("start", start.as_str()),
        ("interval", interval),
        ("end", end.as_str()),
    ];
    let events = events.map(|(event, data)| format!(r#"{{"event": "{event}", "data": {data}}}"#));
    assert_eq!(
        read("iperf3", &events.join("\n")),
        expected(&|value| value.to_string())
    );
    let broken = read("iperf3", &events[..2].join("\n"));
    assert_eq!(broken, [format!("{cell} failed: it has no `end`")]);
    let refused = read("iperf3", r#"{"error": "unable to connect to server"}"#);
    assert_eq!(refused, ["iperf3 failed: unable to connect to server"]);
}

#[test]
fn sysbench_before_version_1_has_rates_and_latencies_too() {
    let head =
        "sysbench 0.4.12:  multi-threaded system evaluation benchmark\n\nNumber of threads: 4\n\n";
    let tail = "Test execution summary:\n    total time:                          63.5s\n    per-request statistics:\n         min:       5.40ms\n         avg:       6.38ms\n         max:    1383.50ms\n         approx.  95 percentile:       6.27ms\n";
    let oltp = "Doing OLTP test.\nOLTP test statistics:\n    transactions:          100    (156.5 per sec.)\n    deadlocks:    0      (0.00 per sec.)\n    read/write requests:     1900 (2973.5 per sec.)\n    other operations:      200  (313.05 per sec.)\n\n";
    assert_eq!(
        read("sysbench", &format!("{head}{oltp}{tail}")),
        [
            "sysbench-oltp threads=4 transactions-per-second /s higher: 156.5",
            "sysbench-oltp threads=4 requests-per-second requests/s higher: 2973.5",
            "sysbench-oltp threads=4 latency-min ms lower: 5.4",
            "sysbench-oltp threads=4 latency-mean ms lower: 6.38",
            "sysbench-oltp threads=4 latency-max ms lower: 1383.5",
            "sysbench-oltp threads=4 latency-p95 ms lower: 6.27",
        ]
    );
    let cpu =
        "Doing CPU performance benchmark\n\nMaximum prime number checked in CPU test: 10000\n\n";
    let found = read("sysbench", &format!("{head}{cpu}{tail}"));
    assert!(
        found.contains(&"sysbench-cpu threads=4 primes=10000 total-time s lower: 63.5".to_owned()),
        "{found:#?}"
    );
}

#[test]
fn memory_of_hyperfine_and_what_profilers_of_jmh_say_are_metrics() {
    let text = r#"{"results": [{"command": "a", "times": [1.5, 2.5], "memory_usage_byte": [100, 110], "exit_codes": [0, 0]}]}"#;
    assert_eq!(
        read("hyperfine", text),
        ["a time s lower: 1.5 2.5", "a memory B lower: 100 110"]
    );
    let text = r#"[{"jmhVersion": "1.36", "benchmark": "x.B.m", "mode": "avgt", "threads": 1, "forks": 1,
        "primaryMetric": {"scoreUnit": "ns/op", "rawData": [[9.5, 10.5]]}, "secondaryMetrics": {
          "·gc.alloc.rate.norm": {"scoreUnit": "B/op", "rawData": [[24, 24]]}, "gc.count": {"scoreUnit": "counts", "rawData": [[1, 2]]},
          "empty": {"scoreUnit": "---", "rawData": [["NaN"]]}}}]"#;
    let imported = try_read("jmh", "x.json", text).unwrap();
    assert_eq!(
        lines(&imported),
        [
            "x.B.m mode=avgt threads=1 time ns lower: 9.5,10.5",
            "x.B.m mode=avgt threads=1 gc.alloc.rate.norm B lower: 24,24",
            "x.B.m mode=avgt threads=1 gc.count count neither: 1,2",
        ]
    );
    let metrics = imported.metrics.values().flatten();
    let primary: Vec<&str> = metrics
        .filter(|metric| metric.primary)
        .map(|metric| metric.name.as_str())
        .collect();
    assert_eq!(primary, ["time"]);
}

#[test]
fn units_of_sysstat_are_known_by_group_and_name() {
    let text = r#"{"sysstat": {"hosts": [{"nodename": "vm", "statistics": [
        {"avg-cpu": {"user": 0.5, "idle": 99.5}, "disk": [{"disk_device": "sda", "r/s": 1, "rareq-sz": 4, "aqu-sz": 0.5, "util": 10}]},
        {"avg-cpu": {"user": 1.5, "idle": 98.5}, "disk": [{"disk_device": "sda", "r/s": 3, "rareq-sz": 4, "aqu-sz": 0.5, "util": 10}]}]}]}}"#;
    let found = read("sysstat", text);
    for words in [
        "avg-cpu.user % neither: 1",
        "disk.r-s /s neither: 2",
        "disk.rareq-sz KiB neither: 4",
        "disk.aqu-sz count neither: 0.5",
        "disk.util % neither: 10",
    ] {
        assert!(
            found.iter().any(|line| line.ends_with(words)),
            "{words} in {found:#?}"
        );
    }
    let text = r#"{"sysstat": {"hosts": [{"nodename": "vm", "statistics": [{"timestamp": {"date": "2024-03-01", "time": "00:10:01", "utc": 1, "interval": 600},
        "psi": {"psi-cpu": {"some_avg10": 1}}, "filesystems": [{"filesystem": "/dev/sda1", "MBfsfree": 5}],
        "power-management": {"cpu-frequency": [{"number": "all", "frequency": 2000}]}}]}]}}"#;
    let found = read("sysstat", text);
    for words in [
        "psi-cpu.some_avg10 % neither: 1",
        "filesystems.MBfsfree MiB neither: 5",
        "cpu-frequency.frequency MHz neither: 2000",
    ] {
        assert!(
            found.iter().any(|line| line.ends_with(words)),
            "{words} in {found:#?}"
        );
    }
}

#[test]
fn netperf_says_meanwhile_how_fast_it_is() {
    let table = "Interim result: 350.5 10^6bits/s over 1.002 seconds ending at 1559149724.219\nInterim result: 360.5 10^6bits/s over 1.001 seconds ending at 1559149725.221\nRecv   Send    Send\nSocket Socket  Message  Elapsed\nSize   Size    Size     Time     Throughput\nbytes  bytes   bytes    secs.    10^6bits/sec\n\n131072  16384  16384    2.00     355.5\n";
    let head = "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to a () port 0 AF_INET : histogram : demo";
    let imported = try_read("netperf", "x", &format!("{head}\n{table}")).unwrap();
    assert_eq!(
        lines(&imported),
        ["TCP_STREAM size=16384 throughput Mbit/s higher: 355.5"]
    );
    let samples = imported.trials[0].outcome.as_ref().unwrap();
    assert_eq!(samples[0].each, [350.5, 360.5]);
    // What the first versions called it is the same test.
    let udp = "UDP UNIDIRECTIONAL SEND TEST from a () port 0 AF_INET to b () port 0 AF_INET\nSocket  Message  Elapsed      Messages\nSize    Size     Time         Okay Errors   Throughput\nbytes   bytes    secs            #      #   10^6bits/sec\n\n229376    1024   10.00     1317101      0    1078.5\n229376           10.00      986842            808.5\n";
    assert_eq!(
        read("netperf", udp),
        [
            "UDP_STREAM size=1024 throughput Mbit/s higher: 1078.5",
            "UDP_STREAM size=1024 throughput-received Mbit/s higher: 808.5",
        ]
    );
}

#[test]
fn runs_that_failed_and_times_below_nothing_are_said() {
    let text = r#"{"results": [{"command": "grep x file", "times": [1.5, -2.5, 1], "exit_codes": [0, 1, null]}]}"#;
    let imported = try_read("hyperfine", "x.json", text).unwrap();
    let said = [
        "runs of `grep x file` that failed, which hyperfine was told to ignore: 2 of 3",
        "kept as they are: 1 time of `time` below 0",
    ];
    assert_eq!(imported.notes, said);
    assert_eq!(
        lines(&imported),
        ["grep-x-file name=grep x file time s lower: 1.5 -2.5 1"]
    );
}

#[test]
fn a_run_of_lkp_without_its_benchmark_failed() {
    let at = |run: u32| {
        format!("result/pmbench/p/host/root/kconfig/gcc-12/0123456789ab/{run}/stats.json")
    };
    let whole = r#"{"pmbench.tps": 5, "time.elapsed_time": 3}"#;
    let incomplete = r#"{"last_state.is_incomplete_run": 1, "time.elapsed_time": 1}"#;
    let (first, second) = (at(0), at(1));
    let found = lines(&read_folder(
        "lkp",
        &[(&first, whole), (&second, incomplete)],
    ));
    let failed = " failed: the run is incomplete: its benchmark has no value";
    let failures = found.iter().filter(|line| line.ends_with(failed));
    assert_eq!(failures.count(), 1, "{found:#?}");
    let elapsed = found.iter().find(|line| line.contains("elapsed_time"));
    assert!(elapsed.unwrap().ends_with(": 3"), "{found:#?}");
}

/// The lines of several files of these contents, named one by one.
fn read_files(format: &str, files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let paths = files.iter().map(|(name, text)| {
        let path: PathBuf = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    });
    let paths: Vec<PathBuf> = paths.collect();
    lines(&import(&importer(format), &paths, &ImportChoices::default()).unwrap())
}

#[test]
fn systems_of_phoronix_in_files_of_their_own_are_variants() {
    let of = |system: &str, version: &str, value: u32| {
        format!(
            "<PhoronixTestSuite><System><Identifier>{system}</Identifier></System><Result><Identifier>pts/x-1.0.0</Identifier><Title>X</Title>\
             <AppVersion>{version}</AppVersion><Scale>Seconds</Scale><Proportion>LIB</Proportion><DisplayFormat>BAR_GRAPH</DisplayFormat><Data><Entry>\
             <Identifier>{system}</Identifier><Value>{value}</Value><RawString>{value}</RawString></Entry></Data></Result></PhoronixTestSuite>"
        )
    };
    let (old, new) = (of("old", "1", 5), of("new", "1", 7));
    let sides = [
        "x profile=pts/x-1.0.0 new Seconds s lower: 7",
        "x profile=pts/x-1.0.0 old Seconds s lower: 5",
    ];
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    assert_eq!(
        sorted(read_files("phoronix", &[("a.xml", &old), ("b.xml", &new)])),
        sides
    );
    let folders = [
        ("old/result/composite.xml", &old[..]),
        ("new/result/composite.xml", &new),
    ];
    assert_eq!(sorted(lines(&read_folder("phoronix", &folders))), sides);
    // Two results of one system are told by their folders; two of one file are its repeats.
    let again = of("old", "1", 6);
    let folders = [
        ("first/composite.xml", &old[..]),
        ("second/composite.xml", &again),
    ];
    assert_eq!(
        lines(&read_folder("phoronix", &folders)),
        [
            "x profile=pts/x-1.0.0 first Seconds s lower: 5",
            "x profile=pts/x-1.0.0 second Seconds s lower: 6",
        ]
    );
    assert_eq!(
        read_files("phoronix", &[("a.xml", &old), ("b.xml", &again)]),
        ["x profile=pts/x-1.0.0 Seconds s lower: 5 6"]
    );
    // Two versions of a program in one file aren't one.
    let (head, _) = old.split_once("<Result>").unwrap();
    let results = [&old, &of("old", "2", 8)].map(|text| {
        let (_, rest) = text.split_once("<Result>").unwrap();
        format!("<Result>{}", rest.replace("</PhoronixTestSuite>", ""))
    });
    assert_eq!(
        read(
            "phoronix",
            &format!("{head}{}</PhoronixTestSuite>", results.concat())
        ),
        [
            "x profile=pts/x-1.0.0 version=1 Seconds s lower: 5",
            "x profile=pts/x-1.0.0 version=2 Seconds s lower: 8",
        ]
    );
}

#[test]
fn runs_of_mmtests_that_have_one_name_in_two_folders_are_two() {
    let time = |seconds: u32| format!("1.0user 0.5system 0:0{seconds}.00elapsed 100%CPU\n");
    let (june, july) = (time(4), time(5));
    let log = |host: &str| format!("log.{host}/config/iter-0/kernbench/logs/time-2");
    let (first, second) = (log("june"), log("july"));
    let files = [(&first[..], &june[..]), (&second, &july)];
    let found = lines(&read_folder("mmtests", &files));
    let elapsed: Vec<&String> = found.iter().filter(|it| it.contains("elapsed")).collect();
    assert_eq!(
        elapsed,
        [
            "kernbench log=time-2 log.july-config elapsed s lower: 5",
            "kernbench log=time-2 log.june-config elapsed s lower: 4",
        ]
    );
}

#[test]
fn what_tells_tests_of_netperf_apart_in_one_file_is_a_parameter() {
    let stream = |to: &str, socket: u32, rate: u32| {
        format!(
            "TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to {to} () port 0 AF_INET\nRecv   Send    Send\nSocket Socket  Message  Elapsed\n\
             Size   Size    Size     Time     Throughput\nbytes  bytes   bytes    secs.    10^6bits/sec\n\n {socket}  {socket}   4096    60.00     {rate}\n"
        )
    };
    let one = stream("10.0.0.2", 57344, 312);
    assert_eq!(
        read(
            "netperf",
            &[&one[..], &stream("10.0.0.2", 57344, 313)].concat()
        ),
        ["TCP_STREAM size=4096 throughput Mbit/s higher: 312 313"]
    );
    assert_eq!(
        read(
            "netperf",
            &[&one[..], &stream("10.0.0.2", 32768, 201)].concat()
        ),
        [
            "TCP_STREAM size=4096 socket_recv=57344 socket_send=57344 throughput Mbit/s higher: 312",
            "TCP_STREAM size=4096 socket_recv=32768 socket_send=32768 throughput Mbit/s higher: 201",
        ]
    );
    assert_eq!(
        read(
            "netperf",
            &[&one[..], &stream("10.0.0.3", 57344, 201)].concat()
        ),
        [
            "TCP_STREAM size=4096 to=10.0.0.2 throughput Mbit/s higher: 312",
            "TCP_STREAM size=4096 to=10.0.0.3 throughput Mbit/s higher: 201",
        ]
    );
    let omni = |burst: u32| {
        format!(
            "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to h () port 0 AF_INET : nodelay : first burst {burst}\n\
             THROUGHPUT=2915{burst}\nTHROUGHPUT_UNITS=Trans/s\nREQUEST_SIZE=1\nRESPONSE_SIZE=1\nPROTOCOL=TCP\n"
        )
    };
    assert_eq!(
        read("netperf", &[omni(0), omni(16)].concat()),
        [
            "TCP_RR protocol=TCP request=1 response=1 throughput transactions/s higher: 29150",
            "TCP_RR protocol=TCP request=1 response=1 burst=16 throughput transactions/s higher: 291516",
        ]
    );
}

#[test]
fn how_busy_the_processors_were_is_read_from_tables_of_netperf() {
    let text = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to h () port 0 AF_INET : first burst 0\n\
        Local /Remote\nSocket Size   Request Resp.  Elapsed Trans.   CPU    CPU    S.dem   S.dem\nSend   Recv   Size    Size   Time    Rate     local  remote local   remote\n\
        bytes  bytes  bytes   bytes  secs.   per sec  % S    % S    us/Tr   us/Tr\n\n16384  87380  1       1      10.00   29150.15 3.11   -1.00   8.541   -1.000\n16384  87380\n\
        MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to h () port 0 AF_INET\nSocket  Message  Elapsed      Messages                   CPU      Service\n\
        Size    Size     Time         Okay Errors   Throughput   Util     Demand\nbytes   bytes    secs            #      #   10^6bits/sec % SS     us/KB\n\n\
        212992   65507   10.00      180123      0     9439.2     12.50    0.868\n212992           10.00      150000            7861.1     10.10    0.842\n\
        MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to h () port 0 AF_INET\nRecv   Send    Send                          Utilization       Service Demand\n\
        Socket Socket  Message  Elapsed              Send     Recv     Send    Recv\nSize   Size    Size     Time     Throughput  local    remote   local   remote\n\
        bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB\n\n 87380  16384  16384    10.00      9412.31   5.12     8.34     0.357   0.580\n";
    let mut found = read("netperf", text);
    found.retain(|line| line.contains(" cpu-"));
    assert_eq!(
        found,
        [
            "TCP_RR request=1 response=1 cpu-local % lower: 3.11",
            "UDP_STREAM size=65507 cpu-local % lower: 12.5",
            "UDP_STREAM size=65507 cpu-remote % lower: 10.1",
            "TCP_STREAM size=16384 cpu-local % lower: 5.12",
            "TCP_STREAM size=16384 cpu-remote % lower: 8.34",
        ]
    );
}

#[test]
fn processors_of_sars_interrupts_are_values_and_columns_of_one_name_are_two() {
    let text = "Linux 6.1.0 (vm) \t11/29/26 \t_x86_64_\t(2 CPU)\n\n\
        00:02:24         INTR       all      CPU0      CPU1\n00:02:25          sum    381.00    251.00    130.00\n00:02:25            9      1.00      1.00      0.00\n\n\
        00:02:24       call/s retrans/s\n00:02:25         4.00      2.00\n\n00:02:24     atmptf/s  estres/s retrans/s\n00:02:25         1.00      0.00     50.00\n";
    let wanted = [
        "sar intr=sum all /s neither: 381",
        "sar intr=sum CPU0 /s neither: 251",
        "sar intr=sum CPU1 /s neither: 130",
        "sar intr=9 CPU1 /s neither: 0",
        "sar net-nfs.retrans-s /s neither: 2",
        "sar net-etcp.retrans-s /s neither: 50",
    ];
    let rows = "# hostname;interval;timestamp;INTR;CPU*\nvm;1;2026-11-29 00:02:25 UTC;sum;381.00;251.00;130.00\nvm;1;2026-11-29 00:02:25 UTC;9;1.00;1.00;0.00\n\
        # hostname;interval;timestamp;call/s;retrans/s\nvm;1;2026-11-29 00:02:25 UTC;4.00;2.00\n\
        # hostname;interval;timestamp;atmptf/s;estres/s;retrans/s\nvm;1;2026-11-29 00:02:25 UTC;1.00;0.00;50.00\n";
    for found in [read("sysstat", text), read("sysstat", rows)] {
        for line in wanted {
            assert!(found.iter().any(|it| it == line), "{line} in {found:#?}");
        }
    }
    // Other languages have other signs in their times.
    let chinese = text
        .replace("00:02:25", "00时02分25秒")
        .replace("00:02:24", "00时02分24秒");
    assert_eq!(read("sysstat", &chinese), read("sysstat", text));
    let serial = r#"{"sysstat": {"hosts": [{"nodename": "vm", "statistics": [{"serial": [{"line": 0, "rcvin": 1.5}, {"line": 1, "rcvin": 101.5}]}]}]}}"#;
    assert_eq!(
        read("sysstat", serial),
        [
            "sar line=0 serial.rcvin /s neither: 1.5",
            "sar line=1 serial.rcvin /s neither: 101.5",
        ]
    );
}

#[test]
fn recordings_of_sysstat_that_lost_something_are_refused_with_the_way_out() {
    let horizontal = "# hostname;interval;timestamp;CPU;%user;%idle[...];proc/s\nvm;1;2026-11-29 00:02:25 UTC;-1;50.25;49.25;0;100.00;0.00;0.00\n";
    let rounded =
        "Linux 6.1.0 (vm)\n\n00:02:24    kbmemfree  %memused\n00:02:25        16.7G      6.3%\n";
    for (text, line, way_out) in [
        (horizontal, "line 1", "without `-h`"),
        (rounded, "line 4", "without `--human`"),
    ] {
        let refused = try_read("sysstat", "x", text).unwrap_err();
        assert_eq!(refused.place, line, "{refused}");
        assert!(
            refused.help.as_ref().unwrap().contains(way_out),
            "{refused:?}"
        );
    }
}

#[test]
fn logs_of_mmtests_that_no_benchmark_of_the_catalogue_reads_are_read_by_their_lines() {
    let files = [
        (
            "stream/logs/stream-1.log",
            "STREAM version $Revision: 5.10 $\nFunction    Best Rate MB/s  Avg time     Min time     Max time\nCopy:           61181.1     0.006728     0.005850     0.006956\nTriad:          68017.9     0.009052     0.007893     0.009437\n",
        ),
        (
            "blogbench/logs/blogbench-1.log",
            "\nFrequency = 10 secs\n\nFinal score for writes:          3626\nFinal score for reads :       1027952\n",
        ),
        (
            "pft/logs/pft-12.log",
            "  19   12   1     0.15s     7.36s     0.65s   42675.223 491786.434\n  19   12   1     0.15s     7.36s     0.65s   42675.5 491786.5\n",
        ),
        (
            "aim9/logs/aim9-1",
            "AIM Independent Resource Benchmark\n     1 page_test           15.00       6357  423.80000       720460.00 System Allocations & Pages/second\n",
        ),
        (
            "paralleldd/logs/log-1-1-1",
            "2744317+1 records in\n2744317+1 records out\n1000 bytes (1.0 kB, 1000 B) copied, 0.5 s, 2.0 kB/s\n",
        ),
        (
            "paralleldd/logs/log-1-1-2",
            "1000 bytes (1.0 kB, 1000 B) copied, 1 s, 1.0 kB/s\n",
        ),
        (
            "paralleldd/logs/log-12-2-1",
            "1000 bytes (1.0 kB, 1000 B) copied, 10 s, 0.1 kB/s\n",
        ),
        (
            "paralleldd/logs/time-12-2-1",
            "1.5user 0.5system 1:00.50elapsed 10%CPU\n",
        ),
        (
            "paralleldd/logs/time-12-2-2",
            "1.5user 0.5system 2:00.50elapsed 10%CPU\n",
        ),
    ];
    let files = files.map(|(name, text)| (format!("run/iter-0/{name}"), text));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), *text))
        .collect();
    assert_eq!(
        lines(&read_folder("mmtests", &files)),
        [
            "aim9 test=page_test rate ops/s higher: 720460",
            "blogbench writes count higher: 3626",
            "blogbench reads count higher: 1027952",
            "paralleldd threads=1 instance=1 rate B/s higher: 2000 1000",
            "paralleldd threads=12 instance=2 rate B/s higher: 100",
            "paralleldd log=time-12-2 elapsed s lower: 60.5 120.5",
            "paralleldd log=time-12-2 user s lower: 1.5 1.5",
            "paralleldd log=time-12-2 system s lower: 0.5 0.5",
            "pft threads=12 faults /s higher: 491786.434 491786.5",
            "pft threads=12 faults_cpu /s higher: 42675.223 42675.5",
            "stream kernel=Copy rate MB/s higher: 61181.1",
            "stream kernel=Triad rate MB/s higher: 68017.9",
        ]
    );
}

#[test]
fn points_of_k6_between_commas_are_those_of_its_json() {
    let path = fixture("k6-points.csv");
    let read = |path: &PathBuf, choices: &ImportChoices| {
        import(&importer("k6"), &[path.to_owned()], choices)
    };
    let imported = read(&path, &ImportChoices::default()).unwrap();
    assert_eq!(
        lines(&imported),
        [
            "k6 checks ratio higher: 1",
            "k6 http_req_blocked ms lower: 589.667",
            "k6 http_req_connecting ms lower: 117.517",
            "k6 http_req_duration ms lower: 114.365",
            "k6 http_req_failed ratio lower: 0",
            "k6 http_req_receiving ms lower: 0.104",
            "k6 http_req_sending ms lower: 0.251",
            "k6 http_req_tls_handshaking ms lower: 415.043",
            "k6 http_req_waiting ms lower: 114.01",
        ]
    );
    // What a metric of one's own is, the file doesn't say.
    let text = fs::read_to_string(&path).unwrap();
    let (_folder, own) = file(
        "own.csv",
        format!("{text}own,1641298536,3.5,,,,,,,,,,,,,,,\nown,1641298537,4.5,,,,,,,,,,,,,,,\n"),
    );
    let imported = read(&own, &ImportChoices::default()).unwrap();
    assert!(!lines(&imported).iter().any(|line| line.contains(" own ")));
    assert!(
        imported.notes.iter().any(|note| note.contains("`own`")),
        "{:?}",
        imported.notes
    );
    // A row that was cut off is refused.
    let (_folder, cut) = file("cut.csv", format!("{text}http_req_duration,164129"));
    let refused = read(&cut, &ImportChoices::default()).unwrap_err();
    assert!(
        refused.to_string().contains("value of `http_req_duration`"),
        "{refused}"
    );
}

#[test]
fn an_analysis_of_phoronix_has_several_tests_in_one_result() {
    let result = |format: &str, scale: &str, values: &str| {
        format!(
            "<PhoronixTestSuite><Result><Identifier>pts/iozone-1.8.0</Identifier><Title>IOzone</Title><Description>Record Size Analysis</Description>\
             <Scale>{scale}</Scale><Proportion>HIB</Proportion><DisplayFormat>{format}</DisplayFormat><Data>\
             <Entry><Identifier>ext4</Identifier><Value>{values}</Value><RawString/></Entry></Data></Result></PhoronixTestSuite>"
        )
    };
    let cell = "iozone profile=pts/iozone-1.8.0 test=Record Size Analysis";
    // As lines where what differs between the tests is numbers, else as bars.
    assert_eq!(
        read(
            "phoronix",
            &result("BAR_ANALYZE_GRAPH", "MB/s | 4KB,64KB,1MB", "10.5,20.5,30.5")
        ),
        [
            format!("{cell} of=4KB MB-s MB/s higher: 10.5"),
            format!("{cell} of=64KB MB-s MB/s higher: 20.5"),
            format!("{cell} of=1MB MB-s MB/s higher: 30.5"),
        ]
    );
    assert_eq!(
        read(
            "phoronix",
            &result("LINE_GRAPH", "MB/s | 1,2,4,8", "1.5,2.5,3.5,4.5")
        )[3],
        format!("{cell} of=8 MB-s MB/s higher: 4.5")
    );
    assert_eq!(
        read(
            "phoronix",
            &result("BAR_ANALYZE_GRAPH", "MB/s | 4KB,64KB,1MB", "10.5,,30.5")
        ),
        [format!("{cell} failed: it has 2 values of 3 tests")]
    );
    // A picture says nothing that is measured, whatever its letters are.
    let picture = result("IMAGE_COMPARISON", "", "iVBORw0KGgofailAAAANSUhEUg");
    let both = picture.replace("</PhoronixTestSuite>", "")
        + &result("BAR_GRAPH", "MB/s", "7").replace("<PhoronixTestSuite>", "");
    assert_eq!(
        read("phoronix", &both),
        [format!("{cell} MB-s MB/s higher: 7")]
    );
}

#[test]
fn criterion_may_have_measured_another_thing_than_time() {
    let benchmark = r#"{"group_id":"Fibonacci","function_id":"Iterative","value_str":null}"#;
    let sample = r#"{"sampling_mode":"Linear","iters":[10.0,20.0],"times":[915.0,1964.0]}"#;
    let raw = |unit: &str| {
        format!(
            "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count\n\
             Fibonacci,Iterative,,,,915,{unit},10\nFibonacci,Iterative,,,,1964,{unit},20\n"
        )
    };
    let of = |raw: Option<String>, choices: &ImportChoices| {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("Fibonacci/Iterative/new");
        fs::create_dir_all(&new).unwrap();
        fs::write(new.join("benchmark.json"), benchmark).unwrap();
        fs::write(new.join("sample.json"), sample).unwrap();
        if let Some(raw) = raw {
            fs::write(new.join("raw.csv"), raw).unwrap();
        }
        let imported = import(&importer("criterion"), &[folder.path().to_owned()], choices);
        lines(&imported.unwrap())
    };
    let usual = ImportChoices::default();
    let cell = "Fibonacci function=Iterative";
    let time = [format!("{cell} time ns lower: 91.5,98.2")];
    assert_eq!(of(None, &usual), time);
    assert_eq!(of(Some(raw("ns")), &usual), time);
    assert_eq!(
        of(Some(raw("cycles")), &usual),
        [format!("{cell} measured cycles lower: 91.5,98.2")]
    );
    // Without that file nothing says it, but whoever measured it can.
    let said = |unit: &str| ImportChoices {
        unit: vec![unit.parse().unwrap()],
        ..ImportChoices::default()
    };
    assert_eq!(
        of(None, &said("time=cycles")),
        [format!("{cell} time cycles lower: 91.5,98.2")]
    );
    assert_eq!(
        of(None, &said("instructions")),
        [format!("{cell} time instructions lower: 91.5,98.2")]
    );
    assert_eq!(
        of(None, &said("time=us")),
        [format!("{cell} time us lower: 0.0915,0.09820000000000001")]
    );
}

#[test]
fn a_decimal_comma_in_phoronix_is_no_second_run() {
    let text = |values: &str| {
        format!(
            "<PhoronixTestSuite><Result><Identifier>pts/a-1.0.0</Identifier><Scale>MB/s</Scale><Proportion>HIB</Proportion>\
             <DisplayFormat>BAR_GRAPH</DisplayFormat><Data><Entry><Identifier>x</Identifier><Value>1</Value>\
             <RawString>{values}</RawString></Entry></Data></Result></PhoronixTestSuite>"
        )
    };
    let refused = try_read("phoronix", "file", &text("12,5:13,5")).unwrap_err();
    assert!(refused.to_string().contains("`12,5` stands"), "{refused}");
    assert_eq!(
        read("phoronix", &text("12.5:13.5")),
        ["a profile=pts/a-1.0.0 MB-s MB/s higher: 12.5 13.5"]
    );
}
