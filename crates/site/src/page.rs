//! The report page: one file that needs nothing else, or a page of a site; readable without JavaScript.
//!
//! Everything on it goes through the escaper of [`crate::escape`]; its own script is the only one that a browser would
//! run (by its hash), and nothing is fetched. A page has at most [`PAGE_LIMIT`] bytes: the longest raw outputs are cut first,
//! and the page says where.

use askama::Template;
use backsight_model::{Plan, ResultSet, StudyState, shell_quoted};
use backsight_policy::join_versions;
use backsight_report::comparison::{
    bar_figures::{figures, figures_of},
    page::{ComparisonTables, Piece, RichSentence, verdict_sentences},
    summaries::{Summaries, summaries},
};
use backsight_report::{
    Body, MoreRounds, Render as _, clipped, numbers,
    scenario_matrix::{MatrixAxes, ScenarioMatrix},
    search::SearchStudy,
};
use backsight_store::StudyDocument;
use std::{collections::HashMap, time::Duration};

use crate::{
    doubts::doubts,
    instances::InstancesSection,
    machine::Machines,
    overhead::OverheadSection,
    printed::{PAGE_LIMIT, PrintedOutput, share_out},
    report::{ReportContent, ReportStudy, ReportTrial, ReportVersions},
    search::SearchSection,
    surroundings::Surroundings,
    trials::{LONGEST_REASON, Trials, anchor},
};

/// Of these, what trials may take without their outputs.
const TRIALS_LIMIT: usize = 8 * 1024 * 1024;
/// What stands around an output that is shown.
const FRAME: usize = 128;
/// What the documents may take.
const DOCUMENTS_LIMIT: usize = 2 * 1024 * 1024;
/// Most rows of the list of failures, and most trials of one of them.
const MOST_LISTED: usize = 50;

/// Most scenario matrices.
const MOST_MATRICES: usize = 30;
/// Most reasons of what a matrix hasn't.
const MOST_REASONS: usize = 20;

/// Narrow enough for a phone; a wider page stretches it.
const CHART_WIDTH: f64 = 380.0;

