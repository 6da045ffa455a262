//! Changing settings as root from a process that isn't: by the same program, started through `sudo -n` or another command that makes a
//! program root's. One process a request, so that nothing stays beside a trial; what it changes is in root's journal, held by whoever
//! asked.

use backsight_model::PreparationPolicy;
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, Read, Seek as _, Write},
    net::IpAddr,
    path::PathBuf,
    process::Stdio,
    time::Duration,
};

use crate::{
    apply::change_to,
    holder::Holder,
    journal::JournalFile,
    machine_root::MachineRoot,
    program::{ProgramFault, run_with},
    report::{PreparationReport, RestoreReport},
    restore::{RestoreScope, restore},
    standing::StandingPreparation,
    wanted::WantedSetting,
};

/// How long a request may take: programs that it starts have limits of their own.
const LIMIT: Duration = Duration::from_secs(240);
/// Most bytes of a request.
const LONGEST: u64 = 64 << 20;

/// What is asked of the helper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RootRequest {
    Change {
        standing: StandingPreparation,
        wanted: Vec<WantedSetting>,
        policy: PreparationPolicy,
        holder: Holder,
        /// From where this machine is controlled.
        controllers: Vec<IpAddr>,
    },
    Restore {
        scope: RestoreScope,
        holder: Holder,
    },
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RootReply {
    Changed {
        standing: StandingPreparation,
        report: PreparationReport,
    },
    Restored(RestoreReport),
    Fault(String),
}

/// A request that nobody could do.
#[derive(Debug, thiserror::Error)]
#[error("settings can't be changed as root by `{command}`: {why}")]
pub struct RootHelperError {
    /// What was run.
    pub command: String,
    /// In its own words.
    pub why: String,
}

/// How this program is started as root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootHelper {
    words: Vec<String>,
}

impl RootHelper {
    /// By this command, which is given the program and its arguments: `sudo -n`.
    pub fn new(become_root: &[String], program: PathBuf, arguments: &[&str]) -> Self {
        let program = program.to_string_lossy().into_owned();
        let words = become_root.iter().cloned().chain([program]);
        Self {
            words: words
                .chain(arguments.iter().map(|it| (*it).to_owned()))
                .collect(),
        }
    }

    /// As [`change_to`], as root.
    ///
    /// # Errors
    /// The command fails, or what it started does.
    pub fn change(
        &self,
        standing: &mut StandingPreparation,
        wanted: Vec<WantedSetting>,
        policy: PreparationPolicy,
    ) -> Result<PreparationReport, RootHelperError> {
        let asked = std::mem::take(standing);
        // It stays what it was where nobody answers.
        *standing = asked.without_files();
        let request = RootRequest::Change {
            standing: asked,
            wanted,
            policy,
            holder: Holder::by_number(),
            controllers: MachineRoot::this_machine().controllers().to_vec(),
        };
        match self.ask(&request)? {
            RootReply::Changed {
                standing: now,
                report,
            } => {
                *standing = now;
                Ok(report)
            }
            RootReply::Fault(why) => Err(self.fault(why)),
            RootReply::Restored(_) => Err(self.fault("it answers something else".into())),
        }
    }

    /// As [`restore`], as root.
    ///
    /// # Errors
    /// As [`RootHelper::change`].
    pub fn restore(&self, scope: &RestoreScope) -> Result<RestoreReport, RootHelperError> {
        let request = RootRequest::Restore {
            scope: scope.clone(),
            holder: Holder::by_number(),
        };
        match self.ask(&request)? {
            RootReply::Restored(report) => Ok(report),
            RootReply::Fault(why) => Err(self.fault(why)),
            RootReply::Changed { .. } => Err(self.fault("it answers something else".into())),
        }
    }

    fn fault(&self, why: String) -> RootHelperError {
        RootHelperError {
            command: self.words.join(" "),
            why,
        }
    }

    fn ask(&self, request: &RootRequest) -> Result<RootReply, RootHelperError> {
        let fault = |why: String| self.fault(why);
        let text = serde_json::to_vec(request).map_err(|error| fault(error.to_string()))?;
        let input = file_with(&text).map_err(|error| fault(error.to_string()))?;
        let machine = MachineRoot::this_machine();
        let said = run_with(&machine, &self.words, Stdio::from(input), LIMIT);
        let said = said.map_err(|fault| self.fault(ProgramFault::into_text(fault)))?;
        serde_json::from_str(&said).map_err(|error| fault(error.to_string()))
    }
}

/// A file in memory with this text, to be read from its beginning.
fn file_with(text: &[u8]) -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    let mut file = File::from(memfd_create("request", MemfdFlags::CLOEXEC)?);
    file.write_all(text)?;
    file.rewind()?;
    Ok(file)
}

/// Does one request, read from here, and answers there.
///
/// # Errors
/// It is no request, or nobody reads the answer.
pub fn serve_root_request(from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut text = Vec::new();
    from.take(LONGEST).read_to_end(&mut text)?;
    let (machine, journal) = (MachineRoot::this_machine(), JournalFile::default());
    let reply = match serde_json::from_slice(&text)? {
        RootRequest::Change {
            mut standing,
            wanted,
            policy,
            holder,
            controllers,
        } => {
            let machine = machine.held_by(holder).controlled_from(controllers);
            match change_to(&machine, &mut standing, &wanted, &journal, policy) {
                Ok(report) => RootReply::Changed { standing, report },
                Err(error) => RootReply::Fault(error.to_string()),
            }
        }
        RootRequest::Restore { scope, holder } => {
            match restore(&machine.held_by(holder), &journal, &scope) {
                Ok(report) => RootReply::Restored(report),
                Err(error) => RootReply::Fault(error.to_string()),
            }
        }
    };
    to.write_all(&serde_json::to_vec(&reply)?)?;
    to.flush()
}
