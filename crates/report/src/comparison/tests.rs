use super::{render as rendered, *};
use backsight_model::ResultSet;
use backsight_model::{Better, Cell, CellSeries, Failure, StudyState, TrialSamples, Unit, Value};
use backsight_policy::{CompareOptions, SplitKey, compare, compare_by};
use proptest::prelude::*;

type Metric = (&'static str, &'static str, Better);

const RATE: Metric = ("throughput", "bit/s", Better::Higher);
const TIME: Metric = ("rtt", "us", Better::Lower);
const LOSS: Metric = ("loss", "%", Better::Lower);

fn cell(benchmark: &str, params: &[(&str, Value)], variant: &str) -> Cell {
    Cell {
        benchmark: benchmark.parse().unwrap(),
        params: params
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.clone()))
            .collect(),
        chosen: params
            .iter()
            .map(|(name, _)| name.parse().unwrap())
            .collect(),
        variant: variant.parse().unwrap(),
        monitors: None,
    }
}

fn series(cell: Cell, (metric, unit, better): Metric, trials: &[&[f64]]) -> CellSeries {
    CellSeries {
        cell,
        metric: metric.parse().unwrap(),
        unit: Unit::parse(unit).unwrap(),
        better,
        about: format!("what {metric} is"),
        primary: true,
        monitor: None,
        simulator: None,
        trials: trials
            .iter()
            .zip(1..)
            .map(|(values, trial)| TrialSamples {
                trial,
                round: trial,
                boot: 0,
                session: 1,
                host: 0,
                values: values.to_vec(),
                each: Vec::new(),
                neighbours: 0.02,
            })
            .collect(),
    }
}

fn set(name: &str, study: i64, series: Vec<CellSeries>) -> ResultSet {
    ResultSet {
        study,
        name: name.into(),
        study_name: name.parse().unwrap(),
        began: "2024-03-01T12:34:56Z".parse().unwrap(),
        state: StudyState::Finished,
        definitions: Default::default(),
        interleaved: true,
        hosts: Default::default(),
        series,
        failed: Vec::new(),
    }
}

/// A lab's usual evening: two versions, several benchmarks, something failed, something new.
fn base_and_new() -> Vec<ResultSet> {
    let tcp = |streams| {
        cell(
            "iperf3-tcp",
            &[("streams", Value::Integer(streams))],
            "default",
        )
    };
    let udp = cell(
        "iperf3-udp",
        &[("rate", Value::Text("500M".into()))],
        "filter",
    );
    let ping = cell("ping-rtt", &[], "default");
    let base = set(
        "base",
        1,
        vec![
            series(
                tcp(1),
                RATE,
                &[&[38.2e9], &[37.9e9], &[38.6e9], &[38.1e9], &[38.3e9]],
            ),
            series(udp.clone(), LOSS, &[&[0.0], &[0.0], &[0.0], &[0.0], &[0.0]]),
            series(
                tcp(10),
                RATE,
                &[&[41.0e9], &[40.2e9], &[41.9e9], &[40.8e9], &[41.3e9]],
            ),
            series(
                ping.clone(),
                TIME,
                &[&[35.1, 36.0], &[34.8, 35.2], &[35.5, 35.4]],
            ),
            series(cell("tbench", &[], "default"), RATE, &[]),
        ],
    );
    let mut new = set(
        "new",
        2,
        vec![
            series(
                tcp(1),
                RATE,
                &[&[36.9e9], &[37.2e9], &[36.5e9], &[37.0e9], &[37.1e9]],
            ),
            series(udp, LOSS, &[&[0.4], &[0.6], &[0.5], &[0.7], &[0.45]]),
            series(tcp(10), RATE, &[&[41.1e9], &[40.0e9], &[42.0e9], &[41.8e9]]),
            series(ping, TIME, &[&[35.2, 35.9]]),
            series(
                cell("hackbench", &[], "default"),
                ("time", "s", Better::Lower),
                &[&[1.5], &[1.6]],
            ),
        ],
    );
    for trial in &mut new.series[1].trials {
        trial.neighbours = 0.31;
    }
    new.failed = vec![(7, 2, tcp(10), Failure::of_trial("no route"))];
    vec![base, new]
}

