//! What studies know along a target's history, and the targets, series and versions of it that a user names.

use backsight_model::{Build, HostRecordMap, StudyHistory, TargetName, Version, did_you_mean};
use backsight_policy::{
    MeasuredTestbeds, StudyPart, TargetHistory, VersionEvidence, VersionSeries, history,
};
use backsight_report::escape;
use backsight_store::{Store, StudyId};
use jiff::Timestamp;
use miette::IntoDiagnostic as _;
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{
    OpenTarget,
    history_findings::{HistoryOutline, MIN_SAMPLES},
    host_records::records_of_studies,
    reference::reference_drift,
    resolve_version,
    verbs::bisect::named_changes,
};

/// Fewer characters of an identity don't name a version.
const SHORTEST_IDENTITY: usize = 7;

/// A target's studies and the history that they make, with what of it is accepted and what bisections named.
pub struct KnownHistory {
    /// The studies of the target; perhaps without samples, if it was [read without](KnownHistory::without_samples).
    pub studies: Vec<StudyHistory>,
    /// What they say together.
    pub history: TargetHistory,
    /// What their hosts were when each began, by the studies' numbers.
    pub records: HashMap<i64, HostRecordMap>,
    /// Bisections that couldn't be taken into account, and why.
    pub left_out: Vec<String>,
    has_samples: bool,
}

/// The numbers of the boots of these versions in a study.
fn boots_of(study: &StudyHistory, versions: &HashSet<&str>) -> HashSet<u32> {
    let is_of = |build: &&Build| {
        let version = study.versions.get(build.version);
        version.is_some_and(|version| versions.contains(version.id.as_str()))
    };
    let builds = study.builds.iter().filter(is_of);
    let builds: HashSet<u32> = builds.map(|build| build.number).collect();
    let boots = study.boots.iter();
    let boots = boots.filter(|boot| builds.contains(&boot.build));
    boots.map(|boot| boot.number).collect()
}

impl KnownHistory {
    /// Reads what is known, as it is accepted `now`; where it is `corrected` without the drift of what was measured beside.
    ///
    /// # Errors
    /// The store's own.
    pub async fn from_store(
        store: &Store,
        target: &TargetName,
        now: Timestamp,
        corrected: bool,
    ) -> miette::Result<Self> {
        let mut known = match corrected {
            true => Self::found_anew(store, target, true).await?,
            false => Self::found_before(store, target, MIN_SAMPLES).await?,
        };
        if !known.has_samples {
            known.studies = studies_on_line(store, target).await?;
            known.history.add_samples(&known.studies);
            known.has_samples = true;
        }
        known.accept(store, target, now).await?;
        Ok(known)
    }

    /// As [`KnownHistory::from_store`], for those who need no sample: studies have none, and points no builds, where what was found
    /// before still holds. Then a long history is there at once. Versions can be compared by it when their
    /// [samples were read](KnownHistory::read_versions).
    ///
    /// # Errors
    /// The store's own.
    pub async fn without_samples(
        store: &Store,
        target: &TargetName,
        now: Timestamp,
    ) -> miette::Result<Self> {
        let mut known = Self::found_before(store, target, MIN_SAMPLES).await?;
        known.accept(store, target, now).await?;
        Ok(known)
    }

    /// Reads the samples of these versions, by their places in [`TargetHistory::versions`], where they weren't read.
    ///
    /// # Errors
    /// The store's own.
    pub async fn read_versions(&mut self, store: &Store, versions: &[usize]) -> miette::Result<()> {
        if self.has_samples {
            return Ok(());
        }
        let known = &self.history.versions;
        let asked = versions.iter().filter_map(|at| known.get(*at));
        let ids: HashSet<&str> = asked.map(|it| it.version.id.as_str()).collect();
        for study in &mut self.studies {
            let boots = boots_of(study, &ids);
            let read = store.read_samples(study, |trial| boots.contains(&trial.boot));
            read.await.into_diagnostic()?;
        }
        self.history.add_samples(&self.studies);
        Ok(())
    }

    /// As it was found before, where nothing changed since; else anew, which is kept where there are so many samples.
    pub(crate) async fn found_before(
        store: &Store,
        target: &TargetName,
        min_samples: i64,
    ) -> miette::Result<Self> {
        let outline = HistoryOutline::read(store, target).await?;
        if let Some((mut history, left_out)) = outline.find(store, target).await {
            history.tell_of_hosts(&outline.records);
            return Ok(Self {
                studies: outline.studies,
                history,
                records: outline.records,
                left_out,
                has_samples: false,
            });
        }
        let known = Self::found_anew(store, target, false).await?;
        let (history, left_out) = (&known.history, &known.left_out);
        let keep = outline.keep(store, target, history, left_out, min_samples);
        keep.await;
        Ok(known)
    }

