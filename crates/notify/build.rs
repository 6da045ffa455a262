//! Puts the bodies of messages in `messages/` into the program.

use backsight_embed::embed_toml;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    embed_toml("messages", "messages.rs")
}
