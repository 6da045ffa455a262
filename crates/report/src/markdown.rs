//! Markdown as GitHub, GitLab and mail readers draw it. Names and numbers are text: nothing in them is markup.

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
    fn a_fence_ends_where_it_should() {
        assert_eq!(fenced("a\n```\nb"), "````text\na\n```\nb\n````\n");
    }

    proptest! {
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
