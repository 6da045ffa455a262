//! The order of jobs that wait.
//!
//! First those that were moved to the front, the last one moved before the others. Then by priority, the greatest first; within a
//! priority by deadline, the nearest first; among equals the person is next who used least machine time lately
//! ([`super::fair_share`]), with the job that was asked for first. While jobs are ranked, each counts as used by its person with what it
//! is expected to take, so that people who wait with several jobs take turns.

use backsight_model::{QueueSnapshot, QueuedJob};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, VecDeque},
};

use super::fair_share::usage_by_person;

/// Seconds that a job is expected to take where nobody knows.
const UNKNOWN_SECONDS: f64 = 600.0;

/// What is the same of jobs among which fair share decides.
type Class = (Reverse<i64>, Reverse<i64>, bool, Option<jiff::Timestamp>);

fn class(job: &QueuedJob) -> Class {
    (
        Reverse(job.front),
        Reverse(job.priority),
        job.deadline.is_none(),
        job.deadline,
    )
}

/// Jobs that wait, in their order; `seconds` says what a job is expected to take, if that is known.
pub fn ranked_jobs(
    queue: &QueueSnapshot,
    seconds: impl Fn(&QueuedJob) -> Option<f64>,
) -> Vec<&QueuedJob> {
    let mut usage = usage_by_person(&queue.usage, queue.now);
    let mut classes: BTreeMap<Class, BTreeMap<&str, VecDeque<&QueuedJob>>> = BTreeMap::new();
    let mut waiting: Vec<&QueuedJob> = queue.waiting.iter().collect();
    waiting.sort_by_key(|job| job.number);
    for job in waiting {
        let people = classes.entry(class(job)).or_default();
        people.entry(&job.by).or_default().push_back(job);
    }
    let mut ranked = Vec::with_capacity(queue.waiting.len());
    for mut people in classes.into_values() {
        while let Some(person) = next_person(&people, &usage) {
            let jobs = people.get_mut(person);
            if let Some(job) = jobs.and_then(VecDeque::pop_front) {
                let taken = seconds(job).unwrap_or(UNKNOWN_SECONDS) * job.needs.machines() as f64;
                *usage.entry(person).or_insert(0.0) += taken;
                ranked.push(job);
            }
            if people.get(person).is_none_or(VecDeque::is_empty) {
                people.remove(person);
            }
        }
    }
    ranked
}

/// Of people with jobs the one who used least; of several, the one who asked first.
fn next_person<'a>(
    people: &BTreeMap<&'a str, VecDeque<&QueuedJob>>,
    usage: &BTreeMap<&str, f64>,
) -> Option<&'a str> {
    let used = |person: &str| usage.get(person).copied().unwrap_or(0.0);
    let asked = |jobs: &VecDeque<&QueuedJob>| jobs.front().map(|job| job.number);
    let least = people.iter().min_by(|(one, its), (other, others)| {
        let by_usage = used(one).total_cmp(&used(other));
        by_usage.then_with(|| asked(its).cmp(&asked(others)))
    });
    least.map(|(person, _)| *person)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};
    use backsight_model::MachineUse;

    fn order(queue: &QueueSnapshot) -> Vec<i64> {
        let ranked = ranked_jobs(queue, |_| None);
        ranked.iter().map(|job| job.number).collect()
    }

    #[test]
    fn front_priority_and_deadline_come_before_whose_turn_it_is() {
        let mut queue = queue_of(&[
            (1, "ana"),
            (2, "ana"),
            (3, "ana"),
            (4, "bo"),
            (5, "bo"),
            (6, "bo"),
        ]);
        assert_eq!(order(&queue), [1, 4, 2, 5, 3, 6], "they take turns");
        queue.waiting[5].front = 1;
        queue.waiting[4].priority = 3;
        queue.waiting[2].deadline = Some(queue.now + jiff::SignedDuration::from_hours(5));
        queue.waiting[1].deadline = Some(queue.now + jiff::SignedDuration::from_hours(2));
        assert_eq!(order(&queue), [6, 5, 2, 3, 1, 4]);
        queue.waiting[0].front = 2;
        assert_eq!(order(&queue)[..2], [1, 6]);
    }

    #[test]
    fn who_used_least_is_first() {
        let mut queue = queue_of(&[(1, "ana"), (2, "ana"), (3, "bo")]);
        queue.usage = vec![MachineUse {
            by: "ana".to_owned(),
            from: queue.now - jiff::SignedDuration::from_hours(3),
            until: queue.now - jiff::SignedDuration::from_hours(1),
            machine_seconds: 7200.0,
        }];
        assert_eq!(order(&queue), [3, 1, 2]);
        // Two weeks later it hardly counts, and bo's own job does.
        queue.now += jiff::SignedDuration::from_hours(24 * 14);
        queue.waiting.push(job(4, "bo"));
        assert_eq!(order(&queue), [3, 1, 4, 2]);
    }

    #[test]
    fn two_people_get_the_same_time_whatever_their_jobs_take() {
        // Ana's jobs take three times as long, and she asks for all of hers first.
        let jobs: Vec<(i64, &str)> = (1..=200)
            .map(|n| (n, if n <= 100 { "ana" } else { "bo" }))
            .collect();
        let queue = queue_of(&jobs);
        let takes = |job: &QueuedJob| if job.by == "ana" { 300.0 } else { 100.0 };
        let ranked = ranked_jobs(&queue, |job| Some(takes(job)));
        let mut used = BTreeMap::new();
        for job in &ranked[..80] {
            *used.entry(job.by.clone()).or_insert(0.0) += takes(job);
        }
        assert!((used["ana"] - used["bo"]).abs() <= 300.0, "{used:?}");
    }
}
