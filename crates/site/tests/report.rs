//! The report page, and a published site, as a reader and as an enemy see it.
#![allow(clippy::unwrap_used)]

#[path = "../examples/sample/commits.rs"]
mod commits;
mod published;
#[path = "../examples/sample/mod.rs"]
mod sample;
#[path = "../examples/sample/stepped.rs"]
mod stepped;
#[path = "../examples/sample/suites.rs"]
mod suites;
mod test_matrix;

use backsight_model::{Failure, StudyState};
use backsight_policy::{CompareOptions, NumberList, compare_lists};
use backsight_site::{PAGE_LIMIT, PrintedOutput, ReportContent, Surroundings};
use backsight_store::{PruneMark, RawRef, StoreError};
use proptest::prelude::*;

/// The page that stands alone.
fn report(content: &ReportContent) -> Result<String, backsight_site::PageError> {
    backsight_site::report(content, &Surroundings::default())
}

fn page(of: &ReportContent) -> String {
    report(of).unwrap()
}

/// The tags of a page, in order, without what stands between them.
fn tags(page: &str) -> Vec<&str> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = rest[start..]
            .find('>')
            .map_or(rest.len(), |end| start + end + 1);
        tags.push(&rest[start..end]);
        rest = &rest[end..];
    }
    tags
}

fn place(page: &str, part: &str) -> usize {
    page.find(part)
        .unwrap_or_else(|| panic!("{part} is not on the page"))
}

#[test]
fn the_page_has_its_parts_in_the_order_of_a_readers_questions() {
    let page = page(&sample::report());
    let parts = [
        "<h1>through-dut</h1>",
        "forward</span> against direct: ",
        "id=\"measured\"",
        "id=\"compared\"",
        "Ratios to direct",
        "Geometric mean",
        "id=\"machines\"",
        "id=\"plan\"",
        "id=\"trials\"",
    ];
    assert!(parts.map(|part| place(&page, part)).is_sorted());
    for said in [
        "69 measured",
        "6 failed",
        "took 5 min",
        "2468013",
        "9 Sep 2001, 01:46 UTC",
        "bench-1",
    ] {
        place(&page, said);
    }
}

#[test]
fn every_series_has_a_bar_and_what_is_missing_a_gap() {
    let sample = sample::report();
    let page = page(&sample);
    let series = &sample.studies[0].results.series;
    let missing = series
        .iter()
        .filter(|series| series.trials.is_empty())
        .count();
    assert_eq!(
        missing, 2,
        "the sample has a cell of which every trial failed"
    );
    assert_eq!(page.matches("class=\"bar ").count(), series.len());
    assert_eq!(page.matches("class=\"gap\"").count(), missing);
    assert_eq!(
        page.matches("missing: 5 trials failed<tspan").count(),
        missing
    );
}

#[test]
fn a_failed_trial_is_shown_with_its_reason_and_what_it_printed() {
    let page = page(&sample::report());
    let trial = &page[place(&page, "id=\"trial-6\"")..place(&page, "id=\"trial-7\"")];
    assert!(trial.contains("data-outcome=\"failed\""));
    assert!(trial.contains("No route to host"));
    assert!(
        trial.contains("iperf3: error - unable to connect to server"),
        "its standard error"
    );
    assert!(
        page.contains("href=\"#trial-6\""),
        "the list of failures leads to it"
    );
}

#[test]
fn every_trial_and_every_document_is_there_and_closed() {
    let sample = sample::report();
    let page = page(&sample);
    for number in 1..=sample.studies[0].trials.len() {
        place(
            &page,
            &format!("<details class=\"trial\" id=\"trial-{number}\""),
        );
    }
    for document in &sample.studies[0].documents {
        place(
            &page,
            &document.text.lines().next().unwrap().replace('"', "&#34;"),
        );
    }
    assert!(!page.contains("<details open"));
}

