//! A plan's checkup: which programs are missing on the hosts where its roles run, which hosts aren't fit to measure, and the
//! exact command that installs what is missing.
//!
//! Every host that is there is asked through an agent, all at once: other machines by the login and the options with which
//! a study reaches them. Namespaces that are down and guests, which are booted later, have this machine's programs.

use backsight_model::{
    Arrangement, Benchmark, CheckFinding, CheckKind, CheckedHost, Host, HostKind, HostName, Lab,
    PlannedMonitor, PowerState, Seat,
};
use indexmap::IndexMap;
use std::{collections::BTreeSet, fmt, net::IpAddr};

use crate::{
    HostAccess,
    checkup::{HostCheckup, OutOfBand, check_up},
    emulator::{QEMU, QEMU_PACKAGE},
    link_checkup::{LinkFinding, check_links},
    netns,
    package_manager::{install_commands, installations},
    program_search::find_program,
};

/// The most that a host's clock may differ from this machine's, in seconds.
const CLOCK_LIMIT: f64 = 2.0;
/// The least room for what trials write, in bytes.
const LEAST_ROOM: u64 = 256 << 20;

/// Checks what a plan needs; `plan` is its text.
pub async fn check_plan(reach: &HostAccess, arrangement: &Arrangement, plan: &str) -> PlanCheckup {
    let examined = ExaminedHosts::ask_all(reach, arrangement).await;
    let mut findings = PlanCheckup::default();
    for (name, benchmark) in &arrangement.benchmarks {
        let needed = needed_by_benchmark(arrangement, benchmark);
        let seats = benchmark
            .roles
            .iter()
            .filter_map(|role| arrangement.seats.get(&**role));
        let hosts: Vec<&HostName> = seats.flat_map(Seat::hosts).collect();
        findings.programs(name.as_str(), &hosts, &needed, &benchmark.needs, &examined);
    }
    for planned in &arrangement.monitors {
        let needed = needed_by_monitor(arrangement, planned);
        let subject = format!("monitor {}", planned.monitor.name);
        findings.programs(&subject, &[], &needed, &planned.monitor.needs, &examined);
    }
    for (host, known) in &examined.hosts {
        findings.host(host, known, &addresses_of(arrangement, host));
        findings.out_of_band(host, &examined);
    }
    findings.own_tools(arrangement, plan);
    findings
}

/// Checks these hosts of a lab, all at once: whether each answers and is fit to measure, whether it is on, and whether its console can
/// be heard; and the links between them: whether each end has its address and reaches the other.
pub async fn check_hosts(reach: &HostAccess, lab: &Lab, hosts: &[HostName]) -> PlanCheckup {
    let mut examined = ExaminedHosts::default();
    let hosts = hosts.iter();
    let asked = hosts.filter_map(|host| examined.prepare(lab, host));
    let asked = asked.map(|host| (host, Vec::new())).collect();
    examined.ask(reach, lab, asked).await;
    let mut findings = PlanCheckup::default();
    for (host, known) in &examined.hosts {
        findings.host(host, known, &BTreeSet::new());
        findings.out_of_band(host, &examined);
    }
    findings.links(lab, &examined);
    findings
}

/// A program that is needed on a host.
type Needed = (HostName, String);

fn needed_by_benchmark(arrangement: &Arrangement, benchmark: &Benchmark) -> Vec<Needed> {
    let of_role = |role| {
        let seat = arrangement.seats.get(role)?;
        let on = |host: &HostName| {
            let programs = benchmark.programs_of(role);
            let needed = programs.map(|program| (host.clone(), program.to_owned()));
            needed.collect::<Vec<Needed>>()
        };
        Some(seat.hosts().flat_map(on).collect::<Vec<Needed>>())
    };
    let roles = benchmark.roles.iter();
    let needed = roles.filter_map(|role| of_role(role)).flatten();
    needed.collect()
}

fn needed_by_monitor(arrangement: &Arrangement, planned: &PlannedMonitor) -> Vec<Needed> {
    let seats = arrangement.seats.iter();
    let meant = seats.filter(|(role, _)| planned.roles.is_empty() || planned.roles.contains(*role));
    let programs = &planned.monitor.programs;
    let needed = meant.flat_map(|(_, seat)| seat.hosts()).flat_map(|host| {
        programs
            .iter()
            .map(|program| (host.clone(), program.clone()))
    });
    needed.collect()
}

/// What is known of a host.
enum Known {
    /// It was asked.
    Checked(Box<HostCheckup>),
    /// It can't be asked, and why.
    Silent(String),
    /// A namespace that isn't up.
    Down,
    /// A kernel that is booted later from this machine's files.
    Booted,
    /// A machine that is emulated later, with programs of its own.
    Emulated,
}

