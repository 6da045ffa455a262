//! The record of a host: hardware, firmware, kernel, settings, packages. Two records have differences, those that explain numbers
//! first.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, LazyLock},
};

use crate::HostName;

/// The values of one section of a record, by name.
pub type RecordSection = BTreeMap<String, String>;

/// What a host is: sections (`cpu`, `sysctl`, `package`, …), each with names and values.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostRecord(pub BTreeMap<String, RecordSection>);

/// A value that two records don't share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordDifference {
    /// Section and name: `sysctl.vm.swappiness`.
    pub name: String,
    /// The value of the first record; none where it has no such name.
    pub base: Option<String>,
    /// The value of the second one.
    pub new: Option<String>,
    /// From 0 to 100: how likely it is that such a difference explains one of measured numbers.
    pub weight: u8,
    /// Why it may, where that is known.
    pub reason: Option<&'static str>,
}

impl HostRecord {
    /// The section that records of guests have: a kernel that is booted with each build of a target.
    pub const GUEST: &'static str = "guest";

    /// Whether it is a guest's.
    pub fn is_of_guest(&self) -> bool {
        self.0.contains_key(Self::GUEST)
    }

    /// What differs from this record to another one beside what is compared anyway: between guests not what their kernel, which is
    /// of the version under test, brings along.
    pub fn differences_beside_target(&self, new: &HostRecord) -> Vec<RecordDifference> {
        let mut differences = self.differences(new);
        if self.is_of_guest() || new.is_of_guest() {
            differences.retain(|it| !it.is_of_kernel());
        }
        differences
    }

    /// The sections that another record has and this one lacks.
    pub fn lacks<'a>(&self, other: &'a HostRecord) -> Vec<&'a str> {
        let sections = other.0.keys().map(String::as_str);
        sections
            .filter(|section| !self.0.contains_key(*section))
            .collect()
    }

    /// Names with their sections, and values, of the sections that another record has too.
    fn values_shared_with(&self, other: &HostRecord) -> impl Iterator<Item = (String, &str)> {
        let shared = self
            .0
            .iter()
            .filter(|(section, _)| other.0.contains_key(*section));
        shared.flat_map(|(section, values)| {
            let named = values.iter();
            named.map(move |(name, value)| (format!("{section}.{name}"), value.as_str()))
        })
    }

    /// The values whose differences explain numbers, with their names.
    pub fn explaining_values(&self) -> impl Iterator<Item = (String, &str)> {
        let is_of_guest = self.is_of_guest();
        self.values_shared_with(self)
            .filter(move |(name, _)| !is_of_guest || !is_of_kernel(name))
            .filter(|(name, _)| record_weight(name).0 >= EXPLAINING_WEIGHT)
    }

    /// What differs from this record to another one in the sections that both have: what explains numbers most often first, then
    /// by name.
    pub fn differences(&self, new: &HostRecord) -> Vec<RecordDifference> {
        let (base, new): (BTreeMap<_, _>, BTreeMap<_, _>) = (
            self.values_shared_with(new).collect(),
            new.values_shared_with(self).collect(),
        );
        let only_new = new.keys().filter(|name| !base.contains_key(*name));
        let names = base.keys().chain(only_new);
        let differ: BTreeSet<&String> = names
            .filter(|name| base.get(*name) != new.get(*name))
            .collect();
        // What stands in two places is said once.
        let said_elsewhere = |name: &str| {
            let same = weighed(name).and_then(|it| it.same_as);
            same.is_some_and(|same| differ.iter().any(|other| *other == same))
        };
        let told = differ.iter().filter(|name| !said_elsewhere(name));
        let mut differences: Vec<RecordDifference> = told
            .map(|name| {
                let (mut weight, reason) = record_weight(name);
                let is_on_both = base.contains_key(*name) && new.contains_key(*name);
                if !is_on_both && COMES_AND_GOES.iter().any(|it| name.starts_with(it)) {
                    weight = weight.min(WEIGHT_OF_OTHERS);
                }
                let owned = |value: Option<&&str>| value.map(|value| (*value).to_owned());
                RecordDifference {
                    name: (*name).clone(),
                    base: owned(base.get(*name)),
                    new: owned(new.get(*name)),
                    weight,
                    reason,
                }
            })
            .collect();
        differences.sort_by(|one, other| (other.weight, &one.name).cmp(&(one.weight, &other.name)));
        differences
    }
}

