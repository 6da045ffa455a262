//! Every exit status of every verb: what the table in `--help` and in the reference promises is what a script sees.

use nix::sys::signal::Signal;
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixListener,
    thread,
};

use crate::{
    place::{Place, VALUE},
    profiling,
    running::{Ended, Running},
    serving::Serving,
    standing_jobs,
    stepping::{self, git},
    suites,
};

/// A verb, the status and what brings it about.
struct Case {
    verb: &'static str,
    status: i32,
    ends: fn() -> Ended,
}

const fn case(verb: &'static str, status: i32, ends: fn() -> Ended) -> Case {
    Case { verb, status, ends }
}

/// A program at a barrier whose agent gives this answer.
fn at_barrier(answer: &'static str) -> Ended {
    let place = Place::new();
    let socket = UnixListener::bind(place.path("agent")).unwrap();
    let agent = thread::spawn(move || {
        let (mut stream, _) = socket.accept().unwrap();
        let mut asked = String::new();
        BufReader::new(&stream).read_line(&mut asked).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        asked
    });
    let mut command = place.command(&["barrier", "x", "--of", "2"]);
    command.env("BACKSIGHT_BARRIER", format!("{} 7", place.at("agent")));
    let ended = Running::start(command).ends();
    assert_eq!(agent.join().unwrap(), "barrier 7 2 x\n");
    ended
}

/// The arguments, in a new place where something quick can be measured.
fn fresh(arguments: &[&str]) -> Ended {
    quick().ends(arguments)
}

