//! What each of several testbeds measured that share a study, and what each differs by from the others.

use backsight_model::{CellSeries, HostName, ResultSet, numbers::Scale};
use backsight_stats::Samples;
use indexmap::IndexMap;

use crate::{
    numbers::{MeanEstimate, direction_arrow},
    table::{Table, TerminalStyle, field, left, right},
};

/// The means of a study's trials by testbed, a line a testbed; primary metrics alone, where there are any. Empty unless its trials
/// were measured on several hosts, each on one.
pub fn testbeds_text(set: &ResultSet, look: &TerminalStyle) -> String {
    let any_is_primary = set.series.iter().any(|series| series.primary);
    let shown = set
        .series
        .iter()
        .filter(|series| series.primary || !any_is_primary);
    let mut table = Table::new(vec![left("testbed of"), right("mean"), right("of all")]);
    let mut is_empty = true;
    for series in shown {
        let by_host = by_host(set, series);
        if by_host.len() < 2 {
            continue;
        }
        is_empty = false;
        // Testbeds count alike, however often each measured.
        let all = by_host.values().map(|it| it.mean).sum::<f64>() / by_host.len() as f64;
        let scale = Scale::fitting(series.unit, by_host.values().map(|it| it.mean));
        let arrow = direction_arrow(series.better);
        let unit = scale.unit_after();
        table.group(format!("{}: {}{unit} {arrow}", series.cell, series.metric));
        for (host, estimate) in by_host {
            let share = (estimate.mean / all - 1.0) * 100.0;
            table.row(vec![
                field(host.to_string()),
                field(format!("{} n={}", estimate.shown(&scale), estimate.n)),
                field(match share.is_finite() {
                    true => format!("{share:+.1} %"),
                    false => String::new(),
                }),
            ]);
        }
    }
    if is_empty {
        return String::new();
    }
    let note = "Each testbed by its first host, and what its mean differs by from that of all. Cells and studies are compared testbed by testbed.";
    format!(
        "{}\n\n{}\n",
        table.text(look),
        crate::wrapped(note, look.width)
    )
}

/// The mean of each host's trials, in the order of the hosts.
fn by_host<'a>(set: &'a ResultSet, series: &CellSeries) -> IndexMap<&'a HostName, MeanEstimate> {
    let mut values: IndexMap<&HostName, Vec<f64>> = IndexMap::new();
    for trial in series
        .trials
        .iter()
        .filter(|trial| !trial.values.is_empty())
    {
        let Some(host) = set.host_of(trial) else {
            continue;
        };
        let mean = trial.values.iter().sum::<f64>() / trial.values.len() as f64;
        values.entry(host).or_default().push(mean);
    }
    values.sort_by(|a, _, b, _| set.hosts.get_index_of(*a).cmp(&set.hosts.get_index_of(*b)));
    let estimates = values.into_iter().filter_map(|(host, values)| {
        let samples = Samples::new(values).ok()?;
        Some((host, MeanEstimate::from_samples(&samples, series.better)))
    });
    estimates.collect()
}
