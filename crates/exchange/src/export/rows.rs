//! Tables: a sample a row, with everything beside it that says what it is of. `backsight import` reads them back.

use backsight_model::{Cell, ParamName, ResultSet};
use indexmap::IndexSet;

use super::{ExportError, ExportFormat, table_format};
use crate::{
    import::columns::{INTERVAL, PARAM, SAMPLE, param_text},
    table::{ColumnKind, TableCell, TableOutput, TableWriter},
};

const BEFORE: &[(&str, ColumnKind)] = &[
    ("benchmark", ColumnKind::Text),
    ("variant", ColumnKind::Text),
];
/// Where trials are of several hosts.
const HOST: (&str, ColumnKind) = ("host", ColumnKind::Text);
const AFTER: &[(&str, ColumnKind)] = &[
    ("metric", ColumnKind::Text),
    ("unit", ColumnKind::Text),
    ("better", ColumnKind::Text),
    ("trial", ColumnKind::Integer),
    ("round", ColumnKind::Integer),
    ("kind", ColumnKind::Text),
    ("value", ColumnKind::Number),
];

/// Writes the samples of a study, a row each.
pub fn write(set: &ResultSet, form: ExportFormat, out: TableOutput) -> Result<(), ExportError> {
    let format = table_format(form).ok_or(ExportError::NoTable(form.name()))?;
    let params: IndexSet<&ParamName> = set
        .series
        .iter()
        .flat_map(|s| s.cell.params.keys())
        .collect();
    let named: Vec<String> = params
        .iter()
        .map(|param| format!("{PARAM}{param}"))
        .collect();
    let several_hosts = set.hosts.len() > 1
        && set
            .series
            .iter()
            .flat_map(|series| &series.trials)
            .any(|trial| trial.host > 0);
    let columns: Vec<(&str, ColumnKind)> = BEFORE
        .iter()
        .copied()
        .chain(named.iter().map(|name| (name.as_str(), ColumnKind::Text)))
        .chain(several_hosts.then_some(HOST))
        .chain(AFTER.iter().copied())
        .collect();
    let mut writer = TableWriter::new(out, format, &columns)?;
    for series in &set.series {
        let texts = param_texts(&series.cell, &params);
        let unit = series.unit.to_string();
        let set_up = series.cell.set_up();
        for trial in &series.trials {
            let kinds = [(SAMPLE, &trial.values), (INTERVAL, &trial.each)];
            for (kind, value) in kinds
                .into_iter()
                .flat_map(|(kind, values)| values.iter().map(move |value| (kind, value)))
            {
                let mut row = vec![
                    TableCell::Text(series.cell.benchmark.as_str()),
                    TableCell::Text(&set_up),
                ];
                row.extend(texts.iter().map(|text| TableCell::from(text.as_deref())));
                if several_hosts {
                    row.push(TableCell::from(
                        set.host_of(trial).map(|host| host.as_str()),
                    ));
                }
                row.extend([
                    TableCell::Text(series.metric.as_str()),
                    TableCell::Text(&unit),
                    TableCell::Text(series.better.as_str()),
                    TableCell::Integer(i64::from(trial.trial)),
                    TableCell::Integer(i64::from(trial.round)),
                    TableCell::Text(kind),
                    TableCell::Number(*value),
                ]);
                writer.row(&row)?;
            }
        }
    }
    writer.finish()?;
    Ok(())
}

fn param_texts(cell: &Cell, params: &IndexSet<&ParamName>) -> Vec<Option<String>> {
    params
        .iter()
        .map(|param| cell.params.get(*param).map(param_text))
        .collect()
}
