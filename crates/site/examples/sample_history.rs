//! Fills a store with a made-up history of the target `linux`, and perhaps publishes it with made-up commits:
//! `cargo run -p backsight-site --example sample_history -- DIR [SITE [VERSIONS METRICS] | VERSIONS BOOTS TRIALS]`; METRICS
//! are those of one more benchmark.

#[path = "sample/commits.rs"]
mod commits;
#[path = "sample/stepped.rs"]
mod stepped;
#[path = "sample/suites.rs"]
#[allow(dead_code)]
mod suites;

use backsight_model::TargetName;
use backsight_policy::{alerts, history};
use backsight_site::{Site, SiteTarget, publish};
use backsight_store::{Store, StoreError};
use std::{error::Error, path::Path};
use stepped::Extent;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (dir, folder, extent) = match &arguments[..] {
        [dir] => (dir, None, Extent::USUAL),
        [dir, folder] => (dir, Some(folder), Extent::USUAL),
        [dir, folder, versions, metrics] if folder.parse::<usize>().is_err() => (
            dir,
            Some(folder),
            Extent {
                versions: versions.parse()?,
                boots: 1,
                trials: 2,
                metrics: metrics.parse()?,
            },
        ),
        [dir, versions, boots, trials] => (
            dir,
            None,
            Extent {
                versions: versions.parse()?,
                boots: boots.parse()?,
                trials: trials.parse()?,
                metrics: 0,
            },
        ),
        _ => return Err("expected DIR [SITE [VERSIONS METRICS] | VERSIONS BOOTS TRIALS]".into()),
    };
    let store = Store::open(dir).await?;
    stepped::fill(&store, extent).await?;
    if let Some(folder) = folder {
        let mut contents = Vec::new();
        for target in store.targets().await? {
            contents.push(content(&store, target).await?);
        }
        let site = Site::new(&store, contents, Box::new(commits::between));
        publish(&site, Path::new(folder)).await?;
    }
    store.close().await;
    Ok(())
}

async fn content(store: &Store, target: TargetName) -> Result<SiteTarget, StoreError> {
    let studies = store.target_history(&target).await?;
    let history = history(&studies);
    let tests = studies.first().map(|study| suites::of_study(study, 60));
    Ok(SiteTarget {
        target,
        alerts: alerts(&history, tests.as_ref()),
        history,
        tests,
        studies,
    })
}
