//! The Model Context Protocol, asked by its SDK for Python: what there is to ask, what is permitted, who is let in.

use backsight_test_needs::{Need, mcp_client_python};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
    time::Instant,
};

use crate::{exit_statuses::along, place::Place, queueing::jobs, running::Running};

/// What a client got: what the server says of itself, then an answer a call.
fn asked(place: &Place, mode: &str, server: &[&str], calls: &[&str]) -> Vec<Value> {
    let client = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/mcp_client.py"
    );
    let arguments = [&[client, mode][..], server, &["--"], calls].concat();
    let ended = Running::start(place.put(Command::new(mcp_client_python()), &arguments)).ends();
    ended.assert_code(0);
    ended.events()
}

/// The same of a server that is a child of the client.
fn asked_child(place: &Place, mode: &str, options: &[&str], calls: &[&str]) -> Vec<Value> {
    let program = ["stdio", env!("CARGO_BIN_EXE_backsight"), "mcp"];
    asked(place, mode, &[&program[..], options].concat(), calls)
}

fn text(answer: &Value) -> &str {
    answer["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer:#}"))
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect()
}

#[test]
fn a_model_reads_what_people_read_and_measures_nothing() {
    if Need::McpClient.is_missing() {
        return;
    }
    let place = along("v4", "2");
    for mode in ["auto", "legacy"] {
        let got = asked_child(
            &place,
            mode,
            &[],
            &[
                "list",
                "list_studies",
                r#"history {"target": "app"}"#,
                r#"compare_versions {"target": "app", "versions": ["v1", "v4"]}"#,
                r#"read_output {"study": "step-1", "trial": 1}"#,
                r#"commits {"target": "app", "from": "v1", "to": "v2"}"#,
                r#"verdict {"study": "none"}"#,
                r#"history {"target": "../app"}"#,
                r#"history {"targt": "app"}"#,
                r#"measure {"plan": "plan.toml"}"#,
                "dance",
            ],
        );
        assert_eq!(got[0]["server"], "backsight");
        let tools = names(&got[1]);
        assert!(
            tools.contains(&"explain") && !tools.contains(&"bisect"),
            "{tools:?}"
        );
        for tool in got[1]["tools"].as_array().unwrap() {
            assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool:#}");
        }
        let studies: Value = serde_json::from_str(text(&got[2])).unwrap();
        assert_eq!(studies[0]["target"], "app", "{studies:#}");
        // What the command prints.
        let history = place.prints_of(&["history", "--target", "app", "--format", "markdown"]);
        assert_eq!(text(&got[3]), history);
        assert!(text(&got[4]).contains("v4"), "{}", got[4]);
        assert!(
            !text(&got[5]).is_empty() && got[5]["error"] == false,
            "{}",
            got[5]
        );
        assert!(text(&got[6]).contains("version 2"), "{}", got[6]);
        assert!(
            got[7]["error"] == true && text(&got[7]).contains("no study `none`"),
            "{}",
            got[7]
        );
        assert!(
            got[8]["refused"].as_str().unwrap().contains("no path"),
            "{}",
            got[8]
        );
        assert!(
            got[9]["refused"].as_str().unwrap().contains("takes target"),
            "{}",
            got[9]
        );
        assert!(
            got[10]["error"] == true && text(&got[10]).contains("--scope queue"),
            "{}",
            got[10]
        );
        assert!(
            got[11]["refused"]
                .as_str()
                .unwrap()
                .contains("no tool `dance`"),
            "{}",
            got[11]
        );
    }
    place.assert_nothing_left();
}

#[test]
fn what_is_permitted_is_queued_and_said() {
    if Need::McpClient.is_missing() {
        return;
    }
    let place = along("v4", "2");
    place.prints("quick", "echo 1");
    place.plan("use = [\"quick\"]\nrounds = 2\n");
    let got = asked_child(
        &place,
        "auto",
        &["--scope", "control"],
        &[
            "list",
            r#"measure {"plan": "plan.toml", "rounds": 1, "name": "asked"}"#,
            r#"bisect {"plan": "plan.toml", "target": "app", "good": "v1", "bad": "v4"}"#,
            "queue",
            r#"cancel_job {"job": 2}"#,
            r#"annotate {"target": "app", "version": "v2", "note": "a model looked at it", "by": "Ann's model"}"#,
            r#"measure {"plan": "plan.toml", "name": "--output=x"}"#,
            r#"measure {"plan": "--help"}"#,
        ],
    );
    assert!(names(&got[1]).contains(&"bisect"), "{}", got[1]);
    assert!(text(&got[2]).contains("job 1 waits"), "{}", got[2]);
    assert!(text(&got[3]).contains("job 2 waits"), "{}", got[3]);
    let queue: Value = serde_json::from_str(text(&got[4])).unwrap();
    assert_eq!(queue["jobs"].as_array().unwrap().len(), 2, "{queue:#}");
    assert!(text(&got[5]).contains("job 2 is cancelled"), "{}", got[5]);
    assert_eq!(got[6]["error"], false, "{}", got[6]);
    assert!(
        got[7]["error"] == true,
        "an option isn't a name: {}",
        got[7]
    );
    let missing = got[8]["refused"].as_str().unwrap();
    assert!(missing.contains("no such file"), "{missing}");
    let notes = place.prints_of(&["annotate", "--target", "app"]);
    assert!(
        notes.contains("a model looked at it") && notes.contains("Ann's model"),
        "{notes}"
    );
    place.prints_of(&["queue", "worker", "--until-empty"]);
    assert_eq!(place.study("asked")["measured"], 1);
}

