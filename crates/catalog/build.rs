//! Puts the definitions in `benchmarks/` and `monitors/` into the program.

use backsight_embed::embed_toml;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    embed_toml("benchmarks", "definitions.rs")?;
    embed_toml("monitors", "monitors.rs")
}
