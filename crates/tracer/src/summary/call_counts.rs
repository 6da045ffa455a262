//! A summary for programs: counts and times of each call, in seconds, as the monitor of system calls prints it.

use serde::{Serialize, Serializer};

use super::{CallStatistics, CallSummary};

/// Counts and times of the calls of a trial.
#[derive(Debug, Serialize)]
pub struct CallCounts {
    /// The engine that collected them.
    pub engine: &'static str,
    /// By the name of the call.
    #[serde(serialize_with = "as_map")]
    calls: Vec<(String, CallTimes)>,
    /// Of all of them.
    total: CallTimes,
    /// How many calls were lost: 0, unless something is wrong.
    pub lost: u64,
    /// Processes that ran already and couldn't be attached to: they belong to another user, or somebody else traces them.
    pub unwatched: Vec<String>,
}

/// How often a call was made and how long it took; times in seconds.
#[derive(Debug, Serialize)]
struct CallTimes {
    calls: u64,
    errors: u64,
    time: f64,
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

impl CallCounts {
    /// The counts of a summary.
    pub fn new(
        summary: &CallSummary,
        engine: &'static str,
        lost: u64,
        unwatched: Vec<String>,
    ) -> Self {
        let calls = summary.calls().into_iter();
        Self {
            engine,
            calls: calls
                .map(|(name, statistics)| (metric_name(&name), CallTimes::new(&statistics)))
                .collect(),
            total: CallTimes::new(&summary.total()),
            lost,
            unwatched,
        }
    }
}

impl CallTimes {
    fn new(statistics: &CallStatistics) -> Self {
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        Self {
            calls: statistics.calls,
            errors: statistics.errors,
            time: seconds(statistics.total),
            mean: seconds(statistics.mean()),
            p50: seconds(statistics.quantile(0.5)),
            p90: seconds(statistics.quantile(0.9)),
            p99: seconds(statistics.quantile(0.99)),
            max: seconds(statistics.most),
        }
    }
}

/// A call's name as a part of a metric's.
fn metric_name(name: &str) -> String {
    name.replace(" (32 bit)", "-32")
}

fn as_map<S: Serializer>(calls: &[(String, CallTimes)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(calls.iter().map(|(name, times)| (name, times)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_32_bit_programs_have_names_that_metrics_may_have() {
        assert_eq!(metric_name("read (32 bit)"), "read-32");
        assert_eq!(metric_name("openat"), "openat");
    }
}
