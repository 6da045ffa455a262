//! What the operands of instructions point at: functions, data, entries of other libraries, by the file's symbols and sections.

use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, ObjectSymbolTable as _, ReadRef,
    RelocationTarget, SectionFlags, SectionIndex, SymbolKind, elf,
};
use std::{
    collections::HashMap,
    hash::{Hash, Hasher},
    ops::Range,
};

use crate::name_budget::{MOST_SYMBOLS, NameBudget};

/// What an address is, whatever the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Target<'a> {
    /// So far into the function or datum of this name.
    Symbol(&'a [u8], u64),
    /// Somewhere in this section.
    Section(&'a [u8]),
    /// Outside of the file.
    Outside,
}

/// A stretch of addresses with its name.
struct Named {
    range: Range<u64>,
    name: Vec<u8>,
}

/// A section that is mapped when the program runs.
struct MappedSection {
    named: Named,
    index: SectionIndex,
    is_code: bool,
}

/// The names of a file's addresses.
pub(crate) struct OperandTargets {
    /// Functions and data, by where they begin.
    symbols: Vec<Named>,
    /// By where they begin.
    sections: Vec<MappedSection>,
    /// Slots that the loader fills with the address of a symbol.
    slots: HashMap<u64, Vec<u8>>,
    /// Whether the code is made for one place in memory, so that addresses stand in it as they are.
    is_fixed: bool,
}

impl OperandTargets {
    pub(crate) fn new<'data, R: ReadRef<'data>>(
        file: &object::File<'data, R>,
        budget: &mut NameBudget,
    ) -> Self {
        let mut symbols: Vec<Named> = Vec::new();
        for symbol in file
            .symbols()
            .chain(file.dynamic_symbols())
            .take(MOST_SYMBOLS)
        {
            let is_place = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data);
            let Some(end) = symbol.address().checked_add(symbol.size()) else {
                continue;
            };
            if !is_place || symbol.size() == 0 || symbol.is_undefined() {
                continue;
            }
            let Some(name) = symbol.name_bytes().ok().and_then(|name| budget.take(name)) else {
                continue;
            };
            symbols.push(Named {
                range: symbol.address()..end,
                name: stable_name(&name),
            });
        }
        // Of several names of one place the first by the alphabet stands for all.
        symbols.sort_by(|a, b| (a.range.start, &a.name).cmp(&(b.range.start, &b.name)));
        symbols.dedup_by_key(|symbol| symbol.range.start);
        let mut sections = Vec::new();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags } = section.flags() else {
                continue;
            };
            let end = section.address().checked_add(section.size());
            let name = section.name_bytes().ok().and_then(|name| budget.take(name));
            let (Some(end), Some(name)) = (end, name) else {
                continue;
            };
            // Data of threads has no address of its own.
            if sh_flags & u64::from(elf::SHF_ALLOC | elf::SHF_TLS) == u64::from(elf::SHF_ALLOC) {
                sections.push(MappedSection {
                    named: Named {
                        range: section.address()..end,
                        name,
                    },
                    index: section.index(),
                    is_code: sh_flags & u64::from(elf::SHF_EXECINSTR) != 0,
                });
            }
        }
        sections.sort_by_key(|section| section.named.range.start);
        Self {
            symbols,
            sections,
            slots: slots(file, budget),
            is_fixed: file.kind() == object::ObjectKind::Executable,
        }
    }

    #[cfg(test)]
    pub(crate) fn with_symbols(symbols: &[(Range<u64>, &str)]) -> Self {
        let named = |(range, name): &(Range<u64>, &str)| Named {
            range: range.clone(),
            name: name.as_bytes().to_vec(),
        };
        Self {
            symbols: symbols.iter().map(named).collect(),
            sections: Vec::new(),
            slots: HashMap::new(),
            is_fixed: false,
        }
    }

    /// What lies at an address that code is known to point at.
    pub(crate) fn at(&self, address: u64) -> Target<'_> {
        if let Some(name) = self.slots.get(&address) {
            return Target::Symbol(name, 0);
        }
        let after = self
            .symbols
            .partition_point(|symbol| symbol.range.start <= address);
        if let Some(symbol) = after.checked_sub(1).map(|place| &self.symbols[place])
            && symbol.range.contains(&address)
        {
            return Target::Symbol(&symbol.name, address - symbol.range.start);
        }
        match self.section(address) {
            Some(section) => Target::Section(&section.named.name),
            None => Target::Outside,
        }
    }

    /// What lies at a number that may be an address: the beginning of a function, or data. Nothing if it isn't taken for one.
    pub(crate) fn at_number(&self, number: u64) -> Option<Target<'_>> {
        let section = self.section(number).filter(|_| self.is_fixed)?;
        let target = self.at(number);
        let is_within_code = section.is_code && !matches!(target, Target::Symbol(_, 0));
        (!is_within_code).then_some(target)
    }

    /// The section of the procedure linkage table that has this address.
    pub(crate) fn linkage_table(&self, address: u64) -> Option<SectionIndex> {
        let section = self.section(address)?;
        section
            .named
            .name
            .starts_with(b".plt")
            .then_some(section.index)
    }

    fn section(&self, address: u64) -> Option<&MappedSection> {
        let after = |section: &MappedSection| section.named.range.start <= address;
        let last = self.sections.partition_point(after).checked_sub(1)?;
        let section = &self.sections[last];
        section.named.range.contains(&address).then_some(section)
    }
}

