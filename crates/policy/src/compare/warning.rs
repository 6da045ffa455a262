//! Warnings to read before believing a comparison. Each says what it is about and how often, instead of once a row.

use backsight_model::{
    EXPLAINING_WEIGHT, HostName, HostRecordMap, MonitorName, ResultSet, Simulator, StudyName,
    StudyState, counted, differences_of_hosts, numbers,
};
use backsight_stats::{Interval, Level, Undefined, UnrepeatedVariation};
use indexmap::IndexMap;
use std::fmt;

use super::{
    Comparison, ComparisonRow, DefinitionChange, Difference, MeasuredEntry, MissingReason,
    NotComparable, Origin, RowEntry, definition,
};

/// Shares of the processors that others took may differ by so much, in parts of one, before it is said.
const MAX_NEIGHBOUR_DIFFERENCE: f64 = 0.05;

/// Something that a reader should know. Its text is a sentence that says what it means.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// The sides weren't measured the same way.
    Definition {
        /// The side.
        side: String,
        /// The baseline's name.
        base: String,
        /// What differs.
        change: DefinitionChange,
        /// In how many rows.
        rows: usize,
        /// Whether they are compared all the same.
        despite: bool,
    },
    /// Other programs had more of the processors on one side.
    Neighbours {
        /// The side, and the baseline.
        side: String,
        /// The baseline's name.
        base: String,
        /// Their shares in these rows, mean, from 0 to 1.
        share: f64,
        /// The baseline's.
        base_share: f64,
        /// In how many rows.
        rows: usize,
    },
    /// Sides have different numbers of trials.
    UnequalTrials {
        /// The side.
        side: String,
        /// The baseline's name.
        base: String,
        /// In how many rows.
        rows: usize,
        /// The numbers of the row where they differ most: baseline's and side's.
        most: (usize, usize),
    },
    /// Trials failed.
    Failed {
        /// The side.
        side: String,
        /// How many.
        failed: usize,
        /// Of how many.
        of: usize,
    },
    /// A fact about hosts isn't the same.
    Fact {
        /// The side.
        side: String,
        /// The baseline's name.
        base: String,
        /// The hosts of which it is said.
        hosts: Vec<HostName>,
        /// Which fact.
        fact: String,
        /// The baseline's; `None` if it isn't known.
        was: Option<String>,
        /// The side's.
        is: Option<String>,
        /// Why it may explain a difference, where that is known.
        reason: Option<&'static str>,
    },
    /// More facts about hosts aren't the same, which explain numbers less often.
    MoreFacts {
        /// The side.
        side: String,
        /// The baseline's name.
        base: String,
        /// How many.
        facts: usize,
    },
    /// The machine was started anew between the sides.
    AnotherBoot {
        /// The side.
        side: String,
        /// The baseline's name.
        base: String,
    },
    /// Hosts are what was repeated.
    Hosts {
        /// The side.
        side: String,
        /// The baseline's name.
        base: String,
        /// In how many rows.
        rows: usize,
        /// How many hosts of each were compared, of the row that has fewest: the baseline and the side.
        hosts: (usize, usize),
        /// Whether each host was compared with itself.
        paired: bool,
    },
    /// Hosts that only one side has.
    OtherHosts {
        /// The side.
        side: String,
        /// The baseline's name.
        base: String,
        /// Hosts that only the baseline has.
        gone: Vec<HostName>,
        /// Hosts that only the side has.
        new: Vec<HostName>,
        /// What that is for the differences.
        means: OtherHosts,
    },
    /// There is one trial only, so that nothing is known of how the next one would differ.
    OneTrial {
        /// The side.
        side: String,
        /// In how many rows.
        rows: usize,
    },
    /// Sides have no session in common, and one of them has a single one.
    Sessions {
        /// The side.
        side: String,
        /// The baseline's name.
        base: String,
        /// In how many rows.
        rows: usize,
        /// How many sessions each has: the baseline and the side.
        sessions: (usize, usize),
        /// From how many sessions of how many studies it is known how much they differ, in the row that has fewest; none if a
        /// row has none.
        known: Option<(usize, usize)>,
    },
    /// A side has single runs, and other runs tell how much they differ.
    KnownRuns {
        /// The side.
        side: String,
        /// In how many rows.
        rows: usize,
        /// From how many runs of how many studies, in the row that has fewest.
        known: (usize, usize),
    },
    /// Trials gave several samples each, which were averaged.
    Averaged {
        /// In how many rows.
        rows: usize,
    },
    /// Rates that are zero or negative have no harmonic mean.
    NoHarmonicMean {
        /// In how many rows.
        rows: usize,
    },
    /// A simulator counted, on any side.
    Simulated {
        /// Which.
        simulator: Simulator,
        /// In how many rows.
        rows: usize,
    },
    /// A study isn't finished.
    Unfinished {
        /// The study.
        study: StudyName,
        /// How many rows have nothing yet.
        rows: usize,
    },
    /// Something was said of trials while they were measured: a condition of validity that didn't hold, numbers that disagree.
    Trials {
        /// The study.
        study: StudyName,
        /// Of how many trials it was said.
        trials: usize,
        /// Of how many that gave samples.
        of: usize,
        /// What was said, of the first of them.
        said: String,
    },
    /// A monitor watched whose cost is known.
    Watched {
        /// The side.
        side: String,
        /// The monitor.
        monitor: MonitorName,
        /// The cell and metric that it costs most of.
        row: String,
        /// watched − unwatched in percent of the unwatched.
        percent: f64,
        /// Its interval.
        interval: Interval,
        /// Whether it makes it worse.
        worse: bool,
        /// How many more rows it costs something of.
        more: usize,
        /// The study that found it.
        study: StudyName,
    },
    /// A study was measured until it was decided, so that its answers are those that allow for the looks.
    Looks {
        /// The study.
        study: StudyName,
        /// Up to how many percent a difference was no matter.
        margin_percent: f64,
    },
    /// Series that have nothing of what a set was split by.
    LeftOut {
        /// What it was split by.
        by: String,
        /// The series.
        rows: Vec<String>,
    },
}

