//! Results as people have published them: of each, what went wrong once, as a short text.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_exchange::import::{ImportChoices, ImportError, ImportedStudy, import};

mod imported;
use imported::{file, importer, lines};

fn try_read(format: &str, text: impl AsRef<[u8]>) -> Result<ImportedStudy, ImportError> {
    let (_folder, path) = file("file", text);
    import(&importer(format), &[path], &ImportChoices::default())
}

fn read(format: &str, text: &str) -> Vec<String> {
    lines(&try_read(format, text).unwrap())
}

fn netperf_head(kind: &str, rest: &str) -> String {
    format!(
        "MIGRATED {kind} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.{rest} () port 0 AF_INET : demo : first burst 0"
    )
}

#[test]
fn columns_of_netperf_that_were_asked_for_are_known_by_their_names_in_several_lines() {
    let head = netperf_head("TCP REQUEST/RESPONSE", "1");
    let text = format!(
        "{head}\nget_transport_info: getsockopt: errno 92\n\
        Minimum      Mean         Maximum      Stddev       Transaction 50th         99th\n\
        Latency      Latency      Latency      Latency      Rate        Percentile   Percentile\n\
        Microseconds Microseconds Microseconds Microseconds Tran/s      Latency      Latency\n\
        \x20                                                               Microseconds Microseconds\n\n\
        72074        92012.55     190955       12199.53     10.777      91000        109230\n"
    );
    let expected = [
        "TCP_RR throughput transactions/s higher: 10.777",
        "TCP_RR latency-mean us lower: 92012.55",
        "TCP_RR latency-min us lower: 72074",
        "TCP_RR latency-max us lower: 190955",
        "TCP_RR latency-p50 us lower: 91000",
        "TCP_RR latency-p99 us lower: 109230",
        "TCP_RR latency-stddev us lower: 12199.53",
    ];
    assert_eq!(read("netperf", &text), expected);
    let with_unit = format!(
        "{head}\nMinimum      99th         Throughput Throughput\nLatency      Percentile              Units\nMicroseconds Latency\n\
        \x20            Microseconds\n4            28           60085.02   Trans/s\n"
    );
    assert_eq!(
        read("netperf", &with_unit),
        [
            "TCP_RR throughput transactions/s higher: 60085.02",
            "TCP_RR latency-min us lower: 4",
            "TCP_RR latency-p99 us lower: 28",
        ]
    );
    // Two tests below each other are with two hosts.
    let other = with_unit
        .replace("10.0.0.1", "10.0.0.2")
        .replace("60085.02", "85.5    ");
    let both = read("netperf", &[with_unit, other].concat());
    assert_eq!(
        both[0],
        "TCP_RR to=10.0.0.1 throughput transactions/s higher: 60085.02"
    );
    assert_eq!(
        both[3],
        "TCP_RR to=10.0.0.2 throughput transactions/s higher: 85.5"
    );
}

#[test]
fn rows_of_netperf_need_no_throughput_and_the_command_above_them_is_none() {
    let latencies = "Minimum Latency Microseconds,Mean Latency Microseconds";
    let text = format!(
        "$ netperf -H 10.1.2.46 -t TCP_RR -- -o min_latency,mean_latency,transaction_rate\n{}\n{latencies},Transaction Rate Tran/s\n64081,75600.31,13.218\n",
        netperf_head("TCP REQUEST/RESPONSE", "1")
    );
    assert_eq!(
        read("netperf", &text),
        [
            "TCP_RR throughput transactions/s higher: 13.218",
            "TCP_RR latency-mean us lower: 75600.31",
            "TCP_RR latency-min us lower: 64081",
        ]
    );
    // A stream has a rate of transactions too, which says nothing.
    let text = format!(
        "{}\n{latencies},Transaction Rate Tran/s,Throughput,Throughput Units,Local Transport Retransmissions\n0,1.44,1.000,88361.62,10^6bits/s,7\n",
        netperf_head("TCP STREAM", "1")
    );
    assert_eq!(
        read("netperf", &text),
        [
            "TCP_STREAM throughput Mbit/s higher: 88361.62",
            "TCP_STREAM latency-mean us lower: 1.44",
            "TCP_STREAM latency-min us lower: 0",
            "TCP_STREAM retransmits-local count lower: 7",
        ]
    );
}

