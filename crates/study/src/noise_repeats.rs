//! Repeats of a study of noise: the levels that it measures, and how often each.

use backsight_model::{BootKind, LayoutKind, Target};
use std::num::NonZeroU32;

/// Repeats of the highest level, unless said: their deviation is then known to about a quarter.
const HIGHEST: u32 = 30;
/// Trials on each boot, and boots of each layout, where they aren't the highest level.
const WITHIN: u32 = 4;

/// A level at which something is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoiseLevel {
    /// The trial, on the same boot.
    Trial,
    /// The boot, of the same build.
    Boot,
    /// The build, with its parts elsewhere in memory.
    Layout,
}

/// How often each level is repeated at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoiseRepeats {
    /// Layouts.
    pub layouts: u32,
    /// Boots of each layout.
    pub boots: u32,
    /// Trials of each cell on each boot.
    pub trials: u32,
}

impl NoiseRepeats {
    /// The repeats of the levels that are asked for, or of all that the target has; `most` of the highest one.
    ///
    /// # Errors
    /// The target, or software as it is found, hasn't one of the levels.
    pub fn resolve(
        asked: &[NoiseLevel],
        target: Option<&Target>,
        most: Option<NonZeroU32>,
    ) -> miette::Result<Self> {
        let levels = available_levels(asked, target)?;
        Ok(Self::new(&levels, most.map_or(HIGHEST, NonZeroU32::get)))
    }

    /// Of these levels the highest one as often as `most`, the others a few times within it.
    fn new(levels: &[NoiseLevel], most: u32) -> Self {
        let highest = [NoiseLevel::Layout, NoiseLevel::Boot, NoiseLevel::Trial];
        let highest = highest.into_iter().find(|level| levels.contains(level));
        let repeats = |level| match (levels.contains(&level), highest == Some(level)) {
            (true, true) => most,
            (true, false) => WITHIN,
            (false, _) => 1,
        };
        Self {
            layouts: repeats(NoiseLevel::Layout),
            boots: repeats(NoiseLevel::Boot),
            trials: repeats(NoiseLevel::Trial),
        }
    }
}

/// The levels that are asked for, or all that there are.
fn available_levels(
    asked: &[NoiseLevel],
    target: Option<&Target>,
) -> miette::Result<Vec<NoiseLevel>> {
    let boots = target.is_some_and(|target| target.activate.boot != BootKind::None);
    let relinks = target
        .and_then(|target| target.layout.as_ref())
        .is_some_and(|relayout| relayout.layouts.contains(&LayoutKind::Random));
    let has = |level: &NoiseLevel| match level {
        NoiseLevel::Trial => true,
        NoiseLevel::Boot => boots,
        NoiseLevel::Layout => relinks,
    };
    let all = [NoiseLevel::Trial, NoiseLevel::Boot, NoiseLevel::Layout];
    if asked.is_empty() {
        return Ok(all.into_iter().filter(has).collect());
    }
    let Some(missing) = asked.iter().find(|level| !has(level)) else {
        return Ok(asked.to_vec());
    };
    let Some(target) = target else {
        return Err(miette::miette!(
            help = "name a target that is built and booted, with --target NAME; or ask for --levels trial",
            "software as it is found is neither booted nor laid out anew here"
        ));
    };
    Err(match missing {
        NoiseLevel::Layout => miette::miette!(
            help = "give it one: layout = { relink = \"… {seed} …\" }, a command that is run in the built tree; or leave `layout` out of --levels",
            "target `{}` has no command that relinks it at random",
            *target.name
        ),
        _ => miette::miette!(
            help = "leave `boot` out of --levels; or give the target activate = { boot = \"…\" }",
            "target `{}` has nothing to reboot: its programs are run from their folder",
            *target.name
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_level_is_repeated_most() {
        use NoiseLevel::{Boot, Layout, Trial};
        let of = |levels: &[NoiseLevel]| {
            let NoiseRepeats {
                layouts,
                boots,
                trials,
            } = NoiseRepeats::new(levels, 30);
            (layouts, boots, trials)
        };
        assert_eq!(of(&[Trial]), (1, 1, 30));
        assert_eq!(of(&[Trial, Boot]), (1, 30, 4));
        assert_eq!(of(&[Layout, Trial]), (30, 1, 4));
        assert_eq!(of(&[Trial, Boot, Layout]), (30, 4, 4));
        assert_eq!(of(&[Boot]), (1, 30, 1));
    }
}
