//! Virtual machines of a cloud's image: `cloud-init` sets it up once, as in a cloud, and is off from then on.
//!
//! In: the file of an image, and packages. Out: a disk that boots by itself and starts the agent. What is to be set up is told on a
//! second disk, as "NoCloud" of cloud-init has it; what came of it is said on a port of virtio-serial. The machine has a network only to
//! fetch packages, and only the one that QEMU itself makes.

use backsight_model::Recipe;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::{Command, Stdio},
};

use super::{
    SERVICE, SERVICE_PLACE, START, START_PLACE, SystemError, in_file, remove, require_program, run,
};
use crate::emulator::{QEMU, QEMU_PACKAGE, disk_format, kvm_works, option_text};

/// The disk that is made.
pub(super) const DISK: &str = "disk.qcow2";
/// How long the system may take to set itself up, in seconds: an emulated one that fetches packages takes minutes.
const LIMIT: &str = "1800";
/// Memory and processors for that.
const MEMORY: &str = "1024M";
const CPUS: &str = "2";
/// The port on which the system says what came of it.
const PORT: &str = "backsight-provision";
/// How much of its console is quoted, in lines.
const QUOTED: usize = 5;

/// What the system does when everything else is done, in the background, since `cloud-init` waits for its last command: it says what came of
/// it, then has nothing of cloud-init in its later boots.
const END: &str = "nohup sh -c '
modprobe virtio_console
port=/dev/virtio-ports/backsight-provision
{ LC_ALL=C cloud-init status --wait --long; echo \"ended with $?\"; } > $port 2>&1
touch /etc/cloud/cloud-init.disabled
rm -f /etc/netplan/50-cloud-init.yaml /etc/network/interfaces.d/50-cloud-init* /etc/NetworkManager/system-connections/cloud-init-*
sync
poweroff
' > /dev/null 2>&1 &";

/// Makes the disk of a recipe's image in a folder. Nothing that it starts outlives this program; until then the lock is held.
pub(super) fn make_disk(
    recipe: &Recipe,
    image: &Path,
    folder: &Path,
    lock: &File,
) -> Result<(), SystemError> {
    File::open(image).map_err(in_file(image))?;
    require_program(QEMU, QEMU_PACKAGE)?;
    let disk = folder.join(DISK);
    let from = disk_format(image);
    qemu_img(&[&"convert", &"-f", &from, &"-O", &"qcow2", &image, &disk])?;
    require_boot_loader(image, &disk, folder)?;
    if let Some(size) = recipe.size.as_deref() {
        qemu_img(&[&"resize", &"-q", &disk, &size.0.to_string()])?;
    }
    let seed = folder.join("seed");
    fs::create_dir(&seed).map_err(in_file(&seed))?;
    let write = |name: &str, text: String| {
        let path = seed.join(name);
        fs::write(&path, text).map_err(in_file(&path))
    };
    write("user-data", user_data(recipe))?;
    write(
        "meta-data",
        "instance-id: backsight\nlocal-hostname: backsight\n".into(),
    )?;
    let (said, console) = (folder.join("said"), folder.join("console"));
    // Who dies takes along what it has started.
    let with_parent = ["setpriv", "--pdeathsig", "KILL"];
    let bounded = ["timeout", "--signal=KILL", LIMIT];
    let mut machine = Command::new(with_parent[0]);
    machine
        .args(&with_parent[1..])
        .args(bounded)
        .args(with_parent)
        .arg(QEMU)
        .args(words(recipe, &disk, &seed, &said, &console))
        .stdin(lock.try_clone().map_err(in_file(folder))?);
    let ended = run(machine, with_parent[0], "util-linux");
    let text = |path: &Path| match fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    };
    let (words, last) = (text(&said), text(&console));
    if let Err(SystemError::Failed { said, .. }) = &ended {
        return Err(SystemError::Image {
            image: image.to_owned(),
            said: format!(
                "its machine was not done within {LIMIT} seconds, or failed ({said}); its console: {}",
                last_lines(&last)
            ),
        });
    }
    ended?;
    require_done(image, &words, &last)?;
    for file in [&said, &console] {
        fs::remove_file(file).map_err(in_file(file))?;
    }
    remove(&seed)
}

/// Runs `qemu-img` with these words.
fn qemu_img(words: &[&dyn AsRef<OsStr>]) -> Result<(), SystemError> {
    let mut command = Command::new("qemu-img");
    command.args(words.iter().map(|word| word.as_ref()));
    command.stdin(Stdio::null());
    run(command, "qemu-img", "qemu-utils")
}

/// Refuses a disk that a BIOS can't boot, which would look for something to boot until its time is up.
fn require_boot_loader(image: &Path, disk: &Path, folder: &Path) -> Result<(), SystemError> {
    let sector = folder.join("sector");
    let from = format!("if={}", disk.display());
    let to = format!("of={}", sector.display());
    qemu_img(&[
        &"dd", &"-f", &"qcow2", &"-O", &"raw", &"bs=512", &"count=1", &from, &to,
    ])?;
    let first = fs::read(&sector).map_err(in_file(&sector))?;
    fs::remove_file(&sector).map_err(in_file(&sector))?;
    if boots(&first) {
        return Ok(());
    }
    Err(SystemError::Image {
        image: image.to_owned(),
        said: "its first sector has no boot loader: one that boots by UEFI alone, or is no disk, doesn't run here".into(),
    })
}

/// Whether a disk's first sector has a program and the mark of one.
fn boots(sector: &[u8]) -> bool {
    let program = sector.get(..440).unwrap_or_default();
    program.iter().any(|byte| *byte != 0) && sector.get(510..512) == Some(&[0x55, 0xaa])
}

