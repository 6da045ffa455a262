//! A study of overhead with its verdict: its sentences and tables.

use backsight_model::{Cell, MonitorName, StudyName, Unit};
use backsight_policy::{CostCall, MonitorCost, MonitorSet, OverheadVerdict, SideMean};
use backsight_stats::{Confidence, Undefined};

use crate::{
    Document, MoreRounds, Section, Table, Tone, field, left,
    numbers::{self, Rounding, Scale},
    right,
};

/// Most sentences at the head of a page.
const MOST_SENTENCES: usize = 30;

/// A study of what watching costs, with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct OverheadStudy {
    /// The study.
    pub study: StudyName,
    /// The monitors, by number.
    pub monitors: Vec<MonitorName>,
    /// The cells of the plan.
    pub cells: Vec<Cell>,
    /// The units of each cell's metrics, in the order of the verdict.
    pub units: Vec<Vec<Unit>>,
    /// The verdict.
    pub verdict: OverheadVerdict,
}

/// The cost of one monitor, or of all together, on one metric of one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverheadLine {
    /// A monitor's name, or `all together`.
    pub watched_by: String,
    /// The cell of the plan.
    pub cell: String,
    /// The metric.
    pub metric: String,
    /// Mean, spread and count of the unwatched side.
    pub unwatched: String,
    /// The same of the watched one.
    pub watched: String,
    /// watched − unwatched in percent; in the metric's unit where the unwatched mean is zero.
    pub cost: String,
    /// Its interval.
    pub interval: String,
    /// The cost as a number, to sort by; empty if there is none.
    pub key: String,
    /// What is said of it.
    pub word: String,
    /// `bad`, `good`, `unsure`, or nothing.
    pub class: &'static str,
}

impl OverheadStudy {
    /// Who watches, in words.
    pub fn name(&self, watched: MonitorSet) -> String {
        match watched {
            MonitorSet::Not => "nobody".to_owned(),
            MonitorSet::By(number) => self
                .monitors
                .get(number)
                .map_or_else(String::new, ToString::to_string),
            MonitorSet::Together => "all together".to_owned(),
        }
    }

    /// Costs in the order of the verdict, those of primary metrics first: either those of interest, or the quiet ones.
    pub fn lines(&self, quiet: bool) -> Vec<OverheadLine> {
        let costs = self.verdict.costs.iter();
        let mut costs: Vec<&MonitorCost> = costs.filter(|cost| cost.is_quiet() == quiet).collect();
        costs.sort_by_key(|cost| !cost.decides);
        costs.into_iter().map(|cost| self.line(cost)).collect()
    }

    /// How many more rounds would decide the primary metrics, with the command.
    pub fn more_rounds(&self) -> Option<MoreRounds> {
        let open = self.verdict.costs.iter().filter(|cost| cost.decides);
        let more = open.filter_map(|cost| match cost.call {
            CostCall::CannotTell { more } => more,
            _ => None,
        });
        Some(MoreRounds::for_study(more.max()?, &self.study))
    }

    /// The unit of a cost's metric.
    pub fn unit(&self, cost: &MonitorCost) -> Option<Unit> {
        let of_cell = self
            .verdict
            .costs
            .iter()
            .filter(|other| other.cell == cost.cell && other.watched_by == cost.watched_by);
        let place = of_cell
            .take_while(|other| other.metric != cost.metric)
            .count();
        self.units.get(cost.cell)?.get(place).copied()
    }

