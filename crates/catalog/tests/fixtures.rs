//! Every definition against what its real program printed: the values stand here as a person reads them in
//! the recorded output.

use backsight_catalog::{Catalog, ExtractionError, TrialSamplesError};
use backsight_model::{
    BenchmarkName, Ending, HostName, MetricSamples, OutputSource, Phase, ResourceUsage, StepOutput,
    StepRecord,
};
use std::{collections::BTreeSet, fs, path::PathBuf};

type Expected = (&'static str, f64, &'static [f64]);

struct Case {
    benchmark: &'static str,
    output: &'static str,
    samples: &'static [Expected],
}

const fn case(benchmark: &'static str, output: &'static str, samples: &'static [Expected]) -> Case {
    Case {
        benchmark,
        output,
        samples,
    }
}

/// What the programs printed when all went well.
const GOOD: &[Case] = &[
    case(
        "iperf3-tcp",
        "one-stream.json",
        &[
            (
                "throughput",
                17496173168.99066,
                &[15296643224.250776, 18664782963.407726, 18581213053.221226],
            ),
            ("retransmits", 4.0, &[0.0, 4.0, 0.0]),
            ("client_cpu", 22.209477307852094, &[]),
            ("server_cpu", 76.51513813458244, &[]),
        ],
    ),
    case(
        "iperf3-tcp",
        "four-streams.json",
        &[
            (
                "throughput",
                16166051588.150639,
                &[15187387823.832832, 17918235088.7766, 15797051490.27736],
            ),
            ("retransmits", 26.0, &[2.0, 12.0, 12.0]),
            ("client_cpu", 33.80033400447003, &[]),
            ("server_cpu", 67.0314740358421, &[]),
        ],
    ),
    // The receiver doesn't count what the sender sends again while it goes on.
    case(
        "iperf3-tcp",
        "reverse.json",
        &[
            (
                "throughput",
                16565223086.194574,
                &[16347105128.3089, 15431458910.448793, 17917671176.14606],
            ),
            ("retransmits", 10.0, &[]),
            ("client_cpu", 68.0174389599767, &[]),
            ("server_cpu", 30.2602499105084, &[]),
        ],
    ),
    // The second that was omitted is no sample.
    case(
        "iperf3-tcp",
        "omit.json",
        &[
            (
                "throughput",
                17372722778.114185,
                &[16293664836.79398, 18455324808.12395],
            ),
            ("retransmits", 0.0, &[0.0, 0.0]),
            ("client_cpu", 21.6264162909432, &[]),
            ("server_cpu", 76.42120630836176, &[]),
        ],
    ),
    case(
        "iperf3-udp",
        "one-stream.json",
        &[
            (
                "throughput",
                99966250.54245913,
                &[99913090.78909, 100004469.33515039, 99994589.95578746],
            ),
            ("loss", 0.0, &[0.0, 0.0, 0.0]),
            ("sent", 99970682.2421838, &[]),
            (
                "jitter",
                0.007694277470731614,
                &[
                    0.007264296614908828,
                    0.007060975082781195,
                    0.007694277470731614,
                ],
            ),
        ],
    ),
    case(
        "iperf3-udp",
        "two-streams.json",
        &[
            (
                "throughput",
                99948041.35174078,
                &[99912995.51463836, 99995787.9766799],
            ),
            ("loss", 0.0, &[0.0, 0.0]),
            ("sent", 99953488.2558196, &[]),
            (
                "jitter",
                0.0098264438543251,
                &[0.010184428702295755, 0.0098264438543251],
            ),
        ],
    ),
    case(
        "iperf3-udp",
        "reverse.json",
        &[
            (
                "throughput",
                99960379.4857693,
                &[99917092.48014335, 100003670.60521187],
            ),
            ("loss", 0.0, &[0.0, 0.0]),
            ("sent", 99955531.8242631, &[]),
            (
                "jitter",
                0.006870154040033916,
                &[0.007891855974985016, 0.006870154040033916],
            ),
        ],
    ),
    case(
        "iperf3-udp",
        "overload.json",
        &[
            (
                "throughput",
                781534896.8132268,
                &[782593287.1295155, 780534385.563136],
            ),
            (
                "loss",
                50.82359715166578,
                &[48.5268683667172, 52.930081800590976],
            ),
            ("sent", 1589346042.558638, &[]),
            (
                "jitter",
                0.007646326093342827,
                &[0.010177222899679835, 0.007646326093342827],
            ),
        ],
    ),
    case(
        "ping-rtt",
        "plain.txt",
        &[
            (
                "rtt",
                0.040,
                &[
                    0.030, 0.038, 0.045, 0.043, 0.045, 0.040, 0.038, 0.036, 0.044, 0.036, 0.042,
                    0.035, 0.042, 0.043, 0.042, 0.041, 0.039, 0.042, 0.045, 0.046,
                ],
            ),
            ("rtt_min", 0.030, &[]),
            ("rtt_max", 0.046, &[]),
            ("loss", 0.0, &[]),
        ],
    ),
    case(
        "ping-rtt",
        "large.txt",
        &[
            (
                "rtt",
                0.042,
                &[
                    0.031, 0.041, 0.041, 0.041, 0.037, 0.041, 0.044, 0.049, 0.050, 0.050,
                ],
            ),
            ("rtt_min", 0.031, &[]),
            ("rtt_max", 0.050, &[]),
            ("loss", 0.0, &[]),
        ],
    ),
    case(
        "ping-rtt",
        "lossy.txt",
        &[
            (
                "rtt",
                0.062,
                &[
                    0.234, 0.039, 0.050, 0.044, 0.038, 0.040, 0.040, 0.038, 0.037,
                ],
            ),
            ("rtt_min", 0.037, &[]),
            ("rtt_max", 0.234, &[]),
            ("loss", 25.0, &[]),
        ],
    ),
    case(
        "sockperf",
        "udp.txt",
        &[
            ("rtt", 15.137, &[]),
            ("rtt_p50", 14.972, &[]),
            ("rtt_p99", 20.119, &[]),
            ("rtt_p999", 69.653, &[]),
            ("rate", 102176.0 / 1.550, &[]),
            ("dropped", 0.0, &[]),
        ],
    ),
    case(
        "sockperf",
        "tcp.txt",
        &[
            ("rtt", 17.752, &[]),
            ("rtt_p50", 17.285, &[]),
            ("rtt_p99", 22.383, &[]),
            ("rtt_p999", 72.617, &[]),
            ("rate", 87169.0 / 1.550, &[]),
            ("dropped", 0.0, &[]),
        ],
    ),
    case(
        "sockperf-load",
        "plain.txt",
        &[
            ("rtt", 317.498, &[]),
            ("rtt_p50", 51.646, &[]),
            ("rtt_p99", 6122.906, &[]),
            ("sent", 10003.0 / 2.000, &[]),
            ("dropped", 0.0, &[]),
        ],
    ),
    case(
        "sockperf-load",
        "dropped.txt",
        &[
            ("rtt", 779.419, &[]),
            ("rtt_p50", 27.42, &[]),
            ("rtt_p99", 9865.387, &[]),
            ("sent", 40010.0 / 2.000, &[]),
            ("dropped", 124.0, &[]),
        ],
    ),
    case(
        "nuttcp",
        "one-stream.txt",
        &[
            ("throughput", 13513.1535, &[13609.0188, 13691.5250]),
            ("retransmits", 0.0, &[0.0, 0.0]),
            ("transmitter_cpu", 26.0, &[]),
            ("receiver_cpu", 71.0, &[]),
        ],
    ),
    // With several streams it doesn't count retransmissions.
    case(
        "nuttcp",
        "four-streams.txt",
        &[
            ("throughput", 13772.8121, &[14115.1961]),
            ("transmitter_cpu", 50.0, &[]),
            ("receiver_cpu", 47.0, &[]),
        ],
    ),
    case(
        "nuttcp",
        "reverse.txt",
        &[
            (
                "throughput",
                15648.0663,
                &[15446.1251, 17067.6886, 14434.3620],
            ),
            ("retransmits", 0.0, &[0.0, 0.0, 0.0]),
            ("transmitter_cpu", 23.0, &[]),
            ("receiver_cpu", 74.0, &[]),
        ],
    ),
    case(
        "tbench",
        "one.txt",
        &[("throughput", 259.198, &[]), ("max_latency", 5.179, &[])],
    ),
    case(
        "tbench",
        "four.txt",
        &[("throughput", 335.442, &[]), ("max_latency", 5.397, &[])],
    ),
    case("hackbench", "processes.txt", &[("time", 2.886, &[])]),
    case("hackbench", "threads-pipe.txt", &[("time", 0.839, &[])]),
    case(
        "perf-sched-pipe",
        "processes.txt",
        &[("time_per_op", 8.253930, &[]), ("rate", 121154.0, &[])],
    ),
    case(
        "perf-sched-pipe",
        "threads.txt",
        &[("time_per_op", 5.396940, &[]), ("rate", 185290.0, &[])],
    ),
    case(
        "perf-sched-messaging",
        "processes.txt",
        &[("time", 0.831, &[])],
    ),
    case(
        "perf-sched-messaging",
        "threads-pipe.txt",
        &[("time", 0.294, &[])],
    ),
    case(
        "perf-syscall",
        "getppid.txt",
        &[("time_per_op", 0.239688, &[]), ("rate", 4172095.0, &[])],
    ),
    case("perf-futex", "hash.txt", &[("rate", 1082880.0, &[])]),
    case("perf-futex", "lock-pi.txt", &[("rate", 4021.0, &[])]),
    case(
        "perf-futex-wake",
        "wake.txt",
        &[(
            "time",
            860.1,
            &[
                980.0, 880.0, 835.0, 874.0, 806.0, 839.0, 823.0, 880.0, 787.0, 897.0,
            ],
        )],
    ),
    case(
        "perf-futex-wake",
        "wake-parallel.txt",
        &[(
            "time",
            9.9,
            &[57.2, 5.3, 4.8, 4.3, 8.3, 4.0, 3.7, 4.6, 4.2, 2.5],
        )],
    ),
    case(
        "perf-futex-wake",
        "requeue.txt",
        &[(
            "time",
            59.8,
            &[55.0, 51.0, 50.0, 90.0, 53.0, 65.0, 63.0, 58.0, 47.0, 66.0],
        )],
    ),
    case(
        "sysbench-cpu",
        "one-thread.txt",
        &[
            ("rate", 2743.04, &[2637.90, 2665.50, 2927.71]),
            ("latency_p99", 4.33, &[]),
        ],
    ),
    case(
        "sysbench-cpu",
        "two-threads.txt",
        &[
            ("rate", 1144.27, &[1085.14, 1204.57]),
            ("latency_p99", 12.75, &[]),
        ],
    ),
    case(
        "sysbench-memory",
        "write.txt",
        &[("throughput", 17979.91, &[13502.04, 14951.90])],
    ),
    case(
        "sysbench-memory",
        "read-random.txt",
        &[("throughput", 2064.98, &[2140.86, 2150.01])],
    ),
    case(
        "sysbench-threads",
        "eight.txt",
        &[
            ("rate", 19731.0 / 3.0010, &[6207.95, 7526.26, 5985.34]),
            ("latency_p99", 4.65, &[]),
        ],
    ),
    case(
        "sysbench-threads",
        "two.txt",
        &[
            ("rate", 2102.0 / 2.0028, &[1049.28, 1050.15]),
            ("latency_p99", 5.57, &[]),
        ],
    ),
    case("sysbench-mutex", "eight.txt", &[("time", 1.7085, &[])]),
    case("sysbench-mutex", "one-lock.txt", &[("time", 0.5063, &[])]),
    case(
        "fio-randread",
        "direct.json",
        &[
            ("iops", 69745.127436, &[71300.0, 70504.0, 67390.0, 70110.0]),
            ("throughput", 285706746.0, &[]),
            ("latency", 228951.139237, &[]),
            ("latency_p99", 296960.0, &[]),
        ],
    ),
    // The log has each job's own rate: 16308 + 18290 in the first half second.
    case(
        "fio-randread",
        "two-jobs-buffered.json",
        &[
            ("iops", 36100.449775, &[34598.0, 37012.0, 48003.0, 25008.0]),
            ("throughput", 147867442.0, &[]),
            ("latency", 54240.860321, &[]),
            ("latency_p99", 144384.0, &[]),
        ],
    ),
    case(
        "fio-randwrite",
        "direct.json",
        &[
            ("iops", 37857.71343, &[38296.0, 39322.0, 45028.0, 29086.0]),
            ("throughput", 155095868.0, &[]),
            ("latency", 422847.798191, &[]),
            ("latency_p99", 3883008.0, &[]),
        ],
    ),
    case(
        "fio-seqread",
        "direct.json",
        &[
            ("iops", 2404.297851, &[2460.0, 2334.0, 2328.0, 2507.0]),
            ("throughput", 2522661101.0, &[]),
            ("latency", 1661734.051516, &[]),
            ("latency_p99", 5799936.0, &[]),
        ],
    ),
    case(
        "stress-ng",
        "cpu.txt",
        &[("rate", 1202.08, &[]), ("rate_cpu", 1712.83, &[])],
    ),
    case(
        "stress-ng",
        "pipe.txt",
        &[("rate", 394418.58, &[]), ("rate_cpu", 550070.57, &[])],
    ),
    case(
        "openssl-speed",
        "aes.txt",
        &[("throughput", 2757967872.0, &[])],
    ),
    case(
        "openssl-speed",
        "sha256-two.txt",
        &[("throughput", 1207042048.0, &[])],
    ),
    case(
        "redis-benchmark",
        "get.txt",
        &[
            ("rate", 52410.90, &[40988.1, 59064.0, 57288.0]),
            ("latency", 0.628, &[]),
            ("latency_p50", 0.567, &[]),
            ("latency_p99", 3.591, &[]),
        ],
    ),
    case(
        "redis-benchmark",
        "set-pipelined.txt",
        &[
            ("rate", 557880.06, &[527177.9, 595520.0]),
            ("latency", 1.222, &[]),
            ("latency_p50", 0.471, &[]),
            ("latency_p99", 8.111, &[]),
        ],
    ),
    // What the system counted, not what was printed: see USAGE.
    case(
        "compile",
        "thirty.txt",
        &[("wall", 7.25, &[]), ("user", 11.5, &[]), ("sys", 2.75, &[])],
    ),
];

