//! What a program may do: rules of `landlock`, and security modules' attributes of it.

use backsight_syscall_tables::sets::{
    RARE_LANDLOCK_ACCESS as ACCESS, RARE_RULE as RULE, RARE_RULESET as RULESET,
};

use super::*;
use crate::format;
use crate::table::kind::{CustomFormat, ExtensibleStructure, UnnamedStyle};
use crate::table::structure::{field, structure};

structure!(PATH_RULE 12 { field allowed_access 0 Flags(Eight, &ACCESS), field parent_fd 8 Fd });
structure!(PORT_RULE 16 { field allowed_access 0 Flags(Eight, &f::LANDLOCK_NET), field port 8 SIZE });
structure!(RULES 48 {
    field handled_access_fs 0 Flags(Eight, &ACCESS), field handled_access_net 8 Flags(Eight, &f::LANDLOCK_NET),
    field scoped 16 Flags(Eight, &f::LANDLOCK_SCOPE), field quiet_access_fs 24 Flags(Eight, &ACCESS),
    field quiet_access_net 32 Flags(Eight, &f::LANDLOCK_NET), field quiet_scoped 40 Flags(Eight, &f::LANDLOCK_SCOPE),
});
static HANDLED: ExtensibleStructure = ExtensibleStructure {
    member: "",
    structure: &RULES,
    since: &[0, 8, 16, 24, 32, 40],
    instead: None,
    anew: None,
    late: None,
    brief: true,
    pads_texts: false,
};

static MODULE: CustomFormat = CustomFormat {
    write: |out, value| match f::LSM_ID.name(value) {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => format::hex(out, value),
    },
    number: UnnamedStyle::Hex,
};
structure!(
    /// What a context begins with.
    CONTEXT 32 {
    field id 0 Worded(Eight, &MODULE), field flags 8 Hex(Eight), field len 16 SIZE, field ctx_len 24 SIZE,
});
structure!(
    /// Of a context that is asked for, by what.
    CONTEXT_ASKED 32 { field id 0 Worded(Eight, &MODULE) });

const ATTRIBUTE: ValueKind = One(Four, &f::LSM_ATTR);
/// A size that the kernel changes, also where it was too small.
const SIZE_IN_OUT: ValueKind = Special(S::OptionLength);

/// What `landlock_add_rule` is given.
static RULE_ARGUMENT: &[(u64, ValueKind)] = &[
    (1, To(In, &Structure(&PATH_RULE))),
    (2, To(In, &Structure(&PORT_RULE))),
];

pub(super) static MEANINGS: &[Meaning] = &[
    other(
        "landlock_create_ruleset",
        &[Growing(&HANDLED, 1), SIZE, Flags(Four, &RULESET)],
        ResultKind::FdUnless(2, 3),
    ),
    m(
        "landlock_add_rule",
        &[
            Fd,
            One(Four, &RULE),
            By(1, RULE_ARGUMENT, &Address),
            Flags(Four, &f::LANDLOCK_ADD_RULE),
        ],
    ),
    m("landlock_restrict_self", &[Fd, Hex(Four)]),
    m(
        "lsm_get_self_attr",
        &[
            ATTRIBUTE,
            Special(S::SecurityContexts),
            SIZE_IN_OUT,
            Flags(Four, &f::LSM_FLAG),
        ],
    ),
    m(
        "lsm_set_self_attr",
        &[ATTRIBUTE, Special(S::SecurityContext), UINT, Hex(Four)],
    ),
    m(
        "lsm_list_modules",
        &[
            Many(Out, &One(Eight, &f::LSM_ID), LengthSource::Result),
            SIZE_IN_OUT,
            Hex(Four),
        ],
    ),
];
