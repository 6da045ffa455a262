//! Posterior over sets of steps.
//!
//! Unknown are also the variance of the noise, the spread of the levels, the expected number of steps and the offset of each
//! testbed; the posterior sums over a grid of them. From each drawn segmentation, the steps that are too small to count are
//! removed, so that the answer is about the others.

use std::collections::BTreeMap;

use super::{
    BisectionGoal, PooledVersionMeans, VersionMeans,
    parameters::{GRID, PRIOR, SMALLEST_STEP, STOPPING},
    segmentation::{NoiseScale, SegmentSums, Segmentations, densities, ln_sum},
    testbed_offsets::even_deviates,
};
use crate::Random;

/// Where a step may be: after the measured version `after`, at the latest at the measured version `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangeLocation {
    /// The last version known to be without it.
    pub after: usize,
    /// The first version known to have it.
    pub until: usize,
}

/// What the measurements say about the steps: probabilities by set of steps.
#[derive(Debug, Clone)]
pub struct Posterior {
    /// The measurements, by testbed.
    pub(super) measurements: PooledVersionMeans,
    /// All measurements without the offsets of the testbeds.
    pub(super) means: VersionMeans,
    pub(super) sums: SegmentSums,
    /// Posterior geometric means of the variances, for the choice of the next measurement.
    pub(super) typical: NoiseScale,
    /// Sets of gaps with a step, with their probabilities, the most probable first.
    pub(super) sets: Vec<(Vec<usize>, f64)>,
    pub(super) goal: BisectionGoal,
    changed: f64,
    smallest: f64,
    /// Posterior median of the largest step.
    largest: f64,
    /// The largest step is smaller than this with the confidence of the goal.
    ruled_out: f64,
    /// Probability of changes that cancel that may remain when the search ends.
    left_hidden: f64,
}

impl Posterior {
    /// Computes the posterior from the measurements of each testbed, all of the same versions. `None` as long as the first or
    /// the last version has no measurement, or no version has two. The same measurements, goal and seed give the same
    /// posterior.
    #[must_use]
    pub fn from_measurements(
        by_testbed: &[VersionMeans],
        goal: &BisectionGoal,
        seed: u64,
    ) -> Option<Self> {
        let measurements = PooledVersionMeans::from_testbeds(by_testbed);
        let points = measurements.means().points();
        let (first, last) = (points.first()?, points.last()?);
        if first.at != 0 || last.at + 1 != measurements.means().versions() || points.len() < 2 {
            return None;
        }
        let (variance, freedom) = pooled(measurements.pooled(), goal.noise)?;
        let (low, high) = points.iter().fold((f64::MAX, f64::MIN), |(low, high), p| {
            (low.min(p.mean), high.max(p.mean))
        });
        let rounding = GRID.rounding * low.abs().max(high.abs()).max(f64::MIN_POSITIVE);
        let variance = variance.max(rounding * rounding);
        let centre = first.mean.midpoint(last.mean);
        let scales = scales(variance, freedom, high - low);
        let mut random = Random::seeded(seed);
        let mut search = GridBuilder {
            centre,
            several: goal.several,
            random: &mut random,
        };
        let (measurements, grid) = match measurements.has_several_testbeds() {
            false => {
                let grid = search.build_grid(measurements.means(), &scales);
                (measurements, HypothesisGrid::pool(vec![(grid, 0.0)]))
            }
            true => search.build_over_testbeds(measurements, variance, scales),
        };
        let means = measurements.means().clone();
        let sums = SegmentSums::new(&means, centre);
        let typical = grid.typical();
        let cuts = grid.draw(GRID.draws, &mut random);
        let (largest, ruled_out) = largest(&cuts, goal.confidence);
        let smallest = goal
            .smallest
            .unwrap_or_else(|| smallest(largest, typical.noise, goal.tellable));
        let mut sets: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        let mut changed = 0;
        for cut in cuts {
            let counted = cut.without_small_steps(smallest);
            changed += usize::from(counted.net().abs() >= smallest);
            *sets.entry(counted.steps).or_default() += 1;
        }
        let mut sets: Vec<(Vec<usize>, f64)> = sets
            .into_iter()
            .map(|(steps, n)| (steps, n as f64 / GRID.draws as f64))
            .collect();
        sets.sort_by(|a, b| b.1.total_cmp(&a.1));
        Some(Self {
            measurements,
            means,
            sums,
            typical,
            sets,
            goal: *goal,
            changed: changed as f64 / GRID.draws as f64,
            smallest,
            largest,
            ruled_out,
            left_hidden: goal.hidden,
        })
    }

