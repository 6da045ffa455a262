//! Parquet files of every layout that is read: what was written comes back, and a damaged one ends in rows or in an error,
//! in bounded memory.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_exchange::table::{ReadOptions, TableError, TableField, TableReader, TableSource};
use parquet::{
    basic::{Compression, Encoding},
    data_type::{
        BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
    },
    file::{
        properties::{WriterProperties, WriterVersion},
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::{parser::parse_message_type, types::ColumnPath},
};
use proptest::prelude::*;
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    path::Path,
    sync::{Arc, LazyLock},
};

/// Counts what a thread holds, and the most that it has held.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let held = HELD.get() + bytes;
    HELD.set(held);
    MOST.set(MOST.get().max(held));
}

// SAFETY: All is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: As the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: As the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: As the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.cast_signed() - layout.size().cast_signed());
        // SAFETY: As the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a file of some tens of KiB may need.
const MOST_HELD: isize = 64 << 20;

const SCHEMA: &str = "message t {
    optional boolean truth;
    required int32 short;
    optional int32 day (DATE);
    optional int64 long;
    required int64 at (TIMESTAMP_MICROS);
    optional float single;
    optional double x;
    optional binary name (STRING);
    required binary same (STRING);
    optional group deep { optional double y; }
}";

/// How a file is written.
#[derive(Debug, Clone, Copy)]
struct Way {
    version: WriterVersion,
    dictionary: bool,
    compression: Compression,
    /// Of whole numbers, of numbers with a fraction, of texts.
    encodings: [Encoding; 3],
}

fn ways() -> Vec<Way> {
    let mut ways = Vec::new();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for compression in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::ZSTD(Default::default()),
        ] {
            for (dictionary, encodings) in [
                (true, [Encoding::PLAIN; 3]),
                (false, [Encoding::PLAIN; 3]),
                (
                    false,
                    [
                        Encoding::DELTA_BINARY_PACKED,
                        Encoding::BYTE_STREAM_SPLIT,
                        Encoding::DELTA_LENGTH_BYTE_ARRAY,
                    ],
                ),
                (
                    false,
                    [
                        Encoding::BYTE_STREAM_SPLIT,
                        Encoding::PLAIN,
                        Encoding::DELTA_BYTE_ARRAY,
                    ],
                ),
            ] {
                ways.push(Way {
                    version,
                    dictionary,
                    compression,
                    encodings,
                });
            }
        }
    }
    ways
}

/// Of each row and column what a reader is to give; none where it is missing.
type Rows = Vec<Vec<Option<String>>>;

/// Writes so many rows into row groups of at most `group`.
fn write(way: Way, rows: usize, group: usize) -> (Vec<u8>, Rows) {
    let path = ColumnPath::from;
    let [whole, fraction, text] = way.encodings;
    let mut properties = WriterProperties::builder()
        .set_writer_version(way.version)
        .set_compression(way.compression)
        .set_dictionary_enabled(way.dictionary)
        .set_data_page_row_count_limit(64)
        .set_write_batch_size(32);
    if !way.dictionary {
        for (columns, encoding) in [
            (&["short", "day", "long", "at"][..], whole),
            (&["single", "x", "deep.y"], fraction),
            (&["name", "same"], text),
        ] {
            for column in columns {
                let parts = column.split('.').map(str::to_owned).collect::<Vec<_>>();
                properties = properties.set_column_encoding(ColumnPath::new(parts), encoding);
            }
        }
        // Truths in runs are for data pages of the second version.
        properties = properties.set_column_encoding(path("truth"), Encoding::PLAIN);
    }
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = Arc::new(properties.build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    let mut told: Rows = vec![Vec::new(); rows];
    for begins in (0..rows).step_by(group) {
        let numbers: Vec<i64> = (begins..rows.min(begins + group))
            .map(|i| i as i64)
            .collect();
        let told = &mut told[begins..][..numbers.len()];
        let mut group = file.next_row_group().unwrap();
        let some = |every: i64| move |i: i64| i % every != 0;
        let all = |_| true;
        let truth = |i: i64| i % 7 < 3;
        column::<BoolType>(&mut group, &numbers, told, 1, some(5), truth, |truth| {
            truth.to_string()
        });
        let short = |i: i64| (i * 7919 % 1000 - 500) as i32;
        column::<Int32Type>(&mut group, &numbers, told, 0, all, short, |x| x.to_string());
        let day = |i: i64| (i % 3) as i32;
        column::<Int32Type>(&mut group, &numbers, told, 1, some(4), day, |day| {
            format!("1970-01-0{}", day + 1)
        });
        let long = |i: i64| i.wrapping_mul(0x5851_f42d_4c95_7f2d) >> (i % 60);
        column::<Int64Type>(&mut group, &numbers, told, 1, some(9), long, |x| {
            x.to_string()
        });
        let at = |i: i64| i * 1_000_000;
        column::<Int64Type>(&mut group, &numbers, told, 0, all, at, |at| {
            jiff::Timestamp::from_microsecond(*at).unwrap().to_string()
        });
        let single = |i: i64| i as f32 / 8.0;
        column::<FloatType>(&mut group, &numbers, told, 1, some(3), single, |x| {
            x.to_string()
        });
        let x = |i: i64| (i % 10) as f64 / 3.0;
        column::<DoubleType>(&mut group, &numbers, told, 1, some(2), x, |x| x.to_string());
        let name = |i: i64| ByteArray::from(format!("name-é-{}", i * i % 97).as_str());
        let text = |text: &ByteArray| text.as_utf8().unwrap().to_owned();
        column::<ByteArrayType>(&mut group, &numbers, told, 1, some(6), name, text);
        let same = |_| ByteArray::from("the same");
        column::<ByteArrayType>(&mut group, &numbers, told, 0, all, same, text);
        let deep = |i: i64| i as f64;
        column::<DoubleType>(&mut group, &numbers, told, 2, some(8), deep, |x| {
            x.to_string()
        });
        group.close().unwrap();
    }
    (file.into_inner().unwrap(), told)
}

/// Writes a column, and tells what its cells are to be.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    numbers: &[i64],
    told: &mut [Vec<Option<String>>],
    defined: i16,
    present: impl Fn(i64) -> bool,
    value: impl Fn(i64) -> T::T,
    text: impl Fn(&T::T) -> String,
) {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for (&i, told) in numbers.iter().zip(told) {
        if present(i) {
            let value = value(i);
            told.push(Some(text(&value)));
            values.push(value);
            levels.push(defined);
        } else {
            told.push(None);
            levels.push(i as i16 % defined);
        }
    }
    let mut column = group.next_column().unwrap().unwrap();
    let levels = (defined > 0).then_some(&levels[..]);
    column
        .typed::<T>()
        .write_batch(&values, levels, None)
        .unwrap();
    column.close().unwrap();
}

