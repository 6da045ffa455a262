//! A suite's run in passes: after a test ended it in the middle, another pass runs what is left. All passes of a trial give one run.

use backsight_model::{StepRecord, SuiteRun, counted};
use std::collections::HashSet;

use crate::SuitePass;

/// What the passes of a trial gave so far.
#[derive(Debug, Default)]
pub struct SuitePasses {
    run: Option<SuiteRun>,
    /// The test that ended last.
    last: Option<String>,
    /// Where each pass was ended in the middle.
    interruptions: Vec<String>,
    /// Results that stand for tests whose names nobody knows.
    nameless: Vec<String>,
    has_news: bool,
    passes: usize,
}

impl SuitePasses {
    /// How many there were.
    pub fn len(&self) -> usize {
        self.passes
    }

    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.passes == 0
    }

    /// The test that ended last.
    pub fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Whether there is a result.
    pub fn has_results(&self) -> bool {
        (self.run.as_ref()).is_some_and(|run| !run.results.is_empty())
    }

    /// Whether the last pass gave a result of a test that had none.
    pub fn has_news(&self) -> bool {
        self.has_news
    }

    /// The names of the tests that have ended, one a line.
    pub fn ended_tests(&self) -> Vec<u8> {
        let results = self.run.iter().flat_map(|run| run.results.iter());
        let is_known = |name: &&str| {
            let mut nameless = self.nameless.iter();
            !name.contains('\n') && !nameless.any(|it| it == name)
        };
        let names = results.map(|result| result.name).filter(is_known);
        names.flat_map(|name| name.bytes().chain([b'\n'])).collect()
    }

    /// Adds a pass; true if it was ended in the middle.
    pub fn add(&mut self, pass: SuitePass) -> bool {
        let results = |run: &Option<SuiteRun>| run.as_ref().map_or(0, |run| run.results.len());
        let known = results(&self.run);
        match &mut self.run {
            None => self.run = Some(pass.run),
            Some(run) if pass.had_nothing_to_do => (run.complete, run.missing) = (true, 0),
            Some(run) => run.continue_with(pass.run),
        }
        self.passes += 1;
        self.has_news = results(&self.run) > known;
        let Some(interrupted) = pass.interrupted else {
            return false;
        };
        let is_first = interrupted.after.is_none();
        let place = match interrupted.running.as_slice() {
            [] => {
                self.last = interrupted.after.or(self.last.take());
                let place = format!("after {}", self.last.as_deref().unwrap_or("its beginning"));
                self.nameless.push(place.clone());
                place
            }
            running => {
                self.last = running.last().cloned();
                if is_first {
                    self.name_last(&running.join(", "));
                }
                running.join(", ")
            }
        };
        self.interruptions.push(place);
        true
    }

    /// The test in which the pass before was ended has a name after all: this pass began with it, and was ended in it too.
    fn name_last(&mut self, name: &str) {
        let Some(place) = self
            .nameless
            .pop_if(|it| self.interruptions.last() == Some(it))
        else {
            return;
        };
        if let (Some(run), Some(last)) = (&mut self.run, self.interruptions.last_mut()) {
            let others = run.results.iter().filter(|it| it.name != place);
            run.results = others.map(|result| result.to_result()).collect();
            name.clone_into(last);
        }
    }

    /// The whole run; with why there was no further pass, if there should have been one.
    pub fn finish(self, hindrance: Option<String>) -> Option<SuiteRun> {
        let mut run = self.run?;
        let continued = self.passes.saturating_sub(1);
        let mut sentences = Vec::new();
        if continued > 0 {
            let places = self.interruptions.iter().take(continued).cloned();
            sentences.push(format!(
                "continued {}, without the tests that had ended: {}",
                counted(continued, "time"),
                places.collect::<Vec<_>>().join("; ")
            ));
        }
        if let Some(why) = hindrance {
            run.complete = false;
            let place = self.interruptions.last().cloned().unwrap_or_default();
            sentences.push(format!("not continued ({place}): {why}"));
        }
        run.problems.splice(0..0, sentences);
        Some(run)
    }
}

