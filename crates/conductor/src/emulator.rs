//! QEMU on this machine: its name, how it is told of files, and whether KVM works.
//!
//! KVM is used where it works: some machines have the device and can't run a processor on it, which is tried once.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::OnceLock,
};

/// The emulator.
pub(crate) const QEMU: &str = "qemu-system-x86_64";
/// The package of Debian that has it.
pub(crate) const QEMU_PACKAGE: &str = "qemu-system-x86";

/// A path within an option, whose parts commas separate.
pub(crate) fn option_text(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}

/// Whether KVM runs a processor as our machines have it: some systems have the device and refuse one of its registers, on which QEMU
/// aborts. It is tried once, by a machine that is ended before it begins.
pub(crate) fn kvm_works() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| {
        File::options()
            .read(true)
            .write(true)
            .open("/dev/kvm")
            .is_ok()
            && tries_kvm().is_ok()
    })
}

fn tries_kvm() -> io::Result<()> {
    let words = [
        "-nodefaults",
        "-no-user-config",
        "-machine",
        "q35",
        "-accel",
        "kvm",
    ];
    let mut child = Command::new("timeout")
        .args(["--signal=KILL", "10", QEMU])
        .args(words)
        .args(["-cpu", "max", "-S", "-display", "none", "-qmp", "stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let ending = b"{\"execute\":\"qmp_capabilities\"}\n{\"execute\":\"quit\"}\n";
    let told = child.stdin.take().map(|mut input| input.write_all(ending));
    let ended = child.wait()?;
    match (told, ended.success()) {
        (Some(Ok(())), true) => Ok(()),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// The format of a disk's file: guessed by QEMU itself, a plain file could become another format by what its guest writes.
pub(crate) fn disk_format(disk: &Path) -> &'static str {
    const FORMATS: [(&[u8], &str); 4] = [
        (b"QFI\xfb", "qcow2"),
        (b"KDMV", "vmdk"),
        (b"vhdxfile", "vhdx"),
        (b"<<< ", "vdi"),
    ];
    let mut start = [0; 8];
    let read = File::open(disk).and_then(|mut file| file.read_exact(&mut start));
    let found = FORMATS.iter().find(|(magic, _)| start.starts_with(magic));
    found
        .filter(|_| read.is_ok())
        .map_or("raw", |(_, format)| format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_format_is_told_by_its_first_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("disk");
        fs::write(&file, b"QFI\xfb\0\0\0\x03").unwrap();
        assert_eq!(disk_format(&file), "qcow2");
        fs::write(&file, b"\xeb\x63\x90\0\0\0\0\0").unwrap();
        assert_eq!(disk_format(&file), "raw");
        assert_eq!(disk_format(&folder.path().join("none")), "raw");
    }
}
