//! Requests of counters of events.

use backsight_syscall_tables::sets::{
    IOCTL_COUNTER_COMPONENT as COMPONENT, IOCTL_COUNTER_EVENT as EVENT,
    IOCTL_COUNTER_SCOPE as SCOPE,
};

use super::*;

structure!(PART 4 {
    field r#type 0 One(Byte, &COMPONENT), field scope 1 One(Byte, &SCOPE), field parent 2 U8, field id 3 U8,
});
structure!(WATCH 6 {
    field component 0 Structure(&PART), field event 4 One(Byte, &EVENT), field channel 5 U8,
});

pub(super) static ARGUMENTS: Family = &[
    ("COUNTER_ADD_WATCH_IOCTL", pointer_in(&Structure(&WATCH))),
    (
        "COUNTER_ENABLE_EVENTS_IOCTL COUNTER_DISABLE_EVENTS_IOCTL",
        Hidden,
    ),
];
