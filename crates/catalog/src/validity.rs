//! Whether what a trial measured is what its benchmark is about: conditions of its definition.

use backsight_model::{Benchmark, MetricSamples, ValidityCondition};

/// A sentence for each condition that doesn't hold of what a trial measured.
pub(crate) fn breaches(benchmark: &Benchmark, samples: &[MetricSamples]) -> Vec<String> {
    let conditions = benchmark.valid.conditions().iter();
    conditions
        .filter_map(|condition| breach(condition, samples))
        .collect()
}

/// What is wrong, if it is: a metric that wasn't measured says nothing. Of several hosts one that is out is enough.
fn breach(condition: &ValidityCondition, samples: &[MetricSamples]) -> Option<String> {
    let own = samples.iter().find(|it| it.metric == condition.metric)?;
    let of_instances = own.instances.iter().flat_map(|instance| &instance.values);
    let mut values = own.values.iter().chain(of_instances).copied();
    let value = values.find(|value| !condition.holds(*value))?;
    // More digits than these tell nothing.
    let value = (value * 1000.0).round() / 1000.0;
    let said = format!("{} is {value}, and has to be {condition}", condition.metric);
    Some(match &condition.otherwise {
        Some(why) => format!("{why}: {said}"),
        None => said,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::MetricName;

    #[test]
    fn what_is_out_of_bounds_is_said_with_its_reason() {
        let condition = "client_cpu <= 95: the client is the bottleneck";
        let condition: ValidityCondition = condition.parse().unwrap();
        let measured = |value: f64| {
            let name = MetricName::new("client_cpu").unwrap();
            [MetricSamples::new(name, vec![value], Vec::new())]
        };
        assert_eq!(breach(&condition, &measured(95.0)), None);
        assert_eq!(breach(&condition, &[]), None);
        assert_eq!(
            breach(&condition, &measured(99.25)).unwrap(),
            "the client is the bottleneck: client_cpu is 99.25, and has to be client_cpu <= 95"
        );
    }
}
