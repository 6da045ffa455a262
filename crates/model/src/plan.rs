//! A plan: benchmarks × parameters × variants on a testbed, how often, in which order.
//!
//! An unknown benchmark, parameter or role is an error that names the nearest known one.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::{
    collections::BTreeSet,
    fmt,
    net::IpAddr,
    num::NonZeroU32,
    path::{Component, Path, PathBuf},
};

use crate::{
    Benchmark, BenchmarkName, Cell, DocumentError, HostKind, HostName, Lab, Located, Machine,
    Monitor, MonitorName, ParamName, Phase, PlanMonitor, PlannedMonitor, Preparation,
    PreparationPolicy, RoleName, Seat, Steps, Testbed, TestbedName, Time, TomlDocument, Unit,
    Value, Values, VariantName,
    benchmark::{ROLE_FACTS, built_in_placeholders, is_built_in, place_of},
    document::{IfTable, did_you_mean},
    monitor::check_phases,
};

mod matrix;

pub use matrix::{CrossedCell, PlanMatrix};

/// Rounds that a plan has unless it says otherwise.
pub const DEFAULT_ROUNDS: u32 = 5;

/// Most cells a plan may have: more is a mistake in its lists.
pub const MOST_CELLS: usize = 100_000;

/// What a study does after a trial has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// Keeps the failed trial and goes on with the next.
    #[default]
    GoOn,
    /// Keeps the failed trial and stops; `backsight resume` goes on.
    Stop,
}

/// A plan file.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plan {
    /// What it is good for, in a sentence.
    #[serde(default)]
    pub about: Option<String>,
    /// About how long it takes, as somebody measured it.
    #[serde(default)]
    pub takes: Option<Time>,
    /// Where it is measured; the lab's only testbed unless said.
    #[serde(default)]
    pub testbed: Option<Located<TestbedName>>,
    /// How often each cell is measured; 5 unless said.
    #[serde(default = "default_rounds")]
    pub rounds: NonZeroU32,
    /// Seed of the order within each round; drawn and recorded unless said.
    #[serde(default)]
    pub seed: Option<u32>,
    /// What happens after a trial has failed.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// The benchmarks.
    #[serde(rename = "use")]
    pub benchmarks: Vec<Located<BenchmarkName>>,
    /// Parameters for every benchmark that has them, or for one in a table with its name; lists are crossed.
    #[serde(default)]
    pub params: IndexMap<Located<String>, PlanParam>,
    /// Set-ups of the system under test.
    #[serde(default)]
    pub variant: Vec<Variant>,
    /// What watches while a benchmark runs: names, or tables with `name`, `interval` and `roles`.
    #[serde(default)]
    pub monitors: Vec<Located<PlanMonitor>>,
    /// Combinations that make no sense and aren't measured.
    #[serde(default)]
    pub leave_out: Vec<LeaveOut>,
    /// The highest values that metrics can have here, such as a line rate: `"iperf3.throughput" = "25 Gbit/s"`. Scenario matrices show
    /// what was measured as a share of them.
    #[serde(default)]
    pub limits: IndexMap<Located<String>, Located<String>>,
    /// The scenario matrix of its studies; reports show one of the first two axes unless said.
    #[serde(default)]
    pub matrix: Option<PlanMatrix>,
    /// Settings of every machine of the testbed while it is measured, over those of the lab; they are put back after it.
    #[serde(default)]
    pub prepare: Option<Preparation>,
    /// What happens where a setting of a machine can't be made, also because it needs root.
    #[serde(default)]
    pub prepare_policy: PreparationPolicy,
    /// The files and folders beside the plan that its variants' commands need: hosts that don't see this machine's files get them.
    /// Unless said all of its folder, but for what begins with a dot.
    #[serde(default)]
    pub files: Option<Vec<Located<String>>>,
    /// How often the lab's reference is measured beside, by `run` and `step`.
    #[serde(default)]
    pub reference: Option<PlanReference>,
}

impl Plan {
    /// The limit of a metric in its unit, if one is said and is an amount above nothing.
    pub fn limit(&self, benchmark: &BenchmarkName, metric: &str, unit: Unit) -> Option<f64> {
        let name = format!("{benchmark}.{metric}");
        let mut limits = self.limits.iter();
        let (_, text) = limits.find(|(limited, _)| ***limited == *name)?;
        let limit = crate::quantity(text, Some(unit)).ok()?;
        (limit > 0.0).then_some(limit)
    }

    /// Checks that limits are those of metrics of these benchmarks, in their units.
    fn check_limits(
        &self,
        document: &TomlDocument,
        benchmarks: &IndexMap<BenchmarkName, Benchmark>,
    ) -> Result<(), DocumentError> {
        for (name, text) in &self.limits {
            let metrics = benchmarks.iter().flat_map(|(benchmark, it)| {
                let metrics = it.metrics.iter();
                metrics.map(move |(metric, it)| (format!("{benchmark}.{metric}"), it.unit))
            });
            let known: Vec<(String, Unit)> = metrics.collect();
            let Some((_, unit)) = known.iter().find(|(known, _)| *known == **name) else {
                let names = known.iter().map(|(known, _)| known.as_str());
                let message = format!("no benchmark of the plan has a metric `{}`", **name);
                let help = did_you_mean(name, names.clone()).unwrap_or_else(|| {
                    format!("there are: {}", names.collect::<Vec<_>>().join(", "))
                });
                return Err(document.problem(name.span(), message, "here", Some(help)));
            };
            let problem = |message: String| document.problem(text.span(), message, "here", None);
            match crate::quantity(text, Some(*unit)) {
                Ok(limit) if limit > 0.0 => {}
                Ok(_) => return Err(problem("a limit is above zero".to_owned())),
                Err(why) => return Err(problem(why)),
            }
        }
        Ok(())
    }
}

/// How a testbed of the lab that is marked `reference` is measured beside.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanReference {
    /// After so many rounds of the plan it is measured once, in all cells; also before the first and after the last.
    pub every: Located<NonZeroU32>,
    /// Which one; needed where the lab marks several.
    #[serde(default)]
    pub testbed: Option<Located<TestbedName>>,
    /// What `{build}` is on its hosts: the folder of the release that is always measured there.
    #[serde(default)]
    pub build: Option<PathBuf>,
}

/// Cells that are left out of the cross product: those with this benchmark, this variant and these parameters.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaveOut {
    /// Only of this benchmark; of every one unless said.
    #[serde(default)]
    pub benchmark: Option<Located<BenchmarkName>>,
    /// Only in this variant; in every one unless said.
    #[serde(default)]
    pub variant: Option<Located<VariantName>>,
    /// Only with one of these values of each of these parameters.
    #[serde(default)]
    pub params: IndexMap<Located<ParamName>, Located<Values>>,
    /// Why these make no sense, for readers of a scenario matrix.
    #[serde(default)]
    pub why: Option<String>,
}

