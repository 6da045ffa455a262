//! Histories of repositories that the `git` program makes.

use super::*;
use backsight_model::{Lookback, TimeUnit};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

/// A repository in a folder of its own, with a clock: each commit comes an hour after the one before.
struct Room {
    folder: tempfile::TempDir,
    hour: i64,
}

impl Room {
    fn new() -> Self {
        let room = Self {
            folder: tempfile::tempdir().unwrap(),
            hour: 0,
        };
        fs::create_dir(room.repository()).unwrap();
        room.git(&["init", "--quiet", "--initial-branch=main", "."]);
        room
    }

    fn repository(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    fn git(&self, args: &[&str]) -> String {
        let date = format!("{} +0000", 1_700_000_000 + self.hour * 3600);
        let output = Command::new("git")
            .args(args)
            .current_dir(self.repository())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .envs([
                ("GIT_AUTHOR_NAME", "A U Thor"),
                ("GIT_AUTHOR_EMAIL", "author@example.org"),
            ])
            .envs([
                ("GIT_COMMITTER_NAME", "C O Mitter"),
                ("GIT_COMMITTER_EMAIL", "c@example.org"),
            ])
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {error}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn write(&self, path: &str, content: &str) {
        let place = self.repository().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, content).unwrap();
    }

    fn commit(&mut self, message: &str) -> String {
        self.hour += 1;
        self.git(&["add", "--all"]);
        self.git(&[
            "commit",
            "--quiet",
            "--allow-empty",
            "--cleanup=verbatim",
            "-m",
            message,
        ]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn commit_file(&mut self, path: &str, content: &str) -> String {
        self.write(path, content);
        self.commit(&format!("{path} is {content}"))
    }

    fn open_with(&self, source: &GitSource) -> Result<Git, HistoryError> {
        let now = clamped(1_700_000_000 + self.hour * 3600);
        Git::open(
            "app",
            source,
            self.folder.path(),
            &self.folder.path().join("work"),
            now,
        )
    }

    fn open(&self) -> Git {
        self.open_with(&source("repository")).unwrap()
    }
}

fn source(url: &str) -> GitSource {
    GitSource {
        url: url.to_owned(),
        branch: None,
        full: false,
    }
}

fn range(from: &str, to: &str) -> Range {
    Range::Between {
        from: from.to_owned(),
        to: to.to_owned(),
    }
}

fn titles(git: &Git, range: &Range, every: &Every) -> Vec<String> {
    let versions = git.versions(range, every).unwrap();
    versions.into_iter().map(|version| version.title).collect()
}

/// main: 1 - 2 - 4 - merge - 6, with side: 2 - 3 - 5 - merge; v1 at 1, v2 (annotated) at merge.
fn branched() -> (Room, Vec<String>) {
    let mut room = Room::new();
    let mut ids = vec![String::new()];
    ids.push(room.commit_file("a", "1"));
    room.git(&["tag", "v1"]);
    ids.push(room.commit_file("a", "2"));
    room.git(&["checkout", "--quiet", "-b", "side"]);
    ids.push(room.commit_file("s", "3"));
    room.git(&["checkout", "--quiet", "main"]);
    ids.push(room.commit_file("a", "4"));
    room.git(&["checkout", "--quiet", "side"]);
    ids.push(room.commit_file("s", "5"));
    room.git(&["checkout", "--quiet", "main"]);
    room.hour += 1;
    room.git(&["merge", "--quiet", "--no-ff", "-m", "merge", "side"]);
    ids.push(room.git(&["rev-parse", "HEAD"]));
    room.git(&["tag", "-a", "-m", "two", "v2"]);
    ids.push(room.commit_file("a", "6"));
    (room, ids)
}

#[test]
fn versions_are_named_in_many_ways() {
    let (room, ids) = branched();
    let git = room.open();
    for (asked, commit) in [
        (ids[2].as_str(), 2),
        (&ids[3][..9], 3),
        (&ids[3].to_uppercase()[..9], 3),
        ("v1", 1),
        ("v2", 6),
        ("refs/tags/v2", 6),
        ("main", 7),
        ("side", 5),
        ("HEAD", 7),
        ("HEAD~1", 6),
        ("v2^2", 5),
        ("main~2^", 2),
        // The fourth commit was made four hours after the start, on main.
        ("2023-11-15T02:13:20Z", 4),
        ("2023-11-15 03:00", 4),
        ("2099-01-01", 7),
    ] {
        assert_eq!(git.resolve(asked).unwrap().id, ids[commit], "{asked}");
    }
    let two = git.resolve("v2").unwrap();
    assert_eq!(
        (two.name.as_str(), two.title.as_str(), two.release),
        ("v2", "merge", true)
    );
    let six = git.resolve("main").unwrap();
    assert_eq!((six.name.as_str(), six.release), (&ids[7][..7], false));
    assert_eq!(git.resolve(&six.name).unwrap(), six);
}

#[test]
fn what_git_noted_of_its_commits_is_what_they_say_and_damage_to_it_is_no_matter() {
    let (room, _) = branched();
    // The second is later than what 34 bits hold.
    for seconds in [10_000_000_000_i64, 30_000_000_000] {
        let (tree, parent) = (
            room.git(&["rev-parse", "HEAD^{tree}"]),
            room.git(&["rev-parse", "HEAD"]),
        );
        let who = format!("A <a@example.org> {seconds} +0000");
        room.write(
            ".git/late",
            &format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\nlate\n"),
        );
        let late = room.git(&["hash-object", "-t", "commit", "-w", ".git/late"]);
        room.git(&["update-ref", "refs/heads/main", &late]);
    }
    let full = GitSource {
        full: true,
        ..source("repository")
    };
    let all = || {
        let git = room.open_with(&full).unwrap();
        git.versions(&range("v1", "main"), &Every::All).unwrap()
    };
    let read = all();
    assert_eq!(read.len(), 9);
    room.git(&["commit-graph", "write", "--reachable"]);
    let file = room.repository().join(".git/objects/info/commit-graph");
    let noted = room.open().repository.to_thread_local();
    assert!(noted.commit_graph_if_enabled().unwrap().is_some());
    assert_eq!(all(), read);

    let bytes = fs::read(&file).unwrap();
    let permitted = fs::Permissions::from_mode(0o644);
    fs::set_permissions(&file, permitted).unwrap();
    for cut in (0..bytes.len()).step_by(17) {
        fs::write(&file, &bytes[..cut]).unwrap();
        assert_eq!(all(), read, "cut at {cut}");
    }
    // Parents that aren't there, of every commit.
    let data = bytes.windows(4).position(|at| at == b"CDAT").unwrap();
    let offset = u64::from_be_bytes(bytes[data + 4..data + 12].try_into().unwrap());
    let mut wrong = bytes;
    for commit in wrong[usize::try_from(offset).unwrap()..]
        .chunks_exact_mut(36)
        .take(read.len())
    {
        commit[20..24].copy_from_slice(&0x6fff_ffff_u32.to_be_bytes());
    }
    fs::write(&file, &wrong).unwrap();
    assert_eq!(all(), read);
}

#[test]
fn what_names_no_version_is_an_error_with_a_way_out() {
    let (room, ids) = branched();
    let git = room.open();
    for (asked, message) in [
        ("mian", "`mian` is no version of app: did you mean `main`?"),
        ("v3", "did you mean `v1`?"),
        ("0000000", "`0000000` is no version of app"),
        ("HEAD~50", "`HEAD~50` is no version"),
        ("HEAD~99999999999", "`HEAD~99999999999` is no version"),
        ("HEAD^x", "`HEAD^x` is no version"),
        ("", "`` is no version"),
        (
            "2001-01-01",
            "no version as old as 2001-01-01: its first is of 2023-11-14T23:13:20Z",
        ),
        ("HEAD:a", "is no version"),
        ("../../etc", "is no version"),
    ] {
        let error = git.resolve(asked).unwrap_err().to_string();
        assert!(error.contains(message), "{asked}: {error}");
    }
    assert!(git.resolve(&ids[1].replace(&ids[1][..4], "beef")).is_err());
    let tree = room.git(&["rev-parse", "HEAD^{tree}"]);
    assert!(matches!(
        git.resolve(&tree).unwrap_err(),
        HistoryError::Unknown { .. }
    ));
}

#[test]
fn an_ambiguous_abbreviation_names_its_candidates() {
    let mut room = Room::new();
    let mut seen: HashMap<String, String> = HashMap::new();
    let ids = loop {
        let id = room.commit(&format!("empty {}", room.hour));
        // Four digits are alike after some three hundred commits.
        if let Some(other) = seen.insert(id[..4].to_owned(), id.clone()) {
            break [other, id];
        }
    };
    let error = room.open().resolve(&ids[0][..4]).unwrap_err().to_string();
    assert!(error.contains("could be 2 commits"), "{error}");
    assert!(ids.iter().all(|id| error.contains(id)), "{error}");
}

#[test]
fn the_line_is_of_first_parents_unless_it_is_full() {
    let (room, ids) = branched();
    let git = room.open();
    assert_eq!(
        titles(&git, &range("v1", "main"), &Every::All),
        ["a is 1", "a is 2", "a is 4", "merge", "a is 6"]
    );
    // A commit of the side branch came into the line with the merge.
    assert_eq!(
        titles(&git, &range(&ids[3], "main"), &Every::All),
        ["s is 3", "merge", "a is 6"]
    );
    let full = room
        .open_with(&GitSource {
            full: true,
            ..source("repository")
        })
        .unwrap();
    assert_eq!(
        titles(&full, &range("v1", "main"), &Every::All),
        [
            "a is 1", "a is 2", "s is 3", "a is 4", "s is 5", "merge", "a is 6"
        ]
    );
    let side = room
        .open_with(&GitSource {
            branch: Some("side".into()),
            ..source("repository")
        })
        .unwrap();
    assert_eq!(
        titles(&side, &Range::Last(Lookback(1, TimeUnit::Day)), &Every::All),
        ["a is 1", "a is 2", "s is 3", "s is 5"]
    );
    let missing = room
        .open_with(&GitSource {
            branch: Some("sied".into()),
            ..source("repository")
        })
        .unwrap();
    let error = missing
        .versions(&Range::Last(Lookback(1, TimeUnit::Day)), &Every::All)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "app has no branch `sied`: did you mean `side`?"
    );
}

#[test]
fn steps_keep_both_ends() {
    let (room, _) = branched();
    let git = room.open();
    let all = range("v1", "main");
    assert_eq!(
        titles(&git, &all, &Every::Release),
        ["a is 1", "merge", "a is 6"]
    );
    assert_eq!(
        titles(&git, &all, &Every::Commits(3)),
        ["a is 1", "merge", "a is 6"]
    );
    assert_eq!(
        titles(&git, &all, &Every::Time(2, TimeUnit::Hour)),
        ["a is 1", "a is 2", "a is 4", "a is 6"]
    );
    assert_eq!(titles(&git, &range("v1", "v1"), &Every::All), ["a is 1"]);
    assert_eq!(
        titles(&git, &Range::Last(Lookback(1, TimeUnit::Hour)), &Every::All),
        ["a is 4", "merge", "a is 6"]
    );
    let mut later = room.open();
    later.now = Timestamp::MAX;
    assert_eq!(
        titles(
            &later,
            &Range::Last(Lookback(1, TimeUnit::Hour)),
            &Every::All
        ),
        ["a is 6"]
    );
}

#[test]
fn reversed_unrelated_and_empty_ranges_are_told_apart() {
    let (room, ids) = branched();
    let git = room.open();
    let fault = |from: &str, to: &str| git.versions(&range(from, to), &Every::All).unwrap_err();
    assert!(matches!(fault("main", "v1"), HistoryError::Reversed { .. }));
    assert!(matches!(
        fault("main", &ids[3]),
        HistoryError::Reversed { .. }
    ));
    assert!(matches!(
        fault(&ids[4], &ids[5]),
        HistoryError::Unrelated { .. }
    ));
    let empty = Room::new();
    let error = empty
        .open()
        .versions(&Range::Last(Lookback(1, TimeUnit::Day)), &Every::All)
        .unwrap_err();
    assert!(matches!(error, HistoryError::Empty { .. }), "{error}");
    assert!(empty.open().resolve("HEAD").is_err());
}

#[test]
fn a_point_is_reached_by_ancestry_or_by_date() {
    let (room, ids) = branched();
    let git = room
        .open_with(&GitSource {
            full: true,
            ..source("repository")
        })
        .unwrap();
    let all = git.versions(&range("v1", "main"), &Every::All).unwrap();
    assert_eq!(
        git.reached(&ids[3], &all).unwrap(),
        [false, false, true, false, true, true, true]
    );
    assert_eq!(
        git.reached("2023-11-15T02:13:20Z", &all).unwrap(),
        [false, false, false, true, true, true, true]
    );
    assert!(matches!(
        git.reached("nowhere", &all).unwrap_err(),
        HistoryError::Unknown { .. }
    ));
}

#[test]
fn changes_between_versions_say_who_and_what() {
    let (mut room, ids) = branched();
    room.write("a", "6\nseven\n");
    room.write("binary", "\0\0");
    fs::rename(room.repository().join("s"), room.repository().join("t")).unwrap();
    room.commit("subject\n\nbody\x1b[2J line\n");
    let git = room.open();
    let changes = git
        .between(&git.resolve("v1").unwrap(), &git.resolve("main").unwrap())
        .unwrap();
    let names: Vec<&str> = changes.iter().map(Change::title).collect();
    assert_eq!(
        names,
        [
            "a is 2", "s is 3", "a is 4", "s is 5", "merge", "a is 6", "subject"
        ]
    );
    let merge = &changes[4];
    assert_eq!(merge.parents, [ids[4].clone(), ids[5].clone()]);
    assert_eq!(merge.files.len(), 1);
    let last = &changes[6];
    assert_eq!(last.author, "A U Thor <author@example.org>");
    assert_eq!(last.message, "subject\n\nbody\u{fffd}[2J line");
    let files: Vec<(&str, Option<u64>, Option<u64>)> = last
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.added, file.removed))
        .collect();
    assert_eq!(
        files,
        [
            ("a", Some(2), Some(1)),
            ("binary", None, None),
            ("s", Some(0), Some(1)),
            ("t", Some(1), Some(0)),
        ]
    );
}

