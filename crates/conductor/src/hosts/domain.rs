//! Domains of libvirt: started where they are off, set back to a snapshot as the lab says, and left on or off as they were found.
//!
//! The agent speaks on a port of virtio-serial or a socket of the guest's (vsock) and finds its program on a second disk, as in a machine of our own (`vm`), or `ssh`
//! carries it. A domain outlives this program, so that a process of its own watches over it: when this program dies, it switches off what
//! was off before. What ran before may be somebody's: it is switched off only to go back to its snapshot.
//!
//! Nothing is measured on a domain that can't go back to its snapshot. Whoever only asks a host something doesn't set it back.

use backsight_agent::{
    Client, GuestError, GuestSetup, VSOCK_PORT, cache_folder, connect_vsock, set_up,
};
use backsight_model::{Channel, Host, HostName, Located, Restore};
use futures_util::future::BoxFuture;
use rustix::io::Errno;
use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::{
    io::AsyncWriteExt as _,
    net::UnixStream,
    process::{Child, ChildStdin, Command},
    time::{sleep, timeout},
};

use super::{
    AgentKeeper, ConnectError, HostAccess, LastWords, Started, agent_programs::AgentProgram, ssh,
    vm::write_agent_disk,
};
use crate::{
    console::{CapturedConsole, ConsoleCapture},
    virsh::{Definition, Domain, how_to_add_devices},
};

/// How long a domain may take until its agent says hello.
const BOOT_LIMIT: Duration = Duration::from_secs(300);
/// How long the agent in a domain that runs already may take to notice us, until the channel is opened anew: it may not have noticed yet
/// that somebody else has closed it.
const NOTICE_LIMIT: Duration = Duration::from_secs(15);
/// How long a domain whose disk is kept may take to shut down in order.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(60);
/// The pause between two logins at a system that boots.
const LOGIN_PAUSE: Duration = Duration::from_secs(1);
/// Where the label of an ext4 file system is, and how long it is, in bytes.
const LABEL: (u64, usize) = (1024 + 120, 16);

/// Starts a domain, unless it runs, and greets the agent in it.
///
/// # Errors
/// libvirt says no; the domain can't go back to its snapshot; it ends, stands still or says nothing in time. It is on or off as it was.
pub(super) async fn start(
    reach: &HostAccess,
    host: &HostName,
    settings: &Host,
) -> Result<Started, ConnectError> {
    let fault = |message: String, console: Vec<u8>| ConnectError::Domain {
        host: host.clone(),
        message,
        console,
    };
    let domain = Domain::of(settings)
        .and_then(|domain| domain.ok_or_else(|| "it is no domain".to_owned()))
        .map_err(|message| fault(message, Vec::new()))?;
    let starting = StartingDomain {
        reach,
        host,
        settings,
        domain,
    };
    let running = starting
        .bring_up()
        .await
        .map_err(|m| fault(m, Vec::new()))?;
    let greeted = tokio::select! {
        greeted = timeout(BOOT_LIMIT, starting.greet(running.was_on)) => match greeted {
            Ok(greeted) => greeted,
            Err(_) => Err(fault(starting.silence(), Vec::new())),
        },
        state = running.console.end_of_boot() => {
            Err(fault(format!("{}: {}", state.meaning, state.advice), Vec::new()))
        }
    };
    match greeted {
        Ok((client, over_ssh)) => Ok((
            client,
            Box::new(RunningDomain {
                over_ssh,
                ..running
            }),
        )),
        Err(cause) => {
            let said = running.console.bytes();
            running.give_up().await;
            Err(match cause {
                ConnectError::Domain { message, .. } => fault(message, said),
                of_ssh => of_ssh,
            })
        }
    }
}

