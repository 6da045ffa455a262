//! What the user sees while a study runs: a line on the terminal, or events as JSON lines. Both only
//! listen.

use backsight_conductor::Listener;
use backsight_model::{Event, SuspectRange, TestbedName, Time};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    collections::BTreeMap,
    io::Write as _,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::files::print_note;

/// The progress line that is drawn, if one is.
static LINE: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Prints a line above the progress line, if one is drawn.
pub fn print_above(text: &str) {
    let line = LINE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match line {
        Some(line) => line.suspend(|| print_note(text)),
        None => print_note(text),
    }
}

/// A progress line on standard error.
pub struct TerminalProgress {
    bar: ProgressBar,
    began: Instant,
    done_before: u64,
    round: String,
    /// What each testbed does; one without a name where there is only one.
    doing: BTreeMap<Option<TestbedName>, Doing>,
    /// The version that is built ahead, if one is.
    ahead: Option<String>,
}

#[derive(Default)]
struct Doing {
    cell: String,
    step: String,
}

impl TerminalProgress {
    /// A line on the terminal; nothing at all where standard error is none.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(
            ProgressStyle::with_template("{bar:20} {pos}/{len} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        *LINE.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
        Self {
            bar,
            began: Instant::now(),
            done_before: 0,
            round: String::new(),
            doing: BTreeMap::new(),
            ahead: None,
        }
    }

    fn left(&self) -> String {
        let done = self.bar.position() - self.done_before;
        let to_do = self
            .bar
            .length()
            .unwrap_or(0)
            .saturating_sub(self.bar.position());
        if done == 0 || to_do == 0 {
            return String::new();
        }
        let each = self.began.elapsed() / u32::try_from(done).unwrap_or(u32::MAX);
        let left = each.saturating_mul(u32::try_from(to_do).unwrap_or(u32::MAX));
        format!(" · {} left", Time(left))
    }

    /// Shows what a testbed does now, beside what the others do where there are several.
    fn show_step(&mut self, testbed: Option<&TestbedName>, step: &str) {
        let doing = self.doing.entry(testbed.cloned()).or_default();
        step.clone_into(&mut doing.step);
        let all = self
            .doing
            .iter()
            .map(|(testbed, Doing { cell, step })| match testbed {
                None => format!("{cell}{step}"),
                Some(testbed) => format!("{testbed}: {cell}{step}"),
            });
        let all: Vec<String> = all.collect();
        self.show(&all.join(" · "));
    }

    fn show(&self, doing: &str) {
        let ahead = self.ahead.as_ref();
        let ahead = ahead.map_or(String::new(), |version| {
            format!(" · building {version} ahead")
        });
        self.bar
            .set_message(format!("{}{}{ahead} · {doing}", self.round, self.left(),));
    }
}

impl Listener for TerminalProgress {
    fn on_event(&mut self, event: &Event, testbed: Option<&TestbedName>) {
        match event {
            Event::StudyStarted { trials, done, .. } => {
                // The line of the study before it, which one that was cleared never shows again.
                self.bar.reset();
                self.bar.enable_steady_tick(Duration::from_secs(1));
                self.round.clear();
                self.doing.clear();
                self.ahead = None;
                self.bar.set_length(*trials as u64);
                self.bar.set_position(*done as u64);
                self.done_before = *done as u64;
                self.began = Instant::now();
            }
            Event::RoundStarted { round, of: 0 } => self.round = format!("round {round}"),
            Event::RoundStarted { round, of } => self.round = format!("round {round} of {of}"),
            Event::TrialStarted { cell, version, .. } => {
                let version = version
                    .as_ref()
                    .map_or(String::new(), |v| format!("{v} · "));
                let doing = self.doing.entry(testbed.cloned()).or_default();
                doing.cell = format!("{version}{cell}");
                self.show_step(testbed, "");
            }
            // Of several testbeds every step would be too much for a line.
            Event::PhaseStarted { .. } | Event::StepStarted { .. } if testbed.is_some() => {}
            Event::PhaseStarted { phase } => self.show_step(None, &format!(" · {phase}")),
            Event::StepStarted {
                role,
                host,
                phase,
                command,
            } => {
                let command: String = command
                    .chars()
                    .filter(|c| !c.is_control())
                    .take(60)
                    .collect();
                self.show_step(None, &format!(" · {phase} · {role} on {host}: {command}"));
            }
            Event::TrialFinished { trial, .. } => self.bar.set_position(u64::from(*trial)),
            Event::Suspected { changes, versions } => self.round = suspected(changes, *versions),
            Event::StudyFinished { .. } => self.bar.finish_and_clear(),
            Event::BuildStarted {
                version,
                layout,
                ahead: false,
            } => {
                self.ahead = None;
                self.show_step(testbed, &format!(" · building {version}, layout {layout}"));
            }
            Event::BuildUploading {
                host,
                sent,
                of,
                there,
                ..
            } => {
                let [sent, of, there] = [sent, of, there].map(|bytes| bytes >> 20);
                let there = match there {
                    0 => String::new(),
                    some => format!(", {some} MiB were there"),
                };
                let step = format!(" · sending the build to {host}: {sent} of {of} MiB{there}");
                self.show_step(testbed, &step);
            }
            Event::BuildStarted { version, .. } => self.ahead = Some(version.clone()),
            Event::BootStarted { version, .. } => {
                self.show_step(testbed, &format!(" · booting {version}"));
            }
            Event::BuildFinished { ahead: true, .. } => self.ahead = None,
            _ => {}
        }
        if let Some(sentence) = sentence(event) {
            self.bar.suspend(|| print_note(&sentence));
        }
    }
}

