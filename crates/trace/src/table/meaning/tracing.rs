//! `ptrace`: what its arguments mean, by what is asked.

use super::*;
use crate::table::kind::{Width::One as Byte, names};
use crate::table::structure::{field, out, structure};

names!(REQUESTS "PTRACE_???" "" {
    "PTRACE_TRACEME" = 0, "PTRACE_PEEKTEXT" = 1, "PTRACE_PEEKDATA" = 2, "PTRACE_PEEKUSER" = 3, "PTRACE_POKETEXT" = 4,
    "PTRACE_POKEDATA" = 5, "PTRACE_POKEUSER" = 6, "PTRACE_CONT" = 7, "PTRACE_KILL" = 8, "PTRACE_SINGLESTEP" = 9,
    "PTRACE_GETREGS" = 0xc, "PTRACE_SETREGS" = 0xd, "PTRACE_GETFPREGS" = 0xe, "PTRACE_SETFPREGS" = 0xf,
    "PTRACE_ATTACH" = 0x10, "PTRACE_DETACH" = 0x11, "PTRACE_SYSCALL" = 0x18, "PTRACE_SETOPTIONS" = 0x4200,
    "PTRACE_GETEVENTMSG" = 0x4201, "PTRACE_GETSIGINFO" = 0x4202, "PTRACE_SETSIGINFO" = 0x4203,
    "PTRACE_GETREGSET" = 0x4204, "PTRACE_SETREGSET" = 0x4205, "PTRACE_SEIZE" = 0x4206, "PTRACE_INTERRUPT" = 0x4207,
    "PTRACE_LISTEN" = 0x4208, "PTRACE_PEEKSIGINFO" = 0x4209, "PTRACE_GETSIGMASK" = 0x420a,
    "PTRACE_SETSIGMASK" = 0x420b, "PTRACE_SECCOMP_GET_FILTER" = 0x420c, "PTRACE_SECCOMP_GET_METADATA" = 0x420d,
    "PTRACE_GET_SYSCALL_INFO" = 0x420e, "PTRACE_GET_RSEQ_CONFIGURATION" = 0x420f, "PTRACE_OLDSETOPTIONS" = 0x15,
    "PTRACE_GET_THREAD_AREA" = 0x19, "PTRACE_SET_THREAD_AREA" = 0x1a, "PTRACE_ARCH_PRCTL" = 0x1e,
    "PTRACE_SYSEMU" = 0x1f, "PTRACE_SYSEMU_SINGLESTEP" = 0x20, "PTRACE_SINGLEBLOCK" = 0x21,
    "PTRACE_GETFPXREGS" = 0x12, "PTRACE_SETFPXREGS" = 0x13,
});
names!(OPTIONS "PTRACE_O_???" "0" {
    "PTRACE_O_TRACESYSGOOD" = 1, "PTRACE_O_TRACEFORK" = 2, "PTRACE_O_TRACEVFORK" = 4, "PTRACE_O_TRACECLONE" = 8,
    "PTRACE_O_TRACEEXEC" = 16, "PTRACE_O_TRACEVFORKDONE" = 32, "PTRACE_O_TRACEEXIT" = 0x40,
    "PTRACE_O_TRACESECCOMP" = 0x80, "PTRACE_O_EXITKILL" = 0x10_0000, "PTRACE_O_SUSPEND_SECCOMP" = 0x20_0000,
});
names!(SETS "NT_???" "" {
    "NT_PRSTATUS" = 1, "NT_FPREGSET" = 2, "NT_PRPSINFO" = 3, "NT_PRXREG" = 4, "NT_PLATFORM" = 5, "NT_AUXV" = 6,
    "NT_GWINDOWS" = 7, "NT_ASRS" = 8, "NT_PSTATUS" = 0xa, "NT_PSINFO" = 0xd, "NT_PRCRED" = 0xe, "NT_UTSNAME" = 0xf,
    "NT_LWPSTATUS" = 0x10, "NT_LWPSINFO" = 0x11, "NT_PRFPXREG" = 0x14, "NT_PPC_VMX" = 0x100, "NT_PPC_SPE" = 0x101,
    "NT_PPC_VSX" = 0x102, "NT_PPC_TAR" = 0x103, "NT_PPC_PPR" = 0x104, "NT_PPC_DSCR" = 0x105, "NT_PPC_EBB" = 0x106,
    "NT_PPC_PMU" = 0x107, "NT_PPC_TM_CGPR" = 0x108, "NT_PPC_TM_CFPR" = 0x109, "NT_PPC_TM_CVMX" = 0x10a,
    "NT_PPC_TM_CVSX" = 0x10b, "NT_PPC_TM_SPR" = 0x10c, "NT_PPC_TM_CTAR" = 0x10d, "NT_PPC_TM_CPPR" = 0x10e,
    "NT_PPC_TM_CDSCR" = 0x10f, "NT_PPC_PKEY" = 0x110, "NT_386_TLS" = 0x200, "NT_386_IOPERM" = 0x201,
    "NT_X86_XSTATE" = 0x202, "NT_S390_HIGH_GPRS" = 0x300, "NT_S390_TIMER" = 0x301, "NT_S390_TODCMP" = 0x302,
    "NT_S390_TODPREG" = 0x303, "NT_S390_CTRS" = 0x304, "NT_S390_PREFIX" = 0x305, "NT_S390_LAST_BREAK" = 0x306,
    "NT_S390_SYSTEM_CALL" = 0x307, "NT_S390_TDB" = 0x308, "NT_S390_VXRS_LOW" = 0x309, "NT_S390_VXRS_HIGH" = 0x30a,
    "NT_S390_GS_CB" = 0x30b, "NT_S390_GS_BC" = 0x30c, "NT_S390_RI_CB" = 0x30d, "NT_S390_PV_CPU_DATA" = 0x30e,
    "NT_ARM_VFP" = 0x400, "NT_ARM_TLS" = 0x401, "NT_ARM_HW_BREAK" = 0x402, "NT_ARM_HW_WATCH" = 0x403,
    "NT_ARM_SYSTEM_CALL" = 0x404, "NT_ARM_SVE" = 0x405, "NT_ARM_PAC_MASK" = 0x406, "NT_ARM_PACA_KEYS" = 0x407,
    "NT_ARM_PACG_KEYS" = 0x408, "NT_ARM_TAGGED_ADDR_CTRL" = 0x409, "NT_ARM_PAC_ENABLED_KEYS" = 0x40a,
    "NT_ARM_SSVE" = 0x40b, "NT_ARM_ZA" = 0x40c, "NT_METAG_CBUF" = 0x500, "NT_METAG_RPIPE" = 0x501,
    "NT_METAG_TLS" = 0x502, "NT_ARC_V2" = 0x600, "NT_VMCOREDD" = 0x700, "NT_MIPS_DSP" = 0x800,
    "NT_MIPS_FP_MODE" = 0x801, "NT_MIPS_MSA" = 0x802, "NT_LOONGARCH_CPUCFG" = 0xa00, "NT_LOONGARCH_CSR" = 0xa01,
    "NT_LOONGARCH_LSX" = 0xa02, "NT_LOONGARCH_LASX" = 0xa03, "NT_LOONGARCH_LBT" = 0xa04, "NT_FILE" = 0x46494c45,
    "NT_PRXFPREG" = 0x46e62b7f, "NT_SIGINFO" = 0x53494749,
});
names!(SHARED_QUEUE "PTRACE_PEEKSIGINFO_???" "0" { "PTRACE_PEEKSIGINFO_SHARED" = 1 });
names!(pub(crate) STOPS "PTRACE_SYSCALL_INFO_???" "" {
    "PTRACE_SYSCALL_INFO_NONE" = 0, "PTRACE_SYSCALL_INFO_ENTRY" = 1, "PTRACE_SYSCALL_INFO_EXIT" = 2,
    "PTRACE_SYSCALL_INFO_SECCOMP" = 3,
});
// Where the parts of what a debugger sees of a thread on x86-64 begin (`struct user`).
names!(pub(crate) USER "" "" {
    "8*R15" = 0, "8*R14" = 8, "8*R13" = 16, "8*R12" = 24, "8*RBP" = 32, "8*RBX" = 40, "8*R11" = 48, "8*R10" = 56,
    "8*R9" = 0x40, "8*R8" = 72, "8*RAX" = 80, "8*RCX" = 88, "8*RDX" = 96, "8*RSI" = 104, "8*RDI" = 112,
    "8*ORIG_RAX" = 120, "8*RIP" = 0x80, "8*CS" = 136, "8*EFL" = 144, "8*RSP" = 152, "8*SS" = 160,
    "offsetof(struct user, u_fpvalid)" = 216, "offsetof(struct user, i387)" = 224,
    "offsetof(struct user, u_tsize)" = 736, "offsetof(struct user, u_dsize)" = 744,
    "offsetof(struct user, u_ssize)" = 752, "offsetof(struct user, start_code)" = 760,
    "offsetof(struct user, start_stack)" = 768, "offsetof(struct user, signal)" = 776,
    "offsetof(struct user, reserved)" = 784, "offsetof(struct user, u_ar0)" = 792,
    "offsetof(struct user, u_fpstate)" = 800, "offsetof(struct user, magic)" = 808,
    "offsetof(struct user, u_comm)" = 816, "offsetof(struct user, u_debugreg)" = 848, "sizeof(struct user)" = 912,
});

