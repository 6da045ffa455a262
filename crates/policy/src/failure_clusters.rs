//! Failures that say the same: messages of failing tests, compared without what differs from run to run.
//!
//! Taken out are numbers with their units, hexadecimal numbers, addresses and paths. Tests that share what is left are one cluster:
//! probably one cause.

use std::collections::BTreeMap;

/// Longest message that is compared, in characters.
const MOST_COMPARED: usize = 400;
/// Fewest digits of a hexadecimal number without `0x`: a shorter one may be a word.
const LEAST_HEX: usize = 6;
/// Units that go with the number before them.
const UNITS: [&str; 16] = [
    "ns", "us", "µs", "ms", "s", "sec", "secs", "second", "seconds", "min", "minutes", "h", "B",
    "kB", "KiB", "MB",
];

/// Failing tests that say the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureCluster {
    /// The message of the first of them.
    pub message: String,
    /// Their numbers, in rising order.
    pub tests: Vec<usize>,
}

/// The tests, each by its number with its message, that say the same as another one: the largest cluster first.
pub fn failure_clusters<'a>(
    messages: impl IntoIterator<Item = (usize, &'a str)>,
) -> Vec<FailureCluster> {
    let mut by_text: BTreeMap<String, FailureCluster> = BTreeMap::new();
    for (test, message) in messages {
        let cluster = by_text
            .entry(normalized_message(message))
            .or_insert_with(|| FailureCluster {
                message: message.to_owned(),
                tests: Vec::new(),
            });
        cluster.tests.push(test);
    }
    let mut clusters: Vec<FailureCluster> = by_text.into_values().collect();
    clusters.retain(|cluster| cluster.tests.len() > 1);
    for cluster in &mut clusters {
        cluster.tests.sort_unstable();
    }
    clusters.sort_by(|one, other| {
        let size = other.tests.len().cmp(&one.tests.len());
        size.then_with(|| one.tests.cmp(&other.tests))
    });
    clusters
}

/// A message with `#` for each number and address and `/…` for each path.
pub fn normalized_message(message: &str) -> String {
    let compared: String = message.chars().take(MOST_COMPARED).collect();
    let mut words: Vec<String> = Vec::new();
    for word in compared.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let follows_number = words.last().is_some_and(|last| last.ends_with('#'));
        if follows_number && UNITS.contains(&bare) {
            continue;
        }
        words.push(match is_path(word) {
            true => "/…".to_owned(),
            false => without_numbers(word),
        });
    }
    words.join(" ")
}

/// Whether a word has a path in it, absolute or of several parts; a slash between two words makes none.
fn is_path(word: &str) -> bool {
    let parts: Vec<&str> = word.split('/').collect();
    let is_named = |part: &&&str| part.contains(char::is_alphanumeric);
    let begins = !parts[0].ends_with(char::is_alphanumeric);
    match parts.iter().skip(1).filter(is_named).count() {
        0 => false,
        1 => begins,
        _ => true,
    }
}

fn without_numbers(word: &str) -> String {
    let mut text = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == 'µ';
        let length = match is_part(first) {
            true => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (part, after) = rest.split_at(length);
        match is_part(first) {
            true => push_part(&mut text, part),
            false => text.push(first),
        }
        rest = after;
    }
    // 1.5 and 10.0.0.7 and 12:30:01 are one number.
    for joined in ["#.#", "#:#"] {
        while text.contains(joined) {
            text = text.replace(joined, "#");
        }
    }
    text
}

/// Letters and digits in a row: a number, a number with its unit, a hexadecimal one, or a word that has numbers in it.
fn push_part(text: &mut String, part: &str) {
    let is_hex = |digits: &str| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
    let has_digit = part.contains(|c: char| c.is_ascii_digit());
    let hex = part.strip_prefix("0x").or_else(|| part.strip_prefix("0X"));
    let unit = part.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = hex.is_some_and(is_hex)
        || (is_hex(part) && has_digit && part.len() >= LEAST_HEX)
        || (has_digit && unit.len() < part.len() && (unit.is_empty() || UNITS.contains(&unit)));
    if is_number {
        text.push('#');
        return;
    }
    let mut in_number = false;
    for c in part.chars() {
        match c.is_ascii_digit() {
            true if in_number => {}
            true => text.push('#'),
            false => text.push(c),
        }
        in_number = c.is_ascii_digit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_taken_out() {
        for (message, expected) in [
            ("expected 3, got 4711", "expected #, got #"),
            (
                "timed out after 1.53s (limit 90 s)",
                "timed out after # (limit #",
            ),
            ("timed out after 12 ms", "timed out after #"),
            ("BUG at 0xffff8881deadbeef: null", "BUG at #: null"),
            ("object 9f86d081884c in use", "object # in use"),
            ("10.0.0.7:4711 refused", "# refused"),
            ("open(/tmp/x-17/file): ENOENT", "/… ENOENT"),
            ("can't open '/tmp/x-17/file'", "can't open /…"),
            ("src/net/tcp.c:171: assertion failed", "/… assertion failed"),
            ("read/write mismatch", "read/write mismatch"),
            ("worker3 died", "worker# died"),
            ("", ""),
        ] {
            assert_eq!(normalized_message(message), expected, "{message}");
        }
    }

    #[test]
    fn tests_that_say_the_same_are_one_cluster_and_a_lone_one_is_none() {
        let messages = [
            (4, "alone"),
            (0, "got 1 of 2"),
            (7, "lost /dev/a in 3 s"),
            (2, "got 5 of 6"),
            (1, "got 3 of 4"),
            (9, "lost /dev/b in 41 s"),
        ];
        let clusters = failure_clusters(messages);
        let tests: Vec<&[usize]> = clusters.iter().map(|it| it.tests.as_slice()).collect();
        assert_eq!(tests, [&[0, 1, 2][..], &[7, 9]]);
        assert_eq!(clusters[0].message, "got 1 of 2");
    }
}
