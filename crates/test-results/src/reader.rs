//! Reading: bytes in as they arrive, events out as soon as they are known.

use crate::{
    format::{Format, ReadOptions},
    result::ProblemKind,
    sink::{Decoder, Event, Exit, Sink, State},
};
use std::io::{self, BufRead};

/// Reads a document of one format, in pieces of any size.
///
/// Memory is bounded by what is under way, not by what was read: of a result that was handed over eight bytes are kept, by which a
/// second result of the same test is found (with one chance in 10⁷ of a false one in a million results).
pub struct ResultReader {
    decoder: Box<dyn Decoder + Send>,
    state: State,
}

impl std::fmt::Debug for ResultReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResultReader").finish_non_exhaustive()
    }
}

impl ResultReader {
    /// A reader of this format.
    pub fn new(format: Format, options: ReadOptions) -> ResultReader {
        ResultReader {
            decoder: format.decoder(&options),
            state: State::new(options.name),
        }
    }

    /// Reads the next bytes and hands over what they complete.
    pub fn feed(&mut self, bytes: &[u8], to: &mut dyn FnMut(Event)) {
        self.decoder
            .feed(bytes, &mut Sink::new(&mut self.state, to));
    }

    /// The number of results that are known. Some of these may not be handed over yet, because their details follow them (TAP); for a
    /// limit of time per test it is this number that counts.
    pub fn known(&self) -> u64 {
        self.state.results + self.decoder.held()
    }

    /// The document is at its end, and so is the program that wrote it, if its end is known.
    pub fn finish(mut self, exit: Option<Exit>, to: &mut dyn FnMut(Event)) {
        let mut sink = Sink::new(&mut self.state, to);
        self.decoder.finish(&mut sink);
        let told = self.decoder.exited(exit, &mut sink);
        sink.end_running();
        if sink.state.results == 0 {
            sink.problem(ProblemKind::NoResults);
        }
        let failed = match exit {
            None | Some(Exit::Code(0)) => None,
            Some(Exit::Code(code)) => Some(format!("status {code}")),
            Some(Exit::Signal(signal)) => Some(format!("signal {signal}")),
            Some(Exit::TimedOut) => Some("its limit of time".to_owned()),
        };
        if let Some(how) =
            failed.filter(|_| !told && sink.state.failures == 0 && sink.state.results > 0)
        {
            sink.problem(ProblemKind::FailedWithoutResult(how));
        }
    }

    /// Reads all of an input.
    ///
    /// # Errors
    /// Those of the input; what was read before is handed over.
    pub fn read(mut self, mut input: impl BufRead, to: &mut dyn FnMut(Event)) -> io::Result<()> {
        let failed = loop {
            match input.fill_buf() {
                Ok([]) => break None,
                Ok(bytes) => {
                    let length = bytes.len();
                    self.feed(bytes, to);
                    input.consume(length);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Some(error),
            }
        };
        self.finish(None, to);
        failed.map_or(Ok(()), Err)
    }
}
