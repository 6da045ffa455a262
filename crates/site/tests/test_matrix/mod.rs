//! The page of tests: names are text, and its data say of every test what came of it.

use backsight_policy::{TestConcern, TestHistory};
use backsight_report::test_matrix::{TestFilter, TestMatrix};
use backsight_site::test_matrix_page;
use serde_json::Value;

use crate::{
    suites::{self, HOSTILE_TEST},
    tags,
};

fn all() -> TestFilter {
    TestFilter {
        concerns: TestConcern::ALL.to_vec(),
        ..TestFilter::default()
    }
}

fn data(page: &str) -> Value {
    let from = page.split("id=\"matrix-data\">").nth(1).unwrap();
    serde_json::from_str(from.split("</script>").next().unwrap()).unwrap()
}

/// The letters of a test as the script unpacks them.
fn letters(data: &Value, test: usize) -> String {
    let cells: Vec<usize> = serde_json::from_value(data["tests"]["cells"][test].clone()).unwrap();
    let (runs, _) = cells.as_chunks::<2>();
    let letter = |outcome: usize| match data["outcomes"][outcome]["letter"].as_str().unwrap() {
        "" => " ",
        letter => letter,
    };
    runs.iter()
        .map(|[outcome, columns]| letter(*outcome).repeat(*columns))
        .collect()
}

#[test]
fn the_data_unpack_to_the_letters_of_the_terminal() {
    let history = suites::nights(300, 40);
    let page = test_matrix_page("Tests", &history, &all()).unwrap();
    let data = data(&page);
    let matrix = TestMatrix::new(&history, &all());
    assert_eq!(matrix.tests.len(), 300);
    for (number, test) in matrix.tests.iter().enumerate() {
        assert_eq!(letters(&data, number), test.letters, "{}", test.test);
    }
    let failing = data["tests"]["stands"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| **it == 0);
    assert_eq!(failing.count(), matrix.totals.failing);
    assert!(matrix.totals.failing > 0 && matrix.totals.flaky > 0);
}

#[test]
fn durations_are_kept_to_some_percent() {
    let history = suites::nights(120, 30);
    let data = data(&test_matrix_page("Tests", &history, &all()).unwrap());
    let digits = data["digits"].as_str().unwrap();
    for (number, row) in history.rows.iter().enumerate() {
        let seconds = data["tests"]["seconds"][number].as_str().unwrap();
        let range = &data["tests"]["range"][number];
        let (least, most) = (range[0].as_f64().unwrap(), range[1].as_f64().unwrap());
        for cell in &row.cells {
            let digit = seconds.as_bytes()[cell.column as usize] as char;
            let share = digits.find(digit).unwrap() as f64 / (digits.len() - 1) as f64;
            let (read, known) = (
                least * (most / least).powf(share),
                cell.mean_seconds().unwrap(),
            );
            assert!((read / known - 1.0).abs() < 0.01, "{read} of {known}");
        }
    }
}

#[test]
fn names_of_tests_are_text() {
    let history = suites::nights(20, 5);
    let page = test_matrix_page("Tests", &history, &all()).unwrap();
    let tags = tags(&page);
    assert!(!page.contains("<b>bold") && !tags.iter().any(|tag| tag.starts_with("<img")));
    assert_eq!(
        page.matches("</script>").count(),
        2,
        "the data and the script"
    );
    let data = data(&page);
    let names = data["tests"]["name"].as_array().unwrap();
    let hostile = HOSTILE_TEST.replace('\n', "␊");
    assert!(names.iter().any(|name| *name == *hostile));
    assert!(
        names
            .iter()
            .any(|name| name.as_str().unwrap().len() > 10_000)
    );
}

#[test]
fn a_history_without_tests_has_a_page() {
    let page = test_matrix_page("Tests", &TestHistory::default(), &all()).unwrap();
    assert!(page.contains("0 tests in 0 columns"));
}

#[test]
fn the_data_of_a_year_of_five_hundred_tests_take_less_than_four_hundred_kilobytes() {
    let page = test_matrix_page("Tests", &suites::nights(500, 365), &all()).unwrap();
    let data = data(&page).to_string();
    assert!(data.len() < 400_000, "{} bytes", data.len());
}
