//! Records put together: cells, metrics, trials.
//!
//! The nth trial of one metric and the nth of another in the same cell are the same trial; trials of a later file follow
//! those of an earlier one. Iterations of one process are samples of one trial: the nth file that has a cell has its nth trial.
//! The files are of one session, what one sitting measured, unless each is said to be one. Where each says when it was measured,
//! those of a host that lie more than [`SESSION_GAP`] apart are of two. Names that can't be ours become ones that can, and the cell keeps what it was called.
//! A trial is of the host that its record or its file names; where any trial is of nobody knows which, none is said to be of one.
//!
//! A metric without a direction or a unit, one in units of several dimensions, and the same trial twice are errors.

use backsight_model::{
    BenchmarkName, Better, Cell, HostName, MetricName, MetricSamples, ParamName, Unit, Value,
    VariantName,
};
use indexmap::{IndexMap, IndexSet};
use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    ImportChoices, ImportError, MeasuredLevel, SourceFile,
    choices::{for_all, named},
    record::{Record, printable},
};

/// The name of the variant where the format knows none.
const DEFAULT: &str = "default";
/// The parameter that keeps what a benchmark was called, if that can't be a name of ours.
const NAME: &str = "name";
/// The name of the host where the files don't say it.
const HOST: &str = "elsewhere";
/// Files of one host that say times further apart than this are of two sessions. The files of one sitting follow each other
/// within minutes, and one that takes long says only when it began: half an hour would take each run of a suite of forty
/// minutes for a session. What is measured every day, or before and after lunch, is further apart.
const SESSION_GAP: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);
/// The fact that names the host.
const HOSTNAME: &str = "hostname";
/// Longest name, in characters.
const LONGEST: usize = 64;
/// The number of no metric: failures count as one that no cell has.
const FAILURE: usize = usize::MAX;
/// Most trials of one study.
const MOST_TRIALS: usize = 1_000_000;

/// A metric as a study has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedMetric {
    /// Its name.
    pub name: MetricName,
    /// The unit of its samples.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// One line about it.
    pub about: String,
    /// Whether the benchmark is run for it: as the importer marks it, else every one.
    pub primary: bool,
}

/// A trial that somebody else made.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedTrial {
    /// Its cell, by number from 0.
    pub cell: usize,
    /// Its round, from 1.
    pub round: u32,
    /// The session that it was measured in, from 1.
    pub session: u32,
    /// The host that it was measured on, by its number in [`ImportedStudy::hosts`] from 1; 0 where it isn't known of every trial.
    pub host: u32,
    /// Its samples, or why there are none.
    pub outcome: Result<Vec<MetricSamples>, String>,
    /// The files that it was read from, by number from 0.
    pub files: Vec<usize>,
}

/// What is known of a host.
type Facts = IndexMap<String, String>;

/// What some files hold, ready to become a study.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedStudy {
    /// The files, as they were.
    pub files: Vec<SourceFile>,
    /// What was measured, in the order of the files.
    pub cells: Vec<Cell>,
    /// The metrics of each benchmark.
    pub metrics: IndexMap<BenchmarkName, Vec<ImportedMetric>>,
    /// The trials, round by round.
    pub trials: Vec<ImportedTrial>,
    /// The hosts that the files name, and what they say of each: `elsewhere` where they name none. There is at least one.
    pub hosts: IndexMap<HostName, Facts>,
    /// What the reader of the study should know.
    pub notes: Vec<String>,
}

/// Characters of a note out of a file.
const LONGEST_NOTE: usize = 300;

/// A metric that is being learnt about.
#[derive(Debug)]
struct Learnt {
    name: MetricName,
    unit: Option<Unit>,
    better: Option<Better>,
    about: String,
    primary: bool,
}

#[derive(Debug, Default)]
struct Trial {
    samples: IndexMap<usize, (Vec<f64>, Vec<f64>)>,
    failed: Option<String>,
    session: u32,
    host: u32,
    files: Vec<usize>,
}

