//! What preparations say, resolved by definitions: the settings that a host shall have, in the order in which they are made.

use backsight_model::{
    DocumentError, Located, Preparation, PreparationPart, SettingNode, SettingTable, Template,
    TomlDocument, Value, did_you_mean,
};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::ops::Range;

use crate::{
    catalog::SettingCatalog,
    definition::{RequiredRight, SettingConflict, SettingDefinition},
    mechanism::Mechanism,
    parameter::ParameterType,
    request::SettingRequest,
    value::{SettingValue, ValueType},
};

/// The value that leaves a setting as it stands.
pub const AS_IS: &str = "as-is";
/// Deepest nesting of sets.
const DEEPEST: usize = 8;

/// A setting that a host shall have, with all that its agent needs to make it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedSetting {
    /// Its name.
    pub setting: String,
    /// The value and the parameters.
    pub request: SettingRequest,
    /// What it takes to change it.
    pub right: RequiredRight,
    /// Whether a machine may lack it: it comes from a set that is for any machine.
    pub optional: bool,
    /// Where it was asked for: `lab.toml:7`.
    pub place: String,
    /// How it is made.
    pub mechanism: Mechanism,
    /// When it is made, as its definition says; for those who put lists together, which an agent doesn't.
    #[serde(skip)]
    pub order: u8,
    /// What doesn't go together with it; for the same.
    #[serde(skip)]
    pub conflicts: Vec<SettingConflict>,
}

impl WantedSetting {
    /// The setting with its value and the place where it was asked for.
    pub fn with_place(&self) -> String {
        let SettingRequest {
            value, parameters, ..
        } = &self.request;
        let mut shown = self.setting.clone();
        if !parameters.is_empty() && value.is_some() {
            let of: Vec<&str> = parameters.values().map(String::as_str).collect();
            shown = format!("{shown} of {}", of.join(", "));
        }
        format!("{shown} = {} ({})", self.request.shown(), self.place)
    }

    /// Whether both make the same of a machine, wherever they were asked for.
    pub fn is_same(&self, other: &Self) -> bool {
        self.setting == other.setting
            && self.request == other.request
            && self.mechanism == other.mechanism
    }
}

/// The dotted path of a key in the table at another path; `above` is empty for a whole document.
fn path_below(above: &str, key: &str) -> String {
    match above {
        "" => key.to_owned(),
        above => format!("{above}.{key}"),
    }
}

/// A preparation and the document that it stands in.
#[derive(Clone, Copy)]
pub struct PreparationSource<'a> {
    /// The document.
    pub document: &'a TomlDocument,
    /// What it says.
    pub preparation: &'a Preparation,
    /// Whether it is for the trials of one variant only, and so is changed between trials.
    pub of_variant: bool,
    /// What its placeholders stand for.
    pub placeholders: Placeholders<'a>,
}

impl<'a> PreparationSource<'a> {
    /// One for a whole study, without placeholders.
    pub fn new(document: &'a TomlDocument, preparation: &'a Preparation) -> Self {
        Self {
            document,
            preparation,
            of_variant: false,
            placeholders: Placeholders::Values(&|_| None),
        }
    }
}

/// What placeholders in values and parameters stand for: `{cpus}`, `{dut.interface}`.
#[derive(Clone, Copy)]
pub enum Placeholders<'a> {
    /// The machine isn't known yet: names are checked, and what has placeholders is left out.
    Names(&'a dyn Fn(&str) -> bool),
    /// The machine is known.
    Values(&'a dyn Fn(&str) -> Option<Value>),
}

/// A text whose placeholders are filled.
enum FilledText {
    /// It had some.
    Filled(String),
    /// It has none.
    Plain,
    /// The machine isn't known yet.
    Unknown,
}

/// A setting that was asked for, with its place.
struct Chosen<'a> {
    definition: &'a SettingDefinition,
    request: SettingRequest,
    document: &'a TomlDocument,
    span: Range<usize>,
    from_set: bool,
}

impl Chosen<'_> {
    fn place(&self) -> String {
        let problem = self.document.problem(self.span.clone(), "", "", None);
        format!("{}:{}", self.document.name, problem.place().0)
    }

    fn shown(&self) -> String {
        format!("{} = {}", self.definition.name, self.request.shown())
    }
}

/// A value whose placeholders are filled.
enum FilledNode {
    /// The value; none for a table.
    Value(Option<SettingValue>),
    /// The machine isn't known yet.
    Unknown,
}