    /// The same posterior with another limit for the probability of changes that cancel when the search ends; until then the
    /// goal's limit holds.
    #[must_use]
    pub fn with_left_hidden(self, left_hidden: f64) -> Self {
        Self {
            left_hidden,
            ..self
        }
    }

    /// The measurements without the offsets of the testbeds.
    #[must_use]
    pub fn measurements(&self) -> &PooledVersionMeans {
        &self.measurements
    }

    /// The most probable set of steps, ascending, with its probability. No steps where every change that matters is ruled out;
    /// the probability is then the goal's confidence.
    #[must_use]
    pub fn most_probable(&self) -> (Vec<ChangeLocation>, f64) {
        if self.is_within_margin() {
            return (Vec::new(), self.goal.confidence);
        }
        let (steps, probability) = &self.sets[0];
        let places = steps.iter().map(|gap| self.place(*gap)).collect();
        (places, *probability)
    }

    /// Each gap between measured versions in which a step is possible, with its probability.
    #[must_use]
    pub fn locations(&self) -> Vec<(ChangeLocation, f64)> {
        let gaps = self.gap_probabilities().into_iter().enumerate();
        gaps.filter(|(_, probability)| *probability > 0.0)
            .map(|(gap, probability)| (self.place(gap), probability))
            .collect()
    }

    /// Probability that the last version differs from the first.
    #[must_use]
    pub fn change_probability(&self) -> f64 {
        self.changed
    }

    /// Probability of steps between ends that don't differ.
    pub(super) fn probability_within(&self) -> f64 {
        let none = self.sets.iter().find(|(steps, _)| steps.is_empty());
        (1.0 - self.changed - none.map_or(0.0, |(_, probability)| *probability)).max(0.0)
    }

    /// One less the goal's confidence.
    pub(super) fn allowed_doubt(&self) -> f64 {
        1.0 - self.goal.confidence
    }

    /// The smallest step that counts, in the metric's unit.
    #[must_use]
    pub fn smallest_step(&self) -> f64 {
        self.smallest
    }

    /// The largest step is smaller than this with the goal's confidence, in the metric's unit; steps that cancel between two
    /// measured versions excepted.
    #[must_use]
    pub fn ruled_out(&self) -> f64 {
        self.ruled_out
    }

    /// Whether the posterior median of the largest step is below the margin.
    #[must_use]
    pub fn is_below_margin(&self) -> bool {
        self.goal.margin.is_some_and(|margin| self.largest < margin)
    }

    /// Whether every change that matters is ruled out, and no smaller one shows by itself.
    #[must_use]
    pub fn is_within_margin(&self) -> bool {
        self.changed < STOPPING.certain_change
            && self
                .goal
                .margin
                .is_some_and(|margin| self.ruled_out <= margin)
    }

    /// Posterior median of the largest step, in the metric's unit; 0 if there probably is none.
    #[must_use]
    pub fn largest_step(&self) -> f64 {
        self.largest
    }

