//! Which raw objects and builds stay and which go, by the rules of keep.toml. Plain values: nothing is read or removed here.
//!
//! An object that several outputs refer to stays if one of them does.

use backsight_model::{KeepRule, KeepRules, KeptFor, Thinning};
use jiff::Timestamp;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{StudyId, StudyRow};

/// What the rules are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RetainedKind {
    /// What a step of a benchmark printed, what failed tests said, or a file that was imported.
    Outputs,
    /// A core file of a program that crashed in a suite.
    Cores,
    /// What a monitor printed.
    Monitors,
    /// What a build printed, what a boot and its console said, or the log of a study.
    Logs,
    /// Builds of targets.
    Builds,
    /// What a host was, and what tests are called.
    Records,
}

impl RetainedKind {
    /// The word for it, as keep.toml has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Outputs => "outputs",
            Self::Cores => "cores",
            Self::Monitors => "monitors",
            Self::Logs => "logs",
            Self::Builds => "builds",
            Self::Records => "records",
        }
    }

    /// The rule that is about it; none where it is always kept.
    fn rule(self) -> Option<KeepRule> {
        match self {
            Self::Outputs => Some(KeepRule::Outputs),
            Self::Cores => Some(KeepRule::Cores),
            Self::Monitors => Some(KeepRule::Monitors),
            Self::Logs => Some(KeepRule::Logs),
            Self::Builds => Some(KeepRule::Builds),
            Self::Records => None,
        }
    }
}

/// Why something stays, the strongest reason first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RetentionReason {
    /// It is beside a change that a verdict or a history has.
    Change,
    /// It is beside a change that was accepted.
    Acceptance,
    /// The rules name its study.
    Study,
    /// Its study is being measured.
    Measuring,
    /// Of the trials of its period it is the one that stays.
    OneOfPeriod,
    /// It isn't old enough.
    Young,
    /// No rule removes it.
    NoRule,
}

impl RetentionReason {
    /// The reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Change => "beside a change that was found",
            Self::Acceptance => "beside a change that was accepted",
            Self::Study => "of a study that `studies` names",
            Self::Measuring => "of a study that is being measured",
            Self::OneOfPeriod => "the one trial of its period",
            Self::Young => "not old enough",
            Self::NoRule => "no rule removes it",
        }
    }
}

/// What becomes of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RetentionFate {
    /// It stays.
    Kept(RetentionReason),
    /// It goes.
    Pruned(KeepRule),
}

/// What verdicts, histories and acceptances refer to.
#[derive(Debug, Clone, Default)]
pub struct KeptReferences {
    /// Trials, by their number in a study.
    pub trials: HashMap<(StudyId, u32), RetentionReason>,
    /// Builds, by their number in a study: their logs, those of their boots, and the builds themselves.
    pub builds: HashMap<(StudyId, u32), RetentionReason>,
}

/// That a study took a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BuildUse {
    pub(crate) study: StudyId,
    pub(crate) number: u32,
    pub(crate) began: Timestamp,
}

/// How much of one kind has one fate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionRow {
    /// What it is.
    pub kind: RetainedKind,
    /// What becomes of it.
    pub fate: RetentionFate,
    /// How many.
    pub count: u64,
    /// Their size on disk, in bytes.
    pub bytes: u64,
}

/// What stays and what goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RetentionTable(BTreeMap<(RetainedKind, RetentionFate), (u64, u64)>);

impl RetentionTable {
    /// Adds one of this size.
    pub fn add(&mut self, kind: RetainedKind, fate: RetentionFate, bytes: u64) {
        let (count, sum) = self.0.entry((kind, fate)).or_default();
        *count += 1;
        *sum += bytes;
    }

    /// The rows, by kind: what stays first.
    pub fn rows(&self) -> impl Iterator<Item = RetentionRow> {
        let rows = self.0.iter();
        rows.map(|(&(kind, fate), &(count, bytes))| RetentionRow {
            kind,
            fate,
            count,
            bytes,
        })
    }
}

/// A trial as thinning sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TrialKey {
    pub(crate) study: StudyId,
    pub(crate) number: u32,
}

/// The trials that stay where the others of their period go.
#[derive(Debug, Default)]
pub(crate) struct ThinnedTrials {
    periods: HashSet<(usize, i64)>,
    questions: HashMap<String, usize>,
    left: HashSet<TrialKey>,
}

impl ThinnedTrials {
    /// Looks at the next trial of a question: measured ones before failed ones, the oldest first.
    pub(crate) fn add(
        &mut self,
        thin: &Thinning,
        question: String,
        trial: TrialKey,
        began: Timestamp,
    ) {
        let next = self.questions.len();
        let question = *self.questions.entry(question).or_insert(next);
        if self.periods.insert((question, thin.every.number_of(began))) {
            self.left.insert(trial);
        }
    }
}

