//! Likelihood of steps with autocorrelated noise against autocorrelated noise alone.
//!
//! Ranks of a few points say little however far apart they lie, and a step raises the lag-1 autocorrelation of the points
//! around it. So steps and autocorrelation are estimated together: for each autocorrelation φ the best one, two, … steps by
//! dynamic programming, and of all these the likeliest, each step with enough evidence of its own. In a short series steps may
//! hide each other (up and down again): where none is clear alone, the likeliest set of several has to have enough evidence
//! together. The result is checked against the original points: outliers and heavy tails make no step.
//!
//! In: a series. Out: clear steps, each with its evidence. `split_selection` finds small lasting steps.
//!
//! Sources: S. Chakar et al., "A robust approach for estimating change-points in the mean of an AR(1) process", Bernoulli 23
//! (2017), for the model; C. Beaulieu, R. Killick, "Distinguishing trends and shifts from memory in climate data", J. Climate
//! 31 (2018), for comparing memory, shifts and trends by penalised likelihood.

use super::rank_scan::Stretch;
use super::split_selection::stretches;

/// What a step needs to be believed. All figures in ln of a likelihood ratio are called evidence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepParameters {
    /// Evidence that each step must add, in a long series. From simulation: with it flat normal noise has 0.1 false
    /// points per 1000, which is what [`DetectionOptions::false_per_point`](super::DetectionOptions::false_per_point) asks for by default.
    pub evidence: f64,
    /// What a short series must add to that, times one over its number of points: its noise is hardly known.
    pub evidence_of_few: f64,
    /// What several steps must add together, for each beyond the first, in a series of no points; and more for each point: steps
    /// that hide each other in a short series (up and down again) are clear only together. By simulation of 4,000 flat series of
    /// 20 and 1,000 of 40 points of AR(1) .5: of the likeliest one, two and three steps 99 % have at most 9.3, 12.1 and 15.1
    /// together, and 8.5, 12.7 and 16.1, which is 2.5 less than this; with no more than that, and stretches that may vary eight
    /// times as much, flat series have a tenth to a half more false points (lognormal, bimodal), and steps of 5 sigma that hide
    /// each other are found oftener. Never more than a step by itself must add.
    pub evidence_of_further: f64,
    /// See there.
    pub evidence_of_further_per_point: f64,
    /// The variance of any stretch of such steps is at most so many times that of the others: of normal noise three points exceed
    /// it once in two hundred times, of a skewed one half of what would be taken for steps does.
    pub most_uneven: f64,
    /// What the last two points alone must add: two outliers in a row are rare, not unheard of.
    pub evidence_of_two: f64,
    /// The prior density of the autocorrelation φ falls as exp(−rate·φ): versions that are built and measured one by one
    /// seldom have much. Its mean is about one over the rate.
    pub autocorrelation_rate: f64,
    /// What the tail of the noise must leave, beside twice the logarithm of the number of points, for a stretch may begin
    /// and end anywhere (three times, where steps are clear only together): −ln of the probability that it throws all points of a
    /// stretch so far.
    pub evidence_of_tail: f64,
    /// How far from the other level towards its own a point must lie to stand for its own, as a share of the step.
    pub own_side: f64,
    /// The share of each side's points that must stand for it.
    pub own_share: f64,
    /// The fewest points of a stretch.
    pub shortest: usize,
    /// The fewest points of the last stretch.
    pub shortest_last: usize,
    /// Steps that leave the likelihood so far behind the best, in ln, aren't followed by more: each brings what it costs,
    /// or two that undo each other do.
    pub hopeless: f64,
    /// Steps in all that are looked for.
    pub most_steps: usize,
    /// Up to this many points every place is tried; beyond, those where neighbouring means differ most.
    pub every_place: usize,
    /// So many places are tried then.
    pub most_places: usize,
    /// By how many standard errors neighbouring means must differ at these.
    pub least_contrast: f64,
    /// Points further than so many deviations from the median of five around them are drawn in to that.
    pub clipped_at: f64,
}

