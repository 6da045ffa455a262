//! The examination of machines by `doctor`: which machines a plan or a lab has, what is asked of each, and what its answer means.
//!
//! Findings are ranked by their harm: what was measured by its grade, what only may disturb by the weight that its name has among the
//! facts of a record.

use backsight_catalog::Catalog;
use backsight_conductor::{
    ExaminationOrder, ExaminedHost, HostAccess, Lease, LeaseError, check_plan, examine_host,
};
use backsight_model::{
    Arrangement, Grade, HostKind, HostName, Lab, Located, MachineObservation, Measure, NoiseKind,
    NoiseSource, Preparation, PreparationPart, SelfTest, TomlDocument, record_weight,
};
use backsight_report::doctor::{DoctorView, FindingView, MachineView, figure_text, source_text};
use backsight_settings::{
    ChangeReport, PreparationSource, RequiredRight, SettingCatalog, SettingOutcome, SettingReport,
    SettingValue, WantedSetting, resolve,
};
use backsight_store::{Store, StoredSelfTest};
use futures_util::future::join_all;
use std::collections::{BTreeMap, BTreeSet};

use crate::{
    host_records::machines,
    question::Question,
    wanted_settings::{UnresolvedSettings, check_settings},
};

/// The set of settings that a machine is compared with.
const SET: &str = "quiet";
/// The harm of a measure, by its grade.
const HARM: [u8; 6] = [0, 20, 50, 75, 90, 100];
/// Lost time without a name that is worth a finding, as a share.
const UNEXPLAINED: f64 = 0.25;
/// The harm of what nothing is known of.
const LITTLE_HARM: u8 = 10;

/// A machine that is examined.
#[derive(Debug, Clone)]
pub struct ExaminedMachine {
    /// The lab that says how it is reached.
    lab: Lab,
    /// The host in that lab.
    host: HostName,
    /// Settings that the plan makes there.
    prepared: BTreeSet<String>,
}

impl ExaminedMachine {
    /// These machines of a lab.
    fn of_lab(lab: &Lab, hosts: &[HostName]) -> Vec<Self> {
        let machine = |host: &HostName| Self {
            lab: lab.clone(),
            host: host.clone(),
            prepared: BTreeSet::new(),
        };
        hosts.iter().map(machine).collect()
    }

    /// The machines on which a plan is measured, each once, without those that can't be asked. Namespaces and guests are parts of this
    /// one, which goes by the name under which the plan prepares it.
    ///
    /// # Errors
    /// The plan's settings can't be resolved.
    fn of_plan(
        arrangement: &Arrangement,
        silent: &BTreeSet<HostName>,
    ) -> Result<Vec<Self>, UnresolvedSettings> {
        let wanted = check_settings(arrangement)?;
        let kind = |host: &HostName| {
            let settings = arrangement.lab.host.get(host);
            settings.map_or(HostKind::Local, |settings| settings.kind)
        };
        let hosts = || arrangement.hosts();
        let mut machines: Vec<Self> = Vec::new();
        for host in hosts().filter(|host| kind(host).is_other_machine()) {
            if !machines.iter().any(|machine| machine.host == *host) {
                machines.extend(Self::of_lab(&arrangement.lab, std::slice::from_ref(host)));
            }
        }
        let local = hosts().find(|host| kind(host) == HostKind::Local).cloned();
        let has_parts = hosts().any(|host| kind(host).is_part_of_this_machine());
        let beside = has_parts.then(|| arrangement.lab.name_for_this_machine());
        machines.extend(Self::of_lab(&arrangement.lab, local.or(beside).as_slice()));
        machines.retain(|machine| !silent.contains(&machine.host));
        for machine in &mut machines {
            // All hosts of kind `local` are this machine.
            let is_it = |host: &HostName| {
                let both_here =
                    kind(host) == HostKind::Local && kind(&machine.host) == HostKind::Local;
                *host == machine.host || both_here
            };
            let of_it = wanted.of_study.iter().filter(|(host, _)| is_it(host));
            let settings = of_it.flat_map(|(_, settings)| settings);
            machine.prepared = settings.map(|it| it.setting.clone()).collect();
        }
        Ok(machines)
    }

    /// Whether it is a host of the lab; else only its namespaces and guests are.
    fn is_host(&self) -> bool {
        self.lab.host.contains_key(&self.host)
    }
}

