//! The shapes that files of /proc have, and how each becomes names and numbers.
//!
//! A line that doesn't have the shape is left out, and so is a field that is no number.

use crate::series::Series;

/// Names of the times in /proc/stat, in the kernel's order (`man 5 proc_stat`); the unit is a tick, 1/100 s.
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

/// The columns of /proc/net/softnet_stat with their places (the kernel's net/core/net-procfs.c); what is between them is unused.
const SOFTNET: &[(&str, usize)] = &[
    ("processed", 0),
    ("dropped", 1),
    ("squeezed", 2),
    ("received_rps", 9),
    ("flow_limit", 10),
    ("backlog", 11),
];
/// The column with the processor's number, where there is one (Linux 5.10).
const SOFTNET_PROCESSOR: usize = 12;

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

/// Names of a processor's columns in /proc/schedstat (the kernel's scheduler/sched-stats); times are in nanoseconds. The second is
/// always 0.
const SCHEDULER: &[&str] = &[
    "yields",
    "",
    "schedules",
    "goes_idle",
    "wakeups",
    "wakeups_local",
    "run_ns",
    "wait_ns",
    "slices",
];

/// The lines of a text without their ends.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
}

/// The words of a line.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

/// A whole number of decimal digits. More than 63 bits wrap.
pub(crate) fn number(word: &[u8]) -> Option<i64> {
    let (negative, digits) = match word {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let mut value = 0_u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
    }
    let value = value.cast_signed();
    Some(if negative {
        value.wrapping_neg()
    } else {
        value
    })
}

/// A number with two decimals, times 100.
fn hundredths(word: &[u8]) -> Option<i64> {
    let at = word.iter().position(|byte| *byte == b'.')?;
    let decimals = word.get(at + 1..).filter(|decimals| decimals.len() == 2)?;
    Some(number(&word[..at])? * 100 + number(decimals)?)
}

/// Both sides of the first such byte.
fn split_at_byte(line: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|b| *b == byte)?;
    Some((&line[..at], &line[at + 1..]))
}

/// A part of a name, `_` in place of its dots, which would make two parts of it. What is longer than any name of the kernel's is cut.
pub(crate) struct NamePart {
    bytes: [u8; 64],
    length: usize,
}