pub(crate) const STEP: StepParameters = StepParameters {
    evidence: 7.3,
    evidence_of_few: 35.0,
    evidence_of_further: 5.0,
    evidence_of_further_per_point: 0.1,
    most_uneven: 5.5,
    evidence_of_two: 4.0,
    autocorrelation_rate: 5.0,
    evidence_of_tail: 4.0,
    own_side: 0.35,
    own_share: 0.9,
    shortest: 3,
    shortest_last: 2,
    hopeless: 30.0,
    most_steps: 8,
    every_place: 80,
    most_places: 48,
    least_contrast: 3.5,
    clipped_at: 3.5,
};

/// Fewer points than this have no steps: there is nothing to know their noise by.
pub const MIN_POINTS: usize = 8;

/// The autocorrelations that are tried.
pub(crate) const AUTOCORRELATIONS: [f64; 11] =
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

impl StepParameters {
    /// The evidence that a step in so many points must add, if flat noise may have so many false ones per point.
    pub(crate) fn needed(&self, points: usize, false_per_point: f64) -> f64 {
        let usual = super::DetectionOptions::default().false_per_point;
        self.evidence + self.evidence_of_few / points as f64 - (false_per_point / usual).ln()
    }
}

impl StepParameters {
    /// The evidence that each step beyond the first must add, where none is clear alone and the first must add `first`.
    fn needed_of_further(&self, points: usize, first: f64) -> f64 {
        let further = self.evidence_of_further + self.evidence_of_further_per_point * points as f64;
        further.min(first)
    }
}

/// What a step must show against the points as they are.
#[derive(Debug, Clone, Copy)]
struct Bar {
    /// The evidence.
    needed: f64,
    /// What the tail of the noise must leave.
    tail: f64,
    /// Whether the noise is that of all stretches, not only of the two beside the step.
    pooled: bool,
}

/// The size of a step, in standard deviations, that `needed` evidence is expected of nine times out of ten where `k` and
/// `l` points lie beside it, of noise that is inflated so much by its autocorrelation.
pub(crate) fn least_size(needed: f64, k: usize, l: usize, inflation: f64) -> f64 {
    let (k, l) = (k as f64, l as f64);
    let critical = ((k + l - 2.0) * (2.0 * needed / (k + l - 2.0)).exp_m1()).sqrt();
    let spare = -crate::distributions::normal_quantile(0.1);
    (critical + spare) * (inflation * (1.0 / k + 1.0 / l)).sqrt()
}

/// A step with its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    /// The first point after it.
    pub at: usize,
    /// ln of the likelihood ratio of the series with and without it.
    pub evidence: f64,
}

impl Step {
    /// The probability that a flat series of so many points has a step as clear, roughly: the tail of the evidence is
    /// exponential, and reaches `false_per_point` a point where a step is just believed.
    pub(crate) fn p(&self, points: usize, false_per_point: f64) -> f64 {
        let spare = self.evidence - STEP.needed(points, false_per_point);
        (false_per_point * points as f64 * (-spare).exp()).min(1.0)
    }
}