const CASES: &[Case] = &[
    case("init", 0, || fresh(&["init", "new", "--lab", "here"])),
    case("init", 2, || fresh(&["init", "--lab", "here"])),
    case("lab", 0, || fresh(&["lab", "show"])),
    case("lab", 1, || {
        let place = quick();
        let power = "power = { on = \"echo no such outlet; exit 1\", off = \"true\" }";
        place.write("far.toml", format!("[host.far]\nkind = \"ssh\"\n{power}\n"));
        place.ends(&["lab", "power", "on", "far", "--lab", "far.toml"])
    }),
    case("lab", 2, || {
        for wrong in [
            &["lab", "show", "tag:none"][..],
            &["lab", "import", "ansible", "none.ini"],
            &["lab", "provision", "none"],
        ] {
            fresh(wrong).assert_code(2);
        }
        fresh(&["lab", "show", "--lab", "none.toml"])
    }),
    case("run", 0, || fresh(&["run", "plan.toml"])),
    case("run", 1, || failing().ends(&["run", "plan.toml"])),
    case("run", 2, || fresh(&["run", "none.toml"])),
    case("run", 3, || {
        let place = quick();
        place.plan("use = [\"quick\"]\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n");
        let few = ["--margin", "0.001", "--rounds", "3"];
        place.ends(&[&["run", "plan.toml", "--until", "decided"], &few[..]].concat())
    }),
    case("run", 130, || stopped(&quick(), &["run", "plan.toml"])),
    case("test", 0, || in_order().ends(&["test", "plan.toml"])),
    case("test", 1, || {
        suites::place("echo not ok 1 - a; echo 1..1").ends(&["test", "plan.toml"])
    }),
    case("test", 2, || quick().ends(&["test", "plan.toml"])),
    case("test", 130, || {
        let place = in_order();
        place.write("tests.sh", "sh ./step run");
        let text = place.read("suites/unit.toml");
        place.write(
            "suites/unit.toml",
            text.replace("sh {plan}/tests.sh", "{plan}/step run"),
        );
        stopped(&place, &["test", "plan.toml"])
    }),
    case("step", 0, || versions().ends(&step("v1", "v4"))),
    case("step", 1, || versions().ends(&step("v1", "v5"))),
    case("step", 2, || versions().ends(&step("v1", "v9"))),
    case("step", 130, || stopped(&versions(), &step("v1", "v4"))),
    case("bisect", 0, || versions().ends(&bisect("v4", &[]))),
    case("bisect", 1, || versions().ends(&bisect("v5", &[]))),
    case("bisect", 2, || versions().ends(&bisect("v9", &[]))),
    case("bisect", 3, || {
        versions().ends(&bisect("v4", &["--budget", "1ms"]))
    }),
    case("bisect", 130, || stopped(&versions(), &bisect("v4", &[]))),
    case("overhead", 0, || quick().ends(&overhead())),
    case("overhead", 1, || failing().ends(&overhead())),
    case("overhead", 2, || {
        fresh(&["overhead", "plan.toml", "--monitors", "none"])
    }),
    case("overhead", 130, || stopped(&quick(), &overhead())),
    case("try", 0, || {
        versions().ends(&[
            "try",
            "rate.toml",
            "--target",
            "app",
            "--base",
            "v1",
            "--at",
            "v4",
        ])
    }),
    case("try", 1, || versions().ends(&attempt("v5", &[]))),
    case("try", 2, || versions().ends(&attempt("v9", &[]))),
    case("try", 3, || {
        versions().ends(&attempt("v4", &["--budget", "1ms"]))
    }),
    case("try", 130, || stopped(&versions(), &attempt("v4", &[]))),
    case("check", 0, || checked("v2", "v1", &[])),
    case("check", 1, || checked("v4", "v1", &[])),
    case("check", 2, || checked("v4", "v9", &[])),
    case("check", 3, || checked("v4", "v1", &["--budget", "1ms"])),
    case("check", 130, || {
        let place = versions();
        place.hold("run", 1);
        git(&place, &["checkout", "--quiet", "v4"], 9);
        let mut command = place.command(&check_arguments("v1", &["--json"]));
        command.current_dir(place.path("repo"));
        let running = Running::start(command);
        place.until_held("run");
        running.signal(Signal::SIGINT);
        running.ends()
    }),
    case("noise", 0, || {
        fresh(&["noise", "plan.toml", "--rounds", "3"])
    }),
    case("noise", 1, || {
        failing().ends(&["noise", "plan.toml", "--rounds", "3"])
    }),
    case("noise", 2, || fresh(&["noise", "none.toml"])),
    case("noise", 130, || {
        stopped(&quick(), &["noise", "plan.toml", "--rounds", "3"])
    }),
    case("search", 0, || device(0).ends(&SEARCH)),
    case("search", 1, || device(1).ends(&SEARCH)),
    case("search", 2, || fresh(&["search", "plan.toml"])),
    case("search", 130, || stopped(&device(0), &SEARCH)),
    case("trace", 0, || fresh(&["trace", "-o", "calls", "true"])),
    case("trace", 1, || fresh(&["trace", "-e", "nosuchcall", "true"])),
    case("barrier", 0, || at_barrier("go 0\n")),
    case("barrier", 1, || at_barrier("no b won't come\n")),
    case("barrier", 2, || fresh(&["barrier", "x"])),
    case("log", 0, || {
        versions().ends(&["log", "--target", "app", "v1", "v2"])
    }),
    case("log", 2, || {
        versions().ends(&["log", "--target", "app", "v1", "v9"])
    }),
    case("resume", 0, || {
        let place = quick();
        stopped(&place, &["run", "plan.toml", "--name", "s"]).assert_code(130);
        place.release("run");
        place.ends(&["resume", "s"])
    }),
    case("resume", 1, || {
        resumed(&failing(), &["run", "plan.toml", "--name", "s"])
    }),
    case("resume", 2, || measured().ends(&["resume", "none"])),
    case("resume", 3, || {
        let budget = ["--budget", "1ms", "--name", "s"];
        resumed(&versions(), &bisect("v4", &budget))
    }),
    case("resume", 130, || {
        let place = quick();
        stopped(&place, &["run", "plan.toml", "--name", "s"]).assert_code(130);
        place.hold("run", 2);
        interrupted(&place, &["resume", "s"])
    }),
    case("compare", 0, || compared("10 11 12", "10 11 12", &[])),
    case("compare", 1, || compared("10 11 12", "20 21 22", &[])),
    case("compare", 2, || fresh(&["compare", "none", "nothing"])),
    case("compare", 3, || {
        compared("10 11 12", "10 11 12", &["--fail-on", "cant-tell"])
    }),
    case("explain", 0, || {
        let place = measured();
        place.ends(&["explain", "s", "s"])
    }),
    case("explain", 2, || fresh(&["explain", "none", "nothing"])),
    case("detect", 0, || detected(100, &["--fail-on", "worse"])),
    case("detect", 1, || detected(100, &["--fail-on", "change"])),
    case("detect", 2, || fresh(&["detect", "none.csv"])),
    case("detect", 3, || detected(5, &["--fail-on", "worse"])),
    case("profile", 0, || {
        let place = Place::new();
        place.write("x.json", profiling::profile(1, 1));
        place.ends(&["profile", "x.json", "--diff", "x.json"])
    }),
    case("profile", 2, || fresh(&["profile", "none.json"])),
    case("history", 0, || along("v4", "3").ends(&["history"])),
    case("history", 1, || {
        along("v4", "3").ends(&["history", "--fail-on", "worse"])
    }),
    case("history", 2, || {
        along("v4", "1").ends(&["history", "--metric", "none"])
    }),
    case("history", 3, || {
        along("v1", "1").ends(&["history", "--fail-on", "worse"])
    }),
    case("tests", 0, || {
        let place = in_order();
        place.ends(&["test", "plan.toml"]).assert_code(0);
        place.ends(&["tests", "--all"])
    }),
    case("tests", 2, || quick().ends(&["tests"])),
    case("alerts", 0, || along("v4", "3").ends(&["alerts"])),
    case("alerts", 2, || quick().ends(&["alerts"])),
    case("triage", 0, || {
        along("v4", "3").ends(&["triage", "app", "v3", "confirmed", "--by", "me"])
    }),
    case("triage", 2, || {
        along("v4", "3").ends(&["triage", "app", "v3", "accepted", "--by", "me"])
    }),
    case("accept", 0, || {
        along("v4", "3").ends(&["accept", "v3", "--reason", "known", "--by", "me"])
    }),
    case("accept", 2, || along("v4", "3").ends(&["accept", "v3"])),
    case("annotate", 0, || {
        along("v1", "1").ends(&["annotate", "v1", "moved", "--by", "me"])
    }),
    case("annotate", 2, || along("v1", "1").ends(&["annotate", "v1"])),
    case("notify", 0, || {
        let place = along("v2", "1");
        place.write(
            "notify.toml",
            "[channel.a.webhook]\nurl = \"http://127.0.0.1:1/\"\n",
        );
        place.ends(&["notify", "--config", "notify.toml"])
    }),
    case("notify", 1, || {
        let place = along("v2", "1");
        place.write(
            "notify.toml",
            "[channel.a.github]\nserver = \"http://127.0.0.1:1\"\nrepository = \"a/b\"\ntoken = { file = \"notify.toml\" }\n",
        );
        let said = ["--study", "step-1", "--pull-request", "1", "--channel", "a"];
        place.ends(&[&["notify", "--config", "notify.toml"][..], &said].concat())
    }),
    case("notify", 2, || along("v2", "1").ends(&["notify"])),
    case("notify", 2, || {
        let place = along("v2", "1");
        place.write(
            "notify.toml",
            "[channel.a.webhook]\nurl = \"http://127.0.0.1:1/\"\n",
        );
        let said = ["--study", "step-1", "--pull-request", "1", "--channel", "b"];
        place.ends(&[&["notify", "--config", "notify.toml"][..], &said].concat())
    }),
    case("publish", 0, || along("v1", "1").ends(&["publish", "site"])),
    case("publish", 2, || measured().ends(&["publish", "site"])),
    case("serve", 0, || {
        let place = along("v1", "1");
        Serving::start(&place).stop()
    }),
    case("serve", 2, || fresh(&["serve", "--listen", "127.0.0.1:0"])),
    case("mcp", 0, || measured().ends(&["mcp"])),
    case("mcp", 2, || {
        fresh(&["mcp", "--listen", "0.0.0.0:0", "--token-file", "token"])
    }),
    case("queue", 0, || fresh(&["queue", "add", "--", "studies"])),
    case("queue", 1, || {
        let place = quick();
        place.ends(&["queue", "add", "--", "run", "plan.toml"]);
        fs::remove_file(place.path("plan.toml")).unwrap();
        place.ends(&["queue", "worker", "--until-empty"])
    }),
    case("queue", 2, || fresh(&["queue", "add", "--", "none"])),
    case("queue", 130, || {
        let place = quick();
        place.ends(&["queue", "add", "--", "run", "plan.toml"]);
        place.hold("run", 1);
        let worker = Running::start(place.command(&["queue", "worker"]));
        place.until_held("run");
        worker.signal(Signal::SIGINT);
        worker.ends()
    }),
    case("watch", 0, || following("").ends(&["watch", "--once"])),
    case("watch", 1, || {
        following("since = \"v9\"\n").ends(&["watch", "--once"])
    }),
    case("watch", 2, || fresh(&["watch"])),
    case("watch", 130, || {
        let place = following("");
        place.hold("run", 1);
        let watch = Running::start(place.command(&["watch", "--once"]));
        place.until_held("run");
        watch.signal(Signal::SIGINT);
        watch.ends()
    }),
    case("reserve", 0, || fresh(&["reserve", "--list"])),
    case("reserve", 2, || {
        fresh(&["reserve", "nosuch", "--until", "3h"])
    }),
    case("token", 0, || fresh(&["token", "add", "ci"])),
    case("token", 2, || fresh(&["token", "add", "\n"])),
    case("audit", 0, || quick_with_token().ends(&["audit"])),
    case("audit", 2, || fresh(&["audit"])),
    case("import", 0, || imported(false)),
    case("import", 0, imported_cut),
    case("import", 1, || imported(true)),
    case("import", 2, || fresh(&["import", "hyperfine", "none.json"])),
    case("export", 0, || {
        measured().ends(&["export", "s", "-o", "s.csv"])
    }),
    case("export", 2, || measured().ends(&["export", "none"])),
    case("report", 0, || measured().ends(&["report", "s"])),
    case("report", 2, || measured().ends(&["report", "none"])),
    case("studies", 0, || measured().ends(&["studies"])),
    case("studies", 2, || fresh(&["studies"])),
    case("show", 0, || measured().ends(&["show", "s"])),
    case("show", 2, || measured().ends(&["show", "none"])),
    case("delete", 0, || measured().ends(&["delete", "s"])),
    case("delete", 2, || measured().ends(&["delete", "none"])),
    case("prune", 0, || measured().ends(&["prune"])),
    case("prune", 2, || {
        measured().ends(&["prune", "--keep", "none.toml"])
    }),
    case("store", 0, || measured().ends(&["store", "check"])),
    case("store", 1, || damaged().ends(&["store", "check"])),
    case("store", 2, || fresh(&["store", "check"])),
    case("list", 0, || fresh(&["list", "benchmarks"])),
    case("list", 2, || fresh(&["list", "horses"])),
    case("new", 0, || {
        fresh(&["new", "benchmark", "seq", "--run", "seq 9"])
    }),
    case("new", 2, || {
        fresh(&["new", "benchmark", "seq", "--regex", "("])
    }),
    case("lint", 0, || {
        let place = Place::new();
        place.write("quick.toml", IN_ORDER);
        place.ends(&["lint", "quick.toml"])
    }),
    case("lint", 1, || {
        let place = quick();
        place.ends(&["lint", "benchmarks"])
    }),
    case("lint", 2, || fresh(&["lint", "none.toml"])),
    case("lint", 2, || {
        quick().ends(&["lint", "benchmarks", "--outputs", "none"])
    }),
    case("try-parser", 0, || tried("rate: 5 MB/s")),
    case("try-parser", 1, || tried("rate: none")),
    case("try-parser", 2, || {
        fresh(&["try-parser", "none.toml", "none.txt"])
    }),
    case("doctor", 0, || {
        fresh(&["doctor", "plan.toml", "--no-self-test"])
    }),
    case("doctor", 1, || {
        let place = quick();
        let needs = "programs = [\"no-such-program\"]\n[tester]\nrun = \"true\"\n";
        place.benchmark("quick", &format!("{needs}{VALUE}"));
        place.ends(&["doctor", "plan.toml", "--no-self-test"])
    }),
    case("doctor", 2, || {
        fresh(&["doctor", "none.toml", "--no-self-test"])
    }),
    case("record", 0, || fresh(&["record"])),
    case("record", 2, || fresh(&["record", "nobody"])),
    case("restore", 0, || fresh(&["restore"])),
    case("restore", 1, || {
        let place = quick();
        let nobody_listens = "options = [\"-p\", \"1\"]\nlogin = \"root@127.0.0.1\"";
        place.write(
            "far.toml",
            format!("[host.far]\nkind = \"ssh\"\n{nobody_listens}\n"),
        );
        place.ends(&["restore", "--lab", "far.toml"])
    }),
    case("restore", 2, || fresh(&["restore", "nobody"])),
    case("schema", 0, || fresh(&["schema", "plan"])),
    case("schema", 2, || fresh(&["schema", "poem"])),
    case("completions", 0, || fresh(&["completions", "bash"])),
    case("completions", 2, || fresh(&["completions", "cobol"])),
    case("man", 0, || fresh(&["man", "pages"])),
    case("man", 2, || fresh(&["man", "plan.toml"])),
];

