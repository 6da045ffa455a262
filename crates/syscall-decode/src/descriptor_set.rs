//! Sets of descriptors (`-e read=`, `-e write=`).

use crate::value_list::{ValueList, ValueListError};

/// What is wrong with an expression that names descriptors.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DescriptorSetError {
    /// Not a list.
    #[error(transparent)]
    List(#[from] ValueListError),
    /// Not a number of a descriptor.
    #[error("`{0}` isn't the number of a descriptor, of 0 to 2147483647")]
    Number(String),
}

/// A set of numbers, as `-e read=` names it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DescriptorSet {
    listed: Vec<i32>,
    /// Whether all others are meant.
    negated: bool,
}

impl DescriptorSet {
    /// Reads a set: numbers, as [`ValueList`] has them.
    ///
    /// # Errors
    /// It is no list, or something isn't a number.
    pub fn parse(text: &str) -> Result<Self, DescriptorSetError> {
        let list = ValueList::parse(text)?;
        let number = |value: &&str| {
            let number = value.parse().ok().filter(|number| *number >= 0);
            number.ok_or_else(|| DescriptorSetError::Number((*value).to_owned()))
        };
        Ok(Self {
            listed: list.values.iter().map(number).collect::<Result<_, _>>()?,
            negated: list.negated,
        })
    }

    /// Whether it has no number.
    pub fn is_empty(&self) -> bool {
        !self.negated && self.listed.is_empty()
    }

    /// Whether it has this one.
    pub fn contains(&self, number: u64) -> bool {
        // The kernel doesn't look at the upper half.
        let number = number as i32;
        number >= 0 && self.listed.contains(&number) != self.negated
    }
}