    fn line(&self, cost: &MonitorCost) -> OverheadLine {
        let (word, class) = said(&cost.call);
        let mut line = OverheadLine {
            watched_by: self.name(cost.watched_by),
            cell: self
                .cells
                .get(cost.cell)
                .map_or_else(String::new, ToString::to_string),
            metric: cost.metric.to_string(),
            unwatched: "nothing measured".to_owned(),
            watched: "nothing measured".to_owned(),
            cost: String::new(),
            interval: String::new(),
            key: String::new(),
            word,
            class,
        };
        let (Some((unwatched, watched)), Some(effect)) = (cost.sides, cost.effect) else {
            return line;
        };
        let scale = Scale::fitting(self.unit(cost), [unwatched.mean, watched.mean]);
        let side = |side: SideMean| {
            let spread = match side.spread {
                Ok(cv) => numbers::spread(cv),
                Err(_) => "±?".to_owned(),
            };
            let (mean, unit) = (
                numbers::value(scale.convert(side.mean), 4),
                scale.unit_after(),
            );
            format!("{mean}{unit} {spread} n={}", cost.rounds)
        };
        line.unwatched = side(unwatched);
        line.watched = side(watched);
        if !cost.is_estimable() {
            line.cost = "not estimable".to_owned();
            return line;
        }
        let interval = effect.interval.ok();
        line.cost = match effect.in_percent {
            true => numbers::percent_of_interval(effect.change, interval),
            false => {
                let interval = interval.map(|interval| scale.convert_interval(interval));
                let change = scale.convert(effect.change);
                let shown = Rounding::from_interval(change, interval).difference(change);
                format!("{shown}{}", scale.unit_after())
            }
        };
        if effect.in_percent {
            line.key = effect.change.to_string();
        }
        line.interval = match effect.interval {
            Ok(interval) if effect.in_percent => numbers::percent_interval(effect.change, interval),
            Ok(interval) => {
                let interval = scale.convert_interval(interval);
                Rounding::from_interval(scale.convert(effect.change), Some(interval))
                    .differences(interval)
            }
            Err(Undefined::NoSpread) => "no spread".to_owned(),
            Err(why) => format!("no interval: {why}"),
        };
        line
    }

    fn table(lines: Vec<OverheadLine>) -> Table {
        let mut table = Table::new(vec![
            left("watched by"),
            left("cell"),
            left("metric"),
            right("unwatched"),
            right("watched"),
            right("difference"),
            left("verdict"),
        ]);
        for line in lines {
            let difference = format!("{} {}", line.cost, line.interval);
            table.row(vec![
                field(line.watched_by),
                field(line.cell),
                field(line.metric),
                field(line.unwatched),
                field(line.watched),
                field(difference.trim()),
                field(line.word).with_tone(tone(line.class)),
            ]);
        }
        table
    }

    /// What the intervals of the folded table are.
    pub fn secondary_legend(&self) -> String {
        let confidence = self.verdict.costs.iter().find(|cost| !cost.decides);
        let confidence = confidence.map_or(Confidence::USUAL, |cost| cost.confidence);
        format!(
            "Each interval is one of {}, so that those of secondary metrics hold together with 95 %.",
            numbers::confidence(confidence)
        )
    }

    /// What the numbers of the table are.
    pub fn legend(&self) -> String {
        let confidence = numbers::confidence(self.verdict.confidence);
        format!(
            "{}, each of every side: unwatched, watched by each monitor alone{}. Mean ± coefficient of variation \
             over n rounds. The cost is watched − unwatched, within rounds, in percent; the word says whether that is worse. \
             Each interval is one of {confidence}, so that those of a monitor on primary metrics hold together \
             with 95 %, however often they were looked at. Costs: the interval excludes zero.",
            numbers::counted(self.verdict.rounds as usize, "round"),
            match self.monitors.len() {
                1 => "",
                _ => ", by all together",
            }
        )
    }

    /// One sentence a monitor, with a class: what it costs most, or that it costs nothing.
    pub fn sentences(&self) -> Vec<(String, &'static str)> {
        let together = (self.monitors.len() > 1).then_some(MonitorSet::Together);
        let all = (0..self.monitors.len()).map(MonitorSet::By).chain(together);
        all.take(MOST_SENTENCES)
            .map(|watched| self.sentence(watched))
            .collect()
    }

    fn sentence(&self, watched: MonitorSet) -> (String, &'static str) {
        let name = self.name(watched);
        let costs: Vec<&MonitorCost> = self
            .verdict
            .costs
            .iter()
            .filter(|cost| cost.watched_by == watched && !cost.is_quiet())
            .collect();
        if let Some(worst) = worst(&costs) {
            let line = self.line(worst);
            let row = format!("{} {}", line.cell, line.metric);
            let word = match worst.call {
                CostCall::Helps => "better",
                _ => "worse",
            };
            let real = costs.iter().filter(|cost| cost.is_real()).count();
            let more = match real {
                1 => String::new(),
                several => format!(", and {} besides", numbers::counted(several - 1, "metric")),
            };
            let text = format!(
                "{name} makes {row} {word}, by {} {}{more}.",
                line.cost, line.interval
            );
            return (text, line.class);
        }
        let larger = costs.iter().map(|cost| match cost.call {
            CostCall::Nothing {
                larger_than_percent,
            } => Some(larger_than_percent),
            _ => None,
        });
        let larger: Vec<Option<f64>> = larger.collect();
        let known: Vec<f64> = larger.iter().copied().flatten().collect();
        let largest = numbers::bound(known.iter().copied().fold(0.0, f64::max));
        let unknown = larger.len() - known.len();
        match (known.len(), unknown) {
            (0, _) => (
                format!("{name}: no cost was seen; too few rounds to say how small it is."),
                "unsure",
            ),
            (_, 0) => (format!("{name}: no effect larger than {largest}."), "good"),
            (known, unknown) => (
                format!(
                    "{name}: no effect larger than {largest} on {}; of {} too few rounds to say how small it is.",
                    numbers::counted(known, "metric"),
                    numbers::counted(unknown, "other"),
                ),
                "unsure",
            ),
        }
    }
}

