//! Making settings: everything is read first, then the journal is on disk, then each one is written and read again.
//!
//! Under `strict` all settings stand or none does. Where a study has made settings before, only the difference is written: what is
//! wanted no longer is put back by the journal, then the new ones are made.

use backsight_model::PreparationPolicy;
use std::path::Path;

use crate::{
    cpu_list::CpuList,
    definition::RequiredRight,
    interface_address::with_interface_names,
    journal::{Journal, JournalContents, JournalEntry, JournalError, JournalFile, OpenEntry},
    machine_root::MachineRoot,
    mechanism::{ChangeState, HeldFiles, SettingChange, SettingObstacle},
    report::{
        ChangeReport, PreparationReport, RestoreOutcome, RestoredChange, SettingOutcome,
        SettingReport,
    },
    restore::put_back,
    standing::{StandingPreparation, StandingSetting},
    value::ValueType,
    wanted::WantedSetting,
};

/// A preparation that was made.
#[derive(Debug)]
pub struct Application {
    /// What came of each setting.
    pub report: PreparationReport,
    /// What stands, with the files that are kept open for it until this is dropped.
    pub standing: StandingPreparation,
}

/// A setting on its way.
struct Attempt<'a> {
    wanted: &'a WantedSetting,
    changes: Vec<PlannedChange>,
    outcome: Option<SettingOutcome>,
    held: HeldFiles,
}

/// A change of it.
struct PlannedChange {
    change: SettingChange,
    /// Its entry in the journal.
    id: Option<u64>,
    refused: Option<String>,
}

impl Attempt<'_> {
    fn is_pending(&self) -> bool {
        self.outcome.is_none()
    }

    /// Whether the machine may lack it without harm.
    fn is_tolerable(&self, policy: PreparationPolicy) -> bool {
        policy != PreparationPolicy::Strict
            || match &self.outcome {
                Some(SettingOutcome::Missing { .. }) => self.wanted.optional,
                Some(outcome) => outcome.is_so() || *outcome == SettingOutcome::Pending,
                None => true,
            }
    }

    fn ids(&self) -> impl Iterator<Item = u64> {
        self.changes.iter().filter_map(|planned| planned.id)
    }

    fn into_standing(self) -> StandingSetting {
        StandingSetting {
            report: self.report(),
            ids: self.ids().collect(),
            wanted: self.wanted.clone(),
            held: self.held,
        }
    }

    fn report(&self) -> SettingReport {
        let request = &self.wanted.request;
        let changes = self.changes.iter().map(|planned| ChangeReport {
            target: planned.change.target(),
            old: planned.change.old_text(),
            new: planned.change.new_text(),
            refused: planned.refused.clone(),
        });
        SettingReport {
            setting: self.wanted.setting.clone(),
            parameters: request.shown_parameters(),
            value: request
                .value
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            place: self.wanted.place.clone(),
            outcome: self.outcome.clone().unwrap_or(SettingOutcome::NotMade),
            changes: changes.collect(),
        }
    }
}

/// Makes settings for a study that has none yet. Keep what is given until the study ends; then `restore` puts them back.
///
/// # Errors
/// The journal can't be written, or another process has it. Then the machine is as it was, or the journal still says what isn't.
pub fn apply(
    machine: &MachineRoot,
    wanted: &[WantedSetting],
    journal: &JournalFile,
    study: &str,
    policy: PreparationPolicy,
) -> Result<Application, JournalError> {
    let mut standing = StandingPreparation::new(study);
    let report = change_to(machine, &mut standing, wanted, journal, policy)?;
    Ok(Application { report, standing })
}

