//! Testbeds, phases, barriers, faults; hosts and how to reach them.
//!
//! A [`Conductor`] holds one agent a host and executes one trial at a time: six phases on all roles, the
//! steps of one role in order, those of different roles side by side, started together where it matters,
//! put back whatever happened. A [`Lease`] keeps two studies off the same hosts. [`netns`] makes the
//! namespaces of a lab and removes them. Hosts that are guests are there from one
//! [boot](Conductor::boot) to the next; other machines, which `ssh` reaches, are [restarted](Conductor::restart),
//! [switched on and off](switch_hosts), and heard at their [consoles](attach_console). A [`Workbench`] runs what is done to a version before.
//!
//! What is measured is chosen above; results are kept by listeners.
//!
//! ```
//! use backsight_conductor::{Events, Listener};
//! use backsight_model::{Event, TestbedName};
//! use std::sync::mpsc;
//!
//! struct Sender(mpsc::Sender<Event>);
//!
//! impl Listener for Sender {
//!     fn on_event(&mut self, event: &Event, _: Option<&TestbedName>) {
//!         self.0.send(event.clone()).unwrap();
//!     }
//! }
//!
//! let (sender, received) = mpsc::channel();
//! let events = Events::default();
//! events.listen(Sender(sender));
//! let event = Event::RoundStarted { round: 1, of: 3 };
//! events.emit(&event);
//! assert_eq!(received.recv().unwrap(), event);
//! ```

mod barriers;
mod checkup;
mod console;
mod console_session;
mod data_plane;
mod emulator;
mod examination;
mod host_locks;
mod host_query;
mod hosts;
mod install;
mod lease;
mod link_checkup;
mod machine_settings;
mod made_system;
pub mod netns;
mod notice;
mod open_files;
mod package_manager;
mod phase;
mod plan_checkup;
mod plan_folder;
mod power;
mod preparation;
mod program_search;
mod provision;
mod record;
mod restart;
mod start_line;
mod trial;
mod virsh;
mod workbench;

pub use backsight_agent::{Examination, ExaminationOrder, LeaseInForce};
pub use console::{ConsoleError, ConsoleProcess};
pub use console_session::attach_console;
pub use examination::{ExaminedHost, examine_host};
pub use host_locks::HostLockError;
pub use hosts::guests::{BootError, BootFault, GuestBoot, InitramfsError, Kernel, PartsError};
pub use hosts::{ConnectError, HostAccess, UnreachableReason};
pub use install::{InstallError, InstallFault, InstalledRelease, install_release};
pub use lease::{Lease, LeaseError};
pub use machine_settings::WantedSettings;
pub use made_system::SystemError;
pub use plan_checkup::{PlanCheckup, check_hosts, check_plan};
pub use power::{HostPower, PowerAction, PowerError, PowerFault, PowerOutcome, switch_hosts};
pub use preparation::{change_boot_units, restore_hosts};
pub use program_search::find_program;
pub use provision::{Made, ProvisionError, Provisioned, provision_host};
pub use record::{RecordedHost, record_hosts};
pub use restart::{RestartError, RestartFault, RestartRecord};
pub use trial::{Conductor, TrialOutcome};
pub use workbench::{CommandResult, Workbench, WorkbenchCommand};

use backsight_model::{Event, TestbedName};
use std::sync::{Arc, Mutex, PoisonError};

/// A receiver of events.
pub trait Listener: Send {
    /// Takes an event, with the testbed that it is about where a study measures on several at once.
    fn on_event(&mut self, event: &Event, testbed: Option<&TestbedName>);
}

/// Sends each event to every listener, in the order in which they happen.
#[derive(Clone, Default)]
pub struct Events {
    listeners: Arc<Mutex<Vec<Box<dyn Listener>>>>,
    testbed: Option<TestbedName>,
}

impl Events {
    /// The same listeners, for what happens on one of several testbeds.
    #[must_use]
    pub fn on_testbed(&self, testbed: TestbedName) -> Self {
        Self {
            listeners: Arc::clone(&self.listeners),
            testbed: Some(testbed),
        }
    }

    /// Adds a listener; it gets the events from now on.
    pub fn listen(&self, listener: impl Listener + 'static) {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Box::new(listener));
    }

    /// Sends an event to every listener.
    pub fn emit(&self, event: &Event) {
        for listener in self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter_mut()
        {
            listener.on_event(event, self.testbed.as_ref());
        }
    }
}
