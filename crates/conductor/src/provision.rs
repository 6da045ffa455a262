//! `backsight lab provision`: makes the systems that recipes of a lab describe, and proves that they run.

use backsight_model::{HostName, Lab};
use std::{
    fmt,
    time::{Duration, Instant},
};

use crate::{
    ConnectError, HostAccess, Lease, LeaseError,
    debian_system::{DebianSystem, SystemError},
    host_query::ask_host,
};

/// How long a system may take to boot and to say what it is.
const PROOF_LIMIT: Duration = Duration::from_secs(330);

/// Why a host can't be provisioned.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// It has no recipe.
    #[error("host `{0}` has no recipe: recipe = {{ debian = \"bookworm\" }}")]
    NoRecipe(HostName),
    /// It is measured on.
    #[error(transparent)]
    Leased(#[from] LeaseError),
    /// Its system can't be made.
    #[error("host `{host}`: {fault}")]
    System {
        /// The host.
        host: HostName,
        /// Why not.
        fault: SystemError,
    },
    /// What was made doesn't run.
    #[error("it is made, and can't be started: {0}")]
    Proof(#[from] ConnectError),
}

/// What was made of a recipe.
#[derive(Debug, Clone, PartialEq)]
pub struct Provisioned {
    /// The host.
    pub host: HostName,
    /// How long it took to make; none if it was there.
    pub made: Option<Duration>,
    /// How long it took until its agent had said what it is.
    pub answered: Duration,
    /// Its system, in its own words.
    pub system: String,
    /// Its kernel's release.
    pub kernel: String,
}

impl fmt::Display for Provisioned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.made {
            None => write!(f, "{}: made already", self.host)?,
            Some(took) => write!(f, "{}: made in {:.0} s", self.host, took.as_secs_f64())?,
        }
        write!(
            f,
            "; {}, Linux {}; its agent answers after {:.1} s",
            self.system,
            self.kernel,
            self.answered.as_secs_f64()
        )
    }
}

/// Makes the system of a host's recipe, unless it is there, then starts it and asks what it is.
///
/// # Errors
/// The host has no recipe, or is measured on; the system can't be made, or doesn't run.
pub async fn provision_host(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
) -> Result<Provisioned, ProvisionError> {
    let settings = lab.host.get(host);
    let recipe = settings.and_then(|settings| Some((settings.recipe.clone()?, settings.kind)));
    let Some((recipe, kind)) = recipe else {
        return Err(ProvisionError::NoRecipe(host.clone()));
    };
    let began = Instant::now();
    let making = tokio::task::spawn_blocking(move || DebianSystem::new(&recipe, kind).make());
    let made = match making.await {
        Ok(made) => made,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    };
    let is_new = made.map_err(|fault| ProvisionError::System {
        host: host.clone(),
        fault,
    })?;
    let made = is_new.then(|| began.elapsed());
    let holder = "`backsight lab provision`";
    let _lease = Lease::try_take(reach, lab, std::slice::from_ref(host), holder).await?;
    let began = Instant::now();
    let facts = ask_host(reach, lab, host, PROOF_LIMIT, async |connected| {
        Ok(connected.facts.clone())
    })
    .await?;
    let fact = |name: &str| facts.get(name).cloned().unwrap_or_else(|| "?".into());
    Ok(Provisioned {
        host: host.clone(),
        made,
        answered: began.elapsed(),
        system: fact("os.name"),
        kernel: fact("kernel.release"),
    })
}