/// A place with a quick benchmark, which tests can hold, and a monitor.
pub fn quick() -> Place {
    let place = Place::new();
    place.benchmark(
        "quick",
        &format!("[tester]\nrun = [\"@/step run\", \"od -An -N1 -tu1 /dev/urandom\"]\n{VALUE}"),
    );
    place.monitor("sleeper", "sleep 1000");
    place.plan("use = [\"quick\"]\nrounds = 2\nseed = 1\n");
    place
}

/// A definition of which nothing is amiss.
const IN_ORDER: &str = "name = 'quick'\nabout = 'how fast'\nroles = ['dut']\nneeds = { debian = ['x'] }\n\
    version = 'true'\ntimeout = '9s'\nmeasures = 'speed'\nnot = 'width'\ntraps = []\n[dut]\nrun = 'true'\n\
    [metric.rate]\nunit = 'MB/s'\nbetter = 'higher'\nabout = 'the speed'\nregex = '(?<value>[0-9]+) MB/s'\n";

/// What is found in an output.
fn tried(output: &str) -> Ended {
    let place = Place::new();
    place.write("quick.toml", IN_ORDER);
    place.write("output.txt", output);
    place.ends(&["try-parser", "quick.toml", "output.txt"])
}

/// A place whose suite is in order.
fn in_order() -> Place {
    suites::place("echo 1..1; echo ok 1 - a")
}