impl LeaveOut {
    /// Whether this cell is one of them.
    pub fn has(&self, cell: &Cell) -> bool {
        let benchmark = self.benchmark.as_ref();
        let variant = self.variant.as_ref();
        benchmark.is_none_or(|name| **name == cell.benchmark)
            && variant.is_none_or(|name| **name == cell.variant)
            && self.params.iter().all(|(param, values)| {
                let value = cell.params.get(param.as_str());
                value.is_some_and(|value| values.0.contains(value))
            })
    }
}

fn default_rounds() -> NonZeroU32 {
    NonZeroU32::new(DEFAULT_ROUNDS).unwrap_or(NonZeroU32::MIN)
}

/// What stands at a key of `[params]`: values of a parameter, or the parameters of one benchmark.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(untagged)]
pub enum PlanParam {
    /// Values of the parameter with this name.
    Values(Located<Values>),
    /// Parameters of the benchmark with this name.
    Of(IndexMap<Located<ParamName>, Located<Values>>),
}

impl<'de> Deserialize<'de> for PlanParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        enum Read {
            Values(Values),
            Of(IndexMap<Located<ParamName>, Located<Values>>),
        }
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Read;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value, a list of values, or a table of one benchmark's parameters")
            }
            fn visit_bool<E: de::Error>(self, v: bool) -> Result<Read, E> {
                Ok(Read::Values(Values(vec![Value::Bool(v)])))
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Read, E> {
                Ok(Read::Values(Values(vec![Value::Integer(v)])))
            }
            fn visit_f64<E: de::Error>(self, v: f64) -> Result<Read, E> {
                Values::deserialize(de::value::F64Deserializer::new(v)).map(Read::Values)
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<Read, E> {
                Ok(Read::Values(Values(vec![Value::Text(v.to_owned())])))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Read, A::Error> {
                Values::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(Read::Values)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Read, A::Error> {
                IndexMap::deserialize(de::value::MapAccessDeserializer::new(map)).map(Read::Of)
            }
        }
        impl<'de> Deserialize<'de> for Read {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Visitor)
            }
        }
        let read = Located::<Read>::deserialize(deserializer)?;
        let span = read.span();
        Ok(match read.into_inner() {
            Read::Values(values) => Self::Values(Located::spanning(values, span)),
            Read::Of(table) => Self::Of(table),
        })
    }
}

/// A named set-up of the system under test: one row of a scenario matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Its name.
    pub name: Located<VariantName>,
    /// Parameters that it sets, for every benchmark that has them.
    pub params: IndexMap<Located<ParamName>, Located<Value>>,
    /// Settings of every machine in its trials, over those of the plan.
    pub prepare: Option<Preparation>,
    /// What it does on which role.
    pub roles: Vec<(Located<String>, VariantRole)>,
}

/// What a variant does on one role.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariantRole {
    /// Before each trial.
    #[serde(default)]
    pub setup: Steps,
    /// After each trial, whatever happened.
    #[serde(default)]
    pub teardown: Steps,
    /// The data-plane address that this role uses: a link's name or an address.
    #[serde(default)]
    pub data: Option<Located<String>>,
    /// Settings of this role's machine in the variant's trials, over all others.
    #[serde(default)]
    pub prepare: Option<Preparation>,
}

const VARIANT_KEYS: &[&str] = &["name", "params", "prepare"];

impl<'de> Deserialize<'de> for Variant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Variant;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a variant: a table with `name` and what it does on each role")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Variant, A::Error> {
                let mut name = None;
                let mut params = IndexMap::new();
                let mut prepare = None;
                let mut roles = Vec::new();
                while let Some(key) = map.next_key::<Located<String>>()? {
                    match key.as_str() {
                        "name" => name = Some(map.next_value()?),
                        "params" => params = map.next_value()?,
                        "prepare" => prepare = Some(map.next_value()?),
                        _ => match map.next_value::<IfTable<VariantRole>>()? {
                            IfTable::Table(role) => roles.push((key, role)),
                            IfTable::Other => {
                                return Err(de::Error::unknown_field(&key, VARIANT_KEYS));
                            }
                        },
                    }
                }
                let name = name.ok_or_else(|| de::Error::missing_field("name"))?;
                Ok(Variant {
                    name,
                    params,
                    prepare,
                    roles,
                })
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

impl JsonSchema for Variant {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Variant".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let name = generator.subschema_for::<VariantName>();
        let value = generator.subschema_for::<Value>();
        let role = generator.subschema_for::<VariantRole>();
        let prepare = generator.subschema_for::<Preparation>();
        schemars::json_schema!({
            "type": "object",
            "description": "A named set-up of the system under test. Every other key is a role's name.",
            "required": ["name"],
            "properties": {
                "name": name,
                "params": { "type": "object", "additionalProperties": value },
                "prepare": prepare
            },
            "additionalProperties": role
        })
    }
}

impl Variant {
    /// The variant of a plan that names none.
    pub fn only() -> Self {
        let name = VariantName::new("default").unwrap_or_else(|_| unreachable!("a valid name"));
        Self {
            name: Located::nowhere(name),
            params: IndexMap::new(),
            prepare: None,
            roles: Vec::new(),
        }
    }

    /// Whether this point of crossed parameters differs from another one only in what this variant sets: its cell is there already.
    fn is_repeated(
        &self,
        point: &[(&ParamName, &Value)],
        set: &IndexMap<ParamName, Values>,
    ) -> bool {
        point.iter().any(|(param, value)| {
            let first = set.get(*param).and_then(|values| values.0.first());
            self.params.contains_key(param.as_str()) && first != Some(*value)
        })
    }

    /// What it asks of the settings of a machine with these roles: of every machine, then of the roles' own.
    fn preparations(&self, roles: &[&RoleName]) -> Vec<&Preparation> {
        let of_roles = roles.iter().filter_map(|role| self.role(role));
        let of_roles = of_roles.filter_map(|role| role.prepare.as_ref());
        self.prepare.iter().chain(of_roles).collect()
    }

    /// What it does on this role.
    pub fn role(&self, role: &RoleName) -> Option<&VariantRole> {
        self.roles
            .iter()
            .find(|(name, _)| name.as_str() == role.as_str())
            .map(|(_, steps)| steps)
    }

    /// Its steps on this role in this phase.
    pub fn steps_of(&self, role: &RoleName, phase: Phase) -> &[crate::Step] {
        match (self.role(role), phase) {
            (Some(steps), Phase::Setup) => &steps.setup.0,
            (Some(steps), Phase::Teardown) => &steps.teardown.0,
            _ => &[],
        }
    }
}