impl Known {
    /// Whether it has a program; nothing where that can't be known.
    fn has(&self, program: &str) -> Option<bool> {
        match self {
            Self::Checked(checkup) => Some(!checkup.missing.iter().any(|it| it == program)),
            Self::Down | Self::Booted => Some(find_program(program).is_some()),
            Self::Silent(_) | Self::Emulated => None,
        }
    }

    /// The system's own word for itself: `debian`, `ubuntu`, …
    fn system(&self) -> String {
        let facts = match self {
            Self::Checked(checkup) => checkup.facts.get("os.id").cloned(),
            _ => None,
        };
        facts.unwrap_or_else(system)
    }
}

/// Hosts, with what was found out about each.
#[derive(Default)]
struct ExaminedHosts {
    hosts: IndexMap<HostName, Known>,
    /// Those that are other machines.
    elsewhere: BTreeSet<HostName>,
    /// What is known of them from outside.
    out_of_band: IndexMap<HostName, OutOfBand>,
}

impl ExaminedHosts {
    /// Asks the hosts of a plan's roles, all at once.
    async fn ask_all(reach: &HostAccess, arrangement: &Arrangement) -> Self {
        let lab = &arrangement.lab;
        let mut examined = Self::default();
        let mut asked: IndexMap<HostName, Vec<String>> = IndexMap::new();
        for host in arrangement.hosts() {
            if let Some(host) = examined.prepare(lab, host) {
                asked.entry(host).or_default();
            }
        }
        let of_benchmarks = arrangement.benchmarks.values();
        let of_benchmarks = of_benchmarks.flat_map(|it| needed_by_benchmark(arrangement, it));
        let of_monitors = arrangement.monitors.iter();
        let of_monitors = of_monitors.flat_map(|it| needed_by_monitor(arrangement, it));
        for (host, program) in of_benchmarks.chain(of_monitors) {
            if let Some(programs) = asked.get_mut(&host)
                && !programs.contains(&program)
            {
                programs.push(program);
            }
        }
        examined.ask(reach, lab, asked.into_iter().collect()).await;
        examined
    }

    /// Adds a host; returns it if it can be asked.
    fn prepare(&mut self, lab: &Lab, host: &HostName) -> Option<HostName> {
        let kind = lab.host.get(host).map_or(HostKind::Local, |it| it.kind);
        if kind.has_own_files() {
            self.elsewhere.insert(host.clone());
        }
        let known = match kind {
            HostKind::Qemu => Known::Emulated,
            HostKind::Uml => Known::Booted,
            _ if netns::is_namespace(lab, host) && !netns::is_up(&lab.name, host) => Known::Down,
            _ => Known::Silent(String::new()),
        };
        let is_asked = matches!(known, Known::Silent(_));
        self.hosts.insert(host.clone(), known);
        is_asked.then(|| host.clone())
    }

    /// Asks these hosts for these programs, all at once.
    async fn ask(&mut self, reach: &HostAccess, lab: &Lab, asked: Vec<(HostName, Vec<String>)>) {
        let answers = check_up(reach, lab, &asked).await;
        for ((host, _), (answer, outside)) in asked.into_iter().zip(answers) {
            let known = match answer {
                Ok(checkup) => Known::Checked(Box::new(checkup)),
                Err(error) => Known::Silent(error.to_string()),
            };
            self.hosts.insert(host.clone(), known);
            self.out_of_band.insert(host, outside);
        }
    }
}

/// Packages by the command that installs them. A system's own come before those of registries, whose tools may be among them.
type Packages = IndexMap<&'static str, BTreeSet<String>>;

/// The command of the system whose packages Backsight's own needs are called after.
const INSTALL_HERE: &str = "apt-get install";

/// What is missing for a plan, and what is to be done about it, in sentences.
#[derive(Debug, Default)]
pub struct PlanCheckup {
    /// What was found out, in the order in which it is told.
    pub findings: Vec<CheckFinding>,
    /// The hosts that answered.
    pub hosts: Vec<CheckedHost>,
    /// How many things are missing.
    pub faults: usize,
    /// Hosts that can't be asked.
    pub silent: BTreeSet<HostName>,
    /// Packages that this machine needs.
    packages: Packages,
    /// Packages that other machines need.
    far_packages: IndexMap<HostName, Packages>,
}

impl PlanCheckup {
    fn add(&mut self, kind: CheckKind, host: Option<&HostName>, text: String) {
        self.faults += usize::from(kind != CheckKind::Ok);
        self.findings.push(CheckFinding {
            kind,
            host: host.cloned(),
            text,
        });
    }