impl NamePart {
    pub(crate) fn new(name: &[u8]) -> Self {
        let mut part = Self {
            bytes: [0; 64],
            length: name.len().min(64),
        };
        for (to, from) in part.bytes.iter_mut().zip(name) {
            *to = if *from == b'.' { b'_' } else { *from };
        }
        part
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Columns with their names.
fn columns<'a>(
    prefix: &[u8],
    names: &[&str],
    fields: impl Iterator<Item = &'a [u8]>,
    series: &mut Series,
) {
    for (name, field) in names.iter().zip(fields) {
        if !name.is_empty()
            && let Some(value) = number(field)
        {
            series.push(&[prefix, b".", name.as_bytes()], value);
        }
    }
}

/// `name value`, with perhaps a colon between them and a unit behind: /proc/vmstat, /proc/meminfo, /proc/net/snmp6.
pub(crate) fn pairs(text: &[u8], series: &mut Series) {
    prefixed_pairs(b"", text, series);
}

/// The same with a prefix to its names: files of cgroups and of nodes.
pub(crate) fn prefixed_pairs(prefix: &[u8], text: &[u8], series: &mut Series) {
    for line in lines(text) {
        let mut words = words(line);
        if let (Some(name), Some(value)) = (words.next(), words.next().and_then(number)) {
            series.push(&[prefix, name.strip_suffix(b":").unwrap_or(name)], value);
        }
    }
}

/// One number and nothing else.
pub(crate) fn single(name: &[u8], text: &[u8], series: &mut Series) {
    if let Some(value) = number(text.trim_ascii()) {
        series.push(&[name], value);
    }
}

/// io.stat of a cgroup: `8:0 rbytes=1 wbytes=2`, a disk a line.
pub(crate) fn cgroup_io(text: &[u8], series: &mut Series) {
    for line in lines(text) {
        let mut words = words(line);
        let Some(disk) = words.next() else { continue };
        for (name, value) in words.filter_map(|word| split_at_byte(word, b'=')) {
            if let Some(value) = number(value) {
                series.push(&[b"io.", disk, b".", name], value);
            }
        }
    }
}

/// blkio.throttle.* of a cgroup of version 1: `8:0 Read 1`, a disk and a kind a line.
pub(crate) fn cgroup_blkio(prefix: &[u8], text: &[u8], series: &mut Series) {
    for line in lines(text) {
        let mut words = words(line);
        if let (Some(disk), Some(kind), Some(value)) =
            (words.next(), words.next(), words.next().and_then(number))
        {
            series.push(&[prefix, disk, b".", kind], value);
        }
    }
}

/// /proc/stat: processors by kind of time in ticks, then names with a number.
pub(crate) fn stat(text: &[u8], series: &mut Series) {
    for line in lines(text) {
        let mut words = words(line);
        let Some(name) = words.next() else { continue };
        if name.starts_with(b"cpu") {
            columns(name, TIMES, words, series);
        } else if let Some(value) = words.next().and_then(number) {
            // The first number of the lists `intr` and `softirq` is their sum.
            series.push(&[name], value);
        }
    }
}

/// What /proc/stat says of scheduling.
pub(crate) fn switches(text: &[u8], series: &mut Series) {
    const NAMES: &[&[u8]] = &[b"ctxt", b"processes", b"procs_running", b"procs_blocked"];
    for line in lines(text) {
        let mut words = words(line);
        if let Some(name) = words.next().filter(|name| NAMES.contains(name))
            && let Some(value) = words.next().and_then(number)
        {
            series.push(&[name], value);
        }
    }
}

/// /proc/loadavg: three means, running and all threads, the last process number.
pub(crate) fn load(text: &[u8], series: &mut Series) {
    let mut words = words(text);
    for name in ["1min", "5min", "15min"] {
        if let Some(value) = words.next().and_then(hundredths) {
            series.push(&[b"load.", name.as_bytes(), b".hundredths"], value);
        }
    }
    if let Some((running, all)) = words
        .next()
        .and_then(|threads| split_at_byte(threads, b'/'))
    {
        columns(
            b"threads",
            &["running", "all"],
            [running, all].into_iter(),
            series,
        );
    }
}

/// /proc/net/dev: an interface a line, columns named by position.
pub(crate) fn interfaces(text: &[u8], series: &mut Series) {
    for line in lines(text) {
        // An interface's name may have a colon, but none at its end but this one.
        if let Some(at) = line.iter().rposition(|byte| *byte == b':') {
            let name = NamePart::new(line[..at].trim_ascii());
            columns(name.as_bytes(), INTERFACE, words(&line[at + 1..]), series);
        }
    }
}

/// /proc/net/snmp, netstat: a line of names and one of values, both after the protocol.
pub(crate) fn protocols(text: &[u8], series: &mut Series) {
    let mut lines = lines(text);
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((protocol, names)), Some((of_values, values))) =
            (split_at_byte(names, b':'), split_at_byte(values, b':'))
        else {
            continue;
        };
        if protocol != of_values {
            continue;
        }
        for (name, value) in words(names).zip(words(values)) {
            if let Some(value) = number(value) {
                series.push(&[protocol, b".", name], value);
            }
        }
    }
}

/// /proc/net/softnet_stat: a processor a line, hexadecimal columns.
pub(crate) fn softnet(text: &[u8], series: &mut Series) {
    let hexadecimal = |word: &[u8]| i64::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok();
    let mut digits = itoa::Buffer::new();
    for (processor, line) in (0..).zip(lines(text)) {
        let column = |place| words(line).nth(place).and_then(hexadecimal);
        let processor = digits.format(column(SOFTNET_PROCESSOR).unwrap_or(processor));
        for (name, place) in SOFTNET {
            if let Some(count) = column(*place) {
                series.push(
                    &[b"softnet", processor.as_bytes(), b".", name.as_bytes()],
                    count,
                );
            }
        }
    }
}

