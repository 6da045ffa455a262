//! What the kernel engine knows of descriptors: as they were when a call was made.

use backsight_syscall_decode::text::{TextOptions, TextWriter};
use backsight_test_needs::Need;
use backsight_tracer::bpf_engine::{check_available, trace};
use backsight_tracer::command::TracedCommand;
use backsight_tracer::descriptors::{DescriptorDetails, ProcResolver};
use backsight_tracer::options::TraceOptions;

use crate::in_time::in_time;

#[test]
fn what_descriptors_were_is_known_of_programs_that_are_gone() {
    if Need::Bpf.is_missing_in(check_available()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    std::fs::write(folder.join("thing"), "text").unwrap();
    std::os::unix::fs::symlink("thing", folder.join("link")).unwrap();
    let script = "exec 3< link; cat <&3 | cat > /dev/null; rm thing; cat /proc/self/fd/3 4< . > /dev/null; true <&3";
    let options = TraceOptions {
        command: Some(TracedCommand::new(
            "sh",
            ["-c", &format!("cd {}; {script}", folder.display())],
        )),
        follow: true,
        descriptors: true,
        ..TraceOptions::default()
    };
    let mut events = Vec::new();
    in_time(|interrupt| trace(&options, interrupt, &mut |event| events.push(event))).unwrap();
    let text = TextOptions::default();
    let mut text = TextWriter::new(text).with_resolver(ProcResolver::new(DescriptorDetails::ALL));
    let mut out = Vec::new();
    for event in &events {
        text.write(event, &mut out);
    }
    let out = String::from_utf8(out).unwrap();
    let folder = folder.display();
    let duplicate = if cfg!(target_arch = "x86_64") {
        "dup2"
    } else {
        "dup3"
    };
    for line in [
        format!("openat(AT_FDCWD<{folder}>, \"link\", O_RDONLY) = 3<{folder}/thing>"),
        format!("read(0<{folder}/thing>, \"text\", "),
        format!(
            "openat(AT_FDCWD<{folder}>, \"/dev/null\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 4</dev/null<char 1:3>>"
        ),
        format!("openat(AT_FDCWD<{folder}>, \".\", O_RDONLY) = 4<{folder}>"),
        format!("{duplicate}(3<{folder}/thing>(deleted), 0"),
    ] {
        assert!(out.contains(&line), "{line}\n{out}");
    }
    assert!(out.contains("<pipe:["), "{out}");
}
