//! The structures that lie behind arguments.

use super::flags as f;
use super::kind::FieldVisibility::{Always, NotZero, Reached, Verbose, VerboseNotZero, With};
use super::kind::IntegerWidth::{Eight, Four, One as One8, Two};
use super::kind::{
    FieldSource, FieldVisibility, NetworkKind as W, PidKind, SpecialKind, StructureField,
    ValueKind, ValueKind::*,
};

const fn with_source(
    name: &'static str,
    at: usize,
    kind: ValueKind,
    shown: FieldVisibility,
    source: FieldSource,
) -> StructureField {
    StructureField {
        name,
        at,
        kind,
        shown,
        source,
    }
}

pub(super) const fn field(name: &'static str, at: usize, kind: ValueKind) -> StructureField {
    with_source(name, at, kind, Always, FieldSource::Before)
}

pub(super) const fn more(name: &'static str, at: usize, kind: ValueKind) -> StructureField {
    with_source(name, at, kind, Verbose, FieldSource::Before)
}

pub(super) const fn set(name: &'static str, at: usize, kind: ValueKind) -> StructureField {
    with_source(name, at, kind, NotZero, FieldSource::Before)
}

/// A field that is shown only where the structure goes so far.
pub(super) const fn reached(name: &'static str, at: usize, kind: ValueKind) -> StructureField {
    with_source(name, at, kind, Reached, FieldSource::Before)
}

/// What the kernel fills in.
pub(super) const fn out(name: &'static str, at: usize, kind: ValueKind) -> StructureField {
    with_source(name, at, kind, Always, FieldSource::After)
}

/// The same where everything is asked for.
pub(super) const fn more_out(name: &'static str, at: usize, kind: ValueKind) -> StructureField {
    with_source(name, at, kind, Verbose, FieldSource::After)
}

/// The same where everything is asked for and it isn't zero.
pub(super) const fn more_set_out(name: &'static str, at: usize, kind: ValueKind) -> StructureField {
    with_source(name, at, kind, VerboseNotZero, FieldSource::After)
}

/// The same, in whose place dots stand where the kernel said nothing.
pub(super) const fn awaited(name: &'static str, at: usize, kind: ValueKind) -> StructureField {
    with_source(name, at, kind, Always, FieldSource::Awaited)
}

/// What the program says and then the kernel.
pub(super) const fn both(name: &'static str, at: usize, kind: ValueKind) -> StructureField {
    with_source(name, at, kind, Always, FieldSource::Both)
}

/// The same where the kernel says something else.
pub(super) const fn changed(name: &'static str, at: usize, kind: ValueKind) -> StructureField {
    with_source(name, at, kind, Always, FieldSource::Changed)
}

/// The same with the name before it once more.
pub(super) const fn renewed(name: &'static str, at: usize, kind: ValueKind) -> StructureField {
    with_source(name, at, kind, Always, FieldSource::Renewed)
}

/// A field that says something where a file may be made.
const fn made(name: &'static str, at: usize, kind: ValueKind) -> StructureField {
    const CREAT_OR_TMPFILE: u64 = 0o20_000_100;
    with_source(name, at, kind, With(CREAT_OR_TMPFILE), FieldSource::Before)
}

