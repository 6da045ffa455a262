//! Definitions of benchmarks: those that come with the program, and the user's own over them.
//!
//! A definition's name is its file's. It is read and its parsers are compiled when somebody asks for it, so
//! that looking one up costs one. A name that isn't the file's is an error.

use backsight_model::{
    Action, Benchmark, BenchmarkName, DocumentError, MetricName, MetricSamples, MonitorSample,
    Phase, ReadyCondition, StepRecord, SuiteRun, TomlDocument, phase_prefix,
};
use indexmap::IndexMap;
use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::{
    Monitors, cross_checks,
    definition_files::{CatalogError, definition_files},
    monitor_samples, pattern,
    samples::{Parsers, TrialSamplesError},
    suite_passes::{SuitePasses, passes_of},
    suite_results::{self, SuitePass},
    validity,
};

/// Name and text of each benchmark that comes with the program.
const BENCHMARKS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/benchmarks.rs"));
/// The same of suites: benchmarks whose output has results of tests.
const SUITES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/suites.rs"));

/// One benchmark's definition.
#[derive(Debug)]
pub struct BenchmarkDefinition {
    /// What it says.
    pub benchmark: Benchmark,
    /// Its text; the document's name says where it comes from.
    pub document: TomlDocument,
    /// How samples are found in the output.
    pub parsers: Parsers,
}

impl BenchmarkDefinition {
    /// The definition of this name that a document holds.
    ///
    /// # Errors
    /// It has another name, or is none; a jq program or a regular expression in it is none.
    pub fn read(name: &BenchmarkName, document: &TomlDocument) -> Result<Self, DocumentError> {
        let benchmark = Benchmark::read(document)?;
        if *benchmark.name != *name {
            return Err(document.problem(
                benchmark.name.span(),
                format!(
                    "this benchmark is called `{}`, and its file `{name}.toml`",
                    benchmark.name
                ),
                "here",
                Some("give both the same name".into()),
            ));
        }
        let parsers = Parsers::compile(&benchmark, document)?;
        check_lines(&benchmark, document)?;
        Ok(Self {
            benchmark,
            document: document.clone(),
            parsers,
        })
    }
}

/// A spawned program is ready when a line matches a regular expression; one that is none is a mistake of the
/// definition's, not of a host's.
fn check_lines(benchmark: &Benchmark, document: &TomlDocument) -> Result<(), DocumentError> {
    let roles = benchmark.roles.iter();
    let steps = roles.flat_map(|role| {
        Phase::ALL
            .into_iter()
            .flat_map(|p| benchmark.steps_of(role, p))
    });
    for step in steps {
        let Action::Spawn {
            ready: Some(ready), ..
        } = &step.action
        else {
            continue;
        };
        let ReadyCondition::Line(line) = &ready.when else {
            continue;
        };
        if let Err((message, help)) = pattern::regex(line) {
            let place = document
                .text
                .find(line.as_str())
                .map_or(0..0, |at| at..at + line.len());
            return Err(document.problem(place, message, "what makes it ready", help));
        }
    }
    Ok(())
}

#[derive(Debug)]
struct Entry {
    document: TomlDocument,
    definition: OnceLock<BenchmarkDefinition>,
}

impl Entry {
    fn new(document: TomlDocument) -> Self {
        Self {
            document,
            definition: OnceLock::new(),
        }
    }
}

/// The definitions at hand, by name.
#[derive(Debug)]
pub struct Catalog {
    entries: IndexMap<BenchmarkName, Entry>,
    monitors: Monitors,
    settings: Vec<TomlDocument>,
}

impl Catalog {
    /// The definitions that come with the program, and over them those of these folders: the later folder
    /// wins. A definition is every `NAME.toml` right in a folder whose name doesn't start with a dot.
    ///
    /// # Errors
    /// A folder or a file that can't be read, or a file whose name can't be a benchmark's.
    pub fn load(folders: &[PathBuf]) -> Result<Self, CatalogError> {
        let mut catalog = Self {
            entries: IndexMap::new(),
            monitors: Monitors::load(&[])?,
            settings: Vec::new(),
        };
        for (name, text) in BENCHMARKS.iter().chain(SUITES) {
            catalog.put(
                Path::new(name),
                TomlDocument::new(format!("catalogue: {name}.toml"), *text),
            )?;
        }
        for folder in folders {
            for file in definition_files(folder)? {
                let document = TomlDocument::open(&file)?;
                catalog.put(&file.with_extension(""), document)?;
            }
        }
        catalog.entries.sort_unstable_keys();
        Ok(catalog)
    }

