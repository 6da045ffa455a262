//! Containers of this machine: an agent is a process in one, and the container ends with it.
//!
//! The container lives in the host's network namespace, which `backsight lab up` makes, so that links, addresses, routes and
//! settings are those of every namespace. Its first process is the agent, this program itself, which is shown there read-only; the
//! engine carries its standard input and output. So a container lasts from an agent's start to its end, also when this program is
//! killed: the stream ends, the agent ends, the engine removes the container.
//!
//! Only containers with our label whose conductor is gone are ever removed.

use backsight_agent::Client;
use backsight_model::{ContainerEngine, Host, HostName, Lab, Restore};
use futures_util::future::BoxFuture;
use std::{
    path::{Path, PathBuf},
    process::{Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};
use tokio::{process::Command, time::timeout};

use super::{
    AgentKeeper, ConnectError, GreetingError, HostAccess, LastWords, Process, Started,
    netns::namespace,
};
use crate::{made_system::MadeSystem, program_search::find_program};

/// How long a container may take until its agent says hello: its image may have to be fetched first.
const HELLO_LIMIT: Duration = Duration::from_secs(300);
/// How long after its stream an engine may end, for the one to explain the other.
const EXPLANATION_LIMIT: Duration = Duration::from_secs(5);
/// How long an engine may take to list or remove containers.
const ENGINE_LIMIT: Duration = Duration::from_secs(30);
/// Where a container sees this program.
const AGENT: &str = "/run/backsight/agent";
/// Where it sees its network namespace, where the engine can't be told of one.
const NAMESPACE: &str = "/run/backsight/namespace";
/// Labels of our containers: the lab, and the process that started them.
const LAB_LABEL: &str = "backsight.lab";
const CONDUCTOR_LABEL: &str = "backsight.conductor";

/// Makes a root of the folder `$1`, where the program `$2` is shown, and runs it there as a host of the name `$3`. With `$4` =
/// "overlay" what is written goes to memory; with "bind" it goes to the folder. All mounts are those of a mount namespace, and are
/// gone with its last process.
const ENTER: &str = r#"set -e
mkdir -p /run/backsight
mount -t tmpfs -o mode=755 tmpfs /run/backsight
cd /run/backsight
mkdir root up work
case $4 in
    overlay) mount -t overlay -o "lowerdir=$1,upperdir=up,workdir=work" overlay root ;;
    *) mount --rbind "$1" root ;;
esac
mkdir -p root/proc root/sys root/dev root/run root/tmp
mount -t proc proc root/proc
mount -t sysfs sysfs root/sys
if test -d /sys/fs/cgroup; then mount --rbind /sys/fs/cgroup root/sys/fs/cgroup; fi
mount --rbind /dev root/dev
mount -t tmpfs -o mode=755 tmpfs root/run
mkdir root/run/backsight
touch root/run/backsight/agent
mount --bind "$2" root/run/backsight/agent
mount -o remount,bind,ro root/run/backsight/agent
hostname "$3" 2> /dev/null || echo "$3" > /proc/sys/kernel/hostname
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TMPDIR=/tmp \
    chroot root /run/backsight/agent agent
"#;

/// Starts a container and the agent in it, and greets that.
///
/// # Errors
/// The host's namespace isn't there; there is no engine; the container can't be started, or its agent doesn't answer.
pub(super) async fn start(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
    settings: &Host,
) -> Result<Started, ConnectError> {
    let fault = |message: String| ConnectError::Container {
        host: host.clone(),
        message,
    };
    let container = Container {
        engine: choose_engine(settings, |program| find_program(program).is_some())
            .map_err(fault)?,
        name: container_name(lab, host),
        namespace: namespace(lab, host)?,
        program: reach
            .program
            .canonicalize()
            .map_err(|error| fault(error.to_string()))?,
    };
    if container.engine.takes_image() {
        remove_abandoned(container.engine, lab).await;
    }
    let command = container.command(lab, host, settings)?;
    match Process::greet(command, HELLO_LIMIT).await {
        Ok((client, process)) => {
            let client: Client = client;
            Ok((client, Box::new(Running { container, process })))
        }
        Err(GreetingError::NotStarted(cause)) => Err(ConnectError::Start {
            host: host.clone(),
            cause,
        }),
        Err(GreetingError::Silent(_, process)) => {
            let (status, message) = process.explain(EXPLANATION_LIMIT).await;
            container.remove().await;
            let status = status.map_or_else(|| "no word".to_owned(), |status| status.to_string());
            let program = container.engine.program();
            Err(fault(match message.as_str() {
                "" => format!("`{program}` ended with {status}, and no agent said hello"),
                said => format!("`{program}` says: {said}"),
            }))
        }
    }
}

