//! Parameters of settings: which interface, which device. They become parts of paths and words of commands, so that each has a type
//! that can't lead elsewhere.

use backsight_model::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, net::IpAddr};

use crate::cpu_list::CpuList;

/// What a parameter may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ParameterType {
    /// A network interface: its name, or `@` and an address that it has.
    Interface,
    /// A block device, with or without `/dev/`: `vda`.
    Block,
    /// A block device with `/dev/`.
    Device,
    /// A path from the root.
    Path,
    /// A number, at most of 32 bits.
    Number,
    /// The name of a kernel's parameter, `vm.swappiness`, as the path below /proc/sys.
    Sysctl,
    /// A network, or one address: `10.77.2.0/24`. All addresses are none: a machine keeps its default route.
    Network,
    /// A size in bytes: `4GiB`.
    Size,
    /// A list of CPUs.
    Cpus,
    /// One of these words.
    Choice(Vec<String>),
    /// Any text of one line that isn't an option.
    Text,
    /// The same as this other parameter: what can't be undone is said twice.
    SameAs(String),
}

/// Whether it can be one component of a path.
fn is_component(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._@:+-".contains(c);
    !text.is_empty()
        && text.len() <= 64
        && !text.starts_with('-')
        && text != "."
        && text != ".."
        && text.chars().all(fits)
}

fn is_path(text: &str) -> bool {
    let mut components = text.split('/').skip(1);
    text.starts_with('/') && text.len() <= 4096 && components.all(is_component)
}

/// The address in `@10.0.0.2`, which stands for the interface that has it.
pub(crate) fn address_of(text: &str) -> Option<IpAddr> {
    text.strip_prefix('@')?.parse().ok()
}

/// A network that isn't all addresses: its address and the length of its prefix.
pub(crate) fn network_of(text: &str) -> Option<(IpAddr, u8)> {
    let (ip, length) = text.split_once('/').unwrap_or((text, ""));
    let ip: IpAddr = ip.parse().ok()?;
    let longest = if ip.is_ipv4() { 32 } else { 128 };
    let length = match length {
        "" if !text.contains('/') => longest,
        length => length.parse().ok()?,
    };
    let hosts = match ip {
        IpAddr::V4(ip) => u128::from(ip.to_bits()) << 96,
        IpAddr::V6(ip) => ip.to_bits(),
    };
    // Bits of hosts in a network's address are a slip of the pen.
    let is_network = hosts.checked_shl(length.into()).unwrap_or(0) == 0;
    ((1..=longest).contains(&length) && is_network).then_some((ip, length))
}

impl fmt::Display for ParameterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface => {
                f.write_str("a network interface, or `@` and an address that it has")
            }
            Self::Block => f.write_str("a block device such as `sda`"),
            Self::Device => f.write_str("a device such as `/dev/vdb`"),
            Self::Path => f.write_str("a path"),
            Self::Number => f.write_str("a number"),
            Self::Sysctl => f.write_str("a kernel parameter such as `vm.swappiness`"),
            Self::Network => f.write_str("a network such as `10.77.2.0/24`"),
            Self::Size => f.write_str("a size such as `4GiB`"),
            Self::Cpus => f.write_str("a list of CPUs such as `0-3,8`"),
            Self::Choice(words) => write!(f, "one of `{}`", words.join("`, `")),
            Self::Text => f.write_str("a text"),
            Self::SameAs(other) => write!(f, "the same as `{other}` again"),
        }
    }
}

