//! What samplers print, as series: a value of each name at each instant.
//!
//! Every line is JSON. `{"sampler": K, "name": …, "series": […]}` names the series of the sampler with the place K on its command
//! line; `[K, at_ns, v, …]` is one sample of it, absolute after such a line and else the difference to the sample before;
//! `{"sampler": K, "name": …, "fault": …}` says why it has ended. A last line that was cut off is left out.

use indexmap::IndexMap;
use serde::Deserialize;

/// What a series has at an instant at which its sampler didn't see it.
pub const MISSING: i64 = i64::MIN;

/// The series of one sampler in one trial.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SampledSeries {
    /// When each sample was taken: `CLOCK_MONOTONIC` of its host, in nanoseconds, rising.
    pub at_ns: Vec<u64>,
    /// The values of each series, one an instant; [`MISSING`] where there was none.
    pub series: IndexMap<String, Vec<i64>>,
    /// Why it ended before it was stopped.
    pub fault: Option<String>,
}

#[derive(Deserialize)]
struct Header {
    sampler: usize,
    #[serde(default)]
    series: Option<Vec<String>>,
    #[serde(default)]
    fault: Option<String>,
}

/// Whether a sampler printed it: other monitors print what they like.
pub fn is_of_sampler(printed: &[u8]) -> bool {
    printed.starts_with(b"{\"sampler\"")
}

/// The lines of each of `count` samplers that printed together, whole lines only.
pub fn split_by_sampler(printed: &[u8], count: usize) -> Vec<Vec<u8>> {
    let mut split = vec![Vec::new(); count];
    for line in whole_lines(printed) {
        let sampler = match line.strip_prefix(b"[") {
            Some(numbers) => leading_number(numbers),
            None => serde_json::from_slice(line)
                .ok()
                .map(|header: Header| header.sampler),
        };
        if let Some(lines) = sampler.and_then(|sampler| split.get_mut(sampler)) {
            lines.extend_from_slice(line);
            lines.push(b'\n');
        }
    }
    split
}

/// The samplers that ended before they were stopped, by their place, and why.
pub fn sampler_faults(printed: &[u8]) -> Vec<(usize, String)> {
    let headers = whole_lines(printed).filter(|line| line.starts_with(b"{"));
    let headers = headers.filter_map(|line| serde_json::from_slice(line).ok());
    headers
        .filter_map(|header: Header| Some((header.sampler, header.fault?)))
        .collect()
}

fn whole_lines(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = printed.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let lines = printed[..whole].split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty())
}

fn leading_number(text: &[u8]) -> Option<usize> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[..digits]).ok()?.parse().ok()
}

impl SampledSeries {
    /// The series of the one sampler that printed these lines.
    ///
    /// # Errors
    /// A line that is none of a sampler, with its number.
    pub fn read(printed: &[u8]) -> Result<Self, String> {
        let mut found = Self::default();
        // Which series the numbers of a line belong to, and the absolute values of the last line.
        let (mut columns, mut last): (Vec<usize>, Vec<i64>) = Default::default();
        let mut at: i64 = 0;
        for (number, line) in whole_lines(printed).enumerate() {
            let fault = |why: &str| format!("line {} is no sample: {why}", number + 1);
            if line.starts_with(b"{") {
                let header: Header =
                    serde_json::from_slice(line).map_err(|error| fault(&error.to_string()))?;
                found.fault = found.fault.or(header.fault);
                if let Some(names) = header.series {
                    columns = names.into_iter().map(|name| found.column(name)).collect();
                    last = Vec::new();
                    at = 0;
                }
                continue;
            }
            let numbers = numbers(line).ok_or_else(|| fault("not a list of whole numbers"))?;
            let [_, since, ref values @ ..] = numbers[..] else {
                return Err(fault("it has no instant"));
            };
            if values.len() != columns.len() {
                return Err(fault(
                    "it has another number of values than there are series",
                ));
            }
            match last.is_empty() {
                true => last = values.to_vec(),
                false => {
                    for (last, value) in last.iter_mut().zip(values) {
                        *last = last.wrapping_add(*value);
                    }
                }
            }
            at = at
                .checked_add(since)
                .ok_or_else(|| fault("its instant is none"))?;
            let instant = u64::try_from(at).map_err(|_| fault("its instant is negative"))?;
            if found.at_ns.last().is_some_and(|before| *before >= instant) {
                return Err(fault("it isn't after the one before"));
            }
            found.at_ns.push(instant);
            for (column, value) in columns.iter().zip(&last) {
                found.series[*column].push(*value);
            }
            let length = found.at_ns.len();
            for values in found.series.values_mut() {
                values.resize(length, MISSING);
            }
        }
        Ok(found)
    }

    /// The place of a series, which is made if it is new.
    fn column(&mut self, name: String) -> usize {
        let before = self.at_ns.len();
        let entry = self.series.entry(name);
        let place = entry.index();
        entry.or_insert_with(|| vec![MISSING; before]);
        place
    }

