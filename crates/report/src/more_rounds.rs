//! The number of rounds that would decide what isn't decided, with the commands that add them. Studies to which no rounds
//! can be added are left out.

use backsight_model::{StudyName, counted};
use backsight_policy::{Comparison, DifferenceCall, Doubt};
use backsight_stats::Level;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Rounds that would tell, with the commands that add them: one a study. As text `about 12 more rounds would tell: backsight
/// run --more 12 base`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MoreRounds {
    /// About so many of each study.
    pub rounds: usize,
    /// What adds them, study by study.
    pub commands: Vec<String>,
}

impl MoreRounds {
    /// Of one study.
    pub fn for_study(rounds: usize, study: &StudyName) -> Self {
        Self {
            rounds,
            commands: vec![command(rounds, study)],
        }
    }

    /// Of a comparison, by primary metrics: as many as the row needs that needs most, of the sides that are the numbered
    /// studies.
    pub fn for_comparison(comparison: &Comparison, takes_rounds: &[i64]) -> Option<Self> {
        let primary = comparison.differences().filter(|(row, ..)| row.primary);
        let more = primary.filter_map(|(_, side, difference)| match difference.call {
            DifferenceCall::CannotTell(Doubt::More { count, level }) => {
                (level == Level::Trial).then_some((side, count))
            }
            _ => None,
        });
        let more: Vec<(usize, usize)> = more.collect();
        let rounds = more.iter().map(|(_, count)| *count).max()?;
        let asked = more.iter().flat_map(|(side, _)| [0, *side]);
        let mut studies: Vec<(i64, &StudyName)> = asked
            .filter_map(|side| comparison.sides[side].study.as_ref())
            .filter(|study| takes_rounds.contains(&study.number))
            .map(|study| (study.number, &study.name))
            .collect();
        studies.sort_unstable_by_key(|(number, _)| *number);
        studies.dedup_by_key(|(number, _)| *number);
        let commands = studies.iter().map(|(_, study)| command(rounds, study));
        let commands: Vec<String> = commands.collect();
        (!commands.is_empty()).then_some(Self { rounds, commands })
    }

    /// All commands as one line for a shell.
    pub fn line(&self) -> String {
        self.commands.join(" && ")
    }
}

fn command(rounds: usize, study: &StudyName) -> String {
    format!("backsight run --more {rounds} {study}")
}

impl fmt::Display for MoreRounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounds = counted(self.rounds, "more round");
        write!(f, "about {rounds} would tell: {}", self.line())
    }
}