    /// From all samples.
    pub(crate) async fn found_anew(
        store: &Store,
        target: &TargetName,
        corrected: bool,
    ) -> miette::Result<Self> {
        let mut studies = studies_on_line(store, target).await?;
        let drift = reference_drift(store, target).await?;
        if corrected {
            studies = drift.removed_from(studies);
        }
        let mut history = history(&studies);
        let (named, left_out) = named_changes(store, target).await?;
        history.name_changes(&named);
        let numbers: Vec<StudyId> = studies.iter().map(|it| StudyId(it.study)).collect();
        let records = records_of_studies(store, &numbers).await;
        history.tell_of_hosts(&records);
        history.look_for_states(&studies, &records);
        match corrected {
            true => history.tell_of_removed_drift(drift),
            false => history.tell_of_drift(&studies, drift),
        }
        Ok(Self {
            studies,
            history,
            records,
            left_out,
            has_samples: true,
        })
    }

    pub(crate) async fn accept(
        &mut self,
        store: &Store,
        target: &TargetName,
        now: Timestamp,
    ) -> miette::Result<()> {
        let accepted = store.acceptances(target).await.into_diagnostic()?;
        self.history.accept(&accepted, now);
        Ok(())
    }

    /// What versions are compared by.
    pub fn evidence(&self) -> VersionEvidence<'_> {
        VersionEvidence {
            history: &self.history,
            studies: &self.studies,
            records: &self.records,
        }
    }
}

/// What the studies of a target measured of the versions on its line: those beside it aren't before or after one another.
async fn studies_on_line(store: &Store, target: &TargetName) -> miette::Result<Vec<StudyHistory>> {
    let studies = store.target_history(target).await.into_diagnostic()?;
    let beside = store.side_versions(target).await.into_diagnostic()?;
    let on_line = studies.into_iter().map(|study| study.without(&beside));
    Ok(on_line.collect())
}

/// The versions that studies of a target know, to find one of them; nothing is known of what was measured.
///
/// # Errors
/// The store's own.
pub async fn known_versions(store: &Store, target: &TargetName) -> miette::Result<TargetHistory> {
    let outlines = store.target_outline(target).await.into_diagnostic()?;
    let plain: Vec<StudyHistory> = outlines.into_iter().map(StudyHistory::plain).collect();
    Ok(history(&plain))
}

/// The series of these benchmarks and metrics (`throughput` or `tbench.throughput`); all where none is named.
///
/// # Errors
/// No series has one of the names.
pub fn named_series<'a>(
    history: &'a TargetHistory,
    benchmarks: &[String],
    metrics: &[String],
) -> miette::Result<Vec<&'a VersionSeries>> {
    let benchmark = |series: &VersionSeries| vec![series.cell.benchmark.to_string()];
    known("benchmark", benchmarks, &history.series, benchmark)?;
    known("metric", metrics, &history.series, metric_names)?;
    let asked = |asked: &[String], names: Vec<String>| {
        asked.is_empty() || names.iter().any(|name| asked.contains(name))
    };
    let series = history.series.iter().filter(|series| {
        asked(benchmarks, benchmark(series)) && asked(metrics, metric_names(series))
    });
    let series: Vec<_> = series.collect();
    if series.is_empty() && !(benchmarks.is_empty() && metrics.is_empty()) {
        return Err(miette::miette!(
            help = "leave out --metric or --benchmark to see what there is",
            "no benchmark of these has such a metric"
        ));
    }
    Ok(series)
}

/// The names by which a series' metric may be asked for.
fn metric_names(series: &VersionSeries) -> Vec<String> {
    let (benchmark, metric) = (&series.cell.benchmark, &series.metric.name);
    vec![metric.to_string(), format!("{benchmark}.{metric}")]
}

/// Checks that some series has this metric.
///
/// # Errors
/// None has.
pub fn known_metric(asked: &str, series: &[VersionSeries]) -> miette::Result<()> {
    known("metric", &[asked.to_owned()], series, metric_names)
}

/// Every name that was asked for is one that some series has.
fn known(
    what: &str,
    asked: &[String],
    series: &[VersionSeries],
    names: impl Fn(&VersionSeries) -> Vec<String>,
) -> miette::Result<()> {
    let known: BTreeSet<String> = series.iter().flat_map(names).collect();
    for name in asked {
        if !known.contains(name) {
            let all: Vec<&str> = known.iter().map(String::as_str).collect();
            let near = did_you_mean(name, all.iter().copied());
            return Err(miette::miette!(
                help = near.unwrap_or_else(|| format!("there are: {}", all.join(", "))),
                "nothing has measured a {what} `{}` along this history",
                escape::line(name)
            ));
        }
    }
    Ok(())
}

/// The target that was named, else the only one.
///
/// # Errors
/// The store has no such target, or several and none was named.
pub async fn find_target(store: &Store, asked: Option<&str>) -> miette::Result<TargetName> {
    let targets = store.targets().await.into_diagnostic()?;
    let names: Vec<&str> = targets.iter().map(TargetName::as_str).collect();
    match (asked, &targets[..]) {
        (_, []) => Err(no_history()),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(miette::miette!(
            help = format!("say which: --target {}", names.join(", --target ")),
            "the store has the histories of {} targets",
            targets.len()
        )),
        (Some(asked), targets) => {
            let found = targets.iter().find(|target| target.as_str() == asked);
            found.cloned().ok_or_else(|| {
                let near = did_you_mean(asked, names.iter().copied());
                miette::miette!(
                    help = near.unwrap_or_else(|| format!("there are: {}", names.join(", "))),
                    "the store has no history of a target `{}`",
                    escape::line(asked)
                )
            })
        }
    }
}

