//! Files that real tools wrote, read by the importers that come with the program; what isn't one of them; and studies
//! that go out and come back.
//!
//! `fixtures` has short runs of the tools themselves where they could be had (hyperfine, Criterion, Google Benchmark,
//! pytest-benchmark, JMH, Go, fio, iperf3, sysbench, asv), with nothing changed but what they say about the machine, and files in
//! the documented form of the others.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_exchange::{
    export::{ExportFormat, export},
    import::{
        ImportChoice, ImportChoices, ImportError, ImportFormat, ImportedStudy, Importer,
        MeasuredLevel, import,
    },
    table::TableOutput,
};
use backsight_model::{
    Better, Cell, CellSeries, Failure, ParamName, ResultSet, StudyState, TrialSamples, Unit, Value,
};
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

mod imported;
use imported::{file, fixture, importer, lines};

/// Every importer, compiled once.
static ALL: LazyLock<Vec<Importer>> = LazyLock::new(|| {
    let all = ImportFormat::all().unwrap();
    all.iter()
        .map(|described| importer(&described.name))
        .collect()
});

fn of_all(format: &str) -> &'static Importer {
    ALL.iter()
        .find(|importer| importer.format.name == format)
        .unwrap()
}

fn better(choices: &[&str]) -> ImportChoices {
    ImportChoices {
        better: choices.iter().map(|text| text.parse().unwrap()).collect(),
        ..ImportChoices::default()
    }
}

fn import_fixture(format: &str, files: &[&str], choices: &ImportChoices) -> ImportedStudy {
    let files: Vec<PathBuf> = files.iter().map(|name| fixture(name)).collect();
    import(&importer(format), &files, choices).unwrap()
}

fn refused(format: &str, file: &Path, choices: &ImportChoices) -> ImportError {
    import(&importer(format), &[file.to_owned()], choices).unwrap_err()
}

#[test]
fn hyperfine_has_a_trial_a_run() {
    let imported = import_fixture("hyperfine", &["hyperfine.json"], &ImportChoices::default());
    assert_eq!(imported.trials.len(), 20);
    assert_eq!(
        lines(&imported)[0],
        "sleep-0.02 n=1 name=sleep 0.02 time s lower: 0.02147013 0.022082368 0.024047965 0.023872756000000002 0.023959514"
    );
    let cell = &imported.cells[0];
    assert_eq!(cell.params["n"], Value::Integer(1));
    assert_eq!(cell.params["name"], Value::Text("sleep 0.02".into()));
    // Rounds go through the cells, and every trial knows its file.
    assert_eq!((imported.trials[1].cell, imported.trials[1].round), (1, 1));
    assert!(imported.trials.iter().all(|trial| trial.files == [0]));
    let kept = fs::read(fixture("hyperfine.json")).unwrap();
    assert_eq!(imported.files[0].content, kept);
}

#[test]
fn criterion_has_a_file_a_trial_and_leaves_the_run_before_alone() {
    let imported = import_fixture("criterion", &["criterion"], &ImportChoices::default());
    let said = lines(&imported);
    assert_eq!(said.len(), 3, "{said:#?}");
    assert_eq!(imported.trials.len(), 3, "samples are of one process");
    let sample: serde_json::Value = serde_json::from_slice(
        &fs::read(fixture("criterion/sum/it_er/100/new/sample.json")).unwrap(),
    )
    .unwrap();
    let first = sample["times"][0].as_f64().unwrap() / sample["iters"][0].as_f64().unwrap();
    let beginning = format!("sum function=it/er value=100 time ns lower: {first},");
    assert!(said[2].starts_with(&beginning), "{beginning}\n{}", said[2]);
    assert!(
        said[0].starts_with("plain-one name=plain one time ns lower: "),
        "{}",
        said[0]
    );
    // Both the samples and what says what they are of were kept.
    let of_first = &imported.trials[0].files;
    assert!(imported.files[of_first[1]].path.ends_with("benchmark.json"));
    // The first releases had a list in place of an object.
    let old = import_fixture("criterion", &["criterion-0.2"], &ImportChoices::default());
    let ratio = 3_625_237.0 / 1_201_096.0;
    let beginning = format!("sum value=10 time ns lower: {ratio},");
    assert!(lines(&old)[0].starts_with(&beginning), "{:?}", lines(&old));
    let messages = lines(&import_fixture(
        "criterion",
        &["criterion-messages.json"],
        &ImportChoices::default(),
    ));
    let named: Vec<&str> = messages
        .iter()
        .map(|line| line.split(" time ").next().unwrap())
        .collect();
    assert_eq!(
        named,
        [
            "plain",
            "grp-with-slash function=sum value=10 name=grp/with slash",
            "grp-with-slash value=10 name=grp/with slash",
            "grp-with-slash function=sum value=200 name=grp/with slash",
            "grp-with-slash value=200 name=grp/with slash",
            "flat function=a",
        ]
    );
    let ratio = 4_225_449.0 / 4_463_224.0;
    let beginning = format!("plain time ns lower: {ratio},");
    assert!(messages[0].starts_with(&beginning), "{}", messages[0]);
    // One benchmark's file is as good as the folder.
    let one = import_fixture(
        "criterion",
        &["criterion/sum/it_er/100/new/sample.json"],
        &ImportChoices::default(),
    );
    assert_eq!(lines(&one)[0], said[2]);
}

#[test]
fn google_benchmark_has_repetitions_of_one_process_and_no_means() {
    let imported = import_fixture(
        "google-benchmark",
        &["google-benchmark.json"],
        &better(&["foo=lower"]),
    );
    assert_eq!(
        lines(&imported),
        [
            "BM_Fill arg1=8 real-time ns lower: 3.794987092198547,3.7761038884705536,4.053999898623788",
            "BM_Fill arg1=8 cpu-time ns lower: 2.592444052704984,2.5148756605754192,2.5480747509715105",
            "BM_Fill arg1=8 bytes_per_second B/s higher: 3085891088.6245413,3181071782.359829,3139625317.879635",
            "BM_Items real-time us lower: 0.00031118354796607776,0.0002791156294503823,0.00028782884907724326",
            "BM_Items cpu-time us lower: 0.00030990701718322945,0.0002790396489244079,0.0002873771126912699",
            "BM_Items foo count lower: 3,3,3",
            "BM_Items items_per_second /s higher: 3226774305.045051,3583720105.2059126,3479748232.679556",
            "BM_Bad failed: no such device",
        ]
    );
    assert_eq!(imported.hosts[0]["cpus"], "2");
}

