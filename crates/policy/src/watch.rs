//! Policy of `watch`: what a standing job does next.
//!
//! In: versions as they came, what was measured of them, what earlier questions were answered, what was spent today. Out: one
//! action ([`WatchAction`]). The plan is measured every few hours, days or weeks, and a few cells of it, the sentinel, on every
//! n-th version, as a day's budget pays for it. Where a series may have changed the question is bisected ([`BisectPolicy`]), what
//! the bisection names is measured beside the version before it ([`TryPolicy`]), and is told only if that bears it out. Of several
//! questions the one that probably costs least comes first. What isn't decided within several days' budgets is told as the
//! stretch of versions that holds it.
//!
//! A suspicion is no more than a reason to measure, so it needs less than a change that is told at once: what chance gives is
//! dismissed by the bisection. It is asked again only when it has become much clearer.
//!
//! No action takes longer than what the day's budget has left. A day is one of UTC. Each testbed has its own budget and its
//! own cells. Nothing here reads a clock, draws a number or keeps a state: the same evidence and time give the same action.
//!
//! [`BisectPolicy`]: crate::BisectPolicy
//! [`TryPolicy`]: crate::TryPolicy

mod evidence;
mod parameters;
mod series;
#[cfg(test)]
mod tests;

pub use evidence::{
    ChangeQuestion, NamedStep, VerificationState, WatchBisection, WatchBisectionState,
    WatchEvidence, WatchFinding, WatchPurpose, WatchSpending, WatchVerification,
};
pub use series::{SuspectedStep, WatchSeries};

use backsight_stats::culprits::ChangeLocation;
use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

use evidence::day;
use parameters::{DAY_SECONDS, QUESTION, SCHEDULE, SUSPICION};

/// A standing job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchPolicy {
    /// The cells of the plan, by their numbers in [`WatchEvidence::series`].
    pub cells: Vec<WatchCell>,
    /// Trials of each cell where a version is measured with the whole plan; at least one.
    pub plan_rounds: u32,
    /// Trials of each cell of the sentinel; at least one.
    pub sentinel_rounds: u32,
    /// Machine time of a day on each testbed.
    pub budget: Duration,
}

/// A cell of a standing job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchCell {
    /// The testbed on which it is measured.
    pub testbed: usize,
    /// Whether it belongs to the sentinel.
    pub in_sentinel: bool,
}

/// What a standing job does next.
#[derive(Debug, Clone, PartialEq)]
pub enum WatchAction {
    /// Measure a version.
    Measure {
        /// The version.
        version: usize,
        /// The cells.
        cells: Vec<usize>,
        /// Trials of each.
        rounds: u32,
        /// Why.
        reason: MeasureReason,
    },
    /// Begin a bisection, or go on with it.
    Bisect {
        /// Its number among those of the evidence; one more than these if it is begun.
        number: usize,
        /// What is asked.
        question: ChangeQuestion,
        /// The smallest change that counts, as a share of the level.
        smallest: f64,
        /// What it may take now.
        budget: Duration,
    },
    /// Measure a version beside the one before it, or go on with that.
    Verify {
        /// The version.
        version: usize,
        /// The cell.
        cell: usize,
        /// Up to this share a difference counts as none.
        equal: f64,
        /// What it may take now.
        budget: Duration,
    },
    /// Explain a change, make its alert, and tell those who want to know.
    Tell(WatchFinding),
    /// Nothing now.
    Wait {
        /// Until this time, or until a version comes.
        until: Timestamp,
        /// Why.
        reason: WaitReason,
    },
}

/// Why a version is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasureReason {
    /// Nothing was measured before.
    First,
    /// The last version that was measured with the whole plan is older by so much.
    Plan(Duration),
    /// So many versions came since the last one that was measured.
    Sentinel(usize),
}

/// Why nothing is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitReason {
    /// There is nothing new.
    NothingNew,
    /// The day's budget is spent, or what is left of it is kept for versions that are to come.
    Budget,
}

/// A question, with what it probably costs.
struct PricedQuestion {
    number: usize,
    question: ChangeQuestion,
    seconds: f64,
}