    /// The standard deviation of one measurement.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        self.typical.noise.sqrt()
    }

    /// Probability, before any measurement there, that two changes cancel within one of the stretches without a measurement.
    #[must_use]
    pub fn hidden_probability(&self) -> f64 {
        self.hidden_probability_with(&[])
    }

    /// The same once these versions are measured too.
    pub(super) fn hidden_probability_with(&self, also: &[usize]) -> f64 {
        let prior = match self.goal.cancelling {
            true => PRIOR.cancelling_pair_if_asked,
            false => PRIOR.cancelling_pair,
        };
        let between = self.measured_pairs(also).into_iter();
        prior * between.map(|pair| self.share_of_pairs(pair)).sum::<f64>()
    }

    /// Pairs of neighbours among the measured versions and these.
    pub(super) fn measured_pairs(&self, also: &[usize]) -> Vec<(usize, usize)> {
        let measured = self.means.points().iter().map(|point| point.at);
        let mut looked_at: Vec<usize> = measured.chain(also.iter().copied()).collect();
        looked_at.sort_unstable();
        looked_at.dedup();
        looked_at
            .windows(2)
            .map(|pair| (pair[0], pair[1]))
            .collect()
    }

    /// Entropy of the sets of steps and of their places within the gaps, in nats.
    #[must_use]
    pub fn entropy(&self) -> f64 {
        let of_sets = self.sets.iter().map(|(steps, probability)| {
            let within = steps.iter().map(|gap| match self.is_resolved(*gap) {
                true => 0.0,
                false => (self.means.places(*gap) as f64).ln(),
            });
            probability * (within.sum::<f64>() - probability.ln())
        });
        of_sets.sum()
    }

    /// Whether the search for changes that cancel goes on once these versions are measured too. It doesn't where nothing seems
    /// to have changed, unless the goal asks for it.
    pub(super) fn must_search_hidden(&self, also: &[usize]) -> bool {
        let may_remain = match self.is_known() {
            true => self.goal.hidden.min(self.left_hidden),
            false => self.goal.hidden,
        };
        let seems_changed = self.changed >= STOPPING.likely_change && !self.is_within_margin();
        let is_asked = self.goal.cancelling || seems_changed;
        is_asked && self.hidden_probability_with(also) > may_remain
    }

    /// Whether the most probable set is as probable as the goal asks, and its steps as well located.
    fn is_known(&self) -> bool {
        if self.is_within_margin() {
            return true;
        }
        let (steps, probability) = &self.sets[0];
        if steps.is_empty() && self.changed > STOPPING.max_change_beside_none {
            return false;
        }
        *probability >= self.goal.confidence && steps.iter().all(|gap| self.is_resolved(*gap))
    }

    /// A version whose single measurement decides too much.
    pub(super) fn version_to_recheck(&self) -> Option<usize> {
        self.lone_version().or_else(|| self.deviating_version())
    }

    /// A version with one measurement that alone lies between two steps: an outlier would look the same.
    fn lone_version(&self) -> Option<usize> {
        let points = self.means.points();
        let mut alone = self.stretches().filter(|(first, last)| first == last);
        let once = alone.find(|(point, last)| {
            let is_end = *point == 0 || last + 1 == points.len();
            !is_end && points[*point].n < 2.0
        });
        once.map(|(point, _)| points[point].at)
    }

    /// After a search for changes that cancel, a version with one measurement that is nearer to where a change like the largest
    /// would put it than to its own level: an outlier, or two changes that cancel.
    fn deviating_version(&self) -> Option<usize> {
        if self.left_hidden >= STOPPING.recheck_below_hidden || !self.is_known() {
            return None;
        }
        let much =
            (STOPPING.off_share * self.largest).max(STOPPING.off_deviations * self.deviation());
        self.stretches().find_map(|stretch| {
            let (level, _) = self.sums.mean_of(stretch, &self.typical);
            let (first, last) = stretch;
            let mut points = self.means.points()[first..=last].iter();
            let off = points.find(|point| point.n < 2.0 && (point.mean - level).abs() > much);
            off.map(|point| point.at)
        })
    }

    /// The stretches of the most probable set, each by its first and its last measured version.
    fn stretches(&self) -> impl Iterator<Item = (usize, usize)> {
        stretches(&self.sets[0].0, self.means.points().len())
    }

    /// Whether the most probable set is the answer and nothing more needs to be measured.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let is_sure = self.is_within_margin() || self.version_to_recheck().is_none();
        self.is_known() && !self.must_search_hidden(&[]) && is_sure
    }

    /// Whether a step in this gap is located well enough, or can't be located better.
    pub(super) fn is_resolved(&self, gap: usize) -> bool {
        self.means.places(gap) <= self.goal.resolution || !self.means.has_open_version(gap)
    }

    /// The share of all pairs of places that lies between two measured versions; 0 if nothing can be measured between them.
    pub(super) fn share_of_pairs(&self, between: (usize, usize)) -> f64 {
        let pairs = |places: usize| (places * places.saturating_sub(1)) as f64;
        match self.means.is_open_between(between) {
            true => pairs(between.1 - between.0) / pairs(self.means.versions() - 1),
            false => 0.0,
        }
    }

    /// Probability of a step, by gap.
    pub(super) fn gap_probabilities(&self) -> Vec<f64> {
        let mut per_gap = vec![0.0; self.means.points().len() - 1];
        for (steps, probability) in &self.sets {
            for gap in steps {
                per_gap[*gap] += probability;
            }
        }
        per_gap
    }

    fn place(&self, gap: usize) -> ChangeLocation {
        ChangeLocation {
            after: self.means.points()[gap].at,
            until: self.means.points()[gap + 1].at,
        }
    }
}

