//! Markdown as GitHub, GitLab and mail readers draw it. Names and numbers are text: nothing in them is markup, but for code between
//! two backticks of a sentence, in which nothing else is.

use crate::escape;

/// A text within a line in which nothing is markup. A `>` stays one: with `<` gone it opens no tag, and a quotation only
/// begins at the start of a line.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in escape::line(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            // A name mentioned with this would be told of every table.
            '@' => escaped.push_str("&#64;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(c);
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// A sentence of ours: what stands between two backticks is code, whoever named it, and everything else as [`escaped`] writes it.
pub fn sentence(text: &str) -> String {
    let text = escape::line(text);
    let mut written = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, inside, after)) = first_code(rest) {
        written.push_str(&escaped(before));
        written.push('`');
        written.push_str(inside);
        written.push('`');
        rest = after;
    }
    written + &escaped(rest)
}

/// The first pair of backticks with something in between, with what stands before and behind it. Of several backticks side by side
/// none begins or ends a code.
fn first_code(text: &str) -> Option<(&str, &str, &str)> {
    let mut ticks = text
        .match_indices('`')
        .map(|(at, _)| at)
        .filter(|&at| !text[at + 1..].starts_with('`') && !text[..at].ends_with('`'));
    let (from, to) = (ticks.next()?, ticks.next()?);
    let inside = &text[from + 1..to];
    (!inside.contains('`')).then(|| (&text[..from], inside, &text[to + 1..]))
}

/// The same at the start of a line, where a quotation or a list would begin.
pub fn paragraph(text: &str) -> String {
    let escaped = escaped(text);
    match escaped.starts_with(['>', '-', '+', '=', ' ']) {
        true => format!("\\{escaped}"),
        false => escaped,
    }
}

/// A text of several lines to be shown as it is.
pub fn fenced(text: &str) -> String {
    // A fence longer than any in the text ends where it should.
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let text = escape::visible(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}text\n{text}{end}{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_of_others_is_text() {
        assert_eq!(
            escaped("a|b `c` <img> *d* @all\n# e"),
            "a\\|b \\`c\\` &lt;img> \\*d\\* &#64;all␊\\# e"
        );
        assert_eq!(escaped("probability > 99.9 %"), "probability > 99.9 %");
        assert_eq!(paragraph("> 99.9 %"), "\\> 99.9 %");
    }

    #[test]
    fn commands_of_a_sentence_are_code() {
        assert_eq!(
            sentence("`backsight explain check_1` says *why* in `a|<b>`"),
            "`backsight explain check_1` says \\*why\\* in `a|<b>`"
        );
        for text in ["one ` alone <b>", "two `` side by side", "`a``b`", "``a``"] {
            assert_eq!(sentence(text), escaped(text));
        }
    }

    #[test]
    fn a_fence_ends_where_it_should() {
        assert_eq!(fenced("a\n```\nb"), "````text\na\n```\nb\n````\n");
    }

    proptest! {
        #[test]
        fn nothing_of_a_sentence_is_markup_but_its_code(text in "[a`<|*\\\\ ]{0,40}") {
            let written = sentence(&text);
            // As a reader of Markdown finds code: a backtick, and the next one that stands alone.
            let mut is_code = false;
            let mut before = ' ';
            for c in written.chars() {
                let is_escaped = before == '\\' && !is_code;
                match c {
                    '`' if !is_escaped => is_code = !is_code,
                    '<' | '*' if !is_code => prop_assert!(is_escaped, "{}", written),
                    _ => {}
                }
                before = if is_escaped { ' ' } else { c };
            }
            prop_assert!(!is_code, "{}", written);
        }

        #[test]
        fn no_name_makes_another_cell_a_tag_or_a_line(name in ".{0,60}") {
            let escaped = escaped(&name);
            prop_assert!(!escaped.contains(['\n', '\r', '<']));
            let mut before = ' ';
            for c in escaped.chars() {
                prop_assert!(c != '|' || before == '\\');
                before = if before == '\\' { ' ' } else { c };
            }
        }
    }
}
