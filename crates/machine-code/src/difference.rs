//! Which functions of two images have other code.

use std::collections::{BTreeMap, BTreeSet};

use crate::code_image::{CodeImage, FunctionCode};

/// What became of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FunctionChange {
    /// Both images have it, with other code: bytes before and after.
    Changed {
        /// Bytes in the base.
        base: u64,
        /// Bytes in the new image.
        new: u64,
    },
    /// Only the new image has it.
    Added {
        /// Its bytes.
        size: u64,
    },
    /// Only the base has it.
    Removed {
        /// Its bytes.
        size: u64,
    },
}

impl FunctionChange {
    /// Bytes on both sides, the base first; none where it isn't there.
    pub fn sizes(self) -> [Option<u64>; 2] {
        match self {
            Self::Changed { base, new } => [Some(base), Some(new)],
            Self::Added { size } => [None, Some(size)],
            Self::Removed { size } => [Some(size), None],
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed { .. } => "changed",
            Self::Added { .. } => "added",
            Self::Removed { .. } => "removed",
        }
    }

    /// Changed ones first, each kind by how many bytes there are more or fewer.
    fn order(self) -> (u8, u64) {
        let kind = match self {
            Self::Changed { .. } => 0,
            Self::Added { .. } => 1,
            Self::Removed { .. } => 2,
        };
        let [base, new] = self.sizes().map(Option::unwrap_or_default);
        (kind, u64::MAX - base.abs_diff(new))
    }
}

/// A function with other code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionDifference {
    /// Its name, as it is in the source.
    pub name: String,
    /// What became of it.
    pub change: FunctionChange,
}

/// The difference between the code of two images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeDifference {
    /// Bytes of `.text`, the base first.
    pub text_sizes: [u64; 2],
    /// Whether each side has no symbols, so that no function can be named.
    pub is_stripped: [bool; 2],
    /// The machine, if code was compared byte by byte, so that functions that call what moved are among those that changed.
    pub compared_bytes_of: Option<String>,
    /// Functions with other code: changed ones, added ones, removed ones.
    pub functions: Vec<FunctionDifference>,
}

/// Compares two images. Of several functions of one name those with the same code belong together, then those with the
/// same symbol, then those at the same place of their order.
#[must_use]
pub fn code_difference(base: &CodeImage, new: &CodeImage) -> CodeDifference {
    let mut difference = CodeDifference {
        text_sizes: [base.text_size, new.text_size],
        is_stripped: [base.is_stripped(), new.is_stripped()],
        compared_bytes_of: new.compared_bytes_of.clone(),
        functions: Vec::new(),
    };
    if difference.is_stripped.contains(&true) {
        return difference;
    }
    let mut by_name: BTreeMap<&[u8], [Vec<&FunctionCode>; 2]> = BTreeMap::new();
    for (side, image) in [base, new].into_iter().enumerate() {
        for function in &image.functions {
            by_name.entry(&function.stable_name).or_default()[side].push(function);
        }
    }
    for [base, new] in by_name.into_values() {
        let [mut base, mut new] = without_same(base, new);
        bring_same_symbols_first(&mut base, &mut new);
        let both = base.len().min(new.len());
        let changed = base.iter().zip(&new).map(|(base, new)| {
            let change = FunctionChange::Changed {
                base: base.size,
                new: new.size,
            };
            (new, change)
        });
        let added = new[both..].iter();
        let added = added.map(|it| (it, FunctionChange::Added { size: it.size }));
        let removed = base[both..].iter();
        let removed = removed.map(|it| (it, FunctionChange::Removed { size: it.size }));
        let named = |(function, change): (&&FunctionCode, FunctionChange)| FunctionDifference {
            name: source_name(&function.symbol),
            change,
        };
        let all = changed.chain(added).chain(removed);
        difference.functions.extend(all.map(named));
    }
    difference.functions.sort_by(|one, other| {
        let order = |it: &FunctionDifference| it.change.order();
        order(one)
            .cmp(&order(other))
            .then_with(|| one.name.cmp(&other.name))
    });
    difference
}

