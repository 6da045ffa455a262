//! Measurer along a target's history: builds and boots the version that a request names, then measures on it.
//!
//! A build counts as booted only when its proof says so. Several testbeds that measure at once share one workshop: no build is
//! made twice, and where something that is measured runs on the machine that builds, one waits for the other.

use backsight_catalog::Catalog;
use backsight_conductor::{
    BootError, BootFault, Conductor, ConnectError, Events, Kernel, RecordedHost,
    TrialOutcome as Conducted, WorkbenchCommand,
};
use backsight_history::{BuildLocation, Workshop};
use backsight_model::{
    BootKind, BootRecord, BuildRecord, Cell, Event, HostKind, HostName, HostRecordMap, Layout,
};
use backsight_policy::Request;
use indexmap::IndexMap;
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::{RwLock, mpsc, watch};

use crate::{
    Measurement, Measurer, Unmeasurable,
    background_builds::{BackgroundBuilder, Build, build_of},
};

/// How long a build may take until it runs, unless its target says otherwise.
pub(crate) const ACTIVATION_LIMIT: Duration = Duration::from_secs(60);

/// How often in a row a guest may die between two trials.
const REVIVALS: u32 = 3;

/// A testbed on which any version of a target is measured.
pub struct HistoryMeasurer<'a> {
    /// Its conductor.
    pub conductor: Conductor,
    /// What builds the versions.
    pub workshop: Arc<Workshop>,
    /// The definitions, which know how output becomes samples.
    pub catalog: &'a Catalog,
    /// The cells, by number.
    pub cells: Vec<Cell>,
    /// The study's layouts, by number.
    pub layouts: Vec<Layout>,
    /// Where it is told what happens.
    pub events: Events,
    /// Becomes true when the user wants to stop.
    pub stop: watch::Receiver<bool>,
    /// Whether all layouts of a version are made while its tree is there, and not each when it is asked for.
    pub lays_out_ahead: bool,
    /// What all testbeds share besides the workshop.
    shared_builds: Arc<SharedBuilds>,
    /// Builds ahead, where nothing that is measured runs on this machine; and where it is told what came of that, until
    /// somebody listens.
    builder: Option<BackgroundBuilder>,
    finished_builds: Option<mpsc::UnboundedReceiver<Box<BuildRecord>>>,
    /// What will be asked for next.
    coming: Vec<Request>,
    /// What runs now: version, layout, ordinal.
    booted: Option<(usize, usize, u32)>,
    /// How often since the last trial what ran had to be booted again.
    revived: u32,
    /// Builds whose guests were recorded: version, layout.
    recorded: HashSet<(usize, usize)>,
}

/// What testbeds share that measure the same builds.
#[derive(Default)]
struct SharedBuilds {
    /// Builds that were made or found, and why there is none of those that couldn't be.
    built: Mutex<HashMap<Build, Result<(), String>>>,
    /// Held by whoever builds, and by everybody together who measures on the machine that builds.
    quiet: RwLock<()>,
}

impl SharedBuilds {
    fn outcome(&self, build: Build) -> Option<Result<(), String>> {
        let built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        built.get(&build).cloned()
    }

    fn set_outcome(&self, build: Build, outcome: Result<(), String>) {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        built.insert(build, outcome);
    }
}

impl<'a> HistoryMeasurer<'a> {
    /// A testbed on which nothing has been built or booted yet. With `builds_ahead` versions are built while others are
    /// measured, if nothing of the testbed runs on this machine.
    pub fn new(
        conductor: Conductor,
        mut workshop: Workshop,
        catalog: &'a Catalog,
        (cells, layouts): (Vec<Cell>, Vec<Layout>),
        events: Events,
        stop: watch::Receiver<bool>,
        builds_ahead: bool,
    ) -> Self {
        let told = events.clone();
        workshop.on_wait(Box::new(move |tree, limit| {
            told.emit(&Event::BuildAwaited {
                tree: tree.to_owned(),
                seconds: limit.as_secs_f64(),
            });
        }));
        let workshop = Arc::new(workshop);
        let begun = (builds_ahead && conductor.is_elsewhere()).then(|| {
            BackgroundBuilder::start(Arc::clone(&workshop), layouts.clone(), events.clone())
        });
        let (builder, finished_builds) = begun.unzip();
        Self {
            conductor,
            workshop,
            catalog,
            cells,
            layouts,
            events,
            stop,
            lays_out_ahead: true,
            shared_builds: Arc::default(),
            builder,
            finished_builds,
            coming: Vec::new(),
            booted: None,
            revived: 0,
            recorded: HashSet::new(),
        }
    }

