//! The registry of verbs that measure. A verb is one module here, with a type that implements [`Verb`], and one line of
//! [`registry!`]. Whoever goes on with, shows, publishes or queues a study asks the registry; nobody compares names of verbs.

pub mod bisect;
mod bisect_checks;
pub mod noise;
pub mod overhead;
pub mod reference;
pub mod run;
pub mod search;
pub mod step;
pub mod test;
pub mod test_bisect;
#[cfg(test)]
mod toy;
pub mod try_patch;

use backsight_catalog::Catalog;
use backsight_store::{Store, StudyDocument, StudyRow};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use serde_json::{Map, Value};
use std::num::NonZeroU32;

use crate::{HistoryChoices, Question, SessionOptions, StudyOutcome, VerdictReport};

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

/// A verb that measures. Its studies have choices of a type of their own.
pub trait Verb: 'static {
    /// The verb's name, on the command line and in the store.
    const NAME: &'static str;
    /// Whether rounds can be added to a study of it.
    const TAKES_ROUNDS: bool = false;
    /// Whether the plan's reference is measured beside its studies. Those that compare side by side need none.
    const HAS_REFERENCE: bool = false;
    /// The choices of its studies.
    type Choices;

    /// The choices along a history; none where the software is measured as it is found.
    fn history(_choices: &Self::Choices) -> Option<HistoryChoices> {
        None
    }

    /// Goes on with a study, measuring nothing twice.
    ///
    /// # Errors
    /// The study's own documents don't fit any more, a host can't be had, or the store refuses.
    fn resume(
        resumed: Resumed<'_>,
        options: &SessionOptions,
    ) -> impl Future<Output = miette::Result<StudyOutcome>>;

    /// The verdict of a study as its stored evidence stands.
    ///
    /// # Errors
    /// The store's own, or a study that another program wrote.
    fn judge(
        store: &Store,
        study: &StudyRow,
    ) -> impl Future<Output = miette::Result<VerdictReport>>;
}

/// A verb whose choices are a variant of [`VerbChoices`].
pub trait InRegistry: Verb {
    /// The choices, if they are this verb's.
    fn choices_in(choices: &VerbChoices) -> Option<&Self::Choices>;
}

/// A [`Verb`] as whoever doesn't know its type sees it.
pub struct RegisteredVerb {
    /// The verb's name.
    pub name: &'static str,
    /// Whether rounds can be added to a study of it.
    pub takes_rounds: bool,
    resume: ResumeFn,
    judge: JudgeFn,
}

type ResumeFn =
    for<'a> fn(Resumed<'a>, &'a SessionOptions) -> LocalBoxFuture<'a, miette::Result<StudyOutcome>>;
type JudgeFn =
    for<'a> fn(&'a Store, &'a StudyRow) -> LocalBoxFuture<'a, miette::Result<VerdictReport>>;

impl RegisteredVerb {
    const fn new<V: Verb>() -> Self {
        Self {
            name: V::NAME,
            takes_rounds: V::TAKES_ROUNDS,
            resume: |resumed, options| V::resume(resumed, options).boxed_local(),
            judge: |store, study| V::judge(store, study).boxed_local(),
        }
    }

    /// [`Verb::resume`].
    ///
    /// # Errors
    /// As there.
    pub async fn resume(
        &self,
        resumed: Resumed<'_>,
        options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        (self.resume)(resumed, options).await
    }

    /// [`Verb::judge`].
    ///
    /// # Errors
    /// As there.
    pub async fn judge(&self, store: &Store, study: &StudyRow) -> miette::Result<VerdictReport> {
        (self.judge)(store, study).await
    }
}

/// Makes [`VerbChoices`] and [`VERBS`] of one line a verb.
macro_rules! registry {
    ($($(#[$attribute:meta])* $variant:ident($verb:ty),)*) => {
        /// A verb with its own choices.
        #[derive(Debug, Clone, PartialEq)]
        pub enum VerbChoices {
            $(
                $(#[$attribute])*
                #[doc = concat!("Choices of [`", stringify!($verb), "`].")]
                $variant(<$verb as Verb>::Choices),
            )*
        }

        $(
            $(#[$attribute])*
            impl From<<$verb as Verb>::Choices> for VerbChoices {
                fn from(choices: <$verb as Verb>::Choices) -> Self {
                    Self::$variant(choices)
                }
            }

            $(#[$attribute])*
            impl InRegistry for $verb {
                fn choices_in(choices: &VerbChoices) -> Option<&Self::Choices> {
                    match choices {
                        VerbChoices::$variant(choices) => Some(choices),
                        _ => None,
                    }
                }
            }
        )*

        impl VerbChoices {
            /// The verb's name.
            pub fn name(&self) -> &'static str {
                match self {
                    $($(#[$attribute])* Self::$variant(_) => <$verb>::NAME,)*
                }
            }

            /// [`Verb::HAS_REFERENCE`].
            pub fn has_reference(&self) -> bool {
                match self {
                    $($(#[$attribute])* Self::$variant(_) => <$verb>::HAS_REFERENCE,)*
                }
            }

            /// [`Verb::history`].
            pub fn history(&self) -> Option<HistoryChoices> {
                match self {
                    $($(#[$attribute])* Self::$variant(choices) => <$verb>::history(choices),)*
                }
            }

            fn to_value(&self) -> serde_json::Result<Value> {
                match self {
                    $($(#[$attribute])* Self::$variant(choices) => serde_json::to_value(choices),)*
                }
            }

            fn from_value(name: &str, value: Value) -> Option<serde_json::Result<Self>> {
                $(
                    $(#[$attribute])*
                    if name == <$verb>::NAME {
                        return Some(serde_json::from_value(value).map(Self::$variant));
                    }
                )*
                None
            }
        }

        /// Every verb that measures.
        pub static VERBS: &[RegisteredVerb] =
            &[$($(#[$attribute])* RegisteredVerb::new::<$verb>(),)*];
    };
}

registry! {
    Run(run::RunVerb),
    Step(step::StepVerb),
    Bisect(bisect::BisectVerb),
    TestBisect(test_bisect::TestBisectVerb),
    Try(try_patch::TryVerb),
    Noise(noise::NoiseVerb),
    Overhead(overhead::OverheadVerb),
    Search(search::SearchVerb),
    Test(test::TestVerb),
    Reference(reference::ReferenceVerb),
    #[cfg(test)]
    Toy(toy::ToyVerb),
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
        let of_run = ["from", "until", "more_testbeds"];
        if let Some(other) = stored.keys().find(|key| !of_run.contains(&key.as_str())) {
            return Err(serde_json::Error::custom(format!("no verb `{other}`")));
        }
        serde_json::from_value(Value::Object(stored)).map(Self::Run)
    }
}

/// The verb of this name; none if it isn't one that measures.
pub fn verb(name: &str) -> Option<&'static RegisteredVerb> {
    VERBS.iter().find(|verb| verb.name == name)
}
