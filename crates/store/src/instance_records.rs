//! What several hosts did beside each other in the trials of a study: the samples of each, how exactly they began and passed
//! barriers together, and what their clocks were ahead of the controller's.

use backsight_model::{
    BenchmarkName, Cell, CellMetric, HostClock, InstanceSamples, Meeting, MeetingKind, MetricName,
    Skew,
};
use indexmap::IndexMap;
use std::{collections::HashMap, ops::RangeInclusive};

use crate::{
    Store, StoreError, StudyId,
    packed::{SampleKey, SampleKind},
    query::query,
};

/// The numbers of all trials of a study.
pub const ALL_TRIALS: RangeInclusive<u32> = 0..=u32::MAX;

/// What hosts that play a role together measured, by trial and metric.
pub type InstanceSamplesByTrial = IndexMap<(u32, MetricName), Vec<InstanceSamples>>;

/// What hosts did beside each other in the trials of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceRecords {
    /// The study's cells, in the plan's order.
    pub cells: Vec<Cell>,
    /// The metrics of each benchmark.
    pub metrics: IndexMap<BenchmarkName, Vec<CellMetric>>,
    /// The cell of each trial.
    pub cell_of: HashMap<u32, usize>,
    /// The samples of each host of a role that several play.
    pub samples: InstanceSamplesByTrial,
    /// How exactly programs began and passed barriers together, by trial.
    pub meetings: Vec<(u32, Meeting)>,
    /// The clocks of hosts that don't have the controller's, by trial.
    pub clocks: Vec<(u32, HostClock)>,
}

/// What hosts did beside each other in one trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrialInstances {
    /// The samples of each host of a role that several play, by metric.
    pub samples: Vec<(MetricName, Vec<InstanceSamples>)>,
    /// How exactly programs began and passed barriers together.
    pub meetings: Vec<Meeting>,
    /// The clocks of hosts that don't have the controller's.
    pub clocks: Vec<HostClock>,
}

impl InstanceRecords {
    /// The records of each trial.
    pub fn into_trials(self) -> HashMap<u32, TrialInstances> {
        let mut trials: HashMap<u32, TrialInstances> = HashMap::new();
        for ((trial, metric), samples) in self.samples {
            trials
                .entry(trial)
                .or_default()
                .samples
                .push((metric, samples));
        }
        for (trial, meeting) in self.meetings {
            trials.entry(trial).or_default().meetings.push(meeting);
        }
        for (trial, clock) in self.clocks {
            trials.entry(trial).or_default().clocks.push(clock);
        }
        trials
    }
}

impl Store {
    /// What hosts did beside each other in a study; none where each trial had one host with the controller's clock.
    ///
    /// # Errors
    /// The store's own.
    pub async fn instance_records(
        &self,
        study: StudyId,
    ) -> Result<Option<InstanceRecords>, StoreError> {
        let samples = self.instance_samples(study, ALL_TRIALS).await?;
        let meetings = self.meetings(study, &ALL_TRIALS).await?;
        let clocks = self.host_clocks(study, &ALL_TRIALS).await?;
        if samples.is_empty() && meetings.is_empty() && clocks.is_empty() {
            return Ok(None);
        }
        let mut cell_of = HashMap::new();
        let query = query("SELECT number, cell FROM trial WHERE study = $1");
        let db = &self.database;
        db.each_row(query.bind(study.0), |row| {
            cell_of.insert(db.whole(row, "number")?, db.whole(row, "cell")?);
            Ok(())
        })
        .await?;
        Ok(Some(InstanceRecords {
            cells: self.cells(study).await?,
            metrics: self.metrics(study).await?,
            cell_of,
            samples,
            meetings,
            clocks,
        }))
    }

    /// What hosts did beside each other in one trial.
    ///
    /// # Errors
    /// The store's own.
    pub async fn trial_instances(
        &self,
        study: StudyId,
        trial: u32,
    ) -> Result<TrialInstances, StoreError> {
        let mut trials = self.instances_of_trials(study, trial..=trial).await?;
        Ok(trials.remove(&trial).unwrap_or_default())
    }

    /// What hosts did beside each other in the trials with these numbers.
    ///
    /// # Errors
    /// The store's own.
    pub async fn instances_of_trials(
        &self,
        study: StudyId,
        trials: RangeInclusive<u32>,
    ) -> Result<HashMap<u32, TrialInstances>, StoreError> {
        let records = InstanceRecords {
            cells: Vec::new(),
            metrics: IndexMap::new(),
            cell_of: HashMap::new(),
            meetings: self.meetings(study, &trials).await?,
            clocks: self.host_clocks(study, &trials).await?,
            samples: self.instance_samples(study, trials).await?,
        };
        Ok(records.into_trials())
    }

