//! Reservations and studies: nothing is measured on a testbed that somebody else has reserved.
//!
//! A study waits for the end of a reservation as it waits for hosts that another study has: as long as its `wait` says.

use backsight_model::{Event, JobNeeds, Reservation};
use backsight_store::Store;
use miette::IntoDiagnostic as _;
use std::time::Duration;
use tokio::time::{Instant, sleep};

use crate::{SessionOptions, StudyTestbeds, job_needs::needs_of_testbeds};

/// How often it is asked whether a reservation has ended.
const LOOK: Duration = Duration::from_millis(500);

/// What reservations mean for a study.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ReservationRule {
    /// Nothing: whoever asks knows better.
    #[default]
    Ignore,
    /// Those of others are waited for; whose aren't. A job of the queue waits for all.
    Respect {
        /// Who measures.
        person: Option<String>,
    },
}

/// Waits until nobody else has reserved these testbeds or hosts of them.
///
/// # Errors
/// Somebody still has at the end of the wait; the store's own.
pub(crate) async fn await_reservations(
    store: &Store,
    testbeds: &StudyTestbeds,
    options: &SessionOptions,
) -> miette::Result<()> {
    let ReservationRule::Respect { person } = &options.reservations else {
        return Ok(());
    };
    let (needs, until) = (needs_of_testbeds(testbeds), Instant::now() + options.wait);
    let mut told = None;
    while let Some(held) = reservation_of_others(store, &needs, person.as_deref()).await? {
        let what = needs.in_common(&held.needs).unwrap_or(&held.name);
        let end = held.until.to_zoned(jiff::tz::TimeZone::system());
        let why = held.why.as_ref().map(|why| format!(" ({why})"));
        let sentence = format!(
            "`{what}` is reserved by {} until {}{}",
            held.by,
            end.strftime("%Y-%m-%d %H:%M %Z"),
            why.unwrap_or_default()
        );
        if Instant::now() >= until {
            return Err(miette::miette!(
                help = "wait for it with --wait 10m, ask who has it, or measure all the same with --ignore-reservations",
                "{sentence}"
            ));
        }
        if told != Some(held.number) {
            told = Some(held.number);
            options.events.emit(&Event::Note {
                message: format!("waiting: {sentence}"),
            });
        }
        sleep(LOOK.min(until.saturating_duration_since(Instant::now()))).await;
    }
    Ok(())
}

async fn reservation_of_others(
    store: &Store,
    needs: &JobNeeds,
    person: Option<&str>,
) -> miette::Result<Option<Reservation>> {
    let now = store.queue_time().await.into_diagnostic()?;
    let all = store.reservations(now).await.into_diagnostic()?;
    let mut others = all
        .into_iter()
        .filter(|held| person != Some(held.by.as_str()));
    Ok(others.find(|held| needs.in_common(&held.needs).is_some()))
}