/// The rounds that a metric of a cell has had, or any of its metrics.
#[derive(Debug, Clone, Copy, Default)]
struct Rounds {
    last: u32,
    /// The last one of the files before the one that is being read.
    before: u32,
    /// Which of the files was being read when it was last looked at.
    sitting: u32,
}

/// Records on their way to a study.
pub(super) struct Assembly<'a> {
    choices: &'a ImportChoices,
    level: MeasuredLevel,
    /// The sitting of the file that is being read: until all are there, each file is one.
    session: u32,
    /// When each was, and on which host, as far as the files say it.
    sittings: Vec<(Option<jiff::Timestamp>, u32)>,
    /// The number of its host, from 1; 0 where it doesn't say one.
    host: u32,
    files: Vec<SourceFile>,
    cells: Vec<Cell>,
    known_cells: HashMap<String, usize>,
    metrics: IndexMap<BenchmarkName, IndexMap<String, Learnt>>,
    trials: BTreeMap<(u32, usize), Trial>,
    /// Where the rounds of a cell's metric are.
    rounds: HashMap<(usize, usize), Rounds>,
    /// Where the rounds of a cell are: the trials of a file follow all of those of the files before, whichever metrics these have.
    cell_rounds: HashMap<usize, Rounds>,
    /// The cells and rounds of trials that failed: no samples are of them.
    failed: HashSet<(usize, u32)>,
    /// What was said of each host, in turn; what was said of no host by name stands under `elsewhere`.
    hosts: IndexMap<HostName, IndexMap<String, IndexSet<String>>>,
    notes: IndexSet<String>,
    left_out: IndexSet<String>,
    undirected: IndexSet<String>,
    unitless: IndexMap<String, Option<String>>,
    /// Metrics that were left out because nothing says what they are.
    spared: IndexSet<String>,
}

impl<'a> Assembly<'a> {
    pub fn new(choices: &'a ImportChoices, level: MeasuredLevel) -> Self {
        Self {
            choices,
            level,
            session: 0,
            sittings: Vec::new(),
            host: 0,
            files: Vec::new(),
            cells: Vec::new(),
            known_cells: HashMap::new(),
            metrics: IndexMap::new(),
            trials: BTreeMap::new(),
            rounds: HashMap::new(),
            cell_rounds: HashMap::new(),
            failed: HashSet::new(),
            hosts: IndexMap::new(),
            notes: IndexSet::new(),
            left_out: IndexSet::new(),
            undirected: IndexSet::new(),
            unitless: IndexMap::new(),
            spared: IndexSet::new(),
        }
    }

    /// The number that the next file will have.
    pub fn next_file(&self) -> usize {
        self.files.len()
    }

    /// What follows comes from these files, and perhaps from some before; the numbers of these.
    pub fn begin_file(&mut self, files: impl IntoIterator<Item = SourceFile>) -> Vec<usize> {
        let first = self.files.len();
        self.session += 1;
        self.sittings.push((None, 0));
        self.host = 0;
        self.files.extend(files);
        (first..self.files.len()).collect()
    }

    /// What the file says of its hosts, each by itself; what several files say of one is kept in turn. A file that names one
    /// host is of that host.
    pub fn add_hosts(&mut self, hosts: Vec<Facts>) -> Result<(), String> {
        let mut named = IndexSet::new();
        for facts in hosts {
            let number = match facts.get(HOSTNAME) {
                Some(name) => {
                    let number = self.host_number(name)?;
                    named.insert(number);
                    number
                }
                None => self.host_number(HOST)?,
            };
            let Some((_, known)) = self.hosts.get_index_mut(number as usize - 1) else {
                continue;
            };
            for (fact, value) in facts {
                let values = known.entry(fact).or_default();
                values.insert(value.chars().take(1000).collect());
            }
        }
        self.host = match named.len() {
            1 => named[0],
            _ => 0,
        };
        Ok(())
    }

