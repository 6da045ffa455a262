//! Testbeds, phases, barriers, faults; hosts and how to reach them.
//!
//! A [`Conductor`] holds one agent a host and executes one trial at a time: six phases on all roles, the
//! steps of one role in order, those of different roles side by side, started together where it matters,
//! put back whatever happened. A [`Lease`] keeps two studies off the same hosts. [`netns`] makes the
//! namespaces of a lab and removes them. Hosts that are guests are there from one
//! [boot](Conductor::boot) to the next; other machines, which `ssh` reaches, are [restarted](Conductor::restart). A [`Workbench`] runs what is done to a version before.
//!
//! Refuses: to choose what is measured, to keep results, to know who listens to its events.

mod checkup;
mod guests;
mod hosts;
mod initramfs;
mod lease;
mod machine;
pub mod netns;
mod phase;
mod plan_checkup;
mod restart;
mod ssh;
mod start_line;
mod trial;
mod watching;
mod workbench;

pub use guests::{BootError, BootFault, BootRecord, Kernel};
pub use hosts::{ConnectError, Obstacle, Reach};
pub use initramfs::InitramfsError;
pub use lease::{Lease, LeaseError};
pub use machine::PartsError;
pub use plan_checkup::{PlanCheckup, check_plan, find_program};
pub use restart::{RestartError, RestartFault, Restarted};
pub use trial::{Conductor, Measured};
pub use workbench::{Command, Done, Workbench};

use backsight_model::{Event, TestbedName};
use std::sync::{Arc, Mutex, PoisonError};

/// Somebody who wants to know what happens.
pub trait Listener: Send {
    /// Something has happened: on which testbed, of a study that measures on several at once.
    fn hear(&mut self, event: &Event, testbed: Option<&TestbedName>);
}

/// Where events are told, each to every listener, in the order in which they happen.
#[derive(Clone, Default)]
pub struct Events {
    listeners: Arc<Mutex<Vec<Box<dyn Listener>>>>,
    testbed: Option<TestbedName>,
}

impl Events {
    /// The same listeners, for what happens on one of several testbeds.
    #[must_use]
    pub fn on(&self, testbed: TestbedName) -> Self {
        Self {
            listeners: Arc::clone(&self.listeners),
            testbed: Some(testbed),
        }
    }

    /// Adds a listener; it hears what happens from now on.
    pub fn listen(&self, listener: impl Listener + 'static) {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Box::new(listener));
    }

    /// Tells everybody.
    pub fn tell(&self, event: &Event) {
        for listener in self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter_mut()
        {
            listener.hear(event, self.testbed.as_ref());
        }
    }
}