struct Resolver<'a> {
    catalog: &'a SettingCatalog,
    chosen: IndexMap<(String, String), Chosen<'a>>,
    /// Of the source that is being read.
    of_variant: bool,
    placeholders: Placeholders<'a>,
}

/// The settings that these preparations ask for; where two ask for the same one, the later one wins.
///
/// # Errors
/// An unknown set, setting or parameter, a value that isn't allowed, a device that isn't confirmed, or a conflict; the problem
/// points at its place.
pub fn resolve(
    catalog: &SettingCatalog,
    sources: &[PreparationSource<'_>],
) -> Result<Vec<WantedSetting>, DocumentError> {
    let mut resolver = Resolver {
        catalog,
        chosen: IndexMap::new(),
        of_variant: false,
        placeholders: Placeholders::Values(&|_| None),
    };
    for source in sources {
        resolver.of_variant = source.of_variant;
        resolver.placeholders = source.placeholders;
        resolver.add(source.document, source.preparation, 0)?;
    }
    let chosen: Vec<Chosen<'_>> = resolver.chosen.into_values().collect();
    check_conflicts(&chosen)?;
    let mut ordered: Vec<&Chosen<'_>> = chosen.iter().collect();
    ordered.sort_by_key(|chosen| chosen.definition.order);
    let wanted = ordered.into_iter().map(|chosen| WantedSetting {
        setting: chosen.definition.name.clone(),
        request: chosen.request.clone(),
        right: chosen.definition.right,
        optional: chosen.from_set,
        place: chosen.place(),
        mechanism: chosen.definition.mechanism.clone(),
        order: chosen.definition.order,
        conflicts: chosen.definition.conflicts.clone(),
    });
    Ok(wanted.collect())
}

fn check_conflicts(all: &[Chosen<'_>]) -> Result<(), DocumentError> {
    for one in all {
        for conflict in &one.definition.conflicts {
            if conflict.when.is_some() && conflict.when != one.request.value {
                continue;
            }
            let other = all.iter().find(|other| {
                let is_it = other.definition.name == *conflict.with;
                is_it && (conflict.value.is_none() || conflict.value == other.request.value)
            });
            let Some(other) = other else { continue };
            // The place that was written last, or by hand, is the one to change.
            let (at, beside) = match one.from_set && !other.from_set {
                true => (other, one),
                false => (one, other),
            };
            return Err(at.document.problem(
                at.span.clone(),
                format!(
                    "`{}` and `{}` ({}) don't go together: {}",
                    at.shown(),
                    beside.shown(),
                    beside.place(),
                    conflict.why
                ),
                "this one",
                Some(format!("change one of them, or leave one `\"{AS_IS}\"`")),
            ));
        }
    }
    Ok(())
}

/// A node as a value; none for a table.
fn value_of(node: &SettingNode) -> Option<SettingValue> {
    Some(match node {
        SettingNode::Boolean(value) => SettingValue::Boolean(*value),
        SettingNode::Integer(value) => SettingValue::Integer(*value),
        SettingNode::Text(value) => SettingValue::Text(value.clone()),
        SettingNode::List(nodes) => {
            let texts = nodes.iter().map(|node| match &**node {
                SettingNode::Text(text) => Some(text.clone()),
                SettingNode::Integer(number) => Some(number.to_string()),
                _ => None,
            });
            SettingValue::List(texts.collect::<Option<_>>()?)
        }
        SettingNode::Table(_) => return None,
    })
}

impl<'a> Resolver<'a> {
    fn add(
        &mut self,
        document: &'a TomlDocument,
        preparation: &Preparation,
        depth: usize,
    ) -> Result<(), DocumentError> {
        for part in &preparation.parts {
            match part {
                PreparationPart::Set(name) => self.add_set(document, name, depth)?,
                PreparationPart::Settings(table) => {
                    self.add_table(document, "", table, depth > 0)?;
                }
            }
        }
        Ok(())
    }

    fn add_set(
        &mut self,
        document: &'a TomlDocument,
        name: &Located<String>,
        depth: usize,
    ) -> Result<(), DocumentError> {
        let catalog = self.catalog;
        let names = || catalog.sets().map(|set| set.name.as_str());
        let Some(set) = catalog.set(name) else {
            let all = format!("the sets are {}", names().collect::<Vec<_>>().join(", "));
            let help = did_you_mean(name, names()).unwrap_or(all);
            let message = format!("there is no set `{}` of settings", **name);
            return Err(document.problem(name.span(), message, "this set", Some(help)));
        };
        if depth >= DEEPEST {
            let message = format!("the set `{}` contains itself", **name);
            return Err(document.problem(name.span(), message, "here", None));
        }
        self.add(&set.document, &set.preparation, depth + 1)
    }

    fn add_table(
        &mut self,
        document: &'a TomlDocument,
        above: &str,
        table: &SettingTable,
        from_set: bool,
    ) -> Result<(), DocumentError> {
        for (key, node) in table {
            let path = path_below(above, key);
            if let Some(definition) = self.catalog.setting(&path) {
                // `disk` is a setting, and others are below it: `disk.scheduler`.
                let (inner, own) = self.split(&path, node);
                self.add_table(document, &path, &inner, from_set)?;
                if let Some(own) = own {
                    self.add_setting(document, definition, key, &own, from_set)?;
                }
                continue;
            }
            let below = format!("{path}.");
            match &**node {
                SettingNode::Table(inner)
                    if self.catalog.names().any(|name| name.starts_with(&below)) =>
                {
                    self.add_table(document, &path, inner, from_set)?;
                }
                _ => {
                    let help = did_you_mean(&path, self.catalog.names());
                    let help = help.unwrap_or_else(|| {
                        let near = self.catalog.names().filter(|name| {
                            let family = path.split('.').next().unwrap_or_default();
                            name.split('.').next() == Some(family)
                        });
                        let near: Vec<&str> = near.collect();
                        match near.is_empty() {
                            true => "`backsight list settings` has all".to_owned(),
                            false => format!("there are {}", near.join(", ")),
                        }
                    });
                    return Err(document.problem(
                        key.span(),
                        format!("there is no setting `{path}`"),
                        "this setting",
                        Some(help),
                    ));
                }
            }
        }
        Ok(())
    }

    /// What of a setting's table are settings below it, and what is its own.
    fn split(
        &self,
        path: &str,
        node: &Located<SettingNode>,
    ) -> (SettingTable, Option<Located<SettingNode>>) {
        let SettingNode::Table(table) = &**node else {
            return (Vec::new(), Some(node.clone()));
        };
        let is_below = |key: &str| {
            let below = format!("{path}.{key}");
            let mut names = self.catalog.names();
            names.any(|name| {
                let rest = name.strip_prefix(&below);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        let (below, own): (SettingTable, SettingTable) =
            table.iter().cloned().partition(|(key, _)| is_below(key));
        let own = (!own.is_empty() || below.is_empty())
            .then(|| Located::spanning(SettingNode::Table(own), node.span()));
        (below, own)
    }

    /// One setting, with one value or, where it has parameters, one table or several.
    fn add_setting(
        &mut self,
        document: &'a TomlDocument,
        definition: &'a SettingDefinition,
        key: &Located<String>,
        node: &Located<SettingNode>,
        from_set: bool,
    ) -> Result<(), DocumentError> {
        let name = &definition.name;
        let span = match node.span() {
            // A dotted table has no place of its own.
            span if span.is_empty() => key.span(),
            span => span,
        };
        if let (true, Some(why)) = (self.of_variant, &definition.whole_study) {
            let message = format!("`{name}` can't be changed between trials: {why}");
            let help = "say it in the plan's `prepare`, for all variants".to_owned();
            return Err(document.problem(span, message, "in a variant", Some(help)));
        }
        if matches!(&**node, SettingNode::Text(text) if text == AS_IS) {
            self.chosen.retain(|(known, _), _| known != name);
            return Ok(());
        }
        if let Some(parameter) = &definition.name_parameter {
            let SettingNode::Table(table) = &**node else {
                let help = format!("such as `{name}.\"vm.swappiness\" = 0`");
                let message = format!("`{name}` is a table of values by name");
                return Err(document.problem(span, message, "here", Some(help)));
            };
            return self.add_named(document, definition, parameter, "", table, from_set);
        }
        let tables: Vec<&Located<SettingNode>> = match &**node {
            SettingNode::Table(_) => vec![node],
            SettingNode::List(nodes)
                if !definition.parameters.is_empty()
                    && nodes
                        .iter()
                        .all(|node| matches!(**node, SettingNode::Table(_))) =>
            {
                nodes.iter().collect()
            }
            other => {
                let parameters = IndexMap::new();
                let value = match self.value_in(document, definition, node.span(), other)? {
                    FilledNode::Value(value) => value,
                    FilledNode::Unknown => return Ok(()),
                };
                return self.choose(document, definition, span, value, parameters, from_set);
            }
        };
        for node in tables {
            let SettingNode::Table(table) = &**node else {
                continue;
            };
            let span = if node.span().is_empty() {
                key.span()
            } else {
                node.span()
            };
            let (mut value, mut parameters) = (None, IndexMap::new());
            let mut is_unknown = false;
            for (key, node) in table {
                if **key == definition.key && definition.value_type != ValueType::None {
                    match self.value_in(document, definition, node.span(), node)? {
                        FilledNode::Value(filled) => value = filled,
                        FilledNode::Unknown => is_unknown = true,
                    }
                } else if let Some(kind) = definition.parameters.get(&**key) {
                    let text = match &**node {
                        SettingNode::Text(text) => match self.fill(document, node.span(), text)? {
                            FilledText::Filled(text) => text,
                            FilledText::Plain => text.clone(),
                            FilledText::Unknown => {
                                is_unknown = true;
                                continue;
                            }
                        },
                        SettingNode::Integer(number) => number.to_string(),
                        _ => String::new(),
                    };
                    let checked = kind.check(&text);
                    let checked = checked.map_err(|fault| {
                        let message = format!("`{name}`: {}: {fault}", **key);
                        document.problem(node.span(), message, "here", None)
                    })?;
                    parameters.insert((**key).clone(), checked);
                } else {
                    let own = (definition.value_type != ValueType::None).then_some(&definition.key);
                    let known = || definition.parameters.keys().chain(own).map(String::as_str);
                    let all = format!("it has {}", known().collect::<Vec<_>>().join(", "));
                    return Err(document.problem(
                        key.span(),
                        format!("`{name}` has no parameter `{}`", **key),
                        "here",
                        Some(did_you_mean(key, known()).unwrap_or(all)),
                    ));
                }
            }
            if !is_unknown {
                self.choose(document, definition, span, value, parameters, from_set)?;
            }
        }
        Ok(())
    }

    /// A text with values in place of its placeholders.
    fn fill(
        &self,
        document: &TomlDocument,
        span: Range<usize>,
        text: &str,
    ) -> Result<FilledText, DocumentError> {
        if !text.contains(['{', '}']) {
            return Ok(FilledText::Plain);
        }
        let fault = |message: String| document.problem(span.clone(), message, "here", None);
        let template = Template::parse(text).map_err(|error| fault(error.to_string()))?;
        match self.placeholders {
            Placeholders::Values(lookup) => {
                let filled = template.fill(lookup);
                filled
                    .map(FilledText::Filled)
                    .map_err(|error| fault(error.to_string()))
            }
            Placeholders::Names(is_known) => {
                match template.names().into_iter().find(|name| !is_known(name)) {
                    Some(name) => Err(document.problem(
                        span.clone(),
                        format!("`{{{name}}}` is not defined here"),
                        "here",
                        Some("a setting may name what a machine is (`{cpus}`, `{memory}`) and its role's facts (`{ROLE.interface}`); write {{ and }} for literal braces".into()),
                    )),
                    None => Ok(FilledText::Unknown),
                }
            }
        }
    }

    /// The value at a node, with placeholders filled.
    fn value_in(
        &self,
        document: &TomlDocument,
        definition: &SettingDefinition,
        span: Range<usize>,
        node: &SettingNode,
    ) -> Result<FilledNode, DocumentError> {
        let value = match value_of(node) {
            Some(SettingValue::Text(text)) => match self.fill(document, span, &text)? {
                FilledText::Plain => SettingValue::Text(text),
                FilledText::Unknown => return Ok(FilledNode::Unknown),
                FilledText::Filled(text) => match (&definition.value_type, text.parse()) {
                    (ValueType::Integer { .. }, Ok(number)) => SettingValue::Integer(number),
                    _ => SettingValue::Text(text),
                },
            },
            Some(SettingValue::List(texts)) => {
                let mut filled = Vec::with_capacity(texts.len());
                for text in texts {
                    filled.push(match self.fill(document, span.clone(), &text)? {
                        FilledText::Plain => text,
                        FilledText::Filled(text) => text,
                        FilledText::Unknown => return Ok(FilledNode::Unknown),
                    });
                }
                SettingValue::List(filled)
            }
            value => return Ok(FilledNode::Value(value)),
        };
        Ok(FilledNode::Value(Some(value)))
    }

    /// Values by names that are a parameter: `sysctl."vm.swappiness"`, `sysctl.vm.swappiness`.
    fn add_named(
        &mut self,
        document: &'a TomlDocument,
        definition: &'a SettingDefinition,
        parameter: &str,
        above: &str,
        table: &SettingTable,
        from_set: bool,
    ) -> Result<(), DocumentError> {
        for (key, node) in table {
            let path = path_below(above, key);
            if let SettingNode::Table(inner) = &**node {
                self.add_named(document, definition, parameter, &path, inner, from_set)?;
                continue;
            }
            let kind = &definition.parameters[parameter];
            let text = kind
                .check(&path)
                .map_err(|fault| document.problem(key.span(), fault, "here", None))?;
            let parameters = IndexMap::from([(parameter.to_owned(), text)]);
            if matches!(&**node, SettingNode::Text(text) if text == AS_IS) {
                self.chosen.shift_remove(&identity(definition, &parameters));
                continue;
            }
            let FilledNode::Value(value) =
                self.value_in(document, definition, node.span(), node)?
            else {
                continue;
            };
            self.choose(
                document,
                definition,
                node.span(),
                value,
                parameters,
                from_set,
            )?;
        }
        Ok(())
    }

    fn choose(
        &mut self,
        document: &'a TomlDocument,
        definition: &'a SettingDefinition,
        span: Range<usize>,
        value: Option<SettingValue>,
        parameters: IndexMap<String, String>,
        from_set: bool,
    ) -> Result<(), DocumentError> {
        let name = &definition.name;
        for (key, kind) in &definition.parameters {
            let given = parameters.get(key);
            if let ParameterType::SameAs(other) = kind
                && given != parameters.get(other)
            {
                let device = parameters.get(other).map_or("", String::as_str);
                let message = format!("`{name}`: `{key}` doesn't name {device} again");
                let help =
                    format!("what is on it is lost: if that is meant, say `{key} = \"{device}\"`");
                return Err(document.problem(span, message, "here", Some(help)));
            }
            if given.is_none() {
                let mut keys: Vec<&str> =
                    definition.parameters.keys().map(String::as_str).collect();
                if definition.value_type != ValueType::None {
                    keys.push(&definition.key);
                }
                let help = format!("`{name} = {{ {} = … }}`", keys.join(" = …, "));
                let message = format!("`{name}` needs `{key}`");
                return Err(document.problem(span, message, "here", Some(help)));
            }
        }
        let value = match (&definition.value_type, value) {
            (ValueType::None, None) => None,
            (kind, Some(value)) => {
                let checked = kind.check(value).map_err(|(fault, help)| {
                    document.problem(span.clone(), format!("`{name}`: {fault}"), "here", help)
                })?;
                Some(checked)
            }
            (kind, None) => {
                let message = format!("`{name}` takes {kind}");
                return Err(document.problem(span, message, "here", None));
            }
        };
        if let Some(value) = &value {
            let checked = match &definition.mechanism {
                Mechanism::Process(attribute) => attribute.check(value),
                Mechanism::Limit(limit) => limit.check(value),
                _ => Ok(()),
            };
            checked.map_err(|fault| {
                document.problem(span.clone(), format!("`{name}`: {fault}"), "here", None)
            })?;
        }
        let identity = identity(definition, &parameters);
        // What is asked for again stands where it was asked for last.
        self.chosen.shift_remove(&identity);
        self.chosen.insert(
            identity,
            Chosen {
                definition,
                request: SettingRequest {
                    value_type: definition.value_type.clone(),
                    value,
                    parameters,
                },
                document,
                span,
                from_set,
            },
        );
        Ok(())
    }
}

/// What of two requests for a setting must agree for the later one to replace the earlier one.
fn identity(
    definition: &SettingDefinition,
    parameters: &IndexMap<String, String>,
) -> (String, String) {
    let mut shown: Vec<String> = parameters.iter().map(|(k, v)| format!("{k}={v}")).collect();
    shown.sort();
    (definition.name.clone(), shown.join(" "))
}
