//! Profiles: the document, its exports, and what the profiler reads of the kernel and of programs that compile while they run.

use backsight_profile::{CallTree, FunctionTable, Profile, export::PROFILE_FORMATS, merge};
use backsight_profiler::fuzzing;

use crate::choice;

/// A profile's document: read, written again as it was, in every format, and merged with itself.
pub(crate) fn profile(bytes: &[u8]) {
    let Ok(profile) = Profile::from_json(bytes) else {
        return;
    };
    let again = Profile::from_json(&profile.to_json());
    assert!(
        again.is_ok_and(|again| again == profile),
        "a profile is read as another one"
    );
    for (_, format, _) in PROFILE_FORMATS {
        let _written = format.write(&profile, "fuzz");
    }
    let mut table = FunctionTable::default();
    let _weights = table.weigh(&profile);
    let mut tree = CallTree::default();
    tree.add(&mut table, |it| it, &profile, 0);
    // What is too large together is refused.
    if let Ok(merged) = merge(&[&profile, &profile]) {
        assert!(
            merged.check().is_ok(),
            "a merged profile contradicts itself"
        );
    }
}

/// What the profiler reads, by the first byte: a map of functions, records of a ring, switches, the kernel's functions.
pub(crate) fn profiler(bytes: &[u8]) {
    const READERS: [fn(&[u8]); 4] = [
        fuzzing::perf_map,
        fuzzing::perf_records,
        fuzzing::sched_switch,
        fuzzing::kernel_symbols,
    ];
    if let Some((reader, rest)) = choice(bytes, READERS.len()) {
        READERS[reader](rest);
    }
}
