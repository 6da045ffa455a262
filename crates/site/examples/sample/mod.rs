//! Studies as they might have been measured, with everything that a page has to stand: a cell of which every trial
//! failed, one trial that failed, outputs that are long, binary or hostile, and a warning.

use backsight_model::{
    Better, Cell, CellSeries, Ending, Failure, HostName, MachineLoad, ParamName, Phase,
    ResourceUsage, ResultSet, StudyState, TrialSamples, Unit, Value,
};
use backsight_policy::{CompareOptions, SplitKey, compare, compare_by};
use backsight_site::{PrintedOutput, ReportContent, ReportStep, ReportStudy, ReportTrial};
use backsight_store::{KeptOutput, StepRow, StudyDocument, StudyId, StudyRow, TrialRow};
use indexmap::IndexMap;
use std::{str::FromStr, time::Duration};

const ROUNDS: u32 = 5;
const VARIANTS: [&str; 3] = ["direct", "forward", "filter"];

/// Benchmark, streams, metric, unit, direction, mean of each variant, spread relative to it, about.
const MEASURES: &str = "\
iperf3-tcp  1   throughput    bit/s  higher  38.2e9  21.4e9   17.9e9   0.02   what the server received
iperf3-tcp  1   retransmits   count  lower   2       41       55       0.5    segments sent again
iperf3-tcp  10  throughput    bit/s  higher  36e9    21.9e9   18.2e9   0.03   what the server received
iperf3-tcp  10  retransmits   count  lower   310     880      905      0.2    segments sent again
iperf3-udp  -   rate          bit/s  higher  1e9     0.996e9  0.97e9   0.002  received at a fixed offered rate
iperf3-udp  -   loss          %      lower   0       0.31     2.9      0.3    datagrams that never arrived
ping-rtt    -   rtt           ms     lower   0.0312  0.0481   0.0533   0.03   round-trip time, median of 200
sockperf    -   latency       us     lower   14.1    20.45    20.56    0.012  request and response, mean
sockperf    -   transactions  /s     higher  70300   48600    48400    0.012";

/// What a program prints that wants to leave its element.
const HOSTILE: &str = "</pre></details><script>document.title = 'taken'</script>\
    <img src=x onerror=\"document.title='taken'\">\n\u{1b}[31mred\u{1b}[0m \u{202e}txt.exe\u{202c} \0 \
    &amp; &#60;b&#62; -->]]> {{ 7 * 7 }}\r\n50%\r100%\r\n";

const PLAN: &str = r#"testbed = "wire"
rounds  = 5
use     = ["iperf3-tcp", "iperf3-udp", "ping-rtt", "sockperf"]

[params]
streams = [1, 10]

[[variant]]
name = "direct"
server.data = "direct"

[[variant]]
name = "forward"

[[variant]]
name = "filter"
dut.setup    = "nft -f rules.nft"
dut.teardown = "nft flush ruleset"
"#;

const LAB: &str = r#"[host.source]
kind = "netns"

[host.dut]
kind = "netns"
forward = true

[host.sink]
kind = "netns"
"#;

const FACTS: [(&str, &str); 17] = [
    ("architecture", "x86_64"),
    ("clock.source", "tsc"),
    ("cpu.governor", "performance"),
    ("cpu.model", "AMD EPYC 7B13"),
    ("cpus", "2"),
    ("hostname", "bench-1"),
    (
        "kernel.cmdline",
        "BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro console=ttyS0 mitigations=auto",
    ),
    ("kernel.release", "6.1.0-28-amd64"),
    ("memory.bytes", "8332345344"),
    ("net.tcp_congestion_control", "cubic"),
    ("os.name", "Debian GNU/Linux 12 (bookworm)"),
    ("version of iperf3-tcp", "iperf 3.12 (cJSON 1.7.15)"),
    ("version of ping-rtt", "ping from iputils 20221126"),
    ("version of sockperf", "sockperf 3.7"),
    ("virtualisation", "virtual machine"),
    (
        "vulnerability.retbleed",
        "Mitigation: untrained return thunk; SMT disabled",
    ),
    (
        "vulnerability.spectre_v2",
        "Mitigation: Retpolines; STIBP: disabled; RSB filling",
    ),
];

