//! `backsight search`: the highest load that meets a goal, for several goals in one search.
//!
//! Refuses: a benchmark without a load, a goal that no metric tells of, and a baseline on another generator.

mod found;
mod quantity;
mod wanted;

pub use found::Kept;

use backsight_catalog::Catalog;
use backsight_model::{
    Arrangement, At, Benchmark, BenchmarkName, Cell, StudyName, Time, Variant, VariantName,
    VariantRole, did_you_mean,
};
use backsight_policy::{Evidence, Policy as _, Request, SearchPolicy};
use backsight_store::{NewStudy, Store, StoreError, StudyId, StudyRow};
use backsight_study::{
    Measured, Measurer, Question, SearchChoices, Study, Testbed, Unmeasurable,
    evidence_with_figures, pursue,
};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use std::{
    num::NonZeroU32,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use crate::{
    account::Account,
    cli::Shared,
    exit_status::ExitStatus,
    files,
    run::{Session, Watching, conclude, drawn_seed, free_name, new_study, question_of},
};
use quantity::Percent;
use wanted::Wanted;

/// The verb's name in the store.
pub const VERB: &str = "search";

/// Arguments of `search`.
#[derive(Debug, clap::Args)]
pub struct Search {
    /// The plan's file; without one, --use says what is measured
    plan: Option<PathBuf>,
    /// The benchmark, instead of the plan's
    #[arg(id = "use", long = "use", value_name = "NAME")]
    benchmark: Option<BenchmarkName>,
    /// The parameter that is the load; else what the benchmark says
    #[arg(long, value_name = "PARAM")]
    load: Option<String>,
    /// What is looked for: the share that may be lost (0.5%), or a bound of a metric (rtt_p99<2ms); with a comma
    /// between them
    #[arg(
        long = "goal",
        value_name = "GOALS",
        value_delimiter = ',',
        default_value = "0%"
    )]
    goals: Vec<String>,
    /// The metric that says what is lost: what arrived, in a unit of the load, or what was lost, as a share or a count;
    /// `received` and `loss` are those that the benchmark says; else what it says
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// The least load, such as 10M; else what the benchmark says
    #[arg(long, value_name = "LOAD")]
    min: Option<String>,
    /// The greatest load; else what the benchmark says
    #[arg(long, value_name = "LOAD")]
    max: Option<String>,
    /// How near to each other the bounds come, as a share of the load
    #[arg(long, value_name = "SHARE", default_value = "0.5%")]
    width: Percent,
    /// The parameter that is a trial's length; else what the benchmark says, else `seconds` if it has that
    #[arg(long, value_name = "PARAM")]
    duration: Option<String>,
    /// Length of the trials that count in the end, such as 30s; else the plan's
    #[arg(long, value_name = "LENGTH")]
    trial: Option<String>,
    /// Length of the first trials; else 1, or the least that the benchmark takes
    #[arg(long, value_name = "LENGTH")]
    first: Option<String>,
    /// Length of all trials at a load together that makes it a bound; else three times that of one
    #[arg(long, value_name = "LENGTH")]
    sum: Option<String>,
    /// The share of that length which may miss the goal; 0% is as in RFC 2544
    #[arg(long, value_name = "SHARE", default_value = "50%")]
    exceed: Percent,
    /// Where what arrives is a rate: loss up to this can't be told from the error of a clock, and counts as none
    #[arg(long, value_name = "SHARE", default_value = "0.1%")]
    slack: Percent,
    /// How often everything is searched anew
    #[arg(long, value_name = "N", default_value = "1")]
    repeat: NonZeroU32,
    /// The variant of the plan, or the testbed of the lab, that is without the device: what the generator does alone is
    /// searched first
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// How long it may measure; what isn't found then goes on with `resume`, which may as long again
    #[arg(long, value_name = "TIME")]
    budget: Option<Time>,
    /// The lab's file; else the lab.toml beside the plan, else this machine alone
    #[arg(long, value_name = "FILE")]
    lab: Option<PathBuf>,
    /// Name of the study; else search-1, search-2, …
    #[arg(long)]
    name: Option<StudyName>,
    /// Seed of the order of what is searched; else the plan's, else drawn
    #[arg(long)]
    seed: Option<u32>,
    #[command(flatten)]
    watching: Watching,
}

