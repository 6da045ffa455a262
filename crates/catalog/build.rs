//! Puts the definitions in `benchmarks/`, `suites/` and `monitors/`, and the plans in `sets/`, into the program.

use backsight_embed::embed_toml;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    embed_toml("benchmarks", "benchmarks.rs")?;
    embed_toml("suites", "suites.rs")?;
    embed_toml("monitors", "monitors.rs")?;
    embed_toml("sets", "sets.rs")
}
