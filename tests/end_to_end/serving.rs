//! `serve`: the pages of `publish` and the read API over HTTP, live, for this machine alone.

use flate2::read::GzDecoder;
use nix::sys::signal::{Signal, kill};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::Command,
};

use crate::{
    exit_statuses::quick,
    history::{stepped::Extent, with_history, with_testbeds, with_unjudged},
    place::Place,
    processes::{self, LIMIT},
    queueing::jobs,
    running::{Ended, Running},
};

/// A server of a place's store.
pub struct Serving {
    running: Running,
    address: String,
}

/// What a server answered.
pub struct Answer {
    pub status: u16,
    pub head: String,
    body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Serving {
    /// The part of its page's address that is the first series of a target.
    fn slug_of_first_series(&self, target: &str) -> String {
        let page = self.get(&format!("/{target}/")).text();
        let link = page.split_once("<a href=\"s/").unwrap().1;
        link.split_once(".html\"").unwrap().0.to_owned()
    }

    /// Serves on any port that is free, once it listens.
    pub fn start(place: &Place) -> Self {
        Self::start_with(place, &[])
    }

    fn start_with(place: &Place, options: &[&str]) -> Self {
        let serve = [&["serve", "--listen", "127.0.0.1:0"], options].concat();
        let mut running = Running::start(place.command(&serve));
        let said = running.next_line();
        let address = said.strip_prefix("serving http://").unwrap();
        let address = address.split('/').next().unwrap().to_owned();
        Self { running, address }
    }

    fn send(&self, request: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    fn asked(&self, first_line: &str, headers: &str) -> Answer {
        self.asked_with(first_line, headers, "")
    }

    fn asked_with(&self, first_line: &str, headers: &str, body: &str) -> Answer {
        let request = format!(
            "{first_line} HTTP/1.1\r\nHost: {}\r\n{headers}Connection: close\r\n\r\n{body}",
            self.address
        );
        let mut all = Vec::new();
        self.send(&request).read_to_end(&mut all).unwrap();
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(all[..end].to_vec())
            .unwrap()
            .to_lowercase();
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head,
            body: all[end + 4..].to_vec(),
        }
    }

    /// Says something with these headers.
    fn posted(&self, path: &str, headers: &str, body: &str) -> Answer {
        let length = format!("{headers}Content-Length: {}\r\n", body.len());
        self.asked_with(&format!("POST {path}"), &length, body)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.asked(&format!("GET {path}"), "")
    }

    /// Tells it to stop; it does.
    pub fn stop(self) -> Ended {
        kill(self.running.pid, Signal::SIGTERM).unwrap();
        let ended = self.running.ends();
        ended.assert_code(0);
        ended
    }
}

/// The published files below a folder, by their addresses.
pub fn files(folder: &Path, below: &str, all: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().into_string().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => files(&entry.path(), &format!("{name}/"), all),
            false => drop(all.insert(name)),
        }
    }
}

#[test]
fn what_is_served_is_what_is_published() {
    let place = with_history(Extent {
        versions: 12,
        boots: 1,
        trials: 2,
        metrics: 0,
    });
    place.prints_of(&["publish", "site"]);
    let server = Serving::start(&place);
    let mut published = BTreeSet::new();
    files(&place.path("site"), "", &mut published);
    published.remove("published-by-backsight.txt");
    assert!(published.len() > 40, "{published:?}");
    for address in published {
        let answer = server.get(&format!("/{address}"));
        assert_eq!(answer.status, 200, "{address}");
        let file = fs::read(place.path("site").join(&address)).unwrap();
        if !address.ends_with(".html") {
            assert_eq!(answer.body, file, "{address}");
            continue;
        }
        // Of two versions between which nothing changed, only who serves pages has the comparison.
        let file = String::from_utf8(file).unwrap();
        let compares = |page: &str| page.contains("id=\"compared\"");
        if address.contains("/compare/") && !compares(&file) {
            assert!(compares(&answer.text()), "{address}");
            continue;
        }
        // But for the script that looks for news, what it shows, that it may, what asks for versions to compare, and JSON that is
        // large.
        let without_news = |page: String| -> String {
            let of_served = ["assets/live.js", "compare-form", "id=\"news\""];
            let is_of_both = |line: &&str| !of_served.iter().any(|part| line.contains(part));
            let history = " <a class=\"data\" href=\"history.json\">History as JSON</a>";
            let without_data = |line: &str| match line.split_once(" <a class=\"data\"") {
                Some((before, after)) if after.contains("Comparison as JSON") => {
                    format!("{before}{}", after.split_once("</a>").unwrap().1)
                }
                _ => line.to_owned(),
            };
            let asks = "<a class=\"compare\" href=\"compare/index.html\">Compare versions</a>";
            page.lines()
                .filter(is_of_both)
                .map(|line| without_data(&line.replace(asks, "").replace(history, "")))
                .map(|line| line.replace("script-src 'none'", "script-src 'self'"))
                .map(|line| line.replace("form-action 'self'", "form-action 'none'"))
                .map(|line| line.replace("connect-src 'self'; ", "") + "\n")
                .collect()
        };
        assert_eq!(without_news(answer.text()), without_news(file), "{address}");
    }
    // As people type addresses.
    for (path, status) in [
        ("/", 200),
        ("/linux/", 200),
        ("/linux", 308),
        ("/linux/v/6.1.3", 200),
        ("/studies/weekly-1", 308),
        ("/nothing", 404),
        ("/linux/v/../../../etc/passwd", 404),
        ("/raw/aa/nothing.txt", 404),
        (
            "/raw/00/0000000000000000000000000000000000000000000000000000000000000000.txt",
            404,
        ),
        ("/%ff%00", 404),
    ] {
        assert_eq!(server.get(path).status, status, "{path}");
    }
    server.stop();
    place.assert_nothing_left();
}