/// The steps of each pass of a trial: a step comes once in each.
pub(crate) fn passes_of(steps: &[StepRecord]) -> Vec<&[StepRecord]> {
    let (mut passes, mut from) = (Vec::new(), 0);
    let mut seen = HashSet::new();
    for (at, step) in steps.iter().enumerate() {
        let key = (
            step.phase,
            step.number,
            &step.role,
            &step.host,
            &step.monitor,
        );
        if !seen.insert(key) {
            passes.push(&steps[from..at]);
            from = at;
            seen = HashSet::from([key]);
        }
    }
    passes.push(&steps[from..]);
    passes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interrupted;
    use backsight_model::{Outcome, TestResult};

    /// A pass with these results, ended in the middle after a test or in others.
    fn pass(results: &[(&str, Outcome)], interrupted: Option<(&str, &[&str])>) -> SuitePass {
        let results = results.iter();
        let results = results.map(|(name, outcome)| TestResult::new(*name, *outcome));
        SuitePass {
            run: SuiteRun {
                results: results.collect(),
                complete: interrupted.is_none(),
                missing: u64::from(interrupted.is_some()),
                problems: Vec::new(),
            },
            interrupted: interrupted.map(|(after, running)| Interrupted {
                after: Some(after).filter(|it| !it.is_empty()).map(str::to_owned),
                running: running.iter().map(ToString::to_string).collect(),
            }),
            had_nothing_to_do: false,
        }
    }

    fn outcomes(run: &SuiteRun) -> Vec<(&str, Outcome)> {
        run.results.iter().map(|it| (it.name, it.outcome)).collect()
    }

    const PASS: Outcome = Outcome::Pass;
    const CRASH: Outcome = Outcome::Crash(None);

    #[test]
    fn passes_are_one_run_in_which_a_crash_stays_one() {
        let mut passes = SuitePasses::default();
        assert!(passes.add(pass(&[("a", PASS), ("b", CRASH)], Some(("a", &["b"])))));
        assert_eq!(passes.ended_tests(), b"a\nb\n");
        // The tool prints what was left out as skipped, and runs one of them again.
        let later = pass(&[("a", Outcome::Skip), ("b", PASS), ("c", PASS)], None);
        assert!(!passes.add(later));
        assert!(passes.has_news());
        let run = passes.finish(None).unwrap();
        assert_eq!(outcomes(&run), [("a", PASS), ("b", CRASH), ("c", PASS)]);
        assert_eq!((run.complete, run.missing), (true, 0));
        assert_eq!(
            run.problems,
            ["continued 1 time, without the tests that had ended: b"]
        );
    }

    #[test]
    fn a_test_without_a_name_is_run_again_and_has_one_when_it_ends_the_next_pass() {
        let first = || pass(&[("a", PASS), ("after a", CRASH)], Some(("a", &[])));
        let mut passes = SuitePasses::default();
        assert!(passes.add(first()));
        assert_eq!(passes.ended_tests(), b"a\n");
        assert!(passes.add(pass(&[("b", CRASH)], Some(("", &["b"])))));
        assert!(passes.has_news());
        let run = passes.finish(None).unwrap();
        assert_eq!(outcomes(&run), [("a", PASS), ("b", CRASH)]);

        let mut passes = SuitePasses::default();
        passes.add(first());
        assert!(passes.add(pass(&[("after a", CRASH)], Some(("", &[])))));
        assert!(!passes.has_news());
        let run = passes.finish(Some("why".to_owned())).unwrap();
        assert_eq!(outcomes(&run), [("a", PASS), ("after a", CRASH)]);
        assert!(!run.complete);
        assert_eq!(run.problems[1], "not continued (after a): why");
    }

    #[test]
    fn a_last_pass_that_has_nothing_to_do_is_the_end() {
        let mut passes = SuitePasses::default();
        passes.add(pass(&[("a", CRASH)], Some(("", &["a"]))));
        assert!(!passes.add(SuitePass {
            had_nothing_to_do: true,
            ..pass(&[], None)
        }));
        let run = passes.finish(None).unwrap();
        assert_eq!((run.complete, run.missing, run.results.len()), (true, 0, 1));
    }
}
