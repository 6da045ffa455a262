//! `quotactl` and `quotactl_fd`: what their arguments mean by their command, that of the file system XFS among them.

use backsight_syscall_tables::sets::QUOTA_COMMANDS as COMMANDS;
use backsight_syscall_tables::sets::{
    QUOTA_EXTENDED as EXTENDED, QUOTA_EXTENDED_DISK as EXTENDED_DISK, QUOTA_FORMATS as FORMATS,
    QUOTA_INFORMATION as INFORMATION, QUOTA_INFORMATION_VALID as INFORMATION_VALID,
    QUOTA_VALID as VALID, QUOTA_WHOSE as WHOSE,
};

use super::*;
use crate::format;
use crate::table::kind::{CustomFormat, IntegerWidth, UnnamedStyle};
use crate::table::structure::{field, more, structure};

const U64: ValueKind = Unsigned(Eight);

structure!(BLOCKS 72 {
    field dqb_bhardlimit 0 U64, field dqb_bsoftlimit 8 U64, field dqb_curspace 16 U64, field dqb_ihardlimit 24 U64,
    field dqb_isoftlimit 32 U64, field dqb_curinodes 40 U64, more dqb_btime 48 U64, more dqb_itime 56 U64,
    more dqb_valid 64 Flags(Four, &VALID),
});
structure!(NEXT_BLOCKS 72 {
    field dqb_bhardlimit 0 U64, field dqb_bsoftlimit 8 U64, field dqb_curspace 16 U64, field dqb_ihardlimit 24 U64,
    field dqb_isoftlimit 32 U64, field dqb_curinodes 40 U64, more dqb_btime 48 U64, more dqb_itime 56 U64,
    more dqb_valid 64 Flags(Four, &VALID), field dqb_id 68 UINT,
});
structure!(LIMITS 24 {
    field dqi_bgrace 0 U64, field dqi_igrace 8 U64, field dqi_flags 16 Flags(Four, &INFORMATION),
    field dqi_valid 20 Flags(Four, &INFORMATION_VALID),
});
structure!(EXTENDED_BLOCKS 112 {
    field d_version 0 Signed(IntegerWidth::One), field d_flags 1 Flags(IntegerWidth::One, &EXTENDED_DISK), field d_fieldmask 2 Hex(Two),
    field d_id 4 UINT, field d_blk_hardlimit 8 U64, field d_blk_softlimit 16 U64, field d_ino_hardlimit 24 U64,
    field d_ino_softlimit 32 U64, field d_bcount 40 U64, field d_icount 48 U64, more d_itimer 56 INT, more d_btimer 60 INT,
    more d_iwarns 64 Unsigned(Two), more d_bwarns 66 Unsigned(Two), more d_rtb_hardlimit 72 U64, more d_rtb_softlimit 80 U64,
    more d_rtbcount 88 U64, more d_rtbtimer 96 INT, more d_rtbwarns 100 Unsigned(Two),
});
structure!(EXTENDED_FILE 24 { field qfs_ino 0 U64, field qfs_nblks 8 U64, field qfs_nextents 16 UINT });
structure!(EXTENDED_STATE 80 {
    field qs_version 0 Signed(IntegerWidth::One), more qs_flags 2 Flags(Two, &EXTENDED), more qs_uquota 8 Structure(&EXTENDED_FILE),
    more qs_gquota 32 Structure(&EXTENDED_FILE), more qs_incoredqs 56 UINT, more qs_btimelimit 60 INT,
    more qs_itimelimit 64 INT, more qs_rtbtimelimit 68 INT, more qs_bwarnlimit 72 Unsigned(Two),
    more qs_iwarnlimit 74 Unsigned(Two),
});
structure!(EXTENDED_STATES 160 {
    field qs_version 0 Signed(IntegerWidth::One), more qs_flags 2 Flags(Two, &EXTENDED), more qs_incoredqs 4 UINT,
    more qs_uquota 8 Structure(&EXTENDED_FILE), more qs_gquota 32 Structure(&EXTENDED_FILE),
    more qs_pquota 56 Structure(&EXTENDED_FILE), more qs_btimelimit 80 INT, more qs_itimelimit 84 INT,
    more qs_rtbtimelimit 88 INT, more qs_bwarnlimit 92 Unsigned(Two), more qs_iwarnlimit 94 Unsigned(Two),
});

static ASKED: CustomFormat = CustomFormat {
    write: |out, value| {
        out.extend_from_slice(b"QCMD(");
        format::one(out, value >> 8, &COMMANDS);
        out.extend_from_slice(b", ");
        format::one(out, value & 0xff, &WHOSE);
        out.push(b')');
    },
    number: UnnamedStyle::Unsigned,
};

/// What is asked, and whose quota it is about.
pub(super) const COMMAND: ValueKind = Worded(Four, &ASKED);

/// Every argument of `quotactl` behind the first.
pub(super) const ARGUMENT: ValueKind = Per(0, 8, WITH_DEVICE);
/// Those of `quotactl_fd` behind its second.
pub(super) const ARGUMENT_FD: ValueKind = Per(1, 8, GIVEN);

/// The device of `quotactl` stands before what both have.
macro_rules! both {
    ($($command:expr => [$($kind:expr),*]),* $(,)?) => {
        const GIVEN: &[(u64, &[ValueKind])] = &[$(($command, &[$($kind),*])),*];
        const WITH_DEVICE: &[(u64, &[ValueKind])] = &[$(($command, &[PATH, $($kind),*])),*];
    };
}

both! {
    0x80_0001 => [],
    0x80_0002 => [One(Four, &FORMATS), PATH],
    0x80_0003 => [],
    0x80_0004 => [Skipped, To(Out, &One(Four, &FORMATS))],
    0x80_0005 => [Skipped, To(Out, &Structure(&LIMITS))],
    0x80_0006 => [Skipped, To(In, &Structure(&LIMITS))],
    0x80_0007 => [Id, To(Out, &Structure(&BLOCKS))],
    0x80_0008 => [Id, To(In, &Structure(&BLOCKS))],
    0x80_0009 => [Id, To(Out, &Structure(&NEXT_BLOCKS))],
    0x5801 => [Skipped, To(In, &Flags(Four, &EXTENDED))],
    0x5802 => [Skipped, To(In, &Flags(Four, &EXTENDED))],
    0x5803 => [Id, To(Out, &Structure(&EXTENDED_BLOCKS))],
    0x5804 => [Id, To(In, &Structure(&EXTENDED_BLOCKS))],
    0x5805 => [Skipped, To(Out, &Structure(&EXTENDED_STATE))],
    0x5806 => [Skipped, To(In, &Flags(Four, &EXTENDED_DISK))],
    0x5807 => [],
    0x5808 => [Skipped, To(Out, &Structure(&EXTENDED_STATES))],
    0x5809 => [Id, To(Out, &Structure(&EXTENDED_BLOCKS))],
    u64::MAX => [Id, Address],
}
