//! Consoles of hosts: the command that tells one, run on a terminal of its own; what it says is shown, or captured and recognised.
//!
//! Programs that tell a console want a terminal (`virsh console`, `ipmitool sol activate`, `conserver`), so each gets one: the
//! command leads a session of its own there (`setsid` of util-linux). When this program dies the terminal hangs up, which ends it.
//!
//! What is captured is bounded: the beginning and the end of it are kept, and how much is missing between them is said.

use backsight_model::{
    Console, ConsoleRecognizer, ConsoleState, Host, HostKind, HostName, Lab, PowerMeans,
    console_words, shell_quoted,
};
use rustix::{
    fs::{Mode, OFlags},
    process::{Pid, Signal, test_kill_process_group},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{OptionalActions, tcgetattr, tcsetattr},
};
use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd as _, OwnedFd},
    process::ExitStatus,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    net::unix::pipe,
    process::{Child, Command},
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use crate::{
    hosts::vm::RunningMachine,
    power::{PowerFault, ipmitool_words},
    virsh::Domain,
};

/// How much of the beginning and of the end of a console is kept, in bytes.
const HEAD_KEPT: usize = 64 << 10;
const TAIL_KEPT: usize = 192 << 10;
/// How long a console's command may take to end when its terminal hangs up, before it is killed.
const END_LIMIT: Duration = Duration::from_secs(2);
/// The pause between two looks whether what was killed is gone.
const DEATH_PAUSE: Duration = Duration::from_millis(2);
/// A console that says nothing for this long has told what it had to tell of the past, or of a kernel's end; and how long that may
/// take at most.
const QUIET: Duration = Duration::from_millis(500);
const QUIET_LIMIT: Duration = Duration::from_secs(3);
/// A terminal's usual size.
const ROWS: u16 = 24;
const COLUMNS: u16 = 80;

/// Why a console can't be heard.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// The lab doesn't say where it is.
    #[error(
        "the lab doesn't say where its console is: add console = \"the command whose output it is\" or console = {{ serial = \"/dev/ttyUSB0\" }} to it"
    )]
    NotGiven,
    /// The file that defines its domain can't be read.
    #[error("{0}")]
    Domain(String),
    /// It is a virtual machine of ours that is off.
    #[error("it is off: it is on while somebody measures on it")]
    Off,
    /// There is no such host.
    #[error("the lab has no such host")]
    NoHost,
    /// Its BMC can't be asked.
    #[error("{0}")]
    Bmc(#[from] PowerFault),
    /// There is no terminal for its command.
    #[error("can't make a terminal for its console's command: {0}")]
    Terminal(io::Error),
    /// Its command can't be started.
    #[error("can't start its console's command: {0}")]
    Start(io::Error),
    /// Its command ended.
    #[error("its console's command `{command}` ended by itself with {status}{}", says(.said))]
    Ended {
        /// The command.
        command: String,
        /// How.
        status: String,
        /// What it had said.
        said: String,
    },
}

fn says(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!(" (it said: {said})"),
    }
}

/// The line for a shell that tells a host's console.
fn console_line(host: &Host) -> Result<String, ConsoleError> {
    match host.console.as_deref() {
        None => match Domain::of(host) {
            Ok(Some(domain)) => Ok(format!("exec {}", domain.line("console"))),
            Ok(None) => Err(ConsoleError::NotGiven),
            Err(message) => Err(ConsoleError::Domain(message)),
        },
        Some(Console::Command(line)) => Ok(line.clone()),
        Some(Console::Serial { device, baud }) => {
            let device = shell_quoted(device);
            // The second `cat` carries what is typed.
            Ok(format!(
                "stty -F {device} {baud} raw -echo -hupcl clocal && {{ exec 3<&0; cat <&3 > {device} & exec cat {device}; }}"
            ))
        }
        Some(Console::Ipmi) => {
            let bmc = host.power.as_ref().and_then(|power| match &power.means {
                PowerMeans::Ipmi(bmc) => Some(bmc),
                PowerMeans::Commands(_) => None,
            });
            let bmc = bmc.ok_or(ConsoleError::NotGiven)?;
            let line = |verb: &str| -> Result<String, ConsoleError> {
                let words = ipmitool_words(bmc, &["sol", verb])?;
                // That is for error messages; here it is noise.
                let words = words.iter().filter(|word| *word != "-v");
                let words: Vec<String> = words.map(|word| shell_quoted(word)).collect();
                Ok(words.join(" "))
            };
            // A BMC has one such session, which somebody who died may still have.
            Ok(format!(
                "{} > /dev/null 2>&1; exec {}",
                line("deactivate")?,
                line("activate")?
            ))
        }
    }
}