/// A place whose benchmark fails.
fn failing() -> Place {
    let place = quick();
    place.prints("quick", "false");
    place
}

/// A place whose store has a token.
fn quick_with_token() -> Place {
    let place = quick();
    place.prints_of(&["token", "add", "ci"]);
    place
}

/// A place with a finished study `s`.
fn measured() -> Place {
    let place = quick();
    place.prints_of(&["run", "plan.toml", "--name", "s"]);
    place
}

/// The same with an output in the store that lost its end.
fn damaged() -> Place {
    let place = measured();
    let mut folders = vec![place.path("store/raw")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => {
                    let object = fs::OpenOptions::new().write(true).open(entry.path());
                    object.unwrap().set_len(1).unwrap();
                    return place;
                }
            }
        }
    }
    panic!("the store has no output");
}

/// A place with versions `v1` to `v5`: `v3` is slower, `v5` doesn't build.
pub fn versions() -> Place {
    let place = stepping::place();
    place.benchmark(
        "tool",
        &format!("[tester]\nrun = [\"@/step run\", \"sh {{build}}/tool\"]\n{VALUE}"),
    );
    place.benchmark(
        "rate",
        &format!(
            "[tester]\nrun = \"sh {{build}}/tool\"\n{}",
            VALUE.replace("lower", "higher")
        ),
    );
    place.write("rate.toml", "use = [\"rate\"]\nseed = 1\n");
    for (number, level) in [(1, 1000), (2, 1000), (3, 1500), (4, 1500)] {
        let text = format!("echo $(({level} + $(od -An -N1 -tu1 /dev/urandom) / 64)) # {number}\n");
        place.write("repo/speed", text);
        stepping::commit_all(&place, number);
    }
    fs::write(place.path("repo/broken"), "").unwrap();
    stepping::commit_all(&place, 5);
    git(&place, &["status"], 5);
    place
}

