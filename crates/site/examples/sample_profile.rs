//! Writes the page of a made-up difference of profiles, of 10,000 stacks a side, to the file that is named:
//! `cargo run --example sample_profile -- FILE`. `grown` grows, `removed` goes, `added` comes; the others stay.

use std::{error::Error, fs};

use backsight_policy::{ProfileDifference, ProfileOptions};
use backsight_profile::{
    CallTree, FunctionTable, Module, Profile, ProfileBuilder, ProfileEvent, ProfileFrame,
    ProfileHead, ProfileUnit, Sample, Thread,
};
use backsight_report::profile::{ProfileReport, ProfiledTrials};

/// A trial: stacks of 30 functions, some of which vary a little from trial to trial.
fn trial(number: u64, grown: u64, own: &str) -> Profile {
    let mut builder = ProfileBuilder::new(ProfileHead::default());
    let program = builder.add_module(Module {
        path: "/usr/bin/<server>".into(),
        build_id: String::new(),
    });
    let thread = builder.add_thread(Thread {
        pid: 1,
        tid: 1,
        process: "server".into(),
        thread: "server".into(),
    });
    let mut add = |names: &[String], weight: u64| {
        let mut frames = vec![builder.add_frame(ProfileFrame::new("main", program))];
        frames.extend(
            names
                .iter()
                .map(|name| builder.add_frame(ProfileFrame::new(name.as_str(), program))),
        );
        let stack = builder.add_stack(&frames);
        builder.add_sample(Sample {
            stack,
            thread,
            weight,
            cpu: 0,
            first_ns: 0,
        });
    };
    for stack in 0..10_000_u64 {
        let name =
            |depth: u64| format!("step<{}>::run_{depth}", (stack / (1 + depth * depth)) % 40);
        let names: Vec<String> = (0..30).map(name).collect();
        add(&names, 1 + (stack * 7 + number) % 3);
    }
    add(&["grown".to_owned()], grown + number * 10);
    add(&[own.to_owned()], 1000 + number * 7);
    builder.finish()
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("usage: sample_profile FILE")?;
    let sides = [(2000, "removed"), (3000, "added")]
        .map(|(grown, own)| (0..5).map(move |number| trial(number, grown, own)));
    let (mut table, mut tree) = (FunctionTable::default(), CallTree::default());
    let mut weights = [Vec::new(), Vec::new()];
    for (side, trials) in sides.into_iter().enumerate() {
        for trial in trials {
            weights[side].push(table.weigh(&trial));
            tree.add(&mut table, |it| it, &trial, side);
        }
    }
    let [base, new] = weights;
    let named = |name: &str| ProfiledTrials {
        name: name.to_owned(),
        cell: Some("requests".to_owned()),
        lost: 0,
        truncated: 0,
    };
    let report = ProfileReport {
        event: ProfileEvent::CpuClock,
        unit: ProfileUnit::Samples,
        base: Some(named("v1.0")),
        new: named("v1.1"),
        functions: table.functions().cloned().collect(),
        difference: ProfileDifference::new(Some(&base), &new, ProfileOptions::default()),
        top: 30,
        width: None,
        notes: Vec::new(),
    };
    fs::write(path, backsight_site::profile_page(&report, &tree)?)?;
    Ok(())
}
