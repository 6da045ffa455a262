//! Where the programs of a trial come to barriers: a unix socket in the trial's folder.
//!
//! A program says `barrier STEP OF NAME` and hears `go INSTANT` or `no REASON`; when it went on it says `gone HEARD WOKE`. A line
//! each, instants in nanoseconds of the monotonic clock. Who has to come and when they go is the conductor's to say; it hears of
//! every arrival.
//!
//! Whoever speaks here is a stranger: lines, connections and times are bounded, and what isn't understood is answered with `no`.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::future::Future;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use backsight_model::BarrierName;
use rustix::fs::{Mode, OFlags};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tonic::Status;

use crate::step::{AtBarrier, BarrierAnswer, BarrierReport, StepId};
use crate::{clocks, proto, wire};

/// The longest line, bytes.
pub(crate) const LINE_LIMIT: u64 = 512;
/// How long a program may take to say what it wants.
const REQUEST_LIMIT: Duration = Duration::from_secs(1);
/// How long it may take to say that it went on, from the instant of its release.
const GONE_LIMIT: Duration = Duration::from_secs(10);
/// Connections that haven't said anything yet; more wait until some have, or have had their time.
const SILENT_LIMIT: usize = 64;
/// Programs that wait at barriers.
const WAITING_LIMIT: usize = 256;
/// The pause after a connection that the system couldn't give us: it has no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// Reports that the conductor hasn't heard yet; whoever has more to say waits.
const REPORTS: usize = 64;
/// The longest path that a unix socket's address holds, and some less.
const PATH_LIMIT: usize = 100;

const ENDED: &str = "the trial has ended";

/// The stream of reports to the conductor.
pub(crate) type Reports = mpsc::Sender<Result<proto::BarrierReport, Status>>;

/// The socket of one trial.
pub(crate) struct BarrierSocket {
    path: PathBuf,
    waiting_room: Arc<WaitingRoom>,
    accepting: JoinHandle<()>,
}

#[derive(Default)]
struct WaitingRoom(Mutex<Inside>);

#[derive(Default)]
struct Inside {
    /// Steps whose programs may come.
    callers: HashSet<StepId>,
    waiting: HashMap<u64, Waiting>,
    arrivals: u64,
    reports: Option<Reports>,
    ended: bool,
}

struct Waiting {
    step: StepId,
    name: BarrierName,
    /// None once it has its answer.
    answer: Option<oneshot::Sender<BarrierAnswer>>,
}

/// What a program says first.
#[derive(Debug, PartialEq, Eq)]
struct Arrival {
    step: StepId,
    of: Option<u32>,
    name: BarrierName,
}

impl BarrierSocket {
    /// Makes the socket. To be called where a runtime is.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn bind(path: PathBuf) -> io::Result<Self> {
        let (short, _folder) = short_path(&path)?;
        let listener = UnixListener::bind(short)?;
        let waiting_room = Arc::new(WaitingRoom::default());
        let accepting = tokio::spawn(accept(listener, Arc::clone(&waiting_room)));
        Ok(Self {
            path,
            waiting_room,
            accepting,
        })
    }

    /// Programs of this step may come. Returns the value of the variable by which they find the socket.
    pub(crate) fn admit(&self, step: StepId) -> String {
        self.waiting_room.inside().callers.insert(step);
        format!("{} {step}", self.path.display())
    }

    /// The reports from now on; none if somebody has them already.
    pub(crate) fn watch(&self) -> Option<mpsc::Receiver<Result<proto::BarrierReport, Status>>> {
        let mut inside = self.waiting_room.inside();
        if inside.reports.is_some() {
            return None;
        }
        let (sender, receiver) = mpsc::channel(REPORTS);
        inside.reports = Some(sender);
        Some(receiver)
    }

    /// Answers programs that wait; those that have gone away are passed over.
    pub(crate) fn answer(&self, arrivals: &[u64], answer: &BarrierAnswer) {
        let mut inside = self.waiting_room.inside();
        for arrival in arrivals {
            let waiting = inside.waiting.get_mut(arrival);
            if let Some(sender) = waiting.and_then(|waiting| waiting.answer.take()) {
                let _gone_away = sender.send(answer.clone());
            }
        }
    }
}

