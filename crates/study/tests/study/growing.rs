//! A study whose cells are made as it goes.

use backsight_conductor::Events;
use backsight_model::{Better, Cell, CellMetric, MetricName, OnFailure, StudyName, Unit, Value};
use backsight_policy::{Decision, Evidence, Policy, Request};
use backsight_store::{NewStudy, Store, StudyId};
use backsight_study::{
    Measurement, Measurer, Simulated, StudyLoopError, StudySetup, Unmeasurable,
    evidence_with_figures, run_study_loop,
};

/// Asks for four cells, one after the other; what the next is follows from what the last one measured.
#[derive(Clone)]
struct Growing;

pub fn cell(at: i64) -> Cell {
    Cell {
        benchmark: "climb".parse().unwrap(),
        params: [("at".parse().unwrap(), Value::Integer(at))].into(),
        chosen: vec!["at".parse().unwrap()],
        variant: "default".parse().unwrap(),
        monitors: None,
    }
}

impl Policy for Growing {
    type Verdict = Vec<f64>;

    fn decide(&self, evidence: &Evidence) -> Decision<Vec<f64>> {
        match evidence.observations.len() {
            4 => Decision::Done(
                evidence
                    .observations
                    .iter()
                    .map(|o| o.figures["value"])
                    .collect(),
            ),
            made => Decision::Measure(Request::as_found(made, 1)),
        }
    }

    fn remaining_trials(&self, evidence: &Evidence) -> usize {
        4 - evidence.observations.len()
    }

    fn cell(&self, evidence: &Evidence, _request: Request) -> Option<Cell> {
        let last = evidence.observations.last();
        Some(cell(last.map_or(0, |o| o.figures["value"] as i64)))
    }
}

/// A world that ends before its `trials`th trial, and learns of its cells.
struct Ending {
    world: Simulated,
    trials: usize,
    learnt: Vec<Cell>,
}

impl Measurer for Ending {
    fn add_cell(&mut self, cell: Cell) {
        self.learnt.push(cell);
    }

    async fn measure(&mut self, request: Request) -> Result<Measurement, Unmeasurable> {
        if self.world.requests.len() + 1 == self.trials {
            return Err(Unmeasurable("this world has ended".into()));
        }
        self.world.measure(request).await
    }
}

async fn ended(
    store: &Store,
    id: StudyId,
    trials: usize,
) -> Result<(Option<Vec<f64>>, Ending), StudyLoopError> {
    let evidence = evidence_with_figures(store, id).await.unwrap();
    let study = StudySetup {
        id,
        name: StudyName::new("s").unwrap(),
        cells: store.cells(id).await.unwrap(),
        rounds: 1,
        seed: 1,
        on_failure: OnFailure::GoOn,
        versions: Vec::new(),
        trials: evidence.observations.len() as u32,
        testbeds: Vec::new(),
        boots: None,
    };
    let world = Simulated {
        metric: MetricName::new("value").unwrap(),
        means: vec![10.0, 20.0, 30.0, 40.0],
        spread: 0.0,
        failing: Default::default(),
        seed: 1,
        requests: Vec::new(),
    };
    let mut ending = Ending {
        world,
        trials,
        learnt: Vec::new(),
    };
    let progress = run_study_loop(
        &Growing,
        study,
        evidence,
        store,
        std::slice::from_mut(&mut ending),
        &Events::default(),
    )
    .await?;
    Ok((progress.verdict, ending))
}

#[tokio::test]
async fn cells_grow_while_a_study_is_pursued_and_are_the_same_after_it_was_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store")).await.unwrap();
    let shape = CellMetric {
        name: "value".parse().unwrap(),
        unit: Unit::parse("s").unwrap(),
        better: Better::Lower,
        about: String::new(),
        primary: true,
        monitor: None,
        simulator: None,
    };
    let id = store
        .create_study(&NewStudy {
            name: "s".parse().unwrap(),
            verb: "search".into(),
            documents: Vec::new(),
            arguments: String::new(),
            seed: 1,
            cells: Vec::new(),
            metrics: [("climb".parse().unwrap(), vec![shape])].into(),
            questions: Vec::new(),
            target: None,
        })
        .await
        .unwrap();
    // It ends when the third cell was made and not measured yet.
    let (verdict, first) = ended(&store, id, 3).await.unwrap();
    assert_eq!(verdict, None);
    assert_eq!(first.learnt, [cell(0), cell(10), cell(20)]);
    assert_eq!(store.cells(id).await.unwrap(), first.learnt);

    let (verdict, second) = ended(&store, id, 100).await.unwrap();
    assert_eq!(verdict, Some(vec![10.0, 20.0, 30.0, 40.0]));
    assert_eq!(
        second.world.requests,
        [Request::as_found(2, 1), Request::as_found(3, 1)]
    );
    assert_eq!(
        second.learnt,
        [cell(30)],
        "a cell that is there isn't made again"
    );
    let cells = store.cells(id).await.unwrap();
    assert_eq!(cells, [cell(0), cell(10), cell(20), cell(30)]);
}
