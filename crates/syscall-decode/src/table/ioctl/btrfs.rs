//! Requests of btrfs.

use backsight_syscall_tables::sets::{
    IOCTL_BTRFS_ABOUT as ABOUT, IOCTL_BTRFS_BALANCE_BY as BALANCE_BY,
    IOCTL_BTRFS_BALANCE_STATE as BALANCE_STATE, IOCTL_BTRFS_BALANCED as BALANCED,
    IOCTL_BTRFS_BALANCING as BALANCING, IOCTL_BTRFS_COMPATIBLE as COMPATIBLE,
    IOCTL_BTRFS_COUNTED_ERRORS as COUNTED_ERRORS, IOCTL_BTRFS_DEFRAGMENTED as DEFRAGMENTED,
    IOCTL_BTRFS_INCOMPATIBLE as INCOMPATIBLE, IOCTL_BTRFS_INHERITED as INHERITED,
    IOCTL_BTRFS_LIMITED as LIMITED, IOCTL_BTRFS_LOOKED_UP as LOOKED_UP,
    IOCTL_BTRFS_QUOTAS as QUOTAS, IOCTL_BTRFS_READABLE as READABLE,
    IOCTL_BTRFS_REPLACED as REPLACED, IOCTL_BTRFS_REPLACEMENT as REPLACEMENT,
    IOCTL_BTRFS_REPLACING as REPLACING, IOCTL_BTRFS_SCRUBBING as SCRUBBING,
    IOCTL_BTRFS_SENT as SENT, IOCTL_BTRFS_SNAPSHOT as SNAPSHOT,
    IOCTL_BTRFS_SOURCE_READ as SOURCE_READ,
};
use backsight_syscall_tables::sets::{
    IOCTL_BTRFS_COMPRESSED as COMPRESSED, IOCTL_BTRFS_GROUPS as GROUPS,
    IOCTL_BTRFS_HIGHEST as HIGHEST, IOCTL_BTRFS_KEYS as KEYS, IOCTL_BTRFS_OBJECTS as OBJECTS,
};

use super::*;

const UUID: ValueKind = Wire(NetworkKind::Uuid);
const OBJECT: ValueKind = Known(Eight, &OBJECTS);
const KEY: ValueKind = Known(Four, &KEYS);
const UP_TO: ValueKind = Known(Eight, &HIGHEST);
/// What the first is that isn't the file system's own.
const FIRST: &[u64] = &[256];
const OTHER_THAN_FIRST: ValueKind = Only(FieldCondition::Not(8, Eight, FIRST), &OBJECT);
const FIRST_IN_FULL: ValueKind = Only(
    FieldCondition::Is(8, Eight, FIRST),
    &Only(FieldCondition::Verbose, &OBJECT),
);

