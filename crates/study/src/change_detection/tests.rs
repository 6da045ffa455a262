use backsight_policy::ChangeDirection;
use backsight_report::{
    Format,
    change_points::{ChangePoints, SeriesChanges},
    chart,
};
use backsight_stats::{
    Better, Random,
    changes::DetectionOptions,
    simulation::{NoiseShape, steps},
};

use super::{
    detection_job::Shard,
    false_discovery::{FalseDiscoveryRate, adjust_for_all_series},
    input::DetectionSeries,
    series_search::find_changes,
};

fn series(values: Vec<f64>) -> DetectionSeries {
    DetectionSeries {
        metric: "time".to_owned(),
        labels: (0..values.len()).map(|i| format!("v{i}")).collect(),
        named: true,
        values,
        ..DetectionSeries::default()
    }
}

fn stepped(size: f64, seed: u64) -> DetectionSeries {
    let levels = [(60, 100.0), (60, 100.0 + size)];
    series(steps(&levels, NoiseShape::Gauss, &mut Random::seeded(seed)))
}

fn told(series: DetectionSeries) -> SeriesChanges {
    find_changes(series, &DetectionOptions::default(), true)
}

fn report(stories: &[SeriesChanges]) -> ChangePoints<'_> {
    ChangePoints {
        source: "t.csv".to_owned(),
        guessed_label: None,
        series_changes: stories,
        series: stories.len(),
        false_percent: Some(5.0),
        confidence: 95.0,
    }
}

fn rendered(stories: &[SeriesChanges], format: Format) -> String {
    report(stories).render(format, None).unwrap()
}

fn text(stories: &[SeriesChanges]) -> String {
    rendered(stories, Format::Text)
}

#[test]
fn a_step_is_told_between_its_versions_with_size_and_direction() {
    let mut one = stepped(10.0, 1);
    one.better = Some(Better::Lower);
    let story = told(one);
    let change = &story.changes[0];
    assert_eq!(
        (story.changes.len(), &change.between.at.label[..]),
        (1, "v60")
    );
    let after = change.between.after.as_ref().unwrap();
    assert!(after.index < 60 && change.between.until.index >= 60);
    let (percent, interval) = change.percent().unwrap();
    assert!((percent - 10.0).abs() < 1.0 && interval.low < percent && percent < interval.high);
    assert_eq!(change.direction(story.better), ChangeDirection::Worse);
    assert_eq!(
        change.direction(Some(Better::Higher)),
        ChangeDirection::Better
    );
    assert_eq!(change.direction(None), ChangeDirection::Up);
    let said = text(&[story]);
    assert!(
        said.contains("`v60`") && said.contains("worse") && said.contains('█'),
        "{said}"
    );
}

#[test]
fn samples_of_one_version_are_one_point_wherever_they_stand() {
    let mut one = stepped(5.0, 2);
    let again: Vec<(String, f64)> = one
        .labels
        .iter()
        .map(str::to_owned)
        .zip(one.values.clone())
        .collect();
    for (label, value) in again {
        one.labels.push(&label);
        one.values.push(value + 1.0);
    }
    let story = told(one);
    assert_eq!((story.versions, story.samples), (120, 240));
    assert_eq!(story.changes.len(), 1);
    assert!(story.changes[0].between.at.index.abs_diff(60) <= 1);
}

#[test]
fn nothing_one_value_and_equal_ones_are_told_without_a_number_that_is_none() {
    for values in [vec![], vec![1.0], vec![0.0; 50], vec![5.0; 7]] {
        let story = told(series(values));
        let all = [story];
        for page in [
            text(&all),
            rendered(&all, Format::Markdown),
            rendered(&all, Format::Json),
        ] {
            assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
        }
        assert!(all[0].changes.is_empty());
    }
}

