//! A verb for tests: one module, and one line of the registry.

use backsight_store::{Store, StudyRow};
use serde::{Deserialize, Serialize};

use super::{Resumed, Verb};
use crate::{SessionOptions, StudyOutcome, VerdictReport};

/// Choices of the toy verb.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToyChoices {
    /// How often.
    pub times: u32,
}

/// The verb.
pub struct ToyVerb;

impl Verb for ToyVerb {
    const NAME: &'static str = "toy";
    const TAKES_ROUNDS: bool = true;
    type Choices = ToyChoices;

    async fn resume(
        resumed: Resumed<'_>,
        _options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        Err(miette::miette!("`{}` is only a toy", resumed.study.name))
    }

    async fn judge(_store: &Store, _study: &StudyRow) -> miette::Result<VerdictReport> {
        Ok(VerdictReport::None)
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
        assert!(entry.takes_rounds);
    }
}