/// The clear steps of a series, in order.
pub(crate) fn steps(values: &[f64], false_per_point: f64) -> Vec<Step> {
    let n = values.len();
    if n < MIN_POINTS {
        return Vec::new();
    }
    let drawn_in = draw_in_outliers(values, STEP.clipped_at);
    let sums = Sums::new(&drawn_in);
    if sums.is_flat() {
        return Vec::new();
    }
    let needed = STEP.needed(n, false_per_point);
    let places = places(&drawn_in, &sums);
    let sets = most_likely(&sums, &places, needed);
    let judged = |at: &[usize], bar: Bar| -> Vec<Judged> {
        let of = |i: usize| {
            let two = n - at[i] < STEP.shortest;
            let extra = if two { STEP.evidence_of_two } else { 0.0 };
            let evidence = sums.evidence(at, i);
            let step = Step {
                at: at[i],
                evidence,
            };
            match stands(values, at, i, bar) {
                true => (step, evidence - bar.needed - extra),
                false => (step, f64::NEG_INFINITY),
            }
        };
        (0..at.len()).map(of).collect()
    };
    let all = |judged: Vec<Judged>| judged.into_iter().map(|(step, _)| step).collect();
    // Of a short series in which no step is clear alone: the most that are clear together.
    let alone = sets
        .get(1)
        .map_or(0.0, |one| one.likelihood - sets[0].likelihood);
    if n <= STEP.every_place && alone < needed {
        let bar = Bar {
            needed: STEP.needed_of_further(n, needed),
            tail: STEP.evidence_of_tail + 3.0 * (n as f64).ln(),
            pooled: true,
        };
        for set in sets.iter().skip(2).rev() {
            let together = needed + (set.at.len() - 1) as f64 * bar.needed;
            if set.likelihood - sets[0].likelihood >= together {
                let judged = judged(&set.at, bar);
                let is_alike = is_of_one_noise(values, &set.at);
                if is_alike && judged.iter().all(|(_, spare)| *spare >= 0.0) {
                    return all(judged);
                }
            }
        }
    }
    let bar = Bar {
        needed,
        tail: STEP.evidence_of_tail + 2.0 * (n as f64).ln(),
        pooled: false,
    };
    let mut at = best(&sets, needed);
    loop {
        let judged = judged(&at, bar);
        let spares = judged.iter().enumerate().map(|(i, (_, spare))| (*spare, i));
        match spares.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((spare, i)) if spare < 0.0 => {
                at.remove(i);
            }
            _ => return all(judged),
        }
    }
}

/// A step, and the evidence that it has to spare; less than none if it must not stand.
type Judged = (Step, f64);

/// ln of the likelihood of these steps, at the likeliest autocorrelation and noise.
pub(crate) fn of_steps(values: &[f64], at: &[usize]) -> f64 {
    Sums::new(values).best_likelihood(at)
}

/// Drops changes that ranks alone see with one or two points on a side: outliers rank as high.
pub(crate) fn drop_stubs(changes: &mut Vec<usize>, clear: &[usize], n: usize) {
    while let Some(stub) = stretches(changes, n, 2)
        .iter()
        .zip(changes.iter())
        .position(|(around, at)| {
            !clear.contains(at) && (at - around.start).min(around.end - at) < STEP.shortest
        })
    {
        changes.remove(stub);
    }
}

/// Whether the points as they are bear out a step: on either side nearly all lie on their own side, the levels differ by
/// more than their noise, outliers included, allows, and the tail of that noise doesn't reach the shorter stretch.
fn stands(values: &[f64], at: &[usize], i: usize, bar: Bar) -> bool {
    let around = stretches(at, values.len(), 2)[i];
    let (old, new) = values[around.start..around.end].split_at(at[i] - around.start);
    let (before, after) = (crate::sums::mean(old), crate::sums::mean(new));
    let size = after - before;
    let own = |side: &[f64], other: f64, towards: f64| {
        let count = side
            .iter()
            .filter(|x| (*x - other) / towards >= STEP.own_side)
            .count();
        count >= standing_for(side.len())
    };
    let squares = |side: &[f64], level: f64| side.iter().map(|x| (x - level).powi(2)).sum::<f64>();
    let (k, l) = (old.len() as f64, new.len() as f64);
    let (left, freedom) = match bar.pooled {
        false => (squares(old, before) + squares(new, after), k + l - 2.0),
        true => {
            let segments = stretches(at, values.len(), 1);
            let left = segments.iter().map(|segment| {
                let points = &values[segment.start..segment.end];
                squares(points, crate::sums::mean(points))
            });
            (left.sum(), (values.len() - segments.len()) as f64)
        }
    };
    // The likelihood ratio of two levels and one, of independent points.
    let explained = size * size * k * l / (k + l);
    let evidence = 0.5 * freedom * (explained / left).ln_1p();
    let shorter = match old.len() < new.len() {
        true => Stretch {
            end: at[i],
            ..around
        },
        false => Stretch {
            start: at[i],
            ..around
        },
    };
    let (other, towards) = match old.len() < new.len() {
        true => (after, -size.signum()),
        false => (before, size.signum()),
    };
    own(old, after, before - after)
        && own(new, before, size)
        && evidence >= bar.needed
        && tail_evidence(values, at, shorter, other, towards) >= bar.tail
}