/// What the programs printed when something was wrong, most of them with status 0: the metric that is
/// missed first, and what the message must say.
const BAD: &[(&str, &str, &str, &str)] = &[
    (
        "iperf3-tcp",
        "refused.json",
        "throughput",
        "unable to connect to server: Connection refused",
    ),
    (
        "iperf3-tcp",
        "busy.json",
        "throughput",
        "the server is busy running a test. try again later",
    ),
    (
        "iperf3-tcp",
        "server-died.json",
        "throughput",
        "the server has terminated",
    ),
    (
        "ping-rtt",
        "unreachable.txt",
        "rtt",
        "Destination Host Unreachable",
    ),
    (
        "ping-rtt",
        "no-answer.txt",
        "rtt",
        "3 packets transmitted, 0 received",
    ),
    (
        "sockperf",
        "refused.txt",
        "rtt",
        "(errno=111 Connection refused)",
    ),
    ("sockperf", "no-server.txt", "rtt", "Is the server down?"),
    (
        "tbench",
        "refused.txt",
        "throughput",
        "-1 of 1 processes prepared for launch",
    ),
    (
        "tbench",
        "one-second.txt",
        "throughput",
        "Throughput 0 MB/sec",
    ),
    (
        "stress-ng",
        "skipped.txt",
        "rate",
        "rdrand stressor will be skipped",
    ),
    (
        "openssl-speed",
        "unknown.txt",
        "throughput",
        "nothing was printed",
    ),
];

