//! From what a monitor printed to samples: the metrics that its definition declares, of which one may be many, one for
//! each thing that the monitor saw.
//!
//! Output that can't be read is a warning and fails no trial. A monitor can't give a metric of the benchmark.

use backsight_model::{
    DocumentError, Ending, Located, MetricName, Monitor, MonitorMetric, MonitorSample, Reduction,
    SeriesNames, StepRecord, TomlDocument,
};
use indexmap::IndexMap;

use crate::query::{JsonDocument, Query, QueryValue, with_deep_stack};
use crate::sampled_series::SampledSeries;
use crate::samples::{ExtractionError, place_in};

/// Most samples of one monitor on one host in one trial.
const MOST: usize = 4096;

/// Whether the programs of a monitor's metrics can be compiled.
///
/// # Errors
/// One can't; the problem points at the place.
pub(crate) fn check(monitor: &Monitor, document: &TomlDocument) -> Result<(), DocumentError> {
    for json in monitor.metrics.values().filter_map(|it| it.json.as_ref()) {
        if let Err(mistake) = Query::<0>::compile(json, []) {
            let place = place_in(document, json, mistake.place);
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
    let printed = &step.stdout.bytes;
    match monitor.sampler {
        Some(_) => of_series(monitor, &SampledSeries::read(printed)?, before),
        None => with_deep_stack(|| read(monitor, printed, before)).unwrap_or_else(Err),
    }
}

/// The metrics of a sampler's series.
fn of_series(
    monitor: &Monitor,
    sampled: &SampledSeries,
    before: &str,
) -> Result<Vec<MonitorSample>, String> {
    let mut samples = Vec::new();
    for (name, metric) in &monitor.metrics {
        let names = metric.series.as_ref().map_or(&[][..], SeriesNames::names);
        let per = metric.per.as_ref().map_or(&[][..], SeriesNames::names);
        let divisors = by_part(per, sampled, metric.sum);
        for (part, of_part) in by_part(names, sampled, metric.sum) {
            let divisors = divisors.get(&part).or_else(|| divisors.get(&None));
            let value = match (per, divisors) {
                ([], _) => reduced(metric.reduction, sampled, &of_part),
                (_, Some(divisors)) => ratio(sampled, &of_part, divisors),
                (_, None) => None,
            };
            let Some(value) = value else {
                continue;
            };
            let of = part.unwrap_or(monitor.name.as_str());
            let named = MetricName::new(format!("{before}{of}.{name}"));
            let named = named.map_err(|bad| format!("metric `{name}`: {bad}"))?;
            samples.push(sample(
                monitor,
                metric,
                named,
                value * metric.scale.unwrap_or(1.0),
            ));
            if samples.len() > MOST {
                return Err(format!(
                    "metric `{name}`: there are more than {MOST} samples"
                ));
            }
        }
    }
    Ok(samples)
}

/// Of the series that the metrics of a sampler name: whether each is a counter.
pub fn known_counters<'a>(
    monitor: &Monitor,
    sampled: &'a SampledSeries,
) -> IndexMap<&'a str, bool> {
    let mut known = IndexMap::new();
    for metric in monitor.metrics.values() {
        let is_counter = metric.per.is_some()
            || matches!(
                metric.reduction,
                Reduction::Rate | Reduction::Increase | Reduction::PeakRate
            );
        let names = [&metric.series, &metric.per].into_iter().flatten();
        for name in names.flat_map(SeriesNames::names) {
            let fitting = fitting_series(name, sampled).into_iter();
            known.extend(fitting.map(|series| (series, is_counter)));
        }
    }
    known
}

/// The series that fit these names, by the part that their `*` stands for; those without one, and all of a `sum`, under no part.
fn by_part<'a>(
    names: &[String],
    sampled: &'a SampledSeries,
    sum: bool,
) -> IndexMap<Option<&'a str>, Vec<&'a str>> {
    let mut found: IndexMap<Option<&str>, Vec<&str>> = IndexMap::new();
    for name in names {
        let fitting = sampled
            .series
            .keys()
            .filter_map(|series| match name.split_once('*') {
                Some((start, end)) => Some((Some(starred_part(series, start, end)?), series)),
                None => (series == name).then_some((None, series)),
            });
        for (part, series) in fitting {
            let part = part.filter(|_| !sum);
            found.entry(part).or_default().push(series);
        }
    }
    found
}

/// The series that a name fits, whatever its `*` stands for.
pub(crate) fn fitting_series<'a>(name: &str, sampled: &'a SampledSeries) -> Vec<&'a str> {
    let found = by_part(std::slice::from_ref(&name.to_owned()), sampled, true);
    found.into_values().flatten().collect()
}