/// A value that is written correctly here.
fn read<T: FromStr>(text: &str) -> T {
    match text.parse() {
        Ok(value) => value,
        Err(_) => panic!("`{text}` can't be read"),
    }
}

fn unit(text: &str) -> Unit {
    match Unit::parse(text) {
        Ok(unit) => unit,
        Err(why) => panic!("{why}"),
    }
}

/// A line of [`MEASURES`].
struct Measure {
    benchmark: &'static str,
    streams: Option<i64>,
    metric: &'static str,
    unit: Unit,
    whole: bool,
    better: Better,
    means: [f64; 3],
    spread: f64,
    about: String,
}

fn measures() -> Vec<Measure> {
    let line = |line: &'static str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        Measure {
            benchmark: fields[0],
            streams: fields[1].parse().ok(),
            metric: fields[2],
            unit: unit(fields[3]),
            whole: fields[3] == "count",
            better: read(fields[4]),
            means: [5, 6, 7].map(|field| read(fields[field])),
            spread: read(fields[8]),
            about: fields[9..].join(" "),
        }
    };
    MEASURES.lines().map(line).collect()
}

impl Measure {
    fn cell(&self, variant: &str) -> Cell {
        let streams: ParamName = read("streams");
        let params: IndexMap<ParamName, Value> = self
            .streams
            .map(|number| (streams, Value::Integer(number)))
            .into_iter()
            .collect();
        Cell {
            benchmark: read(self.benchmark),
            chosen: params.keys().cloned().collect(),
            params,
            variant: read(variant),
            monitors: None,
        }
    }
}

/// Numbers that look random and are the same every time.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal, mean 0, standard deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn sample(&mut self, measure: &Measure, mean: f64) -> f64 {
        let value = (mean * (1.0 + measure.spread * self.normal())).max(0.0);
        if measure.whole { value.round() } else { value }
    }
}

/// A study that is being measured.
struct Draft {
    factor: f64,
    noise: Noise,
    measures: Vec<Measure>,
    cells: Vec<Cell>,
    series: Vec<CellSeries>,
    failed: Vec<(u32, u32, Cell, Failure)>,
}