structure!(PEEKED 16 { field off 0 ULONG, field flags 8 Flags(Four, &SHARED_QUEUE), field nr 12 UINT });
// The kernel's part lies behind what the program must say.
structure!(METADATA 8 { field filter_off 0 ULONG, out flags 8 Flags(Eight, &f::SECCOMP_FLAGS) });
structure!(GENERAL 216 {
    field r15 0 Hex(Eight), field r14 8 Hex(Eight), field r13 16 Hex(Eight), field r12 24 Hex(Eight), field rbp 32
    Hex(Eight), field rbx 40 Hex(Eight), field r11 48 Hex(Eight), field r10 56 Hex(Eight), field r9 64 Hex(Eight),
    field r8 72 Hex(Eight), field rax 80 Hex(Eight), field rcx 88 Hex(Eight), field rdx 96 Hex(Eight), field rsi 104
    Hex(Eight), field rdi 112 Hex(Eight), field orig_rax 120 Hex(Eight), field rip 128 Hex(Eight), field cs 136
    Hex(Eight), field eflags 144 Hex(Eight), field rsp 152 Hex(Eight), field ss 160 Hex(Eight), field fs_base 168
    Hex(Eight), field gs_base 176 Hex(Eight), field ds 184 Hex(Eight), field es 192 Hex(Eight), field fs 200
    Hex(Eight), field gs 208 Hex(Eight),
});
structure!(FLOATING 512 {
    field cwd 0 Hex(Two), field swd 2 Hex(Two), field ftw 4 Hex(Two), field fop 6 Hex(Two), field rip 8 Hex(Eight),
    field rdp 16 Hex(Eight), field mxcsr 24 Hex(Four), field mxcr_mask 28 Hex(Four), field st_space 32 Array(&Hex(Four), 32),
    field xmm_space 160 Array(&Hex(Four), 64), field padding 416 Array(&Hex(Four), 24),
});
structure!(STOPPED 24 {
    field op 0 One(Byte, &STOPS), field arch 4 One(Four, &f::AUDIT_ARCH), field instruction_pointer 8 Address,
    field stack_pointer 16 Address,
});