#[test]
fn a_change_that_chance_gives_somewhere_among_so_many_is_not_believed() {
    let mut stories = vec![told(stepped(20.0, 3)), told(stepped(1.0, 5))];
    stories[1].changes = stories[0].changes.clone();
    stories[1].changes[0].change.p = 0.01;
    let quiet = vec![1.0; 998];
    adjust_for_all_series(&mut stories, &quiet, FalseDiscoveryRate(0.05));
    assert!(stories[0].changes[0].believed && !stories[1].changes[0].believed);
    assert!(stories[1].changes[0].adjusted.unwrap() > 0.05);
    let mut alone = vec![stories.remove(1)];
    alone[0].changes[0].believed = true;
    adjust_for_all_series(&mut alone, &[], FalseDiscoveryRate(0.05));
    assert!(alone[0].changes[0].believed);
}

#[test]
fn of_what_is_believed_among_many_series_little_is_false() {
    let mut random = Random::seeded(7);
    let mut stories: Vec<SeriesChanges> = (0..400)
        .map(|i| {
            let size = if i < 20 { 3.0 } else { 0.0 };
            told(series(steps(
                &[(100, 0.0), (100, size)],
                NoiseShape::Gauss,
                &mut random,
            )))
        })
        .collect();
    let alone: usize = stories[20..].iter().map(|story| story.changes.len()).sum();
    assert!(
        alone >= 3,
        "chance shows a change in some of 380 series, each taken alone: {alone}"
    );
    adjust_for_all_series(&mut stories, &[], FalseDiscoveryRate(0.05));
    let believed =
        |stories: &[SeriesChanges]| stories.iter().map(|s| s.believed().count()).sum::<usize>();
    let (right, wrong) = (believed(&stories[..20]), believed(&stories[20..]));
    assert!(right >= 20 && wrong <= 2, "{right} right, {wrong} wrong");
}

#[test]
fn a_part_is_one_of_as_many_as_there_are() {
    assert_eq!("2/8".parse(), Ok(Shard { index: 1, of: 8 }));
    for wrong in ["0/8", "9/8", "1", "1/", "x/2", "-1/2", "1/0"] {
        assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
    }
}

#[test]
fn names_that_would_act_are_spelled_out() {
    let mut one = stepped(10.0, 1);
    one.keys = vec![("k".to_owned(), "a|b\u{1b}[31m\n<script>`x`".to_owned())];
    one.labels = (0..120).map(|i| format!("v\u{202e}{i}\n")).collect();
    let stories = [told(one)];
    let said = text(&stories);
    assert!(
        !said.contains('\u{1b}') && !said.contains('\u{202e}') && said.contains("␛"),
        "{said}"
    );
    let page = rendered(&stories, Format::Markdown);
    assert!(
        !page.contains("<script>") && page.contains("a\\|b"),
        "{page}"
    );
    let svg = stories[0].svg.as_deref().unwrap();
    assert!(
        !svg.contains("<script>") && !svg.contains('\u{1b}') && svg.contains("&lt;script&gt;"),
        "{svg}"
    );
}

#[test]
fn a_picture_has_points_levels_and_a_band() {
    let story = told(stepped(10.0, 1));
    let svg = story.svg.unwrap();
    assert_eq!(svg.matches("h0").count(), 120);
    assert_eq!(svg.matches("fill-opacity=\"0.25\"").count(), 1);
    assert_eq!(svg.matches("stroke-width=\"1.5\"").count(), 2);
    assert!(!svg.contains("NaN"));
}

#[test]
fn bars_go_from_the_least_to_the_most() {
    let rising: Vec<f64> = (0..8).map(f64::from).collect();
    assert_eq!(chart::sparks(&rising), "▁▂▃▄▅▆▇█");
    assert_eq!(chart::sparks(&[]), "");
    assert_eq!(chart::sparks(&[2.0; 3]), "▄▄▄");
    assert_eq!(chart::sparks(&vec![1.0; 1000]).chars().count(), 64);
}

#[test]
fn many_series_are_a_table_of_those_that_changed() {
    let mut stories: Vec<SeriesChanges> = (0..20).map(|seed| told(stepped(20.0, seed))).collect();
    for (i, story) in stories.iter_mut().enumerate() {
        story.metric = format!("m{i}");
    }
    adjust_for_all_series(&mut stories, &[], FalseDiscoveryRate(0.05));
    let said = text(&stories);
    assert!(
        said.starts_with("20 series, t.csv: 20 changed (20 changes)."),
        "{said}"
    );
    assert!(said.contains("SERIES") && said.contains("m19"), "{said}");
}
