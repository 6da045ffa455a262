//! Puts the definitions in `settings/` and `settings/sets/` into the program.

use backsight_embed::embed_toml;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    embed_toml("settings", "settings.rs")?;
    embed_toml("settings/sets", "sets.rs")
}
