//! What a site shows of a store: targets with what is known of them, studies, and what lies between versions.

use backsight_history::HistoryError;
use backsight_model::{TargetName, Version};
use backsight_policy::{CompareOptions, StudyPart};
use backsight_report::queue::QueueListing;
use backsight_site::{ComparedSets, Site, SiteTarget, StudyPages, Surroundings, VersionChanges};
use backsight_store::{StandingJobRecord, Store, StoredSelfTest, StudyRow};
use backsight_study::{
    ComparedStudies, Intervals, KnownAlerts, KnownHistory, OpenTarget, QueueLimits, VerdictReport,
    VersionInterval, add_failure_messages, compared_background, list_queue, profiles_of_parts,
};
use jiff::Timestamp;
use miette::IntoDiagnostic as _;
use std::{collections::HashMap, pin::Pin, sync::Arc};

use crate::verdict_output::{into_page, json_of};

/// Most of a difference that stands on a page, in bytes: a history may have thousands of pages.
const MOST_OF_A_DIFF: usize = 128 << 10;

/// What a site shows.
pub struct SiteContent {
    store: Store,
    targets: Vec<SiteTarget>,
    studies: Vec<StudyRow>,
    self_tests: Vec<StoredSelfTest>,
    queue: QueueListing,
    standing_jobs: Vec<StandingJobRecord>,
    sources: Arc<Sources>,
    /// What a reader should know of what couldn't be taken into account, a sentence each.
    pub notes: Vec<String>,
}

impl SiteContent {
    /// What the store has of these targets, and its studies of them; of all targets and studies where none is named.
    ///
    /// # Errors
    /// The store's.
    pub async fn collect(store: &Store, targets: &[TargetName]) -> miette::Result<Self> {
        let mut studies = store.studies().await.into_diagnostic()?;
        let mut all = store.targets().await.into_diagnostic()?;
        if !targets.is_empty() {
            all.retain(|target| targets.contains(target));
            studies.retain(|study| {
                let target = study.target.as_ref();
                target.is_some_and(|target| targets.contains(target))
            });
        }
        let mut contents = Vec::new();
        let mut notes = Vec::new();
        for target in &all {
            contents.push(target_content(store, target, &mut notes).await?);
        }
        Ok(Self {
            store: store.clone(),
            sources: Arc::new(Sources::open(store, &all).await),
            targets: contents,
            studies,
            self_tests: store.self_tests().await.into_diagnostic()?,
            queue: list_queue(store, QueueLimits::default())
                .await
                .into_diagnostic()?,
            standing_jobs: {
                let mut jobs = store.standing_jobs().await.into_diagnostic()?;
                jobs.retain(|job| all.contains(&job.target));
                jobs
            },
            notes,
        })
    }

    /// The site of it.
    pub fn into_site(self) -> Site<'static> {
        let sources = Arc::clone(&self.sources);
        let between = move |target: &TargetName, from: &Version, to: &Version| {
            sources.between(target, from, to)
        };
        let pages = VerdictPages {
            store: self.store.clone(),
        };
        let sources = self.sources.identities();
        Site::new(&self.store, self.targets, Box::new(between))
            .with_sources(sources)
            .with_studies(self.studies, Box::new(pages))
            .with_machines(&self.self_tests)
            .with_queue(self.queue)
            .with_standing_jobs(self.standing_jobs)
            .with_notes(self.notes)
    }

    /// Forgets what was cached of intervals that no page has any more, once every page has been made anew.
    pub fn interval_cleaner(&self) -> impl FnOnce() + use<> {
        let sources = Arc::clone(&self.sources);
        move || {
            for (_, intervals) in sources.opened.values().flatten() {
                intervals.remove_unused();
            }
        }
    }
}

async fn target_content(
    store: &Store,
    target: &TargetName,
    notes: &mut Vec<String>,
) -> miette::Result<SiteTarget> {
    let KnownAlerts {
        mut known,
        mut tests,
        alerts,
    } = {
        let known = KnownHistory::from_store(store, target, Timestamp::now(), false).await?;
        KnownAlerts::of_history(store, target, known).await?
    };
    notes.extend(known.left_out);
    // The history has them.
    for trial in known.studies.iter_mut().flat_map(|study| &mut study.trials) {
        trial.samples = Vec::new();
    }
    add_failure_messages(store, &mut tests)
        .await
        .into_diagnostic()?;
    Ok(SiteTarget {
        target: target.clone(),
        studies: known.studies,
        history: known.history,
        records: known.records,
        tests: Some(tests),
        alerts,
        annotations: {
            let notes = store.annotations(target).await.into_diagnostic()?;
            notes.into_iter().map(|(_, note)| note).collect()
        },
    })
}

