//! A question whose plan is resolved: everything that it names is found.

use backsight_catalog::Catalog;
use backsight_model::{
    Arrangement, Benchmark, Cell, CellMetric, HostName, Metric, MetricName, Simulator, StudyName,
    TestbedName,
};
use backsight_store::{NewStudy, NewTarget, Store, StoreError, StudyDocument, StudyId};
use miette::IntoDiagnostic as _;
use std::{num::NonZeroU32, sync::Arc};

use crate::{
    Question, QuestionError, StudyTestbeds,
    verbs::{VerbChoices, try_patch::check_metrics},
};

/// A question with everything that its plan names.
#[derive(Clone)]
pub struct ResolvedPlan {
    /// The question.
    pub question: Question,
    /// What its plan says.
    pub arrangement: Arrangement,
    /// The definitions of benchmarks and monitors.
    pub catalog: Arc<Catalog>,
    /// Seed of everything that is drawn.
    pub seed: u32,
}

impl ResolvedPlan {
    /// Finds everything that the plan names.
    ///
    /// # Errors
    /// A fault in one of the documents, or something named that doesn't exist.
    pub fn new(question: Question, catalog: Catalog, seed: u32) -> Result<Self, QuestionError> {
        Ok(Self {
            arrangement: question.arrange(&catalog)?,
            question,
            catalog: Arc::new(catalog),
            seed,
        })
    }

    /// The same plan for a verb with these choices.
    ///
    /// # Errors
    /// As [`ResolvedPlan::new`].
    pub fn with_verb(&self, choices: impl Into<VerbChoices>) -> Result<Self, QuestionError> {
        let mut question = self.question.clone();
        question.choices.verb = choices.into();
        Ok(Self {
            arrangement: question.arrange(&self.catalog)?,
            question,
            ..self.clone()
        })
    }

    /// The same plan with other definitions.
    ///
    /// # Errors
    /// Those of `change`; a definition doesn't fit the plan any more; somebody else has the definitions too.
    pub fn with_catalog(
        self,
        change: impl FnOnce(Catalog) -> miette::Result<Catalog>,
    ) -> miette::Result<Self> {
        let catalog = Arc::into_inner(self.catalog);
        let catalog = catalog.ok_or_else(|| miette::miette!("the definitions are in use"))?;
        Ok(Self::new(self.question, change(catalog)?, self.seed)?)
    }

    /// Every metric, with its benchmark before it.
    pub fn metrics(&self) -> Vec<(String, String)> {
        let benchmarks = self.arrangement.benchmarks.iter();
        let metrics = benchmarks.flat_map(|(name, benchmark)| {
            let metrics = benchmark.metrics.keys();
            metrics.map(move |metric| (name.to_string(), metric.to_string()))
        });
        metrics.collect()
    }

    /// The metric's name, with its benchmark where it isn't named: the only one there is.
    ///
    /// # Errors
    /// There is no such metric, or none is named and there are several.
    pub fn chosen_metric(&self, named: Option<&str>) -> miette::Result<String> {
        let known = self.metrics();
        match (named, &known[..]) {
            (Some(metric), _) => {
                check_metrics(&[metric.to_owned()], &known)?;
                Ok(metric.to_owned())
            }
            (None, [(benchmark, metric)]) => Ok(format!("{benchmark}.{metric}")),
            (None, _) => {
                let names: Vec<String> = known.iter().map(|(b, m)| format!("{b}.{m}")).collect();
                Err(miette::miette!(
                    help = format!("--metric is one of: {}", names.join(", ")),
                    "say which metric became worse"
                ))
            }
        }
    }

