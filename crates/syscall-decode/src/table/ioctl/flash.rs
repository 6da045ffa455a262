//! Requests of flash memory, bare or with volumes on it.

use backsight_syscall_tables::sets::{
    IOCTL_FLASH_ABLE as ABLE, IOCTL_FLASH_CORRECTION as CORRECTION, IOCTL_FLASH_DATA as DATA,
    IOCTL_FLASH_FILE_MODE as FILE_MODE, IOCTL_FLASH_MEMORY as MEMORY, IOCTL_FLASH_MODE as MODE,
    IOCTL_FLASH_PROPERTY as PROPERTY, IOCTL_FLASH_SELECTED as SELECTED,
    IOCTL_FLASH_VOLUME as VOLUME, IOCTL_FLASH_VOLUME_FLAGS as VOLUME_FLAGS,
};

use super::*;

structure!(STRETCH 8 { field start 0 BITS, field length 4 BITS });
structure!(LONG_STRETCH 16 { field start 0 LONG_BITS, field length 8 LONG_BITS });
structure!(BESIDE 16 { field start 0 BITS, field length 4 BITS, field ptr 8 Address });
structure!(LONG_BESIDE 24 { field start 0 LONG_BITS, field length 12 BITS, field usr_ptr 16 Address });
structure!(ONE_TIME 12 { field start 0 BITS, field length 4 BITS, field locked 8 UINT });
structure!(WRITTEN 48 {
    field start 0 LONG_BITS, field len 8 LONG_BITS, field ooblen 16 LONG_BITS, field usr_data 24 Address,
    field usr_oob 32 Address, field mode 40 One(Byte, &MODE),
});
structure!(INFO 32 {
    field r#type 0 One(Byte, &MEMORY), field flags 4 Flags(Four, &ABLE), field size 8 BITS, field erasesize 12 BITS,
    field writesize 16 BITS, field oobsize 20 BITS, field padding 24 LONG_BITS,
});
structure!(PLACES 200 {
    field useecc 0 One(Four, &CORRECTION), field eccbytes 4 BITS, field oobfree 8 Array(&Array(&BITS, 2), 8),
    field eccpos 72 Array(&BITS, 32),
});
structure!(FREE 8 { field offset 0 BITS, field length 4 BITS });
structure!(LAYOUT 328 {
    field eccbytes 0 BITS, field eccpos 4 Counted(&BITS, LengthSource::Fixed(64), 64), field oobavail 260 BITS,
    field oobfree 264 Array(&Structure(&FREE), 8),
});
structure!(CORRECTED 16 { field corrected 0 BITS, field failed 4 BITS, field badblocks 8 BITS, field bbtblocks 12 BITS });
structure!(REGION 16 {
    field regionindex 12 BITS, out offset 0 BITS, out erasesize 4 BITS, out numblocks 8 BITS,
});

const NAME: usize = 128;
structure!(MADE 152 {
    field vol_id 0 INT, field alignment 4 INT, field bytes 8 LONG, field vol_type 16 One(Byte, &VOLUME),
    field flags 17 Flags(Byte, &VOLUME_FLAGS), field name_len 18 Signed(Two),
    field name 24 Letters(LengthSource::Positive(18, Two, 1), NAME),
});
structure!(RESIZED 12 { field bytes 0 LONG, field vol_id 8 INT });
structure!(NAMED 136 {
    field vol_id 0 INT, field name_len 4 Signed(Two), field name 8 Letters(LengthSource::Positive(4, Two, 1), NAME),
});
structure!(RENAMED 4368 {
    field count 0 INT, field ents 16 Counted(&Structure(&NAMED), LengthSource::Positive(0, Four, 0), 32),
});
structure!(CHANGED 16 { field lnum 0 INT, field bytes 4 INT, field dtype 8 One(Byte, &DATA) });
structure!(MAPPED 8 { field lnum 0 INT, field dtype 4 One(Byte, &DATA) });
structure!(ATTACHED 24 {
    field ubi_num 0 INT, field mtd_num 4 INT, field vid_hdr_offset 8 INT, field max_beb_per1024 12 Signed(Two),
    field disable_fm 14 Signed(Byte), field need_resv_pool 15 Signed(Byte),
});
structure!(SET 16 { field property 0 One(Byte, &PROPERTY), field value 8 LONG_BITS });

pub(super) static ARGUMENTS: Family = &[
    (
        "MEMERASE MEMLOCK MEMUNLOCK MEMISLOCKED",
        pointer_in(&Structure(&STRETCH)),
    ),
    ("MEMERASE64", pointer_in(&Structure(&LONG_STRETCH))),
    ("MEMWRITEOOB MEMREADOOB", pointer_in(&Structure(&BESIDE))),
    (
        "MEMWRITEOOB64 MEMREADOOB64",
        pointer_in(&Structure(&LONG_BESIDE)),
    ),
    ("MEMWRITE", pointer_in(&Structure(&WRITTEN))),
    ("OTPGETREGIONINFO", pointer_out(&Structure(&ONE_TIME))),
    ("OTPLOCK", pointer_in(&Structure(&ONE_TIME))),
    ("OTPSELECT", pointer_in(&One(Four, &SELECTED))),
    ("MTDFILEMODE", One(Eight, &FILE_MODE)),
    ("MEMGETBADBLOCK MEMSETBADBLOCK", pointer_in(&ULONG)),
    ("MEMGETINFO", pointer_out(&Structure(&INFO))),
    ("MEMGETOOBSEL", pointer_out(&Structure(&PLACES))),
    ("ECCGETLAYOUT", pointer_out(&Structure(&LAYOUT))),
    ("ECCGETSTATS", pointer_out(&Structure(&CORRECTED))),
    ("OTPGETREGIONCOUNT", UINT_OUT),
    ("MEMGETREGIONCOUNT", INT_OUT),
    ("MEMGETREGIONINFO", InOut(&REGION)),
    ("UBI_IOCMKVOL", Exchange(&Structure(&MADE), &INT)),
    ("UBI_IOCRSVOL", pointer_in(&Structure(&RESIZED))),
    ("UBI_IOCRNVOL", pointer_in(&Structure(&RENAMED))),
    ("UBI_IOCEBCH", pointer_in(&Structure(&CHANGED))),
    ("UBI_IOCATT", Exchange(&Structure(&ATTACHED), &INT)),
    ("UBI_IOCEBMAP", pointer_in(&Structure(&MAPPED))),
    ("UBI_IOCSETVOLPROP", pointer_in(&Structure(&SET))),
    ("UBI_IOCVOLUP", pointer_in(&LONG)),
    (
        "UBI_IOCDET UBI_IOCEBER UBI_IOCEBISMAP UBI_IOCEBUNMAP UBI_IOCRMVOL UBI_IOCRPEB UBI_IOCSPEB",
        INT_IN,
    ),
    ("UBI_IOCVOLCRBLK UBI_IOCVOLRMBLK", Hidden),
];