#[test]
fn any_versions_are_compared_as_in_a_terminal() {
    let place = with_history(Extent::USUAL);
    let server = Serving::start(&place);
    let compared = server.get("/linux/compare/6.1.5..6.1.22");
    assert_eq!(compared.status, 200);
    let page = compared.text();
    let command = "backsight compare --target linux 6.1.5 6.1.22";
    assert!(page.contains(&format!("<code>{command}</code>")), "{page}");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let printed = place.prints_of(&words);
    assert!(
        printed.contains("6.1.22 against 6.1.5: 1 worse"),
        "{printed}"
    );
    assert!(page.contains(">1 worse<"), "{page}");
    for line in printed.lines().filter(|line| line.contains("worse")) {
        // The same interval on both.
        if let Some((_, interval)) = line.split_once('[') {
            let interval = interval.split(']').next().unwrap();
            assert!(
                page.contains(&format!("[{interval}]")),
                "{interval}: {page}"
            );
        }
    }
    let json = place.prints_of(&[&words[..], &["--format", "json"]].concat());
    for (path, status) in [
        ("api/v1/targets/linux/compare/6.1.5..6.1.22", 200),
        ("linux/compare/6.1.5..6.1.22.json", 200),
        ("api/v1/targets/linux/compare/6.1.5..none", 404),
        ("api/v1/targets/none/compare/6.1.5..6.1.22", 404),
        ("api/v1/targets/linux/compare/6.1.5", 422),
        ("api/v1/targets/linux/compare/6.1.5..6.1.5", 422),
        ("linux/compare/6.1.5..none.json", 404),
    ] {
        let answer = server.get(&format!("/{path}"));
        assert_eq!(answer.status, status, "{path}");
        match status {
            200 => assert_eq!(answer.text(), json, "{path}"),
            _ if path.starts_with("api") => assert!(answer.json()["error"].is_string(), "{path}"),
            _ => {}
        }
    }
    assert!(page.contains("<a class=\"data\" href=\"6.1.5..6.1.22.json\">"));
    let again = "backsight try --use tbench --target linux --base 6.1.5 --at 6.1.22 --metric tbench.throughput";
    assert!(page.contains(&format!("<code>{again}</code>")), "{page}");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["sides"][1]["tally"]["worse"], 1, "{json:#}");
    place
        .ends(&[&words[..], &["--fail-on", "worse"]].concat())
        .assert_code(1);
    // A form asks for them, by name or identity.
    for (query, status, leads) in [
        (
            "v=6.1.5&v=6.1.22&v=",
            303,
            "location: /linux/compare/6.1.5..6.1.22\r",
        ),
        (
            "v=6.1.5&v=6.1.17&v=6.1.22",
            303,
            "/linux/compare/6.1.5..6.1.17..6.1.22\r",
        ),
        ("v=6.1.5&v=6.1.5", 404, ""),
        ("v=6.1.5", 404, ""),
        ("v=6.1.5&v=%3Cscript%3Ealert(1)%3C/script%3E", 404, ""),
        ("v=6.1.5&v=https://example.org", 404, ""),
        ("", 200, ""),
    ] {
        let answer = server.get(&format!("/linux/compare/?{query}"));
        assert_eq!(answer.status, status, "{query}");
        let head = format!("{}\r", answer.head.replace("\r\n", "\r"));
        assert!(head.contains(leads), "{query}: {head}");
        assert!(!answer.text().contains("<script>alert"), "{query}");
    }
    for (path, status) in [
        ("6.1.22..6.1.5", 200),
        ("6.1.5..6.1.17..6.1.22", 200),
        ("6.1.5", 404),
        ("6.1.5..6.1.5", 404),
        ("6.1.5..none", 404),
        ("..", 404),
        ("6.1.0..6.1.1..6.1.2..6.1.3..6.1.4..6.1.5..6.1.6", 404),
    ] {
        let answer = server.get(&format!("/linux/compare/{path}"));
        assert_eq!(answer.status, status, "{path}");
    }
    server.stop();
    for (words, code, said) in [
        (
            &["compare", "--target", "linux", "6.1.5"][..],
            2,
            "a second version",
        ),
        (
            &["compare", "--target", "linux", "6.1.5", "none"][..],
            2,
            "none",
        ),
        (
            &[
                "compare", "--target", "linux", "6.1.5", "6.1.6", "--by", "variant",
            ][..],
            2,
            "--by",
        ),
    ] {
        let ended = place.ends(words);
        ended.assert_code(code);
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
    }
}

