//! A published site: every link leads somewhere, nothing hostile acts, nothing is written twice.

use backsight_model::{TargetName, Version};
use backsight_policy::{BisectedChange, alerts, history};
use backsight_site::{PublishedFiles, SiteTarget, VersionChanges, publish};
use backsight_stats::culprits::IntervalEstimate;
use backsight_store::{Store, StudyId};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    commits,
    stepped::{self, Extent},
    suites,
};

trait Between:
    Fn(&TargetName, &Version, &Version) -> Result<Option<VersionChanges>, String>
    + Send
    + Sync
    + 'static
{
}
impl<F> Between for F where
    F: Fn(&TargetName, &Version, &Version) -> Result<Option<VersionChanges>, String>
        + Send
        + Sync
        + 'static
{
}

struct Site {
    folder: tempfile::TempDir,
    store: Store,
    studies: Vec<StudyId>,
    runtime: tokio::runtime::Runtime,
}

impl Site {
    fn new(extent: Extent) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (store, studies) = runtime.block_on(async {
            let store = Store::open(folder.path().join("store")).await.unwrap();
            let studies = stepped::fill(&store, extent).await.unwrap();
            (store, studies)
        });
        Self {
            folder,
            store,
            studies,
            runtime,
        }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("site")
    }

    fn publish(&self, between: impl Between) -> PublishedFiles {
        self.publish_with(between, &[])
    }

    fn publish_with(&self, between: impl Between, bisected: &[BisectedChange]) -> PublishedFiles {
        self.runtime.block_on(async {
            let site = self.site(between, bisected).await;
            publish(site, &self.root()).await.unwrap()
        })
    }

    async fn site(
        &self,
        between: impl Between,
        bisected: &[BisectedChange],
    ) -> backsight_site::Site<'static> {
        let mut contents = Vec::new();
        for target in self.store.targets().await.unwrap() {
            let studies = self.store.target_history(&target).await.unwrap();
            let mut history = history(&studies);
            history.name_changes(bisected);
            let tests = suites::of_study(&studies[0], 20);
            contents.push(SiteTarget {
                target,
                alerts: alerts(&history, Some(&tests)),
                history,
                tests: Some(tests),
                studies,
                annotations: Vec::new(),
                records: Default::default(),
            });
        }
        backsight_site::Site::new(&self.store, contents, Box::new(between))
    }

    /// The files at these addresses, without publishing anything.
    fn files<const N: usize>(&self, addresses: [&str; N]) -> [String; N] {
        self.runtime.block_on(async {
            let site = self.site(commits::between, &[]).await;
            let mut files = addresses.map(|_| String::new());
            for (file, address) in files.iter_mut().zip(addresses) {
                let content = site.file(address).await.unwrap().unwrap().content;
                *file = String::from_utf8(content).unwrap();
            }
            files
        })
    }

    fn pages(&self) -> Vec<(PathBuf, String)> {
        let files = files(&self.root());
        let pages = files
            .into_iter()
            .filter(|path| path.extension().is_some_and(|e| e == "html"));
        pages
            .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
            .collect()
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push(path);
        }
    }
    all
}

const SMALL: Extent = Extent {
    versions: 18,
    boots: 2,
    trials: 1,
    metrics: 0,
};

/// The links of a page, and the scripts that it loads.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let hrefs = page.split("href=\"").skip(1);
    let scripts = page.split("src=\"").skip(1);
    hrefs
        .chain(scripts)
        .filter_map(|rest| rest.split('"').next())
        .filter(|href| *href != "data:,")
}

#[test]
fn every_link_leads_to_a_file_and_every_file_is_linked_to() {
    let site = Site::new(Extent::USUAL);
    site.publish(commits::between);
    let root = site.root().canonicalize().unwrap();
    let mut reached: BTreeSet<PathBuf> = BTreeSet::new();
    for (path, page) in site.pages() {
        for href in links(&page) {
            let file = href.split('#').next().unwrap();
            if file.is_empty() {
                continue;
            }
            let to = path.parent().unwrap().join(file);
            let to = to
                .canonicalize()
                .unwrap_or_else(|_| panic!("{} links to {href}", path.display()));
            assert!(to.starts_with(&root), "{href}");
            reached.insert(to);
        }
    }
    for file in files(&root) {
        let own = file.file_name().unwrap() == "published-by-backsight.txt";
        assert!(
            own || reached.contains(&file),
            "nothing leads to {}",
            file.display()
        );
    }
}