/// /proc/interrupts and /proc/softirqs: a line an interrupt, a column a processor; their sum.
pub(crate) fn per_processor(prefix: &[u8], text: &[u8], series: &mut Series) {
    let mut lines = lines(text);
    let processors = lines.next().map_or(0, |header| words(header).count());
    for line in lines {
        let Some((name, counts)) = split_at_byte(line, b':') else {
            continue;
        };
        let counts = words(counts).take(processors).map_while(number);
        let sum = counts.fold(None, |sum: Option<i64>, count| {
            Some(sum.unwrap_or(0).wrapping_add(count))
        });
        if let Some(sum) = sum {
            series.push(&[prefix, name.trim_ascii()], sum);
        }
    }
}

/// /proc/diskstats: a disk or partition a line. Partitions are told by their names: a disk's comes before.
pub(crate) fn disks(text: &[u8], series: &mut Series) {
    let mut disk: &[u8] = b"";
    for line in lines(text) {
        let mut words = words(line).skip(2);
        let Some(name) = words.next() else { continue };
        // Loop devices and RAM disks that nobody ever used say nothing.
        if words.clone().all(|field| field == b"0") {
            continue;
        }
        let part = NamePart::new(name);
        if is_partition(name, disk) {
            series_of_partition(part.as_bytes(), words, series);
        } else {
            disk = name;
            columns(part.as_bytes(), DISK, words, series);
        }
    }
}

/// Partitions have three parts in their names, so that sums over `*.reads` are of disks.
fn series_of_partition<'a>(
    name: &[u8],
    fields: impl Iterator<Item = &'a [u8]>,
    series: &mut Series,
) {
    for (column, field) in DISK.iter().zip(fields) {
        if let Some(value) = number(field) {
            series.push(&[b"partition.", name, b".", column.as_bytes()], value);
        }
    }
}

/// `sda1` is a partition of `sda`, `nvme0n1p2` of `nvme0n1`; `dm-12` is none of `dm-1`, nor `loop10` of `loop1`.
fn is_partition(name: &[u8], disk: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(disk) else {
        return false;
    };
    let ends_in_digit = disk.last().is_some_and(u8::is_ascii_digit);
    let digits = match (ends_in_digit, rest) {
        (true, [b'p', digits @ ..]) => digits,
        (true, _) => return false,
        (false, digits) => digits,
    };
    !disk.is_empty() && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// /proc/pressure/*: `some` and `full` with means in percent and a total in microseconds.
pub(crate) fn pressure(prefix: &[u8], text: &[u8], series: &mut Series) {
    for line in lines(text) {
        let mut words = words(line);
        let Some(share) = words.next() else { continue };
        for (name, value) in words.filter_map(|word| split_at_byte(word, b'=')) {
            if let Some(value) = number(value) {
                series.push(&[prefix, share, b".", name], value);
            } else if let Some(value) = hundredths(value) {
                series.push(&[prefix, share, b".", name, b".hundredths"], value);
            }
        }
    }
}

/// /proc/schedstat: what every processor's scheduler did; what it says of domains differs from kernel to kernel and is left out.
pub(crate) fn schedstat(text: &[u8], series: &mut Series) {
    for line in lines(text).filter(|line| line.starts_with(b"cpu")) {
        let mut words = words(line);
        let Some(name) = words.next() else { continue };
        columns(name, SCHEDULER, words, series);
    }
}

/// /proc/slabinfo 2.1: a cache a line; objects in use, all objects, and the pages that they are in.
pub(crate) fn slabs(text: &[u8], series: &mut Series) {
    for line in lines(text) {
        let mut words = words(line);
        let Some(name) = words.next().map(NamePart::new) else {
            continue;
        };
        let mut numbers = words.by_ref().map_while(number);
        let (Some(active), Some(all)) = (numbers.next(), numbers.next()) else {
            continue;
        };
        let pages_a_slab = numbers.nth(2);
        series.push(&[name.as_bytes(), b".active"], active);
        series.push(&[name.as_bytes(), b".objects"], all);
        let slabs = words.skip_while(|word| *word != b"slabdata").nth(2);
        if let (Some(pages), Some(slabs)) = (pages_a_slab, slabs.and_then(number)) {
            series.push(&[name.as_bytes(), b".pages"], pages.wrapping_mul(slabs));
        }
    }
}

/// `Node 0, zone   Normal` at the beginning of a line: the node, the zone, and the words after them.
fn zone_of(line: &[u8]) -> Option<(&[u8], &[u8], impl Iterator<Item = &[u8]>)> {
    let mut words = words(line);
    if words.next() != Some(b"Node") {
        return None;
    }
    let node = words.next()?;
    let node = node.strip_suffix(b",").unwrap_or(node);
    if words.next() != Some(b"zone") {
        return None;
    }
    let zone = words.next()?;
    Some((node, zone.strip_suffix(b",").unwrap_or(zone), words))
}

/// Numbers of a line that are named by their place: free blocks of 1, 2, 4, … pages.
fn orders<'a>(name: &[&[u8]], numbers: impl Iterator<Item = &'a [u8]>, series: &mut Series) {
    let mut digits = itoa::Buffer::new();
    for (order, blocks) in (0..).zip(numbers) {
        // What is too many to be counted is written `>100000`.
        let blocks = number(blocks.strip_prefix(b">").unwrap_or(blocks));
        if let (Some(blocks), [node, zone, kind]) = (blocks, name) {
            let order = digits.format(order).as_bytes();
            series.push(&[b"node", node, b"-", zone, kind, b".order", order], blocks);
        }
    }
}