    /// When the file was measured that is being read.
    pub fn measured_at(&mut self, when: jiff::Timestamp) {
        if let Some(last) = self.sittings.last_mut() {
            *last = (Some(when), self.host);
        }
    }

    /// The session of each sitting, and how many there are at most on a host.
    fn sessions(&self) -> (Vec<u32>, usize) {
        let numbers = || 1..=self.session;
        if self.choices.sessions {
            return (numbers().collect(), self.sittings.len());
        }
        let times: Option<Vec<(u32, jiff::Timestamp, usize)>> = self
            .sittings
            .iter()
            .enumerate()
            .map(|(place, (when, host))| Some((*host, (*when)?, place)))
            .collect();
        let Some(mut times) = times else {
            return (vec![1; self.sittings.len()], 1);
        };
        times.sort();
        let mut sessions = vec![0; self.sittings.len()];
        let (mut session, mut most) = (0, 0);
        for of_host in times.chunk_by(|a, b| a.0 == b.0) {
            let sittings = of_host.chunk_by(|a, b| b.1.duration_since(a.1) <= SESSION_GAP);
            let mut count = 0;
            for (sitting, number) in sittings.zip(1..) {
                count = number;
                session += 1;
                for (_, _, place) in sitting {
                    sessions[*place] = session;
                }
            }
            most = most.max(count);
        }
        (sessions, most)
    }

    /// The number of a host in the order in which they were named, from 1.
    fn host_number(&mut self, name: &str) -> Result<u32, String> {
        let name = HostName::new(legal(name)).map_err(|error| error.to_string())?;
        let entry = self.hosts.entry(name);
        let number = entry.index() as u32 + 1;
        entry.or_default();
        Ok(number)
    }

    /// Something that the reader of the study should know.
    pub fn note(&mut self, note: String) {
        self.notes.insert(note);
    }

    /// Adds a record out of these files. The error says what is wrong with it.
    pub fn add(&mut self, record: Record, files: &[usize]) -> Result<(), String> {
        if record.spare && !self.is_known(&record) {
            self.spared.extend(record.metric);
            return Ok(());
        }
        if let Some(note) = &record.note {
            self.notes.insert(note.chars().take(LONGEST_NOTE).collect());
        }
        let cell = self.cell(&record)?;
        let metric = match &record.metric {
            Some(metric) if self.choices.without.contains(metric) => {
                self.left_out.insert(metric.clone());
                return Ok(());
            }
            Some(_) => Some(self.metric(cell, &record)?),
            None => None,
        };
        if let Some(why) = record.failed {
            let round = record.rounds.first().copied();
            return self.add_failure(cell, round, why, files);
        }
        let Some((metric, factor)) = metric else {
            return Err("it doesn't say what was measured".into());
        };
        self.note_negative_times(&record, (cell, metric));
        let scaled = |values: &[f64]| values.iter().map(|value| value * factor).collect();
        for (number, values) in record.trials.iter().enumerate() {
            let round = self.round(cell, metric, record.rounds.get(number).copied())?;
            let each = record.each.get(number).map_or(&[][..], Vec::as_slice);
            if values.is_empty() && each.is_empty() {
                continue;
            }
            let level = self.level;
            let host = match record.hosts.get(number) {
                Some(Some(name)) => Some(self.host_number(name)?),
                _ => None,
            };
            let trial = self.trial(round, cell, files)?;
            trial.host = host.unwrap_or(trial.host);
            let samples: (Vec<f64>, Vec<f64>) = (scaled(values), scaled(each));
            if samples.0.iter().chain(&samples.1).any(|v| !v.is_finite()) {
                return Err("a number is too large for its unit".into());
            }
            if level == MeasuredLevel::Iteration {
                let (values, each) = trial.samples.entry(metric).or_default();
                values.extend(samples.0);
                each.extend(samples.1);
            } else if trial.samples.insert(metric, samples).is_some() {
                return Err(format!("round {round} stands in it twice"));
            }
        }
        Ok(())
    }

