//! How a host is switched on and off from outside, and where its console is heard: the keys `power` and `console` of a host.
//!
//! Only what the lab says; switching and listening belong to the conductor. No password is ever in a lab: only the path of a
//! file that has it.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::{fmt, time::Duration};

use crate::span::Time;

/// Whether a machine is switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PowerState {
    /// It has power and runs.
    On,
    /// It is switched off.
    Off,
}

impl PowerState {
    /// Reads what a command that tells it has printed: the last line with a word for one of them.
    pub fn parse(text: &str) -> Option<Self> {
        const ON: &[&str] = &["on", "running", "up", "1"];
        const OFF: &[&str] = &["off", "down", "stopped", "0"];
        text.lines().rev().find_map(|line| {
            let line = line.to_lowercase();
            let has = |words: &[&str]| {
                line.split(|c: char| !c.is_ascii_alphanumeric())
                    .any(|word| words.contains(&word))
            };
            match (has(OFF), has(ON)) {
                (true, _) => Some(Self::Off),
                (false, true) => Some(Self::On),
                (false, false) => None,
            }
        })
    }
}

impl fmt::Display for PowerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

/// How a host is switched on and off.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "PowerTable")]
#[schemars(with = "PowerTable")]
pub struct Power {
    /// What switches it.
    pub means: PowerMeans,
    /// How long one change may take until its status says so.
    pub limit: Duration,
}

/// What switches a host on and off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PowerMeans {
    /// Its BMC, which `ipmitool` speaks to.
    Ipmi(Bmc),
    /// Commands of the lab's owner.
    Commands(PowerCommands),
}

/// A baseboard management controller, and how one logs in there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bmc {
    /// Its name or address in the network.
    pub address: String,
    /// Its UDP port.
    pub port: u16,
    /// Who logs in.
    pub user: String,
    /// The file with the password in its first line: from `/` or `~/` on.
    pub password_file: String,
    /// What `ipmitool` calls its protocol.
    pub interface: String,
    /// The number of its cipher suite; none: it is asked.
    pub cipher_suite: Option<u8>,
}

/// Commands that switch a host, each a line for the shell of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerCommands {
    /// Switches it on.
    pub on: String,
    /// Switches it off.
    pub off: String,
    /// Switches it off and on; none: one after the other.
    pub cycle: Option<String>,
    /// Prints whether it is on or off; none: nobody knows whether the others did what they should.
    pub status: Option<String>,
}

/// Either of a BMC (`ipmi`, `user`, `password-file`) or of commands (`on`, `off`).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(rename = "Power")]
struct PowerTable {
    /// The name or address of the machine's BMC, which `ipmitool` speaks to.
    ipmi: Option<String>,
    /// Who logs in at the BMC.
    user: Option<String>,
    /// The file that has the password in its first line, from `/` or `~/` on; nobody but you may read it.
    password_file: Option<String>,
    /// The BMC's UDP port; 623 unless said.
    port: Option<u16>,
    /// The BMC's protocol as `ipmitool` calls it; "lanplus" unless said.
    interface: Option<String>,
    /// The number of the BMC's cipher suite (3, 17, …); unless said `ipmitool` asks, which some BMCs answer slowly.
    cipher_suite: Option<u8>,
    /// The command that switches the host on, run on this machine.
    on: Option<String>,
    /// The command that switches it off.
    off: Option<String>,
    /// The command that switches it off and on; `off`, then `on` unless said.
    cycle: Option<String>,
    /// The command that prints `on` or `off`, by which every change is verified.
    status: Option<String>,
    /// How long a change may take until the status says so; 60s unless said.
    timeout: Option<Time>,
}

/// How long a change of power may take unless the lab says otherwise.
const LIMIT: Duration = Duration::from_secs(60);
/// The port of IPMI.
const PORT: u16 = 623;

/// Whether a path means the same wherever it is read.
fn is_path_from_a_root(path: &str) -> bool {
    (path.starts_with('/') || path.starts_with("~/")) && !path.contains('\0')
}

impl TryFrom<PowerTable> for Power {
    type Error = String;