/// The machines of a lab, of which nothing is missing: no plan asks for anything.
///
/// # Errors
/// None that is known: no host is named.
pub fn check_lab(lab: &Lab) -> miette::Result<(DoctorView, Vec<ExaminedMachine>)> {
    let (lab, hosts) = machines(lab, &[])?;
    Ok((DoctorView::default(), ExaminedMachine::of_lab(&lab, &hosts)))
}

/// What a plan lacks on its hosts, and its machines that can be asked.
///
/// # Errors
/// The plan, or what it names, is at fault.
pub async fn check_question(
    reach: &HostAccess,
    mut question: Question,
    catalog: &Catalog,
) -> miette::Result<(DoctorView, Vec<ExaminedMachine>)> {
    question.along_history = true;
    let arrangement = question.arrange(catalog)?;
    let checkup = check_plan(reach, &arrangement, &question.plan.text).await;
    let view = DoctorView::of_plan(checkup.faults, &checkup.to_string());
    Ok((
        view,
        ExaminedMachine::of_plan(&arrangement, &checkup.silent)?,
    ))
}

/// How machines are examined.
#[derive(Debug, Clone, Copy)]
pub struct ExaminationOptions {
    /// How long a self-test takes, in seconds; none: without one.
    pub self_test: Option<u16>,
    /// Whether a machine is tested although somebody measures on it.
    pub force: bool,
}

/// The settings that are looked at.
struct InspectedSettings {
    wanted: Vec<WantedSetting>,
    /// What each does, by its name.
    about: BTreeMap<String, String>,
    /// Names of those that are a choice.
    choices: BTreeSet<String>,
}

impl InspectedSettings {
    fn load() -> Result<Self, UnresolvedSettings> {
        let catalog = SettingCatalog::load(&[])?;
        let nowhere = TomlDocument::new(SET, "");
        let quiet = Preparation {
            parts: vec![PreparationPart::Set(Located::nowhere(SET.to_owned()))],
        };
        let choices_file = TomlDocument::new("choices.toml", include_str!("doctor/choices.toml"));
        let choices: Preparation = choices_file.read()?;
        let of = |document, preparation| {
            let source = PreparationSource::new(document, preparation);
            resolve(&catalog, &[source])
        };
        let (mut wanted, choices) = (of(&nowhere, &quiet)?, of(&choices_file, &choices)?);
        let names = choices.iter().map(|it| it.setting.clone()).collect();
        wanted.extend(choices);
        // They are looked at and not made: that takes no right.
        let wanted = wanted.into_iter().map(|setting| WantedSetting {
            right: RequiredRight::None,
            ..setting
        });
        let about = catalog.settings();
        Ok(Self {
            wanted: wanted.collect(),
            about: about
                .map(|it| (it.name.clone(), it.about.clone()))
                .collect(),
            choices: names,
        })
    }
}

/// Examines machines, all at once, and keeps their self-tests in the store. What can't be reached or tested is said of that machine.
///
/// # Errors
/// A definition of a setting is at fault; the store can't be written.
pub async fn examine_machines(
    reach: &HostAccess,
    machines: &[ExaminedMachine],
    options: ExaminationOptions,
    store: Option<&Store>,
) -> miette::Result<Vec<MachineView>> {
    let settings = InspectedSettings::load()?;
    let examined = machines
        .iter()
        .map(|machine| examine(reach, machine, options, &settings));
    let mut views = Vec::new();
    for (view, test) in join_all(examined).await {
        if let (Some(store), Some(test)) = (store, test) {
            store
                .record_self_test(&test)
                .await
                .map_err(miette::Report::msg)?;
        }
        views.push(view);
    }
    Ok(views)
}