    /// A time below 0 is kept as it is, and said.
    fn note_negative_times(&mut self, record: &Record, (cell, metric): (usize, usize)) {
        let learnt = self.metrics.get(&self.cells[cell].benchmark);
        let unit = learnt.and_then(|it| it.get_index(metric)?.1.unit);
        let values = record.trials.iter().chain(&record.each).flatten();
        let negative = values.filter(|value| **value < 0.0).count();
        if negative > 0 && unit.is_some_and(Unit::is_time) {
            let said = record.metric.as_deref().unwrap_or_default();
            self.notes.insert(format!(
                "kept as they are: {} of `{}` below 0",
                backsight_model::counted(negative, "time"),
                printable(said)
            ));
        }
    }

    /// Whether the format or a choice says the unit and the direction of a record's metric.
    fn is_known(&self, record: &Record) -> bool {
        let said = record.metric.as_deref().unwrap_or_default();
        let names = [said, &legal(said)];
        let unit = record
            .unit
            .as_deref()
            .is_some_and(|unit| Unit::parse(unit).is_ok())
            || named(&self.choices.unit, names).is_some()
            || for_all(&self.choices.unit).is_some();
        let better = record.better.is_some()
            || named(&self.choices.better, names).is_some()
            || for_all(&self.choices.better).is_some();
        unit && better || self.choices.without.iter().any(|it| it == said)
    }

    fn add_failure(
        &mut self,
        cell: usize,
        said: Option<u32>,
        why: String,
        files: &[usize],
    ) -> Result<(), String> {
        let round = self.round(cell, FAILURE, said)?;
        self.failed.insert((cell, round));
        let trial = self.trial(round, cell, files)?;
        trial.failed.get_or_insert(why);
        Ok(())
    }

    fn trial(&mut self, round: u32, cell: usize, files: &[usize]) -> Result<&mut Trial, String> {
        if self.trials.len() == MOST_TRIALS {
            return Err(format!("there are more than {MOST_TRIALS} trials"));
        }
        let (session, host) = (self.session, self.host);
        let trial = self.trials.entry((round, cell)).or_insert_with(|| Trial {
            session,
            host,
            ..Trial::default()
        });
        for file in files {
            if !trial.files.contains(file) {
                trial.files.push(*file);
            }
        }
        Ok(trial)
    }

    /// The round of a trial: as the file says, behind those of the files before it, else the next. Of iterations, the
    /// number of the file among those that have the cell.
    fn round(&mut self, cell: usize, metric: usize, said: Option<u32>) -> Result<u32, String> {
        let (metric, said) = match self.level {
            MeasuredLevel::Iteration => (FAILURE, Some(1)),
            MeasuredLevel::Run => (metric, said),
        };
        let of_cell = self.cell_rounds.entry(cell).or_default();
        if of_cell.sitting != self.session {
            of_cell.sitting = self.session;
            of_cell.before = of_cell.last;
        }
        let rounds = self.rounds.entry((cell, metric)).or_default();
        if rounds.sitting != self.session {
            rounds.sitting = self.session;
            rounds.before = of_cell.before;
            rounds.last = of_cell.before;
        }
        let last = match metric {
            // A run that failed comes after all that were there, whichever metrics these have.
            FAILURE => of_cell.last,
            _ => rounds.last,
        };
        let mut round = match said {
            Some(said) => rounds.before.checked_add(said),
            None => last.checked_add(1),
        };
        while said.is_none() && round.is_some_and(|round| self.failed.contains(&(cell, round))) {
            round = round.and_then(|round| round.checked_add(1));
        }
        let round = round.ok_or("there are too many rounds")?;
        rounds.last = rounds.last.max(round);
        of_cell.last = of_cell.last.max(round);
        Ok(round)
    }

