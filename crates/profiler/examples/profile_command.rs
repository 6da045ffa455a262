//! Profiles a command and prints the profile: `profile_command PROGRAM ARGUMENTS`; `OFF_CPU=1` in the environment asks for waiting.

use backsight_profiler::{ProfiledProcesses, Profiler, ProfilerOptions, USUAL_FREQUENCY};
use std::{io::Write as _, os::fd::AsFd as _, process::Command, thread};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let (program, arguments) = arguments.split_first().ok_or("which program?")?;
    let profiler = Profiler::start(ProfilerOptions {
        processes: ProfiledProcesses::Some {
            roots: Vec::new(),
            children_of: Some(std::process::id().cast_signed()),
            excludes: |_| false,
        },
        off_cpu: std::env::var_os("OFF_CPU").is_some(),
        frequency: USUAL_FREQUENCY,
    })?;
    let (stopped, stop) = std::io::pipe()?;
    let collecting = thread::spawn(move || profiler.run(stopped.as_fd()));
    let ended = Command::new(program).args(arguments).status();
    drop(stop);
    let collected = collecting.join().map_err(|_| "the profiler panicked")??;
    std::io::stdout().write_all(&collected.profile.to_json())?;
    ended?;
    Ok(())
}
