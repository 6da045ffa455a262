//! Demangling of C++ and Rust symbols. Names longer than [`LONGEST`] stay mangled, since a few letters can stand for gigabytes.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

/// Most bytes of a name; one that would be longer stays as the compiler has it.
const LONGEST: usize = 16 << 10;

/// What a symbol's function is called in its source; nothing if that is how the symbol is called, or can't be told.
pub fn in_source(symbol: &[u8]) -> Option<Vec<u8>> {
    let mut name = Bounded(String::new());
    let text = str::from_utf8(symbol).ok()?;
    if !["_Z", "_R"].iter().any(|start| text.starts_with(start)) {
        return None;
    }
    // Older Rust's symbols look like those of C++; what tells one crate's versions apart says nothing to a person.
    if let Ok(rust) = rustc_demangle::try_demangle(text) {
        write!(name, "{rust:#}").ok()?;
    } else {
        let symbol = Symbol::new(symbol).ok()?;
        let options = DemangleOptions::new();
        symbol.structured_demangle(&mut name, &options).ok()?;
    }
    Some(name.0.into_bytes())
}

/// A text that doesn't become longer than [`LONGEST`].
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.0.len() + more.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(more);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_called_as_in_their_source() {
        for (symbol, name) in [
            ("main", None),
            ("_start", None),
            ("_Zqq", None),
            ("_ZN5space4calmEiPKc", Some("space::calm(int, char const*)")),
            ("_Z3foov.isra.0", Some("foo() [clone .isra.0]")),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                Some("std::vector<int, std::allocator<int> >::push_back(int const&)"),
            ),
            (
                "_ZN4core3fmt5write17h0123456789abcdefE",
                Some("core::fmt::write"),
            ),
            ("_RNvCs1234_7mycrate3foo", Some("mycrate::foo")),
        ] {
            let found = in_source(symbol.as_bytes()).map(|name| String::from_utf8(name).unwrap());
            assert_eq!(found.as_deref(), name, "{symbol}");
        }
        assert_eq!(in_source(b"_Z\xff"), None);
    }

    #[test]
    fn a_name_that_would_be_endless_stays_as_it_is() {
        // Each pair has twice as much in it as the one before.
        let pairs = (0..40).fold("i".to_owned(), |inner, _| format!("St4pairI{inner}S0_E"));
        let symbol = format!("_Z3fooI{pairs}Evv");
        assert!(in_source(symbol.as_bytes()).is_none_or(|name| name.len() <= LONGEST));
    }

    proptest::proptest! {
        #[test]
        fn any_symbol_has_a_name_or_none(symbol in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            for start in [&b"_Z"[..], b"_ZN", b"_R", b"_RNv"] {
                let named = in_source(&[start, &symbol].concat());
                proptest::prop_assert!(named.is_none_or(|name| name.len() <= LONGEST));
            }
        }

        /// What is made of the letters that mean something gets further.
        #[test]
        fn any_mangled_symbol_has_a_name_or_none(symbol in "_(Z|ZN|R|RNv)([0-9]{1,2}|S[0-9a-z_]|[IENKvicSTLCDBRP_]|St|Sa|Ss){0,60}") {
            let named = in_source(symbol.as_bytes());
            proptest::prop_assert!(named.is_none_or(|name| name.len() <= LONGEST));
        }
    }
}
