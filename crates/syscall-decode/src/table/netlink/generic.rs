//! Messages of families whose numbers the running kernel chooses, and what their controller says of them: commands, groups and
//! policies.
//!
//! Of other families than the controller's only the beginning is described: attributes are bytes.

use super::AttributeKind::{Attributes as Nested, ByTextOr, ByWay, Is, Listed, Text};
use super::held::*;
use super::names::generic as n;
use super::{AttributeKind, AttributeSet, MessageAttributes, MessageLayout, NAMELESS, attributes};
use crate::table::kind::IntegerWidth::{Eight, Four, One, Two};
use crate::table::kind::ValueKind::{Hex, One as Value, Signed, Unsigned};
use crate::table::structure::{field, set, structure};

structure!(CONTROL_HEAD 4 {
    field cmd 0 Value(One, &n::COMMAND), field version 1 Unsigned(One), set reserved 2 Hex(Two),
});
structure!(OTHER_HEAD 4 {
    field cmd 0 Value(One, &NAMELESS), field version 1 Unsigned(One), set reserved 2 Hex(Two),
});

/// Two lists in one another, their numbers places: the operations of a family, with its names of commands.
macro_rules! operations {
    ($($all:ident $one:ident $names:ident;)*) => {
        $(
            attributes!($one = n::OPERATION, "CTRL_ATTR_OP_" {
                "ID": one32(&n::$names),
                "FLAGS": flags32(&n::OPERATION_FLAGS),
            });
            static $all: AttributeKind = Nested(&$one);
        )*
    };
}

operations! {
    CONTROLS CONTROL_OPERATION COMMAND;
    DEVICE_LINKS DEVICE_LINK_OPERATION DEVICE_LINK;
    ETHTOOL_QUESTIONS ETHTOOL_OPERATION ETHTOOL;
    ETHTOOL_ANSWERS ETHTOOL_ANSWER ETHTOOL_KERNEL;
    IOAM6S IOAM6_OPERATION IOAM6;
    MULTIPATH_TCPS MULTIPATH_TCP_OPERATION MULTIPATH_TCP;
    NET_DEVICES NET_DEVICE_OPERATION NET_DEVICE;
    SEGMENT_ROUTINGS SEGMENT_ROUTING_OPERATION SEGMENT_ROUTING;
    TASK_STATISTICS TASK_STATISTICS_OPERATION TASK_STATISTICS;
    TCP_METRICS TCP_METRICS_OPERATION TCP_METRICS;
    THERMALS THERMAL_OPERATION THERMAL;
    WIRELESSES WIRELESS_OPERATION WIRELESS;
}

static ETHTOOLS: AttributeKind = ByWay {
    received: &ETHTOOL_ANSWERS,
    sent: &ETHTOOL_QUESTIONS,
};

/// By the family's name; of others the numbers stand for the controller's commands.
static FAMILIES: &[(&str, AttributeKind)] = &[
    ("devlink", Listed(&DEVICE_LINKS)),
    ("ethtool", Listed(&ETHTOOLS)),
    ("IOAM6", Listed(&IOAM6S)),
    ("mptcp_pm", Listed(&MULTIPATH_TCPS)),
    ("netdev", Listed(&NET_DEVICES)),
    ("nl80211", Listed(&WIRELESSES)),
    ("SEG6", Listed(&SEGMENT_ROUTINGS)),
    ("TASKSTATS", Listed(&TASK_STATISTICS)),
    ("tcp_metrics", Listed(&TCP_METRICS)),
    ("thermal", Listed(&THERMALS)),
];
static OTHERS: AttributeKind = Listed(&CONTROLS);

attributes!(GROUP = n::GROUP, "CTRL_ATTR_MCAST_GRP_" { "NAME": Text, "ID": X32 });
attributes!(POLICY = n::POLICY, "CTRL_ATTR_POLICY_" { "DO DUMP": U32 });
attributes!(POLICY_ATTRIBUTE = n::POLICY_ATTRIBUTE, "NL_POLICY_TYPE_ATTR_" {
    "TYPE": one32(&n::ATTRIBUTE_TYPE),
    "MIN_VALUE_S MAX_VALUE_S": Is(Signed(Eight)),
    "MIN_VALUE_U MAX_VALUE_U": U64,
    "MIN_LENGTH MAX_LENGTH": U32,
    "POLICY_IDX POLICY_MAXTYPE BITFIELD32_MASK": Is(Hex(Four)),
    "MASK": Is(Hex(Eight)),
});

static GROUPS: AttributeKind = Nested(&GROUP);
static POLICIES: AttributeKind = Nested(&POLICY);
static RULES: AttributeKind = Nested(&POLICY_ATTRIBUTE);
static RULES_OF_ATTRIBUTES: AttributeKind = Listed(&RULES);

attributes!(CONTROL = n::CONTROL, "CTRL_ATTR_" {
    "FAMILY_ID": X16,
    "FAMILY_NAME": Text,
    "VERSION HDRSIZE MAXATTR OP": U32,
    "OPS": ByTextOr("CTRL_ATTR_FAMILY_NAME", FAMILIES, &OTHERS),
    "MCAST_GROUPS": Listed(&GROUPS),
    "POLICY": Listed(&RULES_OF_ATTRIBUTES),
    "OP_POLICY": Listed(&POLICIES),
});
static OTHER: AttributeSet = AttributeSet {
    names: &NAMELESS,
    prefix: "",
    kinds: &[],
};

/// What the controller of families is asked and answers.
pub(crate) static CONTROL_MESSAGE: MessageLayout = MessageLayout {
    head: &CONTROL_HEAD,
    attributes: MessageAttributes::Attributes(&CONTROL),
};
/// Messages of the families.
pub(crate) static OTHER_MESSAGE: MessageLayout = MessageLayout {
    head: &OTHER_HEAD,
    attributes: MessageAttributes::Attributes(&OTHER),
};