#[test]
fn files_that_differ_are_counted_once_however_many_commits_touch_them() {
    let mut room = Room::new();
    room.write("same", "x\n");
    room.write("gone", "1\n2\n");
    room.commit_file("a", "1\n2\n");
    room.git(&["tag", "v1"]);
    room.commit_file("a", "1\n3\n");
    room.write("binary", "\0\0");
    fs::remove_file(room.repository().join("gone")).unwrap();
    room.commit_file("a", "1\n4\n5\n");
    let git = room.open();
    let (from, to) = (git.resolve("v1").unwrap(), git.resolve("main").unwrap());
    let files = git.changed_files(&from, &to).unwrap().unwrap();
    let files: Vec<_> = files
        .iter()
        .map(|file| (file.path.as_str(), file.added, file.removed))
        .collect();
    let expected = [
        ("a", Some(2), Some(1)),
        ("binary", None, None),
        ("gone", Some(0), Some(2)),
    ];
    assert_eq!(files, expected);
    assert_eq!(git.changed_files(&to, &to).unwrap(), Some(Vec::new()));
}

#[test]
fn what_lies_between_known_versions_is_said_without_reading_the_references() {
    let mut room = Room::new();
    room.commit_file("a", "1\n");
    room.git(&["tag", "v1"]);
    room.commit_file("a", "2\n");
    let git = room.open();
    let (from, to) = (git.resolve("v1").unwrap(), git.resolve("main").unwrap());
    // Nobody can read these any more.
    room.write(
        ".git/packed-refs",
        "# pack-refs with: peeled\nno reference\n",
    );
    let unread = git.resolve("v1").unwrap_err().to_string();
    assert!(unread.contains("can't be read"), "{unread}");
    assert_eq!(git.between(&from, &to).unwrap().len(), 1);
    let diff = git.diff(&from, &to, usize::MAX).unwrap().unwrap();
    assert!(diff.contains("-1\n+2\n"), "{diff}");
    git.check_out(&to, &room.tree()).unwrap();
}

