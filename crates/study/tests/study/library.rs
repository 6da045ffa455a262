//! A study through the library alone: begun, killed, resumed and judged, as `examples/bisection.rs` shows it.

use backsight_store::Store;
use backsight_study::VerdictReport;
use std::{
    collections::HashSet,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

/// The example, at work in this folder.
fn bisection(folder: &Path) -> Child {
    Command::new(super::example("bisection"))
        .arg(folder)
        // Another test may have this machine for longer than the example waits.
        .env("BACKSIGHT_LEASES", folder.join("leases"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_bisection_is_begun_killed_resumed_and_judged_through_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = bisection(folder.path());
    let lines = BufReader::new(first.stdout.take().unwrap()).lines();
    // Each line says of a trial that it is on disk.
    let seen = lines.take(5).map(Result::unwrap).count();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(seen, 5);

    let store = Store::open(folder.path().join("store")).await.unwrap();
    let study = store.study("which-change").await.unwrap();
    assert!(study.was_killed(), "{study:?}");
    let before = store.study_history(study.id).await.unwrap().trials;
    assert!(before.len() >= 5, "{}", before.len());
    store.close().await;

    let second = bisection(folder.path()).wait_with_output().unwrap();
    assert!(second.status.success());
    let said = String::from_utf8(second.stdout).unwrap();
    assert!(said.ends_with("9 changed time\n"), "{said}");

    let store = Store::open(folder.path().join("store")).await.unwrap();
    let study = store.study("which-change").await.unwrap();
    let history = store.study_history(study.id).await.unwrap();
    let rounds = history.trials.iter().map(|trial| (trial.boot, trial.round));
    let distinct: HashSet<_> = rounds.collect();
    assert_eq!(
        distinct.len(),
        history.trials.len(),
        "nothing is measured twice"
    );
    for (before, after) in before.iter().zip(&history.trials) {
        assert_eq!(before.samples, after.samples, "nothing is measured anew");
    }
    // The verdict is the same whenever it is made of the evidence.
    let judged = VerdictReport::from_store(&store, &study).await.unwrap();
    let VerdictReport::Bisect(report) = judged else {
        panic!("another verdict");
    };
    let [culprit] = &report.verdict.culprits[..] else {
        panic!("{:?}", report.verdict.culprits);
    };
    assert_eq!(history.versions[culprit.place.until].name, "9");
}