#[test]
fn a_table_of_hyperfine_has_the_means_of_its_commands() {
    let imported = import_fixture("hyperfine", &["hyperfine.csv"], &ImportChoices::default());
    let said = lines(&imported);
    assert_eq!(said[0], "true time s lower: 0.002323875");
    assert_eq!(said[1], "true time-median s lower: 0.0007097550000000001");
    assert_eq!(said.len(), 12, "{said:#?}");
    let quoted = &imported.cells[1].params["name"];
    assert_eq!(*quoted, Value::Text("echo a, \"b\"".into()));
    let about = &imported.metrics[&imported.cells[0].benchmark][0].about;
    assert_eq!(about, "elapsed time of a run, the mean of its runs");
    let with_params = import_fixture(
        "hyperfine",
        &["hyperfine-params.csv"],
        &ImportChoices::default(),
    );
    assert_eq!(
        with_params.cells[0].params["size"],
        Value::Integer(10),
        "{:?}",
        with_params.cells
    );
    // Before 1.6 there was no median, and before 1.8 the parameter had no name.
    let old = lines(&import_fixture(
        "hyperfine",
        &["hyperfine-1.5.csv"],
        &ImportChoices::default(),
    ));
    assert_eq!(
        old[0],
        "sleep-0.01 name=sleep 0.01 time s lower: 0.01124503997"
    );
    for fixture in ["hyperfine-1.7.csv", "hyperfine-1.7.json"] {
        let imported = import_fixture("hyperfine", &[fixture], &ImportChoices::default());
        let cell = &imported.cells[0];
        assert_eq!(cell.params["parameter"], Value::Integer(1), "{fixture}");
    }
    let (_folder, path) = file(
        "broken.csv",
        "command,mean,stddev,median,user,system,min,max\ntrue,1,0,1,0,0,1,1\nfalse,fast,0,1,0,0,1,1\n",
    );
    let broken = refused("hyperfine", &path, &ImportChoices::default());
    assert_eq!(
        (broken.place.as_str(), broken.message.as_str()),
        ("line 3", "`mean` is `fast`, not a number")
    );
    let (_folder, path) = file("other.csv", "command,median\ntrue,1\n");
    let other = refused("hyperfine", &path, &ImportChoices::default());
    assert!(other.message.contains("expected"), "{other}");
}

#[test]
fn a_table_of_google_benchmark_has_its_repetitions_or_else_the_means() {
    let choices = better(&["widgets=lower"]);
    let imported = import_fixture("google-benchmark", &["google-benchmark.csv"], &choices);
    assert_eq!(
        lines(&imported),
        [
            "BM_Sum arg1=8 real-time ns lower: 10.7183,14.1567,13.6833",
            "BM_Sum arg1=8 cpu-time ns lower: 3.3446,3.33183,3.27288",
            "BM_Sum arg1=8 bytes_per_second B/s higher: 19135300000,19208600000,19554600000",
            "BM_Sum arg1=8 widgets count lower: 3,3,3",
            "BM_Sum arg1=64 real-time ns lower: 119.461,139.673,103.318",
            "BM_Sum arg1=64 cpu-time ns lower: 26.4592,31.6065,22.7482",
            "BM_Sum arg1=64 bytes_per_second B/s higher: 19350500000,16199200000,22507200000",
            "BM_Sum arg1=64 widgets count lower: 3,3,3",
            "BM_Fails failed: no, \"not\" today",
        ]
    );
    let means = import_fixture(
        "google-benchmark",
        &["google-benchmark-aggregates.csv"],
        &choices,
    );
    assert_eq!(
        lines(&means)[..2],
        [
            "BM_Sum arg1=8 real-time ns lower: 11.0267",
            "BM_Sum arg1=8 cpu-time ns lower: 3.26309",
        ]
    );
    assert_eq!(means.cells.len(), 3, "{:?}", means.cells);
    let json = import_fixture(
        "google-benchmark",
        &["google-benchmark-aggregates.json"],
        &choices,
    );
    let said = lines(&json);
    assert_eq!(
        said[0],
        "BM_Sum arg1=8 real-time ns lower: 14.634621672097838"
    );
    assert_eq!(json.cells.len(), 3, "{said:#?}");
    for imported in [&means, &json] {
        let about = &imported.metrics[&imported.cells[0].benchmark][0].about;
        assert_eq!(
            about,
            "elapsed time of an iteration, the mean of 3 repetitions"
        );
    }
}

#[test]
fn a_benchmark_that_is_called_like_a_mean_is_none() {
    let table = "name,iterations,real_time,cpu_time,time_unit\n\
        BM_running_mean,10,5,4,ns\nBM_running_mean_mean,1,5,4,ns\nBM_running_mean_median,1,5,4,ns\n\
        BM_running_mean_stddev,1,0,0,ns\nBM_running_mean_cv,1,0,0,ns\n";
    let (_folder, path) = file("means.csv", table);
    let imported = import(
        &importer("google-benchmark"),
        &[path],
        &ImportChoices::default(),
    )
    .unwrap();
    assert_eq!(
        lines(&imported),
        [
            "BM_running_mean real-time ns lower: 5",
            "BM_running_mean cpu-time ns lower: 4"
        ]
    );
}

#[test]
fn sysbench_has_a_run_a_trial() {
    let of_sysbench = |name: &str| {
        let imported = import_fixture(
            "sysbench",
            &[&format!("sysbench/{name}.txt")],
            &ImportChoices::default(),
        );
        assert_eq!(imported.hosts[0]["sysbench"], "1.0.20");
        lines(&imported)
    };
    let cpu = of_sysbench("cpu");
    let cell = "sysbench-cpu threads=1 primes=10000";
    assert!(
        cpu[0].starts_with(&format!("{cell} events-per-second /s higher: 1042.1 ")),
        "{cpu:#?}"
    );
    assert_eq!(
        cpu[0].matches(' ').count(),
        7,
        "two runs, two trials: {cpu:#?}"
    );
    assert!(
        cpu.iter()
            .any(|line| line.starts_with(&format!("{cell} latency-p95 ms lower: 8.28 ")))
    );
    assert_eq!(
        cpu.last().unwrap(),
        "sysbench-fileio threads=1 mode=random r/w block-size=16KiB failed: \
         FATAL: Cannot open file 'test_file.0' errno = 2 (No such file or directory)"
    );
    let memory = of_sysbench("memory");
    let cell = "sysbench-memory threads=1 block-size=1KiB operation=write scope=global";
    assert_eq!(
        memory[..2],
        [
            format!("{cell} operations-per-second ops/s higher: 1667396.94"),
            format!("{cell} transferred MiB/s higher: 1628.32"),
        ]
    );
    let fileio = of_sysbench("fileio");
    let cell = "sysbench-fileio threads=1 mode=random r/w block-size=16KiB";
    assert_eq!(
        fileio[..5],
        [
            format!("{cell} reads-per-second /s higher: 2400.59"),
            format!("{cell} writes-per-second /s higher: 1600.39"),
            format!("{cell} fsyncs-per-second /s higher: 160.53"),
            format!("{cell} read MiB/s higher: 37.51"),
            format!("{cell} written MiB/s higher: 25.01"),
        ]
    );
    assert!(
        of_sysbench("threads")
            .contains(&"sysbench threads=1 latency-mean ms lower: 2.09".to_owned())
    );
    assert!(
        of_sysbench("mutex").contains(&"sysbench threads=1 total-time s lower: 0.6038".to_owned())
    );
    let oltp = of_sysbench("oltp");
    assert_eq!(
        oltp[..2],
        [
            "sysbench-oltp threads=1 transactions-per-second /s higher: 432.81",
            "sysbench-oltp threads=1 queries-per-second /s higher: 8656.22",
        ]
    );
    let within = import_fixture("sysbench", &["sysbench/cpu.txt"], &ImportChoices::default());
    let first = within.trials[0].outcome.as_ref().unwrap();
    assert_eq!(first[0].each, [1020.93]);
}

