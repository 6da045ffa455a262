use super::*;
use std::os::unix::fs::symlink;

fn holder(work: &str) -> LeaseHolder {
    LeaseHolder::new(work.to_owned()).unwrap()
}

async fn take(
    folder: &Path,
    mode: LockMode,
    holder: &LeaseHolder,
) -> Result<MachineLease, LeaseFault> {
    MachineLease::take(folder, mode, holder, Instant::now(), |_| {}).await
}

#[tokio::test]
async fn a_machine_has_one_session_whose_agents_share_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (ours, theirs) = (holder("study one"), holder("study two"));
    let first = take(folder, LockMode::Alone, &ours).await.unwrap();
    let second = take(folder, LockMode::Alone, &ours).await.unwrap();
    let refused = take(folder, LockMode::Alone, &theirs).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("leased to study one (process "),
        "{refused}"
    );
    // The session is there as long as one of its agents is.
    drop(first);
    let refused = take(folder, LockMode::Alone, &theirs).await.unwrap_err();
    assert!(refused.to_string().contains("study one"), "{refused}");
    let refused = take(folder, LockMode::Shared, &theirs).await.unwrap_err();
    assert!(refused.to_string().contains("study one"), "{refused}");
    let third = take(folder, LockMode::Alone, &ours).await.unwrap();
    drop((second, third));
    let other = take(folder, LockMode::Alone, &theirs).await.unwrap();
    let refused = take(folder, LockMode::Alone, &ours).await.unwrap_err();
    assert!(refused.to_string().contains("study two"), "{refused}");
    drop(other);
}

#[tokio::test]
async fn who_waits_is_told_for_whom_and_has_it_as_soon_as_it_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let first = take(&path, LockMode::Alone, &holder("study one"))
        .await
        .unwrap();
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    let until = Instant::now() + Duration::from_secs(50);
    let waiter = holder("study two");
    let (folder_of_waiter, sender_of_waiter) = (path.clone(), sender);
    let waiting = tokio::spawn(async move {
        let taken = MachineLease::take(
            &folder_of_waiter,
            LockMode::Alone,
            &waiter,
            until,
            |in_force| {
                let _ = sender_of_waiter.send(in_force.to_string());
            },
        );
        taken.await.map(|lease| (lease, std::time::Instant::now()))
    });
    let in_force = told.recv().await.unwrap();
    assert!(in_force.starts_with("study one (process "), "{in_force}");
    assert!(in_force.contains(" since 20"), "{in_force}");
    let freed = std::time::Instant::now();
    drop(first);
    let (lease, had) = waiting.await.unwrap().unwrap();
    assert!(had - freed < Duration::from_secs(1), "{:?}", had - freed);
    drop(lease);
}

#[tokio::test]
async fn a_wait_that_is_given_up_takes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let first = take(path, LockMode::Alone, &holder("study one"))
        .await
        .unwrap();
    let until = Instant::now() + Duration::from_millis(50);
    let two = holder("study two");
    let refused = MachineLease::take(path, LockMode::Alone, &two, until, |_| {}).await;
    assert!(matches!(refused, Err(LeaseFault::Taken(_))));
    drop(first);
    // The thread that waited gives back what it gets.
    let until = Instant::now() + Duration::from_secs(10);
    let three = holder("study three");
    MachineLease::take(path, LockMode::Alone, &three, until, |_| {})
        .await
        .unwrap();
}

#[tokio::test]
async fn a_controller_that_is_not_heard_is_told_by_its_silence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let frozen = LeaseHolder {
        by_agent: true,
        ..holder("study one")
    };
    let first = take(path, LockMode::Alone, &frozen).await.unwrap();
    for file in &first.files {
        file.set_modified(SystemTime::now() - Duration::from_secs(40))
            .unwrap();
    }
    let refused = take(path, LockMode::Alone, &holder("study two"))
        .await
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("whose controller hasn't been heard for 4"),
        "{refused}"
    );
    first.note_controller();
    let refused = take(path, LockMode::Alone, &holder("study two"))
        .await
        .unwrap_err();
    assert!(!refused.to_string().contains("heard"), "{refused}");
}

#[test]
fn links_and_other_things_are_no_lock_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("secret")).unwrap();
    std::fs::set_permissions(at("secret"), Permissions::from_mode(0o700)).unwrap();
    symlink(at("secret"), at("leases")).unwrap();
    make_folder(&at("leases")).unwrap_err();
    let mode = at("secret").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700, "what the link names is as it was");
    make_folder(&at("made")).unwrap();
    make_folder(&at("made")).unwrap();
    let mode = at("made").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o1777);
    std::fs::write(at("text"), "keep me").unwrap();
    symlink(at("text"), at("linked.lock")).unwrap();
    open(&at("linked.lock")).unwrap_err();
    std::fs::hard_link(at("text"), at("hard.lock")).unwrap();
    open(&at("hard.lock")).unwrap_err();
    assert_eq!(std::fs::read_to_string(at("text")).unwrap(), "keep me");
}

#[test]
fn a_lock_file_that_was_removed_excludes_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lock");
    let first = try_lease_file(&path, &holder("one")).unwrap();
    assert!(try_lease_file(&path, &holder("two")).is_err());
    std::fs::remove_file(&path).unwrap();
    assert!(!is_current(&first, &path).unwrap());
    try_lease_file(&path, &holder("two")).unwrap();
}

#[test]
fn what_others_wrote_is_shown_without_what_a_terminal_obeys() {
    let mut evil = holder("study\u{1b}[31m");
    evil.user = "x\ny".into();
    let in_force = LeaseInForce {
        holder: Some(evil),
        silent: None,
        of_part: false,
    };
    assert!(
        !in_force.to_string().contains(char::is_control),
        "{in_force}"
    );
}
