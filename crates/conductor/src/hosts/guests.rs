//! Guests: kernels that are booted, each with an agent as its first process.
//!
//! The kernel (or the machine that is emulated around it) is a program like any other: an agent of this machine, its
//! *keeper*, runs it, keeps what its console prints, and ends every process of it, whatever happens to us. The guest's
//! own agent speaks over a socket that only the keeper's folder has a name for.
//!
//! A guest never outlives its boot. Kernels are built elsewhere.

mod initramfs;
mod machine;

pub use initramfs::InitramfsError;
pub use machine::PartsError;
pub(crate) use machine::promised;
pub(super) use machine::{memory, network_words, setup};

use backsight_agent::{
    BeginTrial, Client, EndReason, GuestError, GuestSetup, ProcessExit, StepEvent, StepId,
    StepSpec, set_up,
};
use backsight_model::{ConsoleRecognizer, ConsoleState, HostKind, HostName, Lab, console_words};
use futures_util::future::BoxFuture;
use indexmap::IndexMap;
use std::{
    collections::BTreeMap,
    fmt,
    io::{Read as _, Seek as _, SeekFrom},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    net::{UnixListener, UnixStream},
    sync::watch,
    time::timeout,
};

use crate::{
    ConnectError, HostAccess,
    hosts::{AgentKeeper, Connected, LastWords, Process, netns::namespace},
    netns,
};

/// How long the end of a kernel may take to be known after its channel broke, which is heard of first.
const END_HEARD_LIMIT: Duration = Duration::from_secs(1);
/// How long a guest may take to end after a client's goodbye before its channel is ended.
const GOODBYE_LIMIT: Duration = Duration::from_secs(2);
/// How long a guest may take to power itself off after that before it is killed.
const POWER_OFF_LIMIT: Duration = Duration::from_secs(5);
/// How long after its channel a kernel's process may end, for the one to explain the other.
const EXPLANATION_LIMIT: Duration = Duration::from_secs(1);
/// A guest lives as long as its boot; a step has to have some limit.
const LIFE_LIMIT: Duration = Duration::from_secs(365 * 86400);
/// The pause between two looks at a guest's links.
const LINK_PAUSE: Duration = Duration::from_millis(10);
/// How much a kernel may print before it is ended, in bytes.
const CONSOLE_LIMIT: u64 = 32 << 20;
/// How much of the end of it is kept with a boot, in bytes.
const CONSOLE_KEPT: u64 = 256 << 10;
/// The pause between two looks at what a console has printed: its file tells nobody that it grows.
const CONSOLE_PAUSE: Duration = Duration::from_millis(250);
/// How much of a console one look reads, in bytes.
const CONSOLE_PIECE: u64 = 1 << 20;
/// The one step of a keeper.
const KERNEL: u64 = 1;

/// A kernel to boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The kind of the hosts that it is booted on: [`HostKind::Uml`] or [`HostKind::Qemu`].
    pub kind: HostKind,
    /// Its file: for [`HostKind::Uml`] a program, for [`HostKind::Qemu`] what QEMU takes as a kernel.
    pub image: PathBuf,
    /// What is added to its command line.
    pub args: String,
    /// For [`HostKind::Qemu`]: a virtual instruction takes 2^N ns, and time is counted in instructions alone.
    pub icount: Option<u8>,
    /// How long it may take until its agent says hello.
    pub limit: Duration,
}

/// A boot of all guests.
#[derive(Debug, Clone, PartialEq)]
pub struct GuestBoot {
    /// From the end of the boot before until the last agent had answered.
    pub took: Duration,
    /// What each kernel's console had printed by then: at most its last 256 KiB.
    pub consoles: IndexMap<HostName, Vec<u8>>,
    /// What each guest is.
    pub facts: IndexMap<HostName, BTreeMap<String, String>>,
}

/// A boot that came to nothing; no guest is left running.
#[derive(thiserror::Error)]
#[error("host `{host}`: {fault}{}", quoted_of(.consoles, .host))]
pub struct BootError {
    /// The host.
    pub host: HostName,
    /// What is wrong.
    pub fault: Box<BootFault>,
    /// What each kernel's console had printed: at most its last 256 KiB.
    pub consoles: IndexMap<HostName, Vec<u8>>,
}

impl fmt::Debug for BootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A console is thousands of lines.
        f.debug_struct("BootError")
            .field("host", &self.host)
            .field("fault", &self.fault)
            .field("words", &quoted_of(&self.consoles, &self.host))
            .finish_non_exhaustive()
    }
}

fn quoted_of(consoles: &IndexMap<HostName, Vec<u8>>, host: &HostName) -> String {
    consoles
        .get(host)
        .map_or_else(String::new, |console| quoted(console))
}