#[test]
fn a_diff_applies_and_is_cut_on_a_line() {
    let mut room = Room::new();
    let lines = |changed: &[usize]| -> String {
        (0..60)
            .map(|n| {
                if changed.contains(&n) {
                    format!("new {n}\n")
                } else {
                    format!("line {n}\n")
                }
            })
            .collect()
    };
    room.write("a", &lines(&[]));
    room.write("gone", "x\n");
    room.write("ends", "no newline");
    room.commit("one");
    room.write("a", &lines(&[0, 5, 30, 59]));
    room.write("new/b", "1\n2\n");
    room.write("ends", "still none");
    fs::remove_file(room.repository().join("gone")).unwrap();
    room.commit("two");
    let git = room.open();
    let (one, two) = (git.resolve("HEAD~1").unwrap(), git.resolve("HEAD").unwrap());
    let diff = git.diff(&one, &two, 100_000).unwrap().unwrap();
    assert_eq!(diff.matches("@@ -").count(), 3 + 3, "{diff}");
    let tree = room.tree();
    git.check_out(&one, &tree).unwrap();
    let patch = room.folder.path().join("patch");
    fs::write(&patch, &diff).unwrap();
    room.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    room.git(&["apply", patch.to_str().unwrap()]);
    room.git(&["add", "--all"]);
    assert_eq!(
        room.git(&["write-tree"]),
        room.git(&["rev-parse", &format!("{}^{{tree}}", two.id)])
    );
    let cut = git.diff(&one, &two, 200).unwrap().unwrap();
    assert!(
        cut.len() < 300 && cut.contains("[cut here after 200 bytes]"),
        "{cut}"
    );
    assert!(diff.starts_with(cut.split("[cut").next().unwrap()));
    assert_eq!(git.diff(&two, &two, 100).unwrap().unwrap(), "");
}