/// What hosts that only one side has are for the differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherHosts {
    /// What was measured on them is left out: the sides have others in common.
    LeftOut,
    /// The sides have none in common: a difference is also that of the hosts.
    InDifference,
    /// Which trial was measured on which isn't known.
    Unknown,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Watched {
                side,
                monitor,
                row,
                percent,
                interval,
                worse,
                more,
                study,
            } => {
                let size = numbers::percent_in(*percent, Some(*interval));
                let word = if *worse { "worse" } else { "better" };
                write!(
                    f,
                    "`{side}` was watched by `{monitor}`, which makes {row} {word}, by {size}, on this machine (`{study}`)"
                )?;
                match more {
                    0 => Ok(()),
                    more => write!(f, ", and {} besides", counted(*more, "metric")),
                }
            }
            Self::Trials {
                study,
                trials,
                of,
                said,
            } => write!(
                f,
                "{trials} of {} of `{study}`: {said}",
                counted(*of, "trial")
            ),
            Self::Definition {
                side,
                base,
                change,
                rows,
                despite,
            } => write!(
                f,
                "`{base}` and `{side}` weren't measured the same way: {change} ({})",
                definition::consequence(*rows, *despite)
            ),
            Self::Neighbours {
                side,
                base,
                share,
                base_share,
                rows,
            } => write!(
                f,
                "noisy neighbours: other programs took {:.0} % of the processors while `{side}` was measured and {:.0} % \
                 with `{base}` ({}): a difference may be theirs",
                share * 100.0,
                base_share * 100.0,
                counted(*rows, "row")
            ),
            Self::UnequalTrials {
                side,
                base,
                rows,
                most: (of_base, of_side),
            } => write!(
                f,
                "`{base}` and `{side}` were not measured equally often in {} (at most {of_base} and {of_side} times)",
                counted(*rows, "row")
            ),
            Self::Failed { side, failed, of } => {
                write!(
                    f,
                    "`{side}`: {failed} of {} failed and gave no samples",
                    counted(*of, "trial")
                )
            }
            Self::Fact {
                side,
                base,
                hosts,
                fact,
                was,
                is,
                reason,
            } => {
                let (was, is, hosts) = (known(was), known(is), listed(hosts));
                write!(
                    f,
                    "{fact} differs: {was} with `{base}`, {is} with `{side}` ({hosts})"
                )?;
                reason.map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
            Self::MoreFacts { side, base, facts } => write!(
                f,
                "{} of the hosts, which seldom matter: `backsight record --diff {base} {side} --all` shows them",
                match facts {
                    1 => "1 more value differs".to_owned(),
                    facts => format!("{facts} more values differ"),
                }
            ),
            Self::AnotherBoot { side, base } => write!(
                f,
                "`{side}` was measured in another boot than `{base}`: this compares one boot with one boot"
            ),
            Self::Hosts {
                side,
                base,
                rows,
                hosts,
                paired,
            } => {
                let rows = counted(*rows, "row");
                match hosts {
                    (of_base, of_side) if of_base == of_side => write!(
                        f,
                        "{of_base} hosts a side (`{base}` and `{side}`, {rows}): "
                    )?,
                    (of_base, of_side) => write!(
                        f,
                        "{of_base} hosts of `{base}` and {of_side} of `{side}` ({rows}): "
                    )?,
                }
                match paired {
                    true => f.write_str(
                        "each host is compared with itself and counts once; a difference in percent is the geometric mean of theirs",
                    ),
                    false => f.write_str(
                        "each host counts once, and how much hosts differ is a part of the noise: measure both sides on the \
                         same hosts to see smaller changes",
                    ),
                }
            }
            Self::OtherHosts {
                side,
                base,
                gone,
                new,
                means,
            } => {
                let only = [(base, gone), (side, new)];
                let only = only.into_iter().filter(|(_, hosts)| !hosts.is_empty());
                let only = only.map(|(name, hosts)| format!("only `{name}` has {}", listed(hosts)));
                let only: Vec<String> = only.collect();
                write!(f, "hosts differ: {}", only.join(", "))?;
                match means {
                    OtherHosts::LeftOut => {
                        f.write_str("; what was measured there is left out of the differences")
                    }
                    OtherHosts::InDifference => f.write_str(
                        "; a difference is also that of these hosts: measure both sides on one to leave it out",
                    ),
                    OtherHosts::Unknown => Ok(()),
                }
            }
            Self::OneTrial { side, rows } => write!(
                f,
                "`{side}` has a single trial in {}: how the next one would differ isn't known (a spread \
                 in brackets is that within it); measure more rounds",
                counted(*rows, "row")
            ),
            Self::Sessions {
                side,
                base,
                rows,
                sessions,
                known,
            } => {
                let rows = counted(*rows, "row");
                match sessions {
                    (1, 1) => write!(f, "1 session a side (`{base}` and `{side}`, {rows}): ")?,
                    (1, _) => write!(f, "1 session of `{base}` ({rows}): ")?,
                    _ => write!(f, "1 session of `{side}` ({rows}): ")?,
                }
                match known {
                    Some((sessions, studies)) => write!(
                        f,
                        "a difference is judged by how much {} of {} differ",
                        counted(*sessions, "session"),
                        studies_of(*studies)
                    ),
                    None => f.write_str(
                        "how much sessions differ isn't known, so they are taken to differ as much as single runs of one do; \
                         measure both in turn (variants of one study), or several sessions of one, to see smaller changes",
                    ),
                }
            }
            Self::KnownRuns {
                side,
                rows,
                known: (runs, studies),
            } => write!(
                f,
                "1 run a side (`{side}`, {}): a difference is judged by how much {} of {} differ",
                counted(*rows, "row"),
                counted(*runs, "run"),
                studies_of(*studies)
            ),
            Self::Averaged { rows } => write!(
                f,
                "{}: trials gave several samples each; those of one trial are averaged to one value first",
                counted(*rows, "row")
            ),
            Self::NoHarmonicMean { rows } => write!(
                f,
                "{}: a rate of zero has no harmonic mean; the arithmetic mean is shown",
                counted(*rows, "row")
            ),
            Self::Simulated { simulator, rows } => {
                write!(f, "{}: {}", counted(*rows, "row"), simulator.meaning())
            }
            Self::Unfinished { study, rows } => write!(
                f,
                "study `{study}` isn't finished{}; `backsight resume {study}` goes on",
                match rows {
                    0 => String::new(),
                    1 => ": 1 row has nothing yet".to_owned(),
                    rows => format!(": {rows} rows have nothing yet"),
                }
            ),
            Self::Looks {
                study,
                margin_percent,
            } => write!(
                f,
                "`{study}` was measured until it was decided: answers and intervals are those that hold at every look, for a \
                 margin of {margin_percent} %; there are no p-values of them"
            ),
            Self::LeftOut { by, rows } => write!(
                f,
                "{} no `{by}` and not in this comparison: {}",
                if rows.len() == 1 {
                    "1 series has".to_owned()
                } else {
                    format!("{} series have", rows.len())
                },
                shortened(rows)
            ),
        }
    }
}

