//! Columns of summaries, and what their rows are sorted by, under strace's names where it has them.

/// What rows are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryOrder {
    /// All the time, longest first.
    Time,
    /// The shortest, longest first.
    Least,
    /// The longest, longest first.
    Most,
    /// The mean, longest first.
    Mean,
    /// How often, most first.
    Calls,
    /// Failures, most first.
    Errors,
    /// Bytes read and written, most first.
    Bytes,
    /// The name.
    Name,
    /// Not at all: by number.
    Nothing,
}

impl SummaryOrder {
    /// The first name of each, for messages.
    pub const NAMES: &str =
        "time, min-time, max-time, avg-time, calls, errors, name, bytes and none";

    /// By strace's name for it.
    pub fn named(name: &str) -> Option<SummaryOrder> {
        Some(match name.replace('_', "-").as_str() {
            "time" | "time-total" | "total-time" | "time-percent" => SummaryOrder::Time,
            "min-time" | "shortest" | "time-min" => SummaryOrder::Least,
            "max-time" | "longest" | "time-max" => SummaryOrder::Most,
            "avg-time" | "time-avg" => SummaryOrder::Mean,
            "calls" | "count" => SummaryOrder::Calls,
            "errors" | "error" => SummaryOrder::Errors,
            "bytes" => SummaryOrder::Bytes,
            "name" | "syscall" | "syscall-name" => SummaryOrder::Name,
            "none" | "nothing" => SummaryOrder::Nothing,
            _ => return None,
        })
    }
}

/// A column of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryColumn {
    /// Which part of all the time.
    Percent,
    /// All the time, in seconds.
    Total,
    /// The shortest, in seconds.
    Least,
    /// The longest, in seconds.
    Most,
    /// The mean, in microseconds.
    Mean,
    /// How often.
    Calls,
    /// How often it failed.
    Errors,
    /// The time that half of the calls didn't exceed.
    P50,
    /// The time that nine of ten calls didn't exceed.
    P90,
    /// The time that 99 of 100 calls didn't exceed.
    P99,
    /// Bytes that were read.
    Read,
    /// Bytes that were written.
    Written,
    /// The name.
    Name,
}

impl SummaryColumn {
    /// What strace shows when nothing else is asked for.
    pub const USUAL: [SummaryColumn; 6] = [
        SummaryColumn::Percent,
        SummaryColumn::Total,
        SummaryColumn::Mean,
        SummaryColumn::Calls,
        SummaryColumn::Errors,
        SummaryColumn::Name,
    ];

    /// What a summary with percentiles shows of calls.
    pub const PERCENTILES: [SummaryColumn; 9] = [
        SummaryColumn::Calls,
        SummaryColumn::Errors,
        SummaryColumn::Total,
        SummaryColumn::Mean,
        SummaryColumn::P50,
        SummaryColumn::P90,
        SummaryColumn::P99,
        SummaryColumn::Most,
        SummaryColumn::Name,
    ];

    /// What a summary shows of files.
    pub const OF_FILES: [SummaryColumn; 6] = [
        SummaryColumn::Total,
        SummaryColumn::Calls,
        SummaryColumn::Errors,
        SummaryColumn::Read,
        SummaryColumn::Written,
        SummaryColumn::Name,
    ];

    /// What a summary with percentiles shows of files.
    pub const PERCENTILES_OF_FILES: [SummaryColumn; 11] = [
        SummaryColumn::Total,
        SummaryColumn::Calls,
        SummaryColumn::Errors,
        SummaryColumn::Read,
        SummaryColumn::Written,
        SummaryColumn::Mean,
        SummaryColumn::P50,
        SummaryColumn::P90,
        SummaryColumn::P99,
        SummaryColumn::Most,
        SummaryColumn::Name,
    ];

    /// Columns by strace's names for them, with commas between; that of the names of calls is always there.
    ///
    /// # Errors
    /// The name that no column has.
    pub fn parse_list(names: &str) -> Result<Vec<SummaryColumn>, String> {
        let named = |name: &str| Self::from_name(name).ok_or_else(|| name.to_owned());
        let mut columns: Vec<_> = names.split(',').map(named).collect::<Result<_, _>>()?;
        if !columns.contains(&SummaryColumn::Name) {
            columns.push(SummaryColumn::Name);
        }
        Ok(columns)
    }

    /// By strace's name for it.
    pub fn from_name(name: &str) -> Option<SummaryColumn> {
        Some(match name.replace('_', "-").as_str() {
            "time-percent" | "time" => SummaryColumn::Percent,
            "total-time" | "time-total" => SummaryColumn::Total,
            "min-time" | "shortest" | "time-min" => SummaryColumn::Least,
            "max-time" | "longest" | "time-max" => SummaryColumn::Most,
            "avg-time" | "time-avg" => SummaryColumn::Mean,
            "calls" | "count" => SummaryColumn::Calls,
            "errors" | "error" => SummaryColumn::Errors,
            "p50" | "median" => SummaryColumn::P50,
            "p90" => SummaryColumn::P90,
            "p99" => SummaryColumn::P99,
            "read" | "bytes-read" => SummaryColumn::Read,
            "written" | "bytes-written" => SummaryColumn::Written,
            "name" | "syscall" | "syscall-name" => SummaryColumn::Name,
            _ => return None,
        })
    }

    /// Whether it shows bytes, which only files have.
    pub fn is_of_bytes(self) -> bool {
        matches!(self, SummaryColumn::Read | SummaryColumn::Written)
    }

    /// Whether it shows a percentile.
    pub fn is_percentile(self) -> bool {
        matches!(
            self,
            SummaryColumn::P50 | SummaryColumn::P90 | SummaryColumn::P99
        )
    }
}
