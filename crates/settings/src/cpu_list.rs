//! Sets of processors as the kernel writes them: lists (`0-3,8`) and masks in hexadecimal (`00000001,0000000f`).

use std::{collections::BTreeSet, fmt};

/// The kernel's own limit of processors (NR_CPUS) on x86 and arm64.
const MOST: u32 = 8192;

/// A set of processors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuList(BTreeSet<u32>);

impl CpuList {
    /// Reads a list: numbers and ranges with commas between. The empty text is the empty set.
    ///
    /// # Errors
    /// It is no list, or has a number above 8191.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fault = || format!("`{text}` is no list of CPUs such as `0-3,8`");
        let mut cpus = BTreeSet::new();
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self(cpus));
        }
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |digits: &str| digits.trim().parse::<u32>().map_err(|_| fault());
            let (first, last) = (number(first)?, number(last)?);
            if last >= MOST {
                return Err(format!("CPU {last} is beyond what a kernel can have"));
            }
            if first > last {
                return Err(fault());
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }

    /// Reads a mask: groups of up to 8 hexadecimal digits with commas between, the highest first.
    ///
    /// # Errors
    /// It is no mask, or has a bit above 8191.
    pub fn parse_mask(text: &str) -> Result<Self, String> {
        let fault = || format!("`{text}` is no mask of CPUs such as `0000000f`");
        let text = text.trim();
        let text = text.strip_prefix("0x").unwrap_or(text);
        let mut cpus = BTreeSet::new();
        for (group, digits) in text.rsplit(',').enumerate() {
            let is_hex = digits.chars().all(|c| c.is_ascii_hexdigit());
            // A single group may be longer where a program wrote it.
            if digits.is_empty() || !is_hex || group >= 256 || digits.len() > 2048 {
                return Err(fault());
            }
            for (place, digit) in digits.chars().rev().enumerate() {
                let value = digit.to_digit(16).unwrap_or_default();
                let first = u32::try_from(group * 32 + place * 4).map_err(|_| fault())?;
                let bits = (0..4).filter(|bit| value >> bit & 1 == 1);
                cpus.extend(bits.map(|bit| first + bit));
            }
        }
        match cpus.last() {
            Some(last) if *last >= MOST => Err(fault()),
            _ => Ok(Self(cpus)),
        }
    }

    /// The mask, in groups of 32 bits.
    pub fn as_mask(&self) -> String {
        let groups = self.0.last().map_or(1, |last| last / 32 + 1);
        let mut words = vec![0_u32; groups as usize];
        for cpu in &self.0 {
            words[(cpu / 32) as usize] |= 1 << (cpu % 32);
        }
        let mut text: Vec<String> = words.iter().rev().map(|w| format!("{w:08x}")).collect();
        if let [only] = text.as_mut_slice() {
            *only = format!("{:x}", words[0]);
        }
        text.join(",")
    }

    /// The set as the kernel's calls take it: bit N of word N / 64.
    pub fn bits(&self) -> Vec<u64> {
        let mut words = vec![0_u64; self.0.last().map_or(1, |last| *last as usize / 64 + 1)];
        for cpu in &self.0 {
            words[*cpu as usize / 64] |= 1 << (cpu % 64);
        }
        words
    }

    /// Whether no processor is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The processors of this set that aren't in the other.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.0.iter().copied().peekable();
        let mut comma = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|next| *next == last + 1) {
                last = next;
            }
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_and_masks_are_those_of_the_kernel() {
        let list = CpuList::parse("0-3, 8,33\n").unwrap();
        assert_eq!(list.to_string(), "0-3,8,33");
        assert_eq!(list.as_mask(), "00000002,0000010f");
        assert_eq!(CpuList::parse_mask("00000002,0000010f\n").unwrap(), list);
        assert_eq!(CpuList::parse("1").unwrap().as_mask(), "2");
        assert_eq!(CpuList::parse("0,65").unwrap().bits(), [1, 2]);
        assert!(CpuList::parse("").unwrap().is_empty());
        for wrong in ["a", "3-1", "1,,2", "-1", "0-9999999", "1-"] {
            assert!(CpuList::parse(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "xyz", "1,", "é"] {
            assert!(CpuList::parse_mask(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_set_survives_its_texts(cpus in proptest::collection::btree_set(0_u32..300, 0..40)) {
            let list = CpuList(cpus);
            prop_assert_eq!(&CpuList::parse(&list.to_string()).unwrap(), &list);
            prop_assert_eq!(&CpuList::parse_mask(&list.as_mask()).unwrap(), &list);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = (CpuList::parse(&text), CpuList::parse_mask(&text));
        }
    }
}
