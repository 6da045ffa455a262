//! One trial on this host: its folders, its steps, and its end, after which nothing of it is left.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{IFlags, Mode, OFlags, ioctl_getflags, ioctl_setflags};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout_at};

use crate::account::{self, Reading};
use crate::cgroup::Cgroup;
use crate::monitored_processes;
use crate::mounts::{self, Mounts};
use crate::neighbours::Neighbours;
use crate::procs::{self, Process};
use crate::reap::{Reaper, childless};
use crate::step::{Step, StepId, Survivor, TrialEnded};
use crate::step_supervisor::{self, Order, StepContext, Tell};
use crate::{MARK_VARIABLE, MONITOR_VARIABLE};

/// How long all that is left of a trial may take to die.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// The pause between two looks at what is left.
const KILL_PAUSE: Duration = Duration::from_millis(1);
/// After so many looks in vain, the whole cgroup is killed.
const PATIENCE: u32 = 20;

/// What the trials of one agent share.
pub(crate) struct Ground {
    pub(crate) mark: String,
    /// Holds a folder for each trial.
    pub(crate) folder: PathBuf,
    pub(crate) cgroup: Option<Cgroup>,
    pub(crate) reaper: Arc<Reaper>,
    /// Shows others that this agent lives.
    pub(crate) _alive: fs::File,
}

/// An open trial.
pub(crate) struct Trial {
    ground: Arc<Ground>,
    folder: PathBuf,
    env: BTreeMap<String, String>,
    steps: HashMap<StepId, Running>,
    begun: Reading,
    /// What was mounted before.
    mounts: Mounts,
    /// Who used the processors before, if it is to be said who did meanwhile.
    neighbours: Option<Neighbours>,
    /// Each step's task holds a sender until its process is gone.
    alive: (mpsc::Sender<()>, mpsc::Receiver<()>),
}

struct Running {
    orders: mpsc::UnboundedSender<Order>,
    pid: Arc<std::sync::OnceLock<i32>>,
}

impl Trial {
    /// Makes the folders of the agent's `number`th trial.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn begin(
        ground: Arc<Ground>,
        number: u64,
        name: &str,
        mut env: BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let folder = ground.folder.join(number.to_string());
        let trial_folders = [folder.clone(), folder.join("scratch"), folder.join("spool")];
        for new in &trial_folders {
            DirBuilder::new()
                .mode(0o700)
                .create(new)
                .map_err(|error| named(new, &error))?;
        }
        env.insert(MARK_VARIABLE.to_owned(), format!("{}/{name}", ground.mark));
        let begun = account::read(ground.cgroup.as_ref());
        Ok(Self {
            ground,
            folder,
            env,
            steps: HashMap::new(),
            begun,
            mounts: Mounts::now(),
            neighbours: None,
            alive: mpsc::channel(1),
        })
    }

    /// Looks around now, to say at the end who else used the processors.
    pub(crate) fn watch_neighbours(&mut self) {
        self.neighbours = Some(Neighbours::now());
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.folder.join("scratch")
    }

    pub(crate) fn spool(&self) -> PathBuf {
        self.folder.join("spool")
    }

    /// Starts a step; its events go to `tell`.
    ///
    /// # Errors
    ///
    /// What is wrong with the step.
    pub(crate) fn run(&mut self, mut step: Step, tell: Tell) -> Result<(), String> {
        let id = step.id;
        if self.steps.contains_key(&id) {
            return Err(format!("the trial had a step {id} already"));
        }
        let mut env = self.env.clone();
        env.append(&mut step.env);
        // A step's own environment must not hide it from the sweep.
        env.extend(
            self.env
                .get_key_value(MARK_VARIABLE)
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        if env.contains_key(MONITOR_VARIABLE) {
            monitored_processes::allow_tracing();
        }
        let pid = Arc::default();
        let context = StepContext {
            reaper: Arc::clone(&self.ground.reaper),
            env,
            folder: self.scratch().join(step.cwd.as_deref().unwrap_or_default()),
            pid: Arc::clone(&pid),
            stdout: self.spool().join(format!("{id}.stdout")),
            stderr: self.spool().join(format!("{id}.stderr")),
        };
        let (orders, ordered) = mpsc::unbounded_channel();
        self.steps.insert(id, Running { orders, pid });
        tokio::spawn(step_supervisor::supervise(
            context,
            step,
            ordered,
            tell,
            self.alive.0.clone(),
        ));
        Ok(())
    }

    /// Gives a step an order. One that has ended needs none.
    ///
    /// # Errors
    ///
    /// There never was such a step.
    pub(crate) fn order(&self, id: StepId, order: Order) -> Result<(), String> {
        let running = self
            .steps
            .get(&id)
            .ok_or_else(|| format!("the trial has no step {id}"))?;
        let _it_has_ended = running.orders.send(order);
        Ok(())
    }

    /// Kills all that is left, waits until it is gone, and removes the folders.
    pub(crate) async fn end(self) -> TrialEnded {
        let Self {
            ground,
            folder,
            steps,
            begun,
            mounts,
            neighbours,
            alive: (alive, mut last),
            ..
        } = self;
        let mains = steps
            .iter()
            .filter_map(|(id, running)| Some((*running.pid.get()?, *id)))
            .collect();
        for running in steps.values() {
            let _it_has_ended = running.orders.send(Order::EndTrial);
        }
        let until = Instant::now() + KILL_LIMIT;
        let mut survivors = Survivors {
            mains,
            seen: HashSet::new(),
            found: Vec::new(),
        };
        let unkillable = kill_all(&ground, until, &mut survivors).await;
        drop((alive, steps));
        // Their tasks have to have seen it too: they may still be writing to the folders.
        let _stuck_with_the_unkillable = timeout_at(until, last.recv()).await;
        let account = begun.until(&account::read(ground.cgroup.as_ref()));
        let neighbours = neighbours.map(|begun| begun.since().others);
        let removed = move || (remove(&folder), Mounts::left_since(&mounts));
        let (left, mounts) = tokio::task::spawn_blocking(removed)
            .await
            .unwrap_or_default();
        TrialEnded {
            survivors: survivors.found,
            unkillable,
            left,
            mounts,
            account,
            neighbours: neighbours.unwrap_or_default(),
        }
    }
}

