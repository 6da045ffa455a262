//! Puts the importers in `importers/` into the program.

use backsight_embed::embed_toml;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    embed_toml("importers", "importers.rs")
}