/// Adds what the agent needs to the definition of a domain. Whether something was missing.
///
/// # Errors
/// libvirt's; the disk with the agent can't be written.
pub(crate) async fn add_agent_devices(
    program: &Path,
    domain: &Domain,
    channel: Channel,
) -> Result<bool, String> {
    let uuid = domain.run("domuuid", &[]).await?;
    let folder = disk_folder();
    let disk = folder.join(format!("{}.img", uuid.trim()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_new = domain.add_agent_devices(&disk, channel).await?;
    // It has to be there for the domain to start at all, whoever starts it.
    let definition = Definition(domain.run("dumpxml", &["--inactive"]).await?);
    let disk = definition.agent_disk().unwrap_or(disk);
    if !disk.exists() {
        refresh_agent_disk(program, channel, &disk)?;
    }
    Ok(is_new)
}

/// Where disks with agents lie, which the user of libvirt's QEMU has to reach.
fn disk_folder() -> PathBuf {
    let own = std::env::var_os("XDG_CACHE_HOME").is_some() || !rustix::process::geteuid().is_root();
    let cache = match own {
        true => cache_folder(),
        false => PathBuf::from("/var/cache/backsight"),
    };
    cache.join("domains")
}

type GreetedAgent = (Client, Option<Box<dyn AgentKeeper>>);

/// A domain that isn't on as it is to be.
struct NotBegun {
    /// Why.
    said: String,
    /// Whether it may be on because of what was tried.
    is_touched: bool,
}

/// A host whose domain is to run.
struct StartingDomain<'a> {
    reach: &'a HostAccess,
    host: &'a HostName,
    settings: &'a Host,
    domain: Domain,
}

impl StartingDomain<'_> {
    /// Has it run, as new where the lab says so.
    async fn bring_up(&self) -> Result<RunningDomain, String> {
        let domain = &self.domain;
        let state = domain.state().await?;
        let was_on = state.is_on();
        // Who measures has a lease.
        let restores = self.settings.restores() != Restore::Never && self.reach.lease.is_some();
        let snapshot = self.settings.snapshot.as_ref().filter(|_| restores);
        if was_on && snapshot.is_none() && state.0 != "running" {
            return Err(format!(
                "its domain is {}: {}",
                state.0,
                domain.line("resume")
            ));
        }
        let off_switch = match was_on {
            true => None,
            false => Some(OffSwitch::new(domain)?),
        };
        let begun = match self.begin(was_on, snapshot).await {
            Ok(is_paused) => match ConsoleCapture::start(self.settings).await {
                Ok(console) => Ok((is_paused, console)),
                Err(error) => Err(NotBegun {
                    said: error.to_string(),
                    is_touched: true,
                }),
            },
            Err(not_begun) => Err(not_begun),
        };
        let (is_paused, console) = match begun {
            Ok(begun) => begun,
            Err(NotBegun { said, is_touched }) => {
                // Done here and now: the switch would do it some time later, to whoever has started the domain by then.
                if let Some(off_switch) = off_switch {
                    if is_touched {
                        let _libvirt_is_gone = domain.switch_off().await;
                    }
                    off_switch.disarm().await;
                }
                return Err(said);
            }
        };
        let running = RunningDomain {
            domain: domain.clone(),
            was_on,
            is_kept: self.settings.restores() == Restore::Never,
            console,
            off_switch,
            over_ssh: None,
        };
        if is_paused {
            running.console.recognize();
            if let Err(said) = domain.run("resume", &[]).await {
                running.give_up().await;
                return Err(said);
            }
        }
        Ok(running)
    }

    /// Has it on: set back to its snapshot, as it is, or started. Whether it stands still.
    async fn begin(
        &self,
        was_on: bool,
        snapshot: Option<&Located<String>>,
    ) -> Result<bool, NotBegun> {
        let domain = &self.domain;
        let untouched = |said| NotBegun {
            said,
            is_touched: false,
        };
        let Some(snapshot) = snapshot else {
            if was_on {
                return Ok(false);
            }
            let definition = domain.run("dumpxml", &["--inactive"]).await;
            let definition = Definition(definition.map_err(untouched)?);
            self.refresh_agent(&definition).map_err(untouched)?;
            // Somebody else may have started it in the meantime.
            let started = domain.run("start", &["--paused"]).await;
            return started.map(|_| true).map_err(untouched);
        };
        let Err(said) = self.go_back(snapshot).await else {
            return Ok(true);
        };
        if was_on {
            let _it_ran_all_the_time = domain.run("start", &[]).await;
        }
        let said = format!(
            "it can't go back to its snapshot `{}`, and isn't measured on as it is: {said}",
            **snapshot
        );
        Err(NotBegun {
            said,
            is_touched: true,
        })
    }

    /// Sets it back to a snapshot, in which it stands still.
    async fn go_back(&self, snapshot: &Located<String>) -> Result<(), String> {
        let domain = &self.domain;
        let definition = Definition(domain.run("snapshot-dumpxml", &[snapshot]).await?);
        if domain.state().await?.is_on() {
            domain.switch_off().await?;
        }
        if let Some(disk) = self.refresh_agent(&definition)?
            && let Some(taken) = definition.taken_while_it_ran()
            && disk
                .metadata()
                .is_ok_and(|it| u64::try_from(it.mtime()).is_ok_and(|t| t > taken))
        {
            return Err(format!(
                "it was taken while the domain ran an older agent: take it anew, or while the domain is off: {}",
                domain.line("snapshot-create-as")
            ));
        }
        domain
            .run("snapshot-revert", &[snapshot, "--paused"])
            .await
            .map(drop)
    }

    /// Has the disk of a domain that is off bring this program along. The disk; none where `ssh` does that.
    fn refresh_agent(&self, definition: &Definition) -> Result<Option<PathBuf>, String> {
        if self.settings.is_reached_by_ssh() {
            return Ok(None);
        }
        let disk = definition.agent_disk().ok_or_else(|| {
            let how = how_to_add_devices(self.host);
            format!("the agent can't get into it: no disk of the domain brings it along: {how}")
        })?;
        refresh_agent_disk(&self.reach.program, self.settings.agent_channel(), &disk)?;
        Ok(Some(disk))
    }

    /// The agent, and the process that carries its stream where `ssh` does.
    async fn greet(&self, was_on: bool) -> Result<GreetedAgent, ConnectError> {
        let fault = |message: String| ConnectError::Domain {
            host: self.host.clone(),
            message,
            console: Vec::new(),
        };
        if !self.settings.is_reached_by_ssh() {
            let greeted = self.greet_on_channel(was_on).await;
            return greeted.map(|client| (client, None)).map_err(fault);
        }
        loop {
            match ssh::start(self.reach, self.settings, self.host).await {
                Ok((client, process)) => return Ok((client, Some(process))),
                // Its system boots.
                Err(ConnectError::Unreachable { .. }) if !was_on => {}
                Err(other) => return Err(other),
            }
            self.require_on().await.map_err(fault)?;
            sleep(LOGIN_PAUSE).await;
        }
    }

    async fn greet_on_channel(&self, was_on: bool) -> Result<Client, String> {
        let definition = Definition(self.domain.run("dumpxml", &[]).await?);
        let setup = GuestSetup {
            keeps_disk: true,
            stays_on: was_on,
            ..GuestSetup::default()
        };
        // A domain that was started here has nobody to notice, and an agent that is its first process ends it with its channel.
        let patience = match was_on {
            true => NOTICE_LIMIT,
            false => BOOT_LIMIT,
        };
        loop {
            let mut stream = self.open_channel(&definition).await?;
            match timeout(patience, set_up(&mut stream, &setup)).await {
                Ok(Ok(())) => {
                    let greeted = Client::connect(stream, BOOT_LIMIT).await;
                    return greeted.map_err(|error| error.to_string());
                }
                Ok(Err(GuestError::Channel(_))) => self.require_on().await?,
                Ok(Err(other)) => return Err(other.to_string()),
                Err(_) => {}
            }
        }
    }

    /// A stream to where its agent serves.
    async fn open_channel(&self, definition: &Definition) -> Result<UnixStream, String> {
        let no_channel = || {
            let how = how_to_add_devices(self.host);
            format!("it has no channel for the agent: {how}, which has it from its next start on")
        };
        if self.settings.agent_channel() == Channel::Vsock {
            let guest = definition.vsock_guest().ok_or_else(no_channel)?;
            return self.call_guest(guest).await;
        }
        let socket = definition.channel_socket().ok_or_else(no_channel)?;
        let stream = UnixStream::connect(&socket).await;
        stream.map_err(|error| format!("its channel {} can't be opened: {error}", socket.display()))
    }

    /// Calls its agent until that listens.
    async fn call_guest(&self, guest: u32) -> Result<UnixStream, String> {
        loop {
            let calling = tokio::task::spawn_blocking(move || connect_vsock(guest));
            let called = calling.await.map_err(io::Error::other).flatten();
            let opened = called.and_then(|stream| {
                stream.set_nonblocking(true)?;
                UnixStream::from_std(stream)
            });
            match opened.map_err(|error| (Errno::from_io_error(&error), error)) {
                Ok(stream) => return Ok(stream),
                Err((Some(Errno::AFNOSUPPORT | Errno::NODEV), error)) => {
                    return Err(format!(
                        "this machine can't call guests by vsock ({error}): modprobe vhost_vsock"
                    ));
                }
                // Its system boots, or its agent begins anew.
                Err(_) => {}
            }
            self.require_on().await?;
            sleep(LOGIN_PAUSE).await;
        }
    }

    async fn require_on(&self) -> Result<(), String> {
        let state = self.domain.state().await?;
        match state.is_on() {
            true => Ok(()),
            false => Err(format!(
                "its domain ended before its agent said hello: it is {}",
                state.0
            )),
        }
    }

    fn silence(&self) -> String {
        let start = match self.settings.is_reached_by_ssh() {
            true => "",
            false => {
                ": its system has to start it (see \"Measure in virtual machines and containers\")"
            }
        };
        format!("its agent hasn't said hello within {BOOT_LIMIT:?}{start}")
    }
}