impl Search {
    /// Searches.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        self.watching.check()?;
        let (question, catalog, arrangement) = self.question(shared)?;
        let wanted = Wanted::new(&self, &arrangement)?;
        let planned = backsight_model::Plan::read(&question.plan)?.seed;
        let seed = self.seed.or(planned).unwrap_or_else(drawn_seed);
        crate::block_on(async {
            let store = files::open_store(shared).await?;
            let chosen = self.name.is_some();
            let mut name = match &self.name {
                Some(name) => name.clone(),
                None => free_name(&store, VERB).await?,
            };
            let session = Session::open(&arrangement, &name, &self.watching).await?;
            let policy = wanted.policy(&self, &session.cells()?, seed)?;
            let choices = SearchChoices {
                policy,
                baseline: self.baseline.clone(),
                budget: self.budget.map(|time| time.0.as_secs_f64()),
            };
            choices_fit(&choices)?;
            let mut question = question;
            question.choices.search = Some(choices.clone());
            let id = loop {
                let plain = new_study(&question, &catalog, (&arrangement, None), &name, &[], seed);
                let new = NewStudy {
                    verb: VERB.to_owned(),
                    ..plain
                };
                match store.create_study(&new).await {
                    // Somebody else took the name that was free a moment ago.
                    Err(StoreError::NameTaken { .. }) if !chosen => {
                        name = free_name(&store, VERB).await?;
                    }
                    made => break made.into_diagnostic()?,
                }
            };
            let pursued = Pursued {
                id,
                name,
                choices,
                seed,
            };
            pursued.measure(session, &store, &catalog, false).await
        })
    }

    /// The question, narrowed to the one benchmark that is searched.
    fn question(&self, shared: &Shared) -> miette::Result<(Question, Catalog, Arrangement)> {
        let named: Vec<BenchmarkName> = self.benchmark.iter().cloned().collect();
        let asked = (VERB, self.plan.as_deref());
        let (mut question, catalog) = question_of(shared, asked, &named, self.lab.as_deref())?;
        let all = question.arrange(&catalog)?;
        if all.benchmarks.len() > 1 {
            let searchable = |benchmark: &Benchmark| match &self.load {
                Some(load) => benchmark.params.contains_key(load.as_str()),
                None => benchmark.search.is_some(),
            };
            let found: Vec<&BenchmarkName> = all
                .benchmarks
                .iter()
                .filter(|(_, benchmark)| searchable(benchmark))
                .map(|(name, _)| name)
                .collect();
            let [only] = found[..] else {
                let names: Vec<&str> = all.benchmarks.keys().map(|name| name.as_str()).collect();
                return Err(miette::miette!(
                    help = "name the one that is searched: --use NAME",
                    "a search is of one benchmark, and this plan has {}: {}",
                    names.len(),
                    names.join(", ")
                ));
            };
            question.choices.benchmarks = vec![only.clone()];
        }
        let mut arrangement = question.arrange(&catalog)?;
        add_baseline(&mut arrangement, self.baseline.as_deref())?;
        Ok((question, catalog, arrangement))
    }
}

fn choices_fit(choices: &SearchChoices) -> miette::Result<()> {
    let policy = &choices.policy;
    let first = policy.phases.first().map_or(0.0, |phase| phase.seconds);
    match choices.budget {
        Some(budget) if policy.duration.is_some() && budget < first => {
            let expected = policy.left(&Evidence::default()) as f64 * first;
            Err(miette::miette!(
                help = format!(
                    "give it about {} or more",
                    Time(Duration::from_secs_f64(expected))
                ),
                "a budget of {} is too small for the first trial, which takes {first} s",
                Time(Duration::from_secs_f64(budget))
            ))
        }
        _ => Ok(()),
    }
}

/// Where the baseline is a testbed, it becomes a variant: the same hosts by other addresses. Another generator's limit
/// would say nothing of this one's.
fn add_baseline(arrangement: &mut Arrangement, baseline: Option<&str>) -> miette::Result<()> {
    let Some(name) = baseline else { return Ok(()) };
    if arrangement.variants.contains_key(name) {
        return Ok(());
    }
    let lab = &arrangement.lab;
    let Some((testbed, seats)) = lab
        .testbed
        .iter()
        .find(|(testbed, _)| testbed.as_str() == name)
    else {
        let variants = arrangement.variants.keys().map(|variant| variant.as_str());
        let known: Vec<&str> = variants
            .chain(lab.testbed.keys().map(|testbed| testbed.as_str()))
            .filter(|known| *known != "default")
            .collect();
        let help = did_you_mean(name, known.iter().copied()).unwrap_or_else(|| match known.len() {
            0 => "add a variant to the plan, or a testbed to the lab, that is without the device"
                .into(),
            _ => format!("there are: {}", known.join(", ")),
        });
        return Err(miette::miette!(
            help = help,
            "`{name}` is neither a variant of this plan nor a testbed of this lab"
        ));
    };
    let mut roles = Vec::new();
    for (role, seat) in &arrangement.seats {
        let needed = arrangement
            .benchmarks
            .values()
            .any(|b| b.roles.iter().any(|r| **r == *role));
        let Some(alone) = seats.roles.get(role.as_str()) else {
            if needed {
                return Err(miette::miette!(
                    help = format!(
                        "add it to [testbed.{name}] in lab.toml: {role} = \"{}\"",
                        *seat.host
                    ),
                    "testbed `{name}` has no host for the role `{role}`"
                ));
            }
            continue;
        };
        if needed && *alone.host != *seat.host {
            return Err(miette::miette!(
                help = "the limit of another generator says nothing of this one's: take the same hosts, joined directly",
                "in testbed `{name}` the role `{role}` is on {}, and it is measured on {}",
                *alone.host,
                *seat.host
            ));
        }
        let address = lab.data_address(&alone.host, alone.data.as_ref().map(|data| data.as_str()));
        let (address, _) = address.map_err(|why| miette::miette!("testbed `{name}`: {why}"))?;
        let steps = VariantRole {
            data: Some(At::nowhere(address.to_string())),
            ..VariantRole::default()
        };
        roles.push((At::nowhere(role.to_string()), steps));
    }
    let variant = VariantName::new(testbed.as_str()).into_diagnostic()?;
    let steps = Variant {
        name: At::nowhere(variant.clone()),
        params: IndexMap::new(),
        roles,
    };
    arrangement.variants.insert(variant, steps);
    Ok(())
}