    /// Another testbed, which measures the same builds while this one does.
    #[must_use]
    pub fn for_testbed(&self, conductor: Conductor, events: Events) -> Self {
        Self {
            conductor,
            workshop: Arc::clone(&self.workshop),
            catalog: self.catalog,
            cells: self.cells.clone(),
            layouts: self.layouts.clone(),
            events,
            stop: self.stop.clone(),
            lays_out_ahead: self.lays_out_ahead,
            shared_builds: Arc::clone(&self.shared_builds),
            builder: None,
            finished_builds: None,
            coming: Vec::new(),
            booted: None,
            revived: 0,
            recorded: HashSet::new(),
        }
    }

    /// Ends the agents, in order; those that build with the last of the testbeds.
    pub async fn finish(self) {
        if let Some(builder) = self.builder {
            builder.end().await;
        }
        self.conductor.finish().await;
        if let Some(workshop) = Arc::into_inner(self.workshop) {
            workshop.finish().await;
        }
    }

    fn name(&self, version: usize) -> String {
        self.workshop.versions()[version].full_name()
    }

    /// Builds what is asked for; nothing where another testbed has built it meanwhile.
    async fn build(&mut self, request: Request) -> Result<Option<Measurement>, Unmeasurable> {
        let mut stop = self.stop.clone();
        let shared = Arc::clone(&self.shared_builds);
        let _quiet = tokio::select! {
            quiet = shared.quiet.write() => quiet,
            _ = stop.wait_for(|stop| *stop) => return Ok(Some(Measurement::Interrupted)),
        };
        match shared.outcome(build_of(&request)) {
            Some(Ok(())) => return Ok(None),
            Some(Err(why)) => return Ok(Some(Measurement::NoBuild(why))),
            None => {}
        }
        let layout = self.layouts[request.layout];
        self.events.emit(&Event::BuildStarted {
            version: self.name(request.version),
            layout,
            ahead: false,
        });
        let along: &[Layout] = match self.lays_out_ahead {
            true => &self.layouts,
            false => &[],
        };
        let built = tokio::select! {
            built = self.workshop.build(request.version, layout, along) => built,
            _ = stop.wait_for(|stop| *stop) => return Ok(Some(Measurement::Interrupted)),
        };
        let record = built.map_err(|error| Unmeasurable(error.to_string()))?;
        match &record.failure {
            None => self.mark_built(build_of(&request)),
            Some(why) => shared.set_outcome(build_of(&request), Err(why.to_string())),
        }
        Ok(Some(Measurement::Built(Box::new(record))))
    }

    fn mark_built(&mut self, build: Build) {
        self.shared_builds.set_outcome(build, Ok(()));
        if let Some(builder) = &self.builder {
            builder.mark_built(build);
        }
    }

    /// What came of a build that was made ahead, or is being made; nothing where it wasn't.
    async fn background_outcome(&self, build: Build) -> Option<Result<(), String>> {
        let builder = self.builder.as_ref()?;
        // What is asked for now comes before what will be.
        builder.set_wanted(&[]);
        builder.outcome(build).await
    }

    async fn boot(&mut self, request: Request) -> Result<Measurement, Unmeasurable> {
        let Request {
            version,
            layout,
            boot,
            ..
        } = request;
        self.booted = None;
        self.events.emit(&Event::BootStarted {
            version: self.name(version),
            layout: self.layouts[layout],
            ordinal: boot,
        });
        let mut record = BootRecord {
            guests: Default::default(),
            testbed: request.testbed,
            version,
            layout: self.layouts[layout],
            ordinal: boot,
            failure: None,
            began: Timestamp::now(),
            took: Duration::ZERO,
            facts: IndexMap::new(),
            log: Vec::new(),
        };
        let clock = Instant::now();
        let mut stop = self.stop.clone();
        let activated = tokio::select! {
            activated = self.activate(version, self.layouts[layout], &mut record) => activated,
            _ = stop.wait_for(|stop| *stop) => return Ok(Measurement::Interrupted),
        };
        record.took = clock.elapsed();
        match activated {
            Ok(()) => {
                self.booted = Some((version, layout, boot));
                if self.recorded.insert((version, layout)) {
                    record.guests = self.record_guests().await;
                }
            }
            Err(Activation::Failed(why)) => record.failure = Some(why),
            Err(Activation::Hindered(why)) => return Err(Unmeasurable(why)),
        }
        Ok(Measurement::Booted(Box::new(record)))
    }

    /// What the guests are now; what can't be recorded is warned of.
    async fn record_guests(&self) -> HostRecordMap {
        let mut records = HostRecordMap::new();
        for RecordedHost { host, record } in self.conductor.record_guests().await {
            match record {
                Ok((record, _)) => drop(records.insert(host, Arc::new(record))),
                Err(fault) => self.events.emit(&Event::Warning {
                    message: format!("{host}: what it is isn't recorded: {fault}"),
                }),
            }
        }
        records
    }

