//! Builds on their way to another machine: what a cut connection, a killed controller or a full disk leaves of them.

use serde_json::Value;
use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::{
    far::{self, begins, ends},
    place::Place,
    processes,
    running::{Ended, Running},
    stepping::step,
};

const MIB: u64 = 1 << 20;
/// The size of the build's disk.
const DISK: u64 = 192 * MIB;

/// A machine on which builds are installed that have a large disk, whose first bytes differ from version to version.
fn place() -> Option<Place> {
    let place = far::place()?;
    let text = format!(
        "name = \"app\"\nsource = {{ git = {{ url = \"repo\" }} }}\n\
         build = {{ run = \"cp speed tool && echo {{stamp}} > stamp && sh make_disk\", keep = [\"tool\", \"stamp\", \"install\", \"disk\"] }}\n\
         activate = {{ boot = \"install\", run = \"sh {{build}}/install\", proof = \"cat {}\", timeout = \"60s\" }}\n",
        place.at("installed")
    );
    place.write("app.toml", text);
    // Bytes that can't be packed, and are always the same.
    place.write(
        "repo/make_disk",
        format!(
            "{{ printf %64s \"$(cat speed)\"; head -c {DISK} /dev/zero | openssl enc -aes-128-ctr -nosalt -K 00 -iv 00; }} 2> /dev/null | head -c {DISK} > disk\n"
        ),
    );
    for number in [1, 2] {
        far::version(&place, number, "cp stamp @installed", "");
    }
    Some(place)
}

/// The disks that the machine has from us, with those that aren't whole.
fn disks_there(place: &Place) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let builds = entries(&place.path("home/.cache/backsight/builds"));
    let disks = builds.iter().flat_map(|build| {
        let is_part = build.file_name().unwrap().as_encoded_bytes()[0] == b'.';
        let tree = if is_part {
            build.join("tree")
        } else {
            build.clone()
        };
        entries(&tree)
    });
    disks.filter(|file| file.ends_with("disk")).collect()
}

/// Bytes of them.
fn arrived(place: &Place) -> u64 {
    let disks = disks_there(place).into_iter();
    let sizes = disks.map(|disk| fs::metadata(disk).map_or(0, |meta| meta.blocks() * 512));
    sizes.sum()
}

fn uploads(ended: &Ended) -> Vec<Value> {
    let mut events = ended.events();
    events.retain(|event| event["event"] == "build-uploading");
    events
}

fn bytes(event: &Value, key: &str) -> u64 {
    event[key].as_u64().unwrap()
}

/// Begins a study, and waits until half of the disk is there.
fn begins_and_sends_half(place: &Place) -> Running {
    let running = begins(place, &step("v1", "v1", &["--name", "cut"]));
    processes::until("half of the disk is there", || arrived(place) > DISK / 2);
    running
}

/// Asserts that a study sends no more than an earlier one hasn't, and that what is there then is the build.
fn assert_goes_on(place: &Place, before: &[Value], arrived: u64, after: &Ended) {
    after.assert_code(0);
    let uploads = uploads(after);
    let last = uploads.last().unwrap();
    assert_eq!(last["sent"], last["of"]);
    let told = before
        .iter()
        .map(|event| bytes(event, "sent"))
        .max()
        .unwrap_or(0);
    let (rest, there) = (bytes(last, "sent"), bytes(last, "there"));
    assert!(
        told.max(arrived) + rest < DISK + DISK / 10,
        "{told} {arrived} {rest}"
    );
    assert!(there > DISK / 2, "{there} of what had arrived");
    let disks = disks_there(place);
    assert_eq!(disks.len(), 1, "{disks:?}");
    let made = std::process::Command::new("sh")
        .args([
            "-c",
            "cd repo && git checkout -q v1 && sh make_disk && cmp disk \"$0\" && rm disk",
        ])
        .arg(&disks[0])
        .current_dir(place.path(""))
        .status();
    assert!(made.unwrap().success(), "another disk");
    place.assert_nothing_left();
}

#[test]
fn a_build_whose_connection_is_cut_goes_on_where_it_was() {
    let Some(place) = place() else { return };
    let running = begins_and_sends_half(&place);
    for session in fs::read_dir(place.path("sessions")).unwrap() {
        let pid = session.unwrap().file_name().into_string().unwrap();
        let pid = nix::unistd::Pid::from_raw(pid.parse().unwrap());
        let _ended_before = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
    }
    let arrived = arrived(&place);
    let cut = running.ends();
    let after = begins(&place, &step("v1", "v1", &["--name", "after"])).ends();
    assert_goes_on(&place, &uploads(&cut), arrived, &after);
}

#[test]
fn a_build_whose_controller_is_killed_goes_on_where_it_was_and_the_next_one_sends_what_differs() {
    let Some(place) = place() else { return };
    let cut = begins_and_sends_half(&place).after_sigkill();
    processes::until_gone(&place.name);
    let arrived = arrived(&place);
    let after = begins(&place, &step("v1", "v1", &["--name", "after"])).ends();
    assert_goes_on(&place, &uploads(&cut), arrived, &after);
    let next = begins(&place, &step("v2", "v2", &["--name", "next"])).ends();
    next.assert_code(0);
    let uploads = uploads(&next);
    let last = uploads.last().unwrap();
    assert!(bytes(last, "of") < 2 * MIB, "{last}");
    assert!(bytes(last, "there") > DISK - MIB, "{last}");
}

#[test]
fn a_machine_without_room_for_a_build_says_how_much_is_missing() {
    let Some(place) = place() else { return };
    fs::create_dir_all(place.path("home/.cache/backsight/builds")).unwrap();
    place.write("small", "");
    let ended = ends(&place, &step("v1", "v1", &["--name", "s"]));
    assert!(!ended.status.success());
    ended.assert_says(&[
        &place.name,
        "backsight/builds has no room for these files: 192.0 MiB are still to be written, and 8.0 MiB are free",
    ]);
    fs::remove_file(place.path("small")).unwrap();
    ends(&place, &step("v1", "v1", &["--name", "after"])).assert_code(0);
    place.assert_nothing_left();
}