    /// By how much counters rose between each two instants, summed over the series of these names; a counter that fell began anew
    /// at nothing.
    pub fn increases(&self, names: &[&str]) -> Vec<f64> {
        let mut all = vec![0.0; self.at_ns.len().saturating_sub(1)];
        for values in names.iter().filter_map(|name| self.series.get(*name)) {
            let mut known = MISSING;
            for (place, value) in values.iter().enumerate().filter(|(_, v)| **v != MISSING) {
                if known != MISSING && place > 0 {
                    let rise = i128::from(*value) - i128::from(known);
                    all[place - 1] += if rise < 0 { *value as f64 } else { rise as f64 };
                }
                known = *value;
            }
        }
        all
    }

    /// The sum of the series of these names at each instant at which there was one.
    pub(crate) fn levels(&self, names: &[&str]) -> Vec<f64> {
        let series = names.iter().filter_map(|name| self.series.get(*name));
        let series: Vec<&Vec<i64>> = series.collect();
        let sums = (0..self.at_ns.len()).map(|place| {
            let there = series.iter().map(|values| values[place]);
            let there = there.filter(|value| *value != MISSING);
            there.fold(None, |sum: Option<f64>, value| {
                Some(sum.unwrap_or(0.0) + value as f64)
            })
        });
        sums.flatten().collect()
    }

    /// Seconds from the first sample that has one of these series to the last one that does.
    pub(crate) fn seconds(&self, names: &[&str]) -> f64 {
        let series = names.iter().filter_map(|name| self.series.get(*name));
        let ends = series.filter_map(|values| {
            let is_there = |value: &i64| *value != MISSING;
            let (first, last) = (
                values.iter().position(is_there)?,
                values.iter().rposition(is_there)?,
            );
            Some((self.at_ns[first], self.at_ns[last]))
        });
        let ends = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        ends.map_or(0.0, |(first, last)| (last - first) as f64 / 1e9)
    }
}

/// `[1,2,-3]`.
fn numbers(line: &[u8]) -> Option<Vec<i64>> {
    let inside = line.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let words = std::str::from_utf8(inside).ok()?.split(',');
    words.map(|word| word.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "{\"sampler\":0,\"name\":\"cpu\",\"series\":[\"ctxt\",\"run\"]}\n[0,1000,5,1]\n\
        {\"sampler\":1,\"name\":\"net\",\"series\":[\"lo.rx\"]}\n[1,1001,7]\n[0,500,10,-1]\n[1,500,0]\n\
        {\"sampler\":0,\"name\":\"cpu\",\"series\":[\"run\",\"new\"]}\n[0,2000,3,9]\n[0,10,0,1]\n[1,50";

    #[test]
    fn samples_are_absolute_after_a_header_and_differences_else() {
        let split = split_by_sampler(TWO.as_bytes(), 2);
        let cpu = SampledSeries::read(&split[0]).unwrap();
        assert_eq!(cpu.at_ns, [1000, 1500, 2000, 2010]);
        assert_eq!(cpu.series["ctxt"], [5, 15, MISSING, MISSING]);
        assert_eq!(cpu.series["run"], [1, 0, 3, 3]);
        assert_eq!(cpu.series["new"], [MISSING, MISSING, 9, 10]);
        let net = SampledSeries::read(&split[1]).unwrap();
        assert_eq!(
            (net.at_ns.len(), &net.series["lo.rx"][..]),
            (2, &[7, 7][..])
        );
    }

    #[test]
    fn counters_that_fall_began_anew_and_levels_are_sums_of_what_is_there() {
        let printed = "{\"sampler\":0,\"name\":\"x\",\"series\":[\"a\",\"b\"]}\n[0,0,10,1]\n[0,1000000000,5,1]\n[0,1000000000,-12,1]\n";
        let found = SampledSeries::read(printed.as_bytes()).unwrap();
        assert_eq!(found.increases(&["a", "b"]), [6.0, 4.0]);
        assert_eq!(found.levels(&["a", "b", "none"]), [11.0, 17.0, 6.0]);
        assert!((found.seconds(&["a", "b"]) - 2.0).abs() < 1e-12);
        let split = split_by_sampler(TWO.as_bytes(), 2);
        let cpu = SampledSeries::read(&split[0]).unwrap();
        assert!((cpu.seconds(&["new"]) - 10e-9).abs() < 1e-18);
        assert!(cpu.seconds(&["none"]).abs() < 1e-18);
    }

    #[test]
    fn what_no_sampler_prints_is_said_with_its_line() {
        for (printed, said) in [
            ("[0,1]\noops\n", "line 2"),
            ("[0]\n", "no instant"),
            ("[0,1,2]\n", "another number of values"),
            (
                "{\"sampler\":0,\"series\":[]}\n[0,5]\n[0,0]\n",
                "isn't after",
            ),
            ("[0,-5]\n", "negative"),
            ("{\"sampler\"}\n", "line 1"),
        ] {
            let fault = SampledSeries::read(printed.as_bytes()).unwrap_err();
            assert!(fault.contains(said), "{printed}: {fault}");
        }
        let faulty = "{\"sampler\":0,\"name\":\"x\",\"fault\":\"no rights\"}\n";
        let found = SampledSeries::read(faulty.as_bytes()).unwrap();
        assert_eq!(found.fault.as_deref(), Some("no rights"));
        assert_eq!(SampledSeries::read(b""), Ok(SampledSeries::default()));
    }
}
