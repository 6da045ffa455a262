//! Profiles of a program's whole life: until a signal comes, or into a file beside something else.

use std::{
    fs::File,
    io::{PipeWriter, Write as _, pipe},
    os::fd::AsFd as _,
    path::Path,
    thread::{self, JoinHandle},
};

use backsight_profile::Profile;

use crate::{
    error::{ProfilerError, refused},
    processes::ProfiledProcesses,
    profiler::{CollectedProfile, Profiler, ProfilerOptions},
    stop_signals::StopSignals,
};

/// Profiles until SIGINT, SIGTERM or SIGHUP comes. `say` is given a line when sampling has begun, and warnings at the end.
///
/// To be called before other threads are started, which would get the signals.
///
/// # Errors
/// The profiler's.
pub fn profile_until_stopped(
    options: ProfilerOptions,
    say: fn(&str),
) -> Result<Profile, ProfilerError> {
    let signals = StopSignals::block().map_err(refused("signals"))?;
    let profiler = Profiler::start(options)?;
    say(&format!("watching: {}", profiler.event().name()));
    let collected = profiler.run(signals.as_fd())?;
    collected.warn(say);
    Ok(collected.profile)
}

/// A profiler in a thread of its own, whose profile goes into a file.
#[derive(Debug)]
pub struct BackgroundProfiler {
    file: File,
    say: fn(&str),
    stop: PipeWriter,
    thread: JoinHandle<Result<CollectedProfile, ProfilerError>>,
}

impl BackgroundProfiler {
    /// Begins to profile these processes and what this process and they start. `say` is given warnings at the end.
    ///
    /// # Errors
    /// The profiler's, and where the file can't be made.
    pub fn start(file: &Path, pids: &[i32], say: fn(&str)) -> Result<Self, ProfilerError> {
        let file = File::create(file).map_err(ProfilerError::Unwritten)?;
        let (stopped, stop) = pipe().map_err(refused("a pipe"))?;
        let profiler = Profiler::start(ProfilerOptions {
            processes: ProfiledProcesses::Some {
                roots: pids.to_vec(),
                children_of: Some(std::process::id().cast_signed()),
                excludes: |_| false,
            },
            off_cpu: false,
            frequency: None,
        })?;
        let thread = thread::Builder::new().name("profiler".to_owned());
        let thread = thread.spawn(move || profiler.run(stopped.as_fd()));
        Ok(Self {
            file,
            say,
            stop,
            thread: thread.map_err(refused("a thread"))?,
        })
    }

    /// Ends it, writes the profile, and says what is wrong with it.
    ///
    /// # Errors
    /// The profiler's, and of writing.
    pub fn finish(mut self) -> Result<(), ProfilerError> {
        drop(self.stop);
        let collected = self.thread.join();
        let collected = collected.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let written = self.file.write_all(&collected.profile.to_json());
        collected.warn(self.say);
        written.map_err(ProfilerError::Unwritten)
    }
}
