//! Putting back: what others changed, what was started anew, damaged journals, two processes at once.

use super::fake_machine::{FakeMachine, wanted};
use backsight_settings::{
    JournalError, PreparationPolicy, RestoreOutcome, RestoreReport, RestoreScope, apply,
    is_prepared_by_another, restore,
};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
    time::Duration,
};

const PLAN: &str =
    "memory.swappiness = 0\nmemory.thp = 'never'\nservices.stop = ['cron.service']\n";

fn make(fake: &FakeMachine, text: &str) {
    make_for(fake, text, "first");
}

fn make_for(fake: &FakeMachine, text: &str, study: &str) {
    let strict = PreparationPolicy::Strict;
    let made = apply(
        &fake.machine(),
        &wanted(text),
        &fake.journal_file(),
        study,
        strict,
    )
    .unwrap();
    assert!(made.report.stands, "{:#?}", made.report);
}

fn put_back(fake: &FakeMachine) -> RestoreReport {
    restore(
        &fake.machine(),
        &fake.journal_file(),
        &RestoreScope::Everything,
    )
    .unwrap()
}

fn outcome_of<'a>(report: &'a RestoreReport, setting: &str) -> &'a RestoreOutcome {
    let mut changes = report.changes.iter();
    &changes
        .find(|change| change.setting == setting)
        .unwrap()
        .outcome
}

#[test]
fn what_somebody_else_changed_is_said_and_left() {
    let fake = FakeMachine::new();
    make(&fake, PLAN);
    fake.put("proc/sys/vm/swappiness", "30\n");
    let report = put_back(&fake);
    assert_eq!(
        *outcome_of(&report, "memory.swappiness"),
        RestoreOutcome::ChangedByOthers { now: "30".into() }
    );
    assert_eq!(*outcome_of(&report, "memory.thp"), RestoreOutcome::PutBack);
    assert_eq!(fake.text("proc/sys/vm/swappiness"), "30\n");
    assert!(report.is_complete());
    assert_eq!(put_back(&fake), RestoreReport::default());
    fake.assert_journal_is_gone();
}

#[test]
fn the_last_change_is_put_back_first_and_what_is_back_needs_nothing() {
    let fake = FakeMachine::new();
    make(
        &fake,
        "memory.swappiness = 0\nmemory.ksm = true\ncpu.smt = false\n",
    );
    fake.put("proc/sys/vm/swappiness", "60\n");
    let report = put_back(&fake);
    let order: Vec<&str> = report.changes.iter().map(|c| c.setting.as_str()).collect();
    assert_eq!(order, ["cpu.smt", "memory.ksm", "memory.swappiness"]);
    assert_eq!(
        *outcome_of(&report, "memory.swappiness"),
        RestoreOutcome::AlreadyBack
    );
}

#[test]
fn after_a_restart_only_what_survived_it_is_put_back() {
    let fake = FakeMachine::new();
    make(&fake, PLAN);
    fake.put("proc/sys/kernel/random/boot_id", "another\n");
    // The restart put the kernel's settings back to those of its configuration: nobody holds them any more.
    fake.put("proc/sys/vm/swappiness", "10\n");
    make_for(&fake, "memory.swappiness = 1", "next");
    let scope = RestoreScope::Study("next".into());
    restore(&fake.machine(), &fake.journal_file(), &scope).unwrap();
    let report = restore(
        &fake.machine(),
        &fake.journal_file(),
        &RestoreScope::Abandoned,
    )
    .unwrap();
    assert_eq!(
        *outcome_of(&report, "memory.swappiness"),
        RestoreOutcome::UndoneByRestart
    );
    assert_eq!(
        *outcome_of(&report, "services.stop"),
        RestoreOutcome::PutBack
    );
    assert_eq!(fake.text("proc/sys/vm/swappiness"), "10\n");
    assert_eq!(fake.text("state/cron.service"), "active\n");
    fake.assert_journal_is_gone();
}