/// The engine that the lab asks for, else the first that is there.
fn choose_engine(
    settings: &Host,
    is_there: impl Fn(&str) -> bool,
) -> Result<ContainerEngine, String> {
    use ContainerEngine::{Docker, Nspawn, Podman, Unshare};
    if let Some(asked) = settings.engine.as_deref().copied() {
        let package = match asked {
            Podman => "podman",
            Docker => "docker.io",
            Nspawn => "systemd-container",
            Unshare => "util-linux",
        };
        return match is_there(asked.program()) {
            true => Ok(asked),
            false => Err(format!(
                "this machine has no program `{}`: apt-get install {package}",
                asked.program()
            )),
        };
    }
    let (known, missing) = match settings.image.is_some() {
        true => (
            [Podman, Docker],
            "this machine has neither podman nor docker, which run images: apt-get install podman",
        ),
        false => (
            [Nspawn, Unshare],
            "this machine has neither systemd-nspawn nor unshare, which run folders: apt-get install util-linux",
        ),
    };
    let found = known.into_iter().find(|engine| is_there(engine.program()));
    found.ok_or_else(|| missing.to_owned())
}

/// A name that no other container has: a check of a lab may run beside a study.
fn container_name(lab: &Lab, host: &HostName) -> String {
    static STARTED: AtomicU32 = AtomicU32::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let conductor = std::process::id();
    format!("backsight-{}-{host}-{conductor}-{number}", lab.name)
}

/// A container that is started, or was.
struct Container {
    engine: ContainerEngine,
    name: String,
    namespace: PathBuf,
    program: PathBuf,
}

impl Container {
    /// The command whose standard input and output are the agent's.
    ///
    /// # Errors
    /// What it is made of isn't there.
    fn command(
        &self,
        lab: &Lab,
        host: &HostName,
        settings: &Host,
    ) -> Result<Command, ConnectError> {
        let root = root_folder(settings);
        if let Some(root) = &root
            && !root.is_dir()
        {
            let recipe = settings.recipe.is_some();
            return Err(ConnectError::Container {
                host: host.clone(),
                message: match recipe {
                    true => format!("it isn't made yet: backsight lab provision {host}"),
                    false => format!("{} is no folder", root.display()),
                },
            });
        }
        let root = root.unwrap_or_default();
        let options = settings.options.iter().map(|option| option.as_str());
        Ok(match self.engine {
            ContainerEngine::Podman | ContainerEngine::Docker => {
                let image = settings.image.as_ref().map_or("", |image| image.as_str());
                self.of_image(lab, host, image, options)
            }
            ContainerEngine::Nspawn => {
                let mut command = Command::new("systemd-nspawn");
                command
                    .args([
                        "--quiet",
                        "--register=no",
                        "--keep-unit",
                        "--pipe",
                        "--as-pid2",
                    ])
                    .arg(format!("--machine={}", machine_name(&self.name)))
                    .arg(format!("--hostname={host}"))
                    .arg(format!("--directory={}", root.display()))
                    .arg(format!(
                        "--network-namespace-path={}",
                        self.namespace.display()
                    ))
                    .arg(format!("--bind-ro={}:{AGENT}", self.program.display()));
                if settings.restores() != Restore::Never {
                    command.arg("--volatile=overlay");
                }
                command.args(options).args([AGENT, "agent"]);
                command
            }
            ContainerEngine::Unshare => {
                let mut command = Command::new("nsenter");
                command
                    .arg(format!("--net={}", self.namespace.display()))
                    .args(["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork"])
                    .args(["--kill-child", "--propagation", "private"])
                    .args(options)
                    .args(["/bin/sh", "-c", ENTER, "sh"])
                    .args([root.as_path(), &self.program, Path::new(host.as_str())])
                    .arg(match settings.restores() {
                        Restore::Never => "bind",
                        Restore::Study | Restore::Trial => "overlay",
                    });
                command
            }
        })
    }

    fn of_image<'a>(
        &self,
        lab: &Lab,
        host: &HostName,
        image: &str,
        options: impl Iterator<Item = &'a str>,
    ) -> Command {
        let mut command = Command::new(self.engine.program());
        command
            .args(["run", "--rm", "--interactive", "--name", &self.name])
            .args(["--label", &format!("{LAB_LABEL}={}", lab.name)])
            .args([
                "--label",
                &format!("{CONDUCTOR_LABEL}={}", std::process::id()),
            ])
            .args(["--hostname", host.as_str()])
            .args(["--mount", &shown(&self.program, AGENT)])
            .args(["--entrypoint", AGENT]);
        let space = self.namespace.display();
        let mut agent = vec!["agent"];
        if self.engine == ContainerEngine::Podman {
            command.args(["--network", &format!("ns:{space}")]);
        } else {
            // It has no word for a namespace that is there: the agent goes into it by itself.
            command
                .args(["--network", "none", "--cap-add", "SYS_ADMIN"])
                .args(["--security-opt", "apparmor=unconfined"])
                .args(["--mount", &shown(&self.namespace, NAMESPACE)]);
            agent.extend(["--netns", NAMESPACE]);
        }
        command.args(options).arg(image).args(agent);
        command
    }

    /// Ends what the end of its stream hasn't.
    async fn remove(&self) {
        if self.engine.takes_image() {
            let _gone_already = ask(self.engine, &["rm", "--force", &self.name]).await;
        }
    }
}

