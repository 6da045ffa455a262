//! Input and output that the kernel does aside (`io_submit` and its like): what their arguments mean.

use backsight_syscall_tables::sets::{AIO_FLAGS as FLAGS, AIO_OPERATIONS as OPERATIONS};

use super::*;
use crate::format;
use crate::table::kind::{CustomFormat, FieldCondition, UnnamedStyle};
use crate::table::structure::{field, set, structure};

const READ: u64 = 0;
const WRITE: u64 = 1;
const POLL: u64 = 5;
const READ_VECTORS: u64 = 7;
const WRITE_VECTORS: u64 = 8;
/// What is read or written.
const MOVES: &[u64] = &[READ, WRITE, READ_VECTORS, WRITE_VECTORS];
const PLAIN: &[u64] = &[READ, WRITE];
const VECTORS: &[u64] = &[READ_VECTORS, WRITE_VECTORS];
const FLAGGED: &[u64] = &[READ, WRITE, READ_VECTORS, WRITE_VECTORS, POLL];
/// More bytes, or vectors, than there can be.
const NEGATIVE: u64 = 1 << 63;
const TELLS_DESCRIPTOR: u64 = 1;
const HAS_PRIORITY: u64 = 2;

static OPERATION: CustomFormat = CustomFormat {
    write: |out, value| match OPERATIONS.name(value) {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => {
            format::unsigned(out, value);
            format::remark(out, OPERATIONS.unknown);
        }
    },
    number: UnnamedStyle::Unsigned,
};
static PRIORITY: CustomFormat = CustomFormat {
    write: |out, value| {
        let names = format::ConstantStyle::Names;
        format::io_priority(out, i32::try_from(value).unwrap_or(0), names);
    },
    number: UnnamedStyle::Unsigned,
};

structure!(PLACE 16 { field iov_base 0 Address, field iov_len 8 SIZE });
structure!(BUFFER 16 { field iov_base 0 Bytes(In, LengthSource::Field(8, Eight, 1)), field iov_len 8 SIZE });

/// What stands at the beginning of each request, and all that is said of one that is to be given up.
macro_rules! request {
    ($name:ident { $($how:ident $field:ident $at:literal $kind:expr),* }) => {
        structure!($name 64 {
            field aio_data 0 Hex(Eight), set aio_key 8 UINT, set aio_rw_flags 12 Flags(Four, &f::RWF),
            field aio_lio_opcode 16 Worded(Two, &OPERATION),
            field aio_reqprio 18 Only(FieldCondition::Has(56, Four, HAS_PRIORITY), &Worded(Two, &PRIORITY)),
            set aio_reqprio 18 Only(FieldCondition::Lacks(56, Four, HAS_PRIORITY), &Signed(Two)), field aio_fildes 20 Fd,
            $($how $field $at $kind),*
        });
    };
}

request!(GIVEN_UP {});
request!(REQUEST {
    field aio_buf 24 Only(FieldCondition::Is(16, Two, FLAGGED), &Only(FieldCondition::Lacks(32, Eight, NEGATIVE), &BUFFER_OF)),
    field aio_buf 24 Only(FieldCondition::Is(16, Two, FLAGGED), &Only(FieldCondition::Has(32, Eight, NEGATIVE), &NO_BUFFER)),
    field aio_nbytes 32 Only(FieldCondition::Is(16, Two, PLAIN), &SIZE),
    field aio_nbytes 32 Only(FieldCondition::Is(16, Two, VECTORS), &Only(FieldCondition::Has(32, Eight, NEGATIVE), &SIZE)),
    field aio_offset 40 Only(FieldCondition::Is(16, Two, MOVES), &LONG),
    set aio_flags 56 Only(FieldCondition::Is(16, Two, FLAGGED), &Flags(Four, &FLAGS)),
    field aio_resfd 60 Only(FieldCondition::Is(16, Two, FLAGGED), &Only(FieldCondition::Has(56, Four, TELLS_DESCRIPTOR), &Fd)),
    set aio_resfd 60 Only(FieldCondition::Is(16, Two, FLAGGED), &Only(FieldCondition::Lacks(56, Four, TELLS_DESCRIPTOR), &Hex(Four)))
});

/// What is behind a request's buffer, by its operation.
const BUFFER_OF: ValueKind = ByField(16, Two, BUFFERS, &Hex(Eight));
static BUFFERS: &[(u64, ValueKind)] = &[
    (WRITE, Bytes(In, LengthSource::Field(32, Eight, 1))),
    (POLL, POLLED),
    (
        READ_VECTORS,
        Many(In, &Structure(&PLACE), LengthSource::Field(32, Eight, 1)),
    ),
    (
        WRITE_VECTORS,
        Many(In, &Structure(&BUFFER), LengthSource::Field(32, Eight, 1)),
    ),
];
/// The same where there can't be so much of it.
const NO_BUFFER: ValueKind = ByField(16, Two, &[(POLL, POLLED)], &Hex(Eight));
const POLLED: ValueKind = Flags(Eight, &f::POLL);

structure!(EVENT 32 { field data 0 Hex(Eight), field obj 8 Hex(Eight), field res 16 LONG, field res2 24 LONG });

const EVENTS: ValueKind = Many(Out, &Structure(&EVENT), LengthSource::Result);

pub(super) static MEANINGS: &[Meaning] = &[
    m(
        "io_submit",
        &[
            Address,
            LONG,
            Many(In, &To(In, &Structure(&REQUEST)), LengthSource::Argument(1)),
        ],
    ),
    m(
        "io_cancel",
        &[
            Address,
            To(In, &Structure(&GIVEN_UP)),
            To(Out, &Structure(&EVENT)),
        ],
    ),
    m("io_getevents", &[Address, LONG, LONG, EVENTS, TIME_IN]),
    m(
        "io_pgetevents",
        &[
            Address,
            LONG,
            LONG,
            EVENTS,
            TIME_IN,
            Special(S::SignalsAndSize),
        ],
    ),
];