#[test]
fn what_others_wrote_is_read_and_does_nothing() {
    let site = Site::new(SMALL);
    site.publish(commits::between);
    let mut seen = 0;
    for (path, page) in site.pages() {
        for acts in [
            "<script>document",
            "<img",
            "</pre><script",
            "\u{1b}",
            "\u{202e}",
            "\0",
        ] {
            assert!(!page.contains(acts), "{acts:?} in {}", path.display());
        }
        assert!(page.trim_end().ends_with("</html>"), "{}", path.display());
        seen += usize::from(page.contains("&lt;script&gt;document.title"));
    }
    assert!(seen > 50, "{seen}");
    let scripts = files(&site.root()).into_iter();
    let is_data = |path: &PathBuf| {
        path.extension().is_some_and(|e| e == "js") && !path.parent().unwrap().ends_with("assets")
    };
    let data: Vec<String> = scripts
        .filter(is_data)
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(data.len(), 5, "versions, titles, three series");
    for script in &data {
        let json = script
            .strip_prefix("backsight(\"")
            .and_then(|rest| rest.trim_end().strip_suffix(");"));
        let (_, json) = json.unwrap().split_once("\",").unwrap();
        serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert!(
            !script.contains(['<', '\u{1b}', '\u{202e}', '\0']),
            "{script}"
        );
    }
    assert!(
        data.iter()
            .any(|script| script.contains("\\u003cscript>document.title"))
    );
    for file in files(&site.root()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let safe = |c: char| {
            c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '~' | '=' | '+' | '_' | ',')
        };
        assert!(name.chars().all(safe), "{name}");
    }
}

#[test]
fn publishing_again_writes_nothing_and_what_was_deleted_goes() {
    let site = Site::new(SMALL);
    let first = site.publish(commits::between);
    assert!(first.written > 100 && first.removed == 0, "{first:?}");
    let second = site.publish(commits::between);
    assert_eq!((second.written, second.removed), (0, 0));
    assert!(second.left > 50, "{second:?}");
    assert_eq!(second.unchanged, first.written + first.unchanged);
    // A page that isn't as it was left is made again.
    let versions = files(&site.root().join("linux/v"));
    fs::write(&versions[0], "somebody else's").unwrap();
    assert_eq!(site.publish(commits::between).written, 1);
    site.runtime
        .block_on(site.store.delete(site.studies[1]))
        .unwrap();
    let third = site.publish(commits::between);
    assert!(third.removed > 50, "{third:?}");
    let of_second = "weekly-2/".to_owned();
    for (path, page) in site.pages() {
        assert!(
            !path.to_str().unwrap().contains(&of_second),
            "{}",
            path.display()
        );
        for href in links(&page) {
            assert!(
                !href.contains(&of_second),
                "{} links to {href}",
                path.display()
            );
        }
    }
}

#[test]
fn a_range_has_its_commits_or_says_why_not() {
    let site = Site::new(SMALL);
    let range_pages = |site: &Site| -> Vec<String> {
        let is_range = |path: &Path| {
            path.parent()
                .is_some_and(|folder| folder.ends_with("compare"))
        };
        let pages = site.pages().into_iter();
        pages
            .filter(|(path, _)| is_range(path))
            .map(|(_, page)| page)
            .collect()
    };
    site.publish(commits::between);
    let pages = range_pages(&site);
    assert_eq!(pages.len(), 13, "18 versions of which 14 are measured");
    for page in &pages {
        assert!(
            page.contains("2 changes by 1 author; 2 files, +30 −6 lines"),
            "{page}"
        );
        assert!(page.contains("net: come to 6.1."), "{page}");
        assert!(
            page.contains("<span class=\"del\">-\tbudget = 64;</span>"),
            "{page}"
        );
    }
    let broken =
        |_: &TargetName, _: &Version, _: &Version| -> Result<Option<VersionChanges>, String> {
            Err("the mirror is gone".to_owned())
        };
    site.publish(broken);
    assert!(
        range_pages(&site)
            .iter()
            .all(|page| page.contains("the mirror is gone"))
    );
    site.publish(|_: &TargetName, _: &Version, _: &Version| Ok(None));
    assert!(
        range_pages(&site)
            .iter()
            .all(|page| page.contains("known here"))
    );
}

#[test]
fn a_long_log_is_cut_on_its_page_and_whole_beside_it() {
    let site = Site::new(Extent {
        versions: 2,
        boots: 1,
        trials: 1,
        metrics: 0,
    });
    let long = "0123456789abcde\n".repeat(200_000);
    site.runtime.block_on(async {
        let record = backsight_model::BootRecord {
            guests: Default::default(),
            testbed: 0,
            version: 0,
            layout: Default::default(),
            ordinal: 9,
            failure: None,
            began: "2023-02-01T00:00:00Z".parse().unwrap(),
            took: std::time::Duration::from_secs(1),
            facts: Default::default(),
            log: long.clone().into_bytes(),
        };
        site.store
            .record_boot(site.studies[0], &record)
            .await
            .unwrap();
    });
    site.publish(commits::between);
    let pages = site.pages();
    let cut = pages
        .iter()
        .filter(|(_, page)| page.contains("left out of this page"));
    let cut: Vec<_> = cut.collect();
    assert_eq!(cut.len(), 1);
    assert!(cut[0].1.len() < 1_200_000, "{}", cut[0].1.len());
    let raw = files(&site.root())
        .into_iter()
        .map(|file| fs::read(file).unwrap());
    assert!(raw.into_iter().any(|bytes| bytes == long.as_bytes()));
}

