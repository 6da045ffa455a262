//! Sets of descriptors (`-e read=`, `-e write=`).

/// Not a number of a descriptor.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` isn't the number of a descriptor")]
pub struct DescriptorSetError(pub String);

/// A set of numbers, as `-e read=` names it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DescriptorSet {
    listed: Vec<u32>,
    /// Whether all others are meant.
    negated: bool,
}

impl DescriptorSet {
    /// Reads a set: numbers, `all` or `none`, separated by commas; `!` before the whole for all others, and
    /// another for none of these.
    ///
    /// # Errors
    ///
    /// If something isn't a number.
    pub fn parse(text: &str) -> Result<Self, DescriptorSetError> {
        let set = text.trim_start_matches('!');
        let negated = (text.len() - set.len()) % 2 == 1;
        let mut numbers = Self {
            listed: Vec::new(),
            negated,
        };
        for item in set.split(',') {
            match item {
                "all" => {
                    return Ok(Self {
                        listed: Vec::new(),
                        negated: !negated,
                    });
                }
                "none" => numbers.listed.clear(),
                number => {
                    let number = number
                        .parse()
                        .map_err(|_| DescriptorSetError(number.to_owned()))?;
                    numbers.listed.push(number);
                }
            }
        }
        Ok(numbers)
    }

    /// Whether it has no number.
    pub fn is_empty(&self) -> bool {
        !self.negated && self.listed.is_empty()
    }

    /// Whether it has this one.
    pub fn contains(&self, number: u64) -> bool {
        // The kernel doesn't look at the upper half.
        let number = u32::try_from(number as i32);
        number.is_ok_and(|number| self.listed.contains(&number) != self.negated)
    }
}
