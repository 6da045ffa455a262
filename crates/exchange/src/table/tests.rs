use super::*;
use proptest::prelude::*;

fn table(text: &str) -> Result<TableReader, TableError> {
    let text = Cursor::new(text.to_owned().into_bytes());
    TableReader::from_lines(text, "t", ReadOptions::default())
}

fn all(text: &str, columns: &ColumnRoles) -> Result<Vec<NumberSeries>, TableError> {
    series(table(text)?, columns)?.collect()
}

fn usual(text: &str) -> Vec<NumberSeries> {
    all(text, &ColumnRoles::default()).unwrap()
}

fn keyed() -> ColumnRoles {
    ColumnRoles {
        keys: vec!["s".to_owned()],
        ..ColumnRoles::default()
    }
}

fn fault(text: &str, columns: &ColumnRoles) -> String {
    all(text, columns).unwrap_err().to_string()
}

#[test]
fn one_number_a_line_is_a_series() {
    for text in ["1\n2.5\n-3e2\n", "# of a run\n 1\r\n\n2.5\r\n#\n-3e2"] {
        let series = usual(text);
        assert_eq!(series.len(), 1);
        assert_eq!(series[0].values, [1.0, 2.5, -300.0]);
        assert_eq!(series[0].labels.iter().collect::<Vec<_>>(), ["1", "2", "3"]);
        assert_eq!(series[0].column, "value");
    }
}

#[test]
fn a_header_names_the_columns_and_a_first_column_of_text_the_versions() {
    let series = usual("commit,time,\"mem, all\"\na1,1,10\nb2,2,20\n");
    assert_eq!(series.len(), 2);
    assert_eq!(series[1].column, "mem, all");
    assert_eq!(series[1].values, [10.0, 20.0]);
    assert_eq!(series[1].labels.iter().collect::<Vec<_>>(), ["a1", "b2"]);
}

#[test]
fn the_end_of_a_line_within_quotes_is_kept_as_it_is() {
    for (end, text) in [
        ("\n", "commit,time\n\"a\r\n1\",1\n\"b\n2\",2\n"),
        ("\r\n", "commit,time\r\n\"a\r\n1\",1\r\n\"b\n2\",2\r\n"),
    ] {
        let series = usual(text);
        let labels: Vec<_> = series[0].labels.iter().collect();
        assert_eq!(labels, ["a\r\n1", "b\n2"], "lines that end with {end:?}");
    }
}

#[test]
fn what_stands_between_the_fields_is_found_out() {
    for text in [
        "a\tb\n1\t2\n",
        "a;b\n1;2\n",
        "a,b\n1,2\n",
        "\u{feff}a,b\n1,2\n",
    ] {
        let series = usual(text);
        assert_eq!(
            (&series[0].column[..], &series[1].values[..]),
            ("a", &[2.0][..])
        );
    }
}

#[test]
fn what_is_missing_is_no_zero() {
    let series = usual("v,x\nv1,1\nv2,\nv3,NA\nv4,null\nv5,2\n");
    assert_eq!(
        (&series[0].values[..], series[0].missing),
        (&[1.0, 2.0][..], 3)
    );
    assert_eq!(series[0].labels.iter().collect::<Vec<_>>(), ["v1", "v5"]);
    let series = usual("{\"x\":1}\n{\"x\":null}\n{}\n{\"x\":2}\n");
    assert_eq!(
        (&series[0].values[..], series[0].missing),
        (&[1.0, 2.0][..], 2)
    );
    assert_eq!(series[0].labels.get(1), "4");
}

#[test]
fn a_broken_line_is_named() {
    let seven = "a,b\n1,2\n1,2\n1,2\n1,2\n1,2\n1;2\n1,2\n";
    let said = fault(seven, &ColumnRoles::default());
    assert!(
        said.starts_with("t, line 7: 1 field where the first line has 2"),
        "{said}"
    );
    let said = fault("a\n1\n\n# x\n4\n5\nsix\n", &ColumnRoles::default());
    assert!(
        said.starts_with("t, line 7, column `a`: `six` is no number"),
        "{said}"
    );
    let said = fault("a\r\n1\r\n\r\nx\r\n", &ColumnRoles::default());
    assert!(said.contains("line 4,"), "{said}");
    let said = fault(
        "a,b\n\"1\n2\n3\",2\nx,\"y\"\n",
        &ColumnRoles {
            values: vec!["b".into()],
            ..ColumnRoles::default()
        },
    );
    assert!(said.contains("line 5, column `b`: `y`"), "{said}");
    let said = fault("a,b\n1,2\n\"1,2\n1,2\n", &ColumnRoles::default());
    assert!(said.contains("line 3: a quote is opened"), "{said}");
    let said = fault("{\"a\":1}\n{\"a\":2\n", &ColumnRoles::default());
    assert!(said.contains("line 2: this is no JSON"), "{said}");
    let said = fault("{\"a\":1}\n{\"a\":[2]}\n", &ColumnRoles::default());
    assert!(
        said.contains("line 2: this is not as it should be") && said.contains("a number or a text"),
        "{said}"
    );
    let said = fault("[1,2]\n", &ColumnRoles::default());
    assert!(said.contains("jq"), "{said}");
}