/// A plan whose every name has been found: what a study measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrangement {
    /// The lab.
    pub lab: Lab,
    /// Name of the testbed.
    pub testbed: TestbedName,
    /// Who plays each role; only roles that some benchmark or variant uses.
    pub seats: IndexMap<RoleName, Seat>,
    /// The benchmarks, in the plan's order.
    pub benchmarks: IndexMap<BenchmarkName, Benchmark>,
    /// The variants; at least one.
    pub variants: IndexMap<VariantName, Variant>,
    /// Values of parameters that the plan sets, by benchmark.
    set: IndexMap<BenchmarkName, IndexMap<ParamName, Values>>,
    /// What of the cross product isn't measured.
    leave_out: Vec<LeaveOut>,
    /// How often each cell is measured.
    pub rounds: u32,
    /// What happens after a failed trial.
    pub on_failure: OnFailure,
    /// What watches while a benchmark runs.
    pub monitors: Vec<PlannedMonitor>,
    /// The plan's folder: what a variant's commands find beside it.
    pub folder: Option<PathBuf>,
    /// What of that folder hosts get that don't see it; all but what is hidden unless said.
    pub files: Option<Vec<Located<String>>>,
    /// A copy of that folder on hosts that don't see this machine's files.
    pub folder_on: IndexMap<HostName, PathBuf>,
    /// The addresses that machines have.
    pub addresses_on: IndexMap<HostName, Vec<InterfaceAddress>>,
    /// The build that is measured now: its version's name and its folder.
    pub build: Option<(String, PathBuf)>,
    /// The folder where that build is on hosts that don't see this machine's files.
    pub build_on: IndexMap<HostName, PathBuf>,
    /// What documents ask of the settings of hosts; of two that ask for one setting of a host, the later counts.
    pub preparations: Vec<HostPreparation>,
    /// What happens where a setting can't be made.
    pub preparation_policy: PreparationPolicy,
    /// The user's own definitions of settings and of sets.
    pub setting_documents: Vec<TomlDocument>,
}

/// An address that an interface of a machine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The interface.
    pub interface: String,
    /// The address.
    pub address: IpAddr,
}

impl InterfaceAddress {
    /// Addresses with their interfaces, for people.
    pub fn listed(all: &[Self]) -> String {
        let shown = all
            .iter()
            .map(|own| format!("{} ({})", own.address, own.interface));
        match all.is_empty() {
            true => "none that it tells".to_owned(),
            false => shown.collect::<Vec<_>>().join(", "),
        }
    }
}

/// What a document asks of the settings of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostPreparation {
    /// The host.
    pub host: HostName,
    /// The variant in whose trials alone it is so; in all unless said.
    pub variant: Option<VariantName>,
    /// The document.
    pub document: TomlDocument,
    /// What it asks for.
    pub preparation: Preparation,
}

impl Plan {
    /// The testbed that is the plan's reference in this lab, and after how many rounds it is measured; none where the plan asks
    /// for none.
    ///
    /// # Errors
    /// The lab marks none, or several and the plan doesn't say which; or the one that it names isn't marked.
    pub fn reference(
        &self,
        document: &TomlDocument,
        lab: &Lab,
    ) -> Result<Option<(TestbedName, NonZeroU32)>, DocumentError> {
        let Some(PlanReference { every, testbed, .. }) = &self.reference else {
            return Ok(None);
        };
        let marked = lab.testbed.iter().filter(|(_, it)| it.reference);
        let marked: Vec<&TestbedName> = marked.map(|(name, _)| &**name).collect();
        let listed = || {
            let names: Vec<&str> = marked.iter().map(|name| name.as_str()).collect();
            names.join(", ")
        };
        let problem = |span, message: String, help: String| {
            Err(document.problem(span, message, "here", Some(help)))
        };
        let name = match (testbed, &marked[..]) {
            (Some(named), _) if marked.contains(&&**named) => (**named).clone(),
            (Some(named), []) => {
                return problem(
                    named.span(),
                    format!("testbed `{}` is no reference of this lab", **named),
                    format!(
                        "mark it in lab.toml: [testbed.{}] reference = true",
                        **named
                    ),
                );
            }
            (Some(named), _) => {
                return problem(
                    named.span(),
                    format!("testbed `{}` is no reference of this lab", **named),
                    format!("this lab's references: {}", listed()),
                );
            }
            (None, [only]) => (*only).clone(),
            (None, []) => {
                return problem(
                    every.span(),
                    "the lab has no reference to measure beside".to_owned(),
                    "mark a testbed that always runs the same release in lab.toml: [testbed.NAME] reference = true".to_owned(),
                );
            }
            (None, _) => {
                return problem(
                    every.span(),
                    "the lab has several references, and the plan chooses none".to_owned(),
                    format!("say testbed = \"NAME\": {}", listed()),
                );
            }
        };
        Ok(Some((name, **every)))
    }

    /// The plan that this document holds.
    ///
    /// # Errors
    /// It isn't TOML of the right shape; the problem points at the place.
    pub fn read(document: &TomlDocument) -> Result<Self, DocumentError> {
        document.read()
    }

    /// Finds every name of the plan in the lab and the catalogue.
    ///
    /// `find` looks a benchmark up by name: the definition, or why there is none and perhaps a way out.
    ///
    /// # Errors
    /// A testbed, benchmark, parameter, role, link or value that doesn't exist or doesn't fit.
    pub fn arrange<E: From<DocumentError>>(
        &self,
        document: &TomlDocument,
        lab: &Lab,
        find: impl Fn(&BenchmarkName) -> Result<Benchmark, BenchmarkLookupError<E>>,
    ) -> Result<Arrangement, E> {
        let fault =
            |span, message: String, help| E::from(document.problem(span, message, "here", help));
        if self.benchmarks.is_empty() {
            return Err(fault(
                0..0,
                "`use` names no benchmark".into(),
                Some("`backsight list benchmarks` shows what there is".into()),
            ));
        }
        let mut benchmarks = IndexMap::new();
        for name in &self.benchmarks {
            let benchmark = find(name).map_err(|missing| match missing {
                BenchmarkLookupError::Unknown { help } => fault(
                    name.span(),
                    format!("no benchmark `{name}` in the catalogue"),
                    help,
                ),
                BenchmarkLookupError::Faulty(error) => error,
            })?;
            if benchmarks.insert((**name).clone(), benchmark).is_some() {
                return Err(fault(
                    name.span(),
                    format!("benchmark `{name}` stands here twice"),
                    None,
                ));
            }
        }
        let mut variants = IndexMap::new();
        for variant in &self.variant {
            if variants
                .insert((*variant.name).clone(), variant.clone())
                .is_some()
            {
                let message = format!("two variants are called `{}`", variant.name);
                return Err(fault(variant.name.span(), message, None));
            }
        }
        if variants.is_empty() {
            let only = Variant::only();
            variants.insert((*only.name).clone(), only);
        }
        let set = self
            .set_params(&benchmarks)
            .map_err(|(span, message, help)| fault(span, message, help))?;
        let (testbed, seats) = self.seats(document, lab, &benchmarks, &variants)?;
        self.check_placeholders(document, &benchmarks, &seats)?;
        self.check_files(document)?;
        self.check_left_out(document, &benchmarks, &variants)?;
        self.check_limits(document, &benchmarks)?;
        self.check_matrix(document, &benchmarks)?;
        Ok(Arrangement {
            lab: lab.clone(),
            testbed,
            seats,
            benchmarks,
            variants,
            set,
            leave_out: self.leave_out.clone(),
            rounds: self.rounds.get(),
            on_failure: self.on_failure,
            monitors: Vec::new(),
            folder: None,
            files: self.files.clone(),
            folder_on: IndexMap::new(),
            addresses_on: IndexMap::new(),
            build: None,
            build_on: IndexMap::new(),
            preparations: Vec::new(),
            preparation_policy: self.prepare_policy,
            setting_documents: Vec::new(),
        })
    }

