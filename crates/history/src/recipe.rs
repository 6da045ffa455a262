//! Recipes: making the build of a version in a layout, once.
//!
//! A [`Workshop`] has one tree of a target's source and a cache of builds. A build is identified by everything that
//! goes into it (version, patches, quirks, commands, layout, tool chain): what is in the cache is never built twice,
//! and what the recipe changes is never mistaken for what was built before.
//!
//! No room, no network and a missing patch file are errors of the workshop, not failures of a version.

use backsight_conductor::{CommandResult, ConnectError, Workbench, WorkbenchCommand};
use backsight_model::{
    Amendment, BuildFailure, BuildRecord, Ending, Layout, LayoutKind, Machine, Quirk, Target,
    Template, Time, Value, Version,
};
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

use crate::{
    Diff, History, HistoryError,
    blocking::run_blocking,
    cache::{Cache, Entry},
    work_tree::{Tree, TreeState, TreeWaitListener},
    workshop_error::{WorkshopError, file},
};

/// How long a command of a recipe may take unless it says otherwise.
const STAGE_LIMIT: Duration = Duration::from_secs(3600);
/// How long a command that tells a tool's version may take.
const TOOL_LIMIT: Duration = Duration::from_secs(30);
/// How long a patch may take to be applied.
const PATCH_LIMIT: Duration = Duration::from_secs(120);
/// With less room than this, in bytes, a failure is the disk's.
const NO_ROOM: u64 = 32 << 20;
/// Characters of a command or of its last words in a failure.
const SHOWN: usize = 200;

/// A patch as it is now: what its file holds is a part of the build.
#[derive(Debug, Clone)]
struct Patch {
    name: String,
    /// What a message calls it: `the patch NAME`.
    label: String,
    path: PathBuf,
    content: Vec<u8>,
}

/// A quirk with its patches, and the versions that have it.
#[derive(Debug, Clone)]
struct Exception {
    quirk: Quirk,
    patches: Vec<Patch>,
    /// By the version's position.
    has: Vec<bool>,
}

/// Where a build is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildLocation {
    /// What identifies its content.
    pub key: String,
    /// The short form that a booted system shows: `{stamp}`.
    pub stamp: String,
    /// The folder of its files: `{build}`.
    pub folder: PathBuf,
}

/// The tree, the recipe and the builds of one target. One build is made at a time, whatever processes ask for them; whoever asks for
/// another one meanwhile waits, but for what is in the cache.
pub struct Workshop {
    target: Target,
    history: Arc<dyn History>,
    versions: Vec<Version>,
    patches: Vec<Patch>,
    exceptions: Vec<Exception>,
    /// What is changed on top of versions, by content.
    amendments: HashMap<String, Patch>,
    toolchain: String,
    machine: Machine,
    /// For what isn't a build: it needn't wait for one.
    bench: Workbench,
    builds: Workbench,
    cache: Cache,
    /// Where the tree is.
    folder: PathBuf,
    tree: Mutex<Tree>,
}

impl Workshop {
    /// Reads the recipe's patches, asks for the tool chain, and finds which versions have which quirk.
    ///
    /// `folder` is where the target's file is, `place` a folder of our own for its tree and builds.
    ///
    /// # Errors
    /// A patch can't be read, a quirk begins at a version that doesn't exist, a tool doesn't tell its version.
    pub async fn open(
        target: Target,
        folder: &Path,
        place: &Path,
        history: Arc<dyn History>,
        versions: Vec<Version>,
        bench: Workbench,
        machine: Machine,
    ) -> Result<Self, WorkshopError> {
        for kept in target.build.iter().flat_map(|build| &build.keep) {
            let inside = Path::new(kept)
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            if !inside {
                return Err(WorkshopError::Recipe(format!(
                    "keep = [\"{kept}\"] lies outside of the tree"
                )));
            }
        }
        let read = |name: &String| Patch::read(folder, name);
        let patches = target
            .patches
            .iter()
            .map(|name| read(name))
            .collect::<Result<_, _>>()?;
        let mut exceptions = Vec::new();
        for quirk in &target.quirk {
            let patches = quirk.patch.iter().map(|name| read(name));
            exceptions.push(Exception {
                patches: patches.collect::<Result<_, _>>()?,
                has: range_of(quirk, &*history, &versions)?,
                quirk: (**quirk).clone(),
            });
        }
        let tree = Tree::new(place)?;
        let mut workshop = Self {
            target,
            history,
            versions,
            patches,
            exceptions,
            amendments: HashMap::new(),
            toolchain: String::new(),
            machine,
            builds: bench.another(),
            bench,
            cache: Cache::open(place).await?,
            folder: tree.folder.clone(),
            tree: Mutex::new(tree),
        };
        workshop.toolchain = workshop.ask_toolchain().await?;
        Ok(workshop)
    }

