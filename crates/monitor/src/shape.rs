//! The shapes that files of /proc have, and how each becomes names and numbers.
//!
//! A line that doesn't have the shape is left out, and so is a field that is no number.

use serde_json::{Map, Number, Value};

/// How a file of /proc is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `name value`, with perhaps a colon between them and a unit behind: /proc/vmstat, /proc/meminfo.
    Pairs,
    /// /proc/stat: processors by kind of time in ticks, then names with a number.
    Stat,
    /// /proc/loadavg: three means, running and all threads.
    Load,
    /// /proc/net/dev: an interface a line, columns named by position.
    Interfaces,
    /// /proc/net/snmp: a line of names and one of values, both after the protocol.
    Protocols,
    /// /proc/net/softnet_stat: a processor a line, hexadecimal columns.
    Softnet,
    /// /proc/interrupts and /proc/softirqs: a line an interrupt, a column a processor; their sum.
    PerProcessor,
    /// /proc/diskstats: a disk a line.
    Disks,
    /// /proc/pressure/*: `some` and `full` with means and a total; named after what is waited for.
    Pressure(&'static str),
}

/// Names of the times in /proc/stat, in the kernel's order (`man 5 proc_stat`).
const TIMES: &[&str] = &[
    "user",
    "nice",
    "system",
    "idle",
    "iowait",
    "irq",
    "softirq",
    "steal",
    "guest",
    "guest_nice",
];

/// Names of the columns in /proc/net/dev.
const INTERFACE: &[&str] = &[
    "rx_bytes",
    "rx_packets",
    "rx_errors",
    "rx_dropped",
    "rx_fifo",
    "rx_frame",
    "rx_compressed",
    "rx_multicast",
    "tx_bytes",
    "tx_packets",
    "tx_errors",
    "tx_dropped",
    "tx_fifo",
    "tx_collisions",
    "tx_carrier",
    "tx_compressed",
];

/// The columns of /proc/net/softnet_stat that every kernel has.
const SOFTNET: &[&str] = &["processed", "dropped", "squeezed"];

/// Names of the columns in /proc/diskstats after the disk's name (the kernel's admin-guide/iostats).
const DISK: &[&str] = &[
    "reads",
    "reads_merged",
    "sectors_read",
    "ms_reading",
    "writes",
    "writes_merged",
    "sectors_written",
    "ms_writing",
    "in_flight",
    "ms_busy",
    "ms_waited",
    "discards",
    "discards_merged",
    "sectors_discarded",
    "ms_discarding",
    "flushes",
    "ms_flushing",
];

impl Shape {
    /// Adds what a file of this shape says.
    pub(crate) fn read(self, text: &str, into: &mut Map<String, Value>) {
        match self {
            Self::Pairs => pairs(text, into),
            Self::Stat => stat(text, into),
            Self::Load => load(text, into),
            Self::Interfaces => interfaces(text, into),
            Self::Protocols => protocols(text, into),
            Self::Softnet => softnet(text, into),
            Self::PerProcessor => per_processor(text, into),
            Self::Disks => disks(text, into),
            Self::Pressure(of) => pressure(of, text, into),
        }
    }
}

/// A number as the kernel wrote it: whole where it is whole.
fn put(into: &mut Map<String, Value>, name: String, text: &str) {
    let whole = text.parse::<u64>().map(Number::from);
    let whole = whole.or_else(|_| text.parse::<i64>().map(Number::from));
    let number = whole.ok().or_else(|| {
        let number = text.parse::<f64>().ok()?;
        Number::from_f64(number)
    });
    if let Some(number) = number {
        into.insert(name, Value::Number(number));
    }
}

fn named(into: &mut Map<String, Value>, prefix: &str, names: &[&str], fields: &[&str]) {
    for (name, field) in names.iter().zip(fields) {
        put(into, format!("{prefix}.{name}"), field);
    }
}

fn pairs(text: &str, into: &mut Map<String, Value>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        if let (Some(name), Some(value)) = (words.next(), words.next()) {
            put(into, name.trim_end_matches(':').to_owned(), value);
        }
    }
}

fn stat(text: &str, into: &mut Map<String, Value>) {
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            [name, ref times @ ..] if name.starts_with("cpu") => named(into, name, TIMES, times),
            // The first number of these two is their sum.
            [name @ ("intr" | "softirq"), sum, ..] => put(into, name.to_owned(), sum),
            [name, value] => put(into, name.to_owned(), value),
            _ => {}
        }
    }
}

fn load(text: &str, into: &mut Map<String, Value>) {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    named(into, "load", &["1min", "5min", "15min"], &words);
    if let Some((running, all)) = words.get(3).and_then(|threads| threads.split_once('/')) {
        named(into, "threads", &["running", "all"], &[running, all]);
    }
}

fn interfaces(text: &str, into: &mut Map<String, Value>) {
    for line in text.lines() {
        // An interface's name has no colon at its end but this one.
        if let Some((name, rest)) = line.rsplit_once(':') {
            let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
            named(into, name.trim(), INTERFACE, &fields);
        }
    }
}

