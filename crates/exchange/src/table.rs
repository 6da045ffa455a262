//! Tables of numbers: series of values, read and written without holding more than one of them where the order allows.