structure!(VOLUME 4096 { field fd 0 Fd, field name 8 Characters(4088) });
structure!(LIMITS 40 {
    field flags 0 Flags(Eight, &LIMITED), field max_rfer 8 ULONG, field max_excl 16 ULONG, field rsv_rfer 24 ULONG,
    field rsv_excl 32 ULONG,
});
structure!(INHERITANCE 72 {
    field flags 0 Flags(Eight, &INHERITED), field num_qgroups 8 ULONG, field num_ref_copies 16 ULONG,
    field num_excl_copies 24 ULONG, field lim 32 Structure(&LIMITS),
    more qgroups 72 Tail(&Many(In, &ULONG, LengthSource::Field(8, Eight, 1))),
});
structure!(SUBVOLUME 4096 {
    field fd 0 Fd, field flags 16 Flags(Eight, &SNAPSHOT),
    field size 24 Only(INHERITS, &ULONG), field qgroup_inherit 32 Only(INHERITS, &To(In, &Structure(&INHERITANCE))),
    field name 56 Characters(4040),
});
const INHERITS: FieldCondition = FieldCondition::Has(16, Eight, 4);
structure!(QUOTA_LIMIT 48 { field qgroupid 0 ULONG, field lim 8 Structure(&LIMITS) });
structure!(BALANCE_OF 136 {
    field profiles 0 Flags(Eight, &GROUPS), field usage 8 ULONG, field devid 16 Device, field pstart 24 ULONG,
    field pend 32 UP_TO, field vstart 40 ULONG, field vend 48 UP_TO, field target 56 ULONG,
    field flags 64 Flags(Eight, &BALANCE_BY),
});
const OF_DATA: ValueKind = Only(FieldCondition::Has(0, Eight, 1), &Structure(&BALANCE_OF));
const OF_SYSTEM: ValueKind = Only(FieldCondition::Has(0, Eight, 2), &Structure(&BALANCE_OF));
const OF_METADATA: ValueKind = Only(FieldCondition::Has(0, Eight, 4), &Structure(&BALANCE_OF));
structure!(PROGRESS 24 { field expected 0 ULONG, field considered 8 ULONG, field completed 16 ULONG });
structure!(BALANCE 1024 {
    field flags 0 Flags(Eight, &BALANCED), field data 16 OF_DATA, field meta 152 OF_METADATA, field sys 288 OF_SYSTEM,
});
structure!(BALANCE_OUT 1024 {
    field flags 0 Flags(Eight, &BALANCED), field state 8 Flags(Eight, &BALANCE_STATE),
    field data 16 OF_DATA, field meta 152 OF_METADATA, field sys 288 OF_SYSTEM,
    field stat 424 Structure(&PROGRESS),
});
structure!(CLONED 32 {
    field src_fd 0 Fd, field src_offset 8 ULONG, field src_length 16 ULONG, field dest_offset 24 ULONG,
});
structure!(DEFRAGMENTATION 48 {
    field start 0 ULONG, field len 8 UP_TO, field flags 16 Flags(Eight, &DEFRAGMENTED), field extent_thresh 24 UINT,
    field compress_type 28 One(Four, &COMPRESSED),
});
structure!(DEVICE_ASKED 4096 { field devid 0 Device, set uuid 8 UUID });
structure!(DEVICE_OUT 4096 {
    field uuid 8 UUID, field bytes_used 24 ULONG, field total_bytes 32 ULONG, field path 3072 Characters(1024),
});
structure!(STARTED 2584 {
    field srcdevid 0 Device, field cont_reading_from_srcdev_mode 8 One(Eight, &SOURCE_READ),
    field srcdev_name 16 Characters(1025), field tgtdev_name 1041 Characters(1025),
});
structure!(REPLACE 2600 {
    field cmd 0 One(Eight, &REPLACING), field start 16 Only(FieldCondition::Is(0, Eight, &[0]), &Structure(&STARTED)),
});
structure!(REPLACE_STATE 48 {
    field replace_state 0 One(Eight, &REPLACEMENT), field progress_1000 8 ULONG, field time_started 16 ULONG,
    field time_stopped 24 ULONG, field num_write_errors 32 ULONG, field num_uncorrectable_read_errors 40 ULONG,
});
structure!(REPLACE_OUT 2600 {
    field result 8 One(Eight, &REPLACED), field status 16 Only(FieldCondition::Is(0, Eight, &[1]), &Structure(&REPLACE_STATE)),
});
structure!(FILE_SYSTEM 1024 {
    field max_id 0 ULONG, field num_devices 8 ULONG, field fsid 16 UUID, field nodesize 32 UINT, field sectorsize 36 UINT,
    field clone_alignment 40 UINT, field flags 48 Flags(Eight, &ABOUT),
});
structure!(ERRORS_OF 1032 { field devid 0 Device, field nr_items 8 ULONG, field flags 16 Flags(Eight, &COUNTED_ERRORS) });
structure!(ERRORS_OUT 1032 {
    field nr_items 8 ULONG, field flags 16 Flags(Eight, &COUNTED_ERRORS),
    field values 24 Counted(&ULONG, LengthSource::Most(8, Eight, 5), 5),
});
structure!(OBJECT_ASKED 4096 { field treeid 0 OBJECT, field objectid 8 OBJECT });
structure!(OBJECT_OUT 4096 { field name 16 Characters(4080) });
structure!(PATHS 56 { field inum 0 ULONG, field size 8 ULONG, field fspath 48 Address });
structure!(PLACED 56 {
    field logical 0 ULONG, field size 8 ULONG, set reserved 16 Array(&LONG_BITS, 3),
    field flags 40 Flags(Eight, &LOOKED_UP), field inodes 48 Address,
});
structure!(RELATION 24 { field assign 0 ULONG, field src 8 ULONG, field dst 16 ULONG });
structure!(QUOTA_GROUP 16 { field create 0 ULONG, field qgroupid 8 ULONG });
structure!(QUOTA 16 { field cmd 0 One(Eight, &QUOTAS) });
structure!(QUOTA_OUT 16 { field status 8 ULONG });
structure!(RESCAN 64 { field flags 0 ULONG });
structure!(RESCANNED 64 { field flags 0 ULONG, field progress 8 ULONG });
structure!(SCRUB_OF 1024 {
    field devid 0 Device, field start 8 ULONG, field end 16 UP_TO, field flags 24 Flags(Eight, &SCRUBBING),
});
structure!(SCRUB_DEVICE 1024 { field devid 0 Device });
structure!(SCRUBBED 120 {
    field data_extents_scrubbed 0 ULONG, field tree_extents_scrubbed 8 ULONG, field data_bytes_scrubbed 16 ULONG,
    field tree_bytes_scrubbed 24 ULONG, field read_errors 32 ULONG, field csum_errors 40 ULONG,
    field verify_errors 48 ULONG, field no_csum 56 ULONG, field csum_discards 64 ULONG, field super_errors 72 ULONG,
    field malloc_errors 80 ULONG, field uncorrectable_errors 88 ULONG, field corrected_errors 96 ULONG,
    field last_physical 104 ULONG, field unverified_errors 112 ULONG,
});
structure!(SCRUB_OUT 1024 { field progress 32 Structure(&SCRUBBED) });
structure!(SENDING 72 {
    field send_fd 0 Fd, field clone_sources_count 8 ULONG,
    field clone_sources 16 Verbose(&Many(In, &OBJECT, LengthSource::Field(8, Eight, 1))), field parent_root 24 OBJECT,
    field flags 32 Flags(Eight, &SENT),
});
structure!(TIME 12 { field sec 0 ULONG, field nsec 8 UINT });
const MOMENT: ValueKind = Special(S::Instant(&TIME));
structure!(RECEIVED 200 {
    field uuid 0 UUID, field stransid 16 ULONG, field stime 32 MOMENT, field flags 64 ULONG,
});
structure!(RECEIVED_OUT 200 { field rtransid 24 ULONG, field rtime 48 MOMENT });
structure!(SPACES 16 { field space_slots 0 ULONG });
structure!(SPACE 24 { field flags 0 Flags(Eight, &GROUPS), field total_bytes 8 ULONG, field used_bytes 16 ULONG });
structure!(SPACES_OUT 16 {
    field total_spaces 8 ULONG, more spaces 16 Tail(&Many(Out, &Structure(&SPACE), LengthSource::Field(8, Eight, 1))),
});
structure!(SEARCHED 104 {
    field tree_id 0 OBJECT, field min_objectid 8 OTHER_THAN_FIRST, field min_objectid 8 FIRST_IN_FULL,
    field max_objectid 16 OBJECT, field min_offset 24 ULONG, field max_offset 32 UP_TO, field min_transid 40 ULONG,
    field max_transid 48 UP_TO, field min_type 56 KEY, field max_type 60 KEY, field nr_items 64 UINT,
});
structure!(FOUND 104 { field nr_items 64 UINT });
structure!(SEARCH 104 { field key 0 Structure(&SEARCHED) });
structure!(SEARCH_OUT 104 { field key 0 Structure(&FOUND) });
structure!(SEARCH_2 112 { field key 0 Structure(&SEARCHED), field buf_size 104 ULONG });
structure!(SEARCH_2_OUT 112 { field key 0 Structure(&FOUND), field buf_size 104 ULONG });
structure!(SAME_IN 32 { field dest_fd 0 Fd, field dest_offset 8 ULONG });
structure!(SAME_OUT 32 { field bytes_deduped 16 ULONG, field status 24 INT });
structure!(SAME 24 {
    field src_offset 0 ULONG, field src_length 8 ULONG, field dest_count 16 U16,
    field info 24 Tail(&Many(In, &Structure(&SAME_IN), LengthSource::Few(16, Two, 2))),
});
structure!(SAME_TOLD 24 { field info 24 Tail(&Many(Out, &Structure(&SAME_OUT), LengthSource::Few(16, Two, 2))) });
structure!(FEATURES 24 {
    field compat_flags 0 Flags(Eight, &COMPATIBLE), field compat_ro_flags 8 Flags(Eight, &READABLE),
    field incompat_flags 16 Flags(Eight, &INCOMPATIBLE),
});
const FEATURE: ValueKind = Structure(&FEATURES);

