//! Code of a process: a sample has a copy of the stack, but what stands at a return address says how to go on from there.

use std::{collections::HashMap, fs::File, ops::Range, os::unix::fs::FileExt as _};

/// Most words that are kept of a process.
const WORDS_MOST: usize = 1 << 14;

/// Reads code while its process runs, each word once.
#[derive(Default)]
pub(crate) struct CodeReader {
    /// Where code is; what was copied of a stack isn't read behind its end.
    ranges: Vec<Range<u64>>,
    memory: Option<File>,
    words: HashMap<u64, Option<u64>>,
}

impl CodeReader {
    pub fn new(pid: i32) -> Self {
        Self {
            ranges: Vec::new(),
            memory: File::open(format!("/proc/{pid}/mem")).ok(),
            words: HashMap::new(),
        }
    }

    /// Code is in this range now.
    pub fn map(&mut self, range: Range<u64>) {
        let is_new = !self
            .ranges
            .iter()
            .any(|known| known.contains(&range.start) && known.end >= range.end);
        if is_new {
            self.ranges.push(range.clone());
        }
        self.words.retain(|address, _| !range.contains(address));
    }

    /// Eight bytes of code.
    pub fn read(&mut self, address: u64) -> Result<u64, ()> {
        let Some(memory) = &self.memory else {
            return Err(());
        };
        if let Some(known) = self.words.get(&address) {
            return known.ok_or(());
        }
        if !self.ranges.iter().any(|range| range.contains(&address)) {
            return Err(());
        }
        let mut word = [0; 8];
        let read = memory.read_exact_at(&mut word, address);
        let word = read.ok().map(|()| u64::from_ne_bytes(word));
        if self.words.len() >= WORDS_MOST {
            self.words.clear();
        }
        self.words.insert(address, word);
        word.ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_read_and_nothing_else() {
        let mut code = CodeReader::new(std::process::id().cast_signed());
        let word = Box::new(7_u64);
        let address = std::ptr::from_ref(&*word).addr() as u64;
        assert_eq!(code.read(address), Err(()));
        code.map(address..address + 8);
        assert_eq!(code.read(address), Ok(7));
    }
}
