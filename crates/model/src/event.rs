//! What happens in a study, as it happens. The store, the progress display, the live page and `--json`
//! are listeners; who emits events knows none of them. Of a study that measures on several testbeds at once, listeners are
//! told beside the event on which of them it happened.

use serde::Serialize;
use std::path::PathBuf;

use crate::{
    Cell, Ending, Failure, HostClock, HostName, Layout, Meeting, MetricSamples, Phase, RoleName,
    StudyName,
};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A study begins, or goes on.
    StudyStarted {
        /// Its number in the store.
        study: i64,
        /// Its name.
        name: StudyName,
        /// Trials that it has in all.
        trials: usize,
        /// Trials that are done already.
        done: usize,
        /// Seed of its order.
        seed: u32,
    },
    /// Something that whoever asked should read, now.
    Note {
        /// A sentence.
        message: String,
    },
    /// A standing job does something, waits, or couldn't do something.
    JobStep {
        /// The job's name.
        job: String,
        /// What it does, and why.
        message: String,
    },
    /// A round begins.
    RoundStarted {
        /// Its number, from 1.
        round: u32,
        /// How many there are; 0 where that shows only as it goes.
        of: u32,
    },
    /// A trial begins.
    TrialStarted {
        /// The number that it will have in the study, from 1; a later one where another one that is under way on another
        /// testbed ends before it.
        trial: u32,
        /// How many there are.
        of: usize,
        /// Its round, from 1.
        round: u32,
        /// What is measured.
        cell: Cell,
        /// On which version of a target, if on one.
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
    /// A build begins, unless it is there already.
    BuildStarted {
        /// The version.
        version: String,
        /// The layout.
        layout: Layout,
        /// Whether it is made while another version is measured on other machines.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        ahead: bool,
    },
    /// A build is there, or it is clear that there is none; that is on disk.
    BuildFinished {
        /// The version.
        version: String,
        /// The layout.
        layout: Layout,
        /// Whether it was there already.
        cached: bool,
        /// Why there is none, if there is none.
        failure: Option<String>,
        /// Seconds that it took.
        seconds: f64,
        /// Whether it was made while another version was measured on other machines.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        ahead: bool,
    },
    /// Files of a build are on their way to a host that doesn't see those of the controller.
    BuildUploading {
        /// The host.
        host: HostName,
        /// Bytes of their content that have been sent.
        sent: u64,
        /// Bytes that are to be sent: what the host hasn't.
        of: u64,
        /// Bytes that the host has already, from files that came before or from an upload that was cut off.
        there: u64,
        /// Bytes that `sent` took on the wire, some of them compressed.
        packed: u64,
    },
    /// A build is being booted or installed.
    BootStarted {
        /// The version.
        version: String,
        /// The layout.
        layout: Layout,
        /// Which start of the build it is.
        ordinal: u32,
    },
    /// It answers and has proved which build it is, or it failed; that is on disk.
    BootFinished {
        /// The version.
        version: String,
        /// The layout.
        layout: Layout,
        /// Which start of the build it is.
        ordinal: u32,
        /// Why it failed, if it did.
        failure: Option<String>,
        /// Seconds that it took.
        seconds: f64,
    },
    /// A phase begins on every role.
    PhaseStarted {
        /// Which.
        phase: Phase,
    },
    /// A step begins.
    StepStarted {
        /// The role.
        role: RoleName,
        /// Its host.
        host: HostName,
        /// The phase.
        phase: Phase,
        /// The command.
        command: String,
    },
    /// A step has ended.
    StepFinished {
        /// The role.
        role: RoleName,
        /// Its host.
        host: HostName,
        /// The phase.
        phase: Phase,
        /// How.
        ending: Ending,
        /// Seconds that it took.
        seconds: f64,
    },
    /// Another study has leased a host: it is waited for.
    LeaseAwaited {
        /// The host.
        host: HostName,
        /// The study that has it, its controller, and since when.
        holder: String,
        /// Since when, by the clock of the host's machine; none if nobody says.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<jiff::Timestamp>,
        /// Seconds that the wait may last.
        seconds: f64,
    },
    /// Another study builds in the tree in which this one has to build: it is waited for.
    BuildAwaited {
        /// Where the tree is.
        tree: PathBuf,
        /// Seconds that the wait may last.
        seconds: f64,
    },
    /// A host doesn't answer: it is waited for.
    HostAwaited {
        /// The host.
        host: HostName,
        /// The error of the attempt to reach it.
        why: String,
        /// Seconds that the wait may last.
        seconds: f64,
    },
    /// Every host that was waited for answers.
    HostsBack {
        /// Seconds that the wait lasted.
        seconds: f64,
    },
    /// A host went away.
    HostLost {
        /// Which.
        host: HostName,
        /// What was seen.
        why: String,
    },
    /// A trial has ended and is on disk.
    TrialFinished {
        /// Its number in the study, from 1.
        trial: u32,
        /// How many there are.
        of: usize,
        /// What was measured.
        cell: Cell,
        /// Its samples; none if it failed.
        samples: Vec<MetricSamples>,
        /// How exactly its programs began and passed barriers together.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        meetings: Vec<Meeting>,
        /// The clocks of hosts that don't have the controller's.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        clocks: Vec<HostClock>,
        /// Why it failed, if it did.
        failure: Option<Failure>,
        /// Seconds that it took.
        seconds: f64,
    },
    /// Where changes are suspected so far, the most probable first.
    Suspected {
        /// The changes.
        changes: Vec<SuspectRange>,
        /// How many versions there are.
        versions: usize,
    },
    /// Something that the reader of the results should know.
    Warning {
        /// What.
        message: String,
    },
    /// The study has ended, or was stopped.
    StudyFinished {
        /// Its number in the store.
        study: i64,
        /// Its name.
        name: StudyName,
        /// Trials that were measured.
        measured: usize,
        /// Trials that failed.
        failed: usize,
        /// Trials that are still to do.
        left: usize,
    },
    /// The verdict of a study that has ended, or was stopped.
    Verdict {
        /// Its verb.
        verb: String,
        /// The verdict as JSON; its schema is that of `backsight schema verdict-VERB`.
        #[serde(flatten)]
        verdict: serde_json::Map<String, serde_json::Value>,
    },
}

/// A stretch of a history that may have a change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuspectRange {
    /// The last version that surely hasn't it.
    pub after: String,
    /// The first that surely has it.
    pub until: String,
    /// The positions of both among the versions, from 0.
    pub places: [usize; 2],
    /// How probable it is.
    pub probability: f64,
}