/// Whether no stretch varies far more than the others do: a few large values of a skewed noise make no stretch of their own.
fn is_of_one_noise(values: &[f64], at: &[usize]) -> bool {
    let of = |segment: &Stretch| {
        let points = &values[segment.start..segment.end];
        let level = crate::sums::mean(points);
        let squares = points.iter().map(|x| (x - level).powi(2)).sum::<f64>();
        (squares, (points.len() - 1) as f64)
    };
    let segments: Vec<(f64, f64)> = stretches(at, values.len(), 1).iter().map(of).collect();
    let all = segments
        .iter()
        .fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    segments.iter().all(|(squares, freedom)| {
        let others = (all.0 - squares) / (all.1 - freedom);
        squares / freedom <= STEP.most_uneven * others
    })
}

/// So many of the points of a stretch must stand for its level.
fn standing_for(points: usize) -> usize {
    (STEP.own_share * points as f64).ceil() as usize
}

/// −ln of the probability that the noise of the other points throws those of a stretch so far from the `other` level: by
/// their own tail, whatever its shape; and beyond the furthest of them by an exponential one.
pub(crate) fn tail_evidence(
    values: &[f64],
    at: &[usize],
    stretch: Stretch,
    other: f64,
    towards: f64,
) -> f64 {
    let mut distances: Vec<f64> = values[stretch.start..stretch.end]
        .iter()
        .map(|x| (x - other) * towards)
        .collect();
    let standing = standing_for(distances.len());
    let nearest = distances.len() - standing;
    let (_, reach, _) = distances.select_nth_unstable_by(nearest, f64::total_cmp);
    let reach = *reach;
    let (mut beyond, mut furthest, mut squares) = (0_usize, 0.0_f64, 0.0);
    for segment in stretches(at, values.len(), 1) {
        if segment == stretch {
            continue;
        }
        let points = &values[segment.start..segment.end];
        let level = crate::sums::mean(points);
        for x in points {
            let distance = (x - level) * towards;
            beyond += usize::from(distance >= reach);
            furthest = furthest.max(distance);
            squares += distance * distance;
        }
    }
    let others = (values.len() - stretch.points()) as f64;
    let deviation = (squares / others).sqrt();
    let further = match reach > furthest {
        true => (reach - furthest) / deviation,
        false => 0.0,
    };
    let surprise = ((others + 1.0) / (beyond + 1) as f64).ln() + further;
    standing as f64 * surprise
}

/// Sums from which the likelihood of a level with AR(1) noise in any stretch follows at once.
struct Sums {
    values: Vec<f64>,
    /// Of x, of x², and of x times the one before; item i is of the points before point i.
    sums: Vec<[f64; 3]>,
}

impl Sums {
    fn new(values: &[f64]) -> Self {
        let centre = crate::sums::mean(values);
        let values: Vec<f64> = values.iter().map(|x| x - centre).collect();
        let mut total = [0.0; 3];
        let mut sums = Vec::with_capacity(values.len() + 1);
        sums.push(total);
        let mut before = 0.0;
        for &x in &values {
            total = [total[0] + x, total[1] + x * x, total[2] + x * before];
            before = x;
            sums.push(total);
        }
        Sums { values, sums }
    }

    fn n(&self) -> usize {
        self.values.len()
    }

    fn is_flat(&self) -> bool {
        let squares = self.sums[self.n()][1];
        // NaN, of values whose squares overflow, is flat too.
        !(squares > 0.0 && squares.is_finite())
    }

    /// The squared innovations of a stretch around its best level, the first point's being of the stationary
    /// distribution.
    fn left(&self, stretch: Stretch, kept: f64) -> f64 {
        let (low, high) = (self.sums[stretch.start], self.sums[stretch.end]);
        let (first, last) = (self.values[stretch.start], self.values[stretch.end - 1]);
        let points = stretch.points() as f64;
        let products = high[2] - self.sums[stretch.start + 1][2];
        let squares = (1.0 + kept * kept) * (high[1] - low[1])
            - kept * kept * (first * first + last * last)
            - 2.0 * kept * products;
        let rest = 1.0 - kept;
        let sum = rest * (rest * (high[0] - low[0]) + kept * (first + last));
        let information = rest * (rest * points + 2.0 * kept);
        // A single point has no innovation but its own distance from its level.
        if stretch.points() == 1 {
            return 0.0;
        }
        (squares - sum * sum / information).max(0.0)
    }

