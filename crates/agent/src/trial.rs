//! One trial on this host: its folders, its steps, and its end, after which nothing of it is left.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use prost::bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout_at};

use crate::account::{self, CpuCounters};
use crate::barrier_socket::BarrierSocket;
use crate::cgroup::Cgroup;
use crate::folders::{BARRIER_SOCKET, PROGRAMS, remove_tree, with_path};
use crate::launch::DEFAULT_PATH;
use crate::launch_conditions::LaunchConditions;
use crate::mounts::Mounts;
use crate::neighbours::ProcessSnapshot;
use crate::procs::{self, Process};
use crate::reap::{Reaper, childless};
use crate::step::{BarrierAnswer, StepId, StepSpec, Survivor, TrialEnded};
use crate::step_supervisor::{self, EventSender, StepContext, StepOrder};
use crate::trial_launch::TrialLaunch;
use crate::trial_limits::TrialLimits;
use crate::trial_user::TrialUser;
use crate::{BARRIER_VARIABLE, MARK_VARIABLE, MONITOR_VARIABLE, facts, proto};

/// How long all that is left of a trial may take to die.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// The pause between two looks at what is left.
const KILL_PAUSE: Duration = Duration::from_millis(1);
/// After so many looks in vain, the whole cgroup is killed.
const PATIENCE: u32 = 20;

/// What the trials of one agent share.
pub(crate) struct SharedTrialState {
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
    ground: Arc<SharedTrialState>,
    folder: PathBuf,
    env: BTreeMap<String, String>,
    conditions: LaunchConditions,
    limits: Option<Arc<TrialLimits>>,
    user: Option<TrialUser>,
    steps: HashMap<StepId, Running>,
    barriers: BarrierSocket,
    begun: CpuCounters,
    began: SystemTime,
    /// What was mounted before.
    mounts: Mounts,
    /// Who used the processors before, if it is to be said who did meanwhile.
    neighbours: Option<ProcessSnapshot>,
    /// Each step's task holds a sender until its process is gone.
    alive: (mpsc::Sender<()>, mpsc::Receiver<()>),
}

struct Running {
    orders: mpsc::UnboundedSender<StepOrder>,
    pid: Arc<std::sync::OnceLock<i32>>,
}