#[test]
fn a_decimal_comma_is_told_what_to_be() {
    let said = fault(
        "a;b\n1,5;2\n",
        &ColumnRoles {
            values: vec!["a".into()],
            ..ColumnRoles::default()
        },
    );
    assert!(
        said.ends_with("`1,5` is no number: decimals stand after a point"),
        "{said}"
    );
}

#[test]
fn nan_and_infinities_are_refused_with_their_place() {
    for bad in ["NaN", "inf", "-Infinity", "1e999"] {
        let said = fault(&format!("x\n1\n{bad}\n"), &ColumnRoles::default());
        assert!(
            said.contains("line 3, column `x`") && said.contains("no measured value"),
            "{said}"
        );
    }
}

#[test]
fn nothing_is_an_error() {
    for text in ["", "\n\n", "a,b\n", "# only this\n"] {
        assert!(
            matches!(
                all(text, &ColumnRoles::default()),
                Err(TableError::Empty { .. })
            ),
            "{text:?}"
        );
        let sorted = ColumnRoles {
            sorted: true,
            ..ColumnRoles::default()
        };
        assert!(
            matches!(all(text, &sorted), Err(TableError::Empty { .. })),
            "{text:?}"
        );
    }
}

#[test]
fn a_column_that_is_not_there_is_told_which_there_are() {
    let said = fault(
        "a,b\n1,2\n",
        &ColumnRoles {
            values: vec!["c".into()],
            ..ColumnRoles::default()
        },
    );
    assert_eq!(said, "t has no column `c`: it has `a`, `b`");
    let second = ColumnRoles {
        values: vec!["2".into()],
        ..ColumnRoles::default()
    };
    assert_eq!(all("a,b\n1,7\n", &second).unwrap()[0].values, [7.0]);
    let said = fault(
        "a,a\n1,2\n",
        &ColumnRoles {
            values: vec!["a".into()],
            ..ColumnRoles::default()
        },
    );
    assert!(said.contains("several columns `a`"), "{said}");
    let said = fault("a,b\nx,y\n", &ColumnRoles::default());
    assert!(
        said.contains("--series") && said.contains("--label"),
        "{said}"
    );
    let said = fault("a\nx\n", &ColumnRoles::default());
    assert!(said.contains("no column of t holds numbers"), "{said}");
}

#[test]
fn rows_in_any_order_are_gathered_and_together_ones_streamed_to_the_same() {
    let mixed = "s,v,x\na,1,1\nb,1,10\na,2,2\nb,2,20\n";
    let together = "s,v,x\na,1,1\na,2,2\nb,1,10\nb,2,20\n";
    let columns = ColumnRoles {
        label: Some("v".into()),
        ..keyed()
    };
    let sorted = ColumnRoles {
        sorted: true,
        ..columns.clone()
    };
    let gathered = all(mixed, &columns).unwrap();
    assert_eq!(gathered.len(), 2);
    assert_eq!(
        (&gathered[1].keys[..], &gathered[1].values[..]),
        (&["b".to_owned()][..], &[10.0, 20.0][..])
    );
    assert_eq!(all(together, &columns).unwrap(), gathered);
    assert_eq!(all(together, &sorted).unwrap(), gathered);
    let said = fault(mixed, &sorted);
    assert!(
        said.contains("line 4: rows of the series `a` aren't together"),
        "{said}"
    );
    let little = ColumnRoles {
        most: 450,
        ..columns
    };
    assert!(matches!(
        all(mixed, &little),
        Err(TableError::TooMuch { .. })
    ));
}

#[test]
fn an_only_text_that_repeats_must_be_explained() {
    let text = "bench,x\na,1\nb,2\na,3\n";
    let said = fault(text, &ColumnRoles::default());
    assert!(
        said.contains("line 4: `a` comes again in column `bench`: say `--series bench`"),
        "{said}"
    );
    let labelled = ColumnRoles {
        label: Some("bench".into()),
        ..ColumnRoles::default()
    };
    assert_eq!(all(text, &labelled).unwrap()[0].values.len(), 3);
}