/// The slots that the loader fills, with the symbol of each.
fn slots<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    budget: &mut NameBudget,
) -> HashMap<u64, Vec<u8>> {
    let mut slots = HashMap::new();
    let Some(symbols) = file.dynamic_symbol_table() else {
        return slots;
    };
    let relocations = file.dynamic_relocations().into_iter().flatten();
    for (slot, relocation) in relocations.take(MOST_SYMBOLS) {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            continue;
        };
        let Ok(symbol) = symbols.symbol_by_index(index) else {
            continue;
        };
        if let Some(name) = symbol.name_bytes().ok().and_then(|name| budget.take(name)) {
            slots.insert(slot, stable_name(&name));
        }
    }
    slots
}

/// A symbol's name without what a compiler numbers anew in each build: `count.3`, `work.constprop.0`, the hash that ends Rust's older
/// names.
pub(crate) fn stable_name(symbol: &[u8]) -> Vec<u8> {
    /// `17h`, sixteen digits and `E`.
    const HASH: usize = 20;
    let digits = symbol
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let without = &symbol[..symbol.len() - digits];
    let symbol = match digits > 0 && without.len() > 1 && without.ends_with(b".") {
        true => &without[..without.len() - 1],
        false => symbol,
    };
    let is_hash = |window: &[u8]| {
        window.starts_with(b"17h")
            && window.ends_with(b"E")
            && window[3..HASH - 1].iter().all(u8::is_ascii_hexdigit)
    };
    match symbol.windows(HASH).position(is_hash) {
        Some(place) if symbol.starts_with(b"_ZN") => {
            [&symbol[..place], &symbol[place + HASH - 1..]].concat()
        }
        _ => symbol.to_owned(),
    }
}

/// A function's code with operands that point outside of it replaced by what they point at.
pub(crate) struct CodeHasher<'a, H> {
    pub targets: &'a OperandTargets,
    /// Where the function lies.
    pub range: Range<u64>,
    pub hasher: H,
}

impl<H: Hasher> CodeHasher<'_, H> {
    /// Adds bytes as they are.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        bytes.hash(&mut self.hasher);
    }

    /// Adds what an operand points at.
    pub(crate) fn add_target(&mut self, target: Target<'_>) {
        target.hash(&mut self.hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_compilers_give_are_no_part_of_a_name() {
        for (symbol, stable) in [
            ("work", "work"),
            ("work2", "work2"),
            ("count.3", "count"),
            ("work.constprop.0", "work.constprop"),
            (".1", ".1"),
            ("", ""),
            (
                "_ZN4core3fmt5write17h0123456789abcdefE",
                "_ZN4core3fmt5writeE",
            ),
            (
                "_ZN4core3fmt5write17h0123456789abcdefE.llvm.77",
                "_ZN4core3fmt5writeE.llvm",
            ),
        ] {
            assert_eq!(
                stable_name(symbol.as_bytes()),
                stable.as_bytes(),
                "{symbol}"
            );
        }
    }
}
