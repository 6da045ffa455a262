//! What a program of a trial does at a barrier: `backsight barrier NAME`.
//!
//! It says to the agent of its host that it is there, waits for the agreed instant, and wakes then as exactly as a program
//! that is held starts. From before the news of the instant on it is a real-time process, where that is permitted: an ordinary one
//! would hear of it only when somebody's time slice ends.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use backsight_model::{BarrierName, NameError};

use crate::barrier_socket::{LINE_LIMIT, short_path};
use crate::{BARRIER_VARIABLE, clocks, timed_wake};

/// How long the agent may take to read what a program says; it reads at once, unless it is gone.
const WRITE_LIMIT: Duration = Duration::from_secs(10);

/// Why a program didn't pass a barrier.
#[derive(Debug, thiserror::Error)]
enum BarrierError {
    /// It is no program of a trial.
    #[error(
        "a barrier is for the programs of a trial, which have the variable {BARRIER_VARIABLE}: call this from a step of a benchmark"
    )]
    NoTrial,
    /// The barrier has no proper name.
    #[error("barrier {0}")]
    Name(#[from] NameError),
    /// It can't be passed.
    #[error("barrier `{name}` can't be passed: {why}")]
    Refused {
        /// The barrier's name.
        name: BarrierName,
        /// Why.
        why: String,
    },
}

/// Waits at a barrier of the trial that this process belongs to, until all are there: every host of its role, or `of` steps of any
/// role. Returns at the instant that was agreed, with the process's status: 0. It is 1 where the barrier can't be passed and 2 where
/// it was called wrongly; a line on standard error says why.
pub fn wait_at_barrier(name: &str, of: Option<u32>) -> ExitCode {
    let Err(error) = wait(name, of) else {
        return ExitCode::SUCCESS;
    };
    let line = error.to_string().replace(char::is_control, " ");
    let _nobody_reads_it = writeln!(io::stderr(), "{line}");
    ExitCode::from(match error {
        BarrierError::Refused { .. } => 1,
        BarrierError::NoTrial | BarrierError::Name(_) => 2,
    })
}

fn wait(name: &str, of: Option<u32>) -> Result<(), BarrierError> {
    let name = BarrierName::new(name)?;
    let place = std::env::var(BARRIER_VARIABLE).map_err(|_| BarrierError::NoTrial)?;
    let (socket, step) = place.rsplit_once(' ').ok_or(BarrierError::NoTrial)?;
    let refused = |why| BarrierError::Refused {
        name: name.clone(),
        why,
    };
    let request = format!("barrier {step} {} {name}\n", of.unwrap_or(0));
    let mut stream = connect(Path::new(socket))
        .map_err(|error| refused(format!("the agent of this host can't be reached: {error}")))?;
    let ended = |error: io::Error| refused(format!("the trial has ended ({error})"));
    stream.write_all(request.as_bytes()).map_err(ended)?;
    let mut answers = BufReader::new(stream.try_clone().map_err(ended)?).take(LINE_LIMIT);
    timed_wake::become_real_time();
    let mut answer = String::new();
    answers.read_line(&mut answer).map_err(ended)?;
    let heard = clocks::monotonic_ns();
    let instant = match answer.trim_end().split_once(' ') {
        Some(("go", instant)) => instant.parse().ok(),
        Some(("no", why)) => return Err(refused(why.to_owned())),
        _ => None,
    };
    let instant = instant.ok_or_else(|| refused("the trial has ended".into()))?;
    timed_wake::sleep_until(instant);
    let woke = clocks::monotonic_ns();
    // Whoever has passed has passed, also if nobody is left to hear it.
    let _ended_meanwhile = stream.write_all(format!("gone {heard} {woke}\n").as_bytes());
    Ok(())
}

/// Does what the arguments of this process say, if they are `barrier NAME` or `barrier NAME --of N` and it is a program of a trial.
/// Called before any other argument is read: a process that has done little else starts and ends sooner, and hosts that share a
/// processor end one after the other.
pub fn pass_barrier() -> Option<ExitCode> {
    std::env::var_os(BARRIER_VARIABLE)?;
    let words: Option<Vec<String>> = std::env::args_os()
        .skip(1)
        .map(|word| word.into_string().ok())
        .collect();
    let (name, of) = plain_arguments(&words?)?;
    Some(wait_at_barrier(&name, of))
}

fn plain_arguments(words: &[String]) -> Option<(String, Option<u32>)> {
    let (name, of) = match words {
        [verb, name] if verb == "barrier" => (name, None),
        [verb, name, option, of] if verb == "barrier" && option == "--of" => {
            (name, Some(of.parse().ok().filter(|of| *of > 0)?))
        }
        _ => return None,
    };
    (!name.starts_with('-')).then(|| (name.clone(), of))
}

fn connect(socket: &Path) -> io::Result<UnixStream> {
    let (path, _folder) = short_path(socket)?;
    let stream = UnixStream::connect(path)?;
    stream.set_write_timeout(Some(WRITE_LIMIT))?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_isnt_plain_is_left_to_whoever_explains_it() {
        let plain = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            plain_arguments(&words)
        };
        assert_eq!(plain("barrier x"), Some(("x".into(), None)));
        assert_eq!(plain("barrier x --of 3"), Some(("x".into(), Some(3))));
        for other in [
            "barrier",
            "barrier --help",
            "barrier x --of 0",
            "barrier x --of",
            "barrier --of 3 x",
            "barrier x y",
            "run x",
        ] {
            assert_eq!(plain(other), None, "{other}");
        }
    }
}
