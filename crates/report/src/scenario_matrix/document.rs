//! A scenario matrix as tables and bars.

use backsight_model::Better;
use indexmap::{IndexMap, IndexSet};

use super::{MatrixCell, MatrixRow, MatrixTable, ScenarioMatrix};
use crate::{
    Body, Document, Field, Render, Section, Table, Tone,
    chart::{Bar, BarChart, BarGroup},
    field, left,
    numbers::{self, Rounding, Scale, direction_words},
    right,
};

/// Width of the chart, in pixels.
const CHART_WIDTH: f64 = 380.0;

/// Most bars of a chart.
const MOST_BARS: usize = 150;

/// Heights of values in a line of text.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl MatrixTable {
    fn scale(&self) -> Scale {
        let cells = self.rows.iter().flat_map(|row| &row.cells);
        let values = cells.filter_map(|cell| match cell {
            MatrixCell::Measured { value, .. } => Some(*value),
            _ => None,
        });
        Scale::fitting(self.scale, values)
    }

    /// A table with a field for each measured combination.
    fn fields(&self, corner: &str, of: impl Fn(&MatrixCell) -> Field) -> Table {
        let mut columns = vec![left(corner)];
        columns.extend(self.columns.iter().map(right));
        let mut table = Table::new(columns);
        for row in &self.rows {
            let fields = row.cells.iter().map(|cell| match cell {
                MatrixCell::Measured { .. } => of(cell),
                MatrixCell::NotMeasured { .. } => field("not measured").with_tone(Tone::Bad),
                MatrixCell::NotApplicable { .. } => field("n/a").with_tone(Tone::Faint),
            });
            let mut all = vec![field(&row.name)];
            all.extend(fields);
            table.row(all);
        }
        table
    }

    fn values(&self, corner: &str) -> Table {
        let scale = self.scale();
        self.fields(corner, |cell| match cell {
            MatrixCell::Measured { value, reach, .. } => {
                let reach = reach.map(|reach| scale.convert(reach));
                field(numbers::mean(scale.convert(*value), reach))
            }
            _ => Field::default(),
        })
    }

    fn speed_ups(&self, corner: &str) -> Table {
        self.fields(corner, |cell| match cell {
            MatrixCell::Measured {
                speed_up: Some(it), ..
            } => {
                let rounding = Rounding::from_interval(it.ratio, it.interval);
                let interval = it.interval.map_or(String::new(), |ends| {
                    format!(" {}", rounding.interval(ends))
                });
                let (mark, tone) = match it.verdict {
                    "better" => ("✓ ", Tone::Good),
                    "worse" => ("✗ ", Tone::Bad),
                    "changed" => ("○ ", Tone::Changed),
                    "no change" => ("= ", Tone::Plain),
                    _ => ("? ", Tone::Plain),
                };
                let ratio = rounding.value(it.ratio);
                field(format!("{mark}×{ratio}{interval}")).with_tone(tone)
            }
            _ => field("–").with_tone(Tone::Faint),
        })
    }

    fn utilisations(&self, corner: &str) -> Table {
        self.fields(corner, |cell| match cell {
            MatrixCell::Measured {
                utilisation: Some(share),
                ..
            } => field(format!("{:.0} %", share * 100.0)).with_shade(*share),
            _ => Field::default(),
        })
    }

    /// The values as bars, a group for each row; none where they are too many to be read.
    fn bars(&self, name: &str) -> Option<Section> {
        let scale = self.scale();
        if self.rows.len() * self.columns.len() > MOST_BARS {
            return None;
        }
        let bar = |(number, (column, cell)): (usize, (&String, &MatrixCell))| {
            let (centre, interval, value, count) = match cell {
                MatrixCell::Measured {
                    value,
                    reach,
                    trials,
                    ..
                } => {
                    let centre = scale.convert(*value);
                    let reach = reach.map(|reach| scale.convert(reach));
                    let interval = reach.map(|reach| (centre - reach, centre + reach));
                    let count = format!("n={trials}");
                    (Some(centre), interval, numbers::mean(centre, reach), count)
                }
                MatrixCell::NotMeasured { .. } => {
                    (None, None, "not measured".to_owned(), String::new())
                }
                MatrixCell::NotApplicable { .. } => (None, None, "n/a".to_owned(), String::new()),
            };
            Bar {
                about: format!("{column}: {value}"),
                label: column.clone(),
                value,
                count,
                tone: number,
                centre,
                interval,
                samples: Vec::new(),
            }
        };
        let group = |row: &MatrixRow| {
            let cells = self.columns.iter().zip(&row.cells).enumerate();
            let is_left_out = |cell: &MatrixCell| matches!(cell, MatrixCell::NotApplicable { .. });
            // One frame says it for all.
            let bars = match row.cells.iter().all(is_left_out) {
                true => vec![Bar {
                    about: format!("{}: n/a", row.name),
                    label: "all columns".to_owned(),
                    value: "n/a".to_owned(),
                    ..Bar::default()
                }],
                false => cells.map(&bar).collect(),
            };
            BarGroup {
                label: row.name.clone(),
                bars,
            }
        };
        let chart = BarChart {
            title: name.to_owned(),
            unit: scale.unit.map_or(String::new(), |unit| unit.to_string()),
            groups: self.rows.iter().map(group).collect(),
        };
        let id = format!("bars-{}-{}", self.cell, self.metric);
        let id = id.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let body = Body::Picture {
            svg: chart.svg(&id, CHART_WIDTH),
            text: self.bars_as_text(),
        };
        Some(Section::new(format!("{name}: bars from zero"), body))
    }

    /// A line for each row: the height of each column's value as a share of the largest, a dot where there is none.
    fn bars_as_text(&self) -> String {
        let value = |cell: &MatrixCell| match cell {
            MatrixCell::Measured { value, .. } => Some(*value),
            _ => None,
        };
        let all = self.rows.iter().flat_map(|row| &row.cells);
        let largest = all.filter_map(value).fold(f64::MIN_POSITIVE, f64::max);
        let block = |cell: &MatrixCell| {
            let share = value(cell).map(|value| (value / largest).clamp(0.0, 1.0));
            share.map_or('·', |share| BLOCKS[(share * 7.0).round() as usize])
        };
        let width = self.rows.iter().map(|row| row.name.chars().count()).max();
        let line = |row: &MatrixRow| {
            let blocks: String = row.cells.iter().map(block).collect();
            format!("{:width$}  {blocks}", row.name, width = width.unwrap_or(0))
        };
        let lines: Vec<String> = self.rows.iter().map(line).collect();
        lines.join("\n")
    }

    /// The reasons of what is left out, with their places.
    fn left_out<'a>(&'a self, reasons: &mut IndexMap<&'a str, IndexSet<String>>) {
        for row in &self.rows {
            let why = |cell: &'a MatrixCell| match cell {
                MatrixCell::NotApplicable { why } => why.as_deref(),
                _ => None,
            };
            let whys: Vec<Option<&str>> = row.cells.iter().map(why).collect();
            let is_one = whys.iter().all(|it| *it == whys[0]);
            for (column, why) in self.columns.iter().zip(whys) {
                let Some(why) = why else { continue };
                let place = match is_one {
                    true => row.name.clone(),
                    false => format!("{} and {column}", row.name),
                };
                reasons.entry(why).or_default().insert(place);
            }
        }
    }

    /// What gave nothing, with why: a row, or columns of one.
    fn missing(&self) -> Vec<(String, &str)> {
        let mut missing = Vec::new();
        for row in &self.rows {
            let mut columns_by_reason: IndexMap<&str, Vec<&str>> = IndexMap::new();
            for (cell, column) in row.cells.iter().zip(&self.columns) {
                if let MatrixCell::NotMeasured { why } = cell {
                    columns_by_reason.entry(why).or_default().push(column);
                }
            }
            let is_planned = |cell: &&MatrixCell| !matches!(cell, MatrixCell::NotApplicable { .. });
            let planned = row.cells.iter().filter(is_planned).count();
            missing.extend(columns_by_reason.into_iter().map(|(why, columns)| {
                let place = match columns.len() == planned {
                    true => row.name.clone(),
                    false => format!("{} and {}", row.name, columns.join(", ")),
                };
                (place, why)
            }));
        }
        missing
    }
}

