//! Requests of block devices.

use backsight_syscall_tables::sets::IOCTL_BLOCK_PARTITION as PARTITION;

use super::*;

structure!(PARTITION_OF 152 {
    field start 0 LONG, field length 8 LONG, field pno 16 INT, field devname 20 Characters(64),
    field volname 84 Characters(64),
});
structure!(PARTITIONING 24 {
    field op 0 One(Four, &PARTITION), field flags 4 INT, field datalen 8 INT,
    field data 16 pointer_in(&Structure(&PARTITION_OF)),
});
structure!(TRACE 72 {
    field act_mask 32 U16, field buf_size 36 UINT, field buf_nr 40 UINT, field start_lba 48 ULONG, field end_lba 56 ULONG,
    field pid 64 Process(PidKind::Process), out name 0 Characters(32),
});

pub(super) static ARGUMENTS: Family = &[
    ("BLKBSZGET BLKROGET BLKSSZGET BLKALIGNOFF", INT_OUT),
    ("BLKBSZSET BLKROSET", INT_IN),
    ("BLKFRAGET BLKRAGET", pointer_out(&LONG)),
    ("BLKRASET BLKFRASET", ULONG),
    ("BLKSECTGET BLKROTATIONAL", pointer_out(&U16)),
    ("BLKGETSIZE BLKGETSIZE64 BLKGETDISKSEQ", pointer_out(&ULONG)),
    ("BLKIOMIN BLKIOOPT BLKPBSZGET BLKDISCARDZEROES", UINT_OUT),
    (
        "BLKDISCARD BLKSECDISCARD BLKZEROOUT",
        pointer_in(&Array(&ULONG, 2)),
    ),
    ("BLKPG", pointer_in(&Structure(&PARTITIONING))),
    ("BLKTRACESETUP", InOut(&TRACE)),
    (
        "BLKRRPART BLKFLSBUF BLKTRACESTART BLKTRACESTOP BLKTRACETEARDOWN",
        Hidden,
    ),
];
