//! Weights by function, of several profiles under one numbering, so that trials and builds can be compared.
//!
//! Two builds' functions are the same by name and by the file name of their module: paths and addresses differ between builds. Where file
//! names differ, too, `FunctionPairing` says which are compared. What has no name is one function a module, `[module]`.

use std::collections::HashMap;

use indexmap::IndexSet;

use crate::document::{Module, Profile, ProfileFrame};

/// What tells functions apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionKey {
    /// Name of the function.
    pub function: String,
    /// File name of its module.
    pub module: String,
}

impl FunctionKey {
    fn new(frame: &ProfileFrame, module: &Module) -> Self {
        let module = module.file_name().to_owned();
        let is_unnamed = frame.function.starts_with('[') && frame.function.contains("+0x");
        let function = match is_unnamed {
            true => format!("[{}]", module.trim_matches(['[', ']'])),
            false => frame.function.clone(),
        };
        Self { function, module }
    }
}

/// Functions of several profiles, numbered as they came.
#[derive(Clone, Debug, Default)]
pub struct FunctionTable {
    functions: IndexSet<FunctionKey>,
}

/// Weights of one profile by the number of the function. Functions that came later are missing at the end of the lists, and have 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionWeights {
    /// Weight of all samples.
    pub total: u64,
    /// Weight of the samples that were in the function itself.
    pub itself: Vec<u64>,
    /// Weight of the samples that had it anywhere in their stacks.
    pub inclusive: Vec<u64>,
}

impl FunctionTable {
    /// The functions, by number.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = &FunctionKey> {
        self.functions.iter()
    }

    /// The number of each frame's function.
    fn number_frames(&mut self, profile: &Profile) -> Vec<u32> {
        profile
            .frames
            .iter()
            .map(|frame| {
                let key = FunctionKey::new(frame, &profile.modules[frame.module as usize]);
                self.functions.insert_full(key).0 as u32
            })
            .collect()
    }

    /// Weights of a profile's functions. A function that stands in a stack several times counts once.
    pub fn weigh(&mut self, profile: &Profile) -> FunctionWeights {
        let numbers = self.number_frames(profile);
        let mut weights = FunctionWeights {
            total: profile.total_weight(),
            itself: vec![0; self.functions.len()],
            inclusive: vec![0; self.functions.len()],
        };
        // The stack, from 1, in which a function was last counted.
        let mut counted = vec![0; self.functions.len()];
        for ((stack, weight), mark) in profile.stacks.iter().zip(stack_weights(profile)).zip(1..) {
            let mut leaf = None;
            for &frame in stack {
                let number = numbers[frame as usize] as usize;
                if counted[number] != mark {
                    counted[number] = mark;
                    weights.inclusive[number] += weight;
                }
                leaf = Some(number);
            }
            if let Some(leaf) = leaf {
                weights.itself[leaf] += weight;
            }
        }
        weights
    }
}

/// Weight of each stack, of all threads together.
fn stack_weights(profile: &Profile) -> Vec<u64> {
    let mut weights = vec![0; profile.stacks.len()];
    for sample in &profile.samples {
        weights[sample.stack as usize] += sample.weight;
    }
    weights
}

/// Stacks of two sides as one tree of calls.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    nodes: Vec<CallNode>,
    children: HashMap<(u32, u32), u32>,
}

/// A function that was called by the functions above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallNode {
    /// Position of its caller in the tree; its own where it has none.
    pub parent: u32,
    /// Number of its function.
    pub function: u32,
    /// Weight of the samples that were in it and in none of its callees, on either side.
    pub itself: [u64; 2],
}

impl CallTree {
    /// Its nodes; callers come before what they call.
    pub fn nodes(&self) -> &[CallNode] {
        &self.nodes
    }