#[test]
fn points_are_ordered_by_number_or_text_and_equal_ones_stay() {
    let by = |name: &str| ColumnRoles {
        order: Some(name.into()),
        values: vec!["x".into()],
        ..ColumnRoles::default()
    };
    let series = all("n,d,x\n10,2024-02,1\n9,2024-01,2\n9,2023-12,3\n", &by("n")).unwrap();
    assert_eq!(series[0].values, [2.0, 3.0, 1.0]);
    assert_eq!(series[0].labels.get(0), "9");
    let series = all("n,d,x\n10,2024-02,1\n9,2024-01,2\n9,2023-12,3\n", &by("d")).unwrap();
    assert_eq!(series[0].values, [3.0, 2.0, 1.0]);
}

#[test]
fn keys_that_would_run_together_stay_apart() {
    let columns = ColumnRoles {
        keys: vec!["a".into(), "b".into()],
        ..ColumnRoles::default()
    };
    let series = all("a,b,x\n1,11,1\n11,1,2\n\u{1b}[31m,\u{0},3\n", &columns).unwrap();
    assert_eq!(series.len(), 3);
    assert_eq!(series[2].keys, ["\u{1b}[31m", "\u{0}"]);
}

#[test]
fn bare_numbers_of_json_are_a_series() {
    let reading = ReadOptions {
        format: Some(TableFormat::JsonLines),
        header: None,
    };
    let table = TableReader::from_lines(
        Cursor::new(b"1\n2.5\nnull\n9007199254740993\n"),
        "t",
        reading,
    )
    .unwrap();
    let series: Vec<NumberSeries> = series(table, &ColumnRoles::default())
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(series[0].values, [1.0, 2.5, 9007199254740992.0]);
    assert_eq!(series[0].missing, 1);
}

#[test]
fn what_is_no_text_or_too_long_is_refused() {
    let binary = TableReader::from_lines(
        Cursor::new(b"a\n1\n\xff\xfe\n".to_vec()),
        "t",
        ReadOptions::default(),
    );
    let said = series(binary.unwrap(), &ColumnRoles::default())
        .unwrap()
        .find_map(Result::err)
        .unwrap();
    assert!(
        said.to_string().contains("line 3: this is no UTF-8"),
        "{said}"
    );
    let long = TableReader::from_lines(
        Cursor::new(vec![b'1'; lines::LONGEST + 9]),
        "t",
        ReadOptions::default(),
    );
    assert!(long.unwrap_err().to_string().contains("longer than 16 MiB"));
}

const WRITTEN: [(&str, ColumnKind); 3] = [
    ("name", ColumnKind::Text),
    ("x", ColumnKind::Number),
    ("n", ColumnKind::Integer),
];

type Row = (Option<String>, Option<f64>, Option<i64>);

/// Writes the rows and reads them again.
fn round_trip(path: &Path, format: TableFormat, rows: &[Row]) -> Vec<Row> {
    let mut writer =
        TableWriter::new(TableOutput::to(Some(path)).unwrap(), format, &WRITTEN).unwrap();
    for (name, x, n) in rows {
        let n = n.map_or(TableCell::Missing, TableCell::Integer);
        writer
            .row(&[name.as_deref().into(), (*x).into(), n])
            .unwrap();
    }
    writer.finish().unwrap();
    let reading = ReadOptions {
        format: Some(format),
        header: Some(true),
    };
    let table = TableReader::open(&TableSource::Path(path.to_owned()), reading).unwrap();
    let mut read = table.rows(&[0, 1, 2]).unwrap();
    let mut back = Vec::new();
    while read.advance().unwrap() {
        let name = match read.field(0) {
            TableField::Text(text) => Some(text.to_owned()),
            _ => None,
        };
        let n = match read.field(2) {
            TableField::Integer(n) => Some(n),
            TableField::Text(text) => Some(text.parse().unwrap()),
            _ => None,
        };
        back.push((name, read.number(1).unwrap(), n));
    }
    back
}

#[test]
fn more_rows_than_a_batch_and_a_group_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<Row> = (0..150_000i64)
        .map(|i| {
            (
                Some(format!("s{}", i / 7)),
                (i % 11 != 0).then_some(i as f64 / 3.0),
                (i % 5 != 0).then_some(i),
            )
        })
        .collect();
    let back = round_trip(
        &folder.path().join("t.parquet"),
        TableFormat::Parquet,
        &rows,
    );
    assert!(back == rows);
}

#[test]
fn a_file_that_is_not_finished_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let mut writer = TableWriter::new(
        TableOutput::to(Some(&path)).unwrap(),
        TableFormat::Csv,
        &WRITTEN,
    )
    .unwrap();
    assert!(writer.row(&[TableCell::Missing]).is_err());
    assert!(
        writer
            .row(&[
                TableCell::Missing,
                TableCell::Number(f64::NAN),
                TableCell::Missing
            ])
            .is_err()
    );
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_no_file_is_written_into_and_not_replaced() {
    let device = Path::new("/dev/null");
    let mut writer = TableWriter::new(
        TableOutput::to(Some(device)).unwrap(),
        TableFormat::Csv,
        &WRITTEN,
    )
    .unwrap();
    writer.row(&[TableCell::Missing; 3]).unwrap();
    writer.finish().unwrap();
    assert!(!std::fs::metadata(device).unwrap().is_file());
}

