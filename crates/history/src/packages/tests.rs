//! Packages made here, and put where fetched ones are kept: no registry is asked.

use super::*;
use crate::program::{UNPACKING, run};
use std::process::Command;

fn source(kind: PackageKind, versions: &[&str]) -> PackageSource {
    PackageSource {
        kind,
        name: "app".into(),
        versions: versions
            .iter()
            .map(|version| (*version).to_owned())
            .collect(),
        inside: None,
    }
}

fn open(room: &Path, source: &PackageSource) -> Result<Packages, HistoryError> {
    Packages::open("target", source, &room.join("work"), Timestamp::UNIX_EPOCH)
}

fn shell(folder: &Path, line: &str) {
    run(
        Command::new("sh").args(["-ec", line]).current_dir(folder),
        line,
        UNPACKING,
    )
    .unwrap();
}

/// A Debian package with an archive inside and a change log of every version up to it.
fn put_debian(room: &Path, version: &str, older: &[&str]) {
    put_debian_of(room, "app", version, older);
}

fn put_debian_of(room: &Path, name: &str, version: &str, older: &[&str]) {
    let kept = room
        .join("work/packages")
        .join(format!("{name}={}", encoded(version)));
    fs::create_dir_all(&kept).unwrap();
    let mut log = String::new();
    for (day, version) in [version].iter().chain(older).enumerate() {
        let day = 18 + older.len() - day;
        log.push_str(&format!(
            "app ({version}) stable; urgency=low\n\n  * Made {version}\n\n -- Anna <a@b>  Mon, {day} Jan 2020 10:00:00 +0000\n\n"
        ));
    }
    let build = room.join("build");
    let _ = fs::remove_dir_all(&build);
    fs::create_dir_all(build.join("p/DEBIAN")).unwrap();
    let documents = build.join("p/usr/share/doc").join(name);
    fs::create_dir_all(&documents).unwrap();
    fs::create_dir_all(build.join("p/usr/src")).unwrap();
    fs::create_dir_all(build.join("app-source/sub")).unwrap();
    fs::write(build.join("p/DEBIAN/control"), format!("Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: a <a@b>\nDescription: x\n")).unwrap();
    fs::write(documents.join("changelog.Debian"), log).unwrap();
    fs::write(build.join("app-source/version"), version).unwrap();
    fs::write(build.join("app-source/sub/same"), "same").unwrap();
    shell(
        &build,
        &format!(
            "gzip p/usr/share/doc/{name}/changelog.Debian; tar -cJf p/usr/src/{name}.tar.xz app-source"
        ),
    );
    shell(
        &build,
        &format!(
            "dpkg-deb --root-owner-group --build p '{}' > log",
            kept.join("app.deb").display()
        ),
    );
}

#[test]
fn a_history_goes_from_one_package_to_the_next() {
    let room = tempfile::tempdir().unwrap();
    put_debian(room.path(), "1.9-1", &[]);
    put_debian_of(room.path(), "app-2", "2.0-1", &["1.9-1"]);
    let source = PackageSource {
        inside: Some("usr/src/{package}.tar.xz".into()),
        ..source(PackageKind::Debian, &["1.9-1", "app-2=2.0-1"])
    };
    let tree = room.path().join("tree");
    for version in ["1.9-1", "2.0-1"] {
        let packages = open(room.path(), &source).unwrap();
        let found = packages.resolve(version).unwrap();
        packages.check_out(&found, &tree).unwrap();
        assert_eq!(fs::read_to_string(tree.join("version")).unwrap(), version);
    }
    // Dated, now that the change logs of both are known.
    let packages = open(room.path(), &source).unwrap();
    let versions = packages
        .versions(
            &Range::Between {
                from: "1.9-1".into(),
                to: "2.0-1".into(),
            },
            &Every::All,
        )
        .unwrap();
    let dated = |version: &Version| (version.id.clone(), version.at.is_some());
    let dated: Vec<(String, bool)> = versions.iter().map(dated).collect();
    assert_eq!(dated, [("1.9-1".into(), true), ("2.0-1".into(), true)]);
    let changes = packages.between(&versions[0], &versions[1]).unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].message, "* Made 2.0-1");
    // No package is called that.
    let bad = PackageSource {
        versions: vec!["-app=1.0".into()],
        ..source
    };
    let refused = open(room.path(), &bad).err().unwrap().to_string();
    assert!(refused.contains("\"-app\" is no name"), "{refused}");
}