/// A command that tells a console, on a terminal of its own.
pub struct ConsoleProcess {
    command: String,
    /// Our end of its terminal, to hear and to type; none once it has hung up.
    terminal: Option<(pipe::Receiver, pipe::Sender)>,
    child: Child,
}

impl ConsoleProcess {
    /// Starts the command of a host's console.
    ///
    /// # Errors
    /// The host has none; there is no terminal; the command's shell can't be started.
    pub fn start(host: &Host) -> Result<Self, ConsoleError> {
        Self::run(console_line(host)?)
    }

    /// The same of a host of a lab, which may be a virtual machine of ours.
    pub(crate) fn start_of_lab(lab: &Lab, host: &HostName) -> Result<Self, ConsoleError> {
        let settings = lab.host.get(host).ok_or(ConsoleError::NoHost)?;
        match settings.kind {
            HostKind::Vm => {
                let machine = RunningMachine::find(lab, host).ok_or(ConsoleError::Off)?;
                Self::run(machine.console_line())
            }
            _ => Self::start(settings),
        }
    }

    fn run(command: String) -> Result<Self, ConsoleError> {
        let (ours, theirs) = open_terminal().map_err(ConsoleError::Terminal)?;
        let duplicate = || theirs.try_clone().map_err(ConsoleError::Terminal);
        let child = Command::new("setsid")
            // Its first process leads the session, since it leads no process group when it starts.
            .args(["--ctty", "--wait", "/bin/sh", "-c", &command])
            .stdin(duplicate()?)
            .stdout(duplicate()?)
            .stderr(duplicate()?)
            .kill_on_drop(true)
            .spawn()
            .map_err(|cause| {
                ConsoleError::Start(match cause.kind() {
                    io::ErrorKind::NotFound => io::Error::other(
                        "this machine has no program `setsid`: apt-get install util-linux",
                    ),
                    _ => cause,
                })
            })?;
        let typed = ours.try_clone().map_err(ConsoleError::Terminal)?;
        // It isn't a pipe and is read and written like one.
        let heard =
            pipe::Receiver::from_owned_fd_unchecked(ours).map_err(ConsoleError::Terminal)?;
        let typed = pipe::Sender::from_owned_fd_unchecked(typed).map_err(ConsoleError::Terminal)?;
        Ok(Self {
            command,
            terminal: Some((heard, typed)),
            child,
        })
    }

