//! Folded stacks: a line for each stack, its frames separated by `;`, root first, and its weight. Flame graph programs read it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::document::Profile;

/// Folded stacks in the order of their names. The first frame is the process; threads of a process are put together.
pub fn write(profile: &Profile) -> String {
    let names: Vec<String> = profile
        .frames
        .iter()
        .map(|frame| clean_name(&frame.function))
        .collect();
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for sample in &profile.samples {
        let thread = &profile.threads[sample.thread as usize];
        let mut line = clean_name(&thread.process);
        for &frame in &profile.stacks[sample.stack as usize] {
            line.push(';');
            line.push_str(&names[frame as usize]);
        }
        *lines.entry(line).or_default() += sample.weight;
    }
    let mut text = String::new();
    for (line, weight) in lines {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{line} {weight}");
    }
    text
}

/// A name without what separates frames and lines.
fn clean_name(name: &str) -> String {
    name.replace(';', ":").replace(['\n', '\r'], " ")
}