async fn examine(
    reach: &HostAccess,
    machine: &ExaminedMachine,
    options: ExaminationOptions,
    settings: &InspectedSettings,
) -> (MachineView, Option<StoredSelfTest>) {
    let ExaminedMachine { lab, host, .. } = machine;
    let mut view = MachineView::new(host.as_str());
    let mut order = ExaminationOrder {
        self_test: options.self_test.map(f64::from),
        settings: settings.wanted.clone(),
    };
    // Held while it is tested: a study that begins meanwhile waits.
    let lease = match options.self_test {
        Some(_) if !options.force => {
            let hosts = std::slice::from_ref(host);
            match Lease::try_take(reach, lab, hosts, "a self-test of `doctor`").await {
                Ok(lease) => Some(lease),
                // The examination says so itself.
                Err(LeaseError::NotReached(_)) => None,
                Err(error) => {
                    order.self_test = None;
                    view.not_tested = Some(why_not_tested(&error));
                    None
                }
            }
        }
        _ => None,
    };
    let under_lease = lease.as_ref().map(|lease| lease.reach(reach));
    let reach = under_lease.as_ref().unwrap_or(reach);
    let examined = match examine_host(reach, lab, host, &order).await {
        Ok(examined) => examined,
        Err(error) => {
            view.fault = Some(error.to_string());
            return (view, None);
        }
    };
    let ExaminedHost {
        examination,
        machine_id,
        boot_id,
    } = examined;
    let test = examination.self_test.map(|result| StoredSelfTest {
        machine: machine_id.unwrap_or_else(|| host.to_string()),
        boot: boot_id,
        host: host.clone(),
        made: jiff::Timestamp::now(),
        result,
    });
    let result = test.as_ref().map(|test| &test.result);
    let settings = SettingsAsFound {
        settings,
        machine,
        reports: &examination.settings.settings,
    };
    view.findings = findings(result, &settings, &examination.observations);
    view.choices = choices(&settings, &examination.observations);
    view.prepared = settings.prepared();
    let mut mends = (view.findings.iter().chain(&view.choices)).flat_map(|it| &it.mend);
    let has_lines = mends.any(|mend| !mend.starts_with('#'));
    view.mend_place = has_lines.then(|| settings.place_of_lines());
    if let Some(result) = result {
        view = view.with_self_test(result.clone());
    }
    (view, test)
}

fn why_not_tested(error: &LeaseError) -> String {
    match error.is_taken() {
        true => {
            format!("{error}, whose measurement it would disturb; --force tests it nevertheless")
        }
        false => error.to_string(),
    }
}

/// How the settings of a machine stand.
struct SettingsAsFound<'a> {
    settings: &'a InspectedSettings,
    machine: &'a ExaminedMachine,
    reports: &'a [SettingReport],
}

impl SettingsAsFound<'_> {
    /// Those that stand otherwise than they would be made. Of a machine whose namespaces and guests are measured, the settings of its
    /// initial network namespace say nothing.
    fn pending(&self) -> impl Iterator<Item = (&WantedSetting, &SettingReport)> {
        let both = self.settings.wanted.iter().zip(self.reports);
        both.filter(|(wanted, report)| {
            let is_meant = self.machine.is_host() || !wanted.is_of_network_namespace();
            is_meant && report.outcome == SettingOutcome::Pending
        })
    }

    fn is_prepared(&self, wanted: &WantedSetting) -> bool {
        self.machine.prepared.contains(&wanted.setting)
    }

    /// Those that stand otherwise and that the plan doesn't make.
    fn differing(&self) -> impl Iterator<Item = (&WantedSetting, &SettingReport)> {
        self.pending()
            .filter(|(wanted, _)| !self.is_prepared(wanted))
    }

    /// Names of those that stand otherwise and that the plan makes before it measures.
    fn prepared(&self) -> Vec<String> {
        let prepared = self
            .pending()
            .filter(|(wanted, _)| self.is_prepared(wanted));
        prepared.map(|(wanted, _)| wanted.setting.clone()).collect()
    }

    fn is_choice(&self, wanted: &WantedSetting) -> bool {
        self.settings.choices.contains(&wanted.setting)
    }

    /// The line that makes a setting.
    fn mend(wanted: &WantedSetting, report: &SettingReport) -> Vec<String> {
        let value = match &wanted.request.value {
            // Only the units that run.
            Some(SettingValue::List(_)) => {
                let units = wanted_changes(report).map(|it| it.target.clone());
                SettingValue::List(units.collect())
            }
            Some(value) => value.clone(),
            None => return Vec::new(),
        };
        vec![format!("{} = {}", wanted.setting, toml_value(&value))]
    }

    /// The lines that make the settings of this name, if it stands otherwise.
    fn mend_by_name(&self, name: &str) -> Vec<String> {
        let mut differing = self.differing();
        let found = differing.find(|(wanted, _)| wanted.setting == name);
        found.map_or_else(Vec::new, |(wanted, report)| Self::mend(wanted, report))
    }

    /// Where the lines that mend belong.
    fn place_of_lines(&self) -> String {
        let ExaminedMachine { lab, host, .. } = self.machine;
        let place = match self.machine.is_host() {
            _ if *lab == Lab::this_machine() => "in a plan".to_owned(),
            true => format!("in the plan, or below [host.{host}.prepare] in the lab"),
            false => {
                "in the plan: this machine, of which the hosts are parts, is prepared for them"
                    .to_owned()
            }
        };
        format!(
            "Lines with `=`, each once, belong below [prepare] {place}. `prepare = [\"{SET}\", {{ LINE }}, {{ LINE }}]` makes all of the set `{SET}` and lines beside it."
        )
    }
}