impl Draft {
    fn new(seed: u64, factor: f64) -> Self {
        let measures = measures();
        let mut cells: Vec<Cell> = Vec::new();
        let mut series = Vec::new();
        for measure in &measures {
            for variant in VARIANTS {
                let cell = measure.cell(variant);
                if !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
        }
        for cell in &cells {
            for measure in measures
                .iter()
                .filter(|measure| measure.cell(cell.variant.as_str()) == *cell)
            {
                series.push(CellSeries {
                    cell: cell.clone(),
                    metric: read(measure.metric),
                    unit: measure.unit,
                    better: measure.better,
                    about: measure.about.clone(),
                    primary: series.iter().all(|own: &CellSeries| own.cell != *cell),
                    monitor: None,
                    simulator: None,
                    trials: Vec::new(),
                });
            }
        }
        Self {
            factor,
            noise: Noise(seed),
            measures,
            cells,
            series,
            failed: Vec::new(),
        }
    }

    fn trial(&mut self, number: u32, round: u32, at: usize, began: jiff::Timestamp) -> ReportTrial {
        let cell = self.cells[at].clone();
        let neighbours = 0.004 + 0.02 * self.noise.uniform();
        let failure = failure(&cell, round);
        let printed = match &failure {
            Some(failure) => {
                self.failed
                    .push((number, round, cell.clone(), failure.clone()));
                String::new()
            }
            None => self.measure(&cell, (number, round), neighbours),
        };
        ReportTrial {
            shown: true,
            instances: Default::default(),
            steps: steps(&cell, number, failure.is_some(), &printed),
            row: TrialRow {
                boot: 0,
                drawn: Default::default(),
                number,
                cell: at,
                round,
                began,
                took: Duration::from_millis(3400 + (self.noise.uniform() * 500.0) as u64),
                failure,
                load: vec![MachineLoad {
                    hosts: ["source", "dut", "sink"].map(read).to_vec(),
                    available: 6.9,
                    ours: 5.2,
                    others: neighbours * 6.9,
                    busiest: vec!["cc1".into(), "make".into()],
                    interrupts: 0.61,
                    stolen: 0.0,
                }],
                neighbours,
                warnings: match number {
                    11 => vec!["the clock of `sink` was set during this trial".into()],
                    _ => Vec::new(),
                },
            },
        }
    }

    /// Samples of every metric of the cell; what its program prints of them.
    fn measure(&mut self, cell: &Cell, (trial, round): (u32, u32), neighbours: f64) -> String {
        let mut printed = format!("{{\n  \"trial\": {trial},\n");
        let variant = VARIANTS
            .iter()
            .position(|variant| *variant == cell.variant.as_str())
            .unwrap_or(0);
        for series in self.series.iter_mut().filter(|series| series.cell == *cell) {
            let measure = self.measures.iter().find(|measure| {
                measure.metric == series.metric.as_str()
                    && measure.cell(cell.variant.as_str()) == *cell
            });
            let Some(measure) = measure else { continue };
            let factor = match measure.better {
                Better::Higher => self.factor,
                Better::Lower | Better::Neither => 1.0 / self.factor,
            };
            let mean = measure.means[variant] * factor;
            let value = self.noise.sample(measure, mean);
            let intervals = if measure.metric == "throughput" {
                10
            } else {
                0
            };
            printed.push_str(&format!("  \"{}\": {value},\n", measure.metric));
            series.trials.push(TrialSamples {
                trial,
                round,
                boot: 0,
                session: 1,
                host: 0,
                values: vec![value],
                each: (0..intervals)
                    .map(|_| self.noise.sample(measure, mean))
                    .collect(),
                neighbours,
            });
        }
        printed + "  \"end\": true\n}\n"
    }
}

fn failure(cell: &Cell, round: u32) -> Option<Failure> {
    let reason = match (cell.benchmark.as_str(), cell.variant.as_str(), round) {
        ("iperf3-udp", "filter", _) => {
            "`iperf3 --client 10.77.2.2 --udp` exited with code 1: unable to connect to server: No route to host; \
             `backsight lab up` makes the routes"
        }
        ("ping-rtt", "forward", 3) => "metric `rtt`: no line of its output matches `rtt min/avg`",
        _ => return None,
    };
    Some(Failure {
        host: Some(read("source")),
        role: Some(read("client")),
        phase: Some(Phase::Run),
        ..Failure::of_trial(reason)
    })
}

fn steps(cell: &Cell, number: u32, failed: bool, printed: &str) -> Vec<ReportStep> {
    let program = cell.benchmark.as_str();
    let streams = cell
        .params
        .get("streams")
        .map_or("1".into(), ToString::to_string);
    let serving = match number {
        7 => [0, 159, 146, 150, 0, 1, 2, 255, 0, 7, 8, 9].repeat(400),
        _ => b"listening on 5201\n".to_vec(),
    };
    let measured = match number {
        2 => HOSTILE.into(),
        5 => (0..60_000)
            .map(|n| format!("[{n:>6}] packet of 1514 bytes\n"))
            .collect(),
        _ => printed.to_owned(),
    };
    let (ending, complaint) = match failed {
        true => (
            Ending::Exit(1),
            "iperf3: error - unable to connect to server: No route to host\n",
        ),
        false => (Ending::Exit(0), ""),
    };
    let server = format!("{program} --server --json");
    let client = format!("{program} --client 10.77.2.2 --json --parallel {streams}");
    let mut steps = vec![
        step(
            ("server", "sink"),
            Phase::Startup,
            &server,
            Ending::Stopped,
            serving,
            "",
        ),
        step(
            ("client", "source"),
            Phase::Run,
            &client,
            ending,
            measured.into_bytes(),
            complaint,
        ),
    ];
    if cell.variant.as_str() == "filter" {
        let dut = |phase, command| {
            step(
                ("dut", "dut"),
                phase,
                command,
                Ending::Exit(0),
                Vec::new(),
                "",
            )
        };
        steps.insert(0, dut(Phase::Setup, "nft -f rules.nft"));
        steps.push(dut(Phase::Teardown, "nft flush ruleset"));
    }
    steps
}

fn step(
    seat: (&str, &str),
    phase: Phase,
    command: &str,
    ending: Ending,
    stdout: Vec<u8>,
    stderr: &str,
) -> ReportStep {
    let kept = |size: usize| KeptOutput {
        raw: None,
        kept: size as u64,
        printed: size as u64,
    };
    let printed = |bytes: Vec<u8>| {
        let size = bytes.len() as u64;
        PrintedOutput::new(bytes, size, usize::MAX)
    };
    let row = StepRow {
        role: read(seat.0),
        host: read(seat.1),
        phase,
        number: 0,
        command: command.into(),
        spawned: ending == Ending::Stopped,
        monitor: None,
        began: jiff::Timestamp::UNIX_EPOCH,
        began_monotonic: 0,
        ending,
        usage: ResourceUsage {
            wall: 3.02,
            user: 0.21,
            sys: 1.84,
            maxrss: 7_340_032,
            voluntary_switches: 812,
            involuntary_switches: 39,
        },
        stdout: kept(stdout.len()),
        stderr: kept(stderr.len()),
    };
    ReportStep {
        row,
        stdout: printed(stdout),
        stderr: printed(stderr.as_bytes().to_vec()),
    }
}

/// A study of this name; `factor` makes everything that much faster.
fn study(id: i64, name: &str, factor: f64) -> ReportStudy {
    let began = jiff::Timestamp::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let mut draft = Draft::new(id as u64 + 41, factor);
    let cells = draft.cells.len();
    let mut trials = Vec::new();
    for number in 0..ROUNDS * cells as u32 {
        let (round, place) = (number / cells as u32 + 1, number as usize % cells);
        let at = (place * 7 + round as usize * 3) % cells;
        let then = began + Duration::from_millis(u64::from(number) * 4100);
        trials.push(draft.trial(number + 1, round, at, then));
    }
    let row = StudyRow {
        target: None,
        id: StudyId(id),
        name: read(name),
        verb: "run".into(),
        arguments: "{}".into(),
        seed: 2_468_013,
        began,
        ended: Some(began + Duration::from_secs(320)),
        state: StudyState::Finished,
        runner: None,
        lease: None,
        cells,
        measured: trials.len() - draft.failed.len(),
        failed: draft.failed.len(),
    };
    let results = ResultSet {
        study: id,
        name: name.into(),
        study_name: read(name),
        began,
        state: StudyState::Finished,
        interleaved: true,
        hosts: ["source", "dut", "sink"].map(facts).into_iter().collect(),
        definitions: Default::default(),
        series: draft.series,
        failed: draft.failed,
    };
    let benchmark =
        "name  = \"ping-rtt\"\nabout = \"Round-trip time\"\nroles = [\"sink\", \"source\"]\n";
    let documents = [
        ("plan", "plan.toml", PLAN),
        ("lab", "lab.toml", LAB),
        ("benchmark", "ping-rtt", benchmark),
    ];
    let document = |(kind, name, text): (&str, &str, &str)| StudyDocument {
        kind: kind.into(),
        name: name.into(),
        text: text.into(),
    };
    ReportStudy {
        row,
        results,
        cells: draft.cells,
        documents: documents.map(document).to_vec(),
        trials,
    }
}

/// What one host was.
fn facts(host: &str) -> (HostName, IndexMap<String, String>) {
    let mut facts: IndexMap<String, String> = FACTS
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let forwards = if host == "dut" { "1" } else { "0" };
    facts.insert("net.ip_forward".into(), forwards.into());
    (read(host), facts)
}

/// A report on one study, its variants beside each other.
pub fn report() -> ReportContent {
    let study = study(1, "through-dut", 1.0);
    let comparison = compare_by(
        &study.results,
        &SplitKey::Variant,
        CompareOptions::default(),
    );
    ReportContent {
        title: "through-dut".into(),
        comparison: comparison.ok(),
        studies: vec![study],
        versions: None,
        background: Default::default(),
        overhead: None,
        notes: Vec::new(),
    }
}

/// A report on two studies.
pub fn report_of_two() -> ReportContent {
    let studies = vec![study(1, "base", 1.0), study(2, "new", 1.06)];
    let results: Vec<ResultSet> = studies.iter().map(|study| study.results.clone()).collect();
    let comparison = compare(&results, CompareOptions::default());
    ReportContent {
        title: "new against base".into(),
        comparison: Some(comparison),
        studies,
        versions: None,
        background: Default::default(),
        overhead: None,
        notes: Vec::new(),
    }
}
