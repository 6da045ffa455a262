//! What messages of other families than routing and sockets hold: errors, algorithms, packet filters, SELinux, devices.
//!
//! Attributes of packet filters are shown as bytes.

use super::AttributeKind::{AnySeveral, Own, Text};
use super::held::*;
use super::names::message as n;
use super::{AttributeKind, AttributeSet, attributes};
use crate::table::flags::DOMAIN;
use crate::table::kind::IntegerWidth::{Four, One};
use crate::table::kind::ValueKind::{Characters, Hex, One as Value, Unsigned};
use crate::table::kind::{NetworkKind, StructureLayout as Layout, ValueKind};
use crate::table::structure::{INT, UINT, field, structure};

attributes!(
    /// Those behind an error.
    pub(crate) ERROR = n::ERROR, "NLMSGERR_ATTR_" {
        "MSG": Text,
        "OFFS": U32,
        "COOKIE": AnySeveral(Unsigned(One)),
    }
);

structure!(HASH 72 { field r#type 0 Characters(64), field blocksize 64 UINT, field digestsize 68 UINT });
structure!(BLOCKS 144 {
    field r#type 0 Characters(64), field geniv 64 Characters(64), field blocksize 128 UINT, field min_keysize 132 UINT,
    field max_keysize 136 UINT, field ivsize 140 UINT,
});
structure!(AEAD 140 {
    field r#type 0 Characters(64), field geniv 64 Characters(64), field blocksize 128 UINT, field maxauthsize 132 UINT,
    field ivsize 136 UINT,
});
structure!(RANDOM 68 { field r#type 0 Characters(64), field seedsize 64 UINT });
structure!(CIPHER 76 {
    field r#type 0 Characters(64), field blocksize 64 UINT, field min_keysize 68 UINT, field max_keysize 72 UINT,
});
structure!(
    /// An algorithm of the kernel.
    ALGORITHM 208 {
        field cru_name 0 Characters(64), field cru_driver_name 64 Characters(64), field cru_module_name 128 Characters(64),
        field cru_type 192 Hex(Four), field cru_mask 196 Hex(Four), field cru_refcnt 200 UINT, field cru_flags 204 Hex(Four),
    }
);
attributes!(
    /// What is said of it.
    pub(crate) ALGORITHM_ATTRIBUTES = n::CRYPTO_ATTRIBUTE, "CRYPTOCFGA_" {
        "PRIORITY_VAL": U32,
        "REPORT_LARVAL REPORT_COMPRESS REPORT_AKCIPHER REPORT_KPP REPORT_ACOMP": Own(super::SpecialAttribute::Report),
        "REPORT_HASH": AttributeKind::OrBytes(&HASH),
        "REPORT_BLKCIPHER": AttributeKind::OrBytes(&BLOCKS),
        "REPORT_AEAD": AttributeKind::OrBytes(&AEAD),
        "REPORT_RNG": AttributeKind::OrBytes(&RANDOM),
        "REPORT_CIPHER": AttributeKind::OrBytes(&CIPHER),
    }
);

structure!(
    /// What every message of packet filters begins with, but its part.
    NETFILTER 4 { field nfgen_family 0 Value(One, &DOMAIN), field version 1 Value(One, &n::NETFILTER_VERSION) }
);

structure!(ENFORCED 4 { field val 0 INT });
structure!(LOADED 4 { field seqno 0 UINT });

/// What SELinux says, by the kind of its message.
pub(crate) static SELINUX: &[(u16, &Layout)] = &[(16, &ENFORCED), (17, &LOADED)];

structure!(
    /// What the device manager's messages begin with.
    UDEV 40 {
        field prefix 0 Characters(8), field magic 8 ValueKind::Wire(NetworkKind::Bits), field header_size 12 UINT,
        field properties_off 16 UINT, field properties_len 20 UINT, field filter_subsystem_hash 24 ValueKind::Wire(NetworkKind::Bits),
        field filter_devtype_hash 28 ValueKind::Wire(NetworkKind::Bits), field filter_tag_bloom_hi 32 ValueKind::Wire(NetworkKind::Bits),
        field filter_tag_bloom_lo 36 ValueKind::Wire(NetworkKind::Bits),
    }
);
