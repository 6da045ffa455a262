//! `backsight reserve`: a testbed or a host for a person, until a time.

use backsight_model::Reservation;
use backsight_report::{
    escape,
    queue::{ReservationView, near_time, reservation_table},
};
use backsight_store::{NewReservation, Store};
use backsight_study::named_resource;
use jiff::{Timestamp, tz::TimeZone};
use miette::IntoDiagnostic as _;
use std::{path::PathBuf, process::ExitCode};

use crate::{common_options::CommonOptions, files, user_name::user_name, value_parsers::moment};

/// Arguments of `reserve`.
#[derive(Debug, clap::Args)]
pub struct ReserveArgs {
    /// The testbed or the host of the lab; without one, reservations are listed
    what: Option<String>,
    /// When it ends by itself: 18:00, 3h, "YYYY-MM-DD 09:30", "18:00 Europe/Berlin"
    #[arg(long, value_name = "TIME", value_parser = moment, requires = "what", required_unless_present_any = ["list", "release", "json"])]
    until: Option<Timestamp>,
    /// What for
    #[arg(long, value_name = "TEXT", requires = "until")]
    why: Option<String>,
    /// For whom; else for the user
    #[arg(long = "for", value_name = "NAME", requires = "until")]
    person: Option<String>,
    /// The lab's file; else the lab.toml in this folder, else this machine alone
    #[arg(long, value_name = "FILE")]
    lab: Option<PathBuf>,
    /// List reservations
    #[arg(long, conflicts_with_all = ["what", "release"])]
    list: bool,
    /// List reservations as JSON
    #[arg(long, conflicts_with_all = ["what", "release"])]
    json: bool,
    /// End the reservation of this testbed or host now, whosever it is
    #[arg(long, requires = "what", conflicts_with = "until")]
    release: bool,
}

impl ReserveArgs {
    /// Reserves, releases or lists.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::open_store(shared).await?;
            let held = in_force(&store).await?;
            match (&self.what, self.until) {
                (Some(what), Some(until)) => self.reserve(&store, what, until).await?,
                (Some(what), None) => self.release(&store, what, &held).await?,
                (None, _) if self.json => {
                    let views: Vec<ReservationView> =
                        held.iter().map(ReservationView::from).collect();
                    files::print(&backsight_report::json(&views).into_diagnostic()?)?;
                }
                (None, _) => files::print(&reservation_table(&held, files::width()))?,
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    async fn reserve(&self, store: &Store, what: &str, until: Timestamp) -> miette::Result<()> {
        let lab = files::lab_or_this_machine(self.lab.as_deref())?;
        let new = NewReservation {
            name: what.to_owned(),
            needs: named_resource(&lab, what)?,
            by: user_name(self.person.as_deref())?,
            why: self.why.clone(),
            until,
        };
        let made = store.reserve(&new).await.into_diagnostic()?;
        let queue = store.queue(0).await.into_diagnostic()?;
        let mut text = format!(
            "{what} is reserved by {} until {}\n",
            escape::line(&made.by),
            near_time(until, made.made, &TimeZone::system())
        );
        let mut running = queue.running.iter();
        if let Some(job) = running.find(|job| job.needs.in_common(&made.needs).is_some()) {
            text.push_str(&format!(
                "job {0} runs there still: `backsight queue pause {0}` stops it\n",
                job.number
            ));
        }
        files::print(&text)
    }

    async fn release(&self, store: &Store, what: &str, held: &[Reservation]) -> miette::Result<()> {
        let mut named = held.iter().filter(|held| held.name == what).peekable();
        if named.peek().is_none() {
            return Err(miette::miette!(
                help = "`backsight reserve --list` lists reservations",
                "nobody has reserved `{what}`"
            ));
        }
        for held in named {
            let released = store.release_reservation(held.number).await;
            released.into_diagnostic()?;
            files::print(&format!(
                "{what} is free again; it was reserved by {}\n",
                escape::line(&held.by)
            ))?;
        }
        Ok(())
    }
}

async fn in_force(store: &Store) -> miette::Result<Vec<Reservation>> {
    let now = store.queue_time().await.into_diagnostic()?;
    store.reservations(now).await.into_diagnostic()
}