    fn cell(&mut self, record: &Record) -> Result<usize, String> {
        let benchmark = legal(&record.benchmark);
        let mut params: IndexMap<ParamName, Value> = IndexMap::new();
        for (name, value) in &record.params {
            let (name, value) = (param_name(name, &params)?, value.clone());
            params.insert(name, value);
        }
        if benchmark != record.benchmark {
            let name = param_name(NAME, &params)?;
            params.insert(name, Value::Text(record.benchmark.clone()));
        }
        let variant = legal(record.variant.as_deref().unwrap_or(DEFAULT));
        let bad = |error: backsight_model::NameError| error.to_string();
        let cell = Cell {
            benchmark: BenchmarkName::new(benchmark).map_err(bad)?,
            chosen: params.keys().cloned().collect(),
            params,
            variant: VariantName::new(variant).map_err(bad)?,
            monitors: None,
        };
        let mut sorted: Vec<String> = cell
            .params
            .iter()
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect();
        sorted.sort();
        let key = format!(
            "{}\n{}\n{}",
            cell.benchmark,
            cell.variant,
            sorted.join("\n")
        );
        let next = self.cells.len();
        let number = *self.known_cells.entry(key).or_insert(next);
        if number == next {
            self.cells.push(cell);
        }
        Ok(number)
    }

    /// The number of a record's metric in its benchmark, and by what its numbers are multiplied.
    fn metric(&mut self, cell: usize, record: &Record) -> Result<(usize, f64), String> {
        let said = record.metric.as_deref().unwrap_or_default();
        let benchmark = &self.cells[cell].benchmark;
        let metrics = self.metrics.entry(benchmark.clone()).or_default();
        let plain = legal(said);
        let taken = |name: &str| {
            let mut others = metrics.iter().filter(|(original, _)| *original != said);
            others.any(|(_, metric)| metric.name.as_str() == name)
        };
        let name = unused(&plain, taken);
        let known = named(&self.choices.unit, [said, &name]);
        let of_format = record.unit.as_deref();
        let unit = match (of_format.map(Unit::parse), known) {
            (Some(Ok(usual)), _) if record.usual_unit => {
                let chosen = known.or(for_all(&self.choices.unit)).copied();
                let other = chosen.filter(|chosen| usual.in_terms_of(*chosen).is_none());
                Some(other.unwrap_or(usual))
            }
            (Some(Ok(unit)), _) => Some(unit),
            (_, Some(chosen)) => Some(*chosen),
            (_, None) => for_all(&self.choices.unit).copied(),
        };
        if unit.is_none() {
            self.unitless
                .insert(said.to_owned(), of_format.map(str::to_owned));
        }
        let better = named(&self.choices.better, [said, &name])
            .copied()
            .or(record.better)
            .or_else(|| for_all(&self.choices.better).copied());
        if better.is_none() {
            self.undirected.insert(said.to_owned());
        }
        let about = match &record.about {
            Some(about) => printable(about),
            None if name == said => String::new(),
            None => printable(said),
        };
        let entry = metrics.entry(said.to_owned());
        let number = entry.index();
        let learnt = entry.or_insert(Learnt {
            name: MetricName::new(name).map_err(|error| error.to_string())?,
            // A unit chosen by name is the one that its numbers are shown in.
            unit: known.copied().or(unit),
            better,
            about,
            primary: record.primary,
        });
        if learnt.better.is_some() && better.is_some() && learnt.better != better {
            return Err(format!(
                "`{}` is better `higher` in one place and `lower` in another",
                printable(said)
            ));
        }
        let factor = match (unit, learnt.unit) {
            (Some(unit), Some(kept)) => unit.in_terms_of(kept).ok_or_else(|| {
                format!(
                    "`{}` is in {unit} here, which can't be converted into {kept}",
                    printable(said)
                )
            })?,
            _ => 1.0,
        };
        Ok((number, factor))
    }