    /// The next bytes that it says; none when it has hung up.
    pub async fn read(&self) -> Option<Vec<u8>> {
        let (heard, _) = self.terminal.as_ref()?;
        let mut piece = vec![0; 16 << 10];
        loop {
            heard.readable().await.ok()?;
            match heard.try_read(&mut piece) {
                Ok(read @ 1..) => {
                    piece.truncate(read);
                    return Some(piece);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // A terminal whose other end is closed fails to be read.
                Ok(_) | Err(_) => return None,
            }
        }
    }

    /// Types these bytes.
    ///
    /// # Errors
    /// It has hung up.
    pub async fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        let Some((_, typed)) = &self.terminal else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        while !bytes.is_empty() {
            typed.writable().await?;
            match typed.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Hangs up and waits until it has ended; one that doesn't obey is killed. How it ended, if it did so by itself.
    pub async fn end(mut self) -> Option<ExitStatus> {
        let by_itself = self.child.try_wait().ok().flatten();
        let session = self.session();
        self.terminal = None;
        let ended = timeout(END_LIMIT, self.child.wait()).await;
        kill_session(session);
        if ended.is_err() {
            let _ = timeout(END_LIMIT, self.child.wait()).await;
        }
        let _stuck_in_the_kernel = timeout(END_LIMIT, async {
            while session.is_some_and(|leader| test_kill_process_group(leader).is_ok()) {
                // What isn't our child dies without a word.
                sleep(DEATH_PAUSE).await;
            }
        })
        .await;
        by_itself
    }

    /// Why it has ended, which it is about to do; none if it succeeded.
    pub async fn failure(&mut self) -> Option<ConsoleError> {
        let status = timeout(END_LIMIT, self.child.wait()).await;
        let failed = status.is_ok_and(|status| !status.is_ok_and(|status| status.success()));
        match failed {
            false => None,
            true => Some(ConsoleError::Ended {
                command: self.command.clone(),
                status: self.ended().await,
                said: String::new(),
            }),
        }
    }

    /// How it ended, which it is about to do.
    async fn ended(&mut self) -> String {
        match timeout(END_LIMIT, self.child.wait()).await {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(cause)) => cause.to_string(),
            Err(_) => "its terminal closed".to_owned(),
        }
    }

    fn session(&self) -> Option<Pid> {
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        pid.and_then(Pid::from_raw)
    }
}

impl Drop for ConsoleProcess {
    fn drop(&mut self) {
        kill_session(self.session());
    }
}

/// Kills what is left of a session; its processes share the group of the one that led it.
fn kill_session(leader: Option<Pid>) {
    if let Some(leader) = leader {
        let _it_has_ended = rustix::process::kill_process_group(leader, Signal::KILL);
    }
}

/// A new terminal that changes nothing of what passes: our end and the program's.
fn open_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let theirs = rustix::fs::open(
        &*name,
        OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let mut modes = tcgetattr(&theirs)?;
    modes.make_raw();
    tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    let size = rustix::termios::Winsize {
        ws_row: ROWS,
        ws_col: COLUMNS,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&theirs, size)?;
    let flags = rustix::fs::fcntl_getfl(&ours)?;
    rustix::fs::fcntl_setfl(ours.as_fd(), flags | OFlags::NONBLOCK)?;
    Ok((ours, theirs))
}

/// The beginning and the end of many bytes.
#[derive(Debug, Default)]
pub(crate) struct BoundedLog {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl BoundedLog {
    fn append(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD_KEPT - self.head.len()));
        self.head.extend_from_slice(head);
        let kept = &rest[rest.len().saturating_sub(TAIL_KEPT)..];
        let more = (self.tail.len() + kept.len()).saturating_sub(TAIL_KEPT);
        self.tail.drain(..more);
        self.tail.extend(kept);
        self.dropped += (more + rest.len() - kept.len()) as u64;
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.clone();
        if self.dropped > 0 {
            let note = format!(
                "\n[{} bytes of the console are not kept here]\n",
                self.dropped
            );
            bytes.extend(note.as_bytes());
        }
        bytes.extend(&self.tail);
        bytes
    }
}

/// What a console has said since it is captured.
#[derive(Default)]
struct Captured {
    log: BoundedLog,
    /// What it says since its host was asked to reboot; none before.
    since_reboot: Option<(BoundedLog, ConsoleRecognizer)>,
    /// The gravest state that it told since then.
    state: Option<&'static ConsoleState>,
}

impl Captured {
    fn append(&mut self, bytes: &[u8]) {
        self.log.append(bytes);
        if let Some((log, recognizer)) = &mut self.since_reboot {
            log.append(bytes);
            let state = recognizer.read(bytes);
            let graver =
                state.filter(|state| self.state.is_none_or(|now| state.action > now.action));
            self.state = graver.or(self.state);
        }
    }
}

/// What a console told by its end.
#[derive(Debug, Default)]
pub(crate) struct CapturedConsole {
    /// All of it that is kept.
    pub(crate) bytes: Vec<u8>,
    /// The lines that say so, or its last ones.
    pub(crate) words: String,
}

/// A console that is captured.
pub(crate) struct ConsoleCapture {
    captured: Arc<Mutex<Captured>>,
    /// Told whenever it said something.
    said: watch::Receiver<()>,
    stop: watch::Sender<bool>,
    reader: JoinHandle<()>,
}

