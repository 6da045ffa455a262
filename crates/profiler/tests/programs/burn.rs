//! Uses a processor for so many seconds: 70 % in one function, 30 % in another.

use std::hint::black_box;
use std::time::{Duration, Instant};

#[inline(never)]
fn work(n: u64) -> u64 {
    (0..black_box(n)).fold(n, |hash, i| {
        black_box(hash.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i))
    })
}

#[inline(never)]
fn burn_seventy() {
    black_box(work(70_000));
}

#[inline(never)]
fn burn_thirty() {
    black_box(work(30_000));
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|it| it.parse().ok());
    let end = Instant::now() + Duration::from_secs_f64(seconds.unwrap_or(1.0));
    while Instant::now() < end {
        burn_seventy();
        burn_thirty();
    }
}