    /// A catalogue of these definitions and no others, named as they say: those of a study that goes on.
    ///
    /// # Errors
    /// A definition that is at fault.
    pub fn from_documents(documents: Vec<TomlDocument>) -> Result<Self, CatalogError> {
        let mut entries = IndexMap::new();
        for document in documents {
            let name = Benchmark::read(&document)?.name.into_inner();
            entries.insert(name, Entry::new(document));
        }
        Ok(Self {
            entries,
            monitors: Monitors::default(),
            settings: Vec::new(),
        })
    }

    /// The same benchmarks with these monitors.
    #[must_use]
    pub fn with_monitors(self, monitors: Monitors) -> Self {
        Self { monitors, ..self }
    }

    /// The same definitions with the user's own ones of settings, which are read elsewhere.
    #[must_use]
    pub fn with_settings(self, settings: Vec<TomlDocument>) -> Self {
        Self { settings, ..self }
    }

    /// The user's own definitions of settings and of sets.
    pub fn settings(&self) -> &[TomlDocument] {
        &self.settings
    }

    /// The monitors: those that come with the program, unless others were given.
    pub fn monitors(&self) -> &Monitors {
        &self.monitors
    }

    fn put(&mut self, stem: &Path, document: TomlDocument) -> Result<(), CatalogError> {
        let name = stem.file_name().and_then(|name| name.to_str());
        let name = name.and_then(|name| BenchmarkName::new(name).ok());
        let name = name.ok_or_else(|| CatalogError::FileName {
            path: document.name.clone().into(),
        })?;
        self.entries.insert(name, Entry::new(document));
        Ok(())
    }

    /// The same catalogue, in which a suite has one more metric: whether this test failed.
    ///
    /// # Errors
    /// There is no such suite, or it has a metric of this name.
    pub fn with_test_metric(
        mut self,
        suite: &BenchmarkName,
        metric: &MetricName,
        test: &str,
    ) -> Result<Self, CatalogError> {
        let Some(entry) = self.entries.get_mut(suite) else {
            return Ok(self);
        };
        let about = format!("whether the test `{test}` failed");
        let table = [
            ("unit", "tests"),
            ("better", "lower"),
            ("about", &about),
            ("test", test),
        ];
        let mut text = format!("{}\n\n[metric.{metric}]\n", entry.document.text.trim_end());
        for (key, value) in table {
            // JSON's escapes are TOML's.
            let value = serde_json::Value::from(value);
            text.push_str(&format!("{key} = {value}\n"));
        }
        *entry = Entry::new(TomlDocument::new(entry.document.name.clone(), text));
        self.find(suite)?;
        Ok(self)
    }

    /// The names of all definitions, in the order of the alphabet.
    pub fn names(&self) -> Vec<BenchmarkName> {
        self.entries.keys().cloned().collect()
    }

    /// The definition of this name, if there is one.
    ///
    /// # Errors
    /// The definition is at fault: it isn't one, or a jq program or a regular expression in it is none.
    pub fn find(&self, name: &BenchmarkName) -> Result<Option<&BenchmarkDefinition>, CatalogError> {
        let Some(entry) = self.entries.get(name) else {
            return Ok(None);
        };
        if let Some(definition) = entry.definition.get() {
            return Ok(Some(definition));
        }
        let definition = BenchmarkDefinition::read(name, &entry.document)?;
        Ok(Some(entry.definition.get_or_init(|| definition)))
    }

    /// The samples of a trial of this benchmark, out of what its steps printed and used; and, of a suite, the results of its tests.
    ///
    /// # Errors
    /// There is no such benchmark, its definition is at fault, a metric isn't in the output, or a suite has no results.
    pub fn samples(
        &self,
        name: &BenchmarkName,
        steps: &[StepRecord],
    ) -> Result<(Vec<MetricSamples>, Option<SuiteRun>), TrialSamplesError> {
        let mut passes = SuitePasses::default();
        for steps in passes_of(steps) {
            if let Some(pass) = self.suite_pass(name, steps, &[], passes.last()) {
                passes.add(pass);
            }
        }
        self.samples_with(name, steps, passes.finish(None))
    }