/// What a kernel brings along: its build, its configuration, and which mitigations it knows.
const OF_KERNEL: [&str; 5] = [
    "machine.kernel.*",
    "machine.vulnerability.*",
    "kernel-config.*",
    "module.*",
    "environment.kernel*",
];

fn is_of_kernel(name: &str) -> bool {
    OF_KERNEL.iter().any(|pattern| fits(pattern, name))
}

impl RecordDifference {
    /// Whether the kernel brings it along; a setting that only one of two kernels knows too.
    fn is_of_kernel(&self) -> bool {
        let is_on_both = self.base.is_some() && self.new.is_some();
        is_of_kernel(&self.name)
            || !is_on_both && (self.name.starts_with("sysctl.") || self.name.starts_with("memory."))
    }
}

/// What isn't there on one side is most often another thing than what is measured with: the link of a container, a mounted stick.
const COMES_AND_GOES: [&str; 3] = ["disk.", "filesystem.", "link."];
/// And weighs at most so much.
const WEIGHT_OF_OTHERS: u8 = 30;

/// From this weight on a difference is worth a sentence beside one of measured numbers.
pub const EXPLAINING_WEIGHT: u8 = 50;

/// Records of several hosts, by their names; studies share those that are alike.
pub type HostRecordMap = IndexMap<HostName, Arc<HostRecord>>;

/// What two records of hosts with the same name don't share: each difference with the hosts that have it, what explains numbers
/// most often first. Hosts that only one side has aren't compared.
pub fn differences_of_hosts(
    base: &HostRecordMap,
    new: &HostRecordMap,
) -> Vec<(RecordDifference, Vec<HostName>)> {
    let mut all: Vec<(RecordDifference, Vec<HostName>)> = Vec::new();
    for (host, record) in base {
        let Some(other) = new.get(host).filter(|other| !Arc::ptr_eq(record, other)) else {
            continue;
        };
        for difference in record.differences_beside_target(other) {
            match all.iter_mut().find(|(known, _)| *known == difference) {
                Some((_, hosts)) => hosts.push(host.clone()),
                None => all.push((difference, vec![host.clone()])),
            }
        }
    }
    all.sort_by(|(one, _), (other, _)| (other.weight, &one.name).cmp(&(one.weight, &other.name)));
    all
}

/// How much names of a pattern explain.
struct Weight {
    pattern: &'static str,
    weight: u8,
    reason: &'static str,
    /// The name under which the same value stands in a record too.
    same_as: Option<&'static str>,
}

/// The first whose pattern fits counts.
static WEIGHTS: LazyLock<Vec<Weight>> = LazyLock::new(|| {
    let lines = include_str!("record_weights.tsv").lines();
    let rows = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parsed = rows.map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[pattern, weight, reason, ref rest @ ..] = &fields[..] else {
            panic!("not a pattern, a weight and a reason: {line}");
        };
        Weight {
            pattern,
            weight: weight.parse().expect("a weight is 0 to 100"),
            reason,
            same_as: rest.first().copied(),
        }
    });
    parsed.collect()
});

fn weighed(name: &str) -> Option<&'static Weight> {
    WEIGHTS.iter().find(|it| fits(it.pattern, name))
}

/// How likely what has this name in a record explains numbers, from 0 to 100, and why.
pub fn record_weight(name: &str) -> (u8, Option<&'static str>) {
    weighed(name).map_or((10, None), |it| (it.weight, Some(it.reason)))
}

