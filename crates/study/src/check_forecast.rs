//! Forecast of a check: what it will take, from the noise and the durations of earlier studies of the same cells on the same machine.

use backsight_model::{HistoryCell, Layout, StudyHistory, TargetName};
use backsight_policy::{ForecastNoise, TryPolicy};
use backsight_report::numbers;
use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;
use std::{collections::HashMap, time::Duration};

use crate::{
    BuildContext, TryChoices,
    verbs::{
        Verb as _,
        try_patch::{TryReport, TryVerb},
    },
};

/// Studies of the target that are read for it, the newest first.
const MOST_STUDIES: usize = 8;
/// Values that have to be there before their spread says anything.
const MIN_VALUES: usize = 4;

/// What is known of the cells of a check before it begins.
#[derive(Debug, Default)]
struct KnownCells {
    /// By cell and metric: the standard deviation of one pass's difference, and the study that says so.
    noise: HashMap<(usize, String), (f64, String)>,
    /// Seconds of a trial, by cell.
    trials: HashMap<usize, f64>,
    /// Seconds of a boot.
    boot: Option<f64>,
    /// Seconds of a build.
    build: Option<f64>,
}

/// What a check will take, in a sentence.
///
/// # Errors
/// The store's.
pub(crate) async fn forecast_sentence(
    store: &Store,
    site: &BuildContext,
    policy: &TryPolicy,
    choices: &TryChoices,
    cells: &[HistoryCell],
) -> miette::Result<String> {
    let target = &site.workshop.target().name;
    let known = known_cells(store, target, policy, cells).await?;
    let most = choices.budget.map(numbers::duration);
    let ends = most.map_or_else(String::new, |most| {
        format!("; it ends after {most} at the latest")
    });
    let of_cells = match policy.deciding_cells().len() {
        1 => "1 cell".to_owned(),
        cells => format!("{cells} cells"),
    };
    let noise = deciding_noise(&known, policy);
    let is_known =
        |cell: &usize| noise.iter().any(|it| it.cell == *cell) && known.trials.contains_key(cell);
    if !policy.deciding_cells().iter().all(is_known) {
        return Ok(format!(
            "how long it takes isn't known: of {of_cells} not all were measured on this machine before{ends}"
        ));
    }
    let Some(percent) = choices.equal else {
        return Ok(format!(
            "how long it takes isn't known: without a tolerance only a difference ends it{ends}"
        ));
    };
    let Some(forecast) = policy.forecast(&noise, percent / 100.0) else {
        return Ok(format!(
            "nothing decides, so that nothing is measured{ends}"
        ));
    };
    let pass = pass_duration(&known, policy);
    let (builds, made) = missing_builds(store, site, &known).await?;
    let to_build = match made {
        0 => String::new(),
        1 => format!(", 1 build ({})", numbers::duration(builds)),
        made => format!(", {made} builds ({})", numbers::duration(builds)),
    };
    let from = known.source_of(forecast.cell);
    let visible = visible_within(policy, &noise, choices.budget, builds, pass);
    let visible = visible.map_or_else(
        || "nothing can be told in that time".to_owned(),
        |share| {
            let percent = numbers::significant(100.0 * share, 2);
            format!("that shows differences of {percent} %")
        },
    );
    let Some(passes) = forecast.passes else {
        return Ok(format!(
            "no number of rounds shows {percent} % by the noise of {from}{ends}: {visible}"
        ));
    };
    let all = builds + pass.mul_f64(passes as f64);
    let rounds = format!(
        "{passes} rounds of {of_cells} on both sides{to_build}, to see {percent} % by the noise of {from}{ends}"
    );
    let all_of_it = numbers::duration(all);
    Ok(match choices.budget.is_some_and(|budget| all > budget) {
        false => format!("about {all_of_it}: {rounds}"),
        true => format!("it would take about {all_of_it}: {rounds}: {visible}"),
    })
}

impl KnownCells {
    /// The study whose noise of a cell is known.
    fn source_of(&self, cell: usize) -> &str {
        let mut known = self.noise.iter();
        let found = known.find(|((of, _), _)| *of == cell);
        found.map_or("", |(_, (_, study))| study.as_str())
    }
}

/// What the budget shows.
fn visible_within(
    policy: &TryPolicy,
    noise: &[ForecastNoise],
    budget: Option<Duration>,
    builds: Duration,
    pass: Duration,
) -> Option<f64> {
    let rest = budget?.saturating_sub(builds).as_secs_f64();
    policy.visible_after(noise, (rest / pass.as_secs_f64().max(1e-9)) as usize)
}

/// The noise of everything that decides, as far as it is known.
fn deciding_noise(known: &KnownCells, policy: &TryPolicy) -> Vec<ForecastNoise> {
    let cells = policy.cells.iter().enumerate();
    let deciding = cells.flat_map(|(cell, metrics)| {
        let metrics = metrics.iter().filter(|metric| metric.decides);
        metrics.map(move |metric| (cell, metric.name.to_string()))
    });
    let found = deciding.filter_map(|(cell, metric)| {
        let (deviation, _) = known.noise.get(&(cell, metric))?;
        Some(ForecastNoise {
            cell,
            deviation: *deviation,
        })
    });
    found.collect()
}

/// How long a pass over both sides takes.
fn pass_duration(known: &KnownCells, policy: &TryPolicy) -> Duration {
    let cells = policy.deciding_cells();
    let trials: f64 = cells.iter().filter_map(|cell| known.trials.get(cell)).sum();
    let boots = match policy.revisits {
        true => 0.0,
        false => known.boot.unwrap_or(0.0),
    };
    let sides = (policy.sides + 1) as f64;
    Duration::from_secs_f64(sides * (trials * f64::from(policy.trials.max(1)) + boots))
}