/// What suites printed, and how many tests failed, passed, were skipped and didn't run. Of some only a part is here: whole scripts of
/// git, of kselftest's timers the lines that are results, of zlib, zstd, openssl and postgresql a few
/// results with the lines around them, of strace the results and their summary.
const SUITES: &[(&str, &str, [f64; 4])] = &[
    ("zlib", "make-test.txt", [0.0, 3.0, 0.0, 0.0]),
    ("zstd", "tests.txt", [0.0, 13.0, 0.0, 0.0]),
    ("git", "two-scripts.tap", [0.0, 7.0, 8.0, 0.0]),
    ("openssl", "recipes.txt", [1.0, 12.0, 3.0, 0.0]),
    ("kselftest", "size.txt", [0.0, 2.0, 0.0, 0.0]),
    ("kselftest", "sync.txt", [0.0, 0.0, 1.0, 0.0]),
    ("kselftest", "timers.txt", [0.0, 21.0, 12.0, 0.0]),
    ("go-test", "uuid.json", [0.0, 3.0, 1.0, 0.0]),
    ("pytest", "toolz.jsonl", [0.0, 3.0, 0.0, 0.0]),
    ("cargo-test", "itoa.txt", [0.0, 12.0, 0.0, 0.0]),
    ("nextest", "two-programs.json", [2.0, 1.0, 1.0, 0.0]),
    ("postgresql", "first-group.txt", [0.0, 23.0, 0.0, 0.0]),
    ("strace", "access.txt", [0.0, 3.0, 4.0, 0.0]),
];