fn demo() -> ResultSet {
    let tcp = |variant| cell("iperf3-tcp", &[("streams", Value::Integer(1))], variant);
    let ping = |variant| cell("ping-rtt", &[], variant);
    set(
        "demo",
        3,
        vec![
            series(tcp("direct"), RATE, &[&[38.2e9], &[37.9e9], &[38.6e9]]),
            series(tcp("forward"), RATE, &[&[30.1e9], &[29.9e9], &[30.4e9]]),
            series(tcp("filter"), RATE, &[&[22.2e9], &[21.7e9], &[22.5e9]]),
            series(ping("direct"), TIME, &[&[28.1], &[27.9], &[28.4]]),
            series(ping("forward"), TIME, &[&[35.1], &[34.0], &[35.9]]),
        ],
    )
}

fn render(comparison: &Comparison, format: ComparisonFormat, look: &DisplayOptions) -> String {
    rendered(comparison, &ComparedBackground::default(), format, look).unwrap()
}

fn compared() -> Comparison {
    compare(&base_and_new(), CompareOptions::default())
}

fn everything() -> DisplayOptions {
    DisplayOptions {
        statistics: true,
        ratio: true,
        ..DisplayOptions::default()
    }
}

#[test]
fn two_studies_stand_beside_each_other() {
    insta::assert_snapshot!(render(
        &compared(),
        ComparisonFormat::Text,
        &DisplayOptions {
            ratio: true,
            ..DisplayOptions::default()
        }
    ));
}

#[test]
fn a_narrow_terminal_has_the_sides_below_each_other() {
    insta::assert_snapshot!(render(
        &compared(),
        ComparisonFormat::Text,
        &DisplayOptions {
            width: Some(100),
            ..DisplayOptions::default()
        }
    ));
}

#[test]
fn the_variants_of_a_study_stand_below_each_other() {
    let comparison = compare_by(&demo(), &SplitKey::Variant, CompareOptions::default()).unwrap();
    insta::assert_snapshot!(render(
        &comparison,
        ComparisonFormat::Text,
        &DisplayOptions {
            ratio: true,
            ..DisplayOptions::default()
        }
    ));
}

#[test]
fn a_study_by_itself_has_means_and_extremes() {
    let alone = compare(&base_and_new()[1..], CompareOptions::default());
    let look = DisplayOptions {
        all_metrics: true,
        ..DisplayOptions::default()
    };
    insta::assert_snapshot!(render(&alone, ComparisonFormat::Text, &look));
}

#[test]
fn every_summary_is_shown_when_asked_for() {
    let mut sets = base_and_new();
    for set in &mut sets {
        set.series.truncate(1);
        set.failed.clear();
    }
    let comparison = compare(&sets, CompareOptions::default());
    insta::assert_snapshot!(render(
        &comparison,
        ComparisonFormat::Text,
        &DisplayOptions {
            statistics: true,
            ..DisplayOptions::default()
        }
    ));
}

#[test]
fn a_pull_request_gets_tables() {
    insta::assert_snapshot!(render(
        &compared(),
        ComparisonFormat::Markdown,
        &DisplayOptions {
            ratio: true,
            ..DisplayOptions::default()
        }
    ));
}

#[test]
fn a_spreadsheet_gets_every_number_in_full() {
    insta::assert_snapshot!(render(
        &compared(),
        ComparisonFormat::Csv,
        &DisplayOptions::default()
    ));
}

#[test]
fn a_program_gets_everything() {
    let mut sets = base_and_new();
    for set in &mut sets {
        set.series.drain(..3);
        set.failed.clear();
    }
    let comparison = compare(&sets, CompareOptions::default());
    insta::assert_snapshot!(render(
        &comparison,
        ComparisonFormat::Json,
        &DisplayOptions::default()
    ));
}

#[test]
fn colour_is_there_when_asked_for_and_changes_no_word() {
    let plain = render(&compared(), ComparisonFormat::Text, &everything());
    let coloured = render(
        &compared(),
        ComparisonFormat::Text,
        &DisplayOptions {
            colour: true,
            ..everything()
        },
    );
    assert!(!plain.contains('\u{1b}') && coloured.contains("\u{1b}["));
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    stripped.push_str(rest);
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(&stripped), words(&plain));
}