#[test]
fn a_parquet_says_which_columns_it_has_and_a_damaged_one_that_it_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    round_trip(
        &path,
        TableFormat::Parquet,
        &[(Some("a".into()), Some(1.0), Some(2))],
    );
    let source = TableSource::Path(path.clone());
    let open = || TableReader::open(&source, ReadOptions::default()).unwrap();
    assert_eq!(
        open().holds(),
        [
            ColumnContent::Text,
            ColumnContent::Numbers,
            ColumnContent::Numbers
        ]
    );
    let said = open().column("y").unwrap_err().to_string();
    assert!(
        said.ends_with("has no column `y`: it has `name`, `x`, `n`"),
        "{said}"
    );
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
    assert!(matches!(
        TableReader::open(&source, ReadOptions::default()),
        Err(TableError::Parquet { .. })
    ));
}

#[test]
fn columns_of_others_are_read_as_what_they_are() {
    use ::parquet::{
        data_type::{DoubleType, Int32Type, Int64Type},
        file::{properties::WriterProperties, writer::SerializedFileWriter},
        schema::parser::parse_message_type,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let schema = "message t { required int64 at (TIMESTAMP_MILLIS); required int32 day (DATE);
        required int32 price (DECIMAL(9, 2)); required int64 big (UINT_64);
        optional group deep { optional double x; } repeated double many; }";
    let schema = std::sync::Arc::new(parse_message_type(schema).unwrap());
    let properties = std::sync::Arc::new(WriterProperties::builder().build());
    let file = File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<Int64Type>()
        .write_batch(&[0, 86_400_000], None, None)
        .unwrap();
    column.close().unwrap();
    let mut short = |values: &[i32]| {
        let mut column = group.next_column().unwrap().unwrap();
        column
            .typed::<Int32Type>()
            .write_batch(values, None, None)
            .unwrap();
        column.close().unwrap();
    };
    short(&[0, 365]);
    short(&[1234, -5]);
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<Int64Type>()
        .write_batch(&[-1, 7], None, None)
        .unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<DoubleType>()
        .write_batch(&[2.5], Some(&[2, 1]), None)
        .unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<DoubleType>()
        .write_batch(&[1.0, 2.0], Some(&[1, 1, 0]), Some(&[0, 1, 0]))
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();

    let table = TableReader::open(&TableSource::Path(path), ReadOptions::default()).unwrap();
    assert_eq!(table.columns(), ["at", "day", "price", "big", "deep.x"]);
    let mut rows = table.rows(&[0, 1, 2, 3, 4]).unwrap();
    assert!(rows.advance().unwrap());
    assert_eq!(rows.field(0), TableField::Text("1970-01-01T00:00:00Z"));
    assert_eq!(rows.field(1), TableField::Text("1970-01-01"));
    assert_eq!(rows.number(2).unwrap(), Some(12.34));
    assert_eq!(rows.number(3).unwrap(), Some(u64::MAX as f64));
    assert_eq!(rows.number(4).unwrap(), Some(2.5));
    assert!(rows.advance().unwrap());
    assert_eq!(rows.field(0), TableField::Text("1970-01-02T00:00:00Z"));
    assert_eq!(rows.field(1), TableField::Text("1971-01-01"));
    assert_eq!(rows.number(2).unwrap(), Some(-0.05));
    assert_eq!(rows.number(4).unwrap(), None);
    assert!(!rows.advance().unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn every_format_gives_back_what_it_was_given(
        rows in prop::collection::vec((prop::option::of("[ -~\n\u{1b}é]{1,12}"), prop::option::of(-1e300..1e300f64), prop::option::of(any::<i64>())), 1..30)
    ) {
        let folder = tempfile::tempdir().unwrap();
        // Blank texts are missing ones, and what stands around a text is no part of it.
        let rows: Vec<Row> = rows.into_iter().map(|(name, x, n)| {
            let name = name.map(|name| format!("x{}x", name.trim()));
            (name, x, n)
        }).collect();
        for (format, file) in [(TableFormat::Csv, "t.csv"), (TableFormat::Tsv, "t.tsv"), (TableFormat::JsonLines, "t.jsonl"), (TableFormat::Parquet, "t.parquet")] {
            prop_assert_eq!(&round_trip(&folder.path().join(file), format, &rows), &rows, "{:?}", format);
        }
    }

    #[test]
    fn any_bytes_end_in_rows_or_in_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(table) = TableReader::from_lines(Cursor::new(bytes), "t", ReadOptions::default())
            && let Ok(stream) = series(table, &ColumnRoles::default()) {
            let _: Vec<_> = stream.take(1000).collect();
        }
    }
}