#[test]
fn pytest_benchmark_has_a_file_a_trial() {
    let imported = import_fixture(
        "pytest-benchmark",
        &["pytest-benchmark.json"],
        &ImportChoices::default(),
    );
    let rounds = [
        3.4450004022801294e-07,
        1.6530011635040864e-07,
        1.5919995348667727e-07,
        1.5219993656501175e-07,
        1.5019995771581308e-07,
    ]
    .map(|seconds: f64| seconds.to_string());
    assert_eq!(
        lines(&imported)[0],
        format!(
            "test_sum file=test_x.py n=10 time s lower: {}",
            rounds.join(",")
        )
    );
    assert_eq!(imported.cells[1].params["n"], Value::Integer(100));
    assert_eq!(imported.trials.len(), imported.cells.len());
    // Files that are given together are runs of one study, in one session unless it is said.
    let files = ["pytest-benchmark.json"; 3];
    let runs = import_fixture("pytest-benchmark", &files, &ImportChoices::default());
    let of_first = runs.trials.iter().filter(|trial| trial.cell == 0);
    let of_first: Vec<(u32, u32)> = of_first.map(|t| (t.round, t.session)).collect();
    assert_eq!(of_first, [(1, 1), (2, 1), (3, 1)]);
    let apart = ImportChoices {
        sessions: true,
        ..ImportChoices::default()
    };
    let apart = import_fixture("pytest-benchmark", &files, &apart);
    assert!(
        apart
            .trials
            .iter()
            .all(|trial| trial.session == trial.round)
    );
    // Who knows better says so.
    let each = ImportChoices {
        level: Some(MeasuredLevel::Run),
        ..ImportChoices::default()
    };
    let each = import_fixture("pytest-benchmark", &files[..1], &each);
    assert_eq!(lines(&each)[0], lines(&imported)[0].replace(',', " "));
    assert_eq!(imported.hosts[0]["cpu"], "AMD EPYC");
}

/// Files of pytest-benchmark of these hosts, each measured at a time of 24 November.
fn of_hosts(files: &[(&str, &str)]) -> ImportedStudy {
    let folder = tempfile::tempdir().unwrap();
    let files = files.iter().enumerate().map(|(number, (host, at))| {
        let path = folder.path().join(format!("{number}.json"));
        let at = match *at {
            "" => String::new(),
            at => format!(r#""datetime": "2026-11-24T{at}","#),
        };
        let host = match *host {
            "" => String::new(),
            host => format!(r#""node": "{host}", "#),
        };
        let content = format!(
            r#"{{"machine_info": {{{host}"machine": "of {number}"}}, {at}
                "benchmarks": [{{"name": "a", "fullname": "t.py::a", "stats": {{"data": [1, 2]}}}}]}}"#
        );
        fs::write(&path, content).unwrap();
        path
    });
    let files: Vec<PathBuf> = files.collect();
    import(
        &importer("pytest-benchmark"),
        &files,
        &ImportChoices::default(),
    )
    .unwrap()
}

#[test]
fn a_trial_is_of_the_host_that_its_file_names() {
    let imported = of_hosts(&[("b", ""), ("a", ""), ("b", "")]);
    let hosts: Vec<&str> = imported.hosts.keys().map(|host| host.as_str()).collect();
    assert_eq!(hosts, ["b", "a"]);
    assert_eq!(imported.hosts[0]["machine"], "of 0, then of 2");
    assert_eq!(imported.hosts[1]["machine"], "of 1");
    let of: Vec<u32> = imported.trials.iter().map(|trial| trial.host).collect();
    assert_eq!(of, [1, 2, 1]);
    // Where one file doesn't say it, nobody knows how many hosts there are.
    let partly = of_hosts(&[("b", ""), ("", "")]);
    assert!(partly.trials.iter().all(|trial| trial.host == 0));
    let nobody = of_hosts(&[("", "")]);
    assert_eq!(nobody.hosts.keys().next().unwrap().as_str(), "elsewhere");
}

#[test]
fn files_that_say_times_more_than_an_hour_apart_are_of_sessions_of_their_own() {
    let sessions = |files: &[(&str, &str)]| -> Vec<u32> {
        let imported = of_hosts(files);
        imported.trials.iter().map(|trial| trial.session).collect()
    };
    // In the order of their times, whatever the order of the files.
    let apart = [
        ("a", "15:00:00"),
        ("a", "08:30:00.25+00:00"),
        ("a", "09:30:00"),
        ("a", "16:30:00+02:00"),
    ];
    assert_eq!(sessions(&apart), [2, 1, 1, 2]);
    let note =
        "files that say times more than an hour apart are of sessions of their own: 2 sessions";
    assert_eq!(of_hosts(&apart).notes, [note]);
    // Hosts are measured at their own times.
    let hosts = [
        ("a", "08:00:00"),
        ("b", "08:50:00"),
        ("a", "09:40:00"),
        ("b", "09:45:00"),
    ];
    assert_eq!(sessions(&hosts), [1, 3, 2, 3]);
    // One that doesn't say it may be of any.
    assert_eq!(sessions(&[("a", "08:00:00"), ("a", "")]), [1, 1]);
    assert_eq!(sessions(&[("a", "08:00:00"), ("a", "soon")]), [1, 1]);
    assert!(
        of_hosts(&[("a", "08:00:00"), ("a", "08:20:00")])
            .notes
            .is_empty()
    );
}

#[test]
fn times_are_read_as_tools_write_them() {
    let at = |format: &str, name: &str, content: &dyn Fn(u32) -> String| {
        let files = [(0, file(name, content(0))), (1, file(name, content(1)))];
        let paths: Vec<PathBuf> = files.iter().map(|(_, (_, path))| path.clone()).collect();
        let imported = import(&importer(format), &paths, &ImportChoices::default()).unwrap();
        let sessions = imported.trials.iter().map(|trial| trial.session);
        sessions.max().unwrap()
    };
    let google = |date: &'static [&str; 2]| {
        move |number: u32| {
            let date = date[number as usize];
            format!(
                r#"{{"context": {{"date": "{date}", "host_name": "a"}}, "benchmarks": [
                    {{"name": "x", "run_name": "x", "run_type": "iteration", "iterations": 1, "real_time": 1, "cpu_time": 1, "time_unit": "ns"}}]}}"#
            )
        }
    };
    const LATE: &[&str; 2] = &["2026-11-24T10:41:22+02:00", "2026-11-24T10:41:22+00:00"];
    assert_eq!(at("google-benchmark", "g.json", &google(LATE)), 2);
    const OLD: &[&str; 2] = &["2016/08/02-11:22:33", "2016/08/02-12:22:33"];
    assert_eq!(at("google-benchmark", "g.json", &google(OLD)), 1);
    let fio = |number: u32| {
        let at = 1_700_000_000 + 4000 * number;
        format!(
            r#"{{"fio version": "fio-3.33", "timestamp": {at}, "jobs": [{{"jobname": "j", "error": 0,
                "read": {{"total_ios": 1, "bw_bytes": 5, "iops": 1}}}}]}}"#
        )
    };
    assert_eq!(at("fio", "f.json", &fio), 2);
    let iperf3 = |number: u32| {
        let at = 1_700_000_000 + 4000 * number;
        format!(
            r#"{{"start": {{"timestamp": {{"timesecs": {at}}}, "system_info": "Linux wire 6.1"}}, "intervals": [],
                "end": {{"sum": {{"bits_per_second": 5}}}}}}"#
        )
    };
    assert_eq!(at("iperf3", "i.json", &iperf3), 2);
}

#[test]
fn a_table_says_of_which_host_its_rows_are() {
    let table = "host,trial,round,benchmark,value,better,unit\na,1,1,x,1,lower,s\na,2,2,x,2,lower,s\n\
                 b,1,1,x,3,lower,s\nb,2,2,x,4,lower,s\nb,2,2,x,5,lower,s\n";
    let placed = |table: &str| -> Vec<(u32, u32, Vec<f64>)> {
        let (_folder, path) = file("t.csv", table);
        let imported = import(&importer("csv"), &[path], &ImportChoices::default()).unwrap();
        let trials = imported.trials.iter();
        let trials = trials.map(|trial| {
            let samples = &trial.outcome.as_ref().unwrap()[0];
            (trial.round, trial.host, samples.values.clone())
        });
        trials.collect()
    };
    let each = [
        (1, 1, vec![1.0]),
        (2, 1, vec![2.0]),
        (3, 2, vec![3.0]),
        (4, 2, vec![4.0, 5.0]),
    ];
    assert_eq!(placed(table), each);
    // Also where only trials are told, which both hosts count from 1.
    let no_rounds = table.replace("round", "whatever");
    assert_eq!(placed(&no_rounds), each);
}

