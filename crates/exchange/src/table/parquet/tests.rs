//! Files of which one thing is damaged, each refused with what it is.

use bytes::Bytes;
use parquet::{
    basic::{Compression, Encoding},
    data_type::{ByteArray, ByteArrayType, DoubleType},
    file::{
        metadata::{
            ColumnChunkMetaDataBuilder, ParquetMetaDataReader, ParquetMetaDataWriter,
            RowGroupMetaDataBuilder,
        },
        properties::{WriterProperties, WriterVersion},
        writer::SerializedFileWriter,
    },
    schema::parser::parse_message_type,
};
use std::{io::Write as _, sync::Arc};

use super::{
    super::{ReadOptions, TableError, TableField, TableReader, TableSource},
    error::PageError,
    header::{Header, Kind},
    packed::{Cursor, Deltas, Hybrid},
    values::{Dictionary, Physical, Value, Values},
};

/// A file with a column `x` of numbers, some of them missing.
fn numbers(properties: WriterProperties) -> Vec<u8> {
    repeated(properties, 1)
}

/// As [`numbers`], so many times.
fn repeated(properties: WriterProperties, times: usize) -> Vec<u8> {
    let schema = parse_message_type("message t { optional double x; }").unwrap();
    let mut writer =
        SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<DoubleType>()
        .write_batch(
            &[1.0, 2.0, 1.0].repeat(times),
            Some(&[1, 0, 1, 1, 0].repeat(times)),
            None,
        )
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

/// A file with a column `s` of texts.
fn texts(properties: WriterProperties) -> Vec<u8> {
    let schema = parse_message_type("message t { required binary s (STRING); }").unwrap();
    let mut writer =
        SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values = ["abc", "de", "abc"].map(ByteArray::from);
    column
        .typed::<ByteArrayType>()
        .write_batch(&values, None, None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

fn plain() -> WriterProperties {
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    properties.set_encoding(Encoding::PLAIN).build()
}

/// The pages of a file with one column: the header of each, and where its bytes begin.
fn pages(file: &[u8]) -> Vec<(Header, usize)> {
    let bytes = Bytes::copy_from_slice(file);
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&bytes)
        .unwrap();
    let (begins, length) = metadata.row_group(0).column(0).byte_range();
    let end = (begins + length) as usize;
    let (mut at, mut pages) = (begins as usize, Vec::new());
    while at < end {
        let mut from = Cursor::new(bytes.slice(at..end), "header");
        let header = Header::read(&mut from).unwrap();
        at += from.position();
        let page = at;
        at += header.compressed;
        pages.push((header, page));
    }
    pages
}

/// The rows of a file, as texts.
fn read(file: &[u8]) -> Result<Vec<String>, TableError> {
    let mut there = tempfile::NamedTempFile::with_suffix(".parquet").unwrap();
    there.write_all(file).unwrap();
    let table = TableReader::open(
        &TableSource::Path(there.path().to_owned()),
        ReadOptions::default(),
    )?;
    let mut rows = table.rows(&[0])?;
    let (mut read, mut text) = (Vec::new(), String::new());
    while rows.advance()? {
        rows.field(0).write_to(&mut text);
        read.push(text.clone());
        assert!(
            rows.field(0) != TableField::Text(""),
            "an empty text is missing"
        );
    }
    Ok(read)
}

fn refused(file: &[u8], because: &str) {
    let said = read(file).unwrap_err().to_string();
    assert!(said.contains(because), "{said}");
}

/// The file with the metadata of its column changed.
fn with_column(
    file: &[u8],
    change: impl Fn(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder,
) -> Vec<u8> {
    with_group(file, |mut group| {
        let columns = group.take_columns().into_iter();
        let changed = columns.map(|column| change(column.into_builder()).build().unwrap());
        group.set_column_metadata(changed.collect())
    })
}

/// The file with the metadata of its row group changed.
fn with_group(
    file: &[u8],
    change: impl Fn(RowGroupMetaDataBuilder) -> RowGroupMetaDataBuilder,
) -> Vec<u8> {
    let bytes = Bytes::copy_from_slice(file);
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&bytes)
        .unwrap();
    let mut builder = metadata.into_builder();
    let groups = builder.take_row_groups().into_iter();
    let groups: Vec<_> = groups
        .map(|group| change(group.into_builder()).build().unwrap())
        .collect();
    let metadata = builder.set_row_groups(groups).build();
    let footer = u32::from_le_bytes(*file[..file.len() - 4].last_chunk().unwrap());
    let mut file = file[..file.len() - 8 - footer as usize].to_vec();
    let mut footer = Vec::new();
    ParquetMetaDataWriter::new(&mut footer, &metadata)
        .finish()
        .unwrap();
    file.extend(footer);
    file
}

#[test]
fn what_is_changed_here_is_sound_before() {
    let sound = ["1", "", "2", "1", ""];
    assert_eq!(read(&numbers(plain())).unwrap(), sound);
    assert_eq!(
        read(&with_column(&numbers(plain()), |column| column)).unwrap(),
        sound
    );
    assert_eq!(read(&numbers(WriterProperties::default())).unwrap(), sound);
    assert_eq!(read(&texts(plain())).unwrap(), ["abc", "de", "abc"]);
    assert_eq!(
        read(&texts(WriterProperties::default())).unwrap(),
        ["abc", "de", "abc"]
    );
}

#[test]
fn a_column_that_begins_before_the_file_or_ends_behind_it_is_refused() {
    let file = numbers(plain());
    let before = with_column(&file, |column| column.set_data_page_offset(-5));
    refused(&before, "where its column begins: -5");
    let negative = with_column(&file, |column| column.set_total_compressed_size(-1));
    refused(&negative, "how long its column is: -1");
    let behind = with_column(&file, |column| column.set_total_compressed_size(i64::MAX));
    refused(&behind, "beyond the end of the file");
    let short = with_column(&file, |column| column.set_total_compressed_size(9));
    refused(&short, "a page ends within its header");
    let cut = with_column(&file, |column| column.set_total_compressed_size(40));
    refused(&cut, "a page ends within its column");
}

#[test]
fn a_column_with_fewer_or_more_values_than_rows_is_refused() {
    let file = numbers(plain());
    let more = with_group(&file, |group| group.set_num_rows(6));
    refused(
        &more,
        "row 6, column `x`: it is damaged: it has fewer rows than its row group",
    );
    let fewer = with_group(&file, |group| group.set_num_rows(4));
    refused(&fewer, "it has more rows than its row group");
    let negative = with_group(&file, |group| group.set_num_rows(-5));
    refused(&negative, "its row groups say otherwise");
    // The file says 6, its row group 5 (twice that, as a number with a sign).
    let footer = u32::from_le_bytes(*file[..file.len() - 4].last_chunk().unwrap()) as usize;
    let at = file.len() - 8 - footer..file.len() - 9;
    let mut told = at.filter(|&at| file[at..at + 2] == [0x16, 10]).map(|at| {
        let mut changed = file.clone();
        changed[at + 1] = 12;
        read(&changed).map_err(|error| error.to_string())
    });
    let otherwise =
        |told: Result<_, String>| told.is_err_and(|error| error.contains("say otherwise"));
    assert!(told.any(otherwise));
    // A level says that a value is there, and none is.
    let (header, page) = pages(&file).pop().unwrap();
    assert!(
        matches!(header.kind, Kind::Data { rows: 5, .. }),
        "{header:?}"
    );
    let levels = &file[page + 4..page + 6];
    assert_eq!(levels, [3, 0b01101], "bits, a group of eight");
    let mut changed = file.clone();
    changed[page + 5] = 0b11111;
    refused(
        &changed,
        "row 4, column `x`: it is damaged, or of a kind that isn't read: a page ends within its values",
    );
}

#[test]
fn a_page_of_texts_that_is_cut_off_is_refused() {
    let mut file = texts(plain());
    let (_, page) = pages(&file).pop().unwrap();
    assert_eq!(file[page..page + 7], *b"\x03\0\0\0abc");
    file[page] = 200;
    refused(
        &file,
        "row 1, column `s`: it is damaged, or of a kind that isn't read: a page ends within its values",
    );
    file[page] = 3;
    file[page + 7 + 6 + 3] = 1;
    refused(&file, "row 3, column `s`");
}

#[test]
fn an_index_that_its_dictionary_does_not_have_is_refused() {
    let mut file = texts(WriterProperties::default());
    let pages = pages(&file);
    assert!(matches!(
        pages[0].0.kind,
        Kind::Dictionary { values: 2, .. }
    ));
    let (_, page) = &pages[1];
    // A bit a value, a group of eight, their bits: 0, 1, 0.
    assert_eq!(file[*page..page + 3], [1, 3, 2]);
    file[*page] = 33;
    refused(&file, "how many bits a number has: 33");
    file[*page] = 8;
    refused(
        &file,
        "which value of its dictionary is meant, which has fewer: 2",
    );
    file[*page] = 0;
    assert_eq!(
        read(&file).unwrap(),
        ["abc"; 3],
        "no bits are all the first one"
    );
}

#[test]
fn a_dictionary_that_is_cut_off_or_not_there_is_refused() {
    let mut file = texts(WriterProperties::default());
    let (_, page) = pages(&file)[0];
    file[page] = 200;
    refused(&file, "a page ends within its dictionary");
    let offset = pages(&texts(WriterProperties::default()))[0].1 as i64;
    assert!(offset > 4);
    let mut without = texts(WriterProperties::default());
    let first = &pages(&without)[0];
    let data = (first.1 + first.0.compressed) as i64;
    let end = pages(&without)[1].1 + pages(&without)[1].0.compressed;
    without = with_column(&without, |column| {
        column
            .set_dictionary_page_offset(None)
            .set_data_page_offset(data)
            .set_total_compressed_size(end as i64 - data)
    });
    refused(&without, "indexes without a dictionary");
}

#[test]
fn a_page_that_says_it_is_huge_takes_no_memory() {
    for compression in [Compression::SNAPPY, Compression::ZSTD(Default::default())] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = WriterProperties::builder().set_compression(compression);
            let properties = properties.set_writer_version(version);
            let file = repeated(properties.set_dictionary_enabled(false).build(), 200);
            let header = pages(&file).pop().unwrap().0;
            assert!(header.uncompressed > 2 * header.compressed, "{header:?}");
            // The header's second field, behind the type of the page: its size, in two bytes.
            let size = header.uncompressed << 1;
            let size = [0x15, size as u8 | 0x80, (size >> 7) as u8];
            let at = file.windows(3).position(|three| three == size).unwrap();
            let mut huge = file.clone();
            huge.splice(at + 1..at + 3, [0xfe, 0xff, 0xff, 0xff, 0x0f]);
            refused(&lengthen(&huge, 3), "pages of more than 512 MiB");
            huge[at + 1..at + 6].copy_from_slice(&[0xfe, 0xff, 0xff, 0xdf, 0x00]);
            refused(&lengthen(&huge, 3), "as its header says");
        }
    }
}

