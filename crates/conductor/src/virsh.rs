//! Domains of libvirt, as `virsh` shows and changes them.
//!
//! Domains belong to whoever made them: here is what starts and ends one, sets it back, and looks at its definition, and two devices that
//! are added to it when somebody asks for that. Messages are those of virsh, with the command that repeats what was tried.

use backsight_model::{Channel, Host, HostName, Power, PowerCommands, PowerMeans, shell_quoted};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::{
    io::AsyncWriteExt as _,
    process::Command,
    time::{Instant, sleep, timeout},
};

/// How long virsh may take for one command; going back to a snapshot loads the memory of a machine.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);
/// How long a change of power may take until the domain's state says so.
const POWER_LIMIT: Duration = Duration::from_secs(60);
/// The pause between two questions for a domain's state.
const STATE_PAUSE: Duration = Duration::from_millis(200);
/// The name of the channel on which a domain's agent speaks, and the serial number of the disk with its program.
const AGENT: &str = "backsight";

/// A domain of libvirt.
#[derive(Debug, Clone)]
pub(crate) struct Domain {
    name: String,
    connect: Option<String>,
    /// What the file that defines it says, where the lab names that.
    definition: Option<String>,
}

impl Domain {
    /// The domain that a host is; none of another host.
    ///
    /// # Errors
    /// The file that defines it can't be read or names no domain.
    pub(crate) fn of(settings: &Host) -> Result<Option<Self>, String> {
        let Some(domain) = settings.domain.as_deref() else {
            return Ok(None);
        };
        let connect = settings.connect.as_ref().map(|it| (**it).clone());
        let (name, definition) = match Host::is_definition(domain) {
            false => (domain.clone(), None),
            true => {
                let text = fs::read_to_string(domain).map_err(|it| format!("{domain}: {it}"))?;
                let definition = Definition(text);
                let name = definition.name().ok_or_else(|| {
                    format!("{domain}: it defines no domain: there is no <name> in it")
                })?;
                (name, Some(definition.0))
            }
        };
        Ok(Some(Self {
            name,
            connect,
            definition,
        }))
    }

    /// Has libvirt know it by its file, unless it knows a domain of that name. Whether it was new.
    ///
    /// # Errors
    /// virsh's.
    pub(crate) async fn define(&self) -> Result<bool, String> {
        let Some(definition) = &self.definition else {
            return Ok(false);
        };
        match self.run("domstate", &[]).await {
            Err(said) if is_unknown(&said) => {}
            other => return other.map(|_| false),
        }
        let words = self.words_of("define", &["/dev/stdin"]);
        run_words(&words, definition).await.map(|_| true)
    }

    /// The words of a command about it.
    pub(crate) fn words(&self, verb: &str, more: &[&str]) -> Vec<String> {
        self.words_of(verb, &[&[self.name.as_str()], more].concat())
    }

    /// The words of a command to its libvirt.
    fn words_of(&self, verb: &str, more: &[&str]) -> Vec<String> {
        let mut words = vec!["virsh".to_owned()];
        if let Some(connect) = &self.connect {
            words.extend(["--connect".to_owned(), connect.clone()]);
        }
        words.push(verb.to_owned());
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words
    }

    /// The same as a line for a shell.
    pub(crate) fn line(&self, verb: &str) -> String {
        let words = self.words(verb, &[]);
        let quoted = words.iter().map(|word| shell_quoted(word));
        quoted.collect::<Vec<_>>().join(" ")
    }

    /// What switches it on and off where the lab doesn't say it.
    pub(crate) fn power(&self) -> Power {
        let status = format!(
            "state=$(LC_ALL=C {}) || exit; case $state in 'shut off' | crashed) echo off;; *) echo on;; esac",
            self.line("domstate")
        );
        Power {
            means: PowerMeans::Commands(PowerCommands {
                on: self.line("start"),
                off: self.line("destroy"),
                cycle: None,
                status: Some(status),
            }),
            limit: POWER_LIMIT,
        }
    }

    /// Runs a command about it; what it printed.
    ///
    /// # Errors
    /// What it said.
    pub(crate) async fn run(&self, verb: &str, more: &[&str]) -> Result<String, String> {
        run_words(&self.words(verb, more), "").await
    }

    /// Its state, in virsh's words.
    pub(crate) async fn state(&self) -> Result<DomainState, String> {
        match self.run("domstate", &[]).await {
            Ok(said) => Ok(DomainState(said.trim().to_owned())),
            Err(said) if self.definition.is_some() && is_unknown(&said) => Err(format!(
                "{said}: `backsight lab provision` defines it as its file says"
            )),
            Err(said) => Err(said),
        }
    }