const USAGE: ResourceUsage = ResourceUsage {
    wall: 7.25,
    user: 11.5,
    sys: 2.75,
    maxrss: 12_345_678,
    voluntary_switches: 0,
    involuntary_switches: 0,
};

fn name(text: &str) -> BenchmarkName {
    BenchmarkName::new(text).expect("a name")
}

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn step(source: &OutputSource, stdout: Vec<u8>) -> StepRecord {
    StepRecord {
        role: source.role.clone(),
        host: HostName::new("here").expect("a name"),
        phase: source.phase,
        number: 0,
        command: String::new(),
        spawned: false,
        monitor: None,
        began: jiff::Timestamp::UNIX_EPOCH,
        began_monotonic: 0,
        ending: Ending::Exit(0),
        usage: USAGE,
        stdout: StepOutput {
            printed: stdout.len() as u64,
            bytes: stdout,
        },
        stderr: StepOutput::default(),
    }
}

/// The samples of a benchmark whose steps printed this file.
fn samples(
    catalog: &Catalog,
    benchmark: &str,
    output: &str,
) -> Result<Vec<MetricSamples>, TrialSamplesError> {
    let definition = catalog
        .find(&name(benchmark))
        .expect(benchmark)
        .expect(benchmark);
    let sources: Vec<&OutputSource> = definition
        .benchmark
        .metrics
        .values()
        .map(|metric| &metric.from)
        .collect();
    assert!(
        sources.iter().all(|source| *source == sources[0]),
        "{benchmark}: one recording, one source"
    );
    let text = fs::read(fixtures().join(benchmark).join(output)).expect(output);
    let (samples, _) = catalog.samples(&name(benchmark), &[step(sources[0], text)])?;
    Ok(samples)
}