#[test]
fn jmh_has_a_fork_a_trial_with_its_iterations() {
    let imported = import_fixture("jmh", &["jmh.json"], &ImportChoices::default());
    let said = lines(&imported);
    assert_eq!(
        said[0],
        "x.B.thr mode=thrpt threads=1 n=1 throughput kops/s higher: \
         843353.7766338551,957047.4637032119,950513.6290772383 859649.423742595,958884.0563173679,936932.162603138"
    );
    assert!(
        said[2].starts_with("x.B.avg mode=avgt threads=1 n=1 time ns lower: "),
        "{}",
        said[2]
    );
    assert_eq!(
        said[4..],
        [
            "x.B.avg mode=sample threads=1 n=1 time-p0.50 ns lower: 30,30,30 30,30,30",
            "x.B.avg mode=sample threads=1 n=1 time-p0.99 ns lower: 235.32000000000016,50,51 140.1300000000001,73.07000000000016,88.20000000000164",
        ]
    );
    // A single fork is a single run.
    let single = r#"[{"jmhVersion": "1.37", "benchmark": "x.B.m", "mode": "ss", "threads": 1, "forks": 1,
        "primaryMetric": {"scoreUnit": "min/op", "rawData": [[1.5, 2, 2.5]]}, "secondaryMetrics": {}}]"#;
    let (_folder, path) = file("single.json", single);
    let imported = import(&importer("jmh"), &[path], &ImportChoices::default()).unwrap();
    assert_eq!(
        lines(&imported),
        ["x.B.m mode=ss threads=1 time s lower: 90,120,150"]
    );
}

#[test]
fn lines_of_go_are_of_one_process() {
    let choices = better(&["widgets/op=higher"]);
    let imported = import_fixture("go", &["benchfmt.txt"], &choices);
    assert_eq!(imported.trials.len(), 2);
    assert_eq!(
        lines(&imported)[..5],
        [
            "Sum pkg=example.com/x n=10 procs=2 time ns lower: 1.552,1.121,1.051",
            "Sum pkg=example.com/x n=10 procs=2 speed MB/s higher: 6443.3,8920.61,9514.75",
            "Sum pkg=example.com/x n=10 procs=2 widgets-op count higher: 2.5,2.5,2.5",
            "Sum pkg=example.com/x n=10 procs=2 allocated B lower: 0,0,0",
            "Sum pkg=example.com/x n=10 procs=2 allocations count lower: 0,0,0",
        ]
    );
    assert_eq!(imported.hosts[0]["cpu"], "AMD EPYC");
    let nobody_says = refused("go", &fixture("benchfmt.txt"), &ImportChoices::default());
    assert!(
        nobody_says
            .to_string()
            .contains("which direction is good for `widgets/op`")
    );
    assert!(
        nobody_says
            .help
            .unwrap()
            .contains("--better 'widgets/op=lower'")
    );
    // Go's own way of saying it is as good.
    let with_unit = format!(
        "Unit widgets/op better=lower\n{}",
        fs::read_to_string(fixture("benchfmt.txt")).unwrap()
    );
    let (_folder, path) = file("said.txt", with_unit);
    let imported = import(&importer("go"), &[path], &ImportChoices::default()).unwrap();
    assert!(lines(&imported)[2].contains("widgets-op count lower"));
    let (_folder, path) = file(
        "broken.txt",
        "pkg: x\nBenchmarkA-2 1 5 ns/op\nBenchmarkB-2 1 fast ns/op\n",
    );
    let broken = refused("go", &path, &ImportChoices::default());
    assert_eq!(
        (broken.place.as_str(), broken.message.as_str()),
        ("line 3", "`fast` stands where a number should")
    );
}

#[test]
fn events_of_go_test_have_the_same_lines_in_pieces() {
    let choices = better(&["widgets/op=lower"]);
    let imported = import_fixture("go", &["go-test.json"], &choices);
    assert_eq!(
        lines(&imported),
        [
            "Sum pkg=example.org/sum n=10 procs=2 time ns lower: 29.74,3.716,4.496",
            "Sum pkg=example.org/sum n=10 procs=2 speed MB/s higher: 2689.62,21528.53,17793.59",
            "Sum pkg=example.org/sum n=10 procs=2 allocated B lower: 0,0,0",
            "Sum pkg=example.org/sum n=10 procs=2 allocations count lower: 0,0,0",
            "Sum pkg=example.org/sum n=100 procs=2 time ns lower: 55.75,29.49,28.96",
            "Sum pkg=example.org/sum n=100 procs=2 speed MB/s higher: 14349,27124.16,27620.49",
            "Sum pkg=example.org/sum n=100 procs=2 allocated B lower: 0,0,0",
            "Sum pkg=example.org/sum n=100 procs=2 allocations count lower: 0,0,0",
            "Make pkg=example.org/sum/other procs=2 time ns lower: 25.41,29.31,53.12",
            "Make pkg=example.org/sum/other procs=2 widgets-op count lower: 3,3,3",
        ]
    );
    assert_eq!(imported.hosts[0]["goos"], "linux");
    assert_eq!(imported.hosts[0]["cpu"], "AMD EPYC");
}

#[test]
fn conductor_has_its_phases_and_the_numbers_that_steps_printed() {
    let imported = import_fixture(
        "conductor",
        &["conductor.json"],
        &better(&["result-1=higher"]),
    );
    assert_eq!(
        lines(&imported),
        [
            "dut run-time s lower: 2.25 2.5",
            "dut result-1 count higher: 941.5 938.25",
            "dut failed: a step ended with code 1: connection refused"
        ]
    );
    // Workers that ran at the same time: their results are asked for one after the other.
    let parallel = import_fixture(
        "conductor",
        &["conductor-parallel.json"],
        &better(&["result-1=higher"]),
    );
    let first = |worker: &str| {
        let begins = format!("{worker} run-time s lower: ");
        let said = lines(&parallel).into_iter().find_map(|line| {
            let values = line.strip_prefix(&begins)?;
            values.split(' ').next()?.parse::<f64>().ok()
        });
        said.unwrap()
    };
    assert!((1.0..1.01).contains(&first("worker_0")));
    assert!((1.0..1.01).contains(&first("worker_1")));
}

#[test]
fn fio_has_its_directions_and_a_file_a_trial() {
    let twice = import_fixture(
        "fio",
        &["fio.json", "fio-rw.json", "fio.json"],
        &ImportChoices::default(),
    );
    let said = lines(&twice);
    assert_eq!(
        said[0],
        "seq rw=read size=4m bs=64k read-bandwidth B/s higher: 1048576000 1048576000"
    );
    assert_eq!(
        said[1],
        "seq rw=read size=4m bs=64k read-operations ops/s higher: 16000 16000"
    );
    assert!(
        said[2].starts_with("seq rw=read size=4m bs=64k read-latency ns lower: 534"),
        "{}",
        said[2]
    );
    assert!(
        !said
            .iter()
            .any(|line| line.starts_with("seq") && line.contains("write")),
        "{said:#?}"
    );
    assert!(
        said.iter()
            .any(|line| line.starts_with("rw ") && line.contains("write-latency-p99 ns lower"))
    );
    // Jobs that ran side by side are one trial.
    let job = r#"{"jobname": "j", "error": 0, "read": {"total_ios": 5, "bw": 100, "iops": IOPS}, "write": {"total_ios": 0}, "trim": {"total_ios": 0}}"#;
    let text = format!(
        r#"{{"fio version": "fio-3", "global options": {{"bs": "4k"}}, "jobs": [{}, {}]}}"#,
        job.replace("IOPS", "10"),
        job.replace("IOPS", "20")
    );
    let (_folder, path) = file("jobs.json", text);
    let imported = import(&importer("fio"), &[path], &ImportChoices::default()).unwrap();
    assert_eq!(
        lines(&imported),
        [
            "j bs=4k read-bandwidth B/s higher: 102400,102400",
            "j bs=4k read-operations ops/s higher: 10,20"
        ]
    );
}