/// Pools the variance of the measurements with the one that is known beforehand: variance, degrees of freedom.
fn pooled(seen: Option<(f64, f64)>, known: Option<(f64, f64)>) -> Option<(f64, f64)> {
    match (seen, known) {
        (Some((a, of_a)), Some((b, of_b))) => {
            let freedom = of_a + of_b;
            Some(((a * of_a + b * of_b) / freedom, freedom))
        }
        (one, other) => one.or(other),
    }
}

/// Variances of the grid: noise × levels.
fn scales(variance: f64, freedom: f64, range: f64) -> Vec<NoiseScale> {
    let mut rows = GRID.noise_factors.iter();
    let (_, factors) = rows
        .find(|(below, _)| freedom < *below)
        .unwrap_or(&GRID.noise_factors[2]);
    let mut scales = Vec::with_capacity(factors.len() * GRID.level_spreads);
    for factor in *factors {
        let noise = variance * factor;
        let from = GRID.level_spread_from * noise.sqrt();
        let to = GRID.level_spread_to * range.max(2.0 * noise.sqrt());
        let ratio = (to / from).powf(1.0 / (GRID.level_spreads - 1) as f64);
        scales.extend((0..GRID.level_spreads).map(|n| {
            let spread = from * ratio.powi(n as i32);
            NoiseScale {
                noise,
                levels: spread * spread,
            }
        }));
    }
    scales
}

/// One point of the grid.
struct Hypothesis {
    scale: NoiseScale,
    cuts: Segmentations,
    weight: f64,
    /// Probability of no step.
    none: f64,
    /// Index of its sums in the grid.
    of: usize,
}

/// The grid: noise, spread of the levels, expected number of steps, offsets of the testbeds.
struct HypothesisGrid {
    cells: Vec<Hypothesis>,
    /// The measurements without the offsets, for each set of offsets.
    sums: Vec<SegmentSums>,
    /// Gaps between measured versions.
    gaps: usize,
}

/// What a grid is made with.
struct GridBuilder<'a> {
    centre: f64,
    several: f64,
    random: &'a mut Random,
}