/// What shows a file of this machine in a container, in an engine's words.
fn shown(file: &Path, place: &str) -> String {
    format!(
        "type=bind,source={},target={place},readonly",
        file.display()
    )
}

/// The folder that a container is made of; none of one that is made of an image.
fn root_folder(settings: &Host) -> Option<PathBuf> {
    let of_recipe = || {
        let recipe = settings.recipe.as_deref()?;
        let system = MadeSystem::new(recipe, settings.kind);
        Some(
            system
                .root()
                .unwrap_or_else(|| system.place().to_path_buf()),
        )
    };
    let own = settings.folder.as_ref();
    let own = own.map(|folder| PathBuf::from(&**folder));
    own.or_else(of_recipe)
}

/// A name as systemd takes one of a machine.
fn machine_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '-'
        }
    };
    let name: String = name.chars().map(plain).collect();
    // Its end tells it from the others.
    name[name.len().saturating_sub(64)..]
        .trim_start_matches('-')
        .to_owned()
}

/// A container whose agent answers.
struct Running {
    container: Container,
    process: Process,
}

impl AgentKeeper for Running {
    fn bury(self: Box<Self>) -> BoxFuture<'static, LastWords> {
        Box::pin(async move {
            // First the container: an engine's client that is killed leaves it alone with an agent that stands still.
            self.container.remove().await;
            self.process.bury().await.into()
        })
    }

    fn dismiss(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.process.end().await;
            self.container.remove().await;
        })
    }
}

/// Asks an engine; none if it can't be asked, or doesn't answer.
async fn ask(engine: ContainerEngine, words: &[&str]) -> Option<Output> {
    let output = Command::new(engine.program())
        .args(words)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    timeout(ENGINE_LIMIT, output).await.ok()?.ok()
}

/// Removes containers of a lab whose conductor is gone.
async fn remove_abandoned(engine: ContainerEngine, lab: &Lab) {
    let filter = format!("label={LAB_LABEL}={}", lab.name);
    let format = format!("{{{{.Names}}}} {{{{.Label \"{CONDUCTOR_LABEL}\"}}}}");
    let words = ["ps", "--all", "--filter", &filter, "--format", &format];
    let Some(listed) = ask(engine, &words).await else {
        return;
    };
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let abandoned = abandoned_in(&listed, |conductor| {
        Path::new("/proc").join(conductor).exists()
    });
    for name in abandoned {
        let _gone_already = ask(engine, &["rm", "--force", name]).await;
    }
}

/// The names in a list of containers and their conductors whose conductor isn't alive.
fn abandoned_in(listed: &str, is_alive: impl Fn(&str) -> bool) -> Vec<&str> {
    let of_line = |line| str::split_once(line, ' ');
    let lines = listed.lines().filter_map(of_line);
    let dead = lines.filter(|(name, conductor)| {
        let is_number = !conductor.is_empty() && conductor.bytes().all(|b| b.is_ascii_digit());
        name.starts_with("backsight-") && is_number && !is_alive(conductor)
    });
    dead.map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{HostKind, Located};

    #[test]
    fn an_engine_is_the_first_that_is_there_or_the_one_that_is_asked_for() {
        let mut host = Host::new(HostKind::Container);
        let only = |name: &'static str| move |program: &str| program == name;
        assert_eq!(
            choose_engine(&host, only("unshare")),
            Ok(ContainerEngine::Unshare)
        );
        assert_eq!(choose_engine(&host, |_| true), Ok(ContainerEngine::Nspawn));
        host.image = Some(Located::nowhere("debian:12".into()));
        assert_eq!(choose_engine(&host, |_| true), Ok(ContainerEngine::Podman));
        assert_eq!(
            choose_engine(&host, only("docker")),
            Ok(ContainerEngine::Docker)
        );
        let none = choose_engine(&host, |_| false).unwrap_err();
        assert!(none.contains("apt-get install podman"), "{none}");
        host.engine = Some(Located::nowhere(ContainerEngine::Docker));
        let none = choose_engine(&host, only("podman")).unwrap_err();
        assert!(none.contains("docker.io"), "{none}");
    }

    #[test]
    fn only_containers_of_dead_conductors_are_removed() {
        let listed = "backsight-lab-box-7-0 7\nbacksight-lab-box-8-0 8\nother 9\nbacksight-x \n";
        assert_eq!(
            abandoned_in(listed, |conductor| conductor == "8"),
            ["backsight-lab-box-7-0"]
        );
    }

    #[test]
    fn a_machines_name_is_short_and_plain() {
        assert_eq!(
            machine_name("backsight-lab_1-box-7-0"),
            "backsight-lab-1-box-7-0"
        );
        let long = machine_name(&format!("backsight-{}-7-12", "x".repeat(90)));
        assert!(long.len() <= 64 && long.ends_with("-7-12"), "{long}");
    }
}
