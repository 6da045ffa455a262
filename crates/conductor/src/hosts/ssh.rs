//! Hosts that `ssh` reaches: an agent is started there by it, after it was put there if it isn't there yet; all of it in one login.
//!
//! The system's own `ssh` does it, so that `~/.ssh/config`, agents for keys and known hosts are what they are for
//! everybody else on this machine. A study's login may outlive it ([`KeptLogin`]). Who asks whether a login works, or whether a host
//! has rebooted, has one of its own.
//!
//! The far shell says a line when it knows which machine it is: that an agent is there, or that one has to come, and which parts of it
//! connections that were cut have left. Then it gets the rest as gzip packs it, says a line again, and becomes it.
//!
//! No password and no host key is asked for. Which program is the agent, the machine's system and architecture say.

use backsight_agent::{AgentError, Client};
use backsight_model::{Host, HostName, shell_quoted};
use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io,
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::{
    ConnectError, HostAccess, UnreachableReason,
    hosts::{Process, Started, agent_programs::AgentProgram, ssh_login::KeptLogin},
};

/// How long it may take from `ssh`'s start to the far shell's first line, and from its last one to the agent's hello.
const HELLO_LIMIT: Duration = Duration::from_secs(40);
/// How long after its stream `ssh` may end, for the one to explain the other.
const EXPLANATION_LIMIT: Duration = Duration::from_secs(5);
/// How long the agent may take on its way to a host.
const PUT_LIMIT: Duration = Duration::from_secs(300);
/// What `ssh` ends with for reasons of its own.
const SSH_FAILED: i32 = 255;
/// Connections of our own that ask for nothing, and end when the host is gone.
const SETTINGS: &[&str] = &[
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=4",
    "ClearAllForwardings=yes",
    "LogLevel=ERROR",
];
/// That nobody else uses.
const OWN: &[&str] = &["ControlMaster=no", "ControlPath=none"];
/// How many days an agent that nobody uses stays on a host.
const KEPT_DAYS: u32 = 7;
/// Where our files are on a host.
const FOLDER: &str = "${XDG_CACHE_HOME:-$HOME/.cache}/backsight";
/// What the far shell says before a machine's system and architecture, where there is no agent that could be that of the machine. After
/// them come the parts that it has, each with its size: `UPLOAD.PROGRAM:1048576`.
const MACHINE: &str = "backsight-machine:";
/// What it says before it becomes the agent.
const READY: &str = "backsight-agent:";
/// The longest line of a far shell that is read, in bytes: others have come before ours.
const LINE_LIMIT: u64 = 4096;

/// Starts an agent on a host and greets it.
///
/// # Errors
/// The host can't be reached, refuses the login, or can't have or run an agent.
pub(super) async fn start(
    reach: &HostAccess,
    settings: &Host,
    host: &HostName,
) -> Result<Started, ConnectError> {
    let mut far = Far {
        settings,
        host,
        programs: &[],
        kept: None,
    };
    let programs = reach.agents().await;
    far.programs =
        programs.map_err(|cause| far.not_put(&format!("{}: {cause}", reach.program.display())))?;
    if reach.keeps_logins && far.asks_to_keep_login() {
        far.kept = KeptLogin::new(&far.words(), far.login());
    }
    let was_there = far.kept.as_ref().is_some_and(KeptLogin::is_there);
    let started = far.start().await;
    match (started, far.kept.take()) {
        // The login is perhaps one to a host that has gone away since. Why a way to a host fails, `ssh` says only where nobody else shall
        // use it.
        (Err(fault), Some(kept)) if was_there || fault.is_unexplained() => {
            tracing::debug!("a login of its own is tried: {fault}");
            kept.forget();
            far.start().await
        }
        (started, _) => started,
    }
}

/// A host, and the programs that can be its agent.
struct Far<'a> {
    settings: &'a Host,
    host: &'a HostName,
    programs: &'a [AgentProgram],
    /// The login that is used, if others may use it too.
    kept: Option<KeptLogin>,
}

