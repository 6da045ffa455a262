//! GitHub, GitLab, Gitea, Gerrit, Slack, Mattermost and Matrix, by strict stubs: what their published descriptions don't have is
//! answered with 404 or 422, a wrong permission with 401.

use backsight_policy::AlertState;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

use super::{
    ToldLab, in_state,
    stub::{SeenRequest, StubServer},
};
use crate::{
    VerdictComment, VerdictState, comment_verdict,
    software_change::tests::{change, id},
};

/// A forge by its own words.
#[derive(Clone, Copy)]
struct Words {
    kind: &'static str,
    /// The header with the permission, and its value.
    permission: (&'static str, &'static str),
    repository: &'static str,
    requests: &'static str,
    request: &'static str,
    comments: &'static str,
    /// Method and path of an update, without the number.
    update: (&'static str, &'static str),
    worse: &'static str,
}

const GITHUB: Words = Words {
    kind: "github",
    permission: ("authorization", "Bearer s3cret"),
    repository: "/repos/lab/app",
    requests: "/commits/{}/pulls",
    request: "number",
    comments: "/issues/7/comments",
    update: ("PATCH", "/issues/comments/"),
    worse: "failure",
};
const GITLAB: Words = Words {
    kind: "gitlab",
    permission: ("private-token", "s3cret"),
    repository: "/api/v4/projects/lab%2Fapp",
    requests: "/repository/commits/{}/merge_requests",
    request: "iid",
    comments: "/merge_requests/7/notes",
    update: ("PUT", "/merge_requests/7/notes/"),
    worse: "failed",
};
const GITEA: Words = Words {
    kind: "gitea",
    permission: ("authorization", "token s3cret"),
    repository: "/api/v1/repos/lab/app",
    requests: "/commits/{}/pull",
    request: "number",
    comments: "/issues/7/comments",
    update: ("PATCH", "/issues/comments/"),
    worse: "failure",
};

/// A server that keeps statuses and comments.
struct ForgeStub {
    server: StubServer,
    statuses: Arc<Mutex<Vec<Value>>>,
    comments: Arc<Mutex<Vec<Value>>>,
}

impl ForgeStub {
    async fn start(words: Words) -> Self {
        let statuses: Arc<Mutex<Vec<Value>>> = Arc::default();
        // Somebody else's comment, and one without text.
        let comments = Arc::new(Mutex::new(vec![
            json!({"id": 1, "body": "nice! <!-- backsight change -->"}),
            json!({"id": 2, "body": null}),
        ]));
        let (kept, said) = (Arc::clone(&statuses), Arc::clone(&comments));
        let answer = move |request: &SeenRequest| answer(words, request, &kept, &said);
        Self {
            server: StubServer::start(answer).await,
            statuses,
            comments,
        }
    }

    fn states(&self) -> Vec<String> {
        let statuses = self.statuses.lock().unwrap();
        let states = statuses.iter().map(|it| it["state"].as_str().unwrap());
        states.map(str::to_owned).collect()
    }
}

fn answer(
    words: Words,
    request: &SeenRequest,
    statuses: &Mutex<Vec<Value>>,
    comments: &Mutex<Vec<Value>>,
) -> (u16, String) {
    if request.header(words.permission.0) != words.permission.1 {
        return (401, "{}".into());
    }
    if request.header("user-agent").is_empty() {
        return (403, "Request forbidden by administrative rules".into());
    }
    let Some(path) = request.path.strip_prefix(words.repository) else {
        return (404, "{}".into());
    };
    let text = |name: &str| request.body[name].as_str().map(str::to_owned);
    let mut comments = comments.lock().unwrap();
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    let commit = id(3);
    match (request.method.as_str(), path) {
        ("POST", path) if path == format!("/statuses/{commit}") => {
            let states = ["pending", "success", words.worse];
            let is_state = text("state").is_some_and(|it| states.contains(&it.as_str()));
            let is_short = text("description").is_some_and(|it| it.chars().count() <= 140);
            if !is_state || !is_short {
                return (422, "{}".into());
            }
            let mut statuses = statuses.lock().unwrap();
            let last = statuses.last().map(|last| last["state"].clone());
            if words.kind == "gitlab" && last == Some(request.body["state"].clone()) {
                let said = r#"{"message":"Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition via \"enqueue\")"}"#;
                return (400, said.into());
            }
            statuses.push(request.body.clone());
            (201, "{}".into())
        }
        ("GET", path) if path == words.requests.replace("{}", &commit) => {
            let found = json!({ words.request: 7 });
            let found = match words.kind {
                "gitea" => found,
                _ => json!([found]),
            };
            (200, found.to_string())
        }
        ("GET", path) if path == words.comments => (200, json!(*comments).to_string()),
        ("POST", path) if path == words.comments => {
            let Some(body) = text("body").filter(|body| !body.is_empty()) else {
                return (422, "{}".into());
            };
            let id = comments.len() + 1;
            comments.push(json!({"id": id, "body": body}));
            (201, json!({ "id": id }).to_string())
        }
        (method, path) if method == words.update.0 && path.starts_with(words.update.1) => {
            let number: u64 = path[words.update.1.len()..].parse().unwrap();
            let Some(comment) = comments.iter_mut().find(|it| it["id"] == number) else {
                return (404, "{}".into());
            };
            comment["body"] = request.body["body"].clone();
            (200, comment.to_string())
        }
        _ => (404, "{}".into()),
    }
}

