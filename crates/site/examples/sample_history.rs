//! Fills a store with a made-up history of the target `linux`, and perhaps publishes it with made-up commits:
//! `cargo run -p backsight-site --example sample_history -- DIR [SITE | VERSIONS BOOTS TRIALS]`.

#[path = "sample/commits.rs"]
mod commits;
#[path = "sample/stepped.rs"]
mod stepped;
#[path = "sample/suites.rs"]
#[allow(dead_code)]
mod suites;

use backsight_store::Store;
use std::{collections::HashMap, error::Error, path::Path};
use stepped::Extent;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (dir, site, extent) = match &arguments[..] {
        [dir] => (dir, None, Extent::USUAL),
        [dir, site] => (dir, Some(site), Extent::USUAL),
        [dir, versions, boots, trials] => (
            dir,
            None,
            Extent {
                versions: versions.parse()?,
                boots: boots.parse()?,
                trials: trials.parse()?,
            },
        ),
        _ => return Err("expected DIR [SITE | VERSIONS BOOTS TRIALS]".into()),
    };
    let store = Store::open(dir).await?;
    stepped::fill(&store, extent).await?;
    if let Some(site) = site {
        let targets = store.targets().await?;
        let mut tests = HashMap::new();
        for target in &targets {
            let studies = store.target_history(target).await?;
            if let Some(study) = studies.first() {
                tests.insert(target.clone(), suites::of_study(study, 60));
            }
        }
        backsight_site::publish(
            &store,
            &targets,
            &commits::between,
            &Default::default(),
            &Default::default(),
            &tests,
            Path::new(site),
        )
        .await?;
    }
    store.close().await;
    Ok(())
}