    /// Has it say where a build waits for those of other processes.
    pub fn on_wait(&mut self, listener: TreeWaitListener) {
        self.tree.get_mut().on_wait = Some(listener);
    }

    /// Gives it the diffs of its versions' amendments.
    ///
    /// # Errors
    /// A diff can't be written to where `patch` reads it, or one is missing.
    pub fn amended(mut self, diffs: &[Diff]) -> Result<Self, WorkshopError> {
        let folder = self.folder.with_file_name("amendments");
        if !diffs.is_empty() {
            fs::create_dir_all(&folder).map_err(file("make", &folder))?;
        }
        for Diff { amendment, text } in diffs {
            let path = folder.join(format!("{}.diff", amendment.content()));
            fs::write(&path, text).map_err(file("write", &path))?;
            let patch = Patch {
                name: amendment.to_string(),
                label: match amendment {
                    Amendment::Patch { .. } => format!("the patch {amendment}"),
                    Amendment::Revert { .. } => format!("the {amendment}"),
                },
                path,
                content: text.as_bytes().to_vec(),
            };
            let content = amendment.content().to_owned();
            self.amendments.insert(content, patch);
        }
        let mut all = self.versions.iter().flat_map(|version| &version.amendments);
        match all.find(|amendment| !self.amendments.contains_key(amendment.content())) {
            None => Ok(self),
            Some(missing) => Err(WorkshopError::Recipe(format!(
                "the content of {missing} isn't there"
            ))),
        }
    }

    /// Whether a version's amendments can be applied to it: tried in the tree, unless there is such a build.
    ///
    /// # Errors
    /// They can't: which, and where; or nothing can be checked out for now.
    pub async fn try_amendments(&self, version: usize) -> Result<(), WorkshopError> {
        let key = self.key(version, Layout::default());
        if self.versions[version].is_plain() || self.cache.find(&key)?.is_some() {
            return Ok(());
        }
        let mut tree = self.tree.lock().await;
        tree.lock().await?;
        // What is there isn't what was built any more.
        let state = tree.state();
        tree.set(state)?;
        let mut log = Log::default();
        let put = self.put_source(&tree, version, &mut log).await;
        if !matches!(put, Err(Stop::Hindered(_))) {
            tree.unlock();
        }
        match put {
            Ok(()) => Ok(()),
            Err(Stop::Hindered(error)) => Err(error),
            Err(Stop::Broken(why)) => Err(WorkshopError::Amendment {
                version: self.versions[version].full_name(),
                why,
            }),
        }
    }

    /// What the tool chain's commands print.
    async fn ask_toolchain(&self) -> Result<String, WorkshopError> {
        let mut said = String::new();
        for template in &self.target.toolchain {
            let command = self.fill(template, None, Layout::default(), &self.folder)?;
            let done = self.run(&command, TOOL_LIMIT, BTreeMap::new()).await?;
            if !done.succeeded() {
                return Err(WorkshopError::Recipe(format!(
                    "toolchain: `{}` {}: it must tell which tools build",
                    short(&command),
                    done.how_it_ended()
                )));
            }
            said.push_str(&String::from_utf8_lossy(&done.stdout.bytes));
        }
        Ok(said)
    }

    /// The target.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The versions, by position.
    pub fn versions(&self) -> &[Version] {
        &self.versions
    }

    /// Runs commands that belong to the target but not to a build.
    pub fn bench(&self) -> &Workbench {
        &self.bench
    }

    /// The machine that builds.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Where the build of this version in this layout is, or will be.
    pub fn place(&self, version: usize, layout: Layout) -> BuildLocation {
        let key = self.key(version, layout);
        let stamp = key[..12].to_owned();
        let folder = self.cache.files(&key);
        BuildLocation { key, stamp, folder }
    }

