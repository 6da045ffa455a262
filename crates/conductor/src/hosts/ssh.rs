//! Hosts that `ssh` reaches: an agent is started there by it, after it was put there if it isn't there yet.
//!
//! The system's own `ssh` does it, so that `~/.ssh/config`, agents for keys and known hosts are what they are for
//! everybody else on this machine. Each agent has a connection of its own: one that is shared would outlive the host's
//! reboot.
//!
//! No password and no host key is asked for. Which program is the agent, the machine's architecture says.

use backsight_agent::Client;
use backsight_model::{Host, HostName, shell_quoted};
use std::{
    fs::File,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io,
    process::Stdio,
    time::Duration,
};
use tokio::process::Command;

use crate::{
    ConnectError, HostAccess, UnreachableReason,
    hosts::{GreetingError, Process, Started, agent_programs::AgentProgram},
};

/// How long it may take from `ssh`'s start to the agent's hello.
const HELLO_LIMIT: Duration = Duration::from_secs(40);
/// How long after its stream `ssh` may end, for the one to explain the other.
const EXPLANATION_LIMIT: Duration = Duration::from_secs(5);
/// How long the agent may take on its way to a host.
const PUT_LIMIT: Duration = Duration::from_secs(300);
/// What the far shell ends with if there is no agent; no program of a system ends so.
const MISSING: i32 = 79;
/// What `ssh` ends with for reasons of its own.
const SSH_FAILED: i32 = 255;
/// Connections of our own that ask for nothing, and end when the host is gone.
const SETTINGS: &[&str] = &[
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=4",
    "ControlMaster=no",
    "ControlPath=none",
    "ClearAllForwardings=yes",
    "LogLevel=ERROR",
];
/// How many days an agent that nobody uses stays on a host.
const KEPT_DAYS: u32 = 7;
/// Where our files are on a host.
const FOLDER: &str = "${XDG_CACHE_HOME:-$HOME/.cache}/backsight";

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
        programs: Vec::new(),
    };
    let programs = AgentProgram::all(&reach.program);
    far.programs =
        programs.map_err(|cause| far.not_put(&format!("{}: {cause}", reach.program.display())))?;
    let machine = match far.greet().await? {
        Greeted::Agent(client, process) => return Ok((client, process)),
        Greeted::Missing { machine } => machine,
    };
    far.put_agent(&machine).await?;
    match far.greet().await? {
        Greeted::Agent(client, process) => Ok((client, process)),
        Greeted::Missing { .. } => Err(far.not_put("it was put there and is gone")),
    }
}

/// A host, and the programs that can be its agent.
struct Far<'a> {
    settings: &'a Host,
    host: &'a HostName,
    programs: Vec<AgentProgram>,
}

/// What came of looking for an agent on a host.
enum Greeted {
    /// It is there and answers.
    Agent(Client, Box<Process>),
    /// There is none that could be.
    Missing {
        /// The system and the architecture, as `uname` says them.
        machine: String,
    },
}

impl Far<'_> {
    fn login(&self) -> &str {
        self.settings.login(self.host)
    }

    /// The words before the command for the far shell.
    fn words(&self) -> Vec<&str> {
        let mut words = vec!["-T", "-x", "-a"];
        for setting in SETTINGS {
            words.extend(["-o", setting]);
        }
        words.extend(self.settings.options.iter().map(|option| option.as_str()));
        words.extend(["--", self.login()]);
        words
    }

    /// `ssh`, with this for the far shell to do.
    fn ssh(&self, script: &str) -> Command {
        let mut command = Command::new("ssh");
        command.args(self.words());
        // Whatever shell it is that reads this, it hands it on to one that we know.
        command.arg(format!("exec /bin/sh -c '{script}'"));
        command
    }

    /// The command that repeats what was tried, with `true` in the place of the agent.
    fn tried(&self) -> String {
        let words = self.words().into_iter().map(shell_quoted);
        let words: Vec<String> = words.collect();
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

    /// Greets the agent there, if there is one for its architecture.
    async fn greet(&self) -> Result<Greeted, ConnectError> {
        let greeted = Process::greet(self.ssh(&greet_script(&self.programs)), HELLO_LIMIT).await;
        let (cause, process) = match greeted {
            Ok((client, process)) => return Ok(Greeted::Agent(client, Box::new(process))),
            Err(GreetingError::NotStarted(cause)) => return Err(self.unstartable(cause)),
            Err(GreetingError::Silent(cause, process)) => (cause, process),
        };
        let (status, message) = process.explain(EXPLANATION_LIMIT).await;
        match status.and_then(|status| status.code()) {
            Some(MISSING) => Ok(Greeted::Missing {
                machine: machine_in(&message),
            }),
            Some(SSH_FAILED) => Err(self.refusal(message)),
            _ => Err(ConnectError::Agent {
                host: self.host.clone(),
                cause,
                message,
            }),
        }
    }

    /// Puts the program there that is the agent of such a machine.
    async fn put_agent(&self, machine: &str) -> Result<(), ConnectError> {
        let mut programs = self.programs.iter();
        let agent = programs
            .find(|program| format!("Linux {}", program.machine) == machine)
            .ok_or_else(|| self.not_put(&AgentProgram::missing(machine)))?;
        let program = File::open(&agent.path)
            .map_err(|cause| self.not_put(&format!("{}: {cause}", agent.path.display())))?;
        let child = self
            .ssh(&upload_script(&agent.file, agent.size, random()))
            .stdin(Stdio::from(program))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|cause| self.unstartable(cause))?;
        let output = tokio::time::timeout(PUT_LIMIT, child.wait_with_output())
            .await
            .map_err(|_| self.not_put(&format!("it takes longer than {PUT_LIMIT:?}")))?
            .map_err(|cause| self.unstartable(cause))?;
        let message: String = String::from_utf8_lossy(&output.stderr)
            .trim()
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(300)
            .collect();
        match output.status.code() {
            Some(0) => Ok(()),
            Some(SSH_FAILED) => Err(self.refusal(message)),
            _ if message.is_empty() => Err(self.not_put(&output.status.to_string())),
            _ => Err(self.not_put(&message)),
        }
    }
}

