//! The question of a study: the plan, the lab and the definitions as they were, and the choices of the user. Stored
//! with the study, it can be published and asked again, here or elsewhere.

use backsight_catalog::{Catalog, CatalogError};
use backsight_model::{
    Arrangement, Benchmark, BenchmarkLookupError, BenchmarkName, DocumentError, HostKind, HostName,
    Lab, Located, Monitor, MonitorName, Plan, PlanMonitor, PlanParam, TestbedName, TomlDocument,
    did_you_mean,
};

use std::num::NonZeroU32;

use crate::Choices;
use crate::wanted_settings::{UnresolvedSettings, check_settings};

/// A question with everything that it refers to.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The plan.
    pub plan: TomlDocument,
    /// The lab; this machine alone, if there is none.
    pub lab: Option<TomlDocument>,
    /// The choices over the plan.
    pub choices: Choices,
    /// Whether versions of a target are measured, so that there are builds.
    pub along_history: bool,
}

/// What `{version}` is on a reference.
const REFERENCE_BUILD: &str = "reference";

/// What is wrong with a question.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum QuestionError {
    /// A fault in a document.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Problem(#[from] DocumentError),
    /// A setting that no definition knows, or that doesn't fit.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Settings(#[from] UnresolvedSettings),
    /// The catalogue's fault.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Catalog(#[from] CatalogError),
}

impl Question {
    /// The plan that `run --use` makes when there is no file.
    pub fn plan_of_benchmarks(benchmarks: &[BenchmarkName]) -> TomlDocument {
        let names: Vec<String> = benchmarks
            .iter()
            .map(|name| format!("\"{name}\""))
            .collect();
        TomlDocument::new(
            "the command line",
            format!("use = [{}]\n", names.join(", ")),
        )
    }

    /// Finds everything that the plan names.
    ///
    /// # Errors
    /// A fault in one of the documents, or something named that doesn't exist.
    pub fn arrange(&self, catalog: &Catalog) -> Result<Arrangement, QuestionError> {
        self.arrange_on(catalog, None)
    }

    /// The same on another testbed than the plan's, if one is named.
    ///
    /// # Errors
    /// As [`Question::arrange`].
    pub fn arrange_on(
        &self,
        catalog: &Catalog,
        testbed: Option<&TestbedName>,
    ) -> Result<Arrangement, QuestionError> {
        let lab = match &self.lab {
            Some(document) => Lab::read_with_preferred(document, &self.choices.hosts)?,
            None => Lab::this_machine(),
        };
        let mut plan = Plan::read(&self.plan)?;
        if let Some(testbed) = testbed.or(self.choices.testbed.as_ref()) {
            plan.testbed = Some(Located::nowhere(testbed.clone()));
        }
        if let Some(rounds) = self.choices.rounds {
            plan.rounds = rounds;
        }
        if !self.choices.benchmarks.is_empty() {
            narrow(&mut plan, &self.choices.benchmarks, catalog);
        }
        if !self.choices.monitors.is_empty() {
            choose_monitors(&mut plan, &self.choices.monitors);
        }
        plan.reference(&self.plan, &lab)?;
        let mut arrangement = plan.arrange(&self.plan, &lab, |name| match catalog.find(name) {
            Ok(Some(definition)) => Ok(definition.benchmark.clone()),
            Ok(None) => Err(BenchmarkLookupError::Unknown {
                help: did_you_mean(
                    name.as_str(),
                    catalog.names().iter().map(BenchmarkName::as_str),
                )
                .or_else(|| Some("`backsight list benchmarks` shows what there is".into())),
            }),
            Err(error) => Err(BenchmarkLookupError::Faulty(QuestionError::from(error))),
        })?;
        if !self.along_history {
            let of_build = plan.benchmarks.iter().find(|name| {
                let benchmark = arrangement.benchmarks.get(&***name);
                benchmark.is_some_and(Benchmark::needs_build)
            });
            if let Some(name) = of_build {
                return Err(self.plan.problem(
                    name.span(),
                    format!("`{name}` measures a build of a target"),
                    "here",
                    Some("measure it along the target's history: backsight step PLAN --target NAME --last 1w".into()),
                ).into());
            }
        }
        plan.arrange_monitors(&self.plan, &mut arrangement, |name| {
            find_monitor(catalog, name)
        })?;
        arrangement.setting_documents = catalog.settings().to_vec();
        plan.arrange_preparations(&self.plan, self.lab.as_ref(), &mut arrangement)?;
        check_settings(&arrangement)?;
        arrangement.folder = self.choices.folder.clone();
        Ok(arrangement)
    }