/// What cloud-init is told.
fn user_data(recipe: &Recipe) -> String {
    let packages: Vec<&str> = recipe.packages.iter().map(|it| it.as_str()).collect();
    let mut data = json!({
        // It stays as the image has it: images without one can't be given one.
        "locale": false,
        "write_files": [
            { "path": format!("/{START_PLACE}"), "permissions": "0755", "content": START },
            { "path": format!("/{SERVICE_PLACE}"), "permissions": "0644", "content": SERVICE },
        ],
        "runcmd": [["systemctl", "enable", "backsight.service"], ["sh", "-c", END]],
    });
    if !packages.is_empty() {
        data["package_update"] = true.into();
        data["packages"] = packages.into();
    }
    // Each text of JSON is one of YAML.
    format!("#cloud-config\n{data:#}\n")
}

/// The arguments of the emulator.
fn words(recipe: &Recipe, disk: &Path, seed: &Path, said: &Path, console: &Path) -> Vec<String> {
    let accelerator = if kvm_works() { "kvm" } else { "tcg" };
    let network = match recipe.packages.is_empty() {
        true => "none",
        false => "user,model=virtio-net-pci",
    };
    let drives = [
        format!("if=virtio,format=qcow2,file={}", option_text(disk)),
        format!(
            "if=virtio,format=raw,readonly=on,file.driver=vvfat,file.label=CIDATA,file.dir={}",
            option_text(seed)
        ),
    ];
    let options = [
        ("-machine", "q35".to_owned()),
        ("-accel", accelerator.to_owned()),
        ("-cpu", "max".to_owned()),
        ("-smp", CPUS.to_owned()),
        ("-m", MEMORY.to_owned()),
        ("-display", "none".to_owned()),
        ("-nic", network.to_owned()),
        // Where the image has more than one way to be told, this one is meant.
        ("-smbios", "type=1,serial=ds=nocloud".to_owned()),
        ("-serial", format!("file:{}", option_text(console))),
        ("-device", "virtio-serial-pci".to_owned()),
        (
            "-chardev",
            format!("file,id=said,path={}", option_text(said)),
        ),
        (
            "-device",
            format!("virtserialport,chardev=said,name={PORT}"),
        ),
        ("-device", "virtio-rng-pci".to_owned()),
    ];
    let flags = ["-nodefaults", "-no-user-config", "-no-reboot"].map(str::to_owned);
    let drives = drives.map(|drive| ["-drive".to_owned(), drive]);
    let options = options.map(|(option, value)| [option.to_owned(), value]);
    [flags.to_vec(), drives.concat(), options.concat()].concat()
}

/// Refuses a disk on which not everything was done.
fn require_done(image: &Path, said: &str, console: &str) -> Result<(), SystemError> {
    // Warnings (2) are of things that the image's makers know.
    if said.contains("ended with 0") || said.contains("ended with 2") {
        return Ok(());
    }
    Err(SystemError::Image {
        image: image.to_owned(),
        said: match said.trim() {
            "" => format!(
                "it ended before cloud-init had said what came of it; its console: {}",
                last_lines(console)
            ),
            said => format!("cloud-init says: {}", last_lines(said)),
        },
    })
}

/// The last lines of a text, as one.
fn last_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    lines[lines.len().saturating_sub(QUOTED)..].join("; ")
}

/// What is known of the content of an image that was read once.
#[derive(Serialize, Deserialize)]
struct KnownImage {
    /// Its size in bytes and its time, in seconds and nanoseconds, when it was read.
    size: u64,
    time: (i64, i64),
    hash: String,
}

/// The hash of an image's content, which is read again only when the file has changed; that of a file that is gone is what it was. None of
/// one that was never there. What was read is kept in this folder.
pub(super) fn content_hash(image: &Path, folder: &Path) -> Option<String> {
    let place = folder.join(&blake3::hash(image.as_os_str().as_encoded_bytes()).to_hex()[..32]);
    let known: Option<KnownImage> = fs::read(&place)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let Ok(now) = image.metadata() else {
        return known.map(|it| it.hash);
    };
    let (size, time) = (now.len(), (now.mtime(), now.mtime_nsec()));
    if let Some(known) = known.filter(|it| it.size == size && it.time == time) {
        return Some(known.hash);
    }
    let hash = hash_of(image).ok()?;
    let known = KnownImage {
        size,
        time,
        hash: hash.clone(),
    };
    let text = serde_json::to_vec(&known).unwrap_or_default();
    // It's read again if that fails.
    let _ = fs::create_dir_all(folder).and_then(|()| fs::write(&place, text));
    Some(hash)
}

fn hash_of(file: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(file)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_boots_by_a_program_in_its_first_sector() {
        let mut sector = [0; 512];
        assert!(!boots(&sector));
        sector[510..].copy_from_slice(&[0x55, 0xaa]);
        // The table of a disk that boots by UEFI alone.
        assert!(!boots(&sector));
        sector[0] = 0xeb;
        assert!(boots(&sector));
        assert!(!boots(b"junk"));
    }

    #[test]
    fn what_came_of_it_is_read_from_what_cloud_init_says() {
        let image = Path::new("/srv/a.qcow2");
        require_done(image, "status: done\nended with 0\n", "").unwrap();
        let failed = require_done(
            image,
            "status: error\nerrors:\n - no package x\nended with 1\n",
            "",
        );
        let message = failed.unwrap_err().to_string();
        assert!(message.contains("no package x"), "{message}");
        let silent = require_done(image, "", "Booting\nNo bootable device.\n");
        let message = silent.unwrap_err().to_string();
        assert!(message.contains("No bootable device"), "{message}");
    }
}
