//! Histograms of probes as a HistogramLog of HdrHistogram: a line each, compressed, tagged with where it was taken.
//!
//! Values are nanoseconds, exact to three digits as probes keep them. Tools that read such logs: HistogramLogProcessor,
//! HistogramLogAnalyzer, hdr-plot and the libraries of HdrHistogram.

use std::{io::Write as _, time::Duration};

use hdrhistogram::{
    Histogram,
    serialization::{
        V2DeflateSerializer,
        interval_log::{IntervalLogWriterBuilder, Tag},
    },
};

use super::ExportError;
use crate::table::TableOutput;

/// Digits to which values are exact.
const DIGITS: u8 = 3;

/// The largest value of a line is shown in milliseconds, as tools expect it.
const NANOSECONDS_IN_MILLISECOND: f64 = 1e6;

/// What one probe found in one phase of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeHistogram {
    /// Where it was taken, without spaces and commas: `trial-3.client.probe-timer`.
    pub tag: String,
    /// When it began, since 1970.
    pub began: Duration,
    /// How long it went on.
    pub took: Duration,
    /// A time in nanoseconds, and how many operations took that long.
    pub counts: Vec<(u64, u64)>,
}

/// Writes them, ordered by when they began.
///
/// # Errors
/// It can't be written.
pub fn export_histograms(
    mut histograms: Vec<ProbeHistogram>,
    mut out: TableOutput,
) -> Result<(), ExportError> {
    histograms.sort_by_key(|one| one.began);
    out.write_all(&log(&histograms).map_err(ExportError::Unwritable)?)
        .map_err(|error| ExportError::Unwritable(error.to_string()))?;
    out.finish()?;
    Ok(())
}

fn log(histograms: &[ProbeHistogram]) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .with_max_value_divisor(NANOSECONDS_IN_MILLISECOND)
        .begin_log_with(&mut text, &mut serializer)
        .map_err(|error| error.to_string())?;
    for one in histograms {
        let mut histogram = Histogram::<u64>::new(DIGITS).map_err(|error| error.to_string())?;
        for (value, count) in &one.counts {
            let recorded = histogram.record_n(*value, *count);
            recorded.map_err(|error| error.to_string())?;
        }
        writer
            .write_histogram(&histogram, one.began, one.took, Tag::new(&one.tag))
            .map_err(|error| error.to_string())?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use hdrhistogram::serialization::{
        Deserializer,
        interval_log::{IntervalLogIterator, LogEntry},
    };

    #[test]
    fn the_librarys_own_reader_has_every_count_again() {
        // The greatest values that are counted with theirs, as probes keep them.
        let counts = vec![(1, 3), (61_439, 900), (1_000_447, 90), (9_011_199, 1)];
        let one = ProbeHistogram {
            tag: "trial-3.client.probe-timer".into(),
            began: Duration::from_millis(1_700_000_000_250),
            took: Duration::from_secs(12),
            counts: counts.clone(),
        };
        let text = log(&[one]).unwrap();
        let entries: Result<Vec<_>, _> = IntervalLogIterator::new(&text).collect();
        let entries = entries.unwrap();
        let [LogEntry::Interval(interval)] = &entries[..] else {
            panic!("{entries:?}");
        };
        assert_eq!(
            interval.tag().unwrap().as_str(),
            "trial-3.client.probe-timer"
        );
        assert_eq!(
            interval.start_timestamp(),
            Duration::from_millis(1_700_000_000_250)
        );
        assert_eq!(interval.duration(), Duration::from_secs(12));
        let encoded = STANDARD.decode(interval.encoded_histogram()).unwrap();
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut &encoded[..]).unwrap();
        let again = read.iter_recorded();
        let again: Vec<(u64, u64)> = again
            .map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
            .collect();
        assert_eq!(again, counts);
    }
}
