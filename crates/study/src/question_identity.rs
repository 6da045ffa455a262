//! What identifies the question of a cell over studies: trials of two studies are evidence for the same thing only where it is the
//! same.
//!
//! It is the hash of a JSON text of what is *set*: definition, parameters, variant, the hosts that take part with their links, roles
//! and settings, and the kind of machine. Keys that nobody set are no part of it, so that a new key of a file leaves the identities
//! of all questions that don't have it; how a host is reached, named in groups, or brought back is no part of it either.

use backsight_conductor::WantedSettings;
use backsight_model::{
    Address, Arrangement, BenchmarkName, Cell, ContainerEngine, Host, HostKind, HostName, Lab,
    Link, Located, Recipe, Restore, RoleHost, Steps, TomlDocument, Value, Variant, VariantRole,
};
use backsight_settings::{SettingValue, WantedSetting};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::IpAddr,
};

/// Where a question is asked.
#[derive(Clone, Copy)]
pub(crate) struct QuestionPlace<'a> {
    /// The plan on its testbed.
    pub arrangement: &'a Arrangement,
    /// What it asks of the settings of machines.
    pub settings: &'a WantedSettings,
    /// What kind of machine measures.
    pub machine: &'a [(String, String)],
}

/// What identifies each cell's question. `definition` finds a benchmark's document.
pub(crate) fn question_identities(
    place: QuestionPlace<'_>,
    cells: &[Cell],
    definition: impl Fn(&BenchmarkName) -> Option<TomlDocument>,
) -> Vec<String> {
    let arrangement = place.arrangement;
    let hosts = arrangement.hosts_that_take_part();
    let definitions: HashMap<&BenchmarkName, serde_json::Value> = arrangement
        .benchmarks
        .keys()
        .filter_map(|name| Some((name, meaning(&definition(name)?))))
        .collect();
    let identity = |cell: &Cell| {
        let settings = place.settings.of_variants.get(&cell.variant);
        let question = QuestionMeaning {
            benchmark: &cell.benchmark,
            definition: definitions.get(&cell.benchmark),
            parameters: cell.params.iter().map(|(k, v)| (k.as_str(), v)).collect(),
            variant: cell.variant.as_str(),
            set_up: arrangement.variants.get(&cell.variant).map(set_up),
            hosts: hosts
                .iter()
                .filter_map(|name| Some((*name, measured_host(arrangement.lab.host.get(*name)?))))
                .collect(),
            links: links(&arrangement.lab, &hosts),
            roles: (arrangement.seats.iter())
                .map(|(role, seat)| (role.as_str(), seat.instances().iter().map(player).collect()))
                .collect(),
            settings: settings
                .unwrap_or(&place.settings.of_study)
                .iter()
                .filter(|(_, wanted)| !wanted.is_empty())
                .map(|(host, wanted)| (host, wanted.iter().map(measured_setting).collect()))
                .collect(),
            machine: place
                .machine
                .iter()
                .map(|(k, v)| (k.as_str(), v.as_str()))
                .collect(),
        };
        let text = serde_json::to_vec(&question)
            .unwrap_or_else(|_| unreachable!("texts and numbers with texts as keys"));
        blake3::hash(&text).to_hex()[..32].to_owned()
    };
    cells.iter().map(identity).collect()
}

#[derive(Serialize)]
struct QuestionMeaning<'a> {
    benchmark: &'a BenchmarkName,
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<&'a serde_json::Value>,
    parameters: BTreeMap<&'a str, &'a Value>,
    variant: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_up: Option<BTreeMap<&'a str, SetUp<'a>>>,
    hosts: BTreeMap<&'a HostName, MeasuredHost<'a>>,
    links: Vec<MeasuredLink<'a>>,
    roles: BTreeMap<&'a str, Vec<MeasuredRole<'a>>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    settings: BTreeMap<&'a HostName, Vec<MeasuredSetting<'a>>>,
    machine: BTreeMap<&'a str, &'a str>,
}

/// What a definition says, without its comments, its prose and which of its metrics matter most.
fn meaning(document: &TomlDocument) -> serde_json::Value {
    let Ok(mut table) = document.read::<serde_json::Map<String, serde_json::Value>>() else {
        return document.text.to_string().into();
    };
    for prose in ["about", "measures", "not", "traps"] {
        table.shift_remove(prose);
    }
    let metrics = table.get_mut("metric").and_then(|it| it.as_object_mut());
    for metric in metrics.into_iter().flat_map(|it| it.values_mut()) {
        metric.as_object_mut().map(|it| it.shift_remove("primary"));
    }
    table.into()
}

