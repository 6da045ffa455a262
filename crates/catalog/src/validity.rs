//! Whether what a trial measured is what its benchmark is about: conditions of its definition, and load generators that were the limit
//! themselves.

use backsight_model::{Benchmark, MetricSamples, Phase, RoleTrial, StepRecord, ValidityCondition};

/// From this share of its processors on a load generator is said to have been the limit: what is left is waiting for its first and its
/// last answers.
const EXHAUSTED: f64 = 0.95;

/// A sentence for each load generator that had no processor left, by what the steps of its `run` used.
pub fn exhausted_generators(roles: &[RoleTrial], steps: &[StepRecord]) -> Vec<String> {
    let sentence = |role: &RoleTrial| {
        let processors = f64::from(role.processors?);
        let own = steps.iter().filter(|step| {
            step.phase == Phase::Run
                && step.role == role.role
                && step.host == role.host
                && !step.spawned
                && step.monitor.is_none()
        });
        let (worked, elapsed) = own.fold((0.0, 0.0), |(worked, elapsed), step| {
            let usage = &step.usage;
            (worked + usage.user + usage.sys, elapsed + usage.wall)
        });
        let share = worked / (elapsed * processors);
        (share >= EXHAUSTED).then(|| {
            format!(
                "`{}` on {} was the limit, and not what it loads: it used {} % or more of the processors that it can use ({processors})",
                role.role,
                role.host,
                EXHAUSTED * 100.0
            )
        })
    };
    roles.iter().filter_map(sentence).collect()
}

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
    use backsight_model::{MetricName, ResourceUsage};

    fn step(phase: Phase, host: &str, spawned: bool, worked: f64) -> StepRecord {
        StepRecord {
            spawned,
            usage: ResourceUsage {
                wall: 2.0,
                user: worked / 4.0,
                sys: worked * 3.0 / 4.0,
                ..ResourceUsage::default()
            },
            ..StepRecord::new("client".parse().unwrap(), host.parse().unwrap(), phase)
        }
    }

    #[test]
    fn a_load_generator_without_a_processor_left_is_said() {
        let role = |host: &str, processors| RoleTrial {
            role: "client".parse().unwrap(),
            host: host.parse().unwrap(),
            processors,
            steps: Default::default(),
        };
        let roles = [role("a", Some(2)), role("b", Some(2)), role("c", None)];
        let steps = [
            step(Phase::Run, "a", false, 3.7),
            step(Phase::Run, "a", false, 3.98),
            // Warm-ups and servers say nothing of it.
            step(Phase::Startup, "b", false, 4.0),
            step(Phase::Run, "b", true, 4.0),
            step(Phase::Run, "b", false, 3.7),
            step(Phase::Run, "c", false, 8.0),
        ];
        assert_eq!(
            exhausted_generators(&roles, &steps),
            [
                "`client` on a was the limit, and not what it loads: it used 95 % or more of the processors that it can use (2)"
            ]
        );
        assert!(exhausted_generators(&roles, &[]).is_empty());
    }

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
