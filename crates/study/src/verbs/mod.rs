//! The registry of verbs that measure. A verb is one module here and one line of [`registry!`]: its name, its choices, and
//! what resumes and judges its studies. Whoever goes on with, shows, publishes or queues a study asks the registry; nobody
//! compares names of verbs.
//!
//! Refuses: arguments of a command line, and how a verdict is written.

pub mod bisect;
pub mod noise;
pub mod overhead;
pub mod run;
pub mod search;
pub mod step;
#[cfg(test)]
mod toy;
pub mod try_patch;

use backsight_catalog::Catalog;
use backsight_store::{Store, StudyDocument, StudyRow};
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use std::num::NonZeroU32;

use crate::{Outcome, Question, SessionOptions, VerdictReport};

/// A study that is resumed, with everything that was stored when it began.
pub struct Resumed<'a> {
    /// Where it is stored.
    pub store: &'a Store,
    /// The study.
    pub study: StudyRow,
    /// Its documents.
    pub documents: Vec<StudyDocument>,
    /// Its question.
    pub question: Question,
    /// The definitions as they were when it began.
    pub catalog: Catalog,
    /// The rounds that are added to it.
    pub more: Option<NonZeroU32>,
}

/// A verb that measures.
pub trait MeasuringVerb: Sync {
    /// The verb's name, on the command line and in the store.
    fn name(&self) -> &'static str;

    /// Whether rounds can be added to a study of it.
    fn takes_rounds(&self) -> bool {
        false
    }

    /// Goes on with a study, measuring nothing twice.
    ///
    /// # Errors
    /// The study's own documents don't fit any more, a host can't be had, or the store refuses.
    fn resume<'a>(
        &'a self,
        resumed: Resumed<'a>,
        options: &'a SessionOptions,
    ) -> LocalBoxFuture<'a, miette::Result<Outcome>>;

    /// The verdict of a study as its stored evidence stands.
    ///
    /// # Errors
    /// The store's own, or a study that another program wrote.
    fn judge<'a>(
        &'a self,
        store: &'a Store,
        study: &'a StudyRow,
    ) -> LocalBoxFuture<'a, miette::Result<VerdictReport>>;
}

/// Makes [`VerbChoices`] and [`VERBS`] of one line a verb.
macro_rules! registry {
    ($($(#[$attribute:meta])* $verb:ident($choices:ty): $module:ident,)*) => {
        /// A verb with its own choices.
        #[derive(Debug, Clone, PartialEq)]
        pub enum VerbChoices {
            $(
                $(#[$attribute])*
                #[doc = concat!("Choices of `", stringify!($module), "`.")]
                $verb($choices),
            )*
        }

        $(
            $(#[$attribute])*
            impl From<$choices> for VerbChoices {
                fn from(choices: $choices) -> Self {
                    Self::$verb(choices)
                }
            }
        )*

        impl VerbChoices {
            /// The verb's name.
            pub fn name(&self) -> &'static str {
                match self {
                    $($(#[$attribute])* Self::$verb(_) => $module::NAME,)*
                }
            }

            fn to_value(&self) -> serde_json::Result<Value> {
                match self {
                    $($(#[$attribute])* Self::$verb(choices) => serde_json::to_value(choices),)*
                }
            }

            fn from_value(name: &str, value: Value) -> Option<serde_json::Result<Self>> {
                $(
                    $(#[$attribute])*
                    if name == $module::NAME {
                        return Some(serde_json::from_value(value).map(Self::$verb));
                    }
                )*
                None
            }
        }

        /// Every verb that measures.
        pub static VERBS: &[&dyn MeasuringVerb] = &[$($(#[$attribute])* &$module::Verb,)*];
    };
}

registry! {
    Run(crate::RunChoices): run,
    Step(crate::StepChoices): step,
    Bisect(crate::BisectChoices): bisect,
    Try(crate::TryChoices): try_patch,
    Noise(crate::NoiseChoices): noise,
    Overhead(crate::OverheadChoices): overhead,
    Search(crate::SearchChoices): search,
    #[cfg(test)]
    Toy(toy::ToyChoices): toy,
}

impl VerbChoices {
    /// The stored form: the verb's choices under its name; those of `run` by themselves.
    pub(crate) fn to_stored(&self) -> serde_json::Result<Map<String, Value>> {
        let value = self.to_value()?;
        Ok(match (self, value) {
            (Self::Run(_), Value::Object(choices)) => choices,
            (_, value) => [(self.name().to_owned(), value)].into_iter().collect(),
        })
    }

    /// Reads the stored form.
    pub(crate) fn from_stored(stored: Map<String, Value>) -> serde_json::Result<Self> {
        use serde::de::Error as _;
        let named = stored.iter().find(|(name, _)| verb(name).is_some());
        let named = named.map(|(name, value)| (name.clone(), value.clone()));
        if let Some((name, value)) = named {
            let unknown = || serde_json::Error::custom(format!("no verb `{name}`"));
            return Self::from_value(&name, value).ok_or_else(unknown)?;
        }
        let of_run = ["from", "until"];
        if let Some(other) = stored.keys().find(|key| !of_run.contains(&key.as_str())) {
            return Err(serde_json::Error::custom(format!("no verb `{other}`")));
        }
        serde_json::from_value(Value::Object(stored)).map(Self::Run)
    }
}

/// The verb of this name; none if it isn't one that measures.
pub fn verb(name: &str) -> Option<&'static dyn MeasuringVerb> {
    VERBS.iter().copied().find(|verb| verb.name() == name)
}
