//! Every definition against what its real program printed. Beside a recorded `fixtures/BENCHMARK/OUTPUT.txt` an `OUTPUT.toml`
//! says what a person reads in it: see [`expectation`].
#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod expectation;

use backsight_catalog::{Catalog, ExtractionError, TrialSamplesError, lint};
use backsight_model::{
    BenchmarkName, HostName, MetricName, OutputSource, Parser, Phase, StepOutput, StepRecord,
};
use expectation::{Expectation, ExpectedSample, ExpectedTests, Fixture, Reading, fixtures};
use indexmap::IndexMap;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

fn name(text: &str) -> BenchmarkName {
    BenchmarkName::new(text).expect("a name")
}

fn step(source: &OutputSource, printed: Vec<u8>, expected: &Expectation) -> StepRecord {
    let printed = StepOutput::whole(printed);
    let (stdout, stderr) = if source.stderr {
        (StepOutput::default(), printed)
    } else {
        (printed, StepOutput::default())
    };
    StepRecord {
        usage: expected.usage.into(),
        stdout,
        stderr,
        ..StepRecord::new(
            source.role.clone(),
            HostName::new("here").expect("a name"),
            source.phase,
        )
    }
}

/// The steps that printed this fixture's output: the one source that is read, unless the fixture says which file has which. A step
/// of which only the resources count printed nothing.
fn steps(catalog: &Catalog, fixture: &Fixture) -> Vec<StepRecord> {
    let definition = catalog.find(&name(&fixture.benchmark)).unwrap();
    let benchmark = &definition.expect(&fixture.benchmark).benchmark;
    let mut sources: IndexMap<&OutputSource, bool> = IndexMap::new();
    for metric in benchmark.metrics.values() {
        *sources.entry(&metric.from).or_default() |= !matches!(metric.parser, Parser::Resource(_));
    }
    let read = |file: &str| fs::read(fixture.folder.join(file)).expect(file);
    let expected = &fixture.expected;
    let mut read_sources = sources.iter().filter(|(_, is_read)| **is_read);
    let files: BTreeMap<String, String> = match (read_sources.next(), read_sources.next()) {
        (Some((only, _)), None) if expected.outputs.is_empty() => {
            [(only.to_string(), fixture.output.clone())].into()
        }
        _ => expected.outputs.clone(),
    };
    for (source, _) in sources.iter().filter(|(_, is_read)| **is_read) {
        let source = source.to_string();
        assert!(
            files.contains_key(&source),
            "{fixture}: which file is {source}?"
        );
    }
    let of_source = |source: &&OutputSource| {
        let printed = files.get(&source.to_string()).map(|file| read(file));
        step(source, printed.unwrap_or_default(), expected)
    };
    sources.keys().map(of_source).collect()
}

#[test]
fn every_recorded_output_yields_what_a_person_reads_in_it() {
    let catalog = Catalog::load(&[]).unwrap();
    for fixture in fixtures() {
        match &fixture.expected.reading {
            Reading::Samples(expected) => check_samples(&catalog, &fixture, expected),
            Reading::Tests(expected) => check_tests(&catalog, &fixture, expected),
            Reading::Missing { metric, message } => {
                check_missing(&catalog, &fixture, metric, message);
            }
        }
    }
}

fn check_samples(
    catalog: &Catalog,
    fixture: &Fixture,
    expected: &IndexMap<MetricName, ExpectedSample>,
) {
    let steps = steps(catalog, fixture);
    let (found, _) = catalog
        .samples(&name(&fixture.benchmark), &steps)
        .unwrap_or_else(|e| panic!("{fixture}: {e}"));
    let names = |names: &mut dyn Iterator<Item = &MetricName>| Vec::from_iter(names.cloned());
    assert_eq!(
        names(&mut found.iter().map(|samples| &samples.metric)),
        names(&mut expected.keys()),
        "{fixture}"
    );
    for (found, expected) in found.iter().zip(expected.values()) {
        let place = format!("{fixture}: {}", found.metric);
        assert_eq!(found.values.len(), 1, "{place}");
        close(found.values[0], expected.value(), &place);
        let each = expected.each();
        assert_eq!(found.each.len(), each.len(), "{place}: {:?}", found.each);
        (found.each.iter().zip(each)).for_each(|(found, expected)| close(*found, expected, &place));
    }
}

/// Equal but for the rounding of a conversion between units.
fn close(found: f64, expected: f64, place: &str) {
    assert!(
        (found - expected).abs() <= expected.abs() * 1e-12,
        "{place}: {found} instead of {expected}"
    );
}