fn config(words: Words, forge: &ForgeStub) -> String {
    format!(
        "site = \"https://perf.example.org\"\n[channel.forge.{}]\nserver = \"{}\"\nrepository = \"lab/app\"\ntoken = {{ file = \"token\" }}\n",
        words.kind, forge.server.address
    )
}

#[tokio::test]
async fn a_commit_gets_a_status_and_its_pull_request_one_comment_that_is_updated() {
    for words in [GITHUB, GITLAB, GITEA] {
        let forge = ForgeStub::start(words).await;
        let config = config(words, &forge);
        let lab = ToldLab::new(&config).await;
        for state in [AlertState::New, AlertState::New, AlertState::Fixed] {
            let reports = lab.tell("10:00", &[in_state(state)]).await;
            assert!(
                reports[0].problems.is_empty(),
                "{}: {reports:?}",
                words.kind
            );
        }
        assert_eq!(forge.states(), [words.worse, "success"], "{}", words.kind);
        let status = forge.statuses.lock().unwrap()[0].clone();
        assert_eq!(status["context"], "backsight/app");
        assert_eq!(
            status["target_url"],
            "https://perf.example.org/app/c/v4.html"
        );
        let comments = forge.comments.lock().unwrap().clone();
        assert_eq!(comments.len(), 3, "{}: {comments:?}", words.kind);
        let body = comments[2]["body"].as_str().unwrap();
        let is_ours = body.starts_with("<!-- backsight change ");
        assert!(is_ours && body.contains("fixed: work time"), "{body}");
        // A guess blames nobody.
        let mut guess = change();
        guess.stretch.after = Some(0);
        let other = ToldLab::new(&config).await;
        assert!(other.tell("10:00", &[guess]).await[0].sent.is_empty());
    }
}

#[tokio::test]
async fn a_verdict_is_one_comment_and_a_status() {
    for words in [GITHUB, GITLAB, GITEA] {
        let forge = ForgeStub::start(words).await;
        let states = [
            VerdictState::Undecided,
            VerdictState::Bad,
            VerdictState::Good,
        ];
        say_verdicts(words, &forge, &states).await;
        let comments = forge.comments.lock().unwrap().clone();
        assert_eq!(comments.len(), 3);
        assert_eq!(
            comments[2]["body"],
            "<!-- backsight verdict try app -->\n### Good\n"
        );
        assert_eq!(forge.states(), ["pending", words.worse, "success"]);
    }
}

#[tokio::test]
async fn gitlab_takes_a_status_once_and_a_verdict_is_said_all_the_same() {
    let forge = ForgeStub::start(GITLAB).await;
    let states = [VerdictState::Undecided, VerdictState::Undecided];
    say_verdicts(GITLAB, &forge, &states).await;
    assert_eq!(forge.states(), ["pending"]);
}