/// Gives a machine these settings in place of those that stand for the study: what is wanted no longer is put back, what stands
/// already stays untouched, and the rest is made.
///
/// # Errors
/// As [`apply`].
pub fn change_to(
    machine: &MachineRoot,
    standing: &mut StandingPreparation,
    wanted: &[WantedSetting],
    journal: &JournalFile,
    policy: PreparationPolicy,
) -> Result<PreparationReport, JournalError> {
    let leaving = standing.take_unwanted(wanted);
    let new: Vec<&WantedSetting> = wanted.iter().filter(|it| !standing.has(it)).collect();
    let changes = |it: &&WantedSetting| may_change(machine, it);
    let (mut attempts, mut put_back_again) = (Vec::new(), Vec::new());
    let mut stands = true;
    let leaving_ids = leaving.iter().any(|setting| !setting.ids.is_empty());
    if leaving_ids || new.iter().any(changes) {
        let mut journal = Journal::open(journal)?.undamaged()?;
        machine.pass("after lock", 0);
        let machine = &machine.holding(journal.lock());
        let boot = machine
            .boot_id()
            .map_err(|cause| JournalError::Boot { cause })?;
        put_back_again = put_back_leaving(machine, &mut journal, leaving, &boot);
        let stuck = |it: &RestoredChange| matches!(it.outcome, RestoreOutcome::Stuck { .. });
        stands = !put_back_again.iter().any(stuck);
        attempts = plan_all(
            machine,
            &new,
            &still_changed(journal.open_entries(), &boot),
            &standing.study,
            journal.path(),
        );
        stands &= attempts.iter().all(|attempt| attempt.is_tolerable(policy));
        if stands {
            let study = &standing.study;
            let made = make_all(machine, &mut journal, study, policy, &mut attempts, &boot);
            stands = *made.as_ref().unwrap_or(&false);
            if !stands {
                let mut ids: Vec<u64> = attempts.iter().flat_map(Attempt::ids).collect();
                ids.sort_unstable();
                put_back_again.extend(put_back(machine, &mut journal, &ids, &boot));
                for attempt in &mut attempts {
                    attempt.held = HeldFiles::default();
                    if attempt.outcome == Some(SettingOutcome::Made) {
                        attempt.outcome = Some(SettingOutcome::NotMade);
                    }
                }
            }
            made?;
        }
        if journal.open_entries().next().is_none() {
            journal.tidy(machine)?;
        }
    } else {
        for one in new {
            attempts.push(Attempt {
                wanted: one,
                changes: Vec::new(),
                outcome: Some(SettingOutcome::NeedsRoot),
                held: HeldFiles::default(),
            });
            stands = policy != PreparationPolicy::Strict;
        }
    }
    let mut reports: Vec<SettingReport> = Vec::with_capacity(wanted.len());
    let mut made = attempts.into_iter().map(Attempt::into_standing);
    let mut added = Vec::new();
    for one in wanted {
        let report = standing.report_of(one);
        reports.extend(report.or_else(|| {
            let setting = made.next()?;
            let report = setting.report.clone();
            added.push(setting);
            Some(report)
        }));
    }
    if stands {
        standing.settings.extend(added);
    }
    Ok(PreparationReport {
        study: standing.study.clone(),
        stands,
        settings: reports,
        put_back: put_back_again,
    })
}

/// Puts settings back that a study wants no longer.
fn put_back_leaving(
    machine: &MachineRoot,
    journal: &mut Journal,
    leaving: Vec<StandingSetting>,
    boot: &str,
) -> Vec<RestoredChange> {
    let mut ids: Vec<u64> = leaving
        .iter()
        .flat_map(|it| it.ids.iter().copied())
        .collect();
    // Files that are held open are closed first, as at a study's end.
    drop(leaving);
    ids.sort_unstable();
    let done = put_back(machine, journal, &ids, boot);
    done.into_iter()
        .filter(|it| !it.outcome.is_back())
        .collect()
}

/// What would come of making settings, without a change of anything: what is missing, needs root, would be refused. Every setting that
/// would be made is pending; whether it is then refused or doesn't hold, only making it says.
pub fn inspect(
    machine: &MachineRoot,
    wanted: &[WantedSetting],
    journal: &JournalFile,
    study: &str,
    policy: PreparationPolicy,
) -> PreparationReport {
    // A journal that can't be read holds nothing that could be said here.
    let bytes = std::fs::read(&journal.path).unwrap_or_default();
    let contents = JournalContents::parse(&bytes);
    let boot = machine.boot_id().unwrap_or_default();
    let wanted: Vec<&WantedSetting> = wanted.iter().collect();
    let open = still_changed(contents.open.values(), &boot);
    let mut attempts = plan_all(machine, &wanted, &open, study, &journal.path);
    for attempt in attempts.iter_mut().filter(|attempt| attempt.is_pending()) {
        attempt.outcome = Some(SettingOutcome::Pending);
    }
    PreparationReport {
        study: study.to_owned(),
        stands: attempts.iter().all(|attempt| attempt.is_tolerable(policy)),
        settings: attempts.iter().map(Attempt::report).collect(),
        put_back: Vec::new(),
    }
}