/// The rules, with all that decides about a reference.
pub(crate) struct Retention<'a> {
    rules: &'a KeepRules,
    references: &'a KeptReferences,
    named: HashSet<StudyId>,
    measuring: HashSet<StudyId>,
    thinned: ThinnedTrials,
    now: Timestamp,
}

impl<'a> Retention<'a> {
    pub(crate) fn new(
        rules: &'a KeepRules,
        references: &'a KeptReferences,
        studies: &[StudyRow],
        thinned: ThinnedTrials,
        now: Timestamp,
    ) -> Self {
        let named = |study: &&StudyRow| rules.studies.iter().any(|it| it.matches(&study.name));
        let measuring = studies.iter().filter(|study| study.is_measuring());
        Self {
            rules,
            references,
            named: studies.iter().filter(named).map(|study| study.id).collect(),
            measuring: measuring.map(|study| study.id).collect(),
            thinned,
            now,
        }
    }

    /// What becomes of an output of this kind of a trial.
    pub(crate) fn of_trial(
        &self,
        kind: RetainedKind,
        trial: TrialKey,
        began: Timestamp,
    ) -> RetentionFate {
        let referred = self.references.trials.get(&(trial.study, trial.number));
        if let Some(reason) = self.of_study(trial.study, referred) {
            return RetentionFate::Kept(reason);
        }
        let by_limit = self.by_limit(kind, began);
        let (Some(thin), RetentionFate::Kept(reason)) = (&self.rules.thin, by_limit) else {
            return by_limit;
        };
        let is_always =
            kind.rule().and_then(|rule| self.rules.limit(rule)) == Some(KeptFor::Always);
        if is_always {
            return by_limit;
        }
        match (
            began < thin.after.before(self.now),
            self.thinned.left.contains(&trial),
        ) {
            (false, _) => RetentionFate::Kept(reason.min(RetentionReason::Young)),
            (true, true) => RetentionFate::Kept(RetentionReason::OneOfPeriod),
            (true, false) => RetentionFate::Pruned(KeepRule::Thin),
        }
    }

    /// What becomes of the log of a build, or of a boot of it.
    pub(crate) fn of_log(&self, study: StudyId, build: u32, began: Timestamp) -> RetentionFate {
        self.of_build_in(RetainedKind::Logs, study, build, began)
    }

    /// What becomes of a build that was made at this time, and of which these studies took it since.
    pub(crate) fn of_build(&self, made: Timestamp, uses: &[BuildUse]) -> RetentionFate {
        let of_uses = uses.iter().map(|it| {
            let last = it.began.max(made);
            self.of_build_in(RetainedKind::Builds, it.study, it.number, last)
        });
        let unused = self.by_limit(RetainedKind::Builds, made);
        of_uses.min().unwrap_or(unused)
    }

    fn of_build_in(
        &self,
        kind: RetainedKind,
        study: StudyId,
        build: u32,
        began: Timestamp,
    ) -> RetentionFate {
        let referred = self.references.builds.get(&(study, build));
        match self.of_study(study, referred) {
            Some(reason) => RetentionFate::Kept(reason),
            None => self.by_limit(kind, began),
        }
    }

    /// What becomes of the log of a study as a whole, which ended at this time.
    pub(crate) fn of_study_log(&self, study: StudyId, ended: Timestamp) -> RetentionFate {
        match self.of_study(study, None) {
            Some(reason) => RetentionFate::Kept(reason),
            None => self.by_limit(RetainedKind::Logs, ended),
        }
    }

    fn of_study(
        &self,
        study: StudyId,
        referred: Option<&RetentionReason>,
    ) -> Option<RetentionReason> {
        if let Some(reason) = referred {
            return Some(*reason);
        }
        if self.named.contains(&study) {
            return Some(RetentionReason::Study);
        }
        let measuring = self.measuring.contains(&study);
        measuring.then_some(RetentionReason::Measuring)
    }

    fn by_limit(&self, kind: RetainedKind, began: Timestamp) -> RetentionFate {
        let rule = kind.rule();
        match rule.and_then(|rule| Some((rule, self.rules.limit(rule)?))) {
            Some((rule, KeptFor::Period(period))) if began < period.before(self.now) => {
                RetentionFate::Pruned(rule)
            }
            Some((_, KeptFor::Period(_))) => RetentionFate::Kept(RetentionReason::Young),
            Some((_, KeptFor::Always)) | None => RetentionFate::Kept(RetentionReason::NoRule),
        }
    }
}
