//! What netlink messages hold: for each family its kinds of messages, what each begins with, and the attributes behind.
//!
//! A description says of an attribute's number what its bytes are; [`crate::decode`] walks over it. Attributes
//! that no kernel header has a type for are shown as bytes.

mod diag;
mod generic;
mod link;
pub(crate) mod names;
mod other;
mod route;

pub(crate) use diag::{SMC_BUFFER, Sockets};
pub(crate) use generic::{CONTROL_MESSAGE, OTHER_MESSAGE};
pub(crate) use other::{ALGORITHM, ALGORITHM_ATTRIBUTES, ERROR, NETFILTER, SELINUX, UDEV};
pub(crate) use route::{GROUP_HEAD, MULTIPATH, NEXT_HOP, ROUTING, VIA_FAMILY};

use super::kind::{Names, StructureLayout, ValueKind};

/// The attributes that may stand behind each other somewhere.
#[derive(Debug)]
pub(crate) struct AttributeSet {
    /// Their names and numbers.
    pub names: &'static Names,
    /// What the names begin with, which isn't repeated below.
    pub prefix: &'static str,
    /// What they hold; what isn't here is shown as bytes.
    pub kinds: &'static [(&'static str, AttributeKind)],
}

impl AttributeSet {
    /// What an attribute holds.
    pub fn kind(&self, number: u16) -> Option<&'static AttributeKind> {
        let name = self.names.name(u64::from(number))?;
        let name = name.strip_prefix(self.prefix)?;
        let known =
            |(names, _): &&(&str, AttributeKind)| names.split(' ').any(|known| known == name);
        self.kinds.iter().find(known).map(|(_, kind)| kind)
    }
}

/// What an attribute holds.
#[derive(Debug)]
pub(crate) enum AttributeKind {
    /// Something, in as many bytes or more.
    Is(ValueKind),
    /// A number, in as many bytes or more, but no more than eight.
    Word(ValueKind),
    /// A number of any size up to eight bytes.
    Named(&'static Names),
    /// The same without names.
    Number,
    /// Hundredths of a second, in a number of any size.
    Ticks,
    /// Thousandths of a second, in a number of any size.
    Milliseconds,
    /// A structure that once was shorter: its size or more, or exactly one of these.
    Grown(&'static StructureLayout, &'static [usize]),
    /// A structure of exactly its size.
    Sized(&'static [&'static StructureLayout]),
    /// A structure, or text in as many bytes as there are where these are fewer.
    OrBytes(&'static StructureLayout),
    /// Several of the same.
    Several(ValueKind),
    /// The same, none of them too.
    AnySeveral(ValueKind),
    /// Several numbers of which each has a name.
    Indexed(ValueKind, &'static Names),
    /// Text with a zero byte at its end.
    Text,
    /// Text up to a zero byte.
    Terminated,
    /// Attributes.
    Attributes(&'static AttributeSet),
    /// The same by the family that the message is about.
    ByFamily(&'static [(u8, &'static AttributeSet)]),
    /// Attributes whose numbers are families, and hold those of the family.
    Families(&'static [(u8, &'static AttributeSet)]),
    /// Attributes whose numbers are only places in a list, and all hold this.
    Listed(&'static AttributeKind),
    /// By the family that the message is about: for this one, else.
    For(u8, &'static AttributeKind, &'static AttributeKind),
    /// Something, with attributes behind it.
    Before(ValueKind, &'static AttributeSet),
    /// Something, with bytes behind it.
    BeforeBytes(ValueKind),
    /// An address of the family that the message is about.
    Address,
    /// A hardware address; one of the device's type, as the message's family has it.
    Hardware(HardwareLength),
    /// The text that the attribute before of this name said decides.
    ByText(&'static str, &'static [(&'static str, AttributeKind)]),
    /// The same, and what it is for all other texts.
    ByTextOr(
        &'static str,
        &'static [(&'static str, AttributeKind)],
        &'static AttributeKind,
    ),
    /// By who says it: the kernel, or the program.
    ByWay {
        /// Of what was received.
        received: &'static AttributeKind,
        /// Of what was sent.
        sent: &'static AttributeKind,
    },
    /// What needs code of its own.
    Own(SpecialAttribute),
}

/// Whether the length of a hardware address is that of its device's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HardwareLength {
    /// It is as long as it is.
    No,
    /// By the type that stands where other messages have their family.
    ByFamily,
}

/// What needs code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpecialAttribute {
    /// The ways of a route that has several.
    Multipath,
    /// A gateway of another family.
    Via,
    /// Operations of a filter of sockets.
    Bytecode,
    /// A buffer that both ends of a connection share.
    SharedBuffer,
    /// Keys of connections.
    Keys,
    /// Addresses of sockets.
    Sockets,
    /// A socket's settings, a bit each.
    Settings,
    /// Multicast addresses of a device.
    Groups,
    /// A socket's filter.
    Filter,
    /// An address of a group and where it is.
    Group,
    /// The type of an algorithm.
    Report,
}