/// The file, of whose column a header has become longer.
fn lengthen(file: &[u8], by: i64) -> Vec<u8> {
    let bytes = Bytes::copy_from_slice(file);
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&bytes)
        .unwrap();
    let length = metadata.row_group(0).column(0).compressed_size();
    with_column(file, |column| column.set_total_compressed_size(length + by))
}

#[test]
fn a_checksum_that_does_not_fit_is_told() {
    // A dictionary of one number, with the checksum of its bytes.
    let mut head = vec![0x15, 0, 0x15, 16, 0x15, 16, 0x15];
    let body = 7_f64.to_le_bytes();
    let sum = i64::from(crc32fast::hash(&body).cast_signed());
    let mut zigzag = ((sum << 1) ^ (sum >> 63)).cast_unsigned();
    while zigzag > 0x7f {
        head.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    head.extend([zigzag as u8, 0x1c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0]);
    let header = Header::read(&mut Cursor::new(head.into(), "header")).unwrap();
    assert_eq!(header.checksum, Some(crc32fast::hash(&body)));
    assert_eq!((header.compressed, header.uncompressed), (8, 8));
}

#[test]
fn headers_end_whatever_they_say() {
    let read = |bytes: &'static [u8]| Header::read(&mut Cursor::new(bytes.into(), "header"));
    assert!(matches!(read(&[]), Err(PageError::Ends(_))));
    // Structs within structs without an end.
    assert!(matches!(read(&[0x9c; 5000]), Err(PageError::Header(_))));
    // Lists of very many lists.
    assert!(read(&[0x99, 0xf9, 0xff, 0xff, 0xff, 0xff, 0x7f]).is_err());
    // A text that is longer than memory.
    let long: &[u8] = &[
        0x98, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
    ];
    assert!(matches!(read(long), Err(PageError::Ends(_))));
    // A number of more bits than there are.
    let number: &[u8] = &[
        0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    ];
    assert!(matches!(read(number), Err(PageError::Implausible { .. })));
    // Fewer bytes than none.
    let negative: &[u8] = &[
        0x15, 0, 0x15, 1, 0x15, 1, 0x2c, 0x15, 1, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0,
    ];
    assert!(matches!(
        read(negative),
        Err(PageError::Implausible { value: -1, .. })
    ));
}

#[test]
fn runs_and_bits_are_numbers() {
    let hybrid = |bytes: &'static [u8], width| {
        let mut numbers = Hybrid::new(Cursor::new(bytes.into(), "numbers"), width).unwrap();
        std::iter::from_fn(move || numbers.next().ok())
            .take(100)
            .collect::<Vec<_>>()
    };
    // The example of the format: 0 to 7, in three bits each.
    assert_eq!(hybrid(&[3, 0x88, 0xc6, 0xfa], 3), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(hybrid(&[6, 2, 3, 0x88, 0xc6], 3), [2, 2, 2, 0, 1, 2, 3, 4]);
    assert_eq!(hybrid(&[4, 0xff, 0xff, 0xff, 0xff], 32), [u32::MAX; 2]);
    assert_eq!(hybrid(&[0; 9], 3), [0; 0], "runs of nothing");
    assert_eq!(
        hybrid(
            &[
                0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 1
            ],
            1
        ),
        [1; 100]
    );
    assert_eq!(
        hybrid(
            &[
                0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 1
            ],
            1
        )
        .len(),
        8
    );
}

#[test]
fn differences_are_numbers() {
    // The example of the format: 1, 2, 3, 4, 5 in a block of 128 and four miniblocks.
    let bytes: &[u8] = &[0x80, 0x01, 4, 5, 2, 2, 0, 0, 0, 0];
    let mut deltas = Deltas::new(Cursor::new(bytes.into(), "numbers")).unwrap();
    let numbers: Vec<i64> = std::iter::from_fn(|| deltas.next().ok()).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    for (damaged, because) in [
        (&[0, 4, 5, 2][..], "how many values a block has: 0"),
        (&[0x80, 0x01, 0, 5, 2], "miniblocks a block has: 0"),
        (&[0x80, 0x01, 3, 5, 2], "miniblocks a block has: 3"),
        (
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 1, 5, 2],
            "values a block has",
        ),
    ] {
        let error = Deltas::new(Cursor::new(damaged.into(), "numbers")).unwrap_err();
        assert!(error.to_string().contains(because), "{error}");
    }
    // Values without bits: more than there can be, with nothing behind them.
    let bytes: &[u8] = &[
        0x80, 0x01, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 2, 2, 0, 0, 0, 0,
    ];
    let deltas = Deltas::new(Cursor::new(bytes.into(), "numbers")).unwrap();
    assert!(matches!(deltas.end(), Err(PageError::Ends(_))));
    let bytes: &[u8] = &[0x80, 0x01, 4, 5, 2, 2, 65, 0, 0, 0];
    let mut deltas = Deltas::new(Cursor::new(bytes.into(), "numbers")).unwrap();
    deltas.next().unwrap_err();
}