    /// Adds what the lab and the plan ask of the settings of the testbed's machines. Where the testbed has namespaces and guests, this
    /// machine is one of them: they are its parts.
    ///
    /// # Errors
    /// The plan asks for some, and the testbed has no host.
    pub fn arrange_preparations(
        &self,
        document: &TomlDocument,
        lab: Option<&TomlDocument>,
        arrangement: &mut Arrangement,
    ) -> Result<(), DocumentError> {
        let hosts: BTreeSet<HostName> = arrangement.hosts().cloned().collect();
        let of_lab = |host: &HostName| arrangement.lab.host.get(host);
        let is_machine = |host: &&HostName| of_lab(host).is_some_and(|it| it.kind.is_machine());
        let kinds = || hosts.iter().filter_map(|host| Some(of_lab(host)?.kind));
        let of_parts = kinds().any(HostKind::is_part_of_this_machine)
            && kinds().all(|kind| kind != HostKind::Local);
        let this_machine = of_parts.then(|| arrangement.lab.name_for_this_machine());
        let machines = hosts.iter().filter(is_machine).chain(&this_machine);
        let machines: Vec<&HostName> = machines.collect();
        let mut preparations = Vec::new();
        let mut add = |host: &HostName,
                       variant: Option<&VariantName>,
                       document: &TomlDocument,
                       asked: &Preparation| {
            preparations.push(HostPreparation {
                host: host.clone(),
                variant: variant.cloned(),
                document: document.clone(),
                preparation: asked.clone(),
            });
        };
        let between = arrangement.hosts_that_take_part().into_iter();
        let between = between.filter(|host| !hosts.contains(*host));
        for host in machines.iter().copied().chain(between) {
            if let (Some(lab), Some(asked)) = (lab, arrangement.lab.network_settings(host)) {
                add(host, None, lab, &asked);
            }
        }
        for host in &machines {
            let of_host = of_lab(host).and_then(|settings| settings.prepare.as_ref());
            if let (Some(lab), Some(asked)) = (lab, of_host) {
                add(host, None, lab, asked);
            }
            if let Some(asked) = &self.prepare {
                add(host, None, document, asked);
            }
            let seats = arrangement.seats.iter();
            let roles = seats.filter(|(_, seat)| seat.is_played_by(host));
            let roles: Vec<&RoleName> = roles.map(|(role, _)| role).collect();
            for (name, variant) in &arrangement.variants {
                for asked in variant.preparations(&roles) {
                    add(host, Some(name), document, asked);
                }
            }
        }
        let help = "`prepare` is for hosts of kind \"local\" and \"ssh\"";
        let mut variants = self.variant.iter();
        let of_variant = variants.find(|variant| variant.prepare.is_some());
        if (self.prepare.is_some() || of_variant.is_some()) && machines.is_empty() {
            let span = of_variant.map_or(0..0, |variant| variant.name.span());
            let testbed = &arrangement.testbed;
            return Err(document.problem(
                span,
                format!("testbed `{testbed}` has no host that can be prepared"),
                "this has `prepare`",
                Some(help.into()),
            ));
        }
        for (role, steps) in self.variant.iter().flat_map(|variant| &variant.roles) {
            let seat = arrangement.seats.get(role.as_str());
            if let (Some(_), Some(seat)) = (&steps.prepare, seat)
                && let Some(host) = seat.hosts().find(|host| !machines.contains(host))
            {
                return Err(document.problem(
                    role.span(),
                    format!(
                        "`{}` is played by host `{}`, which can't be prepared",
                        **role, host
                    ),
                    "has `prepare`",
                    Some(help.into()),
                ));
            }
        }
        arrangement.preparations = preparations;
        Ok(())
    }

    /// Finds the plan's monitors, for what it has been arranged to.
    ///
    /// `find` looks a monitor up by name, as that of [`Plan::arrange`] does a benchmark.
    ///
    /// # Errors
    /// A monitor or role that doesn't exist, a monitor that is there twice, an interval that it can't keep, or phases that can't be
    /// watched.
    pub fn arrange_monitors<E: From<DocumentError>>(
        &self,
        document: &TomlDocument,
        arrangement: &mut Arrangement,
        find: impl Fn(&MonitorName) -> Result<Monitor, BenchmarkLookupError<E>>,
    ) -> Result<(), E> {
        for asked in &self.monitors {
            let fault = |message: String, help| {
                E::from(document.problem(asked.span(), message, "here", help))
            };
            let monitor = find(&asked.name).map_err(|missing| match missing {
                BenchmarkLookupError::Unknown { help } => fault(
                    format!("no monitor `{}` in the catalogue", asked.name),
                    help,
                ),
                BenchmarkLookupError::Faulty(error) => error,
            })?;
            let known = &arrangement.monitors;
            if known.iter().any(|known| *known.monitor.name == asked.name) {
                return Err(fault(
                    format!("monitor `{}` stands here twice", asked.name),
                    None,
                ));
            }
            if let Some(interval) = asked.interval {
                let checked = monitor.check_interval(interval.0);
                checked.map_err(|why| fault(why, None))?;
            }
            let seats = &arrangement.seats;
            if let Some(role) = asked.roles.iter().find(|role| !seats.contains_key(*role)) {
                let help = did_you_mean(role.as_str(), seats.keys().map(RoleName::as_str));
                return Err(fault(
                    format!("no benchmark here has the role `{role}`"),
                    help,
                ));
            }
            let phases = asked
                .phases
                .clone()
                .unwrap_or_else(|| monitor.phases.clone());
            check_phases(&phases).map_err(|why| fault(why, None))?;
            arrangement.monitors.push(PlannedMonitor {
                monitor,
                phases,
                interval: asked.interval.map(|time| time.0),
                roles: asked.roles.clone(),
            });
        }
        Ok(())
    }