/// Writes the disk with an agent where it isn't that with this program and this channel, by the label of its file system.
fn refresh_agent_disk(program: &Path, channel: Channel, disk: &Path) -> Result<(), String> {
    let fault = |error: io::Error| format!("the disk with the agent {}: {error}", disk.display());
    let own = AgentProgram::own(program).map_err(fault)?;
    let channel = (channel == Channel::Vsock).then(|| format!("vsock:{VSOCK_PORT}"));
    let content = [own.file.as_str(), channel.as_deref().unwrap_or_default()].concat();
    let label = blake3::hash(content.as_bytes()).to_hex()[..LABEL.1].to_owned();
    if label_of(disk).is_ok_and(|there| there == label.as_bytes()) {
        return Ok(());
    }
    let folder = disk.with_extension("making");
    let removed = match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    removed
        .and_then(|()| fs::create_dir_all(&folder))
        .map_err(fault)?;
    let new = folder.join("disk.img");
    write_agent_disk(program, channel.as_deref(), &folder, &new, &["-L", &label])?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o644))
        .and_then(|()| fs::rename(&new, disk))
        .and_then(|()| fs::remove_dir_all(&folder))
        .map_err(fault)
}

fn label_of(disk: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(disk)?;
    file.seek(SeekFrom::Start(LABEL.0))?;
    let mut label = vec![0; LABEL.1];
    file.read_exact(&mut label)?;
    Ok(label)
}

