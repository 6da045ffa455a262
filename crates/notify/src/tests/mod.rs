//! Telling, against servers on loopback: strict stubs made from the published descriptions of interfaces, and a real mail server.

mod forges;
mod hostile;
mod mails;
mod stub;
mod telling;

use backsight_model::TomlDocument;
use backsight_policy::AlertState;
use backsight_store::Store;
use jiff::Timestamp;
use std::path::Path;

use crate::{
    ChangeState, ChannelReport, NotifyConfig, NotifyOptions, SoftwareChange, notify_of,
    software_change::tests::{change, changes, id},
};

/// A store with channels.
struct ToldLab {
    folder: tempfile::TempDir,
    store: Store,
    config: NotifyConfig,
}

impl ToldLab {
    async fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "s3cret\n").unwrap();
        let config = read(config, folder.path());
        let store = Store::open(folder.path()).await.unwrap();
        Self {
            folder,
            store,
            config,
        }
    }

    /// Tells of these changes at this time of a day.
    async fn tell(&self, time: &str, all: &[SoftwareChange]) -> Vec<ChannelReport> {
        let options = NotifyOptions {
            channels: Vec::new(),
            targets: Vec::new(),
            now: at(time),
            dry_run: false,
            at_once: false,
            between: None,
        };
        let all = changes(all.to_vec());
        let told = notify_of(&self.store, &self.config, &options, &[all]).await;
        told.unwrap()
    }
}

fn read(config: &str, folder: &Path) -> NotifyConfig {
    NotifyConfig::read(&TomlDocument::new("notify.toml", config), folder).unwrap()
}

/// This time of a Friday.
fn at(time: &str) -> Timestamp {
    format!("2026-11-27T{time}:00Z").parse().unwrap()
}

/// The change in this state.
fn in_state(state: AlertState) -> SoftwareChange {
    SoftwareChange {
        state: ChangeState::Alert(state),
        ..change()
    }
}

/// A change at another version, from the second on.
fn change_at(place: usize) -> SoftwareChange {
    let name = format!("v{}", place + 1);
    let mut change = change();
    change.version = id(place);
    change.stretch.after = Some(place - 1);
    change.stretch.at = place;
    change.stretch.until = place;
    change.after = Some((id(place - 1), format!("v{place}")));
    change.until = (id(place), name.clone());
    change.sentence = format!("work time got worse at {name}: +12.0 %");
    change.name = name;
    change
}
