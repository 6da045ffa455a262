//! The agent as the first process of a guest: makes a machine of a kernel that has just booted, serves its conductor,
//! and ends the guest with the stream, unless it is told to wait for the next conductor.
//!
//! No file is kept: everything that can be written lies in memory.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::unistd::chroot;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::system::{RebootCommand, reboot, sethostname};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use crate::agent::{ServeError, bear_supervised_mark, serve_on};
use crate::agent_mark;
use crate::guest::{DONE, GuestInterface, GuestSetup, HERE, LINE_LIMIT};
use crate::stream::ClaimedStream;
use crate::vsock;

/// How long the channel's device may take to appear.
const DEVICE_LIMIT: Duration = Duration::from_secs(10);
/// How long the conductor may take to say the next thing.
const WORD_LIMIT: Duration = Duration::from_secs(60);
/// Where a system has links to the ports of virtio-serial by their names.
const PORTS: &str = "/dev/virtio-ports";
/// The pause between two looks for something that the kernel makes.
const PAUSE: Duration = Duration::from_millis(5);
/// What a kernel gives its first process is hardly an environment.
const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ),
    ("HOME", "/root"),
    ("TMPDIR", "/tmp"),
];

/// Why a guest can't be served.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// It was called in a machine that has a first process already.
    #[error("only a kernel starts an agent with --init, as its first process")]
    NotFirst,
}

/// What a kernel asks of this process: the device to serve on, and whether to end by a restart. None: this isn't a
/// first process, or the words `agent --init DEVICE [--restart]` aren't among its arguments. A kernel puts words of its
/// command line that it doesn't know before them, and perhaps others behind.
#[must_use]
pub fn init_arguments() -> Option<(PathBuf, bool)> {
    if std::process::id() != 1 {
        return None;
    }
    parse_init_arguments(&std::env::args_os().collect::<Vec<_>>())
}

fn parse_init_arguments(arguments: &[OsString]) -> Option<(PathBuf, bool)> {
    let begins = |words: &[OsString]| words[0] == "agent" && words[1] == "--init";
    let at = arguments.windows(3).position(begins)?;
    let restart = arguments[at + 3..].iter().any(|word| word == "--restart");
    Some((PathBuf::from(&arguments[at + 2]), restart))
}

/// Serves as the first process of a guest on this device (`/dev/ttyS0`, a port of virtio-serial), then ends the guest:
/// by power-off, or by a restart where nothing else ends the machine. Doesn't return when it is process 1. What goes
/// wrong is said to the conductor or, before it can be, to the kernel's log.
///
/// # Errors
///
/// [`InitError::NotFirst`].
pub fn serve_guest(channel: &Path, restart: bool) -> Result<(), InitError> {
    if std::process::id() != 1 {
        return Err(InitError::NotFirst);
    }
    match serve(channel) {
        Ok(true) => {
            // Whatever the last conductor has left in this process goes with it.
            let again = Command::new("/proc/self/exe")
                .args(std::env::args_os().skip(1))
                .exec();
            log(&format!("the agent can't begin anew: {again}"));
        }
        Ok(false) => {}
        Err(error) => log(&format!("the agent can't serve: {error}")),
    }
    rustix::fs::sync();
    let end = if restart {
        RebootCommand::Restart
    } else {
        RebootCommand::PowerOff
    };
    let _ends_here = reboot(end);
    // The kernel panics when its first process ends, which ends the guest too.
    Ok(())
}

fn serve(channel: &Path) -> Result<bool, ServeError> {
    if agent_mark::ours().is_none() {
        furnish(Path::new("/"));
    }
    let mark = agent_mark::borne(agent_mark::random()?, ENVIRONMENT)?;
    serve_channel(channel, mark)
}

/// Serves one conductor on a device of a machine that has a first process already: as a service of that machine, which starts it
/// again when it ends. Ends when the conductor does.
///
/// # Errors
///
/// As [`serve_stdio`](crate::serve_stdio); or the device isn't there.
pub fn serve_device(channel: &Path) -> Result<(), ServeError> {
    let mark = bear_supervised_mark()?;
    let served = serve_channel(channel, mark);
    // The machine may be switched off without another word.
    rustix::fs::sync();
    served.map(drop)
}

/// Says that it is there, becomes what it is told to be, and serves. Whether the machine is to stay on.
fn serve_channel(channel: &Path, mark: String) -> Result<bool, ServeError> {
    let mut channel = open(channel)?;
    await_other_end(&channel)?;
    channel.write_all(HERE)?;
    let line = line(&mut channel)?;
    let done = serde_json::from_slice::<GuestSetup>(&line)
        .map_err(|error| format!("its agent doesn't understand what it is to be: {error}"))
        .and_then(|setup| become_it(&setup).map(|()| setup.stays_on));
    let answer = match &done {
        Ok(_) => format!("{DONE}\n"),
        Err(why) => format!("{}\n", why.replace('\n', "; ")),
    };
    channel.write_all(answer.as_bytes())?;
    let Ok(stays_on) = done else {
        // The conductor closes the channel when it has read why.
        let _until_then = line_or_end(&mut channel);
        return Ok(false);
    };
    let claimed = ClaimedStream::both(OwnedFd::from(channel)).map_err(ServeError::Stream)?;
    // Who ends a guest is whoever keeps it. To itself it must not seem left alone: when nothing runs in it, an emulated
    // machine whose time is counted in instructions passes minutes at once.
    match serve_on(claimed, mark, None) {
        Err(error) if stays_on => log(&format!("the agent can't serve: {error}")),
        served => served?,
    }
    Ok(stays_on)
}

