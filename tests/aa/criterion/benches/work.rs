use criterion::{black_box, criterion_group, criterion_main, Criterion};
use std::time::Duration;

fn work(c: &mut Criterion) {
    let work: u64 = std::env::var("WORK").map_or(100, |work| work.parse().unwrap());
    c.bench_function("sum", |b| b.iter(|| (0..work * 10).fold(0u64, |a, i| black_box(a ^ (i * i)))));
    c.bench_function("text", |b| b.iter(|| (0..work).map(|i| i.to_string()).collect::<String>()));
}

criterion_group! {
    name = all;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_millis(300));
    targets = work
}
criterion_main!(all);
