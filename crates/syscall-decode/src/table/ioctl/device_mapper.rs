//! Requests of the device mapper. Which parts of its header are shown hangs on the request.

use backsight_syscall_tables::sets::IOCTL_MAPPER_STATE as STATE;

use super::*;

const NO_NAME: FieldCondition = FieldCondition::Not(48, Byte, &[0]);
const NO_UUID: FieldCondition = FieldCondition::Not(176, Byte, &[0]);

structure!(VERSION 12 { field version 0 Array(&UINT, 3) });
structure!(SIZE 16 { field data_size 12 UINT });
structure!(START 20 { field data_start 16 UINT });
structure!(DEVICE 305 {
    set dev 40 Device, field name 48 Only(NO_NAME, &Characters(128)), field uuid 176 Only(NO_UUID, &Characters(129)),
});
structure!(TARGETS 24 { field target_count 20 UINT });
structure!(EVENT 36 { field event_nr 32 UINT });
structure!(ANSWERED 36 { field target_count 20 UINT, field open_count 24 UINT, field event_nr 32 UINT });
structure!(FLAGS 32 { field flags 28 Flags(Four, &STATE) });
structure!(TARGET 40 { field sector_start 0 ULONG, field length 8 ULONG, field target_type 24 Characters(16) });
structure!(TARGET_STATUS 40 {
    field sector_start 0 ULONG, field length 8 ULONG, field status 16 INT, field target_type 24 Characters(16),
});
structure!(NAME 16 { field dev 0 Device });
structure!(TARGET_VERSION 16 { field version 4 Array(&UINT, 3) });

pub(super) static ARGUMENTS: Family = &[(
    "DM_VERSION DM_REMOVE_ALL DM_LIST_DEVICES DM_DEV_CREATE DM_DEV_REMOVE DM_DEV_RENAME DM_DEV_SUSPEND DM_DEV_STATUS \
     DM_DEV_WAIT DM_TABLE_LOAD DM_TABLE_CLEAR DM_TABLE_DEPS DM_TABLE_STATUS DM_LIST_VERSIONS DM_TARGET_MSG \
     DM_DEV_SET_GEOMETRY DM_DEV_ARM_POLL",
    Special(S::Mapper),
)];
