//! The posterior over sets of steps.
//!
//! Noise, spread of the means, number of steps, and what each testbed adds to what is measured on it, are unknown: they are
//! summed over on a grid. Steps that are too small to count are taken out of each drawn cut, so that the answer is about
//! those that do.

use std::collections::BTreeMap;

use super::{
    BisectionGoal, PooledVersionMeans, VersionMeans,
    parameters::{GRID, PRIOR, SMALLEST_STEP, STOPPING},
    segmentation::{NoiseScale, SegmentSums, Segmentations, densities, ln_sum},
    testbed_offsets::even_deviates,
};
use crate::Random;

/// Where a step may be: behind the measured version `after`, at the latest at the measured version `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangeLocation {
    /// The last version that surely hasn't it.
    pub after: usize,
    /// The first that surely has it.
    pub until: usize,
}

/// What is believed about the steps of a course.
#[derive(Debug, Clone)]
pub struct Posterior {
    /// What was measured, and on which testbed.
    pub(super) joined: PooledVersionMeans,
    /// All of it, without what the testbeds add.
    pub(super) course: VersionMeans,
    pub(super) sums: SegmentSums,
    /// The noise and the spread of means that are likely, for what is next.
    pub(super) typical: NoiseScale,
    /// Sets of gaps with steps and how probable they are, the most probable first.
    pub(super) sets: Vec<(Vec<usize>, f64)>,
    pub(super) aim: BisectionGoal,
    changed: f64,
    smallest: f64,
    /// The largest step of a typical cut.
    largest: f64,
    /// No step is this large, with the asked confidence.
    ruled_out: f64,
    /// How probable hidden changes may remain in the end.
    left_hidden: f64,
}