#[test]
fn where_netperf_says_no_unit_it_is_asked_for() {
    for kind in ["TCP REQUEST/RESPONSE", "TCP STREAM"] {
        let head = netperf_head(kind, "1");
        let names = format!("{head}\nP99_LATENCY=123\nTHROUGHPUT=75.78\n");
        let refused = try_read("netperf", names).unwrap_err();
        assert!(
            refused.message.contains("the unit of `throughput`"),
            "{refused}"
        );
        assert!(refused.help.unwrap().contains("--unit 'throughput=UNIT'"));
    }
}

#[test]
fn what_flent_says_of_sockets_is_no_throughput() {
    let text = r#"{"metadata": {"NAME": "t", "SERIES_META": {"TCP upload::10": {"UNITS": "Mbits/s"}, "TCP upload::10::tcp_rtt": {"RUNNER": "SsRunner"},
        "q::backlog": {"UNITS": "packets"}}}, "x_values": [0.1],
        "results": {"TCP upload": [9.5], "TCP upload::10": [5.5], "TCP upload::10::tcp_rtt": [20.5], "TCP upload::10::tcp_rtt_var": [3.5],
          "TCP upload::10::tcp_cwnd": [10], "TCP upload::10::tcp_delivery_rate": [4.5], "TCP upload::10::tcp_bbr_cwnd_gain": [2],
          "Ping (ms) UDP::tcp_cwnd": [11], "VoIP::bitrate": [73.5], "VoIP::jitter": [0.5], "q::backlog": [4]}}"#;
    assert_eq!(
        read("flent", text),
        [
            "t TCP-upload Mbit/s higher: 9.5",
            "t TCP-upload-10 Mbit/s higher: 5.5",
            "t TCP-upload-10-tcp_rtt ms lower: 20.5",
            "t TCP-upload-10-tcp_rtt_var ms lower: 3.5",
            "t TCP-upload-10-tcp_cwnd packets neither: 10",
            "t TCP-upload-10-tcp_delivery_rate Mbit/s neither: 4.5",
            "t TCP-upload-10-tcp_bbr_cwnd_gain count neither: 2",
            "t Ping-ms-UDP-tcp_cwnd packets neither: 11",
            "t VoIP-bitrate kbit/s neither: 73.5",
            "t VoIP-jitter ms lower: 0.5",
            "t q-backlog packets neither: 4",
        ]
    );
}

#[test]
fn what_google_benchmark_skipped_has_no_result() {
    let json = r#"{"context": {"num_cpus": 4}, "benchmarks": [
        {"name": "BM_a", "run_name": "BM_a", "run_type": "iteration", "iterations": 9, "real_time": 2.5, "cpu_time": 5, "time_unit": "ms"},
        {"name": "BM_b", "run_name": "BM_b", "run_type": "iteration", "skipped": true, "skip_message": "not here", "iterations": 0, "real_time": 0.0, "cpu_time": 0.0, "time_unit": "ns"}]}"#;
    let csv = "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message\n\
        \"BM_a\",9,2.5,5,ms,,,,,\n\"BM_b\",,,,,,,,false,\"not here\"\n";
    for text in [json, csv] {
        assert_eq!(
            read("google-benchmark", text),
            [
                "BM_a real-time ms lower: 2.5",
                "BM_a cpu-time ms lower: 5",
                "BM_b failed: it was skipped: not here",
            ]
        );
    }
}

#[test]
fn throughput_of_iperf3_is_what_was_received_wherever_that_is_said() {
    let test = |protocol: &str, client: &str, each: u64, end: &str| {
        format!(
            r#"{{"start": {{{client}"test_start": {{"protocol": "{protocol}", "reverse": 1}}}},
            "intervals": [{{"sum": {{"bits_per_second": {each}, "omitted": false}}}}], "end": {end}}}"#
        )
    };
    let client = r#""connecting_to": {"host": "a"}, "#;
    // A server that sends isn't told what comes of it; a client is.
    let sent = r#"{"sum_sent": {"bits_per_second": 940}, "sum_received": {"bits_per_second": 0}}"#;
    let server = try_read("iperf3", test("TCP", "", 940, sent)).unwrap();
    let cell = "iperf3 protocol=TCP reverse=true";
    assert_eq!(
        lines(&server),
        [format!("{cell} throughput bit/s higher: 940")]
    );
    assert!(
        server.notes[0].contains("what was sent"),
        "{:?}",
        server.notes
    );
    assert_eq!(
        read("iperf3", &test("TCP", client, 940, sent)),
        [format!("{cell} throughput bit/s higher: 0")]
    );
    // Before version 3.10 there is one sum of datagrams, which is the sender's.
    let lost = r#"{"sum": {"bits_per_second": 2800, "packets": 1000, "lost_packets": 750, "lost_percent": 75}}"#;
    let cell = "iperf3 protocol=UDP reverse=true";
    assert_eq!(
        read("iperf3", &test("UDP", client, 0, lost)),
        [
            format!("{cell} throughput bit/s higher: 700"),
            format!("{cell} loss % lower: 75"),
        ]
    );
    let unknown = r#"{"sum": {"bits_per_second": 0, "packets": 9, "lost_packets": 0}}"#;
    assert_eq!(
        read("iperf3", &test("UDP", client, 104, unknown)),
        [format!("{cell} throughput bit/s higher: 104")]
    );
}