impl Drop for BarrierSocket {
    /// Whoever waits is sent away, and nobody comes any more.
    fn drop(&mut self) {
        self.accepting.abort();
        let mut inside = self.waiting_room.inside();
        inside.ended = true;
        inside.reports = None;
        // Their tasks end: the answer can't come any more.
        inside.waiting.clear();
    }
}

impl WaitingRoom {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a program wait.
    ///
    /// # Errors
    ///
    /// Why it may not.
    fn enter(
        &self,
        arrival: &Arrival,
    ) -> Result<(u64, oneshot::Receiver<BarrierAnswer>, Reports), String> {
        let mut inside = self.inside();
        if inside.ended {
            return Err(ENDED.into());
        }
        let Arrival { step, name, .. } = arrival;
        if !inside.callers.contains(step) {
            return Err(format!("this trial has no step {step}"));
        }
        let Some(reports) = inside.reports.clone() else {
            return Err("nobody conducts this trial's barriers: it is being put back".into());
        };
        let mut waiting = inside.waiting.values();
        if waiting.any(|it| it.step == *step && it.name == *name && it.answer.is_some()) {
            return Err(
                "another program of this step waits there already, and a step comes to a barrier once".into(),
            );
        }
        if inside.waiting.len() >= WAITING_LIMIT {
            return Err(format!(
                "{WAITING_LIMIT} programs of this host wait at barriers already"
            ));
        }
        inside.arrivals += 1;
        let number = inside.arrivals;
        let (sender, answer) = oneshot::channel();
        let waiting = Waiting {
            step: *step,
            name: name.clone(),
            answer: Some(sender),
        };
        inside.waiting.insert(number, waiting);
        Ok((number, answer, reports))
    }
}

async fn accept(listener: UnixListener, waiting_room: Arc<WaitingRoom>) {
    let silent = Arc::new(Semaphore::new(SILENT_LIMIT));
    while let Ok(permit) = Arc::clone(&silent).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(attend(stream, Arc::clone(&waiting_room), permit));
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// One program, from its first word to its last. `silent` is held until it has said what it wants.
async fn attend(stream: UnixStream, waiting_room: Arc<WaitingRoom>, silent: OwnedSemaphorePermit) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let Some(line) = next_line(&mut reader, REQUEST_LIMIT).await else {
        return refuse(&mut writer, "what you want wasn't said in one short line").await;
    };
    drop(silent);
    let entered = parse(&line).and_then(|arrival| {
        let entered = waiting_room.enter(&arrival)?;
        Ok((arrival, entered))
    });
    let (arrival, (number, answer, reports)) = match entered {
        Ok(entered) => entered,
        Err(reason) => return refuse(&mut writer, &reason).await,
    };
    let Arrival { step, of, name } = arrival;
    let name = name.to_string();
    report(&reports, number, AtBarrier::Arrived { step, name, of }).await;
    let last = until_gone(&mut reader, &mut writer, answer).await;
    report(&reports, number, last).await;
    waiting_room.inside().waiting.remove(&number);
}

/// Waits for the answer, passes it on, and hears when the program went on.
async fn until_gone(
    reader: &mut BufReader<OwnedReadHalf>,
    writer: &mut OwnedWriteHalf,
    answer: oneshot::Receiver<BarrierAnswer>,
) -> AtBarrier {
    let answer = tokio::select! {
        answer = answer => answer.unwrap_or_else(|_| BarrierAnswer::Refused(ENDED.into())),
        // Nothing is to be said now: it has gone away, or it talks nonsense.
        _ = reader.fill_buf() => return AtBarrier::Left,
    };
    let at = match answer {
        BarrierAnswer::Go(at) => at,
        BarrierAnswer::Refused(reason) => {
            refuse(writer, &reason).await;
            return AtBarrier::Left;
        }
    };
    say(writer, &format!("go {at}\n")).await;
    let until = Duration::from_nanos(at.saturating_sub(clocks::monotonic_ns()));
    let line = next_line(reader, until.saturating_add(GONE_LIMIT)).await;
    let gone = line.as_deref().and_then(|line| {
        let (heard, woke) = line.strip_prefix("gone ")?.split_once(' ')?;
        Some(AtBarrier::Gone {
            heard_ns: heard.parse().ok()?,
            woke_ns: woke.parse().ok()?,
        })
    });
    gone.unwrap_or(AtBarrier::Left)
}

