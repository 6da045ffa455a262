//! Forms that tools write in other versions, with other options, or among other text: each as a small made-up file.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_exchange::import::{ImportChoices, ImportError, ImportedStudy, import};
use std::fs;

mod imported;
use imported::{file, fixture, importer, lines};

fn try_read(format: &str, name: &str, text: &str) -> Result<ImportedStudy, ImportError> {
    let (_folder, path) = file(name, text);
    import(&importer(format), &[path], &ImportChoices::default())
}

fn read(format: &str, text: &str) -> Vec<String> {
    lines(&try_read(format, "file", text).unwrap())
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
