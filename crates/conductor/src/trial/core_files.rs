//! Core files of a suite's programs: taken from its hosts after its run, and named beside the tests that crashed.

use backsight_agent::CoreFiles;
use backsight_model::{CoreFile, HostName, Outcome, SuiteRun, TestResult, numbers};

/// The signals that make a program leave a core file.
const CORE_SIGNALS: [i32; 10] = [3, 4, 5, 6, 7, 8, 11, 24, 25, 31];
/// The longest path or name of a program that a sentence has, in characters.
const LONGEST_NAME: usize = 100;

/// What the hosts of a suite said of core files.
#[derive(Debug, Default)]
pub(super) struct TakenCoreFiles {
    pub(super) files: Vec<CoreFile>,
    /// How many there were besides.
    left_out: u64,
    /// Why programs leave none, by host.
    hindrances: Vec<(HostName, String)>,
}

impl TakenCoreFiles {
    /// Bytes that were taken.
    pub(super) fn bytes(&self) -> u64 {
        let contents = self.files.iter().filter_map(|file| file.content.as_ref());
        contents.map(|content| content.len() as u64).sum()
    }

    /// Adds what a host said.
    pub(super) fn add(&mut self, host: &HostName, taken: CoreFiles) {
        let files = taken.files.into_iter().map(|file| CoreFile {
            host: host.clone(),
            path: file.path,
            program: file.program,
            signal: file.signal,
            bytes: file.bytes,
            content: file.content,
        });
        self.files.extend(files);
        self.left_out += taken.left_out;
        let is_known = self.hindrances.iter().any(|(known, _)| known == host);
        let why = taken.hindrance.filter(|_| !is_known);
        self.hindrances.extend(why.map(|why| (host.clone(), why)));
    }

    /// Says in the suite's run which there are: beside a test's result where only that test can have left it.
    pub(super) fn describe(&self, run: &mut SuiteRun, limit: u64) {
        let crashes = |signal| {
            run.results
                .outcomes()
                .iter()
                .filter(move |it| **it == signal)
        };
        let cores = |signal| {
            self.files
                .iter()
                .filter(move |it| it.signal == Some(signal))
        };
        let sure = |signal: &i32| {
            let of_tests = crashes(Outcome::Crash(Some(*signal))).count();
            of_tests == 1 && cores(*signal).count() == 1
        };
        let sure: Vec<i32> = CORE_SIGNALS.into_iter().filter(sure).collect();
        if !sure.is_empty() {
            let with_core = |mut result: TestResult| {
                let of_signal = |it: &&CoreFile| {
                    let signal = it.signal.filter(|signal| sure.contains(signal));
                    signal.is_some() && result.outcome == Outcome::Crash(signal)
                };
                if let Some(core) = self.files.iter().find(of_signal) {
                    let said = result.message.take().filter(|said| !said.is_empty());
                    let said = said.map(|said| format!("{said}; ")).unwrap_or_default();
                    result.message = Some(format!("{said}core file {}", name_of(core)));
                }
                result
            };
            let results = run.results.iter().map(|it| with_core(it.to_result()));
            run.results = results.collect();
        }
        for (file, number) in self.files.iter().zip(1..) {
            let what = match file.content {
                Some(_) => format!("core file {number} is kept"),
                None if limit == 0 => continue,
                None => format!(
                    "core file {number} isn't kept, for `core_limit` is {}",
                    numbers::size(limit)
                ),
            };
            let (name, host) = (name_of(file), &file.host);
            let size = numbers::size(file.bytes);
            run.problems
                .push(format!("{what}: {name} on {host}, {size}"));
        }
        if self.left_out > 0 {
            run.problems.push(format!(
                "of more core files only the number is known: {}",
                self.left_out
            ));
        }
        let has_crash = run.results.outcomes().iter().any(|outcome| {
            matches!(outcome, Outcome::Crash(Some(signal)) if CORE_SIGNALS.contains(signal))
        });
        for (host, why) in self.hindrances.iter().filter(|_| has_crash && limit > 0) {
            run.problems
                .push(format!("no core file is taken from {host}: {why}"));
        }
    }
}

/// `core.123 of victim (signal 11)`.
fn name_of(core: &CoreFile) -> String {
    let plain = |text: &str| -> String {
        let visible = |c: char| if c.is_control() { ' ' } else { c };
        text.chars().take(LONGEST_NAME).map(visible).collect()
    };
    let mut name = plain(&core.path);
    if let Some(program) = &core.program {
        name.push_str(&format!(" of {}", plain(program)));
    }
    if let Some(signal) = core.signal {
        name.push_str(&format!(" (signal {signal})"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(signal: i32, content: Option<&[u8]>) -> backsight_agent::CoreFile {
        backsight_agent::CoreFile {
            path: format!("core.{signal}"),
            program: Some("victim".to_owned()),
            signal: Some(signal),
            bytes: 2048,
            content: content.map(<[u8]>::to_vec),
        }
    }

    fn described(tests: &[(&str, i32)], taken: CoreFiles) -> SuiteRun {
        let result =
            |(name, signal): &(&str, i32)| TestResult::new(*name, Outcome::Crash(Some(*signal)));
        let mut run = SuiteRun {
            results: tests.iter().map(result).collect(),
            complete: true,
            ..SuiteRun::default()
        };
        let mut all = TakenCoreFiles::default();
        all.add(&"box".parse().unwrap(), taken);
        all.describe(&mut run, 1024);
        run
    }

    #[test]
    fn a_core_file_is_named_beside_the_one_test_that_can_have_left_it() {
        let taken = CoreFiles {
            files: vec![core(11, Some(b"core")), core(6, None)],
            left_out: 2,
            hindrance: None,
        };
        let run = described(&[("a", 11), ("b", 6), ("c", 6)], taken);
        let messages: Vec<_> = run.results.iter().map(|it| it.message).collect();
        let named = "core file core.11 of victim (signal 11)";
        assert_eq!(messages, [Some(named), None, None]);
        assert_eq!(
            run.problems,
            [
                "core file 1 is kept: core.11 of victim (signal 11) on box, 2.00 KiB",
                "core file 2 isn't kept, for `core_limit` is 1.00 KiB: core.6 of victim (signal 6) on box, 2.00 KiB",
                "of more core files only the number is known: 2",
            ]
        );
        assert!(run.complete);
    }

    #[test]
    fn a_host_that_keeps_core_files_elsewhere_is_named_where_a_test_crashed() {
        let elsewhere = || CoreFiles {
            hindrance: Some("elsewhere".to_owned()),
            ..CoreFiles::default()
        };
        let said = ["no core file is taken from box: elsewhere"];
        assert_eq!(described(&[("a", 11)], elsewhere()).problems, said);
        let killed = described(&[("a", 9)], elsewhere());
        assert_eq!(killed.problems, [""; 0]);
    }
}
