//! Samples as bytes: 64-bit little-endian floats one after the other, in every database alike.

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_float_comes_back_bit_by_bit(values in prop::collection::vec(any::<u64>().prop_map(f64::from_bits), 0..50)) {
            let back = unpack(&pack(&values)).unwrap();
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&back), bits(&values));
        }

        #[test]
        fn a_torn_float_is_noticed(values in prop::collection::vec(any::<f64>(), 1..5), cut in 1usize..8) {
            let mut bytes = pack(&values);
            bytes.truncate(bytes.len() - cut);
            prop_assert_eq!(unpack(&bytes), None);
        }
    }
}
