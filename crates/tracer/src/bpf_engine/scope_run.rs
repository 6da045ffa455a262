//! Tracing of a cgroup or of the whole machine: nobody is held, so that nobody can be stopped where the ring fills up. What finds no
//! room there is lost, counted, and told in its place.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backsight_syscall_decode::{EventKind, TraceEvent};

use super::count_map::CountMap;
use super::programs;
use super::task_storage::TaskStorage;
use super::{AttachedPrograms, ReaderWakeup};
use crate::clock::now;
use crate::error::TraceError;
use crate::interrupt::Interrupt;
use crate::options::{TraceOptions, TraceScope};
use crate::outcome::TraceOutcome;

/// How often it is looked whether a scope is gone.
const LOOK: Duration = Duration::from_millis(500);

/// Traces what is in the scope until it is gone, `interrupt` asks, or so many calls were emitted as are asked for.
pub(super) fn run(
    options: &TraceOptions,
    scope: &TraceScope,
    interrupt: &Interrupt,
    counting: bool,
    emit: &mut dyn FnMut(TraceEvent),
) -> Result<(TraceOutcome, Option<CountMap>), TraceError> {
    let bell = Arc::new(ReaderWakeup::new()?);
    let rung = Arc::clone(&bell);
    let loaded = programs::load(options, counting).map_err(unavailable)?;
    exclude_own(&loaded.programs.threads());
    let mut programs = AttachedPrograms::attach(loaded, options).map_err(unavailable)?;
    // What was started meanwhile, of which something may have been told already.
    let own = exclude_own(&programs.storages());
    let excluded_at = now();
    interrupt.then(move || rung.ring());
    let limit = options.limit.unwrap_or(u64::MAX);
    let calls = Cell::new(0);
    let emit: &mut dyn FnMut(TraceEvent) = &mut |event| match &event.kind {
        _ if event.at < excluded_at && own.contains(&event.pid) => {}
        EventKind::Signal { number, .. } if !options.signals.contains(*number) => {}
        EventKind::Call(_) if calls.get() >= limit => {}
        EventKind::Call(_) => {
            calls.set(calls.get() + 1);
            emit(event);
        }
        _ => emit(event),
    };
    let mut looked = Instant::now();
    loop {
        programs.drain_ring(emit);
        let is_gone = looked.elapsed() > LOOK && {
            looked = Instant::now();
            scope.is_gone()
        };
        if is_gone || interrupt.pending_signal().is_some() || calls.get() >= limit {
            programs.leave();
            break;
        }
        programs.wait(&bell, emit);
    }
    let (control, counts) = programs.finish(None, emit);
    let ended = TraceOutcome {
        calls: calls.get(),
        lost: control.lost_records() + control.unfollowed_children(),
        ..TraceOutcome::default()
    };
    Ok((ended, counts))
}

/// Another engine can't take this one's place.
fn unavailable(error: TraceError) -> TraceError {
    match error {
        TraceError::Kernel(why) => TraceError::ScopeUnavailable { why },
        other => other,
    }
}

/// Has nothing told of what this process started: a command that reads what is told would have more to read with each read.
/// Returns the processes.
fn exclude_own(storages: &TaskStorage) -> HashSet<i32> {
    let mut own = HashSet::new();
    let mut open = vec![std::process::id().cast_signed()];
    while let Some(pid) = open.pop() {
        if !own.insert(pid) {
            continue;
        }
        for thread in numbered_entries(&format!("/proc/{pid}/task")) {
            // One that ended meanwhile tells nothing any more.
            let _gone = storages.exclude(thread);
            let children = fs::read_to_string(format!("/proc/{pid}/task/{thread}/children"));
            let children = children.unwrap_or_default();
            open.extend(
                children
                    .split_ascii_whitespace()
                    .filter_map(|it| it.parse::<i32>().ok()),
            );
        }
    }
    own
}

fn numbered_entries(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}
