//! Histories of a repository with a past (`tests/fixtures/make-cvs-repository`).

use super::*;
use backsight_model::{Lookback, TimeUnit};

fn room() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let maker =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/make-cvs-repository");
    run(
        Command::new(maker).arg(folder.path()),
        "making the repository",
        FETCHING,
    )
    .unwrap();
    folder
}

fn open_with(room: &Path, source: &CvsSource) -> Result<Cvs, HistoryError> {
    let now = "2010-01-21T00:00:00Z".parse().unwrap();
    Cvs::open("app", source, room, &room.join("work"), now)
}

fn source(branch: Option<&str>) -> CvsSource {
    CvsSource {
        root: "cvsroot".into(),
        module: "app".into(),
        branch: branch.map(str::to_owned),
    }
}

fn range(from: &str, to: &str) -> Range {
    Range::Between {
        from: from.to_owned(),
        to: to.to_owned(),
    }
}

fn names(versions: &[Version]) -> Vec<&str> {
    versions
        .iter()
        .map(|version| version.name.as_str())
        .collect()
}

fn work_of(tree: &Path) -> String {
    let text = fs::read_to_string(tree.join("work.sh")).unwrap();
    text.lines()
        .find_map(|line| line.strip_prefix("echo work "))
        .unwrap()
        .to_owned()
}

#[test]
fn commits_of_both_branches_come_back() {
    let room = room();
    let trunk = open_with(room.path(), &source(None)).unwrap();
    let all = trunk
        .versions(&range("2010-01-01T00:01", "2010-02-01"), &Every::All)
        .unwrap();
    assert_eq!(all.len(), 34);
    assert_eq!(names(&all[..2]), ["2010-01-01 00:00", "2010-01-01 12:00"]);
    assert_eq!(all[13].title, "change 14");
    let stable = open_with(room.path(), &source(Some("STABLE"))).unwrap();
    let branch = stable
        .versions(&Range::Last(Lookback(1, TimeUnit::Month)), &Every::All)
        .unwrap();
    assert_eq!(branch.len(), 6);
    assert!(branch[5].id.ends_with("@STABLE"));
    let error = open_with(room.path(), &source(Some("STABEL")))
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "app has no branch `STABEL`: did you mean `STABLE`?"
    );
}

#[test]
fn versions_are_named_by_dates_and_tags() {
    let room = room();
    let cvs = open_with(room.path(), &source(None)).unwrap();
    for (asked, title) in [
        ("REL_1", "change 10"),
        ("REL_2", "change 30"),
        ("2010-01-08", "change 14"),
        ("2010-01-08T00:00:07Z", "change 15"),
        ("2010-01-08 06:00", "change 16"),
        ("2010-01-08 11:59", "change 16"),
        ("2030-01-01", "change 40"),
    ] {
        assert_eq!(cvs.resolve(asked).unwrap().title, title, "{asked}");
    }
    for asked in ["REL_3", "2009-01-01", "STABLE", ""] {
        assert!(cvs.resolve(asked).is_err(), "{asked}");
    }
    for version in cvs.versions(&range("REL_1", "REL_2"), &Every::All).unwrap() {
        assert_eq!(cvs.resolve(&version.id).unwrap(), version);
        assert_eq!(cvs.resolve(&version.name).unwrap(), version);
    }
    let releases = cvs
        .versions(&range("2010-01-02", "2010-01-20"), &Every::Release)
        .unwrap();
    let titles: Vec<&str> = releases
        .iter()
        .map(|version| version.title.as_str())
        .collect();
    assert_eq!(titles, ["change 2", "change 10", "change 30", "change 38"]);
    let reversed = cvs
        .versions(&range("REL_2", "REL_1"), &Every::All)
        .unwrap_err();
    assert_eq!(
        reversed.to_string(),
        "the range is reversed: REL_1 comes before REL_2; exchange the two"
    );
    assert_eq!(
        cvs.reached("REL_2", &releases).unwrap(),
        [false, false, true, true]
    );
    assert_eq!(
        cvs.reached("2010-01-05", &releases).unwrap(),
        [false, true, true, true]
    );
}