    /// ln of the likelihood of so many steps that leave so much, at its best noise, with the prior of φ.
    fn likelihood(&self, left: f64, steps: usize, kept: f64) -> f64 {
        let free = (self.n() - steps - 1) as f64;
        // Beyond this it is rounding that is explained.
        let left = left.max(1e-18 * self.sums[self.n()][1]);
        // The same factor for any number of steps, so that the unit cancels.
        -0.5 * (self.n() - 1) as f64 * (left / free).ln()
            + 0.5 * (steps + 1) as f64 * (-kept * kept).ln_1p()
            - STEP.autocorrelation_rate * kept
    }

    /// With these steps, at the likeliest autocorrelation.
    fn best_likelihood(&self, at: &[usize]) -> f64 {
        let stretches = stretches(at, self.n(), 1);
        AUTOCORRELATIONS
            .iter()
            .map(|&kept| {
                let left = stretches.iter().map(|&s| self.left(s, kept)).sum();
                self.likelihood(left, at.len(), kept)
            })
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// Of one of these steps.
    fn evidence(&self, at: &[usize], i: usize) -> f64 {
        let mut without = at.to_vec();
        without.remove(i);
        self.best_likelihood(at) - self.best_likelihood(&without)
    }
}

/// Steps with the likelihood of the series.
struct Steps {
    likelihood: f64,
    at: Vec<usize>,
}

/// The likeliest steps when each costs `needed`.
fn best(sets: &[Steps], needed: f64) -> Vec<usize> {
    let cost = |set: &Steps| set.likelihood - set.at.len() as f64 * needed;
    let best = sets.iter().max_by(|a, b| {
        // Of equals the fewest steps.
        cost(a)
            .total_cmp(&cost(b))
            .then(b.at.len().cmp(&a.at.len()))
    });
    best.map_or(Vec::new(), |set| set.at.clone())
}

/// The likeliest none, one, two, … steps at some of these places, at the likeliest autocorrelation of each. Those that are
/// hopeless when each costs `needed` are left out.
fn most_likely(sums: &Sums, places: &[usize], needed: f64) -> Vec<Steps> {
    let n = sums.n();
    let mut nodes = vec![0];
    nodes.extend_from_slice(places);
    nodes.push(n);
    let last = nodes.len() - 1;
    let most = STEP.most_steps.min(n / 3).min(places.len());
    let shortest = |j: usize| match j == last {
        true => STEP.shortest_last,
        false => STEP.shortest,
    };
    let mut sets: Vec<Steps> = Vec::new();
    let mut put =
        |steps: usize, likelihood: f64, at: &dyn Fn() -> Vec<usize>| match sets.get_mut(steps) {
            Some(known) if known.likelihood >= likelihood => {}
            Some(known) => {
                *known = Steps {
                    likelihood,
                    at: at(),
                }
            }
            None => sets.push(Steps {
                likelihood,
                at: at(),
            }),
        };
    let mut best = f64::NEG_INFINITY;
    let mut cost = vec![f64::INFINITY; (last + 1) * (last + 1)];
    for kept in AUTOCORRELATIONS {
        for j in 1..=last {
            for i in 0..j {
                let stretch = Stretch {
                    start: nodes[i],
                    end: nodes[j],
                };
                if stretch.points() >= shortest(j) {
                    cost[j * (last + 1) + i] = sums.left(stretch, kept);
                }
            }
        }
        let cost = |i: usize, j: usize| cost[j * (last + 1) + i];
        let whole = Stretch { start: 0, end: n };
        let likelihood = sums.likelihood(sums.left(whole, kept), 0, kept);
        put(0, likelihood, &Vec::new);
        best = f64::max(best, likelihood);
        let mut least: Vec<f64> = (0..=last)
            .map(|j| if j == 0 { f64::INFINITY } else { cost(0, j) })
            .collect();
        let mut origins: Vec<Vec<usize>> = Vec::new();
        for steps in 1..=most {
            let mut next = vec![f64::INFINITY; last + 1];
            let mut origin = vec![0; last + 1];
            for j in 2..=last {
                for (i, least) in least.iter().enumerate().take(j).skip(1) {
                    let total = least + cost(i, j);
                    if total < next[j] {
                        (next[j], origin[j]) = (total, i);
                    }
                }
            }
            origins.push(origin);
            if !next[last].is_finite() {
                break;
            }
            let likelihood = sums.likelihood(next[last], steps, kept);
            least = next;
            put(steps, likelihood, &|| {
                let mut j = last;
                let origins = origins.iter().rev();
                let mut at: Vec<usize> = origins
                    .map(|origin| {
                        j = origin[j];
                        nodes[j]
                    })
                    .collect();
                at.reverse();
                at
            });
            let paid = likelihood - steps as f64 * needed;
            if paid < best - STEP.hopeless {
                break;
            }
            best = best.max(paid);
        }
    }
    sets
}

/// The places to try: all of a short series; of a long one those where the means of a few points on either side differ most.
fn places(values: &[f64], sums: &Sums) -> Vec<usize> {
    let n = values.len();
    let all = STEP.shortest..=n - STEP.shortest_last;
    if n <= STEP.every_place {
        return all.collect();
    }
    let noise = deviation_of_differences(values);
    if noise <= 0.0 {
        return Vec::new();
    }
    let mean =
        |start: usize, end: usize| (sums.sums[end][0] - sums.sums[start][0]) / (end - start) as f64;
    let mut clear: Vec<(f64, usize)> = Vec::new();
    for width in [2, 3, 5, 8] {
        let contrasts: Vec<(f64, usize)> = all
            .clone()
            .map(|at| {
                let (k, l) = (width.max(STEP.shortest).min(at), width.min(n - at));
                let size = mean(at, at + l) - mean(at - k, at);
                (size.abs() / (1.0 / k as f64 + 1.0 / l as f64).sqrt(), at)
            })
            .collect();
        let peaks = (0..contrasts.len()).filter(|&i| {
            let near = &contrasts[i.saturating_sub(1)..(i + 2).min(contrasts.len())];
            contrasts[i].0 >= STEP.least_contrast * noise
                && near.iter().all(|other| other.0 <= contrasts[i].0)
        });
        clear.extend(peaks.map(|i| contrasts[i]));
    }
    clear.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut places: Vec<usize> = Vec::with_capacity(STEP.most_places);
    for (_, at) in clear {
        if places.len() < STEP.most_places && !places.contains(&at) {
            places.push(at);
        }
    }
    places.sort_unstable();
    places
}

/// The standard deviation that normal noise with this median difference of neighbours has.
fn deviation_of_differences(values: &[f64]) -> f64 {
    let mut differences: Vec<f64> = values.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
    let middle = differences.len() / 2;
    let (_, median, _) = differences.select_nth_unstable_by(middle, f64::total_cmp);
    1.4826 * *median / std::f64::consts::SQRT_2
}

/// Points far from the median of the five around them are drawn in: one or two outliers in a row are no stretch. The
/// first and the last two stay: what follows them isn't known.
fn draw_in_outliers(values: &[f64], deviations: f64) -> Vec<f64> {
    let n = values.len();
    let medians: Vec<f64> = values
        .windows(5)
        .map(|window| {
            let mut five = [window[0], window[1], window[2], window[3], window[4]];
            five.sort_unstable_by(f64::total_cmp);
            five[2]
        })
        .collect();
    let mut distances: Vec<f64> = medians
        .iter()
        .zip(&values[2..])
        .map(|(median, x)| (x - median).abs())
        .collect();
    let middle = distances.len() / 2;
    // The point itself is one of five, so that its distance from their median is a fifth smaller.
    let noise = 1.25 * 1.4826 * *distances.select_nth_unstable_by(middle, f64::total_cmp).1;
    let reach = deviations * noise;
    let mut drawn_in = values.to_vec();
    if reach > 0.0 {
        for (x, median) in drawn_in[2..n - 2].iter_mut().zip(&medians) {
            *x = x.clamp(median - reach, median + reach);
        }
    }
    drawn_in
}