fn read(path: &Path, most: usize) -> Result<Rows, TableError> {
    let table = TableReader::open(&TableSource::Path(path.to_owned()), ReadOptions::default())?;
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let mut rows = table.rows(&columns)?;
    let mut read = Rows::new();
    let mut text = String::new();
    while read.len() < most && rows.advance()? {
        let row = columns.iter().map(|&i| match rows.field(i) {
            TableField::Missing => None,
            field => {
                field.write_to(&mut text);
                Some(text.clone())
            }
        });
        read.push(row.collect());
    }
    Ok(read)
}

#[test]
fn every_layout_gives_back_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    for way in ways() {
        for (rows, group) in [(1, 1), (700, 300)] {
            let (file, told) = write(way, rows, group);
            std::fs::write(&path, file).unwrap();
            let read = read(&path, usize::MAX).unwrap_or_else(|error| panic!("{way:?}: {error}"));
            assert_eq!(read.len(), told.len(), "{way:?}");
            for (row, (read, told)) in read.iter().zip(&told).enumerate() {
                assert_eq!(read, told, "{way:?}, row {row}");
            }
        }
    }
}

/// Sound files, one of each layout.
static SOUND: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| ways().into_iter().map(|way| write(way, 90, 50).0).collect());

/// A change of a file.
#[derive(Debug, Clone)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Set(prop::sample::Index, u8),
    Number(prop::sample::Index, u64, usize),
    CutOut(prop::sample::Index, usize),
    Insert(prop::sample::Index, Vec<u8>),
    Truncate(prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    let edges = prop::sample::select(vec![0, 1, 0x7f, 0x80, 0xffff, 0x7fff_ffff, u64::MAX]);
    prop_oneof![
        4 => (at(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        4 => (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        2 => (at(), edges, 1..9_usize).prop_map(|(at, edge, width)| Damage::Number(at, edge, width)),
        1 => (at(), 1..40_usize).prop_map(|(at, length)| Damage::CutOut(at, length)),
        1 => (at(), prop::collection::vec(any::<u8>(), 1..12))
            .prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        1 => at().prop_map(Damage::Truncate),
    ]
}

impl Damage {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Flip(at, bit) => *at.get_mut(file) ^= 1 << bit,
            Self::Set(at, byte) => *at.get_mut(file) = *byte,
            Self::Number(at, number, width) => {
                let at = at.index(file.len());
                let bytes = &number.to_le_bytes()[..*width];
                for (to, byte) in file[at..].iter_mut().zip(bytes) {
                    *to = *byte;
                }
            }
            Self::CutOut(at, length) => {
                let at = at.index(file.len());
                file.drain(at..(at + length).min(file.len()));
            }
            Self::Insert(at, bytes) => {
                let at = at.index(file.len());
                file.splice(at..at, bytes.iter().copied());
            }
            // The footer is kept: without it nothing is read.
            Self::Truncate(at) => {
                let end = file.len().saturating_sub(8);
                let footer = file[end..]
                    .first_chunk()
                    .map_or(0, |n| u32::from_le_bytes(*n));
                let begins = end.saturating_sub(footer as usize);
                let at = at.index(begins + 1);
                file.drain(at..begins);
            }
        }
        if file.is_empty() {
            file.push(0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]
    #[test]
    fn a_damaged_file_ends_in_rows_or_an_error_in_bounded_memory(
        sound in any::<prop::sample::Index>(),
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let mut file = sound.get(&SOUND[..]).clone();
        for damage in &damages {
            damage.apply(&mut file);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        std::fs::write(&path, file).unwrap();
        let before = HELD.get();
        MOST.set(before);
        if let Err(error) = read(&path, 20_000) {
            prop_assert!(error.to_string().contains("t.parquet"), "{error}");
        }
        let held = MOST.get() - before;
        prop_assert!(held < MOST_HELD, "{held} bytes");
    }
}
