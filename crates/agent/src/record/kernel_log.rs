//! What the kernel says, as /dev/kmsg has it: a record is `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;MESSAGE`, then lines that begin with
//! a blank (Documentation/ABI/testing/dev-kmsg of Linux).

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;

use super::redaction;

/// The longest text that is given, bytes; what is newer counts more.
const LONGEST_TEXT: usize = 64 << 10;

/// The kernel refuses to give a longer record.
const LONGEST_RECORD: usize = 8192;

/// How far the kernel's messages were read.
#[derive(Debug, Default)]
pub(crate) struct KernelLog {
    /// The number of the last message that was read; none before the first look.
    last: Option<u64>,
}

impl KernelLog {
    /// What the kernel said since the last look, a line a message, with its time since boot and its level; nothing at the first look,
    /// and where it may not be read.
    pub(crate) fn news(&mut self) -> String {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(nix::libc::O_NONBLOCK);
        let Ok(mut file) = options.open("/dev/kmsg") else {
            return String::new();
        };
        let is_first_look = self.last.is_none();
        let news = self.read(|part| next_record(&mut file, part));
        match is_first_look {
            true => String::new(),
            false => news,
        }
    }

    fn read(&mut self, mut next: impl FnMut(&mut [u8]) -> Option<usize>) -> String {
        let mut part = vec![0; LONGEST_RECORD];
        let mut text = String::new();
        while let Some(length) = next(&mut part) {
            let record = String::from_utf8_lossy(&part[..length]);
            let Some((number, line)) = line_of(&record) else {
                continue;
            };
            if self.last.is_none_or(|last| number > last) {
                self.last = Some(number);
                text.push_str(&redaction::without_secrets("kernel", &line));
                text.push('\n');
            }
        }
        // A kernel that has said nothing yet has been looked at.
        self.last.get_or_insert(0);
        if text.len() > LONGEST_TEXT {
            let begin = text.ceil_char_boundary(text.len() - LONGEST_TEXT);
            let line = text[begin..]
                .find('\n')
                .map_or(begin, |end| begin + end + 1);
            text.drain(..line);
        }
        text
    }
}

/// Reads a record; none is left where it is `None`. One that was overwritten before it was read is passed over.
fn next_record(file: &mut File, part: &mut [u8]) -> Option<usize> {
    loop {
        match file.read(part) {
            Ok(0) => return None,
            Ok(length) => return Some(length),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(_) => return None,
        }
    }
}

/// A message's number, and the message on a line with its time and level.
fn line_of(record: &str) -> Option<(u64, String)> {
    const LEVELS: [&str; 8] = [
        "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug",
    ];
    let (head, rest) = record.split_once(';')?;
    let mut head = head.split(',');
    let priority: usize = head.next()?.parse().ok()?;
    let number = head.next()?.parse().ok()?;
    let microseconds: u64 = head.next()?.parse().ok()?;
    let message = rest.lines().next().unwrap_or_default();
    let (seconds, fraction) = (microseconds / 1_000_000, microseconds % 1_000_000);
    let level = LEVELS[priority % LEVELS.len()];
    Some((
        number,
        format!("[{seconds}.{fraction:06}] {level}: {message}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(log: &mut KernelLog, records: &[&str]) -> String {
        let mut records = records.iter();
        log.read(|part| {
            let record = records.next()?.as_bytes();
            part[..record.len()].copy_from_slice(record);
            Some(record.len())
        })
    }

    #[test]
    fn a_look_gives_what_was_said_since_the_last_one() {
        let mut log = KernelLog::default();
        let first = "6,0,0,-;Linux version 6.1\n";
        let second = "4,7,1500000,-;CPU0: Core temperature above threshold\n SUBSYSTEM=cpu\n";
        let third = "30,8,1500001,-;systemd: started\n";
        assert_eq!(
            read(&mut log, &[first]),
            "[0.000000] info: Linux version 6.1\n"
        );
        assert_eq!(read(&mut log, &[first]), "");
        let news = read(&mut log, &[first, "damaged", second, third]);
        let wanted = "[1.500000] warning: CPU0: Core temperature above threshold\n[1.500001] info: systemd: started\n";
        assert_eq!(news, wanted);
    }

    #[test]
    fn of_very_much_the_newest_is_given_in_whole_lines() {
        let records: Vec<String> = (0..2000)
            .map(|n| format!("4,{n},{n},-;{}\n", "x".repeat(100)))
            .collect();
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        let text = read(&mut KernelLog::default(), &records);
        assert!(text.len() <= LONGEST_TEXT, "{}", text.len());
        assert!(text.starts_with("[0.00"), "{}", &text[..40]);
        assert!(text.contains("[0.001999]"));
    }

    #[test]
    fn the_first_look_at_this_machine_says_nothing() {
        assert_eq!(KernelLog::default().news(), "");
    }
}
