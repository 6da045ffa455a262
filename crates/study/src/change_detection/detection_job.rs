//! Searches series side by side, and gives what it found in the order in which they came.
//!
//! One thread reads chunks of series, all others search them; no more than a few chunks are there at a time, however many
//! series follow.

use backsight_report::change_points::SeriesChanges;
use backsight_stats::changes::DetectionOptions;
use miette::IntoDiagnostic as _;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use std::sync::mpsc::{SyncSender, sync_channel};

use super::{
    false_discovery::{FalseDiscoveryRate, adjust_for_all_series},
    input::{DetectionSeries, DetectionStream},
    picture_folder::PictureFolder,
    series_search::find_changes,
    short_series::ShortSeries,
};

/// Series of a chunk, and points: whichever comes first.
const MOST_SERIES: usize = 512;
const MOST_POINTS: usize = 1 << 18;

/// Chunks that wait.
const WAITING: usize = 2;

/// A part of all series: the `index`th, from 0, of `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from 0.
    pub index: usize,
    /// How many parts there are.
    pub of: usize,
}

impl Shard {
    /// All series.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// The part that this task of a job array of Slurm takes, by what Slurm tells it: the number of each task, its first and its last one, and
    /// how many tasks there are.
    ///
    /// # Errors
    /// It is no such task, or its numbers have gaps that aren't equal.
    pub fn of_slurm_task(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let number = |name: &str| {
            let value = variable(name).and_then(|text| text.trim().parse::<usize>().ok());
            value.ok_or_else(|| {
                format!("`slurm` is for the tasks of a job array of Slurm: {name} isn't set")
            })
        };
        let [task, first, last, of] = [
            "SLURM_ARRAY_TASK_ID",
            "SLURM_ARRAY_TASK_MIN",
            "SLURM_ARRAY_TASK_MAX",
            "SLURM_ARRAY_TASK_COUNT",
        ]
        .map(number);
        let (task, first, last, of) = (task?, first?, last?, of?);
        let uneven = || {
            format!(
                "the tasks of this array aren't evenly numbered: ask for --array=0-{}",
                of.saturating_sub(1)
            )
        };
        let span = last.checked_sub(first).ok_or_else(uneven)?;
        let step = match of {
            0 => return Err(uneven()),
            1 => 1,
            _ => span / (of - 1),
        };
        let place = task.checked_sub(first).ok_or_else(uneven)?;
        match step {
            1.. if step * (of - 1) == span && place % step == 0 && place / step < of => Ok(Self {
                index: place / step,
                of,
            }),
            _ => Err(uneven()),
        }
    }

    fn has(self, series: usize) -> bool {
        series % self.of == self.index
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "slurm" {
            return Self::of_slurm_task(|name| std::env::var(name).ok());
        }
        let parts = text.split_once('/');
        let number = |text: &str| text.parse::<usize>().ok();
        let parts = parts.and_then(|(i, n)| number(i).zip(number(n)));
        match parts {
            Some((i, n)) if 1 <= i && i <= n => Ok(Self {
                index: i - 1,
                of: n,
            }),
            _ => Err("expected a part of a whole, such as 1/8, 2/8, … 8/8, or slurm".to_owned()),
        }
    }
}

/// How to search.
pub struct DetectionJob {
    /// The search of each series.
    pub search: DetectionOptions,
    /// Which series.
    pub shard: Shard,
    /// Threads; 0: as many as there are processors.
    pub threads: usize,
    /// Whether each series gets a picture.
    pub with_svg: bool,
}

/// What a search for one document found.
pub struct FoundSeries {
    /// Series with findings, or all; with tests that are adjusted for all.
    pub series: Vec<SeriesChanges>,
    /// How many series were searched.
    pub count: usize,
    /// Those that are too short to show a change.
    pub too_short: ShortSeries,
}

