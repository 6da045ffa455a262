//! Measuring on real hosts.

use backsight_catalog::Catalog;
use backsight_conductor::{Conductor, TrialOutcome as Conducted};
use backsight_model::Cell;
use backsight_policy::Request;
use std::sync::Arc;
use tokio::sync::watch;

use crate::{Measurement, Measurer, Unmeasurable};

/// A testbed that is ours, with an agent on each host.
pub struct TestbedMeasurer {
    /// Its conductor.
    pub conductor: Conductor,
    /// The definitions, which know how output becomes samples.
    pub catalog: Arc<Catalog>,
    /// The cells, by number.
    pub cells: Vec<Cell>,
    /// Becomes true when the user wants to stop.
    pub stop: watch::Receiver<bool>,
    /// Whether its trials say where they were measured, because others measure at once.
    pub names_testbed: bool,
}

impl Measurer for TestbedMeasurer {
    fn add_cell(&mut self, cell: Cell) {
        self.cells.push(cell);
    }

    async fn measure(&mut self, request: Request) -> Result<Measurement, Unmeasurable> {
        if *self.stop.borrow() {
            return Ok(Measurement::Interrupted);
        }
        let cell = &self.cells[request.cell];
        match self
            .conductor
            .trial(&self.catalog, cell, self.stop.clone())
            .await
        {
            Ok(Conducted::Trial(mut record)) => {
                let mut hosts = self.conductor.arrangement().hosts();
                record.host = hosts.next().filter(|_| self.names_testbed).cloned();
                Ok(Measurement::Trial(record))
            }
            Ok(Conducted::Interrupted) => Ok(Measurement::Interrupted),
            Err(error) => Err(Unmeasurable(error.to_string())),
        }
    }
}