impl WatchPolicy {
    /// What is next on a testbed at this time.
    pub fn decide(&self, evidence: &WatchEvidence, now: Timestamp, testbed: usize) -> WatchAction {
        if let Some(told) = self.change_to_tell(evidence, testbed) {
            return WatchAction::Tell(told);
        }
        let left = self.left_today(evidence, now, testbed);
        if let Some((action, takes)) = self.scheduled(evidence, now, testbed)
            // What takes longer than a day's budget has a day for itself.
            && (takes <= left || left == self.budget)
        {
            return action;
        }
        let for_questions = self.left_for_questions(evidence, now, testbed);
        let budget = for_questions.min(SCHEDULE.max_slice);
        let (verification, question) = (
            self.verification(evidence, testbed, budget),
            self.question(evidence, testbed),
        );
        let reason = match verification.is_some() || question.is_some() {
            true => WaitReason::Budget,
            false => WaitReason::NothingNew,
        };
        if budget >= self.min_slice(evidence, testbed) {
            if let Some(action) = verification {
                return action;
            }
            if let Some(PricedQuestion {
                number, question, ..
            }) = question
            {
                return WatchAction::Bisect {
                    number,
                    question,
                    smallest: question.share(QUESTION.smallest_share),
                    budget,
                };
            }
        }
        WatchAction::Wait {
            until: wake_up(now),
            reason,
        }
    }

    /// The cells of a testbed.
    fn cells_of(&self, testbed: usize) -> impl Iterator<Item = usize> {
        let all = self.cells.iter().enumerate();
        all.filter(move |(_, cell)| cell.testbed == testbed)
            .map(|(number, _)| number)
    }

    /// The sentinel's cells on a testbed; those of the plan if it has none there.
    fn sentinel_of(&self, testbed: usize) -> Vec<usize> {
        let sentinel: Vec<usize> = self
            .cells_of(testbed)
            .filter(|cell| self.cells[*cell].in_sentinel)
            .collect();
        match sentinel.is_empty() {
            true => self.cells_of(testbed).collect(),
            false => sentinel,
        }
    }

    /// What a build and so many trials of each of these cells take.
    fn cost(evidence: &WatchEvidence, cells: &[usize], rounds: u32) -> Duration {
        let each = cells.iter().filter_map(|cell| evidence.trials.get(*cell));
        evidence.build + each.sum::<Duration>() * rounds.max(1)
    }

    fn left_today(&self, evidence: &WatchEvidence, now: Timestamp, testbed: usize) -> Duration {
        let (schedule, questions) = evidence.spent_on_day(now, testbed);
        self.budget.saturating_sub(schedule + questions)
    }

    /// What questions may take now: all that is left today but for what the schedule needs in the rest of the day.
    fn left_for_questions(
        &self,
        evidence: &WatchEvidence,
        now: Timestamp,
        testbed: usize,
    ) -> Duration {
        let rest_of_day = 1.0 - now.as_second().rem_euclid(DAY_SECONDS) as f64 / DAY_SECONDS as f64;
        let share = SCHEDULE.plan_share + SCHEDULE.sentinel_share;
        let reserved = self.budget.mul_f64(share * rest_of_day);
        self.left_today(evidence, now, testbed)
            .saturating_sub(reserved)
    }

    /// The shortest time for which a question is worked at.
    fn min_slice(&self, evidence: &WatchEvidence, testbed: usize) -> Duration {
        let longest = self
            .cells_of(testbed)
            .filter_map(|cell| evidence.trials.get(cell));
        let longest = longest.max().copied().unwrap_or_default();
        (evidence.build + longest)
            .mul_f64(SCHEDULE.min_slice_builds)
            .min(self.budget)
    }

    /// A measurement that is due, and what it takes.
    fn scheduled(
        &self,
        evidence: &WatchEvidence,
        now: Timestamp,
        testbed: usize,
    ) -> Option<(WatchAction, Duration)> {
        let newest = evidence.newest()?;
        let (plan, sentinel) = (
            self.cells_of(testbed).collect::<Vec<_>>(),
            self.sentinel_of(testbed),
        );
        let measure = |cells: &[usize], rounds: u32, reason| {
            let action = WatchAction::Measure {
                version: newest,
                cells: cells.to_vec(),
                rounds: rounds.max(1),
                reason,
            };
            (action, Self::cost(evidence, cells, rounds))
        };
        // The newest version of which each of these cells was tried, as far as the newest of each tells.
        let last_of = |cells: &[usize]| {
            let newest = cells
                .iter()
                .map(|cell| evidence.series.get(*cell)?.newest());
            newest.min().flatten()
        };
        if plan.is_empty() {
            return None;
        }
        let Some(last) = last_of(&plan) else {
            return Some(measure(&plan, self.plan_rounds, MeasureReason::First));
        };
        let age = |version: usize| {
            let since = evidence.arrivals[newest].duration_since(evidence.arrivals[version]);
            Duration::try_from(since).unwrap_or_default()
        };
        let interval = self.plan_interval(Self::cost(evidence, &plan, self.plan_rounds));
        if last < newest && age(last) >= interval {
            return Some(measure(
                &plan,
                self.plan_rounds,
                MeasureReason::Plan(interval),
            ));
        }
        let every = self.sentinel_step(evidence, now, &sentinel);
        let last = last_of(&sentinel)?;
        (newest >= last + every).then(|| {
            measure(
                &sentinel,
                self.sentinel_rounds,
                MeasureReason::Sentinel(newest - last),
            )
        })
    }