    #[expect(
        clippy::type_complexity,
        reason = "an error's parts, made into a problem by the caller"
    )]
    fn set_params(
        &self,
        benchmarks: &IndexMap<BenchmarkName, Benchmark>,
    ) -> Result<
        IndexMap<BenchmarkName, IndexMap<ParamName, Values>>,
        (std::ops::Range<usize>, String, Option<String>),
    > {
        let mut set: IndexMap<BenchmarkName, IndexMap<ParamName, Values>> = benchmarks
            .keys()
            .map(|name| (name.clone(), IndexMap::new()))
            .collect();
        let all_params = || {
            benchmarks
                .values()
                .flat_map(|b| b.params.keys())
                .map(ParamName::as_str)
        };
        let check = |benchmark: &Benchmark, name: &str, values: &Located<Values>| {
            let Some(param) = benchmark.params.get(name) else {
                return Ok(());
            };
            for value in &values.0 {
                param.check(value).map_err(|why| {
                    (
                        values.span(),
                        format!("parameter `{name}` of `{}`: {why}", benchmark.name),
                        None,
                    )
                })?;
            }
            Ok(())
        };
        for (key, entry) in &self.params {
            match entry {
                PlanParam::Values(values) => {
                    let mut used = false;
                    for (name, benchmark) in benchmarks {
                        if let Some((param, _)) = benchmark.params.get_key_value(key.as_str()) {
                            used = true;
                            check(benchmark, key, values)?;
                            set[name]
                                .entry(param.clone())
                                .or_insert_with(|| (**values).clone());
                        }
                    }
                    if !used {
                        return Err((
                            key.span(),
                            format!("no benchmark of this plan has a parameter `{}`", **key),
                            did_you_mean(key, all_params()),
                        ));
                    }
                }
                PlanParam::Of(table) => {
                    let Some(benchmark) = benchmarks.get(key.as_str()) else {
                        return Err((
                            key.span(),
                            format!(
                                "parameters for `{}`, which is not a benchmark of this plan",
                                **key
                            ),
                            did_you_mean(key, benchmarks.keys().map(BenchmarkName::as_str)),
                        ));
                    };
                    for (param, values) in table {
                        if !benchmark.params.contains_key(param.as_str()) {
                            return Err((
                                param.span(),
                                format!(
                                    "benchmark `{}` has no parameter `{param}`",
                                    benchmark.name
                                ),
                                did_you_mean(
                                    param.as_str(),
                                    benchmark.params.keys().map(ParamName::as_str),
                                ),
                            ));
                        }
                        check(benchmark, param.as_str(), values)?;
                        set[key.as_str()].insert((**param).clone(), (**values).clone());
                    }
                }
            }
        }
        for variant in &self.variant {
            for (param, value) in &variant.params {
                let values = Located::spanning(Values(vec![(**value).clone()]), value.span());
                let mut used = false;
                for benchmark in benchmarks
                    .values()
                    .filter(|b| b.params.contains_key(param.as_str()))
                {
                    used = true;
                    check(benchmark, param.as_str(), &values)?;
                }
                if !used {
                    return Err((
                        param.span(),
                        format!("no benchmark of this plan has a parameter `{param}`"),
                        did_you_mean(param.as_str(), all_params()),
                    ));
                }
            }
        }
        Ok(set)
    }

    /// What is sent to hosts lies beside the plan.
    fn check_files(&self, document: &TomlDocument) -> Result<(), DocumentError> {
        let is_beside = |file: &str| {
            let mut parts = Path::new(file).components();
            !file.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
        };
        match self.files.iter().flatten().find(|file| !is_beside(file)) {
            None => Ok(()),
            Some(file) => Err(document.problem(
                file.span(),
                format!("`{}` doesn't lie in the plan's folder", **file),
                "here",
                Some("expected paths of files and folders beside the plan: files = [\"rules.nft\", \"scripts\"]".into()),
            )),
        }
    }

    /// What is left out has to be there.
    fn check_left_out(
        &self,
        document: &TomlDocument,
        benchmarks: &IndexMap<BenchmarkName, Benchmark>,
        variants: &IndexMap<VariantName, Variant>,
    ) -> Result<(), DocumentError> {
        for left_out in &self.leave_out {
            if let Some(name) = &left_out.benchmark
                && !benchmarks.contains_key(name.as_str())
            {
                let message = format!("`{name}` is not a benchmark of this plan");
                let help =
                    did_you_mean(name.as_str(), benchmarks.keys().map(BenchmarkName::as_str));
                return Err(document.problem(name.span(), message, "here", help));
            }
            if let Some(name) = &left_out.variant
                && !variants.contains_key(name.as_str())
            {
                let message = format!("`{name}` is not a variant of this plan");
                let help = did_you_mean(name.as_str(), variants.keys().map(VariantName::as_str));
                return Err(document.problem(name.span(), message, "here", help));
            }
            let of = |b: &&Benchmark| left_out.benchmark.as_ref().is_none_or(|n| **n == *b.name);
            let known = || benchmarks.values().filter(of).flat_map(|b| b.params.keys());
            for param in left_out.params.keys() {
                if !known().any(|name| *name == **param) {
                    let message = format!("no benchmark here has a parameter `{param}`");
                    let help = did_you_mean(param.as_str(), known().map(ParamName::as_str));
                    return Err(document.problem(param.span(), message, "here", help));
                }
            }
        }
        Ok(())
    }

    /// A variant's steps are done in the trials of every benchmark, so each of them must define the names.
    fn check_placeholders(
        &self,
        document: &TomlDocument,
        benchmarks: &IndexMap<BenchmarkName, Benchmark>,
        seats: &IndexMap<RoleName, Seat>,
    ) -> Result<(), DocumentError> {
        let of_seat = |name: &str| {
            let role_and_fact = name.rsplit_once('.');
            role_and_fact
                .is_some_and(|(role, fact)| seats.contains_key(role) && ROLE_FACTS.contains(&fact))
        };
        let everywhere = |name: &str| {
            is_built_in(name)
                || of_seat(name)
                || benchmarks.values().all(|b| b.params.contains_key(name))
        };
        let roles = self.variant.iter().flat_map(|variant| &variant.roles);
        let steps = roles.flat_map(|(_, role)| role.setup.0.iter().chain(&role.teardown.0));
        for template in steps.flat_map(crate::Step::templates) {
            let Some(name) = template.names().into_iter().find(|name| !everywhere(name)) else {
                continue;
            };
            let mut known: Vec<String> = seats
                .keys()
                .flat_map(|role| ROLE_FACTS.iter().map(move |fact| format!("{role}.{fact}")))
                .collect();
            known.extend(built_in_placeholders().map(str::to_owned));
            let params = benchmarks
                .values()
                .flat_map(|b| b.params.keys())
                .map(ParamName::as_str);
            known.extend(params.filter(|name| everywhere(name)).map(str::to_owned));
            known.dedup();
            return Err(document.problem(
                place_of(document, template),
                format!("`{{{name}}}` is not defined in every benchmark of this plan"),
                "used here",
                did_you_mean(name, known.iter().map(String::as_str)).or_else(|| {
                    Some(format!(
                        "known here: {}; write {{{{ and }}}} for literal braces",
                        known.join(", ")
                    ))
                }),
            ));
        }
        Ok(())
    }

    fn seats<E: From<DocumentError>>(
        &self,
        document: &TomlDocument,
        lab: &Lab,
        benchmarks: &IndexMap<BenchmarkName, Benchmark>,
        variants: &IndexMap<VariantName, Variant>,
    ) -> Result<(TestbedName, IndexMap<RoleName, Seat>), E> {
        let mut wanted: IndexMap<RoleName, Option<(std::ops::Range<usize>, &BenchmarkName)>> =
            IndexMap::new();
        for name in &self.benchmarks {
            for role in &benchmarks[&**name].roles {
                wanted
                    .entry((**role).clone())
                    .or_insert_with(|| Some((name.span(), name)));
            }
        }
        let of_benchmarks: Vec<RoleName> = wanted.keys().cloned().collect();
        let span = self.testbed.as_ref().map_or(0..0, Located::span);
        let name = self.testbed.as_ref().map(|t| t.as_str());
        let (testbed, Testbed { roles, .. }) = lab
            .choose_testbed(name, &of_benchmarks)
            .map_err(|(message, help)| E::from(document.problem(span, message, "here", help)))?;
        let mut seats = IndexMap::new();
        for (role, from) in &wanted {
            let seat = roles.get(role).cloned();
            let seat = match (seat, from) {
                (Some(seat), _) => seat,
                (None, from) => {
                    let (span, message) = match from {
                        Some((span, benchmark)) => (
                            span.clone(),
                            format!(
                                "benchmark `{benchmark}` needs the role `{role}`, and testbed `{testbed}` has no host for it"
                            ),
                        ),
                        None => (
                            0..0,
                            format!("testbed `{testbed}` has no host for the role `{role}`"),
                        ),
                    };
                    let help =
                        format!("add it to [testbed.{testbed}] in lab.toml: {role} = \"HOST\"");
                    return Err(document.problem(span, message, "here", Some(help)).into());
                }
            };
            seats.insert(role.clone(), seat);
        }
        for variant in variants.values() {
            for (role, steps) in &variant.roles {
                let Some((known, seat)) = roles.get_key_value(role.as_str()) else {
                    return Err(document
                        .problem(
                            role.span(),
                            format!("`{}` is neither a key of a variant nor a role of testbed `{testbed}`", **role),
                            "here",
                            did_you_mean(role, roles.keys().map(|r| r.as_str()).chain(VARIANT_KEYS.iter().copied())),
                        )
                        .into());
                };
                seats
                    .entry((**known).clone())
                    .or_insert_with(|| seat.clone());
                for player in seat.instances() {
                    let Some(data) = &steps.data else { break };
                    lab.data_address(&player.host, Some(data))
                        .map_err(|message| document.problem(data.span(), message, "here", None))?;
                }
            }
        }
        Ok((testbed, seats))
    }
}