    fn try_from(table: PowerTable) -> Result<Self, String> {
        let limit = table.timeout.map_or(LIMIT, |time| time.0);
        if limit.is_zero() {
            return Err(
                "a change of power takes longer than 0 s: expected for example timeout = \"60s\""
                    .into(),
            );
        }
        let commands = [&table.on, &table.off, &table.cycle, &table.status];
        let Some(address) = table.ipmi else {
            let of_bmc = table.user.is_some()
                || table.password_file.is_some()
                || table.port.is_some()
                || table.interface.is_some()
                || table.cipher_suite.is_some();
            return match (table.on, table.off) {
                _ if of_bmc => Err("`user`, `password-file`, `port`, `interface` and `cipher-suite` are for a BMC: add ipmi = \"its address\"".into()),
                (Some(on), Some(off)) => {
                    let (cycle, status) = (table.cycle, table.status);
                    let commands = PowerCommands { on, off, cycle, status };
                    Ok(Self { means: PowerMeans::Commands(commands), limit })
                }
                _ => Err("expected the host's BMC, { ipmi = \"bmc.example.org\", user = \"admin\", password-file = \"~/.bmc\" }, or commands, { on = \"…\", off = \"…\", status = \"…\" }".into()),
            };
        };
        if commands.iter().any(|command| command.is_some()) {
            return Err("either `ipmi` or commands: a BMC is switched by `ipmitool` alone".into());
        }
        let is_word = |word: &str| {
            !word.is_empty()
                && !word.starts_with('-')
                && !word.contains(|c: char| c.is_whitespace() || c.is_control())
        };
        let (Some(user), Some(password_file)) = (table.user, table.password_file) else {
            return Err(
                "a BMC asks who logs in: add user = \"admin\", password-file = \"~/.bmc\"".into(),
            );
        };
        if !is_path_from_a_root(&password_file) {
            return Err(format!(
                "`{password_file}` is another file in each folder: expected a path from `/` or `~/` on"
            ));
        }
        let interface = table.interface.unwrap_or_else(|| "lanplus".into());
        if let Some(word) = [&address, &user, &interface]
            .into_iter()
            .find(|word| !is_word(word))
        {
            return Err(format!("`{word}` is no word that `ipmitool` takes"));
        }
        let bmc = Bmc {
            address,
            port: table.port.unwrap_or(PORT),
            user,
            password_file,
            interface,
            cipher_suite: table.cipher_suite,
        };
        Ok(Self {
            means: PowerMeans::Ipmi(bmc),
            limit,
        })
    }
}

/// Where a host's console is heard.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(rename = "Console", with = "ConsoleShape")]
pub enum Console {
    /// What this command prints, which is run by the shell of this machine on a terminal of its own.
    Command(String),
    /// A serial line of this machine.
    Serial {
        /// Its device.
        device: String,
        /// Its speed in bits per second.
        baud: u32,
    },
    /// Serial over LAN of the BMC that `power` names.
    Ipmi,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Console")]
#[expect(dead_code, reason = "only its schema is used")]
enum ConsoleShape {
    /// The command whose output is the console.
    Command(String),
    Table(ConsoleTable),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConsoleTable {
    /// A serial line of this machine: `/dev/ttyUSB0`.
    serial: Option<String>,
    /// Its speed; 115200 unless said.
    baud: Option<u32>,
    /// Serial over LAN of the BMC in `power`.
    #[serde(default)]
    ipmi: bool,
}

/// The usual speed of a serial console, in bits per second.
const BAUD: u32 = 115_200;

struct ConsoleVisitor;

impl<'de> de::Visitor<'de> for ConsoleVisitor {
    type Value = Console;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a command whose output is the console, { serial = \"/dev/ttyUSB0\", baud = 115200 } or { ipmi = true }")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Console, E> {
        match text.trim().is_empty() || text.contains('\0') {
            true => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
            false => Ok(Console::Command(text.to_owned())),
        }
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Console, A::Error> {
        let table = ConsoleTable::deserialize(de::value::MapAccessDeserializer::new(map))?;
        match table {
            ConsoleTable {
                serial: Some(device),
                baud,
                ipmi: false,
            } if device.starts_with('/') => Ok(Console::Serial {
                device,
                baud: baud.unwrap_or(BAUD),
            }),
            ConsoleTable {
                serial: Some(device),
                ipmi: false,
                ..
            } => Err(de::Error::custom(format!(
                "`{device}` is no device: expected a path, for example serial = \"/dev/ttyUSB0\""
            ))),
            ConsoleTable {
                serial: None,
                baud: None,
                ipmi: true,
            } => Ok(Console::Ipmi),
            _ => Err(de::Error::custom(
                "expected { serial = \"/dev/ttyUSB0\", baud = 115200 } or { ipmi = true }",
            )),
        }
    }
}

impl<'de> Deserialize<'de> for Console {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ConsoleVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lab, TomlDocument};

