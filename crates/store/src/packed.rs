//! Samples as bytes: 64-bit little-endian floats one after the other, in every database alike; and the checksum by which a
//! bit that was flipped since is noticed.

/// The bytes of these samples.
pub(crate) fn pack(values: &[f64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// The samples of these bytes; `None` if they are no whole number of floats.
pub(crate) fn unpack(bytes: &[u8]) -> Option<Vec<f64>> {
    let (floats, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| {
        floats
            .iter()
            .map(|bytes| f64::from_le_bytes(*bytes))
            .collect()
    })
}

/// What kind of samples of a trial's metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleKind {
    /// Those that the trial measured.
    Measured,
    /// The interval samples within it.
    Within,
}

/// Where packed samples stand: bytes that are right in another place are wrong here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SampleKey {
    /// The study.
    pub study: i64,
    /// The trial's number in it.
    pub trial: i64,
    /// The metric's position in its benchmark.
    pub metric: i64,
}

/// The checksum of packed samples in their place. Most trials have no interval samples, so that for none it is 0.
pub(crate) fn checksum(key: SampleKey, which: SampleKind, packed: &[u8]) -> i64 {
    if packed.is_empty() {
        return 0;
    }
    let mut hasher = blake3::Hasher::new();
    for part in [key.study, key.trial, key.metric, which as i64] {
        hasher.update(&part.to_le_bytes());
    }
    hasher.update(packed);
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    i64::from_le_bytes(first)
}

/// Packed samples, as their checksum says they are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StoredSamples {
    /// They are what was recorded.
    Sound(Vec<f64>),
    /// They were recorded before there were checksums.
    Unchecked(Vec<f64>),
    /// They aren't what was recorded.
    Damaged,
}

impl StoredSamples {
    /// Reads packed samples, with their checksum if there is one.
    pub(crate) fn read(packed: &[u8], sum: Option<i64>, key: SampleKey, which: SampleKind) -> Self {
        match (unpack(packed), sum) {
            (Some(samples), None) => Self::Unchecked(samples),
            (Some(samples), Some(sum)) if sum == checksum(key, which, packed) => {
                Self::Sound(samples)
            }
            _ => Self::Damaged,
        }
    }
}

/// A sample as the database joins those of a trial into one text: `METRIC CHECKSUM HEXADECIMAL`, with commas between them; without
/// its checksum where it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JoinedSample {
    /// The metric's position in its benchmark.
    pub metric: usize,
    /// The checksum, if it has one.
    pub checksum: Option<i64>,
    /// The packed samples.
    pub packed: Vec<u8>,
}

impl JoinedSample {
    /// The samples of a joined text; none for each that isn't of this form.
    pub(crate) fn all(joined: &str) -> impl Iterator<Item = Option<Self>> {
        joined.split(',').map(Self::read)
    }

    fn read(text: &str) -> Option<Self> {
        let (metric, rest) = text.split_once(' ')?;
        let (checksum, digits) = rest.split_once(' ')?;
        Some(Self {
            metric: metric.parse().ok()?,
            checksum: match checksum {
                "" => None,
                number => Some(number.parse().ok()?),
            },
            packed: bytes_of(digits)?,
        })
    }
}

/// The bytes of hexadecimal digits, two each.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8; 2]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
    match rest {
        [] => pairs.iter().map(byte).collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn joined_samples_are_taken_apart_and_garbage_is_noticed() {
        let all: Vec<_> = JoinedSample::all("0 -5 00fFa1,12  ,3 7 ").collect();
        let sample = |metric, checksum, packed: &[u8]| {
            Some(JoinedSample {
                metric,
                checksum,
                packed: packed.to_vec(),
            })
        };
        let expected = [
            sample(0, Some(-5), &[0, 0xff, 0xa1]),
            sample(12, None, &[]),
            sample(3, Some(7), &[]),
        ];
        assert_eq!(all, expected);
        for garbage in [
            "", "1", "1 2", "1 2 0", "1 2 0g", "-1 2 00", "1 x 00", "1 2 é0",
        ] {
            assert_eq!(JoinedSample::all(garbage).next(), Some(None), "{garbage}");
        }
    }

    proptest! {
        #[test]
        fn every_float_comes_back_bit_by_bit(values in prop::collection::vec(any::<u64>().prop_map(f64::from_bits), 0..50)) {
            let back = unpack(&pack(&values)).unwrap();
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&back), bits(&values));
        }

        #[test]
        fn a_flipped_bit_and_another_place_change_the_checksum(
            values in prop::collection::vec(any::<f64>(), 1..20),
            bit in any::<prop::sample::Index>(),
            ids in prop::array::uniform3(0i64..1000),
        ) {
            let key = SampleKey { study: ids[0], trial: ids[1], metric: ids[2] };
            let packed = pack(&values);
            let sum = checksum(key, SampleKind::Measured, &packed);
            let mut flipped = packed.clone();
            let bit = bit.index(packed.len() * 8);
            flipped[bit / 8] ^= 1 << (bit % 8);
            prop_assert_ne!(checksum(key, SampleKind::Measured, &flipped), sum);
            prop_assert_ne!(checksum(key, SampleKind::Within, &packed), sum);
            prop_assert_ne!(checksum(SampleKey { trial: ids[1] + 1, ..key }, SampleKind::Measured, &packed), sum);
            prop_assert_eq!(checksum(key, SampleKind::Within, &[]), 0);
        }

        #[test]
        fn a_torn_float_is_noticed(values in prop::collection::vec(any::<f64>(), 1..5), cut in 1usize..8) {
            let mut bytes = pack(&values);
            bytes.truncate(bytes.len() - cut);
            prop_assert_eq!(unpack(&bytes), None);
        }
    }
}