/// What the far shell says before a machine's system and architecture.
const MACHINE: &str = "backsight-machine:";

/// A script that becomes the agent for the machine, or says which machine it is.
fn greet_script(programs: &[AgentProgram]) -> String {
    let arm =
        |program: &AgentProgram| format!("\"Linux {}\") a={};; ", program.machine, program.file);
    let arms: String = programs.iter().map(arm).collect();
    // Its time says when it was last of use: see `upload_script`.
    format!(
        "s=\"$(uname -s) $(uname -m)\"; case \"$s\" in {arms}*) a=none;; esac; a=\"{FOLDER}/$a\"; \
         test -x \"$a\" || {{ echo \"{MACHINE}$s\" >&2; exit {MISSING}; }}; \
         touch -c \"$a\" 2> /dev/null; exec \"$a\" agent"
    )
}

/// The machine that the far shell has named.
fn machine_in(message: &str) -> String {
    let mut lines = message.lines();
    let named = lines.find_map(|line| line.trim().split_once(MACHINE));
    named.map_or_else(
        || "a system without `uname`".to_owned(),
        |(_, name)| name.trim().to_owned(),
    )
}

/// A script that takes the agent from standard input.
///
/// Several hosts may have one home, and several conductors one host, all of which upload at the same moment. So each
/// upload has a file of its own, `token`; it gets the agent's name only whole and on the disk, because what comes next
/// may be a reboot; and it never takes the place of an agent that is there, which another host may have begun to run.
/// Of others' files only those are removed that nobody has used for [`KEPT_DAYS`], which a slow upload isn't.
fn upload_script(agent: &str, size: u64, token: u64) -> String {
    format!(
        "umask 077; d=\"{FOLDER}\"; n=\"$d/.agent.{token:016x}\"; a=\"$d/{agent}\"; \
         mkdir -p \"$d\" && cat > \"$n\" && test $(wc -c < \"$n\") -eq {size} && chmod 700 \"$n\" && sync \"$n\" && \
         {{ ln \"$n\" \"$a\" 2> /dev/null || test -x \"$a\" || mv \"$n\" \"$a\"; }}; e=$?; rm -f \"$n\"; \
         test $e -eq 0 && find \"$d\" -type f \\( -name \"agent-*\" -o -name \".agent.*\" \\) ! -name \"{agent}\" \
         -mtime +{KEPT_DAYS} -exec rm -f {{}} + 2> /dev/null; exit $e"
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
    use std::path::Path;

    #[test]
    fn a_login_is_no_option_and_a_script_has_no_quote_of_its_own() {
        let host = HostName::new("dut").unwrap();
        let settings = Host::new(HostKind::Ssh);
        let programs = AgentProgram::all(Path::new("/bin/sh")).unwrap();
        let far = Far {
            settings: &settings,
            host: &host,
            programs: programs.clone(),
        };
        for script in [upload_script("agent-1", 5, 7), greet_script(&programs)] {
            let command = far.ssh(&script);
            let words: Vec<_> = command
                .as_std()
                .get_args()
                .map(|w| w.to_str().unwrap())
                .collect();
            assert_eq!(words[words.len() - 3..words.len() - 1], ["--", "dut"]);
            assert_eq!(words[words.len() - 1].matches('\'').count(), 2);
        }
    }

    #[test]
    fn the_machine_says_what_it_is_where_its_agent_is_missing() {
        let mut programs = AgentProgram::all(Path::new("/bin/sh")).unwrap();
        programs[0].file = "no-such-agent".into();
        let said = std::process::Command::new("/bin/sh")
            .args(["-c", &greet_script(&programs)])
            .output()
            .unwrap();
        assert_eq!(said.status.code(), Some(MISSING));
        let message = format!("a banner\n{}", String::from_utf8_lossy(&said.stderr));
        assert_eq!(
            machine_in(&message),
            format!("Linux {}", std::env::consts::ARCH)
        );
        assert!(machine_in("sh: 1: uname: not found").contains("without"));
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
    fn what_was_tried_is_repeated_with_all_options() {
        let host = HostName::new("dut").unwrap();
        let mut settings = Host::new(HostKind::Ssh);
        settings.options = ["-p", "2222", "-o", "ProxyCommand=nc %h %p"]
            .map(|word| Located::nowhere(word.to_owned()))
            .into();
        let far = Far {
            settings: &settings,
            host: &host,
            programs: Vec::new(),
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
