//! Requests of disks with the IDE interface.

use backsight_syscall_tables::sets::IOCTL_DISK_BUS as BUS;
use backsight_syscall_tables::sets::{IOCTL_DISK_COMMAND as COMMAND, IOCTL_DISK_NICE as NICE};

use super::*;

structure!(GEOMETRY 16 {
    field heads 0 U8, field sectors 1 U8, field cylinders 2 U16, field start 8 ULONG,
});
structure!(ASKED 4 {
    field command 0 One(Byte, &COMMAND), field sector_number 1 U8, field feature 2 U8, field sector_count 3 U8,
});
structure!(DONE 4 {
    field status 0 Hex(Byte), field error 1 U8, field nsector 2 U8,
    field buf 4 Only(FieldCondition::Not(3, Byte, &[0]), &Tail(&Binary(Out, LengthSource::Field(3, Byte, 512)))),
});

pub(super) static ARGUMENTS: Family = &[
    ("HDIO_GETGEO", pointer_out(&Structure(&GEOMETRY))),
    (
        "HDIO_DRIVE_CMD",
        Exchange(&Structure(&ASKED), &Structure(&DONE)),
    ),
    (
        "HDIO_DRIVE_RESET HDIO_SCAN_HWIF",
        pointer_in(&Array(&BITS, 3)),
    ),
    (
        "HDIO_GET_32BIT HDIO_GET_ACOUSTIC HDIO_GET_ADDRESS HDIO_GET_DMA HDIO_GET_KEEPSETTINGS HDIO_GET_MULTCOUNT HDIO_GET_NOWERR \
         HDIO_GET_UNMASKINTR HDIO_GET_WCACHE",
        pointer_out(&ULONG),
    ),
    (
        "HDIO_SET_32BIT HDIO_SET_ACOUSTIC HDIO_SET_ADDRESS HDIO_SET_DMA HDIO_SET_KEEPSETTINGS HDIO_SET_MULTCOUNT HDIO_SET_NOWERR \
         HDIO_SET_PIO_MODE HDIO_SET_UNMASKINTR HDIO_SET_WCACHE HDIO_UNREGISTER_HWIF",
        ULONG,
    ),
    (
        "HDIO_OBSOLETE_IDENTITY",
        Bytes(Out, LengthSource::Fixed(142)),
    ),
    ("HDIO_GET_IDENTITY", Bytes(Out, LengthSource::Fixed(512))),
    ("HDIO_GET_NICE", pointer_out(&Flags(Eight, &NICE))),
    ("HDIO_SET_NICE", Flags(Eight, &NICE)),
    ("HDIO_GET_BUSSTATE", pointer_out(&One(Eight, &BUS))),
    ("HDIO_SET_BUSSTATE", One(Eight, &BUS)),
];