    /// The same where the results of the tests are known already.
    ///
    /// # Errors
    /// As [`Catalog::samples`].
    pub fn samples_with(
        &self,
        name: &BenchmarkName,
        steps: &[StepRecord],
        run: Option<SuiteRun>,
    ) -> Result<(Vec<MetricSamples>, Option<SuiteRun>), TrialSamplesError> {
        let definition = self
            .find(name)?
            .ok_or_else(|| TrialSamplesError::Unknown(name.clone()))?;
        let (Some(results), Some(run)) = (&definition.benchmark.results, run) else {
            return Ok((definition.parsers.samples(steps)?, None));
        };
        if run.results.is_empty() {
            let why = suite_results::no_results(results, &run, steps);
            return Err(TrialSamplesError::NoResults(why));
        }
        let mut samples = definition.parsers.samples(steps)?;
        samples.extend(suite_results::samples(&definition.benchmark, &run));
        Ok((samples, Some(run)))
    }

    /// What a suite gave, out of what its steps printed; none of a benchmark that is no suite. The console is that of a host that went away
    /// meanwhile, `last` the test that ended last in an earlier pass.
    pub fn suite_pass(
        &self,
        name: &BenchmarkName,
        steps: &[StepRecord],
        console: &[u8],
        last: Option<&str>,
    ) -> Option<SuitePass> {
        let definition = self.find(name).ok().flatten()?;
        let results = definition.benchmark.results.as_ref()?;
        let pass = suite_results::suite_pass(name.as_str(), results, steps, (console, last));
        Some(pass)
    }

    /// A sentence for each cross-check of the benchmark that failed and each condition of its validity that doesn't hold, of what
    /// its trial measured and its monitors printed.
    pub fn disagreements(
        &self,
        name: &BenchmarkName,
        steps: &[StepRecord],
        samples: &[MetricSamples],
    ) -> Vec<String> {
        let Ok(Some(definition)) = self.find(name) else {
            return Vec::new();
        };
        let benchmark = &definition.benchmark;
        let mut found = cross_checks::disagreements(benchmark, steps, samples);
        found.extend(validity::breaches(benchmark, samples));
        found
    }