    /// Says which programs of something are missing, and on which host; or which of its hosts can't be asked.
    fn programs(
        &mut self,
        subject: &str,
        hosts: &[&HostName],
        needed: &[Needed],
        needs: &IndexMap<String, Vec<String>>,
        examined: &ExaminedHosts,
    ) {
        let mut missing = BTreeSet::new();
        let needed_on = needed.iter().map(|(host, _)| host);
        let silent: BTreeSet<&str> = (hosts.iter().copied().chain(needed_on))
            .filter(|host| matches!(examined.hosts.get(*host), Some(Known::Silent(_))))
            .map(HostName::as_str)
            .collect();
        for (host, program) in needed {
            let Some(known) = examined.hosts.get(host) else {
                continue;
            };
            if known.has(program) == Some(false) {
                let far = examined.elsewhere.contains(host);
                missing.insert(match far {
                    true => format!("{program} (on {host})"),
                    false => program.clone(),
                });
                let packages = match far {
                    true => self.far_packages.entry(host.clone()).or_default(),
                    false => &mut self.packages,
                };
                for found in installations(needs, &known.system()) {
                    let there = packages.entry(found.command).or_default();
                    there.extend(found.packages.iter().cloned());
                }
            }
        }
        let listed = |names: Vec<&str>| names.join(", ");
        if !missing.is_empty() {
            let missing = listed(missing.iter().map(String::as_str).collect());
            self.add(CheckKind::Missing, None, format!("{subject}: {missing}"));
        } else if !silent.is_empty() {
            let silent = listed(silent.into_iter().collect());
            let text = format!("{subject}: {silent} can't be asked");
            self.add(CheckKind::Unknown, None, text);
        } else {
            self.add(CheckKind::Ok, None, subject.to_owned());
        }
    }

    /// Says whether a host is there and fit to measure.
    fn host(&mut self, host: &HostName, known: &Known, addresses: &BTreeSet<IpAddr>) {
        let checkup = match known {
            Known::Checked(checkup) => checkup,
            Known::Silent(why) => {
                self.silent.insert(host.clone());
                return self.add(CheckKind::Failed, Some(host), why.clone());
            }
            Known::Down => {
                let text = format!("host {host}: run `backsight lab up`");
                return self.add(CheckKind::Down, Some(host), text);
            }
            Known::Booted | Known::Emulated => {
                let text = format!("host {host}: booted with each build");
                return self.add(CheckKind::Ok, Some(host), text);
            }
        };
        self.hosts.push(CheckedHost {
            host: host.clone(),
            facts: checkup.facts.clone(),
            clock_ahead: checkup.clock_ahead.map(|(ahead, _)| ahead),
            clock_uncertainty: checkup.clock_ahead.map(|(_, unsure)| unsure),
            free: checkup.free,
        });
        let faults = self.faults;
        if let Some((ahead, unsure)) = checkup.clock_ahead
            && ahead.abs() > CLOCK_LIMIT + unsure
        {
            let way = if ahead > 0.0 { "ahead of" } else { "behind" };
            let what = format!(
                "host {host}: its clock is {:.0} s {way} this machine's; there: timedatectl set-ntp true",
                ahead.abs()
            );
            self.add(CheckKind::Clock, Some(host), what);
        }
        if let Some(free) = checkup.free.filter(|free| *free < LEAST_ROOM) {
            let what = format!(
                "host {host}: {} MiB are free where trials write their files, and {} MiB are needed",
                free >> 20,
                LEAST_ROOM >> 20
            );
            self.add(CheckKind::Full, Some(host), what);
        }
        for address in addresses {
            let own = &checkup.addresses.own;
            if !own.iter().any(|own| own.address == *address) {
                let own: Vec<String> = own.iter().map(|own| own.address.to_string()).collect();
                let what = format!(
                    "host {host}: {address}, which the lab says, isn't one of its addresses: {}",
                    own.join(", ")
                );
                self.add(CheckKind::Address, Some(host), what);
            }
        }
        if self.faults == faults {
            let text = format!("host {host}{}", standing(checkup));
            self.add(CheckKind::Ok, Some(host), text);
        }
    }

    /// Says whether the links between hosts that were asked are as the lab says.
    fn links(&mut self, lab: &Lab, examined: &ExaminedHosts) {
        let known = examined
            .hosts
            .iter()
            .filter_map(|(host, known)| match known {
                Known::Checked(checkup) => Some((host, &checkup.addresses)),
                _ => None,
            });
        for finding in check_links(lab, &known.collect()) {
            let (kind, text) = match finding {
                LinkFinding::Good(text) => (CheckKind::Ok, text),
                LinkFinding::Address(text) => (CheckKind::Address, text),
                LinkFinding::Route(text) => (CheckKind::Route, text),
            };
            self.add(kind, None, text);
        }
    }

