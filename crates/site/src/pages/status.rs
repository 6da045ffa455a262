//! What isn't as it should be, over all targets: what can't be measured or isn't, what failed last, which studies wait to go on.

use askama::Template;
use backsight_model::{BuildFailure, JobState};
use backsight_report::{
    clipped,
    queue::{ListedJob, job_command, job_standing, queue_notes},
};
use backsight_store::{FindingKind, StandingJobRecord, WatchStudyPurpose};
use jiff::{Timestamp, tz::TimeZone};

use super::{
    address,
    book::Here,
    frame::Frame,
    home::{Gap, gaps_of},
    site::Press,
    studies::StudyLine,
};
use crate::crumb::Crumb;

/// Most lines of each list.
const MOST_GAPS: usize = 500;
const MOST_FAILURES: usize = 100;
const MOST_STUDIES: usize = 50;

#[derive(Template)]
#[template(path = "pages/status.html")]
pub(super) struct StatusPage<'a> {
    frame: Frame,
    jobs: Vec<JobLine>,
    /// Who holds the queue, what is reserved, what isn't listed.
    queue_notes: Vec<String>,
    standing: Vec<StandingLine>,
    running: Vec<StudyLine>,
    /// Studies that `resume` goes on with.
    unfinished: Vec<StudyLine>,
    gaps: Vec<Gap>,
    gaps_left_out: usize,
    failures: Vec<FailureLine>,
    failures_left_out: usize,
    notes: &'a [String],
}

/// A job of the queue.
struct JobLine {
    number: i64,
    state: JobState,
    by: String,
    asked: Timestamp,
    command: String,
    study: String,
    /// The page of the study that it began, if it has one.
    to_study: Option<String>,
    /// Why it waits, when it begins and ends; or how it ended.
    standing: String,
    /// What a form that cancels it says.
    said: String,
}

/// A standing job.
struct StandingLine {
    job: String,
    target: String,
    to_target: Option<String>,
    studies: i64,
    /// What it began last, and the page of that study, if it has one.
    doing: &'static str,
    study: String,
    to_study: Option<String>,
    found: String,
}

/// A build, boot or trial that failed.
struct FailureLine {
    began: Timestamp,
    what: String,
    href: String,
    target: String,
    to_target: String,
    study: String,
    /// Its page, if it has one.
    to_study: Option<String>,
    reason: String,
}

impl<'a> Press<'a> {
    pub(super) fn status(&self) -> StatusPage<'a> {
        let mut failures = Vec::new();
        let mut gaps = Vec::new();
        for number in 0..self.site.books.len() {
            let here = self.here(number);
            gaps.extend(gaps_of(here));
            failures.extend(self.failures_of(here));
        }
        failures.sort_by_key(|failure| std::cmp::Reverse(failure.began));
        let failures_left_out = failures.len().saturating_sub(MOST_FAILURES);
        failures.truncate(MOST_FAILURES);
        let gaps_left_out = gaps.len().saturating_sub(MOST_GAPS);
        gaps.truncate(MOST_GAPS);
        let of_state = |states: &[&str]| {
            let mut lines = self.study_lines(|study| states.contains(&study.state_name()));
            lines.truncate(MOST_STUDIES);
            lines
        };
        let crumbs = vec![Crumb::new("Home", &self.page.link(address::HOME))];
        StatusPage {
            jobs: self.job_lines(),
            standing: self.standing_lines(),
            queue_notes: queue_notes(&self.site.queue, &TimeZone::UTC),
            frame: Frame::new("Status", self.page, crumbs),
            running: of_state(&["running"]),
            unfinished: of_state(&["killed", "stopped"]),
            gaps,
            gaps_left_out,
            failures,
            failures_left_out,
            notes: &self.site.notes,
        }
    }
}