impl GridBuilder<'_> {
    /// The grid for given offsets; its weights aren't normalized.
    fn build_grid(&self, means: &VersionMeans, scales: &[NoiseScale]) -> HypothesisGrid {
        let sums = SegmentSums::new(means, self.centre);
        let points = means.points();
        let n: f64 = points.iter().map(|point| point.n).sum();
        let squares: f64 = points.iter().map(|point| point.squares).sum();
        let places = (means.versions() - 1) as f64;
        let numbers = [
            (PRIOR.expected_if_single, 1.0 - self.several),
            (PRIOR.expected_if_several, self.several),
        ];
        let mut cells = Vec::with_capacity(scales.len() * numbers.len());
        for scale in scales {
            let density = densities(&sums, points.len(), scale);
            for (expected, weight) in numbers {
                let chance = (expected / places).min(0.5);
                let cuts = Segmentations::new(means, density.clone(), chance);
                // "No step" has its own prior: the one that follows from the chance per place is divided out.
                let by_chance = (places * (-chance).ln_1p()).exp();
                let whole = (cuts.density_without_step() - cuts.total_density())
                    .exp()
                    .min(1.0);
                let (without, with) = (
                    whole * PRIOR.no_change / by_chance,
                    (1.0 - whole) * (1.0 - PRIOR.no_change) / (1.0 - by_chance),
                );
                let ln = f64::ln(weight) + cuts.total_density() + (without + with).ln()
                    - 0.5 * (n * scale.noise.ln() + squares / scale.noise);
                cells.push(Hypothesis {
                    scale: *scale,
                    cuts,
                    weight: ln,
                    none: without / (without + with),
                    of: 0,
                });
            }
        }
        HypothesisGrid {
            cells,
            gaps: points.len() - 1,
            sums: vec![sums],
        }
    }

    /// The grid over the offsets as well. First offsets that the versions measured on several testbeds make probable, weighted
    /// by how well steps explain the rest; then offsets drawn given the steps of that grid.
    fn build_over_testbeds(
        &mut self,
        measurements: PooledVersionMeans,
        variance: f64,
        scales: Vec<NoiseScale>,
    ) -> (PooledVersionMeans, HypothesisGrid) {
        let alone =
            HypothesisGrid::pool(vec![(self.build_grid(measurements.means(), &scales), 0.0)]);
        let Some(estimate) = measurements.offsets_by_versions(variance) else {
            return (measurements, alone);
        };
        let scales = alone.probable(&scales);
        let deviates = even_deviates(GRID.offsets, estimate.len(), self.random);
        let first = deviates.iter().map(|deviates| {
            let wider: Vec<f64> = deviates.iter().map(|z| GRID.offset_widening * z).collect();
            let means = measurements.means_with_offsets(&estimate.at(&wider));
            // Importance weights: the density of the draw is divided out.
            let drawn = -0.5 * deviates.iter().map(|z| z * z).sum::<f64>();
            (self.build_grid(&means, &scales), -drawn)
        });
        let first = HypothesisGrid::pool(first.collect());
        let scales = first.probable(&scales);
        let cuts = first.draw(GRID.offsets, self.random);
        let deviates = even_deviates(GRID.offsets, estimate.len(), self.random);
        let points: Vec<usize> = measurements.means().points().iter().map(|p| p.at).collect();
        let drawn = cuts.iter().zip(&deviates).map(|(cut, deviates)| {
            let stretches = cut.stretches(&points);
            let by_cut = measurements.offsets_by_stretches(stretches, &cut.scale, self.centre);
            by_cut.as_ref().unwrap_or(&estimate).at(deviates)
        });
        let drawn: Vec<Vec<f64>> = drawn.collect();
        let second = drawn.iter().map(|offsets| {
            let grid = self.build_grid(&measurements.means_with_offsets(offsets), &scales);
            // Drawn from the posterior: each set of offsets has the same weight.
            let all = grid.total_density();
            (grid, -all)
        });
        let second = HypothesisGrid::pool(second.collect());
        (measurements.with_drawn_offsets(&drawn), second)
    }
}

impl HypothesisGrid {
    /// Joins grids of the same versions; adds to the logarithms of each one's weights, and normalizes.
    fn pool(grids: Vec<(Self, f64)>) -> Self {
        let mut all = Self {
            cells: Vec::new(),
            sums: Vec::new(),
            gaps: 0,
        };
        for (grid, moved) in grids {
            let of = all.sums.len();
            all.gaps = grid.gaps;
            all.sums.extend(grid.sums);
            all.cells
                .extend(grid.cells.into_iter().map(|cell| Hypothesis {
                    weight: cell.weight + moved,
                    of: of + cell.of,
                    ..cell
                }));
        }
        let total = all.total_density();
        for one in &mut all.cells {
            one.weight = (one.weight - total).exp();
        }
        all
    }

    /// ln of the sum of the weights, which are logarithms.
    fn total_density(&self) -> f64 {
        ln_sum(&self.cells.iter().map(|one| one.weight).collect::<Vec<_>>())
    }

    /// The scales whose weight isn't negligible.
    fn probable(&self, scales: &[NoiseScale]) -> Vec<NoiseScale> {
        let of = |scale: &NoiseScale| -> f64 {
            let own = self.cells.iter().filter(|one| one.scale == *scale);
            own.map(|one| one.weight).sum()
        };
        let probable = scales
            .iter()
            .filter(|scale| of(scale) >= GRID.negligible_scale);
        probable.copied().collect()
    }

    /// Posterior geometric means of both variances.
    fn typical(&self) -> NoiseScale {
        let over = |of: fn(&NoiseScale) -> f64| -> f64 {
            let weighed = self
                .cells
                .iter()
                .map(|one| one.weight * of(&one.scale).ln());
            weighed.sum::<f64>().exp()
        };
        NoiseScale {
            noise: over(|scale| scale.noise),
            levels: over(|scale| scale.levels),
        }
    }

