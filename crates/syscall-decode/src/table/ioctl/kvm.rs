//! Requests of virtual machines.

use backsight_syscall_tables::sets::{
    IOCTL_KVM_ABILITY as ABILITY, IOCTL_KVM_LEAF as LEAF, IOCTL_KVM_REGION_FLAGS as REGION_FLAGS,
};

use super::*;

structure!(REGION 32 {
    field slot 0 UINT, field flags 4 Flags(Four, &REGION_FLAGS), field guest_phys_addr 8 LONG_BITS,
    field memory_size 16 ULONG, field userspace_addr 24 LONG_BITS,
});
/// A register that is shown where everything is.
const ELSE: ValueKind = Only(FieldCondition::Verbose, &LONG_BITS);
structure!(REGISTERS 144 {
    field rax 0 LONG_BITS, field rbx 8 ELSE, field rcx 16 ELSE, field rdx 24 ELSE, field rsi 32 ELSE, field rdi 40 ELSE,
    field rest 48 Gap, field rsp 48 LONG_BITS, field rbp 56 LONG_BITS, field r8 64 ELSE, field r9 72 ELSE,
    field r10 80 ELSE, field r11 88 ELSE, field r12 96 ELSE, field r13 104 ELSE, field r14 112 ELSE, field r15 120 ELSE,
    field rest 128 Gap, field rip 128 LONG_BITS, field rflags 136 LONG_BITS,
});
structure!(SEGMENT 24 {
    field base 0 LONG_BITS, field limit 8 UINT, field selector 12 U16, field r#type 14 U8, field present 15 U8,
    field dpl 16 U8, field db 17 U8, field s 18 U8, field l 19 U8, field g 20 U8, field avl 21 U8,
});
structure!(TABLE 16 { field base 0 LONG_BITS, field limit 8 U16 });
const OF: ValueKind = Structure(&SEGMENT);
structure!(SPECIAL_REGISTERS 312 {
    field cs 0 OF, more ds 24 OF, more es 48 OF, more fs 72 OF, more gs 96 OF, more ss 120 OF, more tr 144 OF,
    more ldt 168 OF, more gdt 192 Structure(&TABLE), more idt 208 Structure(&TABLE), more cr0 224 ULONG,
    more cr2 232 ULONG, more cr3 240 ULONG, more cr4 248 ULONG, more cr8 256 ULONG, more efer 264 ULONG,
    more apic_base 272 LONG_BITS, more interrupt_bitmap 280 Array(&LONG_BITS, 4),
});
structure!(ENTRY 40 {
    field function 0 BITS, field index 4 BITS, field flags 8 Flags(Four, &LEAF), field eax 12 BITS, field ebx 16 BITS,
    field ecx 20 BITS, field edx 24 BITS,
});
const ENTRIES: LengthSource = LengthSource::Field(0, Four, 1);
structure!(ENTRIES_IN 8 {
    field nent 0 UINT, field entries 8 Only(FieldCondition::Verbose, &Tail(&Many(In, &Structure(&ENTRY), ENTRIES))),
    field entries 8 Only(FieldCondition::Brief, &Dots(ENTRIES)),
});
structure!(ENTRIES_OUT 8 {
    field nent 0 UINT, field entries 8 Only(FieldCondition::Verbose, &Tail(&Many(Out, &Structure(&ENTRY), ENTRIES))),
    field entries 8 Only(FieldCondition::Brief, &Dots(ENTRIES)),
});

pub(super) static ARGUMENTS: Family = &[
    ("KVM_CREATE_VCPU", UINT),
    (
        "KVM_SET_USER_MEMORY_REGION",
        pointer_in(&Structure(&REGION)),
    ),
    ("KVM_SET_REGS", pointer_in(&Structure(&REGISTERS))),
    ("KVM_GET_REGS", pointer_out(&Structure(&REGISTERS))),
    ("KVM_SET_SREGS", pointer_in(&Structure(&SPECIAL_REGISTERS))),
    ("KVM_GET_SREGS", pointer_out(&Structure(&SPECIAL_REGISTERS))),
    ("KVM_SET_CPUID2", pointer_in(&Structure(&ENTRIES_IN))),
    (
        "KVM_GET_SUPPORTED_CPUID KVM_GET_EMULATED_CPUID",
        pointer_out(&Structure(&ENTRIES_OUT)),
    ),
    ("KVM_CHECK_EXTENSION", One(Eight, &ABILITY)),
];

pub(super) static RESULTS: Results =
    &[("KVM_CREATE_VM KVM_CREATE_VCPU", RequestResult::Descriptor)];