/// Why a benchmark can't be had.
#[derive(Debug)]
pub enum BenchmarkLookupError<E> {
    /// Nobody defines it.
    Unknown {
        /// A way out.
        help: Option<String>,
    },
    /// Its definition is wrong.
    Faulty(E),
}

impl Arrangement {
    /// The hosts that play a role; one that plays several is there as often.
    pub fn hosts(&self) -> impl Iterator<Item = &HostName> {
        self.seats.values().flat_map(Seat::hosts)
    }

    /// The hosts that play a role, and those that a chain of links joins with them: what lies between two of them forwards their
    /// packets.
    pub fn hosts_that_take_part(&self) -> BTreeSet<&HostName> {
        let mut found: BTreeSet<&HostName> = self.hosts().collect();
        loop {
            let links = self.lab.link.iter();
            let reached = links.filter(|link| link.ends.keys().any(|end| found.contains(&**end)));
            let ends: Vec<&HostName> = reached
                .flat_map(|link| link.ends.keys())
                .map(|end| &**end)
                .collect();
            let before = found.len();
            found.extend(ends);
            if found.len() == before {
                return found;
            }
        }
    }

    /// Whether a host finds this machine's files by their paths.
    pub fn sees_our_files(&self, host: &HostName) -> bool {
        self.lab
            .host
            .get(host)
            .is_none_or(|settings| match settings.kind {
                HostKind::Local | HostKind::Netns => true,
                HostKind::Uml => settings.root.is_none(),
                HostKind::Qemu
                | HostKind::Ssh
                | HostKind::Container
                | HostKind::Vm
                | HostKind::Domain => false,
            })
    }

    /// The plan's folder, if commands of a variant run in it, or a benchmark asks for it, on a host that doesn't see it.
    pub fn folder_for(&self, host: &HostName) -> Option<&Path> {
        let roles = self
            .seats
            .iter()
            .filter(|(_, seat)| seat.is_played_by(host));
        let mut roles = roles.map(|(role, _)| role);
        let is_needed = roles.any(|role| {
            let mut variants = self.variants.values();
            let mut benchmarks = self.benchmarks.values();
            benchmarks.any(|benchmark| benchmark.needs_plan_folder(role))
                || variants.any(|variant| {
                    [Phase::Setup, Phase::Teardown]
                        .iter()
                        .any(|phase| !variant.steps_of(role, *phase).is_empty())
                })
        });
        let folder = self.folder.as_deref()?;
        (is_needed && !self.sees_our_files(host)).then_some(folder)
    }

