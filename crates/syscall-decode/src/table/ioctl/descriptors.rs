//! Requests of descriptors that are no devices: sets of `epoll`, name spaces, buffers of `udmabuf`.

use super::*;

/// Microseconds, with what they are in seconds.
static MICROSECONDS: CustomFormat = CustomFormat {
    write: |out, value| {
        format::unsigned(out, value);
        if value != 0 {
            let (seconds, rest) = (value / 1_000_000, value % 1_000_000);
            format::remark(out, &format!("{seconds}.{rest:06} s"));
        }
    },
    number: UnnamedStyle::Unsigned,
};

structure!(POLLING 8 {
    field busy_poll_usecs 0 Worded(Four, &MICROSECONDS), field busy_poll_budget 4 U16, field prefer_busy_poll 6 Hex(Byte),
    set __pad 7 Hex(Byte),
});
structure!(MOUNTS 16 { field size 0 UINT, field nr_mounts 4 UINT, field mnt_ns_id 8 LONG_BITS });
structure!(BUFFER 24 {
    field memfd 0 Fd, field flags 4 Flags(Four, &f::IOCTL_DMA_BUFFER), field offset 8 ULONG, field size 16 ULONG,
});
structure!(PART 24 { field memfd 0 Fd, field offset 8 ULONG, field size 16 ULONG });
structure!(BUFFERS 8 {
    field flags 0 Flags(Four, &f::IOCTL_DMA_BUFFER), field count 4 UINT,
    field list 8 Tail(&Many(In, &Structure(&PART), LengthSource::Field(4, Four, 1))),
});

pub(super) static ARGUMENTS: Family = &[
    ("EPIOCSPARAMS", pointer_in(&Structure(&POLLING))),
    ("EPIOCGPARAMS", pointer_out(&Structure(&POLLING))),
    (
        "NS_GET_PID_FROM_PIDNS NS_GET_TGID_FROM_PIDNS NS_GET_PID_IN_PIDNS NS_GET_TGID_IN_PIDNS",
        INT,
    ),
    ("NS_GET_MNTNS_ID", pointer_out(&LONG_BITS)),
    (
        "NS_MNT_GET_INFO NS_MNT_GET_NEXT NS_MNT_GET_PREV",
        pointer_out(&Structure(&MOUNTS)),
    ),
    ("UDMABUF_CREATE", pointer_in(&Structure(&BUFFER))),
    ("UDMABUF_CREATE_LIST", pointer_in(&Structure(&BUFFERS))),
];