    async fn activate(
        &mut self,
        version: usize,
        layout: Layout,
        record: &mut BootRecord,
    ) -> Result<(), Activation> {
        let place = self.workshop.place(version, layout);
        // What commands get for `{version}`: its amendments are in the build.
        let name = self.workshop.versions()[version].name.clone();
        let folder = place.folder.clone();
        self.conductor.measure_build(name, folder);
        self.upload_build(&place).await?;
        match self.workshop.target().activate.boot {
            BootKind::None => Ok(()),
            BootKind::Install => self.install(&place, record).await,
            BootKind::Uml => self.boot_guests(HostKind::Uml, &place, record).await,
            BootKind::Qemu => self.boot_guests(HostKind::Qemu, &place, record).await,
            BootKind::SshReboot | BootKind::Kexec => self.restart_hosts(&place, record).await,
        }
    }

    /// Boots a build's kernel on the testbed's guests, each of which must prove that it is that build.
    async fn boot_guests(
        &mut self,
        kind: HostKind,
        place: &BuildLocation,
        record: &mut BootRecord,
    ) -> Result<(), Activation> {
        let activate = (*self.workshop.target().activate).clone();
        let limit = self.limit();
        let kernel = Kernel {
            kind,
            image: place.folder.join(activate.kernel.unwrap_or_default()),
            args: activate.args,
            icount: activate.icount,
            limit,
        };
        let guests = self.conductor.guests();
        if guests.is_empty() {
            return Err(Activation::Hindered(format!(
                "the target boots a kernel on hosts of kind \"{kind}\", and this testbed has none"
            )));
        }
        let booted = self.conductor.boot(&kernel).await.map_err(|error| {
            record.log = consoles(&error.consoles);
            Activation::from_boot_error(&error)
        })?;
        record.log = consoles(&booted.consoles);
        for (host, facts) in booted.facts {
            let facts = facts
                .into_iter()
                .map(|(fact, value)| (format!("{host}: {fact}"), value));
            record.facts.extend(facts);
        }
        let proof = match &activate.proof {
            Some(template) => {
                let filled = self
                    .workshop
                    .command(template, record.version, record.layout);
                filled.map_err(|error| Activation::Hindered(error.to_string()))?
            }
            None => "uname -v".to_owned(),
        };
        for host in guests {
            let asked = self.conductor.run_command(&host, &proof, limit).await;
            let done = asked.map_err(|error| Activation::Failed(error.to_string()))?;
            let said = String::from_utf8_lossy(&done.stdout.bytes)
                .trim()
                .to_owned();
            check_proof(&said, &place.stamp)?;
            record.facts.insert(format!("{host}: proof"), said);
        }
        Ok(())
    }

    /// Runs the command that installs a build, and asks what is installed for its proof: on every machine that the
    /// target is on.
    async fn install(
        &mut self,
        place: &BuildLocation,
        record: &mut BootRecord,
    ) -> Result<(), Activation> {
        let hosts = self.carriers()?;
        let arrangement = self.conductor.arrangement();
        let (far, here): (Vec<HostName>, Vec<HostName>) =
            hosts.into_iter().partition(|host| arrangement.is_far(host));
        if !here.is_empty() {
            self.install_here(record.version, record.layout, record)
                .await?;
        }
        let run = self.workshop.target().activate.run.clone();
        for host in &far {
            self.run_there(host, run.as_ref(), place, record).await?;
            self.prove_there(host, place, record).await?;
        }
        Ok(())
    }

    /// The same on this machine.
    async fn install_here(
        &mut self,
        version: usize,
        layout: Layout,
        record: &mut BootRecord,
    ) -> Result<(), Activation> {
        let activate = (*self.workshop.target().activate).clone();
        let limit = self.limit();
        for (template, proves) in [(&activate.run, false), (&activate.proof, true)] {
            let Some(template) = template else { continue };
            let text = self.workshop.command(template, version, layout);
            let text = text.map_err(|error| Activation::Hindered(error.to_string()))?;
            let place = self.workshop.place(version, layout);
            let command = WorkbenchCommand {
                text: text.clone(),
                folder: place.folder.clone(),
                env: BTreeMap::new(),
                limit,
            };
            let done = self.workshop.bench().run(command).await;
            let done = done.map_err(|error| Activation::Hindered(error.to_string()))?;
            record.log.extend(format!("$ {text}\n").as_bytes());
            record.log.extend(&done.stdout.bytes);
            record.log.extend(&done.stderr.bytes);
            if !done.succeeded() {
                return Err(Activation::Failed(format!(
                    "`{text}` ended with {:?}",
                    done.ending
                )));
            }
            if proves {
                let said = String::from_utf8_lossy(&done.stdout.bytes)
                    .trim()
                    .to_owned();
                check_proof(&said, &place.stamp)?;
                record.facts.insert("proof".into(), said);
            }
        }
        Ok(())
    }
}

