//! Options that every verb takes.

use backsight_store::StoreLocation;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use std::path::PathBuf;

/// The store and the folders of definitions.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Common options")]
pub struct CommonOptions {
    /// Folder of the store, or postgres://[USER@]HOST[:PORT]/DATABASE; else the nearest `.backsight` above this folder, else one in
    /// your home
    #[arg(
        long,
        global = true,
        env = "BACKSIGHT_STORE",
        hide_env_values = true,
        value_name = "DIR|URL",
        value_hint = clap::ValueHint::AnyPath,
        value_parser = OsStringValueParser::new().map(StoreLocation::from)
    )]
    pub store: Option<StoreLocation>,
    /// Folder with your own benchmark definitions, beside the catalogue's; may be repeated
    #[arg(long = "benchmarks", global = true, value_name = "DIR")]
    pub benchmarks: Vec<PathBuf>,
    /// Folder with your own definitions of monitors, beside the catalogue's; may be repeated
    #[arg(
        id = "monitor-folders",
        long = "monitors-dir",
        global = true,
        value_name = "DIR"
    )]
    pub monitors: Vec<PathBuf>,
    /// Folder with your own definitions of machines' settings, beside the program's; may be repeated
    #[arg(long = "settings-dir", global = true, value_name = "DIR")]
    pub settings: Vec<PathBuf>,
    /// Log to standard error what is begun and ended, and how long it took; twice: with every step and every request to a host
    #[arg(id = "log", short = 'v', long = "verbose", global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}