/// A search that is about to be measured.
struct Pursued {
    id: StudyId,
    name: StudyName,
    choices: SearchChoices,
    seed: u32,
}

/// Goes on with a search.
pub async fn resume(
    store: &Store,
    study: StudyRow,
    question: Question,
    catalog: Catalog,
    watching: &Watching,
) -> miette::Result<ExitCode> {
    let Some(choices) = question.choices.search.clone() else {
        return Err(miette::miette!("this study doesn't say what it searches"));
    };
    let mut arrangement = question.arrange(&catalog)?;
    add_baseline(&mut arrangement, choices.baseline.as_deref())?;
    let killed = study.was_killed();
    let session = Session::open(&arrangement, &study.name, watching).await?;
    let pursued = Pursued {
        id: study.id,
        name: study.name,
        choices,
        seed: study.seed,
    };
    pursued.measure(session, store, &catalog, killed).await
}

impl Pursued {
    /// Measures what is still to be found, says what came of it and ends the agents.
    async fn measure(
        self,
        mut session: Session,
        store: &Store,
        catalog: &Catalog,
        after_kill: bool,
    ) -> miette::Result<ExitCode> {
        let policy = &self.choices.policy;
        let subjects: Vec<Cell> = policy.subjects.iter().map(|s| s.cell.clone()).collect();
        session
            .prepare(store, self.id, &subjects, after_kill)
            .await?;
        let cells = store.cells(self.id).await.into_diagnostic()?;
        let evidence = evidence_with_figures(store, self.id)
            .await
            .into_diagnostic()?;
        let longest = policy.phases.last().map_or(1.0, |phase| phase.seconds);
        let study = Study {
            id: self.id,
            name: self.name.clone(),
            cells: cells.clone(),
            rounds: (policy.sum / longest).ceil() as u32 * policy.repeat,
            seed: self.seed,
            on_failure: session.conductor.arrangement().on_failure,
            versions: Vec::new(),
            trials: u32::try_from(evidence.observations.len()).unwrap_or(u32::MAX),
            testbeds: Vec::new(),
            boots: None,
        };
        let budget = self.choices.budget.map(Duration::from_secs_f64);
        let mut bounded = Bounded {
            testbed: Testbed {
                conductor: session.conductor,
                catalog,
                cells,
                stop: session.stop,
            },
            policy,
            budget: budget.map(|budget| (Instant::now(), budget)),
        };
        let pursued = pursue(
            policy,
            study,
            evidence,
            store,
            std::slice::from_mut(&mut bounded),
            &session.events,
        )
        .await;
        bounded.testbed.conductor.finish().await;
        let name = &self.name;
        let pursuit = match pursued {
            Ok(pursuit) => pursuit,
            Err(error) => {
                let way_out =
                    format!("what was measured before is kept; `backsight resume {name}` goes on");
                files::say(&format!("{:?}", miette::miette!(help = way_out, "{error}")));
                return Ok(ExitStatus::Failed.into());
            }
        };
        let row = store.study_of(self.id).await.into_diagnostic()?;
        let kept = Kept::read(store, &row).await?;
        let account = Account::Search(Box::new(row), Box::new(kept));
        session.told.verdict(&account, store).await?;
        let status = conclude(name, &pursuit);
        // Trials that failed were made again: the answer is there, if anything was measured.
        Ok(match pursuit.verdict {
            Some(verdict) if verdict.complete && pursuit.measured > 0 => ExitCode::SUCCESS,
            Some(_) => ExitStatus::Failed.into(),
            None => status,
        })
    }
}

/// A testbed that is asked for no more than a budget allows.
struct Bounded<'a> {
    testbed: Testbed<'a>,
    policy: &'a SearchPolicy,
    /// Since when, and how long.
    budget: Option<(Instant, Duration)>,
}

impl Measurer for Bounded<'_> {
    fn add_cell(&mut self, cell: Cell) {
        self.testbed.add_cell(cell);
    }

    async fn measure(&mut self, request: Request) -> Result<Measured, Unmeasurable> {
        if let Some((since, budget)) = self.budget {
            let length = self.policy.duration.as_ref().and_then(|duration| {
                let value = self.testbed.cells.get(request.cell)?.params.get(duration)?;
                Duration::try_from_secs_f64(value.number()?).ok()
            });
            if since.elapsed() + length.unwrap_or_default() > budget {
                return Err(Unmeasurable(format!(
                    "the budget of {} is used up",
                    Time(budget)
                )));
            }
        }
        self.testbed.measure(request).await
    }
}
