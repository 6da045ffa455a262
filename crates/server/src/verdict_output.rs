//! A verdict written out: as the terminal shows it, as Markdown, as JSON, as a page.

use backsight_model::{ResultSet, TargetName};
use backsight_policy::{CompareOptions, SplitKey, compare_by, parts_by_version};
use backsight_report::{
    Format, Render as _, TerminalStyle,
    comparison::{self, ComparisonFormat, DisplayOptions},
    stored_study::StudyListEntry,
};
use backsight_site::{ReportVersions, Surroundings};
use backsight_store::{Store, StudyRow};
use backsight_study::{VerdictReport, cross_checks_of_study, measurement_warnings};
use miette::IntoDiagnostic as _;

/// A verdict as text, Markdown or JSON; of results every metric where `all_metrics`, else the primary ones.
pub fn render(
    verdict: &VerdictReport,
    format: Format,
    look: &TerminalStyle,
    all_metrics: bool,
) -> miette::Result<String> {
    match verdict {
        VerdictReport::Try(report) => report.study().render(format, look),
        VerdictReport::Bisect(report) => report.study().render(format, look),
        VerdictReport::TestBisect(report) => report.study().render(format, look),
        VerdictReport::Noise(report) => report.study().render(format, look),
        VerdictReport::Overhead(study) => study.render(format, look),
        VerdictReport::Search(report) => report.study().render(format, look),
        VerdictReport::Tests(study) => study.render(format, look),
        VerdictReport::Results(results) => {
            let options = DisplayOptions {
                width: look.width,
                colour: look.colour,
                all_metrics,
                ..DisplayOptions::default()
            };
            let format = match format {
                Format::Markdown => ComparisonFormat::Markdown,
                Format::Json => ComparisonFormat::Json,
                Format::Text | Format::Html => ComparisonFormat::Text,
            };
            comparison::render(&results.comparison(), &results.background, format, &options)
        }
        VerdictReport::History(_) | VerdictReport::None => Ok(String::new()),
    }
    .into_diagnostic()
}

/// A verdict as JSON; what a list says of its study, where it has none yet.
pub fn json_of(study: &StudyRow, verdict: &VerdictReport) -> miette::Result<String> {
    let text = render(verdict, Format::Json, &TerminalStyle::default(), true)?;
    match text.is_empty() {
        true => backsight_report::json(&StudyListEntry::from(study)).into_diagnostic(),
        false => Ok(text),
    }
}

/// A verdict as an HTML page: one self-contained file where nothing is around it.
pub async fn page(
    study: &StudyRow,
    verdict: &VerdictReport,
    store: &Store,
    around: &Surroundings,
) -> miette::Result<String> {
    let document = match verdict {
        VerdictReport::Try(report) => {
            return backsight_site::try_page(&report.study(), around).into_diagnostic();
        }
        VerdictReport::Bisect(report) => {
            return backsight_site::bisect_page(&report.study(), around).into_diagnostic();
        }
        VerdictReport::Noise(report) => {
            return backsight_site::noise_page(&report.study(), around).into_diagnostic();
        }
        VerdictReport::Tests(study) => study.document(),
        VerdictReport::TestBisect(report) => report.study().document(),
        verdict => {
            let set = store.result_set(study.id).await.into_diagnostic()?;
            return page_of_trials(study, Some(verdict), set, store, around).await;
        }
    };
    backsight_site::document_page(&document, around).into_diagnostic()
}

/// The same when nothing else is made of the verdict: a result set may be large, and isn't read again.
pub async fn into_page(
    study: &StudyRow,
    verdict: VerdictReport,
    store: &Store,
    around: &Surroundings,
) -> miette::Result<String> {
    match verdict {
        VerdictReport::Results(results) => {
            page_of_trials(study, None, results.set, store, around).await
        }
        verdict => page(study, &verdict, store, around).await,
    }
}

/// Most versions of a history's study that have bars of their own.
const MOST_VERSIONS: usize = 40;

/// What a study along a history measured of each version, the newest where there are many.
///
/// # Errors
/// The store's own.
pub async fn versions_of_study(
    store: &Store,
    study: &StudyRow,
    target: &TargetName,
    set: &ResultSet,
) -> miette::Result<ReportVersions> {
    let history = store.study_history(study.id).await.into_diagnostic()?;
    let mut parts = parts_by_version(&history);
    let left_out = parts.len().saturating_sub(MOST_VERSIONS);
    parts.drain(..left_out);
    let sets = parts.iter().map(|part| part.of_results(set.clone()));
    Ok(ReportVersions {
        target: target.to_string(),
        sets: sets.collect(),
        left_out,
    })
}

/// The page of a study with its trials: the variants of results beside each other, else the verdict.
async fn page_of_trials(
    study: &StudyRow,
    verdict: Option<&VerdictReport>,
    set: ResultSet,
    store: &Store,
    around: &Surroundings,
) -> miette::Result<String> {
    // A study without variants has nothing to compare; its page shows what it measured.
    let comparison = match verdict {
        None | Some(VerdictReport::Results(_)) => {
            compare_by(&set, &SplitKey::Variant, CompareOptions::default()).ok()
        }
        Some(_) => None,
    };
    let title = study.name.to_string();
    let versions = match verdict {
        Some(VerdictReport::History(target)) => {
            Some(versions_of_study(store, study, target, &set).await?)
        }
        _ => None,
    };
    let collected = backsight_site::report_of_sets(store, title, vec![set], comparison).await;
    let mut collected = collected.into_diagnostic()?;
    collected.versions = versions;
    if let Some(comparison) = &collected.comparison {
        collected.background.more_rounds =
            backsight_study::more_rounds(store, &[study.id], comparison).await?;
    }
    if let Some(VerdictReport::Overhead(overhead)) = verdict {
        collected.overhead = Some((**overhead).clone());
    }
    let sets = collected.studies.iter().map(|study| &study.results);
    let known = measurement_warnings(store, sets.collect::<Vec<_>>()).await?;
    collected.notes = known.iter().map(ToString::to_string).collect();
    // Raw output that is damaged, or a definition of another time, is no reason to show nothing.
    if let Ok(Some(checks)) = cross_checks_of_study(store, study, &[]).await {
        let (sentence, _) = checks.sentence();
        let name = &study.name;
        collected.notes.push(format!(
            "{sentence}; `backsight show {name} --cross-checks` has their numbers"
        ));
    }
    match verdict {
        Some(VerdictReport::Search(report)) => {
            backsight_site::report_of_search(&collected, &report.study(), around)
        }
        _ => backsight_site::report(&collected, around),
    }
    .into_diagnostic()
}