/// The entries whose changes a restart of the machine hasn't undone.
fn still_changed<'a>(open: impl Iterator<Item = &'a OpenEntry>, boot: &str) -> Vec<&'a OpenEntry> {
    open.filter(|open| open.entry.boot == boot || !open.entry.change.is_volatile())
        .collect()
}

fn may_change(machine: &MachineRoot, wanted: &WantedSetting) -> bool {
    wanted.right == RequiredRight::None || machine.permits_root()
}

/// Reads everything that will be changed.
fn plan_all<'a>(
    machine: &MachineRoot,
    wanted: &[&'a WantedSetting],
    open: &[&OpenEntry],
    study: &str,
    journal: &Path,
) -> Vec<Attempt<'a>> {
    let mut attempts: Vec<Attempt<'a>> = Vec::new();
    for (number, one) in wanted.iter().enumerate() {
        let planned = if may_change(machine, one) {
            check_cpus(machine, one)
                .and_then(|()| with_interface_names(machine, &one.request))
                .and_then(|request| one.mechanism.plan(machine, &one.setting, &request))
                .map_err(|obstacle| match obstacle {
                    SettingObstacle::Missing(why) => SettingOutcome::Missing { why },
                    SettingObstacle::Refused(why) => SettingOutcome::Refused { why },
                })
        } else {
            Err(SettingOutcome::NeedsRoot)
        };
        let planned = planned.and_then(|changes| {
            match claim_of_another(&changes, open, &attempts, study, journal) {
                Some(why) => Err(SettingOutcome::Refused { why }),
                None => Ok(changes),
            }
        });
        machine.pass("after read", number);
        let (changes, outcome) = match planned {
            Ok(changes) => {
                let is_so = changes.iter().all(SettingChange::is_already_so);
                let outcome = match one.mechanism.is_of_programs() {
                    // Whoever starts programs makes it.
                    true => Some(SettingOutcome::Made),
                    false => is_so.then_some(SettingOutcome::AlreadySo),
                };
                (changes, outcome)
            }
            Err(outcome) => (Vec::new(), Some(outcome)),
        };
        let changes = changes.into_iter().map(|change| PlannedChange {
            change,
            id: None,
            refused: None,
        });
        attempts.push(Attempt {
            wanted: one,
            changes: changes.collect(),
            outcome,
            held: HeldFiles::default(),
        });
    }
    attempts
}

/// Checks lists of CPUs against those that the machine has.
fn check_cpus(machine: &MachineRoot, wanted: &WantedSetting) -> Result<(), SettingObstacle> {
    let request = &wanted.request;
    if !matches!(request.value_type, ValueType::Cpus | ValueType::SomeCpus) {
        return Ok(());
    }
    let text = request.value.as_ref().map(ToString::to_string);
    let list = CpuList::parse(&text.unwrap_or_default()).map_err(SettingObstacle::Refused)?;
    let Some(present) = machine.present_cpus() else {
        return Ok(());
    };
    let unknown = list.without(&present);
    if !unknown.is_empty() {
        return Err(SettingObstacle::Refused(format!(
            "there is no CPU {unknown}: this machine has {present}"
        )));
    }
    let online = machine.online_cpus().unwrap_or(present);
    if request.value_type == ValueType::SomeCpus && online.without(&list).is_empty() {
        return Err(SettingObstacle::Refused(format!(
            "CPUs {list} are all that there are: leave one for everything else"
        )));
    }
    Ok(())
}