#[test]
fn by_http_only_who_has_the_token_is_answered_and_nobody_guesses_it() {
    if Need::McpClient.is_missing() {
        return;
    }
    let place = along("v2", "1");
    let listens = ["mcp", "--listen", "127.0.0.1:0"];
    let token = place.prints_of(&["token", "add", "model", "--person", "Ana"]);
    let asks = place.prints_of(&["token", "add", "asks", "--scope", "queue", "--person", "Bo"]);
    let mut server = Running::start(place.command(&listens));
    let line = server.next_line();
    let url = line.trim().strip_prefix("serving ").unwrap();
    let url = url.strip_suffix(" until ^C").unwrap();
    for mode in ["auto", "legacy"] {
        let got = asked(
            &place,
            mode,
            &["http", url, token.trim()],
            &["list_studies"],
        );
        assert!(text(&got[1]).contains("step-1"), "{got:?}");
    }

    // What a token is for is what its caller may do, in its person's name.
    let calls = [
        "list",
        r#"cancel_job {"job": 7, "by": "the boss"}"#,
        r#"annotate {"target": "app", "version": "v2", "note": "seen"}"#,
        r#"measure {"plan": "plan.toml", "by": "the boss"}"#,
        r#"explain {"studies": ["step-1"], "at": "v2"}"#,
    ];
    let reads = asked(&place, "auto", &["http", url, token.trim()], &calls);
    assert!(!names(&reads[1]).contains(&"cancel_job"), "{reads:?}");
    assert!(
        text(&reads[2]).contains("a token of scope `queue`"),
        "{reads:?}"
    );
    let queues = asked(&place, "auto", &["http", url, asks.trim()], &calls);
    assert!(names(&queues[1]).contains(&"cancel_job"), "{queues:?}");
    assert!(text(&queues[2]).contains("no job 7"), "{queues:?}");
    assert!(
        text(&queues[3]).contains("a token of scope `control`"),
        "{queues:?}"
    );
    assert!(text(&queues[4]).contains("job 1 waits"), "{queues:?}");
    assert_eq!(jobs(&place)[0]["by"], "Bo");
    // What a tool calls `by` and isn't a person is its caller's to say.
    let explained = place.prints_of(&["explain", "step-1", "--at", "v2", "--format", "markdown"]);
    assert_eq!(text(&queues[5]), explained);
    // Also what the scope didn't permit is written down; what was only read isn't.
    let audit: Value = serde_json::from_str(&place.prints_of(&["audit", "--json"])).unwrap();
    let entries = audit.as_array().unwrap().iter();
    let of_model = entries.filter(|it| it["way"] == "mcp");
    let of_model = of_model.map(|it| json!([it["person"], it["action"], it["said"]]));
    assert_eq!(
        of_model.collect::<Vec<_>>(),
        [
            json!(["Ana", "cancel_job", {"refused": "queue"}]),
            json!(["Ana", "annotate", {"refused": "control"}]),
            json!(["Ana", "measure", {"refused": "queue"}]),
            json!(["Bo", "cancel_job", {"job": 7, "by": "Bo"}]),
            json!(["Bo", "annotate", {"refused": "control"}]),
            json!(["Bo", "measure", {"plan": "plan.toml", "by": "Bo"}]),
        ]
    );

    let address = url
        .strip_prefix("http://")
        .unwrap()
        .strip_suffix("/mcp")
        .unwrap();
    let status = |token: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    let began = Instant::now();
    for wrong in ["", "x", &token.trim()[1..]] {
        assert_eq!(status(wrong), "401");
    }
    // Each is answered after a while, so that a guess in 2^256 takes for ever, and several at once take no less.
    assert!(began.elapsed().as_millis() >= 300);
    let guesses = std::thread::scope(|scope| {
        let all: Vec<_> = (0..80).map(|_| scope.spawn(|| status("guess"))).collect();
        let all = all.into_iter().map(|it| it.join().unwrap());
        all.collect::<Vec<String>>()
    });
    assert!(
        guesses.iter().all(|it| it == "401" || it == "429"),
        "{guesses:?}"
    );
    assert!(guesses.iter().any(|it| it == "429"), "{guesses:?}");
    let got = asked(
        &place,
        "auto",
        &["http", url, token.trim()],
        &["list_studies"],
    );
    assert!(text(&got[1]).contains("step-1"), "{got:?}");
    server.signal(Signal::SIGINT);
    server.ends().assert_code(0);

    let open = place.ends(&["mcp", "--listen", "0.0.0.0:0"]);
    open.assert_code(2);
    open.assert_says(&["can be reached from other machines"]);
    let garbage = place.put(
        Command::new("sh"),
        &[
            "-c",
            &format!("echo garbage | {} mcp", env!("CARGO_BIN_EXE_backsight")),
        ],
    );
    let garbage = Running::start(garbage).ends();
    assert!(garbage.stdout().is_empty(), "{}", garbage.stdout());
    place.assert_nothing_left();
}
