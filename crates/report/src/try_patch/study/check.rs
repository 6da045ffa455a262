//! What `check` adds to a try: what the base is, and what to do next.

use backsight_policy::TrySideOutcome;

use super::TryStudy;
use crate::Section;

/// Letters of a commit's identity in commands.
const SHORT: usize = 12;

/// The base that a change was checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckedBase<'a> {
    /// As it was asked for: `origin/main`.
    pub base: &'a str,
    /// Whether that version itself is compared with, and not where the change left it.
    pub tip: bool,
}

impl TryStudy<'_> {
    /// Which version the base is, where that isn't what was asked for itself.
    pub(super) fn base_sentence(&self) -> Option<String> {
        let checked = self.checked?;
        let version = self.history.versions.first()?;
        let is_itself = checked.tip || checked.base == version.name;
        (!is_itself).then(|| {
            format!(
                "The base is {}, where the change left {}",
                version.name, checked.base
            )
        })
    }

    /// What to do next, a sentence each; nothing of a try that isn't a check.
    pub fn next_steps(&self) -> Vec<String> {
        let Some(checked) = self.checked else {
            return Vec::new();
        };
        let study = &self.history.name;
        let short = |version: usize| {
            let found = self.history.versions.get(version);
            let id = found.map_or("", |version| version.id.as_str());
            id.get(..SHORT).unwrap_or(id).to_owned()
        };
        if self.verdict.dead.first() == Some(&true) {
            return vec![format!(
                "The base doesn't build or run: mend it, or compare with another version: --base; `backsight show {study}` has what it printed"
            )];
        }
        match self.overall() {
            TrySideOutcome::Worse => {
                let mut steps = vec![format!(
                    "What else changed with it, counters, system calls and functions: `backsight explain {study}`"
                )];
                let is_patched = !self.history.versions.iter().all(|it| it.is_plain());
                if !is_patched {
                    steps.push(format!(
                        "Which of several commits did it: `backsight bisect --like {study} --good {} --bad {}`",
                        short(0),
                        short(1)
                    ));
                }
                steps.push(
                    "Where it is worth its price: --tolerance passes what is worse by less"
                        .to_owned(),
                );
                steps
            }
            TrySideOutcome::Dead => vec![format!(
                "What it printed: `backsight show {study}`; the base builds and runs"
            )],
            TrySideOutcome::Undecided => vec![format!(
                "The same command with the same commits goes on where this one ended, {}",
                match self.equal {
                    Some(equal) => format!(
                        "with another budget; a --tolerance larger than {equal} % is decided sooner"
                    ),
                    None =>
                        "with another budget; with a --tolerance it can end without a difference"
                            .to_owned(),
                }
            )],
            TrySideOutcome::Better | TrySideOutcome::Equal => {
                let of_base = match checked.tip {
                    true => "",
                    false => "; what came to the base meanwhile isn't in it",
                };
                vec![format!("Nothing: it can be merged{of_base}")]
            }
        }
    }

    /// The steps as a part of the document.
    pub(super) fn next_section(&self) -> Section {
        Section::list("What to do next", self.next_steps())
    }
}