    /// The testbeds that measure at once with the plan's own, where `wanted` are to measure.
    ///
    /// # Errors
    /// The lab hasn't so many.
    pub fn more_testbeds(&self, wanted: usize) -> miette::Result<Vec<TestbedName>> {
        let own = &self.arrangement;
        if wanted < 2 {
            return Ok(Vec::new());
        }
        let others = self.question.arrangements_beside(&self.catalog, own);
        let names = others.into_iter().map(|it| it.testbed);
        let names: Vec<TestbedName> = names.take(wanted - 1).collect();
        if names.len() + 1 == wanted {
            return Ok(names);
        }
        let fit: Vec<String> = std::iter::once(&own.testbed)
            .chain(&names)
            .map(ToString::to_string)
            .collect();
        let kind = |host: &HostName| own.lab.host.get(host).map(|settings| settings.kind);
        let seats = own.seats.iter().map(|(role, seat)| {
            let several = match seat.instances().len() {
                1 => "a host".to_owned(),
                several => format!("{several} hosts"),
            };
            match kind(&seat.first().host) {
                Some(kind) => format!("{role} on {several} of kind \"{kind}\""),
                None => role.to_string(),
            }
        });
        let seats: Vec<String> = seats.collect();
        Err(miette::miette!(
            help = format!(
                "describe another one in lab.toml, [testbed.NAME] with {}, on hosts that no other has; or say --parallel {}",
                seats.join(", "),
                fit.len()
            ),
            "--parallel {wanted} needs {wanted} testbeds that can run this plan at once, and this lab has {}: {}",
            fit.len(),
            fit.join(", ")
        ))
    }

    /// The plan on its reference, and after how many rounds that is measured; none where the plan or the verb has none.
    ///
    /// # Errors
    /// The plan can't be measured there.
    pub fn reference(&self) -> Result<Option<(Arrangement, NonZeroU32)>, QuestionError> {
        match self.question.choices.verb.has_reference() {
            true => self
                .question
                .arrange_on_reference(&self.catalog, &self.arrangement),
            false => Ok(None),
        }
    }

    /// The plan on its own testbed, on these others, and on its reference.
    ///
    /// # Errors
    /// The plan can't be measured on one of them.
    pub fn testbeds(&self, more: &[TestbedName]) -> miette::Result<StudyTestbeds> {
        Ok(StudyTestbeds {
            measured: self.arrangements(more)?,
            reference: self.reference()?.map(|(arrangement, _)| arrangement),
        })
    }

    /// The plan on its own testbed, and on these others.
    ///
    /// # Errors
    /// The plan can't be measured on one of them.
    pub fn arrangements(&self, more: &[TestbedName]) -> miette::Result<Vec<Arrangement>> {
        let others = more.iter().map(|testbed| {
            let arranged = self.question.arrange_on(&self.catalog, Some(testbed));
            Ok(arranged?)
        });
        let own = std::iter::once(Ok(self.arrangement.clone()));
        own.chain(others).collect()
    }

    /// A study of this question, as it is stored. `clock` counts time where the systems under test haven't a real
    /// machine's clock.
    pub(crate) fn new_study(
        &self,
        name: StudyName,
        cells: &[Cell],
        clock: Option<Simulator>,
    ) -> miette::Result<NewStudy> {
        let document = StudyDocument::new;
        let question = &self.question;
        let mut documents = vec![document("plan", &question.plan)];
        documents.extend(question.lab.iter().map(|lab| document("lab", lab)));
        for benchmark in self.arrangement.benchmarks.keys() {
            if let Ok(Some(definition)) = self.catalog.find(benchmark) {
                documents.push(document("benchmark", &definition.document));
            }
        }
        for planned in &self.arrangement.monitors {
            if let Some(definition) = self.catalog.monitors().document(&planned.monitor.name) {
                documents.push(document("monitor", definition));
            }
        }
        let settings = self.catalog.settings().iter();
        documents.extend(settings.map(|definition| document("setting", definition)));
        let benchmarks = self.arrangement.benchmarks.iter();
        Ok(NewStudy {
            questions: Vec::new(),
            target: None,
            name,
            verb: question.choices.verb.name().to_owned(),
            documents,
            arguments: serde_json::to_string(&question.choices).into_diagnostic()?,
            seed: self.seed,
            cells: cells.to_vec(),
            metrics: benchmarks
                .map(|(name, benchmark)| {
                    (
                        name.clone(),
                        metric_shapes(&self.arrangement, benchmark, clock),
                    )
                })
                .collect(),
        })
    }
}