    /// The plan's cross product, in the plan's order: benchmark, then parameters, then variant.
    ///
    /// Parameters whose value is a computation (`"{cpus}"`) get its result on the machine of the
    /// benchmark's last role; of its first instance, where several hosts play that.
    ///
    /// # Errors
    /// A computed parameter has no value, the product is larger than [`MOST_CELLS`], what is left out isn't in it, or it
    /// is all of it.
    pub fn cells(
        &self,
        machine: impl Fn(&RoleName) -> Option<Machine>,
    ) -> Result<Vec<Cell>, String> {
        let mut cells = Vec::new();
        for (name, benchmark) in &self.benchmarks {
            let on = benchmark.roles.last().and_then(|role| machine(role));
            let set = &self.set[name];
            for point in crossed(set)? {
                for variant in self.variants.values() {
                    if variant.is_repeated(&point, set) {
                        continue;
                    }
                    let mut params = IndexMap::new();
                    let mut chosen = Vec::new();
                    for (param, definition) in &benchmark.params {
                        let by_variant = variant.params.get(param).map(|value| (**value).clone());
                        let by_plan = point
                            .iter()
                            .find(|(name, _)| *name == param)
                            .map(|(_, value)| (*value).clone());
                        let value = by_variant.or(by_plan);
                        if value.is_some() {
                            chosen.push(param.clone());
                        }
                        let value = value.unwrap_or_else(|| definition.default.clone());
                        let value = computed(&value, on)
                            .and_then(|value| definition.check(&value).map(|()| value))
                            .map_err(|why| format!("parameter `{param}` of `{name}`: {why}"))?;
                        params.insert(param.clone(), value);
                    }
                    cells.push(Cell {
                        benchmark: name.clone(),
                        params,
                        chosen,
                        variant: (*variant.name).clone(),
                        monitors: None,
                    });
                }
            }
            if cells.len() > MOST_CELLS {
                return Err(format!("this plan has more than {MOST_CELLS} cells"));
            }
        }
        for (left_out, number) in self.leave_out.iter().zip(1..) {
            if !cells.iter().any(|cell| left_out.has(cell)) {
                return Err(format!(
                    "the plan's [[leave-out]] number {number} fits no cell: nothing has to be left out"
                ));
            }
        }
        cells.retain(|cell| !self.leave_out.iter().any(|left_out| left_out.has(cell)));
        if cells.is_empty() {
            return Err("the plan's [[leave-out]] leaves nothing to measure".into());
        }
        Ok(cells)
    }
}

fn computed(value: &Value, machine: Option<Machine>) -> Result<Value, String> {
    match value {
        Value::Text(text) if text.contains('{') => {
            let template = crate::Template::parse(text).map_err(|e| e.to_string())?;
            let filled = template
                .fill(&|name| machine.and_then(|m| m.lookup(name)))
                .map_err(|e| e.to_string())?;
            Ok(Value::from_argument(&filled))
        }
        plain => Ok(plain.clone()),
    }
}