#[test]
fn changes_and_differences_between_versions_are_those_of_the_log() {
    let room = room();
    let cvs = open_with(room.path(), &source(None)).unwrap();
    let (from, to) = (
        cvs.resolve("2010-01-07 00:00").unwrap(),
        cvs.resolve("2010-01-08 06:00").unwrap(),
    );
    let changes = cvs.between(&from, &to).unwrap();
    let seen: Vec<(&str, &str, usize)> = changes
        .iter()
        .map(|change| {
            (
                change.message.as_str(),
                change.author.as_str(),
                change.files.len(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("change 14", "anna", 1),
            ("change 15", "anna", 3),
            ("change 16", "bert", 1)
        ]
    );
    assert_eq!(changes[1].files[0].path, "build.sh");
    assert_eq!(
        (changes[1].files[0].added, changes[1].files[0].removed),
        (Some(1), Some(1))
    );
    let diff = cvs.diff(&from, &to, 100_000).unwrap().unwrap();
    assert!(diff.contains("-echo work 13\n+echo work 16\n"), "{diff}");
    let stable = open_with(room.path(), &source(Some("STABLE"))).unwrap();
    let all = stable
        .versions(&Range::Last(Lookback(1, TimeUnit::Month)), &Every::All)
        .unwrap();
    let diff = stable.diff(&all[0], &all[1], 100_000).unwrap().unwrap();
    assert!(diff.contains("-echo work 22\n+echo work 25\n"), "{diff}");
}

#[test]
fn versions_are_checked_out_and_unchanged_files_keep_their_times() {
    let room = room();
    let cvs = open_with(room.path(), &source(None)).unwrap();
    let stable = open_with(room.path(), &source(Some("STABLE"))).unwrap();
    let tree = room.path().join("tree");
    let check_out = |cvs: &Cvs, asked: &str| {
        cvs.check_out(&cvs.resolve(asked).unwrap(), &tree).unwrap();
        work_of(&tree)
    };
    assert_eq!(check_out(&cvs, "REL_1"), "10");
    assert!(!tree.join("CVS").exists());
    let kept = fs::metadata(tree.join("build.sh"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(check_out(&cvs, "2010-01-05 12:00"), "10");
    assert_eq!(check_out(&cvs, "2010-01-06 00:00"), "11");
    assert_eq!(
        fs::metadata(tree.join("build.sh"))
            .unwrap()
            .modified()
            .unwrap(),
        kept
    );
    assert_eq!(check_out(&cvs, "2010-01-08 00:00"), "15");
    assert!(
        fs::read_to_string(tree.join("build.sh"))
            .unwrap()
            .starts_with("test -f mended")
    );
    assert_eq!(check_out(&stable, "2010-01-14"), "25");
    assert_eq!(check_out(&cvs, "2010-01-01 00:00"), "1");
    assert!(!tree.join("notes").exists());
}

#[test]
fn a_copy_that_was_broken_is_made_anew() {
    let room = room();
    let cvs = open_with(room.path(), &source(None)).unwrap();
    let tree = room.path().join("tree");
    fs::create_dir_all(room.path().join("work/cvs-copy/CVS")).unwrap();
    fs::write(room.path().join("work/cvs-copy/CVS/Root"), "/nowhere\n").unwrap();
    cvs.check_out(&cvs.resolve("REL_1").unwrap(), &tree)
        .unwrap();
    assert_eq!(work_of(&tree), "10");
}

#[test]
fn the_repository_is_only_read() {
    let room = room();
    let listed = || {
        let mut find = Command::new("find");
        find.arg(room.path().join("cvsroot"))
            .args(["-printf", "%p %T@ %s\n"]);
        run(&mut find, "listing", FETCHING).unwrap()
    };
    let before = listed();
    let cvs = open_with(room.path(), &source(None)).unwrap();
    let (from, to) = (cvs.resolve("REL_1").unwrap(), cvs.resolve("REL_2").unwrap());
    cvs.check_out(&from, &room.path().join("tree")).unwrap();
    cvs.diff(&from, &to, 1000).unwrap();
    assert_eq!(listed(), before);
}

#[test]
fn what_is_no_module_is_refused() {
    let room = room();
    for module in ["nothing", "-r", ""] {
        let source = CvsSource {
            module: module.into(),
            ..source(None)
        };
        let cvs = open_with(room.path(), &source);
        let versions =
            cvs.and_then(|cvs| cvs.versions(&Range::Last(Lookback(1, TimeUnit::Day)), &Every::All));
        assert!(versions.is_err(), "{module}");
    }
    let missing = CvsSource {
        root: "/nowhere/at/all".into(),
        ..source(None)
    };
    let error = open_with(room.path(), &missing).err().unwrap().to_string();
    assert!(error.contains("the log of app in CVS"), "{error}");
}