#[test]
fn both_ways_of_iperf3_under_one_name_are_refused() {
    let text = r#"{"start": {}, "intervals": [], "end": {"sum_received": {"bits_per_second": 5}, "sum_received": {"bits_per_second": 1}}}"#;
    let refused = try_read("iperf3", text).unwrap_err();
    assert_eq!(refused.message, "`sum_received` stands twice in one object");
    assert!(refused.help.unwrap().contains("--reverse"));
    let once = text.replace(r#", "sum_received": {"bits_per_second": 1}"#, "");
    assert_eq!(read("iperf3", &once), ["iperf3 throughput bit/s higher: 5"]);
}

#[test]
fn parameters_that_only_the_name_of_a_pytest_benchmark_has_are_kept_apart() {
    let text = r#"{"machine_info": {}, "benchmarks": [
        {"name": "test_x[0]", "fullname": "t.py::test_x[0]", "group": null, "stats": {"data": [1]}},
        {"name": "test_x[1-a]", "fullname": "t.py::test_x[1-a]", "params": null, "stats": {"data": [9]}},
        {"name": "test_y", "fullname": "t.py::test_y", "params": null, "param": null, "stats": {"data": [5]}}]}"#;
    assert_eq!(
        read("pytest-benchmark", text),
        [
            "test_x file=t.py param=0 time s lower: 1",
            "test_x file=t.py param=1-a time s lower: 9",
            "test_y file=t.py time s lower: 5",
        ]
    );
}

/// The events of `go test -json` that write these lines.
fn go_events(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    let event = |line: &str| {
        let line = line.replace('\t', "\\t").replace('\n', "\\n");
        format!("{{\"Action\":\"output\",\"Package\":\"a/b\",\"Output\":\"{line}\"}}\n")
    };
    lines.map(event).collect()
}

#[test]
fn benchmarks_of_go_that_failed_are_failed_trials_by_their_names() {
    // Failures are told before what says the package.
    let text = "--- FAIL: BenchmarkBad/n=3\n    x_test.go:9: boom\ngoos: linux\npkg: a/b\nBenchmarkOk-8   \t10\t5 ns/op\n\
        BenchmarkNone-8 \t       0\t         0 ns/op\nBenchmarkPanics-8 \tpanic: oh\n\ngoroutine 7 [running]:\nexit status 2\nFAIL\ta/b\t0.01s\nFAIL\n";
    let expected = [
        "Bad pkg=a/b n=3 failed: x_test.go:9: boom",
        "Ok pkg=a/b procs=8 time ns lower: 5",
        "None pkg=a/b procs=8 failed: it ran no iteration: it failed or was skipped",
        "Panics pkg=a/b procs=8 failed: panic: oh",
    ];
    assert_eq!(read("go", text), expected);
    assert_eq!(read("go", &go_events(text)), expected);
    let host = &try_read("go", text).unwrap().hosts[0];
    assert_eq!(host["goos"], "linux");
    // With -v a name stands in a line of its own.
    let text = "=== RUN   BenchmarkPanics\nBenchmarkPanics\npanic: oh\nFAIL\ta/b\t0.01s\n";
    let expected = ["Panics pkg=a/b failed: panic: oh"];
    assert_eq!(read("go", text), expected);
    assert_eq!(read("go", &go_events(text)), expected);
    // Where no benchmark says that it failed, all of the package's did.
    let text =
        "pkg: a/a\nBenchmarkOk-8 \t10\t5 ns/op\nok  \ta/a\t0.01s\nFAIL\ta/b [build failed]\n";
    assert_eq!(
        read("go", text),
        [
            "Ok pkg=a/a procs=8 time ns lower: 5",
            "a-b pkg=a/b name=a/b failed: [build failed]",
        ]
    );
    // Tests alone are no benchmarks.
    let tests = "--- FAIL: TestA (0.00s)\nFAIL\ta/b\t0.01s\n";
    for text in [tests, &go_events(tests)] {
        assert!(try_read("go", text).is_err());
    }
}