#[test]
fn what_cannot_be_put_back_stays_in_the_journal_with_what_to_do() {
    let fake = FakeMachine::new();
    make(&fake, PLAN);
    let path = fake.root().join("proc/sys/vm/swappiness");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let report = put_back(&fake);
    assert!(!report.is_complete());
    let RestoreOutcome::Stuck { by_hand, .. } = outcome_of(&report, "memory.swappiness") else {
        panic!("{report:?}");
    };
    assert_eq!(by_hand, "echo 60 > /proc/sys/vm/swappiness");
    let again = put_back(&fake);
    assert_eq!(again.changes.len(), 1);
    std::fs::remove_dir(&path).unwrap();
    fake.put("proc/sys/vm/swappiness", "0\n");
    assert!(put_back(&fake).is_complete());
    assert_eq!(fake.text("proc/sys/vm/swappiness"), "60\n");
    fake.assert_journal_is_gone();
}

#[test]
fn a_torn_line_is_dropped_and_a_damaged_one_is_kept_beside() {
    let fake = FakeMachine::new();
    let before = fake.everything();
    make(&fake, PLAN);
    let journal = fake.journal();
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, format!("{text}0000{{\"rec")).unwrap();
    assert!(put_back(&fake).damaged_lines.is_empty());
    assert_eq!(fake.everything(), before);
    make(&fake, PLAN);
    let damaged = text.replace(
        "\"/sys/kernel/mm/transparent_hugepage/enabled\"",
        "\"/etc/passwd\"",
    );
    assert_ne!(damaged, text);
    std::fs::write(&journal, &damaged).unwrap();
    // What stands may be what that line changed: nothing is taken for an old value before somebody looked.
    let all = wanted("memory.ksm = true");
    let strict = PreparationPolicy::Strict;
    let error = apply(&fake.machine(), &all, &fake.journal_file(), "next", strict).unwrap_err();
    assert!(
        matches!(error, JournalError::Damaged { line: 3, .. }),
        "{error}"
    );
    let report = put_back(&fake);
    assert_eq!(report.damaged_lines.len(), 1);
    assert_eq!(fake.text("proc/sys/vm/swappiness"), "60\n");
    let kept = journal.with_extension("damaged");
    assert!(
        std::fs::read_to_string(kept)
            .unwrap()
            .contains("/etc/passwd")
    );
    assert!(!journal.exists());
}

#[test]
fn hostile_bytes_in_the_journal_change_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let fake = FakeMachine::new();
    let before = fake.everything();
    std::fs::create_dir_all(fake.journal().parent().unwrap()).unwrap();
    for bytes in [
        &b"\0\0\0\0\n\xff\xff\n"[..],
        b"00000000 {\"record\":\"undone\",\"id\":1}\n",
        b"ffffffff \n\n\n",
        b"\n",
        b"",
    ] {
        std::fs::write(fake.journal(), bytes).unwrap();
        let owner_only = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(fake.journal(), owner_only).unwrap();
        assert!(put_back(&fake).changes.is_empty());
        assert!(!fake.journal().exists());
    }
    assert_eq!(fake.everything(), before);
}

