//! What a user and the benchmark say of a search, put together and checked: names that the benchmark hasn't are errors with
//! the nearest, and so are goals that its metrics say nothing of.

use backsight_model::{
    Arrangement, Benchmark, Better, Cell, Metric, MetricName, Param, ParamName, Percent,
    SearchDefinition, Unit, Value, did_you_mean, quantity,
};
use backsight_policy::{
    FigureReading, LoadGrid, LossReading, SearchGoal, SearchPhase, SearchPolicy, SearchSubject,
};

use std::num::NonZeroU32;

/// What a user says of a search; quantities as they are written, such as `10M`.
#[derive(Debug, Clone)]
pub struct SearchOptions {
    /// The parameter that is the load; else what the benchmark says.
    pub load: Option<String>,
    /// Shares that may be lost (`0.5%`), or bounds of metrics (`rtt_p99<2ms`).
    pub goals: Vec<String>,
    /// The metric that says what is lost; else what the benchmark says.
    pub metric: Option<String>,
    /// The least load; else what the benchmark says.
    pub min: Option<String>,
    /// The greatest load; else what the benchmark says.
    pub max: Option<String>,
    /// How near to each other the bounds come, as a share of the load.
    pub width: Percent,
    /// The parameter that is a trial's length; else what the benchmark says, else `seconds` if it has that.
    pub duration: Option<String>,
    /// Length of the trials that count in the end; else the plan's.
    pub trial: Option<String>,
    /// Length of the first trials; else 1, or the least that the benchmark takes.
    pub first: Option<String>,
    /// Length of all trials at a load together that makes it a bound; else three times that of one.
    pub sum: Option<String>,
    /// The share of that length which may miss the goal.
    pub exceed: Percent,
    /// Loss up to this share can't be told from the error of a clock, and counts as none.
    pub slack: Percent,
    /// How often everything is searched anew.
    pub repeat: NonZeroU32,
    /// The variant or the testbed that is without the device.
    pub baseline: Option<String>,
}

/// A search whose every name was found.
pub struct ResolvedSearch<'a> {
    benchmark: &'a Benchmark,
    load: ParamName,
    duration: Option<ParamName>,
    grid: LoadGrid,
    goals: Vec<SearchGoal>,
    reading: FigureReading,
    /// Parameters that variants set: in these a baseline may differ.
    of_variants: Vec<ParamName>,
}

impl<'a> ResolvedSearch<'a> {
    /// Resolves what is said of the one benchmark of a plan.
    ///
    /// # Errors
    /// A name or a quantity isn't one of the benchmark's.
    pub fn new(search: &SearchOptions, arrangement: &'a Arrangement) -> miette::Result<Self> {
        let first = arrangement.benchmarks.values().next();
        let benchmark = first.ok_or_else(|| miette::miette!("this plan has no benchmark"))?;
        let declared = benchmark.search.as_ref();
        let load = match (&search.load, declared) {
            (Some(name), _) => param(benchmark, name, "--load")?,
            (None, Some(declared)) => (*declared.load).clone(),
            (None, None) => {
                let names: Vec<&str> = benchmark.params.keys().map(|p| p.as_str()).collect();
                return Err(miette::miette!(
                    help = format!(
                        "name the parameter that is the load: --load {}",
                        names.join(" or ")
                    ),
                    "benchmark `{}` doesn't say which of its parameters is a load",
                    benchmark.name
                ));
            }
        };
        // What a benchmark says of its own load says nothing of another parameter.
        let declared = declared.filter(|declared| *declared.load == load);
        let duration = match (&search.duration, declared.and_then(|d| d.duration.as_ref())) {
            (Some(name), _) => Some(param(benchmark, name, "--duration")?),
            (None, Some(name)) => Some((**name).clone()),
            (None, None) => benchmark
                .params
                .get_key_value("seconds")
                .map(|(name, _)| name.clone()),
        };
        if duration.as_ref() == Some(&load) {
            return Err(miette::miette!(
                "`{load}` can't be the load and the length of a trial at once"
            ));
        }
        let unit = benchmark.params.get(&load).and_then(Param::unit);
        let grid = grid(search, benchmark, &load, declared)?;
        let goals: Vec<SearchGoal> = search
            .goals
            .iter()
            .map(|text| goal(benchmark, text))
            .collect::<miette::Result<_>>()?;
        if let Some(twice) = (1..goals.len()).find(|at| goals[..*at].contains(&goals[*at])) {
            return Err(miette::miette!(
                "the goal `{}` stands there twice",
                search.goals[twice]
            ));
        }
        let reading = reading(search, (benchmark, declared), unit, &goals)?;
        Ok(Self {
            benchmark,
            load,
            duration,
            grid,
            goals,
            reading,
            of_variants: arrangement
                .variants
                .values()
                .flat_map(|variant| variant.params.keys().map(|name| (**name).clone()))
                .collect(),
        })
    }