/// What everybody has to know of an event: failures, warnings, and what is waited for.
pub fn sentence(event: &Event) -> Option<String> {
    let time = |seconds: &f64| Time(Duration::from_secs_f64(seconds.max(0.0)));
    Some(match event {
        Event::TrialFinished {
            cell,
            failure: Some(failure),
            ..
        } => format!("failed: {cell}: {failure}"),
        Event::HostLost { host, why } => format!("host {host} was lost: {why}"),
        Event::LeaseAwaited {
            host,
            holder,
            seconds,
            ..
        } => format!(
            "waiting up to {} for host {host}, which is leased to {holder}",
            time(seconds)
        ),
        Event::BuildAwaited { tree, seconds } => format!(
            "waiting up to {} for another study that builds in {}",
            time(seconds),
            tree.display()
        ),
        Event::HostAwaited { why, seconds, .. } => {
            format!("waiting up to {}: {why}", time(seconds))
        }
        Event::HostsBack { seconds } => format!(
            "after {} every host answers: the study goes on",
            time(&seconds.round())
        ),
        Event::Warning { message } => format!("warning: {message}"),
        Event::Note { message } => message.clone(),
        Event::JobStep { job, message } => format!("{job}: {message}"),
        Event::BuildFinished {
            version,
            failure: Some(failure),
            ..
        } => format!("no build of {version}: {failure}"),
        Event::BootFinished {
            version,
            failure: Some(failure),
            ..
        } => format!("{version} didn't boot: {failure}"),
        _ => return None,
    })
}

/// Columns of the picture of what is suspected.
const COLUMNS: usize = 24;

/// Where changes are suspected, the oldest versions on the left: of each part of the history a column as high as a change in it is
/// probable, beside the most probable part.
fn picture(changes: &[SuspectRange], versions: usize) -> String {
    let columns = COLUMNS.min(versions.saturating_sub(1));
    if columns == 0 {
        return String::new();
    }
    let mut heights = vec![0.0; columns];
    for change in changes {
        let [after, until] = change.places;
        let share = change.probability / until.saturating_sub(after).max(1) as f64;
        // Which version brought it isn't known: each of them is as probable.
        for version in after + 1..=until.min(versions - 1) {
            heights[(version - 1) * columns / (versions - 1)] += share;
        }
    }
    let highest = heights.iter().copied().fold(0.0, f64::max);
    let column = |height: f64| match height / highest {
        share if share > 0.0 => {
            ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][(share * 7.0).round() as usize]
        }
        _ => '▁',
    };
    heights.into_iter().map(column).collect()
}

/// The picture, and the likeliest changes in a few words.
fn suspected(changes: &[SuspectRange], versions: usize) -> String {
    let words = changes.iter().take(2).map(|change| {
        let percent = 100.0 * change.probability;
        let until: String = change.until.chars().filter(|c| !c.is_control()).collect();
        format!("{until} {percent:.0} %")
    });
    let words: Vec<String> = words.collect();
    format!("{} {}", picture(changes, versions), words.join(", "))
}

/// Every event as a line of JSON on standard output.
pub struct JsonLines;

impl Listener for JsonLines {
    fn on_event(&mut self, event: &Event, testbed: Option<&TestbedName>) {
        if let Event::Note { message } = event {
            return print_note(message);
        }
        let Ok(mut line) = serde_json::to_value(event) else {
            return;
        };
        // The same evidence gives the same line of a verdict, whenever it is printed.
        if let (Some(fields), false) =
            (line.as_object_mut(), matches!(event, Event::Verdict { .. }))
        {
            fields.insert("time".into(), jiff::Timestamp::now().to_string().into());
            if let Some(testbed) = testbed {
                fields.insert("testbed".into(), testbed.as_str().into());
            }
        }
        // A reader that has gone has seen enough; the study goes on.
        let _ = writeln!(std::io::stdout().lock(), "{line}");
    }
}

/// Failures and warnings as lines on standard error, where there is no terminal to draw on.
pub struct Lines;

impl Listener for Lines {
    fn on_event(&mut self, event: &Event, _testbed: Option<&TestbedName>) {
        if let Some(sentence) = sentence(event) {
            print_note(&sentence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_changes_are_suspected_is_drawn_over_the_history() {
        let range = |after, until, probability| SuspectRange {
            after: format!("v{after}"),
            until: format!("v{until}"),
            places: [after, until],
            probability,
        };
        let all = [range(8, 9, 0.5), range(2, 4, 0.5), range(0, 1, 0.0)];
        assert_eq!(suspected(&all, 11), "▁▁▅▅▁▁▁▁█▁ v9 50 %, v4 50 %");
        // Of a long history several versions share a column.
        let one = picture(&[range(998, 999, 1.0)], 1000);
        assert_eq!(
            (one.chars().count(), one.chars().last()),
            (COLUMNS, Some('█'))
        );
        for versions in 0..3 {
            assert_eq!(
                picture(&[], versions).chars().count(),
                versions.saturating_sub(1)
            );
        }
    }
}