impl Posterior {
    /// What courses of the same versions, one for each testbed, make believe; `None` as long as the first or the last
    /// version wasn't measured, or nothing was measured twice. The same courses, aim and seed give the same belief.
    #[must_use]
    pub fn from_measurements(
        courses: &[VersionMeans],
        aim: &BisectionGoal,
        seed: u64,
    ) -> Option<Self> {
        let joined = PooledVersionMeans::from_testbeds(courses);
        let points = joined.course().points();
        let (first, last) = (points.first()?, points.last()?);
        if first.at != 0 || last.at + 1 != joined.course().versions() || points.len() < 2 {
            return None;
        }
        let (variance, freedom) = pooled(joined.pooled(), aim.noise)?;
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
            several: aim.several,
            random: &mut random,
        };
        let (joined, grid) = match joined.is_of_several() {
            false => {
                let grid = search.grid(joined.course(), &scales);
                (joined, HypothesisGrid::together(vec![(grid, 0.0)]))
            }
            true => search.over_testbeds(joined, variance, scales),
        };
        let course = joined.course().clone();
        let sums = SegmentSums::new(&course, centre);
        let typical = grid.typical();
        let cuts = grid.draw(GRID.draws, &mut random);
        let (largest, ruled_out) = largest(&cuts, aim.confidence);
        let smallest = aim
            .smallest
            .unwrap_or_else(|| smallest(largest, typical.noise, aim.tellable));
        let mut sets: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        let mut changed = 0;
        for cut in cuts {
            let counted = cut.that_count(smallest);
            changed += usize::from(counted.net().abs() >= smallest);
            *sets.entry(counted.steps).or_default() += 1;
        }
        let mut sets: Vec<(Vec<usize>, f64)> = sets
            .into_iter()
            .map(|(steps, n)| (steps, n as f64 / GRID.draws as f64))
            .collect();
        sets.sort_by(|a, b| b.1.total_cmp(&a.1));
        Some(Self {
            joined,
            course,
            sums,
            typical,
            sets,
            aim: *aim,
            changed: changed as f64 / GRID.draws as f64,
            smallest,
            largest,
            ruled_out,
            left_hidden: aim.hidden,
        })
    }

    /// The same belief of who wants to know more in the end than the aim says about changes that cancel: they may remain
    /// hidden no more probably than this. What else is unknown is looked into first.
    #[must_use]
    pub fn with_left_hidden(self, left_hidden: f64) -> Self {
        Self {
            left_hidden,
            ..self
        }
    }

    /// What was measured, without what each testbed is believed to add.
    #[must_use]
    pub fn joined(&self) -> &PooledVersionMeans {
        &self.joined
    }

    /// The most probable set of steps, ascending, and its probability; no steps where every change that matters is ruled out,
    /// and how probable that is.
    #[must_use]
    pub fn best(&self) -> (Vec<ChangeLocation>, f64) {
        if self.is_within_margin() {
            return (Vec::new(), self.aim.confidence);
        }
        let (steps, probability) = &self.sets[0];
        let places = steps.iter().map(|gap| self.place(*gap)).collect();
        (places, *probability)
    }

    /// For each stretch between measured versions that may have one, how probable a step there is.
    #[must_use]
    pub fn places(&self) -> Vec<(ChangeLocation, f64)> {
        let gaps = self.per_gap().into_iter().enumerate();
        gaps.filter(|(_, probability)| *probability > 0.0)
            .map(|(gap, probability)| (self.place(gap), probability))
            .collect()
    }

    /// How probable it is that the last version differs from the first.
    #[must_use]
    pub fn changed(&self) -> f64 {
        self.changed
    }

    /// How probable it is that there are steps between ends that are alike.
    pub(super) fn within(&self) -> f64 {
        let none = self.sets.iter().find(|(steps, _)| steps.is_empty());
        (1.0 - self.changed - none.map_or(0.0, |(_, probability)| *probability)).max(0.0)
    }

    /// What the answer may leave open.
    pub(super) fn doubt(&self) -> f64 {
        1.0 - self.aim.confidence
    }

    /// Smaller steps than this aren't counted, in the metric's unit.
    #[must_use]
    pub fn smallest(&self) -> f64 {
        self.smallest
    }

    /// No step is as large as this with the asked confidence, in the metric's unit, among those that would show where
    /// something was measured.
    #[must_use]
    pub fn ruled_out(&self) -> f64 {
        self.ruled_out
    }

    /// Whether the largest step is smaller than the margin, as far as is known.
    #[must_use]
    pub fn is_below_margin(&self) -> bool {
        self.aim.margin.is_some_and(|margin| self.largest < margin)
    }

    /// Whether every change that matters is ruled out, and none that is smaller shows by itself.
    #[must_use]
    pub fn is_within_margin(&self) -> bool {
        self.changed < STOPPING.certain_change
            && self
                .aim
                .margin
                .is_some_and(|margin| self.ruled_out <= margin)
    }

    /// How large the largest step is, in the metric's unit; 0 where none is seen.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// The standard deviation of one measurement.
    #[must_use]
    pub fn noise(&self) -> f64 {
        self.typical.noise.sqrt()
    }

    /// How probable it is, before anything is measured there, that two changes that cancel lie within one of the
    /// stretches of which nothing was measured.
    #[must_use]
    pub fn hidden(&self) -> f64 {
        self.hidden_beside(&[])
    }

    /// The same when these versions will have been measured too.
    pub(super) fn hidden_beside(&self, also: &[usize]) -> f64 {
        let prior = match self.aim.cancelling {
            true => PRIOR.cancelling_pair_if_asked,
            false => PRIOR.cancelling_pair,
        };
        let between = self.between(also).into_iter();
        prior * between.map(|pair| self.share_of_pairs(pair)).sum::<f64>()
    }

    /// The measured versions and these, each with the next one.
    pub(super) fn between(&self, also: &[usize]) -> Vec<(usize, usize)> {
        let measured = self.course.points().iter().map(|point| point.at);
        let mut looked_at: Vec<usize> = measured.chain(also.iter().copied()).collect();
        looked_at.sort_unstable();
        looked_at.dedup();
        looked_at
            .windows(2)
            .map(|pair| (pair[0], pair[1]))
            .collect()
    }

    /// What isn't known, in nats: the entropy of the sets of steps, and of the places within their stretches.
    #[must_use]
    pub fn unknown(&self) -> f64 {
        let of_sets = self.sets.iter().map(|(steps, probability)| {
            let within = steps.iter().map(|gap| match self.is_resolved(*gap) {
                true => 0.0,
                false => (self.course.places(*gap) as f64).ln(),
            });
            probability * (within.sum::<f64>() - probability.ln())
        });
        of_sets.sum()
    }

    /// Whether cancelling changes may still be hidden that must be looked for, when these versions will have been measured
    /// too. Nobody asked for them where nothing seems to have changed.
    pub(super) fn must_explore(&self, also: &[usize]) -> bool {
        let may_remain = match self.is_known() {
            true => self.aim.hidden.min(self.left_hidden),
            false => self.aim.hidden,
        };
        let seems_changed = self.changed >= STOPPING.likely_change && !self.is_within_margin();
        let is_asked = self.aim.cancelling || seems_changed;
        is_asked && self.hidden_beside(also) > may_remain
    }

    /// Whether the steps of the most probable set are known as well as was asked.
    fn is_known(&self) -> bool {
        if self.is_within_margin() {
            return true;
        }
        let (steps, probability) = &self.sets[0];
        if steps.is_empty() && self.changed > STOPPING.max_change_beside_none {
            return false;
        }
        *probability >= self.aim.confidence && steps.iter().all(|gap| self.is_resolved(*gap))
    }

    /// A version that was measured once, and that one measurement decides too much.
    pub(super) fn unsure(&self) -> Option<usize> {
        self.alone().or_else(|| self.off())
    }

    /// A version that stands alone between two steps and was measured once: what disturbed that one measurement would look
    /// the same.
    fn alone(&self) -> Option<usize> {
        let points = self.course.points();
        let mut alone = self.stretches().filter(|(first, last)| first == last);
        let once = alone.find(|(point, last)| {
            let is_end = *point == 0 || last + 1 == points.len();
            !is_end && points[*point].n < 2.0
        });
        once.map(|(point, _)| points[point].at)
    }

    /// Where changes that cancel were looked for, a version that was measured once and came out nearer to where a change
    /// like the largest would have put it than to its neighbours: chance, or two changes that cancel.
    fn off(&self) -> Option<usize> {
        if self.left_hidden >= STOPPING.recheck_below_hidden || !self.is_known() {
            return None;
        }
        let much = (STOPPING.off_share * self.largest).max(STOPPING.off_deviations * self.noise());
        self.stretches().find_map(|stretch| {
            let (level, _) = self.sums.mean_of(stretch, &self.typical);
            let (first, last) = stretch;
            let mut points = self.course.points()[first..=last].iter();
            let off = points.find(|point| point.n < 2.0 && (point.mean - level).abs() > much);
            off.map(|point| point.at)
        })
    }

    /// The stretches of the most probable set, each by its first and its last measured version.
    fn stretches(&self) -> impl Iterator<Item = (usize, usize)> {
        stretches(&self.sets[0].0, self.course.points().len())
    }

    /// Whether the most probable set is the answer.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let is_sure = self.is_within_margin() || self.unsure().is_none();
        self.is_known() && !self.must_explore(&[]) && is_sure
    }

    /// Whether a step in this gap needs no closer look, or can't have one.
    pub(super) fn is_resolved(&self, gap: usize) -> bool {
        self.course.places(gap) <= self.aim.resolution || !self.course.has_inner(gap)
    }

    /// Of all pairs of places, the share that lies between two versions that were looked at, if there is something to
    /// measure between them.
    pub(super) fn share_of_pairs(&self, between: (usize, usize)) -> f64 {
        let pairs = |places: usize| (places * places.saturating_sub(1)) as f64;
        match self.course.is_open_between(between) {
            true => pairs(between.1 - between.0) / pairs(self.course.versions() - 1),
            false => 0.0,
        }
    }

    /// How probable a step is in each gap.
    pub(super) fn per_gap(&self) -> Vec<f64> {
        let mut per_gap = vec![0.0; self.course.points().len() - 1];
        for (steps, probability) in &self.sets {
            for gap in steps {
                per_gap[*gap] += probability;
            }
        }
        per_gap
    }

    fn place(&self, gap: usize) -> ChangeLocation {
        ChangeLocation {
            after: self.course.points()[gap].at,
            until: self.course.points()[gap + 1].at,
        }
    }
}