#[test]
fn testbeds_and_studies_are_compared_as_in_a_terminal() {
    let place = with_testbeds();
    let server = Serving::start(&place);
    assert!(
        server
            .get("/linux/")
            .text()
            .contains(">Compare testbeds</a>")
    );
    let form = server.get("/linux/testbeds/").text();
    assert!(form.contains("<option value=\"new\">"), "{form}");
    for (query, status, leads) in [
        ("v=old&v=new&at=", 303, "/linux/testbeds/6.1.4/old..new\r"),
        (
            "v=new&v=old&at=6.1.2",
            303,
            "/linux/testbeds/6.1.2/new..old\r",
        ),
        ("v=new&v=old&at=6.1.0", 404, ""),
        ("v=new&v=other", 404, ""),
        ("v=new", 404, ""),
    ] {
        let answer = server.get(&format!("/linux/testbeds/?{query}"));
        assert_eq!(answer.status, status, "{query}");
        let head = format!("{}\r", answer.head.replace("\r\n", "\r"));
        assert!(head.contains(leads), "{query}: {head}");
    }
    let page = server.get("/linux/testbeds/6.1.4/old..new").text();
    let command = "backsight compare --target linux --testbeds --at 6.1.4 old new";
    for part in [
        &*format!("<code>{command}</code>"),
        "tbench.throughput",
        "✓ better",
        "Geometric mean of the ratios where higher is better",
        "href=\"../../../studies/on-old/index.html\"",
        "cpu.model",
        "What monitors measured differently meanwhile",
        "<th scope=\"row\">cpu-busy</th>",
        "Processor of new",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("cpu.vendor"), "{page}");
    assert!(!page.contains("<script>document.title"), "{page}");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let json = place.prints_of(&[&words[..], &["--format", "json"]].concat());
    for path in [
        "/linux/testbeds/6.1.4/old..new.json",
        "/api/v1/targets/linux/testbeds/6.1.4/old..new",
    ] {
        assert_eq!(server.get(path).text(), json, "{path}");
    }
    // The newest version that both measured, and the difference.
    let newest = place.prints_of(&["compare", "--target", "linux", "--testbeds", "old", "new"]);
    assert!(newest.contains("new against old: 1 better"), "{newest}");
    for (path, status) in [
        ("/linux/testbeds/6.1.0/old..new", 404),
        ("/linux/testbeds/6.1.4/old", 404),
        ("/linux/testbeds/6.1.4/old..old", 404),
        ("/api/v1/targets/linux/testbeds/6.1.4/old", 422),
        ("/api/v1/targets/linux/testbeds/6.1.4/old..other", 404),
        // Of one study alone there is nothing to compare.
        ("/compare/", 404),
        // Studies along a history are there, and compared by its versions.
        ("/api/v1/compare/on-old..on-new", 422),
        ("/api/v1/compare/on-old..none", 422),
        ("/api/v1/compare/none..on-old", 404),
        ("/compare/on-old..on-new", 404),
    ] {
        assert_eq!(server.get(path).status, status, "{path}");
    }
    let why = server.get("/api/v1/compare/on-old..on-new").json();
    let why = why["error"].as_str().unwrap().to_owned();
    assert!(why.contains("backsight compare --target linux"), "{why}");
    server.stop();
    let ended = place.ends(&["compare", "--target", "linux", "--testbeds", "old", "nwe"]);
    ended.assert_code(2);
    assert!(ended.stderr.contains("`new`"), "{}", ended.stderr);

    let place = quick();
    for name in ["base", "a.b", "other"] {
        place.prints_of(&["run", "plan.toml", "--name", name]);
    }
    let server = Serving::start(&place);
    assert!(
        server
            .get("/studies/")
            .text()
            .contains(">Compare studies</a>")
    );
    let answer = server.get("/compare/?v=base&v=a.b&v=3");
    assert_eq!(answer.status, 303);
    assert!(
        answer.head.contains("location: /compare/base..a.b..other"),
        "{}",
        answer.head
    );
    let page = server.get("/compare/base..a.b").text();
    assert!(
        page.contains("<code>backsight compare base a.b</code>"),
        "{page}"
    );
    let again = "<code>backsight run --more 1 base &#38;&#38; backsight run --more 1 a.b</code>";
    assert!(page.replace("&amp;", "&#38;").contains(again), "{page}");
    let json = place.prints_of(&["compare", "base", "a.b", "--format", "json"]);
    assert_eq!(server.get("/compare/base..a.b.json").text(), json);
    assert_eq!(server.get("/api/v1/compare/1..2").text(), json);
    assert_eq!(server.get("/api/v1/compare/base").status, 422);
    assert_eq!(server.get("/api/v1/compare/base..none").status, 404);
    server.stop();
}

