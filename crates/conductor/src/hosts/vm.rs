//! Virtual machines with a disk of their own: QEMU, which an agent of this machine keeps like a kernel under test.
//!
//! The machine is there from an agent's start to its end, also when this program is killed. Its disk is only read, unless the lab says
//! that it never goes back: what is written goes to a file that QEMU has unlinked before it begins. The guest's agent speaks on a port
//! of virtio-serial, so that no network is needed; it is this program itself, which the machine finds on a second disk, and which a
//! script in the guest (`made_system/start.sh`) starts.

use backsight_model::{Host, HostName, Lab, Restore, shell_quoted};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
    time::timeout,
};

use super::{
    AgentKeeper, ConnectError, HostAccess, LastWords, Started,
    guests::{Guest, PartsError, bring_up, memory, network_words, setup},
};
use crate::{
    emulator::{QEMU, disk_format, kvm_works, option_text},
    made_system::{Disk, MadeSystem, make_file_system},
};

/// How long a machine may take until its agent says hello.
const BOOT_LIMIT: Duration = Duration::from_secs(300);
/// How long a machine whose disk is kept may take to shut down in order.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(60);
/// How long QEMU may take to answer at its socket.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// The file beside the control socket to which the console is written.
const CONSOLE: &str = "console";
/// The port of virtio-serial on which the agent speaks, and the serial number of the disk with its program.
const AGENT: &str = "backsight";

/// Boots a machine and greets the agent in it.
///
/// # Errors
/// A part of it isn't there; it ends, stands still or says nothing in time. Nothing of it is left.
pub(super) async fn start(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
) -> Result<Started, ConnectError> {
    let settings = &lab.host[host];
    let parts = |message| PartsError::Machine(message);
    let command_line = |folder: &Path, socket: &Path| {
        let disk = disk_of(settings, host).map_err(parts)?;
        let agent = folder.join("agent.img");
        write_agent_disk(&reach.program, None, folder, &agent, &[]).map_err(parts)?;
        let machine = Machine {
            name: process_name(lab, host),
            settings,
            disk: &disk,
            agent: &agent,
            control: &folder.join("control"),
            channel: socket,
        };
        let mut words = machine.words(has_kvm(settings));
        words.extend(network_words(lab, host));
        words.extend(settings.options.iter().map(|option| (**option).clone()));
        Ok(words)
    };
    let place = (reach, lab, host);
    let booted = bring_up(place, command_line, setup(lab, host, &[]), BOOT_LIMIT).await;
    match booted {
        Ok((client, guest)) => {
            let is_kept = settings.restores() == Restore::Never;
            Ok((client, Box::new(VirtualMachine { guest, is_kept })))
        }
        Err((fault, console)) => Err(ConnectError::Machine {
            host: host.clone(),
            fault: Box::new(fault),
            console,
        }),
    }
}

/// The disk of a host, and what boots from it.
fn disk_of(settings: &Host, host: &HostName) -> Result<Disk, String> {
    if let Some(recipe) = &settings.recipe {
        let made = MadeSystem::new(recipe, settings.kind).disk();
        return made.ok_or_else(|| format!("it isn't made yet: backsight lab provision {host}"));
    }
    let path = |key: &Option<backsight_model::Located<String>>| {
        key.as_ref().map(|path| PathBuf::from(&**path))
    };
    let disk = path(&settings.disk).unwrap_or_default();
    let files = [path(&settings.kernel), path(&settings.initrd)];
    let missing = files
        .iter()
        .flatten()
        .chain([&disk])
        .find(|it| !it.is_file());
    if let Some(missing) = missing {
        return Err(format!("there is no file {}", missing.display()));
    }
    let [kernel, initrd] = files;
    Ok(Disk {
        disk,
        kernel,
        initrd,
        append: settings
            .append
            .as_ref()
            .map(|text| (**text).clone())
            .unwrap_or_default(),
    })
}

/// Whether the machine gets a processor of this machine.
fn has_kvm(settings: &Host) -> bool {
    settings.kvm.as_deref().copied().unwrap_or_else(kvm_works)
}

/// A machine that is to run.
struct Machine<'a> {
    name: String,
    settings: &'a Host,
    disk: &'a Disk,
    agent: &'a Path,
    control: &'a Path,
    channel: &'a Path,
}