    /// The plan on its reference, where the software is measured as it is found, and after how many rounds it is measured; none
    /// where the plan asks for none.
    ///
    /// # Errors
    /// The lab has no such reference; the plan can't be measured there, or is measured there anyway.
    pub fn arrange_on_reference(
        &self,
        catalog: &Catalog,
        own: &Arrangement,
    ) -> Result<Option<(Arrangement, NonZeroU32)>, QuestionError> {
        let plan = Plan::read(&self.plan)?;
        let Some((name, every)) = plan.reference(&self.plan, &own.lab)? else {
            return Ok(None);
        };
        let problem = |message: String, help: &str| {
            let asked = plan.reference.as_ref();
            let span = asked.map_or(0..0, |asked| asked.every.span());
            let help = Some(help.to_owned());
            Err(self.plan.problem(span, message, "here", help).into())
        };
        if name == own.testbed {
            return problem(
                format!("testbed `{name}` is the plan's own: it can't be measured beside itself"),
                "leave out [reference] there, or measure on another testbed",
            );
        }
        let build = plan
            .reference
            .as_ref()
            .and_then(|asked| asked.build.clone());
        let mut measured = own.benchmarks.iter();
        if build.is_none()
            && let Some((benchmark, _)) = measured.find(|(_, it)| it.needs_build())
        {
            return problem(
                format!("`{benchmark}` measures a build of a target, and the reference has none"),
                "say where its release is on the hosts of the reference: build = \"/opt/release\"",
            );
        }
        let mut reference = self.arrange_on(catalog, Some(&name))?;
        if let Some(folder) = build {
            let hosts: Vec<HostName> = reference.hosts().cloned().collect();
            let there = hosts.into_iter().map(|host| (host, folder.clone()));
            reference.build_on = there.collect();
            reference.build = Some((REFERENCE_BUILD.to_owned(), folder));
        }
        let is_made = |host: &&HostName| {
            let kind = own.lab.host.get(*host).map(|settings| settings.kind);
            kind.is_some_and(HostKind::is_part_of_this_machine)
        };
        let is_own = |host: &&HostName| own.hosts().any(|its| its == *host);
        if let Some(host) = reference.hosts().filter(is_made).find(is_own) {
            return problem(
                format!(
                    "host `{host}` is in testbed `{}` and in its reference `{name}`",
                    own.testbed
                ),
                "namespaces and guests are made for one testbed: give the reference hosts of its own",
            );
        }
        Ok(Some((reference, every)))
    }

    /// The testbeds of the lab on which the plan can be measured while it is measured on this one: with the same roles, on
    /// hosts of the same kinds, of which none has two.
    pub fn arrangements_beside(&self, catalog: &Catalog, own: &Arrangement) -> Vec<Arrangement> {
        let mut all: Vec<Arrangement> = Vec::new();
        for (name, _) in own.lab.measured_testbeds() {
            let Ok(other) = self.arrange_on(catalog, Some(name)) else {
                continue;
            };
            let is_taken = {
                let mut taken = all.iter().chain([own]).flat_map(Arrangement::hosts);
                taken.any(|host| other.hosts().any(|its| its == host))
            };
            if !is_taken && is_like(own, &other) {
                all.push(other);
            }
        }
        all
    }
}

/// Whether a plan that is arranged to both is measured alike: the same roles, on hosts of the same kinds.
fn is_like(one: &Arrangement, other: &Arrangement) -> bool {
    let kinds = |it: &Arrangement| -> Vec<_> {
        let kind = |host: &HostName| it.lab.host.get(host).map(|settings| settings.kind);
        let mut roles: Vec<_> = (it.seats.iter())
            .map(|(role, seat)| (role.clone(), seat.hosts().map(kind).collect::<Vec<_>>()))
            .collect();
        roles.sort_by(|a, b| a.0.cmp(&b.0));
        roles
    };
    kinds(one) == kinds(other)
}

fn find_monitor(
    catalog: &Catalog,
    name: &MonitorName,
) -> Result<Monitor, BenchmarkLookupError<QuestionError>> {
    match catalog.monitors().find(name) {
        Ok(Some(monitor)) => Ok(monitor),
        Ok(None) => {
            let names = catalog.monitors().names();
            let near = did_you_mean(name.as_str(), names.iter().map(MonitorName::as_str));
            let list = || "`backsight list monitors` shows what there is".into();
            Err(BenchmarkLookupError::Unknown {
                help: near.or_else(|| Some(list())),
            })
        }
        Err(error) => Err(BenchmarkLookupError::Faulty(error.into())),
    }
}

/// Chooses monitors over the plan's own; what the plan says of one of them stays.
fn choose_monitors(plan: &mut Plan, chosen: &[MonitorName]) {
    let planned = std::mem::take(&mut plan.monitors);
    let of_plan = |name: &MonitorName| planned.iter().find(|own| own.name == *name).cloned();
    let named = |name: &MonitorName| Located::nowhere(PlanMonitor::named(name.clone()));
    plan.monitors = chosen
        .iter()
        .map(|name| of_plan(name).unwrap_or_else(|| named(name)))
        .collect();
}

/// Chooses benchmarks over the plan's own. Parameters that only those take that aren't chosen go with them; what
/// nobody takes stays, to be complained of.
fn narrow(plan: &mut Plan, chosen: &[BenchmarkName], catalog: &Catalog) {
    let left_out: Vec<BenchmarkName> = plan
        .benchmarks
        .iter()
        .map(|name| (**name).clone())
        .filter(|name| !chosen.contains(name))
        .collect();
    let take = |names: &[BenchmarkName], param: &str| {
        let mut found = names
            .iter()
            .filter_map(|name| catalog.find(name).ok().flatten());
        found.any(|definition| definition.benchmark.params.contains_key(param))
    };
    let is_asked = |param: &str| take(chosen, param) || !take(&left_out, param);
    plan.params.retain(|key, entry| match entry {
        PlanParam::Values(_) => is_asked(key),
        PlanParam::Of(_) => !left_out.iter().any(|name| name.as_str() == key.as_str()),
    });
    for variant in &mut plan.variant {
        variant.params.retain(|param, _| is_asked(param.as_str()));
    }
    let is_of = |limited: &str, name: &BenchmarkName| {
        let metric = limited.strip_prefix(name.as_str());
        metric.is_some_and(|metric| metric.starts_with('.'))
    };
    plan.limits
        .retain(|limited, _| !left_out.iter().any(|name| is_of(limited, name)));
    plan.benchmarks = chosen.iter().cloned().map(Located::nowhere).collect();
}
