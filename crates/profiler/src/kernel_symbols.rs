//! Names of the kernel's functions, from `/proc/kallsyms`.

use std::{collections::HashMap, fs, io};

/// A function of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelFunction {
    pub name: String,
    /// The module that it is of, as `[nf_tables]`; `[kernel]` is the kernel itself.
    pub module: String,
}

/// Names for addresses; those that can't be named are left out. None where the kernel keeps its addresses to itself.
pub(crate) fn find(addresses: Vec<u64>) -> io::Result<Option<HashMap<u64, KernelFunction>>> {
    let symbols = fs::read_to_string("/proc/kallsyms")?;
    Ok(find_in(&symbols, addresses))
}

pub(crate) fn find_in(
    symbols: &str,
    mut addresses: Vec<u64>,
) -> Option<HashMap<u64, KernelFunction>> {
    let lines = symbols.lines().filter_map(parse);
    let mut functions: Vec<(u64, &str, &str)> = lines.collect();
    if functions.iter().all(|(start, ..)| *start == 0) {
        return None;
    }
    // Of several names for one address the first in the file, as the kernel itself has it.
    functions.sort_by_key(|(start, ..)| *start);
    functions.dedup_by_key(|(start, ..)| *start);
    addresses.sort_unstable();
    addresses.dedup();
    let named = addresses.into_iter().filter_map(|address| {
        let behind = functions.partition_point(|(start, ..)| *start <= address);
        let (_, name, module) = functions[..behind].last()?;
        let function = KernelFunction {
            name: (*name).to_owned(),
            module: (*module).to_owned(),
        };
        Some((address, function))
    });
    Some(named.collect())
}

/// The address, name and module of a line, if it is a function's.
fn parse(line: &str) -> Option<(u64, &str, &str)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let kind = words.next()?;
    let name = words.next()?;
    let is_function = matches!(kind, "t" | "T" | "w" | "W");
    is_function.then(|| (address, name, words.next().unwrap_or("[kernel]")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_the_address_before() {
        let symbols = "0000000000000100 T first\n0000000000000200 D data\n\
            0000000000000180 t second\t[module]\n0000000000000180 t alias\n";
        let found = find_in(symbols, vec![0x250, 0x17f, 0xff, 0x100]).unwrap();
        let name = |address| found.get(&address).map(|it| (&it.name[..], &it.module[..]));
        assert_eq!(name(0x100), Some(("first", "[kernel]")));
        assert_eq!(name(0x17f), Some(("first", "[kernel]")));
        assert_eq!(name(0x250), Some(("second", "[module]")));
        assert_eq!(name(0xff), None);
    }

    #[test]
    fn addresses_that_the_kernel_keeps_to_itself_are_none() {
        let hidden = "0000000000000000 T first\n0000000000000000 T second\n";
        assert_eq!(find_in(hidden, vec![1]), None);
        assert_eq!(find_in("", vec![1]), None);
    }
}