#[test]
fn debian_packages_are_checked_out_one_in_place_of_the_other() {
    let room = tempfile::tempdir().unwrap();
    put_debian(room.path(), "1:1.0-1", &[]);
    put_debian(room.path(), "1:1.0-3", &["1:1.0-2", "1:1.0-1"]);
    let source = PackageSource {
        inside: Some("usr/src/app.tar.xz".into()),
        ..source(PackageKind::Debian, &["1:1.0-1", "1:1.0-3"])
    };
    let packages = open(room.path(), &source).unwrap();
    let (old, new) = (
        packages.resolve("1:1.0-1").unwrap(),
        packages.resolve("1:1.0-3").unwrap(),
    );
    assert_eq!((new.at, new.release), (None, true));
    let tree = room.path().join("tree");
    packages.check_out(&old, &tree).unwrap();
    let kept = fs::metadata(tree.join("sub/same"))
        .unwrap()
        .modified()
        .unwrap();
    fs::write(tree.join("built.o"), "o").unwrap();
    packages.check_out(&new, &tree).unwrap();
    assert_eq!(fs::read_to_string(tree.join("version")).unwrap(), "1:1.0-3");
    assert_eq!(
        fs::metadata(tree.join("sub/same"))
            .unwrap()
            .modified()
            .unwrap(),
        kept
    );
    assert!(tree.join("built.o").exists());
    let changes = packages.between(&old, &new).unwrap();
    let seen: Vec<(&str, &str)> = changes
        .iter()
        .map(|c| (c.id.as_str(), c.message.as_str()))
        .collect();
    assert_eq!(
        seen,
        [("1:1.0-2", "* Made 1:1.0-2"), ("1:1.0-3", "* Made 1:1.0-3")]
    );
    assert_eq!(changes[0].author, "Anna <a@b>");
    // Once change logs are known, versions have dates.
    let again = open(room.path(), &source).unwrap();
    assert_eq!(
        again.resolve("1:1.0-3").unwrap().at.unwrap().to_string(),
        "2020-01-20T10:00:00Z"
    );
    assert_eq!(again.resolve("2020-01-19T12:00").unwrap().id, "1:1.0-1");
    // Nothing is left but what was kept.
    assert_eq!(fs::read_dir(room.path().join("work")).unwrap().count(), 1);
}

#[test]
fn archives_of_other_registries_are_unpacked_by_their_kind() {
    let room = tempfile::tempdir().unwrap();
    let kept = room.path().join("work/packages");
    for version in ["1.0.0", "1.1.0"] {
        fs::create_dir_all(kept.join(format!("app={version}"))).unwrap();
        fs::create_dir_all(room.path().join("package")).unwrap();
        fs::write(room.path().join("package/version"), version).unwrap();
        let line = format!("tar -czf 'work/packages/app={version}/app-{version}.tgz' package");
        shell(room.path(), &line);
    }
    let packages = open(room.path(), &source(PackageKind::Npm, &["1.0.0", "1.1.0"])).unwrap();
    let tree = room.path().join("tree");
    for version in ["1.0.0", "1.1.0"] {
        packages
            .check_out(&packages.resolve(version).unwrap(), &tree)
            .unwrap();
        assert_eq!(fs::read_to_string(tree.join("version")).unwrap(), version);
    }
    let (from, to) = (
        packages.resolve("1.0.0").unwrap(),
        packages.resolve("1.1.0").unwrap(),
    );
    assert_eq!(packages.between(&from, &to).unwrap(), []);
    let unknown = packages.resolve("1.0.9").unwrap_err().to_string();
    assert!(unknown.contains("did you mean `1.0.0`?"), "{unknown}");
}