/// A structure whose fields are all shown.
macro_rules! structure {
    ($(#[$about:meta])* $name:ident $size:literal { $($how:ident $field:ident $(. $more:ident)* $at:literal $kind:expr),* $(,)? }) => {
        $(#[$about])*
        pub static $name: $crate::table::StructureLayout = $crate::table::StructureLayout {
            size: $size,
            fields: &[$($how(concat!(stringify!($field) $(, ".", stringify!($more))*), $at, $kind)),*],
        };
    };
}

pub(super) use structure;

pub(super) const INT: ValueKind = Signed(Four);
pub(super) const UINT: ValueKind = Unsigned(Four);
const LONG: ValueKind = Signed(Eight);
pub(super) const ULONG: ValueKind = Unsigned(Eight);

structure!(TIMESPEC 16 { field tv_sec 0 LONG, field tv_nsec 8 ULONG });
structure!(TIMEVAL 16 { field tv_sec 0 LONG, field tv_usec 8 ULONG });
structure!(TIMEZONE 8 { field tz_minuteswest 0 INT, field tz_dsttime 4 INT });
structure!(ITIMERVAL 32 { field it_interval 0 Structure(&TIMEVAL), field it_value 16 Structure(&TIMEVAL) });
structure!(ITIMERSPEC 32 { field it_interval 0 Structure(&TIMESPEC), field it_value 16 Structure(&TIMESPEC) });
structure!(RLIMIT 16 { field rlim_cur 0 Special(SpecialKind::Limit), field rlim_max 8 Special(SpecialKind::Limit) });
structure!(UTIMBUF 16 { field actime 0 Moment, field modtime 8 Moment });
structure!(TMS 32 { field tms_utime 0 Special(SpecialKind::Ticks), field tms_stime 8 Special(SpecialKind::Ticks), field tms_cutime 16 Special(SpecialKind::Ticks), field tms_cstime 24 Special(SpecialKind::Ticks) });
structure!(RUSAGE 144 {
    field ru_utime 0 Structure(&TIMEVAL), field ru_stime 16 Structure(&TIMEVAL),
    more ru_maxrss 32 ULONG, more ru_ixrss 40 ULONG, more ru_idrss 48 ULONG, more ru_isrss 56 ULONG,
    more ru_minflt 64 ULONG, more ru_majflt 72 ULONG, more ru_nswap 80 ULONG, more ru_inblock 88 ULONG,
    more ru_oublock 96 ULONG, more ru_msgsnd 104 ULONG, more ru_msgrcv 112 ULONG, more ru_nsignals 120 ULONG,
    more ru_nvcsw 128 ULONG, more ru_nivcsw 136 ULONG,
});
structure!(UTSNAME 390 {
    field sysname 0 Characters(65), field nodename 65 Characters(65), more release 130 Characters(65),
    more version 195 Characters(65), more machine 260 Characters(65), more domainname 325 Characters(65),
});
structure!(SYSINFO 112 {
    field uptime 0 LONG, field loads 8 Array(&ULONG, 3), field totalram 32 ULONG, field freeram 40 ULONG,
    field sharedram 48 ULONG, field bufferram 56 ULONG, field totalswap 64 ULONG, field freeswap 72 ULONG,
    field procs 80 Unsigned(Two), field totalhigh 88 ULONG, field freehigh 96 ULONG, field mem_unit 104 UINT,
});
structure!(STATFS 120 {
    field f_type 0 One(Eight, &f::FS_MAGIC), field f_bsize 8 ULONG, field f_blocks 16 ULONG, field f_bfree 24 ULONG,
    field f_bavail 32 ULONG, field f_files 40 ULONG, field f_ffree 48 ULONG, field f_fsid 56 Structure(&FSID),
    field f_namelen 64 ULONG, field f_frsize 72 ULONG, field f_flags 80 Flags(Eight, &f::STATFS_FLAGS),
});
structure!(FSID 8 { field val 0 Array(&Hex(Four), 2) });
structure!(FLOCK 32 {
    field l_type 0 One(Two, &f::LOCK_TYPE), field l_whence 2 One(Two, &f::WHENCE), field l_start 8 LONG, field l_len 16 LONG,
});
structure!(FLOCK_GET 32 {
    field l_type 0 One(Two, &f::LOCK_TYPE), field l_whence 2 One(Two, &f::WHENCE), field l_start 8 LONG, field l_len 16 LONG,
    field l_pid 24 Process(PidKind::Process),
});
structure!(OPEN_HOW 24 {
    field flags 0 Special(SpecialKind::HowFlags), made mode 8 Special(SpecialKind::HowMode), field resolve 16 Flags(Eight, &f::RESOLVE),
});
structure!(EPOLL_EVENT_X86 12 { field events 0 Flags(Four, &f::EPOLL), field data 4 Hex(Eight) });
structure!(EPOLL_EVENT 16 { field events 0 Flags(Four, &f::EPOLL), field data 8 Hex(Eight) });
structure!(SCHED_ATTR 56 {
    field size 0 UINT, field sched_policy 4 One(Four, &f::SCHED), field sched_flags 8 Flags(Eight, &f::SCHED_FLAGS),
    field sched_nice 16 INT, field sched_priority 20 UINT, field sched_runtime 24 ULONG, field sched_deadline 32 ULONG,
    field sched_period 40 ULONG, field sched_util_min 48 UINT, field sched_util_max 52 UINT,
});
structure!(SCHED_PARAM 4 { field sched_priority 0 INT });
structure!(EPOLL_SLOT 12 { field efd 0 FdOf(1), field tfd 4 FdOf(1), field toff 8 UINT });
structure!(WINSIZE 8 {
    field ws_row 0 Unsigned(Two), field ws_col 2 Unsigned(Two), field ws_xpixel 4 Unsigned(Two), field ws_ypixel 6 Unsigned(Two),
});
structure!(STACK 24 { field ss_sp 0 Address, field ss_flags 8 Flags(Four, &f::SS), field ss_size 16 ULONG });
structure!(LINGER 8 { field l_onoff 0 INT, field l_linger 4 INT });
structure!(UCRED 12 { field pid 0 Process(PidKind::Process), field uid 4 Id, field gid 8 Id });
structure!(PACKET_INFORMATION 12 {
    field ipi_ifindex 0 Wire(W::Interface), field ipi_spec_dst 4 Wire(W::Inet), field ipi_addr 8 Wire(W::Inet),
});
structure!(IP_ERROR 32 {
    field ee_errno 0 UINT, field ee_origin 4 Unsigned(One8), field ee_type 5 Unsigned(One8), field ee_code 6 Unsigned(One8),
    field ee_info 8 UINT, field ee_data 12 UINT, field offender 16 Special(SpecialKind::InPlaceAddress(16)),
});
structure!(SEQUENCE 32 {
    field version 0 UINT, field flags 4 Flags(Four, &f::RSEQ_SEQUENCE), field start_ip 8 Hex(Eight),
    field post_commit_offset 16 Hex(Eight), field abort_ip 24 Hex(Eight),
});
structure!(DELEGATION 8 {
    field d_flags 0 Hex(Four), field d_type 4 One(Two, &f::LOCK_TYPE), field __pad 6 Hex(Two),
});
structure!(SEMBUF 6 { field sem_num 0 Unsigned(Two), field sem_op 2 Signed(Two), field sem_flg 4 Flags(Two, &f::SEM) });
structure!(MQ_ATTR_OPEN 64 {
    field mq_flags 0 Hex(Eight), field mq_maxmsg 8 LONG, field mq_msgsize 16 LONG, field mq_curmsgs 24 LONG,
});
structure!(MQ_ATTR 64 {
    field mq_flags 0 Flags(Eight, &f::MQ_FLAGS), field mq_maxmsg 8 LONG, field mq_msgsize 16 LONG, field mq_curmsgs 24 LONG,
});
