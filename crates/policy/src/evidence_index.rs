//! Index of the evidence: trials that were made, builds that don't exist, boots that failed.
//!
//! Each policy decides by itself after how many failures it gives up a version.

use std::collections::{HashMap, HashSet};

use crate::{Evidence, Observation, Request, RequestOutcome};

/// The evidence, looked up fast.
pub(crate) struct EvidenceIndex<'a> {
    /// Trials that were made, well or not.
    pub(crate) trials: HashMap<Request, &'a Observation>,
    /// Builds that there aren't: version, layout.
    pub(crate) unbuilt: HashSet<(usize, usize)>,
    /// Boots that failed: version, layout, boot.
    pub(crate) unbooted: HashSet<(usize, usize, u32)>,
}

impl<'a> EvidenceIndex<'a> {
    pub(crate) fn new(evidence: &'a Evidence) -> Self {
        let mut settled = Self {
            trials: HashMap::with_capacity(evidence.observations.len()),
            unbuilt: HashSet::new(),
            unbooted: HashSet::new(),
        };
        for observation in &evidence.observations {
            let Request {
                version,
                layout,
                boot,
                ..
            } = observation.request;
            match observation.outcome {
                RequestOutcome::Measured | RequestOutcome::Failed => {
                    settled.trials.insert(observation.request, observation);
                }
                RequestOutcome::NoBoot => {
                    settled.unbooted.insert((version, layout, boot));
                }
                RequestOutcome::NoBuild => {
                    settled.unbuilt.insert((version, layout));
                }
            }
        }
        settled
    }

    /// Whether a build's boot is there, or may still be made.
    pub(crate) fn is_there(&self, version: usize, layout: usize, boot: u32) -> bool {
        !self.unbuilt.contains(&(version, layout))
            && !self.unbooted.contains(&(version, layout, boot))
    }

    /// Whether asking it would tell nothing new.
    pub(crate) fn is_settled(&self, request: &Request) -> bool {
        self.trials.contains_key(request)
            || !self.is_there(request.version, request.layout, request.boot)
    }
}
