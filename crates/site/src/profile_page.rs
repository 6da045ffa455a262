//! The page of a profile: flame graphs of its calls and a table of its functions, as one self-contained file.
//!
//! The table is in the page; the graphs are drawn by its script from JSON beside it.

use askama::Template;
use backsight_policy::FunctionDifference;
use backsight_profile::{CallTree, ProfileUnit};
use backsight_report::{
    Tone, escape, json_line,
    profile::{ProfileReport, ProfileRow, change_word},
};
use serde::Serialize;
use std::collections::HashMap;

use crate::PageError;

const STYLE: &str = concat!(
    include_str!("../templates/report.css"),
    include_str!("../templates/profile.css")
);
const SCRIPT: &str = include_str!("../templates/profile.js");
/// The SHA-256 of the script, as a content security policy names it.
const SCRIPT_HASH: &str = "sha256-WH80zy8eYnMD6yyUoEEm+2YFuVT+YEn8Acxwe9TMZGY=";

/// Most calls in a graph: about 5 MB of page. The smallest are left out; their weight stays in their callers.
const MOST_NODES: usize = 200_000;

/// Most rows of the table.
const MOST_ROWS: usize = 1000;

/// What the graphs are drawn from.
#[derive(Serialize)]
struct GraphData {
    base: bool,
    unit: &'static str,
    /// Of the base and of the new side: weight of all samples, and trials.
    totals: [u64; 2],
    trials: [usize; 2],
    functions: Vec<GraphFunction>,
    nodes: GraphNodes,
}

#[derive(Serialize)]
struct GraphFunction {
    name: String,
    module: String,
    tone: usize,
    changed: bool,
    change: &'static str,
    itself: String,
    total: String,
}

/// Calls, by column; the first one stands for all samples and has no function. Weights are with everything below.
#[derive(Serialize)]
struct GraphNodes {
    functions: Vec<i64>,
    parents: Vec<u32>,
    base: Vec<u64>,
    fresh: Vec<u64>,
}

#[derive(Template)]
#[template(path = "profile.html")]
struct ProfilePage {
    title: String,
    style: &'static str,
    script: &'static str,
    script_hash: &'static str,
    version: &'static str,
    sentences: Vec<PageSentence>,
    has_base: bool,
    unit: &'static str,
    legend: String,
    rows: Vec<ProfileRow>,
    left_out: usize,
    data: String,
}

struct PageSentence {
    text: String,
    class: &'static str,
}

/// The page of a profile.
///
/// # Errors
/// The template fails; no input is known that makes it.
pub fn profile_page(report: &ProfileReport, tree: &CallTree) -> Result<String, PageError> {
    let mut rows = report.rows();
    let left_out = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    let data = json_line(&graph_data(report, tree)).map_err(askama::Error::custom)?;
    let sentences = report.sentences().into_iter();
    let page = ProfilePage {
        title: report.title(),
        style: STYLE,
        script: SCRIPT,
        script_hash: SCRIPT_HASH,
        version: env!("CARGO_PKG_VERSION"),
        sentences: sentences
            .map(|(text, tone)| PageSentence {
                text,
                class: if tone == Tone::Faint { "unsure" } else { "" },
            })
            .collect(),
        has_base: report.base.is_some(),
        unit: unit(report),
        legend: report.legend(),
        rows,
        left_out,
        // Nothing in it ends the element that it is in.
        data: data.replace('<', "\\u003c"),
    };
    Ok(page.render()?)
}

fn unit(report: &ProfileReport) -> &'static str {
    match report.unit {
        ProfileUnit::Samples => "samples",
        ProfileUnit::Ns => "ns",
    }
}

fn graph_data(report: &ProfileReport, tree: &CallTree) -> GraphData {
    let nodes = graph_nodes(tree);
    let found: HashMap<usize, &FunctionDifference> = report
        .difference
        .functions
        .iter()
        .map(|found| (found.function, found))
        .collect();
    let mut modules: HashMap<&str, usize> = HashMap::new();
    let functions = report.functions.iter().enumerate().map(|(number, key)| {
        let next = modules.len();
        let module = *modules.entry(&key.module).or_insert(next);
        let found = found.get(&number);
        let share =
            |share: Option<String>| share.unwrap_or_else(|| "too little to show".to_owned());
        GraphFunction {
            name: escape::line(&key.function),
            module: escape::line(&key.module),
            tone: module % 6,
            changed: found.is_some_and(|found| found.is_changed()),
            change: found.map_or("", |found| change_word(found)),
            itself: share(found.map(|found| report.share_text(&found.itself))),
            total: share(found.map(|found| report.share_text(&found.inclusive))),
        }
    });
    GraphData {
        base: report.base.is_some(),
        unit: unit(report),
        totals: [nodes.base[0], nodes.fresh[0]],
        trials: [
            report.difference.base.map_or(0, |base| base.trials),
            report.difference.new.trials,
        ],
        functions: functions.collect(),
        nodes,
    }
}

/// The heaviest calls of a tree, below one that has all samples. A caller is never lighter than what it calls, and so never left out
/// before it.
fn graph_nodes(tree: &CallTree) -> GraphNodes {
    let nodes = tree.nodes();
    let mut weights: Vec<[u64; 2]> = nodes.iter().map(|node| node.itself).collect();
    let mut all = [0, 0];
    for (number, node) in nodes.iter().enumerate().rev() {
        let weight = weights[number];
        let above = match node.parent as usize == number {
            true => &mut all,
            false => &mut weights[node.parent as usize],
        };
        above[0] += weight[0];
        above[1] += weight[1];
    }
    let mut heaviest: Vec<usize> = (0..nodes.len()).collect();
    heaviest.sort_by_key(|&number| std::cmp::Reverse(weights[number][0] + weights[number][1]));
    heaviest.truncate(MOST_NODES);
    heaviest.sort_unstable();
    let mut made = GraphNodes {
        functions: vec![-1],
        parents: vec![0],
        base: vec![all[0]],
        fresh: vec![all[1]],
    };
    let mut places = vec![0; nodes.len()];
    for number in heaviest {
        let node = nodes[number];
        places[number] = made.functions.len() as u32;
        made.parents.push(match node.parent as usize == number {
            true => 0,
            false => places[node.parent as usize],
        });
        made.functions.push(node.function.into());
        made.base.push(weights[number][0]);
        made.fresh.push(weights[number][1]);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use sha2::Digest as _;

    #[test]
    fn the_policy_names_the_script() {
        let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(SCRIPT));
        assert_eq!(
            SCRIPT_HASH,
            format!("sha256-{hash}"),
            "put the new hash into SCRIPT_HASH"
        );
    }
}