#[test]
fn rows_of_sysstat_may_begin_with_a_start_and_name_usb_devices() {
    let text = "vm;-1;2018-08-29 09:33:38 UTC;LINUX-RESTART\t(8 CPU)\n# hostname;interval;timestamp;FAN;DEVICE;rpm;drpm\n\
        vm;46;2018-08-29 09:34:34 UTC;1;isa;1283.00;1283.00\nvm;-1;2018-08-29 09:35:38 UTC;LINUX-RESTART\t(8 CPU)\n\
        # hostname;interval;timestamp;manufact;product;BUS;idvendor;idprod;maxpower\nvm;22;2018-08-29 09:36:49 UTC;3;5e3;608;200;;USB2.0 Hub\n\
        # hostname;interval;timestamp;BAT;%cap;cap/min;status\nvm;22;2018-08-29 09:36:49 UTC;0;83.0;-3.85;Full\n";
    assert_eq!(
        read("sysstat", text),
        [
            "sar device=isa fan=1 rpm count neither: 1283",
            "sar device=isa fan=1 drpm count neither: 1283",
            "sar bus=3 idprod=608 idvendor=5e3 product=USB2.0 Hub maxpower count neither: 200",
            "sar bat=0 cap % neither: 83",
            "sar bat=0 cap-min % neither: -3.85",
        ]
    );
}

#[test]
fn what_sysstat_counts_in_json_is_no_rate() {
    let text = r#"{"sysstat": {"hosts": [{"nodename": "vm", "statistics": [{"network": {"softnet": [{"cpu": "all", "total": 1.5, "blg_len": 7}]},
        "power-management": {"battery": [{"number": 0, "percent-capacity": 83, "variation": -3.85, "status": "Full"}]}}]}]}}"#;
    let found = read("sysstat", text);
    for line in [
        "sar cpu=all softnet.total /s neither: 1.5",
        "sar cpu=all softnet.blg_len count neither: 7",
        "sar number=0 battery.variation % neither: -3.85",
    ] {
        assert!(found.iter().any(|it| it == line), "{line} in {found:#?}");
    }
}

#[test]
fn colours_of_sar_are_no_part_of_its_numbers() {
    let plain = "Linux 6.1.0 (vm) \t11/29/26 \t_x86_64_\t(2 CPU)\n\n13:20:09        CPU     %user     %idle\n13:20:19          0      2.71     94.14\n";
    let coloured = plain
        .replace("    0  ", " \x1b[32;22m   0\x1b[0m  ")
        .replace("2.71", "\x1b[34;1m2.71\x1b[0m")
        .replace("94.14", "\x1b[31;1m 94.14\x1b[0m");
    assert!(coloured.contains('\x1b'));
    let expected = [
        "sar cpu=0 user % neither: 2.71",
        "sar cpu=0 idle % neither: 94.14",
    ];
    for text in [plain, &coloured] {
        assert_eq!(read("sysstat", text), expected);
    }
}

#[test]
fn fio_that_counts_no_operations_has_results_where_bytes_were_moved() {
    let text = r#"{"fio version": "fio-2.1.4", "jobs": [{"jobname": "j", "error": 0, "read": {"io_bytes": 0, "bw": 0, "iops": 0},
        "write": {"io_bytes": 361984, "bw": 68118, "iops": 133, "runtime": 5314, "lat": {"mean": 478737.5}}}]}"#;
    assert_eq!(
        read("fio", text),
        [
            "j write-bandwidth B/s higher: 69752832",
            "j write-operations ops/s higher: 133",
            "j write-latency ns lower: 478737500",
        ]
    );
}

