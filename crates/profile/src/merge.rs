//! Merging profiles: the sum of several, whatever the numbers of their frames and stacks.
//!
//! Modules are the same by path and build ID, frames by all that is known of them. Processes of two trials have different numbers, so
//! that threads are matched by name: the second `worker` of one profile is put with the second `worker` of the other.

use std::collections::HashMap;

use crate::builder::ProfileBuilder;
use crate::document::{Profile, ProfileFrame, Sample, Thread};

/// Why profiles can't be merged.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum MergeError {
    #[error("there is no profile to merge")]
    Nothing,
    #[error("profiles of {what} {one} and {other} can't be merged")]
    Different {
        what: &'static str,
        one: String,
        other: String,
    },
    #[error("the profiles' weights or times don't fit 63 bits together")]
    TooLarge,
}

/// The sum of profiles. It begins when the first of them did and takes as long as all of them together.
///
/// # Errors
///
/// No profiles, or profiles of different events, units or frequencies.
pub fn merge(profiles: &[&Profile]) -> Result<Profile, MergeError> {
    let first = profiles.first().ok_or(MergeError::Nothing)?;
    let began_ns = profiles.iter().map(|one| one.began_ns).min().unwrap_or(0);
    let mut head = first.head();
    head.began_ns = began_ns;
    head.ended_ns = began_ns;
    (head.lost, head.truncated) = (0, 0);
    let mut builder = ProfileBuilder::new(head);
    // Position of the thread that is the n-th of its names.
    let mut threads: HashMap<(String, String, u32), u32> = HashMap::new();
    let mut total: u64 = 0;
    for profile in profiles {
        expect_same("the event", first.event.name(), profile.event.name())?;
        expect_same("the unit", first.unit.name(), profile.unit.name())?;
        expect_same(
            "the frequency",
            &first.frequency_hz.to_string(),
            &profile.frequency_hz.to_string(),
        )?;
        total = total
            .checked_add(profile.total_weight())
            .filter(|total| *total <= i64::MAX as u64)
            .ok_or(MergeError::TooLarge)?;
        let head = builder.head_mut();
        head.ended_ns = head
            .ended_ns
            .checked_add(profile.ended_ns - profile.began_ns)
            .filter(|ended| *ended <= i64::MAX as u64)
            .ok_or(MergeError::TooLarge)?;
        head.lost = head.lost.saturating_add(profile.lost);
        head.truncated = head.truncated.saturating_add(profile.truncated);
        add_profile(&mut builder, &mut threads, profile, began_ns);
    }
    Ok(builder.finish())
}

/// Adds a profile's samples under the builder's numbers.
fn add_profile(
    builder: &mut ProfileBuilder,
    threads: &mut HashMap<(String, String, u32), u32>,
    profile: &Profile,
    began_ns: u64,
) {
    let modules: Vec<u32> = profile
        .modules
        .iter()
        .map(|module| builder.add_module(module.clone()))
        .collect();
    let frames: Vec<u32> = profile
        .frames
        .iter()
        .map(|frame| {
            builder.add_frame(ProfileFrame {
                module: modules[frame.module as usize],
                ..frame.clone()
            })
        })
        .collect();
    let mut renumbered = Vec::new();
    let stacks: Vec<u32> = profile
        .stacks
        .iter()
        .map(|stack| {
            renumbered.clear();
            renumbered.extend(stack.iter().map(|&frame| frames[frame as usize]));
            builder.add_stack(&renumbered)
        })
        .collect();
    let mut seen: HashMap<(&str, &str), u32> = HashMap::new();
    let threads: Vec<u32> = profile
        .threads
        .iter()
        .map(|thread| {
            let ordinal = seen.entry((&thread.process, &thread.thread)).or_default();
            *ordinal += 1;
            let key = (thread.process.clone(), thread.thread.clone(), *ordinal);
            *threads
                .entry(key)
                .or_insert_with(|| add_new_thread(builder, thread))
        })
        .collect();
    for sample in &profile.samples {
        builder.add_sample(Sample {
            stack: stacks[sample.stack as usize],
            thread: threads[sample.thread as usize],
            // Times of several profiles are counted from the start of each.
            first_ns: began_ns + sample.first_ns.saturating_sub(profile.began_ns),
            ..*sample
        });
    }
}