#[test]
fn iperf3_has_intervals_and_failures() {
    let imported = import_fixture(
        "iperf3",
        &["iperf3.json", "iperf3-udp.json"],
        &ImportChoices::default(),
    );
    let said = lines(&imported);
    let tcp = "iperf3 protocol=TCP streams=1 seconds=2 reverse=false length=131072 rate=0";
    let udp = "iperf3 protocol=UDP streams=1 seconds=2 reverse=false length=32768 rate=100000000";
    assert_eq!(
        said,
        [
            format!("{tcp} throughput bit/s higher: 20335026844.72157"),
            format!("{tcp} retransmits count lower: 11"),
            format!("{udp} throughput bit/s higher: 99993586.92027694"),
            format!("{udp} jitter ms lower: 0.007387364165230074"),
            format!("{udp} loss % lower: 0"),
        ]
    );
    let samples = imported.trials[0].outcome.as_ref().unwrap();
    assert_eq!(samples[0].each.len(), 2);
    assert_eq!(samples[0].each[0], 20420951125.408092);
    let (_folder, path) = file(
        "failed.json",
        r#"{"start": {"version": "iperf 3.12"}, "intervals": [], "end": {}, "error": "unable to connect"}"#,
    );
    let failed = import(&importer("iperf3"), &[path], &ImportChoices::default()).unwrap();
    assert_eq!(lines(&failed), ["iperf3 failed: unable to connect"]);
}

#[test]
fn k6_has_three_ways_to_say_the_same() {
    let custom = better(&[
        "waiting_time-mean=lower",
        "waiting_time-median=lower",
        "waiting_time-p90=lower",
        "waiting_time-p95=lower",
    ]);
    let summary = lines(&import_fixture("k6", &["k6-summary.json"], &custom));
    assert_eq!(
        summary[..8],
        [
            "k6 http_req_duration-mean ms lower: 144.56",
            "k6 http_req_duration-median ms lower: 110.47",
            "k6 http_req_duration-p90 ms lower: 203.54",
            "k6 http_req_duration-p95 ms lower: 215.95",
            "k6 http_reqs-rate /s higher: 4.36938",
            "k6 http_req_failed ratio lower: 0",
            "k6 checks ratio higher: 0.5",
            "k6 data_received-rate B/s higher: 31000.5",
        ]
    );
    assert!(!summary.iter().any(|line| line.contains("vus")));
    // A trend of the script's own doesn't say that it is a time, nor which way is good.
    let unsaid = refused("k6", &fixture("k6-summary.json"), &ImportChoices::default());
    assert!(
        unsaid.to_string().contains("`waiting_time-mean`"),
        "{unsaid}"
    );
    let handled = lines(&import_fixture(
        "k6",
        &["k6-handle-summary.json"],
        &ImportChoices::default(),
    ));
    assert!(
        handled.contains(&"k6 waiting_time-mean ms lower: 152.4".to_owned()),
        "{handled:#?}"
    );
    assert!(
        handled.contains(&"k6 http_req_failed ratio lower: 0.25".to_owned()),
        "{handled:#?}"
    );
    // What `summaryTrendStats` asks for, and metrics of a part.
    let (_folder, path) = file(
        "asked.json",
        r#"{"metrics": {"http_req_duration{scenario:login}": {"avg": 94.5, "p(99.9)": 400, "max": 1571}, "http_reqs{scenario:login}": {"rate": 147.9, "count": 2223}, "ws_ping": {"avg": 2.5, "med": 2}, "open_files": {"value": 7, "min": 1, "max": 9}}}"#,
    );
    let asked = import(&importer("k6"), &[path], &better(&["open_files=lower"])).unwrap();
    assert_eq!(
        lines(&asked),
        [
            "k6 scenario=login http_req_duration-mean ms lower: 94.5",
            "k6 scenario=login http_req_duration-p99.9 ms lower: 400",
            "k6 scenario=login http_reqs-rate /s higher: 147.9",
            "k6 ws_ping-mean ms lower: 2.5",
            "k6 ws_ping-median ms lower: 2",
            "k6 open_files count lower: 7",
        ]
    );
    let (_folder, path) = file(
        "extremes.json",
        r#"{"metrics": {"ws_ping": {"min": 1, "max": 9}}}"#,
    );
    let extremes = refused("k6", &path, &ImportChoices::default());
    assert!(extremes.message.contains("summaryTrendStats"), "{extremes}");
    let machine = lines(&import_fixture(
        "k6",
        &["k6-machine-summary.json"],
        &ImportChoices::default(),
    ));
    assert_eq!(
        machine[..3],
        [
            "k6 http_reqs-rate /s higher: 24.79",
            "k6 http_req_duration-mean ms lower: 245.67",
            "k6 http_req_duration-median ms lower: 234.56",
        ]
    );
    let points = lines(&import_fixture(
        "k6",
        &["k6-points.json"],
        &ImportChoices::default(),
    ));
    assert_eq!(
        points,
        [
            "k6 http_req_duration ms lower: 110.25,98.5",
            "k6 http_req_failed ratio lower: 0,1"
        ]
    );
}

#[test]
fn phoronix_says_direction_in_xml_and_systems_are_variants() {
    let imported = import_fixture("phoronix", &["phoronix.xml"], &ImportChoices::default());
    assert_eq!(
        lines(&imported),
        [
            "compress-7zip profile=pts/compress-7zip-1.10.0 test=Test: Compression Rating MIPS count higher: 98000 99000 99295",
            "build-linux-kernel profile=pts/build-linux-kernel-1.15.0 test=Build: defconfig arguments=defconfig Seconds s lower: 150.5 150",
            "broken profile=pts/broken-1.0.0 failed: there is no value",
        ]
    );
    assert_eq!(imported.hosts[0]["hardware"], "Processor: Example 2-Core");
    let json = import_fixture("phoronix", &["phoronix.json"], &better(&["lower"]));
    assert_eq!(
        lines(&json),
        [
            "build-linux-kernel profile=pts/build-linux-kernel-1.15.0 test=Build: defconfig base Seconds s lower: 150.5 150",
            "build-linux-kernel profile=pts/build-linux-kernel-1.15.0 test=Build: defconfig new Seconds s lower: 140 140",
        ]
    );
    let broken = fs::read_to_string(fixture("phoronix.xml"))
        .unwrap()
        .replace("</Scale>", "</Scael>");
    let (_folder, path) = file("broken.xml", broken);
    let broken = refused("phoronix", &path, &ImportChoices::default());
    assert_eq!(broken.place, "line 16", "{broken}");
    assert!(broken.message.contains("this isn't XML"), "{broken}");
}