#[test]
fn what_a_bisection_named_is_marked_where_the_series_shows_nothing() {
    let site = Site::new(SMALL);
    let target = site
        .runtime
        .block_on(site.store.targets())
        .unwrap()
        .remove(0);
    let studies = site
        .runtime
        .block_on(site.store.target_history(&target))
        .unwrap();
    let known = history(&studies);
    let series = &known.series[0];
    // The last two measured versions: the only step is far before them.
    let measured: Vec<usize> = series.points.iter().map(|point| point.version).collect();
    let [.., after, until] = measured[..] else {
        panic!("{measured:?}")
    };
    assert!(
        series
            .found
            .changes
            .iter()
            .all(|change| change.until < after)
    );
    let id = |at: usize| known.versions[at].version.id.clone();
    let bisected = BisectedChange {
        study: "culprit-3".parse().unwrap(),
        cell: series.cell.clone(),
        metric: series.metric.clone(),
        after: id(after),
        until: id(until),
        probability: 0.97,
        size: Some(IntervalEstimate {
            value: -1.25,
            interval: backsight_stats::Interval {
                low: -1.5,
                high: -1.0,
            },
        }),
        percent: Some((
            -2.5,
            backsight_stats::Interval {
                low: -3.0,
                high: -2.0,
            },
        )),
    };
    site.publish_with(commits::between, &[bisected]);
    let pages = site.pages();
    let mark = "bisect named this change, 97.0 %: study culprit-3";
    let having = |part: &str| {
        let pages = pages.iter().filter(|(_, page)| page.contains(part));
        pages.count()
    };
    let text = pages.iter().find(|(_, page)| page.contains(mark));
    let text = &text.expect("a page with the mark").1;
    let around = text.find(mark).unwrap_or(0);
    let around = &text[around.saturating_sub(300)..];
    assert!(
        around.contains("\u{2212}2.50 % [\u{2212}3.00, \u{2212}2.00], worse; bisect named"),
        "{}",
        &around[..around.len().min(600)]
    );
    // The series and the range that it lies in.
    assert_eq!(having(mark), 2);
    assert_eq!(
        having("◆ 1 named by bisections"),
        1,
        "in the table of versions"
    );
    let row = "◆ \u{2212}2.50 % [\u{2212}3.00, \u{2212}2.00] worse";
    assert_eq!(having(row), 1, "in the list of series");
    assert_eq!(having("class=\"named\" href="), 1, "in the picture");
    let sentence = "\u{2212}2.50 % [\u{2212}3.00, \u{2212}2.00], worse";
    assert_eq!(having(sentence), 2);
    assert_eq!(having("the series by itself doesn"), 2);
    let told = "got worse at";
    let home = pages
        .iter()
        .find(|(path, _)| path.ends_with("site/index.html"));
    assert!(home.unwrap().1.contains(told), "an alert on the first page");
    assert_eq!(having("<small>bisected</small>"), 1, "on the change's own");
}

#[test]
fn more_series_than_a_page_lists_have_a_page_and_a_script() {
    let site = Site::new(Extent {
        versions: 3,
        boots: 1,
        trials: 1,
        metrics: 400,
    });
    let [page, all, script] = site.files([
        "linux/index.html",
        "linux/series.html",
        "linux/data/series.js",
    ]);
    assert_eq!(page.matches("<tr data-b=").count(), 300);
    assert!(page.contains("300 of 403 series are listed here"));
    assert!(page.len() < 150_000, "{}", page.len());
    assert_eq!(all.matches("href=\"s/").count(), 403);
    assert_eq!(script.matches("\"slug\"").count(), 103);
}

#[test]
fn more_versions_than_pixels_are_drawn_together() {
    let site = Site::new(Extent {
        versions: 410,
        boots: 1,
        trials: 2,
        metrics: 0,
    });
    let [page, data] = site.files([
        "linux/s/tbench.throughput,clients=2.html",
        "linux/data/s/tbench.throughput,clients=2.js",
    ]);
    let path = |class: &str| {
        let rest = page
            .split_once(&format!("<path class=\"{class}\""))
            .unwrap()
            .1;
        rest.split_once("/>").unwrap().0.to_owned()
    };
    assert!((200..=210).contains(&path("value").matches('M').count()));
    assert_eq!(path("band").matches('M').count(), 1);
    // Round values, and a line for each.
    let ticks = page.matches("<span style=\"top:").count();
    assert!((4..=9).contains(&ticks), "{ticks}");
    assert_eq!(path("grid").matches('M').count(), ticks);
    assert!(page.contains(">480</span>") && page.contains(">500</span>"));
    assert!(data.len() < 15_000, "{}", data.len());
}