fn protocols(text: &str, into: &mut Map<String, Value>) {
    let lines: Vec<&str> = text.lines().collect();
    for both in lines.chunks_exact(2) {
        let (Some((of_names, names)), Some((of_values, values))) =
            (both[0].split_once(':'), both[1].split_once(':'))
        else {
            continue;
        };
        if of_names == of_values {
            let names: Vec<&str> = names.split_ascii_whitespace().collect();
            let values: Vec<&str> = values.split_ascii_whitespace().collect();
            named(into, of_names, &names, &values);
        }
    }
}

fn softnet(text: &str, into: &mut Map<String, Value>) {
    for (processor, line) in text.lines().enumerate() {
        for (name, field) in SOFTNET.iter().zip(line.split_ascii_whitespace()) {
            if let Ok(count) = u64::from_str_radix(field, 16) {
                into.insert(format!("softnet{processor}.{name}"), count.into());
            }
        }
    }
}

fn per_processor(text: &str, into: &mut Map<String, Value>) {
    let mut lines = text.lines();
    let processors = lines
        .next()
        .map_or(0, |header| header.split_ascii_whitespace().count());
    for line in lines {
        let Some((name, counts)) = line.split_once(':') else {
            continue;
        };
        let counts = counts.split_ascii_whitespace().take(processors);
        let counts: Vec<u64> = counts.map_while(|count| count.parse().ok()).collect();
        if !counts.is_empty() {
            let sum = counts.iter().fold(0_u64, |sum, n| sum.wrapping_add(*n));
            into.insert(name.trim().to_owned(), sum.into());
        }
    }
}

fn disks(text: &str, into: &mut Map<String, Value>) {
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let [_major, _minor, name, fields @ ..] = &words[..] {
            // Loop devices and RAM disks that nobody ever used say nothing.
            if fields.iter().any(|field| *field != "0") {
                named(into, name, DISK, fields);
            }
        }
    }
}

fn pressure(of: &str, text: &str, into: &mut Map<String, Value>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(share) = words.next() else { continue };
        for (name, value) in words.filter_map(|word| word.split_once('=')) {
            put(into, format!("{of}.{share}.{name}"), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const SHAPES: &[Shape] = &[
        Shape::Pairs,
        Shape::Stat,
        Shape::Load,
        Shape::Interfaces,
        Shape::Protocols,
        Shape::Softnet,
        Shape::PerProcessor,
        Shape::Disks,
        Shape::Pressure("cpu"),
    ];

    fn read(shape: Shape, text: &str) -> Value {
        let mut values = Map::new();
        shape.read(text, &mut values);
        Value::Object(values)
    }

    #[test]
    fn every_shape_is_read_as_the_kernel_writes_it() {
        for (shape, text, values) in [
            (
                Shape::Pairs,
                "MemTotal:       24684160 kB\nnr_free_pages 430\nodd\n",
                json!({"MemTotal": 24684160, "nr_free_pages": 430}),
            ),
            (
                Shape::Stat,
                "cpu  10 1 5 900\ncpu0 10 1 5 900\nintr 77 0 0\nctxt 5\n",
                json!({
                    "cpu.user": 10, "cpu.nice": 1, "cpu.system": 5, "cpu.idle": 900,
                    "cpu0.user": 10, "cpu0.nice": 1, "cpu0.system": 5, "cpu0.idle": 900,
                    "intr": 77, "ctxt": 5,
                }),
            ),
            (
                Shape::Load,
                "4.37 3.39 2.78 5/132 7137\n",
                json!({
                    "load.1min": 4.37, "load.5min": 3.39, "load.15min": 2.78,
                    "threads.running": 5, "threads.all": 132,
                }),
            ),
            (
                Shape::Interfaces,
                "Inter-| Receive\n face |bytes\n    lo: 157 91 0\n",
                json!({"lo.rx_bytes": 157, "lo.rx_packets": 91, "lo.rx_errors": 0}),
            ),
            (
                Shape::Protocols,
                "Tcp: MaxConn InSegs\nTcp: -1 7\nOdd: A\nOther: 1\n",
                json!({"Tcp.MaxConn": -1, "Tcp.InSegs": 7}),
            ),
            (
                Shape::Softnet,
                "0000000f 00000000 00000018 00000000\n",
                json!({"softnet0.processed": 15, "softnet0.dropped": 0, "softnet0.squeezed": 24}),
            ),
            (
                Shape::PerProcessor,
                "      CPU0   CPU1\n 24:  1  2  IO-APIC 5-edge\nLOC: 10 20 Local timer\nERR: 3\nMIS: x\n",
                json!({"24": 3, "LOC": 30, "ERR": 3}),
            ),
            (
                Shape::Disks,
                "   7 0 loop0 0 0 0\n 254 0 vda 12 3 96 4\n",
                json!({"vda.reads": 12, "vda.reads_merged": 3, "vda.sectors_read": 96, "vda.ms_reading": 4}),
            ),
            (
                Shape::Pressure("io"),
                "some avg10=93.89 total=19\n",
                json!({"io.some.avg10": 93.89, "io.some.total": 19}),
            ),
        ] {
            assert_eq!(read(shape, text), values, "{shape:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_file_says_is_read_or_left_out(text in "[ -~\\n\u{e9}]{0,400}") {
            for shape in SHAPES {
                let values = read(*shape, &text);
                prop_assert!(values.as_object().unwrap().values().all(Value::is_number));
            }
        }
    }
}