/// Of some suites only a part is recorded: whole scripts of git, of kselftest's timers the lines that are results, of zlib, zstd,
/// openssl and postgresql a few results with the lines around them, of strace the results and their summary.
fn check_tests(catalog: &Catalog, fixture: &Fixture, expected: &ExpectedTests) {
    let suite = name(&fixture.benchmark);
    let definition = catalog.find(&suite).unwrap().unwrap();
    let results = definition.benchmark.results.as_ref();
    let results = results.expect(&fixture.benchmark);
    let text = fs::read(fixture.folder.join(&fixture.output)).expect(&fixture.output);
    let mut steps = vec![step(&results.from, text, &fixture.expected)];
    let ran = OutputSource {
        phase: Phase::Run,
        ..results.from.clone()
    };
    if results.from != ran {
        steps.insert(0, step(&ran, Vec::new(), &fixture.expected));
    }
    let (samples, run) = catalog.samples(&suite, &steps).expect(&fixture.output);
    let run = run.expect(&fixture.benchmark);
    assert_eq!(
        (run.complete, &run.problems[..]),
        (true, &[][..]),
        "{fixture}"
    );
    let count = |metric: &str| {
        let found = samples
            .iter()
            .find(|sample| sample.metric.as_str() == metric);
        found.expect(metric).values[0]
    };
    let found = ExpectedTests {
        failed: count("failed"),
        passed: count("passed"),
        skipped: count("skipped"),
        notrun: count("notrun"),
    };
    assert_eq!(&found, expected, "{fixture}: {:?}", run.results);
}

/// The output of a run that went wrong, mostly with status 0, is an error that says why.
fn check_missing(catalog: &Catalog, fixture: &Fixture, metric: &MetricName, message: &str) {
    match catalog.samples(&name(&fixture.benchmark), &steps(catalog, fixture)) {
        Err(TrialSamplesError::Metric(error)) => {
            assert_eq!(&error.metric, metric, "{fixture}");
            assert!(
                matches!(
                    error.fault,
                    ExtractionError::Nothing | ExtractionError::Program(_)
                ),
                "{error}"
            );
            let text = error.to_string();
            assert!(text.contains(message), "{fixture}: {error}");
            assert!(!text.contains(|c: char| c.is_control()), "{error}");
        }
        other => panic!("{fixture}: {other:?}"),
    }
}

#[test]
fn every_definition_has_a_recording_of_a_good_run() {
    let catalog = Catalog::load(&[]).unwrap();
    let good = fixtures()
        .into_iter()
        .filter(|fixture| !matches!(fixture.expected.reading, Reading::Missing { .. }));
    let good: BTreeSet<String> = good.map(|fixture| fixture.benchmark).collect();
    let defined = catalog.names();
    let defined: BTreeSet<String> = defined.iter().map(ToString::to_string).collect();
    assert_eq!(good, defined);
}

#[test]
fn no_benchmark_of_the_catalogue_gets_advice() {
    let catalog = Catalog::load(&[]).unwrap();
    for benchmark in catalog.names() {
        let definition = catalog.find(&benchmark).unwrap().unwrap();
        if definition.benchmark.results.is_none() {
            assert_eq!(lint(&definition.benchmark), [], "{benchmark}");
        }
    }
}

#[test]
fn every_definition_explains_itself() {
    let catalog = Catalog::load(&[]).unwrap();
    for benchmark in catalog.names() {
        let definition = catalog.find(&benchmark).unwrap().unwrap();
        let benchmark = &definition.benchmark;
        assert!(!benchmark.about.is_empty(), "{}", benchmark.name);
        assert!(benchmark.needs.contains_key("debian"), "{}", benchmark.name);
        assert!(
            benchmark.version.is_some() && benchmark.timeout.is_some(),
            "{}",
            benchmark.name
        );
        assert!(
            benchmark
                .roles
                .iter()
                .any(|role| benchmark.programs_of(role).next().is_some()),
            "{}",
            benchmark.name
        );
        let explained = benchmark.params.values().map(|param| &param.about);
        let mut explained = explained.chain(benchmark.metrics.values().map(|metric| &metric.about));
        assert!(
            explained.all(|about| !about.is_empty()),
            "{}",
            benchmark.name
        );
    }
}

/// `make catalogue` reads what benchmarks print a second time, by programs of awk that know nothing of the definitions: they have to
/// read the recorded outputs as a person does.
#[test]
fn second_readings_agree_with_the_recorded_outputs() {
    let table = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/catalogue/readings.tsv"
    );
    let table = fs::read_to_string(table).unwrap();
    let readings = (table.lines())
        .filter(|line| !line.starts_with('#'))
        .map(|line| -> [&str; 3] { line.splitn(3, '\t').collect::<Vec<_>>().try_into().unwrap() });
    let readings: Vec<[&str; 3]> = readings.collect();
    let mut read = BTreeSet::new();
    for fixture in fixtures() {
        let Reading::Samples(expected) = &fixture.expected.reading else {
            continue;
        };
        for [benchmark, metric, program] in &readings {
            let sample = expected.get(&MetricName::new(*metric).unwrap());
            let (true, Some(sample)) = (*benchmark == fixture.benchmark, sample) else {
                continue;
            };
            let output = fs::File::open(fixture.folder.join(&fixture.output)).unwrap();
            let awk = std::process::Command::new("awk")
                .arg(program)
                .stdin(output)
                .output();
            let said = String::from_utf8(awk.unwrap().stdout).unwrap();
            let (found, value) = (said.trim().parse::<f64>(), sample.value());
            let agrees = |found: &f64| (found - value).abs() <= value.abs() * 1e-3;
            assert!(
                found.as_ref().is_ok_and(agrees),
                "{fixture}: {metric} is {value}, and awk reads {said:?}"
            );
            read.insert((*benchmark, *metric));
        }
    }
    for [benchmark, metric, _] in &readings {
        assert!(
            read.contains(&(*benchmark, *metric)),
            "{benchmark}: no recorded output has {metric}"
        );
    }
}