/// What a variant does on a role.
#[derive(Serialize)]
struct SetUp<'a> {
    #[serde(skip_serializing_if = "is_empty")]
    setup: &'a Steps,
    #[serde(skip_serializing_if = "is_empty")]
    teardown: &'a Steps,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a str>,
}

fn is_empty(steps: &&Steps) -> bool {
    steps.0.is_empty()
}

/// What a variant does, by role. Its parameters are those of the cell, what it prepares is among the settings.
fn set_up(variant: &Variant) -> BTreeMap<&str, SetUp<'_>> {
    let Variant {
        name: _,
        params: _,
        prepare: _,
        roles,
    } = variant;
    let of_roles = roles.iter().map(|(name, role)| {
        let VariantRole {
            setup,
            teardown,
            data,
            prepare: _,
        } = role;
        let data = data.as_ref().map(|data| data.as_str());
        let set_up = SetUp {
            setup,
            teardown,
            data,
        };
        (name.as_str(), set_up)
    });
    let says_something =
        |it: &SetUp<'_>| !is_empty(&it.setup) || !is_empty(&it.teardown) || it.data.is_some();
    of_roles.filter(|(_, it)| says_something(it)).collect()
}

/// A host as what it measures depends on it.
#[derive(Serialize)]
struct MeasuredHost<'a> {
    kind: HostKind,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    forward: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routes: Vec<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sysctl: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kvm: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    programs: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    login: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<ContainerEngine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initrd: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    append: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recipe: Option<&'a Recipe>,
    #[serde(skip_serializing_if = "Option::is_none")]
    restore: Option<Restore>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connect: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    options: Vec<&'a str>,
}

/// Every key of a host is named here, so that whoever adds one decides whether measurements depend on it.
fn measured_host(host: &Host) -> MeasuredHost<'_> {
    let Host {
        kind,
        forward,
        routes,
        sysctl,
        data,
        memory,
        cpus,
        kvm,
        root,
        programs,
        login,
        image,
        folder,
        engine,
        disk,
        kernel,
        initrd,
        append,
        recipe,
        restore,
        domain,
        connect,
        snapshot,
        options,
        // How it is found, reached, comes back, is switched and heard.
        become_root: _,
        tags: _,
        ssh_reboot: _,
        kexec: _,
        power: _,
        console: _,
        install: _,
        channel: _,
        // Among the settings, resolved.
        prepare: _,
    } = host;
    fn text(key: &Option<Located<String>>) -> Option<&str> {
        key.as_ref().map(|it| it.as_str())
    }
    MeasuredHost {
        kind: *kind,
        forward: *forward,
        routes: routes.iter().map(|it| it.as_str()).collect(),
        sysctl: sysctl
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect(),
        data: *data,
        memory: memory.as_ref().map(|it| it.0),
        cpus: cpus.as_ref().map(|it| **it),
        kvm: kvm.as_ref().map(|it| **it),
        root: root.as_ref().map(|it| it.as_str()),
        programs: programs.iter().map(|it| it.as_str()).collect(),
        login: login.as_ref().map(|it| it.as_str()),
        image: text(image),
        folder: text(folder),
        engine: engine.as_ref().map(|it| **it),
        disk: text(disk),
        kernel: text(kernel),
        initrd: text(initrd),
        append: text(append),
        recipe: recipe.as_deref(),
        restore: restore.as_ref().map(|it| **it),
        domain: text(domain),
        connect: text(connect),
        snapshot: text(snapshot),
        // Those of `ssh` say how it is reached; those of an engine and an emulator what it is.
        options: match kind {
            HostKind::Container | HostKind::Vm => options.iter().map(|it| it.as_str()).collect(),
            _ => Vec::new(),
        },
    }
}

/// A link between hosts that take part.
#[derive(Serialize)]
struct MeasuredLink<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    ends: BTreeMap<&'a HostName, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mtu: Option<u32>,
}

