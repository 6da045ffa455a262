//! Values of strace's expressions: `[!]value[,value]...`, as behind `-e trace=`.

/// Why a text lists no values.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ValueListError {
    /// Nothing is named.
    #[error("`{0}` names nothing; `none` is for nothing at all, `all` for everything")]
    Empty(String),
    /// `all` or `none` beside something else.
    #[error("`{word}` says everything by itself: it can't be a part of `{list}`")]
    NotAlone {
        /// `all` or `none`.
        word: String,
        /// All that was named.
        list: String,
    },
}

/// What an expression names: these values, or all others.
#[derive(Debug, PartialEq, Eq)]
pub struct ValueList<'a> {
    /// Whether all others are meant.
    pub negated: bool,
    /// Each as it is written; none for `none`, and for `all`, which is the others of none.
    pub values: Vec<&'a str>,
}

impl<'a> ValueList<'a> {
    /// Reads values that are separated by commas, or `all` or `none` alone; each `!` before the whole turns it into all others.
    ///
    /// # Errors
    /// Nothing is named, or `all` or `none` isn't alone.
    pub fn parse(text: &'a str) -> Result<Self, ValueListError> {
        let list = text.trim_start_matches('!');
        let negated = (text.len() - list.len()) % 2 == 1;
        let values: Vec<&str> = list.split(',').filter(|it| !it.is_empty()).collect();
        let word = values.iter().find(|it| matches!(**it, "all" | "none"));
        match (word, values.len()) {
            (_, 0) => Err(ValueListError::Empty(text.to_owned())),
            (None, _) => Ok(Self { negated, values }),
            (Some(word), 1) => Ok(Self {
                negated: negated != (*word == "all"),
                values: Vec::new(),
            }),
            (Some(word), _) => Err(ValueListError::NotAlone {
                word: (*word).to_owned(),
                list: text.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_listed_or_all_others_are_meant() {
        let list = |text| ValueList::parse(text).map(|it| (it.negated, it.values));
        assert_eq!(list("a,b"), Ok((false, vec!["a", "b"])));
        assert_eq!(list("!a,,b,"), Ok((true, vec!["a", "b"])));
        assert_eq!(list("!!a"), Ok((false, vec!["a"])));
        assert_eq!(list("all"), list("!none"));
        assert_eq!(list("none"), Ok((false, vec![])));
        assert_eq!(list("!all"), list("none"));
    }

    #[test]
    fn what_names_nothing_or_everything_and_more_is_refused() {
        for text in ["", "!", ",", "!,,", "!!"] {
            let empty = Err(ValueListError::Empty(text.to_owned()));
            assert_eq!(ValueList::parse(text), empty, "{text:?}");
        }
        for text in ["all,none", "a,all", "!none,a"] {
            let refused = ValueList::parse(text).unwrap_err();
            assert!(refused.to_string().contains(text), "{refused}");
        }
    }
}
