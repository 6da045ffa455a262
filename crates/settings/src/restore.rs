//! Putting back what the journal says was changed, the last change first.
//!
//! It may be interrupted anywhere and begun again: what is as it was needs nothing.

use serde::{Deserialize, Serialize};

use crate::{
    journal::{Journal, JournalError, JournalFile, OpenEntry},
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
    /// Those of this study: what is put back when it ends.
    Study(String),
    /// All, also those of studies that still run.
    Everything,
}

impl RestoreScope {
    fn has(&self, open: &OpenEntry, boot: &str) -> bool {
        let entry = &open.entry;
        match self {
            Self::Abandoned => entry.boot != boot || !entry.holder.is_alive(),
            Self::Study(study) => entry.study == *study,
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
    let chosen = journal.open_entries().filter(|open| scope.has(open, &boot));
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
