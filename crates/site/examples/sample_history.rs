//! Fills a store with a made-up history of the target `linux`, and perhaps publishes it with made-up commits:
//! `cargo run -p backsight-site --example sample_history -- DIR [SITE [VERSIONS METRICS] | VERSIONS BOOTS TRIALS]`; METRICS
//! are those of one more benchmark. `DIR next VERSIONS METRICS` adds a study of one more version to a store that was filled
//! so, `DIR testbeds` two that were measured on testbeds of their own, and `DIR targets TARGETS VERSIONS METRICS` fills one with
//! many targets.

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
    let many = |versions: &str, metrics: &str| -> Result<Extent, std::num::ParseIntError> {
        Ok(Extent {
            versions: versions.parse()?,
            boots: 1,
            trials: 2,
            metrics: metrics.parse()?,
        })
    };
    let (dir, folder, extent) = match &arguments[..] {
        [dir, word, versions, metrics] if word == "next" => {
            let (extent, store) = (many(versions, metrics)?, Store::open(dir).await?);
            let next = [extent.versions];
            stepped::add_study(&store, "linux", "next", &next, extent).await?;
            store.close().await;
            return Ok(());
        }
        [dir, word, targets, versions, metrics] if word == "targets" => {
            let (extent, store) = (many(versions, metrics)?, Store::open(dir).await?);
            let versions: Vec<usize> = (0..extent.versions).collect();
            for number in 0..targets.parse()? {
                let (target, study) = (format!("target-{number}"), format!("study-{number}"));
                stepped::add_study(&store, &target, &study, &versions, extent).await?;
            }
            store.close().await;
            return Ok(());
        }
        [dir, word] if word == "testbeds" => {
            let store = Store::open(dir).await?;
            for (testbed, speed) in [("old", 1.0), ("new", 1.1)] {
                stepped::add_study_on(&store, testbed, speed, &[2, 3, 4], Extent::USUAL).await?;
            }
            store.close().await;
            return Ok(());
        }
        [dir] => (dir, None, Extent::USUAL),
        [dir, folder] => (dir, Some(folder), Extent::USUAL),
        [dir, folder, versions, metrics] if folder.parse::<usize>().is_err() => {
            (dir, Some(folder), many(versions, metrics)?)
        }
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
        _ => return Err("expected arguments as the head of this file says them".into()),
    };
    let store = Store::open(dir).await?;
    stepped::fill(&store, extent).await?;
    if let Some(folder) = folder {
        let mut contents = Vec::new();
        for target in store.targets().await? {
            contents.push(content(&store, target).await?);
        }
        let site = Site::new(&store, contents, Box::new(commits::between));
        publish(site, Path::new(folder)).await?;
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
        annotations: Vec::new(),
        records: Default::default(),
    })
}