impl OverheadStudy {
    /// The costs as a document: a sentence a monitor, and the table.
    pub fn document(&self) -> Document {
        let quiet = self.lines(true);
        let folded = match quiet.len() {
            0 => None,
            1 => Some("… and 1 cost on a secondary metric, which isn't real".to_owned()),
            count => Some(format!(
                "… and {count} costs on secondary metrics, none real"
            )),
        };
        let document = Document::new(format!("{}: what watching costs", self.study));
        let sentences = self.sentences().into_iter();
        sentences
            .fold(document, |all, (text, class)| {
                all.with_sentence(text, tone(class))
            })
            .with_sentences(folded)
            .with_sentences(self.more_rounds().map(|more| more.to_string()))
            .with_section(
                Section::table("", Self::table(self.lines(false))).with_about(self.legend()),
            )
            .with_section(
                Section::table("Secondary metrics", Self::table(quiet))
                    .with_about(self.secondary_legend())
                    .folded(),
            )
    }
}

/// The cost that is said of a monitor first: one that makes worse, the largest.
fn worst<'a>(costs: &[&'a MonitorCost]) -> Option<&'a MonitorCost> {
    let size = |cost: &&MonitorCost| {
        cost.percent()
            .map_or(f64::INFINITY, |(percent, _)| percent.abs())
    };
    let real = costs.iter().copied().filter(|cost| cost.is_real());
    real.max_by(|a, b| {
        let rank = |cost: &MonitorCost| matches!(cost.call, CostCall::Costs);
        let by_rank = rank(a).cmp(&rank(b));
        by_rank.then(size(a).total_cmp(&size(b)))
    })
}

fn tone(class: &str) -> Tone {
    match class {
        "good" => Tone::Good,
        "bad" => Tone::Bad,
        "unsure" => Tone::Faint,
        _ => Tone::Plain,
    }
}