/// /proc/buddyinfo: free blocks by zone and order.
pub(crate) fn free_blocks(text: &[u8], series: &mut Series) {
    for (node, zone, words) in lines(text).filter_map(zone_of) {
        orders(&[node, zone, b""], words, series);
    }
}

/// /proc/pagetypeinfo: free blocks by zone, migrate type and order; all blocks by zone and migrate type.
pub(crate) fn migrate_types(text: &[u8], series: &mut Series) {
    let mut types: Option<&[u8]> = None;
    for line in lines(text) {
        if line.starts_with(b"Number of blocks type") {
            types = Some(&line[b"Number of blocks type".len()..]);
        }
        let Some((node, zone, mut fields)) = zone_of(line) else {
            continue;
        };
        if let Some(types) = types {
            for (kind, blocks) in words(types).zip(fields) {
                if let Some(blocks) = number(blocks) {
                    series.push(&[b"node", node, b"-", zone, b"-", kind, b".blocks"], blocks);
                }
            }
        } else if fields.next() == Some(b"type")
            && let Some(kind) = fields.next()
        {
            let mut name = [0; 64];
            let kind = &kind[..kind.len().min(63)];
            name[0] = b'-';
            name[1..=kind.len()].copy_from_slice(kind);
            orders(&[node, zone, &name[..=kind.len()]], fields, series);
        }
    }
}