/// Into the kernel's log, which is its console.
fn log(words: &str) {
    if let Ok(mut kernel) = OpenOptions::new().write(true).open("/dev/kmsg") {
        let _nobody_else_to_tell = writeln!(kernel, "<2>backsight: {words}");
    }
}

/// The file systems that every program expects. What this kernel hasn't, or has mounted already, it goes without.
fn furnish(root: &Path) {
    let at = |place: &str, kind: &str, options: &str| {
        let place = root.join(place);
        let _made_or_there = fs::create_dir(&place);
        let options = Some(options).filter(|options| !options.is_empty());
        let _without_it = mount(Some(kind), &place, Some(kind), MsFlags::empty(), options);
    };
    at("proc", "proc", "");
    at("sys", "sysfs", "");
    at("dev", "devtmpfs", "");
    at("dev/pts", "devpts", "mode=620,ptmxmode=666");
    at("dev/shm", "tmpfs", "mode=1777");
    at("sys/fs/cgroup", "cgroup2", "");
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        let _there_already = symlink(target, root.join("dev").join(name));
    }
}

/// Opens the channel's device as soon as it is there, or waits for the conductor's call (`vsock:PORT`); a terminal is made to carry bytes
/// as they are.
fn open(device: &Path) -> io::Result<File> {
    let words = device
        .to_str()
        .and_then(|text| text.strip_prefix(vsock::PREFIX));
    if let Some(port) = words.and_then(|port| port.parse().ok()) {
        return vsock::await_caller(port).map(File::from);
    }
    let until = Instant::now() + DEVICE_LIMIT;
    let file = loop {
        let found = port(device);
        let device = found.as_deref().unwrap_or(device);
        match OpenOptions::new().read(true).write(true).open(device) {
            Ok(file) => break file,
            Err(error) if Instant::now() >= until => {
                let said = format!("{}: {error}", device.display());
                return Err(io::Error::new(error.kind(), said));
            }
            Err(_) => std::thread::sleep(PAUSE),
        }
    };
    if let Ok(mut settings) = tcgetattr(&file) {
        settings.make_raw();
        tcsetattr(&file, OptionalActions::Now, &settings)?;
    }
    Ok(file)
}

/// The device of a named port of virtio-serial (`/dev/virtio-ports/NAME`) where nobody has made that link to it.
fn port(link: &Path) -> Option<PathBuf> {
    let name = link.strip_prefix(PORTS).ok()?.to_str()?;
    if link.exists() {
        return None;
    }
    let mut ports = fs::read_dir("/sys/class/virtio-ports").ok()?.flatten();
    let port = ports.find(|port| {
        let said = fs::read_to_string(port.path().join("name"));
        said.is_ok_and(|said| said.trim() == name)
    })?;
    Some(Path::new("/dev").join(port.file_name()))
}