impl DetectionJob {
    /// Searches all series of the shard for one document. Series without findings are no more than a number, unless `keep_all`.
    ///
    /// # Errors
    /// A series can't be read, or its picture can't be written.
    pub fn find(
        &self,
        series: DetectionStream,
        keep_all: bool,
        pictures: &mut PictureFolder<'_>,
        false_share: FalseDiscoveryRate,
    ) -> miette::Result<FoundSeries> {
        let mut found = FoundSeries {
            series: Vec::new(),
            count: 0,
            too_short: ShortSeries::default(),
        };
        let mut others = Vec::new();
        self.run(series, |mut series| {
            found.count += 1;
            pictures.write(&mut series)?;
            found.too_short.add(&series);
            if keep_all || series.has_findings() || found.count == 1 {
                found.series.push(series);
            } else {
                others.extend(series.tests());
            }
            Ok(())
        })?;
        adjust_for_all_series(&mut found.series, &others, false_share);
        Ok(found)
    }

    /// Searches all series of the shard and gives what was found in each to `take`, in order.
    ///
    /// # Errors
    /// A series can't be read, or `take` fails.
    pub fn run(
        &self,
        series: DetectionStream,
        mut take: impl FnMut(SeriesChanges) -> miette::Result<()>,
    ) -> miette::Result<()> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads);
        let pool = pool.build().into_diagnostic()?;
        std::thread::scope(|scope| {
            let (sender, chunks) = sync_channel(WAITING);
            scope.spawn(|| read(series, self.shard, sender));
            for chunk in chunks {
                let chunk: Vec<DetectionSeries> = chunk?;
                let found: Vec<SeriesChanges> = pool.install(|| {
                    let searched = chunk.into_par_iter();
                    let found = searched.map(|one| find_changes(one, &self.search, self.with_svg));
                    found.collect()
                });
                found.into_iter().try_for_each(&mut take)?;
            }
            Ok(())
        })
    }
}

/// Sends chunks until there are no more, an error, or nobody who wants them.
fn read(
    series: DetectionStream,
    shard: Shard,
    to: SyncSender<miette::Result<Vec<DetectionSeries>>>,
) {
    let (mut chunk, mut points) = (Vec::new(), 0);
    for (i, one) in series.enumerate() {
        match one {
            Ok(_) if !shard.has(i) => {}
            Ok(one) => {
                points += one.values.len();
                chunk.push(one);
            }
            Err(error) => {
                // The chunk's beginning is worth nothing without its end.
                let _ = to.send(Err(error));
                return;
            }
        }
        if chunk.len() >= MOST_SERIES || points >= MOST_POINTS {
            points = 0;
            if to.send(Ok(std::mem::take(&mut chunk))).is_err() {
                return;
            }
        }
    }
    let _ = to.send(Ok(chunk));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(task: &str, first: &str, last: &str, of: &str) -> Result<Shard, String> {
        Shard::of_slurm_task(|name| {
            let value = match name {
                "SLURM_ARRAY_TASK_ID" => task,
                "SLURM_ARRAY_TASK_MIN" => first,
                "SLURM_ARRAY_TASK_MAX" => last,
                _ => of,
            };
            (!value.is_empty()).then(|| value.to_owned())
        })
    }

    #[test]
    fn tasks_of_an_array_are_parts_of_the_whole_whatever_their_numbers() {
        let part = |index, of| Ok(Shard { index, of });
        assert_eq!(task("0", "0", "99", "100"), part(0, 100));
        assert_eq!(task("99", "0", "99", "100"), part(99, 100));
        assert_eq!(task("8", "1", "8", "8"), part(7, 8));
        assert_eq!(task("10", "4", "16", "3"), part(1, 3));
        assert_eq!(task("5", "5", "5", "1"), part(0, 1));
    }

    #[test]
    fn an_array_with_gaps_would_lose_series_and_is_refused() {
        let error = task("3", "1", "4", "3").unwrap_err();
        assert!(error.contains("--array=0-2"), "{error}");
        assert!(task("2", "1", "4", "2").is_err());
        assert!(task("", "0", "3", "4").unwrap_err().contains("job array"));
    }
}
