//! A simulated measurer: every cell has a true mean and noise around it. The same seed and the same requests give the same
//! samples, so that policies are tried on thousands of simulated studies in seconds.

use backsight_model::{Failure, MetricName, MetricSamples, TrialRecord};
use backsight_policy::Request;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::{collections::HashSet, time::Duration};

use crate::{Measurement, Measurer, Unmeasurable};

/// A world of cells with known means.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// The metric that every trial gives.
    pub metric: MetricName,
    /// True mean by cell.
    pub means: Vec<f64>,
    /// Standard deviation of the noise, as a share of the mean.
    pub spread: f64,
    /// Requests that fail.
    pub failing: HashSet<Request>,
    /// Seed of the noise.
    pub seed: u64,
    /// Everything that was asked, in order.
    pub requests: Vec<Request>,
}

impl Measurer for Simulated {
    async fn measure(&mut self, request: Request) -> Result<Measurement, Unmeasurable> {
        self.requests.push(request);
        let mean = *self
            .means
            .get(request.cell)
            .ok_or_else(|| Unmeasurable(format!("this world has no cell {}", request.cell)))?;
        let place = (request.cell as u64) << 32 | u64::from(request.round);
        let mut random = ChaCha8Rng::seed_from_u64(self.seed ^ place.rotate_left(17));
        let value = mean * (1.0 + self.spread * gauss(&mut random));
        let outcome = if self.failing.contains(&request) {
            Err(Failure::of_trial("this trial fails in this world"))
        } else {
            Ok(vec![MetricSamples::new(
                self.metric.clone(),
                vec![value],
                Vec::new(),
            )])
        };
        Ok(Measurement::Trial(Box::new(TrialRecord {
            host: None,
            boot: 0,
            began: jiff::Timestamp::UNIX_EPOCH,
            took: Duration::from_secs(1),
            outcome,
            watched: Vec::new(),
            suite: None,
            steps: Vec::new(),
            core_files: Vec::new(),
            clocks: Vec::new(),
            meetings: Vec::new(),
            load: Vec::new(),
            warnings: Vec::new(),
            drawn: Default::default(),
        })))
    }
}

/// A standard normal deviate: Box and Muller (1958).
fn gauss(random: &mut impl rand::Rng) -> f64 {
    let radius: f64 = random.random::<f64>().max(f64::MIN_POSITIVE);
    let angle: f64 = random.random::<f64>();
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}
