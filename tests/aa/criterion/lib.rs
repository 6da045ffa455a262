//! Nothing: the work is in the bench.