    /// Adds a profile of side 0 or 1. Each function is taken to be its counterpart, by number.
    pub fn add(
        &mut self,
        table: &mut FunctionTable,
        counterpart: impl Fn(usize) -> usize,
        profile: &Profile,
        side: usize,
    ) {
        const ROOT: u32 = u32::MAX;
        let mut numbers = table.number_frames(profile);
        for number in &mut numbers {
            *number = counterpart(*number as usize) as u32;
        }
        for (stack, weight) in profile.stacks.iter().zip(stack_weights(profile)) {
            let mut at = ROOT;
            for &frame in stack {
                let function = numbers[frame as usize];
                let new = self.nodes.len() as u32;
                let parent = at;
                at = *self.children.entry((parent, function)).or_insert(new);
                if at == new {
                    self.nodes.push(CallNode {
                        parent: if parent == ROOT { new } else { parent },
                        function,
                        itself: [0; 2],
                    });
                }
            }
            if at != ROOT {
                self.nodes[at as usize].itself[side] += weight;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{ProfileHead, Sample, Thread};

    /// A profile of a program at this path with these stacks.
    fn profile(path: &str, stacks: &[(&[&str], u64)]) -> Profile {
        let mut builder = crate::ProfileBuilder::new(ProfileHead::default());
        let module = builder.add_module(Module {
            path: path.into(),
            build_id: path.into(),
        });
        let thread = builder.add_thread(Thread {
            pid: 1,
            tid: 1,
            process: "x".into(),
            thread: "x".into(),
        });
        for (stack, weight) in stacks {
            let frames: Vec<u32> = stack
                .iter()
                .map(|name| builder.add_frame(ProfileFrame::new(*name, module)))
                .collect();
            let stack = builder.add_stack(&frames);
            builder.add_sample(Sample {
                stack,
                thread,
                weight: *weight,
                cpu: 0,
                first_ns: 0,
            });
        }
        builder.finish()
    }

    fn weights(table: &FunctionTable, weights: &FunctionWeights) -> Vec<(String, u64, u64)> {
        let functions = table.functions().map(|key| key.function.clone());
        let lists = weights.itself.iter().zip(&weights.inclusive);
        let rows = functions.zip(lists);
        rows.map(|(function, (itself, inclusive))| (function, *itself, *inclusive))
            .collect()
    }

    #[test]
    fn a_recursive_function_counts_once_a_stack() {
        let mut table = FunctionTable::default();
        let one = profile("/a/x", &[(&["main", "f", "f"], 3), (&["main"], 2)]);
        let found = table.weigh(&one);
        assert_eq!(found.total, 5);
        let expected = [("main".to_owned(), 2, 5), ("f".to_owned(), 3, 3)];
        assert_eq!(weights(&table, &found), expected);
    }

    #[test]
    fn two_builds_match_by_name_and_by_file_name() {
        let mut table = FunctionTable::default();
        let base = table.weigh(&profile("/a/x", &[(&["main", "[x+0x12]"], 3)]));
        let new = table.weigh(&profile("/b/x (deleted)", &[(&["main", "[x+0x99]"], 4)]));
        assert_eq!(table.functions().len(), 2);
        assert_eq!((base.itself[1], new.itself[1]), (3, 4));
        table.weigh(&profile("/a/libx.so", &[(&["main"], 1)]));
        assert_eq!(table.functions().len(), 3);
        let unnamed = table.functions().nth(1).unwrap();
        assert_eq!((&*unnamed.function, &*unnamed.module), ("[x]", "x"));
    }

    #[test]
    fn a_tree_has_both_sides() {
        let (mut table, mut tree) = (FunctionTable::default(), CallTree::default());
        let base = profile("/x", &[(&["main", "f"], 3), (&["main"], 1)]);
        let new = profile("/x", &[(&["main", "g"], 4), (&["f"], 1)]);
        tree.add(&mut table, |it| it, &base, 0);
        tree.add(&mut table, |it| it, &new, 1);
        let node = |parent, function, itself| CallNode {
            parent,
            function,
            itself,
        };
        let expected = [
            node(0, 0, [1, 0]),
            node(0, 1, [3, 0]),
            node(0, 2, [0, 4]),
            node(3, 1, [0, 1]),
        ];
        assert_eq!(tree.nodes(), expected);
    }
}