fn studies_of(number: usize) -> String {
    match number {
        1 => "1 study".to_owned(),
        _ => format!("{number} studies"),
    }
}

fn known(value: &Option<String>) -> String {
    match value {
        Some(value) => format!("`{value}`"),
        None => "unknown".to_owned(),
    }
}

fn listed(hosts: &[HostName]) -> String {
    let names: Vec<&str> = hosts.iter().map(|host| host.as_str()).collect();
    names.join(", ")
}

fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut text = names
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

/// Every warning about a comparison of these sets, the gravest first.
pub(super) fn all(sets: &[ResultSet], comparison: &Comparison) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let others = 1..sets.len();
    for side in &comparison.sides {
        if side.failed > 0 {
            warnings.push(Warning::Failed {
                side: side.name.clone(),
                failed: side.failed,
                of: side.failed + side.measured,
            });
        }
    }
    for side in others.clone() {
        warnings.extend(definitions(sets, comparison, side));
    }
    warnings.extend(unfinished(sets, comparison));
    warnings.extend(
        others
            .clone()
            .filter_map(|side| neighbours(comparison, side)),
    );
    for side in others.clone() {
        // Parts of one study share its hosts.
        if sets[side].study != sets[0].study {
            let means = other_hosts(&comparison.sides[0].hosts, &comparison.sides[side].hosts);
            warnings.extend(hosts(&sets[0], &sets[side], means));
        }
    }
    if comparison.origin == Origin::Studies {
        warnings.extend((0..sets.len()).filter_map(|side| one_trial(comparison, side)));
        warnings.extend(
            others
                .clone()
                .filter_map(|side| known_runs(comparison, side)),
        );
        warnings.extend(others.clone().filter_map(|side| sessions(comparison, side)));
        warnings.extend(
            others
                .clone()
                .flat_map(|side| repeated_hosts(comparison, side)),
        );
    }
    warnings.extend(others.filter_map(|side| unequal_trials(comparison, side)));
    let of_rows =
        |holds: fn(&ComparisonRow) -> bool| comparison.rows.iter().filter(|row| holds(row)).count();
    let averaged = of_rows(|row| entries(row).any(|side| side.samples > side.trials));
    if averaged > 0 {
        warnings.push(Warning::Averaged { rows: averaged });
    }
    let no_harmonic = of_rows(|row| {
        row.better == backsight_stats::Better::Higher
            && row.mean == backsight_stats::Mean::Arithmetic
            && entries(row).next().is_some()
    });
    if no_harmonic > 0 {
        warnings.push(Warning::NoHarmonicMean { rows: no_harmonic });
    }
    let mut simulated: IndexMap<Simulator, usize> = IndexMap::new();
    for simulator in comparison.rows.iter().filter_map(|row| row.simulator) {
        *simulated.entry(simulator).or_default() += 1;
    }
    let simulated = simulated.into_iter();
    warnings.extend(simulated.map(|(simulator, rows)| Warning::Simulated { simulator, rows }));
    warnings
}