#[test]
fn what_is_no_package_is_refused() {
    let room = tempfile::tempdir().unwrap();
    for name in ["", "-o", "a b", "a\nb"] {
        let source = PackageSource {
            name: name.into(),
            ..source(PackageKind::Npm, &["1"])
        };
        assert!(open(room.path(), &source).is_err(), "{name}");
    }
    for versions in [&["1", "1"][..], &["-1"], &[""]] {
        assert!(
            open(room.path(), &source(PackageKind::Npm, versions)).is_err(),
            "{versions:?}"
        );
    }
    for inside in ["../x", "/etc/passwd", "a/../b", ""] {
        let source = PackageSource {
            inside: Some(inside.into()),
            ..source(PackageKind::Debian, &["1"])
        };
        assert!(open(room.path(), &source).is_err(), "{inside}");
    }
}

#[test]
fn a_folder_inside_a_debian_package_or_all_of_it_is_checked_out() {
    let room = tempfile::tempdir().unwrap();
    put_debian(room.path(), "1", &[]);
    let tree = room.path().join("tree");
    for (inside, expected) in [
        (Some("usr/share/"), vec!["doc/app/changelog.Debian.gz"]),
        (
            None,
            vec![
                "usr/share/doc/app/changelog.Debian.gz",
                "usr/src/app.tar.xz",
            ],
        ),
    ] {
        let source = PackageSource {
            inside: inside.map(str::to_owned),
            ..source(PackageKind::Debian, &["1"])
        };
        let packages = open(room.path(), &source).unwrap();
        let version = packages.resolve("1").unwrap();
        packages.check_out(&version, &tree).unwrap();
        let held = crate::tree::of_folder(&tree).unwrap();
        let held: Vec<_> = held
            .keys()
            .map(|path| String::from_utf8_lossy(path))
            .collect();
        assert_eq!(held, expected);
    }
}

#[test]
fn a_debian_source_is_unpacked_by_its_description() {
    let room = tempfile::tempdir().unwrap();
    let kept = room.path().join("work/packages/app=1.0");
    let build = room.path().join("app-1.0");
    fs::create_dir_all(&kept).unwrap();
    fs::create_dir_all(build.join("debian/source")).unwrap();
    fs::write(build.join("debian/source/format"), "3.0 (native)\n").unwrap();
    fs::write(
        build.join("debian/control"),
        "Source: app\nMaintainer: a <a@b>\n\nPackage: app\nArchitecture: all\nDescription: x\n",
    )
    .unwrap();
    fs::write(build.join("debian/changelog"), "app (1.0) stable; urgency=low\n\n  * Made\n\n -- Anna <a@b>  Mon, 20 Jan 2020 10:00:00 +0000\n").unwrap();
    fs::write(build.join("code"), "c").unwrap();
    shell(
        &kept,
        "dpkg-source --build ../../../app-1.0 > /dev/null 2>&1",
    );
    let packages = open(room.path(), &source(PackageKind::DebianSource, &["1.0"])).unwrap();
    let tree = room.path().join("tree");
    let version = packages.resolve("1.0").unwrap();
    packages.check_out(&version, &tree).unwrap();
    assert_eq!(fs::read_to_string(tree.join("code")).unwrap(), "c");
    assert_eq!(packages.log("1.0").unwrap().len(), 1);
}

#[test]
fn a_package_without_the_archive_that_was_named_is_an_error() {
    let room = tempfile::tempdir().unwrap();
    put_debian(room.path(), "1", &[]);
    let source = PackageSource {
        inside: Some("usr/src/other.tar.xz".into()),
        ..source(PackageKind::Debian, &["1"])
    };
    let packages = open(room.path(), &source).unwrap();
    let error = packages
        .check_out(&packages.resolve("1").unwrap(), &room.path().join("tree"))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no `usr/src/other.tar.xz` in the package"),
        "{error}"
    );
    assert!(!room.path().join("tree").exists());
}

#[test]
fn the_name_of_a_kept_package_stays_in_its_folder() {
    assert_eq!(encoded("@scope/x"), "%40scope%2fx");
    assert_eq!(encoded("../x"), "..%2fx");
    assert_eq!(encoded("1:2.0~rc1+b1-1"), "1%3a2.0~rc1+b1-1");
}