/// Why no agent was started.
enum StartFault {
    /// We know.
    Known(ConnectError),
    /// The far shell has ended or is silent, which `ssh` explains.
    Silent(AgentError),
    /// The same while it took the agent.
    Cut(io::Error),
}

impl Far<'_> {
    fn login(&self) -> &str {
        self.settings.login(self.host)
    }

    /// Whether its options ask for a login that outlives its study, and leave it to us how.
    fn asks_to_keep_login(&self) -> bool {
        let options = self.settings.options.iter();
        let options: Vec<String> = options.map(|it| it.to_ascii_lowercase()).collect();
        let says = |word: &str| options.iter().any(|option| option.contains(word));
        says("controlpersist") && !says("controlpersist=no") && !says("controlmaster")
    }

    /// The words before the command for the far shell.
    fn words(&self) -> Vec<&str> {
        let mut words = vec!["-T", "-x", "-a"];
        let own = OWN.iter().filter(|_| self.kept.is_none());
        for setting in SETTINGS.iter().chain(own) {
            words.extend(["-o", setting]);
        }
        words.extend(self.settings.options.iter().map(|option| option.as_str()));
        words
    }

    /// `ssh`, with this for the far shell to do.
    fn ssh(&self, script: &str) -> Command {
        let mut command = Command::new("ssh");
        command.args(self.words());
        for option in self.kept.iter().flat_map(KeptLogin::options) {
            command.args(["-o", &option]);
        }
        command.args(["--", self.login()]);
        // Whatever shell it is that reads this, it hands it on to one that we know.
        command.arg(format!("exec /bin/sh -c '{script}'"));
        command
    }

    /// The command that repeats what was tried, with `true` in the place of the agent.
    fn tried(&self) -> String {
        let words = self.words().into_iter().chain(["--", self.login()]);
        let words: Vec<String> = words.map(shell_quoted).collect();
        format!("ssh {} true", words.join(" "))
    }

    fn unstartable(&self, cause: io::Error) -> ConnectError {
        let cause = match cause.kind() {
            io::ErrorKind::NotFound => io::Error::other(
                "this machine has no program `ssh`: apt-get install openssh-client",
            ),
            _ => cause,
        };
        ConnectError::Start {
            host: self.host.clone(),
            cause,
        }
    }

    fn not_put(&self, message: &str) -> ConnectError {
        ConnectError::NotPut {
            host: self.host.clone(),
            message: message.to_owned(),
        }
    }

    /// What `ssh` itself says.
    fn refusal(&self, message: String) -> ConnectError {
        let (host, tried) = (self.host.clone(), self.tried());
        match Refusal::from_message(&message) {
            Refusal::Login => ConnectError::LoginRefused {
                host,
                tried,
                message,
            },
            Refusal::Key => ConnectError::KeyRefused {
                host,
                tried,
                message,
            },
            Refusal::Unreachable(why) => ConnectError::Unreachable {
                host,
                why,
                tried,
                message,
            },
        }
    }

    /// Starts the agent there and greets it.
    async fn start(&self) -> Result<Started, ConnectError> {
        let ssh = self.ssh(&start_script(self.programs, random()));
        let started = Process::with_stream(ssh).map_err(|cause| self.unstartable(cause))?;
        let (process, stdout, mut stdin) = started;
        let mut stdout = BufReader::new(stdout);
        let fault = match self.put_agent(&mut stdout, &mut stdin).await {
            Ok(()) => {
                let stream = tokio::io::join(stdout, stdin);
                match Client::connect(stream, HELLO_LIMIT).await {
                    Ok(client) => return Ok((client, Box::new(process))),
                    Err(cause) => StartFault::Silent(cause),
                }
            }
            Err(fault) => {
                // The end of its input ends the far shell.
                drop(stdin);
                fault
            }
        };
        let fault = match fault {
            StartFault::Known(known) => {
                process.bury().await;
                return Err(known);
            }
            unknown => unknown,
        };
        let (status, message) = process.explain(EXPLANATION_LIMIT).await;
        let status_code = status.and_then(|status| status.code());
        Err(match fault {
            _ if status_code == Some(SSH_FAILED) => self.refusal(message),
            StartFault::Cut(cause) if message.is_empty() => self.not_put(&cause.to_string()),
            StartFault::Cut(_) => self.not_put(&message),
            StartFault::Known(known) => known,
            StartFault::Silent(cause) => ConnectError::Agent {
                host: self.host.clone(),
                cause,
                message,
            },
        })
    }

    /// Puts the program there that is the agent of the machine, if it isn't there; the far shell becomes it.
    async fn put_agent(
        &self,
        stdout: &mut BufReader<ChildStdout>,
        stdin: &mut ChildStdin,
    ) -> Result<(), StartFault> {
        let lost = |why| StartFault::Silent(AgentError::Lost { why });
        let late = |_| lost(format!("nothing came within {HELLO_LIMIT:?}"));
        let answer = timeout(HELLO_LIMIT, answer(stdout)).await.map_err(late)?;
        let answer = answer.map_err(|cause| lost(cause.to_string()))?;
        let Some(wanted) = answer else {
            return Ok(());
        };
        let mut programs = self.programs.iter();
        let agent = programs.find(|program| program.system_and_architecture() == wanted.machine);
        let agent = agent.ok_or_else(|| self.not_put(&AgentProgram::missing(&wanted.machine)));
        let agent = agent.map_err(StartFault::Known)?;
        let (header, bytes) = wanted.rest_of(agent).await.map_err(|cause| {
            StartFault::Known(self.not_put(&format!("its program can't be read: {cause}")))
        })?;
        let put = async {
            stdin.write_all(header.as_bytes()).await?;
            stdin.write_all(&bytes).await?;
            stdin.flush().await?;
            match self::answer(stdout).await? {
                None => Ok(()),
                Some(_) => Err(io::Error::other("it was put there and is gone")),
            }
        };
        match timeout(PUT_LIMIT, put).await {
            Ok(put) => put.map_err(StartFault::Cut),
            Err(_) => {
                let late = self.not_put(&format!("it takes longer than {PUT_LIMIT:?}"));
                Err(StartFault::Known(late))
            }
        }
    }
}

