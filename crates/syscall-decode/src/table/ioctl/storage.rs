//! Requests of loop devices.

use backsight_syscall_tables::sets::{IOCTL_STORAGE_CIPHER as CIPHER, IOCTL_STORAGE_LOOP as LOOP};

use super::*;

/// What is told of a cipher only where there is one, unless everything is asked for.
const CIPHERED: FieldCondition = FieldCondition::Not(36, Four, &[0]);
const PLAIN: FieldCondition = FieldCondition::Is(36, Four, &[0]);
const KEY: ValueKind = Octets(LengthSource::Field(40, Four, 1), 32);
structure!(STATUS 168 {
    field lo_number 0 INT, more lo_device 8 Device, more lo_inode 16 ULONG, more lo_rdevice 24 Device,
    field lo_offset 32 BITS,
    field lo_encrypt_type 36 Only(CIPHERED, &One(Four, &CIPHER)), field lo_encrypt_key_size 40 Only(CIPHERED, &UINT),
    more lo_encrypt_type 36 Only(PLAIN, &One(Four, &CIPHER)), more lo_encrypt_key_size 40 Only(PLAIN, &UINT),
    field lo_flags 44 Flags(Four, &LOOP), field lo_name 48 Characters(64),
    field lo_encrypt_key 112 Only(CIPHERED, &KEY), more lo_encrypt_key 112 Only(PLAIN, &KEY),
    more lo_init 144 Array(&LONG_BITS, 2), more reserved 160 Array(&Hex(Byte), 4),
});
const CIPHERED_64: FieldCondition = FieldCondition::Not(44, Four, &[0]);
const PLAIN_64: FieldCondition = FieldCondition::Is(44, Four, &[0]);
const KEY_64: ValueKind = Octets(LengthSource::Field(48, Four, 1), 32);
structure!(STATUS_64 232 {
    more lo_device 0 Device, more lo_inode 8 ULONG, more lo_rdevice 16 Device, field lo_offset 24 LONG_BITS,
    more lo_sizelimit 32 ULONG, field lo_number 40 UINT,
    field lo_encrypt_type 44 Only(CIPHERED_64, &One(Four, &CIPHER)),
    field lo_encrypt_key_size 48 Only(CIPHERED_64, &UINT),
    more lo_encrypt_type 44 Only(PLAIN_64, &One(Four, &CIPHER)), more lo_encrypt_key_size 48 Only(PLAIN_64, &UINT),
    field lo_flags 52 Flags(Four, &LOOP), field lo_file_name 56 Characters(64),
    field lo_crypt_name 120 Only(CIPHERED_64, &Characters(64)), more lo_crypt_name 120 Only(PLAIN_64, &Characters(64)),
    field lo_encrypt_key 184 Only(CIPHERED_64, &KEY_64), more lo_encrypt_key 184 Only(PLAIN_64, &KEY_64),
    more lo_init 216 Array(&LONG_BITS, 2),
});
structure!(LOOP_OF 304 {
    field fd 0 Fd, field block_size 4 UINT, field info 8 Structure(&STATUS_64), set __reserved 240 Array(&LONG_BITS, 8),
});

pub(super) static ARGUMENTS: Family = &[
    ("LOOP_SET_FD LOOP_CHANGE_FD", Fd),
    ("LOOP_CLR_FD LOOP_SET_CAPACITY LOOP_CTL_GET_FREE", Hidden),
    ("LOOP_SET_DIRECT_IO LOOP_SET_BLOCK_SIZE", ULONG),
    ("LOOP_CTL_ADD LOOP_CTL_REMOVE", INT),
    ("LOOP_SET_STATUS", pointer_in(&Structure(&STATUS))),
    ("LOOP_GET_STATUS", pointer_out(&Structure(&STATUS))),
    ("LOOP_SET_STATUS64", pointer_in(&Structure(&STATUS_64))),
    ("LOOP_GET_STATUS64", pointer_out(&Structure(&STATUS_64))),
    ("LOOP_CONFIGURE", pointer_in(&Structure(&LOOP_OF))),
];
