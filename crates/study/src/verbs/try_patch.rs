//! `try`: patches and reverts measured side by side with what they change, until each difference is decided. Only what was
//! measured at the same time is compared.

use backsight_history::WorkshopError;
use backsight_model::{Event, HistoryCell, StudyHistory, StudyName, did_you_mean};
use backsight_policy::{RequestedMetric, TryPolicy, TrySideOutcome, TryVerdict};
use backsight_report::try_patch::{CheckedBase, TryStudy};
use backsight_stats::Confidence;
use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;
use std::time::Duration;

use super::{Resumed, Verb, verb};
use crate::{
    BeforeMeasuring, BuildContext, CheckChoices, Choices, EndedLoop, EndedStudy, HistoryChoices,
    HistoryStudy, HistoryVerb, PolicyInputs, SessionOptions, StudyEnding, StudyOutcome, TryChoices,
    VerdictReport, check_forecast::forecast_sentence, evidence::evidence_of_study,
    repeated_check::earlier_check,
};

/// Passes without end: the budget comes before.
pub const MOST_PASSES: u32 = 10_000;

/// The verb.
pub struct TryVerb;

impl Verb for TryVerb {
    const NAME: &'static str = "try";
    type Choices = TryChoices;

    fn history(choices: &TryChoices) -> Option<HistoryChoices> {
        Some(choices.history.clone())
    }

    async fn resume(
        resumed: Resumed<'_>,
        options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        HistoryStudy::<Self>::resume(resumed, options).await
    }

    async fn judge(store: &Store, study: &StudyRow) -> miette::Result<VerdictReport> {
        let report = TryReport::from_store(store, study).await?;
        Ok(VerdictReport::Try(Box::new(report)))
    }
}

impl HistoryVerb for TryVerb {
    const SHARES_EVIDENCE: bool = false;
    type Policy = TryPolicy;

    fn policy(inputs: &PolicyInputs<'_>) -> miette::Result<TryPolicy> {
        let choices = inputs.choices.of_verb::<Self>()?;
        Ok(policy(choices, inputs.versions, inputs.cells, inputs.seed))
    }

    fn name_stem(choices: &Choices) -> &'static str {
        match choices.of_verb::<Self>() {
            Ok(TryChoices { check: Some(_), .. }) => "check",
            _ => Self::NAME,
        }
    }

    async fn before_measuring(
        before: BeforeMeasuring<'_, TryPolicy>,
    ) -> miette::Result<Option<StudyRow>> {
        let choices = before.choices.of_verb::<Self>()?;
        let Some(check) = &choices.check else {
            return Ok(None);
        };
        let (store, site, cells) = (before.store, before.site, before.cells);
        let note = |message: String| before.events.emit(&Event::Note { message });
        if !check.anew
            && let Some(earlier) = earlier_check(store, site, before.choices, cells).await?
        {
            let trials = earlier.measured + earlier.failed;
            note(format!(
                "`{}` asked the same and goes on: {trials} trials are there; --anew begins anew",
                earlier.name
            ));
            return Ok(Some(earlier));
        }
        note(forecast_sentence(store, site, before.policy, choices, cells).await?);
        Ok(None)
    }

    fn rounds(_choices: &Choices) -> u32 {
        // It goes on until it is decided.
        0
    }

    async fn conclude(ended: EndedLoop<'_, TryVerdict>) -> miette::Result<EndedStudy> {
        let EndedLoop {
            store,
            study,
            progress,
            ..
        } = ended;
        let report = TryReport::from_store(store, &study).await?;
        let ending = match progress.stopped {
            Some(_) => progress.ending(),
            None => report.ending(),
        };
        let verdict = VerdictReport::Try(Box::new(report));
        Ok(EndedStudy::new(study, verdict, progress, ending))
    }
}

/// Checks that every named metric is one of the `known` ones, which are benchmark and metric.
///
/// # Errors
/// One isn't.
pub fn check_metrics(asked: &[String], known: &[(String, String)]) -> miette::Result<()> {
    let full: Vec<String> = known.iter().map(|(b, m)| format!("{b}.{m}")).collect();
    for name in asked {
        let is_known = known.iter().any(|(_, metric)| metric == name) || full.contains(name);
        if !is_known {
            let names = full.iter().chain(known.iter().map(|(_, metric)| metric));
            let near = did_you_mean(name, names.map(String::as_str));
            return Err(miette::miette!(
                help = near.unwrap_or_else(|| format!("there are: {}", full.join(", "))),
                "no benchmark of the plan has a metric `{}`",
                backsight_report::escape::line(name)
            ));
        }
    }
    Ok(())
}