const STYLE: &str = concat!(
    include_str!("../templates/report.css"),
    include_str!("../templates/trials.css")
);
const SCRIPT: &str = include_str!("../templates/report.js");
/// The SHA-256 of the script, as a content security policy names it.
const SCRIPT_HASH: &str = "sha256-yUkgLBGkM5/T/nbFsLbCS5FeBZxWzQS5v5jFU8Cb+70=";

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
#[error("the report page can't be made: {0}")]
pub struct PageError(#[from] askama::Error);

/// The report as one self-contained HTML file of at most [`PAGE_LIMIT`] bytes.
///
/// # Errors
/// The template fails; no input is known that makes it.
pub fn report(report: &ReportContent, around: &Surroundings) -> Result<String, PageError> {
    page(report, None, around)
}

/// The report on a search: its bounds and its curves are in place of the bars of its many cells.
///
/// # Errors
/// As those of [`report`](fn@report).
pub fn report_of_search(
    report: &ReportContent,
    study: &SearchStudy<'_>,
    around: &Surroundings,
) -> Result<String, PageError> {
    page(report, Some(SearchSection::new(study).render()?), around)
}

fn page(
    report: &ReportContent,
    search: Option<String>,
    around: &Surroundings,
) -> Result<String, PageError> {
    let views: Vec<Trials<'_>> = report
        .studies
        .iter()
        .enumerate()
        .map(|(number, study)| Trials::new(study, number, report.studies.len()))
        .collect();
    let mut page = Page::new(report, around);
    if search.is_some() {
        // Its own sentences say what it came to.
        page.verdict.clear();
        // Its cells are loads, each tried in its turn.
        page.matrices.clear();
    }
    page.search = search;
    // How much room the outputs have is known once everything else has been written.
    let chosen = page.choose_trials(report, &views)?;
    let without_outputs = page.render()?.len();
    let outputs: Vec<usize> = chosen
        .iter()
        .flatten()
        .flat_map(|trial| outputs(trial))
        .map(PrintedOutput::cost)
        .collect();
    let room = PAGE_LIMIT.saturating_sub(without_outputs + outputs.len() * FRAME);
    let allowance = share_out(&outputs, room);
    for ((study, view), chosen) in page.studies.iter_mut().zip(&views).zip(&chosen) {
        study.trials = chosen
            .iter()
            .map(|trial| view.view(trial, allowance).render())
            .collect::<Result<_, _>>()?;
    }
    Ok(page.render()?)
}

fn outputs(trial: &ReportTrial) -> impl Iterator<Item = &PrintedOutput> {
    trial
        .steps
        .iter()
        .flat_map(|step| [&step.stdout, &step.stderr])
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    title: &'a str,
    style: &'static str,
    script: &'static str,
    script_hash: &'static str,
    version: &'static str,
    around: &'a Surroundings,
    facts: Vec<Fact>,
    verdict: Vec<RichSentence>,
    /// What a search found, in place of what was measured.
    search: Option<String>,
    figures: Vec<FigureView>,
    bars_left_out: usize,
    compared: Option<ComparisonTables>,
    more_rounds: Option<&'a MoreRounds>,
    overhead: Option<OverheadSection>,
    instances: Option<InstancesSection>,
    matrices: Vec<MatrixSection>,
    statistics: Summaries,
    notes: Vec<String>,
    notes_left_out: usize,
    failed: Vec<FailedView>,
    failed_left_out: usize,
    machines: Machines,
    documents: Vec<DocumentView>,
    studies: Vec<StudyView>,
}

struct Fact {
    label: &'static str,
    value: String,
    more: String,
    bad: bool,
}

struct FigureView {
    heading: String,
    about: String,
    svg: String,
}

struct FailedView {
    cell: String,
    reason: String,
    trials: Vec<FailedTrial>,
}

struct FailedTrial {
    href: String,
    number: u32,
}

/// A scenario matrix.
struct MatrixSection {
    heading: String,
    about: String,
    /// The table as HTML; nothing of a list.
    table: String,
    /// The sentences of a list: why something isn't there.
    items: Vec<String>,
}

struct DocumentView {
    heading: String,
    size: String,
    text: String,
    cut: bool,
    command: String,
}

struct StudyView {
    name: String,
    trials: Vec<String>,
    left_out: usize,
}

impl<'a> Page<'a> {
    fn new(report: &'a ReportContent, around: &'a Surroundings) -> Self {
        let sets: Vec<_> = report.studies.iter().map(|study| &study.results).collect();
        let by_version = report.versions.as_ref();
        let shown: Vec<&ResultSet> = match by_version {
            Some(versions) => versions.sets.iter().collect(),
            None => sets.clone(),
        };
        let (figures, bars_left_out) = match &report.comparison {
            Some(comparison) if sets.is_empty() => figures_of(comparison),
            _ => figures(&shown),
        };
        let compared = report.comparison.as_ref().map(ComparisonTables::new);
        let (notes, notes_left_out) = doubts(report);
        let (failed, failed_left_out) = failed(&report.studies);
        Self {
            title: &report.title,
            style: STYLE,
            script: SCRIPT,
            script_hash: SCRIPT_HASH,
            version: env!("CARGO_PKG_VERSION"),
            around,
            facts: headline(&report.studies),
            verdict: match by_version {
                Some(versions) => vec![versions.sentence()],
                None => {
                    let (overhead, comparison) = (&report.overhead, &report.comparison);
                    verdict_sentences(overhead.as_ref(), comparison.as_ref(), &sets)
                }
            },
            search: None,
            figures: figures
                .into_iter()
                .enumerate()
                .map(|(number, figure)| FigureView {
                    svg: figure.chart.svg(&format!("chart-{number}"), CHART_WIDTH),
                    heading: figure.heading,
                    about: figure.about,
                })
                .collect(),
            bars_left_out,
            compared,
            more_rounds: report.background.more_rounds.as_ref(),
            overhead: report.overhead.as_ref().map(OverheadSection::new),
            instances: InstancesSection::new(&report.background.instances),
            matrices: matrices(report),
            statistics: summaries(&shown),
            notes,
            notes_left_out,
            failed,
            failed_left_out,
            machines: Machines::from_studies(&report.studies),
            documents: documents(&report.studies),
            studies: Vec::new(),
        }
    }

    /// Renders those trials that are shown, without their outputs, until their room is used up: failed ones first, then by number. Returns
    /// those that have room, in order of time.
    fn choose_trials<'r>(
        &mut self,
        report: &'r ReportContent,
        views: &[Trials<'_>],
    ) -> Result<Vec<Vec<&'r ReportTrial>>, PageError> {
        let mut room = TRIALS_LIMIT;
        let mut all = Vec::new();
        for (study, view) in report.studies.iter().zip(views) {
            let shown = study.trials.iter().filter(|trial| trial.shown);
            let mut order: Vec<&ReportTrial> = shown.collect();
            order.sort_by_key(|trial| (trial.row.failure.is_none(), trial.row.number));
            let mut chosen: Vec<(&ReportTrial, String)> = Vec::new();
            for trial in order {
                let text = view.view(trial, 0).render()?;
                if text.len() > room {
                    break;
                }
                room -= text.len();
                chosen.push((trial, text));
            }
            chosen.sort_by_key(|(trial, _)| trial.row.number);
            let left_out = study.trials.len() - chosen.len();
            let (chosen, trials) = chosen.into_iter().unzip();
            self.studies.push(StudyView {
                name: study.row.name.to_string(),
                trials,
                left_out,
            });
            all.push(chosen);
        }
        Ok(all)
    }
}

