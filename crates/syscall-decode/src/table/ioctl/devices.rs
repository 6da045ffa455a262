//! Requests of small devices: clocks, watchdogs, infrared receivers, network block devices, sources of randomness, and of
//! descriptors that have few requests of their own.

use backsight_syscall_tables::sets::IOCTL_DEVICES_FEATURES as FEATURES;
use backsight_syscall_tables::sets::{
    IOCTL_DEVICES_BACKUP as BACKUP, IOCTL_DEVICES_COUNTER_GROUP as COUNTER_GROUP,
    IOCTL_DEVICES_MODEM as MODEM, IOCTL_DEVICES_NETWORK_BLOCK as NETWORK_BLOCK,
    IOCTL_DEVICES_PARAMETER as PARAMETER, IOCTL_DEVICES_RECEIVER as RECEIVER,
    IOCTL_DEVICES_RECEIVING as RECEIVING, IOCTL_DEVICES_SPACE as SPACE,
    IOCTL_DEVICES_VOLTAGE as VOLTAGE,
};

use super::*;

structure!(TIME 36 {
    field tm_sec 0 INT, field tm_min 4 INT, field tm_hour 8 INT, field tm_mday 12 INT, field tm_mon 16 INT,
    field tm_year 20 INT, more tm_wday 24 INT, more tm_yday 28 INT, more tm_isdst 32 INT,
});
structure!(ALARM 40 { field enabled 0 U8, field pending 1 U8, field time 4 Structure(&TIME) });
structure!(PHASE 32 {
    field pll_ctrl 0 INT, field pll_value 4 INT, field pll_max 8 INT, field pll_min 12 INT, field pll_posmult 16 INT,
    field pll_negmult 20 INT, field pll_clock 24 LONG,
});
/// What a parameter of a clock is set to.
const UNSIGNED: ValueKind = Only(
    FieldCondition::Not(0, Eight, &[1]),
    &ByField(
        0,
        Eight,
        &[(0, Flags(Eight, &FEATURES)), (2, One(Eight, &BACKUP))],
        &LONG_BITS,
    ),
);
const SIGNED: ValueKind = Only(FieldCondition::Is(0, Eight, &[1]), &LONG);
structure!(PARAMETER_OF 24 { field param 0 One(Eight, &PARAMETER), field index 16 UINT, set __pad 20 BITS });
structure!(PARAMETER_OUT 24 { field uvalue 8 UNSIGNED, field svalue 8 SIGNED, set __pad 20 BITS });
structure!(PARAMETER_SET 24 {
    field param 0 One(Eight, &PARAMETER), field uvalue 8 UNSIGNED, field svalue 8 SIGNED, field index 16 UINT,
    set __pad 20 BITS,
});
structure!(WATCHDOG 40 {
    field options 0 Flags(Four, &f::IOCTL_WATCHDOG_CAN), field firmware_version 4 UINT, field identity 8 Characters(32),
});
structure!(ENTROPY 8 {
    field entropy_count 0 INT, field buf_size 4 INT, field buf 8 Tail(&Bytes(In, LengthSource::Field(4, Four, 1))),
});
structure!(PROGRAMS 8 {
    field ids_len 0 UINT, awaited prog_cnt 4 UINT, out ids 8 Tail(&Many(Out, &UINT, LengthSource::Field(4, Four, 1))),
});

pub(super) static RESULTS: Results = &[
    ("NS_GET_NSTYPE", RequestResult::Named(&SPACE)),
    ("NS_GET_USERNS NS_GET_PARENT", RequestResult::Descriptor),
];

