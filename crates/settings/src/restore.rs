//! Putting back what the journal says was changed, the last change first.
//!
//! It may be interrupted anywhere and begun again: what is as it was needs nothing.

use serde::{Deserialize, Serialize};
use std::path::Path;

use crate::{
    journal::{Journal, JournalContents, JournalError, JournalFile, OpenEntry},
    machine_root::MachineRoot,
    mechanism::{ChangeState, SettingChange},
    report::{RestoreOutcome, RestoreReport, RestoredChange},
};

/// Which changes are put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestoreScope {
    /// Those of processes that have ended, and of earlier boots: what an agent puts back when it starts.
    Abandoned,
    /// Those that this process made for this study, and what ended processes left of it: what is put back when it ends. Another store
    /// may have a study of the same name that runs.
    Study(String),
    /// All, also those of studies that still run.
    Everything,
}

impl RestoreScope {
    fn has(&self, machine: &MachineRoot, open: &OpenEntry, boot: &str, journal: &Path) -> bool {
        let entry = &open.entry;
        let is_abandoned = || entry.boot != boot || !entry.holder.is_alive(journal);
        match self {
            Self::Abandoned => is_abandoned(),
            Self::Study(study) if entry.study == *study => {
                let is_ours = match machine.holder() {
                    Some(asker) => entry.holder.is_process(&asker),
                    None => entry.holder.is_this_process(journal),
                };
                is_ours || is_abandoned()
            }
            Self::Study(_) => false,
            Self::Everything => true,
        }
    }
}

/// Puts back what the journal says. Where there is no journal, nothing is done and nothing is made.
///
/// What can't be put back is reported as stuck and stays in the journal.
///
/// # Errors
/// The journal can't be read, or another process has it.
pub fn restore(
    machine: &MachineRoot,
    journal: &JournalFile,
    scope: &RestoreScope,
) -> Result<RestoreReport, JournalError> {
    if !Journal::exists(journal) {
        return Ok(RestoreReport::default());
    }
    let mut journal = Journal::open(journal)?;
    machine.pass("restore: after lock", 0);
    let machine = &machine.holding(journal.lock());
    let boot = machine
        .boot_id()
        .map_err(|cause| JournalError::Boot { cause })?;
    let is_chosen = |open: &&OpenEntry| scope.has(machine, open, &boot, journal.path());
    let chosen = journal.open_entries().filter(is_chosen);
    let ids: Vec<u64> = chosen.map(|open| open.entry.id).collect();
    let held = journal.open_entries().count() - ids.len();
    let damaged_lines = journal.damaged_lines();
    let changes = put_back(machine, &mut journal, &ids, &boot);
    journal.tidy(machine)?;
    Ok(RestoreReport {
        changes,
        held,
        damaged_lines,
    })
}

/// Whether another process that lives has made settings for the journal's session: an agent that lost its conductor and hasn't noticed
/// so far.
pub fn is_prepared_by_another(machine: &MachineRoot, journal: &JournalFile) -> bool {
    // A journal that can't be read is complained of by whoever changes something.
    let bytes = std::fs::read(&journal.path).unwrap_or_default();
    let boot = machine.boot_id().unwrap_or_default();
    let contents = JournalContents::parse(&bytes);
    let mut open = contents.open.values().map(|open| &open.entry);
    open.any(|entry| {
        let holder = &entry.holder;
        holder.session.is_some()
            && holder.session == journal.session
            && entry.boot == boot
            && !holder.is_this_process(&journal.path)
            && holder.is_alive(&journal.path)
    })
}

/// Puts these entries back, the last one first, and marks them.
pub(crate) fn put_back(
    machine: &MachineRoot,
    journal: &mut Journal,
    ids: &[u64],
    boot: &str,
) -> Vec<RestoredChange> {
    let mut done: Vec<(u64, SettingChange, RestoredChange)> = Vec::new();
    for id in ids.iter().rev() {
        let Some(open) = journal.open_entry(*id) else {
            continue;
        };
        let entry = &open.entry;
        let number = usize::try_from(*id).unwrap_or_default();
        let outcome = match entry.boot == boot || !entry.change.is_volatile() {
            true => put_back_change(machine, open, number),
            false => RestoreOutcome::UndoneByRestart,
        };
        let restored = RestoredChange {
            study: entry.study.clone(),
            setting: entry.setting.clone(),
            target: entry.change.target(),
            old: entry.change.old_text(),
            outcome,
        };
        done.push((*id, entry.change.clone(), restored));
    }
    // To put one back may have changed another: the kernel keeps a lower limit below an upper one, and has one of two limits only.
    for (_, change, restored) in &mut done {
        let is_back = || change.state(machine) == ChangeState::Old;
        match restored.outcome {
            RestoreOutcome::PutBack if !is_back() => restored.outcome = undo(machine, change),
            RestoreOutcome::Stuck { .. } if is_back() => restored.outcome = RestoreOutcome::PutBack,
            _ => {}
        }
    }
    // Otherwise a power cut might take what was put back, and leave the marks.
    if done.iter().any(|(_, change, _)| change.is_on_disk()) {
        rustix::fs::sync();
    }
    for (id, _, restored) in &done {
        if matches!(restored.outcome, RestoreOutcome::Stuck { .. }) {
            continue;
        }
        let number = usize::try_from(*id).unwrap_or_default();
        machine.pass("before mark of undone", number);
        // Without the mark it is looked at once more, and found as it was.
        let _marked_or_looked_at_again = journal.mark_undone(*id);
        machine.pass("after mark of undone", number);
    }
    done.into_iter().map(|(_, _, restored)| restored).collect()
}

fn put_back_change(machine: &MachineRoot, open: &OpenEntry, number: usize) -> RestoreOutcome {
    let change = &open.entry.change;
    // Between the write and its verification the kernel may have made another value of it: that is ours too.
    let interrupted = open.writing && !open.verified;
    match change.state(machine) {
        ChangeState::Old => RestoreOutcome::AlreadyBack,
        ChangeState::Other(now) if !interrupted => RestoreOutcome::ChangedByOthers { now },
        ChangeState::Unreadable(_) if !open.writing => RestoreOutcome::AlreadyBack,
        ChangeState::Unreadable(why) => RestoreOutcome::Stuck {
            why,
            by_hand: change.undo_by_hand(),
        },
        ChangeState::New | ChangeState::Other(_) => {
            machine.pass("before undo", number);
            let outcome = undo(machine, change);
            machine.pass("after undo", number);
            outcome
        }
    }
}

fn undo(machine: &MachineRoot, change: &SettingChange) -> RestoreOutcome {
    let why = match change.undo(machine) {
        Err(why) => why,
        Ok(()) => match change.state(machine) {
            ChangeState::Old => return RestoreOutcome::PutBack,
            ChangeState::New => "it was written and stands as before".to_owned(),
            ChangeState::Other(now) => format!("it was written and reads `{now}`"),
            ChangeState::Unreadable(why) => why,
        },
    };
    RestoreOutcome::Stuck {
        why,
        by_hand: change.undo_by_hand(),
    }
}
