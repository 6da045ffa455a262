//! Summary of the process tree: the calls of each process, and those of it and all below it.

use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::{EventKind, TraceEvent};

use super::tables::{aligned, duration, note_cut};
use super::{
    CallStatistics, SummaryOrder, SummaryRow, TableOptions, name_from_bytes, printable_name,
    time_and_failure,
};
use crate::process_tree::ProcessTree;

/// Counts of the calls of each process.
#[derive(Debug)]
pub struct ProcessSummary {
    tree: ProcessTree,
    /// The calls that are counted; others only say which program a process is.
    counted: SyscallSet,
    figures: Vec<CallStatistics>,
}

/// A process in a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    /// Its number.
    pub pid: i32,
    /// Its parent's number; none of a process that the trace began with.
    pub parent: Option<i32>,
    /// How far it is from the top of the tree.
    pub depth: usize,
    /// The name of its program.
    pub name: String,
    /// Its own calls.
    pub own: CallStatistics,
    /// Its own calls and those of all processes below it.
    pub tree: CallStatistics,
}

impl ProcessSummary {
    /// Nothing counted yet. `live`: what is traced runs now, and the names of what ran before are looked up.
    pub fn new(counted: SyscallSet, live: bool) -> Self {
        Self {
            tree: ProcessTree::new(live),
            counted,
            figures: Vec::new(),
        }
    }

    /// Counts what an event says.
    pub fn add(&mut self, event: &TraceEvent) {
        let node = self.tree.add(event);
        self.figures
            .resize(self.tree.nodes().len(), CallStatistics::default());
        if let EventKind::Call(call) = &event.kind
            && self.counted.contains(call.abi, call.number)
        {
            let (took, failed) = time_and_failure(call);
            self.figures[node].count(took, failed, false);
        }
    }

    /// The processes as they stand in the tree: each before its children, siblings in this order by what the tree below them has.
    pub fn rows(&self, options: &TableOptions) -> Vec<ProcessRow> {
        let nodes = self.tree.nodes();
        let mut own = self.figures.clone();
        let overhead = u64::try_from(options.overhead.as_nanos()).unwrap_or(u64::MAX);
        for figures in &mut own {
            figures.shorten(overhead);
        }
        let mut below = own.clone();
        // Children come behind their parents.
        for (place, node) in nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent {
                let figures = std::mem::take(&mut below[place]);
                below[parent].merge(&figures);
                below[place] = figures;
            }
        }
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        let mut waiting: Vec<(usize, usize)> = Vec::new();
        let mut tops = Vec::new();
        for (place, node) in nodes.iter().enumerate() {
            match node.parent {
                Some(parent) => children[parent].push(place),
                None => tops.push(place),
            }
        }
        let push = |waiting: &mut Vec<(usize, usize)>, mut places: Vec<usize>, depth| {
            let key = |place: &usize| order(options.sort, &below[*place]);
            match options.sort {
                SummaryOrder::Nothing => {}
                SummaryOrder::Name => places.sort_by(|a, b| nodes[*a].name.cmp(&nodes[*b].name)),
                _ => places.sort_by_key(|place| std::cmp::Reverse(key(place))),
            }
            waiting.extend(places.into_iter().rev().map(|place| (place, depth)));
        };
        push(&mut waiting, tops, 0);
        let mut rows = Vec::with_capacity(nodes.len());
        while let Some((place, depth)) = waiting.pop() {
            let node = &nodes[place];
            rows.push(ProcessRow {
                pid: node.pid,
                parent: node.parent.map(|parent| nodes[parent].pid),
                depth,
                name: match node.name.is_empty() {
                    true => "(unknown)".to_owned(),
                    false => name_from_bytes(&node.name),
                },
                own: own[place].clone(),
                tree: below[place].clone(),
            });
            push(
                &mut waiting,
                std::mem::take(&mut children[place]),
                depth + 1,
            );
        }
        rows
    }

    /// All calls.
    pub fn total(&self, options: &TableOptions) -> CallStatistics {
        let rows = self.figures.iter().map(|figures| SummaryRow {
            figures: figures.clone(),
            ..SummaryRow::default()
        });
        options.apply(&mut rows.collect()).0.figures
    }

    /// The tree as text.
    pub fn table(&self, options: &TableOptions) -> String {
        let mut rows = self.rows(options);
        let cut = rows.len().saturating_sub(options.top.unwrap_or(usize::MAX));
        rows.truncate(rows.len() - cut);
        let titles = [
            "own time",
            "own calls",
            "own errors",
            "tree time",
            "tree calls",
            "tree errors",
            "process",
        ];
        let mut lines = vec![titles.map(str::to_owned).to_vec()];
        let cells = |figures: &CallStatistics| {
            [
                duration(figures.total),
                figures.calls.to_string(),
                figures.errors.to_string(),
            ]
        };
        for row in &rows {
            // A chain of ten thousand processes isn't a line of as many blanks.
            let indentation = "  ".repeat(row.depth.min(40));
            let name = format!("{indentation}{} {}", row.pid, printable_name(&row.name));
            let line = cells(&row.own).into_iter().chain(cells(&row.tree));
            lines.push(line.chain([name]).collect());
        }
        let total = cells(&self.total(options));
        let line = total.clone().into_iter().chain(total);
        lines.push(line.chain(["total".to_owned()]).collect());
        let mut text = aligned(&lines);
        note_cut(&mut text, cut, "process");
        text
    }
}

fn order(sort: SummaryOrder, figures: &CallStatistics) -> u64 {
    match sort {
        SummaryOrder::Least => figures.least,
        SummaryOrder::Most => figures.most,
        SummaryOrder::Mean => figures.mean(),
        SummaryOrder::Calls => figures.calls,
        SummaryOrder::Errors => figures.errors,
        _ => figures.total,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::SummaryColumn;
    use crate::summary::tests::event;

    #[test]
    fn a_process_has_the_calls_of_all_below_it() {
        let mut summary = ProcessSummary::new(SyscallSet::all(), false);
        let born = |pid, parent| TraceEvent {
            pid,
            tid: pid,
            at: 0,
            kind: EventKind::Attached { parent },
        };
        for event in [
            event(1, "read", 5, 100),
            born(2, Some(1)),
            born(3, Some(1)),
            event(3, "read", 5, 300),
            event(2, "close", -9, 20),
            born(4, Some(2)),
            event(4, "read", 1, 40),
        ] {
            summary.add(&event);
        }
        let options = TableOptions::new(&SummaryColumn::OF_FILES);
        let rows = summary.rows(&options).into_iter();
        let rows: Vec<_> = rows
            .map(|row| (row.pid, row.depth, row.own.total, row.tree.total))
            .collect();
        assert_eq!(
            rows,
            [
                (1, 0, 100, 460),
                (3, 1, 300, 300),
                (2, 1, 20, 60),
                (4, 2, 40, 40)
            ]
        );
        let table = summary.table(&TableOptions {
            top: Some(2),
            ..options
        });
        assert!(table.contains("  3 (unknown)\n"), "{table}");
        assert!(
            table.ends_with("total\n2 more processes aren't shown\n"),
            "{table}"
        );
    }
}
