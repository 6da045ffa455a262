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

    fn has(self, series: usize) -> bool {
        series % self.of == self.index
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/');
        let number = |text: &str| text.parse::<usize>().ok();
        let parts = parts.and_then(|(i, n)| number(i).zip(number(n)));
        match parts {
            Some((i, n)) if 1 <= i && i <= n => Ok(Self {
                index: i - 1,
                of: n,
            }),
            _ => Err("expected a part of a whole, such as 1/8, 2/8, … 8/8".to_owned()),
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
