//! Options of `backsight trace` that say how calls are shown.

use std::io::IsTerminal as _;

use backsight_syscall_decode::format::{ConstantStyle, EscapeStyle};
use backsight_syscall_decode::text::{TimePrecision, TimestampFormat, TimestampWords};

/// How what is traced is shown.
#[derive(Debug, clap::Args)]
pub(super) struct FormatOptions {
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
    /// A list for a trace viewer, as Perfetto
    #[arg(long, conflicts_with = "json")]
    pub perfetto: bool,
    /// Most bytes of a string
    #[arg(
        short = 's',
        long = "string-limit",
        value_name = "BYTES",
        default_value = "32",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(..1 << 30)
    )]
    pub strings: usize,
    /// Structures in full
    // Stands in for the global `-v`: the same name, and so the same kind.
    #[arg(id = "log", short = 'v', long = "no-abbrev", action = clap::ArgAction::Count)]
    pub in_full: u8,
    /// Bytes that aren't ASCII in hexadecimal; twice: all
    #[arg(short = 'x', action = clap::ArgAction::Count)]
    pub hexadecimal: u8,
    /// The same by its name
    #[arg(
        long,
        value_name = "WHICH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all",
        value_parser = clap::builder::PossibleValuesParser::new([
            "none",
            "non-ascii",
            "non-ascii-chars",
            "all",
        ])
    )]
    pub strings_in_hex: Option<String>,
    /// Numbers that have names: by their names, as numbers, or both
    #[arg(
        short = 'X',
        long,
        value_name = "abbrev/raw/verbose",
        default_value = "abbrev",
        value_parser = clap::builder::PossibleValuesParser::new(["abbrev", "raw", "verbose"])
    )]
    pub const_print_style: String,
    /// The column at which results stand
    #[arg(
        short = 'a',
        long,
        value_name = "COLUMN",
        default_value = "40",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(..1 << 31)
    )]
    pub columns: usize,
    /// Paths beside descriptors; twice: addresses of sockets, numbers of devices and processes too
    #[arg(short = 'y', action = clap::ArgAction::Count)]
    pub descriptors: u8,
    /// The time of day before each line; twice: with microseconds; thrice: since 1970
    #[arg(short = 't', action = clap::ArgAction::Count)]
    pub time: u8,
    /// The same by its names, separated by commas: none, time or unix, and s, ms, us or ns
    #[arg(
        long,
        visible_alias = "timestamps",
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "time",
        conflicts_with = "time"
    )]
    pub absolute_timestamps: Vec<TimestampWords>,
    /// The time since the line before, as exactly as named: s, ms, us or ns
    #[arg(
        long = "relative-timestamps",
        value_name = "UNIT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "us",
        value_parser = named_precision
    )]
    pub since: Option<TimePrecision>,
    /// The time since the line before, in microseconds
    #[arg(short = 'r')]
    pub since_in_microseconds: bool,
    /// How long each call took, as exactly as named: s, ms, us or ns
    #[arg(
        long = "syscall-times",
        value_name = "UNIT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "us",
        value_parser = named_precision
    )]
    pub took: Option<TimePrecision>,
    /// How long each call took, in microseconds
    #[arg(short = 'T')]
    pub took_in_microseconds: bool,
    /// The number of each call before its name
    #[arg(short = 'n', long)]
    pub syscall_number: bool,
    /// The name of each argument before it, as manual pages have it
    #[arg(short = 'N', long = "arg-names")]
    pub argument_names: bool,
    /// The number of the thread before each line, also where there is one alone
    #[arg(long)]
    pub always_show_pid: bool,
    /// Names, results and errors in colours; auto is on a terminal
    #[arg(
        long,
        value_name = "WHEN",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        default_value = "auto"
    )]
    pub color: Coloring,
    /// Where in the program each call was made and each signal came: the instruction's address
    #[arg(short = 'i', long)]
    pub instruction_pointer: bool,
    /// Behind each call and each signal the functions of the program that the thread was in, the innermost first
    #[arg(
        short = 'k',
        long,
        visible_alias = "stack-traces",
        value_name = "symbol",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "symbol",
        value_parser = clap::builder::PossibleValuesParser::new(["symbol"]),
        conflicts_with = "perfetto"
    )]
    pub stack_trace: Option<String>,
    /// Most functions of a stack
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub stack_trace_frame_limit: Option<u32>,
    /// Don't say which engine traces, nor what is attached to; twice: nor the status that processes exit with;
    /// thrice: nothing of the kind
    #[arg(short = 'q', action = clap::ArgAction::Count)]
    pub quietly: u8,
}

/// When lines have colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Coloring {
    Auto,
    Always,
    Never,
}

impl FormatOptions {
    /// Whether lines have colours, written to a file or to the standard error.
    pub fn colors(&self, into_file: bool) -> bool {
        match self.color {
            Coloring::Always => true,
            Coloring::Never => false,
            Coloring::Auto => !into_file && std::io::stderr().is_terminal(),
        }
    }

    /// The time of day before each line.
    pub fn time(&self) -> Option<TimestampFormat> {
        let words = self.absolute_timestamps.iter().copied();
        if let Some(words) = words.reduce(TimestampWords::then) {
            return words.format();
        }
        match self.time {
            0 => None,
            1 => Some(TimestampFormat::SECONDS),
            2 => Some(TimestampFormat::MICROSECONDS),
            _ => Some(TimestampFormat::EPOCH),
        }
    }

    /// How exactly the time since the line before is shown.
    pub fn since(&self) -> Option<TimePrecision> {
        let usual = self.since_in_microseconds.then_some(TimePrecision::Micro);
        self.since.or(usual)
    }

    /// How exactly it is shown how long a call took.
    pub fn took(&self) -> Option<TimePrecision> {
        let usual = self.took_in_microseconds.then_some(TimePrecision::Micro);
        self.took.or(usual)
    }

    /// Which bytes are shown in hexadecimal.
    pub fn escapes(&self) -> EscapeStyle {
        match (self.strings_in_hex.as_deref(), self.hexadecimal) {
            (Some("all"), _) => EscapeStyle::Hex,
            (Some("none"), _) => EscapeStyle::Octal,
            (Some("non-ascii-chars"), _) => EscapeStyle::HexAlone,
            (None, 2..) => EscapeStyle::Hex,
            (Some(_), _) | (_, 1) => EscapeStyle::HexWhereNeeded,
            (None, 0) => EscapeStyle::Octal,
        }
    }

    /// How what has a name is shown.
    pub fn constants(&self) -> ConstantStyle {
        match self.const_print_style.as_str() {
            "raw" => ConstantStyle::Numbers,
            "verbose" => ConstantStyle::Both,
            _ => ConstantStyle::Names,
        }
    }
}

/// Reads the name of a unit.
fn named_precision(name: &str) -> Result<TimePrecision, String> {
    TimePrecision::from_name(name).ok_or_else(|| "there are s, ms, us and ns".to_owned())
}