#[test]
fn several_studies_stand_beside_each_other() {
    let page = page(&sample::report_of_two());
    for part in [
        "new</span> against base: ",
        "direct · base",
        "direct · new",
        "id=\"study-2-trial-75\"",
        "Compared with base",
    ] {
        place(&page, part);
    }
}

#[test]
fn the_page_refers_to_nothing_but_itself() {
    let page = page(&sample::report());
    for tag in tags(&page).iter().filter(|tag| !tag.starts_with("<svg")) {
        assert!(!tag.contains("src=") && !tag.contains("://"), "{tag}");
        if let Some((_, target)) = tag.split_once("href=\"") {
            assert!(
                target.starts_with('#') || target.starts_with("data:,"),
                "{tag}"
            );
        }
    }
    assert!(!page.contains("@import") && !page.contains("url("));
}

#[test]
fn the_same_study_makes_the_same_page() {
    assert_eq!(page(&sample::report()), page(&sample::report()));
}

#[test]
fn a_study_that_has_only_begun_has_a_page() {
    let mut sample = sample::report();
    let study = &mut sample.studies[0];
    study.trials.clear();
    study.results.failed.clear();
    study
        .results
        .series
        .iter_mut()
        .for_each(|series| series.trials.clear());
    study.results.hosts.clear();
    study.documents.clear();
    study.row.state = StudyState::Stopped;
    sample.comparison = None;
    let page = page(&sample);
    place(&page, "through-dut is stopped");
    place(&page, "missing: not measured");
    assert!(!page.contains("NaN"));
    assert!(
        !self::page(&ReportContent {
            studies: Vec::new(),
            ..sample
        })
        .contains("NaN")
    );
}

#[test]
fn the_longest_outputs_are_cut_until_the_page_fits() {
    let mut sample = sample::report();
    let long: String = (0..30_000).map(|n| format!("<{n}>\n")).collect();
    for (number, trial) in sample.studies[0].trials.iter_mut().enumerate() {
        for step in &mut trial.steps {
            step.stdout = PrintedOutput::new(long.clone().into_bytes(), 50_000_000, usize::MAX);
            step.stderr =
                PrintedOutput::new(format!("short {number}\n").into_bytes(), 9, usize::MAX);
        }
    }
    let page = page(&sample);
    assert!(page.len() <= PAGE_LIMIT, "{} bytes", page.len());
    assert!(
        page.len() > PAGE_LIMIT * 9 / 10,
        "the room is used: {} bytes",
        page.len()
    );
    assert!(page.contains("left out of this page"));
    assert!(page.contains("backsight show through-dut --trial 75 --raw"));
    assert!(page.contains("MiB went over the limit of this step&#39;s output"));
    for number in 0..75 {
        place(&page, &format!("short {number}\n"));
    }
    assert!(
        page.contains("&lt;0&gt;") && page.contains("&lt;29999&gt;"),
        "both ends stay"
    );
}

#[test]
fn more_trials_than_a_page_holds_are_counted_and_the_failed_ones_stay() {
    let mut sample = sample::report();
    let study = &mut sample.studies[0];
    let template = study.trials[0].clone();
    let bad = study
        .trials
        .iter()
        .find(|trial| trial.row.failure.is_some())
        .unwrap()
        .clone();
    study.trials = (1..=8000)
        .map(|number| {
            let mut trial = if number == 7999 {
                bad.clone()
            } else {
                template.clone()
            };
            trial.row.number = number;
            trial
                .steps
                .iter_mut()
                .for_each(|step| step.row.command = "x".repeat(1500));
            trial
        })
        .collect();
    let page = page(&sample);
    assert!(page.len() <= PAGE_LIMIT);
    place(
        &page,
        "of the others some, evenly over the study: <code>backsight show through-dut</code>",
    );
    place(&page, "id=\"trial-7999\"");
}

