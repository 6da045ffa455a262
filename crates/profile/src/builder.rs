//! Making a profile: each module, frame, stack and thread is kept once, and samples of one stack and thread are one.

use std::collections::HashMap;

use indexmap::IndexSet;

use crate::document::{Module, Profile, ProfileFrame, ProfileHead, Sample, Thread};

/// Makes a [`Profile`]. Every `add_…` returns the position that the thing has in the profile.
#[derive(Debug)]
pub struct ProfileBuilder {
    head: ProfileHead,
    modules: IndexSet<Module>,
    frames: IndexSet<ProfileFrame>,
    stacks: IndexSet<Vec<u32>>,
    threads: IndexSet<Thread>,
    samples: Vec<Sample>,
    /// Position in `samples` by stack and thread.
    positions: HashMap<(u32, u32), usize>,
}

impl ProfileBuilder {
    /// A profile without samples.
    pub fn new(head: ProfileHead) -> Self {
        Self {
            head,
            modules: IndexSet::new(),
            frames: IndexSet::new(),
            stacks: IndexSet::new(),
            threads: IndexSet::new(),
            samples: Vec::new(),
            positions: HashMap::new(),
        }
    }

    /// What the profile will say of itself; counts and times are known at its end only.
    pub fn head_mut(&mut self) -> &mut ProfileHead {
        &mut self.head
    }

    /// Adds a module.
    pub fn add_module(&mut self, module: Module) -> u32 {
        self.modules.insert_full(module).0 as u32
    }

    /// Adds a frame of a module that was added.
    pub fn add_frame(&mut self, frame: ProfileFrame) -> u32 {
        self.frames.insert_full(frame).0 as u32
    }

    /// Adds a stack of frames that were added, root first.
    pub fn add_stack(&mut self, frames: &[u32]) -> u32 {
        // Looked up first: most stacks are known, and a slice needs no allocation.
        match self.stacks.get_index_of(frames) {
            Some(position) => position as u32,
            None => self.stacks.insert_full(frames.to_vec()).0 as u32,
        }
    }

    /// Adds a thread.
    pub fn add_thread(&mut self, thread: Thread) -> u32 {
        self.threads.insert_full(thread).0 as u32
    }

    /// How many threads were added.
    pub(crate) fn number_of_threads(&self) -> usize {
        self.threads.len()
    }

    /// Adds samples of a stack and a thread that were added.
    pub fn add_sample(&mut self, sample: Sample) {
        match self.positions.get(&(sample.stack, sample.thread)) {
            Some(&position) => {
                let known = &mut self.samples[position];
                known.weight = known.weight.saturating_add(sample.weight);
                known.first_ns = known.first_ns.min(sample.first_ns);
                if known.cpu != sample.cpu {
                    known.cpu = -1;
                }
            }
            None => {
                self.positions
                    .insert((sample.stack, sample.thread), self.samples.len());
                self.samples.push(sample);
            }
        }
    }

    /// The profile.
    pub fn finish(self) -> Profile {
        let mut profile = Profile::new(self.head);
        profile.modules = self.modules.into_iter().collect();
        profile.frames = self.frames.into_iter().collect();
        profile.stacks = self.stacks.into_iter().collect();
        profile.threads = self.threads.into_iter().collect();
        profile.samples = self.samples;
        profile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_one_stack_and_thread_are_one() {
        let mut builder = ProfileBuilder::new(ProfileHead::default());
        let module = builder.add_module(Module {
            path: "/x".into(),
            build_id: String::new(),
        });
        let frame = builder.add_frame(ProfileFrame::new("f", module));
        assert_eq!(builder.add_frame(ProfileFrame::new("f", module)), frame);
        let stack = builder.add_stack(&[frame]);
        let thread = builder.add_thread(Thread {
            pid: 1,
            tid: 1,
            process: "x".into(),
            thread: "x".into(),
        });
        for (weight, cpu, first_ns) in [(1, 0, 9), (2, 1, 7)] {
            assert_eq!(builder.add_stack(&[frame]), stack);
            builder.add_sample(Sample {
                stack,
                thread,
                weight,
                cpu,
                first_ns,
            });
        }
        let profile = builder.finish();
        profile.check().unwrap();
        let expected = Sample {
            stack,
            thread,
            weight: 3,
            cpu: -1,
            first_ns: 7,
        };
        assert_eq!(profile.samples, [expected]);
    }
}
