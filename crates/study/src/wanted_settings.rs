//! What the lab and the plan ask of the settings of machines, resolved by the definitions.

use backsight_conductor::WantedSettings;
use backsight_model::{Arrangement, DocumentError, HostKind, HostName, Machine, VariantName};
use backsight_settings::{
    MachineConflict, Placeholders, PreparationSource, SettingCatalog, SettingCatalogError,
    WantedSetting, merge_hosts, resolve,
};

/// Why settings can't be resolved.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum UnresolvedSettings {
    /// A setting, value or parameter that doesn't exist, or two that don't fit together.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Document(#[from] DocumentError),
    /// A definition that can't be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Catalog(#[from] SettingCatalogError),
    /// Hosts of kind `local` are this machine, and ask for what can't both stand.
    #[error(transparent)]
    #[diagnostic(help(
        "leave one of them out, or ask for one value in the plan's `prepare`, which is for both hosts and counts more than the lab's"
    ))]
    OneMachine(#[from] MachineConflict),
}

/// Checks what an arrangement asks of the settings of machines, before any machine is known: those without placeholders.
///
/// # Errors
/// A document asks for what no definition knows, or that doesn't fit; hosts of kind `local`, which are one machine, ask for what can't
/// both stand.
pub fn check_settings(arrangement: &Arrangement) -> Result<WantedSettings, UnresolvedSettings> {
    let mut wanted = resolve_all(arrangement, None)?;
    let is_local = |host: &HostName| {
        let settings = arrangement.lab.host.get(host);
        settings.is_some_and(|settings| settings.kind == HostKind::Local)
    };
    for by_host in wanted.each_mut() {
        merge_hosts(by_host.iter().filter(|(host, _)| is_local(host)))?;
    }
    Ok(wanted)
}

/// The settings that an arrangement's machines shall have.
///
/// # Errors
/// As [`check_settings`]; or a placeholder has no value on its machine.
pub fn wanted_settings(
    arrangement: &Arrangement,
    machine: impl Fn(&HostName) -> Option<Machine>,
) -> Result<WantedSettings, UnresolvedSettings> {
    let of_host = |host: &HostName| {
        let own = arrangement.hosts().find(|own| *own == host);
        // This machine plays no role where its namespaces do.
        let part = || {
            arrangement.hosts().find(|part| {
                let part = arrangement.lab.host.get(*part);
                part.is_some_and(|part| part.kind.is_plain_namespace())
            })
        };
        machine(own.or_else(part)?)
    };
    resolve_all(arrangement, Some(&of_host))
}

/// What a machine is, by its host.
type MachineOf<'a> = &'a dyn Fn(&HostName) -> Option<Machine>;

fn resolve_all(
    arrangement: &Arrangement,
    machine_of: Option<MachineOf<'_>>,
) -> Result<WantedSettings, UnresolvedSettings> {
    let all = &arrangement.preparations;
    let mut wanted = WantedSettings {
        policy: arrangement.preparation_policy,
        ..WantedSettings::default()
    };
    if all.is_empty() {
        return Ok(wanted);
    }
    let catalog = SettingCatalog::with_documents(&arrangement.setting_documents)?;
    let mut hosts: Vec<&HostName> = all.iter().map(|it| &it.host).collect();
    hosts.dedup();
    let resolve = |host: &HostName, variant| {
        let machine = machine_of.map(|of| of(host));
        resolve_for(&catalog, arrangement, host, variant, machine)
    };
    for host in &hosts {
        if all
            .iter()
            .any(|it| it.host == **host && it.variant.is_none())
        {
            let settings = resolve(host, None)?;
            wanted.of_study.insert((*host).clone(), settings);
        }
    }
    if all.iter().any(|it| it.variant.is_some()) {
        for variant in arrangement.variants.keys() {
            let by_host = hosts.iter().map(|host| {
                let settings = resolve(host, Some(variant))?;
                Ok(((*host).clone(), settings))
            });
            let by_host = by_host.collect::<Result<_, UnresolvedSettings>>()?;
            wanted.of_variants.insert(variant.clone(), by_host);
        }
    }
    Ok(wanted)
}

/// The settings of a host in a variant, or in a whole study. `machine` is missing before machines are known.
fn resolve_for(
    catalog: &SettingCatalog,
    arrangement: &Arrangement,
    host: &HostName,
    variant: Option<&VariantName>,
    machine: Option<Option<Machine>>,
) -> Result<Vec<WantedSetting>, DocumentError> {
    let is_known = |name: &str| arrangement.has_setting_placeholder(name);
    let value =
        |name: &str| arrangement.setting_placeholder(name, variant, host, machine.flatten());
    let placeholders = match machine {
        None => Placeholders::Names(&is_known),
        Some(_) => Placeholders::Values(&value),
    };
    let asked = arrangement
        .preparations
        .iter()
        .filter(|it| it.host == *host && (it.variant.is_none() || it.variant.as_ref() == variant));
    let sources: Vec<PreparationSource<'_>> = asked
        .map(|it| PreparationSource {
            of_variant: it.variant.is_some(),
            placeholders,
            ..PreparationSource::new(&it.document, &it.preparation)
        })
        .collect();
    resolve(catalog, &sources)
}