    /// Everything, if everything is known.
    pub fn finish(mut self) -> Result<ImportedStudy, ImportError> {
        self.refuse_unknown()?;
        if !self.spared.is_empty() {
            const MOST: usize = 12;
            let names: Vec<String> = (self.spared.iter().take(MOST))
                .map(|name| format!("`{}`", printable(name)))
                .collect();
            let more = if self.spared.len() > MOST {
                ", …"
            } else {
                ""
            };
            self.notes.insert(format!(
                "left alone: {}, whose unit or direction nothing says: {}{more}: say them with --unit 'METRIC=UNIT' and --better 'METRIC=lower'",
                backsight_model::counted(self.spared.len(), "metric"),
                names.join(", ")
            ));
        }
        let (sessions, most) = self.sessions();
        if most > 1 && !self.choices.sessions {
            self.notes.insert(format!(
                "files that say times more than an hour apart are of sessions of their own: {}",
                backsight_model::counted(
                    sessions.iter().max().map_or(0, |last| *last as usize),
                    "session"
                )
            ));
        }
        let mut metrics = IndexMap::new();
        for (benchmark, learnt) in self.metrics {
            // Where nobody says which ones matter, none is kept from raising alarms.
            let unmarked = !learnt.values().any(|metric| metric.primary);
            let learnt = learnt.into_values().filter_map(|metric| {
                Some(ImportedMetric {
                    name: metric.name,
                    unit: metric.unit?,
                    better: metric.better?,
                    about: metric.about,
                    primary: metric.primary || unmarked,
                })
            });
            metrics.insert(benchmark, learnt.collect::<Vec<_>>());
        }
        if self.trials.is_empty() {
            return Err(ImportError::of_all("nothing is left to import")
                .help("leave fewer metrics out (`--without`)"));
        }
        let samples = |cell: &Cell, trial: Trial| {
            if let Some(why) = trial.failed {
                return Err(why);
            }
            let of_cell = &metrics[&cell.benchmark];
            Ok(trial
                .samples
                .into_iter()
                .map(|(metric, (values, each))| {
                    MetricSamples::new(of_cell[metric].name.clone(), values, each)
                })
                .collect())
        };
        let all_named = self.trials.values().all(|trial| trial.host > 0);
        let trials = self
            .trials
            .into_iter()
            .map(|((round, cell), mut trial)| ImportedTrial {
                cell,
                round,
                session: sessions[trial.session as usize - 1],
                host: if all_named { trial.host } else { 0 },
                files: std::mem::take(&mut trial.files),
                outcome: samples(&self.cells[cell], trial),
            })
            .collect();
        let mut hosts: IndexMap<HostName, Facts> = self
            .hosts
            .into_iter()
            .map(|(host, facts)| {
                let facts = facts.into_iter().map(|(fact, values)| {
                    let values: Vec<String> = values.into_iter().collect();
                    (fact, values.join(", then "))
                });
                (host, facts.collect())
            })
            .collect();
        if hosts.is_empty() {
            let elsewhere = HostName::new(HOST).map_err(|e| ImportError::of_all(e.to_string()))?;
            hosts.insert(elsewhere, Facts::new());
        }
        Ok(ImportedStudy {
            files: self.files,
            trials,
            hosts,
            cells: self.cells,
            notes: self.notes.into_iter().collect(),
            metrics,
        })
    }