/// What a far shell says that needs an agent.
struct WantedAgent {
    machine: String,
    /// Names of parts of programs there, and their sizes in bytes.
    parts: Vec<(String, usize)>,
}

impl WantedAgent {
    /// Out of a line without its beginning.
    fn from_line(line: &str) -> Self {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (machine, parts) = words.split_at(words.len().min(2));
        let parts = parts.iter().filter_map(|part| {
            let (name, size) = part.split_once(':')?;
            Some((name.to_owned(), size.parse().ok()?))
        });
        Self {
            machine: machine.join(" "),
            parts: parts.collect(),
        }
    }

    /// What a far shell gets that goes on from its largest part: the line that it reads, and what gzip has packed.
    async fn rest_of(&self, agent: &AgentProgram) -> io::Result<(String, Arc<[u8]>)> {
        let whole = agent.packed().await?;
        let (size, parts) = (whole.size, self.parts.iter());
        let largest = parts
            .filter(|(_, there)| (*there as u64) < size)
            .max_by_key(|(_, there)| *there);
        let Some((part, there)) = largest else {
            let header = format!("{} {size} 0 - -\n", whole.bytes.len());
            return Ok((header, whole.bytes));
        };
        let (rest, sum) = agent.rest(*there).await?;
        let header = format!("{} {size} {there} {part} {sum}\n", rest.bytes.len());
        Ok((header, rest.bytes))
    }
}

/// What the far shell says next, whatever its system prints before: which agent it needs, or none.
async fn answer(stdout: &mut BufReader<ChildStdout>) -> io::Result<Option<WantedAgent>> {
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut *stdout).take(LINE_LIMIT);
        if bounded.read_until(b'\n', &mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = String::from_utf8_lossy(&line);
        if line.trim_end() == READY {
            return Ok(None);
        }
        if let Some(wanted) = line.strip_prefix(MACHINE) {
            return Ok(Some(WantedAgent::from_line(wanted)));
        }
    }
}