/// Measures sides beside their base, if all their amendments apply.
///
/// # Errors
/// An amendment doesn't apply, or as [`HistoryStudy::begin`].
pub async fn begin(
    study: HistoryStudy<TryVerb>,
    store: &Store,
    site: BuildContext,
    name: Option<StudyName>,
    options: &SessionOptions,
) -> miette::Result<StudyOutcome> {
    if let Err(refused) = check_amendments(&site).await {
        site.workshop.finish().await;
        return Err(refused);
    }
    study.begin(store, site, name, options).await
}

/// Applies all amendments in the tree, so that one that doesn't apply is refused before anything is measured.
async fn check_amendments(site: &BuildContext) -> miette::Result<()> {
    for side in 0..site.workshop.versions().len() {
        match site.workshop.try_amendments(side).await {
            Ok(()) => {}
            Err(error @ WorkshopError::Amendment { .. }) => {
                return Err(miette::miette!(
                    help = "make it anew for this version, or name another version with --at; in place of a revert, give a hand-made one with --patch",
                    "{error}"
                ));
            }
            Err(other) => return Err(miette::Report::msg(other.to_string())),
        }
    }
    Ok(())
}

fn policy(choices: &TryChoices, versions: usize, cells: &[HistoryCell], seed: u32) -> TryPolicy {
    let asked = |cell: &HistoryCell| {
        let metrics = cell.metrics.iter().map(|metric| {
            let short = metric.name.to_string();
            let full = format!("{}.{short}", cell.cell.benchmark);
            let named = &choices.metrics;
            RequestedMetric {
                name: metric.name.clone(),
                better: metric.better,
                decides: match named.is_empty() {
                    true => metric.primary,
                    false => named.contains(&short) || named.contains(&full),
                },
            }
        });
        metrics.collect()
    };
    let is_left_out = |cell: &HistoryCell| match &choices.cell {
        Some(only) => cell.cell.to_string() != *only,
        None => false,
    };
    let left_out = cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| is_left_out(cell));
    TryPolicy {
        absent: left_out.map(|(number, _)| (0, number)).collect(),
        sides: versions.saturating_sub(1),
        layouts: choices.history.layouts.len(),
        trials: choices.trials,
        cells: cells.iter().map(asked).collect(),
        revisits: choices.revisits,
        first_boot: choices.first_boot,
        budget: choices.budget,
        most: choices.most,
        equal: choices.equal.map(|percent| percent / 100.0),
        tolerates: choices.check.is_some(),
        confidence: Confidence::new(choices.confidence).unwrap_or_default(),
        seed,
    }
}

/// Sides beside a base, as their evidence stands: the verdict of `try` and of `run --until`.
pub struct TryReport {
    /// The verb that measured it.
    pub verb: &'static str,
    /// What was measured; its first version is the base, the others are the sides.
    pub history: StudyHistory,
    /// What it may take.
    pub budget: Option<Duration>,
    /// The probability that no decision is false, such as 0.95.
    pub confidence: f64,
    /// The largest difference, in percent, that doesn't matter, if that was asked.
    pub equal: Option<f64>,
    /// The user's names of base and side.
    pub called: Option<(String, String)>,
    /// What `check` asked, if it is one.
    pub check: Option<CheckChoices>,
    /// Where it stands.
    pub verdict: TryVerdict,
}

impl TryReport {
    pub(crate) async fn from_store(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        let history = store.study_history(study.id).await.into_diagnostic()?;
        let choices = Choices::from_study(study).into_diagnostic()?;
        let choices = choices.of_verb::<TryVerb>()?.clone();
        let policy = policy(&choices, history.versions.len(), &history.cells, study.seed);
        let verdict = policy.verdict(&evidence_of_study(&history, &choices.history.layouts));
        Ok(Self {
            verb: TryVerb::NAME,
            history,
            budget: choices.budget,
            confidence: choices.confidence,
            equal: choices.equal,
            called: choices.called,
            check: choices.check,
            verdict,
        })
    }

    /// The study with its verdict, as it is reported.
    pub fn study(&self) -> TryStudy<'_> {
        TryStudy {
            history: &self.history,
            verdict: &self.verdict,
            budget: self.budget,
            confidence: self.confidence,
            equal: self.equal,
            called: self.called.as_ref(),
            checked: self.check.as_ref().map(|check| CheckedBase {
                base: &check.base,
                tip: check.tip,
            }),
            takes_rounds: verb(self.verb).is_some_and(|verb| verb.takes_rounds),
        }
    }

    /// What it means to a script.
    fn ending(&self) -> StudyEnding {
        // A base that doesn't build says nothing of the change.
        if self.check.is_some() && self.verdict.dead.first() == Some(&true) {
            return StudyEnding::Undecided;
        }
        match self.verdict.overall() {
            TrySideOutcome::Worse | TrySideOutcome::Dead => StudyEnding::Failed,
            TrySideOutcome::Undecided => StudyEnding::Undecided,
            TrySideOutcome::Better | TrySideOutcome::Equal => StudyEnding::Success,
        }
    }
}