/// A domain that runs.
struct RunningDomain {
    domain: Domain,
    /// Whether it ran when it was found.
    was_on: bool,
    /// Whether what it writes stays on its disk.
    is_kept: bool,
    console: ConsoleCapture,
    /// What switches it off when this program dies; none where it was on.
    off_switch: Option<OffSwitch>,
    /// The process that carries its agent's stream, where `ssh` does.
    over_ssh: Option<Box<dyn AgentKeeper>>,
}

impl RunningDomain {
    /// Switches it off, since nobody knows how it is; one that ran before is left alone. Its console's last words.
    async fn give_up(self) -> LastWords {
        if let Some(process) = self.over_ssh {
            process.bury().await;
        }
        let state = self.domain.state().await;
        if let Some(off_switch) = self.off_switch {
            let _libvirt_is_gone = self.domain.switch_off().await;
            off_switch.disarm().await;
        }
        let CapturedConsole {
            bytes: console,
            words,
            ..
        } = self.console.finish().await;
        let words = match state {
            Ok(state) if !state.is_on() => {
                format!("its domain ended by itself: it is {}; {words}", state.0)
            }
            _ => words,
        };
        LastWords { words, console }
    }

    /// Leaves it as it was found.
    async fn leave(self) {
        if let Some(process) = self.over_ssh {
            process.dismiss().await;
        }
        if let Some(off_switch) = self.off_switch {
            let shuts_down = self.is_kept && self.domain.run("shutdown", &[]).await.is_ok();
            if !shuts_down || !self.domain.until_off(SHUTDOWN_LIMIT).await {
                let _libvirt_is_gone = self.domain.switch_off().await;
            }
            off_switch.disarm().await;
        }
        self.console.finish().await;
    }
}

impl AgentKeeper for RunningDomain {
    fn console(&self) -> Option<Vec<u8>> {
        Some(self.console.bytes())
    }

    fn bury(self: Box<Self>) -> BoxFuture<'static, LastWords> {
        Box::pin(self.give_up())
    }

    fn dismiss(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(self.leave())
    }
}

/// A process that switches a domain off when this program, or whoever holds this, is gone. It has the host's lock until then, as all that
/// is started here.
struct OffSwitch {
    process: Child,
    hold: Option<ChildStdin>,
}

impl OffSwitch {
    fn new(domain: &Domain) -> Result<Self, String> {
        let mut process = Command::new("/bin/sh")
            .args(["-c", "read -r _ || exec \"$@\"", "sh"])
            .args(domain.words("destroy", &[]))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("can't run /bin/sh: {error}"))?;
        let hold = process.stdin.take();
        Ok(Self { process, hold })
    }

    /// Lets the domain be as it is.
    async fn disarm(mut self) {
        if let Some(mut hold) = self.hold.take() {
            let _it_has_gone = hold.write_all(b"\n").await;
        }
        let _ = self.process.wait().await;
    }
}