    /// How far apart versions are measured with the whole plan.
    fn plan_interval(&self, cost: Duration) -> Duration {
        let affordable = self.budget.mul_f64(SCHEDULE.plan_share).as_secs_f64();
        let pays = |interval: &Duration| {
            cost.as_secs_f64() * DAY_SECONDS as f64 / interval.as_secs_f64() <= affordable
        };
        let [.., longest] = SCHEDULE.plan_intervals;
        let mut intervals = SCHEDULE.plan_intervals.into_iter();
        intervals.find(pays).unwrap_or(longest)
    }

    /// Every which version the sentinel is measured.
    fn sentinel_step(&self, evidence: &WatchEvidence, now: Timestamp, cells: &[usize]) -> usize {
        let cost = Self::cost(evidence, cells, self.sentinel_rounds).as_secs_f64();
        let affordable = self.budget.mul_f64(SCHEDULE.sentinel_share).as_secs_f64();
        let since = now - SignedDuration::from_secs(SCHEDULE.rate_days * DAY_SECONDS);
        let before = evidence.arrivals.partition_point(|at| *at < since);
        let recent = &evidence.arrivals[before..];
        let days = recent.first().map_or(1.0, |first| {
            now.duration_since(*first).as_secs_f64() / DAY_SECONDS as f64
        });
        let a_day = recent.len() as f64 / days.max(1.0);
        ((a_day * cost / affordable).ceil() as usize).max(1)
    }

    /// A change that is to be told: verified, or not decided within the limit.
    fn change_to_tell(&self, evidence: &WatchEvidence, testbed: usize) -> Option<WatchFinding> {
        let own = evidence.bisections.iter().filter(|it| {
            let cell = self.cells.get(it.question.cell);
            cell.is_some_and(|cell| cell.testbed == testbed)
        });
        own.flat_map(|bisection| self.answers(evidence, bisection))
            .find(|told| !evidence.is_told(told.place))
    }

    /// What a bisection says that may be told.
    fn answers(&self, evidence: &WatchEvidence, bisection: &WatchBisection) -> Vec<WatchFinding> {
        let cell = bisection.question.cell;
        let stretch = |place| WatchFinding {
            place,
            cell,
            is_verified: false,
        };
        match &bisection.state {
            WatchBisectionState::Open(Some(place)) if self.is_given_up(bisection) => {
                vec![stretch(*place)]
            }
            WatchBisectionState::Open(_) | WatchBisectionState::Impossible => Vec::new(),
            WatchBisectionState::Decided(steps) => steps
                .iter()
                .filter_map(|step| {
                    if !step.is_one_version() {
                        return Some(stretch(step.place));
                    }
                    let verified = evidence.verification(step.place.until, cell)?;
                    match verified.state {
                        VerificationState::Differs(percent)
                            if (percent > 0.0) == (step.percent > 0.0) =>
                        {
                            Some(WatchFinding {
                                place: step.place,
                                cell,
                                is_verified: true,
                            })
                        }
                        VerificationState::Impossible => Some(stretch(step.place)),
                        _ => None,
                    }
                })
                .collect(),
        }
    }

    fn change_limit(&self) -> Duration {
        self.budget * SCHEDULE.days_of_a_change
    }

    fn is_given_up(&self, bisection: &WatchBisection) -> bool {
        bisection.spent >= self.change_limit()
    }