pub fn step<'a>(from: &'a str, to: &'a str) -> Vec<&'a str> {
    stepping::step(from, to, &[])
}

pub fn bisect<'a>(bad: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let range = ["--good", "v1", "--bad", bad, "--no-verify"];
    let verb = ["bisect", "plan.toml", "--target", "app"];
    [&verb[..], &range, more].concat()
}

/// `try` of a version beside `v1`.
pub fn attempt<'a>(version: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let verb = [
        "try",
        "plan.toml",
        "--target",
        "app",
        "--base",
        "v1",
        "--at",
    ];
    [&verb[..], &[version], more].concat()
}

pub fn overhead() -> Vec<&'static str> {
    let verb = ["overhead", "plan.toml", "--monitors", "sleeper"];
    [&verb[..], &["--rounds", "2"]].concat()
}

pub const SEARCH: [&str; 4] = ["search", "plan.toml", "--goal", "0%"];

/// A device that carries 500, behind a generator that ends with this status.
pub fn device(status: i32) -> Place {
    let place = Place::new();
    place.script(
        "flood",
        &format!(
            "#!/bin/sh\n\"$(dirname \"$0\")/step\" run\nlost=$(($1 > 500 ? ($1 - 500) * 100 / $1 + 1 : 0))\n\
             echo loss $lost received $1\nexit {status}\n"
        ),
    );
    let metric = |name: &str, unit: &str, better: &str| {
        format!(
            "[metric.{name}]\nunit = \"{unit}\"\nbetter = \"{better}\"\nregex = '{name} (?<value>[0-9.]+)'\n"
        )
    };
    place.benchmark(
        "flood",
        &format!(
            "[params]\nrate = {{ default = 1000, min = 1, unit = \"packets/s\" }}\nseconds = {{ default = 1, min = 1, unit = \"s\" }}\n\
             [tester]\nrun = \"@/flood {{rate}}\"\n\
             [search]\nload = \"rate\"\nduration = \"seconds\"\nloss = \"loss\"\nmin = 100\nmax = 1000\n{}{}",
            metric("loss", "%", "lower"),
            metric("received", "packets/s", "higher"),
        ),
    );
    place.plan("use = [\"flood\"]\nseed = 1\n");
    place
}