pub(super) static ARGUMENTS: Family = &[
    (
        "RTC_AIE_OFF RTC_AIE_ON RTC_PIE_OFF RTC_PIE_ON RTC_UIE_OFF RTC_UIE_ON RTC_VL_CLR RTC_WIE_OFF RTC_WIE_ON",
        Hidden,
    ),
    ("RTC_EPOCH_SET RTC_IRQP_SET", ULONG),
    ("RTC_EPOCH_READ RTC_IRQP_READ", pointer_out(&ULONG)),
    ("RTC_ALM_SET RTC_SET_TIME", pointer_in(&Structure(&TIME))),
    ("RTC_ALM_READ RTC_RD_TIME", pointer_out(&Structure(&TIME))),
    ("RTC_WKALM_SET", pointer_in(&Structure(&ALARM))),
    ("RTC_WKALM_RD", pointer_out(&Structure(&ALARM))),
    ("RTC_PLL_SET", pointer_in(&Structure(&PHASE))),
    ("RTC_PLL_GET", pointer_out(&Structure(&PHASE))),
    ("RTC_VL_READ", pointer_out(&Flags(Four, &VOLTAGE))),
    (
        "RTC_PARAM_GET",
        Answered(&Structure(&PARAMETER_OF), &Structure(&PARAMETER_OUT)),
    ),
    ("RTC_PARAM_SET", pointer_in(&Structure(&PARAMETER_SET))),
    (
        "LIRC_SET_REC_TIMEOUT LIRC_SET_WIDEBAND_RECEIVER LIRC_SET_MEASURE_CARRIER_MODE LIRC_SET_REC_TIMEOUT_REPORTS \
         LIRC_SET_SEND_DUTY_CYCLE LIRC_SET_SEND_CARRIER LIRC_SET_REC_CARRIER LIRC_SET_REC_CARRIER_RANGE",
        UINT_IN,
    ),
    (
        "LIRC_GET_REC_RESOLUTION LIRC_GET_REC_TIMEOUT LIRC_GET_MIN_TIMEOUT LIRC_GET_MAX_TIMEOUT LIRC_GET_LENGTH",
        UINT_OUT,
    ),
    (
        "LIRC_SET_SEND_MODE LIRC_SET_REC_MODE",
        pointer_in(&One(Four, &RECEIVING)),
    ),
    (
        "LIRC_GET_SEND_MODE LIRC_GET_REC_MODE",
        pointer_out(&One(Four, &RECEIVING)),
    ),
    ("LIRC_SET_TRANSMITTER_MASK", pointer_in(&BITS)),
    ("LIRC_GET_FEATURES", pointer_out(&Flags(Four, &RECEIVER))),
    ("WDIOC_GETSUPPORT", pointer_out(&Structure(&WATCHDOG))),
    (
        "WDIOC_GETSTATUS WDIOC_GETBOOTSTATUS WDIOC_GETTEMP WDIOC_GETTIMEOUT WDIOC_GETPRETIMEOUT WDIOC_GETTIMELEFT",
        INT_OUT,
    ),
    ("WDIOC_SETTIMEOUT WDIOC_SETPRETIMEOUT", INT_IN),
    ("WDIOC_KEEPALIVE", Hidden),
    (
        "WDIOC_SETOPTIONS",
        pointer_in(&Flags(Four, &f::IOCTL_WATCHDOG_OPTIONS)),
    ),
    (
        "NBD_DISCONNECT NBD_CLEAR_SOCK NBD_DO_IT NBD_CLEAR_QUE NBD_PRINT_DEBUG",
        Hidden,
    ),
    ("NBD_SET_SOCK", Fd),
    (
        "NBD_SET_BLKSIZE NBD_SET_SIZE NBD_SET_SIZE_BLOCKS NBD_SET_TIMEOUT",
        ULONG,
    ),
    ("NBD_SET_FLAGS", Flags(Four, &NETWORK_BLOCK)),
    ("RNDGETENTCNT", INT_OUT),
    ("RNDADDTOENTCNT", INT_IN),
    ("RNDADDENTROPY", pointer_in(&Structure(&ENTROPY))),
    ("RNDZAPENTCNT RNDCLEARPOOL RNDRESEEDCRNG", Hidden),
    ("INOTIFY_IOC_SETNEXTWD", INT),
    ("NS_GET_USERNS NS_GET_PARENT NS_GET_NSTYPE", Hidden),
    ("NS_GET_OWNER_UID", pointer_out(&Id)),
    (
        "TIOCMBIS TIOCMBIC TIOCMSET",
        pointer_in(&Flags(Four, &MODEM)),
    ),
    ("TIOCMGET", pointer_out(&Flags(Four, &MODEM))),
    (
        "PERF_EVENT_IOC_ENABLE PERF_EVENT_IOC_DISABLE PERF_EVENT_IOC_RESET",
        Flags(Four, &COUNTER_GROUP),
    ),
    ("PERF_EVENT_IOC_REFRESH", INT),
    ("PERF_EVENT_IOC_PERIOD", pointer_in(&ULONG)),
    ("PERF_EVENT_IOC_SET_OUTPUT PERF_EVENT_IOC_SET_BPF", Fd),
    ("PERF_EVENT_IOC_SET_FILTER", Text(In)),
    ("PERF_EVENT_IOC_PAUSE_OUTPUT", ULONG),
    ("PERF_EVENT_IOC_ID", pointer_out(&ULONG)),
    ("PERF_EVENT_IOC_QUERY_BPF", InOut(&PROGRAMS)),
    ("PERF_EVENT_IOC_MODIFY_ATTRIBUTES", Special(S::Counter)),
];