    fn host(keys: &str) -> Result<crate::Host, String> {
        let text = format!("[host.dut]\nkind = \"ssh\"\n{keys}\n");
        let lab = Lab::read(&TomlDocument::new("lab.toml", text));
        let mut lab = lab.map_err(|error| format!("{:?}", miette::Report::new(error)))?;
        Ok(lab.host.swap_remove_index(0).unwrap().1)
    }

    #[test]
    fn a_host_is_switched_by_its_bmc_or_by_commands() {
        let bmc = host("power = { ipmi = \"dut-bmc.lab\", user = \"admin\", password-file = \"~/.dut\" }\nconsole = { ipmi = true }").unwrap();
        let Some(PowerMeans::Ipmi(found)) = bmc.power.as_ref().map(|power| &power.means) else {
            panic!()
        };
        assert_eq!((found.port, &*found.interface), (623, "lanplus"));
        assert_eq!(bmc.console.as_deref(), Some(&Console::Ipmi));
        let commands = host(
            "power = { on = \"a\", off = \"b\", timeout = \"5s\" }\nconsole = \"conserver dut\"",
        )
        .unwrap();
        assert_eq!(commands.power.unwrap().limit, Duration::from_secs(5));
        let serial = host("console = { serial = \"/dev/ttyS1\" }").unwrap();
        assert_eq!(
            serial.console.as_deref(),
            Some(&Console::Serial {
                device: "/dev/ttyS1".into(),
                baud: BAUD
            })
        );
    }

    #[test]
    fn what_can_not_be_meant_is_refused_with_a_way_out() {
        for (keys, words) in [
            ("power = { ipmi = \"bmc\" }", "password-file = \"~/.bmc\""),
            (
                "power = { ipmi = \"bmc\", user = \"a\", password-file = \"pw\" }",
                "from `/` or `~/` on",
            ),
            (
                "power = { ipmi = \"-H\", user = \"a\", password-file = \"/pw\" }",
                "no word that `ipmitool` takes",
            ),
            (
                "power = { ipmi = \"bmc\", on = \"a\" }",
                "either `ipmi` or commands",
            ),
            ("power = { on = \"a\" }", "expected the host's BMC"),
            (
                "power = { on = \"a\", off = \"b\", user = \"c\" }",
                "are for a BMC",
            ),
            (
                "power = { on = \"a\", off = \"b\", password = \"c\" }",
                "unknown field `password`",
            ),
            ("console = { ipmi = true }", "serial over LAN"),
            ("console = { serial = \"ttyS0\" }", "no device"),
            ("console = \" \"", "a command whose output is the console"),
            ("console = { baud = 9600 }", "{ ipmi = true }"),
        ] {
            let error = host(keys).unwrap_err().replace("\n  │ ", " ");
            assert!(error.contains(words), "{keys}: {error}");
        }
        let text = "[host.a]\nkind = \"netns\"\nconsole = \"x\"\n";
        let error = Lab::read(&TomlDocument::new("lab.toml", text)).unwrap_err();
        assert!(error.to_string().contains("kind \"netns\""), "{error}");
    }

    #[test]
    fn the_words_of_several_tools_tell_whether_a_machine_is_on() {
        for (text, state) in [
            ("Chassis Power is on\n", Some(PowerState::On)),
            (
                "Loading IANA PEN Registry...\nChassis Power is off\n",
                Some(PowerState::Off),
            ),
            ("running\n\n", Some(PowerState::On)),
            ("shut off\n", Some(PowerState::Off)),
            ("ON", Some(PowerState::On)),
            ("opinion", None),
            ("", None),
        ] {
            assert_eq!(PowerState::parse(text), state, "{text}");
        }
    }
}