/// A script that becomes the agent for the machine. Where that is missing it says which machine it is and which parts of it are there, and
/// takes the rest from standard input: a line with its size as it is sent and the agent's own, size and name of the part that it continues,
/// and the checksum of the whole; then what gzip has packed.
///
/// Several hosts may have one home, and several conductors one host, all of which upload at the same moment. So each upload has a file of
/// its own, `token`, and begins with a copy of the part, which somebody else perhaps still writes to. It gets the agent's name only whole
/// and on the disk, because what comes next may be a reboot; and it never takes the place of an agent that is there, which another host may
/// have begun to run. Where that one's upload took the part away, what comes is thrown away: the agent reads what follows. One that is cut
/// off leaves its file as a part. Where a part was continued, the whole is compared with its checksum, and both go where they differ.
/// Of others' files only those are removed that are parts of this agent, once it is there, and those that nobody has used for
/// [`KEPT_DAYS`], which a slow upload isn't.
fn start_script(programs: &[AgentProgram], token: u64) -> String {
    let arm = |program: &AgentProgram| {
        let machine = program.system_and_architecture();
        format!("\"{machine}\") f={};; ", program.file)
    };
    let arms: String = programs.iter().map(arm).collect();
    format!(
        "s=\"$(uname -s) $(uname -m)\"; case \"$s\" in {arms}*) f=none;; esac; d=\"{FOLDER}\"; a=\"$d/$f\"; \
         if test -x \"$a\"; then touch -c \"$a\" 2> /dev/null; else ( umask 077; n=\"$d/.agent.{token:016x}.$f\"; \
         for o in \"$d\"/.agent.*.\"$f\"; do test -s \"$o\" && s=\"$s ${{o##*/.agent.}}:$(wc -c < \"$o\")\"; done; \
         echo \"{MACHINE}$s\"; read -r p z u o k && mkdir -p \"$d\" || exit 1; \
         {{ {{ test \"$u\" -eq 0 || head -c \"$u\" \"$d/.agent.$o\" || {{ head -c \"$p\" > /dev/null; false; }}; }} && \
         head -c \"$p\" | gzip -dc; }} > \"$n\" || {{ \
         set -- $(df -Pk \"$d\" | tail -n 1); test \"$4\" -gt $((z / 1024)) || {{ rm -f \"$n\"; \
         echo \"$d has no room for the agent: $z bytes are wanted, $((1024 * $4)) were free\" >&2; }}; \
         test -s \"$n\" || rm -f \"$n\"; test -x \"$a\"; exit; }}; \
         test \"$(wc -c < \"$n\")\" -eq \"$z\" && {{ test \"$k\" = - || test \"$(cksum < \"$n\")\" = \"$k $z\"; }} && \
         chmod 700 \"$n\" && sync \"$n\" && {{ ln \"$n\" \"$a\" 2> /dev/null || test -x \"$a\" || mv \"$n\" \"$a\"; }} || \
         test -x \"$a\"; e=$?; if test $e -ne 0; then rm -f \"$n\" \"$d/.agent.$o\"; else rm -f \"$d\"/.agent.*.\"$f\"; \
         find \"$d\" -type f \\( -name \"agent-*\" -o -name \".agent.*\" \\) ! -name \"$f\" \
         -mtime +{KEPT_DAYS} -exec rm -f {{}} + 2> /dev/null; fi; exit $e ) || exit 1; fi; \
         echo {READY}; exec \"$a\" agent"
    )
}

/// A number that no other upload has, on whatever machine.
fn random() -> u64 {
    // Each state has keys of its own, out of the system's random numbers.
    RandomState::new().build_hasher().finish()
}

/// What `ssh` means with what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// Somebody is there and doesn't let us in.
    Login,
    /// Somebody is there, and isn't known.
    Key,
    /// Nobody is there.
    Unreachable(UnreachableReason),
}