/// Waits until somebody is at the other end: a port of virtio-serial drops what is sent to nobody.
fn await_other_end(channel: &File) -> io::Result<()> {
    loop {
        let mut asked = [PollFd::from_borrowed_fd(channel.as_fd(), PollFlags::OUT)];
        poll(&mut asked, None)?;
        if !asked[0].revents().contains(PollFlags::HUP) {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
}

fn line(channel: &mut File) -> io::Result<Vec<u8>> {
    line_or_end(channel)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// One line, or none if the channel ends.
fn line_or_end(channel: &mut File) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let limit = rustix::time::Timespec {
        tv_sec: WORD_LIMIT.as_secs().cast_signed(),
        tv_nsec: 0,
    };
    loop {
        let mut awaited = [PollFd::from_borrowed_fd(channel.as_fd(), PollFlags::IN)];
        if poll(&mut awaited, Some(&limit))? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut byte = [0];
        match channel.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) if byte[0] == b'\n' => return Ok(Some(line)),
            Ok(_) if line.len() < LINE_LIMIT => line.push(byte[0]),
            Ok(_) => return Err(io::ErrorKind::FileTooLarge.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Makes the machine what it is to be; else says why it can't.
fn become_it(setup: &GuestSetup) -> Result<(), String> {
    if let Some(root) = &setup.root {
        furnish(root);
        let entered = chroot(root).map_err(io::Error::from);
        entered
            .and_then(|()| std::env::set_current_dir("/"))
            .map_err(|error| format!("can't enter its root {}: {error}", root.display()))?;
    }
    if !setup.keeps_disk {
        keep_in_memory(&setup.shown)?;
    }
    let fault = |what: &str, error: &dyn Display| format!("can't set {what}: {error}");
    if let Some(name) = &setup.hostname {
        sethostname(name.as_bytes()).map_err(|error| fault("its name", &error))?;
    }
    bring_up_loopback().map_err(|error| fault("`lo` up", &error))?;
    let mut commands = String::new();
    for interface in &setup.interfaces {
        commands.push_str(&interface_commands(interface)?);
    }
    for route in &setup.routes {
        commands.push_str(&format!("route replace {route}\n"));
    }
    ip(&commands)?;
    for (key, value) in &setup.sysctl {
        let path = Path::new("/proc/sys").join(key);
        fs::write(path, value).map_err(|error| fault(&format!("{key} to `{value}`"), &error))?;
    }
    Ok(())
}

/// Folders for temporary files, in memory; of what was below them only `shown` stays in sight.
fn keep_in_memory(shown: &[PathBuf]) -> Result<(), String> {
    let fault = |place: &Path, error: io::Error| format!("{}: {error}", place.display());
    // Held open: once covered, no path leads there.
    let mut held = Vec::new();
    for folder in shown {
        held.push((folder, File::open(folder).map_err(|e| fault(folder, e))?));
    }
    for place in ["/tmp", "/run", "/var/tmp"] {
        let place = Path::new(place);
        if place.is_dir() {
            let none = MsFlags::empty();
            let covered = mount(Some("tmpfs"), place, Some("tmpfs"), none, Some("mode=1777"));
            covered.map_err(|error| fault(place, error.into()))?;
        }
    }
    for (folder, held) in held {
        // Still there: it wasn't below any of them.
        if folder.is_dir() {
            continue;
        }
        fs::create_dir_all(folder).map_err(|error| fault(folder, error))?;
        let source = format!("/proc/self/fd/{}", held.as_raw_fd());
        let none = None::<&str>;
        mount(Some(&*source), folder, none, MsFlags::MS_BIND, none)
            .map_err(|error| fault(folder, error.into()))?;
    }
    Ok(())
}

/// What makes `lo` usable, without a program that may not be there.
fn bring_up_loopback() -> io::Result<()> {
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    );
    let socket = match socket {
        // A kernel without a network has no `lo`.
        Err(rustix::io::Errno::AFNOSUPPORT) => return Ok(()),
        socket => socket?,
    };
    // SAFETY: a zeroed ifreq is valid, the name is shorter than its place, and the pointer is to a live variable.
    let done = unsafe {
        let mut request = std::mem::zeroed::<libc::ifreq>();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
        // Its type differs between C libraries.
        #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw const request,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Lines for `ip -batch` that give an interface its name, address and size.
fn interface_commands(interface: &GuestInterface) -> Result<String, String> {
    let GuestInterface {
        mac,
        name,
        address,
        mtu,
    } = interface;
    let is_it = |entry: &fs::DirEntry| {
        let text = fs::read_to_string(entry.path().join("address")).unwrap_or_default();
        text.trim() == mac
    };
    let mut entries = fs::read_dir("/sys/class/net")
        .into_iter()
        .flatten()
        .flatten();
    let found = entries.find(is_it).ok_or_else(|| {
        format!("this kernel has no interface {mac}, which was to be `{name}`: has it the driver?")
    })?;
    let device = found.file_name().to_string_lossy().into_owned();
    let mtu = mtu.map_or_else(String::new, |mtu| format!(" mtu {mtu}"));
    // Nobody else is on its link, and an address under detection can't be used for a second.
    let nodad = if address.contains(':') { " nodad" } else { "" };
    Ok(format!(
        "link set dev {device} name {name}\naddress replace {address} dev {name}{nodad}\nlink set dev {name}{mtu} up\n"
    ))
}

fn ip(commands: &str) -> Result<(), String> {
    if commands.is_empty() {
        return Ok(());
    }
    let fault = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            "its root has no program `ip`, which makes its addresses and routes".to_owned()
        }
        _ => format!("`ip`: {error}"),
    };
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(fault)?;
    if let Some(mut input) = child.stdin.take() {
        // If it has gone, its own words say why.
        let _ = input.write_all(commands.as_bytes());
    }
    let output = child.wait_with_output().map_err(fault)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`ip -batch` failed: {}", said.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_kernel_does_not_know_are_passed_over() {
        let of = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            parse_init_arguments(&words)
        };
        let asked = of("/init nosuch agent --init /dev/ttyS1 --restart console=tty0");
        assert_eq!(asked, Some(("/dev/ttyS1".into(), true)));
        let asked = of("/usr/bin/backsight agent --init /dev/ttyS0");
        assert_eq!(asked, Some(("/dev/ttyS0".into(), false)));
        assert_eq!(of("backsight agent --init"), None);
        assert_eq!(of("backsight run plan.toml"), None);
    }

    #[test]
    fn only_a_kernel_starts_the_first_process() {
        let refused = serve_guest(Path::new("/dev/null"), false);
        assert!(matches!(refused, Err(InitError::NotFirst)));
    }
}