    fn refuse_unknown(&self) -> Result<(), ImportError> {
        let quoted = |names: Vec<&String>| {
            let names: Vec<String> = names
                .into_iter()
                .map(|name| format!("`{}`", printable(name)))
                .collect();
            names.join(", ")
        };
        let first = |names: Vec<&String>| names.first().map_or(String::new(), |n| printable(n));
        if !self.unitless.is_empty() {
            let names: Vec<&String> = self.unitless.keys().collect();
            let unknown: Vec<String> = self
                .unitless
                .iter()
                .map(|(name, said)| match said {
                    Some(said) => format!("`{}` (`{}`)", printable(name), printable(said)),
                    None => format!("`{}`", printable(name)),
                })
                .collect();
            return Err(ImportError::of_all(format!(
                "the unit of {} isn't one that is known",
                unknown.join(", ")
            ))
            .help(format!(
                "say it: --unit '{}=UNIT' (s, ms, B, MB/s, ops/s, count, ratio, …), or --unit UNIT for all; or leave it out: --without '{}'",
                first(names.clone()),
                first(names)
            )));
        }
        if !self.undirected.is_empty() {
            let names: Vec<&String> = self.undirected.iter().collect();
            return Err(ImportError::of_all(format!(
                "nothing says which direction is good for {}",
                quoted(names.clone())
            ))
            .help(format!(
                "say it: --better '{}=lower' or '{}=higher', or --better lower for all; or leave it out: --without '{}'",
                first(names.clone()),
                first(names.clone()),
                first(names)
            )));
        }
        let unseen = |asked: &String| {
            !self.left_out.contains(asked)
                && !self.metrics.values().any(|metrics| {
                    metrics.contains_key(asked)
                        || metrics.values().any(|m| m.name.as_str() == asked)
                })
        };
        let better = self.choices.better.iter().filter_map(|c| c.metric.as_ref());
        let unit = self.choices.unit.iter().filter_map(|c| c.metric.as_ref());
        let without = self.choices.without.iter();
        if let Some(asked) = better
            .chain(unit)
            .chain(without)
            .find(|asked| unseen(asked))
        {
            let known: IndexSet<&String> = self.metrics.values().flat_map(|m| m.keys()).collect();
            let known: Vec<&String> = known.into_iter().collect();
            let near = backsight_model::did_you_mean(asked, known.iter().map(|n| n.as_str()));
            return Err(
                ImportError::of_all(format!("there is no metric `{}`", printable(asked)))
                    .help(near.unwrap_or_else(|| format!("there are {}", quoted(known)))),
            );
        }
        Ok(())
    }
}

/// A name of ours that is nearest to a text: other characters become `-`, and it ends where names end.
fn legal(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
    let mut name = String::new();
    for c in text.chars() {
        if name.len() == LONGEST {
            break;
        }
        if fits(c) && (!name.is_empty() || c.is_ascii_alphanumeric()) {
            name.push(c);
        } else if !fits(c) && !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() {
        "unnamed".to_owned()
    } else {
        name.to_owned()
    }
}

/// The name, or the name with the first number behind it that isn't taken.
fn unused(name: &str, taken: impl Fn(&str) -> bool) -> String {
    if !taken(name) {
        return name.to_owned();
    }
    let short = &name[..name.len().min(LONGEST - 8)];
    (2..)
        .map(|number: u32| format!("{short}-{number}"))
        .find(|name| !taken(name))
        .unwrap_or_default()
}

fn param_name(text: &str, taken: &IndexMap<ParamName, Value>) -> Result<ParamName, String> {
    let name = unused(&legal(text), |name| taken.contains_key(name));
    ParamName::new(name).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_become_ones_that_can_be_ours() {
        assert_eq!(legal("sleep 0.1"), "sleep-0.1");
        assert_eq!(legal("BM_Fill/8"), "BM_Fill-8");
        assert_eq!(legal("ns/op"), "ns-op");
        assert_eq!(legal("../../etc"), "etc");
        assert_eq!(legal("ä ö"), "unnamed");
        assert_eq!(legal(&"x".repeat(100)).len(), 64);
        assert_eq!(unused("a", |name| name == "a" || name == "a-2"), "a-3");
    }

    proptest! {
        #[test]
        fn any_text_becomes_a_name(text in ".{0,100}") {
            prop_assert!(BenchmarkName::new(legal(&text)).is_ok(), "{}", legal(&text));
        }
    }
}