    /// The policy, for the cells of the plan.
    ///
    /// # Errors
    /// The lengths of trials don't fit each other or the benchmark, or there is nothing to search but the baseline.
    pub fn policy(
        &self,
        search: &SearchOptions,
        cells: &[Cell],
        seed: u32,
    ) -> miette::Result<SearchPolicy> {
        let subjects = self.subjects(search, cells)?;
        let (phases, sum) = self.lengths(search, &subjects[0].cell)?;
        if search.exceed.0 >= 1.0 {
            return Err(miette::miette!(
                help = "50% is what the draft's authors use, 0% is as in RFC 2544",
                "with --exceed 100% no load would ever miss a goal"
            ));
        }
        Ok(SearchPolicy {
            subjects,
            load: self.load.clone(),
            duration: self.duration.clone(),
            grid: self.grid,
            goals: self.goals.clone(),
            reading: self.reading.clone(),
            phases,
            sum,
            exceed: search.exceed.0,
            repeat: search.repeat.get(),
            seed,
        })
    }

    /// The plan's cells without their load and duration, each once; those of the baseline are known by its name.
    fn subjects(
        &self,
        search: &SearchOptions,
        cells: &[Cell],
    ) -> miette::Result<Vec<SearchSubject>> {
        let searched =
            |name: &ParamName| *name == self.load || Some(name) == self.duration.as_ref();
        let mut subjects: Vec<SearchSubject> = Vec::new();
        let same = |a: &Cell, b: &Cell| {
            let mut params = a.params.iter().filter(|(name, _)| !searched(name));
            params.all(|(name, value)| b.params.get(name) == Some(value))
        };
        let without_device = |a: &Cell, b: &Cell| {
            let of_variant = |name: &ParamName| self.of_variants.contains(name);
            let mut params = a.params.iter();
            params.all(|(name, value)| {
                searched(name) || of_variant(name) || b.params.get(name) == Some(value)
            })
        };
        for cell in cells {
            let mut cell = cell.clone();
            cell.chosen.retain(|name| !searched(name));
            let is_baseline = search.baseline.as_deref() == Some(cell.variant.as_str());
            let known = |s: &&SearchSubject| s.cell.variant == cell.variant && same(&s.cell, &cell);
            if subjects.iter().find(known).is_none() {
                subjects.push(SearchSubject {
                    cell,
                    baseline: None,
                    is_baseline,
                });
            }
        }
        for at in 0..subjects.len() {
            let cell = &subjects[at].cell;
            let alone = subjects
                .iter()
                .position(|s| s.is_baseline && without_device(&s.cell, cell));
            subjects[at].baseline = alone.filter(|_| !subjects[at].is_baseline);
        }
        if subjects.iter().all(|subject| subject.is_baseline) {
            return Err(miette::miette!(
                help = "add a variant with the device to the plan, or leave --baseline out",
                "there is nothing to search but the baseline"
            ));
        }
        Ok(subjects)
    }

    /// The phases, and the length that makes a load a bound.
    fn lengths(
        &self,
        search: &SearchOptions,
        cell: &Cell,
    ) -> miette::Result<(Vec<SearchPhase>, f64)> {
        let Some(name) = &self.duration else {
            return self.lengths_in_trials(search);
        };
        let Some(param) = self.benchmark.params.get(name) else {
            return Err(miette::miette!(
                "benchmark `{}` has no parameter `{name}`",
                self.benchmark.name
            ));
        };
        let unit = param.unit();
        let given = |option: &str, text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => {
                let length =
                    quantity(text, unit).map_err(|why| miette::miette!("{option}: {why}"))?;
                Ok::<_, miette::Report>(Some(length))
            }
        };
        let fits = |option: &str, length: f64| {
            let fits = param.check(&Value::Float(length)).and(match length > 0.0 {
                true => Ok(()),
                false => Err("a trial has a length".to_owned()),
            });
            fits.map_err(|why| miette::miette!("{option}: {why}"))
        };
        let last = match given("--trial", &search.trial)? {
            Some(last) => last,
            None => cell
                .params
                .get(name)
                .and_then(Value::number)
                .ok_or_else(|| {
                    miette::miette!(
                        "parameter `{name}` is no number: it can't be the length of a trial"
                    )
                })?,
        };
        fits("--trial", last)?;
        let whole = matches!(param.default, Value::Integer(_));
        let first = match given("--first", &search.first)? {
            Some(first) => first,
            None => param.min.unwrap_or(0.0).max(1.0).min(last),
        };
        fits("--first", first)?;
        if first > last {
            return Err(miette::miette!(
                "the first trials, --first {first}, are longer than the last ones, --trial {last}"
            ));
        }
        if whole && (first.fract() != 0.0 || last.fract() != 0.0) {
            return Err(miette::miette!(
                "parameter `{name}` is a whole number: so are --first and --trial"
            ));
        }
        let sum = given("--sum", &search.sum)?.unwrap_or(3.0 * last);
        if sum < last {
            return Err(miette::miette!(
                "--sum {sum} is less than one trial, {last}"
            ));
        }
        Ok((SearchPolicy::phases(first, last, whole), sum))
    }

    /// Of a benchmark whose trials are all as long as they are.
    fn lengths_in_trials(&self, search: &SearchOptions) -> miette::Result<(Vec<SearchPhase>, f64)> {
        for (option, given) in [("--trial", &search.trial), ("--first", &search.first)] {
            if given.is_some() {
                return Err(miette::miette!(
                    help = "name it with --duration, if one of its parameters is that",
                    "{option}: benchmark `{}` has no parameter that is a trial's length",
                    self.benchmark.name
                ));
            }
        }
        let sum = match &search.sum {
            None => 3.0,
            Some(text) => quantity(text, None).map_err(|why| miette::miette!("--sum: {why}"))?,
        };
        let phase = SearchPhase {
            seconds: 1.0,
            apart: 1,
        };
        Ok((vec![phase], sum.max(1.0)))
    }
}