fn said(call: &CostCall) -> (String, &'static str) {
    match call {
        CostCall::Costs => ("worse".to_owned(), "bad"),
        CostCall::Helps => ("better".to_owned(), "good"),
        CostCall::Nothing {
            larger_than_percent,
        } => (
            format!(
                "no effect larger than {}",
                numbers::bound(*larger_than_percent)
            ),
            "good",
        ),
        CostCall::CannotTell { more: Some(more) } => {
            (format!("can't tell; ~{more} more rounds"), "unsure")
        }
        CostCall::CannotTell { more: None } => ("can't tell".to_owned(), "unsure"),
        CostCall::Missing => ("nothing measured".to_owned(), "unsure"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::Better;
    use backsight_policy::MonitorEffect;
    use backsight_stats::{Confidence, Interval};
    use indexmap::IndexMap;

    fn cost(
        watched_by: MonitorSet,
        call: CostCall,
        change: f64,
        ends: Option<(f64, f64)>,
    ) -> MonitorCost {
        let side = |mean| SideMean {
            mean,
            spread: Ok(1.5),
        };
        MonitorCost {
            cell: 0,
            metric: "time".parse().unwrap(),
            better: Better::Lower,
            decides: true,
            confidence: Confidence::USUAL,
            watched_by,
            call,
            rounds: 8,
            sides: Some((side(0.1), side(0.1 * (1.0 + change / 100.0)))),
            effect: Some(MonitorEffect {
                change,
                interval: ends
                    .map(|(low, high)| Interval { low, high })
                    .ok_or(Undefined::NoSpread),
                in_percent: true,
            }),
        }
    }

    fn study(costs: Vec<MonitorCost>) -> OverheadStudy {
        OverheadStudy {
            study: "costs".parse().unwrap(),
            monitors: ["burner", "sleeper"]
                .map(|name| name.parse().unwrap())
                .into(),
            cells: vec![Cell {
                benchmark: "count".parse().unwrap(),
                params: IndexMap::new(),
                chosen: Vec::new(),
                variant: "default".parse().unwrap(),
                monitors: None,
            }],
            units: vec![vec![Unit::parse("s").unwrap()]],
            verdict: OverheadVerdict {
                rounds: 8,
                confidence: Confidence::new(0.99).unwrap(),
                decided: true,
                costs,
                round_took: None,
            },
        }
    }

    #[test]
    fn a_cost_in_percent_of_next_to_nothing_is_not_estimable() {
        let open = CostCall::CannotTell { more: None };
        let wild = cost(
            MonitorSet::By(0),
            open,
            83_754.0,
            Some((-99.9, 94_627_846_961.0)),
        );
        let line = &study(vec![wild]).lines(false)[0];
        assert_eq!(
            (line.cost.as_str(), line.interval.as_str()),
            ("not estimable", "")
        );
    }

    #[test]
    fn secondary_metrics_are_folded_unless_their_cost_is_real_and_more_rounds_are_for_primary_ones()
    {
        let open = |more| CostCall::CannotTell { more: Some(more) };
        let secondary = |call| MonitorCost {
            decides: false,
            metric: "size".parse().unwrap(),
            ..cost(MonitorSet::By(1), call, 0.5, Some((-3.0, 4.0)))
        };
        let all = study(vec![
            secondary(open(900)),
            cost(MonitorSet::By(1), open(7), 0.4, Some((-2.0, 3.0))),
            secondary(CostCall::Costs),
        ]);
        let metrics = |quiet| -> Vec<String> {
            let lines = all.lines(quiet).into_iter();
            lines
                .map(|line| format!("{} {}", line.metric, line.word))
                .collect()
        };
        assert_eq!(
            metrics(false),
            ["time can't tell; ~7 more rounds", "size worse"]
        );
        assert_eq!(metrics(true), ["size can't tell; ~900 more rounds"]);
        let document = all.document();
        let text = document.text(&crate::TerminalStyle::default());
        let way_out = "about 7 more rounds would tell: backsight run --more 7 costs";
        assert!(text.contains(way_out) && !text.contains("900"), "{text}");
        assert!(
            text.contains("… and 1 cost on a secondary metric"),
            "{text}"
        );
        let markdown = document.markdown();
        let (shown, folded) = markdown.split_once("<details>").unwrap();
        assert!(
            !shown.contains("900") && folded.contains("900"),
            "{markdown}"
        );
    }

    #[test]
    fn a_cost_has_its_interval_and_both_means_their_spread_and_count() {
        let quiet = CostCall::Nothing {
            larger_than_percent: 0.8,
        };
        let study = study(vec![
            cost(
                MonitorSet::By(0),
                CostCall::Costs,
                85.2,
                Some((55.0, 122.4)),
            ),
            cost(MonitorSet::By(1), quiet, -0.1, Some((-0.8, 0.6))),
            cost(
                MonitorSet::Together,
                CostCall::CannotTell { more: Some(3) },
                5.0,
                None,
            ),
        ]);
        let lines = study.lines(false);
        let of = |line: &OverheadLine| {
            let OverheadLine {
                watched_by,
                unwatched,
                cost,
                interval,
                word,
                ..
            } = line.clone();
            [watched_by, unwatched, cost, interval, word]
        };
        let expected = [
            [
                "burner",
                "100 ms ±1.5 % n=8",
                "+85 %",
                "[+55, +122]",
                "worse",
            ],
            [
                "sleeper",
                "100 ms ±1.5 % n=8",
                "−0.10 %",
                "[−0.80, +0.60]",
                "no effect larger than 0.80 %",
            ],
            [
                "all together",
                "100 ms ±1.5 % n=8",
                "+5.00 %",
                "no spread",
                "can't tell; ~3 more rounds",
            ],
        ];
        for (line, expected) in lines.iter().zip(expected) {
            assert_eq!(of(line), expected);
        }
        let said: Vec<String> = study
            .sentences()
            .into_iter()
            .map(|(text, _)| text)
            .collect();
        assert_eq!(
            said[0],
            "burner makes count time worse, by +85 % [+55, +122]."
        );
        assert_eq!(said[1], "sleeper: no effect larger than 0.80 %.");
        assert!(
            said[2].starts_with("all together: no cost was seen"),
            "{said:?}"
        );
        assert!(study.legend().contains("one of 99 %"), "{}", study.legend());
    }
}