const ULONG: Kind = Unsigned(Eight);
const WORD: Kind = To(Out, &Address);
const GOES_ON: &[Kind] = &[PID, Address, Signal];
const SET_UP: &[Kind] = &[PID, Address, Flags(Eight, &OPTIONS)];

const fn registers(way: super::super::kind::Way, floating: bool) -> [Kind; 3] {
    [PID, Skipped, Special(S::Registers(way, floating))]
}

static ASKED: &[(u64, &[Kind])] = &[
    (0, &[]),
    (1, &[PID, Address, WORD]),
    (2, &[PID, Address, WORD]),
    (3, &[PID, Special(S::UserOffset), WORD]),
    (6, &[PID, Special(S::UserOffset), Address]),
    (7, GOES_ON),
    (8, &[PID]),
    (9, GOES_ON),
    (0xc, &registers(Out, false)),
    (0xd, &registers(In, false)),
    (0xe, &registers(Out, true)),
    (0xf, &registers(In, true)),
    (0x10, &[PID]),
    (0x11, GOES_ON),
    (0x15, SET_UP),
    (0x18, GOES_ON),
    (0x1f, GOES_ON),
    (0x20, GOES_ON),
    (0x21, GOES_ON),
    (0x4200, SET_UP),
    (0x4201, &[PID, Address, To(Out, &ULONG)]),
    (0x4202, &[PID, Address, Special(S::Information(Out))]),
    (0x4203, &[PID, Address, Special(S::Information(In))]),
    (
        0x4204,
        &[PID, One(Eight, &SETS), Special(S::RegisterSet(Out))],
    ),
    (
        0x4205,
        &[PID, One(Eight, &SETS), Special(S::RegisterSet(In))],
    ),
    (0x4206, SET_UP),
    (0x4207, &[PID]),
    (0x4208, &[PID]),
    (
        0x4209,
        &[
            PID,
            To(In, &Structure(&PEEKED)),
            Many(Out, &Special(S::InformationInPlace), Length::Result),
        ],
    ),
    (0x420a, &[PID, SIZE, Special(S::SizedSignals(Out, 2))]),
    (0x420b, &[PID, SIZE, Special(S::SizedSignals(In, 2))]),
    (
        0x420c,
        &[
            PID,
            SIZE,
            Verbose(&Many(Out, &filter::OPERATION_OF, Length::Result)),
        ],
    ),
    (
        0x420d,
        &[PID, SIZE, Within(2, 8, u64::MAX, &InOut(&METADATA))],
    ),
    (0x420e, &[PID, SIZE, Special(S::StopInformation)]),
    (u64::MAX, &[PID, Address, Address]),
];

const ARGUMENT: Kind = Per(0, 0, ASKED);

pub(super) static MEANINGS: &[Meaning] = &[m(
    "ptrace",
    &[One(Eight, &REQUESTS), ARGUMENT, ARGUMENT, ARGUMENT],
)];
