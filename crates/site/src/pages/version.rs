//! The page of a version: what it came to, how it was built with which quirks, its boots, and what its environment has
//! that the measured version before hadn't.

use askama::Template;
use backsight_model::{Boot, StudyHistory};
use backsight_policy::VersionSeries;
use backsight_report::{
    SeriesText, clipped,
    numbers::{self, counted},
};

use super::{
    alert::said_of,
    book::{BuildOf, Here},
    boot::is_started,
    differing_facts::DifferingFacts,
    frame::Frame,
    interval::{Link, link},
    site::{LogView, OUTPUTS, Press, SiteError},
};

/// Characters of a reason.
const LONGEST_REASON: usize = 2000;

#[derive(Template)]
#[template(path = "pages/version.html")]
pub(super) struct VersionPage {
    frame: Frame,
    id: String,
    title: String,
    date: String,
    release: bool,
    standing: &'static str,
    why: String,
    quirks: Vec<String>,
    /// What people say of it.
    notes: Vec<String>,
    /// What a form for another note says besides.
    said: String,
    before: Option<Link>,
    after: Option<Link>,
    /// Ranges to the measured neighbours.
    since: String,
    until: String,
    values: Vec<ValueView>,
    builds: Vec<BuildView>,
    facts: DifferingFacts,
}

struct ValueView {
    series: String,
    value: String,
    unit: String,
    counts: String,
    again: String,
    reboot: String,
    relink: String,
    unstable: bool,
}

struct BuildView {
    layout: String,
    key: String,
    study: String,
    began: String,
    took: String,
    cached: bool,
    failure: String,
    log: Option<LogView>,
    boots: Vec<BootRow>,
}

struct BootRow {
    href: String,
    /// `boot 2`; `trials` where nothing was booted.
    name: String,
    failure: String,
    began: String,
    took: String,
    trials: String,
}

impl Press<'_> {
    pub(super) async fn version(
        &mut self,
        here: Here<'_>,
        at: usize,
    ) -> Result<VersionPage, SiteError> {
        let book = here.book;
        let own = book.builds(at);
        let known = &book.history.versions[at];
        let version = &known.version;
        let allowance = OUTPUTS / own.len().max(1);
        let mut views = Vec::new();
        for build in &own {
            let log = self.log(build.build.log.as_deref(), allowance).await;
            views.push(BuildView::new(here, build, log));
        }
        let facts = match book.before(at) {
            Some(before) => DifferingFacts::of_builds(&book.builds(before), &own),
            None => DifferingFacts::default(),
        };
        let is_measured = book.measured.binary_search(&at).is_ok();
        let range = |to: Option<usize>| to.and_then(|to| here.to_interval(to)).unwrap_or_default();
        Ok(VersionPage {
            frame: Frame::new(&version.name, here.page, here.crumbs()),
            id: clipped(&version.id, 200),
            title: clipped(&version.title, 400),
            date: version.at.map_or(String::new(), |at| {
                at.strftime("%Y-%m-%d %H:%M UTC").to_string()
            }),
            release: version.release,
            standing: known.standing.as_str(),
            why: known
                .standing
                .reason()
                .map_or(String::new(), |why| clipped(why, LONGEST_REASON)),
            quirks: known
                .quirks
                .iter()
                .map(|why| clipped(why, LONGEST_REASON))
                .collect(),
            notes: {
                let notes = book.notes_at(at).into_iter();
                notes.map(|note| clipped(&note, LONGEST_REASON)).collect()
            },
            said: said_of(book.target.as_str(), &version.id),
            before: book.before(at).map(|at| link(here, at)),
            after: book.after(at).map(|at| link(here, at)),
            since: range(is_measured.then_some(at).or(book.after(at))),
            until: range(book.after(at).filter(|_| is_measured)),
            values: book
                .history
                .series
                .iter()
                .enumerate()
                .filter_map(|(number, series)| ValueView::new(book.words(number), series, at))
                .collect(),
            builds: views,
            facts,
        })
    }
}

impl ValueView {
    fn new(words: SeriesText<'_>, series: &VersionSeries, at: usize) -> Option<Self> {
        let place = series
            .points
            .binary_search_by_key(&at, |point| point.version);
        let point = &series.points[place.ok()?];
        Some(Self {
            series: series.name(),
            value: words.value(point),
            unit: match series.metric.simulator {
                Some(simulator) => format!("{}, {}", words.unit(), simulator.phrase()),
                None => words.unit(),
            },
            counts: SeriesText::counts(point),
            again: words.spread(point.again),
            reboot: words.spread(point.reboot),
            relink: words.spread(point.relink),
            unstable: point.unstable,
        })
    }
}

impl BuildView {
    fn new(here: Here<'_>, of: &BuildOf<'_>, log: Option<LogView>) -> Self {
        let build = of.build;
        let boots = of
            .study
            .boots
            .iter()
            .filter(|boot| boot.build == build.number);
        Self {
            layout: build.layout.to_string(),
            key: clipped(&build.key, 100),
            study: of.study.name.to_string(),
            began: build.began.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
            took: numbers::duration(build.took),
            cached: build.cached,
            failure: build.failure.as_ref().map_or(String::new(), |why| {
                clipped(&why.to_string(), LONGEST_REASON)
            }),
            log,
            boots: boots
                .map(|boot| BootRow::new(here, of.study, boot))
                .collect(),
        }
    }
}

impl BootRow {
    fn new(here: Here<'_>, study: &StudyHistory, boot: &Boot) -> Self {
        let trials = here.trials_of(study, boot);
        let mut counts = counted(trials.map_or(0, |trials| trials.count), "trial");
        if let Some(trials) = trials.filter(|trials| trials.failed > 0) {
            counts.push_str(&format!(", {} failed", trials.failed));
        }
        Self {
            href: here.to_boot(study, boot.number),
            name: match is_started(boot) {
                true => format!("boot {}", boot.ordinal),
                false => "trials".to_owned(),
            },
            failure: boot
                .failure
                .as_ref()
                .map_or(String::new(), |why| clipped(why, LONGEST_REASON)),
            began: boot.began.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
            took: match is_started(boot) {
                true => format!("{} · ", numbers::duration(boot.took)),
                false => String::new(),
            },
            trials: counts,
        }
    }
}