/// Lists of numbers beside each other, of these names.
fn lists(names: [&str; 2], cell: &str) -> ReportContent {
    let list = |name: &str, factor: f64| {
        let values: Vec<f64> = (0..20)
            .map(|n| factor * (100.0 + f64::from(n * 7 % 10)))
            .collect();
        NumberList {
            name: name.to_owned(),
            cells: vec![(cell.to_owned(), values), ("only".to_owned(), vec![factor])],
        }
    };
    let [base, new] = names;
    let comparison = compare_lists(
        vec![list(base, 1.0), list(new, 2.0)],
        backsight_model::Better::Lower,
        None,
        CompareOptions::default(),
    );
    ReportContent {
        title: names.join(" and "),
        studies: Vec::new(),
        comparison: Some(comparison),
        versions: None,
        background: Default::default(),
        overhead: None,
        notes: Vec::new(),
    }
}

#[test]
fn lists_of_numbers_have_a_page_with_every_sample_beside_its_interval() {
    let page = page(&lists(["before", "after"], "read 4k"));
    assert_eq!(page.matches("class=\"bar ").count(), 4);
    assert_eq!(
        page.matches("<circle cx").count(),
        20 + 20 + 2 + 2,
        "and two in marks of differences"
    );
    for part in [
        "after</span> against before: ",
        "name=read 4k",
        "<title id=\"chart-0-t\">cell value: lower is better</title>",
        "Amean 104.5",
        "worse",
    ] {
        place(&page, part);
    }
    for absent in [
        "id=\"machines\"",
        "id=\"trials\"",
        "href=\"#plan\"",
        "NaN",
        "ratio,",
    ] {
        assert!(!page.contains(absent), "{absent}");
    }
}

#[test]
fn hostile_names_of_lists_are_text() {
    let hostile = "</title></svg><script>alert(1)</script>\" onload=\"x\u{202e}";
    let shown = page(&lists(["a", hostile], hostile));
    let plain = page(&lists(["a", "b"], "c d"));
    assert_eq!(tags(&shown), tags(&plain));
    assert!(!shown.contains('\u{202e}'));
}

#[test]
fn what_makes_the_numbers_doubtful_stands_above_them() {
    let mut sample = sample::report();
    sample.comparison = None;
    let study = &mut sample.studies[0];
    for trial in &mut study.trials {
        trial.row.neighbours = 0.3;
    }
    study.trials[4].row.neighbours = 0.625;
    let of_first = study.results.series[0].trials.clone();
    study.results.series[0].trials.extend(of_first);
    study.results.series[0].trials[2].values = vec![1e9];
    study.results.series[1].trials.truncate(1);
    let page = page(&sample);
    let doubts =
        &page[place(&page, "Before believing these numbers")..place(&page, "class=\"charts\"")];
    for doubt in [
        "noisy neighbours: other programs (cc1, make) had 30.4 % of the processors while `through-dut` was measured, at worst 62.5 % in trial 5",
        "three quartile ranges from the middle half of the trials: iperf3-tcp streams=1 direct throughput in trial",
        "1 of 27 series have a single trial",
        "the clock of `sink` was set during this trial",
    ] {
        place(doubts, doubt);
    }
    place(
        &page,
        "25 series measured, 2 missing. The widest spread: iperf3-tcp streams=1 ",
    );
}