#[test]
fn block_sizes_and_intervals_of_sysbench_before_version_1_are_read() {
    let run = |size: &str, rate: &str| {
        format!(
            "sysbench 0.4.12:  multi-threaded system evaluation benchmark\n\nNumber of threads: 1\nExtra file open flags: 0\nBlock size {size}\nDoing random r/w test\n    {rate} Requests/sec executed\n\nTest execution summary:\n"
        )
    };
    let text = [
        run("16Kb", "3.33"),
        run("4Kb", "11.11"),
        run("1Mb", "2.22"),
        run("16KiB", "3.5"),
    ];
    let cell = |size: &str| format!("sysbench-fileio threads=1 mode=random r/w block-size={size}");
    assert_eq!(
        read("sysbench", &text.concat()),
        [
            format!(
                "{} requests-per-second requests/s higher: 3.33 3.5",
                cell("16KiB")
            ),
            format!(
                "{} requests-per-second requests/s higher: 11.11",
                cell("4KiB")
            ),
            format!(
                "{} requests-per-second requests/s higher: 2.22",
                cell("1MiB")
            ),
        ]
    );
    let oltp = "sysbench 0.5:  multi-threaded system evaluation benchmark\n\n[   2s] threads: 1, tps: 685.94, reads: 6859.89, writes: 0.00, response time: 1.83ms (95%)\n\
        [   4s] threads: 1, tps: 779.50, reads: 7795.51, writes: 0.00, response time: 1.32ms (95%)\nOLTP test statistics:\n    transactions:      37863  (742.41 per sec.)\n\nGeneral statistics:\n";
    let imported = try_read("sysbench", oltp).unwrap();
    assert_eq!(
        lines(&imported),
        ["sysbench-oltp transactions-per-second /s higher: 742.41"]
    );
    let samples = &imported.trials[0].outcome.as_ref().unwrap()[0];
    assert_eq!(samples.each, [685.94, 779.5]);
}

fn phoronix(scale: &str, rest: &str, raw: &str) -> String {
    let result = format!(
        "<Result><Identifier>pts/x-1.0.0</Identifier><Title>x</Title><Scale>{scale}</Scale>{rest}\
         <Data><Entry><Identifier>a</Identifier><Value>2</Value><RawString>{raw}</RawString></Entry></Data></Result>"
    );
    format!(
        "<PhoronixTestSuite><System><Identifier>a</Identifier></System>{result}</PhoronixTestSuite>"
    )
}

#[test]
fn scales_of_phoronix_are_units_however_they_are_written() {
    let higher = "<Proportion>HIB</Proportion><DisplayFormat>BAR_GRAPH</DisplayFormat>";
    for (scale, said) in [
        ("Minutes", "Seconds s higher: 120"),
        ("Hours", "Seconds s higher: 7200"),
        ("Milli-Seconds", "Milli-Seconds ms higher: 2"),
        ("Microseconds Per Op", "Microseconds-Per-Op us higher: 2"),
        ("Average Latency ms", "Average-Latency-ms ms higher: 2"),
        ("Mbits/sec", "Mbits-sec Mbit/s higher: 2"),
        ("MB/sec", "MB-sec MB/s higher: 2"),
        ("MiB/sec", "MiB-sec MiB/s higher: 2"),
        (
            "Transactions Per Second",
            "Transactions-Per-Second transactions/s higher: 2",
        ),
        ("bogo ops/s", "bogo-ops-s bogo-ops/s higher: 2"),
        ("Frames Per Second", "Frames-Per-Second /s higher: 2"),
        // A time of neither, a rate of nobody knows how many, and a mark.
        ("Ns Per Day", "Ns-Per-Day count higher: 2"),
        ("M samples/sec", "M-samples-sec count higher: 2"),
        ("Score", "Score count higher: 2"),
    ] {
        let found = read("phoronix", &phoronix(scale, higher, "2"));
        assert_eq!(found, [format!("x profile=pts/x-1.0.0 {said}")]);
    }
}

#[test]
fn every_line_graph_of_phoronix_is_a_series_of_one_run() {
    for format in ["LINE_GRAPH", "FILLED_LINE_GRAPH"] {
        let rest = format!("<Proportion></Proportion><DisplayFormat>{format}</DisplayFormat>");
        let imported =
            try_read("phoronix", phoronix("Milliseconds", &rest, "17,16,18,21")).unwrap();
        assert_eq!(
            lines(&imported),
            ["x profile=pts/x-1.0.0 Milliseconds ms neither: 18"]
        );
        let samples = &imported.trials[0].outcome.as_ref().unwrap()[0];
        assert_eq!(samples.each, [17.0, 16.0, 18.0, 21.0]);
    }
}

