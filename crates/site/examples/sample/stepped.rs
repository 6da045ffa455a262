//! A target's history as `step` might have measured it, made up: versions that don't build, don't boot or are skipped, a
//! quirk, several layouts, trials that failed, a change for the worse, texts and logs that want to leave their element.

use backsight_model::{
    Better, BootRecord, BuildFailure, BuildRecord, Cell, CellMetric, Ending, Failure,
    HistoryTestbed, HostRecord, Layout, LayoutKind, MetricSamples, MonitorSample, Phase,
    ResourceUsage, StepOutput, StepRecord, StudyState, TrialRecord, Unit, Value, Version,
};
use backsight_store::{NewStudy, NewTarget, Store, StudyDocument, StudyId};
use jiff::Timestamp;
use std::{error::Error, time::Duration};

type Fault = Box<dyn Error + Send + Sync>;

/// What a program prints that wants to leave its element.
pub const HOSTILE: &str = "</pre><script>document.title = 'taken'</script>\
    <img src=x onerror=\"document.title='taken'\">\n\u{1b}[31mred\u{1b}[0m \u{202e}txt.exe\u{202c} \0 {{ 7 * 7 }}\r\n";

/// How much is made up.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Versions in all.
    pub versions: usize,
    /// Boots of each.
    pub boots: u32,
    /// Trials of each cell on a boot.
    pub trials: u32,
    /// Metrics of one more benchmark, `storm`; none: it isn't there.
    pub metrics: usize,
}

impl Extent {
    /// Thirty versions.
    pub const USUAL: Self = Self {
        versions: 30,
        boots: 2,
        trials: 3,
        metrics: 0,
    };

    /// The version that is a tenth slower than those before it.
    pub fn step(self) -> usize {
        self.versions * 3 / 5
    }

    /// The version that doesn't build.
    pub fn broken(self) -> usize {
        self.versions / 3
    }
}

/// When everything began: every date is counted from here.
fn day(number: usize) -> Result<Timestamp, Fault> {
    Ok(Timestamp::from_second(
        1_672_531_200 + 86_400 * number as i64,
    )?)
}

fn version(number: usize) -> Result<Version, Fault> {
    Ok(Version {
        id: format!("{number:040x}"),
        name: format!("6.1.{number}"),
        at: Some(day(number)?),
        title: match number % 7 {
            3 => format!("net: {HOSTILE}"),
            _ => format!("net: the {number}th change of it"),
        },
        release: number.is_multiple_of(10),
        amendments: Vec::new(),
    })
}

/// Two studies of the target `linux`: every other version, then the rest. Returns them.
pub async fn fill(store: &Store, extent: Extent) -> Result<Vec<StudyId>, Fault> {
    let mut made = Vec::new();
    for part in 0..2 {
        let versions: Vec<usize> = (0..extent.versions).filter(|v| v % 2 == part).collect();
        let name = format!("weekly-{}", part + 1);
        made.push(add_study(store, "linux", &name, &versions, extent).await?);
    }
    Ok(made)
}

/// One study of these versions of a target.
pub async fn add_study(
    store: &Store,
    target: &str,
    name: &str,
    versions: &[usize],
    extent: Extent,
) -> Result<StudyId, Fault> {
    let study = create(store, target, name, versions, extent.metrics, None).await?;
    fill_study(store, study, versions, extent, (1.0, false)).await
}

/// One study of these versions of `linux` on a testbed of one host, whose throughput is so many times as high as usual.
#[allow(dead_code)] // Not every test has several testbeds.
pub async fn add_study_on(
    store: &Store,
    testbed: &str,
    speed: f64,
    versions: &[usize],
    extent: Extent,
) -> Result<StudyId, Fault> {
    let name = format!("on-{testbed}");
    let metrics = extent.metrics;
    let study = create(store, "linux", &name, versions, metrics, Some(testbed)).await?;
    let processor = format!("Processor of {testbed} {HOSTILE}");
    let record =
        HostRecord::from_iter([("cpu", "model", &*processor), ("cpu", "vendor", "the same")]);
    let host = format!("host-{testbed}").parse()?;
    store
        .begin_host_record(study, &host, day(0)?, &record)
        .await?;
    fill_study(store, study, versions, extent, (speed, true)).await
}

