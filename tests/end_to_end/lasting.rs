//! Steps of root that change more than processes: mounts, files that can't be removed.

use crate::{
    place::{Place, VALUE},
    running::{Ended, Running},
};
use backsight_test_needs::Need;

/// Runs a plan of one trial of this shell command, where mounts are seen by nobody else.
fn ends_with_mounts_of_its_own(place: &Place, command: &str) -> Ended {
    place.script(
        "step-of-root",
        &format!("#!/bin/sh\nset -e\n{command}\necho 42\n"),
    );
    place.benchmark(
        "root",
        &format!("[tester]\nrun = \"@/step-of-root\"\n{VALUE}"),
    );
    place.plan("use = [\"root\"]\nrounds = 1\n");
    let unshare = std::process::Command::new("unshare");
    let run = place.put(
        unshare,
        &[
            "--mount",
            "--propagation",
            "private",
            env!("CARGO_BIN_EXE_backsight"),
            "run",
            "plan.toml",
            "--name",
            "s",
        ],
    );
    Running::start(run).ends()
}

#[test]
fn a_mount_in_a_trial_s_folder_is_undone_and_what_it_shows_is_kept() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    std::fs::create_dir(place.path("precious")).unwrap();
    place.write("precious/file", "kept");
    let command = format!(
        "mkdir bound over\nmount --bind {} bound\nmount -t tmpfs none over\nmkdir over/deep\nmount -t tmpfs none over/deep",
        place.at("precious")
    );
    ends_with_mounts_of_its_own(&place, &command).assert_code(0);
    assert_eq!(place.read("precious/file"), "kept");
    place.assert_complete("s", 1, 1);
    place.assert_nothing_left();
}

#[test]
fn a_mount_that_is_left_elsewhere_fails_its_trial() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    let command = format!("mount -t tmpfs none {}", place.at("elsewhere"));
    let ended = ends_with_mounts_of_its_own(&place, &command);
    ended.assert_code(1);
    let trials = place.trials("s");
    let elsewhere = place.at("elsewhere");
    let said = place.prints_of(&["show", "s", "--trial", "1"]);
    assert!(!trials[0].measured(), "{trials:#?}");
    assert!(
        said.contains(&format!("{elsewhere} (tmpfs)")) && said.contains("umount"),
        "{said}"
    );
    place.assert_nothing_left();
}

#[test]
fn a_mount_that_its_trial_undoes_is_no_failure() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    let elsewhere = place.at("elsewhere");
    let command = format!("mount -t tmpfs none {elsewhere}\numount {elsewhere}");
    ends_with_mounts_of_its_own(&place, &command).assert_code(0);
    place.assert_complete("s", 1, 1);
}

#[test]
fn files_that_cant_be_changed_are_removed_with_their_trial() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    let command = "mkdir -p deep/er\ntouch stuck deep/er/stuck deep/growing\n\
                   chmod 0 deep/er\nchattr +i stuck deep/er/stuck deep/er\nchattr +a deep/growing deep";
    ends_with_mounts_of_its_own(&place, command).assert_code(0);
    place.assert_complete("s", 1, 1);
    place.assert_nothing_left();
}
