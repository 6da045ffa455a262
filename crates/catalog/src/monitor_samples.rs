//! From what a monitor printed to samples: the metrics that its definition declares, of which one may be many, one for
//! each thing that the monitor saw.
//!
//! Output that can't be read is a warning and fails no trial. A monitor can't give a metric of the benchmark.

use backsight_model::{
    DocumentError, Ending, MetricName, Monitor, MonitorMetric, MonitorSample, StepRecord,
    TomlDocument,
};

use crate::query::{JsonDocument, Query, QueryValue, with_deep_stack};
use crate::samples::{ExtractionError, place_in};

/// Most samples of one monitor on one host in one trial.
const MOST: usize = 4096;

/// Whether the programs of a monitor's metrics can be compiled.
///
/// # Errors
/// One can't; the problem points at the place.
pub(crate) fn check(monitor: &Monitor, document: &TomlDocument) -> Result<(), DocumentError> {
    for metric in monitor.metrics.values() {
        if let Err(mistake) = Query::<0>::compile(&metric.json, []) {
            let place = place_in(document, &metric.json, mistake.place);
            return Err(document.problem(place, mistake.message, "here", mistake.help));
        }
    }
    Ok(())
}

/// The samples of what a monitor printed until it was stopped; of one that ended otherwise there are none. `before` stands
/// before each name.
pub(crate) fn of_step(
    monitor: &Monitor,
    step: &StepRecord,
    before: &str,
) -> Result<Vec<MonitorSample>, String> {
    if monitor.metrics.is_empty() || step.ending != Ending::Stopped {
        return Ok(Vec::new());
    }
    with_deep_stack(|| read(monitor, &step.stdout.bytes, before)).unwrap_or_else(Err)
}

fn read(monitor: &Monitor, printed: &[u8], before: &str) -> Result<Vec<MonitorSample>, String> {
    let document = JsonDocument::parse(printed)
        .map_err(|error| format!("what it printed isn't JSON: {error}"))?;
    let mut samples = Vec::new();
    for (name, metric) in &monitor.metrics {
        let fault = |why: String| format!("metric `{name}`: {why}");
        let program = Query::<0>::compile(&metric.json, []);
        let program = program.map_err(|mistake| fault(mistake.message))?;
        let found = program.found(&document, []);
        let found = found.map_err(|why| fault(ExtractionError::from(why).to_string()))?;
        for found in &found {
            let found = numbers(monitor, name, found, before).map_err(fault)?;
            samples.extend(
                found
                    .into_iter()
                    .map(|(name, value)| sample(monitor, metric, name, value)),
            );
            if samples.len() > MOST {
                return Err(fault(format!("there are more than {MOST} samples")));
            }
        }
    }
    Ok(samples)
}

/// What was found, by the names of metrics.
fn numbers(
    monitor: &Monitor,
    name: &MetricName,
    found: &QueryValue,
    before: &str,
) -> Result<Vec<(MetricName, f64)>, String> {
    let one = |of: &str, found: &QueryValue| {
        let value = match found {
            QueryValue::Nothing => return Ok(None),
            QueryValue::Whole(number) => *number as f64,
            QueryValue::Number(number) if number.is_finite() => *number,
            _ => return Err(format!("`{of}` isn't a finite number")),
        };
        let name = MetricName::new(format!("{before}{of}.{name}"));
        Ok(Some((name.map_err(|bad| bad.to_string())?, value)))
    };
    match found {
        QueryValue::Table(entries) => {
            let found = entries.iter().map(|(key, found)| one(key, found));
            found.filter_map(Result::transpose).collect()
        }
        found => Ok(one(monitor.name.as_str(), found)?.into_iter().collect()),
    }
}

fn sample(
    monitor: &Monitor,
    metric: &MonitorMetric,
    name: MetricName,
    value: f64,
) -> MonitorSample {
    MonitorSample {
        monitor: (*monitor.name).clone(),
        metric: name,
        unit: metric.unit,
        better: metric.better,
        about: metric.about.clone(),
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{HostName, Phase, ResourceUsage, RoleName, StepOutput};

    const COUNTS: &str = "name = 'm'\nabout = 'x'\nrun = 'x'\n[metric.calls]\nunit = 'calls'\nbetter = 'lower'\njson = '(.of | map_values(.n)), .all'\n";

    fn samples_of(
        definition: &str,
        printed: &str,
        before: &str,
    ) -> Result<Vec<(String, f64)>, String> {
        let document = TomlDocument::new("m.toml", definition);
        let monitor = Monitor::read(&document).unwrap();
        check(&monitor, &document).unwrap();
        let step = StepRecord {
            role: RoleName::new("a").unwrap(),
            host: HostName::new("h").unwrap(),
            phase: Phase::Run,
            number: 0,
            command: String::new(),
            spawned: true,
            monitor: Some((*monitor.name).clone()),
            began: jiff::Timestamp::UNIX_EPOCH,
            began_monotonic: 0,
            ending: Ending::Stopped,
            usage: ResourceUsage::default(),
            stdout: StepOutput {
                bytes: printed.into(),
                printed: printed.len() as u64,
            },
            stderr: StepOutput::default(),
        };
        let samples = of_step(&monitor, &step, before)?;
        let named = |watched: MonitorSample| (watched.metric.to_string(), watched.value);
        Ok(samples.into_iter().map(named).collect())
    }

    #[test]
    fn an_object_is_a_metric_for_each_key_and_a_number_one_of_the_monitor() {
        let printed =
            r#"{"of": {"read": {"n": 3}, "no": {"n": null}, "write": {"n": 2.5}}, "all": 7}"#;
        let named = |name: &str, value| (name.to_owned(), value);
        assert_eq!(
            samples_of(COUNTS, printed, ""),
            Ok(vec![
                named("read.calls", 3.0),
                named("write.calls", 2.5),
                named("m.calls", 7.0)
            ])
        );
        assert_eq!(
            samples_of(COUNTS, printed, "client.").unwrap()[2],
            named("client.m.calls", 7.0)
        );
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (printed, said) in [
            ("", "isn't JSON"),
            ("{} oops", "isn't JSON"),
            (r#"{"of": {"a b": {"n": 1}}}"#, "is not a name"),
            (r#"{"of": {"a": {"n": "1"}}}"#, "`a` isn't a finite number"),
            (r#"{"of": 3}"#, "metric `calls`"),
        ] {
            let fault = samples_of(COUNTS, printed, "").unwrap_err();
            assert!(fault.contains(said), "{printed}: {fault}");
        }
        let many: Vec<String> = (0..5000)
            .map(|n| format!("\"c{n}\": {{\"n\": 1}}"))
            .collect();
        let fault = samples_of(COUNTS, &format!("{{\"of\": {{{}}}}}", many.join(",")), "");
        assert!(fault.unwrap_err().contains("more than 4096 samples"));
    }

    #[test]
    fn a_program_that_is_none_is_pointed_at() {
        let document = TomlDocument::new("m.toml", COUNTS.replace("map_values", "mpa_values"));
        let monitor = Monitor::read(&document).unwrap();
        let problem = check(&monitor, &document).unwrap_err();
        assert_eq!(problem.place(), (7, 16), "{problem}");
    }
}
