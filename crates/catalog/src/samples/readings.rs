//! What each parser finds in an output, and where: for who writes a definition.

use backsight_model::{HostName, MetricName, OutputSource, Phase, Pick, StepRecord, Unit};
use std::{borrow::Cow, cell::OnceCell};

use super::{ExtractionError, How, MetricParser, Parsers, Printed, Seeker, picked};
use crate::jq::with_deep_stack;

/// What a metric's parsers find.
#[derive(Debug)]
pub struct MetricReading {
    /// The metric.
    pub metric: MetricName,
    /// Its unit.
    pub unit: Unit,
    /// Where it is looked for.
    pub source: OutputSource,
    /// Whether it may be missing.
    pub is_optional: bool,
    /// Which of the numbers counts.
    pub pick: Pick,
    /// What its summary finds.
    pub summary: SoughtNumbers,
    /// What is found within the trial, where that is sought.
    pub each: Option<SoughtNumbers>,
}

/// The numbers that one parser finds.
#[derive(Debug)]
pub struct SoughtNumbers {
    /// What is sought, as the definition says it; empty for a resource.
    pub sought: String,
    /// The numbers, in the metric's unit.
    pub numbers: Result<Vec<f64>, ExtractionError>,
    /// The lines that have them, from 1; none where lines mean nothing, as in JSON.
    pub lines: Vec<usize>,
}

impl MetricReading {
    /// The trial's sample; none if there is none.
    pub fn sample(&self) -> Option<f64> {
        let numbers = self.summary.numbers.as_ref().ok()?;
        (!numbers.is_empty()).then(|| picked(self.pick, numbers))
    }
}

impl Parsers {
    /// What each metric's parsers find in what these steps printed, in the definition's order.
    pub fn readings(&self, steps: &[StepRecord]) -> Vec<MetricReading> {
        let read = || self.0.iter().map(|metric| metric.reading(steps)).collect();
        with_deep_stack(read).unwrap_or_default()
    }

    /// What each metric's parsers find in a log that somebody else kept of the program: whatever the definition says where it was
    /// printed, it is in the log. Of what the system counts nothing is. Within [`with_deep_stack`] only.
    pub fn readings_of_text(&self, text: &[u8]) -> Vec<MetricReading> {
        let Ok(nowhere) = HostName::new("elsewhere") else {
            return Vec::new();
        };
        let parsers = self.0.iter();
        let read = parsers.filter(|metric| !matches!(metric.summary.how, How::Resource(_)));
        read.map(|metric| {
            let step = StepRecord::new(metric.from.role.clone(), nowhere.clone(), Phase::Run);
            metric.reading_of(&Printed {
                source: metric.from.to_string(),
                host: None,
                steps: vec![&step],
                text: Cow::Borrowed(text),
                documents: OnceCell::new(),
            })
        })
        .collect()
    }
}

impl MetricParser {
    fn reading(&self, steps: &[StepRecord]) -> MetricReading {
        self.reading_of(&Printed::from_steps(&self.from, steps, None))
    }

    fn reading_of(&self, printed: &Printed<'_>) -> MetricReading {
        let found = |seeker: &Seeker| SoughtNumbers {
            sought: seeker.sought.clone(),
            numbers: seeker.numbers(printed, self.unit),
            lines: match &seeker.how {
                How::Expression(expression) => expression.lines(&printed.text),
                How::Field(field) => field.lines(&printed.text),
                How::Json(_) | How::Resource(_) => Vec::new(),
            },
        };
        MetricReading {
            metric: self.name.clone(),
            unit: self.unit,
            source: self.from.clone(),
            is_optional: self.optional,
            pick: self.pick,
            summary: found(&self.summary),
            each: self.each.as_ref().map(found),
        }
    }
}