async fn fill_study(
    store: &Store,
    study: StudyId,
    versions: &[usize],
    extent: Extent,
    (speed, is_watched): (f64, bool),
) -> Result<StudyId, Fault> {
    let mut filler = Filler {
        store,
        study,
        extent,
        speed,
        is_watched,
        trials: 0,
    };
    for (position, version) in versions.iter().enumerate() {
        filler.version(position, *version).await?;
    }
    store.set_state(study, StudyState::Finished).await?;
    Ok(study)
}

/// The metrics of `storm`: the first ones are what it is run for.
fn storm(metrics: usize) -> Result<Vec<CellMetric>, Fault> {
    const CALLS: [&str; 6] = ["read", "write", "send", "recv", "open", "stat"];
    const PARTS: [&str; 5] = ["p50", "p90", "p99", "rate", "errors"];
    let metric = |number: usize| -> Result<CellMetric, Fault> {
        let part = PARTS[number / CALLS.len() % PARTS.len()];
        let (unit, better) = match part {
            "rate" => ("ops/s", Better::Higher),
            "errors" => ("%", Better::Neither),
            _ => ("us", Better::Lower),
        };
        let again = match number / (CALLS.len() * PARTS.len()) {
            0 => String::new(),
            round => format!("-{round}"),
        };
        Ok(CellMetric {
            name: format!("{}-{part}{again}", CALLS[number % CALLS.len()]).parse()?,
            unit: Unit::parse(unit)?,
            better,
            about: format!("{part} of calls"),
            primary: number < 24,
            monitor: None,
            simulator: None,
        })
    };
    (0..metrics).map(metric).collect()
}

/// The value of a metric of `storm` at a version: some change once, for better or for worse, one of nine becomes noisier.
fn storm_value(number: usize, version: usize, versions: usize, draw: usize) -> f64 {
    let usual = 20.0 * (1.0 + (number * 37 % 50) as f64);
    let step = versions / 4 + (number * 97) % (versions / 2).max(1);
    let factor = match number % 5 {
        0 if version >= step => 1.06,
        3 if version >= step => 0.95,
        _ => 1.0,
    };
    let noisy = number % 9 == 4 && version * 3 > versions * 2;
    let width = if noisy { 0.05 } else { 0.01 };
    usual * factor * (1.0 + width * noise(draw * 131 + number * 17 + version * 7919))
}

async fn create(
    store: &Store,
    target: &str,
    name: &str,
    versions: &[usize],
    metrics: usize,
    testbed: Option<&str>,
) -> Result<StudyId, Fault> {
    let cell = |benchmark: &str, clients: Option<i64>, variant: &str| -> Result<Cell, Fault> {
        let params = clients
            .map(|clients| Ok::<_, Fault>(("clients".parse()?, Value::Integer(clients))))
            .transpose()?;
        Ok(Cell {
            benchmark: benchmark.parse()?,
            chosen: params.iter().map(|(name, _)| name).cloned().collect(),
            params: params.into_iter().collect(),
            variant: variant.parse()?,
            monitors: None,
        })
    };
    let shape = |name: &str, unit: &str, better| -> Result<CellMetric, Fault> {
        Ok(CellMetric {
            name: name.parse()?,
            unit: Unit::parse(unit)?,
            better,
            about: format!("what {name} says"),
            primary: true,
            monitor: None,
            simulator: None,
        })
    };
    let mut cells = vec![
        cell("tbench", Some(2), "default")?,
        cell("hackbench", None, "default")?,
    ];
    let mut questions = vec!["tbench, as it is".to_owned(), "hackbench, as it is".into()];
    if metrics > 0 {
        cells.push(cell("storm", Some(64), "nofilter")?);
        questions.push("storm, as it is".into());
    }
    let mut testbeds = Vec::new();
    if let Some(testbed) = testbed {
        for question in &mut questions {
            question.push_str(&format!(" on {testbed}"));
        }
        testbeds.push(HistoryTestbed {
            name: testbed.parse()?,
            questions: questions.clone(),
        });
    }
    let new = NewStudy {
        name: name.parse()?,
        verb: "step".into(),
        documents: vec![StudyDocument {
            kind: "target".into(),
            name: "target.toml".into(),
            text: format!("name = \"{target}\"\n"),
        }],
        arguments: "{}".into(),
        seed: 1,
        cells,
        metrics: [
            (
                "tbench".parse()?,
                vec![
                    shape("throughput", "B/s", Better::Higher)?,
                    shape("latency", "us", Better::Lower)?,
                ],
            ),
            (
                "hackbench".parse()?,
                vec![shape("time", "s", Better::Lower)?],
            ),
            ("storm".parse()?, storm(metrics)?),
        ]
        .into_iter()
        .collect(),
        questions,
        target: Some(NewTarget {
            testbeds,
            name: target.parse()?,
            versions: versions
                .iter()
                .map(|number| version(*number))
                .collect::<Result<_, Fault>>()?,
        }),
    };
    Ok(store.create_study(&new).await?)
}