/// The pages of studies: what `backsight report` writes, within the site.
struct VerdictPages {
    store: Store,
}

impl StudyPages for VerdictPages {
    fn page<'a>(
        &'a self,
        study: &'a StudyRow,
        around: &'a Surroundings,
    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + 'a>> {
        Box::pin(async {
            let verdict = VerdictReport::from_store(&self.store, study).await;
            let page = match verdict {
                Ok(verdict) => into_page(study, verdict, &self.store, around).await,
                Err(why) => Err(why),
            };
            page.map_err(|why| why.to_string())
        })
    }

    fn compare<'a>(
        &'a self,
        parts: &'a [StudyPart],
        options: CompareOptions,
    ) -> Pin<Box<dyn Future<Output = Result<ComparedSets, String>> + 'a>> {
        Box::pin(async move {
            let compared = compare_stored(&self.store, parts, options).await;
            compared.map_err(|why| why.to_string())
        })
    }

    fn json<'a>(
        &'a self,
        study: &'a StudyRow,
    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + 'a>> {
        Box::pin(async {
            let verdict = VerdictReport::from_store(&self.store, study).await;
            let json = verdict.and_then(|verdict| json_of(study, &verdict));
            json.map_err(|why| why.to_string())
        })
    }
}

async fn compare_stored(
    store: &Store,
    parts: &[StudyPart],
    options: CompareOptions,
) -> miette::Result<ComparedSets> {
    let ComparedStudies {
        studies,
        comparison,
        records,
        ..
    } = ComparedStudies::from_parts(store, parts, options).await?;
    Ok(ComparedSets {
        background: compared_background(store, &studies, &comparison).await?,
        profiles: match options.monitors {
            true => profiles_of_parts(store, parts).await?,
            false => Vec::new(),
        },
        comparison,
        records,
    })
}

/// The histories of targets, as the latest study of each names them; or why one can't be read, which is told on the pages
/// and no reason to have none. Studies keep versions, not what lies between them.
struct Sources {
    opened: HashMap<TargetName, Result<(OpenTarget, Intervals), String>>,
}

impl Sources {
    async fn open(store: &Store, targets: &[TargetName]) -> Self {
        let mut opened = HashMap::new();
        for target in targets {
            let history = match OpenTarget::from_store(store, target).await {
                Ok(Some(history)) => {
                    let intervals = Intervals::new(&history);
                    Ok((history, intervals))
                }
                Ok(None) => Err("its studies don't say where".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            opened.insert(target.clone(), history);
        }
        Self { opened }
    }

    /// What tells where each history is read from, or why it can't be.
    fn identities(&self) -> HashMap<TargetName, String> {
        let opened = self.opened.iter();
        let identities = opened.map(|(target, opened)| match opened {
            Ok((_, intervals)) => (target.clone(), intervals.identity()),
            Err(why) => (target.clone(), why.clone()),
        });
        identities.collect()
    }

    fn between(
        &self,
        target: &TargetName,
        from: &Version,
        to: &Version,
    ) -> Result<Option<VersionChanges>, String> {
        let (history, intervals) = match self.opened.get(target) {
            None => return Ok(None),
            Some(Err(why)) => return Err(why.clone()),
            Some(Ok((opened, intervals))) => (&opened.history, intervals),
        };
        let fetch = || {
            Ok(VersionInterval {
                changes: history.between(from, to)?,
                diff: history.diff(from, to, MOST_OF_A_DIFF)?,
            })
        };
        let known = intervals.get_or_fetch(from, to, MOST_OF_A_DIFF, fetch);
        let VersionInterval { changes, diff } = known.map_err(|e: HistoryError| e.to_string())?;
        // Packages without a change log say nothing; that isn't the same as that nothing changed.
        Ok((!changes.is_empty() || diff.is_some()).then_some(VersionChanges { changes, diff }))
    }
}