    /// What the monitors of a trial of this benchmark measured, by what they printed until they were stopped; and a sentence
    /// for each of which that can't be said.
    pub fn watched(
        &self,
        name: &BenchmarkName,
        steps: &[StepRecord],
    ) -> (Vec<MonitorSample>, Vec<String>) {
        let (mut all, mut faults) = (IndexMap::new(), Vec::new());
        let Ok(Some(definition)) = self.find(name) else {
            return (Vec::new(), faults);
        };
        let benchmark = &definition.benchmark;
        for step in steps {
            let Some(monitor) = &step.monitor else {
                continue;
            };
            let phase = phase_prefix(step.phase);
            let before = match benchmark.roles.len() {
                1 => phase,
                _ => format!("{phase}{}.", step.role),
            };
            let samples = match self.monitors.find(monitor) {
                Ok(Some(monitor)) => monitor_samples::of_step(&monitor, step, &before),
                Ok(None) => Ok(Vec::new()),
                Err(fault) => Err(fault.to_string()),
            };
            let fault = |why: String| format!("monitor `{monitor}`: {}: {why}", step.host);
            match samples {
                Err(why) => faults.push(fault(why)),
                Ok(samples) => {
                    for sample in samples {
                        let taken = benchmark.metrics.contains_key(&sample.metric)
                            || all.contains_key(&sample.metric);
                        if taken {
                            let why = format!("there is a metric `{}` already", sample.metric);
                            faults.push(fault(why));
                        } else {
                            all.insert(sample.metric.clone(), sample);
                        }
                    }
                }
            }
        }
        (all.into_values().collect(), faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const OWN: &str = "name = 'ping-rtt'\nabout = 'mine'\nroles = ['a']\n[a]\nrun = 'x'\n[metric.m]\nunit = 's'\nbetter = 'lower'\njson = '.a'\n";

    fn name(text: &str) -> BenchmarkName {
        BenchmarkName::new(text).unwrap()
    }

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn every_definition_that_comes_with_the_program_is_sound() {
        let catalog = Catalog::load(&[]).unwrap();
        assert_eq!(catalog.names().len(), BENCHMARKS.len() + SUITES.len());
        assert!(catalog.names().is_sorted());
        for benchmark in catalog.names() {
            let definition = catalog.find(&benchmark).unwrap().unwrap();
            assert_eq!(
                definition.document.name,
                format!("catalogue: {benchmark}.toml")
            );
        }
    }

    #[test]
    fn a_later_folder_lies_over_an_earlier_one_and_both_over_ours() {
        let first = folder(&[
            ("ping-rtt.toml", OWN),
            ("new.toml", &OWN.replace("ping-rtt", "new")),
        ]);
        let second = folder(&[
            ("ping-rtt.toml", &OWN.replace("mine", "mine too")),
            (".hidden.toml", "?"),
            ("README.md", "?"),
        ]);
        let catalog = Catalog::load(&[first.path().into(), second.path().into()]).unwrap();
        let own = catalog.find(&name("ping-rtt")).unwrap().unwrap();
        assert_eq!(own.benchmark.about, "mine too");
        assert_eq!(
            own.document.name,
            second.path().join("ping-rtt.toml").display().to_string()
        );
        assert_eq!(
            catalog.find(&name("new")).unwrap().unwrap().benchmark.about,
            "mine"
        );
        assert_eq!(catalog.names().len(), BENCHMARKS.len() + SUITES.len() + 1);
        assert!(catalog.find(&name("iperf3-tcp")).unwrap().is_some());
        assert!(catalog.find(&name("iperf4")).unwrap().is_none());
    }

    #[test]
    fn a_definition_at_fault_is_told_before_anything_runs_and_only_to_who_asks_for_it() {
        let folder = folder(&[
            (
                "a.toml",
                &OWN.replace("ping-rtt", "a").replace(".a", ".a |"),
            ),
            ("b.toml", OWN),
            ("c.toml", "name = "),
        ]);
        let catalog = Catalog::load(&[folder.path().into()]).unwrap();
        assert!(catalog.find(&name("ping-rtt")).is_ok());
        let fault = |which: &str| match catalog.find(&name(which)).unwrap_err() {
            CatalogError::Problem(problem) => (problem.place(), problem.to_string()),
            other => panic!("{other}"),
        };
        assert_eq!(fault("a").0, (9, 13));
        assert_eq!(fault("b").0, (1, 8));
        assert!(
            fault("b")
                .1
                .contains("called `ping-rtt`, and its file `b.toml`"),
            "{}",
            fault("b").1
        );
        assert_eq!(fault("c").0.0, 1);
        assert!(matches!(
            catalog.samples(&name("a"), &[]),
            Err(TrialSamplesError::Definition(_))
        ));
        assert!(matches!(
            catalog.samples(&name("zzz"), &[]),
            Err(TrialSamplesError::Unknown(_))
        ));
    }

    #[test]
    fn folders_and_files_that_cannot_be_read_are_errors() {
        let missing = Catalog::load(&["/nonexistent/benchmarks".into()]).unwrap_err();
        assert!(
            missing.to_string().contains("/nonexistent/benchmarks"),
            "{missing}"
        );
        let named = folder(&[("not a name.toml", OWN)]);
        assert!(matches!(
            Catalog::load(&[named.path().into()]),
            Err(CatalogError::FileName { .. })
        ));
        let binary = folder(&[]);
        fs::write(binary.path().join("x.toml"), b"\xff\xfe").unwrap();
        assert!(matches!(
            Catalog::load(&[binary.path().into()]),
            Err(CatalogError::Unreadable(_))
        ));
    }

    #[test]
    fn a_study_that_goes_on_has_its_own_definitions_and_no_others() {
        let document = TomlDocument::new("of the study", OWN);
        let catalog = Catalog::from_documents(vec![document.clone()]).unwrap();
        assert_eq!(catalog.names(), [name("ping-rtt")]);
        assert_eq!(
            catalog.find(&name("ping-rtt")).unwrap().unwrap().document,
            document
        );
        assert!(Catalog::from_documents(vec![TomlDocument::new("x", "name = 3")]).is_err());
    }

    #[test]
    fn a_catalogue_can_be_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Catalog>();
    }
}