/// The names of attributes that have none.
pub(crate) static NAMELESS: Names = Names {
    unknown: "",
    zero: "0",
    list: &[],
};

/// What a message begins with, and the attributes behind it.
#[derive(Debug)]
pub(crate) struct MessageLayout {
    /// Its beginning; the first byte is a family.
    pub head: &'static StructureLayout,
    /// What is behind.
    pub attributes: MessageAttributes,
}

/// What is behind the beginning of a message.
#[derive(Debug)]
pub(crate) enum MessageAttributes {
    /// Nothing that is looked at.
    Nothing,
    /// These.
    Attributes(&'static AttributeSet),
    /// By family; of others, bytes.
    ByFamily(&'static [(u8, &'static AttributeSet)]),
}

/// An attribute's description in words.
macro_rules! attributes {
    ($(#[$about:meta])* $vis:vis $name:ident = $names:path, $prefix:literal { $($words:literal: $held:expr),* $(,)? }) => {
        $(#[$about])*
        $vis static $name: AttributeSet = AttributeSet {
            names: &$names,
            prefix: $prefix,
            kinds: &[$(($words, $held)),*],
        };
    };
}

use attributes;

mod held {
    use super::AttributeKind::{self, Is, Word};
    use crate::table::kind::IntegerWidth::{Eight, Four, One, Two};
    use crate::table::kind::ValueKind::{Flags, Hex, One as Named, Signed, Unsigned};
    use crate::table::kind::{Names, NetworkKind, ValueKind};

    pub const U8: AttributeKind = Is(Unsigned(One));
    pub const U16: AttributeKind = Is(Unsigned(Two));
    pub const U32: AttributeKind = Is(Unsigned(Four));
    pub const U64: AttributeKind = Is(Unsigned(Eight));
    pub const S32: AttributeKind = Is(Signed(Four));
    pub const X8: AttributeKind = Is(Hex(One));
    pub const X16: AttributeKind = Is(Hex(Two));
    pub const X32: AttributeKind = Is(Hex(Four));
    pub const BE32: AttributeKind = Is(ValueKind::Wire(NetworkKind::Int));
    pub const DESCRIPTOR: AttributeKind = Is(ValueKind::Fd);
    pub const ID: AttributeKind = Is(ValueKind::Id);
    pub const INTERFACE: AttributeKind = Is(ValueKind::Wire(NetworkKind::Interface));
    pub const INET: AttributeKind = Is(ValueKind::Wire(NetworkKind::Inet));
    pub const INET6: AttributeKind = Is(ValueKind::Wire(NetworkKind::Inet6));

    pub const fn one8(names: &'static Names) -> AttributeKind {
        Word(Named(One, names))
    }

    pub const fn one16(names: &'static Names) -> AttributeKind {
        Word(Named(Two, names))
    }

    pub const fn one32(names: &'static Names) -> AttributeKind {
        Word(Named(Four, names))
    }

    pub const fn flags8(names: &'static Names) -> AttributeKind {
        Word(Flags(One, names))
    }

    pub const fn flags16(names: &'static Names) -> AttributeKind {
        Word(Flags(Two, names))
    }

    pub const fn flags32(names: &'static Names) -> AttributeKind {
        Word(Flags(Four, names))
    }
}