/// Functions of one name without those that have a partner with the same code: the same bytes, or bytes that differ only in where
/// things are.
fn without_same<'a>(
    base: Vec<&'a FunctionCode>,
    new: Vec<&'a FunctionCode>,
) -> [Vec<&'a FunctionCode>; 2] {
    // As many of each digest as the base has.
    let left = |digest: fn(&FunctionCode) -> u64, sides: [Vec<&'a FunctionCode>; 2]| {
        let [base, new] = sides;
        let mut counts: BTreeMap<(u64, u64), [usize; 2]> = BTreeMap::new();
        for (side, functions) in [&base, &new].into_iter().enumerate() {
            for function in functions {
                counts.entry((function.size, digest(function))).or_default()[side] += 1;
            }
        }
        let mut partners: [BTreeMap<(u64, u64), usize>; 2] = Default::default();
        for (code, [base, new]) in counts {
            for side in &mut partners {
                side.insert(code, base.min(new));
            }
        }
        let mut without = |side: usize, mut functions: Vec<&'a FunctionCode>| {
            functions.retain(|function| {
                let partners = partners[side].entry((function.size, digest(function)));
                let left = partners.or_default();
                let is_alone = *left == 0;
                *left = left.saturating_sub(1);
                is_alone
            });
            functions
        };
        let base = without(0, base);
        [base, without(1, new)]
    };
    left(|it| it.operands, left(|it| it.bytes, [base, new]))
}

/// Orders functions of one stable name so that those of the same symbol have the same place on both sides.
fn bring_same_symbols_first<'a>(base: &mut [&'a FunctionCode], new: &mut [&'a FunctionCode]) {
    let symbols = |functions: &[&FunctionCode]| -> BTreeSet<Vec<u8>> {
        let symbols = functions.iter().map(|function| function.symbol.clone());
        symbols.collect()
    };
    let (of_base, of_new) = (symbols(base), symbols(new));
    for functions in [base, new] {
        functions.sort_by_key(|function| {
            let symbol = &function.symbol;
            let is_on_both = of_base.contains(symbol) && of_new.contains(symbol);
            (!is_on_both, is_on_both.then(|| symbol.clone()))
        });
    }
}

/// What a function is called in its source.
fn source_name(symbol: &[u8]) -> String {
    let name = backsight_stack_unwinder::source_name(symbol);
    String::from_utf8_lossy(&name.unwrap_or_else(|| symbol.to_owned())).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(functions: &[(&str, u64)]) -> CodeImage {
        let function = |(symbol, digest): &(&str, u64)| FunctionCode {
            stable_name: b"name".to_vec(),
            symbol: symbol.as_bytes().to_vec(),
            size: *digest,
            bytes: *digest,
            operands: *digest,
        };
        CodeImage {
            text_size: 0,
            compared_bytes_of: None,
            functions: functions.iter().map(function).collect(),
        }
    }

    #[test]
    fn functions_of_one_name_find_their_partners_by_code_and_symbol() {
        let base = image(&[("name.0", 1), ("name.1", 2), ("name.2", 3), ("name.2", 3)]);
        let new = image(&[("name.2", 4), ("name.3", 1), ("name.1", 5), ("name.2", 3)]);
        let found = code_difference(&base, &new).functions;
        let changes: Vec<_> = found
            .iter()
            .map(|it| (&*it.name, it.change.sizes()))
            .collect();
        let expected = [
            ("name.1", [Some(2), Some(5)]),
            ("name.2", [Some(3), Some(4)]),
        ];
        assert_eq!(changes, expected);
        // As many as are more on a side are added or removed.
        let found = code_difference(&image(&[("name", 1), ("name", 1)]), &image(&[("name", 1)]));
        let removed = FunctionChange::Removed { size: 1 };
        assert_eq!(found.functions[0].change, removed);
        assert_eq!(found.functions.len(), 1);
    }
}
