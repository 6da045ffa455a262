//! Names of functions that a program compiled while it ran, which it writes to `/tmp/perf-PID.map`: a line each of start, size, name.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read},
};

/// Most bytes of a map that are read.
const MAP_MOST: u64 = 256 << 20;

/// The functions of one process.
#[derive(Debug, Default)]
pub(crate) struct PerfMap {
    /// Start, end and name, by start; where several begin together, the last one that was written.
    functions: Vec<(u64, u64, String)>,
}

impl PerfMap {
    /// Reads the map of a process; it is empty where there is none. A process in a container wrote it there.
    pub fn read(pid: i32) -> Self {
        let name = format!("tmp/perf-{pid}.map");
        let places = [format!("/{name}"), format!("/proc/{pid}/root/{name}")];
        let opened = places.iter().find_map(|place| File::open(place).ok());
        opened.map_or_else(Self::default, Self::parse)
    }

    pub fn parse(map: impl Read) -> Self {
        let mut functions = Vec::new();
        let lines = BufReader::new(map.take(MAP_MOST)).split(b'\n');
        for line in lines.map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            let mut words = line.trim_end().splitn(3, ' ');
            let mut hex = || {
                let word = words.next()?;
                u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
            };
            if let (Some(start), Some(size)) = (hex(), hex())
                && let Some(name) = words.next()
            {
                functions.push((start, start.saturating_add(size), name.to_owned()));
            }
        }
        functions.reverse();
        functions.sort_by_key(|(start, ..)| *start);
        functions.dedup_by_key(|(start, ..)| *start);
        Self { functions }
    }

    /// The function at an address.
    pub fn function(&self, address: u64) -> Option<&str> {
        let behind = self
            .functions
            .partition_point(|(start, ..)| *start <= address);
        let (_, end, name) = self.functions[..behind].last()?;
        (address < *end).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_of_an_address_counts() {
        let map = "1000 20 py::old:a b.py\nnonsense\n0x1000 20 py::new:c d.py\n2000 8 other\n";
        let map = PerfMap::parse(map.as_bytes());
        assert_eq!(map.function(0x101f), Some("py::new:c d.py"));
        assert_eq!(map.function(0x1020), None);
        assert_eq!(map.function(0x2000), Some("other"));
        assert_eq!(map.function(0x10), None);
    }
}