pub(super) static ARGUMENTS: Family = &[
    (
        "BTRFS_IOC_TRANS_START BTRFS_IOC_TRANS_END BTRFS_IOC_SYNC BTRFS_IOC_SCRUB_CANCEL BTRFS_IOC_QUOTA_RESCAN_WAIT \
         BTRFS_IOC_BALANCE BTRFS_IOC_DEFRAG",
        Hidden,
    ),
    ("BTRFS_IOC_CLONE", Fd),
    ("BTRFS_IOC_BALANCE_CTL", One(Four, &BALANCING)),
    (
        "BTRFS_IOC_DEFAULT_SUBVOL BTRFS_IOC_WAIT_SYNC",
        pointer_in(&OBJECT),
    ),
    ("BTRFS_IOC_START_SYNC", pointer_out(&ULONG)),
    (
        "BTRFS_IOC_SUBVOL_SETFLAGS",
        pointer_in(&Plain(&Flags(Eight, &SNAPSHOT))),
    ),
    (
        "BTRFS_IOC_SUBVOL_GETFLAGS",
        pointer_out(&Plain(&Flags(Eight, &SNAPSHOT))),
    ),
    (
        "BTRFS_IOC_QGROUP_CREATE",
        pointer_in(&Structure(&QUOTA_GROUP)),
    ),
    ("BTRFS_IOC_QGROUP_ASSIGN", pointer_in(&Structure(&RELATION))),
    (
        "BTRFS_IOC_QGROUP_LIMIT",
        pointer_out(&Structure(&QUOTA_LIMIT)),
    ),
    ("BTRFS_IOC_CLONE_RANGE", pointer_in(&Structure(&CLONED))),
    (
        "BTRFS_IOC_DEFRAG_RANGE",
        pointer_in(&Structure(&DEFRAGMENTATION)),
    ),
    ("BTRFS_IOC_GET_FEATURES", pointer_out(&FEATURE)),
    ("BTRFS_IOC_SET_FEATURES", pointer_in(&Array(&FEATURE, 2))),
    (
        "BTRFS_IOC_GET_SUPPORTED_FEATURES",
        pointer_out(&Array(&FEATURE, 3)),
    ),
    ("BTRFS_IOC_QUOTA_RESCAN", pointer_in(&Structure(&RESCAN))),
    (
        "BTRFS_IOC_QUOTA_RESCAN_STATUS",
        pointer_out(&Structure(&RESCANNED)),
    ),
    ("BTRFS_IOC_SEND", pointer_in(&Structure(&SENDING))),
    ("FS_IOC_SETFSLABEL", pointer_in(&Characters(256))),
    ("FS_IOC_GETFSLABEL", pointer_out(&Characters(256))),
    (
        "BTRFS_IOC_SNAP_CREATE BTRFS_IOC_SUBVOL_CREATE BTRFS_IOC_SNAP_DESTROY BTRFS_IOC_RESIZE BTRFS_IOC_SCAN_DEV \
         BTRFS_IOC_FORGET_DEV BTRFS_IOC_ADD_DEV BTRFS_IOC_RM_DEV BTRFS_IOC_DEVICES_READY",
        pointer_in(&Structure(&VOLUME)),
    ),
    (
        "BTRFS_IOC_SNAP_CREATE_V2 BTRFS_IOC_SUBVOL_CREATE_V2",
        pointer_in(&Structure(&SUBVOLUME)),
    ),
    ("BTRFS_IOC_FS_INFO", pointer_out(&Structure(&FILE_SYSTEM))),
    (
        "BTRFS_IOC_BALANCE_PROGRESS",
        pointer_out(&Structure(&BALANCE_OUT)),
    ),
    (
        "BTRFS_IOC_BALANCE_V2",
        Exchange(&Structure(&BALANCE), &Structure(&BALANCE_OUT)),
    ),
    (
        "BTRFS_IOC_SPACE_INFO",
        Exchange(&Structure(&SPACES), &Structure(&SPACES_OUT)),
    ),
    (
        "BTRFS_IOC_QUOTA_CTL",
        Exchange(&Structure(&QUOTA), &Structure(&QUOTA_OUT)),
    ),
    (
        "BTRFS_IOC_FILE_EXTENT_SAME",
        Exchange(&Structure(&SAME), &Structure(&SAME_TOLD)),
    ),
    ("BTRFS_IOC_INO_PATHS", pointer_in(&Structure(&PATHS))),
    ("BTRFS_IOC_LOGICAL_INO", pointer_in(&Structure(&PLACED))),
    (
        "BTRFS_IOC_TREE_SEARCH",
        Exchange(&Structure(&SEARCH), &Structure(&SEARCH_OUT)),
    ),
    (
        "BTRFS_IOC_TREE_SEARCH_V2",
        Exchange(&Structure(&SEARCH_2), &Structure(&SEARCH_2_OUT)),
    ),
    (
        "BTRFS_IOC_SET_RECEIVED_SUBVOL",
        Exchange(&Structure(&RECEIVED), &Structure(&RECEIVED_OUT)),
    ),
    (
        "BTRFS_IOC_SCRUB",
        Exchange(&Structure(&SCRUB_OF), &Structure(&SCRUB_OUT)),
    ),
    (
        "BTRFS_IOC_SCRUB_PROGRESS",
        Exchange(&Structure(&SCRUB_DEVICE), &Structure(&SCRUB_OUT)),
    ),
    (
        "BTRFS_IOC_GET_DEV_STATS",
        Exchange(&Structure(&ERRORS_OF), &Structure(&ERRORS_OUT)),
    ),
    (
        "BTRFS_IOC_DEV_REPLACE",
        Exchange(&Structure(&REPLACE), &Structure(&REPLACE_OUT)),
    ),
    (
        "BTRFS_IOC_INO_LOOKUP",
        Exchange(&Structure(&OBJECT_ASKED), &Structure(&OBJECT_OUT)),
    ),
    (
        "BTRFS_IOC_DEV_INFO",
        Exchange(&Structure(&DEVICE_ASKED), &Structure(&DEVICE_OUT)),
    ),
];