/// Why these changes aren't this setting's to make: another study, or another setting of this preparation, has one of their
/// targets. What a study has changed isn't an old value.
fn claim_of_another(
    changes: &[SettingChange],
    open: &[&OpenEntry],
    attempts: &[Attempt<'_>],
    study: &str,
    journal: &Path,
) -> Option<String> {
    for change in changes.iter().filter(|change| !change.is_shareable()) {
        let target = change.target();
        let holds = |other: &SettingChange| !other.is_shareable() && other.target() == target;
        // What the kernel changes along with one setting may be set by another of the same study.
        let is_claim = |entry: &JournalEntry| {
            holds(&entry.change)
                && (entry.study != study || change.is_wanted() && entry.change.is_wanted())
        };
        if let Some(open) = open.iter().find(|open| is_claim(&open.entry)) {
            let entry = &open.entry;
            let way_out = match entry.holder.is_alive(journal) {
                true => format!("wait for it to end (process {})", entry.holder.pid),
                false => "it was interrupted: `backsight restore` puts it back".to_owned(),
            };
            return Some(format!(
                "study `{}` holds {target} ({}): {way_out}",
                entry.study, entry.setting
            ));
        }
        let mut others = attempts.iter().filter(|_| change.is_wanted());
        let is_it = |planned: &PlannedChange| planned.change.is_wanted() && holds(&planned.change);
        let other = others.find(|attempt| attempt.changes.iter().any(is_it));
        if let Some(other) = other {
            let (setting, place) = (&other.wanted.setting, &other.wanted.place);
            return Some(format!("`{setting}` ({place}) sets {target} too"));
        }
    }
    None
}

/// Makes what is pending; whether the preparation stands.
fn make_all(
    machine: &MachineRoot,
    journal: &mut Journal,
    study: &str,
    policy: PreparationPolicy,
    attempts: &mut [Attempt<'_>],
    boot: &str,
) -> Result<bool, JournalError> {
    let is_pending = |attempt: &&mut Attempt<'_>| attempt.is_pending();
    let pending = attempts.iter_mut().filter(is_pending);
    let to_do = pending.flat_map(|attempt| {
        let setting = &attempt.wanted.setting;
        let planned = attempt.changes.iter_mut();
        planned.map(move |planned| (setting, planned))
    });
    let to_do: Vec<_> = to_do
        .filter(|(_, p)| p.change.is_journaled() && !p.change.is_already_so())
        .collect();
    let entries = to_do.iter();
    let entries = entries.map(|(setting, planned)| ((*setting).clone(), planned.change.clone()));
    let entries: Vec<(String, SettingChange)> = entries.collect();
    let ids = journal.append(machine, study, &entries)?;
    for ((_, planned), id) in to_do.into_iter().zip(ids) {
        planned.id = Some(id);
    }
    let mut number = 0;
    // The kernel may take a value only after another one: an upper limit before the lower one that is above it.
    for is_last in [false, true] {
        for attempt in attempts.iter_mut().filter(is_pending) {
            attempt.outcome = make_setting(machine, journal, attempt, is_last, &mut number, boot)?;
            if !attempt.is_tolerable(policy) {
                return Ok(false);
            }
        }
    }
    settle(machine, journal, study, attempts, boot)?;
    Ok(attempts.iter().all(|attempt| attempt.is_tolerable(policy)))
}

/// Makes one setting; no outcome where it may be tried again. What fails is put back at once.
fn make_setting(
    machine: &MachineRoot,
    journal: &mut Journal,
    attempt: &mut Attempt<'_>,
    is_last: bool,
    number: &mut usize,
    boot: &str,
) -> Result<Option<SettingOutcome>, JournalError> {
    let several = attempt.changes.len() > 1;
    let mut made = 0;
    let (mut fault, mut may_fit_later) = (None, false);
    for planned in attempt.changes.iter_mut() {
        if planned.change.is_already_so() {
            continue;
        }
        if let Some(id) = planned.id {
            machine.pass("before mark of write", *number);
            journal.mark_writing(id)?;
        }
        machine.pass("before write", *number);
        let outcome = make_change(machine, &planned.change, &mut attempt.held);
        machine.pass("after write", *number);
        match outcome {
            Ok(()) => {
                if let Some(id) = planned.id {
                    journal.mark_verified(id)?;
                }
                planned.refused = None;
                made += 1;
            }
            Err(outcome) => {
                planned.refused = Some(outcome.to_string());
                if planned.change.is_dispensable() && several {
                    if let Some(id) = planned.id {
                        put_back(machine, journal, &[id], boot);
                    }
                } else {
                    fault = Some(outcome);
                    may_fit_later = matches!(planned.change, SettingChange::File(_)) && !is_last;
                    break;
                }
            }
        }
        machine.pass("after verify", *number);
        *number += 1;
    }
    let Some(fault) = fault else {
        let first = attempt.changes.iter().find_map(|p| p.refused.clone());
        return Ok(Some(match (made, first) {
            (0, Some(why)) => SettingOutcome::Refused { why },
            _ => SettingOutcome::Made,
        }));
    };
    if may_fit_later {
        undo_without_marks(machine, journal, attempt);
        return Ok(None);
    }
    let ids: Vec<u64> = attempt.ids().collect();
    put_back(machine, journal, &ids, boot);
    Ok(Some(fault))
}

/// Undoes the changes of a setting that is tried again: its entries stay.
fn undo_without_marks(machine: &MachineRoot, journal: &Journal, attempt: &Attempt<'_>) {
    for planned in attempt.changes.iter().rev() {
        let writing = planned.id.and_then(|id| journal.open_entry(id));
        if writing.is_some_and(|open| open.writing)
            && planned.change.state(machine) != ChangeState::Old
        {
            // What stays is undone by its entry.
            let _undone_or_in_the_journal = planned.change.undo(machine);
        }
    }
}

fn make_change(
    machine: &MachineRoot,
    change: &SettingChange,
    held: &mut HeldFiles,
) -> Result<(), SettingOutcome> {
    let refused = |why| SettingOutcome::Refused { why };
    change.make(machine, held).map_err(refused)?;
    if !change.is_verifiable() {
        return Ok(());
    }
    match change.state(machine) {
        ChangeState::New => Ok(()),
        ChangeState::Old => Err(SettingOutcome::NotHeld {
            found: change.old_text(),
        }),
        ChangeState::Other(found) => Err(SettingOutcome::NotHeld { found }),
        ChangeState::Unreadable(why) => Err(refused(why)),
    }
}

/// Looks at all settings again: one may have changed another, also one that was so before.
fn settle(
    machine: &MachineRoot,
    journal: &mut Journal,
    study: &str,
    attempts: &mut [Attempt<'_>],
    boot: &str,
) -> Result<(), JournalError> {
    let mut held = HeldFiles::default();
    for attempt in attempts.iter_mut() {
        let was_so = match attempt.outcome {
            Some(SettingOutcome::Made) => false,
            Some(SettingOutcome::AlreadySo) => true,
            _ => continue,
        };
        let mut fault = None;
        for planned in &mut attempt.changes {
            let change = &planned.change;
            if !change.is_verifiable() || planned.refused.is_some() {
                continue;
            }
            let wanted = match change.is_already_so() {
                true => ChangeState::Old,
                false => ChangeState::New,
            };
            let now = change.state(machine);
            if now == wanted || was_so && now == ChangeState::New {
                continue;
            }
            if planned.id.is_none() {
                let entry = (attempt.wanted.setting.clone(), change.clone());
                let ids = journal.append(machine, study, &[entry])?;
                planned.id = ids.first().copied();
            }
            if let Some(id) = planned.id {
                journal.mark_writing(id)?;
            }
            let again = change.make(machine, &mut held);
            let now = change.state(machine);
            fault = match again {
                Ok(()) if now == ChangeState::New || now == wanted => {
                    if let Some(id) = planned.id {
                        journal.mark_verified(id)?;
                    }
                    None
                }
                Ok(()) => Some(SettingOutcome::NotHeld {
                    found: match now {
                        ChangeState::Other(found) | ChangeState::Unreadable(found) => found,
                        ChangeState::Old | ChangeState::New => change.old_text(),
                    },
                }),
                Err(why) => Some(SettingOutcome::Refused { why }),
            };
            if fault.is_some() {
                break;
            }
            attempt.outcome = Some(SettingOutcome::Made);
        }
        if let Some(fault) = fault {
            let ids: Vec<u64> = attempt.ids().collect();
            put_back(machine, journal, &ids, boot);
            attempt.outcome = Some(fault);
        }
    }
    Ok(())
}

impl PreparationReport {
    /// Whether something that was put back again is stuck.
    pub fn stuck(&self) -> impl Iterator<Item = &RestoredChange> {
        let stuck =
            |change: &&RestoredChange| matches!(change.outcome, RestoreOutcome::Stuck { .. });
        self.put_back.iter().filter(stuck)
    }
}