/// Says verdicts on a pull request, one after the other.
async fn say_verdicts(words: Words, forge: &ForgeStub, states: &[VerdictState]) {
    let lab = ToldLab::new(&config(words, forge)).await;
    for &state in states {
        let verdict = VerdictComment {
            subject: "try app".to_owned(),
            request: 7,
            commit: Some(id(3)),
            state,
            summary: "what it is".to_owned(),
            markdown: format!("### {state:?}\n"),
            link: None,
        };
        let said = comment_verdict(&lab.config, "forge", &verdict).await;
        said.unwrap();
    }
}

#[tokio::test]
async fn a_token_that_is_wrong_is_said_and_not_shown() {
    let forge = ForgeStub::start(GITHUB).await;
    let lab = ToldLab::new(&config(GITHUB, &forge)).await;
    std::fs::write(lab.folder.path().join("token"), "wr0ng").unwrap();
    let reports = lab.tell("10:00", &[change()]).await;
    assert_eq!(reports[0].problems, ["the server answers 401: {}"]);
    assert!(!format!("{reports:?} {:?}", lab.config).contains("wr0ng"));
}

#[tokio::test]
async fn a_change_of_gerrit_gets_a_message_and_a_vote_once() {
    let said: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = Arc::clone(&said);
    let gerrit = StubServer::start(move |request| {
        // `lab:s3cret`
        if request.header("authorization") != "Basic bGFiOnMzY3JldA==" {
            return (401, "Unauthorized".into());
        }
        let mut kept = kept.lock().unwrap();
        let commit = id(3);
        let asked = format!("/a/changes/?q=commit%3A{commit}%20project%3Aapp&n=2");
        let reviewed = format!("/a/changes/app~main~I1/revisions/{commit}/review");
        let prefixed = |value: Value| (200, format!(")]}}'\n{value}"));
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", path) if path == asked => {
                prefixed(json!([{"id": "app~main~I1", "status": "NEW", "_number": 1}]))
            }
            ("GET", "/a/changes/app~main~I1/messages") => prefixed(json!(*kept)),
            ("POST", path) if path == reviewed => {
                kept.push(request.body.clone());
                prefixed(json!({"labels": request.body["labels"]}))
            }
            _ => (404, "Not found".into()),
        }
    })
    .await;
    let config = format!(
        "[channel.review.gerrit]\nserver = \"{}\"\nproject = \"app\"\nuser = \"lab\"\npassword = {{ file = \"token\" }}\nlabel = \"Performance\"\n",
        gerrit.address
    );
    // Two stores that say the same, as after a crash.
    for _ in 0..2 {
        let lab = ToldLab::new(&config).await;
        let reports = lab.tell("10:00", &[change()]).await;
        assert!(reports[0].problems.is_empty(), "{reports:?}");
    }
    let said = said.lock().unwrap();
    assert_eq!(said.len(), 1);
    assert_eq!(said[0]["labels"]["Performance"], -1);
    assert!(said[0]["message"].as_str().unwrap().contains("work time"));
    assert_eq!(said[0]["tag"], "autogenerated:backsight");
}

#[tokio::test]
async fn chats_get_their_own_bodies() {
    let room = "/_matrix/client/v3/rooms/%21abc%3Aexample%2Eorg/send/m.room.message/";
    let chat = StubServer::start(move |request| {
        let has = |name: &str| request.body[name].is_string();
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/services/T0/B0/x" | "/hooks/y") if has("text") => (200, "ok".into()),
            ("PUT", path)
                if path.starts_with(room)
                    && request.header("authorization") == "Bearer s3cret"
                    && has("msgtype")
                    && has("body") =>
            {
                (200, "{\"event_id\": \"$1\"}".into())
            }
            _ => (400, "invalid_payload".into()),
        }
    })
    .await;
    let at = &chat.address;
    let lab = ToldLab::new(&format!(
        "[channel.slack.webhook]\nurl = \"{at}/services/T0/B0/x\"\ntemplate = \"slack\"\n\
         [channel.mattermost.webhook]\nurl = \"{at}/hooks/y\"\ntemplate = \"mattermost\"\n\
         [channel.matrix.webhook]\nurl = \"{at}/\"\ntemplate = \"matrix\"\ntoken = {{ file = \"token\" }}\nvalues = {{ room = \"!abc:example.org\" }}\n"
    ))
    .await;
    for report in lab.tell("10:00", &[change()]).await {
        assert!(report.problems.is_empty(), "{report:?}");
        assert_eq!(report.sent.len(), 1);
    }
}