impl Refusal {
    fn from_message(message: &str) -> Self {
        const WORDS: &[(&str, Refusal)] = &[
            ("Permission denied", Refusal::Login),
            ("Too many authentication failures", Refusal::Login),
            ("No supported authentication methods", Refusal::Login),
            ("Host key verification failed", Refusal::Key),
            ("HOST IDENTIFICATION HAS CHANGED", Refusal::Key),
            (
                "Could not resolve hostname",
                Refusal::Unreachable(UnreachableReason::UnknownName),
            ),
            (
                "Connection refused",
                Refusal::Unreachable(UnreachableReason::PortClosed),
            ),
            (
                "timed out",
                Refusal::Unreachable(UnreachableReason::NoAnswer),
            ),
            (
                "No route to host",
                Refusal::Unreachable(UnreachableReason::NoAnswer),
            ),
            (
                "is unreachable",
                Refusal::Unreachable(UnreachableReason::NoAnswer),
            ),
        ];
        let found = WORDS.iter().find(|(words, _)| message.contains(words));
        found.map_or(
            Self::Unreachable(UnreachableReason::Other),
            |(_, refusal)| *refusal,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{HostKind, Located};
    use std::{
        env,
        fs::{self, File},
        io::Write as _,
        path::{Path, PathBuf},
        process::{Command as Shell, Output, Stdio},
    };

    #[test]
    fn a_login_is_no_option_and_a_script_has_no_quote_of_its_own() {
        let host = HostName::new("dut").unwrap();
        let settings = Host::new(HostKind::Ssh);
        let programs = AgentProgram::all(Path::new("/bin/sh"), false).unwrap();
        for kept in [None, KeptLogin::new(&[], "dut")] {
            let far = Far {
                settings: &settings,
                host: &host,
                programs: &programs,
                kept,
            };
            let command = far.ssh(&start_script(&programs, 7));
            let words: Vec<_> = command
                .as_std()
                .get_args()
                .map(|w| w.to_str().unwrap())
                .collect();
            assert_eq!(words[words.len() - 3..words.len() - 1], ["--", "dut"]);
            assert_eq!(words[words.len() - 1].matches('\'').count(), 2);
        }
    }

    /// A home of somebody on a machine.
    struct Home {
        folder: tempfile::TempDir,
        programs: Vec<AgentProgram>,
        script: String,
    }

    impl Home {
        /// With an agent to come that says who it is.
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let agent = folder.path().join("program");
            // What gzip has to write more than once, and can't pack.
            let mut noise = vec![0; 300_000];
            blake3::Hasher::new().finalize_xof().fill(&mut noise);
            let program = b"#!/bin/sh\numask; echo \"I am an $1\"; cat; exit\n".as_slice();
            fs::write(&agent, [program, &noise].concat()).unwrap();
            let programs = AgentProgram::all(&agent, true).unwrap();
            Self {
                folder,
                script: start_script(&programs, random()),
                programs,
            }
        }

        /// Another upload, which has files of its own.
        fn renew(&mut self) {
            self.script = start_script(&self.programs, random());
        }

        /// What it is sent that says this: a line, and bytes.
        async fn sent(&self, said: &str) -> (String, Vec<u8>) {
            let wanted = WantedAgent::from_line(said.strip_prefix(MACHINE).unwrap());
            let (header, bytes) = wanted.rest_of(&self.programs[0]).await.unwrap();
            (header, bytes.to_vec())
        }

        /// Goes on from what it has.
        async fn goes_on(&self) -> Output {
            let (header, bytes) = self.sent(&self.says()).await;
            self.hears(&[header.as_bytes(), &bytes].concat())
        }

        /// What the far shell does when this comes, and then the end.
        fn hears(&self, sent: &[u8]) -> Output {
            let input = self.folder.path().join("input");
            File::create(&input).unwrap().write_all(sent).unwrap();
            Shell::new("/bin/sh")
                .args(["-c", &self.script])
                .env("HOME", self.folder.path())
                .env_remove("XDG_CACHE_HOME")
                .stdin(Stdio::from(File::open(input).unwrap()))
                .output()
                .unwrap()
        }

        /// What it says that hears nothing.
        fn says(&self) -> String {
            let output = self.hears(b"");
            assert_eq!(output.status.code(), Some(1));
            String::from_utf8(output.stdout).unwrap()
        }

        fn files(&self) -> Vec<PathBuf> {
            let cache = self.folder.path().join(".cache/backsight");
            let entries = fs::read_dir(cache).into_iter().flatten();
            entries.map(|entry| entry.unwrap().path()).collect()
        }
    }

    #[tokio::test]
    async fn an_agent_is_put_there_once_and_says_which_machine_it_is_for() {
        let home = Home::new().await;
        let machine = format!("{MACHINE}Linux {}\n", env::consts::ARCH);
        assert_eq!(home.says(), machine);
        let first = home.goes_on().await;
        let own_umask = Shell::new("/bin/sh")
            .args(["-c", "umask"])
            .output()
            .unwrap();
        let umask = String::from_utf8(own_umask.stdout).unwrap();
        let serves = format!("{READY}\n{umask}I am an agent\n");
        let said = String::from_utf8(first.stdout).unwrap();
        assert_eq!(said, machine + &serves, "{:?}", first.stderr);
        let files = home.files();
        assert_eq!(files.len(), 1, "{files:?}");
        assert_eq!(String::from_utf8(home.hears(b"").stdout).unwrap(), serves);
        assert_eq!(home.files(), files);
    }

    #[tokio::test]
    async fn an_agent_that_is_cut_off_is_never_run_and_goes_on_where_it_was() {
        let mut home = Home::new().await;
        let (header, bytes) = home.sent(&home.says()).await;
        let sent = [header.as_bytes(), &bytes].concat();
        // At most the head of what gzip has packed.
        for cut in [0, header.len() - 1, header.len(), header.len() + 9] {
            assert_eq!(home.hears(&sent[..cut]).status.code(), Some(1));
            assert_eq!(home.files(), Vec::<PathBuf>::new());
        }
        let mut last = bytes.len();
        for _ in 0..2 {
            home.renew();
            let (header, bytes) = home.sent(&home.says()).await;
            let half = [header.as_bytes(), &bytes[..bytes.len() / 2]].concat();
            assert_eq!(home.hears(&half).status.code(), Some(1));
            let (_, rest) = home.sent(&home.says()).await;
            assert!(rest.len() < last * 2 / 3, "{} of {last}", rest.len());
            last = rest.len();
        }
        home.renew();
        assert_eq!(home.goes_on().await.status.code(), Some(0));
        assert_eq!(home.files().len(), 1, "{:?}", home.files());
    }

    #[tokio::test]
    async fn a_part_that_another_upload_took_away_leaves_the_agent_nothing_of_what_was_sent() {
        let mut home = Home::new().await;
        let cache = home.folder.path().join(".cache/backsight");
        fs::create_dir_all(&cache).unwrap();
        let program = fs::read(home.folder.path().join("program")).unwrap();
        let part = cache.join(format!(".agent.7.{}", home.programs[0].file));
        fs::write(&part, &program[..100_000]).unwrap();
        let mut late = Shell::new("/bin/sh")
            .args(["-c", &home.script])
            .env("HOME", home.folder.path())
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = io::BufReader::new(late.stdout.take().unwrap());
        let mut said = String::new();
        io::BufRead::read_line(&mut output, &mut said).unwrap();
        let (header, bytes) = home.sent(&said).await;
        assert!(header.contains(" 100000 7."), "{header}");
        home.renew();
        assert_eq!(home.goes_on().await.status.code(), Some(0));
        assert!(!part.exists());
        let mut input = late.stdin.take().unwrap();
        let sent = [header.as_bytes(), &bytes, b"for the agent"];
        input.write_all(&sent.concat()).unwrap();
        drop(input);
        let heard = io::read_to_string(output).unwrap();
        assert!(heard.ends_with("I am an agent\nfor the agent"), "{heard}");
        assert!(late.wait().unwrap().success());
    }

    #[tokio::test]
    async fn an_agent_that_is_damaged_leaves_nothing_and_neither_does_its_part() {
        let home = Home::new().await;
        let cache = home.folder.path().join(".cache/backsight");
        fs::create_dir_all(&cache).unwrap();
        // A part whose bytes a power failure has taken.
        let part = cache.join(format!(".agent.7.{}", home.programs[0].file));
        fs::write(part, [0; 2000]).unwrap();
        let (header, _) = home.sent(&home.says()).await;
        assert!(header.contains(" 2000 7."), "{header}");
        assert_eq!(home.goes_on().await.status.code(), Some(1));
        assert_eq!(home.files(), Vec::<PathBuf>::new());
        let (header, mut bytes) = home.sent(&home.says()).await;
        *bytes.last_mut().unwrap() ^= 0x55;
        let damaged = [header.as_bytes(), &bytes].concat();
        assert_eq!(home.hears(&damaged).status.code(), Some(1));
        assert_eq!(home.goes_on().await.status.code(), Some(0));
        assert_eq!(home.files().len(), 1);
    }

    #[test]
    fn each_way_to_fail_is_told_from_the_others() {
        use UnreachableReason::{NoAnswer, Other, PortClosed, UnknownName};
        for (message, refusal) in [
            (
                "root@10.0.0.5: Permission denied (publickey).",
                Refusal::Login,
            ),
            ("Host key verification failed.", Refusal::Key),
            (
                "ssh: connect to host 10.0.0.5 port 22: Connection refused",
                Refusal::Unreachable(PortClosed),
            ),
            (
                "ssh: connect to host 10.0.0.5 port 22: Connection timed out",
                Refusal::Unreachable(NoAnswer),
            ),
            (
                "ssh: connect to host 10.0.0.5 port 22: Network is unreachable",
                Refusal::Unreachable(NoAnswer),
            ),
            (
                "ssh: Could not resolve hostname dut: Name or service not known",
                Refusal::Unreachable(UnknownName),
            ),
            (
                "kex_exchange_identification: read: Connection reset by peer",
                Refusal::Unreachable(Other),
            ),
        ] {
            assert_eq!(Refusal::from_message(message), refusal, "{message}");
        }
    }

    #[test]
    fn a_login_is_kept_where_it_is_asked_for_and_nobody_says_how() {
        let host = HostName::new("dut").unwrap();
        let keeps = |options: &[&str]| {
            let mut settings = Host::new(HostKind::Ssh);
            let options = options.iter().map(|word| (*word).to_owned());
            settings.options = options.map(Located::nowhere).collect();
            let far = Far {
                settings: &settings,
                host: &host,
                programs: &[],
                kept: None,
            };
            far.asks_to_keep_login()
        };
        assert!(!keeps(&[]) && !keeps(&["-p", "2222"]));
        assert!(keeps(&["-o", "controlPersist=10m"]));
        assert!(!keeps(&["-o", "ControlPersist=no"]));
        assert!(!keeps(&[
            "-o",
            "ControlPersist=10m",
            "-o",
            "ControlMaster=auto"
        ]));
    }

    #[test]
    fn what_was_tried_is_repeated_with_all_options() {
        let host = HostName::new("dut").unwrap();
        let mut settings = Host::new(HostKind::Ssh);
        settings.options = ["-p", "2222", "-o", "ProxyCommand=nc %h %p"]
            .map(|word| Located::nowhere(word.to_owned()))
            .into();
        let far = Far {
            settings: &settings,
            host: &host,
            programs: &[],
            kept: None,
        };
        let tried = far.tried();
        assert!(
            tried.ends_with(" -p 2222 -o 'ProxyCommand=nc %h %p' -- dut true"),
            "{tried}"
        );
        assert!(
            tried.starts_with("ssh -T -x -a -o BatchMode=yes -o ConnectTimeout=10"),
            "{tried}"
        );
    }
}
