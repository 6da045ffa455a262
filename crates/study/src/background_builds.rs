//! Background builds: while other machines measure, this machine builds the versions that will be asked for next, one at a
//! time and only a few ahead.
//!
//! The outcome of a build is stored and announced at once, but changes nothing of what is measured: a failed build becomes
//! evidence, or stops the study, when its version is asked for, as if it had been built then.

use backsight_conductor::Events;
use backsight_history::{Workshop, WorkshopError};
use backsight_model::{BuildRecord, Event, Layout};
use backsight_policy::Request;
use std::{collections::HashMap, sync::Arc};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

/// A build: its version's position, and its layout's number.
pub(crate) type Build = (usize, usize);

pub(crate) fn build_of(request: &Request) -> Build {
    (request.version, request.layout)
}

/// The state of the background builder.
#[derive(Debug, Default)]
struct Made {
    under_way: Option<Build>,
    /// Outcomes of finished builds: `Err` says why there is no build.
    done: HashMap<Build, Result<(), String>>,
}

/// Builds ahead in a task of its own.
pub(crate) struct BackgroundBuilder {
    wanted: watch::Sender<Vec<Request>>,
    made: Arc<watch::Sender<Made>>,
    task: JoinHandle<()>,
}

impl BackgroundBuilder {
    /// Starts with nothing to build; and where each build is told that it made.
    pub(crate) fn start(
        workshop: Arc<Workshop>,
        layouts: Vec<Layout>,
        events: Events,
    ) -> (Self, mpsc::UnboundedReceiver<Box<BuildRecord>>) {
        let (wanted, wants) = watch::channel(Vec::new());
        let made = Arc::new(watch::Sender::new(Made::default()));
        let (teller, told) = mpsc::unbounded_channel();
        let task = tokio::spawn(build_ahead(
            BuildTask {
                workshop,
                layouts,
                events,
                made: Arc::clone(&made),
                teller,
            },
            wants,
        ));
        (Self { wanted, made, task }, told)
    }

    /// Says what is to be built now, in this order. What is under way goes on.
    pub(crate) fn set_wanted(&self, coming: &[Request]) {
        self.wanted.send_if_modified(|wanted| {
            let other = wanted[..] != *coming;
            if other {
                *wanted = coming.to_vec();
            }
            other
        });
    }

    /// Says that this build is there, so that it isn't made again.
    pub(crate) fn mark_built(&self, build: Build) {
        self.made.send_modify(|made| {
            made.done.insert(build, Ok(()));
        });
    }

    /// What came of this build, awaited if it is being made; nothing if it wasn't made ahead.
    pub(crate) async fn outcome(&self, build: Build) -> Option<Result<(), String>> {
        let mut made = self.made.subscribe();
        let made = made.wait_for(|made| made.under_way != Some(build)).await;
        made.ok()?.done.get(&build).cloned()
    }

    /// Ends it, with what it was making.
    pub(crate) async fn end(self) {
        self.task.abort();
        // It was cancelled: that is what was asked for.
        let _ = self.task.await;
    }
}

/// The data of the builder's task.
struct BuildTask {
    workshop: Arc<Workshop>,
    layouts: Vec<Layout>,
    events: Events,
    made: Arc<watch::Sender<Made>>,
    teller: mpsc::UnboundedSender<Box<BuildRecord>>,
}

async fn build_ahead(task: BuildTask, mut wants: watch::Receiver<Vec<Request>>) {
    loop {
        let next = {
            let (wanted, made) = (wants.borrow_and_update(), task.made.borrow());
            let mut open = wanted.iter().map(build_of);
            open.find(|build| !made.done.contains_key(build))
        };
        let went_well = match next {
            Some(build) => task.make(build).await,
            None => false,
        };
        if !went_well && wants.changed().await.is_err() {
            return;
        }
    }
}

impl BuildTask {
    /// Makes a build; whether that could be tried at all.
    async fn make(&self, build: Build) -> bool {
        let (version, layout) = (build.0, self.layouts[build.1]);
        let name = self.workshop.versions()[version].full_name();
        self.made.send_modify(|made| made.under_way = Some(build));
        self.events.emit(&Event::BuildStarted {
            version: name.clone(),
            layout,
            ahead: true,
        });
        let built = self.workshop.build(version, layout, &self.layouts).await;
        let outcome = match built {
            Ok(record) => {
                let failure = record.failure.as_ref().map(ToString::to_string);
                // Told before it counts as made: whoever finds it made finds it told.
                let _ = self.teller.send(Box::new(record));
                Some(failure.map_or(Ok(()), Err))
            }
            // It isn't the version's fault, and nobody has asked for it yet: whoever does will be told.
            Err(error) => {
                if let WorkshopError::NoRoom { .. } = &error {
                    self.clear_work_tree().await;
                }
                self.events.emit(&Event::Warning {
                    message: format!("{name} can't be built ahead: {error}"),
                });
                None
            }
        };
        let made = outcome.is_some();
        self.made.send_modify(|made| {
            made.under_way = None;
            made.done.extend(outcome.map(|outcome| (build, outcome)));
        });
        made
    }

    /// What is measured meanwhile must find room to be kept.
    async fn clear_work_tree(&self) {
        // What can't be removed now is in the way of the build that is asked for, which says so.
        let _ = self.workshop.clear().await;
    }
}