    /// Everything that goes into a build, as one hash.
    fn key(&self, version: usize, layout: Layout) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &[u8]| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        };
        add(self.target.name.as_str().as_bytes());
        add(json(&*self.target.source).as_bytes());
        add(json(&self.target.configure).as_bytes());
        add(json(&self.target.build).as_bytes());
        add(self.toolchain.as_bytes());
        add(&[u8::from(self.target.fuzz)]);
        add(self.versions[version].id.as_bytes());
        for patch in &self.patches {
            add(&patch.content);
        }
        for exception in self.quirks(version) {
            let quirk = &exception.quirk;
            add(json(&(&quirk.run, &quirk.rebuild, quirk.clean, quirk.skip)).as_bytes());
            for patch in &exception.patches {
                add(&patch.content);
            }
        }
        for amendment in &self.versions[version].amendments {
            add(b"amendment");
            add(amendment.content().as_bytes());
        }
        if layout.kind != LayoutKind::Kept {
            add(json(&(layout, &self.target.layout)).as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    fn quirks(&self, version: usize) -> impl Iterator<Item = &Exception> {
        let has = move |exception: &&Exception| exception.has[version];
        self.exceptions.iter().filter(has)
    }

    /// Why a version isn't built, where a quirk says so.
    pub fn skips(&self, version: usize) -> Option<&str> {
        let skip = self.quirks(version).find(|exception| exception.quirk.skip);
        skip.map(|exception| exception.quirk.why.as_str())
    }

    /// Makes the build of a version in a layout, or finds it. Other layouts of the same version that will be wanted are
    /// made along with it, while the tree is there.
    ///
    /// A version that doesn't build is no error: the record says why. Dropping the future ends what it does; the tree
    /// is then known to be half built.
    ///
    /// # Errors
    /// Nothing can be built for now.
    pub async fn build(
        &self,
        version: usize,
        layout: Layout,
        wanted: &[Layout],
    ) -> Result<BuildRecord, WorkshopError> {
        let key = self.key(version, layout);
        let mut record = BuildRecord {
            version,
            layout,
            quirks: self.quirks(version).map(|e| e.quirk.why.clone()).collect(),
            failure: None,
            cached: false,
            compilers: Vec::new(),
            began: Timestamp::now(),
            took: Duration::ZERO,
            log: Vec::new(),
            key,
        };
        if let Some(why) = self.skips(version) {
            record.failure = Some(BuildFailure::Skipped(why.to_owned()));
            return Ok(record);
        }
        if self.find(&mut record)? {
            return Ok(record);
        }
        let mut tree = self.tree.lock().await;
        tree.lock().await?;
        // Made meanwhile: along with another layout of its version, or by another process.
        if self.find(&mut record)? {
            tree.unlock();
            return Ok(record);
        }
        // The wait for another build isn't this one's time.
        record.began = Timestamp::now();
        let clock = Instant::now();
        let mut log = Log::default();
        let made = self
            .make(&mut tree, version, layout, wanted, &mut log)
            .await;
        record.took = clock.elapsed();
        match made {
            Ok(()) => {
                let kept = self.cache.find(&record.key)?;
                record.compilers = kept.and_then(|it| it.compilers).unwrap_or_default();
            }
            Err(Stop::Broken(why)) => record.failure = Some(BuildFailure::Broken(why)),
            Err(Stop::Hindered(error)) => return Err(error),
        }
        tree.unlock();
        record.log = log.0;
        Ok(record)
    }

    /// Whether the build that a record is of is in the cache; then it says so.
    fn find(&self, record: &mut BuildRecord) -> Result<bool, WorkshopError> {
        let Some(entry) = self.cache.find(&record.key)? else {
            return Ok(false);
        };
        record.cached = true;
        record.compilers = entry.compilers.unwrap_or_default();
        record.log = entry.log;
        Ok(true)
    }

    async fn make(
        &self,
        tree: &mut Tree,
        version: usize,
        layout: Layout,
        wanted: &[Layout],
        log: &mut Log,
    ) -> Result<(), Stop> {
        let base = self.key(version, Layout::default());
        if !tree.holds(&base) {
            self.make_tree(tree, version, &base, log).await?;
        }
        if self.cache.find(&base)?.is_none() {
            self.keep(version, Layout::default(), &base, log).await?;
        }
        if layout.kind == LayoutKind::Kept && wanted.iter().all(|l| l.kind == LayoutKind::Kept) {
            return Ok(());
        }
        let mut layouts: Vec<Layout> = wanted.to_vec();
        layouts.retain(|other| other.kind != LayoutKind::Kept && *other != layout);
        for other in layouts {
            let key = self.key(version, other);
            if self.cache.find(&key)?.is_none() {
                let mut its = Log::default();
                // What goes wrong with another layout is said when that one is asked for.
                match self.relink(version, other, &key, &mut its).await {
                    Ok(()) | Err(Stop::Broken(_)) => {}
                    Err(hindered) => return Err(hindered),
                }
            }
        }
        if layout.kind != LayoutKind::Kept {
            let key = self.key(version, layout);
            self.relink(version, layout, &key, log).await?;
        }
        Ok(())
    }

    /// Brings the tree to the built state of a version.
    async fn make_tree(
        &self,
        tree: &mut Tree,
        version: usize,
        base: &str,
        log: &mut Log,
    ) -> Result<(), Stop> {
        let incremental = self.target.build.as_ref().is_some_and(|b| b.incremental);
        let clean = self.quirks(version).any(|exception| exception.quirk.clean);
        if !incremental || clean || !tree.can_be_built_in() {
            tree.clear().await?;
        }
        let mut configured = tree.state() == TreeState::Built;
        tree.set(TreeState::Building)?;
        let made = self
            .build_in_tree(tree, version, &mut configured, log)
            .await;
        match &made {
            Ok(()) => tree.set_built(base)?,
            // Half of it is built, and `make` knows which half: another version may be built in it.
            Err(Stop::Broken(_)) if configured => tree.set(TreeState::Built)?,
            Err(Stop::Broken(_)) => tree.set(TreeState::Empty)?,
            Err(Stop::Hindered(_)) => {}
        }
        made
    }

    async fn build_in_tree(
        &self,
        tree: &Tree,
        version: usize,
        configured: &mut bool,
        log: &mut Log,
    ) -> Result<(), Stop> {
        let layout = Layout::default();
        self.put_source(tree, version, log).await?;
        if let (Some(configure), false) = (&self.target.configure, *configured) {
            let (run, timeout) = (&configure.run, configure.timeout);
            self.stage(version, layout, "configure", run, timeout, log)
                .await?;
        }
        *configured = true;
        for stage in self.quirks(version).filter_map(|e| e.quirk.run.as_ref()) {
            self.stage(version, layout, "quirk", &stage.run, stage.timeout, log)
                .await?;
        }
        if let Some(build) = &self.target.build
            && let Some(run) = &build.run
        {
            self.stage(version, layout, "build", run, build.timeout, log)
                .await?;
        }
        for stage in self
            .quirks(version)
            .filter_map(|e| e.quirk.rebuild.as_ref())
        {
            self.stage(version, layout, "rebuild", &stage.run, stage.timeout, log)
                .await?;
        }
        Ok(())
    }

    /// Puts a version's source into the tree: what its history has, the recipe's patches, its amendments.
    async fn put_source(&self, tree: &Tree, version: usize, log: &mut Log) -> Result<(), Stop> {
        self.check_out(version).await?;
        let of_quirks = self
            .quirks(version)
            .flat_map(|exception| &exception.patches);
        let amendments = self.versions[version].amendments.iter();
        let of_version = amendments.filter_map(|it| self.amendments.get(it.content()));
        let patches: Vec<&Patch> = self
            .patches
            .iter()
            .chain(of_quirks)
            .chain(of_version)
            .collect();
        tree.expect_files(patches.iter().flat_map(|patch| patch.makes()))?;
        for patch in patches {
            self.apply(version, patch, log).await?;
        }
        Ok(())
    }

    async fn check_out(&self, version: usize) -> Result<(), WorkshopError> {
        let (history, folder) = (Arc::clone(&self.history), self.folder.clone());
        let version = self.versions[version].clone();
        run_blocking("the check-out", move || {
            history.check_out(&version, &folder)
        })
        .await
    }

    async fn apply(&self, version: usize, patch: &Patch, log: &mut Log) -> Result<(), Stop> {
        let quoted = backsight_model::shell_quoted(&patch.path.to_string_lossy());
        let tried = |fuzz: u8, dry: &str| {
            format!("patch -p1 --forward --batch{dry} --fuzz={fuzz} --input={quoted}")
        };
        let strict = self
            .run(&tried(0, " --dry-run"), PATCH_LIMIT, BTreeMap::new())
            .await?;
        let fuzz = if strict.succeeded() {
            0
        } else {
            let loose = self
                .run(&tried(2, " --dry-run"), PATCH_LIMIT, BTreeMap::new())
                .await?;
            log.add(&format!("patch {}", patch.name), &strict);
            let (place, why) = refused_in(&strict);
            if !loose.succeeded() {
                return Err(Stop::Broken(format!(
                    "{} doesn't apply{place}: {why}",
                    patch.label
                )));
            }
            if !self.target.fuzz {
                return Err(Stop::Broken(format!(
                    "{} applies only with fuzz{place}: make it anew for this version, or allow it with fuzz = true",
                    patch.label
                )));
            }
            2
        };
        let done = self
            .run(&tried(fuzz, ""), PATCH_LIMIT, BTreeMap::new())
            .await?;
        log.add(&format!("patch {}", patch.name), &done);
        if done.succeeded() {
            Ok(())
        } else {
            self.failed(version, "patch", &patch.name, &done)
        }
    }

    async fn relink(
        &self,
        version: usize,
        layout: Layout,
        key: &str,
        log: &mut Log,
    ) -> Result<(), Stop> {
        let Some(recipe) = &self.target.layout else {
            return Err(Stop::Hindered(WorkshopError::Recipe(format!(
                "target `{}` says no way to lay a build out otherwise: give it layout = {{ relink = \"…{{seed}}…\" }}",
                *self.target.name
            ))));
        };
        let (run, timeout) = (&recipe.relink, recipe.timeout);
        self.stage(version, layout, "relink", run, timeout, log)
            .await?;
        self.keep(version, layout, key, log).await
    }

    /// Puts what is to be kept of the tree into the cache.
    async fn keep(&self, version: usize, layout: Layout, key: &str, log: &Log) -> Result<(), Stop> {
        let keep = self
            .target
            .build
            .as_ref()
            .map_or_else(Vec::new, |build| build.keep.clone());
        for kept in &keep {
            if !self.folder.join(kept).exists() {
                return Err(Stop::Broken(format!(
                    "the build ended well, but there is no `{kept}`, which is to be kept"
                )));
            }
        }
        let entry = Entry {
            version: self.versions[version].id.clone(),
            layout,
            compilers: None,
            log: log.0.clone(),
        };
        let (cache, key, tree) = (self.cache.clone(), key.to_owned(), self.folder.clone());
        let kept = run_blocking("keeping the build", move || {
            cache.keep(&key, &tree, &keep, &entry)
        });
        match kept.await {
            Ok(()) => Ok(()),
            Err(_) if self.has_no_room() => Err(Stop::Hindered(self.no_room(version))),
            Err(error) => Err(Stop::Hindered(error)),
        }
    }

    async fn stage(
        &self,
        version: usize,
        layout: Layout,
        name: &str,
        run: &Template,
        timeout: Option<Time>,
        log: &mut Log,
    ) -> Result<(), Stop> {
        let place = self.place(version, layout);
        let text = self.fill(run, Some(version), layout, &place.folder)?;
        let limit = timeout.map_or(STAGE_LIMIT, |time| time.0);
        let env = BTreeMap::from([
            (
                "BACKSIGHT_VERSION".to_owned(),
                self.versions[version].name.clone(),
            ),
            ("BACKSIGHT_STAMP".to_owned(), place.stamp),
            ("BACKSIGHT_SEED".to_owned(), layout.seed.to_string()),
            ("BACKSIGHT_LAYOUT".to_owned(), layout.kind.to_string()),
        ]);
        let done = self.run(&text, limit, env).await?;
        log.add(&text, &done);
        if done.succeeded() {
            return Ok(());
        }
        if done.ending == Ending::TimedOut {
            return Err(Stop::Broken(format!(
                "{name}: `{}` took longer than {}",
                short(&text),
                Time(limit)
            )));
        }
        self.failed(version, name, &text, &done)
    }

    fn failed(
        &self,
        version: usize,
        name: &str,
        text: &str,
        done: &CommandResult,
    ) -> Result<(), Stop> {
        let full = |bytes: &[u8]| {
            const WORDS: &[u8] = b"No space left on device";
            bytes.windows(WORDS.len()).any(|window| window == WORDS)
        };
        if self.has_no_room() || full(&done.stderr.bytes) || full(&done.stdout.bytes) {
            return Err(Stop::Hindered(self.no_room(version)));
        }
        Err(Stop::Broken(format!(
            "{name}: `{}` {}{}",
            short(text),
            done.how_it_ended(),
            match cause(done).as_str() {
                "" => String::new(),
                line => format!(": {line}"),
            }
        )))
    }

    fn has_no_room(&self) -> bool {
        rustix::fs::statvfs(&self.folder)
            .is_ok_and(|fs| fs.f_bavail.saturating_mul(fs.f_frsize) < NO_ROOM)
    }

    fn no_room(&self, version: usize) -> WorkshopError {
        WorkshopError::NoRoom {
            place: self.folder.clone(),
            version: self.versions[version].full_name(),
        }
    }

    async fn run(
        &self,
        text: &str,
        limit: Duration,
        env: BTreeMap<String, String>,
    ) -> Result<CommandResult, ConnectError> {
        let command = WorkbenchCommand {
            text: text.to_owned(),
            folder: self.folder.clone(),
            env,
            limit,
        };
        self.builds.run(command).await
    }

    /// Fills the placeholders of a command of the target.
    ///
    /// # Errors
    /// A placeholder has no value here.
    pub fn command(
        &self,
        template: &Template,
        version: usize,
        layout: Layout,
    ) -> Result<String, WorkshopError> {
        let place = self.place(version, layout);
        self.command_at(template, version, layout, &place.folder)
    }

    /// The same where the build is in this folder, as on another machine.
    ///
    /// # Errors
    /// As [`Workshop::command`].
    pub fn command_at(
        &self,
        template: &Template,
        version: usize,
        layout: Layout,
        build: &Path,
    ) -> Result<String, WorkshopError> {
        self.fill(template, Some(version), layout, build)
    }

    fn fill(
        &self,
        template: &Template,
        version: Option<usize>,
        layout: Layout,
        build: &Path,
    ) -> Result<String, WorkshopError> {
        let text = |path: &Path| Value::Text(path.to_string_lossy().into_owned());
        let lookup = |name: &str| {
            Some(match name {
                "tree" => text(&self.folder),
                "build" => text(build),
                "version" => Value::Text(self.versions[version?].name.clone()),
                "stamp" => Value::Text(self.key(version?, layout)[..12].to_owned()),
                "layout" => Value::Text(layout.kind.to_string()),
                "seed" => Value::Integer(i64::from(layout.seed)),
                "target" => Value::Text(self.target.name.to_string()),
                other => return self.machine.lookup(other),
            })
        };
        template
            .fill_command(&lookup)
            .map_err(|error| WorkshopError::Recipe(format!("`{}`: {error}", template.source())))
    }

    /// Removes what is in the tree, so that there is room for other things. The next build begins afresh.
    ///
    /// # Errors
    /// It can't be removed.
    pub async fn clear(&self) -> Result<(), WorkshopError> {
        let mut tree = self.tree.lock().await;
        tree.lock().await?;
        tree.clear().await?;
        tree.unlock();
        Ok(())
    }

    /// Ends the agents that ran the commands.
    pub async fn finish(&self) {
        self.builds.finish().await;
        self.bench.finish().await;
    }
}

impl Patch {
    fn read(folder: &Path, name: &str) -> Result<Self, WorkshopError> {
        let path = folder.join(name);
        let content = fs::read(&path).map_err(file("read the patch", &path))?;
        Ok(Self {
            name: name.to_owned(),
            label: format!("the patch {name}"),
            path: std::path::absolute(&path).map_err(file("find", &path))?,
            content,
        })
    }
}

impl Patch {
    /// The files that it makes, as paths in the tree.
    fn makes(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.content);
        let mut lines = text.lines().peekable();
        let (mut made, mut file) = (Vec::new(), "");
        while let Some(line) = lines.next() {
            if let Some(named) = line.strip_prefix("diff --git a/") {
                file = named.split(" b/").next().unwrap_or_default();
            }
            // An empty file has no lines that would name it.
            if line.starts_with("new file mode ") {
                made.push(file.to_owned());
            }
            let named = lines.peek().and_then(|next| next.strip_prefix("+++ "));
            if let (true, Some(named)) = (line.starts_with("--- /dev/null"), named) {
                let path = named.split('\t').next().unwrap_or_default().trim_end();
                made.extend(path.split_once('/').map(|(_, path)| path.to_owned()));
            }
        }
        made
    }
}

