//! A verb for tests: one module, and one line of the registry.

use backsight_store::{Store, StudyRow};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use serde::{Deserialize, Serialize};

use super::{MeasuringVerb, Resumed};
use crate::{Outcome, SessionOptions, VerdictReport};

/// The verb's name.
pub const NAME: &str = "toy";

/// Choices of the toy verb.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToyChoices {
    /// How often.
    pub times: u32,
}

/// The entry in the registry.
pub struct Verb;

impl MeasuringVerb for Verb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn takes_rounds(&self) -> bool {
        true
    }

    fn resume<'a>(
        &'a self,
        resumed: Resumed<'a>,
        _options: &'a SessionOptions,
    ) -> LocalBoxFuture<'a, miette::Result<Outcome>> {
        async move { Err(miette::miette!("`{}` is only a toy", resumed.study.name)) }.boxed_local()
    }

    fn judge<'a>(
        &'a self,
        _store: &'a Store,
        _study: &'a StudyRow,
    ) -> LocalBoxFuture<'a, miette::Result<VerdictReport>> {
        async { Ok(VerdictReport::None) }.boxed_local()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Choices,
        verbs::{VerbChoices, verb},
    };

    #[test]
    fn a_verb_is_one_module_and_one_line_of_the_registry() {
        let choices = Choices::new(ToyChoices { times: 3 });
        let stored = serde_json::to_string(&choices).unwrap();
        assert_eq!(stored, r#"{"toy":{"times":3}}"#);
        let read: Choices = serde_json::from_str(&stored).unwrap();
        assert_eq!(read.verb, VerbChoices::Toy(ToyChoices { times: 3 }));
        let entry = verb(read.verb.name()).unwrap();
        assert!(entry.takes_rounds());
    }
}