#[test]
fn versions_are_checked_out_one_after_the_other() {
    let mut room = Room::new();
    room.write("same", "same");
    room.write("run", "#!/bin/sh\n");
    room.write("folder/file", "1");
    room.git(&["add", "--all"]);
    room.git(&["update-index", "--chmod=+x", "run"]);
    symlink("folder/file", room.repository().join("link")).unwrap();
    fs::set_permissions(
        room.repository().join("run"),
        PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    room.commit("one");
    fs::remove_file(room.repository().join("link")).unwrap();
    fs::remove_dir_all(room.repository().join("folder")).unwrap();
    room.write("folder", "a file now");
    room.write("link/deep", "a folder now");
    room.git(&["add", "--all"]);
    room.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{},sub", "1".repeat(40)),
    ]);
    room.hour += 1;
    room.git(&["commit", "--quiet", "-m", "two"]);
    // What lies changed in the work tree doesn't matter.
    room.write("same", "dirty");
    let git = room.open();
    let tree = room.tree();
    let (one, two) = (git.resolve("HEAD~1").unwrap(), git.resolve("HEAD").unwrap());
    git.check_out(&one, &tree).unwrap();
    let kept = fs::metadata(tree.join("same")).unwrap();
    assert_ne!(fs::metadata(tree.join("run")).unwrap().mode() & 0o100, 0);
    assert_eq!(
        fs::read_link(tree.join("link")).unwrap(),
        Path::new("folder/file")
    );
    fs::write(tree.join("built.o"), "o").unwrap();
    fs::write(tree.join("run"), "patched").unwrap();
    git.check_out(&two, &tree).unwrap();
    assert_eq!(fs::read_to_string(tree.join("run")).unwrap(), "#!/bin/sh\n");
    assert_eq!(
        fs::read_to_string(tree.join("folder")).unwrap(),
        "a file now"
    );
    assert_eq!(
        fs::read_to_string(tree.join("link/deep")).unwrap(),
        "a folder now"
    );
    assert_eq!(fs::read_dir(tree.join("sub")).unwrap().count(), 0);
    git.check_out(&one, &tree).unwrap();
    let after = fs::metadata(tree.join("same")).unwrap();
    assert_eq!(
        (after.ino(), after.mtime_nsec()),
        (kept.ino(), kept.mtime_nsec())
    );
    assert!(tree.join("built.o").exists() && !tree.join("sub").exists());
}

