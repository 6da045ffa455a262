//! Several measurers at once.

use backsight_conductor::Events;
use backsight_model::{
    BootRecord, CellMetric, Layout, LayoutKind, MetricName, OnFailure, StudyName,
};
use backsight_policy::{Decision, Evidence, Policy, Request};
use backsight_store::{NewStudy, Store};
use backsight_study::{Measurement, Measurer, Simulated, StudySetup, Unmeasurable, run_study_loop};
use std::{collections::HashMap, time::Duration};

/// Wants each testbed to measure the version after the one that the other testbed is at, until there are six trials.
#[derive(Clone)]
struct Evasive;

impl Policy for Evasive {
    type Verdict = usize;

    fn decide(&self, _evidence: &Evidence) -> Decision<usize> {
        unreachable!("it is asked for a testbed")
    }

    fn decide_for_testbed(
        &self,
        evidence: &Evidence,
        testbed: usize,
        under_way: &[Request],
    ) -> Option<Decision<usize>> {
        let made = evidence.observations.len();
        if made >= 6 {
            return under_way.is_empty().then_some(Decision::Done(made));
        }
        let after = |other: &Request| (other.version + 1) % VERSIONS;
        Some(Decision::Measure(Request {
            testbed,
            version: under_way.first().map_or(0, after),
            boot: 1,
            ..Request::as_found(0, (1 + 2 * made + testbed) as u32)
        }))
    }

    fn remaining_trials(&self, evidence: &Evidence) -> usize {
        6_usize.saturating_sub(evidence.observations.len())
    }
}

const VERSIONS: usize = 3;

/// A world in which a version is booted before it is measured.
struct Booting {
    world: Simulated,
    booted: Option<usize>,
    boots: u32,
}

impl Measurer for Booting {
    async fn measure(&mut self, request: Request) -> Result<Measurement, Unmeasurable> {
        // What others do has its turn while this boots or measures.
        tokio::task::yield_now().await;
        if self.booted == Some(request.version) {
            return self.world.measure(request).await;
        }
        self.boots += 1;
        if self.boots > 100 {
            return Err(Unmeasurable("it boots for ever".into()));
        }
        self.booted = Some(request.version);
        Ok(Measurement::Booted(Box::new(BootRecord {
            guests: Default::default(),
            testbed: request.testbed,
            version: request.version,
            layout: Layout {
                kind: LayoutKind::Kept,
                seed: 0,
            },
            ordinal: request.boot,
            failure: None,
            began: jiff::Timestamp::UNIX_EPOCH,
            took: Duration::ZERO,
            facts: Default::default(),
            log: Vec::new(),
        })))
    }
}

#[tokio::test]
async fn what_is_booted_is_measured_whatever_the_other_testbed_does_by_then() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store")).await.unwrap();
    let value = MetricName::new("value").unwrap();
    let cell = crate::growing::cell(0);
    let shape = CellMetric {
        name: value.clone(),
        unit: backsight_model::Unit::parse("s").unwrap(),
        better: backsight_model::Better::Lower,
        about: String::new(),
        primary: true,
        monitor: None,
        simulator: None,
    };
    let id = store
        .create_study(&NewStudy {
            name: "s".parse().unwrap(),
            verb: "bisect".into(),
            documents: Vec::new(),
            arguments: String::new(),
            seed: 1,
            cells: vec![cell.clone()],
            metrics: [("climb".parse().unwrap(), vec![shape])].into(),
            questions: Vec::new(),
            target: None,
        })
        .await
        .unwrap();
    // They are in the store already, as after a resume.
    let places = (0..2).flat_map(|testbed| (0..VERSIONS).map(move |v| (testbed, v, 0, 1)));
    let boots: HashMap<_, u32> = places.zip(1..).collect();
    let study = StudySetup {
        id,
        name: StudyName::new("s").unwrap(),
        cells: vec![cell],
        rounds: 1,
        seed: 1,
        on_failure: OnFailure::GoOn,
        versions: Vec::new(),
        trials: 0,
        testbeds: Vec::new(),
        boots: Some(boots),
    };
    let booting = || Booting {
        world: Simulated {
            metric: value.clone(),
            means: vec![10.0],
            spread: 0.0,
            failing: Default::default(),
            seed: 1,
            requests: Vec::new(),
        },
        booted: None,
        boots: 0,
    };
    let mut measurers = [booting(), booting()];
    let events = Events::default();
    let progress = run_study_loop(
        &Evasive,
        study,
        Evidence::default(),
        &store,
        &mut measurers,
        &events,
    );
    let progress = progress.await.unwrap();
    assert_eq!(progress.stopped, None);
    assert!(progress.verdict >= Some(6));
    for one in measurers {
        assert!(one.world.requests.len() >= 2 && one.boots as usize <= one.world.requests.len());
    }
}
