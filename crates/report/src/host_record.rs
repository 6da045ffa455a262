//! Records of hosts: one on a page, and what differs between two.

use backsight_model::{HostRecord, RecordDifference};
use serde::Serialize;
use std::fmt::Write as _;

use crate::{TerminalStyle, escape::line, table::list_table};

/// Sections of which a page shows the number of values, unless all are asked for.
const LONG_SECTIONS: [&str; 5] = ["kernel-config", "module", "package", "service", "sysctl"];

/// Differences that a page shows unless all are asked for.
const SHOWN_DIFFERENCES: usize = 20;

/// Differences of less weight are counted only, unless all are asked for.
const LEAST_WEIGHT: u8 = 20;

/// A host on a page: `all` shows every value of the long sections too.
pub fn record_text(host: &str, record: &HostRecord, all: bool, style: &TerminalStyle) -> String {
    let mut text = format!("host {}\n", line(host));
    for (section, values) in &record.0 {
        if !all && LONG_SECTIONS.contains(&section.as_str()) {
            let _ = writeln!(
                text,
                "\n{section}: {} values (--all shows them)",
                values.len()
            );
            continue;
        }
        let mut table = list_table(&[section, "value"], style.width);
        for (name, value) in values {
            table.add_row([line(name), line(value)]);
        }
        let _ = writeln!(text, "\n{table}");
    }
    text
}

/// What a host was while a study measured.
#[derive(Debug, Serialize)]
pub struct HostOfStudy {
    /// The host.
    pub host: String,
    /// When the study began, or went on: RFC 3339.
    pub began: String,
    /// What it was then.
    pub record: HostRecord,
    /// When the study ended or stopped: RFC 3339; none if it was killed, or measures still.
    pub ended: Option<String>,
    /// What changed until then; none where nobody knows.
    pub changes: Option<Vec<RecordDifference>>,
    /// What its kernel said meanwhile, a line a message.
    pub kernel_log: String,
}

impl HostOfStudy {
    /// On a page; `all` shows every value of the long sections too.
    pub fn text(&self, all: bool, style: &TerminalStyle) -> String {
        let mut text = record_text(&self.host, &self.record, all, style);
        let began = &self.began;
        let _ = match (&self.ended, &self.changes) {
            (Some(ended), Some(changes)) => writeln!(
                text,
                "\n{}",
                table_of_differences(began, ended, changes, all, style)
            ),
            _ => writeln!(
                text,
                "\nrecorded at {began}; nobody recorded what changed until its end"
            ),
        };
        if !self.kernel_log.is_empty() {
            let _ = writeln!(text, "its kernel said meanwhile:");
            for said in self.kernel_log.lines() {
                let _ = writeln!(text, "  {}", line(said));
            }
        }
        text
    }
}

/// What differs from one record to another.
#[derive(Debug, Serialize)]
pub struct RecordComparison {
    /// The name of the first one.
    base: String,
    /// The name of the second one.
    new: String,
    /// What explains numbers most often comes first.
    differences: Vec<RecordDifference>,
    /// Sections that only the second one has.
    not_in_base: Vec<String>,
    /// Sections that only the first one has.
    not_in_new: Vec<String>,
}

impl RecordComparison {
    /// Compares two records, each with a name for readers.
    pub fn new((base, one): (String, &HostRecord), (new, other): (String, &HostRecord)) -> Self {
        let owned = |sections: Vec<&str>| sections.into_iter().map(str::to_owned).collect();
        Self {
            differences: one.differences(other),
            not_in_base: owned(one.lacks(other)),
            not_in_new: owned(other.lacks(one)),
            base,
            new,
        }
    }

    /// As a table; `all` shows what seldom explains numbers too.
    pub fn text(&self, all: bool, style: &TerminalStyle) -> String {
        let [base, new] = [&self.base, &self.new].map(|name| line(name));
        let mut text = table_of_differences(&base, &new, &self.differences, all, style);
        for (name, lacks) in [(&base, &self.not_in_base), (&new, &self.not_in_new)] {
            if !lacks.is_empty() {
                let _ = writeln!(text, "not recorded in {name}: {}", line(&lacks.join(", ")));
            }
        }
        text
    }
}

fn table_of_differences(
    base: &str,
    new: &str,
    differences: &[RecordDifference],
    all: bool,
    style: &TerminalStyle,
) -> String {
    if differences.is_empty() {
        return format!("{base} and {new} don't differ\n");
    }
    let weighty = differences.iter().filter(|it| it.weight >= LEAST_WEIGHT);
    let shown: Vec<&RecordDifference> = match all {
        true => differences.iter().collect(),
        false => weighty.take(SHOWN_DIFFERENCES).collect(),
    };
    let mut table = list_table(&["what differs", base, new, "why it matters"], style.width);
    for difference in &shown {
        let [base, new] = difference.values();
        let reason = difference.reason.unwrap_or_default();
        table.add_row([
            line(&difference.name),
            line(&base),
            line(&new),
            reason.to_owned(),
        ]);
    }
    let mut text = match shown.is_empty() {
        true => format!("nothing differs between {base} and {new} that explains numbers often\n"),
        false => format!("{table}\n"),
    };
    let left = differences.len() - shown.len();
    if left > 0 {
        let word = if left == 1 {
            "value differs"
        } else {
            "values differ"
        };
        let _ = writeln!(text, "{left} more {word} (--all shows them)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: TerminalStyle = TerminalStyle {
        width: None,
        colour: false,
    };

    fn record(values: &[(&str, &str, &str)]) -> HostRecord {
        values.iter().copied().collect()
    }

    #[test]
    fn long_sections_are_counted_unless_all_is_asked_for_and_nothing_acts() {
        let record = record(&[
            ("sysctl", "vm.swappiness", "60"),
            ("cpu", "model", "a\u{1b}[2Jb"),
        ]);
        let page = record_text("dut", &record, false, &STYLE);
        assert!(page.contains("sysctl: 1 values (--all"), "{page}");
        assert!(
            !page.contains("swappiness") && !page.contains('\u{1b}'),
            "{page}"
        );
        let whole = record_text("dut", &record, true, &STYLE);
        assert!(whole.contains("vm.swappiness"), "{whole}");
    }

    fn compared(base: &HostRecord, new: &HostRecord) -> RecordComparison {
        RecordComparison::new(("a".into(), base), ("b".into(), new))
    }

    #[test]
    fn differences_say_what_matters_and_how_many_more_there_are() {
        let base = record(&[
            ("cpu", "cpufreq.scaling_governor", "powersave"),
            ("package", "vim", "9.0"),
            ("sysctl", "vm.swappiness", "60"),
        ]);
        let new = record(&[
            ("cpu", "cpufreq.scaling_governor", "performance"),
            ("package", "vim", "9.1"),
        ]);
        let page = compared(&base, &new).text(false, &STYLE);
        assert!(
            page.contains("powersave") && page.contains("frequency"),
            "{page}"
        );
        assert!(page.contains("1 more value differs"), "{page}");
        assert!(page.contains("not recorded in b: sysctl"), "{page}");
        let all = compared(&base, &new).text(true, &STYLE);
        assert!(
            all.contains("package.vim") && !all.contains("more value"),
            "{all}"
        );
        let same = compared(&base, &base).text(false, &STYLE);
        assert_eq!(same, "a and b don't differ\n");
        let little = record(&[("package", "vim", "9.1")]);
        let page = compared(&base, &little).text(false, &STYLE);
        assert!(page.starts_with("nothing differs"), "{page}");
    }
}