fn links<'a>(lab: &'a Lab, hosts: &BTreeSet<&HostName>) -> Vec<MeasuredLink<'a>> {
    let joins = |link: &&Link| link.ends.keys().any(|end| hosts.contains(&**end));
    let measured = |link: &'a Link| {
        let Link { name, ends, mtu } = link;
        let end =
            |(host, address): (&'a Located<HostName>, &Address)| (&**host, address.to_string());
        MeasuredLink {
            name: name.as_ref().map(|name| name.as_str()),
            ends: ends.iter().map(end).collect(),
            mtu: *mtu,
        }
    };
    lab.link.iter().filter(joins).map(measured).collect()
}

/// A host that plays a role, and on which address.
#[derive(Serialize)]
struct MeasuredRole<'a> {
    host: &'a HostName,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a str>,
}

fn player(player: &RoleHost) -> MeasuredRole<'_> {
    let RoleHost { host, data } = player;
    MeasuredRole {
        host,
        data: data.as_ref().map(|data| data.as_str()),
    }
}

/// A setting as a machine has it, wherever it was asked for.
#[derive(Serialize)]
struct MeasuredSetting<'a> {
    setting: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a SettingValue>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, &'a str>,
}

fn measured_setting(wanted: &WantedSetting) -> MeasuredSetting<'_> {
    let parameters = wanted.request.parameters.iter();
    MeasuredSetting {
        setting: &wanted.setting,
        value: wanted.request.value.as_ref(),
        parameters: parameters.map(|(k, v)| (k.as_str(), v.as_str())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{Benchmark, BenchmarkLookupError, DocumentError, Plan};

    const BENCHMARK: &str = "name = \"net\"\nabout = \"A\"\nroles = [\"server\", \"client\"]\n[server]\nstartup = { spawn = \"listen {size}\" }\n\
         [client]\nrun = \"send {server.data}\"\n[params]\nsize = { default = 1, about = \"B\" }\n[metric.rate]\nunit = \"1/s\"\nbetter = \"higher\"\n\
         about = \"Rate\"\nregex = 'rate (.*)'\n";
    const LAB: &str = "[host.a]\nkind = \"netns\"\n[host.router]\nkind = \"netns\"\nforward = true\n[host.b]\nkind = \"netns\"\n\
         [host.idle]\nkind = \"netns\"\n[host.far]\nkind = \"ssh\"\ndata = \"10.9.9.9\"\n\
         [[link]]\nends = { a = \"10.7.1.1/24\", router = \"10.7.1.2/24\" }\n\
         [[link]]\nends = { router = \"10.7.2.1/24\", b = \"10.7.2.2/24\" }\n\
         [testbed.t]\nserver = \"a\"\nclient = \"b\"\n[testbed.u]\nserver = \"a\"\nclient = \"far\"\n";
    const PLAN: &str = "use = [\"net\"]\ntestbed = \"t\"\n[[variant]]\nname = \"plain\"\n[[variant]]\nname = \"mtu\"\n\
         server.setup = \"ip link set mtu 1400\"\n";

    /// The identities of the cells of this plan, in this lab.
    fn identities(benchmark: &str, lab: &str, plan: &str) -> Vec<String> {
        let definition = TomlDocument::new("net.toml", benchmark);
        let lab_document = TomlDocument::new("lab.toml", lab);
        let document = TomlDocument::new("plan.toml", plan);
        let lab = Lab::read(&lab_document).unwrap();
        let plan = Plan::read(&document).unwrap();
        let read = |_: &BenchmarkName| {
            Benchmark::read(&definition).map_err(BenchmarkLookupError::<DocumentError>::Faulty)
        };
        let mut arrangement = plan.arrange(&document, &lab, read).unwrap();
        plan.arrange_preparations(&document, Some(&lab_document), &mut arrangement)
            .unwrap();
        let settings = crate::wanted_settings::wanted_settings(&arrangement, |_| None).unwrap();
        let place = QuestionPlace {
            arrangement: &arrangement,
            settings: &settings,
            machine: &[("cpus".into(), "2".into())],
        };
        let cells = arrangement.cells(|_| None).unwrap();
        question_identities(place, &cells, |_| Some(definition.clone()))
    }

    #[test]
    fn what_nobody_set_is_no_part_of_it() {
        // These are stored: where they change, every measurement that is known is forgotten as evidence.
        assert_eq!(
            identities(BENCHMARK, LAB, PLAN),
            [
                "92e5e22f14efc308187671672cd1eb55",
                "d6b7ccbebb2b23e7bb421cc510e4243b"
            ]
        );
    }

    #[test]
    fn what_measurements_depend_on_makes_another_question_and_nothing_else_does() {
        let known = identities(BENCHMARK, LAB, PLAN);
        let same = |lab: &str, plan: &str| assert_eq!(identities(BENCHMARK, lab, plan), known);
        // Hosts that take no part, and how others are reached.
        same(
            &LAB.replace("[host.idle]\n", "[host.idle]\nsysctl.\"a.b\" = \"1\"\n"),
            PLAN,
        );
        same(&format!("{LAB}[host.more]\nkind = \"local\"\n"), PLAN);
        same(
            LAB,
            &PLAN.replace("use =", "# a comment\nrounds = 9\nuse ="),
        );
        assert_eq!(
            identities(&BENCHMARK.replace("\"A\"", "\"B\""), LAB, PLAN),
            known
        );
        let all_other = |benchmark: &str, lab: &str, plan: &str| {
            let found = identities(benchmark, lab, plan);
            assert!(found.iter().all(|one| !known.contains(one)), "{lab}{plan}");
        };
        all_other(&BENCHMARK.replace("send", "send -4"), LAB, PLAN);
        all_other(&BENCHMARK.replace("default = 1", "default = 2"), LAB, PLAN);
        // The host between the two forwards their packets.
        all_other(BENCHMARK, &LAB.replace("forward = true\n", ""), PLAN);
        all_other(BENCHMARK, &LAB.replace("10.7.2.1/24", "10.7.2.9/24"), PLAN);
        all_other(BENCHMARK, LAB, &PLAN.replace("\"t\"", "\"u\""));
        // A setting of the plan, of the lab's host, or of a variant.
        let swappiness = "sysctl.\"vm.swappiness\" = 7";
        let prepared = format!("prepare = {{ {swappiness} }}\n{PLAN}");
        all_other(BENCHMARK, LAB, &prepared);
        let other_value = prepared.replace("= 7", "= 8");
        assert_ne!(
            identities(BENCHMARK, LAB, &prepared),
            identities(BENCHMARK, LAB, &other_value)
        );
        let of_variant = PLAN.replace(
            "\"plain\"\n",
            &format!("\"plain\"\nprepare = {{ {swappiness} }}\n"),
        );
        let found = identities(BENCHMARK, LAB, &of_variant);
        assert!(found[0] != known[0] && found[1] == known[1]);
        // A way in that isn't the name, and what a host is told besides.
        let far = PLAN.replace("\"t\"", "\"u\"");
        let to_far = identities(BENCHMARK, LAB, &far);
        let with = |key: &str| LAB.replace("kind = \"ssh\"\n", &format!("kind = \"ssh\"\n{key}\n"));
        assert_eq!(
            identities(BENCHMARK, &with("options = [\"-p\", \"22\"]"), &far),
            to_far
        );
        assert_eq!(
            identities(BENCHMARK, &with("become-root = [\"sudo\", \"-n\"]"), &far),
            to_far
        );
        // What a container or a virtual machine is made of.
        let virtual_host = |keys: &str| {
            let lab = LAB.replacen("kind = \"netns\"", keys, 1);
            identities(BENCHMARK, &lab, PLAN)
        };
        let vm = "kind = \"vm\"\ndisk = \"/a\"";
        let known = virtual_host(vm);
        for other in [
            "kind = \"vm\"\ndisk = \"/b\"",
            "kind = \"vm\"\ndisk = \"/a\"\nmemory = \"512MiB\"",
            "kind = \"vm\"\ndisk = \"/a\"\ncpus = 2",
            "kind = \"vm\"\ndisk = \"/a\"\nrestore = \"trial\"",
            "kind = \"vm\"\ndisk = \"/a\"\noptions = [\"-snapshot\"]",
            "kind = \"vm\"\nrecipe = { debian = \"bookworm\" }",
            "kind = \"container\"\nimage = \"a\"",
            "kind = \"container\"\nimage = \"b\"",
        ] {
            assert_ne!(virtual_host(other), known, "{other}");
        }
        assert_eq!(virtual_host(&format!("{vm}\ntags = [\"slow\"]")), known);
        assert_ne!(
            identities(BENCHMARK, &with("login = \"root@other\""), &far),
            to_far
        );
    }
}