impl<S: Into<String>> FromIterator<(S, S, S)> for HostRecord {
    /// Of sections, names and values.
    fn from_iter<I: IntoIterator<Item = (S, S, S)>>(values: I) -> Self {
        let mut record = Self::default();
        for (section, name, value) in values {
            let section = record.0.entry(section.into()).or_default();
            section.insert(name.into(), value.into());
        }
        record
    }
}

/// What was, and what is: `cpu.model was a, is b`.
impl fmt::Display for RecordDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [was, is] = self.values();
        write!(f, "{} was {was}, is {is}", self.shown_name())
    }
}

impl RecordDifference {
    /// The name for a reader: what the machine says of itself needs no section.
    pub fn shown_name(&self) -> &str {
        self.name.strip_prefix("machine.").unwrap_or(&self.name)
    }

    /// Both values for a reader, `nothing` where there is none; of two long lists of words only what the other one lacks.
    pub fn values(&self) -> [String; 2] {
        /// Shorter values are shown whole.
        const LONG: usize = 60;
        let values = [&self.base, &self.new].map(|value| value.as_deref().unwrap_or_default());
        let words = values.map(|value| value.split(' ').collect::<BTreeSet<_>>());
        let is_list =
            values.iter().all(|value| value.len() > LONG) && !words[0].is_disjoint(&words[1]);
        let shown = |own: usize| {
            let lacking = values[own]
                .split(' ')
                .filter(|word| !words[1 - own].contains(word));
            let text = match is_list {
                true => lacking.collect::<Vec<_>>().join(" "),
                false => values[own].to_owned(),
            };
            match (text.is_empty(), is_list) {
                (true, true) => "nothing more".to_owned(),
                (true, false) => "nothing".to_owned(),
                (false, true) => format!("… {text}"),
                (false, false) => text,
            }
        };
        [shown(0), shown(1)]
    }
}

