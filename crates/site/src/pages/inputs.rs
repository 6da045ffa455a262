//! What pages are made of, as fingerprints: a publisher makes no page anew whose inputs are those of the page that is there.
//!
//! Pages of versions, of what lies between two, and of boots have them: a long history has thousands, of which a new version
//! changes a few. All else is made each time. A fingerprint says more than the page needs rather than less; types are taken
//! apart without `..`, so that a field that is added must be decided on here. Raw outputs that were pruned or are there again
//! are no part of it: the folder looks for them.

use backsight_model::{Boot, Build, HistoryTrial, StudyHistory, StudyState};
use backsight_policy::{
    BootSamples, BuildSamples, LevelSpread, RepeatCounts, TrialValues, VersionPoint,
};
use backsight_store::program_identity;
use std::{collections::HashMap, fmt, io::Write as _, str::FromStr};

use super::{
    address::{self, PageAt},
    book::{Book, Here},
    changes::{ShownChange, change_sentences},
    site::Site,
    site_page::Page,
};

/// All that a page is made of, and the program that makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(u128);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u128::from_str_radix(text, 16).map(Self)
    }
}

/// Collects inputs.
#[derive(Clone, Default)]
struct Inputs(blake3::Hasher);

impl Inputs {
    /// Values of which few are taken: their debug form has all that they are.
    fn add(&mut self, value: impl fmt::Debug) {
        // A hasher takes everything.
        let _ = writeln!(self.0, "{value:?}");
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u128 {
        let hash = self.0.finalize();
        let half = hash.as_bytes().first_chunk::<16>();
        half.map_or(0, |half| u128::from_le_bytes(*half))
    }
}

impl Site<'_> {
    /// The fingerprints of those pages that have one, by their addresses.
    pub(super) fn fingerprints(&self) -> HashMap<String, Fingerprint> {
        let Some(program) = program_identity() else {
            return HashMap::new();
        };
        let mut start = Inputs::default();
        start.add(program);
        let books: Vec<BookInputs<'_>> = self.books.iter().map(BookInputs::new).collect();
        let pages = self.pages.iter().filter_map(|(address, page)| {
            let mut inputs = start.clone();
            inputs.add(address);
            match *page {
                Page::Version(book, at) => books[book].add_version_page(&mut inputs, at),
                Page::Interval(book, from, to) => {
                    inputs.add(self.sources.get(&self.books[book].target)?);
                    books[book].add_interval_page(&mut inputs, from, to)?;
                }
                Page::Boot(book, study, boot) => {
                    let study = &self.books[book].studies[study];
                    if study.state == StudyState::Running {
                        return None;
                    }
                    books[book].add_boot_page(&mut inputs, study, &study.boots[boot]);
                }
                _ => return None,
            }
            Some((address.clone(), Fingerprint(inputs.finish())))
        });
        pages.collect()
    }
}

/// What several pages of a book are made of.
struct BookInputs<'a> {
    book: &'a Book,
    /// By version: what was measured.
    measured: Vec<u128>,
    /// By study and boot: the boot.
    boots: HashMap<(i64, u32), u128>,
    /// By study and boot: its trials.
    trials: HashMap<(i64, u32), Inputs>,
    /// By series: its changes as pages tell them.
    changes: Vec<Vec<ShownChange>>,
}

impl<'a> BookInputs<'a> {
    fn new(book: &'a Book) -> Self {
        let here = Here {
            book,
            page: PageAt {
                address: address::HOME,
                is_live: false,
                is_controlled: false,
            },
        };
        let mut measured = vec![Inputs::default(); book.history.versions.len()];
        let mut bytes = Vec::new();
        for (number, series) in book.history.series.iter().enumerate() {
            let mut name = Inputs::default();
            name.add((series.name(), book.words(number).scale(), &series.metric));
            let name = name.finish().to_le_bytes();
            for point in &series.points {
                bytes.clear();
                bytes.extend(name);
                add_point(&mut bytes, point);
                measured[point.version].bytes(&bytes);
            }
        }
        let mut boots = HashMap::new();
        let mut trials: HashMap<(i64, u32), Inputs> = HashMap::new();
        for study in &book.studies {
            for boot in &study.boots {
                let mut inputs = Inputs::default();
                inputs.add(boot);
                boots.insert((study.study, boot.number), inputs.finish());
            }
            for trial in &study.trials {
                let of_boot = trials.entry((study.study, trial.boot)).or_default();
                bytes.clear();
                add_trial(&mut bytes, trial);
                of_boot.bytes(&bytes);
                of_boot.add(&trial.failure);
            }
        }
        let series = book.history.series.iter();
        Self {
            book,
            measured: measured.iter().map(Inputs::finish).collect(),
            boots,
            trials,
            changes: series
                .map(|series| change_sentences(here, series))
                .collect(),
        }
    }

    /// A version as links to it and its own page show it.
    fn add_version(&self, inputs: &mut Inputs, at: usize) {
        inputs.add((self.book.version_part(at), &self.book.history.versions[at]));
    }