impl ConsoleCapture {
    /// Begins, and waits until the console has told what it tells of the past.
    ///
    /// # Errors
    /// The console's command can't be started.
    pub(crate) async fn start(host: &Host) -> Result<Self, ConsoleError> {
        let process = ConsoleProcess::start(host)?;
        let captured: Arc<Mutex<Captured>> = Arc::default();
        let (says, said) = watch::channel(());
        let (stop, stopped) = watch::channel(false);
        let reader = tokio::spawn(capture(process, Arc::clone(&captured), says, stopped));
        let capture = Self {
            captured,
            said,
            stop,
            reader,
        };
        capture.quiet().await;
        Ok(capture)
    }

    /// What it has said so far, as far as that is kept.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        lock(&self.captured).log.bytes()
    }

    /// From now on states are recognised.
    pub(crate) fn recognize(&self) {
        let mut captured = lock(&self.captured);
        captured.since_reboot = Some(Default::default());
    }

    /// Resolves when the console tells a state that ends the boot, and has told what follows it; never if it doesn't.
    pub(crate) async fn end_of_boot(&self) -> &'static ConsoleState {
        let mut said = self.said.clone();
        loop {
            let state = lock(&self.captured).state;
            if let Some(state) = state.filter(|state| state.action.ends_boot()) {
                self.quiet().await;
                return state;
            }
            if said.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until it says nothing for a while, but not for long.
    async fn quiet(&self) {
        let mut said = self.said.clone();
        let until = Instant::now() + QUIET_LIMIT;
        while Instant::now() < until {
            said.mark_unchanged();
            match timeout(QUIET, said.changed()).await {
                Ok(Ok(())) => {}
                // Silent, or ended.
                _ => return,
            }
        }
    }

    /// Ends it; nothing of its command is left.
    pub(crate) async fn finish(self) -> CapturedConsole {
        let _ended_already = self.stop.send(true);
        let _ = self.reader.await;
        let captured = lock(&self.captured);
        let recent = captured.since_reboot.as_ref().map(|(log, _)| log.bytes());
        CapturedConsole {
            bytes: captured.log.bytes(),
            words: console_words(&recent.unwrap_or_default()),
        }
    }
}

fn lock(captured: &Mutex<Captured>) -> std::sync::MutexGuard<'_, Captured> {
    captured.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a console until it is stopped or ends.
async fn capture(
    mut process: ConsoleProcess,
    captured: Arc<Mutex<Captured>>,
    says: watch::Sender<()>,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        let piece = tokio::select! {
            piece = process.read() => piece,
            // Also when whoever wants it is gone.
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let Some(piece) = piece else {
            let how = process.ended().await;
            let note = format!(
                "\n[the console's command `{}` ended: {how}]\n",
                process.command
            );
            lock(&captured).log.append(note.as_bytes());
            break;
        };
        lock(&captured).append(&piece);
        let _nobody_waits = says.send(());
    }
    process.end().await;
}