/// Adds a thread under a number that no other has: the n-th of a name may have the numbers of another one in an earlier profile.
fn add_new_thread(builder: &mut ProfileBuilder, thread: &Thread) -> u32 {
    let mut thread = thread.clone();
    let known = builder.number_of_threads();
    loop {
        let position = builder.add_thread(thread.clone());
        if position as usize == known {
            return position;
        }
        thread.tid = thread.tid.wrapping_add(1);
    }
}

fn expect_same(what: &'static str, one: &str, other: &str) -> Result<(), MergeError> {
    if one == other {
        return Ok(());
    }
    Err(MergeError::Different {
        what,
        one: one.into(),
        other: other.into(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::document::{Module, ProfileEvent, ProfileHead};
    use crate::export::folded;

    /// A profile whose stacks are these, of functions `a` to `h`.
    fn profile(stacks: &[(Vec<u8>, u8, u64)]) -> Profile {
        let mut builder = ProfileBuilder::new(ProfileHead {
            began_ns: 10,
            ended_ns: 30,
            ..ProfileHead::default()
        });
        for (stack, thread, weight) in stacks {
            let module = builder.add_module(Module {
                path: format!("/m{}", thread % 2),
                build_id: String::new(),
            });
            let frames: Vec<u32> = stack
                .iter()
                .map(|&name| {
                    builder.add_frame(ProfileFrame::new(
                        char::from(b'a' + name % 8).to_string(),
                        module,
                    ))
                })
                .collect();
            let stack = builder.add_stack(&frames);
            let thread = builder.add_thread(Thread {
                pid: 1,
                tid: u32::from(*thread),
                process: "p".into(),
                thread: format!("t{}", thread % 2),
            });
            builder.add_sample(Sample {
                stack,
                thread,
                weight: *weight,
                cpu: 0,
                first_ns: 20,
            });
        }
        builder.finish()
    }

    /// Lines of folded text in order.
    fn lines(profile: &Profile) -> Vec<String> {
        let text = folded::write(profile);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    fn any_profile() -> impl Strategy<Value = Profile> {
        let stack = proptest::collection::vec(0_u8..8, 0..6);
        proptest::collection::vec((stack, 0_u8..4, 1_u64..100), 0..20)
            .prop_map(|stacks| profile(&stacks))
    }

    proptest! {
        #[test]
        fn weights_are_summed_in_any_order_and_grouping(a in any_profile(), b in any_profile(), c in any_profile()) {
            let all = merge(&[&a, &b, &c]).unwrap();
            all.check().unwrap();
            prop_assert_eq!(all.total_weight(), a.total_weight() + b.total_weight() + c.total_weight());
            prop_assert_eq!(all.ended_ns - all.began_ns, 60);
            let grouped = merge(&[&c, &merge(&[&b, &a]).unwrap()]).unwrap();
            prop_assert_eq!(lines(&all), lines(&grouped));
        }

        #[test]
        fn numbering_makes_no_difference(a in any_profile()) {
            let mut other = a.clone();
            other.frames.reverse();
            let last = a.frames.len() as u32;
            for frame in other.stacks.iter_mut().flatten() {
                *frame = last - 1 - *frame;
            }
            let both = merge(&[&a, &other]).unwrap();
            prop_assert_eq!(both.stacks.len(), a.stacks.len());
            prop_assert_eq!(both.threads.len(), a.threads.len());
            prop_assert_eq!(both.samples.len(), a.samples.len());
            prop_assert_eq!(both.total_weight(), 2 * a.total_weight());
        }
    }

    #[test]
    fn one_profile_stays_as_it_is() {
        let one = profile(&[(vec![0, 1], 0, 3), (vec![0], 2, 4)]);
        assert_eq!(merge(&[&one]).unwrap(), one);
    }

    #[test]
    fn different_events_are_refused() {
        let one = profile(&[]);
        let mut other = one.clone();
        other.event = ProfileEvent::Cycles;
        assert_eq!(
            merge(&[&one, &other]).unwrap_err().to_string(),
            "profiles of the event cpu-clock and cycles can't be merged"
        );
        assert_eq!(merge(&[]), Err(MergeError::Nothing));
    }

    #[test]
    fn weights_that_do_not_fit_are_refused() {
        let one = profile(&[(vec![0], 0, i64::MAX as u64)]);
        assert_eq!(merge(&[&one, &one]), Err(MergeError::TooLarge));
    }
}