#[test]
fn asv_knows_its_parameters_and_one_commit_at_a_time() {
    let imported = import_fixture("asv", &["asv"], &better(&["track_answer=higher"]));
    let said = lines(&imported);
    let samples = [
        6.307996955001727e-07,
        4.5859997044317424e-07,
        4.5060005504637957e-07,
        3.463999746600166e-07,
        3.084001946263015e-07,
        3.0039991543162615e-07,
    ]
    .map(|seconds: f64| seconds.to_string());
    assert_eq!(
        said[0],
        format!(
            "b.Suite.time_sum n=10 kind=a time s lower: {}",
            samples.join(",")
        )
    );
    assert!(said.iter().any(|line| line.starts_with("b.Suite.time_sum n=100 kind=b failed: asv has no result")));
    assert!(
        said.contains(&"b.mem_list memory B lower: 2104".to_owned()),
        "{said:#?}"
    );
    assert!(
        said.contains(&"b.track_answer track_answer count higher: 42".to_owned()),
        "{said:#?}"
    );
    // It writes NaN, which isn't JSON, for what was skipped.
    let skipped = r#"{"commit_hash": "a", "result_columns": ["result", "params"], "results": {"time_x": [[NaN, 0.5], [["1", "2"]]]}}"#;
    let (_folder, path) = file("skipped.json", skipped);
    let imported = import(&importer("asv"), &[path], &ImportChoices::default()).unwrap();
    assert_eq!(
        lines(&imported),
        [
            "time_x param1=1 failed: asv has no result: the benchmark failed or was skipped",
            "time_x param1=2 time s lower: 0.5",
        ]
    );
    let folder = tempfile::tempdir().unwrap();
    let one = fs::read_to_string(fixture("asv/vm/ba7fe5e0-existing-py.json")).unwrap();
    fs::write(folder.path().join("ba7fe5e0-x.json"), &one).unwrap();
    fs::write(
        folder.path().join("ca7fe5e0-x.json"),
        one.replace("ba7fe5e0", "ca7fe5e0"),
    )
    .unwrap();
    let two = refused("asv", folder.path(), &better(&["lower"]));
    assert!(
        two.message
            .contains("its `.commit_hash` is the text `ca7fe5e0"),
        "{two}"
    );
}

#[test]
fn logs_of_mmtests_become_trials_iteration_by_iteration() {
    let choices = ImportChoices {
        better: vec!["value=lower".parse().unwrap()],
        unit: vec![ImportChoice {
            metric: Some("value".into()),
            value: Unit::parse("ms").unwrap(),
        }],
        ..ImportChoices::default()
    };
    assert_eq!(
        lines(&import_fixture("mmtests", &["mmtests/run"], &choices)),
        [
            "hackbench-process-pipes groups=1 time s lower: 1.203 1.305 1.213 1.315",
            "hackbench-process-pipes groups=4 time s lower: 4.5 4.51",
            "kernbench jobs=2 elapsed s lower: 62 62.1",
            "kernbench jobs=2 user s lower: 101.5 101.5",
            "kernbench jobs=2 system s lower: 20.25 20.25",
            "ours operation=read value ms lower: 10 11.5 10.1 11.5",
            "ours operation=write value ms lower: 20 20",
            "pipetest time_per_op us lower: 4.1 4.101",
            "pipetest rate ops/s higher: 243902 243902",
            "tbench4 clients=1 throughput MB/s higher: 251.025 251.125",
            "tbench4 clients=1 max_latency ms lower: 0.2 0.2",
        ]
    );
    let nothing = refused("mmtests", &fixture("criterion"), &choices);
    assert!(
        nothing
            .message
            .contains("nothing in this folder is what `mmtests` reads"),
        "{nothing}"
    );
}

#[test]
fn a_table_says_with_its_columns_what_it_is() {
    let text = "benchmark,param.n,rack,value\nsort,1,a,1.5\nsort,1,b,\nsort,2,a,3\nsort,1,a,1.25\n";
    let (_folder, path) = file("times.csv", text);
    let choices = ImportChoices {
        unit: vec![ImportChoice {
            metric: None,
            value: Unit::parse("ms").unwrap(),
        }],
        ..better(&["lower"])
    };
    let imported = import(&importer("csv"), std::slice::from_ref(&path), &choices).unwrap();
    assert_eq!(
        lines(&imported),
        [
            "sort n=1 value ms lower: 1.5 1.25",
            "sort n=2 value ms lower: 3"
        ]
    );
    assert!(
        imported.notes[0].contains("columns that weren't used: `rack`"),
        "{:?}",
        imported.notes
    );
    let by_host = ImportChoices {
        params: vec!["rack".into()],
        ..choices.clone()
    };
    let imported = import(&importer("csv"), &[path], &by_host).unwrap();
    assert_eq!(
        lines(&imported)[0],
        "sort rack=a n=1 value ms lower: 1.5 1.25"
    );
    let (_folder, wide) = file("wide.tsv", "time\trss\n1\t10\n2\t20\n");
    let wanted = ImportChoices {
        values: vec!["time".into(), "rss".into()],
        ..choices
    };
    let imported = import(&importer("tsv"), &[wide], &wanted).unwrap();
    assert_eq!(
        lines(&imported),
        ["wide time ms lower: 1 2", "wide rss ms lower: 10 20"]
    );
}