/// Whether a name is of a pattern in which `*` stands for any letters.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_guests_only_what_their_kernels_do_not_bring_along_differs() {
        let guest = |release: &str, memory: &str| {
            HostRecord::from_iter([
                ("guest", "kind", "uml"),
                ("machine", "kernel.release", release),
                ("machine", "cpu.model", "a processor"),
                ("kernel-config", "CONFIG_HZ", release),
                ("sysctl", release, "1"),
                ("memory", "MemTotal", memory),
            ])
        };
        let names = |differences: Vec<RecordDifference>| -> Vec<String> {
            differences.into_iter().map(|it| it.name).collect()
        };
        let (old, new) = (guest("6.1", "1"), guest("6.2", "1"));
        assert_eq!(
            names(old.differences_beside_target(&new)),
            Vec::<String>::new()
        );
        assert!(names(old.differences(&new)).contains(&"machine.kernel.release".to_owned()));
        assert!(
            old.explaining_values()
                .all(|(name, _)| !name.contains("kernel"))
        );
        let larger = guest("6.2", "2");
        assert_eq!(
            names(old.differences_beside_target(&larger)),
            ["memory.MemTotal"]
        );
        // Of machines that aren't guests the kernel counts.
        let machine =
            |release: &str| HostRecord::from_iter([("machine", "kernel.release", release)]);
        let differences = machine("1").differences_beside_target(&machine("2"));
        assert_eq!(names(differences), ["machine.kernel.release"]);
    }

    fn record(values: &[(&str, &str, &str)]) -> HostRecord {
        values.iter().copied().collect()
    }

    #[test]
    fn what_explains_numbers_comes_first() {
        let base = record(&[
            ("package", "libc6", "2.36"),
            ("package", "vim", "9.0"),
            ("cpu", "cpufreq.scaling_governor", "powersave"),
            ("sysctl", "vm.swappiness", "60"),
        ]);
        let new = record(&[
            ("package", "libc6", "2.37"),
            ("package", "vim", "9.1"),
            ("cpu", "cpufreq.scaling_governor", "performance"),
            ("sysctl", "vm.swappiness", "60"),
            ("sysctl", "vm.overcommit_memory", "1"),
            ("environment", "LANG", "C"),
        ]);
        let differences = base.differences(&new);
        let names: Vec<&str> = differences.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "cpu.cpufreq.scaling_governor",
                "package.libc6",
                "sysctl.vm.overcommit_memory",
                "package.vim"
            ]
        );
        assert_eq!(differences[2].base, None);
        assert!(differences.iter().all(|d| d.weight <= 100));
        assert_eq!(base.differences(&base), []);
        assert_eq!(
            (base.lacks(&new), new.lacks(&base)),
            (vec!["environment"], vec![])
        );
    }

    #[test]
    fn differences_of_exchanged_records_are_the_same_the_other_way_round() {
        let (base, new) = (record(&[("a", "x", "1")]), record(&[("a", "y", "2")]));
        let (there, back) = (base.differences(&new), new.differences(&base));
        assert_eq!(there.len(), back.len());
        for (one, other) in there.iter().zip(&back) {
            assert_eq!((&one.base, &one.new), (&other.new, &other.base));
        }
    }

    #[test]
    fn what_stands_in_two_places_is_said_once() {
        let base = record(&[("machine", "cpu.model", "a"), ("cpu", "model", "a")]);
        let new = record(&[("machine", "cpu.model", "b"), ("cpu", "model", "b")]);
        let names = |differences: Vec<RecordDifference>| -> Vec<String> {
            differences.into_iter().map(|it| it.name).collect()
        };
        assert_eq!(names(base.differences(&new)), ["cpu.model"]);
        // A study from before there were records has the machine's section alone.
        let only = |value| record(&[("machine", "cpu.model", value)]);
        assert_eq!(
            names(only("a").differences(&only("b"))),
            ["machine.cpu.model"]
        );
    }

    #[test]
    fn a_link_that_only_one_side_has_weighs_less_than_one_that_changed() {
        let base = record(&[("link", "eth0.mtu", "1500")]);
        let new = record(&[("link", "eth0.mtu", "9000"), ("link", "veth7.mtu", "1500")]);
        let differences = base.differences(&new);
        let weights: Vec<u8> = differences.iter().map(|it| it.weight).collect();
        assert_eq!(weights, [80, WEIGHT_OF_OTHERS]);
    }

    #[test]
    fn every_name_that_is_said_to_stand_elsewhere_weighs_as_much_there() {
        for it in WEIGHTS.iter() {
            if let Some(same) = it.same_as {
                assert_eq!(record_weight(same).0, it.weight, "{}", it.pattern);
            }
        }
    }

    #[test]
    fn of_long_lists_only_what_differs_is_shown() {
        let difference = |base: Option<&str>, new: Option<&str>| RecordDifference {
            name: "cpu.flags".into(),
            base: base.map(str::to_owned),
            new: new.map(str::to_owned),
            weight: 60,
            reason: None,
        };
        let flags =
            "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush";
        let (base, new) = (format!("{flags} avx2"), format!("avx512f {flags} sha_ni"));
        let shown = difference(Some(&base), Some(&new)).values();
        assert_eq!(shown, ["… avx2", "… avx512f sha_ni"]);
        let shown = difference(Some(flags), Some(&new)).values();
        assert_eq!(shown, ["nothing more", "… avx512f sha_ni"]);
        assert_eq!(difference(None, Some("on")).values(), ["nothing", "on"]);
    }

    #[test]
    fn patterns_stand_for_names() {
        for (pattern, name, wanted) in [
            ("cpu.*", "cpu.model", true),
            ("cpu.*", "cpus", false),
            ("link.*.mtu", "link.eth0.mtu", true),
            ("link.*.mtu", "link.eth0.speed", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxc", false),
            ("exact", "exact", true),
            ("exact", "exactly", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, name), wanted, "{pattern} {name}");
        }
    }
}