/// Which versions have a quirk, by position.
fn range_of(
    quirk: &Quirk,
    history: &dyn History,
    versions: &[Version],
) -> Result<Vec<bool>, HistoryError> {
    let reached = |point: &Option<backsight_model::Located<String>>, otherwise: bool| match point {
        Some(point) => history.reached(point, versions),
        None => Ok(vec![otherwise; versions.len()]),
    };
    let (begun, over) = (reached(&quirk.from, true)?, reached(&quirk.until, false)?);
    Ok(begun
        .into_iter()
        .zip(over)
        .map(|(begun, over)| begun && !over)
        .collect())
}

/// Why a build wasn't made.
enum Stop {
    /// It is the version's fault.
    Broken(String),
    /// It isn't.
    Hindered(WorkshopError),
}

impl<E: Into<WorkshopError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Hindered(error.into())
    }
}

/// What the commands of a build were and printed.
#[derive(Default)]
struct Log(Vec<u8>);

impl Log {
    fn add(&mut self, command: &str, done: &CommandResult) {
        let log = &mut self.0;
        log.extend(format!("$ {command}\n").as_bytes());
        for stream in [&done.stdout, &done.stderr] {
            log.extend(&stream.bytes);
            if !stream.bytes.is_empty() && !stream.bytes.ends_with(b"\n") {
                log.push(b'\n');
            }
        }
        for (pid, name) in &done.strays {
            log.extend(format!("[process {pid} ({name}) was left and was killed]\n").as_bytes());
        }
        log.extend(format!("[{}, {:.1} s]\n", done.how_it_ended(), done.usage.wall).as_bytes());
    }
}