/// A value as TOML has it.
fn toml_value(value: &SettingValue) -> String {
    let quoted = |text: &String| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    match value {
        SettingValue::Text(text) => quoted(text),
        SettingValue::List(texts) => {
            let texts: Vec<String> = texts.iter().map(quoted).collect();
            format!("[{}]", texts.join(", "))
        }
        value => value.to_string(),
    }
}

/// What will spoil a measurement, the most harmful first; of equal harm what was measured.
fn findings(
    test: Option<&SelfTest>,
    settings: &SettingsAsFound<'_>,
    observations: &[MachineObservation],
) -> Vec<FindingView> {
    let mut found = Vec::new();
    if let Some(test) = test {
        found.extend(of_measures(test, settings));
        found.extend(of_sources(test));
    }
    let of_quiet = settings
        .differing()
        .filter(|(wanted, _)| !settings.is_choice(wanted));
    let of_quiet = of_quiet.map(|(wanted, report)| of_setting(settings, wanted, report));
    // What mends something that was measured is said there.
    let is_new = |finding: &FindingView| {
        let mut measured = found.iter().flat_map(|it: &FindingView| &it.mend);
        !measured.any(|mend| finding.mend.contains(mend))
    };
    let of_quiet: Vec<FindingView> = of_quiet.filter(is_new).collect();
    found.extend(of_quiet);
    let advised = observations.iter().filter(|it| !it.advice.is_empty());
    found.extend(advised.map(|it| {
        let (weight, why) = record_weight(&it.name);
        FindingView {
            what: it.found.clone(),
            harm: weight,
            measured: false,
            why: why.unwrap_or_default().to_owned(),
            mend: vec![format!("# {}", it.advice)],
        }
    }));
    stop_together(&mut found);
    found.sort_by_key(|finding| std::cmp::Reverse((finding.harm, finding.measured)));
    found
}

/// The beginning of a line that stops services.
const STOP: &str = "services.stop = [";

/// A plan has one list of the services that it stops: every line that stops some has all of them.
fn stop_together(findings: &mut [FindingView]) {
    let all = findings.iter().flat_map(|it| &it.mend);
    let lists = all.filter_map(|line| line.strip_prefix(STOP)?.strip_suffix(']'));
    let units: BTreeSet<&str> = lists.flat_map(|list| list.split(", ")).collect();
    let all = format!("{STOP}{}]", Vec::from_iter(units).join(", "));
    let lines = findings.iter_mut().flat_map(|it| &mut it.mend);
    for line in lines.filter(|line| line.starts_with(STOP)) {
        line.clone_from(&all);
    }
}

/// What isn't wrong one way or the other.
fn choices(
    settings: &SettingsAsFound<'_>,
    observations: &[MachineObservation],
) -> Vec<FindingView> {
    let differing = settings
        .differing()
        .filter(|(wanted, _)| settings.is_choice(wanted));
    let of_settings = differing.map(|(wanted, report)| of_setting(settings, wanted, report));
    let mentioned = observations.iter().filter(|it| it.advice.is_empty());
    let of_observations = mentioned.map(|it| FindingView {
        what: it.found.clone(),
        harm: 0,
        measured: false,
        why: String::new(),
        mend: Vec::new(),
    });
    of_settings.chain(of_observations).collect()
}