#[test]
fn the_users_repository_is_only_read() {
    let (room, _) = branched();
    let listed = || {
        let output = Command::new("find")
            .arg(room.repository())
            .args(["-printf", "%p %T@ %s\n"])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let before = listed();
    let git = room.open();
    let all = git.versions(&range("v1", "main"), &Every::All).unwrap();
    for version in &all {
        git.check_out(version, &room.tree()).unwrap();
    }
    git.between(&all[0], &all[4]).unwrap();
    assert_eq!(listed(), before);
}

#[test]
fn a_bare_repository_and_a_packed_one_are_read_alike() {
    let (room, ids) = branched();
    let bare = room.folder.path().join("bare.git");
    room.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    room.git(&["gc", "--quiet"]);
    for url in ["bare.git", bare.to_str().unwrap(), "repository"] {
        let git = room.open_with(&source(url)).unwrap();
        assert_eq!(git.resolve("v2").unwrap().id, ids[6], "{url}");
        assert_eq!(titles(&git, &range("v1", "main"), &Every::All).len(), 5);
    }
}

#[test]
fn a_repository_elsewhere_is_mirrored_and_followed() {
    let (mut room, _) = branched();
    let url = format!("file://{}", room.repository().display());
    let first = room.open_with(&source(&url)).unwrap();
    let old = first.resolve("v2").unwrap();
    let has_noted = |git: &Git, commits: u32| {
        let noted = git.repository.to_thread_local().commit_graph().unwrap();
        assert_eq!(noted.num_commits(), commits);
    };
    has_noted(&first, 7);
    // A tag that moves and a branch that goes on.
    let new = room.commit_file("a", "8");
    room.git(&["tag", "--force", "-a", "-m", "moved", "v2"]);
    room.git(&["branch", "-D", "side"]);
    let git = room.open_with(&source(&url)).unwrap();
    has_noted(&git, 8);
    assert_eq!(git.resolve("v2").unwrap().id, new);
    assert_eq!(git.resolve("main").unwrap().id, new);
    assert!(git.resolve("side").is_err());
    git.check_out(&old, &room.tree()).unwrap();
    assert_eq!(fs::read_to_string(room.tree().join("a")).unwrap(), "4");
    fs::remove_dir_all(room.repository()).unwrap();
    let error = room.open_with(&source(&url)).err().unwrap().to_string();
    assert!(error.starts_with("fetching file://"), "{error}");
}

#[test]
fn many_follow_a_repository_elsewhere_at_once() {
    let (mut room, _) = branched();
    let url = format!("file://{}", room.repository().display());
    // The first round makes the mirror.
    for round in 0..5 {
        let new = room.commit_file("a", &format!("round {round}"));
        room.git(&["tag", &format!("round{round}")]);
        let room = &room;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let git = room.open_with(&source(&url)).unwrap();
                    assert_eq!(git.resolve("main").unwrap().id, new);
                });
            }
        });
    }
}