impl Machine<'_> {
    /// The emulator and its arguments, but for interfaces and what the lab adds.
    fn words(&self, has_kvm: bool) -> Vec<String> {
        let text = option_text;
        let Disk {
            disk,
            kernel,
            initrd,
            append,
        } = self.disk;
        let mut words = vec![QEMU.to_owned()];
        let flags = ["-nodefaults", "-no-user-config", "-no-reboot"];
        words.extend(flags.map(str::to_owned));
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        add("-name", self.name.clone());
        add("-machine", "q35".into());
        add("-accel", if has_kvm { "kvm" } else { "tcg" }.into());
        add("-cpu", "max".into());
        let cpus = self.settings.cpus.as_deref().copied().unwrap_or(1);
        add("-smp", cpus.to_string());
        add("-m", format!("{}M", memory(self.settings) >> 20));
        add("-display", "none".into());
        // The file is for those who look at it while it runs.
        let log = text(&self.control.with_file_name(CONSOLE));
        add(
            "-chardev",
            format!("stdio,id=console,signal=off,logfile={log}"),
        );
        add("-serial", "chardev:console".into());
        add("-device", "virtio-serial-pci".into());
        add(
            "-chardev",
            format!("socket,id=channel,path={}", text(self.channel)),
        );
        add(
            "-device",
            format!("virtserialport,chardev=channel,name={AGENT}"),
        );
        add("-device", "virtio-rng-pci".into());
        // What isn't kept goes to a file without a name: nothing is left of it, whatever ends the emulator.
        let kept = match self.settings.restores() {
            Restore::Never => "off",
            Restore::Study | Restore::Trial => "on",
        };
        let format = disk_format(disk);
        add(
            "-drive",
            format!(
                "if=none,id=disk,file={},format={format},snapshot={kept}",
                text(disk)
            ),
        );
        add("-device", "virtio-blk-pci,drive=disk".into());
        add(
            "-drive",
            format!(
                "if=none,id=agent,file={},format=raw,readonly=on",
                text(self.agent)
            ),
        );
        add(
            "-device",
            format!("virtio-blk-pci,drive=agent,serial={AGENT}"),
        );
        add(
            "-qmp",
            format!("unix:{},server=on,wait=off", text(self.control)),
        );
        if let Some(kernel) = kernel {
            add("-kernel", kernel.to_string_lossy().into_owned());
            // On a busy machine an emulated timer may be late, which isn't broken.
            let own = "console=ttyS0 panic=-1 no_timer_check";
            add("-append", format!("{own} {append}"));
        }
        if let Some(initrd) = initrd {
            add("-initrd", initrd.to_string_lossy().into_owned());
        }
        words
    }
}

/// Writes a file system with this program in it, and the channel on which it is to serve where that isn't its port, made with these options
/// besides; the folder is for what that needs.
pub(super) fn write_agent_disk(
    program: &Path,
    channel: Option<&str>,
    folder: &Path,
    disk: &Path,
    more: &[&str],
) -> Result<(), String> {
    let fault = |error: io::Error| format!("the disk with the agent can't be made: {error}");
    let content = folder.join("agent-disk");
    fs::create_dir(&content).map_err(fault)?;
    let within = content.join(AGENT);
    if fs::hard_link(program, &within).is_err() {
        fs::copy(program, &within).map_err(fault)?;
    }
    if let Some(channel) = channel {
        fs::write(content.join("channel"), channel).map_err(fault)?;
    }
    let size = program.metadata().map_err(fault)?.len();
    let options = [&["-O", "^has_journal", "-N", "16"], more].concat();
    let made = make_file_system(&content, disk, size + size / 16 + (2 << 20), &options);
    fs::remove_dir_all(&content).map_err(fault)?;
    made.map_err(|error| error.to_string())
}

/// A machine whose agent answers.
struct VirtualMachine {
    guest: Guest,
    /// Whether what it wrote stays on its disk.
    is_kept: bool,
}

impl AgentKeeper for VirtualMachine {
    fn console(&self) -> Option<Vec<u8>> {
        Some(self.guest.console())
    }

    fn bury(self: Box<Self>) -> BoxFuture<'static, LastWords> {
        Box::pin(self.guest.kill())
    }

    fn dismiss(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let control = self.guest.file("control");
            let is_ending = self.is_kept && tell(&control, "system_powerdown").await.is_ok();
            let grace = match is_ending {
                true => SHUTDOWN_LIMIT,
                false => Duration::ZERO,
            };
            self.guest.end(grace).await;
        })
    }
}

/// The name by which a host's machine is found among the processes of this system.
fn process_name(lab: &Lab, host: &HostName) -> String {
    format!("backsight:{}:{host}", lab.name)
}