fn of_setting(
    settings: &SettingsAsFound<'_>,
    wanted: &WantedSetting,
    report: &SettingReport,
) -> FindingView {
    let changes = wanted_changes(report);
    let weights = changes
        .clone()
        .map(|it| record_weight(&record_name(&it.target)));
    let weight = weights.max_by_key(|(weight, _)| *weight);
    let mut stands: Vec<&str> = changes.clone().map(|it| it.old.as_str()).collect();
    stands.sort_unstable();
    stands.dedup();
    let what = match &wanted.request.value {
        Some(SettingValue::List(_)) => {
            let units: Vec<&str> = changes.map(|it| it.target.as_str()).collect();
            format!("{} begin work in the middle of a trial", units.join(", "))
        }
        _ if report
            .changes
            .iter()
            .any(|it| it.target.starts_with("/dev/")) =>
        {
            format!("{} isn't set", wanted.setting)
        }
        _ => format!("{} is {}", wanted.setting, stands.join(", ")),
    };
    let about = settings.settings.about.get(&wanted.setting).cloned();
    let about = about.unwrap_or_default();
    FindingView {
        what: format!("{what}: {}", first_sentence(&about)),
        harm: weight.map_or(LITTLE_HARM, |(weight, _)| weight),
        measured: false,
        why: about,
        mend: SettingsAsFound::mend(wanted, report),
    }
}

/// What a setting changes, without what the kernel changes along with it and what is so already.
fn wanted_changes(report: &SettingReport) -> impl Iterator<Item = &ChangeReport> + Clone {
    let is_wanted = |it: &&ChangeReport| !it.new.is_empty() && it.old.trim() != it.new.trim();
    report.changes.iter().filter(is_wanted)
}

fn first_sentence(about: &str) -> &str {
    about
        .split_once(". ")
        .map_or(about, |(first, _)| first)
        .trim_end_matches('.')
}

/// The name that a record of the machine has for what a setting changes.
fn record_name(target: &str) -> String {
    let dotted = |parts: &str| parts.replace('/', ".");
    if let Some(sysctl) = target.strip_prefix("/proc/sys/") {
        return format!("sysctl.{}", dotted(sysctl));
    }
    if let Some(cpu) = target.strip_prefix("/sys/devices/system/cpu/") {
        // Of all processors or policies the same.
        let numbered = |part: &&str| {
            let number = part.strip_prefix("policy").or(part.strip_prefix("cpu"));
            number.is_none_or(|number| number.parse::<u32>().is_err())
        };
        let parts: Vec<&str> = cpu.split('/').filter(numbered).collect();
        return format!("cpu.{}", parts.join("."));
    }
    if let Some(memory) = target.strip_prefix("/sys/kernel/mm/") {
        return format!("memory.{}", dotted(memory));
    }
    format!("service.{target}")
}

/// Measures that aren't at their best.
fn of_measures(test: &SelfTest, settings: &SettingsAsFound<'_>) -> Vec<FindingView> {
    let worst = test
        .measures
        .iter()
        .filter_map(|it| Some((it, it.worst()?)));
    let restless = worst.filter(|(_, worst)| worst.grade.best > Grade::B);
    let found = restless.map(|(measure, worst)| FindingView {
        what: format!(
            "{} is {}, {} {}: {}",
            measure.name,
            worst.grade,
            worst.figure.name,
            figure_text(worst.figure),
            worst.reason
        ),
        harm: HARM[worst.grade.best as usize],
        measured: true,
        why: worst.reason.to_owned(),
        mend: mend_of_measure(&measure.name, worst.settings, settings),
    });
    found.collect()
}

/// The lines that make the settings which may mend a measure; without any, what else can be done.
fn mend_of_measure(name: &str, wanted: &[&str], settings: &SettingsAsFound<'_>) -> Vec<String> {
    let lines = wanted.iter().flat_map(|it| settings.mend_by_name(it));
    let mut mend: Vec<String> = lines.collect();
    let prepared = settings.prepared();
    let prepared = prepared.iter().filter(|it| wanted.contains(&it.as_str()));
    mend.extend(prepared.map(|it| format!("# the plan makes {it} before it measures")));
    if mend.is_empty() {
        mend.push(advice("measure", name).to_owned());
    }
    mend
}