/// What measurements and what is known beforehand say about the noise, together: variance, degrees of freedom.
fn pooled(seen: Option<(f64, f64)>, known: Option<(f64, f64)>) -> Option<(f64, f64)> {
    match (seen, known) {
        (Some((a, of_a)), Some((b, of_b))) => {
            let freedom = of_a + of_b;
            Some(((a * of_a + b * of_b) / freedom, freedom))
        }
        (one, other) => one.or(other),
    }
}

/// The scales of the grid: variances of the noise by spreads of the means.
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
                means: spread * spread,
            }
        }));
    }
    scales
}

/// One cell of the grid.
struct Hypothesis {
    scale: NoiseScale,
    cuts: Segmentations,
    weight: f64,
    /// Probability of no step at all.
    none: f64,
    /// Of which of the sums.
    of: usize,
}

/// All hypotheses about noise, spread and number of steps, and about what testbeds add.
struct HypothesisGrid {
    cells: Vec<Hypothesis>,
    /// What was measured, for each of the amounts that testbeds may add.
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
    /// The hypotheses about a course, weighed but not brought to a sum of one.
    fn grid(&self, course: &VersionMeans, scales: &[NoiseScale]) -> HypothesisGrid {
        let sums = SegmentSums::new(course, self.centre);
        let points = course.points();
        let n: f64 = points.iter().map(|point| point.n).sum();
        let squares: f64 = points.iter().map(|point| point.squares).sum();
        let places = (course.versions() - 1) as f64;
        let numbers = [
            (PRIOR.expected_if_single, 1.0 - self.several),
            (PRIOR.expected_if_several, self.several),
        ];
        let mut cells = Vec::with_capacity(scales.len() * numbers.len());
        for scale in scales {
            let density = densities(&sums, points.len(), scale);
            for (expected, weight) in numbers {
                let chance = (expected / places).min(0.5);
                let cuts = Segmentations::new(course, density.clone(), chance);
                // No step has its own prior: what the chance per place makes of it is taken out.
                let by_chance = (places * (-chance).ln_1p()).exp();
                let whole = (cuts.whole() - cuts.total()).exp().min(1.0);
                let (without, with) = (
                    whole * PRIOR.no_change / by_chance,
                    (1.0 - whole) * (1.0 - PRIOR.no_change) / (1.0 - by_chance),
                );
                let ln = f64::ln(weight) + cuts.total() + (without + with).ln()
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

    /// Hypotheses about what the testbeds add as well. First such as the versions that several of them measured make
    /// probable, weighed by how well steps explain what is left then; then such as the steps that were drawn there say.
    fn over_testbeds(
        &mut self,
        joined: PooledVersionMeans,
        variance: f64,
        scales: Vec<NoiseScale>,
    ) -> (PooledVersionMeans, HypothesisGrid) {
        let alone = HypothesisGrid::together(vec![(self.grid(joined.course(), &scales), 0.0)]);
        let Some(offsets) = joined.by_versions(variance) else {
            return (joined, alone);
        };
        let scales = alone.probable(&scales);
        let deviates = even_deviates(GRID.offsets, offsets.len(), self.random);
        let first = deviates.iter().map(|deviates| {
            let wider: Vec<f64> = deviates.iter().map(|z| GRID.offset_widening * z).collect();
            let course = joined.course_if(&offsets.at(&wider));
            // They lie as densely as they are probable: that is taken out again.
            let drawn = -0.5 * deviates.iter().map(|z| z * z).sum::<f64>();
            (self.grid(&course, &scales), -drawn)
        });
        let first = HypothesisGrid::together(first.collect());
        let scales = first.probable(&scales);
        let cuts = first.draw(GRID.offsets, self.random);
        let deviates = even_deviates(GRID.offsets, offsets.len(), self.random);
        let points: Vec<usize> = joined.course().points().iter().map(|p| p.at).collect();
        let drawn = cuts.iter().zip(&deviates).map(|(cut, deviates)| {
            let stretches = cut.stretches(&points);
            let by_cut = joined.by_stretches(stretches, &cut.scale, self.centre);
            by_cut.as_ref().unwrap_or(&offsets).at(deviates)
        });
        let drawn: Vec<Vec<f64>> = drawn.collect();
        let second = drawn.iter().map(|added| {
            let grid = self.grid(&joined.course_if(added), &scales);
            // Drawn as often as everything makes them probable: each counts as much as the next.
            let all = grid.total();
            (grid, -all)
        });
        let second = HypothesisGrid::together(second.collect());
        (joined.with_drawn(&drawn), second)
    }
}

impl HypothesisGrid {
    /// Grids of the same versions as one, the logarithms of their weights moved by this; its sum is one.
    fn together(grids: Vec<(Self, f64)>) -> Self {
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
        let total = all.total();
        for one in &mut all.cells {
            one.weight = (one.weight - total).exp();
        }
        all
    }

    /// The logarithm of the sum of weights that are logarithms.
    fn total(&self) -> f64 {
        ln_sum(&self.cells.iter().map(|one| one.weight).collect::<Vec<_>>())
    }

    /// Those of the scales that aren't improbable.
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

    /// The noise and the spread of means as they are likely.
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
            means: over(|scale| scale.means),
        }
    }

    /// So many cuts, each as often as it is probable.
    fn draw(mut self, number: usize, random: &mut Random) -> Vec<DrawnSegmentation> {
        let last = self.gaps;
        let offset = random.uniform();
        let (mut at, mut passed) = (0, 0.0);
        let mut cuts = Vec::with_capacity(number);
        for n in 0..number {
            let aim = (n as f64 + offset) / number as f64;
            while at + 1 < self.cells.len() && passed + self.cells[at].weight < aim {
                passed += self.cells[at].weight;
                at += 1;
            }
            let one = &mut self.cells[at];
            let sums = &self.sums[one.of];
            let steps = match random.uniform() < one.none {
                true => Vec::new(),
                false => some_step(&mut one.cuts, random),
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

/// A cut with at least one step. One that is all but impossible is given up, and none drawn.
fn some_step(cuts: &mut Segmentations, random: &mut Random) -> Vec<usize> {
    let draws = std::iter::repeat_with(|| cuts.draw(random)).take(64);
    draws
        .into_iter()
        .find(|steps| !steps.is_empty())
        .unwrap_or_default()
}

/// A drawn cut: the gaps with steps, and the levels before, between and behind them.
#[derive(Debug, Clone)]
struct DrawnSegmentation {
    scale: NoiseScale,
    steps: Vec<usize>,
    levels: Vec<f64>,
}

impl DrawnSegmentation {
    /// The first and the last position of each stretch, of these measured versions.
    fn stretches(&self, points: &[usize]) -> impl Iterator<Item = (usize, usize)> {
        stretches(&self.steps, points.len()).map(|(begin, end)| (points[begin], points[end]))
    }

    fn largest(&self) -> f64 {
        let sizes = self.levels.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        sizes.fold(0.0, f64::max)
    }

    fn net(&self) -> f64 {
        self.levels[self.levels.len() - 1] - self.levels[0]
    }

    /// Without the steps that are smaller, the smallest taken out first.
    fn that_count(mut self, smallest: f64) -> Self {
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

/// The stretches between steps in these gaps of so many points: the first and the last point of each.
fn stretches(steps: &[usize], points: usize) -> impl Iterator<Item = (usize, usize)> {
    let begins = std::iter::once(0).chain(steps.iter().map(|gap| gap + 1));
    begins.zip(steps.iter().copied().chain([points - 1]))
}

/// The largest step of a typical cut, and how large that of one in twenty is at most where the confidence is .95.
fn largest(cuts: &[DrawnSegmentation], confidence: f64) -> (f64, f64) {
    let mut largest: Vec<f64> = cuts.iter().map(DrawnSegmentation::largest).collect();
    largest.sort_by(f64::total_cmp);
    let rank = (confidence * largest.len() as f64).ceil() as usize;
    let of_few = largest[rank.min(largest.len() - 1)];
    (largest[largest.len() / 2], of_few)
}

/// Steps smaller than this don't count.
fn smallest(largest: f64, noise: f64, tellable: f64) -> f64 {
    let noise = noise.sqrt();
    let limits = &SMALLEST_STEP;
    let largest = largest.max(limits.largest_at_least * noise);
    let most = (limits.max_share * largest).max(limits.max_size_at_least * noise);
    (tellable * noise).clamp(limits.min_share * largest, most)
}