#[test]
fn a_study_that_cannot_be_judged_says_why_and_has_no_json() {
    let place = with_unjudged();
    place.prints_of(&["publish", "site"]);
    let page = fs::read_to_string(place.path("site/studies/odd/index.html")).unwrap();
    assert!(page.contains("What it came to can't be shown: "), "{page}");
    assert!(!page.contains("verdict.json"), "{page}");
    assert!(!place.path("site/studies/odd/verdict.json").exists());
    let server = Serving::start(&place);
    for path in ["/studies/odd/verdict.json", "/api/v1/studies/odd"] {
        let answer = server.get(path);
        assert_eq!(answer.status, 422, "{path}");
        let why = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(page.contains(&why), "{why}: {page}");
    }
    let page = server.get("/studies/odd/index.html").text();
    assert!(!page.contains("verdict.json"), "{page}");
    server.stop();
}

#[test]
fn of_a_target_that_is_served_alone_only_its_studies_are() {
    let place = with_history(Extent {
        versions: 3,
        boots: 1,
        trials: 1,
        metrics: 0,
    });
    place.prints("quick", "echo 1");
    place.plan("use = [\"quick\"]\nrounds = 1\n");
    place.prints_of(&["run", "plan.toml", "--name", "other"]);
    for (options, status) in [(&[][..], 200), (&["--target", "linux"], 404)] {
        let server = Serving::start_with(&place, options);
        for path in ["/studies/other/", "/api/v1/studies/other"] {
            assert_eq!(server.get(path).status, status, "{path} {options:?}");
        }
        assert_eq!(server.get("/api/v1/studies/weekly-1").status, 200);
        server.stop();
    }
}

#[test]
fn a_server_only_reads_and_answers_this_machine_alone() {
    let place = with_history(Extent {
        versions: 4,
        boots: 1,
        trials: 1,
        metrics: 0,
    });
    let server = Serving::start(&place);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        assert_eq!(
            server.asked(&format!("{method} /"), "").status,
            405,
            "{method}"
        );
    }
    let page = server.get("/");
    for header in [
        "x-content-type-options: nosniff",
        "content-security-policy: default-src 'none'",
        "frame-ancestors 'none'",
        "referrer-policy: no-referrer",
    ] {
        assert!(page.head.contains(header), "{header}: {}", page.head);
    }
    // A page of others that has bent the names of a browser.
    let mut bent = Vec::new();
    let request = "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    server.send(request).read_to_end(&mut bent).unwrap();
    assert!(bent.starts_with(b"HTTP/1.1 403"));
    // Who has a page already isn't sent it again.
    let tag = page
        .head
        .lines()
        .find_map(|line| line.strip_prefix("etag: "));
    let again = server.asked("GET /", &format!("If-None-Match: {}\r\n", tag.unwrap()));
    assert_eq!((again.status, again.body.len()), (304, 0));
    // Who takes it compressed gets it so, under a tag of its own.
    let packed = server.asked("GET /", "Accept-Encoding: br, gzip\r\n");
    assert!(
        packed.head.contains("content-encoding: gzip"),
        "{}",
        packed.head
    );
    assert!(!packed.head.contains(tag.unwrap()), "{}", packed.head);
    let mut unpacked = Vec::new();
    GzDecoder::new(&packed.body[..])
        .read_to_end(&mut unpacked)
        .unwrap();
    assert_eq!(unpacked, page.body);

    let taken = place.ends(&["serve", "--listen", &server.address]);
    taken.assert_code(2);
    assert!(taken.stderr.contains("can't listen on"), "{}", taken.stderr);
    let open = place.ends(&["serve", "--listen", "0.0.0.0:0"]);
    open.assert_code(2);
    assert!(
        open.stderr.contains("of this machine alone"),
        "{}",
        open.stderr
    );
    server.stop();
}