/// Whether a console can be heard: its command starts, and says something or goes on without a word.
///
/// # Errors
/// It can't be started, or ends.
pub(crate) async fn probe(host: &Host) -> Result<(), ConsoleError> {
    let mut process = ConsoleProcess::start(host)?;
    let mut log = BoundedLog::default();
    let reading = async {
        while let Some(piece) = process.read().await {
            log.append(&piece);
        }
    };
    let outcome = match timeout(2 * QUIET, reading).await {
        Err(_it_goes_on) => Ok(()),
        Ok(()) => Err(ConsoleError::Ended {
            command: process.command.clone(),
            status: process.ended().await,
            said: console_words(&log.bytes()),
        }),
    };
    process.end().await;
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{HostKind, Located};

    fn host(command: &str) -> Host {
        let mut host = Host::new(HostKind::Ssh);
        host.console = Some(Located::nowhere(Console::Command(command.to_owned())));
        host
    }

    /// Processes whose command line has this word.
    fn processes(mark: &str) -> usize {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        lines
            .filter(|line| String::from_utf8_lossy(line).contains(mark))
            .count()
    }

    #[tokio::test]
    async fn a_panic_is_told_at_once_and_what_was_before_the_reboot_is_none_of_this_boot() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("console");
        let write = |text: &str| {
            use std::io::Write as _;
            let mut file = std::fs::File::options()
                .append(true)
                .create(true)
                .open(&file)
                .unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        write("[ 9.0] Kernel panic - not syncing: yesterday's\n");
        let capture = ConsoleCapture::start(&host(&format!("tail -n +1 -f {}", file.display())))
            .await
            .unwrap();
        capture.recognize();
        write("[ 0.1] booting \u{1b}[1mnow\n\u{fffd}\n");
        assert!(timeout(QUIET, capture.end_of_boot()).await.is_err());
        write("[ 0.2] Kernel panic - not syncing: today's\n[ 0.3] Call Trace:\n");
        let state = timeout(QUIET_LIMIT, capture.end_of_boot()).await.unwrap();
        assert_eq!(state.name, "panic");
        let console = capture.finish().await;
        assert_eq!(
            console.words,
            "[ 0.2] Kernel panic - not syncing: today's / [ 0.3] Call Trace:"
        );
        let text = String::from_utf8_lossy(&console.bytes).into_owned();
        assert!(
            text.contains("yesterday's") && text.contains("today's"),
            "{text}"
        );
        assert_eq!(processes(&file.display().to_string()), 0);
    }

    #[tokio::test]
    async fn a_flood_is_kept_at_both_ends_and_what_is_missing_is_said() {
        let line = "head -c 30000000 /dev/zero | tr '\\0' x; printf 'grub> '; sleep 600";
        let capture = ConsoleCapture::start(&host(&format!("printf begin; {line}")))
            .await
            .unwrap();
        capture.recognize();
        let ended = timeout(Duration::from_secs(60), async {
            let mut said = capture.said.clone();
            while !lock(&capture.captured).log.tail.ends_with_prompt() {
                said.changed().await.unwrap();
            }
        });
        ended.await.unwrap();
        let console = capture.finish().await;
        assert!(
            console.bytes.len() < HEAD_KEPT + TAIL_KEPT + 100,
            "{}",
            console.bytes.len()
        );
        let text = String::from_utf8(console.bytes).unwrap();
        assert!(text.starts_with("begin") && text.ends_with("grub> "));
        let dropped = 30_000_000 + 5 + 6 - HEAD_KEPT - TAIL_KEPT;
        assert!(
            text.contains(&format!("[{dropped} bytes of the console")),
            "{dropped}"
        );
    }

    trait Prompt {
        fn ends_with_prompt(&self) -> bool;
    }

    impl Prompt for VecDeque<u8> {
        fn ends_with_prompt(&self) -> bool {
            self.iter().rev().take(2).eq(b" >")
        }
    }

    #[tokio::test]
    async fn a_command_that_ignores_every_wish_is_gone_when_its_console_is_left() {
        let mark = format!("console-{}-ignores", std::process::id());
        let stubborn = format!(
            "trap '' HUP TERM INT; sh -c 'trap \"\" HUP; echo up; sleep 600; : {mark}' & sleep 600; : {mark}"
        );
        let process = ConsoleProcess::start(&host(&stubborn)).unwrap();
        assert_eq!(process.read().await.unwrap(), b"up\n");
        assert!(processes(&mark) >= 2);
        assert_eq!(process.end().await, None);
        assert_eq!(processes(&mark), 0);
        // A dropped one, too.
        let process = ConsoleProcess::start(&host(&stubborn)).unwrap();
        assert_eq!(process.read().await.unwrap(), b"up\n");
        drop(process);
        timeout(END_LIMIT, async {
            while processes(&mark) > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap();
    }

    #[tokio::test]
    async fn a_console_reads_what_is_typed_and_one_that_ends_says_how() {
        let echo = ConsoleProcess::start(&host(
            "test -t 0 && read line && echo you said $line; sleep 600",
        ))
        .unwrap();
        echo.write(b"hello\n").await.unwrap();
        assert_eq!(echo.read().await.unwrap(), b"you said hello\n");
        echo.end().await;
        let fault = probe(&host("echo no such host >&2; exit 3"))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            fault.contains("exit status: 3 (it said: no such host)"),
            "{fault}"
        );
        probe(&host("sleep 600")).await.unwrap();
        let none = probe(&Host::new(HostKind::Ssh)).await.unwrap_err();
        assert!(matches!(none, ConsoleError::NotGiven));
    }
}