fn parse(line: &str) -> Result<Arrival, String> {
    let mut words = line.split(' ');
    let arrival = (|| {
        let ("barrier", step, of, name, None) = (
            words.next()?,
            words.next()?.parse().ok()?,
            words.next()?.parse::<u32>().ok()?,
            words.next()?,
            words.next(),
        ) else {
            return None;
        };
        Some((StepId(step), of, name))
    })();
    let (step, of, name) = arrival.ok_or("expected `barrier STEP OF NAME`")?;
    Ok(Arrival {
        step,
        of: Some(of).filter(|of| *of > 0),
        name: BarrierName::new(name).map_err(|error| error.to_string())?,
    })
}

/// A whole line that comes in time and isn't too long.
async fn next_line(reader: &mut BufReader<OwnedReadHalf>, limit: Duration) -> Option<String> {
    let mut line = Vec::new();
    let mut reader = reader.take(LINE_LIMIT);
    let read = timeout(limit, reader.read_until(b'\n', &mut line)).await;
    read.ok()?.ok()?;
    String::from_utf8(line)
        .ok()?
        .strip_suffix('\n')
        .map(str::to_owned)
}

fn refuse(writer: &mut OwnedWriteHalf, reason: &str) -> impl Future<Output = ()> {
    let reason = reason.replace('\n', " ");
    let mut end = reason.len().min(400);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    let line = format!("no {}\n", &reason[..end]);
    async move { say(writer, &line).await }
}

/// Says a line. A short one always finds room, or nobody reads it.
async fn say(writer: &mut OwnedWriteHalf, line: &str) {
    let _nobody_reads_it = timeout(REQUEST_LIMIT, writer.write_all(line.as_bytes())).await;
}

async fn report(reports: &Reports, arrival: u64, what: AtBarrier) {
    let report = wire::barrier_report(BarrierReport { arrival, what });
    let _nobody_listens = reports.send(Ok(report)).await;
}

/// A path to the same file that is short enough for a socket's address, for as long as what comes with it is kept.
pub(crate) fn short_path(path: &Path) -> io::Result<(PathBuf, Option<File>)> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok((path.to_owned(), None));
    };
    if path.as_os_str().as_bytes().len() <= PATH_LIMIT {
        return Ok((path.to_owned(), None));
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::open(folder, flags, Mode::empty())?);
    let short = backsight_platform::short_path(&folder)?;
    Ok((short.join(name), Some(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_request_is_one() {
        let arrival = parse("barrier 7 0 iteration").unwrap();
        assert_eq!((arrival.step, arrival.of), (StepId(7), None));
        assert_eq!(parse("barrier 7 3 x").unwrap().of, Some(3));
        for nonsense in [
            "",
            "barrier",
            "barrier 7 0",
            "barrier 7 0 x y",
            "barrier -7 0 x",
            "barrier 7 99999999999 x",
            "barrier 7 0 ../x",
            "barrier 7 0 ",
            "hello 7 0 x",
        ] {
            assert!(parse(nonsense).is_err(), "{nonsense:?}");
        }
    }

    #[test]
    fn a_long_path_is_reached_by_a_short_one() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("x".repeat(150));
        std::fs::create_dir(&long).unwrap();
        let path = long.join("barrier");
        let (short, _folder) = short_path(&path).unwrap();
        assert!(short.as_os_str().len() < PATH_LIMIT);
        let _listener = std::os::unix::net::UnixListener::bind(&short).unwrap();
        assert!(path.exists());
    }
}