#[test]
fn a_broken_table_is_refused_with_its_place() {
    let choices = ImportChoices {
        unit: vec![ImportChoice {
            metric: None,
            value: Unit::parse("ms").unwrap(),
        }],
        ..better(&["lower"])
    };
    let mut text = String::from("value\n");
    text.extend((0..5).map(|n| format!("{n}\n")));
    let (_folder, path) = file("seven.csv", format!("{text}fast\n8\n"));
    let broken = refused("csv", &path, &choices).to_string();
    assert!(
        broken.contains("seven.csv, line 7, column `value`: `fast`"),
        "{broken}"
    );
    let (_folder, path) = file("nan.csv", format!("{text}NaN\n"));
    let nan = refused("csv", &path, &choices).to_string();
    assert!(
        nan.contains("line 7") && nan.contains("no measured value"),
        "{nan}"
    );
    let (_folder, path) = file("fields.csv", "value,unit\n1,ms\n2\n");
    assert!(
        refused("csv", &path, &choices)
            .to_string()
            .contains("line 3")
    );
    let (_folder, path) = file("round.csv", "value,round\n1,0\n");
    let round = refused("csv", &path, &choices).to_string();
    assert!(
        round.contains("line 2, column `round`: a round is a whole number from 1"),
        "{round}"
    );
    let (_folder, path) = file("unit.csv", "value\n1\n");
    let unsaid = refused("csv", &path, &better(&["lower"]));
    assert!(
        unsaid.to_string().contains("the unit of `value`"),
        "{unsaid}"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    export(
        &set(vec![series(vec![(1, vec![1.0])])]),
        ExportFormat::Parquet,
        TableOutput::to(Some(&path)).unwrap(),
    )
    .unwrap();
    let missing = ImportChoices {
        values: vec!["elapsed".into()],
        ..choices
    };
    let missing = refused("parquet", &path, &missing);
    assert!(
        missing
            .to_string()
            .contains("has no column `elapsed`: it has `benchmark`"),
        "{missing}"
    );
    // Of pyarrow: a column of times of day is no column of durations. Of DuckDB: compressed with gzip.
    let nothing = ImportChoices::default();
    let times = refused("parquet", &fixture("time-of-day.parquet"), &nothing);
    assert!(times.to_string().contains("00:00:01"), "{times}");
    assert_eq!(
        lines(&import_fixture("parquet", &["gzip.parquet"], &nothing)),
        [
            "q0 value s lower: 0",
            "q1 value s lower: 1",
            "q2 value s lower: 2"
        ]
    );
}

#[test]
fn what_is_not_what_it_says_is_refused_by_every_importer() {
    let (_folder, empty) = file("empty", "");
    let (_folder, blank) = file("blank", " \n\t\n");
    let (_folder, other) = file("other", r#"{"hello": ["world"]}"#);
    let (_folder, words) = file("words", "Lorem ipsum\ndolor, sit\tamet\n");
    let garbage: Vec<u8> = (0..10_u32 << 20)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let (_folder, garbage) = file("garbage", garbage);
    let folder = tempfile::tempdir().unwrap();
    for described in ImportFormat::all().unwrap() {
        let format = described.name.as_str();
        let any = better(&["lower"]);
        for path in [&empty, &blank] {
            let refused = refused(format, path, &any);
            assert_eq!(refused.message, "it is empty", "{format}");
        }
        for path in [&other, &words, &garbage] {
            let refused = refused(format, path, &any);
            let said = refused.to_string();
            let named = said.contains(&path.display().to_string());
            assert!(named && !said.contains("broke"), "{format}: {said}");
        }
        let of_folder = refused(format, folder.path(), &any);
        assert!(
            of_folder.message.contains("folder"),
            "{format}: {of_folder}"
        );
        let missing = refused(format, Path::new("/nonexistent/results"), &any);
        assert!(
            missing.message.contains("it can't be read"),
            "{format}: {missing}"
        );
    }
}

#[test]
fn json_that_is_cut_off_or_lacks_something_says_where() {
    let whole = fs::read_to_string(fixture("hyperfine.json")).unwrap();
    let (_folder, path) = file("cut.json", &whole[..whole.len() / 2]);
    let cut = refused("hyperfine", &path, &ImportChoices::default());
    assert!(
        cut.place.starts_with("line ") && cut.place.contains("column"),
        "{cut}"
    );
    assert!(cut.message.starts_with("this isn't JSON: EOF"), "{cut}");
    let (_folder, path) = file("string.json", whole.replacen("0.02147013", "\"fast\"", 3));
    let text = refused("hyperfine", &path, &ImportChoices::default());
    assert_eq!(text.place, ".results[0]", "{text}");
    assert!(
        text.message
            .contains("trial 1: the text `fast` stands where a number should"),
        "{text}"
    );
    let (_folder, path) = file("missing.json", whole.replace("\"times\"", "\"tiems\""));
    let missing = refused("hyperfine", &path, &ImportChoices::default());
    assert!(missing.message.contains("it has no `times`"), "{missing}");
    let (_folder, path) = file("huge.json", whole.replacen("0.02147013,", "1e999,", 1));
    let huge = refused("hyperfine", &path, &ImportChoices::default());
    assert!(
        huge.message.contains("no measured value") || huge.message.contains("out of range"),
        "{huge}"
    );
    let wrong = refused(
        "hyperfine",
        &fixture("google-benchmark.json"),
        &ImportChoices::default(),
    );
    assert!(
        wrong
            .message
            .contains("expected a JSON object with `results`"),
        "{wrong}"
    );
    assert!(wrong.help.unwrap().contains("hyperfine --export-json"));
}

#[test]
fn what_was_said_of_a_metric_that_is_not_there_is_a_mistake() {
    let choices = better(&["tiem=lower"]);
    let unknown = refused("hyperfine", &fixture("hyperfine.json"), &choices);
    assert_eq!(unknown.message, "there is no metric `tiem`");
    assert_eq!(unknown.help.as_deref(), Some("did you mean `time`?"));
    let without = ImportChoices {
        without: vec!["time".into()],
        ..ImportChoices::default()
    };
    let nothing = refused("hyperfine", &fixture("hyperfine.json"), &without);
    assert!(nothing.message.contains("nothing is left"), "{nothing}");
}

fn series(trials: Vec<(u32, Vec<f64>)>) -> CellSeries {
    CellSeries {
        cell: Cell {
            benchmark: "b".parse().unwrap(),
            params: indexmap(&[("n", Value::Integer(1))]),
            chosen: vec!["n".parse().unwrap()],
            variant: "default".parse().unwrap(),
            monitors: None,
        },
        metric: "time".parse().unwrap(),
        unit: Unit::parse("ms").unwrap(),
        better: Better::Lower,
        about: String::new(),
        primary: true,
        monitor: None,
        simulator: None,
        trials: trials
            .into_iter()
            .map(|(round, values)| TrialSamples {
                trial: round,
                round,
                boot: 0,
                session: 1,
                host: 0,
                values,
                each: Vec::new(),
                neighbours: 0.0,
            })
            .collect(),
    }
}

fn indexmap(params: &[(&str, Value)]) -> indexmap::IndexMap<ParamName, Value> {
    params
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.clone()))
        .collect()
}

fn set(series: Vec<CellSeries>) -> ResultSet {
    ResultSet {
        study: 1,
        name: "base".into(),
        study_name: "base".parse().unwrap(),
        began: jiff::Timestamp::UNIX_EPOCH,
        state: StudyState::Finished,
        interleaved: true,
        hosts: indexmap::IndexMap::new(),
        definitions: Default::default(),
        series,
        failed: Vec::new(),
    }
}

fn exported(set: &ResultSet, form: ExportFormat) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    export(set, form, TableOutput::to(Some(&path)).unwrap()).unwrap();
    fs::read_to_string(path).unwrap()
}

fn hostile() -> ResultSet {
    let mut one = series(vec![(1, vec![1.5, 2.5]), (2, vec![4.0])]);
    one.cell.params = indexmap(&[("cmd", Value::Text("a|b \"c\"\n</script>, `d` -8".into()))]);
    one.cell.chosen = vec!["cmd".parse().unwrap()];
    one.trials[0].each = vec![0.25];
    let mut set = set(vec![one]);
    let cell = set.series[0].cell.clone();
    set.failed
        .push((3, 3, cell, Failure::of_trial("it|fell\nover")));
    set
}

#[test]
fn hostile_names_are_data_in_every_form() {
    let set = hostile();
    assert_eq!(
        exported(&set, ExportFormat::Csv),
        "benchmark,variant,param.cmd,metric,unit,better,trial,round,kind,value\n\
         b,default,\"a|b \"\"c\"\"\n</script>, `d` -8\",time,ms,lower,1,1,sample,1.5\n\
         b,default,\"a|b \"\"c\"\"\n</script>, `d` -8\",time,ms,lower,1,1,sample,2.5\n\
         b,default,\"a|b \"\"c\"\"\n</script>, `d` -8\",time,ms,lower,1,1,interval,0.25\n\
         b,default,\"a|b \"\"c\"\"\n</script>, `d` -8\",time,ms,lower,2,2,sample,4\n"
    );
    let cell = "b cmd=a\\|b \"c\" \\</script\\>, \\`d\\` -8";
    assert_eq!(
        exported(&set, ExportFormat::Markdown),
        format!(
            "# base\n\n| cell | metric | mean | ± | least | most | trials |\n|---|---|--:|--:|--:|--:|--:|\n\
             | {cell} | time, ms, lower is better | 3.000 | 47% | 2.000 | 4.000 | 2 |\n\n\
             | failed | round | why |\n|---|--:|---|\n| {cell} | 3 | it\\|fell over |\n"
        )
    );
    let label = r#"param_cmd="a|b \"c\"\n</script>, `d` -8""#;
    let point = |trial: u32, sample: u32, value: &str| {
        format!(
            "backsight_time_ms{{study=\"base\",benchmark=\"b\",variant=\"default\",metric=\"time\",better=\"lower\",{label},trial=\"{trial}\",round=\"{trial}\",sample=\"{sample}\"}} {value}\n"
        )
    };
    assert_eq!(
        exported(&set, ExportFormat::OpenMetrics),
        format!(
            "# TYPE backsight_time_ms gauge\n# UNIT backsight_time_ms ms\n{}{}{}# EOF\n",
            point(1, 1, "1.5"),
            point(1, 2, "2.5"),
            point(2, 1, "4.0")
        )
    );
    assert_eq!(
        exported(&set, ExportFormat::Benchfmt),
        "Unit sec/op better=lower\n\
         BenchmarkB/cmd=a|b%20\"c\"%0A<%2Fscript>,%20`d`%20%2D8 1 0.002 sec/op\n\
         BenchmarkB/cmd=a|b%20\"c\"%0A<%2Fscript>,%20`d`%20%2D8 1 0.004 sec/op\n"
    );
}