/// Who was still there.
struct Survivors {
    mains: HashMap<i32, StepId>,
    seen: HashSet<i32>,
    found: Vec<Survivor>,
}

impl Survivors {
    fn note(&mut self, process: &Process) {
        if self.seen.insert(process.pid) {
            let step = self.mains.get(&process.pid).copied();
            self.found.push(Survivor {
                pid: process.pid.unsigned_abs(),
                name: process.name.clone(),
                step,
            });
        }
    }
}

/// Kills every descendant, again and again until there is none. Returns those that wouldn't die.
async fn kill_all(ground: &Ground, until: Instant, survivors: &mut Survivors) -> Vec<u32> {
    let mut looks = 0;
    loop {
        ground.reaper.reap();
        if childless() {
            return Vec::new();
        }
        let left = strays(ground.cgroup.as_ref());
        for process in &left {
            survivors.note(process);
            procs::kill(process);
        }
        if Instant::now() >= until {
            return left
                .iter()
                .map(|process| process.pid.unsigned_abs())
                .collect();
        }
        looks += 1;
        if looks == PATIENCE
            && let Some(cgroup) = &ground.cgroup
        {
            // Where it fails, the looks go on.
            let _ = cgroup.kill_steps();
        }
        sleep(KILL_PAUSE).await;
    }
}

/// Every living process that stems from this one, by parenthood or by cgroup.
fn strays(cgroup: Option<&Cgroup>) -> Vec<Process> {
    let me = std::process::id().cast_signed();
    let mut found = procs::descendants(me, procs::all());
    let known: HashSet<i32> = found.iter().map(|process| process.pid).collect();
    let members = cgroup.map(Cgroup::members).unwrap_or_default();
    found.extend(
        members
            .into_iter()
            .filter(|pid| *pid != me && !known.contains(pid))
            .filter_map(procs::one),
    );
    found.retain(|process| !process.zombie);
    found
}

/// Removes a folder, with what a step made to stay: mounts, files that can't be changed. Says what is left of it and why.
pub(crate) fn remove(folder: &Path) -> Option<String> {
    if let Err(error) = mounts::undo_below(folder) {
        return Some(error.to_string());
    }
    match fs::remove_dir_all(folder) {
        Ok(()) => return None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(_) => {}
    }
    unlock(folder);
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Some(format!("{}: {error}", folder.display()))
        }
        _ => None,
    }
}

/// Makes all in a folder removable: takes the flags away that `chattr +i` and `+a` set, and gives its folders' owner the
/// right to change them. What can't be changed is left as it is.
fn unlock(folder: &Path) {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if is_folder {
        // First: without it nothing in it can be opened.
        let _not_ours = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    }
    if let Ok(file) = rustix::fs::open(folder, flags, Mode::empty())
        && let Ok(set) = ioctl_getflags(&file)
        && set.intersects(IFlags::IMMUTABLE | IFlags::APPEND)
    {
        let _no_right = ioctl_setflags(&file, set - (IFlags::IMMUTABLE | IFlags::APPEND));
    }
    if is_folder {
        let _again = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            unlock_entry(&entry);
        }
    }
}

/// Only folders and regular files have flags; to open something else may have effects.
fn unlock_entry(entry: &fs::DirEntry) {
    if entry
        .file_type()
        .is_ok_and(|kind| kind.is_dir() || kind.is_file())
    {
        unlock(&entry.path());
    }
}

/// An error with the path that it is about.
pub(crate) fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The stream of events of a step that is about to run, and where to put them.
pub(crate) fn events() -> (
    Tell,
    tokio_stream::wrappers::ReceiverStream<Result<crate::proto::StepEvent, tonic::Status>>,
) {
    // Room for each event that comes before the output.
    let (tell, told) = mpsc::channel(8);
    (tell, tokio_stream::wrappers::ReceiverStream::new(told))
}
