//! Names of hosts as Ansible writes them: `web[01:50]`, `web[1:10:2]`, `db-[a:f]`, each perhaps with a port behind it.

use backsight_model::MOST_HOSTS;

/// The hosts that a pattern stands for, and their port.
pub(super) fn expand(pattern: &str) -> Result<(Vec<String>, Option<u16>), String> {
    let (pattern, port) = split_port(pattern);
    let mut names = vec![pattern.to_owned()];
    // The first bracket of all names is the same one: each turn replaces one.
    while let Some((_, inside, _)) = names.first().and_then(|name| range_in(name)) {
        let values = values(inside)?;
        if values.len().saturating_mul(names.len()) > MOST_HOSTS {
            return Err(format!(
                "`{pattern}` stands for more than {MOST_HOSTS} hosts"
            ));
        }
        let longer = names.iter().flat_map(|name| {
            let (head, _, tail) = range_in(name).unwrap_or((name, "", ""));
            values
                .iter()
                .map(move |value| format!("{head}{value}{tail}"))
        });
        names = longer.collect();
    }
    Ok((names, port))
}

/// The first bracket that holds a range.
fn range_in(name: &str) -> Option<(&str, &str, &str)> {
    let (head, rest) = name.split_once('[')?;
    let (inside, tail) = rest.split_once(']')?;
    // `[::1]` is an address.
    let is_range = inside.contains(':') && !inside.contains("::") && inside.split(':').count() <= 3;
    is_range.then_some((head, inside, tail))
}

/// `host:22` and `[::1]:22`; two colons without brackets are an address.
fn split_port(pattern: &str) -> (&str, Option<u16>) {
    let outside = pattern.rfind(']').map_or(0, |at| at + 1);
    let (name, port) = match pattern[outside..].rsplit_once(':') {
        Some((before, port)) if !before.contains(':') => (&pattern[..outside + before.len()], port),
        _ => return (unbracketed(pattern), None),
    };
    match port.parse() {
        Ok(port) => (unbracketed(name), Some(port)),
        Err(_) => (pattern, None),
    }
}

/// An address without the brackets around it.
fn unbracketed(name: &str) -> &str {
    let inside = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    inside
        .filter(|inside| inside.contains("::"))
        .unwrap_or(name)
}

/// What a range stands for.
fn values(range: &str) -> Result<Vec<String>, String> {
    let fault = || format!("`[{range}]` isn't a range such as [01:50], [1:9:2] or [a:f]");
    let mut parts = range.split(':');
    let (first, last) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let step: usize = parts
        .next()
        .map_or(Ok(1), str::parse)
        .map_err(|_| fault())?;
    if step == 0 || last.is_empty() {
        return Err(fault());
    }
    let letters = ('a'..='z').chain('A'..='Z');
    let letter = |text: &str| {
        let mut chars = text.chars();
        let only = chars.next().filter(|_| chars.next().is_none())?;
        letters.clone().position(|letter| letter == only)
    };
    if let (Some(from), Some(to)) = (letter(first), letter(last)) {
        let count = (to + 1)
            .checked_sub(from)
            .filter(|count| *count > 0)
            .ok_or_else(fault)?;
        return Ok(letters
            .clone()
            .skip(from)
            .take(count)
            .step_by(step)
            .map(String::from)
            .collect());
    }
    let number = |text: &str| -> Result<u64, String> {
        let is_number = text.bytes().all(|b| b.is_ascii_digit());
        let text = if text.is_empty() { "0" } else { text };
        is_number
            .then(|| text.parse().ok())
            .flatten()
            .ok_or_else(fault)
    };
    let (from, to) = (number(first)?, number(last)?);
    let width = if first.len() > 1 && first.starts_with('0') {
        first.len()
    } else {
        0
    };
    if from > to || (width > 0 && width != last.len()) {
        return Err(fault());
    }
    if (to - from) / step as u64 >= MOST_HOSTS as u64 {
        return Err(format!(
            "`[{range}]` stands for more than {MOST_HOSTS} hosts"
        ));
    }
    Ok((from..=to)
        .step_by(step)
        .map(|number| format!("{number:0width$}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(pattern: &str) -> Vec<String> {
        expand(pattern).unwrap().0
    }

    #[test]
    fn ranges_of_ansible_stand_for_their_names() {
        assert_eq!(
            names("web[08:10].lab"),
            ["web08.lab", "web09.lab", "web10.lab"]
        );
        assert_eq!(names("w[1:7:3]"), ["w1", "w4", "w7"]);
        assert_eq!(names("db-[a:c]"), ["db-a", "db-b", "db-c"]);
        assert_eq!(names("r[1:2]n[a:b]"), ["r1na", "r1nb", "r2na", "r2nb"]);
        assert_eq!(
            expand("jump:2222").unwrap(),
            (vec!["jump".into()], Some(2222))
        );
        assert_eq!(
            expand("w[1:2]:22").unwrap(),
            (vec!["w1".into(), "w2".into()], Some(22))
        );
        assert_eq!(
            expand("[2001:db8::1]:22").unwrap(),
            (vec!["2001:db8::1".into()], Some(22))
        );
        assert_eq!(
            expand("2001:db8::1").unwrap(),
            (vec!["2001:db8::1".into()], None)
        );
    }

    #[test]
    fn what_is_no_range_is_refused_without_being_expanded() {
        for pattern in [
            "w[3:1]",
            "w[01:100]",
            "w[1:]",
            "w[1:9:0]",
            "w[a:1]",
            "w[1:99999999]",
            "w[1:100][1:100]",
            "w[c:a]",
        ] {
            assert!(expand(pattern).is_err(), "{pattern}");
        }
    }
}
