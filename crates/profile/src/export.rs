//! Profiles in the formats of other programs: a module a format.

mod firefox;
pub mod folded;
mod perfetto;
mod pprof;
mod speedscope;

use crate::document::Profile;

/// A format of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileFormat {
    /// A line a stack, for flame graph programs.
    Folded,
    /// The Firefox Profiler's processed format.
    Firefox,
    /// pprof's protocol buffer, compressed.
    Pprof,
    /// speedscope's JSON.
    Speedscope,
    /// A trace of Perfetto with samples of stacks.
    Perfetto,
}

/// All formats: the name of each on the command line, and what the help says of it.
pub const PROFILE_FORMATS: &[(&str, ProfileFormat, &str)] = &[
    (
        "folded",
        ProfileFormat::Folded,
        "A line a stack, for flame graph programs",
    ),
    (
        "firefox",
        ProfileFormat::Firefox,
        "The Firefox Profiler's processed format",
    ),
    (
        "pprof",
        ProfileFormat::Pprof,
        "pprof's protocol buffer, compressed",
    ),
    ("speedscope", ProfileFormat::Speedscope, "speedscope's JSON"),
    (
        "perfetto",
        ProfileFormat::Perfetto,
        "A trace of Perfetto with samples of stacks",
    ),
];

impl ProfileFormat {
    /// Whether it is text, that a terminal can show.
    pub const fn is_text(self) -> bool {
        !matches!(self, Self::Pprof | Self::Perfetto)
    }

    /// The profile in this format. `title` says what was measured.
    pub fn write(self, profile: &Profile, title: &str) -> Vec<u8> {
        match self {
            Self::Folded => folded::write(profile).into_bytes(),
            Self::Firefox => firefox::write(profile, title),
            Self::Pprof => pprof::write(profile, title),
            Self::Speedscope => speedscope::write(profile, title),
            Self::Perfetto => perfetto::write(profile),
        }
    }
}