#[test]
fn a_run_of_lkp_out_of_its_folder_is_known_by_its_names() {
    let text = r#"{"time.elapsed_time": 93.5, "will-it-scale.per_process_ops": 300541, "will-it-scale.time.elapsed_time": 93.5, "a.ops": 5}"#;
    assert_eq!(
        read("lkp", text),
        [
            "will-it-scale time.elapsed_time count neither: 93.5",
            "will-it-scale will-it-scale.per_process_ops ops/s higher: 300541",
            "will-it-scale will-it-scale.time.elapsed_time count neither: 93.5",
            "will-it-scale a.ops count neither: 5",
        ]
    );
    let text = r#"{"vmstat.cpu.id": 5.5, "hackbench.throughput": 101}"#;
    assert_eq!(
        read("lkp", text)[1],
        "hackbench hackbench.throughput count higher: 101"
    );
    // Of two that it may be it is neither.
    let text = r#"{"a.throughput": 5.5, "b.throughput": 101}"#;
    assert_eq!(read("lkp", text)[0], "lkp a.throughput count neither: 5.5");
}

#[test]
fn numbers_in_utf_16_are_refused_with_the_way_out() {
    let wide = "\u{feff}BenchmarkA 1 5 ns/op\n".encode_utf16();
    let bytes: Vec<u8> = wide.flat_map(u16::to_be_bytes).collect();
    let refused = try_read("go", bytes).unwrap_err();
    assert!(refused.message.contains("UTF-16"), "{refused}");
    assert!(refused.help.unwrap().contains("iconv"));
}

#[test]
fn every_time_unit_of_jmh_is_known_and_scores_that_are_no_numbers_are_missing() {
    let jmh = |mode: &str, unit: &str, raw: &str| {
        format!(
            r#"[{{"jmhVersion": "1.36", "benchmark": "a.B.c", "mode": "{mode}", "threads": 1,
            "primaryMetric": {{"score": 1.0, "scoreUnit": "{unit}", "rawData": {raw}}}, "secondaryMetrics": {{}}}}]"#
        )
    };
    for (mode, unit, raw, said) in [
        (
            "thrpt",
            "ops/min",
            "[[60, 120]]",
            "throughput ops/s higher: 1,2",
        ),
        ("thrpt", "ops/hr", "[[3600]]", "throughput ops/s higher: 1"),
        (
            "thrpt",
            "ops/day",
            "[[864]]",
            "throughput ops/s higher: 0.01",
        ),
        ("avgt", "hr/op", "[[0.5]]", "time s lower: 1800"),
        ("avgt", "day/op", "[[2]]", "time s lower: 172800"),
        (
            "avgt",
            "ms/op",
            r#"[["NaN", 1.5], [2]]"#,
            "time ms lower: 1.5 2",
        ),
    ] {
        let cell = format!("a.B.c mode={mode} threads=1");
        assert_eq!(
            read("jmh", &jmh(mode, unit, raw)),
            [format!("{cell} {said}")]
        );
    }
    let some = try_read("jmh", jmh("avgt", "ms/op", r#"[["NaN", 1.5]]"#)).unwrap();
    assert!(some.notes[0].contains("no number"), "{:?}", some.notes);
    assert_eq!(
        read("jmh", &jmh("avgt", "ms/op", r#"[["NaN"]]"#)),
        ["a.B.c mode=avgt threads=1 failed: the score of no iteration is a number"]
    );
    let refused = try_read("jmh", jmh("thrpt", "ops/week", "[[1]]")).unwrap_err();
    assert!(
        refused.message.contains("`scoreUnit` is `ops/week`"),
        "{refused}"
    );
}

#[test]
fn the_first_version_of_asvs_files_is_refused_with_the_way_out() {
    let text = r#"{"version": 1, "commit_hash": "b96fcc53", "results": {"time_x": 1.5}, "params": {"machine": "m"}}"#;
    let refused = try_read("asv", text).unwrap_err();
    assert!(refused.message.contains("`asv update`"), "{refused}");
}

#[test]
fn a_package_of_go_that_fails_after_very_many_lines_is_read() {
    let lines = "BenchmarkOk-8 \t10\t5 ns/op\n".repeat(10_000);
    let found = read("go", &format!("pkg: a/b\n{lines}FAIL\ta/b\t0.01s\n"));
    assert!(found[0].starts_with("Ok pkg=a/b procs=8 time ns lower: 5,5"));
    assert_eq!(found[1..], ["a-b pkg=a/b name=a/b failed: 0.01s"]);
}
