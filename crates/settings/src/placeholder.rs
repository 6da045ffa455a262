//! Texts with placeholders in definitions: `/sys/block/{device}/queue/scheduler`. Two braces are one literal brace. A value is put
//! in as it is: into a path, or into one word of a command, never into a shell's line.

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Literal(&'a str),
    Name(&'a str),
}

fn pieces(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        if at > 0 {
            pieces.push(Piece::Literal(&rest[..at]));
        }
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            pieces.push(Piece::Literal(brace));
            rest = after;
        } else if brace == "{" {
            let fault = || format!("`{text}` has a `{{` without its `}}`");
            let (name, after) = rest.split_once('}').ok_or_else(fault)?;
            pieces.push(Piece::Name(name));
            rest = after;
        } else {
            return Err(format!("`{text}` has a `}}` without its `{{`"));
        }
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(rest));
    }
    Ok(pieces)
}

/// The names in a text's braces.
///
/// # Errors
/// A brace has no partner.
pub(crate) fn names(text: &str) -> Result<Vec<&str>, String> {
    let pieces = pieces(text)?.into_iter();
    let names = pieces.filter_map(|piece| match piece {
        Piece::Name(name) => Some(name),
        Piece::Literal(_) => None,
    });
    Ok(names.collect())
}

/// The text with values in place of the names.
///
/// # Errors
/// A brace has no partner, or a name no value.
pub(crate) fn fill(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::new();
    for piece in pieces(text)? {
        match piece {
            Piece::Literal(literal) => filled.push_str(literal),
            Piece::Name(name) => {
                let value = lookup(name).ok_or_else(|| format!("`{{{name}}}` has no value"))?;
                filled.push_str(&value);
            }
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_and_double_braces_are_literal() {
        let lookup = |name: &str| (name == "a").then(|| "x{b}".to_owned());
        assert_eq!(fill("1{a}2{{3}}", &lookup).unwrap(), "1x{b}2{3}");
        assert_eq!(names("{a}/{b}{{c}}").unwrap(), ["a", "b"]);
        assert!(fill("{b}", &lookup).unwrap_err().contains("no value"));
        assert!(names("{a").is_err() && names("a}").is_err());
    }
}