#[test]
fn a_study_that_runs_keeps_its_settings_and_its_process_may_be_killed() {
    let fake = FakeMachine::new();
    let before = fake.everything();
    let plan = fake.put_wanted(PLAN);
    let mut study = fake
        .command(
            &["apply", &plan, "first", "strict"],
            &[("WAIT", "1"), ("SESSION", "5")],
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let is_prepared_for = |session| {
        let mut place = fake.journal_file();
        place.session = session;
        is_prepared_by_another(&fake.machine(), &place)
    };
    let mut said = String::new();
    let mut output = BufReader::new(study.stdout.take().unwrap());
    output.read_line(&mut said).unwrap();
    assert!(said.contains(r#""stands":true"#), "{said}");
    let report = restore(
        &fake.machine(),
        &fake.journal_file(),
        &RestoreScope::Abandoned,
    )
    .unwrap();
    assert_eq!((report.changes.len(), report.held), (0, 3));
    assert_eq!(fake.text("proc/sys/vm/swappiness"), "0\n");
    // Another agent of the same conductor waits for it; a study of the same name that is another conductor's puts nothing back.
    assert!(is_prepared_for(Some(5)) && !is_prepared_for(Some(6)) && !is_prepared_for(None));
    let scope = RestoreScope::Study("first".into());
    let report = restore(&fake.machine(), &fake.journal_file(), &scope).unwrap();
    assert_eq!((report.changes.len(), report.held), (0, 3));
    study.kill().unwrap();
    study.wait().unwrap();
    assert!(!is_prepared_for(Some(5)));
    let report = restore(
        &fake.machine(),
        &fake.journal_file(),
        &RestoreScope::Abandoned,
    )
    .unwrap();
    assert_eq!((report.changes.len(), report.held), (3, 0));
    assert_eq!(fake.everything(), before);
}

#[test]
fn processes_at_once_take_turns_and_one_has_each_setting() {
    let fake = FakeMachine::new();
    let before = fake.everything();
    let plan = fake.put_wanted(PLAN);
    let start = |study: &str| {
        fake.command(&["apply", &plan, study, "strict"], &[("WAIT", "1")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut studies: Vec<_> = ["a", "b", "c", "d"].map(start).into();
    let mut stand = 0;
    for study in &mut studies {
        let mut said = String::new();
        let mut output = BufReader::new(study.stdout.take().unwrap());
        output.read_line(&mut said).unwrap();
        stand += usize::from(said.contains(r#""stands":true"#));
        assert!(
            said.contains("holds") || said.contains(r#""stands":true"#),
            "{said}"
        );
    }
    assert_eq!(stand, 1);
    for mut study in studies {
        study.stdin.take().unwrap().flush().unwrap();
        study.wait().unwrap();
    }
    put_back(&fake);
    assert_eq!(fake.everything(), before);
}

#[test]
fn a_journal_that_another_process_has_is_waited_for_and_not_for_ever() {
    let fake = FakeMachine::new();
    let mut place = fake.journal_file();
    place.wait = Duration::from_millis(30);
    let open = backsight_settings::Journal::open(&place).unwrap();
    let all = wanted(PLAN);
    let error = apply(
        &fake.machine(),
        &all,
        &place,
        "first",
        PreparationPolicy::Strict,
    )
    .unwrap_err();
    assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    assert_eq!(fake.text("proc/sys/vm/swappiness"), "60\n");
    drop(open);
    assert!(
        apply(
            &fake.machine(),
            &all,
            &place,
            "first",
            PreparationPolicy::Strict
        )
        .is_ok()
    );
}

#[test]
fn without_a_journal_nothing_is_changed() {
    let fake = FakeMachine::new();
    let before = fake.everything();
    let mut place = fake.journal_file();
    place.path = "/proc/no-such-folder/journal".into();
    let error = apply(
        &fake.machine(),
        &wanted(PLAN),
        &place,
        "first",
        PreparationPolicy::Warn,
    )
    .unwrap_err();
    assert!(matches!(error, JournalError::File { .. }), "{error}");
    assert_eq!(fake.everything(), before);
    // To ask makes nothing.
    assert_eq!(put_back(&fake), RestoreReport::default());
    assert!(!fake.journal().parent().unwrap().exists());
}

#[test]
fn a_program_that_outlives_its_killed_agent_is_waited_for() {
    let fake = FakeMachine::new();
    let folder = fake.root().parent().unwrap().to_owned();
    let fifo = |name: &str| {
        let path = folder.join(name);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        path
    };
    let (begun, gate) = (fifo("begun"), fifo("gate"));
    let slow = format!(
        "stop) echo > {}; cat {} > /dev/null; echo inactive > \"$state/$3\" ;;\nnever)",
        begun.display(),
        gate.display()
    );
    let text = fake.text("usr/bin/systemctl").replace("stop)", &slow);
    fake.put("usr/bin/systemctl", &text);
    let before = fake.everything();
    let plan = fake.put_wanted("services.stop = ['cron.service']\nmemory.ksm = true\n");
    let mut agent = fake
        .command(&["apply", &plan, "first", "strict"], &[])
        .spawn()
        .unwrap();
    // The program says that it is at work.
    assert_eq!(std::fs::read(&begun).unwrap(), b"\n");
    agent.kill().unwrap();
    agent.wait().unwrap();
    let mut hasty = fake.journal_file();
    hasty.wait = Duration::from_millis(30);
    let error = restore(&fake.machine(), &hasty, &RestoreScope::Abandoned).unwrap_err();
    assert!(matches!(error, JournalError::Locked { .. }), "{error}");
    std::fs::write(&gate, "").unwrap();
    let report = restore(
        &fake.machine(),
        &fake.journal_file(),
        &RestoreScope::Abandoned,
    )
    .unwrap();
    assert_eq!(
        *outcome_of(&report, "services.stop"),
        RestoreOutcome::PutBack
    );
    assert_eq!(fake.everything(), before);
    fake.assert_journal_is_gone();
}