    /// The clocks of hosts that didn't have the controller's when a trial began, in the order of trials and of their names.
    ///
    /// # Errors
    /// The store's own.
    async fn host_clocks(
        &self,
        study: StudyId,
        trials: &RangeInclusive<u32>,
    ) -> Result<Vec<(u32, HostClock)>, StoreError> {
        let query = query(
            "SELECT trial, host, ahead, uncertainty FROM host_clock \
             WHERE study = $1 AND trial BETWEEN $2 AND $3 ORDER BY trial, host",
        );
        let (from, to) = (i64::from(*trials.start()), i64::from(*trials.end()));
        let db = &self.database;
        let rows = db.rows(query.bind(study.0).bind(from).bind(to)).await?;
        rows.iter()
            .map(|row| {
                let clock = HostClock {
                    host: db.parsed(row, "host", "a host's name")?,
                    ahead_ns: db.column(row, "ahead")?,
                    uncertainty_ns: db.whole(row, "uncertainty")?,
                };
                Ok((db.whole(row, "trial")?, clock))
            })
            .collect()
    }

    /// How exactly programs began and passed barriers together, in the order of trials.
    ///
    /// # Errors
    /// The store's own.
    async fn meetings(
        &self,
        study: StudyId,
        trials: &RangeInclusive<u32>,
    ) -> Result<Vec<(u32, Meeting)>, StoreError> {
        let query = query(
            "SELECT trial, kind, role, name, parties, times, median, p99, largest FROM meeting \
             WHERE study = $1 AND trial BETWEEN $2 AND $3 ORDER BY trial, position",
        );
        let (from, to) = (i64::from(*trials.start()), i64::from(*trials.end()));
        let db = &self.database;
        let rows = db.rows(query.bind(study.0).bind(from).bind(to)).await?;
        rows.iter()
            .map(|row| {
                let kind: String = db.column(row, "kind")?;
                let skew = |name| -> Result<Option<u64>, StoreError> {
                    let stored: Option<i64> = db.column(row, name)?;
                    Ok(stored.map(i64::unsigned_abs))
                };
                let skew = (skew("median")?, skew("p99")?, skew("largest")?);
                let meeting = Meeting {
                    // A kind of a later version is something that was passed together.
                    kind: MeetingKind::from_name(&kind).unwrap_or(MeetingKind::Barrier),
                    role: db.parsed_if_any(row, "role", "a role's name")?,
                    name: db.column(row, "name")?,
                    parties: db.whole(row, "parties")?,
                    times: db.whole(row, "times")?,
                    skew: match skew {
                        (Some(median_ns), Some(p99_ns), Some(largest_ns)) => Some(Skew {
                            median_ns,
                            p99_ns,
                            largest_ns,
                        }),
                        _ => None,
                    },
                };
                Ok((db.whole(row, "trial")?, meeting))
            })
            .collect()
    }

    /// What each of several hosts that play a role measured, by trial and metric, in the order of the trials. Nothing of roles that
    /// one host plays.
    ///
    /// # Errors
    /// The store's own.
    pub async fn instance_samples(
        &self,
        study: StudyId,
        trials: RangeInclusive<u32>,
    ) -> Result<InstanceSamplesByTrial, StoreError> {
        let query = query(
            "SELECT m.name, s.trial, s.metric, s.host, s.measured, s.measured_checksum, s.within, s.within_checksum \
             FROM instance_sample s \
             JOIN trial t ON t.study = s.study AND t.number = s.trial \
             JOIN cell c ON c.study = t.study AND c.number = t.cell \
             JOIN metric m ON m.study = s.study AND m.benchmark = c.benchmark AND m.position = s.metric \
             WHERE s.study = $1 AND s.trial BETWEEN $2 AND $3 ORDER BY s.trial, s.metric, s.position",
        );
        let (from, to) = (i64::from(*trials.start()), i64::from(*trials.end()));
        let db = &self.database;
        let mut found = InstanceSamplesByTrial::new();
        db.each_row(query.bind(study.0).bind(from).bind(to), |row| {
            let trial: u32 = db.whole(row, "trial")?;
            let metric: MetricName = db.parsed(row, "name", "a metric's name")?;
            let key = SampleKey {
                study: study.0,
                trial: i64::from(trial),
                metric: db.column(row, "metric")?,
            };
            let samples = InstanceSamples {
                host: db.parsed(row, "host", "a host's name")?,
                values: self.sound_samples(row, key, SampleKind::Measured)?,
                each: self.sound_samples(row, key, SampleKind::Within)?,
            };
            found.entry((trial, metric)).or_default().push(samples);
            Ok(())
        })
        .await?;
        Ok(found)
    }
}
