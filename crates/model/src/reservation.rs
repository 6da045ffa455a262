//! Reservations: a testbed or a host that belongs to a person for a while, so that no worker begins a job there.

use jiff::Timestamp;

use crate::JobNeeds;

/// A testbed or a host that somebody has for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Its number, from 1.
    pub number: i64,
    /// The testbed or the host, as it was named.
    pub name: String,
    /// What that is: the testbed and its hosts, or a host.
    pub needs: JobNeeds,
    /// Whose it is.
    pub by: String,
    /// What for.
    pub why: Option<String>,
    /// When it was made.
    pub made: Timestamp,
    /// When it ends by itself.
    pub until: Timestamp,
}