#[test]
fn the_api_answers_what_the_command_prints_and_describes_itself() {
    let place = with_history(Extent {
        versions: 8,
        boots: 1,
        trials: 2,
        metrics: 0,
    });
    let server = Serving::start(&place);
    let targets = server.get("/api/v1/targets").json();
    assert_eq!(targets[0]["target"], "linux", "{targets:#}");
    assert_eq!(targets[0]["versions"], 8);
    let history = server.get("/api/v1/targets/linux/history").json();
    let printed = place.prints_of(&["history", "--format", "json", "--all-metrics"]);
    assert_eq!(history, serde_json::from_str::<Value>(&printed).unwrap());
    for (file, asked) in [
        ("linux/history.json", "targets/linux/history"),
        ("alerts.json", "alerts"),
        ("studies/index.json", "studies"),
        ("testbeds/index.json", "machines"),
    ] {
        let file = server.get(&format!("/{file}"));
        let asked = server.get(&format!("/api/v1/{asked}"));
        assert_eq!(file.text(), asked.text());
    }
    let some = server
        .get("/api/v1/targets/linux/history?series=hackbench")
        .json();
    let series = some["series"].as_array().unwrap();
    assert!(!series.is_empty() && series.len() < history["series"].as_array().unwrap().len());
    let studies = server.get("/api/v1/studies").json();
    let printed = place.prints_of(&["studies", "--json"]);
    assert_eq!(studies, serde_json::from_str::<Value>(&printed).unwrap());
    let alerts = server.get("/api/v1/alerts").json();
    let printed = place.prints_of(&["alerts", "--json"]);
    assert_eq!(alerts, serde_json::from_str::<Value>(&printed).unwrap());
    for (path, part) in [
        ("targets/none/history", "no target is called"),
        ("targets/linux/tests", "has no suites"),
        ("studies/none", "there is no study"),
        ("sonnets", "openapi.json"),
        ("targets/%ff/history", "openapi.json"),
    ] {
        let answer = server.get(&format!("/api/v1/{path}"));
        assert_eq!(answer.status, 404, "{path}");
        let error = answer.json();
        assert!(error["error"].as_str().unwrap().contains(part), "{error}");
    }
    // What a study along a history came to is the history of its target.
    let shown = place.prints_of(&["show", "weekly-1", "--format", "json"]);
    let study = server.get("/api/v1/studies/weekly-1").json();
    assert_eq!(study, serde_json::from_str::<Value>(&shown).unwrap());
    assert!(study["series"].is_array(), "{study:#}");
    // Every answer is as the description says.
    let description = server.get("/api/v1/openapi.json").json();
    for (path, operation) in description["paths"].as_object().unwrap() {
        if operation.get("get").is_none() {
            continue;
        }
        let path = path
            .replace("{target}", "linux")
            .replace("{versions}", "6.1.0..6.1.4")
            .replace("{study}", "weekly-1");
        // News have no end.
        if path == "/api/v1/events" {
            continue;
        }
        // Of what others have: suites, testbeds, several studies of their own.
        if path.ends_with("/tests") || path.contains("{testbeds}") || path.contains("{studies}") {
            continue;
        }
        let answer = server.get(&path);
        assert_eq!(answer.status, 200, "{path}");
        let schema = &operation["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{path}");
        let mut schema = schema.clone();
        schema["components"] = description["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let found = answer.json();
        let errors: Vec<String> = validator
            .iter_errors(&found)
            .map(|e| e.to_string())
            .collect();
        assert!(errors.is_empty(), "{path}: {errors:?}");
    }
    server.stop();
}

#[test]
fn changes_are_told_to_readers_of_news_to_badges_and_to_clients() {
    let place = with_history(Extent::USUAL);
    let server = Serving::start(&place);
    for (address, parts) in [
        (
            "feed.xml",
            ["✗ linux: tbench", "href=\"linux/c/6.1.18.html\""],
        ),
        (
            "badge/linux.svg",
            ["<title>linux: 1 worse</title>", "#b2382b"],
        ),
        ("status/", ["Failed last", "build of 6.1."]),
    ] {
        let text = server.get(&format!("/{address}")).text();
        for part in parts {
            assert!(text.contains(part), "{address}: {part}: {text}");
        }
    }
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/api/changes.py");
    let mut command = Command::new("python3");
    command
        .arg(client)
        .arg(format!("http://{}/", server.address));
    let ended = Running::start(command).ends();
    ended.assert_code(0);
    let how_to = include_str!("../../docs/how-to/serve-a-site.md");
    let printed = ended.stdout();
    assert!(printed.lines().count() >= 1, "{printed}");
    for line in printed.lines() {
        assert!(how_to.contains(line), "{line}");
    }
    server.stop();
}

#[test]
fn who_has_the_token_says_how_changes_stand_and_nobody_else() {
    let place = with_history(Extent::USUAL);
    let mut server = Serving::start_with(&place, &["--control"]);
    let said = server.running.next_line();
    let token = said.split_once("#control=").unwrap().1.trim().to_owned();
    assert_eq!(token.len(), "backsight_".len() + 64, "{said}");
    let known = format!("Authorization: Bearer {token}\r\n");
    let of = |state: &str, note: &str, by: &str| {
        let version = "6.1.18";
        serde_json::json!({"target": "linux", "version": version, "state": state, "note": note, "by": by})
            .to_string()
    };
    let confirmed = of("confirmed", "<b>seen</b>", "carol");
    let refused = [
        (401, String::new(), confirmed.as_str(), "token is missing"),
        (
            401,
            known.replace(&token[..14], "backsight_0000"),
            &confirmed,
            "token is missing",
        ),
        (
            401,
            known.replace(&token, ""),
            &confirmed,
            "token is missing",
        ),
        (
            403,
            format!("{known}Origin: http://evil.example\r\n"),
            &confirmed,
            "another site",
        ),
        (400, known.clone(), "{\"target\": \"linux\"", "EOF"),
        (400, known.clone(), "{}", "missing field"),
        (400, known.clone(), &of("confirmed", "", " "), "says who"),
        (
            422,
            known.clone(),
            &of("splendid", "", "carol"),
            "investigating",
        ),
        (
            422,
            known.clone(),
            &of("accepted", " ", "carol"),
            "reason is empty",
        ),
        (
            422,
            known.clone(),
            &confirmed.replace("6.1.18", "6.1.2"),
            "no alert",
        ),
        (
            422,
            known.clone(),
            &confirmed.replace("linux", "none"),
            "none",
        ),
    ];
    for (status, headers, body, part) in refused {
        let answer = server.posted("/api/v1/triage", &headers, body);
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(part), "{part}: {error}");
    }
    // Other things that may be said are refused as well.
    for (path, body, part) in [
        (
            "annotate",
            r#"{"target":"linux","version":"6.1.18","note":" ","by":"x"}"#,
            "empty",
        ),
        (
            "queue",
            r#"{"target":"linux","by":"x"}"#,
            "`step` or `bisect`",
        ),
        (
            "queue",
            r#"{"target":"linux","bisect":{"version":"6.1.2"},"by":"x"}"#,
            "no alert",
        ),
        (
            "queue",
            r#"{"target":"linux","step":{"series":"none","from":"6.1.2","to":"6.1.3"},"by":"x"}"#,
            "no series",
        ),
        ("queue/cancel", r#"{"job":7,"by":"x"}"#, "no job 7"),
    ] {
        let path = format!("/api/v1/{path}");
        assert_eq!(server.posted(&path, "", body).status, 401);
        let answer = server.posted(&path, &known, body);
        assert_eq!(answer.status, 422, "{body}: {}", answer.text());
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(jobs(&place).is_empty());
    let audit =
        || -> Vec<Value> { serde_json::from_str(&place.prints_of(&["audit", "--json"])).unwrap() };
    let before = audit().len();
    let elsewhere = server.posted("/linux/", &known, &confirmed);
    assert_eq!(elsewhere.status, 404);
    assert_eq!(server.asked("PUT /api/v1/triage", &known).status, 405);
    let alerts =
        || -> Value { serde_json::from_str(&place.prints_of(&["alerts", "--json"])).unwrap() };
    assert_eq!(alerts()["alerts"][0]["state"], "new");

    let answer = server.posted("/api/v1/triage", &known, &confirmed);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(
        answer.json()["said"],
        "6.1.18 of linux is confirmed, says carol"
    );
    // The next answers have it, and so have pages.
    let served = || server.get("/api/v1/alerts").json()["alerts"][0]["state"].clone();
    assert_eq!(served(), "confirmed");
    let page = server.get("/linux/c/6.1.18").text();
    assert!(page.contains("carol"), "{page}");
    let alert = &alerts()["alerts"][0];
    assert_eq!(
        (&alert["state"], &alert["by"]),
        (&"confirmed".into(), &"carol".into())
    );
    let accepted = of("accepted", "it is safer", "dave");
    let answer = server.posted("/api/v1/triage", &known, &accepted);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(served(), "accepted");
    assert_eq!(alerts()["alerts"][0]["state"], "accepted");
    // A note, and a measurement for a worker.
    let body = r#"{"target":"linux","version":"6.1.12","note":"</script>moved","by":"erin"}"#;
    assert_eq!(server.posted("/api/v1/annotate", &known, body).status, 200);
    assert!(server.get("/linux/v/6.1.12").text().contains("erin"));
    let notes = place.prints_of(&["annotate", "--target", "linux"]);
    assert!(
        notes.contains("6.1.12") && notes.contains("erin"),
        "{notes}"
    );
    let body =
        r#"{"target":"linux","step":{"series":"SLUG","from":"6.1.20","to":"6.1.3"},"by":"erin"}"#;
    let slug = server.slug_of_first_series("linux");
    let answer = server.posted("/api/v1/queue", &known, &body.replace("SLUG", &slug));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let status = server.get("/status/").text();
    assert!(status.contains("--like weekly-2"), "{status}");
    let job = &jobs(&place)[0];
    let words: Vec<&str> = job["arguments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect();
    assert_eq!(
        words,
        [
            "step", "--like", "weekly-2", "--from", "6.1.3", "--to", "6.1.20", "--every", "all"
        ]
    );
    // What was asked is written down, whatever became of it, and the token isn't.
    let entries = audit();
    assert_eq!(entries.len(), before + 4, "{entries:?}");
    let accepted = &entries[before + 1];
    assert_eq!(
        (&accepted["person"], &accepted["said"]["state"]),
        (&"dave".into(), &"accepted".into())
    );
    assert!(!place.prints_of(&["audit", "--json"]).contains(&token));
    server.stop();
    let reading = Serving::start(&place);
    assert_eq!(
        reading.posted("/api/v1/triage", &known, &confirmed).status,
        405
    );
    assert_eq!(reading.get("/assets/control.js").status, 404);
    reading.stop();
    place.assert_nothing_left();
}

#[test]
fn tokens_of_the_store_and_a_proxy_say_who_asks_and_what_that_one_may_do() {
    let place = with_history(Extent::USUAL);
    let add = |name: &str, scope: &str| {
        let token = place.prints_of(&["token", "add", name, "--scope", scope]);
        format!("Authorization: Bearer {}\r\n", token.trim())
    };
    let (reader, ci, ana) = (
        add("reader", "read"),
        add("ci", "queue"),
        add("ana", "control"),
    );
    let proxy = add("proxy", "proxy");
    let options = [
        "--control",
        "--private",
        "--public-url",
        "https://lab.example.org",
    ];
    let server = Serving::start_with(&place, &options);
    let status = |path: &str, headers: &str| server.asked(&format!("GET {path}"), headers).status;
    for path in [
        "/",
        "/linux/",
        "/api/v1/targets",
        "/api/v1/events",
        "/assets/control.js",
    ] {
        let refused = server.asked(&format!("GET {path}"), "");
        assert_eq!(refused.status, 401, "{path}");
        let challenge = "\r\nwww-authenticate: bearer";
        assert!(refused.head.contains(challenge), "{path}: {}", refused.head);
    }
    let lower = reader.replace("Bearer", "bearer");
    assert_eq!(status("/linux/", &lower), 200);
    for token in [&reader, &ci, &ana] {
        assert_eq!(status("/linux/", token), 200);
    }
    let me = |headers: &str| server.asked("GET /api/v1/me", headers).json();
    assert_eq!(
        me(&ci),
        serde_json::json!({"person": "ci", "scope": "queue"})
    );
    // A proxy says who asks; others can't.
    let zoe = format!("{proxy}X-Forwarded-User: Zoe\r\n");
    assert_eq!(
        me(&zoe),
        serde_json::json!({"person": "Zoe", "scope": "control"})
    );
    assert_eq!(
        me(&format!("{ci}X-Forwarded-User: Zoe\r\n"))["person"],
        "ci"
    );
    assert_eq!(status("/linux/", &proxy), 403);

    let note = r#"{"target":"linux","version":"6.1.12","note":"moved","by":"the boss"}"#;
    let say = |headers: &str| server.posted("/api/v1/annotate", headers, note);
    for token in [&reader, &ci] {
        let refused = say(token);
        assert_eq!(refused.status, 403);
        assert!(
            refused.text().contains("wants `control`"),
            "{}",
            refused.text()
        );
    }
    assert_eq!(
        server
            .posted("/api/v1/queue/cancel", &reader, r#"{"job":1}"#)
            .status,
        403
    );
    assert_eq!(
        server
            .posted("/api/v1/queue/cancel", &ci, r#"{"job":1}"#)
            .status,
        422
    );
    assert_eq!(say(&ana).status, 200);
    // A browser sends a reader's cookies to the proxy wherever a form comes from.
    let from = |origin: &str| format!("{zoe}Origin: {origin}\r\n");
    assert_eq!(say(&zoe).status, 403);
    assert_eq!(say(&from("https://evil.example")).status, 403);
    assert_eq!(say(&from("https://lab.example.org")).status, 200);
    let notes = place.prints_of(&["annotate", "--target", "linux"]);
    assert!(
        notes.contains("ana") && notes.contains("Zoe") && !notes.contains("boss"),
        "{notes}"
    );

    place.prints_of(&["token", "revoke", "ana", "--by", "Bo"]);
    // What is asked for over and over is only read: of what is done, the log shows the last 50.
    processes::until("the token isn't taken", || status("/linux/", &ana) == 401);
    assert_eq!(say(&ana).status, 401);
    let audit = place.prints_of(&["audit"]);
    for part in [
        "token revoke",
        "Bo",
        "{\"refused\":\"control\"}",
        "queue/cancel",
        "Zoe",
    ] {
        assert!(audit.contains(part), "{part}: {audit}");
    }
    // Of a token that was made, what it may do and whose it is.
    let entries: Value = serde_json::from_str(&place.prints_of(&["audit", "--json"])).unwrap();
    let mut entries = entries.as_array().unwrap().iter();
    let made = entries.find(|it| it["action"] == "token add" && it["said"]["name"] == "ci");
    assert_eq!(
        made.unwrap()["said"],
        serde_json::json!({"name": "ci", "person": "ci", "scope": "queue", "until": null})
    );
    // Asked for no entries it would say that nothing was asked.
    place.ends(&["audit", "--limit", "0"]).assert_code(2);
    // Neither the store nor what the server said has a token.
    let database = fs::read(place.path("store/backsight.db")).unwrap();
    let secret = ana.trim().rsplit('_').next().unwrap().as_bytes();
    assert!(!database.windows(secret.len()).any(|part| part == secret));
    server.stop();
    place.assert_nothing_left();
}

#[test]
fn a_page_moves_while_another_process_measures() {
    let place = quick();
    place.prints_of(&["run", "plan.toml", "--name", "first"]);
    let server = Serving::start(&place);
    assert!(!server.get("/studies/").text().contains("second"));
    let request = format!(
        "GET /api/v1/events HTTP/1.1\r\nHost: {}\r\n\r\n",
        server.address
    );
    let mut news = server.send(&request);
    let mut line = String::new();
    while !line.starts_with("transfer-encoding") {
        line.clear();
        assert!(news.read_line(&mut line).unwrap() > 0);
    }
    place.hold("run", 4);
    let study = place.begins(&["run", "plan.toml", "--name", "second"]);
    place.until_held("run");
    let mut follow_until = |is_so: &dyn Fn() -> bool| {
        while !is_so() {
            line.clear();
            while !line.starts_with("event: edition") {
                line.clear();
                assert!(news.read_line(&mut line).unwrap() > 0, "the stream ended");
            }
        }
    };
    // It is being measured: news come, and the page has it.
    follow_until(&|| {
        let page = server.get("/studies/").text();
        let row = page.split("<tr>").find(|row| row.contains(">second</a>"));
        row.is_some_and(|row| row.contains(">running</td>") && row.contains("1 trial<"))
    });
    let of_study = || server.get("/studies/second/").text();
    assert!(of_study().contains("· running ·"), "{}", of_study());
    place.release("run");
    study.ends().assert_code(0);
    follow_until(&|| of_study().contains("· finished ·"));
    let page = of_study();
    for part in ["id=\"measured\"", "href=\"../index.html\">Studies</a>"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let finished = server.get("/api/v1/studies/second").text();
    let shown = place.prints_of(&["show", "second", "--format", "json"]);
    assert_eq!(finished, shown);
    // A reader that still listens is no reason not to stop.
    server.stop();
    let mut rest = Vec::new();
    news.read_to_end(&mut rest).unwrap();
    place.assert_nothing_left();
}
