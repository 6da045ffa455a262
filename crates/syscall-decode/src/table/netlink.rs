//! What netlink messages hold: for each family its kinds of messages, what each begins with, and the attributes behind.
//!
//! A description says of an attribute's number what its bytes are; [`crate::decode`] walks over it. Refuses: to describe
//! what no kernel header has a type for; such attributes are shown as bytes.

mod diag;
mod link;
pub(crate) mod names;
mod other;
mod route;

pub(crate) use diag::Sockets;
pub(crate) use other::{ALGORITHM, ALGORITHM_ATTRIBUTES, ERROR, NETFILTER, SELINUX, UDEV};
pub(crate) use route::{GROUP_HEAD, MULTIPATH, NEXT_HOP, ROUTING, VIA_FAMILY};

use super::kind::{Kind, Names, Structure};

/// The attributes that may stand behind each other somewhere.
#[derive(Debug)]
pub(crate) struct Attributes {
    /// Their names and numbers.
    pub names: &'static Names,
    /// What the names begin with, which isn't repeated below.
    pub prefix: &'static str,
    /// What they hold; what isn't here is shown as bytes.
    pub held: &'static [(&'static str, Held)],
}

impl Attributes {
    /// What an attribute holds.
    pub fn held(&self, number: u16) -> Option<&'static Held> {
        let name = self.names.name(u64::from(number))?;
        let name = name.strip_prefix(self.prefix)?;
        let known = |(names, _): &&(&str, Held)| names.split(' ').any(|known| known == name);
        self.held.iter().find(known).map(|(_, held)| held)
    }
}

/// What an attribute holds.
#[derive(Debug)]
pub(crate) enum Held {
    /// Something, in as many bytes or more.
    Is(Kind),
    /// A number, in as many bytes or more, but no more than eight.
    Word(Kind),
    /// A number of any size up to eight bytes.
    Named(&'static Names),
    /// The same without names.
    Number,
    /// Hundredths of a second, in a number of any size.
    Ticks,
    /// A structure that once was shorter: its size or more, or exactly one of these.
    Grown(&'static Structure, &'static [usize]),
    /// A structure of exactly its size.
    Sized(&'static [&'static Structure]),
    /// A structure, or text in as many bytes as there are where these are fewer.
    OrBytes(&'static Structure),
    /// Several of the same.
    Several(Kind),
    /// The same, none of them too.
    AnySeveral(Kind),
    /// Several numbers of which each has a name.
    Indexed(Kind, &'static Names),
    /// Text with a zero byte at its end.
    Text,
    /// Text up to a zero byte.
    Terminated,
    /// Attributes.
    Attributes(&'static Attributes),
    /// The same by the family that the message is about.
    ByFamily(&'static [(u8, &'static Attributes)]),
    /// Attributes whose numbers are families, and hold those of the family.
    Families(&'static [(u8, &'static Attributes)]),
    /// By the family that the message is about: for this one, else.
    For(u8, &'static Held, &'static Held),
    /// Something, with attributes behind it.
    Before(Kind, &'static Attributes),
    /// Something, with bytes behind it.
    BeforeBytes(Kind),
    /// An address of the family that the message is about.
    Address,
    /// A hardware address; one of the device's type, as the message's family has it.
    Hardware(Typed),
    /// The text that the attribute before of this name said decides.
    ByText(&'static str, &'static [(&'static str, Held)]),
    /// What needs code of its own.
    Own(Own),
}

/// Whether the length of a hardware address is that of its device's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typed {
    /// It is as long as it is.
    No,
    /// By the type that stands where other messages have their family.
    ByFamily,
}

/// What needs code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// The ways of a route that has several.
    Multipath,
    /// A gateway of another family.
    Via,
    /// Operations of a filter of sockets.
    Bytecode,
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

/// What a message begins with, and the attributes behind it.
#[derive(Debug)]
pub(crate) struct Message {
    /// Its beginning; the first byte is a family.
    pub head: &'static Structure,
    /// What is behind.
    pub attributes: Behind,
}

/// What is behind the beginning of a message.
#[derive(Debug)]
pub(crate) enum Behind {
    /// Nothing that is looked at.
    Nothing,
    /// These.
    Attributes(&'static Attributes),
    /// By family; of others, bytes.
    ByFamily(&'static [(u8, &'static Attributes)]),
}

/// An attribute's description in words.
macro_rules! attributes {
    ($(#[$about:meta])* $vis:vis $name:ident = $names:path, $prefix:literal { $($words:literal: $held:expr),* $(,)? }) => {
        $(#[$about])*
        $vis static $name: Attributes = Attributes {
            names: &$names,
            prefix: $prefix,
            held: &[$(($words, $held)),*],
        };
    };
}

use attributes;

mod held {
    use super::Held::{self, Is, Word};
    use crate::table::kind::Kind::{Flags, Hex, One as Named, Signed, Unsigned};
    use crate::table::kind::Width::{Eight, Four, One, Two};
    use crate::table::kind::{Kind, Names, Wire};

    pub const U8: Held = Is(Unsigned(One));
    pub const U16: Held = Is(Unsigned(Two));
    pub const U32: Held = Is(Unsigned(Four));
    pub const U64: Held = Is(Unsigned(Eight));
    pub const S32: Held = Is(Signed(Four));
    pub const X16: Held = Is(Hex(Two));
    pub const X32: Held = Is(Hex(Four));
    pub const DESCRIPTOR: Held = Is(Kind::Fd);
    pub const ID: Held = Is(Kind::Id);
    pub const INTERFACE: Held = Is(Kind::Wire(Wire::Interface));
    pub const INET: Held = Is(Kind::Wire(Wire::Inet));
    pub const INET6: Held = Is(Kind::Wire(Wire::Inet6));

    pub const fn one8(names: &'static Names) -> Held {
        Word(Named(One, names))
    }

    pub const fn one16(names: &'static Names) -> Held {
        Word(Named(Two, names))
    }

    pub const fn flags8(names: &'static Names) -> Held {
        Word(Flags(One, names))
    }

    pub const fn flags16(names: &'static Names) -> Held {
        Word(Flags(Two, names))
    }

    pub const fn flags32(names: &'static Names) -> Held {
        Word(Flags(Four, names))
    }
}