/// What a study has, for comparing: samples by cell, metric and round.
type Content = BTreeMap<(String, String, u32), (Vec<f64>, Vec<f64>)>;

fn key(cell: &Cell, metric: impl ToString, round: u32) -> (String, String, u32) {
    let mut params: Vec<String> = cell
        .params
        .iter()
        .map(|(k, v)| format!("{k}={v:?}"))
        .collect();
    params.sort();
    let cell = format!("{} {} {}", cell.benchmark, cell.variant, params.join(" "));
    (cell, metric.to_string(), round)
}

fn content_of_set(set: &ResultSet) -> Content {
    let trials = set.series.iter().flat_map(|series| {
        series.trials.iter().map(move |trial| {
            let metric = format!("{} {} {}", series.metric, series.unit, series.better);
            (
                key(&series.cell, metric, trial.round),
                (trial.values.clone(), trial.each.clone()),
            )
        })
    });
    trials.collect()
}

fn content_of_import(imported: &ImportedStudy) -> Content {
    let mut content = Content::new();
    for trial in &imported.trials {
        let cell = &imported.cells[trial.cell];
        for samples in trial.outcome.iter().flatten() {
            let metrics = &imported.metrics[&cell.benchmark];
            let shape = metrics.iter().find(|m| m.name == samples.metric).unwrap();
            let metric = format!("{} {} {}", shape.name, shape.unit, shape.better);
            content.insert(
                key(cell, metric, trial.round),
                (samples.values.clone(), samples.each.clone()),
            );
        }
    }
    content
}

fn round_trip(set: &ResultSet, form: ExportFormat, format: &str) -> ImportedStudy {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study");
    export(set, form, TableOutput::to(Some(&path)).unwrap()).unwrap();
    import(of_all(format), &[path], &ImportChoices::default()).unwrap()
}

const FORMS: &[(ExportFormat, &str)] = &[
    (ExportFormat::Csv, "csv"),
    (ExportFormat::Tsv, "tsv"),
    (ExportFormat::JsonRows, "json-rows"),
    (ExportFormat::Parquet, "parquet"),
    (ExportFormat::Json, "json"),
];

#[test]
fn a_hostile_study_goes_out_and_comes_back_with_its_failures_in_json() {
    let set = hostile();
    for (form, format) in FORMS {
        let back = round_trip(&set, *form, format);
        assert_eq!(content_of_import(&back), content_of_set(&set), "{format}");
    }
    let back = round_trip(&set, ExportFormat::Json, "json");
    assert_eq!(
        (back.trials[2].round, &back.trials[2].outcome),
        (3, &Err("it|fell\nover".into()))
    );
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Integer),
        (-1e300_f64..1e300).prop_map(Value::Float),
        "[^\\x00]{0,12}".prop_map(Value::Text),
        prop::sample::select(vec![
            "12", "true", "1.0", "NA", "null", "", " x", "\"x\"", "nan"
        ])
        .prop_map(|text| Value::Text(text.into())),
    ]
}

fn measured() -> impl Strategy<Value = f64> {
    prop_oneof![
        -1e300_f64..1e300,
        0.0..1.0,
        Just(0.1 + 0.2),
        Just(5e-324),
        Just(-0.0)
    ]
}

fn any_set() -> impl Strategy<Value = ResultSet> {
    let trial = (
        prop::collection::vec(measured(), 1..4),
        prop::collection::vec(measured(), 0..3),
    );
    let one = (
        prop::sample::select(vec!["a", "b-c", "d.e"]),
        prop::collection::btree_map(prop::sample::select(vec!["n", "cmd", "x.y"]), value(), 0..3),
        prop::collection::btree_map(1_u32..6, trial, 1..4),
    );
    prop::collection::vec(one, 1..5).prop_map(|all| {
        let mut listed: Vec<CellSeries> = Vec::new();
        for (benchmark, params, trials) in all {
            let mut one = series(Vec::new());
            one.cell.benchmark = benchmark.parse().unwrap();
            one.cell.params = params
                .into_iter()
                .map(|(name, value)| (name.parse().unwrap(), value))
                .collect();
            one.trials = trials
                .into_iter()
                .map(|(round, (values, each))| TrialSamples {
                    trial: round,
                    round,
                    boot: 0,
                    session: 1,
                    host: 0,
                    values,
                    each,
                    neighbours: 0.0,
                })
                .collect();
            if listed
                .iter()
                .all(|other| !other.cell.same_question(&one.cell))
            {
                listed.push(one);
            }
        }
        set(listed)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_goes_out_comes_back_the_same(set in any_set()) {
        for (form, format) in FORMS {
            let back = round_trip(&set, *form, format);
            prop_assert_eq!(content_of_import(&back), content_of_set(&set), "{}", format);
        }
    }

    #[test]
    fn no_bytes_break_an_importer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (_folder, path) = file("any", &bytes);
        for importer in ALL.iter() {
            let read = import(importer, std::slice::from_ref(&path), &better(&["lower"]));
            prop_assert!(!broke(&read), "{}: {read:?}", importer.format.name);
        }
    }

    #[test]
    fn no_change_of_a_real_file_breaks_its_importer(
        which in 0..REAL.len(),
        at in any::<prop::sample::Index>(),
        with in prop::collection::vec(any::<u8>(), 0..6),
        taken in 0_usize..40,
    ) {
        let (format, name) = REAL[which];
        let mut bytes = fs::read(fixture(name)).unwrap();
        let from = at.index(bytes.len());
        let end = (from + taken).min(bytes.len());
        bytes.splice(from..end, with);
        let (_folder, path) = file("changed", &bytes);
        let read = import(of_all(format), &[path], &better(&["lower"]));
        prop_assert!(!broke(&read), "{format}: {read:?}");
        if let Ok(imported) = read {
            for samples in imported.trials.iter().flat_map(|trial| trial.outcome.iter().flatten()) {
                prop_assert!(samples.values.iter().all(|value| value.is_finite()));
            }
        }
    }
}

const REAL: &[(&str, &str)] = &[
    ("hyperfine", "hyperfine.json"),
    ("google-benchmark", "google-benchmark.json"),
    ("pytest-benchmark", "pytest-benchmark.json"),
    ("jmh", "jmh.json"),
    ("benchfmt", "benchfmt.txt"),
    ("conductor", "conductor.json"),
    ("fio", "fio-rw.json"),
    ("iperf3", "iperf3.json"),
    ("k6", "k6-points.json"),
    ("k6", "k6-summary.json"),
    ("phoronix", "phoronix.xml"),
    ("asv", "asv/vm/ba7fe5e0-existing-py.json"),
];

fn broke(read: &Result<ImportedStudy, ImportError>) -> bool {
    read.as_ref()
        .is_err_and(|refused| refused.message.starts_with("the importer broke"))
}
