#![no_main]

libfuzzer_sys::fuzz_target!(
    |bytes: &[u8]| backsight_fuzz_targets::target("profile").unwrap()(bytes)
);