impl ReportVersions {
    /// Where the changes between them are judged.
    fn sentence(&self) -> RichSentence {
        let older = match self.left_out {
            0 => String::new(),
            count => format!(", the newest of {}", self.sets.len() + count),
        };
        let text = format!(
            "{} of {} measured{older}; a bar each. The history judges the changes between them: backsight history --target {}",
            numbers::counted(self.sets.len(), "version"),
            self.target,
            shell_quoted(&self.target)
        );
        vec![Piece { class: "", text }]
    }
}

/// The scenario matrix of the only study: that of its plan, else of the first two axes, if it has two or more.
fn matrices(report: &ReportContent) -> Vec<MatrixSection> {
    let [study] = &report.studies[..] else {
        return Vec::new();
    };
    let joined = report.versions.as_ref();
    let joined = joined.and_then(|versions| join_versions(&versions.sets));
    let set = joined.as_ref().unwrap_or(&study.results);
    let plan = StudyDocument::of_kind(&study.documents, "plan").find_map(|it| Plan::read(&it).ok());
    let of_plan = plan.as_ref().and_then(|plan| plan.matrix.as_ref());
    let axes = of_plan.map(MatrixAxes::of_plan);
    let matrix = axes.or_else(|| MatrixAxes::first_of(set));
    let matrix = matrix.and_then(|axes| ScenarioMatrix::new(set, &axes, plan.as_ref()).ok());
    let Some(matrix) = matrix else {
        return Vec::new();
    };
    let mut tables = Vec::new();
    let mut lists = Vec::new();
    for section in matrix.document().sections {
        let (heading, about) = (section.heading, section.about);
        let (table, items) = match section.body {
            Body::Table(table) => (table.html(), Vec::new()),
            Body::List(items) => (String::new(), items),
            // Every bar stands above.
            Body::Picture { .. } | Body::Verbatim(_) => continue,
        };
        let to = if items.is_empty() {
            &mut tables
        } else {
            &mut lists
        };
        to.push(MatrixSection {
            heading,
            about,
            table,
            items,
        });
    }
    tables.truncate(MOST_MATRICES);
    lists
        .iter_mut()
        .for_each(|it| it.items.truncate(MOST_REASONS));
    tables.append(&mut lists);
    tables
}

fn headline(studies: &[ReportStudy]) -> Vec<Fact> {
    if studies.is_empty() {
        return Vec::new();
    }
    let mut facts = vec![when(studies), place(studies), trials(studies)];
    let each = |value: &dyn Fn(&ReportStudy) -> String| {
        let mut values: Vec<String> = studies.iter().map(value).collect();
        values.dedup();
        values.join(", ")
    };
    let rounds = |study: &ReportStudy| {
        let rounds = study.trials.iter().map(|trial| trial.row.round).max();
        rounds.unwrap_or(0).to_string()
    };
    facts.push(Fact::plain("Rounds", each(&rounds)));
    facts.push(Fact::plain(
        "Seed of the order",
        each(&|study| study.row.seed.to_string()),
    ));
    facts
}

impl Fact {
    fn plain(label: &'static str, value: String) -> Self {
        Self {
            label,
            value,
            more: String::new(),
            bad: false,
        }
    }
}

fn when(studies: &[ReportStudy]) -> Fact {
    let began = studies.iter().map(|study| study.row.began).min();
    let took: Duration = studies.iter().map(took).sum();
    let unfinished: Vec<String> = studies
        .iter()
        .filter(|study| study.row.state != StudyState::Finished)
        .map(|study| format!("{} is {}", study.row.name, study.row.state_name()))
        .collect();
    let mut more = format!("took {}", numbers::duration(took));
    if studies.len() > 1 {
        more.push_str(" in all");
    }
    if !unfinished.is_empty() {
        more.push_str(&format!("; {}", unfinished.join(", ")));
    }
    Fact {
        label: "When",
        value: began.map_or_else(
            || "never".to_owned(),
            |began| began.strftime("%-d %b %Y, %H:%M UTC").to_string(),
        ),
        more,
        bad: false,
    }
}