/// The metrics of a benchmark, as they are stored: those that it declares, and how evenly hosts share those that several measure.
pub fn metric_shapes(
    arrangement: &Arrangement,
    benchmark: &Benchmark,
    clock: Option<Simulator>,
) -> Vec<CellMetric> {
    let shape = |(name, metric): (&MetricName, &Metric)| CellMetric {
        name: name.clone(),
        unit: metric.unit,
        better: metric.better,
        about: metric.about.clone(),
        primary: metric.primary,
        monitor: None,
        simulator: match metric.simulated {
            true => Some(Simulator::Program),
            false => clock,
        },
    };
    let fairness = |(name, metric): (&MetricName, &Metric)| {
        let seat = arrangement.seats.get(&metric.from.role)?;
        let is_said = seat.has_several() && benchmark.has_fairness(name, metric);
        CellMetric::fairness(name, seat.instances().len()).filter(|_| is_said)
    };
    let declared = benchmark.metrics.iter();
    let shared = declared.clone().filter_map(fairness);
    declared.map(shape).chain(shared).collect()
}

/// The name of a study: the one that was chosen, else VERB-1, VERB-2, …
pub(crate) struct Naming {
    /// The name.
    pub(crate) name: StudyName,
    is_chosen: bool,
}

impl Naming {
    /// The chosen name, else the first of VERB-1, VERB-2, … that no study has.
    pub(crate) async fn new(
        store: &Store,
        chosen: Option<StudyName>,
        verb: &str,
    ) -> miette::Result<Self> {
        let is_chosen = chosen.is_some();
        let name = match chosen {
            Some(name) => name,
            None => free_name(store, verb).await?,
        };
        Ok(Self { name, is_chosen })
    }

    /// The first of NAME-WHAT, NAME-WHAT-1, … that no study has, for what is measured beside the study NAME.
    pub(crate) async fn beside(
        store: &Store,
        beside: &StudyName,
        what: &str,
    ) -> miette::Result<Self> {
        let stem = format!("{beside}-{what}");
        let is_free = store.study(&stem).await.is_err();
        let name = match StudyName::new(stem.clone()) {
            Ok(name) if is_free => name,
            _ => free_name(store, &stem).await?,
        };
        Ok(Self {
            name,
            is_chosen: true,
        })
    }

    /// Stores the study; under another name if this one was free a moment ago and nobody chose it.
    pub(crate) async fn create(
        mut self,
        store: &Store,
        mut new: NewStudy,
        target: Option<NewTarget>,
    ) -> miette::Result<StudyId> {
        new.target = target;
        loop {
            new.name = self.name.clone();
            match store.create_study(&new).await {
                Err(StoreError::NameTaken { .. }) if !self.is_chosen => {
                    self.name = free_name(store, &new.verb).await?;
                }
                made => return made.into_diagnostic(),
            }
        }
    }
}

/// The first of VERB-1, VERB-2, … that no study has.
///
/// # Errors
/// The store's own.
pub async fn free_name(store: &Store, verb: &str) -> miette::Result<StudyName> {
    let studies = store.studies().await.into_diagnostic()?;
    (1..)
        .map(|number| format!("{verb}-{number}"))
        .find(|name| studies.iter().all(|study| study.name.as_str() != name))
        .and_then(|name| StudyName::new(name).ok())
        .ok_or_else(|| miette::miette!("no name is free"))
}

/// A seed that nobody chose: the system draws the keys of each hash table anew.
pub fn drawn_seed() -> u32 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::process::id()) as u32
}