fn entries(row: &ComparisonRow) -> impl Iterator<Item = &MeasuredEntry> {
    row.entries.iter().filter_map(RowEntry::measured)
}

/// Rows in which both the baseline and this side have something.
fn pairs(
    comparison: &Comparison,
    side: usize,
) -> impl Iterator<Item = (&MeasuredEntry, &MeasuredEntry)> {
    comparison
        .rows
        .iter()
        .filter_map(move |row| Some((row.entries[0].measured()?, row.entries[side].measured()?)))
}

/// One for each study, of which several sides may be parts.
fn unfinished(sets: &[ResultSet], comparison: &Comparison) -> Vec<Warning> {
    let mut studies: IndexMap<i64, Vec<usize>> = IndexMap::new();
    for (side, set) in sets.iter().enumerate() {
        if set.state != StudyState::Finished {
            studies.entry(set.study).or_default().push(side);
        }
    }
    let nothing_yet = |row: &ComparisonRow, sides: &[usize]| {
        let entries = sides.iter().map(|side| &row.entries[*side]);
        entries
            .into_iter()
            .any(|entry| matches!(entry, RowEntry::Missing(MissingReason::NotYet)))
    };
    studies
        .into_values()
        .map(|sides| Warning::Unfinished {
            study: sets[sides[0]].study_name.clone(),
            rows: comparison
                .rows
                .iter()
                .filter(|row| nothing_yet(row, &sides))
                .count(),
        })
        .collect()
}