/// How long the builds take that aren't there yet, and how many these are.
async fn missing_builds(
    store: &Store,
    site: &BuildContext,
    known: &KnownCells,
) -> miette::Result<(Duration, usize)> {
    let requests = store.requests_along(&site.workshop.target().name).await;
    let requests = requests.into_diagnostic()?;
    let versions = 0..site.workshop.versions().len();
    let keys = versions.map(|version| site.workshop.place(version, Layout::default()).key);
    let missing = keys
        .filter(|key| !requests.iter().any(|asked| asked.content == *key))
        .count();
    let each = known.build.unwrap_or(0.0);
    Ok((Duration::from_secs_f64(each * missing as f64), missing))
}

/// What the newest studies of a target say of these cells.
async fn known_cells(
    store: &Store,
    target: &TargetName,
    policy: &TryPolicy,
    cells: &[HistoryCell],
) -> miette::Result<KnownCells> {
    let studies = store.studies_of_target(target).await.into_diagnostic()?;
    let mut known = KnownCells::default();
    for study in studies.iter().take(MOST_STUDIES) {
        let history = store.study_history(study.id).await.into_diagnostic()?;
        learn_durations(&mut known, &history, cells);
        let noise = match study.verb == TryVerb::NAME {
            true => noise_of_try(store, study, &history, cells).await,
            false => noise_of_builds(&history, cells, policy.revisits),
        };
        for (place, deviation) in noise {
            let name = study.name.to_string();
            known.noise.entry(place).or_insert((deviation, name));
        }
    }
    Ok(known)
}

fn learn_durations(known: &mut KnownCells, history: &StudyHistory, cells: &[HistoryCell]) {
    for (number, cell) in cells.iter().enumerate() {
        let Some(same) = history.cells.iter().position(|it| it.key == cell.key) else {
            continue;
        };
        let good = history
            .trials
            .iter()
            .filter(|it| it.cell == same && it.failure.is_none());
        if let Some(seconds) = median(good.map(|trial| trial.took.as_secs_f64())) {
            known.trials.entry(number).or_insert(seconds);
        }
    }
    let boots = history.boots.iter().filter(|boot| boot.failure.is_none());
    known.boot = known
        .boot
        .or(median(boots.map(|boot| boot.took.as_secs_f64())));
    let builds = history
        .builds
        .iter()
        .filter(|it| !it.cached && it.failure.is_none());
    known.build = known
        .build
        .or(median(builds.map(|build| build.took.as_secs_f64())));
}

/// The deviations of the differences of an earlier try, by cell of the check and metric.
async fn noise_of_try(
    store: &Store,
    study: &StudyRow,
    history: &StudyHistory,
    cells: &[HistoryCell],
) -> Vec<((usize, String), f64)> {
    // One that another program wrote says nothing.
    let Ok(report) = TryReport::from_store(store, study).await else {
        return Vec::new();
    };
    let compared = report.verdict.compared.iter().filter_map(|tried| {
        let key = &history.cells.get(tried.cell)?.key;
        let cell = cells.iter().position(|cell| cell.key == *key)?;
        let pairs = tried
            .course
            .iter()
            .filter(|(base, new)| *base > 0.0 && *new > 0.0);
        let ratios: Vec<f64> = pairs.map(|(base, new)| (new / base).ln()).collect();
        Some(((cell, tried.metric.to_string()), deviation(&ratios, 1)?))
    });
    compared.collect()
}

/// The deviations of a difference of two builds, from how much the values of each build of an earlier study vary: of its trials, or of
/// its boots where each pass boots.
fn noise_of_builds(
    history: &StudyHistory,
    cells: &[HistoryCell],
    revisits: bool,
) -> Vec<((usize, String), f64)> {
    let mut noise = Vec::new();
    for (number, cell) in cells.iter().enumerate() {
        let Some(same) = history.cells.iter().position(|it| it.key == cell.key) else {
            continue;
        };
        for (at, metric) in history.cells[same].metrics.iter().enumerate() {
            // By build, and then by what is repeated: the values of a trial, or of a boot.
            let mut units: HashMap<u32, HashMap<u32, Vec<f64>>> = HashMap::new();
            for trial in history.trials.iter().filter(|trial| trial.cell == same) {
                let Some((build, boot)) = history.place(trial) else {
                    continue;
                };
                let unit = if revisits { trial.number } else { boot.number };
                let values = trial.samples.get(at).into_iter().flatten();
                let of_unit = units
                    .entry(build.number)
                    .or_default()
                    .entry(unit)
                    .or_default();
                of_unit.extend(values.copied());
            }
            let builds = units.values().map(|units| {
                let means = units.values().filter_map(|values| mean(values));
                means
                    .filter(|mean| *mean > 0.0)
                    .map(f64::ln)
                    .collect::<Vec<f64>>()
            });
            let centred: Vec<Vec<f64>> = builds.filter(|values| values.len() > 1).collect();
            let groups = centred.len();
            let centred: Vec<f64> = centred
                .into_iter()
                .flat_map(|values| {
                    let middle = mean(&values).unwrap_or(0.0);
                    values.into_iter().map(move |value| value - middle)
                })
                .collect();
            if let Some(of_one) = deviation(&centred, groups) {
                let of_difference = of_one * std::f64::consts::SQRT_2;
                noise.push(((number, metric.name.to_string()), of_difference));
            }
        }
    }
    noise
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of values whose mean was taken of so many groups; nothing of too few.
fn deviation(values: &[f64], means: usize) -> Option<f64> {
    let middle = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    let free = values.len().checked_sub(means.max(1))?;
    (values.len() >= MIN_VALUES && free > 0).then(|| (squares / free as f64).sqrt())
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