impl Press<'_> {
    /// The jobs that run, wait or are held back, and those that ended last.
    fn job_lines(&self) -> Vec<JobLine> {
        let queue = &self.site.queue;
        let line = |listed: &ListedJob| {
            let job = &listed.job;
            let study = job
                .study
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            let page = address::study(&study);
            JobLine {
                number: job.number,
                state: job.state,
                by: clipped(&job.request.by, 60),
                asked: job.asked,
                command: clipped(&job_command(job), 300),
                to_study: self.site.has(&page).then(|| self.page.link(&page)),
                study,
                standing: clipped(&job_standing(listed, queue.now, &TimeZone::UTC), 300),
                said: serde_json::json!({"job": job.number}).to_string(),
            }
        };
        queue.jobs.iter().map(line).collect()
    }

    /// The standing jobs that began a study.
    fn standing_lines(&self) -> Vec<StandingLine> {
        let line = |record: &StandingJobRecord| {
            let target = address::target(record.target.as_str());
            let study = address::study(record.last.study.as_str());
            let to = |page: &str| self.site.has(page).then(|| self.page.link(page));
            let of = |kind: FindingKind| record.found.iter().filter(|it| **it == kind).count();
            let found = [
                (of(FindingKind::Verified), "verified"),
                (of(FindingKind::Stretch), "not decided further"),
                (of(FindingKind::Refuted), "not borne out"),
            ];
            let found = found.iter().filter(|(count, _)| *count > 0);
            let found: Vec<String> = found.map(|(count, how)| format!("{count} {how}")).collect();
            StandingLine {
                job: clipped(&record.job, 60),
                target: clipped(record.target.as_str(), 60),
                to_target: to(&target),
                studies: record.last.number,
                doing: match record.last.purpose {
                    WatchStudyPurpose::Measure => "measures a version",
                    WatchStudyPurpose::Bisect => "looks for the version of a change",
                    WatchStudyPurpose::Verify => "verifies a change",
                    WatchStudyPurpose::Revert => "takes a change back",
                },
                study: record.last.study.to_string(),
                to_study: to(&study),
                found: match found.is_empty() {
                    true => "nothing".to_owned(),
                    false => found.join(", "),
                },
            }
        };
        self.site.standing_jobs.iter().map(line).collect()
    }

    /// What failed of a target: builds, boots and trials.
    fn failures_of(&self, here: Here<'_>) -> Vec<FailureLine> {
        let book = here.book;
        let mut failures = Vec::new();
        for study in &book.studies {
            let page = address::study(study.name.as_str());
            let to_study = self.site.has(&page).then(|| here.link(&page));
            let line = |began, what: String, href, reason: &dyn ToString| FailureLine {
                began,
                what,
                href,
                target: clipped(book.target.as_str(), 60),
                to_target: here.to_target(),
                study: study.name.to_string(),
                to_study: to_study.clone(),
                reason: clipped(&reason.to_string(), 300),
            };
            let version = |number: u32| {
                let build = study.builds.iter().find(|build| build.number == number);
                build.and_then(|build| book.place(study, build))
            };
            for build in &study.builds {
                if let Some(why @ BuildFailure::Broken(_)) = &build.failure
                    && let Some(at) = book.place(study, build)
                {
                    let what = format!("build of {}", book.name(at));
                    failures.push(line(build.began, what, here.to_version(at), why));
                }
            }
            for boot in &study.boots {
                if let Some(why) = &boot.failure {
                    let of = version(boot.build).map_or(String::new(), |at| book.name(at));
                    let what = format!("boot {} of {of}", boot.ordinal);
                    failures.push(line(
                        boot.began,
                        what,
                        here.to_boot(study, boot.number),
                        why,
                    ));
                }
            }
            for trial in &study.trials {
                if let Some(why) = &trial.failure {
                    let href = here.to_trial(study.study, trial.number).unwrap_or_default();
                    let what = format!("trial {}", trial.number);
                    failures.push(line(trial.began, what, href, why));
                }
            }
        }
        failures
    }
}