/// One for each part of how a side was measured that differs from the baseline and concerns a row that both have.
fn definitions(sets: &[ResultSet], comparison: &Comparison, side: usize) -> Vec<Warning> {
    let both = |row: &&ComparisonRow| {
        row.entries[0].measured().is_some() && row.entries[side].measured().is_some()
    };
    let changes = definition::changes(&sets[0], &sets[side]).into_iter();
    let warnings = changes.filter_map(|change| {
        let concerned = |row: &&ComparisonRow| change.concerns(&row.cell, row.metric.as_str());
        let rows = comparison
            .rows
            .iter()
            .filter(both)
            .filter(concerned)
            .count();
        (rows > 0).then(|| Warning::Definition {
            side: comparison.sides[side].name.clone(),
            base: comparison.sides[0].name.clone(),
            change,
            rows,
            despite: comparison.options.other_definitions,
        })
    });
    warnings.collect()
}

fn neighbours(comparison: &Comparison, side: usize) -> Option<Warning> {
    let apart: Vec<(f64, f64)> = pairs(comparison, side)
        .map(|(base, new)| (base.neighbours, new.neighbours))
        .filter(|(base, new)| (base - new).abs() >= MAX_NEIGHBOUR_DIFFERENCE)
        .collect();
    let rows = apart.len();
    let mean = |of: fn(&(f64, f64)) -> f64| apart.iter().map(of).sum::<f64>() / rows as f64;
    (rows > 0).then(|| Warning::Neighbours {
        side: comparison.sides[side].name.clone(),
        base: comparison.sides[0].name.clone(),
        share: mean(|(_, new)| *new),
        base_share: mean(|(base, _)| *base),
        rows,
    })
}

fn one_trial(comparison: &Comparison, side: usize) -> Option<Warning> {
    let single = |row: &&ComparisonRow| {
        row.entries[side]
            .measured()
            .is_some_and(|side| side.trials == 1)
    };
    let rows = comparison.rows.iter().filter(single).count();
    (rows > 0).then(|| Warning::OneTrial {
        side: comparison.sides[side].name.clone(),
        rows,
    })
}

/// The smallest count of what is known in some rows; none if one of them knows nothing.
fn least_known(differences: &[&Difference]) -> Option<(usize, usize)> {
    let known: Option<Vec<(usize, usize)>> = differences
        .iter()
        .map(|difference| difference.known.map(|known| (known.units, known.studies)))
        .collect();
    known?.into_iter().min()
}

fn known_runs(comparison: &Comparison, side: usize) -> Option<Warning> {
    let single: Vec<&Difference> = differences(comparison, side)
        .filter(|difference| {
            difference
                .known
                .is_some_and(|known| known.level == Level::Trial)
        })
        .collect();
    Some(Warning::KnownRuns {
        side: comparison.sides[side].name.clone(),
        rows: single.len(),
        known: least_known(&single)?,
    })
}

fn sessions(comparison: &Comparison, side: usize) -> Option<Warning> {
    let apart: Vec<&Difference> = differences(comparison, side)
        .filter(|difference| match difference.verdict.beyond {
            UnrepeatedVariation::Nothing => false,
            // What doesn't vary at all doesn't vary between sessions either.
            UnrepeatedVariation::LikeUnits => difference.verdict.p != Err(Undefined::NoSpread),
            UnrepeatedVariation::Known(_) => difference
                .known
                .is_some_and(|known| known.level == Level::Session),
        })
        .collect();
    let of = |side: usize| comparison.sides[side].sessions;
    (!apart.is_empty()).then(|| Warning::Sessions {
        side: comparison.sides[side].name.clone(),
        base: comparison.sides[0].name.clone(),
        rows: apart.len(),
        sessions: (of(0), of(side)),
        known: least_known(&apart),
    })
}

