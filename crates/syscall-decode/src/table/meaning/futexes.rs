//! Futexes of today: one call for each thing that is done with them, and waiting for several at once.

use super::*;
use crate::table::structure::{field, set, structure};

/// How wide a futex is, and what of it.
const KIND: ValueKind = OneAndFlags(Four, 3, &f::FUTEX2_SIZE, &f::FUTEX2);

structure!(WAITER 24 {
    field val 0 Hex(Eight), field uaddr 8 Address, field flags 16 KIND, set __reserved 20 Hex(Four),
});

pub(super) static MEANINGS: &[Meaning] = &[
    m(
        "futex_waitv",
        &[
            Many(In, &Structure(&WAITER), LengthSource::First(1, 128)),
            UINT,
            Hex(Four),
            TIME_IN,
            CLOCK,
        ],
    ),
    m("futex_wake", &[Address, Hex(Eight), INT, KIND]),
    m(
        "futex_wait",
        &[Address, SIZE, Hex(Eight), KIND, TIME_IN, CLOCK],
    ),
    m(
        "futex_requeue",
        &[
            Many(In, &Structure(&WAITER), LengthSource::Fixed(2)),
            Hex(Four),
            INT,
            INT,
        ],
    ),
];