#[test]
fn what_others_wrote_is_text_and_nothing_else() {
    let hostile = "\u{1b}[31m|<script>alert(1)</script>\n@all `x`,\"y\"";
    let with = |study| {
        let cell = cell("b", &[("p", Value::Text(hostile.into()))], "default");
        set(
            &format!("s{study}"),
            study,
            vec![series(cell, TIME, &[&[1.0], &[2.0]])],
        )
    };
    let comparison = compare(&[with(1), with(2)], CompareOptions::default());
    let text = render(&comparison, ComparisonFormat::Text, &everything());
    assert!(!text.contains('\u{1b}'), "{text}");
    let markdown = render(&comparison, ComparisonFormat::Markdown, &everything());
    assert!(
        !markdown.contains("<script") && !markdown.contains("@all"),
        "{markdown}"
    );
    let table_lines = markdown.lines().filter(|line| line.contains("alert"));
    for line in table_lines {
        let separators = line.replace("\\|", "").matches('|').count();
        assert!(separators == 8 || separators == 4, "{line}");
    }
    let csv = render(&comparison, ComparisonFormat::Csv, &everything());
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let record = reader.records().next().unwrap().unwrap();
    assert_eq!(record[1], format!("p={hostile}"));
    let json: serde_json::Value =
        serde_json::from_str(&render(&comparison, ComparisonFormat::Json, &everything())).unwrap();
    assert_eq!(json["rows"][0]["params"]["p"], hostile);
}

#[test]
fn the_keys_of_statistics_are_those_of_their_values() {
    let comparison = compared();
    let measured = comparison.rows[0].entries[0].measured().unwrap();
    let keys: Vec<String> = statistics::summary_statistics(&measured.of_samples)
        .into_iter()
        .map(|statistic| statistic.key)
        .collect();
    assert_eq!(keys, statistics::keys());
}

fn trials() -> impl Strategy<Value = Vec<Vec<f64>>> {
    let value = prop_oneof![
        -1e3..1e3f64,
        0.0..1e-9f64,
        1e9..1e12f64,
        Just(0.0),
        Just(f64::NAN)
    ];
    prop::collection::vec(prop::collection::vec(value, 0..3), 0..5)
}

fn any_set() -> impl Strategy<Value = ResultSet> {
    let metric = prop::sample::select(vec![
        RATE,
        TIME,
        LOSS,
        ("rtt", "s", Better::Lower),
        ("rtt", "B", Better::Higher),
    ]);
    prop::collection::btree_map((0i64..3, 0usize..2), (metric, trials()), 0..5).prop_map(|rows| {
        let all = rows.into_iter().map(|((size, variant), (metric, trials))| {
            let cell = cell(
                "b",
                &[("size", Value::Integer(size))],
                ["direct", "filter"][variant],
            );
            let trials: Vec<&[f64]> = trials.iter().map(Vec::as_slice).collect();
            series(cell, metric, &trials)
        });
        set("any", 1, all.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn anything_can_be_written_in_any_format(sets in prop::collection::vec(any_set(), 0..4), width in 100u16..140) {
        let comparison = compare(&sets, CompareOptions::default());
        let look = DisplayOptions { width: Some(width), ..everything() };
        let text = render(&comparison, ComparisonFormat::Text, &look);
        for line in text.lines() {
            prop_assert!(line.chars().count() <= usize::from(width), "{}", line);
            prop_assert!(!line.contains("NaN") && !line.contains("inf"), "{}", line);
        }
        render(&comparison, ComparisonFormat::Markdown, &look);
        let csv = render(&comparison, ComparisonFormat::Csv, &look);
        // The reader refuses lines with another number of fields.
        let lines = csv::Reader::from_reader(csv.as_bytes()).into_records().map(Result::unwrap).count();
        prop_assert_eq!(lines, comparison.rows.len() * sets.len());
        let json: serde_json::Value = serde_json::from_str(&render(&comparison, ComparisonFormat::Json, &look)).unwrap();
        prop_assert_eq!(json["rows"].as_array().unwrap().len(), comparison.rows.len());
    }

    #[test]
    fn a_number_in_a_file_is_the_number_that_was_measured(values in prop::collection::vec(1e-6..1e12f64, 2..6)) {
        let trials: Vec<&[f64]> = values.chunks(1).collect();
        let one = set("one", 1, vec![series(cell("b", &[], "default"), TIME, &trials)]);
        let comparison = compare(&[one], CompareOptions::default());
        let most = values.iter().copied().fold(0.0, f64::max);
        let csv = render(&comparison, ComparisonFormat::Csv, &DisplayOptions::default());
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let column = reader.headers().unwrap().iter().position(|name| name == "max").unwrap();
        let record = reader.records().next().unwrap().unwrap();
        prop_assert_eq!(record[column].parse::<f64>().unwrap(), most);
    }
}