pub(super) fn quoted(console: &[u8]) -> String {
    match console_words(console) {
        words if words.is_empty() => String::new(),
        words => format!("; its console's last words: {words}"),
    }
}

/// Why a guest can't be booted.
#[derive(Debug, thiserror::Error)]
pub enum BootFault {
    /// The lab says that it is something else.
    #[error("it is of kind \"{found}\" in the lab, and the target boots \"{expected}\"")]
    Kind {
        /// What the target boots.
        expected: HostKind,
        /// What the host is.
        found: HostKind,
    },
    /// Only an emulated processor's instructions are counted.
    #[error(
        "the target counts time in instructions, which needs an emulated processor: take `kvm` off this host"
    )]
    Clock,
    /// There is no such kernel.
    #[error("there is no kernel {0}: does the target's build make it?")]
    NoImage(PathBuf),
    /// The agent of this machine that is to keep it can't be started, or was lost.
    #[error(transparent)]
    Keeper(#[from] ConnectError),
    /// The keeper said no, or was lost.
    #[error("the agent that keeps it: {0}")]
    Kept(backsight_agent::AgentError),
    /// What it starts with can't be put together.
    #[error("{0}")]
    Parts(#[from] PartsError),
    /// Its process ended before its agent had answered.
    #[error("its kernel ended before its agent said hello: {0}")]
    Ended(String),
    /// Its agent didn't answer in time.
    #[error("its agent hasn't said hello within {0:?}")]
    Silent(Duration),
    /// Its console told the end of this boot, and its kernel stands still.
    #[error("{}: {}", .0.meaning, .0.advice)]
    Console(&'static ConsoleState),
    /// It can't become what the lab says that it is.
    #[error(transparent)]
    SetUp(GuestError),
    /// Its agent doesn't speak as it should.
    #[error(transparent)]
    Agent(backsight_agent::AgentError),
}

/// How a kernel's process ended.
#[derive(Debug, Clone)]
struct Ended(String);

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A kernel that runs, and the agent that keeps it.
pub(crate) struct Guest {
    keeper: Client,
    process: Process,
    ended: watch::Receiver<Option<Ended>>,
    console: PathBuf,
    /// The folder of its files.
    folder: PathBuf,
    /// Our end of its channel, to end it by; none until there is one.
    channel: Option<OwnedFd>,
}

/// Boots one guest.
///
/// # Errors
/// Why not, and what its console had printed. Nothing of it is left.
#[tracing::instrument(name = "host", level = "info", skip_all, fields(name = %host))]
pub(crate) async fn boot(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
    kernel: &Kernel,
    shown: &[PathBuf],
) -> Result<Connected, (BootFault, Vec<u8>)> {
    check(lab, host, kernel).map_err(|fault| (fault, Vec::new()))?;
    let command_line = |folder: &Path, socket: &Path| {
        machine::command_line(reach, lab, host, kernel, folder, socket)
    };
    let setup = setup(lab, host, shown);
    let place = (reach, lab, host);
    let (client, guest) = bring_up(place, command_line, setup, kernel.limit).await?;
    match Connected::guest(host.clone(), client, guest).await {
        Ok(connected) => Ok(connected),
        Err((cause, guest)) => {
            let console = guest.end(Duration::ZERO).await;
            Err((BootFault::Agent(cause), console))
        }
    }
}

/// Starts a kernel's process and greets the agent in it.
///
/// # Errors
/// Why not, and what its console had printed. Nothing of it is left.
pub(super) async fn bring_up(
    (reach, lab, host): (&HostAccess, &Lab, &HostName),
    command_line: impl FnOnce(&Path, &Path) -> Result<Vec<String>, PartsError>,
    setup: GuestSetup,
    limit: Duration,
) -> Result<(Client, Guest), (BootFault, Vec<u8>)> {
    let (mut guest, listener) = start(reach, lab, host, command_line)
        .await
        .map_err(|fault| (fault, Vec::new()))?;
    let end_of_boot = end_of_boot(guest.console.clone(), guest.ended.clone());
    let met = timeout(limit, meet(&mut guest, listener, lab, host, &setup, limit));
    let met = tokio::select! {
        met = met => met,
        fault = end_of_boot => Ok(Err(fault)),
    };
    let fault = match met {
        Ok(Ok(client)) => return Ok((client, guest)),
        Ok(Err(fault)) => fault,
        Err(_) => BootFault::Silent(limit),
    };
    let console = guest.end(Duration::ZERO).await;
    Err((fault, console))
}

/// Whether a host can boot this kernel.
fn check(lab: &Lab, host: &HostName, kernel: &Kernel) -> Result<(), BootFault> {
    let settings = &lab.host[host];
    if settings.kind != kernel.kind {
        return Err(BootFault::Kind {
            expected: kernel.kind,
            found: settings.kind,
        });
    }
    if kernel.icount.is_some() && machine::has_kvm(settings) {
        return Err(BootFault::Clock);
    }
    if !kernel.image.is_file() {
        return Err(BootFault::NoImage(kernel.image.clone()));
    }
    Ok(())
}

/// Starts the kernel's process under a keeper; the command is made of the folder for its files and the socket of its channel.
async fn start(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
    command_line: impl FnOnce(&Path, &Path) -> Result<Vec<String>, PartsError>,
) -> Result<(Guest, UnixListener), BootFault> {
    let is_linked = netns::is_namespace(lab, host);
    let linked = is_linked.then(|| namespace(lab, host)).transpose()?;
    let (keeper, process) = Process::start(reach, host, linked.as_deref()).await?;
    let opening = BeginTrial {
        trial: "boot".into(),
        ..BeginTrial::default()
    };
    let (ends, ended) = watch::channel(None);
    let mut guest = Guest {
        keeper,
        process,
        ended,
        console: PathBuf::new(),
        folder: PathBuf::new(),
        channel: None,
    };
    let made = async {
        let begun = guest.keeper.begin_trial(opening).await;
        let begun = begun.map_err(BootFault::Kept)?;
        guest.console = begun.spool.join(format!("{KERNEL}.stdout"));
        guest.folder.clone_from(&begun.scratch);
        let socket = begun.scratch.join("channel");
        let listener = UnixListener::bind(&socket).map_err(PartsError::channel)?;
        let words = command_line(&begun.scratch, &socket)?;
        let mut step = StepSpec::new(
            KERNEL,
            backsight_agent::StepCommand::Argv(words),
            LIFE_LIMIT,
        );
        step.background = true;
        step.output_limit = CONSOLE_LIMIT;
        let run = guest.keeper.run(step).await.map_err(BootFault::Kept)?;
        Ok((listener, run))
    };
    match made.await {
        Ok((listener, run)) => {
            tokio::spawn(watch_over(run, ends));
            Ok((guest, listener))
        }
        Err(fault) => {
            guest.end(Duration::ZERO).await;
            Err(fault)
        }
    }
}

/// Tells when the kernel's process has ended, or can't be watched any more.
async fn watch_over(mut run: backsight_agent::RunningStep, ends: watch::Sender<Option<Ended>>) {
    let how = loop {
        match run.next().await {
            Ok(Some(StepEvent::Finished(finished))) => {
                break match (finished.reason, finished.exit) {
                    (EndReason::Exited, Some(exit)) => exit_words(exit),
                    (EndReason::OutputLimit, _) => {
                        format!("its console printed more than {CONSOLE_LIMIT} bytes")
                    }
                    (reason, _) => reason.to_string(),
                };
            }
            Ok(Some(_)) => {}
            Ok(None) => break "nobody knows how".to_owned(),
            Err(error) => break error.to_string(),
        }
    };
    let _nobody_waits_for_it = ends.send(Some(Ended(how)));
}

fn exit_words(exit: ProcessExit) -> String {
    match exit {
        ProcessExit::Code(0) => "it was switched off".into(),
        exit => exit.to_string(),
    }
}

/// Waits for the guest's agent, tells it what to be, and greets it; or says why that can't be.
async fn meet(
    guest: &mut Guest,
    listener: UnixListener,
    lab: &Lab,
    host: &HostName,
    setup: &GuestSetup,
    limit: Duration,
) -> Result<Client, BootFault> {
    let mut ended = guest.ended.clone();
    let stream = tokio::select! {
        accepted = listener.accept() => accepted.map_err(PartsError::channel)?.0,
        how = end_of(&mut ended) => return Err(BootFault::Ended(how)),
    };
    guest.hold(&stream)?;
    let mut stream = stream;
    let fault = match set_up(&mut stream, setup).await {
        Ok(()) => match Client::connect(stream, limit).await {
            Ok(client) => {
                while !netns::passes(lab, host) {
                    tokio::time::sleep(LINK_PAUSE).await;
                }
                tokio::spawn(cut_off(guest.duplicate()?, ended));
                return Ok(client);
            }
            Err(cause) => BootFault::Agent(cause),
        },
        Err(refused @ GuestError::Refused(_)) => return Err(BootFault::SetUp(refused)),
        Err(other) => BootFault::SetUp(other),
    };
    // A kernel that panics explains a channel that ends.
    match timeout(EXPLANATION_LIMIT, end_of(&mut ended)).await {
        Ok(how) => Err(BootFault::Ended(how)),
        Err(_) => Err(fault),
    }
}

/// Resolves when a console tells a state that ends the boot; a kernel whose process ends then has ended. Never if it doesn't.
async fn end_of_boot(console: PathBuf, mut ended: watch::Receiver<Option<Ended>>) -> BootFault {
    let mut recognizer = ConsoleRecognizer::default();
    let mut offset = 0;
    loop {
        let piece = piece_of(&console, offset).unwrap_or_default();
        offset += piece.len() as u64;
        let state = recognizer.read(&piece);
        if let Some(state) = state.filter(|state| state.action.ends_boot()) {
            return match timeout(EXPLANATION_LIMIT, end_of(&mut ended)).await {
                Ok(how) => BootFault::Ended(how),
                Err(_) => BootFault::Console(state),
            };
        }
        tokio::time::sleep(CONSOLE_PAUSE).await;
    }
}

/// Ends the channel when the kernel's process has ended: a process that it left may still hold the other end.
async fn cut_off(channel: OwnedFd, mut ended: watch::Receiver<Option<Ended>>) {
    end_of(&mut ended).await;
    let _ended_already = rustix::net::shutdown(&channel, rustix::net::Shutdown::Both);
}

async fn end_of(ended: &mut watch::Receiver<Option<Ended>>) -> String {
    match ended.wait_for(Option::is_some).await {
        Ok(how) => how.as_ref().map(Ended::to_string).unwrap_or_default(),
        Err(_) => "nobody watches it".into(),
    }
}

impl Guest {
    /// One of its files.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn hold(&mut self, stream: &UnixStream) -> Result<(), PartsError> {
        let held = rustix::io::fcntl_dupfd_cloexec(stream, 3);
        self.channel = Some(held.map_err(|error| PartsError::channel(error.into()))?);
        Ok(())
    }

    fn duplicate(&self) -> Result<OwnedFd, PartsError> {
        let channel = self.channel.as_ref().map(OwnedFd::try_clone);
        channel
            .unwrap_or_else(|| Err(std::io::ErrorKind::NotConnected.into()))
            .map_err(PartsError::channel)
    }

    /// What the console has printed so far: at most its last 256 KiB.
    pub(super) fn console(&self) -> Vec<u8> {
        let mut console = tail(&self.console).unwrap_or_default();
        // What starts the kernel speaks here, when it can't.
        console.extend(tail(&self.console.with_extension("stderr")).unwrap_or_default());
        console
    }

    /// Ends it; says how it had ended by itself, if it had, and its console's last words.
    pub(super) async fn kill(mut self) -> LastWords {
        let ended = timeout(END_HEARD_LIMIT, end_of(&mut self.ended)).await.ok();
        let console = self.end(Duration::ZERO).await;
        let words = console_words(&console);
        let words = match ended {
            Some(how) if words.is_empty() => format!("its kernel ended: {how}"),
            Some(how) => format!("its kernel ended: {how}; its console's last words: {words}"),
            None => words,
        };
        LastWords { words, console }
    }

    /// Lets it power itself off, which it does when its agent's client is dropped; else kills it.
    async fn power_off(mut self) {
        // The client's goodbye is on its way, and an emulated serial line knows no other end.
        let _ = timeout(GOODBYE_LIMIT, end_of(&mut self.ended)).await;
        self.end(POWER_OFF_LIMIT).await;
    }

    /// Ends its channel, gives it some time to end by itself, then ends whatever is left of it. Returns what its
    /// console had printed.
    pub(super) async fn end(mut self, grace: Duration) -> Vec<u8> {
        if let Some(channel) = &self.channel {
            let _ended_already = rustix::net::shutdown(channel, rustix::net::Shutdown::Both);
        }
        if timeout(grace, end_of(&mut self.ended)).await.is_err() {
            let kill = Some(rustix::process::Signal::KILL.as_raw());
            let step = StepId(KERNEL);
            // What it said last is all there when it has ended.
            if self
                .keeper
                .stop(step, kill, Some(Duration::ZERO))
                .await
                .is_ok()
            {
                let _ = timeout(POWER_OFF_LIMIT, end_of(&mut self.ended)).await;
            }
        }
        let console = self.console();
        let Self {
            keeper, process, ..
        } = self;
        let ended = keeper.end_trial().await;
        drop(keeper);
        match ended {
            Ok(_) | Err(backsight_agent::AgentError::Refused { .. }) => process.end().await,
            // It can't clean up any more.
            Err(_) => {
                process.bury().await;
            }
        }
        console
    }
}

impl AgentKeeper for Guest {
    fn is_guest(&self) -> bool {
        true
    }

    fn console(&self) -> Option<Vec<u8>> {
        Some(Self::console(self))
    }

    fn bury(self: Box<Self>) -> BoxFuture<'static, LastWords> {
        Box::pin(self.kill())
    }

    fn dismiss(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(self.power_off())
    }
}

/// The next bytes of a file.
fn piece_of(path: &Path, offset: u64) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(CONSOLE_PIECE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The end of a file.
fn tail(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(CONSOLE_KEPT)))?;
    let mut bytes = Vec::new();
    file.take(CONSOLE_KEPT).read_to_end(&mut bytes)?;
    Ok(bytes)
}