    /// A named version that isn't verified yet.
    fn verification(
        &self,
        evidence: &WatchEvidence,
        testbed: usize,
        budget: Duration,
    ) -> Option<WatchAction> {
        let open = evidence.bisections.iter().filter_map(|bisection| {
            let WatchBisectionState::Decided(steps) = &bisection.state else {
                return None;
            };
            let question = bisection.question;
            let cell = self.cells.get(question.cell)?;
            if cell.testbed != testbed {
                return None;
            }
            let unknown = steps.iter().find(|step| {
                let known = evidence.verification(step.place.until, question.cell);
                step.is_one_version()
                    && !evidence.is_told(step.place)
                    && known.is_none_or(|known| {
                        known.state == VerificationState::Open && known.spent < self.change_limit()
                    })
            })?;
            Some(WatchAction::Verify {
                version: unknown.place.until,
                cell: question.cell,
                equal: QUESTION.refuted_share * unknown.percent.abs() / 100.0,
                budget,
            })
        });
        open.into_iter().next()
    }

    /// The question that probably costs least.
    fn question(&self, evidence: &WatchEvidence, testbed: usize) -> Option<PricedQuestion> {
        let cells = self.cells_of(testbed);
        let questions = cells.flat_map(|cell| self.questions_of(evidence, cell));
        questions.min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    /// The open questions of a cell: those in work, and suspicions that weren't asked yet.
    fn questions_of(&self, evidence: &WatchEvidence, cell: usize) -> Vec<PricedQuestion> {
        let Some(series) = evidence.series.get(cell) else {
            return Vec::new();
        };
        let all = evidence.bisections.iter().enumerate();
        let in_work = all.filter(|(_, it)| {
            it.question.cell == cell
                && matches!(it.state, WatchBisectionState::Open(_))
                && !self.is_given_up(it)
        });
        let mut open: Vec<PricedQuestion> = in_work
            .map(|(number, it)| PricedQuestion {
                number,
                question: it.question,
                seconds: self.price(evidence, &it.question, it.spent),
            })
            .collect();
        if !open.is_empty() {
            // What it finds may explain the others.
            return open;
        }
        for step in series.steps() {
            let place = ChangeLocation {
                after: step.after,
                until: step.until,
            };
            let mut about = evidence.bisections_about(step.after, step.until);
            let is_answered = about.any(|it| match it.question.cell == cell {
                true => step.p * SUSPICION.renewed_ratio > it.question.p,
                // What it finds may explain this step too.
                false => matches!(it.state, WatchBisectionState::Open(_)) && !self.is_given_up(it),
            });
            if evidence.is_told(place) || is_answered {
                continue;
            }
            let question = bounded(evidence, cell, step);
            open.push(PricedQuestion {
                number: evidence.bisections.len(),
                question,
                seconds: self.price(evidence, &question, Duration::ZERO),
            });
        }
        open
    }

    /// What is left of a question to pay, in seconds: rough, but in order.
    fn price(&self, evidence: &WatchEvidence, question: &ChangeQuestion, spent: Duration) -> f64 {
        let series = &evidence.series[question.cell];
        let trial = evidence.trials.get(question.cell).copied();
        let trial = trial.unwrap_or_default().as_secs_f64();
        let sigmas = series
            .trial_deviation()
            .map_or(1.0, |deviation| question.size.abs() / deviation);
        let bits = ((question.bad - question.good) as f64).log2().max(1.0);
        let measurements = QUESTION.measurements_of_one_sigma / sigmas.powi(2).max(1e-9) + bits;
        let builds = QUESTION.builds_per_bit * bits * evidence.build.as_secs_f64();
        let all = measurements * trial + builds;
        (all - spent.as_secs_f64()).max(QUESTION.min_left_share * all)
    }
}

/// A suspicion as a question, whose ends don't reach beyond changes that are known.
fn bounded(evidence: &WatchEvidence, cell: usize, step: &SuspectedStep) -> ChangeQuestion {
    let (mut good, mut bad) = (step.good, step.bad);
    for told in &evidence.told {
        if told.place.until <= step.after {
            good = good.max(told.place.until);
        }
        if told.place.after >= step.until {
            bad = bad.min(told.place.after);
        }
    }
    ChangeQuestion {
        cell,
        good,
        bad,
        level: step.level,
        size: step.size,
        p: step.p,
    }
}

/// When it is looked again: soon, and at the beginning of a day at the latest.
fn wake_up(now: Timestamp) -> Timestamp {
    let soon = now + SCHEDULE.look_again;
    let next_day = (day(now) + 1) * DAY_SECONDS;
    Timestamp::from_second(next_day).map_or(soon, |next_day| soon.min(next_day))
}