#[test]
fn every_recorded_output_of_a_suite_yields_its_tests() {
    let catalog = Catalog::load(&[]).unwrap();
    for (suite, output, counts) in SUITES {
        let definition = catalog.find(&name(suite)).unwrap().expect(suite);
        let results = definition.benchmark.results.as_ref().expect(suite);
        let text = fs::read(fixtures().join(suite).join(output)).expect(output);
        let ran = OutputSource {
            phase: Phase::Run,
            ..results.from.clone()
        };
        let mut steps = vec![step(&results.from, text)];
        if results.from != ran {
            steps.insert(0, step(&ran, Vec::new()));
        }
        let (samples, run) = catalog.samples(&name(suite), &steps).expect(output);
        let run = run.expect(suite);
        assert_eq!(
            (run.complete, &run.problems[..]),
            (true, &[][..]),
            "{suite}/{output}"
        );
        let found = ["failed", "passed", "skipped", "notrun"].map(|metric| {
            let found = samples
                .iter()
                .find(|sample| sample.metric.as_str() == metric);
            found.expect(metric).values[0]
        });
        assert_eq!(found, *counts, "{suite}/{output}: {:?}", run.results);
    }
}

#[test]
fn every_recorded_output_yields_what_a_person_reads_in_it() {
    let catalog = Catalog::load(&[]).unwrap();
    for Case {
        benchmark,
        output,
        samples: expected,
    } in GOOD
    {
        let found = samples(&catalog, benchmark, output)
            .unwrap_or_else(|e| panic!("{benchmark}/{output}: {e}"));
        let found: Vec<(&str, &[f64], &[f64])> = found
            .iter()
            .map(|s| (s.metric.as_str(), &s.values[..], &s.each[..]))
            .collect();
        assert_eq!(
            found.len(),
            expected.len(),
            "{benchmark}/{output}: {found:?}"
        );
        for ((metric, values, each), (expected_metric, value, expected_each)) in
            found.iter().zip(*expected)
        {
            let place = format!("{benchmark}/{output} {metric}");
            assert_eq!(metric, expected_metric, "{place}");
            assert_eq!(values.len(), 1, "{place}");
            close(values[0], *value, &place);
            assert_eq!(each.len(), expected_each.len(), "{place}: {each:?}");
            each.iter()
                .zip(*expected_each)
                .for_each(|(found, expected)| close(*found, *expected, &place));
        }
    }
}