/// The whole dotted part of the series' name that the `*` between `start` and `end` is in.
fn starred_part<'a>(series: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let star = series.strip_prefix(start)?.strip_suffix(end)?;
    if star.is_empty() || star.contains('.') {
        return None;
    }
    let from = start.rfind('.').map_or(0, |dot| dot + 1);
    let until = series.len() - end.len() + end.find('.').unwrap_or(end.len());
    series.get(from..until)
}

/// How much series rose for each that others did.
fn ratio(sampled: &SampledSeries, names: &[&str], per: &[&str]) -> Option<f64> {
    let of: f64 = sampled.increases(names).iter().sum();
    let by: f64 = sampled.increases(per).iter().sum();
    (by != 0.0).then(|| of / by)
}

/// The number that is made of series; none where there are too few samples for it.
fn reduced(reduction: Reduction, sampled: &SampledSeries, names: &[&str]) -> Option<f64> {
    let seconds = sampled.seconds(names);
    match reduction {
        Reduction::Rate | Reduction::Increase | Reduction::PeakRate if seconds <= 0.0 => None,
        Reduction::Rate => Some(sampled.increases(names).iter().sum::<f64>() / seconds),
        Reduction::Increase => Some(sampled.increases(names).iter().sum()),
        Reduction::PeakRate => {
            let spans = sampled
                .at_ns
                .windows(2)
                .map(|two| (two[1] - two[0]) as f64 / 1e9);
            let rates = sampled.increases(names).into_iter().zip(spans);
            rates.map(|(rise, span)| rise / span).reduce(f64::max)
        }
        level => {
            let levels = backsight_stats::Samples::new(sampled.levels(names)).ok()?;
            match level {
                Reduction::Min => Some(levels.min()),
                Reduction::Max => Some(levels.max()),
                Reduction::Median => levels.quantile(0.5),
                Reduction::P95 => levels.quantile(0.95),
                Reduction::P99 => levels.quantile(0.99),
                _ => Some(levels.amean()),
            }
        }
    }
}

fn read(monitor: &Monitor, printed: &[u8], before: &str) -> Result<Vec<MonitorSample>, String> {
    let document = JsonDocument::parse(printed)
        .map_err(|error| format!("what it printed isn't JSON: {error}"))?;
    let mut samples = Vec::new();
    for (name, metric) in &monitor.metrics {
        let fault = |why: String| format!("metric `{name}`: {why}");
        let json: &Located<String> = metric
            .json
            .as_ref()
            .ok_or_else(|| fault("it has no program".into()))?;
        let program = Query::<0>::compile(json, []);
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
    use backsight_model::{Phase, StepOutput};

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
            spawned: true,
            monitor: Some((*monitor.name).clone()),
            ending: Ending::Stopped,
            stdout: StepOutput::whole(printed),
            ..StepRecord::new("a".parse().unwrap(), "h".parse().unwrap(), Phase::Run)
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
    fn series_become_rates_levels_sums_and_ratios() {
        let definition = "name = 'm'\nabout = 'x'\nsampler = 'm'\n\
            [metric.switches]\nunit = 'switches/s'\nbetter = 'neither'\nseries = 'ctxt'\n\
            [metric.rise]\nunit = 'count'\nbetter = 'lower'\nseries = '*.rx'\nas = 'increase'\n\
            [metric.rise-of-all]\nunit = 'count'\nbetter = 'lower'\nseries = '*.rx'\nas = 'increase'\nsum = true\n\
            [metric.size]\nunit = '%'\nbetter = 'lower'\nseries = 'a.free'\nas = 'max'\nscale = 0.5\n\
            [metric.of-packet]\nunit = 'B'\nbetter = 'lower'\nseries = '*.rx'\nper = '*.packets'\n\
            [metric.top]\nunit = '%'\nbetter = 'lower'\nseries = 'ctxt'\nas = 'peak-rate'\n\
            [metric.absent]\nunit = 'count'\nbetter = 'lower'\nseries = 'nothing'\n";
        let printed = "{\"sampler\":0,\"name\":\"m\",\"series\":[\"ctxt\",\"lo.rx\",\"eth0.rx\",\"lo.packets\",\"a.free\"]}\n\
            [0,1000000000,100,10,20,1,7]\n[0,1000000000,50,6,4,3,1]\n[0,500000000,100,0,0,0,-4]\n";
        let found = samples_of(definition, printed, "dut.").unwrap();
        let named = |name: &str, value| (name.to_owned(), value);
        assert_eq!(
            found,
            [
                named("dut.m.switches", 100.0),
                named("dut.lo.rise", 6.0),
                named("dut.eth0.rise", 4.0),
                named("dut.m.rise-of-all", 10.0),
                named("dut.m.size", 4.0),
                named("dut.lo.of-packet", 2.0),
                named("dut.m.top", 200.0),
            ]
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