fn crossed(set: &IndexMap<ParamName, Values>) -> Result<Vec<Vec<(&ParamName, &Value)>>, String> {
    let mut points = vec![Vec::new()];
    for (param, values) in set {
        if points.len().saturating_mul(values.0.len()) > MOST_CELLS {
            return Err(format!(
                "the lists of [params] make more than {MOST_CELLS} cells"
            ));
        }
        points = points
            .into_iter()
            .flat_map(|point: Vec<(&ParamName, &Value)>| {
                values.0.iter().map(move |value| {
                    let mut next = point.clone();
                    next.push((param, value));
                    next
                })
            })
            .collect();
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BENCHMARK: &str = r#"
name = "bulk"
about = "x"
roles = ["server", "client"]
[params]
streams = { default = 1 }
seconds = { default = 2 }
threads = { default = "{cpus}" }
[server]
startup.spawn = { run = "srv -p 7", ready = { listens = 7 } }
[client]
run = "cli {server.data} {streams} {threads}"
[metric.rate]
unit = "bit/s"
better = "higher"
regex = '(?<value>\d+)'
"#;

    const LAB: &str = r#"
[host.a]
kind = "netns"
[host.b]
kind = "netns"
[[link]]
ends = { a = "10.0.0.1/24", b = "10.0.0.2/24" }
[[link]]
name = "direct"
ends = { a = "10.0.1.1/24", b = "10.0.1.2/24" }
[testbed.wire]
client = "a"
server = "b"
dut = "b"
"#;

    const PLAN: &str = r#"
testbed = "wire"
rounds = 3
use = ["bulk"]
[params]
streams = [1, 10]
[[variant]]
name = "plain"
[[variant]]
name = "filter"
server.data = "direct"
dut.setup = "nft -f rules.nft"
dut.teardown = "nft flush ruleset"
"#;

    fn arrange(plan: &str) -> Result<Arrangement, DocumentError> {
        let lab = Lab::read(&TomlDocument::new("lab.toml", LAB)).unwrap();
        arrange_on(plan, &lab)
    }

    fn arrange_on(plan: &str, lab: &Lab) -> Result<Arrangement, DocumentError> {
        let document = TomlDocument::new("plan.toml", plan);
        Plan::read(&document)?.arrange(&document, lab, |name| {
            if name.as_str() == "bulk" {
                Ok(Benchmark::read(&TomlDocument::new("bulk.toml", BENCHMARK)).unwrap())
            } else {
                Err(BenchmarkLookupError::Unknown {
                    help: did_you_mean(name.as_str(), ["bulk"]),
                })
            }
        })
    }

    fn machine<Name>(_: &Name) -> Option<Machine> {
        Some(Machine::new(4, 1 << 30))
    }

    #[test]
    fn lists_and_variants_are_crossed() {
        let cells = arrange(PLAN).unwrap().cells(machine).unwrap();
        let names: Vec<String> = cells.iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "bulk streams=1 plain",
                "bulk streams=1 filter",
                "bulk streams=10 plain",
                "bulk streams=10 filter"
            ]
        );
        assert_eq!(cells[0].params["threads"], Value::Integer(4));
    }

    #[test]
    fn combinations_that_make_no_sense_are_left_out() {
        let names = |left_out: &str| {
            let cells = arrange(&format!("{PLAN}{left_out}"))?.cells(machine);
            Ok::<_, DocumentError>(
                cells.map(|cells| cells.iter().map(ToString::to_string).collect::<Vec<_>>()),
            )
        };
        let some = "[[leave-out]]\nvariant = \"filter\"\nparams = { streams = [2, 10] }\n";
        assert_eq!(
            names(some).unwrap().unwrap(),
            [
                "bulk streams=1 plain",
                "bulk streams=1 filter",
                "bulk streams=10 plain"
            ]
        );
        let none = "[[leave-out]]\nparams = { streams = 2 }\n";
        assert!(names(none).unwrap().unwrap_err().contains("fits no cell"));
        let all = "[[leave-out]]\nbenchmark = \"bulk\"\n";
        assert!(names(all).unwrap().unwrap_err().contains("nothing to"));
        let wrong = names("[[leave-out]]\nvariant = \"filer\"\n").unwrap_err();
        assert_eq!(wrong.place(), (15, 11));
        assert!(wrong.to_string().contains("not a variant"), "{wrong}");
    }

    #[test]
    fn what_a_variant_sets_of_a_crossed_parameter_is_measured_once() {
        let plan = PLAN.replace(
            "name = \"filter\"\n",
            "name = \"filter\"\nparams = { streams = 3 }\n",
        );
        let cells = arrange(&plan).unwrap().cells(machine).unwrap();
        let names: Vec<String> = cells.iter().map(ToString::to_string).collect();
        let expected = [
            "bulk streams=1 plain",
            "bulk streams=3 filter",
            "bulk streams=10 plain",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_placeholder_of_a_variant_that_nobody_defines_is_pointed_at() {
        let plan =
            "use = [\"bulk\"]\n[[variant]]\nname = \"v\"\ndut.setup = \"echo {dut.hots} {cpus}\"\n";
        let problem = arrange(plan).unwrap_err();
        assert_eq!(problem.place(), (4, 14));
        let message = format!("{problem} {}", miette::Diagnostic::help(&problem).unwrap());
        assert!(message.contains("`{dut.hots}` is not defined"), "{message}");
        assert!(message.contains("did you mean `dut.host`?"), "{message}");
    }

    #[test]
    fn a_trial_is_filled_for_its_variant() {
        let arrangement = arrange(PLAN).unwrap();
        let cells = arrangement.cells(machine).unwrap();
        let command = |cell: usize| {
            let roles = arrangement.fill(&cells[cell], machine).unwrap();
            let client = roles
                .iter()
                .find(|r| r.role.as_str() == "client")
                .unwrap()
                .clone();
            client.steps[&Phase::Run][0].command.clone()
        };
        assert_eq!(command(0), "cli 10.0.0.2 1 4");
        assert_eq!(command(3), "cli 10.0.1.2 10 4");
        let roles = arrangement.fill(&cells[1], machine).unwrap();
        let dut = roles.iter().find(|r| r.role.as_str() == "dut").unwrap();
        assert_eq!(dut.host, HostName::new("b").unwrap());
        assert_eq!(dut.steps[&Phase::Setup][0].command, "nft -f rules.nft");
        assert_eq!(dut.steps[&Phase::Teardown][0].command, "nft flush ruleset");
    }

    #[test]
    fn machines_have_the_interfaces_that_they_say_and_a_copy_of_the_plans_folder() {
        let plan = PLAN.replace(
            "dut.setup = \"nft -f rules.nft\"",
            "dut.setup = \"scripts/on {server.interface} {client.interface}\"",
        );
        let lab = LAB.replace("netns", "ssh");
        let lab = Lab::read(&TomlDocument::new("lab.toml", lab)).unwrap();
        let mut arrangement = arrange_on(&plan, &lab).unwrap();
        let [a, b] = ["a", "b"].map(|name| HostName::new(name).unwrap());
        arrangement.folder = Some("/home/me/plan".into());
        assert_eq!(arrangement.folder_for(&b), Some(Path::new("/home/me/plan")));
        assert_eq!(arrangement.folder_for(&a), None, "it has no commands there");
        let of_links: Vec<String> = arrangement
            .link_addresses(&b)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(of_links, ["10.0.0.2", "10.0.1.2"]);
        let there = |interface: &str, address: &str| InterfaceAddress {
            interface: interface.into(),
            address: address.parse().unwrap(),
        };
        let on_b = vec![there("eth2", "10.0.1.2"), there("lo", "127.0.0.1")];
        arrangement.addresses_on.insert(b.clone(), on_b);
        let cells = arrangement.cells(machine).unwrap();
        let filter = cells
            .iter()
            .find(|cell| cell.variant.as_str() == "filter")
            .unwrap();
        let of_machine = |_: &HostName| machine(&RoleName::new("server").unwrap());
        let fault = arrangement
            .fill(filter, of_machine)
            .unwrap_err()
            .to_string();
        assert!(
            fault.contains("no interface of host `a` has its address 10.0.0.1: its addresses are none that it tells"),
            "{fault}"
        );
        arrangement
            .addresses_on
            .insert(a, vec![there("p1", "10.0.0.1")]);
        arrangement.folder_on.insert(b, "/tmp/agent/plan".into());
        let roles = arrangement.fill(filter, of_machine).unwrap();
        let dut = roles
            .iter()
            .find(|role| role.role.as_str() == "dut")
            .unwrap();
        let setup = &dut.steps[&Phase::Setup][0];
        assert_eq!(setup.command, "scripts/on eth2 p1");
        assert_eq!(setup.folder.as_deref(), Some(Path::new("/tmp/agent/plan")));
        for wrong in ["../x", "/etc", ""] {
            let plan = format!("files = [\"{wrong}\"]\n{PLAN}");
            let fault = arrange(&plan).unwrap_err();
            assert!(
                fault
                    .to_string()
                    .contains("doesn't lie in the plan's folder"),
                "{fault}"
            );
        }
    }

    #[test]
    fn parameters_of_one_benchmark_stand_in_its_table() {
        let plan = PLAN.replace("streams = [1, 10]", "bulk = { streams = 7 }\nseconds = 1");
        let cells = arrange(&plan).unwrap().cells(machine).unwrap();
        assert_eq!(cells[0].to_string(), "bulk streams=7 seconds=1 plain");
    }

    #[test]
    fn faults_point_at_their_place_with_a_way_out() {
        let fault = |from: &str, to: &str| {
            let problem = arrange(&PLAN.replace(from, to)).unwrap_err();
            let help = miette::Diagnostic::help(&problem)
                .map(|h| h.to_string())
                .unwrap_or_default();
            (problem.to_string(), problem.place().0, help)
        };
        let (message, line, help) = fault("\"bulk\"", "\"bluk\"");
        assert!(message.contains("no benchmark `bluk`"), "{message}");
        assert_eq!((line, help.as_str()), (4, "did you mean `bulk`?"));
        let (message, line, help) = fault("streams =", "steams =");
        assert!(message.contains("has a parameter `steams`"), "{message}");
        assert_eq!((line, help.as_str()), (6, "did you mean `streams`?"));
        let (message, _, help) = fault("dut.setup", "dot.setup");
        assert!(message.contains("`dot` is neither"), "{message}");
        assert_eq!(help, "did you mean `dut`?");
        let (message, line, help) = fault("\"wire\"", "\"wier\"");
        assert!(message.contains("testbed `wier`"), "{message}");
        assert_eq!((line, help.as_str()), (2, "did you mean `wire`?"));
        let (message, line, help) = fault("rounds", "runds");
        assert!(message.contains("unknown field `runds`"), "{message}");
        assert_eq!((line, help.as_str()), (3, "did you mean `rounds`?"));
        assert!(
            fault("rounds = 3", "rounds = 0").0.contains("0"),
            "zero rounds measure nothing"
        );
        assert!(fault("[1, 10]", "[]").0.contains("nothing to measure"));
        assert!(
            fault("[1, 10]", "[true]")
                .0
                .contains("expected a whole number")
        );
        assert!(
            fault("\"direct\"", "\"straight\"")
                .0
                .contains("neither a link")
        );
        assert!(
            fault("name = \"plain\"", "name = \"filter\"")
                .0
                .contains("two variants")
        );
    }
}