    /// Draws segmentations from the posterior (systematic sampling over the grid).
    fn draw(mut self, number: usize, random: &mut Random) -> Vec<DrawnSegmentation> {
        let last = self.gaps;
        let offset = random.uniform();
        let (mut at, mut passed) = (0, 0.0);
        let mut cuts = Vec::with_capacity(number);
        for n in 0..number {
            let target = (n as f64 + offset) / number as f64;
            while at + 1 < self.cells.len() && passed + self.cells[at].weight < target {
                passed += self.cells[at].weight;
                at += 1;
            }
            let one = &mut self.cells[at];
            let sums = &self.sums[one.of];
            let steps = match random.uniform() < one.none {
                true => Vec::new(),
                false => draw_with_step(&mut one.cuts, random),
            };
            let mut begin = 0;
            let levels = steps.iter().copied().chain([last]).map(|end| {
                let (mean, variance) = sums.mean_of((begin, end), &one.scale);
                begin = end + 1;
                mean + variance.sqrt() * random.normal()
            });
            let levels = levels.collect();
            cuts.push(DrawnSegmentation {
                scale: one.scale,
                steps,
                levels,
            });
        }
        cuts
    }
}

/// Draws a segmentation with at least one step; gives up where that has nearly no probability, and returns none.
fn draw_with_step(cuts: &mut Segmentations, random: &mut Random) -> Vec<usize> {
    let draws = std::iter::repeat_with(|| cuts.draw(random)).take(64);
    draws
        .into_iter()
        .find(|steps| !steps.is_empty())
        .unwrap_or_default()
}

/// A drawn segmentation: the gaps with a step, and the levels between them.
#[derive(Debug, Clone)]
struct DrawnSegmentation {
    scale: NoiseScale,
    steps: Vec<usize>,
    levels: Vec<f64>,
}

impl DrawnSegmentation {
    /// First and last position of each stretch, given the positions of the measured versions.
    fn stretches(&self, points: &[usize]) -> impl Iterator<Item = (usize, usize)> {
        stretches(&self.steps, points.len()).map(|(begin, end)| (points[begin], points[end]))
    }

    fn largest_step(&self) -> f64 {
        let sizes = self.levels.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        sizes.fold(0.0, f64::max)
    }

    fn net(&self) -> f64 {
        self.levels[self.levels.len() - 1] - self.levels[0]
    }

    /// Removes the steps below `smallest`, the smallest first.
    fn without_small_steps(mut self, smallest: f64) -> Self {
        loop {
            let sizes = self.levels.windows(2).map(|pair| (pair[1] - pair[0]).abs());
            match sizes.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)) {
                Some((step, size)) if size < smallest => {
                    self.steps.remove(step);
                    let level = self.levels[step].midpoint(self.levels[step + 1]);
                    self.levels.remove(step);
                    self.levels[step] = level;
                }
                _ => return self,
            }
        }
    }
}

/// First and last point of each stretch between the steps.
fn stretches(steps: &[usize], points: usize) -> impl Iterator<Item = (usize, usize)> {
    let begins = std::iter::once(0).chain(steps.iter().map(|gap| gap + 1));
    begins.zip(steps.iter().copied().chain([points - 1]))
}

/// Median and upper quantile (at `confidence`) of the largest step.
fn largest(cuts: &[DrawnSegmentation], confidence: f64) -> (f64, f64) {
    let mut largest: Vec<f64> = cuts.iter().map(DrawnSegmentation::largest_step).collect();
    largest.sort_by(f64::total_cmp);
    let rank = (confidence * largest.len() as f64).ceil() as usize;
    let of_few = largest[rank.min(largest.len() - 1)];
    (largest[largest.len() / 2], of_few)
}

/// The smallest step that counts: see [`SMALLEST_STEP`].
fn smallest(largest: f64, noise: f64, tellable: f64) -> f64 {
    let noise = noise.sqrt();
    let limits = &SMALLEST_STEP;
    let largest = largest.max(limits.largest_at_least * noise);
    let most = (limits.max_share * largest).max(limits.max_size_at_least * noise);
    (tellable * noise).clamp(limits.min_share * largest, most)
}