/// /proc/zoneinfo: numbers of nodes and of zones; those of single processors are left out.
pub(crate) fn zones(text: &[u8], series: &mut Series) {
    let mut zone: Option<(&[u8], &[u8])> = None;
    let mut of_node = false;
    for line in lines(text) {
        if let Some((node, name, _)) = zone_of(line) {
            zone = Some((node, name));
            of_node = false;
            continue;
        }
        let mut words = words(line);
        let (Some((node, name)), Some(mut word)) = (zone, words.next()) else {
            continue;
        };
        match word {
            b"per-node" => of_node = true,
            b"pagesets" => zone = None,
            b"pages" => {
                of_node = false;
                word = words.next().unwrap_or_default();
            }
            _ => {}
        }
        // One number, and nothing behind it.
        if let (Some(value), None) = (words.next().and_then(number), words.next()) {
            match of_node {
                true => series.push(&[b"node", node, b".", word], value),
                false => series.push(&[b"node", node, b"-", name, b".", word], value),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::ReadShape;
    use proptest::prelude::*;

    const SHAPES: &[ReadShape] = &[
        pairs,
        stat,
        switches,
        load,
        interfaces,
        protocols,
        softnet,
        |text, series| per_processor(b"irq.", text, series),
        disks,
        |text, series| pressure(b"io.", text, series),
        schedstat,
        slabs,
        free_blocks,
        migrate_types,
        zones,
        cgroup_io,
        |text, series| cgroup_blkio(b"bytes.", text, series),
    ];

    fn read(shape: ReadShape, text: &[u8]) -> Vec<(String, i64)> {
        let mut series = Series::default();
        series.begin();
        shape(text, &mut series);
        series.end();
        let names = series
            .names()
            .map(|name| String::from_utf8_lossy(name).into_owned());
        names.zip(series.values().iter().copied()).collect()
    }

    #[track_caller]
    fn is_read(shape: ReadShape, text: &str, wanted: &[(&str, i64)]) {
        let wanted: Vec<(String, i64)> = wanted
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect();
        assert_eq!(read(shape, text.as_bytes()), wanted);
    }

    #[test]
    fn pairs_may_have_a_colon_and_a_unit() {
        is_read(
            pairs,
            "MemTotal:       24684160 kB\nnr_free_pages 430\nodd\nhuge 18446744073709551615\n",
            &[
                ("MemTotal", 24_684_160),
                ("nr_free_pages", 430),
                ("huge", -1),
            ],
        );
    }

    #[test]
    fn the_times_of_processors_have_names() {
        let text =
            "cpu  10 1 5 900\ncpu0 10 1 5 900\nintr 77 0 0\nctxt 5\nbtime 3\nprocs_running 2\n";
        is_read(
            stat,
            text,
            &[
                ("cpu.user", 10),
                ("cpu.nice", 1),
                ("cpu.system", 5),
                ("cpu.idle", 900),
                ("cpu0.user", 10),
                ("cpu0.nice", 1),
                ("cpu0.system", 5),
                ("cpu0.idle", 900),
                ("intr", 77),
                ("ctxt", 5),
                ("btime", 3),
                ("procs_running", 2),
            ],
        );
        is_read(switches, text, &[("ctxt", 5), ("procs_running", 2)]);
    }

    #[test]
    fn loads_are_scaled() {
        is_read(
            load,
            "4.37 13.09 2.78 5/132 7137\n",
            &[
                ("load.1min.hundredths", 437),
                ("load.5min.hundredths", 1309),
                ("load.15min.hundredths", 278),
                ("threads.running", 5),
                ("threads.all", 132),
            ],
        );
    }

    #[test]
    fn an_interface_is_one_part_of_a_name() {
        is_read(
            interfaces,
            "Inter-| Receive\n face |bytes\n    lo: 157 91 0\neth0.7: 1\n",
            &[
                ("lo.rx_bytes", 157),
                ("lo.rx_packets", 91),
                ("lo.rx_errors", 0),
                ("eth0_7.rx_bytes", 1),
            ],
        );
        is_read(
            protocols,
            "Tcp: MaxConn InSegs\nTcp: -1 7\nOdd: A\nOther: 1\n",
            &[("Tcp.MaxConn", -1), ("Tcp.InSegs", 7)],
        );
    }

    #[test]
    fn receive_queues_are_those_of_the_processors_that_they_name() {
        is_read(
            softnet,
            "0000000f 00000000 00000018\n",
            &[
                ("softnet0.processed", 15),
                ("softnet0.dropped", 0),
                ("softnet0.squeezed", 24),
            ],
        );
        is_read(
            softnet,
            "1 2 3 0 0 0 0 0 0 4 5 6 00000007 0 0\n",
            &[
                ("softnet7.processed", 1),
                ("softnet7.dropped", 2),
                ("softnet7.squeezed", 3),
                ("softnet7.received_rps", 4),
                ("softnet7.flow_limit", 5),
                ("softnet7.backlog", 6),
            ],
        );
    }

    #[test]
    fn interrupts_are_summed_over_processors() {
        is_read(
            |text, series| per_processor(b"irq.", text, series),
            "      CPU0   CPU1\n 24:  1  2  IO-APIC 5-edge\nLOC: 10 20 Local timer\nERR: 3\nMIS: x\n",
            &[("irq.24", 3), ("irq.LOC", 30), ("irq.ERR", 3)],
        );
    }

    #[test]
    fn partitions_are_told_from_disks() {
        is_read(
            disks,
            "   7 0 loop0 0 0 0\n 8 0 sda 12 3\n 8 1 sda1 5 0\n 259 0 nvme0n1 1\n 259 1 nvme0n1p1 2\n 253 1 dm-1 1\n 253 12 dm-12 1\n",
            &[
                ("sda.reads", 12),
                ("sda.reads_merged", 3),
                ("partition.sda1.reads", 5),
                ("partition.sda1.reads_merged", 0),
                ("nvme0n1.reads", 1),
                ("partition.nvme0n1p1.reads", 2),
                ("dm-1.reads", 1),
                ("dm-12.reads", 1),
            ],
        );
    }

    #[test]
    fn pressure_has_hundredths_of_a_percent() {
        is_read(
            |text, series| pressure(b"io.", text, series),
            "some avg10=93.89 total=19\n",
            &[("io.some.avg10.hundredths", 9389), ("io.some.total", 19)],
        );
    }

    #[test]
    fn schedulers_are_read_without_their_domains() {
        is_read(
            schedstat,
            "version 17\ntimestamp 4\ncpu0 1 0 2 3 4 5 600 700 8\ndomain0 SMT 3 1 2\n",
            &[
                ("cpu0.yields", 1),
                ("cpu0.schedules", 2),
                ("cpu0.goes_idle", 3),
                ("cpu0.wakeups", 4),
                ("cpu0.wakeups_local", 5),
                ("cpu0.run_ns", 600),
                ("cpu0.wait_ns", 700),
                ("cpu0.slices", 8),
            ],
        );
    }

    #[test]
    fn disks_of_cgroups_are_named_by_their_numbers() {
        is_read(
            cgroup_io,
            "8:0 rbytes=1 wbytes=2\n8:16 \n",
            &[("io.8:0.rbytes", 1), ("io.8:0.wbytes", 2)],
        );
        is_read(
            |text, series| cgroup_blkio(b"bytes.", text, series),
            "8:0 Read 5\nTotal 5\n",
            &[("bytes.8:0.Read", 5)],
        );
    }

    #[test]
    fn slabs_have_objects_and_pages() {
        is_read(
            slabs,
            "slabinfo - version: 2.1\n# name <active_objs>\n\
             TCPv6 3 12 2432 13 8 : tunables 0 0 0 : slabdata 2 2 0\n",
            &[
                ("TCPv6.active", 3),
                ("TCPv6.objects", 12),
                ("TCPv6.pages", 16),
            ],
        );
    }

    #[test]
    fn memory_is_read_by_zone() {
        is_read(
            free_blocks,
            "Node 0, zone      DMA      1      0 \n",
            &[("node0-DMA.order0", 1), ("node0-DMA.order1", 0)],
        );
        is_read(
            migrate_types,
            "Page block order: 9\nFree pages count per migrate type at order 0 1\n\
             Node    0, zone      DMA, type    Unmovable      >100000      2 \n\n\
             Number of blocks type     Unmovable      Movable \nNode 0, zone      DMA            1     7 \n",
            &[
                ("node0-DMA-Unmovable.order0", 100_000),
                ("node0-DMA-Unmovable.order1", 2),
                ("node0-DMA-Unmovable.blocks", 1),
                ("node0-DMA-Movable.blocks", 7),
            ],
        );
        is_read(
            zones,
            "Node 0, zone      DMA\n  per-node stats\n      nr_dirty 4\n  pages free     3840\n        min      10\n\
             \x20       protection: (0, 2, 3)\n      nr_mlock 1\n  pagesets\n    cpu: 0\n              count: 1\n\
             Node 0, zone   Normal\n  pages free     1\n",
            &[
                ("node0.nr_dirty", 4),
                ("node0-DMA.free", 3840),
                ("node0-DMA.min", 10),
                ("node0-DMA.nr_mlock", 1),
                ("node0-Normal.free", 1),
            ],
        );
    }

    /// What lines of these files are made of, and what breaks them.
    const PIECES: &[&str] = &[
        "Node 0, zone ",
        "type ",
        "Number of blocks type",
        "per-node",
        "pages",
        "pagesets",
        "\n",
        " ",
        ":",
        "cpu",
        "sda",
        "17",
        "99999999999999999999",
        "-",
        "0.25",
        "=",
        "slabdata",
        "\u{e9}",
    ];

    proptest! {
        #[test]
        fn whatever_a_file_says_is_read_or_left_out(
            pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60),
        ) {
            for shape in SHAPES {
                read(*shape, pieces.concat().as_bytes());
            }
        }
    }
}
