//! Numbers of others: tables, files of other tools, outputs of programs.

use backsight_catalog::{
    Catalog, JsonDocument, Parsers, Query, known_counters,
    sampled_series::{SampledSeries, sampler_faults, split_by_sampler},
};
use backsight_exchange::{
    import::{ImportChoices, Importer, import},
    table::{ReadOptions, TableFormat, TableReader, TableRows, TableSource},
};
use backsight_model::{
    Benchmark, BenchmarkName, Ending, HostName, MonitorName, Phase, RoleName, StepOutput,
    StepRecord, TomlDocument,
};
use rustix::fs::{MemfdFlags, memfd_create};
use std::{
    fs::File,
    io::{Cursor, Write as _},
    os::fd::AsRawFd as _,
    path::PathBuf,
    sync::LazyLock,
};

use crate::{choice, named_first};

/// Rows that are looked at: what comes later is read as these are.
const ROWS: usize = 10_000;

/// CSV, TSV, JSON lines, numbers line by line, each asked for or found out.
pub(crate) fn tables(bytes: &[u8]) {
    const FORMATS: [Option<TableFormat>; 4] = [
        None,
        Some(TableFormat::Csv),
        Some(TableFormat::Tsv),
        Some(TableFormat::JsonLines),
    ];
    let Some((way, rest)) = choice(bytes, FORMATS.len() * 3) else {
        return;
    };
    let reading = ReadOptions {
        format: FORMATS[way % FORMATS.len()],
        header: [None, Some(true), Some(false)][way / FORMATS.len()],
    };
    let input = Cursor::new(rest.to_vec());
    if let Ok(table) = TableReader::from_lines(input, "fuzz", reading) {
        read_through(table);
    }
}

/// A Parquet file.
pub(crate) fn parquet(bytes: &[u8]) {
    let Some((_file, path)) = in_memory(bytes) else {
        return;
    };
    let reading = ReadOptions {
        format: Some(TableFormat::Parquet),
        header: None,
    };
    if let Ok(table) = TableReader::open(&TableSource::Path(path), reading) {
        read_through(table);
    }
}

fn read_through(table: TableReader) {
    let columns: Vec<usize> = (0..table.columns().len().min(64)).collect();
    if let Ok(rows) = table.rows(&columns) {
        read_rows(rows, columns.len());
    }
}

fn read_rows(mut rows: TableRows, columns: usize) {
    let mut text = String::new();
    for _ in 0..ROWS {
        let Ok(true) = rows.advance() else { return };
        for column in 0..columns {
            rows.field(column).write_to(&mut text);
            let _a_number_or_refused = rows.number(column);
        }
    }
}

static IMPORTERS: LazyLock<Vec<(String, Importer)>> = LazyLock::new(|| {
    let all = backsight_exchange::import::ImportFormat::all().unwrap_or_default();
    let found = all.into_iter().filter_map(|described| {
        let importer = Importer::find(&described.name).ok()??;
        Some((described.name, importer))
    });
    found.collect()
});

/// A file of a tool whose results can be imported: the importer's name, a line's end, the file. A name that none has stands
/// for one of them by its length: to try all of them with each input takes twenty times as long.
pub(crate) fn importers(bytes: &[u8]) {
    let (importer, rest) = named_first(bytes, &IMPORTERS);
    let Some((_file, path)) = in_memory(rest) else {
        return;
    };
    if let Some((_, importer)) = importer {
        let _imported_or_refused = import(
            importer,
            std::slice::from_ref(&path),
            &ImportChoices::default(),
        );
    }
}

/// A file of memory alone, and a path that leads to it as long as it is there.
fn in_memory(bytes: &[u8]) -> Option<(File, PathBuf)> {
    let mut file = File::from(memfd_create("fuzz", MemfdFlags::CLOEXEC).ok()?);
    file.write_all(bytes).ok()?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    Some((file, path))
}

/// A program in jq's language and, after a NUL, the document that it searches.
pub(crate) fn jq(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (Some(code), document) = (parts.next(), parts.next()) else {
        return;
    };
    let Ok(code) = std::str::from_utf8(code) else {
        return;
    };
    let search = || {
        let Ok(query) = Query::compile(code, []) else {
            return;
        };
        if let Ok(document) = JsonDocument::parse(document.unwrap_or(b"null")) {
            let _found_or_refused = query.found(&document, []);
        }
    };
    let _too_deep = backsight_catalog::with_deep_stack(search);
}

/// What a program printed, searched for samples in each of the ways that definitions have.
pub(crate) fn samples(bytes: &[u8]) {
    static PARSERS: LazyLock<Option<Parsers>> = LazyLock::new(|| {
        let document = TomlDocument::new("fuzz.toml", SAMPLES);
        let benchmark = Benchmark::read(&document).ok()?;
        Parsers::compile(&benchmark, &document).ok()
    });
    if let (Some(parsers), Some(step)) = (&*PARSERS, printed(bytes)) {
        let _found_or_refused = parsers.samples(&[step]);
    }
}

/// What samplers printed: the first line names the monitor, the others are split, read as its series, and made into its metrics and
/// the numbers of cross-checks.
pub(crate) fn sampled_series(bytes: &[u8]) {
    type NamedMonitors = Vec<(String, MonitorName)>;
    static CATALOG: LazyLock<Option<(Catalog, NamedMonitors)>> = LazyLock::new(|| {
        let catalog = Catalog::load(&[]).ok()?;
        let names = catalog.monitors().names().into_iter();
        let named = names.map(|name| (name.to_string(), name)).collect();
        Some((catalog, named))
    });
    let Some((catalog, monitors)) = &*CATALOG else {
        return;
    };
    let (Some((_, monitor)), rest) = named_first(bytes, monitors) else {
        return;
    };
    let _faults = sampler_faults(rest);
    for lines in split_by_sampler(rest, 3) {
        let Ok(benchmark) = BenchmarkName::new("iperf3-udp") else {
            return;
        };
        let steps: Option<Vec<StepRecord>> = ["client", "server"]
            .into_iter()
            .map(|role| {
                Some(StepRecord {
                    role: RoleName::new(role).ok()?,
                    monitor: Some(monitor.clone()),
                    ending: Ending::Stopped,
                    ..printed(&lines)?
                })
            })
            .collect();
        let Some(steps) = steps else { return };
        let (measured, _faults) = catalog.watched(&benchmark, &steps);
        assert!(
            measured.iter().all(|sample| !sample.value.is_nan()),
            "{measured:?}"
        );
        let _sentences = catalog.disagreements(&benchmark, &steps, &[]);
        if let (Ok(sampled), Ok(Some(monitor))) = (
            SampledSeries::read(&lines),
            catalog.monitors().find(monitor),
        ) {
            let _counters = known_counters(&monitor, &sampled);
        }
    }
}

/// The step of a trial that printed this.
fn printed(bytes: &[u8]) -> Option<StepRecord> {
    let (role, host) = (RoleName::new("tester").ok()?, HostName::new("host").ok()?);
    Some(StepRecord {
        stdout: StepOutput::whole(bytes),
        ..StepRecord::new(role, host, Phase::Run)
    })
}

/// A definition with a metric of each kind.
const SAMPLES: &str = r#"
name = "fuzz"
about = "a metric of each kind"
roles = ["tester"]
[tester]
run = "true"
[metric.matched]
unit = "s"
better = "lower"
regex = '(?<value>-?[\d.]+(e\d+)?)'
optional = true
[metric.searched]
unit = "s"
better = "lower"
json = ".. | numbers"
optional = true
"#;