    /// Waits until it is off; false if that takes longer than this.
    pub(crate) async fn until_off(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        // virsh can wait for an event, but not for one that may have been before.
        while self.state().await.is_ok_and(|state| state.is_on()) {
            if Instant::now() > until {
                return false;
            }
            sleep(STATE_PAUSE).await;
        }
        true
    }

    /// Switches it off, as by pulling its plug; one that is off stays so.
    ///
    /// # Errors
    /// virsh's.
    pub(crate) async fn switch_off(&self) -> Result<(), String> {
        match self.run("destroy", &[]).await {
            Err(_) if self.state().await.is_ok_and(|state| !state.is_on()) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Adds the devices by which the agent gets in and speaks to its definition, where they are missing: they are there when it starts
    /// the next time. Whether any was.
    ///
    /// # Errors
    /// virsh's.
    pub(crate) async fn add_agent_devices(
        &self,
        agent_disk: &Path,
        channel: Channel,
    ) -> Result<bool, String> {
        let definition = Definition(self.run("dumpxml", &["--inactive"]).await?);
        let mut missing = Vec::new();
        match channel {
            Channel::Vsock if !definition.has_vsock() => {
                missing.push("<vsock model='virtio'><cid auto='yes'/></vsock>".to_owned());
            }
            Channel::VirtioSerial if !definition.has_channel() => missing.push(format!(
                "<channel type='unix'><target type='virtio' name='{AGENT}'/></channel>"
            )),
            _ => {}
        }
        if definition.agent_disk().is_none() {
            missing.push(format!(
                "<disk type='file' device='disk' snapshot='no'><driver name='qemu' type='raw'/><source file='{}'/>\
                 <target dev='vdz' bus='virtio'/><serial>{AGENT}</serial><readonly/></disk>",
                escaped(&agent_disk.to_string_lossy())
            ));
        }
        for device in &missing {
            let more = ["/dev/stdin", "--config"];
            run_words(&self.words("attach-device", &more), device).await?;
        }
        Ok(!missing.is_empty())
    }
}

/// Runs virsh with this as its input; what it printed.
async fn run_words(words: &[String], input: &str) -> Result<String, String> {
    let quoted = words.iter().map(|word| shell_quoted(word));
    let shown = quoted.collect::<Vec<_>>().join(" ");
    let said = async {
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // If it has gone, its own words say why.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        child.wait_with_output().await
    };
    let output = timeout(COMMAND_LIMIT, said)
        .await
        .map_err(|_| format!("`{shown}` hasn't ended within {COMMAND_LIMIT:?} and was killed"))?;
    let output = output.map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => {
            "this machine has no program `virsh`: apt-get install libvirt-clients".to_owned()
        }
        _ => format!("can't run `{shown}`: {cause}"),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    Err(format!("`{shown}` failed: {}", lines.join("; ")))
}

/// Whether it says that there is no such domain.
fn is_unknown(said: &str) -> bool {
    said.contains("failed to get domain")
}

/// What virsh calls the state of a domain.
pub(crate) struct DomainState(pub(crate) String);

impl DomainState {
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self.0.as_str(), "shut off" | "crashed")
    }
}

/// A description of a domain, or of a snapshot of one, as libvirt writes it: one element a line, attributes in single quotes.
pub(crate) struct Definition(pub(crate) String);

impl Definition {
    /// Whether it has the agent's channel.
    pub(crate) fn has_channel(&self) -> bool {
        self.channel().is_some()
    }

    /// Whether it has sockets to the machine that runs it.
    fn has_vsock(&self) -> bool {
        self.elements("vsock").next().is_some()
    }

    /// The number by which such sockets find it, of a domain that runs.
    pub(crate) fn vsock_guest(&self) -> Option<u32> {
        let device = self.elements("vsock").next()?;
        attribute(device, "<cid ", "address")?
            .to_str()?
            .parse()
            .ok()
    }

    /// The socket of the agent's channel, of a domain that runs.
    pub(crate) fn channel_socket(&self) -> Option<PathBuf> {
        attribute(self.channel()?, "<source ", "path")
    }

    /// What the domain is called.
    fn name(&self) -> Option<String> {
        let name = unescaped(self.content("name")?.trim());
        Some(name).filter(|name| !name.is_empty())
    }

    /// The file of the disk with the agent's program.
    pub(crate) fn agent_disk(&self) -> Option<PathBuf> {
        let serial = format!("<serial>{AGENT}</serial>");
        let mut disks = self.elements("disk");
        attribute(
            disks.find(|disk| disk.contains(&serial))?,
            "<source ",
            "file",
        )
    }