#[test]
fn texts_of_lengths_and_prefixes_end_where_their_bytes_do() {
    // Lengths 2 and 2^32 - 1 as differences, then two bytes.
    let lengths: &[u8] = &[
        0x80, 0x01, 4, 2, 4, 0xfa, 0xff, 0xff, 0xff, 0x1f, 0, 0, 0, 0, b'a', b'b',
    ];
    let mut values = Values::new(Physical::Text, 6, lengths.into()).unwrap();
    assert_eq!(values.next(None).unwrap(), Value::Bytes(b"ab"));
    assert!(matches!(values.next(None), Err(PageError::Ends(_))));
    // The first text has something in common with the one before.
    let prefixes: &[u8] = &[0x80, 0x01, 4, 1, 6, 0x80, 0x01, 4, 1, 2, b'a'];
    let mut values = Values::new(Physical::Text, 7, prefixes.into()).unwrap();
    let error = values.next(None).unwrap_err().to_string();
    assert!(
        error.contains("in common with the one before: 3"),
        "{error}"
    );
}

#[test]
fn a_dictionary_of_truths_is_refused() {
    assert!(Dictionary::new(Physical::Truth, 0, Bytes::from_static(&[1]), 1).is_err());
    assert!(Dictionary::new(Physical::Double, 5, Bytes::from_static(&[1]), 0).is_err());
    assert!(Dictionary::new(Physical::Double, 0, Bytes::from_static(&[1; 15]), 2).is_err());
    assert!(Dictionary::new(Physical::Text, 0, Bytes::from_static(&[0; 15]), u32::MAX).is_err());
}