/// Why a build doesn't run.
pub(crate) enum Activation {
    /// It doesn't boot, or isn't that build.
    Failed(String),
    /// It isn't the build's fault.
    Hindered(String),
}

impl Activation {
    /// The same, said of a host.
    pub(crate) fn on(self, host: &HostName) -> Self {
        match self {
            Self::Failed(why) => Self::Failed(format!("host `{host}`: {why}")),
            Self::Hindered(why) => Self::Hindered(format!("host `{host}`: {why}")),
        }
    }

    fn from_boot_error(error: &BootError) -> Self {
        let why = error.to_string();
        match &*error.fault {
            BootFault::Kind { .. }
            | BootFault::Keeper(_)
            | BootFault::Kept(_)
            | BootFault::Parts(_) => Self::Hindered(why),
            _ => Self::Failed(why),
        }
    }
}

/// What all consoles said, one after the other.
fn consoles(consoles: &IndexMap<HostName, Vec<u8>>) -> Vec<u8> {
    let mut log = Vec::new();
    for (host, console) in consoles {
        if consoles.len() > 1 {
            log.extend(format!("== {host}\n").as_bytes());
        }
        log.extend(console);
        if !console.is_empty() && !console.ends_with(b"\n") {
            log.push(b'\n');
        }
    }
    log
}

/// The running system must show the stamp that was built into it.
pub(crate) fn check_proof(said: &str, stamp: &str) -> Result<(), Activation> {
    if said.contains(stamp) {
        Ok(())
    } else {
        let said: String = said.chars().filter(|c| !c.is_control()).take(120).collect();
        Err(Activation::Failed(format!(
            "what runs isn't that build: asked for its proof it says `{said}`, not {stamp}"
        )))
    }
}

impl Measurer for HistoryMeasurer<'_> {
    async fn measure(&mut self, request: Request) -> Result<Measurement, Unmeasurable> {
        if *self.stop.borrow() {
            return Ok(Measurement::Interrupted);
        }
        let known = self.shared_builds.outcome(build_of(&request));
        if let Some(Err(why)) = known {
            return Ok(Measurement::NoBuild(why));
        }
        if known.is_none() {
            let mut stop = self.stop.clone();
            let made = tokio::select! {
                made = self.background_outcome(build_of(&request)) => made,
                _ = stop.wait_for(|stop| *stop) => return Ok(Measurement::Interrupted),
            };
            match made {
                None => {
                    if let Some(came) = self.build(request).await? {
                        return Ok(came);
                    }
                }
                Some(Err(why)) => return Ok(Measurement::NoBuild(why)),
                Some(Ok(())) => self.mark_built(build_of(&request)),
            }
        }
        if let Some(builder) = &self.builder {
            builder.set_wanted(&self.coming);
        }
        if self.booted != Some((request.version, request.layout, request.boot)) {
            return self.boot(request).await;
        }
        if self.workshop.target().activate.boot.restarts_hosts() {
            // A host that has rebooted by itself may run anything.
            let stands = self.conductor.still_runs(self.limit()).await;
            if !stands.map_err(|fault| Unmeasurable(fault.to_string()))? {
                return self.boot(request).await;
            }
        }
        // What is built meanwhile would be measured too.
        let shared = Arc::clone(&self.shared_builds);
        let _quiet = match self.conductor.is_elsewhere() {
            true => None,
            false => Some(shared.quiet.read().await),
        };
        let cell = &self.cells[request.cell];
        let trial = self.conductor.trial(self.catalog, cell, self.stop.clone());
        match trial.await {
            Ok(Conducted::Trial(record)) => {
                self.revived = 0;
                // A guest that died takes its boot with it: what is left to do there needs another one.
                if record
                    .outcome
                    .as_ref()
                    .is_err_and(|failure| failure.host_lost)
                {
                    self.booted = None;
                }
                Ok(Measurement::Trial(record))
            }
            Ok(Conducted::Interrupted) => Ok(Measurement::Interrupted),
            // One that died after its last trial failed none, so that nobody else counts how often it does.
            Err(ConnectError::NotBooted { .. }) if self.revived < REVIVALS => {
                self.revived += 1;
                self.boot(request).await
            }
            Err(error) => Err(Unmeasurable(error.to_string())),
        }
    }

    fn background_builds(&mut self) -> Option<mpsc::UnboundedReceiver<Box<BuildRecord>>> {
        self.finished_builds.take()
    }

    fn announce_requests(&mut self, coming: Vec<Request>) {
        self.coming = coming;
    }
}