impl Trial {
    /// Makes the folders of the agent's `number`th trial.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn begin(
        ground: Arc<SharedTrialState>,
        number: u64,
        name: &str,
        mut env: BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let folder = ground.folder.join(number.to_string());
        let programs = folder.join(PROGRAMS);
        let trial_folders = [
            folder.clone(),
            folder.join("scratch"),
            folder.join("spool"),
            programs.clone(),
        ];
        for new in &trial_folders {
            DirBuilder::new()
                .mode(0o700)
                .create(new)
                .map_err(|error| with_path(new, &error))?;
        }
        // `backsight barrier` is found on every host, also where nobody has installed it.
        symlink(
            facts::program(std::process::id()),
            programs.join("backsight"),
        )?;
        let barriers = BarrierSocket::bind(folder.join(BARRIER_SOCKET))?;
        env.insert(MARK_VARIABLE.to_owned(), format!("{}/{name}", ground.mark));
        let begun = account::read(ground.cgroup.as_ref());
        Ok(Self {
            ground,
            folder,
            env,
            conditions: LaunchConditions::default(),
            limits: None,
            user: None,
            steps: HashMap::new(),
            barriers,
            begun,
            began: SystemTime::now(),
            mounts: Mounts::now(),
            neighbours: None,
            alive: mpsc::channel(1),
        })
    }

    /// Starts the programs of its steps so, those of monitors left out. Returns what was drawn at random for it, by settings.
    ///
    /// # Errors
    ///
    /// Its user can't have its folder.
    pub(crate) fn start_under(
        &mut self,
        launch: TrialLaunch,
    ) -> Result<Vec<(String, String)>, String> {
        let TrialLaunch {
            mut conditions,
            padding,
            mut drawn,
            limits,
        } = launch;
        self.env.extend(padding);
        self.limits = limits.map(Arc::new);
        if let Some(limits) = &self.limits {
            conditions.join(limits.member_files());
        }
        if let Some(choice) = conditions.user() {
            let seed = self.folder.display().to_string();
            let user = TrialUser::new(choice, &seed, &self.folder)?;
            if choice == "fresh" {
                drawn.push(("process.user".to_owned(), user.uid.to_string()));
            }
            conditions.run_as(&user);
            self.user = Some(user);
        }
        self.conditions = conditions;
        Ok(drawn)
    }

    /// Puts files into the folder in which steps run, which may be another user's.
    ///
    /// # Errors
    ///
    /// A name is a path; the system's.
    pub(crate) fn write_files(&self, files: BTreeMap<String, Bytes>) -> io::Result<()> {
        for (name, content) in files {
            if name.contains('/') || name == ".." {
                return Err(io::Error::other(format!("`{name}` is no name of a file")));
            }
            let path = self.scratch().join(name);
            let written = fs::write(&path, content)
                .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o644)));
            written.map_err(|error| with_path(&path, &error))?;
        }
        Ok(())
    }

    /// Looks around now, to say at the end who else used the processors.
    pub(crate) fn watch_neighbours(&mut self) {
        self.neighbours = Some(ProcessSnapshot::now());
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.folder.join("scratch")
    }

    pub(crate) fn spool(&self) -> PathBuf {
        self.folder.join("spool")
    }

    /// Starts a step; its events go to `events`.
    ///
    /// # Errors
    ///
    /// What is wrong with the step.
    pub(crate) fn run(&mut self, mut step: StepSpec, events: EventSender) -> Result<(), String> {
        let id = step.id;
        if self.steps.contains_key(&id) {
            return Err(format!("the trial had a step {id} already"));
        }
        let mut env = self.env.clone();
        let is_monitor = step.env.contains_key(MONITOR_VARIABLE);
        if let (Some(user), false) = (&self.user, is_monitor) {
            env.extend(user.environment());
        }
        env.append(&mut step.env);
        // A step's own environment must not hide it from the sweep.
        env.extend(
            self.env
                .get_key_value(MARK_VARIABLE)
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        if is_monitor {
            // Monitors may look into what they didn't start.
            backsight_platform::allow_tracing();
        } else {
            env.insert(BARRIER_VARIABLE.to_owned(), self.barriers.admit(id));
            env.insert("PATH".to_owned(), self.path_of(env.get("PATH")));
        }
        let (mut conditions, limits) = match is_monitor {
            true => (LaunchConditions::default(), None),
            false => (self.conditions.clone(), self.limits.clone()),
        };
        if let Some(bytes) = step.core_limit {
            conditions.limit_core_files(bytes);
        }
        let pid = Arc::default();
        let context = StepContext {
            reaper: Arc::clone(&self.ground.reaper),
            env,
            folder: self.scratch().join(step.cwd.as_deref().unwrap_or_default()),
            conditions,
            limits,
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
            events,
            self.alive.0.clone(),
        ));
        Ok(())
    }

    /// Where a step's programs are sought: first where the agent's own is, then where its environment or the agent's says.
    fn path_of(&self, own: Option<&String>) -> String {
        let agents = || std::env::var("PATH").ok();
        let rest = own.cloned().or_else(agents);
        let rest = rest.unwrap_or_else(|| DEFAULT_PATH.to_owned());
        format!("{}:{rest}", self.folder.join(PROGRAMS).display())
    }

    /// What programs do at barriers, from now on; none if somebody is told already.
    pub(crate) fn watch_barriers(
        &self,
    ) -> Option<mpsc::Receiver<Result<proto::BarrierReport, tonic::Status>>> {
        self.barriers.watch()
    }

    /// Answers programs that wait at barriers.
    pub(crate) fn answer_at_barrier(&self, arrivals: &[u64], answer: &BarrierAnswer) {
        self.barriers.answer(arrivals, answer);
    }

    /// Gives a step an order. One that has ended needs none.
    ///
    /// # Errors
    ///
    /// There never was such a step.
    pub(crate) fn order(&self, id: StepId, order: StepOrder) -> Result<(), String> {
        let running = self
            .steps
            .get(&id)
            .ok_or_else(|| format!("the trial has no step {id}"))?;
        let _it_has_ended = running.orders.send(order);
        Ok(())
    }

    /// Where to look for core files: the folder in which steps run, and since when.
    pub(crate) fn place_of_core_files(&self) -> (PathBuf, SystemTime) {
        // Files bear the time of a clock that ticks.
        (self.scratch(), self.began - Duration::from_secs(1))
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
            limits,
            user,
            barriers,
            alive: (alive, mut last),
            ..
        } = self;
        drop(barriers);
        let mains = steps
            .iter()
            .filter_map(|(id, running)| Some((*running.pid.get()?, *id)))
            .collect();
        for running in steps.values() {
            let _it_has_ended = running.orders.send(StepOrder::EndTrial);
        }
        let until = Instant::now() + KILL_LIMIT;
        let mut survivors = Survivors {
            mains,
            seen: HashSet::new(),
            found: Vec::new(),
        };
        let unkillable = kill_all(&ground, limits.as_deref(), until, &mut survivors).await;
        drop((alive, steps));
        // Their tasks have to have seen it too: they may still be writing to the folders.
        let _stuck_with_the_unkillable = timeout_at(until, last.recv()).await;
        let mut account = begun.until(&account::read(ground.cgroup.as_ref()));
        if account.own_by_cgroup {
            account.own += limits.as_ref().map_or(0.0, |it| it.cpu_seconds());
        }
        let neighbours = neighbours.map(|begun| begun.since().others);
        let removed = move || {
            if let Some(limits) = limits {
                limits.remove();
            }
            if let Some(user) = user {
                user.remove_files();
            }
            (remove_tree(&folder), Mounts::left_since(&mounts))
        };
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
async fn kill_all(
    ground: &SharedTrialState,
    limits: Option<&TrialLimits>,
    until: Instant,
    survivors: &mut Survivors,
) -> Vec<u32> {
    let mut looks = 0;
    loop {
        ground.reaper.reap_all();
        if childless() {
            return Vec::new();
        }
        let left = strays(ground.cgroup.as_ref(), limits);
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
        if looks == PATIENCE {
            // Where it fails, the looks go on.
            let _ = ground.cgroup.as_ref().map(Cgroup::kill_steps);
            limits.inspect(|limits| limits.kill());
        }
        sleep(KILL_PAUSE).await;
    }
}

/// Every living process that stems from this one, by parenthood or by cgroup.
fn strays(cgroup: Option<&Cgroup>, limits: Option<&TrialLimits>) -> Vec<Process> {
    let me = std::process::id().cast_signed();
    let mut found = procs::descendants(me, procs::all());
    let known: HashSet<i32> = found.iter().map(|process| process.pid).collect();
    let mut members = cgroup.map(Cgroup::members).unwrap_or_default();
    members.extend(limits.map(TrialLimits::members).unwrap_or_default());
    found.extend(
        members
            .into_iter()
            .filter(|pid| *pid != me && !known.contains(pid))
            .filter_map(procs::one),
    );
    found.retain(|process| !process.zombie);
    found
}

/// The stream of events of a step that is about to run, and where to put them.
pub(crate) fn events() -> (
    EventSender,
    tokio_stream::wrappers::ReceiverStream<Result<proto::StepEvent, tonic::Status>>,
) {
    // Room for each event that comes before the output.
    let (sender, receiver) = mpsc::channel(8);
    (
        sender,
        tokio_stream::wrappers::ReceiverStream::new(receiver),
    )
}