fn check_arguments<'a>(base: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let files = [
        "check",
        "../plan.toml",
        "--target",
        "../app.toml",
        "--base",
        base,
    ];
    [&files[..], more].concat()
}

/// What a check of this version comes to.
fn checked(version: &str, base: &str, more: &[&str]) -> Ended {
    let place = versions();
    git(&place, &["checkout", "--quiet", version], 9);
    let mut command = place.command(&check_arguments(base, more));
    command.current_dir(place.path("repo"));
    Running::start(command).ends()
}

/// ^C in the first trial.
fn stopped(place: &Place, arguments: &[&str]) -> Ended {
    place.hold("run", 1);
    interrupted(place, arguments)
}

fn interrupted(place: &Place, arguments: &[&str]) -> Ended {
    let running = place.begins(arguments);
    place.until_held("run");
    running.signal(Signal::SIGINT);
    running.ends()
}

/// `resume` of the study `s` that these arguments have made.
fn resumed(place: &Place, arguments: &[&str]) -> Ended {
    place.ends(arguments);
    place.ends(&["resume", "s"])
}

fn compared(base: &str, new: &str, more: &[&str]) -> Ended {
    let place = Place::new();
    place.write("base.txt", base.replace(' ', "\n"));
    place.write("new.txt", new.replace(' ', "\n"));
    let verb = ["compare", "base.txt", "new.txt", "--better", "lower"];
    place.ends(&[&verb[..], more].concat())
}

/// A table of so many versions, which falls from a hundred to half of that in the middle.
fn detected(versions: usize, more: &[&str]) -> Ended {
    let place = Place::new();
    let level = |at: usize| if at < versions / 2 { 100 } else { 50 };
    let lines = (0..versions).map(|at| format!("{}.{}\n", level(at), at * 37 % 10));
    place.write("times.txt", lines.collect::<String>());
    let verb = ["detect", "times.txt", "--better", "lower"];
    place.ends(&[&verb[..], more].concat())
}

/// A place whose versions from `v1` to this one have been measured.
pub fn along(to: &str, repeat: &str) -> Place {
    let place = versions();
    let more = ["--repeat", repeat];
    place.ends(&stepping::step("v1", to, &more)).assert_code(0);
    place
}

/// A standing job that has nothing yet, with this in its table too.
fn following(job: &str) -> Place {
    let place = standing_jobs::place(job);
    standing_jobs::come(&place, 3, 99);
    place
}

