//! Requests of counters of events.

use super::*;

named!(COMPONENT "COUNTER_COMPONENT_???" "" {
    "COUNTER_COMPONENT_NONE" = 0, "COUNTER_COMPONENT_SIGNAL" = 1, "COUNTER_COMPONENT_COUNT" = 2,
    "COUNTER_COMPONENT_FUNCTION" = 3, "COUNTER_COMPONENT_SYNAPSE_ACTION" = 4, "COUNTER_COMPONENT_EXTENSION" = 5,
});
named!(EVENT "COUNTER_EVENT_???" "" {
    "COUNTER_EVENT_OVERFLOW" = 0, "COUNTER_EVENT_UNDERFLOW" = 1, "COUNTER_EVENT_OVERFLOW_UNDERFLOW" = 2,
    "COUNTER_EVENT_THRESHOLD" = 3, "COUNTER_EVENT_INDEX" = 4, "COUNTER_EVENT_CHANGE_OF_STATE" = 5,
    "COUNTER_EVENT_CAPTURE" = 6,
});
named!(SCOPE "COUNTER_SCOPE_???" "" {
    "COUNTER_SCOPE_DEVICE" = 0, "COUNTER_SCOPE_SIGNAL" = 1, "COUNTER_SCOPE_COUNT" = 2,
});

structure!(PART 4 {
    field r#type 0 One(Byte, &COMPONENT), field scope 1 One(Byte, &SCOPE), field parent 2 U8, field id 3 U8,
});
structure!(WATCH 6 {
    field component 0 Structure(&PART), field event 4 One(Byte, &EVENT), field channel 5 U8,
});

pub(super) static GIVEN: Family = &[
    ("COUNTER_ADD_WATCH_IOCTL", says(&Structure(&WATCH))),
    (
        "COUNTER_ENABLE_EVENTS_IOCTL COUNTER_DISABLE_EVENTS_IOCTL",
        Hidden,
    ),
];