/// What took the time of processors: as harmful as the time that it took by itself.
fn of_sources(test: &SelfTest) -> Vec<FindingView> {
    let worst = |name: &str| {
        let measure = test.measures.iter().find(|it| it.name == name);
        measure.and_then(Measure::worst)
    };
    let lost_share = worst("interruptions").map_or(0.0, |worst| worst.figure.value);
    let lost = Grade::of_share(lost_share);
    let speed = worst("cpu").map_or(Grade::A, |worst| worst.grade.best);
    let disk = worst("fsync").map_or(Grade::A, |worst| worst.grade.best);
    let mut found = Vec::new();
    // Isolated CPUs are free of all of these, and a partition leaves one CPU at least to everything else.
    let programs = test
        .sources
        .iter()
        .filter(|it| it.kind == NoiseKind::Program);
    let cpus: BTreeSet<u32> = programs.flat_map(|it| &it.cpus).copied().collect();
    let isolated = (cpus.len() < test.cpus.len()).then(|| {
        let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
        format!("isolate.cpus = \"{}\"", cpus.join(","))
    });
    for source in &test.sources {
        let (grade, share) = match source.explains {
            Some(share) => (
                Grade::of_share(lost_share * share),
                format!(
                    ": up to {} of the lost time",
                    backsight_model::numbers::share(share)
                ),
            ),
            None if source.kind == NoiseKind::DiskWriter => (disk, String::new()),
            None => (speed, String::new()),
        };
        // What a calm machine is left with needs no mending. Who writes all the time may make fsyncs evenly slow.
        if grade == Grade::A && source.kind != NoiseKind::DiskWriter {
            continue;
        }
        let mut mend = vec![mend_of_source(source)];
        if source.kind == NoiseKind::Program && !source.cpus.is_empty() {
            mend.extend(isolated.clone());
        }
        found.push(FindingView {
            what: format!("{}{share}", source_text(source)),
            harm: HARM[grade as usize].max(LITTLE_HARM),
            measured: true,
            why: match source.kind {
                NoiseKind::DiskWriter => "a disk that is written to answers others later",
                _ => "it was counted while the self-test lost time",
            }
            .to_owned(),
            mend,
        });
    }
    if lost > Grade::B && test.unexplained > UNEXPLAINED {
        found.push(FindingView {
            what: format!(
                "{} of the lost time has no name: programs that came and went, the hypervisor, or the firmware",
                backsight_model::numbers::share(test.unexplained)
            ),
            harm: (f64::from(HARM[lost as usize]) * test.unexplained) as u8,
            measured: true,
            why: "nothing that the kernel counts explains it".to_owned(),
            mend: vec![advice("measure", "unexplained").to_owned()],
        });
    }
    found
}

/// What `noise_mends.tsv` has for a name of a kind.
fn advice(kind: &str, name: &str) -> &'static str {
    let lines = include_str!("doctor/noise_mends.tsv").lines();
    let rows = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let fits = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    };
    let rows = rows.filter_map(|row| {
        let mut fields = row.splitn(3, '\t');
        Some((fields.next()?, fields.next()?, fields.next()?))
    });
    let mut of_kind = rows.filter(|(of, ..)| *of == kind);
    let found = of_kind.find(|(_, pattern, _)| fits(pattern));
    found.map_or("", |(.., mend)| mend)
}

/// The line that keeps a source away.
fn mend_of_source(source: &NoiseSource) -> String {
    let is_line = source.name.parse::<u32>().is_ok();
    let service = source.service.as_ref();
    let is_service = service.is_some_and(|it| it.ends_with(".service"));
    let kind = match source.kind {
        NoiseKind::Program | NoiseKind::DiskWriter if is_service => "service",
        NoiseKind::DiskWriter => "disk-writer",
        NoiseKind::Program => "program",
        NoiseKind::KernelThread => "kernel-thread",
        NoiseKind::Interrupt if is_line => "interrupt-line",
        NoiseKind::Interrupt => "interrupt",
        NoiseKind::Softirq => "softirq",
        NoiseKind::Steal => "steal",
        NoiseKind::Frequency => "frequency",
    };
    let mend = advice(kind, &source.name);
    let cpus: Vec<String> = source.cpus.iter().map(u32::to_string).collect();
    let pid = source.pid.map(|pid| pid.to_string()).unwrap_or_default();
    mend.replace("{name}", &source.name)
        .replace("{pid}", &pid)
        .replace("{service}", source.service.as_deref().unwrap_or_default())
        .replace("{cpus}", &cpus.join(","))
}

#[cfg(test)]
mod tests;
