//! A cluster of Slurm for tests, all of it on this machine: munge, a controller, and a daemon for each node. It ends with its value.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

/// How long the cluster may take to be there: two seconds where nothing else runs.
const LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

/// Slurm's programs where Debian puts them.
pub(crate) const PROGRAMS: [&str; 6] = [
    "/usr/sbin/munged",
    "/usr/sbin/slurmctld",
    "/usr/sbin/slurmd",
    "/usr/bin/sbatch",
    "/usr/bin/squeue",
    "/usr/bin/scancel",
];

/// A cluster with nodes `n1`, `n2`, …, of one processor each. They are all in two partitions: `lab`, where jobs go by themselves, and `urgent`,
/// whose jobs take nodes from those of `lab`, which are begun again.
#[derive(Debug)]
pub struct SlurmCluster {
    folder: PathBuf,
    daemons: Vec<Child>,
}

impl SlurmCluster {
    /// Starts a cluster; a job that is begun again waits for five seconds, which is the least that Slurm takes.
    ///
    /// # Panics
    /// It can't be started.
    pub fn start(nodes: usize) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Short: addresses of sockets have at most 107 bytes.
        let name = format!("backsight-slurm-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        // One of an earlier process of this number may be left.
        let _ = fs::remove_dir_all(&folder);
        for part in ["munge", "state", "spool"] {
            fs::create_dir_all(folder.join(part)).expect("a folder for the cluster");
        }
        let mut cluster = Self {
            folder,
            daemons: Vec::new(),
        };
        cluster.start_munge();
        let configuration = cluster.configuration(nodes);
        fs::write(cluster.file("slurm.conf"), configuration).expect("the configuration");
        let file = cluster.file("slurm.conf");
        cluster.spawn("/usr/sbin/slurmctld", &["-D", "-f", &file]);
        for node in 1..=nodes {
            let node = format!("n{node}");
            cluster.spawn("/usr/sbin/slurmd", &["-D", "-f", &file, "-N", &node]);
        }
        cluster.until("all nodes are idle", || {
            let listed = cluster.prints(
                "sinfo",
                &["--noheader", "--Node", "--partition=lab", "--format=%T"],
            );
            let idle = listed.lines().filter(|line| *line == "idle").count();
            idle == nodes
        });
        cluster
    }

    /// What programs of Slurm, and what starts them, need in their environment.
    pub fn environment(&self) -> (&'static str, PathBuf) {
        ("SLURM_CONF", self.folder.join("slurm.conf"))
    }

    /// What a program of Slurm prints.
    ///
    /// # Panics
    /// It can't be started.
    pub fn prints(&self, program: &str, words: &[&str]) -> String {
        let (name, value) = self.environment();
        let asked = Command::new(program).args(words).env(name, value).output();
        let said = asked.expect("Slurm's programs start").stdout;
        String::from_utf8_lossy(&said).into_owned()
    }

    fn start_munge(&mut self) {
        let key: Vec<u8> = fs::File::open("/dev/urandom")
            .and_then(|mut random| {
                use std::io::Read as _;
                let mut key = vec![0; 1024];
                random.read_exact(&mut key).map(|()| key)
            })
            .expect("random bytes");
        fs::write(self.folder.join("munge/key"), key).expect("the key");
        private(&self.folder.join("munge/key"));
        let [socket, key, log, pid, seed] =
            ["socket", "key", "log", "pid", "seed"].map(|file| self.file(&format!("munge/{file}")));
        self.spawn(
            "/usr/sbin/munged",
            &[
                "--foreground",
                "--force",
                &format!("--socket={socket}"),
                &format!("--key-file={key}"),
                &format!("--log-file={log}"),
                &format!("--pid-file={pid}"),
                &format!("--seed-file={seed}"),
            ],
        );
        self.until("munge is there", || Path::new(&socket).exists());
    }

    fn configuration(&self, nodes: usize) -> String {
        let node = rustix::system::uname();
        let node = node.nodename().to_string_lossy().into_owned();
        let host = node.split('.').next().unwrap_or_default();
        let user = Command::new("id").arg("-un").output().expect("id starts");
        let user = String::from_utf8_lossy(&user.stdout);
        let user = user.trim();
        let folder = self.folder.display();
        let ports = free_ports(nodes + 1);
        let mut text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthType=auth/munge\nAuthInfo=socket={folder}/munge/socket,cred_expire=5\nCredType=cred/munge\n\
             StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool/%n\n\
             SlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/slurmd-%n.pid\n\
             SlurmctldLogFile={folder}/slurmctld.log\nSlurmdLogFile={folder}/slurmd-%n.log\n\
             ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nSwitchType=switch/none\nMpiDefault=none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
             SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1\n\
             ReturnToService=2\nPreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n\
             PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1\n\
             PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=2 PreemptMode=OFF\n",
            port = ports[0]
        );
        for (number, port) in ports[1..].iter().enumerate() {
            let number = number + 1;
            text.push_str(&format!(
                "NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 Feature=node{number}\n"
            ));
        }
        text
    }

    /// Starts a daemon, which ends with this process, however that ends.
    fn spawn(&mut self, program: &str, words: &[&str]) {
        let log = fs::File::options()
            .append(true)
            .create(true)
            .open(self.folder.join("daemons.log"))
            .expect("a log");
        let daemon = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", program])
            .args(words)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log again"))
            .stderr(log)
            .spawn();
        self.daemons.push(daemon.expect("the daemon starts"));
    }

    fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    #[track_caller]
    fn until(&self, what: &str, is_it: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_it() {
            let log = self.folder.join("daemons.log");
            let log = || fs::read_to_string(&log).unwrap_or_default();
            assert!(began.elapsed() < LIMIT, "{what}: not in time; {}", log());
            thread::sleep(POLL);
        }
    }
}

impl Drop for SlurmCluster {
    fn drop(&mut self) {
        // What jobs run isn't a child of the daemons, and would outlive them.
        for partition in ["--partition=lab", "--partition=urgent"] {
            self.prints("scancel", &["--state=PENDING", partition]);
            self.prints("scancel", &[partition]);
        }
        let began = Instant::now();
        while began.elapsed() < LIMIT && !self.prints("squeue", &["--noheader"]).is_empty() {
            thread::sleep(POLL);
        }
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Ports that nobody has at this moment.
fn free_ports(number: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> = (0..number)
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"))
        .collect();
    let port = |listener: &TcpListener| listener.local_addr().expect("its address").port();
    listeners.iter().map(port).collect()
}

/// For its owner alone, as munge wants its key.
fn private(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(file, fs::Permissions::from_mode(0o400)).expect("its mode");
}