impl ScenarioMatrix {
    /// What gave nothing, with why; the table stands with it where others have it.
    fn missing(&self) -> Vec<String> {
        let mut tables_by_place: IndexMap<(String, &str), Vec<&MatrixTable>> = IndexMap::new();
        for table in &self.tables {
            for place in table.missing() {
                tables_by_place.entry(place).or_default().push(table);
            }
        }
        let lines = tables_by_place.into_iter();
        lines
            .flat_map(|((place, why), tables)| {
                if tables.len() == self.tables.len() {
                    return vec![format!("{place}: {why}")];
                }
                let of_table = |table: &&MatrixTable| {
                    format!("{} {}, {place}: {why}", table.cell, table.metric)
                };
                tables.iter().map(of_table).collect()
            })
            .collect()
    }
}

impl Render for ScenarioMatrix {
    type View<'v> = &'v Self;

    fn view(&self) -> &Self {
        self
    }

    fn document(&self) -> Document {
        let (rows, columns) = (&self.rows, &self.columns);
        let title = format!("{}: {rows} × {columns}", self.study);
        let axis = |name: &str| name.replace('+', " / ");
        let corner = format!("{} \\ {}", axis(rows), axis(columns));
        let mut document = Document::new(title);
        for table in &self.tables {
            let name = format!("{} {}", table.cell, table.metric);
            let scale = table.scale();
            let unit = scale.unit.map_or(String::new(), |unit| format!("{unit}, "));
            let better = table
                .better
                .parse()
                .map_or("", |better: Better| direction_words(better));
            document = document
                .with_section(Section::table(
                    format!("{name}: {unit}{better}"),
                    table.values(&corner),
                ))
                .with_section(
                    Section::table(
                        format!("{name}: speed-up to {}={}", self.base_of, self.base),
                        table.speed_ups(&corner),
                    )
                    .with_about(
                        "So many times as good, with the interval of the comparison that it is from; above 1 is better. ✓ better, ✗ worse, = no change, ? can't tell.",
                    ),
                );
            if let Some(bars) = table.bars(&name) {
                document = document.with_section(bars);
            }
            if let Some(limit) = table.limit {
                let scale = Scale::fitting(table.scale, [limit]);
                let limit = scale.convert(limit);
                let limit = format!("{}{}", numbers::value(limit, 3), scale.unit_after());
                document = document.with_section(Section::table(
                    format!("{name}: share of {limit}"),
                    table.utilisations(&corner),
                ));
            }
        }
        let mut reasons = IndexMap::new();
        for table in &self.tables {
            table.left_out(&mut reasons);
        }
        let left_out = reasons.into_iter().map(|(why, places)| {
            let places: Vec<String> = places.into_iter().collect();
            format!("{}: {why}", places.join(", "))
        });
        document
            .with_section(Section::list("Left out: n/a", left_out.collect()))
            .with_section(Section::list("Not measured", self.missing()))
    }
}