impl ParameterType {
    /// The parameter in the form that definitions use.
    ///
    /// # Errors
    /// It isn't of this type.
    pub(crate) fn check(&self, text: &str) -> Result<String, String> {
        let fault = |what: &str| Err(format!("`{text}` is no {what}"));
        let text = text.to_owned();
        match self {
            Self::Interface if address_of(&text).is_some() => Ok(text),
            Self::Interface if is_component(&text) && text.len() <= 15 => Ok(text),
            Self::Interface => fault("network interface's name"),
            Self::Block => match text.strip_prefix("/dev/").unwrap_or(&text) {
                name if is_component(name) => Ok(name.to_owned()),
                _ => fault("block device such as `sda`"),
            },
            Self::Device if text.starts_with("/dev/") && is_path(&text) => Ok(text),
            Self::Device => fault("device such as `/dev/vdb`"),
            Self::Path if is_path(&text) => Ok(text),
            Self::Path => fault("path from the root without spaces and `..`"),
            Self::Number => match text.parse::<u32>() {
                Ok(number) => Ok(number.to_string()),
                Err(_) => fault("number"),
            },
            Self::Sysctl => {
                // As sysctl(8): whichever of the two comes first separates, the other one belongs to names.
                let slashes = match text.find(['.', '/']) {
                    Some(at) if text[at..].starts_with('.') => text
                        .chars()
                        .map(|c| match c {
                            '.' => '/',
                            '/' => '.',
                            c => c,
                        })
                        .collect(),
                    _ => text.clone(),
                };
                match slashes.split('/').all(is_component) {
                    true => Ok(slashes),
                    false => fault("kernel parameter such as `vm.swappiness`"),
                }
            }
            Self::Network if matches!(text.as_str(), "default" | "0.0.0.0/0" | "::/0") => {
                Err(format!(
                    "`{text}` is a machine's default route, which stays as it is: name the networks that are measured"
                ))
            }
            Self::Network => match network_of(&text) {
                Some((ip, length)) => Ok(format!("{ip}/{length}")),
                None => fault("network such as `10.77.2.0/24`"),
            },
            Self::Size => match Size::parse(&text) {
                Ok(_) => Ok(text),
                Err(error) => Err(error.to_string()),
            },
            Self::Cpus => match CpuList::parse(&text)? {
                list if list.is_empty() => fault("CPU"),
                list => Ok(list.to_string()),
            },
            Self::Choice(words) if words.contains(&text) => Ok(text),
            Self::Choice(words) => Err(format!("`{text}` isn't one of `{}`", words.join("`, `"))),
            Self::Text if text.starts_with('-') || text.chars().any(char::is_control) => {
                fault("text of one line that isn't an option")
            }
            Self::Text | Self::SameAs(_) => Ok(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_have_one_form_and_lead_nowhere_else() {
        let sysctl = |text: &str| ParameterType::Sysctl.check(text);
        assert_eq!(sysctl("vm.swappiness").unwrap(), "vm/swappiness");
        assert_eq!(
            sysctl("net.ipv4.conf.eth0/1.forwarding").unwrap(),
            "net/ipv4/conf/eth0.1/forwarding"
        );
        assert_eq!(
            sysctl("net/ipv4/ip_forward").unwrap(),
            "net/ipv4/ip_forward"
        );
        assert!(sysctl("../../etc/passwd").is_err() && sysctl("a..b").is_err());
        assert_eq!(ParameterType::Block.check("/dev/vda").unwrap(), "vda");
        assert!(ParameterType::Block.check("../vda").is_err());
        assert!(ParameterType::Interface.check("eth0/../..").is_err());
        assert!(ParameterType::Interface.check("-eth0").is_err());
        assert!(ParameterType::Interface.check("@10.0.0.2").is_ok());
        assert!(ParameterType::Interface.check("@2001:db8::2").is_ok());
        assert!(ParameterType::Interface.check("@../x").is_err());
        assert!(ParameterType::Device.check("/dev/../etc/x").is_err());
        let network = |text: &str| ParameterType::Network.check(text);
        assert_eq!(network("10.77.2.0/24").unwrap(), "10.77.2.0/24");
        assert_eq!(network("10.77.2.1").unwrap(), "10.77.2.1/32");
        assert_eq!(network("fd77:0::/64").unwrap(), "fd77::/64");
        for wrong in [
            "default",
            "0.0.0.0/0",
            "::/0",
            "10.0.0.1/24",
            "10.0.0.0/33",
            "10.0.0.0/",
            "-x",
        ] {
            assert!(network(wrong).is_err(), "{wrong}");
        }
        assert!(ParameterType::Path.check("/a/../b").is_err());
        assert!(ParameterType::Size.check("4GiB").is_ok());
    }

    proptest! {
        #[test]
        fn no_parameter_of_a_path_leads_out_of_its_folder(text in "[a-z./-]{0,12}") {
            for kind in [ParameterType::Interface, ParameterType::Block, ParameterType::Sysctl] {
                if let Ok(part) = kind.check(&text) {
                    prop_assert!(!part.split('/').any(|c| c == ".." || c == "." || c.is_empty()));
                }
            }
        }
    }
}