struct Filler<'a> {
    store: &'a Store,
    study: StudyId,
    extent: Extent,
    speed: f64,
    /// Whether a monitor watched.
    is_watched: bool,
    trials: u32,
}

impl Filler<'_> {
    /// Builds, boots and measures a version, or what comes instead.
    async fn version(&mut self, position: usize, version: usize) -> Result<(), Fault> {
        let broken = self.extent.broken();
        let failure = match version {
            v if v == broken => Some(BuildFailure::Broken(format!(
                "make: *** No rule to make target `{HOSTILE}'"
            ))),
            v if v == broken + 1 => Some(BuildFailure::Skipped("eats file systems".into())),
            _ => None,
        };
        let unbuilt = failure.is_some();
        let mut layouts = vec![Layout::default()];
        if version == self.extent.step() || version + 1 == self.extent.step() {
            layouts.extend((1..=2).map(|seed| Layout {
                kind: LayoutKind::Random,
                seed,
            }));
        }
        for layout in layouts {
            self.build(position, version, layout, failure.clone())
                .await?;
            for ordinal in 1..=self.extent.boots {
                if !unbuilt {
                    self.boot(position, version, layout, ordinal).await?;
                }
            }
        }
        Ok(())
    }

    async fn build(
        &self,
        position: usize,
        version: usize,
        layout: Layout,
        failure: Option<BuildFailure>,
    ) -> Result<(), Fault> {
        let quirks = match version {
            v if v == self.extent.broken() + 2 => vec![format!("needs an older gcc {HOSTILE}")],
            _ => Vec::new(),
        };
        let record = BuildRecord {
            compilers: Vec::new(),
            version: position,
            layout,
            key: format!("{version:08x}-{layout}"),
            quirks,
            failure,
            cached: version % 4 == 1,
            began: day(version)?,
            took: Duration::from_secs(312),
            log: format!(
                "$ make -j2 ARCH=um linux\n  CC      init/main.o\n{HOSTILE}  LD      linux\n"
            )
            .into_bytes(),
        };
        self.store.record_build(self.study, &record).await?;
        Ok(())
    }

    async fn boot(
        &mut self,
        position: usize,
        version: usize,
        layout: Layout,
        ordinal: u32,
    ) -> Result<(), Fault> {
        let panics = version == self.extent.broken() + 3;
        let record = BootRecord {
            guests: Default::default(),
            testbed: 0,
            version: position,
            layout,
            ordinal,
            failure: panics.then(|| "Kernel panic - not syncing: VFS".to_owned()),
            began: day(version)?,
            took: Duration::from_millis(3400),
            facts: [
                ("proof".to_owned(), format!("#1 {version:08x}")),
                ("kernel.release".to_owned(), format!("6.1.{version}-{HOSTILE}")),
                ("cpus".to_owned(), "2".to_owned()),
            ]
            .into_iter()
            .collect(),
            log: format!("Linux version 6.1.{version}\n{HOSTILE}[    0.000000] Kernel command line: ubd0=root\n")
                .into_bytes(),
        };
        let boot = self.store.record_boot(self.study, &record).await?;
        if panics {
            return Ok(());
        }
        for round in 1..=self.extent.trials {
            for cell in 0..2 + usize::from(self.extent.metrics > 0) {
                self.trial(version, layout, boot, ordinal, cell, round)
                    .await?;
            }
        }
        Ok(())
    }

    async fn trial(
        &mut self,
        version: usize,
        layout: Layout,
        boot: u32,
        ordinal: u32,
        cell: usize,
        round: u32,
    ) -> Result<(), Fault> {
        self.trials += 1;
        let slower = if version >= self.extent.step() {
            0.9
        } else {
            1.0
        };
        let seed = ((version * 100 + layout.seed as usize) * 100 + ordinal as usize) * 100;
        let level = slower
            * (1.0
                + 0.004 * noise(seed)
                + 0.003 * noise(seed + 7 * round as usize + cell)
                + 0.006 * noise(77 * layout.seed as usize + 1));
        let sample = |name: &str, value: f64| -> Result<MetricSamples, Fault> {
            Ok(MetricSamples::new(
                name.parse()?,
                vec![value],
                (0..8)
                    .map(|n| value * (1.0 + 0.01 * noise(seed + n)))
                    .collect(),
            ))
        };
        let failed = version == self.extent.broken() + 5 && round == 1;
        let outcome = if failed {
            Err(Failure {
                reason: format!("the client printed no throughput {HOSTILE}"),
                host: None,
                role: None,
                phase: Some(Phase::Run),
                host_lost: false,
            })
        } else if cell == 0 {
            Ok(vec![
                sample("throughput", 512e6 * level * self.speed)?,
                sample("latency", 41.0 + noise(seed + round as usize))?,
            ])
        } else if cell == 2 {
            let metrics = storm(self.extent.metrics)?;
            let draw = ordinal as usize * 10 + round as usize;
            let samples = metrics.into_iter().enumerate().map(|(number, metric)| {
                let value = storm_value(number, version, self.extent.versions, draw);
                MetricSamples::new(metric.name, vec![value], vec![value])
            });
            Ok(samples.collect())
        } else {
            Ok(vec![sample(
                "time",
                3.1 + 0.05 * noise(seed + 3 * round as usize),
            )?])
        };
        let record = TrialRecord {
            host: None,
            drawn: Default::default(),
            boot,
            began: day(version)?,
            took: Duration::from_secs(11),
            outcome,
            watched: match self.is_watched && cell == 0 && !failed {
                true => vec![MonitorSample {
                    monitor: "cpu".parse()?,
                    metric: "cpu-busy".parse()?,
                    unit: Unit::parse("%")?,
                    better: Better::Neither,
                    about: "how busy processors are".into(),
                    value: 40.0 / self.speed + 0.1 * noise(seed + round as usize),
                }],
                false => Vec::new(),
            },
            suite: None,
            steps: vec![step(version, cell)?],
            core_files: Vec::new(),
            clocks: Vec::new(),
            meetings: Vec::new(),
            load: Vec::new(),
            warnings: if round == 2 && version.is_multiple_of(5) {
                vec!["others used 12 % of the processors".into()]
            } else {
                Vec::new()
            },
        };
        self.store
            .record_trial(self.study, self.trials, cell, round, &record)
            .await?;
        Ok(())
    }
}

fn step(version: usize, cell: usize) -> Result<StepRecord, Fault> {
    let text = format!("Throughput 512 MB/sec  2 clients of 6.1.{version}\n{HOSTILE}");
    Ok(StepRecord {
        role: "local".parse()?,
        host: "local".parse()?,
        phase: Phase::Run,
        number: 0,
        command: if cell == 0 { "tbench 2" } else { "hackbench" }.into(),
        spawned: false,
        monitor: None,
        began: day(version)?,
        began_monotonic: 0,
        ending: Ending::Exit(0),
        usage: ResourceUsage {
            wall: 10.0,
            user: 8.0,
            sys: 1.5,
            maxrss: 12_000_000,
            voluntary_switches: 0,
            involuntary_switches: 0,
        },
        stdout: StepOutput {
            printed: text.len() as u64,
            bytes: text.into_bytes(),
        },
        stderr: StepOutput::default(),
    })
}

/// A number that looks like noise, between −1 and 1, the same in every run.
fn noise(seed: usize) -> f64 {
    let mut x = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^= x >> 32;
    (x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}
