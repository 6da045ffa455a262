//! Repeats that a user asks for, as `--modes` and `--repeat` have them, for a target that may not have all levels.

use backsight_model::{BootKind, Layout, LayoutKind, Target};

use crate::Repeats;

/// A level at which measuring a version is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatMode {
    /// Once more on the same boot.
    Again,
    /// On a new boot of the same build.
    Reboot,
    /// On a build of the same version whose parts lie elsewhere in memory.
    Relink,
}

/// The repeats that a user asks for.
#[derive(Debug, Clone)]
pub struct RequestedRepeats<'a> {
    /// What is repeated; trials alone if empty.
    pub modes: Vec<RepeatMode>,
    /// How often: `5` for all modes, `reboot=3` for one.
    pub numbers: &'a [String],
    /// The layouts that relinking makes.
    pub layouts: &'a [LayoutKind],
    /// How often where no number is given.
    pub rounds: u32,
}

impl RequestedRepeats<'_> {
    /// How often each version of this target is measured, at each level.
    ///
    /// # Errors
    /// The target has nothing to reboot or to relink, or a number is none.
    pub fn of_target(&self, target: &Target) -> miette::Result<Repeats> {
        let count = |mode: RepeatMode| -> miette::Result<u32> {
            let is_repeated = match self.modes.is_empty() {
                true => mode == RepeatMode::Again,
                false => self.modes.contains(&mode),
            };
            match is_repeated {
                true => repeats_of(self.numbers, mode, self.rounds),
                false => Ok(1),
            }
        };
        let (again, reboot) = (count(RepeatMode::Again)?, count(RepeatMode::Reboot)?);
        if self.modes.contains(&RepeatMode::Reboot) && target.activate.boot == BootKind::None {
            return Err(miette::miette!(
                help = "use --modes again; or give the target activate = { boot = \"…\" }",
                "target `{}` has nothing to reboot: its programs are run from their folder",
                *target.name
            ));
        }
        if !self.modes.contains(&RepeatMode::Relink) {
            return Ok(Repeats {
                again,
                reboot,
                layouts: vec![Layout::default()],
            });
        }
        let Some(relayout) = &target.layout else {
            return Err(miette::miette!(
                help = "give it one: layout = { relink = \"… {seed} …\" }, a command that is run in the built tree",
                "target `{}` has no command that relinks it",
                *target.name
            ));
        };
        let mut layouts = Vec::new();
        for kind in self.layouts {
            if *kind != LayoutKind::Kept && !relayout.layouts.contains(kind) {
                let known: Vec<String> = relayout.layouts.iter().map(ToString::to_string).collect();
                return Err(miette::miette!(
                    help = format!("it makes: {}", known.join(", ")),
                    "target `{}` makes no layout `{kind}`",
                    *target.name
                ));
            }
            let seeds = match kind {
                LayoutKind::Random => 1..=count(RepeatMode::Relink)?,
                _ => 0..=0,
            };
            layouts.extend(seeds.map(|seed| Layout { kind: *kind, seed }));
        }
        layouts.dedup();
        Ok(Repeats {
            again,
            reboot,
            layouts,
        })
    }
}

/// How often a mode is repeated: `5` for all, `reboot=3` for one.
fn repeats_of(said: &[String], mode: RepeatMode, otherwise: u32) -> miette::Result<u32> {
    let mut repeats = otherwise;
    for part in said {
        let (name, number) = match part.split_once('=') {
            Some((name, number)) => (Some(name.trim()), number),
            None => (None, part.as_str()),
        };
        let number: u32 = number
            .trim()
            .parse()
            .ok()
            .filter(|number| (1..=10_000).contains(number))
            .ok_or_else(|| {
                miette::miette!(
                    help = "--repeat 5, or --repeat again=3,reboot=3,relink=8",
                    "`{part}` is no number of repeats"
                )
            })?;
        let named = match name {
            None => true,
            Some("again") => mode == RepeatMode::Again,
            Some("reboot") => mode == RepeatMode::Reboot,
            Some("relink") => mode == RepeatMode::Relink,
            Some(other) => {
                return Err(miette::miette!(
                    help = "the modes are again, reboot and relink",
                    "`{other}` is no mode"
                ));
            }
        };
        if named {
            repeats = number;
        }
    }
    Ok(repeats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_for_all_modes_or_each_its_own() {
        let of = |said: &[&str], mode| {
            let said: Vec<String> = said.iter().map(ToString::to_string).collect();
            repeats_of(&said, mode, 5)
        };
        assert_eq!(of(&[], RepeatMode::Again).unwrap(), 5);
        assert_eq!(of(&["3"], RepeatMode::Relink).unwrap(), 3);
        assert_eq!(of(&["again=2", "relink=8"], RepeatMode::Relink).unwrap(), 8);
        assert_eq!(of(&["again=2", "relink=8"], RepeatMode::Reboot).unwrap(), 5);
        for bad in ["0", "x", "again=", "boot=3", "-1"] {
            assert!(of(&[bad], RepeatMode::Again).is_err(), "{bad}");
        }
    }
}