/// From its beginning to the end of its last trial.
fn took(study: &ReportStudy) -> Duration {
    let last = study.trials.iter().filter_map(|trial| {
        let began = trial.row.began.duration_since(study.row.began);
        Some(Duration::try_from(began).ok()? + trial.row.took)
    });
    last.max().unwrap_or_default()
}

fn place(studies: &[ReportStudy]) -> Fact {
    let mut machines: Vec<&str> = Vec::new();
    let mut hosts: Vec<&str> = Vec::new();
    for (host, facts) in studies.iter().flat_map(|study| &study.results.hosts) {
        if !hosts.contains(&host.as_str()) {
            hosts.push(host.as_str());
        }
        if let Some(machine) = facts.get("hostname").map(String::as_str)
            && !machines.contains(&machine)
        {
            machines.push(machine);
        }
    }
    let hosts = clipped(&hosts.join(", "), 120);
    if machines.is_empty() {
        return Fact::plain("Where", hosts);
    }
    Fact {
        more: format!("as {hosts}"),
        ..Fact::plain("Where", clipped(&machines.join(", "), 80))
    }
}

fn trials(studies: &[ReportStudy]) -> Fact {
    let all: usize = studies.iter().map(|study| study.trials.len()).sum();
    let trials = studies.iter().flat_map(|study| &study.trials);
    let failed = trials.filter(|trial| trial.row.failure.is_some()).count();
    let more = match failed {
        0 => "none failed".to_owned(),
        count => format!("{} failed", numbers::grouped(count as u64)),
    };
    Fact {
        label: "Trials",
        value: format!("{} measured", numbers::grouped((all - failed) as u64)),
        more,
        bad: failed > 0,
    }
}

/// Failed trials by what was measured and why it failed; and how many of these there is no room for.
fn failed(studies: &[ReportStudy]) -> (Vec<FailedView>, usize) {
    let mut all: Vec<FailedView> = Vec::new();
    let mut places: HashMap<(usize, String, String), usize> = HashMap::new();
    for (number, study) in studies.iter().enumerate() {
        let anchor = anchor(number, studies.len());
        for (trial, _, cell, failure) in &study.results.failed {
            let cell = match studies.len() {
                1 => cell.to_string(),
                _ => format!("{}: {cell}", study.row.name),
            };
            let reason = clipped(&failure.to_string(), LONGEST_REASON);
            let key = (number, cell.clone(), reason.clone());
            let place = *places.entry(key).or_insert_with(|| {
                all.push(FailedView {
                    cell,
                    reason,
                    trials: Vec::new(),
                });
                all.len() - 1
            });
            all[place].trials.push(FailedTrial {
                href: format!("#{anchor}{trial}"),
                number: *trial,
            });
        }
    }
    let left_out = all.len().saturating_sub(MOST_LISTED);
    all.truncate(MOST_LISTED);
    for failed in &mut all {
        failed.trials.truncate(MOST_LISTED);
    }
    (all, left_out)
}

fn documents(studies: &[ReportStudy]) -> Vec<DocumentView> {
    let all: Vec<(&ReportStudy, PrintedOutput, &StudyDocument)> = studies
        .iter()
        .flat_map(|study| &study.documents)
        .zip(
            studies
                .iter()
                .flat_map(|study| study.documents.iter().map(move |_| study)),
        )
        .map(|(document, study)| {
            let text = document.text.clone().into_bytes();
            let size = text.len() as u64;
            (study, PrintedOutput::new(text, size, usize::MAX), document)
        })
        .collect();
    let costs: Vec<usize> = all.iter().map(|(_, text, _)| text.cost()).collect();
    let share = share_out(&costs, DOCUMENTS_LIMIT);
    all.iter()
        .map(|(study, text, document)| {
            let shown = text.within(share);
            let of = if studies.len() > 1 {
                format!(" of {}", study.row.name)
            } else {
                String::new()
            };
            let name = clipped(&document.name, 200);
            DocumentView {
                heading: if name == document.kind {
                    format!("{name}{of}")
                } else {
                    format!("{} · {name}{of}", document.kind)
                },
                size: numbers::size(text.printed()),
                cut: shown.left_out > 0,
                text: shown.head,
                command: format!("backsight show {} --documents", study.row.name),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use sha2::Digest;

    #[test]
    fn the_policy_names_the_script_that_is_on_the_page() {
        let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(SCRIPT));
        assert_eq!(
            SCRIPT_HASH,
            format!("sha256-{hash}"),
            "put the new hash into SCRIPT_HASH"
        );
    }
}
