//! `backsight lab provision`: makes the systems that recipes of a lab describe, lets the agent into domains of libvirt, and proves that they run.

use backsight_model::{Host, HostName, Lab};
use std::{
    fmt,
    time::{Duration, Instant},
};

use crate::{
    ConnectError, HostAccess, Lease, LeaseError,
    host_query::ask_host,
    hosts::domain::add_agent_devices,
    made_system::{MadeSystem, SystemError},
    virsh::Domain,
};

/// How long a system may take to boot and to say what it is.
const PROOF_LIMIT: Duration = Duration::from_secs(330);

/// Why a host can't be provisioned.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// It has no recipe.
    #[error("host `{0}` has no recipe: recipe = {{ debian = \"bookworm\" }}")]
    NoRecipe(HostName),
    /// libvirt says no.
    #[error("host `{host}`: {message}")]
    Domain {
        /// The host.
        host: HostName,
        /// Why not.
        message: String,
    },
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

/// What was made of a recipe, or of a domain.
#[derive(Debug, Clone, PartialEq)]
pub struct Provisioned {
    /// The host.
    pub host: HostName,
    /// What was done.
    pub made: Made,
    /// How long it took until its agent had said what it is.
    pub answered: Duration,
    /// Its system, in its own words.
    pub system: String,
    /// Its kernel's release.
    pub kernel: String,
}

/// What was done to provision a host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Made {
    /// Nothing was missing.
    Already,
    /// Its system was made, in this time.
    System(Duration),
    /// libvirt has its domain now, by the file that defines it, with the agent's channel and disk where it needs them.
    Domain,
    /// The definition of its domain got the agent's channel and disk.
    Devices,
}

impl fmt::Display for Provisioned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.host)?;
        match self.made {
            Made::Already => f.write_str("made already")?,
            Made::System(took) => write!(f, "made in {:.0} s", took.as_secs_f64())?,
            Made::Domain => f.write_str("libvirt has its domain now, as its file defines it")?,
            Made::Devices => {
                f.write_str("its domain's definition has the agent's channel and disk now")?
            }
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

/// Makes the system of a host's recipe, or adds what the agent needs to its domain, unless that is there; then starts it and asks what it
/// is.
///
/// # Errors
/// The host has no recipe and is no domain, or is measured on; the system can't be made, or doesn't run.
pub async fn provision_host(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
) -> Result<Provisioned, ProvisionError> {
    let no_recipe = || ProvisionError::NoRecipe(host.clone());
    let settings = lab.host.get(host).ok_or_else(no_recipe)?;
    let lease = async || {
        let holder = "`backsight lab provision`";
        Lease::try_take(reach, lab, std::slice::from_ref(host), holder).await
    };
    let of_domain = |message| ProvisionError::Domain {
        host: host.clone(),
        message,
    };
    let (_lease, made) = match Domain::of(settings).map_err(of_domain)? {
        Some(domain) => {
            let lease = lease().await?;
            let is_new = domain.define().await.map_err(of_domain)?;
            let needs_devices = !settings.is_reached_by_ssh();
            let has_more = match needs_devices {
                true => add_agent_devices(&reach.program, &domain, settings.agent_channel()).await,
                false => Ok(false),
            };
            let made = match (is_new, has_more.map_err(of_domain)?) {
                (true, _) => Made::Domain,
                (false, true) => Made::Devices,
                (false, false) => Made::Already,
            };
            (lease, made)
        }
        None => {
            let made = make_system(host, settings).await?;
            (lease().await?, made)
        }
    };
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

async fn make_system(host: &HostName, settings: &Host) -> Result<Made, ProvisionError> {
    let recipe = settings.recipe.clone();
    let recipe = recipe.ok_or_else(|| ProvisionError::NoRecipe(host.clone()))?;
    let (began, kind) = (Instant::now(), settings.kind);
    let making = tokio::task::spawn_blocking(move || MadeSystem::new(&recipe, kind).make());
    let made = match making.await {
        Ok(made) => made,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    };
    match made {
        Ok(true) => Ok(Made::System(began.elapsed())),
        Ok(false) => Ok(Made::Already),
        Err(fault) => Err(ProvisionError::System {
            host: host.clone(),
            fault,
        }),
    }
}