/// One of rows in which each host was compared with itself, one of the others.
fn repeated_hosts(comparison: &Comparison, side: usize) -> Vec<Warning> {
    let of = |paired: bool| {
        let of_hosts = differences(comparison, side)
            .map(|difference| &difference.verdict)
            .filter(|verdict| verdict.level == Level::Host && verdict.paired == paired);
        let hosts: Vec<(usize, usize)> = of_hosts.map(|verdict| verdict.units).collect();
        Some(Warning::Hosts {
            side: comparison.sides[side].name.clone(),
            base: comparison.sides[0].name.clone(),
            rows: hosts.len(),
            hosts: *hosts.iter().min()?,
            paired,
        })
    };
    [true, false].into_iter().filter_map(of).collect()
}

/// What hosts that only one of two sides has are for the differences: as [`on_common_hosts`](backsight_stats::on_common_hosts)
/// does it, from the hosts of all rows.
fn other_hosts(base: &[HostName], new: &[HostName]) -> OtherHosts {
    let common = base.iter().filter(|host| new.contains(host)).count();
    match common {
        _ if base.is_empty() || new.is_empty() => OtherHosts::Unknown,
        0 => OtherHosts::InDifference,
        1 if base.len() > 1 && new.len() > 1 => OtherHosts::Unknown,
        _ => OtherHosts::LeftOut,
    }
}

fn differences(comparison: &Comparison, side: usize) -> impl Iterator<Item = &Difference> {
    let rows = comparison.rows.iter();
    rows.filter_map(move |row| row.entries[side].difference())
}

fn unequal_trials(comparison: &Comparison, side: usize) -> Option<Warning> {
    let unequal: Vec<(usize, usize)> = pairs(comparison, side)
        .map(|(base, new)| (base.trials, new.trials))
        .filter(|(base, new)| base != new)
        .collect();
    let most = *unequal
        .iter()
        .max_by_key(|(base, new)| base.abs_diff(*new))?;
    Some(Warning::UnequalTrials {
        side: comparison.sides[side].name.clone(),
        base: comparison.sides[0].name.clone(),
        rows: unequal.len(),
        most,
    })
}

/// Facts about a host without which its numbers are another machine's.
const MACHINE: [&str; 3] = ["architecture", "cpu.model", "cpus"];

/// Whether two sets were measured on one kind of machine, as far as is known: a host of each has the same processors.
pub fn same_machine(a: &ResultSet, b: &ResultSet) -> bool {
    let facts = |set: &ResultSet| -> Vec<[Option<String>; 3]> {
        let hosts = set.hosts.values();
        let of_host = hosts.map(|facts| MACHINE.map(|fact| facts.get(fact).cloned()));
        of_host
            .filter(|facts| facts.iter().all(Option::is_some))
            .collect()
    };
    let known = facts(a);
    facts(b).iter().any(|facts| known.contains(facts))
}

/// The first of these facts that differs on a host that both sets have.
pub(super) fn other_machine(base: &ResultSet, new: &ResultSet) -> Option<NotComparable> {
    if base.study == new.study {
        return None;
    }
    let both = base
        .hosts
        .iter()
        .filter_map(|(host, was)| Some((was, new.hosts.get(host)?)));
    both.flat_map(|(was, is)| MACHINE.map(|fact| (fact, was.get(fact), is.get(fact))))
        .find_map(|(fact, was, is)| match (was, is) {
            (Some(was), Some(is)) if was != is => Some(NotComparable::Machine {
                fact: fact.to_owned(),
                base: was.clone(),
                new: is.clone(),
            }),
            _ => None,
        })
}

/// Facts that are told of a side at most, where its hosts were recorded in full.
const MOST_FACTS: usize = 8;