/// What Google Benchmark wrote about a benchmark that failed, or not.
fn imported(failed: bool) -> Ended {
    let place = Place::new();
    let outcome = match failed {
        true => r#""error_occurred": true, "error_message": "no memory""#,
        false => r#""iterations": 10, "real_time": 1.5, "cpu_time": 1.5, "time_unit": "ns""#,
    };
    let one = format!(r#"{{"name": "sort", "run_type": "iteration", {outcome}}}"#);
    let text = format!(r#"{{"context": {{}}, "benchmarks": [{one}]}}"#);
    place.write("sort.json", text);
    place.ends(&["import", "google-benchmark", "sort.json"])
}

/// A file of test results that ends too early.
fn imported_cut() -> Ended {
    let place = Place::new();
    place.write("cut.tap", "1..2\nok 1 - a\n");
    place.ends(&["import", "tap", "cut.tap"])
}

fn check(verb: &str) {
    let cases: Vec<&Case> = CASES.iter().filter(|case| case.verb == verb).collect();
    assert!(!cases.is_empty(), "no case of {verb}");
    for case in cases {
        let ended = (case.ends)();
        assert_eq!(
            ended.status.code(),
            Some(case.status),
            "{verb} is to end with {}: {}",
            case.status,
            ended.words()
        );
    }
}

macro_rules! verbs {
    ($($test:ident $verb:literal)*) => {
        $(#[test]
        fn $test() {
            check($verb);
        })*
    };
}

verbs! {
    statuses_of_init "init"
    statuses_of_lab "lab"
    statuses_of_run "run"
    statuses_of_step "step"
    statuses_of_bisect "bisect"
    statuses_of_overhead "overhead"
    statuses_of_try "try"
    statuses_of_check "check"
    statuses_of_noise "noise"
    statuses_of_search "search"
    statuses_of_trace "trace"
    statuses_of_barrier "barrier"
    statuses_of_log "log"
    statuses_of_resume "resume"
    statuses_of_compare "compare"
    statuses_of_detect "detect"
    statuses_of_profile "profile"
    statuses_of_history "history"
    statuses_of_alerts "alerts"
    statuses_of_triage "triage"
    statuses_of_accept "accept"
    statuses_of_annotate "annotate"
    statuses_of_publish "publish"
    statuses_of_serve "serve"
    statuses_of_mcp "mcp"
    statuses_of_queue "queue"
    statuses_of_watch "watch"
    statuses_of_reserve "reserve"
    statuses_of_token "token"
    statuses_of_audit "audit"
    statuses_of_import "import"
    statuses_of_export "export"
    statuses_of_report "report"
    statuses_of_studies "studies"
    statuses_of_show "show"
    statuses_of_delete "delete"
    statuses_of_store "store"
    statuses_of_list "list"
    statuses_of_new "new"
    statuses_of_lint "lint"
    statuses_of_try_parser "try-parser"
    statuses_of_doctor "doctor"
    statuses_of_record "record"
    statuses_of_restore "restore"
    statuses_of_schema "schema"
    statuses_of_completions "completions"
    statuses_of_man "man"
}

#[test]
fn every_status_in_the_table_has_a_case_and_every_help_shows_it() {
    let place = Place::new();
    place.prints_of(&["reference", "pages"]);
    let page = place.read("pages/exit-statuses.md");
    let row = |line: &str| -> Option<(String, i32)> {
        let (verb, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((verb.to_owned(), rest.split_once(" |")?.0.parse().ok()?))
    };
    let promised: Vec<(String, i32)> = page.lines().filter_map(row).collect();
    let mut cases: Vec<(String, i32)> = CASES
        .iter()
        .map(|case| (case.verb.to_owned(), case.status))
        .collect();
    // A status may be brought about in several ways.
    cases.dedup();
    assert_eq!(cases, promised);
    for verb in ["run", "lab up", "trace"] {
        let arguments: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        let help = place.prints_of(&arguments);
        assert!(help.contains("Exit status:\n  0 "), "{help}");
    }
}

#[test]
fn a_traced_command_gives_trace_its_own_status() {
    let place = Place::new();
    let ended = place.ends(&["trace", "-o", "calls", "sh", "-c", "exit 7"]);
    ended.assert_code(7);
}