fn param(benchmark: &Benchmark, name: &str, option: &str) -> miette::Result<ParamName> {
    match benchmark.params.get_key_value(name) {
        Some((name, param)) if param.default.number().is_some() => Ok(name.clone()),
        Some((name, param)) => Err(miette::miette!(
            "{option}: parameter `{name}` of `{}` is {}, expected a number",
            benchmark.name,
            param.default.kind()
        )),
        None => {
            let names: Vec<&str> = benchmark.params.keys().map(|name| name.as_str()).collect();
            let help = did_you_mean(name, names.iter().copied())
                .unwrap_or_else(|| format!("its parameters: {}", names.join(", ")));
            Err(miette::miette!(
                help = help,
                "{option}: benchmark `{}` has no parameter `{name}`",
                benchmark.name
            ))
        }
    }
}

/// The metric of this name, or the only one whose name ends with it.
fn metric<'b>(
    benchmark: &'b Benchmark,
    name: &str,
) -> miette::Result<(&'b MetricName, &'b Metric)> {
    if let Some(found) = benchmark.metrics.get_key_value(name) {
        return Ok(found);
    }
    let ending = format!("_{name}");
    let ends: Vec<_> = benchmark
        .metrics
        .iter()
        .filter(|(metric, _)| metric.as_str().ends_with(&ending))
        .collect();
    if let [only] = ends[..] {
        return Ok(only);
    }
    let names: Vec<&str> = benchmark.metrics.keys().map(|name| name.as_str()).collect();
    let help = did_you_mean(name, names.iter().copied())
        .unwrap_or_else(|| format!("its metrics: {}", names.join(", ")));
    Err(miette::miette!(
        help = help,
        "benchmark `{}` has no metric `{name}`",
        benchmark.name
    ))
}

fn goal(benchmark: &Benchmark, text: &str) -> miette::Result<SearchGoal> {
    let Some((name, bound)) = text.split_once('<') else {
        let share: Result<Percent, String> = text.parse();
        let Percent(ratio) = share.map_err(|why| {
            miette::miette!(
                help = "a goal is a share that may be lost (0%, 0.5%), or a bound of a metric (rtt_p99<2ms)",
                "--goal: {why}"
            )
        })?;
        if ratio >= 1.0 {
            return Err(miette::miette!(
                "--goal: {text} of everything may be lost: every load meets that"
            ));
        }
        return Ok(SearchGoal::Loss { ratio });
    };
    let (name, metric) = metric(benchmark, name.trim())?;
    if metric.better == Better::Higher {
        return Err(miette::miette!(
            "--goal: of `{name}` more is better: expected a metric that is to stay small, such as a latency"
        ));
    }
    let value =
        quantity(bound, Some(metric.unit)).map_err(|why| miette::miette!("--goal: {why}"))?;
    if value <= 0.0 {
        return Err(miette::miette!("--goal: nothing is below {bound}"));
    }
    Ok(SearchGoal::Below {
        metric: name.clone(),
        value,
    })
}