impl Comparison {
    /// Says what differs between the hosts by their records, one map a side, in place of what the facts alone say: what explains
    /// numbers most often first.
    pub fn tell_of_hosts(&mut self, records: &[HostRecordMap]) {
        let [of_base, others @ ..] = records else {
            return;
        };
        for (at, of_side) in others.iter().enumerate() {
            if of_base.is_empty() || of_side.is_empty() {
                continue;
            }
            let [base, side] = [0, at + 1].map(|side| self.sides[side].name.clone());
            let is_recorded =
                |host: &HostName| of_base.contains_key(host) && of_side.contains_key(host);
            let is_told = |warning: &Warning| match warning {
                Warning::Fact {
                    side: of, hosts, ..
                } => *of == side && hosts.iter().all(is_recorded),
                _ => false,
            };
            let place = self.warnings.iter().position(is_told);
            self.warnings.retain(|warning| !is_told(warning));
            let place = place.unwrap_or(self.warnings.len());
            let mut told = by_records((of_base, of_side), &base, &side);
            if self.sides[at + 1].study.is_none() {
                // Its command is about studies.
                told.retain(|warning| !matches!(warning, Warning::MoreFacts { .. }));
            }
            self.warnings.splice(place..place, told);
        }
    }
}

/// What differs from a baseline's records to those of a side.
fn by_records(
    (of_base, of_side): (&HostRecordMap, &HostRecordMap),
    base: &str,
    side: &str,
) -> Vec<Warning> {
    /// What has less weight is another moment or another name.
    const LEAST_WEIGHT: u8 = 6;
    let mut differences = differences_of_hosts(of_base, of_side);
    differences.retain(|(it, _)| it.weight >= LEAST_WEIGHT);
    let weighty = differences
        .iter()
        .take_while(|(it, _)| it.weight >= EXPLAINING_WEIGHT);
    let told = weighty.count().min(MOST_FACTS);
    let more = differences.len() - told;
    let facts = differences
        .into_iter()
        .take(told)
        .map(|(difference, hosts)| {
            let [was, is] = difference.values();
            Warning::Fact {
                side: side.to_owned(),
                base: base.to_owned(),
                hosts,
                fact: difference.shown_name().to_owned(),
                was: Some(was),
                is: Some(is),
                reason: difference.reason,
            }
        });
    let mut warnings: Vec<Warning> = facts.collect();
    if more > 0 {
        warnings.push(Warning::MoreFacts {
            side: side.to_owned(),
            base: base.to_owned(),
            facts: more,
        });
    }
    warnings
}

/// What differs between the hosts of two sets. Several hosts of one machine say the same thing: it is said once.
fn hosts(base: &ResultSet, new: &ResultSet, means: OtherHosts) -> Vec<Warning> {
    const BOOT: &str = "boot_id";
    /// A fact, what it is on one side, and what on the other.
    type MeasurementPart<'a> = (&'a str, Option<&'a String>, Option<&'a String>);
    let mut facts: IndexMap<MeasurementPart<'_>, Vec<HostName>> = IndexMap::new();
    for (host, was) in &base.hosts {
        let Some(is) = new.hosts.get(host) else {
            continue;
        };
        let only_new = is.keys().filter(|fact| !was.contains_key(*fact));
        for fact in was.keys().chain(only_new) {
            let (was, is) = (was.get(fact), is.get(fact));
            if was != is {
                facts.entry((fact, was, is)).or_default().push(host.clone());
            }
        }
    }
    let mut warnings = Vec::new();
    let only = |these: &ResultSet, those: &ResultSet| -> Vec<HostName> {
        these
            .hosts
            .keys()
            .filter(|host| !those.hosts.contains_key(*host))
            .cloned()
            .collect()
    };
    let (gone, added) = (only(base, new), only(new, base));
    if !(gone.is_empty() && added.is_empty()) {
        warnings.push(Warning::OtherHosts {
            side: new.name.clone(),
            base: base.name.clone(),
            gone,
            new: added,
            means,
        });
    }
    let another_boot = facts.keys().any(|(fact, ..)| *fact == BOOT);
    warnings.extend(
        facts
            .into_iter()
            .filter(|((fact, ..), _)| *fact != BOOT && !definition::is_version(fact))
            .map(|((fact, was, is), hosts)| Warning::Fact {
                side: new.name.clone(),
                base: base.name.clone(),
                hosts,
                fact: fact.to_owned(),
                was: was.cloned(),
                is: is.cloned(),
                reason: None,
            }),
    );
    if another_boot {
        warnings.push(Warning::AnotherBoot {
            side: new.name.clone(),
            base: base.name.clone(),
        });
    }
    warnings
}