#[test]
fn an_output_that_the_store_has_lost_is_said_in_its_place() {
    let mut sample = sample::report();
    let raw = RawRef::from_content(b"gone");
    let damaged = StoreError::RawDamaged {
        raw,
        path: "raw".into(),
        detail: "the object is <damaged>".into(),
    };
    let mark = PruneMark {
        made: "2026-11-26T12:00:00Z".parse().unwrap(),
        rule: "outputs = \"4 weeks\"".into(),
    };
    let pruned = StoreError::Pruned { raw, mark };
    for (error, said) in [
        (damaged, "the object is &lt;damaged&gt;"),
        (
            pruned,
            "pruned on 2026-11-26 by the rule `outputs = &#34;4 weeks&#34;`",
        ),
    ] {
        sample.studies[0].trials[0].steps[0].stdout =
            PrintedOutput::unreadable_because(&error, 512);
        place(&page(&sample), said);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn text_of_others_never_leaves_its_element(
        words in prop::collection::vec("\\PC{1,40}|[<>&\"'/=\0\u{1b}\u{202e}\r\n -]{1,40}|</(pre|details|script|style|title|svg)>.{0,20}", 6),
    ) {
        let put = |words: &[String]| {
            let mut sample = sample::report();
            let study = &mut sample.studies[0];
            study.trials.truncate(8);
            for facts in study.results.hosts.values_mut() {
                facts.insert("kernel.release".into(), words[0].clone());
            }
            study.documents[0].text.clone_from(&words[1]);
            study.documents[1].name.clone_from(&words[1]);
            study.results.series.iter_mut().for_each(|series| series.about.clone_from(&words[2]));
            let failure = Failure::of_trial(words[3].clone());
            study.trials[0].row.failure = Some(failure.clone());
            study.trials[0].row.warnings = vec![words[4].clone()];
            study.results.failed[0].3 = failure;
            for trial in &mut study.trials {
                for step in &mut trial.steps {
                    step.row.command.clone_from(&words[5]);
                    // Long enough to be taken for text whatever is in it.
                    let printed = format!("{}{}", words[4], "text ".repeat(120)).into_bytes();
                    step.stdout = PrintedOutput::new(printed.clone(), printed.len() as u64, usize::MAX);
                    step.stderr = PrintedOutput::new(printed, 1, usize::MAX);
                }
            }
            sample.title.clone_from(&words[0]);
            page(&sample)
        };
        let plain = put(&["a", "b", "c", "d", "e", "f"].map(str::to_owned));
        let hostile = put(&words);
        prop_assert_eq!(tags(&hostile), tags(&plain));
        let unseen = |c: char| c.is_control() && c != '\n' && c != '\t' || ('\u{202a}'..='\u{202e}').contains(&c);
        prop_assert!(!hostile.contains(unseen));
    }
}

/// What a store has, on a page.
mod from_a_store {
    use super::{page, place};
    use backsight_model::{
        Better, Cell, CellMetric, Ending, Failure, MetricSamples, Phase, ResourceUsage, StepOutput,
        StepRecord, TrialRecord, Unit,
    };
    use backsight_site::report_of;
    use backsight_store::{FinishedFile, FinishedStudy, FinishedTrial, NewStudy, Store};
    use std::time::Duration;

    fn rate() -> CellMetric {
        CellMetric {
            name: "rate".parse().unwrap(),
            unit: Unit::parse("bit/s").unwrap(),
            better: Better::Higher,
            about: String::new(),
            primary: true,
            monitor: None,
            simulator: None,
        }
    }

    fn trial(printed: &[u8]) -> TrialRecord {
        let began = jiff::Timestamp::UNIX_EPOCH;
        let output = |bytes: &[u8]| StepOutput {
            bytes: bytes.to_vec(),
            printed: bytes.len() as u64,
        };
        TrialRecord {
            host: None,
            boot: 0,
            began,
            took: Duration::from_secs(1),
            outcome: Ok(vec![MetricSamples::new(
                "rate".parse().unwrap(),
                vec![3.5e9],
                vec![],
            )]),
            watched: Vec::new(),
            suite: None,
            steps: vec![StepRecord {
                role: "client".parse().unwrap(),
                host: "a".parse().unwrap(),
                phase: Phase::Run,
                number: 0,
                command: "measure --it".into(),
                spawned: false,
                monitor: None,
                began,
                began_monotonic: 0,
                ending: Ending::Exit(0),
                usage: ResourceUsage::default(),
                stdout: output(printed),
                stderr: output(b""),
            }],
            clocks: Vec::new(),
            meetings: Vec::new(),
            load: vec![],
            warnings: vec![],
            drawn: Default::default(),
            core_files: Vec::new(),
        }
    }

    #[tokio::test]
    async fn of_very_many_trials_some_are_shown_and_a_file_that_they_share_once() {
        const TRIALS: u32 = 4000;
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).await.unwrap();
        let cell = Cell {
            benchmark: "bulk".parse().unwrap(),
            params: indexmap::IndexMap::new(),
            chosen: vec![],
            variant: "default".parse().unwrap(),
            monitors: None,
        };
        let trials = (1..=TRIALS).map(|round| FinishedTrial {
            suite: None,
            cell: 0,
            round,
            session: 1,
            host: 1,
            outcome: match round {
                2001 => Err(Failure::of_trial("out of luck")),
                _ => Ok(vec![MetricSamples::new(
                    "rate".parse().unwrap(),
                    vec![f64::from(round)],
                    vec![],
                )]),
            },
            files: vec![0],
        });
        let study = FinishedStudy {
            new: NewStudy {
                questions: Vec::new(),
                target: None,
                name: "many".parse().unwrap(),
                verb: "import".into(),
                documents: vec![],
                arguments: "{}".into(),
                seed: 0,
                metrics: [(cell.benchmark.clone(), vec![rate()])]
                    .into_iter()
                    .collect(),
                cells: vec![cell],
            },
            at: jiff::Timestamp::now(),
            hosts: [("elsewhere".parse().unwrap(), indexmap::IndexMap::new())]
                .into_iter()
                .collect(),
            role: "import".parse().unwrap(),
            files: vec![FinishedFile {
                command: "read it".into(),
                content: (0..500_000)
                    .flat_map(|n| format!("{n}\n").into_bytes())
                    .collect::<Vec<u8>>()
                    .into(),
            }],
            trials: trials.collect(),
            warnings: vec![],
        };
        let id = store.add_finished_study(&study).await.unwrap();
        let report = report_of(&store, "many".into(), &[id], None).await.unwrap();
        let page = page(&report);
        for part in [
            "3,999 measured",
            "3500 more trials have no room here",
            "out of luck",
            "id=\"trial-2001\"",
            "the same as of trial ",
        ] {
            place(&page, part);
        }
        assert_eq!(page.matches("\n100\n101\n").count(), 1);
        assert!(page.len() < 4_000_000, "{} bytes", page.len());
        store.close().await;
    }

    #[tokio::test]
    async fn a_report_is_collected_with_its_outputs() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).await.unwrap();
        let cell = Cell {
            benchmark: "bulk".parse().unwrap(),
            params: indexmap::IndexMap::new(),
            chosen: vec![],
            variant: "default".parse().unwrap(),
            monitors: None,
        };
        let id = store
            .create_study(&NewStudy {
                questions: Vec::new(),
                target: None,
                name: "first".parse().unwrap(),
                verb: "run".into(),
                documents: vec![],
                arguments: "{}".into(),
                seed: 7,
                metrics: [(cell.benchmark.clone(), vec![rate()])]
                    .into_iter()
                    .collect(),
                cells: vec![cell],
            })
            .await
            .unwrap();
        store
            .record_trial(id, 1, 0, 1, &trial(b"all <of> it\n"))
            .await
            .unwrap();
        store
            .record_trial(id, 2, 0, 2, &trial(b"and more\n"))
            .await
            .unwrap();
        let report = report_of(&store, "first".into(), &[id], None)
            .await
            .unwrap();
        let page = page(&report);
        for part in [
            "all &lt;of&gt; it\n</pre>",
            "and more\n</pre>",
            "measure --it</pre>",
            "rate 3.500 Gbit/s",
            "first is running",
        ] {
            place(&page, part);
        }
        store.close().await;
    }
}
