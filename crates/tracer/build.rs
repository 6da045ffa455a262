//! Compiles the programs of the kernel engine. They need clang, and neither kernel headers nor libbpf.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What clang is called where it is installed with or without its version; any of these can compile for BPF.
const COMPILERS: [&str; 8] = [
    "clang", "clang-16", "clang-17", "clang-18", "clang-19", "clang-20", "clang-15", "clang-14",
];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    let architecture = match std::env::var("CARGO_CFG_TARGET_ARCH")
        .unwrap_or_default()
        .as_str()
    {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        other => panic!(
            "the tracer's kernel programs are written for x86_64 and aarch64, not for {other}"
        ),
    };
    let Some(compiler) = compiler() else {
        panic!(
            "no clang that compiles for BPF was found: the tracer's kernel programs are built with it. \
             Install it (Debian, Ubuntu: `apt install clang`; Fedora: `dnf install clang`; or run `scripts/setup build`), \
             or name one in the variable CLANG"
        );
    };
    let object = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where to build"))
        .join("calls.bpf.o");
    compile(&compiler, architecture, &object);
}

/// The first compiler that there is.
fn compiler() -> Option<String> {
    let named = std::env::var("CLANG").ok();
    named
        .into_iter()
        .chain(COMPILERS.map(String::from))
        .find(|name| {
            Command::new(name)
                .arg("--print-targets")
                .output()
                .is_ok_and(|targets| String::from_utf8_lossy(&targets.stdout).contains("bpf"))
        })
}

fn compile(compiler: &str, architecture: &str, object: &Path) {
    let status = Command::new(compiler)
        .args([
            "-O2",
            "-g",
            "-target",
            "bpf",
            "-mcpu=v3",
            "-nostdinc",
            "-fno-ident",
        ])
        .args([
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-parameter",
            "-Wno-unused-function",
        ])
        // Where the sources lie on this machine is nobody's business, and would make every build another.
        .args(["-fdebug-compilation-dir=.", "-fdebug-prefix-map=bpf=."])
        .arg(format!("-D__TARGET_ARCH_{architecture}"))
        .args(["-c", "bpf/calls.bpf.c", "-o"])
        .arg(object)
        .status()
        .unwrap_or_else(|error| panic!("{compiler} couldn't be started: {error}"));
    assert!(
        status.success(),
        "{compiler} couldn't compile the tracer's kernel programs: {status}"
    );
}
