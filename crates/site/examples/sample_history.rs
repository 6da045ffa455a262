//! Fills a store with a made-up history of the target `linux`:
//! `cargo run -p backsight-site --example sample_history -- DIR [VERSIONS BOOTS TRIALS]`.

#[path = "sample/stepped.rs"]
mod stepped;

use backsight_store::Store;
use std::error::Error;
use stepped::Extent;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (dir, extent) = match &arguments[..] {
        [dir] => (dir, Extent::USUAL),
        [dir, versions, boots, trials] => (
            dir,
            Extent {
                versions: versions.parse()?,
                boots: boots.parse()?,
                trials: trials.parse()?,
            },
        ),
        _ => return Err("expected DIR [VERSIONS BOOTS TRIALS]".into()),
    };
    let store = Store::open(dir).await?;
    stepped::fill(&store, extent).await?;
    store.close().await;
    Ok(())
}
