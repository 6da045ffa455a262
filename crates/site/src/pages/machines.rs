//! The machines that measure, by their self-tests: how good each is, and since when.

use askama::Template;
use backsight_report::{
    clipped,
    doctor::{MachineHistoryView, meaning},
};

use super::{address, frame::Frame, site::Press};
use crate::crumb::Crumb;

/// Most self-tests of a machine that are shown, the newest.
const MOST_TESTS: usize = 30;

#[derive(Template)]
#[template(path = "pages/machines.html")]
pub(super) struct MachinesPage {
    frame: Frame,
    machines: Vec<MachineSection>,
}

struct MachineSection {
    line: MachineLine,
    /// What the grade says to somebody who measures.
    meaning: String,
    /// The measures, and their grades in each self-test, the newest first.
    measures: Vec<String>,
    tests: Vec<TestRow>,
    worse: Vec<String>,
}

/// A machine in a list.
pub(super) struct MachineLine {
    pub host: String,
    pub grade: String,
    pub tested: String,
    pub worse: usize,
}

struct TestRow {
    made: String,
    grade: String,
    grades: Vec<String>,
}

impl MachineLine {
    pub fn new(machine: &MachineHistoryView) -> Self {
        let last = machine.self_tests.last();
        let grade = last.and_then(|test| test.grade);
        Self {
            host: clipped(&machine.host, 60),
            grade: grade.map_or("none".to_owned(), |grade| grade.to_string()),
            tested: last.map_or(String::new(), |test| day(test.made)),
            worse: machine.worse.len(),
        }
    }
}

fn day(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

impl Press<'_> {
    pub(super) fn machines(&self) -> MachinesPage {
        let crumbs = vec![Crumb::new("Home", &self.page.link(address::HOME))];
        let machines = self.site.machines.machines.iter();
        MachinesPage {
            frame: Frame::new("Machines", self.page, crumbs)
                .with_data("JSON", &self.page.link(address::MACHINES_DATA)),
            machines: machines.map(MachineSection::new).collect(),
        }
    }
}

impl MachineSection {
    fn new(machine: &MachineHistoryView) -> Self {
        let tests = machine.self_tests.iter().rev().take(MOST_TESTS);
        let names = tests.clone().flat_map(|test| test.grades.keys());
        let mut measures: Vec<String> = names.cloned().collect();
        measures.sort_unstable();
        measures.dedup();
        let tests = tests.map(|test| TestRow {
            made: test.made.strftime("%Y-%m-%d %H:%M UTC").to_string(),
            grade: shown(test.grade),
            grades: measures
                .iter()
                .map(|measure| shown(test.grades.get(measure).copied()))
                .collect(),
        });
        let worse = machine.worse.iter().map(|worse| {
            let named = match &worse.new_sources[..] {
                [] => String::new(),
                some => format!("; new: {}", some.join(", ")),
            };
            let (before, now) = (worse.before, worse.now);
            let sentence = format!(
                "{}: {before} before, {now} now ({}){named}",
                worse.measure, worse.figures
            );
            clipped(&sentence, 300)
        });
        let grade = machine.self_tests.last().and_then(|test| test.grade);
        Self {
            line: MachineLine::new(machine),
            meaning: grade.map_or(String::new(), meaning),
            tests: tests.collect(),
            worse: worse.collect(),
            measures,
        }
    }
}

fn shown(grade: Option<impl ToString>) -> String {
    grade.map_or("-".to_owned(), |grade| grade.to_string())
}
