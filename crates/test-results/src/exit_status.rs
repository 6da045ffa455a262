//! A program's exit status, where that is the only result.

use crate::{
    result::{Log, Outcome, TestResult, outcome_of_exit, path},
    sink::{Decoder, Exit, Sink},
};

/// A program's exit status: the whole output is the log of one test.
#[derive(Default)]
pub(crate) struct ExitStatus(Log);

impl Decoder for ExitStatus {
    fn feed(&mut self, bytes: &[u8], _to: &mut Sink<'_>) {
        self.0.push(&String::from_utf8_lossy(bytes));
    }

    fn finish(&mut self, _to: &mut Sink<'_>) {}

    fn exited(&mut self, exit: Option<Exit>, to: &mut Sink<'_>) -> bool {
        let outcome = match exit {
            None => return false,
            Some(Exit::Code(code)) => outcome_of_exit(code),
            Some(Exit::Signal(signal)) => Outcome::Crash(Some(signal)),
            Some(Exit::TimedOut) => Outcome::Timeout,
        };
        let log = std::mem::take(&mut self.0).into_string();
        // The last line says more than the first one of why a program gave up.
        let last = log.lines().rev().find(|line| !line.trim().is_empty());
        let message = last.filter(|_| outcome != Outcome::Pass).unwrap_or("");
        let name = path([to.default_name().as_str()]);
        let result = TestResult::new(name, outcome).with_message(message);
        to.result(result.with_log(log));
        true
    }
}