    fn add_boot(&self, inputs: &mut Inputs, study: &StudyHistory, boot: &Boot) {
        inputs.add(self.boots.get(&(study.study, boot.number)));
        if let Some(trials) = self.trials.get(&(study.study, boot.number)) {
            inputs.add(trials.finish());
        }
    }

    /// What was built of a version, with its boots.
    fn add_builds(&self, inputs: &mut Inputs, at: usize) {
        for of in self.book.builds(at) {
            add_study(inputs, of.study);
            inputs.add(of.build);
            let boots = of.study.boots.iter();
            for boot in boots.filter(|boot| boot.build == of.build.number) {
                self.add_boot(inputs, of.study, boot);
            }
        }
    }

    fn add_version_page(&self, inputs: &mut Inputs, at: usize) {
        let (before, after) = (self.book.before(at), self.book.after(at));
        for at in [Some(at), before, after] {
            inputs.add(at.is_some());
            if let Some(at) = at {
                self.add_version(inputs, at);
            }
        }
        inputs.add((self.measured[at], self.book.notes_at(at)));
        for at in [Some(at), before].into_iter().flatten() {
            self.add_builds(inputs, at);
        }
    }

    /// None where something changed there: the comparison on the page is judged by the series' other versions too.
    fn add_interval_page(&self, inputs: &mut Inputs, from: usize, to: usize) -> Option<()> {
        for at in from..=to {
            self.add_version(inputs, at);
        }
        inputs.add((self.measured[from], self.measured[to]));
        for change in self.changes.iter().flatten() {
            if change.after.unwrap_or(0) < to && from < change.until {
                if change.believed {
                    return None;
                }
                inputs.add(change);
            }
        }
        Some(())
    }

    fn add_boot_page(&self, inputs: &mut Inputs, study: &StudyHistory, boot: &Boot) {
        add_study(inputs, study);
        let mut builds = study.builds.iter();
        let build: Option<&Build> = builds.find(|build| build.number == boot.build);
        inputs.add(build);
        if let Some(at) = build.and_then(|build| self.book.place(study, build)) {
            self.add_version(inputs, at);
        }
        self.add_boot(inputs, study, boot);
    }
}

/// Which study it is: numbers and names of deleted ones are given again.
fn add_study(inputs: &mut Inputs, study: &StudyHistory) {
    inputs.add((study.study, &study.name, study.began));
}

fn add_number(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend(number.to_le_bytes());
}

fn add_float(bytes: &mut Vec<u8>, number: Option<f64>) {
    bytes.push(u8::from(number.is_some()));
    add_number(bytes, number.map_or(0, f64::to_bits));
}

fn add_spread(bytes: &mut Vec<u8>, spread: Option<LevelSpread>) {
    add_float(bytes, spread.map(|spread| spread.deviation));
    add_number(bytes, spread.map_or(0, |spread| spread.freedom as u64));
}

fn add_point(bytes: &mut Vec<u8>, point: &VersionPoint) {
    let VersionPoint {
        version: _,
        builds,
        value,
        level,
        interval,
        alike,
        again,
        reboot,
        relink,
        unstable,
        drift,
        counts,
    } = point;
    for number in [
        *value,
        interval.map(|interval| interval.low),
        interval.map(|interval| interval.high),
        *drift,
    ] {
        add_float(bytes, number);
    }
    for spread in [again, reboot, relink] {
        add_spread(bytes, *spread);
    }
    let level = level.map_or(0, |level| 1 + level as u8);
    bytes.extend([u8::from(*alike), u8::from(*unstable), level]);
    let RepeatCounts {
        layouts,
        builds: built,
        boots,
        sessions,
        trials,
        samples,
        failed,
    } = *counts;
    for count in [layouts, built, boots, sessions, trials, samples, failed] {
        add_number(bytes, count as u64);
    }
    for BuildSamples { layout, key, boots } in builds {
        let _ = write!(bytes, "{layout:?}{key:?}");
        for BootSamples { ordinal, trials } in boots {
            add_number(bytes, u64::from(*ordinal));
            for TrialValues {
                study,
                trial,
                values,
            } in trials
            {
                add_number(bytes, study.unsigned_abs());
                add_number(bytes, u64::from(*trial));
                add_number(bytes, values.len() as u64);
                values
                    .iter()
                    .for_each(|value| add_float(bytes, Some(*value)));
            }
        }
    }
}

/// Without its failure. Its samples don't change.
fn add_trial(bytes: &mut Vec<u8>, trial: &HistoryTrial) {
    let HistoryTrial {
        number,
        boot: _,
        cell,
        round,
        began,
        took,
        failure: _,
        samples: _,
        neighbours,
    } = trial;
    add_number(bytes, u64::from(*number));
    add_number(bytes, *cell as u64);
    add_number(bytes, u64::from(*round));
    bytes.extend(began.as_nanosecond().to_le_bytes());
    bytes.extend(took.as_nanos().to_le_bytes());
    add_float(bytes, Some(*neighbours));
}