    /// Of a snapshot: when it was taken, in seconds of the epoch, if the domain ran then.
    pub(crate) fn taken_while_it_ran(&self) -> Option<u64> {
        match self.content("state")? {
            "running" | "paused" => self.content("creationTime")?.parse().ok(),
            _ => None,
        }
    }

    /// The text of the first element of this name.
    fn content(&self, name: &str) -> Option<&str> {
        let (_, rest) = self.0.split_once(&format!("<{name}>"))?;
        Some(rest.split_once('<')?.0)
    }

    fn channel(&self) -> Option<&str> {
        let name = format!("name='{AGENT}'");
        let mut channels = self.elements("channel");
        channels.find(|it| it.starts_with("<channel type='unix'") && it.contains(&name))
    }

    fn elements(&self, name: &str) -> impl Iterator<Item = &str> {
        let (begin, end) = (format!("<{name} "), format!("</{name}>"));
        let starts: Vec<usize> = self.0.match_indices(&begin).map(|(at, _)| at).collect();
        starts.into_iter().filter_map(move |at| {
            let rest = &self.0[at..];
            Some(&rest[..rest.find(&end)?])
        })
    }
}

/// The value of an attribute of the first element that begins so.
fn attribute(text: &str, element: &str, name: &str) -> Option<PathBuf> {
    let (_, rest) = text.split_once(element)?;
    let (element, _) = rest.split_once('>')?;
    let (_, rest) = element.split_once(&format!("{name}='"))?;
    let (value, _) = rest.split_once('\'')?;
    Some(PathBuf::from(unescaped(value)))
}

const ESCAPES: [(&str, &str); 5] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&apos;", "'"),
    ("&quot;", "\""),
    // The last one, when a text is read: what it gives is no beginning of another.
    ("&amp;", "&"),
];

fn escaped(text: &str) -> String {
    let each = ESCAPES.iter().rev();
    each.fold(text.to_owned(), |text, (escape, character)| {
        text.replace(character, escape)
    })
}

fn unescaped(text: &str) -> String {
    let each = ESCAPES.iter();
    each.fold(text.to_owned(), |text, (escape, character)| {
        text.replace(escape, character)
    })
}

/// How a host becomes one that the agent gets into.
pub(crate) fn how_to_add_devices(host: &HostName) -> String {
    format!("`backsight lab provision {host}` adds it to the domain's definition")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_devices_are_found_among_others() {
        let running = Definition(
            "<disk type='file' device='disk'>\n  <source file='/srv/a.qcow2' index='1'/>\n</disk>\n\
             <disk type='file' device='disk' snapshot='no'>\n  <source file='/srv/a&amp;lt;b.img'/>\n  <serial>backsight</serial>\n</disk>\n\
             <channel type='unix'>\n  <source mode='bind' path='/run/ga'/>\n  <target type='virtio' name='org.qemu.guest_agent.0'/>\n</channel>\n\
             <channel type='unix'>\n  <source mode='bind' path='/run/ours'/>\n  <target type='virtio' name='backsight' state='connected'/>\n</channel>\n"
                .into(),
        );
        assert_eq!(running.channel_socket(), Some("/run/ours".into()));
        assert_eq!(running.agent_disk(), Some("/srv/a&lt;b.img".into()));
        assert_eq!(escaped("a&lt;b'"), "a&amp;lt;b&apos;");
        let off = Definition(
            "<channel type='unix'>\n  <target type='virtio' name='backsight'/>\n</channel>".into(),
        );
        assert!(off.has_channel() && off.channel_socket().is_none() && off.agent_disk().is_none());
        assert!(!Definition("<channel type='pty'>\n</channel>".into()).has_channel());
    }

    #[test]
    fn a_guest_that_runs_has_a_number() {
        let running = Definition(
            "<vsock model='virtio'>\n  <cid auto='yes' address='3'/>\n  <alias name='vsock0'/>\n</vsock>"
                .into(),
        );
        assert_eq!(running.vsock_guest(), Some(3));
        let off = Definition("<vsock model='virtio'>\n  <cid auto='yes'/>\n</vsock>".into());
        assert!(off.has_vsock() && off.vsock_guest().is_none());
    }

    #[test]
    fn a_snapshot_with_memory_says_when_it_was_taken() {
        let snapshot = |state: &str| {
            let text = format!(
                "<domainsnapshot>\n  <state>{state}</state>\n  <creationTime>1234</creationTime>\n"
            );
            Definition(text).taken_while_it_ran()
        };
        assert_eq!(snapshot("running"), Some(1234));
        assert_eq!(snapshot("shutoff"), None);
    }
}