fn grid(
    search: &SearchOptions,
    benchmark: &Benchmark,
    load: &ParamName,
    declared: Option<&SearchDefinition>,
) -> miette::Result<LoadGrid> {
    let Some(param) = benchmark.params.get(load) else {
        return Err(miette::miette!(
            "benchmark `{}` has no parameter `{load}`",
            benchmark.name
        ));
    };
    let unit = param.unit();
    let end = |option: &str, text: &Option<String>, known: Option<f64>| {
        let value = match (text, known) {
            (Some(text), _) => {
                quantity(text, unit).map_err(|why| miette::miette!("{option}: {why}"))?
            }
            (None, Some(known)) => known,
            (None, None) => {
                return Err(miette::miette!(
                    help = format!("say it: {option} LOAD"),
                    "parameter `{load}` of `{}` has no bound of its own there",
                    benchmark.name
                ));
            }
        };
        let value = match matches!(param.default, Value::Integer(_)) {
            true => value.round(),
            false => value,
        };
        param
            .check(&Value::Float(value))
            .map_err(|why| miette::miette!("{option}: parameter `{load}`: {why}"))?;
        Ok(value)
    };
    let min = end(
        "--min",
        &search.min,
        declared.and_then(|d| d.min).or(param.min),
    )?;
    let max = end(
        "--max",
        &search.max,
        declared.and_then(|d| d.max).or(param.max),
    )?;
    let whole = matches!(param.default, Value::Integer(_));
    LoadGrid::new(min, max, search.width.0, whole)
        .map_err(|why| miette::miette!(help = "see --min, --max and --width", "{why}"))
}

fn reading(
    search: &SearchOptions,
    (benchmark, declared): (&Benchmark, Option<&SearchDefinition>),
    unit: Option<Unit>,
    goals: &[SearchGoal],
) -> miette::Result<FigureReading> {
    let of_declared = |name: &str| match name {
        "received" => declared.and_then(|d| d.received.as_ref()),
        "loss" => declared.and_then(|d| d.loss.as_ref()),
        _ => None,
    };
    let asked = match &search.metric {
        Some(name) if benchmark.metrics.contains_key(name.as_str()) => Some(name.as_str()),
        Some(name) => Some(of_declared(name).map_or(name.as_str(), |metric| metric.as_str())),
        None => of_declared("loss")
            .or(of_declared("received"))
            .map(|metric| metric.as_str()),
    };
    let wants_loss = goals
        .iter()
        .any(|goal| matches!(goal, SearchGoal::Loss { .. }));
    let loss = match asked {
        Some(name) => Some(loss_of(search, metric(benchmark, name)?, unit)?),
        None if wants_loss => {
            let names: Vec<&str> = benchmark.metrics.keys().map(|name| name.as_str()).collect();
            return Err(miette::miette!(
                help = format!(
                    "name the metric that arrived or was lost: --metric {}",
                    names.join(" or ")
                ),
                "benchmark `{}` doesn't say which of its metrics tells what is lost",
                benchmark.name
            ));
        }
        None => None,
    };
    let allows_some = goals
        .iter()
        .any(|goal| matches!(goal, SearchGoal::Loss { ratio } if *ratio > 0.0));
    if let (Some(LossReading::Count { metric }), true) = (&loss, allows_some) {
        return Err(miette::miette!(
            help = format!("bound the count: --goal '{metric}<10', or look for no loss: --goal 0%"),
            "`{metric}` counts what was lost, and doesn't say of how many"
        ));
    }
    let sent = declared.and_then(|d| d.sent.as_ref()).and_then(|name| {
        let per_unit = benchmark
            .metrics
            .get(name.as_str())?
            .unit
            .in_terms_of(unit?)?;
        Some(((**name).clone(), per_unit))
    });
    Ok(FigureReading { loss, sent })
}

fn loss_of(
    search: &SearchOptions,
    (name, metric): (&MetricName, &Metric),
    unit: Option<Unit>,
) -> miette::Result<LossReading> {
    let per_load = unit.and_then(|unit| metric.unit.in_terms_of(unit));
    let name = name.clone();
    Ok(match (metric.better, per_load, metric.unit.per_one()) {
        (Better::Higher, Some(per_unit), _) => LossReading::Received {
            metric: name,
            per_unit,
            slack: search.slack.0,
        },
        (Better::Lower, _, Some(per_unit)) => LossReading::Share {
            metric: name,
            per_unit,
        },
        (Better::Lower, _, None) if metric.unit.counts() => LossReading::Count { metric: name },
        _ => {
            let load = unit.map_or("the load's unit".to_owned(), |unit| {
                format!("{unit}, as the load")
            });
            return Err(miette::miette!(
                help = format!(
                    "expected what arrived, in {load}, or what was lost, as a share (%) or a count; a latency is a goal: --goal '{name}<2ms'"
                ),
                "--metric: `{name}` is in {}, {} is better: it doesn't say what is lost",
                metric.unit,
                metric.better
            ));
        }
    })
}
