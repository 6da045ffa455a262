use super::*;
use crate::{Render as _, TerminalStyle};
use backsight_model::{CellSeries, StudyState, TomlDocument, TrialSamples, Value};
use backsight_policy::join_versions;

const PLAN: &str = r#"
use = ["gateway"]
params = { cipher = ["none", "gcm"], processors = [1, 2] }
[matrix]
rows = "version+processors"
columns = "variant+cipher"
base = "open / none"
[[leave-out]]
params = { processors = 2 }
why = "it has one processor"
[[variant]]
name = "direct"
params = { cipher = "none" }
[[variant]]
name = "open"
[[variant]]
name = "filter"
[[leave-out]]
variant = "filter"
params = { cipher = "gcm" }
"#;

fn plan() -> Plan {
    Plan::read(&TomlDocument::new("plan.toml", PLAN)).unwrap()
}

fn series(variant: &str, cipher: &str, rates: [f64; 3]) -> CellSeries {
    let params = [
        ("cipher", Value::Text(cipher.to_owned())),
        ("processors", Value::Integer(1)),
    ];
    let params = params.map(|(name, value)| (name.parse().unwrap(), value));
    let trial = |(rate, trial): (f64, u32)| TrialSamples {
        trial,
        round: trial,
        boot: 0,
        session: 1,
        host: 0,
        values: vec![rate],
        each: Vec::new(),
        neighbours: 0.0,
    };
    CellSeries {
        cell: Cell {
            benchmark: "gateway".parse().unwrap(),
            chosen: params.iter().map(|(name, _)| Clone::clone(name)).collect(),
            params: params.into_iter().collect(),
            variant: variant.parse().unwrap(),
            monitors: None,
        },
        metric: "throughput".parse().unwrap(),
        unit: Unit::parse("Mbit/s").unwrap(),
        better: Better::Higher,
        about: String::new(),
        primary: true,
        monitor: None,
        simulator: None,
        trials: rates.into_iter().zip(1..).map(trial).collect(),
    }
}

/// What was measured of a version that is so many times as fast.
fn version(name: &str, times: f64) -> ResultSet {
    let rates = |rate: f64| [rate * times, (rate + 1.0) * times, (rate - 1.0) * times];
    ResultSet {
        study: 1,
        name: name.into(),
        study_name: "ciphers".parse().unwrap(),
        began: jiff::Timestamp::UNIX_EPOCH,
        state: StudyState::Finished,
        interleaved: true,
        hosts: IndexMap::new(),
        definitions: Default::default(),
        series: vec![
            series("direct", "none", rates(9000.0)),
            series("open", "none", rates(800.0)),
            series("open", "gcm", rates(200.0)),
            series("filter", "none", rates(400.0)),
        ],
        failed: Vec::new(),
    }
}

#[test]
fn versions_and_combinations_make_a_table_with_what_makes_no_sense() {
    let set = join_versions(&[version("6.1", 1.0), version("6.12", 1.5)]).unwrap();
    let plan = plan();
    let axes = MatrixAxes::of_plan(plan.matrix.as_ref().unwrap());
    let matrix = ScenarioMatrix::new(&set, &axes, Some(&plan)).unwrap();
    let [table] = &matrix.tables[..] else {
        panic!("{matrix:#?}")
    };
    // A variant's own parameter isn't crossed with it, and a column of nothing but what is left out is there.
    let columns = [
        "direct / none",
        "open / none",
        "open / gcm",
        "filter / none",
        "filter / gcm",
    ];
    assert_eq!(table.columns, columns);
    let rows: Vec<&str> = table.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(rows, ["6.1 / 1", "6.1 / 2", "6.12 / 1", "6.12 / 2"]);
    assert_eq!(
        (matrix.base.as_str(), matrix.base_of.as_str()),
        ("open / none", "variant+cipher")
    );
    let times = |row: usize, column: usize| match &table.rows[row].cells[column] {
        MatrixCell::Measured {
            speed_up: Some(it), ..
        } => it.ratio,
        other => panic!("{row} {column}: {other:?}"),
    };
    assert!((times(0, 2) - 0.25).abs() < 0.001 && (times(2, 3) - 0.5).abs() < 0.001);
    let no_sense = MatrixCell::NotApplicable {
        why: Some("it has one processor".to_owned()),
    };
    assert!(
        table.rows[1].cells[..4]
            .iter()
            .all(|cell| *cell == no_sense)
    );
    assert_eq!(
        table.rows[0].cells[4],
        MatrixCell::NotApplicable { why: None }
    );
    let look = TerminalStyle {
        width: Some(140),
        colour: false,
    };
    insta::assert_snapshot!(matrix.document().text(&look));
    let page = matrix.document().html();
    assert!(
        page.contains("<svg") && page.contains("all columns"),
        "{page}"
    );
}

#[test]
fn without_a_plan_a_set_has_its_first_axes_and_versions_are_rows() {
    let set = version("6.1", 1.0);
    let axes = MatrixAxes::first_of(&set).unwrap();
    assert_eq!(
        (axes.rows.to_string(), axes.columns.to_string()),
        ("variant".into(), "cipher".into())
    );
    let joined = join_versions(&[version("6.1", 1.0), version("6.12", 1.5)]).unwrap();
    let axes = MatrixAxes::first_of(&joined).unwrap();
    assert_eq!(
        (axes.rows.to_string(), axes.columns.to_string()),
        ("version".into(), "variant".into())
    );
    let matrix = ScenarioMatrix::new(&joined, &axes, None).unwrap();
    assert_eq!(matrix.tables.len(), 2);
}