/// What these testbeds of a target measured of the version with this identity, else of the newest one that all of them measured.
///
/// # Errors
/// Fewer than two are named, one of them twice, there is no such testbed, or nothing was measured on all of them.
pub fn testbed_parts(
    testbeds: &MeasuredTestbeds,
    history: &TargetHistory,
    names: &[&str],
    version: Option<&str>,
) -> miette::Result<Vec<StudyPart>> {
    let known: Vec<&str> = testbeds.names().collect();
    let all = || match &known[..] {
        [] => "no study of this target says which testbed it was measured on".to_owned(),
        known => format!("testbeds that measured it: {}", known.join(", ")),
    };
    for (place, name) in names.iter().enumerate() {
        if names[..place].contains(name) {
            return Err(miette::miette!(
                help = all(),
                "the testbed {} is named twice",
                escape::line(name)
            ));
        }
        if !known.contains(name) {
            return Err(miette::miette!(
                help = did_you_mean(name, known.iter().copied()).unwrap_or_else(all),
                "nothing of this target was measured on a testbed {}",
                escape::line(name)
            ));
        }
    }
    if names.len() < 2 {
        return Err(miette::miette!(
            help = all(),
            "there is nothing to compare the testbed with: name a second one"
        ));
    }
    let versions = history.versions.iter().rev().map(|it| &it.version.id);
    let mut asked = versions.filter(|id| version.is_none_or(|version| *id == version));
    asked
        .find_map(|id| testbeds.parts(names, id))
        .ok_or_else(|| {
            let what = match version {
                Some(_) => "that version",
                None => "any version",
            };
            miette::miette!(
                help = "measure one on each: `backsight step` with a plan for each testbed",
                "not all of these testbeds measured {what}"
            )
        })
}

/// What is said where no study is about a target.
pub fn no_history() -> miette::Report {
    miette::miette!(
        help = "`backsight step` measures the versions of a target",
        "the store has no history of any target"
    )
}

/// Identity and name of the version that is named: as studies know it, else as the target's history resolves it (`HEAD~2`).
///
/// # Errors
/// No study of the target knows such a version.
pub async fn find_version(
    store: &Store,
    target: &TargetName,
    history: &TargetHistory,
    asked: &str,
) -> miette::Result<(String, String)> {
    let unknown = match known_version(history, asked) {
        Ok(known) => return Ok(known),
        Err(unknown) => unknown,
    };
    let asked = asked.to_owned();
    let resolved: Option<Version> = match OpenTarget::from_store(store, target).await {
        Ok(Some(opened)) => opened.query(move |h| resolve_version(h, &asked)).await.ok(),
        _ => None,
    };
    let Some(version) = resolved else {
        return Err(unknown);
    };
    let mut versions = history.versions.iter().map(|known| &known.version);
    match versions.find(|known| known.id == version.id) {
        Some(known) => Ok((known.id.clone(), known.name.clone())),
        None => Err(miette::miette!(
            help = "measure it, or the stretch that it lies in, with `backsight step` or `backsight bisect`",
            "{} is a version of {target} that no study measured",
            escape::line(&version.name)
        )),
    }
}

/// The version that is named, of those that studies know.
fn known_version(history: &TargetHistory, asked: &str) -> miette::Result<(String, String)> {
    let versions = || history.versions.iter().map(|version| &version.version);
    match named_version(versions(), asked)? {
        Some(only) => Ok((only.id.clone(), only.name.clone())),
        None => Err(miette::miette!(
            help = did_you_mean(asked, versions().map(|v| v.name.as_str())).unwrap_or_else(|| {
                "`backsight history --all` lists the versions that studies of the target know"
                    .to_owned()
            }),
            "no study of the target knows a version {}",
            escape::line(asked)
        )),
    }
}

/// The one of these versions that is named: by its name, its identity or the beginning of that; none if there is no such one.
///
/// # Errors
/// Several versions are called so.
pub(crate) fn named_version<'a>(
    versions: impl Iterator<Item = &'a Version> + Clone,
    asked: &str,
) -> miette::Result<Option<&'a Version>> {
    let is_named = |v: &&Version| v.name == asked || v.id == asked || v.full_name() == asked;
    let mut found: Vec<&Version> = versions.clone().filter(is_named).collect();
    if found.is_empty() && asked.len() >= SHORTEST_IDENTITY {
        found = versions.filter(|v| v.id.starts_with(asked)).collect();
    }
    match found[..] {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        _ => Err(miette::miette!(
            help = "name it by its whole identity",
            "{} versions are called {}",
            found.len(),
            escape::line(asked)
        )),
    }
}