#[test]
fn a_shallow_clone_is_refused() {
    let (room, _) = branched();
    let url = format!("file://{}", room.repository().display());
    room.git(&["clone", "--quiet", "--depth=1", &url, "../shallow"]);
    let error = room.open_with(&source("shallow")).err().unwrap();
    assert!(matches!(error, HistoryError::Shallow { .. }), "{error}");
}

#[test]
fn what_is_no_repository_is_refused() {
    let room = Room::new();
    fs::create_dir(room.folder.path().join("plain")).unwrap();
    for url in ["plain", "nowhere", "/nowhere/at/all"] {
        let error = room.open_with(&source(url)).err().unwrap().to_string();
        assert!(error.contains("no git repository"), "{url}: {error}");
    }
    fs::write(room.repository().join(".git/config"), "[core\nbroken").unwrap();
    assert!(room.open_with(&source("repository")).is_err());
}

#[test]
fn a_damaged_repository_is_an_error() {
    let (room, ids) = branched();
    let object = room
        .repository()
        .join(".git/objects")
        .join(&ids[2][..2])
        .join(&ids[2][2..]);
    fs::remove_file(object).unwrap();
    let error = room
        .open()
        .versions(&range("v1", "main"), &Every::All)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("can't be read") && error.contains("git fsck"),
        "{error}"
    );
}