    /// Says whether a host is on, and whether its console can be heard, where the lab says how.
    fn out_of_band(&mut self, host: &HostName, examined: &ExaminedHosts) {
        let Some(OutOfBand { power, console }) = examined.out_of_band.get(host) else {
            return;
        };
        let mut say = |kind, what: String| {
            self.add(kind, Some(host), format!("host {host}: {what}"));
        };
        match power {
            None => {}
            Some(Ok(PowerState::On)) => say(CheckKind::Ok, "its power is on".to_owned()),
            Some(Ok(PowerState::Off)) => {
                let what = format!("its power is off: backsight lab power on {host}");
                say(CheckKind::Off, what);
            }
            Some(Err(fault)) => say(CheckKind::Power, fault.to_string()),
        }
        match console {
            None => {}
            Some(Ok(())) => say(CheckKind::Ok, "its console is heard".to_owned()),
            Some(Err(fault)) => say(CheckKind::Console, fault.to_string()),
        }
    }

    /// Says which programs are missing that start, link or reach hosts from this machine.
    fn own_tools(&mut self, arrangement: &Arrangement, plan: &str) {
        let has = |kind: HostKind| {
            let mut hosts = arrangement.hosts();
            hosts.any(|host| {
                let host = arrangement.lab.host.get(host);
                host.is_some_and(|host| host.kind == kind)
            })
        };
        let needs_qemu = has(HostKind::Qemu) || has(HostKind::Vm);
        let needs_ssh = arrangement.hosts().any(|host| {
            let host = arrangement.lab.host.get(host);
            host.is_some_and(Host::is_reached_by_ssh)
        });
        let needs_ip = netns::hosts(&arrangement.lab).next().is_some();
        for (program, package, needed) in [
            ("ip", "iproute2", needs_ip),
            ("nft", "nftables", plan.contains("nft ")),
            (QEMU, QEMU_PACKAGE, needs_qemu),
            ("ssh", "openssh-client", needs_ssh),
            ("virsh", "libvirt-clients", has(HostKind::Domain)),
        ] {
            if needed && find_program(program).is_none() {
                self.add(CheckKind::Missing, None, program.to_owned());
                let there = self.packages.entry(INSTALL_HERE).or_default();
                there.insert(package.to_owned());
            }
        }
    }
}

impl fmt::Display for PlanCheckup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = (!self.packages.is_empty()).then_some((String::new(), &self.packages));
        let far = self.far_packages.iter();
        let far = far.map(|(host, packages)| (format!(" on {host}"), packages));
        for finding in &self.findings {
            writeln!(f, "{:<8} {}", finding.kind, finding.text)?;
        }
        for (place, packages) in own.into_iter().chain(far) {
            writeln!(f, "\nInstall what is missing{place}:\n")?;
            for (command, names) in packages {
                let names: Vec<&String> = names.iter().collect();
                for line in install_commands(command, &names) {
                    writeln!(f, "  {line}")?;
                }
            }
        }
        if self.faults == 0 {
            f.write_str("\nNothing is missing.\n")?;
        }
        Ok(())
    }
}

/// What is good about a host: `: clock within 0.01 s, 12.3 GiB free`.
fn standing(checkup: &HostCheckup) -> String {
    let mut parts = Vec::new();
    if let Some((ahead, unsure)) = checkup.clock_ahead {
        parts.push(format!("clock within {:.2} s", ahead.abs() + unsure));
    }
    if let Some(free) = checkup.free {
        let gibibytes = free as f64 / f64::from(1 << 30);
        parts.push(format!("{gibibytes:.1} GiB free"));
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!(": {}", parts.join(", ")),
    }
}

/// The addresses that the lab says a host measures with.
fn addresses_of(arrangement: &Arrangement, host: &HostName) -> BTreeSet<IpAddr> {
    let players = arrangement.seats.values().flat_map(Seat::instances);
    let own = players.filter(|player| *player.host == *host);
    let addresses = own.filter_map(|player| {
        let choice = player.data.as_ref().map(|data| data.as_str());
        arrangement.lab.data_address(host, choice).ok()
    });
    addresses.map(|(address, _)| address).collect()
}

/// The system's own word for itself: `debian`, `ubuntu`, …
fn system() -> String {
    std::fs::read_to_string("/etc/os-release")
        .ok()
        .and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("ID="))?;
            Some(line.trim_matches('"').to_owned())
        })
        .unwrap_or_else(|| "debian".into())
}