/// The files in which `patch` couldn't place something, as far as it says: ` in a.c, b.c`; and what it says of the first.
fn refused_in(done: &CommandResult) -> (String, String) {
    let text = String::from_utf8_lossy(&done.stdout.bytes);
    let (mut file, mut refused, mut why) = ("", Vec::new(), None);
    for line in text.lines() {
        if let Some(named) = line.strip_prefix("checking file ") {
            file = named;
        } else if ["FAILED", "can't find file", "previously applied"]
            .iter()
            .any(|words| line.contains(words))
            && !file.is_empty()
        {
            refused.push(file);
            why.get_or_insert_with(|| short(line));
        }
    }
    refused.dedup();
    let place = match &refused[..] {
        [] => String::new(),
        files => format!(" in {}", short(&files.join(", "))),
    };
    (place, why.unwrap_or_else(|| cause(done)))
}

/// What compilers, linkers and shells write on the line that says why, which seldom is their last one.
const CAUSES: [&str; 5] = [
    "error:",
    "not found",
    "No such file",
    "undefined reference",
    "No rule to make",
];

/// The line of what a command printed that says why it failed, errors first.
fn cause(done: &CommandResult) -> String {
    let texts = [&done.stderr, &done.stdout].map(|stream| String::from_utf8_lossy(&stream.bytes));
    let cause = texts.iter().find_map(|text| cause_in(text));
    cause.map(short).unwrap_or_default()
}

/// The first line that names a cause, else the last.
fn cause_in(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    let last = lines.clone().next_back()?;
    let cause = lines.find(|line| CAUSES.iter().any(|cause| line.contains(cause)));
    Some(cause.unwrap_or(last))
}

fn short(text: &str) -> String {
    let mut short: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(SHOWN)
        .collect();
    if text.chars().count() > SHOWN {
        short.push('…');
    }
    short
}

fn json(value: &impl serde::Serialize) -> String {
    // Values of the model: their JSON can't fail.
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_command_failed_is_the_line_that_names_the_cause() {
        let compiler =
            "main.c: In function 'main':\nmain.c:3:5: error: expected ';'\n  3 | x\n    |  ^~~~~\n";
        assert_eq!(cause_in(compiler), Some("main.c:3:5: error: expected ';'"));
        let make = "/bin/sh: 1: flex: not found\nmake[1]: *** [a] Error 127\nmake: *** Waiting for unfinished jobs....\n";
        assert_eq!(cause_in(make), Some("/bin/sh: 1: flex: not found"));
        assert_eq!(cause_in("one\n\n  the last  \n\n"), Some("the last"));
        assert_eq!(cause_in(" \n"), None);
    }
}