impl Room {
    /// Stores an object of any content whatsoever.
    fn object(&self, kind: &str, content: &[u8]) -> String {
        let place = self.folder.path().join("object");
        fs::write(&place, content).unwrap();
        self.git(&[
            "hash-object",
            "-t",
            kind,
            "-w",
            "--literally",
            place.to_str().unwrap(),
        ])
    }

    fn hostile(&self, tree: &[u8], rest: &[u8]) -> String {
        let tree = self.object("tree", tree);
        let mut commit = format!("tree {tree}\n").into_bytes();
        commit.extend_from_slice(rest);
        self.object("commit", &commit)
    }
}

const ORDINARY: &[u8] =
    b"author A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\nx\n";

#[test]
fn hostile_paths_are_refused_whole() {
    let room = Room::new();
    let blob = room.object("blob", b"evil");
    let raw = ObjectId::from_hex(blob.as_bytes()).unwrap();
    for name in [
        "..",
        ".",
        ".git",
        ".GiT",
        "../evil",
        "/evil",
        "a/../../evil",
    ] {
        let mut tree = b"100644 ".to_vec();
        tree.extend_from_slice(name.as_bytes());
        tree.push(0);
        tree.extend_from_slice(raw.as_slice());
        let commit = room.hostile(&tree, ORDINARY);
        room.git(&["update-ref", "--no-deref", "HEAD", &commit]);
        let git = room.open();
        let version = git.resolve(&commit).unwrap();
        let error = git
            .check_out(&version, &room.tree())
            .unwrap_err()
            .to_string();
        assert!(error.contains("nothing was checked out"), "{name}: {error}");
        assert!(!room.folder.path().join("evil").exists() && !room.tree().exists());
    }
}

#[test]
fn a_commit_replaced_by_its_own_child_is_read_as_it_was() {
    let (room, ids) = branched();
    room.git(&["update-ref", &format!("refs/replace/{}", ids[1]), &ids[7]]);
    let git = room.open();
    assert_eq!(titles(&git, &range("v1", "main"), &Every::All).len(), 5);
    assert_eq!(git.resolve("v1").unwrap().title, "a is 1");
}

#[test]
fn hostile_commits_are_just_text() {
    let room = Room::new();
    let long = "long ".repeat(200_000);
    for message in [
        b"\x1b]0;evil\x07 \xff\xfe\n\nbody".as_slice(),
        long.as_bytes(),
        b"",
        b"\n\n\n",
    ] {
        let mut rest = b"author \xff\x1b <\x07> 99999999999999 +0000\ncommitter A <a> 99999999999999 +0000\n\n".to_vec();
        rest.extend_from_slice(message);
        let commit = room.hostile(b"", &rest);
        let git = room.open();
        let version = git.resolve(&commit).unwrap();
        assert!(!version.title.chars().any(char::is_control));
        let change = {
            let mut view = git.view().unwrap();
            let place = view.place_of(&version).unwrap();
            view.change(place).unwrap()
        };
        assert!(
            !change.author.chars().any(char::is_control),
            "{}",
            change.author
        );
        assert!(!change.message.chars().any(|c| c.is_control() && c != '\n'));
        git.check_out(&version, &room.tree()).unwrap();
    }
}

#[test]
fn a_change_is_taken_back_by_a_diff_that_patch_understands() {
    let mut room = Room::new();
    room.write("src/a.c", "one\ntwo\nthree\n");
    room.write("gone.c", "was here\n");
    room.write("empty", "");
    room.commit("begin");
    fs::remove_file(room.repository().join("gone.c")).unwrap();
    fs::remove_file(room.repository().join("empty")).unwrap();
    room.write("empty-too", "");
    room.write("src/a.c", "one\n2\nthree\n");
    room.write("come.c", "new\n");
    let change = room.commit("change");
    room.write("src/other.c", "beside\n");
    room.commit("later");
    let (name, diff) = room.open().undo("HEAD~1").unwrap().unwrap();
    assert!(change.starts_with(&name), "{name} {change}");
    fs::write(room.folder.path().join("undo.diff"), diff).unwrap();
    let done = Command::new("patch")
        .args([
            "-p1",
            "--forward",
            "--batch",
            "--fuzz=0",
            "--input=../undo.diff",
        ])
        .current_dir(room.repository())
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let read = |path: &str| fs::read_to_string(room.repository().join(path));
    assert_eq!(read("src/a.c").unwrap(), "one\ntwo\nthree\n");
    assert_eq!(read("gone.c").unwrap(), "was here\n");
    assert!(read("come.c").is_err() && read("src/other.c").is_ok());
    assert!(read("empty").is_ok() && read("empty-too").is_err());
}