/// A host's machine that runs now, whoever measures on it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RunningMachine {
    /// Its folder below `/proc`.
    process: PathBuf,
    /// Its control socket.
    pub(crate) control: PathBuf,
}

impl RunningMachine {
    pub(crate) fn find(lab: &Lab, host: &HostName) -> Option<Self> {
        let name = process_name(lab, host);
        let mut processes = fs::read_dir("/proc").ok()?.flatten();
        processes.find_map(|process| {
            let process = process.path();
            let line = fs::read(process.join("cmdline")).ok()?;
            let control = control_in(&String::from_utf8_lossy(&line), &name)?;
            Some(Self { process, control })
        })
    }

    /// The line for a shell that tells its console until its end.
    pub(crate) fn console_line(&self) -> String {
        let process = self.process.file_name().unwrap_or_default();
        let log = self.control.with_file_name(CONSOLE);
        format!(
            "exec tail -c +1 -f --pid={} {}",
            process.to_string_lossy(),
            shell_quoted(&log.to_string_lossy())
        )
    }
}

/// The control socket in a command line, if it is that of the machine of this name.
fn control_in(command_line: &str, name: &str) -> Option<PathBuf> {
    let words: Vec<&str> = command_line.split('\0').collect();
    let value = |option: &str| {
        let at = words.iter().position(|word| *word == option)?;
        words.get(at + 1).copied()
    };
    if !words.first()?.ends_with(QEMU) || value("-name") != Some(name) {
        return None;
    }
    let socket = value("-qmp")?.strip_prefix("unix:")?;
    let socket = socket.strip_suffix(",server=on,wait=off")?;
    Some(PathBuf::from(socket.replace(",,", ",")))
}

/// Switches a machine off, as by pulling its plug.
///
/// # Errors
/// It doesn't answer.
pub(crate) async fn switch_off(control: &Path) -> io::Result<()> {
    tell(control, "quit").await
}

/// Gives a machine one command of QMP.
async fn tell(control: &Path, command: &str) -> io::Result<()> {
    let told = async {
        let stream = UnixStream::connect(control).await?;
        let (input, mut output) = stream.into_split();
        let mut lines = BufReader::new(input).lines();
        for command in ["qmp_capabilities", command] {
            let line = format!("{}\n", json!({ "execute": command }));
            output.write_all(line.as_bytes()).await?;
            loop {
                let line = lines
                    .next_line()
                    .await?
                    .ok_or(io::ErrorKind::UnexpectedEof)?;
                let answer: Value = serde_json::from_str(&line)?;
                if answer.get("return").is_some() {
                    break;
                }
                if let Some(error) = answer.get("error") {
                    return Err(io::Error::other(error.to_string()));
                }
            }
        }
        Ok(())
    };
    timeout(ANSWER_LIMIT, told).await?
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{HostKind, Located};

    fn words(settings: &Host) -> String {
        let disk = Disk {
            disk: "/srv/a,b.img".into(),
            kernel: Some("/srv/vmlinuz".into()),
            initrd: None,
            append: "root=/dev/vda".into(),
        };
        let machine = Machine {
            name: "backsight:lab:vm".into(),
            settings,
            disk: &disk,
            agent: Path::new("/tmp/agent.img"),
            control: Path::new("/tmp/control"),
            channel: Path::new("/tmp/channel"),
        };
        machine.words(false).join(" ")
    }

    #[test]
    fn a_disk_is_only_read_unless_it_is_kept() {
        let mut settings = Host::new(HostKind::Vm);
        let of_study = words(&settings);
        assert!(
            of_study.contains("file=/srv/a,,b.img,format=raw,snapshot=on"),
            "{of_study}"
        );
        assert!(of_study.contains("-accel tcg"), "{of_study}");
        assert!(
            of_study.contains("-append console=ttyS0 panic=-1 no_timer_check root=/dev/vda"),
            "{of_study}"
        );
        settings.restore = Some(Located::nowhere(Restore::Never));
        assert!(words(&settings).contains("snapshot=off"));
    }

    #[test]
    fn a_machine_is_found_by_its_command_line() {
        let line = words(&Host::new(HostKind::Vm)).replace(' ', "\0");
        assert_eq!(
            control_in(&line, "backsight:lab:vm"),
            Some("/tmp/control".into())
        );
        assert_eq!(control_in(&line, "backsight:lab:v"), None);
        assert_eq!(
            control_in("sh\0-name\0backsight:lab:vm", "backsight:lab:vm"),
            None
        );
    }
}