/// Equal but for the rounding of a conversion between units.
fn close(found: f64, expected: f64, place: &str) {
    assert!(
        (found - expected).abs() <= expected.abs() * 1e-12,
        "{place}: {found} instead of {expected}"
    );
}

#[test]
fn outputs_of_runs_that_went_wrong_are_errors_that_say_why() {
    let catalog = Catalog::load(&[]).unwrap();
    for (benchmark, output, metric, message) in BAD {
        match samples(&catalog, benchmark, output) {
            Err(TrialSamplesError::Metric(error)) => {
                assert_eq!(error.metric.as_str(), *metric, "{benchmark}/{output}");
                assert!(
                    matches!(
                        error.fault,
                        ExtractionError::Nothing | ExtractionError::Program(_)
                    ),
                    "{error}"
                );
                assert!(
                    error.to_string().contains(message),
                    "{benchmark}/{output}: {error}"
                );
                assert!(
                    !error.to_string().contains(|c: char| c.is_control()),
                    "{error}"
                );
            }
            other => panic!("{benchmark}/{output}: {other:?}"),
        }
    }
}

#[test]
fn every_definition_has_a_recording_and_every_recording_is_checked() {
    let catalog = Catalog::load(&[]).unwrap();
    let checked: BTreeSet<String> = GOOD
        .iter()
        .map(|case| (case.benchmark, case.output))
        .chain(
            BAD.iter()
                .map(|(benchmark, output, ..)| (*benchmark, *output)),
        )
        .chain(SUITES.iter().map(|(suite, output, _)| (*suite, *output)))
        .map(|(benchmark, output)| format!("{benchmark}/{output}"))
        .collect();
    let mut recorded = BTreeSet::new();
    for folder in fs::read_dir(fixtures()).unwrap() {
        let folder = folder.unwrap();
        for file in fs::read_dir(folder.path()).unwrap() {
            let place = (folder.file_name(), file.unwrap().file_name());
            recorded.insert(format!("{}/{}", place.0.display(), place.1.display()));
        }
    }
    assert_eq!(checked, recorded);
    for benchmark in catalog.names() {
        let suites = SUITES.iter().map(|(suite, ..)| *suite);
        let mut recorded = GOOD.iter().map(|case| case.benchmark).chain(suites);
        let good = recorded.any(|name| name == benchmark.as_str());
        assert!(good, "no recorded output of {benchmark}");
    }
}

#[test]
fn every_definition_explains_itself() {
    let catalog = Catalog::load(&[]).unwrap();
    for benchmark in catalog.names() {
        let definition = catalog.find(&benchmark).unwrap().unwrap();
        let benchmark = &definition.benchmark;
        assert!(!benchmark.about.is_empty(), "{}", benchmark.name);
        assert!(benchmark.needs.contains_key("debian"), "{}", benchmark.name);
        assert!(
            benchmark.version.is_some() && benchmark.timeout.is_some(),
            "{}",
            benchmark.name
        );
        assert!(
            benchmark
                .roles
                .iter()
                .any(|role| benchmark.programs_of(role).next().is_some()),
            "{}",
            benchmark.name
        );
        let explained = benchmark.params.values().map(|param| &param.about);
        let mut explained = explained.chain(benchmark.metrics.values().map(|metric| &metric.about));
        assert!(
            explained.all(|about| !about.is_empty()),
            "{}",
            benchmark.name
        );
    }
}
