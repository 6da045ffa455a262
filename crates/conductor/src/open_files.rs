//! The limit of open files: a controller has some of every host, so that it takes as many as it may; programs that it starts on
//! behalf of a host have the limit that it was started with, so that nothing that is measured sees a difference.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::OnceLock;
use tokio::process::Command;

/// The limit that this process was started with.
static STARTED_WITH: OnceLock<Rlimit> = OnceLock::new();

/// Lets this process have as many open files as it may, and a command as many as this process had at its start.
pub(crate) fn raise_but_for(command: &mut Command) {
    let before = *STARTED_WITH.get_or_init(raise);
    if before.current == before.maximum {
        return;
    }
    let lower = move || {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // Not larger than what anybody has allowed since.
        let current = match (before.current, maximum) {
            (Some(own), Some(most)) => Some(own.min(most)),
            (own, most) => own.or(most),
        };
        Ok(setrlimit(Resource::Nofile, Rlimit { current, maximum })?)
    };
    // SAFETY: between fork and exec it asks the kernel twice, and allocates nothing.
    unsafe { command.pre_exec(lower) };
}

fn raise() -> Rlimit {
    let before = getrlimit(Resource::Nofile);
    let current = before.maximum;
    // Where it isn't allowed, what can't be opened says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, ..before });
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn this_process_has_what_it_may_and_what_it_starts_has_what_it_had() {
        let started = getrlimit(Resource::Nofile);
        let few = Rlimit {
            current: Some(100),
            ..started
        };
        setrlimit(Resource::Nofile, few).unwrap();
        for _ in 0..2 {
            let mut command = Command::new("sh");
            command.args(["-c", "ulimit -Sn; ulimit -Hn"]);
            raise_but_for(&mut command);
            let printed = command.output().await.unwrap().stdout;
            let printed = String::from_utf8(printed).unwrap();
            let hard = started
                .maximum
                .map_or("unlimited".into(), |most| most.to_string());
            assert_eq!(printed, format!("100\n{hard}\n"));
            assert_eq!(getrlimit(Resource::Nofile), started_with_all(started));
        }
    }

    fn started_with_all(started: Rlimit) -> Rlimit {
        Rlimit {
            current: started.maximum,
            ..started
        }
    }
}