#[test]
fn a_change_that_no_diff_can_say_is_not_taken_back() {
    let mut room = Room::new();
    room.commit_file("a.c", "one\n");
    room.write("picture.png", "\0\u{1}");
    room.commit("a picture");
    let git = room.open();
    let fault = git.undo("HEAD").unwrap_err().to_string();
    assert!(
        fault.contains("picture.png") && fault.contains("isn't text"),
        "{fault}"
    );
    let fault = git.undo("nothing").unwrap_err().to_string();
    assert!(fault.contains("`nothing` is no version"), "{fault}");
}

#[test]
fn a_branch_is_compared_with_where_it_left_the_other() {
    let mut room = Room::new();
    let root = room.commit_file("a.c", "one\n");
    room.git(&["checkout", "--quiet", "-b", "feature"]);
    let feature = room.commit_file("b.c", "new\n");
    room.git(&["checkout", "--quiet", "main"]);
    let main = room.commit_file("a.c", "two\n");
    room.git(&["checkout", "--quiet", "--orphan", "other"]);
    room.commit("apart");
    let git = room.open();
    let version = |name: &str| git.resolve(name).unwrap();
    let common = |one: &str, other: &str| {
        let found = git.common_ancestor(&version(one), &version(other));
        found.unwrap().map(|version| version.id)
    };
    assert_eq!(common("feature", "main"), Some(root));
    assert_eq!(common("main", "main"), Some(main));
    assert_eq!(common("feature", "feature~1"), common("main", "main~1"));
    assert_eq!(common("feature", "other"), None);
    assert_eq!(version("feature").id, feature);
}

#[test]
fn a_working_copy_says_where_it_is_and_what_is_not_committed() {
    let mut room = Room::new();
    assert_eq!(WorkingCopy::containing(room.folder.path()), Ok(None));
    let empty = WorkingCopy::containing(&room.repository()).unwrap_err();
    assert!(empty.to_string().contains("no commit yet"), "{empty}");
    let head = room.commit_file("src/a.c", "one\n");
    let copy = || {
        let found = WorkingCopy::containing(&room.repository().join("src"));
        found.unwrap().unwrap()
    };
    let clean = copy();
    assert_eq!(
        (&clean.head, clean.branch.as_deref(), clean.is_shallow),
        (&head, Some("main"), false)
    );
    assert_eq!(
        clean.uncommitted_changes(),
        Ok(UncommittedChanges::default())
    );

    room.write("src/a.c", "two\n");
    room.write("new.c", "new\n");
    room.write(".backsight/store.db", "ours");
    let index = fs::metadata(room.repository().join(".git/index")).unwrap();
    let changes = copy().uncommitted_changes().unwrap();
    assert_eq!(changes.untracked, 1);
    let patch = crate::Diff::patch("uncommitted", changes.diff).unwrap();
    assert!(patch.text.contains("-one\n+two\n"), "{}", patch.text);
    let again = fs::metadata(room.repository().join(".git/index")).unwrap();
    assert_eq!(index.mtime_nsec(), again.mtime_nsec());

    room.write("src/a.c", "\0");
    let fault = copy().uncommitted_changes().unwrap_err().to_string();
    assert!(fault.contains("Binary files a/src/a.c"), "{fault}");
    room.git(&["checkout", "--quiet", "--detach", "--force"]);
    assert_eq!(copy().branch, None);
    let url = format!("file://{}", room.repository().display());
    room.git(&["clone", "--quiet", "--depth=1", &url, "../shallow"]);
    let shallow = WorkingCopy::containing(&room.folder.path().join("shallow"));
    assert!(shallow.unwrap().unwrap().is_shallow);
}
