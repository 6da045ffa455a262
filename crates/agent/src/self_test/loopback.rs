//! Ping-pong over TCP on 127.0.0.1: the round trip between two threads, each on a CPU of its own where there are two.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use backsight_model::Measure;

use super::{StopFlag, TimesOfTurn, TurnMeasure, cpus, measured_times, not_measured, numbers};

/// Bytes of a message.
const MESSAGE: usize = 64;
/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(2);
/// Parts of a turn, each with a median of its own.
const PARTS: u32 = 4;

/// The measure.
pub(super) struct Loopback {
    /// Of the two ends.
    cpus: Option<(u32, u32)>,
    /// Every round trip.
    turns: Vec<TimesOfTurn>,
    fault: Option<String>,
}

impl Loopback {
    pub(super) fn new(cpus: &[u32]) -> Self {
        Self {
            cpus: cpus.first().copied().zip(cpus.last().copied()),
            turns: Vec::new(),
            fault: None,
        }
    }

    fn play(
        &mut self,
        (near, far): (u32, u32),
        length: Duration,
        stop: &StopFlag,
    ) -> io::Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let ours = TcpStream::connect_timeout(&address, LIMIT)?;
        let (theirs, _) = listener.accept()?;
        for end in [&ours, &theirs] {
            end.set_nodelay(true)?;
            end.set_read_timeout(Some(LIMIT))?;
            end.set_write_timeout(Some(LIMIT))?;
        }
        let parts = std::thread::scope(|scope| {
            let echo = std::thread::Builder::new().spawn_scoped(scope, move || {
                cpus::pin(far);
                echo(&theirs)
            })?;
            let played = cpus::on_one(near, |_| {
                let parts = (0..PARTS).map(|_| trips(&ours, length / PARTS, stop));
                let parts: io::Result<Vec<Vec<f64>>> = parts.collect();
                // The other end reads the end of the stream, and ends.
                let _closed = ours.shutdown(std::net::Shutdown::Both);
                parts
            });
            let _ended = echo.join();
            played.unwrap_or_else(|| Err(io::Error::other("no thread could be started")))
        })?;
        let mut turn = TimesOfTurn::default();
        for part in parts {
            turn.medians.extend(numbers::median(&part));
            turn.times.extend(part);
        }
        self.turns.push(turn);
        Ok(())
    }
}

/// Sends back what comes.
fn echo(mut stream: &TcpStream) -> io::Result<()> {
    let mut message = [0; MESSAGE];
    loop {
        stream.read_exact(&mut message)?;
        stream.write_all(&message)?;
    }
}

/// The times of round trips, for so long.
fn trips(mut stream: &TcpStream, length: Duration, stop: &StopFlag) -> io::Result<Vec<f64>> {
    let mut message = [7; MESSAGE];
    let mut times = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < length && !stop.is_set() {
        let begun = Instant::now();
        stream.write_all(&message)?;
        stream.read_exact(&mut message)?;
        times.push(begun.elapsed().as_secs_f64());
    }
    Ok(times)
}

impl TurnMeasure for Loopback {
    fn share(&self) -> f64 {
        0.08
    }

    fn take_turn(&mut self, length: Duration, stop: &StopFlag) {
        if let Some(cpus) = self.cpus
            && self.fault.is_none()
        {
            let played = self.play(cpus, length, stop);
            self.fault = played.err().map(|error| error.to_string());
        }
    }

    fn finish(self: Box<Self>) -> Measure {
        const NAME: &str = "loopback";
        if let Some(fault) = &self.fault {
            return not_measured(NAME, format!("127.0.0.1 doesn't answer: {fault}"));
        }
        measured_times(NAME, &self.turns)
            .unwrap_or_else(|| not_measured(NAME, "too few answers came"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_that_of_medians_and_a_fault_is_no_pass() {
        let mut loopback = Loopback::new(&[0]);
        loopback.turns = vec![TimesOfTurn {
            times: (0..100).map(|n| f64::from(n) * 1e-6).collect(),
            medians: vec![40e-6; 9],
        }];
        let measure = (Box::new(loopback) as Box<dyn TurnMeasure>).finish();
        assert_eq!(measure.grade().unwrap().worst, backsight_model::Grade::A);
        let mut down = Loopback::new(&[0]);
        down.fault = Some("Network is unreachable".into());
        let measure = (Box::new(down) as Box<dyn TurnMeasure>).finish();
        assert_eq!(measure.grade(), None);
    }
}
